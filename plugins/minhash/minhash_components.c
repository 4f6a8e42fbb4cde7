/* minhash_edges: rows of one band key, sorted by position, are candidates: each is joined to the one before. minhash_components: connected
 * components over all edges; the smallest position of a component survives, every other row is listed with the survivor's id and the share of
 * equal signature values. Edges come through port 1, completely; then the documents' ids and signatures pass by in order of position, so a
 * survivor is always seen before the rows that duplicate it. Survivors' records wait in a scratch file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "forest.h"
#include "minhash_sig.h"
#include "minhash_stages.h"

/* ---- edges ---- */

static sluice_status edges_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, "key", "fixed[16]", 0, &index, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_pos", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "one", "uint64", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "other", "uint64", NULL, err) : status;
}

struct edges_worker {
    char key[16];
    uint64_t last;
    int begun;
};

static sluice_status edges_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    *out = calloc(1, sizeof(struct edges_worker));
    return *out == NULL ? minhash_nomem(err) : SLUICE_OK;
}

static sluice_status edges_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct edges_worker *worker = state;
    const char *keys = batch->array->children[0]->buffers[1];
    const uint64_t *positions = batch->array->children[1]->buffers[1];
    struct sluice_bytes ends[2] = { { 0 }, { 0 } };
    struct ArrowArray columns[2] = { 0 };
    struct ArrowArray out;
    int64_t n = 0;
    int ok = 1;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        if (worker->begun && memcmp(worker->key, keys + 16 * row, 16) == 0 &&
            worker->last != positions[row]) {
            ok = sluice_bytes_add(&ends[0], &worker->last, 8) &&
                 sluice_bytes_add(&ends[1], &positions[row], 8);
            n++;
        }
        worker->begun = 1;
        memcpy(worker->key, keys + 16 * row, 16);
        worker->last = positions[row];
    }
    ok = ok && sluice_make_fixed(&columns[0], n, &ends[0], NULL, 0) == SLUICE_OK &&
         sluice_make_fixed(&columns[1], n, &ends[1], NULL, 0) == SLUICE_OK;
    if (ok && sluice_make_struct(&out, n, 2, columns) == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    for (int i = 0; i < 2; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
        sluice_bytes_free(&ends[i]);
    }
    return minhash_nomem(err);
}

const struct sluice_stage minhash_edges_stage = {
    .size = sizeof minhash_edges_stage,
    .name = "minhash_edges",
    .version = "1.0",
    .summary = "Pairs of documents that share a band key (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .prepare = edges_prepare,
    .worker_open = edges_worker_open,
    .process = edges_process,
    .worker_close = free,
};

/* ---- components ---- */

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
};

struct pair {
    uint64_t position, survivor;
};

struct worker {
    const struct shared *shared;
    struct forest *forest;
    int finished;     /* all edges are in */
    FILE *pairs;      /* struct pair, ascending by position */
    struct pair next; /* the pair to come */
    int has_next;
    struct sluice_bytes survivors; /* uint64, sorted, unique: 8 bytes a cluster */
    struct sluice_bytes places;    /* uint64: where each one's record begins in records */
    uint64_t next_survivor;        /* index of the one to come */
    FILE *records;                 /* uint32 id bytes, uint32 signature bytes, both */
    uint64_t records_end;
    struct sluice_bytes record;
};

static sluice_status components_open(const struct sluice_host_api *api, struct sluice_host *host,
                                     const void *config, void **out, struct sluice_error *err)
{
    struct shared *shared = malloc(sizeof *shared);

    (void)config;
    if (shared == NULL) {
        return minhash_nomem(err);
    }
    shared->api = api;
    shared->host = host;
    *out = shared;
    return SLUICE_OK;
}

static sluice_status components_prepare(void *shared, struct sluice_plan *plan,
                                        struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, "_pos", "uint64", 0, &index, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_sig", "binary", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "one", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 1, "other", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_pos", "uint64", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "dup_of", "utf8", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "similarity", "float64", NULL, err) : status;
}

