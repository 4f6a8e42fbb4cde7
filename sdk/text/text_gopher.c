/* text_gopher.c — see text_gopher.h. Every comparison is of two doubles, as the peer's. */
#include "text/text_gopher.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_lines.h"
#include "text/text_measure.h"
#include "text/text_ngram.h"
#include "text/text_verdict.h"

#include <stdio.h>

#define BULLET "\xE2\x80\xA2"   /* • */
#define ELLIPSIS "\xE2\x80\xA6" /* … */

/* ---- quality ---- */

static const struct text_string default_stop_words[] = {
    { "the", 3 }, { "be", 2 },   { "to", 2 },   { "of", 2 },
    { "and", 3 }, { "that", 4 }, { "have", 4 }, { "with", 4 },
};

static const char *const quality_names[] = {
    "gopher_short_doc",
    "gopher_long_doc",
    "gopher_below_avg_threshold",
    "gopher_above_avg_threshold",
    "gopher_too_many_hashes",
    "gopher_too_many_ellipsis",
    "gopher_too_many_bullets",
    "gopher_too_many_end_ellipsis",
    "gopher_below_alpha_threshold",
    "gopher_enough_stop_words",
};

void text_gopher_quality_defaults(struct text_gopher_quality_options *options)
{
    *options = (struct text_gopher_quality_options){
        .min_doc_words = 50,
        .max_doc_words = 100000,
        .min_avg_word_length = 3,
        .max_avg_word_length = 10,
        .max_symbol_word_ratio = 0.1,
        .max_bullet_lines_ratio = 0.9,
        .max_ellipsis_lines_ratio = 0.3,
        .min_alpha_words_ratio = 0.8,
        .min_stop_words = 2,
    };
}

const char *text_gopher_quality_reason(int32_t reason)
{
    return text_reason_name(quality_names, TEXT_GOPHER_QUALITY_REASONS, reason);
}

static void drop_quality(struct text_verdict *verdict, int32_t reason, double value, double limit)
{
    text_drop(verdict, reason, text_gopher_quality_reason(reason), value, limit);
}

/* Lines that begin with a bullet, and lines that end in an ellipsis, white space aside. */
static void count_line_marks(const struct text_doc *doc, const struct text_spans *lines,
                             size_t *bullets, size_t *ellipses)
{
    *bullets = 0;
    *ellipses = 0;
    for (size_t i = 0; i < lines->count; i++) {
        struct text_span line = text_strip(doc->text, lines->data[i]);
        const char *p = doc->text + line.begin;
        size_t len = line.end - line.begin;
        *bullets += text_starts_with(p, len, "-", 1) || text_starts_with(p, len, BULLET, 3);
        *ellipses += text_ends_with(p, len, "...", 3) || text_ends_with(p, len, ELLIPSIS, 3);
    }
}

/* The place of a word in the list; n when it is not there. */
static size_t find_string(const struct text_string *list, size_t n, const unsigned char *word,
                          size_t len)
{
    size_t i = 0;
    while (i < n && (list[i].len != len || memcmp(list[i].data, word, len) != 0)) {
        i++;
    }
    return i;
}

/* How many different stop words occur, counted up to `enough`. */
static int32_t count_stop_words(const struct text_doc *doc, const struct text_string *stop_words,
                                size_t n, int64_t enough, struct text_scratch *scratch,
                                int64_t *count, struct sluice_error *err)
{
    const unsigned char *text = text_bytes(doc->text);
    struct text_buffer *buffer = &scratch->bytes[0];
    uint32_t lengths[256] = {
        0
    }; /* by first byte: bit i for a stop word of i bytes, bit 31 for more */
    buffer->len = 0;
    *count = 0;
    int32_t status =
        text_buffer_append(buffer, (const char *)stop_words, n * sizeof *stop_words, err);
    if (status != SLUICE_OK) {
        return status;
    }
    struct text_string *left = (void *)buffer->data;
    for (size_t i = 0; i < n; i++) {
        size_t len = left[i].len < 31 ? left[i].len : 31;
        lengths[len == 0 ? 0 : (unsigned char)left[i].data[0]] |= 1u << len;
    }
    for (size_t i = 0; i < doc->n_words && *count < enough && n > 0; i++) {
        const unsigned char *word = text + doc->words[i].begin;
        size_t len = doc->words[i].end - doc->words[i].begin, bit = len < 31 ? len : 31;
        if ((lengths[len == 0 ? 0 : *word] >> bit & 1) == 0) {
            continue;
        }
        size_t found = find_string(left, n, word, len);
        *count += found < n;
        while (found < n) { /* a list may name a word twice; it counts once */
            left[found] = left[--n];
            found = find_string(left, n, word, len);
        }
    }
    return SLUICE_OK;
}

