/* pretoken_parse.c — a recursive-descent parser for the syntax that pre-tokenization patterns use.
 * What it does not know it refuses, because Rust, Oniguruma and PCRE2 disagree outside this subset.
 * */
#include "split/pretoken_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"

#define DEPTH 32
#define REPEAT_MOST 1000u
#define LENGTH_MOST 1000000u
#define CAT(x) (1u << (x))
#define CAT_L (CAT(GC_LU) | CAT(GC_LL) | CAT(GC_LT) | CAT(GC_LM) | CAT(GC_LO))
#define CAT_M (CAT(GC_MN) | CAT(GC_MC) | CAT(GC_ME))
#define CAT_N (CAT(GC_ND) | CAT(GC_NL) | CAT(GC_NO))
#define CAT_P \
    (CAT(GC_PC) | CAT(GC_PD) | CAT(GC_PS) | CAT(GC_PE) | CAT(GC_PI) | CAT(GC_PF) | CAT(GC_PO))
#define CAT_S (CAT(GC_SM) | CAT(GC_SC) | CAT(GC_SK) | CAT(GC_SO))
#define CAT_Z (CAT(GC_ZS) | CAT(GC_ZL) | CAT(GC_ZP))
#define CAT_C (CAT(GC_CC) | CAT(GC_CF) | CAT(GC_CO) | CAT(GC_CN) | CAT(GC_CS))

static const struct {
    const char *name;
    uint32_t categories;
    unsigned properties;
} property_names[] = {
    { "L", CAT_L, 0 },         { "M", CAT_M, 0 },       { "N", CAT_N, 0 },
    { "P", CAT_P, 0 },         { "S", CAT_S, 0 },       { "Z", CAT_Z, 0 },
    { "C", CAT_C, 0 },         { "Lu", CAT(GC_LU), 0 }, { "Ll", CAT(GC_LL), 0 },
    { "Lt", CAT(GC_LT), 0 },   { "Lm", CAT(GC_LM), 0 }, { "Lo", CAT(GC_LO), 0 },
    { "Mn", CAT(GC_MN), 0 },   { "Mc", CAT(GC_MC), 0 }, { "Me", CAT(GC_ME), 0 },
    { "Nd", CAT(GC_ND), 0 },   { "Nl", CAT(GC_NL), 0 }, { "No", CAT(GC_NO), 0 },
    { "Pc", CAT(GC_PC), 0 },   { "Pd", CAT(GC_PD), 0 }, { "Ps", CAT(GC_PS), 0 },
    { "Pe", CAT(GC_PE), 0 },   { "Pi", CAT(GC_PI), 0 }, { "Pf", CAT(GC_PF), 0 },
    { "Po", CAT(GC_PO), 0 },   { "Sm", CAT(GC_SM), 0 }, { "Sc", CAT(GC_SC), 0 },
    { "Sk", CAT(GC_SK), 0 },   { "So", CAT(GC_SO), 0 }, { "Zs", CAT(GC_ZS), 0 },
    { "Zl", CAT(GC_ZL), 0 },   { "Zp", CAT(GC_ZP), 0 }, { "Cc", CAT(GC_CC), 0 },
    { "Cf", CAT(GC_CF), 0 },   { "Co", CAT(GC_CO), 0 }, { "Cn", CAT(GC_CN), 0 },
    { "Han", 0, UNICODE_HAN },
};

struct parser {
    struct parse *out;
    const struct unicode_table *table;
    const char *pattern;
    const uint8_t *p, *end;
    enum regex_dialect dialect;
    struct sluice_error *err;
    int depth;
    uint32_t folded; /* the literal before under (?i), or 0 */
};

static int32_t refuse(struct parser *s, const char *what)
{
    return bpe_fail(s->err, SLUICE_E_CONFIG,
                    "the pre-tokenization pattern has %s at byte %zu, which this engine does not "
                    "support; rewrite it with "
                    "literals, classes, \\p{..}, \\s, groups, lookaround and simple quantifiers",
                    what, (size_t)(s->p - (const uint8_t *)s->pattern));
}

static int32_t no_memory(struct parser *s)
{
    return bpe_fail_memory(s->err, "a pre-tokenization pattern");
}

static struct parse_item *item_push(struct parser *s)
{
    struct parse *out = s->out;
    if (out->n == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 64;
        struct parse_item *items = realloc(out->items, cap * sizeof(*items));
        if (!items) {
            return NULL;
        }
        out->items = items;
        out->cap = cap;
    }
    memset(&out->items[out->n], 0, sizeof(out->items[0]));
    return &out->items[out->n++];
}

