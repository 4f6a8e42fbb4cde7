/* pretoken_unicode.h — character classes of Unicode 16.0, and UTF-8 decoding that survives any
 * bytes.
 *
 * Owns: the two-stage tables from code point to general category and to the flags that the scanners
 * test.
 * Depends on: nothing but libc. Promises: the same answers on every machine, whatever Unicode
 * version its libraries have. */
#ifndef TOKENIZE_PRETOKEN_UNICODE_H
#define TOKENIZE_PRETOKEN_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* General categories, in the order of pretoken_unicode.py. */
enum unicode_category {
    GC_CN,
    GC_LU,
    GC_LL,
    GC_LT,
    GC_LM,
    GC_LO,
    GC_MN,
    GC_MC,
    GC_ME,
    GC_ND,
    GC_NL,
    GC_NO,
    GC_PC,
    GC_PD,
    GC_PS,
    GC_PE,
    GC_PI,
    GC_PF,
    GC_PO,
    GC_SM,
    GC_SC,
    GC_SK,
    GC_SO,
    GC_ZS,
    GC_ZL,
    GC_ZP,
    GC_CC,
    GC_CF,
    GC_CO,
    GC_CS
};

/* A value of `values`: the category and two properties. */
#define UNICODE_CATEGORY 31u
#define UNICODE_SPACE 32u /* White_Space: what \s means, 25 code points */
#define UNICODE_HAN 64u   /* Script=Han */

/* A value of `flags`: what the scanners ask. Control, format, private and unassigned characters
 * have none. */
#define CH_UPPER 1u     /* Lu Lt */
#define CH_LOWER 2u     /* Ll */
#define CH_CASELESS 4u  /* Lm Lo */
#define CH_MARK 8u      /* M */
#define CH_NUMBER 16u   /* N */
#define CH_SPACE 32u    /* White_Space */
#define CH_PUNCT 64u    /* P S */
#define CH_NEWLINE 128u /* CR LF, which are CH_SPACE too */
#define CH_LETTER (CH_UPPER | CH_LOWER | CH_CASELESS)

#define UNICODE_BLOCKS (0x110000u >> 8)

struct unicode_table {
    uint8_t ascii[256]; /* flags of bytes below 0x80; 0 above */
    uint16_t block[UNICODE_BLOCKS];
    uint8_t *values; /* blocks of 256 */
    uint8_t *flags;  /* the same blocks */
    size_t n_blocks;
    uint32_t *starts; /* the runs of equal values: run k is starts[k] .. starts[k + 1] - 1 */
    size_t n_runs;
};

/* Fills caller's memory; deinit frees what hangs on it. Returns 0, or -1 without memory (nothing to
 * deinit then). */
int unicode_table_init(struct unicode_table *table);
void unicode_table_deinit(struct unicode_table *table);

/* `cp` must be below 0x110000. */
static inline uint8_t unicode_value(const struct unicode_table *table, uint32_t cp)
{
    return table->values[((size_t)table->block[cp >> 8] << 8) | (cp & 255u)];
}

static inline uint8_t unicode_flags(const struct unicode_table *table, uint32_t cp)
{
    return table->flags[((size_t)table->block[cp >> 8] << 8) | (cp & 255u)];
}

/* 1 for what `\w` is in Rust's regex crate: Alphabetic, M, Nd, Pc, Join_Control. */
int unicode_is_word(const struct unicode_table *table, uint32_t cp);

#define UTF8_INVALID \
    0x10FFFFu /* stands for a byte that is no UTF-8; itself a noncharacter without properties */

/* Decodes the character at p < end. Gives its length in bytes, 1 for a byte that begins no
 * character. */
static inline size_t utf8_decode(const uint8_t *p, const uint8_t *end, uint32_t *cp)
{
    uint32_t c = p[0];
    size_t left = (size_t)(end - p);
    if (c < 0x80) {
        *cp = c;
        return 1;
    }
    if (c >= 0xC2 && c < 0xE0 && left >= 2 && (p[1] & 0xC0) == 0x80) {
        *cp = (c & 31u) << 6 | (p[1] & 63u);
        return 2;
    }
    if (c >= 0xE0 && c < 0xF0 && left >= 3 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80) {
        uint32_t x = (c & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
        if (x >= 0x800 && (x < 0xD800 || x > 0xDFFF)) {
            *cp = x;
            return 3;
        }
    }
    if (c >= 0xF0 && c < 0xF5 && left >= 4 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80 &&
        (p[3] & 0xC0) == 0x80) {
        uint32_t x = (c & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
        if (x >= 0x10000 && x < 0x110000) {
            *cp = x;
            return 4;
        }
    }
    *cp = UTF8_INVALID;
    return 1;
}

/* The flags of the character at p < end, and its length in bytes. */
static inline unsigned utf8_flags(const struct unicode_table *table, const uint8_t *p,
                                  const uint8_t *end, size_t *n)
{
    uint32_t cp;
    if (*p < 0x80) {
        *n = 1;
        return table->ascii[*p];
    }
    *n = utf8_decode(p, end, &cp);
    return unicode_flags(table, cp);
}

#endif
