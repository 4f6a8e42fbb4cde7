/* Folders as names of datasets: one spelling for each, and which folders are parts of a dataset or
 * of a run. Depends on base. */
#ifndef SLUICE_STORE_PATHS_H
#define SLUICE_STORE_PATHS_H

#include "base/error.h"

/* The one name of an absolute path: links of what exists of it followed, `.`, `..` and empty
 * segments resolved, no slash at the end. What does not exist yet is taken as written. Gives; NULL
 * = out of memory. */
char *path_canonical(const char *path);

/* The part of inner behind outer and its slash ("" if they are equal); NULL if inner is not in
 * outer. Both canonical. Borrowed. */
const char *path_below(const char *outer, const char *inner);

/* Whether a name is one of the folders that a dataset makes: data, snapshots, latest, tags,
 * v000001. n: its length. */
bool dataset_part(const char *name, size_t n);

/* Whether a folder is a dataset: it has a folder of snapshots with one in it. */
bool dataset_there(const char *folder);

/* Whether a folder is the directory of a run: it has a plan and task records. */
bool run_there(const char *folder);

/* The dataset in one of whose own folders a canonical path lies, nearest first; NULL = none (or out
 * of memory). Gives. */
char *dataset_around(const char *path);

#endif
