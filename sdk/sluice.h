/* sluice.h - the whole contract between Sluice and a stage plugin (ABI 1.2). C11 and C++17, no
 * dependencies.
 *
 * A plugin is a shared object that exports one function, `sluice_plugin_v1`, which returns a
 * constant descriptor. The host owns the world (files, codecs, threads, retries, memory, commits);
 * a plugin owns formats and algorithms. This file is all a host and a plugin know of each other.
 * Above it, for comfort only: sluice_arrays.h (views and makers of columns), sluice_rows.h (rows in
 * the making), sluice_verdicts.h (texts judged one by one), sluice_files.h (the options of
 * writers), sluice_simple.h (a C filter in ten lines), sluice.hpp (a stage as a C++ class).
 * `sluice inspect STAGE` shows a stage as its users see it, `sluice test-plugin FILE` checks a
 * plugin against this contract.
 *
 * Lifecycle, driven by the host in this order and no other:
 *
 *     open(options) -> prepare(schemas) -> worker_open x n -> process, read or scan x n -> flush ->
 *     worker_close x n -> close
 *
 * Behind a call in which a worker asked for something (emit->ask) comes `resume` with the answers,
 * as often as it asks again; until then the worker gets no other call but worker_close.
 *
 * `open` and `prepare` run on one thread; `sluice check` stops after `prepare`, so neither may
 * touch data. `prepare` may run several times, each time with the final say over what the times
 * before declared; no worker is open then. A reader with cut "own" may be given a worker before
 * it, for a survey, which is closed again: survey does without what prepare finds. What `open`
 * returns ("shared") is read-only after `prepare` and used from many threads at once; mutable
 * state lives in workers, each used by one thread at a time, not always the same one. `flush` ends
 * a worker's input: once, after its last process or read. After an error from process, read,
 * flush, save, load or merge the worker's state is undefined and the host closes it (after
 * SLUICE_E_RETRY it may call again with the same input first). `close` comes when all workers are
 * closed. A plugin is never unloaded.
 *
 * Threads. A plugin may call every function it is given from the thread that called it, the host
 * services (struct sluice_host_api) from any of its own threads too, and must have stopped those
 * before the call that started them returns. It changes nothing of the process: no signals, working
 * directory, locale, environment, limits, no child processes, no exit. It writes to no global
 * state.
 *
 * Ownership. "borrows" (also the default where nothing is said) = valid for the call only; "takes"
 * = the callee owns it from now on, whatever it returns; "gives" = the caller owns it. Nobody frees
 * what another allocated. Strings are NUL-terminated UTF-8 unless a length is beside them.
 *
 * Errors. Functions that can fail return a sluice_status; all but the ones of struct sluice_emit
 * and struct sluice_io take a struct sluice_error last, which may be NULL. A refusal of the host (a
 * type that does not fit, a verdict too many) also fails the call in progress when the plugin
 * overlooks the status. An exception or a longjmp never leaves a plugin (sluice.hpp sees to that).
 *
 * NULL. Functions of struct sluice_stage that a plugin leaves out have a default, stated with each.
 * Pointers that the host hands over are never NULL unless said so.
 *
 * Numbers are those of the machine. Determinism: unless a stage is marked SLUICE_STAGE_RECORDED,
 * what it gives back is a function of its options, the content of `path` options, its input and
 * host->seed alone: never of time, addresses, environment, batch sizes, thread timing or memory at
 * hand. Compile with -ffp-contract=off (plugin.mk does).
 *
 * Growth rules. Fields are only ever appended, never reordered, resized or reused; the major
 * version is in the symbol's name, the minor counts appended fields. Structs begin with their size
 * in bytes, and whoever receives one reads or writes min(theirs, ours) bytes of it: what is missing
 * counts as zero. A function that may be missing is tested with SLUICE_HAS. Arrays of structs carry
 * a stride (struct sluice_option: option_stride; struct sluice_verdict: verdict_stride). struct
 * sluice_range, sluice_list and sluice_map stand inside structs of the plugin and never grow: a
 * wider kind of option gets a number of its own. Constants keep their values; new flags and codes
 * are zero for those who don't know them, or make the host refuse the plugin. A plugin states the
 * minor it needs, which is 0 as long as it does without later fields, apart from the one it was
 * built with; a host refuses one that needs more than it has. */
#ifndef SLUICE_H
#define SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_MAJOR 1u
#define SLUICE_ABI_MINOR 2u

/* The highest levels of the codecs that output files may have; 0 is a codec's default. */
#define SLUICE_GZIP_LEVEL_MAX 9
#define SLUICE_ZSTD_LEVEL_MAX 22

#if defined(_WIN32)
#error "Sluice runs on POSIX systems"
#endif
/* Marks the one function that a plugin exports (plugin.mk hides all others). */
#define SLUICE_EXPORT __attribute__((visibility("default")))

/* ---- Arrow C Data Interface (canonical guard;
 * https://arrow.apache.org/docs/format/CDataInterface.html) ---- */
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

/* What a code means for the run: CONFIG and SCHEMA end it before any data was read (exit status 2);
 * DATA makes the host bisect the batch and quarantine the rows that fail alone; RETRY lets it call
 * again with the same input a few times, then counts as IO; NOMEM makes it repeat the batch alone
 * and then ends the run (5); CANCELLED ends it as interrupted (130); HALT is a gate's (3); IO and
 * INTERNAL end it (5 and 1). */
