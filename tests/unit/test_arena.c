/* Tests core/base/arena: alignment, long and short pieces, arrays that grow, what is undone, memory
 * that runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "tests/unit/alloc_fail.h"

static void test_pieces(void **state)
{
    struct arena arena = ARENA_INIT;
    char *texts[500];
    struct sluice_error err = ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < 500; k++) {
        size_t n = k * k; /* up to 250 kB: shorter than a block, and many times as long */
        char *piece = arena_alloc(&arena, n, 1);
        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(piece[i], 0);
        }
        memset(piece, 0x55, n);
        texts[k] = arena_printf(&arena, "%zu", k);
    }
    for (size_t k = 0; k < 500; k++) {
        char text[8];
        snprintf(text, sizeof text, "%zu", k);
        assert_string_equal(texts[k], text);
    }
    assert_string_equal(arena_copy(&arena, "abc", 2), "ab");
    assert_string_equal(arena_copy(&arena, NULL, 0), "");
    assert_int_equal(arena_status(&arena, &err, "a test"), SLUICE_OK);
    arena_deinit(&arena);
    assert_null(arena.blocks);
}

static void test_arrays(void **state)
{
    struct arena arena = ARENA_INIT;
    uint32_t capacity = 0;
    uint64_t *items = NULL;

    (void)state;
    for (uint32_t n = 0; n < 10000; n++) {
        uint64_t *more = arena_more(&arena, items, n, &capacity, sizeof *items);
        assert_non_null(more);
        items = more;
        items[n] = n * 3;
    }
    for (uint32_t n = 0; n < 10000; n++) {
        assert_int_equal(items[n], n * 3);
    }
    arena_deinit(&arena);
}

static int order[3];
static int n_undone;

static void undo(void *what)
{
    order[n_undone++] = *(const int *)what;
}

static void test_undo(void **state)
{
    struct arena arena = ARENA_INIT;
    int numbers[3] = { 1, 2, 3 };

    (void)state;
    n_undone = 0;
    for (int k = 0; k < 3; k++) {
        assert_true(arena_defer(&arena, undo, &numbers[k]));
    }
    arena_deinit(&arena);
    assert_int_equal(n_undone, 3);
    assert_int_equal(order[0], 3);
    assert_int_equal(order[2], 1);
    arena_deinit(&arena); /* nothing twice */
    assert_int_equal(n_undone, 3);
}

static void test_sizes_that_wrap(void **state)
{
    struct arena arena = ARENA_INIT;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    assert_null(arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_true(arena.failed);
    assert_null(arena_copy(&arena, "a", 1)); /* from then on nothing is given */
    assert_int_equal(arena_status(&arena, &err, "a test"), SLUICE_E_NOMEM);
    assert_non_null(strstr(err.message, "out of memory for a test"));
    arena_deinit(&arena);
    assert_false(arena.failed);
}

/* Each allocation fails once: the arena says so, and what was deferred is undone exactly once. */
static void test_no_memory(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct arena arena = ARENA_INIT;
    int number = 7;
    sluice_status status;

    (void)state;
    ALLOC_EACH(
        {
            uint32_t capacity = 0;
            void *items = NULL;
            n_undone = 0;
            arena_alloc(&arena, 100000, 1);
            arena_defer(&arena, undo, &number);
            arena_printf(&arena, "%0200d", number);
            for (uint32_t n = 0; n < 1000 && !arena.failed; n++) {
                items = arena_more(&arena, items, n, &capacity, 64);
            }
            status = arena_status(&arena, &err, "a test");
        },
        {
            arena_deinit(&arena);
            assert_int_equal(n_undone, 1);
        });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),    cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_undo),      cmocka_unit_test(test_sizes_that_wrap),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
