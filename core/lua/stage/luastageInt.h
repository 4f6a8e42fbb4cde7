/* What the parts of Lua stages share. luastage.c describes a stage with the members that
 * luastage_define.c and luastage_heuristic.c read; luastage_run.c is its vtable; luastage_call.c
 * calls its function; luastage_row.c is `doc`; luastage_verdict.c reads verdicts; luastage_out.c
 * makes columns; luastage_give.c, luastage_read.c, luastage_gate.c and luastage_write.c are the
 * roles that don't only judge; luastage_test.c and
 * luastage_example.c run examples. See luastage.h. */
#ifndef SLUICE_LUA_LUASTAGEINT_H
#define SLUICE_LUA_LUASTAGEINT_H

#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "data/builder.h"
#include "lua/stage/luaoptions.h"
#include "lua/stage/luastage.h"
#include "sluice_arrays.h"

enum luarole {
    LUAROLE_FILTER,
    LUAROLE_ANNOTATE,
    LUAROLE_HEURISTIC,
    LUAROLE_TRANSFORM,
    LUAROLE_READER,
    LUAROLE_GATE,
    LUAROLE_WRITER
};
#define LUAROLES 7

#define ASIDE_BUDGET UINT64_C(100000000) /* steps of what is called once: a judge, a header */
#define ROW_BYTES (UINT64_C(256) << 20)  /* that one row, line or file may give */
#define GIVE_BYTES (UINT64_C(4) << 20)   /* of columns that are handed on together */
#define SUMS_MAX 64u                     /* of a gate */

/* ---- types of columns ---- */

enum cell {
    CELL_BOOL,
    CELL_INT8,
    CELL_INT16,
    CELL_INT32,
    CELL_INT64,
    CELL_UINT8,
    CELL_UINT16,
    CELL_UINT32,
    CELL_UINT64,
    CELL_FLOAT32,
    CELL_FLOAT64,
    CELL_TEXT,
    CELL_BINARY,
    CELL_JSON
};

struct cell_type {
    enum cell cell;
    bool list, nullable;
};

/* "float64?", "list<utf8>", "spans"; false = a type that Lua stages don't handle. */
bool cell_type_parse(const char *text, struct cell_type *out);

/* ---- the description of a stage ---- */

struct luafield {
    char *name; /* as the script writes it; "text" means the column of `over` */
    char *type; /* "" = any */
    bool optional;
    int line; /* where the function mentions it; 0 = listed in needs */
};

struct luacolumn {
    char *name, *type;
    struct cell_type cell;
};

struct luastage {
    struct script *script;
    uint32_t k;
    enum luarole role;
    char *name, *where, *summary, *doc, *over, *file; /* file: of the function */
    int line;                                         /* where the function begins */
    struct sluice_stage descriptor;
    struct sluice_option common[5]; /* options of every stage of its role; `over` is the first */
    uint32_t n_common;
    struct luaoptions *options;
    char **reasons; /* sorted */
    uint32_t n_reasons;
    char *reason_words; /* "a|b" */
    struct luafield *fields;
    uint32_t n_fields;
    struct luacolumn *adds; /* columns that it adds or gives, sorted by name */
    uint32_t n_adds;
    uint32_t n_places;         /* columns of numbers behind them: _origin, or _begin and _end */
    bool ordered;              /* rows may leave something behind for the next */
    bool asks;                 /* its function asks servers */
    uint64_t steps;            /* that a row may take, beside those for what it reads */
    bool has_above, has_below; /* heuristics */
    struct sluice_option above, below;
    bool whole;  /* readers: a call a file */
    char **sums; /* gates, sorted; none = one without a name */
    uint32_t n_sums;
    char *suffix, *header; /* writers; header may be NULL */
    size_t header_n;
    bool header_called; /* it is a function */
    struct hash128 hash;
};

static inline bool luastage_judges(const struct luastage *stage)
{
    return stage->role <= LUAROLE_HEURISTIC;
}

