/* Fuzzes what the option engine reads: JSON values, "name=value" texts, values of every type, and
 * hostile option tables. The first byte says which. What is accepted must print to text that reads
 * back to the same value. */
#include <stdlib.h>
#include <string.h>

#include "plugin/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct config {
    uint8_t flag;
    int32_t kind;
    int64_t count;
    double share;
    const char *text;
    uint64_t memory;
    int64_t wait;
    const char *file;
    struct sluice_range range;
    struct sluice_list words;
    struct sluice_map names;
    double free_number;
};

#define AT(field) .offset = offsetof(struct config, field)

static const struct sluice_option options[] = {
    { .name = "a", .doc = "A flag.", .def = "true", .type = SLUICE_OPT_BOOL, AT(flag) },
    { .name = "b",
      .doc = "A kind.",
      .def = "fast",
      .choices = "exact|fast|none",
      .type = SLUICE_OPT_ENUM,
      AT(kind) },
    { .name = "c",
      .doc = "A count.",
      .def = "50",
      .min = -5,
      .max = 1000000,
      .type = SLUICE_OPT_INT,
      AT(count) },
    { .name = "d",
      .doc = "A share.",
      .def = "0.1%",
      .min = 0,
      .max = 1,
      .type = SLUICE_OPT_FLOAT,
      AT(share) },
    { .name = "e", .doc = "A text.", .type = SLUICE_OPT_STRING, AT(text) },
    { .name = "f", .doc = "A size.", .def = "64MiB", .type = SLUICE_OPT_SIZE, AT(memory) },
    { .name = "g", .doc = "A time.", .def = "10s", .type = SLUICE_OPT_DURATION, AT(wait) },
    { .name = "h", .doc = "A file.", .type = SLUICE_OPT_PATH, AT(file) },
    { .name = "i", .doc = "A range.", .def = "1..5", .type = SLUICE_OPT_RANGE, AT(range) },
    { .name = "j",
      .doc = "Words.",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_POSITIONAL,
      AT(words) },
    { .name = "k", .doc = "Names.", .type = SLUICE_OPT_MAP, AT(names) },
    { .name = "l", .doc = "A number.", .def = "0", .type = SLUICE_OPT_FLOAT, AT(free_number) },
};

static const struct option_table table = {
    .owner = "fuzzed",
    .options = options,
    .n = sizeof options / sizeof options[0],
    .stride = sizeof options[0],
    .config_size = sizeof(struct config),
};

#define REQUIRE(condition)    \
    do {                      \
        if (!(condition)) {   \
            __builtin_trap(); \
        }                     \
    } while (0)

/* The texts of all values, read as text, give the same texts. */
static void read_back(const struct options *parsed)
{
    struct option_value value;
    struct value named;
    struct option_args args = { .named = &named, .text = true };
    struct options *again;
    struct sluice_error err = { 0 };
    struct buf first = { 0 };
    struct buf second = { 0 };

    value_map_init(&named);
    for (uint64_t k = 0; options_get(parsed, k, &value); k++) {
        struct value text;
        if (value.text != NULL) {
            REQUIRE(value_string(&text, value.text, strlen(value.text)));
            REQUIRE(value_map_set(&named, value.option.name, text));
        }
    }
    REQUIRE(options_parse(&table, &args, NULL, &again, &err) == SLUICE_OK);
    options_json(parsed, &first);
    options_json(again, &second);
    REQUIRE(strcmp(buf_str(&first), buf_str(&second)) == 0);
    buf_clear(&first);
    buf_clear(&second);
    options_canonical(parsed, &first);
    options_canonical(again, &second);
    REQUIRE(strcmp(buf_str(&first), buf_str(&second)) == 0);
    buf_deinit(&first);
    buf_deinit(&second);
    options_destroy(again);
    value_deinit(&named);
}

static void parse(const struct value *named, const struct value *positional, bool text)
{
    struct option_args args = { .named = named, .positional = positional, .text = text };
    struct options *parsed;
    struct sluice_error err = { 0 };

    if (options_parse(&table, &args, "/base", &parsed, &err) == SLUICE_OK) {
        read_back(parsed);
        options_destroy(parsed);
    } else {
        REQUIRE(err.message[0] != '\0' && utf8_valid(err.message, strlen(err.message)));
    }
}

static void fuzz_json(const char *text, size_t n, bool as_text)
{
    struct value value;
    struct value again;
    struct buf out = { 0 };
    struct sluice_error err = { 0 };

    if (value_parse_json(text, n, &value, &err) != SLUICE_OK) {
        return;
    }
    value_print_json(&value, &out);
    REQUIRE(value_parse_json(out.data, out.size, &again, &err) == SLUICE_OK);
    REQUIRE(value_equal(&value, &again));
    if (value.kind == VALUE_MAP) {
        parse(&value, NULL, as_text);
    } else {
        parse(NULL, &value, as_text);
    }
    value_deinit(&value);
    value_deinit(&again);
    buf_deinit(&out);
}

static void fuzz_split(const char *text)
{
    struct value named = { .kind = VALUE_NIL };
    struct sluice_error err = { 0 };

    if (options_split(text, &named, &err) == SLUICE_OK && named.kind == VALUE_MAP) {
        parse(&named, NULL, true);
    }
    value_deinit(&named);
}

/* The bytes as the text of option k. */
static void fuzz_text(uint8_t k, const char *text, size_t n)
{
    struct value named;
    struct value value;

    value_map_init(&named);
    REQUIRE(value_string(&value, text, n));
    REQUIRE(value_map_set(&named, options[k % table.n].name, value));
    parse(&named, NULL, (k & 0x40) != 0);
    value_deinit(&named);
}

/* Options made of the bytes: 8 for each, and a default of the rest. */
static void fuzz_table(const uint8_t *data, size_t size, const char *text)
{
    struct sluice_option made[4] = {
        { .name = "x" }, { .name = "y" }, { .name = "z" }, { .name = "x" }
    };
    struct option_table hostile = { .owner = "hostile", .options = made, .stride = sizeof made[0] };
    struct options *parsed;
    struct sluice_error err = { 0 };

    if (size < 34) {
        return;
    }
    hostile.n = data[0] % 5;
    hostile.config_size = data[1];
    for (size_t k = 0; k < 4; k++) {
        const uint8_t *bytes = data + 2 + 8 * k;
        made[k].doc = "Text.";
        made[k].type = bytes[0] % 16;
        made[k].offset = bytes[1] == 255 ? UINT64_MAX - bytes[2] : bytes[1];
        made[k].flags = bytes[3] & 31;
        made[k].min = (int8_t)bytes[4];
        made[k].max = (int8_t)bytes[5];
        made[k].def = bytes[6] & 1 ? NULL : text + (bytes[6] % (strlen(text) + 1));
        made[k].choices = bytes[7] & 1 ? NULL : text + (bytes[7] % (strlen(text) + 1));
    }
    if (option_table_check(&hostile, &err) == SLUICE_OK &&
        options_parse(&hostile, NULL, "/", &parsed, &err) == SLUICE_OK) {
        options_destroy(parsed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0) {
        return 0;
    }
    text = str_copy((const char *)data + 1, size - 1);
    REQUIRE(text != NULL);
    switch (data[0] & 3) {
    case 0:
        fuzz_json(text, size - 1, (data[0] & 4) != 0);
        break;
    case 1:
        fuzz_split(text);
        break;
    case 2:
        fuzz_text(data[0] >> 2 | (data[0] & 0x40), text, size - 1);
        break;
    default:
        fuzz_table(data + 1, size - 1, size > 35 ? text + 34 : "");
        break;
    }
    free(text);
    return 0;
}
