/* Walking folders for a glob: once, top down, with the set of its segments that may come next, so
 * that several `**` cost no more than one. See listing.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/utf8.h"
#include "store/listingInt.h"
#include "store/paths.h"

#define DEPTH_MAX 256 /* folders in folders: also ends loops that device and inode do not show */

sluice_status listing_stat_failed(const char *path, struct sluice_error *err)
{
    int cause = errno;
    struct stat st;

    if (cause == ENOENT && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        return error_set(err, SLUICE_E_IO,
                         "%s is a link to something that does not exist; repair or remove the link",
                         path);
    }
    if (cause == ENOENT) {
        return error_set(
            err, SLUICE_E_IO,
            "%s vanished while the files were listed; run again when nobody changes that folder",
            path);
    }
    return error_errno(err, cause, "%s can't be examined", path);
}

/* The next segment to match and the parts taken so far. */
struct cursor {
    size_t segment;
    const char **values; /* b->n_parts entries in the arena, or NULL when there are none */
};

/* Is the folder that is walked a dataset? */
enum here { NOT_KNOWN, DATASET, NO_DATASET };

struct walk {
    struct builder *b;
    const struct glob *glob;
    const size_t *part_of; /* number in b->parts of each part of the glob */
    size_t prefix;         /* bytes of path before the name */
    struct buf path;
    struct {
        dev_t dev;
        ino_t ino;
    } above[DEPTH_MAX];
    size_t depth;
    size_t folders_matched;
    enum here here;
};

static const char **values_copy(struct builder *b, const char **values)
{
    const char **copy = ARENA_ARRAY(&b->arena, const char *, b->n_parts);

    if (copy != NULL) {
        memcpy(copy, values, b->n_parts * sizeof *copy);
    }
    return copy;
}

/* Takes a segment that matches name into the cursor behind it. */
static sluice_status cursor_take(struct walk *w, const struct cursor *from, const char *name,
                                 struct cursor *to, bool *matched, struct sluice_error *err)
{
    struct glob_capture captures[GLOB_PARTS];
    const struct glob_segment *segment = &w->glob->segments[from->segment];
    struct builder *b = w->b;

    *matched = glob_match(segment, name, captures);
    if (!*matched) {
        return SLUICE_OK;
    }
    *to = (struct cursor){ from->segment + 1, from->values };
    for (size_t i = 0; i < segment->n; i++) {
        const struct glob_token *token = &segment->tokens[i];
        if (token->kind != GLOB_PART) {
            continue;
        }
        if (to->values == from->values) {
            to->values = values_copy(b, from->values);
        }
        if (to->values != NULL) {
            to->values[w->part_of[token->part]] =
                arena_copy(&b->arena, name + captures[token->part].begin, captures[token->part].n);
        }
    }
    return arena_status(&b->arena, err, "a list of files");
}

/* Takes a folder into the value of a {name**}; to stays at the segment. */
static sluice_status cursor_deepen(struct walk *w, const struct cursor *from, const char *name,
                                   struct cursor *to, struct sluice_error *err)
{
    const struct glob_segment *segment = &w->glob->segments[from->segment];
    const char *before;
    size_t part;

    *to = *from;
    if (segment->n == 0) {
        return SLUICE_OK;
    }
    part = w->part_of[segment->tokens[0].part];
    before = from->values[part] == NULL ? "" : from->values[part];
    to->values = values_copy(w->b, from->values);
    if (to->values != NULL) {
        to->values[part] =
            arena_printf(&w->b->arena, "%s%s%s", before, before[0] != '\0' ? "/" : "", name);
    }
    return arena_status(&w->b->arena, err, "a list of files");
}

/* Adds a cursor unless one for its segment is there; `**` also stands for no folder at all. */
static void cursors_add(const struct walk *w, struct cursor *set, size_t *n, struct cursor cursor)
{
    for (;;) {
        for (size_t i = 0; i < *n; i++) {
            if (set[i].segment == cursor.segment) {
                return;
            }
        }
        set[(*n)++] = cursor;
        if (cursor.segment >= w->glob->n || !w->glob->segments[cursor.segment].deep) {
            return;
        }
        cursor.segment++;
    }
}

static sluice_status walk_folder(struct walk *, const struct cursor *set, size_t n,
                                 struct sluice_error *err);

/* Is the entry, in w->path, a folder of the dataset that the walked folder is? */
static bool is_part(struct walk *w, const char *name)
{
    size_t n = strlen(name);

    if (!dataset_part(name, n)) {
        return false;
    }
    if (w->here == NOT_KNOWN) {
        char *at = w->path.data + w->path.size - n - 1; /* the slash before it */
        *at = '\0';
        w->here = dataset_there(w->path.data) ? DATASET : NO_DATASET;
        *at = '/';
    }
    return w->here == DATASET;
}

