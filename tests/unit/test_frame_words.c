/* data/frame: lists of small numbers, which are stored in as many bits as they need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/array_kit.h"

#include "data/frame.h"
#include "data/frameInt.h"

#define TYPES(types) ((const struct type *const *)(types))

static struct column *list_of(const struct type *type, const uint32_t *items, size_t n, size_t row)
{
    struct sluice_error err = ERROR_INIT;
    struct builder *b = NULL;
    struct ArrowArray array;

    assert_int_equal(builder_create(type, &b, &err), SLUICE_OK);
    for (size_t at = 0; at < n; at += row) {
        assert_true(builder_list_fixed(b, items + at, n - at < row ? n - at : row));
    }
    assert_int_equal(builder_finish(b, &array, &err), SLUICE_OK);
    builder_destroy(b);
    return column_create(&array);
}

static void items_equal(const struct batch *batch, uint32_t column, const uint32_t *items, size_t n)
{
    const struct ArrowArray *list = &batch->columns[column]->array;

    assert_int_equal(((const int32_t *)list->buffers[1])[list->length], n);
    assert_memory_equal(list->children[0]->buffers[1], items, n * sizeof *items);
}

/* Every width, below and above what is stored apart, and lengths at which words and pairs end. */
static void test_widths(void **state)
{
    static const size_t lengths[] = { 1, 1023, 1024, 1025, 1031, 4096, 70001 };
    struct kit_random r = { 31 };
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct type *types[2] = { kit_type("list<uint32>"), kit_type("list<int32>") };
    uint32_t *items = malloc(70001 * sizeof *items);

    (void)state;
    for (uint32_t bits = 0; bits <= 32; bits++) {
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            const size_t n = lengths[k];
            const bool apart = bits <= FRAME_WORDS_BITS && n >= FRAME_WORDS_LEAST;
            struct column *columns[2];
            struct batch *batch;
            struct batch *back = NULL;
            struct buf frame = BUF_INIT;
            for (size_t i = 0; i < n; i++) {
                items[i] = (uint32_t)(((uint64_t)kit_below(&r, 65536) << 16 |
                                       (uint64_t)kit_below(&r, 65536)) &
                                      ((UINT64_C(1) << bits) - 1));
            }
            if (bits > 0) {
                items[n / 2] |= UINT32_C(1) << (bits - 1); /* the width is that of the largest */
            }
            columns[0] = list_of(types[0], items, n, n / 3 + 1);
            columns[1] = list_of(types[1], items, n, n / 3 + 1);
            batch = batch_create(columns[0]->array.length, 2, columns);
            assert_int_equal(frame_encode(codec, batch, TYPES(types), &frame, &err), SLUICE_OK);
            assert_int_equal((unsigned char)frame.data[4] & FRAME_FLAG_WORDS,
                             apart ? FRAME_FLAG_WORDS : 0);
            if (apart) {
                const size_t most = 2 * (n * (bits > 0 ? bits : 1) / 8 + 64) + 512;
                assert_true(frame.size < most);
            }
            assert_int_equal(
                frame_decode(codec, frame.data, frame.size, 2, TYPES(types), 0, &back, &err),
                SLUICE_OK);
            items_equal(back, 0, items, n);
            items_equal(back, 1, items, n);
            batch_unref(back);
            batch_unref(batch);
            buf_deinit(&frame);
        }
    }
    free(items);
    type_destroy(types[0]);
    type_destroy(types[1]);
    frame_codec_destroy(codec);
}

/* Of a selection and of what it decodes to the bytes are equal, between other columns and with
 * nulls. */
