/* The records of a phase's tasks, by the names under which they ran: see changes.h. A list may lack
 * some; then those that the log of attempts speaks of are asked for by their keys. */
#include "run/facts/changesInt.h"
#include "run/work/attempts.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

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
        free(changes->dir);
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

/* Adds the records of these keys that are there. */
static sluice_status add_records(struct changes *changes, const struct hash128 *keys, size_t n,
                                 struct sluice_error *err)
{
    struct record *more = realloc(changes->records, (changes->n + n + 1) * sizeof *more);
    sluice_status status = more == NULL ? error_nomem(err, "commit records") : SLUICE_OK;

    changes->records = more == NULL ? changes->records : more;
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct commit *commit = NULL;
        struct sluice_error damage = ERROR_INIT;
        status = commit_read(changes->dir, keys[i], &commit, NULL, &damage);
        if (status != SLUICE_OK && err != NULL) {
            *err = damage;
        }
        if (commit != NULL) {
            changes->records[changes->n++] =
                (struct record){ commit, file_time(changes->dir, keys[i]) };
        }
    }
    if (changes->n > 0) {
        qsort(changes->records, changes->n, sizeof *changes->records, compare_keys);
    }
    return status;
}

static sluice_status read_records(struct changes *changes, struct sluice_error *err)
{
    struct hash128 *keys = NULL;
    size_t n = 0;
    sluice_status status;

    TRY(commit_list(changes->dir, &keys, &n, err));
    status = add_records(changes, keys, n, err);
    free(keys);
    return status;
}

/* ---- names ---- */

struct naming {
    struct changes *changes;
    const char *phase;
    bool failed;
    struct hash128 *unlisted; /* keys in the log of which no record is known */
    size_t n, room;
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

/* The name and the key of a line of the phase's log; false: it has none. */
static bool line_key(const struct naming *naming, const json_t *line, const char **name,
                     struct hash128 *key)
{
    const char *phase = json_string_value(json_object_get(line, "phase"));
    const char *hex = json_string_value(json_object_get(line, "key"));

    *name = json_string_value(json_object_get(line, "name"));
    return phase != NULL && *name != NULL && hex != NULL && strcmp(phase, naming->phase) == 0 &&
           hash_parse(hex, key);
}

static const struct record *record_of(const struct changes *changes, struct hash128 key)
{
    struct commit wanted = { .key = key };
    struct record record = { &wanted, 0 };

    return changes->n == 0
               ? NULL
               : bsearch(&record, changes->records, changes->n, sizeof record, compare_keys);
}

static void name_line(void *ctx, const json_t *line)
{
    struct naming *naming = ctx;
    const struct record *record = NULL;
    const char *name;
    struct hash128 key;

    if (line_key(naming, line, &name, &key)) {
        record = record_of(naming->changes, key);
    }
    if (record != NULL) {
        add_named(naming, record, name);
    }
}

static void note_unlisted(void *ctx, const json_t *line)
{
    struct naming *naming = ctx;
    const char *name;
    struct hash128 key;
    bool known = !line_key(naming, line, &name, &key) || record_of(naming->changes, key) != NULL;

    for (size_t i = 0; i < naming->n && !known; i++) {
        known = hash_equal(naming->unlisted[i], key);
    }
    if (!known && naming->n == naming->room) {
        size_t room = naming->room == 0 ? 16 : 2 * naming->room;
        struct hash128 *more = realloc(naming->unlisted, room * sizeof *more);
        naming->failed = naming->failed || more == NULL;
        naming->unlisted = more == NULL ? naming->unlisted : more;
        naming->room = more == NULL ? naming->room : room;
    }
    if (!known && naming->n < naming->room) {
        naming->unlisted[naming->n++] = key;
    }
}

/* Records that the log speaks of and the list lacked. */
static sluice_status read_unlisted(struct changes *changes, const char *run_dir, const char *phase,
                                   struct sluice_error *err)
{
    struct naming naming = { .changes = changes, .phase = phase };
    sluice_status status =
        attempts_read(run_dir, ATTEMPTS_ALL, UINT64_MAX, note_unlisted, &naming, err);

    if (status == SLUICE_OK) {
        status = naming.failed ? error_nomem(err, "commit records")
                               : add_records(changes, naming.unlisted, naming.n, err);
    }
    free(naming.unlisted);
    return status;
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
    const char *run_dir = run->options.run_dir;
    struct changes *changes = calloc(1, sizeof *changes);
    const char *name = NULL;
    sluice_status status = changes == NULL ? error_nomem(err, "commit records")
                                           : find_folder(run, phase, &changes->dir, err);

    *out = NULL;
    if (status == SLUICE_OK) {
        name = strrchr(changes->dir, '/') + 1;
        changes->asks = !store_is_local(run_dir);
        status = read_records(changes, err);
    }
    if (status == SLUICE_OK && changes->asks) {
        status = read_unlisted(changes, run_dir, name, err);
    }
    if (status == SLUICE_OK) {
        status = name_records(changes, run_dir, name, err);
    }
    if (status != SLUICE_OK) {
        changes_close(changes);
        return status;
    }
    *out = changes;
    return SLUICE_OK;
}

const struct commit *changes_find(const struct changes *changes, const char *task)
{
    struct named key = { (char *)(uintptr_t)task, NULL };
    const struct named *found =
        changes->n_names == 0
            ? NULL
            : bsearch(&key, changes->names, changes->n_names, sizeof key, compare_names);

    return found == NULL ? NULL : found->record->commit;
}
