/* Listing input files: see listing.h. What a pattern is (a file, a folder, a glob, a list) is told
 * here, globs are walked by listing_walk.c. What was found is then sorted, and files that are the
 * same are found by device and inode. */
#include "store/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "store/listingInt.h"
#include "store/paths.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* A file, what is below a folder, or a glob, in a place that is no path. */
static sluice_status listing_place(struct builder *b, const struct pattern *pattern,
                                   struct sluice_error *err)
{
    static const struct glob_segment everything = { .deep = true };
    struct glob all = { .segments = (struct glob_segment *)(uintptr_t)&everything, .n = 1 };
    struct store_version version;
    size_t before = b->n;
    size_t folders = 0;
    char *around;
    bool found;

    TRY(store_stat(pattern->literal, &version, &found, err));
    if (found) {
        return listing_add(b, pattern->literal, base_name(pattern->literal), &version, NULL, err);
    }
    around = dataset_around(pattern->folder);
    if (around != NULL) {
        error_set(err, SLUICE_E_CONFIG,
                  "'%s' lies in the dataset %s, whose files are told by its snapshots alone here; "
                  "read it with s.dataset \"%s\"",
                  pattern->text, around, around);
        free(around);
        return SLUICE_E_CONFIG;
    }
    TRY(listing_walk(b, pattern->glob.n > 0 ? &pattern->glob : &all, pattern->part_of,
                     pattern->folder, &folders, err));
    return b->n > before
               ? SLUICE_OK
               : error_set(err, SLUICE_E_CONFIG,
                           b->n_skipped > 0 ? "no file matches '%s' but in %s, which belongs to a "
                                              "dataset or a run; read a dataset with s.dataset"
                                            : "no file matches '%s' below %s",
                           pattern->text, b->n_skipped > 0 ? b->skipped : pattern->folder);
}

static sluice_status listing_pattern(struct builder *b, const struct pattern *pattern,
                                     struct sluice_error *err)
{
    static const struct glob_segment everything = { .deep = true };
    size_t before = b->n;
    size_t folders = 0;
    struct stat st;

    if (pattern->list != NULL) {
        return listing_list(b, pattern, err);
    }
    if (!store_is_local(pattern->literal)) {
        return listing_place(b, pattern, err);
    }
    if (stat(pattern->literal, &st) == 0) {
        if (S_ISREG(st.st_mode)) {
            return listing_add_stat(b, pattern->literal, base_name(pattern->literal), &st, NULL,
                                    err);
        }
        if (!S_ISDIR(st.st_mode)) {
            return error_set(err, SLUICE_E_DATA,
                             "%s is a %s, expected a file or a folder; give the files themselves",
                             pattern->literal, file_kind(st.st_mode));
        }
        {
            struct glob all = { .segments = (struct glob_segment *)(uintptr_t)&everything, .n = 1 };
            TRY(listing_walk(b, &all, NULL, pattern->literal, &folders, err));
        }
    } else if (errno == EACCES || errno == ELOOP || errno == EIO) {
        return error_errno(err, errno, "%s can't be examined", pattern->literal);
    } else if (lstat(pattern->literal, &st) == 0) {
        errno = ENOENT;
        return listing_stat_failed(pattern->literal, err);
    } else if (pattern->glob.n > 0 && stat(pattern->folder, &st) == 0 && S_ISDIR(st.st_mode)) {
        TRY(listing_walk(b, &pattern->glob, pattern->part_of, pattern->folder, &folders, err));
    } else if (pattern->glob.n == 0 && stat(pattern->folder, &st) == 0 && S_ISREG(st.st_mode)) {
        return listing_add_stat(b, pattern->folder, base_name(pattern->folder), &st, NULL,
                                err); /* written with \ */
    }
    return b->n > before ? SLUICE_OK : listing_nothing(b, pattern, folders, err);
}

/* The listing of what is in the builder, which ends with it. */
static sluice_status builder_end(struct builder *b, sluice_status status, size_t max_files,
                                 struct listing *out)
{
    if (status != SLUICE_OK) {
        free(b->files);
        arena_deinit(&b->arena);
        return status;
    }
    out->files = b->files;
    /* Cut behind the sorting: --limit reads what the whole run would read first. */
    out->n = max_files > 0 && max_files < b->n ? max_files : b->n;
    out->parts = b->parts;
    out->n_parts = b->n_parts;
    out->n_skipped = b->n_skipped;
    out->skipped = b->skipped;
    out->arena = b->arena;
    return SLUICE_OK;
}

sluice_status listing_expand(const char *const *patterns, size_t n, const char *base_dir,
                             size_t max_files, struct listing *out, struct sluice_error *err)
{
    struct builder b = { 0 };
    struct arena arena = ARENA_INIT;
    struct pattern *parsed = ARENA_ARRAY(&arena, struct pattern, n);
    sluice_status status = arena_status(&arena, err, "patterns");

    memset(out, 0, sizeof *out);
    if (status == SLUICE_OK && n == 0) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "found no pattern of input files, expected at least one");
    }
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        status = pattern_parse(&b, &arena, patterns[i], base_dir, &parsed[i], err);
    }
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        status = listing_pattern(&b, &parsed[i], err);
    }
    if (status == SLUICE_OK) {
        status = listing_merge(&b, err);
    }
    arena_deinit(&arena);
    return builder_end(&b, status, max_files, out);
}

sluice_status listing_missing(const char *path, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s is missing, which the snapshot's manifest names; run the pipeline that "
                     "made it again, or put a copy back",
                     path);
}

sluice_status listing_named(const char *folder, const char *const *names, size_t n,
                            size_t max_files, struct listing *out, struct sluice_error *err)
{
    struct builder b = { 0 };
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        char *path = str_printf("%s/%s", folder, names[i]);
        struct store_version version;
        bool found = false;
        status = store_stat(path, &version, &found, err);
        if (status == SLUICE_OK && !found) {
            status = listing_missing(path, err);
        } else if (status == SLUICE_OK) {
            status = listing_add(&b, path, names[i], &version, NULL, err);
        }
        free(path);
    }
    if (status == SLUICE_OK) {
        listing_sort(&b);
    }
    return builder_end(&b, status, max_files, out);
}

sluice_status listing_take(const char *folder, const struct listing_given *given, size_t n,
                           size_t max_files, struct listing *out, struct sluice_error *err)
{
    struct builder b = { 0 };
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        struct store_version version = { .size = given[i].bytes };
        char *path = store_join(folder, given[i].file);
        status = path == NULL ? error_nomem(err, "a path")
                              : listing_add(&b, path, given[i].name, &version, NULL, err);
        free(path);
    }
    if (status == SLUICE_OK) {
        listing_sort(&b);
    }
    return builder_end(&b, status, max_files, out);
}

void listing_deinit(struct listing *listing)
{
    free(listing->files);
    arena_deinit(&listing->arena);
    memset(listing, 0, sizeof *listing);
}
