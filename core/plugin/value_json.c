/* Reads one JSON text (RFC 8259) into a value: a strict parser for small texts (options, notes).
 * See value.h.
 *
 * Not jansson's: that refuses an integer beyond 64 bits ("too big integer"), or reads every integer
 * of the text as a double. Here such a number is a double, as Lua has it, and the integers beside
 * it stay exact (9007199254740993); rows and options rely on both. */
#include <math.h>
#include <string.h>

#include "plugin/value.h"

struct parser {
    const char *text;
    size_t n, at;
    struct sluice_error *err;
};

static sluice_status parse_value(struct parser *, int depth, struct value *out);

static sluice_status fail(struct parser *parser, const char *expected)
{
    return error_set(parser->err, SLUICE_E_CONFIG, "bad JSON at byte %zu: expected %s", parser->at,
                     expected);
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->n && strchr(" \t\r\n", parser->text[parser->at]) != NULL &&
           parser->text[parser->at] != '\0') {
        parser->at++;
    }
}

static int next(const struct parser *parser)
{
    return parser->at < parser->n ? (unsigned char)parser->text[parser->at] : -1;
}

static bool take_word(struct parser *parser, const char *word)
{
    size_t length = strlen(word);

    if (parser->n - parser->at < length || memcmp(parser->text + parser->at, word, length) != 0) {
        return false;
    }
    parser->at += length;
    return true;
}

/* Four hexadecimal digits, or -1. */
static int32_t take_hex(struct parser *parser)
{
    int32_t code = 0;

    if (parser->n - parser->at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        char c = parser->text[parser->at + (size_t)i];
        int32_t digit;
        if (c >= '0' && c <= '9') {
            digit = c - '0';
        } else if (c >= 'a' && c <= 'f') {
            digit = c - 'a' + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = c - 'A' + 10;
        } else {
            return -1;
        }
        code = code * 16 + digit;
    }
    parser->at += 4;
    return code;
}

static void put_utf8(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_putc(out, (char)code);
    } else if (code < 0x800) {
        buf_putc(out, (char)(0xc0 | code >> 6));
        buf_putc(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        buf_putc(out, (char)(0xe0 | code >> 12));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buf_putc(out, (char)(0x80 | (code & 0x3f)));
    } else {
        buf_putc(out, (char)(0xf0 | code >> 18));
        buf_putc(out, (char)(0x80 | (code >> 12 & 0x3f)));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3f)));
        buf_putc(out, (char)(0x80 | (code & 0x3f)));
    }
}

