/* store/disk: the helpers and the test hooks themselves. */
#include "store_kit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>

#include "store/disk.h"
#include "store/store.h"

static void test_mkdirs(void **state)
{
    char *dir = kit_folder();
    struct sluice_error e = ERROR_INIT;

    (void)state;
    KIT_OK(disk_mkdirs(kit_path(dir, "a/b//c/"), err));
    assert_true(kit_there(kit_path(dir, "a/b/c")));
    KIT_OK(disk_mkdirs(kit_path(dir, "a/b/c"), err));
    KIT_OK(disk_mkdirs("/", err));
    kit_write(kit_path(dir, "file"), "x", 1);
    assert_int_equal(disk_mkdirs(kit_path(dir, "file/x"), &e), SLUICE_E_IO);
    assert_int_equal(disk_mkdirs(kit_path(dir, "file"), &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "something else has this name"));
    kit_remove(dir);
}

static int mkdirs_work(void *ctx)
{
    return chdir(ctx) == 0 ? disk_mkdirs("x/y", NULL) : 99;
}

static void test_mkdirs_relative(void **state)
{
    char *dir = kit_folder();

    (void)state;
    assert_int_equal(kit_child(mkdirs_work, dir, NULL, NULL), 0);
    assert_true(kit_there(kit_path(dir, "x/y")));
    kit_remove(dir);
}

static void test_read_file(void **state)
{
    char *dir = kit_folder();
    struct buf text = BUF_INIT;
    struct sluice_error e = ERROR_INIT;
    bool found = true;

    (void)state;
    KIT_OK(disk_read_file(kit_path(dir, "absent"), 10, &text, &found, err));
    assert_false(found);
    assert_int_equal(disk_read_file(kit_path(dir, "absent"), 10, &text, NULL, &e), SLUICE_E_IO);
    kit_write(kit_path(dir, "file"), "0123456789", 10);
    buf_puts(&text, "<");
    KIT_OK(disk_read_file(kit_path(dir, "file"), 10, &text, &found, err));
    assert_true(found);
    assert_string_equal(buf_str(&text), "<0123456789");
    buf_clear(&text);
    assert_int_equal(disk_read_file(kit_path(dir, "file"), 9, &text, &found, &e), SLUICE_E_DATA);
    buf_clear(&text);
    assert_int_equal(disk_read_file(dir, 9, &text, &found, &e), SLUICE_E_CONFIG);
    assert_int_equal(mkfifo(kit_path(dir, "fifo"), 0600), 0);
    assert_int_equal(disk_read_file(kit_path(dir, "fifo"), 9, &text, &found, &e), SLUICE_E_CONFIG);
    /* A size that stat() does not know. */
    buf_clear(&text);
    KIT_OK(disk_read_file("/proc/self/status", 1 << 20, &text, &found, err));
    assert_true(text.size > 100);
    assert_int_equal(disk_read_file("/proc/self/status", 50, &text, &found, &e), SLUICE_E_DATA);
    buf_deinit(&text);
    kit_remove(dir);
}

static void test_hash_and_stat(void **state)
{
    char *dir = kit_folder();
    char *text = kit_text(3000000, 1);
    uint64_t bytes;
    struct hash128 hash;
    bool found;

    (void)state;
    kit_write(kit_path(dir, "file"), text, 3000000);
    KIT_OK(disk_hash_file(kit_path(dir, "file"), &bytes, &hash, &found, err));
    assert_int_equal(bytes, 3000000);
    assert_true(hash_equal(hash, hash_bytes(text, 3000000)));
    KIT_OK(disk_hash_file(kit_path(dir, "absent"), &bytes, &hash, &found, err));
    assert_false(found);
    assert_int_equal(disk_hash_file(kit_path(dir, "absent"), &bytes, &hash, NULL, NULL),
                     SLUICE_E_IO);
    KIT_OK(store_size(kit_path(dir, "file"), &bytes, &found, err));
    assert_true(found && bytes == 3000000);
    KIT_OK(store_size(dir, &bytes, &found, err));
    assert_false(found);
    KIT_OK(store_size(kit_path(dir, "file/below"), &bytes, &found, err));
    assert_false(found);
    free(text);
    kit_remove(dir);
}

