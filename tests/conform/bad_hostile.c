/* Stages that reach for what is not theirs: the host's memory, channels, processes and files, more
 * memory than there is, and rows and columns that make no sense. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice_arrays.h"
#include "tests/conform/bad.h"

#define MISCHIEF(NAME, SUMMARY, ...)                                                        \
    static sluice_status NAME##_process(void *state, const struct sluice_batch *batch,      \
                                        struct sluice_emit *emit, struct sluice_error *err) \
    {                                                                                       \
        struct bad_worker *worker = state;                                                  \
        int64_t row = bad_row(worker, batch);                                               \
        if (row >= 0) {                                                                     \
            __VA_ARGS__;                                                                    \
        }                                                                                   \
        return bad_process(worker, batch, emit, err);                                       \
    }                                                                                       \
    BAD_FILTER(NAME, SUMMARY, NAME##_process)

static volatile int forever = 1;

/* ---- memory that is shared with the host ---- */

/* Fills all memory that is writable and shared with other processes. */
static void scribble(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long begin;
        unsigned long long end;
        char rights[5] = "";
        if (sscanf(line, "%llx-%llx %4s", &begin, &end, rights) == 3 &&
            strcmp(rights, "rw-s") == 0) {
            memset((void *)(uintptr_t)begin, 0xff, (size_t)(end - begin));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void *scribbler(void *arg)
{
    (void)arg;
    while (forever) {
        scribble();
    }
    return NULL;
}

static void start(void *(*run)(void *arg), void *arg)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, arg) == 0) {
        pthread_detach(thread);
    }
}

MISCHIEF(scribbles, "Overwrites memory shared with the host", scribble());
MISCHIEF(scribbles_on, "Overwrites memory shared with the host all the time",
         start(scribbler, NULL));

/* ---- the host's channels ---- */

/* Sends bytes of no sense over every socket that is open here. */
static void forge(void)
{
    static const char nonsense[100] = { 127, 1, 2, 3 };

    for (int fd = 3; fd < 64; fd++) {
        struct stat info;
        if (fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) {
            (void)!send(fd, nonsense, sizeof nonsense, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
    }
}

static void close_all(void)
{
    for (int fd = 3; fd < 256; fd++) {
        close(fd);
    }
}

static void *log_on(void *arg)
{
    const struct bad_shared *shared = arg;

    while (forever) {
        shared->api->log(shared->host, SLUICE_LOG_WARN, "and on");
    }
    return NULL;
}

static void *complain_on(void *arg)
{
    static const char words[] = "0123456789012345678901234567890123456789012345678901234567\n";

    (void)arg;
    while (forever) {
        (void)!write(2, words, sizeof words - 1);
    }
    return NULL;
}

MISCHIEF(forges, "Writes to the sockets that are open", forge());
MISCHIEF(closes_all, "Closes every descriptor", close_all());
MISCHIEF(logs_without_end, "Logs without end", log_on(worker->shared));
MISCHIEF(logs_on, "Logs without end beside its work", start(log_on, worker->shared));
MISCHIEF(complains_on, "Fills its standard error beside its work", start(complain_on, NULL));

/* ---- processes, files and limits ---- */

static void execute(void)
{
    char name[] = "/bin/true";
    char *args[] = { name, NULL };

    execv(name, args);
}

static void write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd >= 0) {
        (void)!write(fd, "x", 1);
        close(fd);
    }
}

static void starve(void)
{
    struct rlimit none = { 3, 3 };

    setrlimit(RLIMIT_NOFILE, &none);
}

MISCHIEF(kills_parent, "Kills the process that started it", kill(getppid(), SIGKILL));
MISCHIEF(executes, "Becomes another program", execute());
MISCHIEF(writes_file, "Writes a file where it works", write_file("bad_hostile_was_here"));
MISCHIEF(limits_files, "Lowers the limit of open files", starve());
MISCHIEF(stops, "Stops itself", raise(SIGSTOP));

/* ---- memory without end ---- */

static sluice_status host_without_end(const struct bad_shared *shared)
{
    for (;;) {
        char *more = shared->api->alloc(shared->host, 16 << 20);
        if (more == NULL) {
            return SLUICE_E_NOMEM;
        }
        memset(more, 1, 16 << 20);
    }
}

static void trust_malloc(void)
{
    for (;;) {
        memset(malloc(16 << 20), 1, 16 << 20);
    }
}

__attribute__((noinline)) static int deeper(volatile char *above, uint64_t n)
{
    volatile char frame[1000];

    frame[0] = above[0];
    return n == 0 ? 0 : deeper(frame, n - 1) + frame[999];
}

static void recurse(void)
{
    volatile char top[1] = { 1 };

    deeper(top, UINT64_MAX);
}

MISCHIEF(
    takes_host_memory, "Takes all memory of the host",
    sluice_status status = host_without_end(worker->shared);
    if (status != SLUICE_OK) { return status; });
MISCHIEF(takes_all_memory, "Takes all memory there is and never looks", trust_malloc());
MISCHIEF(recurses_without_end, "Recurses without end", recurse());

