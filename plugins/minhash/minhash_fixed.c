/* minhash_fixed: keep = "fixed". Documents pass by in their order; one that shares a band key with
 * a document that was kept before is its duplicate, and any other is kept. So no document changes
 * the fate of one before it: a run over old and new documents keeps what a run over the new ones
 * keeps that knows the band keys of the old ones that were kept (an index). Unlike a cluster's
 * members a duplicate always looks like the document that it is said to duplicate.
 *
 * Port 1 brings, completely, who shares which band key (minhash_edges with buckets = true): the key
 * and a document, or the document of the index that has it. Keys that only one document has are not
 * among them. The keys' owners are held in memory; the rest is sorted in scratch files. Rows are
 * those of minhash_components. */
#include "forest_sort.h"
#include "minhash_index.h"
#include "minhash_stages.h"

#define NOBODY UINT64_MAX
#define SLOTS_LEAST 1024u

/* Who has a band key of several documents: the first of them that is kept. */
struct slot {
    uint64_t bucket, owner; /* owner NOBODY: the slot is empty */
};

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
};

struct worker {
    const struct shared *shared;
    struct slot *slots;
    uint64_t n_slots, n_owned, slots_most;
    struct forest_sort *sort; /* (document, band key) */
    struct forest_pair next;
    bool end, rewound;
};

static sluice_status fixed_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **out, struct sluice_error *err)
{
    struct shared *shared = malloc(sizeof *shared);

    (void)config;
    if (shared == NULL) {
        return sluice_nomem(err);
    }
    *shared = (struct shared){ api, host };
    *out = shared;
    return SLUICE_OK;
}

static sluice_status fixed_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const added[] = { SLUICE_POS, "cluster", "rank", "ref" };
    int32_t index;
    sluice_status status = plan->need(plan, 0, SLUICE_POS, "uint64", 0, &index, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "one", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "other", "uint64", 0, &index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->add(plan, added[i], "uint64", NULL, err);
    }
    return status;
}

static void fixed_worker_close(void *state)
{
    struct worker *worker = state;

    forest_sort_destroy(worker->sort);
    free(worker->slots);
    free(worker);
}

