/* Checking arrays that come from outside, and bringing them into the form of columns. See
 * column.h.
 *
 * The C Data Interface tells no buffer's size, so what can be checked is everything that the
 * offsets, counts and bytes say about each other. Rows that no parent shows (behind a null
 * struct, outside all lists) may hold anything that is safe to skip. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "data/columnInt.h"

/* The parents of the array at hand, innermost first. */
struct view {
    const struct ArrowArray *array;
    const struct view *up;
    bool list;
};

struct checker {
    const char *path;
    bool strict; /* nulls only where the type is nullable */
    struct sluice_error *err;
};

static bool valid_at(const struct ArrowArray *a, int64_t row)
{
    const uint8_t *bits = a->null_count != 0 ? a->buffers[0] : NULL;

    row += a->offset;
    return bits == NULL || (bits[row >> 3] >> (row & 7) & 1) != 0;
}

/* The row of a list whose items hold item, or -1. */
static int64_t list_row(const struct ArrowArray *list, int64_t item)
{
    const int32_t *offsets = (const int32_t *)list->buffers[1] + list->offset;
    int64_t low = 0;
    int64_t high = list->length;

    if (list->length == 0 || item < offsets[0] || item >= offsets[list->length]) {
        return -1;
    }
    /* offsets[low] <= item < offsets[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (offsets[middle] <= item) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t parent_row(const struct view *up, int64_t row)
{
    return up->list ? list_row(up->array, row) : row - up->array->offset;
}

static bool visible(const struct view *up, int64_t row)
{
    for (; up != NULL; up = up->up) {
        row = parent_row(up, row);
        if (row < 0 || row >= up->array->length || !valid_at(up->array, row)) {
            return false;
        }
    }
    return true;
}

static sluice_status fail_shape(const struct checker *c, const struct type *type, const char *fault,
                                int64_t found, int64_t expected)
{
    return error_set(c->err, SLUICE_E_SCHEMA,
                     "column '%s' (%s) has %s %lld, expected %lld: the array does not follow the "
                     "Arrow C Data Interface",
                     c->path, type_words[type->kind].text, fault, (long long)found,
                     (long long)expected);
}

static sluice_status fail_row(const struct checker *c, int64_t row, const char *fault)
{
    sluice_status status = error_set(c->err, SLUICE_E_DATA, "column '%s' row %lld: %s", c->path,
                                     (long long)row, fault);

    if (c->err != NULL) {
        c->err->row = row;
    }
    return status;
}

static int64_t count_nulls(const uint8_t *bits, int64_t from, int64_t n)
{
    int64_t set = 0;
    int64_t end = from + n;
    int64_t i = from;

    while (i < end && (i & 63) != 0) {
        set += bits[i >> 3] >> (i & 7) & 1;
        i++;
    }
    for (; end - i >= 64; i += 64) {
        uint64_t word;
        memcpy(&word, bits + (i >> 3), sizeof word);
        set += __builtin_popcountll(word);
    }
    while (i < end) {
        set += bits[i >> 3] >> (i & 7) & 1;
        i++;
    }
    return n - set;
}

static sluice_status check_shape(const struct checker *c, const struct ArrowArray *a,
                                 const struct type *type)
{
    int64_t buffers = type_is_bytes(type) ? 3 : type->kind == TYPE_STRUCT ? 1 : 2;

    if (a == NULL || a->release == NULL) {
        return error_set(c->err, SLUICE_E_SCHEMA,
                         "column '%s' is a released array: expected one of type %s", c->path,
                         type_words[type->kind].text);
    }
    if (a->n_buffers != buffers) {
        return fail_shape(c, type, "a number of buffers of", a->n_buffers, buffers);
    }
    if (a->n_children != (int64_t)type->n_children) {
        return fail_shape(c, type, "a number of children of", a->n_children, type->n_children);
    }
    if (a->buffers == NULL || (type->n_children > 0 && a->children == NULL) ||
        a->dictionary != NULL) {
        return error_set(
            c->err, SLUICE_E_SCHEMA,
            "column '%s' (%s) has %s: the array does not follow the Arrow C Data Interface",
            c->path, type_words[type->kind].text,
            a->dictionary != NULL ? "a dictionary, which is not part of its type"
                                  : "no list of buffers or children");
    }
    if (a->length < 0 || a->offset < 0 || a->length > COLUMN_ROWS_MAX ||
        a->offset > COLUMN_ROWS_MAX - a->length) {
        return error_set(c->err, SLUICE_E_SCHEMA,
                         "column '%s' has length %lld and offset %lld: expected a sum from 0 to %d",
                         c->path, (long long)a->length, (long long)a->offset, COLUMN_ROWS_MAX);
    }
    /* -1 is Arrow's "not counted". */
    if (a->null_count < -1 || a->null_count > a->length) {
        return fail_shape(c, type, "a null count of", a->null_count, -1);
    }
    return SLUICE_OK;
}

