/* run/edge: the bytes of edge files against a plain implementation, whatever the cuts and the
 * memory; every way of reading them; damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/array_kit.h"
#include "tests/unit/edge_kit.h"

#include "base/buf.h"
#include "data/frame.h"
#include "run/edge/edge.h"
#include "run/edge/rowcodec.h"
#include "store/disk.h"

/* Rounds are left out where a sanitizer makes each one slow. */
#if defined(__SANITIZE_THREAD__)
#define SLOWER 10
#elif defined(__SANITIZE_ADDRESS__)
#define SLOWER 4
#else
#define SLOWER 1
#endif

#define MASK (((uint64_t)1 << 40) - 1)
#define COLUMNS_MAX 40

/* ---- tables of rows to store ---- */

struct table {
    struct schema schema;
    const struct type *types[COLUMNS_MAX];
    struct column *columns[COLUMNS_MAX];
    int64_t rows;
};

static struct column *column_of(struct builder *builder)
{
    struct ArrowArray array;
    struct column *column;

    MUST(builder_finish(builder, &array, &error));
    builder_destroy(builder);
    column = column_create(&array);
    assert_non_null(column);
    return column;
}

enum special { SPECIAL_NONE, SPECIAL_KEY, SPECIAL_ROW, SPECIAL_POS, SPECIAL_TEXT };

static struct column *special_column(struct kit_random *r, enum special special,
                                     const struct type *type, int64_t rows, uint32_t partitions,
                                     bool clustered)
{
    struct builder *builder;

    MUST(builder_create(type, &builder, &error));
    for (int64_t i = 0; i < rows; i++) {
        if (special == SPECIAL_KEY) {
            uint64_t key[2] = { kit_next(r), 0 };
            if (clustered) {
                key[0] = (uint64_t)kit_below(r, 7) * 0x25;
            }
            assert_true(builder_bytes_add(builder, key, 16));
        } else if (special == SPECIAL_ROW) {
            assert_true(builder_uint(builder, (uint64_t)i * 3 + 1));
        } else if (special == SPECIAL_POS) {
            uint64_t split =
                clustered ? (uint64_t)(i * partitions / rows) : (uint64_t)kit_below(r, partitions);
            assert_true(builder_uint(builder,
                                     split << 40 | (uint64_t)(clustered ? i : kit_below(r, 1000))));
        } else {
            static char text[700000];
            size_t n =
                kit_below(r, 400) == 0 ? (size_t)kit_below(r, 600000) : (size_t)kit_below(r, 300);
            memset(text, (int)('a' + i % 26), n);
            if (n > 20) {
                snprintf(text + 1, 19, "%018lld", (long long)kit_next(r));
            }
            assert_true(builder_bytes_add(builder, text, n));
        }
    }
    return column_of(builder);
}

static void table_add(struct table *t, struct kit_random *r, const char *name, const char *type,
                      enum special special, uint32_t partitions, bool clustered)
{
    struct type *parsed = kit_type(type);
    uint32_t k = t->schema.n;

    MUST(schema_add(&t->schema, name, parsed, NULL, &error));
    type_destroy(parsed);
    t->types[k] = t->schema.fields[k].type;
    t->columns[k] = special == SPECIAL_NONE
                        ? kit_column(r, t->types[k], t->rows)
                        : special_column(r, special, t->types[k], t->rows, partitions, clustered);
}

/* key, _row or _pos as asked for, then columns of random types. */
static struct table table_create(struct kit_random *r, int64_t rows, bool key, bool row, bool pos,
                                 bool text, uint32_t others, uint32_t partitions)
{
    struct table t = { .rows = rows };
    bool clustered = kit_below(r, 2) == 0;

    schema_init(&t.schema);
    if (key) {
        table_add(&t, r, "key", "fixed[16]", SPECIAL_KEY, partitions, clustered);
    }
    if (text) {
        table_add(&t, r, "text", "utf8", SPECIAL_TEXT, 0, false);
    }
    for (uint32_t k = 0; k < others; k++) {
        char name[20];
        snprintf(name, sizeof name, "c%u", k);
        if (k == others / 2 && row) {
            table_add(&t, r, "_row", "uint64", SPECIAL_ROW, 0, false);
        }
        if (k == others / 2 && pos) {
            table_add(&t, r, "_pos", "uint64", SPECIAL_POS, partitions, clustered);
        }
        table_add(&t, r, name, kit_types[kit_below(r, (int64_t)KIT_TYPES)], SPECIAL_NONE, 0, false);
    }
    if (others == 0 && row) {
        table_add(&t, r, "_row", "uint64", SPECIAL_ROW, 0, false);
    }
    if (others == 0 && pos) {
        table_add(&t, r, "_pos", "uint64", SPECIAL_POS, partitions, clustered);
    }
    return t;
}

static void table_destroy(struct table *t)
{
    for (uint32_t k = 0; k < t->schema.n; k++) {
        column_unref(t->columns[k]);
    }
    schema_deinit(&t->schema);
}

static const struct ArrowArray *table_array(const struct table *t, const char *name)
{
    return &t->columns[schema_find(&t->schema, name)]->array;
}

/* ---- the plain implementation ---- */

static uint64_t plain_size(const struct type *type, const struct ArrowArray *a, int64_t row,
                           bool null)
{
    uint64_t size = 0;

    null = null || kit_null(a, row);
    if (type->kind == TYPE_BOOL) {
        return 1;
    }
    if (kit_width(type) > 0) {
        return kit_width(type);
    }
    if (kit_is_bytes(type)) {
        size_t n = 0;
        if (!null) {
            array_bytes(a, row, &n);
        }
        return 4 + n;
    }
    if (type->kind == TYPE_LIST) {
        const int32_t *offsets = a->buffers[1];
        for (int32_t i = offsets[row]; !null && i < offsets[row + 1]; i++) {
            size += plain_size(type->children[0], a->children[0], i, false);
        }
        return 4 + size;
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        size += plain_size(type->children[k], a->children[k], row, null);
    }
    return 1 + size;
}

static uint64_t row_size(const struct table *t, int64_t row)
{
    uint64_t size = 0;

    for (uint32_t k = 0; k < t->schema.n; k++) {
        size += plain_size(t->types[k], &t->columns[k]->array, row, false);
    }
    return size;
}

struct made {
    struct buf bytes;
    struct edge_directory directory;
};