/* ---- verdicts that make no sense ---- */

enum lie { DANGLING, NOT_A_NUMBER, NO_TEXT, FAR_TOO_LONG, REASON_BEYOND };

static sluice_status lie(struct bad_worker *worker, const struct sluice_batch *batch,
                         struct sluice_emit *emit, enum lie what)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    int64_t at = bad_row(worker, batch);
    sluice_status status;

    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(worker, batch, k, &n);
        verdicts[k].reason = n < 20 ? 1 : 0;
        if (k == at) {
            verdicts[k].reason = what == REASON_BEYOND ? INT32_MIN : 1;
            verdicts[k].dup_of = what == NO_TEXT ? "\xff\xfe" : "another";
            verdicts[k].dup_of_length = what == FAR_TOO_LONG ? INT32_MAX : what == NO_TEXT ? 2 : 7;
            verdicts[k].similarity = what == NOT_A_NUMBER ? (double)NAN : 1;
            if (what == DANGLING) { /* a page that was given back */
                void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                munmap(page, 4096);
                verdicts[k].dup_of = page;
            }
        }
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

#define LIE(NAME, SUMMARY, WHAT)                                                            \
    static sluice_status NAME##_process(void *state, const struct sluice_batch *batch,      \
                                        struct sluice_emit *emit, struct sluice_error *err) \
    {                                                                                       \
        (void)err;                                                                          \
        return lie(state, batch, emit, WHAT);                                               \
    }                                                                                       \
    BAD_FILTER(NAME, SUMMARY, NAME##_process)

LIE(dangling_dup, "Names a duplicate in memory that is gone", DANGLING);
LIE(similar_nan, "A similarity that is no number", NOT_A_NUMBER);
LIE(dup_no_text, "Names a duplicate in bytes that are no text", NO_TEXT);
LIE(dup_too_long, "Names a duplicate of 2 GiB", FAR_TOO_LONG);
LIE(reason_beyond, "A reason of -2147483648", REASON_BEYOND);

/* ---- columns that make no sense ---- */

static sluice_status title_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = bad_prepare(state, plan, err);

    return status == SLUICE_OK ? plan->add(plan, "title", "utf8", NULL, err) : status;
}

enum column { WILD_OFFSETS, FALLING_OFFSETS, FIXED_INSTEAD, NO_COLUMN, NO_BUFFER, SHORT_COLUMN };

