/* Files and folders in the making on a disk: temporary names that tell who makes them, final names
 * given where they are free, and leftovers of the dead. Depends on disk, owner. Thread-safe. */
#ifndef SLUICE_STORE_TEMP_H
#define SLUICE_STORE_TEMP_H

#include "store/disk.h"

/* A fresh temporary name for dir ("dir/.tmp-…"), unique while this thread has not made n such names
 * at once: try n = 0, 1, … until creating succeeds. For folders and symlinks in the making. NULL =
 * out of memory. Gives. */
char *temp_path(const char *dir, uint32_t n);

/* Makes a folder under such a name, and dir where it is absent; removes what the dead left there.
 * *path is given. */
sluice_status temp_folder(const char *dir, char **path, struct sluice_error *) MUST_USE;

/* Creates an empty file under such a name, for reading and writing: 0 or an errno. *path is given
 * (on errors too; NULL then says that memory ran out). */
int temp_create(const char *dir, char **path, int *fd);
/* The same, where the caller has made about n that are still there, so that their names need not be
 * tried. */
int temp_create_beside(const char *dir, uint32_t n, char **path, int *fd);

/* Gives a complete file under a temporary name its final one if that is free: 0, EEXIST or another
 * errno. *moved: the temporary name is gone. */
int temp_claim(const char *temp, const char *final, bool *moved);

/* Removes a file, a link, or a folder with all that is in it. An absent one is fine. Another
 * process may be doing the same. */
sluice_status temp_remove(const char *path, struct sluice_error *) MUST_USE;

/* Whether a name in a folder is such a temporary one. */
bool temp_named(const char *name);

/* Removes the `.tmp-…` files and folders in dir that no living process owns: those of dead
 * processes of this host, and those of other hosts after 7 days without a change. *removed may be
 * NULL. An absent dir is fine, and one that is no path has none. */
sluice_status temp_sweep(const char *dir, uint32_t *removed, struct sluice_error *) MUST_USE;

/* Removes a folder that others may write into this moment: what the dead left there, and the folder
 * itself if nothing else is in it. */
sluice_status temp_drop(const char *dir, struct sluice_error *) MUST_USE;

#endif