typedef int32_t sluice_status; /* an unknown code is treated as SLUICE_E_INTERNAL */
#define SLUICE_OK 0
#define SLUICE_E_CONFIG 1 /* the user's options are wrong; before any data */
#define SLUICE_E_SCHEMA 2 /* a column is missing or of the wrong type; before any data */
#define SLUICE_E_DATA 3   /* this batch is bad: the host bisects and quarantines rows */
#define SLUICE_E_RETRY 4  /* transient: the host may call again with the same input */
#define SLUICE_E_NOMEM 5  /* never decides a row's fate */
#define SLUICE_E_CANCELLED 6
#define SLUICE_E_INTERNAL 7 /* a defect of the plugin or the host */
#define SLUICE_E_IO 8       /* a file or device failed (also: disk full) */
#define SLUICE_E_HALT 9     /* a contract is broken for good; only gates may return it */

/* Owned by the caller (1024+ bytes, usually on its stack), who sets size = sizeof(struct
 * sluice_error) before the call; nothing to free. The callee fills the rest when it fails, and
 * nothing beyond size (an earlier host lowers size to what it knows). The host prefixes the stage's
 * name and repairs what is not UTF-8. sluice_fail() of sluice_arrays.h fills one. */
struct sluice_error {
    uint32_t size;
    int32_t code;      /* SLUICE_E_*; what the function returned counts */
    int64_t row;       /* row in the batch (not among the selected ones) or -1 */
    char field[64];    /* option or column at fault, or "" */
    char message[944]; /* what was found, what was expected, what to do */
};

/* ---- Options: one table drives parsing, suggestions, `inspect`, the reference pages and the task
 * key ---- */

/* How a value is stored in the config struct that `open` gets. A value that was not given and has
 * no default is zero bytes: NULL, 0, an empty list. Texts, lists and maps belong to the host and
 * live, unchanged, until `close` has returned. */
#define SLUICE_OPT_BOOL 1     /* stored as uint8_t: 0 or 1 */
#define SLUICE_OPT_INT 2      /* int64_t */
#define SLUICE_OPT_FLOAT 3    /* double */
#define SLUICE_OPT_STRING 4   /* const char *; NULL if unset */
#define SLUICE_OPT_ENUM 5     /* int32_t: index into choices "a|b|c" */
#define SLUICE_OPT_SIZE 6     /* uint64_t bytes; text like 64MiB, 1e6, 2GB */
#define SLUICE_OPT_DURATION 7 /* int64_t nanoseconds; text like 10s, 5m */
#define SLUICE_OPT_PATH 8     /* const char *, absolute; its content enters the task key */
#define SLUICE_OPT_COLUMN 9   /* const char *: a column's name */
#define SLUICE_OPT_RANGE 10   /* struct sluice_range; text lo..hi, lo.. or ..hi */
#define SLUICE_OPT_LIST 11    /* struct sluice_list of strings */
#define SLUICE_OPT_MAP 12     /* struct sluice_map of string to string */
#define SLUICE_OPT_NODE 13    /* const char *: the name of another node of the pipeline (gates) */

#define SLUICE_OPTF_POSITIONAL 1u /* may be given without a name; at most one */
#define SLUICE_OPTF_NO_OUTPUT 2u  /* does not affect output bytes: left out of the task key */
#define SLUICE_OPTF_DEPRECATED 4u /* still works; `inspect` marks it, suggestions leave it out */
#define SLUICE_OPTF_REQUIRED 8u   /* no default: must be given */
#define SLUICE_OPTF_OUTPUT_PATH \
    16u /* a dataset folder that the host writes; never in the task key */
/* Since 1.1: the file names others that stand beside it. The stage is given this path itself;
 * otherwise it may be given that of a copy. */
#define SLUICE_OPTF_BESIDE 32u

struct sluice_range { /* both inclusive; an open end is -INFINITY or INFINITY */
    double lo, hi;
};
struct sluice_list { /* items may be NULL when n is 0 */
    const char *const *items;
    uint64_t n;
};
struct sluice_map { /* in the order of the keys' bytes */
    const char *const *keys;
    const char *const *values;
    uint64_t n;
};

/* A row of a stage's option table. All texts are constants of the plugin. */
struct sluice_option {
    /* [a-z][a-z0-9_]*, at most 63 bytes; not `side` or `isolate`, which mean something to every
     * stage in a pipeline; required */
    const char *name;
    const char *doc;     /* one sentence, with units; required */
    const char *def;     /* canonical text as a user would type it, must be valid; NULL = unset */
    const char *choices; /* "a|b|c" for enum, else NULL */
    const char *since;   /* version of the stage, or NULL */
    double min, max;     /* inclusive, of int, float, size, duration, range; min == max: none */
    int32_t type;        /* SLUICE_OPT_* */
    uint32_t flags;      /* SLUICE_OPTF_* */
    uint64_t offset;     /* in the config struct, aligned for the type; options don't overlap */
};

/* ---- Host services ---- */

/* Given to `open`, valid until `close` has returned. Every function may be called from any thread;
 * the first argument is always the `host` that came with the table. A host of a later minor has a
 * larger table, one of an earlier minor a smaller one: functions that were not in 1.0 are tested
 * with SLUICE_HAS first; those of 1.0 are always there. */
#define SLUICE_HAS(api, fn) \
    ((api)->size >= offsetof(struct sluice_host_api, fn) + sizeof((api)->fn) && (api)->fn != NULL)
