/* tag_pii - Dolma's PII taggers of regular expressions: pii_regex_v1, pii_regex_v2,
 * pii_regex_with_counts_v2 look at the whole text and keep what passes their rules,
 * pii_regex_with_counts_fast_v2 looks at each paragraph. */
#include "dolma.h"

#define EMAIL "EMAIL_ADDRESS"
#define PHONE "PHONE_NUMBER"
#define ADDRESS "IP_ADDRESS"
#define WINDOW 100           /* characters on either side that may say that it is no PII */
#define QUESTION_MARKS 10000 /* more of them and the fast tagger doesn't look */

static bool contains(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Steps back or on by at most n characters. */
static size_t back(const struct dolma_doc *doc, size_t at, int n)
{
    for (; n > 0 && at > 0; n--) {
        at = text_utf8_prev(doc->text, at, NULL);
    }
    return at;
}

static size_t ahead(const struct dolma_doc *doc, size_t at, int n)
{
    for (; n > 0 && at < doc->n; n--) {
        at = text_utf8_next(doc->text, doc->n, at);
    }
    return at;
}

/* Whether the surroundings speak of a book, a paper or a number of another kind. */
static bool false_positive(const struct dolma_doc *doc, const struct dolma_pii_span *span)
{
    size_t begin = back(doc, span->begin, WINDOW);
    size_t n = ahead(doc, span->end, WINDOW) - begin;
    const char *text = doc->text + begin;

    return contains(text, n, "isbn") || contains(text, n, "doi") || memchr(text, '#', n) != NULL;
}

/* Whether text[begin, end) without white space around it is "(". */
static bool lone_bracket(const struct dolma_doc *doc, size_t begin, size_t end)
{
    struct text_span rest =
        text_strip(doc->text, (struct text_span){ (uint32_t)begin, (uint32_t)end });

    return rest.end - rest.begin == 1 && doc->text[rest.begin] == '(';
}

/* The rule of pii_regex_v1: the first two pieces of the whole match between @ are addressee and
 * domain. */
static bool is_email(const struct dolma_doc *doc, const struct dolma_pii_span *span)
{
    const char *text = doc->text;
    const char *end = text + span->end;
    const char *at = memchr(text + span->begin, '@', span->end - span->begin);
    const char *next;

    if (at == NULL) {
        return false;
    }
    next = memchr(at + 1, '@', (size_t)(end - (at + 1)));
    next = next == NULL ? end : next;
    return !lone_bracket(doc, span->begin, (size_t)(at - text)) &&
           memchr(at + 1, '.', (size_t)(next - (at + 1))) != NULL;
}

static void put(struct dolma_work *work, const char *type, const struct dolma_pii_span *span)
{
    dolma_out_span(&work->out, type, dolma_chars(&work->doc, span->begin),
                   dolma_chars(&work->doc, span->end), 1);
}

/* The three of the whole text, *n of them. */
static int32_t tag_text(struct dolma_work *work, size_t *n, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    struct dolma_pii *pii = &work->pii;
    struct text_span all = { 0, (uint32_t)doc->n };
    bool url = false;
    int32_t status = dolma_pii_emails(pii, doc, all, err);

    *n = 0;
    for (size_t k = 0; status == SLUICE_OK && k < pii->n; k++) {
        if (is_email(doc, &pii->spans[k])) {
            put(work, EMAIL, &pii->spans[k]);
            ++*n;
        }
    }
    if (status == SLUICE_OK) {
        status = dolma_pii_phones(pii, doc, all, err);
    }
    if (status == SLUICE_OK && pii->n > 0) {
        status = dolma_pii_url(doc->text, doc->n, &url, err);
    }
    for (size_t k = 0; status == SLUICE_OK && !url && k < pii->n; k++) {
        if (!false_positive(doc, &pii->spans[k])) {
            put(work, PHONE, &pii->spans[k]);
            ++*n;
        }
    }
    if (status == SLUICE_OK) {
        status = dolma_pii_addresses(pii, doc, all, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < pii->n; k++) {
        if (!false_positive(doc, &pii->spans[k])) {
            put(work, ADDRESS, &pii->spans[k]);
            ++*n;
        }
    }
    return status;
}

static int32_t pii_regex(struct dolma_work *work, struct sluice_error *err)
{
    size_t n;
    int32_t status = tag_text(work, &n, err);

    if (status == SLUICE_OK) {
        dolma_out_span(&work->out, "doc", 0, work->doc.chars,
                       work->doc.n_words > 0 ? (double)n / (double)work->doc.n_words : -1);
    }
    return status;
}

static int32_t pii_regex_with_counts(struct dolma_work *work, struct sluice_error *err)
{
    size_t n;
    int32_t status = tag_text(work, &n, err);

    if (status == SLUICE_OK) {
        dolma_out_span(&work->out, "doc", 0, work->doc.chars,
                       work->doc.n_words > 0 ? (double)n / (double)work->doc.n_words : -1);
        dolma_out_span(&work->out, "doc_count", 0, work->doc.chars, (double)n);
    }
    return status;
}

static bool good_email(const struct dolma_doc *doc, const struct dolma_pii_span *span)
{
    return !lone_bracket(doc, span->local, span->at) &&
           memchr(doc->text + span->at + 1, '.', span->domain_end - span->at - 1) != NULL;
}

static int32_t tag_paragraph(struct dolma_work *work, struct text_span part, size_t *n,
                             size_t *chars, struct sluice_error *err)
{
    static const char *const types[] = { EMAIL, PHONE, ADDRESS };
    const struct dolma_doc *doc = &work->doc;
    struct dolma_pii *pii = &work->pii;
    int32_t status = SLUICE_OK;

    for (int k = 0; status == SLUICE_OK && k < 3; k++) {
        status = k == 0   ? dolma_pii_emails(pii, doc, part, err)
                 : k == 1 ? dolma_pii_phones(pii, doc, part, err)
                          : dolma_pii_addresses(pii, doc, part, err);
        for (size_t i = 0; status == SLUICE_OK && i < pii->n; i++) {
            const struct dolma_pii_span *span = &pii->spans[i];
            if (k > 0 || good_email(doc, span)) {
                put(work, types[k], span);
                ++*n;
                *chars += dolma_chars(doc, span->end) - dolma_chars(doc, span->begin);
            }
        }
    }
    return status;
}

static int32_t pii_regex_fast(struct dolma_work *work, struct sluice_error *err)
{
    const struct dolma_doc *doc = &work->doc;
    size_t marks = 0;
    size_t n = 0;
    size_t chars = 0;
    int32_t status = dolma_doc_paragraphs(&work->doc, err);

    for (size_t i = 0; i < doc->n; i++) {
        marks += doc->text[i] == '?';
    }
    for (size_t k = 0; status == SLUICE_OK && marks <= QUESTION_MARKS && k < doc->paragraphs.count;
         k++) {
        if (!dolma_blank(doc, doc->paragraphs.data[k])) {
            status = tag_paragraph(work, doc->paragraphs.data[k], &n, &chars, err);
        }
    }
    if (status == SLUICE_OK) {
        dolma_out_span(&work->out, "doc_count", 0, doc->chars, (double)n);
        /* The peer's share counts the span doc_count too, which is as long as the text. */
        dolma_out_span(&work->out, "doc_frac", 0, doc->chars,
                       doc->chars > 0 ? (double)(chars + doc->chars) / (double)doc->chars : -1);
    }
    return status;
}

#define SPANS EMAIL "|" PHONE "|" ADDRESS "|"

const struct dolma_tagger dolma_pii_taggers[] = {
    { "pii_regex_v1", SPANS "doc", 0, pii_regex },
    { "pii_regex_v2", SPANS "doc", 0, pii_regex },
    { "pii_regex_with_counts_v2", SPANS "doc|doc_count", 0, pii_regex_with_counts },
    { "pii_regex_with_counts_fast_v2", SPANS "doc_count|doc_frac", 0, pii_regex_fast },
    { 0 },
};
