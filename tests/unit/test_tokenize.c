/* Tests of the stage tokenize on the small vocabularies of tests/data/tokenize: ids are those of
 * bpe.h (whose tests compare them with the reference encoders) with the edges added, rows keep
 * their places, options are refused with the special tokens named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tokenize/tokenize.c"
#include "tokenize/tokenize_rows.c"
#include "adapter_kit.h"
#include "bpe_kit.h"

static struct tokenize_config defaults(void)
{
    return (struct tokenize_config){
        .tokenizer = "/vocab/tiny \"1\".json", .over = "text", .eos = "none", .bos = "none"
    };
}

struct run {
    void *shared, *worker;
    struct kit_plan plan;
    struct kit_emit *emit;
    struct sluice_error err;
    struct kit_files files[2];
};

static sluice_status start(struct run *run, const char *file, const struct tokenize_config *config)
{
    static const struct kit_column columns[] = { { "text", "utf8?", NULL },
                                                 { "spans", "json?", NULL },
                                                 { "pairs", "list<uint32>", NULL },
                                                 { "flags", "list<uint8>", NULL } };
    sluice_status status;

    memset(run, 0, sizeof *run);
    run->err.size = sizeof run->err;
    run->emit = kit_emit_create();
    run->files[0].path = "/vocab/tiny \"1\".json";
    run->files[0].data = bpe_kit_file(file, &run->files[0].size);
    kit_plan_init(&run->plan, columns, 4);
    status = tokenize_stage.open(&kit_api, (struct sluice_host *)(void *)run->files, config,
                                 &run->shared, &run->err);
    if (status == SLUICE_OK) {
        kit_ok(tokenize_stage.prepare(run->shared, &run->plan.plan, &run->err), &run->err);
        kit_ok(tokenize_stage.worker_open(run->shared, &run->worker, &run->err), &run->err);
    }
    return status;
}

static void stop(struct run *run)
{
    if (run->worker != NULL) {
        tokenize_stage.worker_close(run->worker);
    }
    if (run->shared != NULL) {
        tokenize_stage.close(run->shared);
    }
    free((void *)(uintptr_t)run->files[0].data);
    kit_emit_destroy(run->emit);
}

static const char *const texts[] = { "Hello world, it's 12345 o'clock", NULL, "",
                                     "<|endoftext|> and caf\xc3\xa9", "a" };
#define TEXTS 5

static void check(const char *file, const char *eos, const char *bos, int32_t specials)
{
    struct tokenize_config config = defaults();
    struct ArrowArray column = kit_texts(texts, NULL, TEXTS);
    struct ArrowArray input = kit_input(&column, 1, TEXTS);
    struct sluice_batch batch = { .size = sizeof batch, .array = &input, .n = TEXTS };
    struct run run;
    int64_t total = 0;
    const struct tokenize_stage *stage;

    config.eos = eos;
    config.bos = bos;
    config.specials = specials;
    kit_ok(start(&run, file, &config), &run.err);
    stage = run.shared;
    kit_ok(tokenize_stage.process(run.worker, &batch, &run.emit->emit, &run.err), &run.err);
    assert_int_equal(run.emit->n_batches, 1);
    assert_int_equal(run.emit->batches[0].length, TEXTS);
    for (int64_t k = 0; k < TEXTS; k++) {
        uint32_t ids[300];
        size_t n = 0;
        size_t n_found;
        const uint32_t *found = sluice_list_u32(run.emit->batches[0].children[0], k, &n_found);
        struct bpe_worker *worker;
        if (texts[k] != NULL && texts[k][0] != '\0') {
            size_t begin = strcmp(bos, "none") != 0;
            kit_ok(bpe_worker_create(stage->bpe, 0, &worker, &run.err), &run.err);
            kit_ok(bpe_encode(worker, texts[k], strlen(texts[k]), ids + begin, 290, &n, &run.err),
                   &run.err);
            bpe_worker_destroy(worker);
            ids[0] = begin > 0 ? stage->bos.id : ids[0];
            n += begin;
            if (strcmp(eos, "none") != 0) {
                ids[n++] = stage->eos.id;
            }
        }
        assert_int_equal(n_found, n);
        assert_memory_equal(found, ids, n * sizeof ids[0]);
        total += (int64_t)n;
    }
    assert_int_equal(kit_sum(run.emit, "tokens"), total);
    assert_int_equal(kit_sum(run.emit, "documents"), TEXTS);
    input.release(&input);
    stop(&run);
}

static void test_rows(void **state)
{
    (void)state;
    check("tiny_gpt2.json", "none", "none", 0);
    check("tiny_gpt2.json", "default", "none", 0);
    check("tiny_gpt2.json", "true", "<|endoftext|>", 1);
    check("tiny_qwen.json", "<|endoftext|>", "none", 0);
}

static void test_facts(void **state)
{
    struct tokenize_config config = defaults();
    char expected[200];
    uint32_t id;
    struct run run;
    const struct tokenize_stage *stage;

    (void)state;
    config.eos = "default";
    kit_ok(start(&run, "tiny_gpt2.json", &config), &run.err);
    stage = run.shared;
    assert_int_equal(bpe_special_id(stage->bpe, "<|endoftext|>", &id), SLUICE_OK);
    assert_int_equal(strlen(stage->hash), 32);
    snprintf(expected, sizeof expected, "vocab_size=%u\ntokenizer=%s\neos=%u",
             bpe_vocab_size(stage->bpe), stage->hash, id);
    assert_int_equal(run.plan.n_added, 1);
    assert_string_equal(run.plan.added[0].name, "tokens");
    assert_string_equal(run.plan.added[0].type, "list<uint32>");
    assert_memory_equal(run.plan.added[0].metadata, expected, strlen(expected));
    assert_int_equal(run.plan.n_notes, 4);
    snprintf(expected, sizeof expected, "{\"file\":\"tiny \\\"1\\\".json\",\"xxh3\":\"%s\"}",
             stage->hash);
    assert_string_equal(run.plan.notes[0].json, expected);
    snprintf(expected, sizeof expected, "{\"id\":%u,\"added\":true}", id);
    assert_string_equal(run.plan.notes[2].key, "eos");
    assert_string_equal(run.plan.notes[2].json, expected);
    stop(&run);
}

static void test_edges_refused(void **state)
{
    struct tokenize_config config = defaults();
    struct run run;

    (void)state;
    config.eos = "<|nothing|>";
    assert_int_equal(start(&run, "tiny_gpt2.json", &config), SLUICE_E_CONFIG);
    assert_string_equal(run.err.field, "eos");
    assert_non_null(strstr(run.err.message, "<|endoftext|>"));
    stop(&run);
    config = defaults();
    config.tokenizer = "/vocab/absent";
    assert_int_equal(start(&run, "tiny_gpt2.json", &config), SLUICE_E_IO);
    stop(&run);
    config = defaults();
    assert_int_equal(start(&run, "tiny.tiktoken", &config),
                     SLUICE_E_CONFIG); /* not known, and no pattern is given */
    stop(&run);
    config.pattern = "\\S+|\\s+";
    assert_int_equal(start(&run, "tiny.tiktoken", &config), SLUICE_OK);
    stop(&run);
    config.eos = "default";
    assert_int_equal(start(&run, "tiny.tiktoken", &config), SLUICE_E_CONFIG);
    assert_string_equal(run.err.field, "eos");
    stop(&run);
}

