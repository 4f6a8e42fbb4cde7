/* text_set.c — see text_set.h. */
#include "text/text_set.h"

#include "text/text_error.h"
#include "text/text_utf8.h"

#include <string.h>

/* Adds [first, last], keeping the order; a set is written in order, or nearly. */
static bool add_range(struct text_set *set, uint32_t first, uint32_t last)
{
    size_t at;

    for (uint32_t cp = first; cp <= last && cp < 128; cp++) {
        set->ascii[cp] = true;
    }
    if (last < 128) {
        return true;
    }
    if (set->count == TEXT_SET_RANGES) {
        return false;
    }
    at = set->count++;
    for (; at > 0 && set->ranges[at - 1][0] > first; at--) {
        memcpy(set->ranges[at], set->ranges[at - 1], sizeof set->ranges[at]);
    }
    set->ranges[at][0] = first < 128 ? 128 : first;
    set->ranges[at][1] = last;
    return true;
}

/* Ranges that touch or overlap become one: then the last that begins at or before a character
 * tells. */
static void join_ranges(struct text_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (n > 0 && set->ranges[i][0] <= set->ranges[n - 1][1] + 1) {
            if (set->ranges[i][1] > set->ranges[n - 1][1]) {
                set->ranges[n - 1][1] = set->ranges[i][1];
            }
        } else {
            memmove(set->ranges[n++], set->ranges[i], sizeof set->ranges[i]);
        }
    }
    set->count = n;
}

int32_t text_set_parse(const char *written, size_t len, struct text_set *set,
                       struct sluice_error *err)
{
    memset(set, 0, sizeof *set);
    for (size_t at = 0; at < len;) {
        uint32_t first;
        uint32_t last;
        at += text_utf8_decode(written, len, at, &first);
        last = first;
        if (at + 1 < len && written[at] == '-') {
            at++;
            at += text_utf8_decode(written, len, at, &last);
            if (last < first) {
                return text_error(err, SLUICE_E_CONFIG,
                                  "a range of characters ends before it begins: from U+%04X to "
                                  "U+%04X; write the smaller one first, and a - at either end",
                                  (unsigned)first, (unsigned)last);
            }
        }
        if (!add_range(set, first, last)) {
            return text_error(err, SLUICE_E_CONFIG,
                              "a set of characters has more than %d ranges; write neighbours as "
                              "one range",
                              TEXT_SET_RANGES);
        }
    }
    join_ranges(set);
    return SLUICE_OK;
}

bool text_set_has(const struct text_set *set, uint32_t cp)
{
    size_t low = 0;
    size_t high = set->count;

    if (cp < 128) {
        return set->ascii[cp];
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle][0] <= cp) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && cp <= set->ranges[low - 1][1];
}

size_t text_set_count(const struct text_set *set, const char *text, size_t len)
{
    size_t count = 0;

    for (size_t at = 0; at < len;) {
        uint32_t cp = (unsigned char)text[at];
        if (cp < 128) {
            count += set->ascii[cp];
            at++;
        } else {
            at += text_utf8_decode(text, len, at, &cp);
            count += text_set_has(set, cp);
        }
    }
    return count;
}

struct text_span text_set_strip(const struct text_set *set, const char *text, struct text_span span)
{
    uint32_t cp;

    while (span.begin < span.end) {
        size_t n = text_utf8_decode(text, span.end, span.begin, &cp);
        if (!text_set_has(set, cp)) {
            break;
        }
        span.begin += (uint32_t)n;
    }
    while (span.end > span.begin) {
        size_t before = text_utf8_prev(text, span.end, &cp);
        if (!text_set_has(set, cp)) {
            break;
        }
        span.end = before > span.begin ? (uint32_t)before : span.begin;
    }
    return span;
}
