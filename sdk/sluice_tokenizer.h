/* sluice_tokenizer.h - the tokenizer of Sluice as a C library: libsluice-tokenizer.so.
 *
 * Text in, token ids out, equal to tiktoken, Hugging Face tokenizers and SentencePiece, for
 * .tiktoken files, tokenizer.json files (BPE over bytes or characters, Unigram, WordPiece,
 * WordLevel) and SentencePiece .model files. What a file asks for and the engine does not do is
 * refused when it is loaded, by name.
 *
 *     struct sluice_error err = { .size = sizeof err };
 *     struct sluice_tokenizer *tokenizer;
 *     struct sluice_encoder *encoder;
 *     if (sluice_tokenizer_open("o200k_base.tiktoken", NULL, &tokenizer, &err) != SLUICE_OK ||
 *         sluice_encoder_create(tokenizer, 0, &encoder, &err) != SLUICE_OK) { ... err.message ... }
 *     sluice_encode(encoder, text, length, ids, capacity, &n, &err);
 *
 * Compile with `pkg-config --cflags sluice-tokenizer`, link with `--libs`. A tokenizer is immutable
 * and shared by threads; an encoder belongs to one thread at a time. Every function that can fail
 * returns SLUICE_OK or a code of sluice.h and fills `err`, which may be NULL. Text must be valid
 * UTF-8; other bytes are encoded in some way that decodes to the same bytes. */
#ifndef SLUICE_TOKENIZER_H
#define SLUICE_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_TOKENIZER_API __attribute__((visibility("default")))
#else
#define SLUICE_TOKENIZER_API
#endif

struct sluice_tokenizer;
struct sluice_encoder;

/* What the text of a special token (`<|endoftext|>`) inside a text is. */
#define SLUICE_SPECIALS_ORDINARY 0 /* text like any other: the safe default */
#define SLUICE_SPECIALS_ALLOW 1    /* that token */
#define SLUICE_SPECIALS_REFUSE 2   /* an error, SLUICE_E_DATA */

/* Zeroed but for size means: defaults. */
struct sluice_tokenizer_options {
    uint64_t size;       /* sizeof(struct sluice_tokenizer_options) */
    const char *pattern; /* regular expression for a .tiktoken file whose vocabulary is not known */
    int32_t specials;    /* SLUICE_SPECIALS_... */
};

/* Loads a vocabulary from a file, or from memory (borrowed for the call). Gives *out. */
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_open(const char *path,
                                                   const struct sluice_tokenizer_options *options,
                                                   struct sluice_tokenizer **out,
                                                   struct sluice_error *err);
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_load(const void *data, size_t size,
                                                   const struct sluice_tokenizer_options *options,
                                                   struct sluice_tokenizer **out,
                                                   struct sluice_error *err);
/* NULL is fine; no encoder of it may be left. */
SLUICE_TOKENIZER_API void sluice_tokenizer_destroy(struct sluice_tokenizer *tokenizer);

/* Makes the tokenizer look for pieces in the trained head at `path` first: a file with what the
 * frequent pieces of a sample become, mapped and shared by all encoders of all processes; `sluice
 * tokenize --train-head` and the functions below write it, by replacing, and nothing may write into
 * it. Before any encoder is created. Ids are the same with and without. SLUICE_E_CONFIG for a file
 * that is no head, or one of another tokenizer or version, truncated or damaged; then the tokenizer
 * is as it was. */
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_head_open(struct sluice_tokenizer *tokenizer,
                                                        const char *path, struct sluice_error *err);

/* Training: gives *out, for one thread, which the tokenizer must outlive; takes a sample, text by
 * text; then writes the head of it, of which the larger table has at most `most` bytes (0 = 2 MiB),
 * to `path` at once. SLUICE_E_DATA for a sample that has no piece of text twice. */
struct sluice_tokenizer_training;
SLUICE_TOKENIZER_API int32_t
sluice_tokenizer_training_create(const struct sluice_tokenizer *tokenizer,
                                 struct sluice_tokenizer_training **out, struct sluice_error *err);
SLUICE_TOKENIZER_API void
sluice_tokenizer_training_destroy(struct sluice_tokenizer_training *training);
SLUICE_TOKENIZER_API int32_t
sluice_tokenizer_training_add(struct sluice_tokenizer_training *training, const char *text,
                              size_t length, struct sluice_error *err);
