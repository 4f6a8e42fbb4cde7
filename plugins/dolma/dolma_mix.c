/* dolma_mix - filters documents by rules over their attributes, and replaces spans of their text, as Dolma's mixer does. */
#include <math.h>
#include <stdio.h>

#include "dolma.h"
#include "dolma_names.h"
#include "jsonpath.h"
#include "span_edit.h"
#include "text/text_buffer.h"

struct config {
    struct sluice_list include, exclude, replace, known;
    int64_t min_text_length;
    int32_t syntax;
    uint8_t unchecked;
};

enum { SYNTAX_JSONPATH, SYNTAX_JQ };
enum { REASON_KEEP, REASON_NOT_INCLUDED, REASON_EXCLUDED, REASON_TOO_SHORT };

static const struct sluice_option options[] = {
    { .name = "include",
      .doc = "Rules of which one must match for a document to stay; none: all stay.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, include) },
    { .name = "exclude",
      .doc = "Rules of which none may match.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, exclude) },
    { .name = "replace",
      .doc =
          "Spans to replace, each a JSON object as in Dolma's span_replacement: {\"span\": path, "
          "\"min_score\": number, \"max_score\": number, \"replacement\": text, \"syntax\": "
          "\"jsonpath\" or \"jq\"}; {} in the replacement stands for the old text.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, replace) },
    { .name = "min_text_length",
      .doc = "Fewest bytes of the text without white space around it, after replacing.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct config, min_text_length) },
    { .name = "syntax",
      .doc = "Of include and exclude; of jq paths alone are known.",
      .def = "jsonpath",
      .choices = "jsonpath|jq",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, syntax) },
    { .name = "attributes",
      .doc = "Names of attributes that documents may have, beside those that dolma_tag declares.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, known) },
    { .name = "unchecked",
      .doc = "Rules may name attributes of which nothing says that they exist.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, unchecked) },
};

struct replacement {
    struct jsonpath *path;
    double min, max;
    char *text;
};

struct stage {
    struct config config;
    struct jsonpath **include, **exclude;
    struct replacement *replace;
    size_t n_replace;
    int32_t metadata, attributes; /* children, or -1 */
    bool whole;                   /* a rule looks at more than the attributes */
};

struct worker {
    const struct stage *stage;
    struct jsonpath_result result;
    struct span_edit *edits;
    size_t n_edits, capacity;
    struct text_buffer text;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for mixing");
}

static void mix_close(void *shared)
{
    struct stage *stage = shared;

    for (uint64_t k = 0; stage->include != NULL && k < stage->config.include.n; k++) {
        jsonpath_destroy(stage->include[k]);
    }
    for (uint64_t k = 0; stage->exclude != NULL && k < stage->config.exclude.n; k++) {
        jsonpath_destroy(stage->exclude[k]);
    }
    for (size_t k = 0; k < stage->n_replace; k++) {
        jsonpath_destroy(stage->replace[k].path);
        free(stage->replace[k].text);
    }
    free(stage->include);
    free(stage->exclude);
    free(stage->replace);
    free(stage);
}

static sluice_status set_field(struct sluice_error *err, const char *field, sluice_status status)
{
    if (status != SLUICE_OK && err != NULL) {
        snprintf(err->field, sizeof err->field, "%s", field);
    }
    return status;
}

static sluice_status compile_rules(const struct sluice_list *list, bool jq, const char *field,
                                   struct jsonpath ***out, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    *out = calloc(list->n + 1, sizeof **out);
    if (*out == NULL) {
        return nomem(err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < list->n; k++) {
        status = jsonpath_compile(list->items[k], jq, &(*out)[k], err);
    }
    return set_field(err, field, status);
}

static sluice_status bad_replacement(struct sluice_error *err, const char *json, const char *what)
{
    char message[700];

    snprintf(message, sizeof message, "'%.300s': %.300s", json, what);
    return sluice_fail(err, SLUICE_E_CONFIG, "replace", message);
}

static sluice_status parse_replacement(const char *json, struct replacement *out,
                                       struct sluice_error *err)
{
    json_error_t where;
    json_t *object = json_loads(json, JSON_REJECT_DUPLICATES, &where);
    const char *path = NULL;
    const char *syntax = "jsonpath";
    const char *text = NULL;
    double min = NAN;
    double max = INFINITY;
    const char *key;
    json_t *value;
    const char *problem = NULL;
    sluice_status status;

    if (object == NULL || !json_is_object(object)) {
        json_decref(object);
        return bad_replacement(err, json,
                               "expected a JSON object such as {\"span\": \"$.attributes.x\", "
                               "\"min_score\": 0.5, \"replacement\": \"\"}");
    }
    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "span") == 0 && json_is_string(value)) {
            path = json_string_value(value);
        } else if (strcmp(key, "replacement") == 0 && json_is_string(value)) {
            text = json_string_value(value);
        } else if (strcmp(key, "syntax") == 0 && json_is_string(value)) {
            syntax = json_string_value(value);
        } else if (strcmp(key, "min_score") == 0 && json_is_number(value)) {
            min = json_number_value(value);
        } else if (strcmp(key, "max_score") == 0 && json_is_number(value)) {
            max = json_number_value(value);
        } else {
            problem = "expected the members span, replacement, syntax (texts), min_score and "
                      "max_score (numbers), and no others";
        }
    }
    if (problem == NULL && (path == NULL || text == NULL)) {
        problem = "expected a span and a replacement";
    }
    if (problem == NULL && strcmp(syntax, "jsonpath") != 0 && strcmp(syntax, "jq") != 0) {
        problem = "expected the syntax jsonpath or jq";
    }
    if (problem != NULL) {
        json_decref(object);
        return bad_replacement(err, json, problem);
    }
    out->min = isnan(min) ? -INFINITY : min;
    out->max = max;
    out->text = strdup(text);
    status = out->text == NULL
                 ? nomem(err)
                 : set_field(err, "replace",
                             jsonpath_compile(path, strcmp(syntax, "jq") == 0, &out->path, err));
    json_decref(object);
    return status;
}

static sluice_status mix_open(const struct sluice_host_api *api, struct sluice_host *host,
                              const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    bool jq;
    sluice_status status;

    (void)api;
    (void)host;
    if (stage == NULL) {
        return nomem(err);
    }
    stage->config = *(const struct config *)config;
    jq = stage->config.syntax == SYNTAX_JQ;
    status = compile_rules(&stage->config.include, jq, "include", &stage->include, err);
    if (status == SLUICE_OK) {
        status = compile_rules(&stage->config.exclude, jq, "exclude", &stage->exclude, err);
    }
    stage->replace = calloc(stage->config.replace.n + 1, sizeof *stage->replace);
    if (status == SLUICE_OK && stage->replace == NULL) {
        status = nomem(err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config.replace.n; k++) {
        stage->n_replace++;
        status = parse_replacement(stage->config.replace.items[k], &stage->replace[k], err);
    }
    if (status == SLUICE_OK && stage->config.include.n + stage->config.exclude.n +
                                       stage->config.replace.n +
                                       (uint64_t)stage->config.min_text_length ==
                                   0) {
        status =
            sluice_fail(err, SLUICE_E_CONFIG, "exclude",
                        "found no rule, expected include, exclude, replace or min_text_length");
    }
    if (status != SLUICE_OK) {
        mix_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

/* ---- names of attributes ---- */

static bool listed(const struct sluice_list *list, const char *name)
{
    for (uint64_t k = 0; k < list->n; k++) {
        if (strcmp(list->items[k], name) == 0) {
            return true;
        }
    }
    return false;
}

/* A rule that names what no document has would never fire: it is refused. declared: NULL = the column says nothing. */
static sluice_status check_names(const struct stage *stage, const struct jsonpath *path,
                                 const char *field, const char *declared, struct sluice_error *err)
{
    const char *name;

    for (size_t k = 0; (name = jsonpath_name(path, "attributes", k)) != NULL; k++) {
        char message[800];
        size_t n = 0;
        const char *near;
        if (listed(&stage->config.known, name) ||
            (declared != NULL && dolma_name_in(declared, name, strlen(name)))) {
            continue;
        }
        near = declared == NULL ? NULL : dolma_name_near(declared, name, strlen(name), &n);
        if (near != NULL) {
            snprintf(
                message, sizeof message,
                "no document has the attribute '%.200s', so that the rule would never fire; did "
                "you mean '%.*s'?",
                name, (int)(n < 300 ? n : 300), near);
        } else if (declared != NULL) {
            snprintf(
                message, sizeof message,
                "no document has the attribute '%.200s', so that the rule would never fire; see "
                "the taggers of dolma_tag, or name it in `attributes`",
                name);
        } else {
            snprintf(message, sizeof message,
                     "nothing says that documents have the attribute '%.200s'; expected it in "
                     "`attributes`, or unchecked = true",
                     name);
        }
        return sluice_fail(err, SLUICE_E_CONFIG, field, message);
    }
    return SLUICE_OK;
}

static sluice_status check_all(const struct stage *stage, const char *declared,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config.include.n; k++) {
        status = check_names(stage, stage->include[k], "include", declared, err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config.exclude.n; k++) {
        status = check_names(stage, stage->exclude[k], "exclude", declared, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < stage->n_replace; k++) {
        status = check_names(stage, stage->replace[k].path, "replace", declared, err);
    }
    return status;
}

static bool needs_whole(const struct stage *stage)
{
    bool whole = stage->attributes < 0;

    for (uint64_t k = 0; k < stage->config.include.n; k++) {
        whole = whole || !jsonpath_only(stage->include[k], "attributes");
    }
    for (uint64_t k = 0; k < stage->config.exclude.n; k++) {
        whole = whole || !jsonpath_only(stage->exclude[k], "attributes");
    }
    for (size_t k = 0; k < stage->n_replace; k++) {
        whole = whole || !jsonpath_only(stage->replace[k].path, "attributes");
    }
    return whole;
}

static sluice_status mix_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const char *declared = NULL;
    sluice_status status = plan->need(plan, 0, "text", "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8?", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "attributes", "json|json?", 1, &stage->attributes, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "metadata", "json|json?", 1, &stage->metadata, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (stage->attributes >= 0) {
        declared = plan->metadata(plan, 0, stage->attributes, DOLMA_NAMES_KEY);
    }
    stage->whole = needs_whole(stage);
    if (stage->config.unchecked == 0) {
        status = check_all(stage, declared, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "text", "utf8?", NULL, err) : status;
}

/* ---- rows ---- */

static sluice_status mix_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return nomem(err);
    }
    worker->stage = shared;
    *out = worker;
    return SLUICE_OK;
}

static void mix_worker_close(void *state)
{
    struct worker *worker = state;

    jsonpath_result_deinit(&worker->result);
    text_buffer_deinit(&worker->text);
    free(worker->edits);
    free(worker);
}

static sluice_status bad_row(struct sluice_error *err, int64_t row, const char *what)
{
    sluice_status status = sluice_fail(err, SLUICE_E_DATA, "attributes", what);

    if (err != NULL) {
        err->row = row;
    }
    return status;
}

/* A member's JSON as an object of its own; NULL in *out when there is none. */
static sluice_status load(const struct ArrowArray *column, int64_t row, json_t **out,
                          struct sluice_error *err)
{
    size_t n;
    const char *text = sluice_text(column, row, &n);
    json_error_t where;

    *out = NULL;
    if (n == 0 || (n == 4 && memcmp(text, "null", 4) == 0)) {
        return SLUICE_OK;
    }
    *out = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);
    if (*out == NULL || !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return bad_row(err, row, "found attributes or metadata that are no JSON object");
    }
    return SLUICE_OK;
}

/* What the mixer calls the document: its members, and the attributes merged. */
static sluice_status build(const struct stage *stage, const struct sluice_batch *batch, int64_t row,
                           json_t **out, struct sluice_error *err)
{
    json_t *root = NULL;
    json_t *attributes = NULL;
    sluice_status status = SLUICE_OK;
    int failed = 0;

    if (stage->whole && stage->metadata >= 0) {
        status = load(batch->array->children[stage->metadata], row, &root, err);
    }
    if (status == SLUICE_OK && stage->attributes >= 0) {
        status = load(batch->array->children[stage->attributes], row, &attributes, err);
    }
    if (status != SLUICE_OK) {
        json_decref(root);
        return status;
    }
    root = root != NULL ? root : json_object();
    if (stage->whole) {
        size_t n;
        const char *id = sluice_text(batch->array->children[1], row, &n);
        failed = json_object_set_new(root, "id", json_stringn(id, n));
        id = sluice_text(batch->array->children[0], row, &n);
        failed = failed != 0 || json_object_set_new(root, "text", json_stringn(id, n)) != 0;
    }
    if (attributes != NULL) {
        json_t *own = json_object_get(root, "attributes");
        failed = failed != 0 ||
                 (json_is_object(own) ? json_object_update(own, attributes)
                                      : json_object_set(root, "attributes", attributes)) != 0;
        json_decref(attributes);
    }
    if (root == NULL || failed != 0) {
        json_decref(root);
        return nomem(err);
    }
    *out = root;
    return SLUICE_OK;
}

static sluice_status add_edit(struct worker *worker, json_t *span, const struct replacement *rule,
                              int64_t row, struct sluice_error *err)
{
    json_t *start = json_array_get(span, 0);
    json_t *end = json_array_get(span, 1);
    json_t *score = json_array_get(span, 2);

    if (!json_is_integer(start) || !json_is_integer(end) || !json_is_number(score) ||
        json_integer_value(start) < 0 || json_integer_value(end) < 0) {
        return bad_row(err, row, "a span to replace is not [start, end, score]");
    }
    if (!(json_number_value(score) >= rule->min && json_number_value(score) < rule->max)) {
        return SLUICE_OK;
    }
    if (worker->n_edits == worker->capacity) {
        size_t capacity = worker->capacity * 2 + 32;
        struct span_edit *edits = realloc(worker->edits, capacity * sizeof *edits);
        if (edits == NULL) {
            return nomem(err);
        }
        worker->edits = edits;
        worker->capacity = capacity;
    }
    worker->edits[worker->n_edits] =
        (struct span_edit){ (uint64_t)json_integer_value(start), (uint64_t)json_integer_value(end),
                            rule->text, worker->n_edits };
    worker->n_edits++;
    return SLUICE_OK;
}

/* The spans of a result: lists of spans, or spans. */
static sluice_status add_edits(struct worker *worker, const struct replacement *rule, int64_t row,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < worker->result.n; k++) {
        json_t *value = worker->result.values[k];
        if (json_is_null(value)) {
            continue;
        }
        if (!json_is_array(value)) {
            return bad_row(err, row, "what a replacement names is no list of spans");
        }
        if (json_is_number(json_array_get(value, 0))) {
            status = add_edit(worker, value, rule, row, err);
            continue;
        }
        for (size_t i = 0; status == SLUICE_OK && i < json_array_size(value); i++) {
            status = add_edit(worker, json_array_get(value, i), rule, row, err);
        }
    }
    return status;
}

static sluice_status judge(struct worker *worker, json_t *document, struct sluice_verdict *verdict,
                           struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    bool keep = stage->config.include.n == 0;
    sluice_status status = SLUICE_OK;

    for (uint64_t k = 0; status == SLUICE_OK && !keep && k < stage->config.include.n; k++) {
        status = jsonpath_find(stage->include[k], document, &worker->result, err);
        keep = worker->result.n > 0;
    }
    if (!keep) {
        verdict->reason = REASON_NOT_INCLUDED;
        return status;
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config.exclude.n; k++) {
        status = jsonpath_find(stage->exclude[k], document, &worker->result, err);
        if (status == SLUICE_OK && worker->result.n > 0) {
            verdict->reason = REASON_EXCLUDED;
            if (worker->result.compared) {
                verdict->value = worker->result.value;
                verdict->limit = worker->result.limit;
            }
            break;
        }
    }
    return status;
}

/* The length of the text without Unicode white space around it (Rust's trim: without U+001C to U+001F). */
static size_t trimmed(const char *text, size_t n)
{
    size_t begin = 0;
    uint32_t cp;

    while (n > 0) {
        size_t at = text_utf8_prev(text, n, &cp);
        if ((text_classes(cp) & TEXT_SPACE) == 0 || (cp >= 0x1C && cp <= 0x1F)) {
            break;
        }
        n = at;
    }
    while (begin < n) {
        size_t length = text_utf8_decode(text, n, begin, &cp);
        if ((text_classes(cp) & TEXT_SPACE) == 0 || (cp >= 0x1C && cp <= 0x1F)) {
            break;
        }
        begin += length;
    }
    return n - begin;
}

/* One row: its verdict, and its text into *text. */
static sluice_status mix_row(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                             struct sluice_verdict *verdict, const char **text, size_t *n,
                             struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    json_t *document = NULL;
    sluice_status status = build(stage, batch, row, &document, err);

    *text = sluice_text(batch->array->children[0], row, n);
    if (status == SLUICE_OK) {
        status = judge(worker, document, verdict, err);
    }
    worker->n_edits = 0;
    for (size_t k = 0; status == SLUICE_OK && verdict->reason == 0 && k < stage->n_replace; k++) {
        status = jsonpath_find(stage->replace[k].path, document, &worker->result, err);
        if (status == SLUICE_OK) {
            status = add_edits(worker, &stage->replace[k], row, err);
        }
    }
    if (status == SLUICE_OK && worker->n_edits > 0) {
        status = span_edit_apply(*text, *n, worker->edits, worker->n_edits, &worker->text, err);
        *text = worker->text.len > 0 ? worker->text.data : "";
        *n = worker->text.len;
    }
    if (status == SLUICE_OK && verdict->reason == 0 && stage->config.min_text_length > 0) {
        verdict->value = (double)trimmed(*text, *n);
        verdict->limit = (double)stage->config.min_text_length;
        verdict->reason = verdict->value < verdict->limit ? REASON_TOO_SHORT : REASON_KEEP;
    }
    json_decref(document);
    return status;
}

static sluice_status mix_rows(struct worker *worker, const struct sluice_batch *batch,
                              struct sluice_verdict *verdicts, struct sluice_bytes *offsets,
                              struct sluice_bytes *data, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        const char *text;
        size_t n;
        status = mix_row(worker, batch, sluice_row(batch, k), &verdicts[k], &text, &n, err);
        if (status == SLUICE_OK && !sluice_bytes_add_text(offsets, data, text, n)) {
            status = nomem(err);
        }
    }
    return status;
}

static sluice_status mix_process(void *state, const struct sluice_batch *batch,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct ArrowArray column;
    struct ArrowArray rows;
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status =
        verdicts == NULL ? nomem(err) : mix_rows(state, batch, verdicts, &offsets, &data, err);

    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    if (status != SLUICE_OK || batch->n == 0) {
        sluice_bytes_free(&offsets);
        sluice_bytes_free(&data);
        return status;
    }
    status = sluice_make_text(&column, batch->n, &offsets, &data, NULL, 0);
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&rows, batch->n, 1, &column);
    }
    return status == SLUICE_OK ? emit->batch(emit, &rows) : nomem(err);
}

const struct sluice_stage dolma_mix_stage = {
    .size = sizeof dolma_mix_stage,
    .name = "dolma_mix",
    .version = "1.0",
    .summary = "Dolma's mixer: keeps or drops documents by their attributes, and replaces spans",
    .doc =
        "Rules are the JSONPath of Dolma's mixer configurations, `$.attributes[?(@.NAME[0][2] >= "
        "0.5)]`, evaluated as the mixer (Dolma 1.2.1, jsonpath-rust 0.3) does: a filter on an "
        "object "
        "asks the object itself, < and > compare one number with one number and are false "
        "otherwise, != holds for what is absent, 5 and 5.0 are not equal. `$` is the document: id, "
        "text, the members of the column metadata, and attributes (those of the document, then of "
        "the column attributes). First include, then exclude, then the replacements of spans, then "
        "min_text_length. Of overlapping spans the first is replaced and the others are not; a "
        "span "
        "of no characters ends replacing. Offsets are in characters.\n\n"
        "A rule that names an attribute that no document can have never fires, which mixing "
        "configurations have suffered from: it is an error here. dolma_tag says what it gives; "
        "name "
        "attributes that were read from files in `attributes`.",
    .example = "tagged | s.dolma_mix { exclude = { "
               "\"$.attributes[?(@.gopher_v2__gopher_v2__word_count[0][2] < 50)]\" } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .reasons = "not_included|excluded|too_short",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = mix_open,
    .prepare = mix_prepare,
    .worker_open = mix_worker_open,
    .process = mix_process,
    .worker_close = mix_worker_close,
    .close = mix_close,
};
