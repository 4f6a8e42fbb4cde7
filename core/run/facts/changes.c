/* Why tasks run again: see changes.h. */
#include "run/facts/changes.h"
#include "run/work/attempts.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct record {
    struct commit *commit;
    int64_t time_ns; /* of its file: commit records hold no times */
};

/* A name under which a task with the record's key was tried. */
struct named {
    char *name;
    const struct record *record;
};

struct changes {
    struct record *records; /* sorted by key */
    size_t n;
    struct named *names; /* sorted, one a name */
    size_t n_names, room;
    bool unnamed; /* the log does not reach back to all records */
};

static int compare_keys(const void *a, const void *b)
{
    struct hash128 x = ((const struct record *)a)->commit->key;
    struct hash128 y = ((const struct record *)b)->commit->key;

    return x.hi != y.hi ? (x.hi < y.hi ? -1 : 1) : (x.lo > y.lo) - (x.lo < y.lo);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* By name, the newest first; equal times in order of keys, so that the choice is the same every
 * time. */
static int compare_named(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    int order = compare_names(a, b);

    if (order == 0 && x->record->time_ns != y->record->time_ns) {
        order = x->record->time_ns > y->record->time_ns ? -1 : 1;
    }
    return order != 0 ? order : compare_keys(x->record, y->record);
}

void changes_close(struct changes *changes)
{
    for (size_t i = 0; changes != NULL && i < changes->n; i++) {
        commit_destroy(changes->records[i].commit);
    }
    for (size_t i = 0; changes != NULL && i < changes->n_names; i++) {
        free(changes->names[i].name);
    }
    if (changes != NULL) {
        free(changes->records);
        free(changes->names);
        free(changes);
    }
}

static int64_t file_time(const char *dir, struct hash128 key)
{
    char hex[33];
    char *path;
    struct store_version info;
    bool found;
    int64_t time = 0;

    hash_hex(key, hex);
    path = str_printf("%s/%s.json", dir, hex);
    if (path != NULL && store_stat(path, &info, &found, NULL) == SLUICE_OK) {
        time = info.mtime_ns;
    }
    free(path);
    return time;
}

static sluice_status read_records(struct changes *changes, const char *dir,
                                  struct sluice_error *err)
{
    struct hash128 *keys = NULL;
    size_t n = 0;
    sluice_status status;

    TRY(commit_list(dir, &keys, &n, err));
    changes->records = calloc(n + 1, sizeof *changes->records);
    status = changes->records == NULL ? error_nomem(err, "commit records") : SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct commit *commit = NULL;
        struct sluice_error damage = ERROR_INIT;
        status = commit_read(dir, keys[i], &commit, NULL, &damage);
        if (status != SLUICE_OK && err != NULL) {
            *err = damage;
        }
        if (commit != NULL) {
            changes->records[changes->n++] = (struct record){ commit, file_time(dir, keys[i]) };
        }
    }
    free(keys);
    if (changes->n > 0) {
        qsort(changes->records, changes->n, sizeof *changes->records, compare_keys);
    }
    return status;
}

/* ---- names ---- */

struct naming {
    struct changes *changes;
    const char *phase;
    bool failed;
};

static void add_named(struct naming *naming, const struct record *record, const char *name)
{
    struct changes *changes = naming->changes;
    char *copy = str_copy(name, strlen(name));

    if (copy != NULL && changes->n_names == changes->room) {
        size_t room = changes->room == 0 ? 64 : 2 * changes->room;
        struct named *more = realloc(changes->names, room * sizeof *more);
        changes->names = more == NULL ? changes->names : more;
        changes->room = more == NULL ? changes->room : room;
    }
    if (copy == NULL || changes->n_names == changes->room) {
        free(copy);
        naming->failed = true;
        return;
    }
    changes->names[changes->n_names++] = (struct named){ copy, record };
}

static void name_line(void *ctx, const json_t *line)
{
    struct naming *naming = ctx;
    const struct changes *changes = naming->changes;
    const char *phase = json_string_value(json_object_get(line, "phase"));
    const char *name = json_string_value(json_object_get(line, "name"));
    const char *hex = json_string_value(json_object_get(line, "key"));
    struct commit wanted = { .phase = NULL };
    struct record key = { &wanted, 0 };
    const struct record *record;

    if (phase == NULL || name == NULL || hex == NULL || strcmp(phase, naming->phase) != 0 ||
        !hash_parse(hex, &wanted.key) || changes->n == 0) {
        return;
    }
    record = bsearch(&key, changes->records, changes->n, sizeof key, compare_keys);
    if (record != NULL) {
        add_named(naming, record, name);
    }
}

