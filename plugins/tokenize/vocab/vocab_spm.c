/* vocab_spm.c — reads SentencePiece model files (google/sentencepiece, sentencepiece_model.proto)
 * of the kinds Unigram, BPE and CHAR. For BPE, pieces with scores become merges, each piece by
 * every way to cut it in two. Depends on: vocab.h, vocab_proto.h, bpe_trie.h, normalizer.h,
 * unigram.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/bpe_trie.h"
#include "model/charbpe.h"
#include "normalize/normalizer.h"
#include "split/pretoken_unicode.h"
#include "model/unigram.h"
#include "vocab/vocab.h"
#include "vocab/vocab_proto.h"

/* sentencepiece_model.proto, SentencePiece.Type */
enum spm_type { SPM_NORMAL = 1, SPM_UNKNOWN, SPM_CONTROL, SPM_USER_DEFINED, SPM_UNUSED, SPM_BYTE };

struct spm_piece {
    const char *text;
    size_t len;
    float score;
    uint32_t type;
};

struct spm {
    struct vocab *vocab;
    struct sluice_error *err;
    struct spm_piece *pieces;
    size_t n, cap;
    /* trainer_spec, normalizer_spec: what the proto says where a file says nothing */
    uint64_t model_type, byte_fallback, whitespace_as_suffix;
    int64_t bos_id, eos_id;
    uint64_t add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
    struct proto_field charsmap;
};

static int32_t damaged(struct spm *m, const char *what)
{
    return bpe_fail(m->err, SLUICE_E_CONFIG,
                    "the SentencePiece model is damaged: %s; fetch the file again", what);
}

static int32_t refuse(struct spm *m, const char *what, const char *instead)
{
    return bpe_fail(m->err, SLUICE_E_CONFIG,
                    "the SentencePiece model has %s, which this engine does not honour; %s", what,
                    instead);
}

/* ---- reading ---- */

static int32_t read_piece(struct spm *m, struct proto_field message)
{
    struct spm_piece *piece;
    struct proto_field field;
    if (m->n == m->cap) {
        const size_t cap = m->cap * 2 + 1024;
        struct spm_piece *grown = realloc(m->pieces, cap * sizeof(*grown));
        if (!grown) {
            return bpe_fail_memory(m->err, "a vocabulary");
        }
        m->pieces = grown;
        m->cap = cap;
    }
    piece = &m->pieces[m->n];
    memset(piece, 0, sizeof(*piece));
    piece->text = "";
    piece->type = SPM_NORMAL;
    while (proto_next(&message, &field)) {
        if (field.number == 1 && field.wire == PROTO_BYTES) {
            piece->text = (const char *)field.bytes;
            piece->len = field.len;
        } else if (field.number == 2 && field.wire == PROTO_FIXED32) {
            const uint32_t bits = (uint32_t)field.value;
            memcpy(&piece->score, &bits, sizeof(bits));
        } else if (field.number == 3 && field.wire == PROTO_VARINT) {
            piece->type = (uint32_t)field.value;
        }
    }
    if (message.broken || piece->type < SPM_NORMAL || piece->type > SPM_BYTE ||
        piece->score != piece->score) {
        return damaged(m, "a piece");
    }
    m->n++;
    return SLUICE_OK;
}

static void read_trainer(struct spm *m, struct proto_field *message)
{
    struct proto_field field;
    while (proto_next(message, &field)) {
        if (field.wire != PROTO_VARINT) {
            continue;
        }
        switch (field.number) {
        case 3:
            m->model_type = field.value;
            break;
        case 24:
            m->whitespace_as_suffix = field.value;
            break;
        case 35:
            m->byte_fallback = field.value;
            break;
        case 41:
            m->bos_id = (int32_t)field.value;
            break;
        case 42:
            m->eos_id = (int32_t)field.value;
            break;
        default:
            break; /* how it was trained */
        }
    }
}

static void read_normalizer(struct spm *m, struct proto_field *message)
{
    struct proto_field field;
    while (proto_next(message, &field)) {
        switch (field.number) {
        case 2:
            m->charsmap = field;
            break;
        case 3:
            m->add_dummy_prefix = field.value;
            break;
        case 4:
            m->remove_extra_whitespaces = field.value;
            break;
        case 5:
            m->escape_whitespaces = field.value;
            break;
        default:
            break; /* its name, the rules before they were compiled */
        }
    }
}

static int32_t read_model(struct spm *m, const void *data, size_t size)
{
    struct proto_field top = proto_message(data, size), field;
    int32_t status = SLUICE_OK;
    while (status == SLUICE_OK && proto_next(&top, &field)) {
        if (field.wire != PROTO_BYTES) {
            continue;
        }
        if (field.number == 1) {
            status = read_piece(m, field);
        } else if (field.number == 2) {
            read_trainer(m, &field);
        } else if (field.number == 3) {
            read_normalizer(m, &field);
        }
        if (status == SLUICE_OK && field.broken) {
            return damaged(m, "its trainer_spec or normalizer_spec");
        }
    }
    return status == SLUICE_OK && top.broken ? damaged(m, "it ends inside a field") : status;
}

