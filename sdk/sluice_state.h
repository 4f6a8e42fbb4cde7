/* sluice_state.h - saved states of workers (save and load of struct sluice_stage): buffers with
 * their sizes. Everything else is io->write and io->read of a number or a struct without pointers
 * and padding. Depends on sluice_arrays.h.
 *
 * A state is whole or it is refused: what load reads may be anything, so sizes and places in it are
 * checked before they are used. */
#ifndef SLUICE_STATE_H
#define SLUICE_STATE_H

#include "sluice_arrays.h"

#define SLUICE_STATE_PIECE ((uint64_t)1 << 20)

/* n bytes with their number. */
SLUICE_INLINE sluice_status sluice_state_put(struct sluice_io *io, const void *data, uint64_t n)
{
    sluice_status status = io->write(io, &n, sizeof n);
    return status == SLUICE_OK && n > 0 ? io->write(io, data, n) : status;
}

/* Replaces *out by what sluice_state_put wrote; SLUICE_E_DATA where that is no multiple of `each`
 * bytes. Memory is taken as bytes come, so that no damaged number takes all of it. */
SLUICE_INLINE sluice_status sluice_state_get(struct sluice_io *io, uint64_t each,
                                             struct sluice_bytes *out)
{
    uint64_t n = 0;
    sluice_status status = io->read(io, &n, sizeof n);

    out->size = 0;
    if (status == SLUICE_OK && n % each != 0) {
        status = SLUICE_E_DATA;
    }
    while (status == SLUICE_OK && n > 0) {
        uint64_t part = n < SLUICE_STATE_PIECE ? n : SLUICE_STATE_PIECE;
        if (!sluice_bytes_reserve(out, part)) {
            return SLUICE_E_NOMEM;
        }
        status = io->read(io, out->data + out->size, part);
        out->size += status == SLUICE_OK ? part : 0;
        n -= part;
    }
    return status;
}

#endif
