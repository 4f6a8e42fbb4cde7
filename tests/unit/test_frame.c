/* data/frame: spill frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>
#include <zstd.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/array_kit.h"

#include "data/frame.h"

#define TYPES(types) ((const struct type *const *)(types))

/* A batch of one column of each of n types. */
static struct batch *make_batch(struct kit_random *r, struct type **types, uint32_t n, int64_t rows)
{
    struct column *columns[KIT_TYPES];

    for (uint32_t k = 0; k < n; k++) {
        columns[k] = kit_column(r, types[k], rows);
    }
    return batch_create(rows, n, columns);
}

static void encode(struct frame_codec *codec, const struct batch *batch, struct type **types,
                   struct buf *out)
{
    struct sluice_error err = ERROR_INIT;

    if (frame_encode(codec, batch, TYPES(types), out, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
}

static struct batch *decode(struct frame_codec *codec, const struct buf *frame, struct type **types,
                            uint32_t n)
{
    struct sluice_error err = ERROR_INIT;
    struct batch *batch = NULL;

    if (frame_decode(codec, frame->data, frame->size, n, TYPES(types), 0, &batch, &err) !=
        SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return batch;
}

static void test_round_trip(void **state)
{
    struct kit_random r = { 21 };
    struct frame_codec *codec = frame_codec_create();
    struct type *types[KIT_TYPES];

    (void)state;
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        types[k] = kit_type(kit_types[k]);
    }
    for (int round = 0; round < 40; round++) {
        int64_t rows = round < 10 ? round : kit_below(&r, 2000);
        uint32_t n = round == 0 ? 0 : (uint32_t)KIT_TYPES;
        struct batch *batch = make_batch(&r, types, n, rows);
        struct buf frame = BUF_INIT;
        struct batch *back;
        uint64_t total;
        uint32_t header_rows;
        encode(codec, batch, types, &frame);
        assert_int_equal(frame_size(frame.data, &total, &header_rows, NULL), SLUICE_OK);
        assert_int_equal(total, frame.size);
        assert_int_equal(header_rows, rows);
        back = decode(codec, &frame, types, n);
        assert_int_equal(back->length, rows);
        assert_int_equal(back->n_rows, rows);
        assert_int_equal(back->n_columns, n);
        assert_null(back->rows);
        for (uint32_t k = 0; k < n; k++) {
            kit_assert_invariants(&back->columns[k]->array, types[k]);
            for (int64_t i = 0; i < rows; i++) {
                assert_true(kit_rows_equal(&batch->columns[k]->array, i, &back->columns[k]->array,
                                           i, types[k]));
            }
        }
        batch_unref(batch);
        batch_unref(back);
        buf_deinit(&frame);
    }
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        type_destroy(types[k]);
    }
    frame_codec_destroy(codec);
}

/* Columns keep the frame's memory, one by one. */
static void test_columns_outlive_the_batch(void **state)
{
    struct kit_random r = { 22 };
    struct frame_codec *codec = frame_codec_create();
    struct type *types[2] = { kit_type("utf8?"), kit_type("list<int64?>") };
    struct batch *batch = make_batch(&r, types, 2, 100);
    struct buf frame = BUF_INIT;
    struct batch *back;
    struct column *kept;

    (void)state;
    encode(codec, batch, types, &frame);
    back = decode(codec, &frame, types, 2);
    kept = column_ref(back->columns[1]);
    batch_unref(back);
    buf_deinit(&frame);
    frame_codec_destroy(codec);
    for (int64_t i = 0; i < 100; i++) {
        assert_true(kit_rows_equal(&batch->columns[1]->array, i, &kept->array, i, types[1]));
    }
    column_unref(kept);
    batch_unref(batch);
    type_destroy(types[0]);
    type_destroy(types[1]);
}

/* The same rows give the same bytes: selected, sliced, compacted, built, decoded, or with
 * garbage behind nulls. */
static void test_bytes_depend_on_rows_alone(void **state)
{
    struct kit_random r = { 23 };
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct frame_codec *fresh = frame_codec_create();
    struct type *types[KIT_TYPES];
    uint32_t rows[300];

    (void)state;
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        types[k] = kit_type(kit_types[k]);
    }
    for (int round = 0; round < 12; round++) {
        struct kit_random again = r;
        struct batch *batch = make_batch(&r, types, KIT_TYPES, 300);
        struct column *raw[KIT_TYPES];
        struct column *built[KIT_TYPES];
        struct batch *batches[6];
        struct buf frames[6];
        int64_t n = 0;
        for (uint32_t i = 0; i < 300; i++) {
            if (kit_below(&r, 3) > 0) {
                rows[n++] = i;
            }
        }
        /* 0: selection */
        batches[0] = batch_select(batch, rows, n);
        /* 1: selection of a slice of more */
        {
            struct batch *all = batch_slice(batch, 0, 300);
            struct batch *part = batch_select(all, rows, n);
            batches[1] = batch_slice(part, 0, n);
            batch_unref(part);
            batch_unref(all);
        }
        /* 2: compacted */
        assert_int_equal(batch_compact(batches[0], TYPES(types), &batches[2], &err), SLUICE_OK);
        /* 3: as they came, with offsets and garbage */
        for (uint32_t k = 0; k < KIT_TYPES; k++) {
            struct ArrowArray array;
            kit_foreign(&again, types[k], 300, 7, &array);
            raw[k] = column_create(&array);
        }
        {
            struct batch *all = batch_create(300, KIT_TYPES, raw);
            batches[3] = batch_select(all, rows, n);
            batch_unref(all);
        }
        /* 4: built row by row */
        for (uint32_t k = 0; k < KIT_TYPES; k++) {
            struct builder *b = NULL;
            struct ArrowArray array;
            assert_int_equal(builder_create(types[k], &b, &err), SLUICE_OK);
            for (int64_t i = 0; i < n; i++) {
                assert_true(builder_copy(b, &batch->columns[k]->array, rows[i]));
            }
            assert_int_equal(builder_finish(b, &array, &err), SLUICE_OK);
            built[k] = column_create(&array);
            builder_destroy(b);
        }
        batches[4] = batch_create(n, KIT_TYPES, built);
        for (int i = 0; i < 5; i++) {
            buf_init(&frames[i]);
            /* A codec's past does not matter. */
            encode(i % 2 == 0 ? codec : fresh, batches[i], types, &frames[i]);
        }
        /* 5: decoded */
        batches[5] = decode(codec, &frames[0], types, KIT_TYPES);
        buf_init(&frames[5]);
        encode(codec, batches[5], types, &frames[5]);
        for (int i = 1; i < 6; i++) {
            assert_int_equal(frames[i].size, frames[0].size);
            assert_memory_equal(frames[i].data, frames[0].data, frames[0].size);
        }
        for (int i = 0; i < 6; i++) {
            batch_unref(batches[i]);
            buf_deinit(&frames[i]);
        }
        frame_codec_destroy(fresh);
        fresh = frame_codec_create();
        batch_unref(batch);
    }
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        type_destroy(types[k]);
    }
    frame_codec_destroy(codec);
    frame_codec_destroy(fresh);
}

