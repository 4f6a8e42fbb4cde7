/* What a stage asks for and declares in prepare: struct sluice_plan's functions, which only record.
 * See stageInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/option_table.h"
#include "plugin/stageInt.h"

#define NEEDS_MAX 65536u

static struct stage_recorder *recorder_of(struct sluice_plan *plan)
{
    return plan->ctx;
}

const struct stage_inputs *stage_plan_inputs(const struct sluice_plan *plan)
{
    return ((const struct stage_recorder *)plan->ctx)->inputs;
}

const struct stage_prepared *stage_plan_prepared(const struct sluice_plan *plan)
{
    return ((const struct stage_recorder *)plan->ctx)->out;
}

/* Remembers the first refusal and hands it to the plugin. error is what was filled on the way. */
static sluice_status refused(struct stage_recorder *recorder, sluice_status status,
                             const struct sluice_error *error, struct sluice_error *err)
{
    if (status != SLUICE_OK) {
        if (recorder->failed == SLUICE_OK) {
            recorder->failed = status;
            recorder->error = *error;
        }
        error_give(err, error);
    }
    return status;
}

static char *copy_text(const char *text)
{
    return text != NULL ? str_copy(text, strlen(text)) : NULL;
}

/* Keeps text (taken) until prepare returns; NULL = out of memory. */
static const char *lend(struct stage_recorder *recorder, char *text)
{
    char **texts =
        text != NULL ? realloc(recorder->texts, (recorder->n_texts + 1) * sizeof *texts) : NULL;

    if (texts == NULL) {
        free(text);
        return NULL;
    }
    recorder->texts = texts;
    texts[recorder->n_texts++] = text;
    return text;
}

static void need_deinit(struct stage_need *need)
{
    free(need->name);
    free(need->type);
    free(need->provider);
    free(need->options);
    free(need->source);
}

/* Appends a need; takes *need. */
static sluice_status add_need(struct stage_recorder *recorder, uint32_t port,
                              struct stage_need *need, struct sluice_error *err)
{
    struct stage_prepared *out = recorder->out;
    struct stage_need *needs = NULL;

    if (out->n_needs[port] < NEEDS_MAX) {
        needs = realloc(out->needs[port], (out->n_needs[port] + 1) * sizeof *needs);
    }
    if (needs == NULL) {
        need_deinit(need);
        return error_nomem(err, "the columns of a stage");
    }
    out->needs[port] = needs;
    needs[out->n_needs[port]++] = *need;
    return SLUICE_OK;
}

static sluice_status check_port(const struct stage_recorder *recorder, uint32_t port,
                                struct sluice_error *err)
{
    const struct sluice_stage *kind = recorder->stage->kind;

    if (port >= STAGE_PORTS || kind->role == SLUICE_ROLE_READER ||
        (port == 1 && (kind->flags & SLUICE_STAGE_SIDE_INPUT) == 0)) {
        return DEFECT(err, "it asks for a column of port %u, which it does not have", port);
    }
    if (port >= recorder->inputs->n_ports || recorder->inputs->schemas[port] == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "its %s input is not connected",
                         port == 0 ? "main" : "side");
    }
    return SLUICE_OK;
}

/* Is a column of type have among "a|b"? A type asked for without ? refuses nulls, one with ? takes
 * both. */
static sluice_status type_among(const struct type *have, const char *asked, bool *yes,
                                struct sluice_error *err)
{
    const char *at = asked;

    *yes = false;
    while (!*yes) {
        size_t n = strcspn(at, "|");
        char *text = str_copy(at, n);
        struct type *want = NULL;
        sluice_status status;
        if (text == NULL) {
            return error_nomem(err, "a column's type");
        }
        status = type_parse(text, &want, err);
        free(text);
        if (status != SLUICE_OK) {
            error_prefix(err, "(a defect of the plugin) it asks for the type \"%.100s\"", asked);
            return status == SLUICE_E_NOMEM ? status : SLUICE_E_INTERNAL;
        }
        if (want->nullable || !have->nullable) {
            want->nullable = have->nullable;
            *yes = type_equal(have, want, true);
        }
        type_destroy(want);
        if (at[n] == '\0') {
            break;
        }
        at += n + 1;
    }
    return SLUICE_OK;
}

