/* XXH64 of many short strings with AVX2.
 *
 * Private to minhash_sig*.c. Depends on text_span. Promises the numbers of XXH64 with seed 0. */
#ifndef MINHASH_SIG_HASH_H
#define MINHASH_SIG_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text_span.h"

#if defined(__x86_64__)
/* The loop `hash` of struct minhash_kernel; needs avx2. */
void minhash_hash_avx2(const char *text, const struct text_span *words, size_t ngram, size_t n,
                       uint64_t *out);
#endif

#endif
