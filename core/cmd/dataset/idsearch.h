/* Which rows of a dataset's files have an id of a list. A file is searched once, whatever number
 * of snapshots name it. Depends on ids, rowfield, look/rowsof, store/removal. */
#ifndef SLUICE_CMD_IDSEARCH_H
#define SLUICE_CMD_IDSEARCH_H

#include <jansson.h>

#include "cmd/dataset/ids.h"
#include "store/removal.h"

struct idsearch {
    struct ids *ids;
    const char *column; /* a name, or a path such as meta.id */
    const char *dir;    /* of the dataset */
    const _Atomic int *stop;
    json_t *seen; /* {stored file: its place in files} */
    struct idsearch_file {
        struct removal_shard hits; /* owned */
        uint64_t *which;           /* ids, in step; owned */
        uint64_t without;          /* rows that have no such field */
    } * files;
    size_t n_files, capacity;
    uint64_t counted, lacking; /* by idsearch_count: rows, and those that have no such field */
    struct rowsof *columns;    /* reads columnar files; owned, NULL until one is searched */
};

/* What is found in one file; borrowed until the next call. SLUICE_E_CONFIG: files of this kind
 * can't be searched. SLUICE_E_DATA: it is damaged. */
sluice_status idsearch_shard(struct idsearch *, const struct snapshot_shard *,
                             const struct idsearch_file **, struct sluice_error *) MUST_USE;

/* All shards of a snapshot: *shards are as many as it has, borrowed rows; the array is given
 * (free()). Counts in ids->found what is there. SLUICE_E_CONFIG also: no row has the field. */
sluice_status idsearch_snapshot(struct idsearch *, const struct snapshot *,
                                struct removal_shard **shards, uint64_t *without,
                                struct sluice_error *) MUST_USE;

/* SLUICE_E_CONFIG where no row of these has the field. */
sluice_status idsearch_check(const struct idsearch *, uint64_t rows, uint64_t without,
                             struct sluice_error *) MUST_USE;

/* Whether files of this stored name can be searched by rows. */
bool idsearch_takes(const char *file);

/* Rows of a file of such a name, whatever a manifest says of it, that have an id. SLUICE_E_DATA: it
 * is damaged. */
sluice_status idsearch_count(struct idsearch *, const char *path, uint64_t *rows,
                             struct sluice_error *) MUST_USE;
void idsearch_deinit(struct idsearch *);

#endif
