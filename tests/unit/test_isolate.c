/* Stages in child processes: the same results as in this process, and nothing but rows lost to a
 * broken one. The stages are in isolate_kit.h. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plugin/stage_state.h"
#include "tests/unit/isolate_kit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const struct isolate_limits defaults;
static const char *const texts[] = { "a text", "dup of it", "", "short", "longer than the others" };
#define TEXTS 5

static void add_text(struct kit_scene *scene)
{
    assert_int_equal(schema_add_text(&scene->schema, "text", "utf8", "k=x", &scene->err),
                     SLUICE_OK);
}

static void begin(struct kit_scene *scene)
{
    kit_scene_begin(scene);
    add_text(scene);
}

static struct stage_worker *worker_of(struct kit_scene *scene)
{
    struct stage_worker *worker;

    if (stage_worker_open(scene->stage, &worker, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    return worker;
}

/* ---- equal results ---- */

static void assert_results_equal(const struct stage_result *a, const struct stage_result *b,
                                 const struct type *type)
{
    assert_int_equal(a->has_verdicts, b->has_verdicts);
    assert_int_equal(a->n_verdicts, b->n_verdicts);
    for (int64_t k = 0; k < a->n_verdicts; k++) {
        const struct sluice_verdict *x = &a->verdicts[k];
        const struct sluice_verdict *y = &b->verdicts[k];
        assert_int_equal(x->reason, y->reason);
        assert_true(x->value == y->value && x->limit == y->limit && x->similarity == y->similarity);
        assert_int_equal(x->dup_of == NULL, y->dup_of == NULL);
        if (x->dup_of != NULL) {
            assert_int_equal(x->dup_of_length, y->dup_of_length);
            assert_memory_equal(x->dup_of, y->dup_of, (size_t)x->dup_of_length);
        }
    }
    assert_int_equal(a->n_batches, b->n_batches);
    for (uint32_t k = 0; k < a->n_batches; k++) {
        assert_int_equal(a->batches[k].length, b->batches[k].length);
        kit_assert_invariants(&a->batches[k], type);
        for (int64_t row = 0; row < a->batches[k].length; row++) {
            assert_true(kit_rows_equal(&a->batches[k], row, &b->batches[k], row, type));
        }
    }
    assert_int_equal(a->n_bad, b->n_bad);
    for (uint32_t k = 0; k < a->n_bad; k++) {
        assert_int_equal(a->bad[k].begin, b->bad[k].begin);
        assert_int_equal(a->bad[k].end, b->bad[k].end);
        assert_string_equal(a->bad[k].reason, b->bad[k].reason);
        assert_string_equal(a->bad[k].detail, b->bad[k].detail);
    }
    assert_int_equal(a->bytes.size, b->bytes.size);
    assert_memory_equal(a->bytes.data != NULL ? a->bytes.data : "",
                        b->bytes.data != NULL ? b->bytes.data : "", a->bytes.size);
    assert_int_equal(a->n_marks, b->n_marks);
    for (uint32_t k = 0; k < a->n_marks; k++) {
        assert_int_equal(a->marks[k].output, b->marks[k].output);
        assert_int_equal(a->marks[k].offset, b->marks[k].offset);
        assert_int_equal(a->marks[k].size, b->marks[k].size);
        assert_int_equal(a->marks[k].rows, b->marks[k].rows);
    }
    assert_int_equal(a->n_measures, b->n_measures);
    for (uint32_t k = 0; k < a->n_measures; k++) {
        assert_string_equal(a->measures[k].name, b->measures[k].name);
        assert_int_equal(a->measures[k].delta, b->measures[k].delta);
    }
}

/* One batch through a stage, in this process (limits NULL) or a child. */
static void run(struct kit_scene *scene, const char *name, const char *arguments,
                const struct isolate_limits *limits, const struct sluice_batch *batch,
                struct stage_result *out)
{
    struct stage_worker *worker;

