/* The stages that write an index. minhash_index_rows: every band key of a split's documents with
 * the reference of the document that stands for it (itself, or the one that it duplicates), and a
 * row for each document that stays (kept = true: no key of any other). minhash_index_keys: these
 * rows by key, each key once, without those that a former index has. write_minhash_index: the files
 * of minhash_format.h, a pair for each virtual partition. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <sluice_files.h>
#include <sluice_state.h>
#include <stdio.h>

#include "minhash_index.h"
#include "minhash_stages.h"

/* ---- minhash_index_rows ---- */

struct rows_config {
    uint8_t kept;
};

static const struct sluice_option rows_options[] = {
    { .name = "kept",
      .doc = "Keys of documents that are dropped are left out, as keep = \"fixed\" wants it.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct rows_config, kept) },
};

static sluice_status rows_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct rows_config *config = given;
    bool *kept = malloc(sizeof *kept);

    (void)api;
    (void)host;
    if (kept == NULL) {
        return sluice_nomem(err);
    }
    *kept = config->kept != 0;
    *shared = kept;
    return SLUICE_OK;
}

static sluice_status rows_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const main[][2] = { { SLUICE_ROW, "uint64" },
                                           { "id", "utf8" },
                                           { "_keys", "binary" },
                                           { "_sig", "binary" },
                                           { "_rank", "uint64" } };
    static const char *const added[][2] = {
        { SLUICE_KEY, "fixed[16]" }, { SLUICE_ROW, "uint64" }, { "ref", "uint64" },
        { "rank", "uint64" },        { "id", "utf8" },         { "sig", "binary" }
    };
    int32_t index;
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 5; i++) {
        status = plan->need(plan, 0, main[i][0], main[i][1], 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, SLUICE_ROW, "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "dup_of", "utf8", 0, &index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 6; i++) {
        status = plan->add(plan, added[i][0], added[i][1], NULL, err);
    }
    return status;
}

struct listed {
    uint64_t row, reference;
};

struct rows_worker {
    bool kept;
    struct sluice_bytes list; /* struct listed, ascending */
    uint64_t at;
};

static sluice_status rows_worker_open(void *shared, void **out, struct sluice_error *err)
{
    sluice_status status = sluice_worker_new(NULL, sizeof(struct rows_worker), out, err);

    if (status == SLUICE_OK) {
        ((struct rows_worker *)*out)->kept = *(const bool *)shared;
    }
    return status;
}

static void rows_worker_close(void *state)
{
    struct rows_worker *worker = state;

    sluice_bytes_free(&worker->list);
    free(worker);
}

static sluice_status rows_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct rows_worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;
    struct sluice_rows out = sluice_rows_begin("fffftt");
    const struct listed *list;
    uint64_t n_list;

    for (int64_t k = 0; batch->port == 1 && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t size;
        const char *id = sluice_text(columns[1], row, &size);
        struct listed listed = { sluice_uint64(columns[0], row), minhash_reference(id, size) };
        if (!sluice_bytes_add(&worker->list, &listed, sizeof listed)) {
            return sluice_nomem(err);
        }
    }
    if (batch->port == 1) {
        return SLUICE_OK;
    }
    list = (const struct listed *)(const void *)worker->list.data;
    n_list = worker->list.size / sizeof *list;
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t number = sluice_uint64(columns[0], row);
        uint64_t rank = sluice_uint64(columns[4], row);
        size_t id_size;
        size_t n_keys;
        size_t sig_size;
        const char *id = sluice_text(columns[1], row, &id_size);
        const char *keys = sluice_text(columns[2], row, &n_keys);
        const char *sig = sluice_text(columns[3], row, &sig_size);
        uint64_t reference = minhash_reference(id, id_size);
        bool dropped;
        while (worker->at < n_list && list[worker->at].row < number) {
            worker->at++;
        }
        dropped = worker->at < n_list && list[worker->at].row == number;
        if (dropped) {
            reference = list[worker->at].reference;
        }
        if (n_keys < 16 || (dropped && worker->kept)) {
            continue;
        }
        for (size_t i = 0; i <= n_keys / 16; i++) {
            bool document = i == n_keys / 16;
            if (document && dropped) {
                break;
            }
            if (document) {
                char key[16];
                for (int b = 0; b < 8; b++) {
                    key[b] = (char)(reference << 1 >> (56 - 8 * b));
                    key[8 + b] = 0;
                }
                sluice_rows_add(&out, 0, key, 16);
            } else {
                sluice_rows_add(&out, 0, keys + 16 * i, 16);
            }
            sluice_rows_add(&out, 1, &number, 8);
            sluice_rows_add(&out, 2, &reference, 8);
            sluice_rows_add(&out, 3, &rank, 8);
            sluice_rows_add(&out, 4, id, document ? id_size : 0);
            sluice_rows_add(&out, 5, sig, document ? sig_size : 0);
            sluice_rows_next(&out);
        }
    }
    return sluice_rows_emit(&out, SLUICE_OK, emit, err);
}

