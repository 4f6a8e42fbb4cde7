/* What the parts of the registry share. See registry.h. */
#ifndef SLUICE_PLUGIN_REGISTRYINT_H
#define SLUICE_PLUGIN_REGISTRYINT_H

#include "base/arena.h"
#include "plugin/plugin_file.h"
#include "plugin/registry.h"

struct plugin {
    /* what others see; its texts are the registry's or the plugin's mapped file's */
    struct registry_plugin view;
    const char *path;
    const char *problem;
    const char *index;      /* standard plugins: "stage stage" of index.txt, or NULL */
    uint64_t device, inode; /* two paths to one file are one plugin */
    bool tried;
    struct plugin_file file;
};

struct registry_lines {
    const char **items;
    uint32_t n, room;
};

struct registry {
    struct arena arena;              /* of all that is below */
    struct plugin **plugins;         /* in the order found */
    struct registry_entry **entries; /* by name and plugin */
    uint32_t n_plugins, plugin_room, n_entries, entry_room;
    struct registry_lines tried,
        skipped; /* places without plugins; plugins left out of the build */
    const char *prober;
    uint32_t probe_ms;
    bool trust, contained;
    struct hash128 expected;
    bool indexed; /* every standard plugin is listed in index.txt */
};

/* registry_scan.c: finds files and fills plugins, tried, skipped; loads nothing. */
sluice_status registry_scan(struct registry *, const struct registry_options *,
                            struct sluice_error *err) MUST_USE;
/* Adds one file, or returns the one already there. *out may be loaded or not. */
sluice_status registry_file(struct registry *, const char *path, const char *found_by,
                            bool standard, struct plugin **out, struct sluice_error *err) MUST_USE;

/* Out of memory, if it ran out while the registry was filled. */
sluice_status registry_status(const struct registry *, struct sluice_error *err) MUST_USE;

#endif
