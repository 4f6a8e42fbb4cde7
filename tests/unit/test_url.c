/* plugins/url: hosts and registered domains as tldextract sees them, punycode, lists, words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "url/url_list.h"
#include "url/url_suffix.h"
#include "url/url_words.h"

static const char list[] =
    "// a comment\ncom\nuk\nco.uk\n*.ck\n!www.ck\njp\n*.kawasaki.jp\n!city.kawasaki.jp\n"
    "\xE5\x85\xAC\xE5\x8F\xB8.cn\n\xD1\x80\xD1\x84 a word behind\r\n"
    "// ===BEGIN PRIVATE DOMAINS===\ngithub.io\nio.com\n";

static void check_host(const char *url, const char *expected)
{
    struct text_buffer out = { 0 };

    assert_int_equal(url_host(url, strlen(url), &out, NULL), SLUICE_OK);
    assert_int_equal(out.len, strlen(expected));
    assert_memory_equal(out.data, expected, out.len);
    text_buffer_deinit(&out);
}

static void hosts(void **state)
{
    (void)state;
    check_host("http://a.com/x", "a.com");
    check_host("//a.com", "a.com");
    check_host("a.com/x//y", "a.com");
    check_host("https://user:pw@A.com:80?q", "A.com");
    check_host("http://a@b@c.com", "c.com");
    check_host("ht!tp://a.com", "ht!tp");
    check_host("svn+ssh://a.com", "a.com");
    check_host("http://a.com..", "a.com");
    check_host("http://a\xE3\x80\x82"
               "com\xEF\xBD\xA1",
               "a.com");
    check_host("http:// a.com /", "a.com");
    check_host("http://[::1]:80/", "[::1]");
    check_host("http://[::1", "[");
    check_host("", "");
    check_host("http://", "");
}

static void check_split(const struct url_suffixes *suffixes, const char *host, const char *expected)
{
    struct text_buffer scratch = { 0 };
    struct url_parts p;
    char found[300];

    assert_int_equal(url_split(suffixes, host, strlen(host), &scratch, &p, NULL), SLUICE_OK);
    snprintf(found, sizeof found, "%.*s|%.*s|%.*s", (int)(p.subdomain.end - p.subdomain.begin),
             host + p.subdomain.begin, (int)(p.domain.end - p.domain.begin), host + p.domain.begin,
             (int)(p.suffix.end - p.suffix.begin), host + p.suffix.begin);
    assert_string_equal(found, expected);
    text_buffer_deinit(&scratch);
}

static void domains(void **state)
{
    struct url_suffixes *s;

    (void)state;
    assert_int_equal(url_suffixes_build(list, sizeof list - 1, 0, &s, NULL), SLUICE_OK);
    assert_int_equal(url_suffixes_count(s), 10);
    check_split(s, "www.a.com", "www|a|com");
    check_split(s, "A.Co.UK", "|A|Co.UK");
    check_split(s, "uk", "||uk");
    check_split(s, "x.y.co.uk", "x|y|co.uk");
    check_split(s, "a.b.ck", "|a|b.ck");
    check_split(s, "b.ck", "||b.ck");
    check_split(s, "ck", "||");
    check_split(s, "a.www.ck", "a|www|ck");
    check_split(s, "kawasaki.jp", "|kawasaki|jp");
    check_split(s, "a.kawasaki.jp", "||a.kawasaki.jp");
    check_split(s, "x.city.kawasaki.jp", "x|city|kawasaki.jp");
    check_split(s, "a.xn--55qx5d.cn", "|a|xn--55qx5d.cn");
    check_split(s, "a.\xE5\x85\xAC\xE5\x8F\xB8.cn", "|a|\xE5\x85\xAC\xE5\x8F\xB8.cn");
    check_split(s, "a.xn--p1ai", "|a|xn--p1ai");
    check_split(s, "a.\xD0\xA0\xD0\xA4", "|a|\xD0\xA0\xD0\xA4"); /* upper case */
    check_split(s, "1.2.3.4", "||");
    check_split(s, "", "||");
    check_split(s, ".com", "||com");
    check_split(s, "a.github.io", "||");
    url_suffixes_destroy(s);
    assert_int_equal(url_suffixes_build(list, sizeof list - 1, 1, &s, NULL), SLUICE_OK);
    check_split(s, "x.a.github.io", "x|a|github.io");
    url_suffixes_destroy(s);
    struct sluice_error err = { .size = sizeof err };
    assert_int_equal(url_suffixes_build("// nothing\n", 11, 0, &s, &err), SLUICE_E_CONFIG);
    assert_int_equal(url_suffixes_build("\xff.com\n", 6, 0, &s, &err), SLUICE_E_CONFIG);
}

