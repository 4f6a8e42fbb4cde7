/* store/lock: one holder at a time, who is named; and nothing is held by the dead. */
#include "store_kit.h"

#include <errno.h>
#include <signal.h>

#include "store/lock.h"

static int lock_work(void *ctx)
{
    struct lock *lock;
    struct sluice_error e = ERROR_INIT;
    sluice_status status = lock_open(ctx, &lock, &e);

    if (status == SLUICE_OK) {
        return 50; /* the child's death releases it */
    }
    return strcmp(e.field, "lock") == 0 && strstr(e.message, "process ") != NULL ? 51 : status;
}

static void test_lock(void **state)
{
    char *dir = kit_folder();
    struct lock *lock;
    struct lock *second;
    struct sluice_error e = ERROR_INIT;
    char holder[256];
    char expected[64];
    bool held;

    (void)state;
    KIT_OK(lock_held(dir, &held, holder, err));
    assert_false(held);
    assert_int_equal(kit_child(lock_work, dir, NULL, NULL), 50);
    KIT_OK(lock_held(dir, &held, holder, err));
    assert_false(held);
    KIT_OK(lock_open(dir, &lock, err));
    assert_int_equal(kit_child(lock_work, dir, NULL, NULL), 51);
    /* Another one of the same process is another holder. */
    assert_int_equal(lock_open(dir, &second, &e), SLUICE_E_IO);
    snprintf(expected, sizeof expected, "process %d on ", (int)getpid());
    assert_non_null(strstr(e.message, expected));
    KIT_OK(lock_held(dir, &held, holder, err));
    assert_true(held);
    assert_true(strncmp(holder, expected, strlen(expected)) == 0);
    lock_close(lock);
    lock_close(NULL);
    assert_int_equal(kit_child(lock_work, dir, NULL, NULL), 50);
    assert_int_equal(lock_open(kit_path(dir, "absent"), &lock, &e), SLUICE_E_IO);
    kit_remove(dir);
}

static int claim_work(void *ctx)
{
    struct claim *claim;
    struct hash128 key = { 1, 2 };

    return claim_try(ctx, key, &claim, NULL) != SLUICE_OK ? 1 : claim != NULL ? 50 : 51;
}

static void test_claim(void **state)
{
    char *dir = kit_folder();
    struct claim *claim;
    struct claim *other;
    struct hash128 key = { 1, 2 };
    struct hash128 key2 = { 2, 2 };

    (void)state;
    assert_int_equal(kit_child(claim_work, dir, NULL, NULL), 50);
    KIT_OK(claim_try(dir, key, &claim, err));
    assert_non_null(claim);
    KIT_OK(claim_try(dir, key, &other, err));
    assert_null(other);
    KIT_OK(claim_try(dir, key2, &other, err));
    assert_non_null(other);
    claim_close(other);
    assert_int_equal(kit_child(claim_work, dir, NULL, NULL), 51);
    claim_close(claim);
    claim_close(NULL);
    assert_int_equal(kit_count(dir), 0);
    assert_int_equal(kit_child(claim_work, dir, NULL, NULL), 50);
    assert_int_equal(claim_try(kit_path(dir, "absent"), key, &claim, NULL), SLUICE_E_IO);
    kit_remove(dir);
}

/* Four processes take turns; a byte in a file shows that two never hold the claim together. */
static int turns_work(void *ctx)
{
    const char *dir = ctx;
    struct hash128 key = { 7, 7 };

    for (int taken = 0; taken < 300;) {
        struct claim *claim;
        int fd;
        if (claim_try(dir, key, &claim, NULL) != SLUICE_OK) {
            return 1;
        }
        if (claim == NULL) {
            continue;
        }
        fd = open(kit_path(dir, "inside"), O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0) {
            return 2;
        }
        close(fd);
        if (unlink(kit_path(dir, "inside")) != 0) {
            return 3;
        }
        claim_close(claim);
        taken++;
    }
    return 0;
}

static void test_claims_exclude(void **state)
{
    char *dir = kit_folder();
    pid_t pids[4];
    int status;

    (void)state;
    fflush(NULL);
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            _exit(turns_work(dir));
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_claims_exclude),
    };

    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
