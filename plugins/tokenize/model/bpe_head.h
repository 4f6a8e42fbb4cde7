/* bpe_head.h — builds the tables of pieces that are in the vocabulary, for byte pairs over bytes
 * and over characters alike. Private to bpe_build.c, bpe_head.c and bpe.c. */
#ifndef TOKENIZE_BPE_HEAD_H
#define TOKENIZE_BPE_HEAD_H

#include "model/bpe_merge.h"

struct bpe;

/* n * size bytes filled with `fill`, counted in m->bytes; NULL without memory. */
void *merges_table(struct merges *m, size_t n, size_t size, int fill);
/* The power of two at or above 2 * n, at least 16; what shifts a 64-bit hash to below such a
 * power. */
size_t merges_room(size_t n);

/* What a piece with the bytes of token `id` becomes: ids to `out`, which has room for its bytes;
 * their number, 0 when it is not worth knowing before it is met. */
typedef size_t head_become(void *context, uint32_t id, uint32_t *out);

/* Fills head, short_keys and long_ids. SLUICE_E_NOMEM. */
int32_t merges_index_pieces(struct merges *m, const struct vocab *vocab, head_become *become,
                            void *context, struct sluice_error *err);

/* The same for the models over characters: no other table of `m` is used there. Caller's memory;
 * deinit even after an error. */
int32_t merges_init_model(struct merges *m, const struct bpe *bpe, struct sluice_error *err);

#endif
