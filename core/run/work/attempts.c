/* The log of attempts: see attempts.h. */
#include "run/work/attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/disk.h"

#define FOLDER "attempts"
#define SEGMENT "%06u-%s.%04u.jsonl" /* of an execution and a process */
#define FILE_MAX ((uint64_t)4 << 30)

struct attempts {
    char *folder, *stem;
    int fd; /* on this machine's file system; else -1 */
    pthread_mutex_t lock;
    struct buf waiting; /* for the next segment */
    uint32_t segment;
    uint64_t begun_ns, put_ns;
    uint32_t workers;
};

static void put_time(struct buf *out, const struct timespec *time)
{
    struct tm tm;

    memset(&tm, 0, sizeof tm);
    (void)gmtime_r(&time->tv_sec, &tm);
    buf_printf(out, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"", tm.tm_year + 1900, tm.tm_mon + 1,
               tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, time->tv_nsec / 1000000);
}

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    buf_json_string(out, text, strlen(text));
}

/* ---- writing ---- */

/* Appends a line, in one call: a kill leaves it whole or cut at its end, where nothing follows. */
static sluice_status put_line(struct attempts *log, const struct buf *line,
                              struct sluice_error *err)
{
    sluice_status status = buf_status(line, err);

    if (status == SLUICE_OK && log->fd >= 0) {
        status = disk_write_all(log->fd, log->stem, line->data, line->size, err);
    } else if (status == SLUICE_OK) {
        buf_append(&log->waiting, line->data, line->size);
        status = buf_status(&log->waiting, err);
    }
    return status;
}

static sluice_status put_head(struct attempts *log, const struct member *member, const char *kind,
                              struct sluice_error *err)
{
    struct buf line = BUF_INIT;
    struct timespec now;
    sluice_status status;

    clock_gettime(CLOCK_REALTIME, &now);
    buf_printf(&line,
               "{\"worker\":\"%s\",\"kind\":\"%s\",\"host\":\"%s\",\"pid\":%d,\"workers\":%u",
               member_id(member), kind, member_self(member)->host, (int)getpid(), log->workers);
    buf_puts(&line, ",\"begin\":");
    put_time(&line, &now);
    buf_puts(&line, "}\n");
    status = put_line(log, &line, err);
    buf_deinit(&line);
    return status;
}

sluice_status attempts_open(const char *run_dir, uint32_t execution, const struct member *member,
                            const char *kind, uint32_t workers, struct attempts **out,
                            struct sluice_error *err)
{
    struct attempts *log = calloc(1, sizeof *log);
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (log == NULL) {
        return error_nomem(err, "the log of attempts");
    }
    log->fd = -1;
    log->workers = workers;
    log->begun_ns = member_clock();
    log->put_ns = log->begun_ns;
    pthread_mutex_init(&log->lock, NULL);
    log->folder = store_join(run_dir, FOLDER);
    log->stem = log->folder == NULL
                    ? NULL
                    : str_printf("%s/%06u-%s", log->folder, execution, member_id(member));
    if (log->stem == NULL) {
        status = error_nomem(err, "the log of attempts");
    } else if (store_is_local(log->folder)) {
        char *path = str_printf("%s.jsonl", log->stem);
        status = path == NULL ? error_nomem(err, "the log of attempts")
                              : store_make_folder(log->folder, false, err);
        if (status == SLUICE_OK) {
            int errnum = disk_open(path, O_WRONLY | O_CREAT | O_APPEND, &log->fd);
            if (errnum != 0) {
                log->fd = -1;
                status = error_errno(err, errnum, "can't write the log of attempts %s", path);
            }
        }
        free(path);
    }
    if (status == SLUICE_OK) {
        status = put_head(log, member, kind, err);
    }
    if (status != SLUICE_OK) {
        attempts_close(log);
        return status;
    }
    *out = log;
    return SLUICE_OK;
}

