/* Projects from templates: see new_template.h. */
#include "cmd/new/new_template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/order.h"

#define FILE_MAX (UINT64_C(1) << 20)
#define DEPTH_MAX 8

/* What was made so far, for removing it on failure. */
struct made {
    const char *to;
    char **paths; /* owned; folders end in a slash */
    size_t n;
};

/* ---- words ---- */

static const struct template_word *word_at(const struct template *template, const char *text,
                                           size_t n)
{
    for (size_t k = 0; k < template->n_words; k++) {
        size_t length = strlen(template->words[k].word);
        if (length <= n && memcmp(text, template->words[k].word, length) == 0) {
            return &template->words[k];
        }
    }
    return NULL;
}

static void fill(const struct template *template, const char *text, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        const struct template_word *word = word_at(template, text + i, n - i);
        if (word == NULL) {
            buf_putc(out, text[i++]);
        } else {
            buf_puts(out, word->text);
            i += strlen(word->word);
        }
    }
}

/* What stands in text with the words replaced; NULL = out of memory. Gives. */
static char *template_fill(const struct template *template, const char *text, size_t n)
{
    struct buf out = BUF_INIT;

    fill(template, text, n, &out);
    return buf_take(&out);
}

/* ---- one file ---- */

static sluice_status put(const char *path, const struct buf *text, int flags,
                         struct sluice_error *err)
{
    int fd = -1;
    int failed = disk_open(path, O_WRONLY | O_CREAT | flags, &fd);
    sluice_status status;

    if (failed != 0) {
        return failed == EEXIST
                   ? error_set(err, SLUICE_E_CONFIG,
                               "%s is there already; choose another name, or another folder with "
                               "--dir",
                               path)
                   : error_errno(err, failed, "can't write %s", path);
    }
    status = disk_write_all(fd, path, text->data, text->size, err);
    if (close(fd) != 0 && status == SLUICE_OK) {
        status = error_errno(err, errno, "can't write %s", path);
    }
    return status;
}

static sluice_status copy_file(const struct template *template, const char *from, const char *to,
                               int flags, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    struct buf filled = BUF_INIT;
    sluice_status status = disk_read_file(from, FILE_MAX, &text, NULL, err);

    if (status == SLUICE_OK) {
        fill(template, text.data, text.size, &filled);
        status = buf_status(&filled, err);
    }
    if (status == SLUICE_OK) {
        status = put(to, &filled, flags, err);
    }
    buf_deinit(&text);
    buf_deinit(&filled);
    return status;
}

/* ---- folders ---- */

static sluice_status remember(struct made *made, const char *path, const char *suffix,
                              struct sluice_error *err)
{
    char **more = realloc(made->paths, (made->n + 1) * sizeof *more);
    char *copy = str_printf("%s%s", path, suffix);

    if (more != NULL) {
        made->paths = more;
    }
    if (more == NULL || copy == NULL) {
        free(copy);
        return error_nomem(err, "a project");
    }
    made->paths[made->n++] = copy;
    return SLUICE_OK;
}

static bool remembered(const struct made *made, const char *path)
{
    for (size_t k = 0; k < made->n; k++) {
        if (strcmp(made->paths[k], path) == 0) {
            return true;
        }
    }
    return false;
}

static void remove_made(struct made *made)
{
    while (made->n > 0) {
        char *path = made->paths[--made->n];
        size_t n = strlen(path);
        if (n > 0 && path[n - 1] == '/') {
            disk_rmdir(path);
        } else {
            disk_unlink(path);
        }
        free(path);
    }
    free(made->paths);
    made->paths = NULL;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static sluice_status copy_tree(const struct template *template, const char *from, const char *to,
                               int depth, struct made *made, struct sluice_error *err);

static sluice_status copy_entry(const struct template *template, const char *from, const char *to,
                                const char *name, int depth, struct made *made,
                                struct sluice_error *err)
{
    bool dot = strncmp(name, "dot-", 4) == 0;
    char *filled = template_fill(template, name + (dot ? 4 : 0), strlen(name) - (dot ? 4 : 0));
    char *source = disk_join(from, name);
    char *target = filled == NULL ? NULL : str_printf("%s/%s%s", to, dot ? "." : "", filled);
    sluice_status status =
        source == NULL || target == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK && is_folder(source)) {
        status = copy_tree(template, source, target, depth + 1, made, err);
    } else if (status == SLUICE_OK && remembered(made, target)) {
        status = copy_file(template, source, target, O_TRUNC, err);
    } else if (status == SLUICE_OK) {
        status = remember(made, target, "", err);
        if (status == SLUICE_OK) {
            status = copy_file(template, source, target, O_EXCL, err);
        }
    }
    free(filled);
    free(source);
    free(target);
    return status;
}

