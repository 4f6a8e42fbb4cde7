/* What the parts of the conformance kit share inside a child: the stage under test, generated rows,
 * driven workloads and what they gave. One thread unless said. See kit.h. */
#ifndef SLUICE_TESTKIT_KITINT_H
#define SLUICE_TESTKIT_KITINT_H

#include <stdatomic.h>

#include "testkit/kit.h"
#include "data/column.h"
#include "lua/script/script.h"
#include "plugin/plugin_file.h"
#include "plugin/stage.h"

#define KIT_FIELDS_MAX 256u
#define KIT_OUTPUTS_MAX 8u
#define KIT_DECOY UINT64_C(1000000) /* ids from here on are rows that nobody selects */

struct builder;
struct kit_user_data;

/* One check in its child. */
struct kit {
    struct kit_options options;
    struct kit_report *report;
    const struct kit_check *check;
    const char *scratch;                /* folder of this child's own */
    const char *dump;                   /* file for what a check lets two processes compare */
    const struct registry_entry *entry; /* the stage under test; NULL for checks of the file */
    const struct sluice_stage *kind;    /* of entry */
    struct registry_entry *entries;     /* of the file */
    size_t n_entries;
    struct plugin_file file;
    struct registry *registry; /* install tree; opened when needed, with it a script */
    struct script *script;
    struct graph *graph;
    struct kit_user_data *user; /* rows of --data */
    struct buf answers;         /* --answers: bodies, each ended by \n */
    bool threaded;              /* several threads are at work: marks are left alone */
    uint64_t seed;
};

/* ---- verdicts and marks (kit_child.c) ---- */

