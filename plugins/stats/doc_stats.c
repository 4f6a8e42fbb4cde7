/* doc_stats - the statistics of each document as columns: an annotator around measures.c. */
#include <stdio.h>

#include "measures.h"
#include "stats.h"

struct config {
    const char *over;
    struct sluice_list blocks;
    int32_t words, sentences;
    struct sluice_list short_words, long_words, short_lines, long_lines;
    struct sluice_list short_paragraphs, long_paragraphs, short_sentences, long_sentences;
    struct sluice_list stop_words, contamination;
    uint8_t ignore_empty_lines;
};

struct stage {
    const struct config *config;
    struct measures measures;
    int32_t words, sentences; /* places of the derived columns */
};

struct worker {
    const struct stage *stage;
    struct measures_scratch scratch;
    struct text_spans sentences;
};

#define LIMITS(member, def_, doc_)                                          \
    {                                                                       \
        .name = #member, .doc = doc_, .def = def_, .type = SLUICE_OPT_LIST, \
        .offset = offsetof(struct config, member)                           \
    }

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "blocks",
      .doc = "Groups of statistics: doc, word, line, paragraph, sentence.",
      .def = "doc,word,line,paragraph,sentence",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, blocks) },
    { .name = "words",
      .doc = "Rule that cuts the text into words (stage words); datatrove's English is spacy-en.",
      .def = "spacy-en",
      .choices = "whitespace|uax29|spacy-en",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, words) },
    { .name = "sentences",
      .doc = "Rule that cuts the text into sentences (stage sentences).",
      .def = "spacy-en",
      .choices = "spacy-en|marks|lines|uax29",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, sentences) },
    LIMITS(short_words, "3", "Lengths up to which a word counts as short, in code points."),
    LIMITS(long_words, "7", "Lengths from which a word counts as long."),
    LIMITS(short_lines, "10,30", "Lengths up to which a line counts as short."),
    LIMITS(long_lines, "2000,10000", "Lengths from which a line counts as long."),
    LIMITS(short_paragraphs, "100", "Lengths up to which a paragraph counts as short."),
    LIMITS(long_paragraphs, "1000", "Lengths from which a paragraph counts as long."),
    LIMITS(short_sentences, "20", "Lengths up to which a sentence counts as short."),
    LIMITS(long_sentences, "75", "Lengths from which a sentence counts as long."),
    LIMITS(stop_words, "the,be,to,of,and,that,have,with", "Words of stop_word_ratio, as written."),
    LIMITS(contamination, NULL,
           "Words whose share of the simplified text is words_contamination_FIRST; none leaves "
           "it out."),
    { .name = "ignore_empty_lines",
      .doc = "Blank lines count for n_lines only.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, ignore_empty_lines) },
};

/* ---- open ---- */

static sluice_status read_limits(const struct sluice_list *list, const char *option,
                                 struct measure_limits *limits, struct sluice_error *err)
{
    char message[200];

    for (uint64_t i = 0; i < list->n; i++) {
        char *end;
        unsigned long long value = strtoull(list->items[i], &end, 10);
        if (list->items[i][0] < '0' || list->items[i][0] > '9' || *end != '\0' ||
            value > 1000000000 || list->n > MEASURES_LIMITS) {
            (void)snprintf(
                message, sizeof message,
                "found %llu thresholds, one of them '%.40s'; expected up to %d whole numbers "
                "from 0 to 1000000000",
                (unsigned long long)list->n, list->items[i], MEASURES_LIMITS);
            return sluice_fail(err, SLUICE_E_CONFIG, option, message);
        }
        limits->value[limits->n++] = value;
    }
    return SLUICE_OK;
}

static sluice_status read_blocks(struct stage *stage, struct sluice_error *err)
{
    static const char *const names[] = { "doc", "word", "line", "paragraph", "sentence" };
    const struct sluice_list *blocks = &stage->config->blocks;
    char message[200];

    for (uint64_t i = 0; i < blocks->n; i++) {
        unsigned k = 0;
        while (k < 5 && strcmp(names[k], blocks->items[i]) != 0) {
            k++;
        }
        if (k == 5) {
            (void)snprintf(message, sizeof message,
                           "there is no block '%.40s'; expected some of doc, word, line, "
                           "paragraph, sentence",
                           blocks->items[i]);
            return sluice_fail(err, SLUICE_E_CONFIG, "blocks", message);
        }
        stage->measures.blocks |= 1u << k;
    }
    if (stage->config->contamination.n > 0) {
        stage->measures.blocks |= BLOCK_CONTAMINATION;
    }
    return stage->measures.blocks != 0
               ? SLUICE_OK
               : sluice_fail(err, SLUICE_E_CONFIG, "blocks",
                             "expected some of doc, word, line, paragraph, sentence");
}

