/* test_bpe_golden.c — the four vocabularies of OpenAI against published encodings: the plans of the
 * package gpt-tokenizer (SharpToken's) and llama.cpp's GPT-2 pairs. Needs vocab.tar.zst of the test
 * data; says so and passes when it is absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "model/bpe.h"

/* A file of the archive; the test is skipped, saying so, when there is no archive. */
static char *from_archive(const char *member, size_t *size)
{
    const char *dir = getenv("SLUICE_TEST_DATA");
    char path[512], command[1200], *data = NULL;
    size_t cap = 0, k;
    struct stat info;
    FILE *pipe;
    (void)snprintf(path, sizeof(path), "%s/vocab.tar.zst", dir ? dir : "../shared/data");
    if (stat(path, &info) != 0) {
        print_message("no %s; set SLUICE_TEST_DATA to the folder that holds it\n", path);
        skip();
    }
    (void)snprintf(command, sizeof(command), "tar --zstd -xOf '%s' vocab/%s", path, member);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    *size = 0;
    do {
        if (cap - *size < 1u << 20) {
            cap += 4u << 20;
            data = realloc(data, cap);
            assert_non_null(data);
        }
        k = fread(data + *size, 1, cap - *size - 1, pipe);
        *size += k;
    } while (k > 0);
    assert_int_equal(pclose(pipe), 0);
    assert_true(*size > 0);
    data[*size] = '\0';
    return data;
}

static struct bpe *load(const char *name)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    char member[64], *data;
    size_t size;
    (void)snprintf(member, sizeof(member), "tiktoken/%s.tiktoken", name);
    data = from_archive(member, &size);
    if (bpe_load(data, size, NULL, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    free(data);
    return bpe;
}

/* Compares with ids in text form, separated by anything. */
static void check(struct bpe *bpe, const char *name, const char *text, size_t len, const char *ids)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    uint32_t *got = malloc((len + 1) * sizeof(*got));
    size_t n, i;
    assert_non_null(got);
    assert_int_equal(bpe_worker_create(bpe, 1, &worker, &err), SLUICE_OK);
    assert_int_equal(bpe_encode(worker, text, len, got, len, &n, &err), SLUICE_OK);
    for (i = 0; i < n; i++) {
        ids += strcspn(ids, "0123456789");
        if (strtoul(ids, (char **)(void *)&ids, 10) != got[i]) {
            fail_msg("%s: id %zu of '%.*s' is %u", name, i, (int)len, text, got[i]);
        }
    }
    assert_null(strpbrk(ids, "0123456789"));
    bpe_worker_destroy(worker);
    free(got);
}

static void gpt_tokenizer_plans(void **state)
{
    static const char *const names[] = { "r50k_base", "p50k_base", "p50k_edit", "cl100k_base",
                                         "o200k_base" };
    static const uint32_t sizes[] = { 50257, 50281, 50281, 100277, 200019 };
    static const uint32_t ends[] = { 50256, 50256, 50256, 100257, 199999 };
    size_t size, k, plans = 0;
    char *data = from_archive("tiktoken/TestPlans.txt", &size);
    (void)state;
    for (k = 0; k < 5; k++) {
        struct bpe *bpe =
            load(k == 2 ? "p50k_base" : names[k]); /* p50k_edit differs in special tokens alone */
        const char *p = data;
        char head[64];
        uint32_t id;
        size_t n;
        assert_int_equal(bpe_vocab_size(bpe), sizes[k]);
        assert_int_equal(bpe_eos(bpe, &id, NULL), SLUICE_OK);
        assert_int_equal(id, ends[k]);
        n = (size_t)snprintf(head, sizeof(head), "EncodingName: %s\nSample: ", names[k]);
        while ((p = strstr(p, head)) != NULL) {
            const char *text = p + n, *ids = strstr(text, "\nEncoded: ["), *end;
            char *list;
            assert_non_null(ids);
            end = strchr(ids + 1, '\n');
            assert_non_null(end);
            list = strndup(ids, (size_t)(end - ids));
            check(bpe, names[k], text, (size_t)(ids - text), list);
            free(list);
            plans++;
            p = end;
        }
        bpe_destroy(bpe);
    }
    assert_int_equal(plans, 313);
    free(data);
}

static void llama_cpp_pairs(void **state)
{
    static const char mark[] = "\n__ggml_vocab_test__\n";
    size_t size, out_size, cases = 0;
    char *in = from_archive("llama.cpp/ggml-vocab-gpt-2.gguf.inp", &size), *out, *text, *line;
    struct bpe *bpe;
    (void)state;
    out = from_archive("llama.cpp/ggml-vocab-gpt-2.gguf.out", &out_size);
    bpe = load("r50k_base");
    line = out;
    for (text = in; text;) {
        char *end = strstr(text, mark), *newline = strchr(line, '\n');
        size_t len = end ? (size_t)(end - text) : (size_t)(in + size - text);
        if (!end && len == 0) {
            break;
        }
        assert_non_null(newline);
        *newline = '\0';
        check(bpe, "gpt-2", text, len, line);
        line = newline + 1;
        text = end ? end + strlen(mark) : NULL;
        cases++;
    }
    assert_true(cases > 40);
    bpe_destroy(bpe);
    free(in);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt_tokenizer_plans),
        cmocka_unit_test(llama_cpp_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
