/* Opening the stage under test, or a stage that makes columns for it: options, host services, and
 * schemas that have whatever prepare asks for. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "plugin/option_table.h"
#include "store/filemap.h"
#include "store/input.h"

#define DEPTH_MAX 3u

/* ---- host services ---- */

static sluice_status map_file(void *ctx, const char *path, const void **data, uint64_t *size,
                              struct sluice_error *err)
{
    struct kit_bench *bench = ctx;

    if (bench->maps == NULL) {
        bench->maps = filemaps_create();
    }
    return bench->maps == NULL ? error_nomem(err, "a mapped file")
                               : filemaps_take(bench->maps, path, NULL, data, size, err);
}

static void unmap_file(void *ctx, const void *data, uint64_t size)
{
    filemaps_release(((struct kit_bench *)ctx)->maps, data, size);
}

static const char *scratch_dir(void *ctx, const char *stage)
{
    (void)stage;
    return ((struct kit_bench *)ctx)->kit->scratch;
}

static bool allow(void *ctx, uint64_t bytes)
{
    struct kit_bench *bench = ctx;
    uint64_t number = atomic_fetch_add(&bench->allocations, 1) + 1;

    (void)bytes;
    return number != bench->options.fail_at;
}

/* Marks the calls of the stage under test, not those of stages that make its columns. */
static void enter(struct kit_bench *bench, const char *call)
{
    if (bench->options.depth == 0) {
        kit_enter(bench->kit, call);
    }
}

/* ---- options ---- */

/* The option that a word "name=value" gives to this stage: "stage.name=value" is for one stage. */
static bool option_word(const struct sluice_stage *kind, const char *word, char name[64],
                        const char **value)
{
    struct option_table table = option_table_of(kind);
    const char *equals = strchr(word, '=');
    const char *dot = equals != NULL ? memchr(word, '.', (size_t)(equals - word)) : NULL;
    struct sluice_option option;

    if (equals == NULL) {
        return false;
    }
    if (dot != NULL) {
        if (strlen(kind->name) != (size_t)(dot - word) ||
            memcmp(kind->name, word, (size_t)(dot - word)) != 0) {
            return false;
        }
        word = dot + 1;
    }
    if (equals - word >= 64) {
        return false;
    }
    memcpy(name, word, (size_t)(equals - word));
    name[equals - word] = '\0';
    *value = equals + 1;
    /* A name that the stage does not have may be another stage's; with a dot it is meant. */
    for (uint64_t k = 0; dot == NULL; k++) {
        if (!option_at(&table, k, &option)) {
            return false;
        }
        if (strcmp(option.name, name) == 0) {
            break;
        }
    }
    return true;
}

static bool user_gives(const struct kit *kit, const struct sluice_stage *kind, const char *option)
{
    char name[64];
    const char *value;

    for (size_t i = 0; i < kit->options.n_options; i++) {
        if (option_word(kind, kit->options.options[i], name, &value) && strcmp(name, option) == 0) {
            return true;
        }
    }
    return false;
}

/* What stands in for a required option that nobody gave; false = nothing can. */
static bool invented(const struct kit *kit, const struct sluice_stage *kind,
                     const struct sluice_option *option, struct buf *out)
{
    buf_clear(out);
    if (option->type == SLUICE_OPT_STRING &&
        (kind->resume != NULL || (kind->flags & SLUICE_STAGE_RECORDED) != 0) &&
        strcmp(option->name, "url") == 0) {
        buf_puts(out, "http://localhost/"); /* of a server that nobody asks */
        return true;
    }
    switch (option->type) {
    case SLUICE_OPT_PATH:
        buf_printf(out, "%s/out", kit->scratch);
        return (option->flags & SLUICE_OPTF_OUTPUT_PATH) != 0;
    case SLUICE_OPT_COLUMN:
        buf_puts(out, "text");
        return true;
    case SLUICE_OPT_BOOL:
        buf_puts(out, "true");
        return true;
    case SLUICE_OPT_INT:
    case SLUICE_OPT_SIZE:
        buf_printf(out, "%.0f", option_has_limits(option) && option->min > 1 ? option->min : 1.0);
        return true;
    case SLUICE_OPT_FLOAT:
        buf_printf(out, "%g", option_has_limits(option) ? option->min : 0.5);
        return true;
    case SLUICE_OPT_ENUM:
        buf_append(out, option->choices, strcspn(option->choices, "|"));
        return true;
    case SLUICE_OPT_DURATION:
        buf_puts(out, "1s");
        return true;
    case SLUICE_OPT_RANGE:
        buf_puts(out, "0..1");
        return true;
    default:
        return false; /* nobody can guess a string that means something */
    }
}

