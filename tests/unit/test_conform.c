/* The conformance kit's parts that need no stage: rows that depend on their id alone, batches in
 * guarded memory, comparing outcomes, reports. What the kit finds in stages is tested by
 * tests/conform. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "testkit/kitInt.h"
#include "data/builder.h"

/* ---- texts ---- */

static void texts_are_valid_and_repeatable(void **state)
{
    (void)state;
    for (uint64_t id = 0; id < 400; id++) {
        struct buf one = BUF_INIT;
        struct buf two = BUF_INIT;
        struct kit_random a = kit_random_of(7, "text", id);
        struct kit_random b = kit_random_of(7, "text", id);
        kit_text(&one, &a, id % 2 == 0 ? KIT_ORDINARY : KIT_HOSTILE);
        kit_text(&two, &b, id % 2 == 0 ? KIT_ORDINARY : KIT_HOSTILE);
        assert_true(utf8_valid(one.data, one.size));
        assert_int_equal(one.size, two.size);
        assert_true(one.size == 0 || memcmp(one.data, two.data, one.size) == 0);
        buf_deinit(&one);
        buf_deinit(&two);
    }
}

static void seeds_and_columns_differ(void **state)
{
    struct kit_random a = kit_random_of(1, "text", 5);
    struct kit_random b = kit_random_of(2, "text", 5);
    struct kit_random c = kit_random_of(1, "title", 5);
    struct kit_random d = kit_random_of(1, "text", 6);
    uint64_t first = kit_next(&a);

    (void)state;
    assert_true(first != kit_next(&b));
    assert_true(first != kit_next(&c));
    assert_true(first != kit_next(&d));
}

static void huge_texts_are_as_long_as_asked(void **state)
{
    (void)state;
    for (int blanks = 0; blanks < 2; blanks++) {
        struct buf text = BUF_INIT;
        kit_text_huge(&text, 3 << 20, blanks == 1);
        assert_true(text.size >= 3 << 20 && text.size < 4 << 20);
        assert_true(utf8_valid(text.data, text.size));
        assert_true((memchr(text.data, ' ', text.size) != NULL) == (blanks == 1));
        buf_deinit(&text);
    }
}

/* ---- guarded memory ---- */

static const void *seen;

static void on_fault(int number, siginfo_t *info, void *context)
{
    const char *meaning = kit_view_fault(info->si_addr);

    (void)number;
    (void)context;
    seen = info->si_addr;
    _exit(meaning == NULL ? 9 : strstr(meaning, "writes") != NULL ? 1 : 2);
}

/* What a child that touches memory dies of: 0 nothing, 1 a write to its input, 2 a read past its
 * end, 9 something else. */
