#include "dolma_doc.h"

#include <stdlib.h>
#include <string.h>

#include <sluice_arrays.h>

void dolma_doc_deinit(struct dolma_doc *doc)
{
    free(doc->before);
    text_spans_deinit(&doc->lines);
    text_spans_deinit(&doc->paragraphs);
    memset(doc, 0, sizeof *doc);
}

int32_t dolma_doc_set(struct dolma_doc *doc, const char *text, size_t n,
                      const struct text_span *words, size_t n_words, const char *id, size_t id_n,
                      struct sluice_error *err)
{
    if (n > TEXT_MAX) {
        return sluice_fail(err, SLUICE_E_DATA, "text", "the text is longer than 4 GiB");
    }
    doc->text = text;
    doc->n = n;
    doc->words = words;
    doc->n_words = n_words;
    doc->id = id;
    doc->id_n = id_n;
    doc->has_lines = doc->has_paragraphs = false;
    doc->ascii = text_utf8_is_ascii(text, n);
    doc->chars = n;
    if (!doc->ascii) {
        size_t blocks = n / 64 + 1;
        size_t chars = 0;
        if (blocks > doc->blocks_capacity) {
            uint32_t *before = realloc(doc->before, blocks * sizeof *before);
            if (before == NULL) {
                return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a document");
            }
            doc->before = before;
            doc->blocks_capacity = blocks;
        }
        for (size_t k = 0; k < blocks; k++) {
            size_t end = k + 1 < blocks ? 64 * k + 64 : n;
            size_t starts = 0;
            doc->before[k] = (uint32_t)chars;
            for (size_t i = 64 * k; i < end; i++) {
                starts += ((unsigned char)text[i] & 0xC0) != 0x80;
            }
            chars += starts;
        }
        doc->chars = chars;
    }
    return SLUICE_OK;
}

size_t dolma_chars(const struct dolma_doc *doc, size_t at)
{
    size_t chars;

    if (doc->ascii) {
        return at;
    }
    if (at == doc->n) {
        return doc->chars;
    }
    chars = doc->before[at / 64];
    for (size_t i = at & ~(size_t)63; i < at; i++) {
        chars += ((unsigned char)doc->text[i] & 0xC0) != 0x80;
    }
    return chars;
}

int32_t dolma_doc_lines(struct dolma_doc *doc, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    if (!doc->has_lines) {
        status = text_split_newline(doc->text, doc->n, &doc->lines, err);
        doc->has_lines = status == SLUICE_OK;
    }
    return status;
}

int32_t dolma_doc_paragraphs(struct dolma_doc *doc, struct sluice_error *err)
{
    int32_t status;

    if (doc->has_paragraphs) {
        return SLUICE_OK;
    }
    status = dolma_doc_lines(doc, err);
    if (status == SLUICE_OK) {
        doc->paragraphs.count = 0;
        status = text_spans_reserve(&doc->paragraphs, doc->lines.count, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < doc->lines.count; k++) {
        struct text_span line = doc->lines.data[k];
        if (k + 1 < doc->lines.count) {
            line.end++;
        }
        if (line.end > line.begin) {
            doc->paragraphs.data[doc->paragraphs.count++] = line;
        }
    }
    doc->has_paragraphs = status == SLUICE_OK;
    return status;
}

bool dolma_blank(const struct dolma_doc *doc, struct text_span span)
{
    struct text_span rest = text_lstrip(doc->text, span);

    return rest.begin == rest.end;
}