static sluice_status parse_escape(struct parser *parser, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    int c = next(parser);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    int32_t code;

    if (known != NULL) {
        parser->at++;
        buf_putc(out, to[known - from]);
        return SLUICE_OK;
    }
    if (c != 'u') {
        return fail(parser, "an escape");
    }
    parser->at++;
    code = take_hex(parser);
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) {
        return fail(parser, "four hexadecimal digits of a character");
    }
    if (code >= 0xd800 && code <= 0xdbff) {
        int32_t low = take_word(parser, "\\u") ? take_hex(parser) : -1;
        if (low < 0xdc00 || low > 0xdfff) {
            return fail(parser, "the second half of a surrogate pair");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(out, (uint32_t)code);
    return SLUICE_OK;
}

/* The string after its opening quote. */
static sluice_status parse_string(struct parser *parser, struct buf *out)
{
    for (;;) {
        int c = next(parser);
        size_t start = parser->at;
        if (c == '"') {
            parser->at++;
            break;
        }
        if (c < 0x20) {
            return fail(parser, c < 0 ? "the end of a string" : "no control character in a string");
        }
        if (c == '\\') {
            parser->at++;
            TRY(parse_escape(parser, out));
            continue;
        }
        while (next(parser) >= 0x20 && next(parser) != '"' && next(parser) != '\\') {
            parser->at++;
        }
        buf_append(out, parser->text + start, parser->at - start);
    }
    TRY(buf_status(out, parser->err));
    if (!utf8_valid(out->data, out->size)) {
        return fail(parser, "UTF-8 in a string");
    }
    return SLUICE_OK;
}

static sluice_status parse_number(struct parser *parser, struct value *out)
{
    size_t start = parser->at;
    size_t digits;
    bool whole = true;
    double number;

    if (next(parser) == '-') {
        parser->at++;
    }
    digits = parser->at;
    while (next(parser) >= '0' && next(parser) <= '9') {
        parser->at++;
    }
    if (parser->at == digits || (parser->text[digits] == '0' && parser->at > digits + 1)) {
        return fail(parser, "a value");
    }
    if (next(parser) == '.') {
        whole = false;
        digits = ++parser->at;
        while (next(parser) >= '0' && next(parser) <= '9') {
            parser->at++;
        }
        if (parser->at == digits) {
            return fail(parser, "a digit");
        }
    }
    if (next(parser) == 'e' || next(parser) == 'E') {
        whole = false;
        parser->at++;
        if (next(parser) == '+' || next(parser) == '-') {
            parser->at++;
        }
        digits = parser->at;
        while (next(parser) >= '0' && next(parser) <= '9') {
            parser->at++;
        }
        if (parser->at == digits) {
            return fail(parser, "a digit");
        }
    }
    if (whole && parser->at - start <= 20) {
        bool negative = parser->text[start] == '-';
        uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
        uint64_t sum = 0;
        bool fits = true;
        for (size_t i = start + (negative ? 1 : 0); i < parser->at; i++) {
            uint64_t digit = (uint64_t)(parser->text[i] - '0');
            if (sum > (limit - digit) / 10) {
                fits = false;
                break;
            }
            sum = sum * 10 + digit;
        }
        if (fits) {
            *out = value_int(negative ? (int64_t)(0 - sum) : (int64_t)sum);
            return SLUICE_OK;
        }
    }
    if (number_parse(parser->text + start, parser->at - start, &number) != parser->at - start) {
        return fail(parser, "a number of fewer digits");
    }
    if (!isfinite(number)) {
        return fail(parser, "a number that a double can hold");
    }
    *out = value_float(number);
    return SLUICE_OK;
}

static sluice_status parse_list(struct parser *parser, int depth, struct value *out)
{
    value_list_init(out);
    skip_blanks(parser);
    if (next(parser) == ']') {
        parser->at++;
        return SLUICE_OK;
    }
    for (;;) {
        struct value item;
        TRY(parse_value(parser, depth + 1, &item));
        if (!value_list_add(out, item)) {
            return error_nomem(parser->err, "a JSON value");
        }
        skip_blanks(parser);
        if (next(parser) == ']') {
            parser->at++;
            return SLUICE_OK;
        }
        if (next(parser) != ',') {
            return fail(parser, "',' or ']'");
        }
        parser->at++;
    }
}

static sluice_status parse_map(struct parser *parser, int depth, struct value *out)
{
    struct buf key = BUF_INIT;
    sluice_status status = SLUICE_OK;

    value_map_init(out);
    skip_blanks(parser);
    if (next(parser) == '}') {
        parser->at++;
        return SLUICE_OK;
    }
    for (;;) {
        struct value item;
        skip_blanks(parser);
        if (next(parser) != '"') {
            status = fail(parser, "a quoted key");
            break;
        }
        parser->at++;
        buf_clear(&key);
        status = parse_string(parser, &key);
        if (status != SLUICE_OK) {
            break;
        }
        if (!buf_reserve(&key, 0)) {
            status = error_nomem(parser->err, "a JSON value");
            break;
        }
        if (strlen(buf_str(&key)) != key.size || value_map_get(out, buf_str(&key)) != NULL) {
            status = fail(parser, "another key (this one is there twice or holds a NUL)");
            break;
        }
        skip_blanks(parser);
        if (next(parser) != ':') {
            status = fail(parser, "':'");
            break;
        }
        parser->at++;
        status = parse_value(parser, depth + 1, &item);
        if (status != SLUICE_OK) {
            break;
        }
        if (!value_map_set(out, buf_str(&key), item)) {
            status = error_nomem(parser->err, "a JSON value");
            break;
        }
        skip_blanks(parser);
        if (next(parser) == '}') {
            parser->at++;
            break;
        }
        if (next(parser) != ',') {
            status = fail(parser, "',' or '}'");
            break;
        }
        parser->at++;
    }
    buf_deinit(&key);
    return status;
}

static sluice_status parse_value(struct parser *parser, int depth, struct value *out)
{
    sluice_status status = SLUICE_OK;
    struct buf text = BUF_INIT;

    *out = value_nil();
    if (depth > VALUE_DEPTH_MAX) {
        return fail(parser, "less nesting (at most 32 levels)");
    }
    skip_blanks(parser);
    switch (next(parser)) {
    case '{':
        parser->at++;
        status = parse_map(parser, depth, out);
        break;
    case '[':
        parser->at++;
        status = parse_list(parser, depth, out);
        break;
    case '"':
        parser->at++;
        status = parse_string(parser, &text);
        if (status == SLUICE_OK && !value_string(out, text.size > 0 ? text.data : "", text.size)) {
            status = error_nomem(parser->err, "a JSON value");
        }
        buf_deinit(&text);
        break;
    default:
        if (take_word(parser, "true")) {
            *out = value_bool(true);
        } else if (take_word(parser, "false")) {
            *out = value_bool(false);
        } else if (!take_word(parser, "null")) {
            status = parse_number(parser, out);
        }
        break;
    }
    if (status != SLUICE_OK) {
        value_deinit(out);
    }
    return status;
}

sluice_status value_parse_json(const char *text, size_t n, struct value *out,
                               struct sluice_error *err)
{
    struct parser parser = { .text = text, .n = n, .at = 0, .err = err };

    TRY(parse_value(&parser, 1, out));
    skip_blanks(&parser);
    if (parser.at < n) {
        value_deinit(out);
        return fail(&parser, "the end of the text");
    }
    return SLUICE_OK;
}
