/* text_c4.c — see text_c4.h. */
#include "text/text_c4.h"

#include "text/text_decode.h"
#include "text/text_lines.h"
#include "text/text_measure.h"
#include "text/text_scan.h"
#include "text/text_sentences.h"
#include "text/text_verdict.h"

#include <stdio.h>

static const char *const names[] = { "lorem_ipsum", "curly_bracket", "too_few_sentences" };

static const char *const policies[] = {
    "terms of use", "privacy policy", "cookie policy",
    "uses cookies", "use of cookies", "use cookies",
};

void text_c4_defaults(struct text_c4_options *options)
{
    *options = (struct text_c4_options){
        .split_lines = true,
        .remove_citations = true,
        .filter_no_terminal_punct = true,
        .min_num_sentences = 5,
        .min_words_per_line = 3,
        .max_word_length = 1000,
        .filter_lorem_ipsum = true,
        .filter_javascript = true,
        .filter_curly_bracket = true,
        .filter_policy = true,
    };
}

const char *text_c4_reason(int32_t reason)
{
    return text_reason_name(names, TEXT_C4_REASONS, reason);
}

/* Whether no word of the line can be longer than `longest` code points: each stretch of that many
 * bytes holds a space. Looks at a few bytes of each; false when it can't tell. */
static bool has_spaces(const unsigned char *p, const unsigned char *end, int64_t longest)
{
    if (longest < 0) {
        return longest == -1; /* -1: there is no longest */
    }
    while (end - p > longest) {
        const unsigned char *q = p + longest;
        while (q > p && *q != ' ') {
            q--;
        }
        if (*q != ' ') {
            return false;
        }
        p = q + 1;
    }
    return true;
}

/* Words of a line by white space, counted up to `enough`, and whether one is longer than `longest`
 * code points. */
static size_t count_words(const unsigned char *p, const unsigned char *end, int64_t longest,
                          int64_t enough, bool *too_long)
{
    bool sure = has_spaces(p, end, longest);
    size_t words = 0;
    int64_t chars = 0;
    *too_long = false;
    while (p < end && !(sure && (int64_t)words >= enough)) {
        uint32_t cp;
        p += text_decode(p, end, &cp);
        if ((text_table_classes(cp) & TEXT_SPACE) != 0) {
            chars = 0;
            continue;
        }
        words += chars++ == 0;
        *too_long |= chars > longest && longest != -1;
    }
    return words;
}

/* Length of the citation mark at p, which is a [: [12] with decimal digits of any script or none,
 * [edit] or [citation needed]; 0 when there is none. */
static size_t citation_len(const unsigned char *p, const unsigned char *end)
{
    size_t left = (size_t)(end - p);
    const unsigned char *q = p + 1;
    while (q < end) {
        uint32_t cp;
        size_t n = text_decode(q, end, &cp);
        if (cp == ']') {
            return (size_t)(q - p) + 1;
        }
        if ((text_table_classes(cp) & TEXT_DIGIT) == 0) {
            break;
        }
        q += n;
    }
    if (left >= 6 && memcmp(p, "[edit]", 6) == 0) {
        return 6;
    }
    return left >= 17 && memcmp(p, "[citation needed]", 17) == 0 ? 17 : 0;
}

/* Appends the line to out, which has room, without its citation marks; true when it had any. */
static bool append_without_citations(const unsigned char *p, const unsigned char *end,
                                     struct text_buffer *out)
{
    bool found = false;
    while (p < end) {
        const unsigned char *bracket = memchr(p, '[', (size_t)(end - p));
        const unsigned char *stop = bracket == NULL ? end : bracket;
        size_t n = (size_t)(stop - p), mark = bracket == NULL ? 0 : citation_len(bracket, end);
        n += bracket != NULL && mark == 0; /* a [ that stays */
        memcpy(out->data + out->len, p, n);
        out->len += n;
        p += n + mark;
        found |= mark > 0;
    }
    return found;
}

/* What a kept line must not hold, in lower case. */
struct phrases {
    bool lorem_ipsum, javascript, policy;
};

#define KELVIN "\xE2\x84\xAA" /* its lower case is k */

/* Whether a text may hold one of the phrases: most hold not even these parts of them. */
static bool may_hold_phrases(const char *text, size_t len, bool ascii)
{
    static const unsigned char parts[][3] = {
        { 'p', 's', 'u' }, /* lorem ipsum */
        { 'j', 'a', 'v' }, /* javascript */
        { 'r', 'm', 's' }, /* terms of use */
        { 'v', 'a', 'c' }, /* privacy policy */
        { 'o', 'k', 'i' }, /* cookie policy, uses cookies … */
    };
    return text_scan_folded(text_bytes(text), len, parts, sizeof parts / sizeof parts[0]) ||
           (!ascii && text_contains(text, len, KELVIN, 3));
}

