/* data/builder: columns row by row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/array_kit.h"

static struct builder *create(const struct type *type)
{
    struct sluice_error err = ERROR_INIT;
    struct builder *b = NULL;

    assert_int_equal(builder_create(type, &b, &err), SLUICE_OK);
    return b;
}

static void finish(struct builder *b, const struct type *type, int64_t rows, struct ArrowArray *out)
{
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(builder_length(b), rows);
    assert_int_equal(builder_finish(b, out, &err), SLUICE_OK);
    assert_int_equal(builder_length(b), 0);
    if (array_validate(out, type, rows, "built", &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    kit_assert_invariants(out, type);
}

static void test_numbers(void **state)
{
    static const char *const signed_types[] = { "int8?", "int16?", "int32?", "int64?" };
    static const char *const unsigned_types[] = { "uint8?", "uint16?", "uint32?", "uint64?" };

    (void)state;
    for (int k = 0; k < 4; k++) {
        struct type *s = kit_type(signed_types[k]);
        struct type *u = kit_type(unsigned_types[k]);
        struct builder *a = create(s);
        struct builder *b = create(u);
        struct ArrowArray x;
        struct ArrowArray y;
        size_t width = (size_t)1 << k;
        for (int i = 0; i < 1000; i++) {
            assert_true(i % 7 == 3 ? builder_null(a)
                                   : builder_int(a, i % 2 == 0 ? -(i % 128) : i % 128));
            assert_true(i % 5 == 4 ? builder_null(b) : builder_uint(b, (uint64_t)i % 256));
        }
        finish(a, s, 1000, &x);
        finish(b, u, 1000, &y);
        for (int i = 0; i < 1000; i++) {
            int64_t expected = i % 7 == 3 ? 0 : i % 2 == 0 ? -(i % 128) : i % 128;
            uint64_t positive = i % 5 == 4 ? 0 : (uint64_t)i % 256;
            assert_int_equal(array_is_null(&x, i), i % 7 == 3);
            assert_int_equal(array_is_null(&y, i), i % 5 == 4);
            assert_memory_equal((const char *)x.buffers[1] + (size_t)i * width, &expected, width);
            assert_memory_equal((const char *)y.buffers[1] + (size_t)i * width, &positive, width);
        }
        x.release(&x);
        y.release(&y);
        builder_destroy(a);
        builder_destroy(b);
        type_destroy(s);
        type_destroy(u);
    }
}

static void test_floats_and_bools(void **state)
{
    struct type *types[3] = { kit_type("float32"), kit_type("float64"), kit_type("bool?") };
    struct builder *b[3];
    struct ArrowArray x[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        b[k] = create(types[k]);
    }
    for (int i = 0; i < 100; i++) {
        assert_true(builder_float(b[0], i * 0.5));
        assert_true(builder_float(b[1], -i * 0.1));
        assert_true(i % 10 == 9 ? builder_null(b[2]) : builder_bool(b[2], i % 3 == 0));
    }
    for (int k = 0; k < 3; k++) {
        finish(b[k], types[k], 100, &x[k]);
    }
    for (int i = 0; i < 100; i++) {
        bool bit = ((const uint8_t *)x[2].buffers[1])[i / 8] >> (i % 8) & 1;
        assert_true(((const float *)x[0].buffers[1])[i] == (float)(i * 0.5));
        assert_true(((const double *)x[1].buffers[1])[i] == -i * 0.1);
        assert_int_equal(array_is_null(&x[2], i), i % 10 == 9);
        assert_int_equal(bit, i % 10 != 9 && i % 3 == 0);
    }
    /* Bits past the end are 0. */
    assert_int_equal(((const uint8_t *)x[2].buffers[1])[12] & 0xF0, 0);
    assert_int_equal(((const uint8_t *)x[2].buffers[0])[12] & 0xF0, 0);
    for (int k = 0; k < 3; k++) {
        x[k].release(&x[k]);
        builder_destroy(b[k]);
        type_destroy(types[k]);
    }
}

static void test_text(void **state)
{
    struct type *type = kit_type("utf8?");
    struct builder *b = create(type);
    struct ArrowArray x;
    char text[64];
    size_t n;

    (void)state;
    memset(text, 'x', sizeof text);
    /* Twice: a finished builder is empty and usable. */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            assert_true(i % 11 == 10
                            ? builder_null(b)
                            : builder_bytes_add(b, i % 64 == 0 ? NULL : text, (size_t)(i % 64)));
        }
        finish(b, type, 5000, &x);
        for (int i = 0; i < 5000; i++) {
            const char *bytes = array_bytes(&x, i, &n);
            assert_int_equal(array_is_null(&x, i), i % 11 == 10);
            assert_int_equal(n, i % 11 == 10 ? 0 : i % 64);
            assert_memory_equal(bytes, text, n);
        }
        for (int i = 0; i < 64; i++) {
            assert_int_equal(
                ((const char *)x.buffers[2])[((const int32_t *)x.buffers[1])[5000] + i], 0);
        }
        x.release(&x);
    }
    builder_destroy(b);
    type_destroy(type);
}

