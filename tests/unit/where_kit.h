/* For tests of sdk/where: rows of all kinds, expressions made at random, and an evaluator that
 * knows three truth values and nothing of the library. Whoever includes it says what KIT_CHECK
 * does. */
#ifndef TESTS_UNIT_WHERE_KIT_H
#define TESTS_UNIT_WHERE_KIT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "where/where.h"

#define KIT_ROWS 40

/* ---- where choices come from: bytes, or a generator behind them ---- */

struct kit_source {
    const uint8_t *data;
    size_t n;
    uint64_t state;
    bool endless;
};

static unsigned kit_pick(struct kit_source *from, unsigned n)
{
    if (from->n > 0) {
        from->n--;
        return *from->data++ % n;
    }
    if (!from->endless) {
        return 0;
    }
    from->state = from->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(from->state >> 33) % n;
}

/* ---- columns ---- */

enum kit_column {
    KIT_I,
    KIT_L,
    KIT_U,
    KIT_F,
    KIT_H,
    KIT_S,
    KIT_B,
    KIT_D,
    KIT_T,
    KIT_A,
    KIT_G0,
    KIT_G1
};
#define KIT_COLUMNS 12

struct kit_value {
    bool null;
    long double number; /* holds all of int64, uint64 and double */
    const char *text;
};
struct kit_rows {
    struct kit_value values[KIT_COLUMNS][KIT_ROWS];
    bool has_list[KIT_ROWS];
    struct ArrowArray array;
};

static const char *const kit_paths[KIT_COLUMNS] = { "i", "l", "u", "f",       "h",    "s",
                                                    "b", "d", "t", "m.`a b`", "g[0]", "g[1]" };
static const char *const kit_texts[] = { "",         "a",        "ab",
                                         "b",        "a%",       "a_c",
                                         "abc",      "\xC3\xA9", "\xC3\xA9t\xC3\xA9",
                                         "\xFF\x01", "zz",       "it's" };
#define KIT_TEXTS 12

static bool kit_is_text(enum kit_column c)
{
    return c == KIT_S || c == KIT_G0 || c == KIT_G1;
}

static long double kit_number(enum kit_column c, unsigned which)
{
    static const int64_t wholes[] = {
        0, 1, -1, 2, 3, 5, INT64_MIN, INT64_MAX, INT64_C(9007199254740993), -4
    };
    static const double reals[] = { 0.0, -0.0, 1.5, 0.1, -2.25, 5.0, 1e300, 3.0, 9007199254740992.0,
                                    2.5 };

    switch (c) {
    case KIT_I:
        return which % 10 == 6   ? INT32_MIN
               : which % 10 == 7 ? INT32_MAX
               : which % 10 == 8 ? 77
                                 : wholes[which % 10];
    case KIT_U:
        return which % 10 == 6   ? (long double)UINT64_MAX
               : which % 10 == 2 ? (long double)(UINT64_C(1) << 63)
               : which % 10 == 9 ? 4
                                 : (long double)wholes[which % 10];
    case KIT_F:
        return which % 11 == 10  ? (long double)NAN
               : which % 11 == 6 ? (long double)INFINITY
                                 : (long double)reals[which % 11];
    case KIT_H:
        return (long double)(float)(which % 10 == 6 ? -7.5 : reals[which % 10]);
    case KIT_B:
        return which % 2;
    case KIT_D:
        return (long double)(int)(which % 5) * 366 - 400;
    case KIT_T:
        return (long double)((int64_t)(which % 7) * 500000 - 1000000);
    default:
        return (long double)wholes[which % 10];
    }
}

/* A validity bit and the bytes of a value. */
static void kit_add(enum kit_column c, const struct kit_value *value, int64_t row,
                    struct sluice_bytes *valid, struct sluice_bytes *data)
{
    const long double number = value->null ? 0 : value->number;
    const int32_t i32 = c == KIT_I || c == KIT_D ? (int32_t)number : 0;
    const int64_t i64 = c == KIT_L || c == KIT_T || c == KIT_A ? (int64_t)number : 0;
    const uint64_t u64 = c == KIT_U ? (uint64_t)number : 0;
    const double f64 = (double)number;
    const float f32 = (float)number;

