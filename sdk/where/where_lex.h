/* Tokens of expressions: what the parser reads. */
#ifndef SLUICE_WHERE_LEX_H
#define SLUICE_WHERE_LEX_H

#include "where/whereInt.h"

enum token {
    TOKEN_END,
    TOKEN_NAME, /* also words of the language, unless it was quoted */
    TOKEN_TEXT,
    TOKEN_NUMBER,
    TOKEN_SIGN
};

struct parser {
    struct where *where;
    const char *text;
    size_t at, end; /* of the token: its bytes */
    enum token token;
    bool quoted;      /* names */
    const char *name; /* names and texts, unquoted; n bytes */
    size_t n;
    int depth;
    struct sluice_error *err;
};

/* To the next token; the first time to the first. */
sluice_status lex_next(struct parser *);
bool lex_is_sign(const struct parser *, const char *sign);
/* A word of the language, in capitals or not; a name in quotes is none. */
bool lex_is_word(const struct parser *, const char *word);
bool lex_is_keyword(const char *name, size_t n);
sluice_status lex_unexpected(const struct parser *, const char *expected);
bool lex_is_letter(char);
sluice_status lex_no_memory(struct sluice_error *);

#endif
