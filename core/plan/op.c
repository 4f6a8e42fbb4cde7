/* Makes ops, puts them into phases, connects and frees them; what they are is said in op.h. */
#include "plan/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/planInt.h"

/* What an op has beside the arena's memory: undoes it when the plan ends. */
static void op_undo(void *what)
{
    struct op *op = what;

    if (op->kind == OP_READ) {
        stage_close(op->as.read.code.stage);
    } else if (op->kind == OP_STAGE) {
        struct op_stage *stage = &op->as.stage;
        stage_close(stage->code.stage);
        for (uint32_t i = 0; i < stage->n_outputs; i++) {
            free(stage->outputs[i].suffix);
            free(stage->outputs[i].codec);
        }
        for (uint32_t i = 0; i < stage->n_notes; i++) {
            free(stage->notes[i].key);
            free(stage->notes[i].json);
        }
        free(stage->outputs);
        free(stage->notes);
    }
    schema_deinit(&op->out);
}

sluice_status op_create(struct plan *plan, enum op_kind kind, const char *name, struct op **out,
                        struct sluice_error *err)
{
    struct op *op = ARENA_NEW(&plan->arena, struct op);

    *out = op;
    if (op != NULL) {
        op->kind = kind;
        op->row_slot = -1;
        op->name = arena_copy(&plan->arena, name, strlen(name));
        (void)arena_defer(&plan->arena, op_undo, op);
    }
    return arena_status(&plan->arena, err, "the plan");
}

/* Puts an op at the end of a phase. Ops are put behind all their inputs. */
sluice_status planner_op_append(struct planner *planner, struct phase *phase, struct op *op,
                                struct sluice_error *err)
{
    struct arena *arena = &planner->plan->arena;
    struct op **ops = arena_more(arena, phase->ops, phase->n_ops, &phase->capacity, sizeof *ops);
    uint32_t *tails = planner->tails[phase->index];

    TRY(arena_status(arena, err, "the plan"));
    if (ops != phase->ops) {
        tails = ARENA_ARRAY(&planner->arena, uint32_t, phase->capacity);
        TRY(arena_status(&planner->arena, err, "the plan"));
        if (phase->n_ops > 0) {
            memcpy(tails, planner->tails[phase->index], phase->n_ops * sizeof *tails);
        }
        planner->tails[phase->index] = tails;
        phase->ops = ops;
    }
    op->index = phase->n_ops;
    tails[phase->n_ops] = phase->n_ops;
    phase->ops[phase->n_ops++] = op;
    return SLUICE_OK;
}

sluice_status planner_op(struct planner *planner, struct phase *phase, enum op_kind kind,
                         const char *name, struct op **out, struct sluice_error *err)
{
    TRY(op_create(planner->plan, kind, name, out, err));
    return planner_op_append(planner, phase, *out, err);
}

sluice_status planner_consume(struct planner *planner, struct phase *phase, uint32_t producer,
                              uint32_t consumer, uint32_t port, struct sluice_error *err)
{
    struct arena *arena = &planner->plan->arena;
    struct op *op = phase->ops[producer];
    struct op *to = phase->ops[consumer];
    struct op_consumer *consumers = arena_more(arena, op->consumers, op->n_consumers,
                                               &op->consumers_capacity, sizeof *consumers);

    TRY(arena_status(arena, err, "the plan"));
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
    op->row_slot = schema_find(&op->out, SLUICE_ROW);
}

bool op_carries_on(const struct op *op, uint32_t *parent)
{
    for (uint32_t k = 0; k < op_stage(op)->n_notes; k++) {
        if (strcmp(op_stage(op)->notes[k].key, "append") == 0) {
            if (parent != NULL) {
                *parent = (uint32_t)strtoul(op_stage(op)->notes[k].json, NULL, 10);
            }
            return true;
        }
    }
    return false;
}
