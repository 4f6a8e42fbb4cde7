/* bpe_text.c — see the header. */
#include "model/bpe_text.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/bpe_worker.h"
#include "normalize/normalizer.h"
#include "split/pretoken_unicode.h"
#include "split/splitter.h"
#include "model/wordpiece.h"

/* Pieces to a batch. */
#define CUTS 256u
/* Bytes to look for a first piece in. */
#define FRONT 256u

static int32_t need(struct nfc_buffer *buffer, size_t bytes, struct sluice_error *err)
{
    if (buffer->cap < bytes) {
        uint8_t *grown = realloc(buffer->bytes, bytes + bytes / 8 + 64);
        if (!grown) {
            return bpe_fail_memory(err, "a text with its spaces made visible");
        }
        buffer->bytes = grown;
        buffer->cap = bytes + bytes / 8 + 64;
    }
    return SLUICE_OK;
}

/* Puts a space in front if asked and, where it matters to whom comes next, makes each U+2581 a
 * space, which the model takes for the same in any case. */
static int32_t hide_spaces(struct nfc_buffer *buffer, int front, int hide, const uint8_t **text,
                           size_t *len, struct sluice_error *err)
{
    const uint8_t *p = *text, *end = p + *len;
    const uint8_t *found = hide ? memmem(p, *len, VOCAB_SPACE, 3) : NULL;
    uint8_t *out;
    int32_t status;
    if (*len == 0 || (!front && !found)) {
        return SLUICE_OK;
    }
    status = need(buffer, *len + (front ? 1u : 0u), err);
    if (status != SLUICE_OK) {
        return status;
    }
    out = buffer->bytes;
    if (front) {
        *out++ = ' ';
    }
    while (found) {
        memcpy(out, p, (size_t)(found - p));
        out += found - p;
        *out++ = ' ';
        p = found + 3;
        found = memmem(p, (size_t)(end - p), VOCAB_SPACE, 3);
    }
    memcpy(out, p, (size_t)(end - p));
    out += end - p;
    *text = buffer->bytes;
    *len = (size_t)(out - buffer->bytes);
    return SLUICE_OK;
}

/* ---- scratch ---- */

int32_t text_scratch_init(const struct bpe *bpe, struct text_scratch *s, struct sluice_error *err)
{
    const struct vocab *v = &bpe->vocab;
    int32_t status = SLUICE_OK;
    if (v->normalizer) {
        status = normalizer_worker_create(v->normalizer, &s->normalizer, err);
    }
    if (status == SLUICE_OK && v->splitter) {
        status = splitter_worker_create(v->splitter, &s->splitter, err);
    }
    return status;
}

void text_scratch_deinit(struct text_scratch *s)
{
    normalizer_worker_destroy(s->normalizer);
    splitter_worker_destroy(s->splitter);
    model_scratch_deinit(&s->model);
    free(s->normalized.bytes);
    free(s->prefixed.bytes);
    memset(s, 0, sizeof(*s));
}

size_t text_memory(const struct vocab *v)
{
    return (v->normalizer ? normalizer_memory(v->normalizer) : 0) +
           (v->splitter ? splitter_memory(v->splitter) : 0) +
           (v->unigram ? unigram_memory(v->unigram) : 0) +
           (v->wordpiece ? wordpiece_memory(v->wordpiece) : 0) +
           (v->decoded ? v->n_tokens * sizeof(*v->decoded) : 0);
}

static size_t bound_of_part(const struct vocab *v, size_t len)
{
    const size_t n = v->normalizer ? normalizer_bound(v->normalizer, len) : len;
    if (v->model == VOCAB_MODEL_BYTES || v->alphabet) {
        return v->prefix_space && n < SIZE_MAX ? n + 1 : n;
    }
    return v->splitter && n < SIZE_MAX ? splitter_bound(v->splitter, n) : n;
}

size_t text_bound(const struct bpe *bpe, size_t len, int parts)
{
    size_t one;
    if (!parts) {
        return bound_of_part(&bpe->vocab, len);
    }
    one =
        bound_of_part(&bpe->vocab, 1); /* as if each byte were a part, which is more than can be */
    return one > 0 && len > SIZE_MAX / one ? SIZE_MAX : len * one;
}

/* ---- normalizing ---- */

