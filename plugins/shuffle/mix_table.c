/* mix_rows: what a mixture took of each source, in the order of their names. */
#include <sluice_state.h>

#include "mix.h"

#define TABLE_COLUMNS 7

static const struct mix_column table_columns[TABLE_COLUMNS] = {
    { "source", "utf8", true },     { "documents", "uint64", false },
    { "size", "uint64", false },    { "target", "uint64", false },
    { "taken", "uint64", false },   { "taken_documents", "uint64", false },
    { "epochs", "float64", false },
};

struct entry {
    char *source;
    uint64_t words[5]; /* documents, size, target, taken, taken_documents */
    double epochs;
};

struct worker {
    struct sluice_bytes entries; /* struct entry */
};

static sluice_status table_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < TABLE_COLUMNS; i++) {
        status = plan->need(plan, 0, table_columns[i].name, table_columns[i].type, 0, NULL, err);
    }
    return status == SLUICE_OK ? mix_declare(plan, table_columns, TABLE_COLUMNS, err) : status;
}

static sluice_status table_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    return sluice_worker_new(NULL, sizeof(struct worker), out, err);
}

static struct entry *entries_of(const struct worker *worker, size_t *n)
{
    *n = (size_t)(worker->entries.size / sizeof(struct entry));
    return (struct entry *)(void *)worker->entries.data;
}

static void table_worker_close(void *state)
{
    struct worker *worker = state;
    size_t n;
    struct entry *entries = entries_of(worker, &n);

    for (size_t k = 0; k < n; k++) {
        free(entries[k].source);
    }
    sluice_bytes_free(&worker->entries);
    free(worker);
}

static sluice_status table_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;

    (void)emit;
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct entry entry = { .epochs = sluice_float64(columns[6], row) };
        size_t n;
        const char *source = sluice_text(columns[0], row, &n);
        for (int i = 0; i < 5; i++) {
            entry.words[i] = sluice_uint64(columns[1 + i], row);
        }
        entry.source = malloc(n + 1);
        if (entry.source == NULL) {
            return shuffle_nomem(err);
        }
        memcpy(entry.source, source, n);
        entry.source[n] = '\0';
        if (!sluice_bytes_add(&worker->entries, &entry, sizeof entry)) {
            free(entry.source);
            return shuffle_nomem(err);
        }
    }
    return SLUICE_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->source, ((const struct entry *)b)->source);
}

static sluice_status table_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct mix_rows rows = { 0 };
    size_t n;
    struct entry *entries = entries_of(state, &n);
    int ok = 1;

    if (n > 0) {
        qsort(entries, n, sizeof *entries, compare);
    }
    for (size_t k = 0; ok && k < n; k++) {
        ok = mix_rows_text(&rows, 0, entries[k].source, strlen(entries[k].source));
        for (int i = 0; ok && i < 5; i++) {
            ok = mix_rows_fixed(&rows, 1 + i, &entries[k].words[i], sizeof entries[k].words[i]);
        }
        ok = ok && mix_rows_fixed(&rows, 6, &entries[k].epochs, sizeof entries[k].epochs);
        rows.n++;
    }
    return mix_rows_emit(&rows, ok, table_columns, TABLE_COLUMNS, emit, err);
}

static sluice_status table_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    size_t n;
    const struct entry *entries = entries_of(state, &n);
    const uint64_t count = n;
    sluice_status status = io->write(io, &count, sizeof count);

    (void)err;
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        status = io->write(io, entries[k].words, sizeof entries[k].words);
        if (status == SLUICE_OK) {
            status = io->write(io, &entries[k].epochs, sizeof entries[k].epochs);
        }
        if (status == SLUICE_OK) {
            status = sluice_state_put(io, entries[k].source, strlen(entries[k].source));
        }
    }
    return status;
}

static sluice_status table_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t n = 0;
    sluice_status status = io->read(io, &n, sizeof n);

    (void)version;
    for (uint64_t k = 0; status == SLUICE_OK && k < n; k++) {
        struct entry entry = { 0 };
        status = io->read(io, entry.words, sizeof entry.words);
        if (status == SLUICE_OK) {
            status = io->read(io, &entry.epochs, sizeof entry.epochs);
        }
        if (status == SLUICE_OK) {
            status = mix_name_load(io, &entry.source);
        }
        if (status == SLUICE_OK && !sluice_bytes_add(&worker->entries, &entry, sizeof entry)) {
            free(entry.source);
            status = shuffle_nomem(err);
        }
    }
    return status;
}

const struct sluice_stage mix_rows_stage = {
    .size = sizeof mix_rows_stage,
    .name = "mix_rows",
    .version = "1.0",
    .summary = "What a mixture took of each source (part of `mix_table`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .prepare = table_prepare,
    .worker_open = table_worker_open,
    .process = table_process,
    .save = table_save,
    .load = table_load,
    .state_version = 1,
    .flush = table_flush,
    .worker_close = table_worker_close,
};
