/* Parts of an input file as it is stored, for readers that read at random. Depends on files.h. One
 * thread at a time. The only place where such bytes come from. */
#ifndef SLUICE_RUN_EXTENTS_H
#define SLUICE_RUN_EXTENTS_H

#include "run/source/files.h"

struct extents;

struct extent {
    uint64_t offset, n;
    char *to; /* room for n bytes */
};

/* Opens the file. SLUICE_E_DATA: it is not what was listed, or holds something else than its
 * manifest says. */
sluice_status extents_open(const struct source_file *, struct extents **out,
                           struct sluice_error *) MUST_USE;
void extents_close(struct extents *); /* NULL is fine */

/* Reads n parts, all of each. SLUICE_E_DATA: the file is shorter than it was. */
sluice_status extents_read(struct extents *, const struct extent *, size_t n,
                           struct sluice_error *) MUST_USE;
/* Behind reading: SLUICE_E_DATA if somebody wrote to the file meanwhile. */
sluice_status extents_unchanged(const struct extents *, struct sluice_error *) MUST_USE;
uint64_t extents_bytes(const struct extents *); /* that were read so far */

#endif
