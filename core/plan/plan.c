/* The plan as a whole: frees it, numbers its tasks, answers questions about phases. See plan.h. */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/planInt.h"

void plan_destroy(struct plan *plan)
{
    if (plan != NULL) {
        arena_deinit(&plan->arena);
        free(plan);
    }
}

struct task_id plan_task(const struct plan *plan, uint32_t number)
{
    struct task_id id = { 0, number };

    while (id.phase + 1 < plan->n_phases && id.task >= plan->phases[id.phase]->n_tasks) {
        id.task -= plan->phases[id.phase]->n_tasks;
        id.phase++;
    }
    return id;
}

uint32_t plan_task_number(const struct plan *plan, struct task_id id)
{
    uint32_t number = id.task;

    for (uint32_t p = 0; p < id.phase; p++) {
        number += plan->phases[p]->n_tasks;
    }
    return number;
}

const struct lane *phase_lane(const struct phase *phase, uint32_t task, uint32_t *index)
{
    for (uint32_t k = 0; k < phase->n_lanes; k++) {
        if (task < phase->lanes[k]->n_tasks) {
            *index = task;
            return phase->lanes[k];
        }
        task -= phase->lanes[k]->n_tasks;
    }
    return NULL;
}

const struct lane *phase_load_lane(const struct phase *phase, const struct op *load)
{
    for (uint32_t k = 0; k < phase->n_lanes && load->n_consumers > 0; k++) {
        if (phase->lanes[k]->kind != LANE_SPLITS &&
            phase->lanes[k]->node == phase->ops[load->consumers[0].op]->node) {
            return phase->lanes[k];
        }
    }
    return NULL;
}

bool phase_pulls(const struct phase *phase, uint32_t load)
{
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op_drops *earlier = op_earlier_drops(phase->ops[i]);
        if (earlier != NULL && earlier->op == load) {
            return true;
        }
    }
    return false;
}

const char *lane_split_name(const struct lane *lane, size_t number, char buffer[SPLIT_NAME])
{
    const struct split *split = &lane->splits.items[number];

    return split_name(split, lane->files.files[split->ranges[0].file].name, buffer);
}

const char *phase_task_name(const struct phase *phase, uint32_t task, char buffer[SPLIT_NAME])
{
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);

    if (lane == NULL) {
        return "?";
    }
    switch (lane->kind) {
    case LANE_SPLITS:
        return lane_split_name(lane, index, buffer);
    case LANE_PARTITIONS:
        snprintf(buffer, SPLIT_NAME, "partition %u", index);
        return buffer;
    case LANE_GLOBAL:
        break;
    }
    return "all";
}

const struct op *plan_find_op(const struct plan *plan, const char *name,
                              const struct phase **phase_out)
{
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        for (uint32_t i = 0; i < plan->phases[p]->n_ops; i++) {
            const struct op *op = plan->phases[p]->ops[i];
            if (op->node != NULL && op->kind != OP_COLLECT && !op_reads_again(op) &&
                strcmp(op->node->name, name) == 0) {
                if (phase_out != NULL) {
                    *phase_out = plan->phases[p];
                }
                return op;
            }
        }
    }
    return NULL;
}
