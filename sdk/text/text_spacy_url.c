/* text_spacy_url.c — what the rule spacy-en takes for a URL.
 *
 * spaCy's expression (lang/tokenizer_exceptions.py, after Diego Perini's) as a scan that looks at
 * each byte a few times at most:
 *
 *     [scheme://] [anything@] (IP address | host) [:port] [/?# anything]
 *
 * Neither an address nor a host holds an @ or a /, so an address can begin at three kinds of places
 * only: at the start, behind the scheme, and behind an @.
 */
#include "text/text_spacy_chunk.h"
#include "text/text_spacy_tables.h"

#include "text/text_decode.h"

static bool is_digit(uint32_t cp)
{
    return (text_table_classes(cp) & TEXT_DIGIT) != 0;
}

/* What may follow the address: the end, a port, a path. */
static bool ends_url(const unsigned char *p, const unsigned char *end)
{
    if (p < end && *p == ':') {
        size_t digits = 0;
        uint32_t cp;
        p++;
        for (size_t n; p < end && digits < 6; p += n, digits++) {
            n = text_decode(p, end, &cp);
            if (!is_digit(cp)) {
                break;
            }
        }
        if (digits < 2 || digits > 5) {
            return false;
        }
    }
    return p == end || *p == '/' || *p == '?' || *p == '#';
}

/* Labels with a full stop each, and a last one of 2 to 63 letters that are not in upper case. */
static bool host_at(const unsigned char *p, const unsigned char *end)
{
    bool labelled = false;
    for (;;) {
        size_t chars = 0;
        bool label = true, top = true;
        uint32_t seen = 0, cp = 0;
        while (p < end) {
            size_t n = text_decode(p, end, &cp);
            bool inner = cp == '-' || cp == '_';
            seen = text_spacy_class(cp);
            if (!inner && (seen & (TEXT_SPACY_HOST | TEXT_SPACY_LOWER)) == 0) {
                break;
            }
            bool host = (seen & TEXT_SPACY_HOST) != 0;
            label = label && (host || (inner && chars > 0));
            top = top && (seen & TEXT_SPACY_LOWER) != 0;
            chars++;
            p += n;
            if (p < end && *p == '.') {
                label = label && host;
            }
        }
        if (p < end && *p == '.') {
            if (!label || chars == 0 || chars > 64) {
                return false;
            }
            labelled = true;
            p++;
            continue;
        }
        return labelled && top && chars >= 2 && chars <= 63 && ends_url(p, end);
    }
}

/* One part of an IP address: up to three digits, of which the first may have to be ASCII. */
struct octet {
    uint32_t digit[3];
    size_t count;
};

static const unsigned char *octet_at(const unsigned char *p, const unsigned char *end,
                                     struct octet *octet)
{
    octet->count = 0;
    while (p < end && octet->count < 4) {
        uint32_t cp;
        size_t n = text_decode(p, end, &cp);
        if (!is_digit(cp)) {
            break;
        }
        if (octet->count == 3) {
            return NULL;
        }
        octet->digit[octet->count++] = cp;
        p += n;
    }
    return octet->count > 0 ? p : NULL;
}

/* Whether three digits are first, then one of second_low .. second_high, then any, or up to `third`
 * behind the second digit `edge`. */
static bool three(const struct octet *octet, uint32_t first, uint32_t low, uint32_t high)
{
    return octet->count == 3 && octet->digit[0] == first && octet->digit[1] >= low &&
           octet->digit[1] <= high;
}

static bool edge(const struct octet *octet, uint32_t second, uint32_t most)
{
    return three(octet, '2', second, second) && octet->digit[2] >= '0' && octet->digit[2] <= most;
}

/* [1-9]\d? */
static bool one_or_two(const struct octet *octet)
{
    return octet->count <= 2 && octet->digit[0] >= '1' && octet->digit[0] <= '9';
}

static bool hundreds(const struct octet *octet)
{
    return octet->count == 3 && octet->digit[0] == '1';
}

static bool equals(const struct octet *octet, const char *digits)
{
    size_t n = strlen(digits);
    for (size_t i = 0; i < n; i++) {
        if (octet->count != n || octet->digit[i] != (unsigned char)digits[i]) {
            return false;
        }
    }
    return true;
}

/* 172.16 to 172.31: 1[6-9]|2\d|3[0-1] */
static bool is_private_172(const struct octet *second)
{
    if (second->count != 2) {
        return false;
    }
    uint32_t a = second->digit[0], b = second->digit[1];
    return (a == '1' && b >= '6' && b <= '9') || a == '2' || (a == '3' && (b == '0' || b == '1'));
}

static bool ip_at(const unsigned char *p, const unsigned char *end)
{
    struct octet part[4];
    for (size_t i = 0; i < 4; i++) {
        if (i > 0) {
            if (p == end || *p != '.') {
                return false;
            }
            p++;
        }
        p = octet_at(p, end, &part[i]);
        if (p == NULL) {
            return false;
        }
    }
    const struct octet *first = &part[0], *last = &part[3];
    if (equals(first, "10") || equals(first, "127") ||
        (equals(first, "169") && equals(&part[1], "254")) ||
        (equals(first, "192") && equals(&part[1], "168")) ||
        (equals(first, "172") && is_private_172(&part[1]))) {
        return false;
    }
    if (!one_or_two(first) && !hundreds(first) && !three(first, '2', '0', '1') &&
        !edge(first, '2', '3')) {
        return false;
    }
    for (size_t i = 1; i < 3; i++) {
        if (part[i].count == 3 && !hundreds(&part[i]) && !three(&part[i], '2', '0', '4') &&
            !edge(&part[i], '5', '5')) {
            return false;
        }
    }
    if (!one_or_two(last) && !hundreds(last) && !three(last, '2', '0', '4') &&
        !edge(last, '5', '4')) {
        return false;
    }
    return ends_url(p, end);
}

static bool address_at(const unsigned char *p, const unsigned char *end)
{
    return host_at(p, end) || (p < end && *p >= '1' && *p <= '9' && ip_at(p, end));
}

/* The place behind "scheme://" with a scheme of at least two of [\w+.-]; NULL when there is
 * none. */
static const unsigned char *after_scheme(const unsigned char *p, const unsigned char *end)
{
    size_t chars = 0;
    while (p < end) {
        uint32_t cp;
        size_t n = text_decode(p, end, &cp);
        if (cp != '_' && cp != '+' && cp != '-' && cp != '.' &&
            (text_table_classes(cp) & TEXT_ALNUM) == 0) {
            break;
        }
        chars++;
        p += n;
    }
    return chars >= 2 && end - p > 3 && memcmp(p, "://", 3) == 0 ? p + 3 : NULL;
}

bool text_spacy_url(const unsigned char *p, size_t n)
{
    const unsigned char *end = p + n;
    if (n < 4 || memchr(p, '.', n) == NULL) {
        return false;
    }
    if (address_at(p, end)) {
        return true;
    }
    const unsigned char *at = after_scheme(p, end);
    if (at != NULL && address_at(at, end)) {
        return true;
    }
    for (at = memchr(p + 1, '@', n - 1); at != NULL; at = memchr(at, '@', (size_t)(end - at))) {
        at++;
        if (address_at(at, end)) {
            return true;
        }
    }
    return false;
}
