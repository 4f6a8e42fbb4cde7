/* The stage driver: prepare, workers, what is accepted from plugins and what is not, state, gates,
 * host services. The stages here are added to a registry directly; test_registry loads real
 * ones. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/builder.h"
#include "plugin/stage.h"
#include "tests/unit/alloc_fail.h"

/* ---- a stage that does what the test says ---- */

struct script { /* read by the callbacks below through `now` */
    sluice_status (*prepare)(struct sluice_plan *, struct sluice_error *);
    sluice_status (*process)(const struct sluice_batch *, struct sluice_emit *,
                             struct sluice_error *);
    sluice_status (*read)(struct sluice_chunk *, struct sluice_emit *, struct sluice_error *);
    sluice_status (*flush)(struct sluice_emit *, struct sluice_error *);
    sluice_status (*open)(const struct sluice_host_api *, struct sluice_host *,
                          struct sluice_error *);
    sluice_status (*judge)(struct sluice_verdict_io *);
    int opened, closed, workers;
    const struct sluice_host_api *api;
    struct sluice_host *host;
    uint64_t sum; /* the state that save, load and merge carry */
};

static struct script now;

static sluice_status stub_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    (void)config;
    now.api = api;
    now.host = host;
    now.opened++;
    *shared = &now;
    return now.open != NULL ? now.open(api, host, err) : SLUICE_OK;
}

static sluice_status stub_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    assert_ptr_equal(shared, &now);
    return now.prepare != NULL ? now.prepare(plan, err) : SLUICE_OK;
}

static sluice_status stub_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    (void)err;
    now.workers++;
    *worker = shared;
    return SLUICE_OK;
}

static sluice_status stub_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    return now.process(batch, emit, err);
}

static sluice_status stub_read(void *worker, struct sluice_chunk *chunk, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    (void)worker;
    return now.read(chunk, emit, err);
}

static sluice_status stub_flush(void *worker, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    return now.flush != NULL ? now.flush(emit, err) : SLUICE_OK;
}

static sluice_status stub_save(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return io->write(io, &now.sum, sizeof now.sum);
}

static sluice_status stub_load(void *worker, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    (void)worker;
    (void)err;
    assert_int_equal(version, 3);
    return io->read(io, &now.sum, sizeof now.sum);
}

static sluice_status stub_merge(void *worker, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    uint64_t other;

    (void)worker;
    (void)version;
    (void)err;
    if (io->read(io, &other, 4) != SLUICE_OK || io->read(io, (char *)&other + 4, 4) != SLUICE_OK) {
        return SLUICE_E_DATA;
    }
    now.sum += other;
    return SLUICE_OK;
}

static sluice_status stub_judge(void *worker, struct sluice_verdict_io *io,
                                struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return now.judge(io);
}

static void stub_worker_close(void *worker)
{
    assert_ptr_equal(worker, &now);
    now.workers--;
}

static void stub_close(void *shared)
{
    assert_ptr_equal(shared, &now);
    now.closed++;
}

/* ---- the scene ---- */

struct scene {
    struct registry *registry;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct schema schema, side;
    struct stage_inputs inputs;
    struct stage_services services;
    struct sluice_error err;
};

static void add_field(struct schema *schema, const char *name, const char *type,
                      const char *metadata)
{
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(schema_add_text(schema, name, type, metadata, &err), SLUICE_OK);
}

