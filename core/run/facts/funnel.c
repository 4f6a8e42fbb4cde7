/* The funnel of a report, and the way between its rows: see report.h. */
#include <stdlib.h>
#include <string.h>

#include "run/chain/ledger.h"
#include "run/facts/factsInt.h"
#include "run/facts/reportInt.h"

const char *report_role(const struct op *op)
{
    const char *role = facts_role(op);
    return role == NULL ? "" : role;
}

const char *report_kind(const struct op *op)
{
    switch (op->kind) {
    case OP_LOAD:
        return "load";
    case OP_STORE:
        return "store";
    case OP_UNION:
        return "union";
    case OP_COLLECT:
        return "dropped";
    case OP_READ:
    case OP_STAGE:
        break;
    }
    return op_declared(op)->name;
}

double report_work(const struct time_spent *time)
{
    return (double)METRIC_GET(time->work_ns) / 1e9;
}

double report_wait(const struct time_spent *time)
{
    return (double)METRIC_GET(time->wait_ns) / 1e9;
}

static void add_seconds(json_t *object, const char *name, double seconds)
{
    json_object_set_new(object, name,
                        json_real(json_number_value(json_object_get(object, name)) + seconds));
}

/* What a stage asked servers, or nothing. */
json_t *report_asks(const struct ask_metrics *asks)
{
    if (METRIC_GET(asks->answered) + METRIC_GET(asks->known) == 0) {
        return NULL;
    }
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "answered", (json_int_t)METRIC_GET(asks->answered),
        "refused", (json_int_t)METRIC_GET(asks->refused), "retries",
        (json_int_t)METRIC_GET(asks->retries), "hedges", (json_int_t)METRIC_GET(asks->hedges),
        "bytes_out", (json_int_t)METRIC_GET(asks->bytes_out), "bytes_in",
        (json_int_t)METRIC_GET(asks->bytes_in), "known", (json_int_t)METRIC_GET(asks->known));
}

/* ---- rows ---- */

/* A row in the making: what stands in one group, or one node, or one provider (which has no
 * node). */
struct funnel_row {
    const struct op *only; /* the provider, or NULL */
    uint32_t group;        /* 0 = none */
    uint32_t first, last;  /* node ids; a provider's is that of its first consumer */
    json_t *json;
};

struct funnel {
    struct funnel_row *rows;
    uint32_t n;
};

/* The first node that a provider's column goes to. */
static uint32_t first_consumer(const struct phase *phase, const struct op *op)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t k = 0; k < op->n_consumers; k++) {
        const struct op *to = phase->ops[op->consumers[k].op];
        uint32_t id = to->node != NULL       ? to->node->id
                      : to->kind == OP_STAGE ? first_consumer(phase, to)
                                             : UINT32_MAX;
        least = id < least ? id : least;
    }
    return least;
}

static struct funnel_row *funnel_find(struct funnel *funnel, const struct phase *phase,
                                      const struct op *op)
{
    uint32_t group = op->node == NULL ? 0 : op->node->group;
    struct funnel_row *row;

    for (uint32_t k = 0; k < funnel->n; k++) {
        row = &funnel->rows[k];
        if (group > 0 ? row->group == group
            : op->node == NULL
                ? row->only == op
                : row->only == NULL && row->group == 0 && row->first == op->node->id) {
            return row;
        }
    }
    row = &funnel->rows[funnel->n++];
    *row = (struct funnel_row){ .only = op->node == NULL ? op : NULL,
                                .group = group,
                                .json = json_object() };
    row->first = op->node == NULL ? first_consumer(phase, op) : op->node->id;
    return row;
}

static void add_integer(json_t *object, const char *name, int64_t n)
{
    if (n != 0) {
        json_object_set_new(object, name,
                            json_integer(json_integer_value(json_object_get(object, name)) + n));
    }
}

/* Adds the integers of a ledger's member to the row's. */
static void add_counts(json_t *row, const char *name, const json_t *counts)
{
    json_t *sum = json_object_get(row, name);
    const char *key;
    json_t *value;

    if (json_object_size(counts) == 0) {
        return;
    }
    if (sum == NULL) {
        sum = json_object();
        json_object_set_new(row, name, sum);
    }
    json_object_foreach((json_t *)(uintptr_t)counts, key, value)
    {
        add_integer(sum, key, json_integer_value(value));
    }
}

