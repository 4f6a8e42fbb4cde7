/* minhash_pick: of the documents of a cluster, best one first, which ones stay. Without
 * verification the first stays and all others are its duplicates, with the share of equal signature
 * values as the similarity. With it, a document is a duplicate of the first document that stays and
 * whose set of shingles has at least the threshold's Jaccard similarity with its own; when there is
 * none, it stays, too. So a chain of candidates never drops a document that is unlike the one it is
 * said to duplicate. The members of a cluster that an index has are all dropped, as duplicates of
 * the index' documents. */
#include <math.h>
#include <sluice_state.h>

#include "minhash_index.h"
#include "minhash_sets.h"
#include "minhash_sig.h"
#include "minhash_stages.h"

struct config {
    struct minhash_parameters parameters;
    const char *index;
    double verify;
};

static const struct sluice_option options[] = {
    MINHASH_PARAMETER_OPTIONS,
    { .name = "index",
      .doc = "Manifest of the index' snapshot that candidates may name.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_BESIDE,
      .offset = offsetof(struct config, index) },
    { .name = "verify",
      .doc = "Jaccard similarity that a duplicate's shingles must have; 0: not verified.",
      .def = "0",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct config, verify) },
};

struct pick {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct config *config;
    struct minhash_index *index; /* or NULL */
};

static sluice_status pick_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    struct pick *pick = calloc(1, sizeof *pick);
    sluice_status status = SLUICE_OK;

    if (pick == NULL) {
        return sluice_nomem(err);
    }
    pick->api = api;
    pick->host = host;
    pick->config = given;
    if (pick->config->index != NULL) {
        status = minhash_index_open(api, host, pick->config->index, &pick->config->parameters,
                                    &pick->index, err);
    }
    if (status != SLUICE_OK) {
        free(pick);
        return status;
    }
    *shared = pick;
    return SLUICE_OK;
}

static void pick_close(void *shared)
{
    struct pick *pick = shared;

    minhash_index_close(pick->index);
    free(pick);
}

static sluice_status pick_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const needed[][2] = {
        { SLUICE_KEY, "fixed[16]" }, { SLUICE_POS, "uint64" }, { "id", "utf8" },
        { "sig", "binary" },         { "refs", "binary" },     { "shingles", "binary" }
    };
    static const char *const added[][2] = { { SLUICE_POS, "uint64" },
                                            { "dup_of", "utf8" },
                                            { "similarity", "float64" },
                                            { "reason", "uint64" } };
    const struct pick *pick = shared;
    int32_t index;
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < (pick->config->verify > 0 ? 6 : 5); i++) {
        status = plan->need(plan, 0, needed[i][0], needed[i][1], 0, &index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->add(plan, added[i][0], added[i][1], NULL, err);
    }
    return status;
}

/* A document that stays. */
struct survivor {
    uint64_t id, id_size; /* in the text */
    uint64_t sig, sig_size;
    struct minhash_set set;
};

struct worker {
    const struct pick *pick;
    uint64_t cluster; /* key without the bit for the index, and 0 before the first */
    bool begun;
    struct sluice_bytes survivors;            /* struct survivor */
    struct sluice_bytes text;                 /* their ids and signatures */
    struct minhash_sets *sets;                /* their shingles */
    uint64_t survivors_most;                  /* bytes of them that fit */
    struct sluice_bytes references, shingles; /* of the row at hand */
    /* Of a cluster that the index has: */
    bool indexed;
    uint64_t reference;          /* the first document's, for those that have none */
    struct sluice_bytes merged;  /* references of the cluster, some of them repeatedly */
    uint64_t best_new, best_old; /* ranks */
    int64_t changes;             /* published documents that a rebuild would change, not yet told */
};

static void pick_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->survivors);
    sluice_bytes_free(&worker->text);
    sluice_bytes_free(&worker->merged);
    sluice_bytes_free(&worker->references);
    sluice_bytes_free(&worker->shingles);
    minhash_sets_destroy(worker->sets);
    free(worker);
}

