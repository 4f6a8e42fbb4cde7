/* Rules on values: see contract.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "contract.h"

#include <jansson.h>
#include <math.h>
#include <pcre2.h>
#include <stdio.h>

#include <sluice_stage.h>

#define MATCH_LIMIT 1000000u /* steps of an expression in one text */

const char *contract_reason(enum contract_kind kind)
{
    static const char *const names[] = { "contract_null",  "contract_range",   "contract_length",
                                         "contract_regex", "contract_allowed", "contract_extra" };

    return names[kind - CONTRACT_NULL];
}

static sluice_status wrong(const struct contract_rule *rule, const char *option,
                           const char *expected, struct sluice_error *err)
{
    char message[500];

    (void)snprintf(message, sizeof message, "%s of '%.80s': found %.150s, expected %s", option,
                   rule->column, rule->asked, expected);
    return sluice_fail(err, SLUICE_E_CONFIG, option, message);
}

static bool is_number(struct cast_type type)
{
    return type.kind == CAST_INT || type.kind == CAST_UINT || type.kind == CAST_FLOAT;
}

/* ---- ranges ---- */

/* One end of a range, "" being open. */
static bool read_end(const char *text, long double open, long double *end)
{
    char *rest;

    if (text[0] == '\0') {
        *end = open;
        return true;
    }
    if (strspn(text, "0123456789+-.eE") != strlen(text)) {
        return false;
    }
    *end = strtold(text, &rest);
    return *rest == '\0';
}

static sluice_status read_range(struct contract_rule *rule, struct sluice_error *err)
{
    bool length = rule->kind == CONTRACT_LENGTH;
    const char *option = length ? "length" : "range";
    const char *dots = strstr(rule->asked, "..");
    size_t n = strlen(rule->asked);

    if (dots == NULL) {
        return wrong(rule, option, "LOW..HIGH, LOW.. or ..HIGH", err);
    }
    rule->ends = malloc(n + 1);
    if (rule->ends == NULL) {
        return sluice_nomem(err);
    }
    memcpy(rule->ends, rule->asked, n + 1);
    rule->ends[dots - rule->asked] = '\0';
    rule->low = rule->ends;
    rule->high = rule->ends + (dots - rule->asked) + 2;
    if (!length && rule->type.kind == CAST_TEXT) {
        return rule->high[0] != '\0' && strcmp(rule->low, rule->high) > 0
                   ? wrong(rule, option, "the smaller end first", err)
                   : SLUICE_OK;
    }
    if (length ? rule->type.kind != CAST_TEXT : !is_number(rule->type)) {
        return wrong(rule, option, length ? "a text column" : "a column of numbers or texts", err);
    }
    if (!read_end(rule->low, -INFINITY, &rule->lo) || !read_end(rule->high, INFINITY, &rule->hi)) {
        return wrong(rule, option, "two numbers with .. between them", err);
    }
    return rule->lo > rule->hi ? wrong(rule, option, "the smaller end first", err) : SLUICE_OK;
}

static int compare_texts(const char *a, size_t n_a, const char *b, size_t n_b)
{
    int order = memcmp(a, b, n_a < n_b ? n_a : n_b);

    return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

static long double number_of(const struct cast_value *value)
{
    long double magnitude = (long double)value->magnitude;

    return value->is == VALUE_REAL      ? (long double)value->real
           : value->is == VALUE_BOOLEAN ? (long double)value->truth
           : value->negative            ? -magnitude
                                        : magnitude;
}

static bool in_range(const struct contract_rule *rule, const struct cast_value *value)
{
    long double number;

    if (value->is == VALUE_TEXT) {
        return compare_texts(value->text, value->n, rule->low, strlen(rule->low)) >= 0 &&
               (rule->high[0] == '\0' ||
                compare_texts(value->text, value->n, rule->high, strlen(rule->high)) <= 0);
    }
    number = number_of(value);
    return number >= rule->lo && number <= rule->hi; /* nan is in none */
}

static bool in_length(const struct contract_rule *rule, const struct cast_value *value)
{
    long double n = 0;

    for (size_t i = 0; i < value->n; i++) {
        n += ((unsigned char)value->text[i] & 0xc0) != 0x80;
    }
    return n >= rule->lo && n <= rule->hi;
}

/* ---- allowed values ---- */

static int compare_values(const void *a, const void *b)
{
    const struct cast_value *left = a;
    const struct cast_value *right = b;
    long double x, y;

    if (left->is == VALUE_TEXT || right->is == VALUE_TEXT) {
        return left->is != right->is ? (left->is == VALUE_TEXT) - (right->is == VALUE_TEXT)
                                     : compare_texts(left->text, left->n, right->text, right->n);
    }
    x = number_of(left);
    y = number_of(right);
    return (x > y) - (x < y);
}

/* A value of JSON as one of a column; the text is copied. false: of another kind, or no memory. */
static bool take_json(const json_t *json, struct cast_type type, struct cast_value *out)
{
    memset(out, 0, sizeof *out);
    if (json_is_string(json)) {
        out->is = VALUE_TEXT;
        out->n = json_string_length(json);
        out->own = malloc(out->n + 1);
        if (out->own == NULL || type.kind != CAST_TEXT) {
            free(out->own);
            return false;
        }
        memcpy(out->own, json_string_value(json), out->n + 1);
        out->text = out->own;
        return true;
    }
    if (json_is_integer(json)) {
        json_int_t number = json_integer_value(json);
        out->is = VALUE_WHOLE;
        out->negative = number < 0;
        out->magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
        return is_number(type);
    }
    if (json_is_real(json)) {
        out->is = VALUE_REAL;
        out->real = json_real_value(json);
        return is_number(type);
    }
    out->is = VALUE_BOOLEAN;
    out->truth = json_is_true(json);
    return json_is_boolean(json) && type.kind == CAST_BOOL;
}

static sluice_status read_allowed(struct contract_rule *rule, struct sluice_error *err)
{
    json_t *list = json_loads(rule->asked, 0, NULL);
    sluice_status status = SLUICE_OK;

    if (!json_is_array(list) || json_array_size(list) == 0) {
        status = wrong(rule, "allowed", "a list of values", err);
    } else {
        rule->allowed = calloc(json_array_size(list), sizeof *rule->allowed);
        status = rule->allowed == NULL ? sluice_nomem(err) : SLUICE_OK;
    }
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(list); i++) {
        if (!take_json(json_array_get(list, i), rule->type, &rule->allowed[rule->n_allowed])) {
            status = wrong(rule, "allowed", "values of the column's type", err);
        } else {
            rule->n_allowed++;
        }
    }
    json_decref(list);
    if (status == SLUICE_OK) {
        qsort(rule->allowed, rule->n_allowed, sizeof *rule->allowed, compare_values);
    }
    return status;
}

