/* fasttext_filter - keeps or drops documents, or parts of them, by the labels of any fastText
 * classifier (datatrove's FastTextClassifierFilter). */
#include <sluice_verdicts.h>
#include <stddef.h>
#include <stdio.h>

#include "fasttext.h"
#include "text/text.h"

enum { BY_DOCUMENT, BY_PARAGRAPH, BY_SENTENCE };

struct config {
    const char *model, *over, *newline_replacement, *labels;
    struct sluice_map keep_labels, remove_labels, columns;
    int32_t by;
    uint8_t save_labels;
};

static const struct sluice_option options[] = {
    { .name = "model",
      .doc = "A fastText classifier (.bin or .ftz).",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, model) },
    { .name = "over",
      .doc = "Column that holds the text; with by = paragraph or sentence it is replaced by the "
             "parts that are kept.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "keep_labels",
      .doc = "Labels, without __label__, and their smallest scores: one of them must be reached.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct config, keep_labels) },
    { .name = "remove_labels",
      .doc = "Labels and scores of which none may be reached; not beside keep_labels.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct config, remove_labels) },
    { .name = "by",
      .doc = "What is judged: the document, its paragraphs (lines, with the blank ones behind), or "
             "its sentences (rule spacy-en).",
      .def = "document",
      .choices = "document|paragraph|sentence",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, by) },
    { .name = "newline_replacement",
      .doc = "What \\n becomes for the model, which reads one line; the peer's default joins the "
             "last and the first word of two lines.",
      .def = "",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, newline_replacement) },
    { .name = "save_labels",
      .doc = "Add the mean score of each label over the parts as one JSON object.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, save_labels) },
    { .name = "labels",
      .doc = "Column for that object.",
      .def = "labels",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, labels) },
    { .name = "columns",
      .doc = "Labels whose mean score gets a column of its own, and the names of the columns.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct config, columns) },
};

struct limit {
    size_t label;
    double score;
};

struct filter {
    const struct config *config;
    struct ft_model *model;
    struct limit *limits; /* of keep_labels or remove_labels */
    size_t n_limits;
    size_t *columns; /* labels */
};

struct columns {
    struct sluice_bytes text_offsets, text, label_offsets, labels;
    struct sluice_bytes *scores; /* of the option columns */
};

struct worker {
    const struct filter *filter;
    struct fasttext_reader reader;
    struct sluice_bytes text;
    struct text_spans lines, units;
    double *scores;            /* labels x units, by label */
    size_t room;               /* units */
    struct fasttext_tally met; /* of a label: how many units gave it a score */
    struct columns columns;    /* of a batch */
};

/* ---- options ---- */

static void filter_close(void *shared)
{
    struct filter *filter = shared;

    ft_model_destroy(filter->model);
    free(filter->limits);
    free(filter->columns);
    free(filter);
}

static sluice_status read_limits(struct filter *filter, const struct sluice_map *map,
                                 const char *option, struct sluice_error *err)
{
    for (uint64_t i = 0; i < map->n; i++) {
        char *end;
        int64_t label = fasttext_find(filter->model, map->keys[i]);
        double score = strtod(map->values[i], &end);
        char message[300];
        if (label < 0) {
            return fasttext_no_label(filter->model, option, map->keys[i], err);
        }
        if (end == map->values[i] || *end != '\0' || !(score >= -1e9 && score <= 1e9)) {
            snprintf(message, sizeof message,
                     "label '%.60s' has the score '%.60s', expected a number", map->keys[i],
                     map->values[i]);
            return sluice_fail(err, SLUICE_E_CONFIG, option, message);
        }
        filter->limits[filter->n_limits++] = (struct limit){ (size_t)label, score };
    }
    return SLUICE_OK;
}

static sluice_status filter_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    struct filter *filter;
    sluice_status status;

    if (config->keep_labels.n > 0 && config->remove_labels.n > 0) {
        return sluice_fail(
            err, SLUICE_E_CONFIG, "remove_labels",
            "found keep_labels and remove_labels, expected one of them; use two stages");
    }
    if (strchr(config->newline_replacement, '\n') != NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "newline_replacement",
                           "found a \\n in it, expected a text of one line");
    }
    filter = calloc(1, sizeof *filter);
    if (filter == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    filter->config = config;
    filter->limits = calloc((size_t)(config->keep_labels.n + config->remove_labels.n) + 1,
                            sizeof *filter->limits);
    filter->columns = calloc((size_t)config->columns.n + 1, sizeof *filter->columns);
    status = filter->limits == NULL || filter->columns == NULL
                 ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory")
                 : fasttext_load(api, host, config->model, &filter->model, err);
    if (status == SLUICE_OK) {
        status = read_limits(filter, &config->keep_labels, "keep_labels", err);
    }
    if (status == SLUICE_OK) {
        status = read_limits(filter, &config->remove_labels, "remove_labels", err);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < config->columns.n; i++) {
        int64_t label = fasttext_find(filter->model, config->columns.keys[i]);
        filter->columns[i] = (size_t)label;
        if (label < 0) {
            status = fasttext_no_label(filter->model, "columns", config->columns.keys[i], err);
        }
    }
    if (status != SLUICE_OK) {
        filter_close(filter);
        return status;
    }
    *shared = filter;
    return SLUICE_OK;
}

