/* text_set.h — sets of characters, written like the inside of a pattern's brackets.
 *
 * A set is characters and ranges, "a-zA-Z0-9_«»": a - at either end stands for itself, nothing is
 * escaped. Depends on text_span.h. A set is a value of the caller's, about 8 KiB, filled once by
 * text_set_parse and read from any number of threads. Any bytes are memory-safe to look in;
 * ill-formed ones count as TEXT_REPLACEMENT each.
 */
#ifndef TEXT_SET_H
#define TEXT_SET_H

#include "text/text_span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_SET_RANGES 1024 /* most ranges outside ASCII */

struct text_set {
    bool ascii[128];
    size_t count;                        /* ranges in use */
    uint32_t ranges[TEXT_SET_RANGES][2]; /* [first, last] outside ASCII: ascending, apart */
};

/* Reads a set of len bytes of UTF-8. SLUICE_E_CONFIG: a range that ends before it begins, or more
 * ranges than a set holds. */
TEXT_MUST_CHECK int32_t text_set_parse(const char *written, size_t len, struct text_set *set,
                                       struct sluice_error *err);

/* Whether the code point is in the set. */
bool text_set_has(const struct text_set *set, uint32_t cp);

/* How many code points of the text are in the set. */
size_t text_set_count(const struct text_set *set, const char *text, size_t len);

/* The span of the text without what is in the set at its begin and end; it may come back empty. */
struct text_span text_set_strip(const struct text_set *set, const char *text,
                                struct text_span span);

#ifdef __cplusplus
}
#endif

#endif