static sluice_status copy_tree(const struct template *template, const char *from, const char *to,
                               int depth, struct made *made, struct sluice_error *err)
{
    struct disk_names names = { 0 };
    char *folder = str_printf("%s/", to);
    sluice_status status = folder == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (depth > DEPTH_MAX) {
        free(folder);
        return error_set(err, SLUICE_E_INTERNAL, "the template %s is nested too deep", from);
    }
    if (status == SLUICE_OK && !remembered(made, folder)) {
        int failed = disk_mkdir(to);
        status = failed == EEXIST
                     ? error_set(err, SLUICE_E_CONFIG,
                                 "%s is there already; choose another name, or another folder with "
                                 "--dir",
                                 to)
                 : failed != 0 ? error_errno(err, failed, "can't make the folder %s", to)
                               : remember(made, to, "/", err);
    }
    if (status == SLUICE_OK) {
        status = disk_list(from, &names, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < names.n; k++) {
        status = copy_entry(template, from, to, names.names[k], depth, made, err);
    }
    disk_names_deinit(&names);
    free(folder);
    return status;
}

/* Moves the files (not the folders) of made into out, without the project's folder before them. */
static sluice_status give_files(struct made *made, struct template_files *out,
                                struct sluice_error *err)
{
    size_t skip = strlen(made->to) + 1;

    out->names = calloc(made->n + 1, sizeof(char *));
    if (out->names == NULL) {
        return error_nomem(err, "a project");
    }
    for (size_t k = 0; k < made->n; k++) {
        size_t n = strlen(made->paths[k]);
        if (made->paths[k][n - 1] != '/') {
            char *name = str_copy(made->paths[k] + skip, n - skip);
            if (name == NULL) {
                return error_nomem(err, "a project");
            }
            out->names[out->n++] = name;
        }
    }
    qsort(out->names, out->n, sizeof(char *), order_texts);
    return SLUICE_OK;
}

sluice_status template_write(const struct template *template, const char *to,
                             struct template_files *out, struct sluice_error *err)
{
    struct made made = { .to = to };
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    for (size_t k = 0; status == SLUICE_OK && k < template->n_parts; k++) {
        char *from = disk_join(template->root, template->parts[k]);
        if (from == NULL) {
            status = error_nomem(err, "a path");
        } else if (!is_folder(from)) {
            status = error_set(err, SLUICE_E_IO,
                               "the template %s is not there; it is installed with Sluice: install "
                               "it again",
                               from);
        } else {
            status = copy_tree(template, from, to, 0, &made, err);
        }
        free(from);
    }
    if (status == SLUICE_OK) {
        status = give_files(&made, out, err);
    }
    if (status != SLUICE_OK) {
        remove_made(&made);
        return status;
    }
    for (size_t k = 0; k < made.n; k++) {
        free(made.paths[k]);
    }
    free(made.paths);
    return SLUICE_OK;
}

sluice_status template_write_file(const struct template *template, const char *file, const char *to,
                                  struct sluice_error *err)
{
    char *from = str_printf("%s/%s/%s", template->root, template->parts[0], file);
    sluice_status status =
        from == NULL ? error_nomem(err, "a path") : copy_file(template, from, to, O_EXCL, err);

    free(from);
    return status;
}

void template_files_deinit(struct template_files *files)
{
    for (size_t k = 0; k < files->n; k++) {
        free(files->names[k]);
    }
    free(files->names);
    memset(files, 0, sizeof *files);
}
