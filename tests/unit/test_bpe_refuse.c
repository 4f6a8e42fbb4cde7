/* test_bpe_refuse.c — what bpe_load must refuse, by name: features of tokenizer.json that the
 * engine lacks, and damaged files of both kinds; and that running out of memory anywhere is an
 * error and leaks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "bpe_kit.h"
#include "model/bpe.h"

/* `data` with its first `from` replaced by `to`; `from` must be there. */
static char *replaced(const char *data, const char *from, const char *to)
{
    const char *at = strstr(data, from);
    char *out = malloc(strlen(data) + strlen(to) + 1);
    assert_non_null(out);
    if (!at) {
        fail_msg("the fixture has no '%s'", from);
    }
    memcpy(out, data, (size_t)(at - data));
    strcpy(out + (at - data), to);
    strcat(out, at + strlen(from));
    return out;
}

static void must_refuse(const char *data, size_t size, const struct bpe_options *options,
                        const char *says)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    int32_t status = bpe_load(data, size, options, &bpe, &err);
    if (status != SLUICE_E_CONFIG || bpe) {
        fail_msg("taken, but '%s' was expected (status %d, '%s')", says, status, err.message);
    }
    if (!strstr(err.message, says)) {
        fail_msg("'%s' does not say '%s'", err.message, says);
    }
    assert_int_equal(err.code, SLUICE_E_CONFIG);
}

static void features_of_tokenizer_json(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        { "\"truncation\":null", "\"truncation\":{\"max_length\":512}", "'truncation'" },
        { "\"padding\":null", "\"padding\":{}", "'padding'" },
        { "\"normalizer\":{\"type\":\"NFC\"}", "\"normalizer\":{\"type\":\"NFZ\"}", "'NFZ'" },
        { "\"normalizer\":{\"type\":\"NFC\"}",
          "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Louder\"}]}",
          "'Louder'" },
        { "\"normalizer\":{\"type\":\"NFC\"}", "\"normalizer\":{\"type\":\"NFC\",\"extra\":1}",
          "'extra'" },
        { "\"type\":\"Split\"", "\"type\":\"Metaspace\"", "pre_tokenizer 'Metaspace'" },
        { "\"behavior\":\"Isolated\"", "\"behavior\":\"Sideways\"", "behavior 'Sideways'" },
        { "\"behavior\":\"Isolated\"", "\"behaviour\":\"Isolated\"", "'behaviour'" },
        { "\"add_prefix_space\":false", "\"add_prefix_space\":true", "'add_prefix_space'" },
        { "\"type\":\"BPE\"", "\"type\":\"Unigram\"", "decoder 'ByteLevel'" },
        { "\"type\":\"BPE\"", "\"type\":\"WordLevel\"", "decoder 'ByteLevel'" },
        { "\"dropout\":null", "\"dropout\":0.1", "'dropout'" },
        { "\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"##\"",
          "not a pair" },
        { "\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"\xE2\x96\x81\"",
          "outside the byte alphabet" },
        { "\"ignore_merges\":false", "\"ignore_merges\":1", "wrong type" },
        { "\"ignore_merges\":false", "\"ignore_mergers\":false", "'ignore_mergers'" },
        { "\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"Fuse\"",
          "decoder 'Fuse'" },
        { "\"post_processor\":null", "\"post_processor\":{\"type\":\"Novel\"}",
          "post_processor 'Novel'" },
        { "\"post_processor\":null",
          "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
          "\"id\":\"<bos>\"}}]}",
          "'<bos>'" },
        { "\"id\":806", "\"id\":809", "would give it 806" },
        { "\"id\":806", "\"id\":\"806\"", "wrong type" },
        { "\"content\":\"<mask>\"", "\"content\":\"<think>\"", "stands twice" },
        { "\"vocab\":{\"!\":0", "\"vocab\":{\"!\":1", "id 1" },
        { "\"vocab\":{\"!\":0", "\"vocab\":{\"!\":-1", "id in model.vocab" },
        { "\"vocab\":{\"!\":0", "\"vocab\":{\"!\":99999999", "id in model.vocab" },
        { "\"merges\":[[", "\"merges\":[[\"q\",\"\xC4\xA0zzz\"],[", "not in the vocabulary" },
        { "\"merges\":[[", "\"merges\":[\"one\",[", "not a pair" },
        { "\"version\":\"1.0\"", "\"version\":\"1.0\",\"surprise\":{}", "'surprise'" },
        { "\"version\":\"1.0\"", "\"version\":\"1.0\",\"version\":\"1.0\"", "duplicate" },
    };
    size_t size, i;
    char *data = bpe_kit_file("tiny_qwen.json", &size);
    struct bpe_options pattern = { .pattern = "a" };
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *bad = replaced(data, cases[i].from, cases[i].to);
        must_refuse(bad, strlen(bad), NULL, cases[i].says);
        free(bad);
    }
    must_refuse(data, size, &pattern, "holds its own");
    for (i = 1; i < size; i += 97) { /* cut anywhere */
        must_refuse(data, i, NULL, "not valid JSON");
    }
    free(data);
}

