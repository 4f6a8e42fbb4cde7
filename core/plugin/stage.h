/* Drives the vtable of a stage: the only file that calls into plugins. Owns opened instances, their
 * workers and their host services; checks what plugins give back. Depends on registry, options and
 * data.
 *
 * Thread rule: open, prepare, close on one thread; a worker by one thread at a time, different
 * workers in parallel. Order is asserted: open, prepare (again while no worker was opened),
 * workers, close.
 *
 * What a stage leaves out (NULL) has a default: open gives a NULL shared; prepare needs nothing; a
 * worker without worker_open is `shared` itself; flush gives nothing; save saves nothing; judge
 * passes. */
#ifndef SLUICE_PLUGIN_STAGE_H
#define SLUICE_PLUGIN_STAGE_H

#include "base/budget.h"
#include "base/buf.h"
#include "data/schema.h"
#include "plugin/options.h"
#include "plugin/registry.h"

#define STAGE_PORTS 2u

struct stage;
struct stage_worker;

/* Statuses of stages in child processes, inside the core only (plugins can't give them): the child
 * died, or a call did not end in time, also when it was repeated in a child of its own; or it was
 * killed from outside (SIGKILL), as a rule by a system that has no memory left, which is never a
 * row's doing. */
#define STAGE_CRASHED ((sluice_status)64)
#define STAGE_TIMED_OUT ((sluice_status)65)
#define STAGE_KILLED ((sluice_status)66)

static inline bool stage_died(sluice_status status)
{
    return status == STAGE_CRASHED || status == STAGE_TIMED_OUT || status == STAGE_KILLED;
}

/* What the core provides to one instance. Functions are called from any thread. Copied by
 * stage_open; what it points to must live until stage_close. Zeroed = works, without budget, files
 * and scratch. */
struct stage_services {
    void *ctx;
    struct budget *budget; /* NULL = no limit */
    /* NULL = dropped. */
    void (*log)(void *ctx, int32_t level, const char *stage, const char *message);
    /* A whole file, decompressed; valid until release_file is called with data (at stage_close;
     * NULL = nothing to do). */
    sluice_status (*read_file)(void *ctx, const char *path, const void **data, uint64_t *size,
                               struct sluice_error *err);
    void (*release_file)(void *ctx, const void *data);
    /* The same for host->map: a whole file as it is stored, and its end. */
    sluice_status (*map_file)(void *ctx, const char *path, const void **data, uint64_t *size,
                              struct sluice_error *err);
    void (*unmap_file)(void *ctx, const void *data, uint64_t size);
    /* Lives until stage_close; NULL on failure. */
    const char *(*scratch_dir)(void *ctx, const char *stage);
    uint64_t seed;                /* the pipeline's */
    uint64_t memory_share;        /* bytes a worker may use; 0 = 64 MiB */
    const _Atomic int *cancelled; /* NULL = never */
    bool check;   /* validate arrays in depth even from trusted plugins (SLUICE_CHECK=1, debug) */
    bool unnamed; /* errors come without the stage's name: who hears of them puts it before them */
    /* Asked before each allocation for the plugin: false = it gets NULL. NULL = all are allowed. */
    bool (*allow)(void *ctx, uint64_t bytes);
};

/* Opens an instance called name (copied) of entry. Takes options, even on failure. Gives. */
sluice_status stage_open(const struct registry_entry *entry, struct options *options,
                         const char *name, const struct stage_services *services,
                         struct stage **out, struct sluice_error *err) MUST_USE;
void stage_close(struct stage *); /* NULL is fine; all workers are closed */

const char *stage_name(const struct stage *);
const struct registry_entry *stage_entry(const struct stage *);
const struct sluice_stage *stage_kind(const struct stage *);
const struct options *stage_options(const struct stage *);
uint32_t stage_n_reasons(const struct stage *);
const char *stage_reason(const struct stage *, uint32_t k); /* k from 1, as in verdicts */
bool stage_can_save(const struct stage *);                  /* has save and load */
bool stage_can_merge(const struct stage *);                 /* has save and merge */

