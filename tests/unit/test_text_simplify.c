/* text/text_simplify: frozen results of the peer, the bound of the output, what may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/text_kit.h"
#include "text/text.h"

static struct text_buffer out;

static void expect(const char *what, const char *text, size_t len, const char *expected,
                   size_t expected_len)
{
    if (out.len != expected_len || (out.len > 0 && memcmp(out.data, expected, out.len) != 0)) {
        fail_msg("%s of '%.*s': '%.*s', expected '%.*s'", what, (int)len, text, (int)out.len,
                 out.data, (int)expected_len, expected);
    }
}

static void check_line(const char *line)
{
    static char text[100000], expected[100000];
    size_t len, expected_len;
    assert_true(strlen(line) < sizeof text);
    assert_true(kit_json(line, "text", text, &len));
    assert_true(kit_json(line, "simplified", expected, &expected_len));
    char *exact = malloc(len == 0 ? 1 : len); /* a sanitizer sees reads behind it */
    assert_non_null(exact);
    memcpy(exact, text, len);
    assert_int_equal(text_simplify(exact, len, TEXT_SIMPLIFY_ALL, &out, NULL), SLUICE_OK);
    expect("simplify_text", text, len, expected, expected_len);
    assert_true(kit_json(line, "lower", expected, &expected_len));
    assert_int_equal(text_lower(exact, len, &out, NULL), SLUICE_OK);
    expect("lower", text, len, expected, expected_len);
    free(exact);
}

static void test_vectors(void **state)
{
    (void)state;
    assert_int_equal(kit_lines("simplify.jsonl", check_line), 300);
}

static void check(const char *text, uint32_t flags, const char *expected)
{
    assert_int_equal(text_simplify(text, strlen(text), flags, &out, NULL), SLUICE_OK);
    expect("text_simplify", text, strlen(text), expected, strlen(expected));
}

static void test_flags(void **state)
{
    (void)state;
    const char *text = "\n Caf\xC3\xA9,  No. 1.5!\t";
    check(text, 0, "Caf\xC3\xA9,  No. 1.5!");
    check(text, TEXT_SIMPLIFY_LOWER, "caf\xC3\xA9,  no. 1.5!");
    check(text, TEXT_SIMPLIFY_NUMBERS, "Caf\xC3\xA9,  No. 0!");
    check(text, TEXT_SIMPLIFY_PUNCTUATION, "Caf\xC3\xA9   No  1 5");
    check(text, TEXT_SIMPLIFY_WHITESPACE, "Caf\xC3\xA9, No. 1.5!");
    check(text, TEXT_SIMPLIFY_DIACRITICS, "Cafe,  No. 1.5!");
    check(text, TEXT_SIMPLIFY_ALL, "cafe no 0");
    check("\xFFx\xE2\x82", TEXT_SIMPLIFY_ALL, "\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_int_equal(text_simplify(NULL, 0, TEXT_SIMPLIFY_ALL, &out, NULL), SLUICE_OK);
    assert_int_equal(out.len, 0);
    assert_int_equal(text_simplify("a", SIZE_MAX / 2, TEXT_SIMPLIFY_ALL, &out, NULL),
                     SLUICE_E_NOMEM);
}

/* All steps at once go short ways; the last one apart from the others does not. Texts of bits that
 * meet where the short ways hand over: numbers, separators, white space, what is not ASCII, block
 * ends. */
static void test_short_ways(void **state)
{
    static const char *const bits[] = {
        "1",        "2",        "90",       ".",        ",",        "a",    "Zq",
        " ",        "\n\t",     "-",        "!",        "\x7F",     "\x01", "\xD9\xA0",
        "\xD9\xAB", "\xD8\x8C", "\xCE\xA3", "\xC4\xB0", "\xC3\xA9", "\xFF", "\xCC\x81\xCC\xA7",
    };
    static const char *const words[] = { "word", "Of",  "3.14", "1.2.3.4",
                                         "7",    "(a)", "x,y",  "v2.0,5" };
    struct text_buffer most = { 0 };
    uint64_t seed = 1;
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        char text[400];
        size_t len = 0, wanted = round % 300;
        while (len < wanted) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned pick = (unsigned)(seed >> 33);
            bool word = round % 3 != 0 && pick % 8 != 0;
            const char *bit = word ? words[pick / 8 % (sizeof words / sizeof words[0])]
                                   : bits[pick / 8 % (sizeof bits / sizeof bits[0])];
            memcpy(text + len, bit, strlen(bit));
            len += strlen(bit);
            if (word && pick % 16 < 12) {
                text[len++] = ' ';
            }
        }
        assert_int_equal(
            text_simplify(text, len, TEXT_SIMPLIFY_ALL & ~TEXT_SIMPLIFY_DIACRITICS, &most, NULL),
            SLUICE_OK);
        assert_int_equal(text_simplify(most.data, most.len, TEXT_SIMPLIFY_DIACRITICS, &out, NULL),
                         SLUICE_OK);
        most.len = 0;
        assert_int_equal(text_buffer_append(&most, out.data, out.len, NULL), SLUICE_OK);
        char *exact = malloc(len == 0 ? 1 : len); /* a sanitizer sees reads behind it */
        assert_non_null(exact);
        memcpy(exact, text, len);
        assert_int_equal(text_simplify(exact, len, TEXT_SIMPLIFY_ALL, &out, NULL), SLUICE_OK);
        expect("every step at once", text, len, most.data, most.len);
        free(exact);
    }
    text_buffer_deinit(&most);
}

