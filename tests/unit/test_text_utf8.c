/* text/text_utf8, text_class and the inner loops of text_scan: definitions, and that versions
 * agree. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "text/text.h"
#include "text/text_scan.h"
#include "text/text_seen.h"
#include "tests/unit/text_kit.h"

static void check_valid(const char *bytes, size_t len, bool expected, size_t expected_at)
{
    char padded[300];
    for (size_t at = 0; at < 130; at += 1 + at / 16) {
        size_t bad_at = SIZE_MAX;
        memset(padded, 'a', sizeof padded);
        memcpy(padded + at, bytes, len);
        assert_int_equal(text_utf8_valid(padded, sizeof padded, &bad_at), expected);
        assert_int_equal(bad_at, expected ? SIZE_MAX : at + expected_at);
    }
}

static void test_valid(void **state)
{
    (void)state;
    size_t at = 7;
    assert_true(text_utf8_valid("", 0, &at));
    assert_true(text_utf8_valid(NULL, 0, NULL));
    assert_int_equal(at, 7);
    check_valid("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, true, 0);
    check_valid("\xF4\x8F\xBF\xBF", 4, true, 0);
    check_valid("\xED\x9F\xBF\xEE\x80\x80", 6, true, 0);
    check_valid("\xC0\x80", 2, false, 0); /* overlong */
    check_valid("\xC1\xBF", 2, false, 0);
    check_valid("\xE0\x9F\xBF", 3, false, 0);
    check_valid("\xF0\x8F\xBF\xBF", 4, false, 0);
    check_valid("\xED\xA0\x80", 3, false, 0);     /* surrogate */
    check_valid("\xF4\x90\x80\x80", 4, false, 0); /* above U+10FFFF */
    check_valid("\xF5\x80\x80\x80", 4, false, 0);
    check_valid("\x80", 1, false, 0);
    check_valid("\xC3\xA9\xE2\x82", 4, false, 2); /* cut by ASCII */
    check_valid("\xFF", 1, false, 0);
    assert_false(text_utf8_valid("\xE2\x82", 2, &at)); /* cut by the end */
    assert_int_equal(at, 0);
}

/* Markus Kuhn's decoder cases with the verdict of a strict decoder. */
static void test_decoder_cases(void **state)
{
    (void)state;
    size_t len, count = 0;
    char *data = kit_archive("unicode.tar.zst", "unicode/utf8-decoder-cases.tsv", &len);
    for (char *save = NULL, *line = strtok_r(data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char id[32], hex[4096], perl[16], verdict[16], bytes[2048];
        if (line[0] == '#' || sscanf(line, "%31s %4095s %15s %15s", id, hex, perl, verdict) != 4) {
            continue;
        }
        size_t n = 0;
        for (const char *p = hex; *p != '\0'; p += 2) {
            unsigned byte;
            assert_int_equal(sscanf(p, "%2x", &byte), 1);
            bytes[n++] = (char)byte;
        }
        if (text_utf8_valid(bytes, n, NULL) != (strcmp(verdict, "valid") == 0)) {
            fail_msg("case %s: expected %s", id, verdict);
        }
        count++;
    }
    free(data);
    assert_true(count > 60);
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char text[8] = "x";
        uint32_t found = 0;
        size_t n = text_utf8_encode(cp, text + 1);
        bool surrogate = cp >= 0xD800 && cp <= 0xDFFF;
        text[1 + n] = 'y';
        assert_int_equal(text_utf8_decode(text, n + 2, 1, &found), n);
        assert_int_equal(found, surrogate ? TEXT_REPLACEMENT : cp);
        assert_int_equal(text_utf8_next(text, n + 2, 1), 1 + n);
        assert_int_equal(text_utf8_prev(text, 1 + n, &found), 1);
        assert_int_equal(found, surrogate ? TEXT_REPLACEMENT : cp);
        assert_int_equal(text_utf8_count(text, n + 2), 3);
        for (size_t cut = 2; cut < 1 + n; cut++) { /* truncated */
            assert_int_equal(text_utf8_decode(text, cut, 1, &found), 1);
            assert_int_equal(found, TEXT_REPLACEMENT);
            assert_int_equal(text_utf8_prev(text, cut, &found), cut - 1);
        }
    }
    assert_int_equal(text_utf8_prev("a", 0, NULL), 0);
    assert_int_equal(text_utf8_next("a", 1, 1), 1);
    char out[4];
    assert_int_equal(text_utf8_encode(0x110000, out), 3);
}

