/* sluice.h - the whole contract between Sluice and a stage plugin (ABI 1.0). C11 and C++17, no dependencies.
 *
 * A plugin is a shared object that exports one function, `sluice_plugin_v1`, which returns a constant descriptor. The host owns
 * the world (files, codecs, threads, retries, memory, commits); a plugin owns formats and algorithms. See also README.md and
 * `sluice inspect STAGE`.
 *
 * Growth rules. Every struct begins with its size in bytes; the host copies min(theirs, ours) into zeroed memory. Fields are only
 * ever appended, never reordered, resized or reused. Arrays of structs carry a stride. The major version is in the symbol's name.
 *
 * Lifecycle, driven by the host in this order and no other:
 *   open(options) -> prepare(schemas) -> worker_open x n -> process or read x n -> flush -> worker_close -> close
 * `open` and `prepare` run once on one thread; `sluice check` stops after `prepare`, so neither may touch data. What `open` returns
 * ("shared") is read-only after `prepare` and used from many threads; mutable state lives in workers, each used by one thread at a
 * time. After an error from `process` the worker's state is undefined and the host closes it.
 *
 * Ownership. "borrows" = valid for the call only; "takes" = the callee owns it from now on, whatever it returns; "gives" = the
 * caller owns it. Nobody frees what another allocated. */
#ifndef SLUICE_H
#define SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_MAJOR 1u
#define SLUICE_ABI_MINOR 0u

#if defined(_WIN32)
#error "Sluice runs on POSIX systems"
#endif
#define SLUICE_EXPORT __attribute__((visibility("default")))

/* ---- Arrow C Data Interface (canonical guard; https://arrow.apache.org/docs/format/CDataInterface.html) ---- */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* ---- Status and errors ---- */
typedef int32_t sluice_status;   /* an unknown code is treated as SLUICE_E_INTERNAL */
#define SLUICE_OK 0
#define SLUICE_E_CONFIG 1        /* the user's options are wrong; before any data */
#define SLUICE_E_SCHEMA 2        /* a column is missing or of the wrong type; before any data */
#define SLUICE_E_DATA 3          /* this batch is bad: the host bisects and quarantines rows */
#define SLUICE_E_RETRY 4         /* transient: the host may call again with the same input */
#define SLUICE_E_NOMEM 5         /* never decides a row's fate */
#define SLUICE_E_CANCELLED 6
#define SLUICE_E_INTERNAL 7      /* a defect of the plugin or the host */
#define SLUICE_E_IO 8            /* a file or device failed (also: disk full) */
#define SLUICE_E_HALT 9          /* a contract is broken for good; only gates may return it */

/* The caller owns it (1024+ bytes on its stack) and sets size; nothing to free. `message` states what was found, what was expected
 * and what to do. */
struct sluice_error {
    uint32_t size;
    int32_t code;
    int64_t row;                 /* row in the batch or -1 */
    char field[64];              /* option or column at fault, or "" */
    char message[944];
};

/* ---- Options: one table drives parsing, suggestions, `inspect`, the reference pages and the task key ---- */
#define SLUICE_OPT_BOOL 1        /* stored as uint8_t: 0 or 1 */
#define SLUICE_OPT_INT 2         /* int64_t */
#define SLUICE_OPT_FLOAT 3       /* double */
#define SLUICE_OPT_STRING 4      /* const char *, host-owned until close; NULL if unset and no default */
#define SLUICE_OPT_ENUM 5        /* int32_t: index into choices "a|b|c" */
#define SLUICE_OPT_SIZE 6        /* uint64_t bytes; text like 64MiB, 1e6, 2GB */
#define SLUICE_OPT_DURATION 7    /* int64_t nanoseconds; text like 10s, 5m */
#define SLUICE_OPT_PATH 8        /* const char *, absolute; its content enters the task key */
#define SLUICE_OPT_COLUMN 9      /* const char *: a column's name */
#define SLUICE_OPT_RANGE 10      /* struct sluice_range; text lo..hi */
#define SLUICE_OPT_LIST 11       /* struct sluice_list of strings */
#define SLUICE_OPT_MAP 12        /* struct sluice_map of string to string */
#define SLUICE_OPT_NODE 13       /* const char *: the name of another node of the pipeline (gates) */

#define SLUICE_OPTF_POSITIONAL 1u      /* may be given without a name; at most one */
#define SLUICE_OPTF_NO_OUTPUT 2u       /* does not affect output bytes: left out of the task key */
#define SLUICE_OPTF_DEPRECATED 4u
#define SLUICE_OPTF_REQUIRED 8u        /* no default: must be given */
#define SLUICE_OPTF_OUTPUT_PATH 16u    /* a dataset folder that the host writes; never in the task key */

