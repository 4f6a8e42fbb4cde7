/* Small tables that a task writes beside its data: see table.h. */
#include "run/table.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_FLUSH_ROWS 8192

const char *const table_origin[5][2] = { { "row", "uint64" },
                                         { "file", "uint32" },
                                         { "begin", "uint64" },
                                         { "end", "uint64" },
                                         { "id", "utf8?" } };
const char *const table_drops[7][2] = { { "row", "uint64" },         { "stage", "utf8" },
                                        { "reason", "utf8" },        { "value", "float64?" },
                                        { "limit", "float64?" },     { "dup_of", "utf8?" },
                                        { "similarity", "float64?" } };
const char *const table_bad[8][2] = { { "stage", "utf8" },    { "reason", "utf8" },
                                      { "detail", "utf8" },   { "file", "uint32?" },
                                      { "begin", "uint64?" }, { "end", "uint64?" },
                                      { "row", "uint64?" },   { "raw", "binary?" } };
const char *const table_trace[4][2] = {
    { "writer", "utf8" }, { "shard", "uint32" }, { "row", "uint64" }, { "origin", "list<uint64>" }
};
const char *const table_spans[4][2] = {
    { "writer", "utf8" }, { "shard", "uint32" }, { "row", "uint64" }, { "span", "list<uint64>" }
};

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

sluice_status port_publish(struct port *port, const char *name, struct published *published,
                           struct sluice_error *err)
{
    struct pending *pending = port->pending;

    port->pending = NULL;
    return pending_publish(pending, name, false, published, err);
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

sluice_status table_open(const char *dir, const char *const (*columns)[2], uint32_t n,
                         const char *scratch_dir, struct table **out, struct sluice_error *err)
{
    struct table *table = calloc(1, sizeof *table);
    struct edge_spec spec = { EDGE_SINGLE, 1, NULL };
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (table == NULL) {
        return error_nomem(err, "a table");
    }
    schema_init(&table->schema);
    table->builders = calloc(n, sizeof(struct builder *));
    table->slots = calloc(n, sizeof *table->slots);
    if (table->builders == NULL || table->slots == NULL) {
        status = error_nomem(err, "a table");
    }
    for (uint32_t k = 0; k < n && status == SLUICE_OK; k++) {
        status = schema_add_text(&table->schema, columns[k][0], columns[k][1], NULL, err);
        if (status == SLUICE_OK) {
            table->slots[k] = (int32_t)k;
            status = builder_create(table->schema.fields[k].type, &table->builders[k], err);
        }
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
    struct column *columns[16];
    struct batch *batch;
    sluice_status status;

    if (table->rows == 0) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < table->schema.n; k++) {
        struct ArrowArray array;
        status = builder_finish(table->builders[k], &array, err);
        columns[k] = status == SLUICE_OK ? column_create(&array) : NULL;
        if (columns[k] == NULL) {
            while (k-- > 0) {
                column_unref(columns[k]);
            }
            return status == SLUICE_OK ? error_nomem(err, "a table") : status;
        }
    }
    batch = batch_create(table->rows, table->schema.n, columns);
    if (batch == NULL) {
        return error_nomem(err, "a table");
    }
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

struct port *table_finish(struct table *table, struct sluice_error *err)
{
    return table_flush(table, err) == SLUICE_OK ? table->port : NULL;
}
