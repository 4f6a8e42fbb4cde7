/* span_keys: the hashes of all runs of n sentences (lines, paragraphs) of a text. span_marks: of
 * the runs with one hash, sorted by position, all but the first are marked to be removed. */
#include "dedup.h"
#include "units.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct keys_config {
    const char *over;
    int32_t unit;
    int64_t n;
    uint8_t normalise, peer;
};

static const struct sluice_option keys_options[] = {
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct keys_config, over) },
    { .name = "unit",
      .doc = "What a text is cut into.",
      .def = "sentences",
      .choices = UNIT_CHOICES,
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct keys_config, unit) },
    { .name = "n",
      .doc = "Units of a run that is compared.",
      .def = "3",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1000,
      .offset = offsetof(struct keys_config, n) },
    { .name = "normalise",
      .doc = "Compare units lower-cased, with numbers as 0, without punctuation and diacritics.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct keys_config, normalise) },
    { .name = "peer",
      .doc = "Number a text's units in 16 bits, as datatrove does.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct keys_config, peer) },
};

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct keys_config *config = shared;
    static const char *const columns[][2] = {
        { SLUICE_KEY, "fixed[16]" }, { "at", "uint32" }, { "id", "utf8" }, { SLUICE_ROW, "uint64" }
    };
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->add(plan, columns[i][0], columns[i][1], NULL, err);
    }
    return status;
}

struct keys_worker {
    const struct keys_config *config;
    struct units units;
};

static sluice_status keys_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct keys_worker), out, err);
}

static void keys_worker_close(void *state)
{
    struct keys_worker *worker = state;

    units_deinit(&worker->units);
    free(worker);
}

static sluice_status keys_row(struct keys_worker *worker, const char *text, size_t size,
                              const char *id, size_t id_size, uint64_t number,
                              struct sluice_rows *rows, struct sluice_error *err)
{
    const struct keys_config *config = worker->config;
    struct units *units = &worker->units;
    size_t n = (size_t)config->n;
    size_t filled = 0; /* pieces of the run that hold something */
    sluice_status status = units_cut(units, (enum unit)config->unit, text, size, err);

    if (status == SLUICE_OK) {
        status = units_normalise(units, (enum unit)config->unit, text, config->normalise, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < units->pieces.count; i++) {
        const struct text_span *pieces = units->pieces.data;
        XXH128_canonical_t key;
        uint32_t at;
        filled += pieces[i].begin < pieces[i].end;
        if (i + 1 < n) {
            continue;
        }
        at = (uint32_t)(i + 1 - n);
        if (filled > 0) { /* a run of nothing is no duplicate */
            XXH128_canonicalFromHash(&key, XXH3_128bits(units->joined.data + pieces[at].begin,
                                                        pieces[i].end - pieces[at].begin));
            filled -= pieces[at].begin < pieces[at].end;
            at = config->peer ? at & 0xffff : at;
            sluice_rows_add(rows, 0, key.digest, sizeof key.digest);
            sluice_rows_add(rows, 1, &at, sizeof at);
            sluice_rows_add(rows, 2, id, id_size);
            sluice_rows_add(rows, 3, &number, sizeof number);
            if (!sluice_rows_next(rows)) {
                return sluice_nomem(err);
            }
        }
    }
    return status;
}

static sluice_status keys_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const uint64_t *numbers = batch->array->children[2]->buffers[1];
    struct sluice_rows rows = sluice_rows_begin("fftf");
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        size_t id_size;
        const char *text = sluice_text(batch->array->children[0], row, &n);
        const char *id = sluice_text(batch->array->children[1], row, &id_size);
        status = keys_row(state, text, n, id, id_size, numbers[row], &rows, err);
        if (status == SLUICE_OK && rows.n >= 1 << 16) {
            status = sluice_rows_emit(&rows, status, emit, err);
        }
    }
    return sluice_rows_emit(&rows, status, emit, err);
}

