/* Unit tests of plugins/dedup: ranks and digits of exact keys, the Bloom filter and its file, the
 * hashes of paragraphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dedup/bloom.h"
#include "dedup/exact_key.h"
#include "dedup/paragraphs.h"

static void ranks_sort_like_descending_numbers(void **state)
{
    static const double falling[] = { INFINITY, 1e300, 65535, 2, 1.5, 1, 0, -1, -1e300, -INFINITY };
    (void)state;
    for (size_t i = 1; i < sizeof falling / sizeof falling[0]; i++) {
        assert_true(exact_rank(falling[i - 1]) < exact_rank(falling[i]));
    }
    assert_true(exact_rank(INFINITY) > 0); /* 0 is an index's */
    assert_true(exact_rank_integer(UINT64_MAX) > 0);
    assert_true(exact_rank_integer(UINT64_MAX - 3) > exact_rank_integer(UINT64_MAX));
    assert_true(exact_rank_integer(UINT64_C(1) << 53) >
                exact_rank_integer((UINT64_C(1) << 53) + 1));
    assert_true(exact_rank_integer(0) > exact_rank_integer(1));
    assert_true(exact_rank(NAN) > exact_rank_integer(0)); /* none: behind all */
    assert_true(exact_rank(NAN) > exact_rank(-INFINITY));
    assert_true(exact_rank(-0.0) == exact_rank(0.0));
}

static void digits_of_a_hash(void **state)
{
    static const unsigned char hash[16] = { 0x00, 0x1f, 0xa0, 0xff, 4,  5,  6,  7,
                                            8,    9,    10,   11,   12, 13, 14, 0xfe };
    unsigned char back[16];
    unsigned char key[16];
    char hex[EXACT_HEX + 1] = "";
    uint64_t rest;
    (void)state;
    exact_hex_write(hash, hex);
    assert_string_equal(hex, "001fa0ff0405060708090a0b0c0d0efe");
    assert_true(exact_hex_read(hex, EXACT_HEX, back));
    assert_memory_equal(hash, back, 16);
    assert_false(exact_hex_read(hex, EXACT_HEX - 1, back));
    hex[31] = 'E';
    assert_false(exact_hex_read(hex, EXACT_HEX, back));
    exact_key_pack(hash, 1, key, &rest);
    assert_memory_equal(key, hash, 8);
    assert_int_equal(key[15], 1);
    assert_int_equal(key[8], 0);
    assert_true(rest == UINT64_C(0x08090a0b0c0d0efe));
}

static uint64_t hash_of(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return (i ^ i >> 31) * UINT64_C(0xBF58476D1CE4E5B9);
}

/* Every hash that was added is there, and the rate of others is about the one that was asked
 * for. */
static void filter_keeps_its_rate(void **state)
{
    struct bloom bloom = { .size = bloom_size_for(20000, 0.01) };
    uint64_t wrong = 0;
    (void)state;
    assert_true(bloom.size.bits == 191744); /* 20000 * 9.585 bits */
    assert_int_equal(bloom.size.probes, 7);
    bloom.words = calloc(bloom.size.bits / 64, 8);
    assert_non_null(bloom.words);
    for (uint64_t i = 0; i < 20000; i++) {
        bloom_add(&bloom, hash_of(i));
    }
    for (uint64_t i = 0; i < 20000; i++) {
        assert_true(bloom_has(&bloom, hash_of(i)));
    }
    for (uint64_t i = 20000; i < 120000; i++) {
        wrong += (uint64_t)bloom_has(&bloom, hash_of(i));
    }
    assert_in_range(wrong, 700, 1300); /* of 100,000 at 1 % */
    assert_true(fabs(bloom_rate_now(&bloom) - 0.01) < 0.001);
    free(bloom.words);
}

static void file_is_checked(void **state)
{
    struct bloom bloom = { .size = bloom_size_for(1000, 0.001) };
    struct bloom back = { 0 };
    struct sluice_bytes file = { 0 };
    struct sluice_error err = { .size = sizeof err };
    uint64_t *copy;
    (void)state;
    bloom.words = calloc(bloom.size.bits / 64, 8);
    assert_non_null(bloom.words);
    bloom_add(&bloom, 12345);
    assert_true(bloom_write_head(&bloom, "bff ngram=13 stride=1", &file));
    assert_true(sluice_bytes_add(&file, bloom.words, bloom.size.bits / 8));
    assert_true(bloom_write_sum(&file));
    copy = malloc(file.size);
    assert_non_null(copy);
    memcpy(copy, file.data, file.size);
    assert_int_equal(bloom_read(copy, file.size, "bff ngram=13 stride=1", &back, &err), SLUICE_OK);
    assert_true(back.inserted == 1 && back.size.bits == bloom.size.bits);
    assert_true(bloom_has(&back, 12345) && !bloom_has(&back, 54321));
    assert_int_equal(bloom_read(copy, file.size, "dolma ngram=6 stride=3", &back, &err),
                     SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "made by the rule 'bff ngram=13 stride=1'"));
    for (size_t n = 0; n < file.size; n += n < 80 ? 1 : 97) {
        assert_int_equal(bloom_read(copy, n, "bff ngram=13 stride=1", &back, &err),
                         SLUICE_E_CONFIG);
    }
    for (size_t i = 0; i < file.size; i += i < 80 ? 1 : 97) {
        ((char *)copy)[i] ^= 1;
        assert_int_equal(bloom_read(copy, file.size, "bff ngram=13 stride=1", &back, &err),
                         SLUICE_E_CONFIG);
        ((char *)copy)[i] ^= 1;
    }
    free(copy);
    free(bloom.words);
    sluice_bytes_free(&file);
}

static uint32_t count_of(const struct sluice_bytes *bytes, size_t at)
{
    uint32_t count;
    memcpy(&count, bytes->data + at, sizeof count);
    return count;
}

static void paragraphs_have_ngrams(void **state)
{
    static const char text[] = "a b, c d\n\none two";
    struct paragraphs paragraphs = { 0 };
    struct sluice_bytes out = { 0 };
    struct sluice_error err = { .size = sizeof err };
    (void)state;
    /* a b , c d: five words; three 3-grams. Short paragraphs have none. */
    assert_int_equal(paragraphs_hash(&paragraphs, text, strlen(text), 3, 1, MODE_BFF, &out, &err),
                     SLUICE_OK);
    assert_int_equal(out.size, 3 * 8 + 3 * 8);
    assert_int_equal(count_of(&out, 0), 3);
    assert_int_equal(count_of(&out, 32), 0);
    out.size = 0;
    /* Dolma: the second one is always taken (0, 1, then 1 + stride); short ones are whole. */
    assert_int_equal(paragraphs_hash(&paragraphs, text, strlen(text), 3, 2, MODE_DOLMA, &out, &err),
                     SLUICE_OK);
    assert_int_equal(count_of(&out, 0), 2);
    assert_int_equal(count_of(&out, 8 + 2 * 8), 1);
    assert_int_equal(count_of(&out, 8 + 2 * 8 + 4), 1);
    paragraphs_deinit(&paragraphs);
    sluice_bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_sort_like_descending_numbers),
        cmocka_unit_test(digits_of_a_hash),
        cmocka_unit_test(filter_keeps_its_rate),
        cmocka_unit_test(file_is_checked),
        cmocka_unit_test(paragraphs_have_ngrams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
