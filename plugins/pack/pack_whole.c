/* The filter that parts rows from pieces: see pack_whole.h. */
#include "pack_whole.h"

#include <sluice_arrays.h>

#include "pack_rows.h"

static sluice_status whole_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, 0, "padding", "int32", 0, NULL, err);

    (void)shared;
    return status == SLUICE_OK ? plan->need(plan, 0, "_origin", "list<uint64>", 0, NULL, err)
                               : status;
}

static sluice_status whole_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const int32_t *padding = batch->array->children[0]->buffers[1];
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    (void)state;
    if (verdicts == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for verdicts");
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const uint64_t *origins = sluice_list_u64(batch->array->children[1], row, &n);
        verdicts[k].reason = padding[row] == PACK_INCOMPLETE;
        verdicts[k].value = n == 0 ? 0 : (double)origins[0];
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused verdicts");
}

const struct sluice_stage pack_whole_stage = {
    .size = sizeof pack_whole_stage,
    .name = "pack_whole",
    .version = "1.0",
    .summary = "Rows that are complete within their split (part of `pack`)",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN,
    .reasons = "carried",
    .prepare = whole_prepare,
    .process = whole_process,
};
