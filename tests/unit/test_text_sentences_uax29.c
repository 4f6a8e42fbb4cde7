/* Sentence boundaries of UAX #29: the rules one by one, Unicode's own test file, and linear
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_kit.h"

#include "text/text_buffer.h"
#include "text/text_sentence_break.h"
#include "text/text_sentences.h"

/* The segments of a text, | behind each. */
static void check(const char *text, const char *expected)
{
    struct text_spans spans = { 0 };
    char found[500] = "";

    assert_int_equal(text_sentence_segments(text, strlen(text), &spans, NULL), SLUICE_OK);
    for (size_t i = 0; i < spans.count; i++) {
        strncat(found, text + spans.data[i].begin, spans.data[i].end - spans.data[i].begin);
        strcat(found, "|");
    }
    assert_string_equal(found, expected);
    text_spans_deinit(&spans);
}

static void test_rules(void **state)
{
    (void)state;
    check("", "");
    check("One. Two! Three", "One. |Two! |Three|");
    check("It is 3.4 here", "It is 3.4 here|");                /* SB6 */
    check("the U.S.A. is", "the U.S.A. is|");                  /* SB7, SB8 */
    check("etc. (with) more. And", "etc. (with) more. |And|"); /* SB8 */
    check("He said: \"Go.\" Then", "He said: \"Go.\" |Then|"); /* SB9, SB10 */
    check("What?, he said", "What?, he said|");                /* SB8a */
    check("Stop?! Yes", "Stop?! |Yes|");                       /* SB8a */
    check("a\r\nb\nc\xE2\x80\xA9"
          "d",
          "a\r\n|b\n|c\xE2\x80\xA9|d|");     /* SB3, SB4 */
    check("x.\xCC\x81 Y", "x.\xCC\x81 |Y|"); /* SB5 */
    check("\xE3\x81\xAF\xE3\x80\x82\xE3\x81\x84", "\xE3\x81\xAF\xE3\x80\x82|\xE3\x81\x84|");
}

/* SentenceBreakTest.txt of Unicode 15: every line, every boundary. */
static void test_conformance(void **state)
{
    struct text_spans spans = { 0 };
    size_t len;
    size_t lines = 0;
    char *data = kit_archive("unicode.tar.zst", "unicode/SentenceBreakTest.txt", &len);

    (void)state;
    for (char *save = NULL, *line = strtok_r(data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char text[512];
        uint32_t ends[64];
        size_t n = 0;
        size_t n_ends = 0;
        if (line[0] == '#') {
            continue;
        }
        *strchrnul(line, '#') = '\0';
        for (char *inner = NULL, *token = strtok_r(line, " \t", &inner); token != NULL;
             token = strtok_r(NULL, " \t", &inner)) {
            if (strcmp(token, "\xC3\xB7") == 0) { /* a boundary */
                ends[n_ends++] = (uint32_t)n;
            } else if (strcmp(token, "\xC3\x97") != 0) { /* none */
                n += text_utf8_encode((uint32_t)strtoul(token, NULL, 16), text + n);
            }
        }
        assert_int_equal(text_sentence_segments(text, n, &spans, NULL), SLUICE_OK);
        assert_int_equal(spans.count, n_ends - 1);
        for (size_t i = 0; i < spans.count; i++) {
            assert_int_equal(spans.data[i].begin, ends[i]);
            assert_int_equal(spans.data[i].end, ends[i + 1]);
        }
        lines++;
    }
    assert_int_equal(lines, 502);
    free(data);
    text_spans_deinit(&spans);
}

static void test_rule(void **state)
{
    static const char text[] = "  One.  \n\n Two is it.\n";
    struct text_spans spans = { 0 };
    enum text_sentence_rule rule;

    (void)state;
    assert_int_equal(text_sentence_rule_parse("uax29", &rule, NULL), SLUICE_OK);
    assert_int_equal(rule, TEXT_SENTENCES_UAX29);
    assert_int_equal(text_sentences_cached(rule, text, sizeof text - 1, NULL, &spans, NULL),
                     SLUICE_OK);
    assert_int_equal(spans.count, 2);
    assert_int_equal(spans.data[0].begin, 2);
    assert_int_equal(spans.data[0].end, 6);
    assert_int_equal(spans.data[1].begin, 11);
    assert_int_equal(spans.data[1].end, 21);
    text_spans_deinit(&spans);
}

/* A mark, then a megabyte that decides nothing: looking ahead from each place would never end. */
static void test_linear(void **state)
{
    size_t n = (size_t)1 << 20;
    char *text = malloc(n);
    struct text_spans spans = { 0 };

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = i % 2 == 0 ? '.' : ')';
    }
    assert_int_equal(text_sentence_segments(text, n, &spans, NULL), SLUICE_OK);
    assert_int_equal(spans.count, 1);
    memset(text, ' ', n);
    text[0] = '.';
    for (size_t i = 2; i < n; i += 2) {
        text[i] = '*';
    }
    assert_int_equal(text_sentence_segments(text, n, &spans, NULL), SLUICE_OK);
    assert_int_equal(spans.count, 2);
    free(text);
    text_spans_deinit(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_conformance),
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
