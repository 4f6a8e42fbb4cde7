/* report.h - a table of statistics as JSON and as a page for people. Depends on table.h. Promises:
 * bytes that the table alone decides. */
#ifndef STATS_REPORT_H
#define STATS_REPORT_H

#include "table.h"

/* Where text goes: data is given on and emptied from time to time. */
struct report_out {
    struct sluice_emit *emit;
    uint32_t output; /* a writer's kind of file */
    struct sluice_bytes data;
    sluice_status status; /* of the first failure */
};

/* {group: {statistic: {key: {total, n, mean, variance, std_dev, min, max, unit}}}} */
void report_json(struct report_out *out, const struct table *table);

/* Markdown. rows: groups of a kind at most. */
void report_markdown(struct report_out *out, const struct table *table, int64_t rows);

/* Gives the rest on; the status of it all. */
sluice_status report_end(struct report_out *out, struct sluice_error *err);

#endif
