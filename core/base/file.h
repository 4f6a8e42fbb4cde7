/* Opening files that a person named. A name may be a pipe, on which open() would wait for a writer
 * for ever, a device that never ends, or a folder: only regular files are opened. Depends on
 * base/error. */
#ifndef SLUICE_BASE_FILE_H
#define SLUICE_BASE_FILE_H

#include <sys/stat.h>

#include "base/error.h"

/* "file", "folder", "pipe", "socket", "device" */
const char *file_kind(mode_t mode);

/* Opens a regular file for reading; *fd is -1 on failure. SLUICE_E_CONFIG: it is something else, or
 * not there; SLUICE_E_IO: it can't be opened. The message begins with what: "the list of files". */
sluice_status file_open(const char *path, const char *what, int *fd,
                        struct sluice_error *err) MUST_USE;

#endif
