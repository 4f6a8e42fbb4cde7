/* Tests of connected components: against a naive implementation on many shapes of graph, in memory
 * and through scratch files, in any order of edges; limits and errors. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "forest.h"
#include "forest_sort.h"

struct edge {
    uint64_t one;
    uint64_t other;
};

struct pairs {
    struct forest_pair *pair;
    size_t n;
    size_t room;
};

static char scratch[64];

static uint64_t mix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int scratch_setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof(scratch), "%s/forest-test-XXXXXX",
             base != NULL && strlen(base) < 32 ? base : "/tmp");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int scratch_files(void)
{
    DIR *dir = opendir(scratch);
    int n = 0;
    if (dir == NULL) {
        return -1;
    }
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n - 2;
}

static int scratch_teardown(void **state)
{
    (void)state;
    return rmdir(scratch); /* fails if anything was left */
}

static int32_t pairs_take(void *user, uint64_t position, uint64_t survivor,
                          struct sluice_error *err)
{
    (void)err;
    struct pairs *pairs = user;
    if (pairs->n == pairs->room) {
        pairs->room = pairs->room == 0 ? 256 : 2 * pairs->room;
        pairs->pair = realloc(pairs->pair, pairs->room * sizeof(*pairs->pair));
        assert_non_null(pairs->pair);
    }
    pairs->pair[pairs->n++] = (struct forest_pair){ position, survivor };
    return SLUICE_OK;
}

static struct forest_stats solve(const struct edge *edges, size_t n, uint64_t memory,
                                 const char *dir, struct pairs *pairs)
{
    struct forest_options options = { .memory = memory, .scratch_dir = dir };
    struct forest *forest = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    *pairs = (struct pairs){ 0 };
    assert_int_equal(forest_create(&options, &forest, &err), SLUICE_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(forest_add(forest, edges[i].one, edges[i].other, &err), SLUICE_OK);
    }
    assert_int_equal(forest_finish(forest, pairs_take, pairs, &err), SLUICE_OK);
    struct forest_stats stats = forest_stats(forest);
    forest_destroy(forest);
    assert_int_equal(stats.edges, n);
    assert_int_equal(stats.duplicates, pairs->n);
    if (dir != NULL) {
        assert_int_equal(scratch_files(), 0);
    }
    return stats;
}

static int compare_numbers(const void *one, const void *other)
{
    uint64_t x = *(const uint64_t *)one;
    uint64_t y = *(const uint64_t *)other;
    return (x > y) - (x < y);
}

static size_t index_of(const uint64_t *nodes, size_t n, uint64_t position)
{
    const uint64_t *found = bsearch(&position, nodes, n, sizeof(*nodes), compare_numbers);
    assert_non_null(found);
    return (size_t)(found - nodes);
}

/* Labels fall to the smallest neighbour until nothing changes. */
static struct pairs naive(const struct edge *edges, size_t n)
{
    uint64_t *nodes = malloc((2 * n + 1) * sizeof(*nodes));
    assert_non_null(nodes);
    for (size_t i = 0; i < n; i++) {
        nodes[2 * i] = edges[i].one;
        nodes[2 * i + 1] = edges[i].other;
    }
    qsort(nodes, 2 * n, sizeof(*nodes), compare_numbers);
    size_t count = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        if (count == 0 || nodes[count - 1] != nodes[i]) {
            nodes[count++] = nodes[i];
        }
    }
    size_t *label = malloc((count + 1) * sizeof(*label));
    size_t *ends = malloc((2 * n + 1) * sizeof(*ends));
    assert_true(label != NULL && ends != NULL);
    for (size_t i = 0; i < count; i++) {
        label[i] = i;
    }
    for (size_t i = 0; i < n; i++) {
        ends[2 * i] = index_of(nodes, count, edges[i].one);
        ends[2 * i + 1] = index_of(nodes, count, edges[i].other);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < n; i++) {
            size_t *one = &label[ends[2 * i]];
            size_t *other = &label[ends[2 * i + 1]];
            if (*one != *other) {
                size_t least = *one < *other ? *one : *other;
                *one = least;
                *other = least;
                changed = true;
            }
        }
        for (size_t i = 0; i < count; i++) {
            label[i] = label[label[i]];
        }
    }
    struct pairs pairs = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (label[i] != i) {
            pairs_take(&pairs, nodes[i], nodes[label[i]], NULL);
        }
    }
    free(nodes);
    free(label);
    free(ends);
    return pairs;
}

