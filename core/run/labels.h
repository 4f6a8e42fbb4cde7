/* How a task's commit record calls what the task left beside shards: its edges, tables and gate
 * states. Part of the record's format: what is written today is looked for by these names for
 * ever. */
#ifndef SLUICE_RUN_LABELS_H
#define SLUICE_RUN_LABELS_H

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "run/edge/table.h"

struct label {
    char text[1500];
};

#define LABEL_EDGES "edge " /* what all labels of edges begin with */

static inline struct label label_edge(uint32_t store_op)
{
    struct label label;
    snprintf(label.text, sizeof label.text, LABEL_EDGES "%u", store_op);
    return label;
}

static inline struct label label_table(enum task_table table)
{
    struct label label;
    snprintf(label.text, sizeof label.text, "table %s", table_name(table));
    return label;
}

static inline struct label label_gate(const struct op *op)
{
    struct label label;
    snprintf(label.text, sizeof label.text, "gate %.500s", op->name);
    return label;
}

#define LABEL_SHARDS "shard " /* before the writer's name */
#define LABEL_FOLDER '\t'     /* behind it, before the folder of a partition */

static inline struct label label_shards(const struct op *writer, const char *folder)
{
    struct label label;
    snprintf(label.text, sizeof label.text, LABEL_SHARDS "%.500s%s%.900s", writer->name,
             folder[0] == '\0' ? "" : (const char[]){ LABEL_FOLDER, '\0' }, folder);
    return label;
}

/* Does a label name shards, and those of this writer? NULL: of any. */
static inline bool label_is_shards(const char *label, const char *writer)
{
    const size_t n = strlen(LABEL_SHARDS);
    const size_t m = writer == NULL ? 0 : strlen(writer);

    return strncmp(label, LABEL_SHARDS, n) == 0 &&
           (writer == NULL || (strncmp(label + n, writer, m) == 0 &&
                               (label[n + m] == '\0' || label[n + m] == LABEL_FOLDER)));
}

/* The folder of a partition that a label of shards names; "" = none. */
static inline const char *label_folder(const char *label)
{
    const char *tab = strchr(label, LABEL_FOLDER);

    return tab == NULL ? "" : tab + 1;
}

#endif