    sluice_bytes_add_bit(valid, row, !value->null);
    switch (c) {
    case KIT_I:
    case KIT_D:
        sluice_bytes_add(data, &i32, sizeof i32);
        break;
    case KIT_U:
        sluice_bytes_add(data, &u64, sizeof u64);
        break;
    case KIT_F:
        sluice_bytes_add(data, &f64, sizeof f64);
        break;
    case KIT_H:
        sluice_bytes_add(data, &f32, sizeof f32);
        break;
    case KIT_B:
        sluice_bytes_add_bit(data, row, number > 0);
        break;
    default:
        sluice_bytes_add(data, &i64, sizeof i64);
        break;
    }
}

static void kit_fixed(struct kit_rows *rows, enum kit_column c, struct ArrowArray *out)
{
    struct sluice_bytes valid = { 0 };
    struct sluice_bytes data = { 0 };

    for (int row = 0; row < KIT_ROWS; row++) {
        kit_add(c, &rows->values[c][row], row, &valid, &data);
    }
    (void)sluice_make_fixed(out, KIT_ROWS, &data, &valid, -1);
}

static void kit_text(struct sluice_bytes *offsets, struct sluice_bytes *data,
                     struct sluice_bytes *valid, int64_t row, const struct kit_value *value)
{
    sluice_bytes_add_bit(valid, row, !value->null);
    sluice_bytes_add_text(offsets, data, value->null ? "" : value->text,
                          value->null ? 0 : strlen(value->text));
}

static void kit_lists(struct kit_rows *rows, struct ArrowArray *out)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct sluice_bytes valid = { 0 };
    struct sluice_bytes lists = { 0 };
    struct sluice_bytes there = { 0 };
    struct ArrowArray *items = (struct ArrowArray *)calloc(1, sizeof *items);
    int32_t n = 0;

    sluice_bytes_add(&lists, &n, sizeof n);
    for (int row = 0; row < KIT_ROWS; row++) {
        /* g[0] and g[1]: of lists with two items, or of none. */
        sluice_bytes_add_bit(&there, row, rows->has_list[row] || row % 2);
        for (int k = 0; k < 2 && rows->has_list[row]; k++) {
            kit_text(&offsets, &data, &valid, n++, &rows->values[KIT_G0 + k][row]);
        }
        sluice_bytes_add(&lists, &n, sizeof n);
    }
    (void)sluice_make_text(items, n, &offsets, &data, &valid, -1);
    (void)sluice_make(out, KIT_ROWS, -1, 2, &there, &lists, NULL);
    out->n_children = 1;
    out->children[0] = items;
}

static void kit_make_rows(struct kit_rows *rows, struct kit_source *from)
{
    struct ArrowArray columns[11];
    struct ArrowArray inner[1];
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct sluice_bytes valid = { 0 };
    const unsigned nulls = kit_pick(from, 4);

    memset(rows, 0, sizeof *rows);
    for (int row = 0; row < KIT_ROWS; row++) {
        rows->has_list[row] = kit_pick(from, 4) > 0;
        for (int c = 0; c < KIT_COLUMNS; c++) {
            struct kit_value *value = &rows->values[c][row];
            value->null = nulls > 0 && kit_pick(from, 4) < nulls;
            value->number = kit_number((enum kit_column)c, kit_pick(from, 110));
            value->text = kit_texts[kit_pick(from, KIT_TEXTS)];
            value->null |= c >= KIT_G0 && !rows->has_list[row];
        }
    }
    for (int c = KIT_I; c <= KIT_T; c++) {
        if (c != KIT_S) {
            kit_fixed(rows, (enum kit_column)c, &columns[c]);
        }
    }
    for (int row = 0; row < KIT_ROWS; row++) {
        kit_text(&offsets, &data, &valid, row, &rows->values[KIT_S][row]);
    }
    (void)sluice_make_text(&columns[KIT_S], KIT_ROWS, &offsets, &data, &valid, -1);
    kit_fixed(rows, KIT_A, &inner[0]);
    (void)sluice_make_struct(&columns[9], KIT_ROWS, 1, inner);
    kit_lists(rows, &columns[10]);
    (void)sluice_make_struct(&rows->array, KIT_ROWS, 11, columns);
}