static sluice_status check_type(const struct field *field, const char *asked,
                                struct sluice_error *err)
{
    char *found;
    bool yes;

    if (asked[0] == '\0') {
        return SLUICE_OK;
    }
    TRY(type_among(field->type, asked, &yes, err));
    if (yes) {
        return SLUICE_OK;
    }
    found = type_print(field->type);
    if (found == NULL) {
        return error_nomem(err, "a column's type");
    }
    error_field(err, SLUICE_E_SCHEMA, field->name, "the column '%s' is %s, expected %s%s",
                field->name, found, asked,
                field->type->nullable ? " (a trailing ? means that it may hold nulls)" : "");
    free(found);
    return SLUICE_E_SCHEMA;
}

/* Where the named column is; *field may become one of STAGE_FIELD_* or -1 with *found false. */
static sluice_status find_field(const struct schema *schema, const char *name, const char *type,
                                int32_t *field, bool *found, struct sluice_error *err)
{
    int32_t hidden = strcmp(name, "_row") == 0   ? STAGE_FIELD_ROW
                     : strcmp(name, "_pos") == 0 ? STAGE_FIELD_POS
                                                 : 0;

    *found = true;
    *field = schema_find(schema, name);
    if (*field >= 0) {
        return check_type(&schema->fields[*field], type, err);
    }
    if (hidden != 0) {
        struct type word = { .kind = TYPE_UINT64 };
        struct field made = { .name = (char *)(hidden == STAGE_FIELD_ROW ? "_row" : "_pos"),
                              .type = &word };
        *field = hidden;
        return check_type(&made, type, err);
    }
    *found = false;
    return SLUICE_OK;
}

static sluice_status record_need(struct stage_recorder *recorder, uint32_t port, const char *name,
                                 const char *type, bool optional, int32_t *index,
                                 struct sluice_error *err)
{
    const struct schema *schema;
    struct stage_need need = { .optional = optional };
    bool found;

    if (name == NULL || name[0] == '\0') {
        return DEFECT(err, "it asks for a column without a name");
    }
    type = type != NULL ? type : "";
    TRY(check_port(recorder, port, err));
    schema = recorder->inputs->schemas[port];
    TRY(find_field(schema, name, type, &need.field, &found, err));
    if (!found && recorder->inputs->absent != NULL) {
        recorder->inputs->absent(recorder->inputs->ctx, port, name, type);
        TRY(find_field(schema, name, type, &need.field, &found, err));
    }
    if (!found && optional) {
        return SLUICE_OK;
    }
    if (!found) {
        sluice_status status = schema_missing(schema, name, err);
        error_prefix(err, "it needs the column '%.100s'%s%.100s", name,
                     type[0] != '\0' ? " of type " : "", type);
        return status;
    }
    for (uint32_t k = 0; k < recorder->out->n_needs[port]; k++) {
        const struct stage_need *other = &recorder->out->needs[port][k];
        if (other->provider == NULL && strcmp(other->name, name) == 0) {
            *index = (int32_t)k;
            return SLUICE_OK;
        }
    }
    need.name = copy_text(name);
    need.type = copy_text(type);
    if (need.name == NULL || need.type == NULL) {
        need_deinit(&need);
        return error_nomem(err, "the columns of a stage");
    }
    *index = (int32_t)recorder->out->n_needs[port];
    return add_need(recorder, port, &need, err);
}

static sluice_status plan_need(struct sluice_plan *plan, uint32_t port, const char *name,
                               const char *type, int32_t optional, int32_t *index,
                               struct sluice_error *err)
{
    struct stage_recorder *recorder = recorder_of(plan);
    struct sluice_error error = ERROR_INIT;
    int32_t place = -1;
    sluice_status status = record_need(recorder, port, name, type, optional != 0, &place, &error);

    if (index != NULL) {
        *index = status == SLUICE_OK ? place : -1;
    }
    return refused(recorder, status, &error, err);
}