static sluice_status filter_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    const struct config *config = ((const struct filter *)shared)->config;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, &index, err);

    if (status == SLUICE_OK && config->by == BY_SENTENCE) {
        status =
            plan->need_derived(plan, 0, "sentences", "rule=spacy-en", config->over, &index, err);
    }
    if (status == SLUICE_OK && config->by != BY_DOCUMENT) {
        status = plan->add(plan, config->over, "utf8", NULL, err);
    }
    if (status == SLUICE_OK && config->save_labels != 0) {
        status = plan->add(plan, config->labels, "json", NULL, err);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < config->columns.n; i++) {
        status = plan->add(plan, config->columns.values[i], "float64", NULL, err);
    }
    return status;
}

static void filter_worker_close(void *state)
{
    struct worker *worker = state;

    fasttext_reader_close(&worker->reader);
    sluice_bytes_free(&worker->text);
    text_spans_deinit(&worker->lines);
    text_spans_deinit(&worker->units);
    free(worker->scores);
    fasttext_tally_close(&worker->met);
    free(worker);
}

static sluice_status filter_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    const struct filter *filter = shared;
    sluice_status status;

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->filter = filter;
    status = fasttext_tally_open(&worker->met, ft_model_labels(filter->model), err);
    if (status == SLUICE_OK) {
        status = fasttext_reader_open(&worker->reader, filter->model, err);
    }
    if (status != SLUICE_OK) {
        filter_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* ---- parts of a text ---- */

/* Lines of str.splitlines() with the blank lines behind them, each line's end as \n, the last one
 * without: into worker->text and units. */
static sluice_status cut_paragraphs(struct worker *worker, const char *text, size_t n,
                                    struct sluice_error *err)
{
    struct sluice_bytes *out = &worker->text;
    uint32_t begin = 0;
    sluice_status status = text_splitlines(text, n, &worker->lines, err);

    out->size = 0;
    for (size_t i = 0; status == SLUICE_OK && i < worker->lines.count; i++) {
        struct text_span line = worker->lines.data[i];
        struct text_span stripped = text_strip(text, line);
        if (stripped.end > stripped.begin && out->size > begin) {
            status = text_spans_push(&worker->units, begin, (uint32_t)out->size, err);
            begin = (uint32_t)out->size;
        }
        if (status == SLUICE_OK &&
            (!sluice_bytes_add(out, text + line.begin, line.end - line.begin) ||
             (i + 1 < worker->lines.count && !sluice_bytes_add(out, "\n", 1)))) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a text");
        }
    }
    if (status == SLUICE_OK && worker->lines.count > 0) {
        status = text_spans_push(&worker->units, begin, (uint32_t)out->size, err);
    }
    return status;
}

/* Parts that tile the text: each ends where a sentence does, the last one with the text. */
static sluice_status cut_sentences(struct worker *worker, const struct text_span *sentences,
                                   size_t count, size_t n, struct sluice_error *err)
{
    uint32_t begin = 0;
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i + 1 < count; i++) {
        status = text_spans_push(&worker->units, begin, sentences[i].end, err);
        begin = sentences[i].end;
    }
    return status == SLUICE_OK ? text_spans_push(&worker->units, begin, (uint32_t)n, err) : status;
}

/* ---- judging ---- */

/* numpy's mean of doubles: its pairwise sum, so that the last digit is the peer's. */
static double pairwise(const double *values, size_t n)
{
    double r[8];
    double sum = -0.0;

    if (n < 8) {
        for (size_t i = 0; i < n; i++) {
            sum += values[i];
        }
        return sum;
    }
    if (n > 128) {
        size_t half = n / 2 - n / 2 % 8;
        return pairwise(values, half) + pairwise(values + half, n - half);
    }
    memcpy(r, values, sizeof r);
    size_t i = 8;
    for (; i < n - n % 8; i += 8) {
        for (size_t k = 0; k < 8; k++) {
            r[k] += values[i + k];
        }
    }
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++) {
        sum += values[i];
    }
    return sum;
}

