/* span_edit.h - replaces spans of a text as Dolma's mixer does.
 *
 * Depends on sdk/text. Spans are in characters, in the order of their starts (equal starts: in that
 * of the rules). Of overlapping spans the first one is replaced, and all that begin before its end
 * are left out; what of those stands behind it stays. A span of no characters is replaced, but
 * never left: the character at its place is lost, no span behind it is replaced, and its
 * replacement comes once more at the end. "{}" in a replacement stands for the text replaced. */
#ifndef SPAN_EDIT_H
#define SPAN_EDIT_H

#include "text/text.h"
#include "text/text_buffer.h"

struct span_edit {
    uint64_t start, end;     /* characters */
    const char *replacement; /* borrowed */
    size_t order;            /* to keep equal starts as they were */
};

/* Sorts edits, and writes the edited text into *out (cleared first). */
TEXT_MUST_CHECK int32_t span_edit_apply(const char *text, size_t n, struct span_edit *edits,
                                        size_t n_edits, struct text_buffer *out,
                                        struct sluice_error *err);

#endif
