/* test_bpe_masks.c — the mask programs of each instruction set against the scalar scanners: random
 * strings of the characters that the patterns distinguish, and every Unicode scalar in context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "split/pretoken_mask.h"

static const char *const patterns[] = { BPE_KIT_SCANNED };
#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* DeepSeek V3's, which are one program. */
static const char *const three[] = { BPE_KIT_DEEPSEEK };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

static size_t put(uint8_t *out, uint32_t cp)
{
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    if (n == 1) {
        out[0] = (uint8_t)cp;
        return 1;
    }
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (cp & 63));
        cp >>= 6;
    }
    out[0] = (uint8_t)((0xF00u >> n & 0xF0u) | cp);
    return n;
}

#define TEXT 16384
#define CAP 200 /* smaller than the pieces of a text, so that fills are taken up again */

struct cuts {
    size_t at[TEXT], n;
};

static void cut(const struct unicode_table *t, pretoken_fill *fill, const uint8_t *text, size_t len,
                struct cuts *out)
{
    size_t pos = 0;
    out->n = 0;
    while (pos < len) {
        size_t ends[CAP], n = fill(t, text, len, &pos, ends, CAP);
        assert_true(n > 0);
        assert_true(n <= CAP);
        assert_int_equal(ends[n - 1], pos);
        memcpy(out->at + out->n, ends, n * sizeof(ends[0]));
        out->n += n;
    }
}

static void check_cuts(const struct unicode_table *t, pretoken_fill *fill, size_t k, int kind,
                       const uint8_t *text, size_t len, const struct cuts *want)
{
    static struct cuts have;
    size_t i = 0;
    if (!fill) {
        return; /* this processor has none of the kind */
    }
    cut(t, fill, text, len, &have);
    while (i < want->n && i < have.n && want->at[i] == have.at[i]) {
        i++;
    }
    if (i < want->n || i < have.n) {
        size_t from = i ? want->at[i - 1] : 0;
        fail_msg("pattern %zu, kind %d: the piece at %zu ends at %zu, the scanner says "
                 "%zu: '%.*s'",
                 k, kind, from, have.at[i], want->at[i], (int)(len - from < 80 ? len - from : 80),
                 (const char *)text + from);
    }
}

/* What the three scanners make of each other's pieces. */
static void cut_thrice(const struct unicode_table *t, pretoken_fill *const fills[3],
                       const uint8_t *text, size_t len, struct cuts *out)
{
    static struct cuts a, b, c;
    size_t i, j, k, from = 0;
    out->n = 0;
    cut(t, fills[0], text, len, &a);
    for (i = 0; i < a.n; from = a.at[i++]) {
        size_t second = from;
        cut(t, fills[1], text + from, a.at[i] - from, &b);
        for (j = 0; j < b.n; second = from + b.at[j++]) {
            cut(t, fills[2], text + second, from + b.at[j] - second, &c);
            for (k = 0; k < c.n; k++) {
                out->at[out->n++] = second + c.at[k];
            }
        }
    }
}

static void compare_three(const struct unicode_table *t, const uint8_t *text, size_t len)
{
    static struct cuts want;
    pretoken_fill *fills[3];
    for (int k = 0; k < 3; k++) {
        fills[k] = pretoken_scanner_of(three[k], KIND_SCANNER, NULL);
        assert_non_null(fills[k]);
    }
    cut_thrice(t, fills, text, len, &want);
    assert_non_null(pretoken_scanner_three_of(fills, KIND_SCANNER));
    assert_non_null(pretoken_scanner_three_of(fills, KIND_SCALAR));
    for (int kind = KIND_SCANNER; kind <= (int)KIND_AVX512; kind++) {
        check_cuts(t, pretoken_scanner_three_of(fills, (enum pretoken_kind)kind), PATTERNS, kind,
                   text, len, &want);
    }
    fills[2] = fills[1];
    assert_null(pretoken_scanner_three(fills));
}

