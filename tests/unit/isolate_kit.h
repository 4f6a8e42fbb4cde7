/* For tests of core/isolate: stages that do what an option says at the call that another option
 * names, and a scene in which one is opened, in this process or in a child, which is this
 * program once more (isolate_kit_child). Include after cmocka.h. */
#ifndef TESTS_UNIT_ISOLATE_KIT_H
#define TESTS_UNIT_ISOLATE_KIT_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/builder.h"
#include "isolate/isolate.h"
#include "plugin/stage.h"
#include "tests/unit/array_kit.h"

/* ---- stages ---- */

struct kit_config {
    const char *at, *deed, *word, *node;
    int64_t bytes;
};

static const struct sluice_option kit_options[] = {
    { .name = "at",
      .doc = "Call.",
      .type = SLUICE_OPT_STRING,
      .def = "",
      .offset = offsetof(struct kit_config, at) },
    { .name = "deed",
      .doc = "What happens there.",
      .type = SLUICE_OPT_STRING,
      .def = "",
      .offset = offsetof(struct kit_config, deed) },
    { .name = "word",
      .doc = "In process: only on rows with it.",
      .type = SLUICE_OPT_STRING,
      .def = "BOOM",
      .offset = offsetof(struct kit_config, word) },
    { .name = "node",
      .doc = "A node.",
      .type = SLUICE_OPT_NODE,
      .offset = offsetof(struct kit_config, node) },
    { .name = "bytes",
      .doc = "A number.",
      .type = SLUICE_OPT_INT,
      .def = "0",
      .offset = offsetof(struct kit_config, bytes) },
};

struct kit {
    const struct kit_config *config;
    const struct sluice_host_api *api;
    struct sluice_host *host;
    struct type **types; /* of the echo's columns */
    uint32_t n_types;
    pid_t parent;
};

struct kit_worker {
    struct kit *kit;
    int64_t rows, calls;
};

static inline const char *kit_parents_environment(char name[64])
{
    snprintf(name, 64, "/proc/%d/environ", (int)getppid());
    return name;
}

static inline int kit_open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 200; fd++) {
        n += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return n;
}

