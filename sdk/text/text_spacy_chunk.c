/* text_spacy_chunk.c — see text_spacy_chunk.h.
 *
 * The order of the steps is that of spaCy 3.8's tokenizer (tokenizer.pyx): prefixes and suffixes
 * are taken off in turn until what is left is a special case or has none; that is a special case, a
 * URL, or is cut at infixes. A prefix is searched first, then a suffix in what is behind it, and
 * the longest suffix wins (the leftmost match), but the first prefix in the order of the rules.
 */
#include "text/text_spacy_chunk.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_spacy_tables.h"

#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define ELLIPSIS 0x2026u

static bool is_ascii_digit(uint32_t cp)
{
    return cp - '0' < 10;
}

static const struct text_spacy_string *find_hashed(const unsigned char *p, size_t n)
{
    return text_spacy_find(p, n, text_spacy_hash(p, n));
}

/* Most strings do not even fit. */
static inline const struct text_spacy_string *find(const unsigned char *p, const unsigned char *end)
{
    size_t n = (size_t)(end - p);
    return n == 0 || !text_spacy_fits(p, n) ? NULL : find_hashed(p, n);
}

static inline const struct text_spacy_string *find_special(const unsigned char *p,
                                                           const unsigned char *end)
{
    const struct text_spacy_string *string = find(p, end);
    return string != NULL && string->parts > 0 ? string : NULL;
}

/* Bytes of the prefix at p < end, 0 when there is none. */
static size_t prefix_len(const unsigned char *p, const unsigned char *end)
{
    uint32_t cp;
    size_t n = text_decode(p, end, &cp), left = (size_t)(end - p);
    if ((text_spacy_class(cp) & TEXT_SPACY_PREFIX) != 0) {
        return n;
    }
    switch (cp) {
    case '+':
        return left == 1 || !is_ascii_digit(p[1]);
    case '.':
        for (n = 1; n < left && p[n] == '.'; n++) {
        }
        return n > 1 ? n : 0;
    case 'U':
        return left >= 3 && p[1] == 'S' && p[2] == '$' ? 3 : 0;
    case 'A':
    case 'C':
        return left >= 2 && p[1] == '$' ? 2 : 0;
    default:
        return 0;
    }
}

/* Bytes of the full stops that are a suffix of [p, end), which ends in one. */
static size_t dots_len(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = end - 1;
    while (q > p && q[-1] == '.') {
        q--;
    }
    if (end - q > 1) {
        return (size_t)(end - q);
    }
    if (q == p) {
        return 0;
    }
    uint32_t one, two;
    q -= text_decode_back(p, q, &one);
    if ((text_spacy_class(one) & TEXT_SPACY_BEFORE_DOT) != 0) {
        return 1;
    }
    if (q == p) {
        return 0;
    }
    text_decode_back(p, q, &two);
    return ((text_spacy_class(one) & text_spacy_class(two) & TEXT_SPACY_UPPER) != 0) ||
           (two == 0xB0 && (one == 'F' || one == 'C' || one == 'K'));
}

/* Bytes of the unit or currency at the end of [p, end), right behind an ASCII digit. */
static size_t unit_len(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = end;
    while (q > p && (size_t)(end - q) <= text_spacy_longest_unit) {
        if (is_ascii_digit(q[-1])) {
            const struct text_spacy_string *string = find(q, end);
            return string != NULL && string->unit ? (size_t)(end - q) : 0;
        }
        q--;
    }
    return 0;
}

/* Bytes of the longest suffix of [p, end), 0 when there is none. */
static size_t suffix_len(const unsigned char *p, const unsigned char *end)
{
    if (p == end) {
        return 0;
    }
    uint32_t cp;
    size_t n = text_decode_back(p, end, &cp), len = 0, left = (size_t)(end - p);
    uint32_t seen = text_spacy_class(cp);
    if ((seen & TEXT_SPACY_SUFFIX) != 0) {
        bool twice = cp == ELLIPSIS && left >= 2 * n && memcmp(end - 2 * n, end - n, n) == 0;
        len = twice ? 2 * n : n;
    }
    if ((seen & TEXT_SPACY_UNIT_END) != 0) {
        size_t unit = unit_len(p, end);
        len = unit > len ? unit : len;
    }
    if (len > 0) {
        return len;
    }
    switch (cp) {
    case '.':
        return dots_len(p, end);
    case '+':
        return left > 1 && is_ascii_digit(end[-2]);
    case 's':
    case 'S':
        if (left >= 2 && end[-2] == '\'') {
            return 2;
        }
        return left >= 4 && memcmp(end - 4, "\xE2\x80\x99", 3) == 0 ? 4 : 0;
    default:
        return 0;
    }
}

