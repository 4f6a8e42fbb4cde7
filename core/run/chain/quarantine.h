/* Rows that a stage could not take, kept so that `sluice replay` can run each again:
 * RUN/quarantine/K. Owns the layout of those files. Depends on plan, data and store.
 *
 * K depends on the task's key, the stage and the row, so a task that runs again writes the same
 * files. A file is one line of JSON (who refused the row, and why), then one spill frame with the
 * columns that the stage saw. They are for people: the account of quarantined rows is the task's
 * table `bad`, which names every one, while here there is a bounded number. */
#ifndef SLUICE_RUN_QUARANTINE_H
#define SLUICE_RUN_QUARANTINE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/hash.h"
#include "data/column.h"
#include "plan/plan.h"

#define QUARANTINE_FORMAT 1                     /* of a file; raise when it changes */
#define QUARANTINE_ROWS_MAX 32u                 /* kept of one task */
#define QUARANTINE_BYTES_MAX ((size_t)64 << 20) /* of one task */
#define QUARANTINE_FOLDER "quarantine"

/* What a task keeps until its commit. Zeroed = empty. */
struct quarantine_item {
    json_t *head;      /* without the task's key, which is known behind the last row only */
    const char *stage; /* borrowed */
    uint64_t row;
    struct buf frame;
};
struct kept_rows {
    struct quarantine_item *items; /* owned */
    size_t n, bytes;
};

struct quarantine_row {
    const struct phase *phase;
    const struct op *op;
    uint32_t task;
    uint64_t row;
    const char *reason, *detail;
};

/* Keeps row number `at` of batch (the op's input on port 0), unless enough is kept. What needs a
 * side input is not kept. */
sluice_status quarantine_add(struct kept_rows *, const struct quarantine_row *,
                             const struct batch *batch, uint32_t at,
                             struct sluice_error *) MUST_USE;
/* Writes RUN_DIR/quarantine/K, also over what stands there. task_key: of the task that kept them.
 */
sluice_status quarantine_write(const struct kept_rows *, struct hash128 task_key,
                               const char *run_dir, struct sluice_error *) MUST_USE;
/* Saves what is kept; adds what was saved. */
struct saved;
struct restored;
sluice_status quarantine_save(const struct kept_rows *, struct saved *,
                              struct sluice_error *) MUST_USE;
sluice_status quarantine_restore(struct kept_rows *, const struct phase *, struct restored *,
                                 struct sluice_error *) MUST_USE;
void quarantine_deinit(struct kept_rows *);

/* One file, read again. Nothing in it is trusted. */
struct quarantined {
    char *stage, *kind, *phase, *task, *task_key, *reason, *detail; /* kind: "plugin.stage" */
    uint64_t row;
    uint32_t n_columns;
    char **names;        /* NULL: an optional column that was absent */
    struct type **types; /* likewise */
    struct batch *batch; /* one row of the columns that are there; NULL = head only */
};
/* SLUICE_E_CONFIG: no such file; SLUICE_E_DATA: damaged. *out needs deinit in any case. */
sluice_status quarantine_read(const char *path, bool head_only, struct quarantined *out,
                              struct sluice_error *) MUST_USE;
void quarantined_deinit(struct quarantined *);

/* Where that row is kept, or NULL when it isn't (or memory ran out). Gives. */
char *quarantine_path(const char *run_dir, struct hash128 task_key, const char *stage,
                      uint64_t row);

#endif
