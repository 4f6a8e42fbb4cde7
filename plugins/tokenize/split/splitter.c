/* splitter.c — see the header. Each step makes from each piece of the one before it some pieces;
 * only Metaspace rewrites the text. Rules: huggingface/tokenizers (0.23), src/pre_tokenizers and
 * src/tokenizer/normalizer.rs (split). */
#include "split/splitter.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "normalize/normalizer_sink.h"
#include "split/splitter_int.h"

struct list {
    struct splitter_piece *pieces;
    size_t n, cap;
    int failed;
};

struct splitter_worker {
    const struct splitter *s;
    struct normalizer_sink sinks[2];
    struct list lists[2];
    struct regex_worker *regex[SPLITTER_STEPS];
};

int32_t splitter_worker_create(const struct splitter *s, struct splitter_worker **out,
                               struct sluice_error *err)
{
    size_t i;
    struct splitter_worker *w = calloc(1, sizeof(*w));
    *out = NULL;
    if (!w) {
        return bpe_fail_memory(err, "a pre-tokenizer");
    }
    w->s = s;
    for (i = 0; i < s->n_steps; i++) {
        if (s->steps[i].kind == SPLITTER_PATTERN) {
            int32_t status = regex_worker_create(s->steps[i].regex, &w->regex[i], err);
            if (status != SLUICE_OK) {
                splitter_worker_destroy(w);
                return status;
            }
        }
    }
    *out = w;
    return SLUICE_OK;
}

void splitter_worker_destroy(struct splitter_worker *w)
{
    size_t i;
    if (!w) {
        return;
    }
    for (i = 0; i < SPLITTER_STEPS; i++) {
        regex_worker_destroy(w->regex[i]);
    }
    for (i = 0; i < 2; i++) {
        free(w->sinks[i].data);
        free(w->lists[i].pieces);
    }
    free(w);
}

static void add(struct list *l, size_t begin, size_t end)
{
    if (begin == end || l->failed) {
        return;
    }
    if (l->n == l->cap) {
        size_t cap = l->cap * 2 + 64;
        struct splitter_piece *grown = realloc(l->pieces, cap * sizeof(*grown));
        if (!grown) {
            l->failed = 1;
            return;
        }
        l->pieces = grown;
        l->cap = cap;
    }
    l->pieces[l->n++] = (struct splitter_piece){ begin, end - begin };
}

/* Turns matches and gaps of one piece, given in order and without a hole, into pieces. */
struct cutter {
    struct list *to;
    enum splitter_behavior behavior;
    size_t first; /* pieces of others are before this one */
    int before;   /* whether the last one was a match */
    size_t held;  /* MERGED_WITH_NEXT: where a match begins that waits for a gap, */
    size_t end;   /* and where it ends; the same when none waits */
};

static void cut(struct cutter *c, size_t begin, size_t end, int is_match)
{
    struct list *l = c->to;
    int joins = 0;
    switch (c->behavior) {
    case SPLITTER_REMOVED:
        if (!is_match) {
            add(l, begin, end);
        }
        return;
    case SPLITTER_MERGED_WITH_NEXT:
        if (is_match) {
            add(l, c->held, c->end);
            c->held = begin;
            c->end = end;
        } else {
            add(l, c->held < c->end ? c->held : begin, end);
            c->held = c->end = end;
        }
        return;
    case SPLITTER_MERGED_WITH_PREVIOUS:
        joins = is_match && !c->before;
        break;
    case SPLITTER_CONTIGUOUS:
        joins = is_match == c->before;
        break;
    default:
        break;
    }
    c->before = is_match;
    if (joins && l->n > c->first && !l->failed) {
        struct splitter_piece *last = &l->pieces[l->n - 1];
        last->len = end - last->begin;
    } else {
        add(l, begin, end);
    }
}

static void cut_end(struct cutter *c)
{
    if (c->behavior == SPLITTER_MERGED_WITH_NEXT) {
        add(c->to, c->held, c->end);
    }
}

static struct cutter cutter_of(const struct splitter_step *step, struct list *to)
{
    struct cutter c = { .to = to, .behavior = step->behavior, .first = to->n };
    return c;
}