/* The derived column in the schema, by the planner's rule or by equal texts. */
static sluice_status find_derived(const struct stage_recorder *recorder, uint32_t port,
                                  const char *provider, const char *options, const char *source,
                                  int32_t *field, struct sluice_error *err)
{
    const struct stage_inputs *inputs = recorder->inputs;

    *field = STAGE_FIELD_MISSING;
    if (inputs->find_derived != NULL) {
        return inputs->find_derived(inputs->ctx, port, provider, options, source, field, err);
    }
    for (uint32_t k = 0; k < inputs->schemas[port]->n; k++) {
        const struct field *candidate = &inputs->schemas[port]->fields[k];
        if (candidate->derived_provider != NULL &&
            strcmp(candidate->derived_provider, provider) == 0 &&
            strcmp(candidate->derived_options, options) == 0 &&
            strcmp(candidate->derived_source, source) == 0) {
            *field = (int32_t)k;
        }
    }
    return SLUICE_OK;
}

static sluice_status record_derived(struct stage_recorder *recorder, uint32_t port,
                                    const char *provider, const char *options, const char *source,
                                    int32_t *index, struct sluice_error *err)
{
    const struct schema *schema;
    struct stage_need need = { .field = STAGE_FIELD_MISSING };

    if (!option_name_valid(provider) || source == NULL) {
        return DEFECT(err, "it asks for a derived column without a provider or a source");
    }
    options = options != NULL ? options : "";
    TRY(check_port(recorder, port, err));
    schema = recorder->inputs->schemas[port];
    if (schema_find(schema, source) < 0 && recorder->inputs->absent != NULL) {
        recorder->inputs->absent(recorder->inputs->ctx, port, source, "utf8?");
    }
    if (schema_find(schema, source) < 0) {
        sluice_status status = schema_missing(schema, source, err);
        error_prefix(err, "it needs %s of the column '%.100s'", provider, source);
        return status;
    }
    for (uint32_t k = 0; k < recorder->out->n_needs[port]; k++) {
        const struct stage_need *other = &recorder->out->needs[port][k];
        if (other->provider != NULL && strcmp(other->provider, provider) == 0 &&
            strcmp(other->options, options) == 0 && strcmp(other->source, source) == 0) {
            *index = (int32_t)k;
            return SLUICE_OK;
        }
    }
    TRY(find_derived(recorder, port, provider, options, source, &need.field, err));
    if (need.field < 0 || (uint32_t)need.field >= schema->n) {
        need.field = STAGE_FIELD_MISSING;
        recorder->out->missing = true;
    } else {
        need.name = copy_text(schema->fields[need.field].name);
    }
    need.type = copy_text("");
    need.provider = copy_text(provider);
    need.options = copy_text(options);
    need.source = copy_text(source);
    if ((need.field >= 0 && need.name == NULL) || need.type == NULL || need.provider == NULL ||
        need.options == NULL || need.source == NULL) {
        need_deinit(&need);
        return error_nomem(err, "the columns of a stage");
    }
    *index = (int32_t)recorder->out->n_needs[port];
    return add_need(recorder, port, &need, err);
}

static sluice_status plan_need_derived(struct sluice_plan *plan, uint32_t port,
                                       const char *provider, const char *options,
                                       const char *source, int32_t *index, struct sluice_error *err)
{
    struct stage_recorder *recorder = recorder_of(plan);
    struct sluice_error error = ERROR_INIT;
    int32_t place = -1;
    sluice_status status =
        record_derived(recorder, port, provider, options, source, &place, &error);

    if (index != NULL) {
        *index = status == SLUICE_OK ? place : -1;
    }
    return refused(recorder, status, &error, err);
}

static const char *plan_metadata(struct sluice_plan *plan, uint32_t port, int32_t index,
                                 const char *key)
{
    struct stage_recorder *recorder = recorder_of(plan);
    const struct stage_need *need;
    const char *text;
    size_t n;

    if (port >= STAGE_PORTS || index < 0 || (uint32_t)index >= recorder->out->n_needs[port] ||
        key == NULL) {
        return NULL;
    }
    need = &recorder->out->needs[port][index];
    if (need->field < 0) {
        return NULL;
    }
    if (key[0] == '\0') {
        text = recorder->inputs->schemas[port]->fields[need->field].metadata;
        return text != NULL ? lend(recorder, copy_text(text)) : NULL;
    }
    text = field_metadata(&recorder->inputs->schemas[port]->fields[need->field], key, &n);
    return text != NULL ? lend(recorder, str_copy(text, n)) : NULL;
}

