/* data/column: columns, batches, gathering, and the checking of arrays from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/array_kit.h"

/* ---- normalising and gathering ---- */

static void test_normalise_keeps_rows(void **state)
{
    struct kit_random r = { 1 };
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (int round = 0; round < 40; round++) {
        for (size_t k = 0; k < KIT_TYPES; k++) {
            struct type *type = kit_type(kit_types[k]);
            int64_t n = round < 4 ? round : kit_below(&r, 150);
            struct kit_random same = r;
            struct ArrowArray foreign;
            struct ArrowArray array;
            kit_foreign(&r, type, n, 7, &foreign);
            kit_foreign(&same, type, n, 7, &array);
            if (array_validate(&array, type, n, "c", &err) != SLUICE_OK) {
                fail_msg("%s: %s", kit_types[k], err.message);
            }
            assert_int_equal(array_normalise(&array, type, &err), SLUICE_OK);
            assert_int_equal(array.length, n);
            kit_assert_invariants(&array, type);
            for (int64_t i = 0; i < n; i++) {
                assert_true(kit_rows_equal(&foreign, i, &array, i, type));
            }
            assert_int_equal(array_validate(&array, type, n, "c", &err), SLUICE_OK);
            array.release(&array);
            foreign.release(&foreign);
            type_destroy(type);
        }
    }
}

static void test_normalise_leaves_good_arrays(void **state)
{
    struct kit_random r = { 2 };
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        struct ArrowArray array;
        struct ArrowArray before;
        kit_array(&r, type, 50, &array);
        before = array;
        assert_int_equal(array_normalise(&array, type, &err), SLUICE_OK);
        assert_memory_equal(&array, &before, sizeof array);
        array.release(&array);
        type_destroy(type);
    }
}

static void test_gather(void **state)
{
    struct kit_random r = { 3 };
    struct sluice_error err = ERROR_INIT;
    uint32_t rows[400];

    (void)state;
    for (int round = 0; round < 30; round++) {
        for (size_t k = 0; k < KIT_TYPES; k++) {
            struct type *type = kit_type(kit_types[k]);
            int64_t length = 1 + kit_below(&r, 200);
            int64_t n = round == 0 ? 0 : kit_below(&r, 400);
            struct column *column = kit_column(&r, type, length);
            struct column *made = NULL;
            /* Any order and repetitions; pieces in a row as well. */
            for (int64_t i = 0; i < n; i++) {
                bool next = i > 0 && kit_below(&r, 4) > 0 && rows[i - 1] + 1 < length;
                rows[i] = next ? rows[i - 1] + 1 : (uint32_t)kit_below(&r, length);
            }
            assert_int_equal(column_gather(column, type, rows, n, &made, &err), SLUICE_OK);
            assert_int_equal(made->array.length, n);
            kit_assert_invariants(&made->array, type);
            for (int64_t i = 0; i < n; i++) {
                assert_true(kit_rows_equal(&column->array, rows[i], &made->array, i, type));
            }
            column_unref(column);
            column_unref(made);
            type_destroy(type);
        }
    }
}

static void test_gather_too_much(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type = kit_type("utf8");
    struct builder *b = NULL;
    struct ArrowArray array;
    struct column *column;
    struct column *made = NULL;
    uint32_t *rows = calloc(2100, sizeof *rows);
    char *text = calloc(1, 1 << 20);

    (void)state;
    assert_int_equal(builder_create(type, &b, &err), SLUICE_OK);
    assert_true(builder_bytes_add(b, text, 1 << 20));
    assert_int_equal(builder_finish(b, &array, &err), SLUICE_OK);
    column = column_create(&array);
    assert_int_equal(column_gather(column, type, rows, 2100, &made, &err), SLUICE_E_DATA);
    assert_null(made);
    assert_non_null(strstr(err.message, "use smaller batches"));
    column_unref(column);
    builder_destroy(b);
    type_destroy(type);
    free(rows);
    free(text);
}

static void test_text_has_padding(void **state)
{
    struct kit_random r = { 4 };
    struct sluice_error err = ERROR_INIT;
    struct type *type = kit_type("utf8");
    struct column *column = kit_column(&r, type, 10);
    struct column *made = NULL;
    const uint32_t rows[] = { 1, 2, 7 };
    const char *bytes;
    int32_t end;

    (void)state;
    assert_int_equal(column_gather(column, type, rows, 3, &made, &err), SLUICE_OK);
    end = ((const int32_t *)made->array.buffers[1])[3];
    bytes = made->array.buffers[2];
    for (int i = 0; i < 64; i++) {
        assert_int_equal(bytes[end + i], 0);
    }
    column_unref(column);
    column_unref(made);
    type_destroy(type);
}

