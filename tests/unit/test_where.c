/* sdk/where: what is read and what is refused, and with which words; canonical forms; rows of
 * thousands of expressions made at random against an evaluator of the kit's own; bounds that are no
 * values, NaN, nulls that nobody counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"

#define KIT_CHECK(holds) assert_true(holds)
#include "tests/unit/where_kit.h"

static struct where *parsed(const char *text)
{
    struct sluice_error err = { .size = sizeof err };
    struct where *where = NULL;

    if (where_parse(text, &where, &err) != SLUICE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return where;
}

static void test_canonical(void **state)
{
    static const char *const all[][2] = {
        { "lang == 'en' AND n_words>50", "lang = 'en' and n_words > 50" },
        { "\"en\"=lang", "lang = 'en'" },
        { "50 < n", "n > 50" },
        { "not (a = 1 and b like 'x%')", "a != 1 or b not like 'x%'" },
        { "not not a < 1", "a < 1" },
        { "not a<1", "not a < 1" },
        { "not a is null or not b is not null", "a is not null or b is null" },
        { "not a in (1)", "a not in (1)" },
        { "a in (3,1, 2,1)", "a in (1, 2, 3)" },
        { "(a = 1 or b = 2) or c = 3", "a = 1 or b = 2 or c = 3" },
        { "a = 1 or b = 2 and c = 3", "a = 1 or (b = 2 and c = 3)" },
        { "a.b[0].`c d` = 'it''s'", "a.b[0].`c d` = 'it''s'" },
        { "`is`.x = \"say \"\"so\"\"\"", "`is`.x = 'say \"so\"'" },
        { "a = -0.0", "a = 0" },
        { "a = 1e3", "a = 1000" },
        { "a = 18446744073709551615", "a = 18446744073709551615" },
        { "a = 18446744073709551616", "a = 1.8446744073709552e+19" },
        { "a like '50!%' escape '!'", "a like '50!%' escape '!'" },
        { "Fl\xC3\xA4"
          "che = TRUE",
          "Fl\xC3\xA4"
          "che = true" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        char text[200];
        struct where *where = parsed(all[k][0]);
        where_text(where, text, sizeof text);
        assert_string_equal(text, all[k][1]);
        assert_int_equal(where_text(where, text, 5), strlen(all[k][1]));
        where_destroy(where);
    }
}

static void test_refused(void **state)
{
    static const char *const all[][2] = {
        { "", "where, character 1: found the end, expected an expression such as" },
        { "a", "where, character 2: found the end, expected =, ==, !=" },
        { "a = 1 adn b = 2", "where, character 7: found adn, expected and, or, or the end" },
        { "a = en", "where, character 5: found en, expected a value (texts are in quotes" },
        { "a = null", "found null, expected a value; `is null` asks for nulls" },
        { "a = 'en", "where, character 5: a text that does not end, expected ' behind it" },
        { "`a = 1", "a name that does not end" },
        { "\xC3\xA9 <> 1", "where, character 3: found <>, expected !=" },
        { "a ~= 1", "found ~=, expected !=" },
        { "a = 1 && b = 2", "found &&, expected and" },
        { "a = 1 || b = 2", "found ||, expected or" },
        { "!a = 1", "found !, expected != or not" },
        { "a in 1", "expected ( and a list of values" },
        { "a in (1", "found the end, expected , or )" },
        { "a in ()", "found ), expected a value" },
        { "a is 1", "expected null or not null" },
        { "a not = 1", "expected in or like" },
        { "a like 5", "expected a pattern in quotes" },
        { "a like 'x!y' escape '!'", "! stands before neither %, _ nor !" },
        { "a like 'x' escape '%'", "expected one character" },
        { "(a = 1", "expected and, or, or )" },
        { "a[x] = 1", "expected the number of a list's item" },
        { "a[-1] = 1", "expected the number of a list's item" },
        { "a[1 = 1", "expected ]" },
        { "a. = 1", "expected a name behind the dot" },
        { "null = 1", "expected a column (a column of this name is written in" },
        { "a = 12x", "found 12x, expected a number" },
        { "a = 5 #", "found #, expected a column, a value or a sign" },
        { "1 in (a)", "expected =, ==, !=" },
    };
    struct sluice_error err = { .size = sizeof err };
    struct where *where;
    char deep[2000] = "";

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        where = (struct where *)&err;
        assert_int_equal(where_parse(all[k][0], &where, &err), SLUICE_E_CONFIG);
        assert_null(where);
        if (strstr(err.message, all[k][1]) == NULL) {
            fail_msg("%s: %s", all[k][0], err.message);
        }
        assert_string_equal(err.field, "where");
    }
    for (int k = 0; k < 500; k++) {
        strcat(deep, "(");
    }
    assert_int_equal(where_parse(deep, &where, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "nested more than 100 deep"));
}

static void test_columns(void **state)
{
    static const char *const all[][2] = {
        { "x = 1 and ll = 1",
          "where, character 1: found x, expected a column: there is no 'x' among i, l, u" },
        { "i = 1 and `m`.ab = 1",
          "where, character 11: found m.ab, expected a column: there is no 'ab' "
          "among a b; did you mean 'a b'?" },
        { "i = '1'", "i, which is int32, is compared with a text, expected a number" },
        { "s = 1", "s, which is utf8, is compared with a number, expected a text in quotes" },
        { "b = 1", "b, which is bool, is compared with a number, expected true or false" },
        { "f = true", "expected a number" },
        { "i like '1%'", "i, which is int32, is compared with a text" },
        { "m = 1",
          "m, which is a struct, is compared with a number, expected a column of numbers" },
        { "i.x = 1", "found i.x, but what x is to be found in is int32" },
        { "g.x = 1", "found g.x, but what x is to be found in is a list" },
        { "i[0] = 1", "found i[0], but what an item is to be found in is int32" },
        { "d = '2024-02-30'",
          "d, which is a date, is compared with a text, expected a text such as '2024-02-29'" },
        { "t > '2024-02-29T24:00:00'", "expected a text such as '2024-02-29T23:59:59.5Z'" },
    };
    struct sluice_error err = { .size = sizeof err };
    struct kit_schema schema;
    struct where_bound *bound;

    (void)state;
    kit_make_schema(&schema);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        struct where *where = parsed(all[k][0]);
        assert_int_equal(where_bind(where, &schema.all, 0, &bound, &err), SLUICE_E_SCHEMA);
        assert_null(bound);
        if (strstr(err.message, all[k][1]) == NULL) {
            fail_msg("%s: %s", all[k][0], err.message);
        }
        where_destroy(where);
    }
}

/* What is not there is null when that was asked for; a dotted name is found, the longest first. */
static void test_absent(void **state)
{
    static const struct {
        const char *text;
        bool holds;
    } all[] = { { "x = 1", false },      { "x != 1", false },        { "not x = 1", false },
                { "x is null", true },   { "x is not null", false }, { "x.y[3] is null", true },
                { "m.c is null", true }, { "x like '%'", false },    { "x in (1, 2)", false } };
    struct sluice_error err = { .size = sizeof err };
    struct kit_schema schema;
    struct kit_source from = { .endless = true };
    struct kit_rows rows;

    (void)state;
    kit_make_schema(&schema);
    kit_make_rows(&rows, &from);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        struct where *where = parsed(all[k].text);
        struct where_bound *bound;
        uint8_t keep[KIT_ROWS];
        assert_int_equal(where_bind(where, &schema.all, WHERE_ABSENT_IS_NULL, &bound, &err),
                         SLUICE_OK);
        assert_int_equal(where_eval(bound, &rows.array, keep, &err), SLUICE_OK);
        assert_int_equal(keep[0], all[k].holds);
        assert_int_equal(where_leaves(bound), 1);
        assert_int_equal(where_leaf_at(bound, 0)->n, 0);
        assert_int_equal(where_may(bound, NULL, NULL, NULL), all[k].holds);
        where_unbind(bound);
        where_destroy(where);
    }
    {
        struct where *where = parsed("a.b.c = 1 and a.b.c > 0");
        struct where_bound *bound;
        schema.columns[0].name = "a.b.c";
        assert_int_equal(where_bind(where, &schema.all, 0, &bound, &err), SLUICE_OK);
        assert_int_equal(where_leaves(bound), 1);
        assert_int_equal(where_leaf_at(bound, 0)->children[0], 0);
        assert_string_equal(where_leaf_at(bound, 0)->format, "i");
        where_unbind(bound);
        where_destroy(where);
    }
    rows.array.release(&rows.array);
}

