/* One value into one place of a config struct, type by type, with its canonical text. See
 * option_parse.h. */
#include "plugin/option_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/option_table.h"
#include "plugin/option_text.h"

static void store(const struct option_parse *parse, const void *data, size_t size)
{
    memcpy(parse->place, data, size);
}

/* "found X, expected Y": the wording of every refusal of a value; more is added in brackets. */
static sluice_status refuse(const struct option_parse *parse, const char *more)
{
    struct buf found = BUF_INIT;
    struct buf expected = BUF_INIT;
    sluice_status status;

    value_describe(parse->value, &found);
    option_expected(parse->option, &expected);
    status =
        error_field(parse->err, SLUICE_E_CONFIG, parse->option->name,
                    "option '%s' of '%s': found %s, expected %s%s%s%s", parse->option->name,
                    parse->owner, buf_str(&found), buf_str(&expected), more != NULL ? " (" : "",
                    more != NULL ? more : "", more != NULL ? ")" : "");
    buf_deinit(&found);
    buf_deinit(&expected);
    return status;
}

static bool in_limits(const struct option_parse *parse, double value)
{
    return !option_has_limits(parse->option) ||
           (value >= parse->option->min && value <= parse->option->max);
}

static bool is_string(const struct value *value)
{
    return value->kind == VALUE_STRING;
}

/* String bytes that C can hold and manifests can show; NULL after a refusal. */
static sluice_status check_string(const struct option_parse *parse, const struct value *value)
{
    if (memchr(value->as.string.data, '\0', value->as.string.size) != NULL) {
        return refuse(parse, "it holds a NUL byte");
    }
    if (!utf8_valid(value->as.string.data, value->as.string.size)) {
        return refuse(parse, "it is not UTF-8");
    }
    return SLUICE_OK;
}

static sluice_status parse_bool(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    uint8_t flag;

    if (value->kind == VALUE_BOOL) {
        flag = value->as.boolean ? 1 : 0;
    } else if (parse->text && is_string(value) && strcmp(value->as.string.data, "true") == 0) {
        flag = 1;
    } else if (parse->text && is_string(value) && strcmp(value->as.string.data, "false") == 0) {
        flag = 0;
    } else {
        return refuse(parse, NULL);
    }
    store(parse, &flag, sizeof flag);
    buf_puts(parse->canonical, flag != 0 ? "true" : "false");
    return SLUICE_OK;
}

/* A whole number from an int or a float without fraction. */
static bool whole_number(const struct value *value, int64_t *out)
{
    if (value->kind == VALUE_INT) {
        *out = value->as.integer;
        return true;
    }
    if (value->kind == VALUE_FLOAT && value->as.number >= -9223372036854775808.0 &&
        value->as.number < 9223372036854775808.0 && floor(value->as.number) == value->as.number) {
        *out = (int64_t)value->as.number;
        return true;
    }
    return false;
}

static sluice_status parse_int(const struct option_parse *parse)
{
    int64_t number;

    if (!whole_number(parse->value, &number) &&
        !(parse->text && is_string(parse->value) &&
          text_int(parse->value->as.string.data, parse->value->as.string.size, &number))) {
        return refuse(parse, NULL);
    }
    if (!in_limits(parse, (double)number)) {
        return refuse(parse, NULL);
    }
    store(parse, &number, sizeof number);
    buf_printf(parse->canonical, "%lld", (long long)number);
    return SLUICE_OK;
}

static sluice_status parse_float(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    char text[NUMBER_TEXT_MAX];
    double number;

    if (value->kind == VALUE_INT) {
        number = (double)value->as.integer;
    } else if (value->kind == VALUE_FLOAT) {
        number = value->as.number;
    } else if (is_string(value) && value->as.string.size > 0 &&
               (parse->text || value->as.string.data[value->as.string.size - 1] == '%')) {
        if (!text_float(value->as.string.data, value->as.string.size, &number)) {
            return refuse(parse, NULL);
        }
    } else {
        return refuse(parse, NULL);
    }
    if (isnan(number) || !in_limits(parse, number)) {
        return refuse(parse, NULL);
    }
    number += 0.0; /* -0.0 and 0.0 are one value and one text */
    store(parse, &number, sizeof number);
    number_print(number, text);
    buf_puts(parse->canonical, text);
    return SLUICE_OK;
}

