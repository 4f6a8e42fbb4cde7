/* Stages in child processes, as the program uses them: what a session gives the planner, and the
 * hidden command that a child is. Both ends of the text that tells a child how to load a script are
 * here. Depends on session and core/isolate. */
#ifndef SLUICE_CMD_CMD_ISOLATE_H
#define SLUICE_CMD_CMD_ISOLATE_H

#include "cmd/session.h"

/* For plan_options.isolate, with the session as ctx: the first call makes the folder in which
 * children may write. */
sluice_status isolation_twin(void *session, const struct registry_entry *,
                             const struct node_isolation *, const struct registry_entry **twin,
                             struct sluice_error *) MUST_USE;
/* Ends the children and removes their folder; the plan is destroyed. */
void isolation_close(struct session *);

/* Body of `sluice __isolate`. */
int isolation_child(void);
/* Body of `sluice __probe FILE`: gives up rights, then loads the file; ends the process. */
_Noreturn void isolation_probe(const char *path);

#endif
