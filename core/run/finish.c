/* Who finishes a run: any number of processes work on it, and one of them writes its report, once.
 * An execution goes from the first task that is done until the report with its number stands in
 * history/; its number and plan stand in RUN/finish, which processes pass one after the other. So
 * it does not matter who comes last, or whether one is killed anywhere. The turn is a lease. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/runInt.h"
#include "store/store.h"

#define LINE_MAX_BYTES 4096

/* Whether there is a report of this number. */
static sluice_status is_written(const char *run_dir, uint32_t number, bool *written,
                                struct sluice_error *err)
{
    uint64_t bytes;
    char *path = str_printf("%s/history/%06u.json", run_dir, number);
    sluice_status status =
        path == NULL ? error_nomem(err, "a path") : store_size(path, &bytes, written, err);

    free(path);
    return status;
}

/* The number of the execution that began last; line: what RUN/finish says of it. */
static sluice_status read_begun(const char *run_dir, uint32_t *number, struct buf *line,
                                struct sluice_error *err)
{
    char *path = store_join(run_dir, "finish");
    bool found = false;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, LINE_MAX_BYTES, line, &found, err);

    free(path);
    *number = status == SLUICE_OK && found ? (uint32_t)strtoul(buf_str(line), NULL, 10) : 0;
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Numbers of listed reports; room: for so many more. */
static sluice_status listed_reports(const char *run_dir, uint32_t room, uint32_t **numbers,
                                    size_t *n, struct sluice_error *err)
{
    char *dir = store_join(run_dir, "history");
    struct disk_names names = { 0 };
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : store_names(dir, &names, err);

    *numbers = status == SLUICE_OK ? calloc(names.n + room + 1, sizeof **numbers) : NULL;
    if (status == SLUICE_OK && *numbers == NULL) {
        status = error_nomem(err, "the history");
    }
    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *end;
        uint32_t number = (uint32_t)strtoul(names.names[i], &end, 10);
        if (number > 0 && strcmp(end, ".json") == 0) {
            (*numbers)[(*n)++] = number;
        }
    }
    if (*n > 1) {
        qsort(*numbers, *n, sizeof **numbers, compare_numbers); /* the digits may be seven */
    }
    disk_names_deinit(&names);
    free(dir);
    return status;
}

sluice_status run_history(const char *run_dir, uint32_t **numbers, size_t *n,
                          struct sluice_error *err)
{
    struct buf line = BUF_INIT;
    uint32_t begun = 0;
    size_t listed;
    sluice_status status = SLUICE_OK;

    *numbers = NULL;
    *n = 0;
    if (!store_is_local(run_dir)) {
        status = read_begun(run_dir, &begun, &line, err);
    }
    buf_deinit(&line);
    TRY(status);
    TRY(listed_reports(run_dir, begun, numbers, n, err));
    listed = *n;
    for (uint32_t k = 1; k <= begun; k++) {
        bool there = false;
        if (listed == 0 ||
            bsearch(&k, *numbers, listed, sizeof **numbers, compare_numbers) == NULL) {
            TRY(is_written(run_dir, k, &there, err));
        }
        if (there) {
            (*numbers)[(*n)++] = k;
        }
    }
    if (*n > listed) {
        qsort(*numbers, *n, sizeof **numbers, compare_numbers);
    }
    return SLUICE_OK;
}

/* The number of the newest report; 0 = none. A list may lack the last ones: what is behind those
 * that it has, and behind the execution that began last, is asked for one by one. */
static sluice_status history_last(const struct run *run, uint32_t begun, uint32_t *last,
                                  struct sluice_error *err)
{
    uint32_t *numbers;
    size_t n = 0;
    sluice_status status = listed_reports(run->options.run_dir, 0, &numbers, &n, err);

    *last = n == 0 ? 0 : numbers[n - 1];
    free(numbers);
    if (status == SLUICE_OK && begun > *last + 1) {
        *last = begun - 1;
    }
    for (bool written = true; status == SLUICE_OK && written; *last += written) {
        status = is_written(run->options.run_dir, *last + 1, &written, err);
    }
    return status;
}

static void describe(const struct run *run, uint32_t number, char text[64])
{
    char plan[33];

    hash_hex(run->plan->key, plan);
    snprintf(text, 64, "%u %s\n", number, plan);
}

