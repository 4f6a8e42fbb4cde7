/* The report of a run: collected as JSON when it ends (also when it halts);
 * scripts/views/report.lua shows it as text or Markdown.
 *
 * "funnel" has one row for everything the script names, in the order of the pipeline: a composite
 * is one row, its internal stages are added up. Each row: name, role, kind, in, out, dropped (by
 * reason), quarantined, seconds and text_bytes (of the work done in this run: reused tasks have
 * none), measures; asks: of servers, where a stage asks any (new answers, how many of them refused,
 * requests that were repeated, bytes of both; known: answers that were in the journal, or came for
 * another row); source: of a reader, what it was given to read; consumed:
 * rows by reason that go on elsewhere in a composite. "edges" are {from, to} of rows
 * by name, in the order of the pipeline; dropped: what goes there are the rows that were dropped on
 * the way to `from`. "upkeep" is what the engine itself needed: reading, carrying (rows kept
 * between phases), committing. "memory": the budget; "peak_bytes": the most that one process had
 * resident. "phases" has the same by phase and internal stage.
 *
 * Seconds are processor time of worker threads; a stage in a child process counts from call to
 * answer. "wait_seconds" and "waits" are what threads waited in the same places: for files, locks,
 * or a processor. "idle_seconds": workers without a task. Reports from before 0.2 have wall time
 * for work, and no waits. Tasks are "reused" when they were done before the process that made the
 * report came to their phase, and of "others" when another process did them meanwhile. Times and
 * bytes are those of all attempts of the execution by whatever process ("processes", "hosts"), as
 * their log has them; "attempts", "committed", "failed" and "lost" count these by phase, "twins"
 * those of them that were second copies (run/late.c), and "committed_seconds" is the processor time
 * of those that were committed. "failures": tasks that were given up. */
#ifndef SLUICE_RUN_REPORT_H
#define SLUICE_RUN_REPORT_H

#include <jansson.h>

#include "run/run.h"

struct tally;

/* Everything known about the run now. published may be NULL. tally: what all processes did; NULL:
 * this one's work alone is told. error: why it ended, or NULL. Gives a reference. */
json_t *report_collect(const struct run *, const struct run_published *, size_t n, double seconds,
                       const struct tally *, const struct sluice_error *error);

#endif
