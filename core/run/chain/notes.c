/* What a task notes about rows: see notes.h. */
#include "run/chain/notes.h"

#include "base/varint.h"
#include "store/saved.h"

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

static void put_double(struct saved *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    saved_put(out, bits);
}

static double get_double(struct restored *in)
{
    uint64_t bits = restored_get(in, UINT64_MAX);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

void notes_save(const struct notes *notes, struct saved *out)
{
    saved_put(out, notes->n);
    for (size_t k = 0; k < notes->n; k++) {
        const struct note *note = &notes->items[k];
        saved_put(out, note->row);
        saved_put(out, note->op);
        saved_put(out, varint_fold(note->reason));
        put_double(out, note->value);
        put_double(out, note->limit);
        put_double(out, note->similarity);
        saved_put(out, note->dup);
        saved_put_bytes(out, notes_text(notes, note), note->text_size);
        saved_put_bytes(out, notes_more(notes, note), note->more_size);
    }
}

sluice_status notes_restore(struct notes *notes, uint32_t n_ops, struct restored *in,
                            struct sluice_error *err)
{
    uint64_t n = restored_get(in, UINT64_MAX);
    struct buf text = BUF_INIT;
    struct buf more = BUF_INIT;
    sluice_status status = SLUICE_OK;

    for (uint64_t k = 0; k < n && restored_ok(in) && status == SLUICE_OK; k++) {
        struct note note = { .row = restored_get(in, UINT64_MAX) };
        note.op = (uint32_t)restored_get(in, n_ops - 1u);
        note.reason = (int32_t)varint_unfold(restored_get(in, UINT32_MAX));
        note.value = get_double(in);
        note.limit = get_double(in);
        note.similarity = get_double(in);
        note.dup = restored_get(in, 1) != 0;
        restored_get_bytes(in, INT32_MAX, &text);
        restored_get_bytes(in, INT32_MAX, &more);
        if (restored_ok(in)) {
            status =
                notes_add(notes, &note, buf_str(&text), text.size, buf_str(&more), more.size, err);
        }
    }
    buf_deinit(&text);
    buf_deinit(&more);
    return status == SLUICE_OK ? restored_status(in, err) : status;
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
