/* Expressions from tokens: a parser by recursive descent that moves every `not` to the comparisons
 * below it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/where_lex.h"

#define DEPTH_MOST 100 /* of parentheses and nots */

#define TRY(call)                   \
    do {                            \
        sluice_status tried = call; \
        if (tried != SLUICE_OK) {   \
            return tried;           \
        }                           \
    } while (0)

/* ---- values and paths ---- */

static bool is_keyword(const struct parser *p)
{
    return p->token == TOKEN_NAME && !p->quoted && lex_is_keyword(p->name, p->n);
}

static bool is_value(const struct parser *p)
{
    return p->token == TOKEN_TEXT || p->token == TOKEN_NUMBER || lex_is_word(p, "true") ||
           lex_is_word(p, "false");
}

static sluice_status parse_number(struct parser *p, struct where_value *out)
{
    char digits[400];
    size_t n = p->end - p->at;
    char *end;

    if (lex_is_letter(p->text[p->end]) || n >= sizeof digits) {
        p->end += n < sizeof digits;
        return lex_unexpected(p, "a number, or a text in quotes");
    }
    memcpy(digits, p->text + p->at, n);
    digits[n] = '\0';
    if (strpbrk(digits, ".eE") == NULL) {
        errno = 0;
        if (digits[0] == '-') {
            out->as.whole = strtoll(digits, &end, 10);
            out->kind = WHERE_INT;
        } else {
            *out = where_unsigned(strtoull(digits, &end, 10));
        }
        if (errno == 0) {
            return SLUICE_OK;
        }
    }
    out->kind = WHERE_REAL;
    out->as.real = strtod(digits, &end);
    out->as.real = out->as.real + 0.0; /* -0 is 0 */
    return SLUICE_OK;
}

static sluice_status parse_value(struct parser *p, struct where_value *out)
{
    memset(out, 0, sizeof *out);
    if (!is_value(p)) {
        return lex_is_word(p, "null") ? lex_unexpected(p, "a value; `is null` asks for nulls")
               : p->token == TOKEN_NAME && !is_keyword(p)
                   ? lex_unexpected(
                         p, "a value (texts are in quotes; columns are compared with values "
                            "only)")
                   : lex_unexpected(p, "a value");
    }
    if (p->token == TOKEN_NUMBER) {
        TRY(parse_number(p, out));
    } else if (p->token == TOKEN_TEXT) {
        out->kind = WHERE_TEXT;
        out->as.text = p->name;
        out->n = p->n;
    } else {
        out->kind = WHERE_BOOL;
        out->as.truth = lex_is_word(p, "true");
    }
    return lex_next(p);
}

/* A list that grows by doubling, in the expression's memory. */
static bool grow(struct parser *p, void **items, size_t n, size_t size)
{
    void *more;

    if (n > 0 && (n & (n - 1)) != 0) {
        return true;
    }
    more = where_alloc(&p->where->blocks, (n == 0 ? 1 : 2 * n) * size);
    if (more != NULL && n > 0) {
        memcpy(more, *items, n * size);
    }
    *items = more == NULL ? *items : more;
    return more != NULL;
}

static sluice_status add_step(struct parser *p, struct where_path *path, struct where_step step)
{
    void *steps = (void *)(uintptr_t)path->steps;

    if (!grow(p, &steps, path->n, sizeof step)) {
        return lex_no_memory(p->err);
    }
    ((struct where_step *)steps)[path->n++] = step;
    path->steps = steps;
    return SLUICE_OK;
}

static sluice_status parse_path(struct parser *p, struct where_path *path)
{
    struct where_step step = { 0 };

    if (p->token != TOKEN_NAME || is_keyword(p)) {
        return lex_unexpected(
            p, is_keyword(p) ? "a column (a column of this name is written in `…`)" : "a column");
    }
    for (;;) {
        if (memchr(p->name, '\0', p->n) != NULL || p->n == 0) {
            return lex_unexpected(p, "a name");
        }
        step.name = p->name;
        TRY(add_step(p, path, step));
        TRY(lex_next(p));
        while (lex_is_sign(p, "[")) {
            struct where_value index = { 0 };
            TRY(lex_next(p));
            if (p->token == TOKEN_NUMBER) {
                TRY(parse_number(p, &index));
            }
            if (index.kind != WHERE_INT || index.as.whole < 0) {
                return lex_unexpected(p, "the number of a list's item, from 0");
            }
            step.name = NULL;
            step.index = (uint64_t)index.as.whole;
            TRY(add_step(p, path, step));
            TRY(lex_next(p));
            if (!lex_is_sign(p, "]")) {
                return lex_unexpected(p, "]");
            }
            TRY(lex_next(p));
        }
        if (!lex_is_sign(p, ".")) {
            return SLUICE_OK;
        }
        TRY(lex_next(p));
        if (p->token != TOKEN_NAME) {
            return lex_unexpected(p, "a name behind the dot");
        }
    }
}