static sluice_status rows_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct rows_worker *worker = state;
    sluice_status status = io->write(io, &worker->at, sizeof worker->at);

    (void)err;
    return status == SLUICE_OK ? sluice_state_put(io, worker->list.data, worker->list.size)
                               : status;
}

static sluice_status rows_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct rows_worker *worker = state;
    sluice_status status = io->read(io, &worker->at, sizeof worker->at);

    (void)version;
    (void)err;
    return status == SLUICE_OK ? sluice_state_get(io, sizeof(struct listed), &worker->list)
                               : status;
}

const struct sluice_stage minhash_index_rows_stage = {
    .size = sizeof minhash_index_rows_stage,
    .name = "minhash_index_rows",
    .version = "1.0",
    .summary = "Rows of an index, for the exchange (part of `minhash_index`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES | SLUICE_STAGE_SIDE_INPUT |
             SLUICE_STAGE_SIDE_BY_SPLIT,
    .options = rows_options,
    .n_options = sizeof rows_options / sizeof rows_options[0],
    .option_stride = sizeof rows_options[0],
    .config_size = sizeof(struct rows_config),
    .bytes_worker = 1 << 20,
    .open = rows_open,
    .prepare = rows_prepare,
    .worker_open = rows_worker_open,
    .process = rows_process,
    .state_version = 1,
    .save = rows_save,
    .load = rows_load,
    .worker_close = rows_worker_close,
    .close = free,
};

/* ---- minhash_index_keys ---- */

struct keys_config {
    struct minhash_parameters parameters;
    const char *index;
};

static const struct sluice_option keys_options[] = {
    MINHASH_PARAMETER_OPTIONS,
    { .name = "index",
      .doc = "Manifest of the former snapshot, whose keys are left out.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_BESIDE,
      .offset = offsetof(struct keys_config, index) },
};

static sluice_status keys_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct keys_config *config = given;
    struct minhash_index **index = calloc(1, sizeof *index);
    sluice_status status = SLUICE_OK;

    if (index == NULL) {
        return sluice_nomem(err);
    }
    if (config->index != NULL) {
        status = minhash_index_open(api, host, config->index, &config->parameters, index, err);
    }
    if (status != SLUICE_OK) {
        free(index);
        return status;
    }
    *shared = index;
    return SLUICE_OK;
}

static void keys_close(void *shared)
{
    minhash_index_close(*(struct minhash_index **)shared);
    free(shared);
}

static const char *const index_columns[][2] = { { SLUICE_KEY, "fixed[16]" },
                                                { "ref", "uint64" },
                                                { "rank", "uint64" },
                                                { "id", "utf8" },
                                                { "sig", "binary" } };

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    int32_t index;
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 5; i++) {
        status = plan->need(plan, 0, index_columns[i][0], index_columns[i][1], 0, &index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 5; i++) {
        status = plan->add(plan, index_columns[i][0], index_columns[i][1], NULL, err);
    }
    return status;
}

struct keys_worker {
    struct minhash_cursor *cursor; /* or NULL */
    char last[2][16];              /* band key and document key before */
    bool begun[2];
};

static sluice_status keys_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct minhash_index *const *index = shared;
    struct keys_worker *worker = calloc(1, sizeof *worker);
    sluice_status status = SLUICE_OK;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    if (*index != NULL) {
        status = minhash_cursor_open(*index, &worker->cursor, err);
    }
    if (status != SLUICE_OK) {
        free(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static void keys_worker_close(void *state)
{
    struct keys_worker *worker = state;

    minhash_cursor_close(worker->cursor);
    free(worker);
}

static sluice_status keys_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct keys_worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;
    struct sluice_rows out = sluice_rows_begin("ffftt");
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *key = (const char *)columns[0]->buffers[1] + 16 * row;
        uint64_t reference = sluice_uint64(columns[1], row);
        uint64_t rank = sluice_uint64(columns[2], row);
        size_t id_size;
        size_t sig_size;
        const char *id = sluice_text(columns[3], row, &id_size);
        const char *sig = sluice_text(columns[4], row, &sig_size);
        bool document = sig_size > 0;
        bool found = worker->begun[document] && memcmp(worker->last[document], key, 16) == 0;
        uint64_t other;
        worker->begun[document] = true;
        memcpy(worker->last[document], key, 16);
        if (!found && !document && worker->cursor != NULL) {
            status = minhash_cursor_find(worker->cursor, key, &other, &found, err);
        }
        if (found) {
            continue;
        }
        sluice_rows_add(&out, 0, key, 16);
        sluice_rows_add(&out, 1, &reference, 8);
        sluice_rows_add(&out, 2, &rank, 8);
        sluice_rows_add(&out, 3, id, id_size);
        sluice_rows_add(&out, 4, sig, sig_size);
        sluice_rows_next(&out);
    }
    return sluice_rows_emit(&out, status, emit, err);
}

