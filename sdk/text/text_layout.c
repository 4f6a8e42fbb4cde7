/* Columns of any type: see text_layout.h. */
#include "text/text_layoutInt.h"

#include <stdint.h>

/* ---- types ---- */

static const struct {
    const char *name;
    enum layout_kind kind;
    uint32_t width;
} plain_types[] = {
    { "bool", LAYOUT_BITS, 0 },     { "int8", LAYOUT_FIXED, 1 },    { "int16", LAYOUT_FIXED, 2 },
    { "int32", LAYOUT_FIXED, 4 },   { "int64", LAYOUT_FIXED, 8 },   { "uint8", LAYOUT_FIXED, 1 },
    { "uint16", LAYOUT_FIXED, 2 },  { "uint32", LAYOUT_FIXED, 4 },  { "uint64", LAYOUT_FIXED, 8 },
    { "float32", LAYOUT_FIXED, 4 }, { "float64", LAYOUT_FIXED, 8 }, { "utf8", LAYOUT_TEXT, 0 },
    { "binary", LAYOUT_TEXT, 0 },   { "json", LAYOUT_TEXT, 0 },
};

/* Moves *at past the word when it stands there. */
static bool skip_word(const char **at, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*at, word, n) != 0) {
        return false;
    }
    *at += n;
    return true;
}

/* Past "name:" of a struct's member, whose name may be quoted. */
static bool skip_name(const char **at)
{
    if (**at != '"') {
        *at += strcspn(*at, ":");
    } else {
        for ((*at)++; **at != '"'; (*at)++) {
            if (**at == '\\') {
                (*at)++;
            }
            if (**at == '\0') {
                return false;
            }
        }
        (*at)++;
    }
    return skip_word(at, ":");
}

static sluice_status parse(const char **at, struct layout *out, int depth);

static sluice_status add_child(const char **at, struct layout *out, int depth)
{
    struct layout *more = realloc(out->children, (out->n_children + 1u) * sizeof *more);

    if (more == NULL) {
        return SLUICE_E_NOMEM;
    }
    out->children = more;
    out->n_children++;
    return parse(at, &more[out->n_children - 1], depth + 1);
}

static sluice_status parse_list(const char **at, struct layout *out, int depth)
{
    sluice_status status = add_child(at, out, depth);

    out->kind = LAYOUT_LIST;
    return status == SLUICE_OK && !skip_word(at, ">") ? SLUICE_E_SCHEMA : status;
}

static sluice_status parse_struct(const char **at, struct layout *out, int depth)
{
    sluice_status status = SLUICE_OK;

    out->kind = LAYOUT_STRUCT;
    if (skip_word(at, ">")) {
        return SLUICE_OK;
    }
    do {
        status = skip_name(at) ? add_child(at, out, depth) : SLUICE_E_SCHEMA;
    } while (status == SLUICE_OK && skip_word(at, ","));
    return status == SLUICE_OK && !skip_word(at, ">") ? SLUICE_E_SCHEMA : status;
}

static sluice_status parse_plain(const char **at, struct layout *out)
{
    size_t n = strcspn(*at, "?,>[");

    for (size_t i = 0; i < sizeof plain_types / sizeof plain_types[0]; i++) {
        if (strlen(plain_types[i].name) == n && memcmp(plain_types[i].name, *at, n) == 0) {
            out->kind = plain_types[i].kind;
            out->width = plain_types[i].width;
            *at += n;
            return SLUICE_OK;
        }
    }
    if (skip_word(at, "spans")) {
        out->kind = LAYOUT_LIST;
        out->children = calloc(1, sizeof *out->children);
        if (out->children == NULL) {
            return SLUICE_E_NOMEM;
        }
        out->n_children = 1;
        out->children[0].width = 8;
        return SLUICE_OK;
    }
    if (skip_word(at, "fixed[")) {
        char *end;
        unsigned long width = strtoul(*at, &end, 10);
        *at = end;
        out->kind = LAYOUT_FIXED;
        out->width = (uint32_t)width;
        return width > 0 && width <= INT32_MAX && skip_word(at, "]") ? SLUICE_OK : SLUICE_E_SCHEMA;
    }
    return SLUICE_E_SCHEMA;
}