/* The layout, byte by byte. */
static void test_layout(void **state)
{
    /* clang-format off */
    static const unsigned char body[] = {
        1, 0, 0, 0, 0, 0, 0, 0,      /* nulls of the utf8 column */
        0x05, 0, 0, 0, 0, 0, 0, 0,   /* validity: yes, no, yes */
        0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
        'h', 'i', '!', 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,      /* nulls of the list column */
        0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,      /* nulls of its items */
        7, 0, 8, 0, 9, 0, 0, 0,
    };
    /* clang-format on */
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct type *types[2] = { kit_type("utf8?"), kit_type("list<uint16>") };
    struct column *columns[2];
    struct buf frame = BUF_INIT;
    struct buf whole = BUF_INIT;
    uint64_t hash;
    uint64_t raw;
    uint64_t stored;
    char plain[256];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct builder *b = NULL;
        struct ArrowArray array;
        assert_int_equal(builder_create(types[k], &b, &err), SLUICE_OK);
        if (k == 0) {
            assert_true(builder_bytes_add(b, "hi", 2) && builder_null(b) &&
                        builder_bytes_add(b, "!", 1));
        } else {
            const uint16_t items[] = { 7, 8, 9 };
            assert_true(builder_list_fixed(b, items, 1) && builder_list_fixed(b, items, 0) &&
                        builder_list_fixed(b, items + 1, 2));
        }
        assert_int_equal(builder_finish(b, &array, &err), SLUICE_OK);
        columns[k] = column_create(&array);
        builder_destroy(b);
    }
    struct batch *batch = batch_create(3, 2, columns);
    encode(codec, batch, types, &frame);
    assert_memory_equal(frame.data, "SLF1\0\0\0\0\3\0\0\0\2\0\0\0", 16);
    memcpy(&raw, frame.data + 16, 8);
    memcpy(&stored, frame.data + 24, 8);
    assert_int_equal(raw, 8 + sizeof body);
    assert_int_equal(stored, frame.size - FRAME_HEADER_BYTES);
    assert_int_equal(ZSTD_decompress(plain, sizeof plain, frame.data + FRAME_HEADER_BYTES, stored),
                     raw);
    assert_memory_equal(plain + 8, body, sizeof body);
    /* The hash covers the header before it and what is stored. */
    buf_append(&whole, frame.data, 32);
    buf_append(&whole, frame.data + FRAME_HEADER_BYTES, frame.size - FRAME_HEADER_BYTES);
    hash = XXH3_64bits(whole.data, whole.size);
    assert_memory_equal(frame.data + 32, &hash, 8);
    buf_deinit(&whole);
    buf_deinit(&frame);
    batch_unref(batch);
    type_destroy(types[0]);
    type_destroy(types[1]);
    frame_codec_destroy(codec);
}

