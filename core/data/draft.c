/* Batches in the making: see draft.h. */
#include "data/draft.h"

#include <stdlib.h>

void draft_init(struct draft *draft, uint32_t n)
{
    draft->n = n;
    draft->columns = calloc(n + 1u, sizeof(struct column *));
    draft->status = draft->columns == NULL ? SLUICE_E_NOMEM : SLUICE_OK;
}

bool draft_ok(const struct draft *draft)
{
    return draft->status == SLUICE_OK;
}

void draft_put(struct draft *draft, uint32_t k, struct column *column)
{
    if (column == NULL && draft_ok(draft)) {
        draft->status = SLUICE_E_NOMEM;
    }
    if (!draft_ok(draft)) {
        column_unref(column);
        return;
    }
    column_unref(draft->columns[k]);
    draft->columns[k] = column;
}

void draft_share(struct draft *draft, uint32_t k, struct column *column)
{
    draft_put(draft, k, column_ref(column));
}

void draft_move(struct draft *draft, uint32_t k, struct ArrowArray *array)
{
    draft_put(draft, k, column_create(array));
}

void draft_place(struct draft *draft, uint32_t k, sluice_status status, struct column **column)
{
    if (status == SLUICE_OK) {
        draft_put(draft, k, *column);
    } else if (draft_ok(draft)) {
        draft->status = status;
    }
}

static void drop(struct draft *draft)
{
    for (uint32_t k = 0; draft->columns != NULL && k < draft->n; k++) {
        column_unref(draft->columns[k]);
    }
    free(draft->columns);
    draft->columns = NULL;
}

sluice_status draft_end(struct draft *draft, int64_t length, struct batch **out,
                        struct sluice_error *err)
{
    sluice_status status = draft->status;

    *out = NULL;
    if (status == SLUICE_OK) {
        *out = batch_create(length, draft->n, draft->columns); /* takes the columns */
        draft->n = 0;
        status = *out == NULL ? SLUICE_E_NOMEM : SLUICE_OK;
    }
    drop(draft);
    return status == SLUICE_E_NOMEM ? error_nomem(err, "a batch") : error_known(status);
}

sluice_status draft_end_like(struct draft *draft, const struct batch *like, struct batch **out,
                             struct sluice_error *err)
{
    struct batch *all;

    TRY(draft_end(draft, like->length, &all, err));
    *out = like->rows == NULL ? batch_ref(all) : batch_select(all, like->rows, like->n_rows);
    batch_unref(all);
    return *out == NULL ? error_nomem(err, "a selection") : SLUICE_OK;
}
