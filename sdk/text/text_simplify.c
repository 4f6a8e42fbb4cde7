/* text_simplify.c — lower-casing and simplify_text as one pass over the text.
 *
 * The steps are chained: each code point goes through lower-casing, then numbers, punctuation and
 * white space, then decomposition, into the output. State between code points: whether a number is
 * open, and a decimal separator that only counts if a digit follows; whether white space is owed;
 * a run of combining marks that is not yet in canonical order. With every step on, ASCII takes a
 * short way, with vectors where there are some, and so does what no step changes.
 */
#include "text/text_simplify.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_simplify_ascii.h"

#include <utf8proc.h>

#define HIGH_BITS 0x8080808080808080u
#define MAX_DECOMPOSITION 32 /* the longest canonical decomposition of one code point is 4 */
#define DOTTED_I 0x130u
#define SIGMA 0x3A3u
#define FINAL_SIGMA 0x3C2u
#define DOT_ABOVE 0x307u

enum number_state { NO_NUMBER, WHOLE, SEPARATED, FRACTION };

struct simplifier {
    struct text_buffer *out;
    uint32_t flags;
    enum number_state number;
    uint32_t separator; /* held in state SEPARATED */
    bool owes_space;    /* white space was met and is written before the next ink */
    bool has_ink;       /* something that is not white space was passed on */
    size_t run;         /* where the open run of non-starters begins in out */
    size_t run_marks;   /* code points in it */
    int32_t status;
    struct sluice_error *err;
};

/* Python's rule (and Unicode's Final_Sigma): a cased letter before, none after, case-ignorable code
 * points skipped. The capital sigma is [p, p + 2). */
static bool sigma_is_final(const unsigned char *begin, const unsigned char *p,
                           const unsigned char *end)
{
    uint32_t cp, classes = 0;
    const unsigned char *q = p;
    while (q > begin) {
        q -= text_decode_back(begin, q, &cp);
        classes = text_table_classes(cp);
        if ((classes & TEXT_CASE_IGNORABLE) == 0) {
            break;
        }
    }
    if ((classes & TEXT_CASE_IGNORABLE) != 0 || (classes & TEXT_CASED) == 0) {
        return false;
    }
    for (q = p + 2; q < end;) {
        q += text_decode(q, end, &cp);
        classes = text_table_classes(cp);
        if ((classes & TEXT_CASE_IGNORABLE) == 0) {
            return (classes & TEXT_CASED) == 0;
        }
    }
    return true;
}

/* The lower case of the code point cp at p; a second one, or 0, in *more. */
static uint32_t lower_case(uint32_t cp, const unsigned char *begin, const unsigned char *p,
                           const unsigned char *end, uint32_t *more)
{
    *more = 0;
    if (cp == SIGMA) {
        return sigma_is_final(begin, p, end) ? FINAL_SIGMA : 0x3C3u;
    }
    if (cp == DOTTED_I) {
        *more = DOT_ABOVE;
        return 'i';
    }
    if ((text_table_classes(cp) & TEXT_LOWERS) == 0) {
        return cp;
    }
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
}

/* An upper bound of the output for len bytes of input: no code point's lower case or NFD is longer
 * than three times its UTF-8 (checked against the tables by the unit test). */
static int32_t reserve_for(struct text_buffer *out, size_t len, struct sluice_error *err)
{
    out->len = 0;
    if (len > (SIZE_MAX - 64) / 3) {
        return text_error_nomem(err, len);
    }
    return text_buffer_reserve(out, 3 * len + 64, err);
}

static void put(struct text_buffer *out, uint32_t cp)
{
    out->len += text_utf8_encode(cp, out->data + out->len);
}

int32_t text_lower(const char *text, size_t len, struct text_buffer *out, struct sluice_error *err)
{
    int32_t status = reserve_for(out, len, err);
    if (status != SLUICE_OK) {
        return status;
    }
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin;
    while (p < end) {
        if (*p < 0x80) {
            unsigned char byte = *p++;
            unsigned upper = (unsigned)(byte - 'A') < 26;
            out->data[out->len++] = (char)(byte | upper << 5);
            continue;
        }
        uint32_t cp, more;
        size_t n = text_decode(p, end, &cp);
        put(out, lower_case(cp, begin, p, end, &more));
        if (more != 0) {
            put(out, more);
        }
        p += n;
    }
    return SLUICE_OK;
}

/* ---- the last step: NFD without Mn ---- */

static int combining_class(uint32_t cp)
{
    return utf8proc_get_property((utf8proc_int32_t)cp)->combining_class;
}

/* Puts the run of non-starters at the end of the output into canonical order: a stable sort by
 * combining class. Nearly always the run is a single mark. Otherwise one pass over a copy for each
 * class that occurs; outside Mn there are few (6, 9, 216, 224, 226). */
