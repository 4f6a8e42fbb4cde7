/* Rows for whatever columns a stage asks for. What a row holds depends on the seed, the column and
 * the row's id alone, so that the same row can be put into any company. See kitInt.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "data/builder.h"

struct making {
    const struct kit_bench *bench;
    const struct kit_rows_spec *spec;
    uint32_t port;
    struct buf text;
};

/* Every tenth row repeats what an earlier one holds, so that there are duplicates. */
static uint64_t source_of(const struct making *making, uint64_t id)
{
    struct kit_random random = kit_random_of(making->bench->kit->seed, "repeat", id);

    return id > 3 && kit_below(&random, 10) == 0 ? id - 1 - kit_below(&random, 3) : id;
}

static void text_of(struct making *making, const char *column, uint64_t id)
{
    const struct kit_options *options = &making->bench->kit->options;
    struct kit_random random =
        kit_random_of(making->bench->kit->seed, column, source_of(making, id));

    buf_clear(&making->text);
    if (making->spec->profile == KIT_HUGE && id == 0) {
        kit_text_huge(&making->text, options->thorough ? (size_t)48 << 20 : (size_t)4 << 20,
                      strcmp(column, "text") == 0);
    } else if (making->spec->profile != KIT_HUGE || id != 1) {
        kit_text(&making->text, &random, making->spec->profile);
    } else {
        kit_text_huge(&making->text, options->thorough ? (size_t)8 << 20 : (size_t)1 << 20, false);
    }
}

static bool add_json(struct making *making, struct builder *builder, struct kit_random *random,
                     const char *column)
{
    struct buf *out = &making->text;

    buf_clear(out);
    if (strcmp(column, "metadata") != 0 && kit_below(random, 3) == 0) {
        buf_printf(out, "%lld", (long long)kit_below(random, 100000) - 500);
    } else {
        buf_printf(out, "{\"k\":%llu,\"s\":\"a \\\"b\\\" \\u00e9\",\"list\":[1,2.5,null,true]}",
                   (unsigned long long)kit_below(random, 1000));
    }
    return builder_bytes_add(builder, buf_str(out), out->size);
}

static int64_t number(const struct making *making, struct kit_random *random)
{
    static const int64_t odd[] = { 0, -1, 1, 127, 128, -128, 255, 256, 32767 };

    if (making->spec->profile == KIT_HOSTILE && kit_below(random, 3) == 0) {
        return kit_below(random, 2) == 0 ? INT64_MAX : INT64_MIN;
    }
    return kit_below(random, 4) == 0 ? odd[kit_below(random, sizeof odd / sizeof odd[0])]
                                     : (int64_t)kit_below(random, 2000) - 500;
}

/* Wraps into the width of the type. */
static int64_t narrow(int64_t value, enum type_kind kind)
{
    switch (kind) {
    case TYPE_INT8:
        return (int8_t)value;
    case TYPE_INT16:
        return (int16_t)value;
    case TYPE_INT32:
        return (int32_t)value;
    default:
        return value;
    }
}

static uint64_t narrow_unsigned(uint64_t value, enum type_kind kind)
{
    return kind == TYPE_UINT8    ? (uint8_t)value
           : kind == TYPE_UINT16 ? (uint16_t)value
           : kind == TYPE_UINT32 ? (uint32_t)value
                                 : value;
}

static double fraction(const struct making *making, struct kit_random *random, const char *column)
{
    if (making->spec->profile == KIT_HOSTILE && strcmp(column, "similarity") != 0) {
        static const double odd[] = { 0.0, -0.0, INFINITY, -INFINITY, NAN, 1e308, 5e-324, -1.5 };
        return odd[kit_below(random, sizeof odd / sizeof odd[0])];
    }
    return (double)(kit_next(random) >> 11) / 9007199254740992.0;
}

/* An unsigned number: in a side input, the id of a row of the main input. */
static uint64_t natural(const struct making *making, struct kit_random *random)
{
    const struct kit_rows_spec *spec = making->spec;

    if (making->port == 1 && spec->n_main > 0) {
        return spec->main_ids[kit_below(random, (uint64_t)spec->n_main)];
    }
    return kit_below(random, 5) == 0 ? kit_next(random) : kit_below(random, 4000);
}

static bool add_value(struct making *making, struct builder *builder, const struct type *type,
                      const char *column, struct kit_random *random, uint64_t id, bool inside);

