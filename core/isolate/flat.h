/* Columns without pointers: an array of a known type as one piece of memory in which everything is
 * found by offsets, so that it means the same in two processes. Depends on data.
 *
 * Layout: one node (64 bytes) for each array of the type's tree, parents first; then the
 * buffers, each at a multiple of 64 bytes and followed by at least 64 that may be read. Reading
 * treats every byte as hostile, but the bytes must not change meanwhile: what lies in memory
 * that a child may write is copied first. */
#ifndef SLUICE_ISOLATE_FLAT_H
#define SLUICE_ISOLATE_FLAT_H

#include "data/column.h"

#define FLAT_ALIGN 64u

/* What arrays that were read point into. */
struct flat_memory;

/* Bytes that flat_write needs. The array is one of column.h's invariants (offset 0, exact null
 * count). */
size_t flat_size(const struct ArrowArray *, const struct type *);
/* to is aligned to FLAT_ALIGN and has room for flat_size. Text of rows before the first and
 * behind the last is left out. */
void flat_write(const struct ArrowArray *, const struct type *, char *to);
/* Rebuilds the array over the bytes, which are aligned to FLAT_ALIGN. What the bytes say about
 * their own size is checked, what offsets and text say is not (array_validate does that, and
 * reads nothing outside the bytes). free_with = memory from aligned_alloc that is freed with the
 * last array, taken on success; NULL = the bytes outlive the array. SLUICE_E_INTERNAL. */
sluice_status flat_read(const char *from, size_t n, const struct type *, void *free_with,
                        struct ArrowArray *out, struct sluice_error *err) MUST_USE;
/* A piece of memory for n bytes that are read later. NULL = out of memory. */
void *flat_alloc(size_t n);

#endif
