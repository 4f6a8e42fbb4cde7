/* Connected components of duplicate edges; see forest.h.
 *
 * Nodes live in blocks that never move (no copy when they grow) and are found through an
 * open-addressing table of their numbers. */
#include "forest.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forest_state.h"

#define BLOCK_BITS 10u
#define BLOCK_NODES (1u << BLOCK_BITS)
#define SLOTS_FIRST 1024u

struct block {
    uint64_t position[BLOCK_NODES];
    uint32_t parent[BLOCK_NODES]; /* a root is its own parent; a parent's position is smaller than
                                     its child's */
};

struct forest {
    uint64_t memory;
    const char *scratch_dir;
    uint32_t nodes_most;
    uint32_t nodes;
    struct block **blocks;
    size_t n_blocks;
    size_t blocks_room;
    uint32_t *slots; /* node + 1, or 0; a power of two of them */
    size_t n_slots;
    struct forest_sort *sort; /* edges that were spilled, in both directions */
    bool finished;
    struct forest_stats stats;
};

__attribute__((format(printf, 3, 4))) static int32_t
forest_fail(struct sluice_error *err, int32_t code, const char *format, ...)
{
    if (err != NULL) {
        err->code = code;
        err->row = -1;
        err->field[0] = '\0';
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return code;
}

int32_t forest_create(const struct forest_options *options, struct forest **out,
                      struct sluice_error *err)
{
    *out = NULL;
    if (options->memory < FOREST_MEMORY_LEAST) {
        return forest_fail(err, SLUICE_E_CONFIG,
                           "memory for connected components is %llu bytes, expected at least %llu",
                           (unsigned long long)options->memory,
                           (unsigned long long)FOREST_MEMORY_LEAST);
    }
    struct forest *forest = calloc(1, sizeof(*forest));
    if (forest == NULL) {
        return forest_fail(err, SLUICE_E_NOMEM, "out of memory for connected components");
    }
    forest->memory = options->memory;
    forest->scratch_dir = options->scratch_dir;
    /* With a scratch folder a quarter is kept for sorting what is spilled. */
    uint64_t share = options->scratch_dir != NULL ? options->memory / 4 * 3 : options->memory;
    uint64_t most = share / FOREST_NODE_BYTES;
    forest->nodes_most = most < UINT32_MAX - 1 ? (uint32_t)most : UINT32_MAX - 1;
    *out = forest;
    return SLUICE_OK;
}

static void nodes_free(struct forest *forest)
{
    for (size_t i = 0; i < forest->n_blocks; i++) {
        free(forest->blocks[i]);
    }
    free(forest->blocks);
    free(forest->slots);
    forest->blocks = NULL;
    forest->slots = NULL;
    forest->n_blocks = 0;
    forest->blocks_room = 0;
    forest->n_slots = 0;
    forest->nodes = 0;
}

void forest_destroy(struct forest *forest)
{
    if (forest != NULL) {
        nodes_free(forest);
        forest_sort_destroy(forest->sort);
        free(forest);
    }
}

static uint64_t *node_position(const struct forest *forest, uint32_t node)
{
    return &forest->blocks[node >> BLOCK_BITS]->position[node % BLOCK_NODES];
}

static uint32_t *node_parent(const struct forest *forest, uint32_t node)
{
    return &forest->blocks[node >> BLOCK_BITS]->parent[node % BLOCK_NODES];
}

static uint32_t node_root(const struct forest *forest, uint32_t node)
{
    for (;;) {
        uint32_t *parent = node_parent(forest, node);
        uint32_t grandparent = *node_parent(forest, *parent);
        if (grandparent == *parent) {
            return *parent;
        }
        *parent = grandparent;
        node = grandparent;
    }
}

/* The slot that holds position, or the empty one where it belongs. */
static uint32_t *slot_of(const struct forest *forest, uint64_t position)
{
    uint64_t hash = (position ^ (position >> 32)) * 0x9e3779b97f4a7c15u;
    size_t mask = forest->n_slots - 1;
    size_t at = (size_t)(hash ^ (hash >> 29)) & mask;
    while (forest->slots[at] != 0 && *node_position(forest, forest->slots[at] - 1) != position) {
        at = (at + 1) & mask;
    }
    return &forest->slots[at];
}

/* The old table goes before the new one comes: the nodes are in the blocks. */
static int32_t slots_grow(struct forest *forest, struct sluice_error *err)
{
    size_t n = forest->n_slots == 0 ? SLOTS_FIRST : 2 * forest->n_slots;
    free(forest->slots);
    forest->slots = calloc(n, sizeof(*forest->slots));
    if (forest->slots == NULL) {
        forest->n_slots = 0;
        return forest_fail(err, SLUICE_E_NOMEM,
                           "out of memory for a table of %zu documents with duplicates", n);
    }
    forest->n_slots = n;
    for (uint32_t i = 0; i < forest->nodes; i++) {
        *slot_of(forest, *node_position(forest, i)) = i + 1;
    }
    return SLUICE_OK;
}

static int32_t block_add(struct forest *forest, struct sluice_error *err)
{
    if (forest->n_blocks == forest->blocks_room) {
        size_t room = forest->blocks_room == 0 ? 16 : 2 * forest->blocks_room;
        struct block **blocks = realloc(forest->blocks, room * sizeof(*blocks));
        if (blocks == NULL) {
            return forest_fail(err, SLUICE_E_NOMEM, "out of memory for %zu blocks of documents",
                               room);
        }
        forest->blocks = blocks;
        forest->blocks_room = room;
    }
    struct block *block = malloc(sizeof(*block));
    if (block == NULL) {
        return forest_fail(err, SLUICE_E_NOMEM, "out of memory after %u documents with duplicates",
                           forest->nodes);
    }
    forest->blocks[forest->n_blocks++] = block;
    return SLUICE_OK;
}

/* The node of a position, made if need be. *full = true if the limit forbids that. */
static int32_t node_get(struct forest *forest, uint64_t position, uint32_t *node, bool *full,
                        struct sluice_error *err)
{
    *full = false;
    if (4 * (uint64_t)(forest->nodes + 1u) > 3 * (uint64_t)forest->n_slots) {
        int32_t status = slots_grow(forest, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    uint32_t *slot = slot_of(forest, position);
    if (*slot != 0) {
        *node = *slot - 1;
        return SLUICE_OK;
    }
    if (forest->nodes == forest->nodes_most) {
        *full = true;
        return SLUICE_OK;
    }
    if (forest->nodes >> BLOCK_BITS == forest->n_blocks) {
        int32_t status = block_add(forest, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    *node = forest->nodes++;
    *node_position(forest, *node) = position;
    *node_parent(forest, *node) = *node;
    *slot = *node + 1;
    return SLUICE_OK;
}

/* An edge in both directions: what the star passes read. */
static int32_t edge_push(struct forest_sort *sort, uint64_t one, uint64_t other,
                         struct sluice_error *err)
{
    int32_t status = forest_sort_push(sort, one, other, err);
    return status == SLUICE_OK ? forest_sort_push(sort, other, one, err) : status;
}

/* Writes every node as an edge to its root and forgets all nodes. */
static int32_t nodes_spill(struct forest *forest, struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    if (forest->sort == NULL) {
        uint64_t share = forest->memory / 4;
        status = forest_sort_create(share, forest->scratch_dir, &forest->sort, err);
    }
    for (uint32_t i = 0; i < forest->nodes && status == SLUICE_OK; i++) {
        uint32_t root = node_root(forest, i);
        if (root != i) {
            status = edge_push(forest->sort, *node_position(forest, i),
                               *node_position(forest, root), err);
            forest->stats.spilled++;
        }
    }
    forest->nodes = 0;
    if (forest->n_slots > 0) {
        memset(forest->slots, 0, forest->n_slots * sizeof(*forest->slots));
    }
    return status;
}

int32_t forest_add(struct forest *forest, uint64_t one, uint64_t other, struct sluice_error *err)
{
    assert(!forest->finished);
    forest->stats.edges++;
    if (one == other) {
        return SLUICE_OK;
    }
    uint32_t node[2] = { 0, 0 };
    bool full = false;
    int32_t status = node_get(forest, one, &node[0], &full, err);
    if (status == SLUICE_OK && !full) {
        status = node_get(forest, other, &node[1], &full, err);
    }
    if (status == SLUICE_OK && full) {
        if (forest->scratch_dir == NULL) {
            return forest_fail(err, SLUICE_E_NOMEM,
                               "more than %u documents have duplicates, which is all that %llu "
                               "bytes hold; give more "
                               "memory or a scratch folder",
                               forest->nodes_most, (unsigned long long)forest->memory);
        }
        status = nodes_spill(forest, err);
        if (status == SLUICE_OK) {
            status = node_get(forest, one, &node[0], &full, err);
        }
        if (status == SLUICE_OK) {
            status = node_get(forest, other, &node[1], &full, err);
        }
    }
    if (status != SLUICE_OK) {
        return status;
    }
    uint32_t root = node_root(forest, node[0]);
    uint32_t other_root = node_root(forest, node[1]);
    if (*node_position(forest, root) < *node_position(forest, other_root)) {
        *node_parent(forest, other_root) = root;
    } else {
        *node_parent(forest, root) = other_root;
    }
    return SLUICE_OK;
}

/* All in memory: pairs, sorted. The table is freed first, so that the pairs fit into the limit. */
static int32_t finish_memory(struct forest *forest, forest_result *result, void *user,
                             struct sluice_error *err)
{
    free(forest->slots);
    forest->slots = NULL;
    forest->n_slots = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < forest->nodes; i++) {
        n += *node_parent(forest, i) != i;
    }
    if (n == 0) {
        return SLUICE_OK;
    }
    struct forest_pair *pairs = malloc(n * sizeof(*pairs));
    if (pairs == NULL) {
        return forest_fail(err, SLUICE_E_NOMEM, "out of memory for a list of %zu duplicates", n);
    }
    n = 0;
    for (uint32_t i = 0; i < forest->nodes; i++) {
        uint32_t root = node_root(forest, i);
        if (root != i) {
            pairs[n++] =
                (struct forest_pair){ *node_position(forest, i), *node_position(forest, root) };
        }
    }
    forest_pairs_sort(pairs, n);
    int32_t status = SLUICE_OK;
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        status = result(user, pairs[i].first, pairs[i].second, err);
        forest->stats.duplicates++;
    }
    free(pairs);
    return status;
}

/* Large star: each node u ties its larger neighbours to the smallest of its neighbours and itself.
 * Reads edges in both directions, writes (larger, smaller). *stars tells whether the input was
 * final: every node has larger neighbours only, or one smaller and no other. */
static int32_t star_large(struct forest_sort *from, struct forest_sort *to, bool *stars,
                          struct sluice_error *err)
{
    struct forest_pair edge = { 0, 0 };
    uint64_t node = 0;
    uint64_t least = 0;
    uint64_t smaller = 0; /* neighbours of node so far */
    uint64_t larger = 0;
    bool begun = false;
    bool end = false;
    *stars = true;
    int32_t status = forest_sort_rewind(from, err);
    while (status == SLUICE_OK) {
        status = forest_sort_next(from, &edge, &end, err);
        if (status != SLUICE_OK || end) {
            break;
        }
        if (!begun || edge.first != node) {
            begun = true;
            node = edge.first;
            least =
                edge.second < node ? edge.second : node; /* neighbours come in ascending order */
            smaller = 0;
            larger = 0;
        }
        if (edge.second > node) {
            larger++;
            status = forest_sort_push(to, edge.second, least, err);
        } else {
            smaller++;
        }
        *stars = *stars && (smaller == 0 || (smaller == 1 && larger == 0));
    }
    return status;
}

/* Small star: each node ties itself and its smaller neighbours to the smallest of them. Reads
 * (larger, smaller), writes both directions. */
static int32_t star_small(struct forest_sort *from, struct forest_sort *to,
                          struct sluice_error *err)
{
    struct forest_pair edge = { 0, 0 };
    uint64_t node = 0;
    uint64_t least = 0;
    bool begun = false;
    bool end = false;
    int32_t status = forest_sort_rewind(from, err);
    while (status == SLUICE_OK) {
        status = forest_sort_next(from, &edge, &end, err);
        if (status != SLUICE_OK || end) {
            break;
        }
        if (!begun || edge.first != node) {
            begun = true;
            node = edge.first;
            least = edge.second;
            status = edge_push(to, node, least, err);
        } else if (edge.second != least) {
            status = edge_push(to, edge.second, least, err);
        }
    }
    return status;
}

/* Gives the edges from leaves to centres, which come sorted by leaf. */
static int32_t stars_give(struct forest *forest, forest_result *result, void *user,
                          struct sluice_error *err)
{
    struct forest_pair edge = { 0, 0 };
    bool end = false;
    int32_t status = forest_sort_rewind(forest->sort, err);
    while (status == SLUICE_OK) {
        status = forest_sort_next(forest->sort, &edge, &end, err);
        if (status != SLUICE_OK || end) {
            break;
        }
        if (edge.second < edge.first) {
            status = result(user, edge.first, edge.second, err);
            forest->stats.duplicates++;
        }
    }
    return status;
}

static int32_t finish_scratch(struct forest *forest, forest_result *result, void *user,
                              struct sluice_error *err)
{
    int32_t status = nodes_spill(forest, err);
    nodes_free(forest);
    uint64_t share = forest->memory / 2;
    for (bool stars = false; status == SLUICE_OK && !stars;) {
        struct forest_sort *down = NULL;
        status = forest_sort_create(share, forest->scratch_dir, &down, err);
        if (status == SLUICE_OK) {
            status = star_large(forest->sort, down, &stars, err);
            forest->stats.rounds++;
        }
        if (status == SLUICE_OK && !stars) {
            forest_sort_destroy(forest->sort);
            forest->sort = NULL;
            status = forest_sort_create(share, forest->scratch_dir, &forest->sort, err);
            if (status == SLUICE_OK) {
                status = star_small(down, forest->sort, err);
                forest->stats.rounds++;
            }
        }
        forest_sort_destroy(down);
    }
    return status == SLUICE_OK ? stars_give(forest, result, user, err) : status;
}

int32_t forest_finish(struct forest *forest, forest_result *result, void *user,
                      struct sluice_error *err)
{
    assert(!forest->finished);
    forest->finished = true;
    return forest->sort == NULL ? finish_memory(forest, result, user, err)
                                : finish_scratch(forest, result, user, err);
}

/* ---- saved states ---- */

/* What was spilled is there in both directions, of which one will do. */
static int32_t put_falling(void *out, struct forest_pair pair, struct sluice_error *err)
{
    return pair.first > pair.second ? forest_pairs_put(out, pair, err) : SLUICE_OK;
}

int32_t forest_save(const struct forest *forest, struct sluice_io *io, struct sluice_error *err)
{
    struct forest_pairs_out out = { .io = io };
    int32_t status = SLUICE_OK;
    for (uint32_t i = 0; i < forest->nodes && status == SLUICE_OK; i++) {
        uint32_t root = node_root(forest, i);
        if (root != i) {
            struct forest_pair edge = { *node_position(forest, i), *node_position(forest, root) };
            status = forest_pairs_put(&out, edge, err);
        }
    }
    if (status == SLUICE_OK) {
        status = forest_pairs_end(&out);
    }
    if (status == SLUICE_OK && forest->sort != NULL) {
        status = forest_sort_rest(forest->sort, put_falling, &out, err);
    }
    return status == SLUICE_OK ? forest_pairs_end(&out) : status;
}

static int32_t take_edge(void *forest, struct forest_pair edge, struct sluice_error *err)
{
    return forest_add(forest, edge.first, edge.second, err);
}

static int32_t take_spilled(void *user, struct forest_pair edge, struct sluice_error *err)
{
    struct forest *forest = user;
    int32_t status = SLUICE_OK;
    if (edge.first == edge.second || forest->scratch_dir == NULL) {
        return SLUICE_E_DATA;
    }
    if (forest->sort == NULL) {
        status = forest_sort_create(forest->memory / 4, forest->scratch_dir, &forest->sort, err);
    }
    return status == SLUICE_OK ? edge_push(forest->sort, edge.first, edge.second, err) : status;
}

int32_t forest_load(struct forest *forest, struct sluice_io *io, struct sluice_error *err)
{
    int32_t status = forest_pairs_get(io, take_edge, forest, err);
    return status == SLUICE_OK ? forest_pairs_get(io, take_spilled, forest, err) : status;
}

struct forest_stats forest_stats(const struct forest *forest)
{
    return forest->stats;
}
