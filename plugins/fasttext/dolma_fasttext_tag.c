/* dolma_fasttext_tag.c - the line that the model sees, and what a tagger makes of its labels. See
 * dolma_fasttext.h. */
#include <math.h>
#include <stdio.h>

#include "dolma_fasttext.h"

/* A span of English, kept for what comes behind all of them. */
struct english {
    uint64_t begin, end;
    double score;
};

/* ---- the line that the model sees ---- */

/* Words between white space as Rust knows it (Python's without 1C to 1F), joined by single
 * spaces. */
static bool add_words(struct sluice_bytes *line, const char *text, size_t n)
{
    bool pending = false;
    bool ok = true;

    for (size_t i = 0; ok && i < n;) {
        uint32_t cp;
        size_t begin = i;
        i += text_utf8_decode(text, n, i, &cp);
        if ((text_classes(cp) & TEXT_SPACE) != 0 && !(cp >= 0x1C && cp <= 0x1F)) {
            pending = line->size > 0;
        } else {
            ok = (!pending || sluice_bytes_add(line, " ", 1)) &&
                 sluice_bytes_add(line, text + begin, i - begin);
            pending = false;
        }
    }
    return ok;
}

/* The stripped text's lines joined by single spaces. */
static sluice_status add_joined(struct ft_tagging *tagging, const char *text, size_t n,
                                struct sluice_error *err)
{
    struct text_span all = text_strip(text, (struct text_span){ 0, (uint32_t)n });
    sluice_status status =
        text_splitlines(text + all.begin, all.end - all.begin, &tagging->lines, err);

    for (size_t k = 0; status == SLUICE_OK && k < tagging->lines.count; k++) {
        struct text_span span = tagging->lines.data[k];
        if ((k > 0 && !sluice_bytes_add(&tagging->reader.line, " ", 1)) ||
            !sluice_bytes_add(&tagging->reader.line, text + all.begin + span.begin,
                              span.end - span.begin)) {
            status = dolma_nomem(err);
        }
    }
    return status;
}

static sluice_status predict(struct ft_tagging *tagging, const char *text, size_t n,
                             const struct ft_score **scores, size_t *count,
                             struct sluice_error *err)
{
    struct text_span rest;
    sluice_status status = SLUICE_OK;

    tagging->reader.line.size = 0;
    switch (tagging->tagger->line) {
    case LINE_JOINED:
        status = add_joined(tagging, text, n, err);
        break;
    case LINE_WORDS:
        status = add_words(&tagging->reader.line, text, n) ? SLUICE_OK : dolma_nomem(err);
        break;
    case LINE_LOWER:
        status = text_lower(text, n, &tagging->lower, err);
        text = tagging->lower.data;
        n = tagging->lower.len;
        /* fall through */
    case LINE_AS_IS:
    default:
        rest = text_strip(text, (struct text_span){ 0, (uint32_t)n });
        if (status == SLUICE_OK && rest.end > rest.begin &&
            !fasttext_one_line(&tagging->reader.line, text + rest.begin, rest.end - rest.begin,
                               " ")) {
            status = dolma_nomem(err);
        }
        break;
    }
    *count = 0;
    if (status == SLUICE_OK && tagging->tagger->line == LINE_WORDS &&
        tagging->reader.line.size == 0) {
        return SLUICE_OK; /* the peer ends here */
    }
    return status == SLUICE_OK ? fasttext_ask_line(&tagging->reader, scores, count, err) : status;
}

/* ---- what is made of the labels ---- */

/* Python's round(score, 2). */
static double round_two(double score)
{
    char text[400];

    snprintf(text, sizeof text, "%.2f", score);
    return strtod(text, NULL);
}

static sluice_status put_english(struct ft_tagging *tagging, struct english span,
                                 struct sluice_error *err)
{
    dolma_out_span(&tagging->out, "en", span.begin, span.end, span.score);
    return sluice_bytes_add(&tagging->spans, &span, sizeof span) ? SLUICE_OK : dolma_nomem(err);
}

