/* What must be known of an input file before planning: codec, content hash, decoded size, where
 * decoding can begin. Depends on store/{listing,codec,input,statcache}.h. Every file is read
 * once (hash and zstd frame headers in one pass); a cache spares files that did not change.
 * Thread-safe for different files, also over one cache. */
#ifndef SLUICE_STORE_PROBE_H
#define SLUICE_STORE_PROBE_H

#include "base/buf.h"
#include "base/hash.h"
#include "store/codec.h"
#include "store/listing.h"

#define INPUT_UNKNOWN UINT64_MAX

struct input;
struct statcache;

/* A place where decoding can begin: the start of a zstd frame. */
struct input_frame {
    uint64_t raw;     /* offset in the file */
    uint64_t decoded; /* offset in its decoded bytes */
};

struct input_info {
    enum codec codec;
    uint64_t size; /* of the file */
    /* == size for plain files; INPUT_UNKNOWN when no header states it and nobody asked. */
    uint64_t decoded_size;
    uint64_t window;     /* bytes that decoding a zstd file holds at most, beside small buffers */
    struct hash128 hash; /* XXH3-128 of the file as it is on disk */
    /* ascending, at least 1 MiB of decoded bytes apart; without the one at 0. Owned */
    struct input_frame *frames;
    size_t n_frames;
};

/* Probes one file. cache may be NULL. need_decoded_size: decodes the file once if no header
 * states it. What is reported depends on the file and on need_decoded_size only, never on what
 * the cache happens to know. SLUICE_E_DATA: not readable, truncated (zstd: seen here; gzip: only
 * when decoded), or it changed while it was read. Release with input_info_deinit. */
sluice_status probe_file(const struct listing_file *, struct statcache *cache,
                         bool need_decoded_size, struct input_info *out,
                         struct sluice_error *err) MUST_USE;
void input_info_deinit(struct input_info *);

/* Makes sure that a file still is what was probed: size and modification time, else the content
 * by its hash. For tasks that run long after planning. SLUICE_E_DATA if it changed. */
sluice_status probe_verify(const struct listing_file *, const struct input_info *,
                           struct sluice_error *err) MUST_USE;

/* Opens the file, which must be what was probed. */
sluice_status probe_open(const struct listing_file *, const struct input_info *, struct input **out,
                         struct sluice_error *err) MUST_USE;

/* The same behind reading: what was read is what was probed, unless somebody wrote to it
 * meanwhile. Where the name leads by now does not matter. */
sluice_status probe_verify_read(const struct listing_file *, const struct input_info *,
                                const struct input *, struct sluice_error *err) MUST_USE;

/* One line of text without spaces or newline, for plans and caches; parse is its inverse and
 * trusts nothing. */
void input_info_format(const struct input_info *, struct buf *out);
sluice_status input_info_parse(const char *text, size_t n, struct input_info *out,
                               struct sluice_error *err) MUST_USE;

#endif
