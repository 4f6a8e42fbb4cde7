/* text_fineweb.c — see text_fineweb.h. Every comparison is of two doubles, as the peer's. */
#include "text/text_fineweb.h"

#include "text/text_decode.h"
#include "text/text_measure.h"
#include "text/text_verdict.h"

static const char *const names[] = {
    "empty", "line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio",
};

void text_fineweb_defaults(struct text_fineweb_options *options)
{
    *options = (struct text_fineweb_options){
        .line_punct_thr = 0.12,
        .short_line_thr = 0.67,
        .short_line_length = 30,
        .char_duplicates_ratio = 0.01,
        .new_line_ratio = 0.3,
    };
}

const char *text_fineweb_reason(int32_t reason)
{
    return text_reason_name(names, TEXT_FINEWEB_REASONS, reason);
}

static void drop(struct text_verdict *verdict, int32_t reason, double value, double limit)
{
    text_drop(verdict, reason, text_fineweb_reason(reason), value, limit);
}

static bool ends_in_stop(const char *line, size_t len, const struct text_fineweb_options *options)
{
    if (options->stop_chars == NULL) {
        uint32_t cp;
        const unsigned char *p = text_bytes(line);
        return len > 0 && text_decode_back(p, p + len, &cp) > 0 &&
               (text_table_classes(cp) & TEXT_TERMINAL) != 0;
    }
    for (size_t i = 0; i < options->n_stop_chars; i++) {
        const struct text_string *stop = &options->stop_chars[i];
        if (text_ends_with(line, len, stop->data, stop->len)) {
            return true;
        }
    }
    return false;
}

/* Whether a line has at most `limit` code points; counts only when bytes cannot tell. */
static bool is_short(const char *line, size_t len, int64_t limit)
{
    if (limit < 0) {
        return false;
    }
    uint64_t most = (uint64_t)limit;
    return len <= most || (len / 4 <= most && text_utf8_count(line, len) <= most);
}

/* The test of newlines, which needs the number of words. Of the rules that never give fewer words
 * than white space does, that number bounds the share, and nearly always settles it. */
static int32_t judge_newlines(const struct text_doc *doc, size_t newlines,
                              const struct text_fineweb_options *options,
                              struct text_scratch *scratch, struct text_verdict *verdict,
                              struct sluice_error *err)
{
    size_t words = doc->n_words;
    if (options->count_words) {
        words = options->word_rule == TEXT_WORDS_UAX29 ? 0 : text_word_count(doc->text, doc->len);
        if (words > 0 && (double)newlines / (double)words <= options->new_line_ratio) {
            return SLUICE_OK;
        }
        int32_t status = text_words_cached(options->word_rule, doc->text, doc->len, options->cache,
                                           &scratch->more, err);
        if (status != SLUICE_OK) {
            return status;
        }
        words = scratch->more.count;
    }
    double ratio = (double)newlines / (double)words;
    if (ratio > options->new_line_ratio) {
        drop(verdict, TEXT_FINEWEB_LIST, ratio, options->new_line_ratio);
    }
    return SLUICE_OK;
}

int32_t text_fineweb_quality(const struct text_doc *doc, const struct text_fineweb_options *options,
                             struct text_scratch *scratch, struct text_verdict *verdict,
                             struct sluice_error *err)
{
    struct text_duplicates duplicates;
    text_keep(verdict);
    int32_t status = text_unit_duplicates(doc, TEXT_UNIT_FILLED, scratch, &duplicates, err);
    if (status != SLUICE_OK) {
        return status;
    }
    const struct text_spans *lines = &scratch->spans;
    if (lines->count == 0) {
        drop(verdict, TEXT_FINEWEB_EMPTY, 0, 0);
        return SLUICE_OK;
    }
    size_t stopped = 0, shorts = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const char *line = doc->text + lines->data[i].begin;
        size_t len = lines->data[i].end - lines->data[i].begin;
        stopped += ends_in_stop(line, len, options);
        shorts += is_short(line, len, options->short_line_length);
    }
    double count = (double)lines->count;
    double ratio = (double)stopped / count;
    if (ratio < options->line_punct_thr && !(stopped == 0 && options->line_punct_exclude_zero)) {
        drop(verdict, TEXT_FINEWEB_LINE_PUNCT, ratio, options->line_punct_thr);
        return SLUICE_OK;
    }
    ratio = (double)shorts / count;
    if (ratio > options->short_line_thr) {
        drop(verdict, TEXT_FINEWEB_SHORT_LINES, ratio, options->short_line_thr);
        return SLUICE_OK;
    }
    size_t newlines = text_count(doc->text, doc->len, "\n", 1);
    ratio = (double)duplicates.chars / (double)(doc->chars - newlines);
    if (ratio > options->char_duplicates_ratio) {
        drop(verdict, TEXT_FINEWEB_CHAR_DUP, ratio, options->char_duplicates_ratio);
        return SLUICE_OK;
    }
    return judge_newlines(doc, newlines, options, scratch, verdict, err);
}
