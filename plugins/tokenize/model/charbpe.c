/* charbpe.c — see the header. The order of symbols and unknown tokens is that of
 * huggingface/tokenizers (models/bpe/model.rs, merge_word) and of google/sentencepiece
 * (bpe_model.cc). */
#include "model/charbpe.h"

#include <stdlib.h>
#include <string.h>

#include "model/charbpe_hash.h"
#include "model/charbpe_int.h"
#include "split/pretoken_unicode.h"

/* Up to this many symbols the pairs are searched in order, above in a heap. */
#define FEW 40u

static inline const struct charbpe_pair *find_pair(const struct charbpe *c, uint32_t a, uint32_t b)
{
    const uint64_t key = (uint64_t)a << 32 | b, hash = charbpe_hash(a, b);
    size_t at = (size_t)hash & c->pair_mask;
    if (!(c->pair_filter[hash >> c->filter_shift >> 6] >> (hash >> c->filter_shift & 63) & 1)) {
        return NULL;
    }
    while (c->pairs[at].key != key) {
        if (c->pairs[at].key == UINT64_MAX) {
            return NULL;
        }
        at = (at + 1) & c->pair_mask;
    }
    return &c->pairs[at];
}

/* A character of a text, and what it is. */
struct character {
    size_t len;
    uint32_t raw;    /* CHARBPE_RAW + code point */
    uint32_t symbol; /* its token, or CHARBPE_NONE */
};

static inline struct character character_at(const struct charbpe *c, const uint8_t *p,
                                            const uint8_t *end)
{
    struct character out;
    uint32_t cp;
    out.len = utf8_decode(p, end, &cp);
    if (out.len == 1 && p[0] >= 0x80) {
        out.raw = CHARBPE_RAW_BYTE + p[0];
        out.symbol = CHARBPE_NONE;
    } else {
        out.raw = CHARBPE_RAW + cp;
        out.symbol = c->symbols[(size_t)c->page[cp >> 8] << 8 | (cp & 255u)];
    }
    return out;
}

/* Whether all bytes have tokens. */
static int has_bytes(const struct charbpe *c, const uint8_t *p, size_t n)
{
    size_t i;
    if (!c->byte_fallback) {
        return 0;
    }
    for (i = 0; i < n && c->fallback[p[i]] != CHARBPE_NONE; i++) {
    }
    return i == n;
}

/* The symbols at a character's edges. 0: no cut beside it. */
static int edges_of(const struct charbpe *c, const uint8_t *p, const struct character *ch,
                    uint32_t *first, uint32_t *last)
{
    *first = *last = ch->symbol;
    if (ch->symbol != CHARBPE_NONE) {
        return 1;
    }
    if (c->late) {
        *first = *last = ch->raw;
        return has_bytes(c, p, ch->len);
    }
    if (c->deferred || !has_bytes(c, p, ch->len)) {
        return 0;
    }
    *first = c->fallback[p[0]];
    *last = c->fallback[p[ch->len - 1]];
    return 1;
}

static inline int may_join(const struct charbpe *c, uint32_t a, uint32_t b)
{
    const uint64_t bit = charbpe_hash(a, b) >> c->join_shift;
    return (int)(c->joins[bit >> 6] >> (bit & 63) & 1);
}

static int is_space(const struct charbpe *c, const uint8_t *p, const uint8_t *end)
{
    return *p == ' ' || (c->meta && end - p >= 3 && memcmp(p, VOCAB_SPACE, 3) == 0);
}

int charbpe_is_cut(const struct charbpe *c, const uint8_t *text, size_t len, size_t from, size_t at)
{
    struct character x, y;
    uint32_t first, last, none;
    if (c->cut_space && is_space(c, text + at, text + len)) {
        return 1;
    }
    x = character_at(c, text + from, text + at);
    y = character_at(c, text + at, text + len);
    return edges_of(c, text + from, &x, &none, &last) &&
           edges_of(c, text + at, &y, &first, &none) && !may_join(c, last, first);
}

size_t charbpe_cut(const struct charbpe *c, const uint8_t *text, size_t len, size_t *pos,
                   size_t *ends, size_t cap)
{
    size_t at = *pos, n = 0;
    while (at < len && n < cap) {
        size_t next = at + 1;
        if (c->whole && !c->cut_space) {
            next = len;
        } else if (c->whole) {
            while (next < len && !is_space(c, text + next, text + len)) {
                next++;
            }
        } else {
            for (;;) {
                const size_t from = next - 1;
                if (text[from] < 0x80 && next < len && text[next] < 0x80) {
                    const size_t bit = (size_t)text[from] << 7 | text[next];
                    if (!(c->ascii[bit >> 6] >> (bit & 63) & 1)) {
                        break;
                    }
                    next++;
                    continue;
                }
                break;
            }
            /* the character before `next` begins at next - 1 */
            if (next < len && (text[next - 1] | text[next]) >= 0x80) {
                size_t from = next - 1;
                uint32_t cp;
                next = from + utf8_decode(text + from, text + len, &cp);
                while (next < len && !charbpe_is_cut(c, text, len, from, next)) {
                    from = next;
                    next = from + utf8_decode(text + from, text + len, &cp);
                }
            }
        }
        ends[n++] = next;
        at = next;
    }
    *pos = at;
    return n;
}

