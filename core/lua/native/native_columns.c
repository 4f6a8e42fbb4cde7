/* Functions of the stage "native" that take whole columns: one call a batch, over the rows that
 * have all their values, side by side in memory. See nativeInt.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/native/nativeInt.h"

#define GUARD 64u /* bytes behind the result that must stay as they are */
#define GUARD_BYTE 0xA5

/* Room for n items of size bytes each and the guard. */
static void *reserve(struct native_worker *worker, uint32_t k, size_t n, size_t size,
                     struct sluice_error *err)
{
    size_t need = n * size + GUARD;

    if (need > worker->column_capacity[k]) {
        void *memory = realloc(worker->columns[k], need + need / 4);
        if (memory == NULL) {
            (void)error_nomem(err, "a column");
            return NULL;
        }
        worker->columns[k] = memory;
        worker->column_capacity[k] = need + need / 4;
    }
    return worker->columns[k];
}

/* Gathers the numbers of the rows that can be computed; states[k] tells which. Gives how many. */
static sluice_status gather(struct native_worker *worker, const struct sluice_batch *batch,
                            uint8_t *states, size_t *n, struct sluice_error *err)
{
    const struct native *native = worker->native;
    const struct foreign_signature *signature = &native->foreign.signature;

    *n = 0;
    for (uint32_t i = 0; i < signature->n_values; i++) {
        if (signature->values[i].form == FOREIGN_ARRAY &&
            reserve(worker, i, (size_t)batch->n, scalar_size(signature->values[i].scalar), err) ==
                NULL) {
            return SLUICE_E_NOMEM;
        }
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        enum native_row state = NATIVE_ROW;
        for (uint32_t i = 0; i < signature->n_values; i++) {
            if (signature->values[i].form == FOREIGN_ARRAY &&
                sluice_is_null(batch->array->children[native->sources[i].index], row)) {
                state = NATIVE_NULL;
            }
        }
        for (uint32_t i = 0; i < signature->n_values && state == NATIVE_ROW; i++) {
            size_t size = scalar_size(signature->values[i].scalar);
            union foreign_slot slot;
            if (signature->values[i].form == FOREIGN_ARRAY) {
                state = native_number(worker, i, batch->array->children[native->sources[i].index],
                                      row, k, &slot);
                memcpy((char *)worker->columns[i] + *n * size, &slot,
                       size); /* little-endian: the low bytes come first */
            }
        }
        states[k] = (uint8_t)state;
        *n += state == NATIVE_ROW;
    }
    return SLUICE_OK;
}

/* Calls over items [begin, end) of the gathered columns, into out. */
static void call_over(const struct native_worker *worker, size_t begin, size_t end, char *out)
{
    const struct native *native = worker->native;
    const struct foreign_signature *signature = &native->foreign.signature;
    union foreign_slot slots[PROTOTYPE_PARAMS];
    union foreign_result nothing;

    memset(slots, 0, sizeof slots);
    for (uint32_t i = 0; i < signature->n_values; i++) {
        const struct foreign_value *value = &signature->values[i];
        if (value->form == FOREIGN_ARRAY) {
            slots[value->param].pointer =
                (const char *)worker->columns[i] + begin * scalar_size(value->scalar);
        } else {
            slots[value->param] = native->sources[i].slot;
        }
    }
    slots[signature->out].out = out + begin * scalar_size(signature->result);
    foreign_slot_integer(&slots[signature->count],
                         signature->prototype.params[signature->count].type.scalar,
                         (int64_t)(end - begin));
    foreign_call(&native->foreign, slots, &nothing);
}

static bool guard_is_broken(const char *out, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++) {
        if ((unsigned char)out[bytes + i] != GUARD_BYTE) {
            return true;
        }
    }
    return false;
}

