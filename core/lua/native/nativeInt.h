/* What native.c (options, columns) and native_run.c (rows) share. See native.h. */
#ifndef SLUICE_LUA_NATIVEINT_H
#define SLUICE_LUA_NATIVEINT_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/builder.h"
#include "lua/native/ffi_foreign.h"
#include "lua/stage/luastageInt.h"
#include "lua/native/native.h"

struct native_config {
    const char *prototype, *lib, *over, *as;
    struct sluice_list args;
    int32_t nan; /* keep, null */
    uint8_t thread_safe;
};

#define NATIVE_NAN_NULL 1

/* Where a value of the signature comes from. */
struct native_source {
    const char *column; /* NULL = a constant */
    int32_t index;      /* of the column in a batch */
    struct cell_type type;
    union foreign_slot slot; /* of a constant; of a text the slot's pointer is text */
    char *text;              /* owned, NUL-terminated */
    size_t size;
};

struct native {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct native_config *config;
    const char *as;
    struct foreign foreign;
    struct native_source sources[PROTOTYPE_PARAMS];
    struct type *type;    /* of the column it makes */
    bool nullable;        /* that column */
    pthread_mutex_t lock; /* around the library, unless it is thread_safe */
    _Atomic int repeated; /* a few rows were computed twice */
};

/* native_run.c */
sluice_status native_worker_open(void *shared, void **worker, struct sluice_error *err) MUST_USE;
sluice_status native_process(void *worker, const struct sluice_batch *, struct sluice_emit *,
                             struct sluice_error *err) MUST_USE;
void native_worker_close(void *worker);

/* ---- a worker ---- */

struct native_worker {
    struct native *native;
    struct builder *builder;
    struct sluice_verdict *verdicts;
    int64_t verdict_capacity;
    struct buf details; /* of bad rows */
    struct native_bad {
        int64_t k;
        size_t offset;
    } * bad;
    size_t n_bad, bad_capacity;
    struct buf copies; /* texts with a NUL behind them, of one row */
    void *columns[PROTOTYPE_PARAMS +
                  1]; /* gathered numbers by value; the last two: the result and its check */
    size_t column_capacity[PROTOTYPE_PARAMS + 1];
};

enum native_row { NATIVE_ROW, NATIVE_NULL, NATIVE_BAD }; /* computed; null in, null out; no value */

/* Loads one number of a column into a slot. NATIVE_BAD: it does not fit, and was reported. */
enum native_row native_number(struct native_worker *, uint32_t value, const struct ArrowArray *,
                              int64_t row, int64_t k, union foreign_slot *slot);
/* Appends a result, or its stand-in. false = out of memory, or of room for texts. */
bool native_append(struct native_worker *, enum native_row, const union foreign_result *);
/* check: cut the batch in two and compare. */
sluice_status native_over_columns(struct native_worker *, const struct sluice_batch *, bool check,
                                  struct sluice_error *err) MUST_USE;

#endif
