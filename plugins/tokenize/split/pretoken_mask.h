/* pretoken_mask.h — the known patterns as programs over 64-bit masks: 64 bytes of text are
 * classified at once, and where pieces begin is bit algebra.
 *
 * A window begins where a piece begins, so that no state is carried from one to the next: what a
 * window cannot decide (white space that reaches its end, a character that is cut) the next one
 * does, which starts at the last piece that this one knows. A piece that fills a window, and what
 * the algebra leaves out, goes through the scanners of pretoken_next.h.
 *
 * Owns: the choice by processor. Depends on: pretoken_scan.h. Promises: the cuts of the scalar
 * scanners (tests compare every kind with them and with PCRE2). */
#ifndef TOKENIZE_PRETOKEN_MASK_H
#define TOKENIZE_PRETOKEN_MASK_H

#include "split/pretoken_scan.h"

/* Bytes of text that are classified at once. */
#define WINDOW 64u

/* The families of patterns. */
enum pretoken_program {
    PROGRAM_GPT2,
    PROGRAM_CL100K, /* tiktoken's way: white space at the end of the text is one piece */
    PROGRAM_LLAMA3,
    PROGRAM_QWEN2,
    PROGRAM_QWEN35,
    PROGRAM_O200K,
    PROGRAM_TEKKEN,
    PROGRAM_KIMI,
    PROGRAM_DEEPSEEK, /* its three splits at once */
    PROGRAMS
};

/* How the bytes are classified. */
enum pretoken_kind {
    KIND_SCANNER, /* no masks at all */
    KIND_SCALAR,  /* masks, made byte by byte */
    KIND_AVX2,
    KIND_AVX512
};

/* The fastest kind that this processor has. */
enum pretoken_kind pretoken_kind_best(void);

/* NULL where this processor or build has no such kind. */
pretoken_fill *pretoken_mask_fill(enum pretoken_program program, enum pretoken_kind kind);

/* pretoken_scanner with the kind chosen; NULL where there is none of this kind. */
pretoken_fill *pretoken_scanner_of(const char *pattern, enum pretoken_kind kind, int *total);

/* pretoken_scanner_three with the kind chosen. */
pretoken_fill *pretoken_scanner_three_of(pretoken_fill *const fills[3], enum pretoken_kind kind);

/* The tables of the kinds, by program; NULL members where the build has none. */
extern pretoken_fill *const pretoken_mask_scalar[PROGRAMS];
extern pretoken_fill *const pretoken_mask_avx2[PROGRAMS];
extern pretoken_fill *const pretoken_mask_avx512[PROGRAMS];

#endif
