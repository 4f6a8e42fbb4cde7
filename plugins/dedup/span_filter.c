/* span_filter: removes the marked runs of sentences (lines, paragraphs) from a text, and drops the
 * documents of which too little is left. The marks come through port 1, split by split. */
#include "dedup.h"
#include "marks.h"
#include "units.h"

struct config {
    const char *over;
    int32_t unit;
    int64_t n, min_words, min_units, min_words_to_remove;
    uint8_t peer;
};

#define MANY 1e15

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text, replaced by what is left of it.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "unit",
      .doc = "What a text is cut into.",
      .def = "sentences",
      .choices = UNIT_CHOICES,
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, unit) },
    { .name = "n",
      .doc = "Units of a run that is compared.",
      .def = "3",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1000,
      .offset = offsetof(struct config, n) },
    { .name = "min_words",
      .doc = "Fewest words of a document of which something was removed; 0 disables.",
      .def = "50",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = MANY,
      .offset = offsetof(struct config, min_words) },
    { .name = "min_units",
      .doc = "Fewest sentences of a document of which something was removed; 0 disables.",
      .def = "3",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = MANY,
      .offset = offsetof(struct config, min_units) },
    { .name = "min_words_to_remove",
      .doc = "A removed stretch of fewer words stays; 0 disables.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = MANY,
      .offset = offsetof(struct config, min_words_to_remove) },
    { .name = "peer",
      .doc = "Judge and restore a stretch by its first unit alone, and drop empty texts, as "
             "datatrove does.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, peer) },
};

enum { REASON_EMPTY = 1, REASON_WORDS, REASON_SENTENCES };

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "at", "uint32", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "dup_of", "utf8", 0, NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, config->over, "utf8", NULL, err) : status;
}

struct worker {
    const struct config *config;
    struct marks marks;
    struct units units;
    struct text_buffer kept;    /* what is left of a text */
    struct text_buffer stretch; /* what was removed of it since the last unit that stays */
    struct sluice_rows rows;    /* of a batch */
};

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    marks_deinit(&worker->marks);
    units_deinit(&worker->units);
    text_buffer_deinit(&worker->kept);
    text_buffer_deinit(&worker->stretch);
    free(worker);
}

/* One unit, with what joins it to those before. */
static sluice_status put(struct text_buffer *out, int join, int *begun, const char *bytes, size_t n,
                         struct sluice_error *err)
{
    sluice_status status = join && *begun ? text_buffer_append(out, "\n", 1, err) : SLUICE_OK;

    *begun = 1;
    return status == SLUICE_OK && n > 0 ? text_buffer_append(out, bytes, n, err) : status;
}

/* A stretch ends: it stays when it has too few words. */
static sluice_status end_stretch(struct worker *worker, int join, int *begun, int *removed,
                                 struct sluice_error *err)
{
    const struct config *config = worker->config;
    sluice_status status = SLUICE_OK;

    if (*removed > 0 && config->min_words_to_remove > 0) {
        size_t words;
        status =
            units_words(&worker->units, worker->stretch.data, worker->stretch.len, &words, err);
        if (status == SLUICE_OK && words < (uint64_t)config->min_words_to_remove) {
            status =
                put(&worker->kept, join, begun, worker->stretch.data, worker->stretch.len, err);
        }
    }
    worker->stretch.len = 0;
    *removed = 0;
    return status;
}

/* Fills kept; *share = removed units of all. */
static sluice_status rebuild(struct worker *worker, const char *text, size_t n,
                             const struct mark *marks, size_t n_marks, double *share,
                             struct sluice_error *err)
{
    const struct config *config = worker->config;
    int join = config->unit != UNIT_SENTENCES;
    size_t next = 0;
    size_t until = 0;
    size_t gone = 0;
    uint32_t last = 0;
    int begun = 0;
    int stretched = 0;
    int removed = 0;
    sluice_status status = units_cut(&worker->units, (enum unit)config->unit, text, n, err);