static void compare(const struct unicode_table *t, const uint8_t *text, size_t len)
{
    static struct cuts want;
    for (size_t k = 0; k < PATTERNS; k++) {
        cut(t, pretoken_scanner_of(patterns[k], KIND_SCANNER, NULL), text, len, &want);
        for (int kind = KIND_SCALAR; kind <= (int)KIND_AVX512; kind++) {
            check_cuts(t, pretoken_scanner_of(patterns[k], (enum pretoken_kind)kind, NULL), k, kind,
                       text, len, &want);
        }
        assert_non_null(pretoken_scanner_of(patterns[k], KIND_SCALAR, NULL));
    }
    compare_three(t, text, len);
}

/* What the patterns distinguish, the frequent more often. */
static const uint32_t pool[] = {
    'a',     'b',     's',    't',      'r',     'e',    'v',    'm',    'l',     'l',    'd',
    'A',     'S',     'T',    'E',      'V',     'L',    'D',    '\'',   '\'',    '\'',   ' ',
    ' ',     ' ',     ' ',    '\n',     '\r',    '\n',   '\t',   '\v',   '0',     '7',    '9',
    '!',     '/',     '/',    '.',      '_',     '<',    0x17F,  0x212A, 0xE9,    0xC9,   0x1C5,
    0x2B0,   0x4E2D,  0x9FA5, 0x3042,   0x301,   0x93E,  0x20DD, 0x663,  0x2167,  0xBD,   0xA0,
    0x85,    0x2028,  0x3000, 0x200B,   0x1F600, 0,      0x7F,   0x2019, 0x20AC,  0x430,  0x410,
    0x10400, 0x10428, 0x378,  0x10FFFF, 0x3005,  0x3007, 0x2E80, 0x3021, 0x16FF0, 0x30FB, 0x309B,
    0x3040,  0x3099,  0x9FA6, 0x9FFF,   0xD55C,  0x3001, 0x30A2, 0xFF01, 0x20000,
};
#define POOL (sizeof(pool) / sizeof(pool[0]))

static void random_strings(void **state)
{
    struct unicode_table t;
    uint64_t seed = 5;
    static uint8_t text[TEXT];
    (void)state;
    assert_int_equal(unicode_table_init(&t), 0);
    for (int round = 0; round < 8000; round++) {
        size_t len = 0, want = 30 + next_random(&seed) % 220, few = 2 + next_random(&seed) % 7;
        uint32_t own[9];
        for (size_t i = 0; i < few; i++) {
            own[i] = pool[next_random(&seed) % (round % 2 ? POOL : 40)];
        }
        while (len < want) {
            uint32_t cp = round % 3 == 0   ? pool[next_random(&seed) % POOL]
                          : round % 3 == 1 ? own[next_random(&seed) % few]
                                           : pool[next_random(&seed) % 40];
            size_t times = next_random(&seed) % 24 == 0 ? next_random(&seed) % 70 : 1;
            for (size_t i = 0; i < times; i++) {
                len += put(text + len, cp);
            }
        }
        if (round % 16 == 15) { /* bytes that are no UTF-8 are cut alike, too */
            for (int i = 0; i < 3; i++) {
                text[next_random(&seed) % len] = (uint8_t)next_random(&seed);
            }
        }
        compare(&t, text, len);
    }
    unicode_table_deinit(&t);
}

/* Under sanitizers one scalar of so many: whether all are cut alike is seen without them. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EVERY 7
#else
#define EVERY 1
#endif

/* Each scalar behind and before letters, capitals, digits, quotes, punctuation and white space. */
static void every_scalar(void **state)
{
    static const char *const around[] = { "a", "B", " ", "'", "!", "7", "\n", "/" };
    struct unicode_table t;
    static uint8_t text[TEXT];
    size_t len = 0;
    uint64_t seed = 17;
    (void)state;
    assert_int_equal(unicode_table_init(&t), 0);
    for (uint32_t cp = 0; cp < 0x110000; cp += EVERY) {
        if (cp >= 0xD800 && cp < 0xE000) {
            continue;
        }
        for (int k = 0; k < 2; k++) {
            text[len++] = (uint8_t)around[next_random(&seed) % 8][0];
            len += put(text + len, cp);
        }
        text[len++] = (uint8_t)around[cp % 8][0];
        if (len > TEXT - 64) {
            compare(&t, text, len);
            len = 0;
        }
    }
    compare(&t, text, len);
    unicode_table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_strings),
        cmocka_unit_test(every_scalar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
