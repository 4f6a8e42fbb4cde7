/* The least --memory with which a plan can run, and what is above it shared out among sorters.
 * Depends on plan, store.
 *
 * Reckoned before any row is read, from the plan, the number of workers and the size of batches,
 * and again when a file turns out to need more than its name tells; measured processes stay
 * below. Not in it: records above the size of a batch, which are admitted
 * one by one (room.h). */
#ifndef SLUICE_RUN_FLOOR_H
#define SLUICE_RUN_FLOOR_H

#include "plan/plan.h"
#include "run/room.h"

/* What files turned out to be, beyond what their names say. */
/* Calls of a stage that may ask, which wait side by side (run/chain/waiting.c). */
#define FLOOR_WAITING 8u

struct floor_found {
    bool decodes;    /* one of any name is compressed */
    uint64_t window; /* of zstd; 0 = the usual */
};

/* SLUICE_E_NOMEM, with the number, when memory is below the floor of any phase. */
sluice_status floor_check(const struct plan *, const struct floor_found *, uint32_t workers,
                          uint64_t batch_bytes, uint64_t memory, struct sluice_error *) MUST_USE;

/* Bytes that a call of the op's stage takes for a byte of what it sees. */
double floor_call(const struct op *);

/* What is above the floor for giants, as shares and a reserve. */
sluice_status floor_rooms(const struct plan *, const struct phase *, uint32_t workers,
                          uint64_t batch_bytes, uint64_t memory, struct rooms *out,
                          struct sluice_error *) MUST_USE;

/* Takes from what giants may have what decoding takes now. What was lent before stays lent. */
void floor_shrink(const struct plan *, const struct phase *, const struct floor_found *,
                  uint32_t workers, uint64_t batch_bytes, uint64_t memory, struct rooms *);

/* What each sorter of each worker may use in a phase. Never decides what comes out. */
uint64_t floor_sorter(const struct plan *, const struct phase *, const struct floor_found *,
                      uint32_t workers, uint64_t batch_bytes, uint64_t memory);

#endif
