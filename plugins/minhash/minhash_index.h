/* A MinHash index as it is read: the files of one snapshot of a dataset that write_minhash_index
 * made.
 *
 * Owns the files' mappings. Depends on minhash_format.h and jansson. Promises: an index of other
 * parameters is refused by the name of the first one that differs; entries are hashed before they
 * are believed; pages that were passed are given back, so that memory stays small. */
#ifndef MINHASH_INDEX_H
#define MINHASH_INDEX_H

#include "minhash_format.h"

/* What must be equal for two documents to be comparable: "over=text ngram=5 ...", single spaces
 * between. The composite `minhash` writes it. */
struct minhash_parameters {
    const char *text;
};

/* The first row of the option tables whose config begins with a struct minhash_parameters. */
#define MINHASH_PARAMETER_OPTIONS                                                                 \
    {                                                                                             \
        .name = "parameters", .doc = "What signatures depend on, as name=value, spaced.",         \
        .def = "", .type = SLUICE_OPT_STRING, .offset = offsetof(struct minhash_parameters, text) \
    }

struct minhash_index;

/* Opens the snapshot whose manifest is named. SLUICE_E_CONFIG names the parameter that differs.
 * Gives. */
sluice_status minhash_index_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const char *manifest, const struct minhash_parameters *parameters,
                                 struct minhash_index **out, struct sluice_error *err);
void minhash_index_close(struct minhash_index *index); /* NULL is fine */

/* The document behind a reference, from any thread; borrowed until the index is closed.
 * SLUICE_E_DATA: it is not there, or damaged. */
sluice_status minhash_index_document(const struct minhash_index *index, uint64_t reference,
                                     struct minhash_document *out, struct sluice_error *err);

/* A walk over the keys, which are asked for in ascending order; one thread at a time. */
struct minhash_cursor;

sluice_status minhash_cursor_open(const struct minhash_index *index, struct minhash_cursor **out,
                                  struct sluice_error *err);
void minhash_cursor_close(struct minhash_cursor *cursor); /* NULL is fine */
/* The reference that a key has, if it has one. */
sluice_status minhash_cursor_find(struct minhash_cursor *cursor, const void *key,
                                  uint64_t *reference, bool *found, struct sluice_error *err);

#endif
