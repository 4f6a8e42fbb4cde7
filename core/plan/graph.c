/* The pipeline as its script describes it: see graph.h. */
#include "plan/graph.h"

#include <stdlib.h>
#include <string.h>

struct graph *graph_create(void)
{
    struct graph *graph = calloc(1, sizeof *graph);

    if (graph != NULL) {
        graph->max_bad_share = 0.001;
        graph->max_bad_count = -1;
    }
    return graph;
}

void graph_destroy(struct graph *graph)
{
    if (graph != NULL) {
        arena_deinit(&graph->arena);
        free(graph);
    }
}

/* The options that a script gave are values, which own their memory. */
static void forget_options(void *what)
{
    struct node *node = what;

    value_deinit(&node->named);
    value_deinit(&node->positional);
}

struct option_args node_args(const struct node *node)
{
    struct option_args args = { .named = node->named.kind == VALUE_NIL ? NULL : &node->named,
                                .positional =
                                    node->positional.kind == VALUE_NIL ? NULL : &node->positional,
                                .text = node->text };
    return args;
}

struct node *graph_find(const struct graph *graph, const char *name)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if (strcmp(graph->nodes[i]->name, name) == 0) {
            return graph->nodes[i];
        }
    }
    return NULL;
}

/* The name itself, or the first of name_2, name_3 ... that no node has. */
static char *name_free(struct graph *graph, const char *base)
{
    const size_t length = strlen(base);
    bool *taken = calloc((size_t)graph->n_nodes + 3, sizeof *taken); /* one of these is free */
    uint32_t k = 1;

    if (taken == NULL) {
        graph->arena.failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const char *name = graph->nodes[i]->name;
        if (strncmp(name, base, length) == 0) {
            const char *rest = name + length;
            unsigned long number = rest[0] == '\0' ? 1 : 0;
            if (rest[0] == '_' && rest[1] >= '1' && rest[1] <= '9') {
                char *end;
                number = strtoul(rest + 1, &end, 10);
                number = *end == '\0' && number > 1 ? number : 0;
            }
            taken[number < (unsigned long)graph->n_nodes + 3 ? number : 0] = true;
        }
    }
    while (taken[k]) {
        k++;
    }
    free(taken);
    return k == 1 ? arena_copy(&graph->arena, base, length)
                  : arena_printf(&graph->arena, "%s_%u", base, k);
}

sluice_status graph_add(struct graph *graph, enum node_kind kind, const char *base_name,
                        const char *where, struct node **out, struct sluice_error *err)
{
    struct node **nodes = arena_more(&graph->arena, graph->nodes, graph->n_nodes, &graph->node_room,
                                     sizeof *graph->nodes);
    struct node *node = ARENA_NEW(&graph->arena, struct node);

    if (node != NULL) {
        node->id = graph->n_nodes;
        node->kind = kind;
        node->where = arena_copy(&graph->arena, where, strlen(where));
        node->name = name_free(graph, base_name);
        arena_defer(&graph->arena, forget_options, node);
    }
    TRY(arena_status(&graph->arena, err, "the pipeline's graph"));
    nodes[graph->n_nodes++] = node;
    graph->nodes = nodes;
    *out = node;
    return SLUICE_OK;
}

static uint32_t inputs_allowed(const struct node *node)
{
    switch (node->kind) {
    case NODE_FILES:
    case NODE_DATASET:
        return 0;
    case NODE_DROPPED:
    case NODE_CHECKPOINT:
        return 1;
    case NODE_UNION:
        return (uint32_t)(sizeof node->inputs / sizeof node->inputs[0]);
    case NODE_STAGE:
        break;
    }
    return (node->entry->stage.flags & SLUICE_STAGE_SIDE_INPUT) != 0 ? 2 : 1;
}

sluice_status graph_connect(struct graph *graph, struct node *node, uint32_t input,
                            struct sluice_error *err)
{
    uint32_t allowed = inputs_allowed(node);

