/* few_lines - a filter in C with sluice_simple.h: drops documents with too few lines that say
 * something.
 *
 * Build it with a Makefile of one line beside it: include $(shell pkg-config --variable=pluginmk
 * sluice) */
#include <sluice_simple.h>

struct few_lines {
    int64_t min_lines, min_bytes;
    const char *over;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_INT(struct few_lines, min_lines, "3", 0, 1e9,
                      "Fewest lines a document may have."),
    SLUICE_OPTION_INT(struct few_lines, min_bytes, "20", 0, 1e9,
                      "Shorter lines don't count, in bytes."),
    SLUICE_OPTION_COLUMN(struct few_lines, over, "text", "Column that holds the text."),
};

static sluice_status judge(const struct few_lines *o, const struct sluice_row *row,
                           struct sluice_verdict *verdict)
{
    int64_t lines = 0;
    const char *at = row->text;
    const char *end = row->text + row->n;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        lines += stop - at >= o->min_bytes ? 1 : 0;
        at = stop + 1;
    }
    sluice_judge_least(verdict, 1, (double)lines, (double)o->min_lines);
    return SLUICE_OK;
}

SLUICE_FILTER(few_lines, judge, .version = "1.0",
              .summary = "Drops documents with too few lines that say something.",
              .example = "docs | s.few_lines { min_lines = 5 }", .reasons = "too_few_lines",
              SLUICE_OPTIONS(struct few_lines, options));
SLUICE_PLUGIN("example_few_lines", "1.0", "MIT", &few_lines_stage);
