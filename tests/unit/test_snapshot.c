/* store/snapshot: manifests, folders and `latest` of a dataset. Crashes are in test_store_crash.c.
 */
#include "store_kit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>

#include "alloc_fail.h"
#include "store/pending.h"
#include "store/snapshot.h"

/* Stores a shard whose bytes are its text and adds it. */
static void add_shard(struct snapshot *s, const char *dir, const char *name, const char *file,
                      const char *text)
{
    struct published published;
    char *data = disk_join(dir, "data");

    KIT_OK(disk_mkdirs(data, err));
    KIT_OK(pending_put(data, file, text, strlen(text), PENDING_VOUCHED, &published, err));
    KIT_OK(snapshot_add_shard(s, name, file, strlen(text) / 2, published.bytes, published.hash,
                              json_pack("{s:I}", "tokens", (json_int_t)strlen(text)), err));
    free(data);
}

/* Publishes shards named by letters: "ab" has part-00000-a and part-00001-b. Its number. */
static uint32_t publish_outcome(const char *dir, const char *letters,
                                struct snapshot_outcome *outcome)
{
    struct snapshot *s = snapshot_create("gold");
    uint32_t number;

    for (size_t i = 0; letters[i] != '\0'; i++) {
        char name[64];
        char file[64];
        char text[64];
        snprintf(name, sizeof name, "part-%05zu-%c.jsonl", i, letters[i]);
        snprintf(file, sizeof file, "key%c.jsonl", letters[i]);
        snprintf(text, sizeof text, "text of %c", letters[i]);
        add_shard(s, dir, name, file, text);
    }
    s->ledger = json_pack("{s:i}", "kept", 5);
    s->lineage = json_pack("[s]", "input");
    s->notes = json_pack("{s:s}", "tokenizer", "o200k");
    KIT_OK(snapshot_publish(dir, s, NULL, outcome, err));
    number = s->number;
    snapshot_destroy(s);
    return number;
}

static uint32_t publish(const char *dir, const char *letters, bool *is_new)
{
    struct snapshot_outcome outcome;
    uint32_t number = publish_outcome(dir, letters, &outcome);

    *is_new = outcome.is_new;
    return number;
}

static uint64_t faults(const char *dir, uint32_t number, bool deep)
{
    struct snapshot *s;
    uint64_t n;

    KIT_OK(snapshot_open(dir, number, &s, err));
    KIT_OK(snapshot_verify(dir, s, deep, NULL, NULL, &n, err));
    snapshot_destroy(s);
    return n;
}

static void check_latest(const char *dir, const char *expected)
{
    char target[64] = "";

    assert_true(readlink(kit_path(dir, "latest"), target, sizeof target - 1) > 0);
    assert_string_equal(target, expected);
}

