/* Reading and printing texts of option values: see option_text.h. */
#include "plugin/option_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool text_int(const char *text, size_t n, int64_t *out)
{
    size_t at = n > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    bool negative = at == 1 && text[0] == '-';
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    uint64_t sum = 0;

    if (at == n) {
        return false;
    }
    for (; at < n; at++) {
        uint64_t digit = (uint64_t)(unsigned char)text[at] - '0';
        if (digit > 9 || sum > (limit - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

/* A number with an optional '%'; bytes used, 0 = none. */
static size_t number_prefix(const char *text, size_t n, double *out)
{
    size_t used = number_parse(text, n, out);

    if (used > 0 && used < n && text[used] == '%') {
        *out /= 100.0;
        used++;
    }
    return used;
}

bool text_float(const char *text, size_t n, double *out)
{
    if (n == 3 && memcmp(text, "inf", 3) == 0) {
        *out = (double)INFINITY;
        return true;
    }
    if (n == 4 && memcmp(text, "-inf", 4) == 0) {
        *out = -(double)INFINITY;
        return true;
    }
    /* A finite text beyond the doubles would silently become infinite. */
    return n > 0 && number_prefix(text, n, out) == n && isfinite(*out);
}

/* Bytes a unit stands for, 0 = unknown: kB is 1000 and KiB 1024 (IEC 80000-13); a letter alone is
 * 1024, as in coreutils, Slurm and container limits, in an option as on the command line. */
static uint64_t size_unit(const char *unit, size_t n)
{
    static const char letters[] = "kmgt";
    uint64_t base = 1024;
    uint64_t bytes = 1;
    const char *letter;

    if (n == 0 || (n == 1 && (unit[0] == 'B' || unit[0] == 'b'))) {
        return 1;
    }
    letter = strchr(letters, unit[0] >= 'A' && unit[0] <= 'Z' ? unit[0] - 'A' + 'a' : unit[0]);
    if (letter == NULL || unit[0] == '\0') {
        return 0;
    }
    unit++;
    n--;
    if (n > 0 && unit[0] == 'i') {
        unit++;
        n--;
    } else if (n > 0) {
        base = 1000;
    }
    if (n > 0 && (unit[0] == 'B' || unit[0] == 'b')) {
        n--;
    }
    if (n > 0) {
        return 0;
    }
    for (const char *k = letters; k <= letter; k++) {
        bytes *= base;
    }
    return bytes;
}

static bool all_digits(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
    }
    return n > 0;
}

/* value[used bytes of text] times unit, where the product must be whole and below 2^63. */
static bool scaled(const char *text, size_t used, double value, uint64_t unit, uint64_t *out)
{
    if (all_digits(text, used)) {
        int64_t whole;
        if (!text_int(text, used, &whole) ||
            (unit > 1 && (uint64_t)whole > (uint64_t)INT64_MAX / unit)) {
            return false;
        }
        *out = (uint64_t)whole * unit;
        return true;
    }
    value *= (double)unit;
    if (!(value >= 0 && value < 9223372036854775808.0) || floor(value) != value) {
        return false;
    }
    *out = (uint64_t)value;
    return true;
}

bool text_size(const char *text, size_t n, uint64_t *out)
{
    double value;
    size_t used = number_parse(text, n, &value);
    size_t at = used;
    uint64_t unit;

    if (used == 0) {
        return false;
    }
    if (at + 1 < n && text[at] == ' ') {
        at++;
    }
    unit = size_unit(text + at, n - at);
    return unit > 0 && scaled(text, used, value, unit, out);
}

static const struct {
    const char *name;
    uint64_t nanoseconds;
} duration_units[] = {
    { "d", 86400000000000u }, { "h", 3600000000000u }, { "m", 60000000000u }, { "s", 1000000000u },
    { "ms", 1000000u },       { "us", 1000u },         { "ns", 1u },
};
#define N_DURATION_UNITS (sizeof duration_units / sizeof duration_units[0])

bool text_duration(const char *text, size_t n, int64_t *nanoseconds)
{
    uint64_t sum = 0;
    size_t at = 0;

    if (n == 0) {
        return false;
    }
    while (at < n) {
        double value;
        size_t used = number_parse(text + at, n - at, &value);
        size_t end = at + used;
        size_t length = 0;
        uint64_t unit = 0;
        uint64_t part;
        if (used == 0) {
            return false;
        }
        while (end + length < n && text[end + length] >= 'a' && text[end + length] <= 'z') {
            length++;
        }
        if (length == 0 && at == 0 && end == n) {
            unit = 1000000000u; /* a bare number: seconds */
        }
        for (size_t i = 0; i < N_DURATION_UNITS; i++) {
            const char *name = duration_units[i].name;
            if (strlen(name) == length && length > 0 && memcmp(name, text + end, length) == 0) {
                unit = duration_units[i].nanoseconds;
            }
        }
        if (unit == 0 || !scaled(text + at, used, value, unit, &part) ||
            part > (uint64_t)INT64_MAX - sum) {
            return false;
        }
        sum += part;
        at = end + length;
    }
    *nanoseconds = (int64_t)sum;
    return true;
}

bool float_to_duration(double seconds, int64_t *nanoseconds)
{
    double value = seconds * 1e9;

    if (!(value >= 0 && value < 9223372036854775808.0)) {
        return false;
    }
    *nanoseconds = (int64_t)rint(value);
    return true;
}

bool text_range(const char *text, size_t n, struct sluice_range *out)
{
    size_t at = number_prefix(text, n, &out->lo);
    size_t used;

    if (at == 0) {
        out->lo = -(double)INFINITY;
    }
    if (n - at < 2 || text[at] != '.' || text[at + 1] != '.') {
        return false;
    }
    at += 2;
    used = number_prefix(text + at, n - at, &out->hi);
    if (used == 0) {
        out->hi = (double)INFINITY;
    }
    /* ".." alone says nothing; "1e999.." is a slip, not an open end. */
    return at + used == n && n > 2 && !(at > 2 && !isfinite(out->lo)) &&
           !(used > 0 && !isfinite(out->hi));
}

/* With the largest unit of a base that leaves a whole number; the text's length. */
static int size_text(uint64_t bytes, uint64_t base, char out[32])
{
    static const char units[] = "kMGT";
    int unit = 0;

    while (unit < 4 && bytes > 0 && bytes % base == 0) {
        bytes /= base;
        unit++;
    }
    if (unit == 0) {
        return snprintf(out, 32, "%llu", (unsigned long long)bytes);
    }
    return snprintf(out, 32, "%llu%c%s", (unsigned long long)bytes,
                    base == 1024 && unit == 1 ? 'K' : units[unit - 1], base == 1024 ? "iB" : "B");
}

void print_size(uint64_t bytes, struct buf *out)
{
    char binary[32];
    char decimal[32];

    buf_puts(out,
             size_text(bytes, 1024, binary) <= size_text(bytes, 1000, decimal) ? binary : decimal);
}

void print_duration(int64_t nanoseconds, struct buf *out)
{
    uint64_t value = (uint64_t)nanoseconds;

    if (nanoseconds <= 0) {
        buf_puts(out, "0s");
        return;
    }
    for (size_t i = 0; i < N_DURATION_UNITS; i++) {
        if (value % duration_units[i].nanoseconds == 0) {
            buf_printf(out, "%llu%s", (unsigned long long)(value / duration_units[i].nanoseconds),
                       duration_units[i].name);
            return;
        }
    }
}

void print_range(struct sluice_range range, struct buf *out)
{
    char number[NUMBER_TEXT_MAX];

    if (isfinite(range.lo)) {
        number_print(range.lo, number);
        buf_puts(out, number);
    }
    buf_puts(out, "..");
    if (isfinite(range.hi)) {
        number_print(range.hi, number);
        buf_puts(out, number);
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void print_item(const char *text, struct buf *out)
{
    size_t n = strlen(text);

    if (n == 0 || strpbrk(text, ",\"=\n") != NULL || is_blank(text[0]) || is_blank(text[n - 1])) {
        buf_json_string(out, text, n);
    } else {
        buf_puts(out, text);
    }
}

/* A JSON string that begins at *at; moves *at behind it. 1, -1 or -2 as text_item. */
static int quoted_item(const char *text, size_t n, size_t *at, struct buf *out)
{
    size_t end = *at + 1;
    struct value value;
    sluice_status status;

    while (end < n && text[end] != '"') {
        end += text[end] == '\\' ? 2 : 1;
    }
    if (end >= n) {
        return -1;
    }
    status = value_parse_json(text + *at, end + 1 - *at, &value, NULL);
    if (status != SLUICE_OK) {
        return status == SLUICE_E_NOMEM ? -2 : -1;
    }
    buf_append(out, value.as.string.data, value.as.string.size);
    value_deinit(&value);
    *at = end + 1;
    return out->failed ? -2 : 1;
}

int text_item(const char *text, size_t n, size_t *at, char stop, struct buf *out)
{
    size_t start;
    size_t end;

    buf_clear(out);
    while (*at < n && is_blank(text[*at])) {
        (*at)++;
    }
    if (*at == n) {
        return 0;
    }
    if (text[*at] == '"') {
        int found = quoted_item(text, n, at, out);
        if (found != 1) {
            return found;
        }
        while (*at < n && is_blank(text[*at])) {
            (*at)++;
        }
        return *at == n || text[*at] == ',' || text[*at] == '\n' || (stop != 0 && text[*at] == stop)
                   ? 1
                   : -1;
    }
    start = *at;
    while (*at < n && text[*at] != ',' && text[*at] != '\n' && (stop == 0 || text[*at] != stop)) {
        (*at)++;
    }
    end = *at;
    while (end > start && is_blank(text[end - 1])) {
        end--;
    }
    buf_append(out, text + start, end - start);
    return out->failed ? -2 : end > start ? 1 : -1;
}

const char *choice_at(const char *choices, size_t k, size_t *n)
{
    const char *at = choices;

    if (choices == NULL) {
        return NULL;
    }
    for (; k > 0; k--) {
        at = strchr(at, '|');
        if (at == NULL) {
            return NULL;
        }
        at++;
    }
    *n = strcspn(at, "|");
    return at;
}

int32_t choice_find(const char *choices, const char *text, size_t n)
{
    const char *choice;
    size_t length;

    for (int32_t k = 0; (choice = choice_at(choices, (size_t)k, &length)) != NULL; k++) {
        if (length == n && memcmp(choice, text, n) == 0) {
            return k;
        }
    }
    return -1;
}