static int matches(const struct splitter *s, const struct splitter_step *step, uint32_t cp)
{
    if (step->kind == SPLITTER_DELIMITER) {
        return cp == step->cp;
    }
    return (nu_value(&s->unicode, cp) & step->flags) != 0;
}

/* Each character that matches is a match of its own. */
static void cut_characters(const struct splitter *s, const struct splitter_step *step,
                           const uint8_t *text, struct splitter_piece piece, struct list *to)
{
    struct cutter c = cutter_of(step, to);
    size_t at = piece.begin, end = at + piece.len, gap = at;
    while (at < end) {
        uint32_t cp;
        size_t n = utf8_decode(text + at, text + end, &cp);
        if (matches(s, step, cp)) {
            if (gap < at) {
                cut(&c, gap, at, 0);
            }
            cut(&c, at, at + n, 1);
            gap = at + n;
        }
        at += n;
    }
    if (gap < end) {
        cut(&c, gap, end, 0);
    }
    cut_end(&c);
}

/* whitespace.rs: runs of word characters, and of others that are no white space. */
static void cut_words(const struct splitter *s, const uint8_t *text, struct splitter_piece piece,
                      struct list *to)
{
    size_t at = piece.begin, end = at + piece.len, from = at;
    unsigned before = NU_SPACE;
    while (at < end) {
        uint32_t cp;
        size_t n = utf8_decode(text + at, text + end, &cp);
        unsigned value = nu_value(&s->unicode, cp),
                 kind = value & NU_WORD ? NU_WORD : value & NU_SPACE;
        if (kind != before) {
            if (before != NU_SPACE) {
                add(to, from, at);
            }
            from = at;
            before = kind;
        }
        at += n;
    }
    if (before != NU_SPACE) {
        add(to, from, end);
    }
}

/* unicode_scripts/pre_tokenizer.rs: Hiragana, Katakana and the long vowel sign count as Han, a
 * space and what has no script as any; what is before the first script is lost. */
static unsigned script_of(const struct splitter *s, uint32_t cp)
{
    return cp == ' ' ? 0 : nu_script(&s->unicode, cp);
}

static void cut_scripts(const struct splitter *s, const uint8_t *text, struct splitter_piece piece,
                        struct list *to)
{
    size_t at = piece.begin, end = at + piece.len, from = end;
    unsigned before = 0;
    while (at < end) {
        uint32_t cp;
        size_t n = utf8_decode(text + at, text + end, &cp);
        unsigned script = script_of(s, cp);
        if (script != 0 && script != before) {
            if (before != 0) {
                add(to, from, at);
            }
            from = at;
            before = script;
        }
        at += n;
    }
    add(to, from, end);
}

static void cut_lengths(const struct splitter_step *step, const uint8_t *text,
                        struct splitter_piece piece, struct list *to)
{
    size_t at = piece.begin, end = at + piece.len, from = at, count = 0;
    while (at < end) {
        uint32_t cp;
        at += utf8_decode(text + at, text + end, &cp);
        if (++count == step->length) {
            add(to, from, at);
            from = at;
            count = 0;
        }
    }
    add(to, from, end);
}

static int32_t cut_pattern(const struct splitter_step *step, struct regex_worker *regex,
                           const uint8_t *text, struct splitter_piece piece, struct list *to,
                           struct sluice_error *err)
{
    struct cutter c = cutter_of(step, to);
    size_t begin = 0;
    int32_t status = regex_begin(regex, text + piece.begin, piece.len, err);
    while (status == SLUICE_OK && begin < piece.len) {
        size_t end;
        int is_match;
        status = regex_next(regex, &end, &is_match, err);
        if (status != SLUICE_OK || is_match < 0) {
            break;
        }
        cut(&c, piece.begin + begin, piece.begin + end, is_match != step->invert);
        begin = end;
    }
    cut_end(&c);
    return status;
}

