/* bloom_filter: what becomes of the paragraphs that a side input marks: they are cut out, or named
 * in a column; documents go as a whole when most of their n-grams were seen. */
#include <stdio.h>

#include "dedup.h"
#include "marks.h"
#include "text/text.h"

enum { ACTION_REMOVE, ACTION_TAG, ACTION_DROP };
enum { REASON_EMPTY = 1, REASON_DOCUMENT, REASON_PARAGRAPH };
#define WHOLE UINT32_MAX /* a mark of the document */

struct config {
    const char *over;
    int32_t action;
    double document;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text; `remove` replaces it by what is left.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "action",
      .doc =
          "remove: cut duplicate paragraphs out; tag: list them in `duplicate_spans`; drop: drop "
          "documents that have one.",
      .def = "remove",
      .choices = "remove|tag|drop",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, action) },
    { .name = "document_threshold",
      .doc = "A document of which more than this share of n-grams was seen is dropped; 1: none.",
      .def = "1",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct config, document) },
};

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const side[][2] = { { SLUICE_ROW, "uint64" },
                                           { "at", "uint32" },
                                           { "similarity", "float64" } };
    const struct config *config = shared;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->need(plan, 1, side[i][0], side[i][1], 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = config->action == ACTION_TAG
                     ? plan->add(plan, "duplicate_spans", "json", NULL, err)
                     : plan->add(plan, config->over, "utf8", NULL, err);
    }
    return status;
}

struct worker {
    const struct config *config;
    struct marks marks; /* of a document: its paragraphs', and behind them its own */
    struct text_spans paragraphs;
    struct sluice_bytes out; /* of one row */
    struct sluice_rows rows; /* of a batch */
};

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    marks_deinit(&worker->marks);
    sluice_bytes_free(&worker->out);
    text_spans_deinit(&worker->paragraphs);
    free(worker);
}

/* The paragraphs that no mark names, with the newlines between them. */
static int cut_out(struct worker *worker, const char *text, const struct mark *marks, size_t n)
{
    size_t next = 0;
    int begun = 0;

    for (size_t i = 0; i < worker->paragraphs.count; i++) {
        struct text_span span = worker->paragraphs.data[i];
        while (next < n && marks[next].at < i) {
            next++;
        }
        if (next < n && marks[next].at == i) {
            continue;
        }
        if ((begun && !sluice_bytes_add(&worker->out, "\n", 1)) ||
            !sluice_bytes_add(&worker->out, text + span.begin, span.end - span.begin)) {
            return 0;
        }
        begun = 1;
    }
    return 1;
}

/* [[begin,end,share],...] in code points, a paragraph's newline with it, as Dolma's attributes
 * are. */
static int list_spans(struct worker *worker, const char *text, size_t size,
                      const struct mark *marks, size_t n)
{
    size_t next = 0;
    size_t chars = 0;
    int begun = 0;

    for (size_t i = 0; n > 0 && i < worker->paragraphs.count; i++) {
        struct text_span span = worker->paragraphs.data[i];
        size_t end = span.end + (span.end < size ? 1 : 0);
        size_t count = text_utf8_count(text + span.begin, end - span.begin);
        while (next < n && marks[next].at < i) {
            next++;
        }
        if (next < n && marks[next].at == i) {
            char one[100];
            int length = snprintf(one, sizeof one, "%s[%zu,%zu,%.9g]", begun ? "," : "", chars,
                                  chars + count, marks[next].share);
            if (!sluice_bytes_add(&worker->out, one, (uint64_t)length)) {
                return 0;
            }
            begun = 1;
        }
        chars += count;
    }
    return sluice_bytes_add(&worker->out, "]", 1);
}

static sluice_status filter_row(void *state, const struct sluice_batch *batch, int64_t row,
                                struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct config *config = worker->config;
    struct ArrowArray **columns = batch->array->children;
    size_t n;
    const char *text = sluice_text(columns[0], row, &n);
    size_t n_marks;
    const struct mark *marks = marks_of(&worker->marks, sluice_uint64(columns[1], row), &n_marks);
    const struct mark *whole =
        n_marks > 0 && marks[n_marks - 1].at == WHOLE ? &marks[n_marks - 1] : NULL;
    sluice_status status = SLUICE_OK;
    int ok = 1;

    n_marks -= whole != NULL;
    worker->out.size = 0;
    if (whole != NULL) {
        verdict->value = whole->share;
        verdict->limit = config->document;
    }
    if (whole != NULL && config->document < 1 && whole->share > config->document) {
        verdict->reason = REASON_DOCUMENT;
    } else if (n_marks > 0 && config->action == ACTION_DROP) {
        verdict->reason = REASON_PARAGRAPH;
    }
    if (n_marks > 0 && config->action != ACTION_DROP) {
        status = text_split_newline(text, n, &worker->paragraphs, err);
    }
    if (status == SLUICE_OK && config->action == ACTION_TAG) {
        ok = sluice_bytes_add(&worker->out, "[", 1) && list_spans(worker, text, n, marks, n_marks);
    } else if (status == SLUICE_OK && n_marks > 0 && config->action == ACTION_REMOVE) {
        ok = cut_out(worker, text, marks, n_marks);
        if (ok && worker->out.size == 0 && verdict->reason == 0) {
            verdict->reason = REASON_EMPTY;
        }
    } else if (status == SLUICE_OK) {
        ok = sluice_bytes_add(&worker->out, text, n);
    }
    sluice_rows_add(&worker->rows, 0, worker->out.data, worker->out.size);
    sluice_rows_next(&worker->rows);
    return ok ? status : sluice_nomem(err);
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status;

    if (batch->port == 1) {
        return marks_take(&worker->marks, batch, MARKS_WITH_SHARE, err);
    }
    worker->rows = sluice_rows_begin("t");
    status = sluice_judge_rows(batch, emit, filter_row, worker, err);
    return sluice_rows_emit(&worker->rows, status, emit, err);
}

static sluice_status stage_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return marks_save(&((struct worker *)state)->marks, io);
}

static sluice_status stage_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    (void)version;
    (void)err;
    return marks_load(&((struct worker *)state)->marks, io);
}

const struct sluice_stage bloom_filter_stage = {
    .size = sizeof bloom_filter_stage,
    .name = "bloom_filter",
    .version = "1.0",
    .bytes_per_batch = 10,
    .summary = "Removes, lists or drops what a side input marks (part of `bloom_paragraphs`)",
    .doc = "The side input has the columns _pos (uint64: split << 40 | row), at (uint32: "
           "paragraph, or "
           "4294967295 for the document) and similarity (float64). A duplicate found by a Bloom "
           "filter has no name: dup_of stays empty.",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "paragraphs_empty|document_seen|paragraph_seen",
    .bytes_worker = 4 << 20,
    .open = sluice_open_config,
    .prepare = stage_prepare,
    .worker_open = stage_worker_open,
    .process = stage_process,
    .save = stage_save,
    .load = stage_load,
    .state_version = 1,
    .worker_close = stage_worker_close,
};
