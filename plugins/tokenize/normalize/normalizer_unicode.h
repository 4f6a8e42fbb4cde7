/* normalizer_unicode.h — what tokenizers' normalizers and pre-tokenizers think of a code point.
 *
 * Owns: the two-stage tables, unpacked from the generated runs of normalizer_unicode_data.h (which
 * normalizer_unicode.py takes from the engine's own answers: its parts follow Unicode 8 to 17).
 * Depends on: libc. Promises: immutable once built; the same on every machine. */
#ifndef TOKENIZE_NORMALIZER_UNICODE_H
#define TOKENIZE_NORMALIZER_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* Flags of a value, in its low byte. */
#define NU_CONTROL 1u     /* BertNormalizer's clean_text drops it */
#define NU_NONSPACING 2u  /* BertNormalizer's strip_accents drops it */
#define NU_MARK 4u        /* StripAccents drops it */
#define NU_PUNCTUATION 8u /* Punctuation, BertPreTokenizer */
#define NU_NUMERIC 16u    /* Digits */
#define NU_WORD 32u       /* Whitespace's \w */
#define NU_INERT 64u      /* came after Unicode 9.0: never decomposed, composed or reordered */
#define NU_SPACE 128u     /* White_Space */

/* Grapheme_Cluster_Break and its relatives, in the high byte, in the order of the script. */
enum normalizer_grapheme {
    GRAPHEME_OTHER,
    GRAPHEME_CR,
    GRAPHEME_LF,
    GRAPHEME_CONTROL,
    GRAPHEME_EXTEND,
    GRAPHEME_ZWJ,
    GRAPHEME_SPACING,
    GRAPHEME_PREPEND,
    GRAPHEME_REGIONAL,
    GRAPHEME_L,
    GRAPHEME_V,
    GRAPHEME_T,
    GRAPHEME_LV,
    GRAPHEME_LVT,
    GRAPHEME_PICTOGRAPH,
    GRAPHEME_CONSONANT, /* Indic_Conjunct_Break=Consonant */
    GRAPHEME_LINKER,    /* Extend, Indic_Conjunct_Break=Linker */
    GRAPHEME_CONJUNCT   /* Extend, Indic_Conjunct_Break=Extend */
};

#define NU_BLOCKS (0x110000u >> 8)

struct normalizer_unicode {
    uint16_t block[NU_BLOCKS];
    uint16_t *values; /* blocks of 256: flags | grapheme << 8 */
    uint8_t *scripts; /* the same blocks: UnicodeScripts' number of the script, 0 for Any */
    size_t n_blocks;
};

/* Fills caller's memory; 0, or -1 without memory (nothing to deinit then). */
int normalizer_unicode_init(struct normalizer_unicode *table);
void normalizer_unicode_deinit(struct normalizer_unicode *table);
size_t normalizer_unicode_memory(const struct normalizer_unicode *table);

/* `cp` must be below 0x110000, here and below. */
static inline unsigned nu_value(const struct normalizer_unicode *table, uint32_t cp)
{
    return table->values[((size_t)table->block[cp >> 8] << 8) | (cp & 255u)];
}

static inline unsigned nu_script(const struct normalizer_unicode *table, uint32_t cp)
{
    return table->scripts[((size_t)table->block[cp >> 8] << 8) | (cp & 255u)];
}

/* The lower case of one code point, itself where it has none. U+0130 alone has two and is the
 * caller's. */
uint32_t nu_lower(uint32_t cp);

/* Writes a code point below 0x110000 that is no surrogate; gives 1 to 4. */
static inline size_t nu_encode(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0u | cp >> 6);
        out[1] = (char)(0x80u | (cp & 63u));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0u | cp >> 12);
        out[1] = (char)(0x80u | (cp >> 6 & 63u));
        out[2] = (char)(0x80u | (cp & 63u));
        return 3;
    }
    out[0] = (char)(0xF0u | cp >> 18);
    out[1] = (char)(0x80u | (cp >> 12 & 63u));
    out[2] = (char)(0x80u | (cp >> 6 & 63u));
    out[3] = (char)(0x80u | (cp & 63u));
    return 4;
}

#endif