int32_t text_spacy_reserve(struct text_spacy_tokens *tokens, size_t more, struct sluice_error *err)
{
    int32_t status = text_spans_reserve(tokens->spans, more, err);
    if (status == SLUICE_OK && tokens->capacity < tokens->spans->capacity) {
        size_t capacity = tokens->spans->capacity;
        uint16_t *notes = realloc(tokens->notes, capacity * sizeof *notes);
        if (notes == NULL) {
            return text_error(err, SLUICE_E_NOMEM, "out of memory for %zu words", capacity);
        }
        tokens->notes = notes;
        tokens->capacity = capacity;
    }
    return status;
}

uint16_t text_spacy_note(const unsigned char *p, size_t n)
{
    const unsigned char *q = p, *end = p + n;
    const struct text_spacy_string *string = find(p, end);
    uint32_t note = string == NULL ? 0 : string->id, cp;
    if (*p < 128 && (text_table_ascii[*p] & TEXT_PUNCT) == 0) {
        return (uint16_t)note; /* no mark either: all of ASCII are punctuation */
    }
    size_t first = text_decode(p, end, &cp);
    if (first == n && (text_spacy_class(cp) & TEXT_SPACY_MARK) != 0) {
        note |= TEXT_SPACY_NOTE_MARK;
    }
    while (q < end) {
        q += text_decode(q, end, &cp);
        if ((text_table_classes(cp) & TEXT_PUNCT) == 0) {
            return (uint16_t)note;
        }
    }
    return (uint16_t)(note | TEXT_SPACY_NOTE_PUNCT);
}

/* As text_spacy_note; most tokens are one mark, or a word that is in no pattern. */
static inline uint16_t note_of(const struct text_spacy_tokens *tokens, const unsigned char *p,
                               size_t n)
{
    if (n == 1 && *p < 128) {
        return tokens->ascii[*p];
    }
    bool plain = *p < 128 && (text_table_ascii[*p] & TEXT_PUNCT) == 0 && !text_spacy_fits(p, n);
    return plain ? 0 : text_spacy_note(p, n);
}

/* A chunk on its way to its tokens. */
struct cutter {
    const unsigned char *text, *limit; /* all of it */
    struct text_spacy_tokens *tokens;
    struct sluice_error *err;
};

