/* sluice test-plugin: the conformance kit over a plugin or a Lua file; and, hidden, the children
 * that run its checks. See testkit/kit.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/library.h"
#include "cmd/session.h"
#include "testkit/kit.h"

static const char usage[] = "sluice test-plugin FILE.so|FILE.lua [STAGE...] [options]";
static const char text[] =
    "Puts the stages of a plugin, or of a Lua file, through what the plugin contract promises: odd "
    "batches, other splits,\n"
    "threads, restarts, failing allocations, and leaving the process as it was. Each check runs in "
    "a process of its own, so a\n"
    "crash or a hang is a failed check with a name. Rows are generated for whatever columns a "
    "stage "
    "asks for; --data adds\n"
    "your own. Exit status: 0 all checks passed or were skipped, 1 a check failed, 2 usage.";

static const struct arg_spec specs[] = {
    { "--option", "K=V", "an option of the stages (may be repeated); STAGE.K=V is for one stage" },
    { "--data", "FILE", "JSONL with rows of your own (for readers: a file to read)" },
    { "--answers", "FILE", "what the stages' server answers, a body a line (default: made up)" },
    { "--only", "CHECK", "one check" },
    { "--seed", "N", "seed of what is generated (default 1)" },
    { "--fuzz", "SECONDS", "try random batches for so long, for each stage" },
    { "--thorough", NULL, "large sizes and many cases: minutes instead of seconds" },
    { "--time-limit", "SECONDS", "of one check (default 20, with --thorough 300)" },
    { "--json", NULL, "results as one JSON object, over several lines" },
    { "--junit", "FILE", "results as JUnit XML as well" },
    { "--quiet", NULL, "print failures, warnings and the last line only" },
    { "--list", NULL, "print the checks and what each finds" },
};

/* The kit's functions: load_kit comes first. */
static const struct kit_api *kit;

static sluice_status load_kit(struct sluice_error *err)
{
    const struct kit_api *(*open_kit)(void);
    void *library;

    TRY(library_load("libsluice-testkit.so", "it is a part of every build: build or install again",
                     &library, err));
    TRY(library_find(library, "sluice_testkit", &open_kit, err));
    kit = open_kit();
    if (strcmp(kit->version, SLUICE_VERSION) != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "libsluice-testkit.so is of version %s, this program of " SLUICE_VERSION
                         "; install both again",
                         kit->version);
    }
    return SLUICE_OK;
}

/* A file of another kind is a mistake of who calls, not a check that fails. */
static sluice_status check_kind(const char *path, struct sluice_error *err)
{
    size_t n = strlen(path);
    char magic[4];
    int fd;
    bool elf;

    TRY(file_open(path, "the plugin", &fd, err));
    elf = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
          memcmp(magic, "\177ELF", sizeof magic) == 0;
    close(fd);
    if (!elf && (n < 5 || strcmp(path + n - 4, ".lua") != 0)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is no plugin: expected a shared object (.so) or a Lua file (.lua)",
                         path);
    }
    return SLUICE_OK;
}

struct printing {
    const struct kit_options *options;
    bool json, quiet;
};

static void progress(void *ctx, const struct kit_result *result)
{
    const struct printing *printing = ctx;
    struct buf line = BUF_INIT;
    bool dull = result->verdict == KIT_PASSED || result->verdict == KIT_SKIPPED;

    if (!printing->json && !(printing->quiet && dull)) {
        kit->print(printing->options, result, &line);
        say_text(stdout, buf_str(&line), line.size);
        fflush(stdout);
    }
    buf_deinit(&line);
}

static char *absolute(const struct session *session, const char *path)
{
    return path[0] == '/' ? str_copy(path, strlen(path)) : str_printf("%s/%s", session->cwd, path);
}

static sluice_status write_junit(const char *path, const struct kit_options *options,
                                 const struct kit_results *results, struct sluice_error *err)
{
    struct buf out = BUF_INIT;
    FILE *file = fopen(path, "we");
    bool ok;

    if (file == NULL) {
        return error_set(err, SLUICE_E_IO, "--junit: can't write %s", path);
    }
    kit->print_junit(options, results, &out);
    ok = !out.failed && fwrite(buf_str(&out), 1, out.size, file) == out.size;
    ok = fclose(file) == 0 && ok;
    buf_deinit(&out);
    return ok ? SLUICE_OK : error_set(err, SLUICE_E_IO, "--junit: can't write %s", path);
}

static sluice_status run(const struct args *args, struct kit_options *options,
                         struct kit_results *results, struct sluice_error *err)
{
    struct printing printing = { .options = options,
                                 .json = args_get(args, "--json") != NULL,
                                 .quiet = args_get(args, "--quiet") != NULL };
    const char *words[ARGS_MAX];
    struct buf out = BUF_INIT;
    uint64_t fuzz;
    uint64_t seconds;

