/* Batches in memory of their own: each buffer is copied to the end of its pages, with a page behind
 * it that nobody may touch, so that reading or writing where a stage must not is a fault with a
 * name. See kitInt.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testkit/kitInt.h"

#define PAGE ((size_t)4096)
#define VIEWS_MAX 64u

/* Where guarded memory is, and where it was last. Global because a signal handler must find it. */
static struct kit_place {
    _Atomic(const char *) begin;
    _Atomic size_t size;
} places[VIEWS_MAX], former[VIEWS_MAX];
static _Atomic uint32_t n_former;

static void place_note(const void *memory, size_t size)
{
    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&places[i].begin, &none, (const char *)memory)) {
            atomic_store(&places[i].size, size);
            return;
        }
    }
}

static void place_forget(const void *memory)
{
    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        if (atomic_load(&places[i].begin) == memory) {
            struct kit_place *place = &former[atomic_fetch_add(&n_former, 1) % VIEWS_MAX];
            atomic_store(&place->begin, (const char *)memory);
            atomic_store(&place->size, atomic_load(&places[i].size));
            atomic_store(&places[i].size, 0);
            atomic_store(&places[i].begin, NULL);
            return;
        }
    }
}

/* Async-signal-safe: the kernel tells whether the byte can be read. */
static bool readable(const void *address)
{
    int ends[2];
    bool yes;

    if (pipe(ends) != 0) {
        return false;
    }
    yes = write(ends[1], address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return yes;
}

const char *kit_view_fault(const void *address)
{
    const char *at = address;

    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        const char *begin = atomic_load(&places[i].begin);
        size_t size = atomic_load(&places[i].size);
        if (begin != NULL && at >= begin && at < begin + size) {
            return readable(address) ? "it writes its input, which is borrowed and immutable"
                                     : "it reads past the end of its input";
        }
    }
    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        const char *begin = atomic_load(&former[i].begin);
        if (begin != NULL && at >= begin && at < begin + atomic_load(&former[i].size)) {
            return "it uses what was lent to it for a call that is over";
        }
    }
    return NULL;
}

/* Global because the release function of an array has no other place for it. */
static _Atomic int released;

bool kit_view_released(void)
{
    return atomic_exchange(&released, 0) != 0;
}

/* Input is borrowed: nobody may call this. */
static void not_yours(struct ArrowArray *array)
{
    atomic_store(&released, 1);
    array->release = NULL;
}

/* ---- laying out ---- */

struct layout {
    char *memory; /* NULL: only sizes are added up */
    size_t at;
    uint8_t fill;
    bool read_only;
    bool failed;
};

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Room for n bytes, 64-byte aligned, SLUICE_PADDING bytes behind them, then a page of nothing. */
static void *lay(struct layout *layout, const void *data, size_t n)
{
    size_t used = round_up(n + SLUICE_PADDING, 64);
    size_t pages = round_up(used, PAGE);
    char *begin = layout->memory != NULL ? layout->memory + layout->at : NULL;
    char *at = NULL;

    if (begin != NULL) {
        memset(begin, layout->fill, pages);
        at = begin + pages - used;
        if (n > 0) {
            memcpy(at, data, n);
        }
        if (mprotect(begin + pages, PAGE, PROT_NONE) != 0) {
            layout->failed = true;
        }
        if (layout->read_only && mprotect(begin, pages, PROT_READ) != 0) {
            layout->failed = true;
        }
    }
    layout->at += pages + PAGE;
    return at;
}

/* Copies a column's buffers, and its children's. to->buffers and children are allocated with it;
 * with memory NULL only the size is found. */
static void lay_array(struct layout *layout, const struct ArrowArray *from, const struct type *type,
                      struct ArrowArray *to)
{
    size_t n = (size_t)from->length;
    bool real = layout->memory != NULL;
    const void *buffers[3] = { NULL, NULL, NULL };

    if (from->n_buffers > 0 && from->buffers[0] != NULL && from->null_count != 0) {
        buffers[0] = lay(layout, from->buffers[0], (n + 7) / 8);
    }
    switch (type->kind) {
    case TYPE_UTF8:
    case TYPE_BINARY:
    case TYPE_JSON: {
        const int32_t *offsets = from->buffers[1];
        buffers[1] = lay(layout, offsets, (n + 1) * sizeof *offsets);
        buffers[2] = lay(layout, from->buffers[2], (size_t)offsets[n]);
        break;
    }
    case TYPE_LIST:
        buffers[1] = lay(layout, from->buffers[1], (n + 1) * sizeof(int32_t));
        break;
    case TYPE_STRUCT:
        break;
    case TYPE_BOOL:
        buffers[1] = lay(layout, from->buffers[1], (n + 7) / 8);
        break;
    default:
        buffers[1] = lay(layout, from->buffers[1], n * type_width(type));
        break;
    }
    if (real) {
        memset(to, 0, sizeof *to);
        to->length = from->length;
        to->null_count = from->null_count;
        to->n_buffers = from->n_buffers;
        to->release = not_yours;
        to->n_children = from->n_children;
        to->buffers = calloc(3, sizeof *to->buffers);
        to->children = calloc((size_t)from->n_children + 1, sizeof *to->children);
        if (to->buffers == NULL || to->children == NULL) {
            layout->failed = true;
            to->n_children = 0;
            return;
        }
        memcpy(to->buffers, buffers, sizeof buffers);
    }
    for (int64_t k = 0; k < from->n_children; k++) {
        struct ArrowArray *child = NULL;
        if (real) {
            child = to->children[k] = calloc(1, sizeof *child);
            if (child == NULL) {
                layout->failed = true;
                to->n_children = k;
                return;
            }
        }
        lay_array(layout, from->children[k], type->children[k], child);
    }
}