/* ---- regular expressions ---- */

static sluice_status read_regex(struct contract_rule *rule, struct sluice_error *err)
{
    pcre2_compile_context *context;
    int code = 0;
    PCRE2_SIZE at = 0;
    char expected[400];
    PCRE2_UCHAR reason[256] = "";

    if (rule->type.kind != CAST_TEXT) {
        return wrong(rule, "regex", "a text column", err);
    }
    context = pcre2_compile_context_create(NULL);
    if (context == NULL) {
        return sluice_nomem(err);
    }
    /* As a build of PCRE2 has it would be another rule on another machine; so would be the limits
     * of its just-in-time compiler, where there is one. */
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    rule->code =
        pcre2_compile((PCRE2_SPTR)rule->asked, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, context);
    pcre2_compile_context_free(context);
    if (rule->code != NULL) {
        return SLUICE_OK;
    }
    (void)pcre2_get_error_message(code, reason, sizeof reason);
    (void)snprintf(expected, sizeof expected, "an expression in PCRE2's syntax: %s at byte %zu",
                   (char *)reason, (size_t)at);
    return wrong(rule, "regex", expected, err);
}

sluice_status contract_matcher_init(struct contract_matcher *matcher, struct sluice_error *err)
{
    matcher->data = pcre2_match_data_create(1, NULL);
    matcher->context = pcre2_match_context_create(NULL);
    if (matcher->data == NULL || matcher->context == NULL) {
        contract_matcher_deinit(matcher);
        return sluice_nomem(err);
    }
    (void)pcre2_set_match_limit(matcher->context, MATCH_LIMIT);
    return SLUICE_OK;
}

void contract_matcher_deinit(struct contract_matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
}

/* ---- rules ---- */

sluice_status contract_rule_read(struct contract_rule *rule, struct sluice_error *err)
{
    switch (rule->kind) {
    case CONTRACT_RANGE:
    case CONTRACT_LENGTH:
        return read_range(rule, err);
    case CONTRACT_REGEX:
        return read_regex(rule, err);
    case CONTRACT_ALLOWED:
        return read_allowed(rule, err);
    case CONTRACT_NULL:
    case CONTRACT_EXTRA:
        break;
    }
    return SLUICE_OK;
}

void contract_rule_deinit(struct contract_rule *rule)
{
    for (size_t i = 0; i < rule->n_allowed; i++) {
        free(rule->allowed[i].own);
    }
    free(rule->allowed);
    free(rule->ends);
    pcre2_code_free(rule->code);
}

bool contract_rule_kept(const struct contract_rule *rule, const struct contract_matcher *matcher,
                        const struct cast_value *value, bool *limit)
{
    int found;

    *limit = false;
    switch (rule->kind) {
    case CONTRACT_RANGE:
        return in_range(rule, value);
    case CONTRACT_LENGTH:
        return in_length(rule, value);
    case CONTRACT_ALLOWED:
        return bsearch(value, rule->allowed, rule->n_allowed, sizeof *rule->allowed,
                       compare_values) != NULL;
    case CONTRACT_REGEX:
        found = pcre2_match(rule->code, (PCRE2_SPTR)value->text, value->n, 0, PCRE2_NO_UTF_CHECK,
                            matcher->data, matcher->context);
        *limit = found < 0 && found != PCRE2_ERROR_NOMATCH;
        return found >= 0;
    case CONTRACT_NULL:
    case CONTRACT_EXTRA:
        break;
    }
    return true;
}

void contract_show(const struct cast_value *value, char shown[80])
{
    int n;

    switch (value->is) {
    case VALUE_TEXT:
        n = (int)(value->n < 40 ? value->n : 40);
        while (n > 0 && n < (int)value->n && ((unsigned char)value->text[n] & 0xc0) == 0x80) {
            n--;
        }
        (void)snprintf(shown, 80, "\"%.*s%s\"", n, value->text, value->n > 40 ? "…" : "");
        break;
    case VALUE_REAL:
        (void)snprintf(shown, 80, "%.17g", value->real);
        break;
    case VALUE_WHOLE:
        (void)snprintf(shown, 80, "%s%llu", value->negative ? "-" : "",
                       (unsigned long long)value->magnitude);
        break;
    case VALUE_BOOLEAN:
        (void)snprintf(shown, 80, "%s", value->truth ? "true" : "false");
        break;
    case VALUE_NONE:
        (void)snprintf(shown, 80, "null");
        break;
    }
}