static sluice_status fixed_worker_open(void *state, void **out, struct sluice_error *err)
{
    const struct shared *shared = state;
    struct worker *worker = calloc(1, sizeof *worker);
    const char *dir = shared->api->scratch_dir(shared->host);
    uint64_t memory = shared->api->memory_share(shared->host) / 2;
    uint64_t sort = memory / 4;
    sluice_status status;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->shared = shared;
    worker->slots_most = memory / 4 * 3 / sizeof(struct slot);
    sort = sort < FOREST_SORT_MEMORY_LEAST ? FOREST_SORT_MEMORY_LEAST : sort;
    status = dir == NULL
                 ? sluice_fail(err, SLUICE_E_IO, "",
                               "there is no scratch folder; give --scratch a folder with room")
                 : forest_sort_create(sort, dir, &worker->sort, err);
    if (status != SLUICE_OK) {
        fixed_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* ---- owners of band keys ---- */

/* The slot that the bucket has, or would get. Buckets are hashes. */
static struct slot *find_slot(struct slot *slots, uint64_t n, uint64_t bucket)
{
    uint64_t at = bucket & (n - 1);

    while (slots[at].owner != NOBODY && slots[at].bucket != bucket) {
        at = (at + 1) & (n - 1);
    }
    return &slots[at];
}

static sluice_status grow(struct worker *worker, struct sluice_error *err)
{
    uint64_t n = worker->n_slots == 0 ? SLOTS_LEAST : worker->n_slots * 2;
    struct slot *slots;

    /* Old and new slots are there side by side. */
    if (n > SLOTS_LEAST && n + worker->n_slots > worker->slots_most) {
        return sluice_fail(err, SLUICE_E_NOMEM, "keep",
                           "the band keys that several documents share do not fit in memory, as "
                           "keep = \"fixed\" needs them; give more --memory, or keep = \"first\"");
    }
    slots = malloc(n * sizeof *slots);
    if (slots == NULL) {
        return sluice_nomem(err);
    }
    for (uint64_t i = 0; i < n; i++) {
        slots[i] = (struct slot){ 0, NOBODY };
    }
    for (uint64_t i = 0; i < worker->n_slots; i++) {
        if (worker->slots[i].owner != NOBODY) {
            *find_slot(slots, n, worker->slots[i].bucket) = worker->slots[i];
        }
    }
    free(worker->slots);
    worker->slots = slots;
    worker->n_slots = n;
    return SLUICE_OK;
}

/* Who comes first stays the owner. */
static sluice_status own(struct worker *worker, uint64_t bucket, uint64_t owner,
                         struct sluice_error *err)
{
    struct slot *slot;
    sluice_status status = SLUICE_OK;

    if (2 * (worker->n_owned + 1) > worker->n_slots) {
        status = grow(worker, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    slot = find_slot(worker->slots, worker->n_slots, bucket);
    if (slot->owner == NOBODY) {
        *slot = (struct slot){ bucket, owner };
        worker->n_owned++;
    }
    return SLUICE_OK;
}

static uint64_t owner_of(const struct worker *worker, uint64_t bucket)
{
    return worker->n_slots == 0 ? NOBODY : find_slot(worker->slots, worker->n_slots, bucket)->owner;
}

/* ---- documents ---- */

/* A document of the index, which is older than all others; else the first. */
static bool is_before(uint64_t one, uint64_t other)
{
    bool a = minhash_is_reference(one);
    bool b = minhash_is_reference(other);

    return a != b ? a : one < other;
}

static void add_member(struct sluice_rows *out, uint64_t position, uint64_t cluster,
                       uint64_t reference)
{
    uint64_t rank = position == cluster ? 0 : 1;

    sluice_rows_add(out, 0, &position, 8);
    sluice_rows_add(out, 1, &cluster, 8);
    sluice_rows_add(out, 2, &rank, 8);
    sluice_rows_add(out, 3, &reference, 8);
    sluice_rows_next(out);
}

static sluice_status next_pair(struct worker *worker, struct sluice_error *err)
{
    return forest_sort_next(worker->sort, &worker->next, &worker->end, err);
}

static sluice_status rewind_pairs(struct worker *worker, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    if (!worker->rewound) {
        worker->rewound = true;
        status = forest_sort_rewind(worker->sort, err);
        if (status == SLUICE_OK) {
            status = next_pair(worker, err);
        }
    }
    return status;
}

static sluice_status pass_document(struct worker *worker, uint64_t position,
                                   struct sluice_bytes *buckets, struct sluice_rows *out,
                                   struct sluice_error *err)
{
    const uint64_t *list;
    uint64_t owner = NOBODY;
    sluice_status status = SLUICE_OK;

    if (minhash_is_reference(position)) {
        return sluice_fail(err, SLUICE_E_CONFIG, "",
                           "there are more than 8,388,608 input splits; give a larger split size");
    }
    if (!worker->end && worker->next.first < position) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "",
                           "a band key names a document that is not there");
    }
    buckets->size = 0;
    while (status == SLUICE_OK && !worker->end && worker->next.first == position) {
        uint64_t other = owner_of(worker, worker->next.second);
        owner = other != NOBODY && (owner == NOBODY || is_before(other, owner)) ? other : owner;
        status = sluice_bytes_add(buckets, &worker->next.second, 8) ? next_pair(worker, err)
                                                                    : sluice_nomem(err);
    }
    if (status != SLUICE_OK || buckets->size == 0) {
        return status;
    }
    if (owner != NOBODY) {
        bool indexed = minhash_is_reference(owner);
        add_member(out, position, indexed ? position : owner, indexed ? owner : 0);
        return SLUICE_OK;
    }
    add_member(out, position, position, 0);
    list = (const uint64_t *)(const void *)buckets->data;
    for (uint64_t i = 0; status == SLUICE_OK && i < buckets->size / 8; i++) {
        status = own(worker, list[i], position, err);
    }
    return status;
}

static sluice_status take_pairs(struct worker *worker, const struct sluice_batch *batch,
                                struct sluice_error *err)
{
    const uint64_t *buckets = batch->array->children[0]->buffers[1];
    const uint64_t *documents = batch->array->children[1]->buffers[1];
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        int64_t row = sluice_row(batch, k);
        status = minhash_is_reference(documents[row])
                     ? own(worker, buckets[row], documents[row], err)
                     : forest_sort_push(worker->sort, documents[row], buckets[row], err);
    }
    return status;
}

static sluice_status fixed_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_rows out = sluice_rows_begin("ffff");
    struct sluice_bytes buckets = { 0 };
    sluice_status status;

    if (batch->port == 1) {
        return take_pairs(worker, batch, err);
    }
    status = rewind_pairs(worker, err); /* when the first document comes, all pairs are there */
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        const uint64_t *positions = batch->array->children[0]->buffers[1];
        status = pass_document(worker, positions[sluice_row(batch, k)], &buckets, &out, err);
    }
    sluice_bytes_free(&buckets);
    return sluice_rows_emit(&out, status, emit, err);
}

/* Every document must have passed by. */
static sluice_status fixed_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = rewind_pairs(worker, err);

    (void)emit;
    return status != SLUICE_OK || worker->end
               ? status
               : sluice_fail(err, SLUICE_E_INTERNAL, "",
                             "a band key names a document that is not there");
}

const struct sluice_stage minhash_fixed_stage = {
    .size = sizeof minhash_fixed_stage,
    .name = "minhash_fixed",
    .version = "1.0",
    .summary = "Documents that look like one kept before them (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES | SLUICE_STAGE_SIDE_INPUT,
    .bytes_worker = 16 << 20,
    .open = fixed_open,
    .prepare = fixed_prepare,
    .worker_open = fixed_worker_open,
    .process = fixed_process,
    .flush = fixed_flush,
    .worker_close = fixed_worker_close,
    .close = free,
};