/* "key=value" lines. */
static bool metadata_valid(const char *metadata)
{
    const char *at = metadata;

    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, "\n");
        if (at[0] == '=' || memchr(at, '=', n) == NULL) {
            return false;
        }
        at += n + (at[n] != '\0' ? 1 : 0);
    }
    return metadata == NULL || utf8_valid(metadata, strlen(metadata));
}

static bool provenance(const char *name)
{
    return strcmp(name, "_origin") == 0 || strcmp(name, "_span") == 0 ||
           strcmp(name, "_pos") == 0 || strcmp(name, "_row") == 0;
}

static sluice_status record_add(struct stage_recorder *recorder, const char *name,
                                const char *type_text, const char *metadata,
                                struct sluice_error *err)
{
    const struct sluice_stage *kind = recorder->stage->kind;
    struct type *type;
    sluice_status status;

    if (kind->role != SLUICE_ROLE_READER && kind->role != SLUICE_ROLE_ANNOTATOR &&
        kind->role != SLUICE_ROLE_TRANSFORM) {
        return DEFECT(err, "only readers, annotators and transforms have output columns");
    }
    if (name == NULL || name[0] == '\0' || strlen(name) > 255 || !utf8_valid(name, strlen(name)) ||
        type_text == NULL) {
        return DEFECT(err, "an output column needs a name of 1 to 255 bytes of UTF-8, and a type");
    }
    if (name[0] == '_' && (kind->flags & SLUICE_STAGE_HIDDEN) == 0 &&
        !(kind->role == SLUICE_ROLE_TRANSFORM && provenance(name)) &&
        !(kind->role == SLUICE_ROLE_READER &&
          (strcmp(name, "_begin") == 0 || strcmp(name, "_end") == 0))) {
        return error_field(
            err, SLUICE_E_SCHEMA, name,
            "the output column '%s' has a name that begins with '_', which is kept for provenance",
            name);
    }
    if (!metadata_valid(metadata)) {
        return DEFECT(err, "the metadata of the output column '%s' are not lines of key=value",
                      name);
    }
    TRY(type_parse(type_text, &type, err));
    if (!type_supported(type)) {
        type_destroy(type);
        return error_field(err, SLUICE_E_SCHEMA, name,
                           "the output column '%s' has the type %.100s, which can't be stored",
                           name, type_text);
    }
    if (strcmp(name, "_origin") == 0 && type->kind != TYPE_UINT64 &&
        !(type->kind == TYPE_LIST && type->children[0]->kind == TYPE_UINT64)) {
        type_destroy(type);
        return DEFECT(err, "_origin must be uint64 or list<uint64>");
    }
    if (strcmp(name, "_span") == 0 &&
        !(type->kind == TYPE_LIST && type->children[0]->kind == TYPE_UINT64)) {
        type_destroy(type);
        return DEFECT(err, "_span must be list<uint64>");
    }
    status = schema_add(&recorder->out->added, name, type, metadata, err);
    type_destroy(type);
    return status;
}

static sluice_status plan_add(struct sluice_plan *plan, const char *name, const char *type,
                              const char *metadata, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = record_add(recorder_of(plan), name, type, metadata, &error);

    return refused(recorder_of(plan), status, &error, err);
}

static bool suffix_valid(const char *suffix)
{
    size_t n = suffix != NULL ? strlen(suffix) : 0;

    if (n < 2 || n > 63 || suffix[0] != '.') {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        char c = suffix[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || (c == '.' && suffix[i - 1] != '.'))) {
            return false;
        }
    }
    return suffix[n - 1] != '.';
}

