/* mix_cuts: where in the order of hashes each source stops. A source's documents come sorted by
 * hash, all in one partition; the side input says what is wanted of each source. */
#include <sluice_state.h>
#include <stdio.h>

#include "mix.h"
#include "shuffle_key.h"

struct target {
    uint64_t key, documents, size, target, whole, rest;
    char *name;
};

struct worker {
    struct sluice_bytes targets; /* struct target */
    struct target *source;       /* in hand, or NULL */
    struct mixture_cut cut;
};

static sluice_status cuts_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, 0, "key", "fixed[16]", 0, NULL, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "size", "uint64", 0, NULL, err);
    }
    for (int i = 0; status == SLUICE_OK && i < MIX_TARGET_COLUMNS; i++) {
        status = plan->need(plan, 1, mix_target_columns[i].name, mix_target_columns[i].type, 0,
                            NULL, err);
    }
    return status == SLUICE_OK ? mix_declare(plan, mix_cut_columns, MIX_CUT_COLUMNS, err) : status;
}

static sluice_status cuts_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    return sluice_worker_new(NULL, sizeof(struct worker), out, err);
}

static struct target *targets_of(const struct worker *worker, size_t *n)
{
    *n = (size_t)(worker->targets.size / sizeof(struct target));
    return (struct target *)(void *)worker->targets.data;
}

static void cuts_worker_close(void *state)
{
    struct worker *worker = state;
    size_t n;
    struct target *targets = targets_of(worker, &n);

    for (size_t k = 0; k < n; k++) {
        free(targets[k].name);
    }
    sluice_bytes_free(&worker->targets);
    free(worker);
}

static sluice_status take_targets(struct worker *worker, const struct sluice_batch *batch,
                                  struct sluice_error *err)
{
    struct ArrowArray *const *columns = batch->array->children;

    if (worker->source != NULL) { /* by a saved state that is none; it would move away */
        return shuffle_fail(err, SLUICE_E_INTERNAL, "", "a target comes behind the documents");
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct target target = { .key = sluice_uint64(columns[0], row),
                                 .documents = sluice_uint64(columns[2], row),
                                 .size = sluice_uint64(columns[3], row),
                                 .target = sluice_uint64(columns[4], row),
                                 .whole = sluice_uint64(columns[5], row),
                                 .rest = sluice_uint64(columns[6], row) };
        size_t n;
        const char *name = sluice_text(columns[1], row, &n);
        target.name = malloc(n + 1);
        if (target.name == NULL) {
            return shuffle_nomem(err);
        }
        memcpy(target.name, name, n);
        target.name[n] = '\0';
        if (!sluice_bytes_add(&worker->targets, &target, sizeof target)) {
            free(target.name);
            return shuffle_nomem(err);
        }
    }
    return SLUICE_OK;
}

/* "taken_web": [a-z0-9_]+ is what a measure may be called. */
static sluice_status tell(const char *what, const char *source, uint64_t value,
                          struct sluice_emit *emit)
{
    char name[56];
    size_t n = (size_t)snprintf(name, sizeof name, "%s_%s", what, source);

    for (size_t i = 0; i < n && i < sizeof name - 1; i++) {
        if (name[i] >= 'A' && name[i] <= 'Z') {
            name[i] = (char)(name[i] - 'A' + 'a');
        } else if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9'))) {
            name[i] = '_';
        }
    }
    return emit->measure(emit, name, (int64_t)value);
}

/* The source in hand is complete. */
static sluice_status end_source(struct worker *worker, struct mix_rows *rows, int *ok,
                                struct sluice_emit *emit)
{
    const struct target *source = worker->source;
    uint64_t words[10];
    double epochs;
    sluice_status status;

    if (source == NULL) {
        return SLUICE_OK;
    }
    mixture_cut_end(&worker->cut);
    words[0] = source->key;
    words[1] = source->whole;
    words[2] = worker->cut.hash;
    words[3] = worker->cut.any;
    words[5] = source->documents;
    words[6] = source->size;
    words[7] = source->target;
    words[8] = source->whole * source->documents + worker->cut.documents;
    words[9] = source->whole * source->size + worker->cut.taken;
    epochs = source->size > 0 ? (double)words[9] / (double)source->size : 0;
    for (int i = 0; *ok && i < 10; i++) {
        *ok = i == 4 ? mix_rows_text(rows, i, source->name, strlen(source->name))
                     : mix_rows_fixed(rows, i, &words[i], sizeof words[i]);
    }
    *ok = *ok && mix_rows_fixed(rows, 10, &epochs, sizeof epochs);
    rows->n++;
    status = tell("available", source->name, source->size, emit);
    return status == SLUICE_OK ? tell("taken", source->name, words[9], emit) : status;
}

static sluice_status begin_source(struct worker *worker, uint64_t key, struct sluice_error *err)
{
    size_t n;
    struct target *targets = targets_of(worker, &n);

    worker->source = NULL;
    memset(&worker->cut, 0, sizeof worker->cut);
    for (size_t k = 0; k < n; k++) {
        if (targets[k].key == key) {
            worker->source = &targets[k];
            worker->cut.rest = targets[k].rest;
            return SLUICE_OK;
        }
    }
    (void)err;
    return SLUICE_OK; /* nothing is wanted of it */
}

