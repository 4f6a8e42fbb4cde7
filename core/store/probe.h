/* What reading a whole file without decoding it tells: codec, content hash, where decoding can
 * begin. For files that many tasks read a part of, and for those of which somebody said what they
 * hold. Depends on store/{listing,codec,statcache}.h. Hash and zstd frame headers are found in one
 * pass; a cache spares files that did not change. Thread-safe for different files, also over one
 * cache. */
#ifndef SLUICE_STORE_PROBE_H
#define SLUICE_STORE_PROBE_H

#include "base/buf.h"
#include "base/hash.h"
#include "store/codec.h"
#include "store/listing.h"

#define INPUT_UNKNOWN UINT64_MAX

struct statcache;

/* A place where decoding can begin: the start of a zstd frame. */
struct input_frame {
    uint64_t raw;     /* offset in the file */
    uint64_t decoded; /* offset in its decoded bytes */
};

struct input_info {
    enum codec codec;
    uint64_t size; /* of the file */
    /* == size for plain files; INPUT_UNKNOWN when no header states it. */
    uint64_t decoded_size;
    uint64_t window;     /* bytes that decoding a zstd file holds at most, beside small buffers */
    struct hash128 hash; /* XXH3-128 of the file as it is on disk */
    /* ascending, at least 1 MiB of decoded bytes apart; without the one at 0. Owned */
    struct input_frame *frames;
    size_t n_frames;
};

/* What the file is probed for: its codec must be known where it is to be decoded; who reads it as
 * it is stored wants the hash alone. */
enum probe_for { PROBE_DECODING, PROBE_STORED };

/* Probes one file. cache may be NULL. What is reported depends on the file only, never on what the
 * cache happens to know. SLUICE_E_DATA: not readable, truncated (zstd: seen here; gzip: only when
 * decoded), or it is not what was listed, or changed while it was read. Release with
 * input_info_deinit. */
sluice_status probe_file(const struct listing_file *, enum probe_for, struct statcache *cache,
                         struct input_info *out, struct sluice_error *err) MUST_USE;
void input_info_deinit(struct input_info *);

/* One line of text without spaces or newline, for plans and caches; parse is its inverse and
 * trusts nothing. */
void input_info_format(const struct input_info *, struct buf *out);
sluice_status input_info_parse(const char *text, size_t n, struct input_info *out,
                               struct sluice_error *err) MUST_USE;

#endif