static sluice_status parse_enum(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    const char *names[64];
    struct buf words = BUF_INIT;
    const char *near;
    const char *choice;
    char remedy[128] = "";
    size_t n_names = 0;
    size_t length;
    int32_t place;
    sluice_status status;

    if (!is_string(value)) {
        return refuse(parse, NULL);
    }
    place = choice_find(parse->option->choices, value->as.string.data, value->as.string.size);
    if (place >= 0) {
        store(parse, &place, sizeof place);
        buf_append(parse->canonical, value->as.string.data, value->as.string.size);
        return SLUICE_OK;
    }
    for (size_t k = 0; (choice = choice_at(parse->option->choices, k, &length)) != NULL; k++) {
        buf_append(&words, choice, length);
        buf_putc(&words, '\0');
    }
    for (size_t at = 0; at < words.size && n_names < 64; at += strlen(words.data + at) + 1) {
        names[n_names++] = words.data + at;
    }
    near = error_suggest(value->as.string.data, names, n_names);
    if (near != NULL && strlen(near) < 64) {
        memcpy(remedy, "did you mean '", 14);
        memcpy(remedy + 14, near, strlen(near));
        memcpy(remedy + 14 + strlen(near), "'?", 3);
    }
    status = refuse(parse, remedy[0] != '\0' ? remedy : NULL);
    buf_deinit(&words);
    return status;
}

static sluice_status parse_size(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    int64_t whole;
    uint64_t bytes;

    if (whole_number(value, &whole) && whole >= 0) {
        bytes = (uint64_t)whole;
    } else if (!is_string(value) ||
               !text_size(value->as.string.data, value->as.string.size, &bytes)) {
        return refuse(parse, NULL);
    }
    if (!in_limits(parse, (double)bytes)) {
        return refuse(parse, NULL);
    }
    store(parse, &bytes, sizeof bytes);
    print_size(bytes, parse->canonical);
    return SLUICE_OK;
}

static sluice_status parse_duration(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    int64_t nanoseconds = 0;
    bool ok = false;

    if (value->kind == VALUE_INT) {
        ok = value->as.integer >= 0 && value->as.integer <= INT64_MAX / 1000000000;
        nanoseconds = ok ? value->as.integer * 1000000000 : 0;
    } else if (value->kind == VALUE_FLOAT) {
        ok = float_to_duration(value->as.number, &nanoseconds);
    } else if (is_string(value)) {
        ok = text_duration(value->as.string.data, value->as.string.size, &nanoseconds);
    }
    if (!ok || !in_limits(parse, (double)nanoseconds)) {
        return refuse(parse, NULL);
    }
    store(parse, &nanoseconds, sizeof nanoseconds);
    print_duration(nanoseconds, parse->canonical);
    return SLUICE_OK;
}

static bool is_uri(const char *text)
{
    size_t n = 0;

    while ((text[n] >= 'a' && text[n] <= 'z') ||
           (n > 0 && ((text[n] >= '0' && text[n] <= '9') || text[n] == '+'))) {
        n++;
    }
    return n > 1 && strncmp(text + n, "://", 3) == 0;
}

/* Absolute text of a path option: base_dir put before a relative one, "./" dropped. */
static sluice_status print_path(const struct option_parse *parse, const char *path)
{
    if (path[0] == '\0') {
        return refuse(parse, "an empty path");
    }
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
        return refuse(parse, "'~' is not expanded here; write the whole path");
    }
    if (path[0] != '/' && !is_uri(path)) {
        if (parse->base_dir == NULL) {
            return refuse(parse, "a relative path is not possible here; give an absolute one");
        }
        while (path[0] == '.' && path[1] == '/') {
            for (path += 2; path[0] == '/'; path++) {
            }
        }
        buf_puts(parse->canonical, parse->base_dir);
        if (parse->canonical->size > 0 &&
            parse->canonical->data[parse->canonical->size - 1] != '/') {
            buf_putc(parse->canonical, '/');
        }
    }
    buf_puts(parse->canonical, path);
    return SLUICE_OK;
}

/* string path column node: all are const char *. */
static sluice_status parse_string(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    const char *copy;

    if (value->kind == VALUE_BOOL && parse->option->type == SLUICE_OPT_STRING) {
        buf_puts(parse->canonical, value->as.boolean ? "true" : "false"); /* eos = true */
        goto keep;
    }
    if (!is_string(value)) {
        return refuse(parse, NULL);
    }
    TRY(check_string(parse, value));
    if (parse->option->type == SLUICE_OPT_PATH) {
        TRY(print_path(parse, value->as.string.data));
    } else if (value->as.string.size == 0 && parse->option->type != SLUICE_OPT_STRING) {
        return refuse(parse, "an empty name");
    } else {
        buf_puts(parse->canonical, value->as.string.data);
    }
keep:
    TRY(buf_status(parse->canonical, parse->err));
    copy = arena_copy(parse->arena, parse->canonical->data, parse->canonical->size);
    store(parse, &copy, sizeof copy);
    return SLUICE_OK;
}