static void doc_stats_close(void *shared)
{
    struct stage *stage = shared;

    measures_deinit(&stage->measures);
    free(stage);
}

static sluice_status doc_stats_open(const struct sluice_host_api *api, struct sluice_host *host,
                                    const void *config, void **shared, struct sluice_error *err)
{
    static const enum text_word_rule rules[] = { TEXT_WORDS_WHITESPACE, TEXT_WORDS_UAX29,
                                                 TEXT_WORDS_SPACY_EN };
    struct stage *stage = calloc(1, sizeof *stage);
    sluice_status status;

    (void)api;
    (void)host;
    if (stage == NULL) {
        return stats_nomem(err);
    }
    stage->config = config;
    const struct config *c = stage->config;
    struct measures *m = &stage->measures;
    struct {
        const struct sluice_list *list;
        const char *option;
        struct measure_limits *limits;
    } lists[] = { { &c->short_words, "short_words", &m->short_words },
                  { &c->long_words, "long_words", &m->long_words },
                  { &c->short_lines, "short_lines", &m->short_lines },
                  { &c->long_lines, "long_lines", &m->long_lines },
                  { &c->short_paragraphs, "short_paragraphs", &m->short_paragraphs },
                  { &c->long_paragraphs, "long_paragraphs", &m->long_paragraphs },
                  { &c->short_sentences, "short_sentences", &m->short_sentences },
                  { &c->long_sentences, "long_sentences", &m->long_sentences } };
    m->stop_words = c->stop_words;
    m->contamination = c->contamination;
    m->words_rule = rules[c->words];
    m->ignore_empty_lines = c->ignore_empty_lines != 0;
    status = read_blocks(stage, err);
    for (size_t i = 0; status == SLUICE_OK && i < sizeof lists / sizeof lists[0]; i++) {
        status = read_limits(lists[i].list, lists[i].option, lists[i].limits, err);
    }
    if (status == SLUICE_OK) {
        status = measures_plan(m, err);
    }
    if (status != SLUICE_OK) {
        doc_stats_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status doc_stats_prepare(void *shared, struct sluice_plan *plan,
                                       struct sluice_error *err)
{
    static const char *const words[] = { "rule=whitespace", "rule=uax29", "rule=spacy-en" };
    static const char *const sentences[] = { "rule=spacy-en", "rule=marks", "rule=lines",
                                             "rule=uax29" };
    struct stage *stage = shared;
    const struct measures *measures = &stage->measures;
    sluice_status status = plan->need(plan, 0, stage->config->over, "utf8?", 0, NULL, err);

    stage->words = stage->sentences = -1;
    if (status == SLUICE_OK && measures->blocks & BLOCK_WORD) {
        status = plan->need_derived(plan, 0, "words", words[stage->config->words],
                                    stage->config->over, &stage->words, err);
    }
    if (status == SLUICE_OK && measures->blocks & BLOCK_SENTENCE) {
        status = plan->need_derived(plan, 0, "sentences", sentences[stage->config->sentences],
                                    stage->config->over, &stage->sentences, err);
    }
    for (int i = 0; status == SLUICE_OK && i < measures->n; i++) {
        status = plan->add(plan, measures->names[i], measures->whole[i] ? "int64" : "float64", NULL,
                           err);
    }
    return status;
}

/* ---- work ---- */

static sluice_status doc_stats_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return stats_nomem(err);
    }
    worker->stage = shared;
    text_scratch_init(&worker->scratch.text);
    text_word_cache_init(&worker->scratch.cache);
    *out = worker;
    return SLUICE_OK;
}

static void doc_stats_worker_close(void *state)
{
    struct worker *worker = state;

    measures_scratch_deinit(&worker->scratch);
    text_spans_deinit(&worker->sentences);
    free(worker);
}

