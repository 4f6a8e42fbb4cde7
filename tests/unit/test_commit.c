/* store/commit: records keep everything, are believed only when whole, and two runs of one task
 * must agree. */
#include "store_kit.h"

#include "alloc_fail.h"
#include "store/commit.h"
#include "store/pending.h"

static struct hash128 number_hash(uint64_t n)
{
    return hash_bytes(&n, sizeof n);
}

/* A record with everything in it; variant changes one thing (0 = nothing). */
static sluice_status make_record(int variant, struct commit **out, struct sluice_error *err)
{
    struct commit *c = commit_create(number_hash(1), variant == 1 ? "phase-2" : "phase-1",
                                     "split 3 of corpus/\xff\"x\".jsonl");
    struct commit_output first = {
        .port = "kept", .file = "0011.spill", .bytes = 1000000, .rows = 77
    };
    struct commit_output second = { .port = "dropped", .file = "" };
    sluice_status status = SLUICE_OK;

    *out = c;
    if (c == NULL) {
        return error_nomem(err, "a record");
    }
    first.hash = number_hash(variant == 2 ? 20 : 2);
    first.rows += variant == 3;
    (void)((status = commit_add_part(c, "stage 1", "gopher_quality 1.0", err)) == SLUICE_OK &&
           (status = commit_add_part(c, "input 0",
                                     variant == 5 ? "abc" : "ab\xc3\xa4\xf0\x9f\x98\x80\xe2\x82",
                                     err)) == SLUICE_OK &&
           (status = commit_add_output(c, &first, err)) == SLUICE_OK &&
           (status = commit_add_output(c, &second, err)) == SLUICE_OK &&
           (status = commit_add_state(c, "gate", "\0\1\2\377", variant == 6 ? 3 : 4, err)) ==
               SLUICE_OK &&
           (status = commit_add_state(c, "empty", "", 0, err)) == SLUICE_OK);
    if (status == SLUICE_OK) {
        c->ledger = json_pack("{s:I, s:{s:I}}", "rows_in", (json_int_t)100, "dropped", "too_short",
                              (json_int_t)(23 + (variant == 4)));
        c->notes = json_pack("[s, b]", "x", variant == 7);
        status = c->ledger == NULL || c->notes == NULL ? error_nomem(err, "a test") : SLUICE_OK;
    }
    return status;
}

static struct commit *record(int variant)
{
    struct commit *c;

    KIT_OK(make_record(variant, &c, err));
    return c;
}

/* What a task is called is in the records of earlier versions alone. */
static void test_nameless(void **state)
{
    struct commit *a = commit_create(number_hash(3), "p", "");
    struct commit *b;
    struct buf text = BUF_INIT;

    (void)state;
    KIT_OK(commit_print(a, &text, err));
    assert_null(strstr(buf_str(&text), "task"));
    KIT_OK(commit_parse(text.data, text.size, &b, err));
    assert_string_equal(b->task, "");
    commit_destroy(a);
    commit_destroy(b);
    buf_deinit(&text);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        struct commit *a = record(variant);
        struct commit *b;
        struct buf text = BUF_INIT;
        struct buf again = BUF_INIT;
        json_t *root;
        KIT_OK(commit_print(a, &text, err));
        KIT_OK(commit_parse(text.data, text.size, &b, err));
        assert_true(hash_equal(a->key, b->key));
        assert_string_equal(b->phase, variant == 1 ? "phase-2" : "phase-1");
        assert_string_equal(b->task, "split 3 of corpus/\\xff\"x\".jsonl");
        assert_int_equal(b->n_parts, 2);
        assert_string_equal(b->parts[1].name, "input 0");
        assert_string_equal(b->parts[1].value, "ab\xc3\xa4\xf0\x9f\x98\x80\\xe2\\x82");
        assert_int_equal(b->n_outputs, 2);
        assert_ptr_equal(commit_find_output(b, "kept"), &b->outputs[0]);
        assert_null(commit_find_output(b, "else"));
        assert_int_equal(b->outputs[0].bytes, 1000000);
        assert_int_equal(b->outputs[0].rows, 77);
        assert_true(hash_equal(b->outputs[0].hash, number_hash(2)));
        assert_string_equal(b->outputs[1].file, "");
        assert_int_equal(commit_find_state(b, "gate")->size, 4);
        assert_memory_equal(commit_find_state(b, "gate")->data, "\0\1\2\377", 4);
        assert_int_equal(commit_find_state(b, "empty")->size, 0);
        assert_null(commit_find_state(b, "else"));
        assert_true(json_equal(a->ledger, b->ledger) && json_equal(a->notes, b->notes));
        /* The text of what was read is the text. */
        KIT_OK(commit_print(b, &again, err));
        assert_int_equal(text.size, again.size);
        assert_memory_equal(text.data, again.data, text.size);
        /* It is JSON for others too. */
        root = json_loadb(text.data, text.size, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(root);
        assert_int_equal(json_array_size(json_object_get(root, "outputs")), 2);
        json_decref(root);
        commit_destroy(a);
        commit_destroy(b);
        buf_deinit(&text);
        buf_deinit(&again);
    }
}

