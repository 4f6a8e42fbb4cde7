/* From placed nodes to ops: connects ops inside a phase and through edges between phases, and
 * propagates schemas. What becomes of a stage is build_stage.c's. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* A new op that is in no phase yet. */
sluice_status planner_op_create(enum op_kind kind, const char *name, struct op **out,
                                struct sluice_error *err)
{
    struct op *op = calloc(1, sizeof *op);

    *out = NULL;
    if (op == NULL) {
        return error_nomem(err, "the plan");
    }
    op->kind = kind;
    op->inputs[0] = -1;
    op->inputs[1] = -1;
    op->row_slot = -1;
    op->drop_load = -1;
    op->name = str_copy(name, strlen(name));
    if (op->name == NULL) {
        free(op);
        return error_nomem(err, "the plan");
    }
    *out = op;
    return SLUICE_OK;
}

/* Puts an op at the end of a phase (which owns it from now on, also on failure). Ops are put behind
 * all their inputs. */
sluice_status planner_op_append(struct planner *planner, struct phase *phase, struct op *op,
                                struct sluice_error *err)
{
    if (phase->n_ops == phase->capacity) {
        uint32_t capacity = phase->capacity == 0 ? 8 : phase->capacity * 2;
        struct op **ops = realloc(phase->ops, capacity * sizeof *ops);
        uint32_t *tail;
        if (ops != NULL) {
            phase->ops = ops;
        }
        tail = ops == NULL ? NULL : realloc(planner->tails[phase->index], capacity * sizeof *tail);
        if (tail == NULL) {
            op_destroy(op);
            return error_nomem(err, "the plan");
        }
        planner->tails[phase->index] = tail;
        phase->capacity = capacity;
    }
    op->index = phase->n_ops;
    planner->tails[phase->index][phase->n_ops] = phase->n_ops;
    phase->ops[phase->n_ops++] = op;
    return SLUICE_OK;
}

sluice_status planner_op(struct planner *planner, struct phase *phase, enum op_kind kind,
                         const char *name, struct op **out, struct sluice_error *err)
{
    TRY(planner_op_create(kind, name, out, err));
    return planner_op_append(planner, phase, *out, err);
}

sluice_status planner_consume(struct phase *phase, uint32_t producer, uint32_t consumer,
                              uint32_t port, struct sluice_error *err)
{
    struct op *op = phase->ops[producer];
    struct op_input *consumers = realloc(op->consumers, (op->n_consumers + 1) * sizeof *consumers);

    if (consumers == NULL) {
        return error_nomem(err, "the plan");
    }
    op->consumers = consumers;
    op->consumers[op->n_consumers++] = (struct op_input){ consumer, port };
    if (port < 2 && phase->ops[consumer]->kind != OP_UNION) {
        phase->ops[consumer]->inputs[port] = (int32_t)producer;
    }
    return SLUICE_OK;
}

void planner_find_row(struct op *op)
{
    op->row_slot = schema_find(&op->out, "_row");
}

/* ---- edges ---- */

static const char *load_name(enum edge_load load)
{
    static const char *const names[] = { "rows", "all rows", "by key", "by split", "broadcast" };
    return names[load];
}

/* Columns that an edge may carry: everything but derived columns (they are made again where
 * needed). */
static sluice_status store_schema(struct op *store, const struct schema *from,
                                  struct sluice_error *err)
{
    store->from = calloc(from->n + 1, sizeof *store->from);
    if (store->from == NULL) {
        return error_nomem(err, "the plan");
    }
    if (store->edge->load == LOAD_KEYED) {
        int32_t key = schema_find(from, "key");
        const struct type *type = key < 0 ? NULL : from->fields[key].type;
        if (key < 0 || type->kind != TYPE_FIXED || type->width != 16 ||
            schema_find(from, "_row") < 0) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "rows for a keyed stage need the columns key (fixed[16]) and _row "
                             "(uint64); the stage before it declares neither or others");
        }
        store->from[0] = key;
        TRY(schema_add(&store->edge->schema, "key", type, NULL, err));
    }
    for (uint32_t k = 0; k < from->n; k++) {
        const struct field *field = &from->fields[k];
        bool keyed = store->edge->load == LOAD_KEYED && strcmp(field->name, "key") == 0;
        bool row = store->edge->load == LOAD_BY_SPLIT && strcmp(field->name, "_row") == 0;
        if (field->derived_provider != NULL || keyed || row) {
            continue;
        }
        store->from[store->edge->schema.n] = (int32_t)k;
        TRY(schema_add(&store->edge->schema, field->name, field->type, field->metadata, err));
    }
    return SLUICE_OK;
}

