/* web_lines - RefinedWeb's line rules (Penedo et al. 2023, arXiv:2306.01116, appendix G.2) as DCLM and datamap-rs run them: lines are dropped
 * or cut, and a document that loses too many words is dropped.
 *
 * The lines are spans of the document; one that begins at or behind the document's length stands in worker->edits, at begin - length. */
#include "web.h"

#include "web_class.h"
#include "web_cuts.h"

struct config {
    struct web_common common;
    double max_uppercase, max_numeric;
    uint8_t counters;
    int64_t min_line_words, cut_max_words;
    struct sluice_list cut, cut_suffix, cut_prefix;
    double max_removed;
};

enum { NO_LINES = 1, REMOVED };

static const struct sluice_option options[] = {
    WEB_OVER(config, "Column that holds the text, replaced by what is left of it."),
    WEB_PEER(config),
    WEB_SHARE(config, max_uppercase,
              "Lines with a larger share of upper-case letters are dropped; -1 disables.", "0.5"),
    WEB_SHARE(config, max_numeric, "Lines with a larger share of digits are dropped; -1 disables.",
              "0.999999"),
    WEB_BOOL(config, counters, "Drop lines that are a counter (\"3 likes\", \"1.2K followers\").",
             "true"),
    WEB_INT(config, min_line_words, "Lines with fewer words are dropped; -1 or 0 disables.", "2"),
    { .name = "cut",
      .doc = "Phrases that are cut out of lines; . stands for any character.",
      .def = "items in cart",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, cut) },
    { .name = "cut_suffix",
      .doc = "Phrases that are cut off the end of lines.",
      .def = "Read more...",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, cut_suffix) },
    { .name = "cut_prefix",
      .doc = "Phrases that are cut off the beginning of lines.",
      .def = "Sign-in",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, cut_prefix) },
    WEB_INT(config, cut_max_words,
            "Most words of a line that phrases are cut from; -1: no limit, as Olmo 3 was made.",
            "10"),
    WEB_SHARE(config, max_removed,
              "Documents that lost a larger share of their words are dropped; -1 disables.",
              "0.05"),
};

/* Of an instance: what the three cuts look for. */
struct cuts {
    struct web_cuts place[3]; /* anywhere, suffix, prefix: the peers' order */
};

/* A document at work. */
struct edit {
    struct web_worker *worker;
    const struct config *config;
    const struct web_doc *doc;
    enum web_peer peer;
    const struct text_span *words; /* datamap: the words of the whole document */
    size_t n_words;
    bool changed;
};

static const char *line_text(const struct edit *edit, struct text_span line)
{
    return line.begin < edit->doc->len
               ? edit->doc->text + line.begin
               : (line.end > line.begin ? edit->worker->edits.data + (line.begin - edit->doc->len)
                                        : edit->doc->text);
}

static bool is_space(enum web_peer peer, uint32_t cp)
{
    return peer == WEB_DCLM ? web_python_space(cp) : web_rust_space(cp);
}

static bool is_blank(enum web_peer peer, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        at += text_utf8_decode(text, len, at, &cp);
        if (!is_space(peer, cp)) {
            return false;
        }
    }
    return true;
}

/* ---- measures of a line ---- */

/* Whether more than `limit` of the line's characters (dclm) or bytes are such that `test` holds for. `ascii` is `test` for the first 128.
 * Stops as soon as so much of the line has failed the test that the rest can't matter, by a margin that no rounding reaches. */
static bool over_share(enum web_peer peer, const char *text, size_t len, bool (*test)(uint32_t),
                       const bool ascii[128], double limit)
{
    double most = (double)len * limit * (1 - 1e-6);
    size_t enough = most < (double)len ? (size_t)((double)len - most) + 1 : len;
    size_t count = 0;
    size_t chars = 0;

    for (size_t at = 0; at < len; chars++) {
        unsigned char byte = (unsigned char)text[at];
        if (byte < 0x80) {
            count += ascii[byte];
            at++;
        } else {
            uint32_t cp;
            at += text_utf8_decode(text, len, at, &cp);
            count += test(cp);
        }
        if (chars + 1 - count > enough) {
            return false;
        }
    }
    return peer == WEB_DCLM ? !((double)count / (double)chars <= limit)
                            : !((float)count / (float)len <= (float)limit);
}

