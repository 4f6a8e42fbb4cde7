/* web_lines.h - what the parts of web_lines share: the options, a document at work, measures of a
 * line and the steps.
 *
 * web_lines.c is the stage, web_line_steps.c drops and cuts lines in the peers' order,
 * web_line_measures.c looks at one line. Depends on web.h. The lines are spans of the document; one
 * that begins at or behind the document's length stands in worker->edits, at begin - length. */
#ifndef WEB_LINES_H
#define WEB_LINES_H

#include "web.h"

#include "web_cuts.h"

struct web_lines_config {
    struct web_common common;
    double max_uppercase, max_numeric;
    uint8_t counters;
    int64_t min_line_words, cut_max_words;
    struct sluice_list cut, cut_suffix, cut_prefix;
    double max_removed;
};

enum { WEB_LINES_NONE = 1, WEB_LINES_REMOVED };

/* Of an instance: what the three cuts look for. */
struct web_lines_cuts {
    struct web_cuts place[3]; /* anywhere, suffix, prefix: the peers' order */
};

/* A document at work. */
struct web_edit_lines {
    struct web_worker *worker;
    const struct web_lines_config *config;
    const struct web_doc *doc;
    enum web_peer peer;
    const struct text_span *words; /* datamap: the words of the whole document */
    size_t n_words;
    bool changed;
};

static inline const char *web_line_text(const struct web_edit_lines *edit, struct text_span line)
{
    return line.begin < edit->doc->len
               ? edit->doc->text + line.begin
               : (line.end > line.begin ? edit->worker->edits.data + (line.begin - edit->doc->len)
                                        : edit->doc->text);
}

/* ---- measures of a line ---- */

/* Whether it is white space, as the peer has it. */
bool web_line_blank(enum web_peer peer, const char *text, size_t len);

/* The peers' rules for a line that goes: too many upper-case letters, too many digits, nothing but
 * a counter ("3 likes"). */
bool web_line_shouts(const struct web_edit_lines *edit, const char *text, size_t len);
bool web_line_numeric(const struct web_edit_lines *edit, const char *text, size_t len);
bool web_line_counter(const struct web_edit_lines *edit, const char *text, size_t len);

/* Whether the line has at least `least` words between white space (dclm). */
bool web_line_has_words(const char *text, size_t len, uint64_t least);

/* datamap's Unicode words of a line: the document's that lie in it (from *cursor on: lines come in
 * order), or of the line's new text. */
int32_t web_line_words(const struct web_edit_lines *edit, struct text_span line, size_t *cursor,
                       size_t *count, struct sluice_error *err);

/* ---- steps ---- */

/* All steps in the peers' order; *left is false when no line is left. */
int32_t web_lines_run(struct web_edit_lines *edit, bool *left, struct sluice_error *err);

/* What is left, into worker->text. */
int32_t web_lines_join(struct web_edit_lines *edit, struct sluice_error *err);

/* How many words the document has lost; dclm counts fastText's tokens, datamap Unicode words. */
int32_t web_lines_judge(struct web_edit_lines *edit, struct web_verdict *verdict,
                        struct sluice_error *err);

#endif