static sluice_status loaded_schema(struct plan_edge *edge, const char *where,
                                   struct sluice_error *err)
{
    TRY(schema_copy(&edge->loaded, &edge->schema, err));
    if (edge->load == LOAD_BY_SPLIT) {
        int32_t pos = schema_find(&edge->schema, "_pos");
        if (pos < 0) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "%s: the side input has no column _pos that says which row it is "
                             "about; its stage must declare it",
                             where);
        }
        /* The loader delivers _row where _pos stood. */
        free(edge->loaded.fields[pos].name);
        edge->loaded.fields[pos].name = str_copy("_row", 4);
        return edge->loaded.fields[pos].name == NULL ? error_nomem(err, "the plan") : SLUICE_OK;
    }
    if ((edge->load == LOAD_KEYED || edge->load == LOAD_GATHER) &&
        schema_find(&edge->loaded, "_pos") < 0) {
        return schema_add_text(&edge->loaded, "_pos", "uint64", NULL, err);
    }
    return SLUICE_OK;
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
            if (to->ops[i]->kind == OP_LOAD && to->ops[i]->edge == edge) {
                /* Behind the load stand the providers that an earlier reader of it needed:
                 * theirs to share. */
                *op_out = planner->tails[to->index][i];
                return SLUICE_OK;
            }
        }
    } else {
        edges = realloc(plan->edges, (plan->n_edges + 1) * sizeof *edges);
        if (edges == NULL) {
            return error_nomem(err, "the plan");
        }
        plan->edges = edges;
        edge = calloc(1, sizeof *edge);
        if (edge == NULL) {
            return error_nomem(err, "the plan");
        }
        edge->index = plan->n_edges;
        plan->edges[plan->n_edges++] = edge;
        edge->load = load;
        edge->producer_phase = from_phase;
        edge->producer_op = from_op;
        edge->name = str_printf("%s, %s", from->ops[from_op]->name, load_name(load));
        if (edge->name == NULL) {
            return error_nomem(err, "the plan");
        }
        TRY(planner_op(planner, from, OP_STORE, edge->name, &store, err));
        store->edge = edge;
        edge->store_op = store->index;
        TRY(store_schema(store, &from->ops[from_op]->out, err));
        TRY(planner_consume(from, from_op, store->index, 0, err));
        TRY(loaded_schema(edge, where, err));
    }
    TRY(planner_op(planner, to, OP_LOAD, edge->name, &loader, err));
    loader->edge = edge;
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

/* ---- nodes ---- */

static sluice_status build_reader(struct planner *planner, const struct node *node,
                                  struct phase *phase, struct sluice_error *err)
{
    struct option_args args;
    struct op *op;

    TRY(planner_op(planner, phase, OP_READ, node->name, &op, err));
    op->node = node;
    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        if (phase->lanes[k]->node == node) {
            op->lane = k;
        }
    }
    args = node_args(node);
    TRY(planner_open_stage(planner, op, node->entry, &args, node->where, err));
    TRY(planner_reader(planner, phase, op, false, err));
    planner_find_row(op);
    planner->places[node->id].op = (int32_t)op->index;
    return SLUICE_OK;
}

static sluice_status build_stage(struct planner *planner, const struct node *node,
                                 struct phase *phase, struct sluice_error *err)
{
    const struct sluice_stage *kind = &node->entry->stage;
    uint32_t inputs[2];
    enum edge_load load = kind->mode == SLUICE_MODE_KEYED    ? LOAD_KEYED
                          : kind->mode == SLUICE_MODE_GLOBAL ? LOAD_GATHER
                                                             : LOAD_SAME;
    struct option_args args;
    struct op *op;
    sluice_status status;

