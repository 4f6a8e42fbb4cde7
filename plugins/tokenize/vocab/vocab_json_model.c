/* vocab_json_model.c — model.vocab, model.merges and the options of a tokenizer.json's model. See
 * vocab_json.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "split/pretoken_unicode.h"
#include "model/unigram.h"
#include "vocab/vocab_json.h"
#include "model/wordpiece.h"

struct alphabet {
    int16_t byte_of[324]; /* code point of the byte alphabet to byte, -1 outside */
};

/* The customary byte alphabet (openai/gpt-2, encoder.py, bytes_to_unicode): printable Latin-1
 * stands for itself, the other bytes are U+0100 and on in order. */
static void alphabet_init(struct alphabet *a)
{
    int b, next = 256;
    memset(a->byte_of, 0xFF, sizeof(a->byte_of));
    for (b = 0; b < 256; b++) {
        int printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        a->byte_of[printable ? b : next++] = (int16_t)b;
    }
}

/* Writes the bytes that a vocabulary string stands for; -1 when it leaves the byte alphabet. `out`
 * has room for len bytes. */
static long alphabet_decode(const struct alphabet *a, const char *text, size_t len, uint8_t *out)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + len;
    long n = 0;
    while (p < end) {
        uint32_t cp;
        p += utf8_decode(p, end, &cp);
        if (cp >= 324 || a->byte_of[cp] < 0) {
            return -1;
        }
        out[n++] = (uint8_t)a->byte_of[cp];
    }
    return n;
}

/* The bytes that a string stands for, to `out` with room for its length; VOCAB_OPAQUE when no text
 * can give it (*n is then not set). */
static enum vocab_kind bytes_of(struct json_reader *r, const struct alphabet *alphabet,
                                const char *text, size_t len, uint8_t *out, size_t *n)
{
    const struct vocab *v = r->vocab;
    unsigned b;
    size_t i;
    if (v->model == VOCAB_MODEL_BYTES || v->alphabet) {
        long count = alphabet_decode(alphabet, text, len, out);
        *n = (size_t)count;
        return count < 0 ? VOCAB_OPAQUE : VOCAB_BYTES;
    }
    if (v->byte_fallback && vocab_is_byte(text, len, &b)) {
        out[0] = (uint8_t)b;
        *n = 1;
        return VOCAB_BYTE;
    }
    if (v->meta == VOCAB_META_NONE) {
        memcpy(out, text, len);
        *n = len;
        return VOCAB_BYTES;
    }
    for (i = 0, *n = 0; i < len;) {
        if (text[i] == ' ') {
            return VOCAB_OPAQUE; /* no text has one any more */
        }
        if (len - i >= 3 && memcmp(text + i, VOCAB_SPACE, 3) == 0) {
            out[(*n)++] = ' ';
            i += 3;
        } else {
            out[(*n)++] = (uint8_t)text[i++];
        }
    }
    return VOCAB_BYTES;
}