static bool is_literal(const struct glob_segment *segment)
{
    for (size_t i = 0; i < segment->n; i++) {
        if (segment->tokens[i].kind != GLOB_BYTE) {
            return false;
        }
    }
    return !segment->deep;
}

/* Counts a folder that is not entered; it is named by w->path. */
static sluice_status skip(struct walk *w, struct sluice_error *err)
{
    if (w->b->n_skipped++ == 0) {
        w->b->skipped = arena_copy(&w->b->arena, w->path.data, w->path.size);
    }
    return arena_status(&w->b->arena, err, "a list of files");
}

/* One entry of the folder; w->path names it. version: of one that is no path, else NULL. */
static sluice_status walk_entry(struct walk *w, const char *name, unsigned char type,
                                const struct store_version *version, const struct cursor *set,
                                size_t n, struct cursor *next, struct sluice_error *err)
{
    const size_t last = w->glob->n - 1;
    const struct cursor *hit = NULL;
    struct cursor taken;
    size_t next_n = 0;
    struct stat st;
    bool is_folder;
    bool part = type != DT_REG && is_part(w, name);
    bool skipped = false;

    for (size_t i = 0; i < n; i++) {
        struct cursor to;
        bool matched;
        if (set[i].segment > last) {
            continue;
        }
        if (part && !is_literal(&w->glob->segments[set[i].segment])) {
            skipped = true;
            continue;
        }
        if (w->glob->segments[set[i].segment].deep) {
            if (name[0] != '.' && (set[i].segment == last || type != DT_REG)) {
                TRY(cursor_deepen(w, &set[i], name, &to, err));
                cursors_add(w, next, &next_n, to);
                if (hit == NULL && set[i].segment == last) {
                    taken = to;
                    hit = &taken;
                }
            }
            continue;
        }
        if (set[i].segment < last && type == DT_REG) {
            continue;
        }
        if (set[i].segment == last && hit != NULL) {
            continue;
        }
        TRY(cursor_take(w, &set[i], name, &to, &matched, err));
        if (matched && set[i].segment < last) {
            cursors_add(w, next, &next_n, to);
        } else if (matched) {
            taken = to;
            hit = &taken;
        }
    }
    if (next_n == 0 && hit == NULL) {
        return skipped ? skip(w, err) : SLUICE_OK;
    }
    if (type == DT_DIR || version != NULL) {
        is_folder = type == DT_DIR;
    } else {
        if (hit == NULL && type != DT_LNK && type != DT_UNKNOWN) {
            return SLUICE_OK;
        }
        if (stat(w->path.data, &st) != 0) {
            return hit == NULL && errno == ENOENT ? SLUICE_OK
                                                  : listing_stat_failed(w->path.data, err);
        }
        is_folder = S_ISDIR(st.st_mode);
    }
    if (is_folder) {
        w->folders_matched += hit != NULL;
        return next_n > 0 ? walk_folder(w, next, next_n, err) : SLUICE_OK;
    }
    if (hit == NULL) {
        return SLUICE_OK;
    }
    if (version != NULL) {
        return listing_add(w->b, w->path.data, w->path.data + w->prefix, version, hit->values, err);
    }
    if (!S_ISREG(st.st_mode)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s is a %s, expected a file; leave it out of the pattern", w->path.data,
                         file_kind(st.st_mode));
    }
    return listing_add_stat(w->b, w->path.data, w->path.data + w->prefix, &st, hit->values, err);
}

/* The entry `name` of the folder that the first `length` bytes of w->path name. */
static sluice_status walk_named(struct walk *w, size_t length, const char *name, unsigned char type,
                                const struct store_version *version, const struct cursor *set,
                                size_t n, struct cursor *next, struct sluice_error *err)
{
    w->path.size = length;
    buf_putc(&w->path, '/');
    buf_puts(&w->path, name);
    buf_str(&w->path);
    return w->path.failed ? error_nomem(err, "a list of files")
                          : walk_entry(w, name, type, version, set, n, next, err);
}

static sluice_status walk_entries(struct walk *w, DIR *dir, const struct cursor *set, size_t n,
                                  struct sluice_error *err)
{
    size_t length = w->path.size;
    struct cursor *next = malloc((w->glob->n + 1) * sizeof *next);
    sluice_status status = SLUICE_OK;

