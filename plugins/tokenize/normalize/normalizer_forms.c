/* normalizer_forms.c — see the header. The order in which characters leave, and which of them count
 * as new, follow Unicode Standard Annex 15 as a stream: decompose, sort each run of combining
 * characters, compose. Only stretches with something to do go through it. */
#include "normalize/normalizer_forms.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "bpe_error.h"

#define PARTS_MOST 18 /* U+FDFA */

enum {
    L_BASE = 0x1100,
    V_BASE = 0x1161,
    T_BASE = 0x11A7,
    S_BASE = 0xAC00,
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
    S_COUNT = L_COUNT * V_COUNT * T_COUNT
};

static int composes(enum normalizer_form form)
{
    return form == FORM_NFC || form == FORM_NFKC;
}

static int is_inert(const struct normalizer_forms *f, uint32_t cp)
{
    return (nu_value(f->unicode, cp) & NU_INERT) != 0;
}

static uint32_t class_of(const struct normalizer_forms *f, uint32_t cp)
{
    const utf8proc_property_t *property;
    if (cp < 0x300 || is_inert(f, cp)) {
        return 0;
    }
    property = utf8proc_get_property((utf8proc_int32_t)cp);
    return (uint32_t)property->combining_class & 255u;
}

/* Writes the full decomposition; gives the number of parts. */
static size_t decompose(const struct normalizer_forms *f, uint32_t cp,
                        utf8proc_int32_t parts[PARTS_MOST])
{
    utf8proc_ssize_t n = 0;
    if (cp >= 0xA0 && !is_inert(f, cp)) {
        utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
        if (f->form == FORM_NFKC || f->form == FORM_NFKD) {
            how |= UTF8PROC_COMPAT;
        }
        n = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, PARTS_MOST, how, NULL);
    }
    if (n < 1 || n > PARTS_MOST) {
        parts[0] = (utf8proc_int32_t)cp;
        n = 1;
    }
    return (size_t)n;
}

/* The primary composite of two characters, 0 for none. `a` is a starter. */
static uint32_t compose(const struct normalizer_forms *f, uint32_t a, uint32_t b)
{
    utf8proc_int32_t pair[2];
    if (b >= V_BASE && b < T_BASE + T_COUNT) { /* conjoining jamo compose by arithmetic alone */
        if (a >= L_BASE && a < L_BASE + L_COUNT && b < V_BASE + V_COUNT) {
            return S_BASE + ((a - L_BASE) * V_COUNT + (b - V_BASE)) * T_COUNT;
        }
        if (a >= S_BASE && a < S_BASE + S_COUNT && (a - S_BASE) % T_COUNT == 0 && b > T_BASE) {
            return a + (b - T_BASE);
        }
        return 0;
    }
    if (b < 0x300) {
        return 0;
    }
    pair[0] = (utf8proc_int32_t)a;
    pair[1] = (utf8proc_int32_t)b;
    if (is_inert(f, a) || is_inert(f, b) ||
        utf8proc_normalize_utf32(pair, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) != 1) {
        return 0;
    }
    return is_inert(f, (uint32_t)pair[0]) ? 0 : (uint32_t)pair[0];
}

