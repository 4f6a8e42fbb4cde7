/* Ids taken out of all that a dataset and its run keep: sluice remove --purge, behind the removal
 * from the newest snapshot.
 *
 * Older snapshots, tagged ones too, are made again without the rows, under their numbers; then
 * files that no manifest names any more and files of the run that hold an id are removed, with the
 * records of the tasks that made them, so that a later run makes what it needs of them again. Each
 * manifest that is changed notes it (removals, with what it held before), and DATASET/purges has a
 * record: when, the hash of the list, how many; no id.
 *
 * A kill leaves each snapshot as it was or without the rows; the next call goes on. Depends on
 * reach. */
#ifndef SLUICE_CMD_PURGE_H
#define SLUICE_CMD_PURGE_H

#include "cmd/dataset/reach.h"

struct purge {
    struct idsearch *search; /* with the dataset's folder, its ids and column */
    const char *run;         /* directory, on which nobody else works; NULL: it is not here */
    uint64_t rows;           /* of the removal from the newest snapshot; more come */
    /* Set: snapshots that were made again, files of the dataset and of the run that went, and what
     * holds an id or can't be searched, and stays: {path, …}. */
    json_t *snapshots, *left;
    uint64_t files, run_files, bytes;
};

/* What search->ids->found counts is left alone. Deinit after an error too. */
sluice_status purge(struct purge *, struct sluice_error *) MUST_USE;
void purge_deinit(struct purge *);

/* Notes a removal in a manifest: column, ids, sha256, rows and, of a purge, the hash of what it
 * held (NULL: none). */
sluice_status purge_note(const struct idsearch *, uint64_t rows, const char *held,
                         struct snapshot *, struct sluice_error *) MUST_USE;

#endif
