/* test_bpe_pretoken.c — each hand-written scanner against PCRE2 on the same pattern, on random
 * Unicode strings; and the Unicode tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "split/pretoken.h"

static const char *const patterns[] = { BPE_KIT_SCANNED, BPE_KIT_DEEPSEEK };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

/* Characters of every kind the patterns distinguish; repeated ones are more likely. */
static const uint32_t pool[] = {
    'a',    'b',     's',    't',      'r',     'e',    'v',    'm',    'l',    'd',     'A',
    'S',    'T',     'R',    'E',      'V',     'L',    'D',    '\'',   '\'',   '\'',    ' ',
    ' ',    ' ',     ' ',    '\n',     '\r',    '\n',   '\t',   '\v',   '0',    '7',     '9',
    '!',    '/',     '/',    '.',      '_',     '^',    '<',    0x17F,  0x212A, 0xE9,    0xC9,
    0x1C5,  0x2B0,   0x4E2D, 0x9FA5,   0x9FA6,  0x3042, 0x30FF, 0x3040, 0x3100, 0xD55C,  0x301,
    0x93E,  0x20DD,  0x663,  0x2167,   0xBD,    0xA0,   0x85,   0x2028, 0x3000, 0x180E,  0x200B,
    0xFEFF, 0x1F600, 0x200D, 0xFE0F,   0,       1,      0x7F,   0x2019, 0x20AC, 0x10400, 0x10428,
    0x1C89, 0xE000,  0x378,  0x10FFFF, 0x16D40, 0x3005, 0x3007, 0x2E80, 0x3021, 0x16FF0,
};

