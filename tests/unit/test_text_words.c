/* text/text_words, text_lines, text_sentences: the splits, against their definitions and Unicode's
 * own test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/text_kit.h"
#include "text/text.h"

/* The spans must be the |-separated parts of expected ("" for none, "|" for one empty part). */
static void check_spans(const char *text, const struct text_spans *spans, const char *expected)
{
    char found[4096];
    size_t n = 0;
    for (size_t i = 0; i < spans->count; i++) {
        size_t len = spans->data[i].end - spans->data[i].begin;
        memcpy(found + n, text + spans->data[i].begin, len);
        n += len;
        found[n++] = '|';
    }
    found[n] = '\0';
    assert_string_equal(found, expected);
}

static void check_words(enum text_word_rule rule, const char *text, const char *expected)
{
    struct text_spans spans = { 0 };
    assert_int_equal(text_words(rule, text, strlen(text), &spans, NULL), SLUICE_OK);
    check_spans(text, &spans, expected);
    text_spans_deinit(&spans);
}

static void test_whitespace(void **state)
{
    (void)state;
    check_words(TEXT_WORDS_WHITESPACE, "", "");
    check_words(TEXT_WORDS_WHITESPACE, " \t\n\v\f\r\x1c\x1d\x1e\x1f", "");
    check_words(TEXT_WORDS_WHITESPACE, "a", "a|");
    check_words(TEXT_WORDS_WHITESPACE, "  the quick,\tbrown\n\nfox ", "the|quick,|brown|fox|");
    check_words(TEXT_WORDS_WHITESPACE,
                "a\xC2\xA0"
                "b\xE3\x80\x80"
                "c\xE2\x80\x89"
                "d\xC2\x85"
                "e\xE1\x9A\x80"
                "f\xE2\x81\x9F"
                "g",
                "a|b|c|d|e|f|g|");
    check_words(TEXT_WORDS_WHITESPACE,
                "a\xE2\x80\x8B"
                "b \x1b \x08",
                "a\xE2\x80\x8B"
                "b|\x1b|\x08|");                                   /* U+200B is none */
    check_words(TEXT_WORDS_WHITESPACE, "a\xE2\x80", "a\xE2\x80|"); /* cut short */
    check_words(TEXT_WORDS_WHITESPACE, "\xE3\x80\x80", "");
}

/* Words of every length at every place of the blocks, with wide spaces across their borders. */
static void test_whitespace_blocks(void **state)
{
    (void)state;
    struct text_spans spans = { 0 };
    uint64_t seed = 3;
    for (int round = 0; round < 3000; round++) {
        static const char *const pieces[] = {
            "a", "bc", "\xC3\xA9", "\xE6\x97\xA5", "\xF0\x9F\x98\x80",
            " ", "\n", "\xC2\xA0", "\xE3\x80\x80", "\xE2\x80\xA8"
        };
        enum { PIECES = 10, FIRST_SPACE = 5 };
        char *text = malloc(60000);
        struct text_span *expected = malloc(20000 * sizeof *expected);
        assert_true(text != NULL && expected != NULL);
        size_t len = 0, n = 0, most = round % 100 == 0 ? 12000 : 1 + kit_random(&seed) % 150;
        bool inside = false;
        unsigned spaces = 1 + (unsigned)(kit_random(&seed) % 30);
        for (size_t i = 0; i < most; i++) {
            size_t piece = kit_random(&seed) % (spaces + FIRST_SPACE);
            piece = piece >= FIRST_SPACE ? kit_random(&seed) % PIECES : piece;
            if ((piece < FIRST_SPACE) != inside) {
                inside = !inside;
                if (inside) {
                    expected[n].begin = (uint32_t)len;
                } else {
                    expected[n++].end = (uint32_t)len;
                }
            }
            memcpy(text + len, pieces[piece], strlen(pieces[piece]));
            len += strlen(pieces[piece]);
        }
        if (inside) {
            expected[n++].end = (uint32_t)len;
        }
        char *exact = realloc(text, len);
        assert_non_null(exact);
        assert_int_equal(text_words(TEXT_WORDS_WHITESPACE, exact, len, &spans, NULL), SLUICE_OK);
        assert_int_equal(spans.count, n);
        if (n > 0) {
            assert_memory_equal(spans.data, expected, n * sizeof *expected);
        }
        free(exact);
        free(expected);
    }
    text_spans_deinit(&spans);
}

