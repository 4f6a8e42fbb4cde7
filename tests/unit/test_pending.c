/* store/pending: files appear complete or not at all, under names that are never overwritten by
 * other bytes unless nobody vouches. */
#include "store_kit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>

#include "alloc_fail.h"
#include "store/pending.h"
#include "store/temp.h"

static void write_pieces(struct pending *p, const char *text, size_t n, size_t piece)
{
    for (size_t at = 0; at < n; at += piece) {
        KIT_OK(pending_write(p, text + at, n - at < piece ? n - at : piece, err));
    }
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = { 0, 1, 262143, 262144, 262145, 524288, 1000000, 9000000 };
    static const size_t pieces[] = { 1 << 30, 262144, 262143, 100001 };
    char *dir = kit_folder();
    char *text = kit_text(9000000, 7);

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
            struct pending *p;
            struct published published;
            struct buf stored;
            KIT_OK(pending_open(dir, &p, err));
            write_pieces(p, text, sizes[i], pieces[k]);
            assert_int_equal(pending_bytes(p), sizes[i]);
            KIT_OK(pending_publish(p, "out", PENDING_VOUCHED, &published, err));
            assert_int_equal(published.bytes, sizes[i]);
            assert_true(hash_equal(published.hash, hash_bytes(text, sizes[i])));
            assert_false(published.existed || published.replaced);
            stored = kit_read(kit_path(dir, "out"));
            assert_int_equal(stored.size, sizes[i]);
            assert_true(sizes[i] == 0 || memcmp(stored.data, text, sizes[i]) == 0);
            buf_deinit(&stored);
            assert_int_equal(unlink(kit_path(dir, "out")), 0);
            assert_int_equal(kit_count(dir), 0);
        }
    }
    free(text);
    kit_remove(dir);
}

static void test_name_taken(void **state)
{
    char *dir = kit_folder();
    struct published published;
    struct sluice_error e = ERROR_INIT;
    struct buf stored;

    (void)state;
    KIT_OK(pending_put(dir, "f", "equal", 5, PENDING_VOUCHED, &published, err));
    assert_false(published.existed);
    KIT_OK(pending_put(dir, "f", "equal", 5, PENDING_VOUCHED, &published, err));
    assert_true(published.existed);
    KIT_OK(pending_put(dir, "f", "equal", 5, 0, &published, err));
    assert_true(published.existed && !published.replaced);
    assert_int_equal(pending_put(dir, "f", "other", 5, PENDING_VOUCHED, &published, &e),
                     SLUICE_E_INTERNAL);
    assert_non_null(strstr(e.message, "not deterministic"));
    assert_int_equal(pending_put(dir, "f", "longer", 6, PENDING_VOUCHED, &published, &e),
                     SLUICE_E_INTERNAL);
    stored = kit_read(kit_path(dir, "f"));
    assert_string_equal(buf_str(&stored), "equal");
    buf_deinit(&stored);
    /* Damaged in size or in bytes, and nobody relies on it. */
    KIT_OK(pending_put(dir, "f", "other", 5, 0, &published, err));
    assert_true(published.replaced && !published.existed);
    KIT_OK(pending_put(dir, "f", "longer", 6, 0, &published, err));
    assert_true(published.replaced);
    stored = kit_read(kit_path(dir, "f"));
    assert_string_equal(buf_str(&stored), "longer");
    buf_deinit(&stored);
    assert_int_equal(mkdir(kit_path(dir, "d"), 0700), 0);
    assert_int_equal(pending_put(dir, "d", "x", 1, PENDING_VOUCHED, &published, &e),
                     SLUICE_E_CONFIG);
    assert_int_equal(pending_put(dir, "../x", "x", 1, PENDING_VOUCHED, &published, &e),
                     SLUICE_E_INTERNAL);
    assert_int_equal(
        pending_put(kit_path(dir, "absent"), "x", "x", 1, PENDING_VOUCHED, &published, &e),
        SLUICE_E_IO);
    assert_int_equal(kit_temps(dir), 0);
    kit_remove(dir);
}

static void test_abort(void **state)
{
    char *dir = kit_folder();
    struct pending *a;
    struct pending *b;

    (void)state;
    KIT_OK(pending_open(dir, &a, err));
    KIT_OK(pending_open(dir, &b, err));
    KIT_OK(pending_write(a, "x", 1, err));
    assert_int_equal(kit_temps(dir), 2);
    pending_abort(a);
    pending_abort(b);
    pending_abort(NULL);
    assert_int_equal(kit_count(dir), 0);
    kit_remove(dir);
}

