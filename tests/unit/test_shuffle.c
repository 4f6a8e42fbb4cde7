/* Tests of what the plugin shuffle is made of: columns of any type copied and written out, keyed
 * random numbers, and the statistics of the order that they give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "array_kit.h"
#include "shuffle_key.h"
#include "text/text_layout.h"

/* ---- columns ---- */

#define ROWS 200

static struct layout layout_of(const char *text)
{
    struct layout layout;

    if (layout_parse(text, &layout) != SLUICE_OK) {
        fail_msg("%s is no type", text);
    }
    return layout;
}

/* Random runs of rows, some of no row, some overlapping. */
static size_t make_runs(struct kit_random *r, struct layout_run *runs, size_t most)
{
    size_t n = (size_t)kit_below(r, (int64_t)most + 1);

    for (size_t i = 0; i < n; i++) {
        runs[i].first = kit_below(r, ROWS);
        runs[i].n = kit_below(r, 3) == 0 ? 1 : kit_below(r, ROWS - runs[i].first + 1);
    }
    return n;
}

static void test_copy(void **state)
{
    struct kit_random r = { 7 };

    (void)state;
    for (size_t t = 0; t < KIT_TYPES; t++) {
        struct type *type = kit_type(kit_types[t]);
        struct layout layout = layout_of(kit_types[t]);
        struct ArrowArray from;
        kit_array(&r, type, ROWS, &from);
        for (int round = 0; round < 20; round++) {
            struct layout_run runs[8];
            size_t n = make_runs(&r, runs, 8);
            struct ArrowArray copy;
            int64_t at = 0;
            assert_int_equal(layout_copy(&layout, &from, runs, n, &copy), SLUICE_OK);
            for (size_t i = 0; i < n; i++) {
                for (int64_t row = runs[i].first; row < runs[i].first + runs[i].n; row++) {
                    if (!kit_rows_equal(&from, row, &copy, at++, type)) {
                        fail_msg("%s: row %d differs", kit_types[t], (int)row);
                    }
                }
            }
            assert_int_equal(copy.length, at);
            copy.release(&copy);
        }
        from.release(&from);
        layout_deinit(&layout);
        type_destroy(type);
    }
}

/* Equal rows give equal bytes and others don't, whatever else stands in their columns. */
static void test_write(void **state)
{
    struct kit_random r = { 8 };

    (void)state;
    for (size_t t = 0; t < KIT_TYPES; t++) {
        struct type *type = kit_type(kit_types[t]);
        struct layout layout = layout_of(kit_types[t]);
        struct ArrowArray from;
        struct sluice_bytes one = { 0 };
        struct sluice_bytes two = { 0 };
        kit_array(&r, type, ROWS, &from);
        for (int round = 0; round < 600; round++) {
            int64_t a = kit_below(&r, ROWS);
            int64_t b = kit_below(&r, ROWS);
            struct layout_run alone = { b, 1 };
            struct ArrowArray copy;
            assert_int_equal(layout_copy(&layout, &from, &alone, 1, &copy), SLUICE_OK);
            one.size = two.size = 0;
            assert_true(layout_write(&layout, &from, a, &one));
            assert_true(layout_write(&layout, &copy, 0, &two));
            copy.release(&copy);
            if ((one.size == two.size && memcmp(one.data, two.data, one.size) == 0) !=
                kit_rows_equal(&from, a, &from, b, type)) {
                fail_msg("%s: rows %d and %d", kit_types[t], (int)a, (int)b);
            }
        }
        sluice_bytes_free(&one);
        sluice_bytes_free(&two);
        from.release(&from);
        layout_deinit(&layout);
        type_destroy(type);
    }
}

