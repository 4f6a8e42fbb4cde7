/* pretoken_mask_program.h — the programs. Included once by each pretoken_mask_KIND.c, which has
 * defined `struct window` for its instruction set, and the functions over it. See pretoken_mask.h.
 *
 * Bits: bit i is byte i of the window. A class has the bits of all bytes of its characters. */
#ifndef TOKENIZE_PRETOKEN_MASK_PROGRAM_H
#define TOKENIZE_PRETOKEN_MASK_PROGRAM_H

#include "split/pretoken_next.h"
#include "split/pretoken_next_deepseek.h"

/* What ASCII says about 64 bytes; bytes above 0x7F are in `high` alone. */
struct ascii_masks {
    uint64_t upper, lower, number, space, newline, blank, quote, slash, high;
};

/* Characters above ASCII whose bytes alone tell the class: first bytes. Each has the bytes that its
 * first byte promises. */
struct high_masks {
    uint64_t upper2, lower2; /* of two bytes: U+00C0 to U+00FF, U+0400 to U+045F */
    uint64_t han3, kana3;    /* of three: U+4E00 to U+9FFF; letters of U+3041 to U+30FF */
    uint64_t hangul3;        /* of the leads EA to ED */
    uint64_t punct3;         /* U+3001 to U+3003, U+3008 to U+3011 */
};

struct masks {
    uint64_t upper, lower, caseless, mark, number, space;
    uint64_t newline, blank, quote, slash; /* \r \n, the space itself, ', / */
    uint64_t han;                          /* Kimi: letters of the script, in no class above */
    uint64_t alpha;                        /* letters of ASCII */
    uint64_t cjk;   /* DeepSeek: its second split, besides the classes above */
    uint64_t rest;  /* second and later bytes of characters */
    uint64_t valid; /* bytes of whole characters: low bits */
};

/* Each pretoken_mask_KIND.c has these for its registers, and `struct window` for 64 bytes of
 * text. */
INLINE void window_load(const uint8_t *p, struct window *window);
INLINE void classify(const struct window *window, struct ascii_masks *out);
/* The bytes of the window that are first .. last. */
INLINE uint64_t bytes_among(const struct window *window, uint8_t first, uint8_t last);

/* Writes the places of all bits, each and `base`; places behind the last are overwritten, WINDOW in
 * all at the most. Gives the place behind the last. */
INLINE size_t *write_places(size_t *ends, uint64_t bits, size_t base);
INLINE size_t *write_places_by_bit(size_t *ends, uint64_t bits, size_t base);

