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
    m->unreached = all != m->n - vocab->lacking;
    return 0;
}

/* Whether a piece can be cut at p, between two characters: 1 or 0, without a branch, as it cannot
 * be foretold. */
static inline unsigned is_cut(const struct merges *m, const uint8_t *p, uint32_t before,
                              uint32_t cp)
{
    const size_t bit = joined_bit(before, cp);
    return ((before | cp) >= 0x80) & (m->border[(size_t)p[-1] << 8 | p[0]] == MERGE_NONE) &
           (unsigned)(~m->joined[bit / 64] >> bit % 64);
}

size_t merge_part(const struct merges *m, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *start = p;
    uint32_t before, cp;
    p += utf8_decode(p, end, &before);
    while (p < end) {
        const size_t n = utf8_decode(p, end, &cp);
        if (is_cut(m, p, before, cp)) {
            break;
        }
        before = cp;
        p += n;
    }
    return (size_t)(p - start);
}

size_t merge_parts(const struct merges *m, const uint8_t *text, size_t start, size_t end,
                   size_t *cut)
{
    const uint8_t *p = text + start;
    uint32_t before, cp;
    size_t count = 0;
    p += utf8_decode(p, text + end, &before);
    while (p < text + end) {
        const size_t n = utf8_decode(p, text + end, &cp);
        cut[count] = (size_t)(p - text);
        count += is_cut(m, p, before, cp);
        before = cp;
        p += n;
    }
    cut[count] = end;
    return count + 1;
}
