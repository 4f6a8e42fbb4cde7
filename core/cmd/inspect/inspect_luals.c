/* `sluice inspect --luals`: annotations for lua-language-server, so that editors complete and check
 * the names of stages, options, choices and text methods. Written from the option tables and the
 * table of text methods; the rest of the language stands in sdk/lua/sluice.lua. See inspect.h. */
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/inspectInt.h"
#include "lua/text/textlib.h"
#include "plugin/option_table.h"

/* Text as comment lines. */
static void comment(struct buf *out, const char *text)
{
    for (const char *at = text; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, "\n");
        buf_puts(out, "---");
        buf_append(out, at, n);
        buf_putc(out, '\n');
        at += n + (at[n] != '\0');
    }
}

/* Text on the line of an annotation. */
static void remark(struct buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        buf_putc(out, *c == '\n' ? ' ' : *c);
    }
}

/* ---- options ---- */

static const char *type_of(const struct sluice_option *option)
{
    switch (option->type) {
    case SLUICE_OPT_BOOL:
        return "boolean";
    case SLUICE_OPT_INT:
        return "integer";
    case SLUICE_OPT_FLOAT:
        return "number|string";
    case SLUICE_OPT_SIZE:
        return "integer|string";
    case SLUICE_OPT_DURATION:
        return "number|string";
    case SLUICE_OPT_RANGE:
        return "string|number[]|{ min: number?, max: number? }";
    case SLUICE_OPT_LIST:
        return "string[]|string";
    case SLUICE_OPT_MAP:
        return "table<string, string|number|boolean>";
    case SLUICE_OPT_NODE:
        return "sluice.Rows|string";
    default:
        return "string";
    }
}

static void put_type(struct buf *out, const struct sluice_option *option)
{
    if (option->type != SLUICE_OPT_ENUM) {
        buf_puts(out, type_of(option));
        return;
    }
    for (const char *at = option->choices; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, "|");
        buf_puts(out, at == option->choices ? "" : "|");
        buf_json_string(out, at, n);
        at += n + (at[n] != '\0');
    }
}

static void put_option(struct buf *out, const struct sluice_option *option)
{
    struct buf limits = BUF_INIT;

    buf_printf(out, "---@field %s%s ", option->name,
               (option->flags & SLUICE_OPTF_REQUIRED) != 0 &&
                       (option->flags & SLUICE_OPTF_POSITIONAL) == 0
                   ? ""
                   : "?");
    put_type(out, option);
    buf_putc(out, ' ');
    remark(out, option->doc);
    inspect_remarks(option, out);
    if (option->type != SLUICE_OPT_ENUM) {
        option_print_limits(option, &limits);
    }
    if (limits.size > 0) {
        buf_printf(out, " Within %s.", buf_str(&limits));
    }
    if (option->def != NULL) {
        buf_puts(out, " Default: ");
        remark(out, option->def[0] == '\0' ? "\"\"" : option->def);
        buf_putc(out, '.');
    }
    buf_putc(out, '\n');
    out->failed = out->failed || limits.failed;
    buf_deinit(&limits);
}

/* ---- stages ---- */

/* The option that may be given without its name; 0 = none. */
static bool positional(const struct option_table *table, struct sluice_option *out)
{
    for (uint64_t k = 0; option_at(table, k, out); k++) {
        if ((out->flags & SLUICE_OPTF_POSITIONAL) != 0) {
            return true;
        }
    }
    return false;
}

static bool has_required(const struct option_table *table)
{
    struct sluice_option option;

    for (uint64_t k = 0; option_at(table, k, &option); k++) {
        if ((option.flags & SLUICE_OPTF_REQUIRED) != 0) {
            return true;
        }
    }
    return false;
}

static void put_stage(struct buf *out, const struct registry_entry *entry)
{
    const struct sluice_stage *stage = &entry->stage;
    struct option_table table = option_table_of(stage);
    struct sluice_option option;
    struct sluice_option first;
    bool has_first = positional(&table, &first);

    buf_printf(out, "\n---@class sluice.options.%s\n", stage->name);
    if (has_first) {
        buf_puts(out, "---@field [1] ");
        put_type(out, &first);
        buf_printf(out, "? The same as %s.\n", first.name);
    }
    for (uint64_t k = 0; option_at(&table, k, &option); k++) {
        put_option(out, &option);
    }
    if (stage->role == SLUICE_ROLE_WRITER) {
        buf_puts(
            out,
            "---@field class? sluice.Class What its dataset is.\n"
            "---@field mode? \"rebuild\"|\"append\" What becomes of its rows that are there.\n");
    }
    buf_puts(out,
             "---@field isolate? boolean|sluice.Isolation Runs it in a process of its own.\n\n");
    buf_printf(out, "---%s.\n", stage->summary);
    if (stage->doc != NULL && stage->doc[0] != '\0') {
        buf_puts(out, "---\n");
        comment(out, stage->doc);
    }
    if (stage->example != NULL && stage->example[0] != '\0') {
        buf_puts(out, "---```lua\n");
        comment(out, stage->example);
        buf_puts(out, "---```\n");
    }
    buf_printf(out, "---@param options%s sluice.options.%s", has_required(&table) ? "" : "?",
               stage->name);
    if (has_first) {
        buf_putc(out, '|');
        put_type(out, &first);
    }
    buf_printf(out, "\n---@return sluice.Stage\nfunction s.%s(options) end\n", stage->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct registry_entry *const *)a)->stage.name,
                  (*(const struct registry_entry *const *)b)->stage.name);
}

