/* fuzz_head.c — libFuzzer target over the file of a trained head.
 *
 * The first byte chooses: even: the rest is a whole file. Odd: the rest is put over a good head of
 * the built-in vocabulary from the place on that its first two bytes say, and the header's sum is
 * made right again, so that the entries themselves are reached. Whatever is taken must not change
 * an id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/bpe.h"
#include "model/bpe_trained.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IDS 256

static const char sample[] =
    "the the  that they aaaa aaaaa a a there the, the. xyz xyz\n\n\n the (the)";

static void check(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

static struct bpe *load(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct bpe_options options = {
        .pattern = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\s+(?!\\S)|\\s|[^\\s\\p{L}]"
    };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    char file[8192];
    size_t at = 0;
    for (size_t i = 0; i < 256; i++) {
        at += (size_t)snprintf(file + at, sizeof(file) - at, "%c%c== %zu\n", digits[i >> 2],
                               digits[(i & 3) << 4], i);
    }
    at +=
        (size_t)snprintf(file + at, sizeof(file) - at, "dGg= 256\ndGhl 257\nIHQ= 258\nYWE= 259\n");
    check(bpe_load(file, at, &options, &bpe, &err) == SLUICE_OK, "the vocabulary loads");
    return bpe;
}

static size_t encode(const struct bpe *bpe, uint32_t *ids)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    size_t n = 0;
    check(bpe_worker_create(bpe, 1, &worker, &err) == SLUICE_OK &&
              bpe_encode(worker, sample, sizeof(sample) - 1, ids, IDS, &n, &err) == SLUICE_OK,
          "the sample is encoded");
    bpe_worker_destroy(worker);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = load();
    uint32_t plain[IDS], with[IDS];
    const size_t n = encode(bpe, plain);
    struct bpe_training *training = NULL;
    void *head = NULL;
    size_t bytes = 0;
    int32_t status;
    if (size > 3 && data[0] % 2 == 1) {
        const size_t place = (size_t)data[1] << 8 | data[2];
        check(bpe_training_create(bpe, &training, &err) == SLUICE_OK &&
                  bpe_training_add(training, sample, sizeof(sample) - 1, &err) == SLUICE_OK &&
                  bpe_training_make(training, 0, &head, &bytes, &err) == SLUICE_OK,
              "a head is made");
        bpe_training_destroy(training);
        for (size_t i = 3; i < size; i++) { /* only over what is there: places are mostly empty */
            ((uint8_t *)head)[(place * 32 + i - 3) % bytes] = data[i];
        }
        {
            const uint64_t sum = XXH3_64bits((uint8_t *)head + HEAD_HEADER, bytes - HEAD_HEADER);
            memcpy((uint8_t *)head + offsetof(struct head_header, sum), &sum, sizeof(sum));
        }
        status = bpe_head_use(bpe, head, bytes, &err);
    } else {
        status = size > 0 ? bpe_head_use(bpe, data + 1, size - 1, &err) : SLUICE_E_CONFIG;
    }
    check(status == SLUICE_OK || err.message[0] != '\0' || size == 0, "errors have a message");
    check(encode(bpe, with) == n && memcmp(plain, with, n * sizeof(*plain)) == 0,
          "a head changes no id");
    bpe_destroy(bpe);
    free(head);
    return 0;
}
