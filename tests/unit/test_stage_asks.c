/* Stages that ask: calls that go on behind answers, surveys and scans, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/stage.h"

/* What the stages below do, and what they saw. */
struct script {
    const struct sluice_ask *asks; /* made by process, survey or scan */
    uint32_t n_asks;
    uint32_t rounds;  /* resume asks for the same again so often */
    uint32_t resumed; /* calls of resume */
    uint64_t tags[8]; /* of the answers to the last one */
    uint64_t n_tags;
    const struct sluice_unit *units;
    uint32_t n_units;
    sluice_status outcome; /* of resume */
    const void *batch, *scan;
};

static struct script now;

static sluice_status ask_all(struct sluice_emit *emit)
{
    for (uint32_t k = 0; k < now.n_asks; k++) {
        if (emit->ask(emit, &now.asks[k]) != SLUICE_OK) {
            return SLUICE_OK; /* overlooked: the host does not */
        }
    }
    return SLUICE_OK;
}

static sluice_status give_verdicts(const struct sluice_batch *batch, struct sluice_emit *emit)
{
    struct sluice_verdict verdicts[8] = { { .reason = 1, .dup_of = "other", .dup_of_length = 5 } };

    return emit->verdicts(emit, verdicts, batch->n);
}

static sluice_status asking_process(void *worker, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    now.batch = batch;
    (void)!emit->measure(emit, "asked", (int64_t)now.n_asks);
    return now.n_asks > 0 ? ask_all(emit) : give_verdicts(batch, emit);
}

static sluice_status asking_survey(void *worker, const struct sluice_file *file,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)file;
    (void)err;
    for (uint32_t k = 0; k < now.n_units; k++) {
        if (emit->unit(emit, &now.units[k]) != SLUICE_OK) {
            return SLUICE_OK;
        }
    }
    (void)!emit->describe(emit, "abc", 3);
    return ask_all(emit);
}

static sluice_status asking_scan(void *worker, struct sluice_scan *scan, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    (void)worker;
    (void)err;
    now.scan = scan;
    scan->more = 1;
    (void)!emit->skipped(emit, 3, 300, "min_max");
    (void)!emit->skipped(emit, 4, 400, "min_max");
    return ask_all(emit);
}

static sluice_status asking_resume(void *worker, const struct sluice_answers *answers,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    now.resumed++;
    now.n_tags = answers->n;
    for (uint64_t k = 0; k < answers->n; k++) {
        const struct sluice_answer *answer =
            (const struct sluice_answer *)((const char *)answers->items + k * answers->stride);
        now.tags[k] = answer->tag;
    }
    assert_ptr_equal(answers->batch, now.batch);
    assert_ptr_equal(answers->scan, now.scan);
    if (now.outcome != SLUICE_OK) {
        return error_set(err, now.outcome, "no");
    }
    if (now.resumed <= now.rounds) {
        return ask_all(emit);
    }
    return answers->batch != NULL ? give_verdicts(answers->batch, emit) : SLUICE_OK;
}

static sluice_status one_column(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    (void)shared;
    return plan->add(plan, "text", "utf8", NULL, err);
}

struct scene {
    struct registry *registry;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct sluice_error err;
};