    if (input >= node->id) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: stage '%s' would read its own output; a pipeline has no cycles",
                         node->where, node->name);
    }
    if (node->n_inputs >= allowed) {
        return error_set(err, SLUICE_E_CONFIG, "%s: '%s' takes %u input%s, found one more ('%s')",
                         node->where, node->name, allowed, allowed == 1 ? "" : "s",
                         graph->nodes[input]->name);
    }
    node->inputs[node->n_inputs++] = input;
    return SLUICE_OK;
}

sluice_status graph_rename(struct graph *graph, uint32_t id, const char *name,
                           struct sluice_error *err)
{
    struct node *node = graph->nodes[id];
    const struct node *other = graph_find(graph, name);

    if (name[0] == '\0' ||
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") !=
            strlen(name)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: found the name '%s', expected letters, digits and _ . -", node->where,
                         name);
    }
    if (other != NULL && other != node) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: the name '%s' is taken by the stage at %s; give another", node->where,
                         name, other->where);
    }
    node->name = arena_copy(&graph->arena, name, strlen(name));
    node->has_name = true;
    return arena_status(&graph->arena, err, "the pipeline's graph");
}

sluice_status graph_sink(struct graph *graph, uint32_t id, struct sluice_error *err)
{
    uint32_t *sinks;

    for (uint32_t i = 0; i < graph->n_sinks; i++) {
        if (graph->sinks[i] == id) {
            return error_set(err, SLUICE_E_CONFIG, "%s: '%s' is returned twice",
                             graph->nodes[id]->where, graph->nodes[id]->name);
        }
    }
    sinks = arena_more(&graph->arena, graph->sinks, graph->n_sinks, &graph->sink_room,
                       sizeof *graph->sinks);
    TRY(arena_status(&graph->arena, err, "the pipeline's graph"));
    sinks[graph->n_sinks++] = id;
    graph->sinks = sinks;
    return SLUICE_OK;
}

/* Uses by nodes of one group are one use: to who wrote the script, a composite is one stage.
 * Where groups no longer fit, n is far above one already. */
bool graph_is_fork(const struct graph *graph, uint32_t id)
{
    uint32_t n = 0;
    uint32_t groups[64];
    uint32_t n_groups = 0;

    if (graph->nodes[id]->fork != FORK_OPEN) {
        return graph->nodes[id]->fork == FORK_YES;
    }
    for (uint32_t i = id + 1; i < graph->n_nodes; i++) {
        const struct node *node = graph->nodes[i];
        bool uses = false;
        bool known = false;
        if (node->kind == NODE_DROPPED) {
            continue;
        }
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            uses = uses || node->inputs[k] == id;
        }
        if (!uses) {
            continue;
        }
        for (uint32_t g = 0; node->group > 0 && g < n_groups; g++) {
            known = known || groups[g] == node->group;
        }
        if (!known) {
            n++;
            if (node->group > 0 && n_groups < 64) {
                groups[n_groups++] = node->group;
            }
        }
    }
    return n > 1;
}

/* The node behind the gates that end in id. */
static uint32_t without_gates(const struct graph *graph, uint32_t id)
{
    while (graph->nodes[id]->kind == NODE_STAGE &&
           graph->nodes[id]->entry->stage.role == SLUICE_ROLE_GATE &&
           graph->nodes[id]->n_inputs > 0) {
        id = graph->nodes[id]->inputs[0];
    }
    return id;
}

uint32_t graph_made_by(const struct graph *graph, uint32_t id)
{
    while (graph->nodes[id]->kind == NODE_CHECKPOINT) {
        id = graph->nodes[id]->inputs[0];
    }
    return id;
}

