/* A field of a row as text: see rowfield.h. */
#include "cmd/dataset/rowfield.h"

#include <jansson.h>
#include <string.h>

struct text {
    const char *at, *end;
};

static void skip_space(struct text *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) != NULL && *text->at != '\0') {
        text->at++;
    }
}

/* Behind a string whose first quote is here; false: it has no end. */
static bool skip_string(struct text *text)
{
    const char *begin = ++text->at;

    while (text->at < text->end) {
        const char *quote = memchr(text->at, '"', (size_t)(text->end - text->at));
        const char *slash = quote;
        if (quote == NULL) {
            return false;
        }
        while (slash > begin && slash[-1] == '\\') {
            slash--;
        }
        text->at = quote + 1;
        if ((quote - slash) % 2 == 0) {
            return true;
        }
    }
    return false;
}

/* Behind a value. */
static bool skip_value(struct text *text)
{
    unsigned depth = 0;

    do {
        char c = text->at < text->end ? *text->at : '\0';
        if (c == '"') {
            if (!skip_string(text)) {
                return false;
            }
        } else if (c == '{' || c == '[') {
            depth++;
            text->at++;
        } else if (c == '}' || c == ']') {
            if (depth-- == 0) {
                return false;
            }
            text->at++;
        } else if (depth > 0 && text->at < text->end) {
            text->at++;
        } else {
            const char *begin = text->at;
            while (text->at < text->end && *text->at != '\0' &&
                   strchr(",]} \t\r\n", *text->at) == NULL) {
                text->at++;
            }
            if (text->at == begin) {
                return false;
            }
        }
    } while (depth > 0 && text->at < text->end);
    return depth == 0;
}

/* The text of a JSON string with its quotes. */
static bool string_text(const char *begin, size_t n, struct buf *scratch, const char **out,
                        size_t *out_n)
{
    json_t *value;

    buf_clear(scratch);
    *out = begin + 1;
    *out_n = n - 2;
    if (memchr(begin, '\\', n) == NULL) {
        return true;
    }
    value = json_loadb(begin, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (value != NULL) {
        buf_append(scratch, json_string_value(value), json_string_length(value));
    }
    json_decref(value);
    *out = buf_str(scratch);
    *out_n = scratch->size;
    return value != NULL && !scratch->failed;
}

struct search {
    struct buf *scratch;
    struct text value; /* what was found */
};

static enum rowfield find(struct search *search, struct text text, const char *path);

/* A member whose name is the whole path is the field, one whose name is the part before a dot an
 * object to look into. */
static enum rowfield look(struct search *search, struct text name, struct text member,
                          const char *path)
{
    const char *begin = name.at;
    size_t n = (size_t)(name.end - name.at);
    size_t size = strlen(path);

    if (memchr(begin, '\\', n) != NULL &&
        !string_text(name.at - 1, n + 2, search->scratch, &begin, &n)) {
        return ROWFIELD_NO_JSON;
    }
    if (n == size && memcmp(begin, path, n) == 0) {
        search->value = member;
        return ROWFIELD_TEXT;
    }
    if (n < size && path[n] == '.' && memcmp(begin, path, n) == 0 && *member.at == '{') {
        return find(search, member, path + n + 1);
    }
    return ROWFIELD_NONE;
}

/* Reads `"name": value` and what is behind it; false: it is no JSON. */
static bool take_member(struct text *text, struct text *name, struct text *member)
{
    skip_space(text);
    if (text->at == text->end || *text->at != '"') {
        return false;
    }
    name->at = text->at + 1;
    if (!skip_string(text)) {
        return false;
    }
    name->end = text->at - 1;
    skip_space(text);
    if (text->at == text->end || *text->at++ != ':') {
        return false;
    }
    skip_space(text);
    member->at = text->at;
    if (!skip_value(text)) {
        return false;
    }
    member->end = text->at;
    skip_space(text);
    return text->at < text->end && (*text->at == ',' || *text->at == '}');
}

static enum rowfield find(struct search *search, struct text text, const char *path)
{
    enum rowfield found = ROWFIELD_NONE;

    skip_space(&text);
    if (text.at == text.end || *text.at != '{') {
        return ROWFIELD_NO_JSON;
    }
    text.at++;
    skip_space(&text);
    while (text.at < text.end && *text.at != '}') {
        struct text name;
        struct text member;
        enum rowfield one;
        if (!take_member(&text, &name, &member)) {
            return ROWFIELD_NO_JSON;
        }
        one = look(search, name, member, path);
        if (one == ROWFIELD_NO_JSON) {
            return one;
        }
        found = one == ROWFIELD_NONE ? found : one;
        text.at += *text.at == ',';
        skip_space(&text);
    }
    return text.at < text.end ? found : ROWFIELD_NO_JSON;
}

enum rowfield rowfield_find(const char *row, size_t n, const char *path, struct buf *scratch,
                            const char **out, size_t *out_n)
{
    struct search search = { .scratch = scratch };
    enum rowfield found = find(&search, (struct text){ row, row + n }, path);
    const char *value = search.value.at;

    if (found != ROWFIELD_TEXT) {
        return found;
    }
    n = (size_t)(search.value.end - value);
    if (*value == '"') {
        return string_text(value, n, scratch, out, out_n) ? ROWFIELD_TEXT : ROWFIELD_NO_JSON;
    }
    if (*value == 'n') {
        return ROWFIELD_NONE;
    }
    if (strchr("{[tf", *value) != NULL) {
        return ROWFIELD_OTHER;
    }
    *out = value;
    *out_n = n;
    return ROWFIELD_TEXT;
}
