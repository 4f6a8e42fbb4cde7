/* store/appends: what manifests say of the runs and files that a dataset was put together from. */
#include "store_kit.h"

#include "store/appends.h"
#include "store/statcache.h"

static struct hash128 hash_of(char letter)
{
    return hash_bytes(&letter, 1);
}

static json_t *file_of(const char *reader, const char *name, uint64_t bytes, char letter)
{
    return appends_file(reader, name, bytes, hash_of(letter));
}

/* A snapshot of two runs: a (10 bytes of 'a'), b, then b again with other bytes and a name that is
 * no UTF-8. */
static struct snapshot *two_runs(void)
{
    struct snapshot *first = snapshot_create("d");
    struct snapshot *second = snapshot_create("d");
    json_t *files = json_pack("[o, o]", file_of("r", "a", 10, 'a'), file_of("r", "b", 20, 'b'));

    assert_false(appends_told(NULL));
    assert_false(appends_told(first));
    KIT_OK(appends_add(first, NULL, hash_of('1'), 7, files, err));
    json_decref(files);
    assert_true(appends_told(first));
    files = json_pack("[o, o]", file_of("r", "b", 20, 'B'), file_of("q", "\xff", 5, 'x'));
    KIT_OK(appends_add(second, first, hash_of('2'), 8, files, err));
    json_decref(files);
    assert_int_equal(appends_count(second), 2);
    assert_int_equal(appends_count(first), 1);
    assert_true(appends_hold(second, hash_of('1')) && appends_hold(second, hash_of('2')));
    assert_false(appends_hold(second, hash_of('3')) || appends_hold(first, hash_of('2')));
    snapshot_destroy(first);
    return second;
}

static enum appended_state look(const struct appended *all, const char *reader, const char *name,
                                uint64_t bytes, char letter)
{
    struct hash128 hash = hash_of(letter);
    enum appended_state state;

    KIT_OK(appended_look(all, reader, name, bytes, letter == 0 ? NULL : &hash, &state, err));
    return state;
}

static void test_look(void **state)
{
    struct snapshot *s = two_runs();
    struct appended all;

    (void)state;
    KIT_OK(appended_open(s, &all, err));
    snapshot_destroy(s); /* it stands on its own */
    assert_int_equal(all.n, 4);
    assert_int_equal(look(&all, "r", "a", 10, 0), APPENDED_LIKELY);
    assert_int_equal(look(&all, "r", "a", 10, 'a'), APPENDED_HELD);
    assert_int_equal(look(&all, "r", "b", 20, 'B'), APPENDED_HELD);
    assert_int_equal(look(&all, "r", "b", 20, 'b'), APPENDED_HELD);
    assert_int_equal(look(&all, "r", "b", 20, 'c'), APPENDED_CHANGED);
    assert_int_equal(look(&all, "r", "a", 11, 0), APPENDED_CHANGED);
    assert_int_equal(look(&all, "r", "c", 10, 'a'), APPENDED_NEW);
    /* Another reader's file of that name; one that nobody knows may be r under another name. */
    assert_int_equal(look(&all, "q", "a", 11, 0), APPENDED_NEW);
    assert_int_equal(look(&all, "q", "a", 10, 'a'), APPENDED_HELD);
    assert_int_equal(look(&all, "new", "a", 11, 0), APPENDED_CHANGED);
    assert_int_equal(look(&all, "new", "a", 10, 'a'), APPENDED_HELD);
    assert_int_equal(look(&all, "q", "\xff", 5, 'x'), APPENDED_HELD);
    assert_int_equal(look(&all, "q", "\xff", 6, 0), APPENDED_CHANGED);
    assert_int_equal(look(&all, "q", "\xfe", 5, 'x'), APPENDED_NEW);
    appended_deinit(&all);
}

/* A manifest that says nothing has no files; one that says nonsense is refused. */
static void test_open(void **state)
{
    static const char *const bad[] = {
        "{\"appends\":[{\"files\":[[\"r\",\"a\",1]]}]}",
        "{\"appends\":[{\"files\":[[\"r\",\"a\",-1,\"00000000000000000000000000000000\"]]}]}",
        "{\"appends\":[{\"files\":[[\"r\",\"a\",1,\"0\"]]}]}",
        "{\"appends\":[{\"files\":[[1,\"a\",1,\"00000000000000000000000000000000\"]]}]}",
        "{\"appends\":[{\"files\":[7]}]}",
    };
    struct snapshot *s = snapshot_create("d");
    struct appended all;

    (void)state;
    KIT_OK(appended_open(NULL, &all, err));
    assert_int_equal(all.n, 0);
    appended_deinit(&all);
    KIT_OK(appended_open(s, &all, err));
    assert_int_equal(look(&all, "r", "a", 10, 'a'), APPENDED_NEW);
    appended_deinit(&all);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sluice_error err = ERROR_INIT;
        s->lineage = json_loads(bad[i], 0, NULL);
        assert_int_equal(appended_open(s, &all, &err), SLUICE_E_DATA);
        assert_non_null(strstr(err.message, "reader, name, bytes and hash"));
        json_decref(s->lineage);
        s->lineage = NULL;
    }
    snapshot_destroy(s);
}

/* A file is hashed as it was listed; what changed since is said. */
static void test_hash(void **state)
{
    char *dir = kit_folder();
    const char *path = kit_path(dir, "a");
    struct listing_file file = { .path = path, .name = "a" };
    struct hash128 hash;
    struct sluice_error why = ERROR_INIT;
    bool found;

    (void)state;
    kit_write(path, "hello", 5);
    KIT_OK(store_stat(path, &file.version, &found, err));
    KIT_OK(appends_hash(NULL, &file, &hash, err));
    assert_true(hash_equal(hash, hash_bytes("hello", 5)));
    kit_write(path, "hello!", 6);
    assert_int_equal(appends_hash(NULL, &file, &hash, &why), SLUICE_E_DATA);
    assert_non_null(strstr(why.message, "it changed"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(appends_hash(NULL, &file, &hash, &why), SLUICE_E_DATA);
    assert_non_null(strstr(why.message, "it is gone"));
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
