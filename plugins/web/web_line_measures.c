/* What the line rules of web_lines look at in one line. See web_lines.h. */
#include "web_lines.h"

#include "web_class.h"

static bool is_space(enum web_peer peer, uint32_t cp)
{
    return peer == WEB_DCLM ? web_python_space(cp) : web_rust_space(cp);
}

bool web_line_blank(enum web_peer peer, const char *text, size_t len)
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

/* Whether more than `limit` of the line's characters (dclm) or bytes are such that `test` holds
 * for. `ascii` is `test` for the first 128. Stops as soon as so much of the line has failed the
 * test that the rest can't matter, by a margin that no rounding reaches. */
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

bool web_line_shouts(const struct web_edit_lines *edit, const char *text, size_t len)
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
bool web_line_numeric(const struct web_edit_lines *edit, const char *text, size_t len)
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

/* The next character in lower case, as far as the pattern needs it (the Kelvin sign is a k),
 * without taking it; 0 at the end. */
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
bool web_line_counter(const struct web_edit_lines *edit, const char *text, size_t len)
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

bool web_line_has_words(const char *text, size_t len, uint64_t least)
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

int32_t web_line_words(const struct web_edit_lines *edit, struct text_span line, size_t *cursor,
                       size_t *count, struct sluice_error *err)
{
    size_t first;

    if (line.end > line.begin && line.begin >= edit->doc->len) {
        int32_t status = web_unicode_words(web_line_text(edit, line), line.end - line.begin,
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
