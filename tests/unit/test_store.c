/* store/store: what every place promises, held against each backend. */
#include "store_kit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "alloc_fail.h"
#include "store/store.h"
#include "store/temp.h"

static bool hostile;
static char *objects; /* what the hostile place keeps its objects in */

/* A place to work in. */
static char *place(void)
{
    if (!hostile) {
        return kit_folder();
    }
    objects = kit_folder();
    setenv("SLUICE_TEST_HOSTILE_ROOT", objects, 1);
    return str_printf("hostile://bucket/below");
}

static void place_remove(char *where)
{
    if (hostile) {
        kit_remove(objects);
        free(where);
    } else {
        kit_remove(where);
    }
}

static void check_text(const char *name, const char *text)
{
    struct buf data = BUF_INIT;

    KIT_OK(store_read_all(name, 1000, &data, NULL, err));
    assert_string_equal(buf_str(&data), text);
    buf_deinit(&data);
}

static void test_put_new(void **state)
{
    char *where = place();
    char *name = store_join(where, "leases/x/1");
    enum store_put outcome;
    struct buf data = BUF_INIT;
    bool found;

    (void)state;
    KIT_OK(store_read_all(name, 1000, &data, &found, err));
    assert_false(found);
    KIT_OK(store_put_new(name, "one", 3, STORE_LOOSE, &outcome, err));
    assert_int_equal(outcome, STORE_MADE);
    KIT_OK(store_put_new(name, "one", 3, 0, &outcome, err));
    assert_int_equal(outcome, STORE_EQUAL);
    KIT_OK(store_put_new(name, "two", 3, 0, &outcome, err));
    assert_int_equal(outcome, STORE_OTHER);
    KIT_OK(store_put_new(name, "longer", 6, 0, &outcome, err));
    assert_int_equal(outcome, STORE_OTHER);
    check_text(name, "one");
    KIT_OK(store_remove(name, err));
    KIT_OK(store_remove(name, err));
    KIT_OK(store_put_new(name, "", 0, 0, &outcome, err));
    assert_int_equal(outcome, STORE_MADE);
    check_text(name, "");
    buf_deinit(&data);
    free(name);
    place_remove(where);
}

struct racer {
    const char *name;
    char text[8];
    enum store_put outcome;
};

static void *race(void *arg)
{
    struct racer *racer = arg;

    KIT_OK(store_put_new(racer->name, racer->text, strlen(racer->text), STORE_LOOSE,
                         &racer->outcome, err));
    return NULL;
}

/* Of many that put other bytes at once one wins, and all the others see it. */
static void test_race(void **state)
{
    char *where = place();

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct racer racers[16];
        pthread_t threads[16];
        struct buf data = BUF_INIT;
        char number[8];
        char *name;
        int made = -1;
        snprintf(number, sizeof number, "%d", round);
        name = store_join(where, number);
        for (int i = 0; i < 16; i++) {
            racers[i] = (struct racer){ .name = name };
            snprintf(racers[i].text, sizeof racers[i].text, "r%d", i);
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        for (int i = 0; i < 16; i++) {
            pthread_join(threads[i], NULL);
        }
        KIT_OK(store_read_all(name, 100, &data, NULL, err));
        for (int i = 0; i < 16; i++) {
            bool mine = strcmp(buf_str(&data), racers[i].text) == 0;
            assert_true(mine == (racers[i].outcome != STORE_OTHER));
            made = racers[i].outcome != STORE_OTHER ? i : made;
        }
        assert_true(made >= 0);
        buf_deinit(&data);
        free(name);
    }
    place_remove(where);
}

struct putter {
    char *name;
    char text;
    atomic_bool done;
};

static void *put_often(void *arg)
{
    struct putter *putter = arg;

    for (int i = 0; i < 2000; i++) {
        enum store_put outcome;
        KIT_OK(store_put_new(putter->name, "1", 1, i % 20 == 0 ? 0 : STORE_LOOSE, &outcome, err));
        assert_int_equal(outcome, STORE_MADE);
        KIT_OK(store_remove(putter->name, err));
    }
    atomic_store(&putter->done, true);
    return NULL;
}

