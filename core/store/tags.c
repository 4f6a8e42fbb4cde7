/* Names of snapshots: see tags.h. */
#include "store/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/paths.h"
#include "store/snapshotInt.h"
#include "store/store.h"

#define TAG_TEXT_MAX 64 /* bytes of a file */

static bool tag_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = strlen(name);

    return n >= 1 && n <= TAG_MAX && strchr(letters, name[0]) != NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n &&
           strcmp(name, "latest") != 0;
}

static sluice_status check_name(const char *name, struct sluice_error *err)
{
    return tag_valid(name)
               ? SLUICE_OK
               : error_set(err, SLUICE_E_CONFIG,
                           "'%s' can't be a tag: a letter, then letters, digits, '.', '_' and '-', "
                           "%d at most; not 'latest'",
                           name, TAG_MAX);
}

static sluice_status tag_path(const char *dataset_dir, const char *name, char **out,
                              struct sluice_error *err)
{
    *out = str_printf("%s/tags/%s", dataset_dir, name);
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* *number 0: there is no such tag. */
static sluice_status tags_find(const char *dataset_dir, const char *name, uint32_t *number,
                               struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    const char *end = "";
    bool found = false;
    char *path;
    sluice_status status;

    *number = 0;
    TRY(tag_path(dataset_dir, name, &path, err));
    status = store_read_all(path, TAG_TEXT_MAX, &text, &found, err);
    if (status == SLUICE_OK && found) {
        *number = snapshot_number(buf_str(&text), &end);
        if (*number == 0 || strcmp(end, "\n") != 0) {
            status = error_set(err, SLUICE_E_DATA,
                               "%s should hold the number of a snapshot and a newline: it was "
                               "damaged; tag again with --move, or remove it",
                               path);
        }
    }
    buf_deinit(&text);
    free(path);
    return status;
}

sluice_status tags_list(const char *dataset_dir, struct tag **tags, size_t *n,
                        struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    char *folder = store_join(dataset_dir, "tags");
    sluice_status status =
        folder == NULL ? error_nomem(err, "a path") : store_names(folder, &names, err);

    *n = 0;
    *tags = calloc(names.n + 1, sizeof **tags);
    if (status == SLUICE_OK && *tags == NULL) {
        status = error_nomem(err, "a list of tags");
    }
    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        struct tag *tag = &(*tags)[*n];
        if (!tag_valid(names.names[i])) {
            continue;
        }
        snprintf(tag->name, sizeof tag->name, "%s", names.names[i]);
        status = tags_find(dataset_dir, tag->name, &tag->number, err);
        *n += status == SLUICE_OK && tag->number > 0;
    }
    disk_names_deinit(&names);
    free(folder);
    if (status != SLUICE_OK) {
        free(*tags);
        *tags = NULL;
        *n = 0;
    }
    return status;
}

/* The mark of a snapshot with tags, where lists may lack them; NULL elsewhere. */
static sluice_status mark_path(const char *dataset_dir, uint32_t number, char **out,
                               struct sluice_error *err)
{
    *out = NULL;
    if (store_is_local(dataset_dir)) {
        return SLUICE_OK;
    }
    *out = str_printf("%s/snapshots/%06u" SNAPSHOT_TAGGED, dataset_dir, (unsigned)number);
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

static sluice_status is_listed(const char *dataset_dir, uint32_t number, bool *held,
                               struct sluice_error *err)
{
    struct tag *tags;
    size_t n;

    *held = false;
    TRY(tags_list(dataset_dir, &tags, &n, err));
    for (size_t i = 0; i < n; i++) {
        *held = *held || tags[i].number == number;
    }
    free(tags);
    return SLUICE_OK;
}

sluice_status tags_hold(const char *dataset_dir, uint32_t number, bool *held,
                        struct sluice_error *err)
{
    uint64_t bytes;
    char *path;
    sluice_status status;

