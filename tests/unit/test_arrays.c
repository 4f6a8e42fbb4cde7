/* Views and makers of sluice_arrays.h, rows of sluice_rows.h: what makers make passes the host's
 * deep validation, each allocation in them may fail, and everything is freed once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/column.h"
#include "sluice_arrays.h"
#include "sluice_rows.h"
#include "tests/unit/alloc_fail.h"

static void assert_valid(const struct ArrowArray *array, const char *type, int64_t rows)
{
    struct sluice_error err = ERROR_INIT;
    struct type *parsed;

    assert_int_equal(type_parse(type, &parsed, &err), SLUICE_OK);
    if (array_validate(array, parsed, rows, "it", &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    type_destroy(parsed);
}

static void test_bytes(void **state)
{
    struct sluice_bytes b = { 0 };

    (void)state;
    assert_int_equal(sluice_bytes_add(&b, NULL, 0), 1);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(sluice_bytes_add(&b, "abc", 3), 1);
        assert_true(b.capacity - b.size >= SLUICE_PADDING);
    }
    assert_int_equal(b.size, 3000);
    assert_memory_equal(b.data + 2997, "abc", 3);
    /* Lengths that would overflow are refused, and nothing changes. */
    assert_int_equal(sluice_bytes_reserve(&b, UINT64_MAX), 0);
    assert_int_equal(sluice_bytes_reserve(&b, UINT64_MAX - 3000), 0);
    assert_int_equal(sluice_bytes_reserve(&b, UINT64_MAX / 2), 0);
    assert_int_equal(b.size, 3000);
    alloc_state.left = 0;
    assert_int_equal(sluice_bytes_reserve(&b, 1 << 20), 0);
    assert_int_equal(b.size, 3000);
    sluice_bytes_free(&b);
    sluice_bytes_free(&b);
    assert_null(b.data);
}

static void test_bits(void **state)
{
    struct sluice_bytes b = { 0 };

    (void)state;
    for (int64_t row = 0; row < 20; row++) {
        assert_int_equal(sluice_bytes_add_bit(&b, row, row % 3 == 0), 1);
    }
    assert_int_equal(b.size, 3);
    assert_int_equal((uint8_t)b.data[0], 0x49);
    assert_int_equal((uint8_t)b.data[1], 0x92);
    assert_int_equal((uint8_t)b.data[2], 0x04);
    sluice_bytes_free(&b);
}

static void test_text(void **state)
{
    static const char *const words[] = { "one", "", "three" };
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct sluice_bytes validity = { 0 };
    volatile uint64_t too_long = INT32_MAX; /* not seen through by the compiler */
    struct ArrowArray array;
    size_t n;

    (void)state;
    for (int64_t k = 0; k < 3; k++) {
        assert_int_equal(sluice_bytes_add_text(&offsets, &data, words[k], strlen(words[k])), 1);
        assert_int_equal(sluice_bytes_add_bit(&validity, k, k != 1), 1);
    }
    assert_int_equal(sluice_bytes_add_text(&offsets, &data, words[0], too_long), 0);
    assert_int_equal(offsets.size, 4 * sizeof(int32_t));
    assert_int_equal(sluice_make_text(&array, 3, &offsets, &data, &validity, 1), SLUICE_OK);
    assert_null(offsets.data);
    assert_valid(&array, "utf8?", 3);
    assert_memory_equal(sluice_text(&array, 2, &n), "three", 5);
    assert_int_equal(n, 5);
    assert_int_equal(sluice_is_null(&array, 1), 1);
    assert_int_equal(sluice_is_null(&array, 2), 0);
    assert_string_equal(sluice_text(&array, 1, &n), "");
    assert_int_equal(n, 0);
    array.release(&array);
    assert_null(array.release);
}

/* No rows: what was never added to is an empty buffer, not none. */
static void test_empty(void **state)
{
    struct sluice_bytes a = { 0 };
    struct sluice_bytes b = { 0 };
    struct ArrowArray array;

    (void)state;
    assert_int_equal(sluice_make_text(&array, 0, &a, &b, NULL, 0), SLUICE_OK);
    assert_valid(&array, "utf8", 0);
    assert_int_equal(((const int32_t *)array.buffers[1])[0], 0);
    array.release(&array);
    assert_int_equal(sluice_make_list(&array, 0, &a, &b, 0), SLUICE_OK);
    assert_valid(&array, "list<uint32>", 0);
    array.release(&array);
    assert_int_equal(sluice_make_struct(&array, 7, 0, NULL), SLUICE_OK);
    assert_int_equal(array.length, 7);
    array.release(&array);
}

