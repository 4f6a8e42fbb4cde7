#define PCRE2_CODE_UNIT_WIDTH 8

#include "dolma_pii.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include <sluice_arrays.h>

void dolma_pii_deinit(struct dolma_pii *pii)
{
    free(pii->spans);
    memset(pii, 0, sizeof *pii);
}

static int32_t add(struct dolma_pii *pii, struct dolma_pii_span span, struct sluice_error *err)
{
    if (pii->n == pii->capacity) {
        size_t capacity = pii->capacity * 2 + 32;
        struct dolma_pii_span *spans = realloc(pii->spans, capacity * sizeof *spans);
        if (spans == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for PII");
        }
        pii->spans = spans;
        pii->capacity = capacity;
    }
    pii->spans[pii->n++] = span;
    return SLUICE_OK;
}

/* ---- characters ---- */

enum {
    IS_SPACE = 1, /* \s */
    IS_AT = 2,
    IS_PREFIX = 4, /* [.\s@,?!;:)(] */
    IS_DOMAIN = 8, /* [^\s@,?!;:)(] */
};

/* The character at `at` < end: its kind, and its length in *n. */
static unsigned kind_at(const char *text, size_t end, size_t at, size_t *n)
{
    unsigned char c = (unsigned char)text[at];
    uint32_t cp;

    *n = 1;
    switch (c) {
    case '@':
        return IS_AT | IS_PREFIX;
    case '.':
        return IS_PREFIX | IS_DOMAIN;
    case ',':
    case '?':
    case '!':
    case ';':
    case ':':
    case ')':
    case '(':
        return IS_PREFIX;
    default:
        break;
    }
    if (c < 0x80) {
        return (text_classes(c) & TEXT_SPACE) != 0 ? IS_SPACE | IS_PREFIX : IS_DOMAIN;
    }
    *n = text_utf8_decode(text, end, at, &cp);
    return (text_classes(cp) & TEXT_SPACE) != 0 ? IS_SPACE | IS_PREFIX : IS_DOMAIN;
}

static unsigned kind_before(const char *text, size_t at, size_t *begin)
{
    size_t n;
    uint32_t cp;

    *begin = text_utf8_prev(text, at, &cp);
    return kind_at(text, at, *begin, &n);
}

/* ---- e-mail: [.\s@,?!;:)(]*([^\s@]+@[^\s@,?!;:)(]+?)[.\s@,?!;:)(]?[\s\n\r] ---- */

/* What follows the @ at `at`: the shortest domain behind which one character of the set may stand
 * and then white space must. Gives the domain's end, and the match's; false = no match with this
 * @. */
static bool domain_of(const char *text, size_t end, size_t at, size_t *domain, size_t *stop)
{
    size_t n;
    size_t i = at + 1;
    unsigned kind = 0;

    for (; i < end; i += n) {
        kind = kind_at(text, end, i, &n);
        if (i > at + 1 && (kind & IS_PREFIX) != 0) {
            size_t next;
            if (i + n < end && (kind_at(text, end, i + n, &next) & IS_SPACE) != 0) {
                *domain = i;
                *stop = i + n + next;
                return true;
            }
            if ((kind & IS_SPACE) != 0) {
                *domain = i;
                *stop = i + n;
                return true;
            }
        }
        if ((kind & IS_DOMAIN) == 0) {
            return false;
        }
    }
    return false;
}

/* The match that begins at `begin`: of the places j where the set's characters may end the one
 * farthest on from which a run of others leads to an @ with a domain. */
static bool email_at(const char *text, size_t end, size_t begin, struct dolma_pii_span *span)
{
    size_t furthest = begin;
    size_t at = SIZE_MAX; /* the next @ behind j without white space between */
    size_t n;
    unsigned kind;
    bool valid = false;
    size_t domain = 0;
    size_t stop = 0;

    while (furthest < end && (kind_at(text, end, furthest, &n) & IS_PREFIX) != 0) {
        furthest += n;
    }
    for (size_t i = furthest; i < end; i += n) {
        kind = kind_at(text, end, i, &n);
        if ((kind & IS_AT) != 0) {
            at = i;
            valid = domain_of(text, end, at, &domain, &stop);
        }
        if ((kind & (IS_AT | IS_SPACE)) != 0) {
            break;
        }
    }
    for (size_t j = furthest;;) {
        if (at != SIZE_MAX && valid && at > j) {
            *span = (struct dolma_pii_span){ (uint32_t)begin, (uint32_t)stop, (uint32_t)j,
                                             (uint32_t)at, (uint32_t)domain };
            return true;
        }
        if (j == begin) {
            return false;
        }
        kind = kind_before(text, j, &j);
        if ((kind & IS_AT) != 0) {
            at = j;
            valid = domain_of(text, end, at, &domain, &stop);
        } else if ((kind & IS_SPACE) != 0) {
            at = SIZE_MAX;
        }
    }
}

