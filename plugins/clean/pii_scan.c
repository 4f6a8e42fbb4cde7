/* pii_scan.c - see pii_scan.h. The expressions are those of datatrove 0.10, formatters/pii.py:
 *
 *   \b L+ (\. L+)* @ ( (A ([A-]*A)? \.)+ A ([A-]*A)? | \[ (O\.){3} (O | [A-]*A:) ] )    and
 *                                                                                       (O\.){3} O
 *
 * with L = A-Z a-z 0-9 !#$%&'*+/=?^_`{|}~-, A = A-Z a-z 0-9, O = 25[0-5] | 2[0-4][0-9] |
 * [01]?[0-9][0-9]?. */
#include "pii_scan.h"

#include <string.h>

#include "text/text.h"

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_local(char c)
{
    return is_alnum(c) || (c != '\0' && strchr("!#$%&'*+/=?^_`{|}~-", c) != NULL);
}

/* re's \w: letters and numbers of all scripts, and _. */
static int is_word(uint32_t point)
{
    return point == '_' || (text_classes(point) & TEXT_ALNUM) != 0;
}

/* re's \b before text[at], where text[at] is ASCII. */
static int is_boundary(const char *text, size_t at)
{
    uint32_t before = 0;

    if (at > 0) {
        (void)text_utf8_prev(text, at, &before);
    }
    return (at > 0 && is_word(before)) != is_word((unsigned char)text[at]);
}

/* ---- numbers up to 255 ---- */

static size_t digits_at(const char *text, size_t n, size_t at)
{
    size_t end = at;

    while (end < n && is_digit(text[end])) {
        end++;
    }
    return end - at;
}

/* Whether an O can be exactly the k digits at p. */
static int is_octet(const char *p, size_t k)
{
    return k == 1 || k == 2 ||
           (k == 3 &&
            (p[0] <= '1' || (p[0] == '2' && (p[1] <= '4' || (p[1] == '5' && p[2] <= '5')))));
}

/* How many digits an O takes when nothing has to follow it: its alternatives in their order, each
 * as long as it can. 0: no digit. */
static size_t octet_length(const char *text, size_t n, size_t at)
{
    size_t k = digits_at(text, n, at);

    if (k >= 3 && is_octet(text + at, 3)) {
        return 3;
    }
    return k < 2 ? k : 2;
}

/* (O\.){3} at `at`: where it ends, or 0. Digits up to the dot belong to the number. */
static size_t three_octets(const char *text, size_t n, size_t at)
{
    for (int i = 0; i < 3; i++) {
        size_t k = 0;
        while (k < 4 && at + k < n && is_digit(text[at + k])) {
            k++;
        }
        if (k == 0 || k > 3 || !is_octet(text + at, k) || at + k == n || text[at + k] != '.') {
            return 0;
        }
        at += k + 1;
    }
    return at;
}

int pii_next_ipv4(const char *text, size_t n, size_t from, struct pii_match *match)
{
    size_t at = from;

    while (at < n) {
        const char *dot = memchr(text + at, '.', n - at);
        size_t place;
        if (dot == NULL) {
            return 0;
        }
        place = (size_t)(dot - text);
        at = place + 1;
        if (place == from || !is_digit(text[place - 1]) || at == n || !is_digit(text[at])) {
            continue;
        }
        /* The first number ends at this dot and has one to three digits: the leftmost begin that
         * fits. */
        size_t begin = place;
        while (begin > from && place - begin < 3 && is_digit(text[begin - 1])) {
            begin--;
        }
        for (; begin < place; begin++) {
            size_t last = three_octets(text, n, begin);
            size_t k = last == 0 ? 0 : octet_length(text, n, last);
            if (k > 0) {
                *match = (struct pii_match){ begin, last + k };
                return 1;
            }
        }
    }
    return 0;
}