/* metaspace.rs: spaces become the replacement, which also goes in front. */
static void put_meta(const struct splitter_step *step, struct normalizer_sink *sink,
                     struct splitter_piece piece, struct list *to)
{
    struct cutter c = { .to = to, .behavior = SPLITTER_MERGED_WITH_NEXT };
    const uint8_t *p = sink->in + piece.begin, *end = p + piece.len;
    const char *r = step->replacement;
    size_t n = step->n_replacement, begin = sink->len;
    int prefix = step->prepend == SPLITTER_ALWAYS ||
                 (step->prepend == SPLITTER_FIRST && piece.begin < sink->head_in);
    if (prefix && *p != ' ' && !(piece.len >= n && memcmp(p, r, n) == 0)) {
        sink_put(sink, r, n, piece.begin);
    }
    while (p < end) {
        const uint8_t *space = memchr(p, ' ', (size_t)(end - p));
        const uint8_t *stop = space ? space : end;
        sink_copy(sink, (size_t)(p - sink->in), (size_t)(stop - p));
        if (space) {
            sink_put(sink, r, n, (size_t)(space - sink->in));
            stop++;
        }
        p = stop;
    }
    if (sink->failed) {
        return;
    }
    if (!step->split) {
        add(to, begin, sink->len);
        return;
    }
    c.held = c.end = begin;
    while (begin < sink->len) {
        const char *at = memmem(sink->data + begin, sink->len - begin, r, n);
        size_t stop = at ? (size_t)(at - sink->data) : sink->len;
        if (begin < stop) {
            cut(&c, begin, stop, 0);
        }
        if (at) {
            cut(&c, stop, stop + n, 1);
            stop += n;
        }
        begin = stop;
    }
    cut_end(&c);
}

/* One step over all pieces. */
static int32_t run_step(struct splitter_worker *w, size_t k, const uint8_t *text,
                        const struct list *from, struct list *to, struct normalizer_sink *sink,
                        struct sluice_error *err)
{
    const struct splitter_step *step = &w->s->steps[k];
    int32_t status = SLUICE_OK;
    size_t i;
    for (i = 0; i < from->n && status == SLUICE_OK; i++) {
        struct splitter_piece piece = from->pieces[i];
        switch (step->kind) {
        case SPLITTER_METASPACE:
            put_meta(step, sink, piece, to);
            break;
        case SPLITTER_WORDS:
            cut_words(w->s, text, piece, to);
            break;
        case SPLITTER_SCRIPTS:
            cut_scripts(w->s, text, piece, to);
            break;
        case SPLITTER_LENGTH:
            cut_lengths(step, text, piece, to);
            break;
        case SPLITTER_PATTERN:
            status = cut_pattern(step, w->regex[k], text, piece, to, err);
            break;
        default:
            cut_characters(w->s, step, text, piece, to);
            break;
        }
    }
    if (status == SLUICE_OK && (to->failed || sink->failed)) {
        return bpe_fail_memory(err, "the pieces of a text");
    }
    return status;
}

int32_t splitter_run(struct splitter_worker *w, const char *text, size_t len, size_t head,
                     struct splitter_pieces *out, struct sluice_error *err)
{
    size_t k, next_sink = 0;
    struct list *now = &w->lists[0], *next = &w->lists[1];
    *out = (struct splitter_pieces){ .data = text };
    w->lists[0].failed = w->lists[1].failed = 0;
    now->n = 0;
    add(now, 0, len);
    if (now->failed) {
        return bpe_fail_memory(err, "the pieces of a text");
    }
    for (k = 0; k < w->s->n_steps && now->n > 0; k++) {
        struct normalizer_sink *sink = &w->sinks[next_sink];
        struct list *swap = now;
        int32_t status;
        next->n = 0;
        sink_begin(sink, out->data, len, head);
        status = run_step(w, k, (const uint8_t *)out->data, now, next, sink, err);
        if (status != SLUICE_OK) {
            return status;
        }
        now = next;
        next = swap;
        if (w->s->steps[k].kind == SPLITTER_METASPACE) {
            out->data = sink->data;
            len = sink->len;
            head = sink->head_out;
            next_sink = 1 - next_sink;
        }
    }
    out->pieces = now->pieces;
    out->n = now->n;
    return SLUICE_OK;
}