static void test_publish(void **state)
{
    char *dir = kit_folder();
    char *dataset = disk_join(dir, "below/gold");
    struct snapshot *s;
    struct stat a;
    struct stat b;
    uint32_t *numbers;
    size_t n;
    bool is_new;

    (void)state;
    KIT_OK(snapshot_list(dataset, &numbers, &n, err));
    assert_int_equal(n, 0);
    free(numbers);
    assert_int_equal(snapshot_open(dataset, 0, &s, NULL), SLUICE_E_CONFIG);

    assert_int_equal(publish(dataset, "ab", &is_new), 1);
    assert_true(is_new);
    check_latest(dataset, "v000001");
    KIT_OK(snapshot_open(dataset, 0, &s, err));
    assert_int_equal(s->number, 1);
    assert_int_equal(s->parent, 0);
    assert_string_equal(s->dataset, "gold");
    assert_int_equal(s->n_shards, 2);
    assert_string_equal(s->shards[1].name, "part-00001-b.jsonl");
    assert_int_equal(s->bytes, 18);
    assert_int_equal(s->rows, 8);
    assert_int_equal(json_integer_value(json_object_get(s->measures, "tokens")), 18);
    assert_int_equal(s->n_added, 2);
    assert_string_equal(s->added[0], "keya.jsonl");
    assert_int_equal(s->n_removed, 0);
    assert_string_equal(json_string_value(json_object_get(s->notes, "tokenizer")), "o200k");
    snapshot_destroy(s);
    assert_int_equal(stat(kit_path(dataset, "data/keyb.jsonl"), &a), 0);
    assert_int_equal(stat(kit_path(dataset, "v000001/part-00001-b.jsonl"), &b), 0);
    assert_true(a.st_ino == b.st_ino);

    /* The same again: no number. */
    assert_int_equal(publish(dataset, "ab", &is_new), 1);
    assert_false(is_new);
    assert_int_equal(kit_count(kit_path(dataset, "snapshots")), 1);

    assert_int_equal(publish(dataset, "bcd", &is_new), 2);
    assert_true(is_new);
    check_latest(dataset, "v000002");
    KIT_OK(snapshot_open(dataset, 2, &s, err));
    assert_int_equal(s->parent, 1);
    assert_int_equal(s->n_added, 2);
    assert_string_equal(s->added[0], "keyc.jsonl");
    assert_string_equal(s->added[1], "keyd.jsonl");
    assert_int_equal(s->n_removed, 1);
    assert_string_equal(s->removed[0], "keya.jsonl");
    snapshot_destroy(s);
    /* An older content is a new state. */
    assert_int_equal(publish(dataset, "ab", &is_new), 3);
    assert_int_equal(publish(dataset, "", &is_new), 4);
    assert_int_equal(kit_count(kit_path(dataset, "v000004")), 0);
    KIT_OK(snapshot_list(dataset, &numbers, &n, err));
    assert_int_equal(n, 4);
    assert_int_equal(numbers[3], 4);
    free(numbers);
    for (uint32_t k = 1; k <= 4; k++) {
        assert_int_equal(faults(dataset, k, true), 0);
    }
    assert_int_equal(kit_temps(dataset), 0);
    free(dataset);
    kit_remove(dir);
}

/* An owned snapshot of one shard, made over another one and taking over that of a number. */
static sluice_status publish_owned(const char *dir, const char *letter, const char *pipeline,
                                   const char *node, uint32_t over, uint32_t take_over,
                                   bool *adopted, struct sluice_error *e)
{
    struct snapshot *s = snapshot_create("gold");
    struct snapshot_outcome outcome = { .adopted = false };
    char file[32];
    sluice_status status;

    snprintf(file, sizeof file, "key%s.jsonl", letter);
    add_shard(s, dir, file, file, letter);
    KIT_OK(snapshot_own(s, pipeline, node, err));
    s->over = over;
    s->take_over = take_over;
    status = snapshot_publish(dir, s, NULL, &outcome, e);
    *adopted = outcome.adopted;
    snapshot_destroy(s);
    return status;
}

static void test_owner(void **state)
{
    char *dir = kit_folder();
    struct sluice_error e = ERROR_INIT;
    struct snapshot *s;
    uint32_t *numbers;
    size_t n;
    bool adopted;
    bool is_new;

    (void)state;
    assert_int_equal(publish(dir, "ab", &is_new), 1);
    KIT_OK(snapshot_open(dir, 1, &s, err));
    assert_null(s->node);
    snapshot_destroy(s);
    KIT_OK(publish_owned(dir, "c", "curate", "gold", 0, 0, &adopted, err));
    assert_true(adopted);
    KIT_OK(snapshot_open(dir, 2, &s, err));
    assert_string_equal(s->pipeline, "curate");
    assert_string_equal(s->node, "gold");
    snapshot_destroy(s);
    KIT_OK(publish_owned(dir, "d", "curate", "gold", 2, 0, &adopted, err));
    assert_false(adopted);

    /* Another node, another pipeline, and one that may follow an older snapshot alone. */
    assert_int_equal(publish_owned(dir, "e", "curate", "silver", 0, 0, &adopted, &e),
                     SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "belongs to node 'gold' of pipeline 'curate'"));
    assert_int_equal(publish_owned(dir, "e", "other", "gold", 0, 2, &adopted, &e), SLUICE_E_CONFIG);
    /* What was made from a snapshot that is not the newest any more. */
    assert_int_equal(publish_owned(dir, "e", "curate", "gold", 2, 0, &adopted, &e),
                     SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "made from snapshot 2, but meanwhile the newest is 3"));
    KIT_OK(snapshot_list(dir, &numbers, &n, err));
    assert_int_equal(n, 3);
    free(numbers);
    KIT_OK(publish_owned(dir, "e", "other", "gold", 0, 3, &adopted, err));
    assert_false(adopted);
    kit_remove(dir);
}

