/* Packing documents into rows of a fixed number of tokens: the plan, not the tokens.
 *
 * Owns: the two algorithms and the plan they make. Depends on sluice.h. Promises: a plan is a
 * function of the lengths and the options alone; each token of each document is in it exactly once,
 * in order within its document.
 *
 * concat: documents one behind the other, cut wherever a row ends; no padding but in the last row.
 * best fit: only documents longer than a row are cut (at multiples of its length); the pieces are
 * placed longest first (ties: earlier document first), each into the row with the least room that
 * suffices (ties: the row opened first), else into a new one. Counting sort plus a bitmap over
 * room: O(n log n) with tiny constants. Source: Ding et al., Fewer Truncations Improve Language
 * Modeling, ICML 2024. */
#ifndef PACKER_H
#define PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#define PACKER_LENGTH_MOST ((uint32_t)1 << 24)

struct packer_options {
    uint32_t sequence_length; /* tokens a row, 1..PACKER_LENGTH_MOST */
    bool pad;                 /* rows are filled up to sequence_length; false: rows may be short */
};

/* Tokens [start, start + length) of a document. */
struct packer_segment {
    uint32_t document;
    uint32_t start;
    uint32_t length;
};

struct packer_stats {
    uint64_t documents;     /* with at least one token */
    uint64_t documents_cut; /* in more than one segment */
    uint64_t tokens;
    uint64_t rows;
    uint64_t room; /* rows * sequence_length - tokens: the padding, when rows are padded */
};

/* Row r holds segments[row_begin[r] .. row_begin[r + 1]), in the order in which they stand in the
 * row. Rows come in the order in which they were opened. */
struct packer_plan {
    uint64_t n_rows;
    uint64_t *row_begin; /* n_rows + 1 */
    struct packer_segment *segments;
    struct packer_options options;
    struct packer_stats stats;
};

/* Plans n documents of lengths[i] tokens; empty ones have no segment. Gives *plan, to be freed with
 * packer_plan_deinit (also after an error: it is empty then). SLUICE_E_CONFIG if sequence_length is
 * out of range, SLUICE_E_DATA for more than 2^32 - 2 documents or pieces (plan fewer at once),
 * SLUICE_E_NOMEM. About 24 bytes a document and 12 a token of sequence_length while it runs. */
int32_t packer_concat(const struct packer_options *options, const uint32_t *lengths, size_t n,
                      struct packer_plan *plan, struct sluice_error *err);
int32_t packer_best_fit(const struct packer_options *options, const uint32_t *lengths, size_t n,
                        struct packer_plan *plan, struct sluice_error *err);
void packer_plan_deinit(struct packer_plan *plan);

/* Tokens in a row: of documents, and with padding (equal unless options.pad). */
uint32_t packer_row_tokens(const struct packer_plan *plan, uint64_t row);
uint32_t packer_row_size(const struct packer_plan *plan, uint64_t row);

/* concat for a stream of documents: the same cuts without a plan. Zero-filled but for
 * sequence_length at the start. */
struct packer_stream {
    uint32_t sequence_length; /* 1..PACKER_LENGTH_MOST */
    uint32_t filled;          /* tokens in the open row; 0 = none is open */
};

/* How many of the `left` tokens of a document go into the open row (opening one if need be); *full
 * = that row is complete. Call until left is used up. What is in the open row after the last
 * document is the short last row. */
uint32_t packer_stream_take(struct packer_stream *stream, uint64_t left, bool *full);

#endif
