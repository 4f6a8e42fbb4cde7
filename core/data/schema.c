/* Schemas: ordered fields with unique names. See schema.h. */
#include "data/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "data/typeInt.h"

#define NAME_MAX_BYTES 255 /* of a column */

void schema_init(struct schema *schema)
{
    memset(schema, 0, sizeof *schema);
}

static void field_deinit(struct field *field)
{
    free(field->name);
    type_destroy(field->type);
    free(field->metadata);
    free(field->derived_provider);
    free(field->derived_options);
    free(field->derived_source);
}

void schema_deinit(struct schema *schema)
{
    for (uint32_t k = 0; k < schema->n; k++) {
        field_deinit(&schema->fields[k]);
    }
    free(schema->fields);
    schema_init(schema);
}

int32_t schema_find(const struct schema *schema, const char *name)
{
    for (uint32_t k = 0; k < schema->n; k++) {
        if (strcmp(schema->fields[k].name, name) == 0) {
            return (int32_t)k;
        }
    }
    return -1;
}

/* Copies text when there is one; false = out of memory. */
static bool copy_text(char **out, const char *text)
{
    *out = text == NULL ? NULL : str_copy(text, strlen(text));
    return text == NULL || *out != NULL;
}

static bool reserve_field(struct schema *schema)
{
    uint32_t capacity = schema->capacity == 0 ? 8 : schema->capacity * 2;
    struct field *fields;

    if (schema->n < schema->capacity) {
        return true;
    }
    if (schema->capacity > INT32_MAX / 2) {
        return false;
    }
    fields = realloc(schema->fields, capacity * sizeof *fields);
    if (fields == NULL) {
        return false;
    }
    schema->fields = fields;
    schema->capacity = capacity;
    return true;
}

sluice_status schema_copy(struct schema *out, const struct schema *from, struct sluice_error *err)
{
    schema_init(out);
    for (uint32_t k = 0; k < from->n; k++) {
        const struct field *old = &from->fields[k];
        struct field field = { .hidden = old->hidden };
        bool copied = copy_text(&field.name, old->name) &&
                      copy_text(&field.metadata, old->metadata) &&
                      copy_text(&field.derived_provider, old->derived_provider) &&
                      copy_text(&field.derived_options, old->derived_options) &&
                      copy_text(&field.derived_source, old->derived_source) &&
                      (field.type = type_copy(old->type)) != NULL && reserve_field(out);
        if (!copied) {
            field_deinit(&field);
            schema_deinit(out);
            return error_nomem(err, "a schema");
        }
        out->fields[out->n++] = field;
    }
    return SLUICE_OK;
}

static sluice_status check_metadata(const char *name, const char *metadata,
                                    struct sluice_error *err)
{
    while (*metadata != '\0') {
        size_t line = strcspn(metadata, "\n");
        size_t key = strcspn(metadata, "=\n");
        if (line > 0 && (key == 0 || key == line)) {
            return error_field(
                err, SLUICE_E_SCHEMA, name,
                "the metadata of column '%s' has the line '%.*s': expected lines of key=value",
                name, (int)(line > 80 ? 80 : line), metadata);
        }
        metadata += line;
        metadata += *metadata == '\n' ? 1 : 0;
    }
    return SLUICE_OK;
}

sluice_status schema_add(struct schema *schema, const char *name, const struct type *type,
                         const char *metadata, struct sluice_error *err)
{
    struct field field = { .hidden = name[0] == '_' };
    size_t n = strlen(name);

    if (n == 0 || n > NAME_MAX_BYTES || !utf8_valid(name, n)) {
        return error_set(err, SLUICE_E_SCHEMA,
                         "a column's name has %zu bytes%s: expected 1 to %d bytes of UTF-8", n,
                         utf8_valid(name, n) ? "" : " that are not UTF-8", NAME_MAX_BYTES);
    }
    if (schema_find(schema, name) >= 0) {
        return error_field(err, SLUICE_E_SCHEMA, name,
                           "there is a column '%s' already: give the new one another name", name);
    }
    if (metadata != NULL) {
        TRY(check_metadata(name, metadata, err));
    }
    if (!copy_text(&field.name, name) || !copy_text(&field.metadata, metadata) ||
        (field.type = type_copy(type)) == NULL || !reserve_field(schema)) {
        field_deinit(&field);
        return error_nomem(err, "a schema");
    }
    schema->fields[schema->n++] = field;
    return SLUICE_OK;
}

