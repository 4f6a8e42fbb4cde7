/* store/tags, store/retain, store/compact, store/removal: names of snapshots, forgetting old ones,
 * joining small files, rows taken out. Kills are in tests/pipeline/compact.sh. */
#include "store_kit.h"

#include "store/compact.h"
#include "store/pending.h"
#include "store/removal.h"
#include "store/retain.h"
#include "store/store.h"
#include "store/tags.h"

/* Adds a shard of one character, n times and a newline. */
static void add_shard(struct snapshot *s, const char *dir, uint32_t part, const char *suffix,
                      char letter, size_t n)
{
    struct published published;
    char *data = disk_join(dir, "data");
    char *text = malloc(n + 1);
    char name[64];
    char file[64];

    memset(text, letter, n);
    text[n] = '\n';
    snprintf(name, sizeof name, "part-%05u-%012u%s", part, part, suffix);
    snprintf(file, sizeof file, "%023u%c-0000-%012u%s", part, letter, (unsigned)n, suffix);
    KIT_OK(disk_mkdirs(data, err));
    KIT_OK(pending_put(data, file, text, n + 1, PENDING_VOUCHED, &published, err));
    KIT_OK(snapshot_add_shard(s, name, file, 1, published.bytes, published.hash,
                              json_pack("{s:i}", "tokens", 2), err));
    free(text);
    free(data);
}

/* A snapshot of n shards with these bytes each. */
static struct snapshot *make(const char *dir, uint32_t n, size_t bytes, char letter)
{
    struct snapshot *s = snapshot_create("gold");

    for (uint32_t i = 0; i < n; i++) {
        add_shard(s, dir, i, ".jsonl", (char)(letter + (char)(i % 20)), bytes + i % 3 - 1);
    }
    KIT_OK(snapshot_own(s, "p", "gold", err));
    s->notes = json_pack("{s:s}", "tokenizer", "o200k");
    s->lineage = json_pack("{s:s}", "pipeline", "p");
    return s;
}

static uint32_t publish(const char *dir, struct snapshot *s)
{
    uint32_t number;

    KIT_OK(snapshot_publish(dir, s, NULL, NULL, err));
    number = s->number;
    snapshot_destroy(s);
    return number;
}

static void check_resolve(const char *base, const char *reference, const char *expected,
                          uint32_t expected_number)
{
    char *dir;
    uint32_t number;

    KIT_OK(tags_resolve(base, reference, &dir, &number, err));
    assert_string_equal(dir, expected);
    assert_int_equal(number, expected_number);
    free(dir);
}

static void test_tags(void **state)
{
    static const char *const bad[] = { "", "1st", "a/b", "latest", "a b", "../x" };
    char *dir = kit_folder();
    char *set = disk_join(dir, "set");
    char *odd = disk_join(dir, "odd@gold");
    struct sluice_error e = ERROR_INIT;
    struct tag *tags;
    uint32_t number;
    char *path;
    size_t n;

    (void)state;
    publish(set, make(set, 2, 10, 'a'));
    publish(set, make(set, 2, 10, 'b'));
    KIT_OK(tags_put(set, "gold", 1, false, err));
    KIT_OK(tags_put(set, "gold", 1, false, err)); /* it has it */
    assert_int_equal(tags_put(set, "gold", 2, false, &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "'gold' is the tag of snapshot 1"));
    assert_int_equal(tags_put(set, "gold", 3, true, &e), SLUICE_E_DATA);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tags_put(set, bad[i], 1, false, &e), SLUICE_E_CONFIG);
        assert_non_null(strstr(e.message, "can't be a tag"));
    }
    KIT_OK(tags_put(set, "gold", 0, true, err)); /* the newest */
    KIT_OK(tags_put(set, "first", 1, false, err));
    KIT_OK(tags_list(set, &tags, &n, err));
    assert_int_equal(n, 2);
    assert_string_equal(tags[0].name, "first");
    assert_int_equal(tags[1].number, 2);
    free(tags);

    check_resolve(dir, "set", set, 0);
    check_resolve(dir, "set//", set, 0);
    check_resolve(dir, "set@2", set, 2);
    check_resolve(dir, "set@latest", set, 0);
    check_resolve(dir, "set@first", set, 1);
    check_resolve(dir, "set/@gold", set, 2);
    check_resolve("/elsewhere", set, set, 0);
    assert_int_equal(tags_resolve(dir, "set@none", &path, &number, &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "its tags are first, gold"));
    /* What belongs to the path: no dataset before it, or one of the whole name. */
    check_resolve(dir, "odd@gold", odd, 0);
    publish(odd, make(odd, 1, 10, 'a'));
    check_resolve(dir, "odd@gold", odd, 0);

    path = str_printf("%s/tags/first", set);
    KIT_OK(disk_mkdirs(set, err));
    assert_int_equal(disk_unlink(path), 0);
    {
        FILE *file = fopen(path, "w");
        fputs("one\n", file);
        fclose(file);
    }
    {
        char *folder;
        assert_int_equal(tags_resolve(dir, "set@first", &folder, &number, &e), SLUICE_E_DATA);
    }
    assert_int_equal(tags_list(set, &tags, &n, &e), SLUICE_E_DATA);
    free(path);
    KIT_OK(tags_put(set, "second", 2, false, err));
    KIT_OK(tags_remove(set, "second", err));
    free(odd);
    free(set);
    kit_remove(dir);
}