/* Rows go into column builders: annotators, transforms, readers. */
static inline bool luastage_builds(const struct luastage *stage)
{
    return stage->n_adds > 0;
}

/* ---- an instance ---- */

struct bound_field {
    const char *name; /* of the luafield; "text" is the alias */
    int32_t index;    /* in the batch, -1 = absent (optional) */
    struct cell_type type;
};

struct luainstance {
    const struct luastage *stage;
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const void *config;
    uint64_t seed;
    struct bound_field *fields;
    uint32_t n_fields;
    int32_t row_index;  /* of _row, -1 = absent */
    int32_t text_field; /* place in fields of the text, -1 = none */
};

/* ---- a worker ---- */

/* A line, or a whole file, that a reader's function is called on. */
struct luarecord {
    const char *text, *uri;
    size_t n;
    uint64_t offset; /* of text in the file */
    uint64_t least;  /* records must begin here or behind */
};

/* A bad record that a reader's function gave, in words of its own. */
struct luabad {
    uint64_t begin, end;
    char *reason, *detail;
};

struct luaasks;

struct luaworker {
    const struct luainstance *instance;
    struct luaasks *asks; /* of a stage that asks, else NULL */
    /* Stack: function, doc, options, cache, what the function gives rows with or asks with, then
     * the names of the fields. */
    lua_State *volatile L;
    int (*push)(struct luaworker *); /* pushes the function and its arguments, how many */
    lua_CFunction give;              /* what it gives rows with or asks with, or NULL */
    const struct ArrowArray *array;
    int64_t row;
    struct sluice_emit *emit; /* during process and read */
    volatile bool active;     /* a row is being judged */
    uint32_t doubted, wary;   /* rows for which a doubt is remembered; that are counted at once */
    /* the strings of the stack: equal address means equal name, for short ones */
    const char **names;
    bool *loaded;
    uint32_t n_loaded;
    struct sluice_verdict *verdicts;
    int64_t verdict_capacity;
    bool any_bad;    /* among the verdicts of this batch */
    char **messages; /* of bad rows, until the verdicts are emitted */
    size_t n_messages, message_capacity;
    struct builder **builders; /* of the columns that it adds, then of those of numbers */
    int64_t given;             /* rows in the builders that the function gave */
    int64_t given_start;       /* before the current call, as the two below */
    int64_t rows_start;
    uint64_t bytes_start;
    bool not_utf8;             /* the current call gave a text that is not, and it was refused */
    sluice_status host_status; /* what failed on the host's side during a call */
    struct sluice_error host_error;
    struct sluice_error why; /* what is wrong with the current row */
    struct luarecord record; /* readers */
    struct luabad *bad;
    size_t n_bad, bad_start, bad_capacity;
    int64_t *sums, *row_sums; /* gates: in all, of one row; in the order of the stage's names */
    uint64_t rows;
    struct sluice_bytes out; /* writers: to be written */
    char *header;            /* of each file, or NULL */
    size_t header_n;
    uint64_t file_bytes;
    int64_t file_rows;
    bool begun; /* the current file has its header */
};

#define AT_FUNCTION 1
#define AT_DOC 2
#define AT_OPTIONS 3
#define AT_CACHE 4
#define AT_GIVE 5
#define AT_NAMES 6

/* luastage_row.c: pushes doc and the cache behind it; the field names are on the stack from
 * AT_NAMES on already. */
void luarow_push(struct luaworker *);
void luarow_set(struct luaworker *, const struct ArrowArray *, int64_t row);
void luarow_clear(struct luaworker *);
/* Pushes one value of a column. */
void luarow_push_value(lua_State *, struct cell_type, const struct ArrowArray *, int64_t row);

/* ---- luastage_out.c: columns ---- */

