#include "dolma_out.h"

#include <math.h>
#include <stdio.h>

void dolma_out_deinit(struct dolma_out *out)
{
    for (size_t k = 0; k < out->capacity; k++) {
        sluice_bytes_free(&out->types[k].spans);
    }
    free(out->types);
    sluice_bytes_free(&out->json);
    memset(out, 0, sizeof *out);
}

void dolma_out_reset(struct dolma_out *out)
{
    out->json.size = 0;
    out->n = 0;
    out->failed = false;
}

static size_t put_unsigned(uint64_t value, char *at)
{
    char digits[24];
    size_t n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t k = 0; k < n; k++) {
        at[k] = digits[n - 1 - k];
    }
    return n;
}

/* The shortest text that reads back equal, as a float (1.0, 1e+22), at `at` (DOLMA_NUMBER_MAX
 * bytes, not terminated); its length. */
static size_t dolma_number(double value, char *at)
{
    size_t n;

    if (value == floor(value) && fabs(value) < 1e15) {
        n = 0;
        if (signbit(value)) {
            at[n++] = '-';
        }
        n += put_unsigned((uint64_t)fabs(value), at + n);
        at[n++] = '.';
        at[n++] = '0';
        return n;
    }
    if (!isfinite(value)) {
        memcpy(at, "null", 4);
        return 4;
    }
    for (int digits = 1; digits <= 17; digits++) {
        int k = snprintf(at, DOLMA_NUMBER_MAX, "%.*g", digits, value);
        n = (size_t)k;
        if (strtod(at, NULL) == value) {
            break;
        }
    }
    if (memchr(at, '.', n) == NULL && memchr(at, 'e', n) == NULL) {
        memcpy(at + n, ".0", 2);
        n += 2;
    }
    return n;
}

/* value rounded to five digits behind the point (half to even on its exact value). */
static double dolma_round(double value)
{
    char text[400];

    if (value == floor(value) || !isfinite(value)) {
        return value;
    }
    snprintf(text, sizeof text, "%.5f", value);
    return strtod(text, NULL);
}

/* The rounded value as text. Up to 2^31 five digits behind the point are exact enough to be the
 * shortest text themselves. */
static size_t put_score(double value, char *at)
{
    int n;

    if (value == floor(value) || !(fabs(value) < 2147483648.0)) {
        return dolma_number(dolma_round(value), at);
    }
    n = snprintf(at, DOLMA_NUMBER_MAX, "%.5f", value);
    while (at[n - 1] == '0' && at[n - 2] != '.') {
        n--;
    }
    if (n == 4 && memcmp(at, "-0.0", 4) == 0) {
        return dolma_number(-0.0, at);
    }
    return (size_t)n;
}

static struct dolma_type *find_type(struct dolma_out *out, const char *name)
{
    for (size_t k = 0; k < out->n; k++) {
        if (out->types[k].name == name || strcmp(out->types[k].name, name) == 0) {
            return &out->types[k];
        }
    }
    if (out->n == out->capacity) {
        size_t capacity = out->capacity * 2 + 32;
        struct dolma_type *types = realloc(out->types, capacity * sizeof *types);
        if (types == NULL) {
            return NULL;
        }
        memset(types + out->capacity, 0, (capacity - out->capacity) * sizeof *types);
        out->types = types;
        out->capacity = capacity;
    }
    out->types[out->n].name = name;
    out->types[out->n].spans.size = 0;
    return &out->types[out->n++];
}

void dolma_out_span(struct dolma_out *out, const char *type, uint64_t start, uint64_t end,
                    double score)
{
    struct dolma_type *found = find_type(out, type);
    char text[2 * 24 + DOLMA_NUMBER_MAX + 8];
    size_t n = 0;

    if (found == NULL) {
        out->failed = true;
        return;
    }
    if (found->spans.size > 0) {
        text[n++] = ',';
    }
    text[n++] = '[';
    if (start > INT64_MAX) {
        text[n++] = '-';
        start = 0 - start;
    }
    n += put_unsigned(start, text + n);
    text[n++] = ',';
    n += put_unsigned(end, text + n);
    text[n++] = ',';
    n += put_score(score, text + n);
    text[n++] = ']';
    if (!sluice_bytes_add(&found->spans, text, n)) {
        out->failed = true;
    }
}

void dolma_out_tagger(struct dolma_out *out, const char *prefix)
{
    for (size_t k = 0; k < out->n; k++) {
        struct dolma_type *type = &out->types[k];
        if ((out->json.size > 0 && !sluice_bytes_add(&out->json, ",", 1)) ||
            !sluice_bytes_add(&out->json, "\"", 1) ||
            !sluice_bytes_add(&out->json, prefix, strlen(prefix)) ||
            !sluice_bytes_add(&out->json, type->name, strlen(type->name)) ||
            !sluice_bytes_add(&out->json, "\":[", 3) ||
            !sluice_bytes_add(&out->json, type->spans.data, type->spans.size) ||
            !sluice_bytes_add(&out->json, "]", 1)) {
            out->failed = true;
        }
    }
    out->n = 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool dolma_out_members(struct dolma_out *out, const char *json, size_t n)
{
    for (; n > 0 && is_blank(json[0]); json++) {
        n--;
    }
    while (n > 0 && is_blank(json[n - 1])) {
        n--;
    }
    if (n == 0 || (n == 4 && memcmp(json, "null", 4) == 0)) {
        return true;
    }
    if (n < 2 || json[0] != '{' || json[n - 1] != '}') {
        return false;
    }
    for (json++, n -= 2; n > 0 && is_blank(json[0]); json++) {
        n--;
    }
    out->failed = out->failed || !sluice_bytes_add(&out->json, json, n);
    return true;
}
