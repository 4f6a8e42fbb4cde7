/* text/text_gopher, text_fineweb, text_c4: the peer's decisions, options, what may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/alloc_fail.h"
#include "tests/unit/text_kit.h"
#include "text/text.h"

struct fixture {
    struct text_gopher_quality_options quality;
    struct text_gopher_repetition_options repetition;
    struct text_fineweb_options fineweb;
    struct text_c4_options c4;
    struct text_spans words;
    struct text_scratch scratch;
    struct text_buffer out;
    struct text_doc doc;
    struct text_verdict verdict;
    struct text_c4_counts counts;
    char *text; /* exactly as long as it is: a sanitizer sees reads behind it */
};

static struct fixture fix;
static enum text_word_rule rule = TEXT_WORDS_WHITESPACE;

static int reset(void **state)
{
    (void)state;
    text_gopher_quality_defaults(&fix.quality);
    text_gopher_repetition_defaults(&fix.repetition);
    text_fineweb_defaults(&fix.fineweb);
    text_c4_defaults(&fix.c4);
    return 0;
}

static int release(void **state)
{
    (void)state;
    text_spans_deinit(&fix.words);
    text_scratch_deinit(&fix.scratch);
    text_buffer_deinit(&fix.out);
    free(fix.text);
    memset(&fix, 0, sizeof fix);
    return 0;
}

static void load(const char *text, size_t len)
{
    free(fix.text);
    fix.text = malloc(len == 0 ? 1 : len);
    assert_non_null(fix.text);
    memcpy(fix.text, text, len);
    assert_int_equal(text_words(rule, fix.text, len, &fix.words, NULL), SLUICE_OK);
    assert_int_equal(text_doc_init(&fix.doc, fix.text, len, fix.words.data, fix.words.count, NULL),
                     SLUICE_OK);
}

static void load_string(const char *text)
{
    load(text, strlen(text));
}

static const char *quality(void)
{
    assert_int_equal(text_gopher_quality(&fix.doc, &fix.quality, &fix.scratch, &fix.verdict, NULL),
                     SLUICE_OK);
    assert_string_equal(fix.verdict.name, text_gopher_quality_reason(fix.verdict.reason));
    return fix.verdict.name;
}

static const char *repetition(void)
{
    char name[36];
    assert_int_equal(
        text_gopher_repetition(&fix.doc, &fix.repetition, &fix.scratch, &fix.verdict, NULL),
        SLUICE_OK);
    text_gopher_repetition_reason(&fix.repetition, fix.verdict.reason, name);
    assert_string_equal(fix.verdict.name, name);
    return fix.verdict.name;
}

static const char *fineweb(void)
{
    assert_int_equal(text_fineweb_quality(&fix.doc, &fix.fineweb, &fix.scratch, &fix.verdict, NULL),
                     SLUICE_OK);
    assert_string_equal(fix.verdict.name, text_fineweb_reason(fix.verdict.reason));
    return fix.verdict.name;
}

static const char *c4(void)
{
    assert_int_equal(
        text_c4_quality(&fix.doc, &fix.c4, &fix.scratch, &fix.out, &fix.counts, &fix.verdict, NULL),
        SLUICE_OK);
    assert_string_equal(fix.verdict.name, text_c4_reason(fix.verdict.reason));
    return fix.verdict.name;
}

static void expect(const char *line, const char *key, const char *found)
{
    static char expected[200000];
    size_t len;
    assert_true(kit_json(line, key, expected, &len));
    expected[len] = '\0';
    if (strcmp(found, expected) != 0) {
        fail_msg("%s gives '%s' for %.300s", key, found, line);
    }
}

static void check_line(const char *line)
{
    static char text[200000];
    size_t len;
    assert_true(strlen(line) < sizeof text);
    assert_true(kit_json(line, "text", text, &len));
    load(text, len);
    expect(line, "quality", quality());
    expect(line, "repetition", repetition());
    expect(line, "fineweb", fineweb());
    expect(line, "c4", c4());
    if (fix.verdict.reason == 0) {
        assert_true(kit_json(line, "c4_text", text, &len));
        assert_int_equal(fix.out.len, len);
        assert_memory_equal(fix.out.data == NULL ? "" : fix.out.data, text, len);
    }
}

