/* text_pieces.h — a text cut into pieces, and what is asked of all of them: which begin or end with
 * one of some strings or contain one, which is the longest.
 *
 * Depends on text_span.h, text_set.h. Pieces are spans of the text, ascending and apart, in a list
 * of the caller's. Functions that fill one clear it first and fail with SLUICE_E_DATA (text longer
 * than TEXT_MAX) or SLUICE_E_NOMEM. How often pieces occur: text_tally.h.
 */
#ifndef TEXT_PIECES_H
#define TEXT_PIECES_H

#include "text/text_gopher.h" /* struct text_string */
#include "text/text_set.h"
#include "text/text_span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Python's text.split(separator), separator_len >= 1: n separators give n + 1 pieces. */
TEXT_MUST_CHECK int32_t text_split_at(const char *text, size_t len, const char *separator,
                                      size_t separator_len, struct text_spans *out,
                                      struct sluice_error *err);

/* What stands between runs of characters of the set: no piece is empty. */
TEXT_MUST_CHECK int32_t text_split_between(const char *text, size_t len, const struct text_set *set,
                                           struct text_spans *out, struct sluice_error *err);

/* Which pieces stay in a list. */
enum text_pieces_drop {
    TEXT_DROP_NONE,
    TEXT_DROP_EMPTY,
    TEXT_DROP_BLANK /* empty, or white space (TEXT_SPACE) alone */
};

/* Strips each piece of white space (Python's strip), or of the characters of a set unless that is
 * NULL; then leaves out those that `drop` says. */
void text_pieces_strip(const char *text, struct text_spans *pieces, bool space,
                       const struct text_set *set, enum text_pieces_drop drop);

/* Where a needle is looked for. */
enum text_pieces_where { TEXT_AT_BEGIN, TEXT_AT_END, TEXT_ANYWHERE };

/* Writes the n pieces that have any of the needles there to out (room for n), in their order;
 * returns how many. An empty needle is in each. */
size_t text_pieces_having(const char *text, const struct text_span *pieces, size_t n,
                          const struct text_string *needles, size_t n_needles,
                          enum text_pieces_where where, struct text_span *out);

/* Code points of all pieces together, and of the longest one (0 without pieces). */
size_t text_pieces_chars(const char *text, const struct text_span *pieces, size_t n);
size_t text_pieces_longest(const char *text, const struct text_span *pieces, size_t n);

#ifdef __cplusplus
}
#endif

#endif
