/* The parent of the conformance kit: starts a child for each check, waits with a time limit, and
 * turns what became of it into a result. See kit.h. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "testkit/kitInt.h"
#include "store/disk.h"

#define LIMIT_MS 20000u
#define REPORT_FD 3
#define ARGS_MOST 640
#define DUMP_MOST ((uint64_t)64 << 20)

extern char **environ;

struct parent {
    const struct kit_options *options;
    kit_progress progress;
    void *ctx;
    struct kit_results *results;
    char *scratch;             /* of the whole run */
    struct kit_report *report; /* shared with the child in progress */
    int report_fd;
    uint32_t ms;
};

/* ---- one child ---- */

struct arguments {
    char *words[ARGS_MOST];
    size_t n;
};

static void add(struct arguments *args, const char *name, const char *value)
{
    if (value != NULL && args->n + 3 < ARGS_MOST) {
        args->words[args->n++] = (char *)(uintptr_t)name;
        args->words[args->n++] = (char *)(uintptr_t)value;
        args->words[args->n] = NULL;
    }
}

struct child {
    const char *check, *stage;
    const char *scratch; /* folder of its own */
    const char *dump;    /* or NULL */
    bool elsewhere;      /* in another folder, with another environment */
    bool counted;        /* without the allocator's caches: what is in use is exact */
    bool aside;          /* how an ordinary run ends is for another check to say */
};

/* Another environment than ours: a second run in it must not differ. */
static char *const strange[] = { (char *)"HOME=/nonexistent",
                                 (char *)"PATH=/usr/bin:/bin",
                                 (char *)"TZ=Pacific/Kiritimati",
                                 (char *)"LANG=C.UTF-8",
                                 (char *)"LC_ALL=C.UTF-8",
                                 (char *)"USER=nobody",
                                 (char *)"MALLOC_PERTURB_=165",
                                 (char *)"KIT_FILLER=0123456789012345678901234567890123456789",
                                 NULL };

/* Our environment with a word more; the array is the caller's to free. */
static char **with_word(char *word)
{
    size_t n = 0;
    char **words;

    while (environ[n] != NULL) {
        n++;
    }
    words = calloc(n + 2, sizeof *words);
    if (words != NULL) {
        memcpy(words, environ, n * sizeof *words);
        words[n] = word;
    }
    return words;
}

static sluice_status spawn(const struct parent *parent, const struct child *child, pid_t *pid,
                           struct sluice_error *err)
{
    const struct kit_options *options = parent->options;
    const char *program = options->program != NULL ? options->program : "/proc/self/exe";
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    struct arguments args = { .n = 0 };
    char seed[32];
    char fuzz[32];
    char *log = str_printf("%s/stderr", child->scratch);
    char **counted = with_word((char *)"GLIBC_TUNABLES=glibc.malloc.tcache_count=0");
    int errnum;

