/* Tests of write_megatron: what it writes is read back by the checking reader; sequences, types,
 * shards, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write_megatron/write_megatron.c"
#include "adapter_kit.h"

#define ROWS 5

struct run {
    void *shared, *worker;
    struct kit_plan plan;
    struct kit_emit *emit;
    struct sluice_error err;
};

static sluice_status start(struct run *run, const struct config *config,
                           const struct kit_column *columns, uint32_t n)
{
    sluice_status status;

    memset(run, 0, sizeof *run);
    run->err.size = sizeof run->err;
    run->emit = kit_emit_create();
    kit_plan_init(&run->plan, columns, n);
    kit_ok(write_megatron_stage.open(&kit_api, NULL, config, &run->shared, &run->err), &run->err);
    status = write_megatron_stage.prepare(run->shared, &run->plan.plan, &run->err);
    if (status == SLUICE_OK) {
        kit_ok(write_megatron_stage.worker_open(run->shared, &run->worker, &run->err), &run->err);
    }
    return status;
}

static void stop(struct run *run)
{
    if (run->worker != NULL) {
        write_megatron_stage.worker_close(run->worker);
    }
    write_megatron_stage.close(run->shared);
    kit_emit_destroy(run->emit);
}

static const uint32_t tokens[] = { 1, 2, 3, 9, 4, 5, 6, 9, 300, 65535, 7, 8, 9 };
static const uint32_t lengths[ROWS] = { 4, 4, 0, 2, 3 };

/* tokens, segments, padding: 9 is the padding */
static struct ArrowArray input(bool packed)
{
    static const int32_t segments[] = { 2, 1, 3, 1, 1, 2 };
    static const uint32_t segment_lengths[ROWS] = { 2, 1, 0, 2, 1 };
    static const int32_t padding[ROWS] = { 1, 1, 0, 0, 1 };
    struct ArrowArray arrays[2] = { kit_lists(tokens, 4, lengths, ROWS),
                                    packed ? kit_lists(segments, 4, segment_lengths, ROWS)
                                           : kit_fixed(padding, 4, ROWS) };

    return kit_input(arrays, 2, ROWS);
}

static void feed(struct run *run, const struct ArrowArray *array, int64_t size)
{
    uint32_t rows[ROWS];

    for (int64_t k = 0; k < ROWS; k += size) {
        struct sluice_batch batch = kit_select(array, rows, k, k + size < ROWS ? k + size : ROWS);
        kit_ok(write_megatron_stage.process(run->worker, &batch, &run->emit->emit, &run->err),
               &run->err);
    }
    kit_ok(write_megatron_stage.flush(run->worker, &run->emit->emit, &run->err), &run->err);
}

static struct megatron_view view_of(const struct run *run, uint32_t ordinal)
{
    struct megatron_view view;
    struct sluice_error err = { .size = sizeof err };

    kit_ok(megatron_view_open(run->emit->files[OUTPUT_IDX][ordinal].data,
                              (size_t)run->emit->files[OUTPUT_IDX][ordinal].size,
                              run->emit->files[OUTPUT_BIN][ordinal].size, &view, &err),
           &err);
    return view;
}

static const struct kit_column packed[] = { { "tokens", "list<uint32>", "vocab_size=65536" },
                                            { "segments", "list<int32>", NULL },
                                            { "padding", "int32", NULL } };

static void test_rows(void **state)
{
    struct config config = { .shard_size = 1 << 30 };
    struct ArrowArray array = input(false);
    struct run run;
    struct megatron_view view;

    (void)state;
    kit_ok(start(&run, &config, packed, 3), &run.err);
    assert_string_equal(run.plan.outputs[0].suffix, ".bin");
    assert_string_equal(run.plan.outputs[1].suffix, ".idx");
    assert_string_equal(run.plan.notes[0].json, "\"int32\"");
    assert_int_equal(run.plan.n_needs, 2);
    feed(&run, &array, 2);
    view = view_of(&run, 0);
    assert_int_equal(view.dtype, MEGATRON_I32);
    assert_int_equal(view.sequences, ROWS);
    assert_int_equal(view.documents, ROWS);
    for (uint64_t k = 0; k < ROWS; k++) {
        uint32_t n;
        uint64_t offset;
        megatron_view_sequence(&view, k, &n, &offset);
        assert_int_equal(n, lengths[k]);
    }
    assert_memory_equal(run.emit->files[OUTPUT_BIN][0].data, tokens, sizeof tokens);
    assert_int_equal(kit_sum(run.emit, "tokens"), 10);
    assert_int_equal(kit_sum(run.emit, "padding"), 3);
    assert_int_equal(kit_sum(run.emit, "sequences"), ROWS);
    array.release(&array);
    stop(&run);
}

static void test_documents(void **state)
{
    struct config config = { .shard_size = 1 << 30,
                             .sequences = SEQUENCES_DOCUMENTS,
                             .dtype = DTYPE_UINT16 };
    static const uint32_t expected[] = { 2, 1, 3, 1, 1, 2 };
    static const uint16_t bin[] = { 1, 2, 3, 4, 5, 6, 300, 65535, 7, 8 };
    struct ArrowArray array = input(true);
    struct run run;
    struct megatron_view view;

    (void)state;
    kit_ok(start(&run, &config, packed, 3), &run.err);
    feed(&run, &array, 1);
    view = view_of(&run, 0);
    assert_int_equal(view.dtype, MEGATRON_U16);
    assert_int_equal(view.sequences, 6);
    assert_int_equal(view.documents, 6);
    for (uint64_t k = 0; k < 6; k++) {
        uint32_t n;
        uint64_t offset;
        megatron_view_sequence(&view, k, &n, &offset);
        assert_int_equal(n, expected[k]);
    }
    assert_int_equal(run.emit->files[OUTPUT_BIN][0].size, sizeof bin);
    assert_memory_equal(run.emit->files[OUTPUT_BIN][0].data, bin, sizeof bin);
    assert_int_equal(kit_sum(run.emit, "tokens"), 10);
    assert_int_equal(kit_sum(run.emit, "documents"), 6);
    array.release(&array);
    stop(&run);
}

