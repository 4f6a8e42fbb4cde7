/* The text side of listing: reading patterns and @lists, and saying helpfully that nothing was
 * found. See listing.h. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/order.h"
#include "store/listingInt.h"

#define LIST_MAX ((uint64_t)4 << 30) /* bytes of an @list */

/* Joins folder and path unless path is absolute; drops "." and empty segments. NULL = out of
 * memory. */
static char *path_join(struct arena *arena, const char *folder, const char *path)
{
    struct buf out = BUF_INIT;
    size_t root = store_root(path);
    const char *halves[2] = { path[0] == '/' || root > 0 ? "" : folder, path + root };
    char *joined;

    if (root == 0 && path[0] != '/') {
        root = store_root(folder);
        buf_append(&out, folder, root);
        halves[0] = folder + root;
    } else {
        buf_append(&out, path, root);
    }
    for (int i = 0; i < 2; i++) {
        const char *p = halves[i];
        while (*p != '\0') {
            size_t n = strcspn(p, "/");
            if (n > 0 && !(n == 1 && *p == '.')) {
                buf_putc(&out, '/');
                buf_append(&out, p, n);
            }
            p += n;
            p += *p == '/';
        }
    }
    if (out.size == 0) {
        buf_putc(&out, '/');
    }
    joined = out.failed ? NULL : arena_copy(arena, out.data, out.size);
    arena->failed = arena->failed || out.failed;
    buf_deinit(&out);
    return joined;
}

/* The number of a part among those of all patterns. */
static sluice_status part_number(struct builder *b, const char *name, size_t *out,
                                 struct sluice_error *err)
{
    const char **parts;

    for (*out = 0; *out < b->n_parts; ++*out) {
        if (strcmp(b->parts[*out], name) == 0) {
            return SLUICE_OK;
        }
    }
    parts = ARENA_ARRAY(&b->arena, const char *, b->n_parts + 1);
    if (parts != NULL) {
        if (b->n_parts > 0) {
            memcpy(parts, b->parts, b->n_parts * sizeof *parts);
        }
        parts[b->n_parts++] = arena_copy(&b->arena, name, strlen(name));
        b->parts = parts;
    }
    return arena_status(&b->arena, err, "patterns");
}

static void forget_glob(void *glob)
{
    glob_deinit(glob);
}

sluice_status pattern_parse(struct builder *b, struct arena *arena, const char *text,
                            const char *base_dir, struct pattern *out, struct sluice_error *err)
{
    out->text = text;
    if (base_dir[0] != '/' && store_is_local(base_dir)) {
        return error_set(err, SLUICE_E_INTERNAL, "listing: the base folder '%s' is not absolute",
                         base_dir);
    }
    if (text[0] == '\0' || (text[0] == '@' && text[1] == '\0')) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "found an empty pattern '%s', expected a file, a folder, a pattern or @list.txt", text);
    }
    TRY(store_check(text[0] == '@' ? text + 1 : text, err));
    out->literal = path_join(arena, base_dir, text);
    if (text[0] == '@') {
        out->list = path_join(arena, base_dir, text + 1);
        return arena_status(arena, err, "patterns");
    }
    if (arena_defer(arena, forget_glob, &out->glob)) {
        size_t root = store_root(text);
        char *place = arena_copy(arena, text, root);
        TRY(glob_parse(text + root, &out->glob, err));
        if (place != NULL) {
            out->folder =
                path_join(arena, base_dir, arena_printf(arena, "%s%s", place, out->glob.prefix));
        }
    }
    TRY(arena_status(arena, err, "patterns"));
    for (size_t i = 0; i < out->glob.n_parts; i++) {
        TRY(part_number(b, out->glob.parts[i], &out->part_of[i], err));
    }
    return SLUICE_OK;
}

/* ---- @list.txt ---- */

static sluice_status list_line(struct builder *b, const char *list, const char *folder,
                               const char *line, size_t number, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, folder, line);
    struct store_version version;
    struct stat st;
    bool found;
    sluice_status status;

    if (path == NULL) {
        status = arena_status(&arena, err, "a list of files");
    } else if (!store_is_local(path)) {
        status = store_stat(path, &version, &found, err);
        if (status == SLUICE_OK) {
            status =
                found ? listing_add(b, path, line + store_root(line), &version, NULL, err)
                      : error_set(err, SLUICE_E_IO, "%s:%zu: there is no %s", list, number, path);
        }
    } else if (stat(path, &st) != 0) {
        status = error_errno(
            err, errno,
            "%s:%zu: %s can't be examined (paths in a list are relative to the list's folder)",
            list, number, path);
    } else if (!S_ISREG(st.st_mode)) {
        status = error_set(err, SLUICE_E_DATA,
                           "%s:%zu: %s is a %s, expected a file; a list holds files only", list,
                           number, path, file_kind(st.st_mode));
    } else {
        status = listing_add_stat(b, path, line, &st, NULL, err);
    }
    arena_deinit(&arena);
    return status;
}

