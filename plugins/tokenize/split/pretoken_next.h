/* pretoken_next.h — the scanners in scalar code: each `*_next` gives the end of the piece that
 * starts at p; its comment holds the alternative of the pattern it implements. They are the truth
 * that the masks of pretoken_mask.h are compared with, and take over where a mask cannot decide.
 *
 * Owns nothing. Depends on: pretoken_unicode.h. All functions are inlined with constant parameters,
 * one copy a vocabulary family and instruction set. */
#ifndef TOKENIZE_PRETOKEN_NEXT_H
#define TOKENIZE_PRETOKEN_NEXT_H

#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "split/pretoken_unicode.h"

#define INLINE static inline __attribute__((always_inline))

/* The end of the run of ASCII letters at p; `lower` 1: of a to z alone. */
INLINE const uint8_t *run_of_ascii(const uint8_t *p, const uint8_t *end, int lower)
{
#if defined(__SSE2__)
    const __m128i bit = _mm_set1_epi8(lower ? 0 : 32), below = _mm_set1_epi8('a' - 1),
                  above = _mm_set1_epi8('z' + 1);
    while (end - p >= 16) {
        __m128i v = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)p),
                                 bit); /* bytes above 0x7F are negative */
        unsigned out = 0xFFFFu ^ (unsigned)_mm_movemask_epi8(_mm_and_si128(
                                     _mm_cmpgt_epi8(v, below), _mm_cmplt_epi8(v, above)));
        if (out) {
            return p + __builtin_ctz(out);
        }
        p += 16;
    }
#endif
    while (p < end && (uint8_t)((lower ? *p : *p | 32) - 'a') < 26) {
        p++;
    }
    return p;
}

/* The end of the longest run from p of characters that have one of `want`. */
INLINE const uint8_t *run_of(const struct unicode_table *t, const uint8_t *p, const uint8_t *end,
                             unsigned want)
{
    while (p < end) {
        size_t n;
        if (*p < 0x80 &&
            (want & CH_LOWER)) { /* in ASCII, classes with lower case letters have letters alone */
            p = run_of_ascii(p, end, !(want & CH_UPPER));
            if (p == end || *p < 0x80) {
                break;
            }
        }
        if (!(utf8_flags(t, p, end, &n) & want)) {
            break;
        }
        p += n;
    }
    return p;
}

/* The same for characters that have none of `not`. */
INLINE const uint8_t *run_without(const struct unicode_table *t, const uint8_t *p,
                                  const uint8_t *end, unsigned not )
{
    while (p < end) {
        size_t n;
        if (utf8_flags(t, p, end, &n) & not ) {
            break;
        }
        p += n;
    }
    return p;
}

/* \p{N}{1,most} at p, where the first is known to be a number of n bytes. */
INLINE const uint8_t *digits(const struct unicode_table *t, const uint8_t *p, const uint8_t *end,
                             size_t n, int most)
{
    p += n;
    while (--most > 0 && p < end && (utf8_flags(t, p, end, &n) & CH_NUMBER)) {
        p += n;
    }
    return p;
}

/* The end of (?i:'s|'t|'re|'ve|'m|'ll|'d) at p, or p. U+017F folds to s; `fold` 0 = lower case
 * only. */
INLINE const uint8_t *contraction(const uint8_t *p, const uint8_t *end, int fold)
{
    size_t left = (size_t)(end - p);
    unsigned a, b;
    if (left < 2 || p[0] != '\'') {
        return p;
    }
    a = fold && p[1] < 0x80 ? p[1] | 32u : p[1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd') {
        return p + 2;
    }
    if (left < 3) {
        return p;
    }
    b = fold && p[2] < 0x80 ? p[2] | 32u : p[2];
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) {
        return p + 3;
    }
    if (fold && p[1] == 0xC5 && p[2] == 0xBF) {
        return p + 3;
    }
    return p;
}

/* White space at p: \s*[\r\n]+|\s+(?!\S)|\s+ when `newlines`, \s+(?!\S)|\s+ otherwise. `tail` puts
 * \s++$ in front. */