sluice_status luaout_begin(struct luaworker *, struct sluice_error *err) MUST_USE;
/* Appends a row: the values of the table at index (nil = null). SLUICE_E_DATA is the row's fault;
 * then nothing was appended. */
sluice_status luaout_add(struct luaworker *, lua_State *, int index,
                         struct sluice_error *err) MUST_USE;
/* Appends a stand-in for a row that has no values. */
sluice_status luaout_blank(struct luaworker *, struct sluice_error *err) MUST_USE;
/* Appends the numbers of the row that was just added to the columns of places. */
sluice_status luaout_place(struct luaworker *, const uint64_t *numbers,
                           struct sluice_error *err) MUST_USE;
/* Rows that are added from here on belong to one call; luaout_rewind takes them back, half ones
 * too. */
void luaout_start(struct luaworker *);
void luaout_rewind(struct luaworker *);
/* Bytes in the builders; of them those of the current call. */
uint64_t luaout_bytes(const struct luaworker *);
uint64_t luaout_call_bytes(const struct luaworker *);
/* The struct array of all rows; the builders are empty then. */
sluice_status luaout_finish(struct luaworker *, int64_t n, struct ArrowArray *out,
                            struct sluice_error *err) MUST_USE;
void luaout_clear(struct luaworker *); /* gives their memory back */
void luaout_close(struct luaworker *);

/* ---- luastage_call.c: calls ---- */

/* Empties an error; ERROR_INIT would clear a kilobyte a row. */
static inline struct sluice_error *luacall_empty(struct sluice_error *err)
{
    err->size = sizeof *err;
    err->code = SLUICE_OK;
    err->row = -1;
    err->field[0] = '\0';
    err->message[0] = '\0';
    return err;
}
/* An emptied error of the worker's own for the current call: it is too large to be made anew for
 * each. */
struct sluice_error *luacall_error(struct luaworker *);
/* Calls the function, again in a fresh state where memory or the watchdog's clock must not decide.
 * SLUICE_OK: *reason is NULL and four results lie at luacall_base() and behind it, or *reason is
 * why the row is bad and why tells more. Anything else ends the run and is in err. What a failed
 * call gave is taken back. luacall_end must follow. */
sluice_status luacall(struct luaworker *, const char **reason, struct sluice_error *why,
                      struct sluice_error *err) MUST_USE;
int luacall_base(const struct luaworker *);
/* Forgets the row and what is on the stack. */
void luacall_end(struct luaworker *);
/* Is there a NUL byte in the string at index? What C reads would be cut there in silence. */
static inline bool luacall_has_nul(lua_State *L, int index)
{
    size_t n;
    const char *text = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &n) : NULL;
    return text != NULL && strlen(text) != n;
}
/* "FILE:LINE: message" for what the function returned. */
void luacall_place(const struct luaworker *, struct sluice_error *err);
/* The usual arguments: doc, options, and emit of a transform, ask of a stage that asks. */
int luacall_push_row(struct luaworker *);
/* Calls what is on the stack below n_args arguments under a count of instructions, outside of any
 * row. */
sluice_status luacall_aside(struct luaworker *, const char *what, int n_args, int n_results,
                            struct sluice_error *err) MUST_USE;
/* Leaves a call because the host failed (err is copied). Doesn't return. */
int luacall_abandon(struct luaworker *, lua_State *, const struct sluice_error *err);
/* judge for each row of a batch, with the watchdog on. */
sluice_status luacall_rows(struct luaworker *, const struct sluice_batch *, struct sluice_emit *,
                           sluice_status (*judge)(struct luaworker *, const struct ArrowArray *,
                                                  int64_t row, int64_t k, struct sluice_error *),
                           struct sluice_error *err) MUST_USE;
/* Runs work(worker, ctx) with the watchdog on. */
sluice_status luacall_watched(struct luaworker *,
                              sluice_status (*work)(struct luaworker *, void *ctx,
                                                    struct sluice_error *),
                              void *ctx, struct sluice_error *err) MUST_USE;

