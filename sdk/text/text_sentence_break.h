/* text_sentence_break.h — the Unicode property Sentence_Break of every code point (UAX #29, table
 * 4), of text_class.h's version of Unicode.
 *
 * Owns generated tables (text_sentence_break.c) and the rule `uax29` that cuts by them. No
 * state. */
#ifndef TEXT_SENTENCE_BREAK_H
#define TEXT_SENTENCE_BREAK_H

#include "text/text_span.h"

#ifdef __cplusplus
extern "C" {
#endif

enum text_sentence_break {
    TEXT_SB_OTHER,
    TEXT_SB_CR,
    TEXT_SB_LF,
    TEXT_SB_SEP,
    TEXT_SB_EXTEND,
    TEXT_SB_FORMAT,
    TEXT_SB_SP,
    TEXT_SB_LOWER,
    TEXT_SB_UPPER,
    TEXT_SB_OLETTER,
    TEXT_SB_NUMERIC,
    TEXT_SB_ATERM,
    TEXT_SB_SCONTINUE,
    TEXT_SB_STERM,
    TEXT_SB_CLOSE
};

/* Where the property changes: code point << 4 | value, ascending, the first for 0. */
extern const uint32_t text_sentence_break_starts[];
extern const size_t text_sentence_break_count;

/* The property of a code point up to U+10FFFF. */
enum text_sentence_break text_sentence_break(uint32_t cp);

/* The segments of UAX #29 between its sentence boundaries, all of the text, into *out (cleared
 * first). SLUICE_E_DATA when longer than TEXT_MAX. Time is linear in len. */
TEXT_MUST_CHECK int32_t text_sentence_segments(const char *text, size_t len, struct text_spans *out,
                                               struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
