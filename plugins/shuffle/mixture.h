/* How much of each source a mixture takes, and where in the order of hashes it stops. Arithmetic
 * alone: no rows, no I/O. Depends on sluice.h.
 *
 * Sizes are in the unit of the mixture (documents, bytes, tokens) and below 2^53. */
#ifndef MIXTURE_H
#define MIXTURE_H

#include <sluice.h>
#include <stdbool.h>

#define MIXTURE_EPOCHS_MAX 64
#define MIXTURE_SIZE_MAX ((uint64_t)1 << 53)
#define MIXTURE_SOURCE_MAX (MIXTURE_SIZE_MAX / MIXTURE_EPOCHS_MAX) /* 2^47 */

enum mixture_mode {
    MIXTURE_WEIGHTS, /* shares of the output */
    MIXTURE_EPOCHS,  /* how often each source goes by */
    MIXTURE_EACH,    /* so much of each source, or all of it */
};

struct mixture_goal {
    enum mixture_mode mode;
    struct sluice_map values; /* weights or epochs by source; none: everything once */
    uint64_t total;           /* weights: size of the output; 0: as much as max_epochs allow */
    uint64_t each;
    double max_epochs;
};

struct mixture_source {
    char *name;
    uint64_t key; /* hash of the name */
    uint64_t documents, size;
    uint64_t target;      /* of the output */
    uint64_t whole, rest; /* target = whole * size + rest */
};

/* What can be said of the numbers before any document is counted. */
sluice_status mixture_check(const struct mixture_goal *, struct sluice_error *);

/* Fills in targets. SLUICE_E_CONFIG: a source that is named is absent or empty, one that is present
 * is not named, a number is none, or there is not enough of a source. */
sluice_status mixture_targets(const struct mixture_goal *, struct mixture_source *, size_t n,
                              struct sluice_error *);

/* The documents of a source in ascending order of their hashes: the first of them make up `rest`,
 * as near as whole documents come to it. Documents of one hash (one id) go together. { .rest = … }
 * begins. */
struct mixture_cut {
    uint64_t rest;
    uint64_t taken, documents; /* out, final after end: size and number of those within the cut */
    uint64_t hash;             /* out: the last hash that is taken, if any is */
    bool any;
    uint64_t group_hash, group_size, group_documents;
    bool closed;
};
void mixture_cut_add(struct mixture_cut *, uint64_t hash, uint64_t size);
void mixture_cut_end(struct mixture_cut *);

/* How often a document of that hash is taken. */
uint32_t mixture_copies(uint64_t whole, bool any, uint64_t cut, uint64_t hash);

#endif
