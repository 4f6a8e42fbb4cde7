/* plugins/fasttext/model: a model written byte by byte predicts what its weights say; damaged and
 * hostile ones are refused with a reason, cut ones at every length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fasttext/model.h"

static char *make(const char *damage, size_t *n)
{
    const char *src = getenv("SRC");
    char command[4096];
    char *data = malloc(1 << 16);
    FILE *from;

    snprintf(command, sizeof command, "perl '%s/tests/data/fasttext_model.pl' %s",
             src != NULL ? src : ".", damage);
    from = popen(command, "r");
    assert_non_null(from);
    assert_non_null(data);
    *n = fread(data, 1, 1 << 16, from);
    assert_int_equal(pclose(from), 0);
    return data;
}

static void predicts(void **state)
{
    size_t n, count;
    char *data = make("", &n);
    struct ft_model *model;
    struct ft_reader *reader;
    const struct ft_score *scores;

    (void)state;
    assert_int_equal(ft_model_load(data, n, &model, NULL), SLUICE_OK);
    free(data);
    assert_int_equal(ft_model_labels(model), 2);
    assert_string_equal(ft_model_label(model, 0), "__label__en");
    assert_int_equal(ft_reader_create(model, &reader, NULL), SLUICE_OK);
    assert_int_equal(ft_predict(reader, "the and of\n", 11, &scores, &count, NULL), SLUICE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(scores[0].label, 0);
    /* Rows (2, 0) three times and (0, 0): the mean is (1.5, 0), the outputs 4.5 and -4.5. */
    assert_true(scores[0].score > 0.9998 && scores[0].score < 1.0001 && scores[1].score < 0.0002);
    assert_int_equal(ft_predict(reader, "die\nthe the the", 15, &scores, &count, NULL), SLUICE_OK);
    assert_int_equal(scores[0].label, 1); /* one line only */
    assert_int_equal(ft_predict(reader, "", 0, &scores, &count, NULL), SLUICE_OK);
    assert_int_equal(count, 0);
    ft_reader_destroy(reader);
    ft_model_destroy(model);
}

static void refuses(void **state)
{
    static const char *const cases[][2] = {
        { "magic=7", "magic number" },
        { "version=13", "version" },
        { "dim=0", "impossible arguments" },
        { "dim=3", "input matrix of 7 x 2" },
        { "loss=9", "impossible arguments" },
        { "kind=1", "word vectors" },
        { "maxn=3", "impossible arguments" },
        { "maxn=-1", "impossible arguments" },
        { "maxn=3 bucket=100", "n-grams" },
        { "word_ngrams=2000000000", "impossible" },
        { "size=10", "a dictionary of 10" },
        { "words=9 labels=0", "0 labels" },
        { "words=8 labels=1", "another kind" },
        { "size=2000000000 words=1999999998", "a dictionary" },
        { "pruned=5", "" },
        { "rows=9223372036854775807", "" },
        { "rows=6", "" },
        { "columns=3", "" },
        { "columns=-1", "input matrix of" },
        { "out_rows=1", "" },
        { "extra=1", "1 bytes behind its end" },
        { "nan=1", "no number" },
        { "pruned=-7", "kept n-grams" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sluice_error err = { .size = sizeof err };
        struct ft_model *model;
        size_t n;
        char *data = make(cases[i][0], &n);
        assert_int_equal(ft_model_load(data, n, &model, &err), SLUICE_E_CONFIG);
        assert_null(model);
        assert_string_equal(err.field, "model");
        if (strstr(err.message, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], err.message);
        }
        free(data);
    }
}

static void refuses_what_is_cut(void **state)
{
    size_t n;
    char *data = make("", &n);

    (void)state;
    for (size_t k = 0; k < n; k++) {
        struct ft_model *model;
        char *part = malloc(k == 0 ? 1 : k); /* a sanitizer sees reads behind it */
        memcpy(part, data, k);
        assert_int_equal(ft_model_load(part, k, &model, NULL), SLUICE_E_CONFIG);
        free(part);
    }
    free(data);
}

