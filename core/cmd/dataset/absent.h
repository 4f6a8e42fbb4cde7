/* sluice verify DATASET --absent FILE: whether none of the ids of a list is left. Depends on
 * reach. */
#ifndef SLUICE_CMD_ABSENT_H
#define SLUICE_CMD_ABSENT_H

#include "cmd/args.h"

/* The whole command behind its arguments; --absent is given. The exit status: 0, nothing is left;
 * 1, something is, or can't be searched, and was named. */
int absent_show(const struct args *);

#endif