static sluice_status pick_worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct pick *pick = shared;
    struct worker *worker = calloc(1, sizeof *worker);
    uint64_t memory = pick->api->memory_share(pick->host);
    sluice_status status = SLUICE_OK;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->pick = pick;
    worker->survivors_most = memory / 2;
    if (pick->config->verify > 0) {
        status =
            minhash_sets_create(memory / 4, pick->api->scratch_dir(pick->host), &worker->sets, err);
    }
    if (status != SLUICE_OK) {
        pick_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the references of the cluster and drops repeated ones. */
static uint64_t merged_settle(struct worker *worker)
{
    uint64_t *merged = (uint64_t *)(void *)worker->merged.data;
    uint64_t n = worker->merged.size / 8;
    uint64_t kept = 0;

    if (n > 1) {
        qsort(merged, n, 8, by_number);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (kept == 0 || merged[kept - 1] != merged[i]) {
            merged[kept++] = merged[i];
        }
    }
    worker->merged.size = 8 * kept;
    return kept;
}

static sluice_status cluster_end(struct worker *worker, struct sluice_error *err)
{
    if (worker->indexed) {
        uint64_t n = merged_settle(worker);
        /* One of the published documents would stay, unless a new one is better than all. */
        worker->changes += (int64_t)n - (worker->best_new < worker->best_old ? 0 : 1);
    }
    worker->survivors.size = 0;
    worker->text.size = 0;
    worker->merged.size = 0;
    worker->reference = 0;
    worker->best_new = worker->best_old = UINT64_MAX;
    return worker->sets == NULL ? SLUICE_OK : minhash_sets_clear(worker->sets, err);
}

/* A row as it came. */
struct document {
    uint64_t position, rank;
    const char *id, *sig;
    const uint64_t *references, *shingles;
    size_t id_size, sig_size, n_references, n_shingles;
};

static void add_drop(struct sluice_rows *out, const struct document *document, const char *id,
                     size_t id_size, double similarity, uint64_t reason)
{
    sluice_rows_add(out, 0, &document->position, 8);
    sluice_rows_add(out, 1, id, id_size);
    sluice_rows_add(out, 2, &similarity, 8);
    sluice_rows_add(out, 3, &reason, 8);
    sluice_rows_next(out);
}

static double estimate(const char *one, size_t one_size, const char *other, size_t other_size)
{
    uint32_t equal = 0;

    if (one_size != other_size || one_size < 2) {
        return 0;
    }
    for (size_t i = 0; i + 2 <= one_size; i += 2) {
        equal += one[i] == other[i] && one[i + 1] == other[i + 1];
    }
    return (double)equal / (double)(one_size / 2);
}

/* A document of a cluster that the index has. */
static sluice_status drop_indexed(struct worker *worker, const struct document *document,
                                  struct sluice_rows *out, struct sluice_error *err)
{
    const struct minhash_index *index = worker->pick->index;
    struct minhash_document best = { 0 };
    double similarity = -1;

    if (worker->reference == 0 && document->n_references > 0) {
        worker->reference = document->references[0];
    }
    for (size_t i = 0; i < (document->n_references > 0 ? document->n_references : 1); i++) {
        uint64_t reference =
            document->n_references > 0 ? document->references[i] : worker->reference;
        struct minhash_document found;
        double here;
        sluice_status status = minhash_index_document(index, reference, &found, err);
        if (status != SLUICE_OK) {
            return status;
        }
        here = estimate(document->sig, document->sig_size, found.sig, found.sig_size);
        if (here > similarity) {
            similarity = here;
            best = found;
        }
        worker->best_old = found.rank < worker->best_old ? found.rank : worker->best_old;
    }
    worker->best_new = document->rank < worker->best_new ? document->rank : worker->best_new;
    if (!sluice_bytes_add(&worker->merged, document->references, 8 * document->n_references)) {
        return sluice_nomem(err);
    }
    if (worker->merged.size > 1 << 16) {
        merged_settle(worker);
    }
    add_drop(out, document, best.id, best.id_size, similarity, 1);
    return SLUICE_OK;
}

static sluice_status survivor_add(struct worker *worker, const struct document *document,
                                  struct sluice_error *err)
{
    struct survivor survivor = { .id = worker->text.size,
                                 .id_size = document->id_size,
                                 .sig = worker->text.size + document->id_size,
                                 .sig_size = document->sig_size };

    if (worker->survivors.size + worker->text.size > worker->survivors_most) {
        return sluice_fail(err, SLUICE_E_NOMEM, "verify",
                           "the documents of one cluster that are unlike each other do not fit "
                           "into memory; give more --memory or fewer --workers, or bands of more "
                           "rows");
    }
    if (!sluice_bytes_add(&worker->text, document->id, document->id_size) ||
        !sluice_bytes_add(&worker->text, document->sig, document->sig_size)) {
        return sluice_nomem(err);
    }
    if (worker->sets != NULL) {
        sluice_status status = minhash_sets_add(worker->sets, document->shingles,
                                                document->n_shingles, &survivor.set, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return sluice_bytes_add(&worker->survivors, &survivor, sizeof survivor) ? SLUICE_OK
                                                                            : sluice_nomem(err);
}

/* The Jaccard similarity of a document and a survivor, or -1 when it is surely below the threshold:
 * the sizes of the sets or, by more than five standard deviations, the signatures say so. */
static sluice_status compare(const struct worker *worker, const struct document *document,
                             const struct survivor *survivor, double *similarity,
                             struct sluice_error *err)
{
    double verify = worker->pick->config->verify;
    uint64_t n = document->n_shingles;
    uint64_t m = survivor->set.n;
    double most = (double)(n < m ? n : m) / (double)(n < m ? m : n);
    double guess = estimate(document->sig, document->sig_size, worker->text.data + survivor->sig,
                            survivor->sig_size);
    double error = document->sig_size < 2 ? 1 : 2.5 / sqrt((double)(document->sig_size / 2));
    const uint64_t *other;
    sluice_status status;

    *similarity = -1;
    if (n == 0 || m == 0 || most < verify || guess + error < verify) {
        return SLUICE_OK;
    }
    status = minhash_sets_get(worker->sets, &survivor->set, &other, err);
    if (status == SLUICE_OK) {
        *similarity = minhash_jaccard(document->shingles, n, other, m);
    }
    return status;
}

static sluice_status pick_verified(struct worker *worker, const struct document *document,
                                   struct sluice_rows *out, struct sluice_error *err)
{
    const struct survivor *survivors =
        (const struct survivor *)(const void *)worker->survivors.data;
    uint64_t n_survivors = worker->survivors.size / sizeof *survivors;

    for (uint64_t i = 0; i < n_survivors; i++) {
        double similarity;
        sluice_status status = compare(worker, document, &survivors[i], &similarity, err);
        if (status != SLUICE_OK) {
            return status;
        }
        if (similarity >= worker->pick->config->verify) {
            add_drop(out, document, worker->text.data + survivors[i].id, survivors[i].id_size,
                     similarity, 0);
            return SLUICE_OK;
        }
    }
    return survivor_add(worker, document, err);
}

static sluice_status pick_document(struct worker *worker, const struct document *document,
                                   struct sluice_rows *out, struct sluice_error *err)
{
    const struct survivor *first;

    if (worker->indexed) {
        return drop_indexed(worker, document, out, err);
    }
    if (worker->pick->config->verify > 0) {
        return pick_verified(worker, document, out, err);
    }
    if (worker->survivors.size == 0) {
        return survivor_add(worker, document, err);
    }
    first = (const struct survivor *)(const void *)worker->survivors.data;
    add_drop(out, document, worker->text.data + first->id, first->id_size,
             estimate(document->sig, document->sig_size, worker->text.data + first->sig,
                      first->sig_size),
             0);
    return SLUICE_OK;
}

/* A binary value as 64-bit numbers, which need not be aligned in the column: a copy in `buffer`.
 * NULL = out of memory. */
static const uint64_t *numbers(const struct ArrowArray *column, int64_t row,
                               struct sluice_bytes *buffer, size_t *n)
{
    size_t size;
    const char *bytes = sluice_text(column, row, &size);

    *n = size / 8;
    buffer->size = 0;
    return sluice_bytes_add(buffer, bytes, size) ? (const uint64_t *)(const void *)buffer->data
                                                 : NULL;
}

static uint64_t big_endian(const char *bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++) {
        value = value << 8 | (unsigned char)bytes[i];
    }
    return value;
}

static sluice_status tell_changes(struct worker *worker, struct sluice_emit *emit)
{
    sluice_status status = SLUICE_OK;

    if (worker->changes > 0) {
        status = emit->measure(emit, "rebuild_changes", worker->changes);
        worker->changes = 0;
    }
    return status;
}

static sluice_status pick_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct ArrowArray *const *columns = batch->array->children;
    struct sluice_rows out = sluice_rows_begin("ftff");
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *key = (const char *)columns[0]->buffers[1] + 16 * row;
        uint64_t head = big_endian(key);
        struct document document = { .position = sluice_uint64(columns[1], row),
                                     .rank = big_endian(key + 8) };
        document.id = sluice_text(columns[2], row, &document.id_size);
        document.sig = sluice_text(columns[3], row, &document.sig_size);
        document.references = numbers(columns[4], row, &worker->references, &document.n_references);
        if (worker->sets != NULL) {
            document.shingles = numbers(columns[5], row, &worker->shingles, &document.n_shingles);
        }
        if (document.references == NULL || (worker->sets != NULL && document.shingles == NULL)) {
            status = sluice_nomem(err);
            break;
        }
        if (!worker->begun || worker->cluster != head >> 1) {
            status = cluster_end(worker, err);
            worker->begun = true;
            worker->cluster = head >> 1;
            worker->indexed = worker->pick->index != NULL && (head & 1) == 0;
        }
        if (status == SLUICE_OK) {
            status = pick_document(worker, &document, &out, err);
        }
    }
    if (status == SLUICE_OK) {
        status = tell_changes(worker, emit);
    }
    return sluice_rows_emit(&out, status, emit, err);
}

