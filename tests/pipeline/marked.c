/* marked - a reader with cut "sync": records behind a marker, found by searching. A record is the
 * marker (8 bytes), uint32 size, uint32 ~size, then that many bytes of text. It reads windows of
 * 64 KiB, a batch a call. */
#include <stdlib.h>

#include "sluice_rows.h"
#include "sluice_simple.h"

#define MARK "\xf5REC\xf5\x01\x02\x03"
#define HEAD 16u
#define WINDOW ((uint64_t)64 << 10)

struct worker {
    uint64_t at;   /* where the next record begins, or the search goes on */
    uint64_t want; /* bytes to ask for */
    int found;     /* a record begins at `at` */
    struct sluice_rows rows;
};

static sluice_status prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->add(plan, "text", "utf8", NULL, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_begin", "uint64", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_end", "uint64", NULL, err) : status;
}

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    (void)shared;
    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->rows = sluice_rows_begin("tff");
    *out = worker;
    return SLUICE_OK;
}

static void worker_close(void *state)
{
    struct worker *worker = state;

    sluice_rows_drop(&worker->rows);
    free(worker);
}

static sluice_status ask(struct worker *worker, const struct sluice_scan *scan,
                         struct sluice_emit *emit)
{
    uint64_t left = scan->file->bytes - worker->at;
    struct sluice_extent extent = { worker->at, worker->want < left ? worker->want : left };
    struct sluice_ask ask = {
        .size = sizeof ask, .kind = SLUICE_ASK_BYTES, .payload = &extent, .n = sizeof extent
    };

    return emit->ask(emit, &ask);
}

static sluice_status scan(void *state, struct sluice_scan *scan, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    struct worker *worker = state;

    (void)err;
    if (scan->call == 0) {
        worker->at = scan->begin;
        worker->found = 0;
    }
    worker->want = WINDOW;
    return ask(worker, scan, emit);
}

/* Records that begin in the range, of those that are whole in the window. */
static sluice_status resume(void *state, const struct sluice_answers *answers,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_scan *scan = answers->scan;
    const char *data = answers->items->data;
    uint64_t n = answers->items->n;
    int last = worker->at + n == scan->file->bytes;
    uint64_t used = 0;

    if (!worker->found) {
        const char *mark = memmem(data, n, MARK, 8);
        used = mark != NULL ? (uint64_t)(mark - data) : last ? n : n < 7 ? 0 : n - 7;
        worker->found = mark != NULL;
    }
    while (worker->found && worker->at + used < scan->end && n - used >= HEAD) {
        const char *head = data + used;
        uint64_t begin = worker->at + used;
        uint64_t end;
        uint32_t size;
        uint32_t check;
        memcpy(&size, head + 8, 4);
        memcpy(&check, head + 12, 4);
        if (memcmp(head, MARK, 8) != 0 || size != ~check) {
            return sluice_fail(err, SLUICE_E_DATA, "", "found no record behind the one before");
        }
        if (n - used - HEAD < size) {
            if (last) {
                return sluice_fail(err, SLUICE_E_DATA, "", "the file ends inside a record");
            }
            worker->want = used == 0 ? HEAD + (uint64_t)size : WINDOW;
            break;
        }
        end = begin + HEAD + size;
        sluice_rows_add(&worker->rows, 0, head + HEAD, size);
        sluice_rows_add(&worker->rows, 1, &begin, sizeof begin);
        sluice_rows_add(&worker->rows, 2, &end, sizeof end);
        sluice_rows_next(&worker->rows);
        used += HEAD + size;
    }
    worker->at += used;
    if (used == 0 && !last && worker->at < scan->end) {
        return ask(worker, scan, emit); /* a record above the window */
    }
    scan->more = worker->at < scan->end && worker->at < scan->file->bytes;
    return sluice_rows_emit(&worker->rows, SLUICE_OK, emit, err);
}

static const struct sluice_stage read_marked = {
    .size = sizeof read_marked,
    .name = "read_marked",
    .version = "1.0",
    .summary = "Records behind markers",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    .cut = "sync",
    .prepare = prepare,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .resume = resume,
    .scan = scan,
};

static const struct sluice_stage *const stages[] = { &read_marked, NULL };
static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .abi_minor_needed = 1,
    .verdict_stride = sizeof(struct sluice_verdict),
    .name = "marked",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
};

SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