static void test_peer(void **state)
{
    reset(state);
    rule = TEXT_WORDS_SPACY_EN;
    assert_int_equal(kit_lines("filters.jsonl", check_line), 190);
    rule = TEXT_WORDS_WHITESPACE;
}

/* `times` copies of piece. */
static void load_times(const char *piece, size_t times)
{
    size_t len = strlen(piece);
    char *text = malloc(len * times + 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * len, piece, len);
    }
    load(text, len * times);
    free(text);
}

static void test_quality_limits(void **state)
{
    reset(state);
    load_times("with that ", 25);
    assert_string_equal(quality(), "");
    assert_true(fix.verdict.value == 0 && fix.verdict.limit == 0);
    load_times("with that - ", 24); /* 48 words with a letter: - does not count */
    assert_string_equal(quality(), "gopher_short_doc");
    assert_int_equal(fix.verdict.reason, TEXT_GOPHER_SHORT_DOC);
    assert_true(fix.verdict.value == 48 && fix.verdict.limit == 50);
    load_times("with that ", 50000);
    assert_string_equal(quality(), "");
    load_times("with that x ", 33334);
    assert_string_equal(quality(), "gopher_long_doc");
    assert_true(fix.verdict.value == 100002);
    load_times("to be ", 40);
    assert_string_equal(quality(), "gopher_below_avg_threshold");
    assert_true(fix.verdict.value == 2 && fix.verdict.limit == 3);
    load_times("with ABCDEFGHIJKLMNOPQ ", 30);
    assert_string_equal(quality(), "gopher_above_avg_threshold");
    load_times("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9 ",
               60);
    assert_string_equal(quality(), "gopher_enough_stop_words"); /* 10 code points, 20 bytes */
    fix.quality.min_stop_words = 0;
    assert_string_equal(quality(), "");

    /* own stop words: a word named twice counts once, as in a set */
    static const struct text_string own[] = { { "foo", 3 },
                                              { "foo", 3 },
                                              { "ba r", 4 },
                                              { "", 0 },
                                              { "abcdefghijklmnopqrstuvwxyzabcdefghij", 36 } };
    fix.quality.min_stop_words = 2;
    fix.quality.stop_words = own;
    fix.quality.n_stop_words = 5;
    fix.quality.max_avg_word_length = 0;
    load_times("foo ", 60);
    assert_string_equal(quality(), "gopher_enough_stop_words");
    assert_true(fix.verdict.value == 1 && fix.verdict.limit == 2);
    load_times("foo abcdefghijklmnopqrstuvwxyzabcdefghij ", 60);
    assert_string_equal(quality(), "");
    fix.quality.n_stop_words = 0;
    assert_string_equal(quality(), "gopher_enough_stop_words");

    /* every test off: nothing fails, not even an empty text */
    memset(&fix.quality, 0, sizeof fix.quality);
    load("", 0);
    assert_string_equal(quality(), "");
    load_string("# ... \n- x ...\n");
    assert_string_equal(quality(), "");
    assert_null(text_gopher_quality_reason(11));
    assert_null(text_gopher_quality_reason(-1));
}

static void test_repetition_limits(void **state)
{
    char name[36];
    reset(state);
    load_string("");
    assert_string_equal(repetition(), "empty");
    load_string("one two three four five six\n\nx\n\nx\n\nx");
    assert_string_equal(repetition(), "dup_para_frac");
    assert_true(fix.verdict.value == 0.5 && fix.verdict.limit == 0.3);
    fix.repetition = (struct text_gopher_repetition_options){ 0 };
    assert_string_equal(repetition(), "");
    static const struct text_ngram_limit none = { 0, 0.5 };
    fix.repetition.top_n_grams = &none;
    fix.repetition.n_top_n_grams = 1;
    struct sluice_error err = { .size = sizeof err };
    assert_int_equal(
        text_gopher_repetition(&fix.doc, &fix.repetition, &fix.scratch, &fix.verdict, &err),
        SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "top_n_grams"));
    reset(state);
    text_gopher_repetition_reason(&fix.repetition, 6, name);
    assert_string_equal(name, "top_2_gram");
    text_gopher_repetition_reason(&fix.repetition, 14, name);
    assert_string_equal(name, "duplicated_10_n_grams");
    text_gopher_repetition_reason(&fix.repetition, 15, name);
    assert_string_equal(name, "");
    text_gopher_repetition_reason(&fix.repetition, -3, name);
    assert_string_equal(name, "");
}

