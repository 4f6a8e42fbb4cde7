/* minhash_keys: one row a band, for the exchange. minhash_edges: rows of one band key, sorted by
 * position, are candidates: each is joined to the one before, and, with an index, the first of them
 * to the index' document. With buckets = true a row is a key (its first 64 bits) and a document
 * that has it, for minhash_fixed. In the order of the peer (column `rest`) the rows of one key are
 * sorted by their band's values first, as datatrove's stage 2 reads them. */
#include "minhash_index.h"
#include "minhash_stages.h"

/* ---- minhash_keys ---- */

struct keys {
    int32_t rest; /* column, or -1 */
};

static sluice_status keys_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    struct keys *keys = calloc(1, sizeof *keys);

    (void)api;
    (void)host;
    (void)config;
    *shared = keys;
    return keys == NULL ? sluice_nomem(err) : SLUICE_OK;
}

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct keys *keys = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, "_keys", "binary", 0, &index, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_rest", "binary", 1, &keys->rest, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, SLUICE_KEY, "fixed[16]", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, SLUICE_ROW, "uint64", NULL, err);
    }
    return status == SLUICE_OK && keys->rest >= 0 ? plan->add(plan, "rest", "binary", NULL, err)
                                                  : status;
}

static sluice_status keys_process(void *shared, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct keys *keys = shared;
    const uint64_t *rows = batch->array->children[1]->buffers[1];
    struct sluice_rows out = sluice_rows_begin(keys->rest >= 0 ? "fft" : "ff");

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t size;
        const char *bytes = sluice_text(batch->array->children[0], row, &size);
        sluice_rows_add(&out, 0, bytes, size / 16 * 16);
        for (size_t i = 0; i < size / 16; i++) {
            sluice_rows_add(&out, 1, &rows[row], 8);
        }
        if (keys->rest >= 0 && size >= 16) {
            size_t rest_size;
            const char *rest = sluice_text(batch->array->children[keys->rest], row, &rest_size);
            size_t each = rest_size / (size / 16);
            for (size_t i = 0; i < size / 16; i++) {
                sluice_rows_add(&out, 2, rest + i * each, each);
            }
        }
        out.n += (int64_t)(size / 16);
    }
    return sluice_rows_emit(&out, SLUICE_OK, emit, err);
}

const struct sluice_stage minhash_keys_stage = {
    .size = sizeof minhash_keys_stage,
    .name = "minhash_keys",
    .version = "2.0",
    .summary = "One row a band, for the exchange (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .open = keys_open,
    .prepare = keys_prepare,
    .process = keys_process,
    .close = free,
};

/* ---- minhash_edges ---- */

struct edges_config {
    struct minhash_parameters parameters;
    const char *index;
    uint8_t buckets;
};

static const struct sluice_option edges_options[] = {
    MINHASH_PARAMETER_OPTIONS,
    { .name = "index",
      .doc = "Manifest of the index' snapshot that documents are compared with as well.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_BESIDE,
      .offset = offsetof(struct edges_config, index) },
    { .name = "buckets",
      .doc = "Rows are keys that several documents have, and each of these, for `minhash_fixed`.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct edges_config, buckets) },
};

struct edges {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    struct minhash_index *index; /* or NULL */
    int32_t rest;                /* column, or -1 */
    bool buckets;
};

static sluice_status edges_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    const struct edges_config *config = given;
    struct edges *edges = calloc(1, sizeof *edges);
    sluice_status status = SLUICE_OK;

    if (edges == NULL) {
        return sluice_nomem(err);
    }
    edges->api = api;
    edges->host = host;
    edges->buckets = config->buckets != 0;
    if (config->index != NULL) {
        status =
            minhash_index_open(api, host, config->index, &config->parameters, &edges->index, err);
    }
    if (status != SLUICE_OK) {
        free(edges);
        return status;
    }
    *shared = edges;
    return SLUICE_OK;
}