    if (kind->role == SLUICE_ROLE_READER) {
        return build_reader(planner, node, phase, err);
    }
    for (uint32_t port = 0; port < node->n_inputs; port++) {
        const struct node *input = planner->graph->nodes[node->inputs[port]];
        enum edge_load how = load;
        if (port == 1) {
            how = kind->mode == SLUICE_MODE_GLOBAL                  ? LOAD_GATHER
                  : (kind->flags & SLUICE_STAGE_SIDE_BY_SPLIT) != 0 ? LOAD_BY_SPLIT
                                                                    : LOAD_BROADCAST;
        }
        TRY(planner_input(planner, input, phase, how, &inputs[port], err));
        if (port == 1) {
            phase->ops[inputs[port]]->side = true;
        }
    }
    TRY(planner_op_create(OP_STAGE, node->name, &op, err));
    op->node = node;
    args = node_args(node);
    status = planner_open_stage(planner, op, node->entry, &args, node->where, err);
    if (status == SLUICE_OK) {
        status =
            planner_prepare_stage(planner, phase, op, node->where, node->n_inputs, inputs, err);
    }
    if (status != SLUICE_OK) {
        op_destroy(op);
        return status;
    }
    /* Appended only now: ops run in their order, and prepare may have put providers before this
     * one. */
    TRY(planner_op_append(planner, phase, op, err));
    planner->places[node->id].op = (int32_t)op->index;
    for (uint32_t port = 0; port < node->n_inputs; port++) {
        TRY(planner_consume(phase, inputs[port], op->index, port, err));
    }
    return SLUICE_OK;
}

/* Ids of two tokenizers never mix: what one means by an id the other does not. */
static sluice_status check_tokenizers(const struct node *node, const struct op *one,
                                      const struct field *first, const struct op *two,
                                      const struct field *second, struct sluice_error *err)
{
    size_t n_first;
    size_t n_second;
    const char *a = field_metadata(first, "tokenizer", &n_first);
    const char *b = field_metadata(second, "tokenizer", &n_second);

    if (a == NULL || b == NULL || (n_first == n_second && memcmp(a, b, n_first) == 0)) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_SCHEMA,
                     "%s: the inputs of '%s' were made by two tokenizers: '%s' of '%s' has ids of "
                     "the one with XXH3 %.*s, of '%s' of the one with XXH3 %.*s; tokenize both "
                     "with one vocabulary, or write them to two datasets",
                     node->where, node->name, first->name, one->name, (int)n_first, a, two->name,
                     (int)n_second, b);
}

/* The inputs of a union do not have the same columns: says which one of which is not there, or is
 * of another type, in the others. */
static sluice_status refuse_union(const struct node *node, const struct op *has, const char *column,
                                  const struct op *lacks, bool other_type, struct sluice_error *err)
{
    char *one = schema_print(&has->out, false);
    char *two = schema_print(&lacks->out, false);
    sluice_status status;

    if (one == NULL || two == NULL) {
        status = error_nomem(err, "the plan");
    } else if (other_type) {
        status =
            error_set(err, SLUICE_E_SCHEMA,
                      "%s: the inputs of '%s' differ in the column '%s': '%s' has %s, '%s' has "
                      "%s; read or make it as one type in both",
                      node->where, node->name, column, has->name, one, lacks->name, two);
    } else {
        status = error_set(err, SLUICE_E_SCHEMA,
                           "%s: the inputs of '%s' differ: '%s' has %s, '%s' has %s, without '%s'; "
                           "add it there (a reader's columns = {...}) or have nulls in its place: "
                           "s.union(a, b, { missing = \"null\" })",
                           node->where, node->name, has->name, one, lacks->name, two, column);
    }
    free(one);
    free(two);
    return status;
}

/* Adds the columns of one input to those of the union. A column is nullable if it is so in any
 * input. */
