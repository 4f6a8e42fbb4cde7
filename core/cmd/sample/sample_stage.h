/* The stage behind `sluice sample`: of all rows that pass it keeps the k with the smallest hash,
 * and writes the hash into a column, so that the smallest of what every worker kept can be picked
 * at the end. Depends on plugin.
 *
 * A row's hash is made of the seed, its columns and its number, so that the sample does not depend
 * on workers, batches, order or names of files, and copies of a document are picked apart from one
 * another. */
#ifndef SLUICE_CMD_SAMPLE_STAGE_H
#define SLUICE_CMD_SAMPLE_STAGE_H

#include <stdatomic.h>

#include "plugin/registry.h"

#define SAMPLE_COLUMN "sluice_sample" /* the column with the hash */
#define SAMPLE_DIGITS 16              /* its text: so many hexadecimal digits */

struct sampler { /* caller's memory; lives as long as the registry */
    uint64_t seed, k;
    atomic_uint_fast64_t bound; /* rows with a hash above it can't be among the k smallest */
};

void sampler_init(struct sampler *, uint64_t seed, uint64_t k);
/* Adds the stage to a registry. Borrowed entry. */
sluice_status sampler_add(struct registry *, struct sampler *, const struct registry_entry **,
                          struct sluice_error *) MUST_USE;

#endif
