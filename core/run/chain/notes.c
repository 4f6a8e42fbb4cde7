/* What a task notes about rows: see notes.h. */
#include "run/chain/notes.h"

#include <stdlib.h>
#include <string.h>

void notes_deinit(struct notes *notes)
{
    free(notes->items);
    buf_deinit(&notes->texts);
    memset(notes, 0, sizeof *notes);
}

sluice_status notes_add(struct notes *notes, const struct note *note, const char *text, size_t n,
                        const char *more, size_t n_more, struct sluice_error *err)
{
    struct note *item;

    if (notes->n == notes->capacity) {
        size_t capacity = notes->capacity == 0 ? 256 : notes->capacity * 2;
        struct note *items = realloc(notes->items, capacity * sizeof *items);
        if (items == NULL) {
            return error_nomem(err, "notes of a task");
        }
        notes->items = items;
        notes->capacity = capacity;
    }
    item = &notes->items[notes->n];
    *item = *note;
    item->sequence = notes->n;
    item->text = notes->texts.size;
    item->text_size = (uint32_t)n;
    item->more_size = (uint32_t)n_more;
    buf_append(&notes->texts, text, n);
    buf_append(&notes->texts, more, n_more);
    TRY(buf_status(&notes->texts, err));
    notes->n++;
    return SLUICE_OK;
}

static int in_order(const void *a, const void *b)
{
    const struct note *x = a;
    const struct note *y = b;

    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    if (x->op != y->op) {
        return x->op < y->op ? -1 : 1;
    }
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

void notes_sort(struct notes *notes)
{
    if (notes->n > 1) {
        qsort(notes->items, notes->n, sizeof *notes->items, in_order);
    }
}

void notes_clear(struct notes *notes)
{
    notes->n = 0;
    buf_clear(&notes->texts);
}

const char *notes_text(const struct notes *notes, const struct note *note)
{
    return note->text_size + note->more_size == 0 ? "" : notes->texts.data + note->text;
}

const char *notes_more(const struct notes *notes, const struct note *note)
{
    return notes_text(notes, note) + note->text_size;
}