/* What the system says to each attempt, "fork=1 ..." with errno values, 0 = it worked. */
static inline void kit_attempts(const struct kit *kit, char *out, size_t size)
{
    const char *scratch = kit->api->scratch_dir(kit->host);
    char inside[1000];
    char *argv[] = { (char *)"true", NULL };
    char name[64];
    pid_t pid;
    int fd;
    int n = 0;
#define KIT_TRY(name, good) \
    n += snprintf(out + n, size - (size_t)n, name "=%d ", (good) ? 0 : errno)
    snprintf(inside, sizeof inside, "%s/file", scratch != NULL ? scratch : "/nowhere");
    fd = open(inside, O_WRONLY | O_CREAT, 0600);
    n += snprintf(out + n, size - (size_t)n, " files=%d ", kit_open_files());
    KIT_TRY("inside", fd >= 0 && write(fd, "x", 1) == 1);
    fd = open("/tmp/isolate-kit-outside", O_WRONLY | O_CREAT, 0600);
    KIT_TRY("outside", fd >= 0);
    KIT_TRY("chmod", chmod("/proc/self/exe", 0700) == 0);
    KIT_TRY("read", open("/proc/self/exe", O_RDONLY) >= 0);
    KIT_TRY("socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    KIT_TRY("unix", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    KIT_TRY("fork", pid >= 0);
    KIT_TRY("exec", execv("/bin/true", argv) == 0);
    KIT_TRY("kill", kill(getppid(), 0) == 0);
    KIT_TRY("killall", kill(-1, 0) == 0);
    KIT_TRY("ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0);
    KIT_TRY("chroot", chroot("/") == 0);
    KIT_TRY("setuid", setuid(0) == 0);
    KIT_TRY("setsid", setsid() >= 0);
    errno = ENOENT;
    KIT_TRY("secret", getenv("ISOLATE_KIT_SECRET") != NULL);
    KIT_TRY("environ", open(kit_parents_environment(name), O_RDONLY) >= 0);
#undef KIT_TRY
}

static inline void *kit_idle(void *ctx)
{
    (void)ctx;
    return NULL;
}

static inline int kit_deepen(int n)
{
    volatile char room[4096];

    room[0] = (char)n;
    return n > 100000000 ? room[0] : kit_deepen(n + 1) + room[0];
}

static inline sluice_status kit_do(struct kit *kit, const char *deed, struct sluice_error *err)
{
    char text[900];

    if (strcmp(deed, "segv") == 0) {
        volatile uintptr_t nowhere = 64;
        *(volatile int *)nowhere = 1;
    } else if (strcmp(deed, "raise") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(deed, "abort") == 0) {
        fprintf(stderr, "kit: it is over\n");
        abort();
    } else if (strcmp(deed, "exit") == 0) {
        _exit(3);
    } else if (strcmp(deed, "quit") == 0) {
        exit(4);
    } else if (strcmp(deed, "stack") == 0) {
        kit_deepen(0);
    } else if (strcmp(deed, "hang") == 0) {
        for (;;) {
            pause();
        }
    } else if (strcmp(deed, "spin until cancelled") == 0) {
        while (kit->api->cancelled(kit->host) == 0) {
            usleep(1000);
        }
        return SLUICE_E_CANCELLED;
    } else if (strcmp(deed, "hang up") == 0) {
        for (int fd = 3; fd < 100; fd++) {
            close(fd);
        }
        for (;;) {
            pause();
        }
    } else if (strcmp(deed, "nonsense") == 0) {
        uint64_t words[3] = { 77, 1 << 30, 5 };
        for (int fd = 3; fd < 20; fd++) {
            (void)!write(fd, words, sizeof words);
        }
        pause();
    } else if (strcmp(deed, "large answer") == 0) {
        uint64_t words[3] = { 15, UINT64_C(1) << 40, 0 }; /* OP_ANSWER */
        for (int fd = 3; fd < 20; fd++) {
            (void)!write(fd, words, sizeof words);
        }
        pause();
    } else if (strcmp(deed, "error") == 0) {
        err->row = 5;
        snprintf(err->field, sizeof err->field, "word");
        snprintf(err->message, sizeof err->message, "found a word, expected none");
        return SLUICE_E_DATA;
    } else if (strcmp(deed, "retry") == 0) {
        snprintf(err->message, sizeof err->message, "later");
        return SLUICE_E_RETRY;
    } else if (strcmp(deed, "attempts") == 0) {
        kit_attempts(kit, text, sizeof text);
        snprintf(err->message, sizeof err->message, "%s", text);
        return SLUICE_E_CONFIG;
    } else if (strcmp(deed, "allocate") == 0) {
        uint64_t got = 0;
        while (kit->api->alloc(kit->host, 1 << 20) != NULL) {
            got += 1;
        }
        snprintf(err->message, sizeof err->message, "%llu MiB", (unsigned long long)got);
        return SLUICE_E_NOMEM;
    } else if (strcmp(deed, "map") == 0) {
        uint64_t got = 0;
        while (mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
               MAP_FAILED) {
            got += 16;
        }
        snprintf(err->message, sizeof err->message, "%llu MiB", (unsigned long long)got);
        return SLUICE_E_NOMEM;
    } else if (strcmp(deed, "thread") == 0) {
        pthread_t thread;
        int failed = pthread_create(&thread, NULL, kit_idle, NULL);
        if (failed == 0) {
            pthread_join(thread, NULL);
        }
        snprintf(err->message, sizeof err->message, "thread=%d raise=%d", failed,
                 kill(getpid(), 0));
        return SLUICE_E_CONFIG;
    } else if (strcmp(deed, "services") == 0) {
        const void *data;
        uint64_t size;
        struct sluice_error error = ERROR_INIT;
        sluice_status status;
        kit->api->log(kit->host, SLUICE_LOG_WARN, "a line");
        status = kit->api->read_file(kit->host, "/good", &data, &size, err);
        if (status != SLUICE_OK || size != 5 || memcmp(data, "bytes", 5) != 0 ||
            kit->api->read_file(kit->host, "/proc/self/environ", &data, &size, &error) !=
                SLUICE_E_IO ||
            strstr(error.message, kit->config->word) == NULL ||
            kit->api->read_file(kit->host, "/bad", &data, &size, &error) != SLUICE_E_IO) {
            snprintf(err->message, sizeof err->message, "read_file: %.300s", error.message);
            return SLUICE_E_CONFIG;
        }
        snprintf(err->message, sizeof err->message, "seed %llu share %llu scratch %d: %.300s",
                 (unsigned long long)kit->api->seed(kit->host, 7),
                 (unsigned long long)kit->api->memory_share(kit->host),
                 kit->api->scratch_dir(kit->host) != NULL, error.message);
        return SLUICE_E_CONFIG;
    }
    return SLUICE_OK;
}

static inline sluice_status kit_at(struct kit *kit, const char *call, struct sluice_error *err)
{
    return kit->config->at != NULL && strcmp(kit->config->at, call) == 0
               ? kit_do(kit, kit->config->deed, err)
               : SLUICE_OK;
}

static inline sluice_status kit_open(const struct sluice_host_api *api, struct sluice_host *host,
                                     const void *config, void **shared, struct sluice_error *err)
{
    struct kit *kit = calloc(1, sizeof *kit);

    kit->config = config;
    kit->api = api;
    kit->host = host;
    *shared = kit;
    sluice_status status = kit_at(kit, "open", err);
    if (status != SLUICE_OK) {
        free(kit);
    }
    return status;
}

static inline void kit_close(void *shared)
{
    struct kit *kit = shared;
    struct sluice_error err = ERROR_INIT;

    (void)kit_at(kit, "close", &err);
    for (uint32_t k = 0; k < kit->n_types; k++) {
        type_destroy(kit->types[k]);
    }
    free(kit->types);
    free(kit);
}

static inline sluice_status kit_prepare_text(void *shared, struct sluice_plan *plan,
                                             struct sluice_error *err)
{
    int32_t index;

    TRY(kit_at(shared, "prepare", err));
    return plan->need(plan, 0, "text", "utf8", 0, &index, err);
}

static inline sluice_status kit_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    struct kit_worker *made = calloc(1, sizeof *made);

    made->kit = shared;
    *worker = made;
    sluice_status status = kit_at(shared, "worker_open", err);
    if (status != SLUICE_OK) {
        free(made);
    }
    return status;
}

static inline void kit_worker_close(void *worker)
{
    struct kit_worker *w = worker;
    struct sluice_error err = ERROR_INIT;

    (void)kit_at(w->kit, "worker_close", &err);
    free(w);
}

static inline int64_t kit_row(const struct sluice_batch *batch, int64_t k)
{
    return batch->rows != NULL ? batch->rows[k] : k;
}

static inline sluice_status kit_rows(struct kit_worker *worker, const struct sluice_batch *batch,
                                     const struct ArrowArray *text, struct sluice_error *err)
{
    const char *word = worker->kit->config->word;

    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *at = array_bytes(text, kit_row(batch, k), &n);
        if (memmem(at, n, word, strlen(word)) != NULL) {
            if (strcmp(worker->kit->config->at, "process") == 0 &&
                strcmp(worker->kit->config->deed, "write input") == 0) {
                *(char *)(uintptr_t)at = 'x';
            }
            TRY(kit_at(worker->kit, "process", err));
        }
    }
    return SLUICE_OK;
}