static void scene_open_as(struct scene *scene, uint32_t role, uint64_t flags, const char *plugin)
{
    struct registry_options options = { .bare = true };
    struct sluice_stage kind = {
        .size = sizeof kind,
        .name = "stub",
        .version = "1",
        .summary = "Does what it is told.",
        .role = role,
        .flags = flags,
        .reasons = role == SLUICE_ROLE_FILTER ? "short|long" : NULL,
        .cut = "newline",
        .state_version = 3,
        .open = stub_open,
        .prepare = stub_prepare,
        .worker_open = stub_worker_open,
        .process = stub_process,
        .read = stub_read,
        .flush = stub_flush,
        .save = stub_save,
        .load = stub_load,
        .merge = stub_merge,
        .judge = stub_judge,
        .worker_close = stub_worker_close,
        .close = stub_close,
    };
    const struct registry_entry *entry;
    struct option_table table;
    struct options *parsed;
    struct hash128 hash = { 1, 1 };

    scene->err = (struct sluice_error)ERROR_INIT;
    assert_int_equal(registry_create(&options, &scene->registry, &scene->err), SLUICE_OK);
    if (registry_add_user(scene->registry, &kind, scene, plugin, "test", hash, &entry,
                          &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    table = option_table_of(&entry->stage);
    assert_int_equal(options_parse(&table, NULL, NULL, &parsed, &scene->err), SLUICE_OK);
    schema_init(&scene->schema);
    schema_init(&scene->side);
    add_field(&scene->schema, "id", "utf8", NULL);
    add_field(&scene->schema, "text", "utf8?", "lang=en\nvocab_size=7");
    add_field(&scene->schema, "n", "int64", NULL);
    add_field(&scene->side, "key", "uint64", NULL);
    scene->inputs.n_ports = 2;
    scene->inputs.schemas[0] = &scene->schema;
    scene->inputs.schemas[1] = &scene->side;
    stage_result_init(&scene->result);
    if (stage_open(entry, parsed, "quality", &scene->services, &scene->stage, &scene->err) !=
        SLUICE_OK) {
        assert_null(scene->stage);
    }
}

static void scene_open(struct scene *scene, uint32_t role)
{
    memset(scene, 0, sizeof *scene);
    scene_open_as(scene, role, 0, PLUGIN_SCRIPT);
}

static sluice_status scene_prepare(struct scene *scene)
{
    stage_prepared_deinit(&scene->prepared);
    return stage_prepare(scene->stage, &scene->inputs, &scene->prepared, &scene->err);
}

static void scene_work(struct scene *scene)
{
    if (scene_prepare(scene) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    assert_int_equal(stage_worker_open(scene->stage, &scene->worker, &scene->err), SLUICE_OK);
}

static void scene_close(struct scene *scene)
{
    stage_worker_close(scene->worker);
    stage_close(scene->stage);
    stage_result_deinit(&scene->result);
    stage_prepared_deinit(&scene->prepared);
    schema_deinit(&scene->schema);
    schema_deinit(&scene->side);
    registry_destroy(scene->registry);
    assert_int_equal(now.workers, 0);
    assert_int_equal(now.closed, scene->stage != NULL ? 1 : 0);
    memset(&now, 0, sizeof now);
}

static void assert_says(const struct scene *scene, const char *text)
{
    if (strstr(scene->err.message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, scene->err.message);
    }
}

/* ---- prepare ---- */

static int32_t places[8];

static sluice_status ask_columns(struct sluice_plan *plan, struct sluice_error *err)
{
    const char *name;
    const char *type;

    assert_int_equal(plan->need(plan, 0, "text", "utf8?", 0, &places[0], err), SLUICE_OK);
    assert_int_equal(plan->need(plan, 0, "n", "int32|int64", 0, &places[1], err), SLUICE_OK);
    assert_int_equal(plan->need(plan, 0, "text", "", 0, &places[2], err), SLUICE_OK);
    assert_int_equal(plan->need(plan, 0, "lang", "utf8", 1, &places[3], err), SLUICE_OK);
    assert_int_equal(plan->need(plan, 0, "_row", "uint64", 0, &places[4], err), SLUICE_OK);
    assert_int_equal(plan->need(plan, 1, "key", "uint64", 0, &places[5], err), SLUICE_OK);
    assert_string_equal(plan->metadata(plan, 0, places[0], "vocab_size"), "7");
    assert_null(plan->metadata(plan, 0, places[0], "none"));
    assert_null(plan->metadata(plan, 0, 99, "vocab_size"));
    assert_int_equal(plan->column(plan, 0, 1, &name, &type), SLUICE_OK);
    assert_string_equal(name, "text");
    assert_string_equal(type, "utf8?");
    assert_int_equal(plan->column(plan, 0, 3, &name, &type), SLUICE_OK);
    assert_string_equal(type, "");
    assert_int_equal(plan->wanted(plan, "anything"), 1);
    return plan->note(plan, "eos_id", " {\"id\":5}", err);
}

static void test_needs(void **state)
{
    struct scene scene = { 0 };

    (void)state;
    now.prepare = ask_columns;
    scene_open_as(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_SIDE_INPUT, PLUGIN_SCRIPT);
    if (scene_prepare(&scene) != SLUICE_OK) {
        fail_msg("%s", scene.err.message);
    }
    assert_int_equal(places[0], 0);
    assert_int_equal(places[1], 1);
    assert_int_equal(places[2], 0);
    assert_int_equal(places[3], -1);
    assert_int_equal(places[4], 2);
    assert_int_equal(places[5], 0);
    assert_int_equal(scene.prepared.n_needs[0], 3);
    assert_int_equal(scene.prepared.n_needs[1], 1);
    assert_int_equal(scene.prepared.needs[0][0].field, 1);
    assert_int_equal(scene.prepared.needs[0][1].field, 2);
    assert_int_equal(scene.prepared.needs[0][2].field, STAGE_FIELD_ROW);
    assert_string_equal(scene.prepared.needs[0][2].name, "_row");
    assert_false(scene.prepared.missing);
    assert_int_equal(scene.prepared.n_notes, 1);
    assert_string_equal(scene.prepared.notes[0].key, "eos_id");
    scene_close(&scene);
}

static sluice_status ask_absent(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need(plan, 0, "txt", "utf8", 0, &places[0], err);
}

static sluice_status ask_wrong_type(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need(plan, 0, "n", "utf8|list<uint32>", 0, &places[0], err);
}

static sluice_status ask_without_nulls(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need(plan, 0, "text", "utf8", 0, &places[0], err);
}

static sluice_status ignore_refusal(struct sluice_plan *plan, struct sluice_error *err)
{
    (void)err;
    assert_int_equal(plan->need(plan, 0, "txt", "utf8", 0, &places[0], NULL), SLUICE_E_SCHEMA);
    assert_int_equal(places[0], -1);
    return SLUICE_OK;
}

static sluice_status ask_side(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need(plan, 1, "key", "", 0, &places[0], err);
}

static sluice_status ask_nonsense(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need(plan, 0, "n", "int65", 0, &places[0], err);
}

static sluice_status add_by_filter(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->add(plan, "score", "float64", NULL, err);
}

static sluice_status note_no_json(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->note(plan, "eos", "{", err);
}

static sluice_status say_nothing(struct sluice_plan *plan, struct sluice_error *err)
{
    (void)plan;
    (void)err;
    return SLUICE_E_CONFIG;
}

static void test_refused_needs(void **state)
{
    static const struct {
        sluice_status (*prepare)(struct sluice_plan *, struct sluice_error *);
        sluice_status status;
        const char *text;
    } cases[] = {
        { ask_absent, SLUICE_E_SCHEMA,
          "stage 'quality' (stub): it needs the column 'txt' of type utf8: " },
        { ask_absent, SLUICE_E_SCHEMA, "did you mean 'text'" },
        { ask_wrong_type, SLUICE_E_SCHEMA, "the column 'n' is int64, expected utf8|list<uint32>" },
        { ask_without_nulls, SLUICE_E_SCHEMA,
          "the column 'text' is utf8?, expected utf8 (a trailing ? means" },
        { ignore_refusal, SLUICE_E_SCHEMA, "it needs the column 'txt'" },
        { ask_side, SLUICE_E_INTERNAL, "port 1, which it does not have" },
        { ask_nonsense, SLUICE_E_INTERNAL, "it asks for the type \"int65\"" },
        { add_by_filter, SLUICE_E_INTERNAL,
          "only readers, annotators and transforms have output columns" },
        { note_no_json, SLUICE_E_INTERNAL, "the note 'eos'" },
        { say_nothing, SLUICE_E_CONFIG, "it failed with status 1 and left no message" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct scene scene;
        now.prepare = cases[k].prepare;
        scene_open(&scene, SLUICE_ROLE_FILTER);
        assert_int_equal(scene_prepare(&scene), cases[k].status);
        assert_int_equal(scene.err.code, cases[k].status);
        assert_says(&scene, cases[k].text);
        scene_close(&scene);
    }
}

static sluice_status ask_words(struct sluice_plan *plan, struct sluice_error *err)
{
    assert_int_equal(plan->need_derived(plan, 0, "words", "rule=uax29", "text", &places[0], err),
                     SLUICE_OK);
    assert_int_equal(plan->need(plan, 0, "id", "utf8", 0, &places[1], err), SLUICE_OK);
    return plan->need_derived(plan, 0, "words", "rule=uax29", "text", &places[2], err);
}

static sluice_status ask_words_of_nothing(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->need_derived(plan, 0, "words", "", "body", &places[0], err);
}

static char *copy(const char *text)
{
    char *made = str_copy(text, strlen(text));

    assert_non_null(made);
    return made;
}

static void test_derived(void **state)
{
    struct scene scene;
    const struct stage_need *need;

    (void)state;
    now.prepare = ask_words;
    scene_open(&scene, SLUICE_ROLE_FILTER);
    assert_int_equal(scene_prepare(&scene), SLUICE_OK);
    assert_true(scene.prepared.missing);
    need = &scene.prepared.needs[0][0];
    assert_int_equal(need->field, STAGE_FIELD_MISSING);
    assert_null(need->name);
    assert_string_equal(need->provider, "words");
    assert_string_equal(need->options, "rule=uax29");
    assert_string_equal(need->source, "text");
    assert_int_equal(places[0], 0);
    assert_int_equal(places[1], 1);
    assert_int_equal(places[2], 0);
    assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_E_INTERNAL);
    assert_null(scene.worker);
    assert_says(&scene, "a column that it needs: words{rule=uax29} of 'text'");

    /* The planner inserts the provider and prepares again. */
    add_field(&scene.schema, "words#1", "spans", NULL);
    scene.schema.fields[3].derived_provider = copy("words");
    scene.schema.fields[3].derived_options = copy("rule=uax29");
    scene.schema.fields[3].derived_source = copy("text");
    assert_int_equal(scene_prepare(&scene), SLUICE_OK);
    assert_false(scene.prepared.missing);
    assert_int_equal(scene.prepared.needs[0][0].field, 3);
    assert_string_equal(scene.prepared.needs[0][0].name, "words#1");
    scene_close(&scene);

    now.prepare = ask_words_of_nothing;
    scene_open(&scene, SLUICE_ROLE_FILTER);
    assert_int_equal(scene_prepare(&scene), SLUICE_E_SCHEMA);
    assert_says(&scene, "it needs words of the column 'body'");
    scene_close(&scene);
}

/* A host that gives fewer columns than the stage asked for hears of it; the stage would find a
 * NULL. */
static void test_fewer_columns(void **state)
{
    struct ArrowArray text = { .release = NULL };
    struct ArrowArray *columns[2] = { &text, NULL };
    struct ArrowArray root = { .n_children = 1, .children = columns };
    struct sluice_batch batch = { .size = sizeof batch, .array = &root };
    struct stage_result result;
    struct scene scene;

    (void)state;
    for (int64_t n = 1; n <= 2; n++) {
        now.prepare = ask_words;
        scene_open(&scene, SLUICE_ROLE_FILTER);
        add_field(&scene.schema, "words#1", "spans", NULL);
        scene.schema.fields[3].derived_provider = copy("words");
        scene.schema.fields[3].derived_options = copy("rule=uax29");
        scene.schema.fields[3].derived_source = copy("text");
        scene_work(&scene);
        stage_result_init(&result);
        root.n_children = n; /* the words are left out, or NULL */
        assert_int_equal(stage_process(scene.worker, &batch, &result, &scene.err),
                         SLUICE_E_INTERNAL);
        assert_says(&scene, "that it needs: number 1 is missing");
        assert_false(stage_worker_usable(scene.worker));
        stage_result_deinit(&result);
        scene_close(&scene);
    }
}

static sluice_status declare(struct sluice_plan *plan, struct sluice_error *err)
{
    assert_int_equal(plan->add(plan, "tokens", "list<uint32>", "vocab_size=9", err), SLUICE_OK);
    return plan->add(plan, "label", "utf8?", NULL, err);
}

static sluice_status declare_twice(struct sluice_plan *plan, struct sluice_error *err)
{
    assert_int_equal(plan->add(plan, "a", "int64", NULL, err), SLUICE_OK);
    return plan->add(plan, "a", "int64", NULL, err);
}

static sluice_status declare_hidden(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->add(plan, "_secret", "int64", NULL, err);
}

static sluice_status declare_unsupported(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->add(plan, "when", "date32", NULL, err);
}

static sluice_status declare_bad_metadata(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->add(plan, "a", "int64", "novalue", err);
}

static sluice_status declare_origin(struct sluice_plan *plan, struct sluice_error *err)
{
    assert_int_equal(plan->add(plan, "a", "int64", NULL, err), SLUICE_OK);
    return plan->add(plan, "_origin", "list<uint64>", NULL, err);
}

static sluice_status declare_bad_origin(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->add(plan, "_origin", "utf8", NULL, err);
}

static void test_declared(void **state)
{
    static const struct {
        uint32_t role;
        sluice_status (*prepare)(struct sluice_plan *, struct sluice_error *);
        sluice_status status;
        const char *text;
    } cases[] = {
        { SLUICE_ROLE_ANNOTATOR, declare, SLUICE_OK, "" },
        { SLUICE_ROLE_TRANSFORM, declare_origin, SLUICE_OK, "" },
        { SLUICE_ROLE_ANNOTATOR, declare_twice, SLUICE_E_SCHEMA, "'a'" },
        { SLUICE_ROLE_ANNOTATOR, declare_hidden, SLUICE_E_SCHEMA, "begins with '_'" },
        { SLUICE_ROLE_ANNOTATOR, declare_unsupported, SLUICE_E_SCHEMA, "can't be stored" },
        { SLUICE_ROLE_ANNOTATOR, declare_bad_metadata, SLUICE_E_INTERNAL,
          "not lines of key=value" },
        { SLUICE_ROLE_TRANSFORM, declare_bad_origin, SLUICE_E_INTERNAL, "_origin must be" },
        { SLUICE_ROLE_ANNOTATOR, NULL, SLUICE_E_INTERNAL, "adds no column" },
        { SLUICE_ROLE_TRANSFORM, NULL, SLUICE_E_INTERNAL, "declares no output columns" },
        { SLUICE_ROLE_WRITER, NULL, SLUICE_E_INTERNAL, "declares no output file" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct scene scene;
        now.prepare = cases[k].prepare;
        scene_open(&scene, cases[k].role);
        assert_int_equal(scene_prepare(&scene), cases[k].status);
        if (cases[k].status != SLUICE_OK) {
            assert_says(&scene, cases[k].text);
        }
        scene_close(&scene);
    }
}

/* ---- filters ---- */

static sluice_status judge_rows(const struct sluice_batch *batch, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    struct sluice_verdict verdicts[4];
    char id[8] = "doc-1";

    (void)err;
    memset(verdicts, 0, sizeof verdicts);
    verdicts[1].reason = 2;
    verdicts[1].value = 12;
    verdicts[1].limit = 10;
    verdicts[1].dup_of = id;
    verdicts[1].dup_of_length = 5;
    verdicts[1].similarity = 0.5;
    assert_int_equal(emit->verdicts(emit, verdicts, batch->n), SLUICE_OK);
    memset(id, 'x', sizeof id); /* what is lent may be reused as soon as emit returns */
    assert_int_equal(emit->measure(emit, "words", 5), SLUICE_OK);
    return emit->measure(emit, "words", -2);
}

static const struct sluice_batch three_rows = { .size = sizeof three_rows, .n = 3 };

static void test_filter(void **state)
{
    struct scene scene;

    (void)state;
    now.process = judge_rows;
    scene_open(&scene, SLUICE_ROLE_FILTER);
    assert_int_equal(stage_n_reasons(scene.stage), 2);
    assert_string_equal(stage_reason(scene.stage, 2), "long");
    scene_work(&scene);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                         SLUICE_OK);
        assert_true(scene.result.has_verdicts);
        assert_int_equal(scene.result.n_verdicts, 3);
        assert_int_equal(scene.result.verdicts[1].reason, 2);
        assert_string_equal(scene.result.verdicts[1].dup_of, "doc-1");
        assert_null(scene.result.verdicts[0].dup_of);
        assert_int_equal(scene.result.n_measures, 1);
        assert_int_equal(scene.result.measures[0].delta, 3);
    }
    assert_int_equal(stage_flush(scene.worker, &scene.result, &scene.err), SLUICE_OK);
    assert_false(scene.result.has_verdicts);
    assert_int_equal(scene.result.measures[0].delta, 0);
    scene_close(&scene);
}

static struct sluice_verdict zeros[8];

static sluice_status too_few(const struct sluice_batch *batch, struct sluice_emit *emit,
                             struct sluice_error *err)
{
    (void)err;
    return emit->verdicts(emit, zeros, batch->n - 1);
}

static sluice_status twice(const struct sluice_batch *batch, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    (void)err;
    emit->verdicts(emit, zeros, batch->n);
    emit->verdicts(emit, zeros, batch->n);
    return SLUICE_OK;
}

static sluice_status none(const struct sluice_batch *batch, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    (void)batch;
    (void)emit;
    (void)err;
    return SLUICE_OK;
}

static sluice_status bad_reason(const struct sluice_batch *batch, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    struct sluice_verdict verdicts[3] = { { .reason = 3 } };

    (void)err;
    return emit->verdicts(emit, verdicts, batch->n);
}

static sluice_status bad_dup(const struct sluice_batch *batch, struct sluice_emit *emit,
                             struct sluice_error *err)
{
    struct sluice_verdict verdicts[3] = { { .reason = 1, .dup_of = "\xff", .dup_of_length = 1 } };

    (void)err;
    return emit->verdicts(emit, verdicts, batch->n);
}

static sluice_status bad_similarity(const struct sluice_batch *batch, struct sluice_emit *emit,
                                    struct sluice_error *err)
{
    struct sluice_verdict verdicts[3] = {
        { .reason = 1, .dup_of = "a", .dup_of_length = 1, .similarity = 1.5 }
    };

    (void)err;
    return emit->verdicts(emit, verdicts, batch->n);
}

static sluice_status writes(const struct sluice_batch *batch, struct sluice_emit *emit,
                            struct sluice_error *err)
{
    (void)batch;
    (void)err;
    return emit->write(emit, 0, "x", 1);
}

static sluice_status unknown_status(const struct sluice_batch *batch, struct sluice_emit *emit,
                                    struct sluice_error *err)
{
    (void)emit;
    snprintf(err->message, sizeof err->message, "odd\x01 \xff row");
    err->row = batch->n - 1;
    return 4711;
}

static sluice_status halts(const struct sluice_batch *batch, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    (void)batch;
    (void)emit;
    return error_set(err, SLUICE_E_HALT, "stop");
}

static sluice_status data_error(const struct sluice_batch *batch, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    emit->verdicts(emit, zeros, batch->n);
    return error_set(err, SLUICE_E_DATA, "row is bad");
}

static sluice_status retry(const struct sluice_batch *batch, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    (void)batch;
    (void)emit;
    return error_set(err, SLUICE_E_RETRY, "busy");
}

static sluice_status overflow(const struct sluice_batch *batch, struct sluice_emit *emit,
                              struct sluice_error *err)
{
    (void)err;
    emit->measure(emit, "a", INT64_MAX);
    emit->measure(emit, "a", 1);
    return emit->verdicts(emit, zeros, batch->n);
}

static void test_bad_filters(void **state)
{
    static const struct {
        sluice_status (*process)(const struct sluice_batch *, struct sluice_emit *,
                                 struct sluice_error *);
        sluice_status status;
        const char *text;
    } cases[] = {
        { too_few, SLUICE_E_INTERNAL, "it gives 2 verdicts for 3 rows" },
        { twice, SLUICE_E_INTERNAL, "twice for one batch" },
        { none, SLUICE_E_INTERNAL, "without verdicts for 3 rows" },
        { bad_reason, SLUICE_E_INTERNAL, "row 0 has the reason 3; it has 2 reasons" },
        { bad_dup, SLUICE_E_INTERNAL, "dup_of that is no UTF-8" },
        { bad_similarity, SLUICE_E_INTERNAL, "similarity outside [0, 1]" },
        { writes, SLUICE_E_INTERNAL, "it writes to output 0 of 0" },
        { unknown_status, SLUICE_E_INTERNAL, "stage 'quality' (stub): odd? ? row" },
        { halts, SLUICE_E_INTERNAL, "stop" },
        { data_error, SLUICE_E_DATA, "stage 'quality' (stub): row is bad" },
        { retry, SLUICE_E_RETRY, "busy" },
        { overflow, SLUICE_E_INTERNAL, "the measure 'a' overflows" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct scene scene;
        now.process = cases[k].process;
        scene_open(&scene, SLUICE_ROLE_FILTER);
        scene_work(&scene);
        assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                         cases[k].status);
        assert_int_equal(scene.err.code, cases[k].status);
        assert_says(&scene, cases[k].text);
        assert_false(scene.result.has_verdicts);
        assert_int_equal(scene.result.n_verdicts, 0);
        assert_int_equal(scene.result.bytes.size, 0);
        assert_int_equal(stage_worker_usable(scene.worker), cases[k].status == SLUICE_E_RETRY);
        if (cases[k].status == SLUICE_E_RETRY) {
            now.process = judge_rows;
            assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                             SLUICE_OK);
        }
        /* No error of the caller's: the status alone. */
        if (cases[k].process == data_error) {
            stage_worker_close(scene.worker);
            assert_int_equal(stage_worker_open(scene.stage, &scene.worker, NULL), SLUICE_OK);
            assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, NULL),
                             SLUICE_E_DATA);
        }
        scene_close(&scene);
    }
}

