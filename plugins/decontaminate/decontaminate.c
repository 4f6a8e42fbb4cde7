/* decontaminate - texts that hold a piece of a benchmark. contamination: what a text shares with
 * the items of a reference, as a column, by one of three rules. contaminated: drops the rows of
 * which that column says so. The composite `decontaminate` of the standard library is both, so that
 * dropped rows carry the report. */
#include "decont.h"

#include <sluice_stage.h>
#include "sluice_simple.h"

#define TEXT(NAME, DOC, DEF)                                              \
    {                                                                     \
        .name = #NAME, .doc = DOC, .def = DEF, .type = SLUICE_OPT_STRING, \
        .offset = offsetof(struct decont_options, NAME)                   \
    }
#define COUNT(NAME, LEAST, DOC, DEF)                                                             \
    {                                                                                            \
        .name = #NAME, .doc = DOC, .def = DEF, .type = SLUICE_OPT_INT, .min = LEAST, .max = 1e9, \
        .offset = offsetof(struct decont_options, NAME)                                          \
    }
#define FLAG(NAME, DOC, DEF)                                            \
    {                                                                   \
        .name = #NAME, .doc = DOC, .def = DEF, .type = SLUICE_OPT_BOOL, \
        .offset = offsetof(struct decont_options, NAME)                 \
    }

static const struct sluice_option options[] = {
    { .name = "reference",
      .doc = "JSON lines of benchmark items (may be compressed).",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct decont_options, reference) },
    { .name = "rule",
      .doc = "datatrove: one n-gram drops a text; janitor: n-grams are cut out with what is around "
             "them; decon: overlap weighted by rareness.",
      .def = "datatrove",
      .choices = "datatrove|janitor|decon",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct decont_options, rule) },
    { .name = "over",
      .doc = "Column that holds the text; `janitor` replaces it by what is left.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct decont_options, over) },
    TEXT(question, "Field of the reference with the question.", "question"),
    TEXT(answer, "Field with the answer, or a list of answers.", "answer"),
    TEXT(passage, "Field with the passage that the question is about.", "passage"),
    TEXT(id, "Field that names an item; else its task and line do.", "id"),
    TEXT(task, "Field that names the benchmark.", "task"),
    COUNT(ngram, 0, "Words of an n-gram; 0: the rule's own (12, 13, 5).", "0"),
    FLAG(query_ngrams, "datatrove: n-grams of the question alone count.", "false"),
    FLAG(overlap_ngrams, "datatrove: n-grams across question and answer count.", "true"),
    COUNT(window, 0, "janitor: characters cut on either side of a hit.", "200"),
    COUNT(min_piece, 0, "janitor: a piece of so many characters or fewer is dropped.", "200"),
    COUNT(max_hits, 0, "janitor: a text of more hits is dropped.", "10"),
    TEXT(join, "janitor: what stands between the pieces that are left.", "\n\n"),
    FLAG(peer, "janitor: also drop short texts without a hit, as the peer does.", "false"),
    COUNT(sample, 1, "decon: look at every n-th n-gram for a first hit, n this number.", "10"),
    COUNT(misses, 1, "decon: give up after so many n-grams without a new hit.", "11"),
    { .name = "threshold",
      .doc = "decon: least weighted overlap of an item of decay_end words or more.",
      .def = "0.8",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct decont_options, threshold) },
    COUNT(decay_begin, 0, "decon: items of so many words or fewer must match whole.", "20"),
    COUNT(decay_end, 1, "decon: items of so many words or more must match by threshold.", "50"),
    COUNT(min_tokens, 0, "decon: items of fewer words are left out.", "20"),
    COUNT(min_unique, 0, "decon: items of fewer different words are left out.", "4"),
};

struct shared {
    struct decont_options options;
    struct decont_index index;
};

static void stage_close(void *state)
{
    struct shared *shared = state;

    decont_reference_deinit(&shared->index.reference);
    grams_deinit(&shared->index.grams);
    decont_overlap_destroy(shared->index.overlap);
    free(shared);
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **out, struct sluice_error *err)
{
    static const size_t ngrams[] = { 12, 13, 5 };
    struct shared *shared = calloc(1, sizeof *shared);
    const void *data;
    uint64_t size;
    sluice_status status;

    if (shared == NULL) {
        return sluice_nomem(err);
    }
    shared->options = *(const struct decont_options *)given;
    shared->index.options = &shared->options;
    shared->index.ngram =
        shared->options.ngram > 0 ? (size_t)shared->options.ngram : ngrams[shared->options.rule];
    if (shared->options.join == NULL) {
        shared->options.join = "";
    }
    status = shared->options.decay_begin >= shared->options.decay_end
                 ? sluice_fail(err, SLUICE_E_CONFIG, "decay_begin",
                               "decay_begin must be less than decay_end")
                 : api->read_file(host, shared->options.reference, &data, &size, err);
    if (status == SLUICE_OK) {
        status = decont_reference_read(&shared->options, data, (size_t)size,
                                       &shared->index.reference, err);
    }
    if (status == SLUICE_OK) {
        status = shared->options.rule == RULE_DATATROVE
                     ? decont_index_datatrove(&shared->index, err)
                 : shared->options.rule == RULE_JANITOR ? decont_index_janitor(&shared->index, err)
                                                        : decont_index_overlap(&shared->index, err);
    }
    if (status != SLUICE_OK) {
        stage_close(shared);
        return status;
    }
    *out = shared;
    return SLUICE_OK;
}

