/* dolma_fasttext - Dolma's taggers of fastText models: labels and scores of a document or of its
 * paragraphs as attributes. Depends on dolma_fasttext.h. */
#include <stddef.h>
#include <stdio.h>

#include "dolma_fasttext.h"
#include "dolma_names.h"
#include "fasttext.h"

static const struct ft_tagger taggers[] = {
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

struct stage {
    const struct config *config;
    const struct ft_tagger *tagger;
    struct ft_model *model;
    struct ft_types types;
    int64_t english; /* number of the label en, or -1 */
    char *prefix;
    struct dolma_column column;
};

struct worker {
    const struct stage *stage;
    struct ft_tagging tagging;
};

static void stage_close(void *shared)
{
    struct stage *stage = shared;

    ft_types_free(&stage->types);
    free(stage->prefix);
    ft_model_destroy(stage->model);
    free(stage);
}

static sluice_status find_tagger(struct stage *stage, struct sluice_error *err)
{
    const char *name = stage->config->tagger;
    char message[300];

    for (size_t k = 0; k < sizeof taggers / sizeof taggers[0]; k++) {
        if (strcmp(taggers[k].name, name) == 0) {
            stage->tagger = &taggers[k];
            return dolma_name_prefix(stage->config->experiment, name, &stage->prefix, err);
        }
    }
    snprintf(message, sizeof message,
             "found '%.80s', which is no tagger of Dolma's that asks a fastText model for a "
             "document or paragraphs; `sluice inspect dolma_fasttext` lists them",
             name);
    return sluice_fail(err, SLUICE_E_CONFIG, "tagger", message);
}

/* Whether the model has the labels that the tagger looks for. */
static sluice_status check_labels(struct stage *stage, struct sluice_error *err)
{
    stage->english = fasttext_find(stage->model, "en");
    if (stage->tagger->scores == ENGLISH && stage->english < 0) {
        return fasttext_no_label(stage->model, "model", "en", err);
    }
    return stage->tagger->scores == TWO_LABELS && ft_model_labels(stage->model) != 2
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
        return dolma_nomem(err);
    }
    stage->config = config;
    status = find_tagger(stage, err);
    if (status == SLUICE_OK) {
        status = fasttext_load(api, host, stage->config->model, &stage->model, err);
    }
    if (status == SLUICE_OK) {
        status = ft_types_make(&stage->types, stage->tagger, stage->model, err);
    }
    if (status == SLUICE_OK) {
        status = check_labels(stage, err);
    }
    if (status != SLUICE_OK) {
        stage_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = plan->need(plan, 0, stage->config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = dolma_column_need(&stage->column, plan, stage->config->as, err);
    }
    if (status == SLUICE_OK) {
        status = ft_types_declare(&stage->types, stage->tagger, stage->prefix, &stage->column, err);
    }
    return dolma_column_add(&stage->column, plan, status, err);
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    ft_tagging_close(&worker->tagging);
    free(worker);
}

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct stage *stage = shared;
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return dolma_nomem(err);
    }
    worker->stage = stage;
    worker->tagging.tagger = stage->tagger;
    worker->tagging.model = stage->model;
    worker->tagging.types = &stage->types;
    worker->tagging.english = stage->english;
    status = ft_tagging_open(&worker->tagging, err);
    if (status != SLUICE_OK) {
        stage_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static sluice_status tag_row(void *ctx, const struct sluice_batch *batch, int64_t row,
                             struct dolma_out *out, struct sluice_error *err)
{
    struct worker *worker = ctx;
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    sluice_status status = ft_tag(&worker->tagging, text, n, err);

    dolma_out_tagger(out, worker->stage->prefix);
    return status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    return dolma_column_emit(&worker->stage->column, batch, emit, tag_row, worker,
                             &worker->tagging.out, err);
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