static int32_t put_op(struct parser *s, const char *op)
{
    struct parse_item *item = item_push(s);
    if (!item) {
        return no_memory(s);
    }
    (void)snprintf(item->op, sizeof(item->op), "%s", op);
    return SLUICE_OK;
}

/* Takes `set`, whatever it gives. */
static int32_t put_set(struct parser *s, struct cp_set *set)
{
    size_t i;
    struct parse_item *item;
    cp_set_normalize(set);
    for (i = 0; i < s->out->n_sets && !cp_set_equal(set, &s->out->sets[i]); i++) {
    }
    if (i == s->out->n_sets) {
        if (i == PARSE_SETS) {
            cp_set_deinit(set);
            return refuse(s, "more than 64 different character sets");
        }
        s->out->sets[s->out->n_sets++] = *set;
    } else {
        cp_set_deinit(set);
    }
    item = item_push(s);
    if (!item) {
        return no_memory(s);
    }
    item->set = (uint8_t)i;
    return SLUICE_OK;
}

/* Adds one code point, and with `fold` what folds to the same letter (Unicode simple case folding
 * of ASCII letters). */
static int32_t add_char(struct parser *s, struct cp_set *set, uint32_t cp, int fold)
{
    int bad = cp_set_add(set, cp, cp);
    if (fold) {
        uint32_t lower = cp | 32u;
        if (cp >= 0x80) {
            return refuse(s, "a letter outside ASCII under (?i)");
        }
        if (lower >= 'a' && lower <= 'z') {
            bad |= cp_set_add(set, cp ^ 32u, cp ^ 32u);
            if (lower == 's') {
                bad |= cp_set_add(set, 0x17F, 0x17F);
            } else if (lower == 'k') {
                bad |= cp_set_add(set, 0x212A, 0x212A);
            }
        }
    }
    return bad ? no_memory(s) : SLUICE_OK;
}

static int32_t add_class(struct parser *s, struct cp_set *set, uint32_t categories,
                         unsigned properties, int negate)
{
    struct cp_set class = { NULL, 0, 0 };
    int bad = cp_set_add_class(&class, s->table, categories, properties);
    cp_set_normalize(&class);
    if (!bad && negate) {
        bad = cp_set_negate(&class);
    }
    if (!bad) {
        bad = cp_set_union(set, &class);
    }
    cp_set_deinit(&class);
    return bad ? no_memory(s) : SLUICE_OK;
}

static int32_t hex_number(struct parser *s, size_t digits, uint32_t *cp)
{
    size_t n = 0;
    *cp = 0;
    while (s->p < s->end && n < digits) {
        uint32_t c = *s->p, d;
        if (c >= '0' && c <= '9') {
            d = c - '0';
        } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
            d = (c | 32) - 'a' + 10;
        } else {
            break;
        }
        *cp = *cp << 4 | d;
        n++;
        s->p++;
    }
    return n == 0 || *cp > 0x10FFFF ? refuse(s, "a malformed hexadecimal escape") : SLUICE_OK;
}

/* \p{..} behind the p or P */
static int32_t property(struct parser *s, struct cp_set *set, int negate)
{
    char name[16];
    size_t n = 0, i;
    if (s->p < s->end && *s->p == '{') {
        s->p++;
        while (s->p < s->end && *s->p != '}' && n + 1 < sizeof(name)) {
            name[n++] = (char)*s->p++;
        }
        if (s->p >= s->end || *s->p != '}') {
            return refuse(s, "an unknown \\p{..} property");
        }
        s->p++;
    } else if (s->p < s->end && s->dialect == REGEX_TIKTOKEN) {
        name[n++] = (char)*s->p++;
    }
    name[n] = '\0';
    for (i = 0; i < sizeof(property_names) / sizeof(property_names[0]); i++) {
        if (strcmp(name, property_names[i].name) == 0) {
            return add_class(s, set, property_names[i].categories, property_names[i].properties,
                             negate);
        }
    }
    return refuse(s, "an unknown \\p{..} property");
}

/* An escape behind its backslash, added to the set. *cp is the code point when it is a single one,
 * else UINT32_MAX. */