    TRY(is_listed(dataset_dir, number, held, err));
    TRY(mark_path(dataset_dir, number, &path, err));
    status = *held || path == NULL ? SLUICE_OK : store_size(path, &bytes, held, err);
    free(path);
    return status;
}

static sluice_status mark(const char *dataset_dir, uint32_t number, struct sluice_error *err)
{
    enum store_put outcome;
    char *path;
    sluice_status status;

    TRY(mark_path(dataset_dir, number, &path, err));
    status = path == NULL ? SLUICE_OK : store_put_new(path, "tagged\n", 7, 0, &outcome, err);
    free(path);
    return status;
}

/* A tag of the snapshot is gone; it may have others. */
static sluice_status unmark(const char *dataset_dir, uint32_t number, struct sluice_error *err)
{
    bool held = false;
    char *path;
    sluice_status status;

    TRY(mark_path(dataset_dir, number, &path, err));
    status = path == NULL ? SLUICE_OK : is_listed(dataset_dir, number, &held, err);
    if (status == SLUICE_OK && path != NULL && !held) {
        status = store_remove(path, err);
    }
    free(path);
    return status;
}

/* A snapshot that is forgotten meanwhile is no reason to keep its tag. */
static sluice_status still_there(const char *dataset_dir, const char *path, uint32_t number,
                                 struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    sluice_status status = snapshot_open(dataset_dir, number, &snapshot, err);

    snapshot_destroy(snapshot);
    if (status != SLUICE_OK) {
        sluice_status ignored = store_remove(path, NULL);
        (void)ignored;
    }
    return status;
}

sluice_status tags_put(const char *dataset_dir, const char *name, uint32_t number, bool move,
                       struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    enum store_put outcome = STORE_MADE;
    uint32_t was = 0;
    char text[16];
    char *path = NULL;
    char *folder;
    sluice_status status;

    TRY(check_name(name, err));
    TRY(snapshot_open(dataset_dir, number, &snapshot, err));
    number = snapshot->number;
    snapshot_destroy(snapshot);
    snprintf(text, sizeof text, "%u\n", (unsigned)number);
    folder = store_join(dataset_dir, "tags");
    status = folder == NULL ? error_nomem(err, "a path") : store_make_folder(folder, true, err);
    free(folder);
    TRY(status);
    TRY(mark(dataset_dir, number, err));
    TRY(tags_find(dataset_dir, name, &was, err));
    TRY(tag_path(dataset_dir, name, &path, err));
    status = move ? store_replace(path, text, strlen(text), 0, err)
                  : store_put_new(path, text, strlen(text), 0, &outcome, err);
    if (status == SLUICE_OK && outcome == STORE_OTHER) {
        status = tags_find(dataset_dir, name, &was, err);
        if (status == SLUICE_OK) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "'%s' is the tag of snapshot %u of %s; move it with --move, or give "
                               "another name",
                               name, (unsigned)was, dataset_dir);
        }
    } else if (status == SLUICE_OK) {
        status = still_there(dataset_dir, path, number, err);
        if (status == SLUICE_OK && was != 0 && was != number) {
            status = unmark(dataset_dir, was, err);
        }
    }
    free(path);
    return status;
}

/* The error of a name that no snapshot has. */
static sluice_status no_tag(const char *dataset_dir, const char *name, struct sluice_error *err)
{
    struct buf known = BUF_INIT;
    struct tag *tags;
    size_t n;

    TRY(tags_list(dataset_dir, &tags, &n, err));
    for (size_t i = 0; i < n; i++) {
        buf_printf(&known, "%s%s", i == 0 ? "its tags are " : ", ", tags[i].name);
    }
    free(tags);
    error_set(err, SLUICE_E_CONFIG,
              "dataset %s has no tag '%s'; %s (`sluice tag` makes one, and a number or nothing "
              "names a snapshot, too)",
              dataset_dir, name, n == 0 ? "it has none" : buf_str(&known));
    buf_deinit(&known);
    return SLUICE_E_CONFIG;
}

sluice_status tags_remove(const char *dataset_dir, const char *name, struct sluice_error *err)
{
    uint32_t number;
    char *path;
    sluice_status status;

    TRY(check_name(name, err));
    TRY(tags_find(dataset_dir, name, &number, err));
    if (number == 0) {
        return no_tag(dataset_dir, name, err);
    }
    TRY(tag_path(dataset_dir, name, &path, err));
    status = store_remove(path, err);
    free(path);
    return status == SLUICE_OK ? unmark(dataset_dir, number, err) : status;
}

/* base/path without slashes at its end. NULL = out of memory. Gives. */
static char *folder_of(const char *base, const char *path, size_t n)
{
    char *text;
    char *full;

    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    text = str_copy(path, n);
    full = text == NULL ? NULL : store_absolute(base, text);
    free(text);
    return full;
}

sluice_status tags_resolve(const char *base, const char *reference, char **dir, uint32_t *number,
                           struct sluice_error *err)
{
    const char *at = strrchr(reference, '@');
    char *path = NULL;
    char *before = NULL;
    sluice_status status;

    *dir = NULL;
    TRY(snapshot_reference(reference, &path, number, err));
    *dir = folder_of(base, path, strlen(path));
    free(path);
    if (*dir == NULL) {
        return error_nomem(err, "a path");
    }
    if (*number != 0 || at == NULL || at == reference || !tag_valid(at + 1)) {
        return SLUICE_OK;
    }
    before = folder_of(base, reference, (size_t)(at - reference));
    if (before == NULL) {
        return error_nomem(err, "a path");
    }
    status = tags_find(before, at + 1, number, err);
    if (status == SLUICE_OK && *number == 0 && dataset_there(before) && !dataset_there(*dir)) {
        status = no_tag(before, at + 1, err);
    }
    if (status == SLUICE_OK && *number != 0) {
        free(*dir);
        *dir = before;
        before = NULL;
    }
    free(before);
    if (status != SLUICE_OK) {
        free(*dir);
        *dir = NULL;
    }
    return status;
}