/* Finds the phrases in the text's lower case. Of the code points outside ASCII only the Kelvin sign
 * has a lower case in ASCII. `lower` is overwritten. */
static int32_t find_phrases(const char *text, size_t len, struct text_buffer *lower,
                            struct phrases *found, struct sluice_error *err)
{
    lower->len = 0;
    int32_t status = text_buffer_reserve(lower, len + 1, err);
    if (status != SLUICE_OK) {
        return status;
    }
    const unsigned char *p = text_bytes(text), *end = p + len;
    unsigned char *begin = (unsigned char *)lower->data, *to = begin;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = p[i];
        to[i] = (unsigned char)(byte | (unsigned)((unsigned)(byte - 'A') < 26) << 5);
    }
    if (text_contains(text, len, KELVIN, 3)) {
        for (to = begin; p < end;) {
            if (end - p >= 3 && memcmp(p, KELVIN, 3) == 0) {
                *to++ = 'k';
                p += 3;
            } else {
                *to++ = (unsigned char)(*p | (unsigned)((unsigned)(*p - 'A') < 26) << 5);
                p++;
            }
        }
        len = (size_t)(to - begin);
    }
    const char *data = lower->data;
    found->lorem_ipsum = text_contains(data, len, "lorem ipsum", 11);
    found->javascript = text_contains(data, len, "javascript", 10);
    found->policy = false;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        found->policy |= text_contains(data, len, policies[i], strlen(policies[i]));
    }
    return SLUICE_OK;
}

static bool ends_well(const char *line, size_t len)
{
    return len > 0 && strchr(".?!\"'", line[len - 1]) != NULL && line[len - 1] != '\0' &&
           !text_ends_with(line, len, "...", 3);
}

/* Everything about one call. */
struct editor {
    const struct text_doc *doc;
    const struct text_c4_options *options;
    struct text_scratch *scratch;
    struct text_buffer *out;
    struct phrases anywhere; /* in the whole text: most texts hold none */
    struct text_c4_counts counts;
    struct text_spans *sentences; /* of a line */
    struct text_verdict *verdict;
    struct sluice_error *err;
};

/* The peer's pieces hold all of a text, so that one without tokens is a sentence too. */
static int32_t count_sentences(struct editor *editor, const char *text, size_t len, size_t *count)
{
    const struct text_c4_options *options = editor->options;
    if (options->sentences == TEXT_SENTENCES_MARKS) {
        *count = text_sentence_count(text, len);
        return SLUICE_OK;
    }
    int32_t status = text_sentences_cached(options->sentences, text, len, options->cache,
                                           editor->sentences, editor->err);
    *count = editor->sentences->count > 0 ? editor->sentences->count : 1;
    return status;
}

/* The lines to judge: those of the text, or its sentences. */
static int32_t find_lines(struct editor *editor, struct text_spans *lines)
{
    const struct text_c4_options *options = editor->options;
    const struct text_doc *doc = editor->doc;
    if (options->split_lines) {
        return text_splitlines(doc->text, doc->len, lines, editor->err);
    }
    int32_t status = text_sentences_cached(options->sentences, doc->text, doc->len, options->cache,
                                           lines, editor->err);
    if (status != SLUICE_OK || options->sentences != TEXT_SENTENCES_SPACY_EN) {
        return status;
    }
    if (lines->count == 0) {
        return text_spans_push(lines, 0, (uint32_t)doc->len, editor->err);
    }
    /* The peer's pieces end where sentences do. */
    for (size_t i = 0; i < lines->count; i++) {
        lines->data[i].begin = i == 0 ? 0 : lines->data[i - 1].end;
    }
    lines->data[lines->count - 1].end = (uint32_t)doc->len;
    return SLUICE_OK;
}

