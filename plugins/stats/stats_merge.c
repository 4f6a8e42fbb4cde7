/* stats_merge: joins the records of one group, which the exchange brings together, by adding their
 * moments. */
#include "stats.h"

#include <sluice_stage.h>
#include <sluice_state.h>

struct merger {
    struct sluice_bytes kind, stat, name; /* of the group in hand */
    bool begun;
    int n; /* its moments */
    struct moments moments[STATS_MAX];
};

static sluice_status merge_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct sluice_bytes metadata = { 0 };
    const char *names;
    sluice_status status = plan->need(plan, 0, "key", "fixed[16]", 0, NULL, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = stats_rows_need(plan, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    names = plan->metadata(plan, 0, 4, "stats");
    if (names != NULL && !(sluice_bytes_add(&metadata, "stats=", 6) &&
                           sluice_bytes_add(&metadata, names, strlen(names) + 1))) {
        status = stats_nomem(err);
    }
    if (status == SLUICE_OK) {
        status = stats_rows_declare(plan, metadata.data, err);
    }
    sluice_bytes_free(&metadata);
    return status;
}

static sluice_status merge_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    return sluice_worker_new(NULL, sizeof(struct merger), out, err);
}

static void forget(struct merger *worker)
{
    for (int i = 0; i < worker->n; i++) {
        moments_deinit(&worker->moments[i]);
    }
    worker->n = 0;
    worker->begun = false;
    worker->kind.size = worker->stat.size = worker->name.size = 0;
}

static void merge_worker_close(void *state)
{
    struct merger *worker = state;

    forget(worker);
    sluice_bytes_free(&worker->kind);
    sluice_bytes_free(&worker->stat);
    sluice_bytes_free(&worker->name);
    free(worker);
}

/* Appends the group in hand to rows and forgets it. */
static sluice_status finish(struct merger *worker, struct sluice_rows *rows,
                            struct sluice_error *err)
{
    bool ok = true;

    if (!worker->begun) {
        return SLUICE_OK;
    }
    for (int i = 0; ok && i < worker->n; i++) {
        ok = moments_write(&worker->moments[i], &rows->data[STATS_MOMENTS]);
    }
    ok = ok && stats_rows_add(rows, worker->kind.data, worker->stat.data, worker->name.data,
                              worker->name.size - 1);
    forget(worker);
    return ok ? SLUICE_OK : stats_nomem(err);
}

static bool keep(struct sluice_bytes *bytes, const char *text, size_t n)
{
    bytes->size = 0;
    return sluice_bytes_add(bytes, text, n) && sluice_bytes_add(bytes, "", 1);
}

static bool same(const struct sluice_bytes *bytes, const char *text, size_t n)
{
    return bytes->size == n + 1 && memcmp(bytes->data, text, n) == 0;
}

/* A row that is no record goes on as it is: who reads the result sets it aside. */
static bool pass_on(struct merger *worker, const char *const text[4], const size_t n[4],
                    struct sluice_rows *rows)
{
    bool ok = keep(&worker->kind, text[0], n[0]) && keep(&worker->stat, text[1], n[1]) &&
              sluice_bytes_add(&rows->data[STATS_MOMENTS], text[3], n[3]) &&
              stats_rows_add(rows, worker->kind.data, worker->stat.data, text[2], n[2]);

    forget(worker);
    return ok;
}

/* Adds the record of a row to the group in hand, or begins the next one with it. */
static sluice_status add_row(struct merger *worker, const struct sluice_batch *batch, int64_t row,
                             struct sluice_rows *rows, struct sluice_error *err)
{
    struct ArrowArray *const *columns = batch->array->children;
    size_t n[4];
    const char *text[4];
    size_t at = 0;
    bool ok = true;
    int n_moments;

    for (int i = 0; i < 4; i++) {
        text[i] = sluice_text(columns[i + 1], row, &n[i]);
    }
    n_moments = moments_count(text[3], n[3]);
    if (n_moments < 0 || n_moments > STATS_MAX || !worker->begun ||
        !same(&worker->kind, text[0], n[0]) || !same(&worker->stat, text[1], n[1]) ||
        !same(&worker->name, text[2], n[2])) {
        sluice_status status = finish(worker, rows, err);
        if (status != SLUICE_OK) {
            return status;
        }
        if (n_moments < 0 || n_moments > STATS_MAX) {
            return pass_on(worker, text, n, rows) ? SLUICE_OK : stats_nomem(err);
        }
        ok = keep(&worker->kind, text[0], n[0]) && keep(&worker->stat, text[1], n[1]) &&
             keep(&worker->name, text[2], n[2]);
        worker->begun = ok;
    }
    for (int i = 0; ok && i < n_moments; i++) {
        struct moments more = { 0 };
        ok = moments_read(&more, text[3], n[3], &at) == MOMENTS_READ &&
             moments_merge(&worker->moments[i], &more);
        worker->n = worker->n > i ? worker->n : i + 1;
        moments_deinit(&more);
    }
    return ok ? SLUICE_OK : stats_nomem(err);
}

static sluice_status merge_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct merger *worker = state;
    struct sluice_rows rows = sluice_rows_begin(STATS_ROWS);
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        status = add_row(worker, batch, sluice_row(batch, k), &rows, err);
    }
    return sluice_rows_emit(&rows, status, emit, err);
}

static sluice_status merge_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_rows rows = sluice_rows_begin(STATS_ROWS);
    sluice_status status = finish(state, &rows, err);

    return sluice_rows_emit(&rows, status, emit, err);
}

/* ---- saved states: the group in hand ---- */

static sluice_status merge_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct merger *worker = state;
    const struct sluice_state_list names[] = { { &worker->kind, 1 },
                                               { &worker->stat, 1 },
                                               { &worker->name, 1 } };
    const uint64_t head[2] = { worker->begun, (uint64_t)worker->n };
    sluice_status status = io->write(io, head, sizeof head);

    (void)err;
    if (status == SLUICE_OK) {
        status = sluice_state_put_lists(io, names, 3);
    }
    return status == SLUICE_OK ? stats_moments_save(worker->moments, worker->n, io) : status;
}

/* A name ends with NUL. */
static bool is_name(const struct sluice_bytes *bytes)
{
    return bytes->size > 0 && bytes->data[bytes->size - 1] == '\0';
}

static sluice_status merge_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct merger *worker = state;
    const struct sluice_state_list names[] = { { &worker->kind, 1 },
                                               { &worker->stat, 1 },
                                               { &worker->name, 1 } };
    uint64_t head[2] = { 0, 0 };
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = sluice_state_get_lists(io, names, 3);
    }
    if (status == SLUICE_OK &&
        (head[1] > STATS_MAX ||
         (head[0] != 0 &&
          !(is_name(&worker->kind) && is_name(&worker->stat) && is_name(&worker->name))))) {
        return SLUICE_E_DATA;
    }
    if (status == SLUICE_OK) {
        worker->begun = head[0] != 0;
        worker->n = (int)head[1];
        status = stats_moments_load(worker->moments, worker->n, io);
    }
    return status;
}

const struct sluice_stage stats_merge_stage = {
    .size = sizeof stats_merge_stage,
    .name = "stats_merge",
    .version = "1.0",
    .summary = "One record a group, of those of all splits (part of `statistics`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 2 << 20,
    .prepare = merge_prepare,
    .worker_open = merge_worker_open,
    .process = merge_process,
    .save = merge_save,
    .load = merge_load,
    .state_version = 1,
    .flush = merge_flush,
    .worker_close = merge_worker_close,
};
