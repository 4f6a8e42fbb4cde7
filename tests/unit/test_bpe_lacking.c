/* test_bpe_lacking.c — vocabularies without tokens for some bytes (GPT-NeoX's lacks those that no
 * UTF-8 holds): ids are those of a twin that has all 256, a text that holds such a byte is refused
 * with its place, and no id comes out that the file does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/bpe.h"
#include "model/bpe_int.h"

#define MOST 4096

/* The alphabet: a b c, é in parts and whole, the space. `X` has no byte of its own, and tokens with
 * it. */
#define TOKENS                                                                                   \
    "\"a\":0,\"b\":1,\"c\":2,\"\\u00c3\":3,\"\\u00a9\":4,\"\\u0120\":5,\"ab\":6,\"\\u0120a\":7," \
    "\"abc\":8,\"\\u00c3\\u00a9\":9,\"\\u0120ab\":10,\"bc\":11,\"ca\":12,\"cab\":13,\"aX\":14,"  \
    "\"aXb\":15,\"abca\":16"
#define MERGES                                                                                     \
    "[\"a b\",\"\\u0120 a\",\"\\u00c3 \\u00a9\",\"b c\",\"c a\",\"ab c\",\"\\u0120 ab\",\"c ab\"," \
    "\"\\u0120a b\",\"abc a\",\"aX b\"]"

/* Gives a tokenizer.json; `all`: the bytes that it lacks have tokens behind the others. */
static size_t make_file(char *out, size_t room, int all, const char *normalizer, int front,
                        int whole)
{
    size_t n = (size_t)snprintf(
        out, room,
        "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":%s,\"pre_tokenizer\":{\"type\":"
        "\"ByteLevel\",\"add_prefix_space\":%s,\"trim_offsets\":true,\"use_regex\":true},"
        "\"model\":{\"type\":\"BPE\",\"unk_token\":null,\"ignore_merges\":%s,\"merges\":" MERGES
        ",\"vocab\":{" TOKENS,
        normalizer, front ? "true" : "false", whole ? "true" : "false");
    unsigned next = 256, id = 17;
    for (unsigned b = 0; all && b < 256; b++) {
        const int printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        const unsigned name = printable ? b : next++;
        if (b != 'a' && b != 'b' && b != 'c' && b != 0xC3 && b != 0xA9 && b != ' ') {
            n += (size_t)snprintf(out + n, room - n, ",\"\\u%04x\":%u", name, id++);
        }
    }
    return n + (size_t)snprintf(out + n, room - n, "}}}");
}

