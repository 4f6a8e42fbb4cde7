/* Tests of a mixture's arithmetic: targets by weights, epochs and numbers, what is refused, and the
 * cut in the order of hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mixture.h"

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static const char *const names[] = { "books", "code", "web" };

static void sources_init(struct mixture_source sources[3])
{
    static const uint64_t sizes[] = { 1000, 30000, 900000 };

    memset(sources, 0, 3 * sizeof sources[0]);
    for (int k = 0; k < 3; k++) {
        sources[k].name = (char *)(uintptr_t)names[k];
        sources[k].documents = sizes[k] / 100;
        sources[k].size = sizes[k];
    }
}

static struct mixture_goal goal_of(enum mixture_mode mode, const char *const values[3])
{
    struct mixture_goal goal = { .mode = mode,
                                 .values = { names, values, values == NULL ? 0 : 3 },
                                 .max_epochs = 1 };
    return goal;
}

static void plan(const struct mixture_goal *goal, struct mixture_source sources[3])
{
    struct sluice_error err = { .size = sizeof err };

    sources_init(sources);
    if (mixture_targets(goal, sources, 3, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(sources[k].target, sources[k].whole * sources[k].size + sources[k].rest);
        assert_true(sources[k].rest < sources[k].size);
    }
}

static void refused(const struct mixture_goal *goal, const char *field, const char *words)
{
    struct sluice_error err = { .size = sizeof err };
    struct mixture_source sources[3];

    sources_init(sources);
    assert_int_equal(mixture_targets(goal, sources, 3, &err), SLUICE_E_CONFIG);
    assert_string_equal(err.field, field);
    if (strstr(err.message, words) == NULL) {
        fail_msg("'%s' has no '%s'", err.message, words);
    }
}

static void test_weights(void **state)
{
    static const char *const values[] = { "1", "3", "6" };
    struct mixture_goal goal = goal_of(MIXTURE_WEIGHTS, values);
    struct mixture_source sources[3];

    (void)state;
    /* Books are scarce: all of them go by once, and the rest follows. */
    plan(&goal, sources);
    assert_int_equal(sources[0].target, 1000);
    assert_int_equal(sources[1].target, 3000);
    assert_int_equal(sources[2].target, 6000);
    assert_int_equal(sources[0].whole, 1);
    assert_int_equal(sources[1].whole, 0);
    goal.max_epochs = 2.5;
    plan(&goal, sources);
    assert_int_equal(sources[0].target, 2500);
    assert_int_equal(sources[0].whole, 2);
    assert_int_equal(sources[0].rest, 500);
    assert_int_equal(sources[2].target, 15000);
    /* A total is kept. */
    goal.total = 20000;
    plan(&goal, sources);
    assert_int_equal(sources[0].target + sources[1].target + sources[2].target, 20000);
    assert_int_equal(sources[1].target, 6000);
    goal.total = 25001;
    refused(&goal, "total",
            "takes 2.50 epochs of the source 'books', which has 1000; with max_epochs = 2.5 at "
            "most 25000");
}

static void test_any_scale(void **state)
{
    static const char *const one[] = { "0.1", "0.3", "0.6" };
    static const char *const other[] = { "100", "300", "600" };
    struct mixture_goal goal = goal_of(MIXTURE_WEIGHTS, one);
    struct mixture_source a[3];
    struct mixture_source b[3];

    (void)state;
    plan(&goal, a);
    goal = goal_of(MIXTURE_WEIGHTS, other);
    plan(&goal, b);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(a[k].target, b[k].target);
    }
}

static void test_zero_leaves_out(void **state)
{
    static const char *const values[] = { "0", "1", "1" };
    struct mixture_goal goal = goal_of(MIXTURE_WEIGHTS, values);
    struct mixture_source sources[3];

    (void)state;
    plan(&goal, sources);
    assert_int_equal(sources[0].target, 0);
    assert_int_equal(sources[1].target, 30000);
    assert_int_equal(sources[2].target, 30000);
}

static void test_epochs_and_each(void **state)
{
    static const char *const values[] = { "4", "1.5", "0.01" };
    struct mixture_goal goal = goal_of(MIXTURE_EPOCHS, values);
    struct mixture_source sources[3];

    (void)state;
    plan(&goal, sources);
    assert_int_equal(sources[0].whole, 4);
    assert_int_equal(sources[0].rest, 0);
    assert_int_equal(sources[1].target, 45000);
    assert_int_equal(sources[2].target, 9000);
    goal = goal_of(MIXTURE_EACH, NULL);
    goal.each = 5000;
    plan(&goal, sources);
    assert_int_equal(sources[0].whole, 1); /* there are not so many */
    assert_int_equal(sources[0].rest, 0);
    assert_int_equal(sources[1].rest, 5000);
    goal = goal_of(MIXTURE_WEIGHTS, NULL);
    plan(&goal, sources);
    assert_int_equal(sources[2].whole, 1);
    assert_int_equal(sources[2].rest, 0);
}

