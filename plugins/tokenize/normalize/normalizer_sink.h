/* normalizer_sink.h — where a normalization step writes its text, and which of it stems from the
 * document's first character.
 *
 * Owns: struct normalizer_sink, caller's memory. Depends on: normalizer_unicode.h.
 * Promises: `head_out` is tokenizers' answer. Its NormalizedString remembers for each byte where in
 * the original it came from; all that ever is asked of this is whether a piece begins with the
 * original's first character (Metaspace's prepend_scheme "first"), and these bytes are always at
 * the front, so that their number is enough. */
#ifndef TOKENIZE_NORMALIZER_SINK_H
#define TOKENIZE_NORMALIZER_SINK_H

#include <stdlib.h>
#include <string.h>

#include "normalize/normalizer_unicode.h"
#include "split/pretoken_unicode.h"

struct normalizer_sink {
    char *data;
    size_t len, cap;
    int failed; /* out of memory: nothing more is written */
    /* the input, for the bookkeeping */
    const uint8_t *in, *in_end;
    size_t head_in, head_out;
    size_t at; /* sink_change: the input byte that the next change applies to */
};

/* Begins a step; keeps the buffer. */
static inline void sink_begin(struct normalizer_sink *sink, const char *text, size_t len,
                              size_t head)
{
    sink->len = 0;
    sink->failed = 0;
    sink->in = (const uint8_t *)text;
    sink->in_end = sink->in + len;
    sink->head_in = head;
    sink->head_out = 0;
    sink->at = 0;
}

static inline int sink_reserve(struct normalizer_sink *sink, size_t n)
{
    if (sink->cap - sink->len < n) {
        size_t cap = sink->cap + sink->cap / 2 + n + 256;
        char *grown = realloc(sink->data, cap);
        if (!grown) {
            sink->failed = 1;
            return -1;
        }
        sink->data = grown;
        sink->cap = cap;
    }
    return 0;
}

/* Appends bytes that stem from the input byte `from`. */
static inline void sink_put(struct normalizer_sink *sink, const void *bytes, size_t n, size_t from)
{
    if (n == 0 || sink_reserve(sink, n) != 0) {
        return;
    }
    memcpy(sink->data + sink->len, bytes, n);
    sink->len += n;
    if (from < sink->head_in) {
        sink->head_out = sink->len;
    }
}

/* Appends input bytes as they are. */
static inline void sink_copy(struct normalizer_sink *sink, size_t from, size_t n)
{
    if (n == 0 || sink_reserve(sink, n) != 0) {
        return;
    }
    memcpy(sink->data + sink->len, sink->in + from, n);
    if (from < sink->head_in) {
        size_t kept = sink->head_in - from;
        sink->head_out = sink->len + (kept < n ? kept : n);
    }
    sink->len += n;
}

static inline void sink_skip(struct normalizer_sink *sink)
{
    uint32_t cp;
    const uint8_t *p = sink->in + sink->at;
    if (p < sink->in_end) {
        sink->at += utf8_decode(p, sink->in_end, &cp);
    }
}

/* Appends a character in tokenizers' terms: `change` 0 takes the place of the next character of the
 * input, -n takes that of n more, 1 is new. */
static inline void sink_change(struct normalizer_sink *sink, uint32_t cp, long change)
{
    char bytes[4];
    size_t n = nu_encode(cp, bytes);
    if (sink_reserve(sink, n) != 0) {
        return;
    }
    memcpy(sink->data + sink->len, bytes, n);
    sink->len += n;
    if (sink->at <= sink->head_in && sink->head_in > 0) {
        if (change > 0 ? sink->at <= sink->head_in : sink->at < sink->head_in) {
            sink->head_out = sink->len;
        }
        for (; change <= 0 && sink->at <= sink->head_in; change++) {
            size_t before = sink->at;
            sink_skip(sink);
            if (sink->at == before) {
                break;
            }
        }
    }
}

/* The same for characters that stay as they are. */
static inline void sink_keep(struct normalizer_sink *sink, const uint8_t *p, const uint8_t *end)
{
    while (p < end && sink->head_in > 0 && sink->at <= sink->head_in) {
        uint32_t cp;
        p += utf8_decode(p, end, &cp);
        sink_change(sink, cp, 0);
    }
    if (p < end && sink_reserve(sink, (size_t)(end - p)) == 0) {
        memcpy(sink->data + sink->len, p, (size_t)(end - p));
        sink->len += (size_t)(end - p);
    }
}

#endif
