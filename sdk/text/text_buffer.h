/* text_buffer.h — a growable byte string for outputs that are reused between documents.
 *
 * The caller owns it. Zero-initialised memory is an empty buffer. data is not NUL-terminated.
 */
#ifndef TEXT_BUFFER_H
#define TEXT_BUFFER_H

#include "sluice.h"
#include "text/text_span.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct text_buffer {
    char *data;
    size_t len;
    size_t capacity;
};

void text_buffer_init(struct text_buffer *buffer);
void text_buffer_deinit(struct text_buffer *buffer);

/* Makes room for `more` bytes after len. SLUICE_E_NOMEM leaves the buffer as it was. */
TEXT_MUST_CHECK int32_t text_buffer_reserve(struct text_buffer *buffer, size_t more,
                                            struct sluice_error *err);

/* Appends len bytes. */
TEXT_MUST_CHECK int32_t text_buffer_append(struct text_buffer *buffer, const char *bytes,
                                           size_t len, struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
