/* A run opened for looking: the same struct run, but no folder is made, no lock taken and nothing
 * written, and a run directory that does not exist yet is an empty run. Depends on run.h. One
 * thread. */
#ifndef SLUICE_RUN_RUNVIEW_H
#define SLUICE_RUN_RUNVIEW_H

#include "run/run.h"

/* run_dir: absolute; borrowed until run_close, which closes what this gives, as are inputs: what is
 * known of input files (NULL: nothing; their splits may be read then). warn may be NULL:
 * damaged records are then passed over in silence. fresh: behaves as if there were no records. */
sluice_status runview_open(const struct plan *, const char *run_dir, bool fresh,
                           struct statcache *inputs, const struct run_events *, struct run **out,
                           struct sluice_error *) MUST_USE;
/* Keys and records of all tasks, as far as the tasks they depend on are done. A task whose key
 * can't be known yet stays !keyed; so does one whose split nobody has read. */
sluice_status runview_all(struct run *, struct sluice_error *) MUST_USE;
/* All phases; a task without a record of what it is now gets the newest record of what it was
 * before its stages changed (new options, another version of a plugin), if that read the same
 * input: its rows are numbered as they are now, so that its tables can be read. Its key becomes
 * that record's. prefer (may be NULL): first digits of a key; a record with them goes before all
 * others. *old: tasks with such a record. */
sluice_status runview_all_old(struct run *, const char *prefer, uint32_t *old,
                              struct sluice_error *) MUST_USE;
/* Sums the ledgers of a phase's tasks that are done into run->ledgers[phase]. SLUICE_E_DATA: a
 * record's ledger is none. */
sluice_status runview_sum(struct run *, uint32_t phase, struct sluice_error *) MUST_USE;

/* One row of a table of a done task; *stop = true ends the reading. */
typedef sluice_status runview_row(void *ctx, const struct batch *, int64_t row, bool *stop,
                                  struct sluice_error *);
/* Calls fn for every row in order; a task without the table has none. */
sluice_status runview_table(const struct run *, uint32_t phase, uint32_t task,
                            enum task_table table, runview_row *fn, void *ctx,
                            struct sluice_error *) MUST_USE;

/* The input file that a row of TABLE_BAD names; NULL: it names none. Borrowed from the plan. */
const struct listing_file *runview_bad_file(const struct phase *, uint32_t task,
                                            const struct batch *, int64_t row);

/* Values of a table's row. */
static inline bool runview_null(const struct batch *batch, uint32_t column, int64_t row)
{
    return array_is_null(&batch->columns[column]->array, row);
}
static inline uint64_t runview_u64(const struct batch *batch, uint32_t column, int64_t row)
{
    return ((const uint64_t *)batch->columns[column]->array.buffers[1])[row];
}
static inline uint32_t runview_u32(const struct batch *batch, uint32_t column, int64_t row)
{
    return ((const uint32_t *)batch->columns[column]->array.buffers[1])[row];
}
static inline double runview_f64(const struct batch *batch, uint32_t column, int64_t row)
{
    return ((const double *)batch->columns[column]->array.buffers[1])[row];
}
static inline const char *runview_text(const struct batch *batch, uint32_t column, int64_t row,
                                       size_t *n)
{
    return array_bytes(&batch->columns[column]->array, row, n);
}

#endif
