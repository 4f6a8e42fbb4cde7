/* Tests of trained spans and the tokens in them: every form, both units, every rule, and what is
 * refused. A second, byte-by-byte way of saying which bytes are trained is compared with it on
 * made-up texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tokenize/loss_spans.h"

static struct loss_text text_of(const char *data, bool bytes)
{
    return (struct loss_text){ data, strlen(data), bytes };
}

/* "110" for the tokens that begin at offsets. */
static void expect(const struct loss_spans *loss, const struct loss_text *text, enum loss_rule rule,
                   const uint64_t *offsets, size_t n, const char *wanted)
{
    uint8_t mask[64];
    char found[65];

    loss_spans_tokens(loss, text, rule, offsets, n, mask);
    for (size_t k = 0; k < n; k++) {
        found[k] = (char)('0' + mask[k]);
    }
    found[n] = '\0';
    assert_string_equal(found, wanted);
}

static void test_rules(void **state)
{
    static const uint64_t offsets[] = { 0, 3, 6, 6, 9 };
    static const uint32_t pairs[] = { 1, 4, 4, 7, 9, 9 };
    struct loss_text text = text_of("aaabbbcccdd", true);
    struct loss_spans loss = { 0 };
    struct sluice_error err = { .size = sizeof err };

    (void)state;
    assert_int_equal(loss_spans_pairs(&loss, &text, pairs, 6, &err), SLUICE_OK);
    assert_int_equal(loss.spans.size, sizeof(struct loss_span)); /* they touch: one */
    expect(&loss, &text, LOSS_FIRST, offsets, 5, "01110");
    expect(&loss, &text, LOSS_ANY, offsets, 5, "11110");
    expect(&loss, &text, LOSS_ALL, offsets, 5, "01100");
    assert_false(loss_spans_end(&loss, &text));
    assert_int_equal(loss_spans_all(&loss, &text, &err), SLUICE_OK);
    expect(&loss, &text, LOSS_ALL, offsets, 5, "11111");
    assert_true(loss_spans_end(&loss, &text));
    assert_int_equal(loss_spans_pairs(&loss, &text, pairs, 0, &err), SLUICE_OK);
    expect(&loss, &text, LOSS_ANY, offsets, 5, "00000");
    assert_false(loss_spans_end(&loss, &text));
    loss_spans_deinit(&loss);
}

static void test_characters(void **state)
{
    /* Three characters of 2, 4 and 3 bytes, then an "x". */
    struct loss_text text = text_of("\xc3\xa9\xf0\x9f\x99\x82\xe4\xb8\xad"
                                    "x",
                                    false);
    static const uint64_t offsets[] = { 0, 2, 4, 6, 9 };
    static const uint32_t pairs[] = { 1, 2, 3, 4 };
    static const uint8_t flags[] = { 0, 1, 0, 9 };
    struct loss_spans loss = { 0 };
    struct sluice_error err = { .size = sizeof err };
    static const char *const json[] = { "[[1,2],[3,4]]", " [0, 1, 0, 1] ",
                                        "[false,true,false,true]" };

    (void)state;
    assert_int_equal(loss_spans_pairs(&loss, &text, pairs, 4, &err), SLUICE_OK);
    expect(&loss, &text, LOSS_FIRST, offsets, 5, "01101");
    assert_true(loss_spans_end(&loss, &text));
    assert_int_equal(loss_spans_flags(&loss, &text, flags, 4, &err), SLUICE_OK);
    expect(&loss, &text, LOSS_FIRST, offsets, 5, "01101");
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(loss_spans_json(&loss, &text, json[k], strlen(json[k]), &err), SLUICE_OK);
        expect(&loss, &text, LOSS_FIRST, offsets, 5, "01101");
    }
    assert_int_equal(loss_spans_json(&loss, &text, "null", 4, &err), SLUICE_OK);
    expect(&loss, &text, LOSS_FIRST, offsets, 5, "11111");
    assert_int_equal(loss_spans_json(&loss, &text, "[]", 2, &err), SLUICE_OK);
    expect(&loss, &text, LOSS_FIRST, offsets, 5, "00000");
    loss_spans_deinit(&loss);
}

