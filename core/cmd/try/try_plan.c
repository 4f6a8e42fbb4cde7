/* The pipeline that a sample goes through: files | read_jsonl | stage, as the planner plans every
 * pipeline. The sample's own has no stage: all columns are read. See try.h. */
#include <string.h>

#include "cmd/cmd_isolate.h"
#include "cmd/try/try.h"

#define READER "try.sample"

static sluice_status add_stage(struct graph *graph, const struct registry_entry *entry,
                               const char *name, const char *where, struct node **out,
                               struct sluice_error *err)
{
    TRY(graph_add(graph, NODE_STAGE, name, where, out, err));
    (*out)->entry = entry;
    return graph_connect(graph, *out, (*out)->id - 1, err);
}

static sluice_status make_graph(const struct sample *sample, const struct session *session,
                                const struct trial *trial, struct graph *graph,
                                struct sluice_error *err)
{
    const struct registry_entry *entry;
    struct value columns;
    struct value missing;
    struct node *node;

    TRY(graph_add(graph, NODE_FILES, "try.files", sample->path, &node, err));
    node->patterns = (char **)(uintptr_t)&sample->path;
    node->n_patterns = 1;
    TRY(registry_find(session->registry, "read_jsonl", &entry, err));
    TRY(add_stage(graph, entry, READER, "", &node, err));
    value_map_init(&node->named);
    if (!value_copy(&columns, &sample->columns) ||
        !value_map_set(&node->named, "columns", columns) || !value_string(&missing, "allow", 5) ||
        !value_map_set(&node->named, "missing", missing)) {
        return error_nomem(err, "the sample");
    }
    if (trial != NULL) {
        TRY(add_stage(graph, trial->entry, trial->name, trial->where, &node, err));
        node->isolation = trial->isolation;
        node->text = true;
        if (!value_copy(&node->named, &trial->given)) {
            return error_nomem(err, "options");
        }
    }
    graph->max_bad_share = -1; /* what fails is shown */
    graph->seed = session->graph == NULL ? graph->seed : session->graph->seed;
    return SLUICE_OK;
}

sluice_status try_plan_open(const struct sample *sample, struct session *session,
                            const struct trial *trial, struct try_plan *out,
                            struct sluice_error *err)
{
    struct plan_options options = { .base_dir = session->cwd,
                                    .check_only = trial != NULL,
                                    .services = &session->services,
                                    .isolate = isolation_twin,
                                    .isolate_ctx = session,
                                    .open = true };

    memset(out, 0, sizeof *out);
    session_services(session);
    session_describes(session, &options);
    session->services.scratch_dir = NULL; /* there is no run */
    if (session->script == NULL) {
        session->services.budget = NULL;
    }
    out->graph = graph_create();
    if (out->graph == NULL) {
        return error_nomem(err, "a graph");
    }
    TRY(make_graph(sample, session, trial, out->graph, err));
    TRY(plan_build(out->graph, session->registry, &options, &out->plan, err));
    out->op = plan_find_op(out->plan, trial == NULL ? READER : trial->name, &out->phase);
    return metrics_init(&out->metrics, out->plan, err);
}

void try_plan_close(struct try_plan *plan)
{
    metrics_deinit(&plan->metrics);
    plan_destroy(plan->plan);
    graph_destroy(plan->graph);
    memset(plan, 0, sizeof *plan);
}
