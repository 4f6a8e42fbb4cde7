/* Of which sources a node's rows are made: what comes in at port 0, and all inputs of a union. What
 * comes in at port 1 (a list of drops, a table) decides over rows and is none of them. */
#include "plan/graph.h"

bool graph_feeds(const struct graph *graph, uint32_t from, uint32_t to)
{
    const struct node *node = graph->nodes[to];
    uint32_t n = node->kind == NODE_UNION || node->n_inputs == 0 ? node->n_inputs : 1;

    if (from == to) {
        return true;
    }
    /* Inputs have lower ids than what they feed. */
    for (uint32_t k = 0; from < to && k < n; k++) {
        if (graph_feeds(graph, from, node->inputs[k])) {
            return true;
        }
    }
    return false;
}