static int32_t read_vocabulary(struct json_reader *r)
{
    struct alphabet alphabet;
    const char *key;
    size_t len;
    json_t *value;
    alphabet_init(&alphabet);
    json_object_keylen_foreach(r->ids, key, len, value)
    {
        uint8_t bytes[VOCAB_TOKEN_MOST * 2];
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        enum vocab_kind kind = VOCAB_OPAQUE;
        size_t n = 0;
        int32_t status;
        if (id < 0 || id >= (json_int_t)VOCAB_IDS_MOST) {
            return json_malformed(r, "an id in model.vocab");
        }
        if (len == 0) {
            continue; /* an empty entry, which no text can give */
        }
        if (len <= sizeof(bytes)) {
            kind = bytes_of(r, &alphabet, key, len, bytes, &n);
        }
        status = vocab_put(r->vocab, (uint32_t)id, kind == VOCAB_OPAQUE ? (const void *)key : bytes,
                           kind == VOCAB_OPAQUE ? len : n, kind, r->err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

/* ---- prefix and suffix ---- */

/* Notes at which places of a piece an entry of the vocabulary is the token of a character. */
static void note_lone(struct json_reader *r, const struct alphabet *alphabet, const char *key,
                      size_t len, uint32_t id)
{
    struct vocab *v = r->vocab;
    uint32_t place, cp;
    for (place = 0; place < 4; place++) {
        const size_t front = (place & VOCAB_INSIDE) ? strlen(r->prefix) : 0,
                     back = (place & VOCAB_LAST) ? strlen(r->suffix) : 0;
        const size_t n = len - front - back;
        const char *text = key + front;
        int is_one;
        if (len <= front + back || n > 4 || memcmp(key, r->prefix, front) != 0 ||
            memcmp(key + len - back, r->suffix, back) != 0) {
            continue;
        }
        if (v->alphabet) {
            uint8_t bytes[4];
            is_one = alphabet_decode(alphabet, text, n, bytes) == 1;
            cp = bytes[0];
        } else {
            is_one = utf8_decode((const uint8_t *)text, (const uint8_t *)text + n, &cp) == n;
        }
        if (is_one) {
            v->lone[v->n_lone++] = (struct vocab_lone){ cp, place, id };
        }
    }
}

/* What tokenizers looks up for a character is the prefix (unless the piece begins with it), the
 * character, the suffix (if the piece ends with it). */
static int32_t read_lone(struct json_reader *r)
{
    struct alphabet alphabet;
    struct vocab *v = r->vocab;
    const char *key;
    size_t len;
    json_t *value;
    uint8_t bytes[VOCAB_TOKEN_MOST];
    if (!r->prefix[0] && !r->suffix[0]) {
        return SLUICE_OK;
    }
    alphabet_init(&alphabet);
    if (v->byte_fallback) {
        return json_refuse(
            r, "beside continuing_subword_prefix or end_of_word_suffix the model option",
            "byte_fallback");
    }
    if (strlen(r->prefix) + strlen(r->suffix) > VOCAB_TOKEN_MOST / 2) {
        return json_malformed(r, "model.continuing_subword_prefix or end_of_word_suffix");
    }
    if (v->alphabet && (alphabet_decode(&alphabet, r->prefix, strlen(r->prefix), bytes) < 0 ||
                        alphabet_decode(&alphabet, r->suffix, strlen(r->suffix), bytes) < 0)) {
        return json_refuse(r,
                           "outside the byte alphabet the continuing_subword_prefix or "
                           "end_of_word_suffix",
                           r->prefix[0] ? r->prefix : r->suffix);
    }
    v->lone = malloc((4 * json_object_size(r->ids) + 1) * sizeof(*v->lone));
    if (!v->lone) {
        return bpe_fail_memory(r->err, "a vocabulary");
    }
    json_object_keylen_foreach(r->ids, key, len, value)
    {
        note_lone(r, &alphabet, key, len, (uint32_t)json_integer_value(value));
    }
    return vocab_decode_spaces(v, r->spaces, r->prefix, r->suffix, r->err);
}

int json_id_of(struct json_reader *r, const char *text, size_t len, uint32_t *id)
{
    json_t *value;
    if (r->vocab->unigram) {
        *id = unigram_id(r->vocab->unigram, text, len);
        return *id != UNIGRAM_NONE;
    }
    value = json_object_getn(r->ids, text, len);
    if (!value) {
        return 0;
    }
    *id = (uint32_t)json_integer_value(value); /* read_vocabulary checked the range */
    return 1;
}

uint32_t json_n_ids(const struct json_reader *r)
{
    return r->vocab->unigram ? unigram_size(r->vocab->unigram) : (uint32_t)json_object_size(r->ids);
}

static int32_t read_merge(struct json_reader *r, json_t *node, size_t rank)
{
    const char *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    char both[VOCAB_TOKEN_MOST * 4];
    struct vocab_merge *merge = &r->vocab->merges[r->vocab->n_merges];
    const size_t front = strlen(r->prefix); /* of the second part, not in what they give */
    if (json_is_string(node)) {
        const char *space;
        a = json_string_value(node);
        n = json_string_length(node);
        space = memchr(a, ' ', n);
        if (space) {
            b = space + 1;
            m = n - (size_t)(b - a);
            n = (size_t)(space - a);
        }
    } else if (json_array_size(node) == 2) {
        json_t *x = json_array_get(node, 0), *y = json_array_get(node, 1);
        a = json_string_value(x);
        n = json_string_length(x);
        b = json_string_value(y);
        m = json_string_length(y);
    }
    if (!a || !b || n == 0 || m == 0 || m < front || n + m > sizeof(both) ||
        (json_is_string(node) && memchr(b, ' ', m))) {
        return bpe_fail(r->err, SLUICE_E_CONFIG,
                        "tokenizer.json: merge %zu is not a pair of tokens; the file is damaged",
                        rank);
    }
    memcpy(both, a, n);
    memcpy(both + n, b + front, m - front);
    if (!json_id_of(r, a, n, &merge->a) || !json_id_of(r, b, m, &merge->b) ||
        !json_id_of(r, both, n + m - front, &merge->id)) {
        return bpe_fail(
            r->err, SLUICE_E_CONFIG,
            "tokenizer.json: merge %zu, '%.*s' + '%.*s', has a part or result that is not in the "
            "vocabulary; the file is damaged",
            rank, (int)n, a, (int)m, b);
    }
    merge->rank = (uint32_t)rank;
    r->vocab->n_merges++; /* an opaque part never occurs in a text: such a merge is harmless */
    return SLUICE_OK;
}

/* Byte-level vocabularies hold all bytes: nothing is unknown there. */
static int32_t read_unknown(struct json_reader *r, json_t *token)
{
    json_t *value;
    if (r->vocab->model != VOCAB_MODEL_CHARS || !token || json_is_null(token)) {
        return SLUICE_OK;
    }
    if (!json_is_string(token)) {
        return json_malformed(r, "model.unk_token");
    }
    value = json_object_getn(r->ids, json_string_value(token), json_string_length(token));
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) >= (json_int_t)VOCAB_IDS_MOST) {
        return bpe_fail(r->err, SLUICE_E_CONFIG,
                        "tokenizer.json: the unk_token '%s' is not in the vocabulary; the file is "
                        "damaged",
                        json_string_value(token));
    }
    r->vocab->unk = (uint32_t)json_integer_value(value);
    return SLUICE_OK;
}

static int32_t read_fallback(struct json_reader *r)
{
    struct vocab *v = r->vocab;
    uint32_t id;
    if (v->model != VOCAB_MODEL_CHARS) {
        return SLUICE_OK;
    }
    for (id = 0; id < v->n_tokens; id++) {
        if (v->tokens[id].kind == VOCAB_BYTE) {
            v->fallback[v->bytes[v->tokens[id].at]] = id;
        }
    }
    if (v->meta == VOCAB_META_NONE && r->spaces && !v->lone) {
        return vocab_decode_spaces(v, 1, "", "", r->err);
    }
    return SLUICE_OK;
}

/* The number that tokenizers reads where the file says x: its JSON library (serde_json, de.rs,
 * f64_from_parts) takes the digits as one integer and divides it by a power of ten, which rounds
 * twice and so may miss the nearest double by one. Files hold the shortest digits that name a
 * double. */
static double as_read(double x)
{
    char text[40], power[16], *p;
    uint64_t digits = 0;
    double value = 0, ten;
    int precision, exponent;
    for (precision = 0; precision < 17; precision++) {
        (void)snprintf(text, sizeof(text), "%.*e", precision, x);
        if (strtod(text, NULL) == x) {
            break;
        }
    }
    for (p = text; *p && *p != 'e'; p++) {
        digits = *p >= '0' && *p <= '9' ? digits * 10 + (uint64_t)(*p - '0') : digits;
    }
    exponent = *p ? (int)strtol(p + 1, NULL, 10) - (precision < 17 ? precision : 16) : 0;
    if (exponent < -300 || exponent > 300) {
        return x;
    }
    (void)snprintf(power, sizeof(power), "1e%d", abs(exponent));
    ten = strtod(power, NULL);
    value = exponent < 0 ? (double)digits / ten : (double)digits * ten;
    return x < 0 ? -value : value;
}

static void round_scores(json_t *vocab)
{
    size_t i;
    json_t *pair;
    json_array_foreach(vocab, i, pair)
    {
        json_t *score = json_array_get(pair, 1);
        if (json_is_real(score)) {
            (void)json_real_set(score, as_read(json_real_value(score)));
        }
    }
}

/* Tokens by id, so that they decode and pieces are found. */
static int32_t read_unigram(struct json_reader *r, json_t *model)
{
    struct vocab *v = r->vocab;
    uint32_t id;
    int32_t status;
    round_scores(json_object_get(model, "vocab"));
    status = unigram_read(model, &v->unigram, r->err);
    if (status == SLUICE_OK && unigram_size(v->unigram) > VOCAB_IDS_MOST) {
        return json_malformed(r, "model.vocab (too many pieces)");
    }
    v->byte_fallback = json_is_true(json_object_get(model, "byte_fallback"));
    for (id = 0; status == SLUICE_OK && id < unigram_size(v->unigram); id++) {
        size_t len;
        const char *text = unigram_token(v->unigram, id, &len);
        unsigned b;
        if (len > 0 && v->byte_fallback && vocab_is_byte(text, len, &b)) {
            const uint8_t byte = (uint8_t)b;
            status = vocab_put(v, id, &byte, 1, VOCAB_BYTE, r->err);
        } else if (len > 0) {
            status = vocab_put(v, id, text, len, VOCAB_BYTES, r->err);
        }
    }
    return status == SLUICE_OK ? vocab_decode_spaces(v, r->spaces, "", "", r->err) : status;
}

static int32_t read_wordpiece(struct json_reader *r, json_t *model)
{
    struct vocab *v = r->vocab;
    size_t len;
    const char *prefix;
    int32_t status = wordpiece_read(model, &v->wordpiece, r->err);
    if (status == SLUICE_OK && !json_is_object(r->ids)) {
        return json_malformed(r, "model.vocab");
    }
    if (status == SLUICE_OK) {
        status = read_vocabulary(r);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    prefix = wordpiece_prefix(v->wordpiece, &len);
    return vocab_decode_spaces(v, r->spaces, prefix, "", r->err);
}

int32_t json_read_model(struct json_reader *r, json_t *model)
{
    static const char *const names[] = { "type",
                                         "dropout",
                                         "unk_token",
                                         "continuing_subword_prefix",
                                         "end_of_word_suffix",
                                         "fuse_unk",
                                         "byte_fallback",
                                         "ignore_merges",
                                         "vocab",
                                         "merges",
                                         NULL };
    json_t *merges = json_object_get(model, "merges"), *dropout = json_object_get(model, "dropout"),
           *merge;
    const char *type = json_kind(model);
    size_t i;
    int bad = 0;
    int32_t status;
    if (!json_is_object(model)) {
        return json_malformed(r, "model");
    }
    if (r->vocab->model == VOCAB_MODEL_UNIGRAM) {
        return read_unigram(r, model);
    }
    if (r->vocab->model == VOCAB_MODEL_WORDPIECE) {
        return read_wordpiece(r, model);
    }
    r->prefix = json_affix(model, "continuing_subword_prefix");
    r->suffix = json_affix(model, "end_of_word_suffix");
    if (!r->prefix || !r->suffix) {
        return json_malformed(r, "model.continuing_subword_prefix or end_of_word_suffix");
    }
    if (strcmp(type, "BPE") != 0 && (type[0] || !merges)) { /* old files have no type */
        return json_refuse(r, "the model", type);
    }
    status = json_only(r, model, "model", names);
    if (status != SLUICE_OK) {
        return status;
    }
    if (dropout && !json_is_null(dropout) &&
        !(json_is_number(dropout) && !(json_number_value(dropout) > 0.0))) {
        return bpe_fail(
            r->err, SLUICE_E_CONFIG,
            "tokenizer.json has the model option 'dropout', under which the ids of a text "
            "are drawn by lot; set it to null for the ids that it has without");
    }
    r->vocab->byte_fallback = json_flag(model, "byte_fallback", 0, &bad);
    r->vocab->whole_piece = json_flag(model, "ignore_merges", 0, &bad);
    r->vocab->fuse_unk = json_flag(model, "fuse_unk", 0, &bad);
    if (r->vocab->model == VOCAB_MODEL_BYTES && r->vocab->byte_fallback) {
        /* a byte is a token, or a text with it is refused: there is nothing to fall back from */
        r->vocab->byte_fallback = 0;
    }
    if (bad || !json_is_object(r->ids) || !json_is_array(merges)) {
        return json_malformed(r, "model.vocab or model.merges or an option of model");
    }
    status = read_unknown(r, json_object_get(model, "unk_token"));
    if (status == SLUICE_OK) {
        status = read_vocabulary(r);
    }
    if (status == SLUICE_OK) {
        status = read_lone(r);
    }
    if (status == SLUICE_OK) {
        status = read_fallback(r);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (json_array_size(merges) >= UINT32_MAX / 4) {
        return json_malformed(r, "model.merges");
    }
    r->vocab->merges = malloc((json_array_size(merges) + 1) * sizeof(*r->vocab->merges));
    if (!r->vocab->merges) {
        return bpe_fail_memory(r->err, "a vocabulary");
    }
    json_array_foreach(merges, i, merge)
    {
        status = read_merge(r, merge, i);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}
