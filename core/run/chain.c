/* The ops of one phase at work on one task: see chain.h. Pushing rows through stages is in pushing.c, dropped rows in collect.c. */
#include "run/chainInt.h"

#include <stdlib.h>
#include <string.h>

struct worker_cache {
    uint32_t n_phases;
    const struct plan *plan;
    struct stage_worker ***workers; /* [phase][op] */
};

struct worker_cache *worker_cache_create(const struct plan *plan)
{
    struct worker_cache *cache = calloc(1, sizeof *cache);

    if (cache == NULL) {
        return NULL;
    }
    cache->plan = plan;
    cache->workers = calloc(plan->n_phases + 1, sizeof *cache->workers);
    if (cache->workers == NULL) {
        free(cache);
        return NULL;
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        cache->workers[p] = calloc(plan->phases[p]->n_ops + 1, sizeof **cache->workers);
        if (cache->workers[p] == NULL) {
            worker_cache_destroy(cache);
            return NULL;
        }
        cache->n_phases = p + 1;
    }
    return cache;
}

void worker_cache_destroy(struct worker_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (uint32_t p = 0; p < cache->n_phases; p++) {
        for (uint32_t i = 0; i < cache->plan->phases[p]->n_ops; i++) {
            stage_worker_close(cache->workers[p][i]);
        }
        free(cache->workers[p]);
    }
    free(cache->workers);
    free(cache);
}

bool chain_repeats(const struct op *op)
{
    return op->kind_of->mode == SLUICE_MODE_STATELESS && op->kind_of->role != SLUICE_ROLE_READER &&
           op->kind_of->role != SLUICE_ROLE_WRITER && op->kind_of->role != SLUICE_ROLE_GATE &&
           (op->kind_of->flags & SLUICE_STAGE_SIDE_INPUT) == 0 && op->kind_of->flush == NULL;
}

sluice_status chain_worker(struct chain *chain, uint32_t index, struct stage_worker **out,
                           struct sluice_error *err)
{
    struct op_state *state = &chain->states[index];
    const struct op *op = chain->phase->ops[index];

    if (state->worker == NULL && chain_repeats(op)) {
        struct stage_worker **kept = &chain->options.cache->workers[chain->phase->index][index];
        state->worker = *kept;
        *kept = NULL;
    }
    if (state->worker == NULL) {
        TRY(stage_worker_open(op->stage, &state->worker, err));
    }
    *out = state->worker;
    return SLUICE_OK;
}

/* Forgets a worker whose state is undefined. */
void chain_drop_worker(struct chain *chain, uint32_t index)
{
    stage_worker_close(chain->states[index].worker);
    chain->states[index].worker = NULL;
}

static sluice_status open_store(struct chain *chain, const struct op *op, struct op_state *state,
                                struct sluice_error *err)
{
    struct edge_spec spec = { EDGE_SINGLE, op->edge->n_partitions, &op->edge->schema };

    if (op->edge->load == LOAD_KEYED) {
        spec.partition = EDGE_BY_KEY;
    } else if (op->edge->load == LOAD_BY_SPLIT) {
        spec.partition = EDGE_BY_SPLIT;
    } else {
        spec.n_partitions = 1;
    }
    return port_open(chain->options.spill_dir, &spec, chain->options.scratch_dir,
                     chain->options.memory, &state->port, err);
}

static const struct {
    const char *name;
    const char *const (*columns)[2];
    uint32_t n;
} tables[CHAIN_TABLES] = {
    { "origin", table_origin, 5 }, { "drops", table_drops, 7 }, { "bad", table_bad, 8 },
    { "trace", table_trace, 4 },   { "spans", table_spans, 4 },
};

const char *chain_table_name(enum chain_table which)
{
    return tables[which].name;
}

sluice_status chain_open_table(struct chain *chain, enum chain_table which,
                               struct sluice_error *err)
{
    if (chain->tables[which] != NULL) {
        return SLUICE_OK;
    }
    return table_open(chain->options.spill_dir, tables[which].columns, tables[which].n,
                      chain->options.scratch_dir, &chain->tables[which], err);
}