/* An end of a range: a number, or a text such as "5%". */
static bool range_end(const struct value *value, double *out)
{
    if (value == NULL || value->kind == VALUE_NIL) {
        return true; /* stays open */
    }
    if (value->kind == VALUE_INT) {
        *out = (double)value->as.integer;
        return true;
    }
    if (value->kind == VALUE_FLOAT) {
        *out = value->as.number;
        return true;
    }
    return is_string(value) && text_float(value->as.string.data, value->as.string.size, out);
}

static bool read_range(const struct value *value, struct sluice_range *range)
{
    range->lo = -(double)INFINITY;
    range->hi = (double)INFINITY;
    if (is_string(value)) {
        return text_range(value->as.string.data, value->as.string.size, range);
    }
    if (value->kind == VALUE_LIST) {
        return value->as.list.n == 2 && range_end(&value->as.list.items[0], &range->lo) &&
               range_end(&value->as.list.items[1], &range->hi);
    }
    if (value->kind == VALUE_MAP) {
        const struct value *lo = value_map_get(value, "min");
        const struct value *hi = value_map_get(value, "max");
        size_t known = (lo != NULL ? 1u : 0u) + (hi != NULL ? 1u : 0u);
        return known > 0 && known == value->as.map.n && range_end(lo, &range->lo) &&
               range_end(hi, &range->hi);
    }
    return false;
}

static sluice_status parse_range(const struct option_parse *parse)
{
    struct sluice_range range;

    if (!read_range(parse->value, &range) || isnan(range.lo) || isnan(range.hi)) {
        return refuse(parse, NULL);
    }
    if (range.lo > range.hi) {
        return refuse(parse, "its low end is above its high end");
    }
    if ((isfinite(range.lo) && !in_limits(parse, range.lo)) ||
        (isfinite(range.hi) && !in_limits(parse, range.hi))) {
        return refuse(parse, NULL);
    }
    range.lo += 0.0;
    range.hi += 0.0;
    store(parse, &range, sizeof range);
    print_range(range, parse->canonical);
    return SLUICE_OK;
}

/* Text of a scalar inside a list or map, kept; not OK where memory ran out before, as well. */
static sluice_status scalar_text(const struct option_parse *parse, const struct value *value,
                                 bool bools, const char **out)
{
    char number[NUMBER_TEXT_MAX];
    struct buf text = BUF_INIT;
    sluice_status status;

    *out = NULL;
    if (is_string(value)) {
        TRY(check_string(parse, value));
        *out = arena_copy(parse->arena, value->as.string.data, value->as.string.size);
        return arena_status(parse->arena, parse->err, "an option");
    }
    if (value->kind == VALUE_INT) {
        buf_printf(&text, "%lld", (long long)value->as.integer);
    } else if (value->kind == VALUE_FLOAT && isfinite(value->as.number)) {
        number_print(value->as.number, number);
        buf_puts(&text, number);
    } else if (value->kind == VALUE_BOOL && bools) {
        buf_puts(&text, value->as.boolean ? "true" : "false");
    } else {
        struct option_parse inner = *parse;
        inner.value = value;
        return refuse(&inner, "as one of its items");
    }
    status = buf_status(&text, parse->err);
    *out = arena_copy(parse->arena, buf_str(&text), text.size);
    buf_deinit(&text);
    return status == SLUICE_OK ? arena_status(parse->arena, parse->err, "an option") : status;
}

/* "a,b" to a value list of strings. */
static sluice_status split_list(const struct option_parse *parse, struct value *list)
{
    const char *text = parse->value->as.string.data;
    size_t n = parse->value->as.string.size;
    struct buf item = BUF_INIT;
    size_t at = 0;
    bool separated = false;
    sluice_status status = SLUICE_OK;

    value_list_init(list);
    for (;;) {
        struct value one;
        int found = text_item(text, n, &at, 0, &item);
        if (found == 0 && !separated) {
            break;
        }
        if (found <= 0) {
            status = found == -2 ? error_nomem(parse->err, "an option")
                                 : refuse(parse, "an item is empty or its quotes are wrong");
            break;
        }
        if (!value_string(&one, item.size > 0 ? item.data : "", item.size) ||
            !value_list_add(list, one)) {
            status = error_nomem(parse->err, "an option");
            break;
        }
        separated = at < n;
        at += separated ? 1 : 0;
        if (!separated) {
            break;
        }
    }
    buf_deinit(&item);
    return status;
}

