/* run/asks/journal: what was added is there for others and after a cut anywhere; nothing that is
 * damaged is believed; several processes write side by side. */
#include "store_kit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "run/asks/journal.h"
#include "run/asks/journal_record.h"
#include "store/store.h"
#include "store/diskInt.h"

#define PADDING 64

static char said[2000]; /* by warn */

static void warn(void *ctx, const char *message)
{
    (void)ctx;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", message);
}

static struct journal *open_at(const char *dir)
{
    struct journal *journal;

    said[0] = '\0';
    KIT_OK(journal_open(dir, warn, NULL, &journal, err));
    return journal;
}

static struct hash128 key_of(uint32_t k)
{
    return hash_bytes(&k, sizeof k);
}

static struct journal_answer answer_of(uint32_t k, char *body, size_t size)
{
    struct journal_answer answer = { .code = k % 3 == 0 ? 404 : 200, .refused = k % 3 == 0 };

    snprintf(answer.type, sizeof answer.type, "%s", k % 2 == 0 ? "application/json" : "");
    snprintf(body, size, "{\"n\":%u}%.*s", k, (int)(k % 40),
             "........................................");
    answer.body = body;
    answer.body_n = k % 7 == 0 ? 0 : strlen(body);
    return answer;
}

static void add(struct journal *journal, uint32_t k)
{
    char body[100];
    struct journal_answer answer = answer_of(k, body, sizeof body);

    KIT_OK(journal_add(journal, key_of(k), &answer, err));
}

static bool has(struct journal *journal, uint32_t k)
{
    char body[100];
    struct journal_answer expected = answer_of(k, body, sizeof body);
    struct journal_answer answer;
    static const char zeros[PADDING];
    bool found;

    KIT_OK(journal_read(journal, key_of(k), &found, &answer, err));
    assert_int_equal(found, journal_knows(journal, key_of(k)));
    if (!found) {
        return false;
    }
    assert_int_equal(answer.code, expected.code);
    assert_int_equal(answer.refused, expected.refused);
    assert_string_equal(answer.type, expected.type);
    assert_int_equal(answer.body_n, expected.body_n);
    assert_memory_equal(answer.body, expected.body, expected.body_n);
    assert_memory_equal(answer.body + answer.body_n, zeros, PADDING);
    free(answer.body);
    return true;
}

/* The only file below dir. */
static const char *only_file(const char *dir)
{
    struct disk_names names;
    const char *path;

    KIT_OK(disk_list(dir, &names, err));
    assert_int_equal(names.n, 1);
    path = kit_path(dir, names.names[0]);
    disk_names_deinit(&names);
    return path;
}

static void test_kept(void **state)
{
    char *dir = kit_folder();
    const char *answers = kit_path(dir, "a/answers");
    struct journal *journal = open_at(answers);

    (void)state;
    KIT_OK(journal_sync(journal, err)); /* nothing to be synced, and no file is made */
    assert_false(kit_there(answers));
    for (uint32_t k = 0; k < 3000; k++) { /* the index grows */
        assert_false(journal_knows(journal, key_of(k)));
        add(journal, k);
        assert_true(journal_knows(journal, key_of(k)));
    }
    KIT_OK(journal_sync(journal, err));
    KIT_OK(journal_sync(journal, err));
    KIT_OK(journal_look(journal, err)); /* its own file is no other's */
    for (uint32_t k = 0; k < 3000; k++) {
        assert_true(has(journal, k));
    }
    assert_false(has(journal, 3000));
    journal_close(journal);
    journal_close(NULL);
    journal = open_at(answers);
    assert_string_equal(said, "");
    for (uint32_t k = 0; k < 3000; k++) {
        assert_true(has(journal, k));
    }
    add(journal, 3000); /* a file of its own, beside */
    journal_close(journal);
    assert_int_equal(kit_count(answers), 2);
    kit_remove(dir);
}

/* The first answer to an ask stays. */
static void test_duplicates(void **state)
{
    char *dir = kit_folder();
    struct journal *a = open_at(dir);
    struct journal *b;
    struct journal_answer other = { .code = 201, .body = (char *)"other", .body_n = 5 };

    (void)state;
    add(a, 1);
    KIT_OK(journal_add(a, key_of(1), &other, err));
    assert_true(has(a, 1));
    add(a, 2);
    journal_close(a);
    b = open_at(dir);
    assert_true(has(b, 1) && has(b, 2));
    KIT_OK(journal_add(b, key_of(1), &other, err));
    assert_true(has(b, 1));
    journal_close(b);
    kit_remove(dir);
}