static void test_nulls(void **state)
{
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        struct column *column = NULL;
        for (int64_t n = 0; n < 20; n += 19) {
            assert_int_equal(column_nulls(type, n, &column, &err), SLUICE_OK);
            assert_int_equal(column->array.length, n);
            assert_int_equal(column->array.null_count, n);
            kit_assert_invariants(&column->array, type);
            for (int64_t i = 0; i < n; i++) {
                assert_true(array_is_null(&column->array, i));
            }
            column_unref(column);
        }
        type_destroy(type);
    }
}

/* ---- batches ---- */

static struct batch *two_columns(struct kit_random *r, struct type **types, int64_t n)
{
    struct column *columns[3];

    columns[0] = kit_column(r, types[0], n);
    columns[1] = NULL;
    columns[2] = kit_column(r, types[2], n);
    return batch_create(n, 3, columns);
}

static void test_batches(void **state)
{
    struct kit_random r = { 5 };
    struct sluice_error err = ERROR_INIT;
    struct type *types[3] = { kit_type("utf8?"), NULL, kit_type("list<int32?>") };
    const struct type *const *t = (const struct type *const *)types;
    struct batch *all = two_columns(&r, types, 100);
    const uint32_t picked[] = { 0, 1, 5, 6, 7, 98, 99 };
    struct batch *some = batch_select(all, picked, 7);
    struct batch *part = batch_slice(some, 2, 4);
    struct batch *compact = NULL;
    struct batch *other = NULL;

    (void)state;
    assert_int_equal(all->n_rows, 100);
    assert_null(all->rows);
    assert_int_equal(some->n_rows, 7);
    assert_int_equal(some->length, 100);
    assert_ptr_equal(some->columns[0], all->columns[0]);
    assert_int_equal(part->n_rows, 4);
    assert_int_equal(part->rows[0], 5);
    assert_int_equal(part->rows[3], 98);
    assert_true(batch_bytes(some, t) >
                column_bytes(all->columns[0], types[0]) + column_bytes(all->columns[2], types[2]));

    assert_int_equal(batch_compact(part, t, &compact, &err), SLUICE_OK);
    assert_null(compact->rows);
    assert_null(compact->columns[1]);
    assert_int_equal(compact->length, 4);
    assert_int_equal(compact->n_rows, 4);
    for (int64_t i = 0; i < 4; i++) {
        assert_true(kit_rows_equal(&all->columns[0]->array, part->rows[i],
                                   &compact->columns[0]->array, i, types[0]));
        assert_true(kit_rows_equal(&all->columns[2]->array, part->rows[i],
                                   &compact->columns[2]->array, i, types[2]));
    }
    assert_true(batch_bytes(compact, t) < batch_bytes(all, t));

    /* The columns outlive the batches that came before. */
    batch_unref(all);
    batch_unref(some);
    kit_assert_invariants(&part->columns[0]->array, types[0]);
    batch_unref(part);

    /* Without a selection compacting is a reference; a selection of all rows is none. */
    assert_int_equal(batch_compact(compact, t, &other, &err), SLUICE_OK);
    assert_ptr_equal(other, compact);
    batch_unref(other);
    other = batch_select(compact, picked, 0);
    assert_int_equal(other->n_rows, 0);
    assert_non_null(other->rows);
    batch_unref(other);
    other = batch_slice(compact, 0, 4);
    assert_null(other->rows);
    batch_unref(other);
    other = batch_slice(compact, 1, 2);
    assert_int_equal(other->rows[0], 1);
    assert_int_equal(other->rows[1], 2);
    batch_unref(other);
    batch_unref(batch_ref(compact));
    batch_unref(compact);
    batch_unref(NULL);
    column_unref(NULL);
    type_destroy(types[0]);
    type_destroy(types[2]);
}

static void test_bytes_held(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type = kit_type("list<utf8?>");
    struct builder *b = NULL;
    struct ArrowArray array;
    struct column *column;

    (void)state;
    assert_int_equal(builder_create(type, &b, &err), SLUICE_OK);
    assert_true(builder_bytes_add(builder_child(b, 0), "abc", 3));
    assert_true(builder_null(builder_child(b, 0)));
    assert_true(builder_close(b));
    assert_int_equal(builder_bytes(b), 2 * 4 + 3 * 4 + 3 + 1);
    assert_int_equal(builder_finish(b, &array, &err), SLUICE_OK);
    column = column_create(&array);
    assert_int_equal(column_bytes(column, type), sizeof *column + 2 * 4 + 3 * 4 + 3 + 1);
    column_unref(column);
    builder_destroy(b);
    type_destroy(type);
}