/* The same for functions of struct sluice_plan and of struct sluice_emit. */
#define SLUICE_HAS_PLAN(plan, fn) \
    ((plan)->size >= offsetof(struct sluice_plan, fn) + sizeof((plan)->fn) && (plan)->fn != NULL)
#define SLUICE_HAS_EMIT(emit, fn) \
    ((emit)->size >= offsetof(struct sluice_emit, fn) + sizeof((emit)->fn) && (emit)->fn != NULL)
#define SLUICE_LOG_DEBUG 0
#define SLUICE_LOG_INFO 1
#define SLUICE_LOG_WARN 2
#define SLUICE_LOG_ERROR 3

struct sluice_host; /* one per stage instance; opaque */
struct sluice_host_api {
    uint64_t size;
    uint32_t abi_major, abi_minor; /* the host's */
    /* Memory counted against the run's budget, aligned for any type, not cleared; NULL when the
     * budget is used up or the system has no more (return SLUICE_E_NOMEM then: the host repeats the
     * batch when others have given memory back). Large or lasting memory comes from here; small or
     * short-lived memory may come from malloc. 0 bytes give a pointer that is not NULL. */
    void *(*alloc)(struct sluice_host *, uint64_t bytes);
    /* As realloc(3): NULL = out of memory, and the old block stays; a NULL block is alloc. */
    void *(*realloc)(struct sluice_host *, void *, uint64_t bytes);
    /* What alloc and realloc gave, on any thread; NULL is fine. */
    void (*free)(struct sluice_host *, void *);
    /* A line for the log, prefixed with the stage's name, cut at 1000 bytes. Not for each row. */
    void (*log)(struct sluice_host *, int32_t level, const char *message);
    /* Reads a whole file (what a `path` option names), decompressed: *size bytes at *data, aligned
     * for any type, which the host owns until `close`. Read it once, in `open`. SLUICE_E_IO,
     * SLUICE_E_DATA (damaged compression), SLUICE_E_NOMEM: *data is NULL. */
    sluice_status (*read_file)(struct sluice_host *, const char *path, const void **data,
                               uint64_t *size, struct sluice_error *);
    /* A number that depends on the pipeline's seed, the stage's name and salt only: the only source
     * of randomness. A row's own number comes from a hash of its content or id as salt, never from
     * a counter. */
    uint64_t (*seed)(struct sluice_host *, uint64_t salt);
    /* Absolute path of a folder for temporary files of this run, wiped by the host; shared by
     * workers and perhaps by other stages, so names come from mkstemp(3). Valid until `close`. NULL
     * when it can't be made (return SLUICE_E_IO). */
    const char *(*scratch_dir)(struct sluice_host *);
    /* Bytes of memory that one worker of this stage may use for its own buffers; above it, spill to
     * scratch_dir or emit. It never decides what is emitted, only when. */
    uint64_t (*memory_share)(struct sluice_host *);
    /* Non-zero when the run is being stopped; poll in loops over 10 ms and return
     * SLUICE_E_CANCELLED. */
    int32_t (*cancelled)(struct sluice_host *);
    /* Since 1.1. A whole file (what a `path` option names), as it is stored, mapped read-only or as
     * a local copy that stages of one machine share: *size bytes at *data, the host's until
     * `close`. For models and indexes that are too large to read. Errors as read_file. */
    sluice_status (*map)(struct sluice_host *, const char *path, const void **data, uint64_t *size,
                         struct sluice_error *);
};

/* ---- prepare: schemas in, schemas out ---- */
/* Type names: bool int8..int64 uint8..uint64 float32 float64 utf8 binary json (utf8 holding one
 * JSON value) fixed[N] list<T> struct<a:T,b:T>, and `spans` = list<uint64>, each begin | end << 32
 * in bytes of the source column (the memory of struct text_span on little-endian machines). A
 * trailing `?` allows nulls. */
/* Given to `prepare`, valid for that call and on its thread. Its functions only record what the
 * stage needs and gives; one that refuses fills the error and fails `prepare` also when its status
 * is overlooked. Columns, their types and their metadata are those of the pipeline as it is being
 * checked: prepare may be called again, with other schemas, and starts from nothing each time. */
