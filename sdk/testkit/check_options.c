/* Checks of the descriptor, the options and prepare. See kitInt.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "plugin/option_table.h"

void check_descriptor(struct kit *kit)
{
    const struct sluice_stage *kind = kit->kind;
    struct option_table table = option_table_of(kind);
    struct sluice_option option;
    struct sluice_error err = ERROR_INIT;

    if (registry_check_stage(kind, &err) != SLUICE_OK ||
        option_table_check(&table, &err) != SLUICE_OK ||
        options_check_defaults(&table, &err) != SLUICE_OK) {
        kit_fail(kit, "%s", err.message);
        return;
    }
    if ((kind->save == NULL) != (kind->load == NULL && kind->merge == NULL)) {
        kit_fail(kit, "it has %s without %s: a saved state must be taken up again",
                 kind->save != NULL ? "save" : "load or merge",
                 kind->save != NULL ? "load or merge" : "save");
        return;
    }
    if (kind->role == SLUICE_ROLE_GATE && kind->merge == NULL && kind->process != NULL &&
        kind->save == NULL) {
        kit_warn(kit, "a gate without save and merge can't judge what several tasks saw");
        return;
    }
    if (kind->resume != NULL && kit->script == NULL && kit->file.plugin.abi_minor_needed == 0) {
        kit_warn(kit, "it has resume, which came with ABI 1.1, in a plugin that says it needs 1.0, "
                      "which a host of 1.0 would take, too: say abi_minor_needed = 1, unless it "
                      "looks with SLUICE_HAS_EMIT whether it can ask");
        return;
    }
    for (uint64_t k = 0; option_at(&table, k, &option); k++) {
        if (option.doc == NULL || option.doc[0] == '\0') {
            kit_warn(kit, "the option '%s' has no doc: `sluice inspect` can't explain it",
                     option.name);
            return;
        }
    }
    if (kind->summary == NULL || kind->summary[0] == '\0') {
        kit_warn(kit, "it has no summary: `sluice inspect` can't say what it does");
    }
}

/* ---- values of options ---- */

/* Opens the stage with one option set to text and runs a few rows. The stage may refuse the value,
 * if it does so with a word about why. */
static bool accepts(struct kit *kit, const struct sluice_option *option, const char *text)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;
    struct value values;
    struct value item;
    bool ok = true;

    value_map_init(&values);
    kit_outcome_init(&outcome);
    kit_what(kit, "the option %s = %s", option->name, text);
    if (value_string(&item, text, strlen(text)) && value_map_set(&values, option->name, item)) {
        options.values = &values;
        if (kit_bench_open(kit, &options, &bench)) {
            if (kit_exercise(&bench, 12, KIT_ORDINARY, NULL, NULL, &outcome) &&
                outcome.status != SLUICE_E_DATA) {
                ok = kit_outcome_fine(kit, &outcome, "ordinary rows");
            }
        } else if (bench.status != SLUICE_E_CONFIG && bench.status != SLUICE_E_SCHEMA &&
                   bench.status != SLUICE_E_NOMEM && bench.status != SLUICE_E_IO) {
            ok = kit_fail(kit, "with %s = %s, which is within its limits, %s fails: %s",
                          option->name, text, bench.failed_call, bench.error.message);
        } else if (strcmp(bench.failed_call, "options") == 0) {
            ok = kit_fail(kit, "%s = %s, which its table allows, is refused: %s", option->name,
                          text, bench.error.message);
        }
        kit_outcome_deinit(&outcome);
        kit_bench_close(&bench);
    }
    value_deinit(&values);
    return ok;
}

static bool refuses(struct kit *kit, const struct sluice_option *option, struct value item)
{
    struct option_table table = option_table_of(kit->kind);
    struct option_args args = { 0 };
    struct options *parsed = NULL;
    struct sluice_error err = ERROR_INIT;
    struct buf text = BUF_INIT;
    struct value named;
    bool ok = true;

    value_map_init(&named);
    value_describe(&item, &text);
    args.named = &named;
    if (value_map_set(&named, option->name, item) &&
        options_parse(&table, &args, kit->options.base_dir, &parsed, &err) == SLUICE_OK) {
        ok = kit_fail(kit, "the option '%s' takes %s, which is no %s within its limits",
                      option->name, buf_str(&text), option_type_name(option->type));
    }
    options_destroy(parsed);
    value_deinit(&named);
    buf_deinit(&text);
    return ok;
}