int32_t text_normalize(const struct bpe *bpe, struct text_scratch *s, int first,
                       const uint8_t **text, size_t *len, struct sluice_error *err)
{
    const struct vocab *v = &bpe->vocab;
    struct normalizer_text out;
    int32_t status;
    uint32_t cp;
    if (v->nfc) {
        return nfc_normalize(&bpe->nfc, *text, *len, &s->normalized, text, len, err);
    }
    if (!v->normalizer) {
        s->head_end = *text + (first && *len > 0 ? utf8_decode(*text, *text + *len, &cp) : 0);
        return hide_spaces(&s->normalized, v->meta_front, v->meta == VOCAB_META_NORMALIZER, text,
                           len, err);
    }
    status = normalizer_run(s->normalizer, (const char *)*text, *len, first, &out, err);
    if (status == SLUICE_OK) {
        *text = (const uint8_t *)out.data;
        *len = out.len;
        s->head_end = *text + out.head;
    }
    return status;
}

/* ---- places ---- */

uint64_t text_place(const struct bpe_worker *w, const uint8_t *p)
{
    const int64_t place = (int64_t)((uintptr_t)p - w->base);
    return place < (int64_t)w->least ? w->least : (uint64_t)place;
}

static int32_t fail_changed(struct sluice_error *err)
{
    return bpe_fail(
        err, SLUICE_E_DATA,
        "the tokenizer takes U+2581 in the text for a space, so its tokens have no places "
        "in it; change it first, or do without offsets");
}

/* Makes text_place tell of a copy that has one more byte in front, or none. */
static int32_t move_base(struct bpe_worker *w, const uint8_t *given, size_t given_len,
                         const uint8_t *copy, size_t len, struct sluice_error *err)
{
    const uint64_t place = text_place(w, given);
    if (w->bpe->vocab.nfc || w->bpe->vocab.normalizer) {
        return bpe_fail(err, SLUICE_E_DATA,
                        "the text is not in %s and the tokenizer changes it, so its tokens have no "
                        "places in it; normalize it first, or do without offsets",
                        w->bpe->vocab.nfc ? "Unicode normalization form C"
                                          : "the form that the file's normalizer gives");
    }
    if (len != given_len && len != given_len + 1) {
        return fail_changed(err);
    }
    w->base = (uintptr_t)copy + (len - given_len) - (uintptr_t)place;
    w->least = place;
    return SLUICE_OK;
}

int32_t text_normalize_part(struct bpe_worker *w, const uint8_t **text, size_t *len,
                            struct sluice_error *err)
{
    const uint8_t *given = *text;
    const size_t given_len = *len;
    int32_t status = text_normalize(w->bpe, &w->of_text, w->of_text.first, text, len, err);
    w->base = (uintptr_t)w->text;
    w->least = 0;
    if (status == SLUICE_OK && w->offsets && *text != given) {
        status = move_base(w, given, given_len, *text, *len, err);
    }
    return status;
}

/* ---- pieces ---- */

