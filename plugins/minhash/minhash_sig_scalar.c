/* The scalar loops of MinHash: the truth that the vector versions are compared with. Depends on
 * xxHash's header. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "minhash_sig_kernel.h"

static void scalar_hash(const char *text, const struct text_span *words, size_t ngram, size_t n,
                        uint64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t begin = words[i].begin;
        out[i] = XXH64(text + begin, words[i + ngram - 1].end - begin, 0);
    }
}

static void scalar_update(const uint64_t *a, const uint64_t *b, size_t functions, uint64_t mask,
                          const uint64_t *hashes, size_t n, uint64_t *minima)
{
    for (size_t f = 0; f < functions; f++) {
        uint64_t least = minima[f];
        for (size_t i = 0; i < n; i++) {
            uint64_t value = minhash_value(hashes[i], a[f], b[f]) & mask;
            least = value < least ? value : least;
        }
        minima[f] = least;
    }
}

const struct minhash_kernel minhash_kernel_scalar = { scalar_hash, scalar_update };