/* Drops texts shorter than `bytes`; texts that begin with "dup" are duplicates of "id". */
static inline sluice_status kit_filter(void *worker, const struct sluice_batch *batch,
                                       struct sluice_emit *emit, struct sluice_error *err)
{
    struct kit_worker *w = worker;
    const struct ArrowArray *text = batch->array->children[0];
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status = kit_rows(w, batch, text, err);

    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        size_t n;
        const char *at = array_bytes(text, kit_row(batch, k), &n);
        verdicts[k].value = (double)n;
        verdicts[k].limit = (double)w->kit->config->bytes;
        verdicts[k].reason = (int64_t)n < w->kit->config->bytes ? 1 : 0;
        if (n > 3 && memcmp(at, "dup", 3) == 0) {
            verdicts[k].reason = 2;
            verdicts[k].dup_of = at;
            verdicts[k].dup_of_length = 3;
            verdicts[k].similarity = 0.5;
        }
    }
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "seen", batch->n);
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    return status;
}

/* Gives a copy of each column, called c0, c1, ... */
static inline sluice_status kit_prepare_echo(void *shared, struct sluice_plan *plan,
                                             struct sluice_error *err)
{
    struct kit *kit = shared;
    const char *name;
    const char *type;

    for (uint32_t k = 0; k < kit->n_types; k++) {
        type_destroy(kit->types[k]);
    }
    free(kit->types);
    kit->types = calloc(1000, sizeof *kit->types);
    kit->n_types = 0;
    for (uint32_t k = 0;; k++) {
        char made[20];
        int32_t index;
        TRY(plan->column(plan, 0, k, &name, &type));
        if (name[0] == '\0') {
            return SLUICE_OK;
        }
        TRY(type_parse(type, &kit->types[k], err));
        kit->n_types = k + 1;
        TRY(plan->need(plan, 0, name, type, 0, &index, err));
        snprintf(made, sizeof made, "c%u", k);
        TRY(plan->add(plan, made, type, plan->metadata(plan, 0, index, "k") != NULL ? "k=v" : NULL,
                      err));
    }
}

