/* Edges between phases on disk: what one phase's task stores and another's loads, as files of
 * frames (data/frame.h) in the run directory. Depends on data, store.
 *
 * Promises. The bytes of an edge file are a pure function of the sequence of rows added (and of the
 * spec): not of how the rows were cut into batches, of memory, or of time. Frames are closed by row
 * counts and value bytes, never by batch borders: a frame ends with the row that brings it to
 * EDGE_FRAME_ROWS rows or EDGE_FRAME_BYTES bytes of values. Memory stays inside the share given at
 * open; what does not fit is sorted in runs under the scratch directory. Every loaded byte is
 * checked (frame checksums; rows against the directory). */
#ifndef SLUICE_RUN_EDGE_H
#define SLUICE_RUN_EDGE_H

#include "base/hash.h"
#include "data/column.h"
#include "data/schema.h"

#define EDGE_FORMAT 1u /* of files and their directories; raise when they change */
#define EDGE_FRAME_ROWS 8192
#define EDGE_FRAME_BYTES (1u << 20)

enum edge_partition {
    EDGE_SINGLE, /* one partition, rows in order of adding */
    /* partition = high 32 bits of the first 8 key bytes (big-endian) scaled to n_partitions; the
     * key is the column `key`, fixed[16]; rows keep their order of adding inside a partition */
    EDGE_BY_KEY,
    /* partition = _pos >> 40 (the split's ordinal); inside a partition sorted by (_pos, order of
     * adding); the stored column _pos is replaced by `_row` (uint64: _pos & (2^40 - 1)), so that a
     * slice does not depend on the split's ordinal. A _pos beyond n_partitions is
     * SLUICE_E_INTERNAL */
    EDGE_BY_SPLIT
};

struct edge_spec {
    enum edge_partition partition;
    uint32_t n_partitions;
    /* of the stored rows; borrowed. EDGE_BY_SPLIT: with _pos as a column */
    const struct schema *schema;
};

/* One partition's part of an edge file; kept in the commit record. */
struct edge_slice {
    uint64_t rows;
    struct hash128 hash;            /* over the frames of the partition; zero when rows == 0 */
    uint32_t first_frame, n_frames; /* into frames */
};
struct edge_frame {
    uint64_t offset;
    uint64_t bytes;
};
struct edge_directory { /* owned arrays */
    uint32_t n_partitions, n_frames;
    struct edge_slice *slices;
    struct edge_frame *frames; /* grouped by partition */
};
void edge_directory_deinit(struct edge_directory *);
/* Compact binary form (varints), for the commit record; reading treats the bytes as hostile. */
struct buf;
sluice_status edge_directory_encode(const struct edge_directory *, struct buf *out,
                                    struct sluice_error *) MUST_USE;
sluice_status edge_directory_decode(const void *data, size_t n, struct edge_directory *out,
                                    struct sluice_error *) MUST_USE;

/* Writing. sink appends bytes to the file in the making (a store/pending.h file).
 * Single-threaded. */
struct edge_writer;
struct edge_sink {
    void *ctx;
    sluice_status (*write)(void *ctx, const void *data, size_t n, struct sluice_error *);
};
sluice_status edge_writer_open(const struct edge_spec *, struct edge_sink, const char *scratch_dir,
                               uint64_t memory, struct edge_writer **out,
                               struct sluice_error *) MUST_USE;
/* columns[k] = slot in batch of the schema's k-th column. Honours the selection. */
sluice_status edge_writer_add(struct edge_writer *, const struct batch *, const int32_t *slots,
                              struct sluice_error *) MUST_USE;
/* Saves what was added and is not in the file yet, and what is known of the file; restores it in a
 * writer of the same spec that was just opened. Then refill gives sink the bytes of the file, which
 * were put behind that raw. */
struct saved;
struct restored;
sluice_status edge_writer_save(struct edge_writer *, struct saved *,
                               struct sluice_error *) MUST_USE;
sluice_status edge_writer_restore(struct edge_writer *, struct restored *,
                                  struct sluice_error *) MUST_USE;
sluice_status edge_writer_refill(struct edge_writer *, struct restored *,
                                 struct sluice_error *) MUST_USE;
/* Writes what remains and gives the directory. */
sluice_status edge_writer_finish(struct edge_writer *, struct edge_directory *out,
                                 struct sluice_error *) MUST_USE;
void edge_writer_destroy(struct edge_writer *); /* after finish, or to abandon; NULL is fine */

/* Reading: slices of one or several edge files. */
struct edge_input {
    const char *path;
    const struct edge_directory *directory; /* borrowed until close */
    uint32_t partition;
    uint32_t ordinal; /* of the producing task: becomes the high bits of _pos in sorted reading */
};
struct edge_reader;
/* In order: input after input, frame after frame; batches have the schema's columns. */
sluice_status edge_reader_open(const struct schema *, const struct edge_input *, size_t n,
                               struct edge_reader **out, struct sluice_error *) MUST_USE;
/* Sorted by (key, _pos), for keyed stages: the schema's first column is `key`, one column is `_row`
 * (uint64); a column `_pos` = ordinal << 40 | _row is appended after the schema's columns. Memory
 * bounds the sort; runs go to scratch_dir. */
sluice_status edge_reader_open_keyed(const struct schema *, const struct edge_input *, size_t n,
                                     const char *scratch_dir, uint64_t memory,
                                     struct edge_reader **out, struct sluice_error *) MUST_USE;
/* Merged by _row, for side inputs by split: every input's slice is sorted by _row already; ties in
 * order of inputs. */
sluice_status edge_reader_open_merged(const struct schema *, const struct edge_input *, size_t n,
                                      const char *scratch_dir, uint64_t memory,
                                      struct edge_reader **out, struct sluice_error *) MUST_USE;
/* For GATHER with positions: in order, with _pos = ordinal << 40 | _row appended. */
sluice_status edge_reader_open_positions(const struct schema *, const struct edge_input *, size_t n,
                                         struct edge_reader **out, struct sluice_error *) MUST_USE;
/* *out = NULL at the end. Gives. */
sluice_status edge_reader_next(struct edge_reader *, struct batch **out,
                               struct sluice_error *) MUST_USE;
void edge_reader_close(struct edge_reader *);

#endif