/* The schema of the rows; nothing to free. */
struct kit_schema {
    struct ArrowSchema all, columns[11], inner[2];
    struct ArrowSchema *list[11], *inner_list[2];
};

static void kit_make_schema(struct kit_schema *s)
{
    static const char *const names[] = { "i", "l", "u", "f", "h", "s", "b", "d", "t", "m", "g" };
    static const char *const formats[] = { "i", "l",   "L",       "g",  "f", "u",
                                           "b", "tdD", "tsu:UTC", "+s", "+l" };

    memset(s, 0, sizeof *s);
    for (int k = 0; k < 11; k++) {
        s->columns[k].name = names[k];
        s->columns[k].format = formats[k];
        s->list[k] = &s->columns[k];
    }
    s->inner[0].name = "a b";
    s->inner[0].format = "l";
    s->inner[1].name = "item";
    s->inner[1].format = "u";
    for (int k = 0; k < 2; k++) {
        s->inner_list[k] = &s->inner[k];
        s->columns[9 + k].n_children = 1;
        s->columns[9 + k].children = &s->inner_list[k];
    }
    s->all.name = "";
    s->all.format = "+s";
    s->all.n_children = 11;
    s->all.children = s->list;
}

/* ---- expressions ---- */

struct kit_text {
    char data[8192];
    size_t n;
};

static void kit_put(struct kit_text *to, const char *text)
{
    to->n += (size_t)snprintf(to->data + to->n, sizeof to->data - to->n, "%s", text);
    to->n = to->n < sizeof to->data ? to->n : sizeof to->data - 1;
}

static void kit_put_quoted(struct kit_text *to, const char *text, char quote)
{
    char one[3] = { quote, '\0', '\0' };

    kit_put(to, one);
    for (; *text != '\0'; text++) {
        one[0] = *text;
        one[1] = *text == quote ? quote : '\0';
        kit_put(to, one);
    }
    one[0] = quote;
    one[1] = '\0';
    kit_put(to, one);
}

static void kit_days(struct kit_text *to, int64_t days)
{
    /* One day after the other: slow, and nobody's formula. */
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year = 1960;
    int month = 0;
    int day = 0;
    char text[48];

    for (int64_t at = -3653; at < days; at++) {
        int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (++day == lengths[month] + (month == 1 && leap)) {
            day = 0;
            if (++month == 12) {
                month = 0;
                year++;
            }
        }
    }
    snprintf(text, sizeof text, "%04d-%02d-%02d", year, month + 1, day + 1);
    kit_put(to, text);
}

/* A literal, and what it means. */
static struct kit_value kit_literal(struct kit_text *to, enum kit_column c, struct kit_source *from)
{
    struct kit_value value = { false, 0, "" };
    char text[64];