/* A batch of a side input gets no verdicts. */
static void test_side_input(void **state)
{
    static const struct sluice_batch side = { .size = sizeof side, .port = 1, .n = 3 };
    struct scene scene = { 0 };

    (void)state;
    now.process = none;
    scene_open_as(&scene, SLUICE_ROLE_FILTER, SLUICE_STAGE_SIDE_INPUT, PLUGIN_SCRIPT);
    scene_work(&scene);
    assert_int_equal(stage_process(scene.worker, &side, &scene.result, &scene.err), SLUICE_OK);
    now.process = judge_rows;
    assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                     SLUICE_OK);
    now.process = twice;
    assert_int_equal(stage_process(scene.worker, &side, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "verdicts where none are expected");
    scene_close(&scene);
}

/* ---- batches ---- */

static int64_t batch_rows;
static bool batch_bad_utf8, batch_null, batch_short;

/* tokens list<uint32>, label utf8?: batch_rows rows. */
static void make_batch(struct ArrowArray *out)
{
    struct sluice_error err = ERROR_INIT;
    struct type *tokens;
    struct type *label;
    struct builder *builders[2];
    struct ArrowArray children[2];
    const uint32_t items[] = { 1, 2, 3 };

    assert_int_equal(type_parse("list<uint32>?", &tokens, &err), SLUICE_OK);
    assert_int_equal(type_parse("utf8?", &label, &err), SLUICE_OK);
    assert_int_equal(builder_create(tokens, &builders[0], &err), SLUICE_OK);
    assert_int_equal(builder_create(label, &builders[1], &err), SLUICE_OK);
    for (int64_t row = 0; row < batch_rows; row++) {
        assert_true(batch_null ? builder_null(builders[0])
                               : builder_list_fixed(builders[0], items, 3));
        assert_true(builder_bytes_add(builders[1], batch_bad_utf8 ? "\xff" : "x", 1));
    }
    for (int k = 0; k < 2; k++) {
        assert_int_equal(builder_finish(builders[k], &children[k], &err), SLUICE_OK);
        builder_destroy(builders[k]);
    }
    assert_int_equal(array_struct(out, batch_rows, 2, children, &err), SLUICE_OK);
    out->children[1]->length -= batch_short ? 1 : 0;
    type_destroy(tokens);
    type_destroy(label);
}