/* What ops that asked servers did. */
static void put_asks(struct buf *line, const struct phase_metrics *metrics, uint32_t n_ops)
{
    bool any = false;

    for (uint32_t i = 0; i < n_ops; i++) {
        const struct ask_metrics *asks = &metrics->ops[i].asks;
        if (METRIC_GET(asks->answered) + METRIC_GET(asks->known) == 0) {
            continue;
        }
        buf_printf(line,
                   "%s{\"op\":%u,\"answered\":%llu,\"refused\":%llu,\"retries\":%llu,"
                   "\"bytes_out\":%llu,\"bytes_in\":%llu,\"known\":%llu,\"hedges\":%llu}",
                   any ? "," : ",\"asks\":[", i, (unsigned long long)METRIC_GET(asks->answered),
                   (unsigned long long)METRIC_GET(asks->refused),
                   (unsigned long long)METRIC_GET(asks->retries),
                   (unsigned long long)METRIC_GET(asks->bytes_out),
                   (unsigned long long)METRIC_GET(asks->bytes_in),
                   (unsigned long long)METRIC_GET(asks->known),
                   (unsigned long long)METRIC_GET(asks->hedges));
        any = true;
    }
    buf_puts(line, any ? "]" : "");
}

/* Sums of what its ops did, and the ops themselves, six numbers each, for reports. */
static void put_work(struct buf *line, const struct phase_metrics *metrics, uint32_t n_ops)
{
    uint64_t cpu = METRIC_GET(metrics->source.work_ns) + METRIC_GET(metrics->commit.work_ns);

    for (uint32_t i = 0; i < n_ops; i++) {
        cpu += METRIC_GET(metrics->ops[i].time.work_ns);
    }
    buf_printf(line, ",\"cpu\":%.6f,\"times\":[%llu,%llu,%llu,%llu],\"read\":[%llu,%llu],\"ops\":[",
               (double)cpu / 1e9, (unsigned long long)METRIC_GET(metrics->source.work_ns),
               (unsigned long long)METRIC_GET(metrics->source.wait_ns),
               (unsigned long long)METRIC_GET(metrics->commit.work_ns),
               (unsigned long long)METRIC_GET(metrics->commit.wait_ns),
               (unsigned long long)METRIC_GET(metrics->raw_bytes),
               (unsigned long long)METRIC_GET(metrics->text_bytes));
    for (uint32_t i = 0; i < n_ops; i++) {
        const struct op_metrics *op = &metrics->ops[i];
        buf_printf(line, "%s%llu,%llu,%llu,%llu,%llu,%llu", i > 0 ? "," : "",
                   (unsigned long long)METRIC_GET(op->rows_in),
                   (unsigned long long)METRIC_GET(op->rows_out),
                   (unsigned long long)METRIC_GET(op->bytes_in),
                   (unsigned long long)METRIC_GET(op->bytes_out),
                   (unsigned long long)METRIC_GET(op->time.work_ns),
                   (unsigned long long)METRIC_GET(op->time.wait_ns));
    }
    buf_putc(line, ']');
    put_asks(line, metrics, n_ops);
}