/* For adapters in the core, inside open: name, options and services of the instance that host
 * belongs to. */
const struct stage *stage_of(struct sluice_host *host);
const struct stage_services *stage_services(const struct stage *);

/* For adapters in the core: the user pointer of the entry that host belongs to (registry_add_user),
 * inside open. */
void *stage_user(struct sluice_host *host);

/* For stages in child processes, inside open: from now on the two statuses above may come from the
 * stage's functions. */
void stage_set_remote(struct sluice_host *host);
/* Inside prepare: what the planner gave, and what was recorded so far. Borrowed until prepare
 * returns. */
const struct stage_inputs *stage_plan_inputs(const struct sluice_plan *);
const struct stage_prepared *stage_plan_prepared(const struct sluice_plan *);
/* After prepare: the struct type of the batches that the stage gives. Borrowed until the next
 * prepare. */
const struct type *stage_output(const struct stage *);
/* Inside load and merge: bytes not read yet. */
size_t stage_state_left(const struct sluice_io *);

/* ---- prepare ---- */

/* Places of needed columns that are not in the port's schema. */
#define STAGE_FIELD_MISSING (-1) /* a derived column: insert the provider, then prepare again */
#define STAGE_FIELD_ROW (-2)     /* _row: uint64, the row's number in its split */
#define STAGE_FIELD_POS (-3)     /* _pos: uint64, split << 40 | row */

struct stage_need {
    char *name; /* of the column in the schema; NULL for a derived one that is missing */
    char *type; /* as asked: "" any, "a|b" */
    char *provider, *options, *source; /* derived columns only, else NULL; options as asked */
    int32_t field;                     /* place in the port's schema or STAGE_FIELD_* */
    bool optional;
};

struct stage_output {
    char *suffix; /* ".jsonl" */
    char *codec;  /* none gzip zstd */
    int32_t level;
};

struct stage_note {
    char *key;
    char *json;
};

struct stage_inputs {
    uint32_t n_ports;
    const struct schema *schemas[STAGE_PORTS]; /* borrowed */
    /* Finds a derived column in the schema of port (by canonical options): *field or
     * STAGE_FIELD_MISSING. NULL = the texts of the field's derived_* are compared as they are. */
    sluice_status (*find_derived)(void *ctx, uint32_t port, const char *provider,
                                  const char *options, const char *source, int32_t *field,
                                  struct sluice_error *err);
    /* Answers a reader's struct sluice_plan.wanted; NULL = everything is wanted. */
    int32_t (*wanted)(void *ctx, const char *name);
    /* Called for a column that is asked for and is not there, before that is decided on: may append
     * it to the schema that it lent. NULL = nothing is added. */
    void (*absent)(void *ctx, uint32_t port, const char *name, const char *type);
    void *ctx;
    /* Readers with survey: struct sluice_plan.described. described_uri NULL: no file is known;
     * described_data NULL: nothing was said of it. Borrowed. */
    const char *described_uri;
    const void *described_data;
    uint64_t described_n;
    /* struct sluice_plan.described_at; what it gives is borrowed until the next call. NULL: nobody
     * tells of more than the first file. */
    sluice_status (*describe)(void *ctx, uint64_t k, const char **uri, const void **data,
                              uint64_t *n, struct sluice_error *err);
    void *describe_ctx;
};

struct stage_prepared {
    struct stage_need *needs[STAGE_PORTS]; /* process sees these columns, in this order */
    uint32_t n_needs[STAGE_PORTS];
    bool missing;        /* a derived column is missing: prepare again once it is there */
    struct schema added; /* declared output columns */
    struct stage_output *outputs;
    uint32_t n_outputs;
    struct stage_note *notes;
    uint32_t n_notes;
};

