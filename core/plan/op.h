/* An op: a place in a phase. A reader, a loaded or stored edge, a stage, a union, a collector of
 * dropped rows. Depends on data, plugin and graph.
 *
 * All ops have the head of struct op in common. What only one kind has stands in a struct of that
 * kind, and is reached by the functions at the end, which see to it that the op is of that kind.
 * Ops stand in the plan's arena and are read-only once it is built. */
#ifndef SLUICE_PLAN_OP_H
#define SLUICE_PLAN_OP_H

#include <assert.h>

#include "base/hash.h"
#include "data/schema.h"
#include "plan/graph.h"
#include "plugin/stage.h"

struct plan_edge;

#define PLAN_NEEDS_MAX 256 /* columns that a stage may ask of a port */

enum op_kind { OP_READ, OP_LOAD, OP_STAGE, OP_UNION, OP_COLLECT, OP_STORE };

/* Where one column of the batches that an op pushes comes from. */
enum column_from {
    FROM_INPUT,  /* slot `at` of the batch that came in */
    FROM_PLUGIN, /* column `at` of what the reader or stage gave */
    FROM_HOST,   /* made beside a reader's columns: numbers of rows, parts of paths */
    FROM_NOWHERE /* an input of a union that lacks it: null in every row */
};

struct op_column {
    enum column_from from;
    uint32_t at; /* 0 where `from` needs none */
};

struct op_consumer {
    uint32_t op;   /* in the same phase */
    uint32_t port; /* a union's inputs are its ports */
};

/* The plugin's code behind a reader or a stage. */
struct op_code {
    struct stage *stage;                 /* opened and prepared; owned by the plan */
    const struct sluice_stage *declared; /* of stage; borrowed */
    bool isolated;                       /* runs in child processes */
    bool quarantine_late; /* a row that takes it too long is set aside instead of ending the run */
};

struct op_read {
    struct op_code code;
    uint32_t lane;             /* index in the phase's lanes */
    struct op_column *columns; /* per out slot: FROM_PLUGIN or FROM_HOST */
    struct hash128 stage_key;  /* of its code and options: plan_stage_key */
    int32_t *parts;            /* per out slot: which {part} of the path it is, or -1 */
    bool again; /* a second pass for an OP_LOAD, which drives it; none of its rows is counted */
};

struct op_stage {
    struct op_code code;
    uint32_t inputs[STAGE_PORTS]; /* ops that feed its ports */
    uint32_t n_inputs;
    /* per port: slot of the input for each needed column, -1 = optional and absent */
    int32_t *need[STAGE_PORTS];
    uint32_t n_need[STAGE_PORTS]; /* at most PLAN_NEEDS_MAX */
    /* Filters, gates, annotators: per out slot, FROM_INPUT or FROM_PLUGIN. Else NULL: a transform's
     * columns are its out slots in order, a writer has none. */
    struct op_column *columns;
    struct stage_note *notes; /* owned */
    uint32_t n_notes;
    /* writers only */
    struct stage_output *outputs; /* owned */
    uint32_t n_outputs;
    const char *dataset; /* absolute folder */
    const char *said; /* the one that the script names: dataset, but with plan_options.datasets */
};

/* How an OP_LOAD comes by the columns that its edge does not store: from a reader's second pass
 * over the split. */
struct op_again {
    uint32_t op;      /* the OP_READ in its phase, of the lane that the reader stands for */
    int32_t *columns; /* per out slot of the load: slot of that OP_READ, or -1: stored */
    uint32_t first_phase, first_op; /* the reader's first pass */
};

struct op_load {
    struct plan_edge *edge;
    /* per out slot: stored column of the edge; as many as it stores: the position that the loader
     * puts behind them; -1: not stored. NULL until projected. */
    int32_t *stored;
    struct op_again *agains; /* one per reader, where the edge's rows are read again */
    uint32_t n_agains;
    bool side; /* feeds a port 1, so it is driven before the others */
};

struct op_store {
    struct plan_edge *edge;
    uint32_t input; /* the op whose rows it stores */
    int32_t *slots; /* per stored column of the edge: slot of the input */
};

struct op_union_port {
    uint32_t op;               /* that feeds it */
    struct op_column *columns; /* per out slot: FROM_INPUT or FROM_NOWHERE */
};

struct op_union {
    struct op_union_port *ports;
    uint32_t n_ports;
};

/* Rows that a stage of this phase dropped, or that an earlier phase's collector gathered. */
struct op_drops {
    uint32_t op;    /* the stage, or the OP_LOAD that brings an earlier phase's */
    int32_t *slots; /* per out slot: slot of the rows (of the stage's input, or of the load's
                       out), or -1 = null */
};

struct op_collect {
    struct op_drops *stages; /* in order */
    uint32_t n_stages;
    struct op_drops earlier;
    bool has_earlier; /* else `earlier` is all zeros */
};

