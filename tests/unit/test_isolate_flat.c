/* Arrays as offsets (isolate/flat.h) and values in bytes (isolate/wire.h): what is written is
 * read back equal; what is damaged is refused or harmless. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/columnInt.h"
#include "isolate/flat.h"
#include "isolate/wire.h"
#include "tests/unit/array_kit.h"

static void put_word(char *bytes, size_t place, uint64_t value)
{
    memcpy(bytes + place, &value, sizeof value);
}

static char *written(const struct ArrowArray *array, const struct type *type, size_t *n)
{
    char *bytes;

    *n = flat_size(array, type);
    bytes = flat_alloc(*n);
    assert_non_null(bytes);
    flat_write(array, type, bytes);
    return bytes;
}

static void test_every_type_is_read_back_equal(void **state)
{
    struct kit_random random = { 11 };
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        for (int64_t length = 0; length < 200; length += 1 + length / 3) {
            struct column *column = kit_column(&random, type, length);
            struct ArrowArray out;
            size_t n;
            char *bytes = written(&column->array, type, &n);
            if (flat_read(bytes, n, type, bytes, &out, &err) != SLUICE_OK ||
                array_validate(&out, type, length, "x", &err) != SLUICE_OK) {
                fail_msg("%s: %s", kit_types[k], err.message);
            }
            kit_assert_invariants(&out, type);
            for (int64_t row = 0; row < length; row++) {
                assert_true(kit_rows_equal(&column->array, row, &out, row, type));
            }
            array_release(&out);
            column_unref(column);
        }
        type_destroy(type);
    }
}

/* Text before the first row is left out, and offsets begin with 0 again. */
static void test_only_the_text_of_its_rows_goes_along(void **state)
{
    struct type *type = kit_type("utf8");
    const int32_t offsets[] = { 1000, 1003, 1005 };
    char text[1005];
    const void *buffers[] = { NULL, offsets, text };
    struct ArrowArray array = { .length = 2, .n_buffers = 3, .buffers = buffers };
    struct sluice_error err = ERROR_INIT;
    struct ArrowArray out;
    size_t n;
    char *bytes;

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + 1000, "xyzuv", 5);
    bytes = written(&array, type, &n);
    assert_true(n < 600);
    assert_int_equal(flat_read(bytes, n, type, bytes, &out, &err), SLUICE_OK);
    assert_int_equal(((const int32_t *)out.buffers[1])[0], 0);
    assert_int_equal(((const int32_t *)out.buffers[1])[2], 5);
    assert_memory_equal(out.buffers[2], "xyzuv", 5);
    array_release(&out);
    type_destroy(type);
}

/* Children that were moved out outlive the struct around them. */
static void test_children_may_be_moved_out(void **state)
{
    struct type *type = kit_type("struct<a:int32?,b:utf8>");
    struct kit_random random = { 5 };
    struct column *column = kit_column(&random, type, 40);
    struct sluice_error err = ERROR_INIT;
    struct ArrowArray out;
    struct ArrowArray child;
    size_t n;
    char *bytes = written(&column->array, type, &n);

    (void)state;
    assert_int_equal(flat_read(bytes, n, type, bytes, &out, &err), SLUICE_OK);
    child = *out.children[1];
    out.children[1]->release = NULL;
    array_release(&out);
    for (int64_t row = 0; row < 40; row++) {
        assert_true(kit_rows_equal(column->array.children[1], row, &child, row, type->children[1]));
    }
    array_release(&child);
    column_unref(column);
    type_destroy(type);
}

/* Node 0 of a nullable utf8 column: length, null count, three places, three sizes. */
static void test_what_is_damaged_is_refused(void **state)
{
    static const struct {
        size_t place;
        uint64_t value;
    } damages[] = {
        { 0, (uint64_t)-1 },
        { 0, UINT64_C(1) << 40 },
        { 0, 100000 },
        { 8, (uint64_t)-5 },
        { 8, 11 },
        { 16, 0 },
        { 16, 3 },
        { 16, 1 << 20 },
        { 24, 0 },
        { 24, 64 * 1000 },
        { 24, ~UINT64_C(63) },
        { 32, ~UINT64_C(0) },
        { 32, 1 << 30 },
        { 40, 0 },
        { 48, 3 },
        { 48, ~UINT64_C(0) },
        { 56, 2 },
        { 56, ~UINT64_C(0) - 63 },
    };
    struct type *type = kit_type("utf8?");
    struct sluice_error err = ERROR_INIT;
    struct builder *builder;
    struct ArrowArray array;
    struct ArrowArray out;
    size_t n;
    char *bytes;
    char *copy;

    (void)state;
    assert_int_equal(builder_create(type, &builder, &err), SLUICE_OK);
    for (int k = 0; k < 10; k++) {
        assert_true(k == 3 ? builder_null(builder) : builder_bytes_add(builder, "text", 4));
    }
    assert_int_equal(builder_finish(builder, &array, &err), SLUICE_OK);
    builder_destroy(builder);
    bytes = written(&array, type, &n);
    copy = flat_alloc(n);
    for (size_t k = 0; k < sizeof damages / sizeof damages[0]; k++) {
        memcpy(copy, bytes, n);
        put_word(copy, damages[k].place, damages[k].value);
        if (flat_read(copy, n, type, NULL, &out, &err) == SLUICE_OK) {
            fail_msg("damage %zu passes", k);
        }
        assert_null(out.release);
        assert_true(err.message[0] != '\0');
    }
    for (size_t shorter = 0; shorter < n; shorter += 64) {
        assert_int_equal(flat_read(bytes, shorter, type, NULL, &out, &err), SLUICE_E_INTERNAL);
    }
    free(copy);
    free(bytes);
    array_release(&array);
    type_destroy(type);
}

