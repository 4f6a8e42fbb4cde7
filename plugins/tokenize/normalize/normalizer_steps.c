/* normalizer_steps.c — the steps that go character by character. Each names the source of its rule
 * in huggingface/tokenizers (0.23), src/normalizers, or google/sentencepiece (0.2.1). */
#include "normalize/normalizer_steps.h"

#include <string.h>

static int is_space(const struct normalizer *n, uint32_t cp)
{
    return (nu_value(&n->unicode, cp) & NU_SPACE) != 0;
}

/* replace.rs with a string: every occurrence, from the left, not overlapping. */
static int step_replace(const struct step *step, struct normalizer_sink *sink)
{
    const uint8_t *p = sink->in, *end = sink->in_end;
    const uint8_t *at = memmem(p, (size_t)(end - p), step->pattern, step->n_pattern);
    if (!at) {
        return 0;
    }
    while (at) {
        sink_copy(sink, (size_t)(p - sink->in), (size_t)(at - p));
        p = at + step->n_pattern;
        sink_put(sink, step->content, step->n_content, (size_t)(p - sink->in) - 1);
        at = memmem(p, (size_t)(end - p), step->pattern, step->n_pattern);
    }
    sink_copy(sink, (size_t)(p - sink->in), (size_t)(end - p));
    return 1;
}

/* prepend.rs; an empty text stays empty. */
static int step_prepend(const struct step *step, struct normalizer_sink *sink)
{
    if (sink->in == sink->in_end) {
        return 0;
    }
    sink_put(sink, step->content, step->n_content, 0);
    sink_copy(sink, 0, (size_t)(sink->in_end - sink->in));
    return 1;
}

/* strip.rs */
static int step_strip(const struct normalizer *n, const struct step *step,
                      struct normalizer_sink *sink)
{
    const uint8_t *p = sink->in, *end = sink->in_end;
    uint32_t cp;
    size_t len;
    while (step->flags & 1 && p < end && (len = utf8_decode(p, end, &cp), is_space(n, cp))) {
        p += len;
    }
    while (step->flags & 2 && p < end) {
        const uint8_t *last = end - 1;
        while (last > p && (*last & 0xC0) == 0x80) {
            last--;
        }
        (void)utf8_decode(last, end, &cp);
        if (!is_space(n, cp)) {
            break;
        }
        end = last;
    }
    if (p == sink->in && end == sink->in_end) {
        return 0;
    }
    sink_copy(sink, (size_t)(p - sink->in), (size_t)(end - p));
    return 1;
}

/* bert.rs, is_chinese_char */
static int is_chinese(uint32_t cp)
{
    return (cp >= 0x4E00 && cp <= 0x9FFF) || (cp >= 0x3400 && cp <= 0x4DBF) ||
           (cp >= 0x20000 && cp <= 0x2A6DF) || (cp >= 0x2A700 && cp <= 0x2B73F) ||
           (cp >= 0x2B740 && cp <= 0x2B81F) || (cp >= 0x2B920 && cp <= 0x2CEAF) ||
           (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0x2F800 && cp <= 0x2FA1F);
}

/* unicode.rs, do_nmt: 0 drops the character (never a result otherwise). */
static uint32_t nmt(uint32_t cp)
{
    if ((cp >= 1 && cp <= 8) || cp == 0xB || (cp >= 0xE && cp <= 0x1F) || cp == 0x7F ||
        cp == 0x8F || cp == 0x9F) {
        return 0;
    }
    if (cp == 9 || cp == 0xA || cp == 0xC || cp == 0xD || cp == 0x1680 ||
        (cp >= 0x200B && cp <= 0x200F) || cp == 0x2028 || cp == 0x2029 || cp == 0x2581 ||
        cp == 0xFEFF || cp == 0xFFFD) {
        return ' ';
    }
    return cp;
}

/* The customary byte alphabet (openai/gpt-2, encoder.py, bytes_to_unicode). */
static uint32_t byte_letter(unsigned b)
{
    if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174) {
        return b;
    }
    if (b <= 32) {
        return 256 + b;
    }
    return b < 161 ? 256 + 33 + (b - 127) : 256 + 33 + 34;
}

static void put_cp(struct normalizer_sink *sink, uint32_t cp, size_t from)
{
    char bytes[4];
    sink_put(sink, bytes, nu_encode(cp, bytes), from);
}

/* What becomes of one character, where that depends on nothing else. */
static void map_character(const struct normalizer *n, const struct step *step,
                          struct normalizer_sink *sink, uint32_t cp, size_t from, size_t len)
{
    unsigned value = nu_value(&n->unicode, cp);
    size_t i;
    switch (step->kind) {
    case STEP_DROP:
        if (value & step->flags) {
            return;
        }
        break;
    case STEP_CLEAN:
        if (value & NU_CONTROL) {
            return;
        }
        cp = value & NU_SPACE ? ' ' : cp;
        break;
    case STEP_CHINESE:
        if (is_chinese(cp)) {
            sink_put(sink, " ", 1, from);
            sink_copy(sink, from, len);
            sink_put(sink, " ", 1, from);
            return;
        }
        break;
    case STEP_LOWERCASE:
        if (cp == 0x130) { /* the one with a lower case of two characters */
            sink_put(sink, "i\xCC\x87", 3, from);
            return;
        }
        cp = nu_lower(cp);
        break;
    case STEP_NMT:
        if (cp != 0) {
            cp = nmt(cp);
            if (cp == 0) {
                return;
            }
        }
        break;
    case STEP_BYTE_LEVEL:
        for (i = 0; i < len; i++) {
            put_cp(sink, byte_letter(sink->in[from + i]), from);
        }
        return;
    default:
        break;
    }
    put_cp(sink, cp, from);
}