static void test_repair(void **state)
{
    char *dir = kit_folder();
    bool is_new;

    (void)state;
    publish(dir, "abc", &is_new);
    /* Folder and link gone. */
    kit_clear(kit_path(dir, "v000001"));
    assert_int_equal(unlink(kit_path(dir, "latest")), 0);
    assert_int_equal(faults(dir, 1, false), 3);
    assert_int_equal(publish(dir, "abc", &is_new), 1);
    assert_false(is_new);
    assert_int_equal(faults(dir, 1, true), 0);
    check_latest(dir, "v000001");
    /* A half-made one: a shard gone, one cut; a foreign file stays. */
    assert_int_equal(unlink(kit_path(dir, "v000001/part-00000-a.jsonl")), 0);
    assert_int_equal(unlink(kit_path(dir, "v000001/part-00001-b.jsonl")), 0);
    kit_write(kit_path(dir, "v000001/part-00001-b.jsonl"), "te", 2);
    kit_write(kit_path(dir, "v000001/README"), "x", 1);
    assert_int_equal(faults(dir, 1, false), 3);
    publish(dir, "abc", &is_new);
    assert_false(is_new);
    assert_int_equal(faults(dir, 1, true), 1);
    assert_int_equal(unlink(kit_path(dir, "v000001/README")), 0);
    /* An empty folder, and a dangling link. */
    kit_clear(kit_path(dir, "v000001"));
    assert_int_equal(mkdir(kit_path(dir, "v000001"), 0777), 0);
    assert_int_equal(unlink(kit_path(dir, "latest")), 0);
    assert_int_equal(symlink("v000009", kit_path(dir, "latest")), 0);
    publish(dir, "abc", &is_new);
    assert_int_equal(faults(dir, 1, true), 0);
    check_latest(dir, "v000001");
    /* The parent's folder is repaired by the next snapshot. */
    kit_clear(kit_path(dir, "v000001"));
    assert_int_equal(publish(dir, "abcd", &is_new), 2);
    assert_int_equal(faults(dir, 1, true), 0);
    /* Or left alone when its shards are gone. */
    kit_clear(kit_path(dir, "v000002"));
    assert_int_equal(unlink(kit_path(dir, "data/keyd.jsonl")), 0);
    assert_int_equal(publish(dir, "a", &is_new), 3);
    assert_false(kit_there(kit_path(dir, "v000002")));
    assert_int_equal(faults(dir, 3, true), 0);
    assert_int_equal(kit_temps(dir), 0);
    kit_remove(dir);
}

static void count_fault(void *ctx, const char *message)
{
    struct buf *all = ctx;

    buf_puts(all, message);
    buf_putc(all, '\n');
}

static void test_verify(void **state)
{
    char *dir = kit_folder();
    struct snapshot *s;
    struct buf all = BUF_INIT;
    uint64_t n;
    bool is_new;

    (void)state;
    publish(dir, "ab", &is_new);
    publish(dir, "abc", &is_new);
    kit_write(kit_path(dir, "data/keya.jsonl"), "text of X", 9); /* both names: a link */
    assert_int_equal(faults(dir, 2, false), 0);
    assert_int_equal(unlink(kit_path(dir, "data/keyb.jsonl")), 0);
    KIT_OK(snapshot_open(dir, 2, &s, err));
    s->n_added--;
    KIT_OK(snapshot_verify(dir, s, true, count_fault, &all, &n, err));
    assert_int_equal(n, 3);
    assert_non_null(strstr(buf_str(&all), "data/keya.jsonl has hash"));
    assert_non_null(strstr(buf_str(&all), "data/keyb.jsonl is missing"));
    assert_non_null(strstr(buf_str(&all), "lists other shards as added"));
    snapshot_destroy(s);
    buf_deinit(&all);
    kit_remove(dir);
}

