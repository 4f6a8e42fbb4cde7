/* Private to core/run/edge/sorter*.c: the sorter, and what is sorted in memory, a record's key and
 * place. */
#ifndef SLUICE_RUN_SORTERINT_H
#define SLUICE_RUN_SORTERINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/edge/scratch.h"
#include "run/edge/sorter.h"

/* key (two words, as numbers), position, place */
struct entry {
    uint64_t words[4];
};

static inline bool entry_less(const struct entry *a, const struct entry *b)
{
    for (int k = 0; k < 3; k++) {
        if (a->words[k] != b->words[k]) {
            return a->words[k] < b->words[k];
        }
    }
    return a->words[3] < b->words[3];
}

/* Sorts n entries that differ, in place. */
void sorter_sort_entries(struct entry *, size_t n);

#define SORTER_RECORD_HEADER 28u /* of a record in a run: u32 size, key, u64 position */

struct run_extent {
    uint64_t begin, end; /* in the scratch file of the pass */
};

struct runs_list {
    struct run_extent *items;
    size_t n, capacity;
};

/* A run being read. */
struct run_cursor {
    uint64_t at, end; /* the next block */
    struct buf block;
    size_t used;       /* bytes of block before the current record */
    size_t next;       /* and behind it */
    struct entry head; /* words[3]: number of the run */
    uint32_t n;        /* bytes of payload */
};

struct sorter {
    char *dir;
    uint64_t memory;
    char *block; /* owned; payloads and entries */
    size_t block_size;
    bool whole;              /* the block has its full size */
    size_t used;             /* bytes of payloads */
    size_t n;                /* entries */
    size_t at;               /* in-memory reading */
    struct scratch *scratch; /* of the runs */
    struct runs_list runs;
    uint64_t runs_written;
    size_t block_bytes;         /* target of a run's block */
    size_t block_largest;       /* of all blocks written */
    struct buf out;             /* the block being written */
    struct run_cursor *cursors; /* being merged */
    uint32_t n_cursors;
    uint32_t *heap;
    uint32_t n_heap;
    bool merging, advance;
    struct sorter_record record;
};

/* The records in memory, from the last that was added to the first. */
static inline struct entry *sorter_entries(const struct sorter *s)
{
    return (struct entry *)(void *)(s->block + s->block_size) - s->n;
}

#endif
