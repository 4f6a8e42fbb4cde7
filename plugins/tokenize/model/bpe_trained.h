/* bpe_trained.h — the trained head: what the most frequent pieces of a sample become, in a file
 * that every worker of every process maps and none writes to. Private to bpe*.c.
 *
 * Owns: the file's layout, `struct trained_head`. Depends on: bpe_cache.h (entries, hash).
 *
 * The file: a header of HEAD_HEADER bytes, then two tables of entries as they stand in memory, in
 * sets of two by the top bits of the key's hash. The first table holds the most frequent pieces and
 * is small enough for a processor's own cache; the rest stands behind it. Numbers are
 * little-endian.
 *
 * Promises: ids never depend on a head. Whatever a file holds, each of its entries is encoded anew
 * when it is opened and compared: one that is not what this tokenizer gives refuses the file. So do
 * a wrong size, a wrong sum over all bytes, another layout, another tokenizer, each by name. */
#ifndef TOKENIZE_BPE_TRAINED_H
#define TOKENIZE_BPE_TRAINED_H

#include <stddef.h>
#include <stdint.h>

#include "model/bpe_cache.h"
#include "sluice.h"

struct bpe;
struct bpe_worker;

#define HEAD_MAGIC "SLUICEHD"
#define HEAD_LAYOUT 1u /* goes up with piece_hash, struct piece_entry and this file */
#define HEAD_HEADER 64u
/* log2 of places: the first table; the second at the least and at the most. */
#define HEAD_FIRST_BITS 13u
#define HEAD_REST_LEAST 2u
#define HEAD_REST_MOST 20u

struct head_header {
    char magic[8];
    uint32_t layout;
    uint8_t first_bits, rest_bits, zero[2];
    uint64_t tokenizer[2]; /* XXH3-128 of the vocabulary's file, low half first */
    uint64_t entries;      /* of both tables */
    uint64_t sum;          /* XXH3-64 of all that stands behind the header */
    uint64_t unused[2];    /* 0 */
};

/* A table in sets of two; entries NULL: there is none. */
struct head_table {
    const struct piece_entry *entries;
    unsigned shift; /* hash >> shift: the set */
};

struct trained_head {
    struct head_table first, rest;
    void *map; /* the file's; NULL: `own` or borrowed memory */
    size_t map_bytes;
    void *own; /* an aligned copy */
};

void trained_head_deinit(struct trained_head *head);

static inline const struct piece_entry *head_set(const struct head_table *table, uint64_t hash)
{
    return &table->entries[2 * (size_t)(hash >> table->shift)];
}

/* The entry of a key, or NULL. */
static inline const struct piece_entry *head_find(const struct head_table *table,
                                                  struct piece_key key, uint64_t hash)
{
    const struct piece_entry *set = head_set(table, hash);
    return piece_is(set, key) ? set : piece_is(set + 1, key) ? set + 1 : NULL;
}

/* ---- counting a sample ---- */

/* Keys and how often they were met; bounded: rare ones are forgotten when there are too many. */
struct piece_counts {
    struct counted_piece {
        struct piece_key key; /* high 0: empty */
        uint64_t n;
    } * places;
    size_t used, size;
    unsigned shift;
    int failed; /* out of memory: counting stopped */
};

/* Counts one more. */
void piece_count(struct piece_counts *counts, struct piece_key key);

/* What one piece becomes; up to PIECE_SHORT ids. */
int32_t bpe_encode_key(struct bpe_worker *worker, struct piece_key key, uint32_t *ids, size_t *n,
                       struct sluice_error *err);

#endif