static void test_retain(void **state)
{
    char *dir = kit_folder();
    struct retain_rules rules = { .keep = 2, .before_ns = INT64_MAX };
    struct sluice_error e = ERROR_INIT;
    struct retained out;
    struct snapshot *s;
    uint32_t *numbers;
    uint64_t faults;
    size_t n;

    (void)state;
    assert_int_equal(retain(dir, &rules, &out, &e), SLUICE_E_CONFIG);
    retained_deinit(&out);
    for (char letter = 'a'; letter < 'f'; letter++) {
        publish(dir, make(dir, 2, (size_t)(10 + 5 * (letter - 'a')), letter));
    }
    KIT_OK(tags_put(dir, "kept", 2, false, err));
    rules.before_ns = 0; /* all are younger than that */
    KIT_OK(retain(dir, &rules, &out, err));
    assert_int_equal(out.n_forgotten, 0);
    assert_int_equal(out.n_young, 2);
    retained_deinit(&out);

    rules.before_ns = INT64_MAX;
    rules.dry = true;
    KIT_OK(retain(dir, &rules, &out, err));
    assert_int_equal(out.n_forgotten, 2);
    assert_int_equal(out.files, 4);
    retained_deinit(&out);
    assert_int_equal(kit_count(kit_path(dir, "data")), 10);

    rules.dry = false;
    KIT_OK(retain(dir, &rules, &out, err));
    assert_int_equal(out.n_forgotten, 2);
    assert_int_equal(out.forgotten[0], 1);
    assert_int_equal(out.forgotten[1], 3);
    assert_int_equal(out.n_kept, 3);
    assert_int_equal(out.files, 4);
    retained_deinit(&out);
    assert_int_equal(kit_count(kit_path(dir, "data")), 6);
    assert_true(access(kit_path(dir, "v000003"), F_OK) != 0);
    KIT_OK(snapshot_list(dir, &numbers, &n, err));
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        KIT_OK(snapshot_open(dir, numbers[i], &s, err));
        KIT_OK(snapshot_verify(dir, s, true, NULL, NULL, &faults, err));
        assert_int_equal(faults, 0);
        snapshot_destroy(s);
    }
    free(numbers);
    /* A file of two snapshots stays with the one that is kept. */
    assert_int_equal(publish(dir, make(dir, 2, 25, 'd')), 6);
    rules.keep = 1;
    KIT_OK(tags_remove(dir, "kept", err));
    KIT_OK(retain(dir, &rules, &out, err));
    assert_int_equal(out.n_forgotten, 3);
    assert_int_equal(out.files, 4);
    retained_deinit(&out);
    KIT_OK(snapshot_open(dir, 6, &s, err));
    KIT_OK(snapshot_verify(dir, s, true, NULL, NULL, &faults, err));
    assert_int_equal(faults, 0);
    snapshot_destroy(s);
    assert_int_equal(publish(dir, make(dir, 1, 10, 'z')), 7);
    kit_remove(dir);
}