static void scene_open(struct scene *scene, uint32_t role, uint64_t flags)
{
    struct registry_options options = { .bare = true };
    struct sluice_stage kind = { .size = sizeof kind,
                                 .name = "asker",
                                 .version = "1",
                                 .summary = "Asks.",
                                 .role = role,
                                 .flags = flags,
                                 .process = asking_process,
                                 .resume = asking_resume };
    struct stage_services services = { 0 };
    struct stage_inputs inputs = { .n_ports = 1 };
    static struct schema schema;
    const struct registry_entry *entry;
    struct option_table table;
    struct options *parsed;

    memset(scene, 0, sizeof *scene);
    if (role == SLUICE_ROLE_READER) {
        kind.process = NULL;
        kind.cut = "own";
        kind.prepare = one_column;
        kind.survey = asking_survey;
        kind.scan = asking_scan;
        inputs.n_ports = 0;
    } else {
        kind.reasons = "refused";
    }
    schema_init(&schema);
    inputs.schemas[0] = &schema;
    scene->err = (struct sluice_error)ERROR_INIT;
    assert_int_equal(registry_create(&options, &scene->registry, &scene->err), SLUICE_OK);
    if (registry_add_user(scene->registry, &kind, scene, PLUGIN_SCRIPT, "test",
                          (struct hash128){ 1, 1 }, &entry, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    table = option_table_of(&entry->stage);
    assert_int_equal(options_parse(&table, NULL, NULL, &parsed, &scene->err), SLUICE_OK);
    assert_int_equal(stage_open(entry, parsed, "asker", &services, &scene->stage, &scene->err),
                     SLUICE_OK);
    assert_int_equal(stage_prepare(scene->stage, &inputs, &scene->prepared, &scene->err),
                     SLUICE_OK);
    assert_int_equal(stage_worker_open(scene->stage, &scene->worker, &scene->err), SLUICE_OK);
    stage_result_init(&scene->result);
}

static void scene_close(struct scene *scene)
{
    stage_worker_close(scene->worker);
    stage_result_deinit(&scene->result);
    stage_prepared_deinit(&scene->prepared);
    stage_close(scene->stage);
    registry_destroy(scene->registry);
    memset(&now, 0, sizeof now);
}

static void assert_says(const struct scene *scene, const char *text)
{
    if (strstr(scene->err.message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, scene->err.message);
    }
}

static const struct ArrowArray no_columns = { .length = 2 };
static const struct sluice_batch two_rows = { .size = sizeof two_rows,
                                              .array = &no_columns,
                                              .n = 2 };
#define HTTP(number, text)                                                         \
    {                                                                              \
        .size = sizeof(struct sluice_ask), .kind = SLUICE_ASK_HTTP, .tag = number, \
        .payload = text, .n = sizeof text - 1                                      \
    }
#define BYTES(number, extent)                                                       \
    {                                                                               \
        .size = sizeof(struct sluice_ask), .kind = SLUICE_ASK_BYTES, .tag = number, \
        .payload = extent, .n = sizeof *extent                                      \
    }
static const struct sluice_ask two_asks[] = { HTTP(7, "GET http://a/1\n\n"),
                                              HTTP(9, "GET http://a/2\n\n") };
static const struct sluice_answer two_answers[] = {
    { .size = sizeof(struct sluice_answer), .tag = 7 },
    { .size = sizeof(struct sluice_answer), .tag = 9 }
};

/* Verdicts come behind the answers, asked for in two rounds; what was emitted before counts. */
static void test_resumed(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_RECORDED);
    now.asks = two_asks;
    now.n_asks = 2;
    now.rounds = 1;
    assert_true(stage_may_ask(scene.stage));
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err), SLUICE_OK);
    for (uint32_t round = 0; round < 2; round++) {
        assert_int_equal(scene.result.n_asks, 2);
        assert_int_equal(scene.result.asks[1].tag, 9);
        assert_memory_equal(scene.result.asked.data + scene.result.asks[1].offset,
                            "GET http://a/2\n\n", scene.result.asks[1].size);
        assert_false(scene.result.has_verdicts);
        assert_int_equal(stage_resume(scene.worker, two_answers, 2, &scene.result, &scene.err),
                         SLUICE_OK);
        assert_int_equal(now.resumed, round + 1);
        assert_int_equal(now.tags[0], 7);
        assert_int_equal(now.tags[1], 9);
    }
    assert_int_equal(scene.result.n_asks, 0);
    assert_int_equal(scene.result.n_verdicts, 2);
    assert_memory_equal(scene.result.verdicts[0].dup_of, "other", 5);
    assert_int_equal(scene.result.measures[0].delta, 2);
    /* The worker takes the next batch. */
    now.n_asks = 0;
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(scene.result.n_verdicts, 2);
    scene_close(&scene);
}

/* RETRY in resume: the call is made again from its begin. Another error: the worker is closed. A
 * waiting worker may be closed. */
