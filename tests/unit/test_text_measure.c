/* text/text_measure and text_doc: counts and shares, and n-gram measures against a plain quadratic
 * count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/text_kit.h"
#include "text/text.h"

static size_t count(const char *text, const char *needle)
{
    return text_count(text, strlen(text), needle, strlen(needle));
}

static void test_strings(void **state)
{
    (void)state;
    assert_int_equal(count("aaaa", "aa"), 2);
    assert_int_equal(count("......", "..."), 2);
    assert_int_equal(count("", "a"), 0);
    assert_int_equal(count("a", "ab"), 0);
    assert_int_equal(count("h\xC3\xA9llo", ""), 6);
    assert_int_equal(text_count(NULL, 0, "a", 1), 0);
    char text[1000];
    memset(text, '.', sizeof text);
    for (size_t n = 0; n < sizeof text; n += 7) {
        assert_int_equal(text_count(text, n, "...", 3), n / 3);
        assert_int_equal(text_count(text, n, ".", 1), n);
    }
    assert_true(text_contains("lorem ipsum", 11, "ipsum", 5));
    assert_true(text_contains("", 0, "", 0));
    assert_false(text_contains("lorem ipsu", 10, "ipsum", 5));
    assert_int_equal(text_find("abcabc", 6, 1, "abc", 3), 3);
    assert_int_equal(text_find("abcabc", 6, 4, "abc", 3), 6);
    assert_int_equal(text_find("abc", 3, 9, "a", 1), 3);
    assert_true(text_starts_with("abc", 3, "ab", 2) && !text_starts_with("a", 1, "ab", 2));
    assert_true(text_ends_with("abc", 3, "bc", 2) && !text_ends_with("c", 1, "bc", 2));
    assert_true(text_ends_with(NULL, 0, "", 0));
}

static void test_classes(void **state)
{
    (void)state;
    const char *text = "Caf\xC3\xA9 42, \xE6\x97\xA5!"; /* 11 code points */
    size_t len = strlen(text);
    assert_int_equal(text_utf8_count(text, len), 11);
    assert_int_equal(text_count_class(text, len, TEXT_LETTER), 5);
    assert_int_equal(text_count_class(text, len, TEXT_DIGIT), 2);
    assert_int_equal(text_count_class(text, len, TEXT_ALNUM), 7);
    assert_int_equal(text_count_class(text, len, TEXT_SPACE), 2);
    assert_int_equal(text_count_class(text, len, TEXT_UPPER), 1);
    assert_int_equal(text_count_class(text, len, TEXT_LOWER), 3);
    assert_int_equal(text_count_class(text, len, TEXT_PUNCT), 2);
    assert_true(text_share_class(text, len, TEXT_DIGIT) == 2.0 / 11.0);
    assert_true(text_share_class("", 0, TEXT_DIGIT) == 0);
}

static void load(struct text_doc *doc, struct text_spans *words, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(text_words(TEXT_WORDS_WHITESPACE, text, len, words, NULL), SLUICE_OK);
    assert_int_equal(text_doc_init(doc, text, len, words->data, words->count, NULL), SLUICE_OK);
}

static void test_words(void **state)
{
    (void)state;
    struct text_doc doc;
    struct text_spans words = { 0 };
    struct text_word_counts counts;
    load(&doc, &words,
         "The -- 42 ... caf\xC3\xA9? \xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82 #x \xE3\x80\x82 x");
    assert_int_equal(doc.chars, 30);
    assert_false(doc.ascii);
    text_word_counts(&doc, &counts);
    assert_int_equal(counts.words, 9);
    assert_int_equal(counts.content, 6); /* not --, ..., and the full stop */
    assert_int_equal(counts.alphabetic, 5);
    assert_int_equal(counts.chars, 22);
    assert_int_equal(counts.content_chars, 16);
    text_spans_deinit(&words);
}

