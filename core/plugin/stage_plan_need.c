/* The columns that a stage asks for in prepare. See stage_planInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/option_table.h"
#include "plugin/stage_planInt.h"

#define NEEDS_MAX 65536u

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
    enum sluice_hidden hidden = sluice_hidden_of(name);

    *found = true;
    *field = schema_find(schema, name);
    if (*field >= 0) {
        return check_type(&schema->fields[*field], type, err);
    }
    if (hidden == SLUICE_HIDDEN_ROW || hidden == SLUICE_HIDDEN_POS) {
        struct type word = { .kind = TYPE_UINT64 };
        struct field made = { .name = (char *)name, .type = &word };
        *field = hidden == SLUICE_HIDDEN_ROW ? STAGE_FIELD_ROW : STAGE_FIELD_POS;
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

    if (name == NULL) {
        return DEFECT(err, "it asks for a column without a name");
    }
    if (name[0] == '\0') { /* of an option, as a rule */
        return error_set(err, SLUICE_E_CONFIG,
                         "it needs a column whose name is empty: give a name");
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
    need.name = recorder_copy(name);
    need.type = recorder_copy(type);
    if (need.name == NULL || need.type == NULL) {
        need_deinit(&need);
        return error_nomem(err, "the columns of a stage");
    }
    *index = (int32_t)recorder->out->n_needs[port];
    return add_need(recorder, port, &need, err);
}

sluice_status recorder_need(struct sluice_plan *plan, uint32_t port, const char *name,
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
    return recorder_refuse(recorder, status, &error, err);
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
        need.name = recorder_copy(schema->fields[need.field].name);
    }
    need.type = recorder_copy("");
    need.provider = recorder_copy(provider);
    need.options = recorder_copy(options);
    need.source = recorder_copy(source);
    if ((need.field >= 0 && need.name == NULL) || need.type == NULL || need.provider == NULL ||
        need.options == NULL || need.source == NULL) {
        need_deinit(&need);
        return error_nomem(err, "the columns of a stage");
    }
    *index = (int32_t)recorder->out->n_needs[port];
    return add_need(recorder, port, &need, err);
}

sluice_status recorder_need_derived(struct sluice_plan *plan, uint32_t port, const char *provider,
                                    const char *options, const char *source, int32_t *index,
                                    struct sluice_error *err)
{
    struct stage_recorder *recorder = recorder_of(plan);
    struct sluice_error error = ERROR_INIT;
    int32_t place = -1;
    sluice_status status =
        record_derived(recorder, port, provider, options, source, &place, &error);

    if (index != NULL) {
        *index = status == SLUICE_OK ? place : -1;
    }
    return recorder_refuse(recorder, status, &error, err);
}

const char *recorder_metadata(struct sluice_plan *plan, uint32_t port, int32_t index,
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
        return text != NULL ? recorder_lend(recorder, recorder_copy(text)) : NULL;
    }
    text = field_metadata(&recorder->inputs->schemas[port]->fields[need->field], key, &n);
    return text != NULL ? recorder_lend(recorder, str_copy(text, n)) : NULL;
}

sluice_status recorder_column(struct sluice_plan *plan, uint32_t port, uint32_t k,
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
        return recorder_refuse(recorder, status, &error, NULL);
    }
    schema = recorder->inputs->schemas[port];
    for (uint32_t i = 0; i < schema->n; i++) {
        const struct field *field = &schema->fields[i];
        if (field->hidden || field->derived_provider != NULL || k-- > 0) {
            continue;
        }
        *type = recorder_lend(recorder, type_print(field->type));
        if (*type == NULL) {
            *type = "";
            return recorder_refuse(recorder, error_nomem(&error, "a column's type"), &error, NULL);
        }
        *name = field->name;
        break;
    }
    return SLUICE_OK;
}