static sluice_status cuts_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const uint8_t *keys = batch->array->children[0]->buffers[1];
    struct mix_rows rows = { 0 };
    sluice_status status = SLUICE_OK;
    int ok = 1;

    if (batch->port == 1) {
        return take_targets(worker, batch, err);
    }
    for (int64_t k = 0; ok && status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t key = shuffle_get(keys + 16 * row);
        if (worker->source == NULL || worker->source->key != key) {
            status = end_source(worker, &rows, &ok, emit);
            if (status == SLUICE_OK) {
                status = begin_source(worker, key, err);
            }
        }
        if (status == SLUICE_OK) {
            mixture_cut_add(&worker->cut, shuffle_get(keys + 16 * row + 8),
                            sluice_uint64(batch->array->children[1], row));
        }
    }
    if (status != SLUICE_OK) {
        struct sluice_error ignored = { .size = sizeof ignored };
        (void)mix_rows_emit(&rows, 0, mix_cut_columns, MIX_CUT_COLUMNS, emit, &ignored);
        return status;
    }
    return mix_rows_emit(&rows, ok, mix_cut_columns, MIX_CUT_COLUMNS, emit, err);
}

static sluice_status cuts_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct mix_rows rows = { 0 };
    int ok = 1;
    sluice_status status = end_source(worker, &rows, &ok, emit);
    sluice_status given = mix_rows_emit(&rows, ok && status == SLUICE_OK, mix_cut_columns,
                                        MIX_CUT_COLUMNS, emit, err);

    return status != SLUICE_OK ? status : given;
}

/* ---- saved states ---- */

#define TARGET_WORDS 6
#define CUT_WORDS 9

static sluice_status save_target(const struct target *target, struct sluice_io *io)
{
    const uint64_t words[TARGET_WORDS] = { target->key,    target->documents, target->size,
                                           target->target, target->whole,     target->rest };
    sluice_status status = io->write(io, words, sizeof words);

    return status == SLUICE_OK ? sluice_state_put(io, target->name, strlen(target->name)) : status;
}

static sluice_status cuts_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    const struct mixture_cut *cut = &worker->cut;
    const uint64_t words[CUT_WORDS] = {
        cut->rest,       cut->taken,      cut->documents,       cut->hash,  cut->any,
        cut->group_hash, cut->group_size, cut->group_documents, cut->closed
    };
    size_t n;
    const struct target *targets = targets_of(worker, &n);
    const uint64_t head[2] = { n, worker->source == NULL ? n : (size_t)(worker->source - targets) };
    sluice_status status = io->write(io, head, sizeof head);

    (void)err;
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        status = save_target(&targets[k], io);
    }
    return status == SLUICE_OK ? io->write(io, words, sizeof words) : status;
}

static sluice_status load_target(struct worker *worker, struct sluice_io *io,
                                 struct sluice_error *err)
{
    struct target target = { 0 };
    uint64_t words[TARGET_WORDS] = { 0 };
    sluice_status status = io->read(io, words, sizeof words);

    if (status == SLUICE_OK) {
        status = mix_name_load(io, &target.name);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    target.key = words[0];
    target.documents = words[1];
    target.size = words[2];
    target.target = words[3];
    target.whole = words[4];
    target.rest = words[5];
    if (!sluice_bytes_add(&worker->targets, &target, sizeof target)) {
        free(target.name);
        return shuffle_nomem(err);
    }
    return SLUICE_OK;
}

static sluice_status cuts_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t head[2] = { 0, 0 };
    uint64_t words[CUT_WORDS] = { 0 };
    sluice_status status = io->read(io, head, sizeof head);
    size_t n;

    (void)version;
    for (uint64_t k = 0; status == SLUICE_OK && k < head[0]; k++) {
        status = load_target(worker, io, err);
    }
    if (status == SLUICE_OK) {
        status = io->read(io, words, sizeof words);
    }
    if (status != SLUICE_OK || head[1] > head[0]) {
        return status == SLUICE_OK ? SLUICE_E_DATA : status;
    }
    worker->source = head[1] < head[0] ? targets_of(worker, &n) + head[1] : NULL;
    worker->cut = (struct mixture_cut){ .rest = words[0],
                                        .taken = words[1],
                                        .documents = words[2],
                                        .hash = words[3],
                                        .any = words[4] != 0,
                                        .group_hash = words[5],
                                        .group_size = words[6],
                                        .group_documents = words[7],
                                        .closed = words[8] != 0 };
    return SLUICE_OK;
}

const struct sluice_stage mix_cuts_stage = {
    .size = sizeof mix_cuts_stage,
    .name = "mix_cuts",
    .version = "1.0",
    .summary = "Where in the order of hashes each source of a mixture stops (part of `mix`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES | SLUICE_STAGE_SIDE_INPUT,
    .bytes_worker = 1 << 20,
    .prepare = cuts_prepare,
    .worker_open = cuts_worker_open,
    .process = cuts_process,
    .save = cuts_save,
    .load = cuts_load,
    .state_version = 1,
    .flush = cuts_flush,
    .worker_close = cuts_worker_close,
};
