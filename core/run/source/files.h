/* The input files of a lane while they are read: what is found out of them, once for all threads.
 * Depends on store/. Thread-safe.
 *
 * A plan knows names, sizes and times. That a file is still what was listed is looked at when it is
 * opened and again behind reading; where its manifest says what it holds, that is compared before
 * anything of it is used. */
#ifndef SLUICE_RUN_FILES_H
#define SLUICE_RUN_FILES_H

#include "store/input.h"
#include "store/probe.h"

struct statcache;
struct source_files;

/* A file of the plan. Borrowed for as long as a feeder or a source uses it. */
struct source_file {
    const struct listing_file *file;
    const struct hash128 *hash; /* what it must hold; NULL = nobody says so */
    struct source_files *of;
};

/* Told of what decoding takes beyond what names say: a compressed file whose name does not say that
 * it is one (window 0), or a zstd window above what was told before. A failure ends reading. */
typedef sluice_status (*source_decoding_fn)(void *ctx, uint64_t window, struct sluice_error *err);

/* hashes: per file, or NULL. cache may be NULL. Borrows all. Gives. */
sluice_status source_files_create(const struct listing *, const struct hash128 *hashes,
                                  struct statcache *cache, struct source_files **out,
                                  struct sluice_error *) MUST_USE;
void source_files_destroy(struct source_files *); /* NULL is fine */
void source_files_watch(struct source_files *, source_decoding_fn, void *ctx);
const struct source_file *
source_files_all(const struct source_files *); /* in the listing's order */
/* What somebody else knows of the n files: made at the first call, and ended with them. NULL = out
 * of memory. One kind of thing for each lane. */
void *source_files_beside(struct source_files *, void *(*make)(size_t n), void (*destroy)(void *));
struct statcache *source_files_cache(const struct source_files *); /* or NULL */

/* Opens the file. SLUICE_E_DATA: it is not what was listed, or holds something else than its
 * manifest says. */
sluice_status source_file_open(const struct source_file *, struct input **out,
                               struct sluice_error *) MUST_USE;
/* Reads the file whole, unless it was or a cache knows it: does it hold what its manifest says? */
sluice_status source_file_compare(const struct source_file *, enum probe_for,
                                  struct sluice_error *) MUST_USE;
/* The same behind reading: SLUICE_E_DATA if somebody wrote to the file meanwhile. Where its name
 * leads by now does not matter. */
sluice_status source_file_unchanged(const struct source_file *, const struct input *,
                                    struct sluice_error *) MUST_USE;
/* The same for those who open it by themselves: is this still its version? */
sluice_status source_file_same(const struct source_file *, const struct store_version *,
                               struct sluice_error *) MUST_USE;
/* Why it can't be opened, after status: that it is gone says more. */
sluice_status source_file_gone(const struct source_file *, sluice_status status,
                               struct sluice_error *) MUST_USE;
/* Opens it at the first call, to see how it begins. */
sluice_status source_file_codec(const struct source_file *, enum codec *,
                                struct sluice_error *) MUST_USE;

/* The last place at or before decoded byte `at` where decoding can begin. Of a zstd file the whole
 * is read at the first call, or never, where a cache knows its frames. */
sluice_status source_file_place(const struct source_file *, uint64_t at, struct input_frame *,
                                struct sluice_error *) MUST_USE;

/* Decoded bytes of the file, once somebody has met its end; else INPUT_UNKNOWN. */
uint64_t source_file_end(const struct source_file *);
/* Reading met the end behind so many decoded bytes. SLUICE_E_DATA: elsewhere than before. */
sluice_status source_file_ended(const struct source_file *, uint64_t decoded,
                                struct sluice_error *) MUST_USE;

#endif
