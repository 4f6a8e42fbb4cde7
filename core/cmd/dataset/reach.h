/* Where the ids of a list still are: in all files of a dataset, whatever snapshot names them or
 * none, and in what the run that wrote it keeps for itself. Depends on idsearch, bytesearch. */
#ifndef SLUICE_CMD_REACH_H
#define SLUICE_CMD_REACH_H

#include "cmd/dataset/bytesearch.h"
#include "cmd/dataset/idsearch.h"

struct reach_place {
    const char *path;       /* borrowed for the call */
    const char *kind;       /* "data", "public", "spill", "quarantine", "saved", "answers", … */
    uint64_t rows;          /* of rows that can be told apart, else 0 */
    bool sure;              /* false: the bytes are there, perhaps as a part of something else */
    const char *unsearched; /* why nothing can be said of it; NULL: an id is there */
};
typedef sluice_status reach_fn(void *ctx, const struct reach_place *, struct sluice_error *);

struct reach {
    struct idsearch *search; /* column, ids; its dir is the dataset */
    struct bytesearch bytes;
    reach_fn *found;
    void *ctx;
    uint64_t files, places; /* that were searched; that were found or can't be searched */
};

/* Files of data/ and, where they are no links to those, of the snapshots' folders. */
sluice_status reach_dataset(struct reach *, struct sluice_error *) MUST_USE;
/* All files of a run directory but its frozen plan. */
sluice_status reach_run(struct reach *, const char *run_dir, struct sluice_error *) MUST_USE;

/* A place as a fact: {path, kind, rows, sure, unsearched}. NULL = out of memory. Gives. */
json_t *reach_json(const struct reach_place *);

#endif
