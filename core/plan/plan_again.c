/* Only positions move: where a later phase takes up the rows of an input split once more, behind
 * deduplication say, and the reader's columns came through unchanged, the edge between the two
 * stores each row's number and what stages added, and the later phase reads the split a second time
 * for the rest. What stages decided is never decided again: the stored numbers are the rows that
 * were kept.
 *
 * The rule looks at the graph alone, so that a plan is the same on every machine. Reading again
 * pays for the *body*, the first column of text that the reader declares: decoding and parsing take
 * 1 to 4 ns a byte (plain, zstd, gzip), compressing, writing and loading a stored copy 5 to 6. It
 * does not pay for smaller columns alone, nor when a stage replaced the body, which must be stored
 * then. Where a reader runs (here or in a process of its own) makes no difference: a plan does not
 * depend on it. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define READERS_MAX 64u /* behind nested unions; more are not read again */

/* Where the values of one column come from: for each reader the slot of its op. */
struct origins {
    const struct phase *phases[READERS_MAX];
    const struct op *readers[READERS_MAX];
    int32_t slots[READERS_MAX];
    uint32_t n;
};

static bool trace(const struct plan *, const struct phase *, const struct op *, int32_t slot,
                  struct origins *);

/* The same of a column that op hands on from its input at port. */
static bool trace_input(const struct plan *plan, const struct phase *phase, const struct op *op,
                        uint32_t port, const struct op_column *column, struct origins *origins)
{
    return column->from == FROM_INPUT &&
           trace(plan, phase, phase_input(phase, op, port), (int32_t)column->at, origins);
}

/* Is slot of op what readers gave, row by row? Adds them in order of lanes. */
static bool trace(const struct plan *plan, const struct phase *phase, const struct op *op,
                  int32_t slot, struct origins *origins)
{
    const struct plan_edge *edge;

    switch (op->kind) {
    case OP_READ:
        if (op_read(op)->columns[slot].from == FROM_HOST || origins->n == READERS_MAX) {
            return false;
        }
        origins->phases[origins->n] = phase;
        origins->readers[origins->n] = op;
        origins->slots[origins->n++] = slot;
        return true;
    case OP_STAGE:
        return op_stage(op)->columns != NULL &&
               trace_input(plan, phase, op, 0, &op_stage(op)->columns[slot], origins);
    case OP_UNION:
        for (uint32_t port = 0; port < op_n_inputs(op); port++) {
            if (!trace_input(plan, phase, op, port, &op_union(op)->ports[port].columns[slot],
                             origins)) {
                return false;
            }
        }
        return true;
    case OP_LOAD:
        edge = op_load(op)->edge;
        if (edge->load != LOAD_SAME) {
            return false;
        }
        phase = plan->phases[edge->producer_phase];
        return trace(plan, phase, phase->ops[edge->producer_op],
                     op_store(phase->ops[edge->store_op])->slots[slot], origins);
    case OP_COLLECT:
    case OP_STORE:
        break;
    }
    return false;
}

static bool same_readers(const struct origins *a, const struct origins *b)
{
    return a->n == b->n && memcmp(a->readers, b->readers, a->n * sizeof a->readers[0]) == 0;
}

/* The first column of text that a reader declares. */
static int32_t body_of(const struct op *reader)
{
    for (uint32_t k = 0; k < reader->out.n; k++) {
        enum type_kind kind = reader->out.fields[k].type->kind;
        if (op_read(reader)->columns[k].from == FROM_PLUGIN &&
            (kind == TYPE_UTF8 || kind == TYPE_BINARY || kind == TYPE_JSON)) {
            return (int32_t)k;
        }
    }
    return -1;
}

static bool all_bodies(const struct origins *origins)
{
    for (uint32_t i = 0; i < origins->n; i++) {
        if (body_of(origins->readers[i]) != origins->slots[i]) {
            return false;
        }
    }
    return origins->n > 0;
}

/* What speaks against reading with this reader a second time, or NULL. */
static const char *against(const struct planner *planner, const struct op *reader)
{
    const uint64_t flags = op_declared(reader)->flags;

    if ((flags & SLUICE_STAGE_RECORDED) != 0) {
        return "does not give the same twice";
    }
    if (splits_random(splits_cut(op_declared(reader)->cut))) {
        /* What a split holds is told by what was asked for: another time by other bytes. */
        return "asks for the bytes of the columns that are wanted, which would be others "
               "the second time";
    }
    if (planner->graph->spill == SPILL_AUTO && (flags & SLUICE_STAGE_MAY_BLOCK) != 0) {
        return "waits for something else than files, and what that costs is not known";
    }
    if (planner->graph->spill == SPILL_AUTO &&
        strcmp(reader->node->entry->plugin_name, PLUGIN_SCRIPT) == 0) {
        return "is Lua, which costs more than storing and loading rows";
    }
    return NULL;
}

