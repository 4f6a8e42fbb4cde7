/* text_simplify_ascii.h — ASCII for text_simplify with every step on, 64 bytes at a time.
 *
 * Private to sdk/text. The long way of text_simplify.c is the truth; the tests compare. Promises:
 * no read outside the given range; may write up to 8 bytes behind what it counts as written.
 */
#ifndef TEXT_SIMPLIFY_ASCII_H
#define TEXT_SIMPLIFY_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define TEXT_SIMPLIFY_AVX2 1
#else
#define TEXT_SIMPLIFY_AVX2 0
#endif

/* Where the vector loop stands. White space behind ink is written at once, one space for all of it,
 * and the caller takes back a last one; so `after_ink` tells whether the next white space
 * counts. */
struct text_simplify_ascii {
    const unsigned char *from;
    char *to;
    bool after_ink, has_ink; /* has_ink: anything but white space was ever written */
};

#if TEXT_SIMPLIFY_AVX2
/* Simplifies from at->from on, where no number is open, up to `end`, the first byte outside ASCII,
 * or a number about which what follows decides: that one is left to the long way. */
void text_simplify_ascii_avx2(struct text_simplify_ascii *at, const unsigned char *end);
#endif

#endif
