/* Tests of the stage gate_check: counts add up over saved states, every threshold on both sides,
 * schema, baseline, required columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate/gate.c"
#include "adapter_kit.h"

static struct gate_config defaults(void)
{
    return (struct gate_config){ .rows_min = -1,
                                 .rows_max = -1,
                                 .pass_rate_min = -1,
                                 .pass_rate_max = -1,
                                 .rows_ratio_min = -1,
                                 .rows_ratio_max = -1 };
}

static const struct kit_column columns[] = { { "text", "utf8?", NULL },
                                             { "id", "utf8", NULL },
                                             { "score", "float64?", NULL },
                                             { "_row", "uint64", NULL } };

static const char manifest[] = "{\"format\":1,\"totals\":{\"rows\":40,\"bytes\":1},\"shards\":[]}";
static const char empty_manifest[] = "{\"totals\":{\"rows\":0}}";
static const char odd_manifest[] = "{\"rows\":40}";
static const struct kit_files files[] = {
    { "/data/web/snapshots/000003.json", manifest, sizeof manifest - 1 },
    { "/data/web/snapshots/000004.json", empty_manifest, sizeof empty_manifest - 1 },
    { "/data/web/snapshots/000005.json", odd_manifest, sizeof odd_manifest - 1 },
    { "/data/web/snapshots/000006.json", "{", 1 },
    { NULL, NULL, 0 }
};

struct run {
    void *shared, *worker;
    struct kit_plan plan;
    struct kit_emit *emit;
    struct sluice_error err;
};

static sluice_status start(struct run *run, const struct gate_config *config)
{
    sluice_status status;

    memset(run, 0, sizeof *run);
    run->err.size = sizeof run->err;
    run->emit = kit_emit_create();
    kit_plan_init(&run->plan, columns, 4);
    status = gate_stage.open(&kit_api, (struct sluice_host *)(void *)(uintptr_t)files, config,
                             &run->shared, &run->err);
    if (status == SLUICE_OK) {
        status = gate_stage.prepare(run->shared, &run->plan.plan, &run->err);
    }
    if (status == SLUICE_OK) {
        kit_ok(gate_stage.worker_open(run->shared, &run->worker, &run->err), &run->err);
    }
    return status;
}

static void stop(struct run *run)
{
    if (run->worker != NULL) {
        gate_stage.worker_close(run->worker);
    }
    if (run->shared != NULL) {
        gate_stage.close(run->shared);
    }
    kit_emit_destroy(run->emit);
}

/* ---- saved states ---- */

struct state {
    struct sluice_io io;
    struct sluice_bytes bytes;
    uint64_t at;
};

static sluice_status state_write(struct sluice_io *io, const void *data, uint64_t n)
{
    struct state *state = io->ctx;

    return sluice_bytes_add(&state->bytes, data, n) ? SLUICE_OK : SLUICE_E_NOMEM;
}

static sluice_status state_read(struct sluice_io *io, void *data, uint64_t n)
{
    struct state *state = io->ctx;

    if (n > state->bytes.size - state->at) {
        return SLUICE_E_DATA;
    }
    memcpy(data, state->bytes.data + state->at, n);
    state->at += n;
    return SLUICE_OK;
}

/* ---- judging ---- */

static int64_t count(struct sluice_verdict_io *io, const char *node)
{
    (void)io;
    return strcmp(node, "docs") == 0 ? 50 : strcmp(node, "empty") == 0 ? 0 : -1;
}

/* 10 rows of which 2 texts are null, through `tasks` workers whose states are merged. */
static sluice_status judge(const struct gate_config *config, int tasks,
                           struct sluice_verdict_io *io, struct sluice_error *err)
{
    static const char *const texts[] = { "a", "b", NULL, "c", "d", "e", "f", "g", NULL, "h" };
    struct ArrowArray column = kit_texts(texts, NULL, 10);
    struct ArrowArray input = kit_input(&column, 1, 10);
    struct run run;
    void *sum;
    sluice_status status;
    uint32_t rows[10];

    *io = (struct sluice_verdict_io){ .size = sizeof *io, .count = count };
    kit_ok(start(&run, config), &run.err);
    kit_ok(gate_stage.worker_open(run.shared, &sum, &run.err), &run.err);
    for (int t = 0; t < tasks; t++) {
        struct state state = {
            .io = { .size = sizeof state.io, .read = state_read, .write = state_write }
        };
        struct sluice_batch batch = kit_select(&input, rows, 10 * t / tasks, 10 * (t + 1) / tasks);
        void *worker = NULL;
        state.io.ctx = &state;
        kit_ok(gate_stage.worker_open(run.shared, &worker, &run.err), &run.err);
        kit_ok(gate_stage.process(worker, &batch, &run.emit->emit, &run.err), &run.err);
        kit_ok(gate_stage.save(worker, &state.io, &run.err), &run.err);
        gate_stage.worker_close(worker);
        kit_ok(gate_stage.merge(sum, &state.io, 1, &run.err), &run.err);
        assert_int_equal(state.at, state.bytes.size);
        sluice_bytes_free(&state.bytes);
    }
    status = gate_stage.judge(sum, io, err);
    gate_stage.worker_close(sum);
    input.release(&input);
    stop(&run);
    return status;
}

