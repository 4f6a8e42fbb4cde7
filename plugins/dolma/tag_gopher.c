/* tag_gopher - Dolma's gopher_v1 and gopher_v2: shares and counts of the whole document, as scores
 * of one span each. */
#include "dolma.h"

static const char *const ngram_types[] = {
    NULL,
    NULL,
    "fraction_of_characters_in_most_common_2grams",
    "fraction_of_characters_in_most_common_3grams",
    "fraction_of_characters_in_most_common_4grams",
    "fraction_of_characters_in_duplicate_5grams",
    "fraction_of_characters_in_duplicate_6grams",
    "fraction_of_characters_in_duplicate_7grams",
    "fraction_of_characters_in_duplicate_8grams",
    "fraction_of_characters_in_duplicate_9grams",
    "fraction_of_characters_in_duplicate_10grams",
};

#define GOPHER_TYPES                                 \
    "fraction_of_characters_in_most_common_2grams|"  \
    "fraction_of_characters_in_most_common_3grams|"  \
    "fraction_of_characters_in_most_common_4grams|"  \
    "fraction_of_characters_in_duplicate_5grams|"    \
    "fraction_of_characters_in_duplicate_6grams|"    \
    "fraction_of_characters_in_duplicate_7grams|"    \
    "fraction_of_characters_in_duplicate_8grams|"    \
    "fraction_of_characters_in_duplicate_9grams|"    \
    "fraction_of_characters_in_duplicate_10grams|"   \
    "character_count|word_count|median_word_length|" \
    "symbol_to_word_ratio|"                          \
    "fraction_of_words_with_alpha_character|"        \
    "required_word_count|"                           \
    "fraction_of_lines_starting_with_bullet_point|"  \
    "fraction_of_lines_ending_with_ellipsis|"        \
    "fraction_of_duplicate_lines|"                   \
    "fraction_of_characters_in_duplicate_lines"

static int32_t tag(struct dolma_work *work, size_t newlines, struct sluice_error *err)
{
    struct dolma_doc *doc = &work->doc;
    struct dolma_gopher *gopher = &work->gopher;
    struct dolma_out *out = &work->out;
    struct dolma_lines lines = { 0 };
    bool empty = doc->n == 0;
    size_t n = doc->chars;
    int32_t status = empty ? SLUICE_OK : dolma_gopher_words(gopher, doc, err);

    if (status == SLUICE_OK && !empty) {
        const struct text_spans *spans = &doc->lines;
        status = newlines == 0
                     ? dolma_doc_lines(doc, err)
                     : text_split_newlines(doc->text, doc->n, newlines, &work->scratch, err);
        spans = newlines == 0 ? spans : &work->scratch;
        if (status == SLUICE_OK) {
            status = dolma_gopher_lines(gopher, doc, spans, &lines, err);
        }
    }
    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t k = DOLMA_NGRAM_MIN; k <= DOLMA_NGRAM_MAX && k <= doc->n_words; k++) {
        dolma_out_span(out, ngram_types[k], 0, n, gopher->ngram[k]);
    }
    dolma_out_span(out, "character_count", 0, n, (double)n);
    dolma_out_span(out, "word_count", 0, n, (double)doc->n_words);
    dolma_out_span(out, "median_word_length", 0, n, empty ? 0 : gopher->median);
    dolma_out_span(out, "symbol_to_word_ratio", 0, n, empty ? 0 : gopher->symbols);
    dolma_out_span(out, "fraction_of_words_with_alpha_character", 0, n, empty ? 0 : gopher->alpha);
    dolma_out_span(out, "required_word_count", 0, n, empty ? 0 : gopher->required);
    dolma_out_span(out, "fraction_of_lines_starting_with_bullet_point", 0, n, lines.bullets);
    dolma_out_span(out, "fraction_of_lines_ending_with_ellipsis", 0, n, lines.ellipsis);
    dolma_out_span(out, "fraction_of_duplicate_lines", 0, n, lines.duplicates);
    dolma_out_span(out, "fraction_of_characters_in_duplicate_lines", 0, n, lines.duplicate_chars);
    return SLUICE_OK;
}

static int32_t gopher_v1(struct dolma_work *work, struct sluice_error *err)
{
    return tag(work, 0, err);
}

static int32_t gopher_v2(struct dolma_work *work, struct sluice_error *err)
{
    return tag(work, 1, err);
}

const struct dolma_tagger dolma_gopher_taggers[] = {
    { "gopher_v1", GOPHER_TYPES, 0, gopher_v1 },
    { "gopher_v2", GOPHER_TYPES, 0, gopher_v2 },
    { 0 },
};
