/* minhash_components: connected components over all edges, as a list of (document, cluster). Edges
 * come through port 1, completely; then the documents' positions pass by in order, and beside each
 * that has duplicates goes its cluster's number: the smallest position in it, or, in the order of
 * the peer, that of the document which the peer keeps. Edges to documents of an index name these in
 * column `ref`. All lists are sorted in the given memory and otherwise in scratch files. */
#include "forest.h"
#include "forest_state.h"
#include "minhash_index.h"
#include "minhash_stages.h"
#include "peer_forest.h"

struct config {
    int32_t keep;
};

static const struct sluice_option options[] = {
    { .name = "keep",
      .doc = "Whose union-find: that of the smallest position, or datatrove's, which keeps every "
             "document with duplicates in memory.",
      .def = "first",
      .choices = "first|peer",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, keep) },
};

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    bool peer;
};

/* A list of pairs that is read once, in order. */
struct list {
    struct forest_sort *sort;
    struct forest_pair next;
    bool end;
};

struct worker {
    const struct shared *shared;
    struct forest *forest;    /* until finished, or NULL: */
    struct peer_forest *peer; /* until finished */
    struct list members;      /* (position, cluster), clusters' own numbers as well */
    struct list references;   /* (position, document of the index) */
    bool finished;            /* all edges are in */
    int64_t clusters;
};

static sluice_status components_open(const struct sluice_host_api *api, struct sluice_host *host,
                                     const void *config, void **out, struct sluice_error *err)
{
    struct shared *shared = malloc(sizeof *shared);

    if (shared == NULL) {
        return sluice_nomem(err);
    }
    shared->api = api;
    shared->host = host;
    shared->peer = ((const struct config *)config)->keep == 1;
    *out = shared;
    return SLUICE_OK;
}

static sluice_status components_prepare(void *shared, struct sluice_plan *plan,
                                        struct sluice_error *err)
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

static void free_forests(struct worker *worker)
{
    forest_destroy(worker->forest);
    peer_forest_destroy(worker->peer);
    worker->forest = NULL;
    worker->peer = NULL;
}

static void components_worker_close(void *state)
{
    struct worker *worker = state;

    free_forests(worker);
    forest_sort_destroy(worker->members.sort);
    forest_sort_destroy(worker->references.sort);
    free(worker);
}

static sluice_status components_worker_open(void *state, void **out, struct sluice_error *err)
{
    const struct shared *shared = state;
    struct worker *worker = calloc(1, sizeof *worker);
    const char *dir = shared->api->scratch_dir(shared->host);
    uint64_t memory = shared->api->memory_share(shared->host) / 2;
    uint64_t sort = memory / 4;
    struct forest_options settings = { memory < FOREST_MEMORY_LEAST ? FOREST_MEMORY_LEAST : memory,
                                       dir };
    sluice_status status;

    if (worker == NULL) {
        return sluice_nomem(err);
    }
    worker->shared = shared;
    sort = sort < FOREST_SORT_MEMORY_LEAST ? FOREST_SORT_MEMORY_LEAST : sort;
    if (dir == NULL) {
        status = sluice_fail(err, SLUICE_E_IO, "",
                             "there is no scratch folder; give --scratch a folder with room");
    } else if (shared->peer) {
        status = peer_forest_create(memory, &worker->peer, err);
    } else {
        status = forest_create(&settings, &worker->forest, err);
    }
    if (status == SLUICE_OK) {
        status = forest_sort_create(sort, dir, &worker->members.sort, err);
    }
    if (status == SLUICE_OK) {
        status = forest_sort_create(sort, dir, &worker->references.sort, err);
    }
    if (status != SLUICE_OK) {
        components_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static sluice_status add_edge(struct worker *worker, uint64_t one, uint64_t other,
                              struct sluice_error *err)
{
    if (minhash_is_reference(other)) {
        sluice_status status = forest_sort_push(worker->references.sort, one, other, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return worker->shared->peer ? peer_forest_add(worker->peer, one, other, err)
                                : forest_add(worker->forest, one, other, err);
}

static int32_t note_member(void *user, uint64_t position, uint64_t cluster,
                           struct sluice_error *err)
{
    struct worker *worker = user;
    int32_t status = SLUICE_OK;

    if (!minhash_is_reference(position)) {
        status = forest_sort_push(worker->members.sort, position, cluster, err);
    }
    return status == SLUICE_OK ? forest_sort_push(worker->members.sort, cluster, cluster, err)
                               : status;
}

static sluice_status list_next(struct list *list, struct sluice_error *err)
{
    return forest_sort_next(list->sort, &list->next, &list->end, err);
}

/* When the first document comes, all edges are there. */
static sluice_status finish_edges(struct worker *worker, struct sluice_error *err)
{
    sluice_status status = worker->shared->peer
                               ? peer_forest_finish(worker->peer, note_member, worker, err)
                               : forest_finish(worker->forest, note_member, worker, err);

    free_forests(worker);
    if (status == SLUICE_OK) {
        status = forest_sort_rewind(worker->members.sort, err);
    }
    if (status == SLUICE_OK) {
        status = forest_sort_rewind(worker->references.sort, err);
    }
    if (status == SLUICE_OK) {
        status = list_next(&worker->members, err);
    }
    if (status == SLUICE_OK) {
        status = list_next(&worker->references, err);
    }
    worker->finished = true;
    return status;
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

/* The rows of the list for the document at this position. */
static sluice_status pass_document(struct worker *worker, uint64_t position,
                                   struct sluice_rows *out, struct sluice_error *err)
{
    uint64_t cluster = worker->members.next.second;
    sluice_status status;

    if (minhash_is_reference(position)) {
        return sluice_fail(err, SLUICE_E_CONFIG, "",
                           "there are more than 8,388,608 input splits; give a larger split size");
    }
    if (worker->members.end || worker->members.next.first > position) {
        return SLUICE_OK;
    }
    if (worker->members.next.first < position) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "",
                           "an edge names a document that is not there");
    }
    worker->clusters += cluster == position;
    if (worker->references.end || worker->references.next.first != position) {
        add_member(out, position, cluster, 0);
    }
    status = list_next(&worker->members, err);
    while (status == SLUICE_OK && !worker->references.end &&
           worker->references.next.first == position) {
        add_member(out, position, cluster, worker->references.next.second);
        status = list_next(&worker->references, err);
    }
    return status;
}

static sluice_status components_process(void *state, const struct sluice_batch *batch,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_rows out = sluice_rows_begin("ffff");
    sluice_status status = SLUICE_OK;

    if (batch->port == 1) {
        const uint64_t *one = batch->array->children[0]->buffers[1];
        const uint64_t *other = batch->array->children[1]->buffers[1];
        if (worker->finished) { /* by a saved state that is none */
            return sluice_fail(err, SLUICE_E_INTERNAL, "", "an edge comes behind the documents");
        }
        for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
            int64_t row = sluice_row(batch, k);
            status = add_edge(worker, one[row], other[row], err);
        }
        return status;
    }
    if (!worker->finished) {
        status = finish_edges(worker, err);
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        const uint64_t *positions = batch->array->children[0]->buffers[1];
        status = pass_document(worker, positions[sluice_row(batch, k)], &out, err);
    }
    return sluice_rows_emit(&out, status, emit, err);
}

/* Every member must have met its document. */
static sluice_status components_flush(void *state, struct sluice_emit *emit,
                                      struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = SLUICE_OK;

    if (!worker->finished) {
        status = finish_edges(worker, err);
    }
    if (status == SLUICE_OK && !worker->members.end) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "",
                           "an edge names a document that is not there");
    }
    if (status == SLUICE_OK && worker->clusters > 0 &&
        emit->measure(emit, "clusters", worker->clusters) != SLUICE_OK) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "", "the host refused a measure");
    }
    return status;
}