/* Whoever removes all that is in a folder, and the folder, takes no file in the making with it. */
static void test_swept_meanwhile(void **state)
{
    char *where = place();
    char *folder = store_join(where, "leases");
    struct putter putter = { .name = store_join(folder, "1") };
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, put_often, &putter), 0);
    while (!atomic_load(&putter.done)) {
        struct store_list list;
        KIT_OK(store_list(folder, STORE_DEEP, &list, err));
        for (size_t i = 0; i < list.n; i++) {
            char *path = store_join(folder, list.entries[i].name);
            KIT_OK(store_remove(path, err));
            free(path);
        }
        store_list_deinit(&list);
        if ((store_caps(folder) & STORE_FOLDERS) != 0) {
            KIT_OK(temp_drop(folder, err));
        }
    }
    pthread_join(thread, NULL);
    free(putter.name);
    free(folder);
    place_remove(where);
}

static void *put_and_remove(void *arg)
{
    struct putter *putter = arg;
    const char text = putter->text;

    for (int i = 0; i < 2000; i++) {
        enum store_put outcome;
        KIT_OK(store_put_new(putter->name, &text, 1, STORE_LOOSE, &outcome, err));
        KIT_OK(store_remove(putter->name, err));
    }
    return NULL;
}

/* What is there when it is put, and gone when it is compared, was never there. */
static void test_removed_meanwhile(void **state)
{
    char *where = place();
    struct putter putters[3];
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        putters[i] = (struct putter){ .name = store_join(where, "1"), .text = (char)('0' + i % 2) };
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_remove, &putters[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        free(putters[i].name);
    }
    place_remove(where);
}

static void *replace_often(void *arg)
{
    struct putter *putter = arg;

    for (int i = 0; i < 2000; i++) {
        KIT_OK(store_replace(putter->name, i % 2 == 0 ? "1" : "twenty", i % 2 == 0 ? 1 : 6,
                             STORE_LOOSE, err));
    }
    atomic_store(&putter->done, true);
    return NULL;
}

/* What is replaced again and again is read as one of those it was. */
static void test_replaced_meanwhile(void **state)
{
    char *where = place();
    struct putter putter = { .name = store_join(where, "beat") };
    pthread_t thread;

    (void)state;
    KIT_OK(store_replace(putter.name, "1", 1, STORE_LOOSE, err));
    assert_int_equal(pthread_create(&thread, NULL, replace_often, &putter), 0);
    while (!atomic_load(&putter.done)) {
        struct buf text = BUF_INIT;
        bool found;
        KIT_OK(store_read_all(putter.name, 10, &text, &found, err));
        assert_true(found);
        assert_true((text.size == 1 && text.data[0] == '1') ||
                    (text.size == 6 && memcmp(text.data, "twenty", 6) == 0));
        buf_deinit(&text);
    }
    pthread_join(thread, NULL);
    free(putter.name);
    place_remove(where);
}

static void test_replace(void **state)
{
    char *where = place();
    char *name = store_join(where, "a/beat");
    struct store_version version;
    struct store_version later;
    bool found;
    bool done;

    (void)state;
    KIT_OK(store_replace(name, "1", 1, STORE_LOOSE, err));
    check_text(name, "1");
    KIT_OK(store_replace(name, "twenty", 6, 0, err));
    check_text(name, "twenty");
    KIT_OK(store_stat(name, &version, &found, err));
    assert_true(found);
    assert_int_equal(version.size, 6);
    /* Where a version is the bytes' hash, it may come back; not here. */
    if ((store_caps(name) & STORE_REPLACE_IF) != 0) {
        KIT_OK(store_replace_if(name, &version, "three", 5, &done, err));
        assert_true(done);
        check_text(name, "three");
        KIT_OK(store_replace_if(name, &version, "four", 4, &done, err));
        assert_false(done);
        check_text(name, "three");
        KIT_OK(store_stat(name, &later, &found, err));
        assert_false(store_version_equal(&version, &later));
    }
    KIT_OK(store_replace_if(name, NULL, "five", 4, &done, err));
    assert_false(done);
    KIT_OK(store_remove(name, err));
    KIT_OK(store_replace_if(name, NULL, "five", 4, &done, err));
    assert_true(done);
    check_text(name, "five");
    free(name);
    place_remove(where);
}