/* Words that the first character tells about, and others, against a plain loop. */
static void test_word_classes(void **state)
{
    (void)state;
    static const char *const parts[] = { "a",           "Z",        "7",        "-",
                                         "_",           "+",        "$",        "(",
                                         ".",           "\xC3\xA9", "\xC2\xB0", "\xE3\x80\x82",
                                         "\xE2\x82\xAC" };
    uint64_t seed = 5;
    for (int round = 0; round < 5000; round++) {
        char text[64];
        size_t len = 0, n = kit_random(&seed) % 5;
        size_t kinds = round % 2 == 0 ? 9 : sizeof parts / sizeof parts[0];
        for (size_t i = 0; i < n; i++) {
            const char *part = parts[kit_random(&seed) % kinds];
            memcpy(text + len, part, strlen(part));
            len += strlen(part);
        }
        struct text_span word = { 0, (uint32_t)len };
        struct text_doc doc;
        struct text_word_counts counts;
        bool letter = false, content = false;
        for (size_t at = 0; at < len;) {
            uint32_t cp;
            at += text_utf8_decode(text, len, at, &cp);
            letter |= (text_classes(cp) & TEXT_LETTER) != 0;
            content |= (text_classes(cp) & TEXT_PUNCTUATION_SET) == 0;
        }
        assert_int_equal(text_doc_init(&doc, text, len, &word, 1, NULL), SLUICE_OK);
        text_word_counts(&doc, &counts);
        assert_int_equal(counts.alphabetic, letter);
        assert_int_equal(counts.content, content);
        assert_int_equal(counts.chars, text_utf8_count(text, len));
        assert_int_equal(counts.content_chars, content ? counts.chars : 0);
    }
}

