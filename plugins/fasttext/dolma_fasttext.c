/* dolma_fasttext - Dolma's taggers of fastText models: labels and scores of a document or of its paragraphs as attributes.
 *
 * A tagger is what it does to a text before the model sees it, and what it makes of the labels (struct tagger). Depends on model.h, and on
 * dolma_doc.h and dolma_out.h of the plugin dolma, whose objects are linked in. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "dolma_doc.h"
#include "dolma_names.h"
#include "dolma_out.h"
#include "fasttext.h"
#include "text/text.h"

/* What the model sees. */
enum line_form { LINE_LOWER, LINE_AS_IS, LINE_JOINED, LINE_WORDS };
/* What is made of its labels. */
enum score_form { ALL_LABELS, ABOVE_ONE, ENGLISH, TWO_LABELS, BEST_LABEL, COMPOSITION };

struct tagger {
    const char *name;
    enum line_form line;
    enum score_form scores;
    bool paragraphs, negative, overall;
};

static const struct tagger taggers[] = {
    { "ft_lang_id_doc_v1", LINE_LOWER, ALL_LABELS, false, false, false },
    { "ft_lang_id_1e2", LINE_LOWER, ABOVE_ONE, false, false, false },
    { "ft_lang_id_paragraph_v1", LINE_LOWER, ALL_LABELS, true, false, false },
    { "ft_lang_id_en_doc_v2", LINE_LOWER, ENGLISH, false, true, false },
    { "ft_lang_id_en_only_v2", LINE_LOWER, ENGLISH, false, false, false },
    { "ft_lang_id_en_paragraph_v2", LINE_LOWER, ENGLISH, true, true, false },
    { "ft_lang_id_en_paragraph_with_doc_score_v2", LINE_LOWER, ENGLISH, true, true, true },
    { "jigsaw_hatespeech_document_v2", LINE_AS_IS, TWO_LABELS, false, false, false },
    { "jigsaw_nsfw_document_v1", LINE_AS_IS, TWO_LABELS, false, false, false },
    { "dclm-oh-eli5", LINE_JOINED, BEST_LABEL, false, false, false },
    { "dolma17-quality", LINE_WORDS, ALL_LABELS, false, false, false },
    { "code_composition", LINE_AS_IS, COMPOSITION, false, false, false },
    { "labels", LINE_AS_IS, ALL_LABELS, false, false, false },
    { "paragraph_labels", LINE_AS_IS, ALL_LABELS, true, false, false },
};

struct config {
    const char *model, *tagger, *experiment, *over, *as;
};

static const struct sluice_option options[] = {
    { .name = "model",
      .doc = "fastText classifier that the tagger asks.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, model) },
    { .name = "tagger",
      .doc =
          "Name of Dolma's registry: ft_lang_id_doc_v1, ft_lang_id_1e2, ft_lang_id_paragraph_v1, "
          "ft_lang_id_en_doc_v2, ft_lang_id_en_only_v2, ft_lang_id_en_paragraph_v2, "
          "ft_lang_id_en_paragraph_with_doc_score_v2, jigsaw_hatespeech_document_v2, "
          "jigsaw_nsfw_document_v1, dclm-oh-eli5, dolma17-quality, code_composition; or labels, "
          "paragraph_labels: all labels of any model for the document, or for each paragraph.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, tagger) },
    { .name = "experiment",
      .doc = "First part of the attributes' names; none: the tagger's name, as in Dolma.",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, experiment) },
    { .name = "over",
      .doc = "Text column; a null counts as an empty text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "as",
      .doc = "Column of the attributes; if the input has one of that name its members stay.",
      .def = "attributes",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, as) },
};

/* A label of the model and the types of the spans that it makes; with code_composition three. */
struct label {
    char *type, *share, *entropy;
};

struct stage {
    const struct config *config;
    const struct tagger *tagger;
    struct ft_model *model;
    struct label *labels; /* the model's, and "other" behind them */
    size_t n_labels;
    int64_t english; /* number of the label en, or -1 */
    char *prefix;
    bool merges;
};

