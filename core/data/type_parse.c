/* The parser of the schema language (see schema.h): recursive descent over one text, at most
 * TYPE_DEPTH_MAX levels deep. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/typeInt.h"

struct parser {
    const char *text;
    const char *at;
    struct sluice_error *err;
};

static sluice_status parse_type(struct parser *p, uint32_t depth, struct type **out);

static sluice_status fail(const struct parser *p, const char *expected)
{
    size_t rest = strlen(p->at);

    if (rest == 0) {
        return error_set(p->err, SLUICE_E_SCHEMA, "the type '%.200s' ends too early: expected %s",
                         p->text, expected);
    }
    return error_set(p->err, SLUICE_E_SCHEMA,
                     "the type '%.200s' has '%.24s%s' at byte %zu: expected %s", p->text, p->at,
                     rest > 24 ? "..." : "", (size_t)(p->at - p->text), expected);
}

static sluice_status nomem(const struct parser *p)
{
    return error_nomem(p->err, "a type");
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') {
        p->at++;
    }
}

static bool accept(struct parser *p, char c)
{
    skip_space(p);
    if (*p->at == c) {
        p->at++;
        return true;
    }
    return false;
}

static sluice_status expect(struct parser *p, char c)
{
    char expected[] = "'x'";

    if (accept(p, c)) {
        return SLUICE_OK;
    }
    expected[1] = c;
    return fail(p, expected);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A decimal integer in [low, high]. */
static sluice_status parse_number(struct parser *p, int32_t low, int32_t high, const char *expected,
                                  int32_t *out)
{
    const char *begin;
    bool negative;
    int64_t value = 0;

    skip_space(p);
    begin = p->at;
    negative = low < 0 && *p->at == '-';
    p->at += negative ? 1 : 0;
    if (*p->at < '0' || *p->at > '9') {
        p->at = begin;
        return fail(p, expected);
    }
    while (*p->at >= '0' && *p->at <= '9') {
        value = value * 10 + (*p->at - '0');
        p->at++;
        if (value > INT32_MAX) {
            p->at = begin;
            return fail(p, expected);
        }
    }
    value = negative ? -value : value;
    if (value < low || value > high) {
        p->at = begin;
        return fail(p, expected);
    }
    *out = (int32_t)value;
    return SLUICE_OK;
}

/* A member's name, bare or quoted. Gives. */
static sluice_status parse_name(struct parser *p, char **out)
{
    struct buf name = BUF_INIT;
    const char *begin;

    skip_space(p);
    begin = p->at;
    if (*p->at == '"') {
        p->at++;
        while (*p->at != '"') {
            if (*p->at == '\\' && (p->at[1] == '"' || p->at[1] == '\\')) {
                p->at++;
            } else if (*p->at == '\0' || *p->at == '\\') {
                buf_deinit(&name);
                return fail(p,
                            "the rest of a name: \\\" and \\\\ are the escapes, and '\"' ends it");
            }
            buf_putc(&name, *p->at);
            p->at++;
        }
        p->at++;
    } else {
        while (is_word(*p->at) || *p->at == '-' || *p->at == '.' || (unsigned char)*p->at >= 0x80) {
            p->at++;
        }
        buf_append(&name, begin, (size_t)(p->at - begin));
    }
    if (!name.failed && (name.size == 0 || !utf8_valid(name.data, name.size))) {
        buf_deinit(&name);
        p->at = begin;
        return fail(p, "the name of a struct's member in UTF-8");
    }
    *out = buf_take(&name);
    return *out != NULL ? SLUICE_OK : nomem(p);
}

static sluice_status parse_child(struct parser *p, uint32_t depth, struct type *type, char *name)
{
    struct type *child = NULL;
    sluice_status status = parse_type(p, depth + 1, &child);

    if (status != SLUICE_OK) {
        free(name);
        return status;
    }
    return type_adopt(type, child, name) ? SLUICE_OK : nomem(p);
}