static inline sluice_status kit_echo(void *worker, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct kit *kit = ((struct kit_worker *)worker)->kit;
    struct ArrowArray *children = calloc(kit->n_types + 1u, sizeof *children);
    struct ArrowArray all;

    for (uint32_t k = 0; k < kit->n_types; k++) {
        struct builder *builder;
        TRY(builder_create(kit->types[k], &builder, err));
        for (int64_t i = 0; i < batch->n; i++) {
            if (!builder_copy(builder, batch->array->children[k], kit_row(batch, i))) {
                return error_nomem(err, "kit");
            }
        }
        TRY(builder_finish(builder, &children[k], err));
        builder_destroy(builder);
    }
    TRY(array_struct(&all, batch->n, kit->n_types, children, err));
    free(children);
    return emit->batch(emit, &all);
}

/* Ordered: counts rows; flush gives one row with the sum. */
static inline sluice_status kit_prepare_sum(void *shared, struct sluice_plan *plan,
                                            struct sluice_error *err)
{
    TRY(kit_prepare_text(shared, plan, err));
    TRY(plan->add(plan, "_origin", "list<uint64>", NULL, err));
    return plan->add(plan, "sum", "int64", NULL, err);
}

static inline sluice_status kit_sum(void *worker, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    struct kit_worker *w = worker;

    (void)emit;
    w->rows += batch->n;
    return kit_rows(w, batch, batch->array->children[0], err);
}

static inline sluice_status kit_sum_flush(void *worker, struct sluice_emit *emit,
                                          struct sluice_error *err)
{
    struct kit_worker *w = worker;
    struct type *origin = NULL;
    struct type *number = NULL;
    struct builder *builders[2];
    struct ArrowArray children[2];
    struct ArrowArray all;
    uint64_t zero = 0;

    TRY(kit_at(w->kit, "flush", err));
    TRY(type_parse("list<uint64>", &origin, err));
    TRY(type_parse("int64", &number, err));
    TRY(builder_create(origin, &builders[0], err));
    TRY(builder_create(number, &builders[1], err));
    if (!builder_list_fixed(builders[0], &zero, 1) || !builder_int(builders[1], w->rows)) {
        return error_nomem(err, "kit");
    }
    TRY(builder_finish(builders[0], &children[0], err));
    TRY(builder_finish(builders[1], &children[1], err));
    builder_destroy(builders[0]);
    builder_destroy(builders[1]);
    type_destroy(origin);
    type_destroy(number);
    TRY(array_struct(&all, 1, 2, children, err));
    return emit->batch(emit, &all);
}

static inline sluice_status kit_save(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    struct kit_worker *w = worker;

    TRY(kit_at(w->kit, "save", err));
    return io->write(io, &w->rows, sizeof w->rows);
}

static inline sluice_status kit_load(void *worker, struct sluice_io *io, uint64_t version,
                                     struct sluice_error *err)
{
    struct kit_worker *w = worker;

    TRY(kit_at(w->kit, "load", err));
    return version > 3 ? SLUICE_E_DATA : io->read(io, &w->rows, sizeof w->rows);
}

static inline sluice_status kit_merge(void *worker, struct sluice_io *io, uint64_t version,
                                      struct sluice_error *err)
{
    struct kit_worker *w = worker;
    int64_t more;

    (void)version;
    TRY(kit_at(w->kit, "merge", err));
    TRY(io->read(io, &more, sizeof more));
    w->rows += more;
    return SLUICE_OK;
}

