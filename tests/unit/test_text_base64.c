/* text/text_base64: RFC 4648's vectors both ways, every length, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "text/text_base64.h"

/* RFC 4648, section 10, and the two digits that differ between alphabets. */
static void test_vectors(void **state)
{
    static const char *const cases[][2] = { { "", "" },
                                            { "f", "Zg==" },
                                            { "fo", "Zm8=" },
                                            { "foo", "Zm9v" },
                                            { "foob", "Zm9vYg==" },
                                            { "fooba", "Zm9vYmE=" },
                                            { "foobar", "Zm9vYmFy" },
                                            { "\xfb\xef\xbe\xff\xff\xff", "++++////" } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *plain = cases[i][0], *text = cases[i][1];
        char out[16];
        memset(out, 'x', sizeof(out));
        assert_int_equal(text_base64_encode(plain, strlen(plain), out), strlen(text));
        assert_memory_equal(out, text, strlen(text));
        assert_int_equal(out[strlen(text)], 'x');
        memset(out, 'x', sizeof(out));
        assert_int_equal(text_base64_decode(text, strlen(text), out), strlen(plain));
        assert_memory_equal(out, plain, strlen(plain));
        assert_int_equal(out[strlen(text) / 4 * 3], 'x');
    }
}

static void test_round_trip(void **state)
{
    unsigned char bytes[300], back[300];
    char text[TEXT_BASE64_SIZE(300)];
    uint32_t seed = 1;
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        size_t size = text_base64_encode(bytes, n, text);
        assert_int_equal(size, TEXT_BASE64_SIZE(n));
        assert_int_equal(text_base64_decode(text, size, back), n);
        assert_memory_equal(back, bytes, n);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "Z",    "Zg",       "Zg=",      "Zm9vZg", "Zh==",        "Zm9=",      "====",     "Z===",
        "=Zg=", "Zg==Zg==", "Zm=vZm9v", "Zm9-",   "Zm9_",        "Zm9 ",      "Zm9\n",    "Zm\x80v",
        "A*A=", "Zm9v Zg=", "Zg=A",     "=ZgA",   "Zm9vZm9\xff", "Zm9v\tZm9", "Zm9vZ=g=",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char out[8];
        if (text_base64_decode(cases[i], strlen(cases[i]), out) != (size_t)-1) {
            fail_msg("'%s' was taken for base64", cases[i]);
        }
    }
    unsigned char out[3];
    assert_int_equal(text_base64_decode("AA\0A", 4, out), (size_t)-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