/* What was written is read again, value by value, with nulls where the type has them. */
static void test_read(void **state)
{
    struct kit_random r = { 9 };

    (void)state;
    for (size_t t = 0; t < KIT_TYPES; t++) {
        struct type *type = kit_type(kit_types[t]);
        struct layout layout = layout_of(kit_types[t]);
        struct layout_column column;
        struct ArrowArray from;
        struct sluice_bytes bytes = { 0 };
        kit_array(&r, type, ROWS, &from);
        assert_int_equal(layout_column_init(&column, &layout), SLUICE_OK);
        for (int round = 0; round < 3; round++) {
            struct ArrowArray again;
            int64_t rows[ROWS];
            const char *at;
            bytes.size = 0;
            for (int64_t k = 0; k < ROWS; k++) {
                rows[k] = kit_below(&r, ROWS);
                assert_true(layout_write(&layout, &from, rows[k], &bytes));
            }
            at = bytes.data;
            for (int64_t k = 0; k < ROWS; k++) {
                assert_true(layout_column_read(&column, &at));
            }
            assert_ptr_equal(at, bytes.data + bytes.size);
            assert_true(layout_column_null(&column));
            assert_int_equal(layout_column_end(&column, &again), SLUICE_OK);
            assert_int_equal(again.length, ROWS + 1);
            for (int64_t k = 0; k < ROWS; k++) {
                if (!kit_rows_equal(&from, rows[k], &again, k, type)) {
                    fail_msg("%s: row %d differs", kit_types[t], (int)k);
                }
            }
            assert_int_equal(sluice_is_null(&again, ROWS), layout.nullable);
            again.release(&again);
        }
        layout_column_deinit(&column);
        sluice_bytes_free(&bytes);
        from.release(&from);
        layout_deinit(&layout);
        type_destroy(type);
    }
}

static void test_size(void **state)
{
    struct layout layout = layout_of("list<utf8>");
    int32_t ends[] = { 0, 2, 2 };
    int32_t text_ends[] = { 0, 3, 4 };
    const void *text_buffers[] = { NULL, text_ends, "abcd" };
    struct ArrowArray text = { .length = 2, .n_buffers = 3, .buffers = text_buffers };
    struct ArrowArray *children[] = { &text };
    const void *buffers[] = { NULL, ends };
    struct ArrowArray list = {
        .length = 2, .n_buffers = 2, .buffers = buffers, .n_children = 1, .children = children
    };

    (void)state;
    assert_int_equal(layout_size(&layout, &list, 0), 4 + 4 + 3 + 4 + 1);
    assert_int_equal(layout_size(&layout, &list, 1), 4);
    layout_deinit(&layout);
}

static void test_types(void **state)
{
    static const char *const bad[] = { "",          "utf9",           "list<",   "list<utf8",
                                       "utf8>",     "fixed[0]",       "fixed[3", "struct<a>",
                                       "struct<a:", "utf8??",         "list<>",  "struct<\"a:utf8>",
                                       "date32",    "struct<a:utf8,>" };
    struct layout layout;
    char deep[400] = "";

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (layout_parse(bad[i], &layout) != SLUICE_E_SCHEMA) {
            fail_msg("'%s' is taken for a type", bad[i]);
        }
    }
    layout = layout_of("struct<\"a,\\\">:\":int8,b:list<bool>>");
    assert_int_equal(layout.n_children, 2);
    assert_int_equal(layout.children[0].width, 1);
    assert_int_equal(layout.children[1].children[0].kind, LAYOUT_BITS);
    layout_deinit(&layout);
    for (int i = 0; i < 40; i++) {
        strcat(deep, "list<");
    }
    assert_int_equal(layout_parse(deep, &layout), SLUICE_E_SCHEMA);
}

/* ---- numbers ---- */

/* Datasets in the world were ordered by these. */
static void test_golden(void **state)
{
    uint8_t key[16];
    uint8_t bytes[8];

    (void)state;
    assert_true(shuffle_seed(SHUFFLE_ORDER, 0) == UINT64_C(0x2fdb403fc99f10cb));
    assert_true(shuffle_hash("doc-1", 5, shuffle_seed(SHUFFLE_DRAW, 7)) ==
                UINT64_C(0xa8eeee3bfe615515));
    shuffle_key("doc-1", 5, shuffle_seed(SHUFFLE_ORDER, 7), key);
    assert_true(shuffle_get(key) == UINT64_C(0xd506b942399d725b));
    shuffle_put(UINT64_C(0x0123456789abcdef), bytes);
    assert_int_equal(bytes[0], 0x01);
    assert_true(shuffle_get(bytes) == UINT64_C(0x0123456789abcdef));
    assert_true(shuffle_fraction(0) == 0.0);
    assert_true(shuffle_fraction(UINT64_MAX) < 1.0);
    assert_true(shuffle_fraction(UINT64_C(1) << 63) == 0.5);
}