/* ---- luastage_verdict.c ---- */

/* Room for n verdicts; forgets the messages of those before. */
sluice_status luaverdict_begin(struct luaworker *, int64_t n, struct sluice_error *err) MUST_USE;
void luaverdict_clear(struct luaworker *);
sluice_status luaverdict_bad(struct luaworker *, int64_t k, const char *reason, const char *detail,
                             struct sluice_error *err) MUST_USE;
/* Quarantines the bad rows of a stage that doesn't judge. */
sluice_status luaverdict_emit_bad(struct luaworker *, int64_t n) MUST_USE;
/* Reads what the function of a filter, annotator or heuristic left at index .. index + 3;
 * SLUICE_E_DATA: not a result. */
sluice_status luaverdict_result(struct luaworker *, int index, struct sluice_verdict *,
                                struct sluice_error *err) MUST_USE;
/* process of stages that judge. */
sluice_status luaverdict_process(void *worker, const struct sluice_batch *, struct sluice_emit *,
                                 struct sluice_error *err) MUST_USE;

/* ---- luastage_ask.c: stages that ask servers ---- */

int luaask_ask(lua_State *); /* ask{...}; upvalue: the worker */
sluice_status luaask_open(struct luaworker *, struct sluice_error *err) MUST_USE;
void luaask_close(struct luaworker *);
/* A batch of n rows begins, a row of it, a call for that row. */
sluice_status luaask_batch(struct luaworker *, int64_t n, struct sluice_error *err) MUST_USE;
void luaask_row(struct luaworker *, int64_t k);
void luaask_call(struct luaworker *);
/* After the call: did it ask for what is not answered yet? Asks the host. */
sluice_status luaask_asked(struct luaworker *, bool *asked, struct sluice_error *err) MUST_USE;
/* In this pass: then nothing of it counts. */
bool luaask_any(const struct luaworker *);
sluice_status luaask_resume(void *worker, const struct sluice_answers *, struct sluice_emit *,
                            struct sluice_error *err) MUST_USE;
/* luastage_verdict.c: calls the function on each row of a batch. */
sluice_status luaverdict_pass(struct luaworker *, const struct sluice_batch *, struct sluice_emit *,
                              struct sluice_error *err) MUST_USE;

/* ---- luastage_run.c: instances and workers ---- */

void luastage_vtable(struct luastage *); /* fills the descriptor's functions */
/* worker_open and worker_close of the vtable; shared is a struct luainstance, *out a struct
 * luaworker. */
sluice_status luaworker_open(void *shared, void **out, struct sluice_error *err) MUST_USE;
void luaworker_close(void *worker);

/* ---- luastage_state.c ---- */

/* Makes the worker's Lua state. */
sluice_status luaworker_begin(struct luaworker *, struct sluice_error *err) MUST_USE;
/* Throws the Lua state away. In an ordered stage what rows left behind is lost, so there the caller
 * must not. */
sluice_status luaworker_renew(struct luaworker *, struct sluice_error *err) MUST_USE;
/* After a call: has it changed an upvalue? Then the next row would see it, and results depend on
 * which worker judged which rows. */
sluice_status luaworker_check(struct luaworker *, struct sluice_error *err) MUST_USE;

/* ---- luastage_give.c: transforms ---- */

int luagive_emit(lua_State *); /* emit{...}; upvalue: the worker */
sluice_status luagive_process(void *worker, const struct sluice_batch *, struct sluice_emit *,
                              struct sluice_error *err) MUST_USE;
/* What a transform's function may return. */
sluice_status luagive_result(struct luaworker *, int index, struct sluice_error *err) MUST_USE;
/* Hands on what is in the builders. */
sluice_status luagive_batch(struct luaworker *, struct sluice_error *err) MUST_USE;

/* ---- luastage_read.c: readers ---- */