/* Judges line i; appends it to the output when it is kept. */
static int32_t edit_line(struct editor *editor, struct text_span line, size_t i)
{
    const struct text_c4_options *options = editor->options;
    struct text_c4_counts *counts = &editor->counts;
    struct text_buffer *out = editor->out;
    line = text_strip(editor->doc->text, line);
    const unsigned char *text = text_bytes(editor->doc->text);
    const unsigned char *p = text + line.begin, *end = text + line.end;
    size_t start = out->len;
    bool too_long, cited = false;
    size_t words =
        count_words(p, end, options->max_word_length, options->min_words_per_line, &too_long);
    if (too_long) {
        counts->too_long_word++;
        return SLUICE_OK;
    }
    if (counts->kept > 0) {
        out->data[out->len++] = options->split_lines ? '\n' : ' ';
    }
    size_t first = out->len;
    if (options->remove_citations) {
        cited = append_without_citations(p, end, out);
    } else {
        memcpy(out->data + out->len, p, (size_t)(end - p));
        out->len += (size_t)(end - p);
    }
    const char *edited = out->data + first;
    size_t len = out->len - first;
    out->len = start; /* until it is kept */
    if (options->filter_no_terminal_punct && !ends_well(edited, len)) {
        counts->no_terminal_punct++;
        return SLUICE_OK;
    }
    if ((int64_t)words < options->min_words_per_line) {
        counts->too_few_words++;
        return SLUICE_OK;
    }
    struct phrases here = editor->anywhere;
    if (cited || here.lorem_ipsum || here.javascript || here.policy) {
        int32_t status = find_phrases(edited, len, &editor->scratch->bytes[0], &here, editor->err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (options->filter_lorem_ipsum && here.lorem_ipsum) {
        text_drop(editor->verdict, TEXT_C4_LOREM_IPSUM, names[0], (double)i, 0);
        return SLUICE_OK;
    }
    if (options->filter_javascript && here.javascript) {
        counts->javascript++;
        return SLUICE_OK;
    }
    if (options->filter_curly_bracket && memchr(edited, '{', len) != NULL) {
        text_drop(editor->verdict, TEXT_C4_CURLY_BRACKET, names[1], (double)i, 0);
        return SLUICE_OK;
    }
    if (options->filter_policy && here.policy) {
        counts->policy++;
        return SLUICE_OK;
    }
    if ((int64_t)counts->sentences < options->min_num_sentences) {
        size_t count = 1;
        int32_t status =
            !options->split_lines ? SLUICE_OK : count_sentences(editor, edited, len, &count);
        if (status != SLUICE_OK) {
            return status;
        }
        counts->sentences += count;
    }
    counts->kept++;
    out->len = first + len;
    return SLUICE_OK;
}

/* Python's str.strip() on the output. */
static void strip_out(struct text_buffer *out)
{
    struct text_span span = text_strip(out->data, (struct text_span){ 0, (uint32_t)out->len });
    out->len = span.end - span.begin;
    if (span.begin > 0) {
        memmove(out->data, out->data + span.begin, out->len);
    }
}

int32_t text_c4_quality(const struct text_doc *doc, const struct text_c4_options *options,
                        struct text_scratch *scratch, struct text_buffer *out,
                        struct text_c4_counts *counts, struct text_verdict *verdict,
                        struct sluice_error *err)
{
    struct editor editor = {
        .doc = doc,
        .options = options,
        .scratch = scratch,
        .sentences = &scratch->more,
        .out = out,
        .verdict = verdict,
        .err = err,
    };
    struct text_spans *lines = &scratch->spans;
    text_keep(verdict);
    out->len = 0;
    int32_t status = find_lines(&editor, lines);
    if (status == SLUICE_OK) {
        /* Sentences may touch, so that joining adds a byte each. */
        status = text_buffer_reserve(out, doc->len + lines->count + 1, err);
    }
    if (status == SLUICE_OK && may_hold_phrases(doc->text, doc->len, doc->ascii)) {
        status = find_phrases(doc->text, doc->len, &scratch->bytes[0], &editor.anywhere, err);
    }
    for (size_t i = 0; i < lines->count && status == SLUICE_OK && verdict->reason == 0; i++) {
        editor.counts.lines++;
        status = edit_line(&editor, lines->data[i], i);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (verdict->reason == 0 && (int64_t)editor.counts.sentences < options->min_num_sentences) {
        text_drop(verdict, TEXT_C4_TOO_FEW_SENTENCES, names[2], (double)editor.counts.sentences,
                  (double)options->min_num_sentences);
    }
    if (counts != NULL) {
        *counts = editor.counts;
    }
    strip_out(out);
    return SLUICE_OK;
}

void text_c4_paragraph(const struct text_doc *doc, int64_t min_paragraphs,
                       int64_t min_paragraph_len, struct text_verdict *verdict)
{
    const unsigned char *p = text_bytes(doc->text), *end = p + doc->len;
    int64_t lines = 0, long_lines = 0;
    text_keep(verdict);
    for (;;) {
        const unsigned char *at = memchr(p, '\n', (size_t)(end - p));
        const unsigned char *stop = at == NULL ? end : at;
        size_t len = (size_t)(stop - p);
        lines++;
        long_lines += (int64_t)text_utf8_count((const char *)p, len) >= min_paragraph_len;
        if (at == NULL) {
            break;
        }
        p = at + 1;
    }
    if (lines < min_paragraphs || long_lines < min_paragraphs) {
        char name[36];
        snprintf(name, sizeof name, "< %lld paragraphs", (long long)min_paragraphs);
        text_drop(verdict, 1, name, (double)long_lines, (double)min_paragraphs);
    }
}