static sluice_status parse(const char **at, struct layout *out, int depth)
{
    sluice_status status;

    memset(out, 0, sizeof *out);
    if (depth >= LAYOUT_DEPTH) {
        return SLUICE_E_SCHEMA;
    }
    status = skip_word(at, "list<")     ? parse_list(at, out, depth)
             : skip_word(at, "struct<") ? parse_struct(at, out, depth)
                                        : parse_plain(at, out);
    out->nullable = status == SLUICE_OK && skip_word(at, "?");
    return status;
}

sluice_status layout_parse(const char *type, struct layout *out)
{
    const char *at = type;
    sluice_status status = parse(&at, out, 0);

    if (status == SLUICE_OK && *at != '\0') {
        status = SLUICE_E_SCHEMA;
    }
    if (status != SLUICE_OK) {
        layout_deinit(out);
    }
    return status;
}

void layout_deinit(struct layout *layout)
{
    for (uint32_t k = 0; k < layout->n_children; k++) {
        layout_deinit(&layout->children[k]);
    }
    free(layout->children);
    memset(layout, 0, sizeof *layout);
}

/* ---- copies ---- */

static const int32_t *offsets_of(const struct ArrowArray *array)
{
    return array->buffers[1];
}

static int64_t count(const struct layout_run *runs, size_t n_runs)
{
    int64_t n = 0;

    for (size_t i = 0; i < n_runs; i++) {
        n += runs[i].n;
    }
    return n;
}

/* The validity of the rows; nothing when there are no nulls. */
static int copy_validity(const struct ArrowArray *array, const struct layout_run *runs,
                         size_t n_runs, struct sluice_bytes *out, int64_t *nulls)
{
    int64_t at = 0;

    *nulls = 0;
    if (array->null_count == 0 || array->n_buffers == 0 || array->buffers[0] == NULL) {
        return 1;
    }
    for (size_t i = 0; i < n_runs; i++) {
        for (int64_t row = runs[i].first; row < runs[i].first + runs[i].n; row++) {
            int null = sluice_is_null(array, row);
            *nulls += null;
            if (!sluice_bytes_add_bit(out, at++, !null)) {
                return 0;
            }
        }
    }
    if (*nulls == 0) {
        sluice_bytes_free(out);
    }
    return 1;
}

static int copy_bits(const struct ArrowArray *array, const struct layout_run *runs, size_t n_runs,
                     struct sluice_bytes *out)
{
    int64_t at = 0;

    for (size_t i = 0; i < n_runs; i++) {
        for (int64_t row = runs[i].first; row < runs[i].first + runs[i].n; row++) {
            if (!sluice_bytes_add_bit(out, at++, sluice_bool(array, row))) {
                return 0;
            }
        }
    }
    return 1;
}

static int copy_fixed(const struct ArrowArray *array, uint32_t width, const struct layout_run *runs,
                      size_t n_runs, struct sluice_bytes *out)
{
    const char *values = array->buffers[1];

    for (size_t i = 0; i < n_runs; i++) {
        if (!sluice_bytes_add(out, values + (uint64_t)runs[i].first * width,
                              (uint64_t)runs[i].n * width)) {
            return 0;
        }
    }
    return 1;
}

/* Offsets from 0 on, and which runs of what they count lie behind them; 0 also when there is more
 * than they can count. */
static int copy_offsets(const struct ArrowArray *array, const struct layout_run *runs,
                        size_t n_runs, struct sluice_bytes *out, struct layout_run *inner)
{
    const int32_t *offsets = offsets_of(array);
    int64_t end = 0;
    int32_t stored = 0;

    if (!sluice_bytes_reserve(out, ((uint64_t)count(runs, n_runs) + 1) * sizeof stored) ||
        !sluice_bytes_add(out, &stored, sizeof stored)) {
        return 0;
    }
    for (size_t i = 0; i < n_runs; i++) {
        const int32_t *from = offsets + runs[i].first;
        inner[i].first = from[0];
        inner[i].n = from[runs[i].n] - from[0];
        if (end + inner[i].n > INT32_MAX) {
            return 0;
        }
        for (int64_t k = 1; k <= runs[i].n; k++) {
            stored = (int32_t)(end + from[k] - from[0]);
            if (!sluice_bytes_add(out, &stored, sizeof stored)) {
                return 0;
            }
        }
        end += inner[i].n;
    }
    return 1;
}

