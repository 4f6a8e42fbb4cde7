/* bpe_merge_parts.c — where a piece can be cut without a change of its ids. See merge_part in
 * bpe_merge.h. Depends on: pretoken_unicode.h (UTF-8). */
#include <stdlib.h>
#include <string.h>

#include "model/bpe_merge.h"
#include "split/pretoken_unicode.h"

#define JOINED_BITS 18u /* 32 KiB */

static inline size_t joined_bit(uint32_t a, uint32_t b)
{
    const uint64_t key = (uint64_t)a << 32 | b;
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - JOINED_BITS));
}

/* Notes the characters that stand side by side, whole, in a token. */
static void join(struct merges *m, const uint8_t *p, const uint8_t *end)
{
    uint32_t before = 0, cp;
    int whole = 0; /* a character stands right before p */
    while (p < end) {
        const size_t n = utf8_decode(p, end, &cp);
        const int is_char = n > 1 || *p < 0x80;
        if (whole && is_char) {
            const size_t bit = joined_bit(before, cp);
            m->joined[bit / 64] |= UINT64_C(1) << bit % 64;
        }
        whole = is_char;
        before = cp;
        p += n;
    }
}

int merge_parts_init(struct merges *m, const struct vocab *vocab)
{
    uint32_t all = 0;
    m->joined = calloc((size_t)1 << (JOINED_BITS - 6), sizeof(*m->joined));
    if (!m->joined) {
        return -1;
    }
    m->bytes += ((size_t)1 << JOINED_BITS) / 8;
    for (uint32_t i = 256; i < m->n; i++) {
        const uint8_t *p = vocab->bytes + vocab->tokens[m->out_id[i]].at;
        join(m, p, p + m->len[i]);
    }
    for (uint32_t id = 0; id < vocab->n_tokens; id++) {
        all += vocab->tokens[id].kind == VOCAB_BYTES;
    }
    m->unreached = all != m->n;
    return 0;
}

size_t merge_part(const struct merges *m, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *start = p;
    uint32_t before, cp;
    p += utf8_decode(p, end, &before);
    while (p < end) {
        const size_t n = utf8_decode(p, end, &cp);
        if ((before | cp) >= 0x80 && m->border[(size_t)p[-1] << 8 | p[0]] == MERGE_NONE) {
            const size_t bit = joined_bit(before, cp);
            if (!(m->joined[bit / 64] >> bit % 64 & 1)) {
                break;
            }
        }
        before = cp;
        p += n;
    }
    return (size_t)(p - start);
}
