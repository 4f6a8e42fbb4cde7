/* Columns in the making: what a stage of this plugin emits, row by row.
 *
 * Owns the buffers of up to MINHASH_COLUMNS columns until they are emitted or dropped. Depends on
 * sluice_arrays.h. Promises: adding reports lack of memory once, at the emission, so that callers
 * need not look at every addition. */
#ifndef MINHASH_COLUMNS_H
#define MINHASH_COLUMNS_H

#include <sluice_arrays.h>
#include <stdint.h>

#define MINHASH_COLUMNS 8

struct minhash_columns {
    struct sluice_bytes data[MINHASH_COLUMNS];
    struct sluice_bytes offsets[MINHASH_COLUMNS];
    const char *kinds; /* a letter a column: 'f' of a fixed width, 't' text or binary */
    int failed;        /* an addition found no memory, or more than 2 GiB of text */
};

/* kinds is borrowed until the columns are emitted or dropped. */
static inline struct minhash_columns minhash_columns_begin(const char *kinds)
{
    struct minhash_columns columns = { 0 };
    columns.kinds = kinds;
    return columns;
}

/* Appends the value of the next row to column k. */
static inline void minhash_column_add(struct minhash_columns *columns, int k, const void *value,
                                      size_t n)
{
    int ok = columns->kinds[k] == 't'
                 ? sluice_bytes_add_text(&columns->offsets[k], &columns->data[k], value, n)
                 : sluice_bytes_add(&columns->data[k], value, n);
    columns->failed |= !ok;
}

/* Frees what was not emitted. */
void minhash_columns_drop(struct minhash_columns *columns);

/* Emits n rows, unless n is 0 and an empty batch is not wanted; the columns are empty afterwards,
 * on errors too. */
sluice_status minhash_columns_emit(struct minhash_columns *columns, int64_t n, int empty,
                                   struct sluice_emit *emit, struct sluice_error *err);

#endif
