/* pretoken_next_deepseek.h — the scanners of DeepSeek V3's three splits: each by itself, and all at
 * once. What is cut out by a split is a text of its own for the next one, so that its end is an end
 * of text: `\s+(?!\S)` takes all white space in front of a digit.
 *
 * Owns nothing. Depends on: pretoken_next.h. */
#ifndef TOKENIZE_PRETOKEN_NEXT_DEEPSEEK_H
#define TOKENIZE_PRETOKEN_NEXT_DEEPSEEK_H

#include "split/pretoken_next.h"

/* \p{N}{1,3}, and what lies between */
INLINE const uint8_t *deepseek_digits_next(const struct unicode_table *t, const uint8_t *p,
                                           const uint8_t *end)
{
    size_t n;
    if (utf8_flags(t, p, end, &n) & CH_NUMBER) {
        return digits(t, p, end, n, 3);
    }
    return run_without(t, p + n, end, CH_NUMBER);
}

INLINE int is_deepseek_cjk(uint32_t cp)
{
    return (cp >= 0x4E00 && cp <= 0x9FA5) || (cp >= 0x3040 && cp <= 0x30FF);
}

/* [一-龥぀-ゟ゠-ヿ]+, and what lies between */
INLINE const uint8_t *deepseek_cjk_next(const struct unicode_table *t, const uint8_t *p,
                                        const uint8_t *end)
{
    uint32_t cp;
    int cjk;
    (void)t;
    p += utf8_decode(p, end, &cp);
    cjk = is_deepseek_cjk(cp);
    while (p < end) {
        size_t n = 1;
        if (*p < 0xE3) { /* below U+3000; bytes that are no UTF-8 are not in the range either */
            if (cjk) {
                break;
            }
        } else {
            n = utf8_decode(p, end, &cp);
            if (is_deepseek_cjk(cp) != cjk) {
                break;
            }
        }
        p += n;
    }
    return p;
}

INLINE int is_ascii_alpha(uint8_t c)
{
    return (uint8_t)((c | 32) - 'a') < 26;
}

/* The match of DeepSeek V3's third pattern at p, or p:
 * [!"#...~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
 * ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
INLINE const uint8_t *deepseek_main_match(const struct unicode_table *t, const uint8_t *p,
                                          const uint8_t *end)
{
    size_t n, m;
    unsigned f = utf8_flags(t, p, end, &n), g = 0;
    const uint8_t *q = p + n;
    if (f & (CH_LETTER | CH_MARK)) {
        return run_of(t, q, end, CH_LETTER | CH_MARK);
    }
    if (q < end) {
        g = utf8_flags(t, q, end, &m);
        if (*p < 0x80 && (f & CH_PUNCT) && is_ascii_alpha(*q)) {
            do {
                q++;
            } while (q < end && is_ascii_alpha(*q));
            return q;
        }
        if (!(f & (CH_NEWLINE | CH_PUNCT)) && (g & (CH_LETTER | CH_MARK))) {
            return run_of(t, q + m, end, CH_LETTER | CH_MARK);
        }
        if (*p == ' ' && (g & CH_PUNCT)) {
            q = run_of(t, q + m, end, CH_PUNCT);
            return run_of(t, q, end, CH_NEWLINE);
        }
    }
    if (f & CH_PUNCT) {
        q = run_of(t, q, end, CH_PUNCT);
        return run_of(t, q, end, CH_NEWLINE);
    }
    return (f & CH_SPACE) ? white_space(t, p, end, 1, 0) : p;
}

INLINE const uint8_t *deepseek_main_next(const struct unicode_table *t, const uint8_t *p,
                                         const uint8_t *end)
{
    const uint8_t *q = deepseek_main_match(t, p, end);
    if (q != p) {
        return q;
    }
    do { /* control characters and the like, up to where the pattern matches again */
        uint32_t cp;
        p += utf8_decode(p, end, &cp);
    } while (p < end && deepseek_main_match(t, p, end) == p);
    return p;
}

/* ---- the three at once ---- */

/* A character as the third split sees it. */
#define CH_END 256u /* the part that the first two cut out ends in front of it */

/* The flags of the character at p of a part of the kind `cjk`, or CH_END. */
INLINE unsigned deepseek_flags(const struct unicode_table *t, const uint8_t *p, const uint8_t *end,
                               int cjk, size_t *n)
{
    uint32_t cp;
    unsigned f;
    *n = 0;
    if (p == end) {
        return CH_END;
    }
    if (*p < 0x80) {
        *n = 1;
        f = t->ascii[*p];
        return cjk || (f & CH_NUMBER) ? CH_END : f;
    }
    *n = utf8_decode(p, end, &cp);
    f = unicode_flags(t, cp);
    return (f & CH_NUMBER) || is_deepseek_cjk(cp) != cjk ? CH_END : f;
}

INLINE const uint8_t *deepseek_run(const struct unicode_table *t, const uint8_t *p,
                                   const uint8_t *end, int cjk, unsigned want)
{
    size_t n;
    while (deepseek_flags(t, p, end, cjk, &n) & want) {
        p += n;
    }
    return p;
}

/* deepseek_main_match on the rest of a part, whose character at p has the flags f and n bytes. */
INLINE const uint8_t *deepseek_match(const struct unicode_table *t, const uint8_t *p,
                                     const uint8_t *end, int cjk, unsigned f, size_t n)
{
    const uint8_t *q = p + n, *last = p, *newline = NULL;
    size_t m;
    const unsigned g = deepseek_flags(t, q, end, cjk, &m);
    if (f & (CH_LETTER | CH_MARK)) {
        return deepseek_run(t, q, end, cjk, CH_LETTER | CH_MARK);
    }
    if (*p < 0x80 && (f & CH_PUNCT) && q < end && is_ascii_alpha(*q)) {
        return run_of_ascii(q, end, 0);
    }
    if (!(f & (CH_NEWLINE | CH_PUNCT)) && (g & (CH_LETTER | CH_MARK))) {
        return deepseek_run(t, q + m, end, cjk, CH_LETTER | CH_MARK);
    }
    if ((f & CH_PUNCT) || (*p == ' ' && (g & CH_PUNCT))) {
        q = deepseek_run(t, q, end, cjk, CH_PUNCT);
        return deepseek_run(t, q, end, cjk, CH_NEWLINE);
    }
    if (!(f & CH_SPACE)) {
        return p;
    }
    for (q = p; f & CH_SPACE; f = deepseek_flags(t, q, end, cjk, &n)) {
        last = q;
        q += n;
        newline = (f & CH_NEWLINE) ? q : newline;
    }
    return newline ? newline : (f & CH_END) || last == p ? q : last;
}

/* The end of the piece that all three make at p. */
INLINE const uint8_t *deepseek_next(const struct unicode_table *t, const uint8_t *p,
                                    const uint8_t *end)
{
    uint32_t cp;
    size_t n = utf8_decode(p, end, &cp);
    unsigned f = unicode_flags(t, cp);
    const int cjk = is_deepseek_cjk(cp);
    const uint8_t *q;
    if (f & CH_NUMBER) {
        return digits(t, p, end, n, 3);
    }
    q = deepseek_match(t, p, end, cjk, f, n);
    while (q == p) { /* a gap, up to where the pattern matches again */
        p += n;
        f = deepseek_flags(t, p, end, cjk, &n);
        q = (f & CH_END) ? p + 1 : deepseek_match(t, p, end, cjk, f, n);
        if (q != p) {
            return p;
        }
    }
    return q;
}

#endif
