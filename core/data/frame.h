/* Spill frames: batches as checksummed, zstd-compressed bytes. Depends on column and base; no
 * file access here.
 *
 * Layout (little-endian): u32 magic "SLF1", u32 flags, u32 rows, u32 columns, u64 raw bytes, u64
 * stored bytes, u64 XXH3-64 of everything in the header before it and the stored bytes, then the
 * stored bytes: one zstd frame (level 1, content size and no checksum) of the raw column
 * buffers, or the raw bytes themselves when smaller (flag 1); long lists of small numbers (token
 * ids) apart from these, in few bits each (flag 2). Decoding treats every byte as
 * hostile. The bytes of a frame are a pure function of rows and types (never of capacity,
 * padding or selection). */
#ifndef SLUICE_DATA_FRAME_H
#define SLUICE_DATA_FRAME_H

#include "base/buf.h"
#include "data/column.h"

#define FRAME_HEADER_BYTES 40u
#define FRAME_FORMAT 1 /* the last digit of the magic */

struct frame_codec; /* zstd contexts; one per worker */

struct frame_codec *frame_codec_create(void); /* NULL = out of memory */
void frame_codec_destroy(struct frame_codec *);

/* Appends one frame with the selected rows of batch. types[k] is column k's type; a NULL column
 * is refused. */
sluice_status frame_encode(struct frame_codec *, const struct batch *,
                           const struct type *const *types, struct buf *out,
                           struct sluice_error *err) MUST_USE;
/* Header check: total size of the frame that begins at data, when at least FRAME_HEADER_BYTES
 * are there. */
sluice_status frame_size(const void *header, uint64_t *total, uint32_t *rows,
                         struct sluice_error *err) MUST_USE;
/* Decodes and validates one whole frame of n bytes. max_raw bounds memory (0 = 1 GiB). Gives. */
sluice_status frame_decode(struct frame_codec *, const void *data, size_t n, uint32_t n_columns,
                           const struct type *const *types, uint64_t max_raw, struct batch **out,
                           struct sluice_error *err) MUST_USE;

/* The raw bytes of a frame whose types nobody knows, appended: texts of one column stand in them
 * one behind the other. For who looks for bytes. max_raw as above. */
sluice_status frame_bytes(struct frame_codec *, const void *data, size_t n, uint64_t max_raw,
                          struct buf *out, struct sluice_error *err) MUST_USE;

#endif