struct sluice_plan {
    uint64_t size;
    void *ctx; /* the host's */
    /* Asks for a column of a port's input (0, or 1 for stages with a side input; readers have
     * none). process() then sees exactly the columns asked for, in the order of asking: *index is
     * the column's place among batch->array->children (asking twice for one column gives one
     * place). type "" accepts any; "a|b" either; "utf8" refuses a column that may hold nulls,
     * "utf8?" takes both. Missing: SLUICE_E_SCHEMA with a suggestion, unless optional is non-zero
     * (then SLUICE_OK, and *index = -1). Another type: SLUICE_E_SCHEMA. index may be NULL. Hidden
     * columns may be asked for: _row (uint64: the row's number in its split), _pos (uint64: split
     * << 40 | row, behind an exchange). */
    sluice_status (*need)(struct sluice_plan *, uint32_t port, const char *name, const char *type,
                          int32_t optional, int32_t *index, struct sluice_error *);
    /* Asks for a derived column (words, sentences) of the text column `source`: the host inserts
     * the provider once and shares it among stages. options are written "rule=uax29",
     * comma-separated; NULL or "" = the provider's defaults. *index as above. SLUICE_E_SCHEMA:
     * there is no such source. */
    sluice_status (*need_derived)(struct sluice_plan *, uint32_t port, const char *provider,
                                  const char *options, const char *source, int32_t *index,
                                  struct sluice_error *);
    /* Metadata of a needed column (for example vocab_size of a tokens column), or NULL when it has
     * none of that key. The key "" gives all of them as plan->add takes them, for stages that hand
     * on whole rows. Borrowed until prepare returns. */
    const char *(*metadata)(struct sluice_plan *, uint32_t port, int32_t index, const char *key);
    /* Declares an output column: emit->batch() takes arrays with these columns in this order.
     * Readers and transforms: the whole output (input columns don't pass). Annotators: added
     * columns, or replaced ones when the name exists. metadata: "key=value\nkey=value" or NULL.
     * Names that begin with _ are refused but for _origin, _span (transforms) and _begin, _end
     * (readers: the record's decoded bytes, uint64, for tracing; those that read at random may
     * leave them out, and rows are traced to their unit then). A type that can't be stored:
     * SLUICE_E_SCHEMA. */
    sluice_status (*add)(struct sluice_plan *, const char *name, const char *type,
                         const char *metadata, struct sluice_error *);
    /* Writers: one output file kind; emit->write() refers to it by the order of calls, from 0.
     * suffix ".jsonl"; codec "none", "gzip" or "zstd" (the host compresses and appends .gz/.zst;
     * NULL = none). level: 0 = default, gzip to SLUICE_GZIP_LEVEL_MAX, zstd to
     * SLUICE_ZSTD_LEVEL_MAX. */
    sluice_status (*output)(struct sluice_plan *, const char *suffix, const char *codec,
                            int32_t level, struct sluice_error *);
    /* A fact for the manifest of every dataset downstream (tokenizer hash, eos id). key
     * [a-z][a-z0-9_]*; json: one JSON value. A writer's note `catalogue` has the host make one more
     * file for each snapshot, for formats that want one over all shards: {"file": its name,
     * "begin": text, "entries": suffix of an output kind, "separator": text, "end": text}. It holds
     * begin, then the contents of the files of that kind in order of the shards, separated, then
     * end; "@SUFFIX@" in an entry becomes the public name of the file with that suffix beside it.
     * A writer's note `names` is the suffix of an output kind as a JSON text: each file of that
     * kind holds the public name of the file beside it, instead of part-NUMBER-KEY, and is itself
     * left out of the snapshot. A name may lie in folders: a/b.json. In it "@NUMBER@" becomes the
     * file's number in the snapshot, from 0, and "@COUNT@" how many there are, of five digits. A
     * writer's note `append` is the number of the dataset's newest snapshot, whose files stay in
     * the new one, before this run's: an index that is carried on. A writer's note `join` is how
     * many stored bytes a published file should have: those of several tasks are joined up to it,
     * byte behind byte, for formats in which that gives a file of all their rows. A writer's note
     * `partition`, {"by": [{"column": name, "buckets": 0 or N}...], "most": N}, has the host give
     * the rows of each value of those needed columns (of their hash modulo N) to a worker of their
     * own, whose files are published in folders NAME=VALUE/ (sluice_files_partition notes it). */
    sluice_status (*note)(struct sluice_plan *, const char *key, const char *json,
                          struct sluice_error *);
    /* Name and type of the k-th column of a port, from 0, to take all columns: *name is "" past the
     * end. Both are borrowed until prepare returns. Hidden and derived columns are left out. */
    sluice_status (*column)(struct sluice_plan *, uint32_t port, uint32_t k, const char **name,
                            const char **type);
    /* Readers: non-zero when a later stage uses the column. prepare may run twice; the first time
     * everything is wanted, the second time the answer is final and columns nobody wants need not
     * be added. */
    int32_t (*wanted)(struct sluice_plan *, const char *name);
    /* Since 1.1. Readers with cut "own": what survey said with emit->describe of the first file of
     * the input, which the host surveys before it prepares (and remembers). *uri is the file's
     * name, NULL where none is known (`sluice check` where there are no files); *data is NULL
     * then, and where nothing was said. Both are borrowed until prepare returns. Other files may
     * differ: scan refuses them, naming file and column. */
    sluice_status (*described)(struct sluice_plan *, const char **uri, const void **data,
                               uint64_t *n, struct sluice_error *);
    /* Since 1.2. The same of the k-th file of the input, from 0, which is surveyed when it is asked
     * for: for readers whose columns are those of all files. *uri is NULL past the last one. Both
     * are borrowed until the next call. SLUICE_E_CONFIG: in a process of its own a reader is told
     * of the first file alone. */
    sluice_status (*described_at)(struct sluice_plan *, uint64_t k, const char **uri,
                                  const void **data, uint64_t *n, struct sluice_error *);
};

/* ---- Data ---- */

/* A piece of the input, borrowed and immutable (also the memory behind it: its pages may be shared
 * or read-only). How rows are cut into batches is the host's affair and never shows in results.
 * sluice_text() and others of sluice_arrays.h read it. */
struct sluice_batch {
    uint64_t size;
    uint32_t port; /* 0 = main input, 1 = side input (delivered completely before port 0) */
    uint32_t reserved;
    /* A struct array whose children are the needed columns, in the order of need; offsets are 0 at
     * every level, utf8 is valid UTF-8. Rows that are not selected are there as well: leave them
     * alone. */
    const struct ArrowArray *array;
    const uint32_t *rows; /* selected rows, ascending, n of them; NULL = all */
    int64_t n;            /* how many rows are selected; may be 0 */
};

