/* bpe_text.h — what is done to a text between its bytes and its pieces: normalization, visible
 * spaces, cuts. Private to bpe*.c.
 *
 * Owns: `struct text_scratch`; the rules of struct vocab that rewrite text; for models over
 * characters the way from a part of a text to ids. Two ways: where a file's rules are only about
 * spaces, a space and U+2581 are the same to the model and the text is cut as it stands; any other
 * rules go through normalizer.h and splitter.h as the file has them.
 * Depends on: bpe_worker.h, bpe_model.h, charbpe.h, bpe_nfc.h, normalizer.h, splitter.h.
 * Promises: text that no rule touches is not copied. */
#ifndef TOKENIZE_BPE_TEXT_H
#define TOKENIZE_BPE_TEXT_H

#include "model/bpe_int.h"
#include "model/bpe_model.h"

struct bpe_worker;
struct normalizer_worker;
struct splitter_worker;

/* Of one thread. */
struct text_scratch {
    struct nfc_buffer normalized, prefixed;
    struct normalizer_worker *normalizer; /* NULL where the vocabulary has none */
    struct splitter_worker *splitter;
    struct model_scratch model;
    const uint8_t *head_end; /* the part's bytes before it stem from the text's first character */
    int first;               /* the part at hand is the beginning of the text */
};

/* Caller's memory, zeroed; deinit even after an error. SLUICE_E_NOMEM. */
int32_t text_scratch_init(const struct bpe *bpe, struct text_scratch *scratch,
                          struct sluice_error *err);
void text_scratch_deinit(struct text_scratch *scratch);

/* Whether text goes through normalizer.h, splitter.h or another model than byte pairs. */
static inline int text_is_general(const struct vocab *v)
{
    return v->normalizer || v->splitter || v->unigram || v->wordpiece || v->lone;
}

/* Whether the normalizer may change anything. */
static inline int text_has_normalizer(const struct vocab *v)
{
    return v->nfc || v->normalizer || v->meta == VOCAB_META_NORMALIZER || v->meta_front;
}

/* Whether text_normalize_part must be run on a part: spaces alone are the model's business unless
 * somebody looks for added tokens in what comes of it. */
static inline int text_is_rewritten(const struct bpe *bpe)
{
    return bpe->vocab.nfc || text_is_general(&bpe->vocab) ||
           (bpe->added.pass[1].active && text_has_normalizer(&bpe->vocab));
}

/* The normalizer, on a part between the tokens found in raw text: *text, *len become the part
 * itself or what is in the scratch, until its next use. SLUICE_E_NOMEM, SLUICE_E_DATA. */
int32_t text_normalize(const struct bpe *bpe, struct text_scratch *scratch, int first,
                       const uint8_t **text, size_t *len, struct sluice_error *err);

/* The same on a part of the worker's text. SLUICE_E_DATA as well when offsets are wanted and the
 * part changes by more than a space in front. */
int32_t text_normalize_part(struct bpe_worker *worker, const uint8_t **text, size_t *len,
                            struct sluice_error *err);

/* The pre-tokenizer and the model over characters, on a normalized part without added tokens. */
int32_t text_encode_chars(struct bpe_worker *worker, const uint8_t *text, size_t len,
                          struct sluice_error *err);

/* Byte pairs where vocab.lacking bytes have no token: pieces without those, as encode_pieces;
 * SLUICE_E_DATA at the first one, with its place. (tokenizers drops them without a word when there
 * is no unk_token.) `shift` bytes in front are none of the text's. */
int32_t text_encode_lacking(struct bpe_worker *worker, const uint8_t *text, size_t len,
                            size_t shift, struct sluice_error *err);

/* Encodes one piece under a model over characters, and appends its ids. */
int32_t text_encode_piece(struct bpe_worker *worker, const uint8_t *p, size_t len,
                          struct sluice_error *err);

/* The byte of the call's text that stands at p of the part at hand. */
uint64_t text_place(const struct bpe_worker *worker, const uint8_t *p);

/* bpe_encode_bound where the general way is gone; `parts`: added tokens may cut the text. */
size_t text_bound(const struct bpe *bpe, size_t len, int parts);
/* Memory of normalizer, splitter and models. */
size_t text_memory(const struct vocab *vocab);

#endif
