/* text/text_patterns: every form of the automaton against a search for each pattern by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/text_kit.h"
#include "text/text_list.h"
#include "text/text_patterns.h"
#include "text/text_sample.h"

static int same(const char *a, const char *b, size_t n, int caseless)
{
    for (size_t i = 0; i < n; i++) {
        int x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (caseless) {
            x = x >= 'A' && x <= 'Z' ? x + 32 : x;
            y = y >= 'A' && y <= 'Z' ? y + 32 : y;
        }
        if (x != y) {
            return 0;
        }
    }
    return 1;
}

/* Random words and texts over few letters, so that much matches. */
static void word_make(uint64_t *seed, const char *letters, char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = letters[kit_random(seed) % strlen(letters)];
    }
}

static void check_against_naive(uint64_t seed, uint32_t flags, size_t limit)
{
    enum { WORDS = 40, TEXT = 300 };
    char memory[WORDS][8], text[TEXT];
    struct text_string words[WORDS];
    struct text_patterns *patterns;
    int caseless = (flags & TEXT_PATTERNS_CASELESS) != 0;
    size_t n = 1 + kit_random(&seed) % WORDS;
    const char *letters = kit_random(&seed) % 2 ? "abAB" : "abc\x80\xff\xc3";

    for (size_t i = 0; i < n; i++) {
        size_t len = 1 + kit_random(&seed) % 7;
        word_make(&seed, letters, memory[i], len);
        words[i] = (struct text_string){ memory[i], len };
    }
    word_make(&seed, letters, text, TEXT);
    assert_int_equal(text_patterns_build(words, n, flags, limit, &patterns, NULL), SLUICE_OK);

    size_t expected = 0, found = 0, first_end = SIZE_MAX;
    struct text_pattern_match match = { 0 }, best = { 0 };
    bool any = false;
    for (size_t begin = 0; begin < TEXT; begin++) {
        for (size_t i = 0; i < n; i++) {
            int earlier = 0;
            if (begin + words[i].len > TEXT ||
                !same(text + begin, words[i].data, words[i].len, caseless)) {
                continue;
            }
            for (size_t k = 0; k < i; k++) {
                earlier |= words[k].len == words[i].len &&
                           same(words[k].data, words[i].data, words[i].len, caseless);
            }
            if (earlier) {
                continue; /* an equal pattern: found once */
            }
            expected++;
            size_t end = begin + words[i].len;
            first_end = end < first_end ? end : first_end;
            if (begin >= 50 && (!any || (begin == best.begin &&
                                         (flags & TEXT_PATTERNS_LONGEST) != 0 && end > best.end))) {
                best = (struct text_pattern_match){ begin, end, (uint32_t)i };
                any = true;
            }
        }
    }
    struct text_patterns_scan scan;
    size_t last_end = 0, last_len = 0;
    text_patterns_scan(&scan, patterns, text, TEXT);
    while (text_patterns_next(&scan, &match)) {
        size_t len = match.end - match.begin;
        assert_true(match.pattern < n && words[match.pattern].len == len);
        assert_true(same(text + match.begin, words[match.pattern].data, len, caseless));
        assert_true(match.end > last_end || (match.end == last_end && len < last_len));
        last_end = match.end;
        last_len = len;
        found++;
    }
    assert_int_equal(found, expected);
    size_t end = 0;
    assert_int_equal(text_patterns_any(patterns, text, TEXT, &end), expected > 0);
    assert_true(expected == 0 || end == first_end);
    assert_int_equal(text_patterns_leftmost(patterns, text, TEXT, 50, &match), any);
    if (any) {
        assert_int_equal(match.begin, best.begin);
        assert_int_equal(match.end, best.end);
        assert_int_equal(match.pattern, best.pattern);
    }
    text_patterns_destroy(patterns);
}

static void finds_what_a_search_finds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        uint32_t flags = (uint32_t)(seed & 3);
        check_against_naive(seed, flags, 0); /* dense */
        check_against_naive(seed, flags, 1); /* sparse */
    }
}

static void all_bytes_are_told_apart(void **state)
{
    char all[256];
    struct text_string words[256];
    struct text_patterns *patterns;
    struct text_pattern_match match;

    (void)state;
    for (int i = 0; i < 256; i++) {
        all[i] = (char)i;
        words[i] = (struct text_string){ all + i, 1 };
    }
    assert_int_equal(text_patterns_build(words, 256, 0, 0, &patterns, NULL), SLUICE_OK);
    for (int i = 0; i < 256; i++) {
        assert_true(text_patterns_leftmost(patterns, all + i, 1, 0, &match));
        assert_int_equal(match.pattern, i);
    }
    text_patterns_destroy(patterns);
}