/* ---- the order ---- */

#define DOCUMENTS 20000

struct entry {
    uint8_t key[16];
    int index;
};

static int by_key(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

/* place[i] = where document i stands in the order of a purpose and seed. */
static void order(enum shuffle_purpose purpose, int64_t seed, int *place)
{
    struct entry *entries = malloc(DOCUMENTS * sizeof *entries);
    uint64_t hashed = shuffle_seed(purpose, seed);

    assert_non_null(entries);
    for (int i = 0; i < DOCUMENTS; i++) {
        char id[32];
        int n = snprintf(id, sizeof id, "web/%d", i);
        shuffle_key(id, (size_t)n, hashed, entries[i].key);
        entries[i].index = i;
    }
    qsort(entries, DOCUMENTS, sizeof *entries, by_key);
    for (int i = 0; i < DOCUMENTS; i++) {
        place[entries[i].index] = i;
    }
    free(entries);
}

/* Chi-square of `from` tenth against `to` tenth: 81 degrees of freedom, 99.99 % below 141. */
static double tenths(const int *from, const int *to)
{
    int cells[10][10] = { { 0 } };
    double expected = DOCUMENTS / 100.0;
    double sum = 0;

    for (int i = 0; i < DOCUMENTS; i++) {
        int a = (from == NULL ? i : from[i]) * 10 / DOCUMENTS;
        cells[a][to[i] * 10 / DOCUMENTS]++;
    }
    for (int a = 0; a < 10; a++) {
        for (int b = 0; b < 10; b++) {
            sum += (cells[a][b] - expected) * (cells[a][b] - expected) / expected;
        }
    }
    return sum;
}

static void test_order(void **state)
{
    static int place[4][DOCUMENTS];

    (void)state;
    for (int64_t seed = 0; seed < 4; seed++) {
        double moved = 0;
        int neighbours = 0;
        int fixed = 0;
        order(SHUFFLE_ORDER, seed, place[seed]);
        for (int i = 0; i < DOCUMENTS; i++) {
            moved += abs(place[seed][i] - i);
            fixed += place[seed][i] == i;
            neighbours += i > 0 && abs(place[seed][i] - place[seed][i - 1]) == 1;
        }
        moved /= DOCUMENTS;
        /* A random permutation moves by n/3 on average, leaves 1 in place and 2 pairs together. */
        assert_true(moved > DOCUMENTS * 0.325 && moved < DOCUMENTS * 0.342);
        assert_true(fixed < 8 && neighbours < 12);
        assert_true(tenths(NULL, place[seed]) < 141);
    }
    for (int a = 0; a < 4; a++) {
        for (int b = a + 1; b < 4; b++) {
            assert_true(tenths(place[a], place[b]) < 141);
        }
    }
    /* One seed, different purposes: nothing in common either. */
    order(SHUFFLE_DRAW, 0, place[1]);
    order(SHUFFLE_HOLDOUT, 0, place[2]);
    assert_true(tenths(place[0], place[1]) < 141 && tenths(place[0], place[2]) < 141 &&
                tenths(place[1], place[2]) < 141);
}

/* The partitions of an exchange are ranges of the first 32 bits: rows are spread evenly over
 * them. */
static void test_spread(void **state)
{
    int counts[32] = { 0 };
    double sum = 0;
    double expected = DOCUMENTS / 32.0;

    (void)state;
    for (int i = 0; i < DOCUMENTS; i++) {
        char id[32];
        uint8_t key[16];
        int n = snprintf(id, sizeof id, "%d", i);
        shuffle_key(id, (size_t)n, shuffle_seed(SHUFFLE_ORDER, 1), key);
        counts[shuffle_get(key) >> 59]++;
    }
    for (int i = 0; i < 32; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    assert_true(sum < 70); /* 31 degrees of freedom, 99.99 % */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),  cmocka_unit_test(test_write),  cmocka_unit_test(test_read),
        cmocka_unit_test(test_size),  cmocka_unit_test(test_types),  cmocka_unit_test(test_golden),
        cmocka_unit_test(test_order), cmocka_unit_test(test_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
