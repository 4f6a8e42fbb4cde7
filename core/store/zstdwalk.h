/* Walks over the bytes of a zstd file without decoding them: frame headers and block headers
 * only (RFC 8878), so that sizes and seekable places are known for the price of reading. Depends
 * on base/. */
#ifndef SLUICE_STORE_ZSTDWALK_H
#define SLUICE_STORE_ZSTDWALK_H

#include "base/error.h"

struct zstdwalk {
    uint64_t position; /* bytes fed so far */
    uint64_t skip;     /* of the next bytes */
    uint64_t frame;    /* where this frame began */
    uint64_t stated;   /* its decoded size, UINT64_MAX = not stated */
    uint64_t at_most;  /* what its blocks so far can hold at most */
    uint64_t window;   /* bytes a decoder must hold of the frame that needs the most so far */
    uint64_t block;    /* the most a block of this frame may have */
    uint32_t state;
    uint32_t have, want; /* bytes in head and needed there */
    bool checksum;
    bool last_block;
    unsigned char head[24];
};

/* Called at the end of each frame with data (not of skippable ones): its bytes are [begin, end). */
typedef sluice_status (*zstdwalk_fn)(void *ctx, uint64_t begin, uint64_t end, uint64_t decoded_size,
                                     struct sluice_error *);

void zstdwalk_init(struct zstdwalk *);

/* Fed with the file's bytes in order, in pieces of any size. SLUICE_E_DATA: not zstd, a reserved
 * bit or block type, a dictionary, a frame that states more than its blocks can hold, or a
 * block above the frame's window; the message gives the offset but not the file. */
sluice_status zstdwalk_feed(struct zstdwalk *, const void *data, size_t n, zstdwalk_fn, void *ctx,
                            struct sluice_error *) MUST_USE;
sluice_status zstdwalk_end(const struct zstdwalk *,
                           struct sluice_error *) MUST_USE; /* SLUICE_E_DATA inside of a frame */

#endif
