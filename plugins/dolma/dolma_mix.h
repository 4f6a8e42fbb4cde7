/* dolma_mix.h - an instance of dolma_mix: what dolma_mix.c reads from the options, and mix_rows.c
 * judges documents by. */
#ifndef DOLMA_MIX_H
#define DOLMA_MIX_H

#include <sluice_arrays.h>
#include <stdbool.h>

#include "jsonpath.h"

struct mix_config {
    struct sluice_list include, exclude, replace, known;
    int64_t min_text_length;
    int32_t syntax;
    uint8_t unchecked;
};

struct mix_replacement {
    struct jsonpath *path;
    double min, max;
    char *text;
};

struct mix {
    const struct mix_config *config;
    struct jsonpath **include, **exclude;
    struct mix_replacement *replace;
    size_t n_replace;
    int32_t metadata, attributes; /* children, or -1 */
    bool whole;                   /* a rule looks at more than the attributes */
};

/* "out of memory" */
sluice_status mix_nomem(struct sluice_error *err);

/* The stage's functions for rows; shared is a struct mix. */
sluice_status mix_worker_open(void *shared, void **out, struct sluice_error *err);
void mix_worker_close(void *state);
sluice_status mix_process(void *state, const struct sluice_batch *batch, struct sluice_emit *emit,
                          struct sluice_error *err);

#endif