struct sluice_range { double lo, hi; };
struct sluice_list { const char *const *items; uint64_t n; };
struct sluice_map { const char *const *keys; const char *const *values; uint64_t n; };

struct sluice_option {
    const char *name;
    const char *doc;             /* one sentence, with units */
    const char *def;             /* canonical text as a user would type it; NULL = unset */
    const char *choices;         /* "a|b|c" for enum, else NULL */
    const char *since;           /* version of the stage, or NULL */
    double min, max;             /* inclusive; min == max means no range */
    int32_t type;                /* SLUICE_OPT_* */
    uint32_t flags;              /* SLUICE_OPTF_* */
    uint64_t offset;             /* where the host stores the parsed value in the config struct */
};

/* ---- Host services. All functions are thread-safe; arguments are borrowed. Test with SLUICE_HAS. ---- */
#define SLUICE_HAS(api, fn) \
    ((api)->size >= offsetof(struct sluice_host_api, fn) + sizeof((api)->fn) && (api)->fn != NULL)
#define SLUICE_LOG_DEBUG 0
#define SLUICE_LOG_INFO 1
#define SLUICE_LOG_WARN 2
#define SLUICE_LOG_ERROR 3

struct sluice_host;              /* one per stage instance */
struct sluice_host_api {
    uint64_t size;
    uint32_t abi_major, abi_minor;
    /* Memory counted against the run's budget; NULL when it is used up (return SLUICE_E_NOMEM then). */
    void *(*alloc)(struct sluice_host *, uint64_t bytes);
    void *(*realloc)(struct sluice_host *, void *, uint64_t bytes);
    void (*free)(struct sluice_host *, void *);
    void (*log)(struct sluice_host *, int32_t level, const char *message);
    /* Reads a whole file (a `path` option), decompressed; the bytes belong to the host until `close`. */
    sluice_status (*read_file)(struct sluice_host *, const char *path, const void **data, uint64_t *size,
                               struct sluice_error *);
    /* A seed that depends on the pipeline's seed, the stage's name and salt only. */
    uint64_t (*seed)(struct sluice_host *, uint64_t salt);
    /* A private folder for temporary files, wiped by the host. */
    const char *(*scratch_dir)(struct sluice_host *);
    /* Bytes of memory this stage's worker may use for its own buffers (spill above it). */
    uint64_t (*memory_share)(struct sluice_host *);
    /* Non-zero when the run is being stopped; poll in loops over 10 ms and return SLUICE_E_CANCELLED. */
    int32_t (*cancelled)(struct sluice_host *);
};

/* ---- prepare: schemas in, schemas out ---- */
/* Type names: bool int8..int64 uint8..uint64 float32 float64 utf8 binary json (utf8 holding one JSON value) fixed[N]
 * list<T> struct<a:T,b:T>, and `spans` = list<uint64>, each begin | end << 32 in bytes of the source column (the memory of
 * struct text_span on little-endian machines). A trailing `?` allows nulls. */
struct sluice_plan {             /* given to prepare; valid for that call */
    uint64_t size;
    void *ctx;
    /* Asks for a column of a port's input. process() then sees exactly the columns asked for, in the order of asking: *index is
     * the place. type "" accepts any; "a|b" either. Missing: SLUICE_E_SCHEMA with a suggestion, unless optional (then *index = -1).
     * Hidden columns may be asked for: _row (uint64: the row's number in its split), _pos (uint64: split << 40 | row, behind
     * an exchange). */
    sluice_status (*need)(struct sluice_plan *, uint32_t port, const char *name, const char *type, int32_t optional,
                          int32_t *index, struct sluice_error *);
    /* Asks for a derived column (words, sentences): the host inserts the provider once and shares it among stages. options are
     * written "rule=uax29". */
    sluice_status (*need_derived)(struct sluice_plan *, uint32_t port, const char *provider, const char *options,
                                  const char *source, int32_t *index, struct sluice_error *);
    /* Metadata of a needed column (for example vocab_size of a tokens column) or NULL. Borrowed until prepare returns. */
    const char *(*metadata)(struct sluice_plan *, uint32_t port, int32_t index, const char *key);
    /* Declares an output column. Readers and transforms: the whole output, in this order (input columns don't pass). Annotators:
     * added columns, or replaced ones when the name exists. metadata: "key=value\nkey=value" or NULL. */
    sluice_status (*add)(struct sluice_plan *, const char *name, const char *type, const char *metadata,
                         struct sluice_error *);
    /* Writers: one output file kind; process() refers to it by the order of calls. suffix ".jsonl"; codec "none", "gzip" or
     * "zstd" (the host compresses and appends .gz/.zst). level 0 = default. */
    sluice_status (*output)(struct sluice_plan *, const char *suffix, const char *codec, int32_t level,
                            struct sluice_error *);
    /* A fact for the manifest of every dataset downstream (tokenizer hash, eos id). json: one JSON value. */
    sluice_status (*note)(struct sluice_plan *, const char *key, const char *json, struct sluice_error *);
    /* Type of the k-th column of a port ("" past the end), to take all columns: name and type are borrowed. */
    sluice_status (*column)(struct sluice_plan *, uint32_t port, uint32_t k, const char **name, const char **type);
    /* Readers: non-zero when a later stage uses the column. prepare may run twice; the first time everything is wanted, the second
     * time the answer is final and columns nobody wants need not be added. */
    int32_t (*wanted)(struct sluice_plan *, const char *name);
};

