/* From placed nodes to ops, and from the schemas of inputs to those of unions. What becomes of a
 * stage is build_stage.c's, of an edge between phases edges.c's. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"

static sluice_status build_reader(struct planner *planner, const struct node *node,
                                  struct phase *phase, struct sluice_error *err)
{
    struct option_args args;
    struct op *op;

    TRY(planner_op(planner, phase, OP_READ, node->name, &op, err));
    op->node = node;
    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        if (phase->lanes[k]->node == node) {
            op_edit_read(op)->lane = k;
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
        /* What stands behind a load is driven by it. */
        if (port == 1 && phase->ops[inputs[port]]->kind == OP_LOAD) {
            op_edit_load(phase->ops[inputs[port]])->side = true;
        }
    }
    TRY(op_create(planner->plan, OP_STAGE, node->name, &op, err));
    op->node = node;
    args = node_args(node);
    TRY(planner_open_stage(planner, op, node->entry, &args, node->where, err));
    TRY(planner_prepare_stage(planner, phase, op, node->where, node->n_inputs, inputs, err));
    /* Appended only now: ops run in their order, and prepare may have put providers before this
     * one. */
    TRY(planner_op_append(planner, phase, op, err));
    planner->places[node->id].op = (int32_t)op->index;
    for (uint32_t port = 0; port < node->n_inputs; port++) {
        TRY(planner_consume(planner, phase, inputs[port], op->index, port, err));
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

/* Where each column of the union is in an input. */
static sluice_status wire_union(struct phase *phase, const struct node *node, struct op *op,
                                const uint32_t *inputs, uint32_t which, struct sluice_error *err)
{
    const struct op *from = phase->ops[inputs[which]];
    struct op_column *columns = op->as.unite.ports[which].columns;

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
        if (slot < 0) {
            columns[k] = (struct op_column){ FROM_NOWHERE, 0 };
            field->type->nullable = true;
            continue;
        }
        columns[k] = (struct op_column){ FROM_INPUT, (uint32_t)slot };
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
    struct arena *arena = &planner->plan->arena;
    struct op_union *unite;
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
    unite = op_edit_union(op);
    unite->ports = ARENA_ARRAY(arena, struct op_union_port, node->n_inputs);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        struct op_column *columns = ARENA_ARRAY(arena, struct op_column, op->out.n);
        TRY(arena_status(arena, err, "the plan"));
        unite->ports[i] = (struct op_union_port){ inputs[i], columns };
        unite->n_ports = i + 1;
        TRY(wire_union(phase, node, op, inputs, i, err));
        TRY(planner_consume(planner, phase, inputs[i], op->index, i, err));
    }
    planner_find_row(op);
    planner->places[node->id].op = (int32_t)op->index;
    return SLUICE_OK;
}

/* That this program can reach what is to be read is known without looking at it. */
static sluice_status check_places(const struct planner *planner, const struct node *node,
                                  struct sluice_error *err)
{
    for (uint32_t i = 0; !planner->plan->options.frozen && i < node->n_patterns; i++) {
        const char *text = node->patterns[i];
        if (store_check(text[0] == '@' ? text + 1 : text, err) != SLUICE_OK) {
            return error_prefix(err, "%s", node->where);
        }
    }
    return SLUICE_OK;
}

sluice_status planner_build(struct planner *planner, struct sluice_error *err)
{
    planner->tails = ARENA_ARRAY(&planner->arena, uint32_t *, planner->plan->n_phases);
    TRY(arena_status(&planner->arena, err, "the plan"));
    for (uint32_t i = 0; i < planner->graph->n_nodes; i++) {
        const struct node *node = planner->graph->nodes[i];
        struct node_place *place = &planner->places[i];
        struct phase *phase = place->phase < 0 ? NULL : planner->plan->phases[place->phase];
        uint32_t op;

        switch (node->kind) {
        case NODE_FILES:
        case NODE_DATASET:
            TRY(check_places(planner, node, err));
            break;
        case NODE_STAGE:
            TRY(build_stage(planner, node, phase, err));
            break;
        case NODE_UNION:
            TRY(build_union(planner, node, phase, err));
            break;
        case NODE_CHECKPOINT:
            TRY(planner_input(planner, planner->graph->nodes[node->inputs[0]], phase, LOAD_SAME,
                              &op, err));
            place->op = (int32_t)op;
            break;
        case NODE_DROPPED:
            TRY(planner_dropped(planner, node, phase, &op, err));
            place->op = (int32_t)op;
            break;
        }
    }
    return SLUICE_OK;
}