static void test_classes(void **state)
{
    (void)state;
    static const struct {
        uint32_t cp, has, has_not;
    } cases[] = {
        { 'a', TEXT_LETTER | TEXT_LOWER | TEXT_CASED, TEXT_UPPER | TEXT_DIGIT | TEXT_PUNCT },
        { 'A', TEXT_LETTER | TEXT_UPPER | TEXT_LOWERS, TEXT_LOWER },
        { '7', TEXT_DIGIT | TEXT_NUMBER, TEXT_LETTER },
        { '.', TEXT_PUNCT | TEXT_PUNCTUATION | TEXT_TERMINAL | TEXT_SENTENCE_END, TEXT_SYMBOL },
        { '$', TEXT_SYMBOL | TEXT_PUNCTUATION, TEXT_PUNCT | TEXT_TERMINAL },
        { 0x1F, TEXT_SPACE | TEXT_PUNCTUATION, TEXT_LINE_BREAK },
        { 0x1E, TEXT_SPACE | TEXT_LINE_BREAK, TEXT_LETTER },
        { 0x85, TEXT_SPACE | TEXT_LINE_BREAK | TEXT_PUNCTUATION, 0 },
        { 0x200B, 0, TEXT_SPACE },
        { 0x3000, TEXT_SPACE, TEXT_LINE_BREAK },
        { 0x2029, TEXT_SPACE | TEXT_LINE_BREAK, 0 },
        { 0x4E00, TEXT_LETTER, TEXT_NUMBER },
        { 0xBD, TEXT_NUMBER, TEXT_DIGIT },
        { 0xFF11, TEXT_DIGIT | TEXT_PUNCTUATION, TEXT_LETTER },
        { 0x661, TEXT_DIGIT, 0 },
        { 0x301, TEXT_NONSPACING | TEXT_NON_STARTER | TEXT_CASE_IGNORABLE, TEXT_LETTER },
        { 0xE9, TEXT_LETTER | TEXT_DECOMPOSES, TEXT_LOWERS },
        { 0xAC00, TEXT_LETTER | TEXT_DECOMPOSES, 0 },
        { 0x3002, TEXT_TERMINAL | TEXT_SENTENCE_END | TEXT_FULL_STOP_CJK, 0 },
        { 0x2026, TEXT_SENTENCE_END | TEXT_PUNCTUATION, TEXT_TERMINAL },
        { 0x1F600, TEXT_PICTOGRAPH | TEXT_SYMBOL, TEXT_LETTER },
        { 0x10FFFF, 0, 0xFFFFFF },
        { 0x110000, 0, 0xFFFFFFFF },
        { UINT32_MAX, 0, 0xFFFFFFFF },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t classes = text_classes(cases[i].cp);
        if ((classes & cases[i].has) != cases[i].has || (classes & cases[i].has_not) != 0) {
            fail_msg("U+%04X has classes %x", cases[i].cp, classes);
        }
    }
    size_t punctuation = 0, terminal = 0, space = 0, digits = 0;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        uint32_t classes = text_classes(cp);
        punctuation += (classes & TEXT_PUNCTUATION) != 0;
        terminal += (classes & TEXT_TERMINAL) != 0;
        space += (classes & TEXT_SPACE) != 0;
        digits += (classes & TEXT_DIGIT) != 0;
    }
    assert_int_equal(punctuation, 129); /* datatrove 0.10's sets */
    assert_int_equal(terminal, 159);
    assert_int_equal(space, 29);   /* Python's str.isspace */
    assert_int_equal(digits, 680); /* Nd in Unicode 15 */
    assert_int_equal(text_class_by_name("letter", 6), TEXT_LETTER);
    assert_int_equal(text_class_by_name("alnum", 5), TEXT_LETTER | TEXT_NUMBER);
    assert_int_equal(text_class_by_name("lette", 5), 0);
    assert_int_equal(text_class_by_name("", 0), 0);
}

