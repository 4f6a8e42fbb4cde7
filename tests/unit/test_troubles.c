/* run/work/troubles: what is known of tasks that failed, by whichever process, and which are tried
 * alone. */
#include "store_kit.h"

#include "run/work/troubles.h"

static struct troubles *open_one(const char *dir)
{
    struct troubles *troubles;
    KIT_OK(troubles_open(dir, hash_bytes("phase", 5), &troubles, err));
    return troubles;
}

static void add(struct troubles *troubles, uint32_t task, enum trouble_kind kind, bool final)
{
    struct trouble trouble = { .task = task, .kind = kind, .code = SLUICE_E_IO, .final = final };

    snprintf(trouble.host, sizeof trouble.host, "here");
    snprintf(trouble.message, sizeof trouble.message, "it failed");
    KIT_OK(troubles_add(troubles, &trouble, err));
}

static void test_alone(void **state)
{
    char *dir = kit_folder();
    struct troubles *a = open_one(dir);
    struct troubles *b = open_one(dir);

    (void)state;
    assert_false(troubles_alone(a, 7));
    add(a, 7, TROUBLE_TRANSIENT, false);
    assert_false(troubles_alone(a, 7));
    add(a, 7, TROUBLE_MEMORY, false);
    assert_true(troubles_alone(a, 7));
    assert_false(troubles_alone(a, 8));
    /* Another process learns of it. */
    assert_false(troubles_alone(b, 7));
    KIT_OK(troubles_read(b, 7, err));
    assert_true(troubles_alone(b, 7));
    /* It failed for something else since. */
    add(b, 7, TROUBLE_TRANSIENT, false);
    assert_false(troubles_alone(b, 7));
    /* One worker may die of anything. */
    add(a, 3, TROUBLE_LOST, false);
    assert_false(troubles_alone(a, 3));
    add(a, 3, TROUBLE_LOST, false);
    assert_true(troubles_alone(a, 3));
    troubles_close(a);
    troubles_close(b);
    kit_remove(dir);
}

static void test_counts(void **state)
{
    char *dir = kit_folder();
    struct troubles *a = open_one(dir);
    struct troubles *b = open_one(dir);
    struct trouble probe = { .task = 5, .kind = TROUBLE_PERMANENT };
    struct trouble_count count;
    struct trouble *list;
    size_t n;

    (void)state;
    add(a, 5, TROUBLE_TRANSIENT, false);
    add(b, 5, TROUBLE_MEMORY, false); /* finds the first and is the second */
    KIT_OK(troubles_read(a, 5, err));
    troubles_count(a, &probe, &count);
    assert_int_equal(count.n, 3);
    assert_int_equal(probe.n, 3);
    assert_int_equal(count.by_kind[TROUBLE_TRANSIENT], 1);
    assert_int_equal(count.by_kind[TROUBLE_MEMORY], 1);
    assert_int_equal(count.by_kind[TROUBLE_PERMANENT], 1);
    assert_int_equal(troubles_state(a, 5), TASK_READY);
    add(a, 5, TROUBLE_PERMANENT, true);
    add(a, 2, TROUBLE_PERMANENT, true);
    assert_int_equal(troubles_state(a, 5), TASK_GIVEN_UP);
    assert_int_equal(troubles_n_given_up(a), 2);
    KIT_OK(troubles_given_up(a, &list, &n, err));
    assert_int_equal(n, 2);
    assert_int_equal(list[0].task, 2);
    assert_int_equal(list[1].n, 3);
    assert_string_equal(list[1].message, "it failed");
    free(list);
    troubles_close(a);
    troubles_close(b);
    KIT_OK(troubles_sweep(dir, err));
    a = open_one(dir);
    KIT_OK(troubles_read(a, 5, err));
    assert_int_equal(troubles_state(a, 5), TASK_READY);
    troubles_close(a);
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_alone),
                                        cmocka_unit_test(test_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
