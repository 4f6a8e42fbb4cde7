/* See where_lex.h. */
#include <stdio.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/where_lex.h"

sluice_status lex_no_memory(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "where", "out of memory for the expression");
}

bool lex_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- tokens ---- */

/* "found 'adn'" */
static const char *found(const struct parser *p, char *out, size_t room)
{
    if (p->token == TOKEN_END) {
        snprintf(out, room, "found the end");
    } else {
        int n = (int)(p->end - p->at < 60 ? p->end - p->at : 60);
        while (n > 0 && ((unsigned char)p->text[p->at + (size_t)n] & 0xC0u) == 0x80u) {
            n--;
        }
        snprintf(out, room, "found %.*s", n, p->text + p->at);
    }
    return out;
}

sluice_status lex_unexpected(const struct parser *p, const char *expected)
{
    char what[100];

    return where_fail(p->err, SLUICE_E_CONFIG, p->text, p->at, "%s, expected %s",
                      found(p, what, sizeof what), expected);
}

/* A quoted text; a quote inside is written twice. */
static sluice_status lex_quoted(struct parser *p, char quote)
{
    const char *from = p->text + p->at + 1;
    char *out = where_alloc(&p->where->blocks, strlen(from) + 1);
    size_t n = 0;

    if (out == NULL) {
        return lex_no_memory(p->err);
    }
    for (; *from != '\0' && (*from != quote || from[1] == quote); from++) {
        from += *from == quote;
        out[n++] = *from;
    }
    if (*from == '\0') {
        return where_fail(p->err, SLUICE_E_CONFIG, p->text, p->at,
                          "a %s that does not end, expected %c behind it (inside, it is "
                          "written twice)",
                          quote == '`' ? "name" : "text", quote);
    }
    p->end = (size_t)(from - p->text) + 1;
    p->token = quote == '`' ? TOKEN_NAME : TOKEN_TEXT;
    p->quoted = true;
    p->name = out;
    p->n = n;
    return SLUICE_OK;
}

static sluice_status lex_name(struct parser *p)
{
    char *out;

    while (lex_is_letter(p->text[p->end]) || is_digit(p->text[p->end])) {
        p->end++;
    }
    p->n = p->end - p->at;
    out = where_alloc(&p->where->blocks, p->n + 1);
    if (out == NULL) {
        return lex_no_memory(p->err);
    }
    memcpy(out, p->text + p->at, p->n);
    p->token = TOKEN_NAME;
    p->name = out;
    return SLUICE_OK;
}

static void lex_number(struct parser *p)
{
    const char *text = p->text;

    p->token = TOKEN_NUMBER;
    p->end += text[p->end] == '-' || text[p->end] == '+';
    while (is_digit(text[p->end])) {
        p->end++;
    }
    if (text[p->end] == '.') {
        p->end++;
        while (is_digit(text[p->end])) {
            p->end++;
        }
    }
    if (text[p->end] == 'e' || text[p->end] == 'E') {
        size_t at = p->end + 1;
        at += text[at] == '-' || text[at] == '+';
        if (is_digit(text[at])) {
            while (is_digit(text[at])) {
                at++;
            }
            p->end = at;
        }
    }
}

static sluice_status lex_sign(struct parser *p)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "=", "<", ">",
                                         "(",  ")",  ",",  ".",  "[", "]" };
    static const char *const others[][2] = { { "<>", "!=" }, { "~=", "!=" }, { "&&", "and" },
                                             { "||", "or" }, { "&", "and" }, { "|", "or" },
                                             { "!", "not" } };
    const char *text = p->text + p->at;

    p->token = TOKEN_SIGN;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        if (strncmp(text, others[k][0], strlen(others[k][0])) == 0 && text[0] != '!') {
            return where_fail(p->err, SLUICE_E_CONFIG, p->text, p->at, "found %s, expected %s",
                              others[k][0], others[k][1]);
        }
    }
    for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++) {
        if (strncmp(text, signs[k], strlen(signs[k])) == 0) {
            p->end = p->at + strlen(signs[k]);
            return SLUICE_OK;
        }
    }
    if (text[0] == '!') {
        return where_fail(p->err, SLUICE_E_CONFIG, p->text, p->at, "found !, expected != or not");
    }
    p->end = p->at + 1;
    return lex_unexpected(p, "a column, a value or a sign of the language (names with other "
                             "characters are written `in quotes like these`)");
}

sluice_status lex_next(struct parser *p)
{
    char c;

    while (p->text[p->end] == ' ' || p->text[p->end] == '\t' || p->text[p->end] == '\n' ||
           p->text[p->end] == '\r') {
        p->end++;
    }
    p->at = p->end;
    p->quoted = false;
    c = p->text[p->at];
    if (c == '\0') {
        p->token = TOKEN_END;
        return SLUICE_OK;
    }
    if (c == '\'' || c == '"' || c == '`') {
        return lex_quoted(p, c);
    }
    if (lex_is_letter(c)) {
        return lex_name(p);
    }
    if (is_digit(c) || ((c == '-' || c == '+') && is_digit(p->text[p->at + 1]))) {
        lex_number(p);
        return SLUICE_OK;
    }
    return lex_sign(p);
}

bool lex_is_sign(const struct parser *p, const char *sign)
{
    return p->token == TOKEN_SIGN && p->end - p->at == strlen(sign) &&
           memcmp(p->text + p->at, sign, p->end - p->at) == 0;
}

static bool is_spelt(const char *name, size_t n, const char *word)
{
    if (n != strlen(word)) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        if ((name[k] | 0x20) != word[k]) {
            return false;
        }
    }
    return true;
}

bool lex_is_word(const struct parser *p, const char *word)
{
    return p->token == TOKEN_NAME && !p->quoted && is_spelt(p->name, p->n, word);
}

bool lex_is_keyword(const char *name, size_t n)
{
    static const char *const words[] = { "and",  "or",   "not",    "in",   "is",
                                         "null", "like", "escape", "true", "false" };

    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        if (is_spelt(name, n, words[k])) {
            return true;
        }
    }
    return false;
}