/* Every version of every inner loop says the same, and what a plain loop says. */
static void test_scans(void **state)
{
    (void)state;
    static const unsigned char interesting[] = { ' ',  '\n', '\t', 0x1C, 0x1F, 0x08, 0x0E,
                                                 0x1B, 0x21, 'a',  0xC2, 0xE1, 0xE2, 0xE3,
                                                 0xE4, 0xC1, 0x80, 0xBF, 0xFF, 0 };
    uint64_t seed = 1;
    for (int round = 0; round < 4000; round++) {
        size_t n = kit_random(&seed) % (round % 10 == 0 ? TEXT_SCAN_CHUNK + 1 : 200);
        unsigned char *p = malloc(n + 1); /* exact: a sanitizer sees reads behind it */
        assert_non_null(p);
        bool ascii = kit_random(&seed) % 2 == 0;
        size_t first_high = n, count = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t r = kit_random(&seed);
            p[i] =
                r % 3 == 0 ? interesting[(r >> 8) % sizeof interesting] : (unsigned char)(r >> 8);
            p[i] = ascii && (r >> 20) % 100 != 0 ? p[i] & 0x7F : p[i];
            first_high = p[i] >= 0x80 && i < first_high ? i : first_high;
            count += (p[i] & 0xC0) != 0x80;
        }
        unsigned char *exact = malloc(n == 0 ? 1 : n);
        assert_non_null(exact);
        memcpy(exact, p, n);
        assert_int_equal(text_scan_ascii(exact, n), first_high);
        assert_int_equal(text_scan_ascii_portable(exact, n), first_high);
        assert_int_equal(text_scan_count(exact, n), count);
        assert_int_equal(text_scan_count_portable(exact, n), count);
        struct text_scan_bits a, b;
        uint64_t breaks_a[TEXT_SCAN_WORDS], breaks_b[TEXT_SCAN_WORDS];
        size_t words = (n + 63) / 64;
        text_scan_space(exact, n, &a);
        text_scan_space_portable(exact, n, &b);
        assert_memory_equal(a.space, b.space, words * 8);
        assert_memory_equal(a.lead, b.lead, words * 8);
        assert_int_equal(a.any_lead, b.any_lead);
        text_scan_breaks(exact, n, breaks_a);
        text_scan_breaks_portable(exact, n, breaks_b);
        assert_memory_equal(breaks_a, breaks_b, words * 8);
        text_scan_newlines(exact, n, breaks_a);
        text_scan_newlines_portable(exact, n, breaks_b);
        assert_memory_equal(breaks_a, breaks_b, words * 8);
        for (size_t i = 0; i < words * 64; i++) {
            assert_int_equal(breaks_a[i / 64] >> (i % 64) & 1, i < n && exact[i] == '\n');
        }
        for (size_t i = 0; i < n; i++) {
            bool space =
                (exact[i] >= 9 && exact[i] <= 13) || (exact[i] >= 0x1C && exact[i] <= 0x20);
            assert_int_equal(a.space[i / 64] >> (i % 64) & 1, space);
        }
        size_t m = 1 + kit_random(&seed) % 6;
        if (n > m) {
            size_t at = kit_random(&seed) % (n - m);
            assert_int_equal(text_scan_find(exact, n, exact + at, m),
                             text_scan_find_portable(exact, n, exact + at, m));
            assert_true(text_scan_find(exact, n, exact + at, m) <= at);
        }
        assert_int_equal(
            text_scan_find(exact, n, (const unsigned char *)"\x01\x02\x03\x04\x05\x06", 6),
            text_scan_find_portable(exact, n, (const unsigned char *)"\x01\x02\x03\x04\x05\x06",
                                    6));
        static const unsigned char parts[][3] = { { 'a', 'a', 'b' }, { 'q', 'a', 'c' } };
        for (size_t i = 0; i < n; i++) { /* few letters, so that parts occur, or nearly */
            size_t letters = i % 5 == 0 ? 9 : (size_t)round % 7 + 1;
            exact[i] = (unsigned char)"aAbBcCq\x01\x8A"[(exact[i] ^ i * 7) % letters];
        }
        bool folded = false;
        for (size_t i = 0; i + 3 <= n; i++) {
            for (size_t k = 0; k < 2; k++) {
                folded |= tolower(exact[i]) == parts[k][0] &&
                          tolower(exact[i + 1]) == parts[k][1] &&
                          tolower(exact[i + 2]) == parts[k][2];
            }
        }
        assert_int_equal(text_scan_folded(exact, n, parts, 2), folded);
        assert_int_equal(text_scan_folded_portable(exact, n, parts, 2), folded);
        free(exact);
        free(p);
    }
}

/* What was added is found with its place; a full bucket says so; both comparisons agree. */
static void test_seen(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char memory[64 * TEXT_SEEN_BYTES];
    struct text_seen seen;
    uint64_t hashes[400], seed = 5;
    size_t full = 0;

    assert_int_equal(text_seen_buckets(0), 8);
    assert_int_equal(text_seen_buckets(128), 64);
    text_seen_init(&seen, memory, 64);
    for (uint32_t i = 0; i < 400; i++) {
        hashes[i] = kit_random(&seed) << 32 | (kit_random(&seed) & 0xFFFFFFFF);
        hashes[i] &= i % 9 == 0 ? 0xFFFFFFFFFFFFu : ~(uint64_t)0; /* an upper part of 0 */
        uint32_t found = text_seen_add(&seen, hashes[i], i);
        full += found == TEXT_SEEN_FULL;
        assert_true(found == TEXT_SEEN_FULL || found <= i);
        if (found == i) {
            assert_int_equal(text_seen_add(&seen, hashes[i], 1000), i);
        }
    }
    assert_true(full > 0 && full < 100);
    for (uint32_t i = 0; i < 400; i++) { /* each is found, or had no room */
        assert_int_not_equal(text_seen_add(&seen, hashes[i], 1000), 1000);
    }
    for (size_t i = 0; i < 64; i++) {
        for (size_t k = 0; k < 16; k++) {
            unsigned same, taken, same_portable, taken_portable;
            uint16_t mark = seen.buckets[i].marks[k % TEXT_SEEN_LANES];
            mark = (uint16_t)(mark + (k > 7));
            text_seen_compare(&seen.buckets[i], mark, &same, &taken);
            text_seen_compare_portable(&seen.buckets[i], mark, &same_portable, &taken_portable);
            assert_int_equal(same, same_portable);
            assert_int_equal(taken, taken_portable);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_decoder_cases),
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