static size_t put(uint8_t *out, uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (uint8_t)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (uint8_t)(0xC0 | cp >> 6);
        out[1] = (uint8_t)(0x80 | (cp & 63));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (uint8_t)(0xE0 | cp >> 12);
        out[1] = (uint8_t)(0x80 | (cp >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (cp & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | cp >> 18);
    out[1] = (uint8_t)(0x80 | (cp >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (cp >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (cp & 63));
    return 4;
}

struct cuts {
    size_t at[4096], n;
};

static int32_t note(void *context, const uint8_t *text, size_t start, const size_t *ends, size_t n,
                    struct sluice_error *err)
{
    struct cuts *cuts = context;
    size_t i;
    (void)text;
    (void)start;
    (void)err;
    for (i = 0; i < n; i++) {
        assert_true(cuts->n < 4096);
        cuts->at[cuts->n++] = ends[i];
    }
    return SLUICE_OK;
}

static void scanners_equal_pcre2(void **state)
{
    size_t k;
    uint64_t seed = 11;
    (void)state;
    for (k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++) {
        struct pretoken fast, slow;
        struct pretoken_worker *a = NULL, *b = NULL;
        struct sluice_error err = { .size = sizeof(err) };
        static struct cuts x, y;
        int round;
        assert_int_equal(pretoken_init(&fast, &err), SLUICE_OK);
        assert_int_equal(pretoken_init(&slow, &err), SLUICE_OK);
        assert_int_equal(
            pretoken_add(&fast, patterns[k], REGEX_TIKTOKEN, PRETOKEN_ISOLATED, 0, 0, &err),
            SLUICE_OK);
        if (pretoken_add(&slow, patterns[k], REGEX_TIKTOKEN, PRETOKEN_ISOLATED, 0, 1, &err) !=
            SLUICE_OK) {
            fail_msg("%s", err.message);
        }
        assert_non_null(fast.steps[0].fill);
        assert_null(slow.steps[0].fill);
        assert_int_equal(pretoken_worker_create(&fast, &a, &err), SLUICE_OK);
        assert_int_equal(pretoken_worker_create(&slow, &b, &err), SLUICE_OK);
        for (round = 0; round < 20000; round++) {
            uint8_t text[1400];
            size_t len = 0, want = 1 + next_random(&seed) % (round % 16 ? 24 : 300),
                   few = 2 + next_random(&seed) % 6, i;
            uint32_t own[8];
            for (i = 0; i < few; i++) {
                own[i] = pool[next_random(&seed) % (sizeof(pool) / sizeof(pool[0]))];
            }
            for (i = 0; i < want; i++) {
                uint32_t cp = round % 3 == 0 ? own[next_random(&seed) % few]
                              : round % 3 == 1
                                  ? pool[next_random(&seed) % (sizeof(pool) / sizeof(pool[0]))]
                                  : (uint32_t)next_random(&seed) %
                                        (next_random(&seed) % 2 ? 0x3100 : 0x110000);
                if (cp >= 0xD800 && cp < 0xE000) {
                    cp = ' ';
                }
                len += put(text + len, cp);
            }
            if (round % 10 == 9) { /* bytes that are no UTF-8 are cut alike, too */
                text[next_random(&seed) % len] = (uint8_t)next_random(&seed);
            }
            x.n = y.n = 0;
            assert_int_equal(pretoken_run(a, text, len, note, &x, &err), SLUICE_OK);
            assert_int_equal(pretoken_run(b, text, len, note, &y, &err), SLUICE_OK);
            if (x.n != y.n || memcmp(x.at, y.at, x.n * sizeof(x.at[0])) != 0) {
                for (i = 0; i < x.n && i < y.n && x.at[i] == y.at[i]; i++) {
                }
                fail_msg("pattern %zu: piece %zu ends at %zu, PCRE2 says %zu, in '%.*s'", k, i,
                         x.at[i], y.at[i], (int)len, (const char *)text);
            }
        }
        pretoken_worker_destroy(a);
        pretoken_worker_destroy(b);
        pretoken_deinit(&fast);
        pretoken_deinit(&slow);
    }
}

/* Numbers of Unicode 16.0 that tiktoken's and tokenizers' regex engines agree on. */
static void unicode_counts(void **state)
{
    struct unicode_table table;
    uint32_t cp, letters = 0, marks = 0, numbers = 0, spaces = 0, han = 0, words = 0;
    (void)state;
    assert_int_equal(unicode_table_init(&table), 0);
    for (cp = 0; cp < 0x110000; cp++) {
        unsigned flags = unicode_flags(&table, cp);
        letters += (flags & CH_LETTER) != 0;
        marks += (flags & CH_MARK) != 0;
        numbers += (flags & CH_NUMBER) != 0;
        spaces += (flags & CH_SPACE) != 0;
        han += (unicode_value(&table, cp) & UNICODE_HAN) != 0;
        words += (uint32_t)unicode_is_word(&table, cp);
    }
    assert_int_equal(letters, 141028);
    assert_int_equal(marks, 2501);
    assert_int_equal(numbers, 1911);
    assert_int_equal(spaces, 25);
    assert_int_equal(han, 99030);
    assert_int_equal(words, 144667);
    assert_int_equal(unicode_flags(&table, '\n'), CH_SPACE | CH_NEWLINE);
    assert_int_equal(table.ascii['Q'], CH_UPPER);
    unicode_table_deinit(&table);
}

static void a_pattern_with_gaps(void **state)
{
    struct pretoken pretoken;
    struct pretoken_worker *worker = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    struct cuts cuts = { .n = 0 };
    (void)state;
    assert_int_equal(pretoken_init(&pretoken, &err), SLUICE_OK);
    assert_int_equal(
        pretoken_add(&pretoken, "[a-z]+", REGEX_TIKTOKEN, PRETOKEN_NO_GAPS, 0, 0, &err), SLUICE_OK);
    assert_int_equal(pretoken_worker_create(&pretoken, &worker, &err), SLUICE_OK);
    assert_int_equal(pretoken_run(worker, (const uint8_t *)"abc", 3, note, &cuts, &err), SLUICE_OK);
    assert_int_equal(cuts.n, 1);
    assert_int_equal(pretoken_run(worker, (const uint8_t *)"ab1", 3, note, &cuts, &err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "matches nothing"));
    pretoken_worker_destroy(worker);
    pretoken_deinit(&pretoken);
}

/* A pattern that backtracks without end is an error, not a hang. */
static void a_pattern_that_explodes(void **state)
{
    struct pretoken pretoken;
    struct pretoken_worker *worker = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    struct cuts cuts = { .n = 0 };
    uint8_t text[64];
    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(pretoken_init(&pretoken, &err), SLUICE_OK);
    assert_int_equal(pretoken_add(&pretoken, "(?:a|aa|[a-c]|a[a-d])+b|.", REGEX_TIKTOKEN,
                                  PRETOKEN_NO_GAPS, 0, 0, &err),
                     SLUICE_OK);
    assert_int_equal(pretoken_worker_create(&pretoken, &worker, &err), SLUICE_OK);
    assert_int_equal(pretoken_run(worker, text, sizeof(text), note, &cuts, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "too many steps"));
    pretoken_worker_destroy(worker);
    pretoken_deinit(&pretoken);
}

static void patterns_that_are_refused(void **state)
{
    static const struct {
        const char *pattern;
        enum regex_dialect dialect;
        const char *says;
    } bad[] = {
        { "a*", REGEX_TIKTOKEN, "empty string" },
        { "a|", REGEX_HF, "empty string" },
        { "(?=a)", REGEX_HF, "empty string" },
        { "\\w+", REGEX_TIKTOKEN, "unknown escape" },
        { "\\bx", REGEX_HF, "unknown escape" },
        { "^a", REGEX_HF, "anchor" },
        { "a$", REGEX_HF, "anchor" },
        { "a{1,3}+", REGEX_HF, "another quantifier" },
        { "a++*", REGEX_HF, "behind a quantifier" },
        { "(a", REGEX_HF, "unclosed (" },
        { "a)", REGEX_HF, "unopened )" },
        { "[a", REGEX_HF, "unclosed [" },
        { "[]", REGEX_HF, "empty class" },
        { "[a~~b]", REGEX_TIKTOKEN, "set operation" },
        { "[a&&^b]", REGEX_TIKTOKEN, "set operation" },
        { "[[:alpha:]]", REGEX_HF, "[: :]" },
        { "\\p{Greek}", REGEX_HF, "property" },
        { "(?x)a", REGEX_HF, "group" },
        { "(?i:\xC3\x84)", REGEX_HF, "outside ASCII" },
        { "(?i:stop)", REGEX_HF, "ligature" },
        { "(?i:\\p{Lu})", REGEX_TIKTOKEN, "under (?i)" },
        { "[z-a]", REGEX_HF, "range" },
        { "a{2,1}", REGEX_HF, "maximum" },
        { "a{99999}", REGEX_HF, "repetition" },
        { "\\", REGEX_HF, "backslash" },
        { "a\xFF", REGEX_HF, "no UTF-8" },
        { "*a", REGEX_HF, "without an atom" },
        { "(?=a)+b", REGEX_HF, "behind an assertion" },
        { "\\x{110000}", REGEX_HF, "hexadecimal" },
        { "(?<=a+)b", REGEX_HF, "PCRE2 refuses" },
        { "((((((((((((((((((((((((((((((((((((((((a", REGEX_HF, "nesting" },
    };
    struct pretoken pretoken;
    struct sluice_error err = { .size = sizeof(err) };
    size_t i;
    (void)state;
    assert_int_equal(pretoken_init(&pretoken, &err), SLUICE_OK);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (pretoken_add(&pretoken, bad[i].pattern, bad[i].dialect, PRETOKEN_ISOLATED, 0, 0,
                         &err) != SLUICE_E_CONFIG) {
            fail_msg("'%s' was taken", bad[i].pattern);
        }
        if (!strstr(err.message, bad[i].says)) {
            fail_msg("'%s': '%s' does not say '%s'", bad[i].pattern, err.message, bad[i].says);
        }
    }
    assert_int_equal(pretoken.n_steps, 0);
    pretoken_deinit(&pretoken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unicode_counts),
        cmocka_unit_test(scanners_equal_pcre2),
        cmocka_unit_test(a_pattern_with_gaps),
        cmocka_unit_test(a_pattern_that_explodes),
        cmocka_unit_test(patterns_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