    if (kit_is_text(c)) {
        value.text = kit_texts[kit_pick(from, KIT_TEXTS)];
        kit_put_quoted(to, value.text, kit_pick(from, 2) ? '\'' : '"');
        return value;
    }
    do {
        value.number = kit_number(c, kit_pick(from, 110));
    } while (isnan(value.number) && (from->endless || from->n > 0));
    value.number = isnan(value.number) ? 0 : value.number;
    if (c == KIT_B) {
        kit_put(to, value.number > 0 ? "true" : "False");
    } else if (c == KIT_D) {
        kit_put(to, "'");
        kit_days(to, (int64_t)value.number);
        kit_put(to, "'");
    } else if (c == KIT_T) {
        const int64_t micros = (int64_t)value.number + INT64_C(10) * 86400000000;
        kit_put(to, "'");
        kit_days(to, micros / INT64_C(86400000000) - 10);
        snprintf(text, sizeof text, "%c%02d:%02d:%09.6f%s'", kit_pick(from, 2) ? 'T' : ' ',
                 (int)(micros / INT64_C(3600000000) % 24), (int)(micros / 60000000 % 60),
                 (double)(micros % 60000000) / 1e6, kit_pick(from, 2) ? "Z" : "");
        kit_put(to, text);
    } else if (isinf(value.number)) {
        kit_put(to, "1e999");
    } else if (c == KIT_H) { /* the nearest float32 of what is written */
        snprintf(text, sizeof text, "%.6g", (double)value.number);
        kit_put(to, text);
        value.number = (long double)strtof(text, NULL);
    } else if (c != KIT_F && kit_pick(from, 4) == 0 && value.number < 1e9L &&
               value.number > -1e9L) {
        value.number += 0.5L;
        snprintf(text, sizeof text, "%.1Lf", value.number);
        kit_put(to, text);
    } else {
        snprintf(text, sizeof text, c == KIT_F ? "%.17Lg" : "%.0Lf", value.number);
        kit_put(to, text);
    }
    return value;
}

/* -1, 0, 1; 2 = NaN */
static int kit_compare(enum kit_column c, const struct kit_value *a, const struct kit_value *b)
{
    if (kit_is_text(c)) {
        const unsigned char *x = (const unsigned char *)a->text;
        const unsigned char *y = (const unsigned char *)b->text;
        while (*x == *y && *x != 0) {
            x++;
            y++;
        }
        return *x < *y ? -1 : *x > *y;
    }
    return isnan(a->number) || isnan(b->number) ? 2
           : a->number < b->number              ? -1
                                                : a->number > b->number;
}

static bool kit_like(const char *pattern, const char *text)
{
    if (*pattern == '\0') {
        return *text == '\0';
    }
    if (*pattern == '\\') {
        return *text == pattern[1] && kit_like(pattern + 2, text + 1);
    }
    if (*pattern == '%') {
        for (;; text++) {
            if (((unsigned char)*text & 0xC0) != 0x80 && kit_like(pattern + 1, text)) {
                return true;
            }
            if (*text == '\0') {
                return false;
            }
        }
    }
    if (*text == '\0') {
        return false;
    }
    if (*pattern == '_') {
        do {
            text++;
        } while (((unsigned char)*text & 0xC0) == 0x80);
        return kit_like(pattern + 1, text);
    }
    return *pattern == *text && kit_like(pattern + 1, text + 1);
}

/* 0 = false, 1 = true, 2 = unknown, of each row */
typedef uint8_t kit_truths[KIT_ROWS];

