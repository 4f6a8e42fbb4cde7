/* text_segments.c — default word boundaries of UAX #29, Unicode 15.
 *
 * The rules WB3 to WB999 decide between two neighbouring code points from the last two that are
 * not ignored (WB4), the next one that is not ignored, and a count of regional indicators. That is
 * the state below; runs of ASCII letters, digits and _ never break and are skipped at once.
 */
#include "text/text_segments.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_words.h"

#define BIT(property) (1u << (property))
#define AHLETTER (BIT(TEXT_WB_ALETTER) | BIT(TEXT_WB_HEBREW_LETTER))
#define IGNORED (BIT(TEXT_WB_EXTEND) | BIT(TEXT_WB_FORMAT) | BIT(TEXT_WB_ZWJ))
#define NEWLINES (BIT(TEXT_WB_CR) | BIT(TEXT_WB_LF) | BIT(TEXT_WB_NEWLINE))
#define MIDNUMLETQ (BIT(TEXT_WB_MIDNUMLET) | BIT(TEXT_WB_SINGLE_QUOTE))
#define WORDLIKE \
    (AHLETTER | BIT(TEXT_WB_NUMERIC) | BIT(TEXT_WB_KATAKANA) | BIT(TEXT_WB_EXTENDNUMLET))
#define JOINS_ASCII (AHLETTER | BIT(TEXT_WB_NUMERIC) | BIT(TEXT_WB_EXTENDNUMLET))

struct boundary {
    uint32_t last;      /* property bit of the code point before, whatever it is */
    uint32_t prev;      /* property bit of the last one not ignored */
    uint32_t before;    /* property bit of the one not ignored before that */
    bool odd_indicator; /* an odd number of regional indicators ends here */
};

static uint32_t property(uint32_t classes)
{
    return BIT(classes >> TEXT_WB_SHIFT);
}

/* Property bit of the first code point at or after p that WB4 does not ignore; 0 at the end. */
static uint32_t peek(const unsigned char *p, const unsigned char *end)
{
    while (p < end) {
        uint32_t cp;
        p += text_decode(p, end, &cp);
        uint32_t bit = property(text_table_classes(cp));
        if ((bit & IGNORED) == 0) {
            return bit;
        }
    }
    return 0;
}

/* Whether a boundary lies before the code point of `classes`, which `rest` follows. */
static bool breaks(const struct boundary *state, uint32_t classes, const unsigned char *rest,
                   const unsigned char *end)
{
    uint32_t cur = property(classes), last = state->last, prev = state->prev;
    if (last == BIT(TEXT_WB_CR) && cur == BIT(TEXT_WB_LF)) {
        return false; /* WB3 */
    }
    if (((last | cur) & NEWLINES) != 0) {
        return true; /* WB3a, WB3b */
    }
    if (last == BIT(TEXT_WB_ZWJ) && (classes & TEXT_PICTOGRAPH) != 0) {
        return false; /* WB3c */
    }
    if (last == BIT(TEXT_WB_WSEGSPACE) && cur == BIT(TEXT_WB_WSEGSPACE)) {
        return false; /* WB3d */
    }
    if ((cur & IGNORED) != 0) {
        return false; /* WB4 */
    }
    if ((prev & AHLETTER) != 0) {
        if ((cur & (AHLETTER | BIT(TEXT_WB_NUMERIC) | BIT(TEXT_WB_EXTENDNUMLET))) != 0) {
            return false; /* WB5, WB9, WB13a */
        }
        if ((cur & (BIT(TEXT_WB_MIDLETTER) | MIDNUMLETQ)) != 0 &&
            (peek(rest, end) & AHLETTER) != 0) {
            return false; /* WB6 */
        }
        if (prev == BIT(TEXT_WB_HEBREW_LETTER)) {
            if (cur == BIT(TEXT_WB_SINGLE_QUOTE)) {
                return false; /* WB7a */
            }
            if (cur == BIT(TEXT_WB_DOUBLE_QUOTE) && peek(rest, end) == BIT(TEXT_WB_HEBREW_LETTER)) {
                return false; /* WB7b */
            }
        }
        return true;
    }
    if ((prev & (BIT(TEXT_WB_MIDLETTER) | MIDNUMLETQ)) != 0 && (state->before & AHLETTER) != 0 &&
        (cur & AHLETTER) != 0) {
        return false; /* WB7 */
    }
    if (prev == BIT(TEXT_WB_DOUBLE_QUOTE) && state->before == BIT(TEXT_WB_HEBREW_LETTER) &&
        cur == BIT(TEXT_WB_HEBREW_LETTER)) {
        return false; /* WB7c */
    }
    if (prev == BIT(TEXT_WB_NUMERIC)) {
        if ((cur & (BIT(TEXT_WB_NUMERIC) | AHLETTER | BIT(TEXT_WB_EXTENDNUMLET))) != 0) {
            return false; /* WB8, WB10, WB13a */
        }
        return (cur & (BIT(TEXT_WB_MIDNUM) | MIDNUMLETQ)) == 0 ||
               peek(rest, end) != BIT(TEXT_WB_NUMERIC); /* WB12 */
    }
    if ((prev & (BIT(TEXT_WB_MIDNUM) | MIDNUMLETQ)) != 0 && state->before == BIT(TEXT_WB_NUMERIC) &&
        cur == BIT(TEXT_WB_NUMERIC)) {
        return false; /* WB11 */
    }
    if (prev == BIT(TEXT_WB_KATAKANA)) {
        return (cur & (BIT(TEXT_WB_KATAKANA) | BIT(TEXT_WB_EXTENDNUMLET))) == 0; /* WB13, WB13a */
    }
    if (prev == BIT(TEXT_WB_EXTENDNUMLET)) {
        return (cur & WORDLIKE) == 0; /* WB13a, WB13b */
    }
    return !(state->odd_indicator &&
             cur == BIT(TEXT_WB_REGIONAL_INDICATOR)); /* WB15, WB16, WB999 */
}