/* Text columns of "ok"; `what` says what is wrong with the k-th row or with all of the column. */
static sluice_status titles(struct bad_worker *worker, const struct sluice_batch *batch,
                            struct sluice_emit *emit, enum column what)
{
    struct sluice_bytes ends = { 0 };
    struct sluice_bytes text = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    int64_t at = bad_row(worker, batch);
    int32_t end = 0;
    int ok = sluice_bytes_add(&ends, &end, sizeof end);

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int32_t given;
        ok = sluice_bytes_add(&text, "ok", 2);
        end += 2;
        given = k != at                   ? end
                : what == WILD_OFFSETS    ? INT32_MAX
                : what == FALLING_OFFSETS ? -1000000
                                          : end;
        ok = ok && sluice_bytes_add(&ends, &given, sizeof given);
    }
    if (!ok) {
        sluice_bytes_free(&ends);
        sluice_bytes_free(&text);
        return SLUICE_E_NOMEM;
    }
    if (at >= 0 && what == FIXED_INSTEAD) {
        sluice_bytes_free(&text);
        if (sluice_make_fixed(&column, batch->n, &ends, NULL, 0) != SLUICE_OK) {
            return SLUICE_E_NOMEM;
        }
    } else if (sluice_make_text(&column, batch->n, &ends, &text, NULL, 0) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    if (at >= 0 && what == NO_BUFFER) {
        column.buffers[2] = NULL;
    }
    if (at >= 0 && what == SHORT_COLUMN) {
        column.length--;
    }
    if (at >= 0 && what == NO_COLUMN) {
        column.release(&column);
    }
    if (sluice_make_struct(&out, batch->n, at >= 0 && what == NO_COLUMN ? 0 : 1, &column) !=
        SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

#define COLUMN(NAME, SUMMARY, WHAT)                                                         \
    static sluice_status NAME##_process(void *state, const struct sluice_batch *batch,      \
                                        struct sluice_emit *emit, struct sluice_error *err) \
    {                                                                                       \
        (void)err;                                                                          \
        return titles(state, batch, emit, WHAT);                                            \
    }                                                                                       \
    BAD_STAGE(NAME, SUMMARY, SLUICE_ROLE_ANNOTATOR, SLUICE_MODE_STATELESS, NULL, bad_open,  \
              title_prepare, bad_worker_open, NAME##_process, NULL, free, free)

COLUMN(wild_offsets, "A text that ends 2 GiB behind its column", WILD_OFFSETS);
COLUMN(falling_offsets, "A text that ends before it begins", FALLING_OFFSETS);
COLUMN(wrong_type, "Promises text and gives numbers", FIXED_INSTEAD);
COLUMN(missing_column, "Promises a column and gives none", NO_COLUMN);
COLUMN(no_buffer, "Promises text and gives no bytes", NO_BUFFER);
COLUMN(short_column, "A column with a row too few", SHORT_COLUMN);

static sluice_status origin_prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = bad_prepare(state, plan, err);

    if (status == SLUICE_OK) {
        status = plan->add(plan, "n", "uint64", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_origin", "uint64", NULL, err) : status;
}

/* n rows with the same number in both columns. */
static sluice_status emit_rows(struct sluice_emit *emit, uint64_t number, int64_t n)
{
    struct ArrowArray columns[2];
    struct ArrowArray out;

    for (int c = 0; c < 2; c++) {
        struct sluice_bytes bytes = { 0 };
        for (int64_t i = 0; i < n; i++) {
            if (!sluice_bytes_add(&bytes, &number, sizeof number)) {
                sluice_bytes_free(&bytes);
                return SLUICE_E_NOMEM;
            }
        }
        if (sluice_make_fixed(&columns[c], n, &bytes, NULL, 0) != SLUICE_OK) {
            return SLUICE_E_NOMEM;
        }
    }
    if (sluice_make_struct(&out, n, 2, columns) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

/* Each row once; the bad one again and again. */
static sluice_status emits_without_end_process(void *state, const struct sluice_batch *batch,
                                               struct sluice_emit *emit, struct sluice_error *err)
{
    int64_t at = bad_row(state, batch);
    sluice_status status = SLUICE_OK;

    (void)err;
    for (int64_t k = 0; k < batch->n && status == SLUICE_OK;) {
        status = emit_rows(emit, (uint64_t)bad_row_of(batch, k), k == at ? 1 << 18 : 1);
        k += k == at ? 0 : 1;
    }
    return status;
}

/* Says that an output row came from an input row that is not there. */
static sluice_status false_origin_process(void *state, const struct sluice_batch *batch,
                                          struct sluice_emit *emit, struct sluice_error *err)
{
    int64_t at = bad_row(state, batch);
    sluice_status status = SLUICE_OK;

    (void)err;
    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        status = emit_rows(emit, k == at ? 70000 : (uint64_t)bad_row_of(batch, k), 1);
    }
    return status;
}

BAD_STAGE(false_origin, "Rows from an input row that is not there", SLUICE_ROLE_TRANSFORM,
          SLUICE_MODE_STATELESS, NULL, bad_open, origin_prepare, bad_worker_open,
          false_origin_process, NULL, free, free);
BAD_STAGE(emits_without_end, "Gives rows without end", SLUICE_ROLE_TRANSFORM, SLUICE_MODE_STATELESS,
          NULL, bad_open, origin_prepare, bad_worker_open, emits_without_end_process, NULL, free,
          free);

/* ---- calls without rows that never return ---- */

static sluice_status hang_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **out, struct sluice_error *err)
{
    while (forever) {
    }
    return bad_open(api, host, config, out, err);
}

static sluice_status hang_prepare_prepare(void *state, struct sluice_plan *plan,
                                          struct sluice_error *err)
{
    while (forever) {
    }
    return bad_prepare(state, plan, err);
}

BAD_STAGE(hang_in_open, "Never returns from open", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS,
          "short", hang_open, bad_prepare, bad_worker_open, bad_process, NULL, free, free);
BAD_STAGE(hang_in_prepare, "Never returns from prepare", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS,
          "short", bad_open, hang_prepare_prepare, bad_worker_open, bad_process, NULL, free, free);

/* The address of a block of memory, which is another one in each process. */
static sluice_status shows_address_process(void *state, const struct sluice_batch *batch,
                                           struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    int64_t at = bad_row(state, batch);
    sluice_status status;

    (void)err;
    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        bad_text(state, batch, k, &n);
        verdicts[k].reason = n < 20 ? 1 : 0;
        verdicts[k].value = k == at ? (double)(uintptr_t)&forever : (double)n;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

BAD_FILTER(shows_address, "A value that is an address", shows_address_process);

BAD_PLUGIN("bad_hostile", &scribbles_stage, &scribbles_on_stage, &forges_stage, &closes_all_stage,
           &logs_without_end_stage, &logs_on_stage, &complains_on_stage, &kills_parent_stage,
           &executes_stage, &writes_file_stage, &limits_files_stage, &stops_stage,
           &takes_host_memory_stage, &takes_all_memory_stage, &recurses_without_end_stage,
           &dangling_dup_stage, &similar_nan_stage, &dup_no_text_stage, &dup_too_long_stage,
           &reason_beyond_stage, &wild_offsets_stage, &falling_offsets_stage, &wrong_type_stage,
           &missing_column_stage, &no_buffer_stage, &short_column_stage, &emits_without_end_stage,
           &false_origin_stage, &hang_in_open_stage, &hang_in_prepare_stage, &shows_address_stage)
