/* Values of one type as those of another: see cast_value.h. */
#include "cast_value.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "number.h"

/* ---- types ---- */

bool cast_type_parse(const char *type, struct cast_type *out)
{
    static const struct {
        const char *name;
        struct cast_type type;
    } types[] = { { "bool", { CAST_BOOL, 1 } },      { "int8", { CAST_INT, 8 } },
                  { "int16", { CAST_INT, 16 } },     { "int32", { CAST_INT, 32 } },
                  { "int64", { CAST_INT, 64 } },     { "uint8", { CAST_UINT, 8 } },
                  { "uint16", { CAST_UINT, 16 } },   { "uint32", { CAST_UINT, 32 } },
                  { "uint64", { CAST_UINT, 64 } },   { "float32", { CAST_FLOAT, 32 } },
                  { "float64", { CAST_FLOAT, 64 } }, { "utf8", { CAST_TEXT, 0 } },
                  { "binary", { CAST_BINARY, 0 } },  { "json", { CAST_JSON, 0 } } };
    size_t n = strlen(type);

    n -= n > 0 && type[n - 1] == '?';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].name) == n && memcmp(types[i].name, type, n) == 0) {
            *out = types[i].type;
            return true;
        }
    }
    return false;
}

bool cast_possible(struct cast_type from, struct cast_type to)
{
    /* Bytes are texts or nothing. */
    return from.kind == CAST_BINARY ? to.kind == CAST_TEXT || to.kind == CAST_BINARY
           : to.kind == CAST_BINARY ? from.kind == CAST_TEXT
                                    : true;
}

/* ---- reading ---- */

static uint64_t bits_at(const struct ArrowArray *array, int64_t row, unsigned bits)
{
    const char *values = array->buffers[1];
    uint64_t value = 0;

    /* Little-endian, as the format is on all machines we run on. */
    memcpy(&value, values + row * (int64_t)(bits / 8), bits / 8);
    return value;
}

static void read_real(const struct ArrowArray *array, int64_t row, unsigned bits,
                      struct cast_value *out)
{
    out->is = VALUE_REAL;
    if (bits == 32) {
        out->real = (double)((const float *)array->buffers[1])[row];
    } else {
        out->real = ((const double *)array->buffers[1])[row];
    }
}

