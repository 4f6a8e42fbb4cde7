/* tag_tokens - Dolma's taggers that count tokens of a tokenizer, and those that look for repeated
 * runs of them. */
#include "dolma.h"

#define REPETITION_TYPES \
    "repetition|doc_max_score_repetition|doc_max_length_repetition|doc_frac_repetition"
#define PERIOD_MOST 13
#define CHUNK_CHARS 100000 /* of tokenizer_repetitions_v2r2 */

/* ---- counts ---- */

static int32_t tokens_v1(struct dolma_work *work, struct sluice_error *err)
{
    int32_t status = dolma_tokens_encode(&work->tokens, work->doc.text, work->doc.n, err);

    dolma_out_span(&work->out, "tokens", 0, work->doc.chars, (double)work->tokens.n);
    return status;
}

static int32_t length_v1(struct dolma_work *work, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    struct text_span rest = text_strip(doc->text, (struct text_span){ 0, (uint32_t)doc->n });
    size_t count = 0;
    int32_t status = SLUICE_OK;

    if (rest.end > rest.begin) {
        status =
            dolma_tokens_encode(&work->tokens, doc->text + rest.begin, rest.end - rest.begin, err);
        count = work->tokens.n + dolma_tokenizer_added(work->tokens.tokenizer);
    }
    dolma_out_span(&work->out, "length", 0, doc->chars, (double)count);
    return status;
}

/* ---- repetitions ---- */

/* A span of the text, in its characters; begin may be -1: the space before a paragraph. */
struct found {
    int64_t begin, end;
    size_t times;
};

static int32_t find_in(struct dolma_work *work, const char *text, size_t n,
                       struct sluice_bytes *spans, struct sluice_error *err)
{
    struct dolma_tokens *tokens = &work->tokens;
    int32_t status = dolma_tokens_encode(tokens, text, n, err);
    bool placed = false;

    for (size_t period = 1; status == SLUICE_OK && period <= PERIOD_MOST && period <= tokens->n / 3;
         period++) {
        struct dolma_period run;
        size_t row = 1;
        while (status == SLUICE_OK &&
               dolma_period_next(tokens->ids, tokens->n, period, &row, &run)) {
            struct found found = { .times = run.times };
            if (!placed) {
                status = dolma_tokens_places(tokens, text, n, err);
                placed = true;
            }
            if (status == SLUICE_OK) {
                found.begin = (int64_t)tokens->places[run.begin].begin;
                found.end = (int64_t)tokens->places[run.end - 1].end;
                status = sluice_bytes_add(spans, &found, sizeof found)
                             ? SLUICE_OK
                             : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for spans");
            }
        }
    }
    return status;
}

static void put_found(struct dolma_work *work, const struct found *found, int64_t by,
                      struct dolma_repeat_sums *sums)
{
    dolma_out_span(&work->out, "repetition", (uint64_t)(found->begin + by),
                   (uint64_t)(found->end + by), (double)found->times);
    dolma_repeat_add(sums, found->times, (size_t)(found->end - found->begin));
}

static int32_t repetitions_v1(struct dolma_work *work, struct sluice_error *err)
{
    struct dolma_repeat_sums sums = { 0 };
    struct sluice_bytes spans = { 0 };
    int32_t status = find_in(work, work->doc.text, work->doc.n, &spans, err);

    for (size_t k = 0; k < spans.size / sizeof(struct found); k++) {
        put_found(work, (const struct found *)(const void *)spans.data + k, 0, &sums);
    }
    sluice_bytes_free(&spans);
    dolma_repeat_document(work, &sums);
    return status;
}

