/* text_sentences_uax29.c — sentence boundaries of UAX #29 (Unicode 15.0, section 5.1) in one pass;
 * see text_sentence_break.h.
 *
 * The rules are about what stands before a boundary: a mark (ATerm, STerm), what closes it
 * (Close*), spaces (Sp*). That is the state here; only SB8, "a lower-case letter comes first",
 * looks ahead, and it stops at the next mark, so that nothing is looked at more than twice. */
#include "text/text_sentence_break.h"

#include "text/text_decode.h"
#include "text/text_error.h"

enum text_sentence_break text_sentence_break(uint32_t cp)
{
    size_t low = 0;
    size_t high = text_sentence_break_count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (text_sentence_break_starts[middle] >> 4 <= cp) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (enum text_sentence_break)(text_sentence_break_starts[low] & 15);
}

/* What stands before the place that is looked at. */
struct state {
    enum text_sentence_break last; /* the last character that counts (SB5) */
    /* TEXT_SB_ATERM or TEXT_SB_STERM while its Close* Sp* goes on, else TEXT_SB_OTHER */
    enum text_sentence_break term;
    bool cased;          /* a letter with case stands right before the ATerm */
    bool closed, spaced; /* Close or Sp stand behind the mark */
};

static bool is_paragraph(enum text_sentence_break c)
{
    return c == TEXT_SB_SEP || c == TEXT_SB_CR || c == TEXT_SB_LF;
}

static bool is_term(enum text_sentence_break c)
{
    return c == TEXT_SB_ATERM || c == TEXT_SB_STERM;
}

/* SB8: of the characters from p on, a lower-case letter comes before any other letter, mark or end
 * of a paragraph. */
static bool lower_first(const unsigned char *p, const unsigned char *end)
{
    while (p < end) {
        uint32_t cp;
        enum text_sentence_break c;
        p += text_decode(p, end, &cp);
        c = text_sentence_break(cp);
        if (c == TEXT_SB_LOWER) {
            return true;
        }
        if (c == TEXT_SB_OLETTER || c == TEXT_SB_UPPER || is_paragraph(c) || is_term(c)) {
            return false;
        }
    }
    return false;
}

/* Whether a boundary stands before the character c at p, when a mark with what closes it stands
 * before. */
static bool ends_here(const struct state *s, enum text_sentence_break c, const unsigned char *p,
                      const unsigned char *end)
{
    bool right_behind = !s->closed && !s->spaced;

    if (s->term == TEXT_SB_ATERM && ((right_behind && c == TEXT_SB_NUMERIC) ||            /* SB6 */
                                     (right_behind && s->cased && c == TEXT_SB_UPPER))) { /* SB7 */
        return false;
    }
    if (c == TEXT_SB_SCONTINUE || is_term(c) || /* SB8a */
        (!s->spaced && c == TEXT_SB_CLOSE) ||   /* SB9 */
        c == TEXT_SB_SP || is_paragraph(c)) {   /* SB9, SB10 */
        return false;
    }
    return !(s->term == TEXT_SB_ATERM && lower_first(p, end)); /* SB8, SB11 */
}

static void take(struct state *s, enum text_sentence_break c)
{
    if (is_term(c)) {
        s->cased = c == TEXT_SB_ATERM && (s->last == TEXT_SB_UPPER || s->last == TEXT_SB_LOWER);
        s->term = c;
        s->closed = s->spaced = false;
    } else if (s->term != TEXT_SB_OTHER && c == TEXT_SB_CLOSE && !s->spaced) {
        s->closed = true;
    } else if (s->term != TEXT_SB_OTHER && c == TEXT_SB_SP) {
        s->spaced = true;
    } else {
        s->term = TEXT_SB_OTHER;
    }
    s->last = c;
}

int32_t text_sentence_segments(const char *text, size_t len, struct text_spans *out,
                               struct sluice_error *err)
{
    const unsigned char *begin = text_bytes(text);
    const unsigned char *end = begin + len;
    const unsigned char *from = begin;
    struct state s = { TEXT_SB_OTHER, TEXT_SB_OTHER, false, false, false };
    int32_t status = text_check_len(len, err);

    out->count = 0;
    for (const unsigned char *p = begin; p < end && status == SLUICE_OK;) {
        uint32_t cp;
        const unsigned char *next = p + text_decode(p, end, &cp);
        enum text_sentence_break c = text_sentence_break(cp);
        bool boundary = false;
        if (p > begin && is_paragraph(s.last)) {
            boundary = !(s.last == TEXT_SB_CR && c == TEXT_SB_LF); /* SB3, SB4 */
        } else if (p > begin && (c == TEXT_SB_EXTEND || c == TEXT_SB_FORMAT)) {
            p = next; /* SB5 */
            continue;
        } else if (p > begin && s.term != TEXT_SB_OTHER) {
            boundary = ends_here(&s, c, p, end);
        }
        if (boundary) {
            status = text_spans_push(out, (uint32_t)(from - begin), (uint32_t)(p - begin), err);
            from = p;
            s.term = TEXT_SB_OTHER;
            s.last = TEXT_SB_OTHER;
        }
        take(&s, c);
        p = next;
    }
    if (status == SLUICE_OK && from < end) {
        status = text_spans_push(out, (uint32_t)(from - begin), (uint32_t)len, err);
    }
    return status;
}
