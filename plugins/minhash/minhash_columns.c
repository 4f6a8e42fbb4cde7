/* Columns in the making; see minhash_columns.h. */
#include "minhash_columns.h"

#include "minhash_stages.h"

void minhash_columns_drop(struct minhash_columns *columns)
{
    for (int k = 0; k < MINHASH_COLUMNS; k++) {
        sluice_bytes_free(&columns->data[k]);
        sluice_bytes_free(&columns->offsets[k]);
    }
}

sluice_status minhash_columns_emit(struct minhash_columns *columns, int64_t n, int empty,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray arrays[MINHASH_COLUMNS];
    struct ArrowArray out;
    int count = (int)strlen(columns->kinds);
    int made = 0;
    int ok = !columns->failed;

    if (ok && n == 0 && !empty) {
        minhash_columns_drop(columns);
        return SLUICE_OK;
    }
    for (; ok && made < count; made++) {
        ok = columns->kinds[made] == 't'
                 ? sluice_make_text(&arrays[made], n, &columns->offsets[made], &columns->data[made],
                                    NULL, 0) == SLUICE_OK
                 : sluice_make_fixed(&arrays[made], n, &columns->data[made], NULL, 0) == SLUICE_OK;
        if (!ok) {
            break;
        }
    }
    ok = ok && sluice_make_struct(&out, n, count, arrays) == SLUICE_OK;
    if (ok) {
        minhash_columns_drop(columns);
        return emit->batch(emit, &out);
    }
    for (int k = 0; k < made; k++) {
        if (arrays[k].release != NULL) {
            arrays[k].release(&arrays[k]);
        }
    }
    minhash_columns_drop(columns);
    return minhash_nomem(err);
}