static void put_stages(struct buf *out, const struct registry *registry)
{
    size_t n = registry_count(registry);
    const struct registry_entry **entries = calloc(n + 1, sizeof(const struct registry_entry *));
    size_t found = 0;

    if (entries == NULL) {
        out->failed = true;
        return;
    }
    for (size_t k = 0; k < n; k++) {
        if (!inspect_hidden(registry_at(registry, k))) {
            entries[found++] = registry_at(registry, k);
        }
    }
    qsort(entries, found, sizeof(const struct registry_entry *), by_name);
    for (size_t k = 0; k < found; k++) {
        put_stage(out, entries[k]);
    }
    free(entries);
}

/* ---- methods of texts ---- */

/* What arguments are, by the names they have in the methods' documentation. */
static const char *argument_type(const char *name, size_t n)
{
    static const struct {
        const char *name, *type;
    } types[] = {
        { "needle", "string" },
        { "prefix", "string" },
        { "suffix", "string" },
        { "class", "sluice.Class" },
        { "n", "integer" },
        { "above", "number" },
        { "rule", "sluice.Words" },
        { "from", "integer" },
        { "options", "table<string, number>" },
        { "set", "string" },
        { "how", "sluice.Cut" },
        { "regex", "string" },
        { "with", "string" },
    };

    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        if (strlen(types[k].name) == n && memcmp(types[k].name, name, n) == 0) {
            return types[k].type;
        }
    }
    return "any";
}

static const char *return_type(const char *name, size_t n)
{
    static const struct {
        const char *name, *type;
    } types[] = {
        { "contains", "boolean" },
        { "starts_with", "boolean" },
        { "ends_with", "boolean" },
        { "count", "integer" },
        { "chars", "integer" },
        { "count_class", "integer" },
        { "n_words", "integer" },
        { "n_lines", "integer" },
        { "n_sentences", "integer" },
        { "find_plain", "integer?, integer?" },
        { "words", "string[]" },
        { "lines", "string[]" },
        { "sentences", "string[]" },
        { "strip", "string" },
        { "lower_unicode", "string" },
        { "simplify", "string" },
        { "counter", "sluice.Counter" },
        { "word_stats", "sluice.WordStats" },
        { "pieces", "sluice.Pieces" },
        { "char_ngrams", "sluice.Times[]" },
        { "count_in", "integer" },
        { "strip_in", "string" },
        { "matches", "boolean" },
        { "match_count", "integer" },
        { "all_matches", "string[]" },
        { "replace_matches", "string, integer" },
        { "match_first", "integer?, integer?, ..." },
    };

    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        if (strlen(types[k].name) == n && memcmp(types[k].name, name, n) == 0) {
            return types[k].type;
        }
    }
    if (n > 7 && (memcmp(name, "gopher_", 7) == 0 || memcmp(name, "fineweb", 7) == 0)) {
        return "string? reason, number? value, number? limit";
    }
    return "number"; /* shares and means */
}

/* From "top_ngram_share(n [, above] [, rule]): ...". */
static void put_method(struct buf *out, const char *doc)
{
    size_t n = strcspn(doc, "(");
    const char *at = doc + n;
    struct buf names = BUF_INIT;
    bool optional = false;

    buf_putc(out, '\n');
    comment(out, doc);
    while (*at != '\0' && *at != ')') {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        if (length > 0) {
            buf_printf(out, "---@param %.*s%s %s\n", (int)length, at, optional ? "?" : "",
                       argument_type(at, length));
            buf_printf(&names, "%s%.*s", names.size > 0 ? ", " : "", (int)length, at);
            at += length;
        } else {
            optional = optional || *at == '[';
            at++;
        }
    }
    buf_printf(out, "---@return %s\nfunction string:%.*s(%s) end\n", return_type(doc, n), (int)n,
               doc, buf_str(&names));
    out->failed = out->failed || names.failed;
    buf_deinit(&names);
}

void inspect_luals(const struct registry *registry, struct buf *out)
{
    buf_puts(out,
             "---@meta _\n"
             "-- Generated by `sluice inspect --luals`; to change it, change the option tables.\n"
             "-- The language itself is in sluice.lua beside it.\n\n"
             "---@class sluice\nlocal s = {}\n");
    put_stages(out, registry);
    buf_puts(out, "\n-- methods of texts\n");
    for (size_t k = 0; textlib_doc(k) != NULL; k++) {
        put_method(out, textlib_doc(k));
    }
}
