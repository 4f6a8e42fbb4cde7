/* text_spacy_tables.h — the generated tables behind the word rule spacy-en, and their lookups.
 *
 * Private to sdk/text. Facts of spaCy's blank English pipeline (MIT licence), written by
 * gen_spacy.py. Promises: no read outside the tables or the given bytes.
 */
#ifndef TEXT_SPACY_TABLES_H
#define TEXT_SPACY_TABLES_H

#include "text/text_decode.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Classes of code points: the bits of text_spacy_class(). */
enum text_spacy_class {
    TEXT_SPACY_PREFIX = 1 << 0, /* a prefix by itself */
    TEXT_SPACY_SUFFIX = 1 << 1, /* a suffix by itself */
    TEXT_SPACY_INFIX = 1 << 2,  /* an infix by itself */
    TEXT_SPACY_ALPHA = 1 << 3,  /* the rules' letters, ideographs with them */
    TEXT_SPACY_LOWER = 1 << 4,  /* those in lower case or without case */
    TEXT_SPACY_UPPER = 1 << 5,  /* those in upper case or without case */
    TEXT_SPACY_QUOTE = 1 << 6,
    TEXT_SPACY_BEFORE_DOT = 1 << 7, /* a full stop behind it is a suffix */
    TEXT_SPACY_HOST = 1 << 8,       /* may begin and end a label of a host name */
    TEXT_SPACY_UNIT_END = 1 << 9,   /* last one of a unit or currency */
    TEXT_SPACY_MARK = 1 << 10,      /* ends a sentence */
};

/* A special case, a unit or currency, or a token of a pattern; one string may be several. */
struct text_spacy_string {
    uint16_t offset; /* in text_spacy_pool */
    uint8_t len;
    uint8_t parts;     /* tokens of the special case; 0 when it is none */
    uint16_t cut;      /* text_spacy_cuts[cut .. cut + parts) are their ends */
    uint16_t id : 15;  /* of the pattern token; 0 when it is none */
    uint16_t unit : 1; /* a suffix behind [0-9] */
};

#define TEXT_SPACY_TOP 272 /* 0x110000 >> 12 */
#define TEXT_SPACY_SLOTS 8192
#define TEXT_SPACY_FILTER 65536
#define TEXT_SPACY_LETTERS_BITS 15
#define TEXT_SPACY_LETTERS (1 << TEXT_SPACY_LETTERS_BITS)

extern const uint8_t text_spacy_top[TEXT_SPACY_TOP];
extern const uint16_t text_spacy_middle[];
extern const uint8_t text_spacy_last[];
extern const uint16_t text_spacy_sets[];
extern const uint16_t text_spacy_ascii[128];

extern const uint8_t text_spacy_pool[];
extern const uint8_t text_spacy_cuts[];
extern const struct text_spacy_string text_spacy_strings[]; /* from 1 */
extern const uint16_t text_spacy_slots[TEXT_SPACY_SLOTS];   /* index of a string, or 0 */
/* Bit hash >> 13 % TEXT_SPACY_FILTER is set for the hash of each string, and for few others. */
extern const uint64_t text_spacy_filter[TEXT_SPACY_FILTER / 64];
/* Of the strings of ASCII letters alone: bit text_spacy_letters_bit() of their first 8 bytes is
 * set, and few others. */
extern const uint64_t text_spacy_letters[TEXT_SPACY_LETTERS / 64];
/* Bit n is set when a string of n bytes begins, ends with that byte: cheaper than a hash. */
extern const uint32_t text_spacy_begins[256], text_spacy_ends[256];
extern const uint32_t text_spacy_longest, text_spacy_longest_unit; /* bytes, less than 32 */

/* Patterns: special cases as sequences of tokens. text_spacy_patterns[text_spacy_first[id] ..
 * text_spacy_first[id + 1]) holds those that begin with the token id, the shorter ones first: the
 * number of ids, the ids, and the index of the special case. */
extern const uint32_t text_spacy_ids; /* the highest id */
extern const uint16_t text_spacy_first[];
extern const uint16_t text_spacy_patterns[];
/* Bit a * text_spacy_pair_width + b: a stands right before b in some pattern. */
extern const uint32_t text_spacy_pair_width;
extern const uint8_t text_spacy_pairs[];

static inline uint32_t text_spacy_class(uint32_t cp)
{
    if (cp < 128) {
        return text_spacy_ascii[cp];
    }
    if (cp >= 0x110000) {
        return 0;
    }
    uint32_t middle = ((uint32_t)text_spacy_top[cp >> 12] << 6) + ((cp >> 6) & 63);
    uint32_t last = ((uint32_t)text_spacy_middle[middle] << 6) + (cp & 63);
    return text_spacy_sets[text_spacy_last[last]];
}

/* Up to 8 bytes as a number, the first one lowest. */
static inline uint64_t text_spacy_load(const unsigned char *p, size_t n)
{
    if (n >= 8) {
        return text_load64(p);
    }
    if (n >= 4) {
        uint64_t low =
            (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
        p += n - 4;
        uint64_t high =
            (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
        return low | high << (8 * (n - 4));
    }
    return n == 0 ? 0
                  : (uint64_t)p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) |
                        (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* The hash of a string of n bytes: low are its first bytes, up to 8; high its last 8 when it has
 * more, else 0. gen_spacy.py computes the same. */
static inline uint64_t text_spacy_mix(uint64_t low, uint64_t high, size_t n)
{
    uint64_t mixed = (low * 0x9E3779B97F4A7C15u) ^ ((high + n) * 0xC2B2AE3D27D4EB4Fu);
    return mixed ^ (mixed >> 32);
}

static inline uint64_t text_spacy_hash(const unsigned char *p, size_t n)
{
    return text_spacy_mix(text_spacy_load(p, n), n > 8 ? text_spacy_load(p + n - 8, 8) : 0, n);
}

/* Of the first bytes of a string, up to 8, as text_spacy_load gives them. gen_spacy.py computes the
 * same. */
static inline uint32_t text_spacy_letters_bit(uint64_t low)
{
    return (uint32_t)(low * 0x9E3779B97F4A7C15u >> (64 - TEXT_SPACY_LETTERS_BITS));
}

/* Whether a string of that hash may be in the table. */
static inline int text_spacy_maybe(uint64_t hash)
{
    uint64_t bit = hash >> 13 & (TEXT_SPACY_FILTER - 1);
    return (int)(text_spacy_filter[bit / 64] >> (bit % 64) & 1);
}

/* Whether p[0 .. n), n > 0, may be in the table, by its length and its ends. */
static inline int text_spacy_fits(const unsigned char *p, size_t n)
{
    return n < 32 && ((text_spacy_begins[p[0]] & text_spacy_ends[p[n - 1]]) >> n & 1) != 0;
}

/* The string p[0 .. n), whose hash is given; NULL when the table has none. */
static inline const struct text_spacy_string *text_spacy_find(const unsigned char *p, size_t n,
                                                              uint64_t hash)
{
    if (!text_spacy_maybe(hash)) {
        return NULL;
    }
    for (size_t slot = hash % TEXT_SPACY_SLOTS; text_spacy_slots[slot] != 0;
         slot = (slot + 1) % TEXT_SPACY_SLOTS) {
        const struct text_spacy_string *string = &text_spacy_strings[text_spacy_slots[slot]];
        if (string->len == n && memcmp(text_spacy_pool + string->offset, p, n) == 0) {
            return string;
        }
    }
    return NULL;
}

#endif
