/* test_unigram.c — the Unigram model: what tokenizers 0.23.3 and SentencePiece 0.2.1 answered, ties
 * and rounding; random vocabularies against a search of all paths; long texts; the double array. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "model/unigram.h"
#include "model/unigram_trie.h"

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct unigram_piece piece(const char *text, double score, enum unigram_kind kind)
{
    return (struct unigram_piece){ text, strlen(text), score, kind };
}

static struct unigram *create(enum unigram_peer peer, const struct unigram_piece *pieces, size_t n,
                              int bytes)
{
    struct unigram_options options = { peer, pieces, n, 0, bytes };
    struct sluice_error err = { .size = sizeof(err) };
    struct unigram *u = NULL;
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_OK);
    assert_true(unigram_memory(u) > 0);
    assert_int_equal(unigram_size(u), n);
    return u;
}

static void encode(const struct unigram *u, const char *text, const uint32_t *expected,
                   size_t n_expected)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct unigram_scratch scratch = { 0 };
    uint32_t ids[64];
    size_t n;
    int i;
    for (i = 0; i < 2; i++) {
        assert_int_equal(
            unigram_encode(u, &scratch, text, strlen(text), ids, strlen(text), &n, &err),
            SLUICE_OK);
        assert_int_equal(n, n_expected);
        if (n > 0) {
            assert_memory_equal(ids, expected, n * sizeof(*ids));
        }
    }
    if (n > 0) {
        assert_int_equal(unigram_encode(u, &scratch, text, strlen(text), ids, n - 1, &n, &err),
                         SLUICE_E_CONFIG);
        assert_int_equal(n, 0);
    }
    unigram_scratch_deinit(&scratch);
}

/* Entries that unknown characters hit when they stand side by side, and bytes for some. */
static void test_hf(void **state)
{
    static const struct {
        int bytes;
        const char *text;
        size_t n;
        uint32_t ids[8];
    } cases[] = {
        { 0, "a", 1, { 1 } },
        { 0, "ab", 1, { 3 } },
        { 0, "abc", 1, { 4 } },
        { 0, "abab", 2, { 3, 3 } },
        { 0, "cab", 2, { 5, 3 } },
        { 0, "caab", 2, { 12, 3 } },
        { 0, "\342\226\201a\342\226\201ab", 3, { 8, 8, 2 } },
        { 0, "xy", 1, { 10 } },
        { 0, "xyz", 2, { 10, 0 } },
        { 0, "zxyz", 3, { 0, 10, 0 } },
        { 0, "x", 1, { 0 } },
        { 0, "\344\270\255", 1, { 0 } },
        { 0, "\344\270\255\346\226\207", 1, { 11 } },
        { 0, "a\344\270\255\346\226\207b", 3, { 1, 11, 2 } },
        { 0, "<unk>", 1, { 0 } },
        { 0, "a<unk>z", 2, { 1, 0 } },
        { 0, "\012", 1, { 0 } },
        { 0, "\303\251a\344\270\255b", 4, { 7, 1, 0, 2 } },
        { 0, "bcabcaab", 4, { 6, 4, 1, 3 } },
        { 0, "zz\342\226\201zz", 3, { 0, 9, 0 } },
        { 1, "a", 1, { 1 } },
        { 1, "ab", 1, { 3 } },
        { 1, "abc", 1, { 4 } },
        { 1, "abab", 2, { 3, 3 } },
        { 1, "cab", 2, { 5, 3 } },
        { 1, "caab", 2, { 12, 3 } },
        { 1, "\342\226\201a\342\226\201ab", 3, { 8, 8, 2 } },
        { 1, "xy", 1, { 10 } },
        { 1, "xyz", 2, { 10, 0 } },
        { 1, "zxyz", 3, { 0, 10, 0 } },
        { 1, "x", 1, { 13 } },
        { 1, "\344\270\255", 3, { 15, 16, 17 } },
        { 1, "\344\270\255\346\226\207", 1, { 11 } },
        { 1, "a\344\270\255\346\226\207b", 3, { 1, 11, 2 } },
        { 1, "<unk>", 1, { 0 } },
        { 1, "a<unk>z", 2, { 1, 0 } },
        { 1, "\012", 1, { 21 } },
        { 1, "\303\251a\344\270\255b", 6, { 7, 1, 15, 16, 17, 2 } },
        { 1, "bcabcaab", 4, { 6, 4, 1, 3 } },
        { 1, "zz\342\226\201zz", 3, { 0, 9, 0 } },
    };
    static const int bytes[] = { 0x78, 0x79, 0xE4, 0xB8, 0xAD, 0xE6, 0x96, 0x87, 0x0A };
    struct unigram_piece pieces[22] = {
        piece("<unk>", 0, UNIGRAM_NORMAL),
        piece("a", -1, UNIGRAM_NORMAL),
        piece("b", -1, UNIGRAM_NORMAL),
        piece("ab", -2, UNIGRAM_NORMAL),
        piece("abc", -2.5, UNIGRAM_NORMAL),
        piece("c", -3, UNIGRAM_NORMAL),
        piece("bc", -1.5, UNIGRAM_NORMAL),
        piece("\303\251", -2, UNIGRAM_NORMAL),
        piece("\342\226\201a", -1, UNIGRAM_NORMAL),
        piece("\342\226\201", -1.5, UNIGRAM_NORMAL),
        piece("xy", 30, UNIGRAM_NORMAL),
        piece("\344\270\255\346\226\207", -50, UNIGRAM_NORMAL),
        piece("ca", -4, UNIGRAM_NORMAL),
    };
    char names[9][8];
    struct unigram *plain = create(UNIGRAM_HF, pieces, 13, 0), *with_bytes;
    size_t i, len;
    (void)state;
    for (i = 0; i < 9; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "<0x%02X>", (unsigned)bytes[i]);
        pieces[13 + i] = piece(names[i], -60, UNIGRAM_NORMAL);
    }
    with_bytes = create(UNIGRAM_HF, pieces, 22, 1);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        encode(cases[i].bytes ? with_bytes : plain, cases[i].text, cases[i].ids, cases[i].n);
    }
    assert_int_equal(unigram_id(plain, "abc", 3), 4);
    assert_int_equal(unigram_id(plain, "abd", 3), UNIGRAM_NONE);
    assert_int_equal(unigram_id(plain, "", 0), UNIGRAM_NONE);
    assert_memory_equal(unigram_token(plain, 4, &len), "abc", 3);
    assert_int_equal(len, 3);
    assert_null(unigram_token(plain, 13, &len));
    unigram_destroy(plain);
    unigram_destroy(with_bytes);
}