/* The first failure stays. Both return false, so that `return kit_fail(...)` reads well. */
bool kit_fail(struct kit *, const char *format, ...) PRINTF_LIKE(2, 3);
bool kit_skip(struct kit *, const char *format, ...) PRINTF_LIKE(2, 3);
void kit_warn(struct kit *, const char *format, ...) PRINTF_LIKE(2, 3);
bool kit_failed(const struct kit *);
/* Which lifecycle call is in progress: read by the parent when the child dies. */
void kit_enter(struct kit *, const char *call);
void kit_leave(struct kit *);
/* What the next calls are given, for people. */
void kit_what(struct kit *, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- random numbers: a pure function of what they are made from (kit_text.c) ---- */

struct kit_random {
    uint64_t state;
};
struct kit_random kit_random_of(uint64_t seed, const char *name, uint64_t id);
uint64_t kit_next(struct kit_random *);
/* 0 .. n - 1 */
uint64_t kit_below(struct kit_random *, uint64_t n);

enum kit_profile {
    KIT_ORDINARY, /* mostly plain documents, some odd ones */
    KIT_HOSTILE,  /* the odd ones only */
    KIT_NULLS,    /* every nullable column is null */
    KIT_HUGE,     /* the first row's texts have tens of megabytes */
    KIT_BAD_UTF8  /* binary columns hold bytes that are no UTF-8 */
};

/* Appends a document. */
void kit_text(struct buf *, struct kit_random *, enum kit_profile);
/* Appends one huge document of about n bytes; words = with blanks. */
void kit_text_huge(struct buf *, size_t n, bool words);

/* ---- the opened stage (kit_bench.c) ---- */

struct kit_bench;

/* Where a column comes from: made here, or by another stage. */
struct kit_maker {
    struct kit_bench *by; /* owned; NULL = made here */
    int32_t column;       /* of what by adds */
};

struct kit_bench_options {
    const struct registry_entry *entry; /* NULL = the stage under test */
    const struct value *values;         /* VALUE_MAP over the options given by the user, or NULL */
    const char *text;                   /* "a=b,c=d" the same as text, or NULL */
    uint64_t fail_at;      /* this allocation of the host (from 1) gives NULL; 0 = none */
    uint32_t alternative;  /* which type of "a|b" columns have */
    bool without_optional; /* columns that are asked for as optional are absent */
    uint32_t depth;        /* of stages that make columns for stages */
};

struct kit_bench {
    struct kit *kit;
    const struct registry_entry *entry;
    const struct sluice_stage *kind;
    struct kit_bench_options options;
    struct stage *stage;
    struct stage_prepared prepared;
    bool has_prepared;
    struct schema schemas[STAGE_PORTS];
    struct kit_maker makers[STAGE_PORTS][KIT_FIELDS_MAX];
    struct budget budget;
    struct filemaps *maps; /* host->map */
    struct buf described;  /* of --data, for readers with survey */
    bool is_described, has_description;
    _Atomic uint64_t allocations; /* asked for so far */
    _Atomic uint64_t asks;        /* of servers */
    _Atomic int cancelled;
    sluice_status status; /* of the last call that failed */
    struct sluice_error error;
    const char *failed_call; /* or NULL */
};

/* Opens and prepares with columns for everything that is asked for. false = bench->status, error
 * and failed_call tell; close in any case. */
bool kit_bench_open(struct kit *, const struct kit_bench_options *, struct kit_bench *);
/* Closes the stage; what the host's allocator still counts. */
uint64_t kit_bench_close(struct kit_bench *);
/* The same, and a failure or a skip is the check's. */
bool kit_bench_need(struct kit *, const struct kit_bench_options *, struct kit_bench *);
/* What a reader with survey is told of the user's file when it is prepared, found once; a survey
 * that fails is heard of when the file is read. */
void kit_bench_describe(struct kit_bench *, struct stage_inputs *);
/* The option that must be given by the user (a file, say), or NULL. */
const char *kit_option_wanted(const struct kit *, const struct sluice_stage *);

/* ---- rows (kit_rows.c) ---- */

struct kit_rows {
    uint32_t n_columns;
    int64_t n;
    uint64_t *ids;
    const struct type **types; /* borrowed from the bench, the array is owned */
    struct column **columns;
};

struct kit_rows_spec {
    const uint64_t *ids; /* a row's content depends on its id only */
    int64_t n;
    enum kit_profile profile;
    /* port 1: ids of the main input's rows, ascending, which it may name */
    const uint64_t *main_ids;
    int64_t n_main;
};

/* Makes the columns that the stage asked for of a port. */
sluice_status kit_rows_make(struct kit_bench *, uint32_t port, const struct kit_rows_spec *,
                            struct kit_rows *out, struct sluice_error *err) MUST_USE;
void kit_rows_deinit(struct kit_rows *);
/* Reads --data. */
sluice_status kit_user_open(const char *path, struct kit_user_data **out,
                            struct sluice_error *err) MUST_USE;
void kit_user_close(struct kit_user_data *);
/* Reads --answers: lines, each ended by \n. */
sluice_status kit_user_answers(const char *path, struct buf *out,
                               struct sluice_error *err) MUST_USE;
/* The k-th member of the rows, with the type that its first value has; false past the end. */
bool kit_user_column(const struct kit_user_data *, size_t k, const char **name, const char **type);
/* Appends the value of a column in row id to the builder; false = the data has none. */
bool kit_user_value(const struct kit_user_data *, const char *column, const struct type *,
                    uint64_t id, struct builder *, bool *ok);

/* ---- a batch in memory of its own (kit_view.c) ---- */

struct kit_view {
    struct ArrowArray array; /* children in guarded memory */
    struct sluice_batch batch;
    uint32_t *selected;
    void *memory;
    size_t size;
};

/* The rows at places pick[] as one batch, of which selected[] (places in the batch) are selected;
 * NULL = all. Every buffer ends, with SLUICE_PADDING bytes of fill behind it, where memory ends:
 * reading on is a fault. read_only: writing is one as well. */
sluice_status kit_view_make(const struct kit_rows *, uint32_t port, const uint32_t *pick, int64_t n,
                            const uint32_t *selected, int64_t n_selected, bool read_only,
                            uint8_t fill, struct kit_view *out, struct sluice_error *err) MUST_USE;
void kit_view_deinit(struct kit_view *);
/* n bytes of data at the end of such memory, for readers. */
sluice_status kit_view_bytes(const void *data, size_t n, bool read_only, uint8_t fill,
                             struct kit_view *out, const char **at,
                             struct sluice_error *err) MUST_USE;
/* Did somebody release a column of a view since the last call? */
bool kit_view_released(void);
/* What a fault at this address means, or NULL. Called in a signal handler. */
const char *kit_view_fault(const void *address);

/* ---- what a run of a stage gave (kit_outcome.c) ---- */

struct kit_record {
    size_t begin, size; /* in text */
    uint64_t owner;     /* id of the input row, or UINT64_MAX: an output row */
};

struct kit_sum {
    char name[64];
    int64_t value;
};

struct kit_outcome {
    sluice_status status;
    struct sluice_error error;
    const char *failed_call; /* or NULL */
    struct buf text;         /* one line a record */
    struct kit_record *records;
    size_t n, capacity;
    struct buf outputs[KIT_OUTPUTS_MAX]; /* writers: bytes of each kind, rolls among them */
    uint64_t written[KIT_OUTPUTS_MAX];
    struct buf rolls;
    struct buf bad;          /* records that a reader could not read, a line each */
    struct kit_sum sums[32]; /* measures */
    uint32_t n_sums;
    bool judged;
    struct stage_judgement judgement;
    /* transforms */
    uint64_t *origins;
    size_t n_origins, origins_capacity;
    bool has_origin;
    int64_t rolled_rows;
};

void kit_outcome_init(struct kit_outcome *);
void kit_outcome_deinit(struct kit_outcome *);
/* Adds what one call gave. ids: of the n selected rows, NULL for flush and readers. */
void kit_outcome_add(struct kit_outcome *, const struct kit_bench *, const struct stage_result *,
                     const uint64_t *ids, int64_t n);
/* A row that the stage refused alone. */
void kit_outcome_refused(struct kit_outcome *, uint64_t id, const struct sluice_error *);
/* Are they equal? If not, why says where they differ; a and b name the two for people. */
bool kit_outcome_equal(const struct kit_outcome *, const char *a, const struct kit_outcome *,
                       const char *b, struct buf *why);
/* Have they the same records, in whatever order? */
bool kit_outcome_same_records(const struct kit_outcome *, const struct kit_outcome *);
/* As text that two processes can compare. */
void kit_outcome_print(const struct kit_outcome *, struct buf *out);

/* ---- driving (kit_drive.c) ---- */

/* How servers answer. */
struct kit_answering {
    bool refused; /* every ask; else one of eight */
    bool empty;   /* nothing is said, and nothing refused */
    uint8_t fill; /* behind an answer */
};

struct kit_work {
    const uint64_t *ids; /* in order */
    int64_t n;
    const int64_t *cuts; /* ends of batches, ascending, the last one is n; NULL = one batch */
    uint32_t n_cuts;
    enum kit_profile profile;
    bool decoys;    /* batches hold further rows that are not selected */
    bool restore;   /* a new worker takes the state up before each batch */
    bool read_only; /* batches can't be written to */
    bool merge;     /* gates: each batch in a worker of its own, states merged */
    bool reversed;  /* with merge: in the other order */
    /* Stages that ask: so many batches wait side by side, each with a worker, and are answered in
     * an order that follows from seed; 0 = one after the other. */
    uint32_t beside;
    uint64_t seed;
    bool abandoned; /* each call is closed while it waits, and made again by another worker */
    struct kit_answering answering;
    uint8_t fill;   /* behind buffers */
    void (*each)(void *ctx, struct kit *, const char *call); /* after each call, or NULL */
    void *ctx;
};

/* Runs a whole workload in one worker: side input, batches, flush, judge. Rows that the stage
 * refuses with SLUICE_E_DATA are set apart where the engine would. false = the kit itself failed
 * (out of memory); what the stage answered is in *out, which is the caller's to deinit. */
bool kit_drive(struct kit_bench *, const struct kit_work *, struct kit_outcome *out);
struct kit_reading;
/* The same on n threads at once (at most 16), a work or, with works NULL, a reading each. */
bool kit_drive_threads(struct kit_bench *const *benches, const struct kit_work *works,
                       const struct kit_reading *readings, struct kit_outcome *outs, uint32_t n);

struct kit_reading {
    const char *data; /* the decoded bytes of one file */
    size_t n;
    size_t chunk;  /* about this many bytes a chunk */
    /* newline readers, and those that read at random: the range [from, to) owns the lines, units
     * or records that begin in it */
    uint64_t from;
    uint64_t to;   /* 0 = to the end */
    bool backwards; /* units are scanned from the last to the first */
    bool abandoned; /* before each file and unit a worker is closed while it waits for them */
    bool read_only;
    uint8_t fill;
    void (*each)(void *ctx, struct kit *, const char *call);
    void *ctx;
};

/* kit_asks.c. One round: the worker, whose last call asked, is resumed with answers that follow from
 * what it asked. */
sluice_status kit_answer(struct kit_bench *, struct stage_worker *, struct stage_result *,
                         const struct kit_answering *, struct sluice_error *err);
/* Results that are recorded and follow from other things than rows and answers: the check has
 * nothing to compare, and is skipped. */
bool kit_compares(struct kit *);
#define KIT_BESIDE_MAX 16u
struct kit_beside_user {
    uint32_t n; /* workers, at most KIT_BESIDE_MAX */
    uint64_t seed;
    const struct kit_answering *how;
    void *ctx;
    bool (*view)(void *ctx, uint32_t batch, struct kit_view *);
    /* In the order of the batches. */
    bool (*done)(void *ctx, uint32_t batch, sluice_status, const struct sluice_error *,
                 const struct stage_result *);
};
/* Puts batches through workers that wait side by side. false = a function said so, or no memory. */
bool kit_beside(struct kit_bench *, const struct kit_beside_user *, uint32_t n_batches);

bool kit_read(struct kit_bench *, const struct kit_reading *, struct kit_outcome *out);
/* kit_scan.c: readers that read at random. kit_read is kit_scan for them. */
bool kit_random(const struct kit *);
bool kit_scan(struct kit_bench *, const struct kit_reading *, struct kit_outcome *out);
/* What a survey says of the file, by a worker that is opened before prepare. false = it fails. */
bool kit_describe(struct kit_bench *, const struct kit_reading *, struct buf *said, bool *any);
/* --data as it is stored. */
bool kit_file_stored(struct kit *, struct buf *out);
/* Files for readers: 0 JSON lines, 1 one JSON array, 2 plain text; or --data. */
#define KIT_FILES 3u
bool kit_file_make(struct kit *, uint32_t which, size_t n, struct buf *out);

/* Either of them with ordinary input: what most checks run. rows = 0: a default. */
bool kit_exercise(struct kit_bench *, int64_t rows, enum kit_profile,
                  void (*each)(void *ctx, struct kit *, const char *call), void *ctx,
                  struct kit_outcome *out);

/* Is the outcome something a run may end with? If not the check fails, and says what. */
bool kit_outcome_fine(struct kit *, const struct kit_outcome *, const char *of);

/* ---- checks (check_*.c) ---- */

enum {
    KIT_OF_FILE = 1, /* once a file, not once a stage */
    KIT_FIRST = 2,   /* runs even when the stage fails an ordinary run */
    KIT_TWICE = 4,   /* in two processes, whose dumps must be equal */
    KIT_FUZZES = 8,  /* only with --fuzz */
    KIT_COUNTS = 16, /* without the allocator's caches */
    KIT_ASIDE = 32   /* finds what is a danger to others: nothing else runs after it failed */
};

struct kit_check {
    const char *name;
    const char *doc; /* what a failure means; how to mend it */
    void (*run)(struct kit *);
    uint32_t flags;
};

extern const struct kit_check kit_checks[];
extern const size_t kit_n_checks;
const struct kit_check *kit_check_find(const char *name); /* NULL = none */

void check_load_twice(struct kit *);
void check_symbols(struct kit *);
void check_descriptor(struct kit *);
void check_options_limits(struct kit *);
void check_options_wrong(struct kit *);
void check_options_required(struct kit *);
void check_prepare(struct kit *);
void check_runs(struct kit *);
void check_schema(struct kit *);
void check_verdicts(struct kit *);
void check_measures(struct kit *);
void check_origin(struct kit *);
void check_empty(struct kit *);
void check_one_row(struct kit *);
void check_nulls(struct kit *);
void check_types(struct kit *);
void check_selection(struct kit *);
void check_huge(struct kit *);
void check_bad_utf8(struct kit *);
void check_hostile(struct kit *);
void check_row_local(struct kit *);
void check_splits(struct kit *);
void check_asks(struct kit *);
void check_threads(struct kit *);
void check_deterministic(struct kit *);
void check_fuzz(struct kit *);
void check_units(struct kit *);
void check_restore(struct kit *);
void check_state_damage(struct kit *);
void check_gate_merge(struct kit *);
void check_input_read_only(struct kit *);
void check_allocations(struct kit *);
void check_cancel(struct kit *);
void check_leaks(struct kit *);
void check_signals(struct kit *);
void check_process(struct kit *);
void check_descriptors(struct kit *);
void check_children(struct kit *);
void check_outside(struct kit *);
void check_chunks(struct kit *);
void check_ranges(struct kit *);
void check_file_end(struct kit *);
void check_rolls(struct kit *);

/* Ids 0 .. n-1, the caller's to free. */
uint64_t *kit_ids(int64_t n);
bool kit_reader(const struct kit *);
/* Skips the check for roles and modes that it has nothing to say about. */
bool kit_not_for_readers(struct kit *);

#endif