static sluice_status unite_columns(struct phase *phase, const struct node *node, struct op *op,
                                   const uint32_t *inputs, uint32_t which, struct sluice_error *err)
{
    const struct op *from = phase->ops[inputs[which]];

    for (uint32_t k = 0; k < from->out.n; k++) {
        const struct field *field = &from->out.fields[k];
        int32_t at = schema_find(&op->out, field->name);
        if (field->derived_provider != NULL || (which > 0 && field->hidden && at < 0)) {
            continue; /* what is derived is derived again behind; provenance is the host's */
        }
        if (at < 0 && which > 0 && !node->fill) {
            return refuse_union(node, from, field->name, phase->ops[inputs[0]], false, err);
        }
        if (at < 0) {
            TRY(schema_add(&op->out, field->name, field->type, field->metadata, err));
            at = (int32_t)op->out.n - 1;
            op->out.fields[at].type->nullable = field->type->nullable || which > 0;
        } else if (field->type->nullable) {
            op->out.fields[at].type->nullable = true;
        }
    }
    return SLUICE_OK;
}

/* Where each column of the union is in an input; -1: nowhere, and null. */
static sluice_status wire_union(struct phase *phase, const struct node *node, struct op *op,
                                const uint32_t *inputs, uint32_t which, struct sluice_error *err)
{
    const struct op *from = phase->ops[inputs[which]];

    for (uint32_t k = 0; k < op->out.n; k++) {
        struct field *field = &op->out.fields[k];
        int32_t slot = schema_find(&from->out, field->name);
        const struct op *has = NULL;
        const struct field *other = NULL;
        for (uint32_t i = 0; has == NULL; i++) { /* one of them has it */
            int32_t place = schema_find(&phase->ops[inputs[i]]->out, field->name);
            if (place >= 0) {
                has = phase->ops[inputs[i]];
                other = &has->out.fields[place];
            }
        }
        if (slot < 0 && (!node->fill || field->hidden)) {
            return refuse_union(node, has, field->name, from, false, err);
        }
        op->from[which * op->out.n + k] = slot < 0 ? -1 : slot;
        if (slot < 0) {
            field->type->nullable = true;
            continue;
        }
        if (!type_equal(from->out.fields[slot].type, field->type, false)) {
            return refuse_union(node, has, field->name, from, true, err);
        }
        TRY(check_tokenizers(node, has, other, from, &from->out.fields[slot], err));
    }
    return SLUICE_OK;
}

static sluice_status build_union(struct planner *planner, const struct node *node,
                                 struct phase *phase, struct sluice_error *err)
{
    uint32_t inputs[8];
    struct op *op;

    for (uint32_t k = 0; k < node->n_inputs; k++) {
        TRY(planner_input(planner, planner->graph->nodes[node->inputs[k]], phase, LOAD_SAME,
                          &inputs[k], err));
    }
    TRY(planner_op(planner, phase, OP_UNION, node->name, &op, err));
    op->node = node;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        TRY(unite_columns(phase, node, op, inputs, k, err));
    }
    op->from = calloc((size_t)node->n_inputs * op->out.n + 1, sizeof *op->from);
    op->union_inputs = calloc(node->n_inputs, sizeof *op->union_inputs);
    if (op->from == NULL || op->union_inputs == NULL) {
        return error_nomem(err, "the plan");
    }
    op->n_union = node->n_inputs;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        op->union_inputs[i] = inputs[i];
        TRY(wire_union(phase, node, op, inputs, i, err));
        TRY(planner_consume(phase, inputs[i], op->index, i, err));
    }
    planner_find_row(op);
    planner->places[node->id].op = (int32_t)op->index;
    return SLUICE_OK;
}

sluice_status planner_build(struct planner *planner, struct sluice_error *err)
{
    planner->tails = calloc(planner->plan->n_phases + 1, sizeof *planner->tails);
    if (planner->tails == NULL) {
        return error_nomem(err, "the plan");
    }
    for (uint32_t i = 0; i < planner->graph->n_nodes; i++) {
        const struct node *node = planner->graph->nodes[i];
        struct node_place *place = &planner->places[i];
        struct phase *phase = place->phase < 0 ? NULL : planner->plan->phases[place->phase];
        uint32_t op;

        switch (node->kind) {
        case NODE_FILES:
        case NODE_DATASET:
            break;
        case NODE_STAGE:
            TRY(build_stage(planner, node, phase, err));
            break;
        case NODE_UNION:
            TRY(build_union(planner, node, phase, err));
            break;
        case NODE_DROPPED:
            TRY(planner_dropped(planner, node, phase, &op, err));
            place->op = (int32_t)op;
            break;
        }
    }
    return SLUICE_OK;
}
