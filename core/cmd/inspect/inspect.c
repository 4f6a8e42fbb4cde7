/* `sluice inspect`: the command, and its text output. JSON and Markdown are in inspect_formats.c.
 * See inspect.h. */
#include "cmd/inspect/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/inspect/inspectInt.h"
#include "plugin/option_table.h"

#define WIDTH_DEFAULT 100
#define WIDTH_MIN 40
#define WIDTH_MAX 160
#define CELL_MAX 28 /* wider defaults and ranges move into the text column */

static const struct {
    uint32_t role;
    const char *one, *many;
} roles[] = {
    { SLUICE_ROLE_READER, "reader", "readers" },
    { SLUICE_ROLE_FILTER, "filter", "filters" },
    { SLUICE_ROLE_ANNOTATOR, "annotator", "annotators" },
    { SLUICE_ROLE_TRANSFORM, "transform", "transforms" },
    { SLUICE_ROLE_GATE, "gate", "gates" },
    { SLUICE_ROLE_WRITER, "writer", "writers" },
};

const char *inspect_role(uint32_t role, bool many)
{
    for (size_t k = 0; k < sizeof roles / sizeof roles[0]; k++) {
        if (roles[k].role == role) {
            return many ? roles[k].many : roles[k].one;
        }
    }
    return "?";
}

const char *inspect_mode(uint32_t mode)
{
    static const char *const modes[] = { "stateless", "ordered", "keyed", "global" };

    return mode < sizeof modes / sizeof modes[0] ? modes[mode] : "?";
}

bool inspect_hidden(const struct registry_entry *entry)
{
    return (entry->stage.flags & SLUICE_STAGE_HIDDEN) != 0;
}

int inspect_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col < WIDTH_MIN   ? WIDTH_MIN
               : size.ws_col > WIDTH_MAX ? WIDTH_MAX
                                         : size.ws_col;
    }
    return WIDTH_DEFAULT;
}