static void test_specials_refused(void **state)
{
    struct tokenize_config config = defaults();
    struct ArrowArray column = kit_texts(texts, NULL, TEXTS);
    struct ArrowArray input = kit_input(&column, 1, TEXTS);
    struct sluice_batch batch = { .size = sizeof batch, .array = &input, .n = TEXTS };
    struct run run;

    (void)state;
    config.specials = 2;
    kit_ok(start(&run, "tiny_gpt2.json", &config), &run.err);
    assert_int_equal(tokenize_stage.process(run.worker, &batch, &run.emit->emit, &run.err),
                     SLUICE_E_DATA);
    assert_int_equal(run.err.row, 3);
    assert_int_equal(run.emit->n_batches, 0);
    input.release(&input);
    stop(&run);
}

/* One text and what is trained of it, in each form; bos and eos around it. Returns the mask as
 * "0110", and checks the offsets. */
static void check_loss(const char *column, struct ArrowArray spans, int32_t unit, int32_t rule,
                       const char *text, char mask[64])
{
    struct tokenize_config config = defaults();
    struct ArrowArray columns[2] = { kit_texts(&text, NULL, 1), spans };
    struct ArrowArray input = kit_input(columns, 2, 1);
    struct sluice_batch batch = { .size = sizeof batch, .array = &input, .n = 1 };
    const struct tokenize_stage *stage;
    struct run run;
    const struct ArrowArray *out;
    size_t n, n_mask, n_offsets, n_bytes;
    const uint32_t *ids, *offsets;
    const uint8_t *found;
    const char *bytes;

    config.eos = "default";
    config.bos = "<|endoftext|>";
    config.loss_spans = column;
    config.loss_unit = unit;
    config.loss_rule = rule;
    config.offsets = 1;
    kit_ok(start(&run, "tiny_gpt2.json", &config), &run.err);
    stage = run.shared;
    assert_int_equal(run.plan.n_added, 3);
    assert_string_equal(run.plan.added[1].name, "loss_mask");
    assert_string_equal(run.plan.added[2].name, "offsets");
    kit_ok(tokenize_stage.process(run.worker, &batch, &run.emit->emit, &run.err), &run.err);
    out = &run.emit->batches[0];
    ids = sluice_list_u32(out->children[0], 0, &n);
    found = sluice_list_u8(out->children[1], 0, &n_mask);
    offsets = sluice_list_u32(out->children[2], 0, &n_offsets);
    assert_int_equal(n, n_mask);
    assert_int_equal(n, n_offsets);
    assert_int_equal(offsets[n - 1], strlen(text));
    for (size_t k = 1; k + 1 < n; k++) {
        kit_ok(bpe_decode_token(stage->bpe, ids[k], &bytes, &n_bytes), &run.err);
        if (k == 1) { /* this vocabulary puts a space in front, which is none of the text's */
            assert_int_equal(bytes[0], ' ');
            bytes++;
            n_bytes--;
        }
        assert_int_equal(offsets[k + 1] - offsets[k], n_bytes);
        assert_memory_equal(text + offsets[k], bytes, n_bytes);
    }
    for (size_t k = 0; k < n; k++) {
        mask[k] = (char)('0' + found[k]);
    }
    mask[n] = '\0';
    input.release(&input);
    stop(&run);
}

