/* measures.c - the measures of datatrove 0.10's stats blocks (measures.h). */
#include "measures.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static sluice_status name_add(struct measures *measures, bool whole, struct sluice_error *err,
                              const char *name, const char *rest)
{
    size_t n = strlen(name) + strlen(rest) + 1;
    char *copy;

    if (measures->n == MEASURES_MAX) {
        return sluice_fail(err, SLUICE_E_CONFIG, "blocks", "expected at most 128 statistics");
    }
    copy = malloc(n);
    if (copy == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    (void)snprintf(copy, n, "%s%s", name, rest);
    measures->whole[measures->n] = whole;
    measures->names[measures->n++] = copy;
    return SLUICE_OK;
}

static sluice_status names_of(struct measures *measures, const char *name,
                              const struct measure_limits *limits, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < limits->n; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)limits->value[i]);
        status = name_add(measures, false, err, name, text);
    }
    return status;
}

static sluice_status names_add(struct measures *measures, const char *const *names,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (; status == SLUICE_OK && *names != NULL; names++) {
        status = name_add(measures, false, err, *names, "");
    }
    return status;
}

/* A block of lines, paragraphs or sentences: its count, average length and the shares of short and
 * long ones. */
static sluice_status names_pieces(struct measures *measures, const char *plural,
                                  const char *singular, const char *tail,
                                  const struct measure_limits *shorter,
                                  const struct measure_limits *longer, struct sluice_error *err)
{
    char text[100];
    sluice_status status = name_add(measures, true, err, "n_", plural);

    if (status == SLUICE_OK) {
        (void)snprintf(text, sizeof text, "avg_%s_length", singular);
        status = name_add(measures, false, err, text, "");
    }
    if (status == SLUICE_OK) {
        (void)snprintf(text, sizeof text, "short_%s_ratio_%s", singular, tail);
        status = names_of(measures, text, shorter, err);
    }
    if (status == SLUICE_OK) {
        (void)snprintf(text, sizeof text, "long_%s_ratio_%s", singular, tail);
        status = names_of(measures, text, longer, err);
    }
    return status;
}

sluice_status measures_plan(struct measures *m, struct sluice_error *err)
{
    static const char *const doc[] = {
        "white_space_ratio", "non_alpha_digit_ratio", "digit_ratio", "uppercase_ratio",
        "elipsis_ratio",     "punctuation_ratio",     NULL
    };
    static const char *const averages[] = { "avg_word_length", "avg_words_per_line", NULL };
    static const char *const words[] = { "type_token_ratio", "uppercase_word_ratio",
                                         "capitalized_word_ratio", "stop_word_ratio", NULL };
    static const char *const lines[] = { "lines_ending_with_terminal_mark_ratio",
                                         "bullet_point_lines_ratio", "line_duplicates",
                                         "line_char_duplicates", NULL };
    static const char *const paragraphs[] = { "paragraph_duplicates", "paragraph_char_duplicates",
                                              NULL };
    sluice_status status = SLUICE_OK;

    if (m->blocks & BLOCK_DOC) {
        status = name_add(m, true, err, "length", "");
        status = status == SLUICE_OK ? names_add(m, doc, err) : status;
    }
    if (status == SLUICE_OK && m->blocks & BLOCK_WORD) {
        status = name_add(m, true, err, "n_words", "");
        status = status == SLUICE_OK ? names_add(m, averages, err) : status;
        status =
            status == SLUICE_OK ? names_of(m, "short_word_ratio_", &m->short_words, err) : status;
        status =
            status == SLUICE_OK ? names_of(m, "long_word_ratio_", &m->long_words, err) : status;
        status = status == SLUICE_OK ? names_add(m, words, err) : status;
    }
    if (status == SLUICE_OK && m->blocks & BLOCK_LINE) {
        status = names_pieces(m, "lines", "line", "chars_", &m->short_lines, &m->long_lines, err);
        status = status == SLUICE_OK ? names_add(m, lines, err) : status;
    }
    if (status == SLUICE_OK && m->blocks & BLOCK_PARAGRAPH) {
        status = names_pieces(m, "paragraphs", "paragraph", "", &m->short_paragraphs,
                              &m->long_paragraphs, err);
        status = status == SLUICE_OK ? names_add(m, paragraphs, err) : status;
    }
    if (status == SLUICE_OK && m->blocks & BLOCK_SENTENCE) {
        status = names_pieces(m, "sentences", "sentence", "", &m->short_sentences,
                              &m->long_sentences, err);
    }
    if (status == SLUICE_OK && m->blocks & BLOCK_CONTAMINATION) {
        status = name_add(m, false, err, "words_contamination_", m->contamination.items[0]);
    }
    return status;
}

void measures_deinit(struct measures *measures)
{
    for (int i = 0; i < measures->n; i++) {
        free(measures->names[i]);
    }
    measures->n = 0;
}

