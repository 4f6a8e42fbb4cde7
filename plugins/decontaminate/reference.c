/* The benchmark items of a reference: JSON lines with a question, an answer and a passage. See
 * decont.h. */
#include <stdio.h>

#include "decont.h"

void decont_reference_deinit(struct decont_reference *reference)
{
    for (size_t i = 0; i < reference->n; i++) {
        free(reference->items[i].id);
        free(reference->items[i].task);
        for (int k = 0; k < PARTS; k++) {
            text_buffer_deinit(&reference->items[i].parts[k]);
        }
    }
    free(reference->items);
    *reference = (struct decont_reference){ 0 };
}

static sluice_status bad_line(const struct decont_options *options, size_t line, const char *field,
                              const char *found, struct sluice_error *err)
{
    char message[600];

    (void)snprintf(message, sizeof message,
                   "%.200s, line %zu: %.120s; expected a JSON object a line "
                   "with texts in '%.60s', '%.60s' or '%.60s'",
                   options->reference, line, found, options->question, options->answer,
                   options->passage);
    return sluice_fail(err, SLUICE_E_CONFIG, field, message);
}

/* A string, or a number as JSON writes it; NULL: neither. Gives. */
static char *text_of(const json_t *value, size_t *n)
{
    char *text = NULL;

    *n = 0;
    if (json_is_string(value)) {
        *n = json_string_length(value);
        text = malloc(*n + 1);
        if (text != NULL) {
            memcpy(text, json_string_value(value), *n);
            text[*n] = '\0';
        }
    } else if (json_is_number(value)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        *n = text == NULL ? 0 : strlen(text);
    }
    return text;
}

/* One item: question, passage, and one answer (NULL: none). */
static sluice_status add_item(const struct decont_options *options,
                              struct decont_reference *reference, const json_t *object,
                              const json_t *answer, size_t line, struct sluice_error *err)
{
    const json_t *values[PARTS] = { json_object_get(object, options->question), answer,
                                    json_object_get(object, options->passage) };
    const char *names[PARTS] = { options->question, options->answer, options->passage };
    struct decont_item *item;
    size_t n;

    if (reference->n == reference->capacity) {
        size_t capacity = reference->capacity * 2 + 64;
        struct decont_item *items = realloc(reference->items, capacity * sizeof *items);
        if (items == NULL) {
            return sluice_nomem(err);
        }
        reference->items = items;
        reference->capacity = capacity;
    }
    item = &reference->items[reference->n++];
    *item = (struct decont_item){ 0 };
    item->task = text_of(json_object_get(object, options->task), &n);
    item->id = text_of(json_object_get(object, options->id), &n);
    if (item->task == NULL) {
        item->task = malloc(10);
        if (item->task != NULL) {
            memcpy(item->task, "reference", 10);
        }
    }
    if (item->id == NULL && item->task != NULL) {
        size_t size = strlen(item->task) + 24;
        item->id = malloc(size);
        if (item->id != NULL) {
            (void)snprintf(item->id, size, "%s:%zu", item->task, line);
        }
    }
    if (item->task == NULL || item->id == NULL) {
        return sluice_nomem(err);
    }
    for (int k = 0; k < PARTS; k++) {
        char *text;
        sluice_status status;
        if (values[k] == NULL || json_is_null(values[k])) {
            continue;
        }
        text = text_of(values[k], &n);
        if (text == NULL) {
            return json_is_string(values[k]) || json_is_number(values[k])
                       ? sluice_nomem(err)
                       : bad_line(options, line, names[k], "a field holds no text", err);
        }
        status = text_buffer_append(&item->parts[k], text, n, err);
        free(text);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status add_line(const struct decont_options *options,
                              struct decont_reference *reference, const json_t *object, size_t line,
                              struct sluice_error *err)
{
    const json_t *answer = json_object_get(object, options->answer);
    sluice_status status = SLUICE_OK;

    if (answer == NULL && json_object_get(object, options->question) == NULL &&
        json_object_get(object, options->passage) == NULL) {
        return bad_line(options, line, "question", "none of the fields is there", err);
    }
    if (!json_is_array(answer)) {
        return add_item(options, reference, object, answer, line, err);
    }
    if (json_array_size(answer) == 0) {
        return add_item(options, reference, object, NULL, line, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(answer); i++) {
        status = add_item(options, reference, object, json_array_get(answer, i), line, err);
    }
    return status;
}

sluice_status decont_reference_read(const struct decont_options *options, const char *data,
                                    size_t size, struct decont_reference *out,
                                    struct sluice_error *err)
{
    size_t line = 0;

    *out = (struct decont_reference){ 0 };
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(data + at, '\n', size - at);
        size_t end = newline == NULL ? size : (size_t)(newline - data);
        size_t begin = at;
        json_error_t problem;
        json_t *object;
        sluice_status status;
        at = end + 1;
        line++;
        while (begin < end && (data[begin] == ' ' || data[begin] == '\t' || data[begin] == '\r')) {
            begin++;
        }
        if (begin == end) {
            continue;
        }
        object = json_loadb(data + begin, end - begin, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                            &problem);
        if (object == NULL || !json_is_object(object)) {
            json_decref(object);
            return object == NULL && json_error_code(&problem) == json_error_out_of_memory
                       ? sluice_nomem(err)
                       : bad_line(options, line, "reference",
                                  object == NULL ? problem.text : "no JSON object", err);
        }
        status = add_line(options, out, object, line, err);
        json_decref(object);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (out->n == 0) {
        return bad_line(options, 1, "reference", "the file holds no items", err);
    }
    return SLUICE_OK;
}
