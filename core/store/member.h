/* Those who work on a run: one small file a process in RUN/workers, which it writes again and
 * again while it lives (its heart beats), and what a process knows of the others by theirs.
 * Nobody's clock is compared with another's: a process counts as gone when its file stays as it
 * is for MEMBER_TTL of the observer's own time, when it took its file away, or at once where it
 * can be looked at (store/owner.h) and is dead. Who was wrong about that costs work, never rows:
 * a task's record is what decides. Depends on store.h, owner and jansson. */
#ifndef SLUICE_STORE_MEMBER_H
#define SLUICE_STORE_MEMBER_H

#include "store/owner.h"
#include "store/store.h"

#define MEMBER_ID 33 /* of an id, with its NUL */

/* How long a heart may stop, in nanoseconds of CLOCK_BOOTTIME: the span between two beats; until
 * others take it for dead; until its owner must take itself for that. Test hook:
 * SLUICE_TEST_LEASE=BEAT:TTL:FENCE in milliseconds. */
struct member_times {
    uint64_t beat, ttl, fence;
};
const struct member_times *member_times(void);
uint64_t member_clock(void); /* CLOCK_BOOTTIME: goes on while the machine sleeps */

/* Who holds something, as its file says. */
struct holder {
    char id[MEMBER_ID]; /* "" = not readable: nobody */
    struct owner owner;
    char host[64];
    char words[200]; /* "process 12 on host, since 2024-05-01T10:00:00Z", for people */
};

struct member;

/* Joins: makes the file in dir. kind: "run", "work", … for people. Gives. */
sluice_status member_join(const char *dir, const char *kind, struct member **out,
                          struct sluice_error *) MUST_USE;
/* Writes the file again. state: a JSON object as text, for people, or NULL. */
sluice_status member_beat(struct member *, const char *state, struct sluice_error *) MUST_USE;
/* Takes the file away and frees; NULL is fine. */
void member_leave(struct member *);

const char *member_id(const struct member *);
const struct holder *member_self(const struct member *);
/* Whether others can't take this process for dead. If not it begins nothing new, and looks again
 * before it commits. */
bool member_fresh(const struct member *);
/* How often it was not, so far: what was held then may be another's now. */
uint32_t member_lapses(const struct member *);

/* Whether a holder lives, as far as this process knows by now. Thread-safe. */
bool member_lives(struct member *, const struct holder *);
/* Whether it was seen to live: its heart to beat, or its process. Else it may be dead, and the TTL
 * is not over. */
bool member_seen(struct member *, const struct holder *);
/* All others with a file in the folder that live or are not known to be dead yet; *n of them.
 * certain: waits, up to the TTL, until that is known of each; stop (may be NULL): != 0 ends it.
 * list (may be NULL): gives their holders, free(). The files of the dead are removed. */
sluice_status member_others(struct member *, bool certain, const _Atomic int *stop,
                            struct holder **list, size_t *n, struct sluice_error *) MUST_USE;

/* What the files in a folder say, of those that can't be seen to be dead: for one who has not
 * joined. *n of them, in order of their ids; free(). */
struct member_file {
    struct holder holder;
    char kind[16];
    uint64_t counter;
};
sluice_status member_files(const char *dir, struct member_file **list, size_t *n,
                           struct sluice_error *) MUST_USE;

/* A file in which somebody says who it is: {"id", "owner", "host", "words", …}. false: it does not;
 * the holder's id is "" then. */
bool holder_parse(const char *text, size_t n, struct holder *out);
/* The inner part of such a file, without the brackets. */
const char *member_json(const struct member *);

#endif
