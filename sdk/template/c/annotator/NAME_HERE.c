/* NAME_HERE - an annotator: adds the column `long_words`, how many words of a document have
 * `min_length` bytes or more.
 *
 * To make it yours, change struct config and its option table, the measure, and the column.
 * <sluice_simple.h> explains the macros; what they don't suit, such as several columns, is written
 * by hand against <sluice.h>. */
#include <sluice_simple.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    int64_t min_length;
    const char *over;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct config, min_length, "7", 1, 1000,
                      "Fewest bytes of a word that counts."),
    SLUICE_OPTION_COLUMN(struct config, over, "text", "Column that holds the text."),
};

/* ---- the measure ---- */

/* The value of one row. Words are what stands between white space. Called from many threads at
 * once. */
static sluice_status measure(const struct config *config, const struct sluice_row *row,
                             int64_t *value)
{
    int64_t length = 0;

    for (size_t i = 0; i < row->n; i++) {
        int space = row->text[i] == ' ' || (row->text[i] >= '\t' && row->text[i] <= '\r');
        length = space ? 0 : length + 1;
        *value += length == config->min_length;
    }
    return SLUICE_OK;
}

/* ---- the stage and the plugin ---- */

SLUICE_ANNOTATOR(NAME_HERE, "long_words", "int64", int64_t, measure, .version = "0.1.0",
                 .summary = "Counts the long words of a document",
                 .doc = "Adds the column `long_words`. Words are what stands between white space.",
                 .example = "docs | NAME_HERE { min_length = 7 }",
                 SLUICE_OPTIONS(struct config, options));

SLUICE_PLUGIN("NAME_HERE", "0.1.0", "MIT", &NAME_HERE_stage);