struct worker {
    const struct stage *stage;
    struct ft_reader *reader;
    struct dolma_doc doc;
    struct dolma_out out;
    struct text_buffer lower;
    struct text_spans lines;
    struct sluice_bytes line, spans; /* spans: struct english */
    size_t *counts, *order;          /* code_composition: of each label; labels as they come */
    double *entropies;
};

/* A span of English, kept for what comes behind all of them. */
struct english {
    uint64_t begin, end;
    double score;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for attributes");
}

/* ---- names ---- */

/* Dolma's make_variable_name, in place. */
static void make_name(char *text)
{
    for (char *p = text; *p != '\0'; p++) {
        bool fine =
            (unsigned char)((*p | 0x20) - 'a') < 26 || (unsigned char)(*p - '0') < 10 || *p == '_';
        *p = fine ? *p : '_';
    }
}

static char *join_name(const char *a, const char *b, const char *c)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *name = malloc(n);

    if (name != NULL) {
        snprintf(name, n, "%s%s%s", a, b, c);
        make_name(name);
    }
    return name;
}

/* text with every `what` in it replaced by `by`, which is not longer. */
static void replace_all(char *text, const char *what, const char *by)
{
    size_t n = strlen(what);
    size_t by_n = strlen(by);
    char *to = text;

    while (*text != '\0') {
        if (strncmp(text, what, n) == 0) {
            memmove(to, by, by_n);
            to += by_n;
            text += n;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/* "cc" and "hq" become "score", which is longer: into a new text. */
static char *score_name(const char *label)
{
    size_t n = strlen(label);
    char *name = malloc(3 * n + 1);
    char *to = name;

    for (size_t i = 0; name != NULL && i < n;) {
        if (strncmp(label + i, "cc", 2) == 0 || strncmp(label + i, "hq", 2) == 0) {
            memcpy(to, "score", 5);
            to += 5;
            i += 2;
        } else {
            *to++ = label[i++];
        }
    }
    if (name != NULL) {
        *to = '\0';
        make_name(name);
    }
    return name;
}

static bool name_label(const struct tagger *tagger, const char *label, struct label *out)
{
    char *plain = strdup(label);

    if (plain == NULL) {
        return false;
    }
    if (tagger->scores == COMPOSITION) {
        /* lstrip of these characters, not of the prefix. */
        const char *begin = plain + strspn(plain, FASTTEXT_LABEL);
        out->type = join_name(begin, "", "");
        out->share = join_name(begin, "_pct", "");
        out->entropy = join_name(begin, "_entropy", "");
    } else {
        if (tagger->scores != TWO_LABELS) {
            replace_all(plain, FASTTEXT_LABEL, "");
        }
        out->type = tagger->scores == BEST_LABEL ? score_name(plain) : join_name(plain, "", "");
        out->share = strdup("");
        out->entropy = strdup("");
    }
    free(plain);
    return out->type != NULL && out->share != NULL && out->entropy != NULL;
}

/* ---- open ---- */

static void stage_close(void *shared)
{
    struct stage *stage = shared;

    for (size_t k = 0; k < stage->n_labels; k++) {
        free(stage->labels[k].type);
        free(stage->labels[k].share);
        free(stage->labels[k].entropy);
    }
    free(stage->labels);
    free(stage->prefix);
    ft_model_destroy(stage->model);
    free(stage);
}

static sluice_status find_tagger(struct stage *stage, struct sluice_error *err)
{
    const struct config *config = stage->config;
    const char *experiment = config->experiment != NULL ? config->experiment : config->tagger;
    char message[300];
    size_t size;

    for (size_t k = 0; k < sizeof taggers / sizeof taggers[0]; k++) {
        if (strcmp(taggers[k].name, config->tagger) == 0) {
            stage->tagger = &taggers[k];
        }
    }
    if (stage->tagger == NULL) {
        snprintf(message, sizeof message,
                 "found '%.80s', which is no tagger of Dolma's that asks a fastText model for a "
                 "document or paragraphs; `sluice inspect dolma_fasttext` lists them",
                 config->tagger);
        return sluice_fail(err, SLUICE_E_CONFIG, "tagger", message);
    }
    if ((unsigned char)(experiment[0] - '0') < 10 || experiment[0] == '\0') {
        return sluice_fail(err, SLUICE_E_CONFIG, "experiment",
                           "expected a name that begins with a letter or _");
    }
    size = strlen(experiment) + strlen(config->tagger) + 5;
    stage->prefix = malloc(size);
    if (stage->prefix == NULL) {
        return nomem(err);
    }
    snprintf(stage->prefix, size, "%s__%s__", experiment, config->tagger);
    make_name(stage->prefix);
    return SLUICE_OK;
}

static sluice_status name_labels(struct stage *stage, struct sluice_error *err)
{
    size_t n = ft_model_labels(stage->model);

    stage->labels = calloc(n + 1, sizeof *stage->labels);
    if (stage->labels == NULL) {
        return nomem(err);
    }
    for (size_t k = 0; k <= n; k++) {
        const char *label = k < n ? ft_model_label(stage->model, k) : "other";
        stage->n_labels++;
        if (!name_label(stage->tagger, label, &stage->labels[k])) {
            return nomem(err);
        }
    }
    stage->english = fasttext_find(stage->model, "en");
    if (stage->tagger->scores == ENGLISH && stage->english < 0) {
        return fasttext_no_label(stage->model, "model", "en", err);
    }
    return stage->tagger->scores == TWO_LABELS && n != 2
               ? sluice_fail(err, SLUICE_E_CONFIG, "model",
                             "expected a model of two labels, as those of jigsaw are")
               : SLUICE_OK;
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    sluice_status status;

    if (stage == NULL) {
        return nomem(err);
    }
    stage->config = config;
    status = find_tagger(stage, err);
    if (status == SLUICE_OK) {
        status = fasttext_load(api, host, stage->config->model, &stage->model, err);
    }
    if (status == SLUICE_OK) {
        status = name_labels(stage, err);
    }
    if (status != SLUICE_OK) {
        stage_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

/* ---- prepare ---- */

static int add_name(const struct stage *stage, const char *type, struct sluice_bytes *names)
{
    return (names->size == strlen(DOLMA_NAMES_KEY) + 1 || sluice_bytes_add(names, "|", 1)) &&
           sluice_bytes_add(names, stage->prefix, strlen(stage->prefix)) &&
           sluice_bytes_add(names, type, strlen(type));
}

static int list_names(const struct stage *stage, const char *present, struct sluice_bytes *names)
{
    static const char *const english[] = { "en", "not_en", "doc_en", "doc_not_en" };
    const struct tagger *tagger = stage->tagger;
    int ok = sluice_bytes_add(names, DOLMA_NAMES_KEY "=", strlen(DOLMA_NAMES_KEY) + 1) &&
             (present == NULL || sluice_bytes_add(names, present, strlen(present)));
    size_t n = stage->n_labels - (tagger->scores != COMPOSITION);

    if (tagger->scores == ENGLISH) {
        for (int k = 0; ok && k < (tagger->overall ? 4 : tagger->negative ? 2 : 1); k++) {
            ok = add_name(stage, english[k], names);
        }
    }
    for (size_t k = 0; ok && tagger->scores != ENGLISH && k < n; k++) {
        ok = add_name(stage, stage->labels[k].type, names) &&
             (tagger->scores != COMPOSITION || (add_name(stage, stage->labels[k].share, names) &&
                                                add_name(stage, stage->labels[k].entropy, names)));
    }
    if (ok && tagger->scores == COMPOSITION) {
        ok = add_name(stage, "boundaries", names);
    }
    return ok && sluice_bytes_add(names, "", 1);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct config *config = stage->config;
    struct sluice_bytes names = { 0 };
    const char *present = NULL;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, config->as, "json|json?", 1, &index, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    stage->merges = index >= 0;
    if (stage->merges) {
        present = plan->metadata(plan, 0, index, DOLMA_NAMES_KEY);
    }
    if (present != NULL && strstr(present, stage->prefix) != NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "experiment",
                           "the column has attributes of that experiment and tagger already; "
                           "expected another `experiment`");
    }
    status = list_names(stage, present, &names) ? SLUICE_OK : nomem(err);
    if (status == SLUICE_OK) {
        /* Beside attributes that nobody declared, anything may be in the column. */
        status = plan->add(plan, config->as, "json",
                           stage->merges && present == NULL ? NULL : names.data, err);
    }
    sluice_bytes_free(&names);
    return status;
}

/* ---- workers ---- */

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    ft_reader_destroy(worker->reader);
    dolma_doc_deinit(&worker->doc);
    dolma_out_deinit(&worker->out);
    text_buffer_deinit(&worker->lower);
    text_spans_deinit(&worker->lines);
    sluice_bytes_free(&worker->line);
    sluice_bytes_free(&worker->spans);
    free(worker->counts);
    free(worker->order);
    free(worker->entropies);
    free(worker);
}

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct stage *stage = shared;
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return nomem(err);
    }
    worker->stage = stage;
    worker->counts = calloc(stage->n_labels, sizeof *worker->counts);
    worker->order = calloc(stage->n_labels, sizeof *worker->order);
    worker->entropies = calloc(stage->n_labels, sizeof *worker->entropies);
    status = worker->counts == NULL || worker->order == NULL || worker->entropies == NULL
                 ? nomem(err)
                 : ft_reader_create(stage->model, &worker->reader, err);
    if (status != SLUICE_OK) {
        stage_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* ---- the line that the model sees ---- */

/* Words between white space as Rust knows it (Python's without 1C to 1F), joined by single spaces. */
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
static sluice_status add_joined(struct worker *worker, const char *text, size_t n,
                                struct sluice_error *err)
{
    struct text_span all = text_strip(text, (struct text_span){ 0, (uint32_t)n });
    sluice_status status =
        text_splitlines(text + all.begin, all.end - all.begin, &worker->lines, err);

    for (size_t k = 0; status == SLUICE_OK && k < worker->lines.count; k++) {
        struct text_span span = worker->lines.data[k];
        if ((k > 0 && !sluice_bytes_add(&worker->line, " ", 1)) ||
            !sluice_bytes_add(&worker->line, text + all.begin + span.begin,
                              span.end - span.begin)) {
            status = nomem(err);
        }
    }
    return status;
}

static sluice_status predict(struct worker *worker, const char *text, size_t n,
                             const struct ft_score **scores, size_t *count,
                             struct sluice_error *err)
{
    struct text_span rest;
    sluice_status status = SLUICE_OK;

    worker->line.size = 0;
    switch (worker->stage->tagger->line) {
    case LINE_JOINED:
        status = add_joined(worker, text, n, err);
        break;
    case LINE_WORDS:
        status = add_words(&worker->line, text, n) ? SLUICE_OK : nomem(err);
        break;
    case LINE_LOWER:
        status = text_lower(text, n, &worker->lower, err);
        text = worker->lower.data;
        n = worker->lower.len;
        /* fall through */
    case LINE_AS_IS:
    default:
        rest = text_strip(text, (struct text_span){ 0, (uint32_t)n });
        if (status == SLUICE_OK && rest.end > rest.begin &&
            !fasttext_one_line(&worker->line, text + rest.begin, rest.end - rest.begin, " ")) {
            status = nomem(err);
        }
        break;
    }
    *count = 0;
    if (status == SLUICE_OK && worker->stage->tagger->line == LINE_WORDS &&
        worker->line.size == 0) {
        return SLUICE_OK; /* the peer ends here */
    }
    if (status == SLUICE_OK && !sluice_bytes_add(&worker->line, "\n", 1)) {
        status = nomem(err);
    }
    return status == SLUICE_OK ? ft_predict(worker->reader, worker->line.data,
                                            (size_t)worker->line.size, scores, count, err)
                               : status;
}

/* ---- what is made of the labels ---- */

/* Python's round(score, 2). */
static double round_two(double score)
{
    char text[400];

    snprintf(text, sizeof text, "%.2f", score);
    return strtod(text, NULL);
}

static sluice_status put_english(struct worker *worker, struct english span,
                                 struct sluice_error *err)
{
    dolma_out_span(&worker->out, "en", span.begin, span.end, span.score);
    return sluice_bytes_add(&worker->spans, &span, sizeof span) ? SLUICE_OK : nomem(err);
}

static sluice_status tag_unit(struct worker *worker, struct text_span unit,
                              struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    const struct ft_score *scores;
    size_t begin = dolma_chars(&worker->doc, unit.begin);
    size_t end = dolma_chars(&worker->doc, unit.end);
    struct english english = { begin, end, 0 };
    size_t n;
    sluice_status status =
        predict(worker, worker->doc.text + unit.begin, unit.end - unit.begin, &scores, &n, err);

    if (status != SLUICE_OK) {
        return status;
    }
    switch (stage->tagger->scores) {
    case ENGLISH:
        for (size_t i = 0; i < n; i++) {
            english.score =
                (int64_t)scores[i].label == stage->english ? scores[i].score : english.score;
        }
        return put_english(worker, english, err);
    case TWO_LABELS:
        if (n == 2) {
            size_t first = strstr(ft_model_label(stage->model, scores[0].label), "non") != NULL;
            for (size_t i = 0; i < 2; i++) {
                const struct ft_score *score = &scores[i == 0 ? first : 1 - first];
                dolma_out_span(&worker->out, stage->labels[score->label].type, begin, end,
                               score->score);
            }
        }
        return SLUICE_OK;
    case BEST_LABEL:
        if (n > 0) {
            bool other = strcmp(ft_model_label(stage->model, scores[0].label), "__label__cc") == 0;
            dolma_out_span(&worker->out, stage->labels[scores[0].label].type, begin, end,
                           other ? 1 - scores[0].score : scores[0].score);
        }
        return SLUICE_OK;
    default:
        for (size_t i = 0; i < n; i++) {
            bool two = stage->tagger->scores == ABOVE_ONE;
            if (!two || scores[i].score > 0.01) {
                dolma_out_span(&worker->out, stage->labels[scores[i].label].type, begin, end,
                               two ? round_two(scores[i].score) : scores[i].score);
            }
        }
        return SLUICE_OK;
    }
}

/* What comes behind the spans of English: those of what is not, and the document's scores. */
static void put_rest(struct worker *worker)
{
    const struct tagger *tagger = worker->stage->tagger;
    const struct english *spans = (const struct english *)(const void *)worker->spans.data;
    size_t n = (size_t)(worker->spans.size / sizeof *spans);
    size_t chars = worker->doc.chars;
    double sum = 0;

    for (size_t k = 0; tagger->negative && k < n; k++) {
        dolma_out_span(&worker->out, "not_en", spans[k].begin, spans[k].end, 1 - spans[k].score);
    }
    for (size_t k = 0; tagger->overall && k < n; k++) {
        sum += (double)(spans[k].end - spans[k].begin) * spans[k].score;
    }
    if (tagger->overall) {
        double score = chars > 0 ? sum / (double)chars : 0;
        dolma_out_span(&worker->out, "doc_en", 0, chars, score);
        dolma_out_span(&worker->out, "doc_not_en", 0, chars, chars > 0 ? 1 - score : 0);
    }
}

/* code_composition: the best label of each line that is not blank, short lines being "other". */
static sluice_status tag_lines(struct worker *worker, struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    const struct dolma_doc *doc = &worker->doc;
    size_t other = stage->n_labels - 1;
    size_t n_order = 0;
    size_t lines = 0;
    size_t boundaries = 0;
    int active = 0; /* 1 code, 2 prose, 0 neither */
    sluice_status status = text_splitlines(doc->text, doc->n, &worker->lines, err);

    memset(worker->counts, 0, stage->n_labels * sizeof *worker->counts);
    for (size_t k = 0; status == SLUICE_OK && k < worker->lines.count; k++) {
        struct text_span line = text_strip(doc->text, worker->lines.data[k]);
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
                predict(worker, doc->text + line.begin, line.end - line.begin, &scores, &n, err);
        }
        if (status != SLUICE_OK) {
            break;
        }
        label = n > 0 ? scores[0].label : other;
        for (size_t i = 0; i < n; i++) {
            entropy -= scores[i].score > 0 ? scores[i].score * log2(scores[i].score) : 0;
        }
        if (worker->counts[label] == 0) {
            worker->order[n_order++] = label;
            worker->entropies[label] = 0;
        }
        worker->counts[label]++;
        worker->entropies[label] += entropy;
        lines++;
        kind = strcmp(stage->labels[label].type, "code") == 0    ? 1
               : strcmp(stage->labels[label].type, "prose") == 0 ? 2
                                                                 : 0;
        boundaries += active != 0 && kind != 0 && kind != active;
        active = kind;
    }
    if (status != SLUICE_OK) {
        return status;
    }
    dolma_out_span(&worker->out, "boundaries", 0, doc->chars, (double)boundaries);
    for (size_t k = 0; k < n_order; k++) {
        const struct label *label = &stage->labels[worker->order[k]];
        double count = (double)worker->counts[worker->order[k]];
        dolma_out_span(&worker->out, label->share, 0, doc->chars, round_two(count / (double)lines));
        dolma_out_span(&worker->out, label->type, 0, doc->chars, count);
        dolma_out_span(&worker->out, label->entropy, 0, doc->chars,
                       worker->entropies[worker->order[k]] / count);
    }
    return SLUICE_OK;
}

static sluice_status tag_row(void *ctx, const struct sluice_batch *batch, int64_t row,
                             struct dolma_out *out, struct sluice_error *err)
{
    struct worker *worker = ctx;
    const struct stage *stage = worker->stage;
    struct dolma_doc *doc = &worker->doc;
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    sluice_status status = dolma_doc_set(doc, text, n, NULL, 0, "", 0, err);

    dolma_out_reset(out);
    worker->spans.size = 0;
    if (status == SLUICE_OK && stage->merges) {
        size_t json_n;
        const char *json = sluice_text(batch->array->children[1], row, &json_n);
        if (!dolma_out_members(out, json, json_n)) {
            status = sluice_fail(err, SLUICE_E_DATA, stage->config->as,
                                 "the attributes are no JSON object");
        }
    }
    if (status == SLUICE_OK && stage->tagger->scores == COMPOSITION) {
        status = tag_lines(worker, err);
    } else if (status == SLUICE_OK && !stage->tagger->paragraphs) {
        status = tag_unit(worker, (struct text_span){ 0, (uint32_t)n }, err);
    } else if (status == SLUICE_OK) {
        status = dolma_doc_paragraphs(doc, err);
        for (size_t k = 0; status == SLUICE_OK && k < doc->paragraphs.count; k++) {
            if (!dolma_blank(doc, doc->paragraphs.data[k])) {
                status = tag_unit(worker, doc->paragraphs.data[k], err);
            }
        }
    }
    put_rest(worker);
    dolma_out_tagger(out, stage->prefix);
    if (status != SLUICE_OK && err != NULL) {
        err->row = row;
    }
    return status == SLUICE_OK && out->failed ? nomem(err) : status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    return dolma_emit_rows(batch, emit, tag_row, worker, &worker->out, err);
}

const struct sluice_stage dolma_fasttext_stage = {
    .size = sizeof dolma_fasttext_stage,
    .name = "dolma_fasttext",
    .version = "1.0",
    .summary = "Dolma's taggers of fastText models, with any model, as attributes",
    .doc =
        "Gives, beside what `dolma_tag` gives, {\"experiment__tagger__label\": [[start, end, "
        "score], ...]} as Dolma 1.2.1's taggers of fastText models do "
        "(python/dolma/core/ft_tagger.py, taggers/language.py, jigsaw.py, quality.py, "
        "code_composition.py): each with what it does to the text (lower case, line breaks to "
        "spaces), its choice of labels and its rounding; the model is an asset of the user's. A "
        "paragraph is a line that is not blank. `labels` and `paragraph_labels` are no taggers of "
        "Dolma's: all labels of any model, best first.\n\n"
        "Other than there: where the model gives no label (dclm-oh-eli5, jigsaw_*) or the text is "
        "empty (dolma17-quality) there is no span, where Dolma ends. Not here: "
        "jigsaw_hatespeech_sentence_v2 and jigsaw_nsfw_sencence_v2, whose sentences are those of "
        "the BlingFire library.",
    .example = "docs | s.dolma_fasttext { \"lid.176.bin\", tagger = \"ft_lang_id_en_doc_v2\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_shared = 256 << 20,
    .bytes_worker = 12 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = stage_worker_open,
    .process = stage_process,
    .worker_close = stage_worker_close,
    .close = stage_close,
};