/* ---- Data ---- */
struct sluice_batch {            /* borrowed and immutable */
    uint64_t size;
    uint32_t port;               /* 0 = main input, 1 = side input (delivered completely before port 0) */
    uint32_t reserved;
    const struct ArrowArray *array;   /* struct array whose children are the needed columns; offsets are 0 */
    const uint32_t *rows;        /* selected rows, ascending; NULL = all */
    int64_t n;                   /* how many rows are selected */
};

/* Readers: a piece of one file's decoded bytes. 64 readable bytes follow data[n-1]. For `newline` readers a chunk holds whole lines
 * that this split owns. For `none` readers chunks continue until the file ends; bytes not consumed are presented again, with more. */
#define SLUICE_PADDING 64
#define SLUICE_CHUNK_FIRST 1u    /* data[0] is the first byte of the file */
#define SLUICE_CHUNK_LAST 2u     /* the file (or the split's part of it) ends with data[n-1] */
struct sluice_chunk {
    uint64_t size;
    const char *data;
    uint64_t n;
    uint64_t offset;             /* of data[0] in the file's decoded bytes */
    const char *uri;
    uint32_t file;               /* index within the split */
    uint32_t flags;
    uint64_t consumed;           /* out: set by the reader; n by default */
};

/* One per selected row. */
#define SLUICE_VERDICT_BAD (-1) /* this row can't be judged: it is quarantined; dup_of holds "reason: detail for people" */
struct sluice_verdict {
    int32_t reason;              /* 0 = keep, k = the k-th of the stage's reasons (from 1), or SLUICE_VERDICT_BAD */
    int32_t dup_of_length;       /* bytes of dup_of */
    double value;                /* what was measured */
    double limit;                /* what it was compared with */
    const char *dup_of;          /* id of the document it duplicates or NULL; borrowed until emit returns */
    double similarity;           /* 0..1; with dup_of */
};

/* What process() gives back. Calls never block; everything is held back until process returns SLUICE_OK, and discarded on an error. */
struct sluice_emit {
    uint64_t size;
    void *ctx;
    /* Filters (and annotators that also judge): exactly n = batch->n verdicts, once per process. */
    sluice_status (*verdicts)(struct sluice_emit *, const struct sluice_verdict *, int64_t n);
    /* Annotators: one struct array of batch->n rows with the added columns (row k belongs to the k-th selected row). Transforms and
     * readers: any number of struct arrays of the declared columns. Takes the array (its release may run on any thread, after
     * close). A transform's column `_origin` (uint64 or list<uint64>) names the _row values each output row came from. */
    sluice_status (*batch)(struct sluice_emit *, struct ArrowArray *);
    /* Readers: a record that can't be read: its decoded byte range, a reason ([a-z0-9_]+) and a detail for people. */
    sluice_status (*bad)(struct sluice_emit *, uint64_t begin, uint64_t end, const char *reason, const char *detail);
    /* Writers: appends bytes to the current file of output kind `output`. */
    sluice_status (*write)(struct sluice_emit *, uint32_t output, const void *data, uint64_t n);
    /* Writers: ends the current files; the next write begins new ones. `rows` is how many rows the ended files hold. */
    sluice_status (*roll)(struct sluice_emit *, int64_t rows);
    /* Adds to a named measure of this stage's ledger (tokens, documents, padding). */
    sluice_status (*measure)(struct sluice_emit *, const char *name, int64_t delta);
};

/* Bytes of a saved state, framed and checksummed by the host. */
struct sluice_io {
    uint64_t size;
    void *ctx;
    sluice_status (*read)(struct sluice_io *, void *, uint64_t n);   /* all n bytes or SLUICE_E_DATA */
    sluice_status (*write)(struct sluice_io *, const void *, uint64_t n);
};