static void edges_close(void *shared)
{
    struct edges *edges = shared;

    minhash_index_close(edges->index);
    free(edges);
}

static sluice_status edges_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct edges *edges = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, SLUICE_KEY, "fixed[16]", 0, &index, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_POS, "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "rest", "binary", 1, &edges->rest, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "one", "uint64", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "other", "uint64", NULL, err) : status;
}

struct edges_worker {
    const struct edges *edges;
    struct minhash_cursor *cursor; /* in the index, or NULL */
    char key[16];
    uint64_t last;
    int begun;
    bool shared;               /* buckets: the key's first document has its row */
    struct sluice_bytes group; /* order of the peer: positions, then rests, of the key so far */
    size_t rest_size;
    uint64_t group_most;
};

static void edges_worker_close(void *state)
{
    struct edges_worker *worker = state;

    minhash_cursor_close(worker->cursor);
    sluice_bytes_free(&worker->group);
    free(worker);
}

static sluice_status edges_worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct edges *edges = shared;
    struct edges_worker *worker = calloc(1, sizeof *worker);
    sluice_status status = SLUICE_OK;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->edges = edges;
    worker->group_most = edges->api->memory_share(edges->host) / 2;
    if (edges->index != NULL) {
        status = minhash_cursor_open(edges->index, &worker->cursor, err);
    }
    if (status != SLUICE_OK) {
        edges_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static void add_edge(struct sluice_rows *out, uint64_t one, uint64_t other)
{
    sluice_rows_add(out, 0, &one, 8);
    sluice_rows_add(out, 1, &other, 8);
    sluice_rows_next(out);
}

static int by_rest(const void *one, const void *other, void *size)
{
    int order = memcmp((const char *)one + 8, (const char *)other + 8, *(const size_t *)size);
    uint64_t x;
    uint64_t y;

    memcpy(&x, one, 8);
    memcpy(&y, other, 8);
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* The edges of one key, in the order of the peer. */
static void end_group(struct edges_worker *worker, struct sluice_rows *out)
{
    size_t each = 8 + worker->rest_size;
    size_t n = worker->group.size / each;
    uint64_t one;
    uint64_t other;

    if (n > 1) {
        qsort_r(worker->group.data, n, each, by_rest, &worker->rest_size);
    }
    for (size_t i = 1; i < n; i++) {
        const char *before = worker->group.data + (i - 1) * each;
        memcpy(&one, before, 8);
        memcpy(&other, before + each, 8);
        if (one != other && memcmp(before + 8, before + each + 8, worker->rest_size) == 0) {
            add_edge(out, one, other);
        }
    }
    worker->group.size = 0;
}

static sluice_status add_to_group(struct edges_worker *worker, const char *key, uint64_t position,
                                  const char *rest, size_t rest_size, struct sluice_rows *out,
                                  struct sluice_error *err)
{
    if (worker->begun && (memcmp(worker->key, key, 16) != 0 || worker->rest_size != rest_size)) {
        end_group(worker, out);
    }
    worker->rest_size = rest_size;
    if (worker->group.size + 8 + rest_size > worker->group_most) {
        return sluice_fail(err, SLUICE_E_NOMEM, "keep",
                           "too many documents begin with the same signature to be put in the "
                           "order of keep = \"peer\"; give more --memory, or keep = \"first\"");
    }
    return sluice_bytes_add(&worker->group, &position, 8) &&
                   sluice_bytes_add(&worker->group, rest, rest_size)
               ? SLUICE_OK
               : sluice_nomem(err);
}

/* A document that has the key, which is `same` as that before or a new one. */
static sluice_status add_bucket(struct edges_worker *worker, const char *key, uint64_t position,
                                bool same, struct sluice_rows *out, struct sluice_error *err)
{
    uint64_t document = 0;
    uint64_t bucket;
    bool found = false;
    sluice_status status = SLUICE_OK;

    memcpy(&bucket, key, 8);
    if (!same) {
        worker->shared = false;
        if (worker->cursor != NULL) {
            status = minhash_cursor_find(worker->cursor, key, &document, &found, err);
        }
        if (found) {
            add_edge(out, bucket, document);
            add_edge(out, bucket, position);
            worker->shared = true;
        }
        return status;
    }
    if (worker->last != position) {
        if (!worker->shared) {
            add_edge(out, bucket, worker->last);
            worker->shared = true;
        }
        add_edge(out, bucket, position);
    }
    return SLUICE_OK;
}

static sluice_status edges_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct edges_worker *worker = state;
    const char *keys = batch->array->children[0]->buffers[1];
    const uint64_t *positions = batch->array->children[1]->buffers[1];
    int32_t rest = worker->edges->rest;
    struct sluice_rows out = sluice_rows_begin("ff");
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *key = keys + 16 * row;
        bool same = worker->begun && memcmp(worker->key, key, 16) == 0;
        if (rest >= 0) {
            size_t size;
            const char *bytes = sluice_text(batch->array->children[rest], row, &size);
            status = add_to_group(worker, key, positions[row], bytes, size, &out, err);
        } else if (worker->edges->buckets) {
            status = add_bucket(worker, key, positions[row], same, &out, err);
        } else if (same && worker->last != positions[row]) {
            add_edge(&out, worker->last, positions[row]);
        } else if (!same && worker->cursor != NULL) {
            uint64_t document = 0;
            bool found = false;
            status = minhash_cursor_find(worker->cursor, key, &document, &found, err);
            if (found) {
                add_edge(&out, positions[row], document);
            }
        }
        worker->begun = 1;
        memcpy(worker->key, key, 16);
        worker->last = positions[row];
    }
    return sluice_rows_emit(&out, status, emit, err);
}