/* What the mask must be by the tokens' bytes: trained are bytes begin to end of the text. */
static void expect_loss(const char *column, struct ArrowArray spans, int32_t unit, const char *text,
                        size_t begin, size_t end)
{
    char mask[64];
    char all[64];

    check_loss(column, spans, unit, 0, text, mask);
    {
        struct tokenize_config config = defaults();
        struct ArrowArray input = kit_texts(&text, NULL, 1);
        struct run run;
        uint32_t ids[64];
        uint64_t offsets[64];
        size_t n;
        kit_ok(start(&run, "tiny_gpt2.json", &config), &run.err);
        kit_ok(bpe_encode_offsets(((struct worker *)run.worker)->bpe, text, strlen(text), ids,
                                  offsets, 60, &n, &run.err),
               &run.err);
        all[0] = '0'; /* bos */
        for (size_t k = 0; k < n; k++) {
            all[k + 1] = (char)('0' + (offsets[k] >= begin && offsets[k] < end));
        }
        all[n + 1] = (char)('0' + (end == strlen(text))); /* eos */
        all[n + 2] = '\0';
        input.release(&input);
        stop(&run);
    }
    assert_string_equal(mask, all);
    assert_true(strlen(mask) > 6);
}

static void test_loss(void **state)
{
    static const char text[] = "caf\xc3\xa9 and tea\xe4\xb8\xad for two";
    static const uint32_t pairs[] = { 5, 12 };
    uint8_t flags[32] = { 0 };
    const uint32_t two = 2;
    const uint32_t length = sizeof text - 1 - 3; /* characters */
    const char *json = "[[5,12]]";
    const char *to_end = "[[9, 21]]";
    const char *bytes = "[[6,13]]";
    const char *none = NULL;
    char mask[64];

    (void)state;
    memset(flags + 5, 1, 7);
    expect_loss("spans", kit_texts(&json, NULL, 1), 0, text, 6, 13);
    expect_loss("spans", kit_texts(&bytes, NULL, 1), 1, text, 6, 13);
    expect_loss("pairs", kit_lists(pairs, 4, &two, 1), 0, text, 6, 13);
    expect_loss("flags", kit_lists(flags, 1, &length, 1), 0, text, 6, 13);
    expect_loss("spans", kit_texts(&to_end, NULL, 1), 0, text, 10, sizeof text - 1);
    check_loss("spans", kit_texts(&none, NULL, 1), 0, 2, text, mask); /* null: all but bos */
    assert_int_equal(strspn(mask + 1, "1"), strlen(mask) - 1);
    assert_int_equal(mask[0], '0');
}

static void test_loss_refused(void **state)
{
    const char *text[2] = { "tea", "two" };
    const char *json[2] = { "[[0,3]]", "[[0,4]]" };
    struct tokenize_config config = defaults();
    struct ArrowArray columns[2] = { kit_texts(text, NULL, 2), kit_texts(json, NULL, 2) };
    struct ArrowArray input = kit_input(columns, 2, 2);
    struct sluice_batch batch = { .size = sizeof batch, .array = &input, .n = 2 };
    struct run run;

    (void)state;
    config.loss_spans = "spans";
    kit_ok(start(&run, "tiny_gpt2.json", &config), &run.err);
    assert_int_equal(tokenize_stage.process(run.worker, &batch, &run.emit->emit, &run.err),
                     SLUICE_E_DATA);
    assert_int_equal(run.err.row, 1);
    assert_non_null(strstr(run.err.message, "the text has 3 characters"));
    assert_int_equal(run.emit->n_batches, 0);
    input.release(&input);
    stop(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_facts),
        cmocka_unit_test(test_edges_refused), cmocka_unit_test(test_specials_refused),
        cmocka_unit_test(test_loss),          cmocka_unit_test(test_loss_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
