/* plugin/stage_state: states of stages that go to a file and back in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/stage.h"
#include "plugin/stage_state.h"

/* A state in pieces: a list of them, of which `bad` (from 1) can't be got. */
struct pieces {
    struct buf all[8];
    size_t n, at, bad;
};

static sluice_status put_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct pieces *pieces = ctx;

    (void)err;
    assert_true(pieces->n < 8 && n <= STAGE_PIECE);
    buf_append(&pieces->all[pieces->n++], data, n);
    return SLUICE_OK;
}

static sluice_status get_piece(void *ctx, struct buf *piece, struct sluice_error *err)
{
    struct pieces *pieces = ctx;

    if (++pieces->at == pieces->bad) {
        return error_set(err, SLUICE_E_IO, "no disk");
    }
    assert_true(pieces->at <= pieces->n);
    buf_clear(piece);
    buf_append(piece, pieces->all[pieces->at - 1].data, pieces->all[pieces->at - 1].size);
    return SLUICE_OK;
}

static void pieces_deinit(struct pieces *pieces)
{
    for (size_t i = 0; i < 8; i++) {
        buf_deinit(&pieces->all[i]);
    }
}

/* What is written in parts of any size is read in parts of any other; what is left is counted. */
static void test_state_larger_than_a_piece(void **state)
{
    struct pieces pieces = { 0 };
    const struct stage_stream stream = { &pieces, put_piece, get_piece };
    struct stage_state_io io;
    struct sluice_error err = ERROR_INIT;
    size_t n = 3 * STAGE_PIECE + 5;
    char *from = malloc(n);
    char *to = malloc(n);

    (void)state;
    assert_true(from != NULL && to != NULL);
    for (size_t i = 0; i < n; i++) {
        from[i] = (char)(i * 7 + i / 1000);
    }
    stage_state_io_stream(&io, &stream, true, &err);
    assert_int_equal(io.io.write(&io.io, from, 11), SLUICE_OK);
    assert_int_equal(io.io.write(&io.io, from + 11, n - 11), SLUICE_OK);
    assert_int_equal(stage_state_io_end(&io), SLUICE_OK);
    stage_state_io_deinit(&io);
    assert_int_equal(pieces.n, 5);
    stage_state_io_stream(&io, &stream, false, &err);
    assert_int_equal(io.io.read(&io.io, to, 2 * STAGE_PIECE - 1), SLUICE_OK);
    assert_int_equal(stage_state_left(&io.io), STAGE_PIECE + 6);
    assert_int_equal(io.io.read(&io.io, to + 2 * STAGE_PIECE - 1, STAGE_PIECE + 6), SLUICE_OK);
    assert_memory_equal(from, to, n);
    assert_int_equal(io.io.read(&io.io, to, 1), SLUICE_E_DATA);
    assert_true(io.short_read);
    stage_state_io_deinit(&io);
    pieces_deinit(&pieces);
    free(from);
    free(to);
}

static void test_piece_that_cannot_be_got(void **state)
{
    struct pieces pieces = { .bad = 1 };
    const struct stage_stream stream = { &pieces, put_piece, get_piece };
    struct stage_state_io io;
    struct sluice_error err = ERROR_INIT;
    char byte;

    (void)state;
    stage_state_io_stream(&io, &stream, false, &err);
    assert_int_equal(io.io.read(&io.io, &byte, 1), SLUICE_E_IO);
    assert_false(io.short_read);
    stage_state_io_deinit(&io);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_state_larger_than_a_piece),
                                        cmocka_unit_test(test_piece_that_cannot_be_got) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
