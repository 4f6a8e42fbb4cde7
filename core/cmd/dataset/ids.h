/* The ids of a list, and how many rows had each. Depends on look/lines. */
#ifndef SLUICE_CMD_IDS_H
#define SLUICE_CMD_IDS_H

#include "base/arena.h"
#include "base/sha256.h"

struct ids {
    struct arena arena;
    const char **items; /* sorted, each once */
    uint64_t *found;    /* rows, in step */
    size_t n;
    uint64_t repeated;       /* lines that say an id again */
    char sha256[SHA256_HEX]; /* of the file, as it is stored */
};

/* Reads a file of ids, one a line, each taken as it is. SLUICE_E_CONFIG: there is none, or a line
 * is empty or no text. Deinit after an error too. */
sluice_status ids_read(const char *path, struct ids *, struct sluice_error *) MUST_USE;
void ids_deinit(struct ids *);

/* The place of an id in items, or n if it is none of them. */
size_t ids_find(const struct ids *, const char *text, size_t n);

#endif
