/* Paths: freeing them, the names they look up, and what they find in a document. Reading them is in
 * jsonpath_parse.c. */
#include "jsonpathInt.h"

#include <math.h>
#include <string.h>

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
    struct jsonpath *path = calloc(1, sizeof *path);
    sluice_status status;

    *out = NULL;
    if (path == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a path");
    }
    status = jsonpath_parse(path, text, jq, err);
    if (status == SLUICE_OK && !collect_steps(path, path->steps, NULL, false)) {
        status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a path");
    }
    if (status != SLUICE_OK) {
        jsonpath_destroy(path);
        return status;
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
