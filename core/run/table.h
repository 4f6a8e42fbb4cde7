/* Small tables that a task writes beside its data: where rows came from, what was dropped, what is quarantined, which rows stand in
 * which shard. Rows are appended column by column through builders and flow into an edge file. Depends on run/edge. */
#ifndef SLUICE_RUN_TABLE_H
#define SLUICE_RUN_TABLE_H

#include "data/builder.h"
#include "run/edge.h"
#include "store/pending.h"

/* A file of frames in the making: an edge writer in front of a pending file. */
struct port;
sluice_status port_open(const char *dir, const struct edge_spec *, const char *scratch_dir,
                        uint64_t memory, struct port **out, struct sluice_error *) MUST_USE;
sluice_status port_add(struct port *, const struct batch *, const int32_t *slots,
                       struct sluice_error *) MUST_USE;
/* Ends the writer: gives the directory and the rows; the pending file is ready to publish. */
sluice_status port_finish(struct port *, struct edge_directory *, uint64_t *rows,
                          struct sluice_error *) MUST_USE;
/* Publishes under name. */
sluice_status port_publish(struct port *, const char *name, struct published *,
                           struct sluice_error *) MUST_USE;
void port_destroy(struct port *); /* abandons what was not published; NULL is fine */

struct table;
/* columns: "row:uint64, stage:utf8" */
sluice_status table_open(const char *dir, const char *const (*columns)[2], uint32_t n,
                         const char *scratch_dir, struct table **out,
                         struct sluice_error *) MUST_USE;
struct builder *table_column(struct table *, uint32_t k);
/* Ends the row: every column has one more value. ok = all builder calls succeeded. */
sluice_status table_row(struct table *, bool ok, struct sluice_error *) MUST_USE;
struct port *table_finish(struct table *,
                          struct sluice_error *); /* flushes; borrowed port; NULL on error */
void table_destroy(struct table *);

/* The tables of a task. */
extern const char *const table_origin[5][2]; /* row file begin end id */
extern const char *const table_drops[7][2];  /* row stage reason value limit dup_of similarity */
extern const char *const table_bad[8][2];    /* stage reason detail file begin end row raw */
extern const char *const table_trace[4][2];  /* writer shard row origin(list) */
extern const char *const table_spans[4][2];  /* writer shard row span(list), as long as origin */

#endif