/* Text in other scripts is mostly of these ranges, so that no character of it is decoded. */
INLINE void classify_high(const struct window *window, struct high_masks *out)
{
    const uint64_t next = bytes_among(window, 0x80, 0xBF) >> 1; /* a continuation byte follows */
    const uint64_t next2 = next & next >> 1;
    const uint64_t c3 = bytes_among(window, 0xC3, 0xC3), d0 = bytes_among(window, 0xD0, 0xD0),
                   d1 = bytes_among(window, 0xD1, 0xD1),
                   e0 = bytes_among(window, 0xE3, 0xED) & next2;
    out->upper2 = out->lower2 = out->han3 = out->kana3 = out->hangul3 = out->punct3 = 0;
    if (c3) {
        const uint64_t upper = bytes_among(window, 0x80, 0x9E) >> 1;
        const uint64_t sign =
            (bytes_among(window, 0x97, 0x97) | bytes_among(window, 0xB7, 0xB7)) >> 1;
        out->upper2 = c3 & upper & ~sign;
        out->lower2 = c3 & next & ~upper & ~sign;
    }
    if (d0 | d1) {
        const uint64_t high = bytes_among(window, 0xB0, 0xBF) >> 1;
        out->upper2 |= d0 & next & ~high;
        out->lower2 |= (d0 & high) | (d1 & bytes_among(window, 0x80, 0x9F) >> 1);
    }
    if (e0) {
        const uint64_t e3 = e0 & bytes_among(window, 0xE3, 0xE3);
        out->han3 = (e0 & bytes_among(window, 0xE4, 0xE4) & bytes_among(window, 0xB8, 0xBF) >> 1) |
                    (e0 & bytes_among(window, 0xE5, 0xE9));
        out->hangul3 =
            (e0 & bytes_among(window, 0xEA, 0xEA) & bytes_among(window, 0xB0, 0xBF) >> 1) |
            (e0 & bytes_among(window, 0xEB, 0xEC)) |
            (e0 & bytes_among(window, 0xED, 0xED) & bytes_among(window, 0x80, 0x9D) >> 1);
        if (e3) {
            out->kana3 =
                (e3 & bytes_among(window, 0x81, 0x81) >> 1 & bytes_among(window, 0x81, 0xBF) >> 2) |
                (e3 & bytes_among(window, 0x82, 0x82) >> 1 &
                 (bytes_among(window, 0x80, 0x96) | bytes_among(window, 0xA1, 0xBF)) >> 2) |
                (e3 & bytes_among(window, 0x83, 0x83) >> 1 &
                 ~(bytes_among(window, 0xBB, 0xBB) >> 2));
            out->punct3 = e3 & bytes_among(window, 0x80, 0x80) >> 1 &
                          (bytes_among(window, 0x81, 0x83) | bytes_among(window, 0x88, 0x91)) >> 2;
        }
    }
}