static int may_touch(const struct normalizer_forms *f, uint32_t cp)
{
    utf8proc_int32_t parts[PARTS_MOST];
    const utf8proc_property_t *property;
    size_t n;
    if (is_inert(f, cp)) {
        return 0;
    }
    if (class_of(f, cp) != 0) {
        return 1;
    }
    n = decompose(f, cp, parts);
    if (!composes(f->form)) {
        return n != 1 || (uint32_t)parts[0] != cp;
    }
    property = utf8proc_get_property((utf8proc_int32_t)cp);
    if (property->category == UTF8PROC_CATEGORY_MN || property->category == UTF8PROC_CATEGORY_MC ||
        property->category == UTF8PROC_CATEGORY_ME || (cp >= V_BASE && cp < T_BASE + T_COUNT)) {
        return 1; /* every second part of a composition is a mark or a jamo */
    }
    if (n == 1) {
        return (uint32_t)parts[0] != cp;
    }
    if (cp >= S_BASE && cp < S_BASE + S_COUNT) {
        return 0;
    }
    n = (size_t)utf8proc_normalize_utf32(parts, (utf8proc_ssize_t)n,
                                         UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return n != 1 || (uint32_t)parts[0] != cp;
}

/* Ideographs, private characters and what Unicode 9.0 has above: none of them is touched. */
static const uint32_t untouched[][2] = {
    { 0x3400, 0x9FFF }, { 0xD800, 0xF8FF }, { 0x20000, 0x2F7FF }, { 0x2FA20, 0x10FFFF }
};

void normalizer_forms_deinit(struct normalizer_forms *f)
{
    free(f->touch);
    f->touch = NULL;
}

void forms_scratch_deinit(struct forms_scratch *s)
{
    free(s->pending);
    free(s->behind);
    memset(s, 0, sizeof(*s));
}

static unsigned touches(const struct normalizer_forms *f, uint32_t cp)
{
    return (unsigned)f->touch[cp >> 3] >> (cp & 7) & 1u;
}

/* Leads behind which any bytes 80 to BF make characters of which none is touched: most of Chinese,
 * Korean and Cyrillic. */
static void find_clean_leads(struct normalizer_forms *f)
{
    for (unsigned lead = 0xC2; lead < 0xF0; lead++) {
        const uint32_t first = lead < 0xE0 ? (lead & 31u) << 6 : (lead & 15u) << 12;
        const uint32_t n = lead < 0xE0 ? 1u << 6 : 1u << 12;
        uint32_t k = 0;
        while (k < n && !touches(f, first + k)) {
            k++;
        }
        f->clean[lead] = (uint8_t)(k < n || lead == 0xE0 || lead == 0xED ? 0 : lead < 0xE0 ? 2 : 3);
    }
}

int32_t normalizer_forms_init(struct normalizer_forms *f, const struct normalizer_unicode *unicode,
                              enum normalizer_form form, struct sluice_error *err)
{
    uint32_t cp;
    size_t k = 0;
    f->unicode = unicode;
    f->form = form;
    f->touch = calloc(0x110000 / 8, 1);
    if (!f->touch) {
        return bpe_fail_memory(err, "the normalization table");
    }
    for (cp = 0xA0; cp < 0x110000; cp++) {
        if (cp == untouched[k][0]) {
            cp = untouched[k++][1];
        } else if (may_touch(f, cp)) {
            f->touch[cp >> 3] = (uint8_t)(f->touch[cp >> 3] | 1u << (cp & 7));
        }
    }
    find_clean_leads(f);
    return SLUICE_OK;
}

/* The place of the first touched character in [p, end), or end; *before gets the place of the
 * character before it, which may take part in a composition, or the place itself where there is
 * none (bytes that are no UTF-8 stay as they are). */
static const uint8_t *find_touched(const struct normalizer_forms *f, const uint8_t *p,
                                   const uint8_t *end, const uint8_t **before)
{
    const uint8_t *last = p;
    while (p < end) {
        uint32_t cp;
        size_t n;
        if (*p < 0x80) {
            uint64_t word;
            while (end - p >= 8 && (memcpy(&word, p, 8), !(word & UINT64_C(0x8080808080808080)))) {
                p += 8;
                last = p - 1;
            }
            if (p < end && *p < 0x80) {
                last = p++;
            }
            continue;
        }
        n = f->clean[*p];
        if (n > 0 && (size_t)(end - p) >= n && (p[1] & 0xC0) == 0x80 && (p[n - 1] & 0xC0) == 0x80) {
            last = p;
            p += n;
            continue;
        }
        n = utf8_decode(p, end, &cp);
        if (touches(f, cp)) {
            *before = last;
            return p;
        }
        p += n;
        last = cp == UTF8_INVALID ? p : p - n;
    }
    *before = end;
    return end;
}

static int push(struct form_char **list, size_t *n, size_t *cap, struct form_char c)
{
    if (*n == *cap) {
        size_t more = *cap * 2 + 32;
        struct form_char *grown = realloc(*list, more * sizeof(**list));
        if (!grown) {
            return -1;
        }
        *list = grown;
        *cap = more;
    }
    (*list)[(*n)++] = c;
    return 0;
}

/* The composer: the last starter, and whether there is one. */
struct composer {
    struct form_char starter;
    int has;
};

static void flush(struct composer *c, struct forms_scratch *s, struct normalizer_sink *sink)
{
    size_t i;
    if (c->has) {
        sink_change(sink, c->starter.cp, c->starter.change);
    }
    for (i = 0; i < s->n_behind; i++) {
        sink_change(sink, s->behind[i].cp, s->behind[i].change);
    }
    c->has = 0;
    s->n_behind = 0;
}

static int compose_next(const struct normalizer_forms *f, struct composer *c,
                        struct forms_scratch *s, struct form_char next,
                        struct normalizer_sink *sink)
{
    if (!c->has) {
        if (next.class != 0) {
            sink_change(sink, next.cp, next.change);
            return 0;
        }
    } else if (s->n_behind == 0 || s->behind[s->n_behind - 1].class < next.class) {
        uint32_t cp = compose(f, c->starter.cp, next.cp);
        if (cp != 0) {
            c->starter.cp = cp;
            c->starter.change += next.change - 1;
            return 0;
        }
    }
    if (next.class != 0) {
        return push(&s->behind, &s->n_behind, &s->cap_behind, next);
    }
    flush(c, s, sink);
    c->starter = next;
    c->has = 1;
    return 0;
}

/* Puts pending[0 .. n), of which only the first may be a starter, into canonical order: stable, by
 * counting. */
static int reorder(struct forms_scratch *s)
{
    size_t i, sum = 0, at[256] = { 0 };
    int sorted = 1;
    struct form_char *copy;
    for (i = 1; i < s->n; i++) {
        sorted &= s->pending[i - 1].class <= s->pending[i].class;
    }
    if (sorted) {
        return 0;
    }
    copy = malloc(s->n * sizeof(*copy));
    if (!copy) {
        return -1;
    }
    memcpy(copy, s->pending, s->n * sizeof(*copy));
    for (i = 0; i < s->n; i++) {
        at[copy[i].class]++;
    }
    for (i = 0; i < 256; i++) {
        size_t count = at[i];
        at[i] = sum;
        sum += count;
    }
    for (i = 0; i < s->n; i++) {
        s->pending[at[copy[i].class]++] = copy[i];
    }
    free(copy);
    return 0;
}

/* Sends the pending characters on, in order. */
static int release(const struct normalizer_forms *f, struct composer *c, struct forms_scratch *s,
                   struct normalizer_sink *sink)
{
    size_t i;
    int failed = reorder(s);
    for (i = 0; !failed && i < s->n; i++) {
        if (composes(f->form)) {
            failed = compose_next(f, c, s, s->pending[i], sink);
        } else {
            sink_change(sink, s->pending[i].cp, s->pending[i].change);
        }
    }
    s->n = 0;
    return failed;
}

static int put_segment(const struct normalizer_forms *f, struct forms_scratch *s,
                       struct normalizer_sink *sink, const uint8_t *p, const uint8_t *end)
{
    struct composer c = { .has = 0 };
    s->n = s->n_behind = 0;
    while (p < end) {
        utf8proc_int32_t parts[PARTS_MOST];
        uint32_t cp;
        size_t i, n;
        p += utf8_decode(p, end, &cp);
        n = decompose(f, cp, parts);
        for (i = 0; i < n; i++) {
            struct form_char next = { .cp = (uint32_t)parts[i], .change = i > 0 };
            next.class = class_of(f, next.cp);
            if ((next.class == 0 && release(f, &c, s, sink) != 0) ||
                push(&s->pending, &s->n, &s->cap, next) != 0) {
                return -1;
            }
        }
    }
    if (release(f, &c, s, sink) != 0) {
        return -1;
    }
    flush(&c, s, sink);
    return 0;
}

int normalizer_forms_run(const struct normalizer_forms *f, struct forms_scratch *s,
                         struct normalizer_sink *sink)
{
    const uint8_t *p = sink->in, *end = sink->in_end, *before;
    const uint8_t *at = find_touched(f, p, end, &before);
    if (at == end) {
        return 0;
    }
    while (p < end) {
        sink_keep(sink, p, before);
        p = at;
        while (p < end) { /* the rest of the segment */
            uint32_t cp;
            size_t n = utf8_decode(p, end, &cp);
            if (!touches(f, cp)) {
                break;
            }
            p += n;
        }
        if (before < p && put_segment(f, s, sink, before, p) != 0) {
            return -1;
        }
        at = find_touched(f, p, end, &before);
    }
    return sink->failed ? -1 : 1;
}
