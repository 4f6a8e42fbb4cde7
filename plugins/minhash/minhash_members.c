/* minhash_members: the documents of clusters, for the exchange by cluster. The side input lists a
 * split's members; each leaves with its id, signature and, for verification, the set of its
 * shingles' hashes: never its text. The key is made so that the rows of a cluster come best one
 * first: 63 bits of the cluster's number, mixed so that partitions are even, a bit that is 0 for
 * documents that an index has, too, and the rank. */
#include "minhash_index.h"
#include "minhash_stages.h"
#include "minhash_words.h"

struct config {
    struct minhash_shingling shingling;
    uint8_t shingles, ranked;
};

static const struct sluice_option options[] = {
    MINHASH_SHINGLING_OPTIONS,
    { .name = "shingles",
      .doc = "Whether the hashes of all shingles go along, for verification.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, shingles) },
    { .name = "ranked",
      .doc = "Whether documents are ranked by their own rank, or by that of the list.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, ranked) },
};

struct members {
    const struct config *config;
    struct minhash *minhash; /* NULL without shingles */
};

static sluice_status members_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *given, void **shared, struct sluice_error *err)
{
    struct members *members = calloc(1, sizeof *members);
    sluice_status status = SLUICE_OK;

    (void)api;
    (void)host;
    if (members == NULL) {
        return sluice_nomem(err);
    }
    members->config = given;
    if (members->config->shingles) {
        status =
            minhash_shingling_create(&members->config->shingling, 1, 1, 1, &members->minhash, err);
    }
    if (status != SLUICE_OK) {
        free(members);
        return status;
    }
    *shared = members;
    return SLUICE_OK;
}

static void members_close(void *shared)
{
    struct members *members = shared;

    minhash_destroy(members->minhash);
    free(members);
}

static sluice_status members_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    static const char *const main[][2] = {
        { SLUICE_ROW, "uint64" }, { "id", "utf8" }, { "_sig", "binary" }, { "_rank", "uint64" }
    };
    static const char *const side[] = { SLUICE_ROW, "cluster", "rank", "ref" };
    static const char *const added[][2] = {
        { SLUICE_KEY, "fixed[16]" }, { SLUICE_ROW, "uint64" }, { "id", "utf8" },
        { "sig", "binary" },         { "refs", "binary" },     { "shingles", "binary" }
    };
    const struct members *members = shared;
    int32_t index;
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 0, main[i][0], main[i][1], 0, &index, err);
    }
    if (status == SLUICE_OK && members->config->shingles) {
        status = plan->need(plan, 0, members->config->shingling.over, "utf8?", 0, &index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 1, side[i], "uint64", 0, &index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 5 + members->config->shingles; i++) {
        status = plan->add(plan, added[i][0], added[i][1], NULL, err);
    }
    return status;
}

struct member {
    uint64_t row, cluster, rank, reference;
};

struct worker {
    const struct members *members;
    struct sluice_bytes list; /* struct member, in the order of rows */
    uint64_t at;
    struct minhash_words words;
    struct minhash_scratch *scratch;
    struct sluice_bytes set; /* room for a document's shingles */
};

static void members_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->list);
    sluice_bytes_free(&worker->set);
    minhash_words_deinit(&worker->words);
    minhash_scratch_destroy(worker->scratch);
    free(worker);
}

static sluice_status members_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->members = shared;
    status = minhash_scratch_create(&worker->scratch, err);
    if (status != SLUICE_OK) {
        members_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static sluice_status take_list(struct worker *worker, const struct sluice_batch *batch,
                               struct sluice_error *err)
{
    const uint64_t *columns[4];

    for (int i = 0; i < 4; i++) {
        columns[i] = batch->array->children[i]->buffers[1];
    }
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct member member = { columns[0][row], columns[1][row], columns[2][row],
                                 columns[3][row] };
        if (!sluice_bytes_add(&worker->list, &member, sizeof member)) {
            return sluice_nomem(err);
        }
    }
    return SLUICE_OK;
}

/* A permutation of 63 bits. */
static uint64_t mix63(uint64_t x)
{
    const uint64_t mask = ~(uint64_t)0 >> 1;
    x &= mask;
    x ^= x >> 32;
    x = x * 0x9e3779b97f4a7c15u & mask;
    x ^= x >> 29;
    x = x * 0xbf58476d1ce4e5b9u & mask;
    return x ^ x >> 32;
}

static void put_key(struct sluice_rows *out, uint64_t cluster, bool indexed, uint64_t rank)
{
    uint64_t head = mix63(cluster) << 1 | (indexed ? 0u : 1u);
    char key[16];

    for (int i = 0; i < 8; i++) {
        key[i] = (char)(head >> (56 - 8 * i));
        key[8 + i] = (char)(rank >> (56 - 8 * i));
    }
    sluice_rows_add(out, 0, key, sizeof key);
}