/* ---- pieces to tokens ---- */

/* A piece with its visible spaces as spaces to `out`, which has room for its length. 0 for one that
 * no text can hold. */
static int text_of(const struct spm *m, const struct spm_piece *piece, uint8_t *out, size_t *n)
{
    size_t i;
    *n = 0;
    if (m->vocab->meta == VOCAB_META_NONE) {
        memcpy(out, piece->text, piece->len);
        *n = piece->len;
        return 1;
    }
    for (i = 0; i < piece->len;) {
        if (piece->text[i] == ' ') {
            return 0;
        }
        if (piece->len - i >= 3 && memcmp(piece->text + i, VOCAB_SPACE, 3) == 0) {
            out[(*n)++] = ' ';
            i += 3;
        } else {
            out[(*n)++] = (uint8_t)piece->text[i++];
        }
    }
    return 1;
}

static int32_t put_special(struct spm *m, uint32_t id, int special, const void *text, size_t len)
{
    struct vocab_added like = { .id = id };
    like.special = (uint8_t)special;
    like.normalized =
        (uint8_t)!special; /* user-defined ones are found in normalized text, as they are */
    like.as_is = 1;
    return vocab_put_added(m->vocab, text, len, &like, m->err);
}

static int32_t put_piece(struct spm *m, uint32_t id)
{
    const struct spm_piece *piece = &m->pieces[id];
    struct vocab *v = m->vocab;
    uint8_t text[VOCAB_TOKEN_MOST];
    size_t n = 0;
    unsigned byte;
    int32_t status;
    if (piece->len == 0 || piece->len > VOCAB_TOKEN_MOST) {
        return damaged(m, "a piece is empty or longer than 1024 bytes");
    }
    switch (piece->type) {
    case SPM_UNUSED:
        return v->unigram ? vocab_put(v, id, piece->text, piece->len, VOCAB_OPAQUE, m->err)
                          : refuse(m, "pieces of the type UNUSED",
                                   "make it without a restricted vocabulary");
    case SPM_BYTE:
        if (!vocab_is_byte(piece->text, piece->len, &byte) || v->fallback[byte] != VOCAB_NONE) {
            return damaged(m, "a piece of the type BYTE");
        }
        v->fallback[byte] = id;
        text[0] = (uint8_t)byte;
        return vocab_put(v, id, text, 1, VOCAB_BYTE, m->err);
    case SPM_UNKNOWN:
        if (v->unk != VOCAB_NONE) {
            return damaged(m, "two pieces are the unknown one");
        }
        v->unk = id;
        break;
    default:
        break;
    }
    if (piece->type == SPM_NORMAL || piece->type == SPM_USER_DEFINED) {
        const int possible = text_of(m, piece, text, &n);
        if (!possible || piece->type == SPM_USER_DEFINED) {
            status = vocab_put(v, id, possible ? (const void *)text : piece->text,
                               possible ? n : piece->len, VOCAB_OPAQUE, m->err);
            return status == SLUICE_OK && possible && !v->unigram
                       ? put_special(m, id, 0, text, n)
                       : status; /* Unigram weighs them among the others */
        }
        return vocab_put(v, id, text, n, VOCAB_BYTES, m->err);
    }
    if (!v->unigram && piece->len <= 4 &&
        (size_t)utf8_decode((const uint8_t *)piece->text, (const uint8_t *)piece->text + piece->len,
                            &(uint32_t){ 0 }) == piece->len) {
        return refuse(m, "a control or unknown piece of one character", "give it a longer name");
    }
    status = vocab_put(v, id, piece->text, piece->len, VOCAB_OPAQUE, m->err);
    return status == SLUICE_OK ? put_special(m, id, 1, piece->text, piece->len) : status;
}

/* ---- merges ---- */

struct scored {
    float score;
    uint32_t id;
};

