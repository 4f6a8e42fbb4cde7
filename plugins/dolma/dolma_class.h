/* dolma_class.h - the character classes of Python's `regex` package, which some of Dolma's taggers
 * use where others use `re`.
 *
 * Depends on the generated dolma_class_data.h. Read-only. */
#ifndef DOLMA_CLASS_H
#define DOLMA_CLASS_H

#include <stdbool.h>
#include <stdint.h>

bool dolma_is_word(uint32_t cp);  /* \w */
bool dolma_is_punct(uint32_t cp); /* [[:punct:]] */
bool dolma_is_space(uint32_t cp); /* \s: without U+001C to U+001F, which `re` and str.split count */

#endif