static bool add_list(struct making *making, struct builder *builder, const struct type *type,
                     const char *column, struct kit_random *random, uint64_t id)
{
    uint64_t n = kit_below(random, 8) == 0 ? 0 : kit_below(random, 40);
    struct builder *items = builder_child(builder, 0);

    if (type->spans) { /* of no text that is known: one empty span */
        n = 0;
    }
    if (strcmp(column, "tokens") == 0) {
        n = kit_below(random, 10) == 0 ? 0 : kit_below(random, 300);
        for (uint64_t i = 0; i < n; i++) {
            if (!builder_uint(items, kit_below(random, 50257))) {
                return false;
            }
        }
        return builder_close(builder);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!add_value(making, items, type->children[0], column, random, id, true)) {
            return false;
        }
    }
    return builder_close(builder);
}

static bool add_fixed(struct builder *builder, const struct type *type, const char *column,
                      struct kit_random *random, uint64_t id)
{
    unsigned char bytes[256];
    size_t n = (size_t)type->width < sizeof bytes ? (size_t)type->width : sizeof bytes;

    /* Keys come sorted, a few rows each. */
    for (size_t i = 0; i < n; i++) {
        uint64_t byte = strcmp(column, "key") != 0 ? kit_next(random)
                        : i < 8                    ? (id / 3) >> (8 * (7 - i))
                                                   : 0;
        bytes[i] = (unsigned char)byte;
    }
    return builder_bytes_add(builder, bytes, n);
}

static bool add_value(struct making *making, struct builder *builder, const struct type *type,
                      const char *column, struct kit_random *random, uint64_t id, bool inside)
{
    if (type->nullable && (making->spec->profile == KIT_NULLS || kit_below(random, 12) == 0)) {
        return builder_null(builder);
    }
    switch (type->kind) {
    case TYPE_BOOL:
        return builder_bool(builder, kit_below(random, 2) == 1);
    case TYPE_INT8:
    case TYPE_INT16:
    case TYPE_INT32:
    case TYPE_INT64:
        return builder_int(builder, narrow(number(making, random), type->kind));
    case TYPE_UINT8:
    case TYPE_UINT16:
    case TYPE_UINT32:
    case TYPE_UINT64:
        return builder_uint(builder, narrow_unsigned(natural(making, random), type->kind));
    case TYPE_FLOAT32:
        return builder_float(builder, (double)(float)fraction(making, random, column));
    case TYPE_FLOAT64:
        return builder_float(builder, fraction(making, random, column));
    case TYPE_JSON:
        return add_json(making, builder, random, column);
    case TYPE_FIXED:
        return add_fixed(builder, type, column, random, id);
    case TYPE_LIST:
        return add_list(making, builder, type, column, random, id);
    case TYPE_STRUCT:
        for (uint32_t k = 0; k < type->n_children; k++) {
            if (!add_value(making, builder_child(builder, k), type->children[k], column, random, id,
                           true)) {
                return false;
            }
        }
        return builder_close(builder);
    case TYPE_BINARY:
        if (making->spec->profile == KIT_BAD_UTF8) {
            static const char bad[] = "ab\xff\xfe\xc0\x80\xed\xa0\x80\xf5\x80 \xe2\x82";
            return builder_bytes_add(builder, bad + kit_below(random, 4), 6 + id % 6);
        }
        break;
    case TYPE_UTF8:
        if (strcmp(column, "id") == 0 || strcmp(column, "dup_of") == 0) {
            buf_clear(&making->text);
            buf_printf(&making->text, "doc-%llu", (unsigned long long)id);
            return builder_bytes_add(builder, buf_str(&making->text), making->text.size);
        }
        break;
    default:
        break;
    }
    if (inside) {
        buf_clear(&making->text);
        buf_printf(&making->text, "item \xc3\xa9 %llu", (unsigned long long)kit_below(random, 50));
    } else {
        text_of(making, column, id);
    }
    return builder_bytes_add(builder, buf_str(&making->text), making->text.size);
}

/* ---- columns ---- */

static sluice_status finish(struct builder *builder, bool ok, struct column **out,
                            struct sluice_error *err)
{
    struct ArrowArray array = { 0 };
    sluice_status status = ok ? SLUICE_OK : error_nomem(err, "generated rows");

    if (status == SLUICE_OK) {
        status = builder_finish(builder, &array, err);
    }
    if (status == SLUICE_OK) {
        *out = column_create(&array);
        status = *out == NULL ? error_nomem(err, "generated rows") : SLUICE_OK;
    }
    builder_destroy(builder);
    return status;
}

static sluice_status generate(struct making *making, const char *column, const struct type *type,
                              struct column **out, struct sluice_error *err)
{
    const struct kit *kit = making->bench->kit;
    struct builder *builder = NULL;
    bool ok = true;

    TRY(builder_create(type, &builder, err));
    for (int64_t row = 0; ok && row < making->spec->n; row++) {
        uint64_t id = making->spec->ids[row];
        struct kit_random random = kit_random_of(kit->seed, column, source_of(making, id));
        if (kit->user != NULL && making->port == 0 && making->spec->profile == KIT_ORDINARY &&
            kit_user_value(kit->user, column, type, id, builder, &ok)) {
            continue;
        }
        ok = add_value(making, builder, type, column, &random, id, false);
    }
    return finish(builder, ok, out, err);
}

