/* One measure in two forms: a plain C function for s.native and ffi.def, and the filter of a plugin
 * around it. tests/bench/native.sh compares what the ways to it cost; tests/pipeline/native_ways.sh
 * that they agree. */
#include <sluice_simple.h>

#include "text/text.h"

SLUICE_EXPORT double share_upper(const char *text, size_t n);

double share_upper(const char *text, size_t n)
{
    size_t chars = text_utf8_count(text, n);

    return chars == 0 ? 0 : (double)text_count_class(text, n, TEXT_UPPER) / (double)chars;
}

struct upper {
    double max;
    const char *over;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_FLOAT(struct upper, max, "0.03", 0, 1, "Largest share of upper-case letters."),
    SLUICE_OPTION_COLUMN(struct upper, over, "text", "Column that holds the text."),
};

static sluice_status judge(const struct upper *o, const struct sluice_row *row,
                           struct sluice_verdict *verdict)
{
    sluice_judge_most(verdict, 1, share_upper(row->text, row->n), o->max);
    return SLUICE_OK;
}

SLUICE_FILTER(upper, judge, .version = "1.0",
              .summary = "Drops texts with many upper-case letters.", .reasons = "upper",
              SLUICE_OPTIONS(struct upper, options));
SLUICE_PLUGIN("native_share", "1.0", "MIT", &upper_stage);
