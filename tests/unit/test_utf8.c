/* base/utf8: the definition, and that the vector version agrees with the plain one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

/* Encodes any number up to 21 bits, surrogates as well. */
static size_t encode(uint32_t c, size_t length, char *out)
{
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };

    if (length == 1) {
        out[0] = (char)c;
        return 1;
    }
    for (size_t k = length - 1; k > 0; k--) {
        out[k] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)(lead[length] | c);
    return length;
}

static size_t length_of(uint32_t c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* The same answer at every place of a block, alone and inside other text. */
static void check(const char *bytes, size_t n, bool expected)
{
    char padded[160];

    assert_int_equal(utf8_valid(bytes, n), expected);
    assert_int_equal(utf8_valid_scalar(bytes, n), expected);
    for (size_t at = 0; at < 70; at += 1 + (at > 34 ? 20 : 0)) {
        memset(padded, 'a', sizeof padded);
        memcpy(padded + at, bytes, n);
        assert_int_equal(utf8_valid(padded, 100), expected);
        assert_int_equal(utf8_valid(padded, sizeof padded), expected);
    }
}

static void test_every_code_point(void **state)
{
    char text[8];

    (void)state;
    for (uint32_t c = 0; c < 0x200000; c++) {
        size_t n = encode(c, length_of(c), text);
        bool expected = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        assert_int_equal(utf8_valid_scalar(text, n), expected);
        if (c < 0x1000 || c % 61 == 0 || (c >= 0xD700 && c < 0xE100 && c % 7 == 0)) {
            check(text, n, expected);
        }
    }
}

static void test_overlong(void **state)
{
    char text[8];

    (void)state;
    for (size_t length = 2; length <= 4; length++) {
        for (uint32_t c = 0; c < (length == 2   ? 0x80u
                                  : length == 3 ? 0x800u
                                                : 0x10000u);
             c += 1 + c / 16) {
            check(text, encode(c, length, text), false);
        }
    }
}

static void test_cut_sequences(void **state)
{
    static const char *const whole[] = { "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                         "\xF4\x8F\xBF\xBF" };
    char text[128];

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        size_t n = strlen(whole[k]);
        for (size_t cut = 1; cut < n; cut++) {
            for (size_t before = 0; before < 100; before++) {
                memset(text, 'x', sizeof text);
                memcpy(text + before, whole[k], cut);
                assert_false(utf8_valid(text, before + cut));
                assert_false(utf8_valid(text, before + cut + 1));
                assert_true(utf8_valid(text, before));
            }
        }
    }
    assert_true(utf8_valid(NULL, 0));
    assert_true(utf8_valid("a\0b", 3));
    assert_false(utf8_valid("\x80", 1));
    assert_false(utf8_valid("\xFF", 1));
    assert_false(utf8_valid("\xC0\x80", 2));
}

/* Random bytes and random damage to good text, in buffers without a spare byte. */
static void test_agrees_with_scalar(void **state)
{
    uint64_t seed = 1;
    size_t good = 0;

    (void)state;
    for (int round = 0; round < 60000; round++) {
        size_t n = (size_t)(round % 331);
        char *text = malloc(n + 1);
        size_t at = 0;
        char *exact;
        bool expected;
        while (at < n) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint32_t c = (uint32_t)(seed >> 43);
            c = (seed >> 33) % 3 == 0 ? c & 0x7F : (seed >> 33) % 3 == 1 ? c & 0xFFF : c % 0x110000;
            c = c >= 0xD800 && c < 0xE000 ? 'a' : c;
            if (length_of(c) > n - at) {
                c = 'b';
            }
            at += encode(c, length_of(c), text + at);
        }
        if (n > 0 && round % 3 != 0) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[(seed >> 33) % n] = (char)(seed >> 25);
        }
        exact = malloc(n > 0 ? n : 1);
        memcpy(exact, text, n);
        expected = utf8_valid_scalar(exact, n);
        good += expected ? 1 : 0;
        assert_int_equal(utf8_valid(exact, n), expected);
        free(text);
        free(exact);
    }
    assert_in_range(good, 20000, 50000);
}

static void test_cut(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    static const size_t whole[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };

    for (size_t most = 0; most < sizeof whole / sizeof whole[0]; most++) {
        assert_int_equal(utf8_cut(text, 10, most), whole[most]);
        for (size_t n = 0; n <= most; n++) {
            assert_int_equal(utf8_cut(text, n, most), n); /* what fits is kept, also when cut */
        }
    }
    /* No text at all: no more than three bytes less. */
    assert_int_equal(utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_overlong),
        cmocka_unit_test(test_cut_sequences),
        cmocka_unit_test(test_agrees_with_scalar),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