static void no_pattern_and_bad_ones(void **state)
{
    struct text_string empty = { "", 0 };
    struct text_patterns *patterns;
    struct sluice_error err = { .size = sizeof err };

    (void)state;
    assert_int_equal(text_patterns_build(NULL, 0, 0, 0, &patterns, NULL), SLUICE_OK);
    assert_false(text_patterns_any(patterns, "abc", 3, NULL));
    assert_int_equal(text_patterns_states(patterns), 1);
    text_patterns_destroy(patterns);
    assert_int_equal(text_patterns_build(&empty, 1, 0, 0, &patterns, &err), SLUICE_E_CONFIG);
    assert_null(patterns);
    assert_non_null(strstr(err.message, "pattern 1 is empty"));
}

static void memory_is_bounded(void **state)
{
    enum { WORDS = 20000 };
    static char bytes[WORDS][8];
    static struct text_string words[WORDS];
    struct text_patterns *dense, *sparse;

    (void)state;
    for (int i = 0; i < WORDS; i++) {
        words[i] = (struct text_string){ bytes[i], (size_t)snprintf(bytes[i], 8, "w%05d", i) };
    }
    assert_int_equal(text_patterns_build(words, WORDS, 0, 0, &dense, NULL), SLUICE_OK);
    assert_int_equal(text_patterns_build(words, WORDS, 0, 1, &sparse, NULL), SLUICE_OK);
    assert_int_equal(text_patterns_states(dense), text_patterns_states(sparse));
    assert_true(text_patterns_memory(dense) < ((size_t)8 << 20));
    assert_true(text_patterns_memory(sparse) < text_patterns_states(sparse) * 120);
    text_patterns_destroy(dense);
    text_patterns_destroy(sparse);
}

static void fails_without_memory(void **state)
{
    struct text_string words[] = { { "he", 2 }, { "she", 3 }, { "hers", 4 } };
    struct text_patterns *patterns;

    (void)state;
    for (size_t limit = 0; limit < 2; limit++) {
        int32_t status;
        ALLOC_EACH(status = text_patterns_build(words, 3, 0, limit, &patterns, NULL),
                   text_patterns_destroy(patterns));
    }
}

/* numpy.random.default_rng(seed).random(), printed by numpy 2.4. */
static void numbers_are_numpys(void **state)
{
    static const struct {
        uint64_t seed;
        double first, second;
    } cases[] = {
        { 0, 0.6369616873214543, 0.2697867137638703 },
        { 1, 0.5118216247002567, 0.9504636963259353 },
        { 42, 0.7739560485559633, 0.4388784397520523 },
        { UINT64_C(1) << 40 | 7, 0.829812891829413, 0.25530515834910417 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text_pcg64 rng;
        text_pcg64_init(&rng, cases[i].seed);
        assert_true(text_pcg64_double(&rng) == cases[i].first);
        assert_true(text_pcg64_double(&rng) == cases[i].second);
    }
    double share = 0;
    for (int i = 0; i < 10000; i++) {
        char id[16];
        double value = text_sample_id(id, (size_t)snprintf(id, sizeof id, "doc %d", i), 7);
        assert_true(value >= 0 && value < 1);
        share += value < 0.25;
    }
    assert_true(share > 2300 && share < 2700);
    assert_true(text_sample_id("a", 1, 1) != text_sample_id("a", 1, 2));
}

static void lines_are_pythons(void **state)
{
    static const char text[] = "# c\n one \r\n\rtwo\xC2\xA0\n\nthree";
    static const char *const entries[] = { "# c", "one", "", "two", "", "three" };
    struct text_list list = { text, sizeof text - 1, 0, 0 };
    struct text_string line, entry;
    size_t n = 0;

    (void)state;
    while (text_list_next(&list, &line, &entry)) {
        assert_true(n < 6);
        assert_int_equal(entry.len, strlen(entries[n]));
        assert_memory_equal(entry.data, entries[n], entry.len);
        n++;
        assert_int_equal(list.number, n);
    }
    assert_int_equal(n, 6);
    list = (struct text_list){ "a\r", 2, 0, 0 };
    assert_true(text_list_next(&list, NULL, &entry));
    assert_false(text_list_next(&list, NULL, &entry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_search_finds), cmocka_unit_test(all_bytes_are_told_apart),
        cmocka_unit_test(no_pattern_and_bad_ones),   cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(fails_without_memory),      cmocka_unit_test(numbers_are_numpys),
        cmocka_unit_test(lines_are_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