const char *kit_option_wanted(const struct kit *kit, const struct sluice_stage *kind)
{
    struct option_table table = option_table_of(kind);
    struct sluice_option option;
    struct buf text = BUF_INIT;
    const char *wanted = NULL;

    for (uint64_t k = 0; wanted == NULL && option_at(&table, k, &option); k++) {
        if ((option.flags & SLUICE_OPTF_REQUIRED) != 0 && !user_gives(kit, kind, option.name) &&
            !invented(kit, kind, &option, &text)) {
            wanted = option.name;
        }
    }
    buf_deinit(&text);
    return wanted;
}

static bool set_text(struct value *named, const char *name, const char *text)
{
    struct value item;

    return value_string(&item, text, strlen(text)) && value_map_set(named, name, item);
}

/* Parses the options: the user's, values over them, and what is required. NULL = bench->error. */
static struct options *parse(struct kit_bench *bench)
{
    const struct kit *kit = bench->kit;
    struct option_table table = option_table_of(bench->kind);
    struct option_args args = { .text = true };
    struct value named;
    struct options *options = NULL;
    struct sluice_option option;
    struct buf text = BUF_INIT;
    char name[64];
    const char *value;
    bool ok = true;

    value_map_init(&named);
    for (uint64_t k = 0; ok && option_at(&table, k, &option); k++) {
        if ((option.flags & SLUICE_OPTF_REQUIRED) != 0 &&
            invented(kit, bench->kind, &option, &text)) {
            ok = set_text(&named, option.name, buf_str(&text));
        }
    }
    for (size_t i = 0; ok && i < kit->options.n_options; i++) {
        if (option_word(bench->kind, kit->options.options[i], name, &value)) {
            ok = set_text(&named, name, value);
        }
    }
    bench->status = SLUICE_OK;
    if (ok && bench->options.text != NULL) {
        bench->status = options_split(bench->options.text, &named, &bench->error);
    }
    for (size_t i = 0; ok && bench->options.values != NULL && i < bench->options.values->as.map.n;
         i++) {
        const struct value_entry *entry = &bench->options.values->as.map.entries[i];
        struct value copy;
        ok = value_copy(&copy, &entry->value) && value_map_set(&named, entry->key, copy);
    }
    buf_deinit(&text);
    args.named = &named;
    if (!ok) {
        bench->status = error_nomem(&bench->error, "options");
    } else if (bench->status == SLUICE_OK) {
        bench->status =
            options_parse(&table, &args, kit->options.base_dir, &options, &bench->error);
    }
    value_deinit(&named);
    return bench->status == SLUICE_OK ? options : NULL;
}

/* ---- columns ---- */

/* A stage of the same file that adds a column of this name, and can be opened: its column. */
static bool sibling_makes(struct kit_bench *bench, const char *name, struct kit_maker *out,
                          char **type)
{
    struct kit *kit = bench->kit;

    *type = NULL;
    for (size_t i = 0; i < kit->n_entries && bench->options.depth + 1 < DEPTH_MAX; i++) {
        const struct registry_entry *entry = &kit->entries[i];
        struct kit_bench_options options = { .entry = entry, .depth = bench->options.depth + 1 };
        struct kit_bench *by;
        int32_t column = -1;
        if (entry == bench->entry || entry->stage.role != SLUICE_ROLE_ANNOTATOR ||
            kit_option_wanted(kit, &entry->stage) != NULL) {
            continue;
        }
        by = calloc(1, sizeof *by);
        if (by != NULL && kit_bench_open(kit, &options, by)) {
            column = schema_find(&by->prepared.added, name);
        }
        if (column >= 0) {
            *out = (struct kit_maker){ by, column };
            *type = type_print(by->prepared.added.fields[column].type);
            return *type != NULL;
        }
        if (by != NULL) {
            kit_bench_close(by);
            free(by);
        }
    }
    return false;
}

/* The chosen one of "a|b", as text; gives. */
static char *choose_type(const struct kit_bench *bench, const char *asked)
{
    uint32_t left = bench->options.alternative;
    const char *at = asked;

    if (asked[0] == '\0') {
        return str_copy("utf8", 4);
    }
    for (; left > 0; left--) {
        const char *bar = strchr(at, '|');
        at = bar == NULL ? asked : bar + 1;
    }
    return str_copy(at, strcspn(at, "|"));
}

