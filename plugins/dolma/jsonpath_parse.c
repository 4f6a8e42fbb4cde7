/* Reading paths of Dolma's mixer configurations, JSONPath with filters and the paths of jq, into a
 * tree. See jsonpath.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "jsonpathInt.h"

#define DEPTH_MAX 64

struct parser {
    const char *text, *at;
    struct sluice_error *err;
    sluice_status status;
    int depth;
    bool jq;
};

static void refuse(struct parser *p, const char *expected)
{
    char message[700];

    if (p->status == SLUICE_OK) {
        snprintf(message, sizeof message, "'%.400s': found '%.20s' at character %zu, expected %s",
                 p->text, *p->at == '\0' ? "the end" : p->at, (size_t)(p->at - p->text) + 1,
                 expected);
        p->status = sluice_fail(p->err, SLUICE_E_CONFIG, "", message);
    }
}

static void out_of_memory(struct parser *p)
{
    if (p->status == SLUICE_OK) {
        p->status = sluice_fail(p->err, SLUICE_E_NOMEM, "", "out of memory for a path");
    }
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') {
        p->at++;
    }
}

static bool accept(struct parser *p, const char *token)
{
    size_t n = strlen(token);

    skip_space(p);
    if (strncmp(p->at, token, n) != 0) {
        return false;
    }
    p->at += n;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(const struct parser *p, char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           (!p->jq && (c == '-' || c == '/' || c == '#'));
}

static struct step *add_step(struct parser *p, struct step ***tail, enum step_kind kind)
{
    struct step *step = calloc(1, sizeof *step);

    if (step == NULL) {
        out_of_memory(p);
        return NULL;
    }
    step->kind = kind;
    **tail = step;
    *tail = &step->next;
    return step;
}

static char *copy_text(struct parser *p, const char *begin, size_t n)
{
    char *copy = strndup(begin, n);

    if (copy == NULL) {
        out_of_memory(p);
    }
    return copy;
}

/* The text between quotation marks, without escapes; p->at is on the first one. */
static char *parse_quoted(struct parser *p)
{
    char quote = *p->at;
    const char *begin = p->at + 1;
    const char *end = begin;

    while (*end != '\0' && *end != quote && *end != '\\') {
        end++;
    }
    if (*end != quote) {
        p->at = end;
        refuse(p, "a text without \\ and its closing quotation mark");
        return NULL;
    }
    p->at = end + 1;
    return copy_text(p, begin, (size_t)(end - begin));
}

static struct expression *parse_or(struct parser *p);

static void parse_filter(struct parser *p, struct step ***tail)
{
    struct step *step;

    p->at++; /* ? */
    if (!accept(p, "(")) {
        refuse(p, "'(' behind '?'");
        return;
    }
    step = add_step(p, tail, STEP_FILTER);
    if (step != NULL) {
        step->filter = parse_or(p);
    }
    if (p->status == SLUICE_OK && !accept(p, ")")) {
        refuse(p, "')' or an operator");
    }
}

static void parse_bracket(struct parser *p, struct step ***tail)
{
    struct step *step;

    skip_space(p);
    if (*p->at == '*' && !p->jq) {
        p->at++;
        add_step(p, tail, STEP_ALL);
    } else if (*p->at == (p->jq ? '"' : '\'')) {
        step = add_step(p, tail, STEP_FIELD);
        if (step != NULL) {
            step->name = parse_quoted(p);
        }
    } else if (is_digit(*p->at)) {
        step = add_step(p, tail, STEP_INDEX);
        for (; step != NULL && is_digit(*p->at) && step->index < 100000000; p->at++) {
            step->index = step->index * 10 + (size_t)(*p->at - '0');
        }
    } else if (*p->at == '?' && !p->jq) {
        parse_filter(p, tail);
    } else {
        refuse(p, p->jq ? "a number or a \"name\"" : "a number, *, a 'name' or ?(...)");
    }
    if (p->status == SLUICE_OK && !accept(p, "]")) {
        refuse(p, "']'");
    }
}

/* The steps behind $, @ or, with jq, the first dot. */
static struct step *parse_steps(struct parser *p)
{
    struct step *steps = NULL;
    struct step **tail = &steps;

    while (p->status == SLUICE_OK) {
        if (p->jq) {
            while (*p->at == '?') {
                p->at++;
            }
        }
        if (*p->at == '[') {
            p->at++;
            parse_bracket(p, &tail);
        } else if (*p->at == '.') {
            const char *begin = ++p->at;
            if (*p->at == '*' && !p->jq) {
                p->at++;
                add_step(p, &tail, STEP_ALL);
                continue;
            }
            if (*p->at == '[') {
                continue;
            }
            while (is_name(p, *p->at)) {
                p->at++;
            }
            if (p->at == begin) {
                refuse(p, "a name behind '.'");
            } else if (strncmp(p->at, "()", 2) == 0) {
                p->at = begin;
                refuse(p, "a name, no function");
            } else {
                struct step *step = add_step(p, &tail, STEP_FIELD);
                if (step != NULL) {
                    step->name = copy_text(p, begin, (size_t)(p->at - begin));
                }
            }
        } else {
            break;
        }
    }
    return steps;
}

