/* Private to `sluice plan`: plan.c collects what a run would do as JSON, plan_print.c writes that
 * for people. */
#ifndef SLUICE_CMD_PLANINT_H
#define SLUICE_CMD_PLANINT_H

#include <jansson.h>

/* Prints what --json gives as text, to standard output. */
void plan_print(const json_t *plan);

#endif