/* Of two equal entries the later one has the name. */
static void test_hf_twice(void **state)
{
    struct unigram_piece pieces[] = { piece("<unk>", 0, UNIGRAM_NORMAL),
                                      piece("a", -1, UNIGRAM_NORMAL),
                                      piece("a", -9, UNIGRAM_NORMAL),
                                      piece("", -1, UNIGRAM_NORMAL) };
    struct unigram *u = create(UNIGRAM_HF, pieces, 4, 0);
    const uint32_t ids[] = { 2, 2 };
    (void)state;
    encode(u, "aa", ids, 2);
    encode(u, "", ids, 0);
    unigram_destroy(u);
}

static void test_no_unknown(void **state)
{
    struct unigram_piece pieces[] = { piece("a", -1, UNIGRAM_NORMAL),
                                      piece("xyz", -1, UNIGRAM_NORMAL) };
    struct unigram_options options = { UNIGRAM_HF, pieces, 2, UNIGRAM_NONE, 0 };
    struct sluice_error err = { .size = sizeof(err) };
    struct unigram_scratch scratch = { 0 };
    struct unigram *u = NULL;
    uint32_t ids[8];
    size_t n;
    (void)state;
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_OK);
    assert_int_equal(unigram_encode(u, &scratch, "aa", 2, ids, 8, &n, &err), SLUICE_OK);
    assert_int_equal(n, 2);
    assert_int_equal(unigram_encode(u, &scratch, "a\303\251", 3, ids, 8, &n, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "U+00E9"));
    unigram_scratch_deinit(&scratch);
    unigram_destroy(u);
}

static void test_spm(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        uint32_t ids[8];
    } cases[] = {
        { "ab", 1, { 3 } },          { "aba", 2, { 3, 1 } }, { "abab", 2, { 1, 7 } },
        { "<x>a", 2, { 4, 1 } },     { "zz", 1, { 0 } },     { "z<x>zza", 4, { 0, 4, 0, 1 } },
        { "qbabq", 3, { 6, 7, 6 } },
    };
    struct unigram_piece pieces[] = {
        piece("<unk>", 0, UNIGRAM_RESERVED),   piece("a", -1, UNIGRAM_NORMAL),
        piece("b", -2, UNIGRAM_NORMAL),        piece("ab", -2.5, UNIGRAM_NORMAL),
        piece("<x>", 0, UNIGRAM_USER_DEFINED), piece("aba", -0.25, UNIGRAM_UNUSED),
        piece("q", 0.5, UNIGRAM_NORMAL),       piece("bab", 0, UNIGRAM_USER_DEFINED),
        piece("<s>", 0, UNIGRAM_RESERVED),
    };
    struct unigram *u = create(UNIGRAM_SPM, pieces, 9, 0);
    const uint32_t unknown[] = { 0 };
    size_t i;
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        encode(u, cases[i].text, cases[i].ids, cases[i].n);
    }
    encode(u, "<s>", unknown, 1); /* a control piece's name is text like any other */
    assert_int_equal(unigram_id(u, "<s>", 3), 8);
    unigram_destroy(u);
}

