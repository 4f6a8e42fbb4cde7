/* `sluice plugins [--json|--md] [--index]`: which plugins were found, where, and what was left out
 * and why. */
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/inspect/inspectInt.h"
#include "cmd/view/view.h"

/* Names of a plugin's stages. */
static void stages_of(const struct registry *registry, const struct registry_plugin *plugin,
                      struct buf *out)
{
    size_t n = 0;

    for (size_t k = 0; k < registry_count(registry); k++) {
        const struct registry_entry *entry = registry_at(registry, k);
        if (entry->plugin == plugin) {
            buf_puts(out, n++ > 0 ? "," : "");
            inspect_text_json(out, entry->stage.name);
        }
    }
}

static void plugin_json(const struct registry *registry, const struct registry_plugin *plugin,
                        struct buf *out)
{
    char hex[33];

    buf_puts(out, "{\"name\":");
    inspect_text_json(out, plugin->loaded ? plugin->name : NULL);
    buf_puts(out, ",\"version\":");
    inspect_text_json(out, plugin->loaded ? plugin->version : NULL);
    buf_puts(out, ",\"license\":");
    inspect_text_json(out, plugin->loaded ? plugin->license : NULL);
    buf_puts(out, ",\"path\":");
    inspect_text_json(out, plugin->path);
    buf_puts(out, ",\"found_by\":");
    inspect_text_json(out, plugin->found_by);
    buf_printf(out, ",\"standard\":%s,\"loaded\":%s,\"isolated\":%s,\"problem\":",
               plugin->standard ? "true" : "false", plugin->loaded ? "true" : "false",
               plugin->isolated ? "true" : "false");
    inspect_text_json(out, plugin->problem);
    if (plugin->loaded) {
        buf_puts(out, ",\"libraries\":");
        inspect_text_json(out, plugin->libraries);
        hash_hex(plugin->hash, hex);
        buf_printf(out, ",\"abi_built\":\"%u.%u\",\"abi_needed\":\"%u.%u\",\"hash\":\"%s\"",
                   SLUICE_ABI_MAJOR, plugin->abi_minor_built, SLUICE_ABI_MAJOR,
                   plugin->abi_minor_needed, hex);
    }
    buf_puts(out, ",\"stages\":[");
    stages_of(registry, plugin, out);
    buf_puts(out, "]}");
}

static void lines_json(const char *name, const char *(*line)(const struct registry *, size_t),
                       const struct registry *registry, struct buf *out)
{
    buf_printf(out, ",\n\"%s\":[", name);
    for (size_t k = 0; line(registry, k) != NULL; k++) {
        buf_puts(out, k > 0 ? "," : "");
        inspect_text_json(out, line(registry, k));
    }
    buf_putc(out, ']');
}

static void list_json(const struct registry *registry, struct buf *out)
{
    buf_puts(out, "{\"plugins\":[");
    for (size_t k = 0; k < registry_plugin_count(registry); k++) {
        buf_puts(out, k > 0 ? ",\n" : "\n");
        plugin_json(registry, registry_plugin_at(registry, k), out);
    }
    buf_puts(out, "]");
    lines_json("left_out", registry_skipped, registry, out);
    lines_json("looked_in", registry_tried, registry, out);
    buf_puts(out, "}\n");
}

static const struct arg_spec plugins_specs[] = {
    { "--md", NULL, "as Markdown" },
    { "--json", NULL, "one JSON object, over several lines" },
    VIEW_SPEC,
    { "--index", NULL, "stages by plugin, as the index of an installation" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--trust", NULL, "load plugins from outside the install tree into this process" },
};

static int plugins(struct session *session, const struct args *args)
{
    struct registry *registry = session->registry;
    bool json = args_get(args, "--json") != NULL;
    bool index = args_get(args, "--index") != NULL;
    struct sluice_error err = ERROR_INIT;
    struct buf out = BUF_INIT;
    json_t *facts;
    sluice_status status =
        index ? registry_index(registry, &out, &err) : registry_load_all(registry, &err);

    if (status == SLUICE_OK && !index) {
        list_json(registry, &out);
        status = buf_status(&out, &err);
    }
    if (status != SLUICE_OK) {
        buf_deinit(&out);
        return session_fail(&err, json);
    }
    if (index || json) {
        return inspect_print(&out, json);
    }
    facts = json_loadb(out.data, out.size, JSON_ALLOW_NUL, NULL);
    buf_deinit(&out);
    return inspect_show("plugins", args, facts);
}

int cmd_plugins(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice plugins [options]",
        .text = "Lists the plugins that were found with their stages, those that can't be used and "
                "why, and the folders that were searched.",
        .specs = plugins_specs,
        .n_specs = sizeof plugins_specs / sizeof plugins_specs[0],
    };

    return common_registry(&command, argc, argv, plugins);
}
