/* store/saved and what is put into it: states come back whole or are refused; edges, tables and
 * compressed files that go on elsewhere hold the bytes of those that nobody stopped. */
#include "store_kit.h"

#include "data/builder.h"
#include "data/draft.h"
#include "run/edge/table.h"
#include "store/outcodec.h"
#include "store/saved.h"

static const struct hash128 mine = { 11, 22 };

/* ---- the format ---- */

static void put_all(const char *dir, const char *text, size_t n)
{
    struct saved *out;
    uint64_t bytes;

    KIT_OK(saved_begin(dir, mine, NULL, &out, err));
    for (uint64_t k = 0; k < 64; k++) {
        saved_put(out, (uint64_t)1 << k);
    }
    saved_put_bytes(out, text, n);
    saved_put(out, UINT64_MAX);
    KIT_OK(saved_publish(out, "state", &bytes, err));
    assert_true(bytes > n);
}

/* Everything as it was put, or a refusal. */
static sluice_status get_all(struct restored *in, const char *text, size_t n)
{
    struct sluice_error why = ERROR_INIT;
    struct buf back = BUF_INIT;
    sluice_status status;

    for (uint64_t k = 0; k < 64; k++) {
        uint64_t value = restored_get(in, UINT64_MAX);
        assert_true(!restored_ok(in) || value == (uint64_t)1 << k);
    }
    restored_get_bytes(in, UINT64_MAX, &back);
    assert_true(!restored_ok(in) || (back.size == n && memcmp(back.data, text, n) == 0));
    (void)restored_get(in, UINT64_MAX);
    status = restored_end(in, &why);
    buf_deinit(&back);
    return status;
}

/* The first n bytes of the file, as a file. */
static sluice_status get_bytes(const char *dir, const struct buf *file, size_t n, const char *text,
                               size_t size)
{
    struct sluice_error why = ERROR_INIT;
    struct restored *in;
    bool found;
    sluice_status status;

    kit_write(kit_path(dir, "changed"), file->data, n);
    status = restored_open(kit_path(dir, "changed"), mine, &in, &found, &why);
    if (status == SLUICE_OK) {
        status = get_all(in, text, size);
        restored_close(in);
    }
    return status;
}

static void test_format(void **state)
{
    size_t n = 300000; /* two blocks */
    char *text = kit_text(n, 5);
    char *dir = kit_folder();
    struct sluice_error why = ERROR_INIT;
    struct hash128 other = { 11, 23 };
    struct restored *in;
    struct buf file;
    bool found;

    (void)state;
    put_all(dir, text, n);
    KIT_OK(restored_open(kit_path(dir, "state"), mine, &in, &found, err));
    assert_true(found);
    assert_int_equal(get_all(in, text, n), SLUICE_OK);
    restored_close(in);
    assert_int_equal(restored_open(kit_path(dir, "state"), other, &in, &found, &why),
                     SLUICE_E_DATA);
    KIT_OK(restored_open(kit_path(dir, "nothing"), mine, &in, &found, err));
    assert_false(found);
    file = kit_read(kit_path(dir, "state"));
    assert_int_equal(get_bytes(dir, &file, file.size, text, n), SLUICE_OK);
    for (size_t k = 0; k < 400; k++) { /* cut, and changed: the begin, the end, and between */
        size_t at = k < 100 ? k : k < 200 ? file.size - 1 - (k - 100) : k * (file.size / 401);
        assert_int_equal(get_bytes(dir, &file, at, text, n), SLUICE_E_DATA);
        file.data[at] = (char)(file.data[at] ^ 16);
        assert_int_equal(get_bytes(dir, &file, file.size, text, n), SLUICE_E_DATA);
        file.data[at] = (char)(file.data[at] ^ 16);
    }
    buf_deinit(&file);
    free(text);
    kit_remove(dir);
}