/* A shard that no run makes again: put right from a snapshot that has a good copy, else named with
 * both hashes. */
static void test_mend(void **state)
{
    char *dir = kit_folder();
    struct sluice_error e = ERROR_INIT;
    struct snapshot_outcome outcome;
    struct snapshot *s;
    struct vouch *vouch;
    bool is_new;

    (void)state;
    KIT_OK(vouch_open(kit_path(dir, "known"), &vouch, err));
    publish(dir, "ab", &is_new);
    publish(dir, "abc", &is_new);
    KIT_OK(snapshot_open(dir, 2, &s, err));
    assert_int_equal(unlink(kit_path(dir, "v000002/part-00000-a.jsonl")), 0);
    kit_write(kit_path(dir, "v000002/part-00000-a.jsonl"), "text of a", 9);
    kit_write(kit_path(dir, "data/keya.jsonl"), "text of X", 9); /* and in v000001 */
    assert_int_equal(faults(dir, 1, true), 1);
    assert_int_equal(faults(dir, 2, true), 1);
    KIT_OK(snapshot_publish(dir, s, vouch, &outcome, err));
    assert_false(outcome.is_new);
    assert_int_equal(outcome.mended, 2); /* data/ and the link of v000001 */
    assert_int_equal(faults(dir, 1, true), 0);
    assert_int_equal(faults(dir, 2, true), 0);
    kit_write(kit_path(dir, "data/keyb.jsonl"), "text of Y", 9);
    assert_int_equal(snapshot_publish(dir, s, vouch, &outcome, &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "data/keyb.jsonl has hash"));
    assert_non_null(strstr(e.message, "its record says"));
    assert_non_null(strstr(e.message, "put a copy back"));
    assert_int_equal(kit_temps(dir), 0);
    vouch_close(vouch);
    snapshot_destroy(s);
    kit_remove(dir);
}

/* Shards whose names lie in folders: published, looked at, repaired. */
static void test_folders(void **state)
{
    char *dir = kit_folder();
    struct snapshot *s = snapshot_create("gold");
    struct sluice_error error = ERROR_INIT;
    struct stat st;

    (void)state;
    add_shard(s, dir, "top.json", "k1.json", "one");
    add_shard(s, dir, "web/2024/a.json", "k2.json", "two");
    add_shard(s, dir, "web/2024/b.json", "k3.json", "three");
    add_shard(s, dir, "web/a.json", "k4.json", "four");
    KIT_OK(snapshot_publish(dir, s, NULL, NULL, err));
    assert_int_equal(faults(dir, 1, true), 0);
    assert_int_equal(stat(kit_path(dir, "v000001/web/2024/a.json"), &st), 0);
    kit_write(kit_path(dir, "v000001/web/2024/own"), "x", 1);
    assert_int_equal(mkdir(kit_path(dir, "v000001/web/empty"), 0700), 0);
    assert_int_equal(faults(dir, 1, false), 2);
    assert_int_equal(unlink(kit_path(dir, "v000001/web/2024/own")), 0);
    assert_int_equal(unlink(kit_path(dir, "v000001/web/2024/a.json")), 0);
    assert_int_equal(unlink(kit_path(dir, "v000001/web/2024/b.json")), 0);
    assert_int_equal(rmdir(kit_path(dir, "v000001/web/2024")), 0);
    assert_int_equal(faults(dir, 1, false), 3);
    assert_int_equal(rmdir(kit_path(dir, "v000001/web/empty")), 0);
    KIT_OK(snapshot_publish(dir, s, NULL, NULL, err)); /* the same content: repairs */
    assert_int_equal(faults(dir, 1, true), 0);
    assert_int_equal(kit_temps(kit_path(dir, "v000001")), 0);

    /* A file and a folder of one name. */
    add_shard(s, dir, "web/2024", "k5.json", "five");
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &error), SLUICE_E_CONFIG);
    assert_non_null(strstr(error.message, "a file 'web/2024' and, in a folder of that name"));
    assert_int_equal(snapshot_add_shard(s, "a//b", "k6.json", 0, 0, s->content, NULL, &error),
                     SLUICE_E_CONFIG);
    assert_int_equal(snapshot_add_shard(s, "a/../b", "k6.json", 0, 0, s->content, NULL, &error),
                     SLUICE_E_CONFIG);
    snapshot_destroy(s);
    kit_remove(dir);
}