/* The cursor finds its place by the next key. */
static sluice_status keys_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct keys_worker *worker = state;
    const uint64_t begun[2] = { worker->begun[0], worker->begun[1] };
    sluice_status status = io->write(io, begun, sizeof begun);

    (void)err;
    return status == SLUICE_OK ? io->write(io, worker->last, sizeof worker->last) : status;
}

static sluice_status keys_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct keys_worker *worker = state;
    uint64_t begun[2] = { 0, 0 };
    sluice_status status = io->read(io, begun, sizeof begun);

    (void)version;
    (void)err;
    worker->begun[0] = begun[0] != 0;
    worker->begun[1] = begun[1] != 0;
    return status == SLUICE_OK ? io->read(io, worker->last, sizeof worker->last) : status;
}

const struct sluice_stage minhash_index_keys_stage = {
    .size = sizeof minhash_index_keys_stage,
    .name = "minhash_index_keys",
    .version = "1.0",
    .summary = "Rows of an index by key, each key once (part of `minhash_index`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = keys_options,
    .n_options = sizeof keys_options / sizeof keys_options[0],
    .option_stride = sizeof keys_options[0],
    .config_size = sizeof(struct keys_config),
    .bytes_worker = 1 << 20,
    .open = keys_open,
    .prepare = keys_prepare,
    .worker_open = keys_worker_open,
    .process = keys_process,
    .state_version = 1,
    .save = keys_save,
    .load = keys_load,
    .worker_close = keys_worker_close,
    .close = keys_close,
};

/* ---- write_minhash_index ---- */

struct write_config {
    struct minhash_parameters parameters;
    const char *path;
    int64_t parent;
};

static const struct sluice_option write_options[] = {
    MINHASH_PARAMETER_OPTIONS,
    SLUICE_FILES_PATH(struct write_config, path),
    { .name = "parent",
      .doc =
          "Snapshot of the same dataset that is carried on: its files stay, new ones come behind "
          "them; 0: none.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 999999999,
      .offset = offsetof(struct write_config, parent) },
};

struct writer {
    const struct write_config *config;
    uint64_t head[2]; /* hashes of the two heads */
    uint64_t head_size;
};

static sluice_status write_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    struct writer *writer = calloc(1, sizeof *writer);
    int ok = writer != NULL;

    (void)api;
    (void)host;
    for (int k = 0; ok && k < 2; k++) {
        struct sluice_bytes head = { 0 };
        writer->config = given;
        ok = minhash_head_add(&head, k == 1, writer->config->parameters.text);
        if (ok) {
            writer->head[k] = minhash_hash(head.data, head.size);
            writer->head_size = head.size;
        }
        sluice_bytes_free(&head);
    }
    if (!ok) {
        free(writer);
        return sluice_nomem(err);
    }
    *shared = writer;
    return SLUICE_OK;
}

static sluice_status write_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct writer *writer = shared;
    int32_t index;
    char parent[32];
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < 5; i++) {
        status = plan->need(plan, 0, index_columns[i][0], index_columns[i][1], 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".keys", "none", 0, err);
    }
    if (status == SLUICE_OK) {
        status = plan->output(plan, ".docs", "none", 0, err);
    }
    if (status == SLUICE_OK) { /* 0: it begins, and may be carried on */
        snprintf(parent, sizeof parent, "%lld", (long long)writer->config->parent);
        status = plan->note(plan, "append", parent, err);
    }
    return status;
}

struct write_worker {
    const struct writer *writer;
    struct sluice_bytes out[2]; /* of the two files, not yet written */
    uint64_t size[2];           /* of the two files so far */
    uint64_t count[2];
    struct sluice_bytes places;
    XXH3_state_t *hash; /* of the entries */
};

