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

/* The strings that share a node's path: strings[lo .. hi), all longer than or as long as its depth.
 * */
struct span {
    size_t lo, hi;
    uint32_t depth;
};

/* The number of nodes: 1 + the bytes of each string behind its common prefix with the one before.
 * */
static size_t count_nodes(const struct trie_string *strings, size_t n)
{
    size_t nodes = 1, i;
    for (i = 0; i < n; i++) {
        uint32_t k = 0;
        if (i > 0) {
            while (k < strings[i].len && k < strings[i - 1].len &&
                   strings[i].bytes[k] == strings[i - 1].bytes[k]) {
                k++;
            }
        }
        nodes += strings[i].len - k;
    }
    return nodes;
}

int trie_init(struct trie *trie, struct trie_string *strings, size_t n)
{
    size_t nodes, done, made = 1;
    uint32_t a, b;
    struct span *spans;
    memset(trie, 0, sizeof(*trie));
    if (n > 0) {
        qsort(strings, n, sizeof(*strings), string_order);
    }
    nodes = count_nodes(strings, n);
    if (nodes > UINT32_MAX / 16) {
        return -1;
    }
    spans = malloc(nodes * sizeof(*spans));
    trie->first = malloc((nodes + 1) * sizeof(*trie->first));
    trie->value = malloc(nodes * sizeof(*trie->value));
    trie->label = malloc(nodes);
    trie->second = calloc(65536, sizeof(*trie->second));
    if (!spans || !trie->first || !trie->value || !trie->label || !trie->second) {
        free(spans);
        trie_deinit(trie);
        return -1;
    }
    spans[0].lo = 0;
    spans[0].hi = n;
    spans[0].depth = 0;
    trie->label[0] = 0;
    for (done = 0; done < made; done++) {
        struct span s = spans[done];
        trie->first[done] = (uint32_t)made;
        trie->value[done] = TRIE_NONE;
        if (s.depth > 0 && strings[s.lo].len == s.depth) {
            trie->value[done] = strings[s.lo].value;
            while (s.lo < s.hi && strings[s.lo].len == s.depth) {
                s.lo++;
            }
        }
        while (s.lo < s.hi) {
            size_t hi = s.lo + 1;
            uint8_t c = strings[s.lo].bytes[s.depth];
            while (hi < s.hi && strings[hi].bytes[s.depth] == c) {
                hi++;
            }
            trie->label[made] = c;
            spans[made].lo = s.lo;
            spans[made].hi = hi;
            spans[made].depth = s.depth + 1;
            made++;
            s.lo = hi;
        }
    }
    trie->first[made] = (uint32_t)made;
    trie->n = (uint32_t)made;
    free(spans);
    for (a = trie->first[0]; a < trie->first[1]; a++) {
        for (b = trie->first[a]; b < trie->first[a + 1]; b++) {
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