static inline sluice_status kit_judge(void *worker, struct sluice_verdict_io *io,
                                      struct sluice_error *err)
{
    struct kit_worker *w = worker;
    int64_t count = io->count(io, w->kit->config->node);

    TRY(kit_at(w->kit, "judge", err));
    io->outcome = SLUICE_GATE_WARN;
    snprintf(io->message, sizeof io->message, "%lld of %lld", (long long)w->rows, (long long)count);
    return SLUICE_OK;
}

static inline sluice_status kit_observe(void *worker, const struct sluice_batch *batch,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    return kit_sum(worker, batch, emit, err);
}

/* A reader of lines: one row each; "bad" is a bad record. */
static inline sluice_status kit_prepare_read(void *shared, struct sluice_plan *plan,
                                             struct sluice_error *err)
{
    TRY(kit_at(shared, "prepare", err));
    return plan->wanted(plan, "line") != 0 ? plan->add(plan, "line", "utf8", NULL, err)
                                           : plan->add(plan, "none", "utf8", NULL, err);
}

static inline sluice_status kit_read(void *worker, struct sluice_chunk *chunk,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct kit_worker *w = worker;
    struct type *text = NULL;
    struct builder *builder;
    struct ArrowArray child;
    struct ArrowArray all;
    uint64_t at = 0;
    int64_t rows = 0;

    for (int k = 0; k < SLUICE_PADDING; k++) {
        if (chunk->data[chunk->n + (uint64_t)k] == 'x') { /* readable is all that is promised */
            w->calls++;
        }
    }
    if (memmem(chunk->data, chunk->n, "BOOM", 4) != NULL) {
        TRY(kit_at(w->kit, "read", err));
    }
    TRY(type_parse("utf8", &text, err));
    TRY(builder_create(text, &builder, err));
    while (at < chunk->n) {
        const char *end = memchr(chunk->data + at, '\n', chunk->n - at);
        uint64_t n = end == NULL ? chunk->n - at : (uint64_t)(end - chunk->data) - at;
        if (n == 3 && memcmp(chunk->data + at, "bad", 3) == 0) {
            TRY(emit->bad(emit, chunk->offset + at, chunk->offset + at + n, "not_good",
                          chunk->uri));
        } else if (builder_bytes_add(builder, chunk->data + at, n)) {
            rows++;
        }
        at += n + 1;
    }
    chunk->consumed = chunk->n > 2 ? chunk->n - 1 : chunk->n;
    TRY(builder_finish(builder, &child, err));
    builder_destroy(builder);
    type_destroy(text);
    TRY(array_struct(&all, rows, 1, &child, err));
    return emit->batch(emit, &all);
}

static inline sluice_status kit_prepare_write(void *shared, struct sluice_plan *plan,
                                              struct sluice_error *err)
{
    TRY(kit_prepare_text(shared, plan, err));
    TRY(plan->note(plan, "kit", "{\"a\":1}", err));
    TRY(plan->output(plan, ".txt", "zstd", 3, err));
    return plan->output(plan, ".idx", "none", 0, err);
}

static inline sluice_status kit_write(void *worker, const struct sluice_batch *batch,
                                      struct sluice_emit *emit, struct sluice_error *err)
{
    const struct ArrowArray *text = batch->array->children[0];

    (void)worker;
    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        const char *at = array_bytes(text, kit_row(batch, k), &n);
        TRY(emit->write(emit, 0, at, n));
        if (k % 3 == 2) {
            TRY(emit->write(emit, 1, "*", 1));
            TRY(emit->roll(emit, 3));
        }
    }
    return SLUICE_OK;
}

#define KIT_STAGE(n, r, m, ...)                                                           \
    {                                                                                     \
        .size = sizeof(struct sluice_stage), .name = n, .version = "1",                   \
        .summary = "Does what it is told.", .role = r, .mode = m, .options = kit_options, \
        .n_options = sizeof kit_options / sizeof kit_options[0],                          \
        .option_stride = sizeof kit_options[0], .config_size = sizeof(struct kit_config), \
        .state_version = 3, .open = kit_open, .worker_open = kit_worker_open,             \
        .worker_close = kit_worker_close, .close = kit_close, __VA_ARGS__                 \
    }

