/* Tests of write_jsonl: every type, splicing, escapes against a naive version, floats that read
 * back, files that don't depend on batches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write_jsonl/write_jsonl.c"
#include "adapter_kit.h"

struct run {
    void *shared, *worker;
    struct kit_plan plan;
    struct kit_emit *emit;
    struct sluice_error err;
};

static struct config defaults(void)
{
    return (struct config){ .path = "/out", .compression = 2, .shard_size = 1 << 28 };
}

static sluice_status start(struct run *run, const struct config *config,
                           const struct kit_column *columns, uint32_t n)
{
    sluice_status status;

    memset(run, 0, sizeof *run);
    run->err.size = sizeof run->err;
    kit_plan_init(&run->plan, columns, n);
    run->emit = kit_emit_create();
    kit_ok(write_jsonl_stage.open(&kit_api, NULL, config, &run->shared, &run->err), &run->err);
    status = write_jsonl_stage.prepare(run->shared, &run->plan.plan, &run->err);
    if (status == SLUICE_OK) {
        kit_ok(write_jsonl_stage.worker_open(run->shared, &run->worker, &run->err), &run->err);
    }
    return status;
}

static void stop(struct run *run)
{
    if (run->worker != NULL) {
        write_jsonl_stage.worker_close(run->worker);
    }
    write_jsonl_stage.close(run->shared);
    kit_emit_destroy(run->emit);
}

static void write_all(struct run *run, const struct ArrowArray *array)
{
    struct sluice_batch batch = { .size = sizeof batch, .array = array, .n = array->length };

    kit_ok(write_jsonl_stage.process(run->worker, &batch, &run->emit->emit, &run->err), &run->err);
}

static void assert_file(const struct run *run, uint32_t ordinal, const char *expected)
{
    const struct sluice_bytes *file = &run->emit->files[0][ordinal];

    assert_int_equal(file->size, strlen(expected));
    assert_memory_equal(file->data, expected, file->size);
}

static void test_every_type(void **state)
{
    static const struct kit_column columns[] = {
        { "score", "float64?", NULL },
        { "text", "utf8?", NULL },
        { "metadata", "json?", NULL },
        { "raw", "binary", NULL },
        { "id", "utf8", NULL },
        { "ok", "bool", NULL },
        { "n", "int64", NULL },
        { "words", "spans", NULL },
        { "tokens", "list<uint32>", NULL },
        { "small", "int8", NULL },
        { "f", "float32", NULL },
        { "key", "fixed[2]", NULL },
        { "_row", "uint64", NULL },
        { "extra", "json", NULL },
    };
    static const char *const text[] = { "a\"b\\\n\t\x01\xc3\xa9/", NULL };
    static const char *const metadata[] = {
        "{ \"url\" : \"x,}\\\"\",\n\"t\\u0065xt\":1, \"o\": {\"id\":[1,2,{}]} ,\"id\":0}", "[1]"
    };
    static const char *const raw[] = { "fo", "" };
    static const char *const id[] = { "1", "2" };
    static const char *const extra[] = { "[1,\r\n2]", "" };
    const double score[] = { 0.1, INFINITY };
    const uint8_t ok[] = { 1 };
    const int64_t n[] = { INT64_MIN, 7 };
    const uint64_t spans[] = { UINT64_MAX, 3 };
    const uint32_t span_lengths[] = { 2, 0 };
    const uint32_t tokens[] = { 4294967295u, 0, 5 };
    const uint32_t token_lengths[] = { 1, 2 };
    const int8_t small[] = { -128, 0 };
    const float f[] = { 0.1f, 3 };
    struct ArrowArray arrays[] = {
        kit_texts(text, NULL, 2),
        kit_texts(id, NULL, 2),
        kit_fixed(score, 8, 2),
        kit_texts(metadata, NULL, 2),
        kit_texts(raw, NULL, 2),
        kit_fixed(ok, 1, 1),
        kit_fixed(n, 8, 2),
        kit_lists(spans, 8, span_lengths, 2),
        kit_lists(tokens, 4, token_lengths, 2),
        kit_fixed(small, 1, 2),
        kit_fixed(f, 4, 2),
        kit_fixed("\x00\x01\xff\xfe", 2, 2),
        kit_texts(extra, NULL, 2),
    };
    struct config config = defaults();
    struct run run;
    struct ArrowArray input = kit_input(arrays, 13, 2);

    (void)state;
    kit_ok(start(&run, &config, columns, 14), &run.err);
    assert_string_equal(run.plan.needs[0], "text");
    assert_string_equal(run.plan.needs[1], "id");
    assert_string_equal(run.plan.needs[2], "score");
    assert_int_equal(run.plan.n_needs, 13);
    assert_string_equal(run.plan.outputs[0].suffix, ".jsonl");
    assert_string_equal(run.plan.outputs[0].codec, "zstd");
    write_all(&run, &input);
    assert_file(&run, 0,
                "{\"text\":\"a\\\"b\\\\\\n\\t\\u0001\xc3\xa9/\",\"id\":\"1\",\"score\":0.1,\"url\" "
                ": \"x,}\\\"\",\"o\": {\"id\":[1,2,{}]},\"raw\":\"Zm8=\",\"ok\":true,"
                "\"n\":-9223372036854775808,\"words\":[18446744073709551615,3],\"tokens\":["
                "4294967295],\"small\":-128,\"f\":0.1,\"key\":\"AAE=\",\"extra\":[1,  2]}\n"
                "{\"id\":\"2\",\"score\":null,\"metadata\":[1],\"raw\":\"\",\"ok\":false,\"n\":7,"
                "\"words\":[],\"tokens\":[0,5],\"small\":0,\"f\":3.0,\"key\":\"//4=\","
                "\"extra\":null}\n");
    assert_int_equal(kit_sum(run.emit, "documents"), 2);
    input.release(&input);
    stop(&run);
}

static void test_columns_chosen(void **state)
{
    static const struct kit_column columns[] = { { "text", "utf8", NULL },
                                                 { "metadata", "json?", NULL },
                                                 { "id", "utf8", NULL },
                                                 { "_row", "uint64", NULL } };
    static const char *const names[] = { "metadata", "id", "metadata" };
    static const char *const hidden[] = { "_row" };
    static const char *const absent[] = { "txt" };
    static const char *const metadata[] = { "{}", "{\"id\":1}", NULL, "{\"a\":1}" };
    static const char *const id[] = { "p", "q", "r", "s" };
    struct ArrowArray arrays[] = { kit_texts(metadata, NULL, 4), kit_texts(id, NULL, 4) };
    struct ArrowArray input = kit_input(arrays, 2, 4);
    struct config config = defaults();
    struct run run;

    (void)state;
    config.columns = (struct sluice_list){ names, 3 };
    kit_ok(start(&run, &config, columns, 4), &run.err);
    write_all(&run, &input);
    assert_file(&run, 0,
                "{\"id\":\"p\"}\n{\"id\":\"q\"}\n{\"id\":\"r\"}\n{\"a\":1,\"id\":\"s\"}\n");
    input.release(&input);
    stop(&run);
    config.columns = (struct sluice_list){ absent, 1 };
    assert_int_equal(start(&run, &config, columns, 4), SLUICE_E_SCHEMA);
    stop(&run);
    config.columns = (struct sluice_list){ hidden, 1 };
    assert_int_equal(start(&run, &config, columns, 4), SLUICE_E_CONFIG);
    assert_string_equal(run.err.field, "columns");
    stop(&run);
}

static void test_types_refused(void **state)
{
    static const char *const types[] = { "struct<a:int8>", "list<list<int8>>", "list<struct<>>?",
                                         "date32" };
    struct config config = defaults();

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        const struct kit_column columns[] = { { "text", "utf8", NULL }, { "odd", types[k], NULL } };
        struct run run;
        assert_int_equal(start(&run, &config, columns, 2), SLUICE_E_SCHEMA);
        assert_string_equal(run.err.field, "odd");
        stop(&run);
    }
}

static void naive_string(struct sluice_bytes *out, const char *text, size_t n)
{
    char piece[8];

    sluice_bytes_add(out, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *at = c == 0 ? NULL : strchr("\"\"\\\\\bb\ff\nn\rr\tt", c);
        if (c == '"' || c == '\\' || (c < 0x20 && at != NULL)) {
            snprintf(piece, sizeof piece, "\\%c", c == '"' || c == '\\' ? c : at[1]);
        } else if (c < 0x20) {
            snprintf(piece, sizeof piece, "\\u%04x", c);
        } else {
            piece[0] = (char)c;
            piece[1] = '\0';
        }
        sluice_bytes_add(out, piece, strlen(piece));
    }
    sluice_bytes_add(out, "\"", 1);
}

static void test_strings_equal_naive(void **state)
{
    uint64_t seed = 1;
    struct sluice_bytes fast = { 0 };
    struct sluice_bytes slow = { 0 };

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = kit_mix(&seed) % 100;
        unsigned rare = (unsigned)(kit_mix(&seed) % 40) + 1;
        char *text = malloc(n > 0 ? n : 1); /* exact: reads behind it are found */
        for (size_t i = 0; i < n; i++) {
            text[i] = kit_mix(&seed) % rare == 0 ? "\"\\\n\x01\x1f\t\0\b"[kit_mix(&seed) % 8]
                                                 : (char)(0x20 + kit_mix(&seed) % 0xe0);
        }
        fast.size = slow.size = 0;
        if (round % 100 == 0) {
            sluice_bytes_free(&fast);
        }
        assert_true(jsonl_string(&fast, text, n));
        naive_string(&slow, text, n);
        assert_int_equal(fast.size, slow.size);
        assert_memory_equal(fast.data, slow.data, slow.size);
        free(text);
    }
    sluice_bytes_free(&fast);
    sluice_bytes_free(&slow);
}