/* ---- symbols ---- */

static uint32_t find_lone(const struct charbpe *c, uint32_t place, uint32_t cp)
{
    const uint64_t key = (uint64_t)place << 32 | cp;
    size_t at = (size_t)charbpe_hash(place, cp) & c->lone_mask;
    while (c->lone[at].key != key) {
        if (c->lone[at].key == UINT64_MAX) {
            return CHARBPE_NONE;
        }
        at = (at + 1) & c->lone_mask;
    }
    return c->lone[at].id;
}

/* Under a prefix or suffix: 0 to 2 symbols; byte_fallback does not come with those. */
static size_t next_at_place(const struct charbpe *c, struct charbpe_reader *r, uint32_t *out)
{
    uint32_t cp = *r->p, place = r->p > r->begin ? VOCAB_INSIDE : 0, id;
    const size_t size = c->alphabet ? 1 : utf8_decode(r->p, r->end, &cp);
    size_t n = 0;
    r->p += size;
    place |= r->p == r->end ? VOCAB_LAST : 0;
    id = find_lone(c, place, cp);
    if (r->unknown && (id != CHARBPE_NONE || !c->fuse_unk)) {
        out[n++] = c->unk;
        r->unknown = 0;
    }
    if (id != CHARBPE_NONE) {
        out[n++] = id;
    } else {
        r->unknown = c->unk != CHARBPE_NONE;
    }
    return n;
}

size_t charbpe_read(const struct charbpe *c, struct charbpe_reader *r, uint32_t *out, size_t cap)
{
    size_t n = 0, k;
    while (r->p < r->end && cap - n >= CHARBPE_READ_MOST) {
        const uint8_t *p = r->p;
        struct character ch;
        if (c->lone) {
            n += next_at_place(c, r, out + n);
            continue;
        }
        ch = character_at(c, p, r->end);
        if (ch.symbol != CHARBPE_NONE) {
            if (r->unknown) {
                out[n++] = c->unk;
                r->unknown = 0;
            }
            out[n++] = ch.symbol;
        } else if (c->late) {
            out[n++] = ch.raw;
        } else if (has_bytes(c, p, ch.len)) {
            for (k = 0; k < ch.len; k++) {
                out[n++] = c->fallback[p[k]]; /* the waiting one stays behind these */
            }
        } else if (c->unk != CHARBPE_NONE) {
            if (r->unknown && !c->fuse_unk) {
                out[n++] = c->unk;
            }
            r->unknown = 1;
        }
        r->p += ch.len;
    }
    if (r->p == r->end && r->unknown && n < cap) {
        out[n++] = c->unk;
        r->unknown = 0;
    }
    return n;
}

size_t charbpe_resolve(const struct charbpe *c, const uint32_t *symbols, size_t n, int *unknown,
                       uint32_t *out)
{
    size_t count = 0, i, k;
    if (!c->late) {
        memcpy(out, symbols, n * sizeof(*out));
        return n;
    }
    for (i = 0; i < n; i++) {
        uint8_t bytes[4];
        size_t len = 1;
        const uint32_t s = symbols[i], cp = s - CHARBPE_RAW;
        if (s < CHARBPE_RAW) {
            out[count++] = s;
            *unknown = 0;
            continue;
        }
        if (s >= CHARBPE_RAW_BYTE) {
            bytes[0] = (uint8_t)(s - CHARBPE_RAW_BYTE);
        } else if (cp < 0x80) {
            bytes[0] = (uint8_t)cp;
        } else {
            len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
            for (k = len - 1; k > 0; k--) {
                bytes[k] = (uint8_t)(0x80 | (cp >> 6 * (len - 1 - k) & 63));
            }
            bytes[0] = (uint8_t)((0xF00u >> len & 0xFF) | cp >> 6 * (len - 1));
        }
        if (has_bytes(c, bytes, len)) {
            for (k = 0; k < len; k++) {
                out[count++] = c->fallback[bytes[k]];
            }
            *unknown = 0;
        } else {
            if (!*unknown) {
                out[count++] = c->unk;
            }
            *unknown = c->fuse_unk;
        }
    }
    return count;
}

/* ---- merging ---- */