/* ---- validation ---- */

/* A small array with room to break it: rows "ab", null, "", "c\xC3\xA9" of utf8?; or of the list
 * over them [ab null], [], null, [.. ..]. */
struct broken {
    struct ArrowArray array;
    const void *buffers[3];
    uint8_t validity[8];
    int32_t offsets[8];
    char bytes[16];
};

static void nothing(struct ArrowArray *a)
{
    a->release = NULL;
}

static void broken_init(struct broken *x)
{
    static const int32_t offsets[] = { 0, 2, 2, 2, 5 };

    memset(x, 0, sizeof *x);
    x->validity[0] = 0x0D;
    memcpy(x->offsets, offsets, sizeof offsets);
    memcpy(x->bytes, "abc\xC3\xA9", 5);
    x->buffers[0] = x->validity;
    x->buffers[1] = x->offsets;
    x->buffers[2] = x->bytes;
    x->array.length = 4;
    x->array.null_count = 1;
    x->array.n_buffers = 3;
    x->array.buffers = x->buffers;
    x->array.release = nothing;
}

static void expect(const struct broken *x, const char *text, sluice_status status, int64_t row,
                   const char *message)
{
    struct sluice_error err = ERROR_INIT;
    struct type *type = kit_type(text);

    if (array_validate(&x->array, type, 4, "col", &err) != status || err.row != row ||
        (message != NULL && strstr(err.message, message) == NULL)) {
        fail_msg("found status %d row %d '%s', expected %d row %d '%s'", err.code, (int)err.row,
                 err.message, status, (int)row, message);
    }
    assert_int_equal(array_validate(&x->array, type, 4, "col", NULL), status);
    type_destroy(type);
}

static void test_validate_shape(void **state)
{
    struct broken x;
    struct ArrowArray dictionary = { 0 };

    (void)state;
    broken_init(&x);
    expect(&x, "utf8?", SLUICE_OK, -1, NULL);
    expect(&x, "json?", SLUICE_OK, -1, NULL);
    expect(&x, "large_utf8", SLUICE_E_SCHEMA, -1, "which stages do not take");
    expect(&x, "int32?", SLUICE_E_SCHEMA, -1, "number of buffers of 3, expected 2");
    expect(&x, "struct<a:int8>", SLUICE_E_SCHEMA, -1, "number of buffers of 3, expected 1");
    x.array.n_children = 1;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "number of children of 1, expected 0");
    broken_init(&x);
    x.array.dictionary = &dictionary;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "a dictionary");
    broken_init(&x);
    x.array.buffers = NULL;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "no list of buffers");
    broken_init(&x);
    x.array.release = NULL;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "released");
    broken_init(&x);
    x.array.length = 3;
    x.array.null_count = -1;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "a length of 3, expected 4");
    x.array.length = -1;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "has length -1");
    x.array.length = 4;
    x.array.offset = -1;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "offset -1");
    x.array.offset = INT32_MAX - 3;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "expected a sum from 0");
    x.array.offset = INT64_MAX;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "expected a sum from 0");
    broken_init(&x);
    x.buffers[1] = NULL;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "no offsets buffer");
    broken_init(&x);
    x.buffers[2] = NULL;
    expect(&x, "binary?", SLUICE_E_SCHEMA, -1, "no bytes buffer: expected 5");
    broken_init(&x);
    x.buffers[1] = (const char *)x.offsets + 1;
    expect(&x, "binary?", SLUICE_E_SCHEMA, -1, "not aligned");
    broken_init(&x);
    x.array.n_buffers = 2;
    x.buffers[1] = (const char *)x.offsets + 2;
    expect(&x, "int32?", SLUICE_E_SCHEMA, -1, "expected a multiple of 4");
    x.buffers[1] = NULL;
    expect(&x, "bool?", SLUICE_E_SCHEMA, -1, "no values buffer");
}

static void test_validate_nulls(void **state)
{
    struct broken x;

    (void)state;
    broken_init(&x);
    x.array.null_count = 2;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "a null count of 2, expected 1");
    x.array.null_count = 5;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "a null count of 5");
    x.array.null_count = -2;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "a null count of -2");
    x.array.null_count = -1;
    expect(&x, "utf8?", SLUICE_OK, -1, NULL);
    expect(&x, "utf8", SLUICE_E_DATA, 1, "declare the type with '?'");
    x.buffers[0] = NULL;
    expect(&x, "utf8", SLUICE_OK, -1, NULL);
    x.array.null_count = 1;
    expect(&x, "utf8?", SLUICE_E_SCHEMA, -1, "a null count of 1, expected 0");
}

