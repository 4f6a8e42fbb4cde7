/* text_scan.h — the vectorised inner loops: bytes of a class, counts, a byte string.
 *
 * Private to sdk/text. Each loop has a portable version, which is the truth, and an AVX2 version
 * taken when the processor has it; both are visible for the tests. Promises: no read outside the
 * given range.
 */
#ifndef TEXT_SCAN_H
#define TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_SCAN_CHUNK 4096 /* most bytes a call that gives bits */
#define TEXT_SCAN_WORDS (TEXT_SCAN_CHUNK / 64)

#if defined(__x86_64__)
#define TEXT_SCAN_AVX2 1
#else
#define TEXT_SCAN_AVX2 0
#endif

/* Bit i % 64 of word i / 64 stands for byte i. Bits at and behind n are 0. */
struct text_scan_bits {
    uint64_t space[TEXT_SCAN_WORDS]; /* ASCII white space: 09-0D, 1C-20 */
    uint64_t lead[TEXT_SCAN_WORDS];  /* C2, E1, E2, E3: may begin white space outside ASCII */
    bool any_lead;
};

/* Classifies p[0 .. n), n <= TEXT_SCAN_CHUNK. */
void text_scan_space(const unsigned char *p, size_t n, struct text_scan_bits *bits);
void text_scan_space_portable(const unsigned char *p, size_t n, struct text_scan_bits *bits);

/* Bytes that may begin a line break: 0A-0D, 1C-1E, C2, E2. n <= TEXT_SCAN_CHUNK. */
void text_scan_breaks(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS]);
void text_scan_breaks_portable(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS]);

/* Newlines (0A). n <= TEXT_SCAN_CHUNK. */
void text_scan_newlines(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS]);
void text_scan_newlines_portable(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS]);

/* Offset of the first byte >= 0x80; n when there is none. */
size_t text_scan_ascii(const unsigned char *p, size_t n);
size_t text_scan_ascii_portable(const unsigned char *p, size_t n);

/* How many bytes are not UTF-8 continuation bytes (10xxxxxx). */
size_t text_scan_count(const unsigned char *p, size_t n);
size_t text_scan_count_portable(const unsigned char *p, size_t n);

/* Offset of the first needle (m >= 1 bytes) in p[0 .. n); n when there is none. */
size_t text_scan_find(const unsigned char *p, size_t n, const unsigned char *needle, size_t m);
size_t text_scan_find_portable(const unsigned char *p, size_t n, const unsigned char *needle,
                               size_t m);

/* Whether any of the parts, of three lower-case ASCII letters each, occurs in p[0 .. n) in letters
 * of either case. */
bool text_scan_folded(const unsigned char *p, size_t n, const unsigned char (*parts)[3],
                      size_t count);
bool text_scan_folded_portable(const unsigned char *p, size_t n, const unsigned char (*parts)[3],
                               size_t count);

#if TEXT_SCAN_AVX2
bool text_scan_folded_avx2(const unsigned char *p, size_t n, const unsigned char (*parts)[3],
                           size_t count);
void text_scan_space_avx2(const unsigned char *p, size_t n, struct text_scan_bits *bits);
void text_scan_newlines_avx2(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS]);
void text_scan_breaks_avx2(const unsigned char *p, size_t n, uint64_t bits[TEXT_SCAN_WORDS]);
size_t text_scan_ascii_avx2(const unsigned char *p, size_t n);
size_t text_scan_count_avx2(const unsigned char *p, size_t n);
size_t text_scan_find_avx2(const unsigned char *p, size_t n, const unsigned char *needle, size_t m);
#endif

#ifdef __cplusplus
}
#endif

#endif