static sluice_status write_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct write_worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->writer = shared;
    worker->hash = XXH3_createState();
    if (worker->hash == NULL) {
        free(worker);
        return sluice_nomem(err);
    }
    XXH3_64bits_reset(worker->hash);
    *out = worker;
    return SLUICE_OK;
}

static void write_worker_close(void *state)
{
    struct write_worker *worker = state;

    sluice_bytes_free(&worker->out[0]);
    sluice_bytes_free(&worker->out[1]);
    sluice_bytes_free(&worker->places);
    XXH3_freeState(worker->hash);
    free(worker);
}

static sluice_status give(struct write_worker *worker, struct sluice_emit *emit)
{
    uint64_t skip = worker->size[0] == 0 ? worker->writer->head_size : 0;
    sluice_status status = SLUICE_OK;

    if (worker->out[0].size > skip) {
        XXH3_64bits_update(worker->hash, worker->out[0].data + skip, worker->out[0].size - skip);
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < 2; k++) {
        if (worker->out[k].size > 0) {
            status = emit->write(emit, k, worker->out[k].data, worker->out[k].size);
        }
        worker->size[k] += worker->out[k].size;
        worker->out[k].size = 0;
    }
    return status;
}

/* Both heads, before the first row: the files of a partition come in pairs. */
static int begin_files(struct write_worker *worker)
{
    const char *parameters = worker->writer->config->parameters.text;

    return worker->size[0] + worker->out[0].size > 0 ||
           (minhash_head_add(&worker->out[0], false, parameters) &&
            minhash_head_add(&worker->out[1], true, parameters));
}

static sluice_status write_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct write_worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;
    uint64_t before[2] = { worker->count[0], worker->count[1] };
    int ok = batch->n == 0 || begin_files(worker);
    sluice_status status;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t reference = sluice_uint64(columns[1], row);
        size_t id_size;
        size_t sig_size;
        const char *id = sluice_text(columns[3], row, &id_size);
        const char *sig = sluice_text(columns[4], row, &sig_size);
        if (sig_size == 0) {
            ok = sluice_bytes_add(&worker->out[0], (const char *)columns[0]->buffers[1] + 16 * row,
                                  16) &&
                 sluice_bytes_add(&worker->out[0], &reference, 8);
            worker->count[0]++;
            continue;
        }
        if (worker->count[1] % MINHASH_EVERY == 0) {
            uint64_t place[2] = { reference, worker->size[1] + worker->out[1].size };
            ok = sluice_bytes_add(&worker->places, place, sizeof place);
        }
        ok = ok && minhash_record_add(&worker->out[1], reference, sluice_uint64(columns[2], row),
                                      id, id_size, sig, sig_size);
        worker->count[1]++;
    }
    if (!ok) {
        return sluice_nomem(err);
    }
    status = give(worker, emit);
    if (status == SLUICE_OK) {
        status = emit->measure(emit, "keys", (int64_t)(worker->count[0] - before[0]));
    }
    return status == SLUICE_OK
               ? emit->measure(emit, "documents", (int64_t)(worker->count[1] - before[1]))
               : status;
}

static sluice_status write_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct write_worker *worker = state;
    const struct writer *writer = worker->writer;
    uint64_t directory = worker->size[1];
    int ok;

    if (worker->size[0] == 0) {
        return SLUICE_OK;
    }
    ok = minhash_foot_add(&worker->out[0], worker->count[0], writer->head_size,
                          XXH3_64bits_digest(worker->hash), writer->head[0]) &&
         sluice_bytes_add(&worker->out[1], worker->places.data, worker->places.size) &&
         minhash_foot_add(&worker->out[1], worker->count[1], directory,
                          minhash_hash(worker->places.data, worker->places.size), writer->head[1]);
    return ok ? give(worker, emit) : sluice_nomem(err);
}

const struct sluice_stage write_minhash_index_stage = {
    .size = sizeof write_minhash_index_stage,
    .name = "write_minhash_index",
    .version = "1.0",
    .summary = "Files of a MinHash index (part of `minhash_index`)",
    .doc = "Each virtual partition gives a pair of files: sorted band keys with references to "
           "documents (.keys), and the documents' ids and signatures (.docs). "
           "plugins/minhash/minhash_format.h describes them to the byte.",
    .role = SLUICE_ROLE_WRITER,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = write_options,
    .n_options = sizeof write_options / sizeof write_options[0],
    .option_stride = sizeof write_options[0],
    .config_size = sizeof(struct write_config),
    .bytes_worker = 8 << 20,
    .open = write_open,
    .prepare = write_prepare,
    .worker_open = write_worker_open,
    .process = write_process,
    .flush = write_flush,
    .worker_close = write_worker_close,
    .close = free,
};