int32_t text_gopher_quality(const struct text_doc *doc,
                            const struct text_gopher_quality_options *options,
                            struct text_scratch *scratch, struct text_verdict *verdict,
                            struct sluice_error *err)
{
    struct text_word_counts counts;
    double words = (double)doc->n_words, limit;
    text_keep(verdict);
    text_word_counts(doc, &counts);
    double content = (double)counts.content;
    if (options->min_doc_words != 0 && content < (double)options->min_doc_words) {
        drop_quality(verdict, TEXT_GOPHER_SHORT_DOC, content, (double)options->min_doc_words);
        return SLUICE_OK;
    }
    if (options->max_doc_words != 0 && content > (double)options->max_doc_words) {
        drop_quality(verdict, TEXT_GOPHER_LONG_DOC, content, (double)options->max_doc_words);
        return SLUICE_OK;
    }

    double average = (double)counts.content_chars / content;
    limit = options->min_avg_word_length;
    if (limit != 0 && average < limit) {
        drop_quality(verdict, TEXT_GOPHER_BELOW_AVG, average, limit);
        return SLUICE_OK;
    }
    limit = options->max_avg_word_length;
    if (limit != 0 && average > limit) {
        drop_quality(verdict, TEXT_GOPHER_ABOVE_AVG, average, limit);
        return SLUICE_OK;
    }

    limit = options->max_symbol_word_ratio;
    if (limit != 0) {
        double hashes = (double)text_count(doc->text, doc->len, "#", 1) / words;
        if (hashes > limit) {
            drop_quality(verdict, TEXT_GOPHER_HASHES, hashes, limit);
            return SLUICE_OK;
        }
        size_t found = text_count(doc->text, doc->len, "...", 3);
        if (!doc->ascii) {
            found += text_count(doc->text, doc->len, ELLIPSIS, 3);
        }
        double ellipses = (double)found / words;
        if (ellipses > limit) {
            drop_quality(verdict, TEXT_GOPHER_ELLIPSIS, ellipses, limit);
            return SLUICE_OK;
        }
    }

    if (options->max_bullet_lines_ratio != 0 || options->max_ellipsis_lines_ratio != 0) {
        size_t bullets, ellipses;
        int32_t status = text_splitlines(doc->text, doc->len, &scratch->spans, err);
        if (status != SLUICE_OK) {
            return status;
        }
        count_line_marks(doc, &scratch->spans, &bullets, &ellipses);
        double lines = (double)scratch->spans.count;
        limit = options->max_bullet_lines_ratio;
        if (limit != 0 && (double)bullets / lines > limit) {
            drop_quality(verdict, TEXT_GOPHER_BULLETS, (double)bullets / lines, limit);
            return SLUICE_OK;
        }
        limit = options->max_ellipsis_lines_ratio;
        if (limit != 0 && (double)ellipses / lines > limit) {
            drop_quality(verdict, TEXT_GOPHER_END_ELLIPSIS, (double)ellipses / lines, limit);
            return SLUICE_OK;
        }
    }

    double alphabetic = (double)counts.alphabetic / words;
    limit = options->min_alpha_words_ratio;
    if (limit != 0 && alphabetic < limit) {
        drop_quality(verdict, TEXT_GOPHER_ALPHA, alphabetic, limit);
        return SLUICE_OK;
    }