static void assert_pairs_equal(const struct pairs *got, const struct pairs *want)
{
    assert_int_equal(got->n, want->n);
    if (want->n > 0) {
        assert_memory_equal(got->pair, want->pair, want->n * sizeof(*want->pair));
    }
}

static void shuffle(struct edge *edges, size_t n, uint64_t *seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = mix(seed) % i;
        struct edge swap = edges[i - 1];
        edges[i - 1] = edges[k];
        edges[k] = swap;
        if (mix(seed) % 2 == 0) {
            edges[k] = (struct edge){ edges[k].other, edges[k].one };
        }
    }
}

/* A document's position: split << 40 | row, with a scatter that keeps no order. */
static uint64_t position(uint64_t number, unsigned kind)
{
    switch (kind % 3) {
    case 0:
        return number;
    case 1:
        return (number % 5) << 40 | number / 5;
    default:
        return number * 0x9e3779b97f4a7c15u; /* one-to-one */
    }
}

enum shape { SPARSE, DENSE, PATH, STAR, CLIQUES, GRID, LADDER, SHAPES };

static size_t graph(enum shape shape, size_t nodes, unsigned kind, uint64_t *seed,
                    struct edge *edges)
{
    size_t n = 0;
    for (size_t i = 0; i < nodes; i++) {
        uint64_t to[3];
        size_t ties = 0;
        switch (shape) {
        case SPARSE:
            to[ties++] = mix(seed) % (2 * nodes);
            break;
        case DENSE:
            to[ties++] = mix(seed) % nodes;
            to[ties++] = mix(seed) % nodes;
            to[ties++] = i; /* a loop */
            break;
        case PATH:
            to[ties++] = i + 1;
            break;
        case STAR:
            to[ties++] = i % 7;
            break;
        case CLIQUES:
            to[ties++] = i / 8 * 8 + mix(seed) % 8;
            to[ties++] = i / 8 * 8 + mix(seed) % 8;
            to[ties++] = i / 8 * 8;
            break;
        case GRID:
            to[ties++] = i + 1;
            to[ties++] = i + 97;
            break;
        default:
            to[ties++] = i % 2 == 0 ? i + 3 : i + 2; /* two long paths that climb in leaps */
            break;
        }
        for (size_t k = 0; k < ties; k++) {
            edges[n++] = (struct edge){ position(i, kind), position(to[k], kind) };
        }
    }
    return n;
}

static void test_small_graphs(void **state)
{
    (void)state;
    struct edge edges[300];
    uint64_t seed = 5;
    for (unsigned round = 0; round < 4000; round++) {
        size_t nodes = 1 + mix(&seed) % (round % 4 == 0 ? 90 : 8);
        size_t n = graph((enum shape)(round % SHAPES), nodes, round / SHAPES, &seed, edges);
        shuffle(edges, n, &seed);
        struct pairs want = naive(edges, n);
        struct pairs got;
        struct forest_stats stats = solve(edges, n, 1 << 20, NULL, &got);
        assert_int_equal(stats.spilled, 0);
        assert_pairs_equal(&got, &want);
        free(got.pair);
        free(want.pair);
    }
}

static void test_no_edges_and_extremes(void **state)
{
    (void)state;
    struct pairs pairs;
    solve(NULL, 0, FOREST_MEMORY_LEAST, NULL, &pairs);
    assert_int_equal(pairs.n, 0);
    struct edge edges[] = {
        { UINT64_MAX, UINT64_MAX }, { UINT64_MAX, 0 }, { 5, UINT64_MAX - 1 }, { UINT64_MAX - 1, 5 }
    };
    solve(edges, 4, FOREST_MEMORY_LEAST, NULL, &pairs);
    assert_int_equal(pairs.n, 2);
    assert_true(pairs.pair[0].first == UINT64_MAX - 1 && pairs.pair[0].second == 5);
    assert_true(pairs.pair[1].first == UINT64_MAX && pairs.pair[1].second == 0);
    free(pairs.pair);
}

