/* Tests of casts between types: every rule of cast_columns on both sides of its edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cast_value.h"

/* A column of one value of a type, made from the text of one. */
static void make(const char *type, const char *text, struct ArrowArray *out)
{
    struct cast_type to;
    struct cast_column column = { 0 };
    struct cast_value value = { .is = VALUE_TEXT, .text = text, .n = strlen(text) };
    const char *bad;

    assert_true(cast_type_parse(type, &to));
    assert_true(cast_write(to, &value, &column, &bad));
    if (bad != NULL) {
        fail_msg("\"%s\" is no %s: %s", text, type, bad);
    }
    assert_int_equal(cast_make(to, &column, out), SLUICE_OK);
}

/* What becomes of it; "!reason" of one that can't be cast. */
static void cast(const char *from_type, const char *text, const char *to_type, char out[200])
{
    struct cast_type from, to, plain;
    struct ArrowArray array, made, shown;
    struct cast_column column = { 0 };
    struct cast_column again = { 0 };
    struct cast_value value;
    const char *bad;
    size_t n;

    make(from_type, text, &array);
    assert_true(cast_type_parse(from_type, &from));
    assert_true(cast_type_parse(to_type, &to));
    assert_true(cast_type_parse("utf8", &plain));
    assert_true(cast_possible(from, to));
    assert_true(cast_read(from, &array, 0, &value));
    assert_true(cast_write(to, &value, &column, &bad));
    free(value.own);
    array.release(&array);
    if (bad != NULL) {
        snprintf(out, 200, "!%s", bad);
        cast_column_deinit(&column);
        return;
    }
    assert_int_equal(cast_make(to, &column, &made), SLUICE_OK);
    if (to.kind == CAST_JSON || to.kind == CAST_BINARY) {
        text = sluice_text(&made, 0, &n);
        snprintf(out, 200, "%.*s", (int)n, text);
    } else {
        assert_true(cast_read(to, &made, 0, &value));
        if (value.is == VALUE_NONE) {
            snprintf(out, 200, "null");
        } else {
            assert_true(cast_write(plain, &value, &again, &bad));
            assert_null(bad);
            assert_int_equal(cast_make(plain, &again, &shown), SLUICE_OK);
            text = sluice_text(&shown, 0, &n);
            snprintf(out, 200, "%.*s", (int)n, text);
            shown.release(&shown);
        }
        free(value.own);
    }
    made.release(&made);
}

#define WHOLE "!it is no whole number"
#define REAL "!it is no number"
#define OUT "!it is out of range"
#define DIGITS "!it has more digits than the type holds"
#define TRUTH "!it is none of true, false, 1 and 0"

