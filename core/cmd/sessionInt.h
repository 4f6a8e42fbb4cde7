/* Private to core/cmd/session*.c. */
#ifndef SLUICE_CMD_SESSIONINT_H
#define SLUICE_CMD_SESSIONINT_H

#include "cmd/session.h"

/* In the session's arena; NULL = out of memory. */
char *session_absolute(struct session *, const char *path);
bool session_is_folder(const char *path);

/* exe_dir, module_dir, cwd. */
sluice_status session_find_program(struct session *, struct sluice_error *) MUST_USE;
/* local_dir and scratch: they stay on this machine, whatever the run's directory is. */
sluice_status session_find_local(struct session *, struct sluice_error *) MUST_USE;
/* A folder in options.apart, in the session's arena. */
#define SESSION_APART_RUN "run"
#define SESSION_APART_DATASETS "datasets"
const char *session_apart(struct session *, const char *name);
/* Makes the run directory; opens what is known of files. */
sluice_status session_open_run_dir(struct session *, struct sluice_error *) MUST_USE;

#endif
