/* test_bpe_head.c — the trained head: the ids are the same with and without it; its file is a
 * function of tokenizer and sample, and is refused by name when it is damaged or another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "bpe_kit.h"
#include "model/bpe.h"
#include "model/bpe_int.h"
#include "model/bpe_trained.h"

#define TEXT 40000u

static const char *const files[] = { "tiny_gpt2.json", "tiny_qwen.json", "tiny_deepseek.json",
                                     "tiny_splits.json" };

static struct bpe *load_bytes(const char *name, const void *data, size_t size)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    if (bpe_load(data, size, NULL, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    return bpe;
}

static struct bpe *load(const char *name)
{
    size_t size;
    char *data = bpe_kit_file(name, &size);
    struct bpe *bpe = load_bytes(name, data, size);
    free(data);
    return bpe;
}

/* A model over characters, with no tables of byte pairs. */
static struct bpe *load_words(void)
{
    char json[4096];
    size_t n = (size_t)snprintf(json, sizeof(json),
                                "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,"
                                "\"added_tokens\":[],\"normalizer\":null,"
                                "\"pre_tokenizer\":{\"type\":\"Whitespace\"},"
                                "\"post_processor\":null,\"decoder\":null,"
                                "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
                                "\"continuing_subword_prefix\":\"##\","
                                "\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,"
                                "\"the\":1,\"##ken\":2");
    for (unsigned k = 0; k < 26; k++) {
        n += (size_t)snprintf(json + n, sizeof(json) - n, ",\"%c\":%u,\"##%c\":%u", 'a' + k,
                              3 + 2 * k, 'a' + k, 4 + 2 * k);
    }
    n += (size_t)snprintf(json + n, sizeof(json) - n, "}}}");
    return load_bytes("words", json, n);
}

/* Words that come again and again, between them what comes once, and what is awkward. */
static size_t make_text(char *text, uint64_t seed)
{
    static const char *const words[] = { " the",
                                         " of",
                                         "The",
                                         " merges",
                                         " token",
                                         "\n",
                                         "  ",
                                         " 123",
                                         "4567",
                                         "'s",
                                         "'LL",
                                         " don't",
                                         "\xE4\xB8\xAD\xE6\x96\x87",
                                         "\xE7\x9A\x84",
                                         " \xD0\xB4\xD0\xB0",
                                         "\xF0\x9F\x98\x80",
                                         "e\xCC\x81",
                                         "\xC3\xA9t\xC3\xA9",
                                         ".",
                                         ", ",
                                         "\r\n\r\n",
                                         "\t\tif (x)",
                                         "_",
                                         "((",
                                         "aaaaaaaaaaaaaaa",
                                         "aaaaaaaaaaaaaaaa",
                                         "supercalifragilisticexpialidocious",
                                         "\xE2\x96\x81",
                                         "<|endoftext|>",
                                         "\x01" };
    size_t n = 0;
    while (n < TEXT) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (seed >> 60 < 3) {
            const size_t len = 1 + (seed >> 40) % 17;
            for (size_t i = 0; i < len; i++) {
                text[n++] = (char)('a' + (seed >> (i + 3)) % 26);
            }
        } else {
            const char *word = words[(seed >> 33) % (sizeof(words) / sizeof(words[0]))];
            memcpy(text + n, word, strlen(word));
            n += strlen(word);
        }
    }
    return n;
}

