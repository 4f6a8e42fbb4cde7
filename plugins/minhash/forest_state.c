/* Pairs in saved states; see forest_state.h. */
#include "forest_state.h"

static int32_t chunk_write(struct forest_pairs_out *out)
{
    int32_t status = out->io->write(out->io, &out->n, sizeof(out->n));
    if (status == SLUICE_OK && out->n > 0) {
        status = out->io->write(out->io, out->pairs, out->n * sizeof(out->pairs[0]));
    }
    out->n = 0;
    return status;
}

int32_t forest_pairs_put(void *user, struct forest_pair pair, struct sluice_error *err)
{
    struct forest_pairs_out *out = user;
    (void)err;
    out->pairs[out->n++] = pair;
    return out->n == FOREST_CHUNK ? chunk_write(out) : SLUICE_OK;
}

int32_t forest_pairs_end(struct forest_pairs_out *out)
{
    int32_t status = out->n > 0 ? chunk_write(out) : SLUICE_OK;
    return status == SLUICE_OK ? chunk_write(out) : status;
}

int32_t forest_pairs_get(struct sluice_io *io, forest_pair_fn *take, void *user,
                         struct sluice_error *err)
{
    struct forest_pair pairs[FOREST_CHUNK];
    for (;;) {
        uint64_t n = 0;
        int32_t status = io->read(io, &n, sizeof(n));
        if (status == SLUICE_OK && n > FOREST_CHUNK) {
            status = SLUICE_E_DATA;
        }
        if (status != SLUICE_OK || n == 0) {
            return status;
        }
        status = io->read(io, pairs, n * sizeof(pairs[0]));
        for (uint64_t i = 0; status == SLUICE_OK && i < n; i++) {
            status = take(user, pairs[i], err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
    }
}

int32_t forest_sort_take(void *sort, struct forest_pair pair, struct sluice_error *err)
{
    return forest_sort_push(sort, pair.first, pair.second, err);
}