INLINE const uint8_t *white_space(const struct unicode_table *t, const uint8_t *p,
                                  const uint8_t *end, int newlines, int tail)
{
    const uint8_t *q = p, *last = p, *newline = NULL;
    while (q < end) {
        size_t n;
        unsigned f = utf8_flags(t, q, end, &n);
        if (!(f & CH_SPACE)) {
            break;
        }
        last = q;
        q += n;
        if (f & CH_NEWLINE) {
            newline = q;
        }
    }
    if (tail && q == end) {
        return q;
    }
    if (newlines && newline) {
        return newline;
    }
    return q == end || last == p ? q : last;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
INLINE const uint8_t *gpt2_next(const struct unicode_table *t, const uint8_t *p, const uint8_t *end)
{
    size_t n;
    unsigned f;
    const uint8_t *q = contraction(p, end, 0);
    if (q != p) {
        return q;
    }
    q = *p == ' ' && p + 1 < end ? p + 1 : p;
    f = utf8_flags(t, q, end, &n);
    if (f & CH_LETTER) {
        return run_of(t, q + n, end, CH_LETTER);
    }
    if (f & CH_NUMBER) {
        return run_of(t, q + n, end, CH_NUMBER);
    }
    if (!(f & CH_SPACE)) {
        return run_without(t, q + n, end, CH_SPACE | CH_LETTER | CH_NUMBER);
    }
    return white_space(t, p, end, 0, 0);
}

/* cl100k: (?i:'s|...)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
 * ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ `most` digits in a piece; `marks` 1: \p{M}
 * counts as a letter (Qwen 3.5), which the first class does not exclude; `tail`: white space at the
 * end of the text is one piece (tiktoken's \s++$). */
INLINE const uint8_t *cl100k_next(const struct unicode_table *t, const uint8_t *p,
                                  const uint8_t *end, int most, int marks, int tail)
{
    const unsigned letter = CH_LETTER | (marks ? CH_MARK : 0u);
    const unsigned not_punct = CH_SPACE | CH_NUMBER | letter;
    size_t n, m;
    unsigned f = utf8_flags(t, p, end, &n), g;
    const uint8_t *q;
    if (f & letter) {
        return run_of(t, p + n, end, letter);
    }
    if (f & CH_NUMBER) {
        return digits(t, p, end, n, most);
    }
    if (*p == '\'') {
        q = contraction(p, end, 1);
        if (q != p) {
            return q;
        }
    }
    if (p + n < end) {
        g = utf8_flags(t, p + n, end, &m);
        if (!(f & CH_NEWLINE) && (g & letter)) {
            return run_of(t, p + n + m, end, letter);
        }
        if (*p == ' ' && !(g & not_punct)) {
            q = run_without(t, p + n + m, end, not_punct);
            return run_of(t, q, end, CH_NEWLINE);
        }
    }
    if (!(f & CH_SPACE)) {
        q = run_without(t, p + n, end, not_punct);
        return run_of(t, q, end, CH_NEWLINE);
    }
    return white_space(t, p, end, 1, tail);
}

/* The word alternatives of o200k with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and W =
 * [\p{Ll}\p{Lm}\p{Lo}\p{M}]: U*W+ from q, or q when it does not match. *upper gets the end of U*.
 * */
INLINE const uint8_t *o200k_word(const struct unicode_table *t, const uint8_t *q,
                                 const uint8_t *end, const uint8_t **upper)
{
    const uint8_t *p = q, *back = q;
    size_t n;
    while (p < end) {
        unsigned f = utf8_flags(t, p, end, &n);
        if (!(f & (CH_UPPER | CH_CASELESS | CH_MARK))) {
            break;
        }
        p += n;
        if (!(f & CH_UPPER)) {
            back = p; /* U* can give this character back to W+ */
        }
    }
    *upper = p;
    if (p < end && (utf8_flags(t, p, end, &n) & CH_LOWER)) {
        return run_of(t, p + n, end, CH_LOWER | CH_CASELESS | CH_MARK);
    }
    return back;
}

/* o200k: [^\r\n\p{L}\p{N}]?U*W+C?|[^\r\n\p{L}\p{N}]?U+W*C?|\p{N}{1,3}|
 * ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+ where C = (?i:'s|'t|'re|'ve|'m|'ll|'d). `most`
 * digits; `contract` 0 leaves C out (Tekken). */
INLINE const uint8_t *o200k_next(const struct unicode_table *t, const uint8_t *p,
                                 const uint8_t *end, int most, int contract)
{
    const unsigned not_punct = CH_SPACE | CH_NUMBER | CH_LETTER;
    size_t n, m;
    unsigned f = utf8_flags(t, p, end, &n);
    const uint8_t *q, *upper;
    if (f & CH_NUMBER) {
        return digits(t, p, end, n, most);
    }
    if (f & CH_LETTER) {
        q = o200k_word(t, p, end, &upper);
        q = q != p ? q : upper; /* U+ alone: W* after it is empty, else U*W+ had matched */
        return contract ? contraction(q, end, 1) : q;
    }
    if (!(f & CH_NEWLINE) && p + n < end) {
        q = o200k_word(t, p + n, end, &upper);
        if (q == p + n && (f & CH_MARK)) {
            q = p + n; /* the mark is not taken as the prefix but as U*W+ itself */
            return contract ? contraction(q, end, 1) : q;
        }
        q = q != p + n ? q : upper;
        if (q != p + n) {
            return contract ? contraction(q, end, 1) : q;
        }
        if (*p == ' ' && !(utf8_flags(t, p + n, end, &m) & not_punct)) {
            q = run_without(t, p + n + m, end, not_punct);
            while (q < end && (*q == '\r' || *q == '\n' || *q == '/')) {
                q++;
            }
            return q;
        }
    }
    if (f & CH_MARK) { /* the last character of the text */
        return p + n;
    }
    if (!(f & CH_SPACE)) {
        q = run_without(t, p + n, end, not_punct);
        while (q < end && (*q == '\r' || *q == '\n' || *q == '/')) {
            q++;
        }
        return q;
    }
    return white_space(t, p, end, 1, 0);
}

/* The flags of the character at p as Kimi's words see it: a Han character is in none of their
 * classes. */
INLINE unsigned kimi_flags(const struct unicode_table *t, const uint8_t *p, const uint8_t *end,
                           size_t *n)
{
    uint32_t cp;
    if (*p < 0x80) {
        *n = 1;
        return t->ascii[*p];
    }
    *n = utf8_decode(p, end, &cp);
    return (unicode_value(t, cp) & UNICODE_HAN) ? 0 : unicode_flags(t, cp);
}

/* As o200k_word, with those flags. */
INLINE const uint8_t *kimi_word(const struct unicode_table *t, const uint8_t *q, const uint8_t *end,
                                const uint8_t **upper)
{
    const uint8_t *p = q, *back = q;
    size_t n;
    unsigned f = 0;
    while (p < end) {
        f = kimi_flags(t, p, end, &n);
        if (!(f & (CH_UPPER | CH_CASELESS | CH_MARK))) {
            break;
        }
        p += n;
        if (!(f & CH_UPPER)) {
            back = p;
        }
    }
    *upper = p;
    if (p == end || !(f & CH_LOWER)) {
        return back;
    }
    do {
        p += n;
    } while (p < end && (kimi_flags(t, p, end, &n) & (CH_LOWER | CH_CASELESS | CH_MARK)));
    return p;
}

/* Kimi: [\p{Han}]+|P?U*W+C?|P?U+W*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
 * \s+(?!\S)|\s+ with P, U, W and C of o200k, but U and W without Han. */
INLINE const uint8_t *kimi_next(const struct unicode_table *t, const uint8_t *p, const uint8_t *end)
{
    const unsigned not_punct = CH_SPACE | CH_NUMBER | CH_LETTER;
    size_t n, m;
    uint32_t cp;
    unsigned f = utf8_flags(t, p, end, &n);
    const uint8_t *q, *upper;
    (void)utf8_decode(p, end, &cp);
    if (unicode_value(t, cp) & UNICODE_HAN) {
        for (p += n; p < end; p += n) {
            n = utf8_decode(p, end, &cp);
            if (!(unicode_value(t, cp) & UNICODE_HAN)) {
                break;
            }
        }
        return p;
    }
    if (f & CH_NUMBER) {
        return digits(t, p, end, n, 3);
    }
    if (f & CH_LETTER) {
        q = kimi_word(t, p, end, &upper);
        return contraction(q != p ? q : upper, end, 1);
    }
    if (!(f & CH_NEWLINE) && p + n < end) {
        q = kimi_word(t, p + n, end, &upper);
        q = q != p + n || (f & CH_MARK) ? q : upper;
        if (q != p + n || (f & CH_MARK)) {
            return contraction(q, end, 1);
        }
        if (*p == ' ' && !(utf8_flags(t, p + n, end, &m) & not_punct)) {
            return run_of(t, run_without(t, p + n + m, end, not_punct), end, CH_NEWLINE);
        }
    }
    if (f & CH_MARK) { /* the last character of the text */
        return p + n;
    }
    if (!(f & CH_SPACE)) {
        return run_of(t, run_without(t, p + n, end, not_punct), end, CH_NEWLINE);
    }
    return white_space(t, p, end, 1, 0);
}

#endif
