/* splitter.h — pre-tokenizers of tokenizer.json outside the byte-level family: they cut a
 * normalized text into the pieces that a model encodes apart from each other.
 *
 * Owns: `struct splitter` (immutable steps) and `struct splitter_worker` (buffers of one thread).
 * Depends on: normalizer_unicode.h (character classes), pretoken_regex.h, bpe_error.h, libjansson.
 * Promises: the pieces of Hugging Face tokenizers (0.23), in order: Metaspace, Digits, Punctuation,
 * Whitespace, WhitespaceSplit, CharDelimiterSplit, UnicodeScripts, FixedLength, BertPreTokenizer,
 * Split, and Sequence of these. Others are refused by name (ByteLevel is pretoken.h's). Linear
 * time. */
#ifndef TOKENIZE_SPLITTER_H
#define TOKENIZE_SPLITTER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct splitter;
struct splitter_worker;

/* Reads the member `pre_tokenizer` (borrowed; NULL or null: the text is one piece). Gives *out for
 * splitter_destroy; thread-safe to share. SLUICE_E_CONFIG by name, SLUICE_E_NOMEM. */
int32_t splitter_read(const json_t *spec, struct splitter **out, struct sluice_error *err);
void splitter_destroy(struct splitter *splitter);

/* The most bytes that all pieces of a text of `len` bytes have together: Metaspace's replacement
 * may be longer than a space, and prefixes come on top. SIZE_MAX when that does not fit. */
size_t splitter_bound(const struct splitter *splitter, size_t len);

size_t splitter_memory(const struct splitter *splitter);

/* One a thread; `splitter` must outlive it. SLUICE_E_NOMEM. */
int32_t splitter_worker_create(const struct splitter *splitter, struct splitter_worker **out,
                               struct sluice_error *err);
void splitter_worker_destroy(struct splitter_worker *worker);

struct splitter_piece {
    size_t begin, len; /* in splitter_pieces.data; len is not 0 */
};

struct splitter_pieces {
    const char *data;                    /* `text` itself, or the worker's until its next run */
    const struct splitter_piece *pieces; /* the worker's until its next run */
    size_t n;
};

/* Cuts a normalized text; `head` as in struct normalizer_text (for a text that is not normalized
 * and begins its document: the length of its first character). An empty text has no pieces.
 * SLUICE_E_NOMEM, SLUICE_E_DATA (a Split pattern that needs too many steps). */
int32_t splitter_run(struct splitter_worker *worker, const char *text, size_t len, size_t head,
                     struct splitter_pieces *out, struct sluice_error *err);

#endif