static sluice_status pick_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = cluster_end(worker, err);

    worker->indexed = false;
    return status == SLUICE_OK ? tell_changes(worker, emit) : status;
}

/* ---- saved states ---- */

#define HEAD 7

static sluice_status pick_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct sluice_state_list lists[] = {
        { &worker->survivors, sizeof(struct survivor) },
        { &worker->text, 1 },
        { &worker->merged, 8 },
    };
    const uint64_t head[HEAD] = { worker->cluster,          worker->begun,    worker->indexed,
                                  worker->reference,        worker->best_new, worker->best_old,
                                  (uint64_t)worker->changes };
    sluice_status status = io->write(io, head, sizeof head);

    if (status == SLUICE_OK) {
        status = sluice_state_put_lists(io, lists, 3);
    }
    return status == SLUICE_OK && worker->sets != NULL ? minhash_sets_save(worker->sets, io, err)
                                                       : status;
}

/* Whether what the survivors have is there. */
static bool survivors_valid(const struct worker *worker)
{
    const struct survivor *survivors =
        (const struct survivor *)(const void *)worker->survivors.data;
    uint64_t n = worker->survivors.size / sizeof *survivors;
    uint64_t size = worker->text.size;

    for (uint64_t i = 0; i < n; i++) {
        const struct survivor *one = &survivors[i];
        if (one->id > size || one->id_size > size - one->id || one->sig > size ||
            one->sig_size > size - one->sig ||
            (worker->sets != NULL && !minhash_sets_has(worker->sets, &one->set))) {
            return false;
        }
    }
    return true;
}