static sluice_status add_reader(struct planner *planner, struct phase *phase,
                                const struct op *reader, struct op **out, struct sluice_error *err)
{
    const struct node *node = reader->node;
    struct option_args args = node_args(node);
    struct arena *arena = &planner->plan->arena;
    uint32_t before = 0;
    struct op *op;
    const char *name;

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        before += phase->ops[i]->kind == OP_READ && phase->ops[i]->node == node;
    }
    /* Ops are known by their names, in keys and reports: each second pass needs its own. */
    name = before == 0 ? arena_printf(arena, "%s, again", reader->name)
                       : arena_printf(arena, "%s, again %u", reader->name, before + 1);
    TRY(arena_status(arena, err, "the plan"));
    TRY(planner_op(planner, phase, OP_READ, name, &op, err));
    op->node = node;
    op_edit_read(op)->again = true;
    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        if (phase->lanes[k]->node == node) {
            op_edit_read(op)->lane = k;
        }
    }
    TRY(planner_open_stage(planner, op, node->entry, &args, node->where, err));
    TRY(planner_reader(planner, phase, op, false, err));
    planner_find_row(op);
    op->live = ARENA_ARRAY(arena, bool, op->out.n);
    TRY(arena_status(arena, err, "the plan"));
    op->live[op->row_slot] = true;
    *out = op;
    return SLUICE_OK;
}

/* Gives a loader its readers; columns: the origins of each column of the edge, n = 0 where it is
 * stored. */
static sluice_status add_readers(struct planner *planner, struct phase *phase, struct op *load,
                                 const struct origins *body, const struct origins *columns,
                                 struct sluice_error *err)
{
    struct arena *arena = &planner->plan->arena;
    struct op_again *agains = ARENA_ARRAY(arena, struct op_again, body->n);

    TRY(arena_status(arena, err, "the plan"));
    op_edit_load(load)->agains = agains;
    op_edit_load(load)->n_agains = body->n;
    for (uint32_t i = 0; i < body->n; i++) {
        struct op_again *again = &agains[i];
        struct op *op = NULL;
        again->columns = ARENA_ARRAY(arena, int32_t, load->out.n);
        TRY(arena_status(arena, err, "the plan"));
        TRY(add_reader(planner, phase, body->readers[i], &op, err));
        again->op = op->index;
        again->first_phase = body->phases[i]->index;
        again->first_op = body->readers[i]->index;
        for (uint32_t k = 0; k < load->out.n; k++) {
            again->columns[k] = columns[k].n == 0 ? -1 : columns[k].slots[i];
            if (columns[k].n > 0 && load->live[k]) {
                op->live[columns[k].slots[i]] = true;
            }
        }
    }
    return SLUICE_OK;
}

/* The origins of the edge's columns, and of the body; *out NULL: the edge carries no body. */
static void find_origins(const struct plan *plan, const struct op *store, struct origins *columns,
                         const struct origins **out)
{
    const struct plan_edge *edge = op_store(store)->edge;
    const struct phase *phase = plan->phases[edge->producer_phase];
    const struct origins *body = NULL;

    for (uint32_t k = 0; k < edge->schema.n; k++) {
        if (!planner_stored_live(plan, edge, edge->schema.fields[k].name) ||
            !trace(plan, phase, phase->ops[edge->producer_op], op_store(store)->slots[k],
                   &columns[k])) {
            columns[k].n = 0;
        }
        if (body == NULL && all_bodies(&columns[k])) {
            body = &columns[k];
        }
    }
    *out = body;
}

static sluice_status again(struct planner *planner, struct op *store, struct origins *columns,
                           bool *stored, struct sluice_error *err)
{
    struct plan *plan = planner->plan;
    struct plan_edge *edge = op_store(store)->edge;
    const struct origins *body = NULL;
    uint32_t at;

    find_origins(plan, store, columns, &body);
    edge->why = planner->graph->spill == SPILL_ROWS ? "rows: spill = \"rows\""
                : body != NULL                      ? NULL
                : plan->phases[edge->producer_phase]->ops[edge->producer_op]->kind == OP_COLLECT
                    ? "rows: they were dropped at several places"
                    : "rows: no reader's text goes by unchanged";
    for (uint32_t i = 0; edge->why == NULL && i < body->n; i++) {
        const char *reason = against(planner, body->readers[i]);
        if (reason != NULL) {
            edge->why = arena_printf(&plan->arena, "rows: '%s' %s", body->readers[i]->name, reason);
            TRY(arena_status(&plan->arena, err, "the plan"));
        }
    }
    if (edge->why != NULL) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < edge->schema.n; k++) {
        if (columns[k].n > 0 && !same_readers(&columns[k], body)) {
            columns[k].n = 0;
        }
        stored[k] = columns[k].n == 0;
    }
    edge->again = true;
    at = (uint32_t)(body - columns);
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        uint32_t n = plan->phases[p]->n_ops;
        for (uint32_t i = 0; i < n; i++) {
            struct op *op = plan->phases[p]->ops[i];
            if (op->kind != OP_LOAD || op_load(op)->edge != edge) {
                continue;
            }
            if (op->live[at]) {
                TRY(add_readers(planner, plan->phases[p], op, body, columns, err));
                continue;
            }
            for (uint32_t k = 0; k < edge->schema.n; k++) {
                stored[k] = stored[k] || op->live[k]; /* it does without a second pass */
            }
        }
    }
    edge->why = arena_printf(&plan->arena,
                             "positions: '%s' is read again, which costs less than storing and "
                             "loading rows",
                             body->readers[0]->name);
    return arena_status(&plan->arena, err, "the plan");
}

sluice_status planner_again(struct planner *planner, struct op *store, bool *stored,
                            struct sluice_error *err)
{
    const struct plan_edge *edge = op_store(store)->edge;
    struct origins *columns;

    if (edge->load != LOAD_SAME) {
        return SLUICE_OK;
    }
    columns = ARENA_ARRAY(&planner->arena, struct origins, edge->schema.n);
    TRY(arena_status(&planner->arena, err, "the plan"));
    return again(planner, store, columns, stored, err);
}
