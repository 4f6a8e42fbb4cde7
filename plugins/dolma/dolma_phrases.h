/* dolma_phrases.h - what the C4 taggers look for in a whole document, with one automaton: bad words
 * and phrases, "lorem ipsum", "javascript".
 *
 * Depends on sdk/text. Read-only once made, for many threads. Compares as Python's str.lower()
 * does: ASCII letters, and the two characters outside ASCII whose lower case begins with an ASCII
 * letter. */
#ifndef DOLMA_PHRASES_H
#define DOLMA_PHRASES_H

#include "dolma_doc.h"

#define DOLMA_HAS_BAD_WORD 1u
#define DOLMA_HAS_LOREM_IPSUM 2u
#define DOLMA_HAS_JAVASCRIPT 4u      /* anywhere */
#define DOLMA_HAS_JAVASCRIPT_WORD 8u /* as a whitespace word */

struct dolma_phrases; /* opaque */

/* list: lines; one with a space is found anywhere, others as a whole whitespace word. May be NULL
 * (no bad words). Gives *out. */
TEXT_MUST_CHECK int32_t dolma_phrases_create(const char *list, size_t n, struct dolma_phrases **out,
                                             struct sluice_error *err);
void dolma_phrases_destroy(struct dolma_phrases *phrases);

/* DOLMA_HAS_* of a text into *bits. */
TEXT_MUST_CHECK int32_t dolma_phrases_find(const struct dolma_phrases *phrases, const char *text,
                                           size_t n, uint32_t *bits, struct sluice_error *err);

#endif