static void test_read(void **state)
{
    char *where = place();
    char *name = store_join(where, "file");
    char *text = kit_text(300000, 3);
    char a[10];
    char b[100];
    char c[10];
    struct store_extent extents[] = { { 5, sizeof a, a, 0 },
                                      { 299990, sizeof b, b, 0 },
                                      { 400000, sizeof c, c, 0 } };
    struct store_file *file;
    struct store_version version;
    struct hash128 hash;
    uint64_t bytes;
    struct buf data = BUF_INIT;
    struct sluice_error e = ERROR_INIT;

    (void)state;
    KIT_OK(store_replace(name, text, 300000, STORE_LOOSE, err));
    KIT_OK(store_open(name, &file, NULL, err));
    assert_string_equal(store_name(file), name);
    assert_int_equal(store_version(file)->size, 300000);
    KIT_OK(store_read(file, extents, 3, err));
    assert_int_equal(extents[0].got, 10);
    assert_memory_equal(a, text + 5, 10);
    assert_int_equal(extents[1].got, 10);
    assert_memory_equal(b, text + 299990, 10);
    assert_int_equal(extents[2].got, 0);
    KIT_OK(store_look(file, &version, err));
    assert_true(store_version_equal(&version, store_version(file)));
    store_close(file);
    KIT_OK(store_hash(name, &bytes, &hash, NULL, err));
    assert_int_equal(bytes, 300000);
    assert_true(hash_equal(hash, hash_bytes(text, 300000)));
    KIT_OK(store_read_all(name, 300000, &data, NULL, err));
    assert_int_equal(data.size, 300000);
    assert_int_equal(store_read_all(name, 299999, &data, NULL, &e), SLUICE_E_DATA);
    buf_deinit(&data);
    free(name);
    name = store_join(where, "absent");
    assert_int_equal(store_open(name, &file, NULL, &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "absent"));
    free(text);
    free(name);
    place_remove(where);
}

static void put(const char *where, const char *name)
{
    char *path = store_join(where, name);
    enum store_put outcome;

    KIT_OK(store_put_new(path, name, strlen(name), STORE_LOOSE, &outcome, err));
    free(path);
}

static void check_list(const char *where, const char *folder, unsigned flags, const char *expected)
{
    char *path = store_join(where, folder);
    struct store_list list;
    struct buf text = BUF_INIT;

    KIT_OK(store_list(path, flags, &list, err));
    for (size_t i = 0; i < list.n; i++) {
        buf_printf(&text, "%s%s ", list.entries[i].name, list.entries[i].folder ? "/" : "");
        if ((flags & STORE_VERSIONS) != 0 && !list.entries[i].folder) {
            char *name = store_join(path, list.entries[i].name);
            struct store_version version;
            bool found;
            KIT_OK(store_stat(name, &version, &found, err));
            assert_true(found && store_version_equal(&version, &list.entries[i].version));
            free(name);
        }
    }
    assert_string_equal(buf_str(&text), expected);
    buf_deinit(&text);
    store_list_deinit(&list);
    free(path);
}

