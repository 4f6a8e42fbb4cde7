/* tag_length - Dolma's taggers that count: bytes, characters, words by three rules, documents; and
 * random_number_v1. */
#include <xxhash.h>

#include "dolma.h"
#include "dolma_class.h"

static int32_t whole(struct dolma_work *work, const char *type, double score)
{
    dolma_out_span(&work->out, type, 0, work->doc.chars, score);
    return SLUICE_OK;
}

static int32_t bytes_length(struct dolma_work *work, struct sluice_error *err)
{
    (void)err;
    return whole(work, "bytes", (double)work->doc.n);
}

static int32_t doc_count(struct dolma_work *work, struct sluice_error *err)
{
    (void)err;
    return whole(work, "docs", 1);
}

static int32_t char_length(struct dolma_work *work, struct sluice_error *err)
{
    (void)err;
    return whole(work, "length", (double)work->doc.chars);
}

/* The text without white space around it. */
static struct text_span stripped(const struct dolma_doc *doc, struct text_span span)
{
    return text_strip(doc->text, span);
}

static size_t chars_in(const struct dolma_doc *doc, struct text_span span)
{
    return dolma_chars(doc, span.end) - dolma_chars(doc, span.begin);
}

static int32_t char_length_strip(struct dolma_work *work, struct sluice_error *err)
{
    struct text_span all = { 0, (uint32_t)work->doc.n };

    (void)err;
    return whole(work, "length_no_ws", (double)chars_in(&work->doc, stripped(&work->doc, all)));
}

/* Runs of word characters and runs of what is neither that nor white space, plus one: what a split
 * by them gives. */
static int32_t whitespace_tokens(struct dolma_work *work, struct text_span span, double *count,
                                 struct sluice_error *err)
{
    const char *text = work->doc.text;
    size_t n = 1;
    int last = 0; /* 0 space, 1 word, 2 other */

    (void)err;
    for (size_t i = span.begin; i < span.end;) {
        uint32_t cp;
        int kind;
        i += text_utf8_decode(text, span.end, i, &cp);
        kind = dolma_is_word(cp) ? 1 : dolma_is_space(cp) ? 0 : 2;
        n += kind != 0 && kind != last;
        last = kind;
    }
    *count = (double)n;
    return SLUICE_OK;
}

/* UAX #29 segments of the stripped text; blank ones don't count when skip_blank. */
static int32_t segments(struct dolma_work *work, struct text_span span, bool skip_blank,
                        double *count, struct sluice_error *err)
{
    struct text_span rest = stripped(&work->doc, span);
    const char *text = work->doc.text + rest.begin;
    size_t n = 0;
    int32_t status = text_segments(text, rest.end - rest.begin, &work->scratch, err);

    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t k = 0; k < work->scratch.count; k++) {
        struct text_span segment = text_lstrip(text, work->scratch.data[k]);
        n += !skip_blank || segment.begin < segment.end;
    }
    *count = (double)n;
    return SLUICE_OK;
}

static int32_t paragraph_chars(struct dolma_work *work, struct text_span span, double *count,
                               struct sluice_error *err)
{
    (void)err;
    *count = (double)chars_in(&work->doc, span);
    return SLUICE_OK;
}

static int32_t paragraph_words(struct dolma_work *work, struct text_span span, double *count,
                               struct sluice_error *err)
{
    return segments(work, span, true, count, err);
}

typedef int32_t (*count_fn)(struct dolma_work *, struct text_span, double *, struct sluice_error *);

/* A span for each paragraph; the sum to *sum. negative: also the same number below 0, for mixers
 * that only know "greater than". */