static void print_limit(const struct sluice_option *option, double limit, char out[64])
{
    if (option->type == SLUICE_OPT_FLOAT) {
        number_print(limit, out);
    } else if (option->type == SLUICE_OPT_DURATION) {
        snprintf(out, 64, "%.0fns", limit);
    } else {
        snprintf(out, 64, "%.0f", limit);
    }
}

static bool limited(const struct sluice_option *option)
{
    return option_has_limits(option) &&
           (option->type == SLUICE_OPT_INT || option->type == SLUICE_OPT_FLOAT ||
            option->type == SLUICE_OPT_SIZE || option->type == SLUICE_OPT_DURATION);
}

void check_options_limits(struct kit *kit)
{
    struct option_table table = option_table_of(kit->kind);
    struct sluice_option option;
    const char *wanted = kit_option_wanted(kit, kit->kind);
    uint32_t tried = 0;

    if (wanted != NULL) {
        kit_skip(kit, "the option '%s' must be given: --option %s=...", wanted, wanted);
        return;
    }
    for (uint64_t k = 0; option_at(&table, k, &option) && !kit_failed(kit); k++) {
        char text[64];
        if (limited(&option)) {
            print_limit(&option, option.min, text);
            tried += accepts(kit, &option, text) ? 1 : 0;
            /* The upper end of a size or count may mean that much memory: open, and no rows. */
            print_limit(&option, option.max, text);
            if (option.max <= 1e6) {
                accepts(kit, &option, text);
            }
        } else if (option.type == SLUICE_OPT_ENUM && option.choices != NULL) {
            for (const char *at = option.choices; *at != '\0' && !kit_failed(kit);) {
                size_t n = strcspn(at, "|");
                snprintf(text, sizeof text, "%.*s", (int)n, at);
                accepts(kit, &option, text);
                at += n + (at[n] == '|' ? 1 : 0);
                tried++;
            }
        } else if (option.type == SLUICE_OPT_BOOL) {
            accepts(kit, &option, "true");
            accepts(kit, &option, "false");
            tried++;
        }
    }
    if (tried == 0 && !kit_failed(kit)) {
        kit_skip(kit, "no option has limits");
    }
}

static struct value string_value(const char *text)
{
    struct value value;

    value_string(&value, text, strlen(text));
    return value;
}

static bool wrong_type(struct kit *kit, const struct sluice_option *option)
{
    struct value list;

    value_list_init(&list);
    switch (option->type) {
    case SLUICE_OPT_BOOL:
        return refuses(kit, option, value_int(2)) && refuses(kit, option, string_value("maybe"));
    case SLUICE_OPT_INT:
        return refuses(kit, option, value_float(1.5)) &&
               refuses(kit, option, string_value("seven")) &&
               refuses(kit, option, value_bool(true));
    case SLUICE_OPT_FLOAT:
        return refuses(kit, option, string_value("a lot")) &&
               refuses(kit, option, value_float((double)NAN));
    case SLUICE_OPT_ENUM:
        return refuses(kit, option, string_value("no-such-choice")) &&
               refuses(kit, option, value_int(0));
    case SLUICE_OPT_SIZE:
        return refuses(kit, option, value_int(-1)) &&
               refuses(kit, option, string_value("12 parsecs"));
    case SLUICE_OPT_DURATION:
        return refuses(kit, option, string_value("soon"));
    case SLUICE_OPT_STRING:
    case SLUICE_OPT_PATH:
    case SLUICE_OPT_COLUMN:
    case SLUICE_OPT_NODE:
        return refuses(kit, option, list);
    case SLUICE_OPT_RANGE:
        return refuses(kit, option, string_value("high..low"));
    case SLUICE_OPT_LIST:
        return refuses(kit, option, value_bool(true));
    default:
        return refuses(kit, option, value_int(1));
    }
}