INLINE uint64_t low_bits(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

INLINE uint64_t bit_or_none(unsigned flags, unsigned wanted, uint64_t bits)
{
    return (flags & wanted) ? bits : 0;
}

struct program {
    int cased;       /* words end where lower case meets upper case */
    int gpt2;        /* GPT-2: a space in front of any run, no prefix else, newlines are space */
    int most;        /* digits a piece; 0: all */
    int marks;       /* marks are letters */
    int contraction; /* 1: alone, 2: at the end of a word */
    int fold;        /* contractions in any case */
    int slash;       /* behind punctuation, / with the newlines */
    int han;         /* Kimi: letters of Han are pieces of their own */
    int deepseek;    /* deepseek_starts */
};

/* How a program sees a character that classify_high does not know. */
enum high_kind { HIGH_KNOWN, HIGH_HAN, HIGH_CJK, HIGH_ODD };

INLINE enum high_kind high_kind_of(const struct program g, const struct unicode_table *t,
                                   const uint8_t *p, unsigned flags)
{
    uint32_t cp;
    if (g.deepseek) { /* what no alternative matches, and invalid bytes */
        if (!(flags & (CH_LETTER | CH_MARK | CH_NUMBER | CH_SPACE | CH_PUNCT))) {
            return HIGH_ODD;
        }
        (void)utf8_decode(p, p + 4, &cp);
        return is_deepseek_cjk(cp) ? HIGH_CJK : HIGH_KNOWN;
    }
    if (g.han) { /* radicals, numbers and marks of the script are also in other classes */
        (void)utf8_decode(p, p + 4, &cp);
        return !(unicode_value(t, cp) & UNICODE_HAN) ? HIGH_KNOWN
               : (flags & CH_LETTER)                 ? HIGH_HAN
                                                     : HIGH_ODD;
    }
    return HIGH_KNOWN;
}

/* Adds the characters above ASCII. */
INLINE void add_high(const struct program g, const struct unicode_table *t, const uint8_t *p,
                     const struct window *window, uint64_t high, struct masks *m)
{
    const int cased = g.cased;
    struct high_masks h;
    uint64_t second, third, three;
    classify_high(window, &h);
    if (g.deepseek) { /* its range ends at U+9FA5 */
        h.han3 &= ~(bytes_among(window, 0xE9, 0xE9) & bytes_among(window, 0xBE, 0xBF) >> 1);
    }
    three = h.han3 | h.kana3 | h.hangul3;
    second = (h.upper2 | h.lower2 | three | h.punct3) << 1;
    third = (three | h.punct3) << 2;
    m->rest |= second | third;
    high &= ~(second >> 1 | second | third);
    h.upper2 |= h.upper2 << 1;
    h.lower2 |= h.lower2 << 1;
    h.han3 |= h.han3 << 1 | h.han3 << 2;
    h.kana3 |= h.kana3 << 1 | h.kana3 << 2;
    three |= three << 1 | three << 2;
    if (g.deepseek) {
        m->cjk |= h.han3 | h.kana3;
    }
    if (g.han) {
        m->han |= h.han3;
        three &= ~h.han3;
    }
    if (cased) {
        m->upper |= h.upper2;
        m->lower |= h.lower2;
        m->caseless |= three;
    } else {
        m->lower |= h.upper2 | h.lower2 | three;
    }
    while (high) {
        unsigned i = (unsigned)__builtin_ctzll(high);
        size_t n;
        unsigned f = utf8_flags(t, p + i, p + WINDOW, &n);
        uint64_t bits;
        enum high_kind kind;
        if (i > WINDOW - 4 && n == 1) { /* cut by the window's end, or none: it starts the next */
            m->valid &= low_bits(i);
            return;
        }
        kind = i > WINDOW - 4 && (g.deepseek || g.han) ? HIGH_ODD : high_kind_of(g, t, p + i, f);
        if (kind == HIGH_ODD) { /* for the scanner, in the next window */
            m->valid &= low_bits(i);
            return;
        }
        bits = low_bits((unsigned)n) << i;
        high &= ~bits;
        m->rest |= bits & ~(UINT64_C(1) << i);
        if (kind == HIGH_HAN) {
            m->han |= bits;
            continue;
        }
        if (kind == HIGH_CJK) {
            m->cjk |= bits;
        }
        m->lower |= bit_or_none(f, cased ? CH_LOWER : CH_LETTER, bits);
        if (cased) {
            m->upper |= bit_or_none(f, CH_UPPER, bits);
            m->caseless |= bit_or_none(f, CH_CASELESS, bits);
        }
        m->mark |= bit_or_none(f, CH_MARK, bits);
        m->number |= bit_or_none(f, CH_NUMBER, bits);
        m->space |= bit_or_none(f, CH_SPACE, bits);
    }
}

/* Moves the bits of last bytes to the first bytes of their characters. */
INLINE uint64_t to_first(uint64_t bits, uint64_t rest)
{
    for (int k = 0; rest && k < 3; k++) {
        bits = (bits & ~rest) | (bits & rest) >> 1;
    }
    return bits;
}

/* The place behind each character whose first byte has a bit. */
INLINE uint64_t behind(uint64_t bits, uint64_t rest)
{
    bits <<= 1;
    for (int k = 0; rest && k < 3; k++) {
        bits = (bits & ~rest) | (bits & rest) << 1;
    }
    return bits;
}

/* The run of ones in `of` from each bit of `from` on; `from` is a part of `of`. */
INLINE uint64_t flood(uint64_t from, uint64_t of)
{
    for (unsigned k = 1; k < 64; k *= 2) {
        from |= of & from << k;
        of &= of << k;
    }
    return from;
}

/* What stands behind the last newline of white space is apart from it. */
INLINE uint64_t behind_newlines(const struct masks *m)
{
    const uint64_t plain = m->space & ~m->newline;
    uint64_t after = plain & m->newline << 1, bits = (after + plain) & ~plain & m->newline;
    while (after && bits) {
        uint64_t below = after & ((bits & -bits) - 1);
        if (below) {
            after &= ~(UINT64_C(1) << (63 - __builtin_clzll(below)));
        }
        bits &= bits - 1;
    }
    return after;
}

/* Every third digit of a run. Those of more than one byte are for the scanner: *known gets less. */
INLINE uint64_t digit_starts(const struct masks *m, uint64_t *known)
{
    const uint64_t number = m->number, wide = number & m->rest;
    const uint64_t third = number & number << 1 & number << 2 & number << 3;
    uint64_t bits = number & ~(number << 1), starts = bits;
    if (wide) {
        uint64_t below = ~number & ((wide & -wide) - 1);
        *known &= low_bits(below ? 65u - (unsigned)__builtin_clzll(below) : 1u);
    }
    for (bits = bits << 3 & third; bits; bits = bits << 3 & third) {
        starts |= bits;
    }
    return starts;
}

/* White space that reaches the end of the window may go on: what is known without it. */
INLINE uint64_t without_open_space(const struct masks *m, uint64_t space)
{
    const uint64_t last = m->valid & ~(m->valid >> 1), other = m->valid & ~space;
    return !(space & last) ? UINT64_MAX
           : other         ? low_bits(65u - (unsigned)__builtin_clzll(other))
                           : 1u;
}

/* First bytes of the pieces of the window, as far as *decided says (low bits). */
INLINE uint64_t starts_of(const struct program g, const struct masks *m, const uint8_t *p,
                          const uint8_t *end, uint64_t *decided)
{
    const uint64_t letter = m->upper | m->lower | m->caseless | (g.marks || g.cased ? m->mark : 0);
    const uint64_t number = m->number, rest = m->rest;
    const uint64_t han = g.han ? m->han : 0;
    const uint64_t punct = m->valid & ~(letter | number | m->space | han);
    uint64_t space = m->space, word = letter & ~(letter << 1), run = punct & ~(punct << 1);
    uint64_t alone, starts, known = m->valid, tail, bits;

    if (g.cased) {
        /* A mark behind no letter may be punctuation, and capitals behind a caseless letter may
         * belong to its piece: for the scanner. */
        bits = (m->mark & ~rest & ~(letter << 1)) | (m->upper & (m->caseless | m->mark) << 1);
        if (bits) {
            known &= (bits & -bits) - 1;
        }
    }
    if (!g.gpt2) {
        bits = m->newline & punct << 1; /* newlines behind punctuation are part of it */
        if (bits) {
            if (g.slash && (m->slash & m->newline << 1)) {
                bits = flood(bits, m->newline | m->slash);
                run = punct & ~bits;
                run &= ~(run << 1);
                space &= ~bits;
            } else {
                space &= ~(m->newline & ~(m->newline + bits));
            }
        }
    }
    /* The blank that stands before a run of punctuation is its first character. */
    alone = run & ~(m->blank << 1);
    tail = to_first(m->space & (g.gpt2 ? UINT64_MAX : ~m->newline) & ~(m->space >> 1), rest);
    starts = (space & ~(space << 1)) | tail | alone;
    if (g.gpt2) {
        word &= ~(m->blank << 1);
        starts |= number & ~(number << 1) & ~(m->blank << 1);
    } else {
        starts |= behind_newlines(m);
        word &= ~((m->space & ~m->newline) << 1) & ~behind(alone, rest);
        if (g.most == 1) {
            starts |= number & ~rest;
        } else if (number) {
            starts |= digit_starts(m, &known);
        }
    }
    if (g.cased) {
        starts |= m->upper & ~rest & m->lower << 1;
    }
    starts |= word | (han & ~(han << 1));
    if (g.contraction) {
        for (bits = m->quote & alone & letter >> 1; bits; bits &= bits - 1) {
            unsigned at = (unsigned)__builtin_ctzll(bits), to;
            int behind_word = at > 0 && (letter >> (at - 1) & 1);
            const uint8_t *q;
            if (g.contraction == 2 && !behind_word) {
                continue;
            }
            q = contraction(p + at, end, g.fold);
            to = (unsigned)(q - p);
            if (to == at) {
                continue;
            }
            starts &= ~(low_bits(to) & ~low_bits(at + 1));
            if (g.contraction == 2) {
                starts &= ~(UINT64_C(1) << at);
                if (to < WINDOW && (m->quote >> to & 1)) {
                    known &= low_bits(to + 1); /* one contraction a word */
                    bits = 0;
                }
            }
            if (to < WINDOW) {
                starts |= UINT64_C(1) << to;
            }
            if (bits == 0) {
                break;
            }
        }
    }
    bits = m->valid & ~(m->valid >> 1);
    if (g.contraction == 2 && (m->quote & letter << 1 & bits)) {
        known &= bits - 1; /* the letter behind it is not in sight */
    }
    known &= without_open_space(m, space);
    *decided = known;
    return (starts & known) | 1u;
}

/* The three splits of DeepSeek V3 at once (pretoken_next_deepseek.h): what the first two cut out
 * ends the text for the third. */
INLINE uint64_t deepseek_starts(const struct masks *m, uint64_t *decided)
{
    const uint64_t letter = m->lower | m->mark, outside = m->number | m->cjk;
    const uint64_t punct = m->valid & ~(letter | m->space | outside);
    const uint64_t plain = m->space & ~m->newline, run = punct & ~(punct << 1);
    const uint64_t inside = m->cjk & letter, sign = m->cjk & ~letter;
    uint64_t space = m->space, word = letter & ~m->cjk, known = m->valid, starts, alone, joined;
    uint64_t bits = m->newline & punct << 1;
    if (bits) { /* newlines behind punctuation are part of it */
        space &= ~(m->newline & ~(m->newline + bits));
    }
    alone = run & ~(m->blank << 1);
    /* One ASCII sign joins the ASCII letters behind it, and those alone. */
    joined = (alone & m->alpha >> 1) << 1;
    starts = (joined + m->alpha) & ~m->alpha & word;
    /* White space keeps its last character to itself unless the text ends there. */
    starts |= to_first(plain & ~(m->space >> 1) & ~(outside >> 1), m->rest);
    starts |= (space & ~(space << 1)) | alone | behind_newlines(m);
    starts |= word & ~(word << 1) & ~(plain << 1) & ~joined;
    starts |= (inside & ~(inside << 1)) | (sign & ~(sign << 1));
    if (m->number) {
        starts |= digit_starts(m, &known);
    }
    known &= without_open_space(m, space);
    *decided = known;
    return (starts & known) | 1u;
}

/* write_places, 16 at once, which is what most windows of a text with words have. */
INLINE size_t *write_places_by_bit(size_t *ends, uint64_t bits, size_t base)
{
    size_t *last = ends + __builtin_popcountll(bits);
    do {
        for (int k = 0; k < 16; k++) {
            ends[k] = base + (size_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
            bits &= bits - 1;
        }
        ends += 16;
    } while (__builtin_expect(ends < last, 0));
    return last;
}

typedef const uint8_t *next_fn(const struct unicode_table *t, const uint8_t *p, const uint8_t *end);

INLINE size_t fill_by_masks(const struct program g, next_fn *next, const struct unicode_table *t,
                            const uint8_t *text, size_t len, size_t *pos, size_t *ends, size_t cap)
{
    const uint8_t *p = text + *pos, *end = text + len;
    size_t *at = ends;
    while (end - p >= (ptrdiff_t)WINDOW) {
        struct window window;
        struct ascii_masks a;
        struct masks m;
        uint64_t starts, known, odd = 0;
        if ((size_t)(at - ends) + WINDOW + 8 > cap) {
            *pos = (size_t)(p - text);
            return (size_t)(at - ends);
        }
        window_load(p, &window);
        classify(&window, &a);
        m.upper = g.cased ? a.upper : 0;
        m.lower = g.cased ? a.lower : a.lower | a.upper;
        m.caseless = m.mark = m.rest = m.han = m.cjk = 0;
        m.alpha = a.lower | a.upper;
        m.number = a.number;
        m.space = a.space;
        m.newline = a.newline;
        m.blank = a.blank;
        m.quote = a.quote;
        m.slash = a.slash;
        m.valid = UINT64_MAX;
        if (g.deepseek) { /* what no alternative matches: for the scanner */
            odd = (bytes_among(&window, 0, 0x1F) & ~a.space) | bytes_among(&window, 0x7F, 0x7F);
            m.valid = odd ? (odd & -odd) - 1 : UINT64_MAX;
        }
        if (__builtin_expect((a.high | odd) != 0, 0)) {
            add_high(g, t, p, &window, a.high, &m);
            m.upper &= m.valid;
            m.lower &= m.valid;
            m.caseless &= m.valid;
            m.mark &= m.valid;
            m.rest &= m.valid;
            m.number &= m.valid;
            m.space &= m.valid;
            m.newline &= m.valid;
            m.blank &= m.valid;
            m.quote &= m.valid;
            m.slash &= m.valid;
            m.han &= m.valid;
            m.alpha &= m.valid;
            m.cjk &= m.valid;
        }
        starts = g.deepseek ? deepseek_starts(&m, &known) : starts_of(g, &m, p, end, &known);
        starts &= ~UINT64_C(1);
        if (__builtin_expect(starts == 0, 0)) {
            p = next(t, p, end);
            *at++ = (size_t)(p - text);
            continue;
        }
        at = write_places(at, starts, (size_t)(p - text));
        p += 63 - __builtin_clzll(starts);
    }
    while ((size_t)(at - ends) < cap && p < end) {
        p = next(t, p, end);
        *at++ = (size_t)(p - text);
    }
    *pos = (size_t)(p - text);
    return (size_t)(at - ends);
}

#define PROGRAM(name, call, ...)                                                              \
    static const uint8_t *name##_next(const struct unicode_table *t, const uint8_t *p,        \
                                      const uint8_t *end)                                     \
    {                                                                                         \
        return call;                                                                          \
    }                                                                                         \
    static size_t name##_fill(const struct unicode_table *t, const uint8_t *text, size_t len, \
                              size_t *pos, size_t *ends, size_t cap)                          \
    {                                                                                         \
        const struct program g = { __VA_ARGS__ };                                             \
        return fill_by_masks(g, name##_next, t, text, len, pos, ends, cap);                   \
    }

PROGRAM(mask_gpt2, gpt2_next(t, p, end), .gpt2 = 1, .contraction = 1)
PROGRAM(mask_cl100k, cl100k_next(t, p, end, 3, 0, 1), .most = 3, .contraction = 1, .fold = 1)
PROGRAM(mask_llama3, cl100k_next(t, p, end, 3, 0, 0), .most = 3, .contraction = 1, .fold = 1)
PROGRAM(mask_qwen2, cl100k_next(t, p, end, 1, 0, 0), .most = 1, .contraction = 1, .fold = 1)
PROGRAM(mask_qwen35, cl100k_next(t, p, end, 1, 1, 0), .most = 1, .marks = 1, .contraction = 1,
        .fold = 1)
PROGRAM(mask_o200k, o200k_next(t, p, end, 3, 1), .cased = 1, .most = 3, .contraction = 2, .fold = 1,
        .slash = 1)
PROGRAM(mask_tekken, o200k_next(t, p, end, 1, 0), .cased = 1, .most = 1, .slash = 1)
PROGRAM(mask_kimi, kimi_next(t, p, end), .cased = 1, .most = 3, .contraction = 2, .fold = 1,
        .han = 1)
PROGRAM(mask_deepseek, deepseek_next(t, p, end), .most = 3, .marks = 1, .deepseek = 1)

#define PROGRAM_TABLE                                                                          \
    {                                                                                          \
        mask_gpt2_fill, mask_cl100k_fill, mask_llama3_fill, mask_qwen2_fill, mask_qwen35_fill, \
            mask_o200k_fill, mask_tekken_fill, mask_kimi_fill, mask_deepseek_fill              \
    }

#endif