static void expect(const struct gate_config *config, int32_t outcome, const char *part)
{
    for (int tasks = 1; tasks < 12; tasks += 3) {
        struct sluice_error err = { .size = sizeof err };
        struct sluice_verdict_io io;
        kit_ok(judge(config, tasks, &io, &err), &err);
        assert_int_equal(io.outcome, outcome);
        if (strstr(io.message, part) == NULL) {
            fail_msg("'%s' is not in '%s'", part, io.message);
        }
    }
}

static void test_rows(void **state)
{
    struct gate_config config = defaults();

    (void)state;
    expect(&config, SLUICE_GATE_PASS, "");
    config.rows_min = config.rows_max = 10;
    expect(&config, SLUICE_GATE_PASS, "");
    config.rows_min = 11;
    config.rows_max = -1;
    expect(&config, SLUICE_GATE_HALT, "rows = 10, expected rows_min = 11 or more. Likely cause: ");
    config.action = ACTION_WARN;
    expect(&config, SLUICE_GATE_WARN, "rows = 10");
    config = defaults();
    config.rows_max = 9;
    expect(&config, SLUICE_GATE_HALT, "rows = 10, expected rows_max = 9 or fewer");
    config.rows_max = 0;
    expect(&config, SLUICE_GATE_HALT, "rows_max = 0");
}

static void test_pass_rate(void **state)
{
    struct gate_config config = defaults();
    struct sluice_error err = { .size = sizeof err };
    struct sluice_verdict_io io;

    (void)state;
    config.of = "docs";
    config.pass_rate_min = config.pass_rate_max = 0.2;
    expect(&config, SLUICE_GATE_PASS, "");
    config.pass_rate_min = 0.21;
    config.pass_rate_max = -1;
    expect(&config, SLUICE_GATE_HALT,
           "pass_rate = 0.2 (10 of the 50 rows that left 'docs'), expected pass_rate_min = 0.21");
    config.pass_rate_min = -1;
    config.pass_rate_max = 0.19;
    expect(&config, SLUICE_GATE_HALT, "expected pass_rate_max = 0.19");
    config.of = "empty";
    expect(&config, SLUICE_GATE_HALT, "no row left 'empty'");
    config.of = "later";
    assert_int_equal(judge(&config, 1, &io, &err), SLUICE_E_CONFIG);
    assert_string_equal(err.field, "of");
}

static void test_nulls(void **state)
{
    static const char *const names[] = { "text" };
    static const char *const limits[] = { "0.2", "0.19", "x", "1.5", "nan", "" };
    struct gate_config config = defaults();

    (void)state;
    config.nulls = (struct sluice_list){ names, 1 };
    expect(&config, SLUICE_GATE_PASS, "");
    for (size_t k = 0; k < 6; k++) {
        struct run run;
        config.null_max = (struct sluice_map){ names, &limits[k], 1 };
        if (k < 2) {
            expect(&config, k == 0 ? SLUICE_GATE_PASS : SLUICE_GATE_HALT,
                   k == 0 ? ""
                          : "null rate of 'text' = 0.2 (2 of 10 rows), expected null_max = 0.19");
        } else {
            assert_int_equal(start(&run, &config), SLUICE_E_CONFIG);
            assert_string_equal(run.err.field, "null_max");
            stop(&run);
        }
    }
    config.null_max = (struct sluice_map){ names, &limits[1], 1 };
    config.rows_min = 100;
    expect(&config, SLUICE_GATE_HALT, "; null rate of 'text'");
}

static void test_baseline(void **state)
{
    static const char *const refused[] = { "/data/web",   "/data/web@",  "/data/web@x",
                                           "/data/web@0", "@3",          "/data/web@4",
                                           "/data/web@5", "/data/web@6", "/data/web@7" };
    struct gate_config config = defaults();

    (void)state;
    config.baseline = "/data/web@3";
    config.rows_ratio_min = config.rows_ratio_max = 0.25;
    expect(&config, SLUICE_GATE_PASS, "");
    config.rows_ratio_min = 0.26;
    config.rows_ratio_max = -1;
    expect(&config, SLUICE_GATE_HALT,
           "rows_ratio = 0.25 (10 rows, the baseline /data/web@3 has 40), expected rows_ratio_min "
           "= 0.26");
    config.rows_ratio_min = -1;
    config.rows_ratio_max = 0.2;
    expect(&config, SLUICE_GATE_HALT, "expected rows_ratio_max = 0.2");
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        struct run run;
        config.baseline = refused[k];
        assert_int_equal(start(&run, &config), SLUICE_E_CONFIG);
        assert_string_equal(run.err.field, "baseline");
        stop(&run);
    }
}

