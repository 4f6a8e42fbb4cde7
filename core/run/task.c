/* One task: its key, what it loads, running it and committing it.
 *
 * The order of a commit: edge files, tables and shards get their names, then the record. A kill
 * anywhere leaves nothing or a valid commit. Names have the task's key and the file's own hash, so
 * that a twin whose bytes were others would not stand in the place of what a record names. What a
 * power cut leaves:
 *   - Shards are synced before they get their names: they are what the run is for. Their folder is
 *     synced with the snapshot
 *     (snapshot_publish.c); a published snapshot is durable with all that it names.
 *   - The run directory can be made again by running again, and nothing in it is believed without
 *     its hash (records carry their own; those of
 *     files are in the records, see vouch.h). So what a short task spilled, and its record, are not
 *     synced: the system writes them within half a minute, and a power cut before that costs the
 *     work of tasks that took less than COMMIT_WORTH_NS each. A longer task is worth four syncs and
 *     one for each file: its files, their folder, the record, the record's folders. */
#include "run/runInt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hooks.h"
#include "run/chain/quarantine.h"
#include "run/identity.h"
#include "run/labels.h"
#include "run/saving.h"
#include "run/source/sources.h"
#include "store/store.h"

#define COMMIT_WORTH_NS UINT64_C(1000000000) /* a sync takes a hundredth of it */

/* ---- commits ---- */

const char *run_output_folder(const struct run *run, uint32_t p, const struct commit_output *output,
                              char *buffer, size_t size)
{
    const struct phase *phase = run->plan->phases[p];

    if (!label_is_shards(output->port, NULL)) {
        return run->spill_dir;
    }
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        if (op_writes(phase->ops[i]) && label_is_shards(output->port, phase->ops[i]->name)) {
            snprintf(buffer, size, "%s/data", op_stage(phase->ops[i])->dataset);
            return buffer;
        }
    }
    return NULL;
}

struct folder_ctx {
    const struct run *run;
    uint32_t phase;
    char buffer[4096];
};

static const char *folder_of(void *ctx, const struct commit_output *output)
{
    struct folder_ctx *folder = ctx;
    return run_output_folder(folder->run, folder->phase, output, folder->buffer,
                             sizeof folder->buffer);
}

/* What a task left is of no use: said once. */
static void doubt(const struct run *run, struct task_state *state, const char *why)
{
    if (!state->doubted) {
        run_warn(run, why);
    }
    state->doubted = true;
}

/* Looks for a valid commit of a keyed task. */
sluice_status task_find(struct run *run, uint32_t p, uint32_t task, bool old,
                        struct sluice_error *err)
{
    struct folder_ctx folder = { .run = run, .phase = p };
    struct commit *commit = NULL;
    struct sluice_error reason = ERROR_INIT;
    char *dir;
    bool damaged = false;
    bool valid = false;
    sluice_status status;

    TRY(phase_folder(run, p, &dir, err));
    status = commit_read(dir, run->tasks[p][task].key, &commit, &damaged, &reason);
    free(dir);
    if (status != SLUICE_OK) {
        if (err != NULL) {
            *err = reason;
        }
        return status;
    }
    if (damaged) {
        doubt(run, &run->tasks[p][task], reason.message);
    }
    if (commit == NULL) {
        return SLUICE_OK;
    }
    status = commit_outputs_valid(commit, folder_of, &folder, old ? run->vouch : NULL, &valid, err);
    if (status != SLUICE_OK || !valid) {
        if (status == SLUICE_OK) {
            doubt(run, &run->tasks[p][task], err->message);
        }
        commit_destroy(commit);
        return status;
    }
    if (task_adopt(run, p, task, commit, true, &reason) == SLUICE_E_NOMEM) {
        return error_nomem(err, "a task");
    }
    return SLUICE_OK;
}

static sluice_status add_output(struct commit *commit, const char *port, const char *file,
                                uint64_t rows, const struct published *published,
                                struct sluice_error *err)
{
    struct commit_output output = { .port = (char *)port,
                                    .file = (char *)file,
                                    .bytes = published->bytes,
                                    .rows = rows,
                                    .hash = published->hash };
    return commit_add_output(commit, &output, err);
}

static sluice_status publish_port(struct commit *commit, const char *key, struct port *port,
                                  const char *name, const char *label,
                                  const struct edge_directory *directory, uint64_t rows,
                                  bool durable, struct sluice_error *err)
{
    struct published published;
    struct buf blob = BUF_INIT;
    struct hash128 hash;
    char file[128];
    char hex[33];
    sluice_status status;

    TRY(port_seal(port, &hash, err));
    hash_hex(hash, hex);
    snprintf(file, sizeof file, "%s-%s-%.12s.slf", key, name, hex);
    status = port_publish(port, file, durable ? 0 : PENDING_LOOSE, &published, err);
    if (status == SLUICE_OK) {
        status = add_output(commit, label, file, rows, &published, err);
    }
    if (status == SLUICE_OK) {
        status = edge_directory_encode(directory, &blob, err);
    }
    if (status == SLUICE_OK) {
        status = commit_add_state(commit, label, blob.data, blob.size, err);
    }
    buf_deinit(&blob);
    return status;
}

