/* text_phrases.h — where phrases of a large list stand in a text.
 *
 * A list is made once and read from any number of threads. Found is what stands leftmost, of that
 * the longest phrase, and then on from its end: matches do not overlap. Both list and text are
 * looked at as code points; ill-formed bytes match themselves. Depends on text_class.h,
 * text_hash.h, utf8proc.
 *
 * How: every phrase is cut into tokens (with TEXT_PHRASES_WORDS its words and what stands between
 * them, else its code points), and the hash of each of its beginnings stands in one table, eight
 * bytes a slot. A search goes on from a token as long as there is such a beginning; a phrase that
 * is reached is compared byte by byte. So a text costs a hash and mostly one look into a filter a
 * token, whatever the number of phrases.
 */
#ifndef TEXT_PHRASES_H
#define TEXT_PHRASES_H

#include "text/text_buffer.h"
#include "text/text_gopher.h" /* struct text_string */
#include "text/text_span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum text_phrases_flag {
    /* A match neither begins nor ends inside of a word: a run of letters, numbers, their marks, and
     * _. */
    TEXT_PHRASES_WORDS = 1,
    /* Upper and lower case are the same: each code point stands for its simple lower case, where
     * that has as many bytes. */
    TEXT_PHRASES_FOLD = 2,
};

struct text_phrases;

/* Makes a list of n phrases, which are copied; those that are there twice, or empty, count once, or
 * not. SLUICE_E_CONFIG: more than 4 GiB of them; SLUICE_E_NOMEM. */
TEXT_MUST_CHECK int32_t text_phrases_create(const struct text_string *phrases, size_t n,
                                            uint32_t flags, struct text_phrases **out,
                                            struct sluice_error *err);
void text_phrases_destroy(struct text_phrases *); /* NULL is fine */
/* Phrases in the list, and bytes of memory that it takes. */
size_t text_phrases_count(const struct text_phrases *);
size_t text_phrases_bytes(const struct text_phrases *);

/* A search through one text. */
struct text_phrases_scan {
    const struct text_phrases *phrases;
    const char *text; /* in lower case, with TEXT_PHRASES_FOLD */
    size_t len, at;
    uint64_t steps, limit; /* tokens that were looked at, and the most that may be */
};

/* Begins at the first byte. scratch holds what the text becomes with TEXT_PHRASES_FOLD, until the
 * search ends; text is borrowed. limit is 64 a byte: a list in which phrases repeat themselves for
 * long, in a text that does so too, may need more. SLUICE_E_NOMEM. */
TEXT_MUST_CHECK int32_t text_phrases_begin(struct text_phrases_scan *, const struct text_phrases *,
                                           const char *text, size_t len,
                                           struct text_buffer *scratch, struct sluice_error *err);
/* The next match; false: there is none, or steps are above limit. */
bool text_phrases_next(struct text_phrases_scan *, struct text_span *match);
/* Whether the scan's whole text is a phrase of the list; the search does not move. */
bool text_phrases_has(const struct text_phrases_scan *);

#ifdef __cplusplus
}
#endif

#endif