static void made_deinit(struct made *m)
{
    buf_deinit(&m->bytes);
    edge_directory_deinit(&m->directory);
}

static uint32_t plain_partition(enum edge_partition how, const struct table *t, int64_t row,
                                uint32_t n)
{
    if (how == EDGE_BY_KEY) {
        const uint8_t *key = (const uint8_t *)table_array(t, "key")->buffers[1] + row * 16;
        uint64_t high =
            (uint64_t)key[0] << 24 | (uint64_t)key[1] << 16 | (uint64_t)key[2] << 8 | key[3];
        return (uint32_t)(high * n >> 32);
    }
    return how == EDGE_SINGLE
               ? 0
               : (uint32_t)(((const uint64_t *)table_array(t, "_pos")->buffers[1])[row] >> 40);
}

struct plain_frame {
    uint32_t partition;
    uint32_t *rows;
    int64_t n;
};

/* The table as it is stored: _pos without its high bits. */
static struct column *plain_column(const struct table *t, uint32_t k, enum edge_partition how,
                                   const uint32_t *rows, int64_t n)
{
    struct column *column;

    MUST(column_gather(t->columns[k], t->types[k], rows, n, &column, &error));
    if (how == EDGE_BY_SPLIT && strcmp(t->schema.fields[k].name, "_pos") == 0) {
        struct builder *builder;
        MUST(builder_create(t->types[k], &builder, &error));
        for (int64_t i = 0; i < n; i++) {
            assert_true(
                builder_uint(builder, ((const uint64_t *)column->array.buffers[1])[i] & MASK));
        }
        column_unref(column);
        column = column_of(builder);
    }
    return column;
}

static void plain_put(struct made *m, const struct table *t, enum edge_partition how, uint32_t p,
                      const uint32_t *rows, int64_t n, struct edge_frame *frames, uint32_t *parts,
                      uint32_t *n_frames)
{
    struct frame_codec *codec = frame_codec_create();
    struct column *columns[COLUMNS_MAX];
    struct batch *batch;
    size_t begin = m->bytes.size;

    for (uint32_t k = 0; k < t->schema.n; k++) {
        columns[k] = plain_column(t, k, how, rows, n);
    }
    batch = batch_create(n, t->schema.n, columns);
    MUST(frame_encode(codec, batch, t->types, &m->bytes, &error));
    batch_unref(batch);
    frame_codec_destroy(codec);
    frames[*n_frames] = (struct edge_frame){ begin, m->bytes.size - begin };
    parts[(*n_frames)++] = p;
    m->directory.slices[p].rows += (uint64_t)n;
    m->directory.slices[p].n_frames++;
}

struct ordered {
    uint64_t position;
    uint32_t row;
    uint32_t order;
};