static void test_nested(void **state)
{
    struct type *type =
        kit_type("struct<tokens:list<uint32>,meta:struct<lang:utf8?,key:fixed[4]>?>?");
    struct builder *b = create(type);
    struct builder *tokens = builder_child(b, 0);
    struct builder *meta = builder_child(b, 1);
    struct ArrowArray x;
    const uint32_t values[] = { 1, 2, 3, 4 };

    (void)state;
    for (int i = 0; i < 300; i++) {
        if (i % 13 == 5) {
            assert_true(builder_null(b));
            continue;
        }
        if (i % 2 == 0) {
            assert_true(builder_list_fixed(tokens, values, (size_t)(i % 5)));
        } else {
            for (int k = 0; k < i % 5; k++) {
                assert_true(builder_uint(builder_child(tokens, 0), (uint64_t)k + 1));
            }
            assert_true(builder_close(tokens));
        }
        if (i % 3 == 0) {
            assert_true(builder_null(meta));
        } else {
            assert_true(builder_bytes_add(builder_child(meta, 0), "en", 2));
            assert_true(builder_bytes_add(builder_child(meta, 1), "\0\1\2\3", 4));
            assert_true(builder_close(meta));
        }
        assert_true(builder_close(b));
    }
    finish(b, type, 300, &x);
    for (int i = 0; i < 300; i++) {
        const struct ArrowArray *list = x.children[0];
        const int32_t *offsets = list->buffers[1];
        assert_int_equal(array_is_null(&x, i), i % 13 == 5);
        assert_int_equal(offsets[i + 1] - offsets[i], i % 13 == 5 ? 0 : i % 5);
        assert_memory_equal((const uint32_t *)list->children[0]->buffers[1] + offsets[i], values,
                            (size_t)(offsets[i + 1] - offsets[i]) * 4);
        assert_int_equal(array_is_null(x.children[1], i), i % 13 == 5 || i % 3 == 0);
    }
    x.release(&x);
    builder_destroy(b);
    type_destroy(type);
}

static void test_copy(void **state)
{
    struct kit_random r = { 11 };

    (void)state;
    for (int round = 0; round < 10; round++) {
        for (size_t k = 0; k < KIT_TYPES; k++) {
            struct type *type = kit_type(kit_types[k]);
            struct builder *b = create(type);
            struct ArrowArray from;
            struct ArrowArray x;
            int64_t rows[200];
            kit_array(&r, type, 80, &from);
            for (int i = 0; i < 200; i++) {
                rows[i] = kit_below(&r, 80);
                assert_true(builder_copy(b, &from, rows[i]));
            }
            assert_true(builder_bytes(b) > 0 || type->kind == TYPE_STRUCT);
            finish(b, type, 200, &x);
            for (int i = 0; i < 200; i++) {
                assert_true(kit_rows_equal(&from, rows[i], &x, i, type));
            }
            x.release(&x);
            from.release(&from);
            builder_destroy(b);
            type_destroy(type);
        }
    }
}

/* Runs of rows, picked and consecutive, shown before they are taken; then the memory once more. */
static void test_rows(void **state)
{
    struct kit_random r = { 15 };

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        struct builder *b = create(type);
        struct ArrowArray from;
        kit_array(&r, type, 80, &from);
        for (int round = 0; round < 12; round++) {
            uint32_t rows[300];
            struct ArrowArray x;
            int n = 0;
            while (n < 200) {
                int more = (int)kit_below(&r, 40);
                int64_t first = kit_below(&r, 80 - more);
                bool picked = kit_below(&r, 2) == 0;
                for (int i = 0; i < more; i++) {
                    rows[n + i] = (uint32_t)(picked ? kit_below(&r, 80) : first + i);
                }
                assert_true(builder_rows(b, &from, picked ? rows + n : NULL, first, more));
                n += more;
            }
            assert_int_equal(builder_length(b), n);
            assert_true(builder_memory(b) >= builder_bytes(b) / 2);
            x = builder_view(b);
            assert_int_equal(array_validate(&x, type, n, "view", NULL), SLUICE_OK);
            for (int i = 0; i < n; i++) {
                assert_true(kit_rows_equal(&from, rows[i], &x, i, type));
            }
            x.release(&x);
            if (round % 3 == 0) {
                finish(b, type, n, &x);
                for (int i = 0; i < n; i++) {
                    assert_true(kit_rows_equal(&from, rows[i], &x, i, type));
                }
                x.release(&x);
            } else if (round % 3 == 1) {
                builder_truncate(b, 0);
            } else {
                builder_release(b);
                assert_int_equal(builder_memory(b), 0);
            }
        }
        from.release(&from);
        builder_destroy(b);
        type_destroy(type);
    }
}