/* RFC 3492, 7.1, and labels of the list. */
static void punycode(void **state)
{
    static const char *const cases[][2] = {
        { "b\xC3\xBC"
          "cher",
          "xn--bcher-kva" },
        { "\xE5\x85\xAC\xE5\x8F\xB8", "xn--55qx5d" },
        { "\xE4\xBB\x96\xE4\xBB\xAC\xE4\xB8\xBA\xE4\xBB\x80\xE4\xB9\x88\xE4\xB8\x8D\xE8\xAF\xB4\xE4"
          "\xB8\xAD\xE6\x96\x87",
          "xn--ihqwcrb4cv8a8dqg056pqjye" },
        { "3\xE5\xB9\xB4"
          "b\xE7\xB5\x84\xE9\x87\x91\xE5\x85\xAB\xE5\x85\x88\xE7\x94\x9F",
          "xn--3b-ww4c5e180e575a65lsy2b" },
        { "\xD1\x80\xD1\x84", "xn--p1ai" },
    };
    struct text_buffer out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(url_punycode(cases[i][0], strlen(cases[i][0]), &out, NULL), SLUICE_OK);
        assert_int_equal(out.len, strlen(cases[i][1]));
        assert_memory_equal(out.data, cases[i][1], out.len);
    }
    char longer[130];
    for (int i = 0; i < 65; i++) {
        memcpy(longer + 2 * i, "\xC3\xBC", 2);
    }
    assert_int_equal(url_punycode(longer, sizeof longer, &out, NULL), SLUICE_E_DATA);
    text_buffer_deinit(&out);
}

static void *host_alloc(struct sluice_host *host, uint64_t n)
{
    (void)host;
    return malloc((size_t)n);
}

static void host_free(struct sluice_host *host, void *p)
{
    (void)host;
    free(p);
}

static int has(const struct url_set *set, const char *key)
{
    return url_set_has(set, key, strlen(key));
}

static void sets(void **state)
{
    static const char data[] = "#no\n one.com \r\n\ntwo.com\n #three\nfour five\none.com\nlast";
    const struct sluice_host_api api = { .alloc = host_alloc, .free = host_free };
    struct url_set set;

    (void)state;
    assert_int_equal(url_set_build(&set, data, sizeof data - 1, 0, &api, NULL, NULL), SLUICE_OK);
    assert_int_equal(set.n, 5);
    assert_true(has(&set, "one.com") && has(&set, "two.com") && has(&set, "#three") &&
                has(&set, "four five") && has(&set, "last"));
    assert_true(has(&set, ""));
    assert_false(has(&set, "#no") || has(&set, "one") || has(&set, "one.com ") ||
                 has(&set, "two.com\n") || has(&set, "four") || has(&set, "las") ||
                 has(&set, "lastly"));
    url_set_free(&set, &api, NULL);
    assert_int_equal(url_set_build(&set, data, sizeof data - 1, 1, &api, NULL, NULL), SLUICE_OK);
    assert_false(has(&set, ""));
    url_set_free(&set, &api, NULL);
    assert_int_equal(url_set_build(&set, "", 0, 0, &api, NULL, NULL), SLUICE_OK);
    assert_false(has(&set, "") || has(&set, "x"));
    url_set_free(&set, &api, NULL);
}

static struct url_found find(const struct url_words *words, struct url_seen *seen, const char *url,
                             int lower)
{
    struct url_found found;

    assert_int_equal(url_words_find(words, url, strlen(url), lower, seen, &found, NULL), SLUICE_OK);
    return found;
}

static void words_in_urls(void **state)
{
    struct url_words *words;
    struct url_seen seen = { 0 };

    (void)state;
    assert_int_equal(url_words_create(&words, NULL), SLUICE_OK);
    assert_int_equal(url_words_add(words, URL_HARD, "bad\nTer-rible\n", 14, 0, NULL), SLUICE_OK);
    assert_int_equal(url_words_add(words, URL_SOFT, "chat\nlive\nbad\nchat\n", 19, 0, NULL),
                     SLUICE_OK);
    assert_int_equal(url_words_add(words, URL_PIECE, "web cam\n", 8, 0, NULL), SLUICE_OK);
    assert_int_equal(url_words_finish(words, NULL), SLUICE_OK);
    assert_int_equal(find(words, &seen, "http://x.com/chat-chat", 0).soft, 1);
    assert_int_equal(find(words, &seen, "http://live.com/chat", 0).soft, 2);
    assert_int_equal(find(words, &seen, "http://live.com/CHAT", 0).soft, 1);
    assert_int_equal(find(words, &seen, "http://live.com/CHAT", 1).soft, 2);
    assert_int_equal(find(words, &seen, "http://a.com/bad", 0).hard, 1);
    assert_int_equal(find(words, &seen, "http://a.com/badly", 0).hard, 0);
    assert_int_equal(find(words, &seen, "http://a.com/terrible", 0).hard, 1);
    assert_int_equal(find(words, &seen, "http://a.com/x-We.B/ca?m", 0).piece, 1);
    assert_int_equal(find(words, &seen, "http://a.com/", 0).hard, 0);
    url_seen_deinit(&seen);
    url_words_destroy(words);
    /* An empty line is the empty word, which a URL that ends in / has. */
    for (int skip = 0; skip < 2; skip++) {
        assert_int_equal(url_words_create(&words, NULL), SLUICE_OK);
        assert_int_equal(url_words_add(words, URL_HARD, "\n", 1, skip, NULL), SLUICE_OK);
        assert_int_equal(url_words_finish(words, NULL), SLUICE_OK);
        assert_int_equal(find(words, &seen, "http://a.com/", 0).hard, !skip);
        assert_int_equal(find(words, &seen, "http://a.com", 0).hard, 0);
        url_seen_deinit(&seen);
        url_words_destroy(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(hosts), cmocka_unit_test(domains),
                                        cmocka_unit_test(punycode), cmocka_unit_test(sets),
                                        cmocka_unit_test(words_in_urls) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