static void test_refused(void **state)
{
    static const char *const wrong[] = { "books", "code", "wep" };
    static const char *const words[] = { "1", "much", "1" };
    static const char *const below[] = { "1", "-1", "1" };
    static const char *const endless[] = { "1", "inf", "1" };
    static const char *const nothing[] = { "0", "0", "0" };
    static const char *const often[] = { "1", "65", "1" };
    static const char *const fine[] = { "1", "1", "1" };
    struct mixture_goal goal = goal_of(MIXTURE_WEIGHTS, words);
    struct sluice_error err = { .size = sizeof err };
    struct mixture_source sources[3];

    (void)state;
    refused(&goal, "weights", "found much for the source 'code'");
    goal = goal_of(MIXTURE_WEIGHTS, below);
    refused(&goal, "weights", "found -1 for the source 'code'");
    goal = goal_of(MIXTURE_WEIGHTS, endless);
    refused(&goal, "weights", "found inf");
    goal = goal_of(MIXTURE_WEIGHTS, nothing);
    refused(&goal, "weights", "all weights are 0");
    goal = goal_of(MIXTURE_EPOCHS, often);
    refused(&goal, "epochs", "at most 64");
    goal = goal_of(MIXTURE_WEIGHTS, fine);
    goal.values.keys = wrong;
    refused(&goal, "weights", "no document is of the source 'wep'");
    goal = goal_of(MIXTURE_WEIGHTS, fine);
    goal.values.n = 2;
    refused(&goal, "weights",
            "9000 documents are of the source 'web', which weights does not name");
    goal = goal_of(MIXTURE_WEIGHTS, fine);
    sources_init(sources);
    sources[1].size = 0;
    assert_int_equal(mixture_targets(&goal, sources, 3, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "have no size at all"));
    sources_init(sources);
    sources[1].size = MIXTURE_SOURCE_MAX;
    assert_int_equal(mixture_targets(&goal, sources, 3, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "larger than a mixture can count"));
}

/* The prefix whose sum is nearest, the shorter of two equally near. */
static void naive(const uint64_t *sizes, size_t n, uint64_t rest, uint64_t *taken,
                  size_t *documents)
{
    uint64_t best = rest;
    uint64_t sum = 0;

    *taken = 0;
    *documents = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t off;
        sum += sizes[k];
        off = sum > rest ? sum - rest : rest - sum;
        if (off < best) {
            best = off;
            *taken = sum;
            *documents = k + 1;
        }
    }
}

static void test_cut(void **state)
{
    uint64_t random = 3;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint64_t sizes[40];
        size_t n = (size_t)(next(&random) % 40);
        uint64_t all = 0;
        struct mixture_cut cut = { 0 };
        uint64_t taken;
        size_t documents;
        for (size_t k = 0; k < n; k++) {
            sizes[k] = 1 + next(&random) % 100;
            all += sizes[k];
        }
        cut.rest = all > 0 ? next(&random) % all : 0;
        naive(sizes, n, cut.rest, &taken, &documents);
        for (size_t k = 0; k < n; k++) {
            mixture_cut_add(&cut, 10 * k, sizes[k]);
        }
        mixture_cut_end(&cut);
        assert_int_equal(cut.taken, taken);
        assert_int_equal(cut.documents, documents);
        assert_int_equal(cut.any, documents > 0);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(mixture_copies(2, cut.any, cut.hash, 10 * k), k < documents ? 3 : 2);
        }
        /* Off by half a document at most. */
        assert_true(2 * (taken > cut.rest ? taken - cut.rest : cut.rest - taken) <= 100);
    }
}

/* Documents of one id go together. */
static void test_cut_groups(void **state)
{
    struct mixture_cut cut = { .rest = 5 };

    (void)state;
    mixture_cut_add(&cut, 1, 1);
    mixture_cut_add(&cut, 1, 1);
    mixture_cut_add(&cut, 2, 2);
    mixture_cut_add(&cut, 2, 3);
    mixture_cut_add(&cut, 3, 1);
    mixture_cut_end(&cut);
    assert_int_equal(cut.taken, 7);
    assert_int_equal(cut.documents, 4);
    assert_int_equal(cut.hash, 2);
    memset(&cut, 0, sizeof cut);
    mixture_cut_end(&cut);
    assert_false(cut.any);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),         cmocka_unit_test(test_any_scale),
        cmocka_unit_test(test_zero_leaves_out), cmocka_unit_test(test_epochs_and_each),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
