/* Files mapped into memory, read-only and as they are stored: one mapping of a file for all who
 * want it in this process. Depends on base, store, temp. Thread-safe. A file that somebody replaces
 * meanwhile stays as it was mapped; one that somebody writes to or cuts is their fault, as for any
 * mapping.
 *
 * What lies in a place that can't be mapped (no STORE_MAP) is fetched once into a folder of this
 * machine, `map-NAME-VERSION` there, hashes both; a copy of another version of the name is removed
 * then. Processes that want one file at once fetch it each and keep one. */
#ifndef SLUICE_STORE_FILEMAP_H
#define SLUICE_STORE_FILEMAP_H

#include "base/error.h"

struct filemaps;
struct filemaps *filemaps_create(void);   /* NULL = out of memory */
void filemaps_destroy(struct filemaps *); /* when all is released; NULL is fine */

/* Opens a regular file, or its copy in the folder `copies` (NULL: there is none), for mapping.
 * SLUICE_E_CONFIG: there is none; SLUICE_E_IO. *fd is the caller's. */
sluice_status filemap_open(const char *name, const char *copies, int *fd, uint64_t *size,
                           struct sluice_error *) MUST_USE;
/* *data: *size bytes, not NULL also where there are none. */
sluice_status filemaps_take(struct filemaps *, const char *name, const char *copies,
                            const void **data, uint64_t *size, struct sluice_error *) MUST_USE;
void filemaps_release(struct filemaps *, const void *data, uint64_t size);

#endif
