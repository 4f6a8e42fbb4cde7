/* Tests of packing: plans against naive implementations, conservation of every token, real lengths,
 * limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packer.h"
#include "packer_room.h"

static uint64_t mix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct packer_options options_of(uint32_t length)
{
    return (struct packer_options){ .sequence_length = length };
}

/* Every token of every document once, in order; no row too long; statistics right. */
static void assert_plan_sound(const struct packer_plan *plan, const uint32_t *lengths, size_t n)
{
    uint8_t **seen = calloc(n + 1, sizeof(*seen));
    uint32_t *pieces = calloc(n + 1, sizeof(*pieces));
    assert_true(seen != NULL && pieces != NULL);
    struct packer_stats stats = { 0 };
    for (size_t i = 0; i < n; i++) {
        seen[i] = calloc(1, (size_t)lengths[i] + 1);
        assert_non_null(seen[i]);
        stats.tokens += lengths[i];
        stats.documents += lengths[i] > 0;
    }
    assert_int_equal(plan->row_begin[0], 0);
    for (uint64_t row = 0; row < plan->n_rows; row++) {
        assert_true(plan->row_begin[row] < plan->row_begin[row + 1]);
        uint32_t tokens = 0;
        for (uint64_t k = plan->row_begin[row]; k < plan->row_begin[row + 1]; k++) {
            const struct packer_segment *segment = &plan->segments[k];
            assert_true(segment->document < n && segment->length > 0);
            assert_true((uint64_t)segment->start + segment->length <= lengths[segment->document]);
            for (uint32_t t = 0; t < segment->length; t++) {
                assert_int_equal(seen[segment->document][segment->start + t]++, 0);
            }
            pieces[segment->document]++;
            tokens += segment->length;
        }
        assert_true(tokens <= plan->options.sequence_length);
        assert_int_equal(tokens, packer_row_tokens(plan, row));
        stats.rows++;
        stats.room += plan->options.sequence_length - tokens;
    }
    uint64_t tokens = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t t = 0; t < lengths[i]; t++) {
            tokens += seen[i][t];
        }
        stats.documents_cut += pieces[i] > 1;
        free(seen[i]);
    }
    assert_int_equal(tokens, stats.tokens);
    assert_memory_equal(&stats, &plan->stats, sizeof(stats));
    free(seen);
    free(pieces);
}

static void test_concat_small(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { 3, 0, 5, 4, 9, 1 };
    static const struct packer_segment want[] = { { 0, 0, 3 }, { 2, 0, 1 }, { 2, 1, 4 },
                                                  { 3, 0, 4 }, { 4, 0, 4 }, { 4, 4, 4 },
                                                  { 4, 8, 1 }, { 5, 0, 1 } };
    static const uint64_t begin[] = { 0, 2, 3, 4, 5, 6, 8 };
    struct packer_options options = options_of(4);
    struct packer_plan plan;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(packer_concat(&options, lengths, 6, &plan, &err), SLUICE_OK);
    assert_int_equal(plan.n_rows, 6);
    assert_memory_equal(plan.row_begin, begin, sizeof(begin));
    assert_memory_equal(plan.segments, want, sizeof(want));
    assert_int_equal(plan.stats.documents, 5);
    assert_int_equal(plan.stats.documents_cut, 2);
    assert_int_equal(plan.stats.room, 2);
    assert_int_equal(packer_row_size(&plan, 5), 2);
    packer_plan_deinit(&plan);
    options.pad = true;
    assert_int_equal(packer_concat(&options, lengths, 6, &plan, &err), SLUICE_OK);
    assert_int_equal(packer_row_size(&plan, 5), 4);
    assert_int_equal(packer_row_tokens(&plan, 5), 2);
    packer_plan_deinit(&plan);
}

static void test_concat_is_the_stream(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (unsigned round = 0; round < 3000; round++) {
        uint32_t lengths[60];
        size_t n = mix(&seed) % 60;
        uint32_t length = 1 + (uint32_t)(mix(&seed) % 40);
        for (size_t i = 0; i < n; i++) {
            lengths[i] = (uint32_t)(mix(&seed) % (round % 2 == 0 ? 20 : 150));
        }
        struct packer_options options = options_of(length);
        struct packer_plan plan;
        assert_int_equal(packer_concat(&options, lengths, n, &plan, NULL), SLUICE_OK);
        assert_plan_sound(&plan, lengths, n);
        /* Only the last row may be short, and tokens stand in input order. */
        uint64_t at = 0;
        for (uint64_t row = 0; row < plan.n_rows; row++) {
            assert_true(packer_row_tokens(&plan, row) == length || row + 1 == plan.n_rows);
        }
        struct packer_stream stream = { .sequence_length = length };
        for (size_t i = 0; i < n; i++) {
            for (uint32_t start = 0; start < lengths[i];) {
                bool full;
                uint32_t take = packer_stream_take(&stream, lengths[i] - start, &full);
                assert_int_equal(plan.segments[at].document, i);
                assert_int_equal(plan.segments[at].start, start);
                assert_int_equal(plan.segments[at].length, take);
                start += take;
                at++;
                assert_int_equal(full, stream.filled == 0);
            }
        }
        assert_int_equal(at, plan.row_begin[plan.n_rows]);
        packer_plan_deinit(&plan);
    }
}

