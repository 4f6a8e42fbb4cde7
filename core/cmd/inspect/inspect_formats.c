/* `sluice inspect --json` and `--md`: everything an option table says, for programs and for
 * reference pages. See inspect.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cmd/inspect/inspectInt.h"
#include "plugin/option_table.h"

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

void inspect_json(const struct registry_entry *entry, struct buf *out)
{
    const struct sluice_stage *stage = &entry->stage;
    struct option_table table = option_table_of(stage);
    struct sluice_option option;
    char hex[33];

    buf_puts(out, "{\"name\":");
    inspect_text_json(out, stage->name);
    member(out, "version", stage->version);
    member(out, "role", inspect_role(stage->role, false));
    member(out, "mode", inspect_mode(stage->mode));
    member(out, "summary", stage->summary);
    member(out, "doc", stage->doc);
    member(out, "example", stage->example);
    buf_puts(out, ",\"options\":[");
    for (uint64_t k = 0; option_at(&table, k, &option); k++) {
        buf_puts(out, k > 0 ? "," : "");
        option_json(&option, out);
    }
    buf_putc(out, ']');
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

/* ---- Markdown ---- */

/* Text inside a table cell. */
static void cell(struct buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '|') {
            buf_puts(out, "\\|");
        } else {
            buf_putc(out, *c == '\n' ? ' ' : *c);
        }
    }
}

static void code(struct buf *out, const char *text)
{
    if (text[0] != '\0') {
        buf_putc(out, '`');
        cell(out, text);
        buf_putc(out, '`');
    }
}

static void option_markdown(const struct sluice_option *option, struct buf *out)
{
    struct buf limits = BUF_INIT;

    buf_puts(out, "| ");
    code(out, option->name);
    buf_printf(out, " | %s | ", option_type_name(option->type));
    if (option->def != NULL) {
        code(out, option->def[0] != '\0' ? option->def : "\"\"");
    } else if ((option->flags & SLUICE_OPTF_REQUIRED) != 0) {
        buf_puts(out, "required");
    }
    buf_puts(out, " | ");
    if (option->type == SLUICE_OPT_ENUM) {
        option_print_choices(option, &limits);
    } else {
        option_print_limits(option, &limits);
    }
    cell(out, buf_str(&limits));
    buf_puts(out, " | ");
    cell(out, option->doc);
    inspect_remarks(option, out);
    buf_puts(out, " |\n");
    if (limits.failed) {
        out->failed = true;
    }
    buf_deinit(&limits);
}

void inspect_markdown(const struct registry_entry *entry, int level, struct buf *out)
{
    const struct sluice_stage *stage = &entry->stage;
    struct option_table table = option_table_of(stage);
    struct sluice_option option;
    struct buf text = BUF_INIT;

    buf_printf(out, "%.*s %s\n\n%s\n\n", level, "######", stage->name, stage->summary);
    buf_printf(out, "%c%s, %s. Version %s, plugin `%s`.",
               inspect_role(stage->role, false)[0] - 'a' + 'A',
               inspect_role(stage->role, false) + 1, inspect_mode(stage->mode), stage->version,
               entry->plugin_name);
    if (stage->provides != NULL) {
        buf_printf(out, " Provides the derived column `%s`.", stage->provides);
    }
    if (stage->conserves != NULL) {
        buf_printf(out, " Conserves the measure `%s`.", stage->conserves);
    }
    inspect_facts(stage, &text);
    if (text.size > 0) {
        buf_printf(out, " Notes: %s.", buf_str(&text));
    }
    buf_puts(out, "\n");
    if (table.n > 0) {
        buf_puts(
            out,
            "\n| option | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
        for (uint64_t k = 0; option_at(&table, k, &option); k++) {
            option_markdown(&option, out);
        }
    }
    if (stage->reasons != NULL) {
        buf_clear(&text);
        inspect_reasons(stage, &text);
        buf_printf(out, "\nDrops rows for these reasons: %s.\n", buf_str(&text));
    }
    if (stage->example != NULL && stage->example[0] != '\0') {
        size_t n = strlen(stage->example);
        buf_printf(out, "\n```lua\n%s%s```\n", stage->example,
                   stage->example[n - 1] == '\n' ? "" : "\n");
    }
    if (stage->doc != NULL && stage->doc[0] != '\0') {
        size_t n = strlen(stage->doc);
        buf_printf(out, "\n%s%s", stage->doc, stage->doc[n - 1] == '\n' ? "" : "\n");
    }
    if (text.failed) {
        out->failed = true;
    }
    buf_deinit(&text);
}

void inspect_list_format(const struct registry *registry, enum inspect_format format, bool all,
                         struct buf *out)
{
    bool first = true;

    if (format == INSPECT_JSON) {
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
        return;
    }
    buf_puts(out, "# Stages\n");
    for (uint32_t role = SLUICE_ROLE_READER; role <= SLUICE_ROLE_WRITER; role++) {
        first = true;
        for (size_t k = 0; k < registry_count(registry); k++) {
            const struct registry_entry *entry = registry_at(registry, k);
            if (entry->stage.role != role || (inspect_hidden(entry) && !all)) {
                continue;
            }
            if (first) {
                buf_printf(out, "\n## %c%s\n", inspect_role(role, true)[0] - 'a' + 'A',
                           inspect_role(role, true) + 1);
                first = false;
            }
            buf_putc(out, '\n');
            inspect_markdown(entry, 3, out);
        }
    }
}