static void put_attempt(struct buf *line, const struct attempt *attempt)
{
    struct rusage usage;
    char key[33];

    buf_printf(line, "{\"task\":%u,\"begin\":", attempt->number);
    put_time(line, &attempt->begin);
    put_text(line, "name", attempt->task);
    put_text(line, "phase", attempt->phase);
    if (attempt->keyed) {
        hash_hex(attempt->key, key);
        put_text(line, "key", key);
    }
    put_text(line, "outcome", attempt->outcome);
    if (attempt->twin) {
        buf_puts(line, ",\"twin\":true");
    }
    if (attempt->from_row > 0) {
        buf_printf(line, ",\"from_row\":%llu", (unsigned long long)attempt->from_row);
    }
    if (attempt->saved_row > 0) {
        buf_printf(line, ",\"saved_row\":%llu", (unsigned long long)attempt->saved_row);
    }
    if (attempt->kind != NULL) {
        put_text(line, "class", attempt->kind);
    }
    if (attempt->message != NULL) {
        put_text(line, "message", attempt->message);
    }
    if (attempt->other != NULL) {
        put_text(line, "of_worker", attempt->other->id);
        put_text(line, "of_host", attempt->other->host);
    }
    if (attempt->metrics != NULL) {
        memset(&usage, 0, sizeof usage);
        (void)getrusage(RUSAGE_SELF, &usage);
        buf_printf(line,
                   ",\"wall\":%.6f,\"rss\":%llu,\"rows\":%llu,\"bytes_in\":%llu,\"bytes_out\":%llu",
                   (double)attempt->wall_ns / 1e9, (unsigned long long)usage.ru_maxrss * 1024u,
                   (unsigned long long)attempt->rows, (unsigned long long)attempt->bytes_in,
                   (unsigned long long)attempt->bytes_out);
        put_work(line, attempt->metrics, attempt->n_ops);
    }
    buf_puts(line, "}\n");
}

/* Puts what waits as the next segment. Held: lock, or nobody else is there. */
static sluice_status put_segment(struct attempts *log, struct sluice_error *err)
{
    char *path = str_printf("%s.%04u.jsonl", log->stem, log->segment);
    enum store_put outcome;
    sluice_status status = path == NULL ? error_nomem(err, "the log of attempts")
                                        : store_put_new(path, log->waiting.data, log->waiting.size,
                                                        STORE_LOOSE, &outcome, err);

    free(path);
    if (status == SLUICE_OK) {
        log->segment++;
        log->put_ns = member_clock();
        buf_clear(&log->waiting);
    }
    return status;
}

sluice_status attempts_add(struct attempts *log, const struct attempt *attempt,
                           struct sluice_error *err)
{
    struct buf line = BUF_INIT;
    sluice_status status;

    if (log == NULL) {
        return SLUICE_OK;
    }
    put_attempt(&line, attempt);
    pthread_mutex_lock(&log->lock);
    status = put_line(log, &line, err);
    if (status == SLUICE_OK && log->waiting.size > 0 &&
        member_clock() - log->put_ns >= member_times()->beat) {
        status = put_segment(log, err);
    }
    pthread_mutex_unlock(&log->lock);
    buf_deinit(&line);
    return status;
}

sluice_status attempts_flush(struct attempts *log, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (log != NULL && log->fd < 0) {
        pthread_mutex_lock(&log->lock);
        if (log->waiting.size > 0) {
            status = put_segment(log, err);
        }
        pthread_mutex_unlock(&log->lock);
    }
    return status;
}

void attempts_close(struct attempts *log)
{
    struct buf line = BUF_INIT;

    if (log == NULL) {
        return;
    }
    if (log->stem != NULL) {
        buf_printf(&line, "{\"left\":true,\"seconds\":%.6f,\"workers\":%u}\n",
                   (double)(member_clock() - log->begun_ns) / 1e9, log->workers);
        if (put_line(log, &line, NULL) != SLUICE_OK ||
            (log->waiting.size > 0 && put_segment(log, NULL) != SLUICE_OK)) {
            /* It ends without that line, as that of one who was killed does. */
        }
        buf_deinit(&line);
    }
    if (log->fd >= 0) {
        close(log->fd);
    }
    buf_deinit(&log->waiting);
    pthread_mutex_destroy(&log->lock);
    free(log->folder);
    free(log->stem);
    free(log);
}

/* ---- reading ---- */

static void each_line(const struct buf *text, void (*each)(void *ctx, const json_t *line),
                      void *ctx)
{
    const char *at = text->data;
    const char *end = at + text->size;

    while (at != NULL && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        json_t *line;
        if (stop == NULL) {
            break; /* its writer was killed */
        }
        line = json_loadb(at, (size_t)(stop - at), 0, NULL);
        if (line != NULL) {
            each(ctx, line);
        }
        json_decref(line);
        at = stop + 1;
    }
}

