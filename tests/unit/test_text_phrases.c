/* Lists of phrases (sdk/text/text_phrases.h) against a search that tries every phrase at every
 * place, over lists and texts that repeat themselves; many phrases; limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "text/text_class.h"
#include "text/text_phrases.h"
#include "text/text_utf8.h"

static struct sluice_error err = { .size = sizeof err };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* ---- the search that is right because it is simple ---- */

static uint32_t code_point(const char *text, size_t at)
{
    int32_t cp = -1;
    utf8proc_iterate((const uint8_t *)text + at, -1, &cp);
    return (uint32_t)cp;
}

static bool is_begin(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) != 0x80;
}

static bool word_at(const char *text, size_t at)
{
    uint32_t cp = code_point(text, at);
    uint32_t classes = text_classes(cp);
    return cp == '_' || (classes & (TEXT_LETTER | TEXT_NUMBER | TEXT_NONSPACING)) != 0 ||
           text_word_break(classes) == TEXT_WB_EXTEND || text_word_break(classes) == TEXT_WB_ZWJ;
}

static bool is_boundary(const char *text, size_t n, size_t at)
{
    size_t before = at;

    if (at == 0 || at == n) {
        return true;
    }
    do {
        before--;
    } while (!is_begin(text, before));
    return !(word_at(text, before) && word_at(text, at));
}

static size_t naive_longest(const char *text, size_t n, size_t at, char *const *phrases,
                            size_t n_phrases, bool words)
{
    size_t best = 0;

    for (size_t k = 0; k < n_phrases; k++) {
        size_t size = strlen(phrases[k]);
        if (size > best && size <= n - at && memcmp(text + at, phrases[k], size) == 0 &&
            (!words || is_boundary(text, n, at + size))) {
            best = size;
        }
    }
    return !words || is_boundary(text, n, at) ? best : 0;
}

static void compare(const char *text, char *const *phrases, size_t n_phrases, uint32_t flags)
{
    struct text_string strings[64];
    struct text_buffer scratch = { 0 };
    struct text_phrases *list;
    struct text_phrases_scan scan;
    size_t n = strlen(text);
    size_t at = 0;
    bool words = (flags & TEXT_PHRASES_WORDS) != 0;

    for (size_t k = 0; k < n_phrases; k++) {
        strings[k] = (struct text_string){ phrases[k], strlen(phrases[k]) };
    }
    assert_int_equal(text_phrases_create(strings, n_phrases, flags, &list, &err), SLUICE_OK);
    assert_int_equal(text_phrases_begin(&scan, list, text, n, &scratch, &err), SLUICE_OK);
    while (at < n) {
        struct text_span match;
        size_t size =
            is_begin(text, at) ? naive_longest(text, n, at, phrases, n_phrases, words) : 0;
        if (size == 0) {
            at++;
            continue;
        }
        if (!text_phrases_next(&scan, &match) || match.begin != at || match.end != at + size) {
            fail_msg("'%s': expected the match at %zu to %zu", text, at, at + size);
        }
        at += size;
    }
    {
        struct text_span match;
        assert_false(text_phrases_next(&scan, &match));
        assert_true(scan.steps <= scan.limit);
    }
    for (size_t k = 0; k < n_phrases; k++) {
        assert_int_equal(
            text_phrases_begin(&scan, list, phrases[k], strlen(phrases[k]), &scratch, &err),
            SLUICE_OK);
        assert_int_equal(text_phrases_has(&scan), phrases[k][0] != '\0');
    }
    text_phrases_destroy(list);
    text_buffer_deinit(&scratch);
}

static void test_random(void **state)
{
    static const char *const parts[] = { "a", "a", "ab",           "b",   " ",  " ",
                                         "-", "é", "\xe0\xa4\xbf", "_",   "日", "本",
                                         ".", "1", "new",          "york" };
    uint64_t seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char texts[13][200];
        char *phrases[12];
        size_t n_phrases = 1 + next_random(&seed) % 12;
        size_t kinds = 2 + next_random(&seed) % (sizeof parts / sizeof parts[0] - 1);
        for (size_t k = 0; k <= n_phrases; k++) {
            size_t n = k == n_phrases ? 40 : next_random(&seed) % 6;
            texts[k][0] = '\0';
            for (size_t i = 0; i < n; i++) {
                strcat(texts[k], parts[next_random(&seed) % kinds]);
            }
            if (k < n_phrases) {
                phrases[k] = texts[k];
            }
        }
        for (uint32_t flags = 0; flags < 4; flags++) { /* nothing of it has two cases */
            compare(texts[n_phrases], phrases, n_phrases, flags);
        }
    }
}