static sluice_status store_list(const struct option_parse *parse, const struct value *items,
                                size_t n)
{
    const char **texts = ARENA_ARRAY(parse->arena, const char *, n);
    struct sluice_list list = { .items = texts, .n = n };

    if (texts == NULL) {
        return error_nomem(parse->err, "an option");
    }
    for (size_t i = 0; i < n; i++) {
        TRY(scalar_text(parse, &items[i], false, &texts[i]));
        buf_puts(parse->canonical, i > 0 ? "," : "");
        print_item(texts[i], parse->canonical);
    }
    store(parse, &list, sizeof list);
    return SLUICE_OK;
}

static sluice_status parse_list(const struct option_parse *parse)
{
    const struct value *value = parse->value;
    struct value split;
    sluice_status status;

    if (value->kind == VALUE_LIST) {
        return store_list(parse, value->as.list.items, value->as.list.n);
    }
    if (value->kind == VALUE_MAP && value->as.map.n == 0) {
        return store_list(parse, NULL, 0); /* an empty Lua table has no kind of its own */
    }
    if (!is_string(value)) {
        return refuse(parse, NULL);
    }
    if (!parse->text) {
        return store_list(parse, value, 1);
    }
    status = split_list(parse, &split);
    if (status == SLUICE_OK) {
        status = store_list(parse, split.as.list.items, split.as.list.n);
    }
    value_deinit(&split);
    return status;
}

static sluice_status store_map(const struct option_parse *parse, const struct value *map)
{
    size_t n = map->as.map.n;
    const char **texts = ARENA_ARRAY(parse->arena, const char *, 2 * n);
    struct sluice_map stored = { .keys = texts,
                                 .values = texts != NULL ? texts + n : NULL,
                                 .n = n };

    if (texts == NULL) {
        return error_nomem(parse->err, "an option");
    }
    for (size_t i = 0; i < n; i++) {
        const struct value_entry *entry = &map->as.map.entries[i];
        if (!utf8_valid(entry->key, strlen(entry->key)) || entry->key[0] == '\0') {
            return refuse(parse, "a key is empty or not UTF-8");
        }
        texts[i] = arena_copy(parse->arena, entry->key, strlen(entry->key));
        TRY(scalar_text(parse, &entry->value, true, &texts[n + i]));
        buf_puts(parse->canonical, i > 0 ? "," : "");
        print_item(texts[i], parse->canonical);
        buf_putc(parse->canonical, '=');
        print_item(texts[n + i], parse->canonical);
    }
    store(parse, &stored, sizeof stored);
    return SLUICE_OK;
}

static sluice_status parse_map(const struct option_parse *parse)
{
    struct value split = VALUE_INIT;
    sluice_status status;

    if (parse->value->kind == VALUE_MAP) {
        return store_map(parse, parse->value);
    }
    if (parse->value->kind == VALUE_LIST && parse->value->as.list.n == 0) {
        value_map_init(&split); /* an empty Lua table */
        return store_map(parse, &split);
    }
    if (!parse->text || !is_string(parse->value)) {
        return refuse(parse, NULL);
    }
    value_map_init(&split);
    status = options_split(parse->value->as.string.data, &split, parse->err);
    status = status == SLUICE_OK        ? store_map(parse, &split)
             : status == SLUICE_E_NOMEM ? status
                                        : refuse(parse, "text such as a=x,b=y");
    value_deinit(&split);
    return status;
}

sluice_status option_parse_value(const struct option_parse *parse)
{
    switch (parse->option->type) {
    case SLUICE_OPT_BOOL:
        return parse_bool(parse);
    case SLUICE_OPT_INT:
        return parse_int(parse);
    case SLUICE_OPT_FLOAT:
        return parse_float(parse);
    case SLUICE_OPT_ENUM:
        return parse_enum(parse);
    case SLUICE_OPT_SIZE:
        return parse_size(parse);
    case SLUICE_OPT_DURATION:
        return parse_duration(parse);
    case SLUICE_OPT_RANGE:
        return parse_range(parse);
    case SLUICE_OPT_LIST:
        return parse_list(parse);
    case SLUICE_OPT_MAP:
        return parse_map(parse);
    case SLUICE_OPT_STRING:
    case SLUICE_OPT_PATH:
    case SLUICE_OPT_COLUMN:
    case SLUICE_OPT_NODE:
        return parse_string(parse);
    default:
        return error_set(parse->err, SLUICE_E_INTERNAL, "option '%s' has an unknown type",
                         parse->option->name);
    }
}