static int touch(const char *place, bool write)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
        if (write) {
            *(volatile char *)(uintptr_t)place = 'x';
        } else {
            char c = *(volatile const char *)place;
            (void)c;
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void chunks_end_where_memory_ends(void **state)
{
    struct kit_view view;
    struct sluice_error err = ERROR_INIT;
    const char *at;

    (void)state;
    assert_int_equal(kit_view_bytes("hello", 5, true, 0xa5, &view, &at, &err), SLUICE_OK);
    assert_memory_equal(at, "hello", 5);
    assert_int_equal((unsigned char)at[5], 0xa5);
    assert_int_equal(touch(at + 5 + SLUICE_PADDING - 1, false), 0);
    assert_int_equal(touch(at + 5 + SLUICE_PADDING, false), 2);
    assert_int_equal(touch(at, true), 1);
    kit_view_deinit(&view);
    assert_int_equal(kit_view_bytes("", 0, false, 0, &view, &at, &err), SLUICE_OK);
    assert_int_equal(touch(at, true), 0);
    assert_int_equal(touch(at + SLUICE_PADDING, false), 2);
    kit_view_deinit(&view);
}

/* A column of three texts, the second null, and one of lists. */
static struct column *make_column(const char *type_text, struct type **type)
{
    struct sluice_error err = ERROR_INIT;
    struct builder *builder = NULL;
    struct ArrowArray array;
    const uint32_t items[] = { 4, 5, 6 };

    assert_int_equal(type_parse(type_text, type, &err), SLUICE_OK);
    assert_int_equal(builder_create(*type, &builder, &err), SLUICE_OK);
    for (int row = 0; row < 3; row++) {
        if ((*type)->kind == TYPE_LIST) {
            assert_true(builder_list_fixed(builder, items, (size_t)row));
        } else {
            assert_true(row == 1 ? builder_null(builder)
                                 : builder_bytes_add(builder, "abcdef", (size_t)row + 2));
        }
    }
    assert_int_equal(builder_finish(builder, &array, &err), SLUICE_OK);
    builder_destroy(builder);
    return column_create(&array);
}

static void batches_are_copies_of_the_picked_rows(void **state)
{
    struct type *types[2];
    struct column *columns[2] = { make_column("utf8?", &types[0]),
                                  make_column("list<uint32>", &types[1]) };
    struct kit_rows rows = {
        .n_columns = 2, .n = 3, .types = (const struct type **)types, .columns = columns
    };
    const uint32_t pick[] = { 2, 1, 2, 0 };
    const uint32_t selected[] = { 1, 3 };
    struct kit_view view;
    struct sluice_error err = ERROR_INIT;
    const struct ArrowArray *text;
    const struct ArrowArray *lists;
    size_t n;

    (void)state;
    assert_int_equal(kit_view_make(&rows, 0, pick, 4, selected, 2, true, 0xff, &view, &err),
                     SLUICE_OK);
    assert_int_equal(view.batch.n, 2);
    assert_int_equal(view.batch.array->length, 4);
    assert_int_equal(view.batch.rows[1], 3);
    text = view.batch.array->children[0];
    lists = view.batch.array->children[1];
    assert_memory_equal(array_bytes(text, 0, &n), "abcd", 4);
    assert_int_equal(n, 4);
    assert_true(array_is_null(text, 1));
    assert_false(array_is_null(text, 3));
    assert_int_equal(((const int32_t *)lists->buffers[1])[1], 2);
    assert_int_equal(((const uint32_t *)lists->children[0]->buffers[1])[1], 5);
    for (int k = 0; k < 2; k++) {
        if (array_validate(view.array.children[k], types[k], 4, "column", &err) != SLUICE_OK) {
            fail_msg("%s", err.message);
        }
    }
    assert_false(kit_view_released());
    assert_int_equal(touch(text->buffers[2], true), 1);
    assert_int_equal(touch(text->buffers[1], true), 1);
    assert_int_equal(touch((const char *)text->buffers[2] + 4096, false), 2);
    kit_view_deinit(&view);
    for (int k = 0; k < 2; k++) {
        column_unref(columns[k]);
        type_destroy(types[k]);
    }
}

/* ---- outcomes ---- */

static void refuse(struct kit_outcome *outcome, uint64_t id, const char *message)
{
    struct sluice_error err = ERROR_INIT;

    error_set(&err, SLUICE_E_DATA, "%s", message);
    kit_outcome_refused(outcome, id, &err);
}

static void outcomes_show_the_first_difference(void **state)
{
    struct kit_outcome one;
    struct kit_outcome two;
    struct buf why = BUF_INIT;

    (void)state;
    kit_outcome_init(&one);
    kit_outcome_init(&two);
    refuse(&one, 3, "same");
    refuse(&two, 3, "same");
    assert_true(kit_outcome_equal(&one, "A", &two, "B", &why));
    refuse(&one, 4, "left");
    assert_false(kit_outcome_equal(&one, "A", &two, "B", &why));
    assert_non_null(strstr(buf_str(&why), "A has 2 rows, B has 1"));
    buf_clear(&why);
    refuse(&two, 4, "right");
    assert_false(kit_outcome_equal(&one, "A", &two, "B", &why));
    assert_non_null(strstr(buf_str(&why), "row 1 of 2 differs"));
    assert_non_null(strstr(buf_str(&why), "A: row 4: refused alone: \"left\""));
    buf_clear(&why);
    two.status = SLUICE_E_DATA;
    error_set(&two.error, SLUICE_E_DATA, "no good");
    assert_false(kit_outcome_equal(&one, "A", &two, "B", &why));
    assert_non_null(strstr(buf_str(&why), "with A it works, with B it fails: no good"));
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&two);
    buf_deinit(&why);
}

