/* What this process may use: processors and memory, from affinity, cgroups (v1 and v2) and
 * SLURM_*. */
#ifndef SLUICE_RUN_LIMITS_H
#define SLUICE_RUN_LIMITS_H

#include "base/error.h"

uint32_t limits_workers(void); /* at least 1 */
uint64_t
limits_memory(void); /* bytes: 80 % of what is granted or, if less, available; at least 256 MiB */

#endif