static bool beyond(struct kit *kit, const struct sluice_option *option)
{
    double step = option->type == SLUICE_OPT_FLOAT ? fabs(option->max - option->min) / 1000 : 1;

    if (!limited(option) || option->type == SLUICE_OPT_DURATION) {
        return true;
    }
    if (option->type == SLUICE_OPT_FLOAT) {
        return (isinf(option->min) || refuses(kit, option, value_float(option->min - step))) &&
               (isinf(option->max) || refuses(kit, option, value_float(option->max + step)));
    }
    return (option->min <= -9e15 || refuses(kit, option, value_int((int64_t)option->min - 1))) &&
           (option->max >= 9e15 || refuses(kit, option, value_int((int64_t)option->max + 1)));
}

void check_options_wrong(struct kit *kit)
{
    struct option_table table = option_table_of(kit->kind);
    struct sluice_option option;
    uint64_t k = 0;

    for (; option_at(&table, k, &option); k++) {
        kit_what(kit, "the option %s", option.name);
        if (!beyond(kit, &option) || !wrong_type(kit, &option)) {
            return;
        }
    }
    if (k == 0) {
        kit_skip(kit, "it has no options");
    }
}

void check_options_required(struct kit *kit)
{
    struct option_table table = option_table_of(kit->kind);
    struct option_args args = { 0 };
    struct sluice_option option;
    struct sluice_error err = ERROR_INIT;
    struct options *parsed = NULL;
    bool required = false;

    for (uint64_t k = 0; option_at(&table, k, &option); k++) {
        required = required || (option.flags & SLUICE_OPTF_REQUIRED) != 0;
    }
    if (!required) {
        kit_skip(kit, "no option is required");
        return;
    }
    if (options_parse(&table, &args, kit->options.base_dir, &parsed, &err) == SLUICE_OK) {
        kit_fail(kit, "it opens without the options that are required");
    } else if (err.field[0] == '\0') {
        kit_fail(kit, "what is said about a missing option does not name it: %s", err.message);
    }
    options_destroy(parsed);
}

/* ---- prepare ---- */

static bool same_declaration(const struct stage_prepared *a, const struct stage_prepared *b)
{
    bool same = schema_equal(&a->added, &b->added) && a->n_outputs == b->n_outputs;

    for (uint32_t port = 0; port < STAGE_PORTS && same; port++) {
        same = a->n_needs[port] == b->n_needs[port];
        for (uint32_t k = 0; same && k < a->n_needs[port]; k++) {
            same = a->needs[port][k].field == b->needs[port][k].field;
        }
    }
    return same;
}

/* Without any column: it must refuse with a word, or need none. */
static void prepare_bare(struct kit *kit, struct kit_bench *bench)
{
    struct schema none;
    struct stage_inputs inputs = { .n_ports = 2, .schemas = { &none, &none } };
    struct stage_prepared prepared;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    schema_init(&none);
    kit_what(kit, "an input without columns");
    kit_enter(kit, "prepare");
    if (kit_reader(kit)) {
        inputs.n_ports = 0;
    }
    status = stage_prepare(bench->stage, &inputs, &prepared, &err);
    kit_leave(kit);
    if (status != SLUICE_OK && status != SLUICE_E_SCHEMA && status != SLUICE_E_CONFIG) {
        kit_fail(kit,
                 "prepare with an input that lacks its columns fails as status %d, expected "
                 "SLUICE_E_SCHEMA from need() handed on: %s",
                 (int)status, err.message);
    }
    stage_prepared_deinit(&prepared);
}

void check_prepare(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct stage_prepared again;
    struct stage_inputs inputs = { .n_ports = 2 };
    struct sluice_error err = ERROR_INIT;

    if (kit_bench_need(kit, &options, &bench)) {
        inputs.schemas[0] = &bench.schemas[0];
        inputs.schemas[1] = &bench.schemas[1];
        kit_bench_describe(&bench, &inputs);
        kit_what(kit, "the same schemas once more");
        kit_enter(kit, "prepare");
        if (stage_prepare(bench.stage, &inputs, &again, &err) != SLUICE_OK) {
            kit_fail(kit,
                     "prepare works once and fails the second time, which the planner needs "
                     "(it asks again when columns were pruned): %s",
                     err.message);
        } else if (!same_declaration(&bench.prepared, &again)) {
            kit_fail(kit, "prepare asks for and declares other columns the second time; it must "
                          "depend on the options and the schemas only");
        }
        kit_leave(kit);
        stage_prepared_deinit(&again);
        prepare_bare(kit, &bench);
    }
    kit_bench_close(&bench);
}