static json_t *parse_number(struct parser *p)
{
    const char *begin = p->at;
    bool real = false;
    char text[64];
    size_t n;
    json_t *value;

    p->at += *p->at == '-';
    while (is_digit(*p->at)) {
        p->at++;
    }
    if (*p->at == '.' && is_digit(p->at[1])) {
        real = true;
        for (p->at++; is_digit(*p->at); p->at++) {
        }
    }
    if ((*p->at == 'e' || *p->at == 'E') &&
        (is_digit(p->at[1]) || ((p->at[1] == '-' || p->at[1] == '+') && is_digit(p->at[2])))) {
        real = true;
        for (p->at += 2; is_digit(*p->at); p->at++) {
        }
    }
    n = (size_t)(p->at - begin);
    if (n >= sizeof text || !is_digit(p->at[-1]) || (!real && n > 18)) {
        refuse(p, "a number of fewer digits");
        return NULL;
    }
    memcpy(text, begin, n);
    text[n] = '\0';
    if (real) {
        double number = strtod(text, NULL);
        if (!isfinite(number)) {
            refuse(p, "a number that a double holds");
            return NULL;
        }
        value = json_real(number);
    } else {
        value = json_integer(strtoll(text, NULL, 10));
    }
    if (value == NULL) {
        out_of_memory(p);
    }
    return value;
}

static void parse_operand(struct parser *p, struct operand *operand)
{
    skip_space(p);
    if (*p->at == '@' || *p->at == '$') {
        operand->root = *p->at == '$';
        p->at++;
        operand->steps = parse_steps(p);
    } else if (*p->at == '\'') {
        char *text = parse_quoted(p);
        operand->literal = text == NULL ? NULL : json_string(text);
        if (text != NULL && operand->literal == NULL) {
            refuse(p, "valid UTF-8");
        }
        free(text);
    } else if (accept(p, "true")) {
        operand->literal = json_true();
    } else if (accept(p, "false")) {
        operand->literal = json_false();
    } else if (accept(p, "null")) {
        operand->literal = json_null();
    } else if (is_digit(*p->at) || (*p->at == '-' && is_digit(p->at[1]))) {
        operand->literal = parse_number(p);
    } else {
        refuse(p, "@, a number, a 'text', true, false, null or '('");
    }
}

static struct expression *new_expression(struct parser *p, enum expression_kind kind)
{
    struct expression *expression = calloc(1, sizeof *expression);

    if (expression == NULL) {
        out_of_memory(p);
    } else {
        expression->kind = kind;
    }
    return expression;
}

static bool parse_sign(struct parser *p, enum sign *sign)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "<", ">" };
    static const enum sign values[] = { SIGN_EQ, SIGN_NE, SIGN_LE, SIGN_GE, SIGN_LT, SIGN_GT };

    for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++) {
        if (accept(p, signs[k])) {
            *sign = values[k];
            return true;
        }
    }
    return false;
}

static struct expression *parse_atom(struct parser *p)
{
    struct expression *expression;

    skip_space(p);
    if (*p->at ==
        '!') { /* the peer's ! takes all that follows up to the bracket: only !(...) is clear */
        p->at++;
        skip_space(p);
        if (*p->at != '(') {
            refuse(p, "'(' behind '!'");
            return NULL;
        }
        expression = new_expression(p, EXPR_NOT);
        if (expression != NULL) {
            expression->left = parse_atom(p);
        }
        return expression;
    }
    if (*p->at == '(') {
        p->at++;
        if (++p->depth > DEPTH_MAX) {
            refuse(p, "fewer brackets within each other");
            return NULL;
        }
        expression = parse_or(p);
        p->depth--;
        if (p->status == SLUICE_OK && !accept(p, ")")) {
            refuse(p, "')' or an operator");
        }
        return expression;
    }
    expression = new_expression(p, EXPR_EXISTS);
    if (expression == NULL) {
        return NULL;
    }
    parse_operand(p, &expression->a);
    if (p->status == SLUICE_OK && parse_sign(p, &expression->sign)) {
        expression->kind = EXPR_COMPARE;
        parse_operand(p, &expression->b);
    }
    return expression;
}

static struct expression *parse_chain(struct parser *p, const char *operator,
                                      enum expression_kind kind,
                                      struct expression *(*part)(struct parser *))
{
    struct expression *left = part(p);

    while (p->status == SLUICE_OK && accept(p, operator)) {
        struct expression *both = new_expression(p, kind);
        if (both == NULL) {
            break;
        }
        both->left = left;
        left = both;
        both->right = part(p);
    }
    return left;
}

static struct expression *parse_and(struct parser *p)
{
    return parse_chain(p, "&&", EXPR_AND, parse_atom);
}

static struct expression *parse_or(struct parser *p)
{
    struct expression *expression = NULL;

    if (++p->depth > DEPTH_MAX) {
        refuse(p, "fewer filters within each other");
    } else {
        expression = parse_chain(p, "||", EXPR_OR, parse_and);
    }
    p->depth--;
    return expression;
}

sluice_status jsonpath_parse(struct jsonpath *path, const char *text, bool jq,
                             struct sluice_error *err)
{
    struct parser p = { text, text, err, SLUICE_OK, 0, jq };

    skip_space(&p);
    if (jq) {
        if (*p.at != '.') {
            refuse(&p, "a path that begins with '.' (of jq, paths alone are known)");
        }
    } else if (*p.at != '$') {
        refuse(&p, "'$'");
    } else {
        p.at++;
        p.at +=
            *p.at == '@'; /* "$@.": some configurations have it, and the peer reads it as "$." */
    }
    if (p.status == SLUICE_OK) {
        path->steps = parse_steps(&p);
        skip_space(&p);
    }
    if (p.status == SLUICE_OK && *p.at != '\0') {
        refuse(&p, jq ? "the end (of jq, paths alone are known)" : "'.', '[' or the end");
    }
    return p.status;
}
