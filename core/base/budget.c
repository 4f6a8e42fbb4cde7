/* Memory budgets: see budget.h. */
#include "base/budget.h"

#include <stdlib.h>
#include <string.h>

/* Before each counted block; keeps what follows 16-byte aligned. */
struct header {
    uint64_t size; /* as counted, with this header */
    uint64_t reserved;
};

void budget_init(struct budget *budget, struct budget *parent, uint64_t limit)
{
    budget->parent = parent;
    budget->limit = limit;
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
}

/* One level; false = over its limit. */
static bool take_one(struct budget *budget, uint64_t n)
{
    uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    uint64_t peak;

    do {
        if (n > budget->limit || used > budget->limit - n) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    used += n;
    peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (peak < used &&
           !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, used, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    return true;
}

/* Counts n bytes here and in all parents; false (and nothing counted) when one of them would pass
 * its limit. */
static bool count_in(struct budget *budget, uint64_t n)
{
    for (struct budget *level = budget; level != NULL; level = level->parent) {
        if (!take_one(level, n)) {
            for (struct budget *undo = budget; undo != level; undo = undo->parent) {
                atomic_fetch_sub_explicit(&undo->used, n, memory_order_relaxed);
            }
            return false;
        }
    }
    return true;
}

static void count_out(struct budget *budget, uint64_t n)
{
    for (struct budget *level = budget; level != NULL; level = level->parent) {
        atomic_fetch_sub_explicit(&level->used, n, memory_order_relaxed);
    }
}

uint64_t budget_used(struct budget *budget)
{
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}

uint64_t budget_peak(struct budget *budget)
{
    return atomic_load_explicit(&budget->peak, memory_order_relaxed);
}

void *budget_alloc(struct budget *budget, uint64_t n)
{
    struct header *header;
    uint64_t size = n + sizeof *header;

    if (n > SIZE_MAX / 2 || !count_in(budget, size)) {
        return NULL;
    }
    header = malloc(size);
    if (header == NULL) {
        count_out(budget, size);
        return NULL;
    }
    header->size = size;
    header->reserved = 0;
    return header + 1;
}

void *budget_realloc(struct budget *budget, void *memory, uint64_t n)
{
    struct header *header = memory;
    struct header *moved;
    uint64_t before;
    uint64_t size = n + sizeof *header;

    if (memory == NULL) {
        return budget_alloc(budget, n);
    }
    header--;
    before = header->size;
    if (n > SIZE_MAX / 2 || (size > before && !count_in(budget, size - before))) {
        return NULL;
    }
    moved = realloc(header, size);
    if (moved == NULL) {
        if (size > before) {
            count_out(budget, size - before);
        }
        return NULL;
    }
    if (size < before) {
        count_out(budget, before - size);
    }
    moved->size = size;
    return moved + 1;
}

void budget_free(struct budget *budget, void *memory)
{
    if (memory != NULL) {
        struct header *header = (struct header *)memory - 1;
        count_out(budget, header->size);
        free(header);
    }
}