/* A head of the text, for free(). */
static uint8_t *train(const struct bpe *bpe, const char *text, size_t len, size_t *size)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_training *training = NULL;
    void *head = NULL;
    assert_int_equal(bpe_training_create(bpe, &training, &err), SLUICE_OK);
    assert_int_equal(bpe_training_add(training, text, len, &err), SLUICE_OK);
    if (bpe_training_make(training, 0, &head, size, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    bpe_training_destroy(training);
    return head;
}

struct ids {
    uint32_t *ids;
    uint16_t *ids16;
    size_t n, n16;
    uint64_t head_hits;
};

static struct ids encode(const struct bpe *bpe, const char *text, size_t len)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    struct bpe_counts counts;
    const size_t cap = bpe_encode_bound(bpe, len);
    struct ids out = { .ids = calloc(cap, sizeof(uint32_t)),
                       .ids16 = calloc(cap, sizeof(uint16_t)) };
    assert_int_equal(bpe_worker_create(bpe, 1, &worker, &err), SLUICE_OK);
    assert_int_equal(bpe_encode(worker, text, len, out.ids, cap, &out.n, &err), SLUICE_OK);
    bpe_worker_counts(worker, &counts);
    out.head_hits = counts.head_hits;
    assert_int_equal(bpe_encode16(worker, text, len, out.ids16, cap, &out.n16, &err), SLUICE_OK);
    bpe_worker_destroy(worker);
    return out;
}

static void test_same_ids(void **state)
{
    static char sample[TEXT + 64], other[TEXT + 64];
    const size_t sample_len = make_text(sample, 1), other_len = make_text(other, 2);
    (void)state;
    for (size_t f = 0; f <= sizeof(files) / sizeof(files[0]); f++) {
        struct sluice_error err = { .size = sizeof(err) };
        const int of_bytes = f < sizeof(files) / sizeof(files[0]);
        struct bpe *bpe = of_bytes ? load(files[f]) : load_words();
        const struct ids plain = encode(bpe, other, other_len);
        size_t size;
        uint8_t *head = train(bpe, sample, sample_len, &size);
        for (int moved = 0; moved < 2; moved++) { /* aligned, and where it has to be copied */
            uint8_t *at = malloc(size + 1);
            struct ids with;
            assert_non_null(at);
            memcpy(at + moved, head, size);
            if (bpe_head_use(bpe, at + moved, size, &err) != SLUICE_OK) {
                fail_msg("%s: %s", of_bytes ? files[f] : "words", err.message);
            }
            with = encode(bpe, other, other_len);
            assert_int_equal(with.n, plain.n);
            assert_memory_equal(with.ids, plain.ids, plain.n * sizeof(uint32_t));
            assert_int_equal(with.n16, plain.n16);
            assert_memory_equal(with.ids16, plain.ids16, plain.n16 * sizeof(uint16_t));
            /* what the vocabulary's own table does not hold is in the head */
            assert_true(with.head_hits > plain.head_hits);
            free(with.ids);
            free(with.ids16);
            assert_int_equal(bpe_head_use(bpe, head, size, &err),
                             SLUICE_OK); /* in the place of `at` */
            free(at);
        }
        bpe_destroy(bpe);
        free(head);
        free(plain.ids);
        free(plain.ids16);
    }
}