static void kit_comparison(struct kit_text *to, struct kit_source *from,
                           const struct kit_rows *rows, kit_truths out)
{
    static const char *const signs[] = { "=", "==", "!=", "<", "<=", ">", ">=" };
    static const char *const turned[] = { "=", "==", "!=", ">", ">=", "<", "<=" };
    static const char *const patterns[] = { "a%",    "%",  "_",   "a\\%", "%b%", "_%_",
                                            "a\\_c", "__", "%__", "abc",  "",    "\xC3\xA9%" };
    const enum kit_column c = (enum kit_column)kit_pick(from, KIT_COLUMNS);
    unsigned kind = kit_pick(from, kit_is_text(c) ? 6 : 5);
    struct kit_value literals[4] = { { 0 } };
    unsigned n = 1;
    bool negated = false;
    unsigned sign = 0;
    const char *pattern = "";

    if (kind == 4) { /* in */
        kit_put(to, kit_paths[c]);
        negated = kit_pick(from, 2);
        kit_put(to, negated ? " NOT IN (" : " in(");
        n = 1 + kit_pick(from, 4);
        for (unsigned k = 0; k < n; k++) {
            kit_put(to, k > 0 ? " , " : "");
            literals[k] = kit_literal(to, c, from);
        }
        kit_put(to, ")");
    } else if (kind == 3) {
        negated = kit_pick(from, 2);
        kit_put(to, kit_paths[c]);
        kit_put(to, negated ? " is not null" : " IS null");
    } else if (kind == 5) {
        negated = kit_pick(from, 2);
        pattern = patterns[kit_pick(from, 12)];
        kit_put(to, kit_paths[c]);
        kit_put(to, negated ? " not like " : " like ");
        kit_put_quoted(to, pattern, '\'');
        kit_put(to, " escape '\\'");
    } else {
        sign = kit_pick(from, 7);
        if (kit_pick(from, 4) == 0) {
            literals[0] = kit_literal(to, c, from);
            kit_put(to, turned[sign]);
            kit_put(to, kit_paths[c]);
        } else {
            kit_put(to, kit_paths[c]);
            kit_put(to, signs[sign]);
            literals[0] = kit_literal(to, c, from);
        }
    }
    for (int row = 0; row < KIT_ROWS; row++) {
        const struct kit_value *value = &rows->values[c][row];
        bool truth = false;
        if (kind == 3) {
            out[row] = value->null != negated;
            continue;
        }
        if (kind == 5) {
            truth = !value->null && kit_like(pattern, value->text) != negated;
        } else if (kind == 4) {
            for (unsigned k = 0; k < n; k++) {
                truth |= kit_compare(c, value, &literals[k]) == 0;
            }
            truth = truth != negated;
        } else {
            const int result = kit_compare(c, value, &literals[0]);
            truth = sign < 2    ? result == 0
                    : sign == 2 ? result != 0
                    : sign == 3 ? result == -1
                    : sign == 4 ? result == -1 || result == 0
                    : sign == 5 ? result == 1
                                : result == 1 || result == 0;
        }
        out[row] = value->null ? 2 : truth;
    }
}

static void kit_expression(struct kit_text *to, struct kit_source *from,
                           const struct kit_rows *rows, int depth, kit_truths out)
{
    const unsigned kind = depth == 0 || to->n > 4000 ? 0 : kit_pick(from, 5);
    kit_truths other;

    if (kind < 2) {
        kit_comparison(to, from, rows, out);
        return;
    }
    if (kind == 2) {
        kit_put(to, "not (");
        kit_expression(to, from, rows, depth - 1, out);
        kit_put(to, ")");
        for (int row = 0; row < KIT_ROWS; row++) {
            out[row] = out[row] == 2 ? 2 : !out[row];
        }
        return;
    }
    kit_put(to, "(");
    kit_expression(to, from, rows, depth - 1, out);
    kit_put(to, kind == 3 ? ") and (" : ") OR (");
    kit_expression(to, from, rows, depth - 1, other);
    kit_put(to, ")");
    for (int row = 0; row < KIT_ROWS; row++) {
        const uint8_t decides = kind == 3 ? 0 : 1;
        out[row] = out[row] == decides || other[row] == decides ? decides
                   : out[row] == 2 || other[row] == 2           ? 2
                                                                : !decides;
    }
}

/* ---- what is known of columns ---- */

struct kit_facts {
    const struct kit_rows *rows;
    const struct where_bound *bound;
    int from, to;   /* of these rows */
    unsigned lacks; /* bits: 1 no nulls, 2 no bounds, 4 texts are cut */
    char cut[KIT_COLUMNS][2][8];
};

static enum kit_column kit_column_of(const struct where_leaf *leaf)
{
    return leaf->children[0] == 9    ? KIT_A
           : leaf->children[0] == 10 ? KIT_G0
                                     : (enum kit_column)leaf->children[0];
}

static struct where_value kit_where_value(enum kit_column c, const struct kit_value *value)
{
    struct where_value out = { .kind = WHERE_INT };

    if (kit_is_text(c)) {
        out.kind = WHERE_TEXT;
        out.as.text = value->text;
        out.n = strlen(value->text);
    } else if (c == KIT_B) {
        out.kind = WHERE_BOOL;
        out.as.truth = value->number > 0;
    } else if (c == KIT_F || c == KIT_H) {
        out.kind = WHERE_REAL;
        out.as.real = (double)value->number;
    } else if (c == KIT_U) {
        return where_unsigned((uint64_t)value->number);
    } else {
        out.as.whole = (int64_t)value->number;
    }
    return out;
}