/* Readers: a piece of one file's decoded bytes. For `newline` readers a chunk holds whole lines
 * that this split owns (the last line of a file may lack its newline). For `none` readers chunks
 * continue until the file ends; bytes not consumed are presented again, with more behind them. */
#define SLUICE_PADDING 64     /* readable bytes behind data[n-1], of any value */
#define SLUICE_CHUNK_FIRST 1u /* data[0] is the first byte of the file */
#define SLUICE_CHUNK_LAST 2u  /* the file (or the split's part of it) ends with data[n-1] */
struct sluice_chunk {
    uint64_t size;
    const char *data; /* n bytes, borrowed for the call */
    uint64_t n;
    uint64_t offset; /* of data[0] in the file's decoded bytes */
    const char *uri; /* of the file, for ids and messages */
    uint32_t file;   /* index within the split */
    uint32_t flags;  /* SLUICE_CHUNK_* */
    /* Out: how many bytes are done with; n by default, never more. A `newline` reader consumes all.
     * With LAST nothing comes behind: what is not a whole record then is a bad one. */
    uint64_t consumed;
};

/* ---- Asks (since 1.1): what a stage wants from the world ---- */
/* A stage does no I/O. Inside process, survey, scan and resume it may ask for something
 * (emit->ask), as often as it likes, and return SLUICE_OK: the call is not over then. The host
 * fetches the answers, many at once and in any order, and calls `resume` of the same worker once,
 * with all of them in the order of asking; that call may ask again. What the call was given (the
 * batch, struct sluice_scan) stays valid until it is over, and all that its parts emitted counts as
 * one. Meanwhile the host may work with other workers of the stage, so that more than one call
 * waits; rows leave in the order of the input whatever is answered first. When the run is stopped,
 * or the batch is tried again in parts, a waiting worker is closed without being resumed.
 *
 * Waiting, retrying, limits and caching are the host's: what could not be had by patience ends the
 * task, and the stage never hears of it. One call is answered 100,000 times at most; what is asked
 * for at once takes 256 MiB at most, 64 bytes an ask and its payload, which is 64 MiB at most. */
#define SLUICE_ASK_BYTES 1u /* a part of the file in hand: readers, in survey and scan */
/* An answer of a server: stages that are marked SLUICE_STAGE_RECORDED, to hosts that the pipeline
 * names. The same ask of the same stage is made once: answers are kept in a journal, durable before
 * a row that depends on one leaves the stage. */
#define SLUICE_ASK_HTTP 2u

struct sluice_ask {
    uint64_t size;
    uint32_t kind;  /* SLUICE_ASK_* */
    uint32_t flags; /* 0 */
    uint64_t tag;   /* comes back with the answer; the host does not look at it */
    /* Borrowed for the call, n bytes, by kind.
     * BYTES: a struct sluice_extent.
     * HTTP: a text, lines ended by \n: "METHOD URL", then headers as "Name: value", then an empty
     * line; what is behind it is the body, any bytes. These bytes are what the journal knows the
     * ask by: equal texts are one ask. */
    const void *payload;
    uint64_t n;
};
struct sluice_extent {  /* never grows */
    uint64_t offset, n; /* bytes of the file as it is stored; within it */
};

struct sluice_answer {
    uint64_t size;
    uint64_t tag;
    /* SLUICE_OK, or SLUICE_E_DATA: refused for good (HTTP: a status 4xx that no patience mends);
     * what came with the refusal is in data all the same. */
    sluice_status status;
    uint32_t code;  /* HTTP: its status code */
    uint32_t flags; /* 0 */
    uint32_t reserved;
    const char *data; /* n bytes, borrowed for the call; SLUICE_PADDING readable ones behind them */
    uint64_t n;
    const char *type; /* HTTP: content type of the answer, "" = none said */
};
struct sluice_answers {
    uint64_t size;
    const struct sluice_answer *items; /* in the order of asking, stride bytes apart */
    uint64_t n, stride;
    const struct sluice_batch *batch; /* what process was given; NULL in a survey or scan */
    struct sluice_scan *scan;         /* what scan was given; NULL elsewhere */
};

/* ---- Readers that read at random (since 1.1) ---- */
/* A reader with cut "own" or "sync" gets no chunks: it asks for the bytes that it wants (BYTES, of
 * the file as it is stored: codecs are its own affair). "own": `survey` finds out of what units a
 * file consists (row groups, frames, indexed records), and `scan` reads one of them. The input is
 * cut into ranges by size alone, and a range owns the units whose first byte lies in it. "sync":
 * there is no survey; `scan` is given a range, in which it finds the first record by itself, and
 * reads all those that begin in it. */
struct sluice_file {
    uint64_t size;
    const char *uri;      /* for messages */
    uint64_t bytes;       /* as it is stored */
    uint32_t file, flags; /* index within the split; 0 */
};
struct sluice_unit {
    uint64_t size;
    uint64_t begin, end; /* bytes of the file; the first one decides which range owns it */
    /* That a scan holds at once when decoded, an estimate for memory; 0 = no more than it asks
     * for. */
    uint64_t bytes;
    /* -1 = not known. Else what the scan's calls give comes to it, with what they call bad or
     * skipped; or the file is damaged. */
    int64_t rows;
    /* NULL: it is to be read. Else why it need not be ([a-z0-9_]+: "min_max", "bloom"): what an
     * option of the reader asks for can't be in it. It is accounted for as skipped. */
    const char *skip;
};
struct sluice_scan {
    uint64_t size;
    const struct sluice_file *file;
    uint64_t begin, end; /* of the unit; "sync": of the range */
    uint64_t unit;       /* its number in the file, from 0; "sync": 0 */
    uint64_t call;       /* 0 in the first call for the unit, then 1, 2, ... */
    /* What survey said with emit->describe, borrowed; NULL where it said nothing. */
    const void *description;
    uint64_t description_size;
    /* Out: non-zero = there is more in the unit: call again. A call gives about one batch of a size
     * that the reader chooses (1 MiB of text is good). */
    int32_t more;
    uint32_t reserved;
};

