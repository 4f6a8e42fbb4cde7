/* Values in bytes: see wire.h. Both ends are processes of one machine, so numbers are as they
 * lie in memory. */
#include "isolate/wire.h"

#include <string.h>

void wire_put(struct buf *out, uint64_t value)
{
    buf_append(out, &value, sizeof value);
}

void wire_put_float(struct buf *out, double value)
{
    buf_append(out, &value, sizeof value);
}

void wire_put_bytes(struct buf *out, const void *data, size_t n)
{
    wire_put(out, n);
    if (n > 0) {
        buf_append(out, data, n);
    }
}

/* The length plus one (0 = NULL), the bytes, a NUL. */
void wire_put_text(struct buf *out, const char *text)
{
    size_t n = text == NULL ? 0 : strlen(text) + 1;

    wire_put_bytes(out, text, n);
}

struct wire wire_begin(const void *data, size_t n)
{
    return (struct wire){ .at = data, .left = n };
}

static const char *take(struct wire *wire, uint64_t n)
{
    const char *at = wire->at;

    if (wire->failed || n > wire->left) {
        wire->failed = true;
        return NULL;
    }
    wire->at += n;
    wire->left -= (size_t)n;
    return at;
}

uint64_t wire_get(struct wire *wire)
{
    uint64_t value = 0;
    const char *at = take(wire, sizeof value);

    if (at != NULL) {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

uint64_t wire_get_below(struct wire *wire, uint64_t limit)
{
    uint64_t value = wire_get(wire);

    if (value > limit) {
        wire->failed = true;
        return 0;
    }
    return value;
}

double wire_get_float(struct wire *wire)
{
    double value = 0;
    const char *at = take(wire, sizeof value);

    if (at != NULL) {
        memcpy(&value, at, sizeof value);
    }
    return value;
}

const void *wire_get_bytes(struct wire *wire, size_t *n)
{
    uint64_t size = wire_get(wire);
    const char *at = take(wire, size);

    *n = at == NULL ? 0 : (size_t)size;
    return at;
}

const char *wire_get_text(struct wire *wire)
{
    size_t n;
    const char *text = wire_get_bytes(wire, &n);

    if (n == 0) {
        return NULL;
    }
    if (memchr(text, '\0', n) != text + n - 1) {
        wire->failed = true;
        return NULL;
    }
    return text;
}

void wire_put_error(struct buf *out, const struct sluice_error *err)
{
    wire_put(out, (uint32_t)err->code);
    wire_put(out, (uint64_t)err->row);
    wire_put_text(out, err->field);
    wire_put_text(out, err->message);
}

static void copy_text(char *to, size_t size, const char *text)
{
    size_t n = text == NULL ? 0 : strlen(text);

    n = n < size ? n : size - 1;
    if (n > 0) {
        memcpy(to, text, n);
    }
    to[n] = '\0';
}

void wire_get_error(struct wire *wire, struct sluice_error *err)
{
    err->size = sizeof *err;
    err->code = (int32_t)(uint32_t)wire_get(wire);
    err->row = (int64_t)wire_get(wire);
    copy_text(err->field, sizeof err->field, wire_get_text(wire));
    copy_text(err->message, sizeof err->message, wire_get_text(wire));
}

bool wire_end(const struct wire *wire)
{
    return !wire->failed && wire->left == 0;
}
