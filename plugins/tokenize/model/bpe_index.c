/* bpe_index.c — see the header. */
#include "model/bpe_index.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpe_error.h"
#include "model/bpe_cache.h"

/* The TOKEN_SHORT bytes from the n-th on keep all but the last n bytes. */
static const uint8_t masks[2 * TOKEN_SHORT] = { 255, 255, 255, 255, 255, 255, 255, 255 };

/* The place of the token with these bytes, or the empty one where it belongs. */
static struct token_slot *find(const struct token_index *index, const struct vocab *v,
                               const uint8_t *p, size_t len, uint64_t hash, uint64_t key)
{
    for (size_t at = (size_t)(hash >> index->shift);; at = (at + 1) & index->mask) {
        struct token_slot *slot = &index->slots[at];
        if (slot->id == VOCAB_NONE ||
            (slot->key == key && slot->len == len &&
             (len <= TOKEN_SHORT || memcmp(v->bytes + v->tokens[slot->id].at, p, len) == 0))) {
            return slot;
        }
    }
}

static inline uint64_t hash_of(const uint8_t *p, size_t len, uint64_t *key)
{
    if (len <= TOKEN_SHORT) {
        uint64_t mask;
        memcpy(&mask, masks + TOKEN_SHORT - len, sizeof(mask));
        memcpy(key, p, sizeof(*key));
        *key &= mask;
    } else {
        *key = XXH3_64bits(p, len);
    }
    return (*key + len) * UINT64_C(0x9E3779B97F4A7C15);
}

int32_t token_index_init(struct token_index *index, const struct vocab *v, struct sluice_error *err)
{
    size_t size = 16;
    index->shift = 60;
    while (size < 2 * (size_t)v->n_tokens) {
        size *= 2;
        index->shift--;
    }
    index->mask = size - 1;
    index->slots = cache_memory(size * sizeof(*index->slots));
    index->some = calloc(size / 8, sizeof(*index->some));
    if (!index->slots || !index->some) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    memset(index->slots, 0xFF, size * sizeof(*index->slots));
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        const struct vocab_token *token = &v->tokens[id];
        uint8_t bytes[TOKEN_SHORT] = { 0 };
        struct token_slot *slot;
        uint64_t hash, key;
        size_t bit;
        if (token->kind != VOCAB_BYTES) {
            continue;
        }
        memcpy(bytes, v->bytes + token->at, token->len < TOKEN_SHORT ? token->len : TOKEN_SHORT);
        hash = hash_of(token->len < TOKEN_SHORT ? bytes : v->bytes + token->at, token->len, &key);
        slot = find(index, v, v->bytes + token->at, token->len, hash, key);
        if (slot->id != VOCAB_NONE) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "two tokens have the bytes of token %u; the file is damaged", id);
        }
        *slot = (struct token_slot){ key, token->len, id };
        bit = (size_t)(hash >> (index->shift - 3));
        index->some[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return SLUICE_OK;
}

void token_index_deinit(struct token_index *index)
{
    free(index->slots);
    free(index->some);
    memset(index, 0, sizeof(*index));
}

uint32_t token_index_find(const struct token_index *index, const struct vocab *v, const uint8_t *p,
                          size_t len)
{
    uint64_t key;
    const uint64_t hash = hash_of(p, len, &key);
    const size_t bit = (size_t)(hash >> (index->shift - 3));
    return index->some[bit / 64] >> bit % 64 & 1 ? find(index, v, p, len, hash, key)->id
                                                 : VOCAB_NONE;
}
