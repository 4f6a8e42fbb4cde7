/* Tags: names that people give to snapshots of a dataset, as DATASET/tags/NAME, a file that holds
 * the number. A tagged snapshot is kept (store/retain.h) and can be named as PATH@NAME. Tags are
 * beside the snapshots: no manifest knows of them. Depends on snapshot, store. */
#ifndef SLUICE_STORE_TAGS_H
#define SLUICE_STORE_TAGS_H

#include "store/snapshot.h"

#define TAG_MAX 64 /* bytes of a name */

struct tag {
    char name[TAG_MAX + 1];
    uint32_t number;
};

/* All of a dataset, by name; *tags is given (free()). SLUICE_E_DATA: one is damaged. */
sluice_status tags_list(const char *dataset_dir, struct tag **tags, size_t *n,
                        struct sluice_error *) MUST_USE;

/* Whether a snapshot has a tag. Where lists may lack files, a mark beside its manifest says so,
 * too: one of a tag that was taken away may stay, and then it counts. */
sluice_status tags_hold(const char *dataset_dir, uint32_t number, bool *held,
                        struct sluice_error *) MUST_USE;

/* Gives a snapshot, which must be there, a name: a letter, then letters, digits, '.', '_' and '-',
 * and not "latest", which every dataset has. One that another snapshot has is SLUICE_E_CONFIG
 * unless it is to be moved. */
sluice_status tags_put(const char *dataset_dir, const char *name, uint32_t number, bool move,
                       struct sluice_error *) MUST_USE;

/* SLUICE_E_CONFIG: there is none. */
sluice_status tags_remove(const char *dataset_dir, const char *name,
                          struct sluice_error *) MUST_USE;

/* Folder and number of "PATH", "PATH@N", "PATH@latest" or "PATH@TAG"; a relative path is below
 * base. *number 0: the newest. *dir is given (free()), without a slash at its end. What is behind
 * the last @ and is no tag belongs to the path, unless there is a dataset at the path before it. */
sluice_status tags_resolve(const char *base, const char *reference, char **dir, uint32_t *number,
                           struct sluice_error *) MUST_USE;

#endif