static void test_list_and_names(void **state)
{
    static const char *const made[] = { "b", "a", "C", "a0", ".x" };
    static const char *const expected[] = { ".x", "C", "a", "a0", "b" };
    char *dir = kit_folder();
    static const char *const bad[] = { "",     "/",  "/a",     "a/",  "a//b", ".",
                                       "a/.b", "..", "a/../b", "./a", ".a/b", "a/b\nc" };
    char long_name[202];
    char deep[1100];
    struct disk_names names;
    char *path;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        kit_write(kit_path(dir, made[i]), "", 0);
    }
    KIT_OK(disk_list(dir, &names, err));
    assert_int_equal(names.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(names.names[i], expected[i]);
    }
    disk_names_deinit(&names);
    KIT_OK(disk_list(kit_path(dir, "absent"), &names, err));
    assert_int_equal(names.n, 0);
    assert_int_equal(disk_list(kit_path(dir, "a"), &names, NULL), SLUICE_E_IO);
    KIT_OK(disk_list(kit_path(dir, "a/below"), &names, err));
    assert_int_equal(names.n, 0);
    path = disk_join("x/", "y");
    assert_string_equal(path, "x/y");
    free(path);
    memset(long_name, 'n', 201);
    long_name[201] = '\0';
    assert_false(disk_name_valid(long_name));
    long_name[200] = '\0';
    assert_true(disk_name_valid(long_name));
    assert_true(disk_name_valid("part-00000.jsonl.zst"));
    assert_false(disk_name_valid(""));
    assert_false(disk_name_valid("."));
    assert_false(disk_name_valid("../x"));
    assert_false(disk_name_valid("a/b"));
    assert_false(disk_name_valid("a\nb"));
    assert_true(disk_path_valid("a"));
    assert_true(disk_path_valid("a/b c/d.json.gz"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(disk_path_valid(bad[i]));
    }
    assert_true(disk_path_valid(long_name));
    long_name[200] = 'n';
    assert_false(disk_path_valid(long_name));
    memset(deep, 'd', sizeof deep);
    for (size_t i = 100; i < sizeof deep; i += 100) {
        deep[i] = '/';
    }
    deep[1001] = '\0';
    assert_false(disk_path_valid(deep));
    deep[999] = '\0';
    assert_true(disk_path_valid(deep));
    kit_remove(dir);
}

/* Six operations: open, write, sync, link, unlink, sync_dir. */
static int six_operations(void *ctx)
{
    const char *dir = ctx;
    int fd;
    int status = 0;
    struct sluice_error e = ERROR_INIT;

    if (disk_open(kit_path(dir, "t"), O_WRONLY | O_CREAT | O_EXCL, &fd) != 0) {
        return 1;
    }
    status |= disk_write_all(fd, "t", "0123456789", 10, &e) != SLUICE_OK ? 2 : 0;
    status |= disk_sync(fd, kit_path(dir, "t")) != 0 ? 4 : 0;
    status |= disk_link(kit_path(dir, "t"), kit_path(dir, "f")) != 0 ? 8 : 0;
    status |= disk_unlink(kit_path(dir, "t")) != 0 ? 16 : 0;
    status |= disk_sync_dir(dir, &e) != SLUICE_OK ? 32 : 0;
    if (e.code != SLUICE_OK && strstr(e.message, "free some space") != NULL) {
        status |= 64;
    }
    close(fd);
    return status;
}

static void test_kill_points(void **state)
{
    static const struct {
        const char *when;
        bool temp;
        int64_t size; /* of t or f; -1 = neither is there */
        bool final;
    } cases[] = { { "1", false, -1, false },      { "1:after", true, 0, false },
                  { "2:half", true, 5, false },   { "2:after", true, 10, false },
                  { "4:half", true, 10, false },  { "4:after", true, 10, true },
                  { "5:after", false, 10, true }, { "6", false, 10, true } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *dir = kit_folder();
        struct stat st;
        assert_int_equal(kit_child(six_operations, dir, "SLUICE_TEST_KILL", cases[i].when),
                         -SIGKILL);
        assert_int_equal(kit_there(kit_path(dir, "t")), cases[i].temp);
        assert_int_equal(kit_there(kit_path(dir, "f")), cases[i].final);
        if (cases[i].size >= 0) {
            assert_int_equal(stat(kit_path(dir, cases[i].temp ? "t" : "f"), &st), 0);
            assert_int_equal(st.st_size, cases[i].size);
        }
        kit_remove(dir);
    }
    {
        char *dir = kit_folder();
        assert_int_equal(kit_child(six_operations, dir, "SLUICE_TEST_KILL", "7"), 0);
        kit_clear(dir);
        assert_int_equal(mkdir(dir, 0700), 0);
        assert_int_equal(kit_child(six_operations, dir, "SLUICE_TEST_KILL_SEED", "5:6"), -SIGKILL);
        kit_remove(dir);
    }
}

