/* Rows of Parquet, Arrow and CSV, read by their reader as a pipeline reads them: files | reader,
 * and nothing behind it. Depends on session, plan, try's rows. */
#ifndef SLUICE_CMD_ROWSOF_H
#define SLUICE_CMD_ROWSOF_H

#include "cmd/try/try.h"

/* The stage that reads files of this name as columns; NULL: none does. */
const char *rowsof_reader(const char *path);

/* Zeroed. One session for any number of plans, one after the other. */
struct rowsof {
    struct session session;
    struct try_plan plan; /* of what is open; op is the reader */
    char *pattern;        /* owned */
};

sluice_status rowsof_begin(struct rowsof *, struct sluice_error *) MUST_USE;
/* Plans to read a file (absolute path), or with dataset "PATH@N". options: of the reader, or NULL;
 * copied. Closes what was open. */
sluice_status rowsof_open(struct rowsof *, const char *pattern, bool dataset, const char *reader,
                          const struct value *options, struct sluice_error *) MUST_USE;
/* Also after an error. */
void rowsof_end(struct rowsof *);

/* {COLUMN: value} of a row, without nulls. NULL = out of memory. Gives. */
json_t *rowsof_row(const struct schema *, const struct batch *, int64_t row);

#endif
