/* Crashes of the whole output side: shards through a codec, a commit record each, a snapshot over
 * them. The process is killed at every operation, and every prefix of its operation log is turned
 * into what a power cut may leave; each time there is nothing or something valid, and doing the
 * work again ends in the same bytes as if nothing had happened. */
#include "store_kit.h"

#include <signal.h>

#include "store/commit.h"
#include "store/outcodec.h"
#include "store/pending.h"
#include "store/snapshot.h"
#include "store/temp.h"
#include "store/store.h"

#define TRY_OUT(call)              \
    do {                           \
        status = (call);           \
        if (status != SLUICE_OK) { \
            goto out;              \
        }                          \
    } while (0)

static struct hash128 task_key(char letter)
{
    return hash_bytes(&letter, 1);
}

/* One task: a compressed shard of 140 KB in data/, committed in tasks/tokenize. */
static sluice_status run_task(const char *dir, char letter, struct commit **out,
                              struct sluice_error *err)
{
    char *data = str_printf("%s/gold/data", dir);
    char *tasks = str_printf("%s/run/tasks/tokenize", dir);
    char *text = kit_text(140000, (uint64_t)letter);
    char file[64];
    struct outcodec *codec = NULL;
    struct pending *p = NULL;
    struct published published;
    struct commit *commit = NULL;
    struct commit_output output = { .port = (char *)"gold", .file = file };
    bool valid = false;
    sluice_status status;

    *out = NULL;
    TRY_OUT(commit_read(tasks, task_key(letter), &commit, NULL, err));
    if (commit != NULL) {
        uint64_t bytes;
        char *path = disk_join(data, commit->outputs[0].file);
        TRY_OUT(store_size(path, &bytes, &valid, err));
        valid = valid && bytes == commit->outputs[0].bytes;
        free(path);
        if (valid) {
            *out = commit;
            commit = NULL;
            goto out;
        }
    }
    commit_destroy(commit);
    commit = NULL;
    snprintf(file, sizeof file, "key-%c.jsonl.zst", letter);
    TRY_OUT(outcodec_create(OUTCODEC_ZSTD, 0, &codec, err));
    TRY_OUT(pending_open(data, &p, err));
    TRY_OUT(outcodec_begin(codec, p, err));
    TRY_OUT(outcodec_write(codec, text, 140000, err));
    TRY_OUT(outcodec_finish(codec, err));
    status = pending_publish(p, file, 0, &published, err);
    p = NULL;
    TRY_OUT(status);
    TRY_OUT(disk_sync_dir(data, err));
    commit = commit_create(task_key(letter), "tokenize", file);
    output.bytes = published.bytes;
    output.hash = published.hash;
    output.rows = 30;
    TRY_OUT(commit_add_output(commit, &output, err));
    TRY_OUT(commit_write(commit, tasks, true, NULL, err));
    *out = commit;
    commit = NULL;
out:
    pending_abort(p);
    outcodec_destroy(codec);
    commit_destroy(commit);
    free(text);
    free(data);
    free(tasks);
    return status;
}

/* The run: a task a letter, then a snapshot of all. */
static sluice_status run_letters(const char *dir, const char *letters, struct sluice_error *err)
{
    char *data = str_printf("%s/gold/data", dir);
    char *tasks = str_printf("%s/run/tasks/tokenize", dir);
    char *gold = str_printf("%s/gold", dir);
    struct snapshot *s = snapshot_create("gold");
    struct commit *commit;
    sluice_status status;

    TRY_OUT(disk_mkdirs(data, err));
    TRY_OUT(disk_mkdirs(tasks, err));
    TRY_OUT(temp_sweep(data, NULL, err));
    TRY_OUT(temp_sweep(tasks, NULL, err));
    for (size_t i = 0; letters[i] != '\0'; i++) {
        char name[64];
        snprintf(name, sizeof name, "part-%05zu-%c.jsonl.zst", i, letters[i]);
        TRY_OUT(run_task(dir, letters[i], &commit, err));
        status = snapshot_add_shard(s, name, commit->outputs[0].file, commit->outputs[0].rows,
                                    commit->outputs[0].bytes, commit->outputs[0].hash, NULL, err);
        commit_destroy(commit);
        TRY_OUT(status);
    }
    TRY_OUT(snapshot_publish(gold, s, NULL, NULL, err));
out:
    snapshot_destroy(s);
    free(data);
    free(tasks);
    free(gold);
    return status;
}

struct work {
    const char *dir;
    const char *letters;
};

static int run_work(void *ctx)
{
    struct work *work = ctx;
    struct sluice_error e = ERROR_INIT;
    sluice_status status = run_letters(work->dir, work->letters, &e);

    if (status != SLUICE_OK) {
        fprintf(stderr, "%s\n", e.message);
    }
    return status;
}

