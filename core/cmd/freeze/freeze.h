/* Frozen plans: what `sluice prepare` and `sluice run` leave in the run directory, and what every
 * command that is given a run loads in place of the script and its surroundings.
 *
 *   RUN/plan.json              the root, replaced at once; names all others by what is in them:
 *   RUN/content/SHA256/NAME    scripts, plugins, libraries, files that options name, lists of
 *                              input files (store/content.h, store/listing_frozen.h); never changed
 *
 * plan.json: { "format": 2, "name", "script", "base", "args", "trust", "limit_files",
 *   "plan": KEY, "program": {"version", "sha256"},
 *   "files": [{"kind", "name", "path", "sha256", "hash", "bytes", "mtime_ns"}] }
 * kind: "script" (the pipeline first, then modules in the order they were required; name is the
 * module's), "plugin" (from outside the installation), "library" (ffi.def), "file" (an option's),
 * "inputs" (name is the reader's). path is where it was; nothing is read there any more. Of a run
 * in a store plugins, libraries and files have copies in the content/ of this machine's folder of
 * the run, made when they are needed.
 *
 * Who loads the root while another one is put has the old plan or the new one, whole: nothing that
 * the old one names is removed but by `sluice gc`. Depends on session. */
#ifndef SLUICE_CMD_FREEZE_H
#define SLUICE_CMD_FREEZE_H

#include "cmd/session.h"

#define PLAN_FORMAT 2 /* of plan.json; raise when it changes */

struct freeze;

/* An empty one, for a plan that is made. */
sluice_status freeze_create(struct session *, struct sluice_error *) MUST_USE;
/* The plan of session->run_dir: sets paths, words and options of the session. */
sluice_status freeze_load(struct session *, struct sluice_error *) MUST_USE;
/* The same as far as plan.json tells: nothing that it names is looked at. */
sluice_status freeze_root(struct session *, struct sluice_error *) MUST_USE;
void freeze_close(struct session *);

/* Of session_frozen: tells what a run of the plan would not find as it was: the program, what is
 * kept, inputs. kind: "program", "script", "plugin", "library", "file" or "input"; message says
 * where and what. Reads small files alone: an input is what its version says. */
typedef void (*freeze_missing_fn)(void *ctx, const char *kind, const char *path,
                                  const char *message);
sluice_status freeze_missing(struct session *, freeze_missing_fn, void *ctx,
                             struct sluice_error *) MUST_USE;

bool freeze_is_loaded(const struct session *);
/* Of the plan that was loaded: plan.key, where the same program made it again. */
struct hash128 freeze_key(const struct session *);

/* The script's files, as they were kept; *n = 0: they are to be read. */
const struct script_file *freeze_scripts(const struct session *, size_t *n);
/* Plugins from outside the installation, where they are kept. */
const char *const *freeze_plugins(const struct session *, size_t *n);
/* Where a file of a loaded plan that stood at path is kept; path itself when it is not. And back,
 * of any plan. Borrowed. */
const char *freeze_place(void *session, const char *path);
const char *freeze_origin(const struct session *, const char *place);

/* For plan_options. ctx: the session. */
sluice_status freeze_keep(void *ctx, const char *path, const char **place, struct hash128 *hash,
                          struct sluice_error *) MUST_USE;
sluice_status freeze_thaw(void *ctx, const char *reader, struct listing *files,
                          const struct hash128 **hashes, bool *found,
                          struct sluice_error *) MUST_USE;

/* Is the plan that was made of what is frozen the one that was frozen, by this program?
 * SLUICE_E_CONFIG says what differs. */
sluice_status freeze_compare(struct session *, struct sluice_error *) MUST_USE;
/* Writes the session's plan: contents, then plan.json, then used.json. */
sluice_status freeze_write(struct session *, struct sluice_error *) MUST_USE;

/* Names of RUN/content/ that a plan.json of the session's run names: for gc. */
bool freeze_names(const struct session *, const char *sha256);

#endif