/* Any byte may be anything: nothing outside the memory is read, as far as array_validate lets it
 * come. */
static void test_flipped_bytes_do_no_harm(void **state)
{
    struct kit_random random = { 3 };
    struct sluice_error err = ERROR_INIT;
    int refused = 0;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        struct column *column = kit_column(&random, type, 30);
        size_t n;
        char *bytes = written(&column->array, type, &n);
        char *copy = flat_alloc(n);
        for (int round = 0; round < 300; round++) {
            struct ArrowArray out;
            sluice_status status;
            memcpy(copy, bytes, n);
            for (int64_t flips = 1 + kit_below(&random, 4); flips > 0; flips--) {
                copy[kit_below(&random, (int64_t)n)] = (char)kit_next(&random);
            }
            status = flat_read(copy, n, type, NULL, &out, &err);
            refused += status != SLUICE_OK ? 1 : 0;
            if (status == SLUICE_OK) {
                if (array_validate(&out, type, out.length, "x", &err) == SLUICE_OK) {
                    struct runs all = { 0 };
                    struct ArrowArray gathered;
                    assert_true(runs_add(&all, 0, out.length));
                    if (array_gather(&out, type, &all, &gathered, &err) == SLUICE_OK) {
                        array_release(&gathered);
                    }
                    runs_deinit(&all);
                }
                array_release(&out);
            }
        }
        free(copy);
        free(bytes);
        column_unref(column);
        type_destroy(type);
    }
    assert_true(refused > 100);
}

static void test_values_are_read_back(void **state)
{
    struct buf out = BUF_INIT;
    struct wire wire;
    struct sluice_error error = ERROR_INIT;
    struct sluice_error back;
    size_t n;

    (void)state;
    error.code = SLUICE_E_DATA;
    error.row = -1;
    memcpy(error.field, "column", 7);
    memset(error.message, 'm', sizeof error.message - 1);
    wire_put(&out, 7);
    wire_put_float(&out, -0.5);
    wire_put_text(&out, NULL);
    wire_put_text(&out, "");
    wire_put_text(&out, "text");
    wire_put_bytes(&out, "a\0b", 3);
    wire_put_error(&out, &error);
    wire = wire_begin(out.data, out.size);
    assert_int_equal(wire_get(&wire), 7);
    assert_true(wire_get_float(&wire) == -0.5);
    assert_null(wire_get_text(&wire));
    assert_string_equal(wire_get_text(&wire), "");
    assert_string_equal(wire_get_text(&wire), "text");
    assert_memory_equal(wire_get_bytes(&wire, &n), "a\0b", 3);
    assert_int_equal(n, 3);
    wire_get_error(&wire, &back);
    assert_int_equal(back.code, SLUICE_E_DATA);
    assert_int_equal(back.row, -1);
    assert_string_equal(back.field, "column");
    assert_string_equal(back.message, error.message);
    assert_true(wire_end(&wire));
    assert_int_equal(wire_get(&wire), 0);
    assert_false(wire_end(&wire));
    for (size_t shorter = 0; shorter < out.size; shorter++) {
        wire = wire_begin(out.data, shorter);
        wire_get(&wire);
        wire_get_float(&wire);
        for (int k = 0; k < 3; k++) {
            wire_get_text(&wire);
        }
        wire_get_bytes(&wire, &n);
        wire_get_error(&wire, &back);
        assert_false(wire_end(&wire));
    }
    buf_deinit(&out);
}

static void test_texts_with_a_nul_inside_are_refused(void **state)
{
    struct buf out = BUF_INIT;
    struct wire wire;

    (void)state;
    wire_put_bytes(&out, "a\0b", 4);
    wire = wire_begin(out.data, out.size);
    assert_null(wire_get_text(&wire));
    assert_false(wire_end(&wire));
    buf_clear(&out);
    wire_put_bytes(&out, "ab", 2);
    wire = wire_begin(out.data, out.size);
    assert_null(wire_get_text(&wire));
    assert_false(wire_end(&wire));
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_read_back_equal),
        cmocka_unit_test(test_only_the_text_of_its_rows_goes_along),
        cmocka_unit_test(test_children_may_be_moved_out),
        cmocka_unit_test(test_what_is_damaged_is_refused),
        cmocka_unit_test(test_flipped_bytes_do_no_harm),
        cmocka_unit_test(test_values_are_read_back),
        cmocka_unit_test(test_texts_with_a_nul_inside_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