static void test_uax29(void **state)
{
    (void)state;
    check_words(TEXT_WORDS_UAX29, "", "");
    check_words(TEXT_WORDS_UAX29, "The quick (\"brown\") fox can't jump 32.3 feet, right?",
                "The|quick|brown|fox|can't|jump|32.3|feet|right|");
    check_words(TEXT_WORDS_UAX29, "snake_case x86_64 __ - 'a' a. .5 1,000.00 e-mail",
                "snake_case|x86_64|a|a|5|1,000.00|e|mail|");
    check_words(TEXT_WORDS_UAX29,
                "\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x82\xBF\xE3\x83\xAF\xE3\x83\xBC\xE3\x80\x82",
                "\xE6\x9D\xB1|\xE4\xBA\xAC|\xE3\x82\xBF\xE3\x83\xAF\xE3\x83\xBC|");
    check_words(TEXT_WORDS_UAX29, "a\xCC\x81\x62 \xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
                "a\xCC\x81\x62|");
    check_words(TEXT_WORDS_UAX29,
                "\xFF\xFE"
                "ab\xC3",
                "ab|");
}

/* WordBreakTest.txt of Unicode 15: every line, every boundary. */
static void test_word_break_test(void **state)
{
    (void)state;
    size_t len, lines = 0;
    struct text_spans spans = { 0 }, all = { 0 };
    struct text_buffer joined = { 0 }; /* every line, between lines that are known */
    static const char between[] = "\xE2\x80\xA8snake_case_0 more_words\xE2\x80\xA8";
    static const uint32_t between_ends[] = { 3, 15, 16, 26, 29 };
    char *data = kit_archive("unicode.tar.zst", "unicode/WordBreakTest.txt", &len);
    for (char *save = NULL, *line = strtok_r(data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char text[512];
        uint32_t ends[64];
        size_t n = 0, n_ends = 0;
        if (line[0] == '#') {
            continue;
        }
        *strchrnul(line, '#') = '\0';
        for (char *inner = NULL, *token = strtok_r(line, " \t", &inner); token != NULL;
             token = strtok_r(NULL, " \t", &inner)) {
            if (strcmp(token, "\xC3\xB7") == 0) { /* ÷ */
                ends[n_ends++] = (uint32_t)n;
            } else if (strcmp(token, "\xC3\x97") != 0) { /* × */
                n += text_utf8_encode((uint32_t)strtoul(token, NULL, 16), text + n);
            }
        }
        assert_int_equal(text_segments(text, n, &spans, NULL), SLUICE_OK);
        assert_int_equal(spans.count, n_ends - 1);
        for (size_t i = 0; i < spans.count; i++) {
            assert_int_equal(spans.data[i].begin, ends[i]);
            assert_int_equal(spans.data[i].end, ends[i + 1]);
            uint32_t at = (uint32_t)joined.len;
            assert_int_equal(text_spans_push(&all, at + ends[i], at + ends[i + 1], NULL),
                             SLUICE_OK);
        }
        assert_int_equal(text_buffer_append(&joined, text, n, NULL), SLUICE_OK);
        for (size_t i = 0, begin = 0; i < 5; begin = between_ends[i++]) {
            uint32_t at = (uint32_t)joined.len;
            assert_int_equal(
                text_spans_push(&all, at + (uint32_t)begin, at + between_ends[i], NULL), SLUICE_OK);
        }
        assert_int_equal(text_buffer_append(&joined, between, sizeof between - 1, NULL), SLUICE_OK);
        lines++;
    }
    free(data);
    assert_int_equal(lines, 1823);
    assert_int_equal(text_segments(joined.data, joined.len, &spans, NULL), SLUICE_OK);
    assert_int_equal(spans.count, all.count);
    assert_memory_equal(spans.data, all.data, all.count * sizeof *all.data);
    text_buffer_deinit(&joined);
    text_spans_deinit(&spans);
    text_spans_deinit(&all);
}

/* One byte between letters, at every place of the words that are looked at at once. */
static void test_uax29_bytes(void **state)
{
    (void)state;
    struct text_spans spans = { 0 };
    for (unsigned byte = 0; byte < 128; byte++) {
        enum text_word_break property = text_word_break(text_classes(byte));
        bool joins = property == TEXT_WB_ALETTER || property == TEXT_WB_NUMERIC ||
                     property == TEXT_WB_EXTENDNUMLET || property == TEXT_WB_MIDLETTER ||
                     property == TEXT_WB_MIDNUMLET || property == TEXT_WB_SINGLE_QUOTE;
        for (size_t at = 1; at < 17; at++) {
            char text[20];
            memset(text, 'q', sizeof text);
            text[at] = (char)byte;
            assert_int_equal(text_segments(text, sizeof text, &spans, NULL), SLUICE_OK);
            assert_int_equal(spans.count, joins ? 1 : 3);
            assert_int_equal(spans.data[0].end, joins ? sizeof text : at);
            assert_int_equal(text_words(TEXT_WORDS_UAX29, text, sizeof text, &spans, NULL),
                             SLUICE_OK);
            assert_int_equal(spans.count, joins ? 1 : 2);
            memset(text, '_', sizeof text); /* joins, and is no word without a letter */
            text[at] = (char)byte;
            bool alnum = (text_classes(byte) & TEXT_ALNUM) != 0;
            assert_int_equal(text_words(TEXT_WORDS_UAX29, text, sizeof text, &spans, NULL),
                             SLUICE_OK);
            assert_int_equal(spans.count, alnum);
        }
    }
    text_spans_deinit(&spans);
}

static void check_lines(const char *text, size_t len, const char *expected)
{
    struct text_spans spans = { 0 };
    assert_int_equal(text_splitlines(text, len, &spans, NULL), SLUICE_OK);
    check_spans(text, &spans, expected);
    text_spans_deinit(&spans);
}

static void test_lines(void **state)
{
    (void)state;
    check_lines("", 0, "");
    check_lines(NULL, 0, "");
    check_lines("\n", 1, "|");
    check_lines("a\n\nb", 4, "a||b|");
    check_lines("a\r\nb\rc\n", 7, "a|b|c|");
    check_lines("a\vb\fc\x1c"
                "d\x1d"
                "e\x1e"
                "f\x1fg",
                13, "a|b|c|d|e|f\x1fg|");
    check_lines("a\xC2\x85"
                "b\xE2\x80\xA8"
                "c\xE2\x80\xA9"
                "d\xE2\x80\xA6"
                "e\xC2\xA0"
                "f",
                19,
                "a|b|c|d\xE2\x80\xA6"
                "e\xC2\xA0"
                "f|");
    check_lines("\r\r\n\n", 4, "|||");
    /* \r\n across the border of a chunk */
    char *text = malloc(5000);
    assert_non_null(text);
    memset(text, 'a', 5000);
    memcpy(text + 4095, "\r\n", 2);
    struct text_spans spans = { 0 };
    assert_int_equal(text_splitlines(text, 5000, &spans, NULL), SLUICE_OK);
    assert_int_equal(spans.count, 2);
    assert_int_equal(spans.data[0].end, 4095);
    assert_int_equal(spans.data[1].begin, 4097);
    free(text);

    assert_int_equal(text_split_newline("", 0, &spans, NULL), SLUICE_OK);
    check_spans("", &spans, "|");
    assert_int_equal(text_split_newline("a\n\nb\n", 5, &spans, NULL), SLUICE_OK);
    check_spans("a\n\nb\n", &spans, "a||b||");
    assert_int_equal(text_split_newlines("\na\n\nb\n", 6, 1, &spans, NULL), SLUICE_OK);
    check_spans("\na\n\nb\n", &spans, "|a|b||");
    assert_int_equal(text_split_newlines("a\nb\n\n\nc\n\n", 9, 2, &spans, NULL), SLUICE_OK);
    check_spans("a\nb\n\n\nc\n\n", &spans, "a\nb|c||");
    assert_int_equal(text_split_newlines("", 0, 2, &spans, NULL), SLUICE_OK);
    check_spans("", &spans, "|");
    text_spans_deinit(&spans);
}

/* Runs of newlines of every length, also across the borders of blocks, against a plain loop. */
static void test_newline_runs(void **state)
{
    (void)state;
    struct text_spans spans = { 0 };
    uint64_t seed = 7;
    for (int round = 0; round < 600; round++) {
        size_t n = kit_random(&seed) % (round % 20 == 0 ? 9000 : 150), min = 1 + (size_t)round % 3;
        uint64_t rare = 1 + kit_random(&seed) % 70;
        char *text = malloc(n + 1);
        assert_non_null(text);
        for (size_t i = 0; i < n; i++) {
            text[i] = kit_random(&seed) % rare == 0 ? '\n' : 'a';
        }
        assert_int_equal(text_split_newlines(text, n, min, &spans, NULL), SLUICE_OK);
        size_t start = 0, found = 0;
        for (size_t i = 0; i <= n;) {
            size_t stop = i;
            while (stop < n && text[stop] == '\n') {
                stop++;
            }
            if (i == n || stop - i >= min) {
                assert_true(found < spans.count);
                assert_int_equal(spans.data[found].begin, start);
                assert_int_equal(spans.data[found].end, i);
                start = stop;
                found++;
            }
            i = stop + (i == n || stop == i); /* the run at the very end leaves "" behind it */
        }
        assert_int_equal(spans.count, found);
        free(text);
    }
    text_spans_deinit(&spans);
}

static void test_strip(void **state)
{
    (void)state;
    static const struct {
        const char *text, *both, *left, *right;
    } cases[] = {
        { "", "", "", "" },
        { " \xE3\x80\x80\n", "", "", "" },
        { "a", "a", "a", "a" },
        { "\xC2\xA0 a b\t\xE2\x80\xA8", "a b", "a b\t\xE2\x80\xA8", "\xC2\xA0 a b" },
        { "\x80 a \x80", "\x80 a \x80", "\x80 a \x80", "\x80 a \x80" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        struct text_span all = { 0, (uint32_t)strlen(text) };
        struct text_span both = text_strip(text, all), left = text_lstrip(text, all),
                         right = text_rstrip(text, all);
        assert_int_equal(both.end - both.begin, strlen(cases[i].both));
        assert_memory_equal(text + both.begin, cases[i].both, both.end - both.begin);
        assert_int_equal(left.end - left.begin, strlen(cases[i].left));
        assert_int_equal(left.end, all.end);
        assert_int_equal(right.end - right.begin, strlen(cases[i].right));
        assert_int_equal(right.begin, 0);
    }
}

static void test_sentences(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        { "", "" },
        { " \n ", "" },
        { "no end", "no end|" },
        { "One. Two!  Three?\nFour", "One.|Two!|Three?|Four|" },
        { "Really?! Yes... \"Go.\" (Stop.) End.", "Really?!|Yes...|\"Go.\"|(Stop.)|End.|" },
        { "3.14 is pi.", "3.14 is pi.|" },
        { "a.b c", "a.b c|" },
        { "... and", "...|and|" },
        { "Wait\xE2\x80\xA6 what.  ", "Wait\xE2\x80\xA6|what.|" },
        { "\xE3\x81\x82\xE3\x80\x82\xE3\x81\x84\xE3\x80\x82\xE3\x80\x8D\xE3\x81\x86",
          "\xE3\x81\x82\xE3\x80\x82|\xE3\x81\x84\xE3\x80\x82\xE3\x80\x8D|\xE3\x81\x86|" },
        { "\xE0\xA4\x95\xE0\xA5\xA4 \xE0\xA4\x96\xE0\xA5\xA4",
          "\xE0\xA4\x95\xE0\xA5\xA4|\xE0\xA4\x96\xE0\xA5\xA4|" },
    };
    struct text_spans spans = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = strlen(cases[i].text);
        assert_int_equal(text_sentences(cases[i].text, len, &spans, NULL), SLUICE_OK);
        check_spans(cases[i].text, &spans, cases[i].expected);
        assert_int_equal(text_sentence_count(cases[i].text, len), spans.count);
    }
    text_spans_deinit(&spans);
}

