/* bpe_error.h — writes the caller's error struct. Depends on: sluice.h. */
#ifndef TOKENIZE_BPE_ERROR_H
#define TOKENIZE_BPE_ERROR_H

#include "sluice.h"

/* Fills *err (NULL is fine) with a formatted message, cut to fit; gives `code`. */
int32_t bpe_fail(struct sluice_error *err, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int32_t bpe_fail_memory(struct sluice_error *err, const char *what);

#endif
