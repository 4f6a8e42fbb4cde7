/* text_patterns.c — building and running the automaton. See text_patterns.h.
 *
 * States are the prefixes of the patterns, in the order they were met; state 0 is the empty prefix.
 * `fail` is the longest proper suffix that is a state, `link` the longest one that ends a pattern.
 * Bytes are mapped to classes first: bytes that no pattern holds share class 0. */
#include "text/text_patterns.h"

#include "text/text_error.h"
#include "text/text_hash.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct state {
    uint32_t child, sibling; /* lists of children, used to build */
    uint32_t fail, link;
    uint32_t pattern; /* that ends here, or NONE */
    uint32_t depth;
    uint32_t label; /* class of the last byte */
};

struct text_patterns {
    uint8_t classes[256];
    bool leaves_root[256];
    uint32_t flags, n_classes;
    uint32_t shift; /* dense: log2 of a row's entries */
    struct state *states;
    size_t n_states, capacity;
    uint32_t *dense; /* entry: target << 1 | whether a pattern ends there; NULL when sparse */
    size_t dense_entries;
    uint64_t *edges;   /* edge_key or 0: an open-addressing table; NULL when dense */
    uint32_t *targets; /* the child of each */
    size_t edge_slots; /* a power of two */
};

/* ---- building ---- */

static uint64_t edge_key(uint32_t parent, uint32_t label)
{
    return ((uint64_t)parent << 9 | label) + 1; /* never 0; a label is at most 256 */
}

static size_t edge_slot(const struct text_patterns *patterns, uint64_t key)
{
    return (size_t)(text_hash_mix(key ^ TEXT_HASH_A, TEXT_HASH_B) & (patterns->edge_slots - 1));
}

/* The child of a state under a class, or NONE. */
static uint32_t edge_find(const struct text_patterns *patterns, uint32_t parent, uint32_t label)
{
    uint64_t key = edge_key(parent, label);
    for (size_t i = edge_slot(patterns, key);; i = (i + 1) & (patterns->edge_slots - 1)) {
        if (patterns->edges[i] == key) {
            return patterns->targets[i];
        }
        if (patterns->edges[i] == 0) {
            return NONE;
        }
    }
}

static uint32_t state_add(struct text_patterns *patterns, uint32_t depth, uint32_t label)
{
    if (patterns->n_states == patterns->capacity) {
        size_t capacity = patterns->capacity + patterns->capacity / 2 + 64;
        struct state *moved = realloc(patterns->states, capacity * sizeof *moved);
        if (moved == NULL) {
            return NONE;
        }
        patterns->states = moved;
        patterns->capacity = capacity;
    }
    patterns->states[patterns->n_states] =
        (struct state){ NONE, NONE, 0, NONE, NONE, depth, label };
    return (uint32_t)patterns->n_states++;
}

static int32_t insert(struct text_patterns *patterns, const struct text_string *word,
                      uint32_t number, struct sluice_error *err)
{
    uint32_t at = 0;
    for (size_t i = 0; i < word->len; i++) {
        uint32_t label = patterns->classes[(unsigned char)word->data[i]];
        uint32_t child = patterns->states[at].child;
        while (child != NONE && patterns->states[child].label != label) {
            child = patterns->states[child].sibling;
        }
        if (child == NONE) {
            child = state_add(patterns, patterns->states[at].depth + 1, label);
            if (child == NONE) {
                return text_error_nomem(err, patterns->n_states * sizeof(struct state));
            }
            patterns->states[child].sibling = patterns->states[at].child;
            patterns->states[at].child = child;
        }
        at = child;
    }
    if (patterns->states[at].pattern == NONE) {
        patterns->states[at].pattern = number;
    }
    return SLUICE_OK;
}

/* Which bytes need to be told apart. */
static void classify(struct text_patterns *patterns, const struct text_string *words, size_t n)
{
    bool used[256] = { false };
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < words[i].len; k++) {
            used[(unsigned char)words[i].data[k]] = true;
        }
    }
    if ((patterns->flags & TEXT_PATTERNS_CASELESS) != 0) {
        for (int c = 'a'; c <= 'z'; c++) {
            used[c] = used[c] || used[c - 32];
            used[c - 32] = false;
        }
    }
    patterns->n_classes = 1;
    for (int c = 0; c < 256; c++) {
        /* When all 256 bytes are used the last one has class 0 to itself. */
        patterns->classes[c] = 0;
        if (used[c] && patterns->n_classes < 256) {
            patterns->classes[c] = (uint8_t)patterns->n_classes++;
        }
    }
    if ((patterns->flags & TEXT_PATTERNS_CASELESS) != 0) {
        for (int c = 'a'; c <= 'z'; c++) {
            patterns->classes[c - 32] = patterns->classes[c];
        }
    }
}