int pii_read_ipv4(const char *text, size_t n, uint32_t *address)
{
    size_t at = 0;

    *address = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t value = 0;
        size_t begin = at;
        while (at < n && is_digit(text[at]) && at - begin < 3) {
            value = value * 10 + (uint32_t)(text[at++] - '0');
        }
        if (at == begin || (at - begin > 1 && text[begin] == '0') || value > 255 ||
            (i < 3 ? at == n || text[at] != '.' : at != n)) {
            return 0;
        }
        at += i < 3;
        *address = *address << 8 | value;
    }
    return 1;
}

#define NET(a, b, c, d, bits)                                  \
    {                                                          \
        (uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d), bits \
    }

int pii_is_public(uint32_t address, int recent)
{
    static const struct {
        uint32_t net;
        int bits;
    } closed[] = {
        NET(0, 0, 0, 0, 8),      NET(10, 0, 0, 0, 8),     NET(100, 64, 0, 0, 10),
        NET(127, 0, 0, 0, 8),    NET(169, 254, 0, 0, 16), NET(172, 16, 0, 0, 12),
        NET(192, 0, 0, 0, 29),   NET(192, 0, 0, 170, 31), NET(192, 0, 2, 0, 24),
        NET(192, 168, 0, 0, 16), NET(198, 18, 0, 0, 15),  NET(198, 51, 100, 0, 24),
        NET(203, 0, 113, 0, 24), NET(240, 0, 0, 0, 4),
    };

    if (recent && address >> 8 == (192u << 16)) { /* 192.0.0.0/24 but for two anycast addresses */
        return (address & 255) == 9 || (address & 255) == 10;
    }
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        if ((address ^ closed[i].net) >> (32 - closed[i].bits) == 0) {
            return 0;
        }
    }
    return 1;
}

/* ---- e-mail ---- */

/* The end of a host name with a dot at `at`, or 0. */
static size_t host_end(const char *text, size_t n, size_t at)
{
    size_t end = 0;

    for (int dots = 0; at < n && is_alnum(text[at]); dots++) {
        size_t stop = at;
        size_t last = at;
        while (stop < n && (is_alnum(text[stop]) || text[stop] == '-')) {
            last = text[stop] == '-' ? last : stop;
            stop++;
        }
        end = dots > 0 ? last + 1 : 0;
        if (last + 1 != stop || stop == n || text[stop] != '.') {
            break;
        }
        at = stop + 1;
    }
    return end;
}

/* The end of an address in brackets at `at`, or 0. */
static size_t bracket_end(const char *text, size_t n, size_t at)
{
    size_t last;
    size_t stop;

    if (at == n || text[at] != '[' || (last = three_octets(text, n, at + 1)) == 0) {
        return 0;
    }
    stop = last;
    while (stop < n && (is_alnum(text[stop]) || text[stop] == '-')) {
        stop++;
    }
    if (stop == last || stop == n) {
        return 0;
    }
    if (text[stop] == ']') {
        return stop - last <= 3 && digits_at(text, stop, last) == stop - last &&
                       is_octet(text + last, stop - last)
                   ? stop + 1
                   : 0;
    }
    return text[stop] == ':' && text[stop - 1] != '-' && stop + 1 < n && text[stop + 1] == ']'
               ? stop + 2
               : 0;
}

int pii_next_email(const char *text, size_t n, size_t from, struct pii_match *match)
{
    size_t search = from;

    while (search < n) {
        const char *sign = memchr(text + search, '@', n - search);
        size_t at;
        size_t low;
        if (sign == NULL) {
            return 0;
        }
        at = (size_t)(sign - text);
        search = at + 1;
        if (at == from || !is_local(text[at - 1])) {
            continue;
        }
        size_t end = host_end(text, n, at + 1);
        end = end != 0 ? end : bracket_end(text, n, at + 1);
        if (end == 0) {
            continue;
        }
        /* Runs of L with single dots between, back to the match before. */
        low = at;
        while (low > from &&
               (is_local(text[low - 1]) || (text[low - 1] == '.' && text[low] != '.'))) {
            low--;
        }
        for (; low < at; low++) {
            if (text[low] != '.' && is_boundary(text, low)) {
                *match = (struct pii_match){ low, end };
                return 1;
            }
        }
    }
    return 0;
}
