/* A lexer for Lua 5.4 that collects fields and literals: see luascan.h. */
#include "lua/stage/luascan.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define MAX_BLOCKS 400

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_STRING, TOKEN_OTHER };

struct token {
    enum token_kind kind;
    const char *begin, *end; /* strings: without quotes */
    int line;
    bool plain; /* strings: no escapes, one line */
};

struct lexer {
    const char *at, *end;
    int line;
};

struct mention {
    struct token token;
    bool field;
};

struct block {
    size_t begin; /* offset of its first token */
    int line;
    bool function, matches; /* matches: the parameter has the name looked for */
};

struct range {
    size_t begin, end;
};

struct scanner {
    struct lexer lexer;
    const char *text, *parameter;
    int first, last;
    struct mention *mentions;
    size_t n_mentions, capacity;
    struct block blocks[MAX_BLOCKS];
    size_t n_blocks;
    struct range *ranges;
    size_t n_ranges;
};

/* ---- lexer ---- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* At "[": is this a long bracket? Its level, or -1. */
static int long_level(const struct lexer *lexer)
{
    const char *p = lexer->at + 1;

    while (p < lexer->end && *p == '=') {
        p++;
    }
    return p < lexer->end && *p == '[' ? (int)(p - lexer->at - 1) : -1;
}

/* Skips a long bracket of this level; *body is where its text ends. */
static void skip_long(struct lexer *lexer, int level, const char **body)
{
    lexer->at += level + 2;
    while (lexer->at < lexer->end) {
        if (*lexer->at == '\n') {
            lexer->line++;
        } else if (*lexer->at == ']') {
            const char *p = lexer->at + 1;
            while (p < lexer->end && *p == '=') {
                p++;
            }
            if (p < lexer->end && *p == ']' && p - lexer->at - 1 == level) {
                *body = lexer->at;
                lexer->at = p + 1;
                return;
            }
        }
        lexer->at++;
    }
    *body = lexer->end;
}

static void skip_blanks(struct lexer *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '\n') {
            lexer->line++;
            lexer->at++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            lexer->at++;
        } else if (c == '-' && lexer->end - lexer->at > 1 && lexer->at[1] == '-') {
            const char *body;
            int level;
            lexer->at += 2;
            level = lexer->at < lexer->end && *lexer->at == '[' ? long_level(lexer) : -1;
            if (level >= 0) {
                skip_long(lexer, level, &body);
            } else {
                while (lexer->at < lexer->end && *lexer->at != '\n') {
                    lexer->at++;
                }
            }
        } else {
            return;
        }
    }
}

static struct token quoted(struct lexer *lexer)
{
    char quote = *lexer->at++;
    struct token token = { TOKEN_STRING, lexer->at, lexer->at, lexer->line, true };

    while (lexer->at < lexer->end && *lexer->at != quote && *lexer->at != '\n') {
        if (*lexer->at == '\\' && lexer->end - lexer->at > 1) {
            token.plain = false;
            lexer->at++;
            if (*lexer->at == 'z') { /* skips white space, line ends too */
                lexer->at++;
                while (lexer->at < lexer->end &&
                       (*lexer->at == ' ' || (*lexer->at >= '\t' && *lexer->at <= '\r'))) {
                    lexer->line += *lexer->at == '\n';
                    lexer->at++;
                }
                continue;
            }
            lexer->line += *lexer->at == '\n';
        }
        lexer->at++;
    }
    token.end = lexer->at;
    if (lexer->at < lexer->end && *lexer->at == quote) {
        lexer->at++;
    }
    return token;
}

static struct token next_token(struct lexer *lexer)
{
    struct token token;

    skip_blanks(lexer);
    token = (struct token){ TOKEN_END, lexer->at, lexer->at, lexer->line, true };
    if (lexer->at >= lexer->end) {
        return token;
    }
    if (*lexer->at == '"' || *lexer->at == '\'') {
        return quoted(lexer);
    }
    if (*lexer->at == '[') {
        int level = long_level(lexer);
        if (level >= 0) {
            token.kind = TOKEN_STRING;
            token.begin = lexer->at + level + 2;
            skip_long(lexer, level, &token.end);
            token.plain = token.line == lexer->line;
            return token;
        }
    }
    if (is_name(*lexer->at)) { /* numbers too: no harm */
        token.kind = TOKEN_NAME;
        while (lexer->at < lexer->end && is_name(*lexer->at)) {
            lexer->at++;
        }
    } else {
        token.kind = TOKEN_OTHER;
        lexer->at++;
        if (*token.begin == '.' && lexer->at < lexer->end && *lexer->at == '.') {
            lexer->at++; /* "..": not a field */
        }
    }
    token.end = lexer->at;
    return token;
}

static bool is(const struct token *token, const char *text)
{
    size_t n = strlen(text);

    return token->kind != TOKEN_STRING && (size_t)(token->end - token->begin) == n &&
           memcmp(token->begin, text, n) == 0;
}

/* ---- scanning ---- */

static sluice_status add_mention(struct scanner *scanner, const struct token *token, bool field,
                                 struct sluice_error *err)
{
    if (token->line < scanner->first || token->line > scanner->last || !token->plain) {
        return SLUICE_OK;
    }
    if (scanner->n_mentions == scanner->capacity) {
        size_t capacity = scanner->capacity * 2 + 64;
        struct mention *mentions = realloc(scanner->mentions, capacity * sizeof *mentions);
        if (mentions == NULL) {
            return error_nomem(err, "the script");
        }
        scanner->mentions = mentions;
        scanner->capacity = capacity;
    }
    scanner->mentions[scanner->n_mentions++] = (struct mention){ *token, field };
    return SLUICE_OK;
}