struct op {
    uint32_t index;
    enum op_kind kind;
    const char *name;        /* unique in the plan; the node's name for stages */
    const struct node *node; /* NULL for providers and edges */
    struct op_consumer *consumers;
    uint32_t n_consumers, consumers_capacity;
    struct schema out;    /* slots of the batches it pushes */
    bool *live;           /* out slots that somebody downstream uses */
    int32_t row_slot;     /* slot of _row in out, or -1 */
    struct hash128 key;   /* of everything static that shapes its output */
    const char *key_text; /* the same for people: options and versions */
    union {
        struct op_read read;
        struct op_stage stage;
        struct op_load load;
        struct op_store store;
        struct op_union unite;
        struct op_collect collect;
    } as;
};

/* ---- of one kind; anything else is our defect ---- */

static inline const struct op_read *op_read(const struct op *op)
{
    assert(op->kind == OP_READ);
    return &op->as.read;
}

static inline const struct op_stage *op_stage(const struct op *op)
{
    assert(op->kind == OP_STAGE);
    return &op->as.stage;
}

static inline const struct op_load *op_load(const struct op *op)
{
    assert(op->kind == OP_LOAD);
    return &op->as.load;
}

static inline const struct op_store *op_store(const struct op *op)
{
    assert(op->kind == OP_STORE);
    return &op->as.store;
}

static inline const struct op_union *op_union(const struct op *op)
{
    assert(op->kind == OP_UNION);
    return &op->as.unite;
}

static inline const struct op_collect *op_collect(const struct op *op)
{
    assert(op->kind == OP_COLLECT);
    return &op->as.collect;
}

/* ---- of any kind ---- */

/* The plugin's code of a reader or a stage; NULL: the op is the core's own. */
static inline const struct op_code *op_code(const struct op *op)
{
    return op->kind == OP_READ    ? &op->as.read.code
           : op->kind == OP_STAGE ? &op->as.stage.code
                                  : NULL;
}

/* What a reader or a stage declares; NULL for other ops. */
static inline const struct sluice_stage *op_declared(const struct op *op)
{
    const struct op_code *code = op_code(op);
    return code == NULL ? NULL : code->declared;
}

/* Does the stage ask servers? */
static inline bool op_asks(const struct op *op)
{
    const struct sluice_stage *stage = op->kind == OP_STAGE ? op_declared(op) : NULL;
    return stage != NULL && stage->resume != NULL && (stage->flags & SLUICE_STAGE_RECORDED) != 0;
}

static inline bool op_isolated(const struct op *op)
{
    const struct op_code *code = op_code(op);
    return code != NULL && code->isolated;
}

/* A stage of this role? */
static inline bool op_is(const struct op *op, uint32_t role)
{
    return op->kind == OP_STAGE && op->as.stage.code.declared->role == role;
}

/* Has a dataset, and files in it. */
/* op.c: whether a writer carries a snapshot of its own choice on, which its note `append` names:
 * the files of that stay, and new ones come behind them. *parent (may be NULL): its number, 0 =
 * none. */
bool op_carries_on(const struct op *, uint32_t *parent);

static inline bool op_writes(const struct op *op)
{
    return op_is(op, SLUICE_ROLE_WRITER);
}

/* A reader's second pass over what it has read before. */
static inline bool op_reads_again(const struct op *op)
{
    return op->kind == OP_READ && op->as.read.again;
}

/* A reader's first pass: its rows are the ones that are counted. */
static inline bool op_reads_first(const struct op *op)
{
    return op->kind == OP_READ && !op->as.read.again;
}

/* What a collector takes over from an earlier phase; NULL: nothing, or the op is none. */
static inline const struct op_drops *op_earlier_drops(const struct op *op)
{
    return op->kind == OP_COLLECT && op->as.collect.has_earlier ? &op->as.collect.earlier : NULL;
}

/* The edge of an OP_LOAD or OP_STORE; NULL for other ops. */
static inline struct plan_edge *op_edge(const struct op *op)
{
    return op->kind == OP_LOAD ? op->as.load.edge : op->kind == OP_STORE ? op->as.store.edge : NULL;
}

/* How many ops push batches into it, and the one that feeds a port. A collector has none: dropped
 * rows come to it aside. */
static inline uint32_t op_n_inputs(const struct op *op)
{
    return op->kind == OP_STAGE   ? op->as.stage.n_inputs
           : op->kind == OP_UNION ? op->as.unite.n_ports
           : op->kind == OP_STORE ? 1
                                  : 0;
}

static inline uint32_t op_input(const struct op *op, uint32_t port)
{
    assert(port < op_n_inputs(op));
    return op->kind == OP_STAGE   ? op->as.stage.inputs[port]
           : op->kind == OP_UNION ? op->as.unite.ports[port].op
                                  : op->as.store.input;
}

#endif