/* Equal numbers, where all NaN are equal. */
static bool same_items(enum scalar scalar, const char *a, const char *b, size_t n)
{
    size_t size = scalar_size(scalar);

    for (size_t i = 0; i < n; i++) {
        if (memcmp(a + i * size, b + i * size, size) == 0) {
            continue;
        }
        if (scalar == SCALAR_DOUBLE) {
            double x, y;
            memcpy(&x, a + i * size, size);
            memcpy(&y, b + i * size, size);
            if (x != x && y != y) {
                continue;
            }
        } else if (scalar == SCALAR_FLOAT) {
            float x, y;
            memcpy(&x, a + i * size, size);
            memcpy(&y, b + i * size, size);
            if (x != x && y != y) {
                continue;
            }
        }
        return false;
    }
    return true;
}

/* Cutting the batch in two must not change a result. The memory is filled otherwise before, so that
 * what was not written shows. */
static sluice_status check_halves(struct native_worker *worker, const char *out, size_t n,
                                  struct sluice_error *err)
{
    const struct foreign_signature *signature = &worker->native->foreign.signature;
    size_t size = scalar_size(signature->result);
    char *again = reserve(worker, PROTOTYPE_PARAMS, n, size, err);

    if (again == NULL) {
        return SLUICE_E_NOMEM;
    }
    memset(again, 0x5A, n * size + GUARD);
    call_over(worker, n / 2, n, again);
    call_over(worker, 0, n / 2, again);
    if (!same_items(signature->result, out, again, n)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "'%s' of %s gives other results when a column comes in two parts: each "
                         "item of %s may depend on the items of "
                         "its own row only, and every one must be written",
                         signature->prototype.name, worker->native->config->lib,
                         signature->prototype.params[signature->out].name[0] != '\0'
                             ? signature->prototype.params[signature->out].name
                             : "the result");
    }
    return SLUICE_OK;
}

static sluice_status scatter(struct native_worker *worker, const uint8_t *states, int64_t n,
                             const char *out, struct sluice_error *err)
{
    size_t size = scalar_size(worker->native->foreign.signature.result);
    size_t at = 0;

    for (int64_t k = 0; k < n; k++) {
        union foreign_result result;
        memset(&result, 0, sizeof result);
        if (states[k] == NATIVE_ROW) {
            memcpy(&result, out + at * size, size);
            at++;
        }
        if (!native_append(worker, (enum native_row)states[k], &result)) {
            return error_nomem(err, "a column");
        }
    }
    return SLUICE_OK;
}

sluice_status native_over_columns(struct native_worker *worker, const struct sluice_batch *batch,
                                  bool check, struct sluice_error *err)
{
    const struct foreign_signature *signature = &worker->native->foreign.signature;
    size_t size = scalar_size(signature->result);
    uint8_t *states = malloc((size_t)batch->n + 1);
    sluice_status status = states == NULL ? error_nomem(err, "a column") : SLUICE_OK;
    char *out = NULL;
    size_t n = 0;

    if (status == SLUICE_OK) {
        status = gather(worker, batch, states, &n, err);
    }
    if (status == SLUICE_OK) {
        /* No value comes from the place of `count` or `out`, so one of the columns' places is free
         * for it. */
        out = reserve(worker, PROTOTYPE_PARAMS - 1, n, size, err);
        status = out == NULL ? SLUICE_E_NOMEM : SLUICE_OK;
    }
    if (status == SLUICE_OK && n > 0) {
        memset(out, 0, n * size);
        memset(out + n * size, GUARD_BYTE, GUARD);
        call_over(worker, 0, n, out);
        if (guard_is_broken(out, n * size)) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "'%s' of %s writes behind the %zu items of its result",
                               signature->prototype.name, worker->native->config->lib, n);
        }
        if (status == SLUICE_OK && check && n > 1) {
            status = check_halves(worker, out, n, err);
        }
    }
    if (status == SLUICE_OK) {
        status = scatter(worker, states, batch->n, out, err);
    }
    free(states);
    return status;
}