static void test_list(void **state)
{
    char *where = place();

    (void)state;
    check_list(where, "t", STORE_VERSIONS, "");
    put(where, "t/b");
    put(where, "t/a/x");
    put(where, "t/a/y/z");
    put(where, "t/a.txt");
    put(where, "tt");
    check_list(where, "t", STORE_VERSIONS, "a/ a.txt b ");
    check_list(where, "t", STORE_VERSIONS | STORE_DEEP, "a.txt a/x a/y/z b ");
    check_list(where, "t/a", STORE_DEEP, "x y/z ");
    check_list(where, "none", STORE_DEEP, "");
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "many/%03d", i);
        put(where, name);
    }
    {
        char *many = store_join(where, "many");
        struct store_list list;
        KIT_OK(store_list(many, 0, &list, err));
        assert_int_equal(list.n, 300);
        for (size_t i = 0; i < 300; i++) {
            assert_int_equal(strtoul(list.entries[i].name, NULL, 10), i);
        }
        store_list_deinit(&list);
        free(many);
    }
    place_remove(where);
}

static void test_version_text(void **state)
{
    static const char *const good[] = { "0 0 0", "12 -5 7", "18446744073709551615 1 2", "3 abc",
                                        "3 12" };
    static const char *const bad[] = {
        "",       "1",     "1 ",      "01 2 3", "1  2",
        "1 2 3 ", "x 2 3", "1 2 3 4", "+1 2 3", "18446744073709551616 1 2",
        "-1 a",   "1 a\tb"
    };
    struct store_version v;
    char text[STORE_VERSION_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(store_version_parse(good[i], strlen(good[i]), &v));
        assert_string_equal(store_version_print(&v, text), good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(store_version_parse(bad[i], strlen(bad[i]), &v));
    }
}

static void parent_is(const char *name, const char *folder, const char *rest)
{
    const char *last;
    char *parent = store_parent(name, &last);

    assert_string_equal(parent, folder);
    assert_string_equal(last, rest);
    free(parent);
}

static void test_names(void **state)
{
    struct sluice_error e = ERROR_INIT;
    struct store_file *file;
    enum store_put outcome;

    (void)state;
    assert_true(store_is_local("/a/b"));
    assert_true(store_is_local("a:b//c"));
    assert_true(store_is_local("x/y://z"));
    assert_false(store_is_local("s3://b/k"));
    parent_is("a", ".", "a");
    parent_is("/a", "/", "a");
    parent_is("/a/b", "/a", "b");
    parent_is("a/b/", "a/b", "");
    parent_is("hostile://a", "hostile://", "a");
    parent_is("hostile://a/b/c", "hostile://a/b", "c");
    assert_int_equal(store_root("/a"), 0);
    assert_int_equal(store_root("s3://bucket/k"), 11);
    assert_int_equal(store_caps("nosuch://a"), 0);
    assert_int_equal(store_check("nosuch://a", &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "nosuch://"));
    assert_int_equal(store_open("nosuch://a", &file, NULL, &e), SLUICE_E_CONFIG);
    assert_int_equal(store_put_new("nosuch://a", "", 0, 0, &outcome, &e), SLUICE_E_CONFIG);
    assert_int_equal(store_put_new(NULL, "", 0, 0, &outcome, &e), SLUICE_E_NOMEM);
}

/* What a process that dies leaves of a file that it creates: nothing under the name, or all of
 * it. */
static void test_killed(void **state)
{
    (void)state;
    for (int at = 1; at < 12; at++) {
        char *where = place();
        char *name = store_join(where, "d/file");
        char number[16];
        struct buf data = BUF_INIT;
        bool found;
        pid_t pid = fork();
        if (pid == 0) {
            enum store_put outcome;
            snprintf(number, sizeof number, "%d:half", at);
            setenv("SLUICE_TEST_KILL", number, 1);
            disk_hooks_reload();
            _exit(store_put_new(name, "whole", 5, 0, &outcome, NULL) == SLUICE_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        KIT_OK(store_read_all(name, 100, &data, &found, err));
        if (found) {
            assert_string_equal(buf_str(&data), "whole");
        }
        buf_deinit(&data);
        free(name);
        place_remove(where);
    }
}

static void test_no_memory(void **state)
{
    char *where = place();
    char *name = store_join(where, "f/x");

    (void)state;
    for (unsigned at = 1; at < 200; at++) {
        struct sluice_error e = ERROR_INIT;
        enum store_put outcome;
        struct store_list list;
        struct buf data = BUF_INIT;
        sluice_status status;
        alloc_arm(at - 1, false);
        status = store_put_new(name, "text", 4, STORE_LOOSE, &outcome, &e);
        if (status == SLUICE_OK) {
            status = store_read_all(name, 100, &data, NULL, &e);
        }
        if (status == SLUICE_OK) {
            status = store_list(where, STORE_DEEP, &list, &e);
            if (status == SLUICE_OK) {
                store_list_deinit(&list);
            }
        }
        (void)alloc_disarm();
        buf_deinit(&data);
        /* Of opendir's own memory the errno is all that tells. */
        if (status != SLUICE_OK && status != SLUICE_E_NOMEM &&
            strstr(e.message, "list folder") == NULL) {
            fail_msg("allocation %u: status %d: %s", at, (int)status, e.message);
        }
        KIT_OK(store_remove(name, err));
    }
    free(name);
    place_remove(where);
}

/* Whatever happens to requests: what was put first stays, and who put it first knows that; who
 * comes later knows that it is there, if not always that it was there before. */
static void put_faulty(const char *seed)
{
    char *where = place();
    /* A name of its own: a request of the last round may still be on its way. */
    char *name = store_join(where, seed);
    enum store_put outcome;

    KIT_OK(store_put_new(name, "one", 3, 0, &outcome, err));
    assert_int_equal(outcome, STORE_MADE);
    for (int i = 0; i < 20; i++) {
        KIT_OK(store_put_new(name, "two", 3, 0, &outcome, err));
        assert_int_equal(outcome, STORE_OTHER);
        KIT_OK(store_put_new(name, "one", 3, 0, &outcome, err));
        assert_int_not_equal(outcome, STORE_OTHER);
    }
    check_text(name, "one");
    free(name);
    place_remove(where);
}

static void test_faults(void **state)
{
    char seed[24];

    for (int i = 1; i < 60; i++) {
        snprintf(seed, sizeof seed, "%d:%d", i, 2 + i % 5);
        setenv("SLUICE_TEST_HOSTILE", seed, 1);
        put_faulty(seed);
        test_read(state);
    }
    setenv("SLUICE_TEST_HOSTILE", "3:4", 1);
    test_race(state);
    unsetenv("SLUICE_TEST_HOSTILE");
}

/* A place that answers nothing but refusals is given up, with a count and no waiting. */
static void test_refused(void **state)
{
    char *where = place();
    char *name = store_join(where, "x");
    struct sluice_error e = ERROR_INIT;
    struct store_list list;
    enum store_put outcome;
    bool found;
    struct store_version version;
    sluice_status status;

    (void)state;
    setenv("SLUICE_TEST_HOSTILE", "1:1", 1);
    status = store_put_new(name, "x", 1, 0, &outcome, &e);
    assert_true(status == SLUICE_OK || status == SLUICE_E_IO);
    for (int i = 0; i < 100 && store_stat(name, &version, &found, &e) == SLUICE_OK; i++) {
        /* Three of four faults of a look are none. */
    }
    if (store_list(where, 0, &list, &e) == SLUICE_OK) {
        store_list_deinit(&list);
    }
    unsetenv("SLUICE_TEST_HOSTILE");
    free(name);
    place_remove(where);
}

int main(void)
{
    int failed = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_new),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_swept_meanwhile),
        cmocka_unit_test(test_removed_meanwhile),
        cmocka_unit_test(test_replaced_meanwhile),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_version_text),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_no_memory),
    };

    const struct CMUnitTest faults[] = { cmocka_unit_test(test_faults),
                                         cmocka_unit_test(test_refused) };

    failed += cmocka_run_group_tests_name("disk", tests, NULL, NULL);
    hostile = true;
    failed += cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("faults", faults, NULL, NULL);
    return failed;
}