static void test_fold(void **state)
{
    static const struct text_string strings[] = { { "Été", 5 }, { "STRASSE", 7 }, { "ΣΑΣ", 6 } };
    static const char text[] = "ÉTÉ été Strasse straße σασ";
    struct text_buffer scratch = { 0 };
    struct text_phrases *list;
    struct text_phrases_scan scan;
    struct text_span match;
    size_t n = 0;

    (void)state;
    assert_int_equal(
        text_phrases_create(strings, 3, TEXT_PHRASES_WORDS | TEXT_PHRASES_FOLD, &list, &err),
        SLUICE_OK);
    assert_int_equal(text_phrases_begin(&scan, list, text, strlen(text), &scratch, &err),
                     SLUICE_OK);
    while (text_phrases_next(&scan, &match)) {
        n++;
    }
    assert_int_equal(n, 4); /* ß is another letter */
    text_phrases_destroy(list);
    text_buffer_deinit(&scratch);
}

/* Phrases and texts that repeat themselves end by the limit, or soon. */
static void test_limit(void **state)
{
    enum { N = 4000 };
    char *a = malloc(2 * N + 1);
    struct text_string strings[2];
    struct text_buffer scratch = { 0 };
    struct text_phrases *list;
    struct text_phrases_scan scan;
    struct text_span match;

    (void)state;
    assert_non_null(a);
    for (int i = 0; i < N; i++) {
        memcpy(a + 2 * i, "a ", 2);
    }
    memcpy(a + 2 * N - 2, "b", 2);
    strings[0] = (struct text_string){ a, 2 * N - 1 };
    assert_int_equal(text_phrases_create(strings, 1, TEXT_PHRASES_WORDS, &list, &err), SLUICE_OK);
    a[2 * N - 2] = 'a';
    assert_int_equal(text_phrases_begin(&scan, list, a, 2 * N - 1, &scratch, &err), SLUICE_OK);
    assert_false(text_phrases_next(&scan, &match));
    assert_true(scan.steps > scan.limit);
    text_phrases_destroy(list);
    text_buffer_deinit(&scratch);
    free(a);
}

static void test_many(void **state)
{
    enum { N = 200000 };
    char *bytes = malloc((size_t)N * 24);
    struct text_string *strings = calloc(N, sizeof *strings);
    struct text_buffer scratch = { 0 };
    struct text_phrases *list;
    struct text_phrases_scan scan;
    struct text_span match;
    size_t at = 0;

    (void)state;
    assert_non_null(bytes);
    assert_non_null(strings);
    for (int i = 0; i < N; i++) {
        strings[i].data = bytes + at;
        strings[i].len = (size_t)sprintf(bytes + at, "word%d next%d", i % 997, i);
        at += strings[i].len;
    }
    assert_int_equal(text_phrases_create(strings, N, TEXT_PHRASES_WORDS, &list, &err), SLUICE_OK);
    assert_int_equal(text_phrases_count(list), N);
    assert_true(text_phrases_bytes(list) < (size_t)N * 100);
    for (int i = 0; i < N; i += 7) {
        char text[80];
        int n = sprintf(text, "some word%d next%d, word%d next%d.", i % 997, i, i % 997, N + i);
        assert_int_equal(text_phrases_begin(&scan, list, text, (size_t)n, &scratch, &err),
                         SLUICE_OK);
        assert_true(text_phrases_next(&scan, &match));
        assert_int_equal(match.begin, 5);
        assert_int_equal(match.end - match.begin, strings[i].len);
        assert_false(text_phrases_next(&scan, &match));
    }
    text_phrases_destroy(list);
    free(strings);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random), cmocka_unit_test(test_fold),
                                        cmocka_unit_test(test_limit), cmocka_unit_test(test_many) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