static sluice_status finish_path(const struct run *run, char **out, struct sluice_error *err)
{
    *out = store_join(run->options.run_dir, "finish");
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* The execution of this plan that began last, and of any plan; 0 = none. */
static sluice_status last_begun(const struct run *run, uint32_t *number, uint32_t *any,
                                struct sluice_error *err)
{
    struct buf line = BUF_INIT;
    char expected[64];
    sluice_status status = read_begun(run->options.run_dir, number, &line, err);

    *any = *number;
    describe(run, *number, expected);
    if (strcmp(buf_str(&line), expected) != 0) {
        *number = 0;
    }
    buf_deinit(&line);
    return status;
}

/* The one that is under way: its report is not written; 0 = none. */
static sluice_status under_way(const struct run *run, uint32_t *number, struct sluice_error *err)
{
    uint32_t any;
    bool written = false;

    TRY(last_begun(run, number, &any, err));
    if (*number == 0) {
        return SLUICE_OK;
    }
    TRY(is_written(run->options.run_dir, *number, &written, err));
    if (written) {
        *number = 0;
    }
    return SLUICE_OK;
}

void finish_look(struct run *run)
{
    uint32_t any;

    if (last_begun(run, &run->execution, &any, NULL) != SLUICE_OK) {
        run->execution = 0;
    }
}

static sluice_status take(struct run *run, struct lease **out, struct sluice_error *err)
{
    return lease_wait(crew_member(run->crew), crew_leases(run->crew), "finish", run->options.drain,
                      out, err);
}

static sluice_status begin_next(struct run *run, struct sluice_error *err)
{
    uint32_t last = 0;
    uint32_t begun;
    uint32_t any = 0;
    char line[64];
    char *path;
    sluice_status status;

    TRY(last_begun(run, &begun, &any, err));
    TRY(history_last(run, any, &last, err));
    TRY(finish_path(run, &path, err));
    describe(run, last + 1, line);
    status = store_replace(path, line, strlen(line), STORE_LOOSE, err);
    free(path);
    run->execution = status == SLUICE_OK ? last + 1 : 0;
    return status;
}

sluice_status finish_join(struct run *run, bool begin, struct sluice_error *err)
{
    struct lease *turn;
    sluice_status status;

    if (run->execution != 0) {
        return SLUICE_OK;
    }
    TRY(take(run, &turn, err));
    status = under_way(run, &run->execution, err);
    if (status == SLUICE_OK && run->execution == 0 && begin) {
        status = begin_next(run, err);
    }
    lease_drop(turn, true);
    return status;
}

sluice_status run_attempts(struct run *run, struct sluice_error *err)
{
    const char *kind = run->options.kind == NULL ? "run" : run->options.kind;

    TRY(finish_join(run, true, err));
    return run->attempts != NULL
               ? SLUICE_OK
               : attempts_open(run->options.run_dir, run->execution, crew_member(run->crew), kind,
                               run->options.workers, &run->attempts, err);
}

sluice_status run_finish(struct run *run, bool *mine, struct sluice_error *err)
{
    uint32_t number = 0;

    *mine = false;
    if (run->turn == NULL) {
        TRY(take(run, &run->turn, err));
    }
    TRY(under_way(run, &number, err));
    *mine = number != 0 && number == run->execution;
    return SLUICE_OK;
}

void run_finished(struct run *run)
{
    lease_drop(run->turn, true);
    run->turn = NULL;
}

sluice_status run_report(const struct run *run, const json_t *report, bool finished,
                         struct sluice_error *err)
{
    char *text = json_dumps(report, JSON_INDENT(1) | JSON_SORT_KEYS);
    struct published published;
    sluice_status status = text == NULL ? error_nomem(err, "the report")
                                        : pending_put(run->options.run_dir, "last.json", text,
                                                      strlen(text), PENDING_LOOSE, &published, err);

    if (status == SLUICE_OK && finished) {
        char *dir = store_join(run->options.run_dir, "history");
        char name[32];
        snprintf(name, sizeof name, "%06u.json", run->execution);
        status = dir == NULL ? error_nomem(err, "a path") : store_make_folder(dir, false, err);
        if (status == SLUICE_OK) {
            status = pending_put(dir, name, text, strlen(text), PENDING_LOOSE, &published, err);
        }
        free(dir);
    }
    free(text);
    return status;
}
