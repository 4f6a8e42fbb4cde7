/* run/work/pace and scripts/policies/speculate.lua: when a second copy of a task is begun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "luastage_kit.h"
#include "run/work/pace.h"

#define MIB 1048576.0

/* n tasks of these bytes, each of which took that long, give or take a tenth. */
static size_t tasks(struct pace_task *list, size_t at, size_t n, double bytes, double seconds)
{
    for (size_t i = 0; i < n; i++) {
        list[at + i] = (struct pace_task){ seconds * (0.9 + 0.05 * (double)(i % 5)), bytes };
    }
    return at + n;
}

static void test_sum(void **state)
{
    static const struct pace_task list[] = { { 1, 10 }, { 4, 20 }, { 3, 30 }, { 2, 20 } };
    struct sluice_error err = ERROR_INIT;
    struct paces paces;

    (void)state;
    assert_int_equal(paces_sum(list, 4, &paces, &err), SLUICE_OK);
    assert_float_equal(paces.bytes, 20, 1e-9);
    /* 1/20 as the small one counts as one of 20 bytes, 4/20, 3/30, 2/20 */
    assert_float_equal(paces.mean, 0.1125, 1e-9);
    assert_float_equal(paces.median, 0.1, 1e-9);
    assert_float_equal(paces.deviation, 0.0629153, 1e-6);
    assert_float_equal(paces_of(&paces, 6, 60), 0.1, 1e-9);
    assert_float_equal(paces_of(&paces, 6, 0), 0.3, 1e-9);
    assert_int_equal(paces_sum(list, 0, &paces, &err), SLUICE_OK);
    assert_float_equal(paces.median, 0, 1e-9);
    assert_float_equal(paces_of(&paces, 6, 0), 6, 1e-9);
    assert_int_equal(paces_sum(list, 1, &paces, &err), SLUICE_OK);
    assert_float_equal(paces.deviation, 0, 1e-9);
}

/* What the policy says of a task that is at work. */
struct asked {
    size_t n_tasks, reused;
    double seconds, bytes;
    const char *asks; /* JSON */
};

