/* text_span.c — growable span lists and byte buffers. See text_span.h, text_buffer.h. */
#include "text/text_span.h"

#include "text/text_buffer.h"
#include "text/text_error.h"

#include <stdlib.h>
#include <string.h>

/* Grows an array of `size`-byte elements to hold count + more; at least half as much again. */
static int32_t grow(void **data, size_t *capacity, size_t count, size_t more, size_t size,
                    struct sluice_error *err)
{
    size_t limit = SIZE_MAX / 2 / size;
    if (more > limit || count > limit - more) {
        return text_error_nomem(err, SIZE_MAX);
    }
    size_t want = count + more;
    size_t roomy = *capacity + *capacity / 2 + 64;
    if (roomy > want && roomy <= limit) {
        want = roomy;
    }
    void *moved = realloc(*data, want * size);
    if (moved == NULL) {
        return text_error_nomem(err, want * size);
    }
    *data = moved;
    *capacity = want;
    return SLUICE_OK;
}

void text_spans_init(struct text_spans *spans)
{
    *spans = (struct text_spans){ 0 };
}

void text_spans_deinit(struct text_spans *spans)
{
    free(spans->data);
    text_spans_init(spans);
}

int32_t text_spans_reserve(struct text_spans *spans, size_t more, struct sluice_error *err)
{
    if (more <= spans->capacity - spans->count) {
        return SLUICE_OK;
    }
    void *data = spans->data;
    int32_t status = grow(&data, &spans->capacity, spans->count, more, sizeof *spans->data, err);
    spans->data = data;
    return status;
}

int32_t text_spans_push(struct text_spans *spans, uint32_t begin, uint32_t end,
                        struct sluice_error *err)
{
    if (spans->count == spans->capacity) {
        int32_t status = text_spans_reserve(spans, 1, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    spans->data[spans->count++] = (struct text_span){ begin, end };
    return SLUICE_OK;
}

void text_buffer_init(struct text_buffer *buffer)
{
    *buffer = (struct text_buffer){ 0 };
}

void text_buffer_deinit(struct text_buffer *buffer)
{
    free(buffer->data);
    text_buffer_init(buffer);
}

int32_t text_buffer_reserve(struct text_buffer *buffer, size_t more, struct sluice_error *err)
{
    if (more <= buffer->capacity - buffer->len) {
        return SLUICE_OK;
    }
    void *data = buffer->data;
    int32_t status = grow(&data, &buffer->capacity, buffer->len, more, 1, err);
    buffer->data = data;
    return status;
}

int32_t text_buffer_append(struct text_buffer *buffer, const char *bytes, size_t len,
                           struct sluice_error *err)
{
    int32_t status = text_buffer_reserve(buffer, len, err);
    if (status == SLUICE_OK && len > 0) {
        memcpy(buffer->data + buffer->len, bytes, len);
        buffer->len += len;
    }
    return status;
}
