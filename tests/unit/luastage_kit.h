/* For tests of stages in Lua: a script is loaded, one of its stages opened, and rows go through the
 * stage driver as any plugin's do. Include after cmocka.h. */
#ifndef TESTS_UNIT_LUASTAGE_KIT_H
#define TESTS_UNIT_LUASTAGE_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/builder.h"
#include "lua/stage/luastage.h"
#include "lua/script/script.h"
#include "plugin/stage.h"
#include "sluice_arrays.h"

struct scene {
    char folder[64], path[128], modules[4096];
    struct registry *registry;
    struct script *script;
    struct graph *graph;
    const struct registry_entry *entry;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct stage_services services;
    struct schema schema;
    struct stage_inputs inputs;
    struct sluice_error err;
    uint64_t memory;
    const struct script_watch *watch;
};

/* ---- the scene ---- */

static inline void scene_init(struct scene *scene)
{
    struct registry_options options = { .bare = true };
    const char *src = getenv("SRC");
    char here[2048];

    memset(scene, 0, sizeof *scene);
    scene->err = (struct sluice_error)ERROR_INIT;
    snprintf(scene->folder, sizeof scene->folder, "/tmp/test-luastage-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof scene->path, "%s/t.lua", scene->folder);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(scene->modules, sizeof scene->modules, "%s/scripts", src != NULL ? src : here);
    assert_int_equal(registry_create(&options, &scene->registry, &scene->err), SLUICE_OK);
    schema_init(&scene->schema);
    stage_result_init(&scene->result);
    scene->inputs.n_ports = 1;
    scene->inputs.schemas[0] = &scene->schema;
}

/* Loads a script: the text behind `local s = require "sluice"` on its first line. */
static inline sluice_status scene_load(struct scene *scene, const char *code)
{
    struct script_options options = { .path = scene->path,
                                      .base_dir = scene->folder,
                                      .cwd = scene->folder,
                                      .module_dir = scene->modules,
                                      .registry = scene->registry,
                                      .memory = scene->memory,
                                      .testing = true,
                                      .watch = scene->watch };
    FILE *file = fopen(scene->path, "w");

    assert_non_null(file);
    fprintf(file, "local s = require \"sluice\"\n%s\n", code);
    fclose(file);
    return script_load(&options, &scene->script, &scene->graph, &scene->err);
}

static inline void scene_close(struct scene *scene)
{
    stage_worker_close(scene->worker);
    stage_close(scene->stage);
    stage_result_deinit(&scene->result);
    stage_prepared_deinit(&scene->prepared);
    schema_deinit(&scene->schema);
    graph_destroy(scene->graph);
    registry_destroy(scene->registry);
    script_destroy(scene->script);
    unlink(scene->path);
    rmdir(scene->folder);
}

static const char *const columns[][2] = {
    { "id", "utf8" },         { "text", "utf8" },   { "n", "int32" },
    { "score", "float64?" },  { "flag", "bool" },   { "big", "uint64" },
    { "tags", "list<utf8>" }, { "words", "spans" }, { "meta", "json?" },
    { "small", "float32" },   { "body", "utf8" },   { "odd", "struct<a:int32>" },
};

/* Opens the stage called name with options as on a command line ("max=0.5"), and a worker. */
static inline sluice_status scene_open(struct scene *scene, const char *name, const char *given)
{
    struct option_table table;
    struct value named = VALUE_INIT;
    struct option_args args = { .named = &named, .text = true };
    struct options *parsed = NULL;
    sluice_status status;

    assert_int_equal(registry_find(scene->registry, name, &scene->entry, &scene->err), SLUICE_OK);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        assert_int_equal(
            schema_add_text(&scene->schema, columns[i][0], columns[i][1], NULL, &scene->err),
            SLUICE_OK);
    }
    table = option_table_of(&scene->entry->stage);
    value_map_init(&named);
    assert_int_equal(options_split(given, &named, &scene->err), SLUICE_OK);
    status = options_parse(&table, &args, scene->folder, &parsed, &scene->err);
    value_deinit(&named);
    if (status != SLUICE_OK) {
        return status;
    }
    status = stage_open(scene->entry, parsed, name, &scene->services, &scene->stage, &scene->err);
    if (status == SLUICE_OK) {
        status = stage_prepare(scene->stage, &scene->inputs, &scene->prepared, &scene->err);
    }
    return status == SLUICE_OK ? stage_worker_open(scene->stage, &scene->worker, &scene->err)
                               : status;
}

