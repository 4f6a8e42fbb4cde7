/* tag_repetitions - Dolma's repetitions_v1 (the whole text) and paragraph_repetitions_v1 (each
 * paragraph by itself). */
#include "dolma.h"

#define REPETITION_TYPES \
    "repetition|doc_max_score_repetition|doc_max_length_repetition|doc_frac_repetition"

void dolma_repeat_add(struct dolma_repeat_sums *sums, size_t count, size_t length)
{
    sums->most = count > sums->most ? count : sums->most;
    sums->longest = length > sums->longest ? length : sums->longest;
    sums->all += length;
}

static int32_t tag_part(struct dolma_work *work, struct text_span part,
                        struct dolma_repeat_sums *sums, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    const char *text = doc->text + part.begin;
    int32_t status = dolma_repeat_find(&work->repeat, text, part.end - part.begin, err);

    for (size_t k = 0; status == SLUICE_OK && k < work->repeat.n; k++) {
        const struct dolma_repeat_match *match = &work->repeat.matches[k];
        size_t begin = dolma_chars(doc, part.begin + match->begin);
        size_t end = dolma_chars(doc, part.begin + match->end);
        size_t count = dolma_repeat_count(text, match);
        dolma_out_span(&work->out, "repetition", begin, end, (double)count);
        dolma_repeat_add(sums, count, end - begin);
    }
    return status;
}

void dolma_repeat_document(struct dolma_work *work, const struct dolma_repeat_sums *sums)
{
    size_t n = work->doc.chars;

    dolma_out_span(&work->out, "doc_max_score_repetition", 0, n, (double)sums->most);
    dolma_out_span(&work->out, "doc_max_length_repetition", 0, n, (double)sums->longest);
    dolma_out_span(&work->out, "doc_frac_repetition", 0, n,
                   sums->all > 0 ? (double)sums->all / (double)n : 0);
}

static int32_t repetitions_v1(struct dolma_work *work, struct sluice_error *err)
{
    struct dolma_repeat_sums sums = { 0 };
    int32_t status = tag_part(work, (struct text_span){ 0, (uint32_t)work->doc.n }, &sums, err);

    dolma_repeat_document(work, &sums);
    return status;
}

static int32_t paragraph_repetitions_v1(struct dolma_work *work, struct sluice_error *err)
{
    struct dolma_repeat_sums sums = { 0 };
    int32_t status = dolma_doc_paragraphs(&work->doc, err);

    for (size_t k = 0; status == SLUICE_OK && k < work->doc.paragraphs.count; k++) {
        status = tag_part(work, work->doc.paragraphs.data[k], &sums, err);
    }
    dolma_repeat_document(work, &sums);
    return status;
}

const struct dolma_tagger dolma_repetition_taggers[] = {
    { "repetitions_v1", REPETITION_TYPES, 0, repetitions_v1 },
    { "paragraph_repetitions_v1", REPETITION_TYPES, 0, paragraph_repetitions_v1 },
    { 0 },
};
