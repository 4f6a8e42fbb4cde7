#include "span_edit.h"

#include <stdlib.h>
#include <string.h>

static int compare_edits(const void *a, const void *b)
{
    const struct span_edit *x = a;
    const struct span_edit *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static int32_t put(struct text_buffer *out, const char *replacement, const char *old, size_t n,
                   struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    while (status == SLUICE_OK && *replacement != '\0') {
        const char *mark = strstr(replacement, "{}");
        size_t length = mark == NULL ? strlen(replacement) : (size_t)(mark - replacement);
        status = text_buffer_append(out, replacement, length, err);
        replacement += length;
        if (status == SLUICE_OK && mark != NULL) {
            status = text_buffer_append(out, old, n, err);
            replacement += 2;
        }
    }
    return status;
}

int32_t span_edit_apply(const char *text, size_t n, struct span_edit *edits, size_t n_edits,
                        struct text_buffer *out, struct sluice_error *err)
{
    size_t next = 0;  /* the edit that is waited for */
    size_t begin = 0; /* the byte where it began */
    size_t kept = 0;  /* bytes before are written or replaced */
    uint64_t i = 0;
    int32_t status = SLUICE_OK;

    out->len = 0;
    if (n_edits > 1) {
        qsort(edits, n_edits, sizeof *edits, compare_edits);
    }
    for (size_t at = 0; status == SLUICE_OK && at < n && next < n_edits; i++) {
        size_t after = text_utf8_next(text, n, at);
        const struct span_edit *edit = &edits[next];
        bool inside = i >= edit->start && i < edit->end;
        bool drop = inside;
        if (i == edit->start) {
            begin = at;
        }
        if (!inside) {
            if (i == edit->end) {
                status = text_buffer_append(out, text + kept, at - kept, err);
                kept = at;
                if (status == SLUICE_OK) {
                    status = put(out, edit->replacement, text + begin, at - begin, err);
                }
                while (next < n_edits && edits[next].start < i) {
                    next++;
                }
            }
            if (next < n_edits && edits[next].start == i) {
                begin = at;
                drop = true;
            }
        }
        if (drop && status == SLUICE_OK) {
            status = text_buffer_append(out, text + kept, at - kept, err);
            kept = after;
        }
        at = after;
    }
    if (status == SLUICE_OK) {
        status = text_buffer_append(out, text + kept, n - kept, err);
    }
    if (status == SLUICE_OK && next < n_edits) {
        status = put(out, edits[next].replacement, text + begin, n - begin, err);
    }
    return status;
}
