/* What a stage declares in prepare: output columns, output files, notes. See stage_planInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/option_table.h"
#include "plugin/stage_planInt.h"

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

/* May a stage of this role say where its rows come from by this column? */
static bool provenance(uint32_t role, const char *name)
{
    switch (sluice_hidden_of(name)) {
    case SLUICE_HIDDEN_ORIGIN:
    case SLUICE_HIDDEN_SPAN:
    case SLUICE_HIDDEN_POS:
    case SLUICE_HIDDEN_ROW:
        return role == SLUICE_ROLE_TRANSFORM;
    case SLUICE_HIDDEN_BEGIN:
    case SLUICE_HIDDEN_END:
        return role == SLUICE_ROLE_READER;
    case SLUICE_HIDDEN_FILE:
    case SLUICE_HIDDEN_NONE:
        break;
    }
    return false;
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
    if (name == NULL || type_text == NULL) {
        return DEFECT(err, "an output column needs a name and a type");
    }
    if (name[0] == '\0' || strlen(name) > 255 || !utf8_valid(name, strlen(name))) {
        return error_set(err, SLUICE_E_CONFIG, /* of an option, as a rule */
                         "found an output column's name of %zu bytes, expected 1 to 255 bytes of "
                         "UTF-8",
                         strlen(name));
    }
    if (name[0] == '_' && (kind->flags & SLUICE_STAGE_HIDDEN) == 0 &&
        !provenance(kind->role, name)) {
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
    if (strcmp(name, SLUICE_ORIGIN) == 0 && type->kind != TYPE_UINT64 &&
        !(type->kind == TYPE_LIST && type->children[0]->kind == TYPE_UINT64)) {
        type_destroy(type);
        return DEFECT(err, "_origin must be uint64 or list<uint64>");
    }
    if (strcmp(name, SLUICE_SPAN) == 0 &&
        !(type->kind == TYPE_LIST && type->children[0]->kind == TYPE_UINT64)) {
        type_destroy(type);
        return DEFECT(err, "_span must be list<uint64>");
    }
    status = schema_add(&recorder->out->added, name, type, metadata, err);
    type_destroy(type);
    return status;
}

sluice_status recorder_add(struct sluice_plan *plan, const char *name, const char *type,
                           const char *metadata, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = record_add(recorder_of(plan), name, type, metadata, &error);

    return recorder_refuse(recorder_of(plan), status, &error, err);
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
              : strcmp(codec, "gzip") == 0 ? SLUICE_GZIP_LEVEL_MAX
              : strcmp(codec, "zstd") == 0 ? SLUICE_ZSTD_LEVEL_MAX
                                           : -1;
    if (highest < 0) {
        return DEFECT(err, "the codec \"%.63s\" is none of none, gzip, zstd", codec);
    }
    if (level < 0 || level > highest) {
        return error_field(
            err, SLUICE_E_CONFIG, "level",
            "found the level %d of the codec %s, expected 0 to %d (0 is its default)", (int)level,
            codec, (int)highest);
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
    output.suffix = recorder_copy(suffix);
    output.codec = recorder_copy(codec);
    if (outputs == NULL || output.suffix == NULL || output.codec == NULL) {
        free(output.suffix);
        free(output.codec);
        return error_nomem(err, "the outputs of a stage");
    }
    outputs[out->n_outputs++] = output;
    return SLUICE_OK;
}

sluice_status recorder_output(struct sluice_plan *plan, const char *suffix, const char *codec,
                              int32_t level, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = record_output(recorder_of(plan), suffix, codec, level, &error);

    return recorder_refuse(recorder_of(plan), status, &error, err);
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
    note.key = recorder_copy(key);
    note.json = recorder_copy(json);
    if (notes == NULL || note.key == NULL || note.json == NULL) {
        free(note.key);
        free(note.json);
        return error_nomem(err, "the notes of a stage");
    }
    notes[out->n_notes++] = note;
    return SLUICE_OK;
}

sluice_status recorder_note(struct sluice_plan *plan, const char *key, const char *json,
                            struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = record_note(recorder_of(plan), key, json, &error);

    return recorder_refuse(recorder_of(plan), status, &error, err);
}
