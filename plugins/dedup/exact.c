/* exact_keys: the XXH3-128 of a column's value as the exchange key, with the document's id. exact_drops: of the rows with one key, sorted by
 * position, all but the first are listed to be dropped. A null value is no duplicate of anything. */
#include "dedup.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- exact_keys ---- */

struct keys_config {
    const char *over;
};

static const struct sluice_option keys_options[] = {
    { .name = "over",
      .doc = "Column whose equal values are duplicates.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct keys_config, over) },
};

static sluice_status keys_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    struct keys_config *copy = malloc(sizeof *copy);

    (void)api;
    (void)host;
    if (copy == NULL) {
        return dedup_nomem(err);
    }
    *copy = *(const struct keys_config *)config;
    *shared = copy;
    return SLUICE_OK;
}

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct keys_config *config = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?|json?|binary?", 0, &index, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_row", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "key", "fixed[16]", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "id", "utf8", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_row", "uint64", NULL, err) : status;
}

static sluice_status keys_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct ArrowArray *values = batch->array->children[0];
    const struct ArrowArray *ids = batch->array->children[1];
    const uint64_t *rows = batch->array->children[2]->buffers[1];
    struct sluice_bytes keys = { 0 };
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes text = { 0 };
    struct sluice_bytes numbers = { 0 };
    struct ArrowArray columns[3] = { 0 };
    struct ArrowArray out;
    int32_t end = 0;
    int64_t n = 0;
    int ok = sluice_bytes_add(&offsets, &end, sizeof end);
    sluice_status status = SLUICE_E_NOMEM;

    (void)worker;
    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t size;
        size_t id_size;
        const char *value = sluice_text(values, row, &size);
        const char *id = sluice_text(ids, row, &id_size);
        XXH128_canonical_t key;
        if (sluice_is_null(values, row)) {
            continue;
        }
        XXH128_canonicalFromHash(&key, XXH3_128bits(value, size));
        ok = sluice_bytes_add(&keys, key.digest, sizeof key.digest) &&
             sluice_bytes_add(&text, id, id_size) &&
             sluice_bytes_add(&numbers, &rows[row], sizeof rows[row]);
        end = (int32_t)text.size;
        ok = ok && sluice_bytes_add(&offsets, &end, sizeof end);
        n++;
    }
    if (ok && sluice_make_fixed(&columns[0], n, &keys, NULL, 0) == SLUICE_OK &&
        sluice_make_text(&columns[1], n, &offsets, &text, NULL, 0) == SLUICE_OK &&
        sluice_make_fixed(&columns[2], n, &numbers, NULL, 0) == SLUICE_OK) {
        status = sluice_make_struct(&out, n, 3, columns);
    }
    if (status == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    for (int i = 0; i < 3; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
    }
    sluice_bytes_free(&keys);
    sluice_bytes_free(&offsets);
    sluice_bytes_free(&text);
    sluice_bytes_free(&numbers);
    return dedup_nomem(err);
}

static void keys_close(void *shared)
{
    free(shared);
}

const struct sluice_stage exact_keys_stage = {
    .size = sizeof exact_keys_stage,
    .name = "exact_keys",
    .version = "1.0",
    .summary = "Content hashes for exact deduplication (part of `exact`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = keys_options,
    .n_options = 1,
    .option_stride = sizeof keys_options[0],
    .config_size = sizeof(struct keys_config),
    .bytes_worker = 1 << 20,
    .open = keys_open,
    .prepare = keys_prepare,
    .process = keys_process,
    .close = keys_close,
};

/* ---- exact_drops ---- */

struct drops_config {
    uint64_t unused;
};

static sluice_status drops_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, "key", "fixed[16]", 0, &index, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_pos", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_pos", "uint64", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "dup_of", "utf8", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "similarity", "float64", NULL, err) : status;
}

/* The key and survivor of the last row, across batches. */
struct drops_worker {
    char key[16];
    int begun, clustered;
    struct sluice_bytes survivor;
};

static sluice_status drops_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    *out = calloc(1, sizeof(struct drops_worker));
    return *out == NULL ? dedup_nomem(err) : SLUICE_OK;
}

static void drops_worker_close(void *state)
{
    struct drops_worker *worker = state;

    sluice_bytes_free(&worker->survivor);
    free(worker);
}

static sluice_status drops_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct drops_worker *worker = state;
    const char *keys = batch->array->children[0]->buffers[1];
    const struct ArrowArray *ids = batch->array->children[1];
    const uint64_t *positions = batch->array->children[2]->buffers[1];
    const double one = 1.0;
    struct sluice_bytes dropped = { 0 };
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes text = { 0 };
    struct sluice_bytes similarity = { 0 };
    struct ArrowArray columns[3] = { 0 };
    struct ArrowArray out;
    int32_t end = 0;
    int64_t n = 0;
    int64_t clusters = 0;
    int ok = sluice_bytes_add(&offsets, &end, sizeof end);
    sluice_status status = SLUICE_E_NOMEM;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *key = keys + 16 * row;
        if (!worker->begun || memcmp(worker->key, key, 16) != 0) {
            size_t size;
            const char *id = sluice_text(ids, row, &size);
            worker->begun = 1;
            worker->clustered = 0;
            memcpy(worker->key, key, 16);
            worker->survivor.size = 0;
            ok = sluice_bytes_add(&worker->survivor, id, size);
            continue;
        }
        ok = sluice_bytes_add(&dropped, &positions[row], sizeof positions[row]) &&
             sluice_bytes_add(&text, worker->survivor.data, worker->survivor.size) &&
             sluice_bytes_add(&similarity, &one, sizeof one);
        end = (int32_t)text.size;
        ok = ok && sluice_bytes_add(&offsets, &end, sizeof end);
        n++;
        clusters += !worker->clustered;
        worker->clustered = 1;
    }
    if (clusters > 0 && emit->measure(emit, "clusters", clusters) != SLUICE_OK) {
        ok = 0;
    }
    if (ok && sluice_make_fixed(&columns[0], n, &dropped, NULL, 0) == SLUICE_OK &&
        sluice_make_text(&columns[1], n, &offsets, &text, NULL, 0) == SLUICE_OK &&
        sluice_make_fixed(&columns[2], n, &similarity, NULL, 0) == SLUICE_OK) {
        status = sluice_make_struct(&out, n, 3, columns);
    }
    if (status == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    for (int i = 0; i < 3; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
    }
    sluice_bytes_free(&dropped);
    sluice_bytes_free(&offsets);
    sluice_bytes_free(&text);
    sluice_bytes_free(&similarity);
    return dedup_nomem(err);
}

const struct sluice_stage exact_drops_stage = {
    .size = sizeof exact_drops_stage,
    .name = "exact_drops",
    .version = "1.0",
    .summary = "All but the first row of equal key (part of `exact`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .prepare = drops_prepare,
    .worker_open = drops_worker_open,
    .process = drops_process,
    .worker_close = drops_worker_close,
};