static void advance(struct boundary *state, uint32_t cur)
{
    if ((cur & IGNORED) == 0 || (state->last & NEWLINES) != 0 || state->last == 0) {
        state->before = state->prev;
        state->prev = cur;
        state->odd_indicator = cur == BIT(TEXT_WB_REGIONAL_INDICATOR) && !state->odd_indicator;
    }
    state->last = cur;
}

/* One byte of ASCII that WB5, WB8 to WB10 and WB13 join: a letter, a digit or _. */
static bool joins(unsigned char byte)
{
    return byte < 0x80 && (property(text_table_ascii[byte]) & JOINS_ASCII) != 0;
}

/* A pass over a text. */
struct segmenter {
    struct boundary state;
    const unsigned char *begin;
    const unsigned char *start; /* of the open segment */
    uint32_t seen;              /* classes in it */
    bool words_only;
    struct text_spans *out;
};

/* Ends the open segment at p and opens the next one there. */
static int32_t cut(struct segmenter *pass, const unsigned char *p, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    if (!pass->words_only || (pass->seen & TEXT_ALNUM) != 0) {
        status = text_spans_push(pass->out, (uint32_t)(pass->start - pass->begin),
                                 (uint32_t)(p - pass->begin), err);
    }
    pass->start = p;
    pass->seen = 0;
    return status;
}

/* The high bit of each byte of x that is an ASCII letter or digit, and in *joining also of _. */
static uint64_t alnum_bytes(uint64_t x, uint64_t *joining)
{
    const uint64_t ones = 0x0101010101010101u, high = ones * 0x80;
    uint64_t low = x & ~high, folded = low | ones * 0x20, line = low ^ ones * '_';
    /* adding 0x80 - c sets the high bit of bytes >= c, as low bytes do not overflow */
    uint64_t letter = (folded + ones * (0x80 - 'a')) & ~(folded + ones * (0x7F - 'z'));
    uint64_t digit = (low + ones * (0x80 - '0')) & ~(low + ones * (0x7F - '9'));
    uint64_t alnum = (letter | digit) & ~x & high;
    *joining = alnum | (~(line + ones * 0x7F) & ~x & high);
    return alnum;
}

/* The first byte at or after p that does not join; adds to *seen what was passed over. */
static const unsigned char *skip_joining(const unsigned char *p, const unsigned char *end,
                                         uint32_t *seen)
{
    for (; end - p >= 8; p += 8) {
        uint64_t joining, alnum = alnum_bytes(text_load64(p), &joining);
        uint64_t stop = ~joining & 0x8080808080808080u;
        if (stop != 0) {
            *seen |= (alnum & (stop - 1)) != 0 ? TEXT_LETTER : 0;
            return p + text_low_bit(stop) / 8;
        }
        *seen |= alnum != 0 ? TEXT_LETTER : 0;
    }
    while (p < end && joins(*p)) {
        *seen |= text_table_ascii[*p++];
    }
    return p;
}

/* Takes the bytes at p that join what is before; returns the place behind them. */
static const unsigned char *take_joining(struct segmenter *pass, const unsigned char *p,
                                         const unsigned char *end)
{
    const unsigned char *stop = skip_joining(p, end, &pass->seen);
    if (stop > p) {
        pass->state.prev = property(text_table_ascii[stop[-1]]);
        pass->state.last = pass->state.prev;
    }
    return stop;
}

static int32_t segments(const char *text, size_t len, bool words_only, struct text_spans *out,
                        struct sluice_error *err)
{
    const unsigned char *p = text_bytes(text), *end = p + len;
    struct segmenter pass = { .begin = p, .start = p, .words_only = words_only, .out = out };
    int32_t status = SLUICE_OK;
    while (p < end && status == SLUICE_OK) {
        if (*p == ' ' && (pass.state.last & JOINS_ASCII) != 0 && end - p > 1 && joins(p[1])) {
            status = cut(&pass, p, err); /* one space between words: a boundary on either side */
            if (status == SLUICE_OK) {
                status = cut(&pass, p + 1, err);
            }
            p = take_joining(&pass, p + 1, end);
            continue;
        }
        uint32_t cp;
        const unsigned char *next = p + text_decode(p, end, &cp);
        uint32_t classes = text_table_classes(cp), cur = property(classes);
        if (p > pass.begin && breaks(&pass.state, classes, next, end)) {
            status = cut(&pass, p, err);
        }
        pass.seen |= classes;
        advance(&pass.state, cur);
        p = (cur & JOINS_ASCII) != 0 ? take_joining(&pass, next, end) : next;
    }
    return status == SLUICE_OK && len > 0 ? cut(&pass, end, err) : status;
}

int32_t text_words_uax29(const char *text, size_t len, struct text_spans *out,
                         struct sluice_error *err)
{
    return segments(text, len, true, out, err);
}

int32_t text_segments(const char *text, size_t len, struct text_spans *out,
                      struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    return status != SLUICE_OK ? status : segments(text, len, false, out, err);
}
