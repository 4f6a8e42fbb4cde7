/* What a dataset was put together from, which its manifests keep where its writer states a mode:
 *
 *   lineage.appends: [{ "key": HEX, "rows": N, "files": [[READER, NAME, BYTES, HASH] ...] } ...]
 *
 * an entry for each run that the rows come from, in their order. key: of the tasks that made them,
 * by which a run that comes again is known; files: the input files that went into them, NAME as in
 * the listing (relative to the pattern's fixed folder, the same on every machine), HASH the
 * XXH3-128 of their stored bytes. Depends on snapshot, statcache, jansson.
 */
#ifndef SLUICE_STORE_APPENDS_H
#define SLUICE_STORE_APPENDS_H

#include "store/listing.h"
#include "store/snapshot.h"

struct statcache;

/* Does the manifest say it? NULL: there is no snapshot. */
bool appends_told(const struct snapshot *);
/* Are the rows of the run with this key in it? */
bool appends_hold(const struct snapshot *, struct hash128 key);
/* How many runs its rows come from; 0 where it is not said. */
size_t appends_count(const struct snapshot *);

/* Adds a run behind those of `before` (NULL: it is the first) to the snapshot's lineage, which is
 * made if it is not there. Borrows files: an array as above. */
sluice_status appends_add(struct snapshot *, const struct snapshot *before, struct hash128 key,
                          uint64_t rows, json_t *files, struct sluice_error *) MUST_USE;

/* An item of `files`; a new reference, NULL = out of memory. */
json_t *appends_file(const char *reader, const char *name, uint64_t bytes, struct hash128 hash);

/* The hash of a file's stored bytes; one that did not change since is not read again (cache: may be
 * NULL). SLUICE_E_DATA: it is not in the version of the listing any more. */
sluice_status appends_hash(struct statcache *cache, const struct listing_file *,
                           struct hash128 *hash, struct sluice_error *) MUST_USE;

/* All files of a snapshot, to be looked up by name. */
struct appended_file {
    const char *reader, *name; /* borrowed from the lineage */
    uint64_t bytes;
    struct hash128 hash;
};
struct appended {
    struct appended_file *files; /* by name */
    size_t n;
    json_t *lineage; /* a reference */
};

/* SLUICE_E_DATA: the manifest's lineage is none. Gives; a snapshot that says nothing has none. */
sluice_status appended_open(const struct snapshot *, struct appended *out,
                            struct sluice_error *) MUST_USE;
void appended_deinit(struct appended *);

enum appended_state {
    APPENDED_NEW,    /* there is no such file */
    APPENDED_LIKELY, /* one of this name and size is there: its hash decides */
    APPENDED_HELD,   /* it is there: name, bytes and hash */
    APPENDED_CHANGED /* what `reader` read under this name was another file */
};

/* hash NULL: as far as can be told without it. A reader that the dataset does not know stands for
 * all of them: it may have got another name. */
sluice_status appended_look(const struct appended *, const char *reader, const char *name,
                            uint64_t bytes, const struct hash128 *hash, enum appended_state *state,
                            struct sluice_error *) MUST_USE;

/* The same for a file of a listing, which is read where nothing else tells: never APPENDED_LIKELY.
 * known: its hash, or NULL. *hash is set where it was needed, and always of a file that is held. */
sluice_status appended_find(const struct appended *, const char *reader,
                            const struct listing_file *, const struct hash128 *known,
                            struct statcache *cache, enum appended_state *state,
                            struct hash128 *hash, struct sluice_error *) MUST_USE;

#endif