static int ordered_compare(const void *a, const void *b)
{
    const struct ordered *x = a;
    const struct ordered *y = b;

    if (x->position != y->position) {
        return x->position < y->position ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

/* The file for n rows of the table. */
static struct made plain_write(const struct table *t, enum edge_partition how,
                               uint32_t n_partitions, const uint32_t *added, int64_t n)
{
    struct made m = { .bytes = BUF_INIT };
    uint32_t **open = calloc(n_partitions, sizeof *open);
    int64_t *open_n = calloc(n_partitions, sizeof *open_n);
    uint64_t *open_bytes = calloc(n_partitions, sizeof *open_bytes);
    struct edge_frame *frames = calloc((size_t)n + 1, sizeof *frames);
    uint32_t *parts = calloc((size_t)n + 1, sizeof *parts);
    struct ordered *order = calloc((size_t)n + 1, sizeof *order);
    uint32_t n_frames = 0;
    uint32_t at = 0;

    m.directory.slices = calloc(n_partitions, sizeof *m.directory.slices);
    m.directory.n_partitions = n_partitions;
    for (uint32_t i = 0; i < n; i++) {
        order[i] =
            (struct ordered){ how == EDGE_BY_SPLIT
                                  ? ((const uint64_t *)table_array(t, "_pos")->buffers[1])[added[i]]
                                  : 0,
                              added[i], i };
    }
    qsort(order, (size_t)n, sizeof *order, ordered_compare);
    for (uint32_t p = 0; p < n_partitions; p++) {
        open[p] = malloc(EDGE_FRAME_ROWS * sizeof **open);
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t row = order[i].row;
        uint32_t p = plain_partition(how, t, row, n_partitions);
        if (how == EDGE_BY_SPLIT && i > 0) {
            /* One partition is complete before the next begins. */
            uint32_t before = plain_partition(how, t, order[i - 1].row, n_partitions);
            if (before != p && open_n[before] > 0) {
                plain_put(&m, t, how, before, open[before], open_n[before], frames, parts,
                          &n_frames);
                open_n[before] = 0;
            }
        }
        open[p][open_n[p]++] = row;
        open_bytes[p] += row_size(t, row);
        if (open_n[p] == EDGE_FRAME_ROWS || open_bytes[p] >= EDGE_FRAME_BYTES) {
            plain_put(&m, t, how, p, open[p], open_n[p], frames, parts, &n_frames);
            open_n[p] = 0;
            open_bytes[p] = 0;
        }
    }
    for (uint32_t p = 0; p < n_partitions; p++) {
        if (open_n[p] > 0) {
            plain_put(&m, t, how, p, open[p], open_n[p], frames, parts, &n_frames);
        }
    }
    m.directory.frames = calloc((size_t)n_frames + 1, sizeof *frames);
    m.directory.n_frames = n_frames;
    for (uint32_t p = 0; p < n_partitions; p++) {
        struct edge_slice *slice = &m.directory.slices[p];
        struct buf slice_bytes = BUF_INIT;
        if (slice->n_frames > 0) {
            slice->first_frame = at;
        }
        for (uint32_t k = 0; k < n_frames; k++) {
            if (parts[k] == p) {
                m.directory.frames[at++] = frames[k];
                buf_append(&slice_bytes, m.bytes.data + frames[k].offset, frames[k].bytes);
            }
        }
        if (slice->n_frames > 0) {
            slice->hash = hash_bytes(slice_bytes.data, slice_bytes.size);
        }
        buf_deinit(&slice_bytes);
        free(open[p]);
    }
    free(open);
    free(open_n);
    free(open_bytes);
    free(frames);
    free(parts);
    free(order);
    return m;
}

static void assert_directories_equal(const struct edge_directory *a, const struct edge_directory *b)
{
    assert_int_equal(a->n_partitions, b->n_partitions);
    assert_int_equal(a->n_frames, b->n_frames);
    for (uint32_t p = 0; p < a->n_partitions; p++) {
        assert_int_equal(a->slices[p].rows, b->slices[p].rows);
        assert_int_equal(a->slices[p].n_frames, b->slices[p].n_frames);
        assert_int_equal(a->slices[p].first_frame, b->slices[p].first_frame);
        assert_true(hash_equal(a->slices[p].hash, b->slices[p].hash));
        assert_true(a->slices[p].rows > 0 || hash_is_zero(a->slices[p].hash));
    }
    for (uint32_t k = 0; k < a->n_frames; k++) {
        assert_int_equal(a->frames[k].offset, b->frames[k].offset);
        assert_int_equal(a->frames[k].bytes, b->frames[k].bytes);
    }
}

/* ---- writing ---- */

static sluice_status sink_append(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct buf *buf = ctx;

    buf_append(buf, data, n);
    return buf_status(buf, err);
}

/* Writes the rows in batches cut at random places; rows that are not to be added are left out by
 * selections. */
static struct made write_cut(struct kit_random *r, const struct table *t, enum edge_partition how,
                             uint32_t n_partitions, const uint32_t *added, int64_t n,
                             const char *dir, uint64_t memory)
{
    struct made m = { .bytes = BUF_INIT };
    struct edge_spec spec = { how, n_partitions, &t->schema };
    struct edge_sink sink = { &m.bytes, sink_append };
    struct edge_writer *writer;
    int64_t most = kit_below(r, 3) == 0 ? 10 : kit_below(r, 2) == 0 ? 500 : 30000;
    uint32_t columns = t->schema.n;
    int32_t slots[COLUMNS_MAX];

    MUST(edge_writer_open(&spec, sink, dir, memory, &writer, &error));
    for (int64_t i = 0; i < n;) {
        int64_t count = 1 + kit_below(r, most);
        uint32_t shift = (uint32_t)kit_below(r, 3); /* columns that nobody stores */
        struct column *cut[COLUMNS_MAX * 2];
        struct batch *batch;
        struct batch *selected = NULL;
        bool gathered = kit_below(r, 2) == 0; /* the rows alone, else a selection of all */
        count = count > n - i ? n - i : count;
        for (uint32_t k = 0; k < columns + shift; k++) {
            cut[k] = NULL;
        }
        for (uint32_t k = 0; k < columns; k++) {
            uint32_t slot = (k + shift) % (columns + shift);
            slots[k] = (int32_t)slot;
            if (gathered) {
                MUST(column_gather(t->columns[k], t->types[k], added + i, count, &cut[slot],
                                   &error));
            } else {
                cut[slot] = column_ref(t->columns[k]);
            }
        }
        batch = batch_create(gathered ? count : t->rows, columns + shift, cut);
        if (!gathered) {
            selected = batch_select(batch, added + i, count);
        }
        MUST(edge_writer_add(writer, selected != NULL ? selected : batch, slots, &error));
        batch_unref(selected);
        batch_unref(batch);
        i += count;
    }
    MUST(edge_writer_finish(writer, &m.directory, &error));
    edge_writer_destroy(writer);
    return m;
}

static uint32_t *choose_rows(struct kit_random *r, int64_t rows, int64_t *n)
{
    uint32_t *chosen = malloc((size_t)(rows + 1) * sizeof *chosen);
    bool all = kit_below(r, 2) == 0;

    *n = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (all || kit_below(r, 4) > 0) {
            chosen[(*n)++] = (uint32_t)i;
        }
    }
    return chosen;
}

static const uint64_t memories[] = { 0, 256 << 10, 4 << 20, 256 << 20 };

static void check_writing(struct kit_random *r, enum edge_partition how, uint32_t n_partitions,
                          int64_t rows, bool text, uint32_t others, const char *dir)
{
    struct table t = table_create(r, rows, how == EDGE_BY_KEY, false, how == EDGE_BY_SPLIT, text,
                                  others, n_partitions);
    int64_t n;
    uint32_t *added = choose_rows(r, rows, &n);
    struct made expected = plain_write(&t, how, n_partitions, added, n);

    for (size_t k = 0; k < sizeof memories / sizeof memories[0]; k++) {
        struct made m = write_cut(r, &t, how, n_partitions, added, n, dir, memories[k]);
        assert_int_equal(m.bytes.size, expected.bytes.size);
        assert_true(m.bytes.size == 0 ||
                    memcmp(m.bytes.data, expected.bytes.data, m.bytes.size) == 0);
        assert_directories_equal(&m.directory, &expected.directory);
        made_deinit(&m);
    }
    made_deinit(&expected);
    free(added);
    table_destroy(&t);
}

static void test_single_bytes(void **state)
{
    struct kit_random r = { 31 };
    char *dir = folder_create();

    (void)state;
    for (int round = 0; round < 12; round++) {
        check_writing(&r, EDGE_SINGLE, 1, round < 3 ? round : kit_below(&r, 30000), round % 2 == 0,
                      (uint32_t)kit_below(&r, 4), dir);
    }
    folder_remove(dir);
}

static void test_by_key_bytes(void **state)
{
    struct kit_random r = { 32 };
    char *dir = folder_create();

    (void)state;
    for (int round = 0; round < 12; round++) {
        uint32_t partitions =
            round % 3 == 0 ? 1 : 1 + (uint32_t)kit_below(&r, round % 3 == 1 ? 7 : 300);
        check_writing(&r, EDGE_BY_KEY, partitions, round < 3 ? round : kit_below(&r, 40000),
                      round % 2 == 0, (uint32_t)kit_below(&r, 4), dir);
    }
    folder_remove(dir);
}

static void test_by_split_bytes(void **state)
{
    struct kit_random r = { 33 };
    char *dir = folder_create();

    (void)state;
    for (int round = 0; round < 12; round++) {
        uint32_t partitions = 1 + (uint32_t)kit_below(&r, round % 3 == 0   ? 1
                                                          : round % 3 == 1 ? 5
                                                                           : 500);
        check_writing(&r, EDGE_BY_SPLIT, partitions, round < 3 ? round : kit_below(&r, 20000),
                      round % 2 == 0, (uint32_t)kit_below(&r, 4), dir);
    }
    folder_remove(dir);
}

/* All types at once, and no columns at all. */
static void test_all_types(void **state)
{
    struct kit_random r = { 34 };
    char *dir = folder_create();

    (void)state;
    for (int how = EDGE_SINGLE; how <= EDGE_BY_SPLIT; how++) {
        struct table t = { .rows = 3000 };
        uint32_t *added = NULL;
        struct made expected;
        int64_t n;
        schema_init(&t.schema);
        if (how != EDGE_SINGLE) {
            table_add(&t, &r, how == EDGE_BY_KEY ? "key" : "_pos",
                      how == EDGE_BY_KEY ? "fixed[16]" : "uint64",
                      how == EDGE_BY_KEY ? SPECIAL_KEY : SPECIAL_POS, 3, false);
        }
        for (uint32_t k = 0; k < KIT_TYPES; k++) {
            char name[20];
            snprintf(name, sizeof name, "c%u", k);
            table_add(&t, &r, name, kit_types[k], SPECIAL_NONE, 0, false);
        }
        added = choose_rows(&r, t.rows, &n);
        expected = plain_write(&t, (enum edge_partition)how, how == EDGE_SINGLE ? 1 : 3, added, n);
        for (size_t k = 0; k < 6; k++) {
            struct made m = write_cut(&r, &t, (enum edge_partition)how, how == EDGE_SINGLE ? 1 : 3,
                                      added, n, dir, memories[k % 4]);
            assert_int_equal(m.bytes.size, expected.bytes.size);
            assert_memory_equal(m.bytes.data, expected.bytes.data, m.bytes.size);
            assert_directories_equal(&m.directory, &expected.directory);
            made_deinit(&m);
        }
        made_deinit(&expected);
        free(added);
        table_destroy(&t);
    }
    check_writing(&r, EDGE_SINGLE, 1, 20000, false, 0, dir);
    folder_remove(dir);
}

/* ---- reading ---- */

#define FILES_MAX 40

/* Edge files of one table each, with one schema. */
struct files {
    size_t n;
    struct table tables[FILES_MAX];
    struct made made[FILES_MAX];
    char paths[FILES_MAX][256];
    struct schema stored;
};

static void put_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_true(n == 0 || fwrite(data, 1, n, file) == n);
    assert_int_equal(fclose(file), 0);
}