static const struct text_span *spans_of(const struct sluice_batch *batch, int32_t column,
                                        int64_t row, size_t *n)
{
    *n = 0;
    return column < 0 ? NULL
                      : (const struct text_span *)(const void *)sluice_list_u64(
                            batch->array->children[column], row, n);
}

/* The sentences stripped of white space, the empty ones left out. */
static sluice_status strip_sentences(struct worker *worker, const char *text,
                                     const struct text_span *spans, size_t n,
                                     struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    worker->sentences.count = 0;
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct text_span span = text_strip(text, spans[i]);
        if (span.begin < span.end) {
            status = text_spans_push(&worker->sentences, span.begin, span.end, err);
        }
    }
    return status;
}

static sluice_status measure_row(struct worker *worker, const struct sluice_batch *batch,
                                 int64_t row, double *values, struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    struct text_doc doc;
    size_t n;
    size_t n_words;
    size_t n_sentences;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    const struct text_span *words = spans_of(batch, stage->words, row, &n_words);
    const struct text_span *sentences = spans_of(batch, stage->sentences, row, &n_sentences);
    sluice_status status = text_doc_init(&doc, text, n, words, n_words, err);

    if (status == SLUICE_OK) {
        status = strip_sentences(worker, text, sentences, n_sentences, err);
    }
    return status == SLUICE_OK
               ? measures_take(&stage->measures, &doc, worker->sentences.data,
                               worker->sentences.count, &worker->scratch, values, err)
               : status;
}

static sluice_status doc_stats_process(void *state, const struct sluice_batch *batch,
                                       struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct measures *measures = &worker->stage->measures;
    double values[MEASURES_MAX];
    struct sluice_bytes data[MEASURES_MAX] = { { 0 } };
    struct ArrowArray columns[MEASURES_MAX];
    struct ArrowArray out;
    sluice_status status = SLUICE_OK;
    int made = 0;

    if (batch->n == 0) {
        return SLUICE_OK;
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        status = measure_row(worker, batch, sluice_row(batch, k), values, err);
        for (int i = 0; status == SLUICE_OK && i < measures->n; i++) {
            int64_t whole = measures->whole[i] ? (int64_t)values[i] : 0;
            const void *value =
                measures->whole[i] ? (const void *)&whole : (const void *)&values[i];
            if (!sluice_bytes_add(&data[i], value, 8)) {
                status = stats_nomem(err);
            }
        }
    }
    for (; status == SLUICE_OK && made < measures->n; made++) {
        if (sluice_make_fixed(&columns[made], batch->n, &data[made], NULL, 0) != SLUICE_OK) {
            status = stats_nomem(err);
            break;
        }
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, batch->n, made, columns);
        return status == SLUICE_OK ? emit->batch(emit, &out) : stats_nomem(err);
    }
    for (int i = 0; i < made; i++) {
        columns[i].release(&columns[i]);
    }
    for (int i = 0; i < measures->n; i++) {
        sluice_bytes_free(&data[i]);
    }
    return status;
}

const struct sluice_stage doc_stats_stage = {
    .size = sizeof doc_stats_stage,
    .name = "doc_stats",
    .version = "1.0",
    .bytes_per_batch = 5,
    .summary = "The statistics of each document as columns (datatrove's stats blocks)",
    .doc = "A column for each statistic of datatrove 0.10's `DocStats`, `WordStats`, `LineStats`, "
           "`ParagraphStats`, `SentenceStats` and `WordsContaminationStats` "
           "(`pipeline/stats/*.py`), with their names and values: `length`, `white_space_ratio`, "
           "`n_words`, `short_word_ratio_3`, `n_lines` ... Lengths are code points; a ratio of "
           "nothing is 0. Quirks kept: `elipsis_ratio` (so spelt) counts the characters of `...` "
           "and of the ellipsis sign; paragraphs are what stands between `\\n\\n`, white space "
           "included; a ratio over lines includes blank ones. "
           "Filter by the columns in Lua, or gather them with `s.statistics`.",
    .example = "docs | s.doc_stats { blocks = { \"doc\", \"word\" }, words = \"whitespace\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 4 << 20,
    .open = doc_stats_open,
    .prepare = doc_stats_prepare,
    .worker_open = doc_stats_worker_open,
    .process = doc_stats_process,
    .worker_close = doc_stats_worker_close,
    .close = doc_stats_close,
};
