/* Small tables that a task writes beside its data: see table.h. */
#include "run/edge/table.h"

#include <stdlib.h>
#include <string.h>

#include "data/draft.h"
#include "store/saved.h"

#define TABLE_FLUSH_ROWS 8192

static const struct kind {
    const char *name;
    struct {
        const char *name, *type;
    } columns[BAD_RAW + 1]; /* the most that one has */
} kinds[TASK_TABLES] = {
    [TABLE_ORIGIN] = { "origin",
                       { [ORIGIN_ROW] = { "row", "uint64" },
                         [ORIGIN_FILE] = { "file", "uint32" },
                         [ORIGIN_BEGIN] = { "begin", "uint64" },
                         [ORIGIN_END] = { "end", "uint64" },
                         [ORIGIN_ID] = { "id", "utf8?" } } },
    [TABLE_DROPS] = { "drops",
                      { [DROPS_ROW] = { "row", "uint64" },
                        [DROPS_STAGE] = { "stage", "utf8" },
                        [DROPS_REASON] = { "reason", "utf8" },
                        [DROPS_VALUE] = { "value", "float64?" },
                        [DROPS_LIMIT] = { "limit", "float64?" },
                        [DROPS_DUP_OF] = { "dup_of", "utf8?" },
                        [DROPS_SIMILARITY] = { "similarity", "float64?" } } },
    [TABLE_BAD] = { "bad",
                    { [BAD_STAGE] = { "stage", "utf8" },
                      [BAD_REASON] = { "reason", "utf8" },
                      [BAD_DETAIL] = { "detail", "utf8" },
                      [BAD_FILE] = { "file", "uint32?" },
                      [BAD_BEGIN] = { "begin", "uint64?" },
                      [BAD_END] = { "end", "uint64?" },
                      [BAD_ROW] = { "row", "uint64?" },
                      [BAD_RAW] = { "raw", "binary?" } } },
    [TABLE_TRACE] = { "trace",
                      { [TRACE_WRITER] = { "writer", "utf8" },
                        [TRACE_SHARD] = { "shard", "uint32" },
                        [TRACE_ROW] = { "row", "uint64" },
                        [TRACE_LIST] = { "origin", "list<uint64>" } } },
    [TABLE_SPANS] = { "spans",
                      { [TRACE_WRITER] = { "writer", "utf8" },
                        [TRACE_SHARD] = { "shard", "uint32" },
                        [TRACE_ROW] = { "row", "uint64" },
                        [TRACE_LIST] = { "span", "list<uint64>" } } },
};

const char *table_name(enum task_table which)
{
    return kinds[which].name;
}

sluice_status table_schema(enum task_table which, struct schema *out, struct sluice_error *err)
{
    const struct kind *kind = &kinds[which];

    schema_init(out);
    for (size_t k = 0;
         k < sizeof kind->columns / sizeof kind->columns[0] && kind->columns[k].name != NULL; k++) {
        TRY(schema_add_text(out, kind->columns[k].name, kind->columns[k].type, NULL, err));
    }
    return SLUICE_OK;
}

struct port {
    struct pending *pending;
    struct edge_writer *writer;
    uint64_t rows;
};

static sluice_status port_write(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct port *port = ctx;
    return pending_write(port->pending, data, n, err);
}

sluice_status port_open(const char *dir, const struct edge_spec *spec, const char *scratch_dir,
                        uint64_t memory, struct port **out, struct sluice_error *err)
{
    struct port *port = calloc(1, sizeof *port);
    struct edge_sink sink = { port, port_write };
    sluice_status status;

    *out = NULL;
    if (port == NULL) {
        return error_nomem(err, "an edge file");
    }
    status = pending_open(dir, &port->pending, err);
    if (status == SLUICE_OK) {
        status = edge_writer_open(spec, sink, scratch_dir, memory, &port->writer, err);
    }
    if (status != SLUICE_OK) {
        port_destroy(port);
        return status;
    }
    *out = port;
    return SLUICE_OK;
}

sluice_status port_add(struct port *port, const struct batch *batch, const int32_t *slots,
                       struct sluice_error *err)
{
    port->rows += (uint64_t)batch->n_rows;
    return edge_writer_add(port->writer, batch, slots, err);
}

sluice_status port_finish(struct port *port, struct edge_directory *directory, uint64_t *rows,
                          struct sluice_error *err)
{
    sluice_status status = edge_writer_finish(port->writer, directory, err);
    uint64_t total = 0;

    for (uint32_t k = 0; status == SLUICE_OK && k < directory->n_partitions; k++) {
        total += directory->slices[k].rows;
    }
    if (status == SLUICE_OK && total != port->rows) {
        status =
            error_set(err, SLUICE_E_INTERNAL, "an edge file holds %llu rows, %llu were given to it",
                      (unsigned long long)total, (unsigned long long)port->rows);
    }
    *rows = port->rows;
    return status;
}

