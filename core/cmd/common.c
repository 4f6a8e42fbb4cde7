/* Options that several commands share: see common.h. */
#include "cmd/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct arg_spec script_specs[] = {
    { "--workers", "N", "worker threads (default: the processors granted)" },
    { "--memory", "SIZE",
      "memory of the whole process, such as 2GiB (default: 80 % of what is granted)" },
    { "--run-dir", "DIR",
      "where the state of the run lives (default: .sluice/NAME beside the script)" },
    { "--scratch", "DIR", "where stages spill (default: RUN-DIR/scratch)" },
    { "--limit", "N", "only the first N input files of every reader, such as 20 or 20files" },
    { "--batch", "SIZE", "bytes of a record batch (default 1MiB); never changes the output" },
    { "--fresh", NULL, "ignore finished tasks of earlier runs" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--locked", NULL, "refuse scripts, plugins and models that the lock file does not list" },
    { "--lock-file", "FILE", "the lock file (default: PIPELINE.lock beside PIPELINE.lua)" },
    { "--trust", NULL, "run plugins from outside the install tree in this process, not isolated" },
    { "--json", NULL, "events and results as JSON lines on standard output" },
    { "--quiet", NULL, "no progress" },
};
const size_t n_script_specs = sizeof script_specs / sizeof script_specs[0];

static sluice_status size_option(const struct args *args, const char *name, uint64_t *out,
                                 struct sluice_error *err)
{
    const char *text = args_get(args, name);

    if (text != NULL && (!size_parse(text, out) || *out == 0)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: found '%s', expected a size such as 64MiB or 2G", name, text);
    }
    return SLUICE_OK;
}

sluice_status common_script(int argc, char **argv, const char *usage, const char *text,
                            struct common *common, int *exit_status, struct sluice_error *err)
{
    const char *number;
    char *end;

    memset(common, 0, sizeof *common);
    *exit_status = -1;
    TRY(args_parse(argc, argv, script_specs, n_script_specs, &common->args, err));
    if (common->args.help) {
        args_help(usage, text, script_specs, n_script_specs);
        *exit_status = 0;
        return SLUICE_OK;
    }
    if (common->args.n_words == 0) {
        return error_set(err, SLUICE_E_CONFIG, "no pipeline is given: %s", usage);
    }
    common->json = args_get(&common->args, "--json") != NULL;
    common->options.script = common->args.words[0];
    common->options.words = common->args.words + 1;
    common->options.n_words = common->args.n_words - 1;
    common->options.run_dir = args_get(&common->args, "--run-dir");
    common->options.scratch = args_get(&common->args, "--scratch");
    common->options.trust = args_get(&common->args, "--trust") != NULL;
    common->options.lock_file = args_get(&common->args, "--lock-file");
    common->options.locked =
        args_get(&common->args, "--locked") != NULL || common->options.lock_file != NULL;
    common->options.fresh = args_get(&common->args, "--fresh") != NULL;
    TRY(size_option(&common->args, "--memory", &common->options.memory, err));
    TRY(size_option(&common->args, "--batch", &common->options.batch_bytes, err));
    number = args_get(&common->args, "--workers");
    if (number != NULL) {
        unsigned long n = strtoul(number, &end, 10);
        if (end == number || *end != '\0' || n < 1 || n > 1024) {
            return error_set(err, SLUICE_E_CONFIG, "--workers: found '%s', expected 1 to 1024",
                             number);
        }
        common->options.workers = (uint32_t)n;
    }
    number = args_get(&common->args, "--limit");
    if (number != NULL) {
        unsigned long long n = strtoull(number, &end, 10);
        if (end == number || n < 1 || strchr(number, '-') != NULL ||
            (*end != '\0' && strcmp(end, "files") != 0)) {
            return error_set(err, SLUICE_E_CONFIG,
                             "--limit: found '%s', expected a number of files such as 20files",
                             number);
        }
        common->options.limit_files = n;
    }
    for (size_t i = 0; i < common->args.n_repeated; i++) {
        if (strcmp(script_specs[common->args.repeated_spec[i]].name, "--plugin") == 0) {
            common->plugins[common->options.n_plugins++] = common->args.repeated[i];
        }
    }
    common->options.plugins = common->plugins;
    return SLUICE_OK;
}
