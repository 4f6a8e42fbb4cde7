/* language - labels documents with their language by a fastText model and drops those of other
 * languages (datatrove's LanguageFilter). */
#include <sluice_verdicts.h>
#include <stddef.h>

#include "fasttext.h"

struct config {
    const char *model, *over, *label, *score, *script, *pairs;
    struct sluice_list languages;
    double threshold, top_pairs;
    int32_t backend;
    uint8_t label_only;
};

#define COLUMN(member, text, value)                                            \
    {                                                                          \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_STRING, \
        .offset = offsetof(struct config, member)                              \
    }

static const struct sluice_option options[] = {
    { .name = "model",
      .doc = "fastText model of languages: lid.176.bin or lid.176.ftz (fasttext.cc, CC-BY-SA 3.0), "
             "or GlotLID's.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, model) },
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "languages",
      .doc = "Languages to keep, as the model calls them; none given: all.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, languages) },
    { .name = "threshold",
      .doc =
          "The score that one of the languages (of none given: the best language) must be above.",
      .def = "0.65",
      .type = SLUICE_OPT_FLOAT,
      .min = -1,
      .max = 2,
      .offset = offsetof(struct config, threshold) },
    { .name = "backend",
      .doc = "What labels look like: `ft176` en, `glotlid` eng_Latn, which gives two columns.",
      .def = "ft176",
      .choices = "ft176|glotlid",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, backend) },
    { .name = "label_only",
      .doc = "Only add columns, drop nothing.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, label_only) },
    { .name = "top_pairs",
      .doc = "Also give all languages whose score is above this, as one JSON object; -1: don't.",
      .def = "-1",
      .type = SLUICE_OPT_FLOAT,
      .min = -1,
      .max = 1,
      .offset = offsetof(struct config, top_pairs) },
    COLUMN(label, "Column for the best language; \"\" where the model gives none.", "language"),
    COLUMN(score, "Column for its score.", "language_score"),
    COLUMN(script, "Column for its script (backend glotlid).", "language_script"),
    COLUMN(pairs, "Column for the object of top_pairs.", "top_languages"),
};

struct name {
    const char *text; /* the language, behind "__label__" */
    size_t n;
    const char *script; /* behind the _ of glotlid; "" without one */
    int wanted;
};

struct language {
    const struct config *config;
    struct ft_model *model;
    struct name *names; /* of the model's labels */
};

struct columns {
    struct sluice_bytes label_offsets, labels, scores, script_offsets, scripts, pair_offsets, pairs;
};

struct worker {
    const struct language *language;
    struct fasttext_reader reader;
    struct columns columns; /* of a batch */
};

static void language_close(void *shared)
{
    struct language *language = shared;

    ft_model_destroy(language->model);
    free(language->names);
    free(language);
}

/* The part between the second and the third "__", as the peer cuts it. */
static void cut_name(const char *label, const struct config *config, struct name *name)
{
    const char *end;

    name->text = strncmp(label, FASTTEXT_LABEL, strlen(FASTTEXT_LABEL)) == 0
                     ? label + strlen(FASTTEXT_LABEL)
                     : label;
    end = strstr(name->text, "__");
    name->n = end != NULL ? (size_t)(end - name->text) : strlen(name->text);
    name->script = "";
    for (uint64_t i = 0; i < config->languages.n; i++) {
        name->wanted |= strlen(config->languages.items[i]) == name->n &&
                        memcmp(config->languages.items[i], name->text, name->n) == 0;
    }
    if (config->backend == 1) {
        const char *script = memchr(name->text, '_', name->n);
        if (script != NULL) {
            name->n = (size_t)(script - name->text);
            name->script = script + 1;
        }
    }
}

static sluice_status language_open(const struct sluice_host_api *api, struct sluice_host *host,
                                   const void *config, void **shared, struct sluice_error *err)
{
    struct language *language = calloc(1, sizeof *language);
    size_t n;
    sluice_status status;

    if (language == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    language->config = config;
    status = fasttext_load(api, host, language->config->model, &language->model, err);
    n = status == SLUICE_OK ? ft_model_labels(language->model) : 0;
    language->names = calloc(n + 1, sizeof *language->names);
    if (status == SLUICE_OK && language->names == NULL) {
        status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for labels");
    }
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        cut_name(ft_model_label(language->model, i), language->config, &language->names[i]);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < language->config->languages.n; i++) {
        if (fasttext_find(language->model, language->config->languages.items[i]) < 0) {
            status = fasttext_no_label(language->model, "languages",
                                       language->config->languages.items[i], err);
        }
    }
    if (status != SLUICE_OK) {
        language_close(language);
        return status;
    }
    *shared = language;
    return SLUICE_OK;
}

static sluice_status language_prepare(void *shared, struct sluice_plan *plan,
                                      struct sluice_error *err)
{
    const struct config *config = ((const struct language *)shared)->config;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, &index, err);

    if (status == SLUICE_OK) {
        status = plan->add(plan, config->label, "utf8", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, config->score, "float64", NULL, err);
    }
    if (status == SLUICE_OK && config->backend == 1) {
        status = plan->add(plan, config->script, "utf8", NULL, err);
    }
    if (status == SLUICE_OK && config->top_pairs > -1) {
        status = plan->add(plan, config->pairs, "json", NULL, err);
    }
    return status;
}

static void language_worker_close(void *state)
{
    struct worker *worker = state;

    fasttext_reader_close(&worker->reader);
    free(worker);
}