void measures_scratch_deinit(struct measures_scratch *scratch)
{
    text_scratch_deinit(&scratch->text);
    text_spans_deinit(&scratch->spans);
    text_spans_deinit(&scratch->lines);
    text_buffer_deinit(&scratch->simplified);
    text_word_cache_deinit(&scratch->cache);
}

/* ---- code points ---- */

struct ranges {
    uint32_t first, last;
};

static bool within(const struct ranges *ranges, size_t n, uint32_t cp)
{
    for (size_t i = 0; i < n; i++) {
        if (cp <= ranges[i].last) {
            return cp >= ranges[i].first;
        }
    }
    return false;
}

/* Python's str.isdigit: decimal digits, and what Unicode types as Digit (superscripts, circled
 * ones). */
static bool is_digit(uint32_t cp, uint32_t classes)
{
    static const struct ranges digits[] = {
        { 0xB2, 0xB3 },       { 0xB9, 0xB9 },       { 0x1369, 0x1371 },   { 0x19DA, 0x19DA },
        { 0x2070, 0x2070 },   { 0x2074, 0x2079 },   { 0x2080, 0x2089 },   { 0x2460, 0x2468 },
        { 0x2474, 0x247C },   { 0x2488, 0x2490 },   { 0x24EA, 0x24EA },   { 0x24F5, 0x24FD },
        { 0x24FF, 0x24FF },   { 0x2776, 0x277E },   { 0x2780, 0x2788 },   { 0x278A, 0x2792 },
        { 0x10A40, 0x10A43 }, { 0x10E60, 0x10E68 }, { 0x11052, 0x1105A }, { 0x1F100, 0x1F10A },
    };
    return (classes & TEXT_DIGIT) != 0 ||
           ((classes & TEXT_NUMBER) != 0 && within(digits, sizeof digits / sizeof digits[0], cp));
}

/* Category Lt: capital and small letter in one. */
static bool is_title(uint32_t cp)
{
    static const struct ranges titles[] = {
        { 0x1C5, 0x1C5 },   { 0x1C8, 0x1C8 },   { 0x1CB, 0x1CB },   { 0x1F2, 0x1F2 },
        { 0x1F88, 0x1F8F }, { 0x1F98, 0x1F9F }, { 0x1FA8, 0x1FAF }, { 0x1FBC, 0x1FBC },
        { 0x1FCC, 0x1FCC }, { 0x1FFC, 0x1FFC },
    };
    return cp >= 0x1C5 && cp <= 0x1FFC && within(titles, sizeof titles / sizeof titles[0], cp);
}

static double ratio(size_t above, size_t below)
{
    return below == 0 ? 0.0 : (double)above / (double)below;
}

/* ---- blocks ---- */

static double *measure_doc(const struct text_doc *doc, double *out)
{
    size_t spaces = 0;
    size_t others = 0;
    size_t digits = 0;
    size_t uppers = 0;
    size_t ellipses = 0;
    size_t punctuation = 0;
    unsigned dots = 0;

    for (size_t at = 0; at < doc->len;) {
        uint32_t cp;
        uint32_t classes;
        bool digit;
        at += text_utf8_decode(doc->text, doc->len, at, &cp);
        classes = text_classes(cp);
        digit = is_digit(cp, classes);
        spaces += (classes & TEXT_SPACE) != 0;
        digits += digit;
        others += !digit && (classes & TEXT_LETTER) == 0;
        uppers += (classes & TEXT_UPPER) != 0;
        punctuation += (classes & TEXT_PUNCTUATION) != 0;
        dots = cp == '.' ? dots + 1 : 0;
        if (dots == 3) {
            ellipses += 3;
            dots = 0;
        }
        ellipses += cp == 0x2026;
    }
    *out++ = (double)doc->chars;
    *out++ = ratio(spaces, doc->chars);
    *out++ = ratio(others, doc->chars);
    *out++ = ratio(digits, doc->chars);
    *out++ = ratio(uppers, doc->chars);
    *out++ = ratio(ellipses, doc->chars);
    *out++ = ratio(punctuation, doc->chars);
    return out;
}

/* Python's str.isupper and str.istitle of a word, and its length. */
static size_t word_case(const char *word, size_t n, bool *upper, bool *title)
{
    bool cased = false;
    bool after_cased = false;
    size_t chars = 0;

    *upper = *title = true;
    for (size_t at = 0; at < n; chars++) {
        uint32_t cp;
        uint32_t classes;
        bool begins;
        at += text_utf8_decode(word, n, at, &cp);
        classes = text_classes(cp);
        begins = is_title(cp);
        if ((classes & TEXT_UPPER) != 0 || begins) {
            *upper = *upper && !begins;
            *title = *title && !after_cased;
            cased = after_cased = true;
        } else if ((classes & TEXT_LOWER) != 0) {
            *upper = false;
            *title = *title && after_cased;
            cased = after_cased = true;
        } else {
            after_cased = false;
        }
    }
    *upper = *upper && cased;
    *title = *title && cased;
    return chars;
}