static void test_limits(void **state)
{
    char *dir = kit_folder();
    struct sluice_error why = ERROR_INIT;
    struct restored *in;
    struct saved *out;
    _Atomic int cancelled = 0;
    uint64_t bytes;
    bool found;

    (void)state;
    KIT_OK(saved_begin(dir, mine, &cancelled, &out, err));
    saved_put(out, 7);
    cancelled = 1;
    assert_int_equal(saved_publish(out, "state", &bytes, &why), SLUICE_E_CANCELLED);
    assert_int_equal(kit_count(dir), 0); /* and no temporary file */
    KIT_OK(saved_begin(dir, mine, NULL, &out, err));
    saved_put(out, 7);
    KIT_OK(saved_publish(out, "state", &bytes, err));
    KIT_OK(restored_open(kit_path(dir, "state"), mine, &in, &found, err));
    assert_int_equal(restored_get(in, 6), 0);
    assert_int_equal(restored_status(in, &why), SLUICE_E_DATA);
    restored_close(in);
    KIT_OK(restored_open(kit_path(dir, "state"), mine, &in, &found, err));
    assert_int_equal(restored_end(in, &why), SLUICE_E_DATA); /* something is left */
    restored_close(in);
    kit_remove(dir);
}

/* ---- compressed files ---- */

static sluice_status give_again(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    return outcodec_again_take(ctx, data, n, err);
}

static struct hash128 compress_all(enum outcodec_kind kind, const char *dir, const char *text,
                                   size_t n, size_t stop)
{
    struct outcodec *codec;
    struct outcodec *other;
    struct outcodec_again *again;
    struct pending *p;
    struct pending *q;
    struct buf tail = BUF_INIT;
    struct hash128 hash;
    struct hash128 half[2];
    const char *piece;
    size_t held;

    KIT_OK(outcodec_create(kind, 0, &codec, err));
    KIT_OK(outcodec_create(kind, 0, &other, err));
    KIT_OK(pending_open(dir, &p, err));
    KIT_OK(pending_open(dir, &q, err));
    KIT_OK(outcodec_begin(codec, p, err));
    KIT_OK(outcodec_begin(other, q, err));
    KIT_OK(outcodec_write(codec, text, stop, err));
    KIT_OK(outcodec_held(codec, &tail, &piece, &held, err));
    KIT_OK(outcodec_again_begin(other, &again, err));
    KIT_OK(pending_pieces(p, give_again, again, err));
    KIT_OK(outcodec_again_take(again, tail.data, tail.size, err));
    outcodec_again_end(again);
    KIT_OK(outcodec_write(other, piece, held, err));
    assert_int_equal(outcodec_bytes(other), stop);
    KIT_OK(pending_so_far(p, &half[0], err));
    KIT_OK(pending_so_far(q, &half[1], err));
    assert_true(hash_equal(half[0], half[1]));
    /* Both go on. */
    KIT_OK(outcodec_write(codec, text + stop, n - stop, err));
    KIT_OK(outcodec_write(other, text + stop, n - stop, err));
    KIT_OK(outcodec_finish(codec, err));
    KIT_OK(outcodec_finish(other, err));
    KIT_OK(pending_seal(p, &half[0], err));
    KIT_OK(pending_seal(q, &half[1], err));
    assert_true(hash_equal(half[0], half[1]));
    hash = half[0];
    pending_abort(p);
    pending_abort(q);
    outcodec_destroy(codec);
    outcodec_destroy(other);
    buf_deinit(&tail);
    return hash;
}

static void test_codecs(void **state)
{
    size_t n = 900000;
    char *text = kit_text(n, 3);
    char *dir = kit_folder();
    size_t stops[] = { 0, 1, 131071, 131072, 131073, 262144, 700001, 900000 };

    (void)state;
    for (int kind = OUTCODEC_NONE; kind <= OUTCODEC_ZSTD; kind++) {
        struct hash128 whole = compress_all((enum outcodec_kind)kind, dir, text, n, 0);
        for (size_t k = 0; k < sizeof stops / sizeof stops[0]; k++) {
            assert_true(
                hash_equal(whole, compress_all((enum outcodec_kind)kind, dir, text, n, stops[k])));
        }
    }
    free(text);
    kit_remove(dir);
}

/* ---- edges ---- */