/* What becomes of a row: emit->verdicts() takes one a selected row, in their order. Set all of it
 * to zero first (zero = keep); value and limit are kept with every row for `sluice why`, so fill
 * them for kept rows too. The array's elements are verdict_stride bytes apart (struct
 * sluice_plugin): a plugin built with a later header, whose verdicts are longer, works in an
 * earlier host and the other way round. */
#define SLUICE_VERDICT_BAD \
    (-1) /* this row can't be judged: it is quarantined; dup_of holds "reason: detail for people" */
struct sluice_verdict {
    /* 0 = keep, k = the k-th of the stage's reasons (from 1), or SLUICE_VERDICT_BAD */
    int32_t reason;
    int32_t dup_of_length; /* bytes of dup_of */
    double value;          /* what was measured */
    double limit;          /* what it was compared with */
    const char *dup_of; /* id of the document it duplicates or NULL; borrowed until emit returns */
    double similarity;  /* 0..1; with dup_of */
};

#define SLUICE_ORIGIN_POS ((uint64_t)1 << 63) /* see emit->batch */

/* What process(), read() and flush() give back; valid for that call, on its thread. Calls never
 * block; everything is held back until the call returns SLUICE_OK, and discarded when it fails. A
 * call that is refused (SLUICE_E_INTERNAL: the plugin broke the contract; SLUICE_E_NOMEM) fails the
 * call of the plugin in the end: return the status. */
struct sluice_emit {
    uint64_t size;
    void *ctx; /* the host's */
    /* Filters, and annotators that also judge: exactly n = batch->n verdicts, once per process of
     * port 0. Any other stage may give them too, to set rows aside: each is then 0 or
     * SLUICE_VERDICT_BAD, and nothing of a bad row may be in what the stage gives. Borrows the
     * array and every dup_of. */
    sluice_status (*verdicts)(struct sluice_emit *, const struct sluice_verdict *, int64_t n);
    /* Annotators: one struct array of batch->n rows with the added columns (row k belongs to the
     * k-th selected row), once per process; none when n is 0. Transforms and readers: any number of
     * struct arrays of the declared columns, also in flush. Takes the array, also when it fails;
     * its release may run on any thread, and after close. It stays unchanged until then. A
     * transform's column `_origin` (uint64 or list<uint64>) names the _row values each output row
     * came from; with the metadata exchange=1, those of _pos behind the first exchange that the
     * rows went through, and so a number with the bit SLUICE_ORIGIN_POS in any such column. The
     * metadata through=1: where the input has an _origin, the numbers are handed on from it
     * (exchange=1 says so as well). `_span` (list<uint64>, as long as the list _origin of its row)
     * says which part of that row is meant: first << 32 | number, of tokens; 0 = not known. */
    sluice_status (*batch)(struct sluice_emit *, struct ArrowArray *);
    /* Readers: a record that can't be read: its decoded byte range [begin, end), a reason
     * ([a-z0-9_]+, under 64 bytes) and a detail for people (NULL = none). The host quarantines
     * it. (Those that read at random: bytes of the file as it is stored.) */
    sluice_status (*bad)(struct sluice_emit *, uint64_t begin, uint64_t end, const char *reason,
                         const char *detail);
    /* Writers: appends n bytes to the current file of output kind `output` (a number from 0, in the
     * order of plan->output). */
    sluice_status (*write)(struct sluice_emit *, uint32_t output, const void *data, uint64_t n);
    /* Writers: ends the current files of all kinds; the next write begins new ones. `rows` is how
     * many rows the ended files hold. Where to end one is decided by rows and bytes alone, never by
     * where a batch ends. */
    sluice_status (*roll)(struct sluice_emit *, int64_t rows);
    /* Adds to a named measure of this stage's ledger ([a-z0-9_]+: tokens, documents, padding);
     * NAME.in and NAME.out are the two ends of one that is conserved. */
    sluice_status (*measure)(struct sluice_emit *, const char *name, int64_t delta);
    /* Since 1.1. Readers: `rows` of the records given in this call have nothing by the name that a
     * declared column is read from (a member, a tag). `there`: the n names that the first of them
     * has, for people. Where this is so of every record that the reader gives in a phase, the run
     * ends at its end and names them: call it unless an option says that it may be so. */
    sluice_status (*absent)(struct sluice_emit *, const char *name, uint64_t rows,
                            const char *const *there, uint64_t n);
    /* Since 1.1. Asks the world (see Asks). Copies the ask. SLUICE_E_INTERNAL: a kind that this
     * call may not ask for, an extent outside of the file. */
    sluice_status (*ask)(struct sluice_emit *, const struct sluice_ask *);
    /* Since 1.1. Readers with cut "own", in survey: a unit of the file, in ascending order, none in
     * another. Copies it. */
    sluice_status (*unit)(struct sluice_emit *, const struct sluice_unit *);
    /* Since 1.1. The same: what scan is to know of the file, at most once. Copied, and remembered
     * as long as the file and the stage's version and options stay as they are, so that the survey
     * need not be made again. */
    sluice_status (*describe)(struct sluice_emit *, const void *data, uint64_t n);
    /* Since 1.1. Readers: rows and bytes of the input that were not looked at because an option
     * rules them out, and by which means ([a-z0-9_]+). They are accounted for apart from dropped
     * rows. */
    sluice_status (*skipped)(struct sluice_emit *, uint64_t rows, uint64_t bytes, const char *how);
};