static sluice_status put_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    saved_put_raw(ctx, data, n);
    return saved_status(ctx, err);
}

sluice_status port_save(struct port *port, struct saved *out, struct sluice_error *err)
{
    saved_put(out, port->rows);
    TRY(edge_writer_save(port->writer, out, err));
    return pending_pieces(port->pending, put_piece, out, err);
}

sluice_status port_restore(struct port *port, struct restored *in, struct sluice_error *err)
{
    port->rows = restored_get(in, UINT64_MAX);
    TRY(edge_writer_restore(port->writer, in, err));
    return edge_writer_refill(port->writer, in, err);
}

sluice_status port_seal(struct port *port, struct hash128 *hash, struct sluice_error *err)
{
    return pending_seal(port->pending, hash, err);
}

sluice_status port_publish(struct port *port, const char *name, unsigned flags,
                           struct published *published, struct sluice_error *err)
{
    struct pending *pending = port->pending;

    port->pending = NULL;
    return pending_publish(pending, name, flags, published, err);
}

void port_destroy(struct port *port)
{
    if (port != NULL) {
        edge_writer_destroy(port->writer);
        pending_abort(port->pending);
        free(port);
    }
}

struct table {
    struct schema schema;
    struct port *port;
    struct builder **builders;
    int32_t *slots;
    int64_t rows;
};

void table_destroy(struct table *table)
{
    if (table == NULL) {
        return;
    }
    for (uint32_t k = 0; table->builders != NULL && k < table->schema.n; k++) {
        builder_destroy(table->builders[k]);
    }
    free(table->builders);
    free(table->slots);
    port_destroy(table->port);
    schema_deinit(&table->schema);
    free(table);
}

sluice_status table_open(const char *dir, enum task_table which, const char *scratch_dir,
                         struct table **out, struct sluice_error *err)
{
    struct table *table = calloc(1, sizeof *table);
    struct edge_spec spec = { EDGE_SINGLE, 1, NULL };
    uint32_t n;
    sluice_status status;

    *out = NULL;
    if (table == NULL) {
        return error_nomem(err, "a table");
    }
    status = table_schema(which, &table->schema, err);
    n = table->schema.n;
    table->builders = calloc(n + 1u, sizeof(struct builder *));
    table->slots = calloc(n + 1u, sizeof *table->slots);
    if (status == SLUICE_OK && (table->builders == NULL || table->slots == NULL)) {
        status = error_nomem(err, "a table");
    }
    for (uint32_t k = 0; k < n && status == SLUICE_OK; k++) {
        table->slots[k] = (int32_t)k;
        status = builder_create(table->schema.fields[k].type, &table->builders[k], err);
    }
    if (status == SLUICE_OK) {
        spec.schema = &table->schema;
        status = port_open(dir, &spec, scratch_dir, 4u << 20, &table->port, err);
    }
    if (status != SLUICE_OK) {
        table_destroy(table);
        return status;
    }
    *out = table;
    return SLUICE_OK;
}

struct builder *table_column(struct table *table, uint32_t k)
{
    return table->builders[k];
}

static sluice_status table_flush(struct table *table, struct sluice_error *err)
{
    struct draft draft;
    struct batch *batch;
    sluice_status status;

    if (table->rows == 0) {
        return SLUICE_OK;
    }
    draft_init(&draft, table->schema.n);
    for (uint32_t k = 0; draft_ok(&draft) && k < table->schema.n; k++) {
        struct column *column = NULL;
        draft_place(&draft, k, builder_column(table->builders[k], &column, err), &column);
    }
    TRY(draft_end(&draft, table->rows, &batch, err));
    status = port_add(table->port, batch, table->slots, err);
    batch_unref(batch);
    table->rows = 0;
    return status;
}

sluice_status table_row(struct table *table, bool ok, struct sluice_error *err)
{
    if (!ok) {
        return error_nomem(err, "a table");
    }
    table->rows++;
    return table->rows >= TABLE_FLUSH_ROWS ? table_flush(table, err) : SLUICE_OK;
}

sluice_status table_save(struct table *table, struct saved *out, struct sluice_error *err)
{
    TRY(table_flush(table, err)); /* frames end by rows, not by what is added at once */
    return port_save(table->port, out, err);
}

sluice_status table_restore(struct table *table, struct restored *in, struct sluice_error *err)
{
    return port_restore(table->port, in, err);
}

struct port *table_finish(struct table *table, struct sluice_error *err)
{
    return table_flush(table, err) == SLUICE_OK ? table->port : NULL;
}
