/* bpe_merge.c — applying merges to a piece. See the header for the numbering. */
#include "model/bpe_merge.h"

#include <string.h>
#include <xxhash.h>

#include "split/pretoken_unicode.h"

uint32_t merges_find_short(const struct merges *m, struct piece_key key)
{
    size_t at = (size_t)(piece_hash(key) >> m->short_shift);
    for (;;) {
        const struct piece_key *k = &m->short_keys[at];
        if (k->low == key.low && k->high == key.high) {
            return m->short_ids[at];
        }
        if (k->high == 0) {
            return MERGE_NONE; /* a piece has a length in its top byte */
        }
        at = (at + 1) & m->short_mask;
    }
}

uint32_t merges_find_long(const struct merges *m, const struct vocab *vocab, const uint8_t *p,
                          size_t len)
{
    size_t at;
    if (len > m->long_most) {
        return MERGE_NONE;
    }
    for (at = (size_t)XXH3_64bits(p, len) & m->long_mask; m->long_ids[at] != MERGE_NONE;
         at = (at + 1) & m->long_mask) {
        const struct vocab_token *token = &vocab->tokens[m->long_ids[at]];
        if (token->len == len && memcmp(vocab->bytes + token->at, p, len) == 0) {
            return m->long_ids[at];
        }
    }
    return MERGE_NONE;
}

/* Merges n symbols while rank[i] of a pair says so: the lowest first, then the leftmost. */
static inline size_t merge_symbols(const struct merges *m, uint32_t *out, uint32_t *rank, size_t n)
{
    size_t i;
    while (n > 1) {
        size_t best = 0;
        uint32_t least = rank[0];
        for (i = 1; i + 1 < n; i++) {
            if (rank[i] < least) {
                least = rank[i];
                best = i;
            }
        }
        if (least == MERGE_NONE) {
            break;
        }
        out[best] = least;
        n--;
        for (i = best + 1; i < n; i++) {
            out[i] = out[i + 1];
        }
        for (i = best + 1; i + 1 < n; i++) {
            rank[i] = rank[i + 1];
        }
        if (best + 1 < n) {
            rank[best] = merge_pair(m, least, out[best + 1]);
        }
        if (best > 0) {
            rank[best - 1] = merge_pair(m, out[best - 1], least);
        }
    }
    return n;
}

size_t merge_short(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out)
{
    uint32_t rank[MERGE_SHORT];
    size_t i;
    for (i = 0; i + 1 < n; i++) {
        out[i] = p[i];
        rank[i] = m->byte_pair[(size_t)p[i] << 8 | p[i + 1]];
    }
    out[n - 1] = p[n - 1];
    return merge_symbols(m, out, rank, n);
}

size_t merge_chars_begin(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out)
{
    const uint8_t *end = p + n;
    uint32_t most_before = 0;
    size_t count = 0;
    while (p < end) {
        const struct merged_char *c;
        uint32_t cp, most = 0, symbols = 1;
        size_t bytes = 1;
        out[count] = p[0];
        if (p[0] >= 0x80) {
            bytes = utf8_decode(p, end, &cp);
            if (bytes == 1 || cp >= 0x10000) {
                return 0;
            }
            c = &m->chars[cp];
            most = c->most;
            symbols = c->n;
            memcpy(out + count, c->symbols, sizeof(c->symbols));
        }
        if (count > 0 && (most | most_before)) {
            const uint32_t lowest = m->border[(size_t)p[-1] << 8 | p[0]];
            if (lowest <= most || lowest <= most_before) {
                return 0;
            }
        }
        most_before = most;
        count += symbols;
        p += bytes;
        if (count > MERGE_CHARS - 3 && p < end) {
            return 0;
        }
    }
    return count;
}

size_t merge_chars(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out)
{
    uint32_t rank[MERGE_CHARS];
    size_t count = merge_chars_begin(m, p, n, out);
    if (count == 0) {
        return 0;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        rank[i] = merge_pair(m, out[i], out[i + 1]);
    }
    return merge_symbols(m, out, rank, count);
}

/* 1 when tokens a and b can stand side by side: no merge across their border comes before those
 * that made them. */
static int pair_stands(const struct merges *m, uint32_t a, uint32_t b)
{
    uint32_t limit = MERGE_NONE;
    for (;;) {
        if (merge_pair(m, a, b) < limit) {
            return 0;
        }
        if (a > b) {
            limit = a;
            a = m->split[a][1];
            if (a == limit) {
                limit = b + 1;
                b = m->split[b][0];
                if (b + 1 == limit) {
                    return 1;
                }
            }
        } else {
            limit = b + 1;
            b = m->split[b][0];
            if (b + 1 == limit) {
                limit = a;
                a = m->split[a][1];
                if (a == limit) {
                    return 1;
                }
            }
        }
    }
}

