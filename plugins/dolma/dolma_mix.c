/* dolma_mix - filters documents by rules over their attributes, and replaces spans of their text,
 * as Dolma's mixer does. */
#include <math.h>
#include <stdio.h>

#include "dolma.h"
#include "dolma_mix.h"
#include "dolma_names.h"

enum { SYNTAX_JSONPATH, SYNTAX_JQ };
static const struct sluice_option options[] = {
    { .name = "include",
      .doc = "Rules of which one must match for a document to stay; none: all stay.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct mix_config, include) },
    { .name = "exclude",
      .doc = "Rules of which none may match.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct mix_config, exclude) },
    { .name = "replace",
      .doc =
          "Spans to replace, each a JSON object as in Dolma's span_replacement: {\"span\": path, "
          "\"min_score\": number, \"max_score\": number, \"replacement\": text, \"syntax\": "
          "\"jsonpath\" or \"jq\"}; {} in the replacement stands for the old text.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct mix_config, replace) },
    { .name = "min_text_length",
      .doc = "Fewest bytes of the text without white space around it, after replacing.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct mix_config, min_text_length) },
    { .name = "syntax",
      .doc = "Of include and exclude; of jq paths alone are known.",
      .def = "jsonpath",
      .choices = "jsonpath|jq",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct mix_config, syntax) },
    { .name = "attributes",
      .doc = "Names of attributes that documents may have, beside those that dolma_tag declares.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct mix_config, known) },
    { .name = "unchecked",
      .doc = "Rules may name attributes of which nothing says that they exist.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct mix_config, unchecked) },
};

sluice_status mix_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for mixing");
}

static void mix_close(void *shared)
{
    struct mix *stage = shared;

    for (uint64_t k = 0; stage->include != NULL && k < stage->config->include.n; k++) {
        jsonpath_destroy(stage->include[k]);
    }
    for (uint64_t k = 0; stage->exclude != NULL && k < stage->config->exclude.n; k++) {
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
        return mix_nomem(err);
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

static sluice_status parse_replacement(const char *json, struct mix_replacement *out,
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
                 ? mix_nomem(err)
                 : set_field(err, "replace",
                             jsonpath_compile(path, strcmp(syntax, "jq") == 0, &out->path, err));
    json_decref(object);
    return status;
}

static sluice_status mix_open(const struct sluice_host_api *api, struct sluice_host *host,
                              const void *config, void **shared, struct sluice_error *err)
{
    struct mix *stage = calloc(1, sizeof *stage);
    bool jq;
    sluice_status status;

    (void)api;
    (void)host;
    if (stage == NULL) {
        return mix_nomem(err);
    }
    stage->config = config;
    jq = stage->config->syntax == SYNTAX_JQ;
    status = compile_rules(&stage->config->include, jq, "include", &stage->include, err);
    if (status == SLUICE_OK) {
        status = compile_rules(&stage->config->exclude, jq, "exclude", &stage->exclude, err);
    }
    stage->replace = calloc(stage->config->replace.n + 1, sizeof *stage->replace);
    if (status == SLUICE_OK && stage->replace == NULL) {
        status = mix_nomem(err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config->replace.n; k++) {
        stage->n_replace++;
        status = parse_replacement(stage->config->replace.items[k], &stage->replace[k], err);
    }
    if (status == SLUICE_OK && stage->config->include.n + stage->config->exclude.n +
                                       stage->config->replace.n +
                                       (uint64_t)stage->config->min_text_length ==
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

/* A rule that names what no document has would never fire: it is refused. declared: NULL = the
 * column says nothing. */
static sluice_status check_names(const struct mix *stage, const struct jsonpath *path,
                                 const char *field, const char *declared, struct sluice_error *err)
{
    const char *name;

    for (size_t k = 0; (name = jsonpath_name(path, "attributes", k)) != NULL; k++) {
        char message[800];
        size_t n = 0;
        const char *near;
        if (listed(&stage->config->known, name) ||
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

static sluice_status check_all(const struct mix *stage, const char *declared,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config->include.n; k++) {
        status = check_names(stage, stage->include[k], "include", declared, err);
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->config->exclude.n; k++) {
        status = check_names(stage, stage->exclude[k], "exclude", declared, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < stage->n_replace; k++) {
        status = check_names(stage, stage->replace[k].path, "replace", declared, err);
    }
    return status;
}

static bool needs_whole(const struct mix *stage)
{
    bool whole = stage->attributes < 0;

    for (uint64_t k = 0; k < stage->config->include.n; k++) {
        whole = whole || !jsonpath_only(stage->include[k], "attributes");
    }
    for (uint64_t k = 0; k < stage->config->exclude.n; k++) {
        whole = whole || !jsonpath_only(stage->exclude[k], "attributes");
    }
    for (size_t k = 0; k < stage->n_replace; k++) {
        whole = whole || !jsonpath_only(stage->replace[k].path, "attributes");
    }
    return whole;
}

static sluice_status mix_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct mix *stage = shared;
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
    if (stage->config->unchecked == 0) {
        status = check_all(stage, declared, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "text", "utf8?", NULL, err) : status;
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
    .config_size = sizeof(struct mix_config),
    .bytes_worker = 16 << 20,
    .open = mix_open,
    .prepare = mix_prepare,
    .worker_open = mix_worker_open,
    .process = mix_process,
    .worker_close = mix_worker_close,
    .close = mix_close,
};
