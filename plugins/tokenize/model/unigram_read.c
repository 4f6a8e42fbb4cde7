/* unigram_read.c — makes a Unigram model from a list of pieces, or from the member `model` of
 * tokenizer.json (huggingface/tokenizers, src/models/unigram/serialization.rs). See unigram.h. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/unigram_int.h"

#define PENALTY 10.0 /* below the lowest score: what an unknown character costs, in both peers */
#define PIECES_MOST (1u << 30)

/* What a chosen piece adds to a sum. SentencePiece's user-defined symbols always win: a hair below
 * zero, or by their length where scores are positive. */
static void set_scores(struct unigram *u, const struct unigram_options *o)
{
    float least = FLT_MAX, most = FLT_MIN;
    double min = (double)INFINITY;
    size_t i;
    for (i = 0; i < o->n; i++) {
        const struct unigram_piece *p = &o->pieces[i];
        min = p->score < min ? p->score : min;
        if (p->kind == UNIGRAM_NORMAL) {
            float score = (float)p->score;
            least = score < least ? score : least;
            most = score > most ? score : most;
        }
    }
    for (i = 0; i < o->n; i++) {
        const struct unigram_piece *p = &o->pieces[i];
        u->entries[i].score = p->score;
        if (o->peer == UNIGRAM_SPM && p->kind == UNIGRAM_USER_DEFINED) {
            u->entries[i].score = (double)((float)p->len * most) - 0.1;
        }
    }
    u->unk_score = o->peer == UNIGRAM_SPM ? (double)(least - (float)PENALTY) : min - PENALTY;
}

static int32_t set_bytes(struct unigram *u, struct sluice_error *err)
{
    unsigned b;
    for (b = 0; b < 256; b++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "<0x%02X>", b);
        u->byte_id[b] =
            u->peer == UNIGRAM_SPM ? unigram_id(u, name, 6) : unigram_trie_find(&u->trie, name, 6);
        if (u->peer == UNIGRAM_SPM && u->byte_fallback && u->byte_id[b] == UNIGRAM_NONE) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "the tokenizer file asks for byte_fallback, but has no piece %s; it is "
                            "damaged",
                            name);
        }
    }
    return SLUICE_OK;
}

static int32_t build_trie(struct unigram *u, struct sluice_error *err)
{
    struct unigram_trie_string *strings = malloc((u->n + 1) * sizeof(*strings));
    uint32_t id;
    size_t i, n = 0;
    int failed;
    if (!strings) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    for (id = 0; id < u->n; id++) {
        if (!u->entries[id].reserved) {
            strings[n].bytes = u->bytes + u->entries[id].at;
            strings[n].len = u->entries[id].len;
            strings[n++].value = id;
        }
    }
    failed = unigram_trie_init(&u->trie, strings, n);
    for (i = 1; !failed && u->peer == UNIGRAM_SPM && i < n; i++) {
        if (strings[i].len == strings[i - 1].len &&
            memcmp(strings[i].bytes, strings[i - 1].bytes, strings[i].len) == 0) {
            int32_t status =
                bpe_fail(err, SLUICE_E_CONFIG,
                         "the tokenizer file has the piece '%.*s' twice; it is damaged",
                         (int)strings[i].len, strings[i].bytes);
            free(strings);
            return status;
        }
    }
    free(strings);
    if (failed) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    return u->trie.nodes
               ? SLUICE_OK
               : bpe_fail(err, SLUICE_E_CONFIG, "the tokenizer file has no pieces; it is damaged");
}

static int32_t fill(struct unigram *u, const struct unigram_options *o, struct sluice_error *err)
{
    size_t i, size = 0;
    int32_t status;
    for (i = 0; i < o->n; i++) {
        if (o->pieces[i].len > UINT16_MAX) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "piece %zu of the tokenizer file has %zu bytes; at most %d are read", i,
                            o->pieces[i].len, UINT16_MAX);
        }
        size += o->pieces[i].len;
    }
    u->entries = calloc(o->n + 1, sizeof(*u->entries));
    u->bytes = malloc(size + 1);
    if (!u->entries || !u->bytes) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    u->n = (uint32_t)o->n;
    for (i = 0; i < o->n; i++) {
        const struct unigram_piece *p = &o->pieces[i];
        u->entries[i].at = u->n_bytes;
        u->entries[i].len = (uint32_t)p->len;
        u->entries[i].unused = o->peer == UNIGRAM_SPM && p->kind == UNIGRAM_UNUSED;
        u->entries[i].reserved = o->peer == UNIGRAM_SPM && p->kind == UNIGRAM_RESERVED;
        if (p->len > 0) {
            memcpy(u->bytes + u->n_bytes, p->bytes, p->len);
        }
        u->n_bytes += p->len;
    }
    set_scores(u, o);
    status = build_trie(u, err);
    return status == SLUICE_OK ? set_bytes(u, err) : status;
}

int32_t unigram_create(const struct unigram_options *o, struct unigram **out,
                       struct sluice_error *err)
{
    struct unigram *u;
    int32_t status;
    *out = NULL;
    if (o->n >= PIECES_MOST || (o->unk == UNIGRAM_NONE ? o->peer == UNIGRAM_SPM : o->unk >= o->n)) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "the tokenizer file has %zu pieces, and none of them is its unknown piece; "
                        "it is damaged",
                        o->n);
    }
    u = calloc(1, sizeof(*u));
    if (!u) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    u->peer = o->peer;
    u->unk = o->unk;
    u->byte_fallback = o->byte_fallback;
    status = fill(u, o, err);
    if (status != SLUICE_OK) {
        unigram_destroy(u);
        return status;
    }
    *out = u;
    return SLUICE_OK;
}