sluice_status schema_add_text(struct schema *schema, const char *name, const char *text,
                              const char *metadata, struct sluice_error *err)
{
    struct type *type = NULL;
    sluice_status status = type_parse(text, &type, err);

    if (status != SLUICE_OK) {
        if (err != NULL && utf8_valid(name, strlen(name))) {
            (void)error_prefix(err, "column '%.100s'", name);
        }
        return status;
    }
    status = schema_add(schema, name, type, metadata, err);
    type_destroy(type);
    return status;
}

sluice_status schema_add_hidden(struct schema *schema, enum sluice_hidden hidden,
                                struct sluice_error *err)
{
    const struct sluice_hidden_column *column = &sluice_hidden_columns[hidden];

    return schema_add_text(schema, column->name, column->type, NULL, err);
}

void schema_remove(struct schema *schema, uint32_t index)
{
    field_deinit(&schema->fields[index]);
    schema->n--;
    memmove(&schema->fields[index], &schema->fields[index + 1],
            (schema->n - index) * sizeof schema->fields[0]);
}

bool schema_equal(const struct schema *a, const struct schema *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (uint32_t k = 0; k < a->n; k++) {
        if (strcmp(a->fields[k].name, b->fields[k].name) != 0 ||
            !type_equal(a->fields[k].type, b->fields[k].type, true)) {
            return false;
        }
    }
    return true;
}

char *schema_print(const struct schema *schema, bool all)
{
    struct buf buf = BUF_INIT;

    for (uint32_t k = 0; k < schema->n; k++) {
        const struct field *field = &schema->fields[k];
        char *type;
        if (field->hidden && !all) {
            continue;
        }
        if (buf.size > 0) {
            buf_puts(&buf, ", ");
        }
        type_name_print(&buf, field->name);
        buf_putc(&buf, ':');
        type = type_print(field->type);
        if (type == NULL) {
            buf_deinit(&buf);
            return NULL;
        }
        buf_puts(&buf, type);
        free(type);
    }
    return buf_take(&buf);
}

const char *field_metadata(const struct field *field, const char *key, size_t *n)
{
    const char *at = field->metadata;
    size_t length = strlen(key);

    while (at != NULL && *at != '\0') {
        size_t line = strcspn(at, "\n");
        if (line > length && memcmp(at, key, length) == 0 && at[length] == '=') {
            *n = line - length - 1;
            return at + length + 1;
        }
        at += line;
        at += *at == '\n' ? 1 : 0;
    }
    *n = 0;
    return NULL;
}

sluice_status schema_missing(const struct schema *schema, const char *name,
                             struct sluice_error *err)
{
    struct buf list = BUF_INIT;
    const char **names = calloc(schema->n + 1u, sizeof *names);
    const char *near = NULL;
    uint32_t shown = 0;
    uint32_t visible = 0;

    if (names == NULL) {
        return error_nomem(err, "an error message");
    }
    /* Long lists are cut so that the suggestion still fits in the message. */
    for (uint32_t k = 0; k < schema->n; k++) {
        names[k] = schema->fields[k].name;
        if (schema->fields[k].hidden) {
            continue;
        }
        visible++;
        if (list.size + strlen(names[k]) <= 400) {
            buf_printf(&list, "%s%s", shown > 0 ? ", " : "", names[k]);
            shown++;
        }
    }
    if (shown < visible) {
        buf_printf(&list, "%s%u more", shown > 0 ? " and " : "", visible - shown);
    }
    near = error_suggest(name, names, schema->n);
    if (near != NULL) {
        error_field(err, SLUICE_E_SCHEMA, name,
                    "found the columns %s, no '%.255s'; did you mean '%s'?", buf_str(&list), name,
                    near);
    } else if (visible > 0) {
        error_field(err, SLUICE_E_SCHEMA, name,
                    "found the columns %s, no '%.255s'; name one of these", buf_str(&list), name);
    } else {
        error_field(err, SLUICE_E_SCHEMA, name,
                    "found no columns at all, expected '%.255s'; add a stage that makes it", name);
    }
    buf_deinit(&list);
    free(names);
    return SLUICE_E_SCHEMA;
}
