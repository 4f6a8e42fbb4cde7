/* What the parts of `sluice try` share. try.c reads the command line and drives; try_sample.c holds
 * the sample in memory; try_stage.c finds a stage, try_plan.c plans it, try_rows.c takes rows
 * through the plan, try_run.c notes what becomes of them, try_outcome.c sorts it; try_change.c
 * compares two runs; try_sweep.c varies a threshold; try_labels.c knows what people said;
 * try_print.c and try_json.c show. Depends on session, plan and run. */
#ifndef SLUICE_CMD_TRY_H
#define SLUICE_CMD_TRY_H

#include <jansson.h>

#include "cmd/look/look.h"
#include "data/column.h"
#include "plugin/stage.h"
#include "run/chain/chain.h"
#include "run/facts/histogram.h"

/* ---- rows (try_rows.c) ---- */

/* Batches in the order of their rows. */
struct rows {
    struct batch **batches; /* owned references */
    uint32_t n, capacity;
};
void rows_deinit(struct rows *);
/* The number of the k-th row of a batch, in the slot of _row. */
uint64_t rows_number(int32_t slot, const struct batch *, int64_t k);

/* The plan of a sample's rows through a stage (try_plan.c). */
struct try_plan {
    struct graph *graph;
    struct plan *plan;
    const struct phase *phase;
    const struct op *op; /* the stage, or the reader where there is none */
    struct metrics metrics;
};

/* Rows on their way through a plan, on several threads. */
struct rows_pass {
    const struct try_plan *plan;
    const struct rows *rows; /* what `from` gives; NULL: the plan's input is read */
    const struct op *from;
    const struct op
        *until; /* what it gives is kept, and goes no further; a row that fails ends it */
    /* Or NULL: rows go all the way, and this is told of them, on any thread. */
    const struct chain_observer *observer;
    uint32_t workers; /* 1: batches go in order */
};
/* Appends what is kept to *kept, in order; NULL where nothing is. */
sluice_status rows_pass(const struct rows_pass *, struct rows *kept,
                        struct sluice_error *) MUST_USE;

/* ---- the sample (try_sample.c) ---- */

/* A JSON Lines file as read_jsonl gives it. Its members are declared: texts utf8, whole numbers
 * int64, other numbers float64, booleans bool, everything else json; and `metadata` has all but id
 * and text nevertheless, for stages that look there. */
struct sample {
    const char *path;
    struct session session; /* for the reader */
    struct value columns;   /* the option of read_jsonl */
    struct schema schema;   /* of rows; the hidden columns, too */
    struct rows rows;       /* _row counts in the whole sample */
    /* The rows with columns that providers derived, for plans of that key. */
    struct rows derived;
    struct hash128 derived_key;
    uint64_t n_rows, bytes; /* bytes: of the texts */
    int32_t text, id, row;  /* columns */
    bool has_text;          /* some row is not null there */
};

/* Close it after an error, too. */
sluice_status sample_open(const char *path, struct sample *, struct sluice_error *) MUST_USE;
void sample_close(struct sample *);
/* A value as text: borrowed, or written to buffer; NULL = null. */
const char *value_text(const struct type *, const struct ArrowArray *, int64_t row, size_t *n,
                       char buffer[64]);
/* Value of a row as text: borrowed, or written to buffer; NULL = null. */
const char *sample_value(const struct sample *, int32_t column, uint64_t row, size_t *n,
                         char buffer[64]);
/* The document's id, or FILE:BYTE where it has none. */
const char *sample_id(const struct sample *, uint64_t row, size_t *n, char buffer[64]);
const char *sample_text(const struct sample *, uint64_t row, size_t *n);
uint64_t sample_row_bytes(const struct sample *, uint64_t row);
/* The column called name; SLUICE_E_CONFIG with what there is. */
sluice_status sample_column(const struct sample *, const char *name, int32_t *column,
                            struct sluice_error *) MUST_USE;

/* ---- a stage, ready to run (try_stage.c; try_run.c runs it) ---- */

struct trial_source {        /* borrowed */
    const char *script;      /* a Lua file, or the name of a stage */
    const char *script_text; /* what stands for the file's text, or NULL */
    const char *stage;       /* --stage, or NULL */
    const char *const *words;
    size_t n_words; /* arguments of the script */
    const char *const *options;
    size_t n_options; /* --option name=value */
    const char *const *plugins;
    size_t n_plugins;
    bool trust;
    uint32_t workers; /* 0 = what is granted */
};

