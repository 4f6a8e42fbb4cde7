/* Private to core/run/facts: what the report of a run is made of. */
#ifndef SLUICE_RUN_REPORTINT_H
#define SLUICE_RUN_REPORTINT_H

#include <jansson.h>

#include "run/run.h"

/* What an op is called there; "" and static strings. */
const char *report_role(const struct op *);
const char *report_kind(const struct op *);
double report_work(const struct time_spent *);
double report_wait(const struct time_spent *);
/* What a stage asked servers, or NULL. Gives a reference. */
json_t *report_asks(const struct ask_metrics *);

/* Adds funnel, edges, upkeep, waits, work_seconds, wait_seconds, idle_seconds. */
void report_funnel(json_t *report, const struct run *);

#endif