/* Where memory runs out in a run of rows, none of them is there, and it can be tried again. */
static void test_rows_out_of_memory(void **state)
{
    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct kit_random r = { 16 };
        struct type *type = kit_type(kit_types[k]);
        struct builder *b = create(type);
        struct ArrowArray from;
        struct ArrowArray x;
        kit_array(&r, type, 300, &from);
        for (int64_t i = 0; i < 300; i += 30) {
            bool done = false;
            for (int64_t failures = 0; !done; failures++) {
                alloc_arm(failures, false);
                done = builder_rows(b, &from, NULL, i, 30);
                (void)alloc_disarm();
                assert_int_equal(builder_length(b), done ? i + 30 : i);
            }
        }
        finish(b, type, 300, &x);
        for (int64_t i = 0; i < 300; i++) {
            assert_true(kit_rows_equal(&from, i, &x, i, type));
        }
        x.release(&x);
        from.release(&from);
        builder_destroy(b);
        type_destroy(type);
    }
}

static void test_empty(void **state)
{
    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        struct builder *b = create(type);
        struct ArrowArray x;
        finish(b, type, 0, &x);
        x.release(&x);
        builder_destroy(b);
        type_destroy(type);
    }
    builder_destroy(NULL);
}

static void test_truncate(void **state)
{
    struct kit_random r = { 12 };

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        struct builder *b = create(type);
        struct ArrowArray from;
        struct ArrowArray x;
        kit_array(&r, type, 60, &from);
        for (int i = 0; i < 60; i++) {
            assert_true(builder_copy(b, &from, i));
        }
        builder_truncate(b, 21);
        for (int i = 21; i < 40; i++) {
            assert_true(builder_copy(b, &from, i + 20));
        }
        finish(b, type, 40, &x);
        for (int i = 0; i < 40; i++) {
            assert_true(kit_rows_equal(&from, i < 21 ? i : i + 20, &x, i, type));
        }
        x.release(&x);
        from.release(&from);
        builder_destroy(b);
        type_destroy(type);
    }
}

static void test_half_built_rows_are_dropped(void **state)
{
    struct type *type = kit_type("list<struct<a:utf8,b:int8>>");
    struct builder *b = create(type);
    struct builder *item = builder_child(b, 0);
    struct ArrowArray x;

    (void)state;
    assert_true(builder_bytes_add(builder_child(item, 0), "x", 1));
    assert_true(builder_int(builder_child(item, 1), 1));
    assert_true(builder_close(item));
    assert_true(builder_close(b));
    assert_true(builder_bytes_add(builder_child(item, 0), "y", 1));
    assert_true(builder_int(builder_child(item, 1), 2));
    assert_true(builder_close(item));
    assert_true(builder_bytes_add(builder_child(item, 0), "z", 1));
    finish(b, type, 1, &x);
    assert_int_equal(x.children[0]->length, 1);
    assert_int_equal(x.children[0]->children[0]->length, 1);
    assert_int_equal(((const int32_t *)x.children[0]->children[0]->buffers[1])[1], 1);
    x.release(&x);
    builder_destroy(b);
    type_destroy(type);
}

static void test_full(void **state)
{
    static const char *const types[] = { "utf8", "list<uint32>", "list<utf8?>",
                                         "struct<a:binary,b:int64>", "uint8" };
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        struct kit_random r = { 13 };
        struct type *type = kit_type(types[k]);
        struct builder *b = create(type);
        struct ArrowArray from;
        struct ArrowArray x;
        int64_t n = 0;
        kit_array(&r, type, 2000, &from);
        builder_limit(b, 1000);
        while (builder_copy(b, &from, n)) {
            n++;
            assert_true(n < 2000);
            assert_false(builder_full(b));
        }
        assert_true(builder_full(b));
        assert_true(n > 3 && n <= 1000);
        /* What did not fit has left nothing behind, and after finishing there is room again. */
        finish(b, type, n, &x);
        for (int64_t i = 0; i < n; i++) {
            assert_true(kit_rows_equal(&from, i, &x, i, type));
        }
        assert_false(builder_full(b));
        assert_true(builder_copy(b, &from, n));
        x.release(&x);
        from.release(&from);
        assert_int_equal(builder_finish(b, &x, &err), SLUICE_OK);
        x.release(&x);
        builder_destroy(b);
        type_destroy(type);
    }
}