/* ---- saved states ---- */

/* What both lists have left, in chunks. */
static sluice_status save_lists(const struct worker *worker, struct sluice_io *io,
                                struct sluice_error *err)
{
    struct forest_pairs_out out = { .io = io };
    sluice_status status = forest_sort_rest(worker->members.sort, forest_pairs_put, &out, err);

    if (status == SLUICE_OK) {
        status = forest_pairs_end(&out);
    }
    if (status == SLUICE_OK) {
        status = forest_sort_rest(worker->references.sort, forest_pairs_put, &out, err);
    }
    return status == SLUICE_OK ? forest_pairs_end(&out) : status;
}

static sluice_status components_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    uint64_t head[8] = { worker->finished,
                         (uint64_t)worker->clusters,
                         worker->members.next.first,
                         worker->members.next.second,
                         worker->members.end,
                         worker->references.next.first,
                         worker->references.next.second,
                         worker->references.end };
    sluice_status status = io->write(io, head, sizeof head);

    if (status == SLUICE_OK && !worker->finished) {
        status = worker->shared->peer ? peer_forest_save(worker->peer, io)
                                      : forest_save(worker->forest, io, err);
    }
    return status == SLUICE_OK ? save_lists(worker, io, err) : status;
}

static sluice_status load_lists(struct worker *worker, struct sluice_io *io,
                                struct sluice_error *err)
{
    sluice_status status = forest_pairs_get(io, forest_sort_take, worker->members.sort, err);

    if (status == SLUICE_OK) {
        status = forest_pairs_get(io, forest_sort_take, worker->references.sort, err);
    }
    if (status == SLUICE_OK && worker->finished) {
        status = forest_sort_rewind(worker->members.sort, err);
    }
    return status == SLUICE_OK && worker->finished
               ? forest_sort_rewind(worker->references.sort, err)
               : status;
}

static sluice_status components_load(void *state, struct sluice_io *io, uint64_t version,
                                     struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t head[8] = { 0 };
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    worker->finished = head[0] != 0;
    worker->clusters = (int64_t)head[1];
    worker->members.next = (struct forest_pair){ head[2], head[3] };
    worker->members.end = head[4] != 0;
    worker->references.next = (struct forest_pair){ head[5], head[6] };
    worker->references.end = head[7] != 0;
    if (status == SLUICE_OK && worker->finished) {
        free_forests(worker);
    } else if (status == SLUICE_OK) {
        status = worker->shared->peer ? peer_forest_load(worker->peer, io, err)
                                      : forest_load(worker->forest, io, err);
    }
    return status == SLUICE_OK ? load_lists(worker, io, err) : status;
}

const struct sluice_stage minhash_components_stage = {
    .size = sizeof minhash_components_stage,
    .name = "minhash_components",
    .version = "2.0",
    .summary = "Clusters of near-duplicates (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES | SLUICE_STAGE_SIDE_INPUT,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 16 << 20,
    .open = components_open,
    .prepare = components_prepare,
    .worker_open = components_worker_open,
    .process = components_process,
    .flush = components_flush,
    .state_version = 1,
    .save = components_save,
    .load = components_load,
    .worker_close = components_worker_close,
    .close = free,
};