static void test_minimal(void **state)
{
    struct commit *a = commit_create(number_hash(9), "", "");
    struct commit *b;
    struct buf text = BUF_INIT;

    (void)state;
    KIT_OK(commit_print(a, &text, err));
    KIT_OK(commit_parse(text.data, text.size, &b, err));
    assert_null(b->ledger);
    assert_null(b->notes);
    assert_int_equal(b->n_outputs + b->n_parts + b->n_states, 0);
    commit_destroy(a);
    commit_destroy(b);
    commit_destroy(NULL);
    buf_deinit(&text);
}

/* Every bit flip and every truncation is noticed. */
static void test_damage(void **state)
{
    struct commit *a = record(0);
    struct commit *b;
    struct buf text = BUF_INIT;
    struct sluice_error e = ERROR_INIT;

    (void)state;
    KIT_OK(commit_print(a, &text, err));
    for (size_t i = 0; i < text.size; i++) {
        assert_int_equal(commit_parse(text.data, i, &b, &e), SLUICE_E_DATA);
        assert_null(b);
        for (int bit = 0; bit < 8; bit++) {
            text.data[i] = (char)(text.data[i] ^ (1 << bit));
            assert_int_equal(commit_parse(text.data, text.size, &b, &e), SLUICE_E_DATA);
            assert_null(b);
            text.data[i] = (char)(text.data[i] ^ (1 << bit));
        }
    }
    commit_destroy(a);
    buf_deinit(&text);
}

/* A record with a right check and this text behind it. */
static sluice_status parse_checked(const char *rest, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    struct commit *c;
    char hex[33];
    sluice_status status;

    hash_hex(hash_bytes(rest, strlen(rest)), hex);
    buf_printf(&text, "{\"check\":\"%s\",%s", hex, rest);
    status = commit_parse(text.data, text.size, &c, err);
    commit_destroy(c);
    buf_deinit(&text);
    return status;
}

#define HEAD \
    "\"format\":1,\"key\":\"00000000000000000000000000000001\",\"ledger\":null,\"notes\":null,"
#define TAIL ",\"parts\":[],\"phase\":\"p\",\"states\":[],\"task\":\"t\"}"
#define OUTPUT(bytes, file)                                   \
    HEAD "\"outputs\":[{\"bytes\":" bytes ",\"file\":\"" file \
         "\",\"hash\":\"00000000000000000000000000000001\",\"port\":\"a\",\"rows\":0}]" TAIL

static void test_hostile(void **state)
{
    static const char *const good[] = { HEAD "\"outputs\":[]" TAIL, OUTPUT("1", "f") };
    static const char *const bad[] = {
        "",
        "}",
        "1}",
        HEAD "\"outputs\":{}" TAIL,
        HEAD "\"outputs\":[],\"outputs\":[]" TAIL,
        HEAD "\"outputs\":[1]" TAIL,
        OUTPUT("-1", "f"),
        OUTPUT("1.0", "f"),
        OUTPUT("99999999999999999999", "f"),
        OUTPUT("1", "../f"),
        OUTPUT("1", "a/f"),
        OUTPUT("1", ".tmp-f"),
        HEAD "\"outputs\":[],\"parts\":[[\"a\"]],\"phase\":\"p\",\"states\":[],\"task\":\"t\"}",
        HEAD "\"outputs\":[],\"parts\":[],\"phase\":\"p\",\"states\":[{\"name\":\"a\",\"data\":\"="
             "\"}],\"task\":\"t\"}",
        "\"format\":2,\"key\":\"00000000000000000000000000000001\",\"ledger\":null,\"notes\":null,"
        "\"outputs\":[]" TAIL,
        HEAD "\"outputs\":[]" TAIL "}",
        HEAD "\"outputs\":[]" TAIL "\n\"AAAA\"\n",
    };
    struct sluice_error e = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        KIT_OK(parse_checked(good[i], err));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (parse_checked(bad[i], &e) != SLUICE_E_DATA) {
            fail_msg("believed: %s", bad[i]);
        }
    }
}