/* ---- comparisons ---- */

static bool parse_sign(const struct parser *p, struct where_node *node)
{
    static const struct {
        const char *sign;
        enum where_op op;
        bool negated;
    } all[] = { { "=", WHERE_EQUAL, false },         { "==", WHERE_EQUAL, false },
                { "!=", WHERE_EQUAL, true },         { "<", WHERE_LESS, false },
                { "<=", WHERE_LESS_EQUAL, false },   { ">", WHERE_GREATER, false },
                { ">=", WHERE_GREATER_EQUAL, false } };

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        if (lex_is_sign(p, all[k].sign)) {
            node->op = all[k].op;
            node->negated = node->negated != all[k].negated;
            return true;
        }
    }
    return false;
}

static enum where_op turned(enum where_op op)
{
    return op == WHERE_LESS            ? WHERE_GREATER
           : op == WHERE_LESS_EQUAL    ? WHERE_GREATER_EQUAL
           : op == WHERE_GREATER       ? WHERE_LESS
           : op == WHERE_GREATER_EQUAL ? WHERE_LESS_EQUAL
                                       : op;
}

static sluice_status add_value(struct parser *p, struct where_node *node)
{
    void *values = (void *)(uintptr_t)node->values;

    if (!grow(p, &values, node->n_values, sizeof *node->values)) {
        return lex_no_memory(p->err);
    }
    node->values = values;
    TRY(parse_value(p, (struct where_value *)values + node->n_values));
    node->n_values++;
    return SLUICE_OK;
}

static sluice_status parse_in(struct parser *p, struct where_node *node)
{
    node->op = WHERE_IN;
    TRY(lex_next(p));
    if (!lex_is_sign(p, "(")) {
        return lex_unexpected(p, "( and a list of values");
    }
    do {
        TRY(lex_next(p));
        TRY(add_value(p, node));
    } while (lex_is_sign(p, ","));
    if (!lex_is_sign(p, ")")) {
        return lex_unexpected(p, ", or )");
    }
    node->n_values = where_sort((struct where_value *)(uintptr_t)node->values, node->n_values);
    return lex_next(p);
}

static sluice_status parse_like(struct parser *p, struct where_node *node)
{
    const char *text;
    size_t n;
    size_t at;
    uint16_t *pattern;

    node->op = WHERE_LIKE;
    TRY(lex_next(p));
    if (p->token != TOKEN_TEXT) {
        return lex_unexpected(p, "a pattern in quotes");
    }
    text = p->name;
    n = p->n;
    at = p->at;
    TRY(lex_next(p));
    if (lex_is_word(p, "escape")) {
        TRY(lex_next(p));
        if (p->token != TOKEN_TEXT || p->n != 1 || (unsigned char)p->name[0] >= 0x80 ||
            strchr("%_'\"", p->name[0]) != NULL) {
            return lex_unexpected(p, "one character of ASCII in quotes, no quote, % or _");
        }
        node->escape = p->name[0];
        TRY(lex_next(p));
    }
    pattern = where_alloc(&p->where->blocks, (n + 1) * sizeof *pattern);
    if (pattern == NULL) {
        return lex_no_memory(p->err);
    }
    for (size_t k = 0; k < n; k++) {
        if (node->escape != '\0' && text[k] == node->escape) {
            if (++k == n || (text[k] != '%' && text[k] != '_' && text[k] != node->escape)) {
                return where_fail(p->err, SLUICE_E_CONFIG, p->text, at,
                                  "a pattern in which %c stands before neither %%, _ nor %c",
                                  node->escape, node->escape);
            }
            pattern[node->n_pattern++] = (unsigned char)text[k];
        } else {
            pattern[node->n_pattern++] = text[k] == '%'   ? WHERE_ANY_RUN
                                         : text[k] == '_' ? WHERE_ANY_ONE
                                                          : (unsigned char)text[k];
        }
    }
    node->pattern = pattern;
    return SLUICE_OK;
}

static sluice_status parse_comparison(struct parser *p, struct where_node *node)
{
    static const char *const signs = "=, ==, !=, <, <=, >, >=, in, like or is";

    node->at = p->at;
    if (is_value(p)) {
        TRY(add_value(p, node));
        if (!parse_sign(p, node)) {
            return lex_unexpected(p, "=, ==, !=, <, <=, > or >= and a column");
        }
        node->op = turned(node->op);
        TRY(lex_next(p));
        node->at = p->at;
        return parse_path(p, &node->path);
    }
    TRY(parse_path(p, &node->path));
    if (parse_sign(p, node)) {
        TRY(lex_next(p));
        return add_value(p, node);
    }
    if (lex_is_word(p, "is")) {
        node->op = WHERE_NULL;
        TRY(lex_next(p));
        if (lex_is_word(p, "not")) {
            node->negated = !node->negated;
            TRY(lex_next(p));
        }
        return lex_is_word(p, "null") ? lex_next(p) : lex_unexpected(p, "null or not null");
    }
    if (lex_is_word(p, "not")) {
        node->negated = !node->negated;
        TRY(lex_next(p));
        if (!lex_is_word(p, "in") && !lex_is_word(p, "like")) {
            return lex_unexpected(p, "in or like");
        }
    }
    return lex_is_word(p, "in")     ? parse_in(p, node)
           : lex_is_word(p, "like") ? parse_like(p, node)
                                    : lex_unexpected(p, signs);
}

