/* What the stages of this plugin share. */
#ifndef DEDUP_H
#define DEDUP_H

#include <sluice_arrays.h>
#include <stddef.h>

extern const struct sluice_stage exact_keys_stage, exact_drops_stage, drop_listed_stage;

/* "out of memory" */
sluice_status dedup_nomem(struct sluice_error *);

#endif