/* Fills fail and link by breadth; `order` has room for all states. */
static void link_states(struct text_patterns *patterns, uint32_t *order)
{
    struct state *states = patterns->states;
    size_t head = 0, tail = 0;
    order[tail++] = 0;
    while (head < tail) {
        uint32_t at = order[head++];
        for (uint32_t child = states[at].child; child != NONE; child = states[child].sibling) {
            uint32_t fail = states[at].fail;
            uint32_t target = NONE;
            if (at != 0) {
                while ((target = edge_find(patterns, fail, states[child].label)) == NONE &&
                       fail != 0) {
                    fail = states[fail].fail;
                }
            }
            states[child].fail = target == NONE ? 0 : target;
            fail = states[child].fail;
            states[child].link = states[fail].pattern != NONE ? fail : states[fail].link;
            order[tail++] = child;
        }
    }
}

static bool ends_pattern(const struct text_patterns *patterns, uint32_t state)
{
    return patterns->states[state].pattern != NONE || patterns->states[state].link != NONE;
}

static void fill_dense(struct text_patterns *patterns, const uint32_t *order)
{
    for (size_t i = 0; i < patterns->n_states; i++) {
        uint32_t at = order[i];
        uint32_t *row = patterns->dense + ((size_t)at << patterns->shift);
        if (at != 0) {
            memcpy(row, patterns->dense + ((size_t)patterns->states[at].fail << patterns->shift),
                   sizeof *row << patterns->shift);
        }
        for (uint32_t child = patterns->states[at].child; child != NONE;
             child = patterns->states[child].sibling) {
            row[patterns->states[child].label] = child << 1 | ends_pattern(patterns, child);
        }
    }
}

static int32_t build_edges(struct text_patterns *patterns, struct sluice_error *err)
{
    patterns->edge_slots = text_hash_slots(patterns->n_states);
    patterns->edges = calloc(patterns->edge_slots, sizeof *patterns->edges);
    patterns->targets = calloc(patterns->edge_slots, sizeof *patterns->targets);
    if (patterns->edges == NULL || patterns->targets == NULL) {
        return text_error_nomem(err, patterns->edge_slots * 12);
    }
    for (uint32_t at = 0; at < patterns->n_states; at++) {
        for (uint32_t child = patterns->states[at].child; child != NONE;
             child = patterns->states[child].sibling) {
            uint64_t key = edge_key(at, patterns->states[child].label);
            size_t i = edge_slot(patterns, key);
            while (patterns->edges[i] != 0) {
                i = (i + 1) & (patterns->edge_slots - 1);
            }
            patterns->edges[i] = key;
            patterns->targets[i] = child;
        }
    }
    return SLUICE_OK;
}

static int32_t finish(struct text_patterns *patterns, size_t dense_limit, struct sluice_error *err)
{
    uint32_t *order = malloc(patterns->n_states * sizeof *order);
    if (order == NULL) {
        return text_error_nomem(err, patterns->n_states * sizeof *order);
    }
    int32_t status = build_edges(patterns, err);
    if (status == SLUICE_OK) {
        link_states(patterns, order);
        while ((1u << patterns->shift) < patterns->n_classes) {
            patterns->shift++;
        }
        patterns->dense_entries = patterns->n_states << patterns->shift;
        if (patterns->dense_entries <= dense_limit / sizeof *patterns->dense) {
            patterns->dense = calloc(patterns->dense_entries, sizeof *patterns->dense);
            if (patterns->dense == NULL) {
                status = text_error_nomem(err, patterns->dense_entries * sizeof(uint32_t));
            } else {
                fill_dense(patterns, order);
                free(patterns->edges);
                free(patterns->targets);
                patterns->edges = NULL;
                patterns->targets = NULL;
                patterns->edge_slots = 0;
            }
        } else {
            patterns->dense_entries = 0;
        }
    }
    free(order);
    for (uint32_t c = 0; c < 256; c++) {
        uint32_t child = patterns->states[0].child;
        while (child != NONE && patterns->states[child].label != patterns->classes[c]) {
            child = patterns->states[child].sibling;
        }
        patterns->leaves_root[c] = child != NONE;
    }
    return status;
}

int32_t text_patterns_build(const struct text_string *words, size_t n, uint32_t flags,
                            size_t dense_limit, struct text_patterns **out,
                            struct sluice_error *err)
{
    size_t total = 0;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        if (words[i].len == 0 || words[i].len >= INT32_MAX - total || n >= INT32_MAX) {
            return text_error(err, SLUICE_E_CONFIG,
                              words[i].len == 0 ? "pattern %zu is empty, expected at least one byte"
                                                : "found over 2 GiB of patterns at number %zu",
                              i + 1);
        }
        total += words[i].len;
    }
    struct text_patterns *patterns = calloc(1, sizeof *patterns);
    if (patterns == NULL) {
        return text_error_nomem(err, sizeof *patterns);
    }
    patterns->flags = flags;
    classify(patterns, words, n);
    int32_t status =
        state_add(patterns, 0, 0) == NONE ? text_error_nomem(err, sizeof(struct state)) : SLUICE_OK;
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        status = insert(patterns, &words[i], (uint32_t)i, err);
    }
    if (status == SLUICE_OK) {
        status = finish(patterns, dense_limit == 0 ? TEXT_PATTERNS_DENSE : dense_limit, err);
    }
    if (status != SLUICE_OK) {
        text_patterns_destroy(patterns);
        return status;
    }
    *out = patterns;
    return SLUICE_OK;
}