/* What tokenizers leave beside token ids. */
static const char token_facts[] = "vocab_size=50257\neos=50256\ntokenizer=kit";

/* struct stage_inputs.absent: the stage asks for a column. */
static void absent(void *ctx, uint32_t port, const char *name, const char *asked)
{
    struct kit_bench *bench = ctx;
    struct schema *schema = &bench->schemas[port];
    enum sluice_hidden hidden = sluice_hidden_of(name);
    struct kit_maker maker = { NULL, -1 };
    struct sluice_error err = ERROR_INIT;
    char *type = NULL;

    if (schema->n >= KIT_FIELDS_MAX || name[0] == '\0' || hidden == SLUICE_HIDDEN_ROW ||
        hidden == SLUICE_HIDDEN_POS) {
        return;
    }
    if (bench->options.depth == 0) {
        kit_leave(bench->kit); /* what follows is not the stage's doing */
    }
    if (name[0] != '_' || !sibling_makes(bench, name, &maker, &type)) {
        free(type);
        type = choose_type(bench, asked);
    }
    if (type == NULL ||
        schema_add_text(schema, name, type, strcmp(name, "tokens") == 0 ? token_facts : NULL,
                        &err) != SLUICE_OK) {
        if (maker.by != NULL) {
            kit_bench_close(maker.by);
            free(maker.by);
        }
    } else {
        bench->makers[port][schema->n - 1] = maker;
    }
    free(type);
    enter(bench, "prepare");
}

/* The stage that provides a derived column, from this file or the install tree. */
static const struct registry_entry *provider_of(struct kit *kit, const char *provider)
{
    const struct registry_entry *entry = NULL;
    struct registry_options options = { .exe_dir = kit->options.exe_dir };
    struct sluice_error err = ERROR_INIT;

    for (size_t i = 0; i < kit->n_entries; i++) {
        const char *provides = kit->entries[i].stage.provides;
        if (provides != NULL && strcmp(provides, provider) == 0) {
            return &kit->entries[i];
        }
    }
    if (kit->registry == NULL && registry_create(&options, &kit->registry, &err) != SLUICE_OK) {
        return NULL;
    }
    return registry_find(kit->registry, provider, &entry, &err) == SLUICE_OK ? entry : NULL;
}

/* Puts a missing derived column into the schema, with the stage that makes it. */
static bool add_derived(struct kit_bench *bench, uint32_t port, const struct stage_need *need)
{
    struct schema *schema = &bench->schemas[port];
    const struct registry_entry *entry = provider_of(bench->kit, need->provider);
    struct kit_bench_options options = { .entry = entry, .depth = bench->options.depth + 1 };
    struct kit_bench *by = calloc(1, sizeof *by);
    char *text =
        str_printf("%s%sover=%s", need->options, need->options[0] != '\0' ? "," : "", need->source);
    char *name = str_printf("_derived_%u", schema->n);
    int32_t column = 0;
    struct field *field;
    bool ok = false;

    options.text = text;
    if (entry == NULL) {
        bench->status = error_set(&bench->error, SLUICE_E_CONFIG,
                                  "it needs the derived column '%s', and no stage provides that",
                                  need->provider);
    } else if (by != NULL && text != NULL && name != NULL && schema->n < KIT_FIELDS_MAX &&
               options.depth < DEPTH_MAX) {
        by->kit = bench->kit;
        ok = kit_bench_open(bench->kit, &options, by);
        if (!ok) {
            bench->status = by->status;
            bench->error = by->error;
        } else {
            column = schema_find(&by->prepared.added, entry->stage.provides);
            column = column < 0 ? 0 : column;
            ok = schema_add(schema, name, by->prepared.added.fields[column].type, NULL,
                            &bench->error) == SLUICE_OK;
        }
    }
    if (ok) {
        field = &schema->fields[schema->n - 1];
        field->derived_provider = str_copy(need->provider, strlen(need->provider));
        field->derived_options = str_copy(need->options, strlen(need->options));
        field->derived_source = str_copy(need->source, strlen(need->source));
        bench->makers[port][schema->n - 1] = (struct kit_maker){ by, column };
        by = NULL;
    }
    if (by != NULL) {
        if (by->kit != NULL) {
            kit_bench_close(by);
        }
        free(by);
    }
    free(text);
    free(name);
    return ok;
}

