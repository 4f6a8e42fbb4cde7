/* dolma_tag - Dolma's rule-based taggers, many of them in one pass, as a JSON column of
 * attributes. */
#include <stdio.h>

#include "dolma.h"
#include "dolma_column.h"
#include "dolma_names.h"

struct config {
    struct sluice_list taggers;
    const char *experiment;
    const char *bad_words;
    const char *tokenizer;
    const char *over;
    const char *as;
    uint8_t no_bad_words;
};

static const struct sluice_option options[] = {
    { .name = "taggers",
      .doc = "Names of Dolma's registry: gopher_v1, gopher_v2, c4_v1, c4_v2, repetitions_v1, "
             "paragraph_repetitions_v1, pii_regex_v1, pii_regex_v2, pii_regex_with_counts_v2, "
             "pii_regex_with_counts_fast_v2, bytes_length_v1, doc_count_v1, char_length_v1, "
             "char_length_strip_ws_v1, char_length_with_paragraphs_v1, whitespace_tokenizer_v1, "
             "whitespace_tokenizer_with_paragraphs_v1, uniseg_length_v1, "
             "uniseg_length_paragraphs_v1, uniseg_length_paragraphs_with_empty_v1, "
             "uniseg_length_paragraphs_with_doc_length_v1, random_number_v1, "
             "code_redpajama_taggers_v1, code_copyright_comments_v1, not_alphanum_paragraph_v1; "
             "with `tokenizer` also tokenizer_repetitions_v1, paragraph_tokenizer_repetitions_v1, "
             "tokenizer_repetitions_v2r2, dolma_v1_tokenizer, dolma_v2_tokenizer, "
             "tokenizers_EleutherAI_GPT_NeoX_20B, tokenizers_AI2_OLMo_v1.",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, taggers) },
    { .name = "experiment",
      .doc = "First part of the attributes' names; none: the tagger's name, as in Dolma.",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, experiment) },
    { .name = "bad_words",
      .doc =
          "File of words and phrases, one a line, for has_naughty_word of the C4 taggers (Dolma's "
          "data/naughty_words_en.txt, which is LDNOOBW's English list, CC-BY-4.0).",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct config, bad_words) },
    { .name = "tokenizer",
      .doc = "Vocabulary of the taggers that count tokens, such as the tokenizer.json of "
             "allenai/dolma2-tokenizer: one for all taggers of a stage.",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct config, tokenizer) },
    { .name = "no_bad_words",
      .doc = "The C4 taggers go without a list, and never say has_naughty_word.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, no_bad_words) },
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
    const struct dolma_tagger **taggers; /* n of them */
    char **prefixes;                     /* "experiment__tagger__" of each */
    size_t n;
    struct dolma_phrases *phrases;
    struct dolma_tokenizer *tokenizer;
    uint64_t seed;
    struct dolma_column column;
};

struct worker {
    const struct stage *stage;
    struct dolma_work work;
};

static const struct dolma_tagger *find_tagger(const char *name)
{
    static const struct dolma_tagger *const families[] = {
        dolma_gopher_taggers, dolma_c4_taggers,   dolma_repetition_taggers, dolma_pii_taggers,
        dolma_length_taggers, dolma_code_taggers, dolma_token_taggers
    };

    for (size_t k = 0; k < sizeof families / sizeof families[0]; k++) {
        for (const struct dolma_tagger *tagger = families[k]; tagger->name != NULL; tagger++) {
            if (strcmp(tagger->name, name) == 0) {
                return tagger;
            }
        }
    }
    return NULL;
}

static void tag_close(void *shared)
{
    struct stage *stage = shared;

    for (size_t k = 0; k < stage->n; k++) {
        free(stage->prefixes[k]);
    }
    free(stage->prefixes);
    free(stage->taggers);
    dolma_phrases_destroy(stage->phrases);
    dolma_tokenizer_destroy(stage->tokenizer);
    free(stage);
}