/* What does not compress is stored as it is. */
static void test_incompressible(void **state)
{
    struct kit_random r = { 28 };
    struct frame_codec *codec = frame_codec_create();
    struct type *types[1] = { kit_type("fixed[16]") };
    struct batch *batch = make_batch(&r, types, 1, 500);
    struct batch *back;
    struct buf frame = BUF_INIT;

    (void)state;
    encode(codec, batch, types, &frame);
    assert_int_equal(frame.data[4], 1);
    assert_int_equal(frame.size, FRAME_HEADER_BYTES + 8 + 8 + 500 * 16);
    back = decode(codec, &frame, types, 1);
    for (int64_t i = 0; i < 500; i++) {
        assert_true(
            kit_rows_equal(&batch->columns[0]->array, i, &back->columns[0]->array, i, types[0]));
    }
    batch_unref(batch);
    batch_unref(back);
    buf_deinit(&frame);
    type_destroy(types[0]);
    frame_codec_destroy(codec);
}

static void refused(struct frame_codec *codec, const char *data, size_t n, struct type **types,
                    uint32_t columns)
{
    struct sluice_error err = ERROR_INIT;
    struct batch *batch = NULL;
    char *exact = malloc(n > 0 ? n : 1);

    memcpy(exact, data, n);
    assert_int_equal(frame_decode(codec, exact, n, columns, TYPES(types), 0, &batch, &err),
                     SLUICE_E_DATA);
    assert_null(batch);
    assert_non_null(strstr(err.message, "damaged"));
    free(exact);
}

static void damage_everywhere(struct frame_codec *codec, const struct buf *frame,
                              struct type **types, uint32_t columns)
{
    char *copy = malloc(frame->size + 1);

    for (size_t n = 0; n < frame->size; n++) {
        refused(codec, frame->data, n, types, columns);
    }
    memcpy(copy, frame->data, frame->size);
    copy[frame->size] = 0;
    refused(codec, copy, frame->size + 1, types, columns);
    for (size_t i = 0; i < frame->size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            copy[i] = (char)(copy[i] ^ (1 << bit));
            refused(codec, copy, frame->size, types, columns);
            copy[i] = frame->data[i];
        }
        copy[i] = (char)~copy[i];
        refused(codec, copy, frame->size, types, columns);
        copy[i] = frame->data[i];
    }
    free(copy);
}

