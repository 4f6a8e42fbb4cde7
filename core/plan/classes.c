/* Classes of datasets, which a writer states: class = "silver". A bronze dataset is what came in:
 * it says where from, a contract stands before it, and it is written once (run/publish.c). Silver
 * and gold are made of snapshots, so that they can be made again; gold says for which tokenizer. */
#include <stdlib.h>
#include <string.h>

#include "plan/graph.h"

const char *graph_class_name(enum node_class class)
{
    static const char *const names[] = { NULL, "bronze", "silver", "gold" };

    return names[class];
}

/* A walk from a writer to what its rows come from. */
struct walk {
    const struct graph *graph;
    const struct node *writer;
    bool *seen;
    bool tokenized;
};

static bool is_stage(const struct node *node, const char *name)
{
    return node->kind == NODE_STAGE && strcmp(node->entry->stage.name, name) == 0;
}

static sluice_status check_source(const struct walk *walk, const struct node *node,
                                  struct sluice_error *err)
{
    const struct node *writer = walk->writer;

    if (writer->class == CLASS_BRONZE) {
        return error_field(err, SLUICE_E_CONFIG, "class",
                           "%s: '%s' is bronze, but rows of '%s' (%s) reach it without a contract; "
                           "put one before it: | s.contract { columns = { text = \"utf8\" } }",
                           writer->where, writer->name, node->name, node->where);
    }
    if (node->kind == NODE_FILES) {
        return error_field(err, SLUICE_E_CONFIG, "class",
                           "%s: '%s' is %s, but reads files ('%s', %s) that may change; name a "
                           "snapshot instead: s.dataset \"bronze/web@1\"",
                           writer->where, writer->name, graph_class_name(writer->class), node->name,
                           node->where);
    }
    return SLUICE_OK;
}

static sluice_status walk_up(struct walk *walk, uint32_t id, struct sluice_error *err)
{
    const struct node *node = walk->graph->nodes[id];

    if (walk->seen[id] ||
        (walk->writer->class == CLASS_BRONZE && is_stage(node, "contract_rows"))) {
        return SLUICE_OK;
    }
    walk->seen[id] = true;
    walk->tokenized = walk->tokenized || is_stage(node, "tokenize");
    if (node->kind == NODE_FILES || node->kind == NODE_DATASET) {
        return check_source(walk, node, err);
    }
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        TRY(walk_up(walk, node->inputs[k], err));
    }
    return SLUICE_OK;
}

static sluice_status check_writer(struct walk *walk, struct sluice_error *err)
{
    const struct node *writer = walk->writer;

    memset(walk->seen, 0, walk->graph->n_nodes * sizeof *walk->seen);
    walk->tokenized = false;
    TRY(walk_up(walk, writer->id, err));
    if (writer->class == CLASS_BRONZE && writer->class_note == NULL) {
        return error_field(err, SLUICE_E_CONFIG, "class",
                           "%s: '%s' is bronze, but does not say where its rows come from; write "
                           "class = { bronze = \"Common Crawl, CC-MAIN-2026-10\" }",
                           writer->where, writer->name);
    }
    if (writer->class == CLASS_BRONZE && writer->mode == MODE_APPEND) {
        return error_field(err, SLUICE_E_CONFIG, "mode",
                           "%s: '%s' is bronze, which is written once, so that nothing can be "
                           "appended to it; write what comes next to a dataset of its own, and "
                           "read both",
                           writer->where, writer->name);
    }
    if (writer->class == CLASS_GOLD && writer->class_note == NULL && !walk->tokenized) {
        return error_field(err, SLUICE_E_CONFIG, "class",
                           "%s: '%s' is gold, but does not say for which tokenizer: put s.tokenize "
                           "before it, or write class = { gold = \"o200k_base\" }",
                           writer->where, writer->name);
    }
    return SLUICE_OK;
}

sluice_status graph_check_classes(const struct graph *graph, struct sluice_error *err)
{
    struct walk walk = { .graph = graph, .seen = calloc(graph->n_nodes + 1u, sizeof(bool)) };
    sluice_status status = walk.seen == NULL ? error_nomem(err, "the pipeline's graph") : SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < graph->n_nodes; i++) {
        walk.writer = graph->nodes[i];
        if (walk.writer->class != CLASS_NONE) {
            status = check_writer(&walk, err);
        }
    }
    free(walk.seen);
    return status;
}
