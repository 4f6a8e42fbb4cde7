/* Rows in quarantine: what is written is read again, and nothing in a file is trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/builder.h"
#include "plugin/registry.h"
#include "run/chain/quarantine.h"
#include "store/disk.h"

static sluice_status take_all(void *worker, const struct sluice_batch *batch,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)batch;
    (void)emit;
    (void)err;
    return SLUICE_OK;
}

static const struct sluice_stage kind = { .size = sizeof kind,
                                          .name = "picky",
                                          .version = "1",
                                          .summary = "A filter.",
                                          .role = SLUICE_ROLE_FILTER,
                                          .reasons = "x",
                                          .process = take_all };

/* A phase of a loaded edge and a stage that asks for two of its three columns and one that is
 * absent. */
struct world {
    char folder[64];
    struct registry *registry;
    struct phase phase;
    struct op source, op;
    struct op *ops[2];
    struct lane lane;
    struct lane *lanes[1];
    int32_t need[3];
    struct batch *batch;
};

static struct column *texts(const char *type_text, const char *const *values, int n)
{
    struct type *type;
    struct builder *builder;
    struct ArrowArray array;
    struct column *column;

    assert_int_equal(type_parse(type_text, &type, NULL), SLUICE_OK);
    assert_int_equal(builder_create(type, &builder, NULL), SLUICE_OK);
    for (int k = 0; k < n; k++) {
        assert_true(values[k] == NULL ? builder_null(builder)
                                      : builder_bytes_add(builder, values[k], strlen(values[k])));
    }
    assert_int_equal(builder_finish(builder, &array, NULL), SLUICE_OK);
    column = column_create(&array);
    assert_non_null(column);
    builder_destroy(builder);
    type_destroy(type);
    return column;
}

