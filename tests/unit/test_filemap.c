/* store/filemap: one mapping of a file for all who want it; what happens to the file meanwhile. */
#include "store_kit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "store/filemap.h"

#define THREADS 8
#define TURNS 2000

struct taken {
    const void *data;
    uint64_t size;
};

static struct taken take(struct filemaps *maps, const char *path)
{
    struct taken taken = { NULL, 0 };

    KIT_OK(filemaps_take(maps, path, NULL, &taken.data, &taken.size, err));
    assert_non_null(taken.data);
    return taken;
}

static void expect_taken(struct taken taken, const char *text)
{
    assert_int_equal(taken.size, strlen(text));
    assert_memory_equal(taken.data, text, strlen(text));
}

static void release(struct filemaps *maps, struct taken taken)
{
    filemaps_release(maps, taken.data, taken.size);
}

/* How often this process has the file mapped. */
static int mapped(const char *path)
{
    FILE *in = fopen("/proc/self/maps", "r");
    char line[4096];
    int n = 0;

    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL) {
        n += strstr(line, path) != NULL;
    }
    fclose(in);
    return n;
}

static void test_shared(void **state)
{
    char *dir = kit_folder();
    struct filemaps *maps = filemaps_create();
    struct taken first;
    struct taken second;
    struct taken linked;

    (void)state;
    kit_write(kit_path(dir, "file"), "one file", 8);
    assert_int_equal(symlink("file", kit_path(dir, "soft")), 0);
    assert_int_equal(link(kit_path(dir, "file"), kit_path(dir, "hard")), 0);
    first = take(maps, kit_path(dir, "file"));
    second = take(maps, kit_path(dir, "soft"));
    linked = take(maps, kit_path(dir, "hard"));
    expect_taken(first, "one file");
    assert_ptr_equal(first.data, second.data);
    assert_ptr_equal(first.data, linked.data);
    assert_int_equal(mapped(kit_path(dir, "file")), 1);
    release(maps, first);
    release(maps, linked);
    expect_taken(second, "one file");
    release(maps, second);
    assert_int_equal(mapped(kit_path(dir, "file")), 0);
    expect_taken(first = take(maps, kit_path(dir, "file")), "one file");
    release(maps, first);
    filemaps_destroy(maps);
    kit_remove(dir);
}

/* Who took it before keeps what it took; who takes it now has what is there now. */
static void test_changes(void **state)
{
    char *dir = kit_folder();
    struct filemaps *maps = filemaps_create();
    const char *path = kit_path(dir, "file");
    struct taken before;
    struct taken replaced;
    struct taken longer;
    struct taken again;

    (void)state;
    kit_write(path, "before", 6);
    before = take(maps, path);
    kit_write(kit_path(dir, "new"), "behind", 6);
    assert_int_equal(rename(kit_path(dir, "new"), path), 0);
    replaced = take(maps, path);
    assert_ptr_not_equal(before.data, replaced.data);
    expect_taken(before, "before");
    expect_taken(replaced, "behind");

    kit_write(path, "behind and longer", 17);
    longer = take(maps, path);
    expect_taken(longer, "behind and longer");
    assert_int_equal(replaced.size, 6);

    assert_int_equal(unlink(path), 0);
    expect_taken(longer, "behind and longer");
    kit_write(path, "again", 5);
    again = take(maps, path);
    expect_taken(again, "again");
    expect_taken(before, "before");
    release(maps, before);
    release(maps, longer);
    release(maps, replaced);
    release(maps, again);
    assert_int_equal(mapped(dir), 0);
    filemaps_destroy(maps);
    kit_remove(dir);
}

static void test_empty(void **state)
{
    char *dir = kit_folder();
    struct filemaps *maps = filemaps_create();
    struct taken first;
    struct taken second;
    struct taken grown;

    (void)state;
    kit_write(kit_path(dir, "first"), "", 0);
    kit_write(kit_path(dir, "second"), "", 0);
    first = take(maps, kit_path(dir, "first"));
    second = take(maps, kit_path(dir, "second"));
    expect_taken(first, "");
    expect_taken(second, "");
    kit_write(kit_path(dir, "first"), "no more", 7);
    grown = take(maps, kit_path(dir, "first"));
    expect_taken(grown, "no more");
    expect_taken(first, "");
    release(maps, second);
    release(maps, first);
    expect_taken(grown, "no more");
    release(maps, grown);
    filemaps_destroy(maps);
    kit_remove(dir);
}

