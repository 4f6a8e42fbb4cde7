/* web_newlines - at most so many newlines in a row (DCLM's and datamap-rs'
 * newline_removal_modifier). */
#include "web.h"

struct config {
    struct web_common common;
    int64_t max_newlines;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text, replaced by the new one.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, common.over) },
    { .name = "max_newlines",
      .doc = "Most newlines in a row; more become so many.",
      .def = "2",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e9,
      .offset = offsetof(struct config, max_newlines) },
};

static sluice_status edit_row(struct web_worker *worker, const struct web_doc *doc,
                              struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    size_t most = (size_t)config->max_newlines;
    size_t from = 0; /* begin of what is not yet copied */
    int32_t status = text_buffer_reserve(&worker->text, doc->len + 1, err);

    (void)verdict;
    for (size_t at = 0; status == SLUICE_OK && at < doc->len;) {
        const char *feed = memchr(doc->text + at, '\n', doc->len - at);
        size_t begin = feed != NULL ? (size_t)(feed - doc->text) : doc->len;
        size_t end = begin;
        while (end < doc->len && doc->text[end] == '\n') {
            end++;
        }
        if (end - begin > most) {
            status = text_buffer_append(&worker->text, doc->text + from, begin + most - from, err);
            from = end;
        }
        at = end;
    }
    return status == SLUICE_OK
               ? text_buffer_append(&worker->text, doc->text + from, doc->len - from, err)
               : status;
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    return web_open(&web_newlines_stage, api, host, config, shared, err);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct web *web = shared;
    sluice_status status = web_need(web, plan, false, err);

    return status == SLUICE_OK ? plan->add(plan, web->common->over, "utf8", NULL, err) : status;
}

static sluice_status stage_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return web_edit(worker, batch, emit, false, false, edit_row, err);
}

const struct sluice_stage web_newlines_stage = {
    .size = sizeof web_newlines_stage,
    .name = "web_newlines",
    .version = "1.0",
    .bytes_per_batch = 3,
    .summary = "Shortens runs of newlines",
    .doc = "newline_removal_modifier of DCLM and of datamap-rs, which are equal.",
    .example = "docs | s.web_newlines { max_newlines = 2 }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = web_worker_open,
    .process = stage_process,
    .worker_close = web_worker_close,
    .close = web_close,
};