    kit_scene_ready(scene, name, arguments, limits);
    worker = worker_of(scene);
    stage_result_init(out);
    if (stage_process(worker, batch, out, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    stage_worker_close(worker);
}

static void test_filter_gives_equal_verdicts(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result here;
    struct stage_result there;
    const uint32_t rows[] = { 1, 4 };

    (void)state;
    kit_texts(&batch, texts, TEXTS);
    for (int k = 0; k < 2; k++) {
        begin(&scene);
        run(&scene, "kit_filter", "bytes=6", NULL, &batch.batch, &here);
        kit_scene_shut(&scene);
        run(&scene, "kit_filter", "bytes=6", &defaults, &batch.batch, &there);
        assert_results_equal(&here, &there, stage_output(scene.stage));
        assert_int_equal(there.n_verdicts, k == 0 ? TEXTS : 2);
        assert_int_equal(there.verdicts[1].reason, k == 0 ? 2 : 0);
        assert_int_equal(scene.deaths, 0);
        stage_result_deinit(&here);
        stage_result_deinit(&there);
        kit_scene_end(&scene);
        batch.batch.rows = rows;
        batch.batch.n = 2;
    }
    kit_batch_free(&batch);
}

static void test_columns_of_every_type_go_there_and_back(void **state)
{
    struct kit_scene scene;
    struct kit_random random = { 7 };
    struct column *columns[KIT_TYPES];
    struct ArrowArray *children[KIT_TYPES];
    const void *buffers[1] = { NULL };
    struct ArrowArray root = {
        .n_buffers = 1, .buffers = buffers, .n_children = KIT_TYPES, .children = children
    };
    struct sluice_batch batch = { .size = sizeof batch, .array = &root };
    struct stage_result here;
    struct stage_result there;

    (void)state;
    for (int round = 0; round < 6; round++) {
        uint32_t rows[100];
        int64_t length = round == 0 ? 0 : 1 + kit_below(&random, 90);
        kit_scene_begin(&scene);
        for (size_t k = 0; k < KIT_TYPES; k++) {
            char name[20];
            struct type *type = kit_type(kit_types[k]);
            snprintf(name, sizeof name, "column %zu", k);
            assert_int_equal(
                schema_add(&scene.schema, name, type, k % 2 == 0 ? "k=x" : NULL, &scene.err),
                SLUICE_OK);
            columns[k] = kit_column(&random, type, length);
            children[k] = &columns[k]->array;
            type_destroy(type);
        }
        root.length = length;
        batch.n = length;
        batch.rows = NULL;
        if (round % 2 == 1) {
            batch.n = 0;
            batch.rows = rows;
            for (int64_t row = 0; row < length; row++) {
                if (kit_below(&random, 3) > 0) {
                    rows[batch.n++] = (uint32_t)row;
                }
            }
        }
        run(&scene, "kit_echo", "", NULL, &batch, &here);
        kit_scene_shut(&scene);
        run(&scene, "kit_echo", "", &defaults, &batch, &there);
        assert_int_equal(there.n_batches, 1);
        assert_results_equal(&here, &there, stage_output(scene.stage));
        stage_result_deinit(&here);
        stage_result_deinit(&there);
        for (size_t k = 0; k < KIT_TYPES; k++) {
            column_unref(columns[k]);
        }
        kit_scene_end(&scene);
    }
}

static void test_prepared_is_the_same(void **state)
{
    static const char *const names[] = { "kit_filter", "kit_echo", "kit_sum",
                                         "kit_gate",   "kit_read", "kit_write" };
    struct kit_scene scene;

    (void)state;
    begin(&scene);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct stage_prepared here;
        kit_scene_ready(&scene, names[k], "", NULL);
        here = scene.prepared;
        memset(&scene.prepared, 0, sizeof scene.prepared);
        kit_scene_shut(&scene);
        kit_scene_ready(&scene, names[k], "", &defaults);
        assert_int_equal(kit_scene_prepare(&scene), SLUICE_OK); /* again, as a planner does */
        assert_int_equal(here.n_needs[0], scene.prepared.n_needs[0]);
        assert_true(schema_equal(&here.added, &scene.prepared.added));
        for (uint32_t i = 0; i < here.added.n; i++) {
            const char *metadata = here.added.fields[i].metadata;
            assert_string_equal(metadata == NULL ? "" : metadata,
                                scene.prepared.added.fields[i].metadata == NULL
                                    ? ""
                                    : scene.prepared.added.fields[i].metadata);
        }
        assert_int_equal(here.n_outputs, scene.prepared.n_outputs);
        assert_int_equal(here.n_notes, scene.prepared.n_notes);
        if (here.n_outputs > 0) {
            assert_string_equal(scene.prepared.outputs[0].suffix, ".txt");
            assert_int_equal(scene.prepared.outputs[0].level, 3);
            assert_string_equal(scene.prepared.notes[0].json, "{\"a\":1}");
        }
        stage_prepared_deinit(&here);
        kit_scene_shut(&scene);
    }
    kit_scene_end(&scene);
}

static void test_writer_gives_equal_bytes(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result here;
    struct stage_result there;

    (void)state;
    kit_texts(&batch, texts, TEXTS);
    begin(&scene);
    run(&scene, "kit_write", "", NULL, &batch.batch, &here);
    kit_scene_shut(&scene);
    run(&scene, "kit_write", "", &defaults, &batch.batch, &there);
    assert_int_equal(there.n_marks, 4);
    assert_results_equal(&here, &there, stage_output(scene.stage));
    stage_result_deinit(&here);
    stage_result_deinit(&there);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static void test_reader_gives_equal_rows(void **state)
{
    static const char data[200] = "one\nbad\nthree\n\nfive\n";
    struct kit_scene scene;
    struct stage_result results[2];
    struct sluice_chunk chunks[2];

    (void)state;
    kit_scene_begin(&scene);
    for (int k = 0; k < 2; k++) {
        struct stage_worker *worker;
        kit_scene_ready(&scene, "kit_read", "", k == 0 ? NULL : &defaults);
        worker = worker_of(&scene);
        stage_result_init(&results[k]);
        chunks[k] = (struct sluice_chunk){ .size = sizeof chunks[k],
                                           .data = data,
                                           .n = 20,
                                           .offset = 1000,
                                           .uri = "file:///x",
                                           .flags = SLUICE_CHUNK_FIRST };
        assert_int_equal(stage_read(worker, &chunks[k], &results[k], &scene.err), SLUICE_OK);
        stage_worker_close(worker);
        if (k == 0) {
            kit_scene_shut(&scene);
        }
    }
    assert_int_equal(chunks[1].consumed, 19);
    assert_int_equal(chunks[0].consumed, chunks[1].consumed);
    assert_int_equal(results[1].n_bad, 1);
    assert_int_equal(results[1].bad[0].begin, 1004);
    assert_int_equal(results[1].batches[0].length, 4);
    assert_results_equal(&results[0], &results[1], stage_output(scene.stage));
    stage_result_deinit(&results[0]);
    stage_result_deinit(&results[1]);
    kit_scene_end(&scene);
}

static void test_state_is_carried(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    struct buf saved = BUF_INIT;
    struct stage_worker *worker;
    struct stage_frame frame;
    struct buf empty = BUF_INIT;
    char longer[STAGE_FRAME_HEADER];

    (void)state;
    stage_frame_begin(&frame, &empty, 3);
    stage_frame_end(&frame, &empty);
    memcpy(longer, empty.data, sizeof longer);
    buf_deinit(&empty);
    stage_result_init(&result);
    kit_texts(&batch, texts, TEXTS);
    begin(&scene);
    kit_scene_ready(&scene, "kit_sum", "", &defaults);
    worker = worker_of(&scene);
    assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_OK);
    assert_int_equal(stage_save(worker, &saved, &scene.err), SLUICE_OK);
    stage_worker_close(worker);
    worker = worker_of(&scene);
    assert_int_equal(stage_load(worker, saved.data, saved.size, &scene.err), SLUICE_OK);
    assert_int_equal(stage_merge(worker, saved.data, saved.size, &scene.err), SLUICE_OK);
    assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_OK);
    assert_int_equal(stage_flush(worker, &result, &scene.err), SLUICE_OK);
    assert_int_equal(result.n_batches, 1);
    assert_int_equal(*(const int64_t *)result.batches[0].children[1]->buffers[1], 15);
    stage_worker_close(worker);
    /* A damaged state is refused here already, one of a wrong size there. */
    worker = worker_of(&scene);
    saved.data[saved.size - 1] ^= 1;
    assert_int_equal(stage_load(worker, saved.data, saved.size, &scene.err), SLUICE_E_DATA);
    stage_worker_close(worker);
    worker = worker_of(&scene);
    assert_int_equal(stage_merge(worker, longer, sizeof longer, &scene.err), SLUICE_E_DATA);
    kit_says(&scene, "stage 'quality' (kit_sum): it failed with status 3");
    stage_worker_close(worker);
    assert_int_equal(scene.deaths, 0);
    buf_deinit(&saved);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static int64_t count_rows(void *ctx, const char *node)
{
    (void)ctx;
    return strcmp(node, "docs") == 0 ? 77 : -1;
}

static void test_gate_judges(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    struct stage_judgement judgement;
    struct stage_worker *worker;

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, texts, TEXTS);
    begin(&scene);
    kit_scene_ready(&scene, "kit_gate", "node=docs", &defaults);
    worker = worker_of(&scene);
    assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_OK);
    assert_int_equal(stage_judge(worker, count_rows, NULL, &judgement, &scene.err), SLUICE_OK);
    assert_int_equal(judgement.outcome, SLUICE_GATE_WARN);
    assert_string_equal(judgement.message, "5 of 77");
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static void test_an_answer_grows(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    struct stage_worker *worker;
    size_t size = 3000000;
    char *big = malloc(size + 1);
    const char *list[] = { big, "x" };

    (void)state;
    memset(big, 'y', size);
    big[size] = '\0';
    stage_result_init(&result);
    kit_texts(&batch, list, 2);
    begin(&scene);
    kit_scene_ready(&scene, "kit_echo", "", &defaults);
    worker = worker_of(&scene);
    for (int k = 0; k < 3; k++) {
        size_t n;
        batch.batch.n = k == 1 ? 0 : 2;
        assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_OK);
        if (k != 1) {
            assert_memory_equal(array_bytes(result.batches[0].children[0], 0, &n), big, size);
            assert_int_equal(n, size);
        }
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
    free(big);
}

