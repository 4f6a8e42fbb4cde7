/* text/text_spacy: the word rule and the sentence rule spacy-en, against what the peer gives, with
 * and without a cache, and what may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/text_kit.h"
#include "text/text.h"
#include "text/text_spacy_plain.h"

static struct text_spans spans;
static struct text_word_cache cache;

static int release(void **state)
{
    (void)state;
    text_word_cache_deinit(&cache);
    text_spans_deinit(&spans);
    return 0;
}

/* The words of exactly len bytes: a sanitizer sees reads behind them. Cached or not they are equal,
 * the second time too. */
static void cut(const char *text, size_t len)
{
    char *exact = malloc(len == 0 ? 1 : len);
    struct text_spans other = { 0 };
    assert_non_null(exact);
    memcpy(exact, text, len);
    assert_int_equal(text_words(TEXT_WORDS_SPACY_EN, exact, len, &spans, NULL), SLUICE_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(text_words_cached(TEXT_WORDS_SPACY_EN, exact, len, &cache, &other, NULL),
                         SLUICE_OK);
        assert_int_equal(other.count, spans.count);
        if (spans.count > 0) {
            assert_memory_equal(other.data, spans.data, spans.count * sizeof *spans.data);
        }
    }
    text_spans_deinit(&other);
    free(exact);
}

/* The words, one a line, in *size bytes. */
static char *words_of(const char *text, size_t len, size_t *size)
{
    cut(text, len);
    char *out = malloc(2 * len + 1), *to = out;
    assert_non_null(out);
    for (size_t i = 0; i < spans.count; i++) {
        size_t n = spans.data[i].end - spans.data[i].begin;
        if (i > 0) {
            *to++ = '\n';
        }
        memcpy(to, text + spans.data[i].begin, n);
        to += n;
    }
    *size = (size_t)(to - out);
    *to = '\0';
    return out;
}

static void check_line(const char *line)
{
    static char text[20000], expected[20000];
    size_t len, n;
    assert_true(strlen(line) < sizeof text);
    assert_true(kit_json(line, "text", text, &len));
    assert_true(kit_json(line, "words", expected, &n));
    expected[n] = '\0';
    size_t size;
    char *found = words_of(text, len, &size);
    if (size != n || memcmp(found, expected, n) != 0) {
        fail_msg("found words\n%s\nfor %s", found, line);
    }
    free(found);

    char list[20000];
    size_t at = 0;
    assert_int_equal(
        text_sentences_cached(TEXT_SENTENCES_SPACY_EN, text, len, &cache, &spans, NULL), SLUICE_OK);
    list[0] = '\0';
    for (size_t i = 0; i < spans.count; i++) {
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%u-%u", i > 0 ? " " : "",
                               spans.data[i].begin, spans.data[i].end);
    }
    assert_true(kit_json(line, "sentences", expected, &n));
    expected[n] = '\0';
    if (strcmp(list, expected) != 0) {
        fail_msg("found sentences %s for %s", list, line);
    }
}

static void test_peer(void **state)
{
    (void)state;
    assert_true(kit_lines("spacy.jsonl", check_line) >= 500);
}

/* What the kept vectors cannot show for their length. */
static void test_long(void **state)
{
    (void)state;
    size_t len = 300000;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, ')', len);
    cut(text, len);
    assert_int_equal(spans.count, len); /* and not a stack of calls */
    memset(text, '.', len);
    cut(text, len);
    assert_int_equal(spans.count, 1);
    memset(text, '@', len);
    text[len / 2] = '.';
    cut(text, len); /* many places where a host could begin */
    assert_int_equal(spans.count, 1);
    for (size_t i = 0; i < len; i++) {
        text[i] = i % 2 == 0 ? ':' : ')';
    }
    cut(text, len); /* a long run of matches, each refused for the one before but the first */
    assert_int_equal(spans.count, len - 3);
    for (size_t i = 0; i + 10 <= len; i += 10) {
        memcpy(text + i,
               "x\xC2\xB0"
               "C.\xE2\x80\xA6"
               "yz",
               10); /* grows: ° C. become ° C . */
    }
    cut(text, len);
    assert_int_equal(spans.count, len / 10 * 5 + 1);
    memset(text, 'a', len);
    cut(text, len);
    assert_int_equal(spans.count, 1);
    free(text);
}

/* The cache holds what fits and forgets; more chunks than it has places give the same words. */
static void test_forgets(void **state)
{
    (void)state;
    size_t len = 0;
    char *text = malloc(1 << 20);
    uint64_t seed = 1;
    assert_non_null(text);
    while (len < (1 << 20) - 64) {
        static const char *const marks[] = {
            "-", "'s", ".", ",", ":)", "\xE2\x80\x94", "/", "5km"
        };
        len += (size_t)sprintf(text + len, "w%x%s%x ", (unsigned)(kit_random(&seed) % 40000),
                               marks[kit_random(&seed) % 8], (unsigned)(kit_random(&seed) % 30));
    }
    cut(text, len);
    assert_true(spans.count > 100000);
    free(text);
}

