/* A host at work with a plugin of another header: every role and service of kinds.h, through the
 * stage driver. As a unit test it is today's host with the plugin that was built from the frozen
 * header of ABI 1.0; tests/abi/grown.sh builds it against a header whose structs have grown, and
 * gives either of them a newer plugin in KINDS_PLUGIN. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugin/stage.h"
#include "sluice_arrays.h"

static char library[PATH_MAX];

struct scene {
    struct registry *registry;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct schema schema;
    struct stage_services services;
    int logged;
    struct sluice_error err;
};

#define OK(expression)                          \
    do {                                        \
        if ((expression) != SLUICE_OK) {        \
            fail_msg("%s", scene->err.message); \
        }                                       \
    } while (0)

static void count_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    (void)level;
    (void)stage;
    assert_string_equal(message, "hello from a plugin");
    (*(int *)ctx)++;
}

static sluice_status read_nothing(void *ctx, const char *path, const void **data, uint64_t *size,
                                  struct sluice_error *err)
{
    (void)ctx;
    *data = NULL;
    *size = 0;
    return error_set(err, SLUICE_E_IO, "there is no %s", path);
}

/* Opens stage `name` of the plugin and prepares it; the text column is a nullable one. */
static sluice_status scene_prepare(struct scene *scene, const char *name)
{
    const char *files[] = { library };
    struct registry_options options = { .bare = true, .trust = true, .files = files, .n_files = 1 };
    struct stage_inputs inputs = { .n_ports = 1 };
    const struct registry_entry *entry;
    struct option_table table;
    struct options *parsed;

    memset(scene, 0, sizeof *scene);
    scene->err = (struct sluice_error)ERROR_INIT;
    scene->services.ctx = &scene->logged;
    scene->services.log = count_log;
    scene->services.read_file = read_nothing;
    stage_result_init(&scene->result);
    schema_init(&scene->schema);
    OK(registry_create(&options, &scene->registry, &scene->err));
    OK(registry_find(scene->registry, name, &entry, &scene->err));
    table = option_table_of(&entry->stage);
    OK(options_parse(&table, NULL, NULL, &parsed, &scene->err));
    OK(stage_open(entry, parsed, "it", &scene->services, &scene->stage, &scene->err));
    assert_int_equal(scene->logged, 1);
    OK(schema_add_text(&scene->schema, "id", "utf8", NULL, &scene->err));
    OK(schema_add_text(&scene->schema, "text", "utf8?", NULL, &scene->err));
    inputs.schemas[0] = &scene->schema;
    return stage_prepare(scene->stage, &inputs, &scene->prepared, &scene->err);
}

static void scene_open(struct scene *scene, const char *name)
{
    OK(scene_prepare(scene, name));
    OK(stage_worker_open(scene->stage, &scene->worker, &scene->err));
}

static void scene_close(struct scene *scene)
{
    stage_worker_close(scene->worker);
    stage_prepared_deinit(&scene->prepared);
    stage_result_deinit(&scene->result);
    stage_close(scene->stage);
    schema_deinit(&scene->schema);
    registry_destroy(scene->registry);
}

/* Runs rows 0, 2 and 3 of four through process; columns are those that were asked for. */
static void process_texts(struct scene *scene)
{
    static const char *const texts[] = { "abcde", "left alone", "xy", "abcdefghijklmno" };
    static const uint32_t chosen[] = { 0, 2, 3 };
    struct sluice_batch batch = { .size = sizeof batch, .rows = chosen, .n = 3 };
    struct ArrowArray columns[4];
    struct ArrowArray array;

    for (uint32_t k = 0; k < scene->prepared.n_needs[0]; k++) {
        struct sluice_bytes b[2] = { { 0 } };
        bool rows = scene->prepared.needs[0][k].field == STAGE_FIELD_ROW;
        for (uint64_t row = 0; row < 4; row++) {
            uint64_t number = 100 + row;
            assert_true(rows ? sluice_bytes_add(&b[0], &number, sizeof number)
                             : sluice_bytes_add_text(&b[0], &b[1], texts[row], strlen(texts[row])));
        }
        OK(rows ? sluice_make_fixed(&columns[k], 4, &b[0], NULL, 0)
                : sluice_make_text(&columns[k], 4, &b[0], &b[1], NULL, 0));
    }
    OK(sluice_make_struct(&array, 4, scene->prepared.n_needs[0], columns));
    batch.array = &array;
    OK(stage_process(scene->worker, &batch, &scene->result, &scene->err));
    array.release(&array);
}

static void test_filter(void **state)
{
    struct scene own;
    struct scene *scene = &own;
    const struct sluice_verdict *v;

    (void)state;
    scene_open(scene, "k_judge");
    process_texts(scene);
    assert_true(scene->result.has_verdicts);
    assert_int_equal(scene->result.n_verdicts, 3);
    v = scene->result.verdicts;
    assert_true(v[0].reason == 0 && v[0].value == 5 && v[0].limit == 3 && v[0].dup_of == NULL);
    assert_true(v[1].reason == 1 && v[1].value == 2 && v[1].limit == 3);
    assert_true(v[2].reason == 2 && v[2].value == 15 && v[2].limit == 10 && v[2].similarity == 0.5);
    assert_string_equal(v[2].dup_of, "abcd");
    scene_close(scene);
}

static void test_refusal(void **state)
{
    struct scene own;
    struct scene *scene = &own;

    (void)state;
    assert_int_equal(scene_prepare(scene, "k_refused"), SLUICE_E_SCHEMA);
    assert_non_null(strstr(scene->err.message, "surely_absent"));
    scene_close(scene);
}