static void test_an_answer_beyond_the_memory_is_refused(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    struct stage_worker *worker;
    struct isolate_limits limits = { .memory = 1 << 20 };
    size_t size = 3000000;
    char *big = malloc(size + 1);
    const char *list[] = { big };

    (void)state;
    memset(big, 'y', size);
    big[size] = '\0';
    stage_result_init(&result);
    kit_texts(&batch, list, 1);
    begin(&scene);
    kit_scene_ready(&scene, "kit_echo", "", &limits);
    worker = worker_of(&scene);
    assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_E_NOMEM);
    kit_says(&scene, "there is no room for it");
    assert_int_equal(scene.deaths, 0);
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
    free(big);
}

/* ---- errors and services ---- */

static void test_errors_read_as_in_this_process(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    const char *list[] = { "fine", "BOOM" };
    struct sluice_error here = ERROR_INIT;

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, list, 2);
    begin(&scene);
    for (int k = 0; k < 2; k++) {
        struct stage_worker *worker;
        kit_scene_ready(&scene, "kit_filter", "at=process,deed=error", k == 0 ? NULL : &defaults);
        worker = worker_of(&scene);
        assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_E_DATA);
        assert_false(stage_worker_usable(worker));
        if (k == 0) {
            here = scene.err;
        }
        stage_worker_close(worker);
        kit_scene_shut(&scene);
    }
    assert_string_equal(here.message, scene.err.message);
    assert_string_equal(scene.err.message,
                        "stage 'quality' (kit_filter): found a word, expected none");
    assert_string_equal(scene.err.field, "word");
    assert_int_equal(scene.err.row, 5);
    assert_int_equal(scene.deaths, 0);
    schema_remove(&scene.schema, 0);
    assert_int_equal(schema_add_text(&scene.schema, "txt", "utf8", NULL, &scene.err), SLUICE_OK);
    assert_int_equal(kit_scene_open(&scene, "kit_filter", "", &defaults), SLUICE_OK);
    assert_int_equal(kit_scene_prepare(&scene), SLUICE_E_SCHEMA);
    kit_says(&scene, "did you mean 'txt'");
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static void test_retry_leaves_a_worker_usable(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    struct stage_worker *worker;
    const char *list[] = { "BOOM" };

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, list, 1);
    begin(&scene);
    kit_scene_ready(&scene, "kit_filter", "at=process,deed=retry", &defaults);
    worker = worker_of(&scene);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_E_RETRY);
        assert_true(stage_worker_usable(worker));
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static void test_services_are_the_parents(void **state)
{
    struct kit_scene scene;
    char here[1000];

    (void)state;
    begin(&scene);
    assert_int_equal(kit_scene_open(&scene, "kit_filter",
                                    "at=open,deed=services,word=the host reads no such file",
                                    &defaults),
                     SLUICE_E_CONFIG);
    assert_string_equal(scene.log, "2 quality a line");
    kit_says(&scene, "share 12345 scratch 1: no file /bad");
    snprintf(here, sizeof here, "%s", scene.err.message);
    scene.log[0] = '\0';
    assert_int_equal(
        kit_scene_open(&scene, "kit_filter", "at=open,deed=services,word=no file", NULL),
        SLUICE_E_CONFIG);
    /* The seed is equal, in whatever process. */
    *strstr(here, " share") = '\0';
    assert_memory_equal(scene.err.message, here, strlen(here));
    kit_scene_end(&scene);
}

