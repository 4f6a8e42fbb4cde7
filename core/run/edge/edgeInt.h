/* Private to core/run/edge*.c: accumulated rows, the size of rows, and small helpers. */
#ifndef SLUICE_RUN_EDGE_INT_H
#define SLUICE_RUN_EDGE_INT_H

#include "data/builder.h"
#include "run/edge/edge.h"
#include "store/saved.h"

#define EDGE_ROW_BITS 40 /* of _pos: the rest is the ordinal of a split or task */
#define EDGE_ROW_MASK (((uint64_t)1 << EDGE_ROW_BITS) - 1)
#define EDGE_PARTITIONS_MAX ((uint32_t)1 << 24) /* what _pos has room for */
/* A row that would make a frame larger than this begins a new one: columns hold less than 2^31. */
#define EDGE_FRAME_MOST ((uint64_t)1 << 30)
/* Decoded bytes of one frame; its checksum vouches for what it says. */
#define EDGE_FRAME_RAW_MAX ((uint64_t)1 << 36)

/* ---- sizes of rows: the bytes of values that frames are cut by. A pure function of a row's
 * values: bool 1, fixed width its width, text 4 and its bytes, list 4 and its items, struct 1
 * and its members; null text and lists 4, null structs as if all members were null. ---- */

/* The size of every row of a type, or 0 when it depends on the value. */
uint64_t edge_size_fixed(const struct type *);
/* Adds the size of rows to out[0..n): rows[i], or first + i when rows is NULL. */
void edge_size_add(const struct type *, const struct ArrowArray *, const uint32_t *rows,
                   int64_t first, int64_t n, uint64_t *out);

/* ---- accumulated rows: columns that whole runs of rows are copied to the end of ---- */

struct edge_rows;
sluice_status edge_rows_create(uint32_t n_columns, const struct type *const *types,
                               struct edge_rows **out, struct sluice_error *) MUST_USE;
void edge_rows_destroy(struct edge_rows *); /* NULL is fine */
int64_t edge_rows_length(const struct edge_rows *);
uint64_t edge_rows_memory(const struct edge_rows *); /* bytes allocated */
/* Appends n rows of the arrays: rows[i], or first + i when rows is NULL. After a failure only
 * clear and destroy are allowed. */
sluice_status edge_rows_add(struct edge_rows *, const struct ArrowArray *const *arrays,
                            const uint32_t *rows, int64_t first, int64_t n,
                            struct sluice_error *) MUST_USE;
/* Everything as a batch that points into the rows: drop it before they change. Gives. */
sluice_status edge_rows_batch(struct edge_rows *, struct batch **out,
                              struct sluice_error *) MUST_USE;
void edge_rows_clear(struct edge_rows *); /* keeps the memory when it is of the usual size */

/* ---- partitions of a file in the making: open frames and those that are written ---- */

#define EDGE_CODEC_MEMORY ((uint64_t)4 << 20) /* what making a frame takes beside its rows */

struct edge_parts;
/* types are borrowed until destroy. Frames go to sink; what is spilled to a file in scratch_dir. */
sluice_status edge_parts_create(uint32_t n_partitions, uint32_t n_columns,
                                const struct type *const *types, struct edge_sink sink,
                                const char *scratch_dir, struct edge_parts **out,
                                struct sluice_error *) MUST_USE;
void edge_parts_destroy(struct edge_parts *); /* NULL is fine */
/* Appends n rows of the arrays to a partition's open frame: rows[i], or first + i when rows is
 * NULL. */
sluice_status edge_parts_add(struct edge_parts *, uint32_t part,
                             const struct ArrowArray *const *arrays, const uint32_t *rows,
                             int64_t first, int64_t n, struct sluice_error *) MUST_USE;
uint64_t edge_parts_memory(const struct edge_parts *); /* bytes that open frames hold */
/* Moves the rows of all open frames to scratch. */
sluice_status edge_parts_spill(struct edge_parts *, struct sluice_error *) MUST_USE;
/* Writes the open frame of a partition, all of whose rows are there. */
sluice_status edge_parts_close_frame(struct edge_parts *, uint32_t part,
                                     struct sluice_error *) MUST_USE;