static void test_floats(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = { { 0, "0.0" },      { -0.0, "-0.0" },     { 1, "1.0" },        { 0.1, "0.1" },
                  { 1e22, "1e+22" }, { 5e-324, "5e-324" }, { 1e300, "1e+300" }, { NAN, "null" } };
    uint64_t seed = 3;
    char text[JSONL_NUMBER_MAX + 1];

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        text[jsonl_double(cases[k].value, text)] = '\0';
        assert_string_equal(text, cases[k].text);
    }
    for (int round = 0; round < 200000; round++) {
        uint64_t bits = kit_mix(&seed);
        uint32_t low = (uint32_t)bits;
        double value;
        float narrow;
        memcpy(&value, &bits, 8);
        memcpy(&narrow, &low, 4);
        text[jsonl_double(value, text)] = '\0';
        assert_true(isfinite(value) ? strtod(text, NULL) == value : strcmp(text, "null") == 0);
        text[jsonl_float(narrow, text)] = '\0';
        assert_true(isfinite(narrow) ? strtof(text, NULL) == narrow : strcmp(text, "null") == 0);
    }
}

static void test_base64(void **state)
{
    static const char *const cases[] = { "",       "\"\"",         "f",     "\"Zg==\"",
                                         "fo",     "\"Zm8=\"",     "foo",   "\"Zm9v\"",
                                         "foob",   "\"Zm9vYg==\"", "fooba", "\"Zm9vYmE=\"",
                                         "foobar", "\"Zm9vYmFy\"" };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k += 2) {
        struct sluice_bytes out = { 0 };
        assert_true(jsonl_base64(&out, cases[k], strlen(cases[k])));
        assert_int_equal(out.size, strlen(cases[k + 1]));
        assert_memory_equal(out.data, cases[k + 1], out.size);
        sluice_bytes_free(&out);
    }
}

