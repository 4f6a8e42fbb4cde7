/* dolma_out.h - attributes of one document as Dolma writes them: "experiment__tagger__type":
 * [[start, end, score], ...].
 *
 * Owns the text while it is made; depends on sluice_arrays.h. Types come out in the order of their
 * first span, scores rounded to five digits as Python's round does and written so that they read
 * back equal. One user at a time. A struct of zeros is empty. */
#ifndef DOLMA_OUT_H
#define DOLMA_OUT_H

#include <sluice_arrays.h>
#include <stdbool.h>

#define DOLMA_NUMBER_MAX 48

/* The spans of one type, as JSON text without the outer brackets. */
struct dolma_type {
    const char *name; /* borrowed, a constant of a tagger */
    struct sluice_bytes spans;
};

struct dolma_out {
    struct sluice_bytes json; /* members, separated by commas, without braces */
    /* n in use, capacity made; their buffers are kept for the next tagger */
    struct dolma_type *types;
    size_t n, capacity;
    bool failed; /* memory was refused */
};

void dolma_out_deinit(struct dolma_out *out);

/* Forgets the last document. */
void dolma_out_reset(struct dolma_out *out);

/* One span, in characters; the score is not rounded yet. A start above INT64_MAX is a negative
 * one. */
void dolma_out_span(struct dolma_out *out, const char *type, uint64_t start, uint64_t end,
                    double score);

/* Ends a tagger: writes its types as members, each with this prefix ("experiment__tagger__"). */
void dolma_out_tagger(struct dolma_out *out, const char *prefix);

/* Begins with the members of a JSON object that is there already; false when it is none (nothing
 * and null are an empty one). */
bool dolma_out_members(struct dolma_out *out, const char *json, size_t n);

#endif