    worker->kept.len = 0;
    worker->stretch.len = 0;
    for (size_t i = 0; status == SLUICE_OK && i < worker->units.spans.count; i++) {
        struct text_span span = worker->units.spans.data[i];
        if (!join) { /* white space between sentences goes with the one behind it */
            span.begin = last;
            last = span.end;
        }
        while (next < n_marks && marks[next].at <= i) {
            until = marks[next++].at == i ? i + (size_t)config->n : until;
        }
        if (i >= until) {
            status = end_stretch(worker, join, &begun, &removed, err);
            stretched = 0;
            if (status == SLUICE_OK) {
                status =
                    put(&worker->kept, join, &begun, text + span.begin, span.end - span.begin, err);
            }
            continue;
        }
        gone++;
        if (removed++ == 0 || !config->peer) {
            status = put(&worker->stretch, join, &stretched, text + span.begin,
                         span.end - span.begin, err);
        }
    }
    if (status == SLUICE_OK) {
        status = end_stretch(worker, join, &begun, &removed, err);
    }
    *share = worker->units.spans.count == 0 ? 0 : (double)gone / (double)worker->units.spans.count;
    return status;
}

/* What is left is too little: the reason, else 0. */
static sluice_status judge(struct worker *worker, const char *left, size_t n,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->config;
    size_t count;
    sluice_status status = SLUICE_OK;

    if (n == 0) {
        verdict->reason = REASON_EMPTY;
        return SLUICE_OK;
    }
    if (config->min_words > 0) {
        status = units_words(&worker->units, left, n, &count, err);
        verdict->value = (double)count;
        verdict->limit = (double)config->min_words;
        if (status != SLUICE_OK || count < (uint64_t)config->min_words) {
            verdict->reason = REASON_WORDS;
            return status;
        }
    }
    if (config->min_units > 0) {
        status = units_cut(&worker->units, UNIT_SENTENCES, left, n, err);
        if (status == SLUICE_OK && worker->units.spans.count < (uint64_t)config->min_units) {
            verdict->reason = REASON_SENTENCES;
            verdict->value = (double)worker->units.spans.count;
            verdict->limit = (double)config->min_units;
        }
    }
    return status;
}

static sluice_status filter_row(void *state, const struct sluice_batch *batch, int64_t row,
                                struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    struct ArrowArray **columns = batch->array->children;
    size_t n;
    const char *text = sluice_text(columns[0], row, &n);
    size_t n_marks;
    const struct mark *marks = marks_of(&worker->marks, sluice_uint64(columns[1], row), &n_marks);
    struct text_span left = { 0, (uint32_t)n };
    double share = 0;
    sluice_status status = SLUICE_OK;

    if (n_marks > 0) {
        const char *was = text;
        size_t size = n;
        status = rebuild(worker, text, n, marks, n_marks, &share, err);
        text = worker->kept.data;
        left = (struct text_span){ 0, (uint32_t)worker->kept.len };
        if (worker->kept.len > 0) {
            left = text_lstrip(text, left);
        }
        n = left.end - left.begin;
        text = n == 0 ? "" : text + left.begin;
        if (status == SLUICE_OK && (n != size || memcmp(text, was, n) != 0)) {
            status = judge(worker, text, n, verdict, err);
        }
        if (verdict->reason != 0) {
            verdict->dup_of = worker->marks.text.data + marks[0].id;
            verdict->dup_of_length = (int32_t)marks[0].id_size;
            verdict->similarity = share;
        }
    } else if (n == 0 && worker->config->peer) {
        verdict->reason = REASON_EMPTY;
    }
    sluice_rows_add(&worker->rows, 0, text, verdict->reason == 0 ? n : 0);
    sluice_rows_next(&worker->rows);
    return status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status;

    if (batch->port == 1) {
        return marks_take(&worker->marks, batch, MARKS_WITH_ID, err);
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

const struct sluice_stage span_filter_stage = {
    .size = sizeof span_filter_stage,
    .name = "span_filter",
    .version = "1.0",
    .bytes_per_batch = 19,
    .summary = "Removes the sentences that a side input marks (part of `sentence_dedup`)",
    .doc = "The side input has the columns _pos (uint64: split << 40 | row), at (uint32: the first "
           "unit of a run) and dup_of (utf8).",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT | SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "sentences_empty|sentences_too_few_words|sentences_too_few",
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
