/* dolma_tokens.h - a text's tokens as Hugging Face's tokenizers give them to Dolma's taggers: ids,
 * and the characters that each stands for.
 *
 * Owns a tokenizer (shared, read-only) and a worker's scratch; depends on
 * plugins/tokenize/model/bpe.h, jansson. Offsets are those of Encoding.offsets: the first character
 * that the token has a byte of, and one behind the last; without the spaces at its ends where the
 * file's post-processor is ByteLevel with trim_offsets. */
#ifndef DOLMA_TOKENS_H
#define DOLMA_TOKENS_H

#include <sluice_arrays.h>
#include <stdbool.h>

#include "text/text.h"

struct dolma_tokenizer;

/* Reads a tokenizer file (tokenizer.json, .tiktoken, .model); data is borrowed for the call. */
TEXT_MUST_CHECK int32_t dolma_tokenizer_create(const void *data, size_t n,
                                               struct dolma_tokenizer **out,
                                               struct sluice_error *err);
void dolma_tokenizer_destroy(struct dolma_tokenizer *); /* NULL is fine */

/* Tokens that the file's post-processor adds to a text (<s>, <|endoftext|>). */
size_t dolma_tokenizer_added(const struct dolma_tokenizer *);

struct dolma_token_place {
    uint64_t begin, end; /* characters of the text */
};

/* A worker's: zeroed memory, then dolma_tokens_open. */
struct dolma_tokens {
    const struct dolma_tokenizer *tokenizer;
    struct bpe_worker *worker;
    uint32_t *ids; /* n of the last text */
    uint64_t *offsets;
    struct dolma_token_place *places; /* of the last text, when dolma_tokens_places was called */
    size_t n, capacity;
    struct sluice_bytes joined; /* for texts that are put together */
};

TEXT_MUST_CHECK int32_t dolma_tokens_open(struct dolma_tokens *, const struct dolma_tokenizer *,
                                          struct sluice_error *err);
void dolma_tokens_deinit(struct dolma_tokens *);

/* Fills ids and n. */
TEXT_MUST_CHECK int32_t dolma_tokens_encode(struct dolma_tokens *, const char *text, size_t n,
                                            struct sluice_error *err);
/* Fills places for the text that was encoded last. SLUICE_E_DATA where the file's normalization
 * changes it: no token has a place then. */
TEXT_MUST_CHECK int32_t dolma_tokens_places(struct dolma_tokens *, const char *text, size_t n,
                                            struct sluice_error *err);

/* A run of at least three periods in ids. */
struct dolma_period {
    size_t begin, end, times; /* tokens [begin, end) */
};

/* The runs that Dolma's find_periodic_sequences gives for ids[0 .. n) and this period, one call a
 * run: *row begins at 1 and goes on; false when there are no more. period is at most n / 3. */
bool dolma_period_next(const uint32_t *ids, size_t n, size_t period, size_t *row,
                       struct dolma_period *out);

#endif