SLUICE_TOKENIZER_API int32_t
sluice_tokenizer_training_write(struct sluice_tokenizer_training *training, size_t most,
                                const char *path, struct sluice_error *err);

/* The highest id + 1, special tokens included. */
SLUICE_TOKENIZER_API uint32_t sluice_tokenizer_vocab_size(const struct sluice_tokenizer *tokenizer);

/* The id of the special or added token with this content; of the token that ends (begins) a
 * document. SLUICE_E_CONFIG, without a message, when there is none. */
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_special(const struct sluice_tokenizer *tokenizer,
                                                      const char *content, uint32_t *id);
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_eos(const struct sluice_tokenizer *tokenizer,
                                                  uint32_t *id);
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_bos(const struct sluice_tokenizer *tokenizer,
                                                  uint32_t *id);

/* The bytes of a token, a visible space U+2581 being a space, until the tokenizer is destroyed; no
 * UTF-8 by themselves where a token ends inside a character. SLUICE_E_DATA, without a message, for
 * an id that no token has. */
SLUICE_TOKENIZER_API int32_t sluice_tokenizer_token(const struct sluice_tokenizer *tokenizer,
                                                    uint32_t id, const char **bytes,
                                                    size_t *length);

/* Ids that any text of `length` bytes needs at most. */
SLUICE_TOKENIZER_API size_t sluice_tokenizer_bound(const struct sluice_tokenizer *tokenizer,
                                                   size_t length);

/* Gives *out. `cache_bytes` bounds what it remembers of pieces it met: 0 = 32 MiB. */
SLUICE_TOKENIZER_API int32_t sluice_encoder_create(const struct sluice_tokenizer *tokenizer,
                                                   size_t cache_bytes, struct sluice_encoder **out,
                                                   struct sluice_error *err);
SLUICE_TOKENIZER_API void sluice_encoder_destroy(struct sluice_encoder *encoder);

/* Encodes a text into ids[0 .. *n). SLUICE_E_CONFIG when `capacity` is too small; SLUICE_E_DATA,
 * with its place, for a byte that the vocabulary has no token for. */
SLUICE_TOKENIZER_API int32_t sluice_encode(struct sluice_encoder *encoder, const char *text,
                                           size_t length, uint32_t *ids, size_t capacity, size_t *n,
                                           struct sluice_error *err);

/* The same to 16 bits; SLUICE_E_CONFIG for a vocabulary of more than 65536. */
SLUICE_TOKENIZER_API int32_t sluice_encode16(struct sluice_encoder *encoder, const char *text,
                                             size_t length, uint16_t *ids, size_t capacity,
                                             size_t *n, struct sluice_error *err);

/* The same with the byte of the text where each token begins. SLUICE_E_DATA when the tokenizer's
 * normalization changes the text. */
SLUICE_TOKENIZER_API int32_t sluice_encode_offsets(struct sluice_encoder *encoder, const char *text,
                                                   size_t length, uint32_t *ids, uint64_t *offsets,
                                                   size_t capacity, size_t *n,
                                                   struct sluice_error *err);

/* Encodes as much of the text as `capacity` ids hold, and says in *used how many bytes that is:
 * call again with what is left. `length` must be all that is left of the text. The ids are those of
 * one call. Where a vocabulary's rules look back over what was encoded, the text is taken at once
 * and `capacity` must be sluice_tokenizer_bound; the longest piece must fit in any case. */
SLUICE_TOKENIZER_API int32_t sluice_encode_some(struct sluice_encoder *encoder, const char *text,
                                                size_t length, uint32_t *ids, size_t capacity,
                                                size_t *n, size_t *used, struct sluice_error *err);

/* What an encoder did since it was created. The caller sets size. */
struct sluice_encoder_counts {
    uint64_t size;
    uint64_t pieces, head_hits, tail_hits;  /* pre-tokens; found in the shared table, in its own */
    uint64_t cache_bytes, cache_bytes_most; /* its own table: now, and at most */
    uint64_t scratch_bytes;
};
SLUICE_TOKENIZER_API void sluice_encoder_count(const struct sluice_encoder *encoder,
                                               struct sluice_encoder_counts *out);

#ifdef __cplusplus
}
#endif

#endif
