/* From what a user writes to a sorted list of files. Owns the rules of patterns and names;
 * depends on base/ and store.h.
 *
 * Forms of a pattern: a file; a directory (every regular file below it, hidden ones skipped); a
 * glob with `*`, `?`, `[a-z]`, `[!x]` inside one path segment and `**` for any number of
 * segments (hidden files and folders only match a segment that begins with a dot itself);
 * `{name}`, which matches one or more bytes of one segment and becomes a column; `{name**}`, which
 * is a segment of its own: any number of folders as a column, with slashes between ("" for none);
 * `\x` for x itself; `@list.txt`, a file with one path a line (relative to the list's folder, no
 * globs, empty lines skipped). A pattern that names an existing file or folder literally is that
 * file or folder, whatever bytes its name holds.
 *
 * The folders that a dataset makes inside its own (data, snapshots, latest, v000001), and run
 * directories, hold copies of each other and records: `*`, `**` and a folder's name do not enter
 * them; naming them does (silver/x/latest/x, or with other globs: "silver/{set}/latest" followed by
 * one). They are counted.
 *
 * Promise: the result depends on the patterns and on what is below them only: never on the
 * working directory, the locale or the order in which a directory is read. */
#ifndef SLUICE_STORE_LISTING_H
#define SLUICE_STORE_LISTING_H

#include <time.h>

#include "base/arena.h"
#include "store/store.h"

/* A time of struct stat as a version has it. */
static inline int64_t stat_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct listing_file {
    const char *path; /* absolute, not resolved: what is opened */
    const char *name; /* relative to the pattern's fixed folder; the same on every machine */
    struct store_version version; /* only decides whether it is read again */
    uint64_t inode, dev;          /* tell ways to one file; 0 where it has but one */
    /* listing.n_parts of them, in the order of parts; NULL where the pattern has none. */
    const char *const *values;
};

struct listing {
    struct listing_file *files; /* sorted bytewise by name */
    size_t n;
    const char *const *parts; /* names of the {parts}, in the order of first appearance */
    size_t n_parts;
    /* Folders that belong to datasets (data, v000001 ...) or runs, which patterns did not enter,
     * and the first of them; NULL = none. */
    size_t n_skipped;
    const char *skipped;
    struct arena arena; /* of all strings; private */
};

/* Expands n patterns; relative ones start at base_dir (absolute). max_files > 0 keeps the first
 * max_files in order. Several ways to one file (links, overlapping patterns) count once, under
 * the smallest name. out needs no initialisation; on an error there is nothing to free.
 * SLUICE_E_CONFIG: a malformed pattern, no match, two files with one name. SLUICE_E_IO: a folder
 * that can't be read, a dangling link, a device or socket. */
sluice_status listing_expand(const char *const *patterns, size_t n, const char *base_dir,
                             size_t max_files, struct listing *out,
                             struct sluice_error *err) MUST_USE;

/* Exactly these n files of a folder (absolute), whatever else is there: what a manifest names.
 * max_files as above. SLUICE_E_DATA: one of them is missing. */
sluice_status listing_named(const char *folder, const char *const *names, size_t n,
                            size_t max_files, struct listing *out,
                            struct sluice_error *err) MUST_USE;

/* The same where what is there is not looked at: names, files and sizes are as a manifest says, and
 * of versions nothing is known but that. */
struct listing_given {
    const char *name;
    const char *file; /* in the folder */
    uint64_t bytes;
};
sluice_status listing_take(const char *folder, const struct listing_given *, size_t n,
                           size_t max_files, struct listing *out,
                           struct sluice_error *err) MUST_USE;
/* What is said of a file that a manifest named and that is not there. */
sluice_status listing_missing(const char *path, struct sluice_error *err);
void listing_deinit(struct listing *);

#endif
