/* The registry of stages: loading on demand, lookup, additions. See registry.h; where plugins are
 * looked for is in registry_scan.c, one file's loading in plugin_file.c. */
#include "plugin/registry.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/plugin_describe.h"
#include "plugin/registryInt.h"
#include "plugin/value.h"

static int entry_order(const struct registry_entry *a, const struct registry_entry *b)
{
    int order = strcmp(a->stage.name, b->stage.name);

    return order != 0 ? order : strcmp(a->plugin_name, b->plugin_name);
}

/* Puts a new entry (NULL: there was no memory for it) in its place. */
static sluice_status insert_entry(struct registry *registry, struct registry_entry *entry,
                                  struct sluice_error *err)
{
    struct registry_entry **entries =
        arena_more(&registry->arena, registry->entries, registry->n_entries, &registry->entry_room,
                   sizeof *entries);
    size_t place = registry->n_entries;

    TRY(registry_status(registry, err));
    registry->entries = entries;
    for (; place > 0 && entry_order(entries[place - 1], entry) > 0; place--) {
        entries[place] = entries[place - 1];
    }
    entries[place] = entry;
    registry->n_entries++;
    return SLUICE_OK;
}

static sluice_status set_problem(struct registry *registry, struct plugin *plugin,
                                 const char *problem, struct sluice_error *err)
{
    plugin->problem = arena_copy(&registry->arena, problem, strlen(problem));
    plugin->view.problem = plugin->problem;
    return registry_status(registry, err);
}

/* What is known of a plugin from outside before anything of it runs here; description gets what a
 * child found in it. */
static sluice_status check_outside(const struct registry *registry, const struct plugin *plugin,
                                   struct buf *description, struct sluice_error *err)
{
    TRY(plugin_file_safe(plugin->path, err));
    return plugin_file_probe(plugin->path, registry->prober, registry->probe_ms, description, err);
}

/* Is the file the one that this process was started for? */
static sluice_status check_expected(const struct registry *registry, const struct plugin *plugin,
                                    struct sluice_error *err)
{
    if (hash_is_zero(registry->expected) || strcmp(plugin->view.found_by, "--plugin") != 0 ||
        hash_equal(registry->expected, plugin->view.hash)) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_CONFIG,
                     "the plugin %s changed while it was in use; run the pipeline again",
                     plugin->path);
}

/* Loads a plugin once; a failure is kept as its problem. Only SLUICE_E_NOMEM is returned. */
static sluice_status load_plugin(struct registry *registry, struct plugin *plugin,
                                 struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    struct buf description = BUF_INIT;
    bool outside = !plugin->view.standard && !registry->contained;
    bool isolated = outside && !registry->trust;
    sluice_status status;

    if (plugin->tried) {
        return SLUICE_OK;
    }
    plugin->tried = true;
    /* Hashed first: the child that runs it later loads a file with this hash and no other. */
    status = plugin_file_hash(plugin->path, &plugin->view.hash, &why);
    if (status == SLUICE_OK) {
        status = check_expected(registry, plugin, &why);
    }
    if (status == SLUICE_OK && outside) {
        status = check_outside(registry, plugin, &description, &why);
    }
    if (status == SLUICE_OK) {
        status = isolated ? plugin_described(description.data, description.size, plugin->path,
                                             &plugin->file, &why)
                          : plugin_file_load(plugin->path, &plugin->file, &why);
    }
    buf_deinit(&description);
    if (status != SLUICE_OK) {
        TRY(set_problem(registry, plugin, why.message, err));
        return status == SLUICE_E_NOMEM ? error_nomem(err, "a plugin") : SLUICE_OK;
    }
    plugin->view.name = plugin->file.plugin.name;
    plugin->view.version = plugin->file.plugin.version;
    plugin->view.license = plugin->file.plugin.license != NULL ? plugin->file.plugin.license : "";
    plugin->view.libraries =
        plugin->file.plugin.libraries != NULL ? plugin->file.plugin.libraries : "";
    plugin->view.abi_minor_built = plugin->file.plugin.abi_minor_built;
    plugin->view.abi_minor_needed = plugin->file.plugin.abi_minor_needed;
    plugin->view.verdict_stride = plugin->file.plugin.verdict_stride;
    plugin->view.loaded = true;
    plugin->view.isolated = isolated;
    for (size_t k = 0; k < plugin->file.n_stages; k++) {
        struct registry_entry *entry = ARENA_NEW(&registry->arena, struct registry_entry);
        TRY(registry_status(registry, err));
        entry->stage = plugin->file.stages[k];
        entry->plugin = &plugin->view;
        entry->plugin_name = plugin->view.name;
        entry->origin = plugin->path;
        entry->hash = plugin->view.hash;
        entry->libraries = plugin->view.libraries;
        entry->trusted = plugin->view.standard;
        entry->isolation = isolated ? REGISTRY_ISOLATED : REGISTRY_IN_PROCESS;
        TRY(insert_entry(registry, entry, err));
    }
    return SLUICE_OK;
}

