/* isolate_calls - what it costs to run a stage in a child process: the same batches through the
 * same stage in this process and in a child, in turn, in wall time.
 *
 *   isolate_calls BUILD TEXT [BYTES [ROUNDS]]
 *
 * BUILD/plugins holds the plugins; TEXT is any file of text; BYTES of it make a batch.
 *
 * Prints "STAGE MICROSECONDS-HERE MICROSECONDS-THERE RATIO" per batch, and the milliseconds that
 * starting a child takes. The program is its own child. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data/builder.h"
#include "isolate/isolate.h"
#include "plugin/stage.h"

#define DOCUMENT 3000

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void check(sluice_status status, const struct sluice_error *err)
{
    if (status != SLUICE_OK) {
        fprintf(stderr, "isolate_calls: %s\n", err->message);
        exit(1);
    }
}

/* ---- the child ---- */

/* The plugins below folder are standard ones: they are loaded without more ado. */
static sluice_status plugins_of(const char *folder, struct registry **out, struct sluice_error *err)
{
    struct registry_options options = { .exe_dir = folder };

    return registry_create(&options, out, err);
}

static sluice_status resolve(void *ctx, const struct isolate_target *target,
                             const struct registry_entry **out, struct sluice_error *err)
{
    struct registry *registry;

    (void)ctx;
    TRY(plugins_of(target->plugin, &registry, err));
    return registry_find(registry, target->stage, out, err);
}

/* ---- the scene ---- */

#define RULE "whitespace" /* words that cost little beside the way to a child and back */

/* option: the one of the stage that says how words are cut. */
static struct stage *open_stage(const struct registry_entry *entry, const char *option,
                                const struct stage_services *services, struct schema *schema,
                                struct stage_prepared *prepared)
{
    struct option_table table = option_table_of(&entry->stage);
    struct stage_inputs inputs = { .n_ports = 1, .schemas = { schema } };
    struct value named = { .kind = VALUE_MAP };
    struct value rule;
    struct option_args args = { .named = &named };
    struct sluice_error err = ERROR_INIT;
    struct options *options;
    struct stage *stage;

    value_map_init(&named);
    if (!value_string(&rule, RULE, strlen(RULE)) || !value_map_set(&named, option, rule)) {
        exit(1);
    }
    check(options_parse(&table, &args, NULL, &options, &err), &err);
    value_deinit(&named);
    check(stage_open(entry, options, "quality", services, &stage, &err), &err);
    check(stage_prepare(stage, &inputs, prepared, &err), &err);
    return stage;
}

static char *text_file(const char *path, size_t least, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(least + 1);

    *n = file == NULL || text == NULL ? 0 : fread(text, 1, least, file);
    if (*n < least) {
        fprintf(stderr, "isolate_calls: %s has fewer than %zu bytes\n", path, least);
        exit(1);
    }
    fclose(file);
    for (size_t k = 0; k < least; k++) {
        text[k] = (unsigned char)text[k] < 0x80 && text[k] != '\0' ? text[k] : ' ';
    }
    return text;
}

static void make_texts(const char *path, size_t bytes, struct ArrowArray *out)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type;
    struct builder *builder;
    size_t n;
    char *text = text_file(path, bytes, &n);

    check(type_parse("utf8", &type, &err), &err);
    check(builder_create(type, &builder, &err), &err);
    for (size_t at = 0; at < n; at += DOCUMENT) {
        if (!builder_bytes_add(builder, text + at, n - at < DOCUMENT ? n - at : DOCUMENT)) {
            exit(1);
        }
    }
    check(builder_finish(builder, out, &err), &err);
    builder_destroy(builder);
    type_destroy(type);
    free(text);
}

struct side {
    struct stage *stage;
    struct stage_worker *worker;
    struct stage_prepared prepared;
    struct stage_result result;
};

static void side_open(struct side *side, const struct registry_entry *entry, const char *option,
                      const struct stage_services *services, struct schema *schema)
{
    struct sluice_error err = ERROR_INIT;

    side->stage = open_stage(entry, option, services, schema, &side->prepared);
    check(stage_worker_open(side->stage, &side->worker, &err), &err);
    stage_result_init(&side->result);
}

static void side_close(struct side *side)
{
    stage_worker_close(side->worker);
    stage_result_deinit(&side->result);
    stage_prepared_deinit(&side->prepared);
    stage_close(side->stage);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y ? 1 : 0;
}

static double call(struct side *side, const struct sluice_batch *batch)
{
    struct sluice_error err = ERROR_INIT;
    int64_t start = now_ns();

    check(stage_process(side->worker, batch, &side->result, &err), &err);
    return (double)(now_ns() - start) / 1e3;
}