/* Wherever a file ends, what is whole before that is there, and nothing else. */
static void test_cut(void **state)
{
    char *dir = kit_folder();
    char *from = str_printf("%s/whole", dir);
    char *to = str_printf("%s/cut", dir);
    struct journal *journal = open_at(from);
    size_t ends[6] = { 0 };
    struct buf whole;

    (void)state;
    for (uint32_t k = 0; k < 5; k++) {
        add(journal, k);
        whole = kit_read(only_file(from));
        ends[k + 1] = whole.size;
        buf_deinit(&whole);
    }
    journal_close(journal);
    whole = kit_read(only_file(from));
    assert_int_equal(mkdir(to, 0777), 0);
    for (size_t n = 0; n <= whole.size; n++) {
        bool at_end = false;
        kit_write(kit_path(to, "1.answers"), whole.data, n);
        journal = open_at(to);
        for (uint32_t k = 0; k < 5; k++) {
            assert_int_equal(has(journal, k), ends[k + 1] <= n);
            at_end = at_end || ends[k + 1] == n;
        }
        assert_int_equal(strstr(said, "1.answers is cut or damaged from byte") != NULL,
                         !at_end && n > 0);
        journal_close(journal);
    }
    buf_deinit(&whole);
    free(from);
    free(to);
    kit_remove(dir);
}

/* Whichever byte is another: nothing of its record, nor behind it, and what comes before is. */
static void test_flipped(void **state)
{
    char *dir = kit_folder();
    char *from = str_printf("%s/whole", dir);
    char *to = str_printf("%s/other", dir);
    struct journal *journal = open_at(from);
    size_t first;
    struct buf whole;

    (void)state;
    add(journal, 8);
    whole = kit_read(only_file(from));
    first = whole.size;
    buf_deinit(&whole);
    add(journal, 9);
    journal_close(journal);
    whole = kit_read(only_file(from));
    assert_int_equal(mkdir(to, 0777), 0);
    for (size_t at = 0; at < whole.size; at++) {
        whole.data[at] ^= (char)(1 << at % 8);
        kit_write(kit_path(to, "1.answers"), whole.data, whole.size);
        whole.data[at] ^= (char)(1 << at % 8);
        journal = open_at(to);
        assert_int_equal(has(journal, 8), at >= first);
        assert_false(has(journal, 9));
        assert_non_null(strstr(said, "damaged"));
        journal_close(journal);
    }
    buf_deinit(&whole);
    free(from);
    free(to);
    kit_remove(dir);
}

/* Changed while it is in use: said, and not given out. */
static void test_changed(void **state)
{
    char *dir = kit_folder();
    struct journal *journal = open_at(dir);
    struct sluice_error error = ERROR_INIT;
    struct journal_answer answer;
    struct buf whole;
    bool found;

    (void)state;
    add(journal, 1);
    whole = kit_read(only_file(dir));
    whole.data[whole.size - 1] ^= 1;
    kit_write(only_file(dir), whole.data, whole.size);
    buf_deinit(&whole);
    assert_int_equal(journal_read(journal, key_of(1), &found, &answer, &error), SLUICE_E_DATA);
    assert_non_null(strstr(error.message, "was changed at byte 0 while the run worked"));
    journal_close(journal);
    kit_remove(dir);
}

static void test_two_writers(void **state)
{
    char *dir = kit_folder();
    struct journal *a = open_at(dir);
    struct journal *b = open_at(dir);

    (void)state;
    add(a, 1);
    add(b, 2);
    assert_false(has(a, 2) || has(b, 1));
    KIT_OK(journal_look(a, err));
    KIT_OK(journal_look(b, err));
    assert_true(has(a, 1) && has(a, 2) && has(b, 1) && has(b, 2));
    for (uint32_t k = 10; k < 100; k++) {
        add(k % 2 == 0 ? a : b, k);
        KIT_OK(journal_look(k % 2 == 0 ? b : a, err));
        assert_true(has(k % 2 == 0 ? b : a, k));
    }
    journal_close(a);
    journal_close(b);
    kit_remove(dir);
}

/* A record that is being written is not there yet, and no fault; it comes. */
static void test_half_written(void **state)
{
    char *dir = kit_folder();
    char *from = str_printf("%s/whole", dir);
    char *to = str_printf("%s/other", dir);
    struct journal *journal = open_at(from);
    struct buf whole;

    (void)state;
    add(journal, 1);
    add(journal, 2);
    journal_close(journal);
    whole = kit_read(only_file(from));
    assert_int_equal(mkdir(to, 0777), 0);
    kit_write(kit_path(to, "1.answers"), whole.data, whole.size - 3);
    kit_write(kit_path(to, "notes.txt"), "no journal", 10);
    journal = open_at(to);
    assert_true(has(journal, 1));
    assert_false(has(journal, 2));
    kit_write(kit_path(to, "1.answers"), whole.data, whole.size);
    KIT_OK(journal_look(journal, err));
    assert_true(has(journal, 2));
    journal_close(journal);
    buf_deinit(&whole);
    free(from);
    free(to);
    kit_remove(dir);
}

