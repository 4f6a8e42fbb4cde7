/* vocab.c — what the readers of all kinds of files put their tokens into. See the header. */
#include "vocab/vocab.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "bpe_error.h"
#include "normalize/normalizer.h"
#include "split/splitter.h"
#include "model/unigram.h"
#include "model/wordpiece.h"

static int32_t arena_put(struct vocab *v, const void *bytes, size_t len, size_t *at,
                         struct sluice_error *err)
{
    if (v->cap_bytes - v->n_bytes < len) {
        size_t cap = v->cap_bytes * 2 + len + 4096;
        uint8_t *grown = realloc(v->bytes, cap);
        if (!grown) {
            return bpe_fail_memory(err, "a vocabulary");
        }
        v->bytes = grown;
        v->cap_bytes = cap;
    }
    memcpy(v->bytes + v->n_bytes, bytes, len);
    *at = v->n_bytes;
    v->n_bytes += len;
    return SLUICE_OK;
}

int32_t vocab_put(struct vocab *v, uint32_t id, const void *bytes, size_t len, enum vocab_kind kind,
                  struct sluice_error *err)
{
    int32_t status;
    if (id >= VOCAB_IDS_MOST) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "token id %u is beyond %u, the highest this engine takes", id,
                        VOCAB_IDS_MOST - 1);
    }
    if (len == 0 || len > VOCAB_TOKEN_MOST) {
        return bpe_fail(err, SLUICE_E_CONFIG, "token %u has %zu bytes; a token has 1 to %u", id,
                        len, VOCAB_TOKEN_MOST);
    }
    if (id >= v->cap_tokens) {
        uint32_t cap = id + id / 2 + 1024;
        struct vocab_token *grown = realloc(v->tokens, cap * sizeof(*grown));
        if (!grown) {
            return bpe_fail_memory(err, "a vocabulary");
        }
        memset(grown + v->cap_tokens, 0, (cap - v->cap_tokens) * sizeof(*grown));
        v->tokens = grown;
        v->cap_tokens = cap;
    }
    if (v->tokens[id].kind != VOCAB_ABSENT) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "two tokens have the id %u; ids must be distinct, the file is damaged", id);
    }
    status = arena_put(v, bytes, len, &v->tokens[id].at, err);
    if (status != SLUICE_OK) {
        return status;
    }
    v->tokens[id].len = (uint32_t)len;
    v->tokens[id].kind = kind;
    if (id >= v->n_tokens) {
        v->n_tokens = id + 1;
    }
    if (kind == VOCAB_BYTES && len == 1 && v->model == VOCAB_MODEL_BYTES) {
        uint32_t *byte = &v->byte_id[*(const uint8_t *)bytes];
        if (*byte != VOCAB_NONE) {
            return bpe_fail(err, SLUICE_E_CONFIG,
                            "tokens %u and %u are both byte 0x%02x; the file is damaged", *byte, id,
                            *(const uint8_t *)bytes);
        }
        *byte = id;
    }
    return SLUICE_OK;
}

int vocab_is_byte(const char *text, size_t len, unsigned *b)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *high, *low;
    if (len != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>' || !text[3] || !text[4]) {
        return 0;
    }
    high = strchr(digits, text[3]);
    low = strchr(digits, text[4]);
    if (!high || !low) {
        return 0;
    }
    *b = (unsigned)(high - digits) << 4 | (unsigned)(low - digits);
    return 1;
}

int32_t vocab_check_added(size_t n, struct sluice_error *err)
{
    return n <= VOCAB_ADDED_MOST
               ? SLUICE_OK
               : bpe_fail(err, SLUICE_E_CONFIG,
                          "more than %u added tokens; this engine takes no more", VOCAB_ADDED_MOST);
}

