/* cast_columns: columns of other types, value by value; what does not fit is set aside, becomes
 * null or ends the run. */
#include "columns.h"

#include <sluice_stage.h>
#include <sluice_verdicts.h>
#include <stddef.h>
#include <stdio.h>

#include "cast_value.h"

#define COLUMNS_MAX 200
enum { BAD_QUARANTINE, BAD_NULL, BAD_ERROR };

struct config {
    struct sluice_map types;
    int32_t bad;
};

static const struct sluice_option options[] = {
    { .name = "types",
      .doc = "The new type of each column that gets one: { score = \"float64\" }; bool, int8 to "
             "int64, uint8 to uint64, float32, float64, utf8, binary, json.",
      .type = SLUICE_OPT_MAP,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, types) },
    { .name = "bad",
      .doc = "What becomes of a row with a value that the type can't hold: it is set aside, the "
             "value becomes null, or the run ends.",
      .def = "quarantine",
      .choices = "quarantine|null|error",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, bad) },
};

struct stage {
    const struct config *config;
    struct cast_type *from, *to; /* as many as there are types */
    int32_t *index;
};

static void cast_close(void *shared)
{
    struct stage *stage = shared;

    free(stage->from);
    free(stage->to);
    free(stage->index);
    free(stage);
}

static sluice_status cast_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    size_t n = (size_t)config->types.n;
    struct stage *stage;
    char message[300];

    (void)api;
    (void)host;
    if (n == 0 || n > COLUMNS_MAX) {
        return sluice_fail(
            err, SLUICE_E_CONFIG, "types",
            "expected the types of 1 to 200 columns, such as { score = \"float64\" }");
    }
    stage = calloc(1, sizeof *stage);
    if (stage == NULL) {
        return sluice_nomem(err);
    }
    stage->config = config;
    stage->from = calloc(n, sizeof *stage->from);
    stage->to = calloc(n, sizeof *stage->to);
    stage->index = calloc(n, sizeof *stage->index);
    if (stage->from == NULL || stage->to == NULL || stage->index == NULL) {
        cast_close(stage);
        return sluice_nomem(err);
    }
    for (size_t k = 0; k < n; k++) {
        const char *type = config->types.values[k];
        if (!cast_type_parse(type, &stage->to[k]) || strchr(type, '?') != NULL) {
            cast_close(stage);
            (void)snprintf(message, sizeof message,
                           "the column '%.80s': found the type \"%.60s\", expected bool, int8 to "
                           "int64, uint8 to uint64, float32, float64, utf8, binary or json (nulls "
                           "stay nulls)",
                           config->types.keys[k], type);
            return sluice_fail(err, SLUICE_E_CONFIG, "types", message);
        }
    }
    *shared = stage;
    return SLUICE_OK;
}

/* The type of a column, "" where it is none. */
static sluice_status type_of(struct sluice_plan *plan, const char *wanted, const char **type)
{
    for (uint32_t k = 0;; k++) {
        const char *name;
        sluice_status status = plan->column(plan, 0, k, &name, type);
        if (status != SLUICE_OK || name[0] == '\0') {
            *type = "";
            return status;
        }
        if (strcmp(name, wanted) == 0) {
            return SLUICE_OK;
        }
    }
}

static sluice_status prepare_column(struct stage *stage, struct sluice_plan *plan, size_t k,
                                    struct sluice_error *err)
{
    const char *name = stage->config->types.keys[k];
    const char *to = stage->config->types.values[k];
    const char *type;
    char message[400];
    char full[40];
    sluice_status status = plan->need(plan, 0, name, "", 0, &stage->index[k], err);

    if (status == SLUICE_OK) {
        status = type_of(plan, name, &type);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (!cast_type_parse(type, &stage->from[k]) || !cast_possible(stage->from[k], stage->to[k])) {
        (void)snprintf(
            message, sizeof message,
            "the column '%.100s' is %.100s, which can't be cast to %.20s; texts, numbers, "
            "bools and json can be cast to each other, binary to utf8",
            name, type[0] == '\0' ? "hidden or derived" : type, to);
        return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
    }
    if (stage->from[k].kind == CAST_JSON && stage->to[k].kind == CAST_JSON) {
        stage->from[k].kind = CAST_TEXT; /* it stays as it is */
    }
    /* A JSON null is a null. */
    (void)snprintf(full, sizeof full, "%.20s%s", to,
                   type[strlen(type) - 1] == '?' || stage->config->bad == BAD_NULL ||
                           stage->from[k].kind == CAST_JSON
                       ? "?"
                       : "");
    return plan->add(plan, name, full, NULL, err);
}

static sluice_status cast_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < stage->config->types.n; k++) {
        status = prepare_column(stage, plan, k, err);
    }
    return status;
}

/* ---- rows ---- */

struct call {
    const struct stage *stage;
    const struct sluice_batch *batch;
    struct sluice_verdict *verdicts; /* of the selected rows */
    char **details;                  /* of the bad ones, owned */
    bool any_bad;
};

static void call_deinit(struct call *call)
{
    for (int64_t i = 0; call->details != NULL && i < call->batch->n; i++) {
        free(call->details[i]);
    }
    free(call->details);
    free(call->verdicts);
}

