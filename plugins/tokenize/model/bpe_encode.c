/* bpe_encode.c — the worker: from a text to ids.
 *
 * text -> added tokens cut out -> NFC -> added tokens cut out again -> pieces -> ids
 * (bpe_pieces.c). */
#include <stdlib.h>
#include <string.h>

#include "model/bpe.h"
#include "bpe_error.h"
#include "model/bpe_text.h"
#include "model/bpe_worker.h"

#define CACHE_DEFAULT ((size_t)32 << 20)

int32_t bpe_worker_create(const struct bpe *bpe, size_t cache_bytes_most, struct bpe_worker **out,
                          struct sluice_error *err)
{
    struct bpe_worker *w = calloc(1, sizeof(*w));
    int32_t status;
    *out = NULL;
    if (!w) {
        return bpe_fail_memory(err, "a tokenizer's worker");
    }
    w->bpe = bpe;
    w->steps = pass_steps_of(pretoken_kind_best());
    w->memo = calloc(MERGE_MEMO, sizeof(*w->memo));
    if (cache_init(&w->cache, cache_bytes_most ? cache_bytes_most : CACHE_DEFAULT) != 0 ||
        !w->memo) {
        bpe_worker_destroy(w);
        return bpe_fail_memory(err, "a tokenizer's cache");
    }
    status = bpe_build(bpe, err);
    if (status == SLUICE_OK) {
        status = pretoken_worker_create(&bpe->pretoken, &w->pretoken, err);
    }
    if (status == SLUICE_OK) {
        status = text_scratch_init(bpe, &w->of_text, err);
    }
    if (status != SLUICE_OK) {
        bpe_worker_destroy(w);
        return status;
    }
    *out = w;
    return SLUICE_OK;
}

void bpe_worker_destroy(struct bpe_worker *w)
{
    if (w) {
        pretoken_worker_destroy(w->pretoken);
        cache_deinit(&w->cache);
        free(w->memo);
        free(w->scratch);
        free(w->prefixed.bytes);
        text_scratch_deinit(&w->of_text);
        free(w);
    }
}

void bpe_worker_counts(const struct bpe_worker *w, struct bpe_counts *out)
{
    out->pieces = w->pieces;
    out->head_hits = w->head_hits;
    out->tail_hits = w->tail_hits;
    out->cache_bytes = cache_bytes(&w->cache);
    out->cache_bytes_most = cache_bound_bytes(&w->cache);
    out->scratch_bytes = w->scratch_cap + w->prefixed.cap + w->of_text.normalized.cap +
                         w->of_text.prefixed.cap + MERGE_MEMO * sizeof(*w->memo);
}

/* Notes where the bytes of the ids from `from` on begin: the tokens of a part stand side by side.
 * `shift` bytes in front of the part are none of the text's. */
static void note_offsets(struct bpe_worker *w, size_t from, uint64_t at, uint64_t shift)
{
    uint64_t passed = 0;
    for (size_t i = from; i < w->n; i++) {
        w->offsets[i] = at + (passed > shift ? passed - shift : 0);
        passed += w->bpe->vocab.tokens[w->out[i]].len;
    }
}

/* A part of the text without added tokens, normalized. */
static int32_t encode_plain(struct bpe_worker *w, const uint8_t *text, size_t len,
                            struct sluice_error *err)
{
    struct pieces_context context;
    const size_t from = w->n;
    const uint8_t *origin = text;
    int32_t status;
    if (len == 0) {
        return SLUICE_OK;
    }
    if (w->bpe->vocab.model != VOCAB_MODEL_BYTES) {
        return text_encode_chars(w, text, len, err);
    }
    if (w->bpe->vocab.prefix_space && text[0] != ' ') {
        struct nfc_buffer *b = &w->prefixed;
        if (b->cap < len + 1) {
            uint8_t *grown = realloc(b->bytes, len + len / 2 + 64);
            if (!grown) {
                return bpe_fail_memory(err, "a text with a space in front");
            }
            b->bytes = grown;
            b->cap = len + len / 2 + 64;
        }
        b->bytes[0] = ' ';
        memcpy(b->bytes + 1, text, len);
        text = b->bytes;
        len++;
    }
    context.worker = w;
    context.end = text + len;
    status = w->bpe->vocab.lacking
                 ? text_encode_lacking(w, text, len, text != origin, err)
                 : pretoken_run(w->pretoken, text, len, encode_pieces, &context, err);
    if (status == SLUICE_OK && w->offsets) {
        note_offsets(w, from, (uint64_t)(origin - w->text), text != origin);
    }
    return status;
}

