/* Folders as names of datasets: see paths.h. */
#include "store/paths.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "store/disk.h"
#include "store/store.h"

/* Takes the segments of rest behind what is in out, one by one. */
static void resolve(struct buf *out, const char *rest)
{
    while (*rest != '\0') {
        size_t n = strcspn(rest, "/");
        if (n == 2 && memcmp(rest, "..", 2) == 0) {
            while (out->size > 0 && out->data[--out->size] != '/') {
            }
        } else if (n > 0 && !(n == 1 && rest[0] == '.')) {
            buf_putc(out, '/');
            buf_append(out, rest, n);
        }
        rest += n + (rest[n] == '/');
    }
}

char *path_canonical(const char *path)
{
    struct buf out = BUF_INIT;
    size_t n = strlen(path);
    char *head = str_copy(path, n);
    char *real = NULL;

    /* The longest part that exists, links and all; ".." behind it has no links to follow. */
    if (!store_is_local(path)) {
        size_t root = store_root(path);
        free(head);
        buf_append(&out, path, root);
        resolve(&out, path + root);
        return buf_take(&out);
    }
    while (head != NULL && n > 0 && (real = realpath(head, NULL)) == NULL && errno != ENOMEM) {
        while (n > 0 && head[n - 1] == '/') {
            n--;
        }
        while (n > 0 && head[n - 1] != '/') {
            n--;
        }
        head[n] = '\0';
    }
    if (head == NULL || (real == NULL && n > 0)) {
        free(head);
        return NULL;
    }
    if (real != NULL && strcmp(real, "/") != 0) {
        buf_puts(&out, real);
    }
    resolve(&out, path + n);
    free(head);
    free(real);
    if (out.size == 0) {
        buf_putc(&out, '/');
    }
    return buf_take(&out);
}

const char *path_below(const char *outer, const char *inner)
{
    size_t n = strcmp(outer, "/") == 0 ? 0 : strlen(outer);

    if (strncmp(outer, inner, n) != 0 || (inner[n] != '/' && inner[n] != '\0')) {
        return NULL;
    }
    return inner[n] == '/' ? inner + n + 1 : inner + n;
}

bool dataset_part(const char *name, size_t n)
{
    static const char *const names[] = { "data", "snapshots", "latest", "tags", "purges" };

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (strlen(names[k]) == n && memcmp(names[k], name, n) == 0) {
            return true;
        }
    }
    if (n < 7 || name[0] != 'v') {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (name[i] < '0' || name[i] > '9') {
            return false;
        }
    }
    return true;
}

static bool has_object(const char *folder, const char *name, bool is_folder)
{
    struct disk_names names = { NULL, 0 };
    char *path = store_join(folder, name);
    uint64_t bytes;
    bool found = false;
    sluice_status status =
        is_folder ? store_names(path, &names, NULL) : store_size(path, &bytes, &found, NULL);

    found = status == SLUICE_OK && (found || names.n > 0);
    disk_names_deinit(&names);
    free(path);
    return found;
}

/* Whether folder/name is there, as a folder or as a file. */
static bool has(const char *folder, const char *name, bool is_folder)
{
    char path[PATH_MAX];
    struct stat st;
    size_t n = strlen(folder);
    size_t m = strlen(name);

    if (n + m + 2 > sizeof path) {
        return false;
    }
    if (!store_is_local(folder)) {
        return has_object(folder, name, is_folder);
    }
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, m + 1);
    return stat(path, &st) == 0 && (is_folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
}

static bool is_manifest(const char *name)
{
    size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, ".json") == 0 && strspn(name, "0123456789") == n - 5;
}

bool dataset_there(const char *folder)
{
    char path[PATH_MAX];
    size_t n = strlen(folder);
    struct dirent *entry;
    bool found = false;
    DIR *dir;

    if (n + sizeof "/snapshots" > sizeof path) {
        return false;
    }
    memcpy(path, folder, n);
    memcpy(path + n, "/snapshots", sizeof "/snapshots");
    if (!store_is_local(folder)) {
        struct disk_names names = { NULL, 0 };
        if (store_names(path, &names, NULL) == SLUICE_OK) {
            for (size_t i = 0; i < names.n; i++) {
                found = found || is_manifest(names.names[i]);
            }
        }
        disk_names_deinit(&names);
        return found;
    }
    dir = opendir(path);
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        found = is_manifest(entry->d_name);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

bool run_there(const char *folder)
{
    return has(folder, "plan.json", false) && has(folder, "tasks", true);
}

char *dataset_around(const char *path)
{
    char *copy = str_copy(path, strlen(path));
    char *slash;

    while (copy != NULL && (slash = strrchr(copy + store_root(copy), '/')) != NULL &&
           slash != copy) {
        bool part = dataset_part(slash + 1, strlen(slash + 1));
        *slash = '\0';
        if (part && dataset_there(copy)) {
            return copy;
        }
    }
    free(copy);
    return NULL;
}