static sluice_status parse_members(struct parser *p, uint32_t depth, struct type *type)
{
    TRY(expect(p, '<'));
    if (accept(p, '>')) {
        return SLUICE_OK;
    }
    do {
        const char *begin;
        char *name = NULL;
        skip_space(p);
        begin = p->at;
        if (type->n_children == TYPE_CHILDREN_MAX) {
            return fail(p, "'>': a struct has at most 4096 members");
        }
        TRY(parse_name(p, &name));
        for (uint32_t k = 0; k < type->n_children; k++) {
            if (strcmp(type->names[k], name) == 0) {
                free(name);
                p->at = begin;
                return fail(p, "another name: the struct has a member of this name already");
            }
        }
        if (!accept(p, ':')) {
            free(name);
            return fail(p, "':' and the member's type, as in struct<name:utf8>");
        }
        TRY(parse_child(p, depth, type, name));
    } while (accept(p, ','));
    return accept(p, '>') ? SLUICE_OK : fail(p, "',' and another member, or '>'");
}

static sluice_status parse_unit(struct parser *p, const struct type_word *word, struct type *type)
{
    static const char *const expected[] = { "s or ms", "us or ns", "s, ms, us or ns" };
    const char *hint = expected[word->kind == TYPE_TIME32 ? 0 : word->kind == TYPE_TIME64 ? 1 : 2];
    char spaced[8];
    const char *begin;
    size_t n;

    TRY(expect(p, '['));
    skip_space(p);
    begin = p->at;
    while (is_word(*p->at)) {
        p->at++;
    }
    n = (size_t)(p->at - begin);
    if (n == 0 || n > 2) {
        p->at = begin;
        return fail(p, hint);
    }
    /* The list of units has spaces around each, so only whole ones are found. */
    spaced[0] = ' ';
    memcpy(spaced + 1, begin, n);
    memcpy(spaced + 1 + n, " ", 2);
    if (strstr(word->units, spaced) == NULL) {
        p->at = begin;
        return fail(p, hint);
    }
    memcpy(type->unit, begin, n);
    if (word->kind == TYPE_TIMESTAMP && accept(p, ',')) {
        size_t zone;
        skip_space(p);
        begin = p->at;
        while (is_word(*p->at) || *p->at == '/' || *p->at == '+' || *p->at == '-' ||
               *p->at == ':') {
            p->at++;
        }
        zone = (size_t)(p->at - begin);
        if (zone == 0 || n + 1 + zone >= sizeof type->unit) {
            p->at = begin;
            return fail(p, "a time zone of at most 36 bytes, as in timestamp[us,Europe/Berlin] or "
                           "timestamp[s,+02:00]");
        }
        type->unit[n] = ',';
        memcpy(type->unit + n + 1, begin, zone);
    }
    return expect(p, ']');
}

static sluice_status parse_pair(struct parser *p, uint32_t depth, struct type *type)
{
    const char *begin;

    TRY(expect(p, '<'));
    skip_space(p);
    begin = p->at;
    TRY(parse_child(p, depth, type, NULL));
    if (type->kind == TYPE_MAP && type->children[0]->nullable) {
        p->at = begin;
        return fail(p, "a key type without '?': keys of a map are never null");
    }
    if (type->kind == TYPE_DICTIONARY &&
        (type->children[0]->kind < TYPE_INT8 || type->children[0]->kind > TYPE_UINT64 ||
         type->children[0]->nullable)) {
        p->at = begin;
        return fail(p, "an integer type: what a dictionary's values are numbered with");
    }
    TRY(expect(p, ','));
    TRY(parse_child(p, depth, type, NULL));
    return expect(p, '>');
}

