/* Rows of dolma_mix: a document is put together, judged by the rules, and its spans are replaced.
 * See dolma_mix.h. */
#include "dolma_mix.h"

#include <sluice_verdicts.h>
#include <sluice_stage.h>
#include <string.h>

#include "span_edit.h"
#include "text/text_buffer.h"

enum { REASON_KEEP, REASON_NOT_INCLUDED, REASON_EXCLUDED, REASON_TOO_SHORT };

struct worker {
    const struct mix *stage;
    struct jsonpath_result result;
    struct span_edit *edits;
    size_t n_edits, capacity;
    struct text_buffer text;
};

sluice_status mix_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

void mix_worker_close(void *state)
{
    struct worker *worker = state;

    jsonpath_result_deinit(&worker->result);
    text_buffer_deinit(&worker->text);
    free(worker->edits);
    free(worker);
}

static sluice_status bad_row(struct sluice_error *err, int64_t row, const char *what)
{
    sluice_status status = sluice_fail(err, SLUICE_E_DATA, "attributes", what);

    if (err != NULL) {
        err->row = row;
    }
    return status;
}

/* A member's JSON as an object of its own; NULL in *out when there is none. */
static sluice_status load(const struct ArrowArray *column, int64_t row, json_t **out,
                          struct sluice_error *err)
{
    size_t n;
    const char *text = sluice_text(column, row, &n);
    json_error_t where;

    *out = NULL;
    if (n == 0 || (n == 4 && memcmp(text, "null", 4) == 0)) {
        return SLUICE_OK;
    }
    *out = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);
    if (*out == NULL || !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return bad_row(err, row, "found attributes or metadata that are no JSON object");
    }
    return SLUICE_OK;
}

/* What the mixer calls the document: its members, and the attributes merged. */
static sluice_status build(const struct mix *stage, const struct sluice_batch *batch, int64_t row,
                           json_t **out, struct sluice_error *err)
{
    json_t *root = NULL;
    json_t *attributes = NULL;
    sluice_status status = SLUICE_OK;
    int failed = 0;

    if (stage->whole && stage->metadata >= 0) {
        status = load(batch->array->children[stage->metadata], row, &root, err);
    }
    if (status == SLUICE_OK && stage->attributes >= 0) {
        status = load(batch->array->children[stage->attributes], row, &attributes, err);
    }
    if (status != SLUICE_OK) {
        json_decref(root);
        return status;
    }
    root = root != NULL ? root : json_object();
    if (stage->whole) {
        size_t n;
        const char *id = sluice_text(batch->array->children[1], row, &n);
        failed = json_object_set_new(root, "id", json_stringn(id, n));
        id = sluice_text(batch->array->children[0], row, &n);
        failed = failed != 0 || json_object_set_new(root, "text", json_stringn(id, n)) != 0;
    }
    if (attributes != NULL) {
        json_t *own = json_object_get(root, "attributes");
        failed = failed != 0 ||
                 (json_is_object(own) ? json_object_update(own, attributes)
                                      : json_object_set(root, "attributes", attributes)) != 0;
        json_decref(attributes);
    }
    if (root == NULL || failed != 0) {
        json_decref(root);
        return mix_nomem(err);
    }
    *out = root;
    return SLUICE_OK;
}

static sluice_status add_edit(struct worker *worker, json_t *span,
                              const struct mix_replacement *rule, int64_t row,
                              struct sluice_error *err)
{
    json_t *start = json_array_get(span, 0);
    json_t *end = json_array_get(span, 1);
    json_t *score = json_array_get(span, 2);

    if (!json_is_integer(start) || !json_is_integer(end) || !json_is_number(score) ||
        json_integer_value(start) < 0 || json_integer_value(end) < 0) {
        return bad_row(err, row, "a span to replace is not [start, end, score]");
    }
    if (!(json_number_value(score) >= rule->min && json_number_value(score) < rule->max)) {
        return SLUICE_OK;
    }
    if (worker->n_edits == worker->capacity) {
        size_t capacity = worker->capacity * 2 + 32;
        struct span_edit *edits = realloc(worker->edits, capacity * sizeof *edits);
        if (edits == NULL) {
            return mix_nomem(err);
        }
        worker->edits = edits;
        worker->capacity = capacity;
    }
    worker->edits[worker->n_edits] =
        (struct span_edit){ (uint64_t)json_integer_value(start), (uint64_t)json_integer_value(end),
                            rule->text, worker->n_edits };
    worker->n_edits++;
    return SLUICE_OK;
}