static sluice_status tag_unit(struct ft_tagging *tagging, struct text_span unit,
                              struct sluice_error *err)
{
    const struct ft_score *scores;
    size_t begin = dolma_chars(&tagging->doc, unit.begin);
    size_t end = dolma_chars(&tagging->doc, unit.end);
    struct english english = { begin, end, 0 };
    size_t n;
    sluice_status status =
        predict(tagging, tagging->doc.text + unit.begin, unit.end - unit.begin, &scores, &n, err);

    if (status != SLUICE_OK) {
        return status;
    }
    switch (tagging->tagger->scores) {
    case ENGLISH:
        for (size_t i = 0; i < n; i++) {
            english.score =
                (int64_t)scores[i].label == tagging->english ? scores[i].score : english.score;
        }
        return put_english(tagging, english, err);
    case TWO_LABELS:
        if (n == 2) {
            size_t first = strstr(ft_model_label(tagging->model, scores[0].label), "non") != NULL;
            for (size_t i = 0; i < 2; i++) {
                const struct ft_score *score = &scores[i == 0 ? first : 1 - first];
                dolma_out_span(&tagging->out, tagging->types->types[score->label].type, begin, end,
                               score->score);
            }
        }
        return SLUICE_OK;
    case BEST_LABEL:
        if (n > 0) {
            bool other =
                strcmp(ft_model_label(tagging->model, scores[0].label), "__label__cc") == 0;
            dolma_out_span(&tagging->out, tagging->types->types[scores[0].label].type, begin, end,
                           other ? 1 - scores[0].score : scores[0].score);
        }
        return SLUICE_OK;
    default:
        for (size_t i = 0; i < n; i++) {
            bool two = tagging->tagger->scores == ABOVE_ONE;
            if (!two || scores[i].score > 0.01) {
                dolma_out_span(&tagging->out, tagging->types->types[scores[i].label].type, begin,
                               end, two ? round_two(scores[i].score) : scores[i].score);
            }
        }
        return SLUICE_OK;
    }
}

/* What comes behind the spans of English: those of what is not, and the document's scores. */
static void put_rest(struct ft_tagging *tagging)
{
    const struct ft_tagger *tagger = tagging->tagger;
    const struct english *spans = (const struct english *)(const void *)tagging->spans.data;
    size_t n = (size_t)(tagging->spans.size / sizeof *spans);
    size_t chars = tagging->doc.chars;
    double sum = 0;

    for (size_t k = 0; tagger->negative && k < n; k++) {
        dolma_out_span(&tagging->out, "not_en", spans[k].begin, spans[k].end, 1 - spans[k].score);
    }
    for (size_t k = 0; tagger->overall && k < n; k++) {
        sum += (double)(spans[k].end - spans[k].begin) * spans[k].score;
    }
    if (tagger->overall) {
        double score = chars > 0 ? sum / (double)chars : 0;
        dolma_out_span(&tagging->out, "doc_en", 0, chars, score);
        dolma_out_span(&tagging->out, "doc_not_en", 0, chars, chars > 0 ? 1 - score : 0);
    }
}

