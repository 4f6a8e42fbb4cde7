/* The option engine: values, tables, parsing of each type, messages, canonical text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/options.h"
#include "tests/unit/alloc_fail.h"

struct config {
    uint8_t flag;
    int32_t kind;
    int64_t count;
    double share;
    const char *text;
    uint64_t memory;
    int64_t wait;
    const char *file;
    const char *column;
    struct sluice_range range;
    struct sluice_list words;
    struct sluice_map names;
    const char *node;
    const char *out;
    double free_number;
};

#define AT(field) .offset = offsetof(struct config, field)

static const struct sluice_option options[] = {
    { .name = "words",
      .doc = "Words.",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_POSITIONAL,
      AT(words) },
    { .name = "flag", .doc = "A flag.", .def = "true", .type = SLUICE_OPT_BOOL, AT(flag) },
    { .name = "kind",
      .doc = "A kind.",
      .def = "fast",
      .choices = "exact|fast|none",
      .type = SLUICE_OPT_ENUM,
      AT(kind) },
    { .name = "min_words",
      .doc = "A count.",
      .def = "50",
      .min = 0,
      .max = 1000000,
      .type = SLUICE_OPT_INT,
      AT(count) },
    { .name = "share",
      .doc = "A share.",
      .def = "0.1%",
      .min = 0,
      .max = 1,
      .type = SLUICE_OPT_FLOAT,
      AT(share) },
    { .name = "text", .doc = "A text.", .def = "a \"b\"", .type = SLUICE_OPT_STRING, AT(text) },
    { .name = "memory", .doc = "A size.", .def = "64MiB", .type = SLUICE_OPT_SIZE, AT(memory) },
    { .name = "wait",
      .doc = "A time.",
      .def = "10s",
      .type = SLUICE_OPT_DURATION,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      AT(wait) },
    { .name = "file", .doc = "A file.", .type = SLUICE_OPT_PATH, AT(file) },
    { .name = "column", .doc = "A column.", .def = "text", .type = SLUICE_OPT_COLUMN, AT(column) },
    { .name = "range",
      .doc = "A range.",
      .def = "1..5",
      .min = 0,
      .max = 100,
      .type = SLUICE_OPT_RANGE,
      AT(range) },
    { .name = "names", .doc = "Names.", .type = SLUICE_OPT_MAP, AT(names) },
    { .name = "node", .doc = "A node.", .type = SLUICE_OPT_NODE, AT(node) },
    { .name = "out",
      .doc = "A folder.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_OUTPUT_PATH,
      AT(out) },
    { .name = "free_number",
      .doc = "Any number.",
      .def = "0",
      .type = SLUICE_OPT_FLOAT,
      AT(free_number) },
};
#define N_OPTIONS (sizeof options / sizeof options[0])

static const struct option_table table = {
    .owner = "gopher_quality",
    .options = options,
    .n = N_OPTIONS,
    .stride = sizeof options[0],
    .config_size = sizeof(struct config),
};

static struct value string(const char *text)
{
    struct value value;

    assert_true(value_string(&value, text, strlen(text)));
    return value;
}

/* Parses one named value (taken); err is filled on failure. */
static sluice_status parse(const char *name, struct value value, bool text, struct options **out,
                           struct sluice_error *err)
{
    struct value named;
    struct option_args args = { .named = &named, .text = text };
    sluice_status status;

    value_map_init(&named);
    assert_true(value_map_set(&named, name, value));
    status = options_parse(&table, &args, "/base/dir", out, err);
    value_deinit(&named);
    return status;
}

static struct options *parsed(const char *name, struct value value, bool text)
{
    struct options *out;
    struct sluice_error err = ERROR_INIT;