static struct bpe *load_kind(int all, const char *normalizer, int front, int whole)
{
    static char file[16384];
    const size_t n = make_file(file, sizeof(file), all, normalizer, front, whole);
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    if (bpe_load(file, n, NULL, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return bpe;
}

static struct bpe_worker *worker_of(const struct bpe *bpe)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *w = NULL;
    assert_int_equal(bpe_worker_create(bpe, 1, &w, &err), SLUICE_OK);
    return w;
}

static void must_be(const struct bpe *bpe, const char *text, size_t n, const uint32_t *want)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *w = worker_of(bpe);
    uint32_t ids[64];
    size_t have;
    if (bpe_encode(w, text, strlen(text), ids, 64, &have, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(have, n);
    assert_memory_equal(ids, want, n * sizeof(*ids));
    bpe_worker_destroy(w);
}

static void must_refuse(const struct bpe *bpe, const char *text, size_t len, const char *part)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *w = worker_of(bpe);
    uint32_t ids[256];
    size_t n = 1;
    assert_int_equal(bpe_encode(w, text, len, ids, 256, &n, &err), SLUICE_E_DATA);
    assert_int_equal(n, 0);
    if (!strstr(err.message, part)) {
        fail_msg("'%s' is not in: %s", part, err.message);
    }
    /* and the next text is none the worse for it */
    assert_int_equal(bpe_encode(w, "abc", 3, ids, 256, &n, &err), SLUICE_OK);
    assert_int_equal(ids[n - 1], 8);
    bpe_worker_destroy(w);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

/* Short words, runs, and pieces long enough for each way to merge. */
static size_t make_text(uint64_t *seed, char *p, size_t want)
{
    static const char *const parts[] = { "a", "b", "c", "\xC3\xA9", "ab", "abc", "cab", " " };
    const uint64_t kind = next_random(seed) % 3; /* 0: no spaces */
    size_t n = 0;
    while (n < want) {
        const char *part = parts[next_random(seed) % (kind ? 8 : 7)];
        const size_t times = next_random(seed) % 50 == 0 ? 1 + next_random(seed) % 30 : 1;
        for (size_t k = 0; k < times && n < want; k++) {
            memcpy(p + n, part, strlen(part));
            n += strlen(part);
        }
    }
    return n;
}

static void as_its_twin(void **state)
{
    static char text[MOST + 16];
    static uint32_t want[MOST + 16], have[MOST + 16];
    static uint16_t have16[MOST + 16];
    static uint64_t offsets[MOST + 16];
    struct sluice_error err = { .size = sizeof(err) };
    uint64_t seed = 5;
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct bpe *bpe = load_kind(0, "null", 0, whole), *twin = load_kind(1, "null", 0, whole);
        struct bpe_worker *w = worker_of(bpe), *v = worker_of(twin);
        struct bpe_training *training = NULL;
        for (int round = 0; round < 1500; round++) {
            const size_t len =
                make_text(&seed, text, 1 + next_random(&seed) % (round % 10 ? 80 : MOST));
            size_t n, m, used, at = 0;
            assert_int_equal(bpe_encode(v, text, len, want, MOST + 16, &n, &err), SLUICE_OK);
            assert_int_equal(bpe_encode(w, text, len, have, MOST + 16, &m, &err), SLUICE_OK);
            assert_int_equal(m, n);
            assert_memory_equal(have, want, n * sizeof(*want));
            assert_int_equal(bpe_encode16(w, text, len, have16, MOST + 16, &m, &err), SLUICE_OK);
            assert_int_equal(m, n);
            for (size_t i = 0; i < n; i++) {
                assert_true(want[i] < 17); /* nothing that the file lacks */
                assert_int_equal(have16[i], want[i]);
            }
            assert_int_equal(bpe_encode_offsets(w, text, len, have, offsets, MOST + 16, &m, &err),
                             SLUICE_OK);
            assert_memory_equal(have, want, n * sizeof(*want));
            for (size_t done = 0; done < len; done += used, at += m) {
                assert_int_equal(
                    bpe_encode_some(w, text + done, len - done, have + at, MOST, &m, &used, &err),
                    SLUICE_OK);
            }
            assert_int_equal(at, n);
            assert_memory_equal(have, want, n * sizeof(*want));
        }
        /* a trained head of such a text changes nothing */
        const size_t len = make_text(&seed, text, MOST);
        size_t n, m, size;
        void *head = NULL;
        assert_int_equal(bpe_training_create(bpe, &training, &err), SLUICE_OK);
        assert_int_equal(bpe_training_add(training, "ab\xE4", 3, &err), SLUICE_E_DATA);
        assert_int_equal(bpe_training_add(training, "ab ab abc abc caab caab", 23, &err),
                         SLUICE_OK);
        assert_int_equal(bpe_training_make(training, 0, &head, &size, &err), SLUICE_OK);
        bpe_training_destroy(training);
        bpe_worker_destroy(w);
        assert_int_equal(bpe_head_use(bpe, head, size, &err), SLUICE_OK);
        w = worker_of(bpe);
        assert_int_equal(bpe_encode(v, text, len, want, MOST + 16, &n, &err), SLUICE_OK);
        assert_int_equal(bpe_encode(w, text, len, have, MOST + 16, &m, &err), SLUICE_OK);
        assert_int_equal(m, n);
        assert_memory_equal(have, want, n * sizeof(*want));
        bpe_worker_destroy(w);
        bpe_worker_destroy(v);
        bpe_destroy(bpe);
        bpe_destroy(twin);
        free(head);
    }
}

static void refused_with_place(void **state)
{
    struct bpe *bpe = load_kind(0, "null", 0, 0);
    char text[300];
    (void)state;
    must_refuse(bpe, "abd", 3, "0x64 at byte 2 of the text");
    must_refuse(bpe, "d", 1, "0x64 at byte 0 of the text");
    must_refuse(bpe, "ab \xC0 a", 6, "0xc0 at byte 3 of the text, which no UTF-8 has");
    must_refuse(bpe, "ab \xF5", 4, "no UTF-8");
    must_refuse(bpe, "\xE4\xBD\xA0", 3, "0xe4 at byte 0 of the text; it was trained");
    must_refuse(bpe, "aX", 2, "0x58"); /* also where the vocabulary has that very string */
    must_refuse(bpe, "abc aXb", 7, "0x58 at byte 5");
    for (size_t at = 0; at < 256; at++) { /* wherever it stands in a batch of pieces */
        for (size_t i = 0; i < 256; i++) {
            text[i] = i % 3 ? 'a' : ' ';
        }
        text[at] = '\0';
        (void)snprintf(text + 260, 32, "at byte %zu of", at);
        must_refuse(bpe, text, 256, text + 260);
    }
    bpe_destroy(bpe);
    bpe = load_kind(0, "null", 0, 1); /* ignore_merges: what has no way to be merged as well */
    must_refuse(bpe, "aXb", 3, "0x58 at byte 1");
    bpe_destroy(bpe);
}

static void refused_in_what_is_left(void **state)
{
    static char text[2 * MOST];
    struct bpe *bpe = load_kind(0, "null", 0, 0);
    struct bpe_worker *w = worker_of(bpe);
    struct sluice_error err = { .size = sizeof(err) };
    uint32_t ids[MOST];
    size_t n, used, done = 0, calls = 0;
    int32_t status = SLUICE_OK;
    (void)state;
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = i % 5 ? 'c' : ' ';
    }
    text[sizeof(text) - 1] = 'z';
    while (status == SLUICE_OK) {
        status = bpe_encode_some(w, text + done, sizeof(text) - done, ids, 64, &n, &used, &err);
        done += used;
        calls += status == SLUICE_OK;
    }
    assert_int_equal(status, SLUICE_E_DATA);
    assert_true(calls > 10);
    assert_int_equal(n, 0);
    assert_non_null(strstr(err.message, "0x7a"));
    bpe_worker_destroy(w);
    bpe_destroy(bpe);
}

