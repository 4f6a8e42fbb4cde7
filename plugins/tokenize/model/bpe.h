/* bpe.h — text in, token ids out, equal to tiktoken, Hugging Face tokenizers and SentencePiece:
 * byte pairs over bytes and over characters, Unigram, WordPiece, WordLevel.
 *
 * Owns: `struct bpe` (an immutable vocabulary with its merge tables, pre-tokenizer, normalizer and
 * special tokens) and `struct bpe_worker` (scratch and a piece cache of one thread).
 * Depends on: sluice.h for status codes and the error struct; libjansson, libpcre2-8, libutf8proc,
 * libxxhash inside.
 * Promises: ids are a function of (file, options, text) alone: never of the cache, the thread,
 * earlier texts, the locale or the Unicode version of a linked library. Whatever a file asks for
 * and this engine does not do is refused at load, by name. Time is O(n log n) in the length of the
 * text for any text under the patterns that have a hand-written scanner, and under files over
 * characters without a regular expression.
 *
 * Unicode: character classes are those of Unicode 16.0 (tiktoken's regex-syntax and tokenizers'
 * Oniguruma); NFC follows Unicode 9.0 as tokenizers' normalizer does: characters assigned later
 * neither compose nor reorder. */
#ifndef TOKENIZE_BPE_H
#define TOKENIZE_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bpe;
struct bpe_worker;

/* What happens to a special token's text (`<|endoftext|>`) that stands in a document. */
enum bpe_specials {
    /* It is encoded as the text it is (tiktoken's encode_ordinary): the safe default. */
    BPE_SPECIALS_ORDINARY = 0,
    /* It becomes the special token's id (tokenizers' default, tiktoken's allowed_special="all"). */
    BPE_SPECIALS_ALLOW = 1,
    /* bpe_encode returns SLUICE_E_DATA (tiktoken's encode() default). */
    BPE_SPECIALS_REFUSE = 2
};

/* A special token beyond those the file or the known vocabulary holds. */
struct bpe_special {
    const char *content; /* UTF-8, not empty */
    uint32_t id;         /* must not be the id of an ordinary token with other bytes */
};

/* Zeroed means: defaults. Borrowed for the call of bpe_load only. */
struct bpe_options {
    /* Pre-tokenization regex of a `.tiktoken` file; NULL = known by the file's content. An error
     * for tokenizer.json, which carries its own. */
    const char *pattern;
    /* Special tokens to add, e.g. those of o200k_harmony; NULL with n_extra 0. */
    const struct bpe_special *extra;
    size_t n_extra;
    enum bpe_specials specials;
};

/* Loads a vocabulary from `size` bytes at `data` (borrowed for the call). The kind is known by
 * content: a `.tiktoken` file ("base64 rank" lines), a Hugging Face tokenizer.json (models BPE,
 * Unigram, WordPiece and WordLevel; not truncation, padding, dropout; post_processor tells bpe_bos
 * and bpe_eos alone) or a SentencePiece .model (Unigram, BPE, char). Gives *out, to be destroyed by
 * bpe_destroy; thread-safe to share once loaded. Errors: SLUICE_E_CONFIG (not one of these kinds, a
 * feature this engine lacks, an unknown .tiktoken without a pattern), SLUICE_E_NOMEM. */
int32_t bpe_load(const void *data, size_t size, const struct bpe_options *options, struct bpe **out,
                 struct sluice_error *err);

/* Takes `bpe` (NULL is fine); no worker of it may be alive. */
void bpe_destroy(struct bpe *bpe);

/* The highest id + 1, special and added tokens included. */
uint32_t bpe_vocab_size(const struct bpe *bpe);

/* The id of the special or added token with exactly this content. SLUICE_E_CONFIG when there is
 * none (*id untouched); no message is written, the caller knows which option asked. */
int32_t bpe_special_id(const struct bpe *bpe, const char *content, uint32_t *id);

/* The n-th special or added token, n from 0, in order of id; SLUICE_E_CONFIG when there are fewer.
 * *content lives as long as `bpe`. Any out parameter may be NULL. *special is 0 for an added token
 * that is ordinary text (Qwen's `<think>`). */
int32_t bpe_special_at(const struct bpe *bpe, size_t n, const char **content, uint32_t *id,
                       int *special);

/* The special token that ends (begins) a document, when the known vocabulary or the file's
 * post-processor says so, or when the vocabulary holds exactly the customary one (`<|endoftext|>`,
 * `<|end_of_text|>`, `<｜end▁of▁sentence｜>`, `</s>`, `<eos>`; for the beginning `<|begin_of_text|>`,
 * `<｜begin▁of▁sentence｜>`, `<s>`, `<bos>`, `<|startoftext|>`). SLUICE_E_CONFIG when nothing says
 * so. *content (may be NULL) lives as long as `bpe`. */
int32_t bpe_eos(const struct bpe *bpe, uint32_t *id, const char **content);
int32_t bpe_bos(const struct bpe *bpe, uint32_t *id, const char **content);

/* The bytes that token `id` stands for (a special token: its content; a visible space U+2581 is a
 * space, `<0x0A>` a newline, WordPiece's `##ing` is `ing`, CLIP's `dog</w>` is `dog`). *bytes lives
 * as long as `bpe`, is not terminated, and is not UTF-8 by itself where a token ends inside a
 * character. The bytes of all the ids of a text make the text as the file normalizes it, with the
 * space that it puts in front. SLUICE_E_DATA for an id with no token; no message. */
int32_t bpe_decode_token(const struct bpe *bpe, uint32_t id, const char **bytes, size_t *len);

/* ---- the trained head: what the frequent pieces of a sample become, shared by all workers ---- */

