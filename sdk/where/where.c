/* Expressions as objects: canonical text, what they name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/where_lex.h"

void where_destroy(struct where *where)
{
    if (where != NULL) {
        where_free(where->blocks);
        free(where);
    }
}

/* ---- text ---- */

struct writer {
    char *out;
    size_t room, n;
};

static void put(struct writer *to, const char *text, size_t n)
{
    for (size_t k = 0; k < n; k++, to->n++) {
        if (to->n + 1 < to->room) {
            to->out[to->n] = text[k];
        }
    }
    if (to->room > 0) {
        to->out[to->n < to->room ? to->n : to->room - 1] = '\0';
    }
}

static void puts_to(struct writer *to, const char *text)
{
    put(to, text, strlen(text));
}

static void put_quoted(struct writer *to, const char *text, size_t n, char quote)
{
    put(to, &quote, 1);
    for (size_t k = 0; k < n; k++) {
        put(to, text + k, 1);
        if (text[k] == quote) {
            put(to, &quote, 1);
        }
    }
    put(to, &quote, 1);
}

static bool is_plain(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                      (unsigned char)*c >= 0x80;
        if (!letter && (c == name || *c < '0' || *c > '9')) {
            return false;
        }
    }
    return name[0] != '\0' && !lex_is_keyword(name, strlen(name));
}

static void put_path(struct writer *to, const struct where_path *path)
{
    char number[32];

    for (size_t k = 0; k < path->n; k++) {
        const struct where_step *step = &path->steps[k];
        if (step->name == NULL) {
            snprintf(number, sizeof number, "[%llu]", (unsigned long long)step->index);
            puts_to(to, number);
            continue;
        }
        puts_to(to, k > 0 ? "." : "");
        if (is_plain(step->name)) {
            puts_to(to, step->name);
        } else {
            put_quoted(to, step->name, strlen(step->name), '`');
        }
    }
}

void where_path_text(const struct where_path *path, char *out, size_t room)
{
    struct writer to = { out, room, 0 };

    put(&to, "", 0);
    put_path(&to, path);
}

static void put_value(struct writer *to, const struct where_value *value)
{
    char number[64];

    switch (value->kind) {
    case WHERE_BOOL:
        puts_to(to, value->as.truth ? "true" : "false");
        return;
    case WHERE_TEXT:
        put_quoted(to, value->as.text, value->n, '\'');
        return;
    case WHERE_INT:
        snprintf(number, sizeof number, "%lld", (long long)value->as.whole);
        break;
    case WHERE_BIG:
        snprintf(number, sizeof number, "%llu", (unsigned long long)value->as.big);
        break;
    default:
        if (isinf(value->as.real)) {
            snprintf(number, sizeof number, "%s1e999", value->as.real < 0 ? "-" : "");
        } else {
            snprintf(number, sizeof number, "%.17g", value->as.real);
        }
        break;
    }
    puts_to(to, number);
}

static void put_pattern(struct writer *to, const struct where_node *node)
{
    puts_to(to, "'");
    for (size_t k = 0; k < node->n_pattern; k++) {
        uint16_t at = node->pattern[k];
        char c = at == WHERE_ANY_ONE ? '_' : at == WHERE_ANY_RUN ? '%' : (char)at;
        if (at < WHERE_ANY_ONE && (c == '%' || c == '_' || c == node->escape)) {
            put(to, &node->escape, node->escape != '\0');
        }
        put(to, &c, 1);
        put(to, &c, c == '\'');
    }
    puts_to(to, "'");
    if (node->escape != '\0') {
        puts_to(to, " escape ");
        put_quoted(to, &node->escape, 1, '\'');
    }
}

static void put_node(struct writer *to, const struct where_node *node, bool inside)
{
    static const char *const signs[] = { [WHERE_EQUAL] = " = ",
                                         [WHERE_LESS] = " < ",
                                         [WHERE_LESS_EQUAL] = " <= ",
                                         [WHERE_GREATER] = " > ",
                                         [WHERE_GREATER_EQUAL] = " >= " };

    if (node->op == WHERE_AND || node->op == WHERE_OR) {
        puts_to(to, inside ? "(" : "");
        for (size_t k = 0; k < node->n_parts; k++) {
            puts_to(to, k == 0 ? "" : node->op == WHERE_AND ? " and " : " or ");
            put_node(to, node->parts[k], true);
        }
        puts_to(to, inside ? ")" : "");
        return;
    }
    if (node->negated && node->op >= WHERE_LESS && node->op <= WHERE_GREATER_EQUAL) {
        puts_to(to, "not ");
    }
    put_path(to, &node->path);
    if (node->op == WHERE_NULL) {
        puts_to(to, node->negated ? " is not null" : " is null");
    } else if (node->op == WHERE_LIKE) {
        puts_to(to, node->negated ? " not like " : " like ");
        put_pattern(to, node);
    } else if (node->op == WHERE_IN) {
        puts_to(to, node->negated ? " not in (" : " in (");
        for (size_t k = 0; k < node->n_values; k++) {
            puts_to(to, k > 0 ? ", " : "");
            put_value(to, &node->values[k]);
        }
        puts_to(to, ")");
    } else {
        puts_to(to, node->negated && node->op == WHERE_EQUAL ? " != " : signs[node->op]);
        put_value(to, node->values);
    }
}

size_t where_text(const struct where *where, char *out, size_t room)
{
    struct writer to = { out, room, 0 };

    put_node(&to, where->root, false);
    return to.n;
}

/* ---- what is named ---- */

static bool names(const struct where_node *node, const char *name, enum where_kind *kind)
{
    bool found = false;

    if (node->op == WHERE_AND || node->op == WHERE_OR) {
        for (size_t k = 0; k < node->n_parts; k++) {
            found |= names(node->parts[k], name, kind);
        }
        return found;
    }
    if (strcmp(node->path.steps[0].name, name) != 0) {
        return false;
    }
    if (node->op == WHERE_LIKE) {
        *kind = WHERE_TEXT;
    } else if (node->n_values > 0) {
        *kind = node->values[0].kind;
    }
    return true;
}

bool where_names(const struct where *where, const char *name, enum where_kind *kind)
{
    enum where_kind found = WHERE_NONE;
    bool out = names(where->root, name, &found);

    if (kind != NULL) {
        *kind = found;
    }
    return out;
}

bool where_is_equals(const struct where *where)
{
    return where->root->op == WHERE_EQUAL && !where->root->negated;
}
