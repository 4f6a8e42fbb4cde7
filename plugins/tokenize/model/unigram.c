/* unigram.c — see the header. One pass from the front: at each character the trie gives the tokens
 * that begin there, and each is an offer to the place where it ends. A place that no offer spans
 * (most word boundaries) lies on every path, so what is before it is written out at once.
 *
 * Sources: huggingface/tokenizers (0.23), src/models/unigram/model.rs, encode_optimized and
 * tokenize; google/sentencepiece (0.2.1), src/unigram_model.cc, EncodeOptimized. The sums must be
 * theirs to the last bit: a document is one piece in SentencePiece, whose sums are floats and
 * therefore coarse towards its end. */
#include "model/unigram.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "split/pretoken_unicode.h"
#include "model/unigram_int.h"

#define PATH_EMPTY UINT32_MAX         /* no path ends here yet */
#define PATH_UNKNOWN (UINT32_MAX - 8) /* and its 1 to 4 bytes: an unknown character ends here */

void unigram_scratch_deinit(struct unigram_scratch *scratch)
{
    free(scratch->path);
    free(scratch->best);
    memset(scratch, 0, sizeof(*scratch));
}

/* One call of unigram_encode. */
struct encoder {
    const struct unigram *u;
    struct unigram_scratch *scratch;
    const uint8_t *text;
    size_t len;
    size_t base;  /* the last certain place */
    size_t reach; /* the furthest place that a path ends at */
    size_t mask;
    uint32_t *ids;
    size_t cap, n;
    size_t unknown, unknown_end; /* a run of unknown characters that is not written yet */
    struct sluice_error *err;
};

static int32_t put(struct encoder *e, uint32_t id)
{
    if (e->n == e->cap) {
        return bpe_fail(e->err, SLUICE_E_CONFIG, "room for %zu ids is too little for the text",
                        e->cap);
    }
    e->ids[e->n++] = id;
    return SLUICE_OK;
}

/* Writes the run of unknown characters, if any. */
static int32_t put_unknown(struct encoder *e)
{
    const struct unigram *u = e->u;
    const uint8_t *p = e->text + e->unknown, *end = e->text + e->unknown_end;
    int32_t status = SLUICE_OK;
    int bytes = u->byte_fallback;
    if (p == end) {
        return SLUICE_OK;
    }
    e->unknown = e->unknown_end;
    if (u->peer == UNIGRAM_HF) {
        uint32_t id = unigram_trie_find(&u->trie, (const char *)p, (size_t)(end - p));
        const uint8_t *q;
        if (id != UNIGRAM_TRIE_NONE) {
            return put(e, id);
        }
        for (q = p; bytes && q < end; q++) {
            bytes = u->byte_id[*q] != UNIGRAM_NONE;
        }
    }
    if (!bytes) {
        return put(e, u->unk);
    }
    for (; p < end && status == SLUICE_OK; p++) {
        status = put(e, u->byte_id[*p]);
    }
    return status;
}

static size_t bytes_of(const struct unigram *u, uint32_t id)
{
    return id > PATH_UNKNOWN ? id - PATH_UNKNOWN : u->entries[id].len;
}

/* Writes the best path from base to `end`, which becomes the base. */
static int32_t settle(struct encoder *e, size_t end)
{
    const struct unigram *u = e->u;
    uint32_t *path = e->scratch->path;
    size_t at = end, base = e->base;
    uint32_t id = path[end - base];
    int32_t status = SLUICE_OK;
    while (at > base) { /* turn the links around: path[x] becomes the id that begins there */
        size_t begin = at - bytes_of(u, id);
        uint32_t next = path[begin - base];
        path[begin - base] = id;
        id = next;
        at = begin;
    }
    while (at < end && status == SLUICE_OK) {
        size_t next;
        id = path[at - base];
        next = at + bytes_of(u, id);
        if (id > PATH_UNKNOWN || id == u->unk) {
            e->unknown = e->unknown == e->unknown_end ? at : e->unknown;
            e->unknown_end = next;
        } else {
            status = put_unknown(e);
            if (status == SLUICE_OK) {
                status = put(e, id);
            }
        }
        at = next;
    }
    e->base = end;
    return status;
}

