/* dolma_doc.h - a document as Dolma's taggers see it: characters, whitespace words, lines,
 * paragraphs, each computed once.
 *
 * Depends on sdk/text. Borrows the text; the memory is reused from document to document (a worker's
 * own, one user at a time). Offsets are in bytes here; dolma_chars turns them into characters,
 * which Dolma's spans count. */
#ifndef DOLMA_DOC_H
#define DOLMA_DOC_H

#include <stdbool.h>

#include "text/text.h"

struct dolma_doc {
    const char *text; /* not NULL */
    size_t n;         /* bytes */
    size_t chars;     /* code points */
    bool ascii;
    const struct text_span *words; /* Python's str.split() */
    size_t n_words;
    const char *id;
    size_t id_n;
    uint32_t *before; /* characters before each block of 64 bytes; unused when ascii */
    size_t blocks, blocks_capacity;
    struct text_spans lines; /* str.split("\n"); valid when has_lines */
    bool has_lines;
    /* each with its newline, blank ones too; valid when has_paragraphs */
    struct text_spans paragraphs;
    bool has_paragraphs;
};

void dolma_doc_deinit(struct dolma_doc *doc);

/* Begins a document. words: of the rule "whitespace". SLUICE_E_NOMEM, SLUICE_E_DATA. */
TEXT_MUST_CHECK int32_t dolma_doc_set(struct dolma_doc *doc, const char *text, size_t n,
                                      const struct text_span *words, size_t n_words, const char *id,
                                      size_t id_n, struct sluice_error *err);

/* Characters before the byte `at` <= n, which begins a character or ends the text. */
size_t dolma_chars(const struct dolma_doc *doc, size_t at);

/* Fill doc->lines, doc->paragraphs once. */
TEXT_MUST_CHECK int32_t dolma_doc_lines(struct dolma_doc *doc, struct sluice_error *err);
TEXT_MUST_CHECK int32_t dolma_doc_paragraphs(struct dolma_doc *doc, struct sluice_error *err);

/* Whether the span holds white space alone (Python: not text.strip()). */
bool dolma_blank(const struct dolma_doc *doc, struct text_span span);

#endif
