/* plugins/quality/unigram_table: the CSV file, what it refuses, logarithms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "quality/unigram_table.h"

static double log_of(const struct unigram_table *table, const char *word)
{
    return unigram_table_log(table, word, strlen(word));
}

static void reads(void **state)
{
    static const char csv[] =
        "\n\"word\",x,count\r\nthe,1,50\rof,\"a,\nb\", 25 \n\n\"q\"\"uote\",,15\nthe,2,10,more";
    struct unigram_table *table;

    (void)state;
    assert_int_equal(unigram_table_build(csv, sizeof csv - 1, &table, NULL), SLUICE_OK);
    assert_int_equal(unigram_table_count(table), 3);
    assert_true(log_of(table, "the") == log(0.1));
    assert_true(log_of(table, "of") == log(0.25));
    assert_true(log_of(table, "q\"uote") == log(0.15));
    assert_true(log_of(table, "none") == log(1e-9));
    assert_true(log_of(table, "") == log(1e-9));
    unigram_table_destroy(table);
}

static void refuses(void **state)
{
    static const char *const cases[][2] = {
        { "", "no column word" },
        { "word,n\na,1\n", "no column word" },
        { "word,count\na\n", "line 2: found fewer columns" },
        { "word,count\na,1\nb,-1\n", "line 3: found a count" },
        { "word,count\na,\n", "found a count" },
        { "word,count\na,9007199254740993\n", "found a count" },
        { "word,count\na,99999999999999999999999999\n", "found a count" },
        { "word,count\na,9007199254740992\nb,1\n", "over 2^53 together" },
        { "word,count\na,0\n", "found no counts" },
        { "word,count\n\xff,1\n", "no UTF-8" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sluice_error err = { .size = sizeof err };
        struct unigram_table *table;
        assert_int_equal(unigram_table_build(cases[i][0], strlen(cases[i][0]), &table, &err),
                         SLUICE_E_CONFIG);
        assert_null(table);
        assert_non_null(strstr(err.message, cases[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reads), cmocka_unit_test(refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
