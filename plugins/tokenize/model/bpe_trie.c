/* bpe_trie.c — see the header. */
#include "model/bpe_trie.h"

#include <stdlib.h>
#include <string.h>

static int string_order(const void *a, const void *b)
{
    const struct trie_string *x = a, *y = b;
    uint32_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->bytes, y->bytes, n);
    if (order != 0) {
        return order;
    }
    if (x->len != y->len) {
        return x->len < y->len ? -1 : 1;
    }
    return x->value < y->value ? -1 : x->value > y->value;
}

/* A string's first bytes as a number that sorts as they do, with zeros behind a short one. */
#define HEAD 8u
struct head {
    uint64_t bytes;
    uint32_t at; /* in `strings` */
};

static uint64_t head_of(const struct trie_string *string)
{
    uint64_t head = 0;
    for (uint32_t k = 0; k < HEAD; k++) {
        head = head << 8 | (k < string->len ? string->bytes[k] : 0);
    }
    return head;
}

/* Sorts by `bytes`, from the last byte to the first; keeps the order of equal ones. The result is
 * in heads or in other. */
static struct head *sort_heads(struct head *heads, struct head *other, size_t n)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t count[256] = { 0 }, from = 0;
        for (size_t i = 0; i < n; i++) {
            count[heads[i].bytes >> shift & 255]++;
        }
        for (unsigned c = 0; c < 256; c++) {
            const size_t here = count[c];
            count[c] = from;
            from += here;
        }
        for (size_t i = 0; i < n; i++) {
            other[count[heads[i].bytes >> shift & 255]++] = heads[i];
        }
        struct head *swap = heads;
        heads = other;
        other = swap;
    }
    return heads;
}

/* Sorts the strings and gives their heads in that order. 0, or -1 without memory. */
static int sort_strings(struct trie_string *strings, size_t n, uint64_t *heads)
{
    struct head *order = malloc(2 * (n + 1) * sizeof(*order)), *sorted;
    struct trie_string *copy = malloc((n + 1) * sizeof(*copy));
    if (!order || !copy) {
        free(order);
        free(copy);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        order[i].bytes = head_of(&strings[i]);
        order[i].at = (uint32_t)i;
        copy[i] = strings[i];
    }
    sorted = sort_heads(order, order + n, n);
    for (size_t i = 0; i < n; i++) {
        strings[i] = copy[sorted[i].at];
        heads[i] = sorted[i].bytes;
    }
    free(order);
    free(copy);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && heads[end] == heads[i]; end++) {
        }
        if (end - i > 1) {
            qsort(strings + i, end - i, sizeof(*strings), string_order);
        }
    }
    return 0;
}

/* The strings that share a node's path: strings[lo .. hi), all longer than or as long as its depth;
 * best is the value of the longest string that the path is longer than. */
struct span {
    uint32_t lo, hi, depth, best;
};

struct maker {
    const struct trie_string *strings;
    const uint64_t *heads;
    uint32_t *prefix;
};

/* The byte of string i at this depth, which it has. */
static inline uint8_t byte_at(const struct maker *m, uint32_t i, uint32_t depth)
{
    return depth < HEAD ? (uint8_t)(m->heads[i] >> (56 - 8 * depth)) : m->strings[i].bytes[depth];
}

/* The number of nodes: 1 + the bytes of each string behind its common prefix with the one before.
 * */
static size_t count_nodes(const struct maker *m, size_t n)
{
    size_t nodes = 1, i;
    for (i = 0; i < n; i++) {
        const struct trie_string *s = m->strings + i;
        uint32_t k = 0;
        if (i > 0) {
            while (k < s->len && k < s[-1].len &&
                   byte_at(m, (uint32_t)i, k) == byte_at(m, (uint32_t)i - 1, k)) {
                k++;
            }
        }
        nodes += s->len - k;
    }
    return nodes;
}