/* A chunk is cut alike whether the text ends with it or goes on: the loops differ there. */
static void test_ends(void **state)
{
    (void)state;
    static const char *const parts[] = { "a",   "bC", "Q",   "7",           "-",  "--",       "/",
                                         ":",   "=",  "<",   ">",           "^",  "~",        "*",
                                         "+",   ",",  ".",   "..",          "(",  ")",        "\"",
                                         "'s",  ";",  "[",   "#",           "km", "\xC3\xA9", "@",
                                         "://", "_",  "e.g", "\xE2\x80\x94" };
    static const char tail[] =
        " qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";
    struct text_span alone[400];
    uint64_t seed = 3;
    for (int round = 0; round < 1000; round++) {
        char text[600];
        size_t len = 0, n = 1 + kit_random(&seed) % (round % 10 == 0 ? 60 : 14);
        for (size_t i = 0; i < n; i++) {
            const char *part = parts[kit_random(&seed) % (sizeof parts / sizeof parts[0])];
            memcpy(text + len, part, strlen(part));
            len += strlen(part);
        }
        cut(text, len);
        size_t count = spans.count;
        assert_true(count <= 400);
        memcpy(alone, spans.data, count * sizeof *alone);
        memcpy(text + len, tail, sizeof tail - 1);
        cut(text, len + sizeof tail - 1);
        assert_int_equal(spans.count, count + 1);
        assert_memory_equal(spans.data, alone, count * sizeof *alone);
    }
}

/* Whether a chunk is plain, slowly: all letters, in no table. */
static bool is_plain_slowly(const unsigned char *p, size_t n)
{
    bool letters = n <= TEXT_SHORT;
    for (size_t i = 0; i < n && letters; i++) {
        letters = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z');
    }
    return letters && text_spacy_find(p, n, text_spacy_hash(p, n)) == NULL;
}

/* No string of the tables is taken for a plain word, nor anything but letters; and few words are
 * missed. */
static void test_plain_words(void **state)
{
    (void)state;
    size_t strings = 0, missed = 0, words = 0;
    for (size_t slot = 0; slot < TEXT_SPACY_SLOTS; slot++) {
        const struct text_spacy_string *string = &text_spacy_strings[text_spacy_slots[slot]];
        unsigned char bytes[64] = "................................................";
        memcpy(bytes, text_spacy_pool + string->offset, string->len);
        if (string->len > 0) {
            strings++;
            assert_false(text_spacy_is_plain(bytes, string->len));
        }
    }
    assert_true(strings > 1000);
    for (uint32_t round = 0, seed = 1; round < 300000; round++) {
        unsigned char bytes[TEXT_SHORT + 8];
        size_t n = 1 + round % 18;
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (unsigned char)"etaoinshrdlucETAOZz"[(seed >> 16) % 19];
        }
        if (round % 3 == 0) { /* any byte, those beside the letters too */
            bytes[seed % n] =
                round % 2 == 0 ? (unsigned char)(seed >> 24) : (unsigned char)"@[`{"[seed >> 30];
        }
        bool plain = is_plain_slowly(bytes, n);
        bool found = text_spacy_is_plain(bytes, n);
        assert_false(found && !plain);
        words += plain;
        missed += plain && !found;
    }
    assert_in_range(missed, 0, words / 10);
}

static void test_names(void **state)
{
    (void)state;
    enum text_word_rule rule;
    enum text_sentence_rule sentences;
    struct sluice_error err = { .size = sizeof err };
    assert_int_equal(text_word_rule_parse("spacy-en", &rule, &err), SLUICE_OK);
    assert_int_equal(rule, TEXT_WORDS_SPACY_EN);
    assert_int_equal(text_sentence_rule_parse("spacy-en", &sentences, &err), SLUICE_OK);
    assert_int_equal(sentences, TEXT_SENTENCES_SPACY_EN);
    assert_int_equal(text_sentence_rule_parse("marks", &sentences, &err), SLUICE_OK);
    assert_int_equal(sentences, TEXT_SENTENCES_MARKS);
    assert_int_equal(text_sentence_rule_parse("punkt", &sentences, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "spacy-en, marks, lines and uax29"));
    assert_int_equal(text_sentences_cached((enum text_sentence_rule)9, "a", 1, NULL, &spans, &err),
                     SLUICE_E_CONFIG);
    assert_int_equal(
        text_sentences_cached(TEXT_SENTENCES_SPACY_EN, "a", TEXT_MAX + 1, NULL, &spans, &err),
        SLUICE_E_DATA);

    const char *lines = "\n  one. two\r\n \n\nthree";
    assert_int_equal(
        text_sentences_cached(TEXT_SENTENCES_LINES, lines, strlen(lines), NULL, &spans, &err),
        SLUICE_OK);
    assert_int_equal(spans.count, 2);
    assert_true(spans.data[0].begin == 3 && spans.data[0].end == 11);
    assert_true(spans.data[1].begin == 16 && spans.data[1].end == 21);
    assert_int_equal(
        text_sentences_cached(TEXT_SENTENCES_MARKS, lines, strlen(lines), NULL, &spans, &err),
        SLUICE_OK);
    assert_int_equal(spans.count, 2);
    assert_true(spans.data[0].begin == 3 && spans.data[0].end == 7);
}

static void test_memory(void **state)
{
    (void)state;
    struct sluice_error err = { .size = sizeof err };
    struct text_word_cache mine = { NULL };
    int32_t status;
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = "a:)b. "[i % 6];
    }
    ALLOC_EACH(status = text_words(TEXT_WORDS_SPACY_EN, text, sizeof text, &spans, &err),
               text_spans_deinit(&spans));
    ALLOC_EACH(status =
                   text_words_cached(TEXT_WORDS_SPACY_EN, text, sizeof text, &mine, &spans, &err),
               (text_spans_deinit(&spans), text_word_cache_deinit(&mine)));
    ALLOC_EACH(status = text_sentences_cached(TEXT_SENTENCES_SPACY_EN, text, sizeof text, &mine,
                                              &spans, &err),
               (text_spans_deinit(&spans), text_word_cache_deinit(&mine)));
    text_word_cache_deinit(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peer),        cmocka_unit_test(test_long),
        cmocka_unit_test(test_forgets),     cmocka_unit_test(test_ends),
        cmocka_unit_test(test_plain_words), cmocka_unit_test(test_names),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