/* ---- and, or, not ---- */

static sluice_status parse_list(struct parser *p, bool ors, bool negated, struct where_node **out);

static sluice_status parse_one(struct parser *p, bool negated, struct where_node **out)
{
    if (++p->depth > DEPTH_MOST) {
        return where_fail(p->err, SLUICE_E_CONFIG, p->text, p->at, "it is nested more than %d deep",
                          DEPTH_MOST);
    }
    if (lex_is_word(p, "not")) {
        TRY(lex_next(p));
        TRY(parse_one(p, !negated, out));
    } else if (lex_is_sign(p, "(")) {
        TRY(lex_next(p));
        TRY(parse_list(p, true, negated, out));
        if (!lex_is_sign(p, ")")) {
            return lex_unexpected(p, "and, or, or )");
        }
        TRY(lex_next(p));
    } else {
        *out = where_alloc(&p->where->blocks, sizeof **out);
        if (*out == NULL) {
            return lex_no_memory(p->err);
        }
        (*out)->negated = negated;
        TRY(parse_comparison(p, *out));
    }
    p->depth--;
    return SLUICE_OK;
}

static sluice_status add_part(struct parser *p, struct where_node *list, struct where_node *part)
{
    void *parts = list->parts;
    const size_t n = part->op == list->op ? part->n_parts : 1;

    /* What is joined by the same word in parentheses is one list with it. */
    for (size_t k = 0; k < n; k++) {
        if (!grow(p, &parts, list->n_parts, sizeof part)) {
            return lex_no_memory(p->err);
        }
        list->parts = parts;
        list->parts[list->n_parts++] = part->op == list->op ? part->parts[k] : part;
    }
    return SLUICE_OK;
}

static sluice_status parse_part(struct parser *p, bool ors, bool negated, struct where_node **out)
{
    return ors ? parse_list(p, false, negated, out) : parse_one(p, negated, out);
}

/* ors: parts joined by or, each of them parts joined by and. */
static sluice_status parse_list(struct parser *p, bool ors, bool negated, struct where_node **out)
{
    struct where_node *list;
    struct where_node *part = NULL;

    TRY(parse_part(p, ors, negated, out));
    if (!lex_is_word(p, ors ? "or" : "and")) {
        return SLUICE_OK;
    }
    list = where_alloc(&p->where->blocks, sizeof *list);
    if (list == NULL) {
        return lex_no_memory(p->err);
    }
    list->op = ors == negated ? WHERE_AND : WHERE_OR;
    TRY(add_part(p, list, *out));
    while (lex_is_word(p, ors ? "or" : "and")) {
        TRY(lex_next(p));
        TRY(parse_part(p, ors, negated, &part));
        TRY(add_part(p, list, part));
    }
    *out = list;
    return SLUICE_OK;
}

static sluice_status parse_all(struct parser *p)
{
    TRY(lex_next(p));
    if (p->token == TOKEN_END) {
        return lex_unexpected(p, "an expression such as lang = 'en' and n_words > 50");
    }
    TRY(parse_list(p, true, false, &p->where->root));
    return p->token == TOKEN_END ? SLUICE_OK : lex_unexpected(p, "and, or, or the end");
}

sluice_status where_parse(const char *text, struct where **out, struct sluice_error *err)
{
    struct parser parser = { .err = err };
    const size_t n = strlen(text);
    char *copy = NULL;
    sluice_status status;

    *out = NULL;
    if (n > WHERE_MOST_BYTES) {
        return sluice_fail(err, SLUICE_E_CONFIG, "where",
                           "an expression of more than 1 MiB, expected a shorter one");
    }
    parser.where = calloc(1, sizeof *parser.where);
    if (parser.where != NULL) {
        copy = where_alloc(&parser.where->blocks, n + 1);
    }
    if (copy == NULL) {
        where_destroy(parser.where);
        return lex_no_memory(err);
    }
    memcpy(copy, text, n);
    parser.where->text = parser.text = copy;
    status = parse_all(&parser);
    if (status != SLUICE_OK) {
        where_destroy(parser.where);
        return status;
    }
    *out = parser.where;
    return SLUICE_OK;
}
