/* The journal of a run's answers: RUN/answers. What is in it is never asked again. Depends on base
 * and store.
 *
 * A record is a head of 64 bytes (magic, sizes, code, key, check, when), the content type, the
 * body. The check covers all of it. A file is read up to its first record that is cut or damaged:
 * what is behind is asked again, and a process that still writes there is not there yet.
 *
 * On a disk each process has a file, to which it alone appends. In a store without append it puts
 * one for each sync, ID.000000.answers and so on, which are found by their names: a list that lacks
 * some hides nothing of a process that was heard of (journal_expect).
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
    uint64_t when_ms; /* since 1970, as the clock was where it came; 0: not known */
};

/* folder is made with the first answer. warn may be NULL. Gives. */
sluice_status journal_open(const char *folder, void (*warn)(void *ctx, const char *message),
                           void *ctx, struct journal **out, struct sluice_error *) MUST_USE;
void journal_close(struct journal *); /* NULL is fine */

/* Whether each sync is a request of its own, so that answers had better wait for each other. */
bool journal_puts(const struct journal *);
/* The id under which this process writes, a random one if nothing is said before the first answer;
 * and that another process writes under one. Ids have 32 hexadecimal digits. */
void journal_call(struct journal *, const char *id);
sluice_status journal_expect(struct journal *, const char *id, struct sluice_error *) MUST_USE;

/* Takes in what other processes have written since; nothing while another thread does. */
sluice_status journal_look(struct journal *, struct sluice_error *) MUST_USE;
/* The same, waiting for that thread: all that was written before the call is known afterwards. */
sluice_status journal_catch_up(struct journal *, struct sluice_error *) MUST_USE;
bool journal_knows(struct journal *, struct hash128 key);
/* *found false: it is not there. An answer of another process is durable afterwards; one of this
 * process is after journal_sync. SLUICE_E_DATA: it was changed behind our back. */
sluice_status journal_read(struct journal *, struct hash128 key, bool *found,
                           struct journal_answer *out, struct sluice_error *) MUST_USE;
/* Appends; durable after journal_sync, and in a store known only then. Both on one thread alone.
 * After a failure nothing more is taken: what stands in the file is not known. */
sluice_status journal_add(struct journal *, struct hash128 key, const struct journal_answer *,
                          struct sluice_error *) MUST_USE;
sluice_status journal_sync(struct journal *, struct sluice_error *) MUST_USE;

#endif
