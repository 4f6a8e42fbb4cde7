/* A child of the conformance kit: loads the file, runs one check and leaves the verdict in memory
 * that the parent sees. See kit.h. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "testkit/kitInt.h"
#include "isolate/guards.h"

#define REPORT_FD 3
#define WORDS_MAX 256
#define MEMORY ((uint64_t)4 << 30) /* of a check; four times as much with --thorough */

/* For the handlers of memory faults and of fork, which have no argument. */
static struct kit_report *the_report;

/* ---- handlers ---- */

static void on_fault(const void *address)
{
    const char *meaning = kit_view_fault(address);
    size_t n = meaning != NULL ? strlen(meaning) : 0;

    if (the_report != NULL && n > 0 && n < sizeof the_report->fault) {
        memcpy(the_report->fault, meaning, n + 1);
    }
}

static void on_fork(void)
{
    atomic_store(&the_report->forked, 1);
}

/* A copy of this process must not go on testing. */
static void in_copy(void)
{
    _exit(0);
}

/* ---- the file ---- */

static sluice_status load_script(struct kit *kit, const char *folder, struct sluice_error *err)
{
    struct registry_options registry = { .exe_dir = kit->options.exe_dir };
    struct script_options options = { .path = kit->options.path,
                                      .base_dir = folder,
                                      .cwd = kit->options.base_dir,
                                      .module_dir = kit->options.module_dir,
                                      .testing = true };

    TRY(registry_create(&registry, &kit->registry, err));
    options.registry = kit->registry;
    return script_load(&options, &kit->script, &kit->graph, err);
}

static sluice_status load_lua(struct kit *kit, struct sluice_error *err)
{
    const char *slash = strrchr(kit->options.path, '/');
    char *folder =
        str_copy(kit->options.path, slash != NULL ? (size_t)(slash - kit->options.path) : 0);
    sluice_status status =
        folder == NULL ? error_nomem(err, "a script") : load_script(kit, folder, err);
    size_t n;

    free(folder);
    TRY(status);
    n = registry_count(kit->registry);
    kit->entries = calloc(n + 1, sizeof *kit->entries);
    if (kit->entries == NULL) {
        return error_nomem(err, "stages");
    }
    for (size_t k = 0; k < n; k++) {
        const struct registry_entry *entry = registry_at(kit->registry, k);
        if (strcmp(entry->plugin_name, PLUGIN_SCRIPT) == 0) {
            kit->entries[kit->n_entries++] = *entry;
        }
    }
    return kit->n_entries > 0 ? SLUICE_OK
                              : error_set(err, SLUICE_E_CONFIG,
                                          "%s defines no stage; expected a pipeline or a module "
                                          "with filters, annotators or heuristics",
                                          kit->options.path);
}

static sluice_status load(struct kit *kit, struct sluice_error *err)
{
    size_t n = strlen(kit->options.path);

    if (n > 4 && strcmp(kit->options.path + n - 4, ".lua") == 0) {
        return load_lua(kit, err);
    }
    TRY(plugin_file_load(kit->options.path, &kit->file, err));
    kit->entries = calloc(kit->file.n_stages + 1, sizeof *kit->entries);
    if (kit->entries == NULL) {
        return error_nomem(err, "stages");
    }
    for (size_t k = 0; k < kit->file.n_stages; k++) {
        kit->entries[k].stage = kit->file.stages[k];
        kit->entries[k].plugin_name = kit->file.plugin.name;
        kit->entries[k].origin = kit->options.path;
    }
    kit->n_entries = kit->file.n_stages;
    return SLUICE_OK;
}

static void unload(struct kit *kit)
{
    graph_destroy(kit->graph);
    registry_destroy(kit->registry);
    script_destroy(kit->script);
    plugin_file_deinit(&kit->file);
    kit_user_close(kit->user);
    buf_deinit(&kit->answers);
    free(kit->entries);
}

static void list_stages(struct kit *kit)
{
    size_t used = 0;

    for (size_t k = 0; k < kit->n_entries; k++) {
        const char *name = kit->entries[k].stage.name;
        size_t n = strlen(name);
        if (used + n + 2 > sizeof kit->report->names) {
            break;
        }
        memcpy(kit->report->names + used, name, n);
        kit->report->names[used + n] = '\n';
        used += n + 1;
        kit->report->n_stages++;
    }
}

/* ---- the process ---- */

struct words {
    const char *options[WORDS_MAX];
    size_t n_options;
    const char *stage, *check;
};