/* Bytes of a saved state, framed and checksummed by the host; valid for the call. What a stage
 * writes in save it reads in load and merge, all of it: a rest is an error. The bytes may be read
 * on another machine of the same kind. */
struct sluice_io {
    uint64_t size;
    void *ctx; /* the host's */
    /* load, merge: all n bytes, or SLUICE_E_DATA when there are not so many. */
    sluice_status (*read)(struct sluice_io *, void *, uint64_t n);
    /* save */
    sluice_status (*write)(struct sluice_io *, const void *, uint64_t n);
};

/* Gates: what is known at the barrier, and the judgement; valid for the call. */
struct sluice_verdict_io {
    uint64_t size;
    void *ctx; /* the host's */
    /* Rows that left a node of the pipeline, by the value of a SLUICE_OPT_NODE option; -1 =
     * unknown. */
    int64_t (*count)(struct sluice_verdict_io *, const char *node);
    int32_t outcome;    /* out: SLUICE_GATE_*; PASS by default */
    char message[1000]; /* out, with WARN or HALT: measure, bound, likely cause */
};
#define SLUICE_GATE_PASS 0
#define SLUICE_GATE_WARN 1 /* the report says so */
#define SLUICE_GATE_HALT 2 /* the run publishes nothing and exits with 3 */

/* ---- Stages ---- */
/* A role is what a stage gives back, a mode which rows one worker sees. Readers are stateless or
 * ordered. */
#define SLUICE_ROLE_READER 1 /* turns the bytes of files into rows: has read, not process */
#define SLUICE_ROLE_FILTER 2 /* returns verdicts */
/* returns added or replaced columns, and may return verdicts as well */
#define SLUICE_ROLE_ANNOTATOR 3
#define SLUICE_ROLE_TRANSFORM 4 /* returns batches */
#define SLUICE_ROLE_GATE 5      /* observes and judges: emits nothing but measures */
#define SLUICE_ROLE_WRITER 6    /* turns batches into bytes of host-owned files */

#define SLUICE_MODE_STATELESS 0 /* row-local: process(a||b) = process(a)||process(b) */
#define SLUICE_MODE_ORDERED 1   /* one worker a split, its batches in order, then flush */
/* one virtual partition at a time, sorted by (key, position); input column `key` is fixed[16] */
#define SLUICE_MODE_KEYED 2
#define SLUICE_MODE_GLOBAL 3 /* one worker, everything in order */

#define SLUICE_STAGE_RECORDED 1u   /* not deterministic: results are journalled, never recomputed */
#define SLUICE_STAGE_MAY_BLOCK 2u  /* waits for something else than the processor */
#define SLUICE_STAGE_SIDE_INPUT 4u /* has a port 1 */
#define SLUICE_STAGE_SIDE_BY_SPLIT \
    8u /* port 1's rows carry _pos; each split gets its own, sorted by row; needs SIDE_INPUT */
/* A transform that may emit fewer rows than it takes in without dropping; a hidden filter whose
 * rows go on elsewhere in its composite, which no report calls dropped. */
#define SLUICE_STAGE_CONSUMES 16u
#define SLUICE_STAGE_HIDDEN 32u /* an internal part of a composite: not listed by default */

/* A stage: constants, and the functions that the host calls. All texts are constants of the plugin;
 * NULL where a comment allows it. Left out (NULL) functions have the default that stands with
 * each. */
struct sluice_stage {
    uint64_t size;
    const char *name;    /* [a-z][a-z0-9_]*, at most 63 bytes: s.NAME in a pipeline; required */
    const char *version; /* of what it gives back: part of the task key; required */
    const char *summary; /* one line; required */
    const char *doc;     /* Markdown; may be NULL */
    const char *example; /* Lua, as in a pipeline; may be NULL */
    uint32_t role, mode; /* SLUICE_ROLE_*, SLUICE_MODE_* */
    uint64_t flags;      /* SLUICE_STAGE_* */
    const struct sluice_option *options; /* NULL = none; one positional at most */
    uint64_t n_options, option_stride;   /* option_stride = sizeof(struct sluice_option) */
    uint64_t config_size;                /* sizeof the config struct, at most 1 MiB */
    /* "too_short|too_long": all that a verdict may name. Filters need it; annotators that judge
     * have it; NULL for all others. */
    const char *reasons;
    /* Annotators that are providers: the derived column's name ("words"); its source is the option
     * `over`. NULL = none. */
    const char *provides;
    /* readers: "newline" (files are cut at lines), "none" (read from the start); since 1.1 "own"
     * and "sync" (the reader asks for bytes, see struct sluice_scan) */
    const char *cut;
    /* Transforms: the measure that goes in and comes out equal: emit->measure of NAME.in and
     * NAME.out ("tokens"), or NULL. */
    const char *conserves;
    uint64_t bytes_shared, bytes_worker; /* memory of its own, upper estimate, for planning */
    double bytes_per_input; /* bytes held at most per byte of a split's text (ordered stages) */
    uint64_t state_version; /* of what save writes; load and merge get that of the saved bytes */