static void test_failures(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_RECORDED);
    now.asks = two_asks;
    now.n_asks = 2;
    now.outcome = SLUICE_E_RETRY;
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(stage_resume(scene.worker, two_answers, 2, &scene.result, &scene.err),
                     SLUICE_E_RETRY);
    assert_int_equal(scene.result.n_asks, 0);
    assert_true(stage_worker_usable(scene.worker));
    now.outcome = SLUICE_E_DATA;
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(stage_resume(scene.worker, two_answers, 2, &scene.result, &scene.err),
                     SLUICE_E_DATA);
    assert_false(stage_worker_usable(scene.worker));
    stage_worker_close(scene.worker);
    assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_OK);
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err), SLUICE_OK);
    scene_close(&scene);
}

static void test_refused_asks(void **state)
{
    static const struct sluice_extent whole = { 0, 100 };
    static const struct sluice_ask bytes = BYTES(1, &whole);
    static const struct sluice_ask unknown = { .size = sizeof unknown, .kind = 77 };
    static const struct sluice_ask brief = { .size = 8, .kind = SLUICE_ASK_HTTP };
    static const struct {
        const struct sluice_ask *ask;
        uint64_t flags;
        const char *text;
    } cases[] = {
        { &two_asks[0], 0, "only a stage that is marked SLUICE_STAGE_RECORDED" },
        { &bytes, SLUICE_STAGE_RECORDED, "bytes of a file where it was given none" },
        { &unknown, SLUICE_STAGE_RECORDED, "of kind 77" },
        { &brief, SLUICE_STAGE_RECORDED, "an ask is incomplete" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct scene scene;
        scene_open(&scene, SLUICE_ROLE_FILTER, cases[k].flags);
        now.asks = cases[k].ask;
        now.n_asks = 1;
        assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err),
                         SLUICE_E_INTERNAL);
        assert_says(&scene, cases[k].text);
        assert_int_equal(scene.result.n_asks, 0);
        assert_false(stage_worker_usable(scene.worker));
        scene_close(&scene);
    }
}

/* A call that is never content with its answers ends, and so does the next one. */
static void test_endless(void **state)
{
    sluice_status status = SLUICE_OK;
    struct scene scene;
    uint32_t rounds = 0;

    (void)state;
    scene_open(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_RECORDED);
    now.asks = two_asks;
    now.n_asks = 2;
    now.rounds = UINT32_MAX;
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err), SLUICE_OK);
    while (status == SLUICE_OK && rounds < 1000000) {
        status = stage_resume(scene.worker, two_answers, 2, &scene.result, &scene.err);
        rounds++;
    }
    assert_int_equal(status, SLUICE_E_INTERNAL);
    assert_int_equal(rounds, 100000);
    assert_says(&scene, "asks without end in one call");
    assert_int_equal(scene.result.n_asks, 0);
    assert_false(stage_worker_usable(scene.worker));
    scene_close(&scene);
}

/* Few asks may be long, many may be short; together they have a limit. */
static void test_absurd(void **state)
{
    static char payload[1 << 20] = "POST http://a/\n\n";
    static struct sluice_ask asks[400];
    struct scene scene;

    (void)state;
    for (size_t k = 0; k < 400; k++) {
        asks[k] = (struct sluice_ask){
            .size = sizeof asks[k], .kind = SLUICE_ASK_HTTP, .payload = payload, .n = sizeof payload
        };
    }
    scene_open(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_RECORDED);
    now.asks = asks;
    now.n_asks = 400;
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "its 256 asks take more than 268435456 bytes");
    scene_close(&scene);
    scene_open(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_RECORDED);
    asks[0].n = (UINT64_C(64) << 20) + 1; /* refused before it is read */
    now.asks = asks;
    now.n_asks = 1;
    assert_int_equal(stage_process(scene.worker, &two_rows, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "it asks with 67108865 bytes, at most 67108864 are possible");
    scene_close(&scene);
}

static const struct sluice_file file = { .size = sizeof file, .uri = "a.bin", .bytes = 1000 };
#define UNIT(from, to, why)                                                                  \
    {                                                                                        \
        .size = sizeof(struct sluice_unit), .begin = from, .end = to, .rows = 5, .skip = why \
    }