static sluice_status give_batch(const struct sluice_batch *batch, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    struct ArrowArray array;
    sluice_status status;

    (void)batch;
    (void)err;
    make_batch(&array);
    status = emit->batch(emit, &array);
    assert_null(array.release);
    return status;
}

static sluice_status give_two(const struct sluice_batch *batch, struct sluice_emit *emit,
                              struct sluice_error *err)
{
    give_batch(batch, emit, err);
    return give_batch(batch, emit, err);
}

static void batch_case(uint32_t role, const char *plugin, bool check,
                       sluice_status (*process)(const struct sluice_batch *, struct sluice_emit *,
                                                struct sluice_error *),
                       const char *text, uint32_t n_batches)
{
    struct scene scene = { .services = { .check = check } };
    sluice_status status;

    now.prepare = declare;
    now.process = process;
    scene_open_as(&scene, role, 0, plugin);
    scene_work(&scene);
    status = stage_process(scene.worker, &three_rows, &scene.result, &scene.err);
    if (text != NULL) {
        assert_int_equal(status, SLUICE_E_INTERNAL);
        assert_says(&scene, text);
        assert_int_equal(scene.result.n_batches, 0);
    } else {
        if (status != SLUICE_OK) {
            fail_msg("%s", scene.err.message);
        }
        assert_int_equal(scene.result.n_batches, n_batches);
        if (n_batches > 0) {
            struct ArrowArray moved = scene.result.batches[0];
            assert_int_equal(moved.length, batch_rows);
            assert_int_equal(moved.children[0]->length, batch_rows);
            scene.result.batches[0].release = NULL;
            moved.release(&moved);
        }
    }
    scene_close(&scene);
}

