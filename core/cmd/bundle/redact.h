/* Takes the text of records out of the JSON of reports and commit records. Depends on jansson. */
#ifndef SLUICE_CMD_REDACT_H
#define SLUICE_CMD_REDACT_H

#include <jansson.h>
#include <stdbool.h>

/* Strings of members that hold names, states and hashes stay; all others become "(left out: N
 * bytes)", for messages, examples, notes and states may quote values. messages: those of errors
 * stay. In place; false = out of memory. */
bool redact(json_t *json, bool messages);

#endif
