/* The plan, and packing by concatenation; see packer.h. Best fit is in packer_best_fit.c. */
#include "packer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "packer_plan.h"

int32_t packer_fail(struct sluice_error *err, int32_t code, const char *field, const char *format,
                    ...)
{
    if (err != NULL) {
        err->code = code;
        err->row = -1;
        snprintf(err->field, sizeof(err->field), "%s", field);
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return code;
}

void packer_plan_deinit(struct packer_plan *plan)
{
    free(plan->row_begin);
    free(plan->segments);
    *plan = (struct packer_plan){ 0 };
}

int32_t packer_plan_begin(struct packer_plan *plan, const struct packer_options *options,
                          const uint32_t *lengths, size_t n, struct sluice_error *err)
{
    *plan = (struct packer_plan){ .options = *options };
    uint32_t most = options->sequence_length;
    if (most == 0 || most > PACKER_LENGTH_MOST) {
        return packer_fail(err, SLUICE_E_CONFIG, "sequence_length",
                           "sequence_length is %u tokens, expected 1 to %u", most,
                           PACKER_LENGTH_MOST);
    }
    if (n >= UINT32_MAX) {
        return packer_fail(
            err, SLUICE_E_DATA, "",
            "%zu documents are to be packed at once, expected at most %u; pack smaller groups", n,
            UINT32_MAX - 1);
    }
    for (size_t i = 0; i < n; i++) {
        plan->stats.tokens += lengths[i];
        plan->stats.documents += lengths[i] > 0;
    }
    return SLUICE_OK;
}

int32_t packer_plan_alloc(struct packer_plan *plan, uint64_t rows, uint64_t segments,
                          struct sluice_error *err)
{
    if (rows < SIZE_MAX / sizeof(*plan->row_begin) &&
        segments < SIZE_MAX / sizeof(*plan->segments)) {
        plan->row_begin = malloc(((size_t)rows + 1) * sizeof(*plan->row_begin));
        plan->segments = malloc((size_t)segments * sizeof(*plan->segments) + 1);
    }
    if (plan->row_begin == NULL || plan->segments == NULL) {
        packer_plan_deinit(plan);
        return packer_fail(err, SLUICE_E_NOMEM, "",
                           "out of memory for a plan of %llu rows and %llu segments",
                           (unsigned long long)rows, (unsigned long long)segments);
    }
    plan->n_rows = rows;
    plan->stats.rows = rows;
    plan->stats.room = rows * plan->options.sequence_length - plan->stats.tokens;
    return SLUICE_OK;
}

uint32_t packer_row_tokens(const struct packer_plan *plan, uint64_t row)
{
    assert(row < plan->n_rows);
    uint32_t tokens = 0;
    for (uint64_t i = plan->row_begin[row]; i < plan->row_begin[row + 1]; i++) {
        tokens += plan->segments[i].length;
    }
    return tokens;
}

uint32_t packer_row_size(const struct packer_plan *plan, uint64_t row)
{
    return plan->options.pad ? plan->options.sequence_length : packer_row_tokens(plan, row);
}

uint32_t packer_stream_take(struct packer_stream *stream, uint64_t left, bool *full)
{
    uint32_t room = stream->sequence_length - stream->filled;
    uint32_t take = left < room ? (uint32_t)left : room;
    *full = take == room;
    stream->filled = *full ? 0 : stream->filled + take;
    return take;
}

int32_t packer_concat(const struct packer_options *options, const uint32_t *lengths, size_t n,
                      struct packer_plan *plan, struct sluice_error *err)
{
    int32_t status = packer_plan_begin(plan, options, lengths, n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    uint64_t length = options->sequence_length;
    uint64_t rows = plan->stats.tokens / length + (plan->stats.tokens % length != 0);
    /* A segment ends where a document or a row does; both at once is one end. */
    uint64_t segments = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] > 0) {
            uint64_t first = at / length;
            at += lengths[i];
            segments += (at - 1) / length - first + 1;
        }
    }
    status = packer_plan_alloc(plan, rows, segments, err);
    if (status != SLUICE_OK) {
        return status;
    }
    struct packer_stream stream = { .sequence_length = options->sequence_length };
    uint64_t row = 0;
    uint64_t segment = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t first = segment;
        for (uint32_t start = 0; start < lengths[i];) {
            if (stream.filled == 0) {
                plan->row_begin[row++] = segment;
            }
            bool full;
            uint32_t take = packer_stream_take(&stream, lengths[i] - start, &full);
            plan->segments[segment++] = (struct packer_segment){ (uint32_t)i, start, take };
            start += take;
        }
        plan->stats.documents_cut += segment - first > 1;
    }
    assert(row == rows && segment == segments);
    plan->row_begin[rows] = segments;
    return SLUICE_OK;
}
