/* Where an example stands in a script: see test_place.h. A lexer of Lua's words, strings and
 * comments; tables carry no lines at run time. */
#include "cmd/test/test_place.h"

#include <stdbool.h>
#include <string.h>

struct token {
    enum { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_SIGN } kind;
    const char *text; /* of a string: without its quotes, escapes as written */
    size_t n;
    uint32_t line; /* where it begins */
};

struct lexer {
    const char *at, *end;
    uint32_t line;
};

static char peek(const struct lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static void step(struct lexer *lexer)
{
    lexer->line += *lexer->at == '\n';
    lexer->at++;
}

/* Equal signs of a long bracket that begins here, or -1. */
static int long_bracket(const struct lexer *lexer)
{
    size_t n = 1;

    if (peek(lexer, 0) != '[') {
        return -1;
    }
    while (peek(lexer, n) == '=') {
        n++;
    }
    return peek(lexer, n) == '[' ? (int)n - 1 : -1;
}

static void skip_long(struct lexer *lexer, int level, struct token *token)
{
    for (int k = 0; k < level + 2; k++) {
        step(lexer);
    }
    token->text = lexer->at;
    while (lexer->at < lexer->end) {
        int equals = 0;
        while (peek(lexer, 0) == ']' && equals < level && peek(lexer, (size_t)equals + 1) == '=') {
            equals++;
        }
        if (peek(lexer, 0) == ']' && equals == level && peek(lexer, (size_t)level + 1) == ']') {
            token->n = (size_t)(lexer->at - token->text);
            for (int k = 0; k < level + 2; k++) {
                step(lexer);
            }
            return;
        }
        step(lexer);
    }
    token->n = (size_t)(lexer->at - token->text);
}

static void skip_quoted(struct lexer *lexer, struct token *token)
{
    char quote = *lexer->at;

    step(lexer);
    token->text = lexer->at;
    while (lexer->at < lexer->end && *lexer->at != quote) {
        if (*lexer->at == '\\' && lexer->end - lexer->at > 1) {
            step(lexer);
        }
        step(lexer);
    }
    token->n = (size_t)(lexer->at - token->text);
    if (lexer->at < lexer->end) {
        step(lexer);
    }
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Passes white space and comments. */
static void skip_blank(struct lexer *lexer)
{
    struct token comment;

    while (lexer->at < lexer->end) {
        if (peek(lexer, 0) == '-' && peek(lexer, 1) == '-') {
            lexer->at += 2;
            if (long_bracket(lexer) >= 0) {
                skip_long(lexer, long_bracket(lexer), &comment);
            }
            while (lexer->at < lexer->end && *lexer->at != '\n') {
                lexer->at++;
            }
        } else if (strchr(" \t\r\n\v\f", *lexer->at) != NULL && *lexer->at != '\0') {
            step(lexer);
        } else {
            return;
        }
    }
}

static struct token next(struct lexer *lexer)
{
    struct token token = { .kind = TOKEN_END };

    skip_blank(lexer);
    token.line = lexer->line;
    token.text = lexer->at;
    if (lexer->at >= lexer->end) {
        return token;
    }
    if (*lexer->at == '"' || *lexer->at == '\'') {
        token.kind = TOKEN_STRING;
        skip_quoted(lexer, &token);
    } else if (long_bracket(lexer) >= 0) {
        token.kind = TOKEN_STRING;
        skip_long(lexer, long_bracket(lexer), &token);
    } else if (in_word(*lexer->at)) {
        token.kind = TOKEN_WORD;
        while (lexer->at < lexer->end && in_word(*lexer->at)) {
            lexer->at++;
        }
        token.n = (size_t)(lexer->at - token.text);
    } else {
        token.kind = TOKEN_SIGN;
        token.n = 1;
        step(lexer);
    }
    return token;
}

static bool is(const struct token *token, int kind, const char *text)
{
    return (int)token->kind == kind && token->n == strlen(text) &&
           memcmp(token->text, text, token->n) == 0;
}

static int depth_change(const struct token *token)
{
    if (token->kind != TOKEN_SIGN) {
        return 0;
    }
    return strchr("{([", token->text[0]) != NULL   ? 1
           : strchr("})]", token->text[0]) != NULL ? -1
                                                   : 0;
}

/* The lexer stands behind the brace of the list. */
static uint32_t line_in_list(struct lexer *lexer, uint32_t number)
{
    uint32_t n = 0;

    for (int depth = 1; depth > 0;) {
        struct token token = next(lexer);
        if (token.kind == TOKEN_END) {
            return 0;
        }
        if (depth == 1 && is(&token, TOKEN_SIGN, "{") && ++n == number) {
            return token.line;
        }
        depth += depth_change(&token);
    }
    return 0;
}

/* The lexer stands behind { "name": looks for `examples` in that table. */
static uint32_t line_in_definition(struct lexer *lexer, uint32_t number)
{
    for (int depth = 1; depth > 0;) {
        struct token token = next(lexer);
        if (token.kind == TOKEN_END) {
            return 0;
        }
        if (depth == 1 && is(&token, TOKEN_WORD, "examples")) {
            token = next(lexer);
            if (is(&token, TOKEN_SIGN, "=")) {
                token = next(lexer);
                return is(&token, TOKEN_SIGN, "{") ? line_in_list(lexer, number) : 0;
            }
        }
        depth += depth_change(&token);
    }
    return 0;
}

uint32_t test_example_line(const char *text, size_t n, const char *name, uint32_t number)
{
    struct lexer lexer = { .at = text, .end = text + n, .line = 1 };
    struct token before = { .kind = TOKEN_END };

    for (;;) {
        struct token token = next(&lexer);
        if (token.kind == TOKEN_END) {
            return 0;
        }
        if (is(&before, TOKEN_SIGN, "{") && is(&token, TOKEN_STRING, name)) {
            struct lexer inner = lexer;
            uint32_t line = line_in_definition(&inner, number);
            if (line > 0) {
                return line;
            }
        }
        before = token;
    }
}
