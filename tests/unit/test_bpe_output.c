/* test_bpe_output.c — the ways out of the encoder: 16 bits, offsets, portions, counts; and the ways
 * through it that must agree: characters merged first, a cache of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "model/bpe.h"
#include "model/bpe_int.h"
#include "model/bpe_merge.h"

#define TEXT 200000

static struct bpe *load(const char *name, const char *pattern)
{
    struct bpe_options options = { .pattern = pattern };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    size_t size;
    char *data = bpe_kit_file(name, &size);
    if (bpe_load(data, size, &options, &bpe, &err) != SLUICE_OK ||
        bpe_build(bpe, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    free(data);
    return bpe;
}

static struct bpe_worker *worker_of(const struct bpe *bpe, size_t cache)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    assert_int_equal(bpe_worker_create(bpe, cache, &worker, &err), SLUICE_OK);
    return worker;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

static size_t put(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 63));
        return 2;
    }
    out[0] = (char)(0xE0 | cp >> 12);
    out[1] = (char)(0x80 | (cp >> 6 & 63));
    out[2] = (char)(0x80 | (cp & 63));
    return 3;
}

/* Words of several scripts, some often, some once. */
static size_t make_text(char *text, size_t size, uint64_t seed)
{
    static const struct {
        uint32_t first, n;
    } scripts[] = { { 'a', 26 },   { 'a', 8 },     { 'A', 26 },     { '0', 10 },
                    { 0x430, 32 }, { 0x3042, 80 }, { 0x4E00, 400 }, { 0xE0, 30 },
                    { 0x5D0, 22 }, { 0x20AC, 3 },  { '!', 14 } };
    size_t len = 0;
    while (len + 64 < size) {
        size_t k = next_random(&seed) % (sizeof(scripts) / sizeof(scripts[0]));
        size_t n = 1 + next_random(&seed) % 12;
        while (n-- > 0) {
            len +=
                put(text + len, scripts[k].first + (uint32_t)(next_random(&seed) % scripts[k].n));
        }
        text[len++] = next_random(&seed) % 30 ? ' ' : '\n';
    }
    return len;
}

static void sixteen_bits_and_portions(void **state)
{
    struct bpe *bpe = load("tiny.tiktoken", pretoken_cl100k);
    static char text[TEXT];
    static uint32_t ids[TEXT], some[TEXT];
    static uint16_t narrow[TEXT];
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = worker_of(bpe, 0);
    size_t len = make_text(text, TEXT, 3), n, m, done = 0, total = 0, calls = 0;
    (void)state;
    assert_int_equal(bpe_encode(worker, text, len, ids, TEXT, &n, &err), SLUICE_OK);
    assert_int_equal(bpe_encode16(worker, text, len, narrow, TEXT, &m, &err), SLUICE_OK);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], narrow[i]);
    }
    while (done < len) {
        size_t used;
        assert_int_equal(
            bpe_encode_some(worker, text + done, len - done, some + total, 700, &m, &used, &err),
            SLUICE_OK);
        assert_true(used > 0);
        assert_true(m <= 700);
        done += used;
        total += m;
        calls++;
    }
    assert_true(calls > n / 700);
    assert_int_equal(total, n);
    assert_memory_equal(ids, some, n * sizeof(ids[0]));
    assert_int_equal(bpe_encode_some(worker, "aaaaaaaaqqqq", 12, some, 0, &m, &done, &err),
                     SLUICE_E_CONFIG);
    assert_int_equal(done, 0);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
}

