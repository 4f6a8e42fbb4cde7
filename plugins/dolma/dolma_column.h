/* dolma_column.h - the column of attributes to which a stage adds its own.
 *
 * Owns what the stage declares of it while it prepares, and the column's rows while a batch is
 * made. Depends on dolma_out.h, dolma_names.h. Where the input has the column already its members
 * stay in front, and no attribute stands in it twice. A struct of zeros is empty. */
#ifndef DOLMA_COLUMN_H
#define DOLMA_COLUMN_H

#include "dolma_out.h"

/* Read-only once prepared. */
struct dolma_column {
    const char *name; /* option `as`, borrowed */
    int32_t at;       /* its place among the columns that the stage needs; -1: the input has none */
    bool declared;    /* all that a row may have in it is known */
    /* what it has been declared with, borrowed during prepare; NULL: nothing */
    const char *present;
    struct sluice_bytes names; /* "attributes=a|b", during prepare */
};

/* Needs the column, if the input has it. SLUICE_E_NOMEM, or what the host answers. */
sluice_status dolma_column_need(struct dolma_column *column, struct sluice_plan *plan,
                                const char *name, struct sluice_error *err);

/* Declares the attribute named prefix and n bytes of type. SLUICE_E_CONFIG for `option` if the
 * column has it already. */
sluice_status dolma_column_declare(struct dolma_column *column, const char *prefix,
                                   const char *type, size_t n, const char *option,
                                   struct sluice_error *err);

/* Adds the column if status is SLUICE_OK, and frees what prepare needed. Gives status, or what went
 * wrong. */
sluice_status dolma_column_add(struct dolma_column *column, struct sluice_plan *plan,
                               sluice_status status, struct sluice_error *err);

/* Writes the attributes of one row into `out`, which has the members that were there. */
typedef sluice_status dolma_make_row(void *ctx, const struct sluice_batch *batch, int64_t row,
                                     struct dolma_out *out, struct sluice_error *err);

/* Emits the column of what `make` gives for each selected row. A failure says which row it was. */
sluice_status dolma_column_emit(const struct dolma_column *column, const struct sluice_batch *batch,
                                struct sluice_emit *emit, dolma_make_row *make, void *ctx,
                                struct dolma_out *out, struct sluice_error *err);

/* Rows of such a column while they are made. A struct of zeros is empty. */
struct dolma_rows {
    struct sluice_bytes offsets, data;
};

/* Emits n rows if status is SLUICE_OK, and frees them. Gives status, or what went wrong. */
sluice_status dolma_rows_emit(struct dolma_rows *rows, int64_t n, sluice_status status,
                              struct sluice_emit *emit, struct sluice_error *err);

/* Out of memory, in the words of these stages. */
sluice_status dolma_nomem(struct sluice_error *err);

#endif