static void test_random(void **state)
{
    struct sluice_error err = { .size = sizeof err };
    struct kit_schema schema;
    unsigned ruled_out = 0;
    unsigned held = 0;

    (void)state;
    kit_make_schema(&schema);
    for (unsigned seed = 0; seed < 4000; seed++) {
        struct kit_source from = { .state = seed, .endless = true };
        struct kit_rows rows;
        struct kit_text text = { .n = 0 };
        struct where_bound *bound = NULL;
        struct where *where;
        struct kit_facts facts = { .rows = &rows, .to = 4 };
        kit_truths truths;
        kit_make_rows(&rows, &from);
        kit_expression(&text, &from, &rows, 3, truths);
        where = parsed(text.data);
        if (where_bind(where, &schema.all, 0, &bound, &err) != SLUICE_OK) {
            fail_msg("%s: %s", text.data, err.message);
        }
        kit_check(bound, &rows, truths, seed % 8);
        facts.bound = bound;
        ruled_out += !where_may(bound, kit_fact, NULL, &facts);
        held += truths[0] == 1;
        where_unbind(bound);
        where_destroy(where);
        rows.array.release(&rows.array);
    }
    /* Neither everything nor nothing. */
    assert_in_range(ruled_out, 300, 3000);
    assert_in_range(held, 500, 3500);
}

