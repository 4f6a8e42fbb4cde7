/* words - provides the derived column `words`: spans of the words of a text column, computed once and shared by the stages behind.
 *
 * Options: rule (whitespace, uax29), over (the text column). Stateless; one worker keeps its span list between batches. */
#include <sluice_arrays.h>
#include <stddef.h>

#include "text/text.h"

struct config {
    int32_t rule;
    const char *over;
};

static const struct sluice_option options[] = {
    { .name = "rule",
      .doc = "How a text is cut into words.",
      .def = "whitespace",
      .choices = "whitespace|uax29",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, rule) },
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
};

static sluice_status words_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct config *copy = malloc(sizeof *copy);

    (void)api;
    (void)host;
    if (copy == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    *copy = *(const struct config *)config;
    *shared = copy;
    return SLUICE_OK;
}

static sluice_status words_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, &index, err);

    return status == SLUICE_OK ? plan->add(plan, "words", "spans", NULL, err) : status;
}

struct worker {
    const struct config *config;
    struct text_spans spans;
};

static sluice_status words_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->config = shared;
    *out = worker;
    return SLUICE_OK;
}

static void words_worker_close(void *state)
{
    struct worker *worker = state;

    text_spans_deinit(&worker->spans);
    free(worker);
}

static void words_close(void *shared)
{
    free(shared);
}

static sluice_status words_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct ArrowArray *texts = batch->array->children[0];
    enum text_word_rule rule = worker->config->rule == 0 ? TEXT_WORDS_WHITESPACE : TEXT_WORDS_UAX29;
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
        status = text_words(rule, text, n, &worker->spans, err);
        if (status == SLUICE_OK &&
            (worker->spans.count > (size_t)(INT32_MAX - total) ||
             !sluice_bytes_add(&items, worker->spans.data,
                               worker->spans.count * sizeof(struct text_span)))) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for words");
        }
        total += (int32_t)worker->spans.count;
        if (status == SLUICE_OK && !sluice_bytes_add(&offsets, &total, sizeof total)) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for words");
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
                               : sluice_fail(err, status, "", "out of memory for words");
}

static const struct sluice_stage words_stage = {
    .size = sizeof words_stage,
    .name = "words",
    .version = "1.0",
    .summary =
        "Word spans of a text, shared by the stages behind (a provider: inserted where needed)",
    .doc = "`whitespace` cuts as Python's `str.split()`. `uax29` gives the segments of Unicode's "
           "UAX #29 that hold a letter or number.",
    .example = "docs | s.words { rule = \"uax29\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .provides = "words",
    .bytes_worker = 1 << 20,
    .open = words_open,
    .prepare = words_prepare,
    .worker_open = words_worker_open,
    .process = words_process,
    .worker_close = words_worker_close,
    .close = words_close,
};

static const struct sluice_stage *const stages[] = { &words_stage, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "words",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
    .libraries = "utf8proc 2",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
