/* Edges between phases: what they carry, the op that stores their rows and those that load them. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/planInt.h"

static const char *load_name(enum edge_load load)
{
    static const char *const names[] = { "rows", "all rows", "by key", "by split", "broadcast" };
    return names[load];
}

/* Columns that an edge may carry: everything but derived columns (they are made again where
 * needed). */
static sluice_status store_schema(struct plan *plan, struct op_store *store,
                                  const struct schema *from, struct sluice_error *err)
{
    store->slots = ARENA_ARRAY(&plan->arena, int32_t, from->n);
    TRY(arena_status(&plan->arena, err, "the plan"));
    if (store->edge->load == LOAD_KEYED) {
        int32_t key = schema_find(from, SLUICE_KEY);
        const struct type *type = key < 0 ? NULL : from->fields[key].type;
        if (key < 0 || type->kind != TYPE_FIXED || type->width != 16 ||
            schema_find(from, SLUICE_ROW) < 0) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "rows for a keyed stage need the columns key (fixed[16]) and _row "
                             "(uint64); the stage before it declares neither or others");
        }
        store->slots[0] = key;
        TRY(schema_add(&store->edge->schema, SLUICE_KEY, type, NULL, err));
    }
    for (uint32_t k = 0; k < from->n; k++) {
        const struct field *field = &from->fields[k];
        bool keyed = store->edge->load == LOAD_KEYED && strcmp(field->name, SLUICE_KEY) == 0;
        bool row = store->edge->load == LOAD_BY_SPLIT && strcmp(field->name, SLUICE_ROW) == 0;
        if (field->derived_provider != NULL || keyed || row) {
            continue;
        }
        store->slots[store->edge->schema.n] = (int32_t)k;
        TRY(schema_add(&store->edge->schema, field->name, field->type, field->metadata, err));
    }
    return SLUICE_OK;
}

static sluice_status loaded_schema(struct plan_edge *edge, const char *where,
                                   struct sluice_error *err)
{
    TRY(schema_copy(&edge->loaded, &edge->schema, err));
    if (edge->load == LOAD_BY_SPLIT) {
        int32_t pos = schema_find(&edge->schema, SLUICE_POS);
        if (pos < 0) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "%s: the side input has no column _pos that says which row it is "
                             "about; its stage must declare it",
                             where);
        }
        /* The loader delivers _row where _pos stood. */
        free(edge->loaded.fields[pos].name);
        edge->loaded.fields[pos].name = str_copy(SLUICE_ROW, strlen(SLUICE_ROW));
        return edge->loaded.fields[pos].name == NULL ? error_nomem(err, "the plan") : SLUICE_OK;
    }
    if ((edge->load == LOAD_KEYED || edge->load == LOAD_GATHER) &&
        schema_find(&edge->loaded, SLUICE_POS) < 0) {
        return schema_add_hidden(&edge->loaded, SLUICE_HIDDEN_POS, err);
    }
    return SLUICE_OK;
}

static void edge_undo(void *what)
{
    struct plan_edge *edge = what;

    schema_deinit(&edge->schema);
    schema_deinit(&edge->loaded);
}

sluice_status planner_edge(struct planner *planner, uint32_t from_phase, uint32_t from_op,
                           struct phase *to, enum edge_load load, const char *where,
                           uint32_t *op_out, struct sluice_error *err)
{
    struct plan *plan = planner->plan;
    struct phase *from = plan->phases[from_phase];
    struct plan_edge *edge = NULL;
    struct plan_edge **edges;
    struct op *store;
    struct op *loader;

    /* One edge for each way of loading, however many phases read it: rows are stored once. */
    for (uint32_t i = 0; i < plan->n_edges && edge == NULL; i++) {
        struct plan_edge *other = plan->edges[i];
        if (other->producer_phase == from_phase && other->producer_op == from_op &&
            other->load == load) {
            edge = other;
        }
    }
    if (edge != NULL) {
        for (uint32_t i = 0; i < to->n_ops; i++) {
            if (to->ops[i]->kind == OP_LOAD && op_load(to->ops[i])->edge == edge) {
                /* Behind the load stand the providers that an earlier reader of it needed:
                 * theirs to share. */
                *op_out = planner->tails[to->index][i];
                return SLUICE_OK;
            }
        }
    } else {
        edges = arena_more(&plan->arena, plan->edges, plan->n_edges, &plan->edges_capacity,
                           sizeof *edges);
        edge = ARENA_NEW(&plan->arena, struct plan_edge);
        if (edge == NULL || !arena_defer(&plan->arena, edge_undo, edge)) {
            return arena_status(&plan->arena, err, "the plan");
        }
        plan->edges = edges;
        edge->index = plan->n_edges;
        plan->edges[plan->n_edges++] = edge;
        edge->load = load;
        edge->producer_phase = from_phase;
        edge->producer_op = from_op;
        edge->name =
            arena_printf(&plan->arena, "%s, %s", from->ops[from_op]->name, load_name(load));
        TRY(arena_status(&plan->arena, err, "the plan"));
        TRY(planner_op(planner, from, OP_STORE, edge->name, &store, err));
        op_edit_store(store)->edge = edge;
        edge->store_op = store->index;
        TRY(store_schema(plan, op_edit_store(store), &from->ops[from_op]->out, err));
        TRY(planner_consume(planner, from, from_op, store->index, 0, err));
        TRY(loaded_schema(edge, where, err));
    }
    TRY(planner_op(planner, to, OP_LOAD, edge->name, &loader, err));
    op_edit_load(loader)->edge = edge;
    TRY(schema_copy(&loader->out, &edge->loaded, err));
    planner_find_row(loader);
    *op_out = loader->index;
    return SLUICE_OK;
}

sluice_status planner_input(struct planner *planner, const struct node *node, struct phase *phase,
                            enum edge_load load, uint32_t *op, struct sluice_error *err)
{
    struct node_place *place = &planner->places[node->id];

    if (place->phase == (int32_t)phase->index && load == LOAD_SAME) {
        *op = planner->tails[phase->index][place->op];
        return SLUICE_OK;
    }
    return planner_edge(planner, (uint32_t)place->phase, (uint32_t)place->op, phase, load,
                        node->where, op, err);
}

bool planner_always_live(const char *name)
{
    switch (sluice_hidden_of(name)) {
    case SLUICE_HIDDEN_ROW:
    case SLUICE_HIDDEN_POS:
    case SLUICE_HIDDEN_ORIGIN:
    case SLUICE_HIDDEN_SPAN:
        return true;
    default:
        return strcmp(name, SLUICE_KEY) == 0;
    }
}

/* A stored column is kept when a loader of the edge delivers it to somebody. */
bool planner_stored_live(const struct plan *plan, const struct plan_edge *edge, const char *name)
{
    if (planner_always_live(name)) {
        return true;
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            int32_t slot;
            if (op->kind != OP_LOAD || op_load(op)->edge != edge) {
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
