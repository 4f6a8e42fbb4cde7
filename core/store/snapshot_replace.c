/* A snapshot whose rows were removed takes the place of what it was, under its number: see
 * snapshot.h. The manifest is replaced at once; a crash behind that leaves names of the old files
 * in the folder, which the next call takes away. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "store/pending.h"
#include "store/snapshotInt.h"
#include "store/store.h"

#define DEPTH_MOST 32u /* of folders in a snapshot's */

static sluice_status put_text(const char *dir, const struct snapshot *s, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    struct published published;
    char *manifests = store_join(dir, "snapshots");
    char name[24];
    sluice_status status =
        manifests == NULL ? error_nomem(err, "a path") : snapshot_print(s, &text, err);

    snapshot_manifest_name(s->number, name);
    if (status == SLUICE_OK) {
        status = pending_put(manifests, name, text.data, text.size, 0, &published, err);
    }
    buf_deinit(&text);
    free(manifests);
    return status;
}

/* Names in the snapshot's folder that are no shards of it any more. */
static sluice_status drop_extras(const char *folder, const struct snapshot *s,
                                 struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    const char **names = snapshot_sorted_names(&arena, s, false);
    struct store_list list = { NULL, 0 };
    bool dropped = false;
    sluice_status status = arena_status(&arena, err, "a manifest");

    if (status == SLUICE_OK) {
        status = store_list(folder, STORE_DEEP, &list, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        const char *name = list.entries[i].name;
        char *path;
        if (s->n_shards > 0 &&
            bsearch(&name, names, s->n_shards, sizeof *names, order_texts) != NULL) {
            continue;
        }
        path = store_join(folder, name);
        status = path == NULL ? error_nomem(err, "a path") : store_remove(path, err);
        free(path);
        dropped = true;
    }
    if (status == SLUICE_OK && dropped) {
        status = store_settle(folder, err);
    }
    store_list_deinit(&list);
    arena_deinit(&arena);
    return status;
}

/* Folders in it that have nothing in them any more. */
static sluice_status drop_folders(const char *folder, unsigned depth, struct sluice_error *err)
{
    struct store_list list = { NULL, 0 };
    sluice_status status = store_list(folder, STORE_VERSIONS, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char *inner;
        int errnum;
        if (!list.entries[i].folder || depth == 0) {
            continue;
        }
        inner = store_join(folder, list.entries[i].name);
        status = inner == NULL ? error_nomem(err, "a path") : drop_folders(inner, depth - 1, err);
        errnum = status == SLUICE_OK ? disk_rmdir(inner) : 0;
        if (errnum != 0 && errnum != ENOTEMPTY && errnum != EEXIST && errnum != ENOENT) {
            status = error_errno(err, errnum, "can't remove the folder %s", inner);
        }
        free(inner);
    }
    store_list_deinit(&list);
    return status;
}

sluice_status snapshot_replace(const char *dataset_dir, struct snapshot *s,
                               const struct snapshot *before, struct sluice_error *err)
{
    char name[24];
    char *folder;
    uint64_t mended = 0;
    sluice_status status;

    TRY(snapshot_add_up(s, err));
    TRY(snapshot_hash(s, err));
    /* Without its parent, which may be forgotten, there is nothing to compare with. */
    if (s->parent == 0 || before != NULL) {
        TRY(snapshot_take_names(s, s->parent == 0 ? NULL : before, err));
    }
    TRY(put_text(dataset_dir, s, err));
    if ((store_caps(dataset_dir) & STORE_LINKS) == 0 ||
        !snapshot_folder_there(dataset_dir, s->number)) {
        return SLUICE_OK;
    }
    snapshot_folder_name(s->number, name);
    folder = store_join(dataset_dir, name);
    status = folder == NULL ? error_nomem(err, "a path")
                            : snapshot_folder_mend(dataset_dir, s, NULL, &mended, err);
    if (status == SLUICE_OK) {
        status = drop_extras(folder, s, err);
    }
    if (status == SLUICE_OK) {
        status = drop_folders(folder, DEPTH_MOST, err);
    }
    free(folder);
    return status;
}