struct naive_piece {
    struct packer_segment segment;
    uint64_t row;
    bool placed;
};

/* Best fit decreasing as its definition says, in O(pieces^2). Returns the pieces in the order of
 * placing. */
static struct naive_piece *naive_best_fit(const uint32_t *lengths, size_t n, uint32_t length,
                                          size_t *count, uint64_t *rows)
{
    size_t room = 0;
    for (size_t i = 0; i < n; i++) {
        room += lengths[i] / length + 1;
    }
    struct naive_piece *pieces = calloc(room + 1, sizeof(*pieces));
    struct naive_piece *placed = calloc(room + 1, sizeof(*placed));
    uint32_t *left = calloc(room + 1, sizeof(*left));
    assert_true(pieces != NULL && placed != NULL && left != NULL);
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t start = 0; start < lengths[i];) {
            uint32_t size = lengths[i] - start < length ? lengths[i] - start : length;
            pieces[total++].segment = (struct packer_segment){ i, start, size };
            start += size;
        }
    }
    *rows = 0;
    for (size_t k = 0; k < total; k++) {
        struct naive_piece *longest = NULL;
        for (size_t i = 0; i < total; i++) {
            if (!pieces[i].placed &&
                (longest == NULL || pieces[i].segment.length > longest->segment.length)) {
                longest = &pieces[i];
            }
        }
        uint32_t size = longest->segment.length;
        uint64_t best = UINT64_MAX;
        for (uint64_t row = 0; row < *rows; row++) {
            if (left[row] >= size && (best == UINT64_MAX || left[row] < left[best])) {
                best = row;
            }
        }
        if (best == UINT64_MAX) {
            best = (*rows)++;
            left[best] = length;
        }
        left[best] -= size;
        longest->placed = true;
        longest->row = best;
        placed[k] = *longest;
    }
    free(pieces);
    free(left);
    *count = total;
    return placed;
}

static void assert_best_fit(const uint32_t *lengths, size_t n, uint32_t length)
{
    struct packer_options options = options_of(length);
    struct packer_plan plan;
    assert_int_equal(packer_best_fit(&options, lengths, n, &plan, NULL), SLUICE_OK);
    assert_plan_sound(&plan, lengths, n);
    size_t count;
    uint64_t rows;
    struct naive_piece *want = naive_best_fit(lengths, n, length, &count, &rows);
    assert_int_equal(plan.n_rows, rows);
    assert_int_equal(plan.row_begin[rows], count);
    uint64_t *next = malloc((rows + 1) * sizeof(*next));
    assert_non_null(next);
    memcpy(next, plan.row_begin, (rows + 1) * sizeof(*next));
    for (size_t k = 0; k < count; k++) {
        assert_memory_equal(&plan.segments[next[want[k].row]++], &want[k].segment,
                            sizeof(want[k].segment));
    }
    free(next);
    free(want);
    packer_plan_deinit(&plan);
}

static void test_best_fit_is_best_fit(void **state)
{
    (void)state;
    uint64_t seed = 99;
    uint32_t lengths[400];
    for (unsigned round = 0; round < 3000; round++) {
        size_t n = mix(&seed) % (round % 20 == 0 ? 400 : 30);
        uint32_t length = 1 + (uint32_t)(mix(&seed) % (round % 3 == 0 ? 5000 : 24));
        uint64_t most = round % 4 == 0   ? 3 * (uint64_t)length
                        : round % 4 == 1 ? length
                                         : length / 2 + 1;
        for (size_t i = 0; i < n; i++) {
            lengths[i] = (uint32_t)(mix(&seed) % (most + 1));
        }
        assert_best_fit(lengths, n, length);
    }
}

/* Among equal documents the earlier is placed first; among rows of equal room the first opened is
 * filled first, also when it came to that room later than others. */
static void test_best_fit_ties(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { 5, 4, 7, 3, 3, 7, 1, 1, 1 };
    assert_best_fit(lengths, 9, 10);
    static const uint32_t equal[] = { 4, 4, 4, 4, 4, 4, 2, 2, 2, 2 };
    assert_best_fit(equal, 10, 10);
    struct packer_room room;
    assert_true(packer_room_init(&room, 100, 10));
    uint32_t found = 0;
    static const uint32_t order[] = { 7, 3, 9, 0, 5 };
    for (size_t i = 0; i < 5; i++) {
        packer_room_add(&room, 64, order[i]);
    }
    packer_room_add(&room, 100, 1);
    packer_room_add(&room, 63, 8);
    static const uint32_t want[] = { 0, 3, 5, 7, 9 };
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(packer_room_take(&room, 64, &found), want[i]);
        assert_int_equal(found, 64);
    }
    assert_int_equal(packer_room_take(&room, 64, &found), 1);
    assert_int_equal(found, 100);
    assert_int_equal(packer_room_take(&room, 64, &found), PACKER_ROOM_NONE);
    assert_int_equal(packer_room_take(&room, 0, &found), 8);
    packer_room_deinit(&room);
}