static void test_configs_refused(void **state)
{
    static const char *const names[] = { "text" };
    static const char *const limits[] = { "0.5" };
    struct gate_config configs[6];
    struct run run;

    (void)state;
    for (int k = 0; k < 6; k++) {
        configs[k] = defaults();
    }
    configs[0].pass_rate_min = 0;
    configs[1].rows_ratio_max = 2;
    configs[2].null_max = (struct sluice_map){ names, limits, 1 };
    configs[3].rows_min = 2;
    configs[3].rows_max = 1;
    configs[4].of = "docs";
    configs[4].pass_rate_min = 0.5;
    configs[4].pass_rate_max = 0.4;
    configs[5].baseline = "/data/web@3";
    configs[5].rows_ratio_min = 2;
    configs[5].rows_ratio_max = 1;
    for (int k = 0; k < 6; k++) {
        assert_int_equal(start(&run, &configs[k]), SLUICE_E_CONFIG);
        stop(&run);
    }
}

static void test_schema(void **state)
{
    static const char *const names[] = { "text", "score" };
    static const char *const good[][2] = { { "utf8", "float64" },
                                           { "utf8?", "int64 | float64 ?" },
                                           { "json|utf8", "float64?" } };
    static const char *const bad[][2] = { { "json", "float64" },
                                          { "utf8", "float32" },
                                          { "utf", "float64" },
                                          { "utf88", "float64" },
                                          { "", "float64" } };
    static const char *const absent[] = { "txt" };
    struct gate_config config = defaults();
    struct run run;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        config.schema = (struct sluice_map){ names, good[k], 2 };
        kit_ok(start(&run, &config), &run.err);
        assert_int_equal(run.plan.n_needs, 0);
        stop(&run);
    }
    for (size_t k = 0; k < 5; k++) {
        config.schema = (struct sluice_map){ names, bad[k], 2 };
        assert_int_equal(start(&run, &config), SLUICE_E_SCHEMA);
        assert_string_equal(run.err.field, k == 1 ? "score" : "text");
        stop(&run);
    }
    config.schema = (struct sluice_map){ absent, good[0], 1 };
    assert_int_equal(start(&run, &config), SLUICE_E_SCHEMA);
    stop(&run);
}

static void test_required(void **state)
{
    static const char *const names[] = { "text" };
    static const char *const texts[] = { "a", NULL, "b" };
    static const char *const ids[] = { "x", "y", "z" };
    const uint64_t numbers[] = { 100, 107, 109 };
    struct ArrowArray arrays[] = { kit_texts(texts, NULL, 3), kit_fixed(numbers, 8, 3),
                                   kit_texts(ids, NULL, 3) };
    struct ArrowArray input = kit_input(arrays, 3, 3);
    struct gate_config config = defaults();
    uint32_t rows[] = { 0, 2 };
    struct sluice_batch batch = { .size = sizeof batch, .array = &input, .rows = rows, .n = 2 };
    struct run run;

    (void)state;
    config.require = (struct sluice_list){ names, 1 };
    config.action = ACTION_WARN;
    kit_ok(start(&run, &config), &run.err);
    assert_int_equal(run.plan.n_needs, 3);
    kit_ok(gate_stage.process(run.worker, &batch, &run.emit->emit, &run.err), &run.err);
    batch.rows = NULL;
    batch.n = 3;
    assert_int_equal(gate_stage.process(run.worker, &batch, &run.emit->emit, &run.err),
                     SLUICE_E_HALT);
    assert_string_equal(run.err.field, "text");
    assert_non_null(strstr(run.err.message, "'text' is null in row 107 of the split (id 'y')"));
    input.release(&input);
    stop(&run);
}

static void test_damaged_state(void **state)
{
    struct gate_config config = defaults();
    struct state saved = {
        .io = { .size = sizeof saved.io, .read = state_read, .write = state_write }
    };
    struct run run;

    (void)state;
    saved.io.ctx = &saved;
    kit_ok(start(&run, &config), &run.err);
    assert_true(sluice_bytes_add(&saved.bytes, "\xff\xff\xff\xff\xff\xff\xff\xff", 8));
    assert_int_equal(gate_stage.merge(run.worker, &saved.io, 1, &run.err), SLUICE_E_DATA);
    saved.at = 0;
    saved.bytes.size = 7;
    assert_int_equal(gate_stage.load(run.worker, &saved.io, 1, &run.err), SLUICE_E_DATA);
    sluice_bytes_free(&saved.bytes);
    stop(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_pass_rate),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_configs_refused),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_required),
        cmocka_unit_test(test_damaged_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