/* Little memory forces scratch files with several levels of merging; the result stays the same to
 * the last pair. */
static void test_scratch_equals_memory(void **state)
{
    (void)state;
    enum { NODES = 60000 };
    struct edge *edges = malloc(3 * NODES * sizeof(*edges));
    assert_non_null(edges);
    uint64_t seed = 11;
    for (unsigned round = 0; round < 2 * SHAPES; round++) {
        size_t n = graph((enum shape)(round % SHAPES), NODES, round, &seed, edges);
        if (round >= SHAPES) {
            shuffle(edges, n, &seed);
        }
        struct pairs want;
        struct pairs got;
        solve(edges, n, 64 << 20, NULL, &want);
        struct forest_stats stats = solve(edges, n, FOREST_MEMORY_LEAST, scratch, &got);
        assert_true(stats.spilled > 0);
        assert_true(stats.rounds < 60);
        assert_pairs_equal(&got, &want);
        free(got.pair);
        stats = solve(edges, n, 64 << 20, scratch, &got);
        assert_int_equal(stats.spilled, 0);
        assert_pairs_equal(&got, &want);
        free(got.pair);
        free(want.pair);
    }
    struct pairs want = naive(edges, 20000);
    struct pairs got;
    solve(edges, 20000, FOREST_MEMORY_LEAST, scratch, &got);
    assert_pairs_equal(&got, &want);
    free(got.pair);
    free(want.pair);
    free(edges);
}

static void test_memory_limit(void **state)
{
    (void)state;
    struct forest_options options = { .memory = FOREST_MEMORY_LEAST - 1 };
    struct forest *forest = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(forest_create(&options, &forest, &err), SLUICE_E_CONFIG);
    assert_null(forest);
    assert_non_null(strstr(err.message, "at least 262144"));
    options.memory = FOREST_MEMORY_LEAST;
    assert_int_equal(forest_create(&options, &forest, &err), SLUICE_OK);
    int32_t status = SLUICE_OK;
    uint64_t nodes = 0;
    for (; status == SLUICE_OK && nodes < 1 << 20; nodes += 2) {
        status = forest_add(forest, nodes, nodes + 1, &err);
    }
    assert_int_equal(status, SLUICE_E_NOMEM);
    assert_non_null(strstr(err.message, "scratch folder"));
    assert_in_range(nodes, FOREST_MEMORY_LEAST / FOREST_NODE_BYTES,
                    FOREST_MEMORY_LEAST / FOREST_NODE_BYTES + 4);
    forest_destroy(forest);
    forest_destroy(NULL);
}

/* Adds edges until something gives. */
static int32_t add_many(const char *dir, struct sluice_error *err)
{
    struct forest_options options = { .memory = FOREST_MEMORY_LEAST, .scratch_dir = dir };
    struct forest *forest = NULL;
    struct pairs pairs = { 0 };
    assert_int_equal(forest_create(&options, &forest, err), SLUICE_OK);
    int32_t status = SLUICE_OK;
    for (uint64_t i = 0; i < 200000 && status == SLUICE_OK; i++) {
        status = forest_add(forest, 2 * i, 2 * i + 1, err);
    }
    if (status == SLUICE_OK) {
        status = forest_finish(forest, pairs_take, &pairs, err);
    }
    forest_destroy(forest);
    free(pairs.pair);
    return status;
}

static void test_scratch_errors(void **state)
{
    (void)state;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(add_many("/nonexistent/folder", &err), SLUICE_E_IO);
    assert_non_null(strstr(err.message, "/nonexistent/folder"));
    assert_non_null(strstr(err.message, "No such file"));
    /* A limit on file size stands in for a full disk. */
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = { .rlim_cur = 100000, .rlim_max = before.rlim_max };
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int32_t status = add_many(scratch, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, SLUICE_E_IO);
    assert_non_null(strstr(err.message, scratch));
    assert_non_null(strstr(err.message, "more memory"));
    assert_int_equal(scratch_files(), 0);
    assert_int_equal(add_many(scratch, &err), SLUICE_OK);
}

static int32_t stop_at_three(void *user, uint64_t place, uint64_t survivor,
                             struct sluice_error *err)
{
    (void)place;
    (void)survivor;
    (void)err;
    return ++*(int *)user == 3 ? SLUICE_E_CANCELLED : SLUICE_OK;
}