    if (options->min_stop_words != 0) {
        bool own = options->stop_words != NULL;
        int64_t found;
        int32_t status = count_stop_words(
            doc, own ? options->stop_words : default_stop_words,
            own ? options->n_stop_words : sizeof default_stop_words / sizeof default_stop_words[0],
            options->min_stop_words, scratch, &found, err);
        if (status != SLUICE_OK) {
            return status;
        }
        if (found < options->min_stop_words) {
            drop_quality(verdict, TEXT_GOPHER_STOP_WORDS, (double)found,
                         (double)options->min_stop_words);
        }
    }
    return SLUICE_OK;
}

/* ---- repetition ---- */

static const struct text_ngram_limit default_top[] = { { 2, 0.2 }, { 3, 0.18 }, { 4, 0.16 } };
static const struct text_ngram_limit default_dup[] = {
    { 5, 0.15 }, { 6, 0.14 }, { 7, 0.13 }, { 8, 0.12 }, { 9, 0.11 }, { 10, 0.10 },
};

static const char *const repetition_names[] = {
    "empty", "dup_para_frac", "dup_para_char_frac", "dup_line_frac", "dup_line_char_frac",
};

void text_gopher_repetition_defaults(struct text_gopher_repetition_options *options)
{
    *options = (struct text_gopher_repetition_options){
        .dup_line_frac = 0.3,
        .dup_para_frac = 0.3,
        .dup_line_char_frac = 0.2,
        .dup_para_char_frac = 0.2,
        .top_n_grams = default_top,
        .n_top_n_grams = sizeof default_top / sizeof default_top[0],
        .dup_n_grams = default_dup,
        .n_dup_n_grams = sizeof default_dup / sizeof default_dup[0],
    };
}

void text_gopher_repetition_reason(const struct text_gopher_repetition_options *options,
                                   int32_t reason, char out[36])
{
    out[0] = '\0';
    if (reason <= 0) {
        return;
    }
    size_t i = (size_t)reason - 1;
    if (i < TEXT_GOPHER_TOP_N_GRAM - 1) {
        snprintf(out, 36, "%s", repetition_names[i]);
        return;
    }
    i -= TEXT_GOPHER_TOP_N_GRAM - 1;
    if (i < options->n_top_n_grams) {
        snprintf(out, 36, "top_%u_gram", options->top_n_grams[i].n);
    } else if (i - options->n_top_n_grams < options->n_dup_n_grams) {
        snprintf(out, 36, "duplicated_%u_n_grams",
                 options->dup_n_grams[i - options->n_top_n_grams].n);
    }
}

static void drop_repetition(struct text_verdict *verdict,
                            const struct text_gopher_repetition_options *options, int32_t reason,
                            double value, double limit)
{
    char name[36];
    text_gopher_repetition_reason(options, reason, name);
    text_drop(verdict, reason, name, value, limit);
}

/* The tests of elements of one unit; the reasons are `first` and the one after. */
static int32_t judge_unit(const struct text_doc *doc, enum text_unit unit, int32_t first,
                          double max_elements, double max_chars,
                          const struct text_gopher_repetition_options *options,
                          struct text_scratch *scratch, struct text_verdict *verdict,
                          struct sluice_error *err)
{
    struct text_duplicates found;
    if (max_elements == 0 && max_chars == 0) {
        return SLUICE_OK;
    }
    int32_t status = text_unit_duplicates(doc, unit, scratch, &found, err);
    if (status != SLUICE_OK) {
        return status;
    }
    double elements = (double)found.elements / (double)found.total;
    double chars = (double)found.chars / (double)doc->chars;
    if (max_elements != 0 && elements > max_elements) {
        drop_repetition(verdict, options, first, elements, max_elements);
    } else if (max_chars != 0 && chars > max_chars) {
        drop_repetition(verdict, options, first + 1, chars, max_chars);
    }
    return SLUICE_OK;
}

/* Whether `chars` of n-grams break limit k; the document is dropped then. */
static bool breaks_limit(const struct text_doc *doc, uint64_t chars, double limit)
{
    return (double)chars / (double)doc->chars > limit;
}