static bool listed(const struct sluice_list *list, const char *word, size_t n)
{
    for (uint64_t i = 0; i < list->n; i++) {
        if (strlen(list->items[i]) == n && memcmp(list->items[i], word, n) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status measure_words(const struct measures *measures, const struct text_doc *doc,
                                   struct measures_scratch *scratch, double **out,
                                   struct sluice_error *err)
{
    size_t shorter[MEASURES_LIMITS] = { 0 };
    size_t longer[MEASURES_LIMITS] = { 0 };
    size_t chars = 0;
    size_t uppers = 0;
    size_t titles = 0;
    size_t stops = 0;
    struct text_duplicates repeated;
    sluice_status status = text_splitlines(doc->text, doc->len, &scratch->spans, err);

    if (status == SLUICE_OK) {
        status =
            text_duplicates(doc->text, doc->words, doc->n_words, &scratch->text, &repeated, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t i = 0; i < doc->n_words; i++) {
        const char *word = doc->text + doc->words[i].begin;
        size_t size = doc->words[i].end - doc->words[i].begin;
        bool upper;
        bool title;
        size_t n = word_case(word, size, &upper, &title);
        chars += n;
        uppers += upper;
        titles += title;
        stops += listed(&measures->stop_words, word, size);
        for (int k = 0; k < measures->short_words.n; k++) {
            shorter[k] += n <= measures->short_words.value[k];
        }
        for (int k = 0; k < measures->long_words.n; k++) {
            longer[k] += n >= measures->long_words.value[k];
        }
    }
    *(*out)++ = (double)doc->n_words;
    *(*out)++ = ratio(chars, doc->n_words);
    *(*out)++ = ratio(doc->n_words, scratch->spans.count);
    for (int k = 0; k < measures->short_words.n; k++) {
        *(*out)++ = ratio(shorter[k], doc->n_words);
    }
    for (int k = 0; k < measures->long_words.n; k++) {
        *(*out)++ = ratio(longer[k], doc->n_words);
    }
    *(*out)++ = ratio(doc->n_words - repeated.elements, doc->n_words);
    *(*out)++ = ratio(uppers, doc->n_words);
    *(*out)++ = ratio(titles, doc->n_words);
    *(*out)++ = ratio(stops, doc->n_words);
    return SLUICE_OK;
}

/* Average length and the shares of short and long pieces, of n of them; their code points in
 * *chars. */
static double *measure_pieces(const struct text_doc *doc, const struct text_span *spans, size_t n,
                              const struct measure_limits *shorter,
                              const struct measure_limits *longer, size_t *chars, double *out)
{
    size_t below[MEASURES_LIMITS] = { 0 };
    size_t above[MEASURES_LIMITS] = { 0 };

    *chars = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = text_utf8_count(doc->text + spans[i].begin, spans[i].end - spans[i].begin);
        *chars += length;
        for (int k = 0; k < shorter->n; k++) {
            below[k] += length <= shorter->value[k];
        }
        for (int k = 0; k < longer->n; k++) {
            above[k] += length >= longer->value[k];
        }
    }
    *out++ = ratio(*chars, n);
    for (int k = 0; k < shorter->n; k++) {
        *out++ = ratio(below[k], n);
    }
    for (int k = 0; k < longer->n; k++) {
        *out++ = ratio(above[k], n);
    }
    return out;
}

static bool is_blank(const struct text_doc *doc, struct text_span span)
{
    struct text_span rest = text_strip(doc->text, span);

    return rest.begin == rest.end;
}

/* Whether the first code point of the stripped line is one of - * and the bullet. */
static bool is_bullet(const struct text_doc *doc, struct text_span span)
{
    struct text_span rest = text_strip(doc->text, span);
    size_t n = rest.end - rest.begin;
    const char *p = doc->text + rest.begin;

    return n > 0 && (*p == '-' || *p == '*' || (n >= 3 && memcmp(p, "\xe2\x80\xa2", 3) == 0));
}

static sluice_status measure_lines(const struct measures *measures, const struct text_doc *doc,
                                   struct measures_scratch *scratch, double **out,
                                   struct sluice_error *err)
{
    struct text_spans *lines = &scratch->lines;
    size_t ends = 0;
    size_t bullets = 0;
    size_t chars;
    size_t all;
    struct text_duplicates repeated = { 0 };
    sluice_status status = text_split_newline(doc->text, doc->len, lines, err);

    if (status != SLUICE_OK) {
        return status;
    }
    all = lines->count;
    if (measures->ignore_empty_lines) {
        lines->count = 0;
        for (size_t i = 0; i < all; i++) {
            if (!is_blank(doc, lines->data[i])) {
                lines->data[lines->count++] = lines->data[i];
            }
        }
    }
    status = text_duplicates(doc->text, lines->data, lines->count, &scratch->text, &repeated, err);
    for (size_t i = 0; i < lines->count; i++) {
        struct text_span line = lines->data[i];
        ends += line.end > line.begin && strchr(".?!\"'", doc->text[line.end - 1]) != NULL &&
                doc->text[line.end - 1] != '\0';
        bullets += is_bullet(doc, line);
    }
    *(*out)++ = (double)all;
    *out = measure_pieces(doc, lines->data, lines->count, &measures->short_lines,
                          &measures->long_lines, &chars, *out);
    *(*out)++ = ratio(ends, lines->count);
    *(*out)++ = ratio(bullets, lines->count);
    *(*out)++ = ratio(repeated.elements, lines->count);
    *(*out)++ = ratio(repeated.chars, chars);
    return status;
}

/* Python's [p for p in text.split("\n\n") if p.strip()] */
static sluice_status split_paragraphs(const struct text_doc *doc, struct text_spans *out,
                                      struct sluice_error *err)
{
    size_t begin = 0;
    sluice_status status = SLUICE_OK;

    out->count = 0;
    while (status == SLUICE_OK && begin <= doc->len) {
        size_t end = text_find(doc->text, doc->len, begin, "\n\n", 2);
        struct text_span span = { (uint32_t)begin, (uint32_t)end };
        if (!is_blank(doc, span)) {
            status = text_spans_push(out, span.begin, span.end, err);
        }
        if (end == doc->len) {
            break;
        }
        begin = end + 2;
    }
    return status;
}

static sluice_status measure_paragraphs(const struct measures *measures, const struct text_doc *doc,
                                        struct measures_scratch *scratch, double **out,
                                        struct sluice_error *err)
{
    struct text_spans *paragraphs = &scratch->lines;
    struct text_duplicates repeated;
    size_t chars;
    sluice_status status = split_paragraphs(doc, paragraphs, err);

    if (status == SLUICE_OK) {
        status = text_duplicates(doc->text, paragraphs->data, paragraphs->count, &scratch->text,
                                 &repeated, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    *(*out)++ = (double)paragraphs->count;
    *out = measure_pieces(doc, paragraphs->data, paragraphs->count, &measures->short_paragraphs,
                          &measures->long_paragraphs, &chars, *out);
    *(*out)++ = ratio(repeated.elements, paragraphs->count);
    *(*out)++ = ratio(repeated.chars, chars);
    return SLUICE_OK;
}

/* The share of the listed words among those of the simplified text. */
static sluice_status measure_contamination(const struct measures *measures,
                                           const struct text_doc *doc,
                                           struct measures_scratch *scratch, double **out,
                                           struct sluice_error *err)
{
    struct text_buffer *plain = &scratch->simplified;
    size_t hits = 0;
    sluice_status status = text_simplify(doc->text, doc->len, TEXT_SIMPLIFY_ALL, plain, err);

    if (status == SLUICE_OK) {
        status = text_words_cached(measures->words_rule, plain->data == NULL ? "" : plain->data,
                                   plain->len, &scratch->cache, &scratch->spans, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t i = 0; i < scratch->spans.count; i++) {
        struct text_span span = scratch->spans.data[i];
        hits += listed(&measures->contamination, plain->data + span.begin, span.end - span.begin);
    }
    *(*out)++ = ratio(hits, scratch->spans.count);
    return SLUICE_OK;
}

sluice_status measures_take(const struct measures *measures, const struct text_doc *doc,
                            const struct text_span *sentences, size_t n_sentences,
                            struct measures_scratch *scratch, double *values,
                            struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (measures->blocks & BLOCK_DOC) {
        values = measure_doc(doc, values);
    }
    if (measures->blocks & BLOCK_WORD) {
        status = measure_words(measures, doc, scratch, &values, err);
    }
    if (status == SLUICE_OK && measures->blocks & BLOCK_LINE) {
        status = measure_lines(measures, doc, scratch, &values, err);
    }
    if (status == SLUICE_OK && measures->blocks & BLOCK_PARAGRAPH) {
        status = measure_paragraphs(measures, doc, scratch, &values, err);
    }
    if (status == SLUICE_OK && measures->blocks & BLOCK_SENTENCE) {
        size_t chars;
        *values++ = (double)n_sentences;
        values = measure_pieces(doc, sentences, n_sentences, &measures->short_sentences,
                                &measures->long_sentences, &chars, values);
    }
    if (status == SLUICE_OK && measures->blocks & BLOCK_CONTAMINATION) {
        status = measure_contamination(measures, doc, scratch, &values, err);
    }
    return status;
}
