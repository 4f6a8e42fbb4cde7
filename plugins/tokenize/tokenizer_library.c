/* tokenizer_library.c — the functions of sdk/sluice_tokenizer.h over bpe.h. Owns nothing: a
 * sluice_tokenizer is a struct bpe, a sluice_encoder a struct bpe_worker, a training a struct
 * bpe_training. */
#include "sluice_tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/bpe.h"
#include "bpe_error.h"

static const struct bpe *bpe_of(const struct sluice_tokenizer *tokenizer)
{
    return (const struct bpe *)(const void *)tokenizer;
}

static struct bpe_worker *worker_of(struct sluice_encoder *encoder)
{
    return (struct bpe_worker *)(void *)encoder;
}

int32_t sluice_tokenizer_load(const void *data, size_t size,
                              const struct sluice_tokenizer_options *options,
                              struct sluice_tokenizer **out, struct sluice_error *err)
{
    struct sluice_tokenizer_options given = { 0 };
    struct bpe_options how = { 0 };
    struct bpe *bpe = NULL;
    int32_t status;
    *out = NULL;
    if (options) {
        memcpy(&given, options,
               options->size < sizeof(given) ? (size_t)options->size : sizeof(given));
    }
    if (given.specials < SLUICE_SPECIALS_ORDINARY || given.specials > SLUICE_SPECIALS_REFUSE) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "found specials = %d, expected one of SLUICE_SPECIALS_ORDINARY, _ALLOW and "
                        "_REFUSE",
                        given.specials);
    }
    how.pattern = given.pattern;
    how.specials = (enum bpe_specials)given.specials;
    status = bpe_load(data, size, &how, &bpe, err);
    *out = (struct sluice_tokenizer *)(void *)bpe;
    return status;
}

static int32_t fail_file(const char *path, int why, struct sluice_error *err)
{
    return bpe_fail(err, SLUICE_E_IO, "can't read %s: %s", path, strerror(why));
}

int32_t sluice_tokenizer_open(const char *path, const struct sluice_tokenizer_options *options,
                              struct sluice_tokenizer **out, struct sluice_error *err)
{
    char *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    int32_t status = SLUICE_OK;
    FILE *file = fopen(path, "rb");
    *out = NULL;
    if (!file) {
        return fail_file(path, errno, err);
    }
    while (status == SLUICE_OK && got > 0) {
        if (size == capacity) {
            char *grown = realloc(data, capacity = capacity * 2 + 65536);
            if (!grown) {
                status = bpe_fail_memory(err, "a vocabulary");
                break;
            }
            data = grown;
        }
        errno = 0;
        got = fread(data + size, 1, capacity - size, file);
        size += got;
        if (ferror(file)) {
            status = fail_file(path, errno, err);
        }
    }
    (void)fclose(file);
    if (status == SLUICE_OK) {
        status = sluice_tokenizer_load(data, size, options, out, err);
    }
    free(data);
    return status;
}

void sluice_tokenizer_destroy(struct sluice_tokenizer *tokenizer)
{
    bpe_destroy((struct bpe *)(void *)tokenizer);
}

int32_t sluice_tokenizer_head_open(struct sluice_tokenizer *tokenizer, const char *path,
                                   struct sluice_error *err)
{
    return bpe_head_open((struct bpe *)(void *)tokenizer, path, err);
}

int32_t sluice_tokenizer_training_create(const struct sluice_tokenizer *tokenizer,
                                         struct sluice_tokenizer_training **out,
                                         struct sluice_error *err)
{
    struct bpe_training *training = NULL;
    int32_t status = bpe_training_create(bpe_of(tokenizer), &training, err);
    *out = (struct sluice_tokenizer_training *)(void *)training;
    return status;
}

void sluice_tokenizer_training_destroy(struct sluice_tokenizer_training *training)
{
    bpe_training_destroy((struct bpe_training *)(void *)training);
}

int32_t sluice_tokenizer_training_add(struct sluice_tokenizer_training *training, const char *text,
                                      size_t length, struct sluice_error *err)
{
    return bpe_training_add((struct bpe_training *)(void *)training, text, length, err);
}

