/* unigram.h — the Unigram language model: the path of tokens through a piece with the highest sum
 * of scores (Kudo 2018).
 *
 * Owns: `struct unigram` (immutable vocabulary) and struct unigram_scratch (of one thread).
 * Depends on: unigram_trie.h, bpe_error.h, libjansson.
 * Promises: the ids of Hugging Face tokenizers (0.23, Unigram) or of SentencePiece (0.2, unigram),
 * ties and rounding included: sums in double or in float, from the front, and of equal sums the one
 * found first. Time O(length * longest token); memory only for the stretch since the last place
 * that no token spans, 4 bytes a byte. */
#ifndef TOKENIZE_UNIGRAM_H
#define TOKENIZE_UNIGRAM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct unigram;

#define UNIGRAM_NONE UINT32_MAX

enum unigram_peer {
    UNIGRAM_HF, /* sums in double; every entry takes part; runs of unknowns are looked up again */
    UNIGRAM_SPM /* sums in float; only normal and user-defined pieces take part */
};

enum unigram_kind {
    UNIGRAM_NORMAL,
    UNIGRAM_USER_DEFINED, /* SPM: always preferred */
    UNIGRAM_UNUSED,       /* SPM: in the trie, never chosen */
    UNIGRAM_RESERVED      /* SPM: control, unknown and byte pieces, which no text gives */
};

/* A vocabulary entry; its index is its id. */
struct unigram_piece {
    const char *bytes; /* UTF-8 */
    size_t len;
    double score; /* SPM: a float's value */
    enum unigram_kind kind;
};

/* All borrowed for the call. */
struct unigram_options {
    enum unigram_peer peer;
    const struct unigram_piece *pieces;
    size_t n;
    uint32_t unk; /* UNIGRAM_NONE: none (HF only) */
    int byte_fallback;
};

/* Gives *out for unigram_destroy; thread-safe to share. SLUICE_E_CONFIG (no such unk, a duplicate
 * piece under SPM, byte_fallback without all byte pieces under SPM), SLUICE_E_NOMEM. */
int32_t unigram_create(const struct unigram_options *options, struct unigram **out,
                       struct sluice_error *err);

/* Reads the member `model` of tokenizer.json of type Unigram (borrowed). */
int32_t unigram_read(const json_t *model, struct unigram **out, struct sluice_error *err);
void unigram_destroy(struct unigram *unigram);

uint32_t unigram_size(const struct unigram *unigram);

/* The bytes of token `id` as the file has them (`▁a`, `<0x0A>`); NULL for an id of none. They live
 * as long as `unigram` and may hold zeros. */
const char *unigram_token(const struct unigram *unigram, uint32_t id, size_t *len);

/* The id of a token by its text, UNIGRAM_NONE when there is none. */
uint32_t unigram_id(const struct unigram *unigram, const char *text, size_t len);

size_t unigram_memory(const struct unigram *unigram);

/* Scratch of one thread: zeroed before the first use; deinit frees what grew. */
struct unigram_scratch {
    uint32_t *path; /* by byte since the last certain place: the id that ends there */
    size_t path_cap;
    double *best; /* sums by place, of the longest token's length */
    size_t best_cap;
};
void unigram_scratch_deinit(struct unigram_scratch *scratch);

/* Encodes a piece of valid UTF-8 into ids[0 .. *n); cap >= len always is enough. SLUICE_E_DATA (a
 * character without a token, and the file has no unk), SLUICE_E_CONFIG (cap is too small),
 * SLUICE_E_NOMEM. */
int32_t unigram_encode(const struct unigram *unigram, struct unigram_scratch *scratch,
                       const char *piece, size_t len, uint32_t *ids, size_t cap, size_t *n,
                       struct sluice_error *err);

#endif