static void test_write_and_read(void **state)
{
    char *dir = kit_folder();
    struct commit *a = record(0);
    struct commit *b;
    bool existed;
    bool damaged;
    struct hash128 *keys;
    size_t n;

    (void)state;
    KIT_OK(commit_read(dir, a->key, &b, &damaged, err));
    assert_true(b == NULL && !damaged);
    KIT_OK(commit_write(a, dir, true, &existed, err));
    assert_false(existed);
    KIT_OK(commit_write(a, dir, true, &existed, err));
    assert_true(existed);
    KIT_OK(commit_write(a, dir, true, NULL, err));
    KIT_OK(commit_read(dir, a->key, &b, NULL, err));
    assert_non_null(b);
    commit_destroy(b);
    b = commit_create(number_hash(4), "p", "t");
    KIT_OK(commit_write(b, dir, true, &existed, err));
    commit_destroy(b);
    kit_write(kit_path(dir, "0123.json"), "x", 1);
    kit_write(kit_path(dir, "G0000000000000000000000000000001.json"), "x", 1);
    kit_write(kit_path(dir, "00000000000000000000000000000001.txt"), "x", 1);
    KIT_OK(commit_list(dir, &keys, &n, err));
    assert_int_equal(n, 2);
    assert_true((hash_equal(keys[0], a->key) && hash_equal(keys[1], number_hash(4))) ||
                (hash_equal(keys[1], a->key) && hash_equal(keys[0], number_hash(4))));
    free(keys);
    KIT_OK(commit_list(kit_path(dir, "absent"), &keys, &n, err));
    assert_int_equal(n, 0);
    free(keys);
    commit_destroy(a);
    kit_remove(dir);
}

static void test_damaged_record_is_replaced(void **state)
{
    char *dir = kit_folder();
    struct commit *a = record(0);
    struct commit *b;
    struct sluice_error e = ERROR_INIT;
    char name[40];
    bool damaged;
    bool existed;

    (void)state;
    hash_hex(a->key, name);
    strcat(name, ".json");
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 2) { /* a whole record, but of another key */
            struct commit *other = commit_create(number_hash(4), "p", "t");
            struct buf text = BUF_INIT;
            KIT_OK(commit_print(other, &text, err));
            kit_write(kit_path(dir, name), text.data, text.size);
            buf_deinit(&text);
            commit_destroy(other);
        } else {
            kit_write(kit_path(dir, name), "{\"check\":", kind == 0 ? 0 : 9);
        }
        assert_int_equal(commit_read(dir, a->key, &b, &damaged, &e), SLUICE_OK);
        assert_true(b == NULL && damaged);
        assert_non_null(strstr(e.message, name));
        KIT_OK(commit_write(a, dir, true, &existed, err));
        assert_false(existed);
        KIT_OK(commit_read(dir, a->key, &b, &damaged, err));
        assert_true(b != NULL && !damaged);
        commit_destroy(b);
        assert_int_equal(unlink(kit_path(dir, name)), 0);
    }
    commit_destroy(a);
    kit_remove(dir);
}

static void test_not_deterministic(void **state)
{
    static const char *const differences[] = {
        "",           "",          "'kept': hash", "'kept': number of rows",
        "the ledger", "'input 0'", "state 'gate'", "the notes"
    };
    char *dir = kit_folder();
    struct commit *a = record(0);

    (void)state;
    KIT_OK(commit_write(a, dir, true, NULL, err));
    for (int variant = 1; variant <= 7; variant++) {
        struct commit *b = record(variant);
        struct sluice_error e = ERROR_INIT;
        bool existed;
        assert_int_equal(commit_write(b, dir, true, &existed, &e), SLUICE_E_INTERNAL);
        assert_non_null(strstr(e.message, differences[variant]));
        assert_non_null(strstr(e.message, "not deterministic"));
        assert_false(existed);
        commit_destroy(b);
    }
    { /* a twin: another task that does the same work */
        struct commit *b = record(0);
        bool existed;
        b->task = "another";
        KIT_OK(commit_write(b, dir, true, &existed, err));
        assert_true(existed);
        commit_destroy(b);
    }
    commit_destroy(a);
    assert_int_equal(kit_count(dir), 1);
    kit_remove(dir);
}

static const char *folder_of(void *ctx, const struct commit_output *output)
{
    return strcmp(output->port, "elsewhere") == 0 ? NULL : ctx;
}

