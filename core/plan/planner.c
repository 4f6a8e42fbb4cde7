/* Builds a plan step by step; see plan.h. */
#include <stdlib.h>

#include "base/buf.h"
#include "plan/planInt.h"

/* Which phases must be complete before each phase, and names for people. */
static sluice_status finish_phases(struct plan *plan, struct sluice_error *err)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct phase *phase = plan->phases[p];
        const char *first = NULL;
        const char *last = NULL;
        phase->depends = ARENA_ARRAY(&plan->arena, uint32_t, phase->n_ops);
        TRY(arena_status(&plan->arena, err, "the plan"));
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            if (op->kind == OP_LOAD) {
                bool known = false;
                for (uint32_t k = 0; k < phase->n_depends; k++) {
                    known = known || phase->depends[k] == op_load(op)->edge->producer_phase;
                }
                if (!known) {
                    phase->depends[phase->n_depends++] = op_load(op)->edge->producer_phase;
                }
            }
            if (op->node != NULL && op->kind != OP_COLLECT && !op_reads_again(op)) {
                first = first == NULL ? op->name : first;
                last = op->name;
            }
        }
        phase->name = first == last ? arena_printf(&plan->arena, "%u-%s", p + 1,
                                                   first == NULL ? "all" : first)
                                    : arena_printf(&plan->arena, "%u-%s-%s", p + 1, first, last);
    }
    return arena_status(&plan->arena, err, "the plan");
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
    status = options->open ? SLUICE_OK : graph_validate(graph, err);
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
    arena_deinit(&planner.arena);
    if (status != SLUICE_OK) {
        plan_destroy(plan);
        return status;
    }
    *out = plan;
    return SLUICE_OK;
}