/* Makes a record one of the first version. */
static void old_version(struct record_head *head, struct buf *record)
{
    struct hash128 parts[2];

    head->check = 0;
    parts[0] = hash_bytes(head, sizeof *head);
    parts[1] = hash_bytes(record->data + sizeof *head, record->size - sizeof *head);
    head->check = hash_bytes(parts, sizeof parts).lo;
    memcpy(record->data, head, sizeof *head);
}

/* When an answer came is kept with it; older files don't say it. */
static void test_when(void **state)
{
    char *dir = kit_folder();
    struct journal *journal = open_at(dir);
    struct journal_answer answer = { .code = 200, .body = (char *)"x", .body_n = 1 };
    struct record_head head;
    struct buf old = BUF_INIT;
    bool found;

    (void)state;
    answer.when_ms = 1777629600123;
    KIT_OK(journal_add(journal, key_of(1), &answer, err));
    journal_close(journal);
    answer.when_ms = 0;
    record_put(key_of(2), &answer, &head, &old);
    head.version = 1;
    old_version(&head, &old);
    kit_write(kit_path(dir, "old.answers"), old.data, old.size);
    buf_deinit(&old);
    journal = open_at(dir);
    assert_string_equal(said, "");
    KIT_OK(journal_read(journal, key_of(1), &found, &answer, err));
    assert_true(found && answer.when_ms == 1777629600123);
    free(answer.body);
    KIT_OK(journal_read(journal, key_of(2), &found, &answer, err));
    assert_true(found && answer.when_ms == 0);
    free(answer.body);
    journal_close(journal);
    kit_remove(dir);
}

/* ---- in a store ---- */

/* A file for each sync, found by the ids of those who put them; what is not synced is not there. */
static void in_a_store(int seed)
{
    char *objects = kit_folder();
    char *where = str_printf("hostile://bucket/%d/answers", seed);
    struct journal *a, *b, *c;
    char ids[2][33];
    struct store_list list = { 0 };

    setenv("SLUICE_TEST_HOSTILE_ROOT", objects, 1);
    hash_hex(key_of(1001), ids[0]);
    hash_hex(key_of(1002), ids[1]);
    a = open_at(where);
    b = open_at(where);
    journal_call(a, ids[0]);
    journal_call(b, ids[1]);
    KIT_OK(journal_expect(a, ids[1], err));
    KIT_OK(journal_expect(b, ids[0], err));
    KIT_OK(journal_expect(b, ids[0], err));
    KIT_OK(journal_expect(b, ids[1], err)); /* itself */
    assert_true(journal_puts(a));
    for (uint32_t k = 0; k < 40; k++) {
        struct journal *one = k % 2 == 0 ? a : b;
        struct journal *other = k % 2 == 0 ? b : a;
        add(one, k);
        add(one, 100 + k);
        assert_false(journal_knows(one, key_of(k)));
        KIT_OK(journal_catch_up(other, err));
        assert_false(has(other, k));
        KIT_OK(journal_sync(one, err));
        assert_true(has(one, k) && has(one, 100 + k));
        KIT_OK(journal_catch_up(other, err));
        assert_true(has(other, k) && has(other, 100 + k));
        KIT_OK(journal_sync(one, err)); /* nothing waits: no request */
    }
    for (uint32_t k = 0; k < 40; k++) { /* more files than are held */
        assert_true(has(a, k) && has(b, k) && has(a, 139 - k));
    }
    KIT_OK(store_list(where, 0, &list, err));
    assert_true(list.n <= 40);
    store_list_deinit(&list);
    add(a, 500); /* and it dies */
    journal_close(a);
    journal_close(b);
    c = open_at(where);
    KIT_OK(journal_expect(c, ids[0], err)); /* a list may lack one */
    KIT_OK(journal_expect(c, ids[1], err));
    KIT_OK(journal_catch_up(c, err));
    for (uint32_t k = 0; k < 40; k++) {
        assert_true(has(c, k) && has(c, 100 + k));
    }
    assert_false(has(c, 500));
    assert_string_equal(said, "");
    add(c, 500); /* under an id that it chose */
    KIT_OK(journal_sync(c, err));
    assert_true(has(c, 500));
    journal_close(c);
    unsetenv("SLUICE_TEST_HOSTILE_ROOT");
    free(where);
    kit_remove(objects);
}

static void test_in_a_store(void **state)
{
    (void)state;
    in_a_store(0);
    for (int seed = 1; seed <= 5; seed++) {
        char text[20];
        snprintf(text, sizeof text, "%d:5", seed);
        setenv("SLUICE_TEST_HOSTILE", text, 1);
        in_a_store(seed);
        unsetenv("SLUICE_TEST_HOSTILE");
    }
}

