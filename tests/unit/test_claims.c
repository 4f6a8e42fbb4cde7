/* run/asks/claims: who may ask what, among processes of a run; on a disk and in a store whose
 * requests go wrong. */
#include "store_kit.h"

#include "run/asks/claims.h"

static bool hostile;

/* A run directory. */
struct place {
    char *dir, *objects;
};

static struct place place(void)
{
    static unsigned n; /* a request that comes late comes to its own place */
    struct place run = { .dir = NULL };

    if (!hostile) {
        run.dir = kit_folder();
        return run;
    }
    run.objects = kit_folder();
    setenv("SLUICE_TEST_HOSTILE_ROOT", run.objects, 1);
    run.dir = str_printf("hostile://bucket/run%u", n++);
    return run;
}

static void place_remove(struct place *run)
{
    if (hostile) {
        kit_remove(run->objects);
        free(run->dir);
    } else {
        kit_remove(run->dir);
    }
}

/* A process. */
struct party {
    struct member *member;
    struct journal *journal;
    struct claims *claims;
};

static struct party come(const struct place *run)
{
    struct party party;
    char *workers = store_join(run->dir, "workers");
    char *answers = store_join(run->dir, "answers");
    char *claims = store_join(run->dir, "claims");

    KIT_OK(member_join(workers, "run", &party.member, err));
    KIT_OK(journal_open(answers, NULL, NULL, &party.journal, err));
    journal_call(party.journal, member_id(party.member));
    KIT_OK(claims_open(claims, party.journal, party.member, &party.claims, err));
    free(workers);
    free(answers);
    free(claims);
    return party;
}

static void go(struct party *party)
{
    claims_close(party->claims);
    journal_close(party->journal);
    member_leave(party->member);
}

static struct hash128 key_of(uint32_t k)
{
    return hash_bytes(&k, sizeof k);
}

/* One letter for each of n asks from k on: Ours, Another's, Later. */
static const char *take_some(struct party *party, uint32_t k, uint32_t n, bool anyhow)
{
    static char text[100];
    struct claim_wish wishes[99];
    bool wrote;

    for (uint32_t i = 0; i < n; i++) {
        wishes[i] = (struct claim_wish){ .key = key_of(k + i), .anyhow = anyhow };
    }
    KIT_OK(claims_take(party->claims, wishes, n, &wrote, err));
    for (uint32_t i = 0; i < n; i++) {
        text[i] = wishes[i].claim == CLAIM_OURS ? 'O' : wishes[i].claim == CLAIM_LATER ? 'L' : 'A';
    }
    text[n] = '\0';
    return text;
}

static const char *take(struct party *party, uint32_t k, uint32_t n)
{
    return take_some(party, k, n, false);
}

static void share(struct party *party, uint32_t k, uint32_t n)
{
    struct hash128 keys[99];

    for (uint32_t i = 0; i < n; i++) {
        keys[i] = key_of(k + i);
    }
    KIT_OK(claims_look(party->claims, err));
    assert_true(claims_crowded(party->claims));
    KIT_OK(claims_share(party->claims, keys, n, err));
    assert_false(claims_crowded(party->claims) || claims_alone(party->claims));
}

/* Two that both said what they ask: a asks 0 and 1, b asks nothing. */
static void two(struct place *run, struct party *a, struct party *b)
{
    *run = place();
    *a = come(run);
    *b = come(run);
    assert_string_equal(take(a, 0, 2), "OO");
    assert_string_equal(take(b, 0, 2), "LL");
    share(a, 0, 2);
}

static size_t n_files(const struct place *run)
{
    char *folder = store_join(run->dir, "claims");
    struct store_list list = { 0 };
    size_t n;

    KIT_OK(store_list(folder, 0, &list, err));
    n = list.n;
    store_list_deinit(&list);
    free(folder);
    return n;
}

/* Who is alone says so once, however much it asks. */
static void test_alone(void **state)
{
    struct place run = place();
    struct party a = come(&run);

    (void)state;
    assert_false(claims_alone(a.claims));
    for (uint32_t k = 0; k < 1000; k += 50) {
        assert_string_equal(take(&a, k, 3), "OOO");
        KIT_OK(claims_look(a.claims, err));
        assert_true(claims_alone(a.claims));
    }
    KIT_OK(claims_give(a.claims, NULL, 0, err));
    go(&a);
    if (!hostile) {
        assert_int_equal(n_files(&run), 2); /* and that it left */
    }
    a = come(&run);
    assert_string_equal(take(&a, 0, 1), "O");
    assert_true(claims_alone(a.claims));
    go(&a);
    place_remove(&run);
}

static void test_two(void **state)
{
    struct place run;
    struct party a, b, c;

    (void)state;
    two(&run, &a, &b);
    assert_string_equal(take(&b, 0, 3), "AAO");
    assert_string_equal(take(&a, 2, 2), "AO");
    assert_string_equal(take(&a, 0, 2), "OO"); /* its own */
    assert_true(claims_held(b.claims, key_of(0)) && !claims_held(b.claims, key_of(2)));
    c = come(&run);
    assert_string_equal(take(&c, 0, 6), "AAAAOO");
    go(&c);
    go(&a);
    go(&b);
    place_remove(&run);
}

static void test_given_back(void **state)
{
    struct place run;
    struct party a, b;
    struct hash128 key = key_of(1);

    (void)state;
    two(&run, &a, &b);
    KIT_OK(claims_give(b.claims, &key, 1, err)); /* it is another's: nothing changes */
    assert_string_equal(take(&b, 0, 2), "AA");
    KIT_OK(claims_give(a.claims, &key, 1, err));
    assert_string_equal(take(&b, 0, 2), "AO");
    assert_string_equal(take(&a, 1, 1), "A");
    go(&a); /* what it had it gives back with it */
    assert_string_equal(take(&b, 0, 1), "O");
    assert_true(claims_alone(b.claims));
    go(&b);
    place_remove(&run);
}