static sluice_status stage_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct shared *shared = state;
    const char *over = shared->options.over;
    sluice_status status = plan->need(plan, 0, over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->add(plan, "contamination", "json?", NULL, err);
    }
    return status == SLUICE_OK && shared->options.rule == RULE_JANITOR
               ? plan->add(plan, over, "utf8", NULL, err)
               : status;
}

struct worker {
    const struct shared *shared;
    struct decont_worker memory;
};

static sluice_status stage_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void stage_worker_close(void *state)
{
    struct worker *worker = state;

    decont_worker_deinit(&worker->memory);
    free(worker);
}

/* A batch's columns in the making. */
struct out {
    struct sluice_bytes offsets[2], data[2], valid;
    int64_t nulls;
};

static sluice_status add_report(const struct shared *shared, struct out *out, int64_t k,
                                struct finding *finding, struct sluice_error *err)
{
    char *text = NULL;
    int ok;

    if (finding->report == NULL && finding->drop) { /* the peer's short texts */
        finding->report = json_pack("{s:s, s:n, s:n}", "rule", "janitor", "item", "task");
    }
    if (finding->report != NULL) {
        ok = json_object_set_new(finding->report, "drop", json_boolean(finding->drop)) == 0 &&
             json_object_set_new(finding->report, "value", json_real(finding->value)) == 0 &&
             json_object_set_new(finding->report, "limit", json_real(finding->limit)) == 0;
        text = ok ? json_dumps(finding->report, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
        if (text == NULL) {
            return sluice_nomem(err);
        }
    }
    (void)shared;
    out->nulls += text == NULL;
    ok = sluice_bytes_add_bit(&out->valid, k, text != NULL) &&
         sluice_bytes_add_text(&out->offsets[0], &out->data[0], text == NULL ? "" : text,
                               text == NULL ? 0 : strlen(text));
    free(text);
    return ok ? SLUICE_OK : sluice_nomem(err);
}

static sluice_status judge_row(struct worker *worker, const char *text, size_t n, int64_t k,
                               struct out *out, struct sluice_error *err)
{
    const struct shared *shared = worker->shared;
    struct finding finding = { 0 };
    sluice_status status =
        shared->options.rule == RULE_DATATROVE
            ? decont_judge_datatrove(&shared->index, &worker->memory, text, n, &finding, err)
        : shared->options.rule == RULE_JANITOR
            ? decont_judge_janitor(&shared->index, &worker->memory, text, n, &finding, err)
            : decont_judge_overlap(&shared->index, &worker->memory, text, n, &finding, err);

    if (status == SLUICE_OK) {
        status = add_report(shared, out, k, &finding, err);
    }
    /* A text that is dropped stays as it came. */
    if (status == SLUICE_OK && shared->options.rule == RULE_JANITOR &&
        !sluice_bytes_add_text(&out->offsets[1], &out->data[1],
                               finding.edited && !finding.drop ? worker->memory.kept.data : text,
                               finding.edited && !finding.drop ? worker->memory.kept.len : n)) {
        status = sluice_nomem(err);
    }
    json_decref(finding.report);
    return status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    int n_columns = worker->shared->options.rule == RULE_JANITOR ? 2 : 1;
    struct out out = { 0 };
    struct ArrowArray columns[2] = { 0 };
    struct ArrowArray array;
    sluice_status status = SLUICE_OK;