static void sort_run(struct simplifier *s)
{
    struct text_buffer *out = s->out;
    size_t bytes = out->len - s->run;
    if (s->status != SLUICE_OK) {
        return;
    }
    s->status = text_buffer_reserve(out, bytes, s->err);
    if (s->status != SLUICE_OK) {
        return;
    }
    unsigned char *to = (unsigned char *)out->data + s->run;
    const unsigned char *copy = memcpy(out->data + out->len, to, bytes), *end = copy + bytes;
    int next = 0;
    for (int now = 0; now < 256; now = next) {
        uint32_t cp;
        size_t n;
        next = 256;
        for (const unsigned char *p = copy; p < end; p += n) {
            n = text_decode(p, end, &cp);
            int found = combining_class(cp);
            if (found == now) {
                memcpy(to, p, n);
                to += n;
            } else if (found > now && found < next) {
                next = found;
            }
        }
    }
}

static void close_run(struct simplifier *s)
{
    if (s->run_marks > 1) {
        sort_run(s);
    }
    s->run_marks = 0;
}

static void emit_decomposed(struct simplifier *s, uint32_t cp)
{
    uint32_t classes = text_table_classes(cp);
    if ((classes & TEXT_NON_STARTER) == 0) {
        close_run(s);
    }
    if ((classes & TEXT_NONSPACING) != 0) {
        return;
    }
    if ((classes & TEXT_NON_STARTER) != 0 && s->run_marks++ == 0) {
        s->run = s->out->len;
    }
    put(s->out, cp);
}

static void emit(struct simplifier *s, uint32_t cp)
{
    if ((s->flags & TEXT_SIMPLIFY_DIACRITICS) == 0) {
        put(s->out, cp);
        return;
    }
    if ((text_table_classes(cp) & TEXT_DECOMPOSES) == 0) {
        emit_decomposed(s, cp);
        return;
    }
    utf8proc_int32_t parts[MAX_DECOMPOSITION];
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, MAX_DECOMPOSITION,
                                                 UTF8PROC_DECOMPOSE, NULL);
    for (utf8proc_ssize_t i = 0; i < n && i < MAX_DECOMPOSITION; i++) {
        emit_decomposed(s, (uint32_t)parts[i]);
    }
}

/* ---- the steps before ---- */

static void pass(struct simplifier *s, uint32_t cp)
{
    uint32_t classes = text_table_classes(cp);
    if ((classes & TEXT_PUNCTUATION) != 0 && (s->flags & TEXT_SIMPLIFY_PUNCTUATION) != 0) {
        cp = ' ';
        classes = TEXT_SPACE;
    }
    if ((s->flags & TEXT_SIMPLIFY_WHITESPACE) != 0) {
        if ((classes & TEXT_SPACE) != 0) {
            s->owes_space = true;
            return;
        }
        if (s->owes_space && s->has_ink) {
            emit(s, ' ');
        }
        s->owes_space = false;
        s->has_ink = true;
    }
    emit(s, cp);
}

/* The decimal separators of the peer's pattern. */
static bool is_separator(uint32_t cp)
{
    return cp == '.' || cp == ',' || cp == 0x60C || cp == 0x66B || (cp >= 0x2396 && cp <= 0x2398);
}

static void feed(struct simplifier *s, uint32_t cp)
{
    if ((s->flags & TEXT_SIMPLIFY_NUMBERS) == 0) {
        pass(s, cp);
        return;
    }
    bool digit = (text_table_classes(cp) & TEXT_DIGIT) != 0;
    switch (s->number) {
    case NO_NUMBER:
        if (digit) {
            s->number = WHOLE;
            cp = '0';
        }
        break;
    case WHOLE:
        if (digit) {
            return;
        }
        if (is_separator(cp)) {
            s->number = SEPARATED;
            s->separator = cp;
            return;
        }
        s->number = NO_NUMBER;
        break;
    case SEPARATED:
        if (digit) {
            s->number = FRACTION;
            return;
        }
        s->number = NO_NUMBER;
        pass(s, s->separator);
        break;
    case FRACTION:
        if (digit) {
            return;
        }
        s->number = NO_NUMBER;
        break;
    }
    pass(s, cp);
}