    if (parse(name, value, text, &out, &err) != SLUICE_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    return out;
}

static void assert_text(const char *name, struct value value, bool text, const char *expected)
{
    struct options *out = parsed(name, value, text);
    struct option_value got;

    assert_true(options_find(out, name, &got));
    assert_true(got.given);
    assert_string_equal(got.text, expected);
    options_destroy(out);
}

static void assert_refused(const char *name, struct value value, bool text, const char *message)
{
    struct options *out;
    struct sluice_error err = ERROR_INIT;

    if (parse(name, value, text, &out, &err) == SLUICE_OK) {
        struct option_value got;
        options_find(out, name, &got);
        fail_msg("%s: accepted as %s", name, got.text);
    }
    assert_null(out);
    assert_int_equal(err.code, SLUICE_E_CONFIG);
    assert_string_equal(err.field, name);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    }
}

static void test_table_is_sane(void **state)
{
    struct sluice_error err = ERROR_INIT;

    (void)state;
    if (option_table_check(&table, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
}

static void test_defaults(void **state)
{
    struct options *out;
    const struct config *config;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(options_parse(&table, NULL, NULL, &out, &err), SLUICE_OK);
    config = options_config(out);
    assert_int_equal(config->flag, 1);
    assert_int_equal(config->kind, 1);
    assert_int_equal(config->count, 50);
    assert_true(config->share == 0.001);
    assert_string_equal(config->text, "a \"b\"");
    assert_int_equal(config->memory, 64 << 20);
    assert_int_equal(config->wait, 10000000000);
    assert_null(config->file);
    assert_string_equal(config->column, "text");
    assert_true(config->range.lo == 1 && config->range.hi == 5);
    assert_null(config->words.items);
    assert_int_equal(config->words.n, 0);
    assert_int_equal(config->names.n, 0);
    assert_null(config->node);
    assert_int_equal(options_count(out), N_OPTIONS);
    options_destroy(out);
}

static void test_bool(void **state)
{
    (void)state;
    assert_text("flag", value_bool(false), false, "false");
    assert_text("flag", string("false"), true, "false");
    assert_refused("flag", string("false"), false,
                   "found string \"false\", expected true or false");
    assert_refused("flag", value_int(1), false, "found int 1");
    assert_refused("flag", string("yes"), true, "found string \"yes\"");
}

static void test_int(void **state)
{
    (void)state;
    assert_text("min_words", value_int(7), false, "7");
    assert_text("min_words", value_float(7.0), false, "7");
    assert_text("min_words", string("1000000"), true, "1000000");
    assert_refused("min_words", string("abc"), false,
                   "option 'min_words' of 'gopher_quality': found string \"abc\", expected int in "
                   "[0, 1000000]");
    assert_refused("min_words", string("7"), false, "found string \"7\"");
    assert_refused("min_words", value_int(-1), false, "found int -1, expected int in [0, 1000000]");
    assert_refused("min_words", value_int(1000001), false, "found int 1000001");
    assert_refused("min_words", value_float(7.5), false, "found float 7.5");
    assert_refused("min_words", value_float((double)NAN), false, "found float nan");
    assert_refused("min_words", value_float(1e300), false, "found float 1e+300");
    assert_refused("min_words", string("99999999999999999999"), true, "expected int");
    assert_refused("min_words", string("7 "), true, "expected int");
    assert_refused("min_words", string(""), true, "expected int");
    assert_refused("min_words", value_bool(true), false, "found bool true");
}

static void test_float(void **state)
{
    (void)state;
    assert_text("share", value_float(0.1), false, "0.1");
    assert_text("share", value_int(1), false, "1");
    assert_text("share", string("0.1%"), false, "0.001");
    assert_text("share", string("100%"), false, "1");
    assert_text("share", string("0.25"), true, "0.25");
    assert_text("share", value_float(1.0 / 3), false, "0.3333333333333333");
    assert_text("share", value_float(-0.0), false, "0");
    assert_refused("share", string("0.25"), false,
                   "found string \"0.25\", expected float in [0, 1]");
    assert_refused("share", string("101%"), false, "expected float in [0, 1]");
    assert_refused("share", string("%"), false, "expected float");
    assert_refused("share", value_float((double)NAN), false, "found float nan");
    assert_refused("share", value_float((double)INFINITY), false, "found float inf");
    assert_text("free_number", value_float((double)INFINITY), false, "inf");
    assert_text("free_number", string("-inf"), true, "-inf");
    assert_text("free_number", string("1e-3"), true, "0.001");
    assert_refused("free_number", string("1e999"), true, "expected float");
    assert_refused("free_number", string("0x10"), true, "expected float");
    assert_refused("free_number", string("nan"), true, "expected float");
}

static void test_string(void **state)
{
    struct value nul;

    (void)state;
    assert_text("text", string(""), false, "");
    assert_text("text", string("gr\xc3\xbc\xc3\x9f"), false, "gr\xc3\xbc\xc3\x9f");
    assert_refused("text", value_int(5), false, "found int 5, expected string");
    assert_refused("text", string("\xff\xfe"), false, "not UTF-8");
    assert_true(value_string(&nul, "a\0b", 3));
    assert_refused("text", nul, false, "NUL");
}

static void test_enum(void **state)
{
    struct options *out;

    (void)state;
    out = parsed("kind", string("none"), false);
    assert_int_equal(((const struct config *)options_config(out))->kind, 2);
    assert_string_equal(options_string(out, "kind"), "none");
    options_destroy(out);
    assert_refused("kind", string("fsat"), false,
                   "expected one of exact, fast, none (did you mean 'fast'?)");
    assert_refused("kind", string("fas"), false, "did you mean 'fast'?");
    assert_refused("kind", value_int(1), false, "found int 1");
    assert_refused("kind", string("exact|fast"), false, "expected one of");
}

static void test_size(void **state)
{
    (void)state;
    assert_text("memory", string("64MiB"), false, "64MiB");
    assert_text("memory", string("1e6"), false, "1MB");
    assert_text("memory", string("2GB"), false, "2GB");
    assert_text("memory", string("512k"), false, "512KiB");
    assert_text("memory", string("512kB"), false, "512kB");
    assert_text("memory", string("2G"), false, "2GiB");
    assert_text("memory", string("2GB"), false, "2GB");
    assert_text("memory", string("2GiB"), false, "2GiB");
    assert_text("memory", string("512 Ki"), false, "512KiB");
    assert_text("memory", string("1.5GiB"), false, "1536MiB");
    assert_text("memory", string("12b"), false, "12");
    assert_text("memory", string("8TiB"), false, "8TiB");
    assert_text("memory", value_int(4096), false, "4KiB");
    assert_text("memory", value_float(1e6), false, "1MB");
    assert_text("memory", value_int(INT64_MAX), false, "9223372036854775807");
    assert_text("memory", value_int(0), false, "0");
    assert_refused("memory", value_int(-1), false,
                   "found int -1, expected size such as 64MiB, 2GB or 1e6");
    assert_refused("memory", string("1.0001k"), false, "expected size");
    assert_refused("memory", string("64MiBs"), false, "expected size");
    assert_refused("memory", string("MiB"), false, "expected size");
    assert_refused("memory", string("9999999999GiB"), false, "expected size");
    assert_refused("memory", string("-1k"), false, "expected size");
}

static void test_duration(void **state)
{
    struct options *out;

    (void)state;
    out = parsed("wait", string("1h30m"), false);
    assert_int_equal(((const struct config *)options_config(out))->wait, 5400000000000);
    options_destroy(out);
    assert_text("wait", string("1h30m"), false, "90m");
    assert_text("wait", string("250ms"), false, "250ms");
    assert_text("wait", string("2d"), false, "2d");
    assert_text("wait", string("0.5s"), false, "500ms");
    assert_text("wait", value_int(5), false, "5s");
    assert_text("wait", value_float(0.25), false, "250ms");
    assert_text("wait", string("5"), true, "5s");
    assert_text("wait", value_int(0), false, "0s");
    assert_refused("wait", string("5 minutes"), false, "expected duration such as 10s or 5m");
    assert_refused("wait", string("5x"), false, "expected duration");
    assert_refused("wait", string(""), false, "expected duration");
    assert_refused("wait", value_int(-5), false, "expected duration");
    assert_refused("wait", value_int(INT64_MAX), false, "expected duration");
    assert_refused("wait", value_float((double)NAN), false, "expected duration");
}

static void test_path(void **state)
{
    struct options *out;
    struct sluice_error err = ERROR_INIT;
    struct value named;
    struct option_args args = { .named = &named };

    (void)state;
    assert_text("file", string("a/b.txt"), false, "/base/dir/a/b.txt");
    assert_text("file", string("./a"), false, "/base/dir/a");
    assert_text("file", string("../a"), false, "/base/dir/../a");
    assert_text("file", string("/abs"), false, "/abs");
    assert_text("file", string("s3://bucket/key"), false, "s3://bucket/key");
    assert_refused("file", string(""), false, "an empty path");
    assert_refused("file", string("~/a"), false, "'~' is not expanded");
    value_map_init(&named);
    assert_true(value_map_set(&named, "file", string("a")));
    assert_int_equal(options_parse(&table, &args, NULL, &out, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "give an absolute one"));
    value_deinit(&named);
}

static void test_range(void **state)
{
    struct options *out;
    struct value list;
    struct value map;

    (void)state;
    assert_text("range", string("2..50"), false, "2..50");
    assert_text("range", string("0.5.."), false, "0.5..");
    assert_text("range", string("..5%"), false, "..0.05");
    out = parsed("range", string("3.."), false);
    assert_true(isinf(((const struct config *)options_config(out))->range.hi));
    options_destroy(out);
    value_list_init(&list);
    assert_true(value_list_add(&list, value_int(3)) && value_list_add(&list, value_float(4.5)));
    assert_text("range", list, false, "3..4.5");
    value_map_init(&map);
    assert_true(value_map_set(&map, "min", value_int(3)));
    assert_text("range", map, false, "3..");
    value_map_init(&map);
    assert_true(value_map_set(&map, "mni", value_int(3)));
    assert_refused("range", map, false,
                   "found a map of 1, expected range such as 1..5, 1.. or ..5 within [0, 100]");
    assert_refused("range", string("5..1"), false, "its low end is above its high end");
    assert_refused("range", string(".."), false, "expected range");
    assert_refused("range", string("1...5"), false, "low end");
    assert_refused("range", string("1..500"), false, "within [0, 100]");
    assert_refused("range", string("5"), false, "expected range");
    assert_refused("range", value_int(5), false, "expected range");
}

static void test_list(void **state)
{
    struct options *out;
    const struct config *config;
    struct value list;

    (void)state;
    value_list_init(&list);
    assert_true(value_list_add(&list, string("a,b")) && value_list_add(&list, value_int(5)) &&
                value_list_add(&list, string("c")));
    out = parsed("words", list, false);
    config = options_config(out);
    assert_int_equal(config->words.n, 3);
    assert_string_equal(config->words.items[0], "a,b");
    assert_string_equal(config->words.items[1], "5");
    options_destroy(out);
    assert_text("words", string("a,b"), false, "\"a,b\"");
    assert_text("words", string("a, b,\"c,d\""), true, "a,b,\"c,d\"");
    assert_text("words", string(""), true, "");
    assert_refused("words", string("a,,b"), true, "an item is empty");
    assert_refused("words", string("a,"), true, "an item is empty");
    assert_refused("words", string("\"a"), true, "quotes are wrong");
    value_list_init(&list);
    assert_true(value_list_add(&list, value_bool(true)));
    assert_refused("words", list, false,
                   "found bool true, expected list of strings (as one of its items)");
}

static void test_map(void **state)
{
    struct options *out;
    const struct config *config;
    struct value map;

    (void)state;
    value_map_init(&map);
    assert_true(value_map_set(&map, "b", string("x=y")) &&
                value_map_set(&map, "a", value_bool(true)));
    out = parsed("names", map, false);
    config = options_config(out);
    assert_int_equal(config->names.n, 2);
    assert_string_equal(config->names.keys[0], "a");
    assert_string_equal(config->names.values[0], "true");
    assert_string_equal(config->names.values[1], "x=y");
    options_destroy(out);
    assert_text("names", string("b=\"x,y\",a=1"), true, "a=1,b=\"x,y\"");
    assert_text("names", string("a="), true, "a=\"\"");
    assert_refused("names", string("a"), true, "text such as a=x,b=y");
    assert_refused("names", string("a=1,a=2"), true, "text such as");
    assert_refused("names", string("a=1"), false, "found string");
}

static void test_unknown(void **state)
{
    struct options *out;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(parse("min_word", value_int(1), false, &out, &err), SLUICE_E_CONFIG);
    assert_string_equal(
        err.message,
        "unknown option 'min_word' of 'gopher_quality'; did you mean 'min_words'? Valid: column, "
        "file, flag, "
        "free_number, kind, memory, min_words, names, node, out, range, share, text, wait, words");
    assert_string_equal(err.field, "min_word");
    assert_int_equal(parse("frobnicate", value_nil(), false, &out, &err), SLUICE_E_CONFIG);
    assert_non_null(
        strstr(err.message, "unknown option 'frobnicate' of 'gopher_quality'. Valid: "));
}

static void test_positional(void **state)
{
    struct options *out;
    struct sluice_error err = ERROR_INIT;
    struct value word = string("one");
    struct value named;
    struct option_args args = { .positional = &word };
    struct option_table none = table;

    (void)state;
    assert_int_equal(options_parse(&table, &args, NULL, &out, &err), SLUICE_OK);
    assert_string_equal(((const struct config *)options_config(out))->words.items[0], "one");
    options_destroy(out);
    value_map_init(&named);
    assert_true(value_map_set(&named, "words", string("two")));
    args.named = &named;
    assert_int_equal(options_parse(&table, &args, NULL, &out, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "given twice"));
    args.named = NULL;
    none.options = options + 1;
    none.n = 2;
    assert_int_equal(options_parse(&none, &args, NULL, &out, &err), SLUICE_E_CONFIG);
    assert_string_equal(
        err.message,
        "'gopher_quality' takes no value without a name; found string \"one\". Valid: flag, kind");
    value_deinit(&named);
    value_deinit(&word);
}

static void test_required(void **state)
{
    static const struct sluice_option required[] = {
        { .name = "tokenizer",
          .doc = "The vocabulary.",
          .type = SLUICE_OPT_PATH,
          .flags = SLUICE_OPTF_REQUIRED,
          .offset = 0 },
    };
    const struct option_table one = { "tokenize", required, 1, sizeof required[0], 8, false };
    struct options *out;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(option_table_check(&one, &err), SLUICE_OK);
    assert_int_equal(options_parse(&one, NULL, "/", &out, &err), SLUICE_E_CONFIG);
    assert_string_equal(
        err.message,
        "option 'tokenizer' of 'tokenize' is missing; give it a value (path): The vocabulary.");
    assert_string_equal(err.field, "tokenizer");
}

static void test_canonical(void **state)
{
    struct options *out = parsed("file", string("a"), false);
    struct buf text = BUF_INIT;
    struct buf json = BUF_INIT;
    const char *name;
    const char *path;
    uint32_t flags;

    (void)state;
    options_canonical(out, &text);
    assert_string_equal(
        buf_str(&text),
        "column=\"text\"\nfile=path\nflag=true\nfree_number=0\nkind=fast\nmemory=64MiB\n"
        "min_words=50\nnames=null\nnode=null\nrange=1..5\nshare=0.001\n"
        "text=\"a \\\"b\\\"\"\nwords=null\n");
    assert_true(options_path(out, 0, &name, &path, &flags));
    assert_string_equal(name, "file");
    assert_string_equal(path, "/base/dir/a");
    assert_false(options_path(out, 1, &name, &path, &flags));
    options_json(out, &json);
    assert_non_null(
        strstr(buf_str(&json), "\"text\":\"a \\\"b\\\"\",\"wait\":\"10s\",\"words\":null}"));
    buf_deinit(&text);
    buf_deinit(&json);
    options_destroy(out);
}

/* What is given explicitly as the default has the default's key. */
static void test_canonical_default(void **state)
{
    struct options *given = parsed("share", value_float(0.001), false);
    struct options *left;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(options_parse(&table, NULL, NULL, &left, &err), SLUICE_OK);
    options_canonical(given, &a);
    options_canonical(left, &b);
    assert_string_equal(buf_str(&a), buf_str(&b));
    buf_deinit(&a);
    buf_deinit(&b);
    options_destroy(given);
    options_destroy(left);
}

static void test_split(void **state)
{
    struct value named = VALUE_INIT;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(options_split("rule=uax29, lower=true,name=\"a,b\",empty=", &named, &err),
                     SLUICE_OK);
    assert_int_equal(named.as.map.n, 4);
    assert_string_equal(value_map_get(&named, "rule")->as.string.data, "uax29");
    assert_string_equal(value_map_get(&named, "lower")->as.string.data, "true");
    assert_string_equal(value_map_get(&named, "name")->as.string.data, "a,b");
    assert_string_equal(value_map_get(&named, "empty")->as.string.data, "");
    value_deinit(&named);
    assert_int_equal(options_split("", &named, &err), SLUICE_OK);
    assert_int_equal(named.kind, VALUE_MAP);
    assert_int_equal(options_split("rule", &named, &err), SLUICE_E_CONFIG);
    assert_int_equal(options_split("=x", &named, &err), SLUICE_E_CONFIG);
    value_deinit(&named);
    assert_int_equal(options_split("a=1,a=2", &named, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "given twice"));
    value_deinit(&named);
}

/* A table of one option; the message must hold text. */
static void assert_table(struct sluice_option option, uint64_t config_size, const char *text)
{
    struct option_table one = { "x", &option, 1, sizeof option, config_size, false };
    struct sluice_error err = ERROR_INIT;

    if (option.doc == NULL) {
        option.doc = "Text.";
    }
    assert_int_equal(option_table_check(&one, &err), SLUICE_E_INTERNAL);
    if (strstr(err.message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, err.message);
    }
}

static void test_bad_tables(void **state)
{
    const struct sluice_option pair[] = {
        { .name = "a", .doc = "A.", .def = "1", .type = SLUICE_OPT_INT, .offset = 0 },
        { .name = "b", .doc = "B.", .def = "1", .type = SLUICE_OPT_FLOAT, .offset = 0 },
    };
    struct option_table two = { "x", pair, 2, sizeof pair[0], 64, false };
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_table((struct sluice_option){ .name = "A", .type = 1 }, 8, "has the name \"A\"");
    assert_table((struct sluice_option){ .name = NULL, .type = 1 }, 8, "has the name \"\"");
    assert_table((struct sluice_option){ .name = "a", .type = 99 }, 8, "has the type 99");
    assert_table((struct sluice_option){ .name = "a", .type = SLUICE_OPT_INT, .offset = 4 }, 16,
                 "outside or unaligned");
    assert_table(
        (struct sluice_option){ .name = "a", .type = SLUICE_OPT_INT, .offset = UINT64_MAX - 7 }, 16,
        "outside");
    assert_table((struct sluice_option){ .name = "a", .type = SLUICE_OPT_ENUM }, 8,
                 "has no choices");
    assert_table((struct sluice_option){ .name = "a", .type = SLUICE_OPT_ENUM, .choices = "x||y" },
                 8, "empty or a repeated");
    assert_table((struct sluice_option){ .name = "a", .type = SLUICE_OPT_ENUM, .choices = "x|y|x" },
                 8, "empty or a repeated");
    assert_table((struct sluice_option){ .name = "a", .type = SLUICE_OPT_INT, .def = "x" }, 8,
                 "the default of an option is wrong");
    assert_table((struct sluice_option){ .name = "a", .type = SLUICE_OPT_INT, .min = 2, .max = 1 },
                 8, "min above its max");
    assert_table(
        (struct sluice_option){
            .name = "a", .type = SLUICE_OPT_INT, .def = "1", .flags = SLUICE_OPTF_REQUIRED },
        8, "required and has a default");
    assert_table((struct sluice_option){ .name = "a", .doc = "", .type = SLUICE_OPT_INT }, 8,
                 "no documentation");
    assert_int_equal(option_table_check(&two, &err), SLUICE_E_INTERNAL);
    assert_non_null(strstr(err.message, "'a' and 'b' of 'x' share bytes of the config"));
    two.stride = 16;
    assert_int_equal(option_table_check(&two, &err), SLUICE_E_INTERNAL);
    assert_non_null(strstr(err.message, "stride of 16"));
    two.stride = sizeof pair[0];
    two.n = UINT64_MAX;
    assert_int_equal(option_table_check(&two, &err), SLUICE_E_INTERNAL);
}

/* A table whose elements have grown at their ends. */
static void test_stride(void **state)
{
    struct {
        struct sluice_option known;
        const char *unit;
    } grown[] = {
        { { .name = "a", .doc = "A.", .def = "1", .type = SLUICE_OPT_INT, .offset = 0 }, "m" },
        { { .name = "b", .doc = "B.", .def = "2", .type = SLUICE_OPT_INT, .offset = 8 }, "s" },
    };
    const struct option_table future = { "x", &grown[0].known, 2, sizeof grown[0], 16, false };
    struct options *out;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_int_equal(option_table_check(&future, &err), SLUICE_OK);
    assert_int_equal(options_parse(&future, NULL, NULL, &out, &err), SLUICE_OK);
    assert_int_equal(((const int64_t *)options_config(out))[1], 2);
    options_destroy(out);
}

static void test_numbers(void **state)
{
    static const double numbers[] = {
        0, 0.1, 1e22, 1e-7, 123456789.125, 5e-324, 1.7976931348623157e308, -2.5, 1.0 / 3
    };
    char text[NUMBER_TEXT_MAX];
    double back;

    (void)state;
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        number_print(numbers[k], text);
        assert_int_equal(number_parse(text, strlen(text), &back), strlen(text));
        assert_true(back == numbers[k]);
    }
    number_print(0.1, text);
    assert_string_equal(text, "0.1");
    assert_int_equal(number_parse("1..5", 4, &back), 1);
    assert_int_equal(number_parse("1.5x", 4, &back), 3);
    assert_int_equal(number_parse("1e", 2, &back), 1);
    assert_int_equal(number_parse("+", 1, &back), 0);
    assert_int_equal(number_parse("", 0, &back), 0);
}

static void assert_json(const char *text, const char *expected)
{
    struct value value;
    struct value copy;
    struct buf out = BUF_INIT;
    struct sluice_error err = ERROR_INIT;

    if (expected == NULL) {
        assert_int_equal(value_parse_json(text, strlen(text), &value, &err), SLUICE_E_CONFIG);
        assert_int_equal(value.kind, VALUE_NIL);
        return;
    }
    if (value_parse_json(text, strlen(text), &value, &err) != SLUICE_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_true(value_copy(&copy, &value));
    assert_true(value_equal(&copy, &value));
    value_print_json(&copy, &out);
    assert_string_equal(buf_str(&out), expected);
    buf_deinit(&out);
    value_deinit(&value);
    value_deinit(&copy);
}

static void test_json(void **state)
{
    char deep[100];

    (void)state;
    assert_json(" {\"b\" : [1, -2.5, 1e3, true, null], \"a\":{}} ",
                "{\"a\":{},\"b\":[1,-2.5,1000.0,true,null]}");
    assert_json("\"\\u00e9\\ud83d\\ude00\\n\"", "\"\xc3\xa9\xf0\x9f\x98\x80\\n\"");
    assert_json("9223372036854775807", "9223372036854775807");
    assert_json("-9223372036854775808", "-9223372036854775808");
    assert_json("9223372036854775808", "9.223372036854776e+18");
    /* Beside a number that no integer holds, integers stay exact. */
    assert_json("[9223372036854775808,9007199254740993]",
                "[9.223372036854776e+18,9007199254740993]");
    assert_json("[]", "[]");
    assert_json("", NULL);
    assert_json("[1,]", NULL);
    assert_json("01", NULL);
    assert_json("1.", NULL);
    assert_json("1e999", NULL);
    assert_json("nul", NULL);
    assert_json("{\"a\":1,\"a\":2}", NULL);
    assert_json("{\"a\\u0000\":1}", NULL);
    assert_json("\"\\ud800\"", NULL);
    assert_json("\"\x01\"", NULL);
    assert_json("\"\xff\"", NULL);
    assert_json("1 2", NULL);
    assert_json("{a:1}", NULL);
    memset(deep, '[', 40);
    deep[40] = '\0';
    assert_json(deep, NULL);
}

static void test_values(void **state)
{
    struct value map;
    struct buf out = BUF_INIT;
    struct value nan = value_float((double)NAN);
    struct value odd;

    (void)state;
    value_map_init(&map);
    assert_true(value_map_set(&map, "z", value_int(1)));
    assert_true(value_map_set(&map, "a", value_int(2)));
    assert_true(value_map_set(&map, "z", value_int(3)));
    assert_int_equal(map.as.map.n, 2);
    assert_string_equal(map.as.map.entries[0].key, "a");
    assert_int_equal(value_map_get(&map, "z")->as.integer, 3);
    assert_null(value_map_get(&map, "y"));
    value_deinit(&map);
    value_print_json(&nan, &out);
    assert_string_equal(buf_str(&out), "\"nan\"");
    assert_true(value_equal(&nan, &nan));
    buf_clear(&out);
    assert_true(value_string(&odd,
                             "a\xff"
                             "b",
                             3));
    value_print_json(&odd, &out);
    assert_string_equal(buf_str(&out), "\"a\xef\xbf\xbd"
                                       "b\"");
    value_deinit(&odd);
    buf_deinit(&out);
}

/* Every allocation of a parse fails once. */
static void test_no_memory(void **state)
{
    static const char text[] = "words=\"a,\\\"b\\\"\",min_words=5,names=\"k=v\",range=1..2,file=x,"
                               "text=\"\\u00e9\",out=y,memory=1k";
    struct value named = VALUE_INIT;
    struct option_args args = { .named = &named, .text = true };
    struct options *out = NULL;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    (void)state;
    ALLOC_EACH(
        {
            out = NULL;
            status = options_split(text, &named, &err);
            if (status == SLUICE_OK) {
                status = options_parse(&table, &args, "/base", &out, &err);
            }
        },
        {
            options_destroy(out);
            value_deinit(&named);
        });
}

static void test_no_memory_json(void **state)
{
    static const char text[] = "{\"a\":[1,2,3,4,5,\"x\"],\"b\":{\"c\":1.5,\"d\":\"\\n\"}}";
    struct value value = VALUE_INIT;
    struct value copied = VALUE_INIT;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    (void)state;
    ALLOC_EACH(
        {
            status = value_parse_json(text, sizeof text - 1, &value, &err);
            if (status == SLUICE_OK && !value_copy(&copied, &value)) {
                status = SLUICE_E_NOMEM;
            }
        },
        {
            value_deinit(&value);
            value_deinit(&copied);
        });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_sane), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_bool),          cmocka_unit_test(test_int),
        cmocka_unit_test(test_float),         cmocka_unit_test(test_string),
        cmocka_unit_test(test_enum),          cmocka_unit_test(test_size),
        cmocka_unit_test(test_duration),      cmocka_unit_test(test_path),
        cmocka_unit_test(test_range),         cmocka_unit_test(test_list),
        cmocka_unit_test(test_map),           cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_positional),    cmocka_unit_test(test_required),
        cmocka_unit_test(test_canonical),     cmocka_unit_test(test_canonical_default),
        cmocka_unit_test(test_split),         cmocka_unit_test(test_bad_tables),
        cmocka_unit_test(test_stride),        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_json),          cmocka_unit_test(test_values),
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_no_memory_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
