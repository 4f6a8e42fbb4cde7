/* fickle_reader - a reader that breaks its word, for again.sh: a document a line, whose id and text
 * are the line; the second time that it is opened it leaves out the lines with NOW-AND-THEN; the
 * first time, too, where FICKLE is set. */
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"

static int opened; /* in this process */

static sluice_status fickle_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    int *number = malloc(sizeof *number);

    (void)api;
    (void)host;
    (void)config;
    (void)err;
    *shared = number;
    if (number == NULL) {
        return SLUICE_E_NOMEM;
    }
    opened++;
    *number = getenv("FICKLE") != NULL ? 2 : opened;
    return SLUICE_OK;
}

static sluice_status fickle_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    static const char *const columns[][2] = {
        { "text", "utf8" }, { "id", "utf8" }, { "_begin", "uint64" }, { "_end", "uint64" }
    };
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (size_t k = 0; status == SLUICE_OK && k < sizeof columns / sizeof columns[0]; k++) {
        status = plan->add(plan, columns[k][0], columns[k][1], NULL, err);
    }
    return status;
}

static sluice_status fickle_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    (void)err;
    *worker = shared;
    return SLUICE_OK;
}

static void fickle_worker_close(void *worker)
{
    (void)worker;
}

static sluice_status fickle_read(void *worker, struct sluice_chunk *chunk, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    struct sluice_bytes offsets[2] = { { 0 }, { 0 } };
    struct sluice_bytes data[2] = { { 0 }, { 0 } };
    struct sluice_bytes places[2] = { { 0 }, { 0 } };
    struct ArrowArray columns[4] = { { 0 } };
    struct ArrowArray out;
    int64_t n = 0;
    int ok = 1;

    (void)err;
    for (uint64_t at = 0; ok && at < chunk->n;) {
        const char *line = chunk->data + at;
        const char *newline = memchr(line, '\n', chunk->n - at);
        uint64_t size = newline == NULL ? chunk->n - at : (uint64_t)(newline - line);
        uint64_t ends[2] = { chunk->offset + at, chunk->offset + at + size };
        at += size + 1;
        if (*(int *)worker == 2 && memmem(line, size, "NOW-AND-THEN", 12) != NULL) {
            continue;
        }
        for (int k = 0; ok && k < 2; k++) {
            ok = sluice_bytes_add_text(&offsets[k], &data[k], line, size) &&
                 sluice_bytes_add(&places[k], &ends[k], sizeof ends[k]);
        }
        n++;
    }
    for (int k = 0; k < 2; k++) {
        ok = sluice_make_text(&columns[k], n, &offsets[k], &data[k], NULL, 0) == SLUICE_OK && ok;
        ok = sluice_make_fixed(&columns[k + 2], n, &places[k], NULL, 0) == SLUICE_OK && ok;
    }
    return ok && sluice_make_struct(&out, n, 4, columns) == SLUICE_OK ? emit->batch(emit, &out)
                                                                      : SLUICE_E_NOMEM;
}

static void fickle_close(void *shared)
{
    free(shared);
}

static const struct sluice_stage fickle_reader = {
    .size = sizeof fickle_reader,
    .name = "fickle_reader",
    .version = "1",
    .summary = "Reads lines, some of them only once.",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    .cut = "newline",
    .open = fickle_open,
    .prepare = fickle_prepare,
    .worker_open = fickle_worker_open,
    .worker_close = fickle_worker_close,
    .read = fickle_read,
    .close = fickle_close,
};

static const struct sluice_stage *const stages[] = { &fickle_reader, NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "fickle",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