static sluice_status parse_shape(struct parser *p, uint32_t depth, const struct type_word *word,
                                 struct type *type)
{
    switch (word->shape) {
    case SHAPE_PLAIN:
        return SLUICE_OK;
    case SHAPE_ITEM:
        TRY(expect(p, '<'));
        TRY(parse_child(p, depth, type, NULL));
        return expect(p, '>');
    case SHAPE_PAIR:
        return parse_pair(p, depth, type);
    case SHAPE_MEMBERS:
        return parse_members(p, depth, type);
    case SHAPE_SIZE:
        TRY(expect(p, '['));
        TRY(parse_number(p, 1, TYPE_FIXED_MAX, "a number of bytes from 1 to 65536, as in fixed[16]",
                         &type->width));
        return expect(p, ']');
    case SHAPE_UNIT:
        return parse_unit(p, word, type);
    case SHAPE_DECIMAL:
        TRY(expect(p, '('));
        TRY(parse_number(p, 1, 38, "a precision from 1 to 38", &type->width));
        TRY(expect(p, ','));
        TRY(parse_number(p, -38, 38, "a scale from -38 to 38", &type->scale));
        return expect(p, ')');
    }
    return error_set(p->err, SLUICE_E_INTERNAL, "a kind of type without a shape");
}

/* Found a word that names no kind. */
static sluice_status fail_word(const struct parser *p, size_t n)
{
    const char *words[TYPE_DICTIONARY + 2];
    char word[64];
    const char *near = NULL;

    if (n > 0 && n < sizeof word) {
        memcpy(word, p->at, n);
        word[n] = '\0';
        for (int k = 0; k <= TYPE_DICTIONARY; k++) {
            words[k] = type_words[k].text;
        }
        words[TYPE_DICTIONARY + 1] = "spans";
        near = error_suggest(word, words, TYPE_DICTIONARY + 2);
        if (strcmp(word, "string") == 0 || strcmp(word, "text") == 0 || strcmp(word, "str") == 0) {
            near = "utf8";
        } else if (strcmp(word, "double") == 0 || strcmp(word, "float") == 0) {
            near = "float64";
        } else if (strcmp(word, "int") == 0 || strcmp(word, "long") == 0) {
            near = "int64";
        } else if (strcmp(word, "bytes") == 0) {
            near = "binary";
        }
    }
    if (near != NULL) {
        return error_set(
            p->err, SLUICE_E_SCHEMA,
            "the type '%.200s' has '%s' at byte %zu, which is no type; did you mean '%s'?", p->text,
            word, (size_t)(p->at - p->text), near);
    }
    return fail(p, "a type: bool int8..int64 uint8..uint64 float32 float64 utf8 binary json "
                   "fixed[N] list<T> struct<name:T,...>");
}

static sluice_status parse_type(struct parser *p, uint32_t depth, struct type **out)
{
    static const struct type_word spans = { "spans", TYPE_LIST, SHAPE_PLAIN, NULL };
    const struct type_word *word = NULL;
    struct type *type;
    sluice_status status;
    size_t n = 0;

    skip_space(p);
    if (depth > TYPE_DEPTH_MAX) {
        return fail(p, "fewer levels: types nest at most 32 deep");
    }
    while (is_word(p->at[n])) {
        n++;
    }
    for (int k = 0; k <= TYPE_DICTIONARY; k++) {
        if (strlen(type_words[k].text) == n && memcmp(type_words[k].text, p->at, n) == 0) {
            word = &type_words[k];
        }
    }
    if (n == 5 && memcmp(p->at, "spans", 5) == 0) {
        word = &spans;
    }
    if (word == NULL) {
        return fail_word(p, n);
    }
    p->at += n;
    type = type_create(word->kind);
    if (type == NULL) {
        return nomem(p);
    }
    if (word == &spans) {
        struct type *item = type_create(TYPE_UINT64);
        type->spans = true;
        status = item != NULL && type_adopt(type, item, NULL) ? SLUICE_OK : nomem(p);
    } else {
        status = parse_shape(p, depth, word, type);
    }
    if (status != SLUICE_OK) {
        type_destroy(type);
        return status;
    }
    type->nullable = accept(p, '?');
    *out = type;
    return SLUICE_OK;
}

sluice_status type_parse(const char *text, struct type **out, struct sluice_error *err)
{
    struct parser p = { text, text, err };
    struct type *type = NULL;

    *out = NULL;
    TRY(parse_type(&p, 0, &type));
    skip_space(&p);
    if (*p.at != '\0') {
        type_destroy(type);
        return fail(&p, "the end of the type");
    }
    *out = type;
    return SLUICE_OK;
}