/* ---- children ---- */

static int put_work(void *ctx)
{
    struct published published;
    struct sluice_error e = ERROR_INIT;
    sluice_status status = pending_put(ctx, "f", "0123456789", 10, PENDING_VOUCHED, &published, &e);

    if (status == SLUICE_OK) {
        return published.existed ? 51 : 50;
    }
    return strstr(e.message, "neither hard links") != NULL ? 60 : status;
}

static void test_links_refused(void **state)
{
    char *dir = kit_folder();

    (void)state;
    assert_int_equal(kit_child(put_work, dir, "SLUICE_TEST_FAIL", "link:EPERM"), 50);
    assert_int_equal(kit_child(put_work, dir, "SLUICE_TEST_FAIL", "link:EOPNOTSUPP"), 51);
    assert_int_equal(kit_child(put_work, dir, "SLUICE_TEST_FAIL", "link:EIO"), SLUICE_E_IO);
    assert_int_equal(kit_count(dir), 1);
    kit_remove(dir);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_true(disk_link_refused(EPERM) && disk_link_refused(EMLINK) && disk_link_refused(EXDEV));
    assert_false(disk_link_refused(ENOSPC) || disk_link_refused(EEXIST) || disk_link_refused(EIO));
}

static int hold_work(void *ctx)
{
    struct pending *p;

    return pending_open(ctx, &p, NULL) == SLUICE_OK ? 0 : 1;
}

static void test_sweep(void **state)
{
    char *dir = kit_folder();
    struct pending *mine;
    uint32_t removed;
    char *temp;

    (void)state;
    KIT_OK(pending_open(dir, &mine, err));
    assert_int_equal(kit_child(hold_work, dir, NULL, NULL), 0);
    assert_int_equal(kit_child(hold_work, dir, NULL, NULL), 0);
    kit_write(kit_path(dir, ".tmp-somebody-else"), "x", 1);
    kit_write(kit_path(dir, "kept"), "x", 1);
    /* Another host's, just made; and an old one. */
    kit_write(kit_path(dir, ".tmp-00000001-00000002-00000003-4-5-4-0"), "x", 1);
    kit_write(kit_path(dir, ".tmp-00000001-00000002-00000003-4-5-4-1"), "x", 1);
    {
        struct timespec times[2] = { { 1000000, 0 }, { 1000000, 0 } };
        assert_int_equal(
            utimensat(AT_FDCWD, kit_path(dir, ".tmp-00000001-00000002-00000003-4-5-4-1"), times, 0),
            0);
    }
    assert_int_equal(kit_count(dir), 7);
    KIT_OK(temp_sweep(dir, &removed, err));
    assert_int_equal(removed, 3);
    assert_true(kit_there(kit_path(dir, ".tmp-somebody-else")));
    assert_true(kit_there(kit_path(dir, ".tmp-00000001-00000002-00000003-4-5-4-0")));
    KIT_OK(temp_sweep(dir, NULL, err));
    assert_int_equal(kit_count(dir), 4);
    pending_abort(mine);
    /* A dead process's folder of links: a name of this process with another start time. */
    temp = temp_path(dir, 0);
    {
        char *pid = str_printf("-%d-", (int)getpid());
        char *other = str_printf("%.*s%s1-1-0", (int)(strstr(temp, pid) - temp), temp, pid);
        assert_int_equal(mkdir(other, 0700), 0);
        kit_write(kit_path(other, "link"), "x", 1);
        KIT_OK(temp_sweep(dir, &removed, err));
        assert_int_equal(removed, 1);
        assert_false(kit_there(other));
        free(other);
        free(pid);
    }
    free(temp);
    KIT_OK(temp_sweep(kit_path(dir, "absent"), &removed, err));
    kit_remove(dir);
}

