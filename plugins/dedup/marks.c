/* See marks.h. */
#include "marks.h"

#include "dedup.h"

void marks_deinit(struct marks *marks)
{
    sluice_bytes_free(&marks->items);
    sluice_bytes_free(&marks->text);
}

sluice_status marks_take(struct marks *marks, const struct sluice_batch *batch,
                         enum marks_with with, struct sluice_error *err)
{
    const uint64_t *rows = batch->array->children[0]->buffers[1];
    const uint32_t *at = batch->array->children[1]->buffers[1];

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t n = marks->items.size / sizeof(struct mark);
        struct mark mark = { .row = rows[row], .at = at[row], .id = marks->text.size };
        const struct mark *items = (const struct mark *)(const void *)marks->items.data;
        const struct mark *last = n == 0 ? NULL : items + n - 1;
        size_t size = 0;
        if (last != NULL && last->row > mark.row) {
            return sluice_fail(err, SLUICE_E_INTERNAL, "",
                               "the list of marks is not sorted by row");
        }
        if (with == MARKS_WITH_SHARE) {
            mark.share = sluice_float64(batch->array->children[2], row);
        } else {
            const char *id = sluice_text(batch->array->children[2], row, &size);
            mark.id_size = (uint32_t)size;
            if (last != NULL && last->id_size == size &&
                (size == 0 || memcmp(marks->text.data + last->id, id, size) == 0)) {
                mark.id = last->id; /* neighbours mostly name one document */
            } else if (!sluice_bytes_add(&marks->text, id, size)) {
                return sluice_nomem(err);
            }
        }
        if (!sluice_bytes_add(&marks->items, &mark, sizeof mark)) {
            return sluice_nomem(err);
        }
    }
    return SLUICE_OK;
}

static int by_unit(const void *left, const void *right)
{
    const struct mark *a = left;
    const struct mark *b = right;

    return a->at < b->at ? -1 : a->at > b->at;
}

const struct mark *marks_of(struct marks *marks, uint64_t row, size_t *n)
{
    struct mark *items = (struct mark *)(void *)marks->items.data;
    uint64_t count = marks->items.size / sizeof(struct mark);
    uint64_t begin;

    while (marks->next < count && items[marks->next].row < row) {
        marks->next++;
    }
    begin = marks->next;
    while (marks->next < count && items[marks->next].row == row) {
        marks->next++;
    }
    *n = (size_t)(marks->next - begin);
    if (*n > 1) {
        qsort(items + begin, *n, sizeof *items, by_unit);
    }
    return *n == 0 ? NULL : items + begin;
}

sluice_status marks_save(struct marks *marks, struct sluice_io *io)
{
    const struct sluice_state_list lists[] = { { &marks->items, sizeof(struct mark) },
                                               { &marks->text, 1 } };
    sluice_status status = io->write(io, &marks->next, sizeof marks->next);

    return status == SLUICE_OK ? sluice_state_put_lists(io, lists, 2) : status;
}

sluice_status marks_load(struct marks *marks, struct sluice_io *io)
{
    const struct sluice_state_list lists[] = { { &marks->items, sizeof(struct mark) },
                                               { &marks->text, 1 } };
    sluice_status status = io->read(io, &marks->next, sizeof marks->next);
    const struct mark *items;
    uint64_t n;

    if (status == SLUICE_OK) {
        status = sluice_state_get_lists(io, lists, 2);
    }
    items = (const struct mark *)(const void *)marks->items.data;
    n = marks->items.size / sizeof *items;
    for (uint64_t k = 0; status == SLUICE_OK && k < n; k++) {
        if (items[k].id > marks->text.size || items[k].id_size > marks->text.size - items[k].id ||
            items[k].id_size > INT32_MAX || (k > 0 && items[k].row < items[k - 1].row)) {
            return SLUICE_E_DATA;
        }
    }
    return status == SLUICE_OK && marks->next > n ? SLUICE_E_DATA : status;
}