static void test_validate_text(void **state)
{
    struct broken x;

    (void)state;
    broken_init(&x);
    x.bytes[1] = (char)0xFF;
    expect(&x, "binary?", SLUICE_OK, -1, NULL);
    expect(&x, "utf8?", SLUICE_E_DATA, 0, "not UTF-8");
    /* Well-formed as a whole, but not row by row. */
    broken_init(&x);
    x.offsets[1] = x.offsets[2] = x.offsets[3] = 4;
    expect(&x, "utf8?", SLUICE_E_DATA, 0, "not UTF-8");
    /* Garbage behind a null is nobody's business. */
    broken_init(&x);
    x.offsets[2] = x.offsets[3] = 3;
    x.bytes[2] = (char)0xFF;
    expect(&x, "utf8?", SLUICE_OK, -1, NULL);
    x.bytes[4] = 'x';
    expect(&x, "utf8?", SLUICE_E_DATA, 3, "not UTF-8");
    broken_init(&x);
    x.offsets[2] = 1;
    expect(&x, "binary?", SLUICE_E_DATA, 1, "offsets run backwards");
    broken_init(&x);
    x.offsets[0] = -1;
    expect(&x, "binary?", SLUICE_E_DATA, 0, "offsets run backwards");
    broken_init(&x);
    x.offsets[4] = INT32_MIN;
    expect(&x, "binary?", SLUICE_E_DATA, 3, "offsets run backwards");
}

/* A list or struct of 4 rows over x's rows. */
static void test_validate_nested(void **state)
{
    struct broken x;
    struct broken list;
    struct ArrowArray *child = &x.array;

    (void)state;
    broken_init(&x);
    broken_init(&list);
    list.array.n_buffers = 2;
    list.array.n_children = 1;
    list.array.children = &child;
    memcpy(list.offsets, (int32_t[]){ 0, 2, 2, 2, 4 }, 20);
    expect(&list, "list<utf8?>?", SLUICE_OK, -1, NULL);
    expect(&list, "list<utf8>?", SLUICE_E_DATA, 0, "column 'col[]' row 1");
    memcpy(list.offsets, (int32_t[]){ 0, 1, 2, 2, 4 },
           20); /* the null item is in a null list now */
    expect(&list, "list<utf8>?", SLUICE_OK, -1, NULL);
    x.bytes[4] = 'x'; /* item 3 in list 3 */
    expect(&list, "list<utf8>?", SLUICE_E_DATA, 3, "not UTF-8");
    memcpy(list.offsets, (int32_t[]){ 0, 1, 2, 3, 3 }, 20); /* item 3 in no list */
    expect(&list, "list<utf8>?", SLUICE_OK, -1, NULL);
    memcpy(list.offsets, (int32_t[]){ 0, 1, 2, 4, 5 }, 20);
    expect(&list, "list<utf8?>?", SLUICE_E_SCHEMA, -1,
           "'col[]' (utf8) has a length of 4, expected 5");
    memcpy(list.offsets, (int32_t[]){ 0, 1, 2, 3, 4 }, 20);
    child->release = NULL;
    expect(&list, "list<utf8?>?", SLUICE_E_SCHEMA, -1, "released");

    broken_init(&x);
    broken_init(&list);
    list.array.n_buffers = 1;
    list.array.n_children = 1;
    list.array.children = &child;
    expect(&list, "struct<a:utf8?>?", SLUICE_OK, -1, NULL);
    expect(&list, "struct<a:utf8>?", SLUICE_OK, -1, NULL); /* null where the struct is */
    list.validity[0] = 0x0B;
    expect(&list, "struct<a:utf8>?", SLUICE_E_DATA, 1, "'col.a'");
    x.array.length = 3;
    x.array.null_count = -1;
    expect(&list, "struct<a:utf8?>?", SLUICE_E_SCHEMA, -1,
           "'col.a' (utf8) has a length of 3, expected 4");
    list.array.children = NULL;
    expect(&list, "struct<a:utf8?>?", SLUICE_E_SCHEMA, -1, "children");
}

