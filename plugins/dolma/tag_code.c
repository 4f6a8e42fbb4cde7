/* tag_code - Dolma's rules for code (code_redpajama_taggers_v1, code_copyright_comments_v1) and for
 * paragraphs of punctuation (not_alphanum_paragraph_v1). */
#include <string.h>

#include "dolma.h"
#include "dolma_class.h"

/* ---- code_redpajama_taggers_v1 ---- */

static int32_t redpajama(struct dolma_work *work, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    struct text_spans *lines = &work->scratch;
    size_t longest = 0;
    size_t sum = 0;
    size_t alnum = 0;
    size_t alpha = 0;
    size_t tokens = 1; /* of a split by runs of word characters and of others */
    int last = 0;
    double chars = (double)doc->chars;
    int32_t status = text_splitlines(doc->text, doc->n, lines, err);

    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t k = 0; k < lines->count; k++) {
        size_t length =
            dolma_chars(doc, lines->data[k].end) - dolma_chars(doc, lines->data[k].begin);
        longest = length > longest ? length : longest;
        sum += length;
    }
    for (size_t i = 0; i < doc->n;) {
        uint32_t cp;
        uint32_t classes;
        int kind;
        i += text_utf8_decode(doc->text, doc->n, i, &cp);
        classes = text_classes(cp);
        alnum += (classes & TEXT_ALNUM) != 0;
        alpha += (classes & TEXT_LETTER) != 0;
        kind = dolma_is_word(cp) ? 1 : dolma_is_space(cp) ? 0 : 2;
        tokens += kind != 0 && kind != last;
        last = kind;
    }
    dolma_out_span(&work->out, "max_line_length_doc", 0, doc->chars, (double)longest);
    dolma_out_span(&work->out, "avg_line_length_doc", 0, doc->chars,
                   lines->count > 0 ? (double)sum / (double)lines->count : 0);
    dolma_out_span(&work->out, "alnum_prop_doc", 0, doc->chars,
                   doc->chars > 0 ? (double)alnum / chars : 0);
    dolma_out_span(&work->out, "alpha_token_prop_doc", 0, doc->chars,
                   (double)alpha / (double)tokens);
    return SLUICE_OK;
}

/* ---- code_copyright_comments_v1 ---- */

/* Bytes of a character that is `letter` whatever its case; 0 = another. The i has two more cases
 * outside ASCII. */
static size_t same_letter(const char *text, size_t n, char letter)
{
    if (n > 0 && (text[0] | 0x20) == letter) {
        return 1;
    }
    return letter == 'i' && n > 1 && text[0] == '\xC4' && (text[1] == '\xB0' || text[1] == '\xB1')
               ? 2
               : 0;
}

static bool has_copyright(const char *text, size_t n)
{
    static const char word[] = "copyright";

    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        size_t k = 0;
        while (k < sizeof word - 1) {
            size_t length = same_letter(text + at, n - at, word[k]);
            if (length == 0) {
                break;
            }
            at += length;
            k++;
        }
        if (k == sizeof word - 1) {
            return true;
        }
    }
    return false;
}

/* The first comment in C's style, end of it included. */
static bool find_comment(const char *text, size_t n, size_t *begin, size_t *end)
{
    const char *open = memmem(text, n, "/*", 2);
    const char *close;

    if (open == NULL) {
        return false;
    }
    *begin = (size_t)(open - text);
    close = memmem(open + 2, n - *begin - 2, "*/", 2);
    if (close == NULL) {
        return false;
    }
    *end = (size_t)(close - text) + 2;
    return true;
}

static int32_t copyright_comments(struct dolma_work *work, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    const char *text = doc->text;
    size_t begin = 0;
    size_t end = 0;
    bool span = false;
    int32_t status = dolma_doc_lines(&work->doc, err);

    if (status != SLUICE_OK) {
        return status;
    }
    if (find_comment(text, doc->n, &begin, &end)) {
        span = has_copyright(text + begin, end - begin);
        begin = dolma_chars(doc, begin);
        end = dolma_chars(doc, end);
        if (span) {
            dolma_out_span(&work->out, "copyright_notice", begin, end, 1);
        }
    } else {
        size_t k = 0;
        begin = end = 0;
        for (; k < doc->lines.count; k++) {
            struct text_span line = doc->lines.data[k];
            size_t n = line.end - line.begin;
            const char *p = text + line.begin;
            if (n == 0) {
                end++;
            } else if (p[0] == '#' || (n > 1 && p[0] == p[1] && (p[0] == '/' || p[0] == '-'))) {
                end += dolma_chars(doc, line.end) - dolma_chars(doc, line.begin);
            } else {
                break;
            }
        }
        span = k > 0;
        if (span) {
            dolma_out_span(&work->out, "comment_block", 0, end, 1);
        }
    }
    dolma_out_span(&work->out, "doc", 0, doc->chars,
                   !span            ? 0
                   : doc->chars > 0 ? (double)(end - begin + 1) / (double)doc->chars
                                    : -1);
    return SLUICE_OK;
}

/* ---- not_alphanum_paragraph_v1 ---- */

static bool is_emoji(uint32_t cp)
{
    return (cp >= 0x1F300 && cp <= 0x1F64F) || (cp >= 0x1F680 && cp <= 0x1F6FF) ||
           (cp >= 0x2600 && cp <= 0x27BF);
}

static bool all_punctuation(const char *text, struct text_span span)
{
    for (size_t i = span.begin; i < span.end;) {
        uint32_t cp;
        i += text_utf8_decode(text, span.end, i, &cp);
        if (!dolma_is_punct(cp) && !dolma_is_space(cp) && !is_emoji(cp)) {
            return false;
        }
    }
    return true;
}

static int32_t not_alphanum(struct dolma_work *work, struct sluice_error *err)
{
    struct dolma_doc *doc = &work->doc;
    bool any = false;
    int32_t status = dolma_doc_paragraphs(doc, err);

    for (size_t k = 0; status == SLUICE_OK && k < doc->paragraphs.count; k++) {
        struct text_span span = doc->paragraphs.data[k];
        if (!dolma_blank(doc, span) && all_punctuation(doc->text, span)) {
            dolma_out_span(&work->out, "all_punct", dolma_chars(doc, span.begin),
                           dolma_chars(doc, span.end), 1);
            any = true;
        }
    }
    if (status == SLUICE_OK && !any) {
        dolma_out_span(&work->out, "all_punct", 0, doc->chars, 0);
    }
    return status;
}

const struct dolma_tagger dolma_code_taggers[] = {
    { "code_redpajama_taggers_v1",
      "max_line_length_doc|avg_line_length_doc|alnum_prop_doc|alpha_token_prop_doc", 0, redpajama },
    { "code_copyright_comments_v1", "copyright_notice|comment_block|doc", 0, copyright_comments },
    { "not_alphanum_paragraph_v1", "all_punct", 0, not_alphanum },
    { 0 },
};
