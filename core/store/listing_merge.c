/* The list itself: files are put into it; at last come order, duplicates, names. See listing.h. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "store/listingInt.h"

/* ---- adding files ---- */

/* path is absolute and name a part of it or its own string; both are copied. values has
 * b->n_parts entries or is NULL. */
sluice_status listing_add(struct builder *b, const char *path, const char *name,
                          const struct store_version *version, const char *const *values,
                          struct sluice_error *err)
{
    struct listing_file *file;
    size_t n = strlen(path);
    size_t name_n = strlen(name);
    bool inside = name_n <= n && strcmp(path + n - name_n, name) == 0;
    char *text;

    if (!utf8_valid(name, name_n)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the name of the file %s is not UTF-8; rename the file", path);
    }
    if (b->n == b->capacity) {
        size_t capacity = b->capacity == 0 ? 64 : b->capacity * 2;
        struct listing_file *files = realloc(b->files, capacity * sizeof *files);
        if (files == NULL) {
            return error_nomem(err, "a list of files");
        }
        b->files = files;
        b->capacity = capacity;
    }
    file = &b->files[b->n];
    memset(file, 0, sizeof *file);
    text = arena_copy(&b->arena, path, n);
    file->path = text;
    file->name = inside && text != NULL ? text + n - name_n : arena_copy(&b->arena, name, name_n);
    file->version = *version;
    if (b->n_parts > 0) {
        const char **copy = ARENA_ARRAY(&b->arena, const char *, b->n_parts);
        for (size_t i = 0; i < b->n_parts && copy != NULL; i++) {
            copy[i] = values != NULL ? values[i] : NULL;
        }
        file->values = copy;
    }
    b->n++;
    return arena_status(&b->arena, err, "a list of files");
}

sluice_status listing_add_stat(struct builder *b, const char *path, const char *name,
                               const struct stat *st, const char *const *values,
                               struct sluice_error *err)
{
    struct store_version version = { .size = (uint64_t)st->st_size,
                                     .mtime_ns = stat_ns(st->st_mtim),
                                     .ctime_ns = stat_ns(st->st_ctim) };

    TRY(listing_add(b, path, name, &version, values, err));
    b->files[b->n - 1].inode = (uint64_t)st->st_ino;
    b->files[b->n - 1].dev = (uint64_t)st->st_dev;
    return SLUICE_OK;
}

/* ---- order, duplicates, names ---- */

static int by_name(const void *a, const void *b)
{
    const struct listing_file *x = a;
    const struct listing_file *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : strcmp(x->path, y->path);
}

/* Same file first; files in the order of their names within. */
static int by_inode(const void *a, const void *b)
{
    const struct listing_file *x = *(struct listing_file *const *)a;
    const struct listing_file *y = *(struct listing_file *const *)b;

    if (x->dev != y->dev) {
        return x->dev < y->dev ? -1 : 1;
    }
    if (x->inode != y->inode) {
        return x->inode < y->inode ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

void listing_sort(struct builder *b)
{
    if (b->n > 1) {
        qsort(b->files, b->n, sizeof *b->files, by_name);
    }
}

struct way {
    char *real;
    struct listing_file *file;
};

static int by_real_path(const void *a, const void *b)
{
    const struct way *x = a;
    const struct way *y = b;
    int order = strcmp(x->real, y->real);

    return order != 0 ? order : x->file < y->file ? -1 : x->file > y->file;
}

/* Files of one inode are either hard links, which stay, or several ways to one path, of which
 * the first stays. Sets path of the others to NULL. */
static sluice_status merge_group(struct listing_file **group, size_t n, struct sluice_error *err)
{
    struct way *ways = calloc(n, sizeof *ways);
    sluice_status status = SLUICE_OK;

    if (ways == NULL) {
        return error_nomem(err, "a list of files");
    }
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        const char *path = group[i]->path;
        ways[i].file = group[i];
        ways[i].real = store_is_local(path) ? realpath(path, NULL) : str_copy(path, strlen(path));
        if (ways[i].real == NULL) {
            status = error_set(err, SLUICE_E_IO,
                               "%s vanished while the files were listed; run again when nobody "
                               "changes that folder",
                               group[i]->path);
        }
    }
    if (status == SLUICE_OK) {
        qsort(ways, n, sizeof *ways, by_real_path);
        for (size_t i = 1; i < n; i++) {
            if (strcmp(ways[i].real, ways[i - 1].real) == 0) {
                ways[i].file->path = NULL;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        free(ways[i].real);
    }
    free(ways);
    return status;
}

static sluice_status merge_duplicates(struct builder *b, struct sluice_error *err)
{
    struct listing_file **order = malloc((b->n + 1) * sizeof *order);
    sluice_status status = SLUICE_OK;
    size_t kept = 0;

    if (order == NULL) {
        return error_nomem(err, "a list of files");
    }
    for (size_t i = 0; i < b->n; i++) {
        order[i] = &b->files[i];
    }
    qsort(order, b->n, sizeof *order, by_inode);
    for (size_t i = 0; i < b->n && status == SLUICE_OK;) {
        size_t n = 1;
        while (i + n < b->n && order[i + n]->dev == order[i]->dev &&
               order[i + n]->inode == order[i]->inode) {
            n++;
        }
        if (n > 1) {
            status = merge_group(order + i, n, err);
        }
        i += n;
    }
    free(order);
    for (size_t i = 0; i < b->n; i++) {
        if (b->files[i].path != NULL) {
            b->files[kept++] = b->files[i];
        }
    }
    b->n = kept;
    return status;
}

sluice_status listing_merge(struct builder *b, struct sluice_error *err)
{
    listing_sort(b);
    TRY(merge_duplicates(b, err));
    for (size_t i = 1; i < b->n; i++) {
        if (strcmp(b->files[i].name, b->files[i - 1].name) == 0) {
            return error_set(err, SLUICE_E_CONFIG,
                             "two files would have the name %s: %s and %s; names come from the "
                             "part of a path behind "
                             "a pattern's fixed folder: give one pattern with a wildcard for the "
                             "folders that differ",
                             b->files[i].name, b->files[i - 1].path, b->files[i].path);
        }
    }
    return SLUICE_OK;
}