    /* Makes an instance. config: config_size bytes with the parsed options, the host's, unchanged
     * until close has returned. *shared is what prepare, worker_open and close get; NULL until set.
     * On failure nothing stays behind: close is not called. Wrong options that the table can't
     * express: SLUICE_E_CONFIG with field. Default: shared is NULL. */
    sluice_status (*open)(const struct sluice_host_api *, struct sluice_host *, const void *config,
                          void **shared, struct sluice_error *);
    /* Says which columns come in and go out (struct sluice_plan), and may read models. Runs again
     * when the pipeline changes around it: what an earlier call left in shared is replaced.
     * Default: needs and gives nothing. */
    sluice_status (*prepare)(void *shared, struct sluice_plan *, struct sluice_error *);
    /* Makes a worker, on the thread that will not necessarily use it. On failure nothing stays
     * behind. Default: the worker is shared itself (which no call may write to then). */
    sluice_status (*worker_open)(void *shared, void **worker, struct sluice_error *);
    /* All roles but readers; required there. Stateless stages: the result for a row depends on that
     * row alone. */
    sluice_status (*process)(void *worker, const struct sluice_batch *, struct sluice_emit *,
                             struct sluice_error *);
    /* Readers with cut "newline" or "none"; required there. Chunks of one file come in order; a new
     * file or split may follow. */
    sluice_status (*read)(void *worker, struct sluice_chunk *, struct sluice_emit *,
                          struct sluice_error *);
    /* The end of the worker's input: emits what was held back. Stateless stages that are no readers
     * have nothing to hold back. Default: nothing. */
    sluice_status (*flush)(void *worker, struct sluice_emit *, struct sluice_error *);
    /* Writes the worker's state, which stays as it is; at any time between two calls. Goes with
     * load or merge. Default: no state. */
    sluice_status (*save)(void *worker, struct sluice_io *, struct sluice_error *);
    /* Replaces the state of a fresh worker by a saved one of `version` (never above state_version).
     * SLUICE_E_DATA: damaged. */
    sluice_status (*load)(void *worker, struct sluice_io *, uint64_t version,
                          struct sluice_error *);
    /* Adds a saved state to the worker's own; the order of merges must not matter. Gates: tasks
     * save, the barrier merges. */
    sluice_status (*merge)(void *worker, struct sluice_io *, uint64_t version,
                           struct sluice_error *);
    /* Gates, once, at the barrier, after all merges. Default: passes. */
    sluice_status (*judge)(void *worker, struct sluice_verdict_io *, struct sluice_error *);
    /* Frees a worker, in whatever state it is. Default: nothing. */
    void (*worker_close)(void *worker);
    /* Frees what open made. Arrays that were emitted may still be alive. Default: nothing. */
    void (*close)(void *shared);

    /* Since 1.1. Memory that one call takes beside what it is given, with what it gives back:
     * bytes per byte of the columns that the stage asked for (readers: of the chunk), upper
     * estimate. (Readers that ask: per byte that they ask for at once, or that a unit says that it
     * holds.) The host admits records above the size of a batch by it, and refuses those that
     * --memory is too small for. 0 = not known: the host reckons with SLUICE_BYTES_PER_BATCH. */
    double bytes_per_batch;
    /* Since 1.1. The answers to what the worker asked for in the call before, which goes on with
     * it. Stages that ask need it. */
    sluice_status (*resume)(void *worker, const struct sluice_answers *, struct sluice_emit *,
                            struct sluice_error *);
    /* Since 1.1. Readers with cut "own", required there: emits the units of a file, and perhaps a
     * description. A function of the file and the options. */
    sluice_status (*survey)(void *worker, const struct sluice_file *, struct sluice_emit *,
                            struct sluice_error *);
    /* Since 1.1. Readers with cut "own" or "sync", required there: emits the rows of a unit (of
     * those that begin in a range), and says in scan->more whether there are others. */
    sluice_status (*scan)(void *worker, struct sluice_scan *, struct sluice_emit *,
                          struct sluice_error *);
};
#define SLUICE_BYTES_PER_BATCH 8.0

struct sluice_plugin {
    uint64_t size;
    uint32_t abi_major;        /* SLUICE_ABI_MAJOR */
    uint32_t abi_minor_built;  /* SLUICE_ABI_MINOR */
    uint32_t abi_minor_needed; /* the lowest minor it runs with; 0 unless it uses later fields */
    /* sizeof(struct sluice_verdict); 0 means that of ABI 1.0, 40 */
    uint32_t verdict_stride;
    const char *name;    /* [a-z][a-z0-9_]*; not "core" or "script"; required */
    const char *version; /* of the plugin, for people and manifests; required */
    const char *license; /* SPDX identifier, or NULL */
    const struct sluice_stage *const *stages; /* NULL-terminated; 1 to 1024 */
    /* Versions of libraries that shape output, "name 1.2.3, ...", or NULL; in the task key. Only of
     * those that the plugin loads by itself: the host asks the ones it is linked to, and those that
     * are linked statically are part of its file. */
    const char *libraries;
};

/* The entry point. Called once or more, on any thread; returns the same constant descriptor each
 * time, never NULL, and has no effects. */
typedef const struct sluice_plugin *(*sluice_plugin_fn)(void);
SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void);

#ifdef __cplusplus
}
#endif
#endif