static bool ascii_digit(uint32_t cp)
{
    return cp >= '0' && cp <= '9';
}

static bool line_shouts(const struct edit *edit, const char *text, size_t len)
{
    static const bool upper[128] = {
        ['A'] = true, ['B'] = true, ['C'] = true, ['D'] = true, ['E'] = true, ['F'] = true,
        ['G'] = true, ['H'] = true, ['I'] = true, ['J'] = true, ['K'] = true, ['L'] = true,
        ['M'] = true, ['N'] = true, ['O'] = true, ['P'] = true, ['Q'] = true, ['R'] = true,
        ['S'] = true, ['T'] = true, ['U'] = true, ['V'] = true, ['W'] = true, ['X'] = true,
        ['Y'] = true, ['Z'] = true,
    };

    return over_share(edit->peer, text, len, web_upper, upper, edit->config->max_uppercase);
}

/* datamap's digits are those of ASCII. */
static bool line_numeric(const struct edit *edit, const char *text, size_t len)
{
    static const bool digit[128] = {
        ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true,
        ['5'] = true, ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true,
    };

    return over_share(edit->peer, text, len,
                      edit->peer == WEB_DCLM ? web_python_digit : ascii_digit, digit,
                      edit->config->max_numeric);
}

struct scanner {
    enum web_peer peer;
    const char *text;
    size_t len, at;
};

/* The next character in lower case, as far as the pattern needs it (the Kelvin sign is a k), without taking it; 0 at the end. */
static uint32_t peek(const struct scanner *scan, size_t *n)
{
    uint32_t cp = 0;

    *n = scan->at < scan->len ? text_utf8_decode(scan->text, scan->len, scan->at, &cp) : 0;
    if (cp >= 'A' && cp <= 'Z') {
        return cp | 32;
    }
    return cp == 0x212A ? 'k' : cp;
}

static void skip_marks(struct scanner *scan)
{
    size_t n;

    for (uint32_t cp = peek(scan, &n); n > 0; cp = peek(scan, &n)) {
        if (scan->peer == WEB_DCLM ? web_python_word(cp) : web_rust_word(cp)) {
            return;
        }
        scan->at += n;
    }
}

static bool skip_word(struct scanner *scan, const char *word)
{
    size_t from = scan->at;
    size_t n;

    for (; *word != '\0'; word++) {
        if (peek(scan, &n) != (unsigned char)*word || n == 0) {
            scan->at = from;
            return false;
        }
        scan->at += n;
    }
    return true;
}

/* ^\W*\d(,|\.|\d)*[kmb]?\s+(likes|...)\W*$ on the line in lower case. */
static bool line_counter(const struct edit *edit, const char *text, size_t len)
{
    static const char *const things[] = { "likes",     "shares",    "comments",  "retweets",
                                          "reposts",   "quotes",    "bookmarks", "upvotes",
                                          "downvotes", "downloads", "views",     "followers" };
    struct scanner scan = { edit->peer, text, len, 0 };
    size_t n;
    uint32_t cp;
    size_t spaces = 0;

    skip_marks(&scan);
    cp = peek(&scan, &n);
    if (n == 0 || !web_decimal(cp)) {
        return false;
    }
    for (; n > 0 && (web_decimal(cp) || cp == ',' || cp == '.'); cp = peek(&scan, &n)) {
        scan.at += n;
    }
    if (n > 0 && (cp == 'k' || cp == 'm' || cp == 'b')) {
        scan.at += n;
        cp = peek(&scan, &n);
    }
    for (; n > 0 && is_space(edit->peer, cp); cp = peek(&scan, &n)) {
        scan.at += n;
        spaces++;
    }
    for (size_t i = 0; spaces > 0 && i < sizeof things / sizeof things[0]; i++) {
        if (skip_word(&scan, things[i])) {
            skip_marks(&scan);
            return scan.at == len;
        }
    }
    return false;
}