int32_t dolma_pii_emails(struct dolma_pii *pii, const struct dolma_doc *doc, struct text_span part,
                         struct sluice_error *err)
{
    const char *text = doc->text;
    size_t from = part.begin;

    pii->n = 0;
    for (size_t at = part.begin; at < part.end; at++) {
        const char *found = memchr(text + at, '@', part.end - at);
        struct dolma_pii_span span;
        size_t domain;
        size_t stop;
        size_t begin;
        if (found == NULL) {
            break;
        }
        at = (size_t)(found - text);
        begin = at;
        while (begin > from) { /* the run that must stand before the @ */
            size_t before;
            if ((kind_before(text, begin, &before) & (IS_SPACE | IS_AT)) != 0) {
                break;
            }
            begin = before;
        }
        if (begin == at || !domain_of(text, part.end, at, &domain, &stop)) {
            continue;
        }
        while (begin > from) { /* the set's characters in front */
            size_t before;
            if ((kind_before(text, begin, &before) & IS_PREFIX) == 0) {
                break;
            }
            begin = before;
        }
        if (email_at(text, part.end, begin, &span)) {
            int32_t status = add(pii, span, err);
            if (status != SLUICE_OK) {
                return status;
            }
            from = span.end;
            at = from - 1;
        }
    }
    return SLUICE_OK;
}

/* ---- phone: \s+\(?(\d{3})\)?[-\. ]*(\d{3})[-. ]?(\d{4}) ---- */

/* Passes n digits from *at on; false when there are not so many. */
static bool pass_digits(const char *text, size_t end, size_t *at, int n)
{
    for (; n > 0; n--) {
        uint32_t cp;
        size_t length;
        if (*at >= end) {
            return false;
        }
        if ((unsigned char)text[*at] < 0x80) {
            if ((unsigned char)(text[*at] - '0') > 9) {
                return false;
            }
            ++*at;
            continue;
        }
        length = text_utf8_decode(text, end, *at, &cp);
        if ((text_classes(cp) & TEXT_DIGIT) == 0) {
            return false;
        }
        *at += length;
    }
    return true;
}

static bool is_joint(char c)
{
    return c == '-' || c == '.' || c == ' ';
}

static bool phone_at(const char *text, size_t end, size_t at, size_t *stop)
{
    if (at < end && text[at] == '(') {
        at++;
    }
    if (!pass_digits(text, end, &at, 3)) {
        return false;
    }
    if (at < end && text[at] == ')') {
        at++;
    }
    while (at < end && is_joint(text[at])) {
        at++;
    }
    if (!pass_digits(text, end, &at, 3)) {
        return false;
    }
    if (at < end && is_joint(text[at])) {
        at++;
    }
    *stop = at;
    return pass_digits(text, end, stop, 4);
}

int32_t dolma_pii_phones(struct dolma_pii *pii, const struct dolma_doc *doc, struct text_span part,
                         struct sluice_error *err)
{
    size_t from = part.begin;
    size_t lo = 0;
    size_t hi = doc->n_words;