static void test_damage_is_found(void **state)
{
    struct kit_random r = { 24 };
    struct frame_codec *codec = frame_codec_create();
    struct type *types[3] = { kit_type("utf8?"), kit_type("list<uint32>"),
                              kit_type("struct<a:bool?,b:fixed[3]>?") };
    struct batch *big = make_batch(&r, types, 3, 60);
    struct batch *small = make_batch(&r, types, 3, 1);
    struct buf frame = BUF_INIT;

    (void)state;
    encode(codec, big, types, &frame);
    assert_int_equal(frame.data[4], 0); /* compressed */
    damage_everywhere(codec, &frame, types, 3);
    buf_clear(&frame);
    encode(codec, small, types, &frame);
    damage_everywhere(codec, &frame, types, 3);
    buf_deinit(&frame);
    batch_unref(big);
    batch_unref(small);
    for (int k = 0; k < 3; k++) {
        type_destroy(types[k]);
    }
    frame_codec_destroy(codec);
}

/* A frame around raw bytes of the test's making, with a right checksum. */
static void seal(struct buf *out, const struct type *const *types, uint32_t columns, uint32_t rows,
                 const void *body, size_t n, bool zstd)
{
    struct frame_codec *codec = frame_codec_create();
    struct buf probe = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    struct column *none[8] = { NULL };
    char header[40] = "SLF1";
    struct buf raw = BUF_INIT;
    uint32_t flags = zstd ? 0 : 1;
    uint64_t raw_size = n + 8;
    uint64_t stored;
    uint64_t hash;
    XXH3_state_t *state = XXH3_createState();

    /* The types' hash, from a real frame without rows. */
    for (uint32_t k = 0; k < columns; k++) {
        assert_int_equal(column_nulls(types[k], 0, &none[k], &err), SLUICE_OK);
    }
    struct batch *batch = batch_create(0, columns, none);
    assert_int_equal(frame_encode(codec, batch, types, &probe, &err), SLUICE_OK);
    batch_unref(batch);
    if (probe.data[4] == 0) {
        char plain[512];
        assert_false(
            ZSTD_isError(ZSTD_decompress(plain, sizeof plain, probe.data + 40, probe.size - 40)));
        buf_append(&raw, plain, 8);
    } else {
        buf_append(&raw, probe.data + 40, 8);
    }
    buf_append(&raw, body, n);
    stored = raw_size;
    if (zstd) {
        char packed[4096];
        stored = ZSTD_compress(packed, sizeof packed, raw.data, raw.size, 1);
        assert_false(ZSTD_isError(stored));
        buf_clear(&raw);
        buf_append(&raw, packed, stored);
    }
    memcpy(header + 4, &flags, 4);
    memcpy(header + 8, &rows, 4);
    memcpy(header + 12, &columns, 4);
    memcpy(header + 16, &raw_size, 8);
    memcpy(header + 24, &stored, 8);
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, header, 32);
    XXH3_64bits_update(state, raw.data, raw.size);
    hash = XXH3_64bits_digest(state);
    memcpy(header + 32, &hash, 8);
    buf_clear(out);
    buf_append(out, header, 40);
    buf_append(out, raw.data, raw.size);
    XXH3_freeState(state);
    buf_deinit(&raw);
    buf_deinit(&probe);
    frame_codec_destroy(codec);
}

struct forged {
    const char *type;
    uint32_t rows;
    size_t n;
    const char *body;
    const char *message; /* NULL = fine */
};