static void test_bytes_depend_on_rows_alone(void **state)
{
    struct kit_random r = { 32 };
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct frame_codec *fresh = frame_codec_create();
    struct type *types[4] = { kit_type("utf8"), kit_type("list<uint32?>?"),
                              kit_type("list<list<int32>>"), kit_type("uint32") };

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct column *columns[4];
        struct batch *batch;
        struct batch *some;
        struct batch *back = NULL;
        struct buf frames[2] = { BUF_INIT, BUF_INIT };
        uint32_t rows[2000];
        int64_t n = 0;
        for (uint32_t k = 0; k < 4; k++) {
            columns[k] = kit_column(&r, types[k], 2000);
        }
        if (round % 2 == 0) { /* small numbers among the others */
            uint32_t *items = malloc(8000 * sizeof *items);
            for (size_t i = 0; i < 8000; i++) {
                items[i] = (uint32_t)kit_below(&r, 100277);
            }
            column_unref(columns[1]);
            columns[1] = list_of(types[1], items, 8000, 4);
            free(items);
        }
        for (uint32_t i = 0; i < 2000; i++) {
            if (kit_below(&r, 4) > 0) {
                rows[n++] = i;
            }
        }
        batch = batch_create(2000, 4, columns);
        some = batch_select(batch, rows, n);
        assert_int_equal(frame_encode(codec, some, TYPES(types), &frames[0], &err), SLUICE_OK);
        assert_true(round % 2 != 0 || ((unsigned char)frames[0].data[4] & FRAME_FLAG_WORDS) != 0);
        assert_int_equal(
            frame_decode(codec, frames[0].data, frames[0].size, 4, TYPES(types), 0, &back, &err),
            SLUICE_OK);
        for (int64_t i = 0; i < n; i++) {
            for (uint32_t k = 0; k < 4; k++) {
                assert_true(kit_rows_equal(&batch->columns[k]->array, rows[i],
                                           &back->columns[k]->array, i, types[k]));
            }
        }
        assert_int_equal(frame_encode(fresh, back, TYPES(types), &frames[1], &err), SLUICE_OK);
        assert_int_equal(frames[0].size, frames[1].size);
        assert_memory_equal(frames[0].data, frames[1].data, frames[0].size);
        buf_deinit(&frames[0]);
        buf_deinit(&frames[1]);
        batch_unref(back);
        batch_unref(some);
        batch_unref(batch);
    }
    for (uint32_t k = 0; k < 4; k++) {
        type_destroy(types[k]);
    }
    frame_codec_destroy(codec);
    frame_codec_destroy(fresh);
}