static sluice_status add_taggers(struct stage *stage, uint32_t *needs, struct sluice_error *err)
{
    const struct sluice_list *list = &stage->config->taggers;
    sluice_status status = SLUICE_OK;

    if (list->n == 0) {
        return sluice_fail(err, SLUICE_E_CONFIG, "taggers",
                           "found none, expected names of taggers such as \"gopher_v2\"");
    }
    stage->taggers = calloc(list->n, sizeof(const struct dolma_tagger *));
    stage->prefixes = calloc(list->n, sizeof *stage->prefixes);
    if (stage->taggers == NULL || stage->prefixes == NULL) {
        return dolma_nomem(err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < list->n; k++) {
        const char *name = list->items[k];
        const struct dolma_tagger *tagger = find_tagger(name);
        char message[400];
        if (tagger == NULL) {
            snprintf(message, sizeof message,
                     "found '%.80s', which is no rule-based tagger of Dolma; `sluice inspect "
                     "dolma_tag` lists them. Those of fastText models are dolma_fasttext's",
                     name);
            return sluice_fail(err, SLUICE_E_CONFIG, "taggers", message);
        }
        for (size_t i = 0; i < stage->n; i++) {
            if (stage->taggers[i] == tagger) {
                snprintf(message, sizeof message, "found '%.80s' twice", name);
                return sluice_fail(err, SLUICE_E_CONFIG, "taggers", message);
            }
        }
        stage->taggers[stage->n] = tagger;
        status =
            dolma_name_prefix(stage->config->experiment, name, &stage->prefixes[stage->n++], err);
        *needs |= tagger->flags;
    }
    return status;
}

static sluice_status read_tokenizer(const struct sluice_host_api *api, struct sluice_host *host,
                                    struct stage *stage, struct sluice_error *err)
{
    const void *data = NULL;
    uint64_t n = 0;
    sluice_status status;

    if (stage->config->tokenizer == NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "tokenizer",
                           "these taggers count tokens: expected tokenizer = a tokenizer.json, "
                           ".tiktoken or .model file");
    }
    status = api->read_file(host, stage->config->tokenizer, &data, &n, err);
    return status == SLUICE_OK ? dolma_tokenizer_create(data, (size_t)n, &stage->tokenizer, err)
                               : status;
}

static sluice_status tag_open(const struct sluice_host_api *api, struct sluice_host *host,
                              const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    uint32_t needs = 0;
    sluice_status status;

    if (stage == NULL) {
        return dolma_nomem(err);
    }
    stage->config = config;
    stage->seed = api->seed(host, 1);
    status = add_taggers(stage, &needs, err);
    if (status == SLUICE_OK && (needs & DOLMA_NEEDS_TOKENIZER) != 0) {
        status = read_tokenizer(api, host, stage, err);
    }
    if (status == SLUICE_OK && (needs & DOLMA_NEEDS_WORD_LIST) != 0) {
        const void *list = NULL;
        uint64_t n = 0;
        if (stage->config->bad_words != NULL) {
            status = api->read_file(host, stage->config->bad_words, &list, &n, err);
        } else if (stage->config->no_bad_words == 0) {
            status =
                sluice_fail(err, SLUICE_E_CONFIG, "bad_words",
                            "the C4 taggers look for bad words: expected bad_words = a file of "
                            "them, or no_bad_words = true");
        }
        if (status == SLUICE_OK) {
            status = dolma_phrases_create(list, n, &stage->phrases, err);
        }
    }
    if (status != SLUICE_OK) {
        tag_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

/* All that the taggers may give. */
static sluice_status declare(struct stage *stage, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; k < stage->n; k++) {
        const char *at = stage->taggers[k]->types;
        const char *type;
        size_t n;
        while (status == SLUICE_OK && dolma_name_next(&at, &type, &n)) {
            status = dolma_column_declare(&stage->column, stage->prefixes[k], type, n, "experiment",
                                          err);
        }
    }
    return status;
}

static sluice_status tag_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct config *config = stage->config;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need_derived(plan, 0, "words", "rule=whitespace", config->over, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8?", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = dolma_column_need(&stage->column, plan, config->as, err);
    }
    if (status == SLUICE_OK) {
        status = declare(stage, err);
    }
    return dolma_column_add(&stage->column, plan, status, err);
}

static sluice_status tag_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return dolma_nomem(err);
    }
    worker->stage = shared;
    worker->work.phrases = worker->stage->phrases;
    worker->work.seed = worker->stage->seed;
    if (worker->stage->tokenizer != NULL) {
        sluice_status status =
            dolma_tokens_open(&worker->work.tokens, worker->stage->tokenizer, err);
        if (status != SLUICE_OK) {
            free(worker);
            return status;
        }
    }
    *out = worker;
    return SLUICE_OK;
}