static const char *data_folder(void *ctx, const struct commit_output *output)
{
    (void)output;
    return ctx;
}

static void say(void *ctx, const char *message)
{
    (void)ctx;
    print_message("%s\n", message);
}

/* Nothing or valid: every record and every manifest that is there is whole, with all that it names;
 * the folders too, where they are. */
static void check_state(const char *dir)
{
    char *data = str_printf("%s/gold/data", dir);
    char *tasks = str_printf("%s/run/tasks/tokenize", dir);
    char *gold = str_printf("%s/gold", dir);
    struct hash128 *keys;
    uint32_t *numbers;
    size_t n;
    char target[64];
    ssize_t length;
    struct vouch *vouch;

    KIT_OK(vouch_open("/dev/null", &vouch, err)); /* knows nothing: reads */
    KIT_OK(commit_list(tasks, &keys, &n, err));
    for (size_t i = 0; i < n; i++) {
        struct commit *commit;
        bool damaged;
        bool valid;
        KIT_OK(commit_read(tasks, keys[i], &commit, &damaged, err));
        assert_true(commit != NULL && !damaged);
        KIT_OK(commit_outputs_valid(commit, data_folder, data, vouch, &valid, err));
        assert_true(valid);
        commit_destroy(commit);
    }
    vouch_close(vouch);
    free(keys);
    KIT_OK(snapshot_list(gold, &numbers, &n, err));
    for (size_t i = 0; i < n; i++) {
        struct snapshot *s;
        char folder[24];
        uint64_t faults;
        KIT_OK(snapshot_open(gold, numbers[i], &s, err));
        snprintf(folder, sizeof folder, "v%06u", (unsigned)numbers[i]);
        for (size_t k = 0; k < s->n_shards; k++) {
            uint64_t bytes;
            struct hash128 hash;
            char *path = snapshot_shard_path(gold, &s->shards[k]);
            KIT_OK(disk_hash_file(path, &bytes, &hash, NULL, err));
            assert_true(bytes == s->shards[k].bytes && hash_equal(hash, s->shards[k].hash));
            free(path);
        }
        if (kit_there(kit_path(gold, folder))) {
            KIT_OK(snapshot_verify(gold, s, true, say, NULL, &faults, err));
            assert_int_equal(faults, 0);
        }
        snapshot_destroy(s);
    }
    /* `latest` leads to a folder that is there, with its manifest. */
    length = readlink(kit_path(gold, "latest"), target, sizeof target - 1);
    if (length > 0) {
        target[length] = '\0';
        assert_true(kit_there(kit_path(gold, target)));
        assert_true(n > 0 && (uint32_t)strtoul(target + 1, NULL, 10) <= numbers[n - 1]);
    }
    free(numbers);
    free(data);
    free(tasks);
    free(gold);
}