static bool is_late(struct script *script, const struct pace_task *list, size_t n,
                    const struct asked *asked)
{
    struct sluice_error err = ERROR_INIT;
    struct paces paces;
    char facts[1000];
    bool said = false;
    bool wanted = false;

    assert_int_equal(paces_sum(list, n, &paces, &err), SLUICE_OK);
    snprintf(facts, sizeof facts,
             "{\"phase\":\"p\",\"task\":\"t\",\"tasks\":%zu,\"done\":%zu,\"known\":%zu,"
             "\"seconds\":%.17g,\"pace\":%.17g,\"mean\":%.17g,\"deviation\":%.17g,"
             "\"median\":%.17g,\"asks\":%s}",
             asked->n_tasks, n + asked->reused, n, asked->seconds,
             paces_of(&paces, asked->seconds, asked->bytes), paces.mean, paces.deviation,
             paces.median, asked->asks == NULL ? "[]" : asked->asks);
    if (script_speculate(script, 0, facts, &said, &wanted, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(said);
    return wanted;
}

static void load(struct scene *scene, const char *options)
{
    char text[200];

    scene_init(scene);
    snprintf(text, sizeof text, "require \"policies.speculate\" { %s }", options);
    if (scene_load(scene, text) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
}

static void test_late(void **state)
{
    struct pace_task list[100];
    struct scene scene;
    size_t n = tasks(list, 0, 20, 64 * MIB, 20);

    (void)state;
    load(&scene, "");
    assert_true(is_late(scene.script, list, n, &(struct asked){ 21, 0, 60, 64 * MIB, NULL }));
    /* Past the median, and not past twice of it. */
    assert_false(is_late(scene.script, list, n, &(struct asked){ 21, 0, 38, 64 * MIB, NULL }));
    /* Larger as well: as many seconds a byte. */
    assert_false(is_late(scene.script, list, n, &(struct asked){ 21, 0, 60, 192 * MIB, NULL }));
    assert_true(is_late(scene.script, list, n, &(struct asked){ 21, 0, 180, 192 * MIB, NULL }));
    /* Smaller: it takes a part of its time whatever it holds. */
    assert_false(is_late(scene.script, list, n, &(struct asked){ 21, 0, 38, 0, NULL }));
    assert_true(is_late(scene.script, list, n, &(struct asked){ 21, 0, 60, 0, NULL }));
    /* Too few are done. */
    assert_false(is_late(scene.script, list, n, &(struct asked){ 40, 0, 600, 64 * MIB, NULL }));
    assert_true(is_late(scene.script, list, n, &(struct asked){ 40, 15, 600, 64 * MIB, NULL }));
    assert_false(is_late(scene.script, list, 4, &(struct asked){ 5, 0, 600, 64 * MIB, NULL }));
    /* Tasks of a moment. */
    n = tasks(list, 0, 20, 64 * MIB, 0.1);
    assert_false(is_late(scene.script, list, n, &(struct asked){ 21, 0, 20, 64 * MIB, NULL }));
    scene_close(&scene);
}

/* Where tasks differ by themselves it takes more. */
static void test_spread(void **state)
{
    struct pace_task list[100];
    struct scene scene;
    size_t n = tasks(list, 0, 20, 64 * MIB, 20);

    (void)state;
    load(&scene, "");
    n = tasks(list, n, 5, 64 * MIB, 90);
    assert_false(is_late(scene.script, list, n, &(struct asked){ 26, 0, 100, 64 * MIB, NULL }));
    assert_true(is_late(scene.script, list, n, &(struct asked){ 26, 0, 130, 64 * MIB, NULL }));
    scene_close(&scene);
}

/* A phase whose tasks are all large, each larger than the one before: none is late. */
static void test_uniform(void **state)
{
    struct pace_task list[100];
    struct scene scene;

    (void)state;
    load(&scene, "");
    for (size_t i = 0; i < 100; i++) {
        double bytes = MIB * (double)(i + 1);
        list[i] = (struct pace_task){ bytes / MIB * (0.95 + 0.02 * (double)(i % 5)), bytes };
        if (i >= 5) {
            double seconds = 1.05 * (double)(i + 2);
            assert_false(
                is_late(scene.script, list, i + 1,
                        &(struct asked){ i + 2, 0, seconds, MIB * (double)(i + 2), NULL }));
            assert_false(
                is_late(scene.script, list, i + 1,
                        &(struct asked){ i + 2, 0, 3 * seconds, 3 * MIB * (double)(i + 2), NULL }));
        }
    }
    scene_close(&scene);
}

static void test_asks(void **state)
{
    struct asked asked = { 21, 0, 60, 64 * MIB, "[\"score\"]" };
    struct pace_task list[100];
    struct scene scene;
    size_t n = tasks(list, 0, 20, 64 * MIB, 20);

    (void)state;
    load(&scene, "");
    assert_false(is_late(scene.script, list, n, &asked));
    scene_close(&scene);
    load(&scene, "recorded = { \"score\" }");
    assert_true(is_late(scene.script, list, n, &asked));
    asked.asks = "[\"score\", \"other\"]";
    assert_false(is_late(scene.script, list, n, &asked));
    scene_close(&scene);
    load(&scene, "enabled = false");
    asked.asks = "[]";
    assert_false(is_late(scene.script, list, n, &asked));
    scene_close(&scene);
}

/* What a task still takes: by its own speed, else by that of others, else nobody knows. */
static void test_rest(void **state)
{
    struct pace_task list[100];
    struct sluice_error err = ERROR_INIT;
    struct paces paces;

    (void)state;
    assert_int_equal(paces_sum(list, tasks(list, 0, 20, 64 * MIB, 20), &paces, &err), SLUICE_OK);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 100, 25, 100 }), 15, 1e-9);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 100, 100, 100 }), 0, 1e-9);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 100, 200, 100 }), 0, 1e-9);
    /* It has read next to nothing, or reads nothing. */
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 64 * MIB, MIB, 64 * MIB }), 15,
                       0.1);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 64 * MIB, 0, 0 }), 15, 0.1);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 128 * MIB, 0, 0 }), 35, 0.1);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 0, 0, 0 }), 15, 0.1);
    assert_true(paces_rest(&paces, &(struct pace_work){ 25, 64 * MIB, 0, 0 }) < 0);
    assert_int_equal(paces_sum(list, 2, &paces, &err), SLUICE_OK);
    assert_true(paces_rest(&paces, &(struct pace_work){ 5, 64 * MIB, 0, 0 }) < 0);
    assert_int_equal(paces_sum(list, 0, &paces, &err), SLUICE_OK);
    assert_true(paces_rest(&paces, &(struct pace_work){ 5, 0, 0, 0 }) < 0);
    assert_float_equal(paces_rest(&paces, &(struct pace_work){ 5, 100, 25, 100 }), 15, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),     cmocka_unit_test(test_late), cmocka_unit_test(test_spread),
        cmocka_unit_test(test_uniform), cmocka_unit_test(test_asks), cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
