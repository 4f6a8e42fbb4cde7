/* bpe_head.c — see the header. */
#include "model/bpe_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpe_error.h"
#include "model/bpe_model.h"

void *merges_table(struct merges *m, size_t n, size_t size, int fill)
{
    void *memory = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (memory) {
        memset(memory, fill, n * size);
        m->bytes += n * size;
    }
    return memory;
}

size_t merges_room(size_t n)
{
    size_t cap = 16;
    while (cap < 2 * n) {
        cap *= 2;
    }
    return cap;
}

static unsigned merges_shift(size_t cap)
{
    unsigned shift = 64;
    while (cap > 1) {
        cap /= 2;
        shift--;
    }
    return shift;
}

/* The key of a piece that token `id` is looked up by; the length is in its top byte. 0 for a token
 * longer than PIECE_SHORT, or one that no piece can look like. */
static int key_of_token(const struct vocab *v, uint32_t id, struct piece_key *key)
{
    const struct vocab_token *token = &v->tokens[id];
    const uint8_t *bytes = v->bytes + token->at;
    char spelling[16];
    size_t len = token->len;
    if (token->kind == VOCAB_BYTE && v->whole_piece) { /* a piece may have its very letters */
        len = (size_t)snprintf(spelling, sizeof(spelling), "<0x%02X>", *bytes);
        bytes = (const uint8_t *)spelling;
    } else if (token->kind != VOCAB_BYTES || len > PIECE_SHORT) {
        return 0;
    }
    memset(key, 0, sizeof(*key));
    memcpy(key, bytes, len); /* the struct is the 16 bytes in order */
    key->high |= (uint64_t)len << 56;
    return 1;
}

/* Puts a piece into the head, with what it becomes. 0 when its set is full. */
static int put_head(struct merges *m, struct piece_key key, const uint32_t *ids, size_t n)
{
    struct piece_entry entry = { .key = key };
    struct piece_entry *set = &m->head[2 * (size_t)(piece_hash(key) >> m->head_shift)];
    if (n == 0 || n > PIECE_IDS) {
        return 1; /* merged when it is met */
    }
    memcpy(entry.ids, ids, n * sizeof(*ids));
    entry.ids[0] |= (uint32_t)n << PIECE_COUNT_SHIFT;
    set += set[0].key.high != 0;
    if (set->key.high != 0) {
        return 0;
    }
    *set = entry;
    return 1;
}

static void put_long(struct merges *m, const struct vocab *v, uint32_t id)
{
    const struct vocab_token *token = &v->tokens[id];
    size_t at = (size_t)XXH3_64bits(v->bytes + token->at, token->len) & m->long_mask;
    while (m->long_ids[at] != MERGE_NONE) {
        at = (at + 1) & m->long_mask;
    }
    m->long_ids[at] = id;
    m->long_most = token->len > m->long_most ? token->len : m->long_most;
}

/* Those that are one token and found no room in the head. */
static int32_t index_left(struct merges *m, const struct vocab *v, const uint32_t *left, size_t n,
                          struct sluice_error *err)
{
    const size_t cap = merges_room(n);
    m->short_keys = merges_table(m, cap, sizeof(*m->short_keys), 0);
    m->short_ids = merges_table(m, cap, sizeof(*m->short_ids), 0);
    if (!m->short_keys || !m->short_ids) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    m->short_mask = cap - 1;
    m->short_shift = merges_shift(cap);
    while (n > 0) {
        struct piece_key key;
        size_t at;
        if (!key_of_token(v, left[--n], &key)) {
            continue;
        }
        for (at = (size_t)(piece_hash(key) >> m->short_shift); m->short_keys[at].high;
             at = (at + 1) & m->short_mask) {
        }
        m->short_keys[at] = key;
        m->short_ids[at] = left[n];
    }
    return SLUICE_OK;
}

/* Tokens whose set of the head is fetched while this many others are put: it is larger than caches
 * are. */
#define AHEAD 12u

/* Ids go in rising: the frequent first. */
int32_t merges_index_pieces(struct merges *m, const struct vocab *v, head_become *become,
                            void *context, struct sluice_error *err)
{
    size_t n_short = 0, n_long = 0, n_left = 0, cap;
    uint32_t id, *left, ids[VOCAB_TOKEN_MOST];
    struct piece_key key, ahead;
    int32_t status;
    for (id = 0; id < v->n_tokens; id++) {
        n_short += (size_t)key_of_token(v, id, &key);
        n_long += v->tokens[id].kind == VOCAB_BYTES && v->tokens[id].len > PIECE_SHORT;
    }
    cap = merges_room(n_short);
    m->head = cache_memory(cap * sizeof(*m->head));
    m->head_shift = merges_shift(cap / 2);
    m->bytes += cap * sizeof(*m->head);
    cap = merges_room(n_long);
    m->long_ids = merges_table(m, cap, sizeof(*m->long_ids), 0xFF);
    m->long_mask = cap - 1;
    left = malloc((n_short + 1) * sizeof(*left));
    if (!m->head || !m->long_ids || !left) {
        free(left);
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (id = 0; id < v->n_tokens; id++) {
        const int is_short = key_of_token(v, id, &key);
        size_t n;
        if (id + AHEAD < v->n_tokens && key_of_token(v, id + AHEAD, &ahead)) {
            __builtin_prefetch(&m->head[2 * (size_t)(piece_hash(ahead) >> m->head_shift)], 1);
        }
        if (!is_short && v->tokens[id].kind != VOCAB_BYTES) {
            continue;
        }
        n = become(context, id, ids);
        if (!is_short) {
            if (n == 1 && ids[0] == id) {
                put_long(m, v, id);
            }
        } else if (!put_head(m, key, ids, n) && n == 1 && ids[0] == id) {
            left[n_left++] = id;
        }
    }
    status = index_left(m, v, left, n_left, err);
    free(left);
    return status;
}

/* ---- models over characters ---- */

struct become_model {
    const struct bpe *bpe;
    struct model_scratch scratch;
};

static size_t become_model(void *context, uint32_t id, uint32_t *out)
{
    struct become_model *b = context;
    const struct vocab *v = &b->bpe->vocab;
    size_t n = 0;
    out[0] = id;
    if (v->whole_piece) {
        return 1;
    }
    return model_encode(b->bpe, &b->scratch, v->bytes + v->tokens[id].at, v->tokens[id].len, out,
                        &n, NULL) == SLUICE_OK
               ? n
               : 0;
}

int32_t merges_init_model(struct merges *m, const struct bpe *bpe, struct sluice_error *err)
{
    struct become_model b;
    int32_t status;
    memset(m, 0, sizeof(*m));
    memset(&b, 0, sizeof(b));
    b.bpe = bpe;
    status = merges_index_pieces(m, &bpe->vocab, become_model, &b, err);
    model_scratch_deinit(&b.scratch);
    return status;
}
