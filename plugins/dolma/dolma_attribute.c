/* dolma_attribute - a number of each document, from any column, as an attribute beside those of the
 * taggers. */
#include <math.h>

#include "dolma.h"
#include "dolma_column.h"
#include "dolma_names.h"

struct config {
    const char *name;
    const char *score;
    const char *over;
    const char *as;
};

static const struct sluice_option options[] = {
    { .name = "name",
      .doc =
          "Name of the attribute, experiment__tagger__type by Dolma's custom: letters, digits, _.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, name) },
    { .name = "score",
      .doc = "float64 column of the score; a row where it is null has no span.",
      .def = "score",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, score) },
    { .name = "over",
      .doc = "Text column, whose whole length the span covers.",
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
    struct dolma_column column;
};

static void attribute_close(void *shared)
{
    free(shared);
}

static sluice_status attribute_open(const struct sluice_host_api *api, struct sluice_host *host,
                                    const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    char *name = strdup(((const struct config *)config)->name);
    sluice_status status = stage == NULL || name == NULL ? dolma_nomem(err) : SLUICE_OK;

    (void)api;
    (void)host;
    if (status == SLUICE_OK && (name[0] == '\0' || dolma_name_make(name) > 0)) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "name",
                             "expected letters, digits and _, such as \"web__quality__score\"");
    }
    free(name);
    if (status != SLUICE_OK) {
        free(stage);
        return status;
    }
    stage->config = config;
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status attribute_prepare(void *shared, struct sluice_plan *plan,
                                       struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct config *config = stage->config;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, config->score, "float64|float64?", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = dolma_column_need(&stage->column, plan, config->as, err);
    }
    if (status == SLUICE_OK) {
        status = dolma_column_declare(&stage->column, config->name, "", 0, "name", err);
    }
    return dolma_column_add(&stage->column, plan, status, err);
}

static sluice_status attribute_row(void *ctx, const struct sluice_batch *batch, int64_t row,
                                   struct dolma_out *out, struct sluice_error *err)
{
    const struct stage *stage = ctx;
    struct ArrowArray **columns = batch->array->children;
    double score = sluice_is_null(columns[1], row) ? NAN : sluice_float64(columns[1], row);
    size_t n;
    const char *text = sluice_text(columns[0], row, &n);

    (void)err;
    if (isfinite(score)) {
        dolma_out_span(out, "", 0, text_utf8_count(text, n), score);
    }
    dolma_out_tagger(out, stage->config->name);
    return SLUICE_OK;
}

static sluice_status attribute_process(void *state, const struct sluice_batch *batch,
                                       struct sluice_emit *emit, struct sluice_error *err)
{
    struct stage *stage = state;
    struct dolma_out out = { 0 };
    sluice_status status =
        dolma_column_emit(&stage->column, batch, emit, attribute_row, stage, &out, err);

    dolma_out_deinit(&out);
    return status;
}

const struct sluice_stage dolma_attribute_stage = {
    .size = sizeof dolma_attribute_stage,
    .name = "dolma_attribute",
    .version = "1.0",
    .summary = "A score of a column as an attribute in Dolma's form",
    .doc =
        "Adds {\"NAME\": [[0, length, score]]}: what one of Dolma's taggers of a model "
        "(ft_lang_id_en_doc_v2, jigsaw_*, quality) gives, from the score of `fasttext` or of any "
        "other stage.",
    .example =
        "scored | s.dolma_attribute { \"web__ft_lang_id_en_doc_v2__en\", score = \"english\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = attribute_open,
    .prepare = attribute_prepare,
    .process = attribute_process,
    .close = attribute_close,
};