/* Whatever is cut off, nothing is read behind the end, and either members or nothing come out. */
static void test_members_malformed(void **state)
{
    static const char *const whole[] = {
        "{\"a\":[1,{\"b\":\"c\\\"\"}],\"\\uD83D\\ude00\":\"x\" , \"d\\\\\":null}",
        "{\"k\\",
        "{\"k\":",
        "{\"k\" 1}",
        "{\"k\":1,}",
        "[1]",
        "{\"a\":1}}"
    };
    static const char *const names[] = { "\xf0\x9f\x98\x80", "d\\" };
    struct sluice_bytes out = { 0 };
    size_t written;

    (void)state;
    assert_int_equal(jsonl_members(&out, whole[0], strlen(whole[0]), names, 2, 1, &written), 1);
    assert_int_equal(written, 1);
    assert_int_equal(out.size, strlen(",\"a\":[1,{\"b\":\"c\\\"\"}]"));
    for (size_t k = 0; k < sizeof whole / sizeof whole[0]; k++) {
        for (size_t n = 0; n < strlen(whole[k]) + (k > 0); n++) {
            char *copy = malloc(n > 0 ? n : 1);
            memcpy(copy, whole[k], n);
            out.size = 0;
            assert_int_equal(jsonl_members(&out, copy, n, names, 2, 0, &written),
                             k == 6 && n == 7 ? 1 : -1);
            assert_true(out.size == (k == 6 && n == 7 ? 5 : 0));
            free(copy);
        }
    }
    sluice_bytes_free(&out);
}