/* Loads a plugin that somebody named: a problem is an error. */
static sluice_status load_named(struct registry *registry, struct plugin *plugin,
                                struct sluice_error *err)
{
    TRY(load_plugin(registry, plugin, err));
    return plugin->problem != NULL ? error_set(err, SLUICE_E_CONFIG, "%s", plugin->problem)
                                   : SLUICE_OK;
}

sluice_status registry_create(const struct registry_options *options, struct registry **out,
                              struct sluice_error *err)
{
    struct registry *registry = calloc(1, sizeof *registry);
    sluice_status status;

    *out = NULL;
    if (registry == NULL) {
        return error_nomem(err, "the stage list");
    }
    registry->trust = options->trust;
    registry->contained = options->contained;
    registry->expected = options->expected;
    registry->probe_ms = options->probe_ms;
    if (options->prober != NULL) {
        registry->prober = arena_copy(&registry->arena, options->prober, strlen(options->prober));
    }
    status = registry_status(registry, err);
    if (status == SLUICE_OK) {
        status = registry_scan(registry, options, err);
    }
    for (size_t k = 0; k < registry->n_plugins && status == SLUICE_OK; k++) {
        if (strcmp(registry->plugins[k]->view.found_by, "--plugin") == 0) {
            status = load_named(registry, registry->plugins[k], err);
        }
    }
    if (status != SLUICE_OK) {
        registry_destroy(registry);
        return status;
    }
    *out = registry;
    return SLUICE_OK;
}

void registry_destroy(struct registry *registry)
{
    if (registry != NULL) {
        arena_deinit(&registry->arena);
        free(registry);
    }
}

sluice_status registry_load_all(struct registry *registry, struct sluice_error *err)
{
    for (size_t k = 0; k < registry->n_plugins; k++) {
        TRY(load_plugin(registry, registry->plugins[k], err));
    }
    return SLUICE_OK;
}

/* stage: a stage's name, or "+WORD" for whatever provides the derived column WORD. */
static bool index_has(const struct plugin *plugin, const char *stage)
{
    const char *at = plugin->index;
    size_t n = strlen(stage);

    while (at != NULL && *at != '\0') {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && memcmp(at, stage, n) == 0) {
            return true;
        }
        at += strcspn(at, " ");
    }
    return false;
}

/* Loads what may hold the stage: everything from outside (it might be there a second time), and of
 * the install tree what the index names. */
static sluice_status load_for(struct registry *registry, const char *stage,
                              struct sluice_error *err)
{
    for (size_t k = 0; k < registry->n_plugins; k++) {
        struct plugin *plugin = registry->plugins[k];
        if (!plugin->view.standard || !registry->indexed || index_has(plugin, stage)) {
            TRY(load_plugin(registry, plugin, err));
        }
    }
    return SLUICE_OK;
}

struct matches {
    const struct registry_entry *first, *second;
};

/* Entries called stage; in plugin_name if that is given; scripts' only when nothing else has the
 * name. */