static int32_t escape(struct parser *s, struct cp_set *set, int fold, uint32_t *cp)
{
    uint8_t c;
    int32_t status;
    *cp = UINT32_MAX;
    if (s->p >= s->end) {
        return refuse(s, "a backslash at its end");
    }
    c = *s->p++;
    if (fold && strchr("pPsSdD", c)) {
        s->p--;
        return refuse(s, "a class under (?i)");
    }
    switch (c) {
    case 'p':
    case 'P':
        return property(s, set, c == 'P');
    case 's':
    case 'S':
        return add_class(s, set, 0, UNICODE_SPACE, c == 'S');
    case 'd':
    case 'D':
        return add_class(s, set, CAT(GC_ND), 0, c == 'D');
    case 'r':
        *cp = '\r';
        break;
    case 'n':
        *cp = '\n';
        break;
    case 't':
        *cp = '\t';
        break;
    case 'f':
        *cp = '\f';
        break;
    case 'v':
        *cp = '\v';
        break;
    case 'x':
    case 'u': {
        int braces = s->p < s->end && *s->p == '{';
        if (braces) {
            s->p++;
        }
        status = hex_number(s, braces ? 6 : c == 'x' ? 2 : 4, cp);
        if (status != SLUICE_OK) {
            return status;
        }
        if (braces && (s->p >= s->end || *s->p++ != '}')) {
            return refuse(s, "a malformed hexadecimal escape");
        }
        break;
    }
    default:
        if (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
            c < 0x20) {
            s->p--;
            return refuse(s, "an unknown escape");
        }
        *cp = c;
        break;
    }
    return add_char(s, set, *cp, fold);
}

static int32_t literal(struct parser *s, uint32_t *cp)
{
    s->p += utf8_decode(s->p, s->end, cp);
    return *cp == UTF8_INVALID ? refuse(s, "a byte that is no UTF-8") : SLUICE_OK;
}

/* A class behind its '[': fills `set`, negation applied. */
static int32_t bracket(struct parser *s, struct cp_set *set, int fold)
{
    int negate = 0, first = 1;
    int32_t status = SLUICE_OK;
    if (++s->depth > DEPTH) {
        return refuse(s, "too deep nesting");
    }
    if (s->p < s->end && *s->p == '^') {
        negate = 1;
        s->p++;
    }
    while (status == SLUICE_OK) {
        uint32_t from, to;
        struct cp_set one = { NULL, 0, 0 };
        if (s->p >= s->end) {
            return refuse(s, "an unclosed [");
        }
        if (*s->p == ']') {
            if (first) {
                return refuse(s, "an empty class");
            }
            s->p++;
            break;
        }
        if (!first && s->end - s->p >= 3 && s->p[0] == '&' && s->p[1] == '&' && s->p[2] != '^') {
            s->p += 2; /* what is before, and all that is behind */
            status = bracket(s, &one, fold);
            if (status == SLUICE_OK) {
                cp_set_normalize(set);
                if (cp_set_negate(set) != 0 || cp_set_negate(&one) != 0 ||
                    cp_set_union(set, &one) != 0) {
                    status = no_memory(s);
                } else {
                    cp_set_normalize(set);
                    status = cp_set_negate(set) != 0 ? no_memory(s) : SLUICE_OK;
                }
            }
            cp_set_deinit(&one);
            break;
        }
        first = 0;
        if (s->end - s->p >= 2 && s->p[0] == s->p[1] && strchr("&-~", s->p[0])) {
            return refuse(s, "a set operation");
        }
        if (s->p[0] == '[') {
            if (s->end - s->p >= 2 && s->p[1] == ':') {
                return refuse(s, "a [: :] class");
            }
            s->p++;
            status = bracket(s, &one, fold);
            if (status == SLUICE_OK && cp_set_union(set, &one) != 0) {
                status = no_memory(s);
            }
            cp_set_deinit(&one);
            continue;
        }
        if (*s->p == '\\') {
            s->p++;
            status = escape(s, set, fold, &from);
        } else {
            status = literal(s, &from);
            if (status == SLUICE_OK) {
                status = add_char(s, set, from, fold);
            }
        }
        if (status != SLUICE_OK || s->end - s->p < 2 || s->p[0] != '-' || s->p[1] == ']') {
            continue;
        }
        s->p++;
        if (fold || from == UINT32_MAX || *s->p == '[') {
            return refuse(s, "a range of classes, or one under (?i)");
        }
        if (*s->p == '\\') {
            s->p++;
            status = escape(s, &one, 0, &to);
            cp_set_deinit(&one);
        } else {
            status = literal(s, &to);
        }
        if (status == SLUICE_OK && (to == UINT32_MAX || to < from)) {
            status = refuse(s, "a range that ends before it begins");
        }
        if (status == SLUICE_OK && cp_set_add(set, from, to) != 0) {
            status = no_memory(s);
        }
    }
    s->depth--;
    if (status == SLUICE_OK) {
        cp_set_normalize(set);
        if (negate && cp_set_negate(set) != 0) {
            status = no_memory(s);
        }
    }
    return status;
}