static const struct sluice_stage kit_stages[] = {
    KIT_STAGE("kit_filter", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS, .reasons = "short|twin",
              .prepare = kit_prepare_text, .process = kit_filter),
    KIT_STAGE("kit_echo", SLUICE_ROLE_ANNOTATOR, SLUICE_MODE_STATELESS, .prepare = kit_prepare_echo,
              .process = kit_echo),
    KIT_STAGE("kit_sum", SLUICE_ROLE_TRANSFORM, SLUICE_MODE_ORDERED, .prepare = kit_prepare_sum,
              .process = kit_sum, .flush = kit_sum_flush, .save = kit_save, .load = kit_load,
              .merge = kit_merge),
    KIT_STAGE("kit_gate", SLUICE_ROLE_GATE, SLUICE_MODE_STATELESS, .prepare = kit_prepare_text,
              .process = kit_observe, .save = kit_save, .load = kit_load, .merge = kit_merge,
              .judge = kit_judge),
    KIT_STAGE("kit_read", SLUICE_ROLE_READER, SLUICE_MODE_STATELESS, .cut = "newline",
              .prepare = kit_prepare_read, .read = kit_read),
    KIT_STAGE("kit_write", SLUICE_ROLE_WRITER, SLUICE_MODE_ORDERED, .prepare = kit_prepare_write,
              .process = kit_write),
};
#define KIT_STAGES (sizeof kit_stages / sizeof kit_stages[0])

static inline struct registry *kit_registry(void)
{
    struct registry_options options = { .bare = true };
    struct sluice_error err = ERROR_INIT;
    struct registry *registry;

    if (registry_create(&options, &registry, &err) != SLUICE_OK) {
        return NULL;
    }
    for (size_t k = 0; k < KIT_STAGES; k++) {
        if (registry_add(registry, &kit_stages[k], PLUGIN_CORE, "kit", (struct hash128){ 1, 2 },
                         NULL, &err) != SLUICE_OK) {
            fprintf(stderr, "%s\n", err.message);
            return NULL;
        }
    }
    return registry;
}

/* ---- the child ---- */

static inline sluice_status kit_resolve(void *ctx, const struct isolate_target *target,
                                        const struct registry_entry **out, struct sluice_error *err)
{
    return registry_find(ctx, target->stage, out, err);
}

/* First thing in main. */
static inline void isolate_kit_child(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "__isolate") == 0) {
        struct isolate_child child = { .resolve = kit_resolve, .ctx = kit_registry() };
        _exit(isolate_child_main(&child));
    }
}

/* ---- the scene ---- */

struct kit_scene {
    struct registry *registry;
    struct isolate *isolate;
    struct stage *stage;
    struct stage_prepared prepared;
    struct schema schema;
    struct stage_inputs inputs;
    struct stage_services services;
    struct sluice_error err;
    char scratch[64];
    char log[200];
    pthread_mutex_t lock;
    int deaths, files;
    char how[400];
};

static inline void kit_died(void *ctx, const char *stage, const char *how)
{
    struct kit_scene *scene = ctx;

    pthread_mutex_lock(&scene->lock);
    scene->deaths++;
    snprintf(scene->how, sizeof scene->how, "%s: %s", stage, how);
    pthread_mutex_unlock(&scene->lock);
}

static inline void kit_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    struct kit_scene *scene = ctx;

    snprintf(scene->log, sizeof scene->log, "%d %s %s", (int)level, stage, message);
}

static inline sluice_status kit_read_file(void *ctx, const char *path, const void **data,
                                          uint64_t *size, struct sluice_error *err)
{
    struct kit_scene *scene = ctx;

    if (strcmp(path, "/good") != 0) {
        return error_set(err, SLUICE_E_IO, "no file %s", path);
    }
    scene->files++;
    *data = "bytes";
    *size = 5;
    return SLUICE_OK;
}

static inline void kit_release_file(void *ctx, const void *data)
{
    (void)data;
    ((struct kit_scene *)ctx)->files--;
}

