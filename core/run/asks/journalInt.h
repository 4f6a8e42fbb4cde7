/* What journal.c (the index, files, reading) and its two ways of keeping files share:
 * journal_disk.c, where files are appended to, and journal_store.c, where they are put. */
#ifndef SLUICE_RUN_JOURNAL_INT_H
#define SLUICE_RUN_JOURNAL_INT_H

#include <pthread.h>

#include "base/buf.h"
#include "run/asks/journal.h"
#include "run/asks/journal_record.h"

#define JOURNAL_SUFFIX ".answers"
#define JOURNAL_ID 33   /* with its NUL */
#define JOURNAL_HELD 8u /* files of a store that are held in memory */

struct segment {
    char *name;
    int fd;          /* -1 in a store */
    uint64_t known;  /* bytes that were read and are whole */
    uint64_t synced; /* bytes that are durable for sure */
    uint64_t size;   /* in a store: all its bytes */
    bool damaged;    /* said */
};

struct place {
    struct hash128 key; /* zero = free */
    uint32_t segment;
    uint64_t offset;
};

/* A process that puts files in a store. */
struct writer {
    char id[JOURNAL_ID];
    uint32_t next; /* the first file that was not read yet */
};

/* A file of a store that is held in memory. */
struct held {
    uint32_t segment; /* + 1; 0 = none */
    struct buf bytes;
};

struct journal {
    char *folder;
    bool puts; /* it is in a store */
    void (*warn)(void *ctx, const char *message);
    void *ctx;
    pthread_mutex_t looking; /* of journal_look; taken before the other */
    struct writer *writers;  /* of `looking`; in a store */
    uint32_t n_writers, writers_capacity;
    pthread_mutex_t mutex; /* of all below; never held while the disk works */
    struct segment *segments;
    uint32_t n_segments, segments_capacity;
    struct place *places; /* open addressing, a power of two */
    size_t n, capacity;
    uint32_t own; /* index of the file of this process + 1; 0 = none yet; on a disk */

    pthread_mutex_t holding; /* of what is held, and while it is read */
    struct held held[JOURNAL_HELD];
    uint32_t next_held;

    /* The thread that adds alone. */
    char id[JOURNAL_ID]; /* set before there is one */
    int own_fd;
    uint64_t size;      /* of its file */
    uint64_t synced;    /* of that */
    struct buf waiting; /* records for the next file of a store */
    struct buf heads;   /* of those: struct record_head */
    uint32_t put;       /* files so far */
    bool broken;        /* what stands in the file is not known */
};

/* ---- journal_index.c ---- */

/* A record that is whole at the end of what is known of a file. */
sluice_status journal_learn(struct journal *, uint32_t segment, const struct record_head *,
                            struct sluice_error *) MUST_USE;
/* Takes fd, which is -1 in a store. own: this process appends to it. *at (may be NULL): which. */
sluice_status journal_add_segment(struct journal *, const char *name, int fd, bool own,
                                  uint32_t *at, struct sluice_error *) MUST_USE;
/* Where the record of an ask is. false: there is none. */
bool journal_find(struct journal *, struct hash128 key, struct place *, struct segment *);
bool journal_named(const char *name); /* whether a file is one of a journal */

/* ---- journal_disk.c; `looking` is held for look ---- */

sluice_status journal_disk_look(struct journal *, struct sluice_error *) MUST_USE;
sluice_status journal_disk_add(struct journal *, struct hash128 key, const struct journal_answer *,
                               struct sluice_error *) MUST_USE;
sluice_status journal_disk_sync(struct journal *, struct sluice_error *) MUST_USE;
/* What another process wrote may be in memory alone. */
sluice_status journal_disk_settle(struct journal *, uint32_t at, const struct segment *,
                                  struct sluice_error *) MUST_USE;

/* ---- journal_store.c; `looking` is held for look and expect ---- */

sluice_status journal_store_look(struct journal *, struct sluice_error *) MUST_USE;
sluice_status journal_store_expect(struct journal *, const char *id,
                                   struct sluice_error *) MUST_USE;
/* The record of a file; NULL: it is not as it was. */
sluice_status journal_store_read(struct journal *, uint32_t at, const char *name, uint64_t offset,
                                 struct record_head *, char **rest, struct sluice_error *) MUST_USE;
sluice_status journal_store_add(struct journal *, struct hash128 key, const struct journal_answer *,
                                struct sluice_error *) MUST_USE;
sluice_status journal_store_sync(struct journal *, struct sluice_error *) MUST_USE;

#endif
