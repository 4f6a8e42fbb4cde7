/* Scratch: blocks of bytes in an unlinked temporary file, for what does not fit in memory. Depends
 * on store/disk. One thread.
 *
 * The file is made with the first block and vanishes with the process. Each block carries its
 * size and checksum, so that a full or failing disk is never read back as data. */
#ifndef SLUICE_RUN_SCRATCH_H
#define SLUICE_RUN_SCRATCH_H

#include "base/buf.h"

struct scratch;

/* dir must exist when the first block is written; it is copied. Gives. */
sluice_status scratch_open(const char *dir, struct scratch **out, struct sluice_error *) MUST_USE;
void scratch_close(struct scratch *); /* NULL is fine */

/* Appends a block of n bytes; *offset names it. A full disk is SLUICE_E_IO naming the folder. */
sluice_status scratch_write(struct scratch *, const void *data, size_t n, uint64_t *offset,
                            struct sluice_error *) MUST_USE;
/* Replaces *out by the block at offset; *next (may be NULL) is where the block behind it begins. */
sluice_status scratch_read(struct scratch *, uint64_t offset, struct buf *out, uint64_t *next,
                           struct sluice_error *) MUST_USE;
/* Gives the space of [offset, end) back where the file system can; nothing there may be read
 * again. */
void scratch_drop(struct scratch *, uint64_t offset, uint64_t end);
/* Where the next block will begin. */
uint64_t scratch_end(const struct scratch *);

#endif
