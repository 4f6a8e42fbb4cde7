/* text_lines.h — lines and paragraphs of a text, as spans; stripping.
 *
 * Depends on text_span.h, text_class.h. Each function clears *out first and fails with
 * SLUICE_E_DATA (text longer than TEXT_MAX) or SLUICE_E_NOMEM.
 */
#ifndef TEXT_LINES_H
#define TEXT_LINES_H

#include "text/text_span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Python's str.splitlines(): ends are \n \r \r\n \v \f \x1c \x1d \x1e U+0085 U+2028 U+2029, not
 * part of the spans; an end at the end of the text opens no further line; "" has no lines. */
TEXT_MUST_CHECK int32_t text_splitlines(const char *text, size_t len, struct text_spans *out,
                                        struct sluice_error *err);

/* Python's text.split("\n"): n newlines give n + 1 spans; "" gives one empty span. */
TEXT_MUST_CHECK int32_t text_split_newline(const char *text, size_t len, struct text_spans *out,
                                           struct sluice_error *err);

/* Python's re.split(r"\n{min,}", text) for min >= 1: runs of at least `min` newlines separate; may
 * give "" at either end. min = 1: Gopher's lines; min = 2 on a stripped text: its paragraphs. */
TEXT_MUST_CHECK int32_t text_split_newlines(const char *text, size_t len, size_t min,
                                            struct text_spans *out, struct sluice_error *err);

/* The span without TEXT_SPACE code points at its begin and end (Python's str.strip); empty spans
 * come back empty, somewhere inside. The span must lie in the text. */
struct text_span text_strip(const char *text, struct text_span span);
struct text_span text_lstrip(const char *text, struct text_span span);
struct text_span text_rstrip(const char *text, struct text_span span);

#ifdef __cplusplus
}
#endif

#endif
