/* bpe_trie.h — a byte trie in breadth-first arrays: longest match of a set of strings.
 * Depends on: libc. Promises: immutable once built, 9 bytes a node and 256 KiB. */
#ifndef TOKENIZE_BPE_TRIE_H
#define TOKENIZE_BPE_TRIE_H

#include <stddef.h>
#include <stdint.h>

#define TRIE_NONE UINT32_MAX

struct trie {
    uint32_t n;      /* nodes; 0 is the root */
    uint32_t *first; /* n + 1: children of i are the nodes first[i] .. first[i + 1] - 1, by label */
    uint32_t *value; /* TRIE_NONE where no string ends */
    uint8_t *label;
    uint32_t *second; /* [256 * 256]: the node two bytes lead to, 0 for none */
};

struct trie_string {
    const uint8_t *bytes;
    uint32_t len; /* not 0 */
    uint32_t value;
};

/* Sorts `strings` in place (two equal ones: the lower value wins) and builds caller's memory.
 * prefix, unless NULL: prefix[value] gets the value of the longest shorter string that the one with
 * this value begins with; where there is none it stays. 0, or -1 without memory. */
int trie_init(struct trie *trie, struct trie_string *strings, size_t n, uint32_t *prefix);
void trie_deinit(struct trie *trie);

/* The length of the longest string that begins at p, 0 for none; *value gets its value. */
size_t trie_longest(const struct trie *trie, const uint8_t *p, const uint8_t *end, uint32_t *value);

#endif