static int32_t alternatives(struct parser *s, int fold, uint32_t *shortest);

/* A group behind its '('. *looks: a lookaround, which matches nothing itself. */
static int32_t group(struct parser *s, int fold, uint32_t *shortest, int *looks)
{
    static const struct {
        const char *text;
        int looks;
    } openings[] = { { "?:", 0 },  { "?>", 0 },  { "?=", 1 }, { "?!", 1 },
                     { "?<=", 1 }, { "?<!", 1 }, { "?i:", 0 } };
    size_t i;
    int32_t status;
    char op[16] = "(?:";
    *looks = 0;
    if (s->p < s->end && *s->p == '?') {
        for (i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
            size_t n = strlen(openings[i].text);
            if ((size_t)(s->end - s->p) >= n && memcmp(s->p, openings[i].text, n) == 0) {
                break;
            }
        }
        if (i == sizeof(openings) / sizeof(openings[0])) {
            return refuse(s, "an unknown kind of group");
        }
        if (openings[i].text[1] == 'i') {
            fold = 1;
        } else {
            (void)snprintf(op, sizeof(op), "(%s", openings[i].text);
        }
        *looks = openings[i].looks;
        s->p += strlen(openings[i].text);
    }
    if (++s->depth > DEPTH) {
        return refuse(s, "too deep nesting");
    }
    status = put_op(s, op);
    if (status == SLUICE_OK) {
        status = alternatives(s, fold, shortest);
    }
    s->depth--;
    if (status != SLUICE_OK) {
        return status;
    }
    if (s->p >= s->end || *s->p != ')') {
        return refuse(s, "an unclosed (");
    }
    s->p++;
    if (*looks) {
        *shortest = 0;
    }
    return put_op(s, ")");
}

static int32_t number(struct parser *s, uint32_t *value)
{
    size_t n = 0;
    *value = 0;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && n < 5) {
        *value = *value * 10 + (uint32_t)(*s->p++ - '0');
        n++;
    }
    return n == 0 || *value > REPEAT_MOST ? refuse(s, "a malformed or huge repetition") : SLUICE_OK;
}

/* The quantifier at p, if any. *least is 1 without one. */
static int32_t quantifier(struct parser *s, uint32_t *least)
{
    char op[16];
    int32_t status;
    int braces = 0;
    size_t n;
    *least = 1;
    if (s->p >= s->end || !strchr("*+?{", *s->p) || *s->p == '\0') {
        return SLUICE_OK;
    }
    if (*s->p == '{') {
        uint32_t from, to;
        braces = 1;
        s->p++;
        status = number(s, &from);
        if (status != SLUICE_OK) {
            return status;
        }
        *least = from;
        (void)snprintf(op, sizeof(op), "{%u", (unsigned)from);
        if (s->p < s->end && *s->p == ',') {
            s->p++;
            if (s->p < s->end && *s->p != '}') {
                status = number(s, &to);
                if (status != SLUICE_OK) {
                    return status;
                }
                if (to < from) {
                    return refuse(s, "a repetition whose maximum is below its minimum");
                }
                (void)snprintf(op, sizeof(op), "{%u,%u", (unsigned)from, (unsigned)to);
            } else {
                (void)snprintf(op, sizeof(op), "{%u,", (unsigned)from);
            }
        }
        if (s->p >= s->end || *s->p != '}') {
            return refuse(s, "a malformed repetition");
        }
        s->p++;
        n = strlen(op);
        op[n++] = '}';
    } else {
        *least = *s->p == '+';
        op[0] = (char)*s->p++;
        n = 1;
    }
    if (s->p < s->end && (*s->p == '+' || *s->p == '?')) {
        if (braces && s->dialect == REGEX_HF) {
            return refuse(s, "{..} followed by another quantifier");
        }
        op[n++] = (char)*s->p++;
    }
    op[n] = '\0';
    if (s->p < s->end && *s->p != '\0' && strchr("*+?{", *s->p)) {
        return refuse(s, "a quantifier behind a quantifier");
    }
    return put_op(s, op);
}

/* ss, st, ff, fi, fl in any case: Oniguruma folds them with U+00DF, U+1E9E and U+FB00 .. U+FB06. */
static int folds_together(uint32_t a, uint32_t b)
{
    a |= 32u;
    b |= 32u;
    return (a == 's' && (b == 's' || b == 't')) || (a == 'f' && (b == 'f' || b == 'i' || b == 'l'));
}

