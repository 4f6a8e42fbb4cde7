/* One plugin file: hashing, permissions, loading, descriptor. Private to the registry and the
 * probe. */
#ifndef SLUICE_PLUGIN_PLUGIN_FILE_H
#define SLUICE_PLUGIN_PLUGIN_FILE_H

#include "base/buf.h"
#include "base/hash.h"

#define PLUGIN_STAGES_MAX 1024u

struct plugin_file {
    struct sluice_plugin plugin; /* zero-extended copy; what it points to stays mapped for good */
    struct sluice_stage *stages; /* owned, zero-extended copies */
    size_t n_stages;
    /* owned: the plugin is not loaded here, see plugin_describe.h; else NULL */
    struct plugin_description *description;
    /* owned: what plugin.libraries points to where it is loaded here (libraries.h) */
    char *libraries;
};

/* XXH3-128 of a file's bytes. SLUICE_E_IO. */
sluice_status plugin_file_hash(const char *path, struct hash128 *out,
                               struct sluice_error *err) MUST_USE;
/* Refuses a file or folder that everybody may write to. SLUICE_E_CONFIG with the remedy. */
sluice_status plugin_file_safe(const char *path, struct sluice_error *err) MUST_USE;
/* dlopen (never closed), descriptor, checks. SLUICE_E_CONFIG. *out needs deinit after success only.
 */
sluice_status plugin_file_load(const char *path, struct plugin_file *out,
                               struct sluice_error *err) MUST_USE;
void plugin_file_deinit(struct plugin_file *);

/* Explains why dlopen failed with `why` (NULL = unknown): which library is missing, and where it
 * was searched for. Returns SLUICE_E_CONFIG. */
sluice_status plugin_missing(const char *path, const char *why, struct sluice_error *err);
/* Are the descriptor and its stages sane? SLUICE_E_CONFIG. Part of loading. */
sluice_status plugin_file_check(const struct plugin_file *, const char *path,
                                struct sluice_error *err) MUST_USE;

/* Loads the file in a child process (prober __probe FILE) first: SLUICE_E_CONFIG when it crashes,
 * hangs, ends the process or is no good. out gets its description (plugin_describe.h), not yet
 * checked. */
sluice_status plugin_file_probe(const char *path, const char *prober, uint32_t ms, struct buf *out,
                                struct sluice_error *err) MUST_USE;

#endif