static inline int32_t push(struct cutter *cutter, const unsigned char *begin,
                           const unsigned char *end)
{
    struct text_spacy_tokens *tokens = cutter->tokens;
    if (!text_spacy_has_room(tokens, 1)) {
        int32_t status = text_spacy_reserve(tokens, 1, cutter->err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    size_t at = tokens->spans->count++;
    tokens->spans->data[at].begin = (uint32_t)(begin - cutter->text);
    tokens->spans->data[at].end = (uint32_t)(end - cutter->text);
    tokens->notes[at] = note_of(tokens, begin, (size_t)(end - begin));
    return SLUICE_OK;
}

static int32_t push_special(struct cutter *cutter, const unsigned char *begin,
                            const struct text_spacy_string *special)
{
    int32_t status = SLUICE_OK;
    size_t from = 0;
    for (size_t i = 0; i < special->parts && status == SLUICE_OK; i++) {
        size_t to = text_spacy_cuts[special->cut + i];
        status = push(cutter, begin + from, begin + to);
        from = to;
    }
    return status;
}

/* Bytes of the hyphen at p, which an ALPHA must follow: - – — -- --- —— ~; 0 when there is none. */
static size_t hyphen_len(const unsigned char *p, const unsigned char *end, uint32_t cp, size_t n)
{
    size_t most = cp == '-' ? 3 : cp == 0x2014 ? 2 : 1;
    for (size_t count = 1; count <= most; count++) {
        const unsigned char *next = p + count * n;
        uint32_t after;
        if (next >= end) {
            return 0;
        }
        text_decode(next, end, &after);
        if ((text_spacy_class(after) & TEXT_SPACY_ALPHA) != 0) {
            return count * n;
        }
        if ((size_t)(end - next) < n || memcmp(next, p, n) != 0) {
            return 0;
        }
    }
    return 0;
}

/* Bytes of the infix at p, whose code point cp has n bytes; `before` is the one before it. */
static size_t infix_len(const unsigned char *p, const unsigned char *end, uint32_t cp, size_t n,
                        uint32_t before)
{
    uint32_t class_before = text_spacy_class(before), after = 0, class_after = 0;
    if (cp != '.' && (class_before & TEXT_SPACY_ALPHA) == 0 && !is_ascii_digit(before)) {
        return 0; /* all others want one of these before them */
    }
    if (p + n < end) {
        text_decode(p + n, end, &after);
        class_after = text_spacy_class(after);
    }
    bool between = (class_before & class_after & TEXT_SPACY_ALPHA) != 0;
    bool digit = is_ascii_digit(before);
    bool behind = (class_before & TEXT_SPACY_ALPHA) != 0 || digit;
    switch (cp) {
    case '.':
        if (after == '.') {
            for (n = 2; p + n < end && p[n] == '.'; n++) {
            }
            return n;
        }
        return (class_before & (TEXT_SPACY_LOWER | TEXT_SPACY_QUOTE)) != 0 &&
               (class_after & (TEXT_SPACY_UPPER | TEXT_SPACY_QUOTE)) != 0;
    case '+':
    case '*':
    case '^':
        return digit && (is_ascii_digit(after) || after == '-');
    case ',':
        return between;
    case '-':
        if (digit && (is_ascii_digit(after) || after == '-')) {
            return 1;
        }
        return behind ? hyphen_len(p, end, cp, n) : 0;
    case 0x2013:
    case 0x2014:
    case '~':
        return behind ? hyphen_len(p, end, cp, n) : 0;
    case ':':
    case '<':
    case '>':
    case '=':
    case '/':
        return behind && (class_after & TEXT_SPACY_ALPHA) != 0;
    default:
        return 0;
    }
}

/* Whether infix_len may give something for a code point of ASCII: * + , - . / : < = > ^ ~ */
static const bool may_be_infix[128] = {
    ['*'] = true, ['+'] = true, [','] = true, ['-'] = true, ['.'] = true, ['/'] = true,
    [':'] = true, ['<'] = true, ['='] = true, ['>'] = true, ['^'] = true, ['~'] = true,
};

/* Bytes of the infix at p, 0 when there is none; of ASCII none stands alone. */
static size_t infix_at(const unsigned char *p, const unsigned char *end, uint32_t cp, size_t n,
                       uint32_t before)
{
    if (cp < 128 || cp - 0x2013 < 2) {
        return infix_len(p, end, cp, n, before);
    }
    return (text_spacy_class(cp) & TEXT_SPACY_INFIX) != 0 ? n : 0;
}

/* Where infixes may be in n bytes. */
struct places {
    uint64_t marks; /* bit i: byte i may begin one; exact enough for infix_len to decide */
    bool sure;      /* all is ASCII and at most 64 bytes; else marks says nothing */
};

/* Looks at p[0 .. n), of which more may be read up to limit. */
static struct places find_places(const unsigned char *p, size_t n, const unsigned char *limit)
{
    struct places places = { 0, false };
    uint64_t wide = 0;
    if (n > 64) {
        return places;
    }
#if defined(__SSE2__)
    size_t i = 0;
    for (; i < n && (size_t)(limit - p) >= i + 16; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        const __m128i low = _mm_sub_epi8(bytes, _mm_set1_epi8('*'));  /* * + , - . / */
        const __m128i high = _mm_sub_epi8(bytes, _mm_set1_epi8(':')); /* : ; < = > */
        __m128i found = _mm_cmpeq_epi8(low, _mm_min_epu8(low, _mm_set1_epi8(5)));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(high, _mm_min_epu8(high, _mm_set1_epi8(4))));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('^')));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('~')));
        places.marks |= (uint64_t)(unsigned)_mm_movemask_epi8(found) << i;
        wide |= (uint64_t)(unsigned)_mm_movemask_epi8(bytes) << i;
    }
#else
    size_t i = 0;
    (void)limit;
