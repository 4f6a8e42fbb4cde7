/* Fuzzes the schema language (core/data/schema.h). The first line is a type, the second a
 * column's name, the rest its metadata. A type that parses must print to a text that parses to
 * the same type and prints to itself. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "data/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_type(const struct type *type)
{
    struct sluice_error err = ERROR_INIT;
    struct type *again = NULL;
    struct type *copy = type_copy(type);
    char *text = type_print(type);
    char *twice;

    require(copy != NULL && text != NULL);
    require(type_parse(text, &again, &err) == SLUICE_OK);
    require(type_equal(type, again, true) && type_equal(copy, type, true));
    twice = type_print(again);
    require(twice != NULL && strcmp(text, twice) == 0);
    (void)type_supported(type);
    free(text);
    free(twice);
    type_destroy(again);
    type_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sluice_error err = ERROR_INIT;
    struct schema schema;
    struct type *type = NULL;
    char *text = str_copy((const char *)data, n);
    char *name = text + strcspn(text, "\n");
    char *metadata;

    if (*name == '\n') {
        *name++ = '\0';
    }
    metadata = name + strcspn(name, "\n");
    if (*metadata == '\n') {
        *metadata++ = '\0';
    }
    if (type_parse(text, &type, &err) == SLUICE_OK) {
        check_type(type);
        type_destroy(type);
    } else {
        require(err.code == SLUICE_E_SCHEMA && type == NULL && err.message[0] != '\0');
    }
    schema_init(&schema);
    require(schema_add_text(&schema, "text", "utf8", NULL, &err) == SLUICE_OK);
    if (schema_add_text(&schema, name, text, metadata, &err) == SLUICE_OK) {
        size_t length = 0;
        const char *value = field_metadata(&schema.fields[1], "key", &length);
        char *printed = schema_print(&schema, true);
        require(schema_find(&schema, name) == 1 && printed != NULL);
        require(value == NULL || (value >= schema.fields[1].metadata &&
                                  length <= strlen(schema.fields[1].metadata) -
                                                (size_t)(value - schema.fields[1].metadata)));
        free(printed);
    }
    require(schema_missing(&schema, "", &err) == SLUICE_E_SCHEMA);
    require(schema_missing(&schema, name, &err) == SLUICE_E_SCHEMA);
    schema_deinit(&schema);
    free(text);
    return 0;
}