/* Whether the line has at least `least` words between white space (dclm). */
static bool has_words(const char *text, size_t len, uint64_t least)
{
    uint64_t words = 0;
    bool inside = false;

    for (size_t at = 0; at < len && words < least;) {
        uint32_t cp = (unsigned char)text[at];
        bool space;
        if (cp < 0x80) {
            space = cp == ' ' || (cp >= '\t' && cp <= '\r') || (cp >= 0x1C && cp <= 0x1F);
            at++;
        } else {
            at += text_utf8_decode(text, len, at, &cp);
            space = web_python_space(cp);
        }
        words += !space && !inside;
        inside = !space;
    }
    return words >= least;
}

/* datamap's Unicode words of a line: the document's that lie in it (from *cursor on: lines come in order), or of the line's new text. */
static int32_t line_words(const struct edit *edit, struct text_span line, size_t *cursor,
                          size_t *count, struct sluice_error *err)
{
    size_t first;

    if (line.end > line.begin && line.begin >= edit->doc->len) {
        int32_t status = web_unicode_words(line_text(edit, line), line.end - line.begin,
                                           &edit->worker->other, err);
        *count = edit->worker->other.count;
        return status;
    }
    while (*cursor < edit->n_words && edit->words[*cursor].begin < line.begin) {
        (*cursor)++;
    }
    first = *cursor;
    while (*cursor < edit->n_words && edit->words[*cursor].begin < line.end) {
        (*cursor)++;
    }
    *count = *cursor - first;
    return SLUICE_OK;
}

/* ---- steps ---- */

static int32_t lines_cut(struct edit *edit, struct sluice_error *err)
{
    return text_split_newline(edit->doc->text, edit->doc->len, &edit->worker->lines, err);
}

