/* vocab.h — a tokenizer file as it was read, before the merge tables are built.
 *
 * Owns: the tokens' bytes, merges and special tokens of one file. Depends on: pretoken.h (the
 * file's splits go there), bpe.h (options), bpe_error.h, libjansson.
 * Promises: whatever comes out is consistent (ids in range and distinct, all 256 bytes present);
 * what the engine cannot honour has been refused by name. */
#ifndef TOKENIZE_VOCAB_H
#define TOKENIZE_VOCAB_H

#include <stddef.h>
#include <stdint.h>

#include "bpe.h"
#include "pretoken.h"

#define VOCAB_NONE UINT32_MAX
#define VOCAB_IDS_MOST (1u << 21) /* ids fit 21 bits, so that a merge fits one 64-bit word */
#define VOCAB_TOKEN_MOST 1024u    /* bytes of a token: bounds the quadratic part of loading */

enum vocab_kind {
    VOCAB_ABSENT, /* no ordinary token has this id */
    VOCAB_BYTES,  /* a byte string, which merges or whole pieces can give */
    VOCAB_OPAQUE  /* an entry outside the byte alphabet, which no text can give */
};

struct vocab_token {
    size_t at;
    uint32_t len;
    uint32_t kind;
};

struct vocab_merge {
    uint32_t a, b, id; /* ids; the index in the array is the rank */
};

/* A special or added token. */
struct vocab_added {
    size_t at;
    uint32_t len, id;
    uint8_t special, normalized, single_word, lstrip, rstrip;
};

struct vocab {
    uint8_t *bytes; /* the arena that `at` points into */
    size_t n_bytes, cap_bytes;
    struct vocab_token *tokens; /* by id */
    uint32_t n_tokens, cap_tokens;
    uint32_t byte_id[256];
    /* tokenizer.json; NULL: a pair merges when its bytes are a token, the lowest id first */
    struct vocab_merge *merges;
    size_t n_merges;
    struct vocab_added *added; /* sorted by id once loaded */
    size_t n_added, cap_added;
    /* A piece that is a token is that token, whatever merging gives (tiktoken, ignore_merges). */
    int whole_piece;
    int nfc;           /* normalize to NFC */
    int prefix_space;  /* put a space in front of a part that does not begin with one */
    uint32_t bos, eos; /* VOCAB_NONE where nothing says so */
    char bos_name[256], eos_name[256];
};

/* Fills caller's memory (deinit it even after an error) and adds the splits to `pretoken`. */
int32_t vocab_load(struct vocab *vocab, struct pretoken *pretoken, const void *data, size_t size,
                   const struct bpe_options *options, struct sluice_error *err);
void vocab_deinit(struct vocab *vocab);

/* For the two readers. */
int32_t vocab_read_tiktoken(struct vocab *vocab, struct pretoken *pretoken, const char *data,
                            size_t size, const struct bpe_options *options,
                            struct sluice_error *err);
int32_t vocab_read_json(struct vocab *vocab, struct pretoken *pretoken, const char *data,
                        size_t size, const struct bpe_options *options, struct sluice_error *err);

/* Adds token `id`. SLUICE_E_CONFIG when the id is taken or too high, the token too long. */
int32_t vocab_put(struct vocab *vocab, uint32_t id, const void *bytes, size_t len,
                  enum vocab_kind kind, struct sluice_error *err);

/* Adds a special or added token; `like` holds its flags and id. */
int32_t vocab_put_added(struct vocab *vocab, const char *content, size_t len,
                        const struct vocab_added *like, struct sluice_error *err);

#endif
