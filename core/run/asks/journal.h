/* The journal of a run's answers: RUN/answers, a file a process, which only it appends to. What is
 * in it is never asked again. Depends on base and store/disk.
 *
 * A record is a head of 64 bytes (magic, sizes, code, key, check), the content type, the body. The
 * check covers all of it. A file is read up to its first record that is cut or damaged: what is
 * behind is asked again, and a process that still writes there is not there yet.
 *
 * One thread adds and syncs; all others may read and look meanwhile, and none of them waits for the
 * disk to take what is added. What another process wrote, perhaps just before it was killed, is
 * made durable before it is given out. */
#ifndef SLUICE_RUN_JOURNAL_H
#define SLUICE_RUN_JOURNAL_H

#include <stdbool.h>

#include "base/error.h"
#include "base/hash.h"

struct journal;

struct journal_answer {
    uint32_t code;
    bool refused;
    char type[128];
    char *body; /* body_n bytes and 64 readable ones behind; given: free() */
    size_t body_n;
};

/* folder is made with the first answer. warn may be NULL. Gives. */
sluice_status journal_open(const char *folder, void (*warn)(void *ctx, const char *message),
                           void *ctx, struct journal **out, struct sluice_error *) MUST_USE;
void journal_close(struct journal *); /* NULL is fine */

/* Takes in what other processes have written since; nothing while another thread does. */
sluice_status journal_look(struct journal *, struct sluice_error *) MUST_USE;
bool journal_knows(struct journal *, struct hash128 key);
/* *found false: it is not there. An answer of another process is durable afterwards; one of this
 * process is after journal_sync. SLUICE_E_DATA: it was changed behind our back. */
sluice_status journal_read(struct journal *, struct hash128 key, bool *found,
                           struct journal_answer *out, struct sluice_error *) MUST_USE;
/* Appends; durable after journal_sync. Both on one thread alone. After a failure nothing more is
 * taken: what stands in the file is not known. */
sluice_status journal_add(struct journal *, struct hash128 key, const struct journal_answer *,
                          struct sluice_error *) MUST_USE;
sluice_status journal_sync(struct journal *, struct sluice_error *) MUST_USE;

#endif
