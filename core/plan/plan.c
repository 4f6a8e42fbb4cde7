/* The plan as a whole: builds it step by step, frees it, numbers its tasks. See plan.h. */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/planInt.h"

static void planner_deinit(struct planner *planner)
{
    for (uint32_t i = 0; i < planner->n_domains; i++) {
        free(planner->domains[i].lanes);
    }
    for (uint32_t p = 0; planner->tails != NULL && p < planner->plan->n_phases; p++) {
        free(planner->tails[p]);
    }
    free(planner->tails);
    free(planner->domains);
    free(planner->places);
    free(planner->phase_domain);
}

/* Which phases must be complete before each phase, and names for people. */
static sluice_status finish_phases(struct plan *plan, struct sluice_error *err)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct phase *phase = plan->phases[p];
        const char *first = NULL;
        const char *last = NULL;
        phase->depends = calloc(phase->n_ops + 1, sizeof *phase->depends);
        if (phase->depends == NULL) {
            return error_nomem(err, "the plan");
        }
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            if (op->kind == OP_LOAD) {
                bool known = false;
                for (uint32_t k = 0; k < phase->n_depends; k++) {
                    known = known || phase->depends[k] == op->edge->producer_phase;
                }
                if (!known) {
                    phase->depends[phase->n_depends++] = op->edge->producer_phase;
                }
            }
            if (op->node != NULL && op->kind != OP_COLLECT && !op->again) {
                first = first == NULL ? op->name : first;
                last = op->name;
            }
        }
        phase->name = first == last ? str_printf("%u-%s", p + 1, first == NULL ? "all" : first)
                                    : str_printf("%u-%s-%s", p + 1, first, last);
        if (phase->name == NULL) {
            return error_nomem(err, "the plan");
        }
    }
    return SLUICE_OK;
}

sluice_status plan_build(const struct graph *graph, struct registry *registry,
                         const struct plan_options *options, struct plan **out,
                         struct sluice_error *err)
{
    struct planner planner = { .graph = graph, .registry = registry };
    struct plan *plan = calloc(1, sizeof *plan);
    sluice_status status;

    *out = NULL;
    if (plan == NULL) {
        return error_nomem(err, "the plan");
    }
    plan->graph = graph;
    plan->options = *options;
    planner.plan = plan;
    status = graph_validate(graph, err);
    if (status == SLUICE_OK) {
        status = planner_assign(&planner, err);
    }
    if (status == SLUICE_OK) {
        status = planner_build(&planner, err);
    }
    if (status == SLUICE_OK) {
        /* Before the keys: these know only the columns that are left. */
        status = planner_project(&planner, err);
    }
    if (status == SLUICE_OK) {
        status = planner_inputs(&planner, err);
    }
    if (status == SLUICE_OK) {
        status = planner_keys(&planner, err);
    }
    if (status == SLUICE_OK) {
        status = finish_phases(plan, err);
    }
    planner_deinit(&planner);
    if (status != SLUICE_OK) {
        plan_destroy(plan);
        return status;
    }
    *out = plan;
    return SLUICE_OK;
}

void op_destroy(struct op *op)
{
    stage_close(op->stage);
    schema_deinit(&op->out);
    for (uint32_t i = 0; op->drop_from != NULL && i < op->n_drops_of + 1; i++) {
        free(op->drop_from[i]);
    }
    for (uint32_t i = 0; i < op->n_outputs; i++) {
        free(op->outputs[i].suffix);
        free(op->outputs[i].codec);
    }
    for (uint32_t i = 0; i < op->n_notes; i++) {
        free(op->notes[i].key);
        free(op->notes[i].json);
    }
    for (uint32_t i = 0; i < op->n_agains; i++) {
        free(op->agains[i].columns);
    }
    free(op->agains);
    free(op->outputs);
    free(op->notes);
    free(op->drop_from);
    free(op->drops_of);
    free(op->union_inputs);
    free(op->need[0]);
    free(op->need[1]);
    free(op->part_of);
    free(op->from);
    free(op->live);
    free(op->consumers);
    free(op->key_text);
    free(op->dataset);
    free(op->name);
    free(op);
}

void plan_destroy(struct plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct phase *phase = plan->phases[p];
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            op_destroy(phase->ops[i]);
        }
        free(phase->ops);
        free(phase->lanes);
        free(phase->depends);
        free(phase->name);
        free(phase);
    }
    for (uint32_t i = 0; i < plan->n_edges; i++) {
        schema_deinit(&plan->edges[i]->schema);
        schema_deinit(&plan->edges[i]->loaded);
        free(plan->edges[i]->name);
        free(plan->edges[i]->why);
        free(plan->edges[i]);
    }
    for (uint32_t i = 0; i < plan->n_lanes; i++) {
        struct lane *lane = plan->lanes[i];
        if (lane->planned) {
            splits_deinit(&lane->splits);
        }
        for (size_t k = 0; lane->infos != NULL && k < lane->files.n; k++) {
            input_info_deinit(&lane->infos[k]);
        }
        free(lane->infos);
        listing_deinit(&lane->files);
        free(lane);
    }
    free(plan->phases);
    free(plan->edges);
    free(plan->lanes);
    free(plan);
}

struct task_id plan_task(const struct plan *plan, uint32_t number)
{
    struct task_id id = { 0, number };

    while (id.phase + 1 < plan->n_phases && id.task >= plan->phases[id.phase]->n_tasks) {
        id.task -= plan->phases[id.phase]->n_tasks;
        id.phase++;
    }
    return id;
}

uint32_t plan_task_number(const struct plan *plan, struct task_id id)
{
    uint32_t number = id.task;

    for (uint32_t p = 0; p < id.phase; p++) {
        number += plan->phases[p]->n_tasks;
    }
    return number;
}

const struct lane *phase_lane(const struct phase *phase, uint32_t task, uint32_t *index)
{
    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        if (task < phase->lanes[k]->n_tasks) {
            *index = task;
            return phase->lanes[k];
        }
        task -= phase->lanes[k]->n_tasks;
    }
    return NULL;
}

const struct lane *phase_load_lane(const struct phase *phase, const struct op *load)
{
    for (uint32_t k = 0; k < phase->n_lanes && load->n_consumers > 0; k++) {
        if (phase->lanes[k]->kind != LANE_SPLITS &&
            phase->lanes[k]->node == phase->ops[load->consumers[0].op]->node) {
            return phase->lanes[k];
        }
    }
    return NULL;
}

const char *phase_task_name(const struct phase *phase, uint32_t task, char buffer[64])
{
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);

    if (lane == NULL) {
        return "?";
    }
    switch (lane->kind) {
    case LANE_SPLITS:
        return lane->splits.items[index].name;
    case LANE_PARTITIONS:
        snprintf(buffer, 64, "partition %u", index);
        return buffer;
    case LANE_GLOBAL:
        break;
    }
    return "all";
}

const struct op *plan_find_op(const struct plan *plan, const char *name,
                              const struct phase **phase_out)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op->node != NULL && op->kind != OP_COLLECT && !op->again &&
                strcmp(op->node->name, name) == 0) {
                if (phase_out != NULL) {
                    *phase_out = plan->phases[p];
                }
                return op;
            }
        }
    }
    return NULL;
}