/* Asks the stage what it needs and gives. Only records: call again with other schemas as often as
 * needed (each call replaces what workers will be checked against). *out is the caller's to deinit,
 * on failure as well. */
sluice_status stage_prepare(struct stage *, const struct stage_inputs *, struct stage_prepared *out,
                            struct sluice_error *err) MUST_USE;
void stage_prepared_deinit(struct stage_prepared *);

/* ---- what one call gave back ---- */

struct stage_bad {
    uint64_t begin, end;
    const char *reason, *detail; /* owned by the result */
};

#define STAGE_MARK_ROLL UINT32_MAX
struct stage_mark {        /* in order: bytes for an output, or a roll */
    uint32_t output;       /* or STAGE_MARK_ROLL */
    uint64_t offset, size; /* within bytes.data */
    int64_t rows;          /* of a roll */
};

/* A name that a declared column is read from and that records don't have. Of the names that the
 * first of them does have, no more than STAGE_THERE_MAX are kept. */
#define STAGE_THERE_MAX 64u
struct stage_absence {
    const char *name;
    uint64_t rows;
    const char *there; /* n_there names that the first of them has, each with its NUL */
    uint64_t n_there;
};

struct stage_measure {
    char *name;    /* owned by the result, kept between calls */
    int64_t delta; /* 0 = nothing was added in this call */
};

struct stage_skip {
    char *how;            /* owned by the result, kept between calls */
    uint64_t rows, bytes; /* both 0 = nothing was added in this call */
};

struct stage_ask { /* see stage_resume */
    uint32_t kind;
    uint64_t tag;
    uint64_t offset, size; /* of the payload, within asked.data */
};

struct stage_unit {
    uint64_t begin, end, bytes;
    int64_t rows;
    uint64_t skip; /* 0 = it is to be read; else the offset of the reason in `text`, plus one */
};

/* Caller's memory, reused from call to call (each call clears it first). Everything in it belongs
 * to it, but batches may be moved out: copy the ArrowArray and set release to NULL. */
struct stage_result {
    struct sluice_verdict *verdicts; /* n_verdicts == batch->n where has_verdicts */
    int64_t n_verdicts;
    bool has_verdicts;
    struct ArrowArray *batches; /* struct arrays of the declared columns, offset 0 */
    uint32_t n_batches;
    struct stage_bad *bad;
    uint32_t n_bad;
    struct buf bytes;
    struct stage_mark *marks;
    uint32_t n_marks;
    struct stage_measure *measures; /* sorted by first use */
    uint32_t n_measures;
    struct buf absences;      /* for stage_absence_next */
    struct stage_skip *skips; /* sorted by first use */
    uint32_t n_skips;
    struct stage_ask *asks; /* the call is not over: stage_resume goes on with it */
    uint32_t n_asks;
    struct buf asked;         /* payloads */
    struct stage_unit *units; /* surveys: in ascending order, apart from each other */
    uint32_t n_units;
    struct buf description; /* of a survey */
    bool described;
    /* private: capacities, text of dup_of, reasons and details */
    int64_t verdicts_capacity;
    uint32_t batches_capacity, bad_capacity, marks_capacity, measures_capacity;
    uint32_t skips_capacity, asks_capacity, units_capacity;
    struct buf text;
};

void stage_result_init(struct stage_result *);
void stage_result_clear(
    struct stage_result *); /* releases batches, keeps memory that is not huge */
void stage_result_deinit(struct stage_result *);
/* The next absence from *at on, which is 0 at first; borrowed from the result. False: there are no
 * more. */
bool stage_absence_next(const struct stage_result *, size_t *at, struct stage_absence *out);

/* ---- workers ---- */

/* After prepare; of a reader with survey also before it, for surveys only. */
sluice_status stage_worker_open(struct stage *, struct stage_worker **out,
                                struct sluice_error *err) MUST_USE;