/* Makes `bpe` look for pieces in the head at `path` first, which is mapped, or in that at `data`,
 * borrowed as long as `bpe` lives (copied when it does not begin at a cache line). Before any
 * worker is created; takes the place of one given before. Ids are the same with and without.
 * SLUICE_E_CONFIG (no head, one of another tokenizer or version, a truncated or damaged one, one
 * with wrong ids), SLUICE_E_IO, SLUICE_E_NOMEM; then `bpe` is as it was. */
int32_t bpe_head_open(struct bpe *bpe, const char *path, struct sluice_error *err);
int32_t bpe_head_use(struct bpe *bpe, const void *data, size_t size, struct sluice_error *err);

/* Counts the pieces of a sample, given part by part, and makes a head of the most frequent that
 * came twice or more. `bpe` must outlive it. `most` bounds the larger of the head's two tables in
 * bytes (0: BPE_HEAD_BYTES); the same tokenizer, sample and bound give the same bytes.
 * SLUICE_E_DATA for a sample without such pieces. _make gives memory for free(); _write replaces
 * the file at `path` at once. After either another sample may begin. */
#define BPE_HEAD_BYTES ((size_t)2 << 20)
struct bpe_training;
int32_t bpe_training_create(const struct bpe *bpe, struct bpe_training **out,
                            struct sluice_error *err);
void bpe_training_destroy(struct bpe_training *training);
int32_t bpe_training_add(struct bpe_training *training, const char *text, size_t len,
                         struct sluice_error *err);
int32_t bpe_training_make(struct bpe_training *training, size_t most, void **out, size_t *size,
                          struct sluice_error *err);
int32_t bpe_training_write(struct bpe_training *training, size_t most, const char *path,
                           struct sluice_error *err);

/* The bytes of memory `bpe` holds. */
size_t bpe_memory(const struct bpe *bpe);

/* Creates the scratch of one thread. `cache_bytes` bounds the piece cache, which begins small
 * and grows as pieces are met (0 = 32 MiB; rounded down, at least 48 KiB); scratch beyond it is
 * O(longest piece). `bpe` must outlive
 * the worker. SLUICE_E_NOMEM. */
int32_t bpe_worker_create(const struct bpe *bpe, size_t cache_bytes, struct bpe_worker **out,
                          struct sluice_error *err);
void bpe_worker_destroy(struct bpe_worker *worker);

/* The number of ids that any text of `len` bytes needs at most: len, except where the file
 * normalizes to NFC (3 * len: a 4-byte character may become 12 bytes) or otherwise (what that can
 * make of the text), or puts a space in front (+ 1 for each part between added tokens). SIZE_MAX
 * when it does not fit. */
size_t bpe_encode_bound(const struct bpe *bpe, size_t len);

/* Encodes `len` bytes of valid UTF-8 at `text` (need not be terminated; NULL when len is 0) into
 * out[0 .. *n). No beginning- or end-of-text token is added.
 * Errors: SLUICE_E_DATA (a special token under BPE_SPECIALS_REFUSE; a custom pattern that
 * backtracks beyond its limit; a byte that the vocabulary has no token for, named with its place:
 * GPT-NeoX's lacks those that no UTF-8 holds), SLUICE_E_NOMEM, SLUICE_E_CONFIG (cap is too small:
 * bpe_encode_bound says how large). *n is 0 on error, what was written to out is unspecified. Text
 * that is not valid UTF-8 is encoded in some way that decodes to the same bytes, without a promise
 * which (with NFC: its invalid bytes stay as they are). */
int32_t bpe_encode(struct bpe_worker *worker, const char *text, size_t len, uint32_t *out,
                   size_t cap, size_t *n, struct sluice_error *err);

/* The same to 16-bit ids. SLUICE_E_CONFIG when bpe_vocab_size is above 65536. */
int32_t bpe_encode16(struct bpe_worker *worker, const char *text, size_t len, uint16_t *out,
                     size_t cap, size_t *n, struct sluice_error *err);

/* The same, and offsets[k]: the byte of the text where token k begins (cap places). Token k ends
 * where token k + 1 begins, or where white space that an added token swallowed does. SLUICE_E_DATA
 * as well when normalization changes the text, and where the file's rules or its unknown characters
 * leave tokens without places. */
int32_t bpe_encode_offsets(struct bpe_worker *worker, const char *text, size_t len, uint32_t *out,
                           uint64_t *offsets, size_t cap, size_t *n, struct sluice_error *err);

/* Encodes as much of the text as `cap` ids hold: *used bytes, of which the ids are those that
 * bpe_encode of the whole would begin with; call again with what is left. So a text of any length
 * needs no more memory than `cap` ids. `len` must be all that is left of the text. Where the file's
 * rules look back (added tokens, normalization, a space in front, several splits) the text is taken
 * as one, and `cap`
 * must be bpe_encode_bound; it must hold the longest piece in any case. */
int32_t bpe_encode_some(struct bpe_worker *worker, const char *text, size_t len, uint32_t *out,
                        size_t cap, size_t *n, size_t *used, struct sluice_error *err);

/* What a worker did since it was created, and the memory it holds. */
struct bpe_counts {
    uint64_t pieces;    /* pre-tokens; of long ones, their parts that merge apart */
    uint64_t head_hits; /* of these, found in the vocabulary's shared table */
    uint64_t tail_hits; /* of these, found in the worker's own cache */
    size_t cache_bytes, cache_bytes_most; /* the own cache: now, and its bound while it grows */
    size_t scratch_bytes;
};
void bpe_worker_counts(const struct bpe_worker *worker, struct bpe_counts *out);

#ifdef __cplusplus
}
#endif

#endif