static void refuse(struct filemaps *maps, const char *path, sluice_status status, const char *words)
{
    struct sluice_error e = ERROR_INIT;
    const void *data = maps;
    uint64_t size;

    assert_int_equal(filemaps_take(maps, path, NULL, &data, &size, &e), status);
    assert_null(data);
    assert_int_equal(e.code, status);
    assert_non_null(strstr(e.message, words));
    assert_non_null(strstr(e.message, path));
}

static void test_refused(void **state)
{
    char *dir = kit_folder();
    struct filemaps *maps = filemaps_create();

    (void)state;
    refuse(maps, kit_path(dir, "absent"), SLUICE_E_CONFIG, "can't be opened");
    kit_write(kit_path(dir, "file"), "x", 1);
    refuse(maps, kit_path(dir, "file/x"), SLUICE_E_IO, "can't be opened");
    refuse(maps, dir, SLUICE_E_CONFIG, "is no file");
    assert_int_equal(mkfifo(kit_path(dir, "fifo"), 0600), 0);
    refuse(maps, kit_path(dir, "fifo"), SLUICE_E_CONFIG, "is no file"); /* and nothing waits */
    refuse(maps, "/dev/null", SLUICE_E_CONFIG, "is no file");
    filemaps_destroy(maps);
    kit_remove(dir);
}

/* In a child: 99 = the limit could not be set. */
static int map_much(void *ctx)
{
    const struct rlimit limit = { 1 << 30, 1 << 30 };
    struct filemaps *maps = filemaps_create();
    struct sluice_error e = ERROR_INIT;
    const void *data;
    uint64_t size;

    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        return 99;
    }
    return filemaps_take(maps, ctx, NULL, &data, &size, &e) == SLUICE_E_NOMEM && data == NULL &&
                   strstr(e.message, "there is no room to map") != NULL
               ? 0
               : 1;
}

static void test_no_room(void **state)
{
    char *dir = kit_folder();
    char *path = str_printf("%s/huge", dir);

    (void)state;
    kit_write(path, "", 0);
    if (truncate(path, (off_t)1 << 40) != 0) { /* not on this file system */
        free(path);
        kit_remove(dir);
        skip();
    }
    assert_int_equal(kit_child(map_much, path, NULL, NULL), 0);
    free(path);
    kit_remove(dir);
}

struct turns {
    struct filemaps *maps;
    const char *paths[2];
};

static void *take_and_release(void *ctx)
{
    const struct turns *turns = ctx;
    intptr_t wrong = 0;

    for (int k = 0; k < TURNS; k++) {
        const void *data;
        uint64_t size;
        if (filemaps_take(turns->maps, turns->paths[k % 2], NULL, &data, &size, NULL) !=
            SLUICE_OK) {
            wrong++;
            continue;
        }
        wrong += size != 7 || memcmp(data, k % 2 == 0 ? "file  0" : "file  1", 7) != 0;
        filemaps_release(turns->maps, data, size);
    }
    return (void *)wrong;
}

static void test_threads(void **state)
{
    char *dir = kit_folder();
    struct turns turns = { filemaps_create(), { kit_path(dir, "0"), kit_path(dir, "1") } };
    pthread_t threads[THREADS];

    (void)state;
    kit_write(turns.paths[0], "file  0", 7);
    kit_write(turns.paths[1], "file  1", 7);
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(pthread_create(&threads[k], NULL, take_and_release, &turns), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        void *wrong;
        pthread_join(threads[k], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(mapped(dir), 0);
    filemaps_destroy(turns.maps);
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),  cmocka_unit_test(test_changes),
        cmocka_unit_test(test_empty),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_room), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