void stage_worker_close(struct stage_worker *); /* NULL is fine */
/* After any error but SLUICE_E_RETRY the worker may only be closed. */
bool stage_worker_usable(const struct stage_worker *);

/* On failure *out is empty. Filters always give verdicts; annotators one batch of n rows (and
 * verdicts if they judge). */
sluice_status stage_process(struct stage_worker *, const struct sluice_batch *,
                            struct stage_result *out, struct sluice_error *err) MUST_USE;
/* Readers. chunk->consumed is set by the call and is at most chunk->n. */
sluice_status stage_read(struct stage_worker *, struct sluice_chunk *chunk,
                         struct stage_result *out, struct sluice_error *err) MUST_USE;
/* Readers that read at random (struct sluice_scan). */
sluice_status stage_survey(struct stage_worker *, const struct sluice_file *,
                           struct stage_result *out, struct sluice_error *err) MUST_USE;
sluice_status stage_scan(struct stage_worker *, struct sluice_scan *, struct stage_result *out,
                         struct sluice_error *err) MUST_USE;
/* Why a unit need not be read; NULL = it is to be. Borrowed from the result. */
const char *stage_unit_skip(const struct stage_result *, uint32_t unit);

/* After a process, survey, scan or resume that ended well with out->n_asks > 0: goes on with that
 * call, whose arguments are still there, into the same result, where nothing was changed. items: n
 * answers in the order of asking. SLUICE_E_RETRY: the whole call is to be made again. Or closes the
 * worker, for nothing else is allowed before. */
sluice_status stage_resume(struct stage_worker *, const struct sluice_answer *items, uint32_t n,
                           struct stage_result *out, struct sluice_error *err) MUST_USE;
bool stage_may_ask(const struct stage *); /* has resume */

/* Once, after the last process, read or scan. */
sluice_status stage_flush(struct stage_worker *, struct stage_result *out,
                          struct sluice_error *err) MUST_USE;

/* State as a framed, checksummed text: "SLST" | u32 1 | u64 state_version | u64 size | u64 XXH3-128
 * low half of the bytes | bytes. A stage without save writes nothing into the frame. */
sluice_status stage_save(struct stage_worker *, struct buf *out, struct sluice_error *err) MUST_USE;
/* SLUICE_E_DATA: damaged, or the stage did not read all of it; SLUICE_E_CONFIG: saved by a newer
 * version of the stage. */
sluice_status stage_load(struct stage_worker *, const void *data, size_t n,
                         struct sluice_error *err) MUST_USE;
sluice_status stage_merge(struct stage_worker *, const void *data, size_t n,
                          struct sluice_error *err) MUST_USE;

/* The same in pieces, for states that memory need not hold: the caller keeps them in their order
 * and unharmed. The first is of the state_version, the last one is empty. */
#define STAGE_PIECE ((size_t)64 << 10) /* bytes of one at most */
struct stage_stream {
    void *ctx;
    sluice_status (*put)(void *ctx, const void *data, size_t n, struct sluice_error *); /* save */
    /* Replaces *piece by the next one. */
    sluice_status (*get)(void *ctx, struct buf *piece, struct sluice_error *);
};
sluice_status stage_save_to(struct stage_worker *, const struct stage_stream *,
                            struct sluice_error *err) MUST_USE;
/* Loads it, or where the stage can't load merges it. */
sluice_status stage_load_from(struct stage_worker *, const struct stage_stream *,
                              struct sluice_error *err) MUST_USE;

struct stage_judgement {
    int32_t outcome; /* SLUICE_GATE_* */
    char message[1000];
};
/* Gates, at the barrier. count may be NULL (every count is unknown). A stage without judge passes.
 */
sluice_status stage_judge(struct stage_worker *, int64_t (*count)(void *ctx, const char *node),
                          void *ctx, struct stage_judgement *out,
                          struct sluice_error *err) MUST_USE;

#endif
