/* How long answers took: see latencies.h. */
#include "run/asks/latencies.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 8192u
#define BEYOND 5.0
#define STALE 64u

void latencies_add(struct latencies *all, uint64_t ns)
{
    if (all->newest == NULL && (all->newest = malloc(ROOM * sizeof *all->newest)) == NULL) {
        return;
    }
    all->newest[all->next] = ns;
    all->next = (all->next + 1) % ROOM;
    all->n += all->n < ROOM;
    all->since++;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t latencies_quantile(struct latencies *all, double share)
{
    uint64_t *sorted;

    if ((double)all->n * (1 - share) < BEYOND - 1e-6) {
        return 0;
    }
    if (all->share == share && all->since < STALE) {
        return all->quantile;
    }
    sorted = malloc(all->n * sizeof *sorted);
    if (sorted == NULL) {
        return 0;
    }
    memcpy(sorted, all->newest, all->n * sizeof *sorted);
    qsort(sorted, all->n, sizeof *sorted, by_time);
    all->quantile = sorted[(size_t)((double)(all->n - 1) * share)];
    all->quantile += all->quantile == 0;
    all->share = share;
    all->since = 0;
    free(sorted);
    return all->quantile;
}

void latencies_deinit(struct latencies *all)
{
    free(all->newest);
}
