/* test_bpe.c — the public functions of bpe.h on the small tokenizers of tests/data/tokenize: ids
 * recorded from tokenizers and tiktoken, special tokens, decoding, bounds, and independence of the
 * cache. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "model/bpe.h"

static const char *const names[] = { "gpt2", "qwen", "deepseek", "splits", "tiktoken" };

static struct bpe *load(const char *name, enum bpe_specials specials)
{
    struct bpe_special extra[2] = { { "<|endoftext|>", 702 }, { "<mask>", 707 } };
    struct bpe_options options = { 0 };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    char file[64];
    size_t size;
    char *data;
    options.specials = specials;
    if (strcmp(name, "tiktoken") == 0) {
        options.pattern = BPE_KIT_LLAMA3;
        options.extra = extra;
        options.n_extra = 2;
        (void)snprintf(file, sizeof(file), "tiny.tiktoken");
    } else {
        (void)snprintf(file, sizeof(file), "tiny_%s.json", name);
    }
    data = bpe_kit_file(file, &size);
    if (bpe_load(data, size, &options, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s: %s", file, err.message);
    }
    free(data);
    return bpe;
}

/* Encodes into a fresh array. */
static uint32_t *encode(struct bpe_worker *worker, const struct bpe *bpe, const char *text,
                        size_t len, size_t *n)
{
    struct sluice_error err = { .size = sizeof(err) };
    size_t cap = bpe_encode_bound(bpe, len);
    uint32_t *ids = malloc((cap + 1) * sizeof(*ids));
    assert_non_null(ids);
    if (bpe_encode(worker, text, len, ids, cap, n, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return ids;
}

static void check_ids(const char *name, const char *what, const char *text, json_t *expected,
                      const uint32_t *ids, size_t n)
{
    size_t i;
    if (json_array_size(expected) != n) {
        fail_msg("%s, %s, '%s': %zu ids, expected %zu", name, what, text, n,
                 json_array_size(expected));
    }
    for (i = 0; i < n; i++) {
        if (json_integer_value(json_array_get(expected, i)) != (json_int_t)ids[i]) {
            fail_msg("%s, %s, '%s': id %zu is %u, expected %lld", name, what, text, i, ids[i],
                     (long long)json_integer_value(json_array_get(expected, i)));
        }
    }
}

static void recorded_ids(void **state)
{
    size_t k, cases = 0;
    (void)state;
    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct bpe *ordinary = load(names[k], BPE_SPECIALS_ORDINARY),
                   *special = load(names[k], BPE_SPECIALS_ALLOW);
        struct bpe_worker *a = NULL, *b = NULL;
        char file[64], *line, *next;
        size_t size;
        char *data;
        assert_int_equal(bpe_worker_create(ordinary, 0, &a, &err), SLUICE_OK);
        assert_int_equal(bpe_worker_create(special, 1, &b, &err), SLUICE_OK);
        (void)snprintf(file, sizeof(file), "tiny_%s.cases.jsonl", names[k]);
        data = bpe_kit_file(file, &size);
        for (line = data; *line; line = next) {
            size_t n;
            uint32_t *ids;
            const char *text;
            json_t *row;
            next = strchr(line, '\n');
            assert_non_null(next);
            row = json_loadb(line, (size_t)(next - line), 0, NULL);
            next++;
            assert_non_null(row);
            text = json_string_value(json_object_get(row, "text"));
            ids = encode(a, ordinary, text, strlen(text), &n);
            check_ids(names[k], "special tokens as text", text, json_object_get(row, "ids"), ids,
                      n);
            free(ids);
            ids = encode(b, special, text, strlen(text), &n);
            check_ids(names[k], "special tokens as tokens", text, json_object_get(row, "special"),
                      ids, n);
            free(ids);
            ids = encode(a, ordinary, text, strlen(text), &n); /* now from the cache */
            check_ids(names[k], "a second time", text, json_object_get(row, "ids"), ids, n);
            free(ids);
            json_decref(row);
            cases++;
        }
        free(data);
        bpe_worker_destroy(a);
        bpe_worker_destroy(b);
        bpe_destroy(ordinary);
        bpe_destroy(special);
    }
    assert_int_equal(cases, 235);
}

/* Concatenated, the tokens' bytes are the text, for tokenizers that drop and normalize nothing. */
static void decode_gives_the_text(void **state)
{
    static const char *const exact[] = { "deepseek", "tiktoken" };
    static const char text[] = "Sluice 12345 \xE6\x95\xB0\xE6\x8D\xAE\xF0\x9F\x98\x80 "
                               "caf\xC3\xA9\r\n\n   x\t<|endoftext|>";
    size_t k;
    (void)state;
    for (k = 0; k < 2; k++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct bpe *bpe = load(exact[k], BPE_SPECIALS_ALLOW);
        struct bpe_worker *worker = NULL;
        char out[sizeof(text)];
        size_t n, i, at = 0;
        uint32_t *ids;
        assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
        ids = encode(worker, bpe, text, sizeof(text) - 1, &n);
        for (i = 0; i < n; i++) {
            const char *bytes;
            size_t len;
            assert_true(ids[i] < bpe_vocab_size(bpe));
            assert_int_equal(bpe_decode_token(bpe, ids[i], &bytes, &len), SLUICE_OK);
            assert_true(at + len <= sizeof(text) - 1);
            memcpy(out + at, bytes, len);
            at += len;
        }
        assert_int_equal(at, sizeof(text) - 1);
        assert_memory_equal(out, text, at);
        free(ids);
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
}

static void special_tokens(void **state)
{
    struct bpe *bpe = load("qwen", BPE_SPECIALS_ORDINARY);
    const char *content, *bytes;
    uint32_t id = 0;
    size_t len;
    int special;
    (void)state;
    assert_int_equal(bpe_vocab_size(bpe), 807);
    assert_int_equal(bpe_special_id(bpe, "<think>", &id), SLUICE_OK);
    assert_int_equal(id, 801);
    assert_int_equal(bpe_special_id(bpe, "<unheard of>", &id), SLUICE_E_CONFIG);
    assert_int_equal(bpe_special_at(bpe, 0, &content, &id, &special), SLUICE_OK);
    assert_string_equal(content, "<|endoftext|>");
    assert_int_equal(id, 800);
    assert_int_equal(special, 1);
    assert_int_equal(bpe_special_at(bpe, 1, NULL, NULL, &special), SLUICE_OK);
    assert_int_equal(special, 0);
    assert_int_equal(bpe_special_at(bpe, 7, NULL, NULL, NULL), SLUICE_E_CONFIG);
    assert_int_equal(bpe_eos(bpe, &id, &content), SLUICE_OK);
    assert_int_equal(id, 800);
    assert_string_equal(content, "<|endoftext|>");
    assert_int_equal(bpe_bos(bpe, &id, NULL), SLUICE_E_CONFIG);
    assert_int_equal(bpe_decode_token(bpe, 801, &bytes, &len), SLUICE_OK);
    assert_int_equal(len, 7);
    assert_memory_equal(bytes, "<think>", 7);
    assert_int_equal(bpe_decode_token(bpe, 807, &bytes, &len), SLUICE_E_DATA);
    assert_int_equal(bpe_decode_token(bpe, UINT32_MAX, &bytes, &len), SLUICE_E_DATA);
    assert_true(bpe_memory(bpe) > 100000);
    assert_int_equal(bpe_encode_bound(bpe, 10), 30); /* NFC */
    assert_true(bpe_encode_bound(bpe, SIZE_MAX / 2) == SIZE_MAX);
    bpe_destroy(bpe);
    bpe_destroy(NULL);
    bpe_worker_destroy(NULL);
}

static void a_special_token_can_be_refused(void **state)
{
    struct bpe *bpe = load("tiktoken", BPE_SPECIALS_REFUSE);
    struct bpe_worker *worker = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    uint32_t ids[64];
    size_t n = 9;
    (void)state;
    assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
    assert_int_equal(bpe_encode(worker, "a<mask>b", 8, ids, 64, &n, &err), SLUICE_E_DATA);
    assert_int_equal(n, 0);
    assert_non_null(strstr(err.message, "<mask>"));
    assert_int_equal(bpe_encode(worker, "a<mask", 6, ids, 64, &n, &err), SLUICE_OK);
    assert_true(n > 0);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
}

/* Every too small output array is an error and never written beyond; the exact size is enough. */
static void output_bounds(void **state)
{
    static const char text[] = "the the aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa data "
                               "xyzzy <|endoftext|> \xE7\x9A\x84 workersandmore";
    size_t k;
    (void)state;
    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        struct bpe *bpe = load(names[k], BPE_SPECIALS_ALLOW);
        struct bpe_worker *worker = NULL;
        struct sluice_error err = { .size = sizeof(err) };
        size_t n, cap, again;
        uint32_t *ids, *exact;
        assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
        ids = encode(worker, bpe, text, sizeof(text) - 1, &n);
        exact = malloc(n * sizeof(*exact));
        assert_non_null(exact);
        for (cap = 0; cap < n; cap++) {
            assert_int_equal(bpe_encode(worker, text, sizeof(text) - 1, exact, cap, &again, &err),
                             SLUICE_E_CONFIG);
            assert_int_equal(again, 0);
        }
        assert_int_equal(bpe_encode(worker, text, sizeof(text) - 1, exact, n, &again, &err),
                         SLUICE_OK);
        assert_int_equal(again, n);
        assert_memory_equal(exact, ids, n * sizeof(*ids));
        assert_int_equal(bpe_encode(worker, NULL, 0, NULL, 0, &again, &err), SLUICE_OK);
        assert_int_equal(again, 0);
        free(exact);
        free(ids);
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
}

/* Ids depend on the text alone, whatever the worker encoded before and however small its cache is.
 * */
static void the_cache_changes_nothing(void **state)
{
    static const char *const words[] = { "the", " data",        " workers", "Sl",  "uice", " \n",
                                         "123", "\xE6\x95\xB0", "don't",    " zq", "xjw",  "!" };
    struct bpe *bpe = load("tiktoken", BPE_SPECIALS_ORDINARY);
    struct bpe_worker *warm = NULL, *cold;
    struct sluice_error err = { .size = sizeof(err) };
    uint64_t seed = 42;
    int round;
    (void)state;
    assert_int_equal(bpe_worker_create(bpe, 1, &warm, &err), SLUICE_OK);
    for (round = 0; round < 300; round++) {
        char text[512];
        size_t at = 0, n, m;
        uint32_t *a, *b;
        while (at < 400) {
            const char *word;
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            word = words[(seed >> 33) % 12];
            memcpy(text + at, word, strlen(word));
            at += strlen(word);
            if ((seed >> 60) == 0) {
                text[at++] = (char)('a' + (seed >> 40) % 26);
            }
        }
        assert_int_equal(bpe_worker_create(bpe, 0, &cold, &err), SLUICE_OK);
        a = encode(warm, bpe, text, at, &n);
        b = encode(cold, bpe, text, at, &m);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n * sizeof(*a));
        free(a);
        free(b);
        bpe_worker_destroy(cold);
    }
    bpe_worker_destroy(warm);
    bpe_destroy(bpe);
}

/* Bytes that are no UTF-8 must not crash, and come out again where nothing is normalized. */
static void invalid_utf8_survives(void **state)
{
    size_t k;
    uint64_t seed = 7;
    (void)state;
    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        struct bpe *bpe = load(names[k], BPE_SPECIALS_ALLOW);
        struct bpe_worker *worker = NULL;
        struct sluice_error err = { .size = sizeof(err) };
        int round;
        assert_int_equal(bpe_worker_create(bpe, 0, &worker, &err), SLUICE_OK);
        for (round = 0; round < 2000; round++) {
            char text[40];
            size_t len, i, n, bytes = 0;
            uint32_t *ids;
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            len = (size_t)(seed >> 40) % sizeof(text);
            for (i = 0; i < len; i++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
                text[i] = (char)(seed >> 56);
            }
            ids = encode(worker, bpe, text, len, &n);
            for (i = 0; i < n; i++) {
                const char *token;
                size_t token_len;
                assert_int_equal(bpe_decode_token(bpe, ids[i], &token, &token_len), SLUICE_OK);
                bytes += token_len;
            }
            if (strcmp(names[k], "tiktoken") == 0 || strcmp(names[k], "deepseek") == 0) {
                assert_int_equal(bytes, len);
            }
            free(ids);
        }
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_ids),          cmocka_unit_test(decode_gives_the_text),
        cmocka_unit_test(special_tokens),        cmocka_unit_test(a_special_token_can_be_refused),
        cmocka_unit_test(output_bounds),         cmocka_unit_test(the_cache_changes_nothing),
        cmocka_unit_test(invalid_utf8_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