static sluice_status language_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->language = shared;
    status = fasttext_reader_open(&worker->reader, worker->language->model, err);
    if (status != SLUICE_OK) {
        language_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* ---- rows ---- */

static int add_pairs(const struct language *language, const struct ft_score *scores, size_t n,
                     struct columns *to)
{
    struct sluice_bytes *out = &to->pairs;
    int first = 1;
    int ok = sluice_bytes_add(out, "{", 1);

    for (size_t i = 0; ok && i < n; i++) {
        if (scores[i].score > language->config->top_pairs) {
            const char *label = ft_model_label(language->model, scores[i].label);
            const char *name = language->names[scores[i].label].text;
            size_t length = strlen(label) - (size_t)(name - label);
            const char *end = strstr(name, "__");
            length = end != NULL ? (size_t)(end - name) : length;
            ok = (first || sluice_bytes_add(out, ",", 1)) &&
                 fasttext_json_string(out, name, length) && sluice_bytes_add(out, ":", 1) &&
                 fasttext_json_number(out, scores[i].score);
            first = 0;
        }
    }
    ok = ok && sluice_bytes_add(out, "}", 1);
    return ok && sluice_bytes_add_text(&to->pair_offsets, out, "", 0);
}

static sluice_status judge(void *state, const char *text, size_t n, struct sluice_verdict *verdict,
                           struct sluice_error *err)
{
    struct worker *worker = state;
    struct columns *to = &worker->columns;
    const struct language *language = worker->language;
    const struct config *config = language->config;
    const struct ft_score *scores;
    size_t count;
    double best = 0;
    int ok;
    sluice_status status = fasttext_ask(&worker->reader, text, n, " ", &scores, &count, err);

    if (status != SLUICE_OK) {
        return status;
    }
    const struct name none = { "", 0, "", 0 };
    const struct name *name = count > 0 ? &language->names[scores[0].label] : &none;
    double score = count > 0 ? scores[0].score : 0;
    ok = sluice_bytes_add_text(&to->label_offsets, &to->labels, name->text, name->n) &&
         sluice_bytes_add(&to->scores, &score, sizeof score);
    if (config->backend == 1) {
        ok = ok && sluice_bytes_add_text(&to->script_offsets, &to->scripts, name->script,
                                         strlen(name->script));
    }
    if (config->top_pairs > -1) {
        ok = ok && add_pairs(language, scores, count, to);
    }
    for (size_t i = 0; i < count; i++) {
        if ((config->languages.n == 0 || language->names[scores[i].label].wanted) &&
            scores[i].score > best) {
            best = scores[i].score;
        }
    }
    verdict->value = best;
    verdict->limit = config->threshold;
    verdict->reason = config->label_only == 0 && !(best > config->threshold);
    return ok ? SLUICE_OK : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for labels");
}

static sluice_status give(const struct config *config, int64_t n, struct columns *from,
                          struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray columns[4];
    struct ArrowArray out;
    int64_t made = 0;
    sluice_status status =
        sluice_make_text(&columns[made], n, &from->label_offsets, &from->labels, NULL, 0);

    if (status == SLUICE_OK) {
        made++;
        status = sluice_make_fixed(&columns[made], n, &from->scores, NULL, 0);
    }
    if (status == SLUICE_OK) {
        made++;
        if (config->backend == 1) {
            status =
                sluice_make_text(&columns[made], n, &from->script_offsets, &from->scripts, NULL, 0);
            made += status == SLUICE_OK;
        }
    }
    if (status == SLUICE_OK && config->top_pairs > -1) {
        status = sluice_make_text(&columns[made], n, &from->pair_offsets, &from->pairs, NULL, 0);
        made += status == SLUICE_OK;
    }
    if (status != SLUICE_OK) {
        while (made > 0) {
            made--;
            columns[made].release(&columns[made]);
        }
        return sluice_fail(err, status, "", "out of memory for labels");
    }
    status = sluice_make_struct(&out, n, made, columns);
    return status == SLUICE_OK ? emit->batch(emit, &out)
                               : sluice_fail(err, status, "", "out of memory for labels");
}

static sluice_status language_process(void *state, const struct sluice_batch *batch,
                                      struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct columns *columns = &worker->columns;
    sluice_status status = sluice_judge_texts(batch, emit, judge, worker, err);

    if (status == SLUICE_OK) {
        status = give(worker->language->config, batch->n, columns, emit, err);
    }
    sluice_bytes_free(&columns->label_offsets);
    sluice_bytes_free(&columns->labels);
    sluice_bytes_free(&columns->scores);
    sluice_bytes_free(&columns->script_offsets);
    sluice_bytes_free(&columns->scripts);
    sluice_bytes_free(&columns->pair_offsets);
    sluice_bytes_free(&columns->pairs);
    return status;
}

const struct sluice_stage fasttext_language_stage = {
    .size = sizeof fasttext_language_stage,
    .name = "language",
    .version = "1.0",
    .bytes_per_batch = 4,
    .summary =
        "Labels documents with their language (fastText), and drops those of other languages",
    .doc =
        "datatrove 0.10's LanguageFilter (filters/language_filter.py): the text with \\n as spaces "
        "goes to the model as one line. With `languages`, a document stays when one of them has a "
        "score above the threshold, whether or not it is the best one; the column `language` "
        "always names the best. The peer drops without a reason; here it is `language`. It fails "
        "on a text of which the model knows no word; here that has the language \"\". Its "
        "top_language_xx_score members are one JSON object here.\n\n"
        "The model is an asset of the user's and is fetched by nobody; it is loaded once and "
        "shared by all workers. Scores are libfasttext's, in single precision: their last digits "
        "may depend on the processor.",
    .example = "docs | s.language { \"lid.176.ftz\", languages = { \"en\" } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "language",
    .bytes_shared = 256 << 20,
    .bytes_worker = 10 << 20,
    .open = language_open,
    .prepare = language_prepare,
    .worker_open = language_worker_open,
    .process = language_process,
    .worker_close = language_worker_close,
    .close = language_close,
};