/* Makes the nodes by depth; gives their number. */
static size_t make_nodes(struct trie *trie, const struct maker *m, struct span *spans, size_t n)
{
    const struct trie_string *strings = m->strings;
    size_t done, made = 1;
    spans[0] = (struct span){ 0, (uint32_t)n, 0, TRIE_NONE };
    trie->label[0] = 0;
    for (done = 0; done < made; done++) {
        struct span s = spans[done];
        uint32_t best = s.best;
        trie->first[done] = (uint32_t)made;
        trie->value[done] = TRIE_NONE;
        if (s.depth > 0 && strings[s.lo].len == s.depth) {
            trie->value[done] = best = strings[s.lo].value;
            while (s.lo < s.hi && strings[s.lo].len == s.depth) {
                if (m->prefix && s.best != TRIE_NONE) {
                    m->prefix[strings[s.lo].value] = s.best;
                }
                s.lo++;
            }
        }
        while (s.lo < s.hi) {
            uint32_t hi = s.lo + 1;
            const uint8_t c = byte_at(m, s.lo, s.depth);
            while (hi < s.hi && byte_at(m, hi, s.depth) == c) {
                hi++;
            }
            trie->label[made] = c;
            spans[made++] = (struct span){ s.lo, hi, s.depth + 1, best };
            s.lo = hi;
        }
    }
    trie->first[made] = (uint32_t)made;
    return made;
}

int trie_init(struct trie *trie, struct trie_string *strings, size_t n, uint32_t *prefix)
{
    uint64_t *heads = malloc((n + 1) * sizeof(*heads));
    const struct maker m = { strings, heads, prefix };
    struct span *spans = NULL;
    size_t nodes = 0;
    memset(trie, 0, sizeof(*trie));
    if (!heads || n > UINT32_MAX / 16 || sort_strings(strings, n, heads) != 0 ||
        (nodes = count_nodes(&m, n)) > UINT32_MAX / 16) {
        free(heads);
        return -1;
    }
    spans = malloc(nodes * sizeof(*spans));
    trie->first = malloc((nodes + 1) * sizeof(*trie->first));
    trie->value = malloc(nodes * sizeof(*trie->value));
    trie->label = malloc(nodes);
    trie->second = calloc(65536, sizeof(*trie->second));
    if (!spans || !trie->first || !trie->value || !trie->label || !trie->second) {
        free(heads);
        free(spans);
        trie_deinit(trie);
        return -1;
    }
    trie->n = (uint32_t)make_nodes(trie, &m, spans, n);
    free(heads);
    free(spans);
    for (uint32_t a = trie->first[0]; a < trie->first[1]; a++) {
        for (uint32_t b = trie->first[a]; b < trie->first[a + 1]; b++) {
            trie->second[(size_t)trie->label[a] << 8 | trie->label[b]] = b;
        }
    }
    return 0;
}

void trie_deinit(struct trie *trie)
{
    free(trie->first);
    free(trie->value);
    free(trie->label);
    free(trie->second);
    memset(trie, 0, sizeof(*trie));
}

/* The child of a node by label, or 0. */
static inline uint32_t child_of(const struct trie *trie, uint32_t node, uint8_t c)
{
    uint32_t from = trie->first[node], to = trie->first[node + 1];
    const uint8_t *at;
    if (to - from <= 8) {
        for (; from < to; from++) {
            if (trie->label[from] == c) {
                return from;
            }
        }
        return 0;
    }
    at = memchr(trie->label + from, c, to - from);
    return at ? (uint32_t)(at - trie->label) : 0;
}

size_t trie_longest(const struct trie *trie, const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    const uint8_t *start = p;
    uint32_t node;
    size_t best = 0;
    if (p < end) { /* one byte: only its value counts, deeper nodes are found by two */
        node = child_of(trie, 0, *p);
        if (node != 0 && trie->value[node] != TRIE_NONE) {
            best = 1;
            *value = trie->value[node];
        }
    }
    if (end - p < 2) {
        return best;
    }
    node = trie->second[(size_t)p[0] << 8 | p[1]];
    p += 2;
    while (node != 0) {
        if (trie->value[node] != TRIE_NONE) {
            best = (size_t)(p - start);
            *value = trie->value[node];
        }
        if (p == end) {
            break;
        }
        node = child_of(trie, node, *p++);
    }
    return best;
}
