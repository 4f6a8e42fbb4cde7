/* What the stages of this plugin share: a text column that is replaced, row by row. */
#ifndef CLEAN_H
#define CLEAN_H

#include <sluice_arrays.h>

/* Appends the new text of a row to *out. */
typedef sluice_status (*clean_edit_fn)(void *worker, const char *text, size_t n,
                                       struct sluice_bytes *out, struct sluice_error *err);

/* Edits every selected row and emits the new column; nulls become "". */
sluice_status clean_process(void *worker, clean_edit_fn edit, const struct sluice_batch *batch,
                            struct sluice_emit *emit, struct sluice_error *err);
/* Needs `over` and replaces it. */
sluice_status clean_prepare(const char *over, struct sluice_plan *plan, struct sluice_error *err);

extern const struct sluice_stage clean_pii_stage, clean_pii_datatrove_stage,
    clean_symbol_lines_stage;

#endif