/* ---- what a disk does ---- */

/* Syncs of files in a log of operations (store/disk.h). */
static size_t syncs(const char *log)
{
    struct buf text = kit_read(log);
    size_t n = 0;

    for (size_t at = 0; at + 48 <= text.size;) {
        uint32_t op, lengths[2];
        uint64_t size;
        memcpy(&op, text.data + at + 4, sizeof op);
        memcpy(&size, text.data + at + 32, sizeof size);
        memcpy(lengths, text.data + at + 40, sizeof lengths);
        n += op == DISK_SYNC;
        at += 48 + lengths[0] + lengths[1] + (op == DISK_WRITE ? (size_t)size : 0);
    }
    buf_deinit(&text);
    return n;
}

static int write_and_die(void *ctx)
{
    struct journal *journal = open_at(ctx);

    add(journal, 1); /* and is killed before it syncs */
    add(journal, 2);
    _exit(0);
}

static int read_both(void *ctx)
{
    struct journal *journal = open_at(ctx);
    bool good = has(journal, 1) && has(journal, 2) && has(journal, 1);

    journal_close(journal);
    return good ? 7 : 8;
}

static void test_others_made_durable(void **state)
{
    char *dir = kit_folder();
    char *log = str_printf("%s/log", dir);
    char *answers = str_printf("%s/answers", dir);

    (void)state;
    assert_int_equal(kit_child(write_and_die, answers, NULL, NULL), 0);
    assert_int_equal(kit_child(read_both, answers, "SLUICE_TEST_OPLOG", log), 7);
    assert_int_equal(syncs(log), 1); /* once, for all that is there */
    free(log);
    free(answers);
    kit_remove(dir);
}

static int add_until_it_fails(void *ctx)
{
    struct journal *journal = open_at(ctx);
    struct sluice_error error = ERROR_INIT;
    char body[100];
    struct journal_answer answer = answer_of(1, body, sizeof body);
    sluice_status status = journal_add(journal, key_of(1), &answer, &error);

    if (status == SLUICE_OK) {
        status = journal_sync(journal, &error);
    }
    if (status != SLUICE_OK) { /* and then nothing is taken any more */
        assert_int_equal(journal_sync(journal, &error), SLUICE_E_IO);
        assert_int_equal(journal_add(journal, key_of(2), &answer, &error), SLUICE_E_IO);
        assert_non_null(strstr(error.message, "could not be written before"));
    }
    journal_close(journal);
    return status == SLUICE_OK ? 0 : 1;
}

static void test_failing_disk(void **state)
{
    int failed = 0;

    (void)state;
    for (int n = 1; n < 30; n++) {
        char *dir = kit_folder();
        char *answers = str_printf("%s/answers", dir);
        char text[40];
        int result;
        snprintf(text, sizeof text, "%d:EIO", n);
        result = kit_child(add_until_it_fails, answers, "SLUICE_TEST_FAIL", text);
        failed += result == 1;
        free(answers);
        kit_remove(dir);
        if (result == 0) {
            break;
        }
    }
    assert_true(failed >= 3);
}

/* ---- threads ---- */

struct readers {
    struct journal *journal;
    atomic_uint added;
};

static void *read_all(void *arg)
{
    struct readers *readers = arg;
    uint32_t n = 0;

    while (n < 2000) {
        n = atomic_load(&readers->added);
        for (uint32_t k = n > 50 ? n - 50 : 0; k < n; k++) {
            if (!has(readers->journal, k)) {
                return (void *)1;
            }
        }
        if (journal_look(readers->journal, NULL) != SLUICE_OK) {
            return (void *)1;
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    char *dir = kit_folder();
    struct readers readers = { .journal = open_at(dir) };
    struct journal *other = open_at(dir);
    pthread_t threads[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers), 0);
    }
    for (uint32_t k = 0; k < 2000; k++) {
        add(readers.journal, k);
        atomic_store(&readers.added, k + 1);
        if (k % 20 == 0) {
            add(other, 10000 + k);
            KIT_OK(journal_sync(readers.journal, err));
        }
    }
    for (size_t i = 0; i < 2; i++) {
        void *fault;
        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
    KIT_OK(journal_look(readers.journal, err));
    for (uint32_t k = 0; k < 2000; k += 20) {
        assert_true(has(readers.journal, 10000 + k));
    }
    journal_close(readers.journal);
    journal_close(other);
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),         cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_cut),          cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_changed),      cmocka_unit_test(test_two_writers),
        cmocka_unit_test(test_half_written), cmocka_unit_test(test_others_made_durable),
        cmocka_unit_test(test_failing_disk), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_when),         cmocka_unit_test(test_in_a_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