/* One atom with its quantifier. */
static int32_t term(struct parser *s, int fold, uint32_t *shortest)
{
    struct cp_set set = { NULL, 0, 0 };
    uint32_t cp, length = 1, least, before = s->folded;
    int looks = 0;
    int32_t status;
    uint8_t c = *s->p;
    s->folded = 0;
    if (s->dialect == REGEX_LITERAL) {
        status = literal(s, &cp);
        *shortest = 1;
        status = status == SLUICE_OK ? add_char(s, &set, cp, 0) : status;
        if (status == SLUICE_OK) {
            return put_set(s, &set);
        }
        cp_set_deinit(&set);
        return status;
    }
    if (c == '(') {
        s->p++;
        status = group(s, fold, &length, &looks);
    } else if (c == '$' && s->dialect == REGEX_TIKTOKEN) {
        s->p++;
        length = 0;
        looks = 1;
        status = put_op(s, "\\z");
    } else if (c != '\0' && strchr("^$*+?{}", c)) {
        return refuse(s,
                      c == '^' || c == '$' ? "an anchor" : "a quantifier or brace without an atom");
    } else {
        if (c == '[') {
            s->p++;
            status = bracket(s, &set, fold);
        } else if (c == '\\') {
            s->p++;
            status = escape(s, &set, fold, &cp);
        } else if (c == '.') {
            s->p++;
            status = cp_set_add(&set, 0, '\n' - 1) || cp_set_add(&set, '\n' + 1, 0x10FFFF)
                         ? no_memory(s)
                         : SLUICE_OK;
        } else {
            status = literal(s, &cp);
            status = status == SLUICE_OK ? add_char(s, &set, cp, fold) : status;
            if (status == SLUICE_OK && fold && s->dialect == REGEX_HF &&
                folds_together(before, cp)) {
                status =
                    refuse(s, "two letters under (?i) that Oniguruma also matches as one ligature");
            }
            s->folded = cp;
        }
        if (status == SLUICE_OK) {
            status = put_set(s, &set);
        } else {
            cp_set_deinit(&set);
        }
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (looks && s->p < s->end && *s->p != '\0' && strchr("*+?{", *s->p)) {
        return refuse(s, "a quantifier behind an assertion");
    }
    status = quantifier(s, &least);
    *shortest = length * least > LENGTH_MOST ? LENGTH_MOST : length * least;
    return status;
}

static int32_t alternatives(struct parser *s, int fold, uint32_t *shortest)
{
    uint32_t length = 0, one = 0;
    int32_t status;
    *shortest = UINT32_MAX;
    for (;;) {
        int end = s->p >= s->end || (s->dialect != REGEX_LITERAL && *s->p == ')');
        if (end || (s->dialect != REGEX_LITERAL && *s->p == '|')) {
            *shortest = length < *shortest ? length : *shortest;
            length = 0;
            if (end) {
                return SLUICE_OK;
            }
            s->p++;
            status = put_op(s, "|");
        } else {
            status = term(s, fold, &one);
            length = length + one > LENGTH_MOST ? LENGTH_MOST : length + one;
        }
        if (status != SLUICE_OK) {
            return status;
        }
    }
}

int32_t parse_pattern(struct parse *parse, const struct unicode_table *table, const char *pattern,
                      size_t len, enum regex_dialect dialect, struct sluice_error *err)
{
    struct parser s;
    uint32_t shortest;
    int fold = 0;
    int32_t status;
    memset(parse, 0, sizeof(*parse));
    memset(&s, 0, sizeof(s));
    s.out = parse;
    s.table = table;
    s.pattern = pattern;
    s.p = (const uint8_t *)pattern;
    s.end = s.p + len;
    s.dialect = dialect;
    s.err = err;
    if (dialect != REGEX_LITERAL && len >= 4 && memcmp(pattern, "(?i)", 4) == 0) {
        fold = 1;
        s.p += 4;
    }
    status = alternatives(&s, fold, &shortest);
    if (status != SLUICE_OK) {
        return status;
    }
    if (s.p < s.end) {
        return refuse(&s, "an unopened )");
    }
    if (shortest == 0) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "the pre-tokenization pattern can match the empty string; every "
                        "alternative must take a character");
    }
    return SLUICE_OK;
}

void parse_deinit(struct parse *parse)
{
    size_t i;
    for (i = 0; i < parse->n_sets; i++) {
        cp_set_deinit(&parse->sets[i]);
    }
    free(parse->items);
    memset(parse, 0, sizeof(*parse));
}
