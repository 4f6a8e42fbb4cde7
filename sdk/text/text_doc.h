/* text_doc.h — a document with its words, the scratch memory of measures, and their verdicts.
 *
 * Depends on text_span.h. A text_doc borrows text and words until its last use.
 */
#ifndef TEXT_DOC_H
#define TEXT_DOC_H

#include "text/text_buffer.h"
#include "text/text_span.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the measures read. Fill it with text_doc_init; the members are read-only after. */
struct text_doc {
    const char *text;
    size_t len;                    /* bytes */
    const struct text_span *words; /* in order; any rule's, also from outside this library */
    size_t n_words;
    size_t chars; /* code points of text: Python's len(text) */
    bool ascii;   /* no byte >= 0x80 */
};

/* Borrows text and words. Counts the code points and checks the words: each inside the text, begin
 * <= end, not overlapping, in order. SLUICE_E_DATA otherwise, or when the text is longer than
 * TEXT_MAX. words may be NULL with n_words 0 for measures that read none. */
TEXT_MUST_CHECK int32_t text_doc_init(struct text_doc *doc, const char *text, size_t len,
                                      const struct text_span *words, size_t n_words,
                                      struct sluice_error *err);

/* Memory that measures reuse from one document to the next: it grows to the largest document's
 * need, nothing is allocated after that. One a thread. Zero-initialised memory is an empty
 * scratch. Need: up to 96 bytes a word, 40 bytes a line and 3 bytes a byte of the text, and 128
 * KiB. */
struct text_scratch {
    struct text_spans spans;     /* lines, paragraphs */
    struct text_spans more;      /* sentences of a line */
    struct text_buffer bytes[2]; /* joined words; lower-cased lines */
    void *arena;                 /* tables and per-word arrays */
    size_t arena_size;
};

void text_scratch_init(struct text_scratch *scratch);
void text_scratch_deinit(struct text_scratch *scratch);

/* The outcome of a filter on one document. */
struct text_verdict {
    int32_t reason; /* 0 keeps; else the place of the failing test, as the filter's header says */
    char name[36];  /* the peer's reason string ("gopher_short_doc"); "" when kept */
    double value;   /* what was measured by the failing test; 0 when kept */
    double limit;   /* the threshold it broke; 0 when kept */
};

#ifdef __cplusplus
}
#endif

#endif