/* The spans of a result: lists of spans, or spans. */
static sluice_status add_edits(struct worker *worker, const struct mix_replacement *rule,
                               int64_t row, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < worker->result.n; k++) {
        json_t *value = worker->result.values[k];
        if (json_is_null(value)) {
            continue;
        }
        if (!json_is_array(value)) {
            return bad_row(err, row, "what a replacement names is no list of spans");
        }
        if (json_is_number(json_array_get(value, 0))) {
            status = add_edit(worker, value, rule, row, err);
            continue;
        }
        for (size_t i = 0; status == SLUICE_OK && i < json_array_size(value); i++) {
            status = add_edit(worker, json_array_get(value, i), rule, row, err);
        }
    }
    return status;
}

static sluice_status judge(struct worker *worker, json_t *document, struct sluice_verdict *verdict,
                           struct sluice_error *err)
{
    const struct mix *stage = worker->stage;
    bool keep = stage->config->include.n == 0;
    sluice_status status = SLUICE_OK;

    for (uint64_t k = 0; status == SLUICE_OK && !keep && k < stage->config->include.n; k++) {
        status = jsonpath_find(stage->include[k], document, &worker->result, err);
        keep = worker->result.n > 0;
    }
    if (!keep) {
        verdict->reason = REASON_NOT_INCLUDED;
        return status;
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config->exclude.n; k++) {
        status = jsonpath_find(stage->exclude[k], document, &worker->result, err);
        if (status == SLUICE_OK && worker->result.n > 0) {
            verdict->reason = REASON_EXCLUDED;
            if (worker->result.compared) {
                verdict->value = worker->result.value;
                verdict->limit = worker->result.limit;
            }
            break;
        }
    }
    return status;
}

/* The length of the text without Unicode white space around it (Rust's trim: without U+001C to
 * U+001F). */
static size_t trimmed(const char *text, size_t n)
{
    size_t begin = 0;
    uint32_t cp;

    while (n > 0) {
        size_t at = text_utf8_prev(text, n, &cp);
        if ((text_classes(cp) & TEXT_SPACE) == 0 || (cp >= 0x1C && cp <= 0x1F)) {
            break;
        }
        n = at;
    }
    while (begin < n) {
        size_t length = text_utf8_decode(text, n, begin, &cp);
        if ((text_classes(cp) & TEXT_SPACE) == 0 || (cp >= 0x1C && cp <= 0x1F)) {
            break;
        }
        begin += length;
    }
    return n - begin;
}

/* One row: its verdict, and its text into *text. */
static sluice_status mix_row(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                             struct sluice_verdict *verdict, const char **text, size_t *n,
                             struct sluice_error *err)
{
    const struct mix *stage = worker->stage;
    json_t *document = NULL;
    sluice_status status = build(stage, batch, row, &document, err);

    *text = sluice_text(batch->array->children[0], row, n);
    if (status == SLUICE_OK) {
        status = judge(worker, document, verdict, err);
    }
    worker->n_edits = 0;
    for (size_t k = 0; status == SLUICE_OK && verdict->reason == 0 && k < stage->n_replace; k++) {
        status = jsonpath_find(stage->replace[k].path, document, &worker->result, err);
        if (status == SLUICE_OK) {
            status = add_edits(worker, &stage->replace[k], row, err);
        }
    }
    if (status == SLUICE_OK && worker->n_edits > 0) {
        status = span_edit_apply(*text, *n, worker->edits, worker->n_edits, &worker->text, err);
        *text = worker->text.len > 0 ? worker->text.data : "";
        *n = worker->text.len;
    }
    if (status == SLUICE_OK && verdict->reason == 0 && stage->config->min_text_length > 0) {
        verdict->value = (double)trimmed(*text, *n);
        verdict->limit = (double)stage->config->min_text_length;
        verdict->reason = verdict->value < verdict->limit ? REASON_TOO_SHORT : REASON_KEEP;
    }
    json_decref(document);
    return status;
}

/* A batch while it is mixed. */
struct mixing {
    struct worker *worker;
    struct sluice_bytes offsets, data;
};

static sluice_status mix_judge(void *state, const struct sluice_batch *batch, int64_t row,
                               struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct mixing *mixing = state;
    const char *text;
    size_t n;
    sluice_status status = mix_row(mixing->worker, batch, row, verdict, &text, &n, err);

    return status == SLUICE_OK && !sluice_bytes_add_text(&mixing->offsets, &mixing->data, text, n)
               ? mix_nomem(err)
               : status;
}

sluice_status mix_process(void *state, const struct sluice_batch *batch, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    struct mixing mixing = { .worker = state };
    struct ArrowArray column;
    struct ArrowArray rows;
    sluice_status status = sluice_judge_rows(batch, emit, mix_judge, &mixing, err);

    if (status != SLUICE_OK || batch->n == 0) {
        sluice_bytes_free(&mixing.offsets);
        sluice_bytes_free(&mixing.data);
        return status;
    }
    status = sluice_make_text(&column, batch->n, &mixing.offsets, &mixing.data, NULL, 0);
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&rows, batch->n, 1, &column);
    }
    return status == SLUICE_OK ? emit->batch(emit, &rows) : mix_nomem(err);
}