    options->n_options = args_all(args, "--option", words);
    for (size_t i = 0; i < options->n_options; i++) {
        if (strchr(words[i], '=') == NULL) {
            return error_set(err, SLUICE_E_CONFIG, "--option: found '%s', expected name=value",
                             words[i]);
        }
    }
    options->options = words;
    options->only = args_get(args, "--only");
    options->thorough = args_get(args, "--thorough") != NULL;
    TRY(args_number(args, "--seed", 0, UINT64_MAX, 1, &options->seed, err));
    TRY(args_number(args, "--fuzz", 1, 100000, 0, &fuzz, err));
    TRY(args_number(args, "--time-limit", 1, 100000, 0, &seconds, err));
    options->fuzz_seconds = (uint32_t)fuzz;
    options->limit_ms = (uint32_t)(seconds > 0 ? seconds : options->thorough ? 300 : 20) * 1000;
    TRY(kit->run(options, progress, &printing, results, err));
    if (printing.json) {
        kit->print_json(options, results, &out);
    } else {
        kit->print_summary(results, &out);
    }
    if (printing.json) {
        say_json(buf_str(&out), out.size);
    } else {
        say_text(stdout, buf_str(&out), out.size);
    }
    buf_deinit(&out);
    return args_get(args, "--junit") != NULL
               ? write_junit(args_get(args, "--junit"), options, results, err)
               : SLUICE_OK;
}

int cmd_test_plugin(int argc, char **argv)
{
    struct args args;
    struct session session;
    struct session_options session_options = { 0 };
    struct kit_options options = { 0 };
    struct kit_results results = { 0 };
    struct sluice_error err = ERROR_INIT;
    char *path = NULL;
    char *data = NULL;
    char *answers = NULL;
    sluice_status status;
    int exit_status = 0;

    memset(&session, 0, sizeof session);
    status = args_parse(argc, argv, specs, sizeof specs / sizeof specs[0], &args, &err);
    if (status != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (args.help) {
        args_help(usage, text, specs, sizeof specs / sizeof specs[0]);
        return 0;
    }
    if (load_kit(&err) != SLUICE_OK) {
        return session_fail(&err, args_get(&args, "--json") != NULL);
    }
    if (args_get(&args, "--list") != NULL) {
        struct buf out = BUF_INIT;
        kit->list(&out);
        say_text(stdout, buf_str(&out), out.size);
        buf_deinit(&out);
        return 0;
    }
    if (args.n_words == 0) {
        status = error_set(&err, SLUICE_E_CONFIG, "no file is given: %s", usage);
    }
    if (status == SLUICE_OK) {
        status = session_registry(&session_options, &session, &err);
    }
    if (status == SLUICE_OK) {
        path = absolute(&session, args.words[0]);
        data = args_get(&args, "--data") != NULL ? absolute(&session, args_get(&args, "--data"))
                                                 : NULL;
        answers = args_get(&args, "--answers") != NULL
                      ? absolute(&session, args_get(&args, "--answers"))
                      : NULL;
        options.path = path;
        options.answers = answers;
        options.data = data;
        options.exe_dir = session.exe_dir;
        options.module_dir = session.module_dir;
        options.base_dir = session.cwd;
        options.stages = args.words + 1;
        options.n_stages = args.n_words - 1;
        status = path == NULL ? error_nomem(&err, "paths") : check_kind(path, &err);
    }
    if (status == SLUICE_OK) {
        status = run(&args, &options, &results, &err);
    }
    if (status != SLUICE_OK) {
        exit_status = session_fail(&err, args_get(&args, "--json") != NULL);
        exit_status = exit_status == 1 ? 2 : exit_status; /* 1 means that a check failed */
    } else if (results.failed > 0) {
        exit_status = 1;
    }
    kit->results_deinit(&results);
    session_close(&session);
    free(path);
    free(data);
    free(answers);
    return exit_status;
}

/* ---- children ---- */

static void (*fault_handler)(const void *address);
static struct sigaction former[2];

/* Has the fault noted, then lets the process die of it as it would have. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    fault_handler(info->si_addr);
    sigaction(number, &former[number == SIGSEGV ? 0 : 1], NULL);
}

static void catch_faults(void (*handler)(const void *address))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    fault_handler = handler;
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &former[0]);
    sigaction(SIGBUS, &action, &former[1]);
}

int conform_child(int argc, char **argv)
{
    struct sluice_error err = ERROR_INIT;

    if (load_kit(&err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    return kit->child(argc, argv, catch_faults);
}
