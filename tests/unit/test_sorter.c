/* run/sorter, run/scratch and run/rowcodec: sorting in and out of memory against qsort, rows as
 * bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/array_kit.h"
#include "tests/unit/edge_kit.h"

#include "run/edge/rowcodec.h"
#include "run/edge/scratch.h"
#include "run/edge/sorter.h"
#include "store/disk.h"

struct record {
    uint8_t key[16];
    uint64_t position;
    size_t order;
    char *payload;
    uint32_t n;
};

static int compare(const void *a, const void *b)
{
    const struct record *x = a;
    const struct record *y = b;
    int keys = memcmp(x->key, y->key, 16);

    if (keys != 0) {
        return keys;
    }
    if (x->position != y->position) {
        return x->position < y->position ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

enum keys {
    KEYS_RANDOM,
    KEYS_FEW,
    KEYS_ZERO,
    KEYS_LAST_BYTE,
    KEYS_SORTED,
    KEYS_REVERSED,
    KEYS_KINDS
};

static struct record *make_records(struct kit_random *r, size_t n, enum keys keys, int64_t payload)
{
    struct record *records = calloc(n + 1, sizeof *records);

    for (size_t i = 0; i < n; i++) {
        struct record *record = &records[i];
        uint64_t words[2] = { kit_next(r), kit_next(r) };
        if (keys == KEYS_FEW) {
            words[0] = words[0] % 3 << 60;
            words[1] = words[1] % 2;
        } else if (keys != KEYS_RANDOM) {
            words[0] = words[1] = 0;
        }
        memcpy(record->key, words, 16);
        if (keys == KEYS_LAST_BYTE) {
            record->key[15] = (uint8_t)kit_next(r);
        }
        record->position = keys == KEYS_SORTED     ? i / 3
                           : keys == KEYS_REVERSED ? n - i / 3
                           : kit_below(r, 2) == 0  ? kit_next(r)
                                                   : (uint64_t)kit_below(r, 5);
        record->order = i;
        record->n = (uint32_t)(payload > 0 ? kit_below(r, payload) : 0);
        if (payload > 0 && kit_below(r, 500) == 0) {
            record->n = (uint32_t)kit_below(r, 100 * payload);
        }
        record->payload = malloc(record->n + 1);
        for (uint32_t k = 0; k < record->n; k++) {
            record->payload[k] = (char)kit_next(r);
        }
    }
    return records;
}

static void free_records(struct record *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(records[i].payload);
    }
    free(records);
}

static void check_sort(const char *dir, const struct record *records, const struct record *sorted,
                       size_t n, uint64_t memory, uint64_t *runs)
{
    struct sorter *sorter;
    const struct sorter_record *record;

    MUST(sorter_create(dir, memory, &sorter, &error));
    for (size_t i = 0; i < n; i++) {
        MUST(sorter_add(sorter, records[i].key, records[i].position, records[i].payload,
                        records[i].n, &error));
    }
    MUST(sorter_sort(sorter, &error));
    for (size_t i = 0; i < n; i++) {
        MUST(sorter_next(sorter, &record, &error));
        assert_non_null(record);
        assert_memory_equal(record->key, sorted[i].key, 16);
        assert_int_equal(record->position, sorted[i].position);
        assert_int_equal(record->n, sorted[i].n);
        assert_true(record->n == 0 || memcmp(record->payload, sorted[i].payload, record->n) == 0);
    }
    for (int k = 0; k < 3; k++) {
        MUST(sorter_next(sorter, &record, &error));
        assert_null(record);
    }
    *runs = sorter_runs(sorter);
    sorter_destroy(sorter);
}

static void test_against_qsort(void **state)
{
    struct kit_random r = { 5 };
    char *dir = folder_create();
    bool spilled = false;

    (void)state;
    for (int round = 0; round < 60; round++) {
        enum keys keys = (enum keys)(round % KEYS_KINDS);
        size_t n = round < 12 ? (size_t)round / 2 : (size_t)kit_below(&r, round < 30 ? 300 : 20000);
        int64_t payload = round % 3 == 0 ? 0 : 1 + kit_below(&r, 60);
        struct record *records = make_records(&r, n, keys, payload);
        struct record *sorted = malloc((n + 1) * sizeof *sorted);
        uint64_t memories[] = { 0, 100000, 1 << 20, 64 << 20 };
        memcpy(sorted, records, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, compare);
        for (size_t m = 0; m < 4; m++) {
            uint64_t runs;
            check_sort(dir, records, sorted, n, memories[m], &runs);
            spilled = spilled || runs > 0;
            assert_true(m < 3 || runs == 0);
        }
        free(sorted);
        free_records(records, n);
    }
    assert_true(spilled);
    folder_remove(dir);
}

/* More runs than are merged at once, and records larger than all memory. */
static void test_passes_and_large_records(void **state)
{
    struct kit_random r = { 6 };
    char *dir = folder_create();

    (void)state;
    for (int large = 0; large < 2; large++) {
        size_t n = large ? 60 : 60000;
        struct record *records = make_records(&r, n, KEYS_FEW, large ? 200000 : 40);
        struct record *sorted = malloc(n * sizeof *sorted);
        uint64_t runs;
        memcpy(sorted, records, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, compare);
        check_sort(dir, records, sorted, n, 0, &runs);
        assert_true(runs > 50);
        free(sorted);
        free_records(records, n);
    }
    folder_remove(dir);
}

