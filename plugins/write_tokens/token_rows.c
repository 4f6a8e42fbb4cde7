/* Columns, widths and sequences of the token writers: see token_rows.h. */
#include "token_rows.h"

#include <stdio.h>

sluice_status token_rows_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for token files");
}

sluice_status token_rows_refused(sluice_status status, struct sluice_error *err)
{
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused what was written");
}

static sluice_status choose_width(struct token_rows *rows, int32_t dtype, struct sluice_error *err)
{
    char message[300];

    if (dtype == TOKEN_DTYPE_AUTO && rows->vocabulary == 0) {
        return sluice_fail(err, SLUICE_E_CONFIG, "dtype",
                           "the column 'tokens' does not say how large its vocabulary is (metadata "
                           "vocab_size, which tokenize leaves), so the type of a token can't be "
                           "chosen; give dtype = \"uint16\" or \"uint32\"");
    }
    if (dtype == TOKEN_DTYPE_UINT16 && rows->vocabulary > 65536) {
        snprintf(message, sizeof message,
                 "a vocabulary of %llu ids does not fit uint16, which holds ids to 65535; expected "
                 "uint32",
                 (unsigned long long)rows->vocabulary);
        return sluice_fail(err, SLUICE_E_CONFIG, "dtype", message);
    }
    rows->width =
        dtype == TOKEN_DTYPE_UINT16 || (dtype == TOKEN_DTYPE_AUTO && rows->vocabulary <= 65536) ? 2
                                                                                                : 4;
    return SLUICE_OK;
}

sluice_status token_rows_prepare(struct token_rows *rows, struct sluice_plan *plan,
                                 int32_t sequences, int32_t dtype, const char *mask_column,
                                 enum token_mask mask, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, 0, "tokens", "list<uint32>", 0, &rows->tokens, err);

    rows->segments = rows->padding = rows->mask = rows->id = -1;
    if (status == SLUICE_OK && sequences == TOKEN_SEQUENCES_DOCUMENTS) {
        status = plan->need(plan, 0, "segments", "list<int32>", 1, &rows->segments, err);
    }
    if (status == SLUICE_OK && rows->segments < 0) {
        status = plan->need(plan, 0, "padding", "int32", 1, &rows->padding, err);
    }
    if (status == SLUICE_OK && mask_column != NULL && mask_column[0] != '\0') {
        status = plan->need(plan, 0, mask_column, "list<uint8>", 1, &rows->mask, err);
    }
    if (status == SLUICE_OK && rows->mask >= 0 && mask == TOKEN_MASK_REFUSED) {
        return sluice_fail(err, SLUICE_E_CONFIG, "loss_mask",
                           "the rows have a loss mask and this format has no place for one: every "
                           "token would be trained on; write them with write_datatrove or "
                           "write_mds, or give loss_mask = \"\" to leave it out");
    }
    if (status == SLUICE_OK) {
        rows->vocabulary = sluice_metadata_number(plan, 0, rows->tokens, "vocab_size", 0);
        status = choose_width(rows, dtype, err);
    }
    return status == SLUICE_OK
               ? plan->note(plan, "dtype", rows->width == 2 ? "\"uint16\"" : "\"uint32\"", err)
               : status;
}

sluice_status token_rows_each(const struct token_rows *rows, const struct ArrowArray *batch,
                              int64_t row, token_rows_fn *take, void *user,
                              struct sluice_error *err)
{
    size_t n;
    size_t n_mask = 0;
    size_t at = 0;
    const uint32_t *ids = sluice_list_u32(batch->children[rows->tokens], row, &n);
    const uint8_t *mask =
        rows->mask >= 0 ? sluice_list_u8(batch->children[rows->mask], row, &n_mask) : NULL;
    const int32_t *offsets;
    const int32_t *lengths;
    sluice_status status = SLUICE_OK;
    char message[200];

    if (mask != NULL && n_mask != n) {
        snprintf(message, sizeof message, "the loss mask of a row has %zu values, expected %zu",
                 n_mask, n);
        return sluice_fail(err, SLUICE_E_DATA, "loss_mask", message);
    }
    if (rows->segments < 0) {
        return take(user, ids, mask, n, err);
    }
    offsets = batch->children[rows->segments]->buffers[1];
    lengths = batch->children[rows->segments]->children[0]->buffers[1];
    for (int32_t k = offsets[row]; status == SLUICE_OK && k < offsets[row + 1]; k++) {
        if (lengths[k] < 0 || (size_t)lengths[k] > n - at) {
            snprintf(message, sizeof message,
                     "segment %d of a row is %d tokens long, expected 0 to %zu, what is left of "
                     "the row",
                     k - offsets[row], lengths[k], n - at);
            return sluice_fail(err, SLUICE_E_DATA, "segments", message);
        }
        status = take(user, ids + at, mask == NULL ? NULL : mask + at, (size_t)lengths[k], err);
        at += (size_t)lengths[k];
    }
    return status;
}

int64_t token_rows_padding(const struct token_rows *rows, const struct ArrowArray *batch,
                           int64_t row)
{
    return rows->padding >= 0 ? ((const int32_t *)batch->children[rows->padding]->buffers[1])[row]
                              : 0;
}

sluice_status token_rows_encode(const struct token_rows *rows, const uint32_t *ids, size_t n,
                                struct sluice_bytes *out, struct sluice_error *err)
{
    uint64_t limit = rows->width == 2 ? 65536 : (uint64_t)UINT32_MAX + 1;
    char message[200];

    if (rows->vocabulary > 0 && rows->vocabulary < limit) {
        limit = rows->vocabulary;
    }
    if (!sluice_bytes_reserve(out, (uint64_t)n * rows->width)) {
        return token_rows_nomem(err);
    }
    for (size_t k = 0; k < n; k++) {
        if (ids[k] >= limit) {
            snprintf(message, sizeof message,
                     "token %zu of a sequence is %u, expected an id below %llu", k, ids[k],
                     (unsigned long long)limit);
            return sluice_fail(err, SLUICE_E_DATA, "tokens", message);
        }
    }
    if (rows->width == 4) {
        memcpy(out->data + out->size, ids, n * 4);
    } else {
        for (size_t k = 0; k < n; k++) {
            uint16_t id = (uint16_t)ids[k];
            memcpy(out->data + out->size + 2 * k, &id, 2);
        }
    }
    out->size += (uint64_t)n * rows->width;
    return SLUICE_OK;
}

sluice_status token_rows_measure(struct sluice_emit *emit, struct token_counts *counts,
                                 struct sluice_error *err)
{
    sluice_status status = emit->measure(emit, "sequences", counts->sequences);

    if (status == SLUICE_OK) {
        status = emit->measure(emit, "tokens", counts->tokens - counts->padding);
    }
    if (status == SLUICE_OK && counts->padding != 0) {
        status = emit->measure(emit, "padding", counts->padding);
    }
    if (status == SLUICE_OK && counts->empty != 0) {
        status = emit->measure(emit, "empty", counts->empty);
    }
    *counts = (struct token_counts){ 0 };
    return token_rows_refused(status, err);
}
