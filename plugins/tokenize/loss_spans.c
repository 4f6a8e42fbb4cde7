/* Trained spans and tokens: see loss_spans.h. */
#include "loss_spans.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

void loss_spans_deinit(struct loss_spans *loss)
{
    sluice_bytes_free(&loss->spans);
    sluice_bytes_free(&loss->flags);
}

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "loss_spans", "out of memory for the spans of a text");
}

/* Adds a span that begins at or behind the end of the last one; spans that touch are one. */
static sluice_status add(struct loss_spans *loss, uint64_t begin, uint64_t end,
                         struct sluice_error *err)
{
    struct loss_span span = { begin, end };
    struct loss_span last;

    if (begin == end) {
        return SLUICE_OK;
    }
    if (loss->spans.size > 0) {
        memcpy(&last, loss->spans.data + loss->spans.size - sizeof last, sizeof last);
        if (last.end == begin) {
            last.end = end;
            memcpy(loss->spans.data + loss->spans.size - sizeof last, &last, sizeof last);
            return SLUICE_OK;
        }
    }
    return sluice_bytes_add(&loss->spans, &span, sizeof span) ? SLUICE_OK : nomem(err);
}

/* A walk over the text's positions. */
struct cursor {
    const struct loss_text *text;
    uint64_t position; /* in characters or bytes */
    uint64_t byte;
};

static bool is_start(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Moves on to a position, not back; false = it is beyond the text. */
static bool go(struct cursor *at, uint64_t position)
{
    const struct loss_text *text = at->text;

    if (text->bytes) {
        at->byte = at->position = position;
        return position <= text->size;
    }
    while (at->position < position && at->byte < text->size) {
        do {
            at->byte++;
        } while (at->byte < text->size && !is_start(text->data[at->byte]));
        at->position++;
    }
    return at->position == position;
}

static uint64_t length_of(const struct loss_text *text)
{
    uint64_t n = 0;

    for (size_t k = 0; k < text->size; k++) {
        n += text->bytes || is_start(text->data[k]);
    }
    return n;
}

sluice_status loss_spans_all(struct loss_spans *loss, const struct loss_text *text,
                             struct sluice_error *err)
{
    loss->spans.size = 0;
    return add(loss, 0, text->size, err);
}

static sluice_status add_pair(struct loss_spans *loss, struct cursor *at, size_t number,
                              uint64_t begin, uint64_t end, struct sluice_error *err)
{
    const struct loss_text *text = at->text;
    uint64_t before = at->position;
    uint64_t byte;
    char message[300];

    if (begin < before || end < begin) {
        snprintf(message, sizeof message,
                 "span %zu is %" PRIu64 " to %" PRIu64 ", expected a begin from %" PRIu64
                 " on, where the one before ends, and an end not before it",
                 number, begin, end, before);
        return sluice_fail(err, SLUICE_E_DATA, "loss_spans", message);
    }
    if (!go(at, begin) || (byte = at->byte, !go(at, end))) {
        snprintf(message, sizeof message,
                 "span %zu is %" PRIu64 " to %" PRIu64 ", but the text has %" PRIu64
                 " %s; see the option loss_unit",
                 number, begin, end, length_of(text), text->bytes ? "bytes" : "characters");
        return sluice_fail(err, SLUICE_E_DATA, "loss_spans", message);
    }
    return add(loss, byte, at->byte, err);
}

sluice_status loss_spans_pairs(struct loss_spans *loss, const struct loss_text *text,
                               const uint32_t *pairs, size_t n, struct sluice_error *err)
{
    struct cursor at = { .text = text };
    sluice_status status = SLUICE_OK;
    char message[200];

    loss->spans.size = 0;
    if (n % 2 != 0) {
        snprintf(message, sizeof message,
                 "found %zu numbers, expected pairs: the begin and the end of each span", n);
        return sluice_fail(err, SLUICE_E_DATA, "loss_spans", message);
    }
    for (size_t k = 0; status == SLUICE_OK && k < n; k += 2) {
        status = add_pair(loss, &at, k / 2, pairs[k], pairs[k + 1], err);
    }
    return status;
}

sluice_status loss_spans_flags(struct loss_spans *loss, const struct loss_text *text,
                               const uint8_t *flags, size_t n, struct sluice_error *err)
{
    struct cursor at = { .text = text };
    sluice_status status = SLUICE_OK;
    uint64_t expected = length_of(text);
    char message[200];

    loss->spans.size = 0;
    if (n != expected) {
        snprintf(message, sizeof message,
                 "found %zu values for a text of %" PRIu64 " %s, expected one each; see the option "
                 "loss_unit",
                 n, expected, text->bytes ? "bytes" : "characters");
        return sluice_fail(err, SLUICE_E_DATA, "loss_spans", message);
    }
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        uint64_t byte = at.byte;
        if (go(&at, k + 1) && flags[k] != 0) {
            status = add(loss, byte, at.byte, err);
        }
    }
    return status;
}

