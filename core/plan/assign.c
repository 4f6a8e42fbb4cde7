/* Where each node runs: lanes, domains and levels, and the phases that follow from them. See plan.h
 * for the words. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define DEFAULT_PARTITIONS 32u

static uint32_t root_of(struct planner *planner, uint32_t domain)
{
    while (planner->domains[domain].parent != domain) {
        domain = planner->domains[domain].parent;
    }
    return domain;
}

static void lane_undo(void *what)
{
    struct lane *lane = what;

    if (lane->planned) {
        splits_deinit(&lane->splits);
    }
    listing_deinit(&lane->files);
}

static sluice_status add_lane(struct planner *planner, const struct node *node, enum lane_kind kind,
                              uint32_t n_tasks, int32_t *domain_out, struct sluice_error *err)
{
    struct plan *plan = planner->plan;
    struct lane *lane = ARENA_NEW(&plan->arena, struct lane);
    struct domain *domain = &planner->domains[planner->n_domains];

    domain->parent = planner->n_domains;
    domain->lanes = arena_more(&planner->arena, NULL, 0, &domain->capacity, sizeof *domain->lanes);
    TRY(arena_status(&planner->arena, err, "the plan"));
    if (lane == NULL || !arena_defer(&plan->arena, lane_undo, lane)) {
        return arena_status(&plan->arena, err, "the plan");
    }
    lane->index = plan->n_lanes;
    lane->kind = kind;
    lane->node = node;
    lane->n_tasks = n_tasks;
    domain->lanes[domain->n_lanes++] = plan->n_lanes;
    plan->lanes[plan->n_lanes++] = lane;
    *domain_out = (int32_t)planner->n_domains++;
    return SLUICE_OK;
}

/* The lanes of b come behind those of a. */
static sluice_status merge_domains(struct planner *planner, const struct node *node, uint32_t a,
                                   uint32_t b, struct sluice_error *err)
{
    struct domain *first = &planner->domains[root_of(planner, a)];
    struct domain *second = &planner->domains[root_of(planner, b)];

    if (first == second) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: two inputs of '%s' come from the same reader, so the order of their "
                         "rows would depend on how rows are "
                         "batched; unite different sources, or write the branches to two datasets",
                         node->where, node->name);
    }
    for (uint32_t k = 0; k < second->n_lanes; k++) {
        uint32_t *lanes = arena_more(&planner->arena, first->lanes, first->n_lanes,
                                     &first->capacity, sizeof *lanes);
        TRY(arena_status(&planner->arena, err, "the plan"));
        first->lanes = lanes;
        first->lanes[first->n_lanes++] = second->lanes[k];
    }
    second->n_lanes = 0;
    second->parent = (uint32_t)(first - planner->domains);
    return SLUICE_OK;
}

static sluice_status place_stage(struct planner *planner, const struct node *node,
                                 struct sluice_error *err)
{
    const struct sluice_stage *stage = &node->entry->stage;
    struct node_place *place = &planner->places[node->id];
    const struct node_place *input = &planner->places[node->inputs[0]];
    const struct node_place *side = node->n_inputs > 1 ? &planner->places[node->inputs[1]] : NULL;

    if (stage->role == SLUICE_ROLE_READER) {
        place->level = 0;
        return add_lane(planner, node, LANE_SPLITS, 0, &place->domain, err);
    }
    if (stage->mode == SLUICE_MODE_KEYED || stage->mode == SLUICE_MODE_GLOBAL) {
        bool keyed = stage->mode == SLUICE_MODE_KEYED;
        place->level = input->level + 1;
        if (side != NULL && side->level >= place->level) {
            place->level = side->level + 1;
        }
        return add_lane(planner, node, keyed ? LANE_PARTITIONS : LANE_GLOBAL,
                        keyed ? (node->partitions > 0 ? node->partitions : DEFAULT_PARTITIONS) : 1,
                        &place->domain, err);
    }
    place->domain = input->domain;
    place->level = input->level;
    if (side != NULL && side->level >= place->level) {
        place->level = side->level + 1;
    }
    return SLUICE_OK;
}

