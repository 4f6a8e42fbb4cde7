/* A backend of store/store.h: what it does of one request. It repeats nothing, compares nothing and
 * lists a page at a time; store.c does the rest for all of them, so that a backend is small and the
 * rules are kept once. Names come with their scheme. Thread-safe, but for one store_file.
 *
 * A new backend: a struct store_ops here below and in the table of store.c. */
#ifndef SLUICE_STORE_STORE_OPS_H
#define SLUICE_STORE_STORE_OPS_H

#include "store/store.h"

enum store_answer {
    ANSWER_DONE,
    ANSWER_ABSENT,  /* no file has the name */
    ANSWER_EXISTS,  /* put_new: one has */
    ANSWER_DIFFERS, /* put_if: it has another version */
    ANSWER_AGAIN,   /* nothing was done; the same request may succeed later */
    ANSWER_UNKNOWN, /* it may have been done, or may yet be */
    ANSWER_FAILED,  /* the error struct says why; repeating is no use */
};

struct store_file {
    const struct store_ops *ops;
    char *name; /* owned by store.c */
    struct store_version version;
    int fd;       /* the backend's, -1 at first */
    void *data;   /* the backend's */
    bool gone;    /* store.c: it was removed while it was read */
    bool changed; /* store.c: another one has its name since it was opened */
};

struct store_page {
    struct store_list *list; /* store_list_add() */
    const char *after;       /* "" at first, else what the page before left in next */
    struct buf next; /* the backend's own text for the page behind; empty: it was the last */
};

/* How often a file may have been removed or replaced by others while it is compared or read: no
 * refusal, for each time somebody has come further. */
#define STORE_MEANWHILE_MOST 1000u

struct store_ops {
    const char *scheme; /* "s3" of s3://…; NULL: paths */
    unsigned caps;      /* enum store_cap */
    unsigned tries;     /* requests at most, the first one among them */
    unsigned pause_ms;  /* before the first repetition; doubled each time, up to two seconds */

    enum store_answer (*open)(struct store_file *, struct sluice_error *);
    void (*close)(struct store_file *);
    /* Sets got of each. */
    enum store_answer (*read)(struct store_file *, struct store_extent *, size_t n,
                              struct sluice_error *);
    enum store_answer (*look)(struct store_file *, struct store_version *, struct sluice_error *);
    void (*sequential)(struct store_file *); /* NULL: it makes no difference */
    enum store_answer (*stat)(const char *name, struct store_version *, struct sluice_error *);
    /* Adds a page of what is below the folder: names relative to it, "a/b" whole or "a" as a
     * folder unless STORE_DEEP; in any order, and again what was there before. */
    enum store_answer (*list)(const char *folder, unsigned flags, struct store_page *,
                              struct sluice_error *);
    enum store_answer (*put_new)(const char *name, const void *data, size_t n, unsigned flags,
                                 struct sluice_error *);
    /* expected is no NULL here. */
    enum store_answer (*put_if)(const char *name, const struct store_version *expected,
                                const void *data, size_t n, struct sluice_error *);
    enum store_answer (*put)(const char *name, const void *data, size_t n, unsigned flags,
                             struct sluice_error *);
    /* NULL on a disk, where pending files are written in place. */
    enum store_answer (*upload)(const char *name, int fd, uint64_t n, struct sluice_error *);
    enum store_answer (*remove)(const char *name, struct sluice_error *);
    sluice_status (*settle)(const char *folder, struct sluice_error *); /* NULL: nothing to do */
    sluice_status (*make_folder)(const char *folder, bool durable,
                                 struct sluice_error *); /* same */
};

/* Adds an entry; false = out of memory. The n bytes of name are copied. */
bool store_list_add(struct store_list *, const char *name, size_t n, const struct store_version *,
                    bool folder);

/* Sorts the entries by name and drops what is there twice. */
void store_list_sort(struct store_list *);

/* The answer for a failed call of the operating system that asked nobody else. */
static inline enum store_answer store_failed(sluice_status status)
{
    (void)status; /* it stands in the error struct too */
    return ANSWER_FAILED;
}

extern const struct store_ops store_disk;
/* In tests alone. */
extern const struct store_ops store_hostile;
extern const struct store_ops store_alone;

#endif