sluice_status graph_restrict(struct graph *graph, uint32_t *id, struct sluice_error *err)
{
    uint32_t *places = calloc(graph->n_nodes + 1u, sizeof *places); /* new id + 1; 0 = not used */
    uint32_t n = 0;

    if (places == NULL) {
        return error_nomem(err, "the pipeline's graph");
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        graph->nodes[i]->fork = graph_is_fork(graph, i) ? FORK_YES : FORK_NO;
    }
    *id = without_gates(graph, *id);
    places[*id] = 1;
    for (uint32_t i = *id + 1; i-- > 0;) {
        struct node *node = graph->nodes[i];
        for (uint32_t k = 0; places[i] != 0 && k < node->n_inputs; k++) {
            node->inputs[k] = without_gates(graph, node->inputs[k]);
            places[node->inputs[k]] = 1;
        }
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct node *node = graph->nodes[i];
        if (places[i] == 0) {
            continue;
        }
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            node->inputs[k] = places[node->inputs[k]] - 1;
        }
        node->id = n;
        graph->nodes[n] = node;
        places[i] = ++n;
    }
    *id = places[*id] - 1;
    graph->n_nodes = n;
    graph->n_sinks = 0;
    free(places);
    return SLUICE_OK;
}

static bool is_role(const struct node *node, uint32_t role)
{
    return node->kind == NODE_STAGE && node->entry->stage.role == role;
}

static sluice_status validate_node(const struct graph *graph, const struct node *node,
                                   struct sluice_error *err)
{
    bool reader = is_role(node, SLUICE_ROLE_READER);
    uint32_t least = node->kind == NODE_FILES || node->kind == NODE_DATASET ? 0
                     : node->kind == NODE_STAGE                             ? inputs_allowed(node)
                                                                            : 1;

    if (node->n_inputs < least) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: '%s' has %u of %u inputs; put a stream before it with |", node->where,
                         node->name, node->n_inputs, least);
    }
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const struct node *input = graph->nodes[node->inputs[k]];
        bool files = input->kind == NODE_FILES || input->kind == NODE_DATASET;
        if (files && !reader) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s: '%s' reads rows, but gets files; put a reader between them: "
                             "s.files(...) | s.read_jsonl {}",
                             node->where, node->name);
        }
        if (!files && reader) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s: the reader '%s' reads files, but gets the rows of '%s'",
                             node->where, node->name, input->name);
        }
        if (is_role(input, SLUICE_ROLE_WRITER)) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s: '%s' stands behind the writer '%s', which passes no rows on",
                             node->where, node->name, input->name);
        }
        if (node->kind == NODE_DROPPED && (files || is_role(input, SLUICE_ROLE_READER))) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s: nothing is dropped before '%s'; take .dropped behind a filter "
                             "(unreadable records are in the quarantine)",
                             node->where, input->name);
        }
    }
    return SLUICE_OK;
}

sluice_status graph_validate(const struct graph *graph, struct sluice_error *err)
{
    bool *used;

    if (graph->n_sinks == 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the pipeline returns no writer: end it with s.write_jsonl { \"out\" } or "
                         "another writer");
    }
    for (uint32_t i = 0; i < graph->n_sinks; i++) {
        const struct node *node = graph->nodes[graph->sinks[i]];
        if (!is_role(node, SLUICE_ROLE_WRITER) && !is_role(node, SLUICE_ROLE_GATE)) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s: the pipeline returns '%s', whose rows go nowhere; end it with a "
                             "writer, such as s.write_jsonl { \"out\" }",
                             node->where, node->name);
        }
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        TRY(validate_node(graph, graph->nodes[i], err));
    }
    used = calloc(graph->n_nodes, sizeof *used);
    if (used == NULL) {
        return error_nomem(err, "the pipeline's graph");
    }
    for (uint32_t i = 0; i < graph->n_sinks; i++) {
        used[graph->sinks[i]] = true;
    }
    /* A node's inputs were made before it, so one pass from the last to the first sees users
     * first. */
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        if (!used[i]) {
            sluice_status status = error_set(err, SLUICE_E_CONFIG,
                                             "%s: the rows of '%s' are not used; pipe them on or "
                                             "return their writer from s.pipeline",
                                             node->where, node->name);
            free(used);
            return status;
        }
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            used[node->inputs[k]] = true;
        }
    }
    free(used);
    return graph_check_classes(graph, err);
}
