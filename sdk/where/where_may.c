/* Can any of a set of rows hold, of whose values only bounds are known? Every answer but "no" is
 * allowed: "no" must be true. */
#include <string.h>

#include "where/whereInt.h"

struct asking {
    const struct where_bound *bound;
    where_facts_fn facts;
    where_absent_fn absent;
    void *ctx;
};

/* a <= b, or they can't be compared. */
static bool at_most(const struct where_value *a, const struct where_value *b)
{
    return a->kind == WHERE_NONE || b->kind == WHERE_NONE || where_compare(a, b) != 1;
}

static bool below(const struct where_value *a, const struct where_value *b)
{
    int result = a->kind == WHERE_NONE || b->kind == WHERE_NONE ? 2 : where_compare(a, b);

    return result == 2 || result == -1;
}

static bool may_equal(const struct asking *asking, const struct where_node *node,
                      const struct where_facts *facts, const struct where_value *value)
{
    return at_most(&facts->min, value) && at_most(value, &facts->max) &&
           (asking->absent == NULL || node->negated || value->above ||
            !asking->absent(asking->ctx, node->leaf, value));
}

/* All values are one, and it is among those that are ruled out. */
static bool only_one(const struct where_node *node, const struct where_facts *facts)
{
    if (facts->min.kind == WHERE_NONE || where_compare(&facts->min, &facts->max) != 0) {
        return false;
    }
    for (size_t k = 0; k < node->n_values; k++) {
        if (where_compare(&facts->min, &node->values[k]) == 0) {
            return true;
        }
    }
    return false;
}

/* What begins as the pattern does lies between what it begins with, and that with more behind. */
static bool may_be_like(const struct where_node *node, const struct where_facts *facts)
{
    size_t n = 0;

    if (facts->min.kind != WHERE_TEXT || facts->max.kind != WHERE_TEXT) {
        return true;
    }
    while (n < node->n_pattern && node->pattern[n] < WHERE_ANY_ONE) {
        n++;
    }
    for (size_t k = 0; k < n; k++) { /* max >= prefix */
        const int byte = (int)node->pattern[k];
        if (k == facts->max.n || (unsigned char)facts->max.as.text[k] < byte) {
            return false;
        }
        if ((unsigned char)facts->max.as.text[k] > byte) {
            break;
        }
    }
    for (size_t k = 0; k < n && k < facts->min.n; k++) { /* min <= prefix and all behind it */
        const int byte = (int)node->pattern[k];
        if ((unsigned char)facts->min.as.text[k] > byte) {
            return false;
        }
        if ((unsigned char)facts->min.as.text[k] < byte) {
            break;
        }
    }
    return true;
}

static bool may_compare(const struct asking *asking, const struct where_node *node)
{
    const struct where_end *end = &asking->bound->ends[node->leaf];
    struct where_facts facts = { .nulls = -1, .values = -1 };
    enum where_op op = node->op;
    bool all_null;

    if (end->shown.n == 0 || end->how == WHERE_OF_NULLS) {
        return op == WHERE_NULL && !node->negated;
    }
    if (asking->facts != NULL) {
        asking->facts(asking->ctx, node->leaf, &facts);
    }
    all_null = facts.values >= 0 && facts.nulls == facts.values;
    if (op == WHERE_NULL) {
        return node->negated ? !all_null : facts.nulls != 0 || end->shown.listed;
    }
    if (all_null) {
        return false;
    }
    /* NaN lies outside of bounds: whatever is negated holds for it. */
    if (node->negated && (op == WHERE_LIKE || where_has_reals(end->how))) {
        return true;
    }
    if (node->negated) {
        op = op == WHERE_LESS            ? WHERE_GREATER_EQUAL
             : op == WHERE_LESS_EQUAL    ? WHERE_GREATER
             : op == WHERE_GREATER       ? WHERE_LESS_EQUAL
             : op == WHERE_GREATER_EQUAL ? WHERE_LESS
                                         : op;
    }
    switch (op) {
    case WHERE_EQUAL:
    case WHERE_IN:
        if (node->negated) {
            return !only_one(node, &facts);
        }
        for (size_t k = 0; k < node->n_values; k++) {
            if (may_equal(asking, node, &facts, &node->values[k])) {
                return true;
            }
        }
        return false;
    case WHERE_LESS:
        return below(&facts.min, node->values);
    case WHERE_LESS_EQUAL:
        return at_most(&facts.min, node->values);
    case WHERE_GREATER:
        return below(node->values, &facts.max);
    case WHERE_GREATER_EQUAL:
        return at_most(node->values, &facts.max);
    default:
        return may_be_like(node, &facts);
    }
}

static bool may_hold(const struct asking *asking, const struct where_node *node)
{
    if (node->op == WHERE_AND || node->op == WHERE_OR) {
        for (size_t k = 0; k < node->n_parts; k++) {
            if (may_hold(asking, node->parts[k]) != (node->op == WHERE_AND)) {
                return node->op == WHERE_OR;
            }
        }
        return node->op == WHERE_AND;
    }
    return may_compare(asking, node);
}

bool where_may(const struct where_bound *bound, where_facts_fn facts, where_absent_fn absent,
               void *ctx)
{
    const struct asking asking = { bound, facts, absent, ctx };

    return may_hold(&asking, bound->root);
}
