/* A listing as bytes: what a plan was made for, so that nobody lists again, and all see the same
 * files. Names are sorted, so each is written as what it shares with the one before and the rest: a
 * hundred thousand files take three megabytes.
 *
 *   "SLUICE-L" VERSION  key[16]  parts  n  has_hashes  file*  XXH3-128 of all before it
 *   file: shared bytes and rest of its path, the name's bytes (0: it is no end of the path, and
 *         stands for itself), size, times less those of the file before, tag, values, hash
 *
 * Numbers are varints but for the hashes. Reading treats the bytes as hostile. Depends on listing,
 * base. */
#ifndef SLUICE_STORE_LISTING_FROZEN_H
#define SLUICE_STORE_LISTING_FROZEN_H

#include "base/buf.h"
#include "base/hash.h"
#include "store/listing.h"

#define LISTING_FORMAT 1u /* raise when the bytes change */

/* Appends the listing. key: of the plan that it belongs to. hashes: what each file holds, or
 * NULL. */
void listing_freeze(const struct listing *, struct hash128 key, const struct hash128 *hashes,
                    struct buf *out);

/* out needs no initialisation; on an error there is nothing to free. *hashes stands in its arena;
 * NULL: none are known. SLUICE_E_DATA: damaged, of another format, or of another plan than key. */
sluice_status listing_thaw(const void *data, size_t n, struct hash128 key, struct listing *out,
                           const struct hash128 **hashes, struct sluice_error *) MUST_USE;

#endif