/* Writes the open frame, if there is one, and ends the partition. */
sluice_status edge_parts_close_slice(struct edge_parts *, uint32_t part,
                                     struct sluice_error *) MUST_USE;
/* Saves the open frames and the list of those that are written; restores them, in parts just
 * created, spilling above so many bytes. */
sluice_status edge_parts_save(struct edge_parts *, struct saved *, struct sluice_error *) MUST_USE;
sluice_status edge_parts_restore(struct edge_parts *, uint64_t memory, struct restored *,
                                 struct sluice_error *) MUST_USE;
/* Then the bytes that were written go to sink again. */
sluice_status edge_parts_refill(struct edge_parts *, struct restored *,
                                struct sluice_error *) MUST_USE;
uint64_t edge_parts_open_rows(const struct edge_parts *, uint32_t part);
/* What was written, once every partition has ended. */
sluice_status edge_parts_directory(const struct edge_parts *, struct edge_directory *out,
                                   struct sluice_error *) MUST_USE;

/* ---- rows on their way to EDGE_BY_SPLIT: sorted by (_pos, order of adding) ---- */

struct edge_split;
/* pos: index of the column _pos. Types are borrowed until destroy. */
sluice_status edge_split_create(uint32_t n_columns, const struct type *const *types, uint32_t pos,
                                uint32_t n_partitions, const char *scratch_dir, uint64_t memory,
                                struct edge_split **out, struct sluice_error *) MUST_USE;
void edge_split_destroy(struct edge_split *); /* NULL is fine */
/* All rows that were added; before they are drained. */
sluice_status edge_split_save(struct edge_split *, struct saved *, struct sluice_error *) MUST_USE;
sluice_status edge_split_restore(struct edge_split *, struct restored *,
                                 struct sluice_error *) MUST_USE;
/* rows[i], or i when rows is NULL. */
sluice_status edge_split_add(struct edge_split *, const struct ArrowArray *const *arrays,
                             const uint32_t *rows, int64_t n, struct sluice_error *) MUST_USE;
/* Gives the rows to take() partition after partition, some at a time, with _row in the place of
 * _pos; n == 0 ends a partition. */
sluice_status edge_split_drain(struct edge_split *,
                               sluice_status (*take)(void *ctx, uint32_t partition,
                                                     const struct ArrowArray *const *arrays,
                                                     int64_t n, struct sluice_error *),
                               void *ctx, struct sluice_error *) MUST_USE;

/* ---- arrays ---- */

/* An array of n values of fixed width without nulls; takes values (from malloc), even on
 * failure. */
sluice_status edge_array_fixed(void *values, int64_t n, struct ArrowArray *out,
                               struct sluice_error *) MUST_USE;
/* The types of a schema's fields; free() the array. NULL = out of memory. */
const struct type **edge_types(const struct schema *);

/* ---- frames of slices, read one after the other, with everything checked ---- */

struct edge_stream;
sluice_status edge_stream_open(const struct schema *, const struct edge_input *, size_t n,
                               struct edge_stream **out, struct sluice_error *) MUST_USE;
/* The next frame and the input that it is of; *batch = NULL at the end. Gives. */
sluice_status edge_stream_next(struct edge_stream *, struct batch **batch,
                               const struct edge_input **input, struct sluice_error *) MUST_USE;
/* E_DATA about the input being read, with the remedy. */
sluice_status edge_stream_fault(const struct edge_input *, struct sluice_error *,
                                const char *format, ...) PRINTF_LIKE(3, 4);
void edge_stream_close(struct edge_stream *);

/* ---- sorted reading (edge_sort.c) ---- */

struct edge_sort;
/* keyed: by (key, _pos), with _pos appended; else by row, without. */
sluice_status edge_sort_open(const struct schema *, const struct edge_input *, size_t n, bool keyed,
                             const char *scratch_dir, uint64_t memory, struct edge_sort **out,
                             struct sluice_error *) MUST_USE;
sluice_status edge_sort_next(struct edge_sort *, struct batch **out,
                             struct sluice_error *) MUST_USE;
void edge_sort_close(struct edge_sort *);

/* The index of a uint64 column, or -1. */
int32_t edge_find_word(const struct schema *, const char *name);

#endif