static void test_outputs_valid(void **state)
{
    char *dir = kit_folder();
    struct commit *c = commit_create(number_hash(1), "p", "t");
    struct published published;
    struct commit_output output = { .port = "kept", .file = "f" };
    struct commit_output none = { .port = "none", .file = "" };
    struct commit_output elsewhere = { .port = "elsewhere", .file = "g" };
    struct sluice_error e = ERROR_INIT;
    struct vouch *vouch;
    bool valid;

    (void)state;
    KIT_OK(vouch_open(kit_path(dir, "known"), &vouch, err));
    KIT_OK(pending_put(dir, "f", "0123456789", 10, PENDING_VOUCHED, &published, err));
    output.bytes = published.bytes;
    output.hash = published.hash;
    KIT_OK(commit_add_output(c, &output, err));
    KIT_OK(commit_add_output(c, &none, err));
    KIT_OK(commit_outputs_valid(c, folder_of, dir, NULL, &valid, err));
    assert_true(valid);
    KIT_OK(commit_outputs_valid(c, folder_of, dir, vouch, &valid, err));
    assert_true(valid);
    kit_write(kit_path(dir, "f"), "0123456780", 10);
    KIT_OK(commit_outputs_valid(c, folder_of, dir, NULL, &valid, err));
    assert_true(valid);
    assert_int_equal(commit_outputs_valid(c, folder_of, dir, vouch, &valid, &e), SLUICE_OK);
    assert_false(valid);
    assert_non_null(strstr(e.message, "hash"));
    kit_write(kit_path(dir, "f"), "012345678", 9);
    assert_int_equal(commit_outputs_valid(c, folder_of, dir, NULL, &valid, &e), SLUICE_OK);
    assert_false(valid);
    assert_non_null(strstr(e.message, "9 bytes"));
    assert_int_equal(unlink(kit_path(dir, "f")), 0);
    assert_int_equal(commit_outputs_valid(c, folder_of, dir, vouch, &valid, &e), SLUICE_OK);
    assert_false(valid);
    assert_non_null(strstr(e.message, "missing"));
    KIT_OK(pending_put(dir, "f", "0123456789", 10, PENDING_VOUCHED, &published, err));
    KIT_OK(commit_add_output(c, &elsewhere, err));
    assert_int_equal(commit_outputs_valid(c, folder_of, dir, NULL, &valid, &e), SLUICE_OK);
    assert_false(valid);
    assert_non_null(strstr(e.message, "no place"));
    vouch_close(vouch);
    commit_destroy(c);
    kit_remove(dir);
}

static void test_impossible_numbers(void **state)
{
    struct commit *c = commit_create(number_hash(1), "p", "t");
    struct commit_output output = { .port = "a", .file = "f", .bytes = (uint64_t)INT64_MAX + 1 };
    struct commit_output bad = { .port = "a", .file = "../f" };
    struct buf text = BUF_INIT;
    struct sluice_error e = ERROR_INIT;

    (void)state;
    assert_int_equal(commit_add_output(c, &bad, &e), SLUICE_E_INTERNAL);
    KIT_OK(commit_add_output(c, &output, err));
    assert_int_equal(commit_print(c, &text, &e), SLUICE_E_INTERNAL);
    commit_destroy(c);
    buf_deinit(&text);
}

static sluice_status make_print_parse(struct sluice_error *err)
{
    struct commit *a;
    struct commit *b = NULL;
    struct buf text = BUF_INIT;
    sluice_status status = make_record(0, &a, err);

    if (status == SLUICE_OK) {
        status = commit_print(a, &text, err);
    }
    if (status == SLUICE_OK) {
        status = commit_parse(text.data, text.size, &b, err);
    }
    commit_destroy(a);
    commit_destroy(b);
    buf_deinit(&text);
    /* jansson does not always tell want of memory from broken text: then a whole record counts as
     * damaged, which fails closed. */
    return status == SLUICE_E_DATA && alloc_state.failed ? SLUICE_E_NOMEM : status;
}

static void test_out_of_memory(void **state)
{
    sluice_status status;
    struct sluice_error e = ERROR_INIT;

    (void)state;
    ALLOC_EACH(status = make_print_parse(&e), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nameless),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_minimal),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_write_and_read),
        cmocka_unit_test(test_damaged_record_is_replaced),
        cmocka_unit_test(test_not_deterministic),
        cmocka_unit_test(test_outputs_valid),
        cmocka_unit_test(test_impossible_numbers),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