static struct matches find_matches(const struct registry *registry, const char *plugin_name,
                                   size_t plugin_size, const char *stage)
{
    struct matches found = { NULL, NULL };
    const struct registry_entry *script = NULL;

    for (size_t k = 0; k < registry->n_entries; k++) {
        const struct registry_entry *entry = registry->entries[k];
        if (strcmp(entry->stage.name, stage) != 0) {
            continue;
        }
        if (plugin_name != NULL) {
            if (strlen(entry->plugin_name) != plugin_size ||
                memcmp(entry->plugin_name, plugin_name, plugin_size) != 0) {
                continue;
            }
        } else if (strcmp(entry->plugin_name, PLUGIN_SCRIPT) == 0) {
            script = entry;
            continue;
        }
        if (found.first == NULL) {
            found.first = entry;
        } else {
            found.second = entry;
        }
    }
    if (found.first == NULL) {
        found.first = script;
    }
    return found;
}

/* Appends lines to a message while they fit in an error. */
static void add_lines(struct buf *out, const char *title, const struct registry_lines *lines)
{
    for (size_t k = 0; k < lines->n && out->size < 800; k++) {
        buf_puts(out, k == 0 ? title : "; ");
        buf_puts(out, lines->items[k]);
    }
}

static sluice_status refuse_unknown(struct registry *registry, const char *name,
                                    struct sluice_error *err)
{
    const char **names = calloc(registry->n_entries + 1, sizeof *names);
    struct buf message = BUF_INIT;
    const char *near;
    size_t n = 0;
    bool first = true;

    if (names == NULL) {
        return error_nomem(err, "the stage list");
    }
    for (size_t k = 0; k < registry->n_entries; k++) {
        if ((registry->entries[k]->stage.flags & SLUICE_STAGE_HIDDEN) == 0) {
            names[n++] = registry->entries[k]->stage.name;
        }
    }
    near = error_suggest(name, names, n);
    buf_printf(&message, "unknown stage '%.100s'", name);
    if (near != NULL) {
        buf_printf(&message, "; did you mean '%s'?", near);
    } else {
        buf_printf(&message, " among %zu; `sluice inspect` lists them.", n);
    }
    for (size_t k = 0; k < registry->n_plugins && message.size < 800; k++) {
        if (registry->plugins[k]->problem != NULL) {
            buf_puts(&message, first ? " Not loaded: " : "; ");
            buf_puts(&message, registry->plugins[k]->problem);
            first = false;
        }
    }
    add_lines(&message, " Left out of this build: ", &registry->skipped);
    add_lines(&message, " Nothing found in ", &registry->tried);
    error_set(err, SLUICE_E_CONFIG, "%s", buf_str(&message));
    if (err != NULL) {
        utf8_clean(err->message);
    }
    buf_deinit(&message);
    free(names);
    return SLUICE_E_CONFIG;
}

static sluice_status pick(struct matches found, const char *name, const struct registry_entry **out,
                          struct sluice_error *err)
{
    if (found.second != NULL) {
        bool same = strcmp(found.first->plugin_name, found.second->plugin_name) == 0;
        return error_set(
            err, SLUICE_E_CONFIG, "two plugins have a stage '%s': %s (%s) and %s (%s); %s", name,
            found.first->plugin_name, found.first->origin, found.second->plugin_name,
            found.second->origin, same ? "remove one of the files" : "write plugin.stage");
    }
    *out = found.first;
    return SLUICE_OK;
}

/* What stages were called before, and are called now. */
static const char *const renamed[][2] = {
    { "c4_badwords_peer", "c4_badwords_datatrove" },
    { "pii_peer", "pii_datatrove" },
    { "sampler_peer", "sampler_datatrove" },
};

static const char *new_name(const char *name)
{
    for (size_t k = 0; k < sizeof renamed / sizeof renamed[0]; k++) {
        if (strcmp(renamed[k][0], name) == 0) {
            return renamed[k][1];
        }
    }
    return NULL;
}

