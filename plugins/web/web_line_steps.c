/* The steps of web_lines: lines are dropped and cut, joined again, and the words that are gone
 * counted. See web_lines.h. */
#include "web_lines.h"

static int32_t lines_cut(struct web_edit_lines *edit, struct sluice_error *err)
{
    return text_split_newline(edit->doc->text, edit->doc->len, &edit->worker->lines, err);
}

/* Python's strip() of the joined lines (dclm). */
static void lines_strip(struct web_edit_lines *edit)
{
    struct text_spans *lines = &edit->worker->lines;
    size_t first = 0;
    size_t end = lines->count;

    while (first < end && web_line_blank(WEB_DCLM, web_line_text(edit, lines->data[first]),
                                         lines->data[first].end - lines->data[first].begin)) {
        first++;
    }
    while (end > first && web_line_blank(WEB_DCLM, web_line_text(edit, lines->data[end - 1]),
                                         lines->data[end - 1].end - lines->data[end - 1].begin)) {
        end--;
    }
    if (end - first != lines->count) {
        memmove(lines->data, lines->data + first, (end - first) * sizeof lines->data[0]);
        lines->count = end - first;
        edit->changed = true;
    }
    for (size_t k = 0; k < 2 && lines->count > 0; k++) {
        struct text_span *line = &lines->data[k == 0 ? 0 : lines->count - 1];
        struct text_span whole = { 0, line->end - line->begin };
        const char *text = web_line_text(edit, *line);
        struct text_span rest = k == 0 ? text_lstrip(text, whole) : text_rstrip(text, whole);
        edit->changed = edit->changed || rest.begin != whole.begin || rest.end != whole.end;
        line->end = line->begin + rest.end;
        line->begin += rest.begin;
    }
}

/* Drops the lines that `test` holds for; empty ones stay. */
static void lines_drop(struct web_edit_lines *edit,
                       bool (*test)(const struct web_edit_lines *, const char *text, size_t len))
{
    struct text_spans *lines = &edit->worker->lines;
    size_t kept = 0;

    for (size_t i = 0; i < lines->count; i++) {
        struct text_span line = lines->data[i];
        if (line.end == line.begin ||
            !test(edit, web_line_text(edit, line), line.end - line.begin)) {
            lines->data[kept++] = line;
        }
    }
    edit->changed = edit->changed || kept != lines->count;
    lines->count = kept;
    if (edit->peer == WEB_DCLM) {
        lines_strip(edit);
    }
}

static int32_t lines_short(struct web_edit_lines *edit, struct sluice_error *err)
{
    struct text_spans *lines = &edit->worker->lines;
    uint64_t least = (uint64_t)edit->config->min_line_words;
    size_t cursor = 0;
    size_t kept = 0;
    int32_t status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < lines->count; i++) {
        struct text_span line = lines->data[i];
        bool keep = line.end == line.begin;
        if (!keep && edit->peer == WEB_DCLM) {
            keep = web_line_has_words(web_line_text(edit, line), line.end - line.begin, least);
        } else if (!keep) {
            size_t words;
            status = web_line_words(edit, line, &cursor, &words, err);
            keep = words >= least;
        }
        if (keep) {
            lines->data[kept++] = line;
        }
    }
    edit->changed = edit->changed || kept != lines->count;
    lines->count = kept;
    return status;
}

/* Whether the line has few enough words to be cut. */
static int32_t line_cuttable(const struct web_edit_lines *edit, const char *text, size_t len,
                             bool *yes, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    int64_t most = edit->config->cut_max_words;

    *yes = true;
    if (most >= 0 && edit->peer == WEB_DCLM) {
        *yes = !web_line_has_words(text, len, (uint64_t)most + 1);
    } else if (most >= 0) {
        status = web_unicode_words(text, len, &edit->worker->other, err);
        *yes = edit->worker->other.count <= (uint64_t)most;
    }
    return status;
}

/* Cuts all matches out of a line that has `match`; the new line in *line. datamap leaves a space in
 * the middle of a line. */
