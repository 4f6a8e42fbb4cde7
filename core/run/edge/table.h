/* Small tables that a task writes beside its data: where rows came from, what was dropped, what is
 * quarantined, which rows stand in which shard. Rows are appended column by column through builders
 * and flow into an edge file. Depends on run/edge. */
#ifndef SLUICE_RUN_TABLE_H
#define SLUICE_RUN_TABLE_H

#include "data/builder.h"
#include "run/edge/edge.h"
#include "store/pending.h"

/* A file of frames in the making: an edge writer in front of a pending file. */
struct port;
sluice_status port_open(const char *dir, const struct edge_spec *, const char *scratch_dir,
                        uint64_t memory, struct port **out, struct sluice_error *) MUST_USE;
sluice_status port_add(struct port *, const struct batch *, const int32_t *slots,
                       struct sluice_error *) MUST_USE;
/* Saves all that was added; restores it in a port of the same spec that was just opened. */
sluice_status port_save(struct port *, struct saved *, struct sluice_error *) MUST_USE;
sluice_status port_restore(struct port *, struct restored *, struct sluice_error *) MUST_USE;
/* Ends the writer: gives the directory and the rows; the pending file is ready to publish. */
sluice_status port_finish(struct port *, struct edge_directory *, uint64_t *rows,
                          struct sluice_error *) MUST_USE;
/* Publishes under name; flags: enum pending_flags. */
/* The hash of the whole file, behind its end. */
sluice_status port_seal(struct port *, struct hash128 *, struct sluice_error *) MUST_USE;
sluice_status port_publish(struct port *, const char *name, unsigned flags, struct published *,
                           struct sluice_error *) MUST_USE;
void port_destroy(struct port *); /* abandons what was not published; NULL is fine */

/* The tables of a task, and their columns in order. */
enum task_table { TABLE_ORIGIN, TABLE_DROPS, TABLE_BAD, TABLE_TRACE, TABLE_SPANS, TASK_TABLES };
enum origin_column { ORIGIN_ROW, ORIGIN_FILE, ORIGIN_BEGIN, ORIGIN_END, ORIGIN_ID };
enum drops_column {
    DROPS_ROW,
    DROPS_STAGE,
    DROPS_REASON,
    DROPS_VALUE,
    DROPS_LIMIT,
    DROPS_DUP_OF,
    DROPS_SIMILARITY
};
enum bad_column {
    BAD_STAGE,
    BAD_REASON,
    BAD_DETAIL,
    BAD_FILE,
    BAD_BEGIN,
    BAD_END,
    BAD_ROW,
    BAD_RAW
};
/* Of trace and spans; the list is one of source rows, or of spans, then as long as that of rows. */
enum trace_column { TRACE_WRITER, TRACE_SHARD, TRACE_ROW, TRACE_LIST };

const char *table_name(enum task_table); /* "origin" … */
sluice_status table_schema(enum task_table, struct schema *out, struct sluice_error *) MUST_USE;

struct table;
sluice_status table_open(const char *dir, enum task_table, const char *scratch_dir,
                         struct table **out, struct sluice_error *) MUST_USE;
struct builder *table_column(struct table *, uint32_t k);
/* Ends the row: every column has one more value. ok = all builder calls succeeded. */
sluice_status table_row(struct table *, bool ok, struct sluice_error *) MUST_USE;
sluice_status table_save(struct table *, struct saved *, struct sluice_error *) MUST_USE;
sluice_status table_restore(struct table *, struct restored *, struct sluice_error *) MUST_USE;
struct port *table_finish(struct table *,
                          struct sluice_error *); /* flushes; borrowed port; NULL on error */
void table_destroy(struct table *);

#endif