static void test_injected_failures(void **state)
{
    static const struct {
        const char *what;
        int expected;
    } cases[] = { { "1:EIO", 1 },         { "2:ENOSPC", 2 | 64 },
                  { "3:5", 4 },           { "4+:EDQUOT", 8 | 16 | 32 | 64 },
                  { "link:EPERM", 8 },    { "sync_dir:EIO", 32 },
                  { "rename:EPERM", 0 },  { "9:EIO", 0 },
                  { "write:ENOSPC", 66 }, { "open:EACCES", 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *dir = kit_folder();
        assert_int_equal(kit_child(six_operations, dir, "SLUICE_TEST_FAIL", cases[i].what),
                         cases[i].expected);
        kit_remove(dir);
    }
}

/* What the log's replay leaves, for each prefix of the six operations: bytes of t and f, -1 =
 * absent. */
static void test_log_and_replay(void **state)
{
    static const int expected[7][3][2] = {
        /* lost       torn         all */
        { { -1, -1 }, { -1, -1 }, { -1, -1 } }, { { -1, -1 }, { 0, -1 }, { 0, -1 } },
        { { -1, -1 }, { 0, -1 }, { 10, -1 } },  { { -1, -1 }, { 10, -1 }, { 10, -1 } },
        { { -1, -1 }, { 10, 10 }, { 10, 10 } }, { { -1, -1 }, { -1, 10 }, { -1, 10 } },
        { { -1, 10 }, { -1, 10 }, { -1, 10 } },
    };
    static const char *const modes[] = { "lost", "torn", "all" };
    static const char *const names[] = { "t", "f" };
    char *dir = kit_folder();
    char *out = kit_folder();
    char *log = str_printf("%s/log", out);
    char *command =
        str_printf("python3 tests/crash/replay.py %s/log %s %s/trees >%s/n", out, dir, out, out);
    struct buf n;

    (void)state;
    assert_int_equal(kit_child(six_operations, dir, "SLUICE_TEST_OPLOG", log), 0);
    assert_int_equal(system(command), 0);
    n = kit_read(kit_path(out, "n"));
    assert_string_equal(buf_str(&n), "6\n");
    for (int k = 0; k <= 6; k++) {
        for (int m = 0; m < 3; m++) {
            for (int f = 0; f < 2; f++) {
                char path[300];
                struct stat st;
                snprintf(path, sizeof path, "%s/trees/%d-%s/%s", out, k, modes[m], names[f]);
                assert_int_equal(stat(path, &st) == 0 ? (int)st.st_size : -1, expected[k][m][f]);
            }
        }
    }
    buf_deinit(&n);
    free(log);
    free(command);
    kit_remove(dir);
    kit_remove(out);
}

/* A real full disk, where a small one can be had. */
static void test_full_disk(void **state)
{
    char *dir = kit_folder();
    char *data = calloc(1, 2 << 20);
    struct sluice_error e = ERROR_INIT;
    int fd;

    (void)state;
    if (geteuid() != 0 || mount("tmpfs", dir, "tmpfs", 0, "size=1m") != 0) {
        print_message("no right to mount a small disk: skipped\n");
        free(data);
        kit_remove(dir);
        skip();
    }
    assert_int_equal(disk_open(kit_path(dir, "f"), O_WRONLY | O_CREAT, &fd), 0);
    assert_int_equal(disk_write_all(fd, kit_path(dir, "f"), data, 2 << 20, &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "No space left"));
    assert_non_null(strstr(e.message, "free some space"));
    close(fd);
    free(data);
    assert_int_equal(umount(dir), 0);
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mkdirs),
        cmocka_unit_test(test_mkdirs_relative),
        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_hash_and_stat),
        cmocka_unit_test(test_list_and_names),
        cmocka_unit_test(test_kill_points),
        cmocka_unit_test(test_injected_failures),
        cmocka_unit_test(test_log_and_replay),
        cmocka_unit_test(test_full_disk),
    };

    return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
