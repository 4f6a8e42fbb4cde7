/* One plugin file: hashing, permissions, loading, descriptor. Private to the registry and the
 * probe. */
#ifndef SLUICE_PLUGIN_PLUGIN_FILE_H
#define SLUICE_PLUGIN_PLUGIN_FILE_H

#include "base/hash.h"

#define PLUGIN_STAGES_MAX 1024u

struct plugin_file {
    struct sluice_plugin plugin; /* zero-extended copy; what it points to stays mapped for good */
    struct sluice_stage *stages; /* owned, zero-extended copies */
    size_t n_stages;
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

/* Loads the file in a child process (prober __probe FILE) first: SLUICE_E_CONFIG when it crashes,
 * hangs, ends the process or is no good. */
sluice_status plugin_file_probe(const char *path, const char *prober, uint32_t ms,
                                struct sluice_error *err) MUST_USE;

#endif
