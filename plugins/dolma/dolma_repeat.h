/* dolma_repeat.h - the matches of Python's re for `(.+?)(\s?\1){3,}`: a piece of a line that comes
 * four times or more, each time perhaps behind one white space character (line breaks too).
 *
 * Depends on sdk/text. Promises: the same matches from left to right, in about linear time on any
 * real text, where a backtracking engine needs the square of a line's length. Works on bytes:
 * pieces begin and end where characters do.
 *
 * How: from a place i the shortest piece counts, of L bytes; its second copy begins at i + L or
 * behind one white space there. For L below 16 every L is tried. For 16 * 8^k <= L < 16 * 8^(k+1),
 * places that are multiples of B = 8 * 8^k are anchors: the first one at or behind i has its B
 * bytes inside the piece, and they come again in the second copy, at a distance of L to L + 3. So
 * each place is compared with the at most 18 anchors of a level that are so far behind it and begin
 * with the same 8 bytes. What passes is tried as the regular expression does. */
#ifndef DOLMA_REPEAT_H
#define DOLMA_REPEAT_H

#include "dolma_doc.h"

#define DOLMA_REPEAT_LEVELS \
    9 /* the last one is of pieces up to 16 * 8^9 bytes: more than a quarter of any text */

struct dolma_repeat_match {
    uint32_t begin, end; /* bytes */
    uint32_t piece;      /* bytes of the repeated piece */
};

/* Pieces of `piece` bytes that may begin in [lo, hi]. */
struct dolma_repeat_range {
    uint32_t lo, hi, piece;
};

struct dolma_repeat {
    struct dolma_repeat_match *matches; /* n of the last search */
    size_t n, capacity;
    struct dolma_repeat_range *ranges; /* of the search that runs, by lo, then piece */
    size_t n_ranges, ranges_capacity;
    /* Of each level: the newest anchor + base of each hash, and for each anchor the one before it
     * with the same hash. */
    uint32_t *heads[DOLMA_REPEAT_LEVELS];
    uint32_t *before[DOLMA_REPEAT_LEVELS];
    size_t anchors[DOLMA_REPEAT_LEVELS]; /* room in before */
    uint64_t *seen;                      /* bits: hashes of anchors above level 0 */
    uint32_t base;                       /* above all places of earlier searches */
};

void dolma_repeat_deinit(struct dolma_repeat *repeat);

/* All matches in text[0, n). */
TEXT_MUST_CHECK int32_t dolma_repeat_find(struct dolma_repeat *repeat, const char *text, size_t n,
                                          struct sluice_error *err);

/* How often the piece is in the match, from left to right without overlap (Python's str.count). */
size_t dolma_repeat_count(const char *text, const struct dolma_repeat_match *match);

#endif
