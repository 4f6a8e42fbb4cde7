/* shouting - an annotator in C with sluice_simple.h and the text primitives: adds the share of
 * upper-case letters as a column.
 *
 * Build it with a Makefile of one line beside it: include $(shell pkg-config --variable=pluginmk
 * sluice) */
#include <sluice_simple.h>

#include "text/text.h"

struct shouting {
    const char *over, *as;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_COLUMN(struct shouting, over, "text", "Column that holds the text."),
    SLUICE_OPTION_STRING(struct shouting, as, "shouting", "Name of the column that is added."),
};

static sluice_status measure(const struct shouting *o, const struct sluice_row *row, double *value)
{
    size_t letters = text_count_class(row->text, row->n, TEXT_CASED);

    (void)o;
    *value = letters == 0
                 ? 0
                 : (double)text_count_class(row->text, row->n, TEXT_UPPER) / (double)letters;
    return SLUICE_OK;
}

SLUICE_ANNOTATOR(shouting, "shouting", "float64", double, measure, .version = "1.0",
                 .summary = "Adds the share of upper case among the letters that have two cases",
                 .example = "docs | s.shouting {}", SLUICE_OPTIONS(struct shouting, options));
SLUICE_PLUGIN("example_shouting", "1.0", "MIT", &shouting_stage);
