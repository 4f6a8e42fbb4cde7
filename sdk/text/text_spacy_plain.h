/* text_spacy_plain.h — which chunks are plain: up to 16 ASCII letters that no table of spacy-en
 * knows, and so one token that is in no pattern. Most chunks are.
 *
 * Private to sdk/text. Depends on text_span.h and the tables. Promises: never calls a chunk plain
 * that is not; may miss some.
 */
#ifndef TEXT_SPACY_PLAIN_H
#define TEXT_SPACY_PLAIN_H

#include "text/text_short.h"
#include "text/text_spacy_tables.h"
#include "text/text_span.h"

#include <stdbool.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define TEXT_SPACY_PLAIN_BLOCK 64 /* chunks a call */

/* Bit i: byte i of the TEXT_SHORT at p is no ASCII letter. */
static inline uint32_t text_spacy_no_letters(const unsigned char *p)
{
#if defined(__SSE2__)
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i place =
        _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    const __m128i letter = _mm_cmpeq_epi8(place, _mm_min_epu8(place, _mm_set1_epi8('z' - 'a')));
    return (uint32_t)_mm_movemask_epi8(letter) ^ 0xFFFF;
#else
    uint32_t bits = 0;
    for (unsigned i = 0; i < TEXT_SHORT; i++) {
        bits |= (uint32_t)((unsigned)((p[i] | 0x20) - 'a') >= 26) << i;
    }
    return bits;
#endif
}

/* Whether the chunk p[0 .. n), n > 0, is plain; TEXT_SHORT bytes may be read. No branch depends on
 * what it is. */
static inline bool text_spacy_is_plain(const unsigned char *p, size_t n)
{
    size_t most = n < TEXT_SHORT ? n : TEXT_SHORT;
    uint32_t other = text_spacy_no_letters(p) & ((1u << most) - 1);
    uint32_t bit = text_spacy_letters_bit(text_load64(p) & text_short_masks[most][0]);
    uint64_t known = text_spacy_letters[bit / 64] >> (bit % 64) & 1;
    return ((n > TEXT_SHORT) | (other != 0) | (known != 0)) == 0;
}

/* Bit i: chunk i of at most TEXT_SPACY_PLAIN_BLOCK of text[0 .. len) is plain. */
static inline uint64_t text_spacy_find_plain(const unsigned char *text, size_t len,
                                             const struct text_span *chunks, size_t count)
{
    uint64_t plain = 0;
    for (size_t i = 0; i < count && len - chunks[i].begin >= TEXT_SHORT; i++) {
        size_t n = chunks[i].end - chunks[i].begin;
        plain |= (uint64_t)text_spacy_is_plain(text + chunks[i].begin, n) << i;
    }
    return plain;
}

#endif
