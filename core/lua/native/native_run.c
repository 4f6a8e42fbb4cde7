/* The rows of the stage "native": loads each row's values into slots, calls, and appends what comes
 * back. See nativeInt.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lua/native/nativeInt.h"

#define REPEATED_ROWS 4u /* computed a second time, once in an instance */

/* ---- workers ---- */

void native_worker_close(void *state)
{
    struct native_worker *worker = state;

    builder_destroy(worker->builder);
    for (size_t k = 0; k < PROTOTYPE_PARAMS + 1; k++) {
        free(worker->columns[k]);
    }
    buf_deinit(&worker->details);
    buf_deinit(&worker->copies);
    free(worker->verdicts);
    free(worker->bad);
    free(worker);
}

sluice_status native_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct native *native = shared;
    struct native_worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return error_nomem(err, "a native function");
    }
    worker->native = native;
    status = builder_create(native->type, &worker->builder, err);
    if (status != SLUICE_OK) {
        native_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* ---- bad rows ---- */

/* Without memory for it the row stays unreported, and process fails by details.failed. */
static void native_report(struct native_worker *worker, int64_t k, const char *format, ...)
{
    char text[300];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (worker->n_bad == worker->bad_capacity) {
        size_t capacity = worker->bad_capacity * 2 + 16;
        struct native_bad *bad = realloc(worker->bad, capacity * sizeof *bad);
        if (bad == NULL) {
            worker->details.failed = true;
            return;
        }
        worker->bad = bad;
        worker->bad_capacity = capacity;
    }
    utf8_clean(text);
    worker->bad[worker->n_bad++] = (struct native_bad){ k, worker->details.size };
    buf_printf(&worker->details, "native_error: %s", text);
    buf_putc(&worker->details, '\0');
}

static const char *param_name(const struct native *native, uint32_t value, char text[80])
{
    const struct prototype_param *param =
        &native->foreign.signature.prototype.params[native->foreign.signature.values[value].param];

    snprintf(text, 80, param->name[0] != '\0' ? "'%s'" : "%.0s%u", param->name,
             native->foreign.signature.values[value].param + 1);
    return text;
}

/* ---- values ---- */

static int64_t read_integer(enum cell cell, const void *values, int64_t row)
{
    switch (cell) {
    case CELL_INT8:
        return ((const int8_t *)values)[row];
    case CELL_INT16:
        return ((const int16_t *)values)[row];
    case CELL_INT32:
        return ((const int32_t *)values)[row];
    case CELL_UINT8:
        return ((const uint8_t *)values)[row];
    case CELL_UINT16:
        return ((const uint16_t *)values)[row];
    case CELL_UINT32:
        return ((const uint32_t *)values)[row];
    default: /* the bits of a uint64 as well */
        return ((const int64_t *)values)[row];
    }
}

/* An integer as a floating-point number without loss. */
static bool exactly(int64_t value, bool is_unsigned, enum scalar scalar, union foreign_slot *slot)
{
    const int64_t limit = scalar == SCALAR_FLOAT ? INT64_C(1) << 24 : INT64_C(1) << 53;

    if (value > limit || value < (is_unsigned ? 0 : -limit)) {
        return false;
    }
    if (scalar == SCALAR_FLOAT) {
        slot->float32 = (float)value;
    } else {
        slot->float64 = (double)value;
    }
    return true;
}

enum native_row native_number(struct native_worker *worker, uint32_t value,
                              const struct ArrowArray *array, int64_t row, int64_t k,
                              union foreign_slot *slot)
{
    const struct native_source *source = &worker->native->sources[value];
    enum scalar scalar = worker->native->foreign.signature.values[value].scalar;
    enum cell cell = source->type.cell;
    const void *values = array->buffers[1];
    char name[80];
    int64_t integer;

    if (cell == CELL_BOOL) {
        slot->uint8 = ((const uint8_t *)values)[row >> 3] >> (row & 7) & 1;
        return NATIVE_ROW;
    }
    if (cell == CELL_FLOAT64) {
        slot->float64 = ((const double *)values)[row];
        return NATIVE_ROW;
    }
    if (cell == CELL_FLOAT32) {
        if (scalar == SCALAR_FLOAT) {
            slot->float32 = ((const float *)values)[row];
        } else {
            slot->float64 = (double)((const float *)values)[row];
        }
        return NATIVE_ROW;
    }
    integer = read_integer(cell, values, row);
    if (scalar == SCALAR_FLOAT || scalar == SCALAR_DOUBLE) {
        if (exactly(integer, cell == CELL_UINT64, scalar, slot)) {
            return NATIVE_ROW;
        }
    } else if (cell == CELL_UINT64
                   ? scalar == SCALAR_UINT64 || (integer >= 0 && scalar_holds(scalar, integer))
                   : scalar_holds(scalar, integer) && (scalar != SCALAR_UINT64 || integer >= 0)) {
        foreign_slot_integer(slot, scalar, integer);
        return NATIVE_ROW;
    }
    native_report(worker, k,
                  cell == CELL_UINT64 ? "the column '%s' holds %llu, which parameter %s can't take"
                                      : "the column '%s' holds %lld, which parameter %s can't take",
                  source->column, (long long)integer, param_name(worker->native, value, name));
    return NATIVE_BAD;
}

/* A text with a NUL behind it. Its place in copies: they may move until all are there. */
static enum native_row copy_text(struct native_worker *worker, uint32_t value, const char *text,
                                 size_t n, int64_t k, size_t *place)
{
    char name[80];

    if (memchr(text, '\0', n) != NULL) {
        native_report(worker, k,
                      "the text holds a NUL, where parameter %s would take it to end; a function "
                      "with const char *, size_t "
                      "can take it",
                      param_name(worker->native, value, name));
        return NATIVE_BAD;
    }
    *place = worker->copies.size;
    buf_append(&worker->copies, text, n);
    buf_putc(&worker->copies, '\0');
    return NATIVE_ROW;
}

/* The length parameter of a text or array. */
static enum native_row set_count(struct native_worker *worker, const struct foreign_value *value,
                                 size_t n, int64_t k, union foreign_slot *slots)
{
    enum scalar scalar =
        worker->native->foreign.signature.prototype.params[value->count].type.scalar;

    if (!scalar_holds(scalar, (int64_t)n)) {
        native_report(worker, k, "%zu bytes or items are more than parameter %d can tell", n,
                      value->count + 1);
        return NATIVE_BAD;
    }
    foreign_slot_integer(&slots[value->count], scalar, (int64_t)n);
    return NATIVE_ROW;
}

static enum native_row load_array(struct native_worker *worker, const struct foreign_value *value,
                                  const struct native_source *source,
                                  const struct ArrowArray *array, int64_t row, int64_t k,
                                  union foreign_slot *slots)
{
    static const double none[1];
    const int32_t *offsets = array->buffers[1];
    size_t n = (size_t)(offsets[row + 1] - offsets[row]);
    const char *items;

    if (!source->type.list) { /* bytes */
        items = sluice_text(array, row, &n);
    } else {
        items = n == 0 ? (const char *)none
                       : (const char *)array->children[0]->buffers[1] +
                             (size_t)offsets[row] * scalar_size(value->scalar);
    }
    slots[value->param].pointer = items;
    return set_count(worker, value, n, k, slots);
}

/* Fills the slots for a row; NATIVE_ROW: it can be called. */
static enum native_row load_row(struct native_worker *worker, const struct ArrowArray *batch,
                                int64_t row, int64_t k, union foreign_slot *slots)
{
    const struct native *native = worker->native;
    const struct foreign_signature *signature = &native->foreign.signature;
    size_t places[PROTOTYPE_PARAMS];
    enum native_row state = NATIVE_ROW;

    buf_clear(&worker->copies);
    for (uint32_t i = 0; i < signature->n_values; i++) {
        if (native->sources[i].column != NULL &&
            sluice_is_null(batch->children[native->sources[i].index], row)) {
            return NATIVE_NULL;
        }
    }
    for (uint32_t i = 0; i < signature->n_values && state == NATIVE_ROW; i++) {
        const struct foreign_value *value = &signature->values[i];
        const struct native_source *source = &native->sources[i];
        const struct ArrowArray *array =
            source->column != NULL ? batch->children[source->index] : NULL;
        const char *text = source->text;
        size_t n = source->size;
        if (value->form == FOREIGN_TEXT || value->form == FOREIGN_CSTRING) {
            text = array != NULL ? sluice_text(array, row, &n) : text;
            slots[value->param].pointer = text;
            state = value->form == FOREIGN_TEXT ? set_count(worker, value, n, k, slots)
                    : array != NULL             ? copy_text(worker, i, text, n, k, &places[i])
                                                : NATIVE_ROW;
        } else if (value->form == FOREIGN_ARRAY) {
            state = load_array(worker, value, source, array, row, k, slots);
        } else if (array != NULL) {
            state = native_number(worker, i, array, row, k, &slots[value->param]);
        } else {
            slots[value->param] = source->slot;
        }
    }
    for (uint32_t i = 0; i < signature->n_values && state == NATIVE_ROW && !worker->copies.failed;
         i++) {
        if (signature->values[i].form == FOREIGN_CSTRING && native->sources[i].column != NULL) {
            slots[signature->values[i].param].pointer = worker->copies.data + places[i];
        }
    }
    return state;
}

/* ---- results ---- */

/* One NaN: sign and payload differ between processors. */
static double one_nan(double value)
{
    return value != value ? (double)NAN : value;
}

static double number_of(const union foreign_result *result, enum scalar scalar)
{
    return one_nan(scalar == SCALAR_FLOAT ? (double)result->float32 : result->float64);
}

bool native_append(struct native_worker *worker, enum native_row state,
                   const union foreign_result *result)
{
    static const union foreign_result zero;
    const struct native *native = worker->native;
    enum scalar scalar = native->foreign.signature.result;
    double number;

    if (state != NATIVE_ROW) {
        if (native->nullable) {
            return builder_null(worker->builder);
        }
        result = &zero;
    }
    switch (scalar) {
    case SCALAR_CHAR:
        return result->text == NULL
                   ? builder_null(worker->builder)
                   : builder_bytes_add(worker->builder, result->text, strlen(result->text));
    case SCALAR_FLOAT:
    case SCALAR_DOUBLE:
        number = number_of(result, scalar);
        return number != number && native->config->nan == NATIVE_NAN_NULL
                   ? builder_null(worker->builder)
                   : builder_float(worker->builder, number);
    case SCALAR_BOOL:
        return builder_bool(worker->builder, foreign_integer(result, scalar) != 0);
    default:
        return scalar_is_signed(scalar)
                   ? builder_int(worker->builder, foreign_integer(result, scalar))
                   : builder_uint(worker->builder, (uint64_t)foreign_integer(result, scalar));
    }
}

/* A number that is equal for equal results. */
static uint64_t image(const struct native *native, const union foreign_result *result)
{
    enum scalar scalar = native->foreign.signature.result;
    double number;
    uint64_t bits;

    if (scalar == SCALAR_CHAR) {
        return result->text == NULL ? 1 : hash_bytes(result->text, strlen(result->text)).lo;
    }
    if (scalar == SCALAR_FLOAT || scalar == SCALAR_DOUBLE) {
        number = number_of(result, scalar);
        memcpy(&bits, &number, sizeof bits);
        return bits;
    }
    return (uint64_t)foreign_integer(result, scalar);
}

/* Rows to be computed again. */
struct repeat {
    bool wanted;
    uint32_t n;
    int64_t k[REPEATED_ROWS];
    uint64_t image[REPEATED_ROWS];
};

/* The same rows in the other order: what is left behind from call to call shows. */
static sluice_status repeat_rows(struct native_worker *worker, const struct sluice_batch *batch,
                                 const struct repeat *repeat, struct sluice_error *err)
{
    const struct native *native = worker->native;
    union foreign_slot slots[PROTOTYPE_PARAMS];
    union foreign_result result;

    for (uint32_t i = repeat->n; i-- > 0;) {
        memset(slots, 0, sizeof slots);
        memset(&result, 0, sizeof result);
        if (load_row(worker, batch->array, sluice_row(batch, repeat->k[i]), repeat->k[i], slots) !=
            NATIVE_ROW) {
            continue;
        }
        foreign_call(&native->foreign, slots, &result);
        if (image(native, &result) != repeat->image[i]) {
            return error_set(err, SLUICE_E_CONFIG,
                             "'%s' of %s gave two results for one row: what a column holds may "
                             "depend on nothing but the row; does it "
                             "keep state, use time or random numbers, or is its prototype wrong?",
                             native->foreign.signature.prototype.name, native->config->lib);
        }
    }
    return SLUICE_OK;
}

static bool text_is_bad(struct native_worker *worker, const union foreign_result *result, int64_t k)
{
    if (worker->native->foreign.signature.result != SCALAR_CHAR || result->text == NULL ||
        utf8_valid(result->text, strlen(result->text))) {
        return false;
    }
    native_report(worker, k, "'%s' returned a text that is not UTF-8",
                  worker->native->foreign.signature.prototype.name);
    return true;
}

static sluice_status run_rows(struct native_worker *worker, const struct sluice_batch *batch,
                              struct repeat *repeat, struct sluice_error *err)
{
    const struct native *native = worker->native;
    union foreign_slot slots[PROTOTYPE_PARAMS];
    union foreign_result result;

    memset(slots, 0, sizeof slots);
    for (int64_t k = 0; k < batch->n; k++) {
        enum native_row state;
        if ((k & 63) == 63 && native->api->cancelled(native->host) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "cancelled");
        }
        memset(&result, 0, sizeof result);
        state = load_row(worker, batch->array, sluice_row(batch, k), k, slots);
        if (worker->copies.failed) {
            return error_nomem(err, "a text");
        }
        if (state == NATIVE_ROW) {
            foreign_call(&native->foreign, slots, &result);
            state = text_is_bad(worker, &result, k) ? NATIVE_BAD : NATIVE_ROW;
            if (state == NATIVE_ROW && repeat->wanted && repeat->n < REPEATED_ROWS) {
                repeat->k[repeat->n] = k;
                repeat->image[repeat->n++] = image(native, &result);
            }
        }
        if (!native_append(worker, state, &result)) {
            return builder_full(worker->builder)
                       ? error_set(err, SLUICE_E_DATA,
                                   "the texts that '%s' returns for a batch take more than 2 GiB",
                                   native->foreign.signature.prototype.name)
                       : error_nomem(err, "a column");
        }
    }
    return SLUICE_OK;
}