static void test_fineweb_limits(void **state)
{
    reset(state);
    load_string(" \n\t\n");
    assert_string_equal(fineweb(), "empty");
    load_string("no stop\nat all");
    assert_string_equal(fineweb(), "line_punct_ratio");
    fix.fineweb.line_punct_exclude_zero = true;
    assert_string_equal(fineweb(), "short_line_ratio");
    fix.fineweb.short_line_length = 6;
    assert_string_equal(fineweb(), "");
    fix.fineweb.line_punct_exclude_zero = false;
    static const struct text_string stops[] = { { "top", 3 }, { "x", 1 } };
    fix.fineweb.stop_chars = stops;
    fix.fineweb.n_stop_chars = 2;
    assert_string_equal(fineweb(), "");
    fix.fineweb.n_stop_chars = 0;
    assert_string_equal(fineweb(), "line_punct_ratio");
    assert_null(text_fineweb_reason(6));
}

/* Lines with words of about the longest length, and line lengths about it, ASCII or not. */
/* The filter decides alike whether it is given the words, or counts them as far as it must. */
static void test_fineweb_counts_words_itself(void **state)
{
    static const char *const pieces[] = { "a",  "I",        "we'll",        "don't",    "e.g.",
                                          ",",  " ",        "  ",           "\n",       "\n",
                                          "\n", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80", "!" };
    struct text_word_cache cache = { NULL };
    uint32_t seed = 5;
    reset(state);
    fix.fineweb.line_punct_thr = 0;
    fix.fineweb.short_line_thr = 1;
    fix.fineweb.char_duplicates_ratio = 1;
    size_t lists = 0;
    for (int round = 0; round < 6000; round++) {
        char text[1024];
        size_t len = 0;
        while (len < (size_t)round % 1000) {
            seed = seed * 1664525 + 1013904223;
            const char *piece = pieces[(seed >> 16) % (sizeof pieces / sizeof pieces[0])];
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", piece);
        }
        rule = (enum text_word_rule)(round % 3);
        load(text, len);
        fix.fineweb.new_line_ratio = (double)(round % 7) / 4;
        fix.fineweb.count_words = false;
        const char *want = fineweb();
        struct text_verdict given = fix.verdict;
        assert_int_equal(text_doc_init(&fix.doc, fix.text, len, NULL, 0, NULL), SLUICE_OK);
        fix.fineweb.count_words = true;
        fix.fineweb.word_rule = rule;
        fix.fineweb.cache = round % 2 == 0 ? &cache : NULL;
        assert_string_equal(fineweb(), want);
        assert_memory_equal(&fix.verdict, &given, sizeof given);
        lists += given.reason == TEXT_FINEWEB_LIST;
    }
    assert_in_range(lists, 1000, 5000);
    rule = TEXT_WORDS_WHITESPACE;
    text_word_cache_deinit(&cache);
}

static void test_c4_long_words(void **state)
{
    uint64_t seed = 3;

    reset(state);
    fix.c4.filter_no_terminal_punct = false;
    fix.c4.min_num_sentences = -1;
    for (int round = 0; round < 600; round++) {
        char text[400];
        size_t len = 0, words = 0, run = 0, longest = 0;
        size_t n = 1 + kit_random(&seed) % 60;
        fix.c4.max_word_length = (int64_t)(kit_random(&seed) % 9) - 2;
        fix.c4.min_words_per_line = (int64_t)(kit_random(&seed) % 5) - 1;
        for (size_t i = 0; i < n; i++) {
            uint64_t dice = kit_random(&seed) % 40;
            bool space = dice < 8 && i > 0 && i + 1 < n;
            const char *add = !space ? (dice == 20 ? "\xC3\xA9" : "w") : dice == 0 ? "\t" : " ";
            memcpy(text + len, add, strlen(add));
            len += strlen(add);
            words += !space && run == 0;
            run = space ? 0 : run + 1;
            longest = run > longest ? run : longest;
        }
        text[len] = '\0';
        load_string(text);
        (void)c4();
        bool too_long = fix.c4.max_word_length != -1 && (int64_t)longest > fix.c4.max_word_length;
        bool too_few = !too_long && (int64_t)words < fix.c4.min_words_per_line;
        assert_int_equal(fix.counts.too_long_word, too_long);
        assert_int_equal(fix.counts.too_few_words, too_few);
    }
}

static void test_c4_edits(void **state)
{
    reset(state);
    const char *text =
        "A line [1] with marks[edit].\r\nNo end\n  Two words.\nUses java[2]script, as all do.\n"
        "Read our Privacy Policy here.\nShe waited and said no...\nIt is \"here\"[] now.[x]\n"
        "\xE3\x80\x80One more line, and it stays! \n";
    load_string(text);
    assert_string_equal(c4(), "too_few_sentences");
    assert_true(fix.verdict.value == 2 && fix.verdict.limit == 5);
    fix.c4.min_num_sentences = 2;
    assert_string_equal(c4(), "");
    const char *kept = "A line  with marks.\nOne more line, and it stays!";
    assert_int_equal(fix.out.len, strlen(kept));
    assert_memory_equal(fix.out.data, kept, fix.out.len);
    assert_int_equal(fix.counts.lines, 8);
    assert_int_equal(fix.counts.kept, 2);
    assert_int_equal(fix.counts.no_terminal_punct, 3);
    assert_int_equal(fix.counts.too_few_words, 1);
    assert_int_equal(fix.counts.javascript, 1);
    assert_int_equal(fix.counts.policy, 1);
    assert_int_equal(fix.counts.too_long_word, 0);
    assert_int_equal(fix.counts.sentences, 2);

    /* its tokenizer knows abbreviations; counting ends when there are enough */
    load_string("It is e.g. here. So is Dr. No!\nAnd \"this.\"  \nNo more, no less.");
    fix.c4.min_num_sentences = 9;
    assert_string_equal(c4(), "too_few_sentences");
    assert_int_equal(fix.counts.sentences, 3);
    fix.c4.min_words_per_line = 1;
    assert_string_equal(c4(), "too_few_sentences");
    assert_int_equal(fix.counts.sentences, 4);
    fix.c4.sentences = TEXT_SENTENCES_MARKS;
    assert_string_equal(c4(), "too_few_sentences");
    assert_int_equal(fix.counts.sentences, 6);
    fix.c4.min_num_sentences = 3;
    assert_string_equal(c4(), "");
    assert_int_equal(fix.counts.sentences, 4);

    /* sentences for lines: the peer's pieces hold all of a text */
    reset(state);
    fix.c4.split_lines = false;
    fix.c4.min_num_sentences = 2;
    load_string(" Here is Dr. No.\n\nAnd so are\nall others!");
    assert_string_equal(c4(), "");
    kept = "Here is Dr. No. And so are\nall others!";
    assert_int_equal(fix.out.len, strlen(kept));
    assert_memory_equal(fix.out.data, kept, fix.out.len);
    load_string("");
    fix.c4.filter_no_terminal_punct = false;
    fix.c4.min_words_per_line = 0;
    fix.c4.min_num_sentences = 1;
    assert_string_equal(c4(), "");
    assert_int_equal(fix.counts.sentences, 1);
    reset(state);

    /* a line dropped before hides what would drop the document */
    load_string("x { y\nlorem ipsum\n");
    assert_string_equal(c4(), "too_few_sentences");
    load_string("Fine words here.\nThen x { y.\n");
    assert_string_equal(c4(), "curly_bracket");
    assert_true(fix.verdict.value == 1);
    load_string("Fine words here.\nLorem IPSUM it is.\n");
    assert_string_equal(c4(), "lorem_ipsum");
    /* the Kelvin sign is a k in lower case */
    load_string("We use coo\xE2\x84\xAAies here.");
    fix.c4.min_num_sentences = -1;
    assert_string_equal(c4(), "");
    assert_int_equal(fix.counts.policy, 1);
    assert_int_equal(fix.out.len, 0);
    assert_null(text_c4_reason(4));

    char word[1300];
    memset(word, 'w', sizeof word);
    memcpy(word + 1000, " is long.", 9);
    load(word, 1009);
    assert_string_equal(c4(), "");
    assert_int_equal(fix.counts.kept, 1);
    memcpy(word + 1000, "w is long.", 10);
    load(word, 1010);
    assert_string_equal(c4(), "");
    assert_int_equal(fix.counts.too_long_word, 1);
}

static void test_c4_paragraph(void **state)
{
    (void)state;
    char text[4 * 201];
    memset(text, 'p', sizeof text);
    text[200] = text[401] = '\n';
    load(text, 602);
    text_c4_paragraph(&fix.doc, 3, 200, &fix.verdict);
    assert_int_equal(fix.verdict.reason, 0);
    load(text, 601);
    text_c4_paragraph(&fix.doc, 3, 200, &fix.verdict);
    assert_int_equal(fix.verdict.reason, 1);
    assert_string_equal(fix.verdict.name, "< 3 paragraphs");
    assert_true(fix.verdict.value == 2 && fix.verdict.limit == 3);
    load_string("");
    text_c4_paragraph(&fix.doc, 3, 200, &fix.verdict);
    assert_int_equal(fix.verdict.reason, 1);
}

static void test_no_memory(void **state)
{
    struct sluice_error err = { .size = sizeof err };
    int32_t status;
    reset(state);
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = "abc def.\nthe be to "[i * 7 % 18];
    }
    load(text, sizeof text);
    fix.quality.max_avg_word_length = 1000;
    fix.quality.min_doc_words = 0;
    fix.quality.min_avg_word_length = 0;
    fix.quality.min_alpha_words_ratio = 0;
    fix.repetition.dup_line_frac = fix.repetition.dup_line_char_frac = 1;
    ALLOC_EACH(status =
                   text_gopher_quality(&fix.doc, &fix.quality, &fix.scratch, &fix.verdict, &err),
               text_scratch_deinit(&fix.scratch));
    ALLOC_EACH(status = text_gopher_repetition(&fix.doc, &fix.repetition, &fix.scratch,
                                               &fix.verdict, &err),
               text_scratch_deinit(&fix.scratch));
    ALLOC_EACH(status =
                   text_fineweb_quality(&fix.doc, &fix.fineweb, &fix.scratch, &fix.verdict, &err),
               text_scratch_deinit(&fix.scratch));
    ALLOC_EACH(status = text_c4_quality(&fix.doc, &fix.c4, &fix.scratch, &fix.out, NULL,
                                        &fix.verdict, &err),
               (text_scratch_deinit(&fix.scratch), text_buffer_deinit(&fix.out)));
    /* once grown, nothing is allocated any more */
    for (int round = 0; round < 2; round++) {
        alloc_arm(round == 0 ? INT64_MAX : 0, true);
        assert_int_equal(
            text_gopher_quality(&fix.doc, &fix.quality, &fix.scratch, &fix.verdict, &err),
            SLUICE_OK);
        assert_int_equal(
            text_gopher_repetition(&fix.doc, &fix.repetition, &fix.scratch, &fix.verdict, &err),
            SLUICE_OK);
        assert_int_equal(
            text_fineweb_quality(&fix.doc, &fix.fineweb, &fix.scratch, &fix.verdict, &err),
            SLUICE_OK);
        assert_int_equal(
            text_c4_quality(&fix.doc, &fix.c4, &fix.scratch, &fix.out, NULL, &fix.verdict, &err),
            SLUICE_OK);
        assert_false(alloc_disarm());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peer),
        cmocka_unit_test(test_quality_limits),
        cmocka_unit_test(test_repetition_limits),
        cmocka_unit_test(test_fineweb_limits),
        cmocka_unit_test(test_fineweb_counts_words_itself),
        cmocka_unit_test(test_c4_long_words),
        cmocka_unit_test(test_c4_edits),
        cmocka_unit_test(test_c4_paragraph),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
