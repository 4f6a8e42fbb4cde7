/* Projection: which columns are used by whom, from the sinks back to the readers; what edges need
 * not store and readers need not make. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

static void mark(struct phase *phase, uint32_t op, int32_t slot)
{
    if (slot >= 0) {
        phase->ops[op]->live[slot] = true;
    }
}

/* What an op needs of one of its inputs to push its own live columns. */
static void mark_columns(struct phase *phase, const struct op *op, uint32_t port,
                         const struct op_column *columns)
{
    for (uint32_t k = 0; columns != NULL && k < op->out.n; k++) {
        if (op->live[k] && columns[k].from == FROM_INPUT) {
            mark(phase, op_input(op, port), (int32_t)columns[k].at);
        }
    }
}

static void mark_drops(struct phase *phase, const struct op *op, uint32_t from,
                       const int32_t *slots)
{
    for (uint32_t k = 0; k < op->out.n; k++) {
        if (op->live[k]) {
            mark(phase, from, slots[k]);
        }
    }
}

static void mark_collect(struct phase *phase, const struct op *op)
{
    const struct op_collect *collect = op_collect(op);

    for (uint32_t i = 0; i < collect->n_stages; i++) {
        const struct op *stage = phase->ops[collect->stages[i].op];
        mark_drops(phase, op, op_input(stage, 0), collect->stages[i].slots);
    }
    if (collect->has_earlier) {
        mark_drops(phase, op, collect->earlier.op, collect->earlier.slots);
    }
}

static sluice_status shrink_edge(struct planner *planner, struct op *store,
                                 struct sluice_error *err)
{
    struct plan_edge *edge = op_store(store)->edge;
    int32_t *slots = op_edit_store(store)->slots;
    uint32_t kept = 0;
    struct schema all = edge->schema;
    bool *stored = ARENA_ARRAY(&planner->arena, bool, all.n);

    TRY(arena_status(&planner->arena, err, "the plan"));
    for (uint32_t k = 0; k < all.n; k++) {
        stored[k] = true;
    }
    TRY(planner_again(planner, store, stored, err));
    /* slots[] shrinks in place, beside the schema: kept never passes k. */
    schema_init(&edge->schema);
    for (uint32_t k = 0; k < all.n; k++) {
        if (stored[k] && planner_stored_live(planner->plan, edge, all.fields[k].name)) {
            sluice_status status = schema_add(&edge->schema, all.fields[k].name, all.fields[k].type,
                                              all.fields[k].metadata, err);
            if (status != SLUICE_OK) {
                schema_deinit(&all);
                return status;
            }
            slots[kept++] = slots[k];
        }
    }
    schema_deinit(&all);
    return SLUICE_OK;
}

static void mark_op(struct phase *phase, struct op *op)
{
    if (op->row_slot >= 0) {
        op->live[op->row_slot] = true;
    }
    for (uint32_t k = 0; k < op->out.n; k++) {
        if (planner_always_live(op->out.fields[k].name)) {
            op->live[k] = true;
        }
    }
    switch (op->kind) {
    case OP_READ:
        for (uint32_t k = 0; k < op->out.n; k++) { /* the origin table */
            const char *name = op->out.fields[k].name;
            enum sluice_hidden hidden = sluice_hidden_of(name);
            op->live[k] = op->live[k] || hidden == SLUICE_HIDDEN_BEGIN ||
                          hidden == SLUICE_HIDDEN_END || strcmp(name, "id") == 0;
        }
        break;
    case OP_LOAD:
        break;
    case OP_STAGE:
        for (uint32_t port = 0; port < op_n_inputs(op); port++) {
            for (uint32_t k = 0; k < op_stage(op)->n_need[port]; k++) {
                mark(phase, op_input(op, port), op_stage(op)->need[port][k]);
            }
        }
        mark_columns(phase, op, 0, op_stage(op)->columns);
        break;
    case OP_UNION:
        for (uint32_t port = 0; port < op_n_inputs(op); port++) {
            mark_columns(phase, op, port, op_union(op)->ports[port].columns);
        }
        break;
    case OP_COLLECT:
        mark_collect(phase, op);
        break;
    case OP_STORE:
        for (uint32_t k = 0; k < op_store(op)->edge->schema.n; k++) {
            mark(phase, op_input(op, 0), op_store(op)->slots[k]);
        }
        break;
    }
}

/* Where a loader finds what its op gives, now that it is known what the edge stores. */
static sluice_status find_stored(struct plan *plan, struct op *op, struct sluice_error *err)
{
    const struct plan_edge *edge = op_load(op)->edge;
    int32_t *stored = ARENA_ARRAY(&plan->arena, int32_t, op->out.n);

    TRY(arena_status(&plan->arena, err, "the plan"));
    for (uint32_t k = 0; k < op->out.n; k++) {
        const char *name = op->out.fields[k].name;
        stored[k] = schema_find(&edge->schema, name);
        if (edge->load == LOAD_BY_SPLIT && strcmp(name, SLUICE_ROW) == 0) {
            stored[k] = schema_find(&edge->schema, SLUICE_POS);
        } else if (stored[k] < 0 && strcmp(name, SLUICE_POS) == 0) {
            stored[k] = (int32_t)edge->schema.n; /* appended by the loader */
        }
    }
    op_edit_load(op)->stored = stored;
    return SLUICE_OK;
}

sluice_status planner_project(struct planner *planner, struct sluice_error *err)
{
    struct plan *plan = planner->plan;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            struct op *op = plan->phases[p]->ops[i];
            op->live = ARENA_ARRAY(&plan->arena, bool, op->out.n);
            for (uint32_t k = 0; op->live != NULL && k < op->out.n; k++) {
                op->live[k] = plan->options.open && op->n_consumers == 0;
            }
        }
    }
    TRY(arena_status(&plan->arena, err, "the plan"));
    for (uint32_t p = plan->n_phases; p-- > 0;) {
        struct phase *phase = plan->phases[p];
        for (uint32_t i = phase->n_ops; i-- > 0;) {
            struct op *op = phase->ops[i];
            if (op->kind == OP_STORE) {
                TRY(shrink_edge(planner, op, err));
            }
            mark_op(phase, op);
        }
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        struct phase *phase = plan->phases[p];
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            struct op *op = phase->ops[i];
            if (op->kind == OP_READ) {
                TRY(planner_reader(planner, phase, op, true, err));
            } else if (op->kind == OP_LOAD) {
                TRY(find_stored(plan, op, err));
            }
        }
    }
    return SLUICE_OK;
}