/* Nothing is left behind under a name. */
static void test_scratch(void **state)
{
    char *dir = folder_create();
    struct scratch *s;
    struct buf block = BUF_INIT;
    struct disk_names names;
    uint64_t offsets[3];
    uint64_t next;
    char *absent = disk_join(dir, "absent");

    (void)state;
    MUST(scratch_open(dir, &s, &error));
    assert_int_equal(scratch_read(s, 0, &block, &next, &error), SLUICE_E_INTERNAL);
    MUST(scratch_write(s, "one", 3, &offsets[0], &error));
    MUST(scratch_write(s, "", 0, &offsets[1], &error));
    MUST(scratch_write(s, "three", 5, &offsets[2], &error));
    MUST(disk_list(dir, &names, &error));
    assert_int_equal(names.n, 0);
    disk_names_deinit(&names);
    MUST(scratch_read(s, offsets[2], &block, &next, &error));
    assert_string_equal(buf_str(&block), "three");
    assert_int_equal(next, scratch_end(s));
    MUST(scratch_read(s, offsets[0], &block, &next, &error));
    assert_string_equal(buf_str(&block), "one");
    assert_int_equal(next, offsets[1]);
    MUST(scratch_read(s, offsets[1], &block, &next, &error));
    assert_int_equal(block.size, 0);
    /* A place that is no block. */
    assert_int_equal(scratch_read(s, offsets[0] + 1, &block, &next, &error), SLUICE_E_IO);
    assert_non_null(strstr(error.message, "scratch"));
    assert_int_equal(scratch_read(s, next + 1000, &block, &next, &error), SLUICE_E_INTERNAL);
    scratch_drop(s, offsets[0], offsets[1]);
    MUST(scratch_read(s, offsets[2], &block, &next, &error));
    scratch_close(s);
    MUST(scratch_open(absent, &s, &error));
    assert_int_equal(scratch_write(s, "x", 1, &offsets[0], &error), SLUICE_E_IO);
    assert_non_null(strstr(error.message, "absent"));
    scratch_close(s);
    buf_deinit(&block);
    free(absent);
    folder_remove(dir);
}

/* Sorts until the disk is full; the status of it. */
static sluice_status fill(const char *dir)
{
    static const char payload[1000];
    struct sorter *sorter;
    const struct sorter_record *record = NULL;
    sluice_status status;

    MUST(sorter_create(dir, 0, &sorter, &error));
    status = SLUICE_OK;
    for (uint64_t i = 0; i < 8000 && status == SLUICE_OK; i++) {
        uint64_t words[2] = { i * 0x9E3779B97F4A7C15u, i };
        status = sorter_add(sorter, words, i, payload, sizeof payload, &error);
    }
    if (status == SLUICE_OK) {
        status = sorter_sort(sorter, &error);
    }
    while (status == SLUICE_OK) {
        status = sorter_next(sorter, &record, &error);
        if (record == NULL) {
            break;
        }
    }
    sorter_destroy(sorter);
    return status;
}

static void full_child(const char *dir)
{
    if (fill(dir) != SLUICE_E_IO || strstr(error.message, "free some space") == NULL ||
        strstr(error.message, dir) == NULL) {
        fprintf(stderr, "status %d: %s\n", error.code, error.message);
        _exit(1);
    }
}

static void test_disk_full(void **state)
{
    char *dir = folder_create();
    pid_t pid;
    int how;

    (void)state;
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("SLUICE_TEST_FAIL", "60+:ENOSPC", 1);
        disk_hooks_reload();
        full_child(dir);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    if (mount("none", dir, "tmpfs", 0, "size=2m") != 0) {
        print_message("no full tmpfs: mounting needs root\n");
    } else {
        assert_int_equal(fill(dir), SLUICE_E_IO);
        assert_non_null(strstr(error.message, "free some space"));
        assert_int_equal(umount(dir), 0);
    }
    assert_int_equal(fill(dir), SLUICE_OK);
    folder_remove(dir);
}

/* ---- rows as bytes ---- */

