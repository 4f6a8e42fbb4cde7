/* text_simplify.h — lower-casing, and datatrove's simplify_text (the normal form before hashing).
 *
 * Depends on text_buffer.h and libutf8proc (case mapping, canonical decomposition).
 */
#ifndef TEXT_SIMPLIFY_H
#define TEXT_SIMPLIFY_H

#include "text/text_buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Full Unicode lower-casing as Python's str.lower(): with the final sigma, İ to i + U+0307.
 * *out is cleared first. Ill-formed bytes become U+FFFD. */
TEXT_MUST_CHECK int32_t text_lower(const char *text, size_t len, struct text_buffer *out,
                                   struct sluice_error *err);

/* Bits for text_simplify's steps, in their order. */
enum text_simplify_flags {
    TEXT_SIMPLIFY_LOWER = 1,       /* text_lower */
    TEXT_SIMPLIFY_NUMBERS = 2,     /* \p{Nd}+([.,،٫⎖⎗⎘]\p{Nd}+)? to "0" */
    TEXT_SIMPLIFY_PUNCTUATION = 4, /* each TEXT_PUNCTUATION to a space */
    TEXT_SIMPLIFY_WHITESPACE = 8,  /* strip, runs of white space to one space */
    TEXT_SIMPLIFY_DIACRITICS = 16, /* NFD without category Mn */
    TEXT_SIMPLIFY_ALL = 31         /* datatrove's default; a last strip follows in every case */
};

/* datatrove 0.10's utils/text.py simplify_text, exactly, for Unicode 15. *out is cleared first. out
 * must not hold text. Ill-formed bytes become U+FFFD. */
TEXT_MUST_CHECK int32_t text_simplify(const char *text, size_t len, uint32_t flags,
                                      struct text_buffer *out, struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
