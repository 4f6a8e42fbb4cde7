/* quality - the web quality filters that papers trust: Gopher, FineWeb, C4. This file is what they
 * share; the rules are in sdk/text. */
#include "quality.h"

sluice_status quality_open(const struct sluice_stage *stage, const void *config, void **shared,
                           struct sluice_error *err)
{
    struct quality *quality = calloc(1, sizeof *quality);
    void *copy = malloc((size_t)stage->config_size);

    if (quality == NULL || copy == NULL) {
        free(quality);
        free(copy);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    memcpy(copy, config, (size_t)stage->config_size);
    quality->config = copy;
    quality->common = copy;
    quality->stage = stage;
    *shared = quality;
    return SLUICE_OK;
}

sluice_status quality_prepare_text(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct quality *quality = shared;
    int32_t index;

    return plan->need(plan, 0, quality->common->over, "utf8?", 0, &index, err);
}

sluice_status quality_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const rules[] = { "rule=whitespace", "rule=uax29", "rule=spacy-en" };
    struct quality *quality = shared;
    int32_t index;
    sluice_status status = quality_prepare_text(shared, plan, err);

    quality->has_words = true;

    if (status == SLUICE_OK) {
        status = plan->need_derived(plan, 0, "words", rules[quality->common->words],
                                    quality->common->over, &index, err);
    }
    return status;
}

sluice_status quality_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct quality_worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->quality = shared;
    text_scratch_init(&worker->scratch);
    *out = worker;
    return SLUICE_OK;
}

void quality_worker_close(void *state)
{
    struct quality_worker *worker = state;

    text_scratch_deinit(&worker->scratch);
    text_buffer_deinit(&worker->text);
    text_word_cache_deinit(&worker->cache);
    free(worker);
}

void quality_close(void *shared)
{
    struct quality *quality = shared;

    free((void *)(uintptr_t)quality->config);
    free(quality);
}

void quality_verdict(struct sluice_verdict *verdict, const struct text_verdict *judged)
{
    verdict->reason = judged->reason;
    verdict->value = judged->value;
    verdict->limit = judged->limit;
}

/* Of quality_process. */
struct judging {
    struct quality_worker *worker;
    quality_judge_fn judge;
};

static sluice_status judge_row(void *state, const struct sluice_batch *batch, int64_t row,
                               struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct judging *judging = state;
    size_t n;
    size_t n_words = 0;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    const struct text_span *spans = NULL;
    struct text_doc doc;
    struct text_verdict judged;
    sluice_status status;

    if (judging->worker->quality->has_words) {
        spans = (const struct text_span *)(const void *)sluice_list_u64(batch->array->children[1],
                                                                        row, &n_words);
    }
    status = text_doc_init(&doc, text, n, spans, n_words, err);
    if (status == SLUICE_OK) {
        status = judging->judge(judging->worker, &doc, &judged, err);
    }
    if (status == SLUICE_OK) {
        quality_verdict(verdict, &judged);
    }
    return status;
}

sluice_status quality_process(struct quality_worker *worker, const struct sluice_batch *batch,
                              struct sluice_emit *emit, quality_judge_fn judge,
                              struct sluice_error *err)
{
    struct judging judging = { worker, judge };

    return sluice_judge_rows(batch, emit, judge_row, &judging, err);
}