static void world_open(struct world *world)
{
    static const char *const ids[] = { "a", "b", "c" };
    static const char *const words[] = { "one", "two words", "three" };
    static const char *const notes[] = { "x", NULL, "z" };
    struct registry_options options = { .bare = true };
    const struct registry_entry *entry;
    struct option_table table = option_table_of(&kind);
    struct option_args args = { 0 };
    struct options *parsed;
    struct stage_services services = { 0 };
    struct column *columns[3];

    memset(world, 0, sizeof *world);
    strcpy(world->folder, "/tmp/sluice-quarantine-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    assert_int_equal(registry_create(&options, &world->registry, NULL), SLUICE_OK);
    assert_int_equal(registry_add(world->registry, &kind, PLUGIN_SCRIPT, "p.lua:1",
                                  (struct hash128){ 1, 2 }, &entry, NULL),
                     SLUICE_OK);
    assert_int_equal(options_parse(&table, &args, NULL, &parsed, NULL), SLUICE_OK);
    assert_int_equal(
        stage_open(entry, parsed, "picky", &services, &world->op.as.stage.code.stage, NULL),
        SLUICE_OK);
    world->lane.kind = LANE_GLOBAL;
    world->lane.n_tasks = 1;
    world->lanes[0] = &world->lane;
    world->source.kind = OP_LOAD;
    assert_int_equal(schema_add_text(&world->source.out, "id", "utf8", NULL, NULL), SLUICE_OK);
    assert_int_equal(schema_add_text(&world->source.out, "text", "utf8", NULL, NULL), SLUICE_OK);
    assert_int_equal(schema_add_text(&world->source.out, "note", "utf8?", NULL, NULL), SLUICE_OK);
    world->need[0] = 2;
    world->need[1] = -1;
    world->need[2] = 1;
    world->op.index = 1;
    world->op.kind = OP_STAGE;
    world->op.name = (char *)"picky";
    world->op.as.stage.code.declared = &kind;
    world->op.as.stage.n_inputs = 1;
    world->op.as.stage.need[0] = world->need;
    world->op.as.stage.n_need[0] = 3;
    world->ops[0] = &world->source;
    world->ops[1] = &world->op;
    world->phase.name = (char *)"1-load-picky";
    world->phase.ops = world->ops;
    world->phase.n_ops = 2;
    world->phase.lanes = world->lanes;
    world->phase.n_lanes = 1;
    world->phase.n_tasks = 1;
    columns[0] = texts("utf8", ids, 3);
    columns[1] = texts("utf8", words, 3);
    columns[2] = texts("utf8?", notes, 3);
    world->batch = batch_create(3, 3, columns);
    assert_non_null(world->batch);
}

static void world_close(struct world *world)
{
    char command[128];

    batch_unref(world->batch);
    schema_deinit(&world->source.out);
    stage_close(world->op.as.stage.code.stage);
    registry_destroy(world->registry);
    snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
    assert_int_equal(system(command), 0);
}

static struct quarantine_row row_of(const struct world *world, uint64_t row)
{
    return (struct quarantine_row){ .phase = &world->phase,
                                    .op = &world->op,
                                    .row = row,
                                    .reason = "crash",
                                    .detail = "stage 'picky': it crashed \"here\"\n" };
}

static void keep(const struct world *world, struct kept_rows *kept, uint64_t row, uint32_t at)
{
    struct quarantine_row given = row_of(world, row);
    struct sluice_error err = ERROR_INIT;

    if (quarantine_add(kept, &given, world->batch, at, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
}

static void test_round_trip(void **state)
{
    struct world world;
    struct kept_rows kept = { 0 };
    struct quarantined row;
    struct sluice_error err = ERROR_INIT;
    char *path;
    char *again;
    size_t n;

    (void)state;
    world_open(&world);
    assert_null(quarantine_path(world.folder, (struct hash128){ 3, 4 }, "picky", 71));
    keep(&world, &kept, 71, 1);
    keep(&world, &kept, 72, 2);
    assert_int_equal(quarantine_write(&kept, (struct hash128){ 3, 4 }, world.folder, &err),
                     SLUICE_OK);
    assert_int_equal(quarantine_write(&kept, (struct hash128){ 3, 4 }, world.folder, &err),
                     SLUICE_OK); /* a task that runs again */
    path = quarantine_path(world.folder, (struct hash128){ 3, 4 }, "picky", 71);
    again = quarantine_path(world.folder, (struct hash128){ 3, 4 }, "picky", 72);
    assert_non_null(path);
    assert_non_null(again);
    assert_string_not_equal(path, again);
    assert_null(quarantine_path(world.folder, (struct hash128){ 3, 5 }, "picky", 71));
    assert_int_equal(quarantine_read(path, false, &row, &err), SLUICE_OK);
    assert_string_equal(row.stage, "picky");
    assert_string_equal(row.kind, "script.picky");
    assert_string_equal(row.phase, "1-load-picky");
    assert_string_equal(row.reason, "crash");
    assert_string_equal(row.detail, "stage 'picky': it crashed \"here\"\n");
    assert_int_equal(row.row, 71);
    assert_int_equal(row.n_columns, 3);
    assert_string_equal(row.names[0], "note");
    assert_null(row.names[1]);
    assert_string_equal(row.names[2], "text");
    assert_int_equal(row.batch->length, 1);
    assert_true(array_is_null(&row.batch->columns[0]->array, 0));
    assert_memory_equal(array_bytes(&row.batch->columns[1]->array, 0, &n), "two words", 9);
    assert_int_equal(n, 9);
    quarantined_deinit(&row);
    assert_int_equal(quarantine_read(path, true, &row, &err), SLUICE_OK);
    assert_null(row.batch);
    quarantined_deinit(&row);
    free(path);
    free(again);
    quarantine_deinit(&kept);
    world_close(&world);
}

/* A task keeps a bounded number of rows, and none of stages with a side input: they can't be run on
 * a row alone. */
static void test_limits(void **state)
{
    struct sluice_stage sided = kind;
    struct world world;
    struct kept_rows kept = { 0 };

    (void)state;
    world_open(&world);
    for (uint64_t k = 0; k < 2 * QUARANTINE_ROWS_MAX; k++) {
        keep(&world, &kept, k, 0);
    }
    assert_int_equal(kept.n, QUARANTINE_ROWS_MAX);
    quarantine_deinit(&kept);
    sided.flags = SLUICE_STAGE_SIDE_INPUT;
    world.op.as.stage.code.declared = &sided;
    keep(&world, &kept, 1, 0);
    assert_int_equal(kept.n, 0);
    assert_int_equal(quarantine_write(&kept, (struct hash128){ 3, 4 }, "/does/not/exist", NULL),
                     SLUICE_OK); /* nothing to write */
    quarantine_deinit(&kept);
    world_close(&world);
}

static void write_bytes(const char *path, const char *data, size_t n)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* The one that was kept. */
static char *file_of(const char *folder, size_t *n)
{
    char *path = quarantine_path(folder, (struct hash128){ 3, 4 }, "picky", 5);
    struct buf bytes = BUF_INIT;

    assert_int_equal(disk_read_file(path, 1u << 20, &bytes, NULL, NULL), SLUICE_OK);
    free(path);
    *n = bytes.size;
    return buf_take(&bytes);
}

static void test_damage(void **state)
{
    struct world world;
    struct kept_rows kept = { 0 };
    struct quarantined row;
    char path[128];
    char *bytes;
    size_t n;

    (void)state;
    world_open(&world);
    keep(&world, &kept, 5, 1);
    snprintf(path, sizeof path, "%s/k", world.folder);
    assert_int_equal(quarantine_write(&kept, (struct hash128){ 3, 4 }, world.folder, NULL),
                     SLUICE_OK);
    bytes = file_of(world.folder, &n);
    for (size_t k = 0; k < n; k++) {
        write_bytes(path, bytes, k);
        assert_int_equal(quarantine_read(path, false, &row, NULL), SLUICE_E_DATA);
        quarantined_deinit(&row);
    }
    /* A changed byte of the text may still be a row; one of the frame never is. */
    for (size_t k = 0; k < n; k++) {
        sluice_status status;
        bytes[k] ^= 0x41;
        write_bytes(path, bytes, n);
        status = quarantine_read(path, false, &row, NULL);
        assert_true(status == SLUICE_E_DATA || (status == SLUICE_OK && k < 400));
        assert_true(status != SLUICE_OK || row.batch->length == 1);
        quarantined_deinit(&row);
        bytes[k] ^= 0x41;
    }
    snprintf(path, sizeof path, "%s/none", world.folder);
    assert_int_equal(quarantine_read(path, false, &row, NULL), SLUICE_E_CONFIG);
    quarantined_deinit(&row);
    free(bytes);
    quarantine_deinit(&kept);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
