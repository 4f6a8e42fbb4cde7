/* plugins/clean/pii_scan: what counts as an e-mail address and as a public IPv4 address. The
 * expectations are what Python's re and ipaddress say to datatrove's two expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clean/pii_scan.h"

typedef int (*next_fn)(const char *, size_t, size_t, struct pii_match *);

/* The matches, with | between. The text is copied to its exact length, so that a sanitizer sees
 * reads outside. */
static void check(next_fn next, const char *text, const char *expected)
{
    char found[512] = "";
    size_t n = strlen(text), from = 0;
    char *copy = malloc(n == 0 ? 1 : n);
    struct pii_match match;

    assert_non_null(copy);
    memcpy(copy, text, n);
    while (next(copy, n, from, &match)) {
        assert_true(match.begin >= from && match.end > match.begin && match.end <= n);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s",
                 found[0] != '\0' ? "|" : "", (int)(match.end - match.begin), copy + match.begin);
        from = match.end;
    }
    free(copy);
    assert_string_equal(found, expected);
}

static void emails(void **state)
{
    (void)state;
    check(pii_next_email, "", "");
    check(pii_next_email, "@", "");
    check(pii_next_email, "write to john.doe@example.com.", "john.doe@example.com");
    check(pii_next_email, "a@b.c,d@e.f", "a@b.c|d@e.f");
    check(pii_next_email, "a@b", "");
    check(pii_next_email, "a@b.", "");
    check(pii_next_email, "a@b.c-", "a@b.c");
    check(pii_next_email, "a@b-.c.d", "");
    check(pii_next_email, "a@-b.c", "");
    check(pii_next_email, "x..y@b.c", "y@b.c");
    check(pii_next_email, ".y@b.c", "y@b.c");
    check(pii_next_email, "y.@b.c", "");
    check(pii_next_email,
          "\xC3\xA9"
          "foo@b.c",
          "");                                             /* no word begins at f */
    check(pii_next_email, "\xC3\xA9+foo@b.c", "+foo@b.c"); /* é is one, + none */
    check(pii_next_email, " +foo@b.c", "foo@b.c");
    check(pii_next_email, "a@[1.2.3.4]", "a@[1.2.3.4]");
    check(pii_next_email, "a@[1.2.3.256]", "");
    check(pii_next_email, "a@[1.2.3.x-y:]", "a@[1.2.3.x-y:]");
    check(pii_next_email, "a@[1.2.3.y-:]", "");
    check(pii_next_email, "a@[1.2.3.4", "");
    check(pii_next_email, "a@b.c@d.e", "a@b.c");
}

static void addresses(void **state)
{
    (void)state;
    check(pii_next_ipv4, "1.2.3.4", "1.2.3.4");
    check(pii_next_ipv4, "1.2.3", "");
    check(pii_next_ipv4, "1.2.3.", "");
    check(pii_next_ipv4, "1.2.3.4.5.6.7.8", "1.2.3.4|5.6.7.8");
    check(pii_next_ipv4, "256.1.1.1", "56.1.1.1");
    check(pii_next_ipv4, "1.1.1.256", "1.1.1.25");
    check(pii_next_ipv4, "1.1.1.1999", "1.1.1.199");
    check(pii_next_ipv4, "12345.1.1.1", "45.1.1.1");
    check(pii_next_ipv4, "1.1234.1.1.1.1", "234.1.1.1");
    check(pii_next_ipv4, "01.002.3.4", "01.002.3.4");
    check(pii_next_ipv4, "...1.2.3.4", "1.2.3.4");
    check(pii_next_ipv4, "1..2.3.4.5", "2.3.4.5");
}

static void publics(void **state)
{
    static const struct {
        const char *text;
        int valid, old, recent;
    } cases[] = {
        { "8.8.8.8", 1, 1, 1 },        { "08.8.8.8", 0, 0, 0 },
        { "0.8.8.8", 1, 0, 0 },        { "10.1.2.3", 1, 0, 0 },
        { "100.64.0.1", 1, 0, 0 },     { "100.63.255.255", 1, 1, 1 },
        { "100.128.0.0", 1, 1, 1 },    { "127.0.0.1", 1, 0, 0 },
        { "169.254.9.9", 1, 0, 0 },    { "172.15.255.255", 1, 1, 1 },
        { "172.31.255.255", 1, 0, 0 }, { "172.32.0.0", 1, 1, 1 },
        { "192.0.0.7", 1, 0, 0 },      { "192.0.0.8", 1, 1, 0 },
        { "192.0.0.9", 1, 1, 1 },      { "192.0.0.170", 1, 0, 0 },
        { "192.0.2.1", 1, 0, 0 },      { "192.168.1.1", 1, 0, 0 },
        { "198.19.255.255", 1, 0, 0 }, { "198.20.0.0", 1, 1, 1 },
        { "203.0.113.5", 1, 0, 0 },    { "223.1.1.1", 1, 1, 1 },
        { "224.0.0.1", 1, 1, 1 },      { "255.255.255.255", 1, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t address = 0;
        assert_int_equal(pii_read_ipv4(cases[i].text, strlen(cases[i].text), &address),
                         cases[i].valid);
        if (cases[i].valid) {
            assert_int_equal(pii_is_public(address, 0), cases[i].old);
            assert_int_equal(pii_is_public(address, 1), cases[i].recent);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(emails), cmocka_unit_test(addresses),
                                        cmocka_unit_test(publics) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