static void refuse(const char *json, const char *says)
{
    struct loss_text text = text_of("h\xc3\xa9llo", false);
    struct loss_spans loss = { 0 };
    struct sluice_error err = { .size = sizeof err };

    assert_int_equal(loss_spans_json(&loss, &text, json, strlen(json), &err), SLUICE_E_DATA);
    assert_string_equal(err.field, "loss_spans");
    if (strstr(err.message, says) == NULL) {
        fail_msg("%s: '%s' does not say '%s'", json, err.message, says);
    }
    loss_spans_deinit(&loss);
}

static void test_refused(void **state)
{
    static const uint32_t odd[] = { 0, 1, 2 };
    struct loss_text text = text_of("hello", true);
    struct loss_spans loss = { 0 };
    struct sluice_error err = { .size = sizeof err };

    (void)state;
    refuse("[[0,6]]", "the text has 5 characters");
    refuse("[[6,7]]", "the text has 5 characters");
    refuse("[[2,1]]", "span 0 is 2 to 1");
    refuse("[[0,3],[2,4]]", "a begin from 3 on");
    refuse("[[0,3],[4]]", "span 1 is not");
    refuse("[[-1,3]]", "span 0 is not");
    refuse("[[0,1.5]]", "span 0 is not");
    refuse("[[0,1],0]", "span 1 is not");
    refuse("[1,1]", "found 2 values for a text of 5 characters");
    refuse("[1,1,2,1,1]", "item 2 is neither");
    refuse("[1,1,[0,1],1,1]", "item 2 is neither");
    refuse("\"11111\"", "no array");
    refuse("[[0,1]", "']' expected");
    refuse("[[0,1]] x", "end of file expected");
    assert_int_equal(loss_spans_pairs(&loss, &text, odd, 3, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "found 3 numbers"));
    loss_spans_deinit(&loss);
}

static uint32_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void test_against_bytes(void **state)
{
    static const char *const characters[] = { "a", "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x99\x82" };
    uint64_t seed = 7;

    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        char data[200] = "";
        uint8_t flags[40], trained[200];
        uint32_t pairs[80];
        uint64_t offsets[64];
        size_t n = next(&seed) % 30 + 1, n_pairs = 0, n_tokens = 0, size = 0;
        bool bytes = next(&seed) % 2 == 0;
        struct loss_spans loss = { 0 };
        struct sluice_error err = { .size = sizeof err };
        struct loss_text text;

        for (size_t k = 0; k < n; k++) {
            const char *one = characters[bytes ? 0 : next(&seed) % 4];
            flags[k] = next(&seed) % 3 != 0;
            for (; *one != '\0'; one++) {
                trained[size] = flags[k];
                data[size++] = *one;
            }
            if (flags[k] != 0 && n_pairs > 0 && next(&seed) % 2 == 0 && pairs[n_pairs - 1] == k) {
                pairs[n_pairs - 1]++;
            } else if (flags[k] != 0) {
                pairs[n_pairs++] = (uint32_t)k;
                pairs[n_pairs++] = (uint32_t)k + 1;
            }
        }
        for (size_t k = 0; k < size; k += 1 + next(&seed) % 5) {
            offsets[n_tokens++] = k;
        }
        text = (struct loss_text){ data, size, bytes };
        for (int form = 0; form < 2; form++) {
            assert_int_equal(form == 0 ? loss_spans_pairs(&loss, &text, pairs, n_pairs, &err)
                                       : loss_spans_flags(&loss, &text, flags, n, &err),
                             SLUICE_OK);
            for (int rule = LOSS_FIRST; rule <= LOSS_ALL; rule++) {
                uint8_t mask[200];
                loss_spans_tokens(&loss, &text, (enum loss_rule)rule, offsets, n_tokens, mask);
                for (size_t k = 0; k < n_tokens; k++) {
                    uint64_t end = k + 1 < n_tokens ? offsets[k + 1] : size;
                    int any = 0, all = 1;
                    for (uint64_t at = offsets[k]; at < end; at++) {
                        any |= trained[at];
                        all &= trained[at];
                    }
                    assert_int_equal(mask[k], rule == LOSS_FIRST ? trained[offsets[k]]
                                              : rule == LOSS_ANY ? any
                                                                 : all);
                }
            }
            assert_int_equal(loss_spans_end(&loss, &text), trained[size - 1]);
        }
        loss_spans_deinit(&loss);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_against_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
