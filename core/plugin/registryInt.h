/* What the parts of the registry share. See registry.h. */
#ifndef SLUICE_PLUGIN_REGISTRYINT_H
#define SLUICE_PLUGIN_REGISTRYINT_H

#include "plugin/plugin_file.h"
#include "plugin/registry.h"

struct plugin {
    /* what others see; its texts are owned here or by the plugin's mapped file */
    struct registry_plugin view;
    char *path;
    char *problem;
    char *index;            /* standard plugins: "stage stage" of index.txt, or NULL */
    uint64_t device, inode; /* two paths to one file are one plugin */
    bool tried;
    struct plugin_file file;
};

struct registry {
    struct plugin **plugins; /* owned, in the order found */
    size_t n_plugins;
    struct registry_entry **entries; /* owned, by name and plugin */
    char **origins;                  /* owned texts of registry_add and registry_set_libraries */
    size_t n_entries, n_origins;
    char **tried, **skipped; /* owned lines */
    size_t n_tried, n_skipped;
    char *prober;
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

/* Appends a copied line to a list of n. */
sluice_status registry_line(char ***lines, size_t *n, const char *line,
                            struct sluice_error *err) MUST_USE;
/* Room for one more pointer in an array of n pointers. */
void *registry_grow(void *items, size_t n);

#endif