static void test_refused(void **state)
{
    char *dir = kit_folder();
    struct snapshot *s = snapshot_create("gold");
    struct hash128 hash = { 1, 1 };
    struct sluice_error e = ERROR_INIT;

    (void)state;
    assert_int_equal(snapshot_add_shard(s, "../x", "x", 0, 0, hash, NULL, &e), SLUICE_E_CONFIG);
    assert_int_equal(snapshot_add_shard(s, "x", ".x", 0, 0, hash, NULL, &e), SLUICE_E_CONFIG);
    assert_int_equal(snapshot_add_shard(s, "x\xff", "x", 0, 0, hash, NULL, &e), SLUICE_E_CONFIG);
    assert_int_equal(
        snapshot_add_shard(s, "x", "x", 0, 0, hash, json_pack("{s:f}", "tokens", 1.5), &e),
        SLUICE_E_INTERNAL);
    assert_int_equal(snapshot_add_shard(s, "x", "x", 0, 0, hash, json_array(), &e),
                     SLUICE_E_INTERNAL);
    assert_int_equal(snapshot_add_shard(s, "x", "x", UINT64_MAX, 0, hash, NULL, &e),
                     SLUICE_E_INTERNAL);
    KIT_OK(snapshot_add_shard(s, "x", "absent", 0, 0, hash, NULL, err));
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "is missing"));
    KIT_OK(snapshot_add_shard(s, "x", "other", 0, 0, hash, NULL, err));
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_INTERNAL);
    assert_non_null(strstr(e.message, "two shards"));
    snapshot_destroy(s);
    assert_int_equal(kit_count(dir), 0);

    /* Sums that overflow. */
    s = snapshot_create("gold");
    add_shard(s, dir, "a", "a", "text");
    add_shard(s, dir, "b", "b", "text");
    s->shards[0].rows = INT64_MAX;
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_DATA);
    s->shards[0].rows = 1;
    json_object_set_new(s->shards[0].measures, "tokens", json_integer(INT64_MAX));
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_DATA);
    assert_non_null(strstr(e.message, "'tokens'"));
    json_object_set_new(s->shards[0].measures, "tokens", json_integer(1));
    /* Somebody's own `latest`. */
    assert_int_equal(mkdir(kit_path(dir, "latest"), 0777), 0);
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "no symlink"));
    assert_false(kit_there(kit_path(dir, "snapshots")));
    assert_int_equal(rmdir(kit_path(dir, "latest")), 0);
    KIT_OK(snapshot_publish(dir, s, NULL, NULL, err));
    /* A damaged newest manifest is nothing to build on. */
    snapshot_destroy(s);
    kit_write(kit_path(dir, "snapshots/000001.json"), "{}", 2);
    s = snapshot_create("gold");
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_DATA);
    assert_non_null(strstr(e.message, "000001.json can't be believed"));
    snapshot_destroy(s);
    assert_int_equal(snapshot_open(dir, 7, &s, &e), SLUICE_E_DATA);
    assert_int_equal(kit_temps(dir), 0);
    kit_remove(dir);
}

