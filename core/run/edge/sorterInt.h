/* Private to core/run/sorter*.c: what is sorted in memory, a record's key and place. */
#ifndef SLUICE_RUN_SORTERINT_H
#define SLUICE_RUN_SORTERINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