    pii->n = 0;
    while (lo < hi) { /* the first word of this part */
        size_t middle = lo + (hi - lo) / 2;
        if (doc->words[middle].begin < part.begin) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    for (; lo < doc->n_words && doc->words[lo].begin < part.end; lo++) {
        size_t word = doc->words[lo].begin;
        size_t space = lo > 0 ? doc->words[lo - 1].end : 0;
        unsigned char c = (unsigned char)doc->text[word];
        size_t stop;
        space = space > from ? space : from;
        if (space < word && (c == '(' || (unsigned char)(c - '0') < 10 || c >= 0x80) &&
            phone_at(doc->text, part.end, word, &stop)) {
            int32_t status =
                add(pii, (struct dolma_pii_span){ (uint32_t)space, (uint32_t)stop, 0, 0, 0 }, err);
            if (status != SLUICE_OK) {
                return status;
            }
            from = stop;
        }
    }
    return SLUICE_OK;
}

/* ---- IPv4: three numbers of 0 to 255 with a dot behind, and one ---- */

static bool digit(const char *text, size_t end, size_t at)
{
    return at < end && (unsigned char)(text[at] - '0') < 10;
}

/* Whether n digits at `at` are one of 25[0-5], 2[0-4][0-9], [01]?[0-9][0-9]?. */
static bool octet(const char *text, size_t at, size_t n)
{
    return n < 3 || text[at] <= '1' ||
           (text[at] == '2' &&
            (text[at + 1] < '5' || (text[at + 1] == '5' && text[at + 2] <= '5')));
}

/* Digits at `at`, three at most. */
static size_t digits(const char *text, size_t end, size_t at)
{
    size_t n = 0;

    while (n < 3 && digit(text, end, at + n)) {
        n++;
    }
    return n;
}

static bool address_at(const char *text, size_t end, size_t at, size_t *stop)
{
    size_t n;

    for (int k = 0; k < 3; k++) {
        n = digits(text, end, at);
        if (n == 0 || at + n >= end || text[at + n] != '.' || !octet(text, at, n)) {
            return false;
        }
        at += n + 1;
    }
    n = digits(text, end, at);
    if (n == 0) {
        return false;
    }
    *stop = at + (octet(text, at, n) ? n : 2);
    return true;
}

int32_t dolma_pii_addresses(struct dolma_pii *pii, const struct dolma_doc *doc,
                            struct text_span part, struct sluice_error *err)
{
    const char *text = doc->text;
    size_t from = part.begin;

    pii->n = 0;
    for (size_t at = part.begin; at < part.end; at++) {
        const char *dot = memchr(text + at, '.', part.end - at);
        size_t first;
        size_t stop = 0;
        if (dot == NULL) {
            break;
        }
        at = (size_t)(dot - text);
        if (at == from || !digit(text, part.end, at - 1) || !digit(text, part.end, at + 1)) {
            continue;
        }
        for (first = at - 1; first > from && at - first < 3 && digit(text, part.end, first - 1);) {
            first--;
        }
        for (; first < at && stop == 0; first++) {
            if (address_at(text, part.end, first, &stop)) {
                int32_t status = add(
                    pii, (struct dolma_pii_span){ (uint32_t)first, (uint32_t)stop, 0, 0, 0 }, err);
                if (status != SLUICE_OK) {
                    return status;
                }
                from = stop;
                at = stop - 1;
                break;
            }
        }
    }
    return SLUICE_OK;
}

/* ---- the URL expression ---- */

#define S                                                                                     \
    "\\x09-\\x0d\\x1c-\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}" \
    "\\x{205f}\\x{3000}"

int32_t dolma_pii_url(const char *text, size_t n, bool *found, struct sluice_error *err)
{
    static const char pattern[] =
        "(?i)\\x08(?:https?://|www\\p{Nd}{0,3}[.]|[a-z0-9.\\-]+[.][a-z]{2,4}/)"
        "(?:[^" S "()<>]+|\\((?:[^" S "()<>]+|(?:\\([^" S "()<>]+\\)))*\\))+"
        "(?:\\((?:[^" S "()<>]+|(?:\\([^" S "()<>]+\\)))*\\)|"
        "[^" S "`!()\\[\\]{};:'\".,<>?\\x{ab}\\x{bb}\\x{201c}\\x{201d}\\x{2018}\\x{2019}])";
    int code;
    PCRE2_SIZE where;
    pcre2_code *compiled;
    pcre2_match_data *data;

    *found = false;
    if (memchr(text, '\b', n) == NULL) {
        return SLUICE_OK;
    }
    compiled =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code, &where, NULL);
    data = compiled == NULL ? NULL : pcre2_match_data_create_from_pattern(compiled, NULL);
    if (data == NULL) {
        pcre2_code_free(compiled);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for an expression");
    }
    code = pcre2_match(compiled, (PCRE2_SPTR)text, n, 0, PCRE2_NO_UTF_CHECK, data, NULL);
    pcre2_match_data_free(data);
    pcre2_code_free(compiled);
    *found = code > 0;
    return code > 0 || code == PCRE2_ERROR_NOMATCH
               ? SLUICE_OK
               : sluice_fail(
                     err, SLUICE_E_DATA, "text",
                     "the URL expression of pii_regex_v1 takes too many steps on this text");
}