static sluice_status pick_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct worker *worker = state;
    const struct sluice_state_list lists[] = {
        { &worker->survivors, sizeof(struct survivor) },
        { &worker->text, 1 },
        { &worker->merged, 8 },
    };
    uint64_t head[HEAD] = { 0 };
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    worker->cluster = head[0];
    worker->begun = head[1] != 0;
    worker->indexed = head[2] != 0;
    worker->reference = head[3];
    worker->best_new = head[4];
    worker->best_old = head[5];
    worker->changes = (int64_t)head[6];
    if (status == SLUICE_OK && worker->indexed && worker->pick->index == NULL) {
        return SLUICE_E_DATA;
    }
    if (status == SLUICE_OK) {
        status = sluice_state_get_lists(io, lists, 3);
    }
    if (status == SLUICE_OK && worker->sets != NULL) {
        status = minhash_sets_load(worker->sets, io, err);
    }
    return status == SLUICE_OK && !survivors_valid(worker) ? SLUICE_E_DATA : status;
}

const struct sluice_stage minhash_pick_stage = {
    .size = sizeof minhash_pick_stage,
    .name = "minhash_pick",
    .version = "1.0",
    .summary = "Which documents of a cluster stay (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 8 << 20,
    .open = pick_open,
    .prepare = pick_prepare,
    .worker_open = pick_worker_open,
    .process = pick_process,
    .flush = pick_flush,
    .state_version = 1,
    .save = pick_save,
    .load = pick_load,
    .worker_close = pick_worker_close,
    .close = pick_close,
};
