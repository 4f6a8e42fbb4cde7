/* What is known of a run, as JSON values for people and programs: the members are those that
 * commands print with --json. Nothing is changed, made or locked. The run is a view with all phases
 * looked at (run/runview.h). Depends on run and below.
 *
 * Every function gives a reference in *out, NULL after an error. Texts from outside that are no
 * UTF-8 have their bytes as \xHH. */
#ifndef SLUICE_RUN_FACTS_H
#define SLUICE_RUN_FACTS_H

#include <jansson.h>

#include "run/run.h"

/* A JSON string of any bytes. Gives a reference; NULL = out of memory. */
json_t *facts_text(const char *text, size_t n);

struct type;
struct ArrowArray;
/* The value of a row of a column: texts, numbers, bool, lists and structs of these; null; what is
 * none is named by its type: "(binary)". Gives a reference; NULL = out of memory. */
json_t *facts_value(const struct type *, const struct ArrowArray *, int64_t row);

/* [{name, tasks, done}] of all phases. */
sluice_status facts_phases(const struct run *, json_t **out, struct sluice_error *) MUST_USE;

/* {phase, number, phases, tasks, done, reused, others, running, text_bytes, raw_bytes, bottleneck,
 * share, stages: [{name, rows_in, rows_out, seconds, wait_seconds, inner}]} of a phase that runs:
 * bottleneck took the largest share of its time; inner: no reader and no stage. Gives a reference;
 * NULL = out of memory. Any thread. */
json_t *facts_progress(const struct run *, uint32_t phase);

struct facts_plan {
    bool tasks, files; /* each by name */
    bool predict;      /* the time, from the report of the last run */
    uint32_t workers;
};
/* What a run would do: {name, run_dir, tasks, reused, run, unknown, workers, phases: [{number,
 * name, first_task, tasks, depends, readers, stages, stores, reused, run, unknown, reasons, list}],
 * rebuilds, predicted_core_seconds}. A reader with cut "own" tells units: {files, units, bytes,
 * skipped, skipped_bytes} of those files that were surveyed so far. */
sluice_status facts_plan(const struct run *, const struct facts_plan *, json_t **out,
                         struct sluice_error *) MUST_USE;

/* A question about the documents of a run. */
struct facts_query {
    const struct run *run;
    const char *name;  /* what people call the run, for remedies in messages */
    const char *stage; /* of this stage only; NULL = of all */
    uint64_t most;     /* how many documents are listed */
    uint64_t nearest;  /* facts_values: documents of each */
    bool near;         /* those nearest to the limit first */
    uint64_t text;     /* bytes of each record that are read; 0 = none */
    bool names;        /* of tasks beside their numbers */
};

/* {stages: [{stage, in, quarantined, dropped: {reason: rows}}]} of all stages that lost rows. Sums
 * the ledgers of the run. */
sluice_status facts_dropped(struct run *, const char *stage, json_t **out,
                            struct sluice_error *) MUST_USE;
/* {reason, total, documents: [{stage, reason, value, limit, dup_of, similarity, split, row, uri,
 * path, begin, end, id, text}]}; where no record stands behind a dropped row it has stage_row,
 * its number there. */
sluice_status facts_reason(const struct facts_query *, const char *reason, json_t **out,
                           struct sluice_error *) MUST_USE;
/* {pairs, values: [{stage, reason, rows, limit, low, high, log, bins, documents}]} of the
 * query->most pairs of stage and reason that dropped most (pairs: how many there are), most first:
 * what was measured of their rows, in equal bins from low to high (log: of logarithms), and the
 * limit where all had the same; none of these where nothing was measured. documents as in
 * facts_reason, the query->nearest nearest to their limits. similarity: true where it is that of
 * duplicates. */
sluice_status facts_values(const struct facts_query *, json_t **out,
                           struct sluice_error *) MUST_USE;
/* {quarantined, records: [{stage, reason, detail, task, uri, path, begin, end, row, raw, kept}]};
 * with query->names split, the task's name, where there is no file. */
sluice_status facts_quarantine(const struct facts_query *, json_t **out,
                               struct sluice_error *) MUST_USE;
/* {documents: [{split, row, uri, path, begin, end, id, way: [{phase, stage, fate, ...}]}]} of all
 * documents with an id; more: true where these may not be all. A stage that asks servers has
 * recorded: true, and where it can be told answers: {asks: [{request, found, code, refused, bytes,
 * type}], journal}. */
sluice_status facts_document(const struct facts_query *, const char *id, json_t **out,
                             struct sluice_error *) MUST_USE;
/* The same of row `row` of the input of task `task`. */
sluice_status facts_row(const struct facts_query *, uint64_t task, uint64_t row, json_t **out,
                        struct sluice_error *) MUST_USE;
/* {task, name, phase, state, reason}: whether a task is done, and why it runs again. */
sluice_status facts_task(const struct run *, uint64_t task, json_t **out,
                         struct sluice_error *) MUST_USE;
/* Tasks that are not done. */
uint32_t facts_missing(const struct run *);
/* SLUICE_E_CONFIG: no stage of the run is called query->stage. */
sluice_status facts_check_stage(const struct facts_query *, struct sluice_error *) MUST_USE;

#endif