/* What counts is what the normalizer and the space in front leave. */
static void refused_as_rewritten(void **state)
{
    const uint32_t accent[] = { 8, 9 }, front[] = { 10 };
    struct bpe *bpe = load_kind(0, "{\"type\":\"NFC\"}", 0, 0);
    (void)state;
    must_be(bpe, "abc\xC3\xA9", 2, accent);
    must_be(bpe, "abce\xCC\x81", 2, accent); /* e and U+0301, of which neither has tokens */
    must_refuse(bpe, "e\xCC\x81ze\xCC\x81", 7, "0x7a at byte 2 of a part as the tokenizer changed");
    bpe_destroy(bpe);
    bpe = load_kind(0, "null", 1, 0);
    must_be(bpe, "ab", 1, front);
    must_be(bpe, " ab", 1, front);
    must_refuse(bpe, "abd", 3, "0x64 at byte 2 of");
    bpe_destroy(bpe);
}

/* A file whose space in front has no token, and one without a single byte. */
static void files_of_no_use(void **state)
{
    static const char no_space[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},\"model\":{\"type\":"
        "\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4,\"cc\":5,\"ca\":6,\"bb\":7,"
        "\"abc\":8},\"merges\":[\"a b\",\"ab c\"]}}";
    static const char none[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"model\":{"
        "\"type\":\"BPE\",\"vocab\":{\"ab\":0},\"merges\":[]}}";
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *w;
    struct bpe *bpe = NULL;
    uint32_t ids[8];
    size_t n;
    (void)state;
    assert_int_equal(bpe_load(no_space, sizeof(no_space) - 1, NULL, &bpe, &err), SLUICE_OK);
    w = worker_of(bpe);
    assert_int_equal(bpe_encode(w, "ab", 2, ids, 8, &n, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "a space in front of the text"));
    bpe_worker_destroy(w);
    bpe_destroy(bpe);
    assert_int_equal(bpe_load(none, sizeof(none) - 1, NULL, &bpe, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "no byte has a token"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_its_twin),
        cmocka_unit_test(refused_with_place),
        cmocka_unit_test(refused_in_what_is_left),
        cmocka_unit_test(refused_as_rewritten),
        cmocka_unit_test(files_of_no_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
