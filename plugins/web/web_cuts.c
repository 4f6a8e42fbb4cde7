/* web_cuts.c - see web_cuts.h. */
#include "web_cuts.h"

#include <sluice_arrays.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web_class.h"

static bool is_space(enum web_peer peer, uint32_t cp)
{
    return peer == WEB_DCLM ? web_python_space(cp) : web_rust_space(cp);
}

/* What Python's re.IGNORECASE compares: ASCII in lower case, and the letters outside ASCII that
 * match i, s or k. */
static uint32_t fold(uint32_t cp)
{
    if (cp >= 'A' && cp <= 'Z') {
        return cp | 32;
    }
    switch (cp) {
    case 0x130: /* I with a dot above */
    case 0x131: /* dotless i */
        return 'i';
    case 0x17F: /* long s */
        return 's';
    case 0x212A: /* Kelvin sign */
        return 'k';
    default:
        return cp;
    }
}

/* Marks the bytes that an element's matches can begin with. */
static void bytes_add(enum web_peer peer, uint32_t element, bool bytes[256])
{
    char encoded[4];

    if (element == WEB_CUT_ANY) {
        memset(bytes, true, 256);
        return;
    }
    text_utf8_encode(element, encoded);
    bytes[(unsigned char)encoded[0]] = true;
    if (peer == WEB_DCLM) {
        if (element >= 'a' && element <= 'z') {
            bytes[element & ~32u] = true;
        }
        bytes[0xC4] = bytes[0xC4] || element == 'i';
        bytes[0xC5] = bytes[0xC5] || element == 's';
        bytes[0xE2] = bytes[0xE2] || element == 'k';
    }
}

static int32_t refuse(const char *option, const char *phrase, const char *what,
                      struct sluice_error *err)
{
    char message[400];

    snprintf(message, sizeof message, "the phrase '%.120s' %s", phrase, what);
    return sluice_fail(err, SLUICE_E_CONFIG, option, message);
}

static int32_t cut_parse(struct web_cuts *cuts, struct web_cut *cut, const char *phrase,
                         const char *option, struct sluice_error *err)
{
    size_t len = strlen(phrase);

    cut->elements = calloc(len + 1, sizeof *cut->elements);
    if (cut->elements == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, option, "out of memory");
    }
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        at += text_utf8_decode(phrase, len, at, &cp);
        if (cp < 0x80 && strchr("\\^$*+?{}[]|()\n\r", (int)cp) != NULL) {
            return refuse(option, phrase,
                          "holds one of \\ ^ $ * + ? { } [ ] | ( ) or a line break; only letters, "
                          "digits, spaces, other marks, and . for any character can be cut",
                          err);
        }
        if (cp >= 0x80 && cuts->peer == WEB_DCLM) {
            return refuse(option, phrase,
                          "is not ASCII; with peer = \"dclm\", which ignores case, it must be",
                          err);
        }
        if (cut->count == 0 && (cp == '.' || is_space(cuts->peer, cp))) {
            return refuse(option, phrase, "begins with . or white space; begin with a letter", err);
        }
        cut->elements[cut->count++] =
            cp == '.' ? WEB_CUT_ANY : (cuts->peer == WEB_DCLM ? fold(cp) : cp);
    }
    if (cut->count == 0) {
        return refuse(option, phrase, "is empty; leave it out", err);
    }
    bytes_add(cuts->peer, cut->elements[0], cuts->begins);
    bytes_add(cuts->peer, cut->count > 1 ? cut->elements[1] : WEB_CUT_ANY, cuts->second);
    return SLUICE_OK;
}

int32_t web_cuts_open(struct web_cuts *cuts, const struct sluice_list *list, const char *option,
                      enum web_place place, enum web_peer peer, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    memset(cuts, 0, sizeof *cuts);
    cuts->place = place;
    cuts->peer = peer;
    cuts->items = calloc((size_t)list->n + 1, sizeof *cuts->items);
    if (cuts->items == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, option, "out of memory");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < list->n; i++) {
        cuts->count++;
        status = cut_parse(cuts, &cuts->items[i], list->items[i], option, err);
    }
    if (status != SLUICE_OK) {
        web_cuts_close(cuts);
    }
    return status;
}

void web_cuts_close(struct web_cuts *cuts)
{
    for (size_t i = 0; i < cuts->count; i++) {
        free(cuts->items[i].elements);
    }
    free(cuts->items);
    memset(cuts, 0, sizeof *cuts);
}