static void test_waited_for_long(void **state)
{
    struct place run;
    struct party a, b;

    (void)state;
    two(&run, &a, &b);
    assert_string_equal(take_some(&b, 0, 2, true), "OO");
    assert_string_equal(take(&a, 0, 2), "AA");
    go(&a);
    go(&b);
    place_remove(&run);
}

static int ask_and_die(void *ctx)
{
    struct party party = come(ctx);

    return strcmp(take(&party, 0, 2), "OO") == 0 ? 7 : 8;
}

static int knock_and_die(void *ctx)
{
    struct party party = come(ctx);

    return strcmp(take(&party, 0, 2), "LL") == 0 ? 7 : 8;
}

static void test_dead(void **state)
{
    struct place run = place();
    struct party a;

    (void)state;
    assert_int_equal(kit_child(ask_and_die, &run, NULL, NULL), 7); /* it was alone */
    a = come(&run);
    assert_string_equal(take(&a, 0, 2), "OO");
    assert_true(claims_alone(a.claims));
    assert_int_equal(kit_child(knock_and_die, &run, NULL, NULL), 7);
    share(&a, 0, 2);
    assert_string_equal(take(&a, 2, 2), "OO"); /* and is alone again */
    assert_true(claims_alone(a.claims));
    go(&a);
    place_remove(&run);
}

/* Answers that came meanwhile are known behind a claim, whatever a list lacks. */
static void test_answered_meanwhile(void **state)
{
    struct place run;
    struct party a, b;
    struct journal_answer answer = { .code = 200, .body = (char *)(uintptr_t) "yes", .body_n = 3 };

    (void)state;
    two(&run, &a, &b);
    for (uint32_t k = 0; k < 2; k++) {
        KIT_OK(journal_add(a.journal, key_of(k), &answer, err));
        KIT_OK(journal_sync(a.journal, err));
    }
    KIT_OK(claims_look(b.claims, err));
    KIT_OK(journal_catch_up(b.journal, err));
    assert_true(journal_knows(b.journal, key_of(0)) && journal_knows(b.journal, key_of(1)));
    go(&a);
    go(&b);
    place_remove(&run);
}

/* Many entries: generations follow each other, nothing is forgotten, and few files stay. */
static void test_generations(void **state)
{
    struct place run;
    struct party a, b, c;
    uint32_t n = 60;
    char all[100];

    (void)state;
    setenv("SLUICE_TEST_CLAIMS", "4", 1);
    two(&run, &a, &b);
    for (uint32_t k = 2; k < n; k++) {
        assert_string_equal(take(k % 3 == 0 ? &a : &b, k, 1), "O");
        assert_string_equal(take(k % 3 == 0 ? &b : &a, k, 1), "A");
    }
    c = come(&run);
    memset(all, 'A', n);
    all[n] = '\0';
    assert_string_equal(take(&c, 0, n), all);
    if (!hostile) {
        assert_true(n_files(&run) < 30); /* 58 entries and more without */
    }
    go(&a);
    go(&b);
    for (uint32_t k = 0; k < n; k++) {
        assert_string_equal(take(&c, k, 1), "O");
    }
    go(&c);
    unsetenv("SLUICE_TEST_CLAIMS");
    place_remove(&run);
}

/* One that is alone while generations pass, and others that read sums alone. */
static void test_alone_in_a_sum(void **state)
{
    struct place run = place();
    struct party a, b, c;

    (void)state;
    setenv("SLUICE_TEST_CLAIMS", "2", 1);
    a = come(&run);
    b = come(&run);
    c = come(&run);
    assert_string_equal(take(&a, 0, 1), "O");
    assert_string_equal(take(&b, 0, 1), "L"); /* sums up */
    assert_string_equal(take(&c, 0, 1), "L");
    share(&a, 0, 1);
    assert_string_equal(take(&c, 0, 2), "AO");
    assert_string_equal(take(&b, 0, 3), "AAO");
    go(&a);
    go(&b);
    go(&c);
    unsetenv("SLUICE_TEST_CLAIMS");
    place_remove(&run);
}

/* What can't be read is nobody's. */
static void test_damaged(void **state)
{
    struct place run = place();
    struct party a;
    enum store_put outcome;
    static const char *const texts[] = { "", "{", "[1]", "{\"id\":\"x\",\"alone\":true}",
                                         "{\"owner\":\"0-0-0-1-1\",\"id\":\"\",\"alone\":true}" };

    (void)state;
    for (uint32_t k = 0; k < 5; k++) {
        char *path = str_printf("%s/claims/000001.%06u", run.dir, k + 1);
        KIT_OK(store_put_new(path, texts[k], strlen(texts[k]), 0, &outcome, err));
        free(path);
    }
    a = come(&run);
    assert_string_equal(take(&a, 0, 1), "O");
    assert_true(claims_alone(a.claims));
    go(&a);
    place_remove(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),       cmocka_unit_test(test_two),
        cmocka_unit_test(test_given_back),  cmocka_unit_test(test_waited_for_long),
        cmocka_unit_test(test_dead),        cmocka_unit_test(test_answered_meanwhile),
        cmocka_unit_test(test_generations), cmocka_unit_test(test_alone_in_a_sum),
        cmocka_unit_test(test_damaged),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    hostile = true;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    for (int seed = 1; seed <= 5; seed++) { /* refused, lost, late, stale lists */
        char text[20];
        snprintf(text, sizeof text, "%d:5", seed);
        setenv("SLUICE_TEST_HOSTILE", text, 1);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