/* Both paths through "abc" round to one float, but the second offer is higher before it does. */
static void test_spm_rounding(void **state)
{
    static const float scores[][4] = {
        { -0x1.6a40a4p+1f, -0x1.06c3f4p+3f, -0x1.11fd42p+3f, -0x1.9725dcp+1f },
        { -0x1.341cf6p+0f, -0x1.106c14p+3f, -0x1.553404p+2f, 0x1.fa739ap+0f },
        { -0x1.5dcc3cp+1f, -0x1.3b79bcp+0f, -0x1.181faap+2f, -0x1.782758p+2f },
    };
    const uint32_t ids[] = { 2, 4 };
    size_t i;
    (void)state;
    for (i = 0; i < 3; i++) {
        struct unigram_piece pieces[] = {
            piece("<unk>", 0, UNIGRAM_RESERVED),
            piece("a", (double)scores[i][0], UNIGRAM_NORMAL),
            piece("ab", (double)scores[i][1], UNIGRAM_NORMAL),
            piece("bc", (double)scores[i][2], UNIGRAM_NORMAL),
            piece("c", (double)scores[i][3], UNIGRAM_NORMAL),
            piece("b", -30, UNIGRAM_NORMAL),
        };
        struct unigram *u = create(UNIGRAM_SPM, pieces, 6, 0);
        encode(u, "abc", ids, 2);
        unigram_destroy(u);
    }
}

/* The best sum from `at` on, by trying everything; the scores are whole numbers, so that sums are
 * exact in both peers. */
static double best_of(const struct unigram_piece *pieces, size_t n, const char *text)
{
    double best = -INFINITY;
    size_t i;
    int single = 0;
    if (!*text) {
        return 0.0;
    }
    for (i = 1; i < n; i++) {
        if (strncmp(text, pieces[i].bytes, pieces[i].len) == 0) {
            double sum = pieces[i].score + best_of(pieces, n, text + pieces[i].len);
            best = sum > best ? sum : best;
            single |= pieces[i].len == 1;
        }
    }
    if (!single) {
        double sum = -32.0 + best_of(pieces, n, text + 1);
        best = sum > best ? sum : best;
    }
    return best;
}

static void test_random(void **state)
{
    uint32_t seed = 5;
    int round;
    (void)state;
    for (round = 0; round < 300; round++) {
        char names[12][8], text[11];
        struct unigram_piece pieces[13] = { piece("<unk>", 0, UNIGRAM_RESERVED) };
        struct sluice_error err = { .size = sizeof(err) };
        struct unigram_scratch scratch = { 0 };
        struct unigram *u;
        uint32_t ids[16];
        size_t n = 1, i, k, got;
        double sum = 0.0;
        pieces[n++] = piece("#", -22, UNIGRAM_NORMAL); /* the lowest score */
        while (n < 13) {
            size_t len = 1 + next_random(&seed) % 4;
            for (k = 0; k < len; k++) {
                names[n - 1][k] = (char)('a' + next_random(&seed) % 3);
            }
            names[n - 1][len] = '\0';
            for (i = 1; i < n && strcmp(names[n - 1], pieces[i].bytes) != 0; i++) {
            }
            if (i == n) {
                pieces[n] = piece(names[n - 1], -(double)(next_random(&seed) % 20), UNIGRAM_NORMAL);
                n++;
            }
        }
        for (k = 0; k < 10; k++) {
            text[k] = (char)('a' + next_random(&seed) % 3);
        }
        text[10] = '\0';
        u = create(round % 2 ? UNIGRAM_SPM : UNIGRAM_HF, pieces, n, 0);
        assert_int_equal(unigram_encode(u, &scratch, text, 10, ids, 16, &got, &err), SLUICE_OK);
        for (i = k = 0; i < got; i++) {
            if (ids[i] == 0) { /* as many unknown characters as lie before the next token */
                do {
                    sum += -32.0;
                    k++;
                } while (k < 10 && !(i + 1 < got && strncmp(text + k, pieces[ids[i + 1]].bytes,
                                                            pieces[ids[i + 1]].len) == 0));
            } else {
                assert_memory_equal(text + k, pieces[ids[i]].bytes, pieces[ids[i]].len);
                sum += pieces[ids[i]].score;
                k += pieces[ids[i]].len;
            }
        }
        assert_int_equal(k, 10);
        assert_true(sum == best_of(pieces, n, text));
        unigram_scratch_deinit(&scratch);
        unigram_destroy(u);
    }
}

