/* Everything read again and compared with what was recorded: see audit.h. */
#include "run/facts/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/chain/ledger.h"
#include "run/labels.h"
#include "run/runview.h"
#include "store/snapshot.h"
#include "store/store.h"

static void fault(void *ctx, const char *message)
{
    struct audit *v = ctx;

    v->faults++;
    v->fault(v->ctx, message);
}

static void faultf(struct audit *, const char *format, ...) PRINTF_LIKE(2, 3);

static void faultf(struct audit *v, const char *format, ...)
{
    char message[1200];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fault(v, message);
}

/* ---- files of a run ---- */

static sluice_status verify_output(struct audit *v, uint32_t p, const char *task,
                                   const struct commit_output *output, struct sluice_error *err)
{
    char buffer[4096];
    const char *folder = run_output_folder(v->run, p, output, buffer, sizeof buffer);
    char *path;
    uint64_t bytes = 0;
    struct hash128 hash = output->hash;
    bool found = false;
    sluice_status status;

    if (output->file[0] == '\0') {
        return SLUICE_OK;
    }
    if (folder == NULL) {
        faultf(v, "%s: the record names an output '%s' that the plan has not", task, output->port);
        return SLUICE_OK;
    }
    path = store_join(folder, output->file);
    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    status = v->deep ? store_hash(path, &bytes, &hash, &found, err)
                     : store_size(path, &bytes, &found, err);
    if (status == SLUICE_OK && !found) {
        faultf(v, "%s is missing (%s of %s)", path, output->port, task);
    } else if (status == SLUICE_OK && bytes != output->bytes) {
        faultf(v, "%s has %llu bytes, the record says %llu (%s of %s)", path,
               (unsigned long long)bytes, (unsigned long long)output->bytes, output->port, task);
    } else if (status == SLUICE_OK && !hash_equal(hash, output->hash)) {
        char is[33];
        char was[33];
        hash_hex(hash, is);
        hash_hex(output->hash, was);
        faultf(v, "%s has hash %s, the record says %s (%s of %s)", path, is, was, output->port,
               task);
    }
    v->files++;
    v->bytes += bytes;
    free(path);
    return status;
}

/* Records that can't be believed, those of earlier plans too. */
static sluice_status verify_records(struct audit *v, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    sluice_status status = store_names(v->run->tasks_dir, &names, err);

    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        char *dir = store_join(v->run->tasks_dir, names.names[i]);
        struct hash128 *keys = NULL;
        size_t n = 0;
        status = dir == NULL ? error_nomem(err, "a path") : commit_list(dir, &keys, &n, err);
        for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
            struct commit *commit = NULL;
            bool damaged = false;
            struct sluice_error how = ERROR_INIT;
            status = commit_read(dir, keys[k], &commit, &damaged, &how);
            if (status != SLUICE_OK) {
                *err = how;
            } else if (damaged) {
                fault(v, how.message);
            }
            v->records++;
            commit_destroy(commit);
        }
        free(keys);
        free(dir);
    }
    disk_names_deinit(&names);
    return status;
}

/* ---- ledgers ---- */

static void equal(struct audit *v, const char *where, const char *op, const char *left, int64_t a,
                  const char *right, int64_t b)
{
    v->equations++;
    if (a != b) {
        faultf(v, "%s: the ledger of '%s' does not balance: %s = %lld, %s = %lld", where, op, left,
               (long long)a, right, (long long)b);
    }
}

static void verify_op(struct audit *v, const char *where, const struct op *op, const json_t *ledger)
{
    int64_t in = ledger_get(ledger, op->name, "in");
    int64_t kept = ledger_get(ledger, op->name, "kept");
    int64_t emitted = ledger_get(ledger, op->name, "emitted");
    int64_t written = ledger_get(ledger, op->name, "written");
    int64_t lost = ledger_dropped(ledger, op->name) + ledger_get(ledger, op->name, "quarantined");

    switch (op->kind) {
    case OP_READ:
    case OP_LOAD:
    case OP_COLLECT:
        return;
    case OP_UNION:
        equal(v, where, op->name, "in", in, "emitted", emitted);
        return;
    case OP_STORE:
        equal(v, where, op->name, "in", in, "stored", written);
        return;
    case OP_STAGE:
        break;
    }
    if (op_declared(op)->role == SLUICE_ROLE_WRITER) {
        equal(v, where, op->name, "in", in, "written + quarantined",
              written + ledger_get(ledger, op->name, "quarantined"));
    } else if (op_declared(op)->role == SLUICE_ROLE_TRANSFORM) {
        equal(v, where, op->name, "in", in, "consumed + dropped + quarantined",
              ledger_get(ledger, op->name, "consumed") + lost);
    } else {
        equal(v, where, op->name, "in", in, "kept + dropped + quarantined", kept + lost);
        equal(v, where, op->name, "kept", kept, "emitted", emitted);
    }
}

