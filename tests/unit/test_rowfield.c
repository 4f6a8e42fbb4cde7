/* core/cmd/dataset/rowfield and ids: a field of a row as the text of an id; lists of ids. */
#include "store_kit.h"

#include "cmd/dataset/ids.h"
#include "cmd/dataset/rowfield.h"

static void check(const char *row, const char *path, enum rowfield expected, const char *text)
{
    struct buf scratch = BUF_INIT;
    const char *found = NULL;
    size_t n = 0;
    /* What is read beyond the row is an error that a sanitizer sees. */
    char *copy = malloc(strlen(row) + (row[0] == '\0'));

    memcpy(copy, row, strlen(row));
    assert_int_equal(rowfield_find(copy, strlen(row), path, &scratch, &found, &n), expected);
    if (text != NULL) {
        assert_int_equal(n, strlen(text));
        assert_memory_equal(found, text, n);
    }
    buf_deinit(&scratch);
    free(copy);
}

static void test_fields(void **state)
{
    static const char row[] =
        " { \"a\" : [1, {\"id\": \"no\", \"x\": \"]}\\\"\"}], \"id\":\"x\\u0031\\\\\" ,\"n\": "
        "-12e3,"
        "\"big\":18446744073709551615, \"b\": true, \"z\": null, \"o\": {\"id\": \"in\", \"p\": "
        "{\"q\": 7}}, \"o.id2\": \"dots\", \"\\u0065sc\": \"e\" }";

    (void)state;
    check(row, "id", ROWFIELD_TEXT, "x1\\");
    check(row, "n", ROWFIELD_TEXT, "-12e3");
    check(row, "big", ROWFIELD_TEXT, "18446744073709551615");
    check(row, "o.id", ROWFIELD_TEXT, "in");
    check(row, "o.p.q", ROWFIELD_TEXT, "7");
    check(row, "o.id2", ROWFIELD_TEXT, "dots");
    check(row, "esc", ROWFIELD_TEXT, "e");
    check(row, "a", ROWFIELD_OTHER, NULL);
    check(row, "o", ROWFIELD_OTHER, NULL);
    check(row, "b", ROWFIELD_OTHER, NULL);
    check(row, "z", ROWFIELD_NONE, NULL);
    check(row, "x", ROWFIELD_NONE, NULL);
    check(row, "i", ROWFIELD_NONE, NULL);
    check(row, "id.x", ROWFIELD_NONE, NULL);
    check("{}", "id", ROWFIELD_NONE, NULL);
    check("{\"id\":\"\"}", "id", ROWFIELD_TEXT, "");
    check("{\"id\":1,\"id\":2}", "id", ROWFIELD_TEXT, "2");
}

static void test_no_rows(void **state)
{
    static const char *const bad[] = { "",
                                       "[]",
                                       "7",
                                       "{",
                                       "{\"id\"",
                                       "{\"id\":",
                                       "{\"id\":\"a",
                                       "{\"id\":\"a\\\"",
                                       "{\"id\":1",
                                       "{\"id\":{\"x\":1}",
                                       "{\"id\":}",
                                       "{\"id\" 1}",
                                       "{id:1}",
                                       "{\"id\":\"\\ud800\"}" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check(bad[i], "id", ROWFIELD_NO_JSON, NULL);
    }
}

static void test_ids(void **state)
{
    static const char text[] = "b\na b\nb\n\xc3\xa9\nb2\n";
    char *dir = kit_folder();
    char *path = disk_join(dir, "ids");
    FILE *file = fopen(path, "w");
    struct ids ids;

    (void)state;
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    KIT_OK(ids_read(path, &ids, err));
    assert_int_equal(ids.n, 4);
    assert_int_equal(ids.repeated, 1);
    assert_int_equal(ids_find(&ids, "a bc", 3), 0);
    assert_int_equal(ids_find(&ids, "b2", 1), 1);
    assert_int_equal(ids_find(&ids, "b2", 2), 2);
    assert_int_equal(ids_find(&ids, "\xc3\xa9", 2), 3);
    assert_int_equal(ids_find(&ids, "", 0), 4);
    assert_int_equal(ids_find(&ids, "b23", 3), 4);
    ids.found[1] = 3;
    ids_deinit(&ids);
    free(path);
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
