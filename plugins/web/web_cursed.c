/* web_cursed.c - see web_cursed.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "web_cursed.h"

#include <sluice_arrays.h>

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct web_cursed {
    struct text_span *literals; /* in data */
    const char *data;
    size_t n_literals;
    pcre2_code **regexes;
    size_t n_regexes;
};

struct web_cursed_matcher {
    pcre2_match_data *match;
};

static int32_t no_memory(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "cursed", "out of memory");
}

static int32_t fail_at(size_t line, const char *what, struct sluice_error *err)
{
    char message[400];

    snprintf(message, sizeof message, "line %zu of the list %s", line, what);
    return sluice_fail(err, SLUICE_E_CONFIG, "cursed", message);
}

/* Lines end in \n or \r\n; the last may lack it. */
static int32_t lines_split(const char *data, size_t size, struct text_spans *lines,
                           struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    for (size_t at = 0; status == SLUICE_OK && at < size;) {
        const char *feed = memchr(data + at, '\n', size - at);
        size_t next = feed != NULL ? (size_t)(feed - data) + 1 : size;
        size_t end = feed != NULL ? next - 1 : size;
        end -= feed != NULL && end > at && data[end - 1] == '\r';
        if (end == at) {
            return fail_at(lines->count + 1, "is empty, and would be found everywhere; remove it",
                           err);
        }
        status = text_spans_push(lines, (uint32_t)at, (uint32_t)end, err);
        at = next;
    }
    return status;
}

static int32_t regex_compile(const char *pattern, size_t len, size_t line, pcre2_code **code,
                             struct sluice_error *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    int failure;
    PCRE2_SIZE at;

    if (context == NULL) {
        return no_memory(err);
    }
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    *code = pcre2_compile((PCRE2_SPTR)pattern, len,
                          PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_UTF_CHECK,
                          &failure, &at, context);
    pcre2_compile_context_free(context);
    if (*code == NULL) {
        PCRE2_UCHAR reason[128] = "";
        char message[300];
        (void)pcre2_get_error_message(failure, reason, sizeof reason);
        snprintf(message, sizeof message, "is no regular expression: %s at offset %zu",
                 (const char *)reason, (size_t)at);
        return fail_at(line, message, err);
    }
    (void)pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE);
    return SLUICE_OK;
}

int32_t web_cursed_open(const char *data, size_t size, size_t n_regexes, struct web_cursed **out,
                        struct sluice_error *err)
{
    struct web_cursed *cursed = calloc(1, sizeof *cursed);
    struct text_spans lines = { 0 };
    int32_t status = cursed == NULL ? no_memory(err) : SLUICE_OK;
    size_t bad;

    if (status == SLUICE_OK && !text_utf8_valid(data, size, &bad)) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "cursed", "the list is not UTF-8");
    }
    if (status == SLUICE_OK) {
        status = lines_split(data, size, &lines, err);
    }
    if (status == SLUICE_OK && lines.count < n_regexes) {
        char message[200];
        snprintf(message, sizeof message,
                 "the list has %zu lines, of which the last %zu should be regular expressions "
                 "(cursed_regexes)",
                 lines.count, n_regexes);
        status = sluice_fail(err, SLUICE_E_CONFIG, "cursed", message);
    }
    if (status == SLUICE_OK) {
        cursed->data = data;
        cursed->literals = lines.data;
        cursed->n_literals = lines.count - n_regexes;
        cursed->regexes = calloc(n_regexes + 1, sizeof *cursed->regexes);
        status = cursed->regexes == NULL ? no_memory(err) : SLUICE_OK;
        for (size_t i = 0; status == SLUICE_OK && i < n_regexes; i++) {
            struct text_span line = lines.data[cursed->n_literals + i];
            status = regex_compile(data + line.begin, line.end - line.begin,
                                   cursed->n_literals + i + 1, &cursed->regexes[i], err);
            cursed->n_regexes += status == SLUICE_OK;
        }
    } else {
        text_spans_deinit(&lines);
    }
    if (status == SLUICE_OK) {
        *out = cursed;
    } else if (cursed != NULL) {
        web_cursed_close(cursed);
    }
    return status;
}

void web_cursed_close(struct web_cursed *cursed)
{
    for (size_t i = 0; i < cursed->n_regexes; i++) {
        pcre2_code_free(cursed->regexes[i]);
    }
    free(cursed->regexes);
    free(cursed->literals);
    free(cursed);
}

int32_t web_cursed_matcher_open(const struct web_cursed *cursed, struct web_cursed_matcher **out,
                                struct sluice_error *err)
{
    struct web_cursed_matcher *matcher = calloc(1, sizeof *matcher);

    (void)cursed;
    if (matcher != NULL) {
        matcher->match = pcre2_match_data_create(1, NULL);
    }
    if (matcher == NULL || matcher->match == NULL) {
        free(matcher);
        return no_memory(err);
    }
    *out = matcher;
    return SLUICE_OK;
}

void web_cursed_matcher_close(struct web_cursed_matcher *matcher)
{
    pcre2_match_data_free(matcher->match);
    free(matcher);
}

/* Marks the sentences that hold the literal whole. Occurrences are looked for one by one: they may
 * overlap. */
static void literal_find(const char *text, size_t len, const char *literal, size_t n,
                         const struct text_span *sentences, size_t count, bool *hits)
{
    size_t sentence = 0;

    for (size_t at = text_find(text, len, 0, literal, n); at < len && sentence < count;
         at = text_find(text, len, at + 1, literal, n)) {
        while (sentence < count && sentences[sentence].end < at + n) {
            sentence++;
        }
        if (sentence < count && sentences[sentence].begin <= at) {
            hits[sentence++] = true;
            if (sentence < count && at + 1 < sentences[sentence].begin) {
                at = sentences[sentence].begin - 1;
            }
        }
    }
}

int32_t web_cursed_find(const struct web_cursed *cursed, struct web_cursed_matcher *matcher,
                        const char *text, size_t len, const struct text_span *sentences, size_t n,
                        bool *hits, struct sluice_error *err)
{
    for (size_t i = 0; i < cursed->n_literals; i++) {
        struct text_span literal = cursed->literals[i];
        literal_find(text, len, cursed->data + literal.begin, literal.end - literal.begin,
                     sentences, n, hits);
    }
    for (size_t i = 0; i < cursed->n_regexes; i++) {
        for (size_t k = 0; k < n; k++) {
            int rc = hits[k]
                         ? 0
                         : pcre2_match(cursed->regexes[i], (PCRE2_SPTR)text + sentences[k].begin,
                                       sentences[k].end - sentences[k].begin, 0, PCRE2_NO_UTF_CHECK,
                                       matcher->match, NULL);
            if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
                return sluice_fail(err, rc == PCRE2_ERROR_NOMEMORY ? SLUICE_E_NOMEM : SLUICE_E_DATA,
                                   "cursed",
                                   "a regular expression of the list gave up on a sentence");
            }
            hits[k] = hits[k] || rc >= 0;
        }
    }
    return SLUICE_OK;
}
