/* Names of new stages: what is allowed, and what to suggest instead. Depends on base. */
#ifndef SLUICE_CMD_NEW_NAME_H
#define SLUICE_CMD_NEW_NAME_H

#include "base/buf.h"

/* [a-z][a-z0-9_]*, at most NEW_NAME_MAX bytes, and no name that languages or Sluice keep for
 * themselves. SLUICE_E_CONFIG suggests the nearest good name. */
#define NEW_NAME_MAX 48
sluice_status new_name_check(const char *name, struct sluice_error *) MUST_USE;

#endif