/* Columns that are always there, for stages that take all there is. */
static const char *const further[][2] = { { "id", "utf8" },
                                          { "text", "utf8?" },
                                          { "url", "utf8?" },
                                          { "lang", "utf8?" },
                                          { "score", "float64?" },
                                          { "count", "int64" },
                                          { "flag", "bool?" },
                                          { "tags", "list<utf8>" },
                                          { "metadata", "json?" },
                                          { "raw", "binary?" },
                                          { "pair", "struct<a:int32,b:utf8?>" } };

static bool add_further(struct kit_bench *bench)
{
    const struct kit *kit = bench->kit;
    const char *name;
    const char *type;

    for (size_t k = 0; kit->user != NULL && kit_user_column(kit->user, k, &name, &type); k++) {
        if (schema_find(&bench->schemas[0], name) < 0 && bench->schemas[0].n < KIT_FIELDS_MAX &&
            schema_add_text(&bench->schemas[0], name, type, NULL, &bench->error) != SLUICE_OK) {
            return false;
        }
    }
    for (size_t k = 0; k < sizeof further / sizeof further[0]; k++) {
        struct schema *schema = &bench->schemas[0];
        if (schema_find(schema, further[k][0]) < 0 && schema->n < KIT_FIELDS_MAX &&
            schema_add_text(schema, further[k][0], further[k][1], NULL, &bench->error) !=
                SLUICE_OK) {
            return false;
        }
    }
    return true;
}

/* ---- preparing ---- */

void kit_bench_describe(struct kit_bench *bench, struct stage_inputs *inputs)
{
    struct kit_reading reading = { .chunk = 0 };
    struct buf file = BUF_INIT;

    if (bench->kind->survey == NULL || bench->kit->options.data == NULL ||
        bench->options.depth > 0) {
        return;
    }
    if (!bench->is_described && kit_file_stored(bench->kit, &file)) {
        reading.data = buf_str(&file);
        reading.n = file.size;
        (void)kit_describe(bench, &reading, &bench->described, &bench->has_description);
        bench->is_described = true;
    }
    buf_deinit(&file);
    inputs->described_uri = "kit/file";
    inputs->described_data = bench->has_description ? bench->described.data : NULL;
    inputs->described_n = bench->has_description ? bench->described.size : 0;
}

static sluice_status prepare_once(struct kit_bench *bench, bool discover)
{
    struct stage_inputs inputs = { .ctx = bench };
    sluice_status status;

    if (bench->kind->role != SLUICE_ROLE_READER) {
        inputs.n_ports = (bench->kind->flags & SLUICE_STAGE_SIDE_INPUT) != 0 ? 2 : 1;
        inputs.schemas[0] = &bench->schemas[0];
        inputs.schemas[1] = &bench->schemas[1];
    }
    inputs.absent = discover ? absent : NULL;
    kit_bench_describe(bench, &inputs);
    if (bench->has_prepared) {
        stage_prepared_deinit(&bench->prepared);
    }
    bench->has_prepared = true;
    enter(bench, "prepare");
    status = stage_prepare(bench->stage, &inputs, &bench->prepared, &bench->error);
    kit_leave(bench->kit);
    return status;
}

static void remove_column(struct kit_bench *bench, uint32_t port, uint32_t at)
{
    struct kit_maker *makers = bench->makers[port];

    memmove(&makers[at], &makers[at + 1], (KIT_FIELDS_MAX - at - 1) * sizeof *makers);
    schema_remove(&bench->schemas[port], at);
}

/* Removes columns that are only asked for as optional. */
static void drop_optional(struct kit_bench *bench)
{
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        struct schema *schema = &bench->schemas[port];
        for (uint32_t k = 0; k < bench->prepared.n_needs[port]; k++) {
            const struct stage_need *need = &bench->prepared.needs[port][k];
            int32_t at =
                need->optional && need->name != NULL ? schema_find(schema, need->name) : -1;
            if (at >= 0 && bench->makers[port][at].by == NULL) {
                remove_column(bench, port, (uint32_t)at);
            }
        }
    }
}

static bool refusal(sluice_status status)
{
    return status == SLUICE_E_SCHEMA || status == SLUICE_E_CONFIG;
}

/* Takes away columns that it refuses by name, of those that nobody asked for. */
static sluice_status prepare_choosy(struct kit_bench *bench, bool discover)
{
    sluice_status status = prepare_once(bench, discover);

    for (size_t tries = 0; tries < sizeof further / sizeof further[0] && refusal(status); tries++) {
        int32_t at = schema_find(&bench->schemas[0], bench->error.field);
        if (at < 0 || bench->schemas[0].fields[at].derived_provider != NULL) {
            break;
        }
        remove_column(bench, 0, (uint32_t)at);
        status = prepare_once(bench, discover);
    }
    return status;
}

