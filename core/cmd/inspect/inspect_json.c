/* Stages as JSON: everything an option table says. See inspectInt.h. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cmd/inspect/inspectInt.h"
#include "plugin/option_table.h"

/* "reader" */
static const char *role_name(uint32_t role)
{
    static const char *const names[] = { "?",         "reader", "filter", "annotator",
                                         "transform", "gate",   "writer" };

    return names[role < sizeof names / sizeof names[0] ? role : 0];
}

/* "stateless" */
static const char *mode_name(uint32_t mode)
{
    static const char *const modes[] = { "stateless", "ordered", "keyed", "global" };

    return mode < sizeof modes / sizeof modes[0] ? modes[mode] : "?";
}

bool inspect_hidden(const struct registry_entry *entry)
{
    return (entry->stage.flags & SLUICE_STAGE_HIDDEN) != 0;
}

void inspect_remarks(const struct sluice_option *option, struct buf *out)
{
    size_t n = strlen(option->doc);

    buf_puts(out, n > 0 && strchr(".!?", option->doc[n - 1]) == NULL ? "." : "");
    if ((option->flags & SLUICE_OPTF_POSITIONAL) != 0) {
        buf_puts(out, " May be given without its name.");
    }
    if ((option->flags & SLUICE_OPTF_DEPRECATED) != 0) {
        buf_puts(out, " Deprecated.");
    }
    if ((option->flags & SLUICE_OPTF_OUTPUT_PATH) != 0) {
        buf_puts(out, " A dataset folder to be written.");
    } else if ((option->flags & SLUICE_OPTF_NO_OUTPUT) != 0) {
        buf_puts(out, " Does not change the output.");
    }
}

void inspect_text_json(struct buf *out, const char *text)
{
    struct value value;

    if (text == NULL) {
        buf_puts(out, "null");
    } else if (value_string(&value, text, strlen(text))) {
        value_print_json(&value, out);
        value_deinit(&value);
    } else {
        out->failed = true;
    }
}

static void member(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    inspect_text_json(out, text);
}

static void member_number(struct buf *out, const char *name, double number)
{
    char text[NUMBER_TEXT_MAX];

    number_print(number, text);
    buf_printf(out, ",\"%s\":%s", name, text);
}

static void member_flag(struct buf *out, const char *name, bool flag)
{
    buf_printf(out, ",\"%s\":%s", name, flag ? "true" : "false");
}

/* "a|b" as a JSON array. */
static void member_words(struct buf *out, const char *name, const char *words)
{
    const char *at = words;

    buf_printf(out, ",\"%s\":[", name);
    while (at != NULL) {
        size_t n = strcspn(at, "|");
        buf_puts(out, at == words ? "" : ",");
        buf_json_string(out, at, n);
        at = at[n] != '\0' ? at + n + 1 : NULL;
    }
    buf_putc(out, ']');
}

static void option_json(const struct sluice_option *option, struct buf *out)
{
    buf_puts(out, "{\"name\":");
    inspect_text_json(out, option->name);
    member(out, "type", option_type_name(option->type));
    member(out, "default", option->def);
    if (option_has_limits(option)) {
        member_number(out, "min", option->min);
        member_number(out, "max", option->max);
    }
    if (option->type == SLUICE_OPT_ENUM) {
        member_words(out, "choices", option->choices);
    }
    member(out, "doc", option->doc);
    if (option->since != NULL) {
        member(out, "since", option->since);
    }
    member_flag(out, "required", (option->flags & SLUICE_OPTF_REQUIRED) != 0);
    member_flag(out, "positional", (option->flags & SLUICE_OPTF_POSITIONAL) != 0);
    member_flag(out, "deprecated", (option->flags & SLUICE_OPTF_DEPRECATED) != 0);
    member_flag(out, "output_path", (option->flags & SLUICE_OPTF_OUTPUT_PATH) != 0);
    member_flag(out, "changes_output",
                (option->flags & (SLUICE_OPTF_NO_OUTPUT | SLUICE_OPTF_OUTPUT_PATH)) == 0);
    buf_putc(out, '}');
}