struct trial {
    struct session session;
    const struct registry_entry *entry;
    char *name;
    char *where; /* of the node in the script, or "" */
    struct node_isolation isolation;
    struct value given;        /* options as text: the pipeline's and the command line's */
    const char *above, *below; /* options of a heuristic's limits, or NULL */
    uint32_t workers;
    uint64_t most_rows; /* runs end with the batch that has this row; 0 = all */
};

sluice_status trial_open(const struct trial_source *, struct trial *,
                         struct sluice_error *) MUST_USE;
void trial_close(struct trial *);
/* The stage's options; gives. */
sluice_status trial_options(const struct trial *, struct options **,
                            struct sluice_error *) MUST_USE;
/* Sets an option for the next run. */
sluice_status trial_set(struct trial *, const char *name, const char *value,
                        struct sluice_error *) MUST_USE;
/* An option of type float, int or size. SLUICE_E_CONFIG: there is none of that name. */
sluice_status trial_number(const struct trial *, const char *name, double *value, bool *whole,
                           struct sluice_error *) MUST_USE;

/* try_plan.c: plans the sample's rows through a stage (trial NULL: to be read). Borrows all; close
 * it after an error, too. */
sluice_status try_plan_open(const struct sample *, struct session *, const struct trial *,
                            struct try_plan *, struct sluice_error *) MUST_USE;
void try_plan_close(struct try_plan *);

/* What became of a row. */
struct fate {
    int32_t reason; /* 0 = kept, k = outcome.reasons[k - 1], SLUICE_VERDICT_BAD */
    bool valued;    /* value was measured */
    double value, limit;
    char *after; /* owned: its text, where the stage changed it; NULL = it did not */
    uint64_t n_after;
    /* owned: why it is quarantined, or the values that an annotator added; NULL = nothing */
    char *note;
};

struct outcome {
    struct fate *fates;
    uint64_t n, bytes; /* rows; bytes of their texts */
    char **reasons;    /* owned */
    uint32_t n_reasons;
    uint64_t emitted; /* rows that a transform made */
    bool transforms, annotates;
    double seconds; /* wall clock of the rows alone */
};

/* Runs the stage over the rows. *out needs outcome_deinit after success. */
sluice_status trial_run(struct trial *, struct sample *, struct outcome *out,
                        struct sluice_error *) MUST_USE;
void outcome_deinit(struct outcome *);
/* Rows whose text was changed. */
uint64_t outcome_changed(const struct outcome *);
const char *outcome_reason(const struct outcome *, int32_t reason); /* "kept", "quarantined" */

/* ---- what came out (try_outcome.c) ---- */

/* Values that an annotator added to row `row` of columns (a struct of type added), which is row
 * `number` of the sample: "language=en score=0.3". Gives; NULL = out of memory. */
char *outcome_note(const struct type *added, const struct ArrowArray *columns,
                   const struct sample *, uint64_t number, int64_t row);

/* How far a value is from the limit that decides, in parts of the limit. */
double fate_distance(const struct fate *);

/* Rows with a fate (0 kept, 1 dropped, -1 quarantined), those nearest to the limit first; without
 * values in an order that has nothing to do with the file's, those whose text was changed first.
 * Gives *rows, at most `most` of them. */
sluice_status outcome_pick(const struct outcome *, int fate, uint64_t most, uint64_t **rows,
                           uint64_t *n, struct sluice_error *) MUST_USE;

/* Counts by the values of a column. */

struct group {
    char *value;    /* owned */
    uint32_t found; /* so many others before it */
    uint64_t rows, kept, bytes, kept_bytes;
};
struct groups {
    struct group *items; /* the largest first */
    uint32_t *of;        /* of each row; owned */
    size_t n;
};
sluice_status groups_make(const struct sample *, const struct outcome *, int32_t column,
                          struct groups *, struct sluice_error *) MUST_USE;
void groups_deinit(struct groups *);

/* ---- what people said (try_labels.c) ---- */

struct labels {
    int8_t *of;       /* per row: 1 keep, -1 drop, 0 none; owned */
    uint64_t n;       /* rows with a label */
    uint64_t strange; /* labels of documents that the sample does not have */
};
struct confusion { /* dropping is the positive answer */
    uint64_t dropped_right, dropped_wrong, kept_right, kept_wrong;
};
/* JSON lines {"id": ..., "label": "keep"|"drop"} or lines ID<TAB>keep|drop. A file that is not
 * there has no labels if `missing` is. */
sluice_status labels_read(const char *path, const struct sample *, bool missing, struct labels *,
                          struct sluice_error *) MUST_USE;
