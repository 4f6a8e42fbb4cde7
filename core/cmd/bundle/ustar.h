/* Writes a tar archive (POSIX ustar) of small files that are in memory. The same files in the same
 * order give the same bytes: no times, owners or modes of a machine. Depends on
 * store/outcodec.h. */
#ifndef SLUICE_CMD_USTAR_H
#define SLUICE_CMD_USTAR_H

#include "store/outcodec.h"

/* Appends one file. name: "dir/file", relative. SLUICE_E_CONFIG: it is longer than the format
 * takes, or the file is too large. */
sluice_status ustar_file(struct outcodec *, const char *name, const void *data, size_t n,
                         struct sluice_error *) MUST_USE;
/* Ends the archive. */
sluice_status ustar_end(struct outcodec *, struct sluice_error *) MUST_USE;

#endif