static void test_compact(void **state)
{
    char *dir = kit_folder();
    struct compact_rules rules = { .target = 1000, .least = 5 };
    struct sluice_error e = ERROR_INIT;
    struct compact_plan plan;
    struct snapshot *s;
    struct snapshot *joined;
    uint32_t number = 0;
    uint64_t bytes = 0;
    uint64_t row = 3;
    const char *file;

    (void)state;
    publish(dir, make(dir, 60, 100, 'a'));
    KIT_OK(snapshot_open(dir, 0, &s, err));
    KIT_OK(compact_plan(s, &rules, &plan, err));
    assert_true(plan.n >= 4 && plan.n <= 9);
    assert_true(plan.joined >= 59);
    for (uint32_t g = 0; g + 1 < plan.n; g++) {
        bytes = 0;
        for (uint32_t i = 0; i < plan.groups[g].n; i++) {
            bytes += s->shards[plan.groups[g].first + i].bytes;
        }
        assert_true(bytes >= 750 && bytes <= 1250);
        assert_int_equal(plan.groups[g].first + plan.groups[g].n, plan.groups[g + 1].first);
    }
    KIT_OK(compact_snapshot(dir, s, &plan, NULL, &number, err));
    assert_int_equal(number, 2);
    KIT_OK(snapshot_open(dir, 0, &joined, err));
    assert_int_equal(joined->rows, s->rows);
    assert_int_equal(joined->bytes, s->bytes);
    assert_int_equal(json_integer_value(json_object_get(joined->measures, "tokens")), 120);
    assert_string_equal(json_string_value(json_object_get(joined->notes, "tokenizer")), "o200k");
    assert_string_equal(joined->node, "gold");
    file = joined->shards[1].file;
    assert_true(compact_origin(joined, &file, &row));
    assert_string_equal(file, s->shards[plan.groups[1].first + 3].file);
    assert_int_equal(row, 0);
    assert_false(compact_origin(joined, &file, &row));
    compact_plan_deinit(&plan);

    /* Again: nothing; and who publishes the old content publishes nothing. */
    KIT_OK(compact_plan(joined, &rules, &plan, err));
    assert_int_equal(plan.n, 0);
    compact_plan_deinit(&plan);
    assert_int_equal(publish(dir, make(dir, 60, 100, 'a')), 2);
    /* From the old one: not behind the newest. */
    KIT_OK(compact_plan(s, &rules, &plan, err));
    rules.target = 5000;
    compact_plan_deinit(&plan);
    KIT_OK(compact_plan(s, &rules, &plan, err));
    assert_int_equal(compact_snapshot(dir, s, &plan, NULL, &number, &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "made from snapshot 1, but meanwhile the newest is 2"));
    compact_plan_deinit(&plan);
    /* A larger target joins what was joined, and rows still find their first file. */
    KIT_OK(compact_plan(joined, &rules, &plan, err));
    KIT_OK(compact_snapshot(dir, joined, &plan, NULL, &number, err));
    snapshot_destroy(joined);
    KIT_OK(snapshot_open(dir, 3, &joined, err));
    file = joined->shards[0].file;
    row = 41;
    assert_true(compact_origin(joined, &file, &row));
    assert_string_equal(file, s->shards[41].file);
    assert_int_equal(publish(dir, make(dir, 60, 100, 'a')), 3);
    snapshot_destroy(joined);
    compact_plan_deinit(&plan);
    snapshot_destroy(s);
    kit_remove(dir);
}

static void test_compact_rules(void **state)
{
    char *dir = kit_folder();
    struct compact_rules rules = { .target = 1000, .least = 5 };
    struct sluice_error e = ERROR_INIT;
    struct compact_plan plan;
    struct snapshot *s = make(dir, 4, 100, 'a');
    struct snapshot *out;

    (void)state;
    /* Too few; then one that is large; then enough, of two suffixes, which don't mix. */
    KIT_OK(compact_plan(s, &rules, &plan, err));
    assert_int_equal(plan.n, 0);
    compact_plan_deinit(&plan);
    add_shard(s, dir, 4, ".jsonl", 'x', 1999);
    for (uint32_t i = 5; i < 10; i++) {
        add_shard(s, dir, i, ".jsonl.zst", 'y', 100 + i);
    }
    KIT_OK(compact_plan(s, &rules, &plan, err));
    assert_int_equal(plan.n, 1);
    assert_int_equal(plan.large, 1);
    assert_int_equal(plan.groups[0].first, 5);
    assert_int_equal(plan.groups[0].n, 5);
    /* A file that was changed is no part of anything. */
    {
        char *path = snapshot_shard_path(dir, &s->shards[6]);
        FILE *file = fopen(path, "r+");
        fputc('!', file);
        fclose(file);
        free(path);
    }
    assert_int_equal(compact_join(dir, s, &plan, NULL, NULL, NULL, &out, &e), SLUICE_E_DATA);
    assert_non_null(strstr(e.message, "holds other bytes than its manifest says"));
    compact_plan_deinit(&plan);
    add_shard(s, dir, 10, ".parquet", 'z', 100);
    assert_int_equal(compact_plan(s, &rules, &plan, &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "can't be joined"));
    compact_plan_deinit(&plan);
    snapshot_destroy(s);
    kit_remove(dir);
}

/* A snapshot of two files of four lines each; lines: "aN", "bN". */
static struct snapshot *make_lines(const char *dir, const char *suffix, bool measured)
{
    static const char text[] = "a0\na1\na2\na3";
    struct snapshot *s = snapshot_create("gold");
    char *data = disk_join(dir, "data");

