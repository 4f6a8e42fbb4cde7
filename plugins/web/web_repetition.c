/* web_repetition - Gopher's repetition rules (Rae et al. 2021, arXiv:2112.11446, appendix A1.1) as
 * DCLM and datamap-rs define them. */
#include "web.h"

struct config {
    struct web_common common;
    double line, paragraph, line_chars, paragraph_chars;
    double top_2_gram, top_3_gram, top_4_gram;
    double dup_5_gram, dup_6_gram, dup_7_gram, dup_8_gram, dup_9_gram, dup_10_gram;
};

enum { EMPTY = 1, LINE, PARAGRAPH, LINE_CHARS, PARAGRAPH_CHARS, TOP_2_GRAM };

static const struct sluice_option options[] = {
    WEB_OVER(config, "Column that holds the text."),
    WEB_PEER(config),
    WEB_SHARE(config, line, "Largest share of lines that occur more than once; -1 disables.",
              "0.3"),
    WEB_SHARE(config, paragraph,
              "Largest share of paragraphs that occur more than once; -1 disables.", "0.3"),
    WEB_SHARE(config, line_chars, "Largest share of the text of lines in such lines; -1 disables.",
              "0.2"),
    WEB_SHARE(config, paragraph_chars,
              "Largest share of the text of paragraphs in such paragraphs; -1 disables.", "0.2"),
    WEB_SHARE(config, top_2_gram,
              "Largest share of the words' text in the most frequent 2-gram; -1 disables.", "0.2"),
    WEB_SHARE(config, top_3_gram, "The same of 3-grams.", "0.18"),
    WEB_SHARE(config, top_4_gram, "The same of 4-grams.", "0.16"),
    WEB_SHARE(config, dup_5_gram,
              "Largest share of the words' text in 5-grams that occur more than once; -1 disables.",
              "0.15"),
    WEB_SHARE(config, dup_6_gram, "The same of 6-grams.", "0.14"),
    WEB_SHARE(config, dup_7_gram, "The same of 7-grams.", "0.13"),
    WEB_SHARE(config, dup_8_gram, "The same of 8-grams.", "0.12"),
    WEB_SHARE(config, dup_9_gram, "The same of 9-grams.", "0.11"),
    WEB_SHARE(config, dup_10_gram, "The same of 10-grams.", "0.10"),
};

/* Pieces between separators of `newlines` line feeds: stripped (dclm) or not (datamap), empty ones
 * left out. */
static int32_t segments_cut(enum web_peer peer, const struct web_doc *doc, size_t newlines,
                            struct text_spans *out, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    size_t begin = 0;
    size_t at = 0;

    out->count = 0;
    while (status == SLUICE_OK && begin <= doc->len) {
        const char *feed = at < doc->len ? memchr(doc->text + at, '\n', doc->len - at) : NULL;
        size_t end = feed != NULL ? (size_t)(feed - doc->text) : doc->len;
        struct text_span piece = { (uint32_t)begin, (uint32_t)end };
        if (feed != NULL && newlines == 2 && (end + 1 >= doc->len || doc->text[end + 1] != '\n')) {
            at = end + 1;
            continue;
        }
        if (peer == WEB_DCLM) {
            piece = text_strip(doc->text, piece);
        }
        if (piece.end > piece.begin) {
            status = text_spans_push(out, piece.begin, piece.end, err);
        }
        begin = feed != NULL ? end + newlines : doc->len + 1;
        at = begin;
    }
    return status;
}

/* What lines or paragraphs give. */
struct segments {
    size_t count;
    double elements, length; /* shares that are repeated */
};

static int32_t segments_measure(struct web_worker *worker, const struct web_doc *doc,
                                size_t newlines, struct segments *segments,
                                struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    bool dclm = config->common.peer == WEB_DCLM;
    size_t elements;
    uint64_t length;
    int32_t status =
        segments_cut((enum web_peer)config->common.peer, doc, newlines, &worker->lines, err);

    memset(segments, 0, sizeof *segments);
    if (status == SLUICE_OK) {
        status = web_ngrams_begin(&worker->ngrams, doc->text, worker->lines.data,
                                  worker->lines.count, dclm && !doc->ascii, err);
    }
    segments->count = worker->lines.count;
    if (status != SLUICE_OK || segments->count < 2) {
        return status;
    }
    web_ngrams_repeated(&worker->ngrams, &elements, &length);
    if (dclm) {
        segments->elements = (double)elements / (double)segments->count;
        segments->length = (double)length / (double)worker->ngrams.total;
    } else {
        segments->elements = (double)((float)elements / (float)segments->count);
        segments->length = (double)((float)length / (float)worker->ngrams.total);
    }
    return status;
}

/* Limits of datamap-rs are of single precision. */
static double limit_of(const struct config *config, double limit)
{
    return config->common.peer == WEB_DCLM ? limit : (double)(float)limit;
}

static bool passes(const struct config *config, int32_t reason, double share, double limit,
                   struct web_verdict *verdict)
{
    if (limit < 0 || share <= limit_of(config, limit)) {
        return true;
    }
    web_drop(verdict, reason, share, limit_of(config, limit));
    return false;
}

/* Lines and paragraphs, in the order line, paragraph, line_chars, paragraph_chars. No lines at all:
 * dclm drops the document (it is empty), datamap counts all of nothing as repeated. */
