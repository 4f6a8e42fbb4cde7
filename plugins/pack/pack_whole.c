/* The stages that part rows from pieces: see pack_whole.h. */
#include "pack_whole.h"

#include <sluice_arrays.h>
#include <stddef.h>
#include <stdlib.h>

#include "pack_rows.h"

/* ---- rows ---- */

static sluice_status whole_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    (void)shared;
    return plan->need(plan, 0, "padding", "int32", 0, NULL, err);
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
        verdicts[k].reason = padding[sluice_row(batch, k)] == PACK_INCOMPLETE;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused verdicts");
}

const struct sluice_stage pack_whole_stage = {
    .size = sizeof pack_whole_stage,
    .name = "pack_whole",
    .version = "1.1",
    .summary = "Rows that are complete within their split (part of `pack`)",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES, /* pack has them in the next split */
    .reasons = "carried",
    .prepare = whole_prepare,
    .process = whole_process,
};

/* ---- pieces ---- */

struct parts_config {
    const char *loss_mask;
};

static const struct sluice_option parts_options[] = {
    { .name = "loss_mask",
      .doc = "Column of the loss mask, where there is one; \"\" leaves it out.",
      .def = "loss_mask",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct parts_config, loss_mask) },
};

struct parts {
    const char *loss_mask;
    int32_t tokens, padding, origin, span, mask; /* columns; mask -1 = absent */
    uint32_t columns;
};

static sluice_status parts_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct parts *parts = calloc(1, sizeof *parts);

    (void)api;
    (void)host;
    if (parts == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for packed rows");
    }
    parts->loss_mask = ((const struct parts_config *)config)->loss_mask;
    *shared = parts;
    return SLUICE_OK;
}

static sluice_status parts_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct parts *parts = shared;
    const struct {
        const char *name, *type;
        int32_t optional, *index;
    } needs[] = { { "tokens", "list<uint32>", 0, &parts->tokens },
                  { "padding", "int32", 0, &parts->padding },
                  { SLUICE_ORIGIN, "list<uint64>", 0, &parts->origin },
                  { SLUICE_SPAN, "list<uint64>", 0, &parts->span } };
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < sizeof needs / sizeof needs[0]; k++) {
        status = plan->need(plan, 0, needs[k].name, needs[k].type, needs[k].optional,
                            needs[k].index, err);
    }
    parts->mask = -1;
    if (status == SLUICE_OK && parts->loss_mask != NULL && parts->loss_mask[0] != '\0') {
        status = plan->need(plan, 0, parts->loss_mask, "list<uint8>", 1, &parts->mask, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    parts->columns = parts->mask >= 0 ? PACK_LOSS_MASK : 0;
    return pack_rows_declare(parts->columns, plan->metadata(plan, 0, parts->tokens, ""),
                             plan->metadata(plan, 0, parts->origin, ""), plan, err);
}

/* A piece as a row of its own. */
static sluice_status add_part(const struct parts *parts, const struct ArrowArray *batch,
                              int64_t row, struct pack_rows *rows, struct sluice_error *err)
{
    size_t n;
    size_t n_origins;
    size_t n_spans;
    const uint32_t *tokens = sluice_list_u32(batch->children[parts->tokens], row, &n);
    const uint64_t *origins = sluice_list_u64(batch->children[parts->origin], row, &n_origins);
    const uint64_t *spans = sluice_list_u64(batch->children[parts->span], row, &n_spans);
    const struct pack_source source = { origins, (uint32_t)n_origins,
                                        n_spans == 1 && spans[0] != 0 ? spans[0] >> 32
                                                                      : PACK_UNKNOWN };
    size_t n_mask = n;
    const uint8_t *mask =
        parts->mask < 0 ? NULL : sluice_list_u8(batch->children[parts->mask], row, &n_mask);

    if (n_mask != n) {
        return sluice_fail(err, SLUICE_E_DATA, "loss_mask",
                           "the loss mask of a piece is not as long as the piece");
    }
    return pack_rows_piece(rows, tokens, mask, (uint32_t)n, &source) && pack_rows_end(rows, 0, 0)
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for packed rows");
}

static sluice_status parts_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct parts *parts = state;
    const int32_t *padding = batch->array->children[parts->padding]->buffers[1];
    struct pack_rows rows = { .columns = parts->columns };
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        if (padding[row] == PACK_INCOMPLETE) {
            status = add_part(parts, batch->array, row, &rows, err);
        }
    }
    if (status == SLUICE_OK) {
        status = pack_rows_emit(&rows, emit, err);
    }
    pack_rows_deinit(&rows);
    return status;
}

const struct sluice_stage pack_parts_stage = {
    .size = sizeof pack_parts_stage,
    .name = "pack_parts",
    .version = "1.0",
    .summary = "What is left incomplete within a split (part of `pack`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = parts_options,
    .n_options = sizeof parts_options / sizeof parts_options[0],
    .option_stride = sizeof parts_options[0],
    .config_size = sizeof(struct parts_config),
    .open = parts_open,
    .prepare = parts_prepare,
    .process = parts_process,
    .close = free,
};
