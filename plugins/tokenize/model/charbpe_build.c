/* charbpe_build.c — builds `struct charbpe` from a vocabulary. See charbpe.h for P, the places that
 * a merge may join. */
#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "model/charbpe.h"
#include "model/charbpe_hash.h"
#include "split/pretoken_unicode.h"

/* first and last of a token that several spellings give */
#define MANY (CHARBPE_NONE - 1)
#define VISIBLE 0x2581u

static void *table(struct charbpe *c, size_t n, size_t size, int fill)
{
    void *memory = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (memory) {
        memset(memory, fill, n * size);
        c->bytes += n * size;
    }
    return memory;
}

/* log2 of the power of two at or above n, at least `least`. */
static unsigned log_for(size_t n, unsigned least)
{
    unsigned log = least;
    while (((size_t)1 << log) < n) {
        log++;
    }
    return log;
}

/* ---- characters ---- */

/* The code point of a token that is one character, else UINT32_MAX. */
static uint32_t lone_character(const struct vocab *v, uint32_t id)
{
    const struct vocab_token *token = &v->tokens[id];
    const uint8_t *p = v->bytes + token->at;
    uint32_t cp;
    if (token->kind != VOCAB_BYTES || token->len > 4 ||
        utf8_decode(p, p + token->len, &cp) != token->len || (p[0] >= 0x80 && token->len == 1)) {
        return UINT32_MAX;
    }
    return cp;
}

static int32_t index_characters(struct charbpe *c, const struct vocab *v, struct sluice_error *err)
{
    uint32_t id, cp, n = 1;
    if (c->meta) {
        c->page[VISIBLE >> 8] = (uint16_t)n++;
    }
    for (id = 0; id < v->n_tokens; id++) {
        cp = lone_character(v, id);
        if (cp != UINT32_MAX && c->page[cp >> 8] == 0) {
            c->page[cp >> 8] = (uint16_t)n++;
        }
    }
    c->n_pages = n;
    c->symbols = table(c, (size_t)n << 8, sizeof(*c->symbols), 0xFF);
    if (!c->symbols) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (id = 0; id < v->n_tokens; id++) {
        cp = lone_character(v, id);
        if (cp != UINT32_MAX) {
            c->symbols[(size_t)c->page[cp >> 8] << 8 | (cp & 255u)] = id;
        }
    }
    if (c->meta) { /* U+2581 is the space, in texts that have it */
        c->symbols[(size_t)c->page[VISIBLE >> 8] << 8 | (VISIBLE & 255u)] =
            c->symbols[(size_t)c->page[0] << 8 | ' '];
    }
    return SLUICE_OK;
}

/* Whether some character has neither a token nor tokens for its bytes. */
static int has_unknown(const struct charbpe *c)
{
    unsigned b;
    int all_high = 1;
    for (b = 0x80; b < 0xF5; b++) {
        all_high &= b == 0xC0 || b == 0xC1 || c->fallback[b] != CHARBPE_NONE;
    }
    for (b = 0; b < 0x80; b++) {
        if (c->fallback[b] == CHARBPE_NONE &&
            c->symbols[(size_t)c->page[0] << 8 | b] == CHARBPE_NONE) {
            return 1;
        }
    }
    return !all_high;
}

/* ---- pairs ---- */

static struct charbpe_pair *slot_of(struct charbpe *c, uint32_t a, uint32_t b)
{
    const uint64_t key = (uint64_t)a << 32 | b;
    size_t at = (size_t)charbpe_hash(a, b) & c->pair_mask;
    while (c->pairs[at].key != key && c->pairs[at].key != UINT64_MAX) {
        at = (at + 1) & c->pair_mask;
    }
    return &c->pairs[at];
}