/* Which record has no name. */
static sluice_status find_unnamed(struct changes *changes, struct sluice_error *err)
{
    bool *named = calloc(changes->n + 1, sizeof *named);

    for (size_t i = 0; named != NULL && i < changes->n_names; i++) {
        named[changes->names[i].record - changes->records] = true;
    }
    for (size_t i = 0; named != NULL && i < changes->n; i++) {
        changes->unnamed = changes->unnamed || !named[i];
    }
    free(named);
    return named == NULL ? error_nomem(err, "commit records") : SLUICE_OK;
}

/* What tasks were called is in the log of attempts; records are by what tasks are. */
static sluice_status name_records(struct changes *changes, const char *run_dir, const char *phase,
                                  struct sluice_error *err)
{
    struct naming naming = { .changes = changes, .phase = phase };
    size_t kept = 0;

    TRY(attempts_read(run_dir, ATTEMPTS_ALL, UINT64_MAX, name_line, &naming, err));
    for (size_t i = 0; i < changes->n; i++) {
        if (changes->records[i].commit->task[0] != '\0') {
            add_named(&naming, &changes->records[i], changes->records[i].commit->task);
        }
    }
    if (naming.failed) {
        return error_nomem(err, "commit records");
    }
    TRY(find_unnamed(changes, err));
    if (changes->n_names > 0) {
        qsort(changes->names, changes->n_names, sizeof *changes->names, compare_named);
    }
    for (size_t i = 0; i < changes->n_names; i++) {
        if (kept > 0 && compare_names(&changes->names[kept - 1], &changes->names[i]) == 0) {
            free(changes->names[i].name);
        } else {
            changes->names[kept++] = changes->names[i];
        }
    }
    changes->n_names = kept;
    return SLUICE_OK;
}

/* A folder "3-..." of an earlier plan, when that of the phase is not there. */
static sluice_status find_folder(const struct run *run, uint32_t p, char **out,
                                 struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    const char *name = run->plan->phases[p]->name;
    const char *found = name;
    size_t stem = strcspn(name, "-") + 1;
    bool there = false;

    TRY(store_names(run->tasks_dir, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        there = there || strcmp(names.names[i], name) == 0;
    }
    for (size_t i = 0; !there && i < names.n; i++) {
        if (strncmp(names.names[i], name, stem) == 0) {
            found = names.names[i];
        }
    }
    *out = store_join(run->tasks_dir, found);
    disk_names_deinit(&names);
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

sluice_status changes_open(const struct run *run, uint32_t phase, struct changes **out,
                           struct sluice_error *err)
{
    struct changes *changes = calloc(1, sizeof *changes);
    char *dir = NULL;
    sluice_status status =
        changes == NULL ? error_nomem(err, "commit records") : find_folder(run, phase, &dir, err);

    *out = NULL;
    if (status == SLUICE_OK) {
        status = read_records(changes, dir, err);
    }
    if (status == SLUICE_OK) {
        status = name_records(changes, run->options.run_dir, strrchr(dir, '/') + 1, err);
    }
    free(dir);
    if (status != SLUICE_OK) {
        changes_close(changes);
        return status;
    }
    *out = changes;
    return SLUICE_OK;
}

/* NULL: the task never ran under this name, as far as is known. */
static const struct commit *changes_find(const struct changes *changes, const char *task)
{
    struct named key = { (char *)(uintptr_t)task, NULL };
    const struct named *found =
        changes->n_names == 0
            ? NULL
            : bsearch(&key, changes->names, changes->n_names, sizeof key, compare_names);

    return found == NULL ? NULL : found->record->commit;
}

/* ---- in words ---- */

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

sluice_status changes_describe(const struct changes *changes, const struct run *run, uint32_t phase,
                               uint32_t task, struct buf *out, struct sluice_error *err)
{
    char buffer[SPLIT_NAME];
    const char *name = phase_task_name(run->plan->phases[phase], task, buffer);
    const struct commit *old = changes_find(changes, name);
    struct commit *now;
    sluice_status status;

    if (old == NULL) {
        buf_puts(out, changes->unnamed ? "new, or of before the logs that are kept" : "new");
        return buf_status(out, err);
    }
    now = commit_create(run->tasks[phase][task].key, run->plan->phases[phase]->name, name);
    if (now == NULL) {
        return error_nomem(err, "a commit record");
    }
    status = run_task_parts(run, phase, task, now, err);
    if (status == SLUICE_OK) {
        compare(old, now, out);
        status = buf_status(out, err);
    }
    commit_destroy(now);
    return status;
}