void unigram_destroy(struct unigram *u)
{
    if (u) {
        unigram_trie_deinit(&u->trie);
        free(u->entries);
        free(u->bytes);
        free(u);
    }
}

uint32_t unigram_size(const struct unigram *u)
{
    return u->n;
}

const char *unigram_token(const struct unigram *u, uint32_t id, size_t *len)
{
    *len = id < u->n ? u->entries[id].len : 0;
    return id < u->n ? u->bytes + u->entries[id].at : NULL;
}

uint32_t unigram_id(const struct unigram *u, const char *text, size_t len)
{
    uint32_t id = unigram_trie_find(&u->trie, text, len);
    if (id != UNIGRAM_TRIE_NONE) {
        return id;
    }
    for (id = 0; id < u->n; id++) {
        const struct unigram_entry *e = &u->entries[id];
        if (e->reserved && e->len == len && memcmp(u->bytes + e->at, text, len) == 0) {
            return id;
        }
    }
    return UNIGRAM_NONE;
}

size_t unigram_memory(const struct unigram *u)
{
    return sizeof(*u) + u->n * sizeof(*u->entries) + u->n_bytes +
           u->trie.n * sizeof(*u->trie.nodes);
}

static int32_t malformed(struct sluice_error *err, const char *what)
{
    return bpe_fail(err, SLUICE_E_CONFIG,
                    "tokenizer.json: %s is missing or of the wrong type; the file is damaged or of "
                    "another version",
                    what);
}

static double power_of_ten(int n)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "1e%d", n);
    return strtod(text, NULL);
}

/* The number that tokenizers reads where the file's is x. Its JSON library (serde_json without
 * float_roundtrip) takes the digits as an integer and divides it by a power of ten, so that a
 * number of 16 or 17 digits may come out a bit beside the nearest one, and ties are decided
 * otherwise. The digits are taken to be the fewest that give x, as Rust and Python write them. */
static double as_read_by_peer(double x)
{
    char text[40] = "";
    unsigned long long digits = 0;
    int precision, places = 0, power;
    const char *p;
    double value;
    if (x == 0.0) {
        return x;
    }
    for (precision = 14; precision < 17; precision++) {
        (void)snprintf(text, sizeof(text), "%.*e", precision, fabs(x));
        if (strtod(text, NULL) == fabs(x)) {
            break;
        }
    }
    for (p = text; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9') {
            digits = digits * 10 + (unsigned long long)(*p - '0');
            places++;
        }
    }
    for (power = (int)strtol(p + 1, NULL, 10) + 1 - places; digits % 10 == 0; power++) {
        digits /= 10;
    }
    value = (double)digits;
    if (power >= 0) {
        value *= power_of_ten(power);
    } else {
        for (; power < -308; power += 308) {
            value /= 1e308;
        }
        value /= power_of_ten(-power);
    }
    return x < 0 ? -value : value;
}

static int32_t read_pieces(const json_t *vocab, struct unigram_piece *pieces,
                           struct sluice_error *err)
{
    size_t i;
    for (i = 0; i < json_array_size(vocab); i++) {
        const json_t *pair = json_array_get(vocab, i), *text = json_array_get(pair, 0),
                     *score = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_string(text) || !json_is_number(score)) {
            return malformed(err, "a piece in model.vocab");
        }
        pieces[i].bytes = json_string_value(text);
        pieces[i].len = json_string_length(text);
        pieces[i].score = as_read_by_peer(json_number_value(score));
        pieces[i].kind = UNIGRAM_NORMAL;
    }
    return SLUICE_OK;
}

int32_t unigram_read(const json_t *model, struct unigram **out, struct sluice_error *err)
{
    const json_t *vocab = json_object_get(model, "vocab"), *unk = json_object_get(model, "unk_id"),
                 *bytes = json_object_get(model, "byte_fallback");
    struct unigram_options options = { .peer = UNIGRAM_HF, .unk = UNIGRAM_NONE };
    struct unigram_piece *pieces;
    void *at;
    int32_t status;
    *out = NULL;
    for (at = json_object_iter((json_t *)(uintptr_t)model); at;
         at = json_object_iter_next((json_t *)(uintptr_t)model, at)) {
        const char *key = json_object_iter_key(at);
        if (strcmp(key, "type") != 0 && strcmp(key, "vocab") != 0 && strcmp(key, "unk_id") != 0 &&
            strcmp(key, "byte_fallback") != 0) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "tokenizer.json has in the model Unigram the member '%s', which this "
                            "engine does not honour; remove it if it is of no consequence",
                            key);
        }
    }
    if (!json_is_array(vocab) || (bytes && !json_is_boolean(bytes)) ||
        (unk && !json_is_null(unk) && !(json_is_integer(unk) && json_integer_value(unk) >= 0))) {
        return malformed(err, "model.vocab, model.unk_id or model.byte_fallback");
    }
    options.n = json_array_size(vocab);
    options.byte_fallback = json_is_true(bytes);
    if (json_is_integer(unk)) {
        json_int_t id = json_integer_value(unk);
        options.unk = id < (json_int_t)PIECES_MOST ? (uint32_t)id : PIECES_MOST;
    }
    pieces = calloc(options.n + 1, sizeof(*pieces));
    if (!pieces) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    options.pieces = pieces;
    status = read_pieces(vocab, pieces, err);
    if (status == SLUICE_OK) {
        status = unigram_create(&options, out, err);
    }
    free(pieces);
    return status;
}
