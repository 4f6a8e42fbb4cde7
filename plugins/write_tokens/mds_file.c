/* Shards of MDS as files: see mds_file.h. */
#include "mds_file.h"

#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#define LEVEL_DEFAULT 3 /* what "zstd" alone means there */
#define DIGEST_MOST 32

static const char *const known[] = { "md5", "sha1", "sha256", "xxh128", "xxh3_64", "xxh64" };
#define N_KNOWN (sizeof known / sizeof known[0])

static size_t hash_number(const char *name)
{
    size_t k = 0;

    while (k < N_KNOWN && strcmp(known[k], name) != 0) {
        k++;
    }
    return k;
}

sluice_status mds_file_level(const char *compression, int *level, struct sluice_error *err)
{
    char message[200];
    char *end = NULL;
    long number = LEVEL_DEFAULT;

    *level = 0;
    if (strcmp(compression, "none") == 0) {
        return SLUICE_OK;
    }
    if (strncmp(compression, "zstd:", 5) == 0 && compression[5] >= '1' && compression[5] <= '9') {
        number = strtol(compression + 5, &end, 10);
    }
    if ((end == NULL && strcmp(compression, "zstd") != 0) || (end != NULL && *end != '\0') ||
        number > 22) {
        snprintf(message, sizeof message,
                 "found \"%.60s\", expected \"none\", \"zstd\" or \"zstd:N\" with a level N from 1 "
                 "to 22",
                 compression);
        return sluice_fail(err, SLUICE_E_CONFIG, "compression", message);
    }
    *level = (int)number;
    return SLUICE_OK;
}

sluice_status mds_file_hashes(const struct sluice_list *names, struct sluice_error *err)
{
    char message[300];

    for (uint64_t k = 0; k < names->n; k++) {
        if (hash_number(names->items[k]) == N_KNOWN) {
            snprintf(message, sizeof message,
                     "found \"%.60s\", expected md5, sha1, sha256, xxh128, xxh3_64 or xxh64",
                     names->items[k]);
            return sluice_fail(err, SLUICE_E_CONFIG, "hashes", message);
        }
        if (k > 0 && strcmp(names->items[k - 1], names->items[k]) >= 0) {
            snprintf(
                message, sizeof message,
                "\"%.60s\" stands behind \"%.60s\"; expected names in alphabetical order, each "
                "once, as MosaicML's reader wants them",
                names->items[k], names->items[k - 1]);
            return sluice_fail(err, SLUICE_E_CONFIG, "hashes", message);
        }
    }
    return SLUICE_OK;
}

sluice_status mds_file_compress(int level, const void *data, uint64_t n, struct sluice_bytes *out,
                                struct sluice_error *err)
{
    size_t room = ZSTD_compressBound((size_t)n);
    size_t size;

    if (!sluice_bytes_reserve(out, room)) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a compressed shard");
    }
    size = ZSTD_compress(out->data + out->size, room, data, (size_t)n, level);
    if (ZSTD_isError(size)) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for compressing a shard");
    }
    out->size += size;
    return SLUICE_OK;
}

/* The hash's bytes, and how many they are. */
static size_t digest(size_t which, const void *data, uint64_t n, uint8_t out[DIGEST_MOST])
{
    struct md5_ctx md5;
    struct sha1_ctx sha1;
    struct sha256_ctx sha256;
    XXH128_canonical_t wide;
    XXH64_canonical_t narrow;

    switch (which) {
    case 0:
        md5_init(&md5);
        md5_update(&md5, (size_t)n, data);
        md5_digest(&md5, MD5_DIGEST_SIZE, out);
        return MD5_DIGEST_SIZE;
    case 1:
        sha1_init(&sha1);
        sha1_update(&sha1, (size_t)n, data);
        sha1_digest(&sha1, SHA1_DIGEST_SIZE, out);
        return SHA1_DIGEST_SIZE;
    case 2:
        sha256_init(&sha256);
        sha256_update(&sha256, (size_t)n, data);
        sha256_digest(&sha256, SHA256_DIGEST_SIZE, out);
        return SHA256_DIGEST_SIZE;
    case 3:
        XXH128_canonicalFromHash(&wide, XXH3_128bits(data, (size_t)n));
        memcpy(out, wide.digest, sizeof wide.digest);
        return sizeof wide.digest;
    default:
        XXH64_canonicalFromHash(&narrow, which == 4 ? XXH3_64bits(data, (size_t)n)
                                                    : XXH64(data, (size_t)n, 0));
        memcpy(out, narrow.digest, sizeof narrow.digest);
        return sizeof narrow.digest;
    }
}

static int add_hash(const char *name, const void *data, uint64_t n, struct sluice_bytes *out)
{
    uint8_t bytes[DIGEST_MOST];
    char text[24 + 2 * DIGEST_MOST];
    size_t size = digest(hash_number(name), data, n, bytes);
    int at = snprintf(text, sizeof text, "\"%s\": \"", name);

    for (size_t k = 0; k < size; k++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "%02x", bytes[k]);
    }
    return sluice_bytes_add(out, text, (uint64_t)at) && sluice_bytes_add(out, "\"", 1);
}

int mds_file_info(const struct sluice_list *names, const char *basename, const void *data,
                  uint64_t n, struct sluice_bytes *out)
{
    char text[120];
    int length =
        snprintf(text, sizeof text, "{\"basename\": \"%s\", \"bytes\": %llu, \"hashes\": {",
                 basename, (unsigned long long)n);
    int ok = sluice_bytes_add(out, text, (uint64_t)length);

    for (uint64_t k = 0; ok && k < names->n; k++) {
        ok = (k == 0 || sluice_bytes_add(out, ", ", 2)) && add_hash(names->items[k], data, n, out);
    }
    return ok && sluice_bytes_add(out, "}}", 2);
}