static double mean_of(const struct worker *worker, size_t label)
{
    size_t n = worker->met.counts[label];

    return n == 0 ? 0 : pairwise(worker->scores + label * worker->room, n) / (double)n;
}

/* Makes room for the scores of `units` units and forgets the document before. */
static sluice_status forget(struct worker *worker, size_t units, struct sluice_error *err)
{
    size_t labels = ft_model_labels(worker->filter->model);

    if (units > worker->room) {
        double *moved;
        size_t room = units + units / 2;
        if (room > SIZE_MAX / sizeof *moved / (labels + 1)) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for scores");
        }
        moved = malloc(room * labels * sizeof *moved);
        if (moved == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for scores");
        }
        free(worker->scores);
        worker->scores = moved;
        worker->room = room;
    }
    fasttext_tally_reset(&worker->met);
    return SLUICE_OK;
}

static int passes(const struct filter *filter, const struct ft_score *scores, size_t n,
                  struct sluice_verdict *verdict)
{
    int reached = 0;

    for (size_t k = 0; k < filter->n_limits; k++) {
        for (size_t i = 0; i < n; i++) {
            if (scores[i].label == filter->limits[k].label) {
                int now = scores[i].score >= filter->limits[k].score;
                if (k == 0 || (now && !reached)) {
                    verdict->value = scores[i].score;
                    verdict->limit = filter->limits[k].score;
                }
                reached |= now;
            }
        }
    }
    return filter->config->keep_labels.n > 0 ? reached : !reached;
}

static sluice_status judge_unit(struct worker *worker, const char *text, struct text_span unit,
                                int *kept, struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct filter *filter = worker->filter;
    const struct ft_score *scores;
    size_t count;
    sluice_status status;

    unit = text_strip(text, unit);
    status = fasttext_ask(&worker->reader, text + unit.begin, unit.end - unit.begin,
                          filter->config->newline_replacement, &scores, &count, err);
    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        size_t label = scores[i].label;
        size_t before = fasttext_tally_add(&worker->met, label);
        worker->scores[label * worker->room + before] = scores[i].score;
    }
    *kept = passes(filter, scores, count, verdict);
    return SLUICE_OK;
}

static int add_labels(const struct worker *worker, struct columns *to)
{
    const struct filter *filter = worker->filter;
    int ok = 1;

    if (filter->config->save_labels != 0) {
        ok = sluice_bytes_add(&to->labels, "{", 1);
        for (size_t i = 0; ok && i < worker->met.n; i++) {
            const char *label = ft_model_label(filter->model, worker->met.order[i]);
            ok = (i == 0 || sluice_bytes_add(&to->labels, ",", 1)) &&
                 fasttext_json_string(&to->labels, label, strlen(label)) &&
                 sluice_bytes_add(&to->labels, ":", 1) &&
                 fasttext_json_number(&to->labels, mean_of(worker, worker->met.order[i]));
        }
        ok = ok && sluice_bytes_add(&to->labels, "}", 1) &&
             sluice_bytes_add_text(&to->label_offsets, &to->labels, "", 0);
    }
    for (uint64_t i = 0; ok && i < filter->config->columns.n; i++) {
        double mean = mean_of(worker, filter->columns[i]);
        ok = sluice_bytes_add(&to->scores[i], &mean, sizeof mean);
    }
    return ok;
}