static bool parse(int argc, char **argv, struct kit *kit, struct words *words)
{
    memset(words, 0, sizeof *words);
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        const char *value = argv[i + 1];
        if (strcmp(name, "--file") == 0) {
            kit->options.path = value;
        } else if (strcmp(name, "--stage") == 0) {
            words->stage = value;
        } else if (strcmp(name, "--check") == 0) {
            words->check = value;
        } else if (strcmp(name, "--option") == 0 && words->n_options < WORDS_MAX) {
            words->options[words->n_options++] = value;
        } else if (strcmp(name, "--data") == 0) {
            kit->options.data = value;
        } else if (strcmp(name, "--answers") == 0) {
            kit->options.answers = value;
        } else if (strcmp(name, "--exe-dir") == 0) {
            kit->options.exe_dir = value;
        } else if (strcmp(name, "--modules") == 0) {
            kit->options.module_dir = value;
        } else if (strcmp(name, "--base") == 0) {
            kit->options.base_dir = value;
        } else if (strcmp(name, "--scratch") == 0) {
            kit->scratch = value;
        } else if (strcmp(name, "--dump") == 0) {
            kit->dump = value;
        } else if (strcmp(name, "--seed") == 0) {
            kit->options.seed = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--fuzz") == 0) {
            kit->options.fuzz_seconds = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--thorough") == 0) {
            kit->options.thorough = strcmp(value, "yes") == 0;
        } else {
            return false;
        }
    }
    kit->options.options = words->options;
    kit->options.n_options = words->n_options;
    kit->seed = kit->options.seed;
    return kit->options.path != NULL && words->stage != NULL && words->check != NULL &&
           kit->scratch != NULL;
}

static void settle(const struct kit *kit)
{
    struct rlimit no_core = { 0, 0 };
    struct sluice_error err = ERROR_INIT;

    /* A stage that takes all memory there is takes it from everybody. */
    (void)!guards_limit_memory(kit->options.thorough ? 4 * MEMORY : MEMORY, &err);

    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* What a stage leaves behind becomes a child of this process, where it is seen. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pthread_atfork(on_fork, NULL, in_copy);
}

static void run(struct kit *kit, const struct words *words)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    kit_enter(kit, "load");
    status = load(kit, &err);
    kit_leave(kit);
    if (status == SLUICE_OK && kit->options.data != NULL) {
        bool reads = words->stage[0] == '\0'; /* checks of the file need no rows */
        for (size_t k = 0; k < kit->n_entries; k++) {
            reads = reads || (kit->entries[k].stage.role == SLUICE_ROLE_READER &&
                              strcmp(kit->entries[k].stage.name, words->stage) == 0);
        }
        status = reads ? SLUICE_OK : kit_user_open(kit->options.data, &kit->user, &err);
    }
    if (status == SLUICE_OK && kit->options.answers != NULL) {
        status = kit_user_answers(kit->options.answers, &kit->answers, &err);
    }
    if (status != SLUICE_OK) {
        kit_fail(kit, "%s", err.message);
        return;
    }
    list_stages(kit);
    for (size_t k = 0; k < kit->n_entries; k++) {
        if (strcmp(kit->entries[k].stage.name, words->stage) == 0) {
            kit->entry = &kit->entries[k];
            kit->kind = &kit->entry->stage;
        }
    }
    kit->check = kit_check_find(words->check);
    if (kit->check == NULL || (kit->entry == NULL && (kit->check->flags & KIT_OF_FILE) == 0)) {
        kit_fail(kit, "no such check or stage");
        return;
    }
    kit->check->run(kit);
}

int kit_child(int argc, char **argv, void (*catch_faults)(void (*handler)(const void *address)))
{
    struct kit kit = { .options = { .seed = 1 } };
    struct words words;
    uint32_t none = 0;

    if (!parse(argc, argv, &kit, &words)) {
        return 2;
    }
    the_report = mmap(NULL, sizeof *the_report, PROT_READ | PROT_WRITE, MAP_SHARED, REPORT_FD, 0);
    if (the_report == MAP_FAILED) {
        return 2;
    }
    close(REPORT_FD);
    kit.report = the_report;
    settle(&kit);
    catch_faults(on_fault);
    run(&kit, &words);
    unload(&kit);
    atomic_compare_exchange_strong(&kit.report->done, &none, 1u + KIT_PASSED);
    return 0;
}
