/* Private to sluice diff: what cmd_diff.c and diff_rows.c share. */
#ifndef SLUICE_CMD_DIFFINT_H
#define SLUICE_CMD_DIFFINT_H

#include "cmd/dataset/dataset.h"

struct diff_side {
    char *dir;
    struct snapshot *snapshot;
};

/* Rows by their key: {key, same, changed, added, removed, repeated, examples: {changed, added,
 * removed: [key]}}, and of their texts {column, a, b: {rows, bytes, p10, p50, p90, p99, most}}. */
sluice_status diff_rows(const struct diff_side *a, const struct diff_side *b, const char *key,
                        const char *column, json_t **rows, json_t **lengths,
                        struct sluice_error *) MUST_USE;

#endif
