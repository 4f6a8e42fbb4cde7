/* What input splits hold, as far as it is known: for the keys of tasks. Depends on plan, store,
 * run/source.
 *
 * Planning reads no file. A split that was never read has no identity, and the task that reads it
 * gets its key behind the last row. What was found then is remembered with the versions of the
 * split's files (path, size, times), so that unchanged files are not read again to know what is in
 * them: by no later run, and by no other process or host that sees them under the same paths. Of a
 * file that was changed just now that holds for the execution at hand only. Of a dataset it is what
 * its manifest says, once that was compared with its files (run/source/files.h).
 *
 * One thread a split at a time; different splits may be worked on side by side. */
#ifndef SLUICE_RUN_IDENTITY_H
#define SLUICE_RUN_IDENTITY_H

#include "run/run.h"

struct identities;

/* Of the run's plan and options.inputs, where they are remembered. */
sluice_status identities_create(const struct run *, struct identities **out,
                                struct sluice_error *) MUST_USE;
void identities_destroy(struct identities *); /* NULL is fine */

/* Of the run's identities. NULL = not known. */
const struct hash128 *identity_of(const struct run *, const struct lane *, size_t split);

/* Looks whether it is remembered. *doubt: it is not, but the split was read once (its files were
 * touched since, or what was remembered is lost), so that looking into it may save the task. */
sluice_status identity_recall(struct run *, const struct lane *, size_t split, bool *doubt,
                              struct sluice_error *) MUST_USE;

/* A hash of what is said of the split without reading it: which files, in which versions, how it is
 * cut. */
sluice_status identity_version(const struct run *, const struct lane *, size_t split,
                               struct hash128 *out, struct sluice_error *) MUST_USE;

/* Reads the split for its identity alone. */
sluice_status identity_read(struct run *, const struct lane *, size_t split,
                            struct sluice_error *) MUST_USE;

/* A task read the split and found this digest (source_digest). SLUICE_E_DATA: it is known to hold
 * something else. */
sluice_status identity_found(struct run *, const struct lane *, size_t split, struct hash128 digest,
                             struct sluice_error *) MUST_USE;

#endif
