/* Tokens of a Lua text: see luatokens.h. */
#include "lua/stage/luatokens.h"

#include <stdbool.h>
#include <string.h>

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Past the long bracket that begins at p ("[[", "[==["); p: none begins there. */
static const char *skip_long(const char *p, const char *end)
{
    const char *q = p + 1;
    size_t level;

    while (q < end && *q == '=') {
        q++;
    }
    if (q == end || *p != '[' || *q != '[') {
        return p;
    }
    level = (size_t)(q - p) - 1;
    for (q++; q < end; q++) {
        const char *close = q + 1;
        if (*q != ']') {
            continue;
        }
        while (close < end && *close == '=') {
            close++;
        }
        if (close < end && *close == ']' && (size_t)(close - q) - 1 == level) {
            return close + 1;
        }
    }
    return end;
}

/* Past the comment at p, which begins with "--". */
static const char *skip_comment(const char *p, const char *end)
{
    const char *inner = p + 2;
    const char *behind = inner < end ? skip_long(inner, end) : inner;

    if (behind == inner) {
        while (behind < end && *behind != '\n' && *behind != '\r') {
            behind++;
        }
    }
    return behind;
}

static const char *skip_string(const char *p, const char *end)
{
    const char quote = *p;

    for (p++; p < end && *p != quote; p++) {
        p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
}

/* As Lua reads a numeral: digits and letters, dots, and a sign behind an exponent's letter. */
static const char *skip_number(const char *p, const char *end)
{
    for (p++; p < end && (is_word(*p) || *p == '.' || *p == '+' || *p == '-'); p++) {
        if ((*p == '+' || *p == '-') && strchr("eEpP", p[-1]) == NULL) {
            break;
        }
    }
    return p;
}

static const char *skip_operator(const char *p, const char *end)
{
    static const char *const two[] = { "==", "~=", "<=", ">=", "//", "::", "<<", ">>", ".." };
    size_t left = (size_t)(end - p);

    if (left >= 3 && memcmp(p, "...", 3) == 0) {
        return p + 3;
    }
    for (size_t i = 0; left >= 2 && i < sizeof two / sizeof *two; i++) {
        if (memcmp(p, two[i], 2) == 0) {
            return p + 2;
        }
    }
    return p + 1;
}

static const char *skip_token(const char *p, const char *end)
{
    const char *behind = *p == '[' ? skip_long(p, end) : p;

    if (behind > p) {
        return behind;
    }
    if (*p == '"' || *p == '\'') {
        return skip_string(p, end);
    }
    if ((*p >= '0' && *p <= '9') || (*p == '.' && p + 1 < end && p[1] >= '0' && p[1] <= '9')) {
        return skip_number(p, end);
    }
    if (is_word(*p)) {
        while (p < end && is_word(*p)) {
            p++;
        }
        return p;
    }
    return skip_operator(p, end);
}

/* Line breaks as Lua counts them: "\r\n" and "\n\r" are one. */
static int count_lines(const char *p, const char *end)
{
    int n = 0;

    for (; p < end; p++) {
        if (*p == '\n' || *p == '\r') {
            n++;
            p += p + 1 < end && (p[1] == '\n' || p[1] == '\r') && p[1] != p[0];
        }
    }
    return n;
}

void luatokens_hash(struct hasher *hasher, const char *text, size_t n, int first, int last)
{
    const char *p = text;
    const char *end = text + n;
    const char *gap = text; /* where the spaces and comments before the token begin */
    int line = 1;

    while (p < end) {
        const char *behind;
        if (is_space(*p)) {
            p++;
            continue;
        }
        if (*p == '-' && p + 1 < end && p[1] == '-') {
            p = skip_comment(p, end);
            continue;
        }
        line += count_lines(gap, p);
        if (line > last) {
            return;
        }
        behind = skip_token(p, end);
        gap = p;
        if (line + count_lines(p, behind) >= first) {
            hasher_add_u64(hasher, (uint64_t)(behind - p));
            hasher_add(hasher, p, (size_t)(behind - p));
        }
        p = behind;
    }
}