static void components_worker_close(void *state)
{
    struct worker *worker = state;

    forest_destroy(worker->forest);
    if (worker->pairs != NULL) {
        fclose(worker->pairs);
    }
    if (worker->records != NULL) {
        fclose(worker->records);
    }
    sluice_bytes_free(&worker->survivors);
    sluice_bytes_free(&worker->places);
    sluice_bytes_free(&worker->record);
    free(worker);
}

/* A nameless file in the scratch folder. */
static FILE *scratch_file(const char *dir)
{
    char path[4096];
    int fd;
    FILE *file;

    if (dir == NULL || snprintf(path, sizeof path, "%s/minhash-XXXXXX", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    unlink(path);
    file = fdopen(fd, "w+b");
    if (file == NULL) {
        close(fd);
    }
    return file;
}

static sluice_status scratch_failed(const struct worker *worker, struct sluice_error *err)
{
    char message[600];
    const char *dir = worker->shared->api->scratch_dir(worker->shared->host);

    snprintf(message, sizeof message,
             "can't write scratch files in %s: %s; give --scratch a folder with room",
             dir == NULL ? "?" : dir, strerror(errno));
    return sluice_fail(err, SLUICE_E_IO, "", message);
}

static sluice_status components_worker_open(void *state, void **out, struct sluice_error *err)
{
    const struct shared *shared = state;
    struct worker *worker = calloc(1, sizeof *worker);
    const char *dir = shared->api->scratch_dir(shared->host);
    uint64_t memory = shared->api->memory_share(shared->host) / 2;
    struct forest_options options = { memory < FOREST_MEMORY_LEAST ? FOREST_MEMORY_LEAST : memory,
                                      dir };
    sluice_status status;

    if (worker == NULL) {
        return minhash_nomem(err);
    }
    worker->shared = shared;
    status = forest_create(&options, &worker->forest, err);
    if (status == SLUICE_OK) {
        worker->pairs = scratch_file(dir);
        worker->records = scratch_file(dir);
        if (worker->pairs == NULL || worker->records == NULL) {
            status = scratch_failed(worker, err);
        }
    }
    if (status != SLUICE_OK) {
        components_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static int32_t note_pair(void *user, uint64_t position, uint64_t survivor, struct sluice_error *err)
{
    struct worker *worker = user;
    struct pair pair = { position, survivor };

    if (fwrite(&pair, sizeof pair, 1, worker->pairs) != 1) {
        return scratch_failed(worker, err);
    }
    return sluice_bytes_add(&worker->survivors, &survivor, 8) ? SLUICE_OK : minhash_nomem(err);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void next_pair(struct worker *worker)
{
    worker->has_next = fread(&worker->next, sizeof worker->next, 1, worker->pairs) == 1;
}

/* When the first document comes, all edges are there. */
static sluice_status finish_edges(struct worker *worker, struct sluice_error *err)
{
    uint64_t *survivors;
    uint64_t n;
    uint64_t kept = 0;
    sluice_status status = forest_finish(worker->forest, note_pair, worker, err);

    if (status != SLUICE_OK) {
        return status;
    }
    forest_destroy(worker->forest);
    worker->forest = NULL;
    survivors = (uint64_t *)(void *)worker->survivors.data;
    n = worker->survivors.size / 8;
    if (n > 0) {
        qsort(survivors, n, sizeof *survivors, by_number);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (kept == 0 || survivors[kept - 1] != survivors[i]) {
            survivors[kept++] = survivors[i];
        }
    }
    worker->survivors.size = kept * 8;
    if (kept > 0 && !sluice_bytes_reserve(&worker->places, kept * 8)) {
        return minhash_nomem(err);
    }
    if (fflush(worker->pairs) != 0 || fseeko(worker->pairs, 0, SEEK_SET) != 0) {
        return scratch_failed(worker, err);
    }
    next_pair(worker);
    worker->finished = 1;
    return SLUICE_OK;
}

static sluice_status keep_survivor(struct worker *worker, const char *id, size_t id_size,
                                   const char *sig, size_t sig_size, struct sluice_error *err)
{
    uint32_t sizes[2] = { (uint32_t)id_size, (uint32_t)sig_size };

    ((uint64_t *)(void *)worker->places.data)[worker->next_survivor++] = worker->records_end;
    if (fseeko(worker->records, (off_t)worker->records_end, SEEK_SET) != 0 ||
        fwrite(sizes, sizeof sizes, 1, worker->records) != 1 ||
        (id_size > 0 && fwrite(id, id_size, 1, worker->records) != 1) ||
        (sig_size > 0 && fwrite(sig, sig_size, 1, worker->records) != 1)) {
        return scratch_failed(worker, err);
    }
    worker->records_end += sizeof sizes + id_size + sig_size;
    return SLUICE_OK;
}

/* Reads the record of a survivor: its id and signature lie in worker->record. */
static sluice_status find_survivor(struct worker *worker, uint64_t position, uint32_t sizes[2],
                                   struct sluice_error *err)
{
    const uint64_t *survivors = (const uint64_t *)(const void *)worker->survivors.data;
    const uint64_t *found = bsearch(&position, survivors, worker->survivors.size / 8, 8, by_number);
    uint64_t index;
    uint64_t place;

    if (found == NULL || (uint64_t)(found - survivors) >= worker->next_survivor) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "",
                           "a duplicate came before the document that it duplicates");
    }
    index = (uint64_t)(found - survivors);
    place = ((const uint64_t *)(const void *)worker->places.data)[index];
    if (fseeko(worker->records, (off_t)place, SEEK_SET) != 0 ||
        fread(sizes, 8, 1, worker->records) != 1) {
        return scratch_failed(worker, err);
    }
    worker->record.size = 0;
    if (!sluice_bytes_reserve(&worker->record, (uint64_t)sizes[0] + sizes[1])) {
        return minhash_nomem(err);
    }
    if (sizes[0] + sizes[1] > 0 &&
        fread(worker->record.data, (size_t)sizes[0] + sizes[1], 1, worker->records) != 1) {
        return scratch_failed(worker, err);
    }
    return SLUICE_OK;
}

struct out {
    struct sluice_bytes positions, offsets, text, similarity;
    int64_t n;
};

static sluice_status add_drop(struct worker *worker, struct out *out, uint64_t position,
                              const char *sig, size_t sig_size, struct sluice_error *err)
{
    uint32_t sizes[2];
    uint16_t values[2];
    uint64_t equal = 0;
    double similarity;
    int32_t end;
    sluice_status status = find_survivor(worker, worker->next.survivor, sizes, err);

    if (status != SLUICE_OK) {
        return status;
    }
    for (size_t i = 0; i + 2 <= sig_size && sig_size == sizes[1]; i += 2) {
        memcpy(&values[0], sig + i, 2);
        memcpy(&values[1], worker->record.data + sizes[0] + i, 2);
        equal += values[0] == values[1];
    }
    similarity = sig_size < 2 ? 0 : (double)equal / (double)(sig_size / 2);
    if (!sluice_bytes_add(&out->positions, &position, 8) ||
        !sluice_bytes_add(&out->text, worker->record.data, sizes[0]) ||
        !sluice_bytes_add(&out->similarity, &similarity, 8)) {
        return minhash_nomem(err);
    }
    end = (int32_t)out->text.size;
    if (!sluice_bytes_add(&out->offsets, &end, sizeof end)) {
        return minhash_nomem(err);
    }
    out->n++;
    return SLUICE_OK;
}

static sluice_status pass_documents(struct worker *worker, const struct sluice_batch *batch,
                                    struct out *out, struct sluice_error *err)
{
    const uint64_t *positions = batch->array->children[0]->buffers[1];
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        const uint64_t *survivors = (const uint64_t *)(const void *)worker->survivors.data;
        int64_t row = sluice_row(batch, k);
        size_t id_size;
        size_t sig_size;
        const char *id = sluice_text(batch->array->children[1], row, &id_size);
        const char *sig = sluice_text(batch->array->children[2], row, &sig_size);
        if (worker->next_survivor < worker->survivors.size / 8 &&
            survivors[worker->next_survivor] == positions[row]) {
            status = keep_survivor(worker, id, id_size, sig, sig_size, err);
        } else if (worker->has_next && worker->next.position == positions[row]) {
            status = add_drop(worker, out, positions[row], sig, sig_size, err);
            next_pair(worker);
        }
    }
    return status;
}

static sluice_status components_process(void *state, const struct sluice_batch *batch,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct out out = { 0 };
    struct ArrowArray columns[3] = { 0 };
    struct ArrowArray array;
    int32_t end = 0;
    sluice_status status = SLUICE_OK;

    if (batch->port == 1) {
        const uint64_t *one = batch->array->children[0]->buffers[1];
        const uint64_t *other = batch->array->children[1]->buffers[1];
        for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
            int64_t row = sluice_row(batch, k);
            status = forest_add(worker->forest, one[row], other[row], err);
        }
        return status;
    }
    if (!worker->finished) {
        status = finish_edges(worker, err);
    }
    if (status == SLUICE_OK && !sluice_bytes_add(&out.offsets, &end, sizeof end)) {
        status = minhash_nomem(err);
    }
    if (status == SLUICE_OK) {
        status = pass_documents(worker, batch, &out, err);
    }
    if (status == SLUICE_OK && out.n > 0) {
        int ok =
            sluice_make_fixed(&columns[0], out.n, &out.positions, NULL, 0) == SLUICE_OK &&
            sluice_make_text(&columns[1], out.n, &out.offsets, &out.text, NULL, 0) == SLUICE_OK &&
            sluice_make_fixed(&columns[2], out.n, &out.similarity, NULL, 0) == SLUICE_OK &&
            sluice_make_struct(&array, out.n, 3, columns) == SLUICE_OK;
        status = ok ? emit->batch(emit, &array) : minhash_nomem(err);
        for (int i = 0; i < 3 && !ok; i++) {
            if (columns[i].release != NULL) {
                columns[i].release(&columns[i]);
            }
        }
    }
    sluice_bytes_free(&out.positions);
    sluice_bytes_free(&out.offsets);
    sluice_bytes_free(&out.text);
    sluice_bytes_free(&out.similarity);
    return status;
}

/* Every pair must have met its document. */
static sluice_status components_flush(void *state, struct sluice_emit *emit,
                                      struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = SLUICE_OK;

    if (!worker->finished) {
        status = finish_edges(worker, err);
    }
    if (status == SLUICE_OK && worker->has_next) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "",
                           "an edge names a document that is not there");
    }
    if (status == SLUICE_OK && worker->survivors.size > 0 &&
        emit->measure(emit, "clusters", (int64_t)(worker->survivors.size / 8)) != SLUICE_OK) {
        return sluice_fail(err, SLUICE_E_INTERNAL, "", "the host refused a measure");
    }
    return status;
}

const struct sluice_stage minhash_components_stage = {
    .size = sizeof minhash_components_stage,
    .name = "minhash_components",
    .version = "1.0",
    .summary = "Clusters of near-duplicates and what to drop of them (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES | SLUICE_STAGE_SIDE_INPUT,
    .bytes_worker = 16 << 20,
    .open = components_open,
    .prepare = components_prepare,
    .worker_open = components_worker_open,
    .process = components_process,
    .flush = components_flush,
    .worker_close = components_worker_close,
    .close = free,
};
