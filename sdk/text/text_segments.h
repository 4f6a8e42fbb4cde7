/* text_segments.h — UAX #29 segmentation behind text_words and text_segments.
 *
 * Private to sdk/text.
 */
#ifndef TEXT_SEGMENTS_H
#define TEXT_SEGMENTS_H

#include "text/text_span.h"

/* Segments that hold a letter or a number. len <= TEXT_MAX; *out is empty. */
TEXT_MUST_CHECK int32_t text_words_uax29(const char *text, size_t len, struct text_spans *out,
                                         struct sluice_error *err);

#endif
