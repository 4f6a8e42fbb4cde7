/* model_check.h - whether bytes are a fastText model that the library can load and use without
 * harm.
 *
 * Depends on libc. The library believes what a file says: lengths, counts, indices. This reads the
 * whole file first, in the format that fastText 0.9.2 writes (versions 11 and 12), and refuses what
 * would make it read or write outside its arrays, divide by zero or compute with what is no
 * number. */
#ifndef FASTTEXT_MODEL_CHECK_H
#define FASTTEXT_MODEL_CHECK_H

#include <sluice.h>
#include <stddef.h>
#include <stdint.h>

/* What a model says about itself. */
struct model_facts {
    int32_t dim, words, labels, loss, min_n, max_n, word_ngrams, buckets;
    int is_quantised;
    int64_t pruned;   /* n-grams that were kept, or -1: all were */
    size_t pruned_at; /* where their pairs of int32 (hash, place) stand in the file */
};

/* SLUICE_E_CONFIG tells what was found and where; *facts is filled on success. */
sluice_status model_check(const void *data, size_t n, struct model_facts *facts,
                          struct sluice_error *err);

#endif