    KIT_OK(disk_mkdirs(data, err));
    for (unsigned i = 0; i < 2; i++) {
        struct published published;
        char file[64];
        char name[64];
        char bytes[16];
        /* The last line of the second has no newline. */
        snprintf(bytes, sizeof bytes, "%s%s", text, i == 0 ? "\n" : "");
        snprintf(file, sizeof file, "%024u-0000-%012u%s", i, i, suffix);
        snprintf(name, sizeof name, "part-%05u-%012u%s", i, 0, suffix);
        KIT_OK(pending_put(data, file, bytes, strlen(bytes), PENDING_VOUCHED, &published, err));
        KIT_OK(snapshot_add_shard(s, name, file, 4, published.bytes, published.hash,
                                  measured ? json_pack("{s:i}", "tokens", 2) : NULL, err));
    }
    KIT_OK(snapshot_own(s, "p", "gold", err));
    free(data);
    return s;
}

static void check_text(const char *dir, const struct snapshot_shard *shard, const char *expected)
{
    char *path = snapshot_shard_path(dir, shard);
    struct buf text = BUF_INIT;

    KIT_OK(store_read_all(path, 100, &text, NULL, err));
    assert_string_equal(buf_str(&text), expected);
    buf_deinit(&text);
    free(path);
}

static void test_removal(void **state)
{
    static uint64_t first[] = { 0, 2 };
    static uint64_t last[] = { 3 };
    static uint64_t again[] = { 1 };
    struct removal_shard shards[] = { { first, 2 }, { last, 1 } };
    struct removal_terms terms = { .shards = shards };
    char *dir = kit_folder();
    struct snapshot *s = make_lines(dir, ".jsonl", false);
    struct snapshot *next;
    struct snapshot *third;
    const char *file;
    uint64_t row = 1;

    (void)state;
    KIT_OK(removal_make(dir, s, &terms, &next, err));
    check_text(dir, &next->shards[0], "a1\na3\n");
    check_text(dir, &next->shards[1], "a0\na1\na2\n");
    file = next->shards[0].file;
    assert_true(removal_origin(next, &file, &row));
    assert_string_equal(file, s->shards[0].file);
    assert_int_equal(row, 3);

    /* Of what was written again; then nothing is left of it. */
    shards[0] = (struct removal_shard){ again, 1 };
    shards[1].n = 0;
    KIT_OK(removal_make(dir, next, &terms, &third, err));
    check_text(dir, &third->shards[0], "a1\n");
    row = 0;
    file = third->shards[0].file;
    assert_true(removal_origin(third, &file, &row));
    assert_int_equal(row, 1);
    snapshot_destroy(next);
    again[0] = 0;
    KIT_OK(removal_make(dir, third, &terms, &next, err));
    assert_int_equal(next->n_shards, 1);
    snapshot_destroy(third);

    /* What a run makes again is published without these rows. */
    next->number = 2;
    KIT_OK(removal_apply(dir, next, s, NULL, &third, err));
    assert_int_equal(third->n_shards, 1);
    assert_string_equal(third->shards[0].file, next->shards[0].file);
    snapshot_destroy(third);
    snapshot_destroy(next);
    snapshot_destroy(s);
    kit_remove(dir);
}

static void check_refused(const char *suffix, bool measured, uint64_t rows, const char *message)
{
    static uint64_t numbers[] = { 0 };
    const struct removal_shard shards[] = { { numbers, 1 }, { NULL, 0 } };
    const struct removal_terms terms = { .shards = shards };
    char *dir = kit_folder();
    struct snapshot *s = make_lines(dir, suffix, measured);
    struct snapshot *next;
    struct sluice_error e = ERROR_INIT;

    s->shards[0].rows = rows;
    if (rows == 0) { /* other bytes */
        s->shards[0].rows = 4;
        s->shards[0].hash.lo ^= 1;
    }
    assert_int_not_equal(removal_make(dir, s, &terms, &next, &e), SLUICE_OK);
    assert_non_null(strstr(e.message, message));
    assert_null(next);
    snapshot_destroy(s);
    kit_remove(dir);
}

static void test_removal_refused(void **state)
{
    (void)state;
    check_refused(".parquet", false, 4, "can't be rewritten here");
    check_refused(".jsonl", true, 4, "has measures");
    check_refused(".jsonl", false, 5, "has 4 rows, the manifest says 5");
    check_refused(".jsonl", false, 0, "holds other bytes than its manifest says");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),    cmocka_unit_test(test_retain),
        cmocka_unit_test(test_compact), cmocka_unit_test(test_compact_rules),
        cmocka_unit_test(test_removal), cmocka_unit_test(test_removal_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