static void add_rows(struct port *port, const struct schema *schema, uint64_t first, int64_t n)
{
    static const int32_t slots[] = { 0, 1, 2 };
    struct builder *builders[3];
    struct draft draft;
    struct batch *batch;

    for (uint32_t k = 0; k < 3; k++) {
        KIT_OK(builder_create(schema->fields[k].type, &builders[k], err));
    }
    for (uint64_t i = first; i < first + (uint64_t)n; i++) {
        struct hash128 hash = hash_bytes(&i, sizeof i);
        char text[400];
        size_t size = (size_t)(hash.lo % sizeof text);
        memset(text, 'a' + (int)(hash.lo % 26), sizeof text);
        assert_true(builder_bytes_add(builders[0], &hash, 16) &&
                    builder_uint(builders[1], (hash.hi % 3) << 40 | i) &&
                    builder_bytes_add(builders[2], text, size));
    }
    draft_init(&draft, 3);
    for (uint32_t k = 0; k < 3; k++) {
        struct column *column = NULL;
        struct sluice_error why = ERROR_INIT;
        draft_place(&draft, k, builder_column(builders[k], &column, &why), &column);
        builder_destroy(builders[k]);
    }
    KIT_OK(draft_end(&draft, n, &batch, err));
    KIT_OK(port_add(port, batch, slots, err));
    batch_unref(batch);
}

/* The hash of an edge of 30,000 rows, saved and restored elsewhere behind each `step`; 0 = not. */
static struct hash128 edge_of(enum edge_partition partition, const char *dir, uint64_t step,
                              uint64_t memory, struct buf *directory)
{
    struct schema schema;
    struct edge_spec spec = { partition, partition == EDGE_SINGLE ? 1 : 3, &schema };
    struct edge_directory made;
    struct port *port;
    struct hash128 hash;
    uint64_t rows;

    schema_init(&schema);
    KIT_OK(schema_add_text(&schema, "key", "fixed[16]", NULL, err));
    KIT_OK(schema_add_text(&schema, "_pos", "uint64", NULL, err));
    KIT_OK(schema_add_text(&schema, "text", "utf8", NULL, err));
    KIT_OK(port_open(dir, &spec, dir, memory, &port, err));
    for (uint64_t at = 0; at < 30000; at += 500) {
        add_rows(port, &schema, at, 500);
        if (step > 0 && (at / 500) % step == 0) {
            struct restored *in;
            struct saved *out;
            uint64_t bytes;
            bool found;
            KIT_OK(saved_begin(dir, mine, NULL, &out, err));
            KIT_OK(port_save(port, out, err));
            KIT_OK(saved_publish(out, "state", &bytes, err));
            port_destroy(port);
            KIT_OK(port_open(dir, &spec, dir, memory, &port, err));
            KIT_OK(restored_open(kit_path(dir, "state"), mine, &in, &found, err));
            KIT_OK(port_restore(port, in, err));
            KIT_OK(restored_end(in, err));
            restored_close(in);
        }
    }
    KIT_OK(port_finish(port, &made, &rows, err));
    assert_int_equal(rows, 30000);
    KIT_OK(port_seal(port, &hash, err));
    buf_clear(directory);
    KIT_OK(edge_directory_encode(&made, directory, err));
    edge_directory_deinit(&made);
    port_destroy(port);
    schema_deinit(&schema);
    return hash;
}

static void test_edges(void **state)
{
    static const enum edge_partition kinds[] = { EDGE_SINGLE, EDGE_BY_KEY, EDGE_BY_SPLIT };
    char *dir = kit_folder();

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct buf plain = BUF_INIT;
        struct buf moved = BUF_INIT;
        struct hash128 whole = edge_of(kinds[k], dir, 0, 64 << 20, &plain);
        for (uint64_t step = 7; step <= 29; step += 22) {
            uint64_t memory = step == 7 ? 64 << 20 : 1 << 20; /* the second one spills */
            assert_true(hash_equal(whole, edge_of(kinds[k], dir, step, memory, &moved)));
            assert_int_equal(plain.size, moved.size);
            assert_memory_equal(plain.data, moved.data, plain.size);
        }
        buf_deinit(&plain);
        buf_deinit(&moved);
    }
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_codecs),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
