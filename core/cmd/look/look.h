/* Looking at runs that are there: opening one from its directory without changing it, and printing
 * what was found, as text that a terminal can't be hurt by or as JSON. Depends on session and
 * run/runview. */
#ifndef SLUICE_CMD_LOOK_H
#define SLUICE_CMD_LOOK_H

#include <jansson.h>

#include "base/buf.h"
#include "cmd/session.h"
#include "run/runview.h"
#include "run/work/crew.h"

struct look {
    struct session session; /* with the plan, at SESSION_PLAN */
    struct run *run;        /* a view; all phases looked at */
};

/* Builds the plan of a run (a directory or the name of a pipeline) again and finds its records.
 * SLUICE_E_CONFIG: there is no run. Close with look_close, after an error too. */
sluice_status look_open(const char *run, struct look *, struct sluice_error *) MUST_USE;
/* The same, without warnings about damaged records. */
sluice_status look_open_silent(const char *run, struct look *, struct sluice_error *) MUST_USE;
/* The same; tasks that changed since they ran have the record of then (see runview_all_old). *old:
 * how many. prefer may be NULL. */
sluice_status look_open_old(const char *run, const char *prefer, struct look *, uint32_t *old,
                            struct sluice_error *) MUST_USE;
/* The same over a session that is open at SESSION_PLAN. */
sluice_status look_at(struct session *, struct run **out, struct sluice_error *) MUST_USE;
void look_close(struct look *);
/* Whether text means a run (a directory with plan.json, or the name of one here). */
bool look_is_run(const char *text);

/* Prints {"event": event, ...object} as a line and drops the reference; false = out of memory. */
bool look_print(const char *event, json_t *object);
/* Columns of the terminal behind standard output; COLUMNS, or 0 (no limit) where there is none. */
size_t look_columns(void);
/* The folder of a dataset's argument: PATH, PATH@N or PATH@TAG, relative to the working directory.
 * *dir is given. */
sluice_status look_dataset(const char *reference, char **dir, uint32_t *number,
                           struct sluice_error *) MUST_USE;
/* The run of a dataset: of the name that its manifest gives its pipeline, here or beside the
 * dataset. *run (a directory) is given. SLUICE_E_CONFIG: there is none. */
sluice_status look_dataset_run(const char *dir, uint32_t number, char **run,
                               struct sluice_error *) MUST_USE;
/* Joins those who work on a run (a directory), as its lead, and is the only one: for what changes
 * the run's files. kind: "gc", …. *crew is given, after an error too (crew_leave). */
sluice_status look_alone(const char *run_dir, const char *kind, struct crew **crew,
                         struct sluice_error *) MUST_USE;
/* "" for 1, "s" otherwise. */
const char *plural(uint64_t n);

#endif