/* The layout, and what a forged one is refused for. */
static void test_layout(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = frame_codec_create();
    struct type *types[1] = { kit_type("list<uint32>") };
    uint32_t items[1030];
    struct column *columns[1];
    struct batch *batch;
    struct buf frame = BUF_INIT;
    struct frame_header header;
    struct frame_words words;
    uint64_t n;
    /* hash, nulls, 0 and three lengths, nulls of the items; then the items */
    const uint64_t at = 8 + 8 + 16 + 8, plain = 1030 * 4, packed = (1030 * 10 + 31) / 32 * 4 + 4;

    (void)state;
    for (uint32_t i = 0; i < 1030; i++) {
        items[i] = i % 1000;
    }
    columns[0] = list_of(types[0], items, 1030, 400);
    batch = batch_create(3, 1, columns);
    assert_int_equal(frame_encode(codec, batch, TYPES(types), &frame, &err), SLUICE_OK);
    memcpy(&header, frame.data, sizeof header);
    memcpy(&n, frame.data + FRAME_HEADER_BYTES, sizeof n);
    memcpy(&words, frame.data + FRAME_HEADER_BYTES + 8, sizeof words);
    assert_int_equal(header.flags & FRAME_FLAG_WORDS, FRAME_FLAG_WORDS);
    assert_int_equal(header.raw, at + plain);
    assert_int_equal(n, 1);
    assert_int_equal(words.at, at);
    assert_int_equal(words.n, 1030);
    assert_int_equal(words.bits, 10);
    assert_int_equal((unsigned char)frame.data[FRAME_HEADER_BYTES + 24], 0); /* 0, 1 << 10, … */
    assert_int_equal((unsigned char)frame.data[FRAME_HEADER_BYTES + 25], 4);
    assert_true(header.stored <= 24 + packed + at);
    {
        const struct {
            uint64_t n, at;
            uint32_t numbers, bits;
        } forged[] = {
            { 0, at, 1030, 10 },          { 2, at, 1030, 10 },
            { UINT64_MAX, at, 1030, 10 }, { UINT64_C(1) << 60, at, 1030, 10 },
            { 1, at + 4, 1030, 10 },      { 1, at + 8, 1030, 10 },
            { 1, UINT64_MAX, 1030, 10 },  { 1, UINT64_MAX - 7, 1030, 10 },
            { 1, at, 1032, 10 },          { 1, at, 1000, 10 },
            { 1, at, UINT32_MAX, 10 },    { 1, at, 1030, 0 },
            { 1, at, 1030, 9 },           { 1, at, 1030, 25 },
            { 1, at, 1030, UINT32_MAX },  { 1, at, 1030, 24 },
        };
        for (size_t k = 0; k < sizeof forged / sizeof forged[0]; k++) {
            char *copy = malloc(frame.size);
            struct batch *back = NULL;
            struct frame_header changed = header;
            memcpy(copy, frame.data, frame.size);
            words = (struct frame_words){ forged[k].at, forged[k].numbers, forged[k].bits };
            memcpy(copy + FRAME_HEADER_BYTES, &forged[k].n, sizeof forged[k].n);
            memcpy(copy + FRAME_HEADER_BYTES + 8, &words, sizeof words);
            changed.hash = frame_hash(codec, &changed, copy + FRAME_HEADER_BYTES);
            memcpy(copy, &changed, sizeof changed);
            if (frame_decode(codec, copy, frame.size, 1, TYPES(types), 0, &back, &err) !=
                    SLUICE_E_DATA ||
                back != NULL) {
                fail_msg("forged directory %zu is taken", k);
            }
            free(copy);
        }
        /* cut inside of the directory */
        for (uint64_t stored = 0; stored < 24; stored++) {
            struct batch *back = NULL;
            struct frame_header changed = header;
            char copy[FRAME_HEADER_BYTES + 24];
            memcpy(copy, frame.data, sizeof copy);
            changed.stored = stored;
            changed.hash = frame_hash(codec, &changed, copy + FRAME_HEADER_BYTES);
            memcpy(copy, &changed, sizeof changed);
            assert_int_equal(frame_decode(codec, copy, FRAME_HEADER_BYTES + stored, 1, TYPES(types),
                                          0, &back, &err),
                             SLUICE_E_DATA);
        }
    }
    buf_deinit(&frame);
    batch_unref(batch);
    type_destroy(types[0]);
    frame_codec_destroy(codec);
}

static void test_out_of_memory(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct frame_codec *codec = NULL;
    struct type *types[1] = { kit_type("list<uint32>") };
    uint32_t items[2048] = { 5 };
    struct column *columns[1] = { list_of(types[0], items, 2048, 100) };
    struct batch *batch = batch_create(columns[0]->array.length, 1, columns);
    struct batch *back = NULL;
    struct buf frame = BUF_INIT;
    struct buf good = BUF_INIT;
    sluice_status status;

    (void)state;
    codec = frame_codec_create();
    assert_int_equal(frame_encode(codec, batch, TYPES(types), &good, &err), SLUICE_OK);
    frame_codec_destroy(codec);
    ALLOC_EACH((alloc_disarm(), codec = frame_codec_create(), alloc_arm(alloc_k, alloc_stay != 0),
                status = frame_encode(codec, batch, TYPES(types), &frame, &err)),
               if (status == SLUICE_OK) { assert_int_equal(frame.size, good.size); } else {
                   assert_int_equal(frame.size, 0);
               } buf_deinit(&frame);
               frame_codec_destroy(codec));
    codec = frame_codec_create();
    ALLOC_EACH(status = frame_decode(codec, good.data, good.size, 1, TYPES(types), 0, &back, &err),
               batch_unref(back));
    frame_codec_destroy(codec);
    buf_deinit(&good);
    batch_unref(batch);
    type_destroy(types[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_bytes_depend_on_rows_alone),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