static void long_records_differ_by_their_hash(void **state)
{
    struct kit_outcome one;
    struct kit_outcome two;
    struct buf why = BUF_INIT;
    char long_text[900];

    (void)state;
    kit_outcome_init(&one);
    kit_outcome_init(&two);
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    refuse(&one, 1, long_text);
    long_text[850] = 'b';
    refuse(&two, 1, long_text);
    assert_false(kit_outcome_equal(&one, "A", &two, "B", &why));
    assert_true(one.records[0].size < 600);
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&two);
    buf_deinit(&why);
}

/* ---- reports ---- */

static void reports_say_how_to_run_a_check_again(void **state)
{
    const char *words[] = { "min=3", "on=it's here" };
    struct kit_options options = {
        .path = "/x/acme plugin.so", .options = words, .n_options = 2, .seed = 9
    };
    struct kit_result items[] = {
        { .check = "threads",
          .doc = "D",
          .stage = (char *)"acme",
          .verdict = KIT_FAILED,
          .message = (char *)"a < b & \"c\"",
          .ms = 5 },
        { .check = "runs",
          .doc = "D",
          .stage = (char *)"acme",
          .verdict = KIT_PASSED,
          .message = (char *)"" },
        { .check = "nulls",
          .doc = "D",
          .stage = (char *)"acme",
          .verdict = KIT_SKIPPED,
          .message = (char *)"no" },
    };
    struct kit_results results = { .items = items, .n = 3, .passed = 1, .failed = 1, .skipped = 1 };
    struct buf out = BUF_INIT;

    (void)state;
    kit_print(&options, &items[0], &out);
    assert_string_equal(buf_str(&out),
                        "FAILED  acme: threads: a < b & \"c\"\n  means: D\n  again: sluice "
                        "test-plugin '/x/acme plugin.so' acme "
                        "--option min=3 --option 'on=it'\\''s here' --only threads --seed 9\n");
    buf_clear(&out);
    kit_print_summary(&results, &out);
    assert_string_equal(buf_str(&out), "failed: acme threads\n1 passed, 1 failed, 1 skipped\n");
    buf_clear(&out);
    kit_print_junit(&options, &results, &out);
    assert_non_null(
        strstr(buf_str(&out), "<failure message=\"a &lt; b &amp; &quot;c&quot;\">D</failure>"));
    assert_non_null(strstr(buf_str(&out), "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""));
    buf_clear(&out);
    kit_print_json(&options, &results, &out);
    assert_non_null(
        strstr(buf_str(&out), "\"verdict\":\"failed\",\"ms\":5,\"message\":\"a < b & \\\"c\\\"\""));
    buf_deinit(&out);
}

static void checks_have_names_and_words(void **state)
{
    struct buf list = BUF_INIT;

    (void)state;
    for (size_t k = 0; k < kit_n_checks; k++) {
        assert_ptr_equal(kit_check_find(kit_checks[k].name), &kit_checks[k]);
        assert_true(strlen(kit_checks[k].doc) > 20);
    }
    assert_null(kit_check_find("no_such_check"));
    kit_list(&list);
    assert_non_null(strstr(buf_str(&list), "row_local "));
    buf_deinit(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_valid_and_repeatable),
        cmocka_unit_test(seeds_and_columns_differ),
        cmocka_unit_test(huge_texts_are_as_long_as_asked),
        cmocka_unit_test(chunks_end_where_memory_ends),
        cmocka_unit_test(batches_are_copies_of_the_picked_rows),
        cmocka_unit_test(outcomes_show_the_first_difference),
        cmocka_unit_test(long_records_differ_by_their_hash),
        cmocka_unit_test(reports_say_how_to_run_a_check_again),
        cmocka_unit_test(checks_have_names_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