static sluice_status record_output(struct stage_recorder *recorder, const char *suffix,
                                   const char *codec, int32_t level, struct sluice_error *err)
{
    struct stage_prepared *out = recorder->out;
    struct stage_output *outputs;
    struct stage_output output = { .level = level };
    int32_t highest;

    if (recorder->stage->kind->role != SLUICE_ROLE_WRITER) {
        return DEFECT(err, "only writers have output files");
    }
    if (!suffix_valid(suffix)) {
        return DEFECT(err, "the suffix \"%.63s\" of an output file is not like \".jsonl\"",
                      suffix != NULL ? suffix : "");
    }
    codec = codec != NULL ? codec : "none";
    highest = strcmp(codec, "none") == 0   ? 0
              : strcmp(codec, "gzip") == 0 ? 12
              : strcmp(codec, "zstd") == 0 ? 22
                                           : -1;
    if (highest < 0) {
        return DEFECT(err, "the codec \"%.63s\" is none of none, gzip, zstd", codec);
    }
    if (level < 0 || level > highest) {
        return error_set(err, SLUICE_E_CONFIG, "the level %d of the codec %s is outside [0, %d]",
                         (int)level, codec, (int)highest);
    }
    for (uint32_t k = 0; k < out->n_outputs; k++) {
        if (strcmp(out->outputs[k].suffix, suffix) == 0) {
            return DEFECT(err, "two of its output files have the suffix \"%s\"", suffix);
        }
    }
    outputs = realloc(out->outputs, (out->n_outputs + 1) * sizeof *outputs);
    if (outputs != NULL) {
        out->outputs = outputs;
    }
    output.suffix = copy_text(suffix);
    output.codec = copy_text(codec);
    if (outputs == NULL || output.suffix == NULL || output.codec == NULL) {
        free(output.suffix);
        free(output.codec);
        return error_nomem(err, "the outputs of a stage");
    }
    outputs[out->n_outputs++] = output;
    return SLUICE_OK;
}

static sluice_status plan_output(struct sluice_plan *plan, const char *suffix, const char *codec,
                                 int32_t level, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = record_output(recorder_of(plan), suffix, codec, level, &error);

    return refused(recorder_of(plan), status, &error, err);
}

static sluice_status record_note(struct stage_recorder *recorder, const char *key, const char *json,
                                 struct sluice_error *err)
{
    struct stage_prepared *out = recorder->out;
    struct stage_note *notes;
    struct stage_note note;
    struct value parsed;
    sluice_status status;

    if (!option_name_valid(key) || json == NULL) {
        return DEFECT(err, "a note needs a key [a-z][a-z0-9_]* and a JSON value");
    }
    status = value_parse_json(json, strlen(json), &parsed, err);
    if (status != SLUICE_OK) {
        error_prefix(err, "(a defect of the plugin) the note '%s'", key);
        return status == SLUICE_E_NOMEM ? status : SLUICE_E_INTERNAL;
    }
    value_deinit(&parsed);
    for (uint32_t k = 0; k < out->n_notes; k++) {
        if (strcmp(out->notes[k].key, key) == 0) {
            return DEFECT(err, "it leaves the note '%s' twice", key);
        }
    }
    notes = realloc(out->notes, (out->n_notes + 1) * sizeof *notes);
    if (notes != NULL) {
        out->notes = notes;
    }
    note.key = copy_text(key);
    note.json = copy_text(json);
    if (notes == NULL || note.key == NULL || note.json == NULL) {
        free(note.key);
        free(note.json);
        return error_nomem(err, "the notes of a stage");
    }
    notes[out->n_notes++] = note;
    return SLUICE_OK;
}

static sluice_status plan_note(struct sluice_plan *plan, const char *key, const char *json,
                               struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = record_note(recorder_of(plan), key, json, &error);

    return refused(recorder_of(plan), status, &error, err);
}