sluice_status layout_make_struct(sluice_status status, const struct layout *layout, int64_t n,
                                 struct ArrowArray *children, struct sluice_bytes *validity,
                                 int64_t nulls, struct ArrowArray *out)
{
    if (status == SLUICE_OK) {
        status = sluice_make_struct(out, n, layout->n_children, children);
    }
    if (status == SLUICE_OK && nulls > 0) {
        struct sluice_array_memory *memory = out->private_data;
        memory->buffers[0] = validity->data;
        validity->data = NULL;
        out->null_count = nulls;
    }
    for (uint32_t k = 0; children != NULL && k < layout->n_children; k++) {
        if (children[k].release != NULL) {
            children[k].release(&children[k]);
        }
    }
    free(children);
    return status;
}

sluice_status layout_make_list(sluice_status status, int64_t n, struct ArrowArray *child,
                               struct sluice_bytes *offsets, struct sluice_bytes *validity,
                               int64_t nulls, struct ArrowArray *out)
{
    if (status == SLUICE_OK) {
        status = sluice_make(out, n, nulls, 2, validity, offsets, NULL);
        if (status == SLUICE_OK) {
            out->n_children = 1;
            out->children[0] = child;
            return SLUICE_OK;
        }
        child->release(child);
    }
    free(child);
    return status;
}

static sluice_status copy_nested(const struct layout *layout, const struct ArrowArray *array,
                                 const struct layout_run *runs, size_t n_runs,
                                 struct sluice_bytes *validity, int64_t nulls,
                                 struct ArrowArray *out)
{
    int64_t n = count(runs, n_runs);
    struct ArrowArray *children = calloc(layout->n_children + 1u, sizeof *children);
    sluice_status status = children == NULL ? SLUICE_E_NOMEM : SLUICE_OK;

    for (uint32_t k = 0; status == SLUICE_OK && k < layout->n_children; k++) {
        status = layout_copy(&layout->children[k], array->children[k], runs, n_runs, &children[k]);
    }
    return layout_make_struct(status, layout, n, children, validity, nulls, out);
}

static sluice_status copy_list(const struct layout *layout, const struct ArrowArray *array,
                               const struct layout_run *runs, size_t n_runs,
                               struct sluice_bytes *validity, int64_t nulls, struct ArrowArray *out)
{
    struct sluice_bytes offsets = { 0 };
    struct layout_run *inner = malloc((n_runs + 1) * sizeof *inner);
    struct ArrowArray *child = calloc(1, sizeof *child);
    sluice_status status = SLUICE_E_NOMEM;

    if (inner != NULL && child != NULL && copy_offsets(array, runs, n_runs, &offsets, inner)) {
        status = layout_copy(&layout->children[0], array->children[0], inner, n_runs, child);
    }
    status = layout_make_list(status, count(runs, n_runs), child, &offsets, validity, nulls, out);
    free(inner);
    sluice_bytes_free(&offsets);
    return status;
}

static sluice_status copy_text(const struct ArrowArray *array, const struct layout_run *runs,
                               size_t n_runs, struct sluice_bytes *validity, int64_t nulls,
                               struct ArrowArray *out)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct layout_run *inner = malloc((n_runs + 1) * sizeof *inner);
    const char *bytes = array->buffers[2];
    int ok = inner != NULL && copy_offsets(array, runs, n_runs, &offsets, inner);

    for (size_t i = 0; ok && i < n_runs; i++) {
        ok = inner[i].n == 0 ||
             sluice_bytes_add(&data, bytes + inner[i].first, (uint64_t)inner[i].n);
    }
    free(inner);
    if (!ok) {
        sluice_bytes_free(&offsets);
        sluice_bytes_free(&data);
        return SLUICE_E_NOMEM;
    }
    return sluice_make_text(out, count(runs, n_runs), &offsets, &data, validity, nulls);
}

