/* What the plan reads: lists and probes the files of every reader, plans their input splits, and
 * counts tasks. */
#include "plan/planInt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/snapshot.h"

/* A snapshot reference becomes the folder that holds exactly its shards. *shards is given. */
static sluice_status dataset_folder(struct planner *planner, const struct node *node,
                                    const char **out, struct snapshot **shards,
                                    struct sluice_error *err)
{
    struct arena *arena = &planner->arena;
    char *path = NULL;
    const char *full;
    uint32_t number = 0;

    TRY(snapshot_reference(node->patterns[0], &path, &number, err));
    full = path[0] == '/' ? arena_copy(arena, path, strlen(path))
                          : arena_printf(arena, "%s/%s", planner->plan->options.base_dir, path);
    free(path);
    TRY(arena_status(arena, err, "the plan"));
    TRY(snapshot_open(full, number, shards, err));
    *out = arena_printf(arena, "%s/v%06u", full, (*shards)->number);
    return SLUICE_OK;
}

static const struct listing_file *find_file(const struct lane *lane, const char *name)
{
    for (size_t low = 0, high = lane->files.n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, lane->files.files[middle].name);
        if (order == 0) {
            return &lane->files.files[middle];
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return NULL;
}

/* A snapshot's files are what its manifest says: a damaged or missing one is not read as if it
 * were. */
static sluice_status check_shards(const struct planner *planner, const struct lane *lane,
                                  const char *folder, const struct snapshot *snapshot,
                                  struct sluice_error *err)
{
    size_t known = 0;

    for (size_t i = 0; i < snapshot->n_shards; i++) {
        const struct snapshot_shard *shard = &snapshot->shards[i];
        const struct listing_file *file = find_file(lane, shard->name);
        char is[33];
        char was[33];
        if (file == NULL && planner->plan->options.limit_files == 0) {
            return error_set(err, SLUICE_E_DATA,
                             "%s/%s is missing, which the snapshot's manifest names; run the "
                             "pipeline that made it again, or put a copy back",
                             folder, shard->name);
        }
        if (file == NULL) {
            continue;
        }
        known++;
        if (!hash_equal(lane->infos[file - lane->files.files].hash, shard->hash)) {
            hash_hex(lane->infos[file - lane->files.files].hash, is);
            hash_hex(shard->hash, was);
            return error_set(err, SLUICE_E_DATA,
                             "%s has hash %s, the snapshot's manifest says %s: it was damaged; run "
                             "the pipeline that made it again, or put a copy back",
                             file->path, is, was);
        }
    }
    return known == lane->files.n
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "%s holds %zu files that the snapshot's manifest does not name; `sluice "
                           "verify` lists them: move them away",
                           folder, lane->files.n - known);
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

static sluice_status plan_lane(struct planner *planner, struct lane *lane, struct sluice_error *err)
{
    const struct node *files = planner->graph->nodes[lane->node->inputs[0]];
    const struct sluice_stage *reader = &lane->node->entry->stage;
    struct split_options options = { .target = files->split_bytes,
                                     .cut =
                                         reader->cut != NULL && strcmp(reader->cut, "newline") == 0
                                             ? SPLIT_CUT_NEWLINE
                                             : SPLIT_CUT_NONE };
    uint64_t target = options.target > 0 ? options.target : SPLIT_TARGET;
    struct split_input *inputs;
    struct snapshot *snapshot = NULL;
    const char *folder = NULL;
    sluice_status status;

    if (files->kind == NODE_DATASET) {
        TRY(dataset_folder(planner, files, &folder, &snapshot, err));
        status = arena_status(&planner->arena, err, "the plan");
        if (status == SLUICE_OK) {
            status = listing_expand(&folder, 1, "/", planner->plan->options.limit_files,
                                    &lane->files, err);
        }
    } else {
        status = listing_expand((const char *const *)files->patterns, files->n_patterns,
                                planner->plan->options.base_dir, planner->plan->options.limit_files,
                                &lane->files, err);
    }
    if (status != SLUICE_OK) {
        snapshot_destroy(snapshot);
        return error_prefix(err, "%s", files->where);
    }
    note_skipped(planner, lane, files);
    lane->infos = ARENA_ARRAY(&planner->plan->arena, struct input_info, lane->files.n);
    inputs = ARENA_ARRAY(&planner->arena, struct split_input, lane->files.n);
    if (lane->infos == NULL || inputs == NULL) {
        status = error_nomem(err, "the list of input files");
    } else {
        status = planner->plan->options.probe(planner->plan->options.probe_ctx, lane->files.files,
                                              lane->files.n, target / 4, lane->infos, err);
    }
    if (status == SLUICE_OK && snapshot != NULL) {
        status = check_shards(planner, lane, folder, snapshot, err);
    }
    snapshot_destroy(snapshot);
    TRY(status);
    for (size_t i = 0; i < lane->files.n; i++) {
        inputs[i] = (struct split_input){ .name = lane->files.files[i].name,
                                          .info = &lane->infos[i],
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
                edge->n_partitions = edge->load == LOAD_BY_SPLIT                ? phase->n_tasks
                                     : edge->load == LOAD_KEYED && lane != NULL ? lane->n_tasks
                                                                                : 1;
            }
        }
    }
    return SLUICE_OK;
}
