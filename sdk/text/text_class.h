/* text_class.h — classes of code points, as bit sets.
 *
 * Depends on the generated table text_tables.c (sdk/text/gen_tables.py from the Unicode Character
 * Database). Promises: constant time, any 32-bit value accepted (above U+10FFFF: no class).
 */
#ifndef TEXT_CLASS_H
#define TEXT_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_UNICODE_VERSION "15.0.0"

enum text_class {
    TEXT_LETTER = 1 << 0,        /* category L*: Python's str.isalpha */
    TEXT_SPACE = 1 << 1,         /* Python's str.isspace, str.split, re's \s: White_Space + 1C-1F */
    TEXT_DIGIT = 1 << 2,         /* category Nd: \p{Nd}, str.isdecimal */
    TEXT_NUMBER = 1 << 3,        /* category N* */
    TEXT_UPPER = 1 << 4,         /* Uppercase property */
    TEXT_LOWER = 1 << 5,         /* Lowercase property */
    TEXT_PUNCT = 1 << 6,         /* category P* */
    TEXT_SYMBOL = 1 << 7,        /* category S* */
    TEXT_NONSPACING = 1 << 8,    /* category Mn */
    TEXT_LINE_BREAK = 1 << 9,    /* Python's str.splitlines set */
    TEXT_PUNCTUATION = 1 << 10,  /* datatrove's PUNCTUATION (simplify_text turns it to a space) */
    TEXT_TERMINAL = 1 << 11,     /* datatrove's TERMINAL_PUNCTUATION (a line's end) */
    TEXT_SENTENCE_END = 1 << 12, /* Sentence_Terminal property, and U+2026 … */
    TEXT_CLOSER = 1 << 13, /* ASCII ' and ", categories Pe and Pf: may follow a sentence end */
    TEXT_CASED = 1 << 14,  /* Cased property */
    TEXT_CASE_IGNORABLE = 1 << 15, /* Case_Ignorable property */
    TEXT_PICTOGRAPH = 1 << 16,     /* Extended_Pictographic */
    TEXT_LOWERS = 1 << 17,         /* lower-casing changes it */
    TEXT_DECOMPOSES = 1 << 18,     /* canonical decomposition (NFD) changes it */
    TEXT_NON_STARTER = 1 << 19,    /* canonical combining class is not 0 */
    TEXT_FULL_STOP_CJK = 1 << 20,  /* sentence ends written without a space after: 。！？｡ */
};

#define TEXT_ALNUM (TEXT_LETTER | TEXT_NUMBER)                  /* Python's str.isalnum */
#define TEXT_PUNCTUATION_SET (TEXT_PUNCTUATION | TEXT_TERMINAL) /* datatrove's PUNCTUATION_SET */

/* Word_Break property of UAX #29, in bits 24 to 28 of text_classes(). */
enum text_word_break {
    TEXT_WB_OTHER,
    TEXT_WB_CR,
    TEXT_WB_LF,
    TEXT_WB_NEWLINE,
    TEXT_WB_EXTEND,
    TEXT_WB_ZWJ,
    TEXT_WB_REGIONAL_INDICATOR,
    TEXT_WB_FORMAT,
    TEXT_WB_KATAKANA,
    TEXT_WB_HEBREW_LETTER,
    TEXT_WB_ALETTER,
    TEXT_WB_SINGLE_QUOTE,
    TEXT_WB_DOUBLE_QUOTE,
    TEXT_WB_MIDNUMLET,
    TEXT_WB_MIDLETTER,
    TEXT_WB_MIDNUM,
    TEXT_WB_NUMERIC,
    TEXT_WB_EXTENDNUMLET,
    TEXT_WB_WSEGSPACE,
};

#define TEXT_WB_SHIFT 24

/* The set of classes (enum text_class) and the Word_Break value of cp. */
uint32_t text_classes(uint32_t cp);

/* The Word_Break value in a result of text_classes. */
enum text_word_break text_word_break(uint32_t classes);

/* Looks up a class by the name Lua scripts and options use: letter digit number alnum space upper
 * lower punct symbol punctuation terminal. Returns 0 for an unknown name. */
uint32_t text_class_by_name(const char *name, size_t len);

#ifdef __cplusplus
}
#endif

#endif