static void test_errors(void **state)
{
    (void)state;
    struct sluice_error err = { .size = sizeof err };
    struct text_spans spans = { 0 };
    enum text_word_rule rule;
    int32_t status;
    assert_int_equal(text_word_rule_parse("uax29", &rule, &err), SLUICE_OK);
    assert_int_equal(rule, TEXT_WORDS_UAX29);
    assert_int_equal(text_word_rule_parse("whitespace", &rule, &err), SLUICE_OK);
    assert_int_equal(rule, TEXT_WORDS_WHITESPACE);
    assert_int_equal(text_word_rule_parse("spacy", &rule, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "'spacy'"));
    assert_non_null(strstr(err.message, "whitespace"));
    assert_int_equal(text_words((enum text_word_rule)9, "a", 1, &spans, &err), SLUICE_E_CONFIG);
    /* too long is told before any byte is read */
    assert_int_equal(text_words(TEXT_WORDS_WHITESPACE, "a", TEXT_MAX + 1, &spans, &err),
                     SLUICE_E_DATA);
    assert_int_equal(text_segments("a", TEXT_MAX + 1, &spans, &err), SLUICE_E_DATA);
    assert_int_equal(text_sentences("a", TEXT_MAX + 1, &spans, &err), SLUICE_E_DATA);
    assert_int_equal(text_split_newline("a", TEXT_MAX + 1, &spans, &err), SLUICE_E_DATA);
    assert_int_equal(text_split_newlines("a", TEXT_MAX + 1, 1, &spans, &err), SLUICE_E_DATA);
    assert_int_equal(err.code, SLUICE_E_DATA);
    assert_int_equal(text_spans_reserve(&spans, SIZE_MAX, &err), SLUICE_E_NOMEM);
    assert_int_equal(text_spans_reserve(&spans, SIZE_MAX / 8, NULL), SLUICE_E_NOMEM);

    char text[2000];
    memset(text, 'a', sizeof text);
    for (size_t i = 1; i < sizeof text; i += 2) {
        text[i] = i % 4 == 1 ? ' ' : '\n';
    }
    ALLOC_EACH(status = text_words(TEXT_WORDS_WHITESPACE, text, sizeof text, &spans, &err),
               text_spans_deinit(&spans));
    ALLOC_EACH(status = text_words(TEXT_WORDS_UAX29, text, sizeof text, &spans, &err),
               text_spans_deinit(&spans));
    ALLOC_EACH(status = text_segments(text, sizeof text, &spans, &err), text_spans_deinit(&spans));
    ALLOC_EACH(status = text_splitlines(text, sizeof text, &spans, &err),
               text_spans_deinit(&spans));
    ALLOC_EACH(status = text_split_newline(text, sizeof text, &spans, &err),
               text_spans_deinit(&spans));
    ALLOC_EACH(status = text_split_newlines(text, sizeof text, 1, &spans, &err),
               text_spans_deinit(&spans));
    ALLOC_EACH(status = text_sentences(text, sizeof text, &spans, &err), text_spans_deinit(&spans));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whitespace),      cmocka_unit_test(test_whitespace_blocks),
        cmocka_unit_test(test_uax29),           cmocka_unit_test(test_uax29_bytes),
        cmocka_unit_test(test_word_break_test), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_newline_runs),    cmocka_unit_test(test_strip),
        cmocka_unit_test(test_sentences),       cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
