/* Memory of arrays made here, and runs of rows. See columnInt.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/columnInt.h"

/* ---- memory ---- */

struct array_owner {
    const void *buffers[3];
    void *owned[3];
    struct array_memory *memory;
    struct ArrowArray *children; /* n_children of them, behind the pointers */
    struct ArrowArray *pointers[];
};

struct array_memory *array_memory_create(size_t bytes)
{
    struct array_memory *memory = malloc(sizeof *memory);

    if (memory == NULL) {
        return NULL;
    }
    memory->refs = 1;
    memory->data = malloc(bytes > 0 ? bytes : 1);
    if (memory->data == NULL) {
        free(memory);
        return NULL;
    }
    return memory;
}

void array_memory_unref(struct array_memory *memory)
{
    if (memory != NULL && __atomic_sub_fetch(&memory->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        free(memory->data);
        free(memory);
    }
}

static void release_owned(struct ArrowArray *array)
{
    struct array_owner *owner = array->private_data;

    for (int64_t k = 0; k < array->n_children; k++) {
        array_release(array->children[k]);
    }
    for (int k = 0; k < 3; k++) {
        free(owner->owned[k]);
    }
    array_memory_unref(owner->memory);
    free(owner);
    array->release = NULL;
    array->private_data = NULL;
}

void array_release(struct ArrowArray *array)
{
    if (array->release != NULL) {
        array->release(array);
        array->release = NULL;
    }
}

static int64_t buffers_of(const struct type *type)
{
    if (type_is_bytes(type)) {
        return 3;
    }
    return type->kind == TYPE_STRUCT ? 1 : 2;
}

bool array_init(struct ArrowArray *out, const struct type *type, int64_t length)
{
    size_t n = type->n_children;
    struct array_owner *owner =
        calloc(1, sizeof *owner + n * (sizeof owner->pointers[0] + sizeof owner->children[0]));

    memset(out, 0, sizeof *out);
    if (owner == NULL) {
        return false;
    }
    owner->children = (struct ArrowArray *)(void *)(owner->pointers + n);
    for (size_t k = 0; k < n; k++) {
        owner->pointers[k] = &owner->children[k];
    }
    out->length = length;
    out->n_buffers = buffers_of(type);
    out->n_children = (int64_t)n;
    out->buffers = owner->buffers;
    out->children = n > 0 ? owner->pointers : NULL;
    out->release = release_owned;
    out->private_data = owner;
    return true;
}

void array_own(struct ArrowArray *array, int k, void *buffer)
{
    struct array_owner *owner = array->private_data;

    free(owner->owned[k]);
    owner->owned[k] = buffer;
    owner->buffers[k] = buffer;
}

void array_borrow(struct ArrowArray *array, int k, const void *buffer, struct array_memory *memory)
{
    struct array_owner *owner = array->private_data;

    owner->buffers[k] = buffer;
    if (owner->memory == NULL) {
        __atomic_add_fetch(&memory->refs, 1, __ATOMIC_RELAXED);
        owner->memory = memory;
    }
    assert(owner->memory == memory);
}

void *array_alloc(struct ArrowArray *array, int k, size_t bytes)
{
    char *buffer = malloc(bytes + ARRAY_PADDING);

    if (buffer != NULL) {
        memset(buffer + bytes, 0, ARRAY_PADDING);
        array_own(array, k, buffer);
    }
    return buffer;
}

uint64_t array_bytes_held(const struct ArrowArray *array, const struct type *type)
{
    uint64_t length = (uint64_t)(array->length + array->offset);
    uint64_t bytes = array->null_count != 0 && array->n_buffers > 0 && array->buffers[0] != NULL
                         ? (length + 7) / 8
                         : 0;

    if (type_is_bytes(type) || type->kind == TYPE_LIST) {
        bytes += (length + 1) * sizeof(int32_t);
        if (type_is_bytes(type) && length > 0) {
            bytes += (uint64_t)((const int32_t *)array->buffers[1])[length];
        }
    } else if (type->kind == TYPE_BOOL) {
        bytes += (length + 7) / 8;
    } else {
        bytes += length * type_width(type);
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        bytes += array_bytes_held(array->children[k], type->children[k]);
    }
    return bytes;
}

/* ---- runs ---- */

void runs_deinit(struct runs *runs)
{
    free(runs->items);
    memset(runs, 0, sizeof *runs);
}

static bool runs_reserve(struct runs *runs, size_t capacity)
{
    struct run *items;

    if (capacity <= runs->capacity) {
        return true;
    }
    items = realloc(runs->items, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    runs->items = items;
    runs->capacity = capacity;
    return true;
}

bool runs_add(struct runs *runs, uint32_t start, int64_t n)
{
    struct run *last = runs->n > 0 ? &runs->items[runs->n - 1] : NULL;

    if (n == 0) {
        return true;
    }
    assert(n > 0 && n <= COLUMN_ROWS_MAX);
    if (last != NULL &&
        (start == RUN_NULL ? last->start == RUN_NULL
                           : last->start != RUN_NULL && last->start + last->n == start) &&
        last->n + n <= COLUMN_ROWS_MAX) {
        last->n += (uint32_t)n;
    } else {
        if (runs->n == runs->capacity &&
            !runs_reserve(runs, runs->capacity == 0 ? 8 : runs->capacity * 2)) {
            return false;
        }
        runs->items[runs->n].start = start;
        runs->items[runs->n].n = (uint32_t)n;
        runs->n++;
    }
    runs->rows += n;
    runs->nulls += start == RUN_NULL ? n : 0;
    return true;
}

bool runs_of_rows(struct runs *runs, const uint32_t *rows, int64_t n)
{
    size_t count = n > 0 ? 1 : 0;
    size_t k = 0;

    for (int64_t i = 1; i < n; i++) {
        count += rows[i] != rows[i - 1] + 1 ? 1 : 0;
    }
    if (!runs_reserve(runs, count + 1)) {
        return false;
    }
    /* Selections are random to a branch predictor, so each row is written as if it began a run;
     * only those that do advance. First n is the run's place in rows, then the distance to the
     * next. */
    for (int64_t i = 0; i < n; i++) {
        runs->items[k].start = rows[i];
        runs->items[k].n = (uint32_t)i;
        k += i == 0 || rows[i] != rows[i - 1] + 1 ? 1 : 0;
    }
    assert(k == count);
    runs->items[count].n = (uint32_t)n;
    for (size_t i = 0; i < count; i++) {
        runs->items[i].n = runs->items[i + 1].n - runs->items[i].n;
    }
    runs->n = count;
    runs->rows = n;
    runs->nulls = 0;
    return true;
}

/* How many rows from i on (below end) are as valid as row i. */
static int64_t equal_bits(const uint8_t *bits, int64_t i, int64_t end, bool *set)
{
    int64_t begin = i;
    bool value = (bits[i >> 3] >> (i & 7) & 1) != 0;

    *set = value;
    while (i < end) {
        if ((i & 7) == 0 && end - i >= 64) {
            uint64_t word;
            memcpy(&word, bits + (i >> 3), sizeof word);
            word = value ? ~word : word;
            if (word == 0) {
                i += 64;
                continue;
            }
            i += __builtin_ctzll(word);
            break;
        }
        if (((bits[i >> 3] >> (i & 7) & 1) != 0) != value) {
            break;
        }
        i++;
    }
    return i - begin;
}

bool runs_split(struct runs *runs, const struct runs *from, const struct ArrowArray *array)
{
    const uint8_t *bits = array->buffers[0];

    for (size_t k = 0; k < from->n; k++) {
        const struct run *run = &from->items[k];
        int64_t end = (int64_t)run->start + run->n;
        if (run->start == RUN_NULL) {
            if (!runs_add(runs, RUN_NULL, run->n)) {
                return false;
            }
            continue;
        }
        assert(end <= array->length);
        for (int64_t i = run->start; i < end;) {
            bool set;
            int64_t n = equal_bits(bits, i + array->offset, end + array->offset, &set);
            if (!runs_add(runs, set ? (uint32_t)i : RUN_NULL, n)) {
                return false;
            }
            i += n;
        }
    }
    return true;
}

bool runs_of_items(struct runs *runs, const struct runs *from, const struct ArrowArray *list)
{
    for (size_t k = 0; k < from->n; k++) {
        const struct run *run = &from->items[k];
        const int32_t *offsets;
        if (run->start == RUN_NULL) {
            continue;
        }
        offsets = (const int32_t *)list->buffers[1] + list->offset + run->start;
        if (!runs_add(runs, (uint32_t)offsets[0], (int64_t)offsets[run->n] - offsets[0])) {
            return false;
        }
    }
    return true;
}

bool runs_of_members(struct runs *runs, const struct runs *from, const struct ArrowArray *parent)
{
    for (size_t k = 0; k < from->n; k++) {
        uint32_t start = from->items[k].start;
        if (!runs_add(runs, start == RUN_NULL ? RUN_NULL : (uint32_t)(start + parent->offset),
                      from->items[k].n)) {
            return false;
        }
    }
    return true;
}