/* Python's strip() of the joined lines (dclm). */
static void lines_strip(struct edit *edit)
{
    struct text_spans *lines = &edit->worker->lines;
    size_t first = 0;
    size_t end = lines->count;

    while (first < end && is_blank(WEB_DCLM, line_text(edit, lines->data[first]),
                                   lines->data[first].end - lines->data[first].begin)) {
        first++;
    }
    while (end > first && is_blank(WEB_DCLM, line_text(edit, lines->data[end - 1]),
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
        const char *text = line_text(edit, *line);
        struct text_span rest = k == 0 ? text_lstrip(text, whole) : text_rstrip(text, whole);
        edit->changed = edit->changed || rest.begin != whole.begin || rest.end != whole.end;
        line->end = line->begin + rest.end;
        line->begin += rest.begin;
    }
}

/* Drops the lines that `test` holds for; empty ones stay. */
static void lines_drop(struct edit *edit,
                       bool (*test)(const struct edit *, const char *text, size_t len))
{
    struct text_spans *lines = &edit->worker->lines;
    size_t kept = 0;

    for (size_t i = 0; i < lines->count; i++) {
        struct text_span line = lines->data[i];
        if (line.end == line.begin || !test(edit, line_text(edit, line), line.end - line.begin)) {
            lines->data[kept++] = line;
        }
    }
    edit->changed = edit->changed || kept != lines->count;
    lines->count = kept;
    if (edit->peer == WEB_DCLM) {
        lines_strip(edit);
    }
}

static int32_t lines_short(struct edit *edit, struct sluice_error *err)
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
            keep = has_words(line_text(edit, line), line.end - line.begin, least);
        } else if (!keep) {
            size_t words;
            status = line_words(edit, line, &cursor, &words, err);
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
static int32_t line_cuttable(const struct edit *edit, const char *text, size_t len, bool *yes,
                             struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    int64_t most = edit->config->cut_max_words;

    *yes = true;
    if (most >= 0 && edit->peer == WEB_DCLM) {
        *yes = !has_words(text, len, (uint64_t)most + 1);
    } else if (most >= 0) {
        status = web_unicode_words(text, len, &edit->worker->other, err);
        *yes = edit->worker->other.count <= (uint64_t)most;
    }
    return status;
}

/* Cuts all matches out of a line that has `match`; the new line in *line. datamap leaves a space in the middle of a line. */
static int32_t line_cut(struct edit *edit, const struct web_cuts *cuts, const char *text,
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
static int32_t line_edit(struct edit *edit, const struct web_cuts *cuts, bool search,
                         struct text_span *line, bool *keep, struct sluice_error *err)
{
    const char *text = line_text(edit, *line);
    size_t len = line->end - line->begin;
    struct text_span match;
    bool cuttable = true;
    int32_t status = SLUICE_OK;

    *keep = true;
    if (search && web_cuts_find(cuts, text, len, 0, &match)) {
        status = line_cuttable(edit, text, len, &cuttable, err);
        if (status == SLUICE_OK && cuttable) {
            status = line_cut(edit, cuts, text, len, match, line, err);
            *keep = status != SLUICE_OK ||
                    !is_blank(edit->peer, line_text(edit, *line), line->end - line->begin);
        }
        return status;
    }
    *keep = len == 0 || !is_blank(edit->peer, text, len);
    return status;
}

/* datamap: the lines as Rust's lines() gives them: without \r before \n, and without an empty last line. */
static void lines_reread(struct edit *edit)
{
    struct text_spans *lines = &edit->worker->lines;

    for (size_t i = 0; i + 1 < lines->count; i++) {
        struct text_span *line = &lines->data[i];
        if (line->end > line->begin &&
            line_text(edit, *line)[line->end - line->begin - 1] == '\r') {
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

static int32_t lines_edit(struct edit *edit, const struct web_cuts *cuts, struct sluice_error *err)
{
    struct text_spans *lines = &edit->worker->lines;
    struct text_span match;
    size_t kept = 0;
    int32_t status = SLUICE_OK;
    /* nothing new can match after the lines before were dropped: one look at the document saves the lines' */
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
static bool is_empty(const struct edit *edit)
{
    const struct text_spans *lines = &edit->worker->lines;

    return lines->count == 0 || (lines->count == 1 && lines->data[0].begin == lines->data[0].end);
}

/* Whether the step that just ran leaves no document: dclm says so of an empty text, datamap of no lines, after counters and short lines.
 * Otherwise datamap goes on with an empty text, which has one empty line. */
static bool none_left(const struct edit *edit, bool datamap_asks)
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

/* The steps in the peers' order; *left is false when no line is left. */
static int32_t steps_run(struct edit *edit, bool *left, struct sluice_error *err)
{
    const struct config *config = edit->config;
    const struct cuts *cuts = edit->worker->web->extra;
    int32_t status = lines_cut(edit, err);

    *left = true;
    if (status == SLUICE_OK && config->max_uppercase >= 0) {
        lines_drop(edit, line_shouts);
        *left = !none_left(edit, false);
    }
    if (status == SLUICE_OK && *left && config->max_numeric >= 0) {
        lines_drop(edit, line_numeric);
        *left = !none_left(edit, false);
    }
    if (status == SLUICE_OK && *left && config->counters) {
        lines_drop(edit, line_counter);
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

static int32_t lines_join(struct edit *edit, struct sluice_error *err)
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
            status = text_buffer_append(text, line_text(edit, line), line.end - line.begin, err);
        }
    }
    return status;
}

/* How many words the document has lost; dclm counts fastText's tokens, datamap Unicode words. */
static int32_t words_judge(struct edit *edit, struct web_verdict *verdict, struct sluice_error *err)
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
            int32_t status = line_words(edit, lines->data[i], &cursor, &words, err);
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
        return web_drop(verdict, REMOVED, 1, limit);
    }
    return ratio > limit ? web_drop(verdict, REMOVED, ratio, limit) : SLUICE_OK;
}

static sluice_status edit_row(struct web_worker *worker, const struct web_doc *doc,
                              struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    struct edit edit = {
        .worker = worker, .config = config, .doc = doc, .peer = (enum web_peer)config->common.peer
    };
    bool left = true;
    int32_t status = SLUICE_OK;

    worker->edits.len = 0;
    if (edit.peer == WEB_DATAMAP) {
        status = web_words(edit.peer, doc->text, doc->len, doc->spans, doc->n_spans, &worker->words,
                           &edit.words, &edit.n_words, err);
    }
    if (status == SLUICE_OK) {
        status = steps_run(&edit, &left, err);
    }
    if (status == SLUICE_OK && !left) {
        return web_drop(verdict, NO_LINES, 0, 1);
    }
    if (status == SLUICE_OK) {
        status = lines_join(&edit, err);
    }
    if (status == SLUICE_OK && config->max_removed >= 0) {
        status = words_judge(&edit, verdict, err);
    }
    return status;
}

static void cuts_release(void *extra)
{
    struct cuts *cuts = extra;

    for (size_t k = 0; k < 3; k++) {
        web_cuts_close(&cuts->place[k]);
    }
    free(cuts);
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    enum web_peer peer = (enum web_peer)config->common.peer;
    struct cuts *cuts = calloc(1, sizeof *cuts);
    sluice_status status =
        cuts == NULL ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory") : SLUICE_OK;

    if (status == SLUICE_OK) {
        status = web_cuts_open(&cuts->place[0], &config->cut, "cut", WEB_ANYWHERE, peer, err);
    }
    if (status == SLUICE_OK) {
        status = web_cuts_open(&cuts->place[1], &config->cut_suffix, "cut_suffix", WEB_SUFFIX, peer,
                               err);
    }
    if (status == SLUICE_OK) {
        status = web_cuts_open(&cuts->place[2], &config->cut_prefix, "cut_prefix", WEB_PREFIX, peer,
                               err);
    }
    if (status == SLUICE_OK) {
        status = web_open(&web_lines_stage, api, host, given, shared, err);
    }
    if (status == SLUICE_OK) {
        struct web *web = *shared;
        web->extra = cuts;
        web->release = cuts_release;
    } else if (cuts != NULL) {
        cuts_release(cuts);
    }
    return status;
}

static bool wants_words(const struct web *web)
{
    return web->common->peer == WEB_DATAMAP;
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct web *web = shared;
    sluice_status status = web_need(web, plan, wants_words(web), err);

    return status == SLUICE_OK ? plan->add(plan, web->common->over, "utf8", NULL, err) : status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct web_worker *worker = state;

    return web_edit(worker, batch, emit, wants_words(worker->web), true, edit_row, err);
}

const struct sluice_stage web_lines_stage = {
    .size = sizeof web_lines_stage,
    .name = "web_lines",
    .version = "1.0",
    .summary =
        "RefinedWeb's line rules as DCLM and Olmo 3 run them: drops shouting, numeric, counter and "
        "short lines, cuts phrases, and drops what lost too many words",
    .doc = "Penedo et al. 2023 (arXiv:2306.01116, appendix G.2), with the definitions of DCLM "
           "(baselines/mappers/modifiers.py) or of datamap-rs (src/map_fxn.rs). The steps run in "
           "the order of "
           "the options, then the words are counted and compared with those before.\n\n"
           "`peer = \"dclm\"`: the text is stripped after each step, shares are of characters, "
           "words of a line "
           "stand between white space, case is ignored in phrases. `peer = \"datamap\"`: shares "
           "are of bytes and of "
           "single precision, digits are 0 to 9, words are Unicode words, phrases are "
           "case-sensitive and "
           "leave a space in the middle of a line, and with a phrase to cut \\r\\n becomes \\n and "
           "a newline at the end is lost. "
           "Each cut also drops lines of white space.\n\n"
           "Two errors of the published configurations: Olmo 3's gives the line limit of the cuts "
           "under "
           "a name that the program doesn't read, so its cuts have none (`cut_max_words = -1` does "
           "the same; the "
           "default is what was meant, and what DCLM did); and its own counter pattern under "
           "another, so the "
           "built-in one ran, which is the one here. In the peers \"Read more...\" is a regular "
           "expression: it cuts "
           "\"Read more\" and any three characters.",
    .example = "docs | s.web_lines { max_removed = 0.1 }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "no_lines_left|word_removal_ratio",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = web_worker_open,
    .process = stage_process,
    .worker_close = web_worker_close,
    .close = web_close,
};
