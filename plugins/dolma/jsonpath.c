#include "jsonpath.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64

enum step_kind { STEP_FIELD, STEP_INDEX, STEP_ALL, STEP_FILTER };

struct expression;

struct step {
    enum step_kind kind;
    char *name; /* STEP_FIELD */
    size_t index;
    struct expression *filter;
    struct step *next;
};

enum expression_kind { EXPR_OR, EXPR_AND, EXPR_NOT, EXPR_COMPARE, EXPR_EXISTS };
enum sign { SIGN_EQ, SIGN_NE, SIGN_LT, SIGN_LE, SIGN_GT, SIGN_GE };

struct operand {
    json_t *literal;    /* NULL: a path */
    struct step *steps; /* behind @ or $ */
    bool root;
};

struct expression {
    enum expression_kind kind;
    enum sign sign;
    struct expression *left, *right;
    struct operand a, b;
};

struct jsonpath {
    struct step *steps;
    char **names; /* n_names pairs of member and name below it */
    size_t n_names, capacity;
};

/* ---- freeing ---- */

static void free_steps(struct step *steps);

static void free_operand(struct operand *operand)
{
    json_decref(operand->literal);
    free_steps(operand->steps);
}

static void free_expression(struct expression *expression)
{
    if (expression != NULL) {
        free_expression(expression->left);
        free_expression(expression->right);
        free_operand(&expression->a);
        free_operand(&expression->b);
        free(expression);
    }
}

static void free_steps(struct step *steps)
{
    while (steps != NULL) {
        struct step *next = steps->next;
        free(steps->name);
        free_expression(steps->filter);
        free(steps);
        steps = next;
    }
}

void jsonpath_destroy(struct jsonpath *path)
{
    if (path != NULL) {
        for (size_t k = 0; k < 2 * path->n_names; k++) {
            free(path->names[k]);
        }
        free(path->names);
        free_steps(path->steps);
        free(path);
    }
}

void jsonpath_result_deinit(struct jsonpath_result *result)
{
    free(result->values);
    memset(result, 0, sizeof *result);
}

/* ---- parsing ---- */

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

/* ---- names ---- */

static bool add_name(struct jsonpath *path, const char *member, const char *name)
{
    if (path->n_names == path->capacity) {
        size_t capacity = path->capacity * 2 + 8;
        char **names = realloc(path->names, 2 * capacity * sizeof *names);
        if (names == NULL) {
            return false;
        }
        path->names = names;
        path->capacity = capacity;
    }
    path->names[2 * path->n_names] = strdup(member);
    path->names[2 * path->n_names + 1] = strdup(name);
    path->n_names++;
    return path->names[2 * path->n_names - 2] != NULL && path->names[2 * path->n_names - 1] != NULL;
}

static bool collect_steps(struct jsonpath *path, const struct step *steps, const char *member,
                          bool below);

/* below: @ is the document's member of that name. */
static bool collect(struct jsonpath *path, const struct expression *expression, const char *member,
                    bool below)
{
    const struct operand *operands[2];

    if (expression == NULL) {
        return true;
    }
    operands[0] = &expression->a;
    operands[1] = &expression->b;
    for (int k = 0; k < 2; k++) {
        const struct operand *operand = operands[k];
        bool ok = operand->root ? collect_steps(path, operand->steps, NULL, false)
                                : collect_steps(path, operand->steps, member, below);
        if (!ok) {
            return false;
        }
    }
    return collect(path, expression->left, member, below) &&
           collect(path, expression->right, member, below);
}

/* member NULL: the value is the document; else it is its member (below), or something within it. */
static bool collect_steps(struct jsonpath *path, const struct step *steps, const char *member,
                          bool below)
{
    for (; steps != NULL; steps = steps->next) {
        if (steps->kind == STEP_FIELD) {
            if (member == NULL) {
                member = steps->name;
                below = true;
            } else {
                if (below && !add_name(path, member, steps->name)) {
                    return false;
                }
                below = false;
            }
        } else if (steps->kind == STEP_FILTER) {
            if (!collect(path, steps->filter, member, below)) {
                return false;
            }
        } else {
            member = member == NULL ? "" : member;
            below = false;
        }
    }
    return true;
}

const char *jsonpath_name(const struct jsonpath *path, const char *member, size_t k)
{
    for (size_t i = 0; i < path->n_names; i++) {
        if (strcmp(path->names[2 * i], member) == 0 && k-- == 0) {
            return path->names[2 * i + 1];
        }
    }
    return NULL;
}

static bool only(const struct expression *expression)
{
    return expression == NULL || ((!expression->a.root || expression->a.literal != NULL) &&
                                  (!expression->b.root || expression->b.literal != NULL) &&
                                  only(expression->left) && only(expression->right));
}

bool jsonpath_only(const struct jsonpath *path, const char *member)
{
    const struct step *step = path->steps;

    if (step == NULL || step->kind != STEP_FIELD || strcmp(step->name, member) != 0) {
        return false;
    }
    for (; step != NULL; step = step->next) {
        if (step->kind == STEP_FILTER && !only(step->filter)) {
            return false;
        }
    }
    return true;
}

sluice_status jsonpath_compile(const char *text, bool jq, struct jsonpath **out,
                               struct sluice_error *err)
{
    struct parser p = { text, text, err, SLUICE_OK, 0, jq };
    struct jsonpath *path = calloc(1, sizeof *path);

