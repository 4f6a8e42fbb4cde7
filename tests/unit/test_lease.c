/* store/lease and store/member: one holder at a time, who is named; the dead hold nothing, at
 * once where they can be looked at, after a while where not; who only stood still learns that it
 * lost. */
#include "store_kit.h"

#include <signal.h>
#include <time.h>

#include "store/lease.h"

static void pause_ms(long ms)
{
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };
    nanosleep(&pause, NULL);
}

static struct member *join(const char *dir)
{
    struct member *m;
    KIT_OK(member_join(kit_path(dir, "workers"), "work", &m, err));
    return m;
}

static struct lease *take(struct member *m, const char *dir, const char *name,
                          struct lease_found *found)
{
    struct lease *lease;
    KIT_OK(lease_take(m, kit_path(dir, "leases"), name, "first", &lease, found, err));
    return lease;
}

static void test_exclusive(void **state)
{
    char *dir = kit_folder();
    struct member *a = join(dir);
    struct member *b = join(dir);
    struct lease_found found;
    struct holder holder;
    struct lease *lease = take(a, dir, "1", &found);
    bool held;

    (void)state;
    assert_non_null(lease);
    assert_int_equal(found.lost, 0);
    assert_null(take(b, dir, "1", &found));
    assert_string_equal(found.holder.id, member_id(a));
    assert_non_null(strstr(found.holder.words, "process "));
    assert_null(take(a, dir, "1", NULL)); /* not twice in a process either */
    KIT_OK(lease_look(NULL, kit_path(dir, "leases"), "1", &held, &holder, err));
    assert_true(held);
    lease_drop(lease, true);
    lease_drop(NULL, true);
    KIT_OK(lease_look(b, kit_path(dir, "leases"), "1", &held, &holder, err));
    assert_false(held);
    lease = take(b, dir, "1", NULL);
    assert_non_null(lease);
    lease_drop(lease, true);
    member_leave(a);
    member_leave(b);
    member_leave(NULL);
    kit_remove(dir);
}