/* ---- bounds ---- */

static struct where_facts given;

static void give(void *ctx, size_t leaf, struct where_facts *facts)
{
    (void)ctx;
    (void)leaf;
    *facts = given;
}

static bool may(const char *text)
{
    struct sluice_error err = { .size = sizeof err };
    struct kit_schema schema;
    struct where *where = parsed(text);
    struct where_bound *bound;
    bool out;

    kit_make_schema(&schema);
    assert_int_equal(where_bind(where, &schema.all, 0, &bound, &err), SLUICE_OK);
    out = where_may(bound, give, NULL, NULL);
    where_unbind(bound);
    where_destroy(where);
    return out;
}

static void test_bounds(void **state)
{
    (void)state;
    given = (struct where_facts){ .min = { .kind = WHERE_REAL, .as.real = 1 },
                                  .max = { .kind = WHERE_REAL, .as.real = 1 },
                                  .nulls = 0,
                                  .values = 10 };
    assert_false(may("f = 2"));
    assert_false(may("f > 1"));
    assert_true(may("f != 1")); /* NaN may be among them */
    assert_true(may("not f <= 1"));
    assert_true(may("f not in (1)"));
    assert_false(may("f is null"));
    given.min.as.real = given.max.as.real = (double)NAN;
    assert_true(may("f = 2"));
    given.min = given.max = (struct where_value){ .kind = WHERE_INT, .as.whole = 1 };
    assert_false(may("l != 1"));
    assert_false(may("l not in (0, 1)"));
    assert_false(may("not l <= 1"));
    assert_false(may("l = 1.5"));
    given.nulls = -1;
    assert_true(may("l is null"));
    assert_false(may("l is null and l = 2"));
    given.nulls = 10;
    assert_false(may("l is not null"));
    assert_false(may("l != 1"));
    assert_true(may("g[1] is null"));
    given.nulls = 0;
    assert_true(may("g[1] is null")); /* a list may be too short */
    given.min = (struct where_value){ .kind = WHERE_TEXT, .as.text = "ab", .n = 2 };
    given.max = (struct where_value){ .kind = WHERE_TEXT, .as.text = "ad\xFF", .n = 3 };
    assert_true(may("s = 'abc'"));
    assert_false(may("s = 'aa'"));
    assert_false(may("s = 'ae'"));
    assert_true(may("s like 'a%'"));
    assert_true(may("s like 'ac_'"));
    assert_false(may("s like 'b%'"));
    assert_false(may("s like 'aa%'"));
    assert_true(may("s like 'ad%'"));
    assert_true(may("s like '%x'"));
    assert_true(may("s not like 'a%'"));
    given.min = given.max = (struct where_value){ .kind = WHERE_NONE };
    assert_true(may("s = 'aa' and s like 'q%' and s < 'a'"));
}