/* A survey that asks for the file's end first, and a scan in which rows are skipped. */
static void test_own_cut(void **state)
{
    static const struct sluice_extent extent = { 900, 100 };
    static const struct sluice_ask ask = BYTES(3, &extent);
    static const struct sluice_answer answer = { .size = sizeof answer, .tag = 3 };
    static const struct sluice_unit units[] = { UNIT(0, 100, NULL), UNIT(100, 400, "min_max"),
                                                UNIT(500, 1000, NULL) };
    struct sluice_scan scan = { .size = sizeof scan, .file = &file, .begin = 0, .end = 100 };
    struct scene scene;

    (void)state;
    scene_open(&scene, SLUICE_ROLE_READER, 0);
    now.asks = &ask;
    now.n_asks = 1;
    now.units = units;
    now.n_units = 3;
    assert_int_equal(stage_survey(scene.worker, &file, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(scene.result.n_asks, 1);
    assert_int_equal(stage_resume(scene.worker, &answer, 1, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(scene.result.n_units, 3);
    assert_null(stage_unit_skip(&scene.result, 0));
    assert_string_equal(stage_unit_skip(&scene.result, 1), "min_max");
    assert_int_equal(scene.result.units[2].begin, 500);
    assert_int_equal(scene.result.description.size, 3);
    now.resumed = 0;
    assert_int_equal(stage_scan(scene.worker, &scan, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(scene.result.n_units, 0);
    assert_int_equal(stage_resume(scene.worker, &answer, 1, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(scan.more, 1);
    assert_int_equal(scene.result.n_skips, 1);
    assert_string_equal(scene.result.skips[0].how, "min_max");
    assert_int_equal(scene.result.skips[0].rows, 7);
    assert_int_equal(scene.result.skips[0].bytes, 700);
    scene_close(&scene);
}

static void test_refused_units(void **state)
{
    static const struct sluice_unit overlap[] = { UNIT(0, 100, NULL), UNIT(99, 200, NULL) };
    static const struct sluice_unit outside[] = { UNIT(0, 1001, NULL) };
    static const struct sluice_unit empty[] = { UNIT(7, 7, NULL) };
    static const struct sluice_unit wordless[] = { UNIT(0, 7, "Because!") };
    static const struct sluice_extent beyond = { 900, 101 };
    static const struct sluice_extent wraps = { 900, UINT64_MAX };
    static const struct sluice_ask asks[] = {
        BYTES(0, &beyond),
        BYTES(0, &wraps),
        { .size = sizeof asks[2], .kind = SLUICE_ASK_BYTES, .payload = "x", .n = 1 }
    };
    static const struct {
        const struct sluice_unit *units;
        uint32_t n;
        const struct sluice_ask *ask;
        const char *text;
    } cases[] = {
        { overlap, 2, NULL, "unit 1 is bytes 99 to 200" },
        { outside, 1, NULL, "unit 0 is bytes 0 to 1001" },
        { empty, 1, NULL, "unit 0 is bytes 7 to 7" },
        { wordless, 1, NULL, "because of \"Because!\"" },
        { NULL, 0, &asks[0], "101 bytes at 900 of a file of 1000" },
        { NULL, 0, &asks[1], "at 900 of a file of 1000" },
        { NULL, 0, &asks[2], "with a payload of 1 bytes" },
        { NULL, 0, &two_asks[0], "SLUICE_STAGE_RECORDED" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct scene scene;
        scene_open(&scene, SLUICE_ROLE_READER, 0);
        now.units = cases[k].units;
        now.n_units = cases[k].n;
        now.asks = cases[k].ask;
        now.n_asks = cases[k].ask != NULL ? 1 : 0;
        assert_int_equal(stage_survey(scene.worker, &file, &scene.result, &scene.err),
                         SLUICE_E_INTERNAL);
        assert_says(&scene, cases[k].text);
        assert_int_equal(scene.result.n_units, 0);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resumed),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_refused_asks),  cmocka_unit_test(test_own_cut),
        cmocka_unit_test(test_refused_units), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_absurd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