static void test_files_do_not_depend_on_batches(void **state)
{
    static const struct kit_column columns[] = { { "text", "utf8", NULL } };
    static const int64_t sizes[] = { 1, 3, 7, 500 };
    const char *texts[500];
    char storage[500][40];
    struct config config = defaults();
    struct run runs[4];
    struct ArrowArray column;
    struct ArrowArray input;
    uint32_t rows[500];

    (void)state;
    for (int k = 0; k < 500; k++) {
        snprintf(storage[k], sizeof storage[k], "document %d %.*s", k, k % 17,
                 "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n");
        texts[k] = storage[k];
    }
    column = kit_texts(texts, NULL, 500);
    input = kit_input(&column, 1, 500);
    config.shard_size = 1000;
    for (int s = 0; s < 4; s++) {
        kit_ok(start(&runs[s], &config, columns, 1), &runs[s].err);
        for (int64_t k = 0; k < 500; k += sizes[s]) {
            struct sluice_batch batch =
                kit_select(&input, rows, k, k + sizes[s] < 500 ? k + sizes[s] : 500);
            kit_ok(write_jsonl_stage.process(runs[s].worker, &batch, &runs[s].emit->emit,
                                             &runs[s].err),
                   &runs[s].err);
        }
        assert_true(runs[s].emit->ordinal > 15);
        assert_int_equal(runs[s].emit->ordinal, runs[0].emit->ordinal);
        for (uint32_t k = 0; k <= runs[0].emit->ordinal; k++) {
            const struct sluice_bytes *file = &runs[s].emit->files[0][k];
            assert_int_equal(runs[s].emit->file_rows[k], runs[0].emit->file_rows[k]);
            assert_int_equal(file->size, runs[0].emit->files[0][k].size);
            assert_memory_equal(file->data, runs[0].emit->files[0][k].data, file->size);
            assert_true(k == runs[0].emit->ordinal || (file->size >= 1000 && file->size < 1080));
        }
    }
    for (int s = 0; s < 4; s++) {
        stop(&runs[s]);
    }
    input.release(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_columns_chosen),
        cmocka_unit_test(test_types_refused),
        cmocka_unit_test(test_strings_equal_naive),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_members_malformed),
        cmocka_unit_test(test_files_do_not_depend_on_batches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
