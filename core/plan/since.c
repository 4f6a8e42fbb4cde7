/* Input files that a dataset holds: s.files { ..., since = "PATH" } leaves them out. What a dataset
 * holds stands in its manifest (store/appends.h), so that it is its own watermark: whoever appends
 * to it is told what is new to it, and to nobody else. Each file that may be there is compared by
 * its hash, which is remembered; others are not read. */
#include <stdlib.h>
#include <string.h>

#include "plan/planInt.h"
#include "store/appends.h"
#include "store/paths.h"
#include "store/tags.h"

/* A dataset that `since` names. */
struct since {
    const char *name; /* as the script has it */
    char *dir;        /* canonical */
    uint32_t number;  /* of the snapshot; 0 = there is none yet */
    struct appended held;
};

static void since_close(struct since *all, uint32_t n)
{
    for (uint32_t i = 0; all != NULL && i < n; i++) {
        free(all[i].dir);
        appended_deinit(&all[i].held);
    }
    free(all);
}

static sluice_status open_one(const struct planner *planner, const char *name, struct since *since,
                              struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    uint32_t number = 0;
    char *dir = NULL;
    sluice_status status;

    since->name = name;
    TRY(tags_resolve(planner->plan->options.base_dir, name, &dir, &number, err));
    since->dir = path_canonical(dir);
    status = since->dir == NULL ? error_nomem(err, "the plan")
             : number == 0      ? snapshot_open_newest(dir, &snapshot, err)
                                : snapshot_open(dir, number, &snapshot, err);
    if (status == SLUICE_OK && snapshot != NULL && !appends_told(snapshot)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "since: snapshot %u of %s does not tell of which files it was made; run "
                           "the writer once with mode = \"rebuild\" over all of them, or with mode "
                           "= \"append\" from the first on",
                           (unsigned)snapshot->number, dir);
    }
    if (status == SLUICE_OK && snapshot != NULL) {
        since->number = snapshot->number;
        status = appended_open(snapshot, &since->held, err);
    }
    snapshot_destroy(snapshot);
    free(dir);
    return status;
}

static sluice_status since_open(const struct planner *planner, const struct node *files,
                                struct since **out, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    *out = calloc(files->n_since + 1u, sizeof **out);
    if (*out == NULL) {
        return error_nomem(err, "the plan");
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < files->n_since; i++) {
        status = open_one(planner, files->since[i], &(*out)[i], err);
    }
    if (status != SLUICE_OK) {
        since_close(*out, files->n_since);
        *out = NULL;
    }
    return status;
}

/* Whether all of the datasets hold it. */
static sluice_status is_held(const struct planner *planner, const struct node *files,
                             const struct lane *lane, const struct listing_file *file,
                             const struct since *all, bool *held, struct hash128 *hash,
                             struct sluice_error *err)
{
    *held = true;
    for (uint32_t i = 0; *held && i < files->n_since; i++) {
        enum appended_state state;
        TRY(appended_find(&all[i].held, lane->node->name, file, i == 0 ? NULL : hash,
                          planner->plan->options.inputs, &state, hash, err));
        if (state == APPENDED_CHANGED && !files->since_new) {
            return error_set(err, SLUICE_E_DATA,
                             "%s changed since %s@%u took it in, under the same name; put back "
                             "what it was, give what is new another name, or take it in beside the "
                             "old rows (changed = \"new\")",
                             file->path, all[i].dir, (unsigned)all[i].number);
        }
        *held = state == APPENDED_HELD;
    }
    return SLUICE_OK;
}

sluice_status planner_since(struct planner *planner, struct lane *lane, const struct node *files,
                            struct sluice_error *err)
{
    struct listing *list = &lane->files;
    struct arena *arena = &planner->plan->arena;
    struct since *all;
    size_t kept = 0;
    sluice_status status;