static void test_crash_at_each_operation(void **state)
{
    static const char *const whens[] = { "", ":half", ":after" };

    (void)state;
    for (int w = 0; w < 3; w++) {
        int n = 1;
        for (int result = -SIGKILL; result == -SIGKILL; n++) {
            char *dir = kit_folder();
            char point[32];
            uint32_t removed;
            snprintf(point, sizeof point, "%d%s", n, whens[w]);
            result = kit_child(put_work, dir, "SLUICE_TEST_KILL", point);
            assert_true(result == -SIGKILL || result == 50);
            if (kit_there(kit_path(dir, "f"))) {
                struct buf text = kit_read(kit_path(dir, "f"));
                assert_string_equal(buf_str(&text), "0123456789");
                buf_deinit(&text);
            }
            KIT_OK(temp_sweep(dir, &removed, err));
            assert_int_equal(kit_temps(dir), 0);
            result = result == -SIGKILL ? result : 0;
            assert_true(kit_child(put_work, dir, NULL, NULL) >= 50);
            assert_int_equal(kit_count(dir), 1);
            kit_remove(dir);
        }
        assert_true(n > 6);
    }
}

static void test_failure_at_each_operation(void **state)
{
    int n = 1;

    (void)state;
    for (int result = SLUICE_E_IO; result == SLUICE_E_IO; n++) {
        char *dir = kit_folder();
        char point[32];
        snprintf(point, sizeof point, "%d:ENOSPC", n);
        result = kit_child(put_work, dir, "SLUICE_TEST_FAIL", point);
        /* Only removing the temporary name may fail without harm. */
        if (result != 50) {
            assert_int_equal(result, SLUICE_E_IO);
            assert_int_equal(kit_temps(dir), 0);
        } else if (kit_temps(dir) > 0) {
            result = SLUICE_E_IO;
        }
        kit_remove(dir);
    }
    assert_true(n > 6);
}

static void test_full_disk(void **state)
{
    char *dir = kit_folder();
    char *text = kit_text(2 << 20, 1);
    struct pending *p;
    struct sluice_error e = ERROR_INIT;
    struct published published;

    (void)state;
    if (geteuid() != 0 || mount("tmpfs", dir, "tmpfs", 0, "size=1m") != 0) {
        print_message("no right to mount a small disk: skipped\n");
        free(text);
        kit_remove(dir);
        skip();
    }
    KIT_OK(pending_open(dir, &p, err));
    assert_int_equal(pending_write(p, text, 2 << 20, &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "free some space"));
    pending_abort(p);
    assert_int_equal(kit_count(dir), 0);
    KIT_OK(pending_put(dir, "f", text, 1000, PENDING_VOUCHED, &published, err));
    free(text);
    assert_int_equal(umount(dir), 0);
    kit_remove(dir);
}

struct race {
    const char *dir;
    const char *text;
    int made;
    int existed;
};

static void *race_work(void *ctx)
{
    struct race *race = ctx;

    for (int i = 0; i < 200; i++) {
        struct published published;
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        if (pending_put(race->dir, name, race->text, 3000, PENDING_VOUCHED, &published, NULL) ==
            SLUICE_OK) {
            race->made += !published.existed;
            race->existed += published.existed;
        }
    }
    return NULL;
}

static int race_process(void *ctx)
{
    struct race race = { ctx, kit_text(3000, 3), 0, 0 };

    race_work(&race);
    return race.made + race.existed == 200 ? 0 : 1;
}

/* Two processes and four threads put the same files: each exists once, and nobody fails. */
static void test_races(void **state)
{
    char *dir = kit_folder();
    char *text = kit_text(3000, 3);
    struct race races[4];
    pthread_t threads[4];
    pid_t pid;
    int status;
    int made = 0;

    (void)state;
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(race_process(dir));
    }
    for (int i = 0; i < 4; i++) {
        races[i] = (struct race){ dir, text, 0, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, race_work, &races[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(races[i].made + races[i].existed, 200);
        made += races[i].made;
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(made <= 200);
    assert_int_equal(kit_count(dir), 200);
    free(text);
    kit_remove(dir);
}

static void test_out_of_memory(void **state)
{
    char *dir = kit_folder();
    struct published published;
    sluice_status status;
    struct sluice_error e = ERROR_INIT;

    (void)state;
    ALLOC_EACH(status = pending_put(dir, "f", "text", 4, PENDING_VOUCHED, &published, &e),
               assert_int_equal(kit_temps(dir), 0));
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_name_taken),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_links_refused),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_crash_at_each_operation),
        cmocka_unit_test(test_failure_at_each_operation),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_races),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