void text_patterns_destroy(struct text_patterns *patterns)
{
    if (patterns != NULL) {
        free(patterns->states);
        free(patterns->dense);
        free(patterns->edges);
        free(patterns->targets);
        free(patterns);
    }
}

size_t text_patterns_memory(const struct text_patterns *patterns)
{
    return sizeof *patterns + patterns->capacity * sizeof(struct state) +
           patterns->dense_entries * sizeof(uint32_t) +
           patterns->edge_slots * (sizeof(uint64_t) + sizeof(uint32_t));
}

size_t text_patterns_states(const struct text_patterns *patterns)
{
    return patterns->n_states;
}

/* ---- running ---- */

/* From a state with a byte: the next state, shifted, and whether a pattern ends there. */
static inline uint32_t step(const struct text_patterns *patterns, uint32_t state, unsigned char c)
{
    uint32_t label = patterns->classes[c];
    if (patterns->dense != NULL) {
        return patterns->dense[((size_t)state << patterns->shift) + label];
    }
    uint32_t next;
    while ((next = edge_find(patterns, state, label)) == NONE && state != 0) {
        state = patterns->states[state].fail;
    }
    return next == NONE ? 0 : next << 1 | ends_pattern(patterns, next);
}

/* Runs on from *at until a pattern ends (true; *at is behind it) or the text does. */
static bool run(const struct text_patterns *patterns, const unsigned char *text, size_t len,
                size_t *at, uint32_t *state)
{
    uint32_t entry = *state << 1;
    size_t i = *at;
    while (i < len) {
        if (entry == 0) {
            while (i < len && !patterns->leaves_root[text[i]]) {
                i++;
            }
            if (i == len) {
                break;
            }
        }
        entry = step(patterns, entry >> 1, text[i++]);
        if ((entry & 1) != 0) {
            break;
        }
    }
    *at = i;
    *state = entry >> 1;
    return (entry & 1) != 0;
}

bool text_patterns_any(const struct text_patterns *patterns, const char *text, size_t len,
                       size_t *end)
{
    size_t at = 0;
    uint32_t state = 0;
    bool found = run(patterns, (const unsigned char *)text, len, &at, &state);
    if (found && end != NULL) {
        *end = at;
    }
    return found;
}

void text_patterns_scan(struct text_patterns_scan *scan, const struct text_patterns *patterns,
                        const char *text, size_t len)
{
    *scan = (struct text_patterns_scan){ patterns, text, len, 0, 0, NONE };
}

bool text_patterns_next(struct text_patterns_scan *scan, struct text_pattern_match *match)
{
    const struct state *states = scan->patterns->states;
    if (scan->pending == NONE) {
        if (!run(scan->patterns, (const unsigned char *)scan->text, scan->len, &scan->at,
                 &scan->state)) {
            return false;
        }
        scan->pending =
            states[scan->state].pattern != NONE ? scan->state : states[scan->state].link;
    }
    match->end = scan->at;
    match->begin = scan->at - states[scan->pending].depth;
    match->pattern = states[scan->pending].pattern;
    scan->pending = states[scan->pending].link;
    return true;
}

bool text_patterns_leftmost(const struct text_patterns *patterns, const char *text, size_t len,
                            size_t from, struct text_pattern_match *match)
{
    const struct state *states = patterns->states;
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = from;
    uint32_t state = 0;
    bool found = false;

    while (at < len) {
        uint32_t entry;
        if (state == 0 && !found) {
            while (at < len && !patterns->leaves_root[bytes[at]]) {
                at++;
            }
            if (at == len) {
                break;
            }
        }
        entry = step(patterns, state, bytes[at++]);
        state = entry >> 1;
        /* What is still under way begins behind the best match: nothing better can come. */
        if (found && at - states[state].depth > match->begin) {
            break;
        }
        if ((entry & 1) == 0) {
            continue;
        }
        for (uint32_t s = states[state].pattern != NONE ? state : states[state].link; s != NONE;
             s = states[s].link) {
            size_t begin = at - states[s].depth;
            if (!found || begin < match->begin ||
                (begin == match->begin && ((patterns->flags & TEXT_PATTERNS_LONGEST) != 0
                                               ? at > match->end
                                               : states[s].pattern < match->pattern))) {
                *match = (struct text_pattern_match){ begin, at, states[s].pattern };
                found = true;
            }
        }
    }
    return found;
}
