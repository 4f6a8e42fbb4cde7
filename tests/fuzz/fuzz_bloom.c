/* fuzz_bloom.c — libFuzzer target over the files of Bloom filters, and over the hashes of
 * paragraphs.
 *
 * The first byte chooses: even: the rest is a filter's file; what is read must lie inside of it.
 * Odd: the rest is a text; its hashes must be as long as they say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dedup/bloom.h"
#include "dedup/paragraphs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

static void read_file(const uint8_t *data, size_t size)
{
    struct sluice_error err = { .size = sizeof err };
    struct bloom bloom = { 0 };
    struct sluice_bytes file = { 0 };
    uint64_t *aligned = malloc(size + 8);
    check(aligned != NULL, "memory");
    memcpy(aligned, data, size);
    if (bloom_read(aligned, size, "rule", &bloom, &err) == SLUICE_OK) {
        const char *end = (const char *)aligned + size;
        check((const char *)(bloom.words + bloom.size.bits / 64) + 16 == end, "the bits fill it");
        (void)bloom_has(&bloom, 12345);
    } else {
        check(err.message[0] != '\0', "errors have a message");
    }
    /* The same bits with a head and a sum of our own are a filter. */
    if (size >= 8) {
        bloom = (struct bloom){ .size = bloom_size_for(1 + data[0] % 50u, 0.01) };
        check(bloom_write_head(&bloom, "rule", &file), "memory");
        for (uint64_t i = 0; i < bloom.size.bits / 64; i++) {
            check(sluice_bytes_add(&file, data + i % (size - 7), 8), "memory");
        }
        check(bloom_write_sum(&file), "memory");
        check(bloom_read(file.data, file.size, "rule", &bloom, &err) == SLUICE_OK, "it is read");
        sluice_bytes_free(&file);
    }
    free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sluice_error err = { .size = sizeof err };
    struct paragraphs paragraphs = { 0 };
    struct sluice_bytes out = { 0 };
    if (size < 3) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        read_file(data + 1, size - 1);
        return 0;
    }
    if (paragraphs_hash(&paragraphs, (const char *)data + 3, size - 3, 1 + data[1] % 16u,
                        1 + data[2] % 8u, data[0] % 4 == 1 ? MODE_BFF : MODE_DOLMA, &out,
                        &err) == SLUICE_OK) {
        size_t at = 0;
        while (at < out.size) {
            uint32_t count[2];
            check(out.size - at >= 8, "a head is whole");
            memcpy(count, out.data + at, 8);
            check(count[0] <= (out.size - at - 8) / 8 && count[1] <= (count[0] > 0), "counts fit");
            at += 8 + 8 * (size_t)count[0];
        }
    }
    paragraphs_deinit(&paragraphs);
    sluice_bytes_free(&out);
    return 0;
}