static int32_t line_cut(struct web_edit_lines *edit, const struct web_cuts *cuts, const char *text,
                        size_t len, struct text_span match, struct text_span *line,
                        struct sluice_error *err)
{
    struct text_buffer *edits = &edit->worker->edits;
    size_t begin = edits->len;
    size_t offset =
        (size_t)(text - (line->begin >= edit->doc->len ? edits->data : edit->doc->text));
    bool in_edits = line->begin >= edit->doc->len;
    size_t at = 0;
    bool more = true;
    int32_t status = text_buffer_reserve(edits, len + 1, err);

    /* a line that was cut before stands in the buffer that has just grown */
    text = (in_edits ? edits->data : edit->doc->text) + offset;
    while (status == SLUICE_OK && more) {
        bool space = edit->peer == WEB_DATAMAP && cuts->place == WEB_ANYWHERE;
        status = text_buffer_append(edits, text + at, match.begin - at, err);
        if (status == SLUICE_OK && space) {
            status = text_buffer_append(edits, " ", 1, err);
        }
        text = (in_edits ? edits->data : edit->doc->text) + offset;
        at = match.end;
        more = web_cuts_find(cuts, text, len, at, &match);
    }
    if (status == SLUICE_OK) {
        status = text_buffer_append(edits, text + at, len - at, err);
    }
    line->begin = (uint32_t)(edit->doc->len + begin);
    line->end = (uint32_t)(edit->doc->len + edits->len);
    edit->changed = true;
    return status;
}

/* One line of a cut: *keep says whether it stays. */
static int32_t line_edit(struct web_edit_lines *edit, const struct web_cuts *cuts, bool search,
                         struct text_span *line, bool *keep, struct sluice_error *err)
{
    const char *text = web_line_text(edit, *line);
    size_t len = line->end - line->begin;
    struct text_span match;
    bool cuttable = true;
    int32_t status = SLUICE_OK;

    *keep = true;
    if (search && web_cuts_find(cuts, text, len, 0, &match)) {
        status = line_cuttable(edit, text, len, &cuttable, err);
        if (status == SLUICE_OK && cuttable) {
            status = line_cut(edit, cuts, text, len, match, line, err);
            *keep = status != SLUICE_OK || !web_line_blank(edit->peer, web_line_text(edit, *line),
                                                           line->end - line->begin);
        }
        return status;
    }
    *keep = len == 0 || !web_line_blank(edit->peer, text, len);
    return status;
}

/* datamap: the lines as Rust's lines() gives them: without \r before \n, and without an empty last
 * line. */
static void lines_reread(struct web_edit_lines *edit)
{
    struct text_spans *lines = &edit->worker->lines;

    for (size_t i = 0; i + 1 < lines->count; i++) {
        struct text_span *line = &lines->data[i];
        if (line->end > line->begin &&
            web_line_text(edit, *line)[line->end - line->begin - 1] == '\r') {
            line->end--;
            edit->changed = true;
        }
    }
    if (lines->count > 0 &&
        lines->data[lines->count - 1].begin == lines->data[lines->count - 1].end) {
        lines->count--;
        edit->changed = true;
    }
}

static int32_t lines_edit(struct web_edit_lines *edit, const struct web_cuts *cuts,
                          struct sluice_error *err)
{
    struct text_spans *lines = &edit->worker->lines;
    struct text_span match;
    size_t kept = 0;
    int32_t status = SLUICE_OK;
    /* nothing new can match after the lines before were dropped: one look at the document saves the
     * lines' */
    bool search = cuts->place != WEB_ANYWHERE || edit->worker->edits.len > 0 ||
                  web_cuts_find(cuts, edit->doc->text, edit->doc->len, 0, &match);

    if (edit->peer == WEB_DATAMAP) {
        lines_reread(edit);
    }
    for (size_t i = 0; status == SLUICE_OK && i < lines->count; i++) {
        struct text_span line = lines->data[i];
        bool keep;
        status = line_edit(edit, cuts, search, &line, &keep, err);
        if (keep) {
            lines->data[kept++] = line;
        }
    }
    edit->changed = edit->changed || kept != lines->count;
    lines->count = kept;
    if (edit->peer == WEB_DCLM) {
        lines_strip(edit);
    }
    return status;
}

