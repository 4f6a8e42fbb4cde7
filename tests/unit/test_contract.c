/* Tests of what contracts are made of: times, likeness of names, rules on values, profiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract.h"
#include "contract_time.h"
#include "gate_schema.h"
#include "profile.h"

/* ---- times ---- */

static void test_times(void **state)
{
    static const struct {
        const char *text;
        const char *printed; /* NULL: no time */
        int64_t rest;        /* microseconds of the second */
    } cases[] = {
        { "1970-01-01", "1970-01-01T00:00:00Z", 0 },
        { "1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z", 500000 },
        { "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", 0 },
        { "2026-03-01 10:00", "2026-03-01T10:00:00Z", 0 },
        { "2026-03-01T10:00:00.123456789Z", "2026-03-01T10:00:00Z", 123456 },
        { "2026-03-01T00:30:00+01:00", "2026-02-28T23:30:00Z", 0 },
        { "2026-02-28T23:30:00-0100", "2026-03-01T00:30:00Z", 0 },
        { "2024-02-29", "2024-02-29T00:00:00Z", 0 },
        { "2000-02-29", "2000-02-29T00:00:00Z", 0 },
        { "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", 0 },
        { "0001-01-01", "0001-01-01T00:00:00Z", 0 },
        { "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", 0 },
        { "2026-02-29", NULL, 0 },
        { "1900-02-29", NULL, 0 },
        { "2026-13-01", NULL, 0 },
        { "2026-00-10", NULL, 0 },
        { "2026-04-31", NULL, 0 },
        { "0000-01-01", NULL, 0 },
        { "2026-3-1", NULL, 0 },
        { "2026-03-01T", NULL, 0 },
        { "2026-03-01T24:00:00Z", NULL, 0 },
        { "2026-03-01T10:60", NULL, 0 },
        { "2026-03-01T10:00:00.", NULL, 0 },
        { "2026-03-01T10:00:00ZZ", NULL, 0 },
        { "2026-03-01T10:00:00+1", NULL, 0 },
        { "yesterday", NULL, 0 },
        { "", NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t micros = 0;
        char printed[40];
        bool good = contract_time_read(cases[i].text, strlen(cases[i].text), &micros);
        if (good != (cases[i].printed != NULL)) {
            fail_msg("'%s' is %s", cases[i].text, good ? "a time" : "none");
        }
        if (!good) {
            continue;
        }
        contract_time_print(micros, printed);
        assert_string_equal(printed, cases[i].printed);
        assert_int_equal((micros % 1000000 + 1000000) % 1000000, cases[i].rest);
    }
}

/* ---- names ---- */

static void test_alike(void **state)
{
    (void)state;
    assert_int_equal(gate_names_alike("text", "text_clean"), 100);
    assert_int_equal(gate_names_alike("clean.text", "text"), 100);
    assert_true(gate_names_alike("response", "responses") > 80);
    assert_true(gate_names_alike("Text", "txet") == 0 || gate_names_alike("Text", "txet") < 80);
    assert_true(gate_names_alike("langage", "language") > 70);
    assert_int_equal(gate_names_alike("response", "completion"), 0);
    assert_int_equal(gate_names_alike("text", "context"), 0);
    assert_int_equal(gate_names_alike("Language", "lang"), 90);
    assert_int_equal(gate_names_alike("id", "identity"), 0);
    assert_int_equal(gate_names_alike("", "a"), 0);
}

static void test_types(void **state)
{
    (void)state;
    assert_true(gate_type_among("utf8?", "json | utf8"));
    assert_true(gate_type_among("list<utf8>", "any"));
    assert_false(gate_type_among("utf8", "utf"));
    assert_false(gate_type_among("", "utf8"));
}

/* ---- rules ---- */

static struct cast_value text_value(const char *text)
{
    return (struct cast_value){ .is = VALUE_TEXT, .text = text, .n = strlen(text) };
}

static struct cast_value whole_value(int64_t number)
{
    return (struct cast_value){ .is = VALUE_WHOLE,
                                .negative = number < 0,
                                .magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number };
}

static struct cast_value real_value(double number)
{
    return (struct cast_value){ .is = VALUE_REAL, .real = number };
}

static struct contract_rule rule_of(enum contract_kind kind, const char *type, const char *asked)
{
    struct contract_rule rule = { .kind = kind, .column = "c", .asked = asked };
    struct sluice_error err = { .size = sizeof err };

    assert_true(cast_type_parse(type, &rule.type));
    if (contract_rule_read(&rule, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return rule;
}

static void check(enum contract_kind kind, const char *type, const char *asked,
                  struct cast_value value, bool expected)
{
    struct contract_rule rule = rule_of(kind, type, asked);
    struct contract_matcher matcher;
    bool limit;

    assert_int_equal(contract_matcher_init(&matcher, NULL), SLUICE_OK);
    if (contract_rule_kept(&rule, &matcher, &value, &limit) != expected) {
        char shown[80];
        contract_show(&value, shown);
        fail_msg("%s keeps %s: not %d", shown, asked, expected);
    }
    assert_false(limit);
    contract_matcher_deinit(&matcher);
    contract_rule_deinit(&rule);
}

static void test_rules(void **state)
{
    (void)state;
    check(CONTRACT_RANGE, "int64", "0..10", whole_value(0), true);
    check(CONTRACT_RANGE, "int64", "0..10", whole_value(10), true);
    check(CONTRACT_RANGE, "int64", "0..10", whole_value(11), false);
    check(CONTRACT_RANGE, "int64", "0..", whole_value(-1), false);
    check(CONTRACT_RANGE, "int64", "..-5", whole_value(-6), true);
    /* Beyond the digits of a double. */
    check(CONTRACT_RANGE, "int64", "..9223372036854775806", whole_value(INT64_MAX), false);
    check(CONTRACT_RANGE, "int64", "9007199254740993..", whole_value(9007199254740992), false);
    check(CONTRACT_RANGE, "float64", "0..1", real_value(1.0000001), false);
    check(CONTRACT_RANGE, "float64", "0..1", real_value(NAN), false);
    check(CONTRACT_RANGE, "float64", "0..", real_value(INFINITY), true);
    check(CONTRACT_RANGE, "utf8", "2026..2027", text_value("2026-01-01"), true);
    check(CONTRACT_RANGE, "utf8", "2026..2027", text_value("2027-01-01"), false);
    check(CONTRACT_RANGE, "utf8", "b..", text_value("a"), false);
    check(CONTRACT_LENGTH, "utf8", "1..3", text_value("\xc3\xa4\xc3\xa4\xc3\xa4"), true);
    check(CONTRACT_LENGTH, "utf8", "1..3", text_value("abcd"), false);
    check(CONTRACT_LENGTH, "utf8", "1..", text_value(""), false);
    check(CONTRACT_REGEX, "utf8", "^\\w+$", text_value("\xc3\xa4"), true);
    check(CONTRACT_REGEX, "utf8", "^[a-z]+$", text_value("a1"), false);
    check(CONTRACT_ALLOWED, "utf8", "[\"de\",\"en\",\"\"]", text_value("en"), true);
    check(CONTRACT_ALLOWED, "utf8", "[\"de\",\"en\"]", text_value("e"), false);
    check(CONTRACT_ALLOWED, "int64", "[3,-1,2]", whole_value(-1), true);
    check(CONTRACT_ALLOWED, "int64", "[3,-1,2]", whole_value(1), false);
    check(CONTRACT_ALLOWED, "float64", "[0.5,1]", real_value(1), true);
    check(CONTRACT_ALLOWED, "bool", "[true]", (struct cast_value){ .is = VALUE_BOOLEAN }, false);
}

/* An expression that gives up breaks the rule, and says so. */
static void test_limit(void **state)
{
    struct contract_rule rule = rule_of(CONTRACT_REGEX, "utf8", "^(a+)+$");
    struct contract_matcher matcher;
    struct cast_value value = text_value("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
    bool limit;

    (void)state;
    assert_int_equal(contract_matcher_init(&matcher, NULL), SLUICE_OK);
    assert_false(contract_rule_kept(&rule, &matcher, &value, &limit));
    assert_true(limit);
    contract_matcher_deinit(&matcher);
    contract_rule_deinit(&rule);
}

static void test_refused(void **state)
{
    static const struct {
        enum contract_kind kind;
        const char *type, *asked;
    } cases[] = {
        { CONTRACT_RANGE, "int64", "5" },         { CONTRACT_RANGE, "int64", "2..1" },
        { CONTRACT_RANGE, "int64", "a..b" },      { CONTRACT_RANGE, "bool", "0..1" },
        { CONTRACT_RANGE, "utf8", "b..a" },       { CONTRACT_LENGTH, "int64", "0..1" },
        { CONTRACT_REGEX, "utf8", "(" },          { CONTRACT_REGEX, "int64", "a" },
        { CONTRACT_ALLOWED, "utf8", "[]" },       { CONTRACT_ALLOWED, "utf8", "[1]" },
        { CONTRACT_ALLOWED, "int64", "[\"a\"]" }, { CONTRACT_ALLOWED, "utf8", "a" },
        { CONTRACT_ALLOWED, "int64", "[true]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct contract_rule rule = { .kind = cases[i].kind,
                                      .column = "c",
                                      .asked = cases[i].asked };
        struct sluice_error err = { .size = sizeof err };
        assert_true(cast_type_parse(cases[i].type, &rule.type));
        if (contract_rule_read(&rule, &err) != SLUICE_E_CONFIG) {
            fail_msg("%s of %s is taken", cases[i].asked, cases[i].type);
        }
        assert_non_null(strstr(err.message, "expected"));
        contract_rule_deinit(&rule);
    }
}

static void test_renamed(void **state)
{
    static const struct {
        const char *column, *type, *record, *expected; /* NULL: none */
    } cases[] = {
        { "response", "utf8", "{\"lang\":\"en\",\"completion\":\"a long text\"}", "completion" },
        { "response", "utf8", "{\"completion\":\"a long text\",\"respons\":\"a\"}", "respons" },
        { "response", "utf8", "{\"n\":1}", NULL },
        { "n", "int64", "{\"count\":7,\"text\":\"x\"}", "count" },
        { "score", "float64", "{\"a\":\"x\",\"quality_score\":0.5,\"b\":0.1}", "quality_score" },
        { "flag", "bool", "{\"is\":true,\"n\":1}", "is" },
        { "response", "utf8", "no JSON", NULL },
        /* It must keep the column's other rules. */
        { "lang", "utf8", "{\"text\":\"a longer text\",\"locale\":\"en\"}", "locale" },
    };
    struct contract_matcher matcher;

    (void)state;
    assert_int_equal(contract_matcher_init(&matcher, NULL), SLUICE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct contract_rule rules[2] = {
            { .kind = CONTRACT_NULL, .column = cases[i].column, .asked = "" },
            rule_of(CONTRACT_ALLOWED, "utf8", "[\"en\",\"de\"]"),
        };
        char name[80] = "";
        char shown[80];
        bool found;
        rules[1].column = "lang";
        assert_true(cast_type_parse(cases[i].type, &rules[0].type));
        found = contract_renamed(&rules[0], rules, 2, &matcher, cases[i].record,
                                 strlen(cases[i].record), name, shown);
        if (found != (cases[i].expected != NULL) ||
            (found && strcmp(name, cases[i].expected) != 0)) {
            fail_msg("%s in %s: found '%s'", cases[i].column, cases[i].record, name);
        }
        contract_rule_deinit(&rules[1]);
    }
    contract_matcher_deinit(&matcher);
}

/* ---- profiles ---- */

static void add(struct profile *profile, int row)
{
    struct cast_value number = whole_value(row - 50);
    struct cast_value real = real_value(row * 0.5);
    struct cast_value lang = text_value(row % 3 == 0 ? "de" : "en");
    struct cast_value none = { .is = VALUE_NONE };
    char text[40];
    struct cast_value word;

    snprintf(text, sizeof text, "word %d", row);
    word = text_value(text);
    profile_row(profile);
    assert_true(profile_value(profile, "n", "int32", &number, false));
    assert_true(profile_value(profile, "x", "", row % 2 == 0 ? &number : &real, false));
    assert_true(profile_value(profile, "lang", "utf8?", &lang, false));
    assert_true(profile_value(profile, "text", "utf8?", row == 7 ? &none : &word, false));
    if (row % 4 == 0) {
        assert_true(profile_value(profile, "tags", "", &none, true));
    }
}

/* In one profile, or in parts that are added up in any order: the same contract. */
static void test_profile(void **state)
{
    struct profile *whole = profile_create();
    struct profile *sum = profile_create();
    json_t *parts[4];
    json_t *expected, *found, *types;
    char *text;

    (void)state;
    for (int part = 0; part < 4; part++) {
        struct profile *one = profile_create();
        for (int row = part * 25; row < part * 25 + 25; row++) {
            add(one, row);
            add(whole, row);
        }
        parts[part] = profile_print(one);
        profile_destroy(one);
    }
    for (int part = 3; part >= 0; part--) {
        bool damaged;
        assert_true(profile_add(sum, parts[part], &damaged));
        assert_false(damaged);
        json_decref(parts[part]);
    }
    expected = profile_contract(whole);
    found = profile_contract(sum);
    text = json_dumps(found, JSON_SORT_KEYS);
    assert_true(json_equal(expected, found));
    types = json_object_get(found, "columns");
    assert_string_equal(json_string_value(json_object_get(types, "n")), "int32");
    assert_string_equal(json_string_value(json_object_get(types, "x")), "float64");
    assert_string_equal(json_string_value(json_object_get(types, "text")), "utf8");
    assert_string_equal(json_string_value(json_object_get(types, "tags")), "json");
    assert_non_null(strstr(text, "\"allowed\": {\"lang\": [\"de\", \"en\"]}"));
    assert_non_null(strstr(text, "\"n\": [-50, 49]"));
    assert_non_null(strstr(text, "\"required\": [\"lang\", \"n\", \"x\"]"));
    free(text);
    json_decref(expected);
    json_decref(found);
    profile_destroy(whole);
    profile_destroy(sum);
}

static void test_profile_damaged(void **state)
{
    struct profile *profile = profile_create();
    json_t *odd = json_loads("{\"rows\":1,\"columns\":{\"a\":{\"type\":\"utf8\"}}}", 0, NULL);
    bool damaged;

    (void)state;
    assert_true(profile_add(profile, NULL, &damaged));
    assert_true(damaged);
    assert_true(profile_add(profile, odd, &damaged));
    assert_true(damaged);
    json_decref(odd);
    profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),           cmocka_unit_test(test_alike),
        cmocka_unit_test(test_types),           cmocka_unit_test(test_rules),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_limit),
        cmocka_unit_test(test_renamed),         cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