int32_t text_encode_piece(struct bpe_worker *w, const uint8_t *p, size_t len,
                          struct sluice_error *err)
{
    const int direct =
        w->out && w->cap - w->n >= len; /* a piece has at most as many ids as bytes */
    uint32_t *ids = direct ? w->out + w->n : NULL;
    size_t n;
    int32_t status;
    if (!direct) {
        status = bpe_need_scratch(w, len * sizeof(*ids), err);
        if (status != SLUICE_OK) {
            return status;
        }
        ids = (uint32_t *)(void *)w->scratch;
    }
    status = model_encode(w->bpe, &w->of_text.model, p, len, ids, &n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (direct) {
        w->n += n;
        return SLUICE_OK;
    }
    return bpe_put_ids(w, ids, n, err);
}

/* Where the tokens from `from` on begin, which stand side by side from `text` on. */
static void note_places(struct bpe_worker *w, size_t from, const uint8_t *text)
{
    size_t i;
    for (i = from; w->offsets && i < w->n; i++) {
        w->offsets[i] = text_place(w, text);
        text += w->bpe->vocab.tokens[w->out[i]].len;
    }
}

/* The pieces of text[from .. len), between the cuts of Metaspace and those that no merge
 * crosses. */
static int32_t encode_cut(struct bpe_worker *w, const uint8_t *text, size_t from, size_t len,
                          struct sluice_error *err)
{
    struct pieces_context context = { w, text + len };
    size_t pos = from, ends[CUTS];
    const size_t first_id = w->n;
    while (pos < len) {
        const size_t start = pos, n = charbpe_cut(&w->bpe->chars, text, len, &pos, ends, CUTS);
        const int32_t status = encode_pieces(&context, text, start, ends, n, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    note_places(w, first_id, text + from);
    return SLUICE_OK;
}

/* Puts a space in front of the first piece, and encodes it from a copy: of as little as will do,
 * since a cut depends on the characters beside it alone. *from becomes where the rest begins. */
static int32_t encode_front(struct bpe_worker *w, const uint8_t *text, size_t len, size_t *from,
                            struct sluice_error *err)
{
    const uintptr_t base = w->base;
    const uint64_t least = w->least;
    size_t some = len < FRONT ? len : FRONT, pos = 0, end, n;
    const uint8_t *copy;
    int32_t status;
    do {
        copy = text;
        n = some;
        status = hide_spaces(&w->of_text.prefixed, 1, 0, &copy, &n, err);
        if (status != SLUICE_OK) {
            return status;
        }
        pos = 0;
        (void)charbpe_cut(&w->bpe->chars, copy, n, &pos, &end, 1);
        some = some > len / 2 ? len : some * 2; /* the copy may end inside a character */
    } while (end + 4 > n && n < len + 1);
    if (w->offsets) {
        status = move_base(w, text, n - 1, copy, n, err);
    }
    if (status == SLUICE_OK) {
        status = encode_cut(w, copy, 0, end, err);
    }
    w->base = base;
    w->least = least;
    *from = end - 1;
    return status;
}

static int32_t check_places(const struct bpe_worker *w, const uint8_t *text, size_t len,
                            struct sluice_error *err)
{
    if (text_is_general(&w->bpe->vocab)) {
        return bpe_fail(
            err, SLUICE_E_DATA,
            "the tokenizer's normalizer, pre_tokenizer or model gives its tokens no places "
            "in the text; do without offsets");
    }
    if (!w->bpe->chars.total) {
        return bpe_fail(
            err, SLUICE_E_DATA,
            "the vocabulary lacks characters, whose tokens have no places in the text; do "
            "without offsets");
    }
    return w->bpe->vocab.meta != VOCAB_META_NONE && memmem(text, len, VOCAB_SPACE, 3)
               ? fail_changed(err)
               : SLUICE_OK;
}

/* The pieces that the splitter makes; those of byte pairs are cut further. */
static int32_t encode_split(struct bpe_worker *w, const uint8_t *text, size_t len,
                            struct sluice_error *err)
{
    const struct bpe *bpe = w->bpe;
    const uint8_t *head_end = w->of_text.head_end;
    const size_t head = (uintptr_t)head_end > (uintptr_t)text ? (size_t)(head_end - text) : 0;
    const struct splitter_piece whole = { 0, len };
    struct splitter_pieces out = { (const char *)text, &whole, 1 };
    struct pieces_context context = { w, text + len };
    size_t ends[CUTS], n = 0, start = 0, i;
    int32_t status = SLUICE_OK;
    if (bpe->vocab.splitter) {
        status = splitter_run(w->of_text.splitter, (const char *)text, len, head < len ? head : len,
                              &out, err);
        text = (const uint8_t *)out.data;
        context.end =
            out.n > 0 ? text + out.pieces[out.n - 1].begin + out.pieces[out.n - 1].len : text;
    }
    for (i = 0; status == SLUICE_OK && i < out.n; i++) {
        size_t pos = out.pieces[i].begin;
        const size_t end = pos + out.pieces[i].len;
        while (status == SLUICE_OK && pos < end) {
            if (n == CUTS || (n > 0 && ends[n - 1] != pos)) { /* a sink gets adjacent pieces */
                status = encode_pieces(&context, text, start, ends, n, err);
                n = 0;
            }
            start = n == 0 ? pos : start;
            if (bpe->vocab.model == VOCAB_MODEL_CHARS) {
                n += charbpe_cut(&bpe->chars, text, end, &pos, ends + n, CUTS - n);
            } else {
                ends[n++] = pos = end;
            }
        }
    }
    return status == SLUICE_OK && n > 0 ? encode_pieces(&context, text, start, ends, n, err)
                                        : status;
}

/* The byte-level pre-tokenizer in front of byte pairs that know where a piece ends. */
static int32_t encode_alphabet(struct bpe_worker *w, const uint8_t *text, size_t len,
                               struct sluice_error *err)
{
    struct pieces_context context = { w, NULL };
    int32_t status = hide_spaces(&w->of_text.prefixed, w->bpe->vocab.prefix_space && text[0] != ' ',
                                 0, &text, &len, err);
    context.end = text + len;
    return status == SLUICE_OK ? pretoken_run(w->pretoken, text, len, encode_pieces, &context, err)
                               : status;
}

/* ---- bytes without tokens ---- */

/* A sink's context: encode_pieces sees its first member. */
struct checked {
    struct pieces_context pieces;
    uint8_t lacks[256];
    int high;            /* only bytes above ASCII */
    const uint8_t *text; /* of the part at hand, */
    size_t shift;        /* behind that many bytes that were put in front of it */
};

static int32_t fail_lacking(const struct bpe_worker *w, const struct checked *c, const uint8_t *p,
                            struct sluice_error *err)
{
    const int rewritten = text_is_rewritten(w->bpe) || c->shift > 0;
    const size_t at = (size_t)(p - c->text);
    if (at < c->shift) {
        return bpe_fail(err, SLUICE_E_DATA,
                        "the file asks for a space in front of the text and has no token for the "
                        "byte 0x%02x; train it with all 256 bytes (tokenizers: "
                        "initial_alphabet=ByteLevel.alphabet())",
                        *p);
    }
    return bpe_fail(err, SLUICE_E_DATA,
                    "the vocabulary has no token for the byte 0x%02x at byte %zu of %s%s", *p,
                    rewritten ? at - c->shift : (size_t)(p - w->text),
                    rewritten ? "a part as the tokenizer changed it" : "the text",
                    *p >= 0xF5 || (*p & 0xFEu) == 0xC0
                        ? ", which no UTF-8 has; convert the text"
                        : "; it was trained on texts without such characters: drop this one, or "
                          "take a vocabulary of all 256 bytes");
}

static int32_t encode_checked(void *context, const uint8_t *text, size_t start, const size_t *ends,
                              size_t n, struct sluice_error *err)
{
    const struct checked *c = context;
    const size_t end = n > 0 ? ends[n - 1] : start;
    for (size_t at = start; at < end; at++) {
        if (c->high && end - at > 8 && !(word_at(text + at) & UINT64_C(0x8080808080808080))) {
            at += 7;
        } else if (c->lacks[text[at]]) {
            return fail_lacking(c->pieces.worker, c, text + at, err);
        }
    }
    return encode_pieces(context, text, start, ends, n, err);
}

int32_t text_encode_lacking(struct bpe_worker *w, const uint8_t *text, size_t len, size_t shift,
                            struct sluice_error *err)
{
    struct checked c = { .pieces = { w, text + len }, .high = 1, .text = text, .shift = shift };
    for (size_t i = 0; i < 256; i++) {
        c.lacks[i] = w->bpe->vocab.byte_id[i] == VOCAB_NONE;
        c.high = c.high && (i >= 0x80 || !c.lacks[i]);
    }
    return pretoken_run(w->pretoken, text, len, encode_checked, &c, err);
}

int32_t text_encode_chars(struct bpe_worker *w, const uint8_t *text, size_t len,
                          struct sluice_error *err)
{
    const struct vocab *v = &w->bpe->vocab;
    const int spaced = text[0] == ' ' || (len >= 3 && memcmp(text, VOCAB_SPACE, 3) == 0);
    const int front = (v->meta_front && !text_is_rewritten(w->bpe)) ||
                      (!spaced && (v->meta_prepend == VOCAB_PREPEND_ALWAYS ||
                                   (v->meta_prepend == VOCAB_PREPEND_FIRST && w->of_text.first)));
    size_t from = 0;
    int32_t status = w->offsets ? check_places(w, text, len, err) : SLUICE_OK;
    if (status == SLUICE_OK && text_is_general(v)) {
        return v->alphabet ? encode_alphabet(w, text, len, err) : encode_split(w, text, len, err);
    }
    if (status == SLUICE_OK && v->whole_piece) { /* pieces are looked up as they are written */
        status =
            hide_spaces(&w->of_text.normalized, 0, v->meta != VOCAB_META_NONE, &text, &len, err);
    }
    if (status == SLUICE_OK && front) {
        status = encode_front(w, text, len, &from, err);
    }
    return status == SLUICE_OK ? encode_cut(w, text, from, len, err) : status;
}