sluice_status chain_create(const struct chain_options *options, struct chain **out,
                           struct sluice_error *err)
{
    const struct phase *phase = options->phase;
    struct chain *chain = calloc(1, sizeof *chain);
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, options->task, &index);
    sluice_status status;

    *out = NULL;
    if (chain == NULL) {
        return error_nomem(err, "a task");
    }
    chain->options = *options;
    chain->phase = phase;
    chain->by_rows = lane != NULL && lane->kind == LANE_SPLITS;
    stage_result_init(&chain->result);
    chain->states = calloc(phase->n_ops + 1, sizeof *chain->states);
    status = chain->states == NULL ? error_nomem(err, "a task")
                                   : ledger_init(&chain->ledger, phase, err);
    for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        if (op->kind == OP_STORE) {
            status = open_store(chain, op, &chain->states[i], err);
        } else if (op->kind == OP_STAGE && op->writes) {
            status = shards_open(op, options->key, &chain->states[i].shards, err);
        }
    }
    if (status != SLUICE_OK) {
        chain_destroy(chain);
        return status;
    }
    *out = chain;
    return SLUICE_OK;
}

void chain_destroy(struct chain *chain)
{
    if (chain == NULL) {
        return;
    }
    for (uint32_t i = 0; chain->states != NULL && i < chain->phase->n_ops; i++) {
        struct op_state *state = &chain->states[i];
        const struct op *op = chain->phase->ops[i];
        if (state->worker != NULL && chain_repeats(op) && stage_worker_usable(state->worker) &&
            !chain->failed) {
            chain->options.cache->workers[chain->phase->index][i] = state->worker;
        } else {
            stage_worker_close(state->worker);
        }
        port_destroy(state->port);
        edge_directory_deinit(&state->directory);
        shards_destroy(state->shards);
        buf_deinit(&state->traced);
        collector_deinit(chain, i);
    }
    for (int k = 0; k < CHAIN_TABLES; k++) {
        table_destroy(chain->tables[k]);
        edge_directory_deinit(&chain->table_directories[k]);
    }
    free(chain->states);
    ledger_deinit(&chain->ledger);
    stage_result_deinit(&chain->result);
    free(chain->verdict_rows);
    notes_deinit(&chain->drops);
    notes_deinit(&chain->bad);
    quarantine_deinit(&chain->kept);
    free(chain);
}

static sluice_status write_bad(struct chain *chain, const struct bad_record *bad,
                               struct sluice_error *err)
{
    struct table *table;
    bool ok;

    TRY(chain_open_table(chain, CHAIN_BAD, err));
    table = chain->tables[CHAIN_BAD];
    ok = builder_bytes_add(table_column(table, 0), bad->stage, strlen(bad->stage)) &&
         builder_bytes_add(table_column(table, 1), bad->reason, strlen(bad->reason)) &&
         builder_bytes_add(table_column(table, 2), bad->detail, strlen(bad->detail)) &&
         (bad->has_place ? builder_uint(table_column(table, 3), bad->file)
                         : builder_null(table_column(table, 3))) &&
         (bad->has_place ? builder_uint(table_column(table, 4), bad->begin)
                         : builder_null(table_column(table, 4))) &&
         (bad->has_place ? builder_uint(table_column(table, 5), bad->end)
                         : builder_null(table_column(table, 5))) &&
         (bad->has_row ? builder_uint(table_column(table, 6), bad->row)
                       : builder_null(table_column(table, 6))) &&
         (bad->raw != NULL ? builder_bytes_add(table_column(table, 7), bad->raw, bad->raw_size)
                           : builder_null(table_column(table, 7)));
    return table_row(table, ok, err);
}

sluice_status chain_quarantine(struct chain *chain, uint32_t index, const struct bad_record *bad,
                               struct sluice_error *err)
{
    struct note note = { .row = bad->row, .op = index };

    chain->ledger.ops[index].quarantined++;
    if (!bad->has_row) {
        return write_bad(chain, bad, err); /* records come in the order of the file */
    }
    return notes_add(&chain->bad, &note, bad->reason, strlen(bad->reason) + 1, bad->detail,
                     strlen(bad->detail) + 1, err);
}

/* Quarantined rows come behind the records that could not be read, by row and stage. */
static sluice_status write_bad_rows(struct chain *chain, struct sluice_error *err)
{
    notes_sort(&chain->bad);
    for (size_t i = 0; i < chain->bad.n; i++) {
        const struct note *note = &chain->bad.items[i];
        struct bad_record bad = { .stage = chain->phase->ops[note->op]->name,
                                  .reason = notes_text(&chain->bad, note),
                                  .detail = notes_more(&chain->bad, note),
                                  .has_row = true,
                                  .row = note->row };
        TRY(write_bad(chain, &bad, err));
    }
    return SLUICE_OK;
}

