/* Starting child processes: private to process.c, beside what process.h says of it. */
#ifndef SLUICE_ISOLATE_SPAWN_H
#define SLUICE_ISOLATE_SPAWN_H

#include <sys/types.h>

#include "base/buf.h"

#define SPAWN_FDS 3 /* standard error, main channel, services: 2, 3 and 4 in the child */

struct spawner;

/* fds are borrowed and lie above 4. Any thread. SLUICE_E_IO. */
sluice_status spawner_start(struct spawner *, const int *fds, pid_t *pid,
                            struct sluice_error *err) MUST_USE;

#endif
