/* Private to `sluice sample`: sample.c plans and runs, sample_folder.c has the run directory,
 * sample_out.c picks rows and counts them by file. */
#ifndef SLUICE_CMD_SAMPLEINT_H
#define SLUICE_CMD_SAMPLEINT_H

#include "cmd/progress.h"
#include "cmd/sample/sample_stage.h"
#include "cmd/session.h"
#include "run/run.h"

struct sampling {
    const char *at;
    bool after;
    const char *run_dir, *scratch; /* as given, or NULL */
    struct sampler sampler;
    char *work;         /* the run directory of its own */
    char *dataset;      /* in it */
    const char *node;   /* name of the place, after the edit */
    const char *stage;  /* name of the sampler */
    const char *writer; /* name of the writer */
    struct progress progress;
};

/* Makes the run directory (work) and what is in it: links to what a run of the whole pipeline has
 * done. */
sluice_status sample_folder_make(struct sampling *, const struct session *,
                                 struct sluice_error *) MUST_USE;

/* Rows that reached the node, by input file. */
struct sample_count {
    const char *file; /* the name that listings have; borrowed from the plan */
    uint64_t rows;
};

struct sample_counts {
    struct sample_count *files; /* owned; files without rows too, in the order of the plan */
    size_t n;
    uint64_t reached;
    uint64_t elsewhere; /* rows whose file can't be told */
};
void sample_counts_deinit(struct sample_counts *);

/* Counts the rows that came to the stage called sampler in a complete run; writer is the stage
 * behind it. */
sluice_status sample_count_rows(const struct run *, const char *sampler, const char *writer,
                                struct sample_counts *out, struct sluice_error *) MUST_USE;

struct sample_picked {
    uint64_t rows, bytes; /* bytes before compression */
    uint64_t stored;      /* of the file */
};
/* Picks the k rows with the smallest hashes out of a dataset that the sampler's writer wrote, takes
 * the hashes away, and writes them in the order in which they were read: to path (.zst and .gz
 * compress), or to standard output where it is NULL. */
sluice_status sample_pick(const char *dataset, uint64_t k, const char *path,
                          struct sample_picked *out, struct sluice_error *) MUST_USE;

#endif
