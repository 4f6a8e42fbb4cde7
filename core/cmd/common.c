/* Options that several commands share: see common.h. */
#include "cmd/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/look/look.h"
#include "plugin/option_table.h"
#include "store/pending.h"

/* Options of commands that take a script. */
static const struct arg_spec script_specs[] = {
    { "--workers", "N", "worker threads (default: the processors granted)" },
    { "--memory", "SIZE",
      "memory of the whole process, such as 2GiB (default: 80 % of what is granted)" },
    { "--run-dir", "DIR",
      "where the state of the run lives (default: .sluice/NAME beside the script)" },
    { "--scratch", "DIR", "where stages spill (default: RUN-DIR/scratch)" },
    { "--limit", "N", "only the first N input files of every reader, such as 20 or 20files" },
    { "--batch", "SIZE", "bytes of a record batch (default 1MiB); never changes the output" },
    { "--fresh", NULL, "ignore finished tasks of earlier runs" },
    { "--take-over", NULL, "go on with datasets that another pipeline or node wrote before" },
    { "--plugin", "FILE", "load a plugin (may be repeated)" },
    { "--locked", NULL, "refuse scripts, plugins and models that the lock file does not list" },
    { "--lock-file", "FILE", "the lock file (default: PIPELINE.lock beside PIPELINE.lua)" },
    { "--trust", NULL, "run plugins from outside the install tree in this process, not isolated" },
    { "--json", NULL, "events and results as JSON lines on standard output" },
    { "--quiet", NULL, "no progress" },
};
#define N_SCRIPT_SPECS (sizeof script_specs / sizeof script_specs[0])

/* One line, as args_help writes those of options. */
static void help_argument(void *ctx, const char *type, const struct sluice_option *option)
{
    struct buf *out = ctx;
    struct buf left = BUF_INIT;
    struct buf limits = BUF_INIT;

    buf_printf(&left, "%s=%s", option->name, type);
    for (size_t at = strlen(option->name); at < left.size; at++) {
        char *byte = (char *)left.data + at;
        *byte = (char)(*byte >= 'a' && *byte <= 'z' ? *byte - 'a' + 'A' : *byte);
    }
    buf_printf(out, "  %-22s %s", buf_str(&left), option->doc == NULL ? "" : option->doc);
    if (option->type == SLUICE_OPT_ENUM) {
        option_print_choices(option, &limits);
    } else {
        option_print_limits(option, &limits);
    }
    if (limits.size > 0) {
        buf_printf(out, " (%s%s)", option->type == SLUICE_OPT_ENUM ? "one of " : "within ",
                   buf_str(&limits));
    }
    if ((option->flags & SLUICE_OPTF_REQUIRED) != 0) {
        buf_puts(out, " (required)\n");
    } else if (option->def == NULL) {
        buf_putc(out, '\n');
    } else {
        buf_printf(out, " (default: %s)\n", option->def[0] == '\0' ? "\"\"" : option->def);
    }
    buf_deinit(&left);
    buf_deinit(&limits);
}

/* What --help says of the arguments of SCRIPT: prints those that it declares, with their defaults.
 * options: script, plugins, trust. The exit status: 0, or that of a script that can't be loaded,
 * which is said on standard error. */
static int common_help_script(const struct session_options *asked)
{
    struct sluice_error err = ERROR_INIT;
    struct buf out = BUF_INIT;
    struct session session;
    struct session_options options = { .script = asked->script,
                                       .plugins = asked->plugins,
                                       .n_plugins = asked->n_plugins,
                                       .trust = asked->trust,
                                       .testing = true,
                                       .declared = help_argument,
                                       .declared_ctx = &out };
    int status = 0;

    /* What a script asks for may be missing here; its declarations come first all the same. */
    if (session_open(&options, SESSION_GRAPH, &session, &err) != SLUICE_OK && out.size == 0) {
        fflush(stdout);
        status = session_fail(&err, false);
    } else if (out.size == 0) {
        say("\n%s takes no arguments.\n", asked->script);
    } else {
        say("\narguments of %s:\n%s", asked->script, buf_str(&out));
    }
    session_close(&session);
    buf_deinit(&out);
    return status;
}

