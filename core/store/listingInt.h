/* What the parts of listing share. Private to core/store/listing*.c. */
#ifndef SLUICE_STORE_LISTINGINT_H
#define SLUICE_STORE_LISTINGINT_H

#include <sys/stat.h>

#include "store/glob.h"
#include "store/listing.h"

struct builder {
    struct arena arena; /* the listing's */
    struct listing_file *files;
    size_t n, capacity;
    const char **parts; /* in the arena */
    size_t n_parts;
    size_t n_skipped;
    const char *skipped; /* in the arena */
};

struct pattern {
    const char *text; /* as the user wrote it */
    /* These are in the arena that it was parsed into. */
    const char *literal; /* absolute path if the text is taken as it is */
    const char *folder;  /* absolute fixed folder of the glob */
    const char *list;    /* absolute path of the list of an @list, or NULL */
    struct glob glob;
    size_t part_of[GLOB_PARTS];
};

/* listing_merge.c */
sluice_status listing_add(struct builder *, const char *path, const char *name,
                          const struct store_version *, const char *const *values,
                          struct sluice_error *err) MUST_USE;
/* The same of what lies on a disk. */
sluice_status listing_add_stat(struct builder *, const char *path, const char *name,
                               const struct stat *, const char *const *values,
                               struct sluice_error *err) MUST_USE;
void listing_sort(struct builder *); /* by name */
/* Sorts by name, drops what is there twice, refuses two files of one name. */
sluice_status listing_merge(struct builder *, struct sluice_error *err) MUST_USE;

/* listing_walk.c */
/* Walks a glob from its fixed folder, given as an absolute path. */
sluice_status listing_walk(struct builder *, const struct glob *, const size_t *part_of,
                           const char *folder, size_t *folders_matched,
                           struct sluice_error *err) MUST_USE;
/* What errno says of a path that stat() refuses. */
sluice_status listing_stat_failed(const char *path, struct sluice_error *err);

/* listing_text.c */
/* *out lives as long as the arena. */
sluice_status pattern_parse(struct builder *, struct arena *, const char *text,
                            const char *base_dir, struct pattern *out,
                            struct sluice_error *err) MUST_USE;
sluice_status listing_list(struct builder *, const struct pattern *,
                           struct sluice_error *err) MUST_USE;
sluice_status listing_nothing(const struct builder *, const struct pattern *,
                              size_t folders_matched, struct sluice_error *err) MUST_USE;

#endif