/* Gates: what is known at the barrier. count() answers for SLUICE_OPT_NODE options: rows that left that node. */
struct sluice_verdict_io {
    uint64_t size;
    void *ctx;
    int64_t (*count)(struct sluice_verdict_io *, const char *node);   /* -1 = unknown */
    int32_t outcome;             /* out: SLUICE_GATE_* */
    char message[1000];          /* out: stage, measure, bound, likely cause */
};
#define SLUICE_GATE_PASS 0
#define SLUICE_GATE_WARN 1
#define SLUICE_GATE_HALT 2

/* ---- Stages ---- */
#define SLUICE_ROLE_READER 1
#define SLUICE_ROLE_FILTER 2     /* returns verdicts */
#define SLUICE_ROLE_ANNOTATOR 3  /* returns added or replaced columns, and may return verdicts as well */
#define SLUICE_ROLE_TRANSFORM 4  /* returns batches */
#define SLUICE_ROLE_GATE 5       /* observes and judges */
#define SLUICE_ROLE_WRITER 6     /* turns batches into bytes of host-owned files */

#define SLUICE_MODE_STATELESS 0  /* row-local: process(a||b) = process(a)||process(b) */
#define SLUICE_MODE_ORDERED 1    /* one worker a split, its batches in order, then flush */
#define SLUICE_MODE_KEYED 2      /* one virtual partition at a time, sorted by (key, position); input column `key` is fixed[16] */
#define SLUICE_MODE_GLOBAL 3     /* one worker, everything in order */

#define SLUICE_STAGE_RECORDED 1u     /* not deterministic: results are journalled, never recomputed */
#define SLUICE_STAGE_MAY_BLOCK 2u
#define SLUICE_STAGE_SIDE_INPUT 4u   /* has a port 1 */
#define SLUICE_STAGE_SIDE_BY_SPLIT 8u /* port 1's rows carry _pos; each split gets its own, sorted by row */
#define SLUICE_STAGE_CONSUMES 16u    /* a transform that may emit fewer rows than it takes in without dropping */
#define SLUICE_STAGE_HIDDEN 32u      /* an internal part of a composite: not listed by default */

struct sluice_stage {
    uint64_t size;
    const char *name;            /* [a-z][a-z0-9_]* */
    const char *version;
    const char *summary;         /* one line */
    const char *doc;             /* Markdown; may be NULL */
    const char *example;         /* Lua, as in a pipeline */
    uint32_t role, mode;
    uint64_t flags;
    const struct sluice_option *options;
    uint64_t n_options, option_stride, config_size;
    const char *reasons;         /* "too_short|too_long": all that a verdict may name; NULL for none */
    const char *provides;        /* annotators: the derived column's name ("words"); its source is the option `over` */
    const char *cut;             /* readers: "newline" or "none" */
    const char *conserves;       /* transforms: measure that goes in and comes out equal ("tokens"), or NULL */
    uint64_t bytes_shared, bytes_worker;   /* memory of its own, upper estimate */
    double bytes_per_input;      /* bytes held at most per byte of a split's text (ordered stages) */
    uint64_t state_version;
    sluice_status (*open)(const struct sluice_host_api *, struct sluice_host *, const void *config, void **shared,
                          struct sluice_error *);
    sluice_status (*prepare)(void *shared, struct sluice_plan *, struct sluice_error *);
    sluice_status (*worker_open)(void *shared, void **worker, struct sluice_error *);
    sluice_status (*process)(void *worker, const struct sluice_batch *, struct sluice_emit *, struct sluice_error *);
    sluice_status (*read)(void *worker, struct sluice_chunk *, struct sluice_emit *, struct sluice_error *);
    sluice_status (*flush)(void *worker, struct sluice_emit *, struct sluice_error *);
    sluice_status (*save)(void *worker, struct sluice_io *, struct sluice_error *);
    sluice_status (*load)(void *worker, struct sluice_io *, uint64_t version, struct sluice_error *);
    sluice_status (*merge)(void *worker, struct sluice_io *, uint64_t version, struct sluice_error *); /* adds a saved state */
    sluice_status (*judge)(void *worker, struct sluice_verdict_io *, struct sluice_error *);           /* gates, at the barrier */
    void (*worker_close)(void *worker);
    void (*close)(void *shared);
};

struct sluice_plugin {
    uint64_t size;
    uint32_t abi_major, abi_minor_built, abi_minor_needed, verdict_stride;
    const char *name, *version, *license;
    const struct sluice_stage *const *stages;   /* NULL-terminated */
    const char *libraries;       /* versions of linked libraries that shape output, "simdjson 3.0.1, ..." or NULL; in the task key */
};

typedef const struct sluice_plugin *(*sluice_plugin_fn)(void);
SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void);

#ifdef __cplusplus
}
#endif
#endif
