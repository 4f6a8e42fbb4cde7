/* Where plugins come from: folders, search paths, index.txt and skipped.txt of the install tree.
 * Nothing is loaded here. See registry.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/registryInt.h"

#define INDEX_MAX (1 << 20)

sluice_status registry_status(const struct registry *registry, struct sluice_error *err)
{
    return arena_status(&registry->arena, err, "the list of plugins and stages");
}

/* The line is the registry's. */
static void add_line(struct registry *registry, struct registry_lines *lines, const char *line)
{
    const char **items =
        arena_more(&registry->arena, lines->items, lines->n, &lines->room, sizeof *items);

    if (items != NULL) {
        items[lines->n++] = line;
        lines->items = items;
    }
}

static void note_tried(struct registry *registry, const char *path, const char *why)
{
    add_line(registry, &registry->tried, arena_printf(&registry->arena, "%s: %s", path, why));
}

static void close_plugin(void *plugin)
{
    plugin_file_deinit(&((struct plugin *)plugin)->file);
}

sluice_status registry_file(struct registry *registry, const char *path, const char *found_by,
                            bool standard, struct plugin **out, struct sluice_error *err)
{
    char *full = realpath(path, NULL);
    struct plugin **plugins;
    struct plugin *plugin;
    struct stat st;

    *out = NULL;
    if (full == NULL || stat(full, &st) != 0) {
        int errnum = errno;
        free(full);
        error_errno(err, errnum, "cannot load the plugin %s", path);
        if (err != NULL && errnum != ENOMEM) {
            err->code = SLUICE_E_CONFIG;
        }
        return errnum == ENOMEM ? SLUICE_E_NOMEM : SLUICE_E_CONFIG;
    }
    for (size_t k = 0; k < registry->n_plugins; k++) {
        plugin = registry->plugins[k];
        /* One file found under two names is one plugin. */
        if (plugin->device == (uint64_t)st.st_dev && plugin->inode == (uint64_t)st.st_ino) {
            free(full);
            *out = plugin;
            return SLUICE_OK;
        }
    }
    plugins = arena_more(&registry->arena, registry->plugins, registry->n_plugins,
                         &registry->plugin_room, sizeof *plugins);
    plugin = ARENA_NEW(&registry->arena, struct plugin);
    if (plugin != NULL) {
        plugin->path = arena_copy(&registry->arena, full, strlen(full));
        arena_defer(&registry->arena, close_plugin, plugin);
    }
    free(full);
    TRY(registry_status(registry, err));
    registry->plugins = plugins;
    plugin->device = (uint64_t)st.st_dev;
    plugin->inode = (uint64_t)st.st_ino;
    plugin->view.path = plugin->path;
    plugin->view.name = plugin->view.version = plugin->view.license = plugin->view.libraries = "";
    plugin->view.found_by = found_by;
    plugin->view.standard = standard;
    plugins[registry->n_plugins++] = plugin;
    *out = plugin;
    return SLUICE_OK;
}

static int is_library(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return entry->d_name[0] != '.' && n > 3 && strcmp(entry->d_name + n - 3, ".so") == 0;
}

/* Order of bytes: alphasort would ask the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* All .so files of a folder, by name. */
static sluice_status scan_folder(struct registry *registry, const char *folder,
                                 const char *found_by, bool standard, struct sluice_error *err)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, is_library, by_name);
    sluice_status status = SLUICE_OK;

    if (n < 0) {
        registry->arena.failed |= errno == ENOMEM;
        note_tried(registry, folder, strerror(errno));
    } else if (n == 0) {
        note_tried(registry, folder, "no .so files");
    }
    for (int i = 0; i < n; i++) {
        const char *path = arena_printf(&registry->arena, "%s/%s", folder, names[i]->d_name);
        struct plugin *plugin;
        free(names[i]);
        if (status == SLUICE_OK && path != NULL) {
            status = registry_file(registry, path, found_by, standard, &plugin, err);
            if (status == SLUICE_E_CONFIG) {
                /* Gone, a dangling link: not worth failing for. */
                note_tried(registry, path, "cannot be opened");
                status = SLUICE_OK;
            }
        }
    }
    free(names);
    return status == SLUICE_OK ? registry_status(registry, err) : status;
}

/* A small text file of the install tree, or NULL. Gives. */
static char *read_text(const char *folder, const char *name)
{
    char *path = str_printf("%s/%s", folder, name);
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char *text = file != NULL ? malloc(INDEX_MAX + 1) : NULL;

    if (text != NULL) {
        text[fread(text, 1, INDEX_MAX, file)] = '\0';
    }
    if (file != NULL) {
        fclose(file);
    }
    free(path);
    return text;
}

/* index.txt: "file.so stage stage +derived ...", "+derived" behind a stage that provides such
 * columns. */
