/* What the plan reads: lists and probes the files of every reader, plans their input splits, and counts tasks. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/snapshot.h"

/* A snapshot reference becomes the folder that holds exactly its shards. */
static sluice_status dataset_folder(const struct planner *planner, const struct node *node,
                                    char **out, struct sluice_error *err)
{
    char *path = NULL;
    char *full;
    uint32_t number = 0;
    struct snapshot *snapshot = NULL;
    sluice_status status;

    TRY(snapshot_reference(node->patterns[0], &path, &number, err));
    full = path[0] == '/' ? str_copy(path, strlen(path))
                          : str_printf("%s/%s", planner->plan->options.base_dir, path);
    free(path);
    if (full == NULL) {
        return error_nomem(err, "the plan");
    }
    status = snapshot_open(full, number, &snapshot, err);
    if (status == SLUICE_OK) {
        *out = str_printf("%s/v%06u", full, snapshot->number);
        status = *out == NULL ? error_nomem(err, "the plan") : SLUICE_OK;
        snapshot_destroy(snapshot);
    }
    free(full);
    return status;
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
    char *folder = NULL;
    const char *patterns[1];
    sluice_status status;

    if (files->kind == NODE_DATASET) {
        TRY(dataset_folder(planner, files, &folder, err));
        patterns[0] = folder;
        status =
            listing_expand(patterns, 1, "/", planner->plan->options.limit_files, &lane->files, err);
        free(folder);
    } else {
        status = listing_expand((const char *const *)files->patterns, files->n_patterns,
                                planner->plan->options.base_dir, planner->plan->options.limit_files,
                                &lane->files, err);
    }
    if (status != SLUICE_OK) {
        return error_prefix(err, "%s", files->where);
    }
    lane->infos = calloc(lane->files.n + 1, sizeof *lane->infos);
    inputs = calloc(lane->files.n + 1, sizeof *inputs);
    if (lane->infos == NULL || inputs == NULL) {
        free(inputs);
        return error_nomem(err, "the list of input files");
    }
    status = planner->plan->options.probe(planner->plan->options.probe_ctx, lane->files.files,
                                          lane->files.n, target / 4, lane->infos, err);
    for (size_t i = 0; i < lane->files.n; i++) {
        inputs[i] = (struct split_input){ .name = lane->files.files[i].name,
                                          .info = &lane->infos[i],
                                          .values = lane->files.files[i].values,
                                          .n_parts = lane->files.n_parts };
    }
    if (status == SLUICE_OK) {
        status = splits_plan(inputs, lane->files.n, &options, &lane->splits, err);
        lane->planned = status == SLUICE_OK;
    }
    free(inputs);
    if (status == SLUICE_OK && lane->splits.n > UINT32_C(0xffffff)) {
        status = error_set(
            err, SLUICE_E_CONFIG,
            "%s: %zu input splits, at most 16,777,215 are possible; give a larger split size",
            files->where, lane->splits.n);
    }
    if (status == SLUICE_OK) {
        lane->n_tasks = (uint32_t)lane->splits.n;
    }
    return status;
}

sluice_status planner_inputs(struct planner *planner, struct sluice_error *err)
{
    struct plan *plan = planner->plan;

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
            struct plan_edge *edge = phase->ops[i]->edge;
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