static sluice_status edges_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct edges_worker *worker = state;
    struct sluice_rows out = sluice_rows_begin("ff");

    if (worker->group.size > 0) {
        end_group(worker, &out);
    }
    return sluice_rows_emit(&out, SLUICE_OK, emit, err);
}

/* A cursor goes on from whatever key is asked for next. */
static sluice_status edges_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct edges_worker *worker = state;
    const uint64_t words[3] = { worker->last,
                                (uint64_t)worker->begun | (uint64_t)worker->shared << 1,
                                worker->rest_size };
    sluice_status status = io->write(io, words, sizeof words);

    (void)err;
    if (status == SLUICE_OK) {
        status = io->write(io, worker->key, sizeof worker->key);
    }
    return status == SLUICE_OK ? sluice_state_put(io, worker->group.data, worker->group.size)
                               : status;
}

static sluice_status edges_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct edges_worker *worker = state;
    uint64_t words[3] = { 0, 0, 0 };
    sluice_status status = io->read(io, words, sizeof words);

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = io->read(io, worker->key, sizeof worker->key);
    }
    if (status == SLUICE_OK && (words[1] > 3 || words[2] > INT32_MAX)) {
        status = SLUICE_E_DATA;
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, 8 + words[2], &worker->group);
    }
    worker->last = words[0];
    worker->begun = (words[1] & 1) != 0;
    worker->shared = (words[1] & 2) != 0;
    worker->rest_size = (size_t)words[2];
    return status;
}

const struct sluice_stage minhash_edges_stage = {
    .size = sizeof minhash_edges_stage,
    .name = "minhash_edges",
    .version = "2.0",
    .summary = "Pairs of documents that share a band key (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = edges_options,
    .n_options = sizeof edges_options / sizeof edges_options[0],
    .option_stride = sizeof edges_options[0],
    .config_size = sizeof(struct edges_config),
    .bytes_worker = 1 << 20,
    .open = edges_open,
    .prepare = edges_prepare,
    .worker_open = edges_worker_open,
    .process = edges_process,
    .save = edges_save,
    .load = edges_load,
    .state_version = 1,
    .flush = edges_flush,
    .worker_close = edges_worker_close,
    .close = edges_close,
};