static void test_batches(void **state)
{
    (void)state;
    batch_rows = 3;
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_SCRIPT, false, give_batch, NULL, 1);
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_CORE, false, give_batch, NULL, 1);
    batch_case(SLUICE_ROLE_TRANSFORM, PLUGIN_SCRIPT, false, give_two, NULL, 2);
    batch_case(SLUICE_ROLE_TRANSFORM, PLUGIN_SCRIPT, false, none, NULL, 0);
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_SCRIPT, false, give_two,
               "one batch for one batch, not two", 0);
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_SCRIPT, false, none, "without columns for 3 rows", 0);
    batch_rows = 2;
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_SCRIPT, false, give_batch,
               "it gives 2 rows for 3 rows", 0);
    batch_rows = 3;
    batch_bad_utf8 = true;
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_SCRIPT, false, give_batch, "label", 0);
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_CORE, true, give_batch, "label", 0);
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_CORE, false, give_batch, NULL, 1);
    batch_bad_utf8 = false;
    batch_null = true;
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_CORE, false, give_batch,
               "'tokens' has 3 nulls but is declared without '?'", 0);
    batch_null = false;
    batch_short = true;
    batch_case(SLUICE_ROLE_ANNOTATOR, PLUGIN_CORE, false, give_batch,
               "'label' has 2 rows in a batch of 3", 0);
    batch_short = false;
}

/* A batch from a filter is released, not leaked. */
static void test_batch_from_filter(void **state)
{
    struct scene scene;

    (void)state;
    batch_rows = 3;
    now.process = give_batch;
    scene_open(&scene, SLUICE_ROLE_FILTER);
    scene_work(&scene);
    assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "a batch where none is expected");
    scene_close(&scene);
}

/* ---- readers ---- */

static sluice_status read_some(struct sluice_chunk *chunk, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    struct ArrowArray array;

    (void)err;
    make_batch(&array);
    assert_int_equal(emit->batch(emit, &array), SLUICE_OK);
    assert_int_equal(emit->bad(emit, 3, 9, "not_json", "bad \xff bytes"), SLUICE_OK);
    assert_int_equal(emit->bad(emit, 9, 9, "empty", NULL), SLUICE_OK);
    chunk->consumed = chunk->n - 1;
    return SLUICE_OK;
}

static sluice_status read_too_much(struct sluice_chunk *chunk, struct sluice_emit *emit,
                                   struct sluice_error *err)
{
    (void)emit;
    (void)err;
    chunk->consumed = chunk->n + 1;
    return SLUICE_OK;
}

static sluice_status read_nothing(struct sluice_chunk *chunk, struct sluice_emit *emit,
                                  struct sluice_error *err)
{
    (void)chunk;
    (void)err;
    return emit->bad(emit, 9, 3, "not_json", NULL);
}