static sluice_status place_node(struct planner *planner, const struct node *node,
                                struct sluice_error *err)
{
    struct node_place *place = &planner->places[node->id];

    place->domain = -1;
    place->phase = -1;
    place->op = -1;
    switch (node->kind) {
    case NODE_FILES:
    case NODE_DATASET:
        return SLUICE_OK;
    case NODE_STAGE:
        return place_stage(planner, node, err);
    case NODE_DROPPED: {
        uint32_t from = graph_made_by(planner->graph, node->inputs[0]);
        place->domain = planner->places[from].domain;
        place->level = planner->places[from].level;
        return SLUICE_OK;
    }
    case NODE_CHECKPOINT:
        place->domain = planner->places[node->inputs[0]].domain;
        place->level = planner->places[node->inputs[0]].level + 1;
        return SLUICE_OK;
    case NODE_UNION:
        break;
    }
    place->domain = planner->places[node->inputs[0]].domain;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const struct node_place *input = &planner->places[node->inputs[k]];
        if (input->level > place->level) {
            place->level = input->level;
        }
        if (k > 0) {
            TRY(merge_domains(planner, node, (uint32_t)place->domain, (uint32_t)input->domain,
                              err));
        }
    }
    return SLUICE_OK;
}

static sluice_status add_phase(struct planner *planner, uint32_t level, uint32_t domain,
                               struct sluice_error *err)
{
    struct plan *plan = planner->plan;
    const struct domain *root = &planner->domains[domain];
    struct phase *phase = ARENA_NEW(&plan->arena, struct phase);
    struct lane **lanes = ARENA_ARRAY(&plan->arena, struct lane *, root->n_lanes);

    TRY(arena_status(&plan->arena, err, "the plan"));
    phase->index = plan->n_phases;
    phase->level = level;
    planner->phase_domain[plan->n_phases] = domain;
    plan->phases[plan->n_phases++] = phase;
    phase->lanes = lanes;
    for (uint32_t k = 0; k < root->n_lanes; k++) {
        phase->lanes[k] = plan->lanes[root->lanes[k]];
    }
    phase->n_lanes = root->n_lanes;
    return SLUICE_OK;
}

sluice_status planner_assign(struct planner *planner, struct sluice_error *err)
{
    const struct graph *graph = planner->graph;
    struct plan *plan = planner->plan;
    uint32_t n = graph->n_nodes;
    uint32_t top = 0;

    /* A node begins at most one lane, one domain and one phase. */
    plan->lanes = ARENA_ARRAY(&plan->arena, struct lane *, n);
    plan->phases = ARENA_ARRAY(&plan->arena, struct phase *, n);
    planner->domains = ARENA_ARRAY(&planner->arena, struct domain, n);
    planner->phase_domain = ARENA_ARRAY(&planner->arena, uint32_t, n);
    planner->places = ARENA_ARRAY(&planner->arena, struct node_place, n);
    TRY(arena_status(&plan->arena, err, "the plan"));
    TRY(arena_status(&planner->arena, err, "the plan"));
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        TRY(place_node(planner, graph->nodes[i], err));
        if (planner->places[i].level > top) {
            top = planner->places[i].level;
        }
    }
    /* Phases by level, then by the first node of their domain. */
    for (uint32_t level = 0; level <= top; level++) {
        uint32_t first = planner->plan->n_phases;
        for (uint32_t i = 0; i < graph->n_nodes; i++) {
            struct node_place *place = &planner->places[i];
            uint32_t domain;
            if (place->domain < 0 || place->level != level) {
                continue;
            }
            domain = root_of(planner, (uint32_t)place->domain);
            for (uint32_t p = first; p < planner->plan->n_phases; p++) {
                if (planner->phase_domain[p] == domain) {
                    place->phase = (int32_t)p;
                }
            }
            if (place->phase < 0) {
                place->phase = (int32_t)planner->plan->n_phases;
                TRY(add_phase(planner, level, domain, err));
            }
        }
    }
    return SLUICE_OK;
}
