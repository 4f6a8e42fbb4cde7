/* Fuzzes lists of input files in run directories: bytes as they are, or with the checksum made
 * right, so that the fuzzer gets behind it. What is believed is written as bytes that are believed
 * again, and come back equal. */
#include <stdlib.h>
#include <string.h>

#include "store/listing_frozen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static void check(const void *data, size_t n)
{
    static const struct hash128 key = { 0, 0 };
    struct listing listing;
    struct listing again;
    const struct hash128 *hashes;
    struct buf first = BUF_INIT;
    struct buf second = BUF_INIT;
    struct sluice_error err = ERROR_INIT;

    if (listing_thaw(data, n, key, &listing, &hashes, &err) != SLUICE_OK) {
        must(err.message[0] != '\0');
        return;
    }
    listing_freeze(&listing, key, hashes, &first);
    must(listing_thaw(first.data, first.size, key, &again, &hashes, &err) == SLUICE_OK);
    listing_freeze(&again, key, hashes, &second);
    must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    listing_deinit(&listing);
    listing_deinit(&again);
    buf_deinit(&first);
    buf_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct hash128 hash;
    struct buf bytes = BUF_INIT;

    if (n == 0 || (data[0] & 1) == 0) {
        check(data, n);
        return 0;
    }
    buf_append(&bytes, data + 1, n - 1);
    hash = hash_bytes(data + 1, n - 1);
    for (unsigned i = 0; i < 16; i++) {
        buf_putc(&bytes, (char)((i < 8 ? hash.lo : hash.hi) >> (8 * (i % 8))));
    }
    must(!bytes.failed);
    check(bytes.data, bytes.size);
    buf_deinit(&bytes);
    return 0;
}