/* _row and _pos: the id itself. */
static sluice_status numbers(const struct kit_rows_spec *spec, struct column **out,
                             struct sluice_error *err)
{
    struct type type = { .kind = TYPE_UINT64 };
    struct builder *builder = NULL;
    bool ok = true;

    TRY(builder_create(&type, &builder, err));
    for (int64_t row = 0; ok && row < spec->n; row++) {
        ok = builder_uint(builder, spec->ids[row]);
    }
    return finish(builder, ok, out, err);
}

/* A column that another stage makes of the same rows. */
static sluice_status made(struct kit_maker maker, const struct kit_rows_spec *spec,
                          struct column **out, struct sluice_error *err)
{
    struct kit_rows rows = { 0 };
    struct kit_view view = { 0 };
    struct stage_worker *worker = NULL;
    struct stage_result result;
    uint32_t *pick = malloc(((size_t)spec->n + 1) * sizeof *pick);
    sluice_status status;

    if (pick == NULL) {
        return error_nomem(err, "generated rows");
    }
    for (int64_t row = 0; row < spec->n; row++) {
        pick[row] = (uint32_t)row;
    }
    stage_result_init(&result);
    status = kit_rows_make(maker.by, 0, spec, &rows, err);
    if (status == SLUICE_OK) {
        status = kit_view_make(&rows, 0, pick, spec->n, NULL, 0, false, 0, &view, err);
    }
    if (status == SLUICE_OK) {
        status = stage_worker_open(maker.by->stage, &worker, err);
    }
    if (status == SLUICE_OK) {
        status = stage_process(worker, &view.batch, &result, err);
    }
    if (status == SLUICE_OK) {
        struct ArrowArray *struct_of = result.n_batches == 1 ? &result.batches[0] : NULL;
        if (struct_of == NULL) {
            status = error_set(err, SLUICE_E_INTERNAL, "stage '%s' made no column",
                               maker.by->kind->name);
        } else {
            *out = column_create(struct_of->children[maker.column]);
            status = *out == NULL ? error_nomem(err, "generated rows") : SLUICE_OK;
        }
    }
    stage_result_deinit(&result);
    stage_worker_close(worker);
    kit_view_deinit(&view);
    kit_rows_deinit(&rows);
    free(pick);
    return status;
}

sluice_status kit_rows_make(struct kit_bench *bench, uint32_t port,
                            const struct kit_rows_spec *spec, struct kit_rows *out,
                            struct sluice_error *err)
{
    static const struct type number_type = { .kind = TYPE_UINT64 };
    const struct stage_prepared *prepared = &bench->prepared;
    struct making making = { .bench = bench, .spec = spec, .port = port };
    uint32_t n = prepared->n_needs[port];
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    out->ids = malloc(((size_t)spec->n + 1) * sizeof *out->ids);
    out->types = calloc(n + 1u, sizeof *out->types);
    out->columns = calloc(n + 1u, sizeof *out->columns);
    if (out->ids == NULL || out->types == NULL || out->columns == NULL) {
        status = error_nomem(err, "generated rows");
    } else if (spec->n > 0) {
        memcpy(out->ids, spec->ids, (size_t)spec->n * sizeof *out->ids);
    }
    out->n = spec->n;
    for (uint32_t k = 0; status == SLUICE_OK && k < n; k++) {
        int32_t at = prepared->needs[port][k].field;
        out->n_columns = k + 1;
        if (at < 0) {
            out->types[k] = &number_type;
            status = numbers(spec, &out->columns[k], err);
            continue;
        }
        out->types[k] = bench->schemas[port].fields[at].type;
        status = bench->makers[port][at].by != NULL && spec->n > 0 /* of no rows they make none */
                     ? made(bench->makers[port][at], spec, &out->columns[k], err)
                     : generate(&making, bench->schemas[port].fields[at].name, out->types[k],
                                &out->columns[k], err);
    }
    buf_deinit(&making.text);
    return status;
}

void kit_rows_deinit(struct kit_rows *rows)
{
    for (uint32_t k = 0; rows->columns != NULL && k < rows->n_columns; k++) {
        column_unref(rows->columns[k]);
    }
    free(rows->columns);
    free(rows->types);
    free(rows->ids);
    memset(rows, 0, sizeof *rows);
}

uint64_t *kit_ids(int64_t n)
{
    uint64_t *ids = malloc(((size_t)n + 1) * sizeof *ids);

    for (int64_t i = 0; ids != NULL && i < n; i++) {
        ids[i] = (uint64_t)i;
    }
    return ids;
}
