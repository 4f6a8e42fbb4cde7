/* test_bpe_slow.c — texts that make tokenizers quadratic: each must take a bounded time, under
 * hand-written scanners and under PCRE2 alike. The bound is far above what a linear engine needs
 * (0.1 s a text without sanitizers) and far below what one quadratic step costs (10^12 of
 * anything). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "model/bpe.h"

#define SECONDS 15.0
/* The same cuts in other words, so that no scanner is chosen. */
#define LLAMA3_BY_PCRE2 "(?:" BPE_KIT_LLAMA3 ")"

struct text {
    const char *name;
    char *bytes;
    size_t len;
};

static char *repeat(const char *unit, size_t unit_len, size_t times, size_t *len)
{
    size_t i;
    char *out = malloc(unit_len * times);
    assert_non_null(out);
    for (i = 0; i < times; i++) {
        memcpy(out + i * unit_len, unit, unit_len);
    }
    *len = unit_len * times;
    return out;
}

#define TEXTS 10

static void make_texts(struct text texts[TEXTS])
{
    char spaces[1000];
    uint64_t seed = 99;
    size_t i;
    const struct {
        const char *name, *unit;
        size_t times;
    } plain[] = {
        { "letters", "a", 1000000 },       { "carets", "^", 1000000 },
        { "spaces", " ", 1000000 },        { "newlines", "\n", 1000000 },
        { "han", "\xE7\x9A\x84", 100000 }, { "spaces and newline", "    \n   ", 100000 },
        { "capitals", "A", 1000000 },      { "marks", "\xCC\x96\xCC\x81\xCC\xA8", 100000 }
    };
    for (i = 0; i < 8; i++) {
        texts[i].name = plain[i].name;
        texts[i].bytes =
            repeat(plain[i].unit, strlen(plain[i].unit), plain[i].times, &texts[i].len);
    }
    memset(spaces, ' ', 999);
    spaces[999] = 'x';
    texts[8].name = "999 spaces and x";
    texts[8].bytes = repeat(spaces, 1000, 1000, &texts[8].len);
    texts[9].name = "random letters";
    texts[9].bytes = malloc(1000000);
    assert_non_null(texts[9].bytes);
    for (i = 0; i < 1000000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        texts[9].bytes[i] = (char)('a' + (seed >> 33) % 26);
    }
    texts[9].len = 1000000;
}

/* Encodes all texts; where `same` is given, compares the ids with those of it. */
static void run(struct bpe *bpe, struct bpe *same, const struct text *texts)
{
    struct sluice_error err = { .size = sizeof(err) };
    size_t k;
    for (k = 0; k < TEXTS; k++) {
        struct bpe_worker *worker = NULL;
        size_t cap = bpe_encode_bound(bpe, texts[k].len), n, m, i, bytes = 0;
        uint32_t *ids = malloc(cap * sizeof(*ids)), *other;
        clock_t start = clock();
        double took;
        assert_non_null(ids);
        assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
        if (bpe_encode(worker, texts[k].bytes, texts[k].len, ids, cap, &n, &err) != SLUICE_OK) {
            fail_msg("%s: %s", texts[k].name, err.message);
        }
        took = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (took > SECONDS) {
            fail_msg("%s: %.1f s for %zu bytes", texts[k].name, took, texts[k].len);
        }
        bpe_worker_destroy(worker);
        for (i = 0; i < n; i++) {
            const char *token;
            size_t len;
            assert_int_equal(bpe_decode_token(bpe, ids[i], &token, &len), SLUICE_OK);
            bytes += len;
        }
        assert_int_equal(bytes, texts[k].len);
        if (same) {
            other = malloc(cap * sizeof(*other));
            assert_non_null(other);
            assert_int_equal(bpe_worker_create(same, 0, &worker, &err), SLUICE_OK);
            assert_int_equal(bpe_encode(worker, texts[k].bytes, texts[k].len, other, cap, &m, &err),
                             SLUICE_OK);
            assert_int_equal(n, m);
            assert_memory_equal(ids, other, n * sizeof(*ids));
            bpe_worker_destroy(worker);
            free(other);
        }
        free(ids);
    }
}