static inline void kit_scene_begin(struct kit_scene *scene)
{
    struct isolate_options options = { .died = kit_died, .ctx = scene };

    memset(scene, 0, sizeof *scene);
    pthread_mutex_init(&scene->lock, NULL);
    snprintf(scene->scratch, sizeof scene->scratch, "/tmp/isolate-kit-XXXXXX");
    assert_non_null(mkdtemp(scene->scratch));
    options.scratch = scene->scratch;
    scene->err = (struct sluice_error)ERROR_INIT;
    scene->registry = kit_registry();
    assert_non_null(scene->registry);
    assert_int_equal(isolate_create(&options, &scene->isolate, &scene->err), SLUICE_OK);
    schema_init(&scene->schema);
    scene->inputs.n_ports = 1;
    scene->inputs.schemas[0] = &scene->schema;
    scene->services.ctx = scene;
    scene->services.log = kit_log;
    scene->services.read_file = kit_read_file;
    scene->services.release_file = kit_release_file;
    scene->services.seed = 42;
    scene->services.memory_share = 12345;
}

/* arguments: "name=value,name=value". limits NULL = in this process. */
static inline sluice_status kit_scene_open(struct kit_scene *scene, const char *name,
                                           const char *arguments,
                                           const struct isolate_limits *limits)
{
    const struct registry_entry *entry;
    struct isolate_target target = { .stage = name, .hash = { 1, 2 } };
    struct option_table table;
    struct value named = VALUE_INIT;
    struct option_args args = { .named = &named, .text = true };
    struct options *options;

    assert_int_equal(registry_find(scene->registry, name, &entry, &scene->err), SLUICE_OK);
    if (limits != NULL) {
        assert_int_equal(isolate_wrap(scene->isolate, entry, &target, limits, &entry, &scene->err),
                         SLUICE_OK);
    }
    table = option_table_of(&entry->stage);
    assert_int_equal(options_split(arguments, &named, &scene->err), SLUICE_OK);
    if (options_parse(&table, &args, NULL, &options, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    value_deinit(&named);
    return stage_open(entry, options, "quality", &scene->services, &scene->stage, &scene->err);
}

static inline sluice_status kit_scene_prepare(struct kit_scene *scene)
{
    stage_prepared_deinit(&scene->prepared);
    return stage_prepare(scene->stage, &scene->inputs, &scene->prepared, &scene->err);
}

static inline void kit_scene_ready(struct kit_scene *scene, const char *name, const char *arguments,
                                   const struct isolate_limits *limits)
{
    if (kit_scene_open(scene, name, arguments, limits) != SLUICE_OK ||
        kit_scene_prepare(scene) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
}

static inline void kit_scene_shut(struct kit_scene *scene)
{
    stage_close(scene->stage);
    scene->stage = NULL;
    stage_prepared_deinit(&scene->prepared);
}

static inline void kit_scene_end(struct kit_scene *scene)
{
    kit_scene_shut(scene);
    isolate_destroy(scene->isolate);
    registry_destroy(scene->registry);
    schema_deinit(&scene->schema);
    pthread_mutex_destroy(&scene->lock);
    assert_int_equal(scene->files, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, not even unreaped */
    /* Every child's folder is gone. */
    assert_int_equal(rmdir(scene->scratch), 0);
}

static inline void kit_says(const struct kit_scene *scene, const char *text)
{
    if (strstr(scene->err.message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, scene->err.message);
    }
}

/* ---- batches ---- */

struct kit_batch {
    struct ArrowArray array, root;
    struct ArrowArray *children[1];
    const void *buffers[1];
    struct sluice_batch batch;
};

static inline void kit_texts(struct kit_batch *out, const char *const *texts, int64_t n)
{
    struct type *type = kit_type("utf8");
    struct sluice_error err = ERROR_INIT;
    struct builder *builder;

    memset(out, 0, sizeof *out);
    assert_int_equal(builder_create(type, &builder, &err), SLUICE_OK);
    for (int64_t k = 0; k < n; k++) {
        assert_true(builder_bytes_add(builder, texts[k], strlen(texts[k])));
    }
    assert_int_equal(builder_finish(builder, &out->array, &err), SLUICE_OK);
    builder_destroy(builder);
    type_destroy(type);
    out->children[0] = &out->array;
    out->root.length = n;
    out->root.n_buffers = 1;
    out->root.buffers = out->buffers;
    out->root.n_children = 1;
    out->root.children = out->children;
    out->batch.size = sizeof out->batch;
    out->batch.array = &out->root;
    out->batch.n = n;
}

static inline void kit_batch_free(struct kit_batch *batch)
{
    batch->array.release(&batch->array);
}

#endif