static void test_annotator(void **state)
{
    struct scene own;
    struct scene *scene = &own;

    (void)state;
    scene_open(scene, "k_bytes");
    assert_int_equal(scene->prepared.added.n, 1);
    process_texts(scene);
    assert_int_equal(scene->result.n_batches, 1);
    assert_int_equal(sluice_int64(scene->result.batches[0].children[0], 2), 15);
    scene_close(scene);
}

static void test_transform(void **state)
{
    struct scene own;
    struct scene *scene = &own;
    size_t n;

    (void)state;
    scene_open(scene, "k_rows");
    assert_int_equal(scene->prepared.n_notes, 1);
    process_texts(scene);
    assert_int_equal(scene->result.n_batches, 3);
    assert_int_equal(scene->result.batches[1].length, 2);
    assert_memory_equal(sluice_text(scene->result.batches[1].children[0], 1, &n), "xy", 2);
    assert_true(sluice_uint64(scene->result.batches[1].children[1], 1) == 102);
    assert_true(scene->result.n_measures == 1 && scene->result.measures[0].delta == 6);
    OK(stage_flush(scene->worker, &scene->result, &scene->err));
    assert_int_equal(scene->result.n_batches, 1);
    scene_close(scene);
}

static void test_reader(void **state)
{
    char data[64 + SLUICE_PADDING] = "one;;three;fo";
    struct sluice_chunk chunk = { .size = sizeof chunk,
                                  .data = data,
                                  .n = strlen(data),
                                  .offset = 1000,
                                  .uri = "file.txt",
                                  .flags = SLUICE_CHUNK_FIRST };
    struct scene own;
    struct scene *scene = &own;

    (void)state;
    scene_open(scene, "k_lines");
    OK(stage_read(scene->worker, &chunk, &scene->result, &scene->err));
    assert_int_equal(chunk.consumed, 11);
    assert_true(scene->result.n_batches == 1 && scene->result.batches[0].length == 2);
    assert_int_equal(scene->result.n_bad, 1);
    assert_true(scene->result.bad[0].begin == 1004 && scene->result.bad[0].end == 1004);
    assert_string_equal(scene->result.bad[0].reason, "empty_record");
    assert_string_equal(scene->result.bad[0].detail, "file.txt");
    scene_close(scene);
}

static void test_writer(void **state)
{
    struct scene own;
    struct scene *scene = &own;

    (void)state;
    scene_open(scene, "k_files");
    assert_int_equal(scene->prepared.n_outputs, 1);
    assert_string_equal(scene->prepared.outputs[0].codec, "zstd");
    process_texts(scene);
    assert_int_equal(scene->result.bytes.size, 22);
    assert_int_equal(scene->result.n_marks, 3);
    assert_true(scene->result.marks[1].output == STAGE_MARK_ROLL &&
                scene->result.marks[1].rows == 2);
    scene_close(scene);
}

static int64_t count_of(void *ctx, const char *node)
{
    (void)ctx;
    return strcmp(node, "docs") == 0 ? 9 : -1;
}

static void test_gate(void **state)
{
    struct stage_judgement judgement;
    struct buf saved = BUF_INIT;
    struct stage_worker *other;
    struct scene own;
    struct scene *scene = &own;

    (void)state;
    scene_open(scene, "k_count");
    process_texts(scene);
    OK(stage_save(scene->worker, &saved, &scene->err));
    OK(stage_worker_open(scene->stage, &other, &scene->err));
    OK(stage_load(other, saved.data, saved.size, &scene->err));
    OK(stage_merge(other, saved.data, saved.size, &scene->err));
    OK(stage_merge(other, saved.data, saved.size, &scene->err));
    OK(stage_judge(other, count_of, NULL, &judgement, &scene->err));
    assert_int_equal(judgement.outcome, SLUICE_GATE_WARN);
    assert_string_equal(judgement.message, "all of them");
    stage_worker_close(other);
    buf_deinit(&saved);
    scene_close(scene);
}

static void assert_refused(const char *name, const char *message)
{
    char path[PATH_MAX];
    const char *files[] = { path };
    struct registry_options options = { .bare = true, .trust = true, .files = files, .n_files = 1 };
    struct sluice_error err = ERROR_INIT;
    struct registry *registry;

    if (getenv("KINDS_PLUGIN") != NULL) {
        return; /* there is only that one */
    }
    snprintf(path, sizeof path, "%.*s/%s.so", (int)(strrchr(library, '/') - library), library,
             name);
    assert_int_equal(registry_create(&options, &registry, &err), SLUICE_E_CONFIG);
    if (strstr(err.message, message) == NULL) {
        fail_msg("%s", err.message);
    }
}

static void test_bad_plugins(void **state)
{
    (void)state;
    /* Shorter verdicts than any header has had. */
    assert_refused("bad_stride", "its verdict_stride is 32, expected at least 40");
    assert_refused("bad_option", "an option can't be called 'side' or 'isolate'");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),    cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_annotator), cmocka_unit_test(test_transform),
        cmocka_unit_test(test_reader),    cmocka_unit_test(test_writer),
        cmocka_unit_test(test_gate),      cmocka_unit_test(test_bad_plugins),
    };
    const char *given = getenv("KINDS_PLUGIN");
    ssize_t n;

    if (argc == 3 && strcmp(argv[1], "__probe") == 0) {
        return probe_main(argv[2]);
    }
    n = readlink("/proc/self/exe", library, sizeof library - 32);
    if (n <= 0) {
        return 1;
    }
    library[n] = '\0';
    if (given != NULL) {
        snprintf(library, sizeof library, "%s", given);
    } else {
        *strrchr(library, '/') = '\0';
        strcpy(strrchr(library, '/'), "/abi/kinds_1_0.so");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
