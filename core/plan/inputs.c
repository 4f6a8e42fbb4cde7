/* What the plan reads: lists the files of every reader, plans their input splits, and counts tasks.
 * No file is opened: a terabyte is planned in the time that listing it takes. */
#include "plan/planInt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/snapshot.h"
#include "store/tags.h"

/* A snapshot reference becomes the folder that holds exactly its shards. *shards is given. */
static sluice_status dataset_folder(struct planner *planner, const struct node *node,
                                    const char **out, struct snapshot **shards,
                                    struct sluice_error *err)
{
    struct arena *arena = &planner->arena;
    char *full;
    uint32_t number = 0;
    sluice_status status;

    TRY(tags_resolve(planner->plan->options.base_dir, node->patterns[0], &full, &number, err));
    status = snapshot_open(full, number, shards, err);
    if (status == SLUICE_OK) {
        /* Folders of links are for people and other programs; where there are none, its files are
         * those that are stored. */
        *out = (store_caps(full) & STORE_LINKS) != 0
                   ? arena_printf(arena, "%s/v%06u", full, (*shards)->number)
                   : arena_printf(arena, "%s/data", full);
        status = arena_status(arena, err, "the plan");
    }
    free(full);
    return status;
}

static int compare_shards(const void *a, const void *b)
{
    const struct snapshot_shard *const *x = a;
    const struct snapshot_shard *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* A snapshot's files are those that its manifest names, and hold what it says: whoever reads them
 * compares (run/source/files.h). That one has another size is seen at once. Those without rows are
 * about the others (an index, a card), and are not read. */
static sluice_status take_shards(struct planner *planner, struct lane *lane, const char *folder,
                                 const struct snapshot *snapshot, struct sluice_error *err)
{
    struct arena *arena = &planner->plan->arena;
    const char **names = ARENA_ARRAY(&planner->arena, const char *, snapshot->n_shards);
    const struct snapshot_shard **shards =
        ARENA_ARRAY(&planner->arena, const struct snapshot_shard *, snapshot->n_shards);
    struct listing_given *given =
        ARENA_ARRAY(&planner->arena, struct listing_given, snapshot->n_shards);
    struct hash128 *hashes = ARENA_ARRAY(arena, struct hash128, snapshot->n_shards);
    size_t n = 0;

    TRY(arena_status(arena, err, "the plan"));
    TRY(arena_status(&planner->arena, err, "the plan"));
    for (size_t i = 0; i < snapshot->n_shards; i++) {
        if (snapshot->shards[i].rows > 0) {
            names[n] = snapshot->shards[i].name;
            shards[n++] = &snapshot->shards[i];
        }
    }
    if ((store_caps(folder) & STORE_LINKS) == 0) {
        for (size_t i = 0; i < n; i++) {
            given[i] = (struct listing_given){ shards[i]->name, shards[i]->file, shards[i]->bytes };
        }
        TRY(listing_take(folder, given, n, planner->plan->options.limit_files, &lane->files, err));
    } else {
        TRY(listing_named(folder, names, n, planner->plan->options.limit_files, &lane->files, err));
    }
    /* Names are unique, and the listing has the first of them in their order. */
    if (n > 1) {
        qsort(shards, n, sizeof(const struct snapshot_shard *), compare_shards);
    }
    for (size_t i = 0; i < lane->files.n; i++) {
        const struct listing_file *file = &lane->files.files[i];
        const struct snapshot_shard *shard = shards[i];
        if (file->version.size != shard->bytes) {
            return error_set(err, SLUICE_E_DATA,
                             "%s has %" PRIu64 " bytes, the snapshot's manifest says %" PRIu64
                             ": it was damaged; run the pipeline that made it again, or put a copy "
                             "back",
                             file->path, file->version.size, shard->bytes);
        }
        hashes[i] = shard->hash;
    }
    lane->hashes = hashes;
    return SLUICE_OK;
}

/* What a pattern did not enter is said: people may have meant it. */
static void note_skipped(const struct planner *planner, const struct lane *lane,
                         const struct node *files)
{
    const struct stage_services *services = planner->plan->options.services;
    char text[1200];

    if (lane->files.n_skipped == 0 || services == NULL || services->log == NULL) {
        return;
    }
    snprintf(text, sizeof text,
             "%s: %zu folder%s of datasets and runs left out of the input, such as %.700s; "
             "s.dataset reads a dataset",
             files->where, lane->files.n_skipped, lane->files.n_skipped == 1 ? " was" : "s were",
             lane->files.skipped);
    services->log(services->ctx, SLUICE_LOG_WARN, lane->node->name, text);
}

static sluice_status list_lane(struct planner *planner, struct lane *lane, struct sluice_error *err)
{
    const struct plan_options *how = &planner->plan->options;
    const struct node *files = planner->graph->nodes[lane->node->inputs[0]];
    struct snapshot *snapshot = NULL;
    const char *folder = NULL;
    sluice_status status;

    if (lane->listed) {
        return SLUICE_OK;
    }
    if (how->thaw != NULL) {
        TRY(how->thaw(how->frozen_ctx, lane->node->name, &lane->files, &lane->hashes, &lane->listed,
                      err));
    }
    if (lane->listed) {
        return SLUICE_OK;
    }
    if (files->kind == NODE_DATASET) {
        status = dataset_folder(planner, files, &folder, &snapshot, err);
        if (status == SLUICE_OK) {
            status = take_shards(planner, lane, folder, snapshot, err);
        }
        snapshot_destroy(snapshot);
    } else {
        /* The first files are the first of those that are new. */
        status =
            listing_expand((const char *const *)files->patterns, files->n_patterns, how->base_dir,
                           files->n_since > 0 ? 0 : how->limit_files, &lane->files, err);
    }
    if (status == SLUICE_OK && files->n_since > 0) {
        status = planner_since(planner, lane, files, err);
        if (how->limit_files > 0 && lane->files.n > how->limit_files) {
            lane->files.n = how->limit_files;
        }
    }
    if (status != SLUICE_OK) {
        return error_prefix(err, "%s", files->where);
    }
    lane->listed = true;
    note_skipped(planner, lane, files);
    return SLUICE_OK;
}

sluice_status planner_describe(struct planner *planner, struct lane *lane, struct stage *stage,
                               struct sluice_error *err)
{
    const struct plan_options *options = &planner->plan->options;
    struct buf said = BUF_INIT;
    bool any = false;
    sluice_status status;

    if (lane->described || options->describe == NULL || stage_kind(stage)->survey == NULL) {
        return SLUICE_OK;
    }
    lane->described = true;
    status = list_lane(planner, lane, err);
    if (status != SLUICE_OK || lane->files.n == 0) {
        return options->check_only ? SLUICE_OK : status; /* a check does without files */
    }
    status = options->describe(options->describe_ctx, stage, &lane->files, lane->hashes, &said,
                               &any, err);
    if (status == SLUICE_OK) {
        lane->described_uri = lane->files.files[0].name;
    }
    if (status == SLUICE_OK && any) {
        lane->described_data = arena_copy(&planner->plan->arena, buf_str(&said), said.size);
        lane->described_n = said.size;
        status = said.failed ? error_nomem(err, "the plan")
                             : arena_status(&planner->plan->arena, err, "the plan");
    }
    buf_deinit(&said);
    return status;
}

sluice_status planner_describe_at(void *ctx, uint64_t k, const char **uri, const void **data,
                                  uint64_t *n, struct sluice_error *err)
{
    struct describing *describing = ctx;
    const struct plan_options *options = &describing->planner->plan->options;
    struct lane *lane = describing->lane;
    struct listing one = { .n = 1 };
    bool any = false;

    if (k >= lane->files.n || options->describe == NULL) {
        return SLUICE_OK;
    }
    one.files = &lane->files.files[k];
    describing->said.size = 0;
    TRY(options->describe(options->describe_ctx, describing->stage, &one,
                          lane->hashes == NULL ? NULL : &lane->hashes[k], &describing->said, &any,
                          err));
    TRY(buf_status(&describing->said, err));
    *uri = one.files->name;
    *data = any ? buf_str(&describing->said) : NULL;
    *n = any ? describing->said.size : 0;
    return SLUICE_OK;
}

static sluice_status plan_lane(struct planner *planner, struct lane *lane, struct sluice_error *err)
{
    const struct node *files = planner->graph->nodes[lane->node->inputs[0]];
    const struct sluice_stage *reader = &lane->node->entry->stage;
    struct split_options options = { .target = files->split_bytes, .cut = splits_cut(reader->cut) };
    struct split_input *inputs;

    TRY(list_lane(planner, lane, err));
    if (files->kind == NODE_FILES && !planner->plan->options.frozen) {
        TRY(planner_check_files(planner, files, &lane->files, err));
        if (files->n_since > 0) {
            TRY(planner_check_since(planner, lane, files, err));
        }
    }
    inputs = ARENA_ARRAY(&planner->arena, struct split_input, lane->files.n);
    TRY(arena_status(&planner->arena, err, "the list of input files"));
    for (size_t i = 0; i < lane->files.n; i++) {
        inputs[i] = (struct split_input){ .name = lane->files.files[i].name,
                                          .size = lane->files.files[i].version.size,
                                          .values = lane->files.files[i].values,
                                          .n_parts = lane->files.n_parts };
    }
    TRY(splits_plan(inputs, lane->files.n, &options, &lane->splits, err));
    lane->planned = true;
    /* A position (_pos) is 24 bits of split above 40 bits of row. */
    if (lane->splits.n > UINT32_C(0xffffff)) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "%s: %zu input splits, at most 16,777,215 are possible; give a larger split size",
            files->where, lane->splits.n);
    }
    lane->n_tasks = (uint32_t)lane->splits.n;
    return SLUICE_OK;
}

sluice_status planner_inputs(struct planner *planner, struct sluice_error *err)
{
    struct plan *plan = planner->plan;

    TRY(planner_check_inputs(planner, err));
    for (uint32_t i = 0; i < plan->n_lanes && !plan->options.check_only; i++) {
        if (plan->lanes[i]->kind == LANE_SPLITS) {
            TRY(plan_lane(planner, plan->lanes[i], err));
        }
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct phase *phase = plan->phases[p];
        for (uint32_t k = 0; k < phase->n_lanes; k++) {
            phase->n_tasks += phase->lanes[k]->n_tasks;
        }
        plan->n_tasks += phase->n_tasks;
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            struct plan_edge *edge = op_edge(phase->ops[i]);
            if (phase->ops[i]->kind == OP_LOAD) {
                const struct lane *lane = phase_load_lane(phase, phase->ops[i]);
                /* Without an input file there is no split, and yet a store. */
                uint32_t splits = phase->n_tasks > 0 ? phase->n_tasks : 1;
                edge->n_partitions = edge->load == LOAD_BY_SPLIT                ? splits
                                     : edge->load == LOAD_KEYED && lane != NULL ? lane->n_tasks
                                                                                : 1;
            }
        }
    }
    return SLUICE_OK;
}
