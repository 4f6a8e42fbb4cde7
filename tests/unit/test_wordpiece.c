/* test_wordpiece.c — the WordPiece model: what tokenizers 0.23.3 answered; what is refused by
 * name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "model/wordpiece.h"

static const char model[] =
    "{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":8,\"vocab\":{\"[UNK]\":0,\"un\":1,\"##aff\":2,\"##able\":3,"
    "\"##a\":4,\"a\":5,\"##b\":6,\"ab\":7,\"##ab\":8,\"\303\251\":9,\"##\303\251\":10,\"##\":11,"
    "\"x\":12}}";

static struct wordpiece *read_model(const char *text, int32_t expected, const char *message)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct wordpiece *w = NULL;
    json_t *node = json_loads(text, 0, NULL);
    assert_non_null(node);
    assert_int_equal(wordpiece_read(node, &w, &err), expected);
    assert_true((w != NULL) == (expected == SLUICE_OK));
    if (message && !strstr(err.message, message)) {
        fail_msg("%s: %s", text, err.message);
    }
    json_decref(node);
    return w;
}

static void test_words(void **state)
{
    static const struct {
        const char *word;
        size_t n;
        uint32_t ids[8];
    } cases[] = {
        { "", 0, { 0 } },
        { "unaffable", 1, { 0 } },
        { "a", 1, { 5 } },
        { "ab", 1, { 7 } },
        { "aab", 2, { 5, 8 } },
        { "abab", 2, { 7, 8 } },
        { "unaffx", 1, { 0 } },
        { "z", 1, { 0 } },
        { "\303\251\303\251", 2, { 9, 10 } },
        { "\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251", 1, { 0 } },
        { "aaaaaaaa", 8, { 5, 4, 4, 4, 4, 4, 4, 4 } },
        { "aaaaaaaaa", 1, { 0 } },
        { "##a", 1, { 4 } },
        { "a##", 1, { 0 } },
        { "x##", 1, { 0 } },
        { "[UNK]", 1, { 0 } },
    };
    struct wordpiece *w = read_model(model, SLUICE_OK, NULL);
    size_t i, n, len;
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sluice_error err = { .size = sizeof(err) };
        uint32_t ids[32];
        len = strlen(cases[i].word);
        assert_int_equal(wordpiece_encode(w, cases[i].word, len, ids, len, &n, &err), SLUICE_OK);
        assert_int_equal(n, cases[i].n);
        assert_true(n == 0 || memcmp(ids, cases[i].ids, n * sizeof(*ids)) == 0);
        if (n > 0) {
            assert_int_equal(wordpiece_encode(w, cases[i].word, len, ids, n - 1, &n, &err),
                             SLUICE_E_CONFIG);
        }
    }
    assert_int_equal(wordpiece_size(w), 13);
    assert_memory_equal(wordpiece_token(w, 2, &len), "##aff", 5);
    assert_int_equal(len, 5);
    assert_null(wordpiece_token(w, 13, &len));
    assert_string_equal(wordpiece_prefix(w, &len), "##");
    assert_int_equal(len, 2);
    assert_true(wordpiece_memory(w) > 1000);
    wordpiece_destroy(w);
}

/* Without a prefix a token goes anywhere; without any token of the prefix no word has a second. */
static void test_prefixes(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct wordpiece *w =
        read_model("{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"\","
                   "\"max_input_chars_per_word\":100,\"vocab\":{\"u\":0,\"a\":3,\"ab\":7}}",
                   SLUICE_OK, NULL);
    uint32_t ids[8];
    size_t n, len;
    (void)state;
    assert_int_equal(wordpiece_encode(w, "aaba", 4, ids, 8, &n, &err), SLUICE_OK);
    assert_int_equal(n, 3);
    assert_true(ids[0] == 3 && ids[1] == 7 && ids[2] == 3);
    assert_null(wordpiece_token(w, 4, &len));
    wordpiece_destroy(w);
    w = read_model("{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##\","
                   "\"max_input_chars_per_word\":100,\"vocab\":{\"u\":0,\"a\":1}}",
                   SLUICE_OK, NULL);
    assert_int_equal(wordpiece_encode(w, "aa", 2, ids, 8, &n, &err), SLUICE_OK);
    assert_true(n == 1 && ids[0] == 0);
    wordpiece_destroy(w);
}

/* WordLevel: whole words; one that is no token is unk, and without an unk an error. */
static void test_whole_words(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct wordpiece *w = read_model("{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                                     "\"vocab\":{\"u\":0,\"a\":3,\"ab\":7}}",
                                     SLUICE_OK, NULL);
    uint32_t ids[2];
    size_t n;
    (void)state;
    assert_int_equal(wordpiece_encode(w, "ab", 2, ids, 2, &n, &err), SLUICE_OK);
    assert_true(n == 1 && ids[0] == 7);
    assert_int_equal(wordpiece_encode(w, "aa", 2, ids, 2, &n, &err), SLUICE_OK);
    assert_true(n == 1 && ids[0] == 0);
    assert_int_equal(wordpiece_encode(w, "ab", 2, ids, 0, &n, &err), SLUICE_E_CONFIG);
    wordpiece_destroy(w);
    w = read_model("{\"type\":\"WordLevel\",\"unk_token\":\"none\",\"vocab\":{\"a\":3}}", SLUICE_OK,
                   NULL);
    assert_int_equal(wordpiece_encode(w, "a", 1, ids, 2, &n, &err), SLUICE_OK);
    assert_int_equal(wordpiece_encode(w, "aa", 2, ids, 2, &n, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "the word 'aa'"));
    wordpiece_destroy(w);
    (void)read_model("{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                     "\"max_input_chars_per_word\":1,\"vocab\":{\"u\":0}}",
                     SLUICE_E_CONFIG, "model WordLevel the member 'max_input_chars_per_word'");
}

static void test_refused(void **state)
{
    (void)state;
    (void)read_model("{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"\","
                     "\"max_input_chars_per_word\":1,\"vocab\":{\"a\":0}}",
                     SLUICE_E_CONFIG, "the unk_token 'u'");
    (void)read_model("{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"\","
                     "\"max_input_chars_per_word\":1,\"vocab\":{\"a\":0,\"u\":0}}",
                     SLUICE_E_CONFIG, "have the id 0");
    (void)read_model("{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"\","
                     "\"max_input_chars_per_word\":1,\"vocab\":{\"u\":-1}}",
                     SLUICE_E_CONFIG, "an id in model.vocab");
    (void)read_model("{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"\","
                     "\"max_input_chars_per_word\":1,\"vocab\":{\"u\":99999999}}",
                     SLUICE_E_CONFIG, "ids up to 99999999");
    (void)read_model("{\"unk_token\":\"u\",\"vocab\":{\"u\":0}}", SLUICE_E_CONFIG,
                     "continuing_subword_prefix");
    (void)read_model("{\"unk_token\":\"u\",\"x\":1}", SLUICE_E_CONFIG, "the member 'x'");
}

static void test_no_memory(void **state)
{
    json_t *node = json_loads(model, 0, NULL);
    int64_t left;
    int done = 0;
    (void)state;
    for (left = 0; !done && left < 100; left++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct wordpiece *w = NULL;
        int32_t status;
        alloc_state.left = left;
        alloc_state.failed = false;
        status = wordpiece_read(node, &w, &err);
        alloc_state.left = -1;
        done = !alloc_state.failed;
        assert_int_equal(status, done ? SLUICE_OK : SLUICE_E_NOMEM);
        wordpiece_destroy(w);
    }
    assert_true(done && left > 5);
    json_decref(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),       cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_whole_words), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