/* ---- guards ---- */

static int said(const struct kit_scene *scene, const char *name)
{
    char key[40];
    const char *at;

    snprintf(key, sizeof key, " %s=", name);
    at = strstr(scene->err.message, key);
    if (at == NULL) {
        fail_msg("no %s in \"%s\"", name, scene->err.message);
    }
    return (int)strtol(at + strlen(key), NULL, 10);
}

static void test_rights_are_given_up(void **state)
{
    static const char *const refused[] = { "chmod",   "socket", "unix",   "fork",   "exec",  "kill",
                                           "killall", "ptrace", "chroot", "setuid", "setsid" };
    struct kit_scene scene;
    struct isolate_limits network = { .network = true };
    char guards[300];

    (void)state;
    isolate_guards(guards, sizeof guards);
    assert_int_equal(setenv("ISOLATE_KIT_SECRET", "x", 1), 0);
    begin(&scene);
    assert_int_equal(kit_scene_open(&scene, "kit_filter", "at=open,deed=attempts", &defaults),
                     SLUICE_E_CONFIG);
    assert_int_equal(said(&scene, "inside"), 0);
    assert_int_equal(said(&scene, "read"), 0);
    assert_int_equal(said(&scene, "secret"), ENOENT);
    /* 0 to 2, the two lines to the parent, and the file that the stage itself opened. */
    assert_int_equal(said(&scene, "files"), 6);
    if (strstr(guards, "NO seccomp") == NULL) {
        for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
            assert_int_equal(said(&scene, refused[k]), EPERM);
        }
    }
    if (strstr(guards, "NO Landlock") == NULL) {
        assert_int_equal(said(&scene, "outside"), EACCES);
        assert_int_equal(said(&scene, "environ"), EACCES);
        assert_int_equal(access("/tmp/isolate-kit-outside", F_OK), -1);
    }
    assert_int_equal(kit_scene_open(&scene, "kit_filter", "at=open,deed=attempts", &network),
                     SLUICE_E_CONFIG);
    assert_int_equal(said(&scene, "socket"), 0);
    assert_int_equal(kit_scene_open(&scene, "kit_filter", "at=open,deed=thread", &defaults),
                     SLUICE_E_CONFIG);
    kit_says(&scene, "thread=0 raise=0");
    assert_int_equal(scene.deaths, 0);
    kit_scene_end(&scene);
}