    if (log == NULL || counted == NULL) {
        free(log);
        free(counted);
        return error_nomem(err, "a child process");
    }
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)options->seed);
    snprintf(fuzz, sizeof fuzz, "%u", options->fuzz_seconds);
    args.words[args.n++] = (char *)"sluice";
    args.words[args.n++] = (char *)KIT_CHILD;
    add(&args, "--file", options->path);
    add(&args, "--stage", child->stage);
    add(&args, "--check", child->check);
    add(&args, "--scratch", child->scratch);
    add(&args, "--dump", child->dump);
    add(&args, "--seed", seed);
    add(&args, "--fuzz", fuzz);
    add(&args, "--thorough", options->thorough ? "yes" : "no");
    add(&args, "--data", options->data);
    add(&args, "--answers", options->answers);
    add(&args, "--exe-dir", options->exe_dir);
    add(&args, "--modules", options->module_dir);
    add(&args, "--base", options->base_dir);
    for (size_t i = 0; i < options->n_options; i++) {
        add(&args, "--option", options->options[i]);
    }
    errnum = posix_spawn_file_actions_init(&actions);
    if (errnum != 0) {
        free(log);
        free(counted);
        return error_errno(err, errnum, "cannot start a child process");
    }
    errnum = posix_spawnattr_init(&attributes);
    if (errnum == 0) {
        /* A group of its own: what it starts dies with it. */
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        errnum = posix_spawn_file_actions_adddup2(&actions, parent->report_fd, REPORT_FD);
        if (errnum == 0) {
            errnum = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        }
        if (errnum == 0) {
            errnum = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        }
        if (errnum == 0) {
            errnum = posix_spawn_file_actions_addopen(&actions, 2, log,
                                                      O_WRONLY | O_CREAT | O_TRUNC, 0600);
        }
        if (errnum == 0 && child->elsewhere) {
            errnum = posix_spawn_file_actions_addchdir_np(&actions, child->scratch);
        }
        if (errnum == 0) {
            errnum = posix_spawn(pid, program, &actions, &attributes, args.words,
                                 child->elsewhere ? strange
                                 : child->counted ? counted
                                                  : environ);
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    free(counted);
    free(log);
    return errnum == 0 ? SLUICE_OK : error_errno(err, errnum, "cannot start %s", program);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for the child; false = it was killed at its deadline. */
static bool await(pid_t pid, uint32_t ms, int *status)
{
    int64_t deadline = now_ms() + ms;
    long pause = 300000;
    bool in_time = true;

    for (;;) {
        pid_t ended = waitpid(pid, status, in_time ? WNOHANG : 0);
        if (ended == pid || (ended < 0 && errno == ECHILD)) {
            kill(-pid, SIGKILL); /* what it may have left behind */
            return in_time;
        }
        if (now_ms() >= deadline && in_time) {
            in_time = false;
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
        }
        nanosleep(&(struct timespec){ 0, pause }, NULL);
        pause = pause < 4000000 ? pause * 5 / 4 : pause;
    }
}

/* What a child wrote to its standard error, as one line: from a sanitizer's summary on, if there is
 * one. Empty: nothing. */
static void last_words(const struct child *child, char clean[500])
{
    char *path = str_printf("%s/stderr", child->scratch);
    struct buf text = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    bool found = false;

    clean[0] = '\0';
    if (path != NULL && disk_read_file(path, DUMP_MOST, &text, &found, &err) == SLUICE_OK &&
        found) {
        const char *summary = strstr(buf_str(&text), "ERROR: ");
        summary = summary != NULL ? summary : strstr(buf_str(&text), "runtime error: ");
        snprintf(clean, 500, "%.400s", summary != NULL ? summary : buf_str(&text));
        utf8_clean(clean);
        for (char *c = clean; *c != '\0'; c++) {
            *c = *c == '\n' ? ' ' : *c;
        }
    }
    free(path);
    buf_deinit(&text);
}

/* What became of the child, as verdict and words. */
static enum kit_verdict judge(struct parent *parent, const struct child *child, bool in_time,
                              int status, uint32_t ms, struct buf *message)
{
    struct kit_report *report = parent->report;
    uint32_t done = atomic_load(&report->done);
    char said[500];
    const char *call;
    const char *what;

    /* A dying child may have left anything there. */
    report->call[sizeof report->call - 1] = '\0';
    report->what[sizeof report->what - 1] = '\0';
    report->message[sizeof report->message - 1] = '\0';
    report->fault[sizeof report->fault - 1] = '\0';
    call = report->call[0] != '\0' ? report->call : "the check";
    what = report->what[0] != '\0' ? report->what : "nothing yet";
    if (done >= 1 + KIT_PASSED && done <= 1 + KIT_SKIPPED &&
        (done == 1 + KIT_FAILED || (in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0))) {
        buf_puts(message, report->message);
        return (enum kit_verdict)(done - 1);
    }
    if (child->aside) {
        buf_puts(message, "an ordinary run does not come to an end, see 'runs'");
        return KIT_SKIPPED;
    }
    if (done > 1 + KIT_SKIPPED) {
        buf_puts(message, "it overwrites memory that this process shares with another one");
        return KIT_FAILED;
    }
    last_words(child, said);
    if (!in_time) {
        buf_printf(message, "%s does not return: it was ended after %.1f s (given %s)", call,
                   (double)ms / 1000, what);
        return KIT_FAILED;
    }
    if (WIFSIGNALED(status)) {
        buf_printf(message, "%s crashes with signal %d (%s), given %s", call, WTERMSIG(status),
                   strsignal(WTERMSIG(status)), what);
    } else if (strncmp(said, "ERROR: LeakSanitizer", 20) == 0) {
        buf_puts(message, "memory is lost: some bytes stay allocated");
    } else if (strncmp(said, "ERROR: ", 7) == 0 ||
               strncmp(said, "runtime error: ", 15) ==
                   0) { /* a sanitizer in the build ends the process */
        buf_printf(message, "%s crashes, given %s", call, what);
    } else {
        buf_printf(message, "%s ends the process with exit status %d, given %s", call,
                   WEXITSTATUS(status), what);
    }
    if (report->fault[0] != '\0') {
        buf_printf(message, ": %s", report->fault);
    }
    if (said[0] != '\0') {
        buf_printf(message, "\n  it said: %s", said);
    }
    return KIT_FAILED;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Runs one child from start to end in a folder of its own. */
static sluice_status run_child(struct parent *parent, struct child *child,
                               enum kit_verdict *verdict, struct buf *message,
                               struct sluice_error *err)
{
    char *scratch = str_printf("%s/child", parent->scratch);
    uint32_t limit = parent->options->limit_ms > 0 ? parent->options->limit_ms : LIMIT_MS;
    int64_t start = now_ms();
    pid_t pid = -1;
    int status = 0;
    bool in_time;
    sluice_status result;

    if (scratch == NULL) {
        return error_nomem(err, "a child process");
    }
    memset(parent->report, 0, sizeof *parent->report);
    remove_tree(scratch);
    if (mkdir(scratch, 0700) != 0) {
        result = error_errno(err, errno, "cannot make the folder %s", scratch);
        free(scratch);
        return result;
    }
    child->scratch = scratch;
    limit += parent->options->fuzz_seconds * 2000;
    result = spawn(parent, child, &pid, err);
    if (result == SLUICE_OK) {
        in_time = await(pid, limit, &status);
        parent->ms += (uint32_t)(now_ms() - start);
        *verdict = judge(parent, child, in_time, status, limit, message);
    }
    remove_tree(scratch);
    child->scratch = NULL;
    free(scratch);
    return result;
}

/* ---- checks ---- */

/* Two dumps of one check from two processes. */
static void compare_dumps(struct parent *parent, const char *const *paths,
                          enum kit_verdict *verdict, struct buf *message)
{
    struct buf texts[2] = { BUF_INIT, BUF_INIT };
    struct sluice_error err = ERROR_INIT;
    bool found[2] = { false, false };
    size_t line = 0;
    size_t at = 0;

    (void)parent;
    for (int i = 0; i < 2; i++) {
        if (disk_read_file(paths[i], DUMP_MOST, &texts[i], &found[i], &err) != SLUICE_OK) {
            found[i] = false;
        }
    }
    if (!found[0] || !found[1]) {
        *verdict = KIT_FAILED;
        buf_puts(message, "a child left nothing to compare");
    } else if (texts[0].size != texts[1].size ||
               memcmp(buf_str(&texts[0]), buf_str(&texts[1]), texts[0].size) != 0) {
        const char *one = buf_str(&texts[0]);
        const char *two = buf_str(&texts[1]);
        for (size_t i = 0; one[i] != '\0' && one[i] == two[i]; i++) {
            if (one[i] == '\n') {
                line++;
                at = i + 1;
            }
        }
        *verdict = KIT_FAILED;
        buf_printf(message,
                   "two processes give different results for the same rows, from line %zu on "
                   "(the second one has another environment, folder and memory layout)\n"
                   "  the first:  %.*s\n  the second: %.*s",
                   line, (int)strcspn(one + at, "\n"), one + at, (int)strcspn(two + at, "\n"),
                   two + at);
    }
    buf_deinit(&texts[0]);
    buf_deinit(&texts[1]);
}

static sluice_status run_twice(struct parent *parent, const struct kit_check *check,
                               const char *stage, enum kit_verdict *verdict, struct buf *message,
                               struct sluice_error *err)
{
    char *paths[2] = { str_printf("%s/one", parent->scratch),
                       str_printf("%s/two", parent->scratch) };
    sluice_status status =
        paths[0] == NULL || paths[1] == NULL ? error_nomem(err, "paths") : SLUICE_OK;

    *verdict = KIT_PASSED;
    for (int i = 0; i < 2 && status == SLUICE_OK && *verdict == KIT_PASSED; i++) {
        struct child child = {
            .check = check->name, .stage = stage, .dump = paths[i], .elsewhere = i == 1
        };
        status = run_child(parent, &child, verdict, message, err);
    }
    if (status == SLUICE_OK && *verdict == KIT_PASSED) {
        compare_dumps(parent, (const char *const *)paths, verdict, message);
    }
    for (int i = 0; i < 2; i++) {
        if (paths[i] != NULL) {
            remove(paths[i]);
        }
        free(paths[i]);
    }
    return status;
}

/* Takes the message. */
static sluice_status record(struct parent *parent, const struct kit_check *check, const char *stage,
                            enum kit_verdict verdict, struct buf *message, struct sluice_error *err)
{
    struct kit_results *results = parent->results;
    struct kit_result *result;

    if (results->n == results->capacity) {
        size_t more = results->capacity < 64 ? 64 : results->capacity * 2;
        struct kit_result *items = realloc(results->items, more * sizeof *items);
        if (items == NULL) {
            return error_nomem(err, "results");
        }
        results->items = items;
        results->capacity = more;
    }
    result = &results->items[results->n];
    buf_str(message);
    *result = (struct kit_result){
        .check = check->name, .doc = check->doc, .verdict = verdict, .ms = parent->ms
    };
    result->stage = str_copy(stage, strlen(stage));
    result->message = str_copy(buf_str(message), strlen(buf_str(message)));
    if (result->stage == NULL || result->message == NULL) {
        free(result->stage);
        free(result->message);
        return error_nomem(err, "results");
    }
    utf8_clean(result->message);
    results->n++;
    results->passed += verdict == KIT_PASSED || verdict == KIT_WARNED ? 1 : 0;
    results->warned += verdict == KIT_WARNED ? 1 : 0;
    results->failed += verdict == KIT_FAILED ? 1 : 0;
    results->skipped += verdict == KIT_SKIPPED ? 1 : 0;
    if (parent->progress != NULL) {
        parent->progress(parent->ctx, result);
    }
    return SLUICE_OK;
}

static bool wanted(const struct parent *parent, const struct kit_check *check)
{
    return (parent->options->only == NULL || strcmp(parent->options->only, check->name) == 0) &&
           ((check->flags & KIT_FUZZES) == 0 || parent->options->fuzz_seconds > 0);
}

/* All checks of one stage ("" = of the file). */
static sluice_status run_stage(struct parent *parent, const char *stage, struct sluice_error *err)
{
    enum kit_verdict runs = KIT_PASSED; /* of the check that others build on */
    bool outside = false;               /* the stage is a danger to others */
    struct buf why = BUF_INIT;
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; k < kit_n_checks && status == SLUICE_OK; k++) {
        const struct kit_check *check = &kit_checks[k];
        enum kit_verdict verdict = KIT_SKIPPED;
        struct buf message = BUF_INIT;
        if (((check->flags & KIT_OF_FILE) != 0) != (stage[0] == '\0') || !wanted(parent, check)) {
            continue;
        }
        parent->ms = 0;
        if (outside) {
            buf_puts(&message, "it reaches out of its process, see 'outside'");
        } else if (runs == KIT_FAILED && (check->flags & KIT_FIRST) == 0) {
            buf_puts(&message, "an ordinary run fails, see 'runs'");
        } else if (runs == KIT_SKIPPED && (check->flags & KIT_FIRST) == 0) {
            buf_puts(&message, buf_str(&why));
        } else if ((check->flags & KIT_TWICE) != 0) {
            status = run_twice(parent, check, stage, &verdict, &message, err);
        } else {
            struct child child = { .check = check->name,
                                   .stage = stage,
                                   .counted = (check->flags & KIT_COUNTS) != 0,
                                   .aside = (check->flags & KIT_ASIDE) != 0 };
            status = run_child(parent, &child, &verdict, &message, err);
        }
        outside = outside || ((check->flags & KIT_ASIDE) != 0 && verdict == KIT_FAILED);
        if (strcmp(check->name, "runs") == 0) {
            runs = verdict;
            buf_puts(&why, buf_str(&message));
        }
        if (status == SLUICE_OK) {
            status = record(parent, check, stage, verdict, &message, err);
        }
        buf_deinit(&message);
    }
    buf_deinit(&why);
    return status;
}

/* ---- the whole ---- */

/* Asks a child which stages the file has; a file that can't be loaded is a failed check. */
static sluice_status list(struct parent *parent, char **names, struct sluice_error *err)
{
    static const struct kit_check load_check = {
        .name = "load",
        .doc = "The file can't be loaded. It must export sluice_plugin_v1 and describe its stages "
               "as sdk/sluice.h says (or, for Lua, run to its end).",
    };
    struct child child = { .check = "symbols", .stage = "" };
    enum kit_verdict verdict = KIT_PASSED;
    struct buf message = BUF_INIT;
    sluice_status status;

    *names = NULL;
    parent->ms = 0;
    status = run_child(parent, &child, &verdict, &message, err);
    parent->report->names[sizeof parent->report->names - 1] = '\0';
    if (status == SLUICE_OK && parent->report->n_stages == 0) {
        status = record(parent, &load_check, "", KIT_FAILED, &message, err);
    } else if (status == SLUICE_OK) {
        *names = str_copy(parent->report->names, strlen(parent->report->names));
        status = *names == NULL ? error_nomem(err, "stages") : SLUICE_OK;
    }
    buf_deinit(&message);
    return status;
}

static bool among(const char *names, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = names; *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (strcspn(at, "\n") == n && memcmp(at, name, n) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status check_names(const struct kit_options *options, const char *names,
                                 struct sluice_error *err)
{
    for (size_t i = 0; i < options->n_stages; i++) {
        if (!among(names, options->stages[i])) {
            struct buf all = BUF_INIT;
            for (const char *at = names; *at != '\0'; at += strcspn(at, "\n") + 1) {
                buf_printf(&all, "%s%.*s", at > names ? ", " : "", (int)strcspn(at, "\n"), at);
            }
            error_set(err, SLUICE_E_CONFIG, "%s has no stage '%.100s'; it has: %.400s",
                      options->path, options->stages[i], buf_str(&all));
            buf_deinit(&all);
            return SLUICE_E_CONFIG;
        }
    }
    return SLUICE_OK;
}

static sluice_status run_all(struct parent *parent, char *names, struct sluice_error *err)
{
    const struct kit_options *options = parent->options;

    TRY(check_names(options, names, err));
    TRY(run_stage(parent, "", err));
    for (char *at = names; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        bool chosen = options->n_stages == 0;
        at[n] = '\0';
        for (size_t i = 0; i < options->n_stages; i++) {
            chosen = chosen || strcmp(options->stages[i], at) == 0;
        }
        if (chosen) {
            TRY(run_stage(parent, at, err));
        }
        at += n + 1;
    }
    return SLUICE_OK;
}

static sluice_status prepare(struct parent *parent, struct sluice_error *err)
{
    const char *folder = getenv("TMPDIR");
    struct stat info;

    if (parent->options->only != NULL && kit_check_find(parent->options->only) == NULL) {
        const char *names[64];
        const char *near;
        for (size_t k = 0; k < kit_n_checks && k < 64; k++) {
            names[k] = kit_checks[k].name;
        }
        near = error_suggest(parent->options->only, names, kit_n_checks < 64 ? kit_n_checks : 64);
        return error_set(err, SLUICE_E_CONFIG,
                         "--only: there is no check '%s'%s%s%s; --list names them",
                         parent->options->only, near != NULL ? ", did you mean '" : "",
                         near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    if (stat(parent->options->path, &info) != 0) {
        return error_set(err, SLUICE_E_CONFIG, "cannot test %s: %s", parent->options->path,
                         strerror(errno));
    }
    parent->scratch = str_printf("%s/sluice-kit-XXXXXX", folder != NULL ? folder : "/tmp");
    if (parent->scratch == NULL || mkdtemp(parent->scratch) == NULL) {
        free(parent->scratch);
        parent->scratch = NULL;
        return error_errno(err, errno, "cannot make a folder for temporary files in %s",
                           folder != NULL ? folder : "/tmp");
    }
    parent->report_fd = memfd_create("sluice-kit", MFD_CLOEXEC);
    if (parent->report_fd < 0 || ftruncate(parent->report_fd, (off_t)sizeof *parent->report) != 0) {
        return error_errno(err, errno, "cannot make memory to share with child processes");
    }
    parent->report = mmap(NULL, sizeof *parent->report, PROT_READ | PROT_WRITE, MAP_SHARED,
                          parent->report_fd, 0);
    if (parent->report == MAP_FAILED) {
        parent->report = NULL;
        return error_errno(err, errno, "cannot share memory with child processes");
    }
    return SLUICE_OK;
}

sluice_status kit_run(const struct kit_options *options, kit_progress progress, void *ctx,
                      struct kit_results *out, struct sluice_error *err)
{
    struct parent parent = {
        .options = options, .progress = progress, .ctx = ctx, .results = out, .report_fd = -1
    };
    char *names = NULL;
    sluice_status status;

    memset(out, 0, sizeof *out);
    status = prepare(&parent, err);
    if (status == SLUICE_OK) {
        status = list(&parent, &names, err);
    }
    if (status == SLUICE_OK && names != NULL) {
        status = run_all(&parent, names, err);
    }
    free(names);
    if (parent.report != NULL) {
        munmap(parent.report, sizeof *parent.report);
    }
    if (parent.report_fd >= 0) {
        close(parent.report_fd);
    }
    if (parent.scratch != NULL) {
        remove_tree(parent.scratch);
        free(parent.scratch);
    }
    return status;
}

void kit_results_deinit(struct kit_results *results)
{
    for (size_t k = 0; k < results->n; k++) {
        free(results->items[k].stage);
        free(results->items[k].message);
    }
    free(results->items);
    memset(results, 0, sizeof *results);
}
