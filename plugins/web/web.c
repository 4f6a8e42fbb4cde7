/* web - the web-page rules of RefinedWeb as DCLM and Olmo 3 run them. This file is what the stages
 * share, and the plugin's descriptor. */
#include "web.h"

#include <sluice_stage.h>

sluice_status web_open(const struct sluice_stage *stage, const struct sluice_host_api *api,
                       struct sluice_host *host, const void *config, void **shared,
                       struct sluice_error *err)
{
    struct web *web = calloc(1, sizeof *web);
    void *copy = malloc((size_t)stage->config_size);

    if (web == NULL || copy == NULL) {
        free(web);
        free(copy);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    memcpy(copy, config, (size_t)stage->config_size);
    web->config = copy;
    web->common = copy;
    web->stage = stage;
    web->api = api;
    web->host = host;
    *shared = web;
    return SLUICE_OK;
}

void web_close(void *shared)
{
    struct web *web = shared;

    if (web->release != NULL) {
        web->release(web->extra);
    }
    free((void *)(uintptr_t)web->config);
    free(web);
}

sluice_status web_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct web_worker), out, err);
}

void web_worker_close(void *state)
{
    struct web_worker *worker = state;

    if (worker->release != NULL) {
        worker->release(worker->extra);
    }
    text_spans_deinit(&worker->words);
    text_spans_deinit(&worker->lines);
    text_spans_deinit(&worker->other);
    web_ngrams_deinit(&worker->ngrams);
    text_buffer_deinit(&worker->text);
    text_buffer_deinit(&worker->edits);
    free(worker);
}

sluice_status web_need(const struct web *web, struct sluice_plan *plan, bool words,
                       struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, web->common->over, "utf8?", 0, &index, err);

    if (status == SLUICE_OK && words) {
        status = plan->need_derived(plan, 0, "words", "rule=uax29", web->common->over, &index, err);
    }
    return status;
}

/* One row of a batch. `words`: child 1 holds them. SLUICE_E_DATA when a text is longer than
 * TEXT_MAX. */
static sluice_status web_doc_at(const struct sluice_batch *batch, int64_t k, bool words,
                                struct web_doc *doc, struct sluice_error *err)
{
    int64_t row = sluice_row(batch, k);

    memset(doc, 0, sizeof *doc);
    doc->text = sluice_text(batch->array->children[0], row, &doc->len);
    if (doc->len > TEXT_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "", "a text is longer than 4 GiB");
    }
    if (words) {
        doc->spans = (const struct text_span *)(const void *)sluice_list_u64(
            batch->array->children[1], row, &doc->n_spans);
    }
    doc->ascii = text_utf8_is_ascii(doc->text, doc->len);
    return SLUICE_OK;
}

static sluice_status verdicts_emit(const struct sluice_batch *batch, struct sluice_emit *emit,
                                   const struct sluice_verdict *verdicts)
{
    return emit->verdicts(emit, verdicts, batch->n);
}

static struct sluice_verdict *verdicts_make(const struct sluice_batch *batch,
                                            struct sluice_error *err)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);

    if (verdicts == NULL) {
        sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for verdicts");
    }
    return verdicts;
}

static sluice_status row_judge(struct web_worker *worker, const struct sluice_batch *batch,
                               int64_t k, bool words, web_judge_fn judge,
                               struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct web_doc doc;
    struct web_verdict judged = { 0, 0, 0 };
    sluice_status status = web_doc_at(batch, k, words, &doc, err);

    if (status == SLUICE_OK) {
        status = judge(worker, &doc, &judged, err);
    }
    verdict->reason = judged.reason;
    verdict->value = judged.value;
    verdict->limit = judged.limit;
    return status;
}

sluice_status web_judge(struct web_worker *worker, const struct sluice_batch *batch,
                        struct sluice_emit *emit, bool words, web_judge_fn judge,
                        struct sluice_error *err)
{
    struct sluice_verdict *verdicts = verdicts_make(batch, err);
    sluice_status status = verdicts == NULL ? SLUICE_E_NOMEM : SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        status = row_judge(worker, batch, k, words, judge, &verdicts[k], err);
    }
    if (status == SLUICE_OK) {
        status = verdicts_emit(batch, emit, verdicts);
    }
    free(verdicts);
    return status;
}

/* Adds the row's new text, or "" for a dropped one. */
static sluice_status text_add(struct web_worker *worker, bool kept, struct sluice_bytes *offsets,
                              struct sluice_bytes *data, struct sluice_error *err)
{
    size_t len = kept ? worker->text.len : 0;

    if (data->size + len > INT32_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "", "a batch of texts grew over 2 GiB");
    }
    return sluice_bytes_add_text(offsets, data, worker->text.data, len)
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the text");
}

static sluice_status texts_emit(int64_t n, struct sluice_bytes *offsets, struct sluice_bytes *data,
                                struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray column;
    struct ArrowArray out;
    sluice_status status = sluice_make_text(&column, n, offsets, data, NULL, 0);

    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, n, 1, &column);
    }
    return status == SLUICE_OK ? emit->batch(emit, &out)
                               : sluice_fail(err, status, "", "out of memory for the text");
}

sluice_status web_edit(struct web_worker *worker, const struct sluice_batch *batch,
                       struct sluice_emit *emit, bool words, bool verdicts, web_judge_fn edit,
                       struct sluice_error *err)
{
    struct sluice_verdict *judged = verdicts_make(batch, err);
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    sluice_status status = judged == NULL ? SLUICE_E_NOMEM : SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        worker->text.len = 0;
        status = row_judge(worker, batch, k, words, edit, &judged[k], err);
        if (status == SLUICE_OK) {
            status = text_add(worker, judged[k].reason == 0, &offsets, &data, err);
        }
    }
    if (status == SLUICE_OK && (batch->n > 0 || verdicts)) {
        status = texts_emit(batch->n, &offsets, &data, emit, err);
    }
    if (status == SLUICE_OK && verdicts) {
        status = verdicts_emit(batch, emit, judged);
    }
    sluice_bytes_free(&offsets);
    sluice_bytes_free(&data);
    free(judged);
    return status;
}
