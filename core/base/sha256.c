/* SHA-256: see sha256.h. */
#include "base/sha256.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

#define BLOCK (UINT32_C(1) << 18)

static void digest_hex(struct sha256_ctx *state, char hex[SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_digest(state, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * sizeof digest] = '\0';
}

void sha256_bytes(const void *data, size_t n, char hex[SHA256_HEX])
{
    struct sha256_ctx state;

    sha256_init(&state);
    sha256_update(&state, n, data);
    digest_hex(&state, hex);
}

static sluice_status read_file(const char *path, struct hasher *hasher, char hex[SHA256_HEX],
                               struct sluice_error *err)
{
    struct sha256_ctx state;
    uint8_t *block = malloc(BLOCK);
    int fd = -1;
    sluice_status status =
        block == NULL ? error_nomem(err, "a hash") : file_open(path, "the file", &fd, err);
    ssize_t n = 1;

    sha256_init(&state);
    while (status == SLUICE_OK && n > 0) {
        n = read(fd, block, BLOCK);
        if (n > 0) {
            sha256_update(&state, (size_t)n, block);
            hasher_add(hasher, block, (size_t)n);
        } else if (n < 0 && errno != EINTR) {
            status = error_errno(err, errno, "cannot read %s", path);
        } else if (n < 0) {
            n = 1;
        }
    }
    if (status == SLUICE_OK) {
        digest_hex(&state, hex);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(block);
    return status;
}

sluice_status sha256_file(const char *path, char hex[SHA256_HEX], struct hash128 *hash,
                          struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();
    sluice_status status =
        hasher == NULL ? error_nomem(err, "a hash") : read_file(path, hasher, hex, err);

    if (status == SLUICE_OK) {
        *hash = hasher_digest(hasher);
    }
    hasher_destroy(hasher);
    return status;
}