/* The output is reserved as three times the input: no code point may need more. */
static void test_expansion(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char text[4];
        size_t n = text_utf8_encode(cp, text);
        assert_int_equal(
            text_simplify(text, n, TEXT_SIMPLIFY_LOWER | TEXT_SIMPLIFY_DIACRITICS, &out, NULL),
            SLUICE_OK);
        assert_true(out.len <= 3 * n);
        assert_int_equal(text_lower(text, n, &out, NULL), SLUICE_OK);
        assert_true(out.len <= 3 * n);
    }
    /* long runs of combining marks in reverse order are sorted in time */
    size_t len = 0, most = 3000000;
    char *text = malloc(most + 8);
    assert_non_null(text);
    while (len < most) {
        len +=
            text_utf8_encode(len % 2 == 0 ? 0x302E : 0x16FF0, text + len); /* classes 224 and 6 */
    }
    assert_int_equal(text_simplify(text, len, TEXT_SIMPLIFY_ALL, &out, NULL), SLUICE_OK);
    assert_int_equal(out.len, len);
    uint32_t first, last;
    text_utf8_decode(out.data, out.len, 0, &first);
    text_utf8_prev(out.data, out.len, &last);
    assert_int_equal(first, 0x16FF0);
    assert_int_equal(last, 0x302E);
    /* and a long run of case-ignorable marks between sigmas */
    for (size_t i = 0; i + 2 <= most; i += 2) {
        memcpy(text + i, i % 2000 == 0 ? "\xCE\xA3" : "\xCC\x81", 2);
    }
    assert_int_equal(text_lower(text, most, &out, NULL), SLUICE_OK);
    free(text);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct sluice_error err = { .size = sizeof err };
    int32_t status;
    char text[2000];
    for (size_t i = 0; i + 4 <= sizeof text; i += 4) {
        memcpy(text + i, i % 8 == 0 ? "a\xE3\x80\xAE" : "\xF0\x96\xBF\xB0", 4);
    }
    text_buffer_deinit(&out);
    ALLOC_EACH(status = text_simplify(text, sizeof text, TEXT_SIMPLIFY_ALL, &out, &err),
               text_buffer_deinit(&out));
    ALLOC_EACH(status = text_lower(text, sizeof text, &out, &err), text_buffer_deinit(&out));
}

static int release(void **state)
{
    (void)state;
    text_buffer_deinit(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),    cmocka_unit_test(test_flags),
        cmocka_unit_test(test_short_ways), cmocka_unit_test(test_expansion),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
