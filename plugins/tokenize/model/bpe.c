/* bpe.c — loading a vocabulary, and the questions about it that need no text. See bpe.h. */
#include "model/bpe.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpe_error.h"
#include "model/bpe_head.h"
#include "model/bpe_int.h"
#include "model/bpe_text.h"

struct content {
    const struct bpe *bpe;
    struct text_scratch scratch;
};

static int32_t normalize_content(void *context, const uint8_t *text, size_t len,
                                 const uint8_t **out, size_t *out_len, struct sluice_error *err)
{
    struct content *c = context;
    *out = text;
    *out_len = len;
    return text_normalize(c->bpe, &c->scratch, 0, out, out_len, err);
}

/* What can refuse the vocabulary. */
static int32_t check(struct bpe *bpe, struct sluice_error *err)
{
    switch (bpe->vocab.model) {
    case VOCAB_MODEL_BYTES:
        return token_index_init(&bpe->index, &bpe->vocab, err);
    case VOCAB_MODEL_CHARS:
        return charbpe_init(&bpe->chars, &bpe->vocab, err);
    default:
        return SLUICE_OK;
    }
}

int32_t bpe_build(const struct bpe *which, struct sluice_error *err)
{
    struct bpe *bpe = (struct bpe *)(uintptr_t)which; /* bpe_load made it: it is not const */
    int32_t status = SLUICE_OK;
    if (atomic_load_explicit(&bpe->built, memory_order_acquire)) {
        return SLUICE_OK;
    }
    pthread_mutex_lock(&bpe->building);
    if (!atomic_load_explicit(&bpe->built, memory_order_relaxed)) {
        status = bpe->vocab.model == VOCAB_MODEL_BYTES
                     ? merges_init(&bpe->merges, &bpe->vocab, &bpe->index, err)
                     : merges_init_model(&bpe->merges, bpe, err);
        if (status == SLUICE_OK) {
            token_index_deinit(&bpe->index);
            atomic_store_explicit(&bpe->built, true, memory_order_release);
        } else {
            merges_deinit(&bpe->merges);
        }
    }
    pthread_mutex_unlock(&bpe->building);
    return status;
}

