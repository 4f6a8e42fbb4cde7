/* Best-fit-decreasing packing; see packer.h.
 *
 * A document of k * sequence_length + rest tokens is k full pieces, which are rows of their own and
 * come first, and at most one shorter piece. So all the work is on at most one piece a document:
 * the documents sorted by rest, longest first. */
#include "packer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "packer_plan.h"
#include "packer_room.h"

struct fit {
    uint32_t length; /* sequence_length */
    uint64_t full;   /* full pieces */
    uint32_t rests;  /* documents with a shorter piece */
    uint32_t least;  /* the shortest rest */
    uint32_t *order; /* [rests]: documents, longest rest first, earlier ones first among equals */
    /* [rests]: row of order[i]'s rest, counted from the first row that is not full */
    uint32_t *row;
    uint32_t rows; /* of rests */
};

/* Counting sort by rest. */
static bool fit_sort(struct fit *fit, const uint32_t *lengths, size_t n)
{
    uint32_t *first = calloc((size_t)fit->length + 1, sizeof(*first));
    if (first == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        first[lengths[i] % fit->length]++;
    }
    first[0] = 0;
    uint32_t sum = 0;
    for (uint32_t rest = fit->length - 1; rest > 0; rest--) {
        uint32_t count = first[rest];
        first[rest] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t rest = lengths[i] % fit->length;
        if (rest > 0) {
            fit->order[first[rest]++] = (uint32_t)i;
        }
    }
    fit->least = fit->rests > 0 ? lengths[fit->order[fit->rests - 1]] % fit->length : 0;
    free(first);
    return true;
}

static bool fit_place(struct fit *fit, const uint32_t *lengths)
{
    struct packer_room room;
    bool good = packer_room_init(&room, fit->length, fit->rests);
    for (uint32_t i = 0; good && i < fit->rests; i++) {
        uint32_t rest = lengths[fit->order[i]] % fit->length;
        uint32_t amount = fit->length;
        uint32_t row = packer_room_take(&room, rest, &amount);
        if (row == PACKER_ROOM_NONE) {
            row = fit->rows++;
        }
        fit->row[i] = row;
        amount -= rest;
        if (amount >= fit->least) { /* else nothing fits any more */
            packer_room_add(&room, amount, row);
        }
    }
    packer_room_deinit(&room);
    return good;
}

/* Full pieces in document order, then the rows of rests, each in the order of placing (a counting
 * sort by row). */
static void fit_write(const struct fit *fit, const uint32_t *lengths, size_t n,
                      struct packer_plan *plan)
{
    uint64_t segment = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t start = 0; lengths[i] - start >= fit->length; start += fit->length) {
            plan->row_begin[segment] = segment;
            plan->segments[segment++] = (struct packer_segment){ (uint32_t)i, start, fit->length };
        }
        plan->stats.documents_cut += lengths[i] > fit->length;
    }
    assert(segment == fit->full);
    uint64_t *begin = plan->row_begin + fit->full;
    memset(begin, 0, ((size_t)fit->rows + 1) * sizeof(*begin));
    for (uint32_t i = 0; i < fit->rests; i++) {
        begin[fit->row[i]]++;
    }
    for (uint32_t row = 0; row < fit->rows; row++) {
        uint64_t count = begin[row];
        begin[row] = segment;
        segment += count;
    }
    for (uint32_t i = 0; i < fit->rests; i++) {
        uint32_t document = fit->order[i];
        uint32_t rest = lengths[document] % fit->length;
        plan->segments[begin[fit->row[i]]++] =
            (struct packer_segment){ document, lengths[document] - rest, rest };
    }
    /* Each begin is now its row's end: move them up by one. */
    memmove(begin + 1, begin, (size_t)fit->rows * sizeof(*begin));
    begin[0] = fit->full;
}

int32_t packer_best_fit(const struct packer_options *options, const uint32_t *lengths, size_t n,
                        struct packer_plan *plan, struct sluice_error *err)
{
    int32_t status = packer_plan_begin(plan, options, lengths, n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    struct fit fit = { .length = options->sequence_length };
    for (size_t i = 0; i < n; i++) {
        fit.full += lengths[i] / fit.length;
        fit.rests += lengths[i] % fit.length != 0;
    }
    if (fit.full + fit.rests >= UINT32_MAX) {
        return packer_fail(
            err, SLUICE_E_DATA, "",
            "the documents make %llu pieces of up to %u tokens, expected fewer than 2^32; pack "
            "smaller groups",
            (unsigned long long)(fit.full + fit.rests), fit.length);
    }
    fit.order = malloc((size_t)fit.rests * sizeof(*fit.order) + 1);
    fit.row = malloc((size_t)fit.rests * sizeof(*fit.row) + 1);
    if (fit.order == NULL || fit.row == NULL || !fit_sort(&fit, lengths, n) ||
        !fit_place(&fit, lengths)) {
        status = packer_fail(err, SLUICE_E_NOMEM, "", "out of memory for packing %zu documents", n);
    } else {
        status = packer_plan_alloc(plan, fit.full + fit.rows, fit.full + fit.rests, err);
    }
    if (status == SLUICE_OK) {
        fit_write(&fit, lengths, n, plan);
    }
    free(fit.order);
    free(fit.row);
    return status;
}