    lane->left_out = ARENA_ARRAY(arena, struct listing_file, list->n);
    lane->left_hashes = ARENA_ARRAY(arena, struct hash128, list->n);
    TRY(arena_status(arena, err, "the plan"));
    TRY(since_open(planner, files, &all, err));
    status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < list->n; i++) {
        struct hash128 hash = { 0, 0 };
        bool held = false;
        status = is_held(planner, files, lane, &list->files[i], all, &held, &hash, err);
        if (held) {
            lane->left_hashes[lane->n_left_out] = hash;
            lane->left_out[lane->n_left_out++] = list->files[i];
        } else {
            list->files[kept++] = list->files[i];
        }
    }
    list->n = kept;
    since_close(all, files->n_since);
    return status;
}

/* ---- who else must have them ---- */

static bool named(const struct node *files, const struct since *all, const char *dir)
{
    for (uint32_t i = 0; i < files->n_since; i++) {
        if (strcmp(all[i].dir, dir) == 0) {
            return true;
        }
    }
    return false;
}

/* What is left out must be in every dataset that the rows would have come to: else it is in none of
 * the runs. */
static sluice_status check_held(const struct lane *lane, const struct node *files,
                                const struct op *writer, const char *dir, struct sluice_error *err)
{
    struct snapshot *newest = NULL;
    struct appended held;
    sluice_status status = SLUICE_OK;

    TRY(snapshot_open_newest(dir, &newest, err));
    status = appended_open(newest, &held, err);
    snapshot_destroy(newest);
    for (size_t i = 0; status == SLUICE_OK && i < lane->n_left_out; i++) {
        enum appended_state state;
        status = appended_look(&held, lane->node->name, lane->left_out[i].name,
                               lane->left_out[i].version.size, &lane->left_hashes[i], &state, err);
        if (status == SLUICE_OK && state != APPENDED_HELD) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "%s is left out of the input since %s has it, but '%s' appends to "
                               "%s, which has not: leave out what both have, since = { \"%s\", "
                               "\"%s\" }",
                               lane->left_out[i].path, files->since[0], writer->name, dir,
                               files->since[0], op_stage(writer)->dataset);
        }
    }
    appended_deinit(&held);
    return status;
}

static sluice_status check_writer(const struct lane *lane, const struct node *files,
                                  const struct op *writer, const struct since *all, bool *absent,
                                  struct sluice_error *err)
{
    char *dir = path_canonical(op_stage(writer)->dataset);
    uint32_t parent = 0;
    bool carries = op_carries_on(writer, &parent);
    bool appends = writer->node->mode == MODE_APPEND || (carries && parent > 0);
    sluice_status status = SLUICE_OK;

    if (dir == NULL) {
        return error_nomem(err, "the plan");
    }
    for (uint32_t i = 0; i < files->n_since; i++) {
        bool same = strcmp(all[i].dir, dir) == 0;
        absent[i] = absent[i] && !same;
        appends = appends || (carries && same && all[i].number == 0); /* it begins */
    }
    if (named(files, all, dir) && !appends) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "'%s' builds %s anew, which would lose the rows of all files that are "
                           "left out since it has them; let it append (mode = \"append\"), or "
                           "leave out `since`",
                           writer->name, dir);
    } else if (appends && !named(files, all, dir) && lane->n_left_out > 0) {
        status = check_held(lane, files, writer, dir, err);
    }
    free(dir);
    return status;
}

sluice_status planner_check_since(const struct planner *planner, const struct lane *lane,
                                  const struct node *files, struct sluice_error *err)
{
    const struct plan *plan = planner->plan;
    bool *absent = calloc(files->n_since + 1u, sizeof *absent);
    struct since *all = NULL;
    sluice_status status =
        absent == NULL ? error_nomem(err, "the plan") : since_open(planner, files, &all, err);

    for (uint32_t i = 0; status == SLUICE_OK && i < files->n_since; i++) {
        absent[i] = all[i].number == 0;
    }
    for (uint32_t p = 0; status == SLUICE_OK && p < plan->n_phases; p++) {
        for (uint32_t i = 0; status == SLUICE_OK && i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op_writes(op) && graph_feeds(planner->graph, lane->node->id, op->node->id)) {
                status = check_writer(lane, files, op, all, absent, err);
            }
        }
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < files->n_since; i++) {
        if (absent[i]) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "since: there is no dataset at %s, and none that these files go to "
                               "will be there; give the dataset that has the files of before",
                               all[i].dir);
        }
    }
    since_close(all, files->n_since);
    free(absent);
    return status;
}
