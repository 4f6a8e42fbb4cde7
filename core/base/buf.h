/* Growable byte buffers and JSON text output. A buf remembers the first allocation failure: further
 * appends do nothing and buf_status() reports it, so writers check once at the end. Not
 * thread-safe. */
#ifndef SLUICE_BASE_BUF_H
#define SLUICE_BASE_BUF_H

#include "base/error.h"

struct buf {
    char *data; /* owned; NUL-terminated whenever size < capacity (always after buf_str) */
    size_t size;
    size_t capacity;
    bool failed;
};

#define BUF_INIT          \
    {                     \
        NULL, 0, 0, false \
    }

void buf_init(struct buf *);
void buf_deinit(struct buf *);
void buf_clear(struct buf *);                 /* keeps the memory */
bool buf_reserve(struct buf *, size_t extra); /* room for extra more bytes; false = out of memory */
void buf_append(struct buf *, const void *data, size_t n);
void buf_puts(struct buf *, const char *text);
void buf_putc(struct buf *, char c);
void buf_printf(struct buf *, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_json_string(struct buf *, const char *text,
                     size_t n); /* quoted and escaped; the text must be UTF-8 */
void buf_markup(struct buf *, const char *text,
                size_t n); /* escaped for XML and HTML: < > & and the double quote */
const char *buf_str(
    struct buf *); /* NUL-terminated; "" when it failed or is empty; borrowed until the next call */
char *buf_take(struct buf *); /* gives the NUL-terminated memory; NULL when it failed */
sluice_status buf_status(const struct buf *, struct sluice_error *) MUST_USE;

/* strdup of a printf; NULL = out of memory. Gives. */
char *str_printf(const char *format, ...) PRINTF_LIKE(1, 2);
char *str_copy(const char *text, size_t n);

#endif