static void test_same_bytes(void **state)
{
    static char sample[TEXT + 64];
    const size_t len = make_text(sample, 5);
    struct bpe *bpe = load("tiny_gpt2.json");
    size_t size, again_size;
    uint8_t *head, *again;
    (void)state;
    head = train(bpe, sample, len, &size);
    again = train(bpe, sample, len, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(head, again, size);
    bpe_destroy(bpe);
    free(head);
    free(again);
}

static void refused(struct bpe *bpe, const void *head, size_t size, const char *word)
{
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(bpe_head_use(bpe, head, size, &err), SLUICE_E_CONFIG);
    if (!strstr(err.message, word)) {
        fail_msg("expected '%s' in: %s", word, err.message);
    }
}

static void test_refused(void **state)
{
    static char sample[TEXT + 64];
    const size_t len = make_text(sample, 9);
    struct bpe *bpe = load("tiny_gpt2.json"), *other = load("tiny_qwen.json");
    struct head_header h;
    struct piece_entry *entries;
    size_t size, at = 0;
    uint8_t *head, saved;
    (void)state;
    head = train(bpe, sample, len, &size);
    refused(other, head, size, "the head of tokenizer");
    refused(bpe, head, 0, "fewer than its header");
    refused(bpe, head, HEAD_HEADER - 1, "fewer than its header");
    refused(bpe, head, HEAD_HEADER, "truncated");
    refused(bpe, head, size - 1, "truncated");
    for (size_t i = 0; i < sizeof(h); i++) { /* any byte of the header, and some behind it */
        head[i] ^= 0x11;
        refused(bpe, head, size, "head");
        head[i] ^= 0x11;
    }
    for (size_t i = 0; i < 8; i++) {
        const size_t place = HEAD_HEADER + i * (size - HEAD_HEADER - 1) / 7;
        saved = head[place];
        head[place] ^= 1;
        refused(bpe, head, size, "sum");
        head[place] = saved;
    }
    /* A wrong id, a count without room, under the right sum. */
    memcpy(&h, head, sizeof(h));
    entries = (struct piece_entry *)(void *)(head + HEAD_HEADER);
    while (entries[at].key.high == 0) {
        at++;
    }
    for (int k = 0; k < 3; k++) {
        const struct piece_entry good = entries[at];
        entries[at].ids[0] ^= k == 0 ? 1u : k == 1 ? UINT32_C(0xF) << PIECE_COUNT_SHIFT : 0;
        entries[at].key.high ^= k == 2 ? UINT64_C(0x10) << 56 : 0;
        h.sum = XXH3_64bits(head + HEAD_HEADER, size - HEAD_HEADER);
        memcpy(head, &h, sizeof(h));
        refused(bpe, head, size, "not what the tokenizer gives");
        entries[at] = good;
    }
    /* One that is not there. */
    memset(&entries[at], 0, sizeof(entries[at]));
    h.sum = XXH3_64bits(head + HEAD_HEADER, size - HEAD_HEADER);
    memcpy(head, &h, sizeof(h));
    refused(bpe, head, size, entries[at | 1].key.high ? "not what" : "entries, expected");
    bpe_destroy(bpe);
    bpe_destroy(other);
    free(head);
}

static void test_files(void **state)
{
    static char sample[TEXT + 64];
    const size_t len = make_text(sample, 12);
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = load("tiny_gpt2.json");
    const struct ids plain = encode(bpe, sample, len);
    struct bpe_training *training = NULL;
    char folder[] = "/tmp/sluice-head-XXXXXX", path[64];
    struct ids with;
    FILE *f;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/a.head", folder);
    assert_int_equal(bpe_head_open(bpe, path, &err), SLUICE_E_CONFIG);
    assert_int_equal(bpe_head_open(bpe, folder, &err), SLUICE_E_CONFIG);
    f = fopen(path, "w"); /* is replaced */
    assert_non_null(f);
    assert_true(fputs("old", f) >= 0);
    (void)fclose(f);
    assert_int_equal(bpe_head_open(bpe, path, &err), SLUICE_E_CONFIG);
    assert_int_equal(bpe_training_create(bpe, &training, &err), SLUICE_OK);
    assert_int_equal(bpe_training_write(training, 0, path, &err), SLUICE_E_DATA); /* no sample */
    for (size_t at = 0; at < len; at += len / 3) {                                /* in parts */
        const size_t part = len - at < len / 3 ? len - at : len / 3;
        assert_int_equal(bpe_training_add(training, sample + at, part, &err), SLUICE_OK);
    }
    assert_int_equal(bpe_training_write(training, 1, path, &err),
                     SLUICE_OK); /* as small as can be */
    assert_int_equal(bpe_training_write(training, 0, path, &err), SLUICE_E_DATA); /* a new sample */
    assert_int_equal(bpe_training_add(training, sample, len, &err), SLUICE_OK);
    assert_int_equal(bpe_training_write(training, 0, "/dev/null/a.head", &err), SLUICE_E_IO);
    bpe_training_destroy(training);
    if (bpe_head_open(bpe, path, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    with = encode(bpe, sample, len);
    assert_int_equal(with.n, plain.n);
    assert_memory_equal(with.ids, plain.ids, plain.n * sizeof(uint32_t));
    bpe_destroy(bpe);
    free(with.ids);
    free(with.ids16);
    free(plain.ids);
    free(plain.ids16);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing is left beside it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_ids),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
