/* text_span.h — byte ranges of a text, and a growable list of them.
 *
 * Depends on sluice.h (errors). The caller owns a list, reuses it between documents, and deinits
 * it; functions that fill one clear it first. Texts are limited to TEXT_MAX bytes.
 */
#ifndef TEXT_SPAN_H
#define TEXT_SPAN_H

#include "sluice.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXT_MAX ((size_t)UINT32_MAX - 64) /* longest text in bytes: offsets are 32 bits */
#define TEXT_MUST_CHECK __attribute__((warn_unused_result))

/* [begin, end) in bytes. */
struct text_span {
    uint32_t begin, end;
};

/* Zero-initialised memory is an empty list. */
struct text_spans {
    struct text_span *data;
    size_t count;
    size_t capacity;
};

void text_spans_init(struct text_spans *spans);
void text_spans_deinit(struct text_spans *spans);

/* Makes room for `more` elements after count. SLUICE_E_NOMEM leaves the list as it was. */
TEXT_MUST_CHECK int32_t text_spans_reserve(struct text_spans *spans, size_t more,
                                           struct sluice_error *err);

/* Appends [begin, end). */
TEXT_MUST_CHECK int32_t text_spans_push(struct text_spans *spans, uint32_t begin, uint32_t end,
                                        struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