/* ---- rows of any types ---- */

static struct where_value find(void *ctx, const struct where_path *path)
{
    struct where_value value = { .kind = WHERE_NONE };
    const char *name = path->steps[0].name;

    (void)ctx;
    if (strcmp(name, "n") == 0) {
        value.kind = WHERE_INT;
        value.as.whole = 3;
    } else if (strcmp(name, "s") == 0) {
        value.kind = WHERE_TEXT;
        value.as.text = "3";
        value.n = 1;
    }
    return value;
}

static void test_any(void **state)
{
    static const struct {
        const char *text;
        bool holds;
    } all[] = { { "n = 3", true },         { "n = 3.0", true },
                { "n = '3'", false },      { "n != '3'", false },
                { "s = '3'", true },       { "s = 3", false },
                { "s != 3", false },       { "x is null", true },
                { "x != 3", false },       { "not n < 3", true },
                { "n in ('a', 3)", true }, { "s in (3, 4)", false },
                { "s not in (3)", false }, { "s like '_'", true },
                { "n like '3'", false },   { "n = 4 or s >= '2'", true } };

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        struct where *where = parsed(all[k].text);
        if (where_holds(where, find, NULL) != all[k].holds) {
            fail_msg("%s", all[k].text);
        }
        where_destroy(where);
    }
    {
        struct where *where = parsed("n = 3 or meta.x like 'a'");
        enum where_kind kind;
        assert_true(where_names(where, "n", &kind));
        assert_int_equal(kind, WHERE_INT);
        assert_true(where_names(where, "meta", &kind));
        assert_int_equal(kind, WHERE_TEXT);
        assert_false(where_names(where, "x", NULL));
        assert_false(where_is_equals(where));
        where_destroy(where);
    }
}

/* Each allocation fails in turn: refused, nothing left behind. */
static void test_memory(void **state)
{
    static const char *const text =
        "s in ('a', 'b') and (l > 5 or m.`a b` is null or g[0] like 'a%') and not u = 3";
    struct sluice_error err = { .size = sizeof err };
    struct kit_source from = { .endless = true };
    struct kit_schema schema;
    struct kit_rows rows;
    int failed = 0;

    (void)state;
    kit_make_schema(&schema);
    kit_make_rows(&rows, &from);
    for (int64_t k = 0;; k++) {
        struct where *where = NULL;
        struct where_bound *bound = NULL;
        uint8_t keep[KIT_ROWS];
        sluice_status status;
        alloc_state.failed = false;
        alloc_state.left = k;
        status = where_parse(text, &where, &err);
        status = status == SLUICE_OK ? where_bind(where, &schema.all, 0, &bound, &err) : status;
        status = status == SLUICE_OK ? where_eval(bound, &rows.array, keep, &err) : status;
        alloc_state.left = -1;
        where_unbind(bound);
        where_destroy(where);
        if (!alloc_state.failed) {
            assert_int_equal(status, SLUICE_OK);
            break;
        }
        assert_int_equal(status, SLUICE_E_NOMEM);
        failed++;
    }
    assert_in_range(failed, 4, 1000);
    rows.array.release(&rows.array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_columns),   cmocka_unit_test(test_absent),
        cmocka_unit_test(test_random),    cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_any),       cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
