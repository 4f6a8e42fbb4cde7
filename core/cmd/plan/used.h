/* What a plan is made of: this program, the scripts, plugins and files (models, tokenizers, word
 * lists) that shape what it computes, each with its SHA-256. The run directory keeps the list
 * (used.json); a lock file is the same list, and `run --locked` accepts nothing else.
 *
 *   { "format": 1, "program": {"version", "abi", "sha256"},
 *     "scripts": [{"name", "sha256"}],                     the pipeline first, then modules as they
 *                                                          were required
 *     "plugins": [{"name", "version", "libraries", "path", "sha256"}],
 *     "files":   [{"stage", "option", "path", "sha256"}] }
 *
 * Paths are for people: what counts are names and hashes, so that a lock file holds on another
 * machine. */
#ifndef SLUICE_CMD_USED_H
#define SLUICE_CMD_USED_H

#include <jansson.h>

#include "cmd/session.h"

#define USED_FORMAT 1 /* of the list and of lock files; raise when it changes */

/* The list of an opened session (SESSION_SCHEMAS at least). Gives. known: hashes of files that did
 * not change since; NULL: every file is read, which is what a lock file is compared with. */
sluice_status used_collect(const struct session *, struct statcache *known, json_t **out,
                           struct sluice_error *) MUST_USE;
/* "program" alone. Gives. */
sluice_status used_program(const struct session *, struct statcache *known, json_t **out,
                           struct sluice_error *) MUST_USE;
/* The list as it is written to files; gives. NULL = out of memory. */
char *used_text(const json_t *used);
/* Is everything in used also in the lock file? SLUICE_E_CONFIG names what differs. */
sluice_status used_check(const json_t *used, const char *lock_path, struct sluice_error *) MUST_USE;

#endif
