/* unigram_trie.h — a double array over bytes: all strings of a set that begin at a place, one
 * array access a byte.
 *
 * Owns: struct unigram_trie, caller's memory. Depends on: libc. Promises: immutable once built; 12
 * bytes a node; strings may hold zeros. */
#ifndef TOKENIZE_UNIGRAM_TRIE_H
#define TOKENIZE_UNIGRAM_TRIE_H

#include <stddef.h>
#include <stdint.h>

#define UNIGRAM_TRIE_NONE UINT32_MAX

struct unigram_trie_node {
    uint32_t base;  /* the child by byte c is base ^ c, if its check is this node */
    uint32_t check; /* the parent; UNIGRAM_TRIE_NONE: free (and the root's) */
    uint32_t value; /* UNIGRAM_TRIE_NONE: no string ends here */
};

struct unigram_trie {
    struct unigram_trie_node *nodes; /* whole blocks of 256; the root is 0; NULL: no strings */
    size_t n;
    size_t longest; /* bytes of the longest string */
};

struct unigram_trie_string {
    const char *bytes;
    size_t len; /* an empty one is left out */
    uint32_t value;
};

/* Sorts `strings` in place (of two equal ones, the higher value stays) and builds caller's memory.
 * 0, or -1 without memory or above 2^31 nodes (nothing to deinit then). */
int unigram_trie_init(struct unigram_trie *trie, struct unigram_trie_string *strings, size_t n);
void unigram_trie_deinit(struct unigram_trie *trie);

/* Goes from *node by one byte; 0 when there is no such child. */
static inline int unigram_trie_go(const struct unigram_trie *trie, uint32_t *node, uint8_t byte)
{
    uint32_t child = trie->nodes[*node].base ^ byte;
    if (trie->nodes[child].check != *node) {
        return 0;
    }
    *node = child;
    return 1;
}

/* The value of exactly these bytes, UNIGRAM_TRIE_NONE for none. */
uint32_t unigram_trie_find(const struct unigram_trie *trie, const char *bytes, size_t len);

/* The length of the longest string that begins at p, 0 for none; *value gets its value. */
size_t unigram_trie_longest(const struct unigram_trie *trie, const uint8_t *p, const uint8_t *end,
                            uint32_t *value);

#endif
