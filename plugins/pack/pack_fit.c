/* Best fit over what is held: which rows go out as they are, which pieces wait for the next window
 * or for pack_carry. See pack.c. */
#include <stdlib.h>
#include <string.h>

#include "pack_stage.h"

/* A row is complete when at most a 1024th of it is padding: under 0.1 %. */
#define SLACK 1024

static uint32_t row_room(const struct packer_plan *plan, uint64_t row)
{
    return plan->options.sequence_length - packer_row_tokens(plan, row);
}

/* What becomes of rows that are not complete. */
enum incomplete { INCOMPLETE_PAD, INCOMPLETE_CARRY, INCOMPLETE_HOLD };

/* complete: the most room of a row that is complete. */
static sluice_status lay_out_row(struct worker *worker, const struct pack_held *held,
                                 const struct packer_plan *plan, const uint64_t *begins,
                                 uint64_t row, enum incomplete incomplete, uint32_t complete,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    const uint32_t *tokens = (const uint32_t *)(const void *)held->tokens.data;
    const uint8_t *mask = (const uint8_t *)held->mask.data;

    if (row_room(plan, row) <= complete) {
        incomplete = INCOMPLETE_PAD;
    }
    for (uint64_t k = plan->row_begin[row]; k < plan->row_begin[row + 1]; k++) {
        const struct packer_segment *segment = &plan->segments[k];
        uint64_t at = begins[segment->document] + segment->start;
        const uint8_t *values = mask == NULL ? NULL : mask + at;
        struct pack_source source = pack_held_source(held, segment->document);
        source.begin += source.begin == PACK_UNKNOWN ? 0 : segment->start;
        if (!(incomplete == INCOMPLETE_HOLD
                  ? pack_held_add(&worker->held, tokens + at, values, segment->length, &source)
                  : pack_rows_piece(&worker->rows, tokens + at, values, segment->length,
                                    &source))) {
            return pack_nomem(err);
        }
    }
    return incomplete == INCOMPLETE_HOLD    ? SLUICE_OK
           : incomplete == INCOMPLETE_CARRY ? pack_row_carry(worker, emit, err)
                                            : pack_row_end(worker, emit, err);
}

static int compare_falling(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t two = *(const uint64_t *)b;

    return one < two ? 1 : one > two ? -1 : 0;
}

/* The most room of a row that counts as complete, so that those with more hold at most that many
 * tokens: what can't be filled must not crowd out what could. */
static sluice_status choose_complete(const struct packer_plan *plan, uint64_t held_most,
                                     uint32_t *complete, struct sluice_error *err)
{
    uint64_t *rows = malloc((size_t)plan->n_rows * sizeof *rows + 1);
    uint64_t sum = 0;

    if (rows == NULL) {
        return pack_nomem(err);
    }
    for (uint64_t row = 0; row < plan->n_rows; row++) {
        uint32_t room = row_room(plan, row);
        rows[row] = (uint64_t)room << 32 | (plan->options.sequence_length - room);
    }
    qsort(rows, (size_t)plan->n_rows, sizeof *rows, compare_falling);
    for (uint64_t row = 0; row < plan->n_rows; row++) {
        uint32_t room = (uint32_t)(rows[row] >> 32);
        sum += rows[row] & UINT32_MAX;
        if (room <= *complete) {
            break;
        }
        if (sum > held_most) {
            *complete = room;
            break;
        }
    }
    free(rows);
    return SLUICE_OK;
}

sluice_status pack_fit(struct worker *worker, bool last, struct sluice_emit *emit,
                       struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    const struct packer_options how = { .sequence_length = (uint32_t)stage->config.sequence_length,
                                        .pad = stage->config.pad != 0 };
    struct pack_held held = worker->held;
    const uint32_t *lengths = (const uint32_t *)(const void *)held.lengths.data;
    size_t n = (size_t)(held.lengths.size / sizeof *lengths);
    struct packer_plan plan = { 0 };
    uint64_t *begins = malloc(n * sizeof *begins + 1);
    uint64_t at = 0;
    sluice_status status;

    memset(&worker->held, 0, sizeof worker->held);
    if (n == 0 || begins == NULL) {
        pack_held_deinit(&held);
        free(begins);
        return n == 0 ? SLUICE_OK : pack_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        begins[i] = at;
        at += lengths[i];
    }
    status = packer_best_fit(&how, lengths, n, &plan, err);
    if (status == SLUICE_OK) {
        enum incomplete incomplete = !last                      ? INCOMPLETE_HOLD
                                     : stage->config.carry != 0 ? INCOMPLETE_CARRY
                                                                : INCOMPLETE_PAD;
        uint32_t complete = how.sequence_length / SLACK;
        if (!last) {
            status = choose_complete(&plan, stage->window / 2, &complete, err);
        }
        worker->cut += (int64_t)plan.stats.documents_cut;
        for (uint64_t row = 0; status == SLUICE_OK && row < plan.n_rows; row++) {
            status =
                lay_out_row(worker, &held, &plan, begins, row, incomplete, complete, emit, err);
        }
    }
    packer_plan_deinit(&plan);
    pack_held_deinit(&held);
    free(begins);
    return status;
}