/* Hidden and derived columns are only given by name. */
static sluice_status plan_column(struct sluice_plan *plan, uint32_t port, uint32_t k,
                                 const char **name, const char **type)
{
    struct stage_recorder *recorder = recorder_of(plan);
    struct sluice_error error = ERROR_INIT;
    const struct schema *schema;
    sluice_status status;

    *name = "";
    *type = "";
    status = check_port(recorder, port, &error);
    if (status != SLUICE_OK) {
        return refused(recorder, status, &error, NULL);
    }
    schema = recorder->inputs->schemas[port];
    for (uint32_t i = 0; i < schema->n; i++) {
        const struct field *field = &schema->fields[i];
        if (field->hidden || field->derived_provider != NULL || k-- > 0) {
            continue;
        }
        *type = lend(recorder, type_print(field->type));
        if (*type == NULL) {
            *type = "";
            return refused(recorder, error_nomem(&error, "a column's type"), &error, NULL);
        }
        *name = field->name;
        break;
    }
    return SLUICE_OK;
}

static int32_t plan_wanted(struct sluice_plan *plan, const char *name)
{
    const struct stage_inputs *inputs = recorder_of(plan)->inputs;

    return inputs->wanted == NULL || name == NULL ? 1 : inputs->wanted(inputs->ctx, name);
}

void stage_recorder_init(struct stage_recorder *recorder, struct stage *stage,
                         const struct stage_inputs *inputs, struct stage_prepared *out)
{
    const struct sluice_plan plan = {
        .size = sizeof plan,
        .ctx = recorder,
        .need = plan_need,
        .need_derived = plan_need_derived,
        .metadata = plan_metadata,
        .add = plan_add,
        .output = plan_output,
        .note = plan_note,
        .column = plan_column,
        .wanted = plan_wanted,
    };

    memset(recorder, 0, sizeof *recorder);
    recorder->plan = plan;
    recorder->stage = stage;
    recorder->inputs = inputs;
    recorder->out = out;
}

void stage_recorder_deinit(struct stage_recorder *recorder)
{
    for (size_t k = 0; k < recorder->n_texts; k++) {
        free(recorder->texts[k]);
    }
    free(recorder->texts);
}

void stage_output_deinit(struct stage *stage)
{
    for (uint32_t k = 0; k < stage->output.n_children; k++) {
        type_destroy(stage->output.children[k]);
        free(stage->output.names[k]);
    }
    free(stage->output.children);
    free(stage->output.names);
    memset(&stage->output, 0, sizeof stage->output);
    stage->output.kind = TYPE_STRUCT;
}

/* The struct type that emitted arrays must have. */
static sluice_status make_output(struct stage *stage, const struct schema *added,
                                 struct sluice_error *err)
{
    stage_output_deinit(stage);
    stage->output.children = calloc(added->n + 1, sizeof(struct type *));
    stage->output.names = calloc(added->n + 1, sizeof(char *));
    if (stage->output.children == NULL || stage->output.names == NULL) {
        stage_output_deinit(stage);
        return error_nomem(err, "the columns of a stage");
    }
    for (uint32_t k = 0; k < added->n; k++) {
        stage->output.children[k] = type_copy(added->fields[k].type);
        stage->output.names[k] = copy_text(added->fields[k].name);
        stage->output.n_children = k + 1;
        if (stage->output.children[k] == NULL || stage->output.names[k] == NULL) {
            stage_output_deinit(stage);
            return error_nomem(err, "the columns of a stage");
        }
    }
    return SLUICE_OK;
}

sluice_status stage_recorder_finish(struct stage_recorder *recorder, struct sluice_error *err)
{
    const struct sluice_stage *kind = recorder->stage->kind;
    const struct stage_prepared *out = recorder->out;

    if (recorder->failed != SLUICE_OK) {
        if (err != NULL) {
            *err = recorder->error;
        }
        return recorder->failed;
    }
    switch (kind->role) {
    case SLUICE_ROLE_READER:
    case SLUICE_ROLE_TRANSFORM:
        if (out->added.n == 0) {
            return DEFECT(err, "it declares no output columns");
        }
        break;
    case SLUICE_ROLE_ANNOTATOR:
        if (out->added.n == 0 && kind->reasons == NULL) {
            return DEFECT(err, "it adds no column and has no reasons to drop a row");
        }
        break;
    case SLUICE_ROLE_WRITER:
        if (out->n_outputs == 0) {
            return DEFECT(err, "it declares no output file");
        }
        break;
    default:
        break;
    }
    recorder->stage->n_outputs = out->n_outputs;
    return make_output(recorder->stage, &out->added, err);
}
