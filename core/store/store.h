/* Places: where files are. A place's name is a text: a path, or `SCHEME://…`; the scheme finds the
 * backend (struct store_ops, store/store_ops.h), and whoever holds a name need not know which it
 * is. What a place can do more than another, store_caps() tells.
 *
 * What every place keeps, and the core relies on:
 * - A file is there whole or not at all. Nobody sees half of one that store_put_new(),
 *   store_replace() or store_replace_if() writes, nor of a pending file (store/pending.h).
 * - store_put_new() makes a file only if none has the name, atomically, whoever else tries. That is
 *   how a task is committed and a snapshot numbered. (A place without STORE_PUT_NEW does it as well
 *   as it can: it is good for one writer only.)
 * - A version decides whether a file is read again, and nothing else; what is believed of bytes is
 *   believed by their hash.
 * - That a file is *absent* is told by opening it or by creating it exclusively. A list may be
 *   older than the last changes: who finds nothing in one has learned nothing.
 *
 * The rules of writing, for all backends in one place (store.c). A conflict or a refusal ("come
 * again later") repeats the request. After "it exists" and after an unknown outcome (the request
 * went out and no answer came: it may have been performed, or may yet be) the file is read and
 * compared: equal bytes are success, whoever put them; other bytes are STORE_OTHER, or `done`
 * false; none repeats the request. Nothing is deleted after an unknown outcome. How often something
 * is repeated is counted, never timed; then SLUICE_E_IO says how often.
 *
 * Names, buffers and texts are borrowed for the call; who gets a struct frees it with its _deinit
 * or _close. Thread-safe but for one struct store_file, which belongs to one thread at a time.
 * Depends on base and store/disk. */
#ifndef SLUICE_STORE_STORE_H
#define SLUICE_STORE_STORE_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/sha256.h"

/* ---- what a place can do ---- */

enum store_cap {
    STORE_LINKS = 1,      /* a file may get a second name; so vNNNNNN/ and `latest` exist */
    STORE_PUT_NEW = 2,    /* creating a file that is absent is atomic: several may write */
    STORE_REPLACE_IF = 4, /* so is replacing a version that is known */
    STORE_FOLDERS = 8,    /* folders are things of their own, which are made and removed */
    STORE_MAP = 16,       /* its names are paths: what is there can be mapped and executed */
};
unsigned store_caps(const char *name);

/* Whether the name is a path of this machine's file system. */
bool store_is_local(const char *name);

/* SLUICE_E_CONFIG where the name has a scheme that no backend answers to; the message lists those
 * that there are. Every function below says the same. */
sluice_status store_check(const char *name, struct sluice_error *) MUST_USE;

/* The part of a name that is no folder in it: "" of a path, "s3://bucket" of an object's. Its
 * length. */
size_t store_root(const char *name);

/* ---- versions ---- */

#define STORE_TAG 40          /* of the tag, with its NUL; longer ones are hashed by the backend */
#define STORE_VERSION_TEXT 96 /* of the printed form, with its NUL */

/* Which state of a file: on a disk size and times, elsewhere size and what the store calls it
 * (an ETag, a generation). The same on every host that sees the file; never inode or device. */
struct store_version {
    uint64_t size;
    int64_t mtime_ns, ctime_ns; /* 0 where there is a tag */
    char tag[STORE_TAG];        /* printable, without spaces; "" = the times tell */
};
bool store_version_equal(const struct store_version *, const struct store_version *);

/* Whether a file of the version `now` is the one that is known, of which a link may have changed
 * the ctime since. Of one that a manifest named (listing_take) no more than the size is known. */
bool store_version_holds(const struct store_version *known, const struct store_version *now);
bool store_version_vague(const struct store_version *);

/* "SIZE MTIME CTIME" or "SIZE TAG"; returns text. */
char *store_version_print(const struct store_version *, char text[STORE_VERSION_TEXT]);

/* Reads it back from the n bytes at text; false: it is none. */
bool store_version_parse(const char *text, size_t n, struct store_version *out);

/* ---- reading ---- */

struct store_file;

/* Opens a regular file and learns its version. found NULL: an absent one is SLUICE_E_CONFIG; else
 * *found tells and *out is NULL. SLUICE_E_CONFIG also where something else has the name (a folder,
 * a pipe). Gives. */
sluice_status store_open(const char *name, struct store_file **out, bool *found,
                         struct sluice_error *) MUST_USE;
void store_close(struct store_file *); /* NULL is fine */

const char *store_name(const struct store_file *);
const struct store_version *store_version(const struct store_file *);

struct store_extent {
    uint64_t offset;
    size_t n;
    void *data; /* room for n bytes, the caller's */
    size_t got; /* set: less than n only at the end of the file */
};

/* Reads n extents, which a backend may fetch side by side. That a file was changed since it was
 * opened is SLUICE_E_DATA where the store tells; on a disk it is told by store_look(). */
sluice_status store_read(struct store_file *, struct store_extent *, size_t n,
                         struct sluice_error *) MUST_USE;

/* The version of this file now: of the one that was opened, not of what has its name since. */
sluice_status store_look(struct store_file *, struct store_version *,
                         struct sluice_error *) MUST_USE;