#endif
    for (; i < n; i++) {
        places.marks |= (uint64_t)(p[i] < 128 && may_be_infix[p[i]]) << i;
        wide |= (uint64_t)(p[i] >> 7) << i;
    }
    uint64_t valid = n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
    places.marks &= valid;
    places.sure = (wide & valid) == 0;
    return places;
}

/* Where the next infix may be at or behind p, and the code point before it. */
static const unsigned char *next_place(const unsigned char *p, const unsigned char *begin,
                                       const unsigned char *end, const struct places *places,
                                       uint32_t *before)
{
    const unsigned char *from = p;
    if (places->sure) {
        uint64_t left = p < end ? places->marks >> (p - begin) : 0;
        p = left == 0 ? end : p + text_low_bit(left);
    } else {
        while (p < end && *p < 128 && !may_be_infix[*p]) {
            p++;
        }
    }
    *before = p > from ? p[-1] : *before;
    return p;
}

/* Cuts [begin, end) at its infixes; one at the very begin stays with what follows. */
static int32_t push_infixes(struct cutter *cutter, const unsigned char *begin,
                            const unsigned char *end, const struct places *places)
{
    const unsigned char *p = begin, *start = begin;
    uint32_t before = 0xFFFFFFFF;
    int32_t status = SLUICE_OK;
    while (status == SLUICE_OK && (p = next_place(p, begin, end, places, &before)) < end) {
        uint32_t cp;
        size_t n = text_decode(p, end, &cp), len = infix_at(p, end, cp, n, before);
        before = cp; /* a longer infix repeats one mark */
        if (len == 0) {
            p += n;
            continue;
        }
        if (p > begin) {
            if (p > start) {
                status = push(cutter, start, p);
            }
            if (status == SLUICE_OK) {
                status = push(cutter, p, p + len);
            }
            start = p + len;
        }
        p += len;
    }
    return status == SLUICE_OK && start < end ? push(cutter, start, end) : status;
}

/* Cuts what is left between prefixes and suffixes: most often one word. */
static int32_t push_rest(struct cutter *cutter, const unsigned char *p, const unsigned char *q)
{
    const struct text_spacy_string *special = find_special(p, q);
    if (special != NULL) {
        return push_special(cutter, p, special);
    }
    struct places places = find_places(p, (size_t)(q - p), cutter->limit);
    if (places.sure && places.marks == 0) { /* a URL has a full stop */
        return push(cutter, p, q);
    }
    return text_spacy_url(p, (size_t)(q - p)) ? push(cutter, p, q)
                                              : push_infixes(cutter, p, q, &places);
}

int32_t text_spacy_chunk(const unsigned char *text, size_t len, struct text_span chunk,
                         struct text_spacy_tokens *tokens, struct text_spans *stack,
                         struct sluice_error *err)
{
    struct cutter cutter = { text, text + len, tokens, err };
    const unsigned char *p = text + chunk.begin, *q = text + chunk.end;
    const struct text_spacy_string *special = NULL;
    int32_t status = SLUICE_OK;
    stack->count = 0; /* suffixes, the last one first */
    while (p < q && status == SLUICE_OK) {
        special = find_special(p, q);
        if (special != NULL) {
            break;
        }
        bool mark = *p < 128 && (text_spacy_ascii[*p] & TEXT_SPACY_PREFIX) != 0;
        size_t prefix = mark ? 1 : prefix_len(p, q);
        if (prefix > 0) {
            status = push(&cutter, p, p + prefix);
            special = find_special(p + prefix, q);
            if (special != NULL) {
                p += prefix;
                break;
            }
        }
        size_t suffix = status == SLUICE_OK ? suffix_len(p + prefix, q) : 0;
        if (suffix > 0) {
            special = find_special(p, q - suffix);
            status =
                text_spans_push(stack, (uint32_t)(q - suffix - text), (uint32_t)(q - text), err);
            q -= suffix;
            if (special != NULL) {
                /* The prefix was not taken off after all. */
                tokens->spans->count -= prefix > 0;
                break;
            }
        }
        p += prefix;
        if (prefix + suffix == 0) {
            break;
        }
    }
    if (status == SLUICE_OK && p < q) {
        status = push_rest(&cutter, p, q);
    }
    while (stack->count > 0 && status == SLUICE_OK) {
        struct text_span suffix = stack->data[--stack->count];
        status = push(&cutter, text + suffix.begin, text + suffix.end);
    }
    return status;
}
