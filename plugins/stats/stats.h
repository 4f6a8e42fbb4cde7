/* stats.h - what the stages of this plugin share: which statistics there are, and how groups of
 * them travel between the stages.
 *
 * A record is a row of four columns beside its `key` (for the exchange): `kind` says what kind of
 * group it belongs to ("summary", "histogram", or the column by whose values documents are
 * grouped), `stat` which statistic a histogram is of ("" otherwise), `name` the group itself (the
 * value of the column, or the bin), and `moments` the moments of the documents in it: of every
 * statistic, or for a histogram of the number of documents, of characters and of tokens. The
 * metadata of `moments` names the statistics: stats="documents:i,length:i,digit_ratio:f"; the first
 * is 1 for each document. */
#ifndef STATS_STATS_H
#define STATS_STATS_H

#include <sluice_rows.h>
#include <stdbool.h>
#include <stddef.h>

#include "moments.h"
#include "number.h"

#define STATS_MAX 256 /* statistics of a document */

extern const struct sluice_stage doc_stats_stage, stats_collect_stage, stats_merge_stage,
    write_stats_stage;

sluice_status stats_nomem(struct sluice_error *err);

/* Names of statistics, and which are whole numbers. */
struct stats_names {
    char *text; /* owned: all names, each ends with NUL */
    const char *name[STATS_MAX];
    bool whole[STATS_MAX];
    int n;
};

/* Reads the metadata; NULL names none. SLUICE_E_SCHEMA, SLUICE_E_NOMEM. names must be empty. */
sluice_status stats_names_read(struct stats_names *names, const char *text,
                               struct sluice_error *err);
void stats_names_deinit(struct stats_names *names);

/* Records in the making: key, kind, stat, name, moments. */
#define STATS_ROWS "ftttt"
#define STATS_MOMENTS 4 /* the column */

/* Appends a record; moments are written by the caller into rows->data[STATS_MOMENTS] before. False:
 * out of memory. */
bool stats_rows_add(struct sluice_rows *rows, const char *kind, const char *stat, const char *name,
                    size_t name_size);

/* The four columns of a record, from need and add. */
sluice_status stats_rows_need(struct sluice_plan *plan, struct sluice_error *err);
sluice_status stats_rows_declare(struct sluice_plan *plan, const char *names,
                                 struct sluice_error *err);

/* For save and load of a worker: n moments, and back into empty ones. SLUICE_E_DATA: others than
 * n. */
sluice_status stats_moments_save(const struct moments *moments, int n, struct sluice_io *io);
sluice_status stats_moments_load(struct moments *moments, int n, struct sluice_io *io);

/* Which rows of a batch are no records: they are set aside. The caller frees verdicts. */
struct stats_bad {
    struct sluice_verdict *verdicts;
    int64_t n;
    bool any;
};
sluice_status stats_bad_init(struct stats_bad *bad, int64_t n, struct sluice_error *err);
void stats_bad_mark(struct stats_bad *bad, int64_t k);
sluice_status stats_bad_emit(struct stats_bad *bad, struct sluice_emit *emit);

#endif