static void test_bad_words(void **state)
{
    (void)state;
    struct text_doc doc;
    struct sluice_error err = { .size = sizeof err };
    static const struct text_span cases[][2] = {
        { { 0, 2 }, { 1, 3 } }, { { 2, 3 }, { 0, 1 } },          { { 2, 1 }, { 3, 4 } },
        { { 0, 1 }, { 2, 6 } }, { { 0, UINT32_MAX }, { 0, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_doc_init(&doc, "a b c", 5, cases[i], 2, &err), SLUICE_E_DATA);
        assert_non_null(strstr(err.message, "in order"));
    }
    assert_int_equal(text_doc_init(&doc, "a", TEXT_MAX + 1, NULL, 0, &err), SLUICE_E_DATA);
    assert_int_equal(text_doc_init(&doc, NULL, 0, NULL, 0, &err), SLUICE_OK);
    assert_int_equal(doc.chars, 0);
}

static void test_units(void **state)
{
    (void)state;
    struct text_doc doc;
    struct text_spans words = { 0 };
    struct text_scratch scratch = { 0 };
    struct text_duplicates found;
    double share;
    load(&doc, &words,
         "\nd\xC3\xA9j\xC3\xA0\nb\n\nd\xC3\xA9j\xC3\xA0\nb\n\n \nd\xC3\xA9j\xC3\xA0\n");
    assert_int_equal(text_unit_duplicates(&doc, TEXT_UNIT_LINE, &scratch, &found, NULL), SLUICE_OK);
    assert_int_equal(found.total, 8); /* "" déjà b déjà b " " déjà "" */
    assert_int_equal(found.elements, 4);
    assert_int_equal(found.chars, 4 + 1 + 4 + 0);
    assert_int_equal(text_unit_duplicates(&doc, TEXT_UNIT_FILLED, &scratch, &found, NULL),
                     SLUICE_OK);
    assert_int_equal(found.total, 5);
    assert_int_equal(found.elements, 3);
    assert_int_equal(found.chars, 9);
    assert_int_equal(text_unit_duplicates(&doc, TEXT_UNIT_PARAGRAPH, &scratch, &found, NULL),
                     SLUICE_OK);
    assert_int_equal(found.total, 3);
    assert_int_equal(found.elements, 1);
    assert_int_equal(found.chars, 6);
    assert_int_equal(text_dup_share(&doc, TEXT_UNIT_LINE, &scratch, &share, NULL), SLUICE_OK);
    assert_true(share == 0.5);
    assert_int_equal(text_dup_char_share(&doc, TEXT_UNIT_PARAGRAPH, &scratch, &share, NULL),
                     SLUICE_OK);
    assert_true(share == 6.0 / (double)doc.chars);
    load(&doc, &words, "");
    assert_int_equal(text_dup_share(&doc, TEXT_UNIT_FILLED, &scratch, &share, NULL), SLUICE_OK);
    assert_true(share == 0);
    text_scratch_deinit(&scratch);
    text_spans_deinit(&words);
}

/* ---- n-grams, plainly ---- */

/* Words i to i + n joined by `joint`, as Python's str.join. */
static size_t join(const struct text_doc *doc, size_t i, size_t n, const char *joint, char *out)
{
    size_t len = 0;
    for (size_t k = i; k < i + n; k++) {
        if (k > i) {
            memcpy(out + len, joint, strlen(joint));
            len += strlen(joint);
        }
        size_t word = doc->words[k].end - doc->words[k].begin;
        memcpy(out + len, doc->text + doc->words[k].begin, word);
        len += word;
    }
    return len;
}

static bool equal(const struct text_doc *doc, size_t i, size_t j, size_t n, const char *joint)
{
    static char a[10000], b[10000];
    size_t len = join(doc, i, n, joint, a);
    return join(doc, j, n, joint, b) == len && memcmp(a, b, len) == 0;
}

static uint64_t plain_top(const struct text_doc *doc, size_t n)
{
    static char gram[10000];
    size_t best = 0, best_at = 0;
    for (size_t i = 0; i + n <= doc->n_words; i++) {
        size_t times = 0;
        for (size_t j = 0; j + n <= doc->n_words; j++) {
            times += equal(doc, i, j, n, " ");
        }
        best_at = times > best ? i : best_at;
        best = times > best ? times : best;
    }
    return best == 0 ? 0 : best * text_utf8_count(gram, join(doc, best_at, n, " ", gram));
}

static uint64_t plain_dup(const struct text_doc *doc, size_t n)
{
    static char gram[10000];
    static size_t seen[1000];
    size_t n_seen = 0;
    uint64_t chars = 0;
    for (size_t i = 0; i + n <= doc->n_words;) {
        size_t k = 0;
        while (k < n_seen && !equal(doc, seen[k], i, n, "")) {
            k++;
        }
        if (k < n_seen) {
            chars += text_utf8_count(gram, join(doc, i, n, "", gram));
            i += n;
        } else {
            seen[n_seen++] = i++;
        }
    }
    return chars;
}

/* Small vocabularies repeat; words that split each other's letters and words with spaces inside
 * are what the short ways could get wrong. */
static void test_ngrams(void **state)
{
    (void)state;
    static const char *const vocabulary[] = {
        "a",        "b",
        "ab",       "ba",
        "aab",      "c d",
        " ",        "d",
        "\xC3\xA9", "abcdefghijklmnopq",
        "the",      "of",
        "cd",       "\xE6\x97\xA5\xE6\x9C\xAC",
        "abcdefgh", "",
    };
    struct text_scratch scratch = { 0 };
    uint64_t seed = 11;
    for (int round = 0; round < 250; round++) {
        char text[4000];
        struct text_span words[200];
        size_t len = 0, n = kit_random(&seed) % (round % 5 == 0 ? 200 : 40);
        size_t from = kit_random(&seed) % 8,
               size = 1 + kit_random(&seed) % (round % 3 == 0 ? 2 : 8);
        size_t spread = round % 4 == 0 ? 3 : 0; /* copies of earlier places */
        for (size_t i = 0; i < n; i++) {
            const char *word = vocabulary[from + kit_random(&seed) % size];
            size_t word_len = strlen(word);
            if (spread > 0 && i > 20 && kit_random(&seed) % 4 != 0) {
                struct text_span earlier = words[i - 17 - kit_random(&seed) % spread % 3];
                word = text + earlier.begin;
                word_len = earlier.end - earlier.begin;
            }
            words[i].begin = (uint32_t)len;
            memmove(text + len, word, word_len);
            len += word_len;
            words[i].end = (uint32_t)len;
            text[len++] = '\n';
        }
        char *exact = malloc(len == 0 ? 1 : len);
        assert_non_null(exact);
        memcpy(exact, text, len);
        struct text_doc doc;
        assert_int_equal(text_doc_init(&doc, exact, len, words, n, NULL), SLUICE_OK);
        for (uint32_t gram = 1; gram <= 12; gram++) {
            uint64_t chars;
            assert_int_equal(text_top_ngram(&doc, gram, &scratch, &chars, NULL), SLUICE_OK);
            assert_int_equal(chars, plain_top(&doc, gram));
            assert_int_equal(text_dup_ngram(&doc, gram, &scratch, &chars, NULL), SLUICE_OK);
            assert_int_equal(chars, plain_dup(&doc, gram));
            double share;
            assert_int_equal(text_dup_ngram_share(&doc, gram, &scratch, &share, NULL), SLUICE_OK);
            assert_true(share == (len == 0 ? 0 : (double)chars / (double)doc.chars));
            /* the filter, which bounds first, decides as the measure */
            struct text_gopher_repetition_options options = { 0 };
            struct text_ngram_limit limits[2] = { { gram, kit_random(&seed) % 100 / 100.0 },
                                                  { gram + 2, 0.2 } };
            options.dup_n_grams = limits;
            options.n_dup_n_grams = 2;
            struct text_verdict verdict;
            uint64_t next;
            assert_int_equal(text_gopher_repetition(&doc, &options, &scratch, &verdict, NULL),
                             SLUICE_OK);
            assert_int_equal(text_dup_ngram(&doc, gram + 2, &scratch, &next, NULL), SLUICE_OK);
            assert_int_equal(verdict.reason, len == 0                  ? TEXT_GOPHER_EMPTY
                                             : share > limits[0].limit ? TEXT_GOPHER_TOP_N_GRAM
                                             : (double)next / (double)doc.chars > 0.2
                                                 ? TEXT_GOPHER_TOP_N_GRAM + 1
                                                 : 0);
        }
        struct text_ngram_limit top[3] = { { 2, 0 }, { 3, 0 }, { 4, 0 } };
        struct text_gopher_repetition_options options = { .top_n_grams = top, .n_top_n_grams = 3 };
        struct text_verdict verdict;
        int32_t reason = len == 0 ? TEXT_GOPHER_EMPTY : 0;
        for (size_t k = 0; k < 3; k++) {
            top[k].limit = kit_random(&seed) % 100 / (round % 2 == 0 ? 100.0 : 25.0);
            double share = len == 0 ? 0 : (double)plain_top(&doc, top[k].n) / (double)doc.chars;
            reason =
                reason == 0 && share > top[k].limit ? TEXT_GOPHER_TOP_N_GRAM + (int32_t)k : reason;
        }
        assert_int_equal(text_gopher_repetition(&doc, &options, &scratch, &verdict, NULL),
                         SLUICE_OK);
        assert_int_equal(verdict.reason, reason);
        free(exact);
    }
    struct text_doc doc;
    double share;
    uint64_t chars;
    struct sluice_error err = { .size = sizeof err };
    assert_int_equal(text_doc_init(&doc, "", 0, NULL, 0, NULL), SLUICE_OK);
    assert_int_equal(text_top_ngram_share(&doc, 2, &scratch, &share, NULL), SLUICE_OK);
    assert_true(share == 0);
    assert_int_equal(text_top_ngram(&doc, 0, &scratch, &chars, &err), SLUICE_E_CONFIG);
    assert_int_equal(text_dup_ngram(&doc, 0, &scratch, &chars, &err), SLUICE_E_CONFIG);
    text_scratch_deinit(&scratch);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct text_doc doc;
    struct text_spans words = { 0 };
    struct text_scratch scratch = { 0 };
    struct sluice_error err = { .size = sizeof err };
    uint64_t chars;
    double share;
    int32_t status;
    char text[1000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = " abc\ncba"[i % 8];
    }
    text[sizeof text - 1] = '\0';
    load(&doc, &words, text);
    ALLOC_EACH(status = text_top_ngram(&doc, 2, &scratch, &chars, &err),
               text_scratch_deinit(&scratch));
    ALLOC_EACH(status = text_dup_ngram(&doc, 2, &scratch, &chars, &err),
               text_scratch_deinit(&scratch));
    ALLOC_EACH(status = text_dup_share(&doc, TEXT_UNIT_LINE, &scratch, &share, &err),
               text_scratch_deinit(&scratch));
    /* nothing is allocated for a second document of the same size */
    assert_int_equal(text_top_ngram(&doc, 2, &scratch, &chars, &err), SLUICE_OK);
    alloc_arm(0, true);
    status = text_top_ngram(&doc, 3, &scratch, &chars, &err);
    assert_false(alloc_disarm());
    assert_int_equal(status, SLUICE_OK);
    text_scratch_deinit(&scratch);
    text_spans_deinit(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),   cmocka_unit_test(test_classes),
        cmocka_unit_test(test_words),     cmocka_unit_test(test_word_classes),
        cmocka_unit_test(test_bad_words), cmocka_unit_test(test_units),
        cmocka_unit_test(test_ngrams),    cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