sluice_status chain_origin(struct chain *chain, uint64_t row, uint32_t file, uint64_t begin,
                           uint64_t end, const char *id, size_t id_size, struct sluice_error *err)
{
    struct table *table;
    bool ok;

    TRY(chain_open_table(chain, CHAIN_ORIGIN, err));
    table = chain->tables[CHAIN_ORIGIN];
    ok = builder_uint(table_column(table, 0), row) && builder_uint(table_column(table, 1), file) &&
         builder_uint(table_column(table, 2), begin) && builder_uint(table_column(table, 3), end) &&
         (id != NULL ? builder_bytes_add(table_column(table, 4), id, id_size)
                     : builder_null(table_column(table, 4)));
    return table_row(table, ok, err);
}

struct stage_result *chain_result(struct chain *chain)
{
    return &chain->result;
}

struct ledger_op *chain_ledger(struct chain *chain, uint32_t op)
{
    return &chain->ledger.ops[op];
}

const struct chain_options *chain_options(const struct chain *chain)
{
    return &chain->options;
}

const struct ledger *chain_books(const struct chain *chain)
{
    return &chain->ledger;
}

struct port *chain_port(struct chain *chain, uint32_t op, struct edge_directory **directory,
                        uint64_t *rows)
{
    *directory = &chain->states[op].directory;
    *rows = chain->states[op].port_rows;
    return chain->states[op].port;
}

struct shards *chain_shards(struct chain *chain, uint32_t op)
{
    return chain->states[op].shards;
}

const struct kept_rows *chain_kept(const struct chain *chain)
{
    return &chain->kept;
}

struct port *chain_table_port(struct chain *chain, enum chain_table which,
                              struct edge_directory **directory, uint64_t *rows)
{
    *directory = &chain->table_directories[which];
    *rows = chain->table_rows[which];
    return chain->table_ports[which];
}

sluice_status chain_state(struct chain *chain, uint32_t op, struct buf *out,
                          struct sluice_error *err)
{
    struct stage_worker *worker;

    TRY(chain_worker(chain, op, &worker, err));
    return stage_save(worker, out, err);
}

/* Test hook: SLUICE_TEST_LEDGER=OP:FIELD makes one count wrong, so that a test sees the check at work. */
static void break_ledger(struct chain *chain)
{
    const char *text = getenv("SLUICE_TEST_LEDGER");
    const char *colon = text == NULL ? NULL : strrchr(text, ':');

    for (uint32_t i = 0; colon != NULL && i < chain->phase->n_ops; i++) {
        const struct op *op = chain->phase->ops[i];
        struct ledger_op *entry = &chain->ledger.ops[i];
        if (strlen(op->name) != (size_t)(colon - text) ||
            memcmp(op->name, text, (size_t)(colon - text)) != 0) {
            continue;
        }
        if (strcmp(colon, ":in") == 0) {
            entry->in[0]++;
        } else if (strcmp(colon, ":kept") == 0) {
            entry->kept++;
        } else if (strcmp(colon, ":dropped") == 0 && entry->n_reasons > 0) {
            entry->dropped[1]++;
        } else if (strcmp(colon, ":quarantined") == 0) {
            entry->quarantined++;
        } else if (strcmp(colon, ":emitted") == 0) {
            entry->emitted++;
        } else if (strcmp(colon, ":consumed") == 0) {
            entry->consumed++;
        } else if (strcmp(colon, ":written") == 0) {
            entry->written++;
        } else if (strcmp(colon, ":measure") == 0) {
            for (uint32_t k = 0; k < entry->n_measures; k++) {
                entry->measures[k].out++;
            }
        }
    }
}

sluice_status chain_finish(struct chain *chain, struct sluice_error *err)
{
    for (uint32_t i = 0; i < chain->phase->n_ops; i++) {
        TRY(chain_flush_op(chain, i, err));
    }
    TRY(collect_note_drops(chain, err));
    TRY(write_bad_rows(chain, err));
    TRY(chain_write_traces(chain, err));
    for (int k = 0; k < CHAIN_TABLES; k++) {
        if (chain->tables[k] != NULL) {
            chain->table_ports[k] = table_finish(chain->tables[k], err);
            if (chain->table_ports[k] == NULL) {
                return error_known(err->code);
            }
            TRY(port_finish(chain->table_ports[k], &chain->table_directories[k],
                            &chain->table_rows[k], err));
        }
    }
    break_ledger(chain);
    return ledger_check(&chain->ledger, err);
}