sluice_status registry_find(struct registry *registry, const char *name,
                            const struct registry_entry **out, struct sluice_error *err)
{
    const char *dot = strchr(name, '.');
    const char *stage = dot != NULL ? dot + 1 : name;
    const char *plugin_name = dot != NULL ? name : NULL;
    size_t plugin_size = dot != NULL ? (size_t)(dot - name) : 0;
    struct matches found;

    *out = NULL;
    TRY(load_for(registry, stage, err));
    found = find_matches(registry, plugin_name, plugin_size, stage);
    if (found.first == NULL ||
        (plugin_name == NULL && strcmp(found.first->plugin_name, PLUGIN_SCRIPT) == 0)) {
        /* Not where the index says, or nowhere: look at everything before giving up. */
        TRY(registry_load_all(registry, err));
        found = find_matches(registry, plugin_name, plugin_size, stage);
    }
    if (found.first == NULL && plugin_name == NULL && new_name(name) != NULL) {
        return registry_find(registry, new_name(name), out, err);
    }
    if (found.first == NULL) {
        return refuse_unknown(registry, name, err);
    }
    return pick(found, name, out, err);
}

static const struct registry_entry *first_provider(const struct registry *registry,
                                                   const char *derived)
{
    for (size_t k = 0; k < registry_count(registry); k++) {
        const struct registry_entry *entry = registry_at(registry, k);
        if (entry->stage.provides != NULL && strcmp(entry->stage.provides, derived) == 0) {
            return entry;
        }
    }
    return NULL;
}

sluice_status registry_find_provider(struct registry *registry, const char *derived,
                                     const struct registry_entry **out, struct sluice_error *err)
{
    char *mark = str_printf("+%s", derived); /* in index.txt */
    sluice_status status =
        mark == NULL ? error_nomem(err, "the index of plugins") : load_for(registry, mark, err);

    free(mark);
    *out = status == SLUICE_OK ? first_provider(registry, derived) : NULL;
    if (status == SLUICE_OK && *out == NULL) {
        status = registry_load_all(registry, err); /* an index may be older than its plugins */
        *out = status == SLUICE_OK ? first_provider(registry, derived) : NULL;
    }
    return status;
}

sluice_status registry_load(struct registry *registry, const char *path,
                            const struct registry_plugin **out, struct sluice_error *err)
{
    struct plugin *plugin;

    *out = NULL;
    TRY(registry_file(registry, path, "the script", false, &plugin, err));
    TRY(load_named(registry, plugin, err));
    *out = &plugin->view;
    return SLUICE_OK;
}

sluice_status registry_find_in(struct registry *registry, const struct registry_plugin *plugin,
                               const char *stage, const struct registry_entry **out,
                               struct sluice_error *err)
{
    const char **names = calloc(registry->n_entries + 1, sizeof *names);
    struct buf list = BUF_INIT;
    const char *near;
    size_t n = 0;

    *out = NULL;
    if (names == NULL) {
        return error_nomem(err, "the stage list");
    }
    for (size_t k = 0; k < registry->n_entries; k++) {
        const struct registry_entry *entry = registry->entries[k];
        if (entry->plugin != plugin) {
            continue;
        }
        if (strcmp(entry->stage.name, stage) == 0) {
            *out = entry;
            break;
        }
        names[n++] = entry->stage.name;
        buf_puts(&list, n > 1 ? ", " : "");
        buf_puts(&list, entry->stage.name);
    }
    if (*out == NULL) {
        near = error_suggest(stage, names, n);
        error_set(err, SLUICE_E_CONFIG, "plugin '%s' (%s) has no stage '%.100s'%s%s%s It has: %s",
                  plugin->name, plugin->path, stage, near != NULL ? "; did you mean '" : ".",
                  near != NULL ? near : "", near != NULL ? "'?" : "", buf_str(&list));
    }
    buf_deinit(&list);
    free(names);
    return *out != NULL ? SLUICE_OK : SLUICE_E_CONFIG;
}

sluice_status registry_add_user(struct registry *registry, const struct sluice_stage *stage,
                                void *user, const char *plugin_name, const char *origin,
                                struct hash128 hash, const struct registry_entry **out,
                                struct sluice_error *err)
{
    struct registry_entry *entry;
    const char *copy;
    struct matches found;