int merge_is_ordered(const struct merges *m, const uint8_t *p, size_t n)
{
    size_t i;
    uint32_t token;
    for (i = 0; m->odd_pairs && i + 1 < n; i++) {
        size_t two = (size_t)p[i] << 8 | p[i + 1];
        if (((unsigned)m->odd_pairs[two >> 3] >> (two & 7) & 1u) &&
            trie_longest(&m->odd, p + i, p + n, &token) > 0) {
            return 0;
        }
    }
    return 1;
}

int merge_pair_stands(const struct merges *m, uint32_t a, uint32_t b, uint64_t *memo)
{
    uint64_t key = ((uint64_t)a << 21 | b) + 1; /* 0 is an empty place */
    uint64_t *place = &memo[(size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 49)];
    if (*place >> 1 != key) {
        *place = key << 1 | (uint64_t)pair_stands(m, a, b);
    }
    return (int)(*place & 1u);
}

size_t merge_backtrack(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out,
                       uint8_t *bits, uint64_t *memo)
{
    size_t at = 0, count = 0;
    uint32_t token = 0;
    memset(bits, 0, n / 8 + 1); /* a set bit: nothing that ends there leads to the result */
    (void)trie_longest(&m->trie, p, p + n, &token);
    while (token != MERGE_NONE) {
        for (;;) {
            size_t end = at + m->len[token];
            if (!((unsigned)bits[end >> 3] >> (end & 7) & 1u) &&
                (count == 0 || merge_pair_stands(m, out[count - 1], token, memo))) {
                out[count++] = token;
                at = end;
                token = MERGE_NONE;
                if (at < n) {
                    (void)trie_longest(&m->trie, p + at, p + n, &token);
                }
                break;
            }
            if (m->prefix[token] != MERGE_NONE) {
                token = m->prefix[token];
                continue;
            }
            bits[at >> 3] = (uint8_t)(bits[at >> 3] | 1u << (at & 7));
            token = MERGE_NONE;
            if (count > 0) {
                token = out[--count];
                at -= m->len[token];
            }
            break;
        }
    }
    return count;
}

/* ---- heap ---- */

struct heap {
    uint64_t *entry; /* rank << 32 | position: the lowest rank first, then the leftmost */
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
    uint64_t top = h->entry[0], last = h->entry[--h->n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->n) {
            break;
        }
        if (child + 1 < h->n && h->entry[child + 1] < h->entry[child]) {
            child++;
        }
        if (h->entry[child] >= last) {
            break;
        }
        h->entry[i] = h->entry[child];
        i = child;
    }
    if (h->n > 0) {
        h->entry[i] = last;
    }
    return top;
}

size_t merge_heap(const struct merges *m, const uint8_t *p, size_t n, uint32_t *out, void *scratch)
{
    struct heap heap;
    uint32_t *next,
        *prev; /* positions of the neighbours; a merged-away symbol is MERGE_NONE in out */
    size_t i, count = 0;
    heap.entry = scratch; /* n - 1 pairs at the most; each merge takes one and adds two */
    heap.n = 0;
    next = (uint32_t *)(void *)(heap.entry + 2 * n);
    prev = next + n;
    for (i = 0; i < n; i++) {
        out[i] = p[i];
        next[i] = (uint32_t)(i + 1);
        prev[i] = (uint32_t)(i - 1);
    }
    for (i = 0; i + 1 < n; i++) {
        uint32_t rank = m->byte_pair[(size_t)p[i] << 8 | p[i + 1]];
        if (rank != MERGE_NONE) {
            heap_push(&heap, (uint64_t)rank << 32 | i);
        }
    }
    while (heap.n > 0) {
        uint64_t entry = heap_pop(&heap);
        uint32_t rank = (uint32_t)(entry >> 32), at = (uint32_t)entry, right, now;
        if (out[at] == MERGE_NONE || next[at] >= n) {
            continue;
        }
        right = next[at];
        if (m->split[rank][0] != out[at] || m->split[rank][1] != out[right]) {
            continue; /* the pair is gone */
        }
        out[at] = rank;
        out[right] = MERGE_NONE;
        next[at] = next[right];
        if (next[at] < n) {
            prev[next[at]] = at;
            now = merge_pair(m, rank, out[next[at]]);
            if (now != MERGE_NONE) {
                heap_push(&heap, (uint64_t)now << 32 | at);
            }
        }
        if (at > 0) {
            uint32_t left = prev[at];
            now = merge_pair(m, out[left], rank);
            if (now != MERGE_NONE) {
                heap_push(&heap, (uint64_t)now << 32 | left);
            }
        }
    }
    for (i = 0; i < n; i++) {
        if (out[i] != MERGE_NONE) {
            out[count++] = out[i];
        }
    }
    return count;
}