/* Words keep the memory small, whatever the text's length; a text that no cut divides has all of
 * its paths remembered and is still linear. */
static void test_long(void **state)
{
    struct unigram_piece pieces[] = {
        piece("<unk>", 0, UNIGRAM_RESERVED),       piece("\342\226\201a", -1, UNIGRAM_NORMAL),
        piece("\342\226\201", -3, UNIGRAM_NORMAL), piece("a", -2, UNIGRAM_NORMAL),
        piece("aa", -3, UNIGRAM_NORMAL),           piece("aaa", -7, UNIGRAM_NORMAL)
    };
    struct unigram *u = create(UNIGRAM_SPM, pieces, 6, 0);
    struct sluice_error err = { .size = sizeof(err) };
    struct unigram_scratch scratch = { 0 };
    const size_t len = 1u << 20;
    char *text = malloc(len);
    uint32_t *ids = malloc(len * sizeof(*ids));
    size_t i, n;
    (void)state;
    assert_true(text && ids);
    for (i = 0; i < len; i += 8) {
        memcpy(text + i, "\342\226\201aaaaz", 8);
    }
    assert_int_equal(unigram_encode(u, &scratch, text, len, ids, len, &n, &err), SLUICE_OK);
    assert_int_equal(n, len / 8 * 4); /* _a aa a <unk> in some order */
    assert_true(scratch.path_cap <= 512);
    memset(text, 'a', len);
    assert_int_equal(unigram_encode(u, &scratch, text, len, ids, len, &n, &err), SLUICE_OK);
    assert_int_equal(n, len / 2);
    assert_true(scratch.path_cap <= 4 * len);
    unigram_scratch_deinit(&scratch);
    unigram_destroy(u);
    free(text);
    free(ids);
}

static void test_refused(void **state)
{
    struct unigram_piece pieces[] = { piece("<unk>", 0, UNIGRAM_RESERVED),
                                      piece("a", -1, UNIGRAM_NORMAL),
                                      piece("a", -2, UNIGRAM_NORMAL) };
    struct unigram_options options = { UNIGRAM_SPM, pieces, 3, 0, 0 };
    struct sluice_error err = { .size = sizeof(err) };
    struct unigram *u = NULL;
    (void)state;
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "'a' twice"));
    options.n = 2;
    options.byte_fallback = 1;
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "<0x00>"));
    options.unk = 2;
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_E_CONFIG);
    options.unk = UNIGRAM_NONE;
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_E_CONFIG);
    options = (struct unigram_options){ UNIGRAM_HF, pieces, 0, UNIGRAM_NONE, 0 };
    assert_int_equal(unigram_create(&options, &u, &err), SLUICE_E_CONFIG);
    assert_null(u);
}

static void test_read(void **state)
{
    static const struct {
        const char *model;
        const char *message; /* NULL: it is read */
    } cases[] = {
        { "{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"a\",-1.5]]}", NULL },
        { "{\"unk_id\":null,\"vocab\":[[\"a\",-1]],\"byte_fallback\":true}", NULL },
        { "{\"unk_id\":1,\"vocab\":[[\"a\",-1]]}", "unknown piece" },
        { "{\"unk_id\":99999999999,\"vocab\":[[\"a\",-1]]}", "unknown piece" },
        { "{\"unk_id\":-1,\"vocab\":[[\"a\",-1]]}", "model.unk_id" },
        { "{\"unk_id\":0,\"vocab\":[[\"a\"]]}", "a piece in model.vocab" },
        { "{\"unk_id\":0,\"vocab\":[[\"a\",\"b\"]]}", "a piece in model.vocab" },
        { "{\"unk_id\":0,\"vocab\":{}}", "model.vocab" },
        { "{\"unk_id\":0,\"vocab\":[[\"a\",1]],\"alpha\":0.1}", "'alpha'" },
        { "{\"unk_id\":0,\"vocab\":[[\"a\",1]],\"byte_fallback\":1}", "model.byte_fallback" },
    };
    size_t i;
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct unigram *u = NULL;
        json_t *model = json_loads(cases[i].model, 0, NULL);
        int32_t status = unigram_read(model, &u, &err);
        assert_int_equal(status, cases[i].message ? SLUICE_E_CONFIG : SLUICE_OK);
        assert_true(!cases[i].message || strstr(err.message, cases[i].message));
        unigram_destroy(u);
        json_decref(model);
    }
}

