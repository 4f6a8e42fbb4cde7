/* test_bpe_ways.c — the ways to merge a piece give equal results: merge_heap, which holds for any
 * vocabulary, against backtracking, batches of jobs, chunks that are joined, and parts that merge
 * apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "model/bpe.h"
#include "model/bpe_int.h"
#include "model/bpe_pass.h"

#define MOST 2048

static struct bpe *load(const char *name, const char *pattern)
{
    struct bpe_options options = { .pattern = pattern };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    size_t size;
    char *data = bpe_kit_file(name, &size);
    assert_int_equal(bpe_load(data, size, &options, &bpe, &err), SLUICE_OK);
    assert_int_equal(bpe_build(bpe, &err), SLUICE_OK);
    free(data);
    return bpe;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

/* Letters, letters in runs, words, scripts of two and three bytes, and all of it. */
static size_t make_text(uint64_t *seed, uint8_t *p, size_t want)
{
    static const char *const words[] = {
        " the",         "ing",          "tion",         " of", "er", "\xD0\xBE\xD0\xBD",
        "\xE7\x9A\x84", "\xE3\x81\xAE", "\xE4\xB8\xAD", "12",  "()"
    };
    const uint64_t kind = next_random(seed) % 4;
    size_t len = 0;
    while (len < want) {
        const uint64_t some = next_random(seed);
        if (kind == 0 || (kind == 3 && some % 3 == 0)) {
            p[len++] = (uint8_t)('a' + next_random(seed) % 26);
        } else if (kind == 1 || (kind == 3 && some % 40 == 1)) {
            size_t run = 1 + next_random(seed) % 40;
            memset(p + len, (int)('a' + next_random(seed) % 12), run);
            len += run;
        } else {
            const char *word = words[next_random(seed) % (sizeof(words) / sizeof(words[0]))];
            memcpy(p + len, word, strlen(word));
            len += strlen(word);
        }
    }
    return len;
}

struct ways {
    uint32_t want[MOST], have[MOST];
    uint8_t bits[MOST], text[MOST];
    uint64_t scratch[MOST * 4];
    uint64_t memo[MERGE_MEMO];
};

static void long_pieces(void **state)
{
    struct bpe *bpe = load("tiny.tiktoken", "[\\s\\S]+");
    const struct merges *m = &bpe->merges;
    struct ways *w = calloc(1, sizeof(*w));
    uint64_t seed = 11;
    size_t joined = 0;
    (void)state;
    assert_non_null(w);
    for (int round = 0; round < 6000; round++) {
        const size_t len = make_text(&seed, w->text, 97 + next_random(&seed) % 1200);
        const size_t n = merge_heap(m, w->text, len, w->want, w->scratch);
        size_t have;
        assert_true(merge_is_ordered(m, w->text, len));
        have = merge_backtrack(m, w->text, len, w->have, w->bits, w->memo);
        assert_int_equal(have, n);
        assert_memory_equal(w->have, w->want, n * sizeof(w->want[0]));
        have = merge_long(m, w->text, len, w->have, w->memo);
        if (have > 0) {
            joined++;
            assert_int_equal(have, n);
            assert_memory_equal(w->have, w->want, n * sizeof(w->want[0]));
        }
    }
    assert_true(joined > 1000); /* it does not just give up */
    free(w);
    bpe_destroy(bpe);
}

/* Pieces of up to `most` bytes, merged by `run`. */
static void run_batches(size_t most,
                        void (*run)(const struct merges *m, struct merge_job *jobs, size_t n))
{
    struct bpe *bpe = load("tiny.tiktoken", "[\\s\\S]+");
    const struct merges *m = &bpe->merges;
    struct ways *w = calloc(1, sizeof(*w));
    struct merge_job jobs[MERGE_JOBS];
    uint64_t seed = 12;
    assert_non_null(w);
    for (int round = 0; round < 1500; round++) {
        const size_t len = make_text(&seed, w->text, 300);
        size_t at[MERGE_JOBS + 1] = { 0 }, n = 0;
        while (n < MERGE_JOBS && len - at[n] > most) {
            at[n + 1] = at[n] + 1 + next_random(&seed) % most;
            merge_job_begin(m, &jobs[n], w->text + at[n], at[n + 1] - at[n]);
            n++;
        }
        run(m, jobs, n);
        for (size_t k = 0; k < n; k++) {
            const size_t want =
                merge_heap(m, w->text + at[k], at[k + 1] - at[k], w->want, w->scratch);
            assert_int_equal(jobs[k].n, want);
            assert_memory_equal(jobs[k].symbols, w->want, want * sizeof(w->want[0]));
        }
    }
    free(w);
    bpe_destroy(bpe);
}

static void batches(void **state)
{
    (void)state;
    run_batches(MERGE_JOB_BYTES, merge_jobs_run);
#if defined(__x86_64__)
    if (pass_steps_of(KIND_AVX512) == &pass_steps_avx512) {
        run_batches(PIECE_SHORT, merge_jobs_run_avx512);
    }
#endif
}

/* Every kind of instructions, with a cache of any size, met or not met before, and the ids at the
 * end of a text's memory. */
