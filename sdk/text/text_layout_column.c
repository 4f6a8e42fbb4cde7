/* Columns of any type, made of the bytes that layout_write gives: see text_layout.h. */
#include "text/text_layoutInt.h"

sluice_status layout_column_init(struct layout_column *column, const struct layout *layout)
{
    sluice_status status = SLUICE_OK;

    memset(column, 0, sizeof *column);
    column->layout = layout;
    if (layout->n_children > 0) {
        column->children = calloc(layout->n_children, sizeof *column->children);
        status = column->children == NULL ? SLUICE_E_NOMEM : SLUICE_OK;
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < layout->n_children; k++) {
        status = layout_column_init(&column->children[k], &layout->children[k]);
    }
    if (status != SLUICE_OK) {
        layout_column_deinit(column);
    }
    return status;
}

void layout_column_deinit(struct layout_column *column)
{
    for (uint32_t k = 0; column->children != NULL && k < column->layout->n_children; k++) {
        if (column->children[k].layout != NULL) {
            layout_column_deinit(&column->children[k]);
        }
    }
    free(column->children);
    sluice_bytes_free(&column->validity);
    sluice_bytes_free(&column->offsets);
    sluice_bytes_free(&column->data);
    memset(column, 0, sizeof *column);
}

/* The bit of the row that begins, and the first offset of all. */
static int begin_row(struct layout_column *column, bool null)
{
    bool counted = column->layout->kind == LAYOUT_TEXT || column->layout->kind == LAYOUT_LIST;
    int32_t zero = 0;

    if (counted && column->offsets.size == 0 &&
        !sluice_bytes_add(&column->offsets, &zero, sizeof zero)) {
        return 0;
    }
    if (!sluice_bytes_add_bit(&column->validity, column->n, !null)) {
        return 0;
    }
    column->nulls += null;
    column->n++;
    return 1;
}

static int end_offset(struct layout_column *column, uint64_t end)
{
    int32_t stored = (int32_t)end;

    return end <= INT32_MAX && sluice_bytes_add(&column->offsets, &stored, sizeof stored);
}

int layout_column_null(struct layout_column *column)
{
    const struct layout *layout = column->layout;
    uint32_t k = 0;

    if (!begin_row(column, layout->nullable)) {
        return 0;
    }
    switch (layout->kind) {
    case LAYOUT_FIXED:
        if (!sluice_bytes_reserve(&column->data, layout->width)) {
            return 0;
        }
        memset(column->data.data + column->data.size, 0, layout->width);
        column->data.size += layout->width;
        return 1;
    case LAYOUT_BITS:
        return sluice_bytes_add_bit(&column->data, column->n - 1, 0);
    case LAYOUT_TEXT:
        return end_offset(column, column->data.size);
    case LAYOUT_LIST:
        return end_offset(column, (uint64_t)column->children[0].n);
    case LAYOUT_STRUCT:
        break;
    }
    while (k < layout->n_children && layout_column_null(&column->children[k])) {
        k++;
    }
    return k == layout->n_children;
}

static uint64_t read_count(const char **at)
{
    uint64_t n;

    memcpy(&n, *at, sizeof n);
    *at += sizeof n;
    return n;
}

/* n values of a fixed width without nulls, as they lie. */
static int read_plain(struct layout_column *column, uint64_t n, const char **at)
{
    uint64_t bytes = n * column->layout->width;

    if (!sluice_bytes_add(&column->data, *at, bytes)) {
        return 0;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (!sluice_bytes_add_bit(&column->validity, column->n++, 1)) {
            return 0;
        }
    }
    *at += bytes;
    return 1;
}

static int read_items(struct layout_column *column, uint64_t n, const char **at)
{
    struct layout_column *items = &column->children[0];

    if ((uint64_t)items->n + n > INT32_MAX) {
        return 0;
    }
    if (items->layout->kind == LAYOUT_FIXED && !items->layout->nullable) {
        return read_plain(items, n, at) && end_offset(column, (uint64_t)items->n);
    }
    for (uint64_t k = 0; k < n; k++) {
        if (!layout_column_read(items, at)) {
            return 0;
        }
    }
    return end_offset(column, (uint64_t)items->n);
}

int layout_column_read(struct layout_column *column, const char **at)
{
    const char *bytes;
    uint64_t n = read_count(at);
    uint32_t k = 0;

    if (n == UINT64_MAX) {
        return layout_column_null(column);
    }
    if (!begin_row(column, false)) {
        return 0;
    }
    bytes = *at;
    switch (column->layout->kind) {
    case LAYOUT_FIXED:
        *at += n;
        return sluice_bytes_add(&column->data, bytes, n);
    case LAYOUT_BITS:
        *at += n;
        return sluice_bytes_add_bit(&column->data, column->n - 1, bytes[0]);
    case LAYOUT_TEXT:
        *at += n;
        return column->data.size + n <= INT32_MAX && sluice_bytes_add(&column->data, bytes, n) &&
               end_offset(column, column->data.size);
    case LAYOUT_LIST:
        return read_items(column, n, at);
    case LAYOUT_STRUCT:
        break;
    }
    while (k < column->layout->n_children && layout_column_read(&column->children[k], at)) {
        k++;
    }
    return k == column->layout->n_children;
}

static sluice_status end_struct(struct layout_column *column, struct ArrowArray *out)
{
    uint32_t n = column->layout->n_children;
    struct ArrowArray *children = calloc(n + 1u, sizeof *children);
    sluice_status status = children == NULL ? SLUICE_E_NOMEM : SLUICE_OK;

    for (uint32_t k = 0; status == SLUICE_OK && k < n; k++) {
        status = layout_column_end(&column->children[k], &children[k]);
    }
    return layout_make_struct(status, column->layout, column->n, children, &column->validity,
                              column->nulls, out);
}

static sluice_status end_list(struct layout_column *column, struct sluice_bytes *validity,
                              struct ArrowArray *out)
{
    struct ArrowArray *child = calloc(1, sizeof *child);
    sluice_status status =
        child == NULL ? SLUICE_E_NOMEM : layout_column_end(&column->children[0], child);

    return layout_make_list(status, column->n, child, &column->offsets, validity, column->nulls,
                            out);
}

sluice_status layout_column_end(struct layout_column *column, struct ArrowArray *out)
{
    struct sluice_bytes *validity = column->nulls > 0 ? &column->validity : NULL;
    sluice_status status = SLUICE_E_NOMEM;

    memset(out, 0, sizeof *out);
    switch (column->layout->kind) {
    case LAYOUT_FIXED:
    case LAYOUT_BITS:
        status = sluice_make_fixed(out, column->n, &column->data, validity, column->nulls);
        break;
    case LAYOUT_TEXT:
        status = sluice_make_text(out, column->n, &column->offsets, &column->data, validity,
                                  column->nulls);
        break;
    case LAYOUT_LIST:
        status = end_list(column, validity, out);
        break;
    case LAYOUT_STRUCT:
        status = end_struct(column, out);
        break;
    }
    sluice_bytes_free(&column->validity);
    column->validity.size = column->offsets.size = column->data.size = 0;
    column->n = column->nulls = 0;
    return status;
}
