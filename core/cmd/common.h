/* Options that several commands share, and reading them into session options. */
#ifndef SLUICE_CMD_COMMON_H
#define SLUICE_CMD_COMMON_H

#include "cmd/session.h"

/* Options of commands that take a script. */
extern const struct arg_spec script_specs[];
extern const size_t n_script_specs;

struct common {
    struct args args;
    struct session_options options;
    const char *plugins[ARGS_MAX];
    bool json;
};

/* What --help says of the arguments of SCRIPT: prints those that it declares, with their defaults. options: script, plugins, trust.
 * The exit status: 0, or that of a script that can't be loaded, which is said on standard error. */
int common_help_script(const struct session_options *options);

/* Parses argv for a command on SCRIPT [name=value ...]; *exit_status >= 0 when the command is over (help, usage). */
sluice_status common_script(int argc, char **argv, const char *usage, const char *text,
                            struct common *, int *exit_status, struct sluice_error *) MUST_USE;

#endif