/* What a producer emitted is what its consumers counted. */
static void verify_links(struct audit *v, const char *where, const struct phase *phase,
                         const struct op *op, const json_t *ledger)
{
    for (uint32_t k = 0; k < op->n_consumers; k++) {
        const struct op *to = phase->ops[op->consumers[k].op];
        int64_t in =
            ledger_get(ledger, to->name,
                       op->consumers[k].port == 1 && to->kind != OP_UNION ? "side_in" : "in");
        int64_t emitted = ledger_get(ledger, op->name, "emitted");
        char link[400];
        if (to->kind == OP_UNION && op->consumers[k].port > 0) {
            continue;
        }
        if (to->kind == OP_UNION) {
            emitted = 0;
            for (uint32_t u = 0; u < op_n_inputs(to); u++) {
                emitted += ledger_get(ledger, phase_input(phase, to, u)->name, "emitted");
            }
        }
        snprintf(link, sizeof link, "%s > %s", op->name, to->name);
        equal(v, where, link, "emitted", emitted, "in", in);
    }
}

static int64_t output_rows(const struct commit *commit, const char *kind, const char *name)
{
    int64_t rows = 0;
    char port[512];

    snprintf(port, sizeof port, "%s %s", kind, name);
    for (uint32_t k = 0; k < commit->n_outputs; k++) {
        rows += strcmp(commit->outputs[k].port, port) == 0 ? (int64_t)commit->outputs[k].rows : 0;
    }
    return rows;
}

static int64_t shard_rows(const struct commit *commit, const struct op *writer)
{
    int64_t rows = 0;

    for (uint32_t k = 0; k < commit->n_outputs; k++) {
        rows += label_is_shards(commit->outputs[k].port, writer->name)
                    ? (int64_t)commit->outputs[k].rows
                    : 0;
    }
    return rows;
}

/* The ledger against the files: rows of shards, edges and tables. */
static void verify_counts(struct audit *v, const char *where, const struct phase *phase,
                          const struct commit *commit, const json_t *ledger)
{
    int64_t dropped = 0;
    int64_t bad = 0;
    int64_t read = 0;

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        dropped += ledger_dropped(ledger, op->name);
        bad += ledger_get(ledger, op->name, "quarantined");
        read += op->kind == OP_READ ? ledger_get(ledger, op->name, "emitted") : 0;
        if (op_writes(op)) {
            equal(v, where, op->name, "written", ledger_get(ledger, op->name, "written"),
                  "rows of its files", shard_rows(commit, op));
        } else if (op->kind == OP_STORE) {
            char number[16];
            snprintf(number, sizeof number, "%u", i);
            equal(v, where, op->name, "stored", ledger_get(ledger, op->name, "written"),
                  "rows of its file", output_rows(commit, "edge", number));
        }
    }
    equal(v, where, phase->name, "dropped", dropped, "rows of the drops table",
          output_rows(commit, "table", "drops"));
    equal(v, where, phase->name, "quarantined", bad, "rows of the quarantine",
          output_rows(commit, "table", "bad"));
    equal(v, where, phase->name, "read", read, "rows of the origin table",
          output_rows(commit, "table", "origin"));
}

static bool phase_done(const struct run *run, uint32_t p)
{
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        if (!run->tasks[p][t].done) {
            return false;
        }
    }
    return true;
}

/* What the phases before stored is what this one loaded. */
static void verify_edges(struct audit *v, uint32_t p)
{
    const struct run *run = v->run;
    const struct phase *phase = run->plan->phases[p];

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        const struct plan_edge *edge = op_edge(op);
        int64_t stored;
        if (op->kind != OP_LOAD || phase_pulls(phase, i) || !phase_done(run, p) ||
            !phase_done(run, edge->producer_phase)) {
            continue;
        }
        stored = ledger_get(run->ledgers[edge->producer_phase],
                            run->plan->phases[edge->producer_phase]->ops[edge->store_op]->name,
                            "written");
        if (edge->load == LOAD_BROADCAST) {
            stored *= phase->n_tasks;
        }
        equal(v, phase->name, op->name, "stored", stored, "loaded",
              ledger_get(run->ledgers[p], op->name, "emitted"));
    }
}

static sluice_status verify_task(struct audit *v, uint32_t p, uint32_t t, struct sluice_error *err)
{
    const struct phase *phase = v->run->plan->phases[p];
    const struct task_state *state = &v->run->tasks[p][t];
    char buffer[SPLIT_NAME];
    char where[600];
    json_t *ledger = state->ledger == NULL ? NULL : json_loads(state->ledger, 0, NULL);

    snprintf(where, sizeof where, "%s, %s", phase->name, phase_task_name(phase, t, buffer));
    if (ledger == NULL) {
        faultf(v, "%s: its record has no ledger", where);
    }
    for (uint32_t i = 0; ledger != NULL && i < phase->n_ops; i++) {
        verify_op(v, where, phase->ops[i], ledger);
        verify_links(v, where, phase, phase->ops[i], ledger);
    }
    if (ledger != NULL) {
        verify_counts(v, where, phase, state->commit, ledger);
    }
    json_decref(ledger);
    for (uint32_t k = 0; k < state->commit->n_outputs; k++) {
        TRY(verify_output(v, p, where, &state->commit->outputs[k], err));
    }
    return SLUICE_OK;
}