static sluice_status check_nulls(const struct checker *c, const struct ArrowArray *a,
                                 const struct type *type, const struct view *up)
{
    const uint8_t *bits = a->buffers[0];
    int64_t nulls = 0;

    if (a->length == 0) {
        return a->null_count > 0 ? fail_shape(c, type, "a null count of", a->null_count, 0)
                                 : SLUICE_OK;
    }
    if (bits != NULL) {
        nulls = count_nulls(bits, a->offset, a->length);
    }
    if (a->null_count >= 0 && nulls != a->null_count) {
        return fail_shape(c, type, "a null count of", a->null_count, nulls);
    }
    if (nulls > 0 && c->strict && !type->nullable) {
        for (int64_t i = 0; i < a->length; i++) {
            if (!valid_at(a, i) && visible(up, i)) {
                return fail_row(
                    c, i, "found a null, expected a value: give one, or declare the type with '?'");
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status check_offsets(const struct checker *c, const struct ArrowArray *a)
{
    const int32_t *offsets = a->buffers[1];
    int32_t wrong = 0;

    if (offsets == NULL) {
        return a->length == 0
                   ? SLUICE_OK
                   : error_set(c->err, SLUICE_E_SCHEMA,
                               "column '%s' has no offsets buffer: expected %lld offsets", c->path,
                               (long long)a->length + 1);
    }
    if ((uintptr_t)offsets % sizeof *offsets != 0) {
        return error_set(
            c->err, SLUICE_E_SCHEMA,
            "column '%s' has offsets that are not aligned: expected a multiple of 4 bytes",
            c->path);
    }
    if (a->length == 0) {
        return SLUICE_OK;
    }
    offsets += a->offset;
    /* A pass without branches says whether something is wrong; only then another says where. */
    for (int64_t i = 0; i < a->length; i++) {
        wrong |= offsets[i + 1] < offsets[i] ? -1 : 0;
    }
    if (wrong == 0 && offsets[0] >= 0) {
        return SLUICE_OK;
    }
    for (int64_t i = 0; i < a->length; i++) {
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i]) {
            return fail_row(c, i,
                            "its offsets run backwards or below 0: expected each at least as large "
                            "as the one before");
        }
    }
    return SLUICE_OK;
}

static sluice_status check_text(const struct checker *c, const struct ArrowArray *a,
                                const struct view *up)
{
    const int32_t *offsets = (const int32_t *)a->buffers[1] + a->offset;
    const char *bytes = a->buffers[2];
    int32_t begin = offsets[0];
    int32_t end = offsets[a->length];
    uint8_t inside = 0;

    /* Text that is well-formed as a whole, and no row of which begins inside a sequence, is
     * well-formed row by row. */
    if (begin == end) {
        return SLUICE_OK;
    }
    if (utf8_valid(bytes + begin, (size_t)(end - begin))) {
        for (int64_t i = 1; i < a->length && offsets[i] < end; i++) {
            inside |= (bytes[offsets[i]] & 0xC0) == 0x80 ? 1 : 0;
        }
        if (inside == 0) {
            return SLUICE_OK;
        }
    }
    for (int64_t i = 0; i < a->length; i++) {
        if (!utf8_valid(bytes + offsets[i], (size_t)(offsets[i + 1] - offsets[i])) &&
            valid_at(a, i) && visible(up, i)) {
            return fail_row(
                c, i,
                "found bytes that are not UTF-8: repair the text, or declare the column binary");
        }
    }
    return SLUICE_OK;
}

static sluice_status check_values(const struct checker *c, const struct ArrowArray *a,
                                  const struct type *type, const struct view *up)
{
    size_t width = type_width(type);

    if (type_is_bytes(type) || type->kind == TYPE_LIST) {
        TRY(check_offsets(c, a));
    }
    if (type_is_bytes(type) && a->length > 0) {
        const int32_t *offsets = (const int32_t *)a->buffers[1] + a->offset;
        if (a->buffers[2] == NULL && offsets[a->length] > 0) {
            return error_set(c->err, SLUICE_E_SCHEMA,
                             "column '%s' has no bytes buffer: expected %d bytes", c->path,
                             offsets[a->length]);
        }
        return type->kind == TYPE_BINARY ? SLUICE_OK : check_text(c, a, up);
    }
    if (width == 0 && type->kind != TYPE_BOOL) {
        return SLUICE_OK;
    }
    if (a->buffers[1] == NULL && a->length > 0) {
        return error_set(c->err, SLUICE_E_SCHEMA,
                         "column '%s' has no values buffer: expected %lld values", c->path,
                         (long long)a->length);
    }
    if (type->kind != TYPE_FIXED && width > 1 && (uintptr_t)a->buffers[1] % width != 0) {
        return error_set(
            c->err, SLUICE_E_SCHEMA,
            "column '%s' has values that are not aligned: expected a multiple of %zu bytes",
            c->path, width);
    }
    return SLUICE_OK;
}

static sluice_status check_array(const struct checker *c, const struct ArrowArray *a,
                                 const struct type *type, const struct view *up);

static sluice_status check_child(const struct checker *c, const struct ArrowArray *a,
                                 const struct type *type, uint32_t k, const struct view *up)
{
    struct view view = { a, up, type->kind == TYPE_LIST };
    const struct ArrowArray *child = a->children[k];
    char path[200];
    struct checker inner = { path, c->strict, c->err };
    int64_t least = 0;
    sluice_status status;

    if (view.list) {
        snprintf(path, sizeof path, "%s[]", c->path);
    } else {
        snprintf(path, sizeof path, "%s.%s", c->path, type->names[k]);
    }
    TRY(check_shape(&inner, child, type->children[k]));
    if (!view.list) {
        least = a->offset + a->length;
    } else if (a->length > 0) {
        least = ((const int32_t *)a->buffers[1])[a->offset + a->length];
    }
    if (child->length < least) {
        return fail_shape(&inner, type->children[k], "a length of", child->length, least);
    }
    status = check_array(&inner, child, type->children[k], &view);
    /* The row at fault, as a row of this level. */
    if (status == SLUICE_E_DATA && c->err != NULL && c->err->row >= 0) {
        int64_t row = parent_row(&view, c->err->row);
        c->err->row = row >= 0 && row < a->length ? row : -1;
    }
    return status;
}

static sluice_status check_array(const struct checker *c, const struct ArrowArray *a,
                                 const struct type *type, const struct view *up)
{
    TRY(check_nulls(c, a, type, up));
    TRY(check_values(c, a, type, up));
    for (uint32_t k = 0; k < type->n_children; k++) {
        TRY(check_child(c, a, type, k, up));
    }
    return SLUICE_OK;
}

sluice_status array_check(const struct ArrowArray *a, const struct type *type, int64_t length,
                          const char *path, bool strict, struct sluice_error *err)
{
    struct checker c = { path, strict, err };

    if (!type_supported(type)) {
        return error_field(
            err, SLUICE_E_SCHEMA, path,
            "column '%s' has a type with %s in it, which stages do not take: convert it", path,
            type_words[type->kind].text);
    }
    TRY(check_shape(&c, a, type));
    if (a->length != length) {
        return fail_shape(&c, type, "a length of", a->length, length);
    }
    return check_array(&c, a, type, NULL);
}

sluice_status array_validate(const struct ArrowArray *a, const struct type *type, int64_t length,
                             const char *path, struct sluice_error *err)
{
    return array_check(a, type, length, path, true, err);
}

/* True when something in the array breaks the invariants of columns (column.h). */
static bool needs_rebuild(const struct ArrowArray *a, const struct type *type)
{
    if (a->offset != 0 || a->null_count < 0 || (a->null_count == 0 && a->buffers[0] != NULL)) {
        return true;
    }
    for (int64_t k = 0; k < a->n_buffers; k++) {
        if ((k > 0 && a->buffers[k] == NULL) || (uintptr_t)a->buffers[k] % (k == 2 ? 1 : 8) != 0) {
            return true;
        }
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        if ((type->kind == TYPE_STRUCT && a->children[k]->length != a->length) ||
            needs_rebuild(a->children[k], type->children[k])) {
            return true;
        }
    }
    return false;
}

sluice_status array_normalise(struct ArrowArray *array, const struct type *type,
                              struct sluice_error *err)
{
    struct runs all = { 0 };
    struct ArrowArray made;
    sluice_status status;

    if (!needs_rebuild(array, type)) {
        return SLUICE_OK;
    }
    if (!runs_add(&all, 0, array->length)) {
        runs_deinit(&all);
        return error_nomem(err, "a column");
    }
    status = array_gather(array, type, &all, &made, err);
    runs_deinit(&all);
    if (status == SLUICE_OK) {
        array_release(array);
        *array = made;
    }
    return status;
}
