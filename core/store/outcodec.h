/* Compressor in front of a pending file: none, gzip or zstd.
 *
 * Promise: the bytes stored are a function of the bytes given, the codec, its level and the
 * library's version; never of how callers cut their writes, of earlier use of the object, of
 * threads or of the time. So gzip has no name and time zero, zstd gets pieces of exactly 128 KiB
 * (its output depends on push size) on one thread, with a content checksum. Depends on pending,
 * zlib and zstd. One thread at a time; reuse it for file after file, contexts are kept. */
#ifndef SLUICE_STORE_OUTCODEC_H
#define SLUICE_STORE_OUTCODEC_H

#include "base/buf.h"
#include "store/pending.h"

enum outcodec_kind { OUTCODEC_NONE = 0, OUTCODEC_GZIP = 1, OUTCODEC_ZSTD = 2 };

struct outcodec;

/* "none", "gzip", "zstd" (NULL and "" = none). An unknown name is SLUICE_E_CONFIG with a
 * suggestion. */
sluice_status outcodec_parse(const char *name, enum outcodec_kind *out,
                             struct sluice_error *) MUST_USE;

/* What to append to a file's name: "", ".gz", ".zst". */
const char *outcodec_suffix(enum outcodec_kind);

/* "zlib 1.2.13", "zstd 1.5.4" or "": the library version that shapes the bytes, for task keys. */
const char *outcodec_version(enum outcodec_kind, char text[32]);

/* level 0 = default (gzip 6, zstd 3); gzip 1..9, zstd 1..22; else SLUICE_E_CONFIG. Gives. */
sluice_status outcodec_create(enum outcodec_kind, int32_t level, struct outcodec **out,
                              struct sluice_error *) MUST_USE;
void outcodec_destroy(struct outcodec *);

/* Begins a stream into a pending file, borrowed until outcodec_finish() or the next begin (so that
 * after an error one begins anew). */
sluice_status outcodec_begin(struct outcodec *, struct pending *, struct sluice_error *) MUST_USE;
sluice_status outcodec_write(struct outcodec *, const void *data, size_t n,
                             struct sluice_error *) MUST_USE;
/* Ends the frame; an empty stream is an empty frame (no bytes for none). Does not publish. */
sluice_status outcodec_finish(struct outcodec *, struct sluice_error *) MUST_USE;

/* ---- a stream that goes on elsewhere ----
 *
 * A compressor's insides can't be saved, but what it was given can be had again: decoded from what
 * it stored, and what it holds back. Given again to another one it is in the same state, and stores
 * the same bytes. */

/* What, behind the bytes that were stored, decodes to the rest of the whole pieces that were given:
 * replaces *tail; *piece, borrowed until the next call, are the n bytes that wait for a piece to be
 * whole. The stream goes on as if nothing had been asked. */
sluice_status outcodec_held(struct outcodec *, struct buf *tail, const char **piece, size_t *n,
                            struct sluice_error *) MUST_USE;

/* Gives a begun stream again what another one of its kind and level was given, from the bytes that
 * that one stored, then its tail, in order and in any pieces. Its last bytes are given by
 * outcodec_write. SLUICE_E_DATA: they are no such stream. */
struct outcodec_again;
sluice_status outcodec_again_begin(struct outcodec *, struct outcodec_again **out,
                                   struct sluice_error *) MUST_USE;
sluice_status outcodec_again_take(struct outcodec_again *, const void *data, size_t n,
                                  struct sluice_error *) MUST_USE;
void outcodec_again_end(struct outcodec_again *); /* NULL is fine */

enum outcodec_kind outcodec_is(const struct outcodec *);
/* Bytes given since begin, before compression. */
uint64_t outcodec_bytes(const struct outcodec *);

#endif