static sluice_status publish_shards(struct chain *chain, const struct op *op, struct commit *commit,
                                    struct sluice_error *err)
{
    struct shards *shards;
    const char *folder;

    for (uint32_t at = 0; (shards = chain_shards(chain, op->index, at, &folder)) != NULL; at++) {
        const struct label label = label_shards(op, folder);
        const struct shard *items;
        uint32_t n;
        TRY(shards_publish(shards, commit->key, err));
        items = shards_items(shards, &n);
        for (uint32_t k = 0; k < n; k++) {
            /* Rows count in the first file of a shard alone, not in its index as well. */
            TRY(add_output(commit, label.text, items[k].file,
                           items[k].output == 0 ? items[k].rows : 0, &items[k].published, err));
        }
    }
    return SLUICE_OK;
}

static sluice_status publish_files(struct run *run, struct chain *chain, const struct phase *phase,
                                   struct commit *commit, const char *key, bool durable,
                                   struct sluice_error *err)
{
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        struct edge_directory *directory;
        uint64_t rows;
        char name[64];
        if (op->kind == OP_STORE) {
            struct port *port = chain_port(chain, i, &directory, &rows);
            snprintf(name, sizeof name, "e%u", i);
            TRY(publish_port(commit, key, port, name, label_edge(i).text, directory, rows, durable,
                             err));
        } else if (op_writes(op)) {
            TRY(publish_shards(chain, op, commit, err));
        } else if (op_is(op, SLUICE_ROLE_GATE)) {
            struct buf state = BUF_INIT;
            sluice_status status = chain_state(chain, i, &state, err);
            if (status == SLUICE_OK) {
                status = commit_add_state(commit, label_gate(op).text, state.data, state.size, err);
            }
            buf_deinit(&state);
            TRY(status);
        }
    }
    for (int k = 0; k < TASK_TABLES; k++) {
        struct edge_directory *directory;
        uint64_t rows;
        enum task_table table = (enum task_table)k;
        struct port *port = chain_table_port(chain, table, &directory, &rows);
        if (port != NULL) {
            TRY(publish_port(commit, key, port, table_name(table), label_table(table).text,
                             directory, rows, durable, err));
        }
    }
    return durable ? store_settle(run->spill_dir, err) : SLUICE_OK;
}

/* Whoever resumes need not hash what this process made. */
static void note_files(struct run *run, uint32_t p, const struct commit *commit, bool durable)
{
    struct folder_ctx folder = { .run = run, .phase = p };

    for (uint32_t k = 0; k < commit->n_outputs; k++) {
        const struct commit_output *output = &commit->outputs[k];
        const char *dir = folder_of(&folder, output);
        char *path = dir == NULL || output->file[0] == '\0' ? NULL : store_join(dir, output->file);
        if (path != NULL) {
            vouch_note(run->vouch, path, output->hash, durable || dir == folder.buffer);
        }
        free(path);
    }
}

/* Test hook: SLUICE_TEST_DURABLE makes every task worth its syncs. */
static bool is_worth(uint64_t ns)
{
    return ns >= COMMIT_WORTH_NS || hook_text("SLUICE_TEST_DURABLE") != NULL;
}

/* A record is found by its folder's name, which was made without a sync. */
static sluice_status sync_way(const struct run *run, struct sluice_error *err)
{
    TRY(store_settle(run->tasks_dir, err));
    return store_settle(run->options.run_dir, err);
}

/* Two processes may have had a task in hand, and servers may have answered them differently. Either
 * result is one; the first that is committed stands. *commit: ours, then theirs. status: of the
 * attempt to commit ours. */
static sluice_status yield_to_other(const struct run *run, const struct phase *phase, uint32_t task,
                                    const char *dir, sluice_status status, bool *existed,
                                    struct commit **commit)
{
    char buffer[SPLIT_NAME];
    struct sluice_error ignored = ERROR_INIT;
    struct commit *theirs = NULL;
    bool records = false;
    char *message;

    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct sluice_stage *stage = op_declared(phase->ops[i]);
        records = records || (stage != NULL && (stage->flags & SLUICE_STAGE_RECORDED) != 0);
    }
    if (status != SLUICE_E_INTERNAL || !records ||
        commit_read(dir, (*commit)->key, &theirs, NULL, &ignored) != SLUICE_OK || theirs == NULL) {
        return status;
    }
    message = str_printf("task %s of %s was committed by another process, which had other answers "
                         "for some of its rows: that result stands",
                         phase_task_name(phase, task, buffer), phase->name);
    if (message != NULL) {
        run_warn(run, message);
    }
    free(message);
    commit_destroy(*commit);
    *commit = theirs;
    *existed = true;
    return SLUICE_OK;
}