/* A child takes it and is killed, or leaves in peace. */
static pid_t child_with(const char *dir, const char *host, bool stays)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct member *m;
        struct lease *lease = NULL;
        if (host != NULL) {
            setenv("SLUICE_TEST_HOST", host, 1);
        }
        if (member_join(kit_path(dir, "workers"), "work", &m, NULL) != SLUICE_OK ||
            lease_take(m, kit_path(dir, "leases"), "1", "first", &lease, NULL, NULL) != SLUICE_OK ||
            lease == NULL || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        while (stays) {
            pause();
        }
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void test_dead(void **state)
{
    char *dir = kit_folder();
    struct member *m = join(dir);
    struct lease_found found;
    struct holder *list;
    struct lease *lease;
    size_t n;
    pid_t pid = child_with(dir, NULL, true);

    (void)state;
    assert_null(take(m, dir, "1", &found));
    assert_true(member_seen(m, &found.holder));
    KIT_OK(member_others(m, true, NULL, &list, &n, err));
    assert_int_equal(n, 1);
    assert_int_equal(list[0].owner.pid, pid);
    free(list);
    kill(pid, SIGKILL);
    /* Dead and not waited for: a zombie holds nothing. */
    for (lease = NULL; lease == NULL;) {
        lease = take(m, dir, "1", &found);
    }
    assert_int_equal(found.lost, 1);
    assert_int_equal(found.holder.owner.pid, pid);
    waitpid(pid, NULL, 0);
    KIT_OK(member_others(m, false, NULL, NULL, &n, err));
    assert_int_equal(n, 0);
    lease_drop(lease, false); /* the dead one's file stays, and counts */
    /* Its number may be another process's for a moment, which is not told at once. */
    for (lease = NULL; lease == NULL;) {
        lease = take(m, dir, "1", &found);
    }
    assert_int_equal(found.lost, 1);
    lease_drop(lease, true);
    lease = take(m, dir, "1", &found);
    assert_int_equal(found.lost, 0);
    lease_drop(lease, true);
    member_leave(m);
    kit_remove(dir);
}

/* One of another host, which can't be looked at: its heart must have stopped for the TTL. */
static void test_elsewhere(void **state)
{
    char *dir = kit_folder();
    struct member *m = join(dir);
    struct lease_found found;
    struct lease *lease;
    uint64_t begun = member_clock();
    pid_t pid = child_with(dir, "elsewhere", true);

    (void)state;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_null(take(m, dir, "1", &found));
    assert_string_equal(found.holder.host, "elsewhere");
    assert_false(member_seen(m, &found.holder));
    while ((lease = take(m, dir, "1", &found)) == NULL) {
        pause_ms(5);
    }
    assert_true(member_clock() - begun >= member_times()->ttl);
    assert_int_equal(found.lost, 1);
    lease_drop(lease, true);
    member_leave(m);
    kit_remove(dir);
}

static void test_left(void **state)
{
    char *dir = kit_folder();
    struct member *m = join(dir);
    struct lease *lease;
    struct lease_found found;
    pid_t pid = child_with(dir, "elsewhere", false);
    struct holder *list;
    char *file;
    size_t n;

    (void)state;
    waitpid(pid, NULL, 0);
    /* It took its file away: nobody waits for it. */
    KIT_OK(member_others(m, false, NULL, &list, &n, err));
    assert_int_equal(n, 1);
    file = str_printf("%s/workers/%s", dir, list[0].id);
    assert_int_equal(unlink(file), 0);
    free(file);
    free(list);
    pause_ms((long)(member_times()->beat / 4000000) + 2);
    lease = take(m, dir, "1", &found);
    assert_non_null(lease);
    assert_int_equal(found.lost, 1);
    lease_drop(lease, true);
    member_leave(m);
    kit_remove(dir);
}

/* A heart that stops beating is noticed by its owner before others may take it for dead. */
static void test_fence(void **state)
{
    char *dir = kit_folder();
    struct member *a = join(dir);
    struct member *b = join(dir);
    struct lease *lease = take(a, dir, "1", NULL);
    struct lease *other;

    (void)state;
    assert_int_equal(member_lapses(a), 0);
    while ((other = take(b, dir, "1", NULL)) == NULL) {
        KIT_OK(member_beat(b, "{\"running\":1}", err));
        pause_ms(5);
    }
    /* However late this looks: who was taken for dead knew before. */
    assert_false(member_fresh(a));
    assert_false(lease_fresh(lease));
    KIT_OK(member_beat(a, NULL, err));
    assert_int_equal(member_lapses(a), 1);
    assert_false(lease_fresh(lease));
    lease_drop(lease, true); /* the other one's stays */
    assert_null(take(b, dir, "1", NULL));
    assert_null(take(a, dir, "1", NULL));
    lease_drop(other, true);
    member_leave(a);
    member_leave(b);
    kit_remove(dir);
}

/* A file of this process's own that it does not hold (a request that came late) and one that
 * says nothing are nobody's. */
static void test_ghosts(void **state)
{
    char *dir = kit_folder();
    struct member *m = join(dir);
    char *leases = str_printf("%s/leases", dir);
    char *text = str_printf("{%s,\"epoch\":1}\n", member_json(m));
    enum store_put outcome;
    struct lease *lease;
    struct lease_found found;

    (void)state;
    KIT_OK(store_put_new(kit_path(leases, "1.1"), text, strlen(text), STORE_LOOSE, &outcome, err));
    KIT_OK(store_put_new(kit_path(leases, "1.2"), "", 0, STORE_LOOSE, &outcome, err));
    lease = take(m, dir, "1", &found);
    assert_non_null(lease);
    assert_int_equal(found.lost, 2);
    lease_drop(lease, true);
    free(text);
    free(leases);
    member_leave(m);
    kit_remove(dir);
}

/* Four processes take turns; a file shows that two never hold it together. */
static int turns_work(const char *dir)
{
    struct member *m;

    if (member_join(kit_path(dir, "workers"), "work", &m, NULL) != SLUICE_OK) {
        return 1;
    }
    for (int taken = 0; taken < 100; taken++) {
        struct lease *lease;
        int fd;
        if (member_beat(m, NULL, NULL) != SLUICE_OK ||
            lease_wait(m, kit_path(dir, "leases"), "turn", NULL, &lease, NULL) != SLUICE_OK) {
            return 2;
        }
        fd = open(kit_path(dir, "inside"), O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0) {
            return 3;
        }
        close(fd);
        if (unlink(kit_path(dir, "inside")) != 0) {
            return 4;
        }
        lease_drop(lease, true);
    }
    member_leave(m);
    return 0;
}

static void test_turns(void **state)
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

/* What is not about time has a lot of it: a process that a busy machine leaves standing for a
 * second would lose what it holds. */
static int in_peace(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusive), cmocka_unit_test(test_dead),  cmocka_unit_test(test_left),
        cmocka_unit_test(test_ghosts),    cmocka_unit_test(test_turns),
    };

    setenv("SLUICE_TEST_LEASE", "100:3600000:3000000", 1);
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_fence),
    };
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork(); /* a process has one set of times */
    if (pid == 0) {
        exit(in_peace());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        return 1;
    }
    setenv("SLUICE_TEST_LEASE", "100:1200:800", 1);
    return cmocka_run_group_tests_name("lease, times", tests, NULL, NULL);
}