/* Does the parameter list behind the keyword `function` begin with the parameter? Looks ahead
 * only. */
static bool parameter_matches(const struct scanner *scanner)
{
    struct lexer ahead = scanner->lexer;
    struct token token = next_token(&ahead);

    while (token.kind != TOKEN_END && !is(&token, "(")) {
        token = next_token(&ahead);
    }
    token = next_token(&ahead);
    return is(&token, scanner->parameter);
}

static sluice_status close_block(struct scanner *scanner, const struct token *token,
                                 struct sluice_error *err)
{
    const struct block *block;
    struct range *ranges;

    if (scanner->n_blocks == 0) {
        return SLUICE_OK;
    }
    block = &scanner->blocks[--scanner->n_blocks];
    if (!block->function || !block->matches || block->line != scanner->first ||
        token->line != scanner->last) {
        return SLUICE_OK;
    }
    ranges = realloc(scanner->ranges, (scanner->n_ranges + 1) * sizeof *ranges);
    if (ranges == NULL) {
        return error_nomem(err, "the script");
    }
    scanner->ranges = ranges;
    ranges[scanner->n_ranges++] =
        (struct range){ block->begin, (size_t)(token->end - scanner->text) };
    return SLUICE_OK;
}

static sluice_status track_blocks(struct scanner *scanner, const struct token *token,
                                  struct sluice_error *err)
{
    bool function = is(token, "function");

    if (function || is(token, "do") || is(token, "if") || is(token, "repeat")) {
        if (scanner->n_blocks < MAX_BLOCKS) {
            scanner->blocks[scanner->n_blocks++] =
                (struct block){ (size_t)(token->begin - scanner->text), token->line, function,
                                function && parameter_matches(scanner) };
        }
        return SLUICE_OK;
    }
    return is(token, "end") || is(token, "until") ? close_block(scanner, token, err) : SLUICE_OK;
}

static sluice_status scan(struct scanner *scanner, struct sluice_error *err)
{
    struct token before[3] = { { .kind = TOKEN_END } }; /* the three tokens before */
    struct token token = next_token(&scanner->lexer);

    for (; token.kind != TOKEN_END; token = next_token(&scanner->lexer)) {
        bool own =
            is(&before[1], scanner->parameter) && !is(&before[2], ".") && !is(&before[2], ":");
        if (token.kind == TOKEN_NAME) {
            if (own && is(&before[0], ".")) {
                TRY(add_mention(scanner, &token, true, err));
            } else if (!is(&before[0], ".") && !is(&before[0], ":")) {
                TRY(track_blocks(scanner, &token, err));
            }
        } else if (token.kind == TOKEN_STRING) {
            TRY(add_mention(scanner, &token, own && is(&before[0], "["), err));
        }
        before[2] = before[1];
        before[1] = before[0];
        before[0] = token;
    }
    return SLUICE_OK;
}

static sluice_status keep(struct luascan_word **words, size_t *n, const struct token *token,
                          struct sluice_error *err)
{
    size_t size = (size_t)(token->end - token->begin);
    struct luascan_word *more;

    for (size_t i = 0; i < *n; i++) {
        if (strlen((*words)[i].text) == size && memcmp((*words)[i].text, token->begin, size) == 0) {
            return SLUICE_OK;
        }
    }
    more = realloc(*words, (*n + 1) * sizeof *more);
    if (more == NULL) {
        return error_nomem(err, "the script");
    }
    *words = more;
    more[*n].text = str_copy(token->begin, size);
    more[*n].line = token->line;
    if (more[*n].text == NULL) {
        return error_nomem(err, "the script");
    }
    (*n)++;
    return SLUICE_OK;
}

sluice_status luascan_read(struct luascan *out, const char *text, size_t size, int first, int last,
                           const char *parameter, struct sluice_error *err)
{
    struct scanner *scanner = calloc(1, sizeof *scanner);
    sluice_status status;

    if (scanner == NULL) {
        return error_nomem(err, "the script");
    }
    scanner->lexer = (struct lexer){ text, text + size, 1 };
    scanner->text = text;
    scanner->parameter = parameter[0] != '\0' ? parameter : "(";
    scanner->first = first;
    scanner->last = last;
    status = scan(scanner, err);
    for (size_t i = 0; i < scanner->n_mentions && status == SLUICE_OK; i++) {
        const struct mention *mention = &scanner->mentions[i];
        size_t at = (size_t)(mention->token.begin - text);
        bool inside = scanner->n_ranges == 0;
        for (size_t k = 0; k < scanner->n_ranges; k++) {
            inside = inside || (at >= scanner->ranges[k].begin && at < scanner->ranges[k].end);
        }
        if (inside) {
            status = mention->field ? keep(&out->fields, &out->n_fields, &mention->token, err)
                                    : keep(&out->literals, &out->n_literals, &mention->token, err);
        }
    }
    free(scanner->mentions);
    free(scanner->ranges);
    free(scanner);
    return status;
}

void luascan_deinit(struct luascan *scan)
{
    for (size_t i = 0; i < scan->n_fields; i++) {
        free(scan->fields[i].text);
    }
    for (size_t i = 0; i < scan->n_literals; i++) {
        free(scan->literals[i].text);
    }
    free(scan->fields);
    free(scan->literals);
    memset(scan, 0, sizeof *scan);
}
