/* Whose the datasets are that a run writes, and whether they take its rows: a dataset belongs to
 * the node of the pipeline that wrote its newest snapshot, and nobody else's run goes on with it
 * unless it is told to. What it was told stands in RUN/take-over, a line "NUMBER DATASET" for each
 * snapshot of another owner: whichever process finishes the run publishes behind that one, and
 * behind no later one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/runInt.h"
#include "store/store.h"

#define LIST_MAX_BYTES ((uint64_t)16 << 20)

static sluice_status list_path(const struct run *run, char **out, struct sluice_error *err)
{
    *out = store_join(run->options.run_dir, "take-over");
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* The number that the list has for a dataset; 0 = none. */
static uint32_t listed(const char *list, const char *dataset)
{
    size_t n = strlen(dataset);

    for (const char *line = list; *line != '\0';) {
        char *end;
        unsigned long number = strtoul(line, &end, 10);
        const char *next = strchr(line, '\n');
        if (next == NULL) {
            break;
        }
        if (*end == ' ' && (size_t)(next - end) == n + 1 && memcmp(end + 1, dataset, n) == 0) {
            return (uint32_t)number;
        }
        line = next + 1;
    }
    return 0;
}

sluice_status run_own(const struct run *run, const struct op *writer, struct snapshot *snapshot,
                      struct sluice_error *err)
{
    const char *pipeline = run->plan->graph->name;
    struct buf list = BUF_INIT;
    bool found = false;
    char *path;
    sluice_status status;

    TRY(snapshot_own(snapshot, pipeline == NULL ? "" : pipeline, writer->name, err));
    TRY(list_path(run, &path, err));
    status = store_read_all(path, LIST_MAX_BYTES, &list, &found, err);
    free(path);
    if (status == SLUICE_OK && found) {
        snapshot->take_over = listed(buf_str(&list), op_stage(writer)->dataset);
    }
    buf_deinit(&list);
    return status;
}

static sluice_status check_writer(const struct run *run, const struct op *writer, struct buf *taken,
                                  struct sluice_error *err)
{
    struct snapshot *newest = NULL;
    struct snapshot *next = snapshot_create(writer->name);
    sluice_status status = next == NULL
                               ? error_nomem(err, "a snapshot")
                               : snapshot_open_newest(op_stage(writer)->dataset, &newest, err);

    if (status == SLUICE_OK && newest != NULL) {
        status = run_own(run, writer, next, err);
    }
    if (status == SLUICE_OK && newest != NULL && run->options.take_over) {
        struct sluice_error ignored = ERROR_INIT;
        if (snapshot_check_owner(op_stage(writer)->dataset, newest, next, &ignored) != SLUICE_OK ||
            next->take_over == newest->number) {
            buf_printf(taken, "%u %s\n", (unsigned)newest->number, op_stage(writer)->dataset);
        }
    } else if (status == SLUICE_OK) {
        status = snapshot_check_owner(op_stage(writer)->dataset, newest, next, err);
    }
    if (status == SLUICE_OK) {
        status = run_append_check(run, writer, newest, err);
    }
    snapshot_destroy(next);
    snapshot_destroy(newest);
    return status;
}

sluice_status run_check_owners(const struct run *run, struct sluice_error *err)
{
    struct buf taken = BUF_INIT;
    char *path = NULL;
    sluice_status status = SLUICE_OK;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        for (uint32_t i = 0; status == SLUICE_OK && i < run->plan->phases[p]->n_ops; i++) {
            const struct op *op = run->plan->phases[p]->ops[i];
            if (op_writes(op)) {
                status = check_writer(run, op, &taken, err);
            }
        }
    }
    if (status == SLUICE_OK) {
        status = buf_status(&taken, err);
    }
    if (status == SLUICE_OK && taken.size > 0) {
        status = list_path(run, &path, err);
        if (status == SLUICE_OK) {
            status = store_replace(path, taken.data, taken.size, 0, err);
        }
        free(path);
    }
    buf_deinit(&taken);
    return status;
}