/* Texts of words, marks, odd bytes and white space, with some of each often: what the cache of
 * words must get right. */
static size_t write_text(char *text, size_t most, unsigned *seed)
{
    static const char *const words[] = {
        "the",
        "and",
        "of",
        "die",
        "</s>",
        "__label__en",
        "<the>",
        "\xC3\xA4rger",
        "\xE4\xB8\xAD\xE6\x96\x87",
        "x",
        "\x80\x80",
        "antidisestablishmentarianism-floccinaucinihilipilification-and-more"
    };
    static const char spaces[] = "  \t\r\v\f\n";
    size_t n = 0, count;

    *seed = *seed * 1103515245u + 12345u;
    count = *seed >> 16 & 63;
    for (size_t i = 0; i < count && n + 100 < most; i++) {
        *seed = *seed * 1103515245u + 12345u;
        unsigned dice = *seed >> 16;
        if (dice % 40 == 0) {
            text[n++] = spaces[dice / 40 % (sizeof spaces)];
        } else if (dice % 4 == 0) {
            n += (size_t)sprintf(text + n, "w%x", dice >> 2 & 0xFF);
        } else {
            n += (size_t)sprintf(text + n, "%s", words[dice / 4 % (dice % 50 == 1 ? 12 : 4)]);
        }
        text[n++] = ' ';
    }
    if (*seed & 0x100000) {
        text[n++] = '\n';
    }
    return n;
}

static void equals_the_library_with(const char *data, size_t n, int texts)
{
    struct ft_model *model;
    struct ft_reader *ours, *peer;
    unsigned seed = 7;
    size_t answered = 0;

    assert_int_equal(ft_model_load(data, n, &model, NULL), SLUICE_OK);
    assert_int_equal(ft_reader_create(model, &ours, NULL), SLUICE_OK);
    assert_int_equal(ft_reader_create(model, &peer, NULL), SLUICE_OK);
    for (int i = 0; i < texts; i++) {
        const struct ft_score *a, *b;
        size_t na, nb;
        char text[8192];
        size_t len = write_text(text, sizeof text, &seed);
        assert_int_equal(ft_predict(ours, text, len, &a, &na, NULL), SLUICE_OK);
        assert_int_equal(ft_predict_peer(peer, text, len, &b, &nb, NULL), SLUICE_OK);
        assert_int_equal(na, nb);
        if (na > 0) {
            assert_memory_equal(a, b, na * sizeof *a); /* to the last bit */
            answered++;
        }
    }
    assert_true(answered > (size_t)texts / 2);
    ft_reader_destroy(ours);
    ft_reader_destroy(peer);
    ft_model_destroy(model);
}

static void equals_the_library(void **state)
{
    static const char *const kinds[] = { "", "minn=1 maxn=3 bucket=30 more=30",
                                         "minn=2 maxn=4 bucket=1 more=1",
                                         "word_ngrams=2 bucket=9 more=9" };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n;
        char *data = make(kinds[i], &n);
        equals_the_library_with(data, n, 400);
        free(data);
    }
}

/* A quantised and pruned model, where the collection has one. */
static void equals_the_library_pruned(void **state)
{
    const char *folder = getenv("SLUICE_TEST_DATA");
    char path[4096];
    char *data;
    long n;
    FILE *file;

    (void)state;
    snprintf(path, sizeof path, "%s/lid.176.ftz", folder != NULL ? folder : ".");
    file = fopen(path, "rb");
    if (file == NULL) {
        skip();
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    n = ftell(file);
    rewind(file);
    data = malloc((size_t)n);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)n, file), n);
    fclose(file);
    equals_the_library_with(data, (size_t)n, 400);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(predicts), cmocka_unit_test(refuses),
                                        cmocka_unit_test(refuses_what_is_cut),
                                        cmocka_unit_test(equals_the_library),
                                        cmocka_unit_test(equals_the_library_pruned) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
