/* bpe_model.c — see the header. */
#include "model/bpe_model.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/charbpe.h"
#include "model/wordpiece.h"

void model_scratch_deinit(struct model_scratch *s)
{
    unigram_scratch_deinit(&s->unigram);
    free(s->words);
    memset(s, 0, sizeof(*s));
}

static int32_t need_words(struct model_scratch *s, size_t bytes, struct sluice_error *err)
{
    const size_t words = bytes / sizeof(*s->words) + 1;
    if (s->n_words < words) {
        free(s->words);
        s->n_words = words + words / 2;
        s->words = malloc(s->n_words * sizeof(*s->words));
        if (!s->words) {
            s->n_words = 0;
            return bpe_fail_memory(err, "a long piece of text");
        }
    }
    return SLUICE_OK;
}

static int32_t encode_chars(const struct bpe *bpe, struct model_scratch *s, const uint8_t *p,
                            size_t len, uint32_t *out, size_t *n, struct sluice_error *err)
{
    int32_t status;
    if (len > CHARBPE_WINDOW) {
        status = need_words(s, CHARBPE_LONG_SCRATCH(CHARBPE_WINDOW), err);
        if (status != SLUICE_OK) {
            return status;
        }
        *n = charbpe_merge_long(&bpe->chars, p, len, out, CHARBPE_WINDOW, s->words);
        if (*n != CHARBPE_UNJOINED) {
            return SLUICE_OK;
        }
    }
    status = need_words(s, CHARBPE_SCRATCH(len), err);
    if (status == SLUICE_OK) {
        *n = charbpe_merge(&bpe->chars, p, len, out, s->words);
    }
    return status;
}

int32_t model_encode(const struct bpe *bpe, struct model_scratch *s, const uint8_t *p, size_t len,
                     uint32_t *out, size_t *n, struct sluice_error *err)
{
    if (len >= INT32_MAX) {
        return bpe_fail(err, SLUICE_E_DATA,
                        "a piece of %zu bytes; at most %d can be encoded: cut the document", len,
                        INT32_MAX - 1);
    }
    switch (bpe->vocab.model) {
    case VOCAB_MODEL_UNIGRAM:
        return unigram_encode(bpe->vocab.unigram, &s->unigram, (const char *)p, len, out, len, n,
                              err);
    case VOCAB_MODEL_WORDPIECE:
        return wordpiece_encode(bpe->vocab.wordpiece, (const char *)p, len, out, len, n, err);
    default:
        return encode_chars(bpe, s, p, len, out, n, err);
    }
}