static void test_shards_do_not_depend_on_batches(void **state)
{
    struct config config = { .shard_size = 24 };
    struct ArrowArray array = input(false);

    (void)state;
    for (int64_t size = 1; size <= ROWS; size++) {
        struct run run;
        kit_ok(start(&run, &config, packed, 3), &run.err);
        feed(&run, &array, size);
        assert_int_equal(run.emit->ordinal, 1);
        assert_int_equal(run.emit->file_rows[0], 2);
        assert_int_equal(view_of(&run, 0).tokens, 8);
        assert_int_equal(view_of(&run, 1).sequences, 3);
        assert_int_equal(view_of(&run, 1).tokens, 5);
        assert_int_equal(kit_sum(run.emit, "tokens"), 10);
        assert_int_equal(kit_sum(run.emit, "sequences"), ROWS);
        stop(&run);
    }
    array.release(&array);
}

static void test_nothing_written_without_tokens(void **state)
{
    static const uint32_t none[2] = { 0, 0 };
    static const struct kit_column plain[] = { { "tokens", "list<uint32>", "vocab_size=10" } };
    struct config config = { .shard_size = 1 << 30 };
    struct ArrowArray column = kit_lists(tokens, 4, none, 2);
    struct ArrowArray array = kit_input(&column, 1, 2);
    struct sluice_batch batch = { .size = sizeof batch, .array = &array, .n = 2 };
    struct run run;

    (void)state;
    kit_ok(start(&run, &config, plain, 1), &run.err);
    kit_ok(write_megatron_stage.process(run.worker, &batch, &run.emit->emit, &run.err), &run.err);
    kit_ok(write_megatron_stage.flush(run.worker, &run.emit->emit, &run.err), &run.err);
    assert_int_equal(run.emit->files[OUTPUT_IDX][0].size, 0);
    array.release(&array);
    stop(&run);
}

static void test_types(void **state)
{
    static const struct {
        int32_t dtype;
        const char *metadata;
        sluice_status status;
        const char *note;
    } cases[] = {
        { DTYPE_AUTO, NULL, SLUICE_E_CONFIG, NULL },
        { DTYPE_AUTO, "vocab_size=x", SLUICE_E_CONFIG, NULL },
        { DTYPE_AUTO, "vocab_size=65499", SLUICE_OK, "\"uint16\"" },
        { DTYPE_AUTO, "vocab_size=65500", SLUICE_OK, "\"int32\"" },
        { DTYPE_UINT16, "vocab_size=65536", SLUICE_OK, "\"uint16\"" },
        { DTYPE_UINT16, "vocab_size=65537", SLUICE_E_CONFIG, NULL },
        { DTYPE_UINT16, NULL, SLUICE_OK, "\"uint16\"" },
        { DTYPE_INT32, NULL, SLUICE_OK, "\"int32\"" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct kit_column plain[] = { { "tokens", "list<uint32>", cases[k].metadata } };
        struct config config = { .shard_size = 1 << 30, .dtype = cases[k].dtype };
        struct run run;
        assert_int_equal(start(&run, &config, plain, 1), cases[k].status);
        if (cases[k].note != NULL) {
            assert_string_equal(run.plan.notes[0].json, cases[k].note);
        } else {
            assert_string_equal(run.err.field, "dtype");
        }
        stop(&run);
    }
}

static void test_ids_and_segments_are_checked(void **state)
{
    static const struct kit_column small[] = { { "tokens", "list<uint32>", "vocab_size=300" },
                                               { "segments", "list<int32>", NULL },
                                               { "padding", "int32", NULL } };
    static const uint32_t one[] = { 3 };
    static const uint32_t two[] = { 2 };
    static const int32_t segments[] = { 2, 2 };
    struct config config = { .shard_size = 1 << 30 };
    struct ArrowArray array = input(false);
    struct sluice_batch batch = { .size = sizeof batch, .array = &array, .n = ROWS };
    struct ArrowArray arrays[2];
    struct run run;

    (void)state;
    kit_ok(start(&run, &config, small, 3), &run.err);
    assert_int_equal(write_megatron_stage.process(run.worker, &batch, &run.emit->emit, &run.err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(run.err.message, "300"));
    array.release(&array);
    stop(&run);
    config.sequences = SEQUENCES_DOCUMENTS;
    arrays[0] = kit_lists(tokens, 4, one, 1);
    arrays[1] = kit_lists(segments, 4, two, 1);
    array = kit_input(arrays, 2, 1);
    batch.n = 1;
    kit_ok(start(&run, &config, small, 3), &run.err);
    assert_int_equal(write_megatron_stage.process(run.worker, &batch, &run.emit->emit, &run.err),
                     SLUICE_E_DATA);
    assert_string_equal(run.err.field, "segments");
    array.release(&array);
    stop(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_shards_do_not_depend_on_batches),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_nothing_written_without_tokens),
        cmocka_unit_test(test_ids_and_segments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
