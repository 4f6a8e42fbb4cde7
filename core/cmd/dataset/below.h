/* The datasets that were made of a dataset, as far as manifests tell: of each input they say what
 * its files held, and no path. Looked for in a folder and those below it; datasets that the same
 * pipeline writes count too. Depends on folder, idsearch, bytesearch. */
#ifndef SLUICE_CMD_BELOW_H
#define SLUICE_CMD_BELOW_H

#include "cmd/dataset/bytesearch.h"
#include "cmd/dataset/idsearch.h"

struct below {
    struct idsearch *search; /* ids, column, the dataset's folder */
    const char *folder;      /* NULL: the one that the dataset is in */
    uint64_t holders;        /* set: datasets that have an id */
};

/* *out: [{dataset, snapshots: [those made of it], rows (of files that can be searched, which have
 * an id), files: {rows: n, bytes: n (ids are in their bytes), none: n (nothing can be said)},
 * index: "minhash", "bloom" or null, made: false where only the pipeline is the same}], given. */
sluice_status below_find(struct below *, json_t **out, struct sluice_error *) MUST_USE;

#endif