    *out = NULL;
    if (path == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a path");
    }
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
    if (p.status == SLUICE_OK && !collect_steps(path, path->steps, NULL, false)) {
        out_of_memory(&p);
    }
    if (p.status != SLUICE_OK) {
        jsonpath_destroy(path);
        return p.status;
    }
    *out = path;
    return SLUICE_OK;
}

/* ---- evaluating ---- */

static void give(struct jsonpath_result *result, json_t *value)
{
    if (result->n == result->capacity) {
        size_t capacity = result->capacity * 2 + 8;
        json_t **values = realloc(result->values, capacity * sizeof *values);
        if (values == NULL) {
            result->failed = true;
            return;
        }
        result->values = values;
        result->capacity = capacity;
    }
    result->values[result->n++] = value;
}

struct evaluation {
    json_t *root;
    struct jsonpath_result *result; /* for value, limit, failed */
};

static bool holds(struct evaluation *evaluation, const struct expression *expression,
                  json_t *value);

static void walk(struct evaluation *evaluation, const struct step *steps, json_t *value,
                 struct jsonpath_result *out)
{
    const char *key;
    json_t *item;
    size_t k;

    if (steps == NULL) {
        give(out, value);
        return;
    }
    switch (steps->kind) {
    case STEP_FIELD:
        item = json_object_get(value, steps->name);
        if (item != NULL) {
            walk(evaluation, steps->next, item, out);
        }
        break;
    case STEP_INDEX:
        item = json_array_get(value, steps->index);
        if (item != NULL) {
            walk(evaluation, steps->next, item, out);
        }
        break;
    case STEP_ALL:
        json_object_foreach(value, key, item)
        {
            walk(evaluation, steps->next, item, out);
        }
        json_array_foreach(value, k, item)
        {
            walk(evaluation, steps->next, item, out);
        }
        break;
    case STEP_FILTER:
        if (json_is_object(value) && holds(evaluation, steps->filter, value)) {
            walk(evaluation, steps->next, value, out);
        }
        json_array_foreach(value, k, item)
        {
            if (holds(evaluation, steps->filter, item)) {
                walk(evaluation, steps->next, item, out);
            }
        }
        break;
    }
}

static void evaluate(struct evaluation *evaluation, const struct operand *operand, json_t *value,
                     struct jsonpath_result *out)
{
    if (operand->literal != NULL) {
        give(out, operand->literal);
    } else {
        walk(evaluation, operand->steps, operand->root ? evaluation->root : value, out);
    }
    evaluation->result->failed = evaluation->result->failed || out->failed;
}

static bool equal(const struct jsonpath_result *a, const struct jsonpath_result *b)
{
    for (size_t k = 0; k < a->n && k < b->n; k++) {
        if (!json_equal(a->values[k], b->values[k])) {
            return false;
        }
    }
    return a->n == b->n;
}

static bool compare(struct evaluation *evaluation, const struct expression *expression,
                    json_t *value)
{
    struct jsonpath_result a = { 0 };
    struct jsonpath_result b = { 0 };
    bool numbers;
    bool held = false;
    double x = 0;
    double y = 0;

    evaluate(evaluation, &expression->a, value, &a);
    evaluate(evaluation, &expression->b, value, &b);
    numbers = a.n == 1 && b.n == 1 && json_is_number(a.values[0]) && json_is_number(b.values[0]);
    if (numbers) {
        x = json_number_value(a.values[0]);
        y = json_number_value(b.values[0]);
    }
    switch (expression->sign) {
    case SIGN_EQ:
        held = equal(&a, &b);
        break;
    case SIGN_NE:
        held = !equal(&a, &b);
        break;
    case SIGN_LT:
        held = numbers && x < y;
        break;
    case SIGN_LE:
        held = (numbers && x < y) || equal(&a, &b);
        break;
    case SIGN_GT:
        held = numbers && x > y;
        break;
    case SIGN_GE:
        held = (numbers && x > y) || equal(&a, &b);
        break;
    }
    if (held && numbers) {
        evaluation->result->compared = true;
        evaluation->result->value = x;
        evaluation->result->limit = y;
    }
    jsonpath_result_deinit(&a);
    jsonpath_result_deinit(&b);
    return held;
}

static bool holds(struct evaluation *evaluation, const struct expression *expression, json_t *value)
{
    struct jsonpath_result found = { 0 };
    bool any;

    switch (expression->kind) {
    case EXPR_OR:
        return holds(evaluation, expression->left, value) ||
               holds(evaluation, expression->right, value);
    case EXPR_AND:
        return holds(evaluation, expression->left, value) &&
               holds(evaluation, expression->right, value);
    case EXPR_NOT:
        return !holds(evaluation, expression->left, value);
    case EXPR_COMPARE:
        return compare(evaluation, expression, value);
    default:
        evaluate(evaluation, &expression->a, value, &found);
        any = found.n > 0;
        jsonpath_result_deinit(&found);
        return any;
    }
}

sluice_status jsonpath_find(const struct jsonpath *path, json_t *document,
                            struct jsonpath_result *result, struct sluice_error *err)
{
    struct evaluation evaluation = { document, result };

    result->n = 0;
    result->compared = result->failed = false;
    walk(&evaluation, path->steps, document, result);
    return result->failed ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a path")
                          : SLUICE_OK;
}
