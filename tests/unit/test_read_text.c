/* Tests of read_text: the same documents whatever the chunks, bad bytes, byte order marks, empty
 * pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "read_text/read_text.c"
#include "adapter_kit.h"

/* Feeds a file as the host does: a chunk that is not consumed at all is presented again with twice
 * as much. */
static struct kit_emit *read_file(const char *data, size_t n, const char *separator, bool strip,
                                  size_t window)
{
    struct config config = { .separator = separator, .strip = strip };
    struct kit_emit *emit = kit_emit_create();
    struct sluice_error err = { .size = sizeof err };
    struct kit_plan plan;
    void *shared = NULL;
    void *worker = NULL;
    size_t at = 0;
    bool first = true;
    bool last = false;

    kit_plan_init(&plan, NULL, 0);
    kit_ok(read_text_stage.open(&kit_api, NULL, &config, &shared, &err), &err);
    kit_ok(read_text_stage.prepare(shared, &plan.plan, &err), &err);
    assert_int_equal(plan.n_added, 4);
    kit_ok(read_text_stage.worker_open(shared, &worker, &err), &err);
    while (!last) {
        size_t size = window < n - at ? window : n - at;
        char *copy = calloc(1, size + SLUICE_PADDING);
        struct sluice_chunk chunk = { .size = sizeof chunk,
                                      .data = copy,
                                      .n = size,
                                      .offset = at,
                                      .uri = "books/a.txt",
                                      .consumed = size };
        memcpy(copy, data + at, size);
        last = at + size == n;
        chunk.flags = (first ? SLUICE_CHUNK_FIRST : 0) | (last ? SLUICE_CHUNK_LAST : 0);
        kit_ok(read_text_stage.read(worker, &chunk, &emit->emit, &err), &err);
        assert_true(chunk.consumed <= size && (!last || chunk.consumed == size));
        window = chunk.consumed == 0 ? window * 2 : window;
        at += chunk.consumed;
        first = false;
        free(copy);
    }
    read_text_stage.worker_close(worker);
    read_text_stage.close(shared);
    return emit;
}

/* "begin-end id text|" of each document */
static void flatten(const struct kit_emit *emit, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t b = 0; b < emit->n_batches; b++) {
        struct ArrowArray *const *columns = emit->batches[b].children;
        for (int64_t k = 0; k < emit->batches[b].length; k++) {
            size_t n, m;
            const char *text = sluice_text(columns[0], k, &n);
            const char *id = sluice_text(columns[1], k, &m);
            used +=
                (size_t)snprintf(out + used, size - used, "%llu-%llu %.*s %.*s|",
                                 (unsigned long long)((const uint64_t *)columns[2]->buffers[1])[k],
                                 (unsigned long long)((const uint64_t *)columns[3]->buffers[1])[k],
                                 (int)m, id, (int)n, text);
        }
    }
    for (uint32_t k = 0; k < emit->n_bad; k++) {
        used += (size_t)snprintf(out + used, size - used, "BAD %llu-%llu %s|",
                                 (unsigned long long)emit->bad[k].begin,
                                 (unsigned long long)emit->bad[k].end, emit->bad[k].reason);
    }
}

static void check(const char *data, size_t n, const char *separator, bool strip,
                  const char *expected)
{
    char text[2000];

    for (size_t window = 1; window < n + 3; window++) {
        struct kit_emit *emit = read_file(data, n, separator, strip, window);
        flatten(emit, text, sizeof text);
        assert_string_equal(text, expected);
        kit_emit_destroy(emit);
    }
}

static void test_whole_files(void **state)
{
    (void)state;
    check("a b\n", 4, "", false, "0-4 books/a.txt a b\n|");
    check(" a b\n", 5, "", true, "0-5 books/a.txt a b|");
    check("", 0, "", false, "");
    check(" \n", 2, "", true, "");
    check("\xef\xbb\xbfx", 4, "", false, "3-4 books/a.txt x|");
    check("\xef\xbb\xbf", 3, "", false, "");
    check("\xef\xbb", 2, "", false, "BAD 0-2 invalid_utf8|");
    check("ok\xff", 3, "", false, "BAD 0-3 invalid_utf8|");
    check("a\0b", 3, "", false, "0-3 books/a.txt a|"); /* printed to the NUL */
}

static void test_separators(void **state)
{
    (void)state;
    check("one\n\n\ntwo\n\n", 11, "\n\n", false, "0-3 books/a.txt:0 one|5-9 books/a.txt:5 \ntwo|");
    check("one\n\n\ntwo\n\n", 11, "\n\n", true, "0-3 books/a.txt:0 one|5-9 books/a.txt:5 two|");
    check("---a---", 7, "---", false, "3-4 books/a.txt:3 a|");
    check("\xef\xbb\xbf--x--y\xc3--z", 13, "--", false,
          "5-6 books/a.txt:5 x|12-13 books/a.txt:12 z|BAD 8-10 invalid_utf8|");
    check("aXbXc", 5, "X", false, "0-1 books/a.txt:0 a|2-3 books/a.txt:2 b|4-5 books/a.txt:4 c|");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole_files),
                                        cmocka_unit_test(test_separators) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