/* Whether the joined lines are "" (dclm drops such a document after every step). */
static bool is_empty(const struct web_edit_lines *edit)
{
    const struct text_spans *lines = &edit->worker->lines;

    return lines->count == 0 || (lines->count == 1 && lines->data[0].begin == lines->data[0].end);
}

/* Whether the step that just ran leaves no document: dclm says so of an empty text, datamap of no
 * lines, after counters and short lines. Otherwise datamap goes on with an empty text, which has
 * one empty line. */
static bool none_left(const struct web_edit_lines *edit, bool datamap_asks)
{
    struct text_spans *lines = &edit->worker->lines;

    if (edit->peer == WEB_DCLM) {
        return is_empty(edit);
    }
    if (lines->count == 0 && !datamap_asks) {
        lines->data[lines->count++] = (struct text_span){ 0, 0 };
    }
    return lines->count == 0;
}

int32_t web_lines_run(struct web_edit_lines *edit, bool *left, struct sluice_error *err)
{
    const struct web_lines_config *config = edit->config;
    const struct web_lines_cuts *cuts = edit->worker->web->extra;
    int32_t status = lines_cut(edit, err);

    *left = true;
    if (status == SLUICE_OK && config->max_uppercase >= 0) {
        lines_drop(edit, web_line_shouts);
        *left = !none_left(edit, false);
    }
    if (status == SLUICE_OK && *left && config->max_numeric >= 0) {
        lines_drop(edit, web_line_numeric);
        *left = !none_left(edit, false);
    }
    if (status == SLUICE_OK && *left && config->counters) {
        lines_drop(edit, web_line_counter);
        *left = !none_left(edit, true);
    }
    if (status == SLUICE_OK && *left && config->min_line_words > 0) {
        status = lines_short(edit, err);
        *left = !none_left(edit, true);
    }
    for (size_t k = 0; status == SLUICE_OK && *left && k < 3; k++) {
        if (cuts->place[k].count > 0) {
            status = lines_edit(edit, &cuts->place[k], err);
            *left = !none_left(edit, false);
        }
    }
    return status;
}

int32_t web_lines_join(struct web_edit_lines *edit, struct sluice_error *err)
{
    struct text_spans *lines = &edit->worker->lines;
    struct text_buffer *text = &edit->worker->text;
    int32_t status = text_buffer_reserve(text, edit->doc->len + edit->worker->edits.len + 1, err);

    if (status == SLUICE_OK && !edit->changed) {
        return text_buffer_append(text, edit->doc->text, edit->doc->len, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < lines->count; i++) {
        struct text_span line = lines->data[i];
        if (i > 0) {
            status = text_buffer_append(text, "\n", 1, err);
        }
        if (status == SLUICE_OK && line.end > line.begin) {
            status =
                text_buffer_append(text, web_line_text(edit, line), line.end - line.begin, err);
        }
    }
    return status;
}

int32_t web_lines_judge(struct web_edit_lines *edit, struct web_verdict *verdict,
                        struct sluice_error *err)
{
    const struct text_spans *lines = &edit->worker->lines;
    double limit = edit->config->max_removed;
    size_t before;
    size_t after = 0;
    size_t cursor = 0;
    double ratio;

    if (edit->peer == WEB_DCLM) {
        before = web_count_fasttext(edit->doc->text, edit->doc->len);
        after = edit->changed ? web_count_fasttext(edit->worker->text.data, edit->worker->text.len)
                              : before;
        ratio = ((double)before - (double)after) / (double)before;
    } else {
        before = edit->n_words;
        for (size_t i = 0; i < lines->count; i++) {
            size_t words;
            int32_t status = web_line_words(edit, lines->data[i], &cursor, &words, err);
            if (status != SLUICE_OK) {
                return status;
            }
            after += words;
        }
        limit = (double)(float)limit;
        ratio = (double)(((float)before - (float)after) / (float)before);
        if (before >= after) {
            ratio = (double)((float)(before - after) / (float)before);
        }
    }
    if (before == 0) {
        return web_drop(verdict, WEB_LINES_REMOVED, 1, limit);
    }
    return ratio > limit ? web_drop(verdict, WEB_LINES_REMOVED, ratio, limit) : SLUICE_OK;
}
