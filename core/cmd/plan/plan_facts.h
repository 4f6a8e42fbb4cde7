/* What `sluice plan --json --tasks` tells of a run, for other commands. Depends on jansson. */
#ifndef SLUICE_CMD_PLAN_FACTS_H
#define SLUICE_CMD_PLAN_FACTS_H

#include <jansson.h>

#include "base/error.h"

/* Builds the plan of a run directory again. Gives; the caller drops it after an error too. */
sluice_status plan_facts(const char *run_dir, json_t **out, struct sluice_error *) MUST_USE;

#endif
