/* Arrays as offsets: see flat.h. */
#include "isolate/flat.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "data/typeInt.h"

#define PADDING 64u
#define ROWS_MAX INT32_MAX

struct node {
    int64_t length, null_count;
    uint64_t place[3]; /* of each buffer from the begin; 0 = NULL */
    uint64_t size[3];
};
_Static_assert(sizeof(struct node) == FLAT_ALIGN, "buffers begin at a multiple of FLAT_ALIGN");

static size_t aligned(size_t n)
{
    return (n + FLAT_ALIGN - 1) & ~(size_t)(FLAT_ALIGN - 1);
}

static size_t count_nodes(const struct type *type)
{
    size_t n = 1;

    for (uint32_t k = 0; k < type->n_children; k++) {
        n += count_nodes(type->children[k]);
    }
    return n;
}

static bool has_offsets(const struct type *type)
{
    return type_is_bytes(type) || type->kind == TYPE_LIST;
}

static int n_buffers(const struct type *type)
{
    return type_is_bytes(type) ? 3 : type->kind == TYPE_STRUCT ? 1 : 2;
}

/* ---- writing ---- */

/* Bytes of buffer k in this form. */
static size_t buffer_size(const struct ArrowArray *a, const struct type *type, int k)
{
    size_t length = (size_t)a->length;

    if (k == 0) {
        return a->null_count > 0 && length > 0 ? (length + 7) / 8 : 0;
    }
    if (k == 2) {
        const int32_t *offsets = a->buffers[1];
        return length == 0 ? 0 : (size_t)(offsets[length] - offsets[0]);
    }
    if (has_offsets(type)) {
        return (length + 1) * sizeof(int32_t);
    }
    return type->kind == TYPE_BOOL ? (length + 7) / 8 : length * type_width(type);
}

static size_t buffers_size(const struct ArrowArray *a, const struct type *type)
{
    size_t sum = 0;

    for (int k = 0; k < n_buffers(type); k++) {
        size_t size = buffer_size(a, type, k);
        sum += k == 0 && size == 0 ? 0 : aligned(size + PADDING);
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        sum += buffers_size(a->children[k], type->children[k]);
    }
    return sum;
}

size_t flat_size(const struct ArrowArray *a, const struct type *type)
{
    return count_nodes(type) * sizeof(struct node) + buffers_size(a, type);
}

struct sink {
    char *base;
    size_t end;
    struct node *node;
};

static void write_offsets(int32_t *to, const struct ArrowArray *a, const struct type *type)
{
    const int32_t *from = a->length > 0 ? a->buffers[1] : NULL;
    int32_t first = from == NULL || !type_is_bytes(type) ? 0 : from[0];

    if (from == NULL) {
        to[0] = 0;
        return;
    }
    if (first == 0) {
        memcpy(to, from, ((size_t)a->length + 1) * sizeof *to);
        return;
    }
    for (int64_t i = 0; i <= a->length; i++) {
        to[i] = from[i] - first;
    }
}

static void write_node(struct sink *sink, const struct ArrowArray *a, const struct type *type)
{
    struct node *node = sink->node++;

    memset(node, 0, sizeof *node);
    node->length = a->length;
    node->null_count = a->length > 0 ? a->null_count : 0;
    for (int k = 0; k < n_buffers(type); k++) {
        size_t size = buffer_size(a, type, k);
        char *to = sink->base + sink->end;
        if (k == 0 && size == 0) {
            continue;
        }
        if (k == 1 && has_offsets(type)) {
            write_offsets((int32_t *)(void *)to, a, type);
        } else if (size > 0) {
            const char *from = a->buffers[k];
            memcpy(to, k == 2 ? from + ((const int32_t *)a->buffers[1])[0] : from, size);
        }
        memset(to + size, 0, PADDING);
        node->place[k] = sink->end;
        node->size[k] = size;
        sink->end += aligned(size + PADDING);
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        write_node(sink, a->children[k], type->children[k]);
    }
}

void flat_write(const struct ArrowArray *a, const struct type *type, char *to)
{
    struct sink sink = { .base = to,
                         .end = count_nodes(type) * sizeof(struct node),
                         .node = (struct node *)(void *)to };

    write_node(&sink, a, type);
}

/* ---- reading ---- */

/* One for a tree: each array in it holds a reference, as children may be moved out. */
struct flat_memory {
    _Atomic size_t refs;
    void *bytes; /* owned, or NULL */
};

struct place { /* of one array of the tree */
    struct ArrowArray array;
    const void *buffers[3];
};

static void memory_unref(struct flat_memory *memory)
{
    if (atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) == 1) {
        free(memory->bytes);
        free(memory);
    }
}

