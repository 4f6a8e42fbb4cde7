/* Unit tests of plugins/decontaminate: references are read or refused, n-grams are a set, the
 * janitor's cut is the peer's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "decontaminate/decont.h"

static const struct decont_options fields = { .reference = "r.jsonl",
                                              .question = "question",
                                              .answer = "answer",
                                              .passage = "passage",
                                              .id = "id",
                                              .task = "task",
                                              .join = "|",
                                              .window = 3,
                                              .min_piece = 2,
                                              .max_hits = 2 };

static void reference_is_read(void **state)
{
    static const char text[] = "{\"question\":\"q\",\"answer\":[\"a\",\"b\"],\"task\":\"t\"}\n\n"
                               " {\"passage\":\"p\",\"id\":7}\r\n";
    struct decont_reference reference;
    struct sluice_error err = { .size = sizeof err };
    (void)state;
    assert_int_equal(decont_reference_read(&fields, text, strlen(text), &reference, &err),
                     SLUICE_OK);
    assert_int_equal(reference.n, 3);
    assert_string_equal(reference.items[0].id, "t:1");
    assert_string_equal(reference.items[1].id, "t:1");
    assert_int_equal(reference.items[1].parts[PART_ANSWER].len, 1);
    assert_int_equal(reference.items[1].parts[PART_ANSWER].data[0], 'b');
    assert_string_equal(reference.items[2].id, "7");
    assert_string_equal(reference.items[2].task, "reference");
    decont_reference_deinit(&reference);
}

static void reference_is_refused(void **state)
{
    static const char *const bad[][2] = { { "", "holds no items" },
                                          { "{}", "none of the fields" },
                                          { "{\"question\":\"x\"}\n[1]", "line 2" },
                                          { "{\"question\":true}", "holds no text" },
                                          { "{\"question\":\"x\",\"question\":\"y\"}", "line 1" },
                                          { "{\"question\":", "line 1" } };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct decont_reference reference;
        struct sluice_error err = { .size = sizeof err };
        assert_int_equal(
            decont_reference_read(&fields, bad[i][0], strlen(bad[i][0]), &reference, &err),
            SLUICE_E_CONFIG);
        assert_non_null(strstr(err.message, bad[i][1]));
        decont_reference_deinit(&reference);
    }
}

static void ngrams_are_a_set(void **state)
{
    struct grams grams = { 0 };
    char text[32];
    int fresh;
    (void)state;
    assert_true(grams_find(&grams, "x", 1) == UINT32_MAX);
    for (uint32_t i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "gram %u", i);
        assert_true(grams_add(&grams, text, (size_t)n, i, &fresh) == i && fresh);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        int n = snprintf(text, sizeof text, "gram %u", i);
        assert_true(grams_add(&grams, text, (size_t)n, 0, &fresh) == i && !fresh);
        assert_true(grams_find(&grams, text, (size_t)n) == i);
        assert_true(grams_find(&grams, text, (size_t)n - 1) != i);
    }
    assert_true(grams_find(&grams, "gram 5000", 9) == UINT32_MAX);
    grams_deinit(&grams);
}

/* The text without what stands around a hit of "two three"; expectations are those of the Python
 * janitor with these settings. */
static void janitor_cuts(void **state)
{
    static const char *const cases[][2] = {
        { "zero one Two, three! four five", "zero o|ur five" },
        { "two three", "" },
        { "alpha beta two - three gamma", "alpha beta two - three gamma" },
        { "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9 two three \xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9",
          "\xC3\xA9\xC3\xA9" },
        { "two three x two three x two three", "" },
    };
    static const char item[] = "{\"question\":\"two three\"}";
    struct decont_index index = { .options = &fields, .ngram = 2 };
    struct decont_worker worker = { 0 };
    struct sluice_error err = { .size = sizeof err };
    (void)state;
    assert_int_equal(decont_reference_read(&fields, item, strlen(item), &index.reference, &err),
                     SLUICE_OK);
    assert_int_equal(decont_index_janitor(&index, &err), SLUICE_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct finding finding = { 0 };
        const char *wanted = cases[i][1];
        assert_int_equal(
            decont_judge_janitor(&index, &worker, cases[i][0], strlen(cases[i][0]), &finding, &err),
            SLUICE_OK);
        assert_true(finding.drop == (wanted[0] == '\0'));
        assert_true(finding.found == (i != 2));
        if (finding.edited && !finding.drop) {
            assert_int_equal(worker.kept.len, strlen(wanted));
            assert_memory_equal(worker.kept.data, wanted, strlen(wanted));
        }
        json_decref(finding.report);
    }
    decont_worker_deinit(&worker);
    grams_deinit(&index.grams);
    decont_reference_deinit(&index.reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_is_read),
        cmocka_unit_test(reference_is_refused),
        cmocka_unit_test(ngrams_are_a_set),
        cmocka_unit_test(janitor_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
