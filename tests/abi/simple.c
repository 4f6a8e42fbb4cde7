/* Each macro of sluice_simple.h that the examples leave out: memory of a worker, columns of text, all kinds of options. */
#include <sluice_simple.h>

struct config {
    uint8_t upper;
    double share;
    uint64_t bytes;
    const char *mark;
    int32_t place;
    const char *file;
    struct sluice_list words;
    const char *over, *as;
};

static const struct sluice_option options[] = {
    SLUICE_OPTION_BOOL(struct config, upper, "false", "A flag."),
    SLUICE_OPTION_FLOAT(struct config, share, "0.5", 0, 1, "A share."),
    SLUICE_OPTION_SIZE(struct config, bytes, "1KiB", 1, 1e9, "Bytes."),
    SLUICE_OPTION_STRING(struct config, mark, "+", "A text."),
    SLUICE_OPTION_ENUM(struct config, place, "front", "front|back", "A place."),
    SLUICE_OPTION_PATH(struct config, file, "A file."),
    SLUICE_OPTION_LIST(struct config, words, "Words."),
    SLUICE_OPTION_COLUMN(struct config, over, "text", "Column that holds the text."),
    SLUICE_OPTION_STRING(struct config, as, NULL, "Name of the column."),
};

/* The longest run of a byte, by a table in the worker's memory. */
struct table {
    uint32_t *counts; /* 256, made by the first row */
};

static void table_free(struct table *table)
{
    free(table->counts);
}

static sluice_status count(const struct sluice_row *row, uint32_t *most)
{
    struct table *table = row->state;

    if (table->counts == NULL) {
        table->counts = malloc(256 * sizeof *table->counts);
        if (table->counts == NULL) {
            return sluice_fail(row->err, SLUICE_E_NOMEM, "", "out of memory for counts");
        }
    }
    memset(table->counts, 0, 256 * sizeof *table->counts);
    *most = 0;
    for (size_t i = 0; i < row->n; i++) {
        uint32_t n = ++table->counts[(unsigned char)row->text[i]];
        *most = n > *most ? n : *most;
    }
    return SLUICE_OK;
}

static sluice_status judge(const struct config *o, const struct sluice_row *row, struct sluice_verdict *v)
{
    uint32_t most;
    sluice_status status = count(row, &most);

    sluice_judge_most(v, 2, row->n > 0 && status == SLUICE_OK ? (double)most / (double)row->n : 0, o->share);
    if (row->n > o->bytes) {
        v->reason = 1;
    }
    return status;
}

static sluice_status most_common(const struct config *o, const struct sluice_row *row, uint32_t *value)
{
    (void)o;
    return count(row, value);
}

static sluice_status put_mark(const struct config *o, const struct sluice_row *row, struct sluice_bytes *out)
{
    int ok = (o->place != 0 || sluice_bytes_add(out, o->mark, strlen(o->mark))) && sluice_bytes_add(out, row->text, row->n) &&
             (o->place == 0 || sluice_bytes_add(out, o->mark, strlen(o->mark)));

    return ok ? SLUICE_OK : sluice_fail(row->err, SLUICE_E_NOMEM, "", "out of memory for a mark");
}

static sluice_status put_count(const struct config *o, const struct sluice_row *row, struct sluice_bytes *out)
{
    static const char *const words[] = { "none", "few", "many" };
    uint32_t most;
    sluice_status status = count(row, &most);
    const char *word = words[most > 3 ? 2 : most > 0 ? 1 : 0];

    (void)o;
    if (status == SLUICE_OK && !sluice_bytes_add(out, word, strlen(word))) {
        status = sluice_fail(row->err, SLUICE_E_NOMEM, "", "out of memory for a word");
    }
    return status;
}

SLUICE_FILTER_WITH(s_common, struct table, table_free, judge, .version = "1", .summary = "Drops what is mostly one byte",
                   .reasons = "too_long|one_byte", SLUICE_OPTIONS(struct config, options));
SLUICE_ANNOTATOR_WITH(s_most, struct table, table_free, "most", "uint32", uint32_t, most_common, .version = "1",
                      .summary = "Adds how often the most common byte occurs");
SLUICE_ANNOTATOR_TEXT(s_mark, "marked", put_mark, .version = "1", .summary = "Adds the text with a mark",
                      SLUICE_OPTIONS(struct config, options));
SLUICE_ANNOTATOR_TEXT_WITH(s_word, struct table, table_free, "word", put_count, .version = "1", .summary = "Adds a word for the count");
SLUICE_PLUGIN("simple", "1.0", "MIT", &s_common_stage, &s_most_stage, &s_mark_stage, &s_word_stage);
