/* data/schema: the schema language, types and schemas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"

#include "data/schema.h"

static struct type *parse(const char *text)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type = NULL;

    if (type_parse(text, &type, &err) != SLUICE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return type;
}

static void test_round_trip(void **state)
{
    static const char *const texts[][2] = {
        { "bool", NULL },
        { "int8", NULL },
        { "int16", NULL },
        { "int32", NULL },
        { "int64", NULL },
        { "uint8", NULL },
        { "uint16", NULL },
        { "uint32", NULL },
        { "uint64", NULL },
        { "float32", NULL },
        { "float64", NULL },
        { "utf8", NULL },
        { "binary", NULL },
        { "json?", NULL },
        { "fixed[16]", NULL },
        { " fixed [ 65536 ] ? ", "fixed[65536]?" },
        { "spans", NULL },
        { "spans?", NULL },
        { "list<utf8?>?", NULL },
        { "list < list<int8> >", "list<list<int8>>" },
        { "struct<>", NULL },
        { "struct<a:int8,b:struct<c:utf8?>?>", NULL },
        { "struct< a : int8 , \"b\" : bool >", "struct<a:int8,b:bool>" },
        { "struct<\"a b\":int8,\"q\\\"\\\\\":utf8,h\xC3\xA9-.9:bool>", NULL },
        { "map<utf8,int64?>", NULL },
        { "large_utf8", NULL },
        { "large_binary?", NULL },
        { "large_list<utf8>", NULL },
        { "date32", NULL },
        { "date64", NULL },
        { "time32[ms]", NULL },
        { "time64[ns]", NULL },
        { "timestamp[us]", NULL },
        { "timestamp[s,Europe/Berlin]?", NULL },
        { "timestamp[ms,America/Argentina/ComodRivadavia]", NULL },
        { "timestamp[ns,+02:00]", NULL },
        { "duration[s]", NULL },
        { "decimal128(38,-5)", NULL },
        { "decimal128( 10 , 2 )?", "decimal128(10,2)?" },
        { "null", NULL },
        { "dictionary<int32,utf8>", NULL },
    };

    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        struct type *type = parse(texts[k][0]);
        char *printed = type_print(type);
        struct type *again = parse(printed);
        struct type *copy = type_copy(type);
        assert_string_equal(printed, texts[k][1] != NULL ? texts[k][1] : texts[k][0]);
        assert_true(type_equal(type, again, true));
        assert_true(type_equal(type, copy, true));
        assert_int_equal(type->spans, copy->spans);
        free(printed);
        type_destroy(type);
        type_destroy(again);
        type_destroy(copy);
    }
}

static void test_parsed_facts(void **state)
{
    struct type *type = parse("struct<ids:fixed[16]?,\"two words\":list<utf8>>?");

    (void)state;
    assert_int_equal(type->kind, TYPE_STRUCT);
    assert_true(type->nullable);
    assert_int_equal(type->n_children, 2);
    assert_string_equal(type->names[0], "ids");
    assert_string_equal(type->names[1], "two words");
    assert_int_equal(type->children[0]->kind, TYPE_FIXED);
    assert_int_equal(type->children[0]->width, 16);
    assert_true(type->children[0]->nullable);
    assert_int_equal(type->children[1]->kind, TYPE_LIST);
    assert_int_equal(type->children[1]->children[0]->kind, TYPE_UTF8);
    type_destroy(type);
    type = parse("decimal128(38,-5)");
    assert_int_equal(type->width, 38);
    assert_int_equal(type->scale, -5);
    type_destroy(type);
    type = parse("timestamp[ us , UTC ]");
    assert_string_equal(type->unit, "us,UTC");
    type_destroy(type);
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        { "", "ends too early: expected a type" },
        { "uft8", "did you mean 'utf8'" },
        { "string", "did you mean 'utf8'" },
        { "double", "did you mean 'float64'" },
        { "int", "did you mean 'int64'" },
        { "xylophone", "expected a type: bool" },
        { "list<utf8", "ends too early: expected '>'" },
        { "list", "expected '<'" },
        { "list<>", "at byte 5: expected a type" },
        { "list<utf8>>", "has '>' at byte 10: expected the end" },
        { "utf8??", "expected the end" },
        { "utf8 x", "expected the end" },
        { "struct<a>", "expected ':'" },
        { "struct<a:>", "expected a type" },
        { "struct<:utf8>", "expected the name" },
        { "struct<\"\":utf8>", "expected the name" },
        { "struct<\"a:utf8>", "expected the rest of a name" },
        { "struct<\"a\\n\":utf8>", "expected the rest of a name" },
        { "struct<\xC3:utf8>", "in UTF-8" },
        { "struct<a:utf8 b:utf8>", "expected ',' and another member" },
        { "struct<a:utf8,a:int8>", "member of this name already" },
        { "struct<a:utf8,\"a\":int8>", "member of this name already" },
        { "fixed", "expected '['" },
        { "fixed[0]", "from 1 to 65536" },
        { "fixed[-1]", "from 1 to 65536" },
        { "fixed[65537]", "from 1 to 65536" },
        { "fixed[99999999999999999999999]", "from 1 to 65536" },
        { "fixed[]", "from 1 to 65536" },
        { "fixed[8", "expected ']'" },
        { "map<utf8?,int8>", "keys of a map" },
        { "map<utf8>", "expected ','" },
        { "dictionary<utf8,utf8>", "expected an integer type" },
        { "time32[us]", "expected s or ms" },
        { "time64[s]", "expected us or ns" },
        { "duration[m]", "expected s, ms, us or ns" },
        { "duration[s,UTC]", "expected ']'" },
        { "timestamp[]", "expected s, ms, us or ns" },
        { "timestamp[us,]", "expected a time zone" },
        { "timestamp[us,aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd]", "expected a time zone" },
        { "decimal128(39,0)", "precision from 1 to 38" },
        { "decimal128(0,0)", "precision from 1 to 38" },
        { "decimal128(10,99)", "scale from -38 to 38" },
        { "decimal128(10)", "expected ','" },
        { "Utf8", "did you mean 'utf8'" },
        { "utf8\x01", "expected the end" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct sluice_error err = ERROR_INIT;
        struct type *type = NULL;
        assert_int_equal(type_parse(cases[k][0], &type, &err), SLUICE_E_SCHEMA);
        assert_null(type);
        assert_int_equal(err.code, SLUICE_E_SCHEMA);
        if (strstr(err.message, cases[k][1]) == NULL) {
            fail_msg("'%s' gave \"%s\", expected \"%s\" in it", cases[k][0], err.message,
                     cases[k][1]);
        }
        assert_int_equal(type_parse(cases[k][0], &type, NULL), SLUICE_E_SCHEMA);
    }
}

static void nest(char *out, int levels)
{
    out[0] = '\0';
    for (int i = 0; i < levels; i++) {
        strcat(out, "list<");
    }
    strcat(out, "int8");
    for (int i = 0; i < levels; i++) {
        strcat(out, ">");
    }
}

static void test_depth(void **state)
{
    char text[2000];
    struct sluice_error err = ERROR_INIT;
    struct type *type;

    (void)state;
    nest(text, 32);
    type = parse(text);
    type_destroy(type);
    nest(text, 33);
    assert_int_equal(type_parse(text, &type, &err), SLUICE_E_SCHEMA);
    assert_non_null(strstr(err.message, "at most 32"));
    memset(text, 0, sizeof text);
    for (int i = 0; i < 399; i++) {
        memcpy(text + i * 5, "list<", 5);
    }
    assert_int_equal(type_parse(text, &type, &err), SLUICE_E_SCHEMA);
}

static void test_members_are_bounded(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type = NULL;
    char *text = malloc(5000 * 12);
    size_t n = 0;

    (void)state;
    n += (size_t)sprintf(text, "struct<");
    for (int i = 0; i < 4096; i++) {
        n += (size_t)sprintf(text + n, "%sm%d:int8", i > 0 ? "," : "", i);
    }
    strcpy(text + n, ">");
    assert_int_equal(type_parse(text, &type, &err), SLUICE_OK);
    assert_int_equal(type->n_children, 4096);
    type_destroy(type);
    strcpy(text + n, ",more:int8>");
    assert_int_equal(type_parse(text, &type, &err), SLUICE_E_SCHEMA);
    free(text);
}

static void test_equal(void **state)
{
    static const struct {
        const char *a, *b;
        bool loose, strict;
    } cases[] = {
        { "utf8", "utf8", true, true },
        { "utf8", "utf8?", true, false },
        { "list<utf8>", "list<utf8?>", true, false },
        { "utf8", "json", false, false },
        { "spans", "list<uint64>", true, true },
        { "spans", "list<uint32>", false, false },
        { "fixed[4]", "fixed[5]", false, false },
        { "struct<a:int8>", "struct<b:int8>", false, false },
        { "struct<a:int8>", "struct<a:int8,b:int8>", false, false },
        { "struct<a:int8,b:utf8>", "struct<b:utf8,a:int8>", false, false },
        { "timestamp[us]", "timestamp[us,UTC]", false, false },
        { "decimal128(5,1)", "decimal128(5,2)", false, false },
        { "map<utf8,int8>", "map<utf8,int16>", false, false },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct type *a = parse(cases[k].a);
        struct type *b = parse(cases[k].b);
        assert_int_equal(type_equal(a, b, false), cases[k].loose);
        assert_int_equal(type_equal(b, a, false), cases[k].loose);
        assert_int_equal(type_equal(a, b, true), cases[k].strict);
        type_destroy(a);
        type_destroy(b);
    }
}

static void test_supported(void **state)
{
    static const struct {
        const char *text;
        bool yes;
    } cases[] = {
        { "bool", true },
        { "float64?", true },
        { "fixed[2]", true },
        { "struct<a:list<json?>>", true },
        { "spans", true },
        { "null", false },
        { "map<utf8,utf8>", false },
        { "large_utf8", false },
        { "list<date32>", false },
        { "struct<a:int8,b:list<null>>", false },
        { "dictionary<int8,utf8>", false },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct type *type = parse(cases[k].text);
        assert_int_equal(type_supported(type), cases[k].yes);
        type_destroy(type);
    }
}

static void test_schema(void **state)
{
    struct schema schema;
    struct schema copy;
    struct sluice_error err = ERROR_INIT;
    char *text;
    const char *value;
    size_t n;

    (void)state;
    schema_init(&schema);
    assert_int_equal(schema_add_text(&schema, "id", "utf8", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "_row", "uint64", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "tokens", "list<uint32>?",
                                     "vocab_size=50257\neos=0\nempty=\na=b=c\n", &err),
                     SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "two words", "json", "", &err), SLUICE_OK);
    assert_int_equal(schema.n, 4);
    assert_true(schema.fields[1].hidden);
    assert_false(schema.fields[0].hidden);
    assert_int_equal(schema_find(&schema, "tokens"), 2);
    assert_int_equal(schema_find(&schema, "Tokens"), -1);

    text = schema_print(&schema, false);
    assert_string_equal(text, "id:utf8, tokens:list<uint32>?, \"two words\":json");
    free(text);
    text = schema_print(&schema, true);
    assert_string_equal(text, "id:utf8, _row:uint64, tokens:list<uint32>?, \"two words\":json");
    free(text);

    value = field_metadata(&schema.fields[2], "vocab_size", &n);
    assert_int_equal(n, 5);
    assert_memory_equal(value, "50257", 5);
    value = field_metadata(&schema.fields[2], "empty", &n);
    assert_non_null(value);
    assert_int_equal(n, 0);
    value = field_metadata(&schema.fields[2], "a", &n);
    assert_int_equal(n, 3);
    assert_memory_equal(value, "b=c", 3);
    assert_null(field_metadata(&schema.fields[2], "vocab", &n));
    assert_null(field_metadata(&schema.fields[2], "0", &n));
    assert_null(field_metadata(&schema.fields[0], "vocab_size", &n));

    schema.fields[3].derived_provider = strdup("words");
    schema.fields[3].derived_options = strdup("rule=uax29");
    schema.fields[3].derived_source = strdup("text");
    assert_int_equal(schema_copy(&copy, &schema, &err), SLUICE_OK);
    assert_true(schema_equal(&schema, &copy));
    assert_string_equal(copy.fields[2].metadata, schema.fields[2].metadata);
    assert_true(copy.fields[1].hidden);
    assert_string_equal(copy.fields[3].derived_options, "rule=uax29");

    schema_remove(&copy, 0);
    assert_false(schema_equal(&schema, &copy));
    assert_int_equal(copy.n, 3);
    assert_int_equal(schema_find(&copy, "tokens"), 1);
    schema_remove(&copy, 2);
    assert_int_equal(copy.n, 2);
    assert_int_equal(schema_add_text(&copy, "id", "utf8", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_find(&copy, "id"), 2);
    schema_deinit(&copy);
    schema_deinit(&schema);

    schema_init(&schema);
    text = schema_print(&schema, true);
    assert_string_equal(text, "");
    free(text);
    schema_deinit(&schema);
}

static void test_schema_refuses(void **state)
{
    struct schema schema;
    struct sluice_error err = ERROR_INIT;
    char name[300];

    (void)state;
    schema_init(&schema);
    assert_int_equal(schema_add_text(&schema, "text", "utf8", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "text", "int8", NULL, &err), SLUICE_E_SCHEMA);
    assert_string_equal(err.field, "text");
    assert_non_null(strstr(err.message, "already"));
    assert_int_equal(schema_add_text(&schema, "other", "strong", NULL, &err), SLUICE_E_SCHEMA);
    assert_non_null(strstr(err.message, "column 'other': "));
    assert_int_equal(schema_add_text(&schema, "", "utf8", NULL, &err), SLUICE_E_SCHEMA);
    assert_int_equal(schema_add_text(&schema, "a\xFF", "utf8", NULL, &err), SLUICE_E_SCHEMA);
    assert_non_null(strstr(err.message, "not UTF-8"));
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    assert_int_equal(schema_add_text(&schema, name, "utf8", NULL, &err), SLUICE_E_SCHEMA);
    name[255] = '\0';
    assert_int_equal(schema_add_text(&schema, name, "utf8", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "m", "utf8", "novalue", &err), SLUICE_E_SCHEMA);
    assert_non_null(strstr(err.message, "key=value"));
    assert_int_equal(schema_add_text(&schema, "m", "utf8", "a=1\n=2", &err), SLUICE_E_SCHEMA);
    assert_int_equal(schema.n, 2);
    schema_deinit(&schema);
}

static void test_missing(void **state)
{
    struct schema schema;
    struct sluice_error err = ERROR_INIT;
    char name[32];

    (void)state;
    schema_init(&schema);
    assert_int_equal(schema_missing(&schema, "txt", &err), SLUICE_E_SCHEMA);
    assert_string_equal(err.message,
                        "found no columns at all, expected 'txt'; add a stage that makes it");
    assert_int_equal(schema_add_text(&schema, "id", "utf8", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "text", "utf8", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_add_text(&schema, "_row", "uint64", NULL, &err), SLUICE_OK);
    assert_int_equal(schema_missing(&schema, "txt", &err), SLUICE_E_SCHEMA);
    assert_string_equal(err.message, "found the columns id, text, no 'txt'; did you mean 'text'?");
    assert_string_equal(err.field, "txt");
    assert_int_equal(schema_missing(&schema, "language", &err), SLUICE_E_SCHEMA);
    assert_string_equal(err.message,
                        "found the columns id, text, no 'language'; name one of these");
    for (int k = 0; k < 400; k++) {
        snprintf(name, sizeof name, "column_%03d", k);
        assert_int_equal(schema_add_text(&schema, name, "utf8", NULL, &err), SLUICE_OK);
    }
    assert_int_equal(schema_missing(&schema, "txt", &err), SLUICE_E_SCHEMA);
    assert_non_null(strstr(err.message, " more, no 'txt'; did you mean 'text'?"));
    schema_deinit(&schema);
}

static void test_out_of_memory(void **state)
{
    static const char text[] =
        "struct<a:list<spans?>,\"b c\":map<utf8,fixed[3]>,d:timestamp[us,UTC]>";
    struct sluice_error err = ERROR_INIT;
    struct schema schema;
    struct schema copy;
    struct type *type = NULL;
    struct type *made = NULL;
    char *printed = NULL;
    sluice_status status;

    (void)state;
    ALLOC_EACH(status = type_parse(text, &made, &err), type_destroy(made));
    type = parse(text);
    ALLOC_EACH((made = type_copy(type), status = made != NULL ? SLUICE_OK : SLUICE_E_NOMEM),
               type_destroy(made));
    ALLOC_EACH((printed = type_print(type), status = printed != NULL ? SLUICE_OK : SLUICE_E_NOMEM),
               free(printed));
    ALLOC_EACH((schema_init(&schema), status = schema_add(&schema, "x", type, "a=b", &err)),
               schema_deinit(&schema));
    schema_init(&schema);
    assert_int_equal(schema_add(&schema, "x", type, "a=b", &err), SLUICE_OK);
    assert_int_equal(schema_add(&schema, "y", type, NULL, &err), SLUICE_OK);
    schema.fields[1].derived_source = strdup("x");
    ALLOC_EACH(status = schema_copy(&copy, &schema, &err), schema_deinit(&copy));
    ALLOC_EACH((printed = schema_print(&schema, true),
                status = printed != NULL ? SLUICE_OK : SLUICE_E_NOMEM),
               free(printed));
    ALLOC_EACH((status = schema_missing(&schema, "z", &err),
                status = status == SLUICE_E_SCHEMA ? SLUICE_OK : status),
               (void)0);
    schema_deinit(&schema);
    type_destroy(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_parsed_facts),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_members_are_bounded),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_supported),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_schema_refuses),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