static void test_values(void **state)
{
    static const int64_t whole[] = { -1, INT64_MAX };
    static const double real[] = { 0.5, -2 };
    static const uint8_t bits = 2;
    struct sluice_bytes bytes = { 0 };
    struct ArrowArray array;

    (void)state;
    assert_int_equal(sluice_bytes_add(&bytes, whole, sizeof whole), 1);
    assert_int_equal(sluice_make_fixed(&array, 2, &bytes, NULL, 0), SLUICE_OK);
    assert_valid(&array, "int64", 2);
    assert_true(sluice_int64(&array, 0) == -1 && sluice_uint64(&array, 1) == INT64_MAX);
    array.release(&array);
    assert_int_equal(sluice_bytes_add(&bytes, real, sizeof real), 1);
    assert_int_equal(sluice_make_fixed(&array, 2, &bytes, NULL, 0), SLUICE_OK);
    assert_true(sluice_float64(&array, 0) == 0.5 && sluice_float64(&array, 1) == -2);
    array.release(&array);
    assert_int_equal(sluice_bytes_add(&bytes, &bits, 1), 1);
    assert_int_equal(sluice_make_fixed(&array, 2, &bytes, NULL, 0), SLUICE_OK);
    assert_valid(&array, "bool", 2);
    assert_true(sluice_bool(&array, 0) == 0 && sluice_bool(&array, 1) == 1);
    array.release(&array);
}

static void test_rows(void **state)
{
    static const uint32_t chosen[] = { 3, 9 };
    struct sluice_batch batch = { .size = sizeof batch, .rows = chosen, .n = 2 };

    (void)state;
    assert_int_equal(sluice_row(&batch, 1), 9);
    batch.rows = NULL;
    assert_int_equal(sluice_row(&batch, 1), 1);
}

/* A struct of a nullable text, a list and a number, of two rows. Leaves nothing behind when it
 * fails. */
static sluice_status make_all(struct ArrowArray *out)
{
    struct sluice_bytes b[6] = { { 0 } };
    struct ArrowArray columns[3];
    static const int32_t offsets[] = { 0, 2, 2 };
    static const uint64_t items[] = { 7, 8 };
    int made = 0;
    int ok = sluice_bytes_add_text(&b[0], &b[1], "text", 4) &&
             sluice_bytes_add_text(&b[0], &b[1], "", 0) && sluice_bytes_add_bit(&b[2], 0, 1) &&
             sluice_bytes_add_bit(&b[2], 1, 0) &&
             sluice_bytes_add(&b[3], offsets, sizeof offsets) &&
             sluice_bytes_add(&b[4], items, sizeof items) &&
             sluice_bytes_add(&b[5], items, sizeof items);
    sluice_status status = ok ? SLUICE_OK : SLUICE_E_NOMEM;

    if (status == SLUICE_OK) {
        status = sluice_make_text(&columns[0], 2, &b[0], &b[1], &b[2], 1);
        made += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = sluice_make_list(&columns[1], 2, &b[3], &b[4], 2);
        made += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&columns[2], 2, &b[5], NULL, 0);
        made += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(out, 2, 3, columns);
    } else {
        while (made > 0) {
            made--;
            columns[made].release(&columns[made]);
        }
    }
    for (int k = 0; k < 6; k++) {
        sluice_bytes_free(&b[k]);
    }
    return status;
}

static void test_each_allocation_fails(void **state)
{
    struct ArrowArray array;
    size_t n;
    int failures = 0;

    (void)state;
    for (int64_t k = 0;; k++) {
        sluice_status status;
        alloc_state.failed = false;
        alloc_state.left = k;
        status = make_all(&array);
        alloc_state.left = -1;
        if (!alloc_state.failed) {
            assert_int_equal(status, SLUICE_OK);
            break;
        }
        assert_int_equal(status, SLUICE_E_NOMEM);
        failures++;
    }
    assert_true(failures >= 12);
    assert_valid(&array, "struct<a:utf8?,b:list<uint64>,c:uint64>", 2);
    assert_int_equal(sluice_list_u64(array.children[1], 0, &n)[1], 8);
    assert_int_equal(n, 2);
    sluice_list_u64(array.children[1], 1, &n);
    assert_int_equal(n, 0);
    array.release(&array);
}

/* ---- rows ---- */

/* A host that keeps what it is given last. */
struct host {
    struct sluice_emit emit;
    struct ArrowArray last;
    int batches;
    sluice_status answer;
};

static sluice_status host_batch(struct sluice_emit *emit, struct ArrowArray *array)
{
    struct host *host = (struct host *)(void *)emit;

    host->batches++;
    if (host->last.release != NULL) {
        host->last.release(&host->last);
    }
    host->last = *array;
    array->release = NULL;
    return host->answer;
}

