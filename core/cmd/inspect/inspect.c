/* `sluice inspect`: the command. Stages as JSON are in inspect_json.c; scripts/views/inspect.lua
 * shows them. See inspectInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/inspect/inspectInt.h"
#include "cmd/view/view.h"

#define WIDTH_DEFAULT 100
#define WIDTH_MIN 40
#define WIDTH_MAX 160

/* Width of the terminal on stdout, or 100. */
static int inspect_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col < WIDTH_MIN   ? WIDTH_MIN
               : size.ws_col > WIDTH_MAX ? WIDTH_MAX
                                         : size.ws_col;
    }
    return WIDTH_DEFAULT;
}

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

int inspect_show(const char *name, const struct args *args, json_t *facts)
{
    struct sluice_error err = ERROR_INIT;
    json_t *style = json_pack("{s:b, s:b, s:i}", "markdown", args_get(args, "--md") != NULL, "all",
                              args_get(args, "--all") != NULL, "width", inspect_width());
    int status = view_once(name, args_get(args, "--view"), facts, style, &err) == SLUICE_OK
                     ? 0
                     : session_fail(&err, false);

    json_decref(facts);
    return status;
}

/* All stages: {stages: [...]}. Call registry_load_all first. */
static json_t *stages_of(const struct registry *registry)
{
    json_t *list = json_array();

    for (size_t k = 0; k < registry_count(registry); k++) {
        json_array_append_new(list, inspect_stage(registry_at(registry, k)));
    }
    return json_pack("{s:o}", "stages", list);
}

static const struct arg_spec inspect_specs[] = {
    { "--all", NULL, "internal parts of composites as well" },
    { "--md", NULL, "as Markdown" },
    { "--json", NULL, "one JSON array, over several lines" },
    VIEW_SPEC,
    { "--luals", NULL, "annotations for lua-language-server, of all stages" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--trust", NULL, "load plugins from outside the install tree into this process" },
};

/* A name that no stage has: a composite's, or the registry's complaint. */
static int show_composite(struct session *session, const char *name, const struct args *args,
                          const struct sluice_error *unknown)
{
    struct buf out = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    json_t *found = inspect_composites(session, name, &err);
    json_t *composite = json_incref(json_array_get(found, 0));
    char *text;

    if (found == NULL) {
        return session_fail(&err, false);
    }
    json_decref(found);
    if (composite == NULL) {
        return complain(unknown->message);
    }
    if (args_get(args, "--json") == NULL) {
        return inspect_show("inspect", args, json_pack("{s:o}", "stage", composite));
    }
    text = json_dumps(composite, JSON_COMPACT);
    json_decref(composite);
    buf_printf(&out, "%s\n", text != NULL ? text : "");
    out.failed = out.failed || text == NULL;
    free(text);
    return inspect_print(&out, true);
}

static int inspect(struct session *session, const struct args *args)
{
    struct registry *registry = session->registry;
    const char *name = args->n_words > 0 ? args->words[0] : NULL;
    bool json = args_get(args, "--json") != NULL;
    bool markdown = !json && args_get(args, "--md") != NULL;
    bool all = args_get(args, "--all") != NULL;
    bool luals = args_get(args, "--luals") != NULL;
    struct sluice_error err = ERROR_INIT;
    const struct registry_entry *entry;
    struct buf out = BUF_INIT;

    if (luals && (name != NULL || json || markdown)) {
        return complain("--luals writes annotations for all stages; it goes without a stage's name "
                        "and other formats");
    }
    if (name != NULL) {
        if (registry_find(registry, name, &entry, &err) != SLUICE_OK) {
            return show_composite(session, name, args, &err);
        }
        if (!json) {
            return inspect_show("inspect", args, json_pack("{s:o}", "stage", inspect_stage(entry)));
        }
        inspect_json(entry, &out);
        buf_putc(&out, '\n');
        return inspect_print(&out, true);
    }
    if (registry_load_all(registry, &err) != SLUICE_OK) {
        complain(err.message);
        return 5;
    }
    if (luals) {
        inspect_luals(registry, &out);
    } else if (json) {
        inspect_list_json(registry, all, &out);
    } else {
        json_t *facts = stages_of(registry);
        json_t *composites = inspect_composites(session, NULL, &err);
        if (composites == NULL) {
            json_decref(facts);
            return session_fail(&err, false);
        }
        json_object_set_new(facts, "composites", composites);
        return inspect_show("inspect", args, facts);
    }
    return inspect_print(&out, json);
}

int cmd_inspect(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice inspect [STAGE] [options]",
        .text =
            "Lists the stages there are, or shows one: its options with types, defaults and "
            "ranges, the reasons that it\ndrops rows for, an example; of a composite the stages "
            "that it is made of.",
        .specs = inspect_specs,
        .n_specs = sizeof inspect_specs / sizeof inspect_specs[0],
        .most = 1,
    };

    return common_registry(&command, argc, argv, inspect);
}