/* Their number is judged before any of them is looked at: what follows compares each with the
 * others. */
static void too_many_added_tokens(void **state)
{
    static char data[40000] = "{\"added_tokens\":[0";
    size_t n = strlen(data);
    (void)state;
    while (n < 18 + (size_t)2 * 16383) {
        n += (size_t)sprintf(data + n, ",0");
    }
    strcpy(data + n, "]}");
    must_refuse(data, n + 2, NULL, "model is missing or of the wrong type");
    strcpy(data + n, ",0]}");
    must_refuse(data, n + 4, NULL, "more than 16384 added tokens");
}

static void damaged_tiktoken_files(void **state)
{
    struct bpe_options options = { .pattern = "[\\s\\S]" }, bad_pattern = { .pattern = "[a" };
    struct bpe_special special = { "<x>", 5 }, empty = { "", 900 };
    size_t size;
    char *data = bpe_kit_file("tiny.tiktoken", &size), *bad;
    (void)state;
    must_refuse(data, size, NULL, "pattern");
    must_refuse(data, size, &bad_pattern, "unclosed [");
    must_refuse("", 0, &options, "empty");
    must_refuse(" \n\t", 3, &options, "empty");
    must_refuse("IQ== 0\n", 7, &options, "no token for the byte 0x00");
    must_refuse("IQ==0\n", 6, &options, "line 1");
    must_refuse("IQ=== 0\n", 8, &options, "line 1");
    must_refuse("IR== 0\n", 7, &options, "line 1");
    must_refuse("IQ== \n", 6, &options, "line 1");
    must_refuse("IQ== 1x\n", 8, &options, "line 1");
    must_refuse("IQ== 0\nIQ== 99999999999999999999\n", 33, &options, "line 2");
    must_refuse("IQ== 0\nIQ== 3000000\n", 20, &options, "3000000 is beyond");
    must_refuse("IQ== 0\nIg== 0\n", 14, &options, "two tokens have the id 0");
    must_refuse("IQ== 0\nIQ== 1\n", 14, &options, "both byte 0x21");
    must_refuse("GIF89a", 6, &options, "line 1");
    bad = malloc(size + 32);
    assert_non_null(bad);
    memcpy(bad, data, size);
    strcpy(bad + size, "d29ya2Vyc2FuZG1vcmU= 950\n");
    must_refuse(bad, strlen(bad), &options, "two tokens have the bytes");
    free(bad);
    options.extra = &special;
    options.n_extra = 1;
    must_refuse(data, size, &options, "'<x>'");
    options.extra = &empty;
    must_refuse(data, size, &options, "no content");
    free(data);
}

static int32_t load_and_encode(const char *data, size_t size, const struct bpe_options *options)
{
    static const char text[] =
        "Sluice e\xCC\x81 \xCC\x96\xCC\x81 the 12345 "
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz <think> a<|endoftext|>";
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    struct bpe_worker *worker = NULL;
    uint32_t ids[400];
    size_t n;
    int32_t status = bpe_load(data, size, options, &bpe, &err);
    if (status == SLUICE_OK) {
        status = bpe_worker_create(bpe, 1, &worker, &err);
    }
    if (status == SLUICE_OK) {
        status = bpe_encode(worker, text, sizeof(text) - 1, ids, 400, &n, &err);
    }
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    return status;
}

/* Every allocation fails once. jansson says "not valid JSON" or drops a member when it has no
 * memory, which SLUICE_E_CONFIG then reports. */
static void without_memory(void **state)
{
    size_t size;
    char *data = bpe_kit_file("tiny.tiktoken", &size);
    struct bpe_options options = { .pattern = "[a-z]+|[^a-z]", .specials = BPE_SPECIALS_ALLOW };
    int64_t k;
    int32_t status;
    (void)state;
    ALLOC_EACH(status = load_and_encode(data, size, &options), (void)0);
    free(data);
    data = bpe_kit_file("tiny_qwen.json", &size);
    for (k = 0;; k += k < 40 ? 1 : 61) {
        bool hit;
        alloc_arm(k, false);
        status = load_and_encode(data, size, NULL);
        hit = alloc_disarm();
        if (!hit) {
            assert_int_equal(status, SLUICE_OK);
            break;
        }
        assert_true(status == SLUICE_OK || status == SLUICE_E_NOMEM || status == SLUICE_E_CONFIG);
    }
    assert_true(k > 1000);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_of_tokenizer_json),
        cmocka_unit_test(too_many_added_tokens),
        cmocka_unit_test(damaged_tiktoken_files),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
