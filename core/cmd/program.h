/* Where the files of this program stand: it looks for them from its own executable. Depends on
 * base. */
#ifndef SLUICE_CMD_PROGRAM_H
#define SLUICE_CMD_PROGRAM_H

#include "base/arena.h"

struct program {
    const char *folder;  /* of the executable */
    const char *scripts; /* of the standard library, heuristics, views */
};

/* The texts stand in the arena. */
sluice_status program_find(struct arena *, struct program *, struct sluice_error *) MUST_USE;

#endif
