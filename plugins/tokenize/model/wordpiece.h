/* wordpiece.h — the WordPiece model of BERT: longest match from the left; and WordLevel: whole
 * words.
 *
 * Owns: `struct wordpiece`, an immutable vocabulary. Depends on: unigram_trie.h, bpe_error.h,
 * libjansson.
 * Promises: the ids of Hugging Face tokenizers (0.23, WordPiece): a word that cannot be covered, or
 * of more characters than max_input_chars_per_word, is one unk; under WordLevel a word that is no
 * token, or an error where there is no unk. Time O(length * longest token). */
#ifndef TOKENIZE_WORDPIECE_H
#define TOKENIZE_WORDPIECE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct wordpiece;

/* Reads the member `model` of tokenizer.json of type WordPiece or WordLevel (borrowed for the
 * call). Gives *out for wordpiece_destroy; thread-safe to share, no scratch needed. SLUICE_E_CONFIG
 * (a member of the wrong type or unknown, an unk_token that is not in the vocabulary of a
 * WordPiece), SLUICE_E_NOMEM. */
int32_t wordpiece_read(const json_t *model, struct wordpiece **out, struct sluice_error *err);
void wordpiece_destroy(struct wordpiece *wordpiece);

/* The highest id + 1. */
uint32_t wordpiece_size(const struct wordpiece *wordpiece);

/* The bytes of token `id` as the file has them (`##ing`); NULL for an id of none. They live as long
 * as `wordpiece`. */
const char *wordpiece_token(const struct wordpiece *wordpiece, uint32_t id, size_t *len);

/* The prefix of tokens inside a word. */
const char *wordpiece_prefix(const struct wordpiece *wordpiece, size_t *len);

size_t wordpiece_memory(const struct wordpiece *wordpiece);

/* Encodes a word of valid UTF-8 into ids[0 .. *n); cap >= len always is enough. SLUICE_E_CONFIG
 * (cap is too small), SLUICE_E_DATA (WordLevel: an unknown word without an unk). */
int32_t wordpiece_encode(const struct wordpiece *wordpiece, const char *word, size_t len,
                         uint32_t *ids, size_t cap, size_t *n, struct sluice_error *err);

#endif
