/* Growable byte buffers: see buf.h. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *buf)
{
    memset(buf, 0, sizeof *buf);
}

void buf_deinit(struct buf *buf)
{
    free(buf->data);
    memset(buf, 0, sizeof *buf);
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
}

bool buf_reserve(struct buf *buf, size_t extra)
{
    size_t need;
    size_t capacity;
    char *data;

    if (buf->failed || extra > SIZE_MAX / 2 - buf->size) {
        buf->failed = true;
        return false;
    }
    need = buf->size + extra + 1;
    if (need <= buf->capacity) {
        return true;
    }
    capacity = buf->capacity < 64 ? 64 : buf->capacity;
    while (capacity < need) {
        capacity += capacity / 2;
    }
    data = realloc(buf->data, capacity);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void buf_append(struct buf *buf, const void *data, size_t n)
{
    if (n > 0 && buf_reserve(buf, n)) {
        memcpy(buf->data + buf->size, data, n);
        buf->size += n;
    }
}

void buf_puts(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_putc(struct buf *buf, char c)
{
    buf_append(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        buf->failed = true;
        return;
    }
    if (buf_reserve(buf, (size_t)n)) {
        va_start(args, format);
        vsnprintf(buf->data + buf->size, (size_t)n + 1, format, args);
        va_end(args);
        buf->size += (size_t)n;
    }
}

void buf_markup(struct buf *buf, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (text[i]) {
        case '<':
            buf_puts(buf, "&lt;");
            break;
        case '>':
            buf_puts(buf, "&gt;");
            break;
        case '&':
            buf_puts(buf, "&amp;");
            break;
        case '"':
            buf_puts(buf, "&quot;");
            break;
        default:
            buf_putc(buf, text[i]);
            break;
        }
    }
}

void buf_json_string(struct buf *buf, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    size_t start = 0;

    if (!buf_reserve(buf, n + 2)) {
        return;
    }
    buf_putc(buf, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        buf_append(buf, text + start, i - start);
        start = i + 1;
        switch (c) {
        case '"':
            buf_append(buf, "\\\"", 2);
            break;
        case '\\':
            buf_append(buf, "\\\\", 2);
            break;
        case '\n':
            buf_append(buf, "\\n", 2);
            break;
        case '\r':
            buf_append(buf, "\\r", 2);
            break;
        case '\t':
            buf_append(buf, "\\t", 2);
            break;
        case '\b':
            buf_append(buf, "\\b", 2);
            break;
        case '\f':
            buf_append(buf, "\\f", 2);
            break;
        default: {
            char escape[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
            buf_append(buf, escape, sizeof escape);
            break;
        }
        }
    }
    buf_append(buf, text + start, n - start);
    buf_putc(buf, '"');
}

const char *buf_str(struct buf *buf)
{
    if (buf->failed || !buf_reserve(buf, 0)) {
        return "";
    }
    buf->data[buf->size] = '\0';
    return buf->data;
}

char *buf_take(struct buf *buf)
{
    char *data = NULL;

    if (!buf->failed && buf_reserve(buf, 0)) {
        buf->data[buf->size] = '\0';
        data = buf->data;
        buf->data = NULL;
    }
    buf_deinit(buf);
    return data;
}

sluice_status buf_status(const struct buf *buf, struct sluice_error *err)
{
    return buf->failed ? error_nomem(err, "a text buffer") : SLUICE_OK;
}

char *str_printf(const char *format, ...)
{
    va_list args;
    int n;
    char *text;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        return NULL;
    }
    text = malloc((size_t)n + 1);
    if (text != NULL) {
        va_start(args, format);
        vsnprintf(text, (size_t)n + 1, format, args);
        va_end(args);
    }
    return text;
}

char *str_copy(const char *text, size_t n)
{
    char *copy = malloc(n + 1);

    if (copy != NULL) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}