static int32_t load(struct bpe *bpe, const void *data, size_t size,
                    const struct bpe_options *options, struct sluice_error *err)
{
    struct content content;
    int32_t status = pretoken_init(&bpe->pretoken, err);
    if (status == SLUICE_OK) {
        status = vocab_load(&bpe->vocab, &bpe->pretoken, data, size, options, err);
    }
    if (status == SLUICE_OK) {
        status = check(bpe, err);
    }
    if (status == SLUICE_OK && bpe->vocab.nfc) {
        status = nfc_init(&bpe->nfc, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    memset(&content, 0, sizeof(content));
    content.bpe = bpe;
    status = text_scratch_init(bpe, &content.scratch, err);
    if (status != SLUICE_OK) {
        return status;
    }
    status = added_init(&bpe->added, &bpe->vocab, options->specials == BPE_SPECIALS_ORDINARY,
                        text_has_normalizer(&bpe->vocab) ? normalize_content : NULL, &content, err);
    text_scratch_deinit(&content.scratch);
    bpe->specials = options->specials;
    bpe->size = bpe->vocab.n_tokens;
    if (bpe->vocab.n_added > 0 && bpe->vocab.added[bpe->vocab.n_added - 1].id >= bpe->size) {
        bpe->size = bpe->vocab.added[bpe->vocab.n_added - 1].id + 1;
    }
    return status;
}

int32_t bpe_load(const void *data, size_t size, const struct bpe_options *options, struct bpe **out,
                 struct sluice_error *err)
{
    static const struct bpe_options none;
    struct bpe *bpe = calloc(1, sizeof(*bpe));
    int32_t status;
    XXH128_hash_t hash;
    *out = NULL;
    if (!bpe) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    pthread_mutex_init(&bpe->building, NULL);
    hash = XXH3_128bits(data, size);
    bpe->hash[0] = hash.low64;
    bpe->hash[1] = hash.high64;
    status = load(bpe, data, size, options ? options : &none, err);
    if (status != SLUICE_OK) {
        bpe_destroy(bpe);
        return status;
    }
    *out = bpe;
    return SLUICE_OK;
}

void bpe_destroy(struct bpe *bpe)
{
    if (bpe) {
        trained_head_deinit(&bpe->trained);
        added_deinit(&bpe->added);
        nfc_deinit(&bpe->nfc);
        merges_deinit(&bpe->merges);
        token_index_deinit(&bpe->index);
        pthread_mutex_destroy(&bpe->building);
        charbpe_deinit(&bpe->chars);
        vocab_deinit(&bpe->vocab);
        pretoken_deinit(&bpe->pretoken);
        free(bpe);
    }
}

uint32_t bpe_vocab_size(const struct bpe *bpe)
{
    return bpe->size;
}

/* The added token with this id, or NULL. The arena keeps a terminator behind each content. */
static const struct vocab_added *added_by_id(const struct bpe *bpe, uint32_t id)
{
    size_t lo = 0, hi = bpe->vocab.n_added;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (bpe->vocab.added[mid].id < id) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < bpe->vocab.n_added && bpe->vocab.added[lo].id == id ? &bpe->vocab.added[lo] : NULL;
}

int32_t bpe_special_id(const struct bpe *bpe, const char *content, uint32_t *id)
{
    size_t i;
    for (i = 0; i < bpe->vocab.n_added; i++) {
        if (strcmp((const char *)bpe->vocab.bytes + bpe->vocab.added[i].at, content) == 0) {
            *id = bpe->vocab.added[i].id;
            return SLUICE_OK;
        }
    }
    return SLUICE_E_CONFIG;
}

int32_t bpe_special_at(const struct bpe *bpe, size_t n, const char **content, uint32_t *id,
                       int *special)
{
    const struct vocab_added *token;
    if (n >= bpe->vocab.n_added) {
        return SLUICE_E_CONFIG;
    }
    token = &bpe->vocab.added[n];
    if (content) {
        *content = (const char *)bpe->vocab.bytes + token->at;
    }
    if (id) {
        *id = token->id;
    }
    if (special) {
        *special = token->special;
    }
    return SLUICE_OK;
}

static int32_t edge(const struct bpe *bpe, uint32_t which, uint32_t *id, const char **content)
{
    const struct vocab_added *token = which == VOCAB_NONE ? NULL : added_by_id(bpe, which);
    if (!token) {
        return SLUICE_E_CONFIG;
    }
    *id = which;
    if (content) {
        *content = (const char *)bpe->vocab.bytes + token->at;
    }
    return SLUICE_OK;
}

int32_t bpe_eos(const struct bpe *bpe, uint32_t *id, const char **content)
{
    return edge(bpe, bpe->vocab.eos, id, content);
}

int32_t bpe_bos(const struct bpe *bpe, uint32_t *id, const char **content)
{
    return edge(bpe, bpe->vocab.bos, id, content);
}

int32_t bpe_decode_token(const struct bpe *bpe, uint32_t id, const char **bytes, size_t *len)
{
    const struct vocab_added *added = added_by_id(bpe, id);
    if (added) {
        *bytes = (const char *)bpe->vocab.bytes + added->at;
        *len = added->len;
        return SLUICE_OK;
    }
    if (id >= bpe->vocab.n_tokens || bpe->vocab.tokens[id].kind == VOCAB_ABSENT) {
        return SLUICE_E_DATA;
    }
    if (bpe->vocab.decoded && bpe->vocab.decoded[id].changed) {
        *bytes = (const char *)bpe->vocab.bytes + bpe->vocab.decoded[id].at;
        *len = bpe->vocab.decoded[id].len;
        return SLUICE_OK;
    }
    *bytes = (const char *)bpe->vocab.bytes + bpe->vocab.tokens[id].at;
    *len = bpe->vocab.tokens[id].len;
    return SLUICE_OK;
}

size_t bpe_memory(const struct bpe *bpe)
{
    return sizeof(*bpe) + bpe->merges.bytes + bpe->chars.bytes + bpe->vocab.cap_bytes +
           bpe->vocab.cap_tokens * sizeof(struct vocab_token) +
           bpe->vocab.n_merges * sizeof(struct vocab_merge) + bpe->pretoken.unicode.n_blocks * 512 +
           nfc_memory(&bpe->nfc) + text_memory(&bpe->vocab);
}

size_t bpe_encode_bound(const struct bpe *bpe, size_t len)
{
    const struct vocab *v = &bpe->vocab;
    const int front = v->prefix_space || v->meta_front || v->meta_prepend != VOCAB_PREPEND_NEVER;
    const int parts = bpe->added.pass[0].active || bpe->added.pass[1].active;
    if (v->model == VOCAB_MODEL_BYTES ? v->normalizer != NULL : text_is_general(v)) {
        return text_bound(bpe, len, parts);
    }
    /* each part between added tokens may get a space in front, and has a byte itself */
    size_t factor = (v->nfc ? 3u : 1u) + (front && parts ? 1u : 0u);
    if (len > (SIZE_MAX - 1) / factor) {
        return SIZE_MAX;
    }
    return len * factor + (front ? 1u : 0u);
}