int luaread_give(lua_State *); /* give(...); upvalue: the worker */
int luaread_push(struct luaworker *);
sluice_status luaread_read(void *worker, struct sluice_chunk *, struct sluice_emit *,
                           struct sluice_error *err) MUST_USE;
/* Calls the function on worker->record; its records go into the builders and worker->bad. */
sluice_status luaread_record(struct luaworker *, bool *skipped, struct sluice_error *err) MUST_USE;
void luaread_forget(struct luaworker *, size_t from); /* bad records from there on */

/* ---- luastage_gate.c: gates ---- */

sluice_status luagate_open(struct luaworker *, struct sluice_error *err) MUST_USE;
sluice_status luagate_process(void *worker, const struct sluice_batch *, struct sluice_emit *,
                              struct sluice_error *err) MUST_USE;
/* Reads what measure left at index into row_sums; SLUICE_E_DATA: not a result. */
sluice_status luagate_result(struct luaworker *, int index, struct sluice_error *err) MUST_USE;
sluice_status luagate_save(void *worker, struct sluice_io *, struct sluice_error *err) MUST_USE;
sluice_status luagate_load(void *worker, struct sluice_io *, uint64_t version,
                           struct sluice_error *err) MUST_USE;
sluice_status luagate_merge(void *worker, struct sluice_io *, uint64_t version,
                            struct sluice_error *err) MUST_USE;
sluice_status luagate_judge(void *worker, struct sluice_verdict_io *,
                            struct sluice_error *err) MUST_USE;

/* ---- luastage_write.c: writers ---- */

sluice_status luawrite_prepare(const struct luainstance *, struct sluice_plan *,
                               struct sluice_error *err) MUST_USE;
sluice_status luawrite_open(struct luaworker *, struct sluice_error *err) MUST_USE;
sluice_status luawrite_process(void *worker, const struct sluice_batch *, struct sluice_emit *,
                               struct sluice_error *err) MUST_USE;
sluice_status luawrite_result(struct luaworker *, int index, struct sluice_error *err) MUST_USE;

/* ---- luastage_define.c and luastage_heuristic.c: members of the definition ---- */

/* Reads all members but reasons, which also come from the source. */
sluice_status luadefine_read(lua_State *, int definition, struct luastage *,
                             struct sluice_error *err) MUST_USE;
sluice_status luadefine_heuristic(lua_State *, int definition, struct luastage *,
                                  struct sluice_error *err) MUST_USE;
/* The string member called name: a copy in *out, or fallback's where it is nil. */
sluice_status luadefine_text(lua_State *, int definition, const struct luastage *, const char *name,
                             const char *fallback, char **out, struct sluice_error *err) MUST_USE;
sluice_status luadefine_reason(struct luastage *, const char *word,
                               struct sluice_error *err) MUST_USE;
sluice_status luadefine_field(struct luastage *, const char *name, size_t size, const char *type,
                              bool optional, int line, struct sluice_error *err) MUST_USE;
struct luafield *luadefine_find(const struct luastage *, const char *name);
/* "stage 'x': ..." */
sluice_status luadefine_fault(const struct luastage *, struct sluice_error *err, const char *format,
                              ...) PRINTF_LIKE(3, 4);

/* ---- luastage_example.c ---- */

/* Pushes example `number` (from 1) of the stage, or nil: false. */
bool luaexample_push(struct luaworker *, uint32_t number);
/* Runs the example, which lies at luacall_base(), of an annotator (one with gives), transform,
 * reader, gate or writer; message stays empty or says what is wrong. What lies on the stack from
 * there on is undefined afterwards. */
void luaexample_run(struct luaworker *, uint32_t number, struct buf *message);
/* Pushes the row that the example at index stands for: its first item is the text, other members
 * are fields. */
void luaexample_push_row(struct luaworker *, int index);
/* ask{...} of a stage that asks: answered by the example. False, and nothing: it asks nobody. */
bool luaexample_push_ask(struct luaworker *, int index);

#endif
