/* SHA-256: see sha256.h. */
#include "base/sha256.h"

#include <nettle/sha2.h>
#include <stdlib.h>

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

struct sha256 {
    struct sha256_ctx state;
};

struct sha256 *sha256_create(void)
{
    struct sha256 *sha256 = malloc(sizeof *sha256);

    if (sha256 != NULL) {
        sha256_init(&sha256->state);
    }
    return sha256;
}

void sha256_destroy(struct sha256 *sha256)
{
    free(sha256);
}

void sha256_add(struct sha256 *sha256, const void *data, size_t n)
{
    sha256_update(&sha256->state, n, data);
}

void sha256_end(struct sha256 *sha256, char hex[SHA256_HEX])
{
    digest_hex(&sha256->state, hex);
}
