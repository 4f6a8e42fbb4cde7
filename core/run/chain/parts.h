/* The partitions of one writer in one task: each has a worker of the stage, files of its own and
 * the account of where rows stand. Private to core/run/chain. */
#ifndef SLUICE_RUN_PARTS_H
#define SLUICE_RUN_PARTS_H

#include "run/chain/folders.h"
#include "run/chain/shards.h"

struct part {
    char *folder; /* owned */
    struct stage_worker *worker;
    struct shards *shards;
    struct buf traced;
    uint32_t base;  /* what is added to the ordinals of its files, once they are ended */
    uint32_t *rows; /* of the batch in hand: those of this part */
    int64_t n, capacity;
};

struct parts {
    const struct op *writer;
    struct folders folders;
    struct shards_codecs *codecs;
    struct part **items; /* in the order of their first rows, sorted by parts_sort */
    uint32_t n, capacity;
    struct part **index; /* open addressing, by the hash of the folder */
    uint32_t n_index;    /* a power of two */
    uint32_t *touched;   /* items with rows of the batch in hand */
    uint32_t n_touched;
    struct buf folder; /* of a row */
};

/* NULL where the writer's note does not ask for it. */
sluice_status parts_open(const struct op *writer, const struct op *from, struct parts **out,
                         struct sluice_error *) MUST_USE;
void parts_destroy(struct parts *); /* NULL is fine */
/* Gives each selected row of a batch to its part: parts->touched, and there rows. */
sluice_status parts_assign(struct parts *, const struct batch *, struct sluice_error *) MUST_USE;
/* Adds the part of a folder that was saved: there is none of this name yet. */
sluice_status parts_add(struct parts *, const char *folder, struct part **out,
                        struct sluice_error *) MUST_USE;
/* By the folders' names, as their files are numbered. */
void parts_sort(struct parts *);

#endif