/* 1 when the step leaves an ASCII byte as it is. */
static int keeps_ascii(const struct step *step, uint8_t c)
{
    switch (step->kind) {
    case STEP_CLEAN:
    case STEP_NMT:
        return c >= 32 && c < 127;
    case STEP_LOWERCASE:
        return c < 'A' || c > 'Z';
    case STEP_BYTE_LEVEL:
        return c > 32 && c < 127;
    default:
        return 1;
    }
}

static int step_map(const struct normalizer *n, const struct step *step,
                    struct normalizer_sink *sink)
{
    const uint8_t *p = sink->in, *end = sink->in_end, *kept = p;
    while (p < end && !sink->failed) {
        uint32_t cp;
        size_t len;
        if (*p < 0x80 && keeps_ascii(step, *p)) {
            p++;
            continue;
        }
        sink_copy(sink, (size_t)(kept - sink->in), (size_t)(p - kept));
        len = utf8_decode(p, end, &cp);
        map_character(n, step, sink, cp, (size_t)(p - sink->in), len);
        p += len;
        kept = p;
    }
    if (kept == sink->in) {
        return 0; /* all of it was kept */
    }
    sink_copy(sink, (size_t)(kept - sink->in), (size_t)(p - kept));
    return 1;
}

static const char meta_space[] = "\xE2\x96\x81";

static void put_space(const struct step *step, struct normalizer_sink *sink)
{
    sink_put(sink, step->escape ? meta_space : " ", step->escape ? 3 : 1, 0);
}

/* The replacement of what stands at p (normalizer.cc, NormalizePrefix): gives the bytes used. */
static size_t spm_prefix(const struct step *step, const uint8_t *p, const uint8_t *end,
                         const char **text, size_t *len)
{
    uint32_t id;
    size_t n = unigram_trie_longest(&step->symbols, p, end, &id);
    if (n > 0) {
        *text = (const char *)p;
        *len = n;
        return n;
    }
    n = charsmap_longest(&step->charsmap, p, end, text, len);
    if (n == 0) {
        uint32_t cp;
        n = utf8_decode(p, end, &cp);
        *text = (const char *)p;
        *len = n;
    }
    return n;
}

static void spm_put(const struct step *step, struct normalizer_sink *sink, const char *text,
                    size_t len)
{
    while (len > 0) {
        const char *space = step->escape ? memchr(text, ' ', len) : NULL;
        size_t n = space ? (size_t)(space - text) : len;
        sink_put(sink, text, n, 0);
        if (space) {
            put_space(step, sink);
            n++;
        }
        text += n;
        len -= n;
    }
}

/* normalizer.cc, Normalize */
static int step_spm(const struct step *step, struct normalizer_sink *sink)
{
    const uint8_t *p = sink->in, *end = sink->in_end;
    const char *text;
    size_t len, space = step->escape ? 3 : 1;
    int after_space = !step->extra_spaces;
    while (after_space && p < end) {
        size_t n = spm_prefix(step, p, end, &text, &len);
        if (len != 1 || *text != ' ') {
            break;
        }
        p += n;
    }
    if (p == end) {
        return 1; /* nothing but spaces, or nothing */
    }
    if (step->dummy_prefix && !step->suffix) {
        put_space(step, sink);
    }
    while (p < end && !sink->failed) {
        const uint8_t *run = p;
        while (end - p > 1 && step->plain[*p] && p[1] < 0x80) {
            p++;
        }
        if (p > run) {
            sink_put(sink, run, (size_t)(p - run), 0);
            after_space = 0;
        }
        p += spm_prefix(step, p, end, &text, &len);
        while (after_space && len > 0 && *text == ' ') {
            text++;
            len--;
        }
        if (len > 0) {
            spm_put(step, sink, text, len);
            after_space = text[len - 1] == ' ' && !step->extra_spaces;
        }
    }
    while (!step->extra_spaces && sink->len >= space &&
           memcmp(sink->data + sink->len - space, step->escape ? meta_space : " ", space) == 0) {
        sink->len -= space;
    }
    if (step->dummy_prefix && step->suffix) {
        put_space(step, sink);
    }
    return 1;
}

int normalizer_step(const struct normalizer *n, const struct step *step,
                    struct forms_scratch *scratch, struct normalizer_sink *sink)
{
    int changed;
    switch (step->kind) {
    case STEP_FORM:
        changed = normalizer_forms_run(&step->forms, scratch, sink);
        break;
    case STEP_REPLACE:
        changed = step_replace(step, sink);
        break;
    case STEP_PREPEND:
        changed = step_prepend(step, sink);
        break;
    case STEP_STRIP:
        changed = step_strip(n, step, sink);
        break;
    case STEP_CHARSMAP:
        changed = charsmap_run(&step->charsmap, &n->unicode, sink);
        break;
    case STEP_SPM:
        changed = step_spm(step, sink);
        break;
    default:
        changed = step_map(n, step, sink);
        break;
    }
    return sink->failed ? -1 : changed;
}