/* Each token's bytes stand where its offset says, and they follow one another. */
static void offsets(void **state)
{
    static const char *const files[] = { "tiny.tiktoken", "tiny_gpt2.json", "tiny_deepseek.json" };
    static char text[TEXT];
    static uint32_t ids[TEXT];
    static uint64_t at[TEXT];
    size_t len = make_text(text, TEXT / 4, 9), n;
    (void)state;
    text[0] = ' '; /* so that no vocabulary puts one in front */
    for (size_t k = 0; k < 3; k++) {
        struct bpe *bpe = load(files[k], k == 0 ? pretoken_cl100k : NULL);
        struct bpe_worker *worker = worker_of(bpe, 0);
        struct sluice_error err = { .size = sizeof(err) };
        uint64_t next = 0;
        assert_int_equal(bpe_encode_offsets(worker, text, len, ids, at, TEXT, &n, &err), SLUICE_OK);
        for (size_t i = 0; i < n; i++) {
            const char *bytes;
            size_t length;
            assert_int_equal(bpe_decode_token(bpe, ids[i], &bytes, &length), SLUICE_OK);
            assert_int_equal(at[i], next);
            assert_memory_equal(text + at[i], bytes, length);
            next += length;
        }
        assert_int_equal(next, len);
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
}

static void offsets_of_a_text_that_is_normalized(void **state)
{
    struct bpe *bpe = load("tiny_qwen.json", NULL);
    struct bpe_worker *worker = worker_of(bpe, 0);
    struct sluice_error err = { .size = sizeof(err) };
    uint32_t ids[64];
    uint64_t at[64];
    size_t n;
    (void)state;
    assert_int_equal(bpe_encode_offsets(worker, "e\xCC\x81", 3, ids, at, 64, &n, &err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "normalization form C"));
    assert_int_equal(bpe_encode_offsets(worker, "abc", 3, ids, at, 64, &n, &err), SLUICE_OK);
    assert_int_equal(at[0], 0);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    bpe = load("tiny_gpt2.json", NULL); /* puts a space in front, which is none of the text's */
    worker = worker_of(bpe, 0);
    assert_int_equal(bpe_encode_offsets(worker, "q!", 2, ids, at, 64, &n, &err), SLUICE_OK);
    assert_int_equal(at[0], 0);
    assert_int_equal(at[n - 1], 1);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
}

/* The cache grows while it meets pieces, never above its bound, and changes no id. */
static void the_cache_is_bounded(void **state)
{
    struct bpe *bpe = load("tiny.tiktoken", pretoken_cl100k);
    struct bpe_worker *small = worker_of(bpe, 200 << 10), *large = worker_of(bpe, 4 << 20);
    static char text[TEXT];
    static uint32_t a[TEXT], b[TEXT];
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_counts counts, at_first;
    size_t n, m;
    (void)state;
    bpe_worker_counts(large, &at_first);
    for (uint64_t round = 0; round < 12; round++) {
        size_t len = make_text(text, TEXT, round % 8);
        assert_int_equal(bpe_encode(small, text, len, a, TEXT, &n, &err), SLUICE_OK);
        assert_int_equal(bpe_encode(large, text, len, b, TEXT, &m, &err), SLUICE_OK);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n * sizeof(a[0]));
        bpe_worker_counts(small, &counts);
        assert_true(counts.cache_bytes <= counts.cache_bytes_most);
        assert_true(counts.cache_bytes_most <= (200 << 10) + (256 << 10));
    }
    bpe_worker_counts(large, &counts);
    assert_true(counts.cache_bytes > at_first.cache_bytes);
    assert_true(counts.cache_bytes <= counts.cache_bytes_most);
    assert_true(counts.tail_hits > 0);
    assert_true(counts.head_hits + counts.tail_hits <= counts.pieces);
    bpe_worker_destroy(small);
    bpe_worker_destroy(large);
    bpe_destroy(bpe);
}

/* merge_chars equals the heap wherever it takes a piece, and takes most. */
static void characters_first(void **state)
{
    static const char *const files[] = { "tiny.tiktoken", "tiny_gpt2.json", "tiny_qwen.json" };
    size_t taken = 0, pieces = 0;
    uint64_t seed = 77;
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct bpe *bpe = load(files[k], k == 0 ? pretoken_cl100k : NULL);
        for (int round = 0; round < 20000; round++) {
            uint8_t text[200];
            uint32_t ours[MERGE_CHARS], heaps[200];
            uint64_t scratch[MERGE_HEAP_BYTES(200) / 8 + 1];
            size_t len = 0, want = 1 + next_random(&seed) % 40, n;
            uint32_t base = (uint32_t[]){ 0x4E00, 0x3040, 0x430, 0xE0, 0x20 }[round % 5];
            while (len < want) {
                len += put((char *)text + len, next_random(&seed) % 8
                                                   ? base + (uint32_t)(next_random(&seed) % 90)
                                                   : 'a' + (uint32_t)(next_random(&seed) % 26));
            }
            n = merge_chars(&bpe->merges, text, len, ours);
            pieces++;
            if (n > 0) {
                taken++;
                assert_int_equal(n, merge_heap(&bpe->merges, text, len, heaps, scratch));
                assert_memory_equal(ours, heaps, n * sizeof(ours[0]));
            }
        }
        bpe_destroy(bpe);
    }
    assert_true(taken > pieces / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits_and_portions),
        cmocka_unit_test(offsets),
        cmocka_unit_test(offsets_of_a_text_that_is_normalized),
        cmocka_unit_test(the_cache_is_bounded),
        cmocka_unit_test(characters_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