int32_t sluice_tokenizer_training_write(struct sluice_tokenizer_training *training, size_t most,
                                        const char *path, struct sluice_error *err)
{
    return bpe_training_write((struct bpe_training *)(void *)training, most, path, err);
}

uint32_t sluice_tokenizer_vocab_size(const struct sluice_tokenizer *tokenizer)
{
    return bpe_vocab_size(bpe_of(tokenizer));
}

int32_t sluice_tokenizer_special(const struct sluice_tokenizer *tokenizer, const char *content,
                                 uint32_t *id)
{
    return bpe_special_id(bpe_of(tokenizer), content, id);
}

int32_t sluice_tokenizer_eos(const struct sluice_tokenizer *tokenizer, uint32_t *id)
{
    return bpe_eos(bpe_of(tokenizer), id, NULL);
}

int32_t sluice_tokenizer_bos(const struct sluice_tokenizer *tokenizer, uint32_t *id)
{
    return bpe_bos(bpe_of(tokenizer), id, NULL);
}

int32_t sluice_tokenizer_token(const struct sluice_tokenizer *tokenizer, uint32_t id,
                               const char **bytes, size_t *length)
{
    return bpe_decode_token(bpe_of(tokenizer), id, bytes, length);
}

size_t sluice_tokenizer_bound(const struct sluice_tokenizer *tokenizer, size_t length)
{
    return bpe_encode_bound(bpe_of(tokenizer), length);
}

int32_t sluice_encoder_create(const struct sluice_tokenizer *tokenizer, size_t cache_bytes,
                              struct sluice_encoder **out, struct sluice_error *err)
{
    struct bpe_worker *worker = NULL;
    int32_t status = bpe_worker_create(bpe_of(tokenizer), cache_bytes, &worker, err);
    *out = (struct sluice_encoder *)(void *)worker;
    return status;
}

void sluice_encoder_destroy(struct sluice_encoder *encoder)
{
    bpe_worker_destroy(worker_of(encoder));
}

int32_t sluice_encode(struct sluice_encoder *encoder, const char *text, size_t length,
                      uint32_t *ids, size_t capacity, size_t *n, struct sluice_error *err)
{
    return bpe_encode(worker_of(encoder), text, length, ids, capacity, n, err);
}

int32_t sluice_encode16(struct sluice_encoder *encoder, const char *text, size_t length,
                        uint16_t *ids, size_t capacity, size_t *n, struct sluice_error *err)
{
    return bpe_encode16(worker_of(encoder), text, length, ids, capacity, n, err);
}

int32_t sluice_encode_offsets(struct sluice_encoder *encoder, const char *text, size_t length,
                              uint32_t *ids, uint64_t *offsets, size_t capacity, size_t *n,
                              struct sluice_error *err)
{
    return bpe_encode_offsets(worker_of(encoder), text, length, ids, offsets, capacity, n, err);
}

int32_t sluice_encode_some(struct sluice_encoder *encoder, const char *text, size_t length,
                           uint32_t *ids, size_t capacity, size_t *n, size_t *used,
                           struct sluice_error *err)
{
    return bpe_encode_some(worker_of(encoder), text, length, ids, capacity, n, used, err);
}

void sluice_encoder_count(const struct sluice_encoder *encoder, struct sluice_encoder_counts *out)
{
    struct sluice_encoder_counts filled = { .size = out->size };
    struct bpe_counts counts;
    bpe_worker_counts((const struct bpe_worker *)(const void *)encoder, &counts);
    filled.pieces = counts.pieces;
    filled.head_hits = counts.head_hits;
    filled.tail_hits = counts.tail_hits;
    filled.cache_bytes = counts.cache_bytes;
    filled.cache_bytes_most = counts.cache_bytes_most;
    filled.scratch_bytes = counts.scratch_bytes;
    memcpy(out, &filled, out->size < sizeof(filled) ? (size_t)out->size : sizeof(filled));
}
