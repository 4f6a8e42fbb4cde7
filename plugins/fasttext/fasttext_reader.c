#include "fasttext_reader.h"

sluice_status fasttext_reader_open(struct fasttext_reader *reader, const struct ft_model *model,
                                   struct sluice_error *err)
{
    return ft_reader_create(model, &reader->reader, err);
}

void fasttext_reader_close(struct fasttext_reader *reader)
{
    ft_reader_destroy(reader->reader);
    sluice_bytes_free(&reader->line);
    reader->reader = NULL;
}

int fasttext_one_line(struct sluice_bytes *out, const char *text, size_t n, const char *replacement)
{
    size_t length = strlen(replacement);

    for (size_t at = 0; at < n;) {
        const char *newline = memchr(text + at, '\n', n - at);
        size_t end = newline == NULL ? n : (size_t)(newline - text);
        if (!sluice_bytes_add(out, text + at, end - at) ||
            (end < n && !sluice_bytes_add(out, replacement, length))) {
            return 0;
        }
        at = end + 1;
    }
    return 1;
}

sluice_status fasttext_ask_line(struct fasttext_reader *reader, const struct ft_score **scores,
                                size_t *count, struct sluice_error *err)
{
    struct sluice_bytes *line = &reader->line;
    size_t n;

    if (!sluice_bytes_add(line, "\n", 1)) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a text");
    }
    n = (size_t)line->size;
    line->size = 0;
    return ft_predict(reader->reader, line->data, n, scores, count, err);
}

sluice_status fasttext_ask(struct fasttext_reader *reader, const char *text, size_t n,
                           const char *replacement, const struct ft_score **scores, size_t *count,
                           struct sluice_error *err)
{
    reader->line.size = 0;
    return fasttext_one_line(&reader->line, text, n, replacement)
               ? fasttext_ask_line(reader, scores, count, err)
               : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a text");
}

sluice_status fasttext_tally_open(struct fasttext_tally *tally, size_t labels,
                                  struct sluice_error *err)
{
    tally->labels = labels;
    tally->counts = calloc(labels + 1, sizeof *tally->counts);
    tally->order = calloc(labels + 1, sizeof *tally->order);
    return tally->counts == NULL || tally->order == NULL
               ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for labels")
               : SLUICE_OK;
}

void fasttext_tally_close(struct fasttext_tally *tally)
{
    free(tally->counts);
    free(tally->order);
    memset(tally, 0, sizeof *tally);
}

void fasttext_tally_reset(struct fasttext_tally *tally)
{
    memset(tally->counts, 0, tally->labels * sizeof *tally->counts);
    tally->n = 0;
}

size_t fasttext_tally_add(struct fasttext_tally *tally, size_t label)
{
    if (tally->counts[label] == 0) {
        tally->order[tally->n++] = label;
    }
    return tally->counts[label]++;
}