static void kinds(void **state)
{
    static const size_t caches[] = { 1, 20000, 1 << 20 };
    struct bpe *bpe = load("tiny.tiktoken", " ?\\p{L}{1,18}|[\\s\\S]");
    struct ways *w = calloc(1, sizeof(*w));
    struct bpe_worker *workers[6];
    uint64_t seed = 14;
    struct sluice_error err = { .size = sizeof(err) };
    (void)state;
    assert_non_null(w);
    for (int k = 0; k < 6; k++) {
        assert_int_equal(bpe_worker_create(bpe, caches[k / 2 % 3], &workers[k], &err), SLUICE_OK);
        workers[k]->steps = pass_steps_of(k < 2 ? KIND_SCANNER : k < 4 ? KIND_AVX2 : KIND_AVX512);
    }
    for (int round = 0; round < 600; round++) {
        const size_t len = make_text(&seed, w->text, 1 + next_random(&seed) % 1200);
        char *text = malloc(len); /* no byte behind it */
        size_t n, have;
        assert_non_null(text);
        memcpy(text, w->text, len);
        assert_int_equal(bpe_encode(workers[0], text, len, w->want, 1300, &n, &err), SLUICE_OK);
        for (int k = 1; k < 6; k++) {
            assert_int_equal(bpe_encode(workers[k], text, len, w->have, 1300, &have, &err),
                             SLUICE_OK);
            assert_int_equal(have, n);
            assert_memory_equal(w->have, w->want, n * sizeof(w->want[0]));
        }
        free(text);
    }
    for (int k = 0; k < 6; k++) {
        struct bpe_counts counts;
        bpe_worker_counts(workers[k], &counts);
        assert_true(counts.cache_bytes <= counts.cache_bytes_most);
        assert_true(counts.tail_hits > 0 && counts.head_hits + counts.tail_hits <= counts.pieces);
        bpe_worker_destroy(workers[k]);
    }
    free(w);
    bpe_destroy(bpe);
}

/* Parts on their own give what the whole does, and there are parts. */
static void parts(void **state)
{
    struct bpe *bpe = load("tiny.tiktoken", "[\\s\\S]+");
    const struct merges *m = &bpe->merges;
    struct ways *w = calloc(1, sizeof(*w));
    uint64_t seed = 13;
    size_t cuts = 0;
    (void)state;
    assert_non_null(w);
    for (int round = 0; round < 6000; round++) {
        const size_t len = make_text(&seed, w->text, 10 + next_random(&seed) % 200);
        const size_t n = merge_heap(m, w->text, len, w->want, w->scratch);
        size_t have = 0;
        for (size_t at = 0; at < len;) {
            const size_t part = merge_part(m, w->text + at, w->text + len);
            assert_in_range(part, 1, len - at);
            have += merge_heap(m, w->text + at, part, w->have + have, w->scratch);
            at += part;
            cuts += at < len;
        }
        assert_int_equal(have, n);
        assert_memory_equal(w->have, w->want, n * sizeof(w->want[0]));
    }
    assert_true(cuts > 10000);
    free(w);
    bpe_destroy(bpe);
}

/* Texts of long words in Chinese, which a worker comes to take in parts, give what their words do
 * one by one; also where the output has no place more than they need. */
static void words_in_parts(void **state)
{
    enum { TEXT = 60000 };
    static const char *const chars[] = { "\xE7\x9A\x84", "\xE3\x81\xAE", "\xE4\xB8\xAD",
                                         "\xE6\x97\xA5", "\xD0\xBE",     "e" };
    struct bpe *bpe = load("tiny_qwen.json", NULL);
    struct bpe_worker *whole, *each, *tight;
    char *text = malloc(TEXT);
    uint32_t *have = calloc(TEXT, sizeof(*have)), *want = calloc(TEXT, sizeof(*want));
    uint64_t seed = 15;
    struct sluice_error err = { .size = sizeof(err) };
    (void)state;
    assert_true(text && have && want);
    assert_int_equal(bpe_worker_create(bpe, 0, &whole, &err), SLUICE_OK);
    assert_int_equal(bpe_worker_create(bpe, 0, &each, &err), SLUICE_OK);
    assert_int_equal(bpe_worker_create(bpe, 0, &tight, &err), SLUICE_OK);
    for (int round = 0; round < 40; round++) {
        size_t len = 0, n_want = 0, n;
        while (len < TEXT - 10000) {
            const uint64_t most = next_random(&seed) % 50 == 0 ? 3000 : 30;
            const size_t from = len;
            text[len++] = ' ';
            for (uint64_t k = 1 + next_random(&seed) % most; k > 0; k--) {
                const char *c = chars[next_random(&seed) % 6];
                memcpy(text + len, c, strlen(c));
                len += strlen(c);
            }
            each->in_parts = 0;
            assert_int_equal(
                bpe_encode(each, text + from, len - from, want + n_want, TEXT - n_want, &n, &err),
                SLUICE_OK);
            n_want += n;
        }
        assert_int_equal(bpe_encode(whole, text, len, have, TEXT, &n, &err), SLUICE_OK);
        assert_true(whole->in_parts && !bpe->merges.unreached);
        assert_int_equal(n, n_want);
        assert_memory_equal(have, want, n * sizeof(*have));
        assert_int_equal(bpe_encode(tight, text, len, have, n_want, &n, &err), SLUICE_OK);
        assert_int_equal(n, n_want);
        assert_memory_equal(have, want, n * sizeof(*have));
        assert_int_equal(bpe_encode(tight, text, len, have, n_want - 1, &n, &err), SLUICE_E_CONFIG);
    }
    bpe_worker_destroy(whole);
    bpe_worker_destroy(each);
    bpe_worker_destroy(tight);
    free(text);
    free(have);
    free(want);
    bpe_destroy(bpe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_pieces), cmocka_unit_test(batches),        cmocka_unit_test(kinds),
        cmocka_unit_test(parts),       cmocka_unit_test(words_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
