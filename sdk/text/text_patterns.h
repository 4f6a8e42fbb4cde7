/* text_patterns.h — many byte strings searched for at once: one automaton (Aho and Corasick 1975)
 * instead of a search a word.
 *
 * Depends on text_span.h. An automaton is read-only once built and used from many threads.
 * Promises: time linear in the text and the matches, memory known before it is used
 * (text_patterns_memory), the same matches whichever form (dense or sparse) the automaton took.
 */
#ifndef TEXT_PATTERNS_H
#define TEXT_PATTERNS_H

#include "text/text_gopher.h" /* struct text_string */
#include "text/text_span.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct text_patterns; /* opaque */

#define TEXT_PATTERNS_CASELESS 1u /* ASCII letters match in either case */
#define TEXT_PATTERNS_LONGEST 2u  /* of leftmost matches the longest, not the first given */

/* Where a pattern was found: bytes [begin, end), and its number among those given. */
struct text_pattern_match {
    size_t begin, end;
    uint32_t pattern;
};

/* Bytes of table up to which an automaton is dense (a table lookup a byte); a larger one is sparse,
 * several times slower and about 40 bytes a state. 0 as dense_limit means this. */
#define TEXT_PATTERNS_DENSE ((size_t)32 << 20)

/* Builds an automaton of n patterns (borrowed for the call), each of at least one byte; equal ones
 * are found under the smallest number. *out is NULL when it fails: SLUICE_E_CONFIG (an empty
 * pattern, over 2^31 bytes in all), SLUICE_E_NOMEM. */
TEXT_MUST_CHECK int32_t text_patterns_build(const struct text_string *patterns, size_t n,
                                            uint32_t flags, size_t dense_limit,
                                            struct text_patterns **out, struct sluice_error *err);
void text_patterns_destroy(struct text_patterns *patterns);

/* Bytes of memory it holds; states of the automaton. */
size_t text_patterns_memory(const struct text_patterns *patterns);
size_t text_patterns_states(const struct text_patterns *patterns);

/* Whether any pattern is in the text: the end of the match that ends first goes to *end (may be
 * NULL). */
bool text_patterns_any(const struct text_patterns *patterns, const char *text, size_t len,
                       size_t *end);

/* All matches, overlapping ones too, by their end; those of one end from the longest to the
 * shortest. Begin with text_patterns_scan, then call text_patterns_next until it says false. */
struct text_patterns_scan {
    const struct text_patterns *patterns;
    const char *text;
    size_t len, at;
    uint32_t state, pending; /* pending: the state whose matches are still to be given */
};
void text_patterns_scan(struct text_patterns_scan *scan, const struct text_patterns *patterns,
                        const char *text, size_t len);
bool text_patterns_next(struct text_patterns_scan *scan, struct text_pattern_match *match);

/* The leftmost match at or behind `from`: of those with the smallest begin the one whose pattern
 * was given first (the longest with TEXT_PATTERNS_LONGEST), as a regular expression of
 * alternatives. */
bool text_patterns_leftmost(const struct text_patterns *patterns, const char *text, size_t len,
                            size_t from, struct text_pattern_match *match);

#ifdef __cplusplus
}
#endif

#endif