static void files_create(struct files *f, struct kit_random *r, size_t n, enum edge_partition how,
                         uint32_t partitions, bool key, int64_t rows, bool text, uint32_t others,
                         const char *dir)
{
    uint64_t seed = kit_next(r);

    f->n = n;
    for (size_t i = 0; i < n; i++) {
        struct kit_random same = { seed };
        struct table *t = &f->tables[i];
        struct table like = table_create(&same, 0, key, how != EDGE_BY_SPLIT, how == EDGE_BY_SPLIT,
                                         text, others, partitions);
        *t = (struct table){ .rows = kit_below(r, 4) == 0 ? 0 : kit_below(r, rows) };
        schema_init(&t->schema);
        for (uint32_t k = 0; k < like.schema.n; k++) {
            const char *name = like.schema.fields[k].name;
            char *type = type_print(like.types[k]);
            enum special special = strcmp(name, "key") == 0    ? SPECIAL_KEY
                                   : strcmp(name, "_row") == 0 ? SPECIAL_ROW
                                   : strcmp(name, "_pos") == 0 ? SPECIAL_POS
                                   : strcmp(name, "text") == 0 ? SPECIAL_TEXT
                                                               : SPECIAL_NONE;
            table_add(t, r, name, type, special, partitions, kit_below(r, 2) == 0);
            free(type);
        }
        table_destroy(&like);
        {
            uint32_t *all = malloc((size_t)(t->rows + 1) * sizeof *all);
            for (int64_t k = 0; k < t->rows; k++) {
                all[k] = (uint32_t)k;
            }
            f->made[i] = write_cut(r, t, how, partitions, all, t->rows, dir, 64 << 20);
            free(all);
        }
        snprintf(f->paths[i], sizeof f->paths[i], "%s/edge-%zu", dir, i);
        put_file(f->paths[i], f->made[i].bytes.data, f->made[i].bytes.size);
    }
    MUST(schema_copy(&f->stored, &f->tables[0].schema, &error));
    if (how == EDGE_BY_SPLIT) {
        int32_t pos = schema_find(&f->stored, "_pos");
        free(f->stored.fields[pos].name);
        f->stored.fields[pos].name = strdup("_row");
    }
}

static void files_destroy(struct files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        table_destroy(&f->tables[i]);
        made_deinit(&f->made[i]);
        unlink(f->paths[i]);
    }
    schema_deinit(&f->stored);
}

static size_t files_inputs(const struct files *f, uint32_t partition, struct edge_input *inputs)
{
    for (size_t i = 0; i < f->n; i++) {
        inputs[i] = (struct edge_input){ f->paths[i], &f->made[i].directory, partition,
                                         (uint32_t)(i * 5 + 2) };
    }
    return f->n;
}

/* One row that a reader should give. */
struct expected {
    uint8_t key[16];
    uint64_t position; /* to sort by: _pos or _row */
    uint64_t row;
    uint32_t file, index, order;
};