/* A line for each file below dir: path and hash, or link target; temporary names too. */
static void describe(const char *dir, const char *below, struct buf *out)
{
    char *path = below[0] == '\0' ? str_copy(dir, strlen(dir)) : disk_join(dir, below);
    struct disk_names names;

    KIT_OK(disk_list(path, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        char *inner = below[0] == '\0' ? str_copy(names.names[i], strlen(names.names[i]))
                                       : disk_join(below, names.names[i]);
        char *whole = disk_join(dir, inner);
        struct stat st;
        assert_int_equal(lstat(whole, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            buf_printf(out, "%s/\n", inner);
            describe(dir, inner, out);
        } else if (S_ISLNK(st.st_mode)) {
            char target[64] = "";
            assert_true(readlink(whole, target, sizeof target - 1) > 0);
            buf_printf(out, "%s -> %s\n", inner, target);
        } else {
            uint64_t bytes;
            struct hash128 hash;
            char hex[33];
            KIT_OK(disk_hash_file(whole, &bytes, &hash, NULL, err));
            hash_hex(hash, hex);
            buf_printf(out, "%s %llu %s\n", inner, (unsigned long long)bytes, hex);
        }
        free(inner);
        free(whole);
    }
    disk_names_deinit(&names);
    free(path);
}

static void check_same(const char *dir, struct buf *expected)
{
    struct buf text = BUF_INIT;

    describe(dir, "", &text);
    assert_string_equal(buf_str(&text), buf_str(expected));
    buf_deinit(&text);
}

static void shell(const char *format, ...) PRINTF_LIKE(1, 2);

static void shell(const char *format, ...)
{
    char command[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

/* base: a state after one run ("ab"), or before any. What is expected after the run of "bc". */
static struct buf expected_state(const char *base)
{
    char *dir = kit_folder();
    struct work work = { dir, "bc" };
    struct buf text = BUF_INIT;

    shell("cp -a %s/. %s", base, dir);
    assert_int_equal(run_work(&work), 0);
    describe(dir, "", &text);
    kit_remove(dir);
    return text;
}

static void check_kills(const char *base)
{
    static const char *const whens[] = { "", ":half", ":after" };
    struct buf expected = expected_state(base);

    for (int w = 0; w < 3; w++) {
        int n = 1;
        for (int result = -SIGKILL; result == -SIGKILL; n++) {
            char *dir = kit_folder();
            struct work work = { dir, "bc" };
            char point[32];
            shell("cp -a %s/. %s", base, dir);
            snprintf(point, sizeof point, "%d%s", n, whens[w]);
            result = kit_child(run_work, &work, "SLUICE_TEST_KILL", point);
            assert_true(result == -SIGKILL || result == 0);
            check_state(dir);
            /* Killed again on the way, somewhere; then in peace. */
            snprintf(point, sizeof point, "%d:40", n);
            (void)kit_child(run_work, &work, "SLUICE_TEST_KILL_SEED", point);
            check_state(dir);
            assert_int_equal(kit_child(run_work, &work, NULL, NULL), 0);
            check_same(dir, &expected);
            kit_remove(dir);
        }
        assert_true(n > 25);
    }
    buf_deinit(&expected);
}

static void check_power_cuts(const char *base)
{
    struct buf expected = expected_state(base);
    char *dir = kit_folder();
    char *out = kit_folder();
    char *log = disk_join(out, "log");
    char *trees = disk_join(out, "trees");
    struct work work = { dir, "bc" };
    struct disk_names names;
    char last[32];

    shell("cp -a %s/. %s", base, dir);
    assert_int_equal(kit_child(run_work, &work, "SLUICE_TEST_OPLOG", log), 0);
    check_same(dir, &expected);
    shell("python3 tests/crash/replay.py %s %s %s --base %s >/dev/null", log, dir, trees, base);
    KIT_OK(disk_list(trees, &names, err));
    assert_true(names.n > 25 * 3);
    snprintf(last, sizeof last, "%zu-lost", names.n / 3 - 1);
    for (size_t i = 0; i < names.n; i++) {
        char *tree = disk_join(trees, names.names[i]);
        struct work again = { tree, "bc" };
        check_state(tree);
        if (strcmp(names.names[i], last) == 0) {
            check_same(tree, &expected); /* what was reported as done is durable */
        }
        assert_int_equal(kit_child(run_work, &again, NULL, NULL), 0);
        check_same(tree, &expected);
        free(tree);
    }
    disk_names_deinit(&names);
    buf_deinit(&expected);
    free(log);
    free(trees);
    kit_remove(dir);
    kit_remove(out);
}

static void with_base(const char *letters, void (*check)(const char *))
{
    char *base = kit_folder();
    struct work work = { base, letters };

    if (letters[0] != '\0') {
        assert_int_equal(run_work(&work), 0);
    }
    check(base);
    kit_remove(base);
}

static void test_kill_first_run(void **state)
{
    (void)state;
    with_base("", check_kills);
}

static void test_kill_second_run(void **state)
{
    (void)state;
    with_base("ab", check_kills);
}

static void test_power_cut_first_run(void **state)
{
    (void)state;
    with_base("", check_power_cuts);
}

static void test_power_cut_second_run(void **state)
{
    (void)state;
    with_base("ab", check_power_cuts);
}

/* Links are refused: the other way of giving names is as safe. */
static void check_kills_without_links(const char *base)
{
    struct buf expected = expected_state(base);
    int n = 1;

    setenv("SLUICE_TEST_FAIL", "link:EPERM", 1);
    for (int result = -SIGKILL; result == -SIGKILL; n++) {
        char *dir = kit_folder();
        struct work work = { dir, "bc" };
        char point[32];
        shell("cp -a %s/. %s", base, dir);
        snprintf(point, sizeof point, "%d:after", n);
        result = kit_child(run_work, &work, "SLUICE_TEST_KILL", point);
        check_state(dir);
        assert_int_equal(kit_child(run_work, &work, NULL, NULL), 0);
        check_same(dir, &expected);
        kit_remove(dir);
    }
    unsetenv("SLUICE_TEST_FAIL");
    assert_true(n > 25);
    buf_deinit(&expected);
}

static void test_kill_without_links(void **state)
{
    (void)state;
    with_base("ab", check_kills_without_links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_first_run),       cmocka_unit_test(test_kill_second_run),
        cmocka_unit_test(test_kill_without_links),   cmocka_unit_test(test_power_cut_first_run),
        cmocka_unit_test(test_power_cut_second_run),
    };

    return cmocka_run_group_tests_name("store_crash", tests, NULL, NULL);
}
