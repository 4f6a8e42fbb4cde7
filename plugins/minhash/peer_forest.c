/* Union by size in the order of edges; see peer_forest.h. */
#include "peer_forest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    uint64_t position;
    uint32_t parent; /* a root is its own */
    uint32_t size;   /* of a root's tree */
};

struct peer_forest {
    uint64_t memory;
    struct node *nodes;
    uint32_t n, room;
    uint32_t *slots; /* node + 1, or 0 */
    size_t n_slots;
};

static int32_t peer_fail(const struct peer_forest *forest, struct sluice_error *err)
{
    if (err != NULL) {
        err->code = SLUICE_E_NOMEM;
        err->row = -1;
        snprintf(err->field, sizeof err->field, "keep");
        snprintf(err->message, sizeof err->message,
                 "keep = \"peer\" holds all documents that have duplicates in memory, and %u fill "
                 "%llu bytes; give more --memory or fewer --workers, or keep = \"first\"",
                 forest->n, (unsigned long long)forest->memory);
    }
    return SLUICE_E_NOMEM;
}

int32_t peer_forest_create(uint64_t memory, struct peer_forest **out, struct sluice_error *err)
{
    struct peer_forest *forest = calloc(1, sizeof *forest);

    *out = forest;
    if (forest == NULL) {
        if (err != NULL) {
            err->code = SLUICE_E_NOMEM;
            err->row = -1;
            err->field[0] = '\0';
            snprintf(err->message, sizeof err->message, "out of memory for connected components");
        }
        return SLUICE_E_NOMEM;
    }
    forest->memory = memory;
    return SLUICE_OK;
}

void peer_forest_destroy(struct peer_forest *forest)
{
    if (forest != NULL) {
        free(forest->nodes);
        free(forest->slots);
        free(forest);
    }
}

static uint32_t *slot_of(const struct peer_forest *forest, uint64_t position)
{
    uint64_t hash = (position ^ (position >> 32)) * 0x9e3779b97f4a7c15u;
    size_t mask = forest->n_slots - 1;
    size_t at = (size_t)(hash ^ (hash >> 29)) & mask;

    while (forest->slots[at] != 0 && forest->nodes[forest->slots[at] - 1].position != position) {
        at = (at + 1) & mask;
    }
    return &forest->slots[at];
}

static int32_t grow(struct peer_forest *forest, struct sluice_error *err)
{
    uint32_t room = forest->room == 0 ? 1024 : 2 * forest->room;
    struct node *nodes;

    if (forest->room > UINT32_MAX / 4 ||
        (uint64_t)room * PEER_FOREST_NODE_BYTES / 2 > forest->memory) {
        return peer_fail(forest, err);
    }
    nodes = realloc(forest->nodes, room * sizeof *nodes);
    if (nodes == NULL) {
        return peer_fail(forest, err);
    }
    forest->nodes = nodes;
    forest->room = room;
    free(forest->slots);
    forest->n_slots = 2 * (size_t)room;
    forest->slots = calloc(forest->n_slots, sizeof *forest->slots);
    if (forest->slots == NULL) {
        return peer_fail(forest, err);
    }
    for (uint32_t i = 0; i < forest->n; i++) {
        *slot_of(forest, forest->nodes[i].position) = i + 1;
    }
    return SLUICE_OK;
}

static int32_t node_get(struct peer_forest *forest, uint64_t position, uint32_t *node,
                        struct sluice_error *err)
{
    uint32_t *slot;

    if (forest->n == forest->room) {
        int32_t status = grow(forest, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    slot = slot_of(forest, position);
    if (*slot == 0) {
        forest->nodes[forest->n] = (struct node){ position, forest->n, 1 };
        *slot = ++forest->n;
    }
    *node = *slot - 1;
    return SLUICE_OK;
}

static uint32_t root_of(struct peer_forest *forest, uint32_t node)
{
    while (forest->nodes[node].parent != node) {
        uint32_t up = forest->nodes[forest->nodes[node].parent].parent;
        forest->nodes[node].parent = up;
        node = up;
    }
    return node;
}

int32_t peer_forest_add(struct peer_forest *forest, uint64_t one, uint64_t other,
                        struct sluice_error *err)
{
    uint32_t a;
    uint32_t b;
    int32_t status = node_get(forest, one, &a, err);

    if (status == SLUICE_OK) {
        status = node_get(forest, other, &b, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    a = root_of(forest, a);
    b = root_of(forest, b);
    if (a != b) {
        if (forest->nodes[a].size < forest->nodes[b].size) {
            uint32_t swap = a;
            a = b;
            b = swap;
        }
        forest->nodes[b].parent = a;
        forest->nodes[a].size += forest->nodes[b].size;
    }
    return SLUICE_OK;
}

int32_t peer_forest_finish(struct peer_forest *forest, forest_result *result, void *user,
                           struct sluice_error *err)
{
    int32_t status = SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < forest->n; i++) {
        uint32_t root = root_of(forest, i);
        if (root != i) {
            status = result(user, forest->nodes[i].position, forest->nodes[root].position, err);
        }
    }
    return status;
}

/* ---- saved states: (position, number of the root) of every node, in their order ---- */

int32_t peer_forest_save(struct peer_forest *forest, struct sluice_io *io)
{
    uint64_t n = forest->n;
    int32_t status = io->write(io, &n, sizeof n);

    for (uint32_t i = 0; status == SLUICE_OK && i < forest->n; i++) {
        uint64_t node[2] = { forest->nodes[i].position, root_of(forest, i) };
        status = io->write(io, node, sizeof node);
    }
    return status;
}

/* Joins the nodes to their roots, once all are there. */
static int32_t join_roots(struct peer_forest *forest)
{
    for (uint32_t i = 0; i < forest->n; i++) {
        uint32_t root = forest->nodes[i].parent;
        if (root >= forest->n || forest->nodes[root].parent != root) {
            return SLUICE_E_DATA;
        }
        forest->nodes[root].size += root != i;
    }
    return SLUICE_OK;
}

int32_t peer_forest_load(struct peer_forest *forest, struct sluice_io *io, struct sluice_error *err)
{
    uint64_t n = 0;
    int32_t status = io->read(io, &n, sizeof n);

    for (uint64_t i = 0; status == SLUICE_OK && i < n; i++) {
        uint64_t node[2] = { 0, 0 };
        uint32_t made = 0;
        status = io->read(io, node, sizeof node);
        if (status == SLUICE_OK) {
            status = node_get(forest, node[0], &made, err);
        }
        if (status == SLUICE_OK && (made != i || node[1] >= n)) {
            status = SLUICE_E_DATA;
        }
        if (status == SLUICE_OK) {
            forest->nodes[made].parent = (uint32_t)node[1];
        }
    }
    return status == SLUICE_OK ? join_roots(forest) : status;
}