static void test_callback_can_stop(void **state)
{
    (void)state;
    for (int spill = 0; spill < 2; spill++) {
        struct forest_options options = { .memory = FOREST_MEMORY_LEAST, .scratch_dir = scratch };
        struct forest *forest = NULL;
        struct sluice_error err = { .size = sizeof(err) };
        int calls = 0;
        assert_int_equal(forest_create(&options, &forest, &err), SLUICE_OK);
        for (uint64_t i = 0; i < (spill ? 20000u : 20u); i++) {
            assert_int_equal(forest_add(forest, i, i + 1, &err), SLUICE_OK);
        }
        assert_int_equal(forest_finish(forest, stop_at_three, &calls, &err), SLUICE_E_CANCELLED);
        assert_int_equal(calls, 3);
        assert_true((forest_stats(forest).spilled > 0) == (spill != 0));
        forest_destroy(forest);
    }
}

static int compare_pairs(const void *one, const void *other)
{
    const struct forest_pair *x = one;
    const struct forest_pair *y = other;
    if (x->first != y->first) {
        return x->first < y->first ? -1 : 1;
    }
    return (x->second > y->second) - (x->second < y->second);
}

static void test_pairs_sort(void **state)
{
    (void)state;
    enum { MOST = 20000 };
    struct forest_pair *pairs = malloc(2 * MOST * sizeof(*pairs));
    assert_non_null(pairs);
    struct forest_pair *want = pairs + MOST;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 60; round++) {
        size_t n = round < 40 ? round : mix(&seed) % MOST;
        for (size_t i = 0; i < n; i++) {
            uint64_t range = round % 3 == 0 ? UINT64_MAX : round % 3 == 1 ? 10 : 70000;
            pairs[i] =
                (struct forest_pair){ mix(&seed) % range << (round % 2 * 20), mix(&seed) % range };
            want[i] = pairs[i];
        }
        forest_pairs_sort(pairs, n);
        qsort(want, n, sizeof(*want), compare_pairs);
        assert_memory_equal(pairs, want, n * sizeof(*want));
    }
    free(pairs);
}

/* The external sort alone: distinct pairs in order, twice. */
static void test_external_sort(void **state)
{
    (void)state;
    uint64_t seed = 8;
    static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 30000, 300000 };
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (uint64_t range = 50; range < 6000000000u; range *= 1000) {
            struct forest_sort *sort = NULL;
            struct sluice_error err = { .size = sizeof(err) };
            struct forest_pair *want = malloc((sizes[s] + 1) * sizeof(*want));
            assert_non_null(want);
            assert_int_equal(forest_sort_create(FOREST_SORT_MEMORY_LEAST, scratch, &sort, &err),
                             SLUICE_OK);
            for (size_t i = 0; i < sizes[s]; i++) {
                want[i] = (struct forest_pair){ mix(&seed) % range, mix(&seed) % 3 };
                assert_int_equal(forest_sort_push(sort, want[i].first, want[i].second, &err),
                                 SLUICE_OK);
            }
            qsort(want, sizes[s], sizeof(*want), compare_pairs);
            for (int pass = 0; pass < 2; pass++) {
                struct forest_pair pair;
                bool end = false;
                assert_int_equal(forest_sort_rewind(sort, &err), SLUICE_OK);
                for (size_t i = 0; i < sizes[s]; i++) {
                    if (i > 0 && compare_pairs(&want[i - 1], &want[i]) == 0) {
                        continue;
                    }
                    assert_int_equal(forest_sort_next(sort, &pair, &end, &err), SLUICE_OK);
                    assert_false(end);
                    assert_memory_equal(&pair, &want[i], sizeof(pair));
                }
                assert_int_equal(forest_sort_next(sort, &pair, &end, &err), SLUICE_OK);
                assert_true(end);
            }
            forest_sort_destroy(sort);
            free(want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_graphs),
        cmocka_unit_test(test_no_edges_and_extremes),
        cmocka_unit_test(test_pairs_sort),
        cmocka_unit_test_setup_teardown(test_external_sort, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_scratch_equals_memory, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test_setup_teardown(test_scratch_errors, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_callback_can_stop, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
