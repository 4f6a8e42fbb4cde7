/* The table of commands, and the entry point that the launcher calls. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/cmd_isolate.h"
#include "testkit/kit.h"

int sluice_main(int argc, char **argv);

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *doc;
} commands[] = {
    { "run", cmd_run, "run a pipeline script; run it again to resume or to take in what changed" },
    { "prepare", cmd_prepare, "freeze the plan of a pipeline for run, work and task" },
    { "check", cmd_check, "validate a script: options, columns, wiring; reads no data" },
    { "plan", cmd_plan, "show phases and tasks: what would run, what is reused and why" },
    { "work", cmd_work, "take tasks of a run until none are left (any number of processes)" },
    { "task", cmd_task, "run one task of a run by its number" },
    { "stop", cmd_stop, "stop a run: all processes that work on it, on any host" },
    { "show", cmd_show, "show a run: progress of its phases and its datasets" },
    { "report", cmd_report, "what a run did: rows, reasons, speed, cost" },
    { "why", cmd_why, "why a document was dropped, or why a task runs again" },
    { "replay", cmd_replay, "give a row in quarantine to its stage again, also in a debugger" },
    { "trace", cmd_trace, "from an output row back to its source bytes" },
    { "head", cmd_head, "first rows of a dataset; --tokens decodes token rows" },
    { "verify", cmd_verify, "re-hash a dataset or a run" },
    { "explain", cmd_explain, "what a word of messages and reports means" },
    { "inspect", cmd_inspect, "stages and their options" },
    { "plugins", cmd_plugins, "plugins found, and what is missing" },
    { "sample", cmd_sample, "a sample of the rows that reach a node of a pipeline" },
    { "try", cmd_try, "run a stage on a sample: what it keeps and drops, and why" },
    { "label", cmd_label,
      "say of documents whether to keep or to drop them, at the terminal or on a page" },
    { "contract", cmd_contract, "write the contract that a dataset keeps, for s.contract" },
    { "tokenize", cmd_tokenize,
      "text to token ids and back, counts and speed, with a tokenizer's file" },
    { "test", cmd_test, "run the examples of the heuristics in a script" },
    { "new", cmd_new,
      "write a pipeline, a heuristic, a plugin or a dataset's project that works, to begin with" },
    { "lock", cmd_lock, "write down what a pipeline is made of, for run --locked" },
    { "test-plugin", cmd_test_plugin, "put the stages of a plugin through what the contract asks" },
    { "bundle", cmd_bundle, "pack what a report of a fault needs of a run, without the data" },
    { "datasets", cmd_datasets,
      "the datasets of a folder: snapshots, owners, what was made of what" },
    { "diff", cmd_diff, "what two snapshots have in common and what not: files, rows, reasons" },
    { "tag", cmd_tag, "names for snapshots of a dataset" },
    { "bench-format", cmd_bench_format, "what files cost as Parquet, JSON Lines and Arrow" },
    { "compact", cmd_compact, "join the small files of a dataset in a new snapshot" },
    { "remove", cmd_remove, "take rows out of a dataset by their ids, in a new snapshot" },
    { "retain", cmd_retain, "forget old snapshots of a dataset" },
    { "repro", cmd_repro, "run what a run did once more and compare what comes out" },
    { "gc", cmd_gc, "remove files that no run or snapshot needs" },
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void usage(FILE *to)
{
    say_to(to, "usage: sluice COMMAND ...\n\nTurns raw text into training data: reads, filters, "
               "deduplicates, tokenizes and packs, as a Lua script says.\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        say_to(to, "  %-8s %s\n", commands[i].name, commands[i].doc);
    }
    say_to(
        to,
        "\n`sluice COMMAND --help` tells more. Exit status: 0 done, 1 internal error, 2 usage or "
        "script, 3 halted by a gate or policy,\n"
        "4 input data, 5 resources (memory, disk, lock), 130 interrupted (run again to resume).\n");
}

__attribute__((visibility("default"))) int sluice_main(int argc, char **argv)
{
    const char *names[N_COMMANDS];
    const char *near;

    /* Big buffers go back to the system when freed: --memory is about what is resident. */
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
    mallopt(M_ARENA_MAX, 8);
    if (argc < 2) {
        say_to(stderr, "sluice: no command is given\n");
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        if (argc > 2) {
            say_to(stderr,
                   "sluice: found the argument '%s' too many: sluice --help, or sluice COMMAND "
                   "--help\n",
                   argv[2]);
            return 2;
        }
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        return cmd_version(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "__probe") == 0 && argc == 3) {
        isolation_probe(argv[2]);
    }
    if (strcmp(argv[1], "__isolate") == 0 && argc == 2) {
        return isolation_child();
    }
    if (strcmp(argv[1], KIT_CHILD) == 0) {
        return conform_child(argc - 1, argv + 1);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], commands[i].name) == 0) {
            int status = commands[i].run(argc - 1, argv + 1);
            /* Who reads no further, as head does, wants no more. */
            if (fflush(stdout) != 0 && errno != EPIPE) {
                say_to(stderr, "sluice: can't write the output\n");
                return status == 0 ? 5 : status;
            }
            return status;
        }
    }
    near = error_suggest(argv[1], names, N_COMMANDS);
    say_to(stderr, "sluice: unknown command '%s'%s%s%s; see sluice --help\n", argv[1],
           near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
           near == NULL ? "" : "'?");
    return 2;
}