/* Where a match of the phrase at `at` ends, or SIZE_MAX. */
static size_t cut_match(const struct web_cuts *cuts, const struct web_cut *cut, const char *text,
                        size_t len, size_t at)
{
    for (size_t i = 0; i < cut->count; i++) {
        uint32_t cp;
        if (at >= len) {
            return SIZE_MAX;
        }
        at += text_utf8_decode(text, len, at, &cp);
        if (cut->elements[i] == WEB_CUT_ANY
                ? cp == '\n'
                : (cuts->peer == WEB_DCLM ? fold(cp) : cp) != cut->elements[i]) {
            return SIZE_MAX;
        }
    }
    return at;
}

/* The end of the first phrase in the list that matches at `at`, or SIZE_MAX. */
static size_t any_match(const struct web_cuts *cuts, const char *text, size_t len, size_t at)
{
    for (size_t i = 0; i < cuts->count; i++) {
        size_t end = cut_match(cuts, &cuts->items[i], text, len, at);
        if (end != SIZE_MAX) {
            return end;
        }
    }
    return SIZE_MAX;
}

/* Takes in one white space character before `begin`, not before `from`. */
static size_t space_before(const struct web_cuts *cuts, const char *text, size_t from, size_t begin)
{
    uint32_t cp;
    size_t before = begin > from ? text_utf8_prev(text, begin, &cp) : begin;

    return begin > from && is_space(cuts->peer, cp) ? before : begin;
}

static size_t space_after(const struct web_cuts *cuts, const char *text, size_t len, size_t end)
{
    uint32_t cp;

    if (end < len) {
        size_t n = text_utf8_decode(text, len, end, &cp);
        end += is_space(cuts->peer, cp) ? n : 0;
    }
    return end;
}

static bool find_anywhere(const struct web_cuts *cuts, const char *text, size_t len, size_t from,
                          struct text_span *match)
{
    for (size_t at = from; at < len; at++) {
        unsigned char byte = (unsigned char)text[at];
        if (cuts->begins[byte] &&
            (byte >= 0x80 || at + 1 >= len || cuts->second[(unsigned char)text[at + 1]])) {
            size_t end = any_match(cuts, text, len, at);
            if (end != SIZE_MAX) {
                match->begin = (uint32_t)space_before(cuts, text, from, at);
                match->end =
                    (uint32_t)(cuts->peer == WEB_DATAMAP ? space_after(cuts, text, len, end) : end);
                return true;
            }
        }
    }
    return false;
}

/* The longest phrase that ends the text begins first, so the regular expressions find it. */
static bool find_suffix(const struct web_cuts *cuts, const char *text, size_t len, size_t from,
                        struct text_span *match)
{
    bool found = false;

    for (size_t i = 0; i < cuts->count; i++) {
        size_t left = cuts->items[i].count;
        size_t at = len;
        if (len - from < left) {
            continue;
        }
        if (text_utf8_is_ascii(text + len - left, left)) {
            at = len - left;
            left = 0;
        }
        for (; left > 0 && at > from; left--) {
            at = text_utf8_prev(text, at, NULL);
        }
        if (left == 0 && cuts->begins[(unsigned char)text[at]] && at >= from &&
            cut_match(cuts, &cuts->items[i], text, len, at) == len) {
            at = space_before(cuts, text, from, at);
            if (!found || at < match->begin) {
                match->begin = (uint32_t)at;
            }
            match->end = (uint32_t)len;
            found = true;
        }
    }
    return found;
}

static bool find_prefix(const struct web_cuts *cuts, const char *text, size_t len, size_t from,
                        struct text_span *match)
{
    size_t end = from == 0 ? any_match(cuts, text, len, 0) : SIZE_MAX;

    if (end == SIZE_MAX) {
        return false;
    }
    match->begin = 0;
    match->end = (uint32_t)space_after(cuts, text, len, end);
    return true;
}

bool web_cuts_find(const struct web_cuts *cuts, const char *text, size_t len, size_t from,
                   struct text_span *match)
{
    switch (cuts->place) {
    case WEB_SUFFIX:
        return find_suffix(cuts, text, len, from, match);
    case WEB_PREFIX:
        return find_prefix(cuts, text, len, from, match);
    case WEB_ANYWHERE:
        break;
    }
    return find_anywhere(cuts, text, len, from, match);
}
