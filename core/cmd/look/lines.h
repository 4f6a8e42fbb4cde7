/* Lines of a file that may be compressed, one by one. Depends on store/input.h. */
#ifndef SLUICE_CMD_LINES_H
#define SLUICE_CMD_LINES_H

#include "base/error.h"

/* A line without its newline, borrowed for the call; *stop: no more are wanted. */
typedef sluice_status lines_fn(void *ctx, const char *text, size_t n, bool *stop,
                               struct sluice_error *err);

/* Until *stop, which may be set before; what take fails with ends it. SLUICE_E_DATA: a line is too
 * long, or the file can't be decoded. */
sluice_status lines_read(const char *path, lines_fn *take, void *ctx, bool *stop,
                         struct sluice_error *) MUST_USE;

#endif