static struct bpe *load_with(const char *data, size_t size, const char *pattern)
{
    struct bpe_options options = { .pattern = pattern };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    if (bpe_load(data, size, &options, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return bpe;
}

static void long_pieces(void **state)
{
    static const char *const patterns[] = {
        LLAMA3_BY_PCRE2,
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
        "[\\s\\S]+"
    };
    struct text texts[TEXTS];
    size_t size, i;
    char *data = bpe_kit_file("tiny.tiktoken", &size);
    struct bpe *scanned = load_with(data, size, BPE_KIT_LLAMA3);
    (void)state;
    make_texts(texts);
    for (i = 0; i < 3; i++) {
        struct bpe *bpe = load_with(data, size, patterns[i]);
        run(bpe, i == 0 ? scanned : NULL, texts);
        bpe_destroy(bpe);
    }
    bpe_destroy(scanned);
    free(data);
    data = bpe_kit_file("tiny_deepseek.json", &size);
    scanned = load_with(data, size, NULL);
    run(scanned, NULL, texts);
    bpe_destroy(scanned);
    free(data);
    for (i = 0; i < TEXTS; i++) {
        free(texts[i].bytes);
    }
}

/* A vocabulary whose merges rank behind what they make: no backtracking there, but a heap, and no
 * slower in kind. */
static void long_pieces_in_an_unordered_vocabulary(void **state)
{
    struct text texts[TEXTS];
    size_t size, i;
    char *data = bpe_kit_file("tiny.tiktoken", &size), *odd = malloc(size + 64);
    struct bpe *bpe;
    int n;
    (void)state;
    assert_non_null(odd);
    n = sprintf(odd, "YWFhYQ== 900\nYWE= 901\nYWFh 902\n"); /* aaaa before aa and aaa */
    memcpy(odd + n, data, size);
    bpe = load_with(odd, size + (size_t)n, "[\\s\\S]+");
    make_texts(texts);
    run(bpe, NULL, texts);
    bpe_destroy(bpe);
    for (i = 0; i < TEXTS; i++) {
        free(texts[i].bytes);
    }
    free(odd);
    free(data);
}

/* Canonical ordering of a million marks, in the worst order, with NFC. */
static void long_runs_of_marks(void **state)
{
    struct text text;
    size_t size, n, cap, i;
    char *data = bpe_kit_file("tiny_qwen.json", &size);
    struct bpe *bpe = load_with(data, size, NULL);
    struct bpe_worker *worker = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    uint32_t *ids;
    clock_t start = clock();
    (void)state;
    text.bytes = repeat("\xCC\x81\xCC\x96", 4, 250000, &text.len); /* classes 230, 220 */
    cap = bpe_encode_bound(bpe, text.len);
    ids = malloc(cap * sizeof(*ids));
    assert_non_null(ids);
    assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
    assert_int_equal(bpe_encode(worker, text.bytes, text.len, ids, cap, &n, &err), SLUICE_OK);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < SECONDS);
    for (i = 0, size = 0; i < n; i++) {
        const char *token;
        size_t len;
        assert_int_equal(bpe_decode_token(bpe, ids[i], &token, &len), SLUICE_OK);
        size += len;
    }
    assert_int_equal(size, text.len);
    free(ids);
    free(text.bytes);
    free(data);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* No text costs more than ten times the median of them a byte (the best of five runs each; random
 * letters as one piece are the worst). */
static void the_worst_is_near_the_median(void **state)
{
    struct text texts[TEXTS];
    struct sluice_error err = { .size = sizeof(err) };
    double cost[TEXTS], sorted[TEXTS];
    size_t size, k, n;
    char *data = bpe_kit_file("tiny.tiktoken", &size);
    struct bpe *bpe = load_with(data, size, BPE_KIT_LLAMA3);
    (void)state;
    make_texts(texts);
    for (k = 0; k < TEXTS; k++) {
        uint32_t *ids = malloc(texts[k].len * sizeof(*ids));
        assert_non_null(ids);
        memset(ids, 1, texts[k].len * sizeof(*ids));
        cost[k] = 1e9;
        for (int run = 0; run < 5; run++) {
            struct bpe_worker *worker = NULL;
            clock_t start;
            double took;
            assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
            start = clock();
            assert_int_equal(
                bpe_encode(worker, texts[k].bytes, texts[k].len, ids, texts[k].len, &n, &err),
                SLUICE_OK);
            took = 1e9 * (double)(clock() - start) / CLOCKS_PER_SEC / (double)texts[k].len;
            cost[k] = took < cost[k] ? took : cost[k];
            bpe_worker_destroy(worker);
        }
        free(ids);
        free(texts[k].bytes);
    }
    memcpy(sorted, cost, sizeof(sorted));
    qsort(sorted, TEXTS, sizeof(sorted[0]), by_size);
    for (k = 0; k < TEXTS; k++) {
        print_message("%-22s %6.2f ns a byte\n", texts[k].name, cost[k]);
    }
    if (sorted[TEXTS - 1] > 10 * sorted[TEXTS / 2]) {
        fail_msg("the worst text costs %.1f ns a byte, the median %.1f", sorted[TEXTS - 1],
                 sorted[TEXTS / 2]);
    }
    bpe_destroy(bpe);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_pieces),
        cmocka_unit_test(long_pieces_in_an_unordered_vocabulary),
        cmocka_unit_test(long_runs_of_marks),
        cmocka_unit_test(the_worst_is_near_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