static void test_reader(void **state)
{
    struct scene scene;
    struct sluice_chunk chunk = { .size = sizeof chunk, .data = "0123456789", .n = 10 };

    (void)state;
    batch_rows = 2;
    now.prepare = declare;
    now.read = read_some;
    scene_open(&scene, SLUICE_ROLE_READER);
    scene.inputs.n_ports = 0;
    scene_work(&scene);
    assert_int_equal(scene.prepared.added.n, 2);
    assert_int_equal(stage_read(scene.worker, &chunk, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(chunk.consumed, 9);
    assert_int_equal(scene.result.n_batches, 1);
    assert_int_equal(scene.result.n_bad, 2);
    assert_string_equal(scene.result.bad[0].reason, "not_json");
    assert_string_equal(scene.result.bad[0].detail, "bad ? bytes");
    assert_int_equal(scene.result.bad[0].end, 9);
    assert_string_equal(scene.result.bad[1].detail, "");
    now.read = read_too_much;
    assert_int_equal(stage_read(scene.worker, &chunk, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "it consumed 11 of 10 bytes");
    assert_int_equal(scene.result.n_batches, 0);
    stage_worker_close(scene.worker);
    assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_OK);
    now.read = read_nothing;
    assert_int_equal(stage_read(scene.worker, &chunk, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "a bad record has the range 9..3");
    scene_close(&scene);
}

/* ---- writers ---- */

static sluice_status declare_files(struct sluice_plan *plan, struct sluice_error *err)
{
    assert_int_equal(plan->output(plan, ".bin", "none", 0, err), SLUICE_OK);
    return plan->output(plan, ".jsonl", "zstd", 3, err);
}

static sluice_status declare_bad_codec(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->output(plan, ".bin", "rar", 0, err);
}

static sluice_status declare_bad_level(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->output(plan, ".bin", "zstd", 40, err);
}

static sluice_status declare_bad_suffix(struct sluice_plan *plan, struct sluice_error *err)
{
    return plan->output(plan, "./../x", "none", 0, err);
}

static sluice_status write_some(const struct sluice_batch *batch, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    (void)batch;
    (void)err;
    assert_int_equal(emit->write(emit, 0, "ab", 2), SLUICE_OK);
    assert_int_equal(emit->write(emit, 0, "cd", 2), SLUICE_OK);
    assert_int_equal(emit->write(emit, 1, "line\n", 5), SLUICE_OK);
    assert_int_equal(emit->write(emit, 1, NULL, 0), SLUICE_OK);
    assert_int_equal(emit->roll(emit, 2), SLUICE_OK);
    return emit->write(emit, 0, "e", 1);
}

static sluice_status write_outside(const struct sluice_batch *batch, struct sluice_emit *emit,
                                   struct sluice_error *err)
{
    (void)batch;
    (void)err;
    return emit->write(emit, 2, "x", 1);
}

static sluice_status write_footer(struct sluice_emit *emit, struct sluice_error *err)
{
    (void)err;
    return emit->write(emit, 1, "end", 3);
}

static void test_writer(void **state)
{
    struct scene scene;
    const struct stage_mark *marks;

    (void)state;
    now.prepare = declare_files;
    now.process = write_some;
    now.flush = write_footer;
    scene_open(&scene, SLUICE_ROLE_WRITER);
    scene_work(&scene);
    assert_int_equal(scene.prepared.n_outputs, 2);
    assert_string_equal(scene.prepared.outputs[1].suffix, ".jsonl");
    assert_string_equal(scene.prepared.outputs[1].codec, "zstd");
    assert_int_equal(scene.prepared.outputs[1].level, 3);
    assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                     SLUICE_OK);
    assert_int_equal(scene.result.n_marks, 4);
    marks = scene.result.marks;
    assert_int_equal(marks[0].output, 0);
    assert_int_equal(marks[0].size, 4);
    assert_memory_equal(scene.result.bytes.data + marks[0].offset, "abcd", 4);
    assert_int_equal(marks[1].output, 1);
    assert_memory_equal(scene.result.bytes.data + marks[1].offset, "line\n", 5);
    assert_true(marks[2].output == STAGE_MARK_ROLL);
    assert_int_equal(marks[2].rows, 2);
    assert_int_equal(marks[3].offset, 9);
    assert_int_equal(stage_flush(scene.worker, &scene.result, &scene.err), SLUICE_OK);
    assert_int_equal(scene.result.n_marks, 1);
    assert_memory_equal(scene.result.bytes.data, "end", 3);
    stage_worker_close(scene.worker);
    assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_OK);
    now.process = write_outside;
    assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "it writes to output 2 of 2");
    scene_close(&scene);
}

static void test_bad_outputs(void **state)
{
    static const struct {
        sluice_status (*prepare)(struct sluice_plan *, struct sluice_error *);
        sluice_status status;
        const char *text;
    } cases[] = {
        { declare_bad_codec, SLUICE_E_INTERNAL, "the codec \"rar\"" },
        { declare_bad_level, SLUICE_E_CONFIG,
          "found the level 40 of the codec zstd, expected 0 to 22 (0 is its default)" },
        { declare_bad_suffix, SLUICE_E_INTERNAL, "is not like \".jsonl\"" },
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct scene scene;
        now.prepare = cases[k].prepare;
        scene_open(&scene, SLUICE_ROLE_WRITER);
        assert_int_equal(scene_prepare(&scene), cases[k].status);
        assert_says(&scene, cases[k].text);
        scene_close(&scene);
    }
}

/* ---- state ---- */

static void test_state(void **state)
{
    struct scene scene;
    struct buf saved = BUF_INIT;
    char damaged[64];
    size_t n;

    (void)state;
    scene_open(&scene, SLUICE_ROLE_GATE);
    assert_true(stage_can_save(scene.stage) && stage_can_merge(scene.stage));
    scene_work(&scene);
    now.sum = 41;
    assert_int_equal(stage_save(scene.worker, &saved, &scene.err), SLUICE_OK);
    n = saved.size;
    assert_int_equal(n, 40);
    now.sum = 1;
    assert_int_equal(stage_merge(scene.worker, saved.data, n, &scene.err), SLUICE_OK);
    assert_int_equal(now.sum, 42);
    assert_int_equal(stage_load(scene.worker, saved.data, n, &scene.err), SLUICE_OK);
    assert_int_equal(now.sum, 41);
    for (size_t k = 0; k < n + 2; k++) {
        size_t length = k < n ? n : k == n ? n - 1 : n + 1;
        memset(damaged, 0, sizeof damaged);
        memcpy(damaged, saved.data, n);
        if (k < n) {
            damaged[k] = (char)(damaged[k] ^ 0x40);
        }
        stage_worker_close(scene.worker);
        assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_OK);
        if (k >= 8 && k < 16) { /* the version of the state */
            assert_int_equal(stage_load(scene.worker, damaged, length, &scene.err),
                             SLUICE_E_CONFIG);
            assert_says(&scene, "saved by a newer version");
        } else {
            assert_int_equal(stage_load(scene.worker, damaged, length, &scene.err), SLUICE_E_DATA);
            assert_says(&scene, "stage 'quality' (stub): a saved state");
        }
    }
    buf_deinit(&saved);
    scene_close(&scene);
}