static bool has_vectors(void)
{
#if TEXT_SIMPLIFY_AVX2
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

/* The short way: bytes of ASCII other than digits, while no number is open and every step is on.
 * Returns where it stopped. */
static const unsigned char *simplify_ascii(struct simplifier *s, const unsigned char *p,
                                           const unsigned char *end)
{
    close_run(s);
    char *to = s->out->data + s->out->len;
    bool owes_space = s->owes_space, has_ink = s->has_ink;
    while (p < end) {
        unsigned char byte = text_table_simplify[*p];
        if (byte <= ' ') {
            if (byte == 0) {
                break;
            }
            owes_space = true;
            p++;
            continue;
        }
        *to = ' ';
        to += owes_space & has_ink;
        owes_space = false;
        has_ink = true;
        do {
            *to++ = (char)byte;
            p++;
        } while (p < end && (byte = text_table_simplify[*p]) > ' ');
    }
    s->owes_space = owes_space;
    s->has_ink = has_ink;
    s->out->len = (size_t)(to - s->out->data);
    return p;
}

/* The short way with vectors: takes digits too. Returns where it stopped, which may be where it
 * began. */
static const unsigned char *simplify_vectors(struct simplifier *s, const unsigned char *p,
                                             const unsigned char *end)
{
#if TEXT_SIMPLIFY_AVX2
    struct text_simplify_ascii at = { p, s->out->data + s->out->len, s->has_ink, s->has_ink };
    close_run(s);
    if (s->has_ink && s->owes_space) {
        *at.to++ = ' ';
        at.after_ink = false;
    }
    text_simplify_ascii_avx2(&at, end);
    s->has_ink = at.has_ink;
    s->owes_space = at.has_ink && !at.after_ink;
    s->out->len = (size_t)(at.to - s->out->data) - s->owes_space; /* which is owed again */
    return at.from;
#else
    (void)s;
    (void)end;
    return p;
#endif
}

/* Copies the code point of n bytes at p, when no step changes it and it is no mark; false when one
 * may. Most of the text in scripts without case. */
static inline bool copy_plain(struct simplifier *s, const unsigned char *p, size_t n, uint32_t cp)
{
    const uint32_t changed = TEXT_SPACE | TEXT_DIGIT | TEXT_PUNCTUATION | TEXT_LOWERS |
                             TEXT_DECOMPOSES | TEXT_NON_STARTER | TEXT_NONSPACING;
    if (n < 2 || (text_table_classes(cp) & changed) != 0) {
        return false;
    }
    close_run(s);
    char *to = s->out->data + s->out->len;
    *to = ' ';
    to += s->owes_space & s->has_ink;
    memcpy(to, p, n);
    s->out->len = (size_t)(to + n - s->out->data);
    s->owes_space = false;
    s->has_ink = true;
    return true;
}

/* Python's str.strip() on the output. */
static void strip(struct text_buffer *out)
{
    const unsigned char *begin = text_bytes(out->data), *p = begin, *end = begin + out->len;
    uint32_t cp;
    while (end > p) {
        size_t n = text_decode_back(p, end, &cp);
        if ((text_table_classes(cp) & TEXT_SPACE) == 0) {
            break;
        }
        end -= n;
    }
    while (p < end) {
        size_t n = text_decode(p, end, &cp);
        if ((text_table_classes(cp) & TEXT_SPACE) == 0) {
            break;
        }
        p += n;
    }
    out->len = (size_t)(end - p);
    if (p > begin) {
        memmove(out->data, p, out->len);
    }
}

int32_t text_simplify(const char *text, size_t len, uint32_t flags, struct text_buffer *out,
                      struct sluice_error *err)
{
    int32_t status = reserve_for(out, len, err);
    if (status != SLUICE_OK) {
        return status;
    }
    struct simplifier s = { .out = out, .flags = flags, .err = err };
    bool every_step = (flags & TEXT_SIMPLIFY_ALL) == TEXT_SIMPLIFY_ALL;
    bool vectors = has_vectors();
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin;
    while (p < end) {
        bool fast = every_step && s.number == NO_NUMBER;
        if (fast && vectors && end - p >= 8 && (text_load64(p) & HIGH_BITS) == 0) {
            const unsigned char *from = p;
            p = simplify_vectors(&s, p, end);
            if (p != from) {
                continue;
            }
        }
        if (fast && text_table_simplify[*p] != 0) {
            p = simplify_ascii(&s, p, end);
            continue;
        }
        uint32_t cp, more = 0;
        size_t n = text_decode(p, end, &cp);
        if (fast && copy_plain(&s, p, n, cp)) {
            p += n;
            continue;
        }
        if ((flags & TEXT_SIMPLIFY_LOWER) != 0) {
            if (cp < 0x80) {
                cp |= (uint32_t)(cp - 'A' < 26) << 5;
            } else {
                cp = lower_case(cp, begin, p, end, &more);
            }
        }
        feed(&s, cp);
        if (more != 0) {
            feed(&s, more);
        }
        p += n;
    }
    if (s.number == SEPARATED) {
        pass(&s, s.separator);
    }
    close_run(&s);
    strip(out);
    return s.status;
}