static int64_t mebibytes(const struct kit_scene *scene)
{
    const char *colon = strstr(scene->err.message, "(kit_filter): ");

    return colon == NULL ? -1 : strtoll(colon + strlen("(kit_filter): "), NULL, 10);
}

static void test_memory_is_limited(void **state)
{
    struct kit_scene scene;
    struct isolate_limits limits = { .memory = UINT64_C(64) << 20 };

    (void)state;
    /* Sanitizers have memory of their own, and end the process where it is used up. */
    if (SANITIZED) {
        skip();
    }
    begin(&scene);
    assert_int_equal(kit_scene_open(&scene, "kit_filter", "at=open,deed=allocate", &limits),
                     SLUICE_E_NOMEM);
    assert_in_range(mebibytes(&scene), 60, 64);
    assert_int_equal(kit_scene_open(&scene, "kit_filter", "at=open,deed=map", &limits),
                     SLUICE_E_NOMEM);
    assert_in_range(mebibytes(&scene), 64, 64 + 256);
    assert_int_equal(scene.deaths, 0);
    kit_scene_end(&scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_gives_equal_verdicts),
        cmocka_unit_test(test_columns_of_every_type_go_there_and_back),
        cmocka_unit_test(test_prepared_is_the_same),
        cmocka_unit_test(test_writer_gives_equal_bytes),
        cmocka_unit_test(test_reader_gives_equal_rows),
        cmocka_unit_test(test_state_is_carried),
        cmocka_unit_test(test_gate_judges),
        cmocka_unit_test(test_an_answer_grows),
        cmocka_unit_test(test_an_answer_beyond_the_memory_is_refused),
        cmocka_unit_test(test_errors_read_as_in_this_process),
        cmocka_unit_test(test_retry_leaves_a_worker_usable),
        cmocka_unit_test(test_services_are_the_parents),
        cmocka_unit_test(test_rights_are_given_up),
        cmocka_unit_test(test_memory_is_limited),
    };

    isolate_kit_child(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