static void test_full_to_the_byte(void **state)
{
    struct type *type = kit_type("utf8?");
    struct type *list = kit_type("list<uint8>");
    struct builder *b = create(type);
    struct builder *l = create(list);
    char text[128] = { 0 };

    (void)state;
    builder_limit(b, 100);
    builder_limit(l, 100);
    assert_true(builder_bytes_add(b, text, 60));
    assert_false(builder_bytes_add(b, text, 41));
    assert_true(builder_full(b));
    builder_truncate(b, 1);
    assert_false(builder_full(b));
    assert_true(builder_bytes_add(b, text, 40));
    assert_false(builder_bytes_add(b, text, 1));
    assert_true(builder_bytes_add(b, text, 0));
    assert_int_equal(builder_length(b), 3);
    assert_false(builder_bytes_add(b, text, SIZE_MAX));
    assert_true(builder_null(b));

    assert_true(builder_list_fixed(l, text, 99));
    assert_false(builder_list_fixed(l, text, 2));
    assert_int_equal(builder_length(l), 1);
    assert_int_equal(builder_length(builder_child(l, 0)), 99);
    assert_false(builder_list_fixed(l, text, SIZE_MAX / 2));
    assert_true(builder_list_fixed(l, text, 1));
    assert_false(builder_uint(builder_child(l, 0), 1));
    for (int i = 2; i < 100; i++) {
        assert_true(builder_close(l));
    }
    assert_false(builder_close(l));
    assert_true(builder_full(l));
    builder_destroy(b);
    builder_destroy(l);
    type_destroy(type);
    type_destroy(list);
}

static void test_refuses_unsupported(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type = kit_type("list<date32>");
    struct builder *b = NULL;

    (void)state;
    assert_int_equal(builder_create(type, &b, &err), SLUICE_E_SCHEMA);
    assert_null(b);
    type_destroy(type);
}

static void test_out_of_memory(void **state)
{
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct kit_random r = { 14 };
        struct type *type = kit_type(kit_types[k]);
        struct builder *b = NULL;
        struct ArrowArray from;
        struct ArrowArray x = { 0 };
        sluice_status status;
        kit_array(&r, type, 300, &from);
        ALLOC_EACH(status = builder_create(type, &b, &err), builder_destroy(b));
        /* A failed append leaves the rows before it alone and can be tried again. */
        b = create(type);
        for (int64_t i = 0; i < 300; i++) {
            int64_t failures = 0;
            for (;;) {
                bool done;
                alloc_arm(failures, false);
                done = builder_copy(b, &from, i);
                if (!alloc_disarm()) {
                    assert_true(done);
                    break;
                }
                /* The reserve that failed may have been the only thing to do for a row that
                 * fits. */
                if (done) {
                    break;
                }
                assert_false(builder_full(b));
                assert_int_equal(builder_length(b), i);
                failures++;
            }
        }
        /* So does a failed finish. */
        for (int64_t left = 0;; left++) {
            alloc_arm(left, false);
            status = builder_finish(b, &x, &err);
            if (!alloc_disarm() || status == SLUICE_OK) {
                break;
            }
            assert_int_equal(status, SLUICE_E_NOMEM);
            assert_null(x.release);
            assert_int_equal(builder_length(b), 300);
        }
        assert_int_equal(status, SLUICE_OK);
        assert_int_equal(x.length, 300);
        kit_assert_invariants(&x, type);
        for (int64_t i = 0; i < 300; i++) {
            assert_true(kit_rows_equal(&from, i, &x, i, type));
        }
        x.release(&x);
        from.release(&from);
        /* And a failed finish of nothing. */
        ALLOC_EACH(
            status = builder_finish(b, &x, &err), if (status == SLUICE_OK) { x.release(&x); });
        builder_destroy(b);
        type_destroy(type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_floats_and_bools),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_out_of_memory),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_truncate),
        cmocka_unit_test(test_half_built_rows_are_dropped),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_full_to_the_byte),
        cmocka_unit_test(test_refuses_unsupported),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