    if (batch->n == 0) {
        return SLUICE_OK;
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *text = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        status = judge_row(worker, text, n, k, &out, err);
    }
    if (status == SLUICE_OK) {
        int ok = sluice_make_text(&columns[0], batch->n, &out.offsets[0], &out.data[0], &out.valid,
                                  out.nulls) == SLUICE_OK &&
                 (n_columns == 1 || sluice_make_text(&columns[1], batch->n, &out.offsets[1],
                                                     &out.data[1], NULL, 0) == SLUICE_OK) &&
                 sluice_make_struct(&array, batch->n, n_columns, columns) == SLUICE_OK;
        status = ok ? emit->batch(emit, &array) : sluice_nomem(err);
    }
    for (int i = 0; i < 2; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
        sluice_bytes_free(&out.offsets[i]);
        sluice_bytes_free(&out.data[i]);
    }
    sluice_bytes_free(&out.valid);
    return status;
}

static const struct sluice_stage contamination_stage = {
    .size = sizeof contamination_stage,
    .name = "contamination",
    .version = "1.1",
    .summary = "What a text shares with benchmark items: a report as the column `contamination`",
    .doc =
        "The column is null for clean texts, else a JSON object: rule, item, task, the n-grams "
        "or overlaps that were found, `drop`, `value` and `limit`. `decontaminate` also drops.\n\n"
        "- `datatrove` (Penedo et al., datatrove 0.10, pipeline/decont/n_grams.py): 12-grams of "
        "spaCy's words of the simplified text; n-grams of answers, across question and answer, "
        "and if asked of questions. Several tasks with one n-gram: the last in order of names "
        "is named, as the peer does.\n"
        "- `janitor` (lm-evaluation-harness, decontamination/janitor.py; Brown et al. 2020, "
        "appendix C): 13-grams of question, answer and passage. Words of nothing but "
        "punctuation keep a text's n-gram from matching, as in the peer.\n"
        "- `decon` (allenai/decon; Olmo 3): 5-grams of the question weighted by rareness, then "
        "the answer behind and the passage before it; .7/.2/.1 (.75/.25, .85/.15). Units are "
        "words of the cleaned text, not cl100k's tokens.\n\n"
        "n-grams are compared byte by byte, never by hash alone.",
    .example = "docs | s.contamination { \"gsm8k.jsonl\", rule = \"janitor\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct decont_options),
    .bytes_shared = 64 << 20,
    .bytes_worker = 8 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = stage_worker_open,
    .process = stage_process,
    .worker_close = stage_worker_close,
    .close = stage_close,
};

/* ---- contaminated ---- */

static sluice_status drop_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    (void)shared;
    return plan->need(plan, 0, "contamination", "json?", 0, NULL, err);
}

/* The verdict of a report; *item gets a reference that keeps dup_of alive. */
static sluice_status read_report(const char *text, size_t n, struct sluice_verdict *verdict,
                                 json_t **item, struct sluice_error *err)
{
    json_error_t problem;
    json_t *report = json_loadb(text, n, JSON_ALLOW_NUL, &problem);
    const json_t *id = json_object_get(report, "item");
    const json_t *drop = json_object_get(report, "drop");

    if (!json_is_boolean(drop)) {
        json_decref(report);
        return sluice_fail(err, SLUICE_E_DATA, "contamination",
                           "a value is no report of the stage `contamination`: it has no `drop`");
    }
    verdict->value = json_number_value(json_object_get(report, "value"));
    verdict->limit = json_number_value(json_object_get(report, "limit"));
    if (json_is_true(drop)) {
        const json_t *rule = json_object_get(report, "rule");
        bool janitor = json_is_string(rule) && strcmp(json_string_value(rule), "janitor") == 0;
        verdict->reason = !janitor ? 1 : verdict->value > verdict->limit ? 2 : 3;
        if (json_is_string(id) && json_string_length(id) <= INT32_MAX) {
            verdict->dup_of = json_string_value(id);
            verdict->dup_of_length = (int32_t)json_string_length(id);
            verdict->similarity = janitor ? 1 : verdict->value > 1 ? 1 : verdict->value;
        }
    }
    *item = report;
    return SLUICE_OK;
}

static sluice_status drop_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    json_t **reports = calloc((size_t)batch->n + 1, sizeof(json_t *));
    sluice_status status = verdicts == NULL || reports == NULL ? sluice_nomem(err) : SLUICE_OK;

    (void)worker;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const char *text = sluice_text(batch->array->children[0], row, &n);
        if (!sluice_is_null(batch->array->children[0], row)) {
            status = read_report(text, n, &verdicts[k], &reports[k], err);
        }
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    for (int64_t k = 0; reports != NULL && k < batch->n; k++) {
        json_decref(reports[k]);
    }
    free(reports);
    free(verdicts);
    return status;
}

static const struct sluice_stage contaminated_stage = {
    .size = sizeof contaminated_stage,
    .name = "contaminated",
    .version = "1.0",
    .summary = "Drops the rows that `contamination` found contaminated",
    .doc =
        "`contaminated`: the rules datatrove and decon. `too_many_hits`, `nothing_left`: janitor. "
        "A dropped row names the item in dup_of.",
    .example = "docs | s.contamination { \"gsm8k.jsonl\" } | s.contaminated {}",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .reasons = "contaminated|too_many_hits|nothing_left",
    .bytes_worker = 1 << 20,
    .prepare = drop_prepare,
    .process = drop_process,
};

SLUICE_PLUGIN("decontaminate", "1.0", "MIT", &contamination_stage, &contaminated_stage);
