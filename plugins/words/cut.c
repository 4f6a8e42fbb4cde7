/* cut - the life of a provider of spans, whichever way it cuts. See cut.h. */
#include "cut.h"

#include <sluice_stage.h>

sluice_status cut_open(const struct sluice_host_api *api, struct sluice_host *host,
                       const void *config, void **shared, struct sluice_error *err)
{
    struct cut_config *copy = malloc(sizeof *copy);

    (void)api;
    (void)host;
    if (copy == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    *copy = *(const struct cut_config *)config;
    *shared = copy;
    return SLUICE_OK;
}

sluice_status cut_prepare(void *shared, struct sluice_plan *plan, const char *name,
                          struct sluice_error *err)
{
    const struct cut_config *config = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, &index, err);

    return status == SLUICE_OK ? plan->add(plan, name, "spans", NULL, err) : status;
}

sluice_status cut_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct cut_worker), out, err);
}

void cut_worker_close(void *state)
{
    struct cut_worker *worker = state;

    text_word_cache_deinit(&worker->cache);
    text_spans_deinit(&worker->spans);
    free(worker);
}

void cut_close(void *shared)
{
    free(shared);
}

sluice_status cut_process(void *state, const struct sluice_batch *batch, struct sluice_emit *emit,
                          cut_fn cut, struct sluice_error *err)
{
    struct cut_worker *worker = state;
    const struct ArrowArray *texts = batch->array->children[0];
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes items = { 0 };
    struct ArrowArray list;
    struct ArrowArray out;
    int32_t total = 0;
    sluice_status status =
        sluice_bytes_add(&offsets, &total, sizeof total) ? SLUICE_OK : SLUICE_E_NOMEM;

    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        size_t n;
        const char *text = sluice_text(texts, sluice_row(batch, k), &n);
        status = cut(worker, text, n, err);
        if (status == SLUICE_OK &&
            (worker->spans.count > (size_t)(INT32_MAX - total) ||
             !sluice_bytes_add(&items, worker->spans.data,
                               worker->spans.count * sizeof(struct text_span)))) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for spans");
        }
        total += (int32_t)worker->spans.count;
        if (status == SLUICE_OK && !sluice_bytes_add(&offsets, &total, sizeof total)) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for spans");
        }
    }
    if (status != SLUICE_OK) {
        sluice_bytes_free(&offsets);
        sluice_bytes_free(&items);
        return status;
    }
    status = sluice_make_list(&list, batch->n, &offsets, &items, total);
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, batch->n, 1, &list);
    }
    return status == SLUICE_OK ? emit->batch(emit, &out)
                               : sluice_fail(err, status, "", "out of memory for spans");
}