/* ---- gates ---- */

static int64_t count_rows(void *ctx, const char *node)
{
    assert_ptr_equal(ctx, &now);
    return strcmp(node, "docs") == 0 ? 1000 : -1;
}

static sluice_status judge_low(struct sluice_verdict_io *io)
{
    assert_int_equal(io->count(io, "docs"), 1000);
    assert_int_equal(io->count(io, "other"), -1);
    io->outcome = SLUICE_GATE_HALT;
    snprintf(io->message, sizeof io->message, "too few\x02");
    return SLUICE_OK;
}

static sluice_status judge_odd(struct sluice_verdict_io *io)
{
    io->outcome = 17;
    return SLUICE_OK;
}

static void test_gate(void **state)
{
    struct scene scene;
    struct stage_judgement judgement;

    (void)state;
    now.judge = judge_low;
    now.process = halts;
    scene_open(&scene, SLUICE_ROLE_GATE);
    scene_work(&scene);
    assert_int_equal(stage_judge(scene.worker, count_rows, &now, &judgement, &scene.err),
                     SLUICE_OK);
    assert_int_equal(judgement.outcome, SLUICE_GATE_HALT);
    assert_string_equal(judgement.message, "too few?");
    assert_int_equal(stage_process(scene.worker, &three_rows, &scene.result, &scene.err),
                     SLUICE_E_HALT);
    stage_worker_close(scene.worker);
    assert_int_equal(stage_worker_open(scene.stage, &scene.worker, &scene.err), SLUICE_OK);
    now.judge = judge_odd;
    assert_int_equal(stage_judge(scene.worker, NULL, NULL, &judgement, &scene.err),
                     SLUICE_E_INTERNAL);
    assert_says(&scene, "it judged 17");
    scene_close(&scene);
}

/* ---- host services ---- */

static int files_open;
static char logged[256];

static sluice_status read_file(void *ctx, const char *path, const void **data, uint64_t *size,
                               struct sluice_error *err)
{
    (void)ctx;
    if (strcmp(path, "/vocab") != 0) {
        return error_set(err, SLUICE_E_IO, "no %s", path);
    }
    *data = "bytes";
    *size = 5;
    files_open++;
    return SLUICE_OK;
}

static void release_file(void *ctx, const void *data)
{
    (void)ctx;
    assert_memory_equal(data, "bytes", 5);
    files_open--;
}

static void keep_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    (void)ctx;
    snprintf(logged, sizeof logged, "%d %s %s", (int)level, stage, message);
}

static const char *scratch(void *ctx, const char *stage)
{
    (void)ctx;
    assert_string_equal(stage, "quality");
    return "/scratch";
}

static sluice_status open_fails(const struct sluice_host_api *api, struct sluice_host *host,
                                struct sluice_error *err)
{
    const void *data;
    uint64_t size;

    assert_int_equal(api->read_file(host, "/vocab", &data, &size, err), SLUICE_OK);
    return api->read_file(host, "/none", &data, &size, err);
}

static void test_services(void **state)
{
    struct budget budget;
    _Atomic int cancelled = 0;
    struct scene scene = { 0 };
    const void *data;
    uint64_t size;
    uint64_t seed;
    void *memory;
    void *more;

    (void)state;
    budget_init(&budget, NULL, 1000);
    scene.services = (struct stage_services){
        .budget = &budget,
        .log = keep_log,
        .read_file = read_file,
        .release_file = release_file,
        .scratch_dir = scratch,
        .seed = 42,
        .cancelled = &cancelled,
    };
    scene_open_as(&scene, SLUICE_ROLE_FILTER, 0, PLUGIN_SCRIPT);
    assert_ptr_equal(stage_user(now.host), &scene);
    assert_int_equal(now.api->size, sizeof *now.api);
    assert_int_equal(now.api->abi_major, 1);
    memory = now.api->alloc(now.host, 500);
    assert_non_null(memory);
    assert_null(now.api->alloc(now.host, 500));
    assert_null(now.api->alloc(now.host, UINT64_MAX));
    assert_null(now.api->realloc(now.host, memory, 2000));
    assert_null(now.api->realloc(now.host, memory, UINT64_MAX - 3));
    more = now.api->realloc(now.host, memory, 100);
    assert_non_null(more);
    assert_true(budget_used(&budget) < 200);
    now.api->free(now.host, more);
    now.api->free(now.host, NULL);
    assert_int_equal(budget_used(&budget), 0);
    assert_true(budget_peak(&budget) >= 500);
    assert_int_equal(now.api->read_file(now.host, "/vocab", &data, &size, &scene.err), SLUICE_OK);
    assert_int_equal(size, 5);
    assert_int_equal(now.api->read_file(now.host, "/none", &data, &size, &scene.err), SLUICE_E_IO);
    assert_null(data);
    assert_int_equal(files_open, 1);
    now.api->log(now.host, 99, "hello\x03");
    assert_string_equal(logged, "3 quality hello?");
    seed = now.api->seed(now.host, 1);
    assert_true(seed == now.api->seed(now.host, 1));
    assert_true(seed != now.api->seed(now.host, 2));
    /* Part of every dataset's lineage: must never change. */
    assert_true(seed == UINT64_C(0x4385f06144f83d9a));
    assert_string_equal(now.api->scratch_dir(now.host), "/scratch");
    assert_int_equal(now.api->memory_share(now.host), 64 << 20);
    assert_int_equal(now.api->cancelled(now.host), 0);
    atomic_store(&cancelled, 1);
    assert_int_equal(now.api->cancelled(now.host), 1);
    scene_close(&scene);
    assert_int_equal(files_open, 0);

    memset(&scene, 0, sizeof scene);
    scene.services =
        (struct stage_services){ .read_file = read_file, .release_file = release_file };
    now.open = open_fails;
    scene_open_as(&scene, SLUICE_ROLE_FILTER, 0, PLUGIN_SCRIPT);
    assert_null(scene.stage);
    assert_int_equal(scene.err.code, SLUICE_E_IO);
    assert_says(&scene, "stage 'quality' (stub): no /none");
    assert_int_equal(files_open, 0);
    scene_close(&scene);
}