static int32_t index_pairs(struct charbpe *c, const struct vocab *v, struct sluice_error *err)
{
    const size_t cap = (size_t)1 << log_for(v->n_merges + v->n_merges / 2, 4);
    const unsigned bits = log_for(v->n_merges * 8, 10);
    size_t i;
    c->pairs = table(c, cap, sizeof(*c->pairs), 0xFF);
    c->pair_mask = cap - 1;
    c->pair_filter = table(c, ((size_t)1 << bits) / 64, sizeof(*c->pair_filter), 0);
    c->filter_shift = 64 - bits;
    if (!c->pairs || !c->pair_filter) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (i = 0; i < v->n_merges; i++) {
        const struct vocab_merge *merge = &v->merges[i];
        const uint64_t bit = charbpe_hash(merge->a, merge->b) >> c->filter_shift;
        struct charbpe_pair *slot = slot_of(c, merge->a, merge->b);
        slot->key = (uint64_t)merge->a << 32 | merge->b; /* of duplicates the last wins */
        slot->rank = merge->rank;
        slot->id = merge->id;
        c->pair_filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    return SLUICE_OK;
}

static int32_t index_lone(struct charbpe *c, const struct vocab *v, struct sluice_error *err)
{
    const size_t cap = (size_t)1 << log_for(2 * v->n_lone, 4);
    size_t i;
    if (!v->lone) {
        return SLUICE_OK;
    }
    c->lone = table(c, cap, sizeof(*c->lone), 0xFF);
    c->lone_mask = cap - 1;
    if (!c->lone) {
        return bpe_fail_memory(err, "a vocabulary's tables");
    }
    for (i = 0; i < v->n_lone; i++) {
        const struct vocab_lone *lone = &v->lone[i];
        size_t at = (size_t)charbpe_hash(lone->place, lone->cp) & c->lone_mask;
        while (c->lone[at].key != UINT64_MAX) {
            at = (at + 1) & c->lone_mask;
        }
        c->lone[at] = (struct charbpe_lone){ (uint64_t)lone->place << 32 | lone->cp, lone->id };
    }
    return SLUICE_OK;
}

/* ---- where merges may join ---- */

struct ends {
    uint32_t *first,
        *last; /* by id: the character symbols at a token's ends; CHARBPE_NONE: never made */
};

static uint32_t first_of(const struct ends *e, uint32_t symbol)
{
    return symbol >= CHARBPE_RAW ? symbol : e->first[symbol];
}

static uint32_t last_of(const struct ends *e, uint32_t symbol)
{
    return symbol >= CHARBPE_RAW ? symbol : e->last[symbol];
}

static int widen(uint32_t *of, uint32_t with)
{
    const uint32_t now = *of == CHARBPE_NONE || *of == with ? with : MANY;
    const int changed = now != *of;
    *of = now;
    return changed;
}

static void mark(struct charbpe *c, uint32_t a, uint32_t b)
{
    const uint64_t bit = charbpe_hash(a, b) >> c->join_shift;
    c->joins[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

static void find_ends(const struct charbpe *c, const struct vocab *v, struct ends *e)
{
    size_t i;
    int changed = 1;
    uint32_t b;
    for (i = 0; i < (size_t)c->n_pages << 8; i++) {
        if (c->symbols[i] != CHARBPE_NONE) {
            e->first[c->symbols[i]] = e->last[c->symbols[i]] = c->symbols[i];
        }
    }
    for (b = 0; b < 256; b++) {
        if (c->fallback[b] != CHARBPE_NONE) {
            e->first[c->fallback[b]] = e->last[c->fallback[b]] = c->fallback[b];
        }
    }
    if (c->unk != CHARBPE_NONE) {
        e->first[c->unk] = e->last[c->unk] = c->unk;
    }
    while (changed) { /* at most as often as tokens are deep */
        changed = 0;
        for (i = 0; i < v->n_merges; i++) {
            const struct vocab_merge *m = &v->merges[i];
            const uint32_t first = first_of(e, m->a), last = last_of(e, m->b);
            if (first != CHARBPE_NONE && last != CHARBPE_NONE) {
                changed |= widen(&e->first[m->id], first) | widen(&e->last[m->id], last);
            }
        }
    }
}

/* Fills `ascii`, for which the rest must be there. */
static void mark_ascii(struct charbpe *c)
{
    uint32_t x, y;
    for (x = 0; x < 0x80; x++) {
        for (y = 0; y < 0x80; y++) {
            const uint8_t two[2] = { (uint8_t)x, (uint8_t)y };
            const size_t bit = (size_t)x << 7 | y;
            if (!charbpe_is_cut(c, two, 2, 0, 1)) {
                c->ascii[bit >> 6] |= UINT64_C(1) << (bit & 63);
            }
        }
    }
}

static int32_t index_joins(struct charbpe *c, const struct vocab *v, struct sluice_error *err)
{
    const size_t n = (size_t)v->n_tokens + 1;
    const unsigned bits = log_for(v->n_merges * 8, 10);
    struct ends e = { malloc(n * sizeof(*e.first)), malloc(n * sizeof(*e.last)) };
    size_t i;
    int32_t status = SLUICE_OK;
    c->joins = table(c, ((size_t)1 << bits) / 64, sizeof(*c->joins), 0);
    c->join_shift = 64 - bits;
    if (!e.first || !e.last || !c->joins) {
        status = bpe_fail_memory(err, "a vocabulary's tables");
        goto out;
    }
    memset(e.first, 0xFF, n * sizeof(*e.first));
    memset(e.last, 0xFF, n * sizeof(*e.last));
    find_ends(c, v, &e);
    for (i = 0; i < v->n_merges; i++) {
        const uint32_t a = last_of(&e, v->merges[i].a), b = first_of(&e, v->merges[i].b);
        if (a == MANY || b == MANY) {
            c->whole = 1;
        } else if (a != CHARBPE_NONE && b != CHARBPE_NONE) {
            mark(c, a, b);
        }
    }
    mark_ascii(c);
out:
    free(e.first);
    free(e.last);
    return status;
}

int32_t charbpe_init(struct charbpe *c, const struct vocab *v, struct sluice_error *err)
{
    int32_t status;
    memset(c, 0, sizeof(*c));
    memcpy(c->fallback, v->fallback, sizeof(c->fallback));
    c->unk = v->unk;
    c->byte_fallback = v->byte_fallback;
    c->fuse_unk = v->fuse_unk;
    c->late = v->late_fallback;
    c->whole = v->whole_piece || v->lone;
    c->alphabet = v->alphabet;
    c->cut_space = v->meta_cut;
    c->meta = v->meta != VOCAB_META_NONE;
    status = index_characters(c, v, err);
    if (status == SLUICE_OK) {
        status = index_pairs(c, v, err);
    }
    if (status == SLUICE_OK) {
        status = index_lone(c, v, err);
    }
    if (status == SLUICE_OK) {
        c->total = !has_unknown(c);
        c->deferred = !c->total && c->byte_fallback && c->unk != CHARBPE_NONE;
        status = index_joins(c, v, err);
    }
    return status;
}

void charbpe_deinit(struct charbpe *c)
{
    free(c->symbols);
    free(c->pairs);
    free(c->pair_filter);
    free(c->joins);
    free(c->lone);
    memset(c, 0, sizeof(*c));
}
