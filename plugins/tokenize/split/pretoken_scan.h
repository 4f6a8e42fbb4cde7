/* pretoken_scan.h — hand-written pre-tokenizers for the patterns of the known byte-level
 * vocabularies.
 *
 * Owns: the choice of a scanner by a pattern's exact text, and the scanners. Depends on:
 * pretoken_unicode.h.
 * Promises: the cuts that the pattern makes in a leftmost-first backtracking engine with Unicode
 * 16.0 classes (tests compare each with PCRE2), in time linear in the text for every text. */
#ifndef TOKENIZE_PRETOKEN_SCAN_H
#define TOKENIZE_PRETOKEN_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "split/pretoken_unicode.h"

/* Writes the ends of the next pieces of text[*pos .. len) to ends[0 .. cap) and moves *pos behind
 * them. Pieces are adjacent: what the pattern does not match is a piece too. Gives the number of
 * ends, 0 only when *pos == len. `cap` must be PRETOKEN_CAP_LEAST or more; of ends, all `cap`
 * places may be overwritten. */
#define PRETOKEN_CAP_LEAST 128u
typedef size_t pretoken_fill(const struct unicode_table *table, const uint8_t *text, size_t len,
                             size_t *pos, size_t *ends, size_t cap);

/* The scanner of a pattern written exactly as one of the known ones; NULL for any other. *total
 * (may be NULL) is 1 when the pattern matches every text from end to end. */
pretoken_fill *pretoken_scanner(const char *pattern, int *total);

/* One scanner that cuts like three run one after the other, each on the pieces of the one before:
 * DeepSeek V3's. NULL for any other three. */
pretoken_fill *pretoken_scanner_three(pretoken_fill *const fills[3]);

/* Patterns that callers name. */
extern const char pretoken_gpt2[];   /* ByteLevel's own, as Hugging Face writes it */
extern const char pretoken_r50k[];   /* as tiktoken writes it: r50k_base, p50k_base */
extern const char pretoken_cl100k[]; /* as tiktoken writes it */
extern const char pretoken_o200k[];
extern const char pretoken_kimi[]; /* Moonlight's and Kimi K2's */

#endif
