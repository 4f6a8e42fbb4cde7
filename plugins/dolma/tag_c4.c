/* tag_c4 - Dolma's c4_v1 and c4_v2: spans of lines that C4 would drop, and flags of the
 * document. */
#include "dolma.h"

#define C4_TYPES                                                 \
    "lines_with_no_ending_punctuation|lines_with_too_few_words|" \
    "has_naughty_word|has_javascript|has_lorem_ipsum|has_curly_brace|line_count"
#define MIN_WORDS 3

static int32_t find_phrases(struct dolma_work *work, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    if (!work->has_phrases) {
        status =
            dolma_phrases_find(work->phrases, work->doc.text, work->doc.n, &work->phrase_bits, err);
        work->has_phrases = status == SLUICE_OK;
    }
    return status;
}

/* Whether a stripped line ends as a sentence does. */
static bool line_ends(const char *text, struct text_span line)
{
    struct text_span rest = text_rstrip(text, line);
    char last = rest.end > rest.begin ? text[rest.end - 1] : '\0';

    return last == '.' || last == '?' || last == '!' || last == '"';
}

/* Lower-casing, which c4_v2 does before it counts, makes two characters of U+0130. */
static size_t count_dotted(const char *text, size_t begin, size_t end)
{
    size_t n = 0;

    for (const char *p = text + begin; begin < end; n++) {
        p = memmem(p, (size_t)(text + end - p), "\xC4\xB0", 2);
        if (p == NULL) {
            break;
        }
        p += 2;
    }
    return n;
}

/* The spans of lines, of one type or both in turn: which type comes first decides the order of the
 * attributes. */
static void tag_lines(struct dolma_work *work, bool lowered, bool endings, bool few)
{
    struct dolma_doc *doc = &work->doc;
    const struct text_spans *lines = &doc->lines;
    size_t word = 0;
    size_t dotted = 0;
    bool any_dotted = lowered && !doc->ascii && count_dotted(doc->text, 0, doc->n) > 0;

    for (size_t k = 0; k < lines->count; k++) {
        struct text_span line = lines->data[k];
        size_t words = 0;
        size_t start = dolma_chars(doc, line.begin) + dotted;
        size_t end;
        if (any_dotted) {
            dotted += count_dotted(doc->text, line.begin, line.end);
        }
        end = dolma_chars(doc, line.end) + dotted + (k + 1 < lines->count ? 1 : 0);
        for (; word < doc->n_words && doc->words[word].begin < line.end; word++) {
            words++;
        }
        if (endings && !line_ends(doc->text, line)) {
            dolma_out_span(&work->out, "lines_with_no_ending_punctuation", start, end, 1);
        }
        if (few && words < MIN_WORDS) {
            dolma_out_span(&work->out, "lines_with_too_few_words", start, end, 1);
        }
    }
}

static void tag_flag(struct dolma_work *work, bool set, const char *type)
{
    if (set) {
        dolma_out_span(&work->out, type, 0, work->doc.chars, 1);
    }
}

static bool has_brace(const struct dolma_doc *doc)
{
    return memchr(doc->text, '{', doc->n) != NULL;
}

static int32_t c4_v1(struct dolma_work *work, struct sluice_error *err)
{
    struct dolma_doc *doc = &work->doc;
    int32_t status = dolma_doc_lines(doc, err);

    if (status == SLUICE_OK) {
        status = find_phrases(work, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    tag_lines(work, false, true, false);
    tag_lines(work, false, false, true);
    tag_flag(work, (work->phrase_bits & DOLMA_HAS_BAD_WORD) != 0, "has_naughty_word");
    tag_flag(work, (work->phrase_bits & DOLMA_HAS_JAVASCRIPT_WORD) != 0, "has_javascript");
    tag_flag(work, (work->phrase_bits & DOLMA_HAS_LOREM_IPSUM) != 0, "has_lorem_ipsum");
    tag_flag(work, has_brace(doc), "has_curly_brace");
    dolma_out_span(&work->out, "line_count", 0, doc->chars, (double)doc->lines.count);
    return SLUICE_OK;
}

static int32_t c4_v2(struct dolma_work *work, struct sluice_error *err)
{
    struct dolma_doc *doc = &work->doc;
    int32_t status = dolma_doc_lines(doc, err);

    if (status == SLUICE_OK) {
        status = find_phrases(work, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    tag_flag(work, has_brace(doc), "has_curly_brace");
    tag_flag(work, (work->phrase_bits & DOLMA_HAS_LOREM_IPSUM) != 0, "has_lorem_ipsum");
    tag_flag(work, (work->phrase_bits & DOLMA_HAS_JAVASCRIPT) != 0, "has_javascript");
    tag_flag(work, (work->phrase_bits & DOLMA_HAS_BAD_WORD) != 0, "has_naughty_word");
    tag_lines(work, true, true, true);
    dolma_out_span(&work->out, "line_count", 0, doc->chars, (double)doc->lines.count);
    return SLUICE_OK;
}

const struct dolma_tagger dolma_c4_taggers[] = {
    { "c4_v1", C4_TYPES, DOLMA_NEEDS_WORD_LIST, c4_v1 },
    { "c4_v2", C4_TYPES, DOLMA_NEEDS_WORD_LIST, c4_v2 },
    { 0 },
};