static sluice_status commit_task(struct run *run, struct chain *chain, uint32_t p, uint32_t task,
                                 bool durable, bool *existed, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct task_state *state = &run->tasks[p][task];
    char key[33];
    struct commit *commit = commit_create(state->key, phase->name, "");
    char *dir = NULL;
    sluice_status status = commit == NULL ? error_nomem(err, "a commit") : SLUICE_OK;

    hash_hex(state->key, key);
    if (status == SLUICE_OK) {
        status = run_task_parts(run, p, task, commit, err);
    }
    if (status == SLUICE_OK) {
        status = publish_files(run, chain, phase, commit, key, durable, err);
    }
    if (status == SLUICE_OK) {
        status = quarantine_write(chain_kept(chain), state->key, run->options.run_dir, err);
    }
    if (status == SLUICE_OK) {
        commit->ledger = ledger_json(chain_books(chain));
        status = commit->ledger == NULL ? error_nomem(err, "the ledger")
                                        : phase_folder(run, p, &dir, err);
    }
    if (status == SLUICE_OK) {
        /* The record is last: it names only what stands. A kill before it leaves files that no
         * record names, which the next try makes again and `gc` removes. */
        note_files(run, p, commit, durable);
        status = commit_write(commit, dir, durable, existed, err);
        status = yield_to_other(run, phase, task, dir, status, existed, &commit);
    }
    if (status == SLUICE_OK && durable) {
        status = sync_way(run, err);
    }
    free(dir);
    if (status != SLUICE_OK) {
        commit_destroy(commit);
        return status;
    }
    return task_adopt(run, p, task, commit, false, err);
}

/* ---- running ---- */

static void loads_free(struct load_inputs *loads, uint32_t n)
{
    for (uint32_t i = 0; loads != NULL && i < n; i++) {
        for (size_t k = 0; k < loads[i].n; k++) {
            free((char *)loads[i].inputs[k].path);
        }
        free(loads[i].inputs);
    }
    free(loads);
}

/* How many records a load's reader gave in its first pass over the task's split; UINT64_MAX =
 * nothing is read again, or it is not known. */
static uint64_t first_pass_records(const struct run *run, const struct phase *phase,
                                   const struct op *load, uint32_t task)
{
    uint32_t index = 0;
    const struct lane *lane = phase_lane(phase, task, &index);

    for (uint32_t i = 0; i < op_load(load)->n_agains; i++) {
        const struct op_again *again = &op_load(load)->agains[i];
        json_t *ledger;
        int64_t records;
        if (phase->lanes[op_read(phase->ops[again->op])->lane] != lane) {
            continue;
        }
        ledger = run_ledger(run, again->first_phase, task);
        records = ledger_get(
            ledger, run->plan->phases[again->first_phase]->ops[again->first_op]->name, "emitted");
        json_decref(ledger);
        return ledger == NULL ? UINT64_MAX : (uint64_t)records;
    }
    return UINT64_MAX;
}

static sluice_status make_loads(const struct run *run, const struct phase *phase, uint32_t task,
                                struct load_inputs **out, struct sluice_error *err)
{
    struct load_inputs *loads = calloc(phase->n_ops + 1u, sizeof *loads);

    *out = loads;
    if (loads == NULL) {
        return error_nomem(err, "a task's inputs");
    }
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op *op = phase->ops[i];
        struct slice_range range;
        struct label label;
        if (op->kind != OP_LOAD) {
            continue;
        }
        range = task_slices(run, phase, op, task);
        loads[i].active = range.active;
        if (!range.active) {
            continue;
        }
        loads[i].read_records = first_pass_records(run, phase, op, task);
        label = label_edge(op_load(op)->edge->store_op);
        loads[i].inputs = calloc(range.n_tasks + 1u, sizeof *loads[i].inputs);
        if (loads[i].inputs == NULL) {
            return error_nomem(err, "a task's inputs");
        }
        for (uint32_t t = 0; t < range.n_tasks; t++) {
            uint32_t producer = range.first_task + t;
            const struct edge_directory *directory =
                task_directory(run, op_load(op)->edge, producer);
            const struct commit_output *output = commit_find_output(
                run->tasks[op_load(op)->edge->producer_phase][producer].commit, label.text);
            char *path;
            /* No file is opened for nothing: of many producers few have rows of one partition. */
            if (directory->slices[range.partition].rows == 0) {
                continue;
            }
            path = output == NULL ? NULL : store_join(run->spill_dir, output->file);
            if (path == NULL) {
                return error_set(err, SLUICE_E_INTERNAL, "a commit has no file of '%s'", op->name);
            }
            loads[i].inputs[loads[i].n++] = (struct edge_input){ .path = path,
                                                                 .directory = directory,
                                                                 .partition = range.partition,
                                                                 .ordinal = producer };
        }
    }
    return SLUICE_OK;
}