static void test_damaged_manifest(void **state)
{
    char *dir = kit_folder();
    struct snapshot *s;
    struct buf text;
    struct sluice_error e = ERROR_INIT;
    bool is_new;
    int unseen = 0;

    (void)state;
    publish(dir, "ab", &is_new);
    text = kit_read(kit_path(dir, "snapshots/000001.json"));
    for (size_t i = 0; i < text.size; i++) {
        if (i + 2 < text.size) { /* the last bytes are } and the end of the line */
            assert_int_equal(snapshot_parse(text.data, i, &s, &e), SLUICE_E_DATA);
        }
        text.data[i] ^= 1;
        /* Only what was added or removed needs the parent's manifest. */
        if (snapshot_parse(text.data, text.size, &s, &e) == SLUICE_OK) {
            unseen++;
            assert_int_equal(s->n_added, 2);
            assert_int_equal(s->n_removed, 0);
            snapshot_destroy(s);
        }
        text.data[i] ^= 1;
    }
    assert_int_equal(unseen, strlen("keyajsonl") + strlen("keybjsonl")); /* not with a / for . */
    buf_deinit(&text);
    /* A manifest under another number. */
    assert_int_equal(
        rename(kit_path(dir, "snapshots/000001.json"), kit_path(dir, "snapshots/000002.json")), 0);
    assert_int_equal(snapshot_open(dir, 0, &s, &e), SLUICE_E_DATA);
    assert_non_null(strstr(e.message, "says that it is number 1"));
    kit_remove(dir);
}

/* Each byte of what a manifest says was added and removed is put right by whoever publishes next,
 * as long as the parent is there. */
static void test_mend_names(void **state)
{
    char *dir = kit_folder();
    const char *manifest = kit_path(dir, "snapshots/000002.json");
    struct snapshot *s;
    struct buf whole;
    struct buf after;
    struct snapshot_outcome outcome;
    uint64_t mended = 0;
    bool is_new;

    (void)state;
    publish(dir, "ab", &is_new);
    publish(dir, "bcd", &is_new);
    publish(dir, "bc", &is_new);
    whole = kit_read(manifest);
    for (const char *at = buf_str(&whole); (at = strstr(at, "\"key")) != NULL; at++) {
        const size_t i = (size_t)(at - whole.data) + 4;
        whole.data[i] ^= 8;
        kit_write(manifest, whole.data, whole.size);
        whole.data[i] ^= 8;
        if (snapshot_open(dir, 2, &s, NULL) != SLUICE_OK) {
            continue; /* the shards' own names: the content's hash tells */
        }
        snapshot_destroy(s);
        assert_int_equal(faults(dir, 2, true), 1);
        publish_outcome(dir, "bc", &outcome);
        assert_false(outcome.is_new);
        assert_int_equal(outcome.mended, 1);
        assert_int_equal(outcome.damaged, 0);
        mended++;
        after = kit_read(manifest);
        assert_int_equal(after.size, whole.size);
        assert_memory_equal(after.data, whole.data, whole.size);
        buf_deinit(&after);
    }
    assert_int_equal(mended, 3); /* c and d were added, a removed */
    /* Nothing to compare with. */
    kit_write(manifest, whole.data, whole.size);
    assert_int_equal(unlink(kit_path(dir, "snapshots/000001.json")), 0);
    publish_outcome(dir, "bc", &outcome);
    assert_int_equal(outcome.mended + outcome.damaged, 0);
    buf_deinit(&whole);
    kit_remove(dir);
}

static void test_reference(void **state)
{
    static const struct {
        const char *text;
        const char *path;
        uint32_t number;
    } cases[] = { { "silver/web@12", "silver/web", 12 },
                  { "silver/web", "silver/web", 0 },
                  { "a@b/c", "a@b/c", 0 },
                  { "a@b@7", "a@b", 7 },
                  { "web@latest", "web", 0 },
                  { "web@", "web@", 0 },
                  { "web@12x", "web@12x", 0 },
                  { "web@000012", "web", 12 },
                  { "x@1@y", "x@1@y", 0 },
                  { "w@999999999", "w", 999999999 } };
    static const char *const bad[] = {
        "", "@3", "@latest", "web@0", "web@9999999999", "web@1000000000"
    };
    char *path;
    uint32_t number;
    struct sluice_error e = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        KIT_OK(snapshot_reference(cases[i].text, &path, &number, err));
        assert_string_equal(path, cases[i].path);
        assert_int_equal(number, cases[i].number);
        free(path);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(snapshot_reference(bad[i], &path, &number, &e), SLUICE_E_CONFIG);
        assert_null(path);
    }
}

