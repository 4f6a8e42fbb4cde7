/* symbol_lines - removes lines of symbols only (datatrove's SymbolLinesFormatter). */
#include <stddef.h>

#include "clean.h"

#include <sluice_stage.h>
#include "text/text.h"

struct config {
    const char *over;
    struct sluice_list symbols;
    const char *replacement;
    uint8_t keep_breaks;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text, replaced by what is left of it.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "symbols",
      .doc = "Characters that count as symbols beside the space, one an item; none given: the "
             "peer's punctuation (also control characters and sentence ends of all scripts).",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, symbols) },
    { .name = "replacement",
      .doc = "A line that stands for each run of removed lines; none if empty.",
      .def = "",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct config, replacement) },
    { .name = "keep_breaks",
      .doc = "Kept lines keep their own line break. datatrove (false) joins them with \\n and so "
             "loses other line breaks and the one at the end of the text.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, keep_breaks) },
};

struct symbols {
    const struct config *config;
    uint32_t *points; /* sorted */
    size_t n;
};

struct worker {
    const struct symbols *symbols;
    struct text_spans lines;
};

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

static void symbols_close(void *shared)
{
    struct symbols *symbols = shared;

    free(symbols->points);
    free(symbols);
}

static sluice_status symbols_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *config, void **shared, struct sluice_error *err)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);

    (void)api;
    (void)host;
    if (symbols == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    symbols->config = config;
    symbols->points = calloc((size_t)symbols->config->symbols.n + 1, sizeof symbols->points[0]);
    if (symbols->points == NULL) {
        symbols_close(symbols);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for symbols");
    }
    for (uint64_t i = 0; i < symbols->config->symbols.n; i++) {
        const char *item = symbols->config->symbols.items[i];
        size_t n = strlen(item);
        uint32_t point;
        if (n == 0 || !text_utf8_valid(item, n, NULL) ||
            text_utf8_decode(item, n, 0, &point) != n) {
            symbols_close(symbols);
            return sluice_fail(err, SLUICE_E_CONFIG, "symbols",
                               "found an item that is not one character, expected one an item");
        }
        symbols->points[symbols->n++] = point;
    }
    qsort(symbols->points, symbols->n, sizeof symbols->points[0], compare);
    *shared = symbols;
    return SLUICE_OK;
}

static sluice_status symbols_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    return clean_prepare(((const struct symbols *)shared)->config->over, plan, err);
}

static sluice_status symbols_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void symbols_worker_close(void *state)
{
    struct worker *worker = state;

    text_spans_deinit(&worker->lines);
    free(worker);
}

/* Not only white space, and all of it symbols or spaces. */
static int of_symbols(const struct symbols *symbols, const char *line, size_t n)
{
    int blank = 1;

    for (size_t at = 0; at < n;) {
        uint32_t point;
        at += text_utf8_decode(line, n, at, &point);
        uint32_t classes = text_classes(point);
        int member = symbols->n == 0 ? (classes & TEXT_PUNCTUATION_SET) != 0
                                     : bsearch(&point, symbols->points, symbols->n, sizeof point,
                                               compare) != NULL;
        if (!member && point != ' ') {
            return 0;
        }
        blank = blank && (classes & TEXT_SPACE) != 0;
    }
    return !blank;
}

static sluice_status edit(void *state, const char *text, size_t n, struct sluice_bytes *out,
                          struct sluice_error *err)
{
    struct worker *worker = state;
    const struct config *config = worker->symbols->config;
    size_t replacement = strlen(config->replacement);
    int removing = 0;
    int first = 1;
    int ok = sluice_bytes_reserve(out, n);
    sluice_status status = text_splitlines(text, n, &worker->lines, err);

    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t i = 0; ok && i < worker->lines.count; i++) {
        struct text_span line = worker->lines.data[i];
        size_t next = i + 1 < worker->lines.count ? worker->lines.data[i + 1].begin : n;
        const char *bytes = text + line.begin;
        size_t length = line.end - line.begin;
        int symbols = of_symbols(worker->symbols, bytes, length);
        if (symbols) {
            int again = removing;
            removing = 1;
            if (again || replacement == 0) {
                continue;
            }
            bytes = config->replacement;
            length = replacement;
        } else {
            removing = 0;
        }
        if (config->keep_breaks != 0) {
            ok = sluice_bytes_add(out, bytes, length) &&
                 sluice_bytes_add(out, text + line.end, next - line.end);
        } else {
            ok = (first || sluice_bytes_add(out, "\n", 1)) && sluice_bytes_add(out, bytes, length);
        }
        first = 0;
    }
    return ok ? SLUICE_OK : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the text");
}

static sluice_status symbols_process(void *worker, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    return clean_process(worker, edit, batch, emit, err);
}

const struct sluice_stage clean_symbol_lines_stage = {
    .size = sizeof clean_symbol_lines_stage,
    .name = "symbol_lines",
    .version = "1.0",
    .bytes_per_batch = 7,
    .summary = "Removes lines that consist of symbols only",
    .doc = "datatrove 0.10's SymbolLinesFormatter (formatters/symbol_lines_remover.py). Lines of "
           "white space only stay. A tab is no space to datatrove: a line with one is kept unless "
           "tabs are among the symbols.",
    .example = "docs | s.symbol_lines { replacement = \"...\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = symbols_open,
    .prepare = symbols_prepare,
    .worker_open = symbols_worker_open,
    .process = symbols_process,
    .worker_close = symbols_worker_close,
    .close = symbols_close,
};