static sluice_status judge_row(void *state, const struct sluice_batch *batch, int64_t row,
                               struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    struct columns *to = &worker->columns;
    const struct config *config = worker->filter->config;
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    size_t n_sentences = 0;
    size_t kept_units = 0;
    int some = 0; /* something but white space is kept */
    sluice_status status;

    worker->units.count = 0;
    if (config->by == BY_PARAGRAPH) {
        status = cut_paragraphs(worker, text, n, err);
        text = worker->text.data;
    } else {
        const struct text_span *sentences =
            config->by == BY_SENTENCE ? (const struct text_span *)(const void *)sluice_list_u64(
                                            batch->array->children[1], row, &n_sentences)
                                      : NULL;
        status = cut_sentences(worker, sentences, n_sentences, n, err);
    }
    if (status == SLUICE_OK) {
        status = forget(worker, worker->units.count, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < worker->units.count; i++) {
        struct text_span unit = worker->units.data[i];
        struct text_span stripped = text_strip(text, unit);
        int kept;
        status = judge_unit(worker, text, unit, &kept, verdict, err);
        if (status == SLUICE_OK && kept) {
            kept_units++;
            some |= stripped.end > stripped.begin;
            if (config->by != BY_DOCUMENT &&
                !sluice_bytes_add(&to->text, text + unit.begin, unit.end - unit.begin)) {
                status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a text");
            }
        }
    }
    if (config->by != BY_DOCUMENT) {
        verdict->value = (double)kept_units;
        verdict->limit = 1;
    }
    verdict->reason = !some;
    if (status == SLUICE_OK && (!add_labels(worker, to) ||
                                (config->by != BY_DOCUMENT &&
                                 !sluice_bytes_add_text(&to->text_offsets, &to->text, "", 0)))) {
        status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for labels");
    }
    return status;
}

/* Makes the arrays of all columns, in the order of prepare, into `made` (room for 2 + columns). */
static sluice_status make_columns(const struct config *config, int64_t n, struct columns *from,
                                  struct ArrowArray *made, int64_t *count)
{
    sluice_status status = SLUICE_OK;

    *count = 0;
    if (config->by != BY_DOCUMENT) {
        status = sluice_make_text(&made[*count], n, &from->text_offsets, &from->text, NULL, 0);
        *count += status == SLUICE_OK;
    }
    if (status == SLUICE_OK && config->save_labels != 0) {
        status = sluice_make_text(&made[*count], n, &from->label_offsets, &from->labels, NULL, 0);
        *count += status == SLUICE_OK;
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < config->columns.n; i++) {
        status = sluice_make_fixed(&made[*count], n, &from->scores[i], NULL, 0);
        *count += status == SLUICE_OK;
    }
    for (; status != SLUICE_OK && *count > 0; --*count) {
        made[*count - 1].release(&made[*count - 1]);
    }
    return status;
}

static sluice_status filter_process(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct config *config = worker->filter->config;
    struct columns *columns = &worker->columns;
    struct ArrowArray *made = calloc((size_t)config->columns.n + 2, sizeof *made);
    struct ArrowArray out;
    int64_t count = 0;
    sluice_status status;

    columns->scores = calloc((size_t)config->columns.n + 1, sizeof *columns->scores);
    status = made == NULL || columns->scores == NULL
                 ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for columns")
                 : sluice_judge_rows(batch, emit, judge_row, worker, err);
    if (status == SLUICE_OK &&
        (config->by != BY_DOCUMENT || config->save_labels != 0 || config->columns.n > 0)) {
        status = make_columns(config, batch->n, columns, made, &count);
        if (status == SLUICE_OK) {
            status = sluice_make_struct(&out, batch->n, count, made);
        }
        status = status == SLUICE_OK ? emit->batch(emit, &out)
                                     : sluice_fail(err, status, "", "out of memory for labels");
    }
    sluice_bytes_free(&columns->text_offsets);
    sluice_bytes_free(&columns->text);
    sluice_bytes_free(&columns->label_offsets);
    sluice_bytes_free(&columns->labels);
    for (uint64_t i = 0; columns->scores != NULL && i < config->columns.n; i++) {
        sluice_bytes_free(&columns->scores[i]);
    }
    free(columns->scores);
    columns->scores = NULL;
    free(made);
    return status;
}

const struct sluice_stage fasttext_filter_stage = {
    .size = sizeof fasttext_filter_stage,
    .name = "fasttext_filter",
    .version = "1.0",
    .summary = "Keeps or drops documents, paragraphs or sentences by the labels of a fastText "
               "classifier",
    .doc =
        "datatrove 0.10's FastTextClassifierFilter (filters/fasttext_filter.py). A part is kept "
        "when "
        "one of `keep_labels` reaches its score, or none of `remove_labels`; without either, "
        "documents are only labelled. A document of which nothing but white space is kept is "
        "dropped, here with the reason `fasttext`. Paragraphs are lines: the peer's joining makes "
        "every line break \\n and drops the one at the end. The peer's members __label__xx are "
        "one JSON object here; `columns` gives some of them columns.\n\n"
        "The model is an asset of the user's, loaded once and shared by all workers. Scores are "
        "libfasttext's, in single precision: their last digits may depend on the processor.",
    .example = "docs | s.fasttext_filter { \"quality.bin\", keep_labels = { hq = 0.018112 } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "fasttext",
    .bytes_shared = 256 << 20,
    .bytes_worker = 12 << 20,
    .open = filter_open,
    .prepare = filter_prepare,
    .worker_open = filter_worker_open,
    .process = filter_process,
    .worker_close = filter_worker_close,
    .close = filter_close,
};