sluice_status layout_copy(const struct layout *layout, const struct ArrowArray *array,
                          const struct layout_run *runs, size_t n_runs, struct ArrowArray *out)
{
    struct sluice_bytes validity = { 0 };
    struct sluice_bytes values = { 0 };
    int64_t n = count(runs, n_runs);
    int64_t nulls;
    sluice_status status = SLUICE_E_NOMEM;

    memset(out, 0, sizeof *out);
    if (copy_validity(array, runs, n_runs, &validity, &nulls)) {
        switch (layout->kind) {
        case LAYOUT_FIXED:
        case LAYOUT_BITS:
            if (layout->kind == LAYOUT_BITS
                    ? copy_bits(array, runs, n_runs, &values)
                    : copy_fixed(array, layout->width, runs, n_runs, &values)) {
                status = sluice_make_fixed(out, n, &values, &validity, nulls);
            }
            break;
        case LAYOUT_TEXT:
            status = copy_text(array, runs, n_runs, &validity, nulls, out);
            break;
        case LAYOUT_LIST:
            status = copy_list(layout, array, runs, n_runs, &validity, nulls, out);
            break;
        case LAYOUT_STRUCT:
            status = copy_nested(layout, array, runs, n_runs, &validity, nulls, out);
            break;
        }
    }
    sluice_bytes_free(&validity);
    sluice_bytes_free(&values);
    return status;
}

/* ---- values ---- */

uint64_t layout_size(const struct layout *layout, const struct ArrowArray *array, int64_t row)
{
    uint64_t size = 4;
    int64_t begin;
    int64_t end;

    switch (layout->kind) {
    case LAYOUT_FIXED:
        return layout->width;
    case LAYOUT_BITS:
        return 1;
    case LAYOUT_STRUCT:
        for (uint32_t k = 0; k < layout->n_children; k++) {
            size += layout_size(&layout->children[k], array->children[k], row);
        }
        return size;
    case LAYOUT_TEXT:
    case LAYOUT_LIST:
        break;
    }
    begin = offsets_of(array)[row];
    end = offsets_of(array)[row + 1];
    if (layout->kind == LAYOUT_TEXT) {
        return size + (uint64_t)(end - begin);
    }
    if (layout->children[0].kind == LAYOUT_FIXED) {
        return size + (uint64_t)(end - begin) * layout->children[0].width;
    }
    for (int64_t k = begin; k < end; k++) {
        size += layout_size(&layout->children[0], array->children[0], k);
    }
    return size;
}

static int write_count(uint64_t n, struct sluice_bytes *out)
{
    return sluice_bytes_add(out, &n, sizeof n);
}

static int write_items(const struct layout *layout, const struct ArrowArray *array, int64_t row,
                       struct sluice_bytes *out)
{
    const struct layout *of = &layout->children[0];
    const struct ArrowArray *items = array->children[0];
    int64_t begin = offsets_of(array)[row];
    int64_t end = offsets_of(array)[row + 1];

    if (!write_count((uint64_t)(end - begin), out)) {
        return 0;
    }
    if (of->kind == LAYOUT_FIXED && !of->nullable) {
        const char *values = items->buffers[1];
        return sluice_bytes_add(out, values + (uint64_t)begin * of->width,
                                (uint64_t)(end - begin) * of->width);
    }
    for (int64_t k = begin; k < end; k++) {
        if (!layout_write(of, items, k, out)) {
            return 0;
        }
    }
    return 1;
}

int layout_write(const struct layout *layout, const struct ArrowArray *array, int64_t row,
                 struct sluice_bytes *out)
{
    const char *bytes;
    char bit;
    size_t n;

    if (sluice_is_null(array, row)) {
        return write_count(UINT64_MAX, out);
    }
    switch (layout->kind) {
    case LAYOUT_FIXED:
        bytes = (const char *)array->buffers[1] + (uint64_t)row * layout->width;
        return write_count(layout->width, out) && sluice_bytes_add(out, bytes, layout->width);
    case LAYOUT_BITS:
        bit = (char)sluice_bool(array, row);
        return write_count(1, out) && sluice_bytes_add(out, &bit, 1);
    case LAYOUT_TEXT:
        bytes = sluice_text(array, row, &n);
        return write_count(n, out) && sluice_bytes_add(out, bytes, n);
    case LAYOUT_LIST:
        return write_items(layout, array, row, out);
    case LAYOUT_STRUCT:
        break;
    }
    if (!write_count(layout->n_children, out)) {
        return 0;
    }
    for (uint32_t k = 0; k < layout->n_children; k++) {
        if (!layout_write(&layout->children[k], array->children[k], row, out)) {
            return 0;
        }
    }
    return 1;
}
