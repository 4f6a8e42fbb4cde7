/* Options that several commands share, and reading them into session options. */
#ifndef SLUICE_CMD_COMMON_H
#define SLUICE_CMD_COMMON_H

#include "cmd/session.h"

struct common {
    struct args args;
    struct session_options options;
    const char *plugins[ARGS_MAX];
    bool json;
};

/* Parses argv for a command on SCRIPT [name=value ...]; *exit_status >= 0 when the command is over
 * (help, usage). */
sluice_status common_script(int argc, char **argv, const char *usage, const char *text,
                            struct common *, int *exit_status, struct sluice_error *) MUST_USE;

/* For session_options.log: what stages say goes to standard error. */
void common_log(void *ctx, int32_t level, const char *stage, const char *message);

/* Writes a small file that the user names, whole or not at all, over what is there. */
sluice_status common_write(const char *path, const void *data, size_t n,
                           struct sluice_error *) MUST_USE;

/* A word alone that names a run directory means its frozen plan, not a script. */
void common_frozen(struct common *);

/* A command on the registry of the plugins that --plugin and --trust name: parses argv, opens it,
 * calls work, closes it; the exit status. */
int common_registry(const struct command *, int argc, char **argv,
                    int (*work)(struct session *, const struct args *));

#endif
