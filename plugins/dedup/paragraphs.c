/* See paragraphs.h. */
#include <sluice_arrays.h>

#include "dedup.h"
#include "paragraphs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void paragraphs_deinit(struct paragraphs *paragraphs)
{
    text_spans_deinit(&paragraphs->spans);
    text_spans_deinit(&paragraphs->words);
    text_spans_deinit(&paragraphs->places);
    text_buffer_deinit(&paragraphs->joined);
}

/* Joins the words that are no white space with a byte that no text holds. */
static int32_t join_words(struct paragraphs *paragraphs, const char *text, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    paragraphs->joined.len = 0;
    paragraphs->places.count = 0;
    for (size_t i = 0; status == SLUICE_OK && i < paragraphs->words.count; i++) {
        struct text_span span = paragraphs->words.data[i];
        size_t begin = paragraphs->joined.len;
        struct text_span bare = text_strip(text, span);
        if (bare.begin == bare.end) {
            continue;
        }
        status =
            text_buffer_append(&paragraphs->joined, text + span.begin, span.end - span.begin, err);
        if (status == SLUICE_OK) {
            status = text_buffer_append(&paragraphs->joined, "\xff", 1, err);
        }
        if (status == SLUICE_OK) {
            status = text_spans_push(&paragraphs->places, (uint32_t)begin,
                                     (uint32_t)paragraphs->joined.len, err);
        }
    }
    return status;
}

static int32_t hash_paragraph(struct paragraphs *paragraphs, const char *text, size_t n,
                              size_t ngram, size_t stride, enum paragraph_mode mode,
                              struct sluice_bytes *out, struct sluice_error *err)
{
    const struct text_span *places;
    uint64_t begin = out->size;
    uint32_t count[2] = { 0, 0 };
    size_t last = 0;
    int32_t status = text_segments(text, n, &paragraphs->words, err);

    if (status == SLUICE_OK) {
        status = join_words(paragraphs, text, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (!sluice_bytes_add(out, count, sizeof count)) {
        return sluice_nomem(err);
    }
    places = paragraphs->places.data;
    for (size_t i = 0; i + ngram <= paragraphs->places.count; i++) {
        uint64_t hash;
        if (mode == MODE_DOLMA ? last != 0 && i - last < stride : i % stride != 0) {
            continue;
        }
        last = i;
        hash = XXH3_64bits(paragraphs->joined.data + places[i].begin,
                           places[i + ngram - 1].end - places[i].begin);
        count[0]++;
        if (!sluice_bytes_add(out, &hash, sizeof hash)) {
            return sluice_nomem(err);
        }
    }
    if (mode == MODE_DOLMA && count[0] < 2) {
        uint64_t hash = XXH3_64bits_withSeed(text, n, 1);
        count[1] = 1; /* the last hash is that of the whole, and decides alone */
        count[0]++;
        if (!sluice_bytes_add(out, &hash, sizeof hash)) {
            return sluice_nomem(err);
        }
    }
    memcpy(out->data + begin, count, sizeof count);
    return SLUICE_OK;
}

int32_t paragraphs_hash(struct paragraphs *paragraphs, const char *text, size_t n, size_t ngram,
                        size_t stride, enum paragraph_mode mode, struct sluice_bytes *out,
                        struct sluice_error *err)
{
    int32_t status = n == 0 ? SLUICE_OK : text_split_newline(text, n, &paragraphs->spans, err);
    size_t count = n == 0 ? 0 : paragraphs->spans.count;

    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        struct text_span span = paragraphs->spans.data[i];
        status = hash_paragraph(paragraphs, text + span.begin, span.end - span.begin, ngram, stride,
                                mode, out, err);
    }
    return status;
}
