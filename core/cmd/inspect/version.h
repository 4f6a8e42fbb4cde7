/* The numbers of formats and behaviours that the program has: see version.c. */
#ifndef SLUICE_CMD_VERSION_H
#define SLUICE_CMD_VERSION_H

#include "base/buf.h"

/* What `sluice --version --json` prints. */
sluice_status version_json(struct buf *out, struct sluice_error *) MUST_USE;

#endif