/* A task that would run again: what its record names is not as it was. */
static sluice_status verify_undone(struct audit *v, uint32_t p, uint32_t t,
                                   struct sluice_error *err)
{
    const struct run *run = v->run;
    const struct phase *phase = run->plan->phases[p];
    char *dir = store_join(run->tasks_dir, phase->name);
    struct commit *commit = NULL;
    char buffer[SPLIT_NAME];
    char where[600];
    sluice_status status = dir == NULL ? error_nomem(err, "a path")
                                       : commit_read(dir, run->tasks[p][t].key, &commit, NULL, err);

    snprintf(where, sizeof where, "%s, %s", phase->name, phase_task_name(phase, t, buffer));
    for (uint32_t k = 0; status == SLUICE_OK && commit != NULL && k < commit->n_outputs; k++) {
        status = verify_output(v, p, where, &commit->outputs[k], err);
    }
    commit_destroy(commit);
    free(dir);
    return status;
}

/* The files that the run's tasks made for a writer. *out is given. */
static sluice_status made_files(const struct run *run, uint32_t p, const struct op *op,
                                struct snapshot **out, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    *out = snapshot_create(op->name);
    if (*out == NULL) {
        return error_nomem(err, "a list of files");
    }
    for (uint32_t t = 0; t < run->plan->phases[p]->n_tasks; t++) {
        const struct commit *commit = run->tasks[p][t].commit;
        for (uint32_t k = 0; status == SLUICE_OK && commit != NULL && k < commit->n_outputs; k++) {
            const struct commit_output *output = &commit->outputs[k];
            if (label_is_shards(output->port, op->name) && output->file[0] != '\0') {
                status = snapshot_add_shard(*out, output->file, output->file, output->rows,
                                            output->bytes, output->hash, NULL, err);
            }
        }
    }
    return status;
}

/* Snapshots, old ones too, under whose names the run's files stand: a link that was broken may lead
 * to other bytes. */
static sluice_status verify_published(struct audit *v, uint32_t p, const struct op *op,
                                      struct sluice_error *err)
{
    struct snapshot *made = NULL;
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status = made_files(v->run, p, op, &made, err);

    if (status == SLUICE_OK) {
        status = snapshot_list(op_stage(op)->dataset, &numbers, &n, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct snapshot *snapshot = NULL;
        status = snapshot_open(op_stage(op)->dataset, numbers[i], &snapshot, err);
        if (status == SLUICE_E_DATA) {
            fault(v, err->message);
            status = SLUICE_OK;
        } else if (status == SLUICE_OK) {
            status = snapshot_verify_links(op_stage(op)->dataset, snapshot, made, v->deep, fault, v,
                                           err);
        }
        snapshot_destroy(snapshot);
    }
    free(numbers);
    snapshot_destroy(made);
    return status;
}

sluice_status audit_run(struct audit *v, struct sluice_error *err)
{
    const struct run *run = v->run;

    TRY(verify_records(v, err));
    for (uint32_t p = 0; p < run->plan->n_phases; p++) {
        const struct phase *phase = run->plan->phases[p];
        for (uint32_t t = 0; t < phase->n_tasks; t++) {
            const struct task_state *state = &run->tasks[p][t];
            v->tasks += state->done;
            if (state->done) {
                TRY(verify_task(v, p, t, err));
            } else if (state->keyed) {
                TRY(verify_undone(v, p, t, err));
            }
        }
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            if (op_writes(phase->ops[i])) {
                TRY(verify_published(v, p, phase->ops[i], err));
            }
        }
        TRY(runview_sum(v->run, p, err));
        verify_edges(v, p);
    }
    return SLUICE_OK;
}

sluice_status audit_snapshot(struct audit *v, const char *dataset, uint32_t number,
                             struct audit_snapshot *out, struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    sluice_status status = snapshot_open(dataset, number, &snapshot, err);

    *out = (struct audit_snapshot){ 0 };
    if (status == SLUICE_E_DATA && number > 0) {
        fault(v, err->message);
        return SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        *out = (struct audit_snapshot){ .number = snapshot->number,
                                        .files = snapshot->n_shards,
                                        .bytes = snapshot->bytes };
        status = snapshot_verify(dataset, snapshot, v->deep, fault, v, &out->faults, err);
        v->files += snapshot->n_shards;
        v->bytes += snapshot->bytes;
    }
    snapshot_destroy(snapshot);
    return status;
}