static void funnel_add(struct funnel_row *row, const struct run *run, uint32_t p,
                       const struct op *op)
{
    const struct op_metrics *metrics = &run->metrics.phases[p].ops[op->index];
    const json_t *sum = run->ledgers[p];
    uint32_t id = op->node == NULL ? row->first : op->node->id;
    bool reader = op->kind == OP_READ;
    int64_t emitted = ledger_get(sum, op->name, "emitted");
    int64_t bad = ledger_get(sum, op->name, "quarantined");
    json_t *asks = report_asks(&metrics->asks);
    json_t *json = row->json;

    if (json_object_size(json) == 0 || id <= row->first) {
        row->first = id;
        json_object_set_new(json, "in",
                            json_integer(reader ? emitted + bad : ledger_get(sum, op->name, "in")));
        json_object_set_new(json, "text_bytes",
                            json_integer((json_int_t)METRIC_GET(metrics->bytes_in)));
    }
    if (id >= row->last) {
        row->last = id;
        json_object_set_new(json, "name", json_string(op->name));
        json_object_set_new(json, "kind", json_string(report_kind(op)));
        json_object_set_new(json, "role",
                            json_string(op->node == NULL ? "provider" : report_role(op)));
        json_object_set_new(
            json, "out",
            json_integer(op_writes(op) ? ledger_get(sum, op->name, "written") : emitted));
    }
    add_seconds(json, "seconds", report_work(&metrics->time));
    add_seconds(json, "wait_seconds", report_wait(&metrics->time));
    add_integer(json, "quarantined", bad);
    if (asks != NULL) {
        add_counts(json, "asks", asks);
        json_decref(asks);
    }
    add_counts(json, facts_consumes(op) ? "consumed" : "dropped",
               json_object_get(json_object_get(sum, op->name), "dropped"));
    add_counts(json, "measures", json_object_get(json_object_get(sum, op->name), "measures"));
    if (json_object_get(json_object_get(sum, op->name), "skipped") != NULL) {
        json_object_set_new(
            json, "skipped",
            json_deep_copy(json_object_get(json_object_get(sum, op->name), "skipped")));
    }
}

/* What a composite ends in may be a union of its stages: that is what comes out of it. */
static void funnel_union(struct funnel *funnel, const struct run *run, uint32_t p,
                         const struct op *op)
{
    for (uint32_t k = 0; op->node != NULL && op->node->group > 0 && k < funnel->n; k++) {
        struct funnel_row *row = &funnel->rows[k];
        if (row->group == op->node->group && op->node->id > row->last) {
            row->last = op->node->id;
            json_object_set_new(row->json, "out",
                                json_integer(ledger_get(run->ledgers[p], op->name, "in")));
        }
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct funnel_row *x = a;
    const struct funnel_row *y = b;

    if (x->last != y->last) {
        return x->last < y->last ? -1 : 1;
    }
    return (x->only == NULL) - (y->only == NULL);
}

/* What no stage did: work and waits by what it was for, each with their sum. */
struct upkeep {
    json_t *work, *waits;
    double work_sum, wait_sum;
};

static void upkeep_add(struct upkeep *upkeep, const char *name, const struct time_spent *time)
{
    if (strcmp(name, "stages") != 0) { /* the funnel has their work */
        add_seconds(upkeep->work, name, report_work(time));
    }
    add_seconds(upkeep->waits, name, report_wait(time));
    upkeep->work_sum += report_work(time);
    upkeep->wait_sum += report_wait(time);
}

/* ---- the way between the rows ---- */

struct edges {
    const struct graph *graph;
    const struct funnel_row **row_of; /* by node; NULL: it has none */
    json_t *list;
};

static void add_edge(const struct edges *edges, const struct funnel_row *from,
                     const struct funnel_row *to, bool dropped)
{
    json_t *edge = json_object();
    json_t *known;
    size_t k;

    json_object_set(edge, "from", json_object_get(from->json, "name"));
    json_object_set(edge, "to", json_object_get(to->json, "name"));
    if (dropped) {
        json_object_set_new(edge, "dropped", json_true());
    }
    json_array_foreach(edges->list, k, known)
    {
        if (json_equal(known, edge)) {
            json_decref(edge);
            return;
        }
    }
    json_array_append_new(edges->list, edge);
}

/* Edges to a row from what feeds node: through nodes that are no rows themselves. Nodes' inputs
 * stand before them, so that this ends. */
static void add_edges(const struct edges *edges, const struct node *node,
                      const struct funnel_row *to, bool dropped)
{
    dropped = dropped || node->kind == NODE_DROPPED;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const struct node *input = edges->graph->nodes[node->inputs[k]];
        const struct funnel_row *from = edges->row_of[input->id];
        if (input->kind == NODE_FILES || input->kind == NODE_DATASET) {
            if (input->n_patterns > 0 && json_object_get(to->json, "source") == NULL) {
                json_object_set_new(to->json, "source",
                                    facts_text(input->patterns[0], strlen(input->patterns[0])));
            }
        } else if (from == NULL) {
            add_edges(edges, input, to, dropped);
        } else if (from->last < to->last) { /* else an inner way of what stands for several */
            add_edge(edges, from, to, dropped);
        }
    }
}