/* Makes room for a path that ends at `end`, which is beyond `reach`. */
static int32_t extend(struct encoder *e, size_t end)
{
    struct unigram_scratch *s = e->scratch;
    size_t k;
    if (end - e->base >= s->path_cap) {
        size_t cap = (end - e->base) * 2 + 256;
        uint32_t *grown = realloc(s->path, cap * sizeof(*grown));
        if (!grown) {
            return bpe_fail_memory(e->err, "the paths through a text");
        }
        s->path = grown;
        s->path_cap = cap;
    }
    for (k = e->reach + 1 - e->base; k <= end - e->base; k++) {
        s->path[k] = PATH_EMPTY;
    }
    e->reach = end;
    return SLUICE_OK;
}

/* An offer of `sum` for the place `end`. SentencePiece compares the sum before it is rounded to a
 * float, but for unknown characters, whose sum is made of floats. */
static int offer(struct encoder *e, size_t end, double sum, uint32_t id)
{
    double *best = &e->scratch->best[end & e->mask];
    uint32_t *link = &e->scratch->path[end - e->base];
    if (*link == PATH_EMPTY || sum > *best) {
        *best = e->u->peer == UNIGRAM_SPM ? (double)(float)sum : sum;
        *link = id;
        return 1;
    }
    return 0;
}

/* Makes all offers of the character at `at`, and gives its length. */
static int32_t advance(struct encoder *e, size_t at, size_t *len)
{
    const struct unigram *u = e->u;
    const double sum = e->scratch->best[at & e->mask];
    uint32_t node = 0, cp;
    size_t end = at;
    int single = 0;
    int32_t status = SLUICE_OK;
    *len = utf8_decode(e->text + at, e->text + e->len, &cp);
    while (end < e->len && unigram_trie_go(&u->trie, &node, e->text[end])) {
        uint32_t id = u->trie.nodes[node].value;
        end++;
        if (id == UNIGRAM_TRIE_NONE || u->entries[id].unused) {
            continue;
        }
        if (end > e->reach) {
            status = extend(e, end);
            if (status != SLUICE_OK) {
                return status;
            }
        }
        (void)offer(e, end, u->entries[id].score + sum, id);
        single |= end - at == *len;
    }
    if (single) {
        return SLUICE_OK;
    }
    end = at + *len;
    if (end > e->reach) {
        status = extend(e, end);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (offer(e, end,
              u->peer == UNIGRAM_SPM ? (double)((float)u->unk_score + (float)sum)
                                     : u->unk_score + sum,
              PATH_UNKNOWN + (uint32_t)*len) &&
        u->unk == UNIGRAM_NONE) {
        return bpe_fail(e->err, SLUICE_E_DATA,
                        "the character U+%04X has no token, and the tokenizer file names no "
                        "unk_id; use a vocabulary that has one",
                        cp);
    }
    return SLUICE_OK;
}

static int32_t prepare(const struct unigram *u, struct unigram_scratch *s, size_t *mask,
                       struct sluice_error *err)
{
    size_t size = 8;
    while (size < u->trie.longest + 8) {
        size *= 2;
    }
    *mask = size - 1;
    if (s->best_cap < size) {
        double *grown = realloc(s->best, size * sizeof(*grown));
        if (!grown) {
            return bpe_fail_memory(err, "the paths through a text");
        }
        s->best = grown;
        s->best_cap = size;
    }
    if (s->path_cap == 0) {
        s->path = malloc(256 * sizeof(*s->path));
        if (!s->path) {
            return bpe_fail_memory(err, "the paths through a text");
        }
        s->path_cap = 256;
    }
    return SLUICE_OK;
}

int32_t unigram_encode(const struct unigram *u, struct unigram_scratch *scratch, const char *piece,
                       size_t len, uint32_t *ids, size_t cap, size_t *n, struct sluice_error *err)
{
    struct encoder e = { .u = u,
                         .scratch = scratch,
                         .text = (const uint8_t *)piece,
                         .len = len,
                         .ids = ids,
                         .cap = cap,
                         .err = err };
    int32_t status = prepare(u, scratch, &e.mask, err);
    size_t at = 0;
    *n = 0;
    if (status != SLUICE_OK || len == 0) {
        return status;
    }
    scratch->best[0] = 0.0;
    while (at < len && status == SLUICE_OK) {
        size_t step;
        status = advance(&e, at, &step);
        at += step;
        if (status == SLUICE_OK && at == e.reach) {
            status = settle(&e, at);
        }
    }
    if (status == SLUICE_OK) {
        status = put_unknown(&e);
    }
    *n = status == SLUICE_OK ? e.n : 0;
    return status;
}