/* ---- batches ---- */

static sluice_status emit_verdicts(struct native_worker *worker, int64_t n,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    if (n > worker->verdict_capacity) {
        struct sluice_verdict *verdicts = realloc(worker->verdicts, (size_t)n * sizeof *verdicts);
        if (verdicts == NULL) {
            return error_nomem(err, "verdicts");
        }
        worker->verdicts = verdicts;
        worker->verdict_capacity = n;
    }
    memset(worker->verdicts, 0, (size_t)n * sizeof *worker->verdicts);
    for (size_t i = 0; i < worker->n_bad; i++) {
        const char *text = worker->details.data + worker->bad[i].offset;
        worker->verdicts[worker->bad[i].k] = (struct sluice_verdict){
            .reason = SLUICE_VERDICT_BAD, .dup_of = text, .dup_of_length = (int32_t)strlen(text)
        };
    }
    return emit->verdicts(emit, worker->verdicts, n);
}

static sluice_status run_batch(struct native_worker *worker, const struct sluice_batch *batch,
                               struct sluice_error *err)
{
    struct native *native = worker->native;
    struct repeat repeat = { .wanted = batch->n > native->foreign.signature.columns &&
                                       atomic_exchange(&native->repeated, 1) == 0 };
    size_t bad;

    if (native->foreign.signature.columns) {
        return native_over_columns(worker, batch, repeat.wanted, err);
    }
    TRY(run_rows(worker, batch, &repeat, err));
    bad = worker->n_bad;
    TRY(repeat_rows(worker, batch, &repeat, err));
    worker->n_bad = bad;
    return SLUICE_OK;
}

sluice_status native_process(void *state, const struct sluice_batch *batch,
                             struct sluice_emit *emit, struct sluice_error *err)
{
    struct native_worker *worker = state;
    struct native *native = worker->native;
    struct ArrowArray column;
    struct ArrowArray columns;
    sluice_status status;

    builder_truncate(worker->builder, 0);
    buf_clear(&worker->details);
    worker->n_bad = 0;
    if (native->config->thread_safe == 0) {
        pthread_mutex_lock(&native->lock);
    }
    status = run_batch(worker, batch, err);
    if (native->config->thread_safe == 0) {
        pthread_mutex_unlock(&native->lock);
    }
    TRY(status);
    TRY(buf_status(&worker->details, err));
    TRY(builder_finish(worker->builder, &column, err));
    TRY(array_struct(&columns, batch->n, 1, &column, err));
    TRY(emit->batch(emit, &columns));
    return worker->n_bad > 0 ? emit_verdicts(worker, batch->n, emit, err) : SLUICE_OK;
}