/* A stage that has only what its role requires. */
static void test_bare_stage(void **state)
{
    struct registry_options options = { .bare = true };
    struct sluice_stage kind = {
        .size = sizeof kind,
        .name = "bare",
        .version = "1",
        .summary = "Bare.",
        .role = SLUICE_ROLE_FILTER,
        .reasons = "short|long",
        .process = stub_process,
    };
    struct option_table table = option_table_of(&kind);
    struct stage_services services = { 0 };
    struct stage_inputs inputs = { 0 };
    const struct registry_entry *entry;
    struct registry *registry;
    struct options *parsed;
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
    struct stage_judgement judgement;
    struct buf saved = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    struct hash128 hash = { 0, 0 };

    (void)state;
    now.process = judge_rows;
    stage_result_init(&result);
    assert_int_equal(registry_create(&options, &registry, &err), SLUICE_OK);
    assert_int_equal(registry_add(registry, &kind, PLUGIN_CORE, "test", hash, &entry, &err),
                     SLUICE_OK);
    assert_int_equal(options_parse(&table, NULL, NULL, &parsed, &err), SLUICE_OK);
    assert_int_equal(stage_open(entry, parsed, "bare", &services, &stage, &err), SLUICE_OK);
    assert_false(stage_can_save(stage));
    assert_int_equal(stage_prepare(stage, &inputs, &prepared, &err), SLUICE_OK);
    assert_int_equal(stage_worker_open(stage, &worker, &err), SLUICE_OK);
    assert_int_equal(stage_process(worker, &three_rows, &result, &err), SLUICE_OK);
    assert_int_equal(stage_flush(worker, &result, &err), SLUICE_OK);
    assert_int_equal(stage_save(worker, &saved, &err), SLUICE_OK);
    assert_int_equal(stage_load(worker, saved.data, saved.size, &err), SLUICE_OK);
    assert_int_equal(stage_judge(worker, NULL, NULL, &judgement, &err), SLUICE_OK);
    assert_int_equal(judgement.outcome, SLUICE_GATE_PASS);
    stage_worker_close(worker);
    assert_int_equal(stage_worker_open(stage, &worker, &err), SLUICE_OK);
    now.process = data_error;
    assert_int_equal(stage_process(worker, &three_rows, &result, &err), SLUICE_E_DATA);
    assert_string_equal(err.message, "stage 'bare': row is bad");
    stage_worker_close(worker);
    stage_close(stage);
    stage_prepared_deinit(&prepared);
    stage_result_deinit(&result);
    buf_deinit(&saved);
    registry_destroy(registry);
    memset(&now, 0, sizeof now);
}

static sluice_status need_and_give(struct sluice_plan *plan, struct sluice_error *err)
{
    const char *name;
    const char *type;

    if (plan->need(plan, 0, "text", "utf8?", 0, &places[0], err) != SLUICE_OK ||
        plan->need_derived(plan, 0, "words", "", "text", &places[0], err) != SLUICE_OK ||
        plan->column(plan, 0, 0, &name, &type) != SLUICE_OK ||
        plan->note(plan, "eos", "[1]", err) != SLUICE_OK) {
        return SLUICE_OK; /* the host remembers */
    }
    return plan->output(plan, ".bin", NULL, 0, err);
}

static sluice_status write_and_measure(const struct sluice_batch *batch, struct sluice_emit *emit,
                                       struct sluice_error *err)
{
    (void)batch;
    (void)err;
    emit->write(emit, 0, "abc", 3);
    emit->measure(emit, "rows", 1);
    emit->roll(emit, 1);
    return SLUICE_OK;
}

/* Every allocation between open and the result of a call fails once; what is open is closed, and
 * nothing leaks. */
static void test_no_memory(void **state)
{
    struct registry_options options = { .bare = true };
    struct sluice_stage kind = {
        .size = sizeof kind,
        .name = "bare",
        .version = "1",
        .summary = "Bare.",
        .role = SLUICE_ROLE_WRITER,
        .open = stub_open,
        .prepare = stub_prepare,
        .process = stub_process,
    };
    struct option_table table = option_table_of(&kind);
    struct stage_services services = { 0 };
    struct schema schema;
    struct stage_inputs inputs = { .n_ports = 1, .schemas = { &schema } };
    const struct registry_entry *entry;
    struct registry *registry = NULL;
    struct options *parsed = NULL;
    struct stage *stage = NULL;
    struct stage_worker *worker = NULL;
    struct stage_prepared prepared;
    struct stage_result result;
    struct ArrowArray column = { .release = NULL };
    struct ArrowArray *columns[2] = { &column, &column };
    struct ArrowArray root = { .n_children = 2, .children = columns };
    struct sluice_batch batch = { .size = sizeof batch, .array = &root, .n = 3 };
    struct buf saved = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    struct hash128 hash = { 0, 0 };
    sluice_status status;

    (void)state;
    now.prepare = need_and_give;
    now.process = write_and_measure;
    schema_init(&schema);
    add_field(&schema, "text", "utf8?", NULL);
    add_field(&schema, "words#1", "spans", NULL);
    schema.fields[1].derived_provider = copy("words");
    schema.fields[1].derived_options = copy("");
    schema.fields[1].derived_source = copy("text");
    memset(&prepared, 0, sizeof prepared);
    stage_result_init(&result);
    ALLOC_EACH(
        {
            stage = NULL;
            worker = NULL;
            status = registry_create(&options, &registry, &err);
            status = status != SLUICE_OK
                         ? status
                         : registry_add(registry, &kind, PLUGIN_CORE, "test", hash, &entry, &err);
            status =
                status != SLUICE_OK ? status : options_parse(&table, NULL, NULL, &parsed, &err);
            status = status != SLUICE_OK
                         ? status
                         : stage_open(entry, parsed, "bare", &services, &stage, &err);
            status = status != SLUICE_OK ? status : stage_prepare(stage, &inputs, &prepared, &err);
            status = status != SLUICE_OK ? status : stage_worker_open(stage, &worker, &err);
            status = status != SLUICE_OK ? status : stage_process(worker, &batch, &result, &err);
            status = status != SLUICE_OK ? status : stage_save(worker, &saved, &err);
        },
        {
            stage_worker_close(worker);
            stage_close(stage);
            stage_prepared_deinit(&prepared);
            stage_result_deinit(&result);
            buf_deinit(&saved);
            registry_destroy(registry);
        });
    schema_deinit(&schema);
    memset(&now, 0, sizeof now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needs),       cmocka_unit_test(test_refused_needs),
        cmocka_unit_test(test_derived),     cmocka_unit_test(test_fewer_columns),
        cmocka_unit_test(test_declared),    cmocka_unit_test(test_filter),
        cmocka_unit_test(test_bad_filters), cmocka_unit_test(test_side_input),
        cmocka_unit_test(test_batches),     cmocka_unit_test(test_batch_from_filter),
        cmocka_unit_test(test_reader),      cmocka_unit_test(test_writer),
        cmocka_unit_test(test_bad_outputs), cmocka_unit_test(test_state),
        cmocka_unit_test(test_gate),        cmocka_unit_test(test_services),
        cmocka_unit_test(test_bare_stage),  cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
