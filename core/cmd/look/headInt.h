/* Private to sluice head: what head.c and head_tokens.c share. */
#ifndef SLUICE_CMD_HEADINT_H
#define SLUICE_CMD_HEADINT_H

#include "cmd/look/look.h"
#include "store/snapshot.h"

struct head {
    char *dir;
    struct snapshot *snapshot;
    const char *run, *tokenizer; /* as given, or NULL */
    uint64_t n, seed;
    bool random, tokens, json;
    size_t columns; /* of a line */
};

/* The rows to show: ascending row numbers of `total`, the first n or n at random. *rows is given
 * (free()). */
sluice_status head_rows(const struct head *, uint64_t total, uint64_t **rows, size_t *n,
                        struct sluice_error *) MUST_USE;

/* Rows of a dataset of .bin and .idx files. */
sluice_status head_tokens(const struct head *, struct sluice_error *) MUST_USE;

#endif
