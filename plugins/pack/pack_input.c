/* Where documents come from: see pack_input.h. */
#include "pack_input.h"

#include <stdio.h>

#define ROW_BITS 40 /* of _pos: the rest is the number of the split */

sluice_status pack_input_prepare(struct pack_input *input, bool carried, struct sluice_plan *plan,
                                 struct sluice_error *err)
{
    sluice_status status =
        plan->need(plan, 0, carried ? SLUICE_POS : SLUICE_ROW, "uint64", 0, &input->row, err);
    bool whole = true; /* rows are handed on as they were */

    input->carried = carried;
    input->origin = input->span = -1;
    input->positions = false;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ORIGIN, "uint64|list<uint64>", !carried, &input->origin,
                            err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_SPAN, "list<uint64>", !carried, &input->span, err);
    }
    if (status == SLUICE_OK && input->origin >= 0) {
        input->positions = plan->metadata(plan, 0, input->origin, "exchange") != NULL;
        whole = (input->positions || plan->metadata(plan, 0, input->origin, "through") != NULL) &&
                plan->metadata(plan, 0, input->origin, "parts") == NULL;
    }
    input->parts = !whole;
    snprintf(input->metadata, sizeof input->metadata, "%s%s",
             input->positions ? "exchange=1" : "through=1", whole ? "" : "\nparts=1");
    return status;
}

/* Rows of one split among those of all. */
static int add_split(const struct pack_source *source, uint64_t position,
                     struct sluice_bytes *scratch)
{
    int ok = 1;

    scratch->size = 0;
    for (uint32_t k = 0; ok && k < source->n; k++) {
        uint64_t number = source->origins[k];
        if ((number & SLUICE_ORIGIN_POS) == 0) {
            number |= SLUICE_ORIGIN_POS | position >> ROW_BITS << ROW_BITS;
        }
        ok = sluice_bytes_add(scratch, &number, sizeof number);
    }
    return ok;
}

int pack_input_source(const struct pack_input *input, const struct ArrowArray *batch, int64_t row,
                      struct sluice_bytes *scratch, struct pack_source *out)
{
    const struct ArrowArray *origin =
        batch->children[input->origin >= 0 ? input->origin : input->row];
    size_t n = 1;
    size_t n_spans = 0;
    const uint64_t *spans =
        input->span >= 0 ? sluice_list_u64(batch->children[input->span], row, &n_spans) : NULL;

    out->origins = origin->n_children == 1 ? sluice_list_u64(origin, row, &n)
                                           : (const uint64_t *)origin->buffers[1] + row;
    out->n = (uint32_t)n;
    out->begin = input->parts ? PACK_UNKNOWN : 0;
    if (input->span >= 0 && !input->parts) {
        out->begin = n_spans == 1 && spans[0] != 0 ? spans[0] >> 32 : PACK_UNKNOWN;
    }
    if (!input->carried || input->positions) {
        return 1;
    }
    if (!add_split(out, sluice_uint64(batch->children[input->row], row), scratch)) {
        return 0;
    }
    out->origins = (const uint64_t *)(const void *)scratch->data;
    return 1;
}
