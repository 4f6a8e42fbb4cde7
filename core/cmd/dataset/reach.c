/* Where ids still are: see reach.h. */
#include "cmd/dataset/reach.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/facts/facts.h"
#include "store/paths.h"
#include "store/store.h"

json_t *reach_json(const struct reach_place *place)
{
    json_t *fact =
        json_pack("{s:o, s:s, s:I, s:b}", "path", facts_text(place->path, strlen(place->path)),
                  "kind", place->kind, "rows", (json_int_t)place->rows, "sure", place->sure);

    if (fact != NULL && place->unsearched != NULL) {
        json_object_set_new(fact, "unsearched",
                            facts_text(place->unsearched, strlen(place->unsearched)));
    }
    return fact;
}

static sluice_status tell(struct reach *reach, const struct reach_place *place,
                          struct sluice_error *err)
{
    reach->places++;
    return reach->found(reach->ctx, place, err);
}

/* A file of any kind; its bytes are searched. */
static sluice_status look_bytes(struct reach *reach, const char *path, const char *kind,
                                struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    struct reach_place place = { .path = path, .kind = kind };
    enum bytesearch_hit hit;
    bool found = false;
    sluice_status status = bytesearch_file(&reach->bytes, path, &found, &hit, &why);

    if (status != SLUICE_OK && status != SLUICE_E_DATA && status != SLUICE_E_CONFIG) {
        return error_set(err, status, "%s", why.message);
    }
    reach->files += found;
    place.sure = hit == BYTESEARCH_WORD;
    place.unsearched = status != SLUICE_OK ? why.message : NULL;
    return status != SLUICE_OK || hit != BYTESEARCH_NONE ? tell(reach, &place, err) : SLUICE_OK;
}

/* ---- of a dataset ---- */

/* Rows of JSON Lines by their field, bytes of anything else. */
static sluice_status look_rows(struct reach *reach, const char *path, const char *kind,
                               struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    struct reach_place place = { .path = path, .kind = kind, .sure = true };
    sluice_status status;

    if (!idsearch_takes(strrchr(path, '/') + 1)) {
        place.unsearched = "it is no JSON Lines, Parquet or Arrow, whose rows can be searched";
        return tell(reach, &place, err);
    }
    status = idsearch_count(reach->search, path, &place.rows, &why);
    if (status != SLUICE_OK && status != SLUICE_E_DATA) {
        return error_set(err, status, "%s", why.message);
    }
    reach->files++;
    place.unsearched = status != SLUICE_OK ? why.message : NULL;
    return status != SLUICE_OK || place.rows > 0 ? tell(reach, &place, err) : SLUICE_OK;
}

/* Whether a file is a link to one of data/. */
static bool is_linked(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_nlink > 1;
}

static sluice_status look_folder(struct reach *reach, const char *folder, const char *kind,
                                 bool links, struct sluice_error *err)
{
    struct store_list list = { NULL, 0 };
    sluice_status status = store_list(folder, STORE_DEEP, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char *path = store_join(folder, list.entries[i].name);
        status = path == NULL               ? error_nomem(err, "a path")
                 : links && is_linked(path) ? SLUICE_OK
                                            : look_rows(reach, path, kind, err);
        free(path);
    }
    store_list_deinit(&list);
    return status;
}

sluice_status reach_dataset(struct reach *reach, struct sluice_error *err)
{
    const char *dir = reach->search->dir;
    struct disk_names names = { NULL, 0 };
    char *data = store_join(dir, "data");
    sluice_status status =
        data == NULL ? error_nomem(err, "a path") : look_folder(reach, data, "data", false, err);

    free(data);
    if (status == SLUICE_OK && (store_caps(dir) & STORE_LINKS) != 0) {
        status = store_names(dir, &names, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *folder = store_join(dir, names.names[i]);
        bool snapshot =
            names.names[i][0] == 'v' && dataset_part(names.names[i], strlen(names.names[i]));
        status = folder == NULL ? error_nomem(err, "a path")
                 : snapshot     ? look_folder(reach, folder, "public", true, err)
                                : SLUICE_OK;
        free(folder);
    }
    disk_names_deinit(&names);
    return status;
}

/* ---- of a run ---- */

/* What a file of a run directory is, by the folder that it is in; NULL: it is not searched. The
 * frozen plan has scripts and names of inputs, and no rows. */
static const char *kind_of(const char *name)
{
    static const char *const kinds[] = { "spill",    "quarantine", "saved",   "answers", "claims",
                                         "failures", "attempts",   "history", "tasks",   "cache" };

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t n = strlen(kinds[k]);
        if (strncmp(name, kinds[k], n) == 0 && name[n] == '/') {
            return kinds[k];
        }
    }
    return strchr(name, '/') == NULL && strcmp(name, "plan.json") != 0 ? "run" : NULL;
}

sluice_status reach_run(struct reach *reach, const char *run_dir, struct sluice_error *err)
{
    struct store_list list = { NULL, 0 };
    sluice_status status = store_list(run_dir, STORE_DEEP, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        const char *kind = kind_of(list.entries[i].name);
        char *path = kind == NULL ? NULL : store_join(run_dir, list.entries[i].name);
        if (kind != NULL) {
            status = path == NULL ? error_nomem(err, "a path") : look_bytes(reach, path, kind, err);
        }
        free(path);
    }
    store_list_deinit(&list);
    return status;
}