static void whole(int64_t value, struct cast_value *out)
{
    out->is = VALUE_WHOLE;
    out->negative = value < 0;
    out->magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* A JSON value: a string without its quotes, a number or bool as that; what has members as its
 * text. */
static bool read_json(struct cast_value *out)
{
    json_t *json = json_loadb(out->text, out->n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    if (json_is_string(json)) {
        out->n = json_string_length(json);
        out->own = malloc(out->n + 1);
        if (out->own != NULL) {
            memcpy(out->own, json_string_value(json), out->n + 1);
            out->text = out->own;
        }
        json_decref(json);
        return out->own != NULL;
    }
    if (json_is_integer(json)) {
        whole(json_integer_value(json), out);
    } else if (json_is_real(json)) {
        out->is = VALUE_REAL;
        out->real = json_real_value(json);
    } else if (json_is_boolean(json)) {
        out->is = VALUE_BOOLEAN;
        out->truth = json_is_true(json);
    } else if (json_is_null(json)) {
        out->is = VALUE_NONE;
    }
    json_decref(json); /* else, and where it is none (an integer of 20 digits): its text */
    return true;
}

bool cast_read(struct cast_type from, const struct ArrowArray *array, int64_t row,
               struct cast_value *out)
{
    memset(out, 0, sizeof *out);
    if (sluice_is_null(array, row)) {
        return true;
    }
    switch (from.kind) {
    case CAST_BOOL:
        out->is = VALUE_BOOLEAN;
        out->truth = sluice_bool(array, row) != 0;
        return true;
    case CAST_INT: {
        uint64_t bits = bits_at(array, row, from.bits) << (64 - from.bits);
        whole((int64_t)bits >> (64 - from.bits), out);
        return true;
    }
    case CAST_UINT:
        out->is = VALUE_WHOLE;
        out->magnitude = bits_at(array, row, from.bits);
        return true;
    case CAST_FLOAT:
        read_real(array, row, from.bits, out);
        return true;
    case CAST_TEXT:
    case CAST_BINARY:
    case CAST_JSON:
        break;
    }
    out->is = VALUE_TEXT;
    out->text = sluice_text(array, row, &out->n);
    return from.kind != CAST_JSON || read_json(out);
}

/* ---- whole numbers ---- */

/* [+-]digits, nothing else. */
static const char *text_whole(const char *text, size_t n, bool *negative, uint64_t *magnitude)
{
    size_t at = n > 0 && (text[0] == '-' || text[0] == '+');

    *negative = at > 0 && text[0] == '-';
    *magnitude = 0;
    if (at == n) {
        return "it is no whole number";
    }
    for (; at < n; at++) {
        unsigned digit = (unsigned)(text[at] - '0');
        if (text[at] < '0' || text[at] > '9') {
            return "it is no whole number";
        }
        if (*magnitude > (UINT64_MAX - digit) / 10) {
            return "it is out of range";
        }
        *magnitude = *magnitude * 10 + digit;
    }
    return NULL;
}

static const char *to_whole(const struct cast_value *value, bool *negative, uint64_t *magnitude)
{
    switch (value->is) {
    case VALUE_BOOLEAN:
        *negative = false;
        *magnitude = value->truth;
        return NULL;
    case VALUE_WHOLE:
        *negative = value->negative;
        *magnitude = value->magnitude;
        return NULL;
    case VALUE_REAL:
        *negative = value->real < 0;
        if (!(fabs(value->real) < 18446744073709551616.0)) {
            return isnan(value->real) ? "it is no whole number" : "it is out of range";
        }
        *magnitude = (uint64_t)fabs(value->real);
        return (double)*magnitude == fabs(value->real) ? NULL : "it is no whole number";
    default:
        return text_whole(value->text, value->n, negative, magnitude);
    }
}

static const char *write_whole(struct cast_type to, const struct cast_value *value, uint64_t *bits)
{
    bool negative;
    uint64_t magnitude;
    const char *bad = to_whole(value, &negative, &magnitude);
    uint64_t most = to.kind == CAST_UINT ? UINT64_MAX >> (64 - to.bits)
                                         : (UINT64_MAX >> (65 - to.bits)) + (negative ? 1 : 0);

    if (bad != NULL) {
        return bad;
    }
    if (magnitude > (to.kind == CAST_UINT && negative ? 0 : most)) {
        return "it is out of range";
    }
    *bits = negative ? -magnitude : magnitude;
    return NULL;
}

/* ---- real numbers ---- */

/* A decimal number, nan, inf or -inf; no blanks, no hexadecimal. */
static const char *text_real(const char *text, size_t n, double *real)
{
    char copy[400];
    char *end;

    if (n == 0 || n >= sizeof copy || memchr(text, '\0', n) != NULL) {
        return "it is no number";
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (strspn(copy, "0123456789+-.eE") != n && strcmp(copy, "nan") != 0 &&
        strcmp(copy, "inf") != 0 && strcmp(copy, "-inf") != 0) {
        return "it is no number";
    }
    *real = strtod(copy, &end);
    if (*end != '\0' || end == copy) {
        return "it is no number";
    }
    return isinf(*real) && strchr(copy, 'n') == NULL ? "it is out of range" : NULL;
}

static const char *write_real(struct cast_type to, const struct cast_value *value, double *real)
{
    const char *bad = NULL;

    switch (value->is) {
    case VALUE_BOOLEAN:
        *real = value->truth ? 1 : 0;
        break;
    case VALUE_WHOLE:
        *real = (double)value->magnitude;
        /* A whole number stays the one that it is. */
        if (*real >= 18446744073709551616.0 || (uint64_t)*real != value->magnitude ||
            (to.bits == 32 && (double)(float)*real != *real)) {
            return "it has more digits than the type holds";
        }
        *real = value->negative ? -*real : *real;
        break;
    case VALUE_REAL:
        *real = value->real;
        break;
    default:
        bad = text_real(value->text, value->n, real);
        break;
    }
    return bad == NULL && to.bits == 32 && isfinite(*real) && isinf((float)*real)
               ? "it is out of range"
               : bad;
}

/* ---- bools ---- */

static const char *write_truth(const struct cast_value *value, bool *truth)
{
    bool negative;
    uint64_t magnitude;

    if (value->is == VALUE_TEXT) {
        *truth = value->n == 4 && memcmp(value->text, "true", 4) == 0;
        if (*truth || (value->n == 5 && memcmp(value->text, "false", 5) == 0)) {
            return NULL;
        }
    }
    if (value->is == VALUE_BOOLEAN) {
        *truth = value->truth;
        return NULL;
    }
    if (to_whole(value, &negative, &magnitude) != NULL || magnitude > 1 || negative) {
        return "it is none of true, false, 1 and 0";
    }
    *truth = magnitude == 1;
    return NULL;
}

/* ---- texts ---- */

/* JSON texts are UTF-8: jansson is a strict reader of it. */
static bool is_json(const char *text, size_t n)
{
    json_t *json = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool good = json != NULL;

    json_decref(json);
    return good;
}

static bool is_utf8(const char *text, size_t n)
{
    json_t *string = json_stringn(text, n); /* NULL also without memory */
    bool good = string != NULL;

    json_decref(string);
    return good;
}

/* The text of a value; number has the room for one. */
static const char *text_of(struct cast_type to, const struct cast_value *value, char number[48],
                           size_t *n, const char **bad)
{
    *bad = NULL;
    switch (value->is) {
    case VALUE_BOOLEAN:
        *n = value->truth ? 4 : 5;
        return value->truth ? "true" : "false";
    case VALUE_WHOLE:
        *n = (size_t)snprintf(number, 48, "%s%llu", value->negative ? "-" : "",
                              (unsigned long long)value->magnitude);
        return number;
    case VALUE_REAL:
        if (!isfinite(value->real)) {
            *bad = to.kind == CAST_JSON ? "JSON has no such number" : NULL;
            *n = (size_t)snprintf(number, 48, "%s",
                                  isnan(value->real) ? "nan"
                                  : value->real > 0  ? "inf"
                                                     : "-inf");
            return number;
        }
        number_float(value->real, number);
        *n = strlen(number);
        return number;
    default:
        break;
    }
    *n = value->n;
    if (to.kind == CAST_JSON && value->own == NULL && !is_json(value->text, value->n)) {
        *bad = "it is no JSON";
    } else if (to.kind == CAST_TEXT && !is_utf8(value->text, value->n)) {
        *bad = "it is no UTF-8";
    }
    return value->text;
}

/* ---- columns ---- */

static bool add_valid(struct cast_column *out)
{
    return sluice_bytes_add_bit(&out->validity, out->n++, 1) != 0;
}

static bool write_text(struct cast_type to, const struct cast_value *value, struct cast_column *out,
                       const char **bad)
{
    char number[48];
    size_t n;
    const char *text = text_of(to, value, number, &n, bad);

    return *bad != NULL ||
           (sluice_bytes_add_text(&out->offsets, &out->values, text, n) != 0 && add_valid(out));
}

bool cast_write(struct cast_type to, const struct cast_value *value, struct cast_column *out,
                const char **bad)
{
    uint64_t bits = 0;
    double real = 0;
    float single;
    bool truth = false;

    *bad = NULL;
    if (value->is == VALUE_NONE) {
        return cast_write_null(to, out);
    }
    switch (to.kind) {
    case CAST_BOOL:
        *bad = write_truth(value, &truth);
        return *bad != NULL ||
               (sluice_bytes_add_bit(&out->values, out->n, truth) != 0 && add_valid(out));
    case CAST_INT:
    case CAST_UINT:
        *bad = write_whole(to, value, &bits);
        return *bad != NULL ||
               (sluice_bytes_add(&out->values, &bits, to.bits / 8) != 0 && add_valid(out));
    case CAST_FLOAT:
        *bad = write_real(to, value, &real);
        single = *bad == NULL && to.bits == 32 ? (float)real : 0;
        return *bad != NULL ||
               (sluice_bytes_add(&out->values, to.bits == 32 ? (const void *)&single : &real,
                                 to.bits / 8) != 0 &&
                add_valid(out));
    case CAST_TEXT:
    case CAST_BINARY:
    case CAST_JSON:
        break;
    }
    return write_text(to, value, out, bad);
}

bool cast_write_null(struct cast_type to, struct cast_column *out)
{
    const uint64_t zero = 0;
    int ok;

    if (to.kind == CAST_BOOL) {
        ok = sluice_bytes_add_bit(&out->values, out->n, 0);
    } else if (to.kind == CAST_INT || to.kind == CAST_UINT || to.kind == CAST_FLOAT) {
        ok = sluice_bytes_add(&out->values, &zero, to.bits / 8);
    } else {
        ok = sluice_bytes_add_text(&out->offsets, &out->values, "", 0);
    }
    out->nulls++;
    return ok && sluice_bytes_add_bit(&out->validity, out->n++, 0) != 0;
}

void cast_column_deinit(struct cast_column *column)
{
    sluice_bytes_free(&column->values);
    sluice_bytes_free(&column->offsets);
    sluice_bytes_free(&column->validity);
}

sluice_status cast_make(struct cast_type to, struct cast_column *column, struct ArrowArray *out)
{
    if (column->nulls == 0) {
        sluice_bytes_free(&column->validity);
    }
    return to.kind == CAST_TEXT || to.kind == CAST_BINARY || to.kind == CAST_JSON
               ? sluice_make_text(out, column->n, &column->offsets, &column->values,
                                  &column->validity, column->nulls)
               : sluice_make_fixed(out, column->n, &column->values, &column->validity,
                                   column->nulls);
}