static bool prepare(struct kit_bench *bench)
{
    bench->failed_call = "prepare";
    bench->status = prepare_once(bench, true);
    if (refusal(bench->status)) {
        /* It may be one that looks at the columns that are there. */
        if (!add_further(bench)) {
            bench->status = SLUICE_E_NOMEM;
            return false;
        }
        bench->status = prepare_choosy(bench, true);
    }
    /* Then with what else a stage may find; derived columns one by one, until none is missing. */
    for (uint32_t round = 0; bench->status == SLUICE_OK && round < 8; round++) {
        bool changed = round == 0;
        if (round == 0 && bench->options.without_optional) {
            drop_optional(bench);
        } else if (round == 0 && !add_further(bench)) {
            bench->status = SLUICE_E_NOMEM;
            return false;
        }
        for (uint32_t port = 0; bench->prepared.missing && port < STAGE_PORTS; port++) {
            for (uint32_t k = 0; k < bench->prepared.n_needs[port]; k++) {
                const struct stage_need *need = &bench->prepared.needs[port][k];
                if (need->provider != NULL && need->field == STAGE_FIELD_MISSING) {
                    if (!add_derived(bench, port, need)) {
                        return false;
                    }
                    changed = true;
                }
            }
        }
        if (!changed) {
            break;
        }
        bench->status = prepare_choosy(bench, !bench->options.without_optional);
    }
    if (bench->status == SLUICE_OK) {
        bench->failed_call = NULL;
    }
    return bench->status == SLUICE_OK;
}

bool kit_bench_open(struct kit *kit, const struct kit_bench_options *options,
                    struct kit_bench *bench)
{
    struct stage_services services = { .ctx = bench,
                                       .read_file = input_lend,
                                       .release_file = input_take_back,
                                       .map_file = map_file,
                                       .unmap_file = unmap_file,
                                       .scratch_dir = scratch_dir,
                                       .seed = 42,
                                       .allow = allow,
                                       .check = true };
    struct options *parsed;

    memset(bench, 0, sizeof *bench);
    bench->kit = kit;
    bench->options = *options;
    bench->entry = options->entry != NULL ? options->entry : kit->entry;
    bench->kind = &bench->entry->stage;
    bench->error.size = sizeof bench->error;
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        schema_init(&bench->schemas[port]);
    }
    budget_init(&bench->budget, NULL, UINT64_MAX);
    services.budget = &bench->budget;
    services.cancelled = &bench->cancelled;
    bench->failed_call = "options";
    parsed = parse(bench);
    if (parsed == NULL) {
        return false;
    }
    bench->failed_call = "open";
    enter(bench, "open");
    bench->status = stage_open(bench->entry, parsed, bench->kind->name, &services, &bench->stage,
                               &bench->error);
    kit_leave(kit);
    return bench->status == SLUICE_OK && prepare(bench);
}

uint64_t kit_bench_close(struct kit_bench *bench)
{
    uint64_t held;

    if (bench->has_prepared) {
        stage_prepared_deinit(&bench->prepared);
    }
    enter(bench, "close");
    stage_close(bench->stage);
    kit_leave(bench->kit);
    filemaps_destroy(bench->maps);
    buf_deinit(&bench->described);
    held = budget_used(&bench->budget);
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        for (uint32_t k = 0; k < bench->schemas[port].n; k++) {
            struct kit_bench *by = bench->makers[port][k].by;
            if (by != NULL) {
                kit_bench_close(by);
                free(by);
            }
        }
        schema_deinit(&bench->schemas[port]);
    }
    memset(bench, 0, sizeof *bench);
    return held;
}

bool kit_bench_need(struct kit *kit, const struct kit_bench_options *options,
                    struct kit_bench *bench)
{
    const char *wanted = kit_option_wanted(kit, kit->kind);

    if (wanted != NULL) {
        memset(bench, 0, sizeof *bench);
        bench->kit = kit;
        return kit_skip(kit, "the option '%s' must be given: --option %s=...", wanted, wanted);
    }
    if (kit_bench_open(kit, options, bench)) {
        return true;
    }
    return kit_fail(kit, "%s: %s", bench->failed_call, bench->error.message);
}