static sluice_status give_rows(struct host *host, struct sluice_rows *rows, int64_t n,
                               sluice_status status, struct sluice_error *err)
{
    for (int64_t k = 0; k < n; k++) {
        uint64_t number = (uint64_t)k * 7;
        sluice_rows_add(rows, 0, &number, sizeof number);
        sluice_rows_part(rows, 1, "ro", 2);
        sluice_rows_add(rows, 1, "w", 1);
        sluice_rows_add(rows, 2, "", 0);
        sluice_rows_next(rows);
    }
    return sluice_rows_emit(rows, status, &host->emit, err);
}

static void test_rows_made(void **state)
{
    struct host host = { .emit = { .batch = host_batch } };
    struct sluice_rows rows = sluice_rows_begin("ftt");
    struct sluice_error err = ERROR_INIT;
    size_t n;

    (void)state;
    assert_int_equal(give_rows(&host, &rows, 0, SLUICE_OK, &err), SLUICE_OK);
    assert_int_equal(host.batches, 0); /* no rows, no batch */
    for (int64_t most = 1; most < 300; most += 99) {
        assert_int_equal(give_rows(&host, &rows, most, SLUICE_OK, &err), SLUICE_OK);
        assert_valid(&host.last, "struct<a:uint64,b:utf8,c:json>", most);
        assert_int_equal(rows.n, 0);
        assert_int_equal(sluice_uint64(host.last.children[0], most - 1), (uint64_t)(most - 1) * 7);
        assert_memory_equal(sluice_text(host.last.children[1], most - 1, &n), "row", 3);
        assert_int_equal(n, 3);
    }
    assert_int_equal(host.batches, 4);
    host.answer = SLUICE_E_CANCELLED;
    assert_int_equal(give_rows(&host, &rows, 3, SLUICE_OK, &err), SLUICE_E_CANCELLED);
    assert_int_equal(host.batches, 5);
    assert_int_equal(give_rows(&host, &rows, 3, SLUICE_E_DATA, &err), SLUICE_E_DATA);
    assert_int_equal(host.batches, 5); /* nothing of what failed */
    assert_null(rows.data[0].data);
    host.last.release(&host.last);
}

/* Refused memory is kept until the rows are emitted, whichever allocation it was; then there are
 * none, and the next ones are whole. */
static void test_rows_without_memory(void **state)
{
    struct host host = { .emit = { .batch = host_batch } };
    struct sluice_rows rows = sluice_rows_begin("ftt");
    struct sluice_error err = ERROR_INIT;
    int failures = 0;

    (void)state;
    for (int64_t k = 0;; k++) {
        sluice_status status;
        alloc_state.failed = false;
        alloc_state.left = k;
        status = give_rows(&host, &rows, 100, SLUICE_OK, &err);
        alloc_state.left = -1;
        if (!alloc_state.failed) {
            assert_int_equal(status, SLUICE_OK);
            break;
        }
        assert_int_equal(status, SLUICE_E_NOMEM);
        assert_non_null(strstr(err.message, "out of memory for rows"));
        assert_int_equal(host.batches, 0);
        assert_int_equal(rows.n, 0);
        assert_int_equal(rows.failed, 0);
        failures++;
    }
    assert_true(failures >= 12);
    assert_int_equal(host.batches, 1);
    assert_valid(&host.last, "struct<a:uint64,b:utf8,c:json>", 100);
    host.last.release(&host.last);

    alloc_state.left = 0;
    alloc_state.failed = false;
    assert_int_equal(sluice_rows_add(&rows, 1, "x", 1), 0);
    alloc_state.left = -1;
    assert_int_equal(sluice_rows_add(&rows, 1, "x", 1), 0); /* still */
    assert_int_equal(sluice_rows_part(&rows, 1, "x", 1), 0);
    assert_int_equal(sluice_rows_next(&rows), 0);
    sluice_rows_drop(&rows);
    assert_int_equal(sluice_rows_add(&rows, 1, "x", 1), 1);
    sluice_rows_drop(&rows);
}

static void test_fail(void **state)
{
    struct sluice_error err = { .size = sizeof err };
    char text[2000];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(sluice_fail(&err, SLUICE_E_DATA, text, text), SLUICE_E_DATA);
    assert_int_equal(err.code, SLUICE_E_DATA);
    assert_int_equal(err.row, -1);
    assert_int_equal(err.size, sizeof err);
    assert_int_equal(strlen(err.field), sizeof err.field - 1);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_int_equal(sluice_fail(NULL, SLUICE_E_IO, "", ""), SLUICE_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_rows_made),
        cmocka_unit_test(test_rows_without_memory),
        cmocka_unit_test(test_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
