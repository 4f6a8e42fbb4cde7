/* Private to the planner: its working state. */
#ifndef SLUICE_PLAN_PLANINT_H
#define SLUICE_PLAN_PLANINT_H

#include "plan/plan.h"

struct domain {
    uint32_t parent; /* union-find over domains */
    uint32_t *lanes; /* plan lanes, in order; valid at the root */
    uint32_t n_lanes, capacity;
};

struct node_place {
    int32_t domain; /* -1: files */
    uint32_t level;
    int32_t phase;
    int32_t op; /* in that phase; -1 = not built yet */
};

struct planner {
    struct plan *plan;
    struct arena arena; /* of what ends with the planner */
    const struct graph *graph;
    struct registry *registry;
    struct domain *domains;
    uint32_t n_domains;
    struct node_place *places; /* per node */
    uint32_t **tails;          /* per phase, per op: the last provider behind it */
    uint32_t *phase_domain;    /* per phase: root domain */
};

/* assign.c: lanes, domains, levels, phases. */
sluice_status planner_assign(struct planner *, struct sluice_error *) MUST_USE;

/* op.c: an op of the plan that is in no phase yet. */
sluice_status op_create(struct plan *, enum op_kind, const char *name, struct op **out,
                        struct sluice_error *) MUST_USE;

/* What the accessors of op.h give, to be filled in. */
static inline struct op_read *op_edit_read(struct op *op)
{
    assert(op->kind == OP_READ);
    return &op->as.read;
}

static inline struct op_stage *op_edit_stage(struct op *op)
{
    assert(op->kind == OP_STAGE);
    return &op->as.stage;
}

static inline struct op_load *op_edit_load(struct op *op)
{
    assert(op->kind == OP_LOAD);
    return &op->as.load;
}

static inline struct op_store *op_edit_store(struct op *op)
{
    assert(op->kind == OP_STORE);
    return &op->as.store;
}

static inline struct op_union *op_edit_union(struct op *op)
{
    assert(op->kind == OP_UNION);
    return &op->as.unite;
}

static inline struct op_collect *op_edit_collect(struct op *op)
{
    assert(op->kind == OP_COLLECT);
    return &op->as.collect;
}

/* Of a reader or a stage. */
static inline struct op_code *op_edit_code(struct op *op)
{
    return op->kind == OP_READ ? &op->as.read.code : &op_edit_stage(op)->code;
}

/* op.c: adds an empty op to a phase. */
sluice_status planner_op(struct planner *, struct phase *, enum op_kind, const char *name,
                         struct op **out, struct sluice_error *) MUST_USE;
/* The second half of that: puts an op of op_create at the end of a phase, behind all its
 * inputs. */
sluice_status planner_op_append(struct planner *, struct phase *, struct op *,
                                struct sluice_error *) MUST_USE;
/* Finds op's column _row. */
void planner_find_row(struct op *);
sluice_status planner_consume(struct planner *, struct phase *, uint32_t producer,
                              uint32_t consumer, uint32_t port, struct sluice_error *) MUST_USE;

/* edges.c: an edge from an op of an earlier phase, and the op that loads it. */
sluice_status planner_edge(struct planner *, uint32_t from_phase, uint32_t from_op,
                           struct phase *to, enum edge_load, const char *where, uint32_t *op,
                           struct sluice_error *) MUST_USE;
/* The op of phase that delivers what node delivers: its own op, or an edge (made when needed). */
sluice_status planner_input(struct planner *, const struct node *, struct phase *, enum edge_load,
                            uint32_t *op, struct sluice_error *) MUST_USE;
/* Is this column delivered whether or not anybody asks for it? */
bool planner_always_live(const char *name);
/* Does anything behind a loader of the edge use this column? */
bool planner_stored_live(const struct plan *, const struct plan_edge *, const char *name);

/* build.c: every node's op. */
sluice_status planner_build(struct planner *, struct sluice_error *) MUST_USE;

/* build_stage.c: opens op's stage where it is to run. */
sluice_status planner_open_stage(struct planner *, struct op *, const struct registry_entry *,
                                 const struct option_args *, const char *where,
                                 struct sluice_error *) MUST_USE;
/* Prepares op's stage against its inputs, inserting providers behind them as long as derived
 * columns are missing. */
sluice_status planner_prepare_stage(struct planner *, struct phase *, struct op *,
                                    const char *where, uint32_t n_ports, uint32_t *inputs,
                                    struct sluice_error *) MUST_USE;

/* reader.c: prepares a reader and makes its schema; final: with what projection found to be
 * wanted. */
sluice_status planner_reader(struct planner *, struct phase *, struct op *, bool final,
                             struct sluice_error *) MUST_USE;

/* plan_collect.c: .dropped */
sluice_status planner_dropped(struct planner *, const struct node *, struct phase *, uint32_t *op,
                              struct sluice_error *) MUST_USE;

/* plan_again.c: may the loaders of a store's edge read its rows again? Then the edge keeps
 * columns[k] = false of what is not stored, and the loaders get their readers. Called when
 * everything behind the edge is known; columns has a flag per column of the edge, all true. */
sluice_status planner_again(struct planner *, struct op *store, bool *columns,
                            struct sluice_error *) MUST_USE;

/* project.c: liveness, stored columns, the readers' final prepare. */
sluice_status planner_project(struct planner *, struct sluice_error *) MUST_USE;

/* datasets.c: one writer for each folder, none inside another's; no input pattern takes in what the
 * plan writes. */
sluice_status planner_check_dataset(const struct planner *, const struct op *writer,
                                    const char *where, struct sluice_error *) MUST_USE;
sluice_status planner_check_inputs(const struct planner *, struct sluice_error *) MUST_USE;
/* The same of the files that a source has found: a list may name them, a link lead to them. */
sluice_status planner_check_files(const struct planner *, const struct node *files,
                                  const struct listing *found, struct sluice_error *) MUST_USE;

/* since.c: leaves out what the datasets of files->since hold. */
sluice_status planner_since(struct planner *, struct lane *, const struct node *files,
                            struct sluice_error *) MUST_USE;
/* When all writers are known: no row is lost by that. */
sluice_status planner_check_since(const struct planner *, const struct lane *,
                                  const struct node *files, struct sluice_error *) MUST_USE;

/* inputs.c: listing, splits. */
/* What a reader with survey says of the first file, if there is one. Once for each lane. */
sluice_status planner_describe(struct planner *, struct lane *, struct stage *,
                               struct sluice_error *) MUST_USE;
/* For struct stage_inputs: what it says of each file, surveyed when it is asked for. */
struct describing {
    struct planner *planner;
    struct lane *lane;
    struct stage *stage;
    struct buf said; /* of the last one; the caller's to deinit */
};
sluice_status planner_describe_at(void *describing, uint64_t k, const char **uri, const void **data,
                                  uint64_t *n, struct sluice_error *) MUST_USE;
sluice_status planner_inputs(struct planner *, struct sluice_error *) MUST_USE;

/* keys.c */
sluice_status planner_keys(struct planner *, struct sluice_error *) MUST_USE;

#endif