/* Characters, not bytes. */
static int columns_of(const char *text, size_t n)
{
    int columns = 0;

    for (size_t i = 0; i < n; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return columns;
}

static void pad(struct buf *out, int n)
{
    for (int i = 0; i < n; i++) {
        buf_putc(out, ' ');
    }
}

void inspect_wrap(struct buf *out, const char *text, int width, int indent, int column)
{
    const char *at = text;
    bool first = true;

    while (*at != '\0') {
        size_t n = strcspn(at, " \n");
        int columns = columns_of(at, n);
        if (n > 0) {
            if (!first && column + 1 + columns > width) {
                buf_putc(out, '\n');
                pad(out, indent);
                column = indent;
            } else if (!first) {
                buf_putc(out, ' ');
                column++;
            }
            buf_append(out, at, n);
            column += columns;
            first = false;
        }
        at += n;
        at += *at != '\0' ? 1 : 0;
    }
}

/* ---- one stage as text ---- */

struct row {
    struct sluice_option option;
    struct buf def, limits, text;
};

static void row_fill(struct row *row)
{
    const struct sluice_option *option = &row->option;
    bool required = (option->flags & SLUICE_OPTF_REQUIRED) != 0;
    struct buf limits = BUF_INIT;

    buf_puts(&row->def, option->def == NULL      ? (required ? "required" : "-")
                        : option->def[0] == '\0' ? "\"\""
                                                 : option->def);
    if (option->type == SLUICE_OPT_ENUM) {
        option_print_choices(option, &limits);
    } else {
        option_print_limits(option, &limits);
    }
    buf_puts(&row->text, option->doc);
    inspect_remarks(option, &row->text);
    if (columns_of(limits.data, limits.size) > CELL_MAX) {
        buf_printf(&row->text, "%s %s.", option->type == SLUICE_OPT_ENUM ? " One of" : " Within",
                   buf_str(&limits));
    } else {
        buf_append(&row->limits, limits.data, limits.size);
    }
    if (columns_of(row->def.data, row->def.size) > CELL_MAX) {
        buf_clear(&row->def);
        buf_puts(&row->def, "(see text)");
        buf_printf(&row->text, " Default: %s.", option->def);
    }
    buf_deinit(&limits);
}

static int widest(int so_far, const char *text, size_t n)
{
    int columns = columns_of(text, n);

    return columns > so_far ? columns : so_far;
}

static void cell(struct buf *out, const char *text, int width)
{
    buf_puts(out, text);
    pad(out, width - columns_of(text, strlen(text)) + 2);
}

static void print_options(const struct sluice_stage *stage, int width, struct buf *out)
{
    struct option_table table = option_table_of(stage);
    struct row *rows = calloc((size_t)table.n + 1, sizeof *rows);
    int name = 0;
    int type = 0;
    int def = 0;
    int limits = 0;

    if (rows == NULL) {
        out->failed = true;
        return;
    }
    for (uint64_t k = 0; option_at(&table, k, &rows[k].option); k++) {
        struct row *row = &rows[k];
        const char *type_name = option_type_name(row->option.type);
        row_fill(row);
        name = widest(name, row->option.name, strlen(row->option.name));
        type = widest(type, type_name, strlen(type_name));
        def = widest(def, row->def.data, row->def.size);
        limits = widest(limits, row->limits.data, row->limits.size);
    }
    if (table.n > 0) {
        buf_puts(out, "\noptions\n");
    }
    for (uint64_t k = 0; k < table.n; k++) {
        struct row *row = &rows[k];
        int indent = 2 + name + 2 + type + 2 + def + 2 + (limits > 0 ? limits + 2 : 0);
        pad(out, 2);
        cell(out, row->option.name, name);
        cell(out, option_type_name(row->option.type), type);
        cell(out, buf_str(&row->def), def);
        if (limits > 0) {
            cell(out, buf_str(&row->limits), limits);
        }
        if (width - indent < 24) {
            indent = 6; /* a narrow terminal: the text goes below */
            buf_puts(out, "\n      ");
        }
        inspect_wrap(out, buf_str(&row->text), width, indent, indent);
        buf_putc(out, '\n');
    }
    for (uint64_t k = 0; k < table.n; k++) {
        buf_deinit(&rows[k].def);
        buf_deinit(&rows[k].limits);
        buf_deinit(&rows[k].text);
    }
    free(rows);
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

void inspect_facts(const struct sluice_stage *stage, struct buf *out)
{
    static const struct {
        uint64_t flag;
        const char *text;
    } flags[] = {
        { SLUICE_STAGE_RECORDED, "its results are recorded and never computed again" },
        { SLUICE_STAGE_MAY_BLOCK, "may wait for something outside" },
        { SLUICE_STAGE_SIDE_INPUT, "has a side input" },
        { SLUICE_STAGE_CONSUMES, "may give fewer rows than it takes in" },
        { SLUICE_STAGE_HIDDEN, "an internal part of a composite" },
    };

    for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
        if ((stage->flags & flags[k].flag) != 0) {
            buf_printf(out, "%s%s", out->size > 0 ? "; " : "", flags[k].text);
        }
    }
}

/* "title  text" with the text wrapped; nothing without text. */
static void fact(struct buf *out, const char *title, const char *text, int width)
{
    if (text != NULL && text[0] != '\0') {
        cell(out, title, 9);
        inspect_wrap(out, text, width, 11, 11);
        buf_putc(out, '\n');
    }
}

/* A titled block: prose is wrapped at width, indented lines (code), tables and lists' lines stay.
 */
static void block(struct buf *out, const char *title, const char *text, int width)
{
    const char *at = text;

    if (text == NULL || text[0] == '\0') {
        return;
    }
    buf_printf(out, "\n%s\n", title);
    while (*at != '\0') {
        size_t n = strcspn(at, "\n");
        char *line = str_copy(at, n);
        if (line == NULL) {
            out->failed = true;
            return;
        }
        if (n > 0) {
            pad(out, 2);
        }
        if (width == 0 || strchr(" \t|`", line[0]) != NULL) {
            buf_puts(out, line);
        } else {
            inspect_wrap(out, line, width, 2, 2);
        }
        buf_putc(out, '\n');
        free(line);
        at += n + (at[n] != '\0' ? 1 : 0);
    }
}

void inspect_reasons(const struct sluice_stage *stage, struct buf *out)
{
    for (const char *c = stage->reasons; c != NULL && *c != '\0'; c++) {
        if (*c == '|') {
            buf_puts(out, ", ");
        } else {
            buf_putc(out, *c);
        }
    }
}

static void print_text(const struct registry_entry *entry, int width, struct buf *out)
{
    const struct sluice_stage *stage = &entry->stage;
    struct buf line = BUF_INIT;

    buf_printf(out, "%s %s  %s, %s\n", stage->name, stage->version,
               inspect_role(stage->role, false), inspect_mode(stage->mode));
    inspect_wrap(out, stage->summary, width, 0, 0);
    buf_putc(out, '\n');
    print_options(stage, width, out);
    buf_putc(out, '\n');
    inspect_reasons(stage, &line);
    fact(out, "reasons", buf_str(&line), width);
    fact(out, "provides", stage->provides, width);
    fact(out, "conserves", stage->conserves, width);
    buf_clear(&line);
    inspect_facts(stage, &line);
    fact(out, "notes", buf_str(&line), width);
    buf_clear(&line);
    buf_printf(&line, "%s%s%s", entry->plugin_name, entry->plugin != NULL ? " " : "",
               entry->plugin != NULL ? entry->plugin->version : "");
    if (entry->plugin != NULL) {
        buf_printf(&line, " (ABI %u.%u)", SLUICE_ABI_MAJOR, entry->plugin->abi_minor_built);
    }
    buf_printf(&line, "  %s", entry->origin);
    fact(out, "plugin", buf_str(&line), width);
    fact(out, "libraries", entry->libraries, width);
    block(out, "example", stage->example, 0);
    block(out, "about", stage->doc, width);
    if (line.failed) {
        out->failed = true;
    }
    buf_deinit(&line);
}

/* One stage. width = columns of text output (at least 40). */
static void inspect_stage(const struct registry_entry *entry, enum inspect_format format, int width,
                          struct buf *out)
{
    switch (format) {
    case INSPECT_TEXT:
        print_text(entry, width, out);
        break;
    case INSPECT_JSON:
        inspect_json(entry, out);
        buf_putc(out, '\n');
        break;
    case INSPECT_MARKDOWN:
        inspect_markdown(entry, 1, out);
        break;
    }
}

/* ---- the list ---- */

static void list_role(const struct registry *registry, uint32_t role, bool all, int width, int name,
                      struct buf *out)
{
    bool first = true;

    for (size_t k = 0; k < registry_count(registry); k++) {
        const struct registry_entry *entry = registry_at(registry, k);
        if (entry->stage.role != role || (inspect_hidden(entry) && !all)) {
            continue;
        }
        if (first) {
            buf_printf(out, "%s%s\n", out->size > 0 ? "\n" : "", inspect_role(role, true));
            first = false;
        }
        pad(out, 2);
        cell(out, entry->stage.name, name);
        inspect_wrap(out, entry->stage.summary, width, name + 4, name + 4);
        buf_putc(out, '\n');
    }
}

/* All stages by role; hidden ones only with all. Call registry_load_all first. */
static void inspect_list(const struct registry *registry, enum inspect_format format, bool all,
                         int width, struct buf *out)
{
    size_t hidden = 0;
    int name = 0;

    if (format != INSPECT_TEXT) {
        inspect_list_format(registry, format, all, out);
        return;
    }
    for (size_t k = 0; k < registry_count(registry); k++) {
        const struct registry_entry *entry = registry_at(registry, k);
        hidden += inspect_hidden(entry) ? 1 : 0;
        if (all || !inspect_hidden(entry)) {
            name = widest(name, entry->stage.name, strlen(entry->stage.name));
        }
    }
    for (size_t k = 0; k < sizeof roles / sizeof roles[0]; k++) {
        list_role(registry, roles[k].role, all, width, name, out);
    }
    buf_puts(out, out->size > 0 ? "\n`sluice inspect STAGE` shows a stage's options"
                                : "no stages were found; `sluice plugins` says why");
    if (hidden > 0 && !all) {
        buf_printf(out, "; --all lists %zu internal parts as well", hidden);
    }
    buf_puts(out, ".\n");
}

/* ---- the command ---- */

static int complain(const char *message)
{
    say_to(stderr, "sluice: %s\n", message);
    return 2;
}

int inspect_print(struct buf *out, bool json)
{
    if (json) {
        say_json(buf_str(out), out->size);
    } else {
        say_text(stdout, buf_str(out), out->size);
    }
    if (out->failed || fflush(stdout) != 0) {
        say_to(stderr, "sluice: cannot write the output\n");
        buf_deinit(out);
        return 1;
    }
    buf_deinit(out);
    return 0;
}

static const struct arg_spec inspect_specs[] = {
    { "--all", NULL, "internal parts of composites as well" },
    { "--md", NULL, "as Markdown" },
    { "--json", NULL, "for programs" },
    { "--luals", NULL, "annotations for lua-language-server, of all stages" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--trust", NULL, "load plugins from outside the install tree into this process" },
};

static int inspect(struct registry *registry, const struct args *args, const char *name)
{
    enum inspect_format format = args_get(args, "--json") != NULL ? INSPECT_JSON
                                 : args_get(args, "--md") != NULL ? INSPECT_MARKDOWN
                                                                  : INSPECT_TEXT;
    bool luals = args_get(args, "--luals") != NULL;
    struct sluice_error err = ERROR_INIT;
    const struct registry_entry *entry;
    struct buf out = BUF_INIT;

    if (luals && (name != NULL || format != INSPECT_TEXT)) {
        return complain("--luals writes annotations for all stages; it goes without a stage's name "
                        "and other formats");
    }
    if (name != NULL) {
        if (registry_find(registry, name, &entry, &err) != SLUICE_OK) {
            return complain(err.message);
        }
        inspect_stage(entry, format, inspect_width(), &out);
    } else {
        if (registry_load_all(registry, &err) != SLUICE_OK) {
            complain(err.message);
            return 5;
        }
        if (luals) {
            inspect_luals(registry, &out);
        } else {
            inspect_list(registry, format, args_get(args, "--all") != NULL, inspect_width(), &out);
        }
    }
    return inspect_print(&out, format == INSPECT_JSON);
}

int cmd_inspect(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice inspect [STAGE] [options]",
        .text = "Lists the stages there are, or shows one: its options with types, defaults and "
                "ranges, the reasons that it\ndrops rows for, an example.",
        .specs = inspect_specs,
        .n_specs = sizeof inspect_specs / sizeof inspect_specs[0],
        .most = 1,
    };
    struct args args;
    struct session session;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    status = common_registry(&args, &session);
    if (status < 0) {
        status = inspect(session.registry, &args, args.n_words > 0 ? args.words[0] : NULL);
    }
    session_close(&session);
    return status;
}