/* Test hook: SLUICE_TEST_DELAY=SEED makes tasks end in another order. */
static void test_delay(uint32_t phase, uint32_t task)
{
    const char *text = hook_text("SLUICE_TEST_DELAY");

    if (text != NULL) {
        uint64_t x = strtoull(text, NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) +
                     (((uint64_t)phase << 32) + task) * UINT64_C(0xbf58476d1ce4e5b9);
        struct timespec pause = { 0, 0 };
        x ^= x >> 29;
        pause.tv_nsec = (long)(x % 60) * 1000000L;
        nanosleep(&pause, NULL);
    }
}

/* Whether another process committed the task meanwhile; it is done then. */
static sluice_status look_again(struct run *run, uint32_t p, uint32_t task,
                                struct task_attempt *attempt, struct sluice_error *err)
{
    if (attempt->doubtful != NULL && attempt->doubtful(attempt->ctx)) {
        TRY(task_find(run, p, task, false, err));
        attempt->existed = run->tasks[p][task].done;
    }
    return SLUICE_OK;
}

sluice_status run_task(struct run *run, uint32_t p, uint32_t task, struct worker_cache *cache,
                       struct task_attempt *attempt, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct task_state *state = &run->tasks[p][task];
    uint32_t index = 0;
    struct chain_options options = { .plan = run->plan,
                                     .phase = phase,
                                     .task = task,
                                     .spill_dir = run->spill_dir,
                                     .scratch_dir = run->options.scratch,
                                     .memory = run_sorter_memory(run, p),
                                     .rooms = &run->rooms[p],
                                     .cache = cache,
                                     .metrics = attempt->metrics,
                                     .cancelled = attempt->cancelled,
                                     .asks = run->asks };
    const struct lane *reads = task_reads(phase, task, &index);
    struct hash128 digest = { 0, 0 };
    struct source_inputs inputs = {
        .files = reads == NULL ? NULL : source_files_all(run->lane_files[reads->index]),
        .feeder = run->feeder,
        .batch_bytes = run->options.batch_bytes,
        /* The files of a dataset were compared with its manifest. */
        .digest = reads == NULL || reads->hashes != NULL ? NULL : &digest
    };
    struct chain *chain = NULL;
    struct saving saving;
    uint64_t begun = clock_ns();
    char buffer[SPLIT_NAME];
    sluice_status status = saving_init(&saving, run, p, task, attempt, err);

    if (status == SLUICE_OK) {
        status = make_loads(run, phase, task, &inputs.loads, err);
    }
    options.paused = saving_pause(&saving);
    if (status == SLUICE_OK) {
        status = saving_drive(&saving, &options, &inputs, &chain, err);
    }
    if (status == SLUICE_OK && reads != NULL && (reads->hashes != NULL || !hash_is_zero(digest))) {
        status = identity_found(run, reads, index, digest, err);
    }
    if (status == SLUICE_OK && !state->keyed) {
        status = task_try_key(run, p, task, KEY_RECALL, err);
    }
    if (status == SLUICE_OK) {
        status = chain_finish(chain, err);
    }
    if (status == SLUICE_OK) {
        meter_begin(chain_meter(chain));
        test_delay(p, task);
        status = look_again(run, p, task, attempt, err);
        if (status == SLUICE_OK && !state->done) {
            status = commit_task(run, chain, p, task, is_worth(clock_ns() - begun),
                                 &attempt->existed, err);
        }
        meter_end(chain_meter(chain), &attempt->metrics->commit, false);
    }
    if (status == SLUICE_OK) {
        saving_done(&saving);
    } else {
        saving_failed(&saving, status);
    }
    if (status != SLUICE_OK && status != SLUICE_E_CANCELLED) {
        status = error_prefix(err, "%s, %s", phase->name, phase_task_name(phase, task, buffer));
    }
    if (err != NULL) {
        err->code = error_known(err->code); /* a crash or time-out is nothing that others know */
    }
    chain_destroy(chain);
    loads_free(inputs.loads, phase->n_ops);
    saving_deinit(&saving);
    return error_known(status);
}