const struct sluice_stage span_keys_stage = {
    .size = sizeof span_keys_stage,
    .name = "span_keys",
    .version = "1.0",
    .bytes_per_batch = 34,
    .summary = "Hashes of runs of sentences (part of `sentence_dedup`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = keys_options,
    .n_options = sizeof keys_options / sizeof keys_options[0],
    .option_stride = sizeof keys_options[0],
    .config_size = sizeof(struct keys_config),
    .bytes_worker = 4 << 20,
    .open = sluice_open_config,
    .prepare = keys_prepare,
    .worker_open = keys_worker_open,
    .process = keys_process,
    .worker_close = keys_worker_close,
};

/* ---- span_marks ---- */

static sluice_status marks_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const needed[][2] = {
        { SLUICE_KEY, "fixed[16]" }, { "at", "uint32" }, { "id", "utf8" }, { SLUICE_POS, "uint64" }
    };
    static const char *const added[][2] = { { SLUICE_POS, "uint64" },
                                            { "at", "uint32" },
                                            { "dup_of", "utf8" } };
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 0, needed[i][0], needed[i][1], 0, NULL, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->add(plan, added[i][0], added[i][1], NULL, err);
    }
    return status;
}

/* The hash and the document of the run that stays, across batches. */
struct marks_worker {
    char key[16];
    int begun;
    struct sluice_bytes id;
};

static sluice_status marks_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    *out = calloc(1, sizeof(struct marks_worker));
    return *out == NULL ? sluice_nomem(err) : SLUICE_OK;
}

static void marks_worker_close(void *state)
{
    struct marks_worker *worker = state;

    sluice_bytes_free(&worker->id);
    free(worker);
}

static sluice_status marks_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct marks_worker *worker = state;
    const char *keys = batch->array->children[0]->buffers[1];
    const uint32_t *at = batch->array->children[1]->buffers[1];
    const uint64_t *positions = batch->array->children[3]->buffers[1];
    struct sluice_rows rows = sluice_rows_begin("fft");
    int ok = 1;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        if (!worker->begun || memcmp(worker->key, keys + 16 * row, 16) != 0) {
            size_t n;
            const char *id = sluice_text(batch->array->children[2], row, &n);
            worker->begun = 1;
            memcpy(worker->key, keys + 16 * row, 16);
            worker->id.size = 0;
            ok = sluice_bytes_add(&worker->id, id, n);
            continue;
        }
        sluice_rows_add(&rows, 0, &positions[row], 8);
        sluice_rows_add(&rows, 1, &at[row], 4);
        sluice_rows_add(&rows, 2, worker->id.data, worker->id.size);
        ok = sluice_rows_next(&rows);
    }
    return sluice_rows_emit(&rows, ok ? SLUICE_OK : sluice_nomem(err), emit, err);
}

static sluice_status marks_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct marks_worker *worker = state;
    const uint64_t begun = (uint64_t)worker->begun;
    sluice_status status = io->write(io, &begun, sizeof begun);

    (void)err;
    if (status == SLUICE_OK) {
        status = io->write(io, worker->key, sizeof worker->key);
    }
    return status == SLUICE_OK ? sluice_state_put(io, worker->id.data, worker->id.size) : status;
}

static sluice_status marks_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct marks_worker *worker = state;
    uint64_t begun = 0;
    sluice_status status = io->read(io, &begun, sizeof begun);

    (void)version;
    (void)err;
    worker->begun = begun != 0;
    if (status == SLUICE_OK) {
        status = io->read(io, worker->key, sizeof worker->key);
    }
    return status == SLUICE_OK ? sluice_state_get(io, 1, &worker->id) : status;
}

const struct sluice_stage span_marks_stage = {
    .size = sizeof span_marks_stage,
    .name = "span_marks",
    .version = "1.0",
    .bytes_per_batch = 4,
    .summary = "All but the first of equal runs of sentences (part of `sentence_dedup`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .prepare = marks_prepare,
    .worker_open = marks_worker_open,
    .process = marks_process,
    .save = marks_save,
    .load = marks_load,
    .state_version = 1,
    .worker_close = marks_worker_close,
};