/* Each paragraph behind a space, so that its first word is a token as elsewhere. */
static int32_t paragraph_repetitions_v1(struct dolma_work *work, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    struct sluice_bytes *text = &work->tokens.joined;
    struct dolma_repeat_sums sums = { 0 };
    struct sluice_bytes spans = { 0 };
    int32_t status = dolma_doc_paragraphs(&work->doc, err);

    for (size_t k = 0; status == SLUICE_OK && k < doc->paragraphs.count; k++) {
        struct text_span part = doc->paragraphs.data[k];
        int64_t by = (int64_t)dolma_chars(doc, part.begin) - 1;
        text->size = spans.size = 0;
        status = sluice_bytes_add(text, " ", 1) &&
                         sluice_bytes_add(text, doc->text + part.begin, part.end - part.begin)
                     ? find_in(work, text->data, (size_t)text->size, &spans, err)
                     : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a paragraph");
        for (size_t i = 0; i < spans.size / sizeof(struct found); i++) {
            put_found(work, (const struct found *)(const void *)spans.data + i, by, &sums);
        }
    }
    sluice_bytes_free(&spans);
    dolma_repeat_document(work, &sums);
    return status;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left;
    const struct found *b = right;

    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    if (a->end != b->end) {
        return a->end > b->end ? -1 : 1;
    }
    return a->times == b->times ? 0 : a->times > b->times ? -1 : 1;
}

/* Bytes of up to CHUNK_CHARS characters from `at` on, and their number. */
static size_t chunk(const struct dolma_doc *doc, size_t at, size_t *chars)
{
    size_t end = at;

    for (*chars = 0; end < doc->n && *chars < CHUNK_CHARS; ++*chars) {
        for (end++; end < doc->n && ((unsigned char)doc->text[end] & 0xC0) == 0x80;) {
            end++;
        }
    }
    return end - at;
}

/* In chunks of the text; without spans that lie in the one before. No spans, no values of the
 * document. */
static int32_t repetitions_v2r2(struct dolma_work *work, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    struct dolma_repeat_sums sums = { 0 };
    struct sluice_bytes spans = { 0 };
    int64_t by = 0;
    bool any = false;
    int32_t status = SLUICE_OK;

    for (size_t at = 0; status == SLUICE_OK && at < doc->n;) {
        size_t chars;
        size_t n = chunk(doc, at, &chars);
        const struct found *before = NULL;
        struct found *found;
        spans.size = 0;
        status = find_in(work, doc->text + at, n, &spans, err);
        found = (struct found *)(void *)spans.data;
        if (spans.size > 0) {
            qsort(found, spans.size / sizeof *found, sizeof *found, compare_found);
        }
        for (size_t k = 0; k < spans.size / sizeof *found; k++) {
            if (before == NULL || found[k].begin < before->begin || found[k].end > before->end) {
                before = &found[k];
                put_found(work, before, by, &sums);
                any = true;
            }
        }
        at += n;
        by += (int64_t)chars;
    }
    sluice_bytes_free(&spans);
    if (any) {
        dolma_repeat_document(work, &sums);
    }
    return status;
}

const struct dolma_tagger dolma_token_taggers[] = {
    { "tokenizer_repetitions_v1", REPETITION_TYPES, DOLMA_NEEDS_TOKENIZER, repetitions_v1 },
    { "paragraph_tokenizer_repetitions_v1", REPETITION_TYPES, DOLMA_NEEDS_TOKENIZER,
      paragraph_repetitions_v1 },
    { "tokenizer_repetitions_v2r2", REPETITION_TYPES, DOLMA_NEEDS_TOKENIZER, repetitions_v2r2 },
    { "dolma_v1_tokenizer", "length", DOLMA_NEEDS_TOKENIZER, length_v1 },
    { "dolma_v2_tokenizer", "length", DOLMA_NEEDS_TOKENIZER, length_v1 },
    { "tokenizers_EleutherAI_GPT_NeoX_20B", "tokens", DOLMA_NEEDS_TOKENIZER, tokens_v1 },
    { "tokenizers_AI2_OLMo_v1", "tokens", DOLMA_NEEDS_TOKENIZER, tokens_v1 },
    { 0 },
};