static void kit_fact(void *ctx, size_t leaf, struct where_facts *facts)
{
    struct kit_facts *all = (struct kit_facts *)ctx;
    const enum kit_column c = kit_column_of(where_leaf_at(all->bound, leaf));
    const struct kit_value *least = NULL;
    const struct kit_value *most = NULL;
    int nulls = 0;
    int n = 0;

    /* Of a list: of all its items. */
    for (int column = c; column <= (int)(c == KIT_G0 ? KIT_G1 : c); column++) {
        for (int row = all->from; row < all->to; row++) {
            const struct kit_value *value = &all->rows->values[column][row];
            n++;
            nulls += value->null;
            if (value->null || (!kit_is_text(c) && isnan(value->number))) {
                continue;
            }
            least = least == NULL || kit_compare(c, value, least) < 0 ? value : least;
            most = most == NULL || kit_compare(c, value, most) > 0 ? value : most;
        }
    }
    facts->values = n;
    facts->nulls = (all->lacks & 1) != 0 ? -1 : nulls;
    if (least == NULL || (all->lacks & 2) != 0) {
        return;
    }
    facts->min = kit_where_value(c, least);
    facts->max = kit_where_value(c, most);
    if (kit_is_text(c) && (all->lacks & 4) != 0) {
        facts->min.n = facts->min.n > 1 ? 1 : facts->min.n;
        snprintf(all->cut[c][1], sizeof all->cut[c][1], "%c\xFF\xFF",
                 most->text[0] == '\0' ? 1 : most->text[0]);
        facts->max.as.text = all->cut[c][1];
        facts->max.n = 3;
    }
}

static bool kit_absent(void *ctx, size_t leaf, const struct where_value *value)
{
    const struct kit_facts *all = (const struct kit_facts *)ctx;
    const enum kit_column c = kit_column_of(where_leaf_at(all->bound, leaf));

    for (int column = c; column <= (int)(c == KIT_G0 ? KIT_G1 : c); column++) {
        for (int row = all->from; row < all->to; row++) {
            const struct kit_value *one = &all->rows->values[column][row];
            const struct where_value here = kit_where_value(c, one);
            if (!one->null && where_compare(&here, value) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* A bound expression against the truth of each row, where it is known (NULL: against itself), and
 * what bounds say against that. */
static void kit_check(const struct where_bound *bound, struct kit_rows *rows, const uint8_t *truths,
                      unsigned lacks)
{
    uint8_t keep[KIT_ROWS];
    uint8_t part[KIT_ROWS];
    struct sluice_error err = { .size = sizeof err };

    KIT_CHECK(where_eval(bound, &rows->array, keep, &err) == SLUICE_OK);
    for (int row = 0; row < KIT_ROWS && truths != NULL; row++) {
        KIT_CHECK(keep[row] == (truths[row] == 1));
    }
    rows->array.offset = 3;
    rows->array.length = KIT_ROWS - 3;
    KIT_CHECK(where_eval(bound, &rows->array, part, &err) == SLUICE_OK);
    KIT_CHECK(memcmp(part, keep + 3, KIT_ROWS - 3) == 0);
    rows->array.offset = 0;
    rows->array.length = KIT_ROWS;
    for (int from = 0; from < KIT_ROWS; from += from == 0 ? 1 : 13) {
        struct kit_facts facts = { .rows = rows, .bound = bound, .from = from, .lacks = lacks };
        facts.to = from == 0 ? KIT_ROWS : from % 2 ? from + 1 : from + 9;
        facts.to = facts.to > KIT_ROWS ? KIT_ROWS : facts.to;
        for (int probes = 0; probes < 2; probes++) {
            if (!where_may(bound, kit_fact, probes ? kit_absent : NULL, &facts)) {
                for (int row = facts.from; row < facts.to; row++) {
                    KIT_CHECK(keep[row] == 0);
                }
            }
        }
    }
}

#endif
