/* See units.h. */
#include "units.h"

void units_deinit(struct units *units)
{
    text_word_cache_deinit(&units->cache);
    text_spans_deinit(&units->spans);
    text_spans_deinit(&units->words);
    text_spans_deinit(&units->pieces);
    text_buffer_deinit(&units->simple);
    text_buffer_deinit(&units->joined);
}

sluice_status units_cut(struct units *units, enum unit unit, const char *text, size_t n,
                        struct sluice_error *err)
{
    switch (unit) {
    case UNIT_LINES:
        return text_splitlines(text, n, &units->spans, err);
    case UNIT_PARAGRAPHS:
        return text_split_newline(text, n, &units->spans, err);
    default:
        return text_sentences_cached(TEXT_SENTENCES_SPACY_EN, text, n, &units->cache, &units->spans,
                                     err);
    }
}

sluice_status units_normalise(struct units *units, enum unit unit, const char *text, int simplify,
                              struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    units->joined.len = 0;
    units->pieces.count = 0;
    for (size_t i = 0; status == SLUICE_OK && i < units->spans.count; i++) {
        struct text_span span = units->spans.data[i];
        const char *piece;
        size_t n;
        uint32_t begin;
        if (unit == UNIT_SENTENCES) {
            span = text_strip(text, span);
            if (span.begin == span.end) {
                continue;
            }
        }
        piece = text + span.begin;
        n = span.end - span.begin;
        if (simplify) {
            status = text_simplify(piece, n, TEXT_SIMPLIFY_ALL, &units->simple, err);
            piece = units->simple.data;
            n = units->simple.len;
        }
        if (status == SLUICE_OK && units->pieces.count > 0) {
            status = text_buffer_append(&units->joined, " ", 1, err);
        }
        begin = (uint32_t)units->joined.len;
        if (status == SLUICE_OK && n > 0) {
            status = text_buffer_append(&units->joined, piece, n, err);
        }
        if (status == SLUICE_OK && units->joined.len > TEXT_MAX) {
            status = sluice_fail(err, SLUICE_E_DATA, "", "a text of more than 4 GiB");
        }
        if (status == SLUICE_OK) {
            status = text_spans_push(&units->pieces, begin, (uint32_t)units->joined.len, err);
        }
    }
    return status;
}

sluice_status units_words(struct units *units, const char *text, size_t n, size_t *count,
                          struct sluice_error *err)
{
    sluice_status status =
        text_words_cached(TEXT_WORDS_SPACY_EN, text, n, &units->cache, &units->words, err);

    *count = units->words.count;
    return status;
}
