#include "dolma_phrases.h"

#include <stdlib.h>
#include <string.h>

#include <sluice_arrays.h>

#include "text/text_patterns.h"

enum kind { KIND_WORD, KIND_PHRASE, KIND_LOREM, KIND_JAVASCRIPT };

struct dolma_phrases {
    struct text_patterns *patterns;
    unsigned char *kinds; /* of each pattern */
};

void dolma_phrases_destroy(struct dolma_phrases *phrases)
{
    if (phrases != NULL) {
        text_patterns_destroy(phrases->patterns);
        free(phrases->kinds);
        free(phrases);
    }
}

/* Equal patterns are found under the smallest number: the two of our own, which also lists may
 * hold, come last but are looked for anyway, since a listed one tells the same. */
static int32_t add(struct text_string *strings, unsigned char *kinds, size_t *n, const char *text,
                   size_t len, enum kind kind)
{
    strings[*n].data = text;
    strings[*n].len = len;
    kinds[*n] = (unsigned char)kind;
    (*n)++;
    return SLUICE_OK;
}

int32_t dolma_phrases_create(const char *list, size_t n, struct dolma_phrases **out,
                             struct sluice_error *err)
{
    struct dolma_phrases *phrases = calloc(1, sizeof *phrases);
    struct text_string *strings = NULL;
    size_t lines = 3;
    size_t count = 0;
    int32_t status;

    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        lines += list[i] == '\n';
    }
    strings = calloc(lines, sizeof *strings);
    if (phrases != NULL) {
        phrases->kinds = calloc(lines, 1);
    }
    if (strings == NULL || phrases == NULL || phrases->kinds == NULL) {
        free(strings);
        dolma_phrases_destroy(phrases);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a word list");
    }
    add(strings, phrases->kinds, &count, "lorem ipsum", 11, KIND_LOREM);
    add(strings, phrases->kinds, &count, "javascript", 10, KIND_JAVASCRIPT);
    for (size_t begin = 0; begin < n;) {
        const char *end = memchr(list + begin, '\n', n - begin);
        size_t len = end == NULL ? n - begin : (size_t)(end - (list + begin));
        size_t next = begin + len + 1;
        len -= len > 0 && list[begin + len - 1] == '\r';
        if (len > 0) {
            bool phrase = memchr(list + begin, ' ', len) != NULL;
            add(strings, phrases->kinds, &count, list + begin, len,
                phrase ? KIND_PHRASE : KIND_WORD);
        }
        begin = next;
    }
    status =
        text_patterns_build(strings, count, TEXT_PATTERNS_CASELESS, 0, &phrases->patterns, err);
    free(strings);
    if (status != SLUICE_OK) {
        dolma_phrases_destroy(phrases);
        return status;
    }
    *out = phrases;
    return SLUICE_OK;
}

/* Whether text[begin, end) is a whitespace word. */
static bool whole_word(const char *text, size_t n, size_t begin, size_t end)
{
    uint32_t cp;

    if (begin > 0) {
        text_utf8_prev(text, begin, &cp);
        if ((text_classes(cp) & TEXT_SPACE) == 0) {
            return false;
        }
    }
    if (end < n) {
        text_utf8_decode(text, n, end, &cp);
        return (text_classes(cp) & TEXT_SPACE) != 0;
    }
    return true;
}

static uint32_t find(const struct dolma_phrases *phrases, const char *text, size_t n)
{
    const uint32_t all = DOLMA_HAS_BAD_WORD | DOLMA_HAS_LOREM_IPSUM | DOLMA_HAS_JAVASCRIPT |
                         DOLMA_HAS_JAVASCRIPT_WORD;
    struct text_patterns_scan scan;
    struct text_pattern_match match;
    uint32_t bits = 0;

    text_patterns_scan(&scan, phrases->patterns, text, n);
    while (bits != all && text_patterns_next(&scan, &match)) {
        switch ((enum kind)phrases->kinds[match.pattern]) {
        case KIND_WORD:
            if ((bits & DOLMA_HAS_BAD_WORD) == 0 && whole_word(text, n, match.begin, match.end)) {
                bits |= DOLMA_HAS_BAD_WORD;
            }
            break;
        case KIND_PHRASE:
            bits |= DOLMA_HAS_BAD_WORD;
            break;
        case KIND_LOREM:
            bits |= DOLMA_HAS_LOREM_IPSUM;
            break;
        case KIND_JAVASCRIPT:
            bits |= DOLMA_HAS_JAVASCRIPT;
            if (whole_word(text, n, match.begin, match.end)) {
                bits |= DOLMA_HAS_JAVASCRIPT_WORD;
            }
            break;
        }
    }
    return bits;
}

/* The two characters outside ASCII whose lower case begins in ASCII: KELVIN SIGN gives k, I WITH
 * DOT ABOVE gives i and U+0307. */
#define KELVIN "\xE2\x84\xAA"
#define DOTTED "\xC4\xB0"

int32_t dolma_phrases_find(const struct dolma_phrases *phrases, const char *text, size_t n,
                           uint32_t *bits, struct sluice_error *err)
{
    char *copy;
    size_t len = 0;

    if (memmem(text, n, KELVIN, 3) == NULL && memmem(text, n, DOTTED, 2) == NULL) {
        *bits = find(phrases, text, n);
        return SLUICE_OK;
    }
    copy = malloc(n + n / 2 + 4);
    if (copy == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a document");
    }
    for (size_t i = 0; i < n;) {
        if (n - i >= 3 && memcmp(text + i, KELVIN, 3) == 0) {
            copy[len++] = 'k';
            i += 3;
        } else if (n - i >= 2 && memcmp(text + i, DOTTED, 2) == 0) {
            memcpy(copy + len, "i\xCC\x87", 3);
            len += 3;
            i += 2;
        } else {
            copy[len++] = text[i++];
        }
    }
    *bits = find(phrases, copy, len);
    free(copy);
    return SLUICE_OK;
}
