/* Pipelines that a command makes itself: a script is written into a folder, run there, and gone
 * with it. Depends on session. */
#ifndef SLUICE_CMD_SCRIPTED_H
#define SLUICE_CMD_SCRIPTED_H

#include "cmd/session.h"

/* A text between quotes of Lua, whatever is in it. */
void scripted_text(struct buf *, const char *text);

/* Runs what the options say to its end; what it published is in the datasets. */
sluice_status scripted_session(const struct session_options *, struct sluice_error *) MUST_USE;

/* Runs the script in a run directory, WORK/NAME, from its beginning to what it publishes. workers:
 * 0 = what is granted. */
sluice_status scripted_run(const char *work, const char *name, const struct buf *script,
                           uint32_t workers, struct sluice_error *) MUST_USE;

#endif