static int scored_order(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* The symbol that p[0 .. n) can be before it merges on: a token, or any one character. */
static uint32_t symbol_of(const struct trie *trie, const uint8_t *p, size_t n)
{
    uint32_t id, cp;
    if (trie_longest(trie, p, p + n, &id) == n) {
        return id;
    }
    return utf8_decode(p, p + n, &cp) == n && (n > 1 || p[0] < 0x80) ? CHARBPE_RAW + cp
                                                                     : CHARBPE_NONE;
}

static int32_t put_merges(struct spm *m, const struct trie *trie, uint32_t id, uint32_t rank,
                          size_t *cap)
{
    struct vocab *v = m->vocab;
    const uint8_t *p = v->bytes + v->tokens[id].at;
    const size_t n = v->tokens[id].len;
    size_t k;
    for (k = 1; k < n; k++) {
        struct vocab_merge merge = { 0, 0, id, rank };
        if ((p[k] & 0xC0) == 0x80) {
            continue;
        }
        merge.a = symbol_of(trie, p, k);
        merge.b = symbol_of(trie, p + k, n - k);
        if (merge.a == CHARBPE_NONE || merge.b == CHARBPE_NONE) {
            continue;
        }
        if (v->n_merges == *cap) {
            struct vocab_merge *grown = realloc(v->merges, (*cap * 2 + 1024) * sizeof(*grown));
            if (!grown) {
                return bpe_fail_memory(m->err, "a vocabulary");
            }
            v->merges = grown;
            *cap = *cap * 2 + 1024;
        }
        v->merges[v->n_merges++] = merge;
    }
    return SLUICE_OK;
}

static int32_t make_merges(struct spm *m)
{
    const struct vocab *v = m->vocab;
    struct scored *order = malloc((m->n + 1) * sizeof(*order));
    struct trie_string *strings = malloc((m->n + 1) * sizeof(*strings));
    struct trie trie;
    size_t n = 0, cap = 0, i;
    uint32_t id, rank = 0;
    int32_t status = SLUICE_OK;
    memset(&trie, 0, sizeof(trie));
    if (!order || !strings) {
        status = bpe_fail_memory(m->err, "a vocabulary");
    }
    for (id = 0; status == SLUICE_OK && id < m->n; id++) {
        if (v->tokens[id].kind == VOCAB_BYTES) {
            order[n] = (struct scored){ m->pieces[id].score, id };
            strings[n++] =
                (struct trie_string){ v->bytes + v->tokens[id].at, v->tokens[id].len, id };
        }
    }
    if (status == SLUICE_OK && trie_init(&trie, strings, n, NULL) != 0) {
        status = bpe_fail_memory(m->err, "a vocabulary");
    }
    for (i = 0; status == SLUICE_OK && i < n;
         i++) { /* the trie sorted them: the equal are neighbours */
        if (i > 0 && strings[i].len == strings[i - 1].len &&
            memcmp(strings[i].bytes, strings[i - 1].bytes, strings[i].len) == 0) {
            status = damaged(m, "two pieces are the same");
        }
    }
    if (status == SLUICE_OK && n > 0) {
        qsort(order, n, sizeof(*order), scored_order);
    }
    for (i = 0; status == SLUICE_OK && i < n; i++) { /* equal scores: the leftmost first */
        rank += i > 0 && order[i].score < order[i - 1].score;
        status = put_merges(m, &trie, order[i].id, rank, &cap);
    }
    trie_deinit(&trie);
    free(strings);
    free(order);
    return status;
}

/* ---- the whole ---- */

/* The name of the piece `id` to `name` when it is one of the type CONTROL. */
static void note_edge(const struct spm *m, int64_t id, char name[256])
{
    if (id >= 0 && (uint64_t)id < m->n && m->pieces[id].type == SPM_CONTROL &&
        m->pieces[id].len < 256) {
        memcpy(name, m->pieces[id].text, m->pieces[id].len);
        name[m->pieces[id].len] = '\0';
    }
}

/* 1 when all the model does to a text is about spaces, which the engine does as it goes. */
static int is_only_spaces(const struct spm *m)
{
    size_t i;
    if (m->model_type == 1 || m->charsmap.len > 0 || m->remove_extra_whitespaces ||
        !m->escape_whitespaces || (m->whitespace_as_suffix && m->add_dummy_prefix)) {
        return 0;
    }
    for (i = 0; i < m->n; i++) { /* without a piece for it the space is its bytes, or unknown */
        if (m->pieces[i].type == SPM_NORMAL && m->pieces[i].len == 3 &&
            memcmp(m->pieces[i].text, VOCAB_SPACE, 3) == 0) {
            return 1;
        }
    }
    return 0;
}

static int32_t make_normalizer(struct spm *m)
{
    struct normalizer_symbol *symbols = malloc((m->n + 1) * sizeof(*symbols));
    struct normalizer_spm spec = {
        .charsmap = m->charsmap.len > 0 ? m->charsmap.bytes : NULL,
        .charsmap_size = m->charsmap.len,
        .symbols = symbols,
        .add_dummy_prefix = m->add_dummy_prefix != 0,
        .remove_extra_whitespaces = m->remove_extra_whitespaces != 0,
        .escape_whitespaces = m->escape_whitespaces != 0,
        .whitespace_as_suffix = m->whitespace_as_suffix != 0,
    };
    size_t i;
    int32_t status;
    if (!symbols) {
        return bpe_fail_memory(m->err, "a vocabulary");
    }
    for (i = 0; i < m->n; i++) {
        if (m->pieces[i].type == SPM_USER_DEFINED && m->pieces[i].len > 0) {
            symbols[spec.n_symbols++] =
                (struct normalizer_symbol){ m->pieces[i].text, m->pieces[i].len };
        }
    }
    status = normalizer_from_spm(&spec, &m->vocab->normalizer, m->err);
    free(symbols);
    return status;
}

static int32_t make_unigram(struct spm *m)
{
    struct unigram_piece *pieces = calloc(m->n + 1, sizeof(*pieces));
    struct unigram_options options = { .peer = UNIGRAM_SPM,
                                       .pieces = pieces,
                                       .n = m->n,
                                       .unk = UNIGRAM_NONE,
                                       .byte_fallback = m->byte_fallback != 0 };
    size_t i;
    int32_t status;
    if (!pieces) {
        return bpe_fail_memory(m->err, "a vocabulary");
    }
    for (i = 0; i < m->n; i++) {
        const struct spm_piece *piece = &m->pieces[i];
        pieces[i].bytes = piece->text;
        pieces[i].len = piece->len;
        pieces[i].score = (double)piece->score;
        pieces[i].kind = piece->type == SPM_NORMAL         ? UNIGRAM_NORMAL
                         : piece->type == SPM_USER_DEFINED ? UNIGRAM_USER_DEFINED
                         : piece->type == SPM_UNUSED       ? UNIGRAM_UNUSED
                                                           : UNIGRAM_RESERVED;
        options.unk = piece->type == SPM_UNKNOWN ? (uint32_t)i : options.unk;
    }
    status = options.unk == UNIGRAM_NONE ? damaged(m, "no piece is the unknown one")
                                         : unigram_create(&options, &m->vocab->unigram, m->err);
    free(pieces);
    return status;
}

static int32_t build(struct spm *m)
{
    struct vocab *v = m->vocab;
    uint32_t id;
    unsigned b;
    int32_t status = SLUICE_OK;
    if (m->model_type != 1 && m->model_type != 2 && m->model_type != 4) {
        return refuse(m, "the kind Word", "it reads the kinds Unigram, BPE and CHAR");
    }
    v->model = VOCAB_MODEL_CHARS;
    v->late_fallback = 1;
    v->fuse_unk = 1;
    v->byte_fallback = m->byte_fallback != 0;
    if (is_only_spaces(m)) {
        v->meta = VOCAB_META_NORMALIZER;
        v->meta_front = m->add_dummy_prefix != 0;
    } else {
        status = make_normalizer(m);
    }
    if (status == SLUICE_OK && m->model_type == 1) {
        v->model = VOCAB_MODEL_UNIGRAM;
        status = make_unigram(m);
    }
    for (id = 0; status == SLUICE_OK && id < m->n; id++) {
        status = put_piece(m, id);
    }
    for (b = 0; status == SLUICE_OK && v->byte_fallback && b < 256; b++) {
        if (v->fallback[b] == VOCAB_NONE) {
            return damaged(m, "byte_fallback is set, but a byte has no piece");
        }
    }
    if (status == SLUICE_OK && v->unk == VOCAB_NONE) {
        return damaged(m, "no piece is the unknown one");
    }
    if (status == SLUICE_OK && m->model_type == 2) {
        status = make_merges(m);
    }
    if (status == SLUICE_OK && v->meta == VOCAB_META_NONE) {
        status = vocab_decode_spaces(v, 1, "", "", m->err);
    }
    note_edge(m, m->bos_id, v->bos_name);
    note_edge(m, m->eos_id, v->eos_name);
    return status;
}

int vocab_is_spm(const void *data, size_t size)
{
    struct proto_field top = proto_message(data, size), field;
    size_t pieces = 0;
    while (proto_next(&top, &field)) {
        pieces += field.number == 1 && field.wire == PROTO_BYTES;
    }
    return !top.broken && pieces > 0;
}

int32_t vocab_read_spm(struct vocab *v, const void *data, size_t size,
                       const struct bpe_options *options, struct sluice_error *err)
{
    struct spm m = { .vocab = v,
                     .err = err,
                     .model_type = 1,
                     .bos_id = 1,
                     .eos_id = 2,
                     .add_dummy_prefix = 1,
                     .remove_extra_whitespaces = 1,
                     .escape_whitespaces = 1 };
    int32_t status;
    if (options->pattern) {
        return bpe_fail(
            err, SLUICE_E_CONFIG,
            "a pattern is given, but a SentencePiece model has no use for one; leave the "
            "option out, or use a .tiktoken file");
    }
    status = read_model(&m, data, size);
    if (status == SLUICE_OK) {
        status = build(&m);
    }
    free(m.pieces);
    return status;
}