static int32_t judge_ngrams(const struct text_doc *doc,
                            const struct text_gopher_repetition_options *options,
                            struct text_scratch *scratch, struct text_verdict *verdict,
                            struct sluice_error *err)
{
    struct text_ngrams grams;
    uint64_t bounds[TEXT_NGRAM_LIMITS], chars;
    int32_t status = text_ngrams_init(&grams, doc, scratch, err);
    if (status != SLUICE_OK) {
        return status;
    }
    bool bounded = options->n_top_n_grams <= TEXT_NGRAM_LIMITS;
    if (bounded) {
        text_ngrams_top_bounds(&grams, options->top_n_grams, options->n_top_n_grams, bounds);
    }
    for (size_t k = 0; k < options->n_top_n_grams; k++) {
        struct text_ngram_limit test = options->top_n_grams[k];
        if (doc->n_words < test.n || (bounded && !breaks_limit(doc, bounds[k], test.limit))) {
            continue; /* no n-gram, or none that can break the limit */
        }
        status = text_ngrams_top(&grams, test.n, &chars, err);
        if (status != SLUICE_OK) {
            return status;
        }
        if (breaks_limit(doc, chars, test.limit)) {
            drop_repetition(verdict, options, TEXT_GOPHER_TOP_N_GRAM + (int32_t)k,
                            (double)chars / (double)doc->chars, test.limit);
            return SLUICE_OK;
        }
    }

    bounded = options->n_dup_n_grams <= TEXT_NGRAM_LIMITS;
    text_ngrams_repeats(&grams, options->dup_n_grams, options->n_dup_n_grams, bounds);
    for (size_t k = 0; k < options->n_dup_n_grams; k++) {
        struct text_ngram_limit test = options->dup_n_grams[k];
        if (bounded && breaks_limit(doc, bounds[k], test.limit)) {
            text_ngrams_narrow(&grams, options->dup_n_grams + k, options->n_dup_n_grams - k,
                               bounds + k);
        }
        if (bounded && !breaks_limit(doc, bounds[k], test.limit)) {
            continue;
        }
        chars = text_ngrams_dup(&grams, test.n);
        if (breaks_limit(doc, chars, test.limit)) {
            drop_repetition(verdict, options,
                            TEXT_GOPHER_TOP_N_GRAM + (int32_t)(options->n_top_n_grams + k),
                            (double)chars / (double)doc->chars, test.limit);
            return SLUICE_OK;
        }
    }
    return SLUICE_OK;
}

static int32_t check_limits(const char *option, const struct text_ngram_limit *limits, size_t n,
                            struct sluice_error *err)
{
    for (size_t k = 0; k < n; k++) {
        if (limits[k].n == 0) {
            return text_error(err, SLUICE_E_CONFIG,
                              "%s has n-grams of 0 words at place %zu; give 1 or more words",
                              option, k);
        }
    }
    return SLUICE_OK;
}

int32_t text_gopher_repetition(const struct text_doc *doc,
                               const struct text_gopher_repetition_options *options,
                               struct text_scratch *scratch, struct text_verdict *verdict,
                               struct sluice_error *err)
{
    text_keep(verdict);
    int32_t status = check_limits("top_n_grams", options->top_n_grams, options->n_top_n_grams, err);
    if (status == SLUICE_OK) {
        status = check_limits("dup_n_grams", options->dup_n_grams, options->n_dup_n_grams, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (doc->len == 0) {
        drop_repetition(verdict, options, TEXT_GOPHER_EMPTY, 0, 0);
        return SLUICE_OK;
    }
    status = judge_unit(doc, TEXT_UNIT_PARAGRAPH, TEXT_GOPHER_DUP_PARA, options->dup_para_frac,
                        options->dup_para_char_frac, options, scratch, verdict, err);
    if (status == SLUICE_OK && verdict->reason == 0) {
        status = judge_unit(doc, TEXT_UNIT_LINE, TEXT_GOPHER_DUP_LINE, options->dup_line_frac,
                            options->dup_line_char_frac, options, scratch, verdict, err);
    }
    if (status == SLUICE_OK && verdict->reason == 0 &&
        options->n_top_n_grams + options->n_dup_n_grams > 0) {
        status = judge_ngrams(doc, options, scratch, verdict, err);
    }
    return status;
}
