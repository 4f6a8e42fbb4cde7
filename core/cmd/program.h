/* Where the files of this program stand: it looks for them from its own executable. Depends on
 * base. */
#ifndef SLUICE_CMD_PROGRAM_H
#define SLUICE_CMD_PROGRAM_H

#include "base/error.h"

struct program {
    char *folder;  /* of the executable */
    char *scripts; /* of the standard library, heuristics, views */
};

/* Deinit after an error too. */
sluice_status program_find(struct program *, struct sluice_error *) MUST_USE;
void program_deinit(struct program *);

#endif
