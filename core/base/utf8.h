/* Strict UTF-8 validation, and texts cut between characters. Depends on libc only. Thread-safe. */
#ifndef SLUICE_BASE_UTF8_H
#define SLUICE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* True when the n bytes are well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms,
 * surrogates or values above U+10FFFF; a sequence cut by the end is ill-formed). NUL bytes are
 * fine. Reads nothing outside [text, text + n); text may be NULL when n is 0. Uses AVX2 where
 * the processor has it; the result never depends on that. */
bool utf8_valid(const char *text, size_t n);

/* The plain version, the truth that tests compare with. */
bool utf8_valid_scalar(const char *text, size_t n);

/* How much of the n bytes is left when at most `most` are kept and no character is cut: no more
 * than three bytes less. */
size_t utf8_cut(const char *text, size_t n, size_t most);

#endif