/* "20" or "20files". */
static sluice_status file_limit(const struct args *args, uint64_t *out, struct sluice_error *err)
{
    const char *text = args_get(args, "--limit");
    char digits[24];

    if (text == NULL) {
        return SLUICE_OK;
    }
    snprintf(digits, sizeof digits, "%.*s", (int)strspn(text, "0123456789"), text);
    text += strlen(digits);
    if (!whole_parse(digits, out) || *out == 0 || (*text != '\0' && strcmp(text, "files") != 0)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--limit: found '%s', expected a number of files such as 20files",
                         args_get(args, "--limit"));
    }
    return SLUICE_OK;
}

sluice_status common_script(int argc, char **argv, const char *usage, const char *text,
                            struct common *common, int *exit_status, struct sluice_error *err)
{
    uint64_t workers;

    memset(common, 0, sizeof *common);
    *exit_status = -1;
    TRY(args_parse(argc, argv, script_specs, N_SCRIPT_SPECS, &common->args, err));
    common->options.n_plugins = args_all(&common->args, "--plugin", common->plugins);
    common->options.plugins = common->plugins;
    common->options.trust = args_get(&common->args, "--trust") != NULL;
    if (common->args.help) {
        args_help(usage, text, script_specs, N_SCRIPT_SPECS);
        *exit_status = 0;
        if (common->args.n_words > 0) {
            common->options.script = common->args.words[0];
            *exit_status = common_help_script(&common->options);
        }
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
    common->options.lock_file = args_get(&common->args, "--lock-file");
    common->options.locked =
        args_get(&common->args, "--locked") != NULL || common->options.lock_file != NULL;
    common->options.fresh = args_get(&common->args, "--fresh") != NULL;
    common->options.take_over = args_get(&common->args, "--take-over") != NULL;
    TRY(args_size(&common->args, "--memory", &common->options.memory, err));
    TRY(args_size(&common->args, "--batch", &common->options.batch_bytes, err));
    TRY(args_number(&common->args, "--workers", 1, 1024, 0, &workers, err));
    common->options.workers = (uint32_t)workers;
    return file_limit(&common->args, &common->options.limit_files, err);
}

void common_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    static const char *const levels[] = { "debug", "info", "warning", "error" };

    (void)ctx;
    if (level >= SLUICE_LOG_INFO) {
        say_to(stderr, "sluice: %s: %s: %s\n", stage, levels[level > 3 ? 3 : level], message);
    }
}

void common_frozen(struct common *common)
{
    if (common->options.n_words == 0 && common->options.run_dir == NULL &&
        look_is_run(common->options.script)) {
        common->options.run_dir = common->options.script;
        common->options.script = NULL;
    }
}

int common_registry(const struct command *command, int argc, char **argv,
                    int (*work)(struct session *, const struct args *))
{
    const char *plugins[ARGS_MAX];
    struct session_options options = { .plugins = plugins };
    struct session session;
    struct sluice_error err = ERROR_INIT;
    struct args args;
    int status = command_args(command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(&session, 0, sizeof session);
    options.trust = args_get(&args, "--trust") != NULL;
    options.n_plugins = args_all(&args, "--plugin", plugins);
    status = session_registry(&options, &session, &err) == SLUICE_OK
                 ? work(&session, &args)
                 : session_fail(&err, args_get(&args, "--json") != NULL);
    session.options.plugins = NULL; /* they are loaded */
    session.options.n_plugins = 0;
    session_close(&session);
    return status;
}

sluice_status common_write(const char *path, const void *data, size_t n, struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? str_copy(".", 1)
                   : slash == path ? str_copy("/", 1)
                                   : str_copy(path, (size_t)(slash - path));
    struct published published;
    sluice_status status = folder == NULL ? error_nomem(err, "a path")
                                          : pending_put(folder, slash == NULL ? path : slash + 1,
                                                        data, n, 0, &published, err);

    free(folder);
    return status;
}