static void tag_worker_close(void *state)
{
    struct worker *worker = state;
    struct dolma_work *work = &worker->work;

    dolma_doc_deinit(&work->doc);
    dolma_out_deinit(&work->out);
    dolma_gopher_deinit(&work->gopher);
    dolma_repeat_deinit(&work->repeat);
    dolma_pii_deinit(&work->pii);
    dolma_tokens_deinit(&work->tokens);
    text_spans_deinit(&work->scratch);
    text_spans_deinit(&work->other);
    free(worker);
}

static sluice_status tag_row(void *ctx, const struct sluice_batch *batch, int64_t row,
                             struct dolma_out *out, struct sluice_error *err)
{
    struct worker *worker = ctx;
    const struct stage *stage = worker->stage;
    struct dolma_work *work = &worker->work;
    struct ArrowArray **columns = batch->array->children;
    size_t n;
    size_t id_n;
    size_t n_words;
    const char *text = sluice_text(columns[0], row, &n);
    const char *id = sluice_text(columns[2], row, &id_n);
    const struct text_span *words =
        (const struct text_span *)(const void *)sluice_list_u64(columns[1], row, &n_words);
    sluice_status status = dolma_doc_set(&work->doc, text, n, words, n_words, id, id_n, err);

    work->has_phrases = work->gopher.done = false;
    for (size_t k = 0; status == SLUICE_OK && k < stage->n; k++) {
        status = stage->taggers[k]->tag(work, err);
        dolma_out_tagger(out, stage->prefixes[k]);
    }
    return status;
}

static sluice_status tag_process(void *state, const struct sluice_batch *batch,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    return dolma_column_emit(&worker->stage->column, batch, emit, tag_row, worker,
                             &worker->work.out, err);
}

const struct sluice_stage dolma_tag_stage = {
    .size = sizeof dolma_tag_stage,
    .name = "dolma_tag",
    .version = "1.0",
    .bytes_per_batch = 9,
    .summary = "Dolma's rule-based taggers: spans and scores of a document as attributes",
    .doc =
        "Gives a JSON column {\"experiment__tagger__type\": [[start, end, score], ...], ...} with "
        "the "
        "names, offsets (characters), order and rounding (five digits) of Dolma 1.2.1, whose "
        "taggers "
        "(python/dolma/taggers) these are. `write_attributes` writes it as Dolma's attribute "
        "files, "
        "`dolma_mix` filters and edits by it.\n\n"
        "Kept as they are there: gopher counts all copies of a repeated line or n-gram, and "
        "n-grams "
        "are compared without what joins them; a PII share (doc_frac) counts the whole text in; "
        "c4_v2 counts U+0130 as two characters. Other than there: random_number_v1 depends on the "
        "document's id and the pipeline's seed, not on the process; pii_regex_v1 and "
        "pii_regex_with_counts_v2 give the score -1 for a text without words, at which Dolma "
        "ends.\n\n"
        "The taggers of tokens take the tokenizer that is given, where Dolma's have theirs from a "
        "server; special tokens in a text are those tokens. Where the tokenizer's normalization "
        "changes a text that has repetitions, no token has a place and the row is refused; and "
        "tokens have their places where tokenizers gives empty ones (single characters behind "
        "several Splits).\n\n"
        "Taggers of fastText models (ft_lang_id*, jigsaw_*, quality, code_composition) are the "
        "stage `dolma_fasttext`'s; URL lists `url_filter`'s. Not here: code_secrets_v1 (rules, "
        "entropies and filters of the package detect-secrets), code_starcoder_taggers_* (Python's "
        "own parser, the lexers of Pygments, BeautifulSoup), cc_re* (rules for HTML beside the "
        "text), olmo_pretokenizer_* (pieces that no tokenizer file names), pii_presidio_v1, "
        "cld2_*, "
        "cld3_*, langdetect_*, lingua_* (other packages' models).",
    .example = "docs | s.dolma_tag { { \"gopher_v2\", \"pii_regex_with_counts_fast_v2\" } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = tag_open,
    .prepare = tag_prepare,
    .worker_open = tag_worker_open,
    .process = tag_process,
    .worker_close = tag_worker_close,
    .close = tag_close,
};