static void free_array(struct ArrowArray *array)
{
    for (int64_t k = 0; k < array->n_children; k++) {
        free_array(array->children[k]);
        free(array->children[k]);
    }
    free(array->children);
    free(array->buffers);
}

static sluice_status map(struct kit_view *view, size_t size, struct sluice_error *err)
{
    view->size = round_up(size + PAGE, PAGE);
    view->memory =
        mmap(NULL, view->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (view->memory == MAP_FAILED) {
        view->memory = NULL;
        return error_nomem(err, "a batch");
    }
    place_note(view->memory, view->size);
    return SLUICE_OK;
}

static sluice_status lay_columns(const struct kit_rows *rows, struct column *const *columns,
                                 bool read_only, uint8_t fill, struct kit_view *out,
                                 struct sluice_error *err)
{
    struct layout layout = { .fill = fill, .read_only = read_only };

    for (uint32_t k = 0; k < rows->n_columns; k++) {
        lay_array(&layout, &columns[k]->array, rows->types[k], NULL);
    }
    TRY(map(out, layout.at, err));
    layout.memory = out->memory;
    layout.at = 0;
    for (uint32_t k = 0; k < rows->n_columns; k++) {
        struct ArrowArray *child = calloc(1, sizeof *child);
        if (child == NULL) {
            return error_nomem(err, "a batch");
        }
        out->array.children[k] = child;
        out->array.n_children = k + 1;
        lay_array(&layout, &columns[k]->array, rows->types[k], child);
    }
    return layout.failed ? error_nomem(err, "a batch") : SLUICE_OK;
}

sluice_status kit_view_make(const struct kit_rows *rows, uint32_t port, const uint32_t *pick,
                            int64_t n, const uint32_t *selected, int64_t n_selected, bool read_only,
                            uint8_t fill, struct kit_view *out, struct sluice_error *err)
{
    struct column **columns = calloc(rows->n_columns + 1u, sizeof(struct column *));
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    out->array.length = n;
    out->array.n_buffers = 1;
    out->array.buffers = calloc(1, sizeof *out->array.buffers);
    out->array.children = calloc(rows->n_columns + 1u, sizeof *out->array.children);
    if (selected != NULL) {
        out->selected = malloc(((size_t)n_selected + 1) * sizeof *selected);
    }
    if (columns == NULL || out->array.buffers == NULL || out->array.children == NULL ||
        (selected != NULL && out->selected == NULL)) {
        status = error_nomem(err, "a batch");
    }
    if (status == SLUICE_OK && selected != NULL) {
        memcpy(out->selected, selected, (size_t)n_selected * sizeof *selected);
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < rows->n_columns; k++) {
        status = column_gather(rows->columns[k], rows->types[k], pick, n, &columns[k], err);
    }
    if (status == SLUICE_OK) {
        status = lay_columns(rows, columns, read_only, fill, out, err);
    }
    out->batch.size = sizeof out->batch;
    out->batch.port = port;
    out->batch.array = &out->array;
    out->batch.rows = out->selected;
    out->batch.n = selected != NULL ? n_selected : n;
    for (uint32_t k = 0; columns != NULL && k < rows->n_columns; k++) {
        column_unref(columns[k]);
    }
    free(columns);
    return status;
}

sluice_status kit_view_bytes(const void *data, size_t n, bool read_only, uint8_t fill,
                             struct kit_view *out, const char **at, struct sluice_error *err)
{
    size_t size = round_up(n + SLUICE_PADDING, PAGE);
    char *begin;

    memset(out, 0, sizeof *out);
    TRY(map(out, size, err));
    begin = (char *)out->memory + size - SLUICE_PADDING - n;
    if (n > 0) {
        memcpy(begin, data, n);
    }
    memset(begin + n, fill, SLUICE_PADDING);
    if (mprotect((char *)out->memory + size, PAGE, PROT_NONE) != 0 ||
        (read_only && mprotect(out->memory, size, PROT_READ) != 0)) {
        return error_nomem(err, "a chunk");
    }
    *at = begin;
    return SLUICE_OK;
}

void kit_view_deinit(struct kit_view *view)
{
    if (view->array.children != NULL) {
        free_array(&view->array);
    }
    free(view->selected);
    if (view->memory != NULL) {
        place_forget(view->memory);
        munmap(view->memory, view->size);
    }
    memset(view, 0, sizeof *view);
}