static void read_index(struct registry *registry, char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        size_t n = strcspn(line, " ");
        for (size_t k = 0; k < registry->n_plugins; k++) {
            struct plugin *plugin = registry->plugins[k];
            const char *name = strrchr(plugin->path, '/') + 1;
            if (plugin->index == NULL && strlen(name) == n && memcmp(name, line, n) == 0) {
                plugin->index = arena_copy(&registry->arena, line + n, strlen(line + n));
            }
        }
    }
    registry->indexed = registry->n_plugins > 0;
    for (size_t k = 0; k < registry->n_plugins; k++) {
        registry->indexed = registry->indexed && registry->plugins[k]->index != NULL;
    }
}

static void read_skipped(struct registry *registry, char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        add_line(registry, &registry->skipped, arena_copy(&registry->arena, line, strlen(line)));
    }
}

static sluice_status scan_install_tree(struct registry *registry, const char *exe_dir,
                                       struct sluice_error *err)
{
    static const char *const places[] = { "plugins", "../lib/sluice/plugins" };
    char own[PATH_MAX];

    if (exe_dir == NULL) {
        ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
        char *slash;
        own[n > 0 ? n : 0] = '\0';
        slash = strrchr(own, '/');
        if (slash == NULL) {
            note_tried(registry, "/proc/self/exe", "cannot tell where this program is");
            return registry_status(registry, err);
        }
        *slash = '\0';
        exe_dir = own;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *folder = arena_printf(&registry->arena, "%s/%s", exe_dir, places[i]);
        struct stat st;
        sluice_status status = SLUICE_OK;
        bool there;
        char *text;
        TRY(registry_status(registry, err));
        there = stat(folder, &st) == 0 && S_ISDIR(st.st_mode);
        status = scan_folder(registry, folder, "install tree", true, err);
        if (there && status == SLUICE_OK && (text = read_text(folder, "index.txt")) != NULL) {
            read_index(registry, text);
            free(text);
        }
        if (there && status == SLUICE_OK && (text = read_text(folder, "skipped.txt")) != NULL) {
            read_skipped(registry, text);
            free(text);
            status = registry_status(registry, err);
        }
        /* The first that is there is the install tree: a build's, or that of an installed
         * program. */
        if (there || status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status scan_search_path(struct registry *registry, const char *search_path,
                                      struct sluice_error *err)
{
    const char *at = search_path;

    for (;;) {
        size_t n = strcspn(at, ":");
        const char *folder = arena_copy(&registry->arena, at, n);
        TRY(registry_status(registry, err));
        if (n > 0 && folder[0] != '/') {
            note_tried(registry, folder, "SLUICE_PLUGIN_PATH takes absolute paths only");
        } else if (n > 0) {
            TRY(scan_folder(registry, folder, "SLUICE_PLUGIN_PATH", false, err));
        }
        if (at[n] == '\0') {
            return registry_status(registry, err);
        }
        at += n + 1;
    }
}

static sluice_status scan_under(struct registry *registry, const char *folder, const char *below,
                                const char *found_by, struct sluice_error *err)
{
    const char *path = arena_printf(&registry->arena, "%s/%s", folder, below);

    TRY(registry_status(registry, err));
    return scan_folder(registry, path, found_by, false, err);
}

sluice_status registry_scan(struct registry *registry, const struct registry_options *options,
                            struct sluice_error *err)
{
    struct plugin *plugin;

    /* The install tree first: a file of it is a standard plugin by whatever other way it is named
     * as well. */
    if (!options->bare) {
        TRY(scan_install_tree(registry, options->exe_dir, err));
    }
    for (size_t i = 0; i < options->n_files; i++) {
        TRY(registry_file(registry, options->files[i], "--plugin", false, &plugin, err));
    }
    if (options->search_path != NULL) {
        TRY(scan_search_path(registry, options->search_path, err));
    }
    if (options->script_dir != NULL) {
        TRY(scan_under(registry, options->script_dir, "plugins", "plugins/ beside the script",
                       err));
    }
    if (options->data_home != NULL && options->data_home[0] == '/') {
        TRY(scan_under(registry, options->data_home, "sluice/plugins", "data home", err));
    }
    return SLUICE_OK;
}

void registry_environment(struct registry_options *options, char *buffer, size_t size)
{
    const char *home = getenv("HOME");

    options->search_path = getenv("SLUICE_PLUGIN_PATH");
    options->data_home = getenv("XDG_DATA_HOME");
    if ((options->data_home == NULL || options->data_home[0] != '/') && home != NULL &&
        home[0] == '/' && (size_t)snprintf(buffer, size, "%s/.local/share", home) < size) {
        options->data_home = buffer;
    }
}
