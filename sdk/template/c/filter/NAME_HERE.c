/* NAME_HERE - a filter: drops documents that have fewer words than `min_words`.
 *
 * To make it yours, change struct config and its option table, the measure, and the reasons.
 * <sluice_simple.h> explains the macros; what they don't suit is written by hand against
 * <sluice.h>. */
#include <sluice_simple.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    int64_t min_words;
    const char *over;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct config, min_words, "5", 0, 1000000,
                      "Fewest words of a document that is kept."),
    SLUICE_OPTION_COLUMN(struct config, over, "text", "Column that holds the text."),
};

/* ---- the measure ---- */

/* Words are what stands between white space. */
static int64_t count_words(const char *text, size_t n)
{
    int64_t words = 0;
    int inside = 0;

    for (size_t i = 0; i < n; i++) {
        int space = text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r');
        words += !space && !inside;
        inside = !space;
    }
    return words;
}

/* Keeps the row, or drops it for the first of `reasons`. Called from many threads at once. */
static sluice_status judge(const struct config *config, const struct sluice_row *row,
                           struct sluice_verdict *verdict)
{
    int64_t words = count_words(row->text, row->n);

    sluice_judge_least(verdict, 1, (double)words, (double)config->min_words);
    return SLUICE_OK;
}

/* ---- the stage and the plugin ---- */

SLUICE_FILTER(NAME_HERE, judge, .version = "0.1.0", .summary = "Drops documents of few words",
              .doc = "Words are what stands between white space.",
              .example = "docs | NAME_HERE { min_words = 5 }", .reasons = "too_short",
              SLUICE_OPTIONS(struct config, options));

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", &NAME_HERE_stage);
