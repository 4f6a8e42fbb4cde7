/* text_tally.h — how often pieces of a text, or n-grams of a sequence, occur: exact counts.
 *
 * Depends on text_span.h. A tally is a table in memory of the caller's, who reuses it between
 * documents. Promises: what is equal is counted together and nothing else is (hashes find
 * candidates only); entries stand in the order of their first occurrence, so no result depends on a
 * hash.
 */
#ifndef TEXT_TALLY_H
#define TEXT_TALLY_H

#include "text/text_span.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct text_tally_entry {
    uint32_t first; /* place of the first occurrence: a piece's index, an n-gram's begin */
    uint32_t count;
};

struct text_tally {
    struct text_tally_entry *entries;
    uint64_t *slots;
    size_t mask;    /* of slots */
    size_t count;   /* entries: how many are distinct */
    uint64_t total; /* occurrences */
};

/* Bytes of memory, aligned to 8, of a tally of at most `most` occurrences (24 to 40 for each). */
size_t text_tally_bytes(size_t most);

/* An empty tally for at most `most` occurrences in `memory`, which it borrows while it is used. */
void text_tally_init(struct text_tally *tally, void *memory, size_t most);

/* Counts n pieces of a text by their bytes, into an empty tally for at least n. ids (may be NULL)
 * receives the index of each piece's entry: equal numbers for equal pieces. */
void text_tally_pieces(struct text_tally *tally, const char *text, const struct text_span *pieces,
                       size_t n, uint32_t *ids);

/* The entry of those bytes in a tally of pieces of the text; NULL when they are none of them. */
const struct text_tally_entry *text_tally_find(const struct text_tally *tally, const char *text,
                                               const struct text_span *pieces, const char *bytes,
                                               size_t len);

/* Counts the runs of n >= 1 neighbours among count items, into an empty tally for at least count -
 * n + 1. again (may be NULL, else count - n + 1 values) receives 1 where the run occurred before,
 * else 0. Fewer than n items have no run. */
void text_tally_runs(struct text_tally *tally, const uint32_t *items, size_t count, size_t n,
                     uint8_t *again);

/* How many entries occur k times, at [k] for 1 <= k <= *most (the most that one occurs; 0 for an
 * empty tally). It stands where the table was: entries stay, text_tally_find and further counting
 * don't. */
const uint32_t *text_tally_times(struct text_tally *tally, uint32_t *most);

/* The code points of a text as items, ill-formed bytes as TEXT_REPLACEMENT each; returns how many.
 * NULL counts them only. */
size_t text_tally_characters(const char *text, size_t len, uint32_t *items);

#ifdef __cplusplus
}
#endif

#endif
