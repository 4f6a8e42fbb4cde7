/* unigram_trie.c — see the header. Built depth first; a node's children go to the first free places
 * that suit all of them, sought in the youngest blocks only, so that building stays linear. */
#include "model/unigram_trie.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 256u
#define OPEN_BLOCKS 16u /* where free places are sought */
#define NODES_MOST (1u << 31)

struct builder {
    struct unigram_trie *trie;
    const struct unigram_trie_string *strings;
    size_t cap;
    uint32_t first_open; /* node: no place before it is tried */
};

static int compare(const void *a, const void *b)
{
    const struct unigram_trie_string *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int order = n > 0 ? memcmp(x->bytes, y->bytes, n) : 0;
    if (order != 0) {
        return order;
    }
    if (x->len != y->len) {
        return x->len < y->len ? -1 : 1;
    }
    return x->value < y->value ? -1 : x->value > y->value;
}

static int add_block(struct builder *b)
{
    struct unigram_trie *t = b->trie;
    size_t i;
    if (t->n + BLOCK > b->cap) {
        size_t cap = b->cap + b->cap / 2 + 64 * BLOCK;
        struct unigram_trie_node *grown;
        cap &= ~(size_t)(BLOCK - 1);
        grown = cap < NODES_MOST ? realloc(t->nodes, cap * sizeof(*grown)) : NULL;
        if (!grown) {
            return -1;
        }
        t->nodes = grown;
        b->cap = cap;
    }
    for (i = t->n; i < t->n + BLOCK; i++) {
        t->nodes[i] = (struct unigram_trie_node){ .base = 0,
                                                  .check = UNIGRAM_TRIE_NONE,
                                                  .value = UNIGRAM_TRIE_NONE };
    }
    t->n += BLOCK;
    if (t->n > OPEN_BLOCKS * BLOCK && b->first_open < t->n - OPEN_BLOCKS * BLOCK) {
        b->first_open = (uint32_t)(t->n - OPEN_BLOCKS * BLOCK);
    }
    return 0;
}

static int is_free(const struct unigram_trie *t, uint32_t node)
{
    return node != 0 && t->nodes[node].check == UNIGRAM_TRIE_NONE;
}

/* A base under which the places of all labels are free; -1 without memory. */
static int find_base(struct builder *b, const uint8_t *labels, size_t n, uint32_t *base)
{
    struct unigram_trie *t = b->trie;
    uint32_t at;
    while (b->first_open < t->n && !is_free(t, b->first_open)) {
        b->first_open++;
    }
    for (at = b->first_open; at < t->n; at++) {
        size_t i;
        if (!is_free(t, at)) {
            continue;
        }
        *base = at ^ labels[0];
        for (i = 1; i < n && is_free(t, *base ^ labels[i]); i++) {
        }
        if (i == n) {
            return 0;
        }
    }
    at = (uint32_t)t->n;
    if (add_block(b) != 0) {
        return -1;
    }
    *base = at ^ labels[0];
    return 0;
}

/* A node and the sorted strings below it, all of at least `depth` bytes. */
struct task {
    uint32_t node;
    size_t lo, hi, depth;
};

static int grow(struct builder *b, struct task at, struct task **stack, size_t *n, size_t *cap)
{
    uint8_t labels[256];
    size_t k = 0, i = at.lo, from;
    uint32_t base;
    while (i < at.hi && b->strings[i].len == at.depth) {
        if (at.depth > 0) {
            b->trie->nodes[at.node].value = b->strings[i].value; /* the last one wins */
        }
        i++;
    }
    for (from = i; i < at.hi; i++) {
        uint8_t label = (uint8_t)b->strings[i].bytes[at.depth];
        if (i == from || label != labels[k - 1]) {
            labels[k++] = label;
        }
    }
    if (k == 0) {
        return 0;
    }
    if (find_base(b, labels, k, &base) != 0) {
        return -1;
    }
    b->trie->nodes[at.node].base = base;
    if (*n + k > *cap) {
        size_t more = *cap * 2 + k;
        struct task *grown = realloc(*stack, more * sizeof(*grown));
        if (!grown) {
            return -1;
        }
        *stack = grown;
        *cap = more;
    }
    for (i = from, k = 0; i < at.hi; k++) {
        size_t end = i;
        uint32_t child = base ^ labels[k];
        while (end < at.hi && (uint8_t)b->strings[end].bytes[at.depth] == labels[k]) {
            end++;
        }
        b->trie->nodes[child].check = at.node;
        (*stack)[(*n)++] = (struct task){ child, i, end, at.depth + 1 };
        i = end;
    }
    return 0;
}

int unigram_trie_init(struct unigram_trie *trie, struct unigram_trie_string *strings, size_t n)
{
    struct builder b = { .trie = trie, .strings = strings };
    struct task *stack = NULL, at = { .node = 0, .lo = 0, .hi = n, .depth = 0 };
    size_t i, left = 0, cap = 0;
    int failed;
    memset(trie, 0, sizeof(*trie));
    for (i = 0; i < n; i++) {
        trie->longest = strings[i].len > trie->longest ? strings[i].len : trie->longest;
    }
    if (trie->longest == 0) {
        return 0;
    }
    qsort(strings, n, sizeof(*strings), compare);
    failed = add_block(&b);
    if (!failed) {
        failed = grow(&b, at, &stack, &left, &cap);
    }
    while (!failed && left > 0) {
        at = stack[--left];
        failed = grow(&b, at, &stack, &left, &cap);
    }
    free(stack);
    if (failed) {
        unigram_trie_deinit(trie);
        return -1;
    }
    return 0;
}

void unigram_trie_deinit(struct unigram_trie *trie)
{
    free(trie->nodes);
    memset(trie, 0, sizeof(*trie));
}

uint32_t unigram_trie_find(const struct unigram_trie *trie, const char *bytes, size_t len)
{
    uint32_t node = 0;
    size_t i;
    if (!trie->nodes || len == 0) {
        return UNIGRAM_TRIE_NONE;
    }
    for (i = 0; i < len; i++) {
        if (!unigram_trie_go(trie, &node, (uint8_t)bytes[i])) {
            return UNIGRAM_TRIE_NONE;
        }
    }
    return trie->nodes[node].value;
}

size_t unigram_trie_longest(const struct unigram_trie *trie, const uint8_t *p, const uint8_t *end,
                            uint32_t *value)
{
    const uint8_t *begin = p;
    size_t found = 0;
    uint32_t node = 0;
    if (!trie->nodes) {
        return 0;
    }
    while (p < end && unigram_trie_go(trie, &node, *p)) {
        p++;
        if (trie->nodes[node].value != UNIGRAM_TRIE_NONE) {
            found = (size_t)(p - begin);
            *value = trie->nodes[node].value;
        }
    }
    return found;
}