static void release(struct ArrowArray *array)
{
    struct flat_memory *memory = array->private_data;

    for (int64_t k = 0; k < array->n_children; k++) {
        if (array->children[k]->release != NULL) {
            array->children[k]->release(array->children[k]);
        }
    }
    array->release = NULL;
    array->private_data = NULL;
    memory_unref(memory);
}

struct source {
    const char *base;
    size_t n, n_nodes, next;
    struct place *places;
    struct ArrowArray **pointers; /* n_nodes of them: children lists are cut from here */
    size_t next_pointer;
    struct flat_memory *memory;
    const char *fault;
};

static bool fault(struct source *source, const char *what)
{
    source->fault = what;
    return false;
}

/* Is the buffer there, aligned, and as large as the rows ask for? */
static bool read_buffer(struct source *source, const struct node *node, int k, size_t least,
                        const void **out)
{
    size_t place = node->place[k];
    size_t size = node->size[k];

    if (place % FLAT_ALIGN != 0 || place < source->n_nodes * sizeof *node || place > source->n ||
        source->n - place < PADDING || size > source->n - place - PADDING) {
        return fault(source, "a buffer lies outside its memory");
    }
    if (size < least) {
        return fault(source, "a buffer is shorter than its rows");
    }
    *out = source->base + place;
    return true;
}

static bool read_buffers(struct source *source, const struct node *node, const struct type *type,
                         struct place *place)
{
    size_t length = (size_t)node->length;
    size_t least = has_offsets(type)           ? (length + 1) * sizeof(int32_t)
                   : type->kind == TYPE_BOOL   ? (length + 7) / 8
                   : type->kind == TYPE_STRUCT ? 0
                                               : length * type_width(type);

    if (node->null_count > 0 &&
        !read_buffer(source, node, 0, (length + 7) / 8, &place->buffers[0])) {
        return false;
    }
    if (n_buffers(type) > 1 && !read_buffer(source, node, 1, least, &place->buffers[1])) {
        return false;
    }
    if (n_buffers(type) > 2) {
        int32_t last = ((const int32_t *)place->buffers[1])[length];
        return read_buffer(source, node, 2, last > 0 ? (size_t)last : 0, &place->buffers[2]);
    }
    return true;
}

static bool read_node(struct source *source, const struct type *type, struct ArrowArray **out)
{
    size_t index = source->next++;
    struct place *place = &source->places[index];
    struct ArrowArray *array = &place->array;
    struct node node;

    memcpy(&node, source->base + index * sizeof node, sizeof node);
    if (node.length < 0 || node.length > ROWS_MAX || node.null_count < 0 ||
        node.null_count > node.length) {
        return fault(source, "an array has a wrong number of rows or nulls");
    }
    array->length = node.length;
    array->null_count = node.null_count;
    array->n_buffers = n_buffers(type);
    array->buffers = place->buffers;
    array->n_children = type->n_children;
    array->children = source->pointers + source->next_pointer;
    source->next_pointer += type->n_children;
    array->release = release;
    array->private_data = source->memory;
    if (!read_buffers(source, &node, type, place)) {
        return false;
    }
    *out = array;
    for (uint32_t k = 0; k < type->n_children; k++) {
        if (!read_node(source, type->children[k], &array->children[k])) {
            return false;
        }
    }
    return true;
}

void *flat_alloc(size_t n)
{
    return n > SIZE_MAX / 2 ? NULL : aligned_alloc(FLAT_ALIGN, aligned(n > 0 ? n : 1));
}

sluice_status flat_read(const char *from, size_t n, const struct type *type, void *free_with,
                        struct ArrowArray *out, struct sluice_error *err)
{
    struct source source = { .base = from, .n = n, .n_nodes = count_nodes(type) };
    struct ArrowArray *root;

    memset(out, 0, sizeof *out);
    if (!type_supported(type) || (uintptr_t)from % FLAT_ALIGN != 0 ||
        n / sizeof(struct node) < source.n_nodes) {
        return error_set(err, SLUICE_E_INTERNAL, "a batch of %zu bytes is too short for its type",
                         n);
    }
    /* The tree and what counts it are one piece, freed with the last array. */
    source.memory =
        calloc(1, sizeof *source.memory + source.n_nodes * (sizeof(struct place) + sizeof(void *)));
    if (source.memory == NULL) {
        return error_nomem(err, "a batch");
    }
    source.places = (struct place *)(void *)(source.memory + 1);
    source.pointers = (struct ArrowArray **)(void *)(source.places + source.n_nodes);
    if (!read_node(&source, type, &root)) {
        free(source.memory);
        return error_set(err, SLUICE_E_INTERNAL, "a batch is malformed: %s", source.fault);
    }
    atomic_init(&source.memory->refs, source.n_nodes);
    source.memory->bytes = free_with;
    *out = *root;
    return SLUICE_OK;
}
