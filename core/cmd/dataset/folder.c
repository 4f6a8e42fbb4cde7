/* Datasets of a folder: see folder.h. */
#include "cmd/dataset/folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "store/paths.h"
#include "store/store.h"

#define DEPTH_MOST 32u /* of folders; links may go round */

static sluice_status add_found(struct folder *folder, const char *name, struct sluice_error *err)
{
    if (folder->n == folder->capacity) {
        size_t capacity = folder->capacity == 0 ? 16 : folder->capacity * 2;
        char **more = realloc(folder->names, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "datasets");
        }
        folder->names = more;
        folder->capacity = capacity;
    }
    folder->names[folder->n] = str_copy(name, strlen(name));
    return folder->names[folder->n++] == NULL ? error_nomem(err, "datasets") : SLUICE_OK;
}

/* Folders below `name` ("" = the folder itself), first themselves. */
static sluice_status walk(struct folder *found, const char *name, unsigned depth,
                          struct sluice_error *err)
{
    struct store_list list = { NULL, 0 };
    char *path = name[0] == '\0' ? str_copy(found->path, strlen(found->path))
                                 : store_join(found->path, name);
    bool dataset = path != NULL && dataset_there(path);
    sluice_status status = path == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    if (status == SLUICE_OK && dataset) {
        status = add_found(found, name[0] == '\0' ? "." : name, err);
    }
    if (status == SLUICE_OK && depth < DEPTH_MOST) {
        status = store_list(path, STORE_VERSIONS, &list, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        const char *entry = list.entries[i].name;
        char *inner;
        if (!list.entries[i].folder || entry[0] == '.' ||
            (dataset && dataset_part(entry, strlen(entry)))) {
            continue;
        }
        inner = name[0] == '\0' ? str_copy(entry, strlen(entry)) : store_join(name, entry);
        status = inner == NULL ? error_nomem(err, "a path") : walk(found, inner, depth + 1, err);
        free(inner);
    }
    store_list_deinit(&list);
    free(path);
    return status;
}

/* Where folders are no things: whoever has a manifest is a dataset. */
static sluice_status scan(struct folder *found, struct sluice_error *err)
{
    static const char part[] = "snapshots/";
    struct store_list list = { NULL, 0 };
    sluice_status status = store_list(found->path, STORE_DEEP, &list, err);
    char last[PATH_MAX] = "";

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        const char *name = list.entries[i].name;
        const char *slash = strrchr(name, '/');
        size_t n = slash == NULL ? 0 : (size_t)(slash + 1 - name);
        char dataset[PATH_MAX];
        if (n < sizeof part - 1 || n >= sizeof dataset ||
            memcmp(name + n - (sizeof part - 1), part, sizeof part - 1) != 0 ||
            strspn(slash + 1, "0123456789") + 5 != strlen(slash + 1)) {
            continue;
        }
        n -= sizeof part - 1;
        snprintf(dataset, sizeof dataset, "%.*s", n == 0 ? 1 : (int)n - 1, n == 0 ? "." : name);
        if (strcmp(dataset, last) != 0) {
            memcpy(last, dataset, sizeof last);
            status = add_found(found, dataset, err);
        }
    }
    store_list_deinit(&list);
    return status;
}

sluice_status folder_find(struct folder *found, struct sluice_error *err)
{
    TRY((store_caps(found->path) & STORE_FOLDERS) != 0 ? walk(found, "", 0, err)
                                                       : scan(found, err));
    if (found->n > 1) {
        qsort(found->names, found->n, sizeof *found->names, order_texts);
    }
    return SLUICE_OK;
}

void folder_deinit(struct folder *found)
{
    for (size_t i = 0; i < found->n; i++) {
        free(found->names[i]);
    }
    free(found->names);
    memset(found, 0, sizeof *found);
}

char *folder_dataset(const struct folder *found, size_t i)
{
    return strcmp(found->names[i], ".") == 0 ? str_copy(found->path, strlen(found->path))
                                             : store_join(found->path, found->names[i]);
}
