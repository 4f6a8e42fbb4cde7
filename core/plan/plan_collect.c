/* `x.dropped`: which ops' dropped rows a collector gathers, and the schema that holds all of them.
 *
 * Gathered are the drops of every stage between x (included) and the last reader, union, transform
 * or fork before it. Where they lie in several phases, each phase has a collector and hands its
 * rows to the next one, which merges by row. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define MAX_CHAIN 256

static bool passes_rows(const struct node *node)
{
    if (node->kind != NODE_STAGE) {
        return false;
    }
    switch (node->entry->stage.role) {
    case SLUICE_ROLE_FILTER:
    case SLUICE_ROLE_ANNOTATOR:
    case SLUICE_ROLE_GATE:
        return true;
    default:
        return false;
    }
}

/* A transform that works on the rows of a split as they come: what was dropped before it is known
 * where it stands. */
static bool makes_rows(const struct node *node)
{
    const struct sluice_stage *stage = node->kind == NODE_STAGE ? &node->entry->stage : NULL;
    return stage != NULL && stage->role == SLUICE_ROLE_TRANSFORM && node->n_inputs == 1 &&
           stage->mode != SLUICE_MODE_KEYED && stage->mode != SLUICE_MODE_GLOBAL;
}

/* Nodes from x back to the fork, in order from the first to x; x itself may be a transform, which
 * drops nothing. */
static uint32_t chain_of(const struct graph *graph, const struct node *x,
                         const struct node *chain[MAX_CHAIN])
{
    uint32_t n = 0;
    const struct node *node;

    x = graph->nodes[graph_made_by(graph, x->id)];
    if (makes_rows(x) && !graph_is_fork(graph, x->inputs[0])) {
        x = graph->nodes[x->inputs[0]];
    }
    node = x;

    while (n < MAX_CHAIN && (passes_rows(node) || node->kind == NODE_CHECKPOINT) &&
           (node == x || !graph_is_fork(graph, node->id))) {
        if (node->kind != NODE_CHECKPOINT) {
            chain[n++] = node;
        }
        node = graph->nodes[node->inputs[0]];
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        const struct node *swap = chain[i];
        chain[i] = chain[n - 1 - i];
        chain[n - 1 - i] = swap;
    }
    return n;
}

/* Adds the visible columns of in to out; a column of two types is an error. */
static sluice_status unify(struct schema *out, const struct schema *in, const struct node *node,
                           struct sluice_error *err)
{
    for (uint32_t k = 0; k < in->n; k++) {
        const struct field *field = &in->fields[k];
        int32_t known = schema_find(out, field->name);
        if (field->derived_provider != NULL || field->hidden) {
            continue;
        }
        if (known < 0) {
            TRY(schema_add(out, field->name, field->type, field->metadata, err));
            out->fields[out->n - 1].type->nullable = true;
        } else if (!type_equal(out->fields[known].type, field->type, false)) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "%s: the dropped rows of '%s' have the column '%s' in two types, "
                             "since a stage on the way changes it; "
                             "take .dropped before and behind that stage",
                             node->where, node->name, field->name);
        }
    }
    return SLUICE_OK;
}

/* Where each column of the collector is among those of the rows that it gathers. */
static sluice_status find_slots(struct plan *plan, const struct op *collector,
                                const struct schema *rows, int32_t **out, struct sluice_error *err)
{
    int32_t *slots = ARENA_ARRAY(&plan->arena, int32_t, collector->out.n);

    TRY(arena_status(&plan->arena, err, "the plan"));
    for (uint32_t k = 0; k < collector->out.n; k++) {
        slots[k] = schema_find(rows, collector->out.fields[k].name);
    }
    *out = slots;
    return SLUICE_OK;
}

static sluice_status collector(struct planner *planner, const struct node *dropped,
                               struct phase *phase, const struct node **chain, uint32_t n,
                               const struct op *earlier, struct op **out, struct sluice_error *err)
{
    static const char *const extra[][2] = {
        { "drop_stage", "utf8?" },    { "drop_reason", "utf8?" }, { "drop_value", "float64?" },
        { "drop_limit", "float64?" }, { "dup_of", "utf8?" },      { "similarity", "float64?" },
        { SLUICE_ROW, "uint64" }
    };
    struct op_collect *collect;
    struct op *op;

    TRY(planner_op(planner, phase, OP_COLLECT, dropped->name, &op, err));
    op->node = dropped;
    collect = op_edit_collect(op);
    collect->stages = ARENA_ARRAY(&planner->plan->arena, struct op_drops, n);
    TRY(arena_status(&planner->plan->arena, err, "the plan"));
    if (earlier != NULL) {
        collect->earlier.op = earlier->index;
        collect->has_earlier = true;
        for (uint32_t k = 0; k < earlier->out.n; k++) {
            const char *name = earlier->out.fields[k].name;
            /* What .dropped adds comes once, at the end; hidden columns are this phase's own. */
            bool special = name[0] == '_';
            for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++) {
                special = special || strcmp(name, extra[i][0]) == 0;
            }
            if (!special) {
                TRY(schema_add(&op->out, name, earlier->out.fields[k].type,
                               earlier->out.fields[k].metadata, err));
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct op *stage = phase->ops[planner->places[chain[i]->id].op];
        TRY(unify(&op->out, &phase_input(phase, stage, 0)->out, dropped, err));
        collect->stages[collect->n_stages++].op = stage->index;
    }
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++) {
        if (schema_find(&op->out, extra[i][0]) >= 0) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "%s: the rows already have a column '%s', which .dropped adds; rename "
                             "it in the reader",
                             dropped->where, extra[i][0]);
        }
        TRY(schema_add_text(&op->out, extra[i][0], extra[i][1], NULL, err));
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct op *stage = phase->ops[collect->stages[i].op];
        TRY(find_slots(planner->plan, op, &phase_input(phase, stage, 0)->out,
                       &collect->stages[i].slots, err));
    }
    if (earlier != NULL) {
        TRY(find_slots(planner->plan, op, &earlier->out, &collect->earlier.slots, err));
    }
    planner_find_row(op);
    *out = op;
    return SLUICE_OK;
}

sluice_status planner_dropped(struct planner *planner, const struct node *dropped,
                              struct phase *phase, uint32_t *op_out, struct sluice_error *err)
{
    const struct node *chain[MAX_CHAIN];
    const struct node *x = planner->graph->nodes[dropped->inputs[0]];
    uint32_t n = chain_of(planner->graph, x, chain);
    struct op *op = NULL;
    uint32_t begin = 0;

    if (n == 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: nothing is dropped between '%s' and its reader, union or fork; take "
                         ".dropped behind a filter",
                         dropped->where, x->name);
    }
    /* A collector in each phase that the chain passes. Each hands on what those before it
     * gathered, so that the rows of a split stay together and in order. */
    while (begin < n) {
        uint32_t at = (uint32_t)planner->places[chain[begin]->id].phase;
        struct phase *here = planner->plan->phases[at];
        const struct op *earlier = NULL;
        uint32_t end = begin;
        while (end < n && planner->places[chain[end]->id].phase == (int32_t)at) {
            end++;
        }
        if (op != NULL) {
            uint32_t load;
            TRY(planner_edge(
                planner,
                (uint32_t)planner->plan->phases[planner->places[chain[begin - 1]->id].phase]->index,
                op->index, here, LOAD_SAME, dropped->where, &load, err));
            earlier = here->ops[load];
        }
        TRY(collector(planner, dropped, here, chain + begin, end - begin, earlier, &op, err));
        begin = end;
    }
    (void)phase;
    *op_out = op->index;
    return SLUICE_OK;
}