static void test_empty_arrays_need_no_buffers(void **state)
{
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *type = kit_type(kit_types[k]);
        const void *buffers[3] = { NULL, NULL, NULL };
        struct ArrowArray array = { .buffers = buffers, .release = nothing };
        if (type->n_children == 0) {
            array.n_buffers = kit_is_bytes(type) ? 3 : type->kind == TYPE_STRUCT ? 1 : 2;
            assert_int_equal(array_validate(&array, type, 0, "c", &err), SLUICE_OK);
            assert_int_equal(array_normalise(&array, type, &err), SLUICE_OK);
            kit_assert_invariants(&array, type);
            array.release(&array);
        }
        type_destroy(type);
    }
}

static void test_array_struct(void **state)
{
    struct kit_random r = { 6 };
    struct sluice_error err = ERROR_INIT;
    struct type *type = kit_type("struct<a:int32?,b:list<utf8>>");
    struct ArrowArray children[2];
    struct ArrowArray array;
    struct ArrowArray moved;
    sluice_status status;

    (void)state;
    kit_array(&r, type->children[0], 9, &children[0]);
    kit_array(&r, type->children[1], 9, &children[1]);
    assert_int_equal(array_struct(&array, 9, 2, children, &err), SLUICE_OK);
    assert_null(children[0].release);
    assert_int_equal(array_validate(&array, type, 9, "c", &err), SLUICE_OK);
    /* A child may be moved out and outlive its parent. */
    moved = *array.children[1];
    array.children[1]->release = NULL;
    array.release(&array);
    kit_assert_invariants(&moved, type->children[1]);
    moved.release(&moved);
    /* Its children are taken when it fails, too. */
    for (int64_t left = 0; left < 2; left++) {
        kit_array(&r, type->children[0], 9, &children[0]);
        kit_array(&r, type->children[1], 9, &children[1]);
        alloc_arm(left, false);
        status = array_struct(&array, 9, 2, children, &err);
        assert_true(status == (alloc_disarm() ? SLUICE_E_NOMEM : SLUICE_OK));
        assert_int_equal(status, left == 0 ? SLUICE_E_NOMEM : SLUICE_OK);
        assert_null(children[0].release);
        assert_null(children[1].release);
    }
    array.release(&array);
    type_destroy(type);
}

/* ---- out of memory ---- */

static void test_out_of_memory(void **state)
{
    struct kit_random r = { 7 };
    struct sluice_error err = ERROR_INIT;
    const uint32_t rows[] = { 1, 2, 9, 30, 31 };
    sluice_status status;

    (void)state;
    for (size_t k = 0; k < KIT_TYPES; k++) {
        struct type *types[3] = { kit_type(kit_types[k]), NULL, kit_type("utf8?") };
        const struct type *const *t = (const struct type *const *)types;
        struct batch *all = two_columns(&r, types, 40);
        struct batch *some = NULL;
        struct batch *made = NULL;
        struct column *column = NULL;
        struct ArrowArray array;
        struct kit_random again = r;
        ALLOC_EACH(status = column_gather(all->columns[0], types[0], rows, 5, &column, &err),
                   column_unref(column));
        ALLOC_EACH(status = column_nulls(types[0], 5, &column, &err), column_unref(column));
        ALLOC_EACH(
            (some = batch_select(all, rows, 5), status = some != NULL ? SLUICE_OK : SLUICE_E_NOMEM),
            batch_unref(some));
        ALLOC_EACH(
            (some = batch_slice(all, 3, 5), status = some != NULL ? SLUICE_OK : SLUICE_E_NOMEM),
            batch_unref(some));
        some = batch_select(all, rows, 5);
        ALLOC_EACH(status = batch_compact(some, t, &made, &err), batch_unref(made));
        batch_unref(some);
        /* Whatever happens, the array is either as it was or normalised. */
        for (int64_t left = 0; left < 30; left++) {
            again.state = r.state;
            kit_foreign(&again, types[0], 33, 7, &array);
            alloc_arm(left, false);
            status = array_normalise(&array, types[0], &err);
            assert_true(status == (alloc_disarm() ? SLUICE_E_NOMEM : SLUICE_OK));
            assert_int_equal(array_validate(&array, types[0], 33, "c", &err), SLUICE_OK);
            array.release(&array);
        }
        batch_unref(all);
        type_destroy(types[0]);
        type_destroy(types[2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalise_keeps_rows),
        cmocka_unit_test(test_normalise_leaves_good_arrays),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_gather_too_much),
        cmocka_unit_test(test_text_has_padding),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_bytes_held),
        cmocka_unit_test(test_validate_shape),
        cmocka_unit_test(test_validate_nulls),
        cmocka_unit_test(test_validate_text),
        cmocka_unit_test(test_validate_nested),
        cmocka_unit_test(test_empty_arrays_need_no_buffers),
        cmocka_unit_test(test_array_struct),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
