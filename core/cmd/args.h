/* Command lines: one table a command. Depends on base, plugin. */
#ifndef SLUICE_CMD_ARGS_H
#define SLUICE_CMD_ARGS_H

#include "base/error.h"

struct arg_spec {
    const char *name;  /* "--workers" */
    const char *value; /* "N", or NULL for a switch */
    const char *doc;
};

#define ARGS_MAX 256

struct args {
    const struct arg_spec *specs;
    size_t n_specs;
    const char *values[64];         /* per spec: the last value given ("" for switches), or NULL */
    const char *repeated[ARGS_MAX]; /* all values of repeatable options, with the spec's index */
    size_t repeated_spec[ARGS_MAX];
    size_t n_repeated;
    const char *words[ARGS_MAX]; /* what is no option */
    size_t n_words;
    bool help;
};

/* Parses argv[1..]. Unknown options are refused with a suggestion. */
sluice_status args_parse(int argc, char **argv, const struct arg_spec *specs, size_t n,
                         struct args *out, struct sluice_error *) MUST_USE;
/* A command: what --help prints, its options, and how many arguments it takes beside them. */
struct command {
    const char *usage; /* "sluice show RUN [--json]"; further ways on lines of their own */
    const char *text;
    const struct arg_spec *specs;
    size_t n_specs;
    uint32_t least, most; /* arguments */
};
/* Parses argv[1..] of a command: -1 = go on; else its exit status: 0, --help was printed; 2, the
 * arguments are wrong, and standard error says why and how the command is used (as JSON where
 * --json is given). */
int command_args(const struct command *, int argc, char **argv, struct args *out);
/* All values of an option, in their order: how many. */
size_t args_all(const struct args *, const char *name, const char *out[ARGS_MAX]);
/* The value of an option, or NULL. */
const char *args_get(const struct args *, const char *name);
#define ARGS_TWO_SHOWS "found both --json and --view, expected one of them"
/* Prints usage ("sluice run PIPELINE.lua [name=value ...] [options]"), text and the options. */
void args_help(const char *usage, const char *text, const struct arg_spec *specs, size_t n);
/* The value of an option as a number in [least, most]; fallback when it is not given. */
sluice_status args_number(const struct args *, const char *option, uint64_t least, uint64_t most,
                          uint64_t fallback, uint64_t *out, struct sluice_error *) MUST_USE;
/* The same for a word of the command line, called `what` in messages. */
sluice_status args_word_number(const char *word, const char *what, uint64_t most, uint64_t *out,
                               struct sluice_error *) MUST_USE;
/* The value of an option as a number of bytes, at least 1; *out stays when it is not given. */
sluice_status args_size(const struct args *, const char *option, uint64_t *out,
                        struct sluice_error *) MUST_USE;
/* Digits alone; false = anything else. */
bool whole_parse(const char *text, uint64_t *out);

#endif