int32_t vocab_put_added(struct vocab *v, const char *content, size_t len,
                        const struct vocab_added *like, struct sluice_error *err)
{
    uint64_t hash;
    size_t i;
    int32_t status;
    if (len == 0 || len > VOCAB_TOKEN_MOST || memchr(content, '\0', len)) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "added token %u has %zu bytes or a NUL; it needs 1 to %u and none",
                        like->id, len, VOCAB_TOKEN_MOST);
    }
    if (like->id >= VOCAB_IDS_MOST) {
        return bpe_fail(
            err, SLUICE_E_CONFIG,
            "the id %u of added token '%.*s' is beyond %u, the highest this engine takes", like->id,
            (int)len, content, VOCAB_IDS_MOST - 1);
    }
    status = vocab_check_added(v->n_added + 1, err);
    if (status != SLUICE_OK) {
        return status;
    }
    hash = XXH3_64bits(content, len);
    for (i = 0; i < v->n_added; i++) {
        if (v->added[i].hash == hash && v->added[i].len == len &&
            memcmp(v->bytes + v->added[i].at, content, len) == 0) {
            return bpe_fail(err, SLUICE_E_CONFIG, "added token '%.*s' stands twice; remove one",
                            (int)len, content);
        }
    }
    if (v->n_added == v->cap_added) {
        size_t cap = v->cap_added * 2 + 16;
        struct vocab_added *grown = realloc(v->added, cap * sizeof(*grown));
        if (!grown) {
            return bpe_fail_memory(err, "a vocabulary");
        }
        v->added = grown;
        v->cap_added = cap;
    }
    v->added[v->n_added] = *like;
    v->added[v->n_added].len = (uint32_t)len;
    v->added[v->n_added].hash = hash;
    status = arena_put(v, content, len, &v->added[v->n_added].at, err);
    if (status == SLUICE_OK) {
        size_t at;
        status = arena_put(v, "", 1, &at, err); /* callers get the content as a string */
    }
    if (status == SLUICE_OK) {
        v->n_added++;
    }
    return status;
}

int32_t vocab_decode_spaces(struct vocab *v, int spaces, const char *prefix, const char *suffix,
                            struct sluice_error *err)
{
    const size_t n_prefix = strlen(prefix), n_suffix = strlen(suffix);
    uint32_t id;
    v->decoded = calloc((size_t)v->n_tokens + 1, sizeof(*v->decoded));
    if (!v->decoded) {
        return bpe_fail_memory(err, "a vocabulary");
    }
    for (id = 0; id < v->n_tokens; id++) {
        struct vocab_decoded *decoded = &v->decoded[id];
        uint8_t out[VOCAB_TOKEN_MOST];
        const uint8_t *p = v->bytes + v->tokens[id].at, *end = p + v->tokens[id].len;
        size_t n = 0;
        int32_t status;
        if (v->tokens[id].kind != VOCAB_BYTES) {
            continue;
        }
        if (n_prefix > 0 && (size_t)(end - p) > n_prefix && memcmp(p, prefix, n_prefix) == 0) {
            p += n_prefix;
            decoded->changed = 1;
        }
        if (n_suffix > 0 && (size_t)(end - p) >= n_suffix &&
            memcmp(end - n_suffix, suffix, n_suffix) == 0) {
            end -= n_suffix;
            decoded->changed = 1;
        }
        while (p < end) {
            if (spaces && end - p >= 3 && memcmp(p, VOCAB_SPACE, 3) == 0) {
                out[n++] = ' ';
                p += 3;
                decoded->changed = 1;
            } else {
                out[n++] = *p++;
            }
        }
        if (decoded->changed) {
            decoded->len = (uint32_t)n;
            status = arena_put(v, out, n, &decoded->at, err);
            if (status != SLUICE_OK) {
                return status;
            }
        }
    }
    return SLUICE_OK;
}

void vocab_deinit(struct vocab *v)
{
    normalizer_destroy(v->normalizer);
    splitter_destroy(v->splitter);
    unigram_destroy(v->unigram);
    wordpiece_destroy(v->wordpiece);
    free(v->decoded);
    free(v->lone);
    free(v->bytes);
    free(v->tokens);
    free(v->merges);
    free(v->added);
    memset(v, 0, sizeof(*v));
}