static void test_rowcodec(void **state)
{
    struct kit_random r = { 7 };
    struct type *types[KIT_TYPES];
    struct builder *builders[KIT_TYPES];
    struct column *columns[KIT_TYPES];
    const struct ArrowArray *arrays[KIT_TYPES];
    struct buf row = BUF_INIT;
    const int64_t rows = 300;

    (void)state;
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        types[k] = kit_type(kit_types[k]);
        columns[k] = kit_column(&r, types[k], rows);
        arrays[k] = &columns[k]->array;
        MUST(builder_create(types[k], &builders[k], &error));
    }
    for (int64_t i = 0; i < rows; i++) {
        char *exact;
        buf_clear(&row);
        rowcodec_encode((const struct type *const *)types, arrays, KIT_TYPES, i, &row);
        MUST(buf_status(&row, &error));
        exact = malloc(row.size);
        memcpy(exact, row.data, row.size);
        MUST(rowcodec_decode((const struct type *const *)types, builders, KIT_TYPES, exact,
                             row.size, &error));
        free(exact);
    }
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        struct ArrowArray back;
        MUST(builder_finish(builders[k], &back, &error));
        assert_int_equal(back.length, rows);
        kit_assert_invariants(&back, types[k]);
        for (int64_t i = 0; i < rows; i++) {
            assert_true(kit_rows_equal(&back, i, arrays[k], i, types[k]));
        }
        back.release(&back);
    }
    /* Every cut and many changes: an error or some row, never harm. */
    for (int64_t i = 0; i < 20; i++) {
        buf_clear(&row);
        rowcodec_encode((const struct type *const *)types, arrays, KIT_TYPES, i, &row);
        for (size_t n = 0; n < row.size + 200; n++) {
            size_t size = n < row.size ? n : row.size;
            uint8_t *bytes = malloc(size + 1);
            sluice_status status;
            memcpy(bytes, row.data, size);
            if (n >= row.size) {
                bytes[kit_below(&r, (int64_t)size)] ^= (uint8_t)(1 + kit_below(&r, 255));
            }
            status = rowcodec_decode((const struct type *const *)types, builders, KIT_TYPES, bytes,
                                     size, NULL);
            assert_true(n >= row.size || status == SLUICE_E_DATA);
            free(bytes);
            for (uint32_t k = 0; k < KIT_TYPES; k++) {
                builder_truncate(builders[k], 0);
            }
        }
        buf_putc(&row, 0);
        assert_int_equal(rowcodec_decode((const struct type *const *)types, builders, KIT_TYPES,
                                         row.data, row.size, NULL),
                         SLUICE_E_DATA);
        for (uint32_t k = 0; k < KIT_TYPES; k++) {
            builder_truncate(builders[k], 0);
        }
    }
    for (uint32_t k = 0; k < KIT_TYPES; k++) {
        column_unref(columns[k]);
        builder_destroy(builders[k]);
        type_destroy(types[k]);
    }
    buf_deinit(&row);
}

static void test_varint(void **state)
{
    static const uint64_t values[] = { 0,         1,     127,        128,
                                       16383,     16384, UINT32_MAX, (uint64_t)1 << 63,
                                       UINT64_MAX };
    static const char *const bad[] = { "\x80", "\x80\x00",
                                       "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02",
                                       "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01" };
    static const size_t sizes[] = { 1, 2, 10, 11 };
    struct buf buf = BUF_INIT;
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const uint8_t *at;
        buf_clear(&buf);
        varint_put(&buf, values[i]);
        at = (const uint8_t *)buf.data;
        assert_true(varint_get(&at, at + buf.size, &value));
        assert_int_equal(value, values[i]);
        assert_ptr_equal(at, buf.data + buf.size);
        at = (const uint8_t *)buf.data;
        assert_false(varint_get(&at, at + buf.size - 1, &value));
    }
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *at = (const uint8_t *)bad[i];
        assert_false(varint_get(&at, at + sizes[i], &value));
    }
    buf_deinit(&buf);
}

static sluice_status sort_some(const char *dir, const struct record *records, size_t n)
{
    struct sorter *sorter = NULL;
    const struct sorter_record *record = NULL;
    sluice_status status = sorter_create(dir, 0, &sorter, NULL);

    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        status = sorter_add(sorter, records[i].key, records[i].position, records[i].payload,
                            records[i].n, NULL);
    }
    if (status == SLUICE_OK) {
        status = sorter_sort(sorter, NULL);
    }
    do {
        if (status == SLUICE_OK) {
            status = sorter_next(sorter, &record, NULL);
        }
    } while (status == SLUICE_OK && record != NULL);
    sorter_destroy(sorter);
    return status;
}

static void test_out_of_memory(void **state)
{
    struct kit_random r = { 8 };
    char *dir = folder_create();
    struct record *records = make_records(&r, 1500, KEYS_RANDOM, 200);
    sluice_status status;

    (void)state;
    ALLOC_EACH(status = sort_some(dir, records, 1500), (void)0);
    free_records(records, 1500);
    folder_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varint),
        cmocka_unit_test(test_rowcodec),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_against_qsort),
        cmocka_unit_test(test_passes_and_large_records),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
