/* text_base64.h — base64 as RFC 4648 writes it: padded, one text for one value.
 *
 * Depends on libc only. Promises: decoding takes exactly what encoding gives; anything else (other
 * letters, white space, missing padding, bits behind the last byte that are not zero) is refused.
 */
#ifndef TEXT_BASE64_H
#define TEXT_BASE64_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that encoding n bytes writes. */
#define TEXT_BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Writes TEXT_BASE64_SIZE(n) bytes without a zero behind them; gives their number. */
size_t text_base64_encode(const void *data, size_t n, char *out);

/* Writes what the n bytes of text stand for (room for n / 4 * 3); gives the number of bytes, or
 * (size_t)-1 for what is no base64. */
size_t text_base64_decode(const char *text, size_t n, void *out);

#ifdef __cplusplus
}
#endif

#endif