static size_t merge_few(const struct charbpe *c, uint32_t *s, size_t n)
{
    uint32_t rank[FEW], merged[FEW];
    size_t i;
    for (i = 0; i + 1 < n; i++) {
        const struct charbpe_pair *pair = find_pair(c, s[i], s[i + 1]);
        rank[i] = pair ? pair->rank : CHARBPE_NONE;
        merged[i] = pair ? pair->id : CHARBPE_NONE;
    }
    while (n > 1) {
        const struct charbpe_pair *pair;
        size_t best = 0;
        for (i = 1; i + 1 < n; i++) {
            best = rank[i] < rank[best] ? i : best;
        }
        if (rank[best] == CHARBPE_NONE) {
            break;
        }
        s[best] = merged[best];
        n--;
        memmove(&s[best + 1], &s[best + 2], (n - best - 1) * sizeof(*s));
        memmove(&rank[best], &rank[best + 1], (n - best - 1) * sizeof(*rank));
        memmove(&merged[best], &merged[best + 1], (n - best - 1) * sizeof(*merged));
        if (best + 1 < n) {
            pair = find_pair(c, s[best], s[best + 1]);
            rank[best] = pair ? pair->rank : CHARBPE_NONE;
            merged[best] = pair ? pair->id : CHARBPE_NONE;
        }
        if (best > 0) {
            pair = find_pair(c, s[best - 1], s[best]);
            rank[best - 1] = pair ? pair->rank : CHARBPE_NONE;
            merged[best - 1] = pair ? pair->id : CHARBPE_NONE;
        }
    }
    return n;
}

/* Entries are rank << 32 | place: the lowest rank first, then the leftmost. */
struct heap {
    uint64_t *entry;
    size_t n;
};

static void heap_push(struct heap *h, uint64_t entry)
{
    size_t i = h->n++;
    while (i > 0 && h->entry[(i - 1) / 2] > entry) {
        h->entry[i] = h->entry[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->entry[i] = entry;
}

static uint64_t heap_pop(struct heap *h)
{
    const uint64_t top = h->entry[0], last = h->entry[--h->n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->n) {
            break;
        }
        child += child + 1 < h->n && h->entry[child + 1] < h->entry[child];
        if (h->entry[child] >= last) {
            break;
        }
        h->entry[i] = h->entry[child];
        i = child;
    }
    h->entry[i] = last;
    return top;
}

struct list {
    const struct charbpe *chars;
    uint32_t *symbol, *next, *prev; /* by place */
    uint32_t *rank; /* of the pair that begins here, CHARBPE_NONE for none or gone */
    struct heap heap;
};

/* Looks at the pair that begins at `at`; `right` is the place behind it. */
static void look(struct list *l, uint32_t at, uint32_t right)
{
    const struct charbpe_pair *pair = find_pair(l->chars, l->symbol[at], l->symbol[right]);
    l->rank[at] = pair ? pair->rank : CHARBPE_NONE;
    if (pair) {
        heap_push(&l->heap, (uint64_t)pair->rank << 32 | at);
    }
}

size_t charbpe_merge_symbols(const struct charbpe *c, uint32_t *s, size_t n, uint32_t *places,
                             void *scratch)
{
    struct list l = { .chars = c, .symbol = s };
    size_t i, count = 0;
    l.heap.entry =
        scratch; /* n - 1 at first; a merge takes one and adds two, n - 1 times at most */
    l.next = (uint32_t *)(void *)(l.heap.entry + 2 * n);
    l.prev = l.next + n;
    l.rank = l.prev + n;
    for (i = 0; i < n; i++) {
        l.next[i] = (uint32_t)(i + 1);
        l.prev[i] = (uint32_t)(i - 1);
        l.rank[i] = CHARBPE_NONE;
    }
    for (i = 0; i + 1 < n; i++) {
        look(&l, (uint32_t)i, (uint32_t)(i + 1));
    }
    while (l.heap.n > 0) {
        const uint64_t entry = heap_pop(&l.heap);
        const uint32_t at = (uint32_t)entry;
        uint32_t right;
        if (l.rank[at] != (uint32_t)(entry >> 32)) {
            continue; /* the pair is gone */
        }
        right = l.next[at];
        s[at] = find_pair(c, s[at], s[right])->id;
        l.rank[at] = l.rank[right] = CHARBPE_NONE;
        s[right] = CHARBPE_NONE;
        l.next[at] = l.next[right];
        if (l.next[at] < n) {
            l.prev[l.next[at]] = at;
            look(&l, at, l.next[at]);
        }
        if (at > 0) {
            look(&l, l.prev[at], at);
        }
    }
    for (i = 0; i < n; i = l.next[i]) {
        if (places) {
            places[count] = (uint32_t)i;
        }
        s[count++] = s[i];
    }
    return count;
}

size_t charbpe_merge(const struct charbpe *c, const uint8_t *p, size_t n, uint32_t *out,
                     void *scratch)
{
    struct charbpe_reader r = { p, p, p + n, 0 };
    uint32_t few[FEW + CHARBPE_READ_MOST], *s = scratch;
    size_t count;
    int unknown = 0;
    if (n <= FEW) {
        count = charbpe_read(c, &r, few, FEW + CHARBPE_READ_MOST);
        count = merge_few(c, few, count);
        return charbpe_resolve(c, few, count, &unknown, out);
    }
    /* behind what merging needs: bytes may need more room than what they stand for */
    s = (uint32_t *)(void *)((uint64_t *)scratch + 2 * n) + 3 * n;
    count = charbpe_read(c, &r, s, n + CHARBPE_READ_MOST);
    count =
        count <= FEW ? merge_few(c, s, count) : charbpe_merge_symbols(c, s, count, NULL, scratch);
    return charbpe_resolve(c, s, count, &unknown, out);
}
