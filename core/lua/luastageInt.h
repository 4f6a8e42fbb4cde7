/* What the parts of Lua stages share: luastage.c describes a stage, luastage_run.c is its vtable, luastage_row.c is `doc`, luastage_out.c
 * makes columns. See luastage.h. */
#ifndef SLUICE_LUA_LUASTAGEINT_H
#define SLUICE_LUA_LUASTAGEINT_H

#include "base/hash.h"
#include "lua/luaoptions.h"
#include "lua/luastage.h"
#include "sluice_arrays.h"

enum luarole { LUAROLE_FILTER, LUAROLE_ANNOTATE, LUAROLE_HEURISTIC };

#define ENDLESS_ROWS 4u /* so many in succession, and the script is at fault, not the data */
#define ROW_BUDGET UINT64_C(500000000) /* VM instructions of a row that a watchdog found late */

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
    struct sluice_option over_option;
    struct luaoptions *options;
    char **reasons; /* sorted */
    uint32_t n_reasons;
    char *reason_words; /* "a|b" */
    struct luafield *fields;
    uint32_t n_fields;
    struct luacolumn *adds; /* sorted by name */
    uint32_t n_adds;
    bool needs_text; /* the column of `over` is read */
    bool ordered;
    bool has_above, has_below; /* heuristics */
    struct sluice_option above, below;
    struct hash128 hash;
};

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
    int32_t row_index;  /* of _row */
    int32_t text_field; /* place in fields of the text, -1 = none */
};

/* ---- a worker ---- */

struct column_builder {
    struct sluice_bytes values, offsets, validity,
        inner; /* inner: offsets of the texts of a list<utf8> */
    int64_t nulls, rows, items;
};

struct upvalue {
    const char *name; /* the function holds it */
    struct hash128 hash;
    bool scalar;
};

struct luaworker {
    const struct luainstance *instance;
    lua_State *volatile L; /* stack: function, doc, options, cache, then the names of the fields */
    const struct ArrowArray *array;
    int64_t row;
    volatile bool active;   /* a row is being judged */
    volatile bool counting; /* under a count of instructions: the watchdog has no say */
    const char *
        *names; /* the strings of the stack: equal address means equal name, for short ones */
    bool *loaded;
    uint32_t n_loaded;
    struct upvalue *upvalues;
    uint32_t n_upvalues;
    uint64_t n_values, batches;
    struct sluice_verdict *verdicts;
    int64_t verdict_capacity;
    char **messages; /* of bad rows, until the verdicts are emitted */
    size_t n_messages, message_capacity;
    struct column_builder *builders, *marks; /* marks: before the current row */
    volatile uint64_t rows_done;             /* read by the watchdog's tick */
    volatile uint64_t rows_seen;
    uint32_t endless_rows; /* rows in succession that never ended */
};

#define AT_FUNCTION 1
#define AT_DOC 2
#define AT_OPTIONS 3
#define AT_CACHE 4
#define AT_NAMES 5

/* luastage_row.c: pushes doc and the cache behind it; the field names are on the stack from AT_NAMES on already. */
void luarow_push(struct luaworker *);
void luarow_set(struct luaworker *, const struct ArrowArray *, int64_t row);
void luarow_clear(struct luaworker *);

/* luastage_out.c */
sluice_status luaout_begin(struct luaworker *, struct sluice_error *err) MUST_USE;
/* Appends a row: the values of the table at index (nil = null). SLUICE_E_DATA is the row's fault; then nothing was appended. */
sluice_status luaout_add(struct luaworker *, int index, struct sluice_error *err) MUST_USE;
/* Appends a stand-in for a row that has no values. */
sluice_status luaout_blank(struct luaworker *, struct sluice_error *err) MUST_USE;
/* The struct array of n rows. */
sluice_status luaout_finish(struct luaworker *, int64_t n, struct ArrowArray *out,
                            struct sluice_error *err) MUST_USE;
void luaout_clear(struct luaworker *);

/* luastage_run.c: fills the vtable of the descriptor. */
void luastage_vtable(struct sluice_stage *);
/* worker_open and worker_close of the vtable; shared is a struct luainstance, *out a struct luaworker. */
sluice_status luaworker_open(void *shared, void **out, struct sluice_error *err) MUST_USE;
void luaworker_close(void *worker);
/* Reads what the function left at index .. index + 3; SLUICE_E_DATA: not a result. */
sluice_status luaworker_result(struct luaworker *, int index, struct sluice_verdict *,
                               struct sluice_error *err) MUST_USE;

/* funchash.c: the k-th upvalue (from 1) of the function at index; *name is NULL past the end. */
sluice_status funchash_upvalue(struct script *, lua_State *, int index, int k, const char **name,
                               struct hash128 *out, uint64_t *n_values,
                               struct sluice_error *) MUST_USE;

#endif
