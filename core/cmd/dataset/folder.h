/* The datasets of a folder and of those below it. Depends on store. */
#ifndef SLUICE_CMD_FOLDER_H
#define SLUICE_CMD_FOLDER_H

#include "base/error.h"

struct folder {
    const char *path; /* borrowed; without a slash at its end */
    char **names;     /* of the datasets, sorted: below the folder, "." of itself */
    size_t n, capacity;
};

/* Finds them. Deinit after an error too. */
sluice_status folder_find(struct folder *, struct sluice_error *) MUST_USE;
void folder_deinit(struct folder *);

/* The path of one of them. NULL = out of memory. Gives. */
char *folder_dataset(const struct folder *, size_t i);

#endif