static int32_t paragraphs(struct dolma_work *work, count_fn measure, bool blank, bool negative,
                          double *sum, struct sluice_error *err)
{
    struct dolma_doc *doc = &work->doc;
    int32_t status = dolma_doc_paragraphs(doc, err);

    *sum = 0;
    for (size_t k = 0; status == SLUICE_OK && k < doc->paragraphs.count; k++) {
        struct text_span span = doc->paragraphs.data[k];
        double count;
        size_t begin;
        size_t end;
        if (!blank && dolma_blank(doc, span)) {
            continue;
        }
        status = measure(work, span, &count, err);
        if (status != SLUICE_OK) {
            break;
        }
        begin = dolma_chars(doc, span.begin);
        end = dolma_chars(doc, span.end);
        dolma_out_span(&work->out, "paragraph", begin, end, count);
        if (negative) {
            dolma_out_span(&work->out, "negative_paragraph", begin, end, -count);
        }
        *sum += count;
    }
    return status;
}

static int32_t char_length_paragraphs(struct dolma_work *work, struct sluice_error *err)
{
    double sum;
    int32_t status = paragraphs(work, paragraph_chars, false, false, &sum, err);

    return status == SLUICE_OK ? whole(work, "document", (double)work->doc.chars) : status;
}

static int32_t whitespace_length(struct dolma_work *work, struct sluice_error *err)
{
    double count;

    whitespace_tokens(work, (struct text_span){ 0, (uint32_t)work->doc.n }, &count, err);
    return whole(work, "length", count);
}

static int32_t whitespace_paragraphs(struct dolma_work *work, struct sluice_error *err)
{
    double sum;
    int32_t status = paragraphs(work, whitespace_tokens, false, false, &sum, err);

    return status == SLUICE_OK ? whole(work, "document", sum) : status;
}

static int32_t uniseg_length(struct dolma_work *work, struct sluice_error *err)
{
    double count;
    int32_t status =
        segments(work, (struct text_span){ 0, (uint32_t)work->doc.n }, false, &count, err);

    return status == SLUICE_OK ? whole(work, "length", count) : status;
}

static int32_t uniseg_paragraphs(struct dolma_work *work, struct sluice_error *err)
{
    double sum;

    return paragraphs(work, paragraph_words, false, true, &sum, err);
}

static int32_t uniseg_paragraphs_with_empty(struct dolma_work *work, struct sluice_error *err)
{
    double sum;

    return paragraphs(work, paragraph_words, true, true, &sum, err);
}

static int32_t uniseg_paragraphs_with_doc(struct dolma_work *work, struct sluice_error *err)
{
    double sum;
    int32_t status = paragraphs(work, paragraph_words, false, true, &sum, err);

    if (status == SLUICE_OK) {
        whole(work, "document", sum);
        whole(work, "negative_document", -sum);
    }
    return status;
}

/* Dolma seeds with the process number; here the number belongs to the document's id and the
 * pipeline's seed. */
static int32_t random_number(struct dolma_work *work, struct sluice_error *err)
{
    uint64_t hash = XXH3_64bits_withSeed(work->doc.id, work->doc.id_n, work->seed);

    (void)err;
    return whole(work, "random", (double)(hash >> 11) / 9007199254740992.0);
}

const struct dolma_tagger dolma_length_taggers[] = {
    { "bytes_length_v1", "bytes", 0, bytes_length },
    { "doc_count_v1", "docs", 0, doc_count },
    { "char_length_v1", "length", 0, char_length },
    { "char_length_strip_ws_v1", "length_no_ws", 0, char_length_strip },
    { "char_length_with_paragraphs_v1", "paragraph|document", 0, char_length_paragraphs },
    { "whitespace_tokenizer_v1", "length", 0, whitespace_length },
    { "whitespace_tokenizer_with_paragraphs_v1", "paragraph|document", 0, whitespace_paragraphs },
    { "uniseg_length_v1", "length", 0, uniseg_length },
    { "uniseg_length_paragraphs_v1", "paragraph|negative_paragraph", 0, uniseg_paragraphs },
    { "uniseg_length_paragraphs_with_empty_v1", "paragraph|negative_paragraph", 0,
      uniseg_paragraphs_with_empty },
    { "uniseg_length_paragraphs_with_doc_length_v1",
      "paragraph|negative_paragraph|document|negative_document", 0, uniseg_paragraphs_with_doc },
    { "random_number_v1", "random", 0, random_number },
    { 0 },
};
