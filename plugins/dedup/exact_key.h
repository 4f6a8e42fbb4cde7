/* The keys of exact deduplication and their persistent form. Private to plugins/dedup.
 *
 * A document's hash is the XXH3-128 of its key columns. In exchanges it travels as `key` (the
 * hash's high 8 bytes, then 8 bytes that sort rows of one hash: 0 for an index's, then the higher
 * priority first) and `rest` (the low 8 bytes). In an index it is 32 hexadecimal digits. Two
 * different contents of n documents are taken for equal with a probability below n^2 / 2^129. */
#ifndef EXACT_KEY_H
#define EXACT_KEY_H

#include <stdint.h>

#define EXACT_HEX 32

/* Sorts like -priority: at least 1, UINT64_MAX for a missing priority (NaN). */
uint64_t exact_rank(double priority);
/* The same of an integer, moved so that its least value is 0; the three largest are one rank. */
uint64_t exact_rank_integer(uint64_t priority);

/* The 16 bytes of `key` and the value of `rest`; hash: 16 bytes, big-endian. */
void exact_key_pack(const unsigned char hash[16], uint64_t rank, unsigned char key[16],
                    uint64_t *rest);

/* The hexadecimal digits of a hash, and back: 0 when the n bytes are not 32 lower-case digits. */
void exact_hex_write(const unsigned char hash[16], char hex[EXACT_HEX]);
int exact_hex_read(const char *hex, uint64_t n, unsigned char hash[16]);

#endif