static void test_forged_frames(void **state)
{
    static const struct forged cases[] = {
        { "uint8", 3, 16, "\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0", NULL },
        { "uint8", 9, 16, "\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0", "longer than its bytes" },
        { "uint8", INT32_MAX, 16, "\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0", "longer than its bytes" },
        { "uint8", 0x80000000u, 16, "\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0", "sizes contradict" },
        { "uint8", 0, 16, "\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0", "behind its last column" },
        { "uint8", 3, 8, "\0\0\0\0\0\0\0\0", "longer than its bytes" },
        { "uint8", 3, 4, "\0\0\0\0", "longer than its bytes" },
        { "uint8", 3, 0, "", "longer than its bytes" },
        { "uint8?", 3, 24, "\1\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0", NULL },
        { "uint8?", 3, 24, "\2\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0",
          "a null count of 2, expected 1" },
        { "uint8?", 3, 24, "\4\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0",
          "more nulls than rows" },
        { "uint8?", 3, 24, "\1\0\0\0\0\0\0\x80\6\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0",
          "more nulls than rows" },
        { "utf8", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\xC3\xA9\0\0\0\0\0\0", NULL },
        { "utf8", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\xC3\xA9\0\0\0\0\0\0", "not UTF-8" },
        { "binary", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\xC3\xA9\0\0\0\0\0\0", NULL },
        { "binary", 1, 24, "\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\xC3\xA9\0\0\0\0\0\0", "first offset" },
        { "binary", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0\xC3\xA9\0\0\0\0\0\0",
          "longer than its bytes" },
        { "binary", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0",
          "more than a column holds" },
        { "binary", 2, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\1\0\0\0\0\0\0\0",
          "more than a column holds" },
        { "binary", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xFF\x7F\0\0\0\0\0\0\0\0",
          "longer than its bytes" },
        { "list<uint8>", 1, 32, "\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0",
          NULL },
        { "list<uint8>", 1, 32,
          "\0\0\0\0\0\0\0\0\0\0\0\0\x0A\0\0\0\0\0\0\0\0\0\0\0\1\2\3\0\0\0\0\0",
          "longer than its bytes" },
        { "list<struct<>>", 1, 24, "\0\0\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xFF\x7F\0\0\0\0\0\0\0\0",
          NULL },
        { "struct<>", INT32_MAX, 8, "\0\0\0\0\0\0\0\0", NULL },
    };
    struct frame_codec *codec = frame_codec_create();

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct type *type = kit_type(cases[k].type);
        struct buf frame = BUF_INIT;
        for (int zstd = 0; zstd < 2; zstd++) {
            struct sluice_error err = ERROR_INIT;
            struct batch *batch = NULL;
            sluice_status status;
            seal(&frame, TYPES(&type), 1, cases[k].rows, cases[k].body, cases[k].n, zstd != 0);
            if (zstd != 0 && frame.size > FRAME_HEADER_BYTES + 8 + cases[k].n) {
                continue; /* compression made it larger, which the header check refuses */
            }
            status = frame_decode(codec, frame.data, frame.size, 1, TYPES(&type), 0, &batch, &err);
            if ((status == SLUICE_OK) != (cases[k].message == NULL) ||
                (cases[k].message != NULL && strstr(err.message, cases[k].message) == NULL)) {
                fail_msg("case %zu gave %d '%s', expected '%s'", k, status, err.message,
                         cases[k].message);
            }
            batch_unref(batch);
        }
        buf_deinit(&frame);
        type_destroy(type);
    }
    frame_codec_destroy(codec);
}

static void test_refuses(void **state)
{
    struct kit_random r = { 25 };
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct type *types[2] = { kit_type("int64"), kit_type("utf8") };
    struct type *others[2] = { kit_type("float64"), kit_type("utf8") };
    struct type *loose[2] = { kit_type("int64?"), kit_type("utf8?") };
    struct batch *batch = make_batch(&r, types, 2, 500);
    struct batch *back = NULL;
    struct column *columns[2] = { column_ref(batch->columns[0]), NULL };
    struct batch *holed = batch_create(500, 2, columns);
    struct buf frame = BUF_INIT;
    uint64_t raw;

    (void)state;
    buf_puts(&frame, "before");
    assert_int_equal(frame_encode(codec, holed, TYPES(types), &frame, &err), SLUICE_E_INTERNAL);
    assert_non_null(strstr(err.message, "column 1"));
    assert_int_equal(frame.size, 6);
    buf_clear(&frame);
    encode(codec, batch, types, &frame);
    assert_int_equal(frame_decode(codec, frame.data, frame.size, 2, TYPES(others), 0, &back, &err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "other types"));
    assert_int_equal(frame_decode(codec, frame.data, frame.size, 1, TYPES(types), 0, &back, &err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "number of columns"));
    memcpy(&raw, frame.data + 16, 8);
    assert_int_equal(
        frame_decode(codec, frame.data, frame.size, 2, TYPES(types), raw - 1, &back, &err),
        SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "--memory"));
    assert_null(back);
    assert_int_equal(frame_decode(codec, frame.data, frame.size, 2, TYPES(types), raw, &back, &err),
                     SLUICE_OK);
    batch_unref(back);
    /* Whether a type allows nulls is not part of the bytes. */
    assert_int_equal(frame_decode(codec, frame.data, frame.size, 2, TYPES(loose), 0, &back, NULL),
                     SLUICE_OK);
    batch_unref(back);
    batch_unref(batch);
    batch_unref(holed);
    buf_deinit(&frame);
    for (int k = 0; k < 2; k++) {
        type_destroy(types[k]);
        type_destroy(others[k]);
        type_destroy(loose[k]);
    }
    frame_codec_destroy(codec);
}

/* Frames one after another in one buffer, as in a file. */
static void test_frames_in_a_row(void **state)
{
    struct kit_random r = { 26 };
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct type *types[1] = { kit_type("list<utf8?>?") };
    struct batch *batches[5];
    struct buf file = BUF_INIT;
    size_t at = 0;

    (void)state;
    for (int k = 0; k < 5; k++) {
        batches[k] = make_batch(&r, types, 1, 10 + 300 * k);
        encode(codec, batches[k], types, &file);
    }
    for (int k = 0; k < 5; k++) {
        struct batch *back = NULL;
        uint64_t total;
        uint32_t rows;
        assert_true(file.size - at >= FRAME_HEADER_BYTES);
        assert_int_equal(frame_size(file.data + at, &total, &rows, &err), SLUICE_OK);
        assert_int_equal(rows, batches[k]->length);
        assert_int_equal(
            frame_decode(codec, file.data + at, total, 1, TYPES(types), 0, &back, &err), SLUICE_OK);
        for (int64_t i = 0; i < back->length; i++) {
            assert_true(kit_rows_equal(&batches[k]->columns[0]->array, i, &back->columns[0]->array,
                                       i, types[0]));
        }
        batch_unref(back);
        batch_unref(batches[k]);
        at += total;
    }
    assert_int_equal(at, file.size);
    buf_deinit(&file);
    type_destroy(types[0]);
    frame_codec_destroy(codec);
}

static void test_out_of_memory(void **state)
{
    struct kit_random r = { 27 };
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = NULL;
    struct type *types[2] = {
        kit_type("struct<a:list<struct<x:utf8?,y:fixed[5]>?>,b:struct<c:bool?,d:uint64>?>"),
        kit_type("utf8?")
    };
    struct batch *batch = make_batch(&r, types, 2, 3000);
    const uint32_t rows[] = { 5, 8, 9, 100, 2999 };
    struct batch *some = batch_select(batch, rows, 5);
    struct batch *back = NULL;
    struct buf frame = BUF_INIT;
    struct buf good = BUF_INIT;
    sluice_status status;

    (void)state;
    ALLOC_EACH((codec = frame_codec_create(), status = codec != NULL ? SLUICE_OK : SLUICE_E_NOMEM),
               frame_codec_destroy(codec));
    codec = frame_codec_create();
    encode(codec, batch, types, &good);
    frame_codec_destroy(codec);
    ALLOC_EACH((alloc_disarm(), codec = frame_codec_create(), alloc_arm(alloc_k, alloc_stay != 0),
                status = frame_encode(codec, batch, TYPES(types), &frame, &err)),
               if (status == SLUICE_OK) {
                   assert_int_equal(frame.size, good.size);
                   assert_memory_equal(frame.data, good.data, good.size);
               } else { assert_int_equal(frame.size, 0); } buf_deinit(&frame);
               frame_codec_destroy(codec));
    codec = frame_codec_create();
    ALLOC_EACH(status = frame_encode(codec, some, TYPES(types), &frame, &err), buf_deinit(&frame));
    ALLOC_EACH(status = frame_decode(codec, good.data, good.size, 2, TYPES(types), 0, &back, &err),
               batch_unref(back));
    frame_codec_destroy(codec);
    buf_deinit(&good);
    batch_unref(some);
    batch_unref(batch);
    type_destroy(types[0]);
    type_destroy(types[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_columns_outlive_the_batch),
        cmocka_unit_test(test_bytes_depend_on_rows_alone),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_incompressible),
        cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_forged_frames),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_frames_in_a_row),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
