/* Rows of Parquet, Arrow and CSV, read by their reader as a pipeline reads them: files | reader,
 * and nothing behind it. Depends on session, plan, try's rows. */
#ifndef SLUICE_CMD_ROWSOF_H
#define SLUICE_CMD_ROWSOF_H

#include "cmd/look/lines.h"
#include "cmd/try/try.h"

/* The stage that reads files of this name as columns; NULL: none does. */
const char *rowsof_reader(const char *path);

/* Zeroed. One session for any number of plans, one after the other. */
struct rowsof {
    struct session session;
    struct try_plan plan; /* of what is open; op is the reader */
    char *pattern;        /* owned */
};

/* Opens the session, where that was not done: rowsof_open_file does, too. */
sluice_status rowsof_begin(struct rowsof *, struct sluice_error *) MUST_USE;
/* Plans to read a file (absolute path), or with dataset "PATH@N". options: of the reader, or NULL;
 * copied. Closes what was open. */
sluice_status rowsof_open(struct rowsof *, const char *pattern, bool dataset, const char *reader,
                          const struct value *options, struct sluice_error *) MUST_USE;
/* The same of one file, all of its columns as they are (as_is, of Parquet and Arrow). */
sluice_status rowsof_open_file(struct rowsof *, const char *path, struct sluice_error *) MUST_USE;
/* Reads what is open to its end, in order. A row that can't be read ends it, SLUICE_E_DATA, with
 * `name`. */
sluice_status rowsof_read(struct rowsof *, const char *name, const struct chain_observer *,
                          struct sluice_error *) MUST_USE;
/* The rows of a file as lines of JSON, a member for each column that is not null. */
sluice_status rowsof_lines(struct rowsof *, const char *path, lines_fn *, void *ctx,
                           struct sluice_error *) MUST_USE;
/* Also after an error, and of one that was never begun. */
void rowsof_end(struct rowsof *);

/* {COLUMN: value} of a row, without nulls. NULL = out of memory. Gives. */
json_t *rowsof_row(const struct schema *, const struct batch *, int64_t row);

#endif