/* tokenizers reads -8.819405770167489 and the like a bit beside the nearest number, so that a and b
 * are better than ab, whose score is their sum. */
static void test_read_numbers(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct unigram *u = NULL;
    json_t *model = json_loads("{\"unk_id\":0,\"vocab\":[[\"<unk>\",-100.0],"
                               "[\"a\",-8.819405770167489],[\"b\",-2.4137121420500334],"
                               "[\"ab\",-11.233117912217523],[\"c\",-1e-05],[\"d\",0.0]]}",
                               0, NULL);
    const uint32_t ids[] = { 1, 2, 4, 5 };
    (void)state;
    assert_int_equal(unigram_read(model, &u, &err), SLUICE_OK);
    encode(u, "abcd", ids, 4);
    unigram_destroy(u);
    json_decref(model);
}

static void test_no_memory(void **state)
{
    struct unigram_piece pieces[] = { piece("<unk>", 0, UNIGRAM_NORMAL),
                                      piece("ab", -1, UNIGRAM_NORMAL) };
    struct unigram_options options = { UNIGRAM_HF, pieces, 2, 0, 0 };
    int64_t left;
    int done = 0;
    (void)state;
    for (left = 0; !done && left < 100; left++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct unigram_scratch scratch = { 0 };
        struct unigram *u = NULL;
        uint32_t ids[4];
        size_t n;
        int32_t status;
        alloc_state.left = left;
        alloc_state.failed = false;
        status = unigram_create(&options, &u, &err);
        if (status == SLUICE_OK) {
            status = unigram_encode(u, &scratch, "abx", 3, ids, 4, &n, &err);
        }
        alloc_state.left = -1;
        done = !alloc_state.failed;
        assert_int_equal(status, done ? SLUICE_OK : SLUICE_E_NOMEM);
        unigram_scratch_deinit(&scratch);
        unigram_destroy(u);
    }
    assert_true(done && left > 5);
}

/* Random byte strings, zeros among them, against a plain search. */
static void test_trie(void **state)
{
    uint32_t seed = 9;
    int round;
    (void)state;
    for (round = 0; round < 40; round++) {
        enum { N = 400 };
        static char bytes[N][6];
        struct unigram_trie_string strings[N], given[N];
        struct unigram_trie trie;
        const uint32_t letters = round < 20 ? 3 : 256;
        size_t i, k, n = round == 0 ? 0 : N;
        for (i = 0; i < n; i++) {
            given[i] =
                (struct unigram_trie_string){ bytes[i], next_random(&seed) % 6, (uint32_t)i };
            for (k = 0; k < given[i].len; k++) {
                bytes[i][k] = (char)(next_random(&seed) % letters);
            }
        }
        memcpy(strings, given, sizeof(given));
        assert_int_equal(unigram_trie_init(&trie, strings, n), 0);
        for (i = 0; i < 400; i++) {
            char text[8];
            uint32_t id = UNIGRAM_TRIE_NONE, value = UNIGRAM_TRIE_NONE;
            size_t len = 0, found;
            for (k = 0; k < sizeof(text); k++) {
                text[k] = (char)(next_random(&seed) % letters);
            }
            for (k = 0; k < n; k++) {
                if (given[k].len > 0 && given[k].len >= len &&
                    memcmp(given[k].bytes, text, given[k].len) == 0) {
                    len = given[k].len;
                    id = given[k].value;
                }
            }
            found = unigram_trie_longest(&trie, (const uint8_t *)text,
                                         (const uint8_t *)text + sizeof(text), &value);
            assert_int_equal(found, len);
            assert_int_equal(value, id);
            assert_int_equal(unigram_trie_find(&trie, text, len), id);
        }
        for (i = 0; i < n; i++) {
            assert_true((unigram_trie_find(&trie, bytes[i], given[i].len) == UNIGRAM_TRIE_NONE) ==
                        (given[i].len == 0));
        }
        unigram_trie_deinit(&trie);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hf),           cmocka_unit_test(test_hf_twice),
        cmocka_unit_test(test_no_unknown),   cmocka_unit_test(test_spm),
        cmocka_unit_test(test_spm_rounding), cmocka_unit_test(test_random),
        cmocka_unit_test(test_long),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_read),         cmocka_unit_test(test_read_numbers),
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_trie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