/* "bad_cast: the column 'n' is "12x": it is no whole number, so it can't be int64" */
static sluice_status refuse(struct call *call, int64_t i, size_t k, const struct cast_value *value,
                            const char *why, struct sluice_error *err)
{
    const struct config *config = call->stage->config;
    char shown[64] = "";
    char *detail;

    if (value->is == VALUE_TEXT) {
        int n = (int)(value->n < 40 ? value->n : 40);
        while (n > 0 && n < (int)value->n && ((unsigned char)value->text[n] & 0xc0) == 0x80) {
            n--;
        }
        (void)snprintf(shown, sizeof shown, "\"%.*s%s\"", n, value->text, value->n > 40 ? "…" : "");
    } else if (value->is == VALUE_REAL) {
        (void)snprintf(shown, sizeof shown, "%.17g", value->real);
    } else if (value->is == VALUE_WHOLE) {
        (void)snprintf(shown, sizeof shown, "%s%llu", value->negative ? "-" : "",
                       (unsigned long long)value->magnitude);
    } else {
        (void)snprintf(shown, sizeof shown, "%s", value->truth ? "true" : "false");
    }
    detail = malloc(400);
    if (detail == NULL) {
        return sluice_nomem(err);
    }
    (void)snprintf(detail, 400, "bad_cast: the column '%.80s' is %s, which can't be %.20s: %s",
                   config->types.keys[k], shown, config->types.values[k], why);
    if (config->bad == BAD_ERROR) {
        char message[600];
        (void)snprintf(message, sizeof message,
                       "%s; mend the data, or say bad = \"quarantine\" or \"null\"",
                       detail + strlen("bad_cast: "));
        free(detail);
        return sluice_fail(err, SLUICE_E_SCHEMA, config->types.keys[k], message);
    }
    free(call->details[i]);
    call->details[i] = detail;
    sluice_judge_bad(&call->verdicts[i], detail);
    call->any_bad = true;
    return SLUICE_OK;
}

static sluice_status cast_column(struct call *call, size_t k, struct ArrowArray *out,
                                 struct sluice_error *err)
{
    const struct stage *stage = call->stage;
    const struct ArrowArray *array = call->batch->array->children[stage->index[k]];
    struct cast_column column = { 0 };
    struct cast_value zero = { .is = VALUE_WHOLE };
    sluice_status status = SLUICE_OK;

    for (int64_t i = 0; status == SLUICE_OK && i < call->batch->n; i++) {
        struct cast_value value;
        const char *bad = NULL;
        bool ok = cast_read(stage->from[k], array, sluice_row(call->batch, i), &value) &&
                  cast_write(stage->to[k], &value, &column, &bad);
        if (ok && bad != NULL && stage->config->bad == BAD_NULL) {
            ok = cast_write_null(stage->to[k], &column);
        } else if (ok && bad != NULL) {
            status = refuse(call, i, k, &value, bad, err);
            ok = cast_write(stage->to[k], &zero, &column, &bad); /* nobody sees it */
        }
        free(value.own);
        status = status == SLUICE_OK && !ok ? sluice_nomem(err) : status;
    }
    if (status != SLUICE_OK) {
        cast_column_deinit(&column);
        return status;
    }
    status = cast_make(stage->to[k], &column, out);
    return status == SLUICE_OK ? SLUICE_OK : sluice_nomem(err);
}

static sluice_status cast_rows(struct call *call, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    struct ArrowArray columns[COLUMNS_MAX];
    struct ArrowArray out;
    size_t made = 0;
    sluice_status status = SLUICE_OK;

    while (status == SLUICE_OK && made < call->stage->config->types.n) {
        status = cast_column(call, made, &columns[made], err);
        made += status == SLUICE_OK;
    }
    if (status != SLUICE_OK) {
        while (made > 0) {
            made--;
            columns[made].release(&columns[made]);
        }
        return status;
    }
    if (call->any_bad) {
        status = emit->verdicts(emit, call->verdicts, call->batch->n);
    }
    if (sluice_make_struct(&out, call->batch->n, (int64_t)made, columns) != SLUICE_OK) {
        return sluice_nomem(err);
    }
    if (status != SLUICE_OK) {
        out.release(&out);
        return status;
    }
    return emit->batch(emit, &out);
}

static sluice_status cast_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct call call = { .stage = worker, .batch = batch };
    sluice_status status;

    if (batch->n == 0) {
        return SLUICE_OK;
    }
    call.verdicts = calloc((size_t)batch->n, sizeof *call.verdicts);
    call.details = calloc((size_t)batch->n, sizeof *call.details);
    status = call.verdicts == NULL || call.details == NULL ? sluice_nomem(err)
                                                           : cast_rows(&call, emit, err);
    call_deinit(&call);
    return status;
}

const struct sluice_stage columns_cast_stage = {
    .size = sizeof columns_cast_stage,
    .name = "cast_columns",
    .version = "1.0",
    .summary = "Columns as other types, each value exactly or not at all",
    .doc =
        "Whole numbers: within the type's range, from texts as [+-]digits, from floats without a "
        "fraction, from bools as 0 and 1. Floats: whole numbers that they hold exactly, texts as "
        "decimal numbers, `nan`, `inf`, `-inf` (rounded to the nearest); float64 to float32 rounds "
        "to the nearest, beyond its range is bad. bool: true, false, 1, 0. utf8: numbers as the "
        "shortest decimals that read back equal; binary that is UTF-8. json to others: its string, "
        "number or bool; what has members as its text. json from utf8: texts that are JSON. Blanks "
        "and empty texts are no numbers. Nulls stay nulls.",
    .example =
        "docs | s.cast_columns { { score = \"float64\", year = \"int32\" }, bad = \"null\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_per_batch = 4,
    .open = cast_open,
    .prepare = cast_prepare,
    .process = cast_process,
    .close = cast_close,
};