/* It will be read from its begin to its end: a hint. */
void store_sequential(struct store_file *);

/* Gives a file from its begin to its end to take, piece by piece; what take fails with ends it. */
typedef sluice_status store_piece_fn(void *ctx, const void *data, size_t n, struct sluice_error *);
sluice_status store_pieces(struct store_file *, store_piece_fn *take, void *ctx,
                           struct sluice_error *) MUST_USE;

/* Appends a whole file of at most max bytes to out; SLUICE_E_DATA: it has more. found NULL: an
 * absent one is an error; else *found tells, also of one that is removed meanwhile. One that is
 * replaced meanwhile is read again. */
sluice_status store_read_all(const char *name, uint64_t max, struct buf *out, bool *found,
                             struct sluice_error *) MUST_USE;

/* XXH3-128 and size of a file's bytes; found as above. */
sluice_status store_hash(const char *name, uint64_t *bytes, struct hash128 *hash, bool *found,
                         struct sluice_error *) MUST_USE;

/* SHA-256 and XXH3-128 in one reading; an absent file is SLUICE_E_CONFIG. */
sluice_status store_hashes(const char *name, char sha256[SHA256_HEX], struct hash128 *hash,
                           struct sluice_error *err) MUST_USE;

/* The version of what has the name now. *found false: no regular file is there. */
sluice_status store_stat(const char *name, struct store_version *, bool *found,
                         struct sluice_error *) MUST_USE;

/* The same, of sizes alone. */
sluice_status store_size(const char *name, uint64_t *bytes, bool *found,
                         struct sluice_error *) MUST_USE;

/* ---- listing ---- */

struct store_entry {
    char *name;                   /* relative to the folder */
    struct store_version version; /* with STORE_VERSIONS */
    bool folder;                  /* something below it */
};

struct store_list {
    struct store_entry *entries; /* owned; by name, bytewise, each once */
    size_t n;
};

enum store_list_flag {
    STORE_DEEP = 1,     /* all files below, "a/b" too, and no folders; else those in it alone */
    STORE_VERSIONS = 2, /* versions of files, and on a disk whether an entry is a folder */
};

/* What is in a folder. An absent one has nothing in it; a file in its place is an error. */
sluice_status store_list(const char *folder, unsigned flags, struct store_list *out,
                         struct sluice_error *) MUST_USE;
void store_list_deinit(struct store_list *);

/* The same without more than the names of what is in it. Release with disk_names_deinit. */
struct disk_names;
sluice_status store_names(const char *folder, struct disk_names *out,
                          struct sluice_error *) MUST_USE;

/* ---- writing; folders that are missing are made ---- */

enum store_put_flag {
    STORE_LOOSE = 1, /* need not outlive a power cut: on a disk nothing is synced */
};

enum store_put {
    STORE_MADE,  /* it was absent and is there now; or an answer was lost, and it has these bytes */
    STORE_EQUAL, /* it was there before with these bytes */
    STORE_OTHER, /* other bytes have the name; nothing was changed */
};

/* Creates the file if it is absent, durable on return unless it is loose. */
sluice_status store_put_new(const char *name, const void *data, size_t n, unsigned flags,
                            enum store_put *outcome, struct sluice_error *) MUST_USE;

/* Replaces the file if it still has this version (NULL: if it is absent). *done false: it has not,
 * and nothing was changed. SLUICE_E_CONFIG without STORE_REPLACE_IF. */
sluice_status store_replace_if(const char *name, const struct store_version *expected,
                               const void *data, size_t n, bool *done,
                               struct sluice_error *) MUST_USE;

/* Writes the file, whatever is there: the last one wins, and a request that was delayed on its way
 * may be the last. For what is only looked at: heartbeats, reports. flags: enum store_put_flag. */
sluice_status store_replace(const char *name, const void *data, size_t n, unsigned flags,
                            struct sluice_error *) MUST_USE;

/* Removes a file; an absent one is fine. A request that was delayed may make it come back. */
sluice_status store_remove(const char *name, struct sluice_error *) MUST_USE;

/* Makes the names in a folder durable: a disk syncs it, elsewhere they are. */
sluice_status store_settle(const char *folder, struct sluice_error *) MUST_USE;

/* Makes a folder and its parents where folders are things. durable: so that a power cut leaves
 * them. */
sluice_status store_make_folder(const char *folder, bool durable, struct sluice_error *) MUST_USE;

/* Puts the n bytes of a local file (fd, from its begin) under this name, in place of what is there:
 * for pending files that were spooled. Not on a disk. */
sluice_status store_upload(const char *name, int fd, uint64_t n, struct sluice_error *) MUST_USE;

/* "folder/name"; NULL = out of memory, or one of them is NULL. Gives. */
char *store_join(const char *folder, const char *name);

/* The folder that a name is in, "." of a bare one; *last: the rest of the name, borrowed. NULL =
 * out of memory. Gives. */
char *store_parent(const char *name, const char **last);

/* The name itself if it says all of where it is, else below base. NULL = out of memory. Gives. */
char *store_absolute(const char *base, const char *name);

#endif