static void test_values(void **state)
{
    static const char *const cases[][4] = {
        /* whole numbers */
        { "utf8", "127", "int8", "127" },
        { "utf8", "128", "int8", OUT },
        { "utf8", "-128", "int8", "-128" },
        { "utf8", "-129", "int8", OUT },
        { "utf8", "255", "uint8", "255" },
        { "utf8", "256", "uint8", OUT },
        { "utf8", "-1", "uint8", OUT },
        { "utf8", "-0", "uint8", "0" },
        { "utf8", "+7", "int16", "7" },
        { "utf8", "007", "int16", "7" },
        { "utf8", "32768", "int16", OUT },
        { "utf8", "65535", "uint16", "65535" },
        { "utf8", "-2147483648", "int32", "-2147483648" },
        { "utf8", "4294967296", "uint32", OUT },
        { "utf8", "9223372036854775807", "int64", "9223372036854775807" },
        { "utf8", "9223372036854775808", "int64", OUT },
        { "utf8", "-9223372036854775808", "int64", "-9223372036854775808" },
        { "utf8", "18446744073709551615", "uint64", "18446744073709551615" },
        { "utf8", "18446744073709551616", "uint64", OUT },
        { "utf8", "99999999999999999999999", "uint64", OUT },
        { "utf8", "", "int64", WHOLE },
        { "utf8", "-", "int64", WHOLE },
        { "utf8", " 1", "int64", WHOLE },
        { "utf8", "1 ", "int64", WHOLE },
        { "utf8", "1.0", "int64", WHOLE },
        { "utf8", "0x10", "int64", WHOLE },
        { "utf8", "1e3", "int64", WHOLE },
        { "int64", "-1", "uint64", OUT },
        { "uint64", "18446744073709551615", "int64", OUT },
        { "int64", "-129", "int8", OUT },
        { "int8", "-128", "int64", "-128" },
        { "float64", "3.0", "int8", "3" },
        { "float64", "3.5", "int8", WHOLE },
        { "float64", "-0.0", "uint8", "0" },
        { "float64", "9223372036854775808", "int64", OUT },
        { "float64", "-9223372036854775808", "int64", "-9223372036854775808" },
        { "float64", "1e300", "uint64", OUT },
        { "float64", "nan", "int64", WHOLE },
        { "float64", "inf", "int64", OUT },
        { "bool", "true", "int8", "1" },
        { "bool", "false", "uint64", "0" },
        /* real numbers */
        { "utf8", "0.1", "float64", "0.1" },
        { "utf8", "1e308", "float64", "1e+308" },
        { "utf8", "1e309", "float64", OUT },
        { "utf8", "-inf", "float64", "-inf" },
        { "utf8", "nan", "float64", "nan" },
        { "utf8", "NaN", "float64", REAL },
        { "utf8", "infinity", "float64", REAL },
        { "utf8", "0x1p3", "float64", REAL },
        { "utf8", "1,5", "float64", REAL },
        { "utf8", "", "float64", REAL },
        { "utf8", "1.", "float64", "1.0" },
        { "utf8", "1e39", "float32", OUT },
        { "int64", "9007199254740992", "float64", "9007199254740992.0" },
        { "int64", "9007199254740993", "float64", DIGITS },
        { "uint64", "18446744073709551615", "float64", DIGITS },
        { "int64", "16777216", "float32", "16777216.0" },
        { "int64", "16777217", "float32", DIGITS },
        { "float64", "0.5", "float32", "0.5" },
        { "float64", "1e39", "float32", OUT },
        { "float64", "inf", "float32", "inf" },
        { "bool", "true", "float32", "1.0" },
        /* bools */
        { "utf8", "true", "bool", "true" },
        { "utf8", "false", "bool", "false" },
        { "utf8", "1", "bool", "true" },
        { "utf8", "0", "bool", "false" },
        { "utf8", "True", "bool", TRUTH },
        { "utf8", "yes", "bool", TRUTH },
        { "utf8", "", "bool", TRUTH },
        { "utf8", "-1", "bool", TRUTH },
        { "int64", "2", "bool", TRUTH },
        { "float64", "1.0", "bool", "true" },
        { "float64", "0.5", "bool", TRUTH },
        /* texts */
        { "int64", "-5", "utf8", "-5" },
        { "uint64", "18446744073709551615", "utf8", "18446744073709551615" },
        { "float64", "1e22", "utf8", "1e+22" },
        { "bool", "true", "utf8", "true" },
        { "binary", "caf\xc3\xa9", "utf8", "caf\xc3\xa9" },
        { "utf8", "caf\xc3\xa9", "binary", "caf\xc3\xa9" },
        /* JSON */
        { "json", "\"a\\u00e9\\n\"", "utf8", "a\xc3\xa9\n" },
        { "json", "\"12\"", "int64", "12" },
        { "json", "12", "utf8", "12" },
        { "json", "1.5", "int64", WHOLE },
        { "json", "1.5", "float32", "1.5" },
        { "json", "true", "bool", "true" },
        { "json", "null", "int64", "null" },
        { "json", "{\"a\":1}", "utf8", "{\"a\":1}" },
        { "json", "[1]", "int64", WHOLE },
        { "utf8", "{\"a\": 1}", "json", "{\"a\": 1}" },
        { "utf8", "a", "json", "!it is no JSON" },
        { "int64", "3", "json", "3" },
        { "float64", "nan", "json", "!JSON has no such number" },
        { "bool", "false", "json", "false" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char found[200];
        cast(cases[i][0], cases[i][1], cases[i][2], found);
        if (strcmp(found, cases[i][3]) != 0) {
            fail_msg("%s '%s' as %s: found %s, expected %s", cases[i][0], cases[i][1], cases[i][2],
                     found, cases[i][3]);
        }
    }
}

static void test_not_utf8(void **state)
{
    struct cast_type to;
    struct cast_column column = { 0 };
    struct cast_value value = { .is = VALUE_TEXT, .text = "a\xff", .n = 2 };
    const char *bad;

    (void)state;
    assert_true(cast_type_parse("utf8", &to));
    assert_true(cast_write(to, &value, &column, &bad));
    assert_string_equal(bad, "it is no UTF-8");
    assert_int_equal(column.n, 0);
    cast_column_deinit(&column);
}

static void test_nulls(void **state)
{
    static const char *const types[] = { "bool?", "int8", "uint64?", "float32", "utf8", "json" };

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct cast_type to;
        struct cast_column column = { 0 };
        struct cast_value none = { .is = VALUE_NONE };
        struct ArrowArray made;
        const char *bad;
        assert_true(cast_type_parse(types[i], &to));
        assert_true(cast_write(to, &none, &column, &bad));
        assert_null(bad);
        assert_int_equal(cast_make(to, &column, &made), SLUICE_OK);
        assert_int_equal(made.null_count, 1);
        assert_true(cast_read(to, &made, 0, &none));
        assert_int_equal(none.is, VALUE_NONE);
        made.release(&made);
    }
}

static void test_types(void **state)
{
    struct cast_type binary, whole, text;

    (void)state;
    assert_false(cast_type_parse("", &text));
    assert_false(cast_type_parse("list<utf8>", &text));
    assert_false(cast_type_parse("int6", &text));
    assert_true(cast_type_parse("binary", &binary));
    assert_true(cast_type_parse("int8", &whole));
    assert_true(cast_type_parse("utf8?", &text));
    assert_false(cast_possible(binary, whole));
    assert_false(cast_possible(whole, binary));
    assert_true(cast_possible(binary, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_not_utf8),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