static sluice_status add_shingles(struct worker *worker, const char *text, size_t n,
                                  struct sluice_rows *out, struct sluice_error *err)
{
    const struct members *members = worker->members;
    size_t count = 0;
    sluice_status status =
        minhash_words_cut(&worker->words, &members->config->shingling, &text, &n, err);

    worker->set.size = 0;
    if (status == SLUICE_OK && !sluice_bytes_reserve(&worker->set, 8 * worker->words.words.count)) {
        status = sluice_nomem(err);
    }
    if (status == SLUICE_OK && n > 0) {
        status = minhash_shingles(members->minhash, worker->scratch, text, n,
                                  worker->words.words.data, worker->words.words.count,
                                  (uint64_t *)(void *)worker->set.data, &count, err);
    }
    if (status == SLUICE_OK) {
        sluice_rows_add(out, 5, worker->set.data, 8 * count);
    }
    return status;
}

static sluice_status add_member(struct worker *worker, const struct sluice_batch *batch,
                                int64_t row, struct sluice_rows *out, struct sluice_error *err)
{
    const struct member *list = (const struct member *)(const void *)worker->list.data;
    uint64_t n_list = worker->list.size / sizeof *list;
    const struct member member = list[worker->at];
    uint64_t number = sluice_uint64(batch->array->children[0], row);
    uint64_t rank = worker->members->config->ranked ? sluice_uint64(batch->array->children[3], row)
                                                    : member.rank;
    uint64_t references[64];
    size_t n_references = 0;
    size_t n;
    const char *text;

    for (; worker->at < n_list && list[worker->at].row == number; worker->at++) {
        uint64_t reference = list[worker->at].reference;
        if (reference != 0 && n_references < 64) {
            references[n_references++] = reference;
        }
    }
    put_key(out, member.cluster, n_references > 0, rank);
    sluice_rows_add(out, 1, &number, 8);
    text = sluice_text(batch->array->children[1], row, &n);
    sluice_rows_add(out, 2, text, n);
    text = sluice_text(batch->array->children[2], row, &n);
    sluice_rows_add(out, 3, text, n);
    sluice_rows_add(out, 4, references, 8 * n_references);
    if (!worker->members->config->shingles) {
        return SLUICE_OK;
    }
    text = sluice_text(batch->array->children[4], row, &n);
    return add_shingles(worker, text, n, out, err);
}

static sluice_status members_process(void *state, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_rows out =
        sluice_rows_begin(worker->members->config->shingles ? "fftttt" : "ffttt");
    sluice_status status = SLUICE_OK;

    if (batch->port == 1) {
        return take_list(worker, batch, err);
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        const struct member *list = (const struct member *)(const void *)worker->list.data;
        uint64_t n_list = worker->list.size / sizeof *list;
        int64_t row = sluice_row(batch, k);
        uint64_t number = sluice_uint64(batch->array->children[0], row);
        while (worker->at < n_list && list[worker->at].row < number) {
            worker->at++;
        }
        if (worker->at < n_list && list[worker->at].row == number) {
            status = add_member(worker, batch, row, &out, err);
            sluice_rows_next(&out);
        }
    }
    return sluice_rows_emit(&out, status, emit, err);
}

static sluice_status members_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = io->write(io, &worker->at, sizeof worker->at);

    (void)err;
    return status == SLUICE_OK ? sluice_state_put(io, worker->list.data, worker->list.size)
                               : status;
}

static sluice_status members_load(void *state, struct sluice_io *io, uint64_t version,
                                  struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = io->read(io, &worker->at, sizeof worker->at);

    (void)version;
    (void)err;
    if (status == SLUICE_OK) {
        status = sluice_state_get(io, sizeof(struct member), &worker->list);
    }
    return status == SLUICE_OK && worker->at > worker->list.size / sizeof(struct member)
               ? SLUICE_E_DATA
               : status;
}

const struct sluice_stage minhash_members_stage = {
    .size = sizeof minhash_members_stage,
    .name = "minhash_members",
    .version = "2.0",
    .summary = "The documents of clusters, by cluster (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES | SLUICE_STAGE_SIDE_INPUT |
             SLUICE_STAGE_SIDE_BY_SPLIT,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 6 << 20,
    .open = members_open,
    .prepare = members_prepare,
    .worker_open = members_worker_open,
    .process = members_process,
    .save = members_save,
    .load = members_load,
    .state_version = 1,
    .worker_close = members_worker_close,
    .close = members_close,
};
