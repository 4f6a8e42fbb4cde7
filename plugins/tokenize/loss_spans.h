/* loss_spans - which tokens of a text are trained on, from which parts of the text are.
 *
 * Owns: the trained spans of one text, as bytes, ascending and apart. Depends on sluice_arrays.h,
 * jansson. Promises: a span that is out of order, reaches beyond the text or cuts nothing is
 * refused, never clipped.
 *
 * Three forms, as people have them: pairs begin, end (end exclusive); a value for each character
 * (non-zero = trained); JSON of either, [[begin, end], ...] or [0, 1, 1, ...]. Positions count
 * characters (Unicode code points, as Python's str does) or bytes. */
#ifndef LOSS_SPANS_H
#define LOSS_SPANS_H

#include <sluice_arrays.h>
#include <stdbool.h>

/* When a token is trained: its first byte is, any of its bytes is, all of its bytes are. */
enum loss_rule { LOSS_FIRST, LOSS_ANY, LOSS_ALL };

struct loss_span {
    uint64_t begin, end; /* bytes of the text */
};

/* Zero-filled is empty; one may be used for text after text. */
struct loss_spans {
    struct sluice_bytes spans; /* struct loss_span */
    struct sluice_bytes flags; /* of JSON */
};

/* The text that spans are about. */
struct loss_text {
    const char *data; /* valid UTF-8 */
    size_t size;
    bool bytes; /* positions count bytes, not characters */
};

void loss_spans_deinit(struct loss_spans *);

/* The whole text is trained. All that set fail with SLUICE_E_DATA, which says what is wrong with
 * the spans, or SLUICE_E_NOMEM. */
sluice_status loss_spans_all(struct loss_spans *, const struct loss_text *, struct sluice_error *);
/* n numbers: begin, end, begin, end, ...; spans ascend and don't overlap (they may touch). */
sluice_status loss_spans_pairs(struct loss_spans *, const struct loss_text *, const uint32_t *pairs,
                               size_t n, struct sluice_error *);
/* A flag for each of the n characters (or bytes). */
sluice_status loss_spans_flags(struct loss_spans *, const struct loss_text *, const uint8_t *flags,
                               size_t n, struct sluice_error *);
/* JSON of one of the two, or null: all is trained. */
sluice_status loss_spans_json(struct loss_spans *, const struct loss_text *, const char *json,
                              size_t n, struct sluice_error *);

/* out[k] = 1 if token k is trained, else 0. offsets: where the n tokens begin, ascending; each ends
 * where the next one begins, the last at the text's end. A token without bytes is judged by the
 * byte behind it. */
void loss_spans_tokens(const struct loss_spans *, const struct loss_text *, enum loss_rule,
                       const uint64_t *offsets, size_t n, uint8_t *out);

/* Whether the text's last byte is trained: what an end-of-text token behind it is. */
bool loss_spans_end(const struct loss_spans *, const struct loss_text *);

#endif