/* "edges" between rows of the funnel, and "source" of readers. */
static void add_way(json_t *report, const struct run *run, const struct funnel *funnel)
{
    const struct graph *graph = run->plan->graph;
    struct edges edges = { graph, calloc(graph->n_nodes + 1u, sizeof *edges.row_of), json_array() };

    for (uint32_t i = 0; edges.row_of != NULL && i < graph->n_nodes; i++) {
        for (uint32_t k = 0; k < funnel->n; k++) {
            const struct funnel_row *row = &funnel->rows[k];
            if (row->only == NULL &&
                (row->group > 0 ? row->group == graph->nodes[i]->group : row->first == i)) {
                edges.row_of[i] = row;
            }
        }
    }
    for (uint32_t i = 0; edges.row_of != NULL && i < graph->n_nodes; i++) {
        if (edges.row_of[i] != NULL) {
            add_edges(&edges, graph->nodes[i], edges.row_of[i], false);
        }
    }
    free(edges.row_of);
    json_object_set_new(report, "edges", edges.list);
}

void report_funnel(json_t *report, const struct run *run)
{
    struct funnel funnel = { 0 };
    struct upkeep upkeep = { json_object(), json_object(), 0, 0 };
    json_t *rows = json_array();
    double idle = 0;
    uint32_t n_ops = 0;

    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        n_ops += run->plan->phases[p]->n_ops;
    }
    funnel.rows = calloc(n_ops + 1u, sizeof *funnel.rows);
    for (uint32_t p = 0; funnel.rows != NULL && p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        bool reads = false;
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            bool stage = (op_reads_first(op)) || op->kind == OP_STAGE;
            reads = reads || (op_reads_first(op));
            if (stage) {
                funnel_add(funnel_find(&funnel, phase, op), run, p, op);
            }
            upkeep_add(&upkeep, stage ? "stages" : "carrying", &run->metrics.phases[p].ops[i].time);
            if (op->kind == OP_UNION) {
                funnel_union(&funnel, run, p, op);
            }
        }
        upkeep_add(&upkeep, reads ? "reading" : "carrying", &run->metrics.phases[p].source);
        upkeep_add(&upkeep, "committing", &run->metrics.phases[p].commit);
        idle += (double)METRIC_GET(run->metrics.phases[p].idle_ns) / 1e9;
    }
    qsort(funnel.rows, funnel.n, sizeof *funnel.rows, compare_rows);
    add_way(report, run, &funnel);
    for (uint32_t k = 0; k < funnel.n; k++) {
        json_array_append_new(rows, funnel.rows[k].json);
    }
    free(funnel.rows);
    json_object_set_new(report, "funnel", rows);
    json_object_set_new(report, "upkeep", upkeep.work);
    json_object_set_new(report, "waits", upkeep.waits);
    json_object_set_new(report, "work_seconds", json_real(upkeep.work_sum));
    json_object_set_new(report, "wait_seconds", json_real(upkeep.wait_sum));
    json_object_set_new(report, "idle_seconds", json_real(idle));
}