void labels_deinit(struct labels *);
void confusion_add(struct confusion *, int8_t label, bool kept);
/* 0 to 1; NaN where there is nothing to divide by. */
double confusion_precision(const struct confusion *);
double confusion_recall(const struct confusion *);
double confusion_f1(const struct confusion *);
/* Asks at the terminal for labels of documents near the limit, and appends each to path at once.
 * outcome NULL: no stage judged them; they come in an order that has nothing to do with the
 * file's. */
sluice_status labels_ask(const char *path, const struct sample *, const struct outcome *,
                         struct labels *, struct sluice_error *) MUST_USE;

/* ---- texts that were changed (try_edits.c) ---- */

/* What changed from one text to another, in the order of the text: at most `most` places, of each
 * {before, removed, added, after}: whole words, with a few of them that stayed around. Texts that
 * have too much changed are one place. Gives a reference to an array; NULL = out of memory. */
json_t *edits_json(const char *before, size_t n_before, const char *after, size_t n_after,
                   size_t most);

/* ---- two runs (try_change.c) ---- */

struct change {
    uint64_t row;
    const struct fate *before, *after;
};
struct changes {
    struct change *items; /* by kind, the nearest to the new limit first; fates are the outcomes' */
    uint64_t n;
    uint64_t dropped, kept, other; /* now dropped, now kept, another reason */
};
sluice_status changes_make(const struct outcome *before, const struct outcome *after,
                           struct changes *, struct sluice_error *) MUST_USE;
void changes_deinit(struct changes *);

/* The text of a file at a revision, by git. Gives. */
sluice_status change_git(const char *path, const char *revision, char **text,
                         struct sluice_error *) MUST_USE;

/* ---- sweeps (try_sweep.c) ---- */

struct sweep_step {
    double threshold;
    uint64_t kept, kept_bytes, quarantined;
    struct confusion confusion;
    uint64_t *by; /* kept documents of each group; owned */
};
#define SWEEP_BINS HISTOGRAM_BINS
struct sweep {
    char option[100];
    double from, to;
    uint32_t n_steps;
    struct sweep_step *steps;
    bool measured; /* the histogram is there: the stage ran once */
    bool depends;  /* the measure depends on the option, so the stage ran for every step */
    double low, high;
    uint64_t bins
        [SWEEP_BINS]; /* of equal width between low and high; the last one also has what is above */
    double cut;       /* the option's value */
};
/* text: "max=0.1..0.5:9". */
sluice_status sweep_make(struct trial *, struct sample *, const struct outcome *, const char *text,
                         const struct groups *, const struct labels *, struct sweep *,
                         struct sluice_error *) MUST_USE;
void sweep_deinit(struct sweep *);

/* ---- showing ---- */

struct try_view {
    const struct sample *sample;
    const struct trial *trial;
    const struct outcome *outcome;
    const struct labels *labels;   /* NULL = none */
    const struct groups *groups;   /* NULL = none */
    const struct changes *changes; /* NULL = nothing to compare with */
    const struct outcome *before;  /* of changes */
    const char *before_name;
    const struct sweep *sweep; /* NULL = none */
    const char *by;            /* the column of groups */
    uint64_t examples;
    size_t columns; /* of the terminal; 0 = no terminal */
    double total;   /* seconds since the file was saved, or 0 */
    bool quiet;     /* nothing but the first lines and the changes */
};
void try_print(const struct try_view *);
bool try_print_json(const struct try_view *);
/* The same as one object, for the page: {try: the summary, values: [{reason, low, high, log, limit,
 * kept, dropped}] (what was measured, in SWEEP_BINS equal bins; reason: of those dropped for it
 * alone), kept, dropped, quarantined: examples; and of a sweep option, cut, from, to, thresholds,
 * histogram}. Gives a reference; NULL = out of memory. */
json_t *try_facts(const struct try_view *);

/* ---- watching (try_watch.c) ---- */

struct watch;
/* Watches n files by the folders they are in. Gives. */
sluice_status watch_open(struct watch **, struct sluice_error *) MUST_USE;
void watch_close(struct watch *);
sluice_status watch_file(struct watch *, const char *path, struct sluice_error *) MUST_USE;
/* Waits until one of the files was written, or for a signal (*stopped). *saved_ns: when it was
 * written, on the monotonic clock. */
sluice_status watch_wait(struct watch *, bool *stopped, uint64_t *saved_ns,
                         struct sluice_error *) MUST_USE;

#endif