static void test_unreferenced(void **state)
{
    char *dir = kit_folder();
    struct disk_names names;
    bool is_new;

    (void)state;
    KIT_OK(snapshot_unreferenced(dir, &names, err));
    assert_int_equal(names.n, 0);
    disk_names_deinit(&names);
    publish(dir, "ac", &is_new);
    publish(dir, "cd", &is_new);
    kit_write(kit_path(dir, "data/b"), "x", 1);
    kit_write(kit_path(dir, "data/keyz.jsonl"), "x", 1);
    kit_write(kit_path(dir, "data/.tmp-1"), "x", 1);
    KIT_OK(snapshot_unreferenced(dir, &names, err));
    assert_int_equal(names.n, 2);
    assert_string_equal(names.names[0], "b");
    assert_string_equal(names.names[1], "keyz.jsonl");
    disk_names_deinit(&names);
    kit_write(kit_path(dir, "snapshots/000001.json"), "{", 1);
    assert_int_equal(snapshot_unreferenced(dir, &names, NULL), SLUICE_E_DATA);
    kit_remove(dir);
}

/* ---- children ---- */

static int publish_work(void *ctx)
{
    bool is_new;

    publish(ctx, "ab", &is_new);
    return is_new ? 50 : 51;
}

static void test_links_refused(void **state)
{
    char *dir = kit_folder();
    struct stat a;
    struct stat b;

    (void)state;
    assert_int_equal(kit_child(publish_work, dir, "SLUICE_TEST_FAIL", "link:EPERM"), 50);
    assert_int_equal(stat(kit_path(dir, "data/keyb.jsonl"), &a), 0);
    assert_int_equal(stat(kit_path(dir, "v000001/part-00001-b.jsonl"), &b), 0);
    assert_true(a.st_ino != b.st_ino);
    assert_int_equal(faults(dir, 1, true), 0);
    assert_int_equal(kit_child(publish_work, dir, "SLUICE_TEST_FAIL", "link:EPERM"), 51);
    kit_remove(dir);
}

struct race {
    const char *dir;
    int who;
};

static int race_work(void *ctx)
{
    struct race *race = ctx;
    bool is_new;

    for (int i = 0; i < 40; i++) {
        /* Equal contents mostly, now and then ones of their own. */
        char letters[4] = { 'a', (char)('b' + i / 2 % 20),
                            i % 8 == 0 ? (char)('v' + race->who) : '\0', '\0' };
        publish(race->dir, letters, &is_new);
    }
    return 0;
}