/* ---- JSON ---- */

static sluice_status json_pairs(struct loss_spans *loss, const struct loss_text *text,
                                const json_t *list, struct sluice_error *err)
{
    struct cursor at = { .text = text };
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < json_array_size(list); k++) {
        const json_t *pair = json_array_get(list, k);
        const json_t *begin = json_array_get(pair, 0);
        const json_t *end = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
            json_integer_value(begin) < 0 || json_integer_value(end) < 0) {
            char message[120];
            snprintf(message, sizeof message,
                     "span %zu is not [begin, end] of two numbers from 0 on", k);
            return sluice_fail(err, SLUICE_E_DATA, "loss_spans", message);
        }
        status = add_pair(loss, &at, k, (uint64_t)json_integer_value(begin),
                          (uint64_t)json_integer_value(end), err);
    }
    return status;
}

static sluice_status json_flags(struct loss_spans *loss, const struct loss_text *text,
                                const json_t *list, struct sluice_error *err)
{
    loss->flags.size = 0;
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *item = json_array_get(list, k);
        bool number = json_is_integer(item) &&
                      (json_integer_value(item) == 0 || json_integer_value(item) == 1);
        uint8_t flag = json_is_true(item) || (number && json_integer_value(item) == 1);
        if (!number && !json_is_boolean(item)) {
            char message[120];
            snprintf(message, sizeof message,
                     "item %zu is neither [begin, end] nor one of 0, 1, false, true", k);
            return sluice_fail(err, SLUICE_E_DATA, "loss_spans", message);
        }
        if (!sluice_bytes_add(&loss->flags, &flag, 1)) {
            return nomem(err);
        }
    }
    return loss_spans_flags(loss, text, (const uint8_t *)loss->flags.data, (size_t)loss->flags.size,
                            err);
}

sluice_status loss_spans_json(struct loss_spans *loss, const struct loss_text *text,
                              const char *json, size_t n, struct sluice_error *err)
{
    json_error_t problem;
    json_t *value = json_loadb(json, n, JSON_DECODE_ANY, &problem);
    sluice_status status;

    loss->spans.size = 0;
    if (value == NULL) {
        return json_error_code(&problem) == json_error_out_of_memory
                   ? nomem(err)
                   : sluice_fail(err, SLUICE_E_DATA, "loss_spans", problem.text);
    }
    if (json_is_null(value)) {
        status = loss_spans_all(loss, text, err);
    } else if (!json_is_array(value)) {
        status = sluice_fail(err, SLUICE_E_DATA, "loss_spans",
                             "found JSON that is no array, expected [[begin, end], ...] or a value "
                             "for each character");
    } else if (json_array_size(value) == 0 || json_is_array(json_array_get(value, 0))) {
        status = json_pairs(loss, text, value, err);
    } else {
        status = json_flags(loss, text, value, err);
    }
    json_decref(value);
    return status;
}

/* ---- tokens ---- */

void loss_spans_tokens(const struct loss_spans *loss, const struct loss_text *text,
                       enum loss_rule rule, const uint64_t *offsets, size_t n, uint8_t *out)
{
    const struct loss_span *spans = (const struct loss_span *)(const void *)loss->spans.data;
    size_t n_spans = (size_t)(loss->spans.size / sizeof *spans);
    size_t at = 0;

    for (size_t k = 0; k < n; k++) {
        uint64_t begin = offsets[k];
        uint64_t end = k + 1 < n ? offsets[k + 1] : text->size;
        /* The first span that ends behind the token's first byte. */
        while (at < n_spans && spans[at].end <= begin) {
            at++;
        }
        if (at == n_spans) {
            out[k] = 0;
        } else if (spans[at].begin <= begin) {
            out[k] = rule != LOSS_ALL || end <= spans[at].end;
        } else {
            out[k] = rule == LOSS_ANY && spans[at].begin < end;
        }
    }
}

bool loss_spans_end(const struct loss_spans *loss, const struct loss_text *text)
{
    struct loss_span last;

    if (loss->spans.size == 0) {
        return false;
    }
    memcpy(&last, loss->spans.data + loss->spans.size - sizeof last, sizeof last);
    return last.end == text->size;
}