    if (next == NULL) {
        return error_nomem(err, "a list of files");
    }
    while (status == SLUICE_OK) {
        struct dirent *entry;
        /* readdir tells its end and its errors by the same NULL. */
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0) {
                status = error_errno(err, errno, "the folder %s can't be read", buf_str(&w->path));
            }
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        status = walk_named(w, length, entry->d_name, entry->d_type, NULL, set, n, next, err);
    }
    w->path.size = length;
    buf_str(&w->path);
    free(next);
    return status;
}

/* A folder of a place that has none of its own: what is there is listed as if. */
static sluice_status walk_listed(struct walk *w, const struct cursor *set, size_t n,
                                 struct sluice_error *err)
{
    size_t length = w->path.size;
    struct cursor *next = malloc((w->glob->n + 1) * sizeof *next);
    enum here around = w->here;
    struct store_list list;
    sluice_status status;

    if (next == NULL) {
        return error_nomem(err, "a list of files");
    }
    status = store_list(buf_str(&w->path), STORE_VERSIONS, &list, err);
    w->depth++;
    w->here = NOT_KNOWN;
    for (size_t i = 0; i < list.n && status == SLUICE_OK; i++) {
        const struct store_entry *entry = &list.entries[i];
        status = walk_named(w, length, entry->name, entry->folder ? DT_DIR : DT_REG,
                            &entry->version, set, n, next, err);
    }
    w->here = around;
    w->depth--;
    w->path.size = length;
    buf_str(&w->path);
    store_list_deinit(&list);
    free(next);
    return status;
}

static sluice_status walk_folder(struct walk *w, const struct cursor *set, size_t n,
                                 struct sluice_error *err)
{
    const char *path = w->path.size == 0 ? "/" : buf_str(&w->path);
    enum here around;
    struct stat st;
    DIR *dir;
    sluice_status status;

    if (!store_is_local(path)) {
        return w->depth > 0 && run_there(path) ? skip(w, err) : walk_listed(w, set, n, err);
    }
    dir = opendir(path);
    if (dir == NULL) {
        return error_errno(err, errno, "the folder %s can't be read", path);
    }
    if (fstat(dirfd(dir), &st) != 0) {
        status = error_errno(err, errno, "the folder %s can't be read", path);
    } else if (w->depth == DEPTH_MAX) {
        status = error_set(err, SLUICE_E_IO,
                           "%s lies %d folders deep, expected less; is there a loop of links? "
                           "Write the folder without "
                           "**",
                           path, DEPTH_MAX);
    } else {
        status = SLUICE_OK;
        for (size_t i = 0; i < w->depth; i++) {
            if (w->above[i].dev == st.st_dev && w->above[i].ino == st.st_ino) {
                closedir(dir); /* a link to a folder that we are in */
                return SLUICE_OK;
            }
        }
        w->above[w->depth].dev = st.st_dev;
        w->above[w->depth].ino = st.st_ino;
        if (w->depth > 0 && run_there(path)) {
            closedir(dir);
            return skip(w, err);
        }
        w->depth++;
        around = w->here;
        w->here = NOT_KNOWN;
        status = walk_entries(w, dir, set, n, err);
        w->here = around;
        w->depth--;
    }
    closedir(dir);
    return status;
}

sluice_status listing_walk(struct builder *b, const struct glob *glob, const size_t *part_of,
                           const char *folder, size_t *folders_matched, struct sluice_error *err)
{
    struct walk w = { .b = b, .glob = glob, .part_of = part_of };
    struct arena *arena = &b->arena;
    struct cursor *set = ARENA_ARRAY(arena, struct cursor, glob->n + 1);
    const char **values = b->n_parts > 0 ? ARENA_ARRAY(arena, const char *, b->n_parts) : NULL;
    size_t n = 0;
    sluice_status status;

    buf_init(&w.path);
    buf_puts(&w.path, strcmp(folder, "/") == 0 ? "" : folder);
    buf_str(&w.path);
    status = w.path.failed ? error_nomem(err, "a list of files")
                           : arena_status(arena, err, "a list of files");
    if (status == SLUICE_OK) {
        w.prefix = w.path.size + 1;
        for (size_t i = 0; i < glob->n; i++) {
            if (glob->segments[i].deep && glob->segments[i].n > 0) {
                values[part_of[glob->segments[i].tokens[0].part]] = "";
            }
        }
        cursors_add(&w, set, &n, (struct cursor){ 0, values });
        status = walk_folder(&w, set, n, err);
    }
    *folders_matched = w.folders_matched;
    buf_deinit(&w.path);
    return status;
}