static inline void append(struct builder *b, const char *name, const char *text, int64_t row)
{
    char id[32];

    snprintf(id, sizeof id, "d%d", (int)row);
    if (strcmp(name, "id") == 0) {
        assert_true(builder_bytes_add(b, id, strlen(id)));
    } else if (strcmp(name, "text") == 0 || strcmp(name, "body") == 0) {
        assert_true(builder_bytes_add(b, text, strlen(text)));
    } else if (strcmp(name, "n") == 0) {
        assert_true(builder_int(b, row - 1));
    } else if (strcmp(name, "score") == 0) {
        assert_true(row % 2 == 1 ? builder_null(b) : builder_float(b, (double)row / 2));
    } else if (strcmp(name, "small") == 0) {
        assert_true(builder_float(b, (double)row + 0.5));
    } else if (strcmp(name, "flag") == 0) {
        assert_true(builder_bool(b, row % 3 == 0));
    } else if (strcmp(name, "big") == 0) {
        assert_true(builder_uint(b, UINT64_MAX - (uint64_t)row));
    } else if (strcmp(name, "_row") == 0) {
        assert_true(builder_uint(b, (uint64_t)row));
    } else if (strcmp(name, "meta") == 0) {
        assert_true(row % 2 == 1 ? builder_null(b) : builder_bytes_add(b, "{\"a\":1}", 7));
    } else if (strcmp(name, "tags") == 0) {
        for (int64_t i = 0; i < row % 3; i++) {
            assert_true(builder_bytes_add(builder_child(b, 0), &"abc"[i], 1));
        }
        assert_true(builder_close(b));
    } else if (strcmp(name, "words") == 0) {
        uint64_t spans[2] = { 1, (uint64_t)row };
        assert_true(builder_list_fixed(b, spans, 2));
    } else {
        fail_msg("no values for %s", name);
    }
}

static const char *column_type(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (strcmp(columns[i][0], name) == 0) {
            return columns[i][1];
        }
    }
    return "uint64";
}

/* Processes n rows whose texts are texts[k], or "row k" without texts. */
static inline sluice_status scene_process(struct scene *scene, const char *const *texts, int64_t n)
{
    uint32_t n_needs = scene->prepared.n_needs[0];
    struct ArrowArray *children = calloc(n_needs + 1, sizeof *children);
    struct ArrowArray array;
    struct sluice_batch batch = { .size = sizeof batch, .array = &array, .n = n };
    sluice_status status;

    for (uint32_t k = 0; k < n_needs; k++) {
        const char *name = scene->prepared.needs[0][k].name;
        struct type *type = NULL;
        struct builder *builder = NULL;
        assert_int_equal(type_parse(column_type(name), &type, &scene->err), SLUICE_OK);
        assert_int_equal(builder_create(type, &builder, &scene->err), SLUICE_OK);
        for (int64_t row = 0; row < n; row++) {
            char text[32];
            snprintf(text, sizeof text, "row %d", (int)row);
            append(builder, name, texts == NULL ? text : texts[row], row);
        }
        assert_int_equal(builder_finish(builder, &children[k], &scene->err), SLUICE_OK);
        builder_destroy(builder);
        type_destroy(type);
    }
    assert_int_equal(array_struct(&array, n, n_needs, children, &scene->err), SLUICE_OK);
    free(children);
    status = stage_process(scene->worker, &batch, &scene->result, &scene->err);
    array.release(&array);
    return status;
}

static inline void scene_ready(struct scene *scene, const char *code, const char *name,
                               const char *given)
{
    scene_init(scene);
    if (scene_load(scene, code) != SLUICE_OK || scene_open(scene, name, given) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
}

static inline void processed(struct scene *scene, const char *const *texts, int64_t n)
{
    if (scene_process(scene, texts, n) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
}

static inline void assert_says(const struct scene *scene, const char *part)
{
    if (strstr(scene->err.message, part) == NULL) {
        fail_msg("found: %s\nexpected: %s", scene->err.message, part);
    }
}

/* The script can't be loaded, for this reason. */
static inline void refused(const char *code, const char *part)
{
    struct scene scene;

    scene_init(&scene);
    assert_int_equal(scene_load(&scene, code), SLUICE_E_CONFIG);
    assert_says(&scene, part);
    assert_int_equal(strncmp(scene.err.message, "t.lua:", 6), 0);
    scene_close(&scene);
}

static const char *reason(const struct scene *scene, int64_t row)
{
    int32_t k = scene->result.verdicts[row].reason;

    return k == 0 ? "" : k < 0 ? "bad" : stage_reason(scene->stage, (uint32_t)k);
}

static inline void assert_bad(const struct scene *scene, int64_t row, const char *part)
{
    assert_string_equal(reason(scene, row), "bad");
    if (strstr(scene->result.verdicts[row].dup_of, part) == NULL) {
        fail_msg("found: %s\nexpected: %s", scene->result.verdicts[row].dup_of, part);
    }
}

#endif