/* Adds what stands in the n bytes of a line. */
static sluice_status list_take(struct builder *b, const char *list, const char *folder,
                               const char *text, size_t n, size_t number, struct sluice_error *err)
{
    char *line;
    sluice_status status;

    n -= n > 0 && text[n - 1] == '\r';
    if (n == 0) {
        return SLUICE_OK;
    }
    if (memchr(text, '\0', n) != NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s:%zu: found a zero byte, expected one path a line", list, number);
    }
    line = str_copy(text, n);
    status = line == NULL ? error_nomem(err, "a list of files")
                          : list_line(b, list, folder, line, number, err);
    free(line);
    return status;
}

sluice_status listing_list(struct builder *b, const struct pattern *pattern,
                           struct sluice_error *err)
{
    size_t before = b->n;
    size_t number = 0;
    const char *name;
    char *folder = store_parent(pattern->list, &name);
    struct buf text = BUF_INIT;
    sluice_status status = folder == NULL
                               ? error_nomem(err, "a list of files")
                               : store_read_all(pattern->list, LIST_MAX, &text, NULL, err);

    if (status != SLUICE_OK && status != SLUICE_E_NOMEM) {
        error_prefix(err, "the list of files");
    }
    for (size_t at = 0; status == SLUICE_OK && at < text.size;) {
        const char *line = text.data + at;
        const char *stop = memchr(line, '\n', text.size - at);
        size_t n = stop == NULL ? text.size - at : (size_t)(stop - line);
        status = list_take(b, pattern->list, folder, line, n, ++number, err);
        at += n + 1;
    }
    buf_deinit(&text);
    free(folder);
    if (status == SLUICE_OK && b->n == before) {
        status =
            error_set(err, SLUICE_E_CONFIG,
                      "the list of files %s is empty, expected one path a line", pattern->list);
    }
    return status;
}

/* ---- nothing found ---- */

#define SEEN_MAX 1000 /* names of a folder that are looked at for an error message */

/* Up to SEEN_MAX names of a folder, sorted, hidden ones left out; returns how many. */
static size_t folder_names(struct arena *arena, const char *folder, char *names[SEEN_MAX])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    if (dir == NULL) {
        return 0;
    }
    while (n < SEEN_MAX && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (name[0] != '.' && (names[n] = arena_copy(arena, name, strlen(name))) != NULL) {
            n++;
        }
    }
    closedir(dir);
    qsort(names, n, sizeof *names, order_texts);
    return n;
}

sluice_status listing_nothing(const struct builder *b, const struct pattern *pattern,
                              size_t folders_matched, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    char **names = ARENA_ARRAY(&arena, char *, SEEN_MAX);
    char *folder = arena_copy(&arena, pattern->folder, strlen(pattern->folder));
    const char *missing = NULL; /* the first segment that does not exist */
    const char *nearest = NULL;
    struct buf seen = BUF_INIT;
    struct stat st;
    size_t n;

    if (arena.failed) {
        arena_deinit(&arena);
        return error_nomem(err, "patterns");
    }
    if (b->n_skipped > 0) {
        arena_deinit(&arena);
        return error_set(
            err, SLUICE_E_CONFIG,
            "no file matches '%s' but in %s, which belongs to a dataset or a run; read a "
            "dataset with s.dataset \"PATH\", or name the folder of one snapshot: "
            "PATH/latest",
            pattern->text, b->skipped);
    }
    while (strcmp(folder, "/") != 0 && (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))) {
        char *slash = strrchr(folder, '/');
        missing = pattern->folder + (slash - folder) + 1;
        slash[slash == folder] = '\0';
    }
    n = folder_names(&arena, folder, names);
    if (missing != NULL) {
        char *word = arena_copy(&arena, missing, strcspn(missing, "/"));
        nearest = word != NULL ? error_suggest(word, (const char *const *)names, n) : NULL;
    }
    if (nearest != NULL) {
        buf_printf(&seen, "did you mean '%s'", nearest);
    } else {
        buf_puts(&seen, n == 0 ? "it is empty" : "it holds ");
        for (size_t i = 0; i < n && i < 5; i++) {
            buf_printf(&seen, "%s%s", i > 0 ? ", " : "", names[i]);
        }
        buf_puts(&seen, n > 5 ? ", ..." : "");
    }
    if (folders_matched > 0) {
        error_set(err, SLUICE_E_CONFIG,
                  "no file matches '%s' (%zu folder%s); add '/**' to take the files inside",
                  pattern->text, folders_matched, folders_matched == 1 ? " does" : "s do");
    } else if (missing != NULL) {
        error_set(err, SLUICE_E_CONFIG,
                  "no file matches '%s': '%.*s' does not exist in the folder %s; %s", pattern->text,
                  (int)strcspn(missing, "/"), missing, folder, buf_str(&seen));
    } else {
        error_set(err, SLUICE_E_CONFIG, "no file matches '%s' below the folder %s; %s",
                  pattern->text, folder, buf_str(&seen));
    }
    buf_deinit(&seen);
    arena_deinit(&arena);
    return SLUICE_E_CONFIG;
}