    if (out != NULL) {
        *out = NULL;
    }
    TRY(registry_check_stage(stage, err));
    found = find_matches(registry, plugin_name, strlen(plugin_name), stage->name);
    if (found.first != NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the stage '%s' is defined twice: %s and %s; give one another name",
                         stage->name, found.first->origin, origin);
    }
    entry = ARENA_NEW(&registry->arena, struct registry_entry);
    copy = arena_copy(&registry->arena, origin, strlen(origin));
    TRY(registry_status(registry, err));
    entry->stage = *stage;
    entry->stage.size = sizeof entry->stage;
    entry->plugin_name = strcmp(plugin_name, PLUGIN_SCRIPT) == 0 ? PLUGIN_SCRIPT : PLUGIN_CORE;
    entry->origin = copy;
    entry->hash = hash;
    entry->libraries = "";
    entry->user = user;
    entry->trusted = entry->plugin_name[0] == 'c';
    TRY(insert_entry(registry, entry, err));
    if (out != NULL) {
        *out = entry;
    }
    return SLUICE_OK;
}

sluice_status registry_add(struct registry *registry, const struct sluice_stage *stage,
                           const char *plugin_name, const char *origin, struct hash128 hash,
                           const struct registry_entry **out, struct sluice_error *err)
{
    return registry_add_user(registry, stage, NULL, plugin_name, origin, hash, out, err);
}

size_t registry_count(const struct registry *registry)
{
    return registry->n_entries;
}

const struct registry_entry *registry_at(const struct registry *registry, size_t k)
{
    return k < registry->n_entries ? registry->entries[k] : NULL;
}

size_t registry_plugin_count(const struct registry *registry)
{
    return registry->n_plugins;
}

const struct registry_plugin *registry_plugin_at(const struct registry *registry, size_t k)
{
    return k < registry->n_plugins ? &registry->plugins[k]->view : NULL;
}

const char *registry_skipped(const struct registry *registry, size_t k)
{
    return k < registry->skipped.n ? registry->skipped.items[k] : NULL;
}

const char *registry_tried(const struct registry *registry, size_t k)
{
    return k < registry->tried.n ? registry->tried.items[k] : NULL;
}

sluice_status registry_index(struct registry *registry, struct buf *out, struct sluice_error *err)
{
    for (size_t k = 0; k < registry->n_plugins; k++) {
        struct plugin *plugin = registry->plugins[k];
        if (!plugin->view.standard) {
            continue;
        }
        TRY(load_named(registry, plugin, err));
        buf_puts(out, strrchr(plugin->path, '/') + 1);
        for (size_t j = 0; j < plugin->file.n_stages; j++) {
            const struct sluice_stage *stage = &plugin->file.stages[j];
            buf_printf(out, " %s", stage->name);
            if (stage->provides != NULL) {
                buf_printf(out, " +%s", stage->provides);
            }
        }
        buf_putc(out, '\n');
    }
    return buf_status(out, err);
}

/* An entry that the caller may change. */
static struct registry_entry *own_entry(struct registry *registry,
                                        const struct registry_entry *entry)
{
    for (size_t k = 0; k < registry->n_entries; k++) {
        if (registry->entries[k] == entry) {
            return registry->entries[k];
        }
    }
    return NULL;
}

void registry_serialise(struct registry *registry, const struct registry_entry *entry)
{
    own_entry(registry, entry)->serial = true;
}

void registry_isolate_always(struct registry *registry, const struct registry_entry *entry)
{
    own_entry(registry, entry)->isolation = REGISTRY_ALWAYS_ISOLATED;
}

sluice_status registry_set_libraries(struct registry *registry, const struct registry_entry *entry,
                                     const char *libraries, struct sluice_error *err)
{
    const char *copy = arena_copy(&registry->arena, libraries, strlen(libraries));

    TRY(registry_status(registry, err));
    own_entry(registry, entry)->libraries = copy;
    return SLUICE_OK;
}