static int expected_compare(const void *a, const void *b)
{
    const struct expected *x = a;
    const struct expected *y = b;
    int keys = memcmp(x->key, y->key, 16);

    if (keys != 0) {
        return keys;
    }
    if (x->position != y->position) {
        return x->position < y->position ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

/* The rows of a partition, file after file in stored order. */
static struct expected *expect(const struct files *f, enum edge_partition how, uint32_t partitions,
                               uint32_t partition, bool keyed, size_t *n)
{
    size_t total = 1;
    struct expected *rows;

    for (size_t i = 0; i < f->n; i++) {
        total += (size_t)f->tables[i].rows;
    }
    rows = calloc(total, sizeof *rows);
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct table *t = &f->tables[i];
        size_t begin = *n;
        for (int64_t k = 0; k < t->rows; k++) {
            struct expected *row = &rows[*n];
            if (plain_partition(how, t, k, partitions) != partition) {
                continue;
            }
            *row = (struct expected){ .file = (uint32_t)i,
                                      .index = (uint32_t)k,
                                      .order = (uint32_t)*n };
            row->row = ((const uint64_t *)table_array(t, how == EDGE_BY_SPLIT ? "_pos" : "_row")
                            ->buffers[1])[k] &
                       MASK;
            row->position = row->row;
            if (keyed) {
                memcpy(row->key, (const char *)table_array(t, "key")->buffers[1] + k * 16, 16);
                row->position |= (uint64_t)(i * 5 + 2) << 40;
            }
            ++*n;
        }
        if (how == EDGE_BY_SPLIT) {
            qsort(rows + begin, *n - begin, sizeof *rows, expected_compare);
            for (size_t k = begin; k < *n; k++) {
                rows[k].order = (uint32_t)k;
            }
        }
    }
    return rows;
}

static void check_reader(struct edge_reader *reader, const struct files *f,
                         const struct expected *rows, size_t n, bool positions)
{
    uint32_t columns = f->stored.n;
    size_t at = 0;
    struct batch *batch;

    for (;;) {
        MUST(edge_reader_next(reader, &batch, &error));
        if (batch == NULL) {
            break;
        }
        assert_true(batch->length > 0);
        assert_null(batch->rows);
        assert_int_equal(batch->n_columns, columns + (positions ? 1 : 0));
        for (uint32_t k = 0; k < columns; k++) {
            kit_assert_invariants(&batch->columns[k]->array, f->stored.fields[k].type);
        }
        for (int64_t i = 0; i < batch->length; i++, at++) {
            assert_true(at < n);
            for (uint32_t k = 0; k < columns; k++) {
                const struct ArrowArray *got = &batch->columns[k]->array;
                if (strcmp(f->stored.fields[k].name, "_row") == 0) {
                    assert_int_equal(((const uint64_t *)got->buffers[1])[i], rows[at].row);
                } else {
                    assert_true(kit_rows_equal(got, i, &f->tables[rows[at].file].columns[k]->array,
                                               rows[at].index, f->stored.fields[k].type));
                }
            }
            if (positions) {
                assert_int_equal(((const uint64_t *)batch->columns[columns]->array.buffers[1])[i],
                                 (uint64_t)(rows[at].file * 5 + 2) << 40 | rows[at].row);
            }
        }
        batch_unref(batch);
    }
    assert_int_equal(at, n);
    MUST(edge_reader_next(reader, &batch, &error));
    assert_null(batch);
    edge_reader_close(reader);
}

static void test_reading_in_order(void **state)
{
    struct kit_random r = { 41 };
    char *dir = folder_create();

    (void)state;
    for (int round = 0; round < 10; round++) {
        struct files f;
        struct edge_input inputs[FILES_MAX];
        struct edge_reader *reader;
        struct expected *rows;
        size_t n;
        files_create(&f, &r, 1 + (size_t)kit_below(&r, 4), EDGE_SINGLE, 1, false, 20000,
                     round % 2 == 0, (uint32_t)kit_below(&r, 4), dir);
        rows = expect(&f, EDGE_SINGLE, 1, 0, false, &n);
        MUST(edge_reader_open(&f.stored, inputs, files_inputs(&f, 0, inputs), &reader, &error));
        check_reader(reader, &f, rows, n, false);
        MUST(edge_reader_open_positions(&f.stored, inputs, f.n, &reader, &error));
        check_reader(reader, &f, rows, n, true);
        MUST(edge_reader_open_positions(&f.stored, inputs, 0, &reader, &error));
        check_reader(reader, &f, rows, 0, true);
        free(rows);
        files_destroy(&f);
    }
    folder_remove(dir);
}

static void test_reading_by_key(void **state)
{
    struct kit_random r = { 42 };
    char *dir = folder_create();

    (void)state;
    for (int round = 0; round < 10; round++) {
        struct files f;
        uint32_t partitions = 1 + (uint32_t)kit_below(&r, 4);
        files_create(&f, &r, 1 + (size_t)kit_below(&r, 5), EDGE_BY_KEY, partitions, true, 20000,
                     round % 3 == 0, (uint32_t)round % 4, dir);
        for (uint32_t p = 0; p < partitions; p++) {
            struct edge_input inputs[FILES_MAX];
            size_t n;
            struct expected *rows = expect(&f, EDGE_BY_KEY, partitions, p, true, &n);
            qsort(rows, n, sizeof *rows, expected_compare);
            for (size_t m = 0; m < 4; m++) {
                struct edge_reader *reader;
                MUST(edge_reader_open_keyed(&f.stored, inputs, files_inputs(&f, p, inputs), dir,
                                            memories[m], &reader, &error));
                check_reader(reader, &f, rows, n, true);
            }
            free(rows);
        }
        files_destroy(&f);
    }
    folder_remove(dir);
}

static void test_reading_merged(void **state)
{
    struct kit_random r = { 43 };
    char *dir = folder_create();

    (void)state;
    for (int round = 0; round < 10; round++) {
        struct files f;
        uint32_t partitions = 1 + (uint32_t)kit_below(&r, 4);
        size_t n_files = round == 0 ? 1 : round == 1 ? FILES_MAX : 1 + (size_t)kit_below(&r, 5);
        files_create(&f, &r, n_files, EDGE_BY_SPLIT, partitions, false, round == 1 ? 300 : 15000,
                     round % 3 == 0, (uint32_t)round % 4, dir);
        for (uint32_t p = 0; p < partitions; p++) {
            struct edge_input inputs[FILES_MAX];
            size_t n;
            struct expected *rows = expect(&f, EDGE_BY_SPLIT, partitions, p, false, &n);
            qsort(rows, n, sizeof *rows, expected_compare);
            for (size_t m = 0; m < 4; m++) {
                struct edge_reader *reader;
                /* Under its stored name and under the one that the writer was given. */
                const struct schema *schema = m % 2 == 0 ? &f.stored : &f.tables[0].schema;
                MUST(edge_reader_open_merged(schema, inputs, files_inputs(&f, p, inputs), dir,
                                             memories[m], &reader, &error));
                check_reader(reader, &f, rows, n, false);
            }
            free(rows);
        }
        files_destroy(&f);
    }
    folder_remove(dir);
}

/* Slices of one file after the other, and thousands of inputs with few descriptors. */
static void test_many_inputs(void **state)
{
    struct kit_random r = { 44 };
    char *dir = folder_create();
    struct files f;
    struct edge_input *inputs = calloc(5000, sizeof *inputs);
    struct edge_reader *reader;
    struct batch *batch;
    uint64_t rows = 0;
    uint64_t expected = 0;
    size_t open_before;
    struct disk_names names;

    (void)state;
    files_create(&f, &r, 8, EDGE_BY_KEY, 7, true, 500, false, 1, dir);
    for (size_t i = 0; i < 5000; i++) {
        inputs[i] = (struct edge_input){ f.paths[i / 7 % 8], &f.made[i / 7 % 8].directory,
                                         (uint32_t)(i % 7), (uint32_t)i };
        expected += f.made[i / 7 % 8].directory.slices[i % 7].rows;
    }
    MUST(disk_list("/proc/self/fd", &names, &error));
    open_before = names.n;
    disk_names_deinit(&names);
    MUST(edge_reader_open_keyed(&f.stored, inputs, 5000, dir, 256 << 10, &reader, &error));
    for (;;) {
        MUST(edge_reader_next(reader, &batch, &error));
        if (batch == NULL) {
            break;
        }
        rows += (uint64_t)batch->length;
        batch_unref(batch);
        MUST(disk_list("/proc/self/fd", &names, &error));
        assert_true(names.n <= open_before + 2);
        disk_names_deinit(&names);
    }
    edge_reader_close(reader);
    assert_int_equal(rows, expected);
    free(inputs);
    files_destroy(&f);
    folder_remove(dir);
}

/* ---- damage ---- */

static sluice_status drain(const struct files *f, const struct edge_directory *directory)
{
    struct edge_input input = { f->paths[0], directory, 0, 0 };
    struct edge_reader *reader;
    struct batch *batch = NULL;
    sluice_status status = edge_reader_open(&f->stored, &input, 1, &reader, &error);

    while (status == SLUICE_OK) {
        status = edge_reader_next(reader, &batch, &error);
        if (batch == NULL) {
            break;
        }
        batch_unref(batch);
    }
    if (status != SLUICE_OK && reader != NULL) {
        assert_null(batch);
        assert_int_equal(edge_reader_next(reader, &batch, NULL), SLUICE_E_INTERNAL);
    }
    edge_reader_close(reader);
    return status;
}

static void assert_damaged(const struct files *f, const struct edge_directory *directory)
{
    error.message[0] = '\0';
    assert_int_equal(drain(f, directory), SLUICE_E_DATA);
    assert_non_null(strstr(error.message, f->paths[0]));
    assert_non_null(strstr(error.message, "partition 0"));
    assert_non_null(strstr(error.message, "run again"));
}

static void test_damage(void **state)
{
    struct kit_random r = { 51 };
    char *dir = folder_create();
    struct files f;
    struct made *m = &f.made[0];
    struct edge_slice *slice;
    struct edge_frame frame;
    struct edge_directory broken;

    (void)state;
    do {
        files_create(&f, &r, 1, EDGE_SINGLE, 1, false, 30000, false, 0, dir);
        if (m->directory.n_frames < 2) {
            files_destroy(&f);
        }
    } while (m->directory.n_frames < 2);
    slice = &m->directory.slices[0];
    MUST(drain(&f, &m->directory));
    for (int round = 0; round < 300 / SLOWER; round++) {
        size_t at = (size_t)kit_below(&r, (int64_t)m->bytes.size);
        char change = (char)(1 + kit_below(&r, 255));
        m->bytes.data[at] = (char)(m->bytes.data[at] ^ change);
        put_file(f.paths[0], m->bytes.data, m->bytes.size);
        m->bytes.data[at] = (char)(m->bytes.data[at] ^ change);
        assert_damaged(&f, &m->directory);
    }
    for (int round = 0; round < 50; round++) {
        put_file(f.paths[0], m->bytes.data,
                 round == 0   ? 0
                 : round == 1 ? m->bytes.size - 1
                              : (size_t)kit_below(&r, (int64_t)m->bytes.size));
        assert_damaged(&f, &m->directory);
    }
    /* Whole frames in another order, or twice: only the hash tells. */
    put_file(f.paths[0], m->bytes.data, m->bytes.size);
    frame = m->directory.frames[0];
    if (m->directory.n_frames > 2) {
        m->directory.frames[0] = m->directory.frames[1];
        m->directory.frames[1] = frame;
        assert_damaged(&f, &m->directory);
        m->directory.frames[1] = m->directory.frames[0];
        assert_damaged(&f, &m->directory);
        m->directory.frames[0] = frame;
        m->directory.frames[1].offset = frame.offset + frame.bytes;
        MUST(drain(&f, &m->directory));
    }
    /* A directory that says something else. */
    slice->rows++;
    assert_damaged(&f, &m->directory);
    slice->rows -= 2;
    assert_damaged(&f, &m->directory);
    slice->rows++;
    slice->hash.hi++;
    assert_damaged(&f, &m->directory);
    slice->hash.hi--;
    m->directory.frames[0].bytes--;
    assert_damaged(&f, &m->directory);
    m->directory.frames[0].bytes = UINT64_MAX;
    assert_damaged(&f, &m->directory);
    m->directory.frames[0] = frame;
    slice->n_frames--;
    assert_damaged(&f, &m->directory);
    slice->n_frames += 2;
    assert_damaged(&f, &m->directory);
    slice->n_frames--;
    broken = m->directory;
    broken.n_frames = 0;
    assert_damaged(&f, &broken);
    MUST(drain(&f, &m->directory));
    unlink(f.paths[0]);
    assert_damaged(&f, &m->directory);
    files_destroy(&f);
    folder_remove(dir);
}

/* Each refusal with its code and what it names. */
static void test_refusals(void **state)
{
    char *dir = folder_create();
    struct kit_random r = { 52 };
    struct buf bytes = BUF_INIT;
    struct edge_sink sink = { &bytes, sink_append };
    struct table key = table_create(&r, 5, true, true, false, false, 1, 3);
    struct table pos = table_create(&r, 5, false, false, true, false, 1, 3);
    struct edge_spec spec = { EDGE_SINGLE, 2, &key.schema };
    struct edge_writer *writer;
    struct edge_reader *reader;
    struct edge_directory directory;
    struct edge_directory none = { 0, 0, NULL, NULL };
    struct edge_input input = { "x", &none, 0, 0 };
    struct column *columns[3];
    struct batch *batch;
    int32_t slots[3] = { 0, 1, 2 };

    (void)state;
    assert_int_equal(edge_writer_open(&spec, sink, dir, 0, &writer, &error), SLUICE_E_INTERNAL);
    spec = (struct edge_spec){ EDGE_BY_KEY, 0, &key.schema };
    assert_int_equal(edge_writer_open(&spec, sink, dir, 0, &writer, &error), SLUICE_E_INTERNAL);
    spec = (struct edge_spec){ EDGE_BY_KEY, 2, &pos.schema };
    assert_int_equal(edge_writer_open(&spec, sink, dir, 0, &writer, &error), SLUICE_E_SCHEMA);
    assert_string_equal(error.field, "key");
    spec = (struct edge_spec){ EDGE_BY_SPLIT, 2, &key.schema };
    assert_int_equal(edge_writer_open(&spec, sink, dir, 0, &writer, &error), SLUICE_E_SCHEMA);
    assert_string_equal(error.field, "_pos");
    assert_int_equal(edge_reader_open(&key.schema, &input, 1, &reader, &error), SLUICE_E_INTERNAL);
    assert_int_equal(edge_reader_open_positions(&pos.schema, NULL, 0, &reader, &error),
                     SLUICE_E_SCHEMA);
    assert_int_equal(edge_reader_open_keyed(&pos.schema, NULL, 0, dir, 0, &reader, &error),
                     SLUICE_E_SCHEMA);
    /* A position beyond the partitions, with 3 splits in the table and one in the edge; then
     * nothing more is taken. */
    spec = (struct edge_spec){ EDGE_BY_SPLIT, 1, &pos.schema };
    MUST(edge_writer_open(&spec, sink, dir, 0, &writer, &error));
    for (uint32_t k = 0; k < 2; k++) {
        columns[k] = column_ref(pos.columns[k]);
    }
    ((uint64_t *)(uintptr_t)table_array(&pos, "_pos")->buffers[1])[4] = (uint64_t)1 << 40;
    batch = batch_create(5, 2, columns);
    assert_int_equal(edge_writer_add(writer, batch, slots, &error), SLUICE_E_INTERNAL);
    assert_string_equal(error.field, "_pos");
    assert_int_equal(edge_writer_add(writer, batch, slots, &error), SLUICE_E_INTERNAL);
    assert_int_equal(edge_writer_finish(writer, &directory, &error), SLUICE_E_INTERNAL);
    edge_writer_destroy(writer);
    /* A column that projection dropped. */
    spec = (struct edge_spec){ EDGE_SINGLE, 1, &pos.schema };
    MUST(edge_writer_open(&spec, sink, dir, 0, &writer, &error));
    slots[1] = -1;
    assert_int_equal(edge_writer_add(writer, batch, slots, &error), SLUICE_E_INTERNAL);
    slots[1] = 7;
    assert_int_equal(edge_writer_add(writer, batch, slots, &error), SLUICE_E_INTERNAL);
    batch_unref(batch);
    MUST(edge_writer_finish(writer, &directory, &error));
    assert_int_equal(directory.n_frames, 0);
    assert_int_equal(directory.n_partitions, 1);
    edge_directory_deinit(&directory);
    assert_int_equal(edge_writer_finish(writer, &directory, &error), SLUICE_E_INTERNAL);
    edge_writer_destroy(writer);
    edge_writer_destroy(NULL);
    edge_reader_close(NULL);
    assert_int_equal(bytes.size, 0);
    buf_deinit(&bytes);
    table_destroy(&key);
    table_destroy(&pos);
    folder_remove(dir);
}

/* ---- directories ---- */

static void test_directory(void **state)
{
    struct kit_random r = { 61 };

    (void)state;
    for (int round = 0; round < 200 / SLOWER; round++) {
        struct edge_directory d = { 0 };
        struct edge_directory back;
        struct buf bytes = BUF_INIT;
        uint64_t at = 0;
        d.n_partitions = (uint32_t)kit_below(&r, 20);
        d.slices = calloc(d.n_partitions + 1, sizeof *d.slices);
        d.frames = calloc(1000, sizeof *d.frames);
        for (uint32_t p = 0; p < d.n_partitions; p++) {
            struct edge_slice *slice = &d.slices[p];
            if (kit_below(&r, 2) == 0) {
                continue;
            }
            slice->first_frame = d.n_frames;
            slice->n_frames = 1 + (uint32_t)kit_below(&r, 5);
            slice->rows =
                slice->n_frames + (uint64_t)kit_below(&r, 8191 * (int64_t)slice->n_frames);
            slice->hash = (struct hash128){ kit_next(&r), kit_next(&r) };
            for (uint32_t k = 0; k < slice->n_frames; k++) {
                uint64_t n = 40 + (kit_next(&r) >> (20 + kit_below(&r, 38)));
                d.frames[d.n_frames++] =
                    (struct edge_frame){ kit_below(&r, 3) == 0 ? kit_next(&r) >> 10 : at, n };
                at = d.frames[d.n_frames - 1].offset + n;
            }
        }
        MUST(edge_directory_encode(&d, &bytes, &error));
        MUST(edge_directory_decode(bytes.data, bytes.size, &back, &error));
        assert_directories_equal(&d, &back);
        edge_directory_deinit(&back);
        for (size_t n = 0; n < bytes.size; n++) {
            char *cut = malloc(n + 1);
            memcpy(cut, bytes.data, n);
            assert_int_equal(edge_directory_decode(cut, n, &back, &error), SLUICE_E_DATA);
            assert_non_null(strstr(error.message, "run again"));
            free(cut);
        }
        buf_putc(&bytes, 0);
        assert_int_equal(edge_directory_decode(bytes.data, bytes.size, &back, &error),
                         SLUICE_E_DATA);
        for (int k = 0; k < 50; k++) {
            char *changed = malloc(bytes.size);
            memcpy(changed, bytes.data, bytes.size - 1);
            changed[kit_below(&r, (int64_t)bytes.size - 1)] = (char)kit_next(&r);
            if (edge_directory_decode(changed, bytes.size - 1, &back, &error) == SLUICE_OK) {
                edge_directory_deinit(&back);
            }
            free(changed);
        }
        buf_deinit(&bytes);
        edge_directory_deinit(&d);
    }
    /* Many empty partitions take no room. */
    {
        struct edge_directory d = { 1u << 24, 0, calloc(1u << 24, sizeof *d.slices), NULL };
        struct edge_directory back;
        struct buf bytes = BUF_INIT;
        d.frames = calloc(1, sizeof *d.frames);
        MUST(edge_directory_encode(&d, &bytes, &error));
        assert_true(bytes.size < 20);
        MUST(edge_directory_decode(bytes.data, bytes.size, &back, &error));
        assert_int_equal(back.n_partitions, 1u << 24);
        edge_directory_deinit(&back);
        edge_directory_deinit(&d);
        buf_deinit(&bytes);
    }
}

/* ---- failures around it ---- */

static const char *spill_dir;

/* Writes and reads n rows by key with little memory. */
static sluice_status round_trip(const struct table *t, enum edge_partition how, const char *path)
{
    struct buf bytes = BUF_INIT;
    struct edge_sink sink = { &bytes, sink_append };
    struct edge_spec spec = { how, how == EDGE_SINGLE ? 1 : 3, &t->schema };
    struct edge_directory directory = { 0, 0, NULL, NULL };
    struct edge_writer *writer = NULL;
    struct edge_reader *reader = NULL;
    struct column *columns[COLUMNS_MAX];
    struct batch *batch = NULL;
    int32_t slots[COLUMNS_MAX];
    sluice_status status = edge_writer_open(&spec, sink, spill_dir, 0, &writer, &error);

    for (uint32_t k = 0; k < t->schema.n; k++) {
        slots[k] = (int32_t)k;
        columns[k] = column_ref(t->columns[k]);
    }
    batch = batch_create(t->rows, t->schema.n, columns);
    if (batch == NULL) {
        status = SLUICE_E_NOMEM;
    }
    for (int k = 0; k < 3 && status == SLUICE_OK; k++) {
        status = edge_writer_add(writer, batch, slots, &error);
    }
    batch_unref(batch);
    if (status == SLUICE_OK) {
        status = edge_writer_finish(writer, &directory, &error);
    }
    edge_writer_destroy(writer);
    if (status == SLUICE_OK) {
        struct edge_input inputs[2] = { { path, &directory, 0, 0 }, { path, &directory, 0, 1 } };
        int fd;
        /* Not through stdio, which could hide that memory ran out. */
        assert_int_equal(disk_open(path, 01 | 0100 | 01000, &fd), 0);
        assert_int_equal(write(fd, bytes.data, bytes.size), bytes.size);
        close(fd);
        status = how == EDGE_BY_KEY
                     ? edge_reader_open_keyed(&t->schema, inputs, 2, spill_dir, 0, &reader, &error)
                 : how == EDGE_BY_SPLIT
                     ? edge_reader_open_merged(&t->schema, inputs, 2, spill_dir, 0, &reader, &error)
                     : edge_reader_open_positions(&t->schema, inputs, 2, &reader, &error);
        while (status == SLUICE_OK) {
            status = edge_reader_next(reader, &batch, &error);
            if (batch == NULL) {
                break;
            }
            batch_unref(batch);
        }
        edge_reader_close(reader);
    }
    edge_directory_deinit(&directory);
    buf_deinit(&bytes);
    return status;
}

static void test_out_of_memory(void **state)
{
    struct kit_random r = { 71 };
    char *dir = folder_create();
    char path[300];

    (void)state;
    spill_dir = dir;
    snprintf(path, sizeof path, "%s/edge", dir);
    for (int how = EDGE_SINGLE; how <= EDGE_BY_SPLIT; how++) {
        struct table t = table_create(&r, 150 / SLOWER, how == EDGE_BY_KEY, how != EDGE_BY_SPLIT,
                                      how == EDGE_BY_SPLIT, true, 4, 3);
        sluice_status status;
        ALLOC_EACH(status = round_trip(&t, (enum edge_partition)how, path), (void)0);
        table_destroy(&t);
    }
    folder_remove(dir);
}

/* The disk fills up while rows are spilled. */
static void test_disk_full(void **state)
{
    char *dir = folder_create();
    char path[300];

    (void)state;
    spill_dir = dir;
    snprintf(path, sizeof path, "%s/edge", dir);
    for (int how = EDGE_BY_KEY; how <= EDGE_BY_SPLIT; how++) {
        struct kit_random r = { 72 };
        struct table t = table_create(&r, 2000, how == EDGE_BY_KEY, how != EDGE_BY_SPLIT,
                                      how == EDGE_BY_SPLIT, true, 2, 3);
        pid_t pid;
        int status;
        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            setenv("SLUICE_TEST_FAIL", "4+:ENOSPC", 1);
            disk_hooks_reload();
            status = round_trip(&t, (enum edge_partition)how, path);
            if (status != SLUICE_E_IO || strstr(error.message, "free some space") == NULL) {
                fprintf(stderr, "status %d: %s\n", status, error.message);
                _exit(1);
            }
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        MUST(round_trip(&t, (enum edge_partition)how, path));
        table_destroy(&t);
    }
    folder_remove(dir);
}

static sluice_status sink_full(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    (void)ctx;
    (void)data;
    return n > 0 ? error_set(err, SLUICE_E_IO, "the sink is full") : SLUICE_OK;
}

static void test_sink_fails(void **state)
{
    struct kit_random r = { 73 };
    struct table t = table_create(&r, 20000, false, true, false, false, 0, 1);
    struct edge_spec spec = { EDGE_SINGLE, 1, &t.schema };
    struct edge_sink sink = { NULL, sink_full };
    struct edge_writer *writer;
    struct edge_directory directory;
    struct column *columns[1] = { column_ref(t.columns[0]) };
    struct batch *batch = batch_create(t.rows, 1, columns);
    int32_t slot = 0;

    (void)state;
    MUST(edge_writer_open(&spec, sink, "/nonexistent", 1 << 20, &writer, &error));
    assert_int_equal(edge_writer_add(writer, batch, &slot, &error), SLUICE_E_IO);
    assert_string_equal(error.message, "the sink is full");
    assert_int_equal(edge_writer_finish(writer, &directory, &error), SLUICE_E_INTERNAL);
    edge_writer_destroy(writer);
    batch_unref(batch);
    table_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_bytes),     cmocka_unit_test(test_by_key_bytes),
        cmocka_unit_test(test_by_split_bytes),   cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_reading_in_order), cmocka_unit_test(test_reading_by_key),
        cmocka_unit_test(test_reading_merged),   cmocka_unit_test(test_many_inputs),
        cmocka_unit_test(test_damage),           cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_directory),        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_disk_full),        cmocka_unit_test(test_sink_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
