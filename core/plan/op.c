/* Makes ops, puts them into phases, connects and frees them; what they are is said in op.h. */
#include "plan/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/planInt.h"

sluice_status op_create(enum op_kind kind, const char *name, struct op **out,
                        struct sluice_error *err)
{
    struct op *op = calloc(1, sizeof *op);

    *out = NULL;
    if (op == NULL) {
        return error_nomem(err, "the plan");
    }
    op->kind = kind;
    op->row_slot = -1;
    op->name = str_copy(name, strlen(name));
    if (op->name == NULL) {
        free(op);
        return error_nomem(err, "the plan");
    }
    *out = op;
    return SLUICE_OK;
}

static void stage_deinit(struct op_stage *stage)
{
    stage_close(stage->code.stage);
    for (uint32_t i = 0; i < stage->n_outputs; i++) {
        free(stage->outputs[i].suffix);
        free(stage->outputs[i].codec);
    }
    for (uint32_t i = 0; i < stage->n_notes; i++) {
        free(stage->notes[i].key);
        free(stage->notes[i].json);
    }
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        free(stage->need[port]);
    }
    free(stage->columns);
    free(stage->outputs);
    free(stage->notes);
    free(stage->dataset);
}

static void load_deinit(struct op_load *load)
{
    for (uint32_t i = 0; i < load->n_agains; i++) {
        free(load->agains[i].columns);
    }
    free(load->agains);
    free(load->stored);
}

static void collect_deinit(struct op_collect *collect)
{
    for (uint32_t i = 0; i < collect->n_stages; i++) {
        free(collect->stages[i].slots);
    }
    free(collect->stages);
    free(collect->earlier.slots);
}

void op_destroy(struct op *op)
{
    switch (op->kind) {
    case OP_READ:
        stage_close(op->as.read.code.stage);
        free(op->as.read.columns);
        free(op->as.read.parts);
        break;
    case OP_STAGE:
        stage_deinit(&op->as.stage);
        break;
    case OP_LOAD:
        load_deinit(&op->as.load);
        break;
    case OP_STORE:
        free(op->as.store.slots);
        break;
    case OP_UNION:
        for (uint32_t i = 0; i < op->as.unite.n_ports; i++) {
            free(op->as.unite.ports[i].columns);
        }
        free(op->as.unite.ports);
        break;
    case OP_COLLECT:
        collect_deinit(&op->as.collect);
        break;
    }
    schema_deinit(&op->out);
    free(op->live);
    free(op->consumers);
    free(op->key_text);
    free(op->name);
    free(op);
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
    TRY(op_create(kind, name, out, err));
    return planner_op_append(planner, phase, *out, err);
}

sluice_status planner_consume(struct phase *phase, uint32_t producer, uint32_t consumer,
                              uint32_t port, struct sluice_error *err)
{
    struct op *op = phase->ops[producer];
    struct op *to = phase->ops[consumer];
    struct op_consumer *consumers =
        realloc(op->consumers, (op->n_consumers + 1) * sizeof *consumers);

    if (consumers == NULL) {
        return error_nomem(err, "the plan");
    }
    op->consumers = consumers;
    op->consumers[op->n_consumers++] = (struct op_consumer){ consumer, port };
    if (to->kind == OP_STAGE) {
        to->as.stage.inputs[port] = producer;
        to->as.stage.n_inputs = port + 1;
    } else if (to->kind == OP_STORE) {
        to->as.store.input = producer;
    }
    return SLUICE_OK;
}

void planner_find_row(struct op *op)
{
    op->row_slot = schema_find(&op->out, "_row");
}