/* Cuts the tokens of pass k out of a text and hands what is between on. */
static int32_t encode_part(struct bpe_worker *w, int k, const uint8_t *text, size_t len,
                           struct sluice_error *err)
{
    const struct bpe *bpe = w->bpe;
    const struct added_pass *pass = &bpe->added.pass[k];
    const int keep = bpe->specials == BPE_SPECIALS_ORDINARY;
    size_t from = 0, floor = 0;
    struct added_match match;
    int32_t status = SLUICE_OK;
    for (;;) {
        int found = pass->active && added_next(pass, &bpe->vocab, &bpe->pretoken.unicode, keep,
                                               text, len, &from, floor, &match);
        size_t end = found ? match.begin : len;
        if (floor < end) {
            const uint8_t *part = text + floor;
            size_t n = end - floor;
            w->of_text.first = floor == 0 && (k == 0 || w->of_text.first);
            if (k == 0 && text_is_rewritten(bpe)) {
                status = text_normalize_part(w, &part, &n, err);
            }
            if (status == SLUICE_OK) {
                status = k == 0 ? encode_part(w, 1, part, n, err) : encode_plain(w, part, n, err);
            }
            if (status != SLUICE_OK) {
                return status;
            }
        }
        if (!found) {
            return SLUICE_OK;
        }
        if (match.token->special && bpe->specials == BPE_SPECIALS_REFUSE) {
            return bpe_fail(err, SLUICE_E_DATA,
                            "the special token '%s' stands in the text at byte %zu of its part; "
                            "drop such documents, or set the "
                            "option for special tokens to encode it as text or as the token",
                            (const char *)bpe->vocab.bytes + match.token->at, match.begin);
        }
        status = bpe_put_ids(w, &match.token->id, 1, err);
        if (status == SLUICE_OK && w->offsets) {
            w->offsets[w->n - 1] =
                k == 0 ? (uint64_t)match.begin : text_place(w, text + match.begin);
        }
        if (status != SLUICE_OK) {
            return status;
        }
        floor = match.end;
    }
}

static int32_t encode(struct bpe_worker *w, const char *text, size_t len, size_t cap, size_t *n,
                      struct sluice_error *err)
{
    int32_t status;
    *n = 0;
    w->cap = cap;
    w->n = 0;
    w->text = (const uint8_t *)text;
    w->base = (uintptr_t)text;
    w->least = 0;
    w->stopped_at = SIZE_MAX;
    if (len == 0) {
        return SLUICE_OK;
    }
    status = encode_part(w, 0, (const uint8_t *)text, len, err);
    if (status == SLUICE_OK || status == BPE_STOPPED) {
        *n = w->n;
        status = SLUICE_OK;
    }
    return status;
}

int32_t bpe_encode(struct bpe_worker *w, const char *text, size_t len, uint32_t *out, size_t cap,
                   size_t *n, struct sluice_error *err)
{
    w->out = out;
    w->out16 = NULL;
    w->offsets = NULL;
    w->may_stop = 0;
    return encode(w, text, len, cap, n, err);
}

int32_t bpe_encode16(struct bpe_worker *w, const char *text, size_t len, uint16_t *out, size_t cap,
                     size_t *n, struct sluice_error *err)
{
    if (w->bpe->size > 65536) {
        *n = 0;
        return bpe_fail(
            err, SLUICE_E_CONFIG,
            "the vocabulary has ids up to %u, which do not fit 16 bits; write 32-bit ids",
            w->bpe->size - 1);
    }
    w->out = NULL;
    w->out16 = out;
    w->offsets = NULL;
    w->may_stop = 0;
    return encode(w, text, len, cap, n, err);
}

int32_t bpe_encode_offsets(struct bpe_worker *w, const char *text, size_t len, uint32_t *out,
                           uint64_t *offsets, size_t cap, size_t *n, struct sluice_error *err)
{
    w->out = out;
    w->out16 = NULL;
    w->offsets = offsets;
    w->may_stop = 0;
    return encode(w, text, len, cap, n, err);
}

int32_t bpe_encode_some(struct bpe_worker *w, const char *text, size_t len, uint32_t *out,
                        size_t cap, size_t *n, size_t *used, struct sluice_error *err)
{
    const struct bpe *bpe = w->bpe;
    int32_t status;
    w->out = out;
    w->out16 = NULL;
    w->offsets = NULL;
    /* A piece's end is a place to begin anew where what stands before it has no say. */
    w->may_stop = !bpe->added.pass[0].active && !bpe->added.pass[1].active && !bpe->vocab.nfc &&
                  !bpe->vocab.prefix_space && !bpe->vocab.meta_front &&
                  bpe->vocab.meta_prepend == VOCAB_PREPEND_NEVER && !bpe->vocab.normalizer &&
                  (bpe->vocab.model == VOCAB_MODEL_BYTES
                       ? bpe->pretoken.n_steps == 1
                       : !bpe->vocab.whole_piece && !text_is_general(&bpe->vocab));
    status = encode(w, text, len, cap, n, err);
    *used = status != SLUICE_OK ? 0 : w->stopped_at == SIZE_MAX ? len : w->stopped_at;
    return status;
}
