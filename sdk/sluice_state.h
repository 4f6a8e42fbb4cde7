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

/* A list of a worker that is saved as it is, of values of `each` bytes. */
struct sluice_state_list {
    struct sluice_bytes *bytes;
    uint64_t each;
};

/* All n of them, in their order. */
SLUICE_INLINE sluice_status sluice_state_put_lists(struct sluice_io *io,
                                                   const struct sluice_state_list *lists,
                                                   uint64_t n)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t i = 0; status == SLUICE_OK && i < n; i++) {
        status = sluice_state_put(io, lists[i].bytes->data, lists[i].bytes->size);
    }
    return status;
}

/* Replaces them by what sluice_state_put_lists wrote; what is in them is for the caller to
 * check. */
SLUICE_INLINE sluice_status sluice_state_get_lists(struct sluice_io *io,
                                                   const struct sluice_state_list *lists,
                                                   uint64_t n)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t i = 0; status == SLUICE_OK && i < n; i++) {
        status = sluice_state_get(io, lists[i].each, lists[i].bytes);
    }
    return status;
}

#endif
