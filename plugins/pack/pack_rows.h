/* pack_rows - rows of packed tokens with their columns, laid out piece by piece and given to the
 * host in batches. Depends on sluice_arrays.h.
 *
 *   tokens        list<uint32>  pieces, then padding
 *   segments      list<int32>   tokens of each piece
 *   padding       int32 tokens at the row's end that are none; PACK_INCOMPLETE: the row is a piece
 *                 without a place yet
 *   loss_mask     list<uint8>   a value a token; 0 in padding
 *   cu_seqlens    list<int32> 0, where each further piece begins (padding is one), the row's
 *                 length: FlashAttention's varlen form
 *   position_ids  list<int32>   from 0 in each piece, also in padding
 *   document_ids  list<int32>   number of the piece, from 0; -1 in padding
 *   _origin       list<uint64> the input rows of each piece, in order: one each, unless a document
 *                 was made of several
 *   _span         list<uint64> beside it, which of their tokens: first << 32 | number; 0: not
 * known */
#ifndef PACK_ROWS_H
#define PACK_ROWS_H

#include <sluice_arrays.h>

/* Columns that not every output has. */
enum {
    PACK_LOSS_MASK = 1,
    PACK_CU_SEQLENS = 2,
    PACK_POSITION_IDS = 4,
    PACK_DOCUMENT_IDS = 8,
};

#define PACK_INCOMPLETE (-1)

/* What a piece is of: n rows, borrowed, and the first of their tokens, PACK_UNKNOWN where they say
 * nothing of tokens. */
#define PACK_UNKNOWN UINT64_MAX
struct pack_source {
    const uint64_t *origins;
    uint32_t n;
    uint64_t begin;
};

/* { .columns = PACK_… } is empty. */
struct pack_rows {
    struct sluice_bytes tokens, token_ends, mask, segments, segment_ends, padding;
    struct sluice_bytes origins, spans, origin_ends; /* of rows */
    struct sluice_bytes piece_ends;                  /* int32_t a piece: origins up to its end */
    int64_t n, n_segments;
    uint32_t columns;
    uint32_t filled; /* tokens of the open row */
};

/* Declares the columns, in the order they are emitted. metadata: of tokens; origin: of _origin. */
sluice_status pack_rows_declare(uint32_t columns, const char *metadata, const char *origin,
                                struct sluice_plan *, struct sluice_error *err);

/* Frees and empties; columns stay. */
void pack_rows_deinit(struct pack_rows *);

/* Adds a piece of n tokens to the open row. mask: n bytes with PACK_LOSS_MASK, else NULL. 0 = out
 * of memory. */
int pack_rows_piece(struct pack_rows *, const uint32_t *tokens, const uint8_t *mask, uint32_t n,
                    const struct pack_source *);

/* Ends the open row with that many tokens pad_id. 0 = out of memory. */
int pack_rows_end(struct pack_rows *, uint32_t padding, uint32_t pad_id);

/* Ends the open row as a row for each of its pieces, for pack_carry to place: padding is
 * PACK_INCOMPLETE. 0 = out of memory. */
int pack_rows_end_parts(struct pack_rows *);

/* Gives all ended rows to the host, and is empty then. */
sluice_status pack_rows_emit(struct pack_rows *, struct sluice_emit *, struct sluice_error *err);

#endif
