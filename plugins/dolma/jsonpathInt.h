/* jsonpathInt.h - private to jsonpath*.c: a path as a tree of steps and expressions. See
 * jsonpath.h. */
#ifndef JSONPATH_INT_H
#define JSONPATH_INT_H

#include "jsonpath.h"

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

/* Reads a whole path of either syntax into path->steps. SLUICE_E_CONFIG quotes the text and the
 * place, SLUICE_E_NOMEM. */
sluice_status jsonpath_parse(struct jsonpath *path, const char *text, bool jq,
                             struct sluice_error *err);

#endif