/* "000012-ID.jsonl", "000012-ID.0003.jsonl" */
static bool name_parse(const char *name, uint32_t *execution, char id[MEMBER_ID])
{
    size_t n = strlen(name);
    char *end;
    struct hash128 bits;

    *execution = (uint32_t)strtoul(name, &end, 10);
    if (*end != '-' || n < (size_t)(end - name) + 39 || strcmp(name + n - 6, ".jsonl") != 0) {
        return false;
    }
    memcpy(id, end + 1, 32);
    id[32] = '\0';
    return hash_parse(id, &bits);
}

static bool is_segment(const char *name)
{
    return strchr(name, '.') != strrchr(name, '.');
}

static sluice_status read_lines(const char *folder, const char *name, uint64_t *most, bool *found,
                                void (*each)(void *ctx, const json_t *line), void *ctx,
                                struct sluice_error *err)
{
    char *path = store_join(folder, name);
    struct buf text = BUF_INIT;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, FILE_MAX, &text, found, err);

    if (status == SLUICE_OK && *found) {
        *most -= text.size < *most ? text.size : *most;
        each_line(&text, each, ctx);
    }
    buf_deinit(&text);
    free(path);
    return status;
}

sluice_status attempts_read(const char *run_dir, uint32_t execution, uint64_t most,
                            void (*each)(void *ctx, const json_t *line), void *ctx,
                            struct sluice_error *err)
{
    char *folder = store_join(run_dir, FOLDER);
    struct store_list list = { 0 };
    char before[MEMBER_ID] = ""; /* whose segments are read; they are beside each other */
    sluice_status status = folder == NULL ? error_nomem(err, "a path")
                                          : store_list(folder, STORE_VERSIONS, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n && most > 0; i++) {
        char id[MEMBER_ID];
        uint32_t number;
        bool found = true;
        if (!name_parse(list.entries[i].name, &number, id) ||
            (execution != ATTEMPTS_ALL && number != execution) || strcmp(before, id) == 0) {
            continue;
        }
        if (is_segment(list.entries[i].name)) {
            /* A list may lack some of them: the names tell what to ask for. */
            memcpy(before, id, sizeof before);
            for (uint32_t k = 0; status == SLUICE_OK && found && most > 0; k++) {
                char *name = str_printf(SEGMENT, number, id, k);
                status = name == NULL ? error_nomem(err, "a path")
                                      : read_lines(folder, name, &most, &found, each, ctx, err);
                free(name);
            }
        } else if (list.entries[i].version.size <= most) {
            status = read_lines(folder, list.entries[i].name, &most, &found, each, ctx, err);
        }
    }
    store_list_deinit(&list);
    free(folder);
    return status;
}

sluice_status attempts_sweep(const char *run_dir, uint32_t keep, uint64_t *files, uint64_t *bytes,
                             bool dry, struct sluice_error *err)
{
    char *folder = store_join(run_dir, FOLDER);
    struct store_list list = { 0 };
    uint32_t newest = 0;
    char id[MEMBER_ID];
    uint32_t number;
    sluice_status status = folder == NULL ? error_nomem(err, "a path")
                                          : store_list(folder, STORE_VERSIONS, &list, err);

    for (size_t i = 0; i < list.n; i++) {
        if (name_parse(list.entries[i].name, &number, id) && number > newest) {
            newest = number;
        }
    }
    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char *path;
        if (!name_parse(list.entries[i].name, &number, id) || number + keep > newest) {
            continue;
        }
        ++*files;
        *bytes += list.entries[i].version.size;
        path = dry ? NULL : store_join(folder, list.entries[i].name);
        if (path != NULL) {
            status = store_remove(path, err);
        }
        free(path);
    }
    store_list_deinit(&list);
    free(folder);
    return status;
}
