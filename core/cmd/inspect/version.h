/* The numbers of formats and behaviours that the program has: see version.c. */
#ifndef SLUICE_CMD_VERSION_H
#define SLUICE_CMD_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct version_epoch {
    const char *name;
    uint32_t number; /* raised when what it stands for changes */
    const char *what;
};

extern const struct version_epoch version_epochs[];
extern const size_t n_version_epochs;

/* What `sluice --version --json` prints. */
sluice_status version_json(struct buf *out, struct sluice_error *) MUST_USE;

#endif