static uint32_t *real_lengths(size_t *n)
{
    const char *dir = getenv("SLUICE_DATA_DIR");
    char path[4096];
    snprintf(path, sizeof(path), "%s/pack/lengths.txt", dir != NULL ? dir : "tests/data");
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot open %s; run from the repository's root or set SLUICE_DATA_DIR", path);
    }
    uint32_t *lengths = malloc(100000 * sizeof(*lengths));
    assert_non_null(lengths);
    *n = 0;
    while (*n < 100000 && fscanf(file, "%u", &lengths[*n]) == 1) {
        (*n)++;
    }
    fclose(file);
    assert_true(*n > 1000);
    return lengths;
}

/* Lengths in cl100k tokens of kernel documentation and manual pages: best fit wastes next to
 * nothing and cuts only what must be cut. */
static void test_real_lengths(void **state)
{
    (void)state;
    size_t n;
    uint32_t *lengths = real_lengths(&n);
    static const uint32_t rows[] = { 2048, 8192, 32768 };
    for (size_t i = 0; i < 3; i++) {
        struct packer_options options = options_of(rows[i]);
        struct packer_plan concat;
        struct packer_plan fit;
        assert_int_equal(packer_concat(&options, lengths, n, &concat, NULL), SLUICE_OK);
        assert_int_equal(packer_best_fit(&options, lengths, n, &fit, NULL), SLUICE_OK);
        assert_plan_sound(&concat, lengths, n);
        assert_plan_sound(&fit, lengths, n);
        uint64_t over = 0;
        for (size_t k = 0; k < n; k++) {
            over += lengths[k] > rows[i];
        }
        assert_int_equal(fit.stats.documents_cut, over);
        double padding = 100.0 * (double)fit.stats.room / (double)(fit.stats.rows * rows[i]);
        print_message("%5u: documents cut by concat %.1f%%, by best fit %.1f%%; best fit +%.3f%% "
                      "rows, %.3f%% padding\n",
                      rows[i],
                      100.0 * (double)concat.stats.documents_cut / (double)concat.stats.documents,
                      100.0 * (double)fit.stats.documents_cut / (double)fit.stats.documents,
                      100.0 * ((double)fit.stats.rows / (double)concat.stats.rows - 1.0), padding);
        assert_true(fit.stats.rows <=
                    concat.stats.rows + 1); /* one row more at most than without any cut */
        assert_true(concat.stats.room < rows[i]);
        packer_plan_deinit(&concat);
        packer_plan_deinit(&fit);
    }
    free(lengths);
}

static void test_limits(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { UINT32_MAX, UINT32_MAX, 5 };
    struct packer_plan plan;
    struct sluice_error err = { .size = sizeof(err) };
    struct packer_options options = options_of(0);
    assert_int_equal(packer_concat(&options, lengths, 3, &plan, &err), SLUICE_E_CONFIG);
    assert_string_equal(err.field, "sequence_length");
    assert_null(plan.segments);
    packer_plan_deinit(&plan);
    options.sequence_length = PACKER_LENGTH_MOST + 1;
    assert_int_equal(packer_best_fit(&options, lengths, 3, &plan, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "16777217"));
    options.sequence_length = 1;
    assert_int_equal(packer_best_fit(&options, lengths, 3, &plan, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "smaller groups"));
    packer_plan_deinit(&plan);
    /* Lengths near 2^32 are cut without overflow. */
    options.sequence_length = PACKER_LENGTH_MOST;
    for (int fit = 0; fit < 2; fit++) {
        assert_int_equal((fit ? packer_best_fit : packer_concat)(&options, lengths, 3, &plan, &err),
                         SLUICE_OK);
        assert_int_equal(plan.n_rows, 513);
        assert_int_equal(plan.stats.tokens, 2 * (uint64_t)UINT32_MAX + 5);
        assert_int_equal(plan.stats.room, 513 * (uint64_t)PACKER_LENGTH_MOST - plan.stats.tokens);
        assert_int_equal(plan.row_begin[513], fit ? 513 : 515);
        packer_plan_deinit(&plan);
    }
    assert_int_equal(packer_best_fit(&options, NULL, 0, &plan, &err), SLUICE_OK);
    assert_int_equal(plan.n_rows, 0);
    assert_int_equal(plan.row_begin[0], 0);
    packer_plan_deinit(&plan);
    assert_int_equal(packer_concat(&options, NULL, 0, &plan, &err), SLUICE_OK);
    assert_int_equal(plan.n_rows, 0);
    packer_plan_deinit(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat_small),         cmocka_unit_test(test_concat_is_the_stream),
        cmocka_unit_test(test_best_fit_is_best_fit), cmocka_unit_test(test_best_fit_ties),
        cmocka_unit_test(test_real_lengths),         cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
