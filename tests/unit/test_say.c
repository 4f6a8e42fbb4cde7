/* What say.h prints: control characters and bytes that are no UTF-8 are escaped, all else stays. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"

static void printed(const char *text, size_t n, const char *expected)
{
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);

    assert_non_null(file);
    say_text(file, text, n);
    fclose(file);
    assert_string_equal(out, expected);
    free(out);
}

static void test_text(void **state)
{
    (void)state;
    printed("plain \xc3\xa4 \xe6\xbc\xa2 \xf0\x9f\x98\x80\ttab\n", 21,
            "plain \xc3\xa4 \xe6\xbc\xa2 \xf0\x9f\x98\x80\ttab");
    printed("", 0, "");
    printed("a\033[31mb\r\a\177", 10, "a\\u001b[31mb\\u000d\\u0007\\u007f");
    printed("\0x", 2, "\\u0000x");
    printed("\xc2\x9b"
            "2J\xc2\xa0",
            6, "\\u009b2J\xc2\xa0"); /* C1; no-break space stays */
    printed("\xff\xfe", 2, "\\xff\\xfe");
    printed("\xc3", 1, "\\xc3"); /* cut */
    printed("\xe6\xbc", 2, "\\xe6\\xbc");
    printed("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* a surrogate */
    printed("\xc0\x9b", 2, "\\xc0\\x9b");          /* overlong */
    printed("\x9b", 1, "\\x9b");
}

static void test_long(void **state)
{
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    char text[5000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[4500] = '\033';
    say_to(file, "%s|%d\n", text, 7);
    fclose(file);
    assert_int_equal(size, sizeof text - 1 + 5 + 3);
    assert_memory_equal(out + 4500, "\\u001ba", 7);
    assert_string_equal(out + size - 3, "|7\n");
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_text), cmocka_unit_test(test_long) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