static void test_races(void **state)
{
    char *dir = kit_folder();
    struct race races[4];
    pid_t pids[4];
    int status;
    uint32_t *numbers;
    size_t n;
    char newest[24];
    struct hash128 last = { 0, 0 };

    (void)state;
    fflush(NULL);
    for (int i = 0; i < 4; i++) {
        races[i] = (struct race){ dir, i };
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            _exit(race_work(&races[i]));
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    KIT_OK(snapshot_list(dir, &numbers, &n, err));
    assert_true(n >= 20 && n <= 160);
    for (size_t i = 0; i < n; i++) {
        struct snapshot *s;
        assert_int_equal(numbers[i], i + 1);
        assert_int_equal(faults(dir, numbers[i], true), 0);
        KIT_OK(snapshot_open(dir, numbers[i], &s, err));
        assert_false(hash_equal(s->content, last));
        last = s->content;
        snapshot_destroy(s);
    }
    snprintf(newest, sizeof newest, "v%06zu", n);
    check_latest(dir, newest);
    assert_int_equal(kit_temps(dir), 0);
    free(numbers);
    kit_remove(dir);
}

static int publish_status(void *ctx)
{
    struct snapshot *s = snapshot_create("gold");
    sluice_status status;
    struct sluice_error e = ERROR_INIT;
    struct published published;

    if (pending_put(kit_path(ctx, "data"), "a", "text", 4, PENDING_VOUCHED, &published, &e) !=
            SLUICE_OK ||
        snapshot_add_shard(s, "p", "a", 1, 4, hash_bytes("text", 4), NULL, &e) != SLUICE_OK) {
        return e.code;
    }
    status = snapshot_publish(ctx, s, NULL, NULL, &e);
    snapshot_destroy(s);
    return status;
}

/* Each operation fails once: an error and no temporary file, or no harm done; then a run without
 * failures succeeds. */
static void test_failure_at_each_operation(void **state)
{
    int failed = 0;

    (void)state;
    for (int n = 1; n < 60; n++) {
        char *dir = kit_folder();
        char point[32];
        int result;
        assert_int_equal(mkdir(kit_path(dir, "data"), 0777), 0);
        snprintf(point, sizeof point, "%d:ENOSPC", n);
        result = kit_child(publish_status, dir, "SLUICE_TEST_FAIL", point);
        assert_true(result == 0 || result == SLUICE_E_IO);
        failed += result != 0;
        assert_int_equal(kit_child(publish_status, dir, NULL, NULL), 0);
        assert_int_equal(faults(dir, 1, true), 0);
        check_latest(dir, "v000001");
        assert_int_equal(kit_temps(dir), 0);
        kit_remove(dir);
    }
    assert_true(failed > 15);
}

static void test_full_disk(void **state)
{
    char *dir = kit_folder();
    char *fill = calloc(1, 1 << 20);
    struct sluice_error e = ERROR_INIT;
    struct snapshot *s = snapshot_create("gold");
    FILE *file;

    (void)state;
    if (geteuid() != 0 || mount("tmpfs", dir, "tmpfs", 0, "size=1m") != 0) {
        print_message("no right to mount a small disk: skipped\n");
        free(fill);
        snapshot_destroy(s);
        kit_remove(dir);
        skip();
    }
    add_shard(s, dir, "p", "a", "text");
    file = fopen(kit_path(dir, "fill"), "wb");
    assert_non_null(file);
    setvbuf(file, NULL, _IONBF, 0);
    (void)fwrite(fill, 1, 1 << 20, file);
    fclose(file);
    assert_int_equal(snapshot_publish(dir, s, NULL, NULL, &e), SLUICE_E_IO);
    assert_non_null(strstr(e.message, "free some space"));
    assert_int_equal(unlink(kit_path(dir, "fill")), 0);
    KIT_OK(snapshot_publish(dir, s, NULL, NULL, err));
    assert_int_equal(faults(dir, 1, true), 0);
    snapshot_destroy(s);
    free(fill);
    assert_int_equal(umount(dir), 0);
    kit_remove(dir);
}

static sluice_status print_parse(const char *text, size_t n, struct sluice_error *err)
{
    struct snapshot *s = NULL;
    struct buf again = BUF_INIT;
    sluice_status status = snapshot_parse(text, n, &s, err);

    if (status == SLUICE_OK) {
        status = snapshot_print(s, &again, err);
    }
    if (status == SLUICE_OK) {
        assert_int_equal(again.size, n);
        assert_memory_equal(again.data, text, n);
    }
    snapshot_destroy(s);
    buf_deinit(&again);
    return status == SLUICE_E_DATA && alloc_state.failed ? SLUICE_E_NOMEM : status;
}

static void test_out_of_memory(void **state)
{
    char *dir = kit_folder();
    struct buf text;
    sluice_status status;
    struct sluice_error e = ERROR_INIT;
    bool is_new;

    (void)state;
    publish(dir, "ab", &is_new);
    publish(dir, "bc", &is_new);
    text = kit_read(kit_path(dir, "snapshots/000002.json"));
    ALLOC_EACH(status = print_parse(text.data, text.size, &e), (void)0);
    buf_deinit(&text);
    kit_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_publish),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_repair),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_mend),
        cmocka_unit_test(test_mend_names),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_manifest),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_unreferenced),
        cmocka_unit_test(test_links_refused),
        cmocka_unit_test(test_races),
        cmocka_unit_test(test_failure_at_each_operation),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
