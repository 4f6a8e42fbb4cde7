/* Projection: which columns are used by whom, from the sinks back to the readers; what edges need
 * not store and readers need not make. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

static bool always_live(const char *name)
{
    return strcmp(name, "_row") == 0 || strcmp(name, "_pos") == 0 || strcmp(name, "key") == 0 ||
           strcmp(name, "_origin") == 0 || strcmp(name, "_span") == 0;
}

static void mark(struct phase *phase, int32_t op, int32_t slot)
{
    if (op >= 0 && slot >= 0) {
        phase->ops[op]->live[slot] = true;
    }
}

/* A stored column is kept when a loader of the edge delivers it to somebody. */
bool planner_stored_live(const struct plan *plan, const struct plan_edge *edge, const char *name)
{
    if (always_live(name)) {
        return true;
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            int32_t slot;
            if (op->kind != OP_LOAD || op->edge != edge) {
                continue;
            }
            slot = schema_find(&op->out, name);
            if (slot >= 0 && op->live[slot]) {
                return true;
            }
        }
    }
    return false;
}

static sluice_status shrink_edge(struct planner *planner, struct op *store,
                                 struct sluice_error *err)
{
    struct plan_edge *edge = store->edge;
    uint32_t kept = 0;
    struct schema all = edge->schema;
    bool *stored = malloc((all.n + 1u) * sizeof *stored);

    if (stored == NULL) {
        return error_nomem(err, "the plan");
    }
    for (uint32_t k = 0; k < all.n; k++) {
        stored[k] = true;
    }
    if (planner_again(planner, store, stored, err) != SLUICE_OK) {
        free(stored);
        return error_known(err->code);
    }
    /* from[] shrinks in place, beside the schema: kept never passes k. */
    schema_init(&edge->schema);
    for (uint32_t k = 0; k < all.n; k++) {
        if (stored[k] && planner_stored_live(planner->plan, edge, all.fields[k].name)) {
            sluice_status status = schema_add(&edge->schema, all.fields[k].name, all.fields[k].type,
                                              all.fields[k].metadata, err);
            if (status != SLUICE_OK) {
                schema_deinit(&all);
                free(stored);
                return status;
            }
            store->from[kept++] = store->from[k];
        }
    }
    schema_deinit(&all);
    free(stored);
    return SLUICE_OK;
}

static void mark_op(struct phase *phase, struct op *op)
{
    if (op->row_slot >= 0) {
        op->live[op->row_slot] = true;
    }
    for (uint32_t k = 0; k < op->out.n; k++) {
        if (always_live(op->out.fields[k].name)) {
            op->live[k] = true;
        }
    }
    switch (op->kind) {
    case OP_READ:
        for (uint32_t k = 0; k < op->out.n; k++) { /* the origin table */
            const char *name = op->out.fields[k].name;
            op->live[k] = op->live[k] || strcmp(name, "_begin") == 0 || strcmp(name, "_end") == 0 ||
                          strcmp(name, "id") == 0;
        }
        break;
    case OP_LOAD:
        break;
    case OP_STAGE:
        for (uint32_t port = 0; port < 2; port++) {
            for (uint32_t k = 0; k < op->n_need[port]; k++) {
                mark(phase, op->inputs[port], op->need[port][k]);
            }
        }
        for (uint32_t k = 0; op->from != NULL && k < op->out.n; k++) {
            if (op->live[k] && op->from[k] >= 0) {
                mark(phase, op->inputs[0], op->from[k]);
            }
        }
        break;
    case OP_UNION:
        for (uint32_t i = 0; i < op->n_union; i++) {
            for (uint32_t k = 0; k < op->out.n; k++) {
                if (op->live[k]) {
                    mark(phase, (int32_t)op->union_inputs[i], op->from[i * op->out.n + k]);
                }
            }
        }
        break;
    case OP_COLLECT:
        for (uint32_t i = 0; i < op->n_drops_of + (op->drop_load >= 0 ? 1u : 0u); i++) {
            int32_t from =
                i < op->n_drops_of ? phase->ops[op->drops_of[i]]->inputs[0] : op->drop_load;
            for (uint32_t k = 0; k < op->out.n; k++) {
                if (op->live[k]) {
                    mark(phase, from, op->drop_from[i][k]);
                }
            }
        }
        break;
    case OP_STORE:
        for (uint32_t k = 0; k < op->edge->schema.n; k++) {
            mark(phase, op->inputs[0], op->from[k]);
        }
        break;
    }
}

sluice_status planner_project(struct planner *planner, struct sluice_error *err)
{
    struct plan *plan = planner->plan;

    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            struct op *op = plan->phases[p]->ops[i];
            op->live = calloc(op->out.n + 1, sizeof *op->live);
            if (op->live == NULL) {
                return error_nomem(err, "the plan");
            }
        }
    }
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
                op->from = calloc(op->out.n + 1, sizeof *op->from);
                if (op->from == NULL) {
                    return error_nomem(err, "the plan");
                }
                for (uint32_t k = 0; k < op->out.n; k++) {
                    const char *name = op->out.fields[k].name;
                    int32_t column = schema_find(&op->edge->schema, name);
                    if (op->edge->load == LOAD_BY_SPLIT && strcmp(name, "_row") == 0) {
                        column = schema_find(&op->edge->schema, "_pos");
                    } else if (column < 0 && strcmp(name, "_pos") == 0) {
                        column = (int32_t)op->edge->schema.n; /* appended by the loader */
                    }
                    op->from[k] = column;
                }
            }
        }
    }
    return SLUICE_OK;
}
