/* text_utf8.h — UTF-8: validate, decode, step, count.
 *
 * Depends on libc only. Promises: no read outside [text, text + len), any bytes accepted.
 */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_REPLACEMENT 0xFFFDu /* what an ill-formed byte decodes to */

/* Strict UTF-8 (Unicode 15, table 3-7): no overlong forms, surrogates or values above U+10FFFF.
 * Returns true when well-formed; otherwise false and the offset of the first ill-formed sequence
 * in *bad_at (may be NULL). */
bool text_utf8_valid(const char *text, size_t len, size_t *bad_at);

/* True when every byte is below 0x80. */
bool text_utf8_is_ascii(const char *text, size_t len);

/* Number of code points of well-formed UTF-8 (bytes that are not continuation bytes). */
size_t text_utf8_count(const char *text, size_t len);

/* Decodes the code point at byte offset `at` < len into *cp; returns its length in bytes (1 to 4).
 * An ill-formed sequence gives TEXT_REPLACEMENT and length 1. */
size_t text_utf8_decode(const char *text, size_t len, size_t at, uint32_t *cp);

/* Byte offset after the code point at `at`; `len` at the end. */
size_t text_utf8_next(const char *text, size_t len, size_t at);

/* Byte offset of the code point that ends at `at` (0 when at is 0). *cp (may be NULL) receives it;
 * an ill-formed sequence gives TEXT_REPLACEMENT and steps one byte. */
size_t text_utf8_prev(const char *text, size_t at, uint32_t *cp);

/* Writes cp as UTF-8 into out (room for 4 bytes); returns the length. Surrogates and values above
 * U+10FFFF are written as TEXT_REPLACEMENT. */
size_t text_utf8_encode(uint32_t cp, char *out);

#ifdef __cplusplus
}
#endif

#endif