static void measure(const char *name, struct side *here, struct side *there,
                    const struct sluice_batch *batch, int rounds)
{
    double *times[2] = { calloc((size_t)rounds, sizeof(double)),
                         calloc((size_t)rounds, sizeof(double)) };

    if (times[0] == NULL || times[1] == NULL) {
        exit(1);
    }
    for (int k = 0; k < rounds; k++) {
        times[0][k] = call(here, batch);
        times[1][k] = call(there, batch);
    }
    qsort(times[0], (size_t)rounds, sizeof(double), compare);
    qsort(times[1], (size_t)rounds, sizeof(double), compare);
    /* The tenth part: others on the machine only ever add. */
    printf("%s %.0f %.0f %.3f\n", name, times[0][rounds / 10], times[1][rounds / 10],
           times[1][rounds / 10] / times[0][rounds / 10]);
    free(times[0]);
    free(times[1]);
}

int main(int argc, char **argv)
{
    struct isolate_child child = { .resolve = resolve };
    struct isolate_options options = { 0 };
    struct isolate_limits limits = { 0 };
    struct stage_services services = { 0 };
    struct sluice_error err = ERROR_INIT;
    const struct registry_entry *words;
    const struct registry_entry *quality;
    const struct registry_entry *twin;
    struct registry *registry;
    struct isolate *isolate;
    struct schema schema;
    struct ArrowArray text;
    struct ArrowArray *columns[2] = { &text, NULL };
    const void *buffers[1] = { NULL };
    struct ArrowArray root = {
        .n_buffers = 1, .buffers = buffers, .n_children = 1, .children = columns
    };
    struct sluice_batch batch = { .size = sizeof batch, .array = &root };
    struct side sides[3];
    int64_t start;
    int rounds = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 200;

    if (argc == 2 && strcmp(argv[1], "__isolate") == 0) {
        return isolate_child_main(&child);
    }
    if (argc < 3 || rounds < 1) {
        fprintf(stderr, "usage: isolate_calls BUILD TEXT [BYTES [ROUNDS]]\n");
        return 2;
    }
    memset(sides, 0, sizeof sides);
    check(plugins_of(argv[1], &registry, &err), &err);
    check(registry_find(registry, "words", &words, &err), &err);
    check(registry_find(registry, "gopher_quality", &quality, &err), &err);
    check(isolate_create(&options, &isolate, &err), &err);
    make_texts(argv[2], argc > 3 ? (size_t)strtoull(argv[3], NULL, 10) : 1 << 20, &text);
    root.length = batch.n = text.length;

    /* The words, as the host would insert them; they are the second column of the quality
     * filter. */
    schema_init(&schema);
    check(schema_add_text(&schema, "text", "utf8", NULL, &err), &err);
    side_open(&sides[0], words, "rule", &services, &schema);
    struct isolate_target target = { .plugin = argv[1], .stage = "words", .hash = words->hash };
    check(isolate_wrap(isolate, words, &target, &limits, &twin, &err), &err);
    start = now_ns();
    side_open(&sides[1], twin, "rule", &services, &schema);
    printf("start_ms %.1f\n", (double)(now_ns() - start) / 1e6);
    measure("words", &sides[0], &sides[1], &batch, rounds);
    call(&sides[0], &batch);
    struct ArrowArray spans = sides[0].result.batches[0];
    sides[0].result.batches[0].release = NULL;
    side_close(&sides[0]);
    side_close(&sides[1]);
    columns[1] = spans.children[0];
    root.n_children = 2;
    check(schema_add_text(&schema, "words", "spans", NULL, &err), &err);
    schema.fields[1].derived_provider = str_copy("words", 5);
    schema.fields[1].derived_options = str_copy("rule=" RULE, strlen("rule=" RULE));
    schema.fields[1].derived_source = str_copy("text", 4);
    side_open(&sides[0], quality, "words", &services, &schema);
    target = (struct isolate_target){ .plugin = argv[1],
                                      .stage = "gopher_quality",
                                      .hash = quality->hash };
    check(isolate_wrap(isolate, quality, &target, &limits, &twin, &err), &err);
    side_open(&sides[1], twin, "words", &services, &schema);
    measure("gopher_quality", &sides[0], &sides[1], &batch, rounds);
    side_close(&sides[0]);
    side_close(&sides[1]);
    isolate_destroy(isolate);
    registry_destroy(registry);
    schema_deinit(&schema);
    spans.release(&spans);
    text.release(&text);
    return 0;
}