static sluice_status judge_segments(struct web_worker *worker, const struct web_doc *doc,
                                    struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    bool paragraphs = config->paragraph >= 0 || config->paragraph_chars >= 0;
    struct segments line;
    struct segments paragraph = { 1, 0, 0 };
    sluice_status status = segments_measure(worker, doc, 1, &line, err);

    if (status == SLUICE_OK && line.count == 0) {
        return web_drop(verdict, EMPTY, 0, 1);
    }
    if (status == SLUICE_OK && passes(config, LINE, line.elements, config->line, verdict)) {
        if (paragraphs) {
            status = segments_measure(worker, doc, 2, &paragraph, err);
        }
        if (status == SLUICE_OK &&
            passes(config, PARAGRAPH, paragraph.elements, config->paragraph, verdict) &&
            passes(config, LINE_CHARS, line.length, config->line_chars, verdict)) {
            passes(config, PARAGRAPH_CHARS, paragraph.length, config->paragraph_chars, verdict);
        }
    }
    return status;
}

/* The share of the words' text that n-grams take. dclm counts a frequent one as often as it occurs,
 * overlaps too; datamap counts each word once. */
static double ngram_share(const struct config *config, const struct web_ngrams *grams)
{
    uint32_t count;
    uint64_t length;
    uint64_t cover;

    if (grams->n > 4) {
        cover = web_ngrams_cover(grams);
    } else {
        web_ngrams_top(grams, &count, &length, &cover);
        if (config->common.peer == WEB_DCLM) {
            return count == 0 ? 0 : (double)(length * count) / (double)grams->total;
        }
    }
    return config->common.peer == WEB_DCLM ? (double)cover / (double)grams->total
                                           : (double)((float)cover / (float)grams->total);
}

static sluice_status judge_words(struct web_worker *worker, const struct web_doc *doc,
                                 struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    const double limits[] = { config->top_2_gram, config->top_3_gram, config->top_4_gram,
                              config->dup_5_gram, config->dup_6_gram, config->dup_7_gram,
                              config->dup_8_gram, config->dup_9_gram, config->dup_10_gram };
    struct web_ngrams *grams = &worker->ngrams;
    const struct text_span *words;
    size_t n_words;
    sluice_status status =
        web_words((enum web_peer)config->common.peer, doc->text, doc->len, doc->spans, doc->n_spans,
                  &worker->words, &words, &n_words, err);

    if (status == SLUICE_OK) {
        status = web_ngrams_begin(grams, doc->text, words, n_words,
                                  config->common.peer == WEB_DCLM && !doc->ascii, err);
    }
    for (int32_t i = 0; status == SLUICE_OK && i < 9; i++) {
        web_ngrams_next(grams);
        if (grams->n_places == 0 ||
            !passes(config, TOP_2_GRAM + i, ngram_share(config, grams), limits[i], verdict)) {
            break;
        }
    }
    return status;
}

static sluice_status judge(struct web_worker *worker, const struct web_doc *doc,
                           struct web_verdict *verdict, struct sluice_error *err)
{
    sluice_status status = judge_segments(worker, doc, verdict, err);

    return status == SLUICE_OK && verdict->reason == 0 ? judge_words(worker, doc, verdict, err)
                                                       : status;
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    return web_open(&web_repetition_stage, api, host, config, shared, err);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return web_need(shared, plan, true, err);
}

static sluice_status stage_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return web_judge(worker, batch, emit, true, judge, err);
}

const struct sluice_stage web_repetition_stage = {
    .size = sizeof web_repetition_stage,
    .name = "web_repetition",
    .version = "1.0",
    .bytes_per_batch = 6,
    .summary =
        "Gopher's repetition rules as DCLM and Olmo 3 run them: all copies of a line, paragraph or "
        "n-gram count",
    .doc =
        "Rae et al. 2021 (arXiv:2112.11446), with the definitions of DCLM "
        "(massive_web_repetition_filters) or of datamap-rs (massive_web_repetition_filter). Tests "
        "run in "
        "the order of the reasons. Unlike `gopher_repetition` (datatrove), all copies of a "
        "repeated line "
        "count, shares are of the lines' and words' own text, words are those of UAX #29 without "
        "punctuation, and n-grams of 5 and more count every word once.\n\n"
        "`peer = \"dclm\"`: lines are stripped; the most frequent 2-, 3- or 4-gram counts its "
        "length (the "
        "longest of equally frequent ones) as often as it occurs. `peer = \"datamap\"`: lengths "
        "are bytes, lines "
        "are not stripped, ratios are of single precision, and the words that the most frequent "
        "n-gram covers count "
        "once; of equally frequent and equally long n-grams the first seen is taken (the peer "
        "takes the last "
        "in the order of its hash table, which matters only when copies overlap). Paragraphs that "
        "a text extractor "
        "does not mark are left out with `paragraph = -1, paragraph_chars = -1`.",
    .example = "docs | s.web_repetition {}",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons =
        "empty|dup_line|dup_paragraph|dup_line_char|dup_paragraph_char|top_2_gram|top_3_gram|"
        "top_4_gram|dup_5_gram|dup_6_gram|dup_7_gram|dup_8_gram|dup_9_gram|dup_10_gram",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = web_worker_open,
    .process = stage_process,
    .worker_close = web_worker_close,
    .close = web_close,
};
