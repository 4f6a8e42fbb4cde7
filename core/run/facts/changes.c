/* Why tasks run again: see changes.h. */
#include "run/facts/changesInt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *part_value(const struct commit *commit, const char *name)
{
    for (uint32_t i = 0; i < commit->n_parts; i++) {
        if (strcmp(commit->parts[i].name, name) == 0) {
            return commit->parts[i].value;
        }
    }
    return NULL;
}

/* Edges, collectors of dropped rows and providers of derived columns are parts too, but they change
 * with the stages around them, and those are what people look for. */
static bool is_minor(const char *stage)
{
    size_t n = strlen(stage);
    return strstr(stage, ", ") != NULL || strchr(stage, '(') != NULL ||
           (n > 8 && strcmp(stage + n - 8, ".dropped") == 0);
}

struct names {
    const char *names[4];
    uint32_t n;
};

static void add_name(struct names *list, const char *name)
{
    if (list->n < 4) {
        list->names[list->n] = name;
    }
    list->n++;
}

static void put_names(struct buf *out, const char *noun, const struct names *list, const char *one,
                      const char *many, bool *first)
{
    uint32_t shown = list->n <= 4 ? list->n : 3;

    if (list->n == 0) {
        return;
    }
    buf_printf(out, "%s%s%s", *first ? "" : "; ", noun,
               noun[strlen(noun) - 1] == ' ' ? ""
               : list->n == 1                ? " "
                                             : "s ");
    for (uint32_t i = 0; i < shown; i++) {
        buf_printf(out, "%s'%s'", i == 0 ? "" : i + 1 == list->n ? " and " : ", ", list->names[i]);
    }
    if (shown < list->n) {
        buf_printf(out, " and %u more", list->n - shown);
    }
    buf_printf(out, " %s", list->n == 1 ? one : many);
    *first = false;
}

static void compare(const struct commit *old, const struct commit *now, struct buf *out)
{
    struct names changed = { .n = 0 };
    struct names minor = { .n = 0 };
    struct names fresh = { .n = 0 };
    struct names gone = { .n = 0 };
    struct names rows = { .n = 0 };
    bool input = false;
    bool first = true;

    for (uint32_t i = 0; i < now->n_parts; i++) {
        const char *name = now->parts[i].name;
        const char *was = part_value(old, name);
        if (was != NULL && strcmp(was, now->parts[i].value) == 0) {
            continue;
        }
        if (strncmp(name, "stage ", 6) == 0) {
            add_name(is_minor(name + 6) ? &minor : was == NULL ? &fresh : &changed, name + 6);
        } else if (strncmp(name, "input of ", 9) == 0) {
            input = true;
        } else if (strncmp(name, "rows of ", 8) == 0) {
            add_name(&rows, name + 8);
        }
    }
    for (uint32_t i = 0; i < old->n_parts; i++) {
        const char *name = old->parts[i].name;
        if (part_value(now, name) == NULL && strncmp(name, "stage ", 6) == 0) {
            add_name(is_minor(name + 6) ? &minor : &gone, name + 6);
        }
    }
    if (input) {
        buf_puts(out, "input changed");
        first = false;
    }
    put_names(out, "stage", &fresh, "is new", "are new", &first);
    put_names(out, "stage", &gone, "is gone", "are gone", &first);
    put_names(out, "stage", &changed, "changed", "changed", &first);
    if (changed.n + fresh.n + gone.n == 0) {
        put_names(out, "part", &minor, "changed", "changed", &first);
        put_names(out, "rows of ", &rows, "changed", "changed", &first);
    }
    if (first) {
        buf_puts(out, hash_equal(old->key, now->key) ? "its files are missing or damaged"
                                                     : "Sluice itself, zstd or the seed changed");
    }
}

/* The record of the task as it is now, where a list may lack it. NULL: there is none, or none is
 * asked for. Gives. */
static sluice_status own_record(const struct changes *changes, const struct task_state *task,
                                struct commit **out, struct sluice_error *err)
{
    struct sluice_error damage = ERROR_INIT;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (changes->asks && task->keyed) {
        status = commit_read(changes->dir, task->key, out, NULL, &damage);
    }
    if (status != SLUICE_OK && err != NULL) {
        *err = damage;
    }
    return status;
}

sluice_status changes_describe(const struct changes *changes, const struct run *run, uint32_t phase,
                               uint32_t task, struct buf *out, struct sluice_error *err)
{
    char buffer[SPLIT_NAME];
    const char *name = phase_task_name(run->plan->phases[phase], task, buffer);
    const struct commit *old;
    struct commit *own;
    struct commit *now;
    sluice_status status;

    TRY(own_record(changes, &run->tasks[phase][task], &own, err));
    old = own != NULL ? own : changes_find(changes, name);
    if (old == NULL) {
        buf_puts(out, changes->unnamed ? "new, or of before the logs that are kept" : "new");
        return buf_status(out, err);
    }
    now = commit_create(run->tasks[phase][task].key, run->plan->phases[phase]->name, name);
    status = now == NULL ? error_nomem(err, "a commit record")
                         : run_task_parts(run, phase, task, now, err);
    if (status == SLUICE_OK) {
        compare(old, now, out);
        status = buf_status(out, err);
    }
    commit_destroy(now);
    commit_destroy(own);
    return status;
}