static void options_array(const struct option_table *table, struct buf *out)
{
    struct sluice_option option;

    buf_putc(out, '[');
    for (uint64_t k = 0; option_at(table, k, &option); k++) {
        buf_puts(out, k > 0 ? "," : "");
        option_json(&option, out);
    }
    buf_putc(out, ']');
}

void inspect_json(const struct registry_entry *entry, struct buf *out)
{
    const struct sluice_stage *stage = &entry->stage;
    struct option_table table = option_table_of(stage);
    char hex[33];

    buf_puts(out, "{\"name\":");
    inspect_text_json(out, stage->name);
    member(out, "version", stage->version);
    member(out, "role", role_name(stage->role));
    member(out, "mode", mode_name(stage->mode));
    member(out, "summary", stage->summary);
    member(out, "doc", stage->doc);
    member(out, "example", stage->example);
    buf_puts(out, ",\"options\":");
    options_array(&table, out);
    member_words(out, "reasons", stage->reasons);
    member(out, "provides", stage->provides);
    member(out, "cut", stage->cut);
    member(out, "conserves", stage->conserves);
    member_flag(out, "hidden", inspect_hidden(entry));
    member_flag(out, "recorded", (stage->flags & SLUICE_STAGE_RECORDED) != 0);
    member_flag(out, "may_block", (stage->flags & SLUICE_STAGE_MAY_BLOCK) != 0);
    member_flag(out, "side_input", (stage->flags & SLUICE_STAGE_SIDE_INPUT) != 0);
    member_flag(out, "consumes", (stage->flags & SLUICE_STAGE_CONSUMES) != 0);
    member_flag(out, "saves_state", stage->save != NULL);
    buf_printf(out, ",\"bytes_shared\":%llu,\"bytes_worker\":%llu",
               (unsigned long long)stage->bytes_shared, (unsigned long long)stage->bytes_worker);
    member_number(out, "bytes_per_input", stage->bytes_per_input);
    member(out, "plugin", entry->plugin_name);
    member(out, "plugin_version", entry->plugin != NULL ? entry->plugin->version : NULL);
    member(out, "origin", entry->origin);
    hash_hex(entry->hash, hex);
    member(out, "hash", hex);
    member(out, "libraries", entry->libraries);
    buf_putc(out, '}');
}

json_t *inspect_options(const struct option_table *table)
{
    struct sluice_option option;
    struct buf text = BUF_INIT;
    json_t *options;

    options_array(table, &text);
    options = text.failed ? NULL : json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL);
    for (uint64_t k = 0; option_at(table, k, &option); k++) {
        buf_clear(&text);
        if (option.type == SLUICE_OPT_ENUM) {
            option_print_choices(&option, &text);
        } else {
            option_print_limits(&option, &text);
        }
        json_object_set_new(json_array_get(options, k), "limits", json_string(buf_str(&text)));
    }
    buf_deinit(&text);
    return options;
}

/* What people read beside: limits as they are written, the interface that the plugin was built
 * for. */
json_t *inspect_stage(const struct registry_entry *entry)
{
    struct option_table table = option_table_of(&entry->stage);
    struct buf text = BUF_INIT;
    json_t *json;

    inspect_json(entry, &text);
    json = text.failed ? NULL : json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL);
    json_object_set_new(json, "options", inspect_options(&table));
    if (entry->plugin != NULL) {
        buf_clear(&text);
        buf_printf(&text, "%u.%u", SLUICE_ABI_MAJOR, entry->plugin->abi_minor_built);
        json_object_set_new(json, "abi", json_string(buf_str(&text)));
    }
    buf_deinit(&text);
    return json;
}

void inspect_list_json(const struct registry *registry, bool all, struct buf *out)
{
    bool first = true;

    buf_putc(out, '[');
    for (size_t k = 0; k < registry_count(registry); k++) {
        const struct registry_entry *entry = registry_at(registry, k);
        if (all || !inspect_hidden(entry)) {
            buf_puts(out, first ? "\n" : ",\n");
            inspect_json(entry, out);
            first = false;
        }
    }
    buf_puts(out, "\n]\n");
}