/* code_composition: the best label of each line that is not blank, short lines being "other". */
static sluice_status tag_lines(struct ft_tagging *tagging, struct sluice_error *err)
{
    const struct dolma_doc *doc = &tagging->doc;
    size_t other = tagging->types->n - 1;
    size_t lines = 0;
    size_t boundaries = 0;
    int active = 0; /* 1 code, 2 prose, 0 neither */
    sluice_status status = text_splitlines(doc->text, doc->n, &tagging->lines, err);

    fasttext_tally_reset(&tagging->met);
    for (size_t k = 0; status == SLUICE_OK && k < tagging->lines.count; k++) {
        struct text_span line = text_strip(doc->text, tagging->lines.data[k]);
        const struct ft_score *scores;
        size_t n = 0;
        size_t label = other;
        double entropy = 0;
        int kind;
        if (line.begin == line.end) {
            continue;
        }
        if (dolma_chars(doc, line.end) - dolma_chars(doc, line.begin) > 3) {
            status =
                predict(tagging, doc->text + line.begin, line.end - line.begin, &scores, &n, err);
        }
        if (status != SLUICE_OK) {
            break;
        }
        label = n > 0 ? scores[0].label : other;
        for (size_t i = 0; i < n; i++) {
            entropy -= scores[i].score > 0 ? scores[i].score * log2(scores[i].score) : 0;
        }
        if (fasttext_tally_add(&tagging->met, label) == 0) {
            tagging->entropies[label] = 0;
        }
        tagging->entropies[label] += entropy;
        lines++;
        kind = strcmp(tagging->types->types[label].type, "code") == 0    ? 1
               : strcmp(tagging->types->types[label].type, "prose") == 0 ? 2
                                                                         : 0;
        boundaries += active != 0 && kind != 0 && kind != active;
        active = kind;
    }
    if (status != SLUICE_OK) {
        return status;
    }
    dolma_out_span(&tagging->out, "boundaries", 0, doc->chars, (double)boundaries);
    for (size_t k = 0; k < tagging->met.n; k++) {
        const struct ft_type *label = &tagging->types->types[tagging->met.order[k]];
        double count = (double)tagging->met.counts[tagging->met.order[k]];
        dolma_out_span(&tagging->out, label->share, 0, doc->chars,
                       round_two(count / (double)lines));
        dolma_out_span(&tagging->out, label->type, 0, doc->chars, count);
        dolma_out_span(&tagging->out, label->entropy, 0, doc->chars,
                       tagging->entropies[tagging->met.order[k]] / count);
    }
    return SLUICE_OK;
}

void ft_tagging_close(struct ft_tagging *tagging)
{
    fasttext_reader_close(&tagging->reader);
    dolma_doc_deinit(&tagging->doc);
    dolma_out_deinit(&tagging->out);
    text_buffer_deinit(&tagging->lower);
    text_spans_deinit(&tagging->lines);
    sluice_bytes_free(&tagging->spans);
    fasttext_tally_close(&tagging->met);
    free(tagging->entropies);
}

sluice_status ft_tagging_open(struct ft_tagging *tagging, struct sluice_error *err)
{
    sluice_status status = fasttext_tally_open(&tagging->met, tagging->types->n, err);

    tagging->entropies = calloc(tagging->types->n, sizeof *tagging->entropies);
    if (status == SLUICE_OK && tagging->entropies == NULL) {
        status = dolma_nomem(err);
    }
    return status == SLUICE_OK ? fasttext_reader_open(&tagging->reader, tagging->model, err)
                               : status;
}

sluice_status ft_tag(struct ft_tagging *tagging, const char *text, size_t n,
                     struct sluice_error *err)
{
    struct dolma_doc *doc = &tagging->doc;
    sluice_status status = dolma_doc_set(doc, text, n, NULL, 0, "", 0, err);

    tagging->spans.size = 0;
    if (status == SLUICE_OK && tagging->tagger->scores == COMPOSITION) {
        status = tag_lines(tagging, err);
    } else if (status == SLUICE_OK && !tagging->tagger->paragraphs) {
        status = tag_unit(tagging, (struct text_span){ 0, (uint32_t)n }, err);
    } else if (status == SLUICE_OK) {
        status = dolma_doc_paragraphs(doc, err);
        for (size_t k = 0; status == SLUICE_OK && k < doc->paragraphs.count; k++) {
            if (!dolma_blank(doc, doc->paragraphs.data[k])) {
                status = tag_unit(tagging, doc->paragraphs.data[k], err);
            }
        }
    }
    put_rest(tagging);
    return status;
}
