/* mix_sizes: what a mixture must know of each document: its source, its size, and its place in the
 * order of hashes. mix_count: the sums of a split by source. */
#include <stdio.h>

#include "mix.h"
#include "shuffle_key.h"
#include "text/text_layout.h"

/* ---- mix_sizes ---- */

struct sizes_config {
    const char *by, *id, *size, *over;
    int64_t seed;
};

static const struct sluice_option sizes_options[] = {
    { .name = "by",
      .doc = "Column that names a document's source; none given: all are of one.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct sizes_config, by) },
    { .name = "id",
      .doc = "Column whose value decides which documents are taken.",
      .def = "id",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct sizes_config, id) },
    { .name = "size",
      .doc = "documents, bytes (of the text), or a column: a number, or a list whose items count.",
      .def = "bytes",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct sizes_config, size) },
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct sizes_config, over) },
    { .name = "seed",
      .doc = "Another seed takes other documents.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct sizes_config, seed) },
};

enum measure { OF_ONE, OF_TEXT, OF_LIST, OF_INT, OF_UINT };

struct sizes {
    const struct sizes_config *config;
    uint64_t seed, name_seed;
    enum measure measure;
    uint32_t width;
    int32_t by, id, size, row; /* input columns; by and size may be -1 */
};

static sluice_status sizes_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct sizes *sizes = calloc(1, sizeof *sizes);

    (void)api;
    (void)host;
    if (sizes == NULL) {
        return shuffle_nomem(err);
    }
    sizes->config = config;
    sizes->seed = shuffle_seed(SHUFFLE_DRAW, sizes->config->seed);
    sizes->name_seed = shuffle_seed(SHUFFLE_NAME, 0);
    *shared = sizes;
    return SLUICE_OK;
}

static sluice_status need_size(struct sizes *sizes, struct sluice_plan *plan,
                               struct sluice_error *err)
{
    const char *name = sizes->config->size;
    const char *found = "";
    const char *type = "";
    struct layout layout;
    sluice_status status;

    sizes->size = -1;
    sizes->measure = OF_ONE;
    if (strcmp(name, "documents") == 0) {
        return SLUICE_OK;
    }
    if (strcmp(name, "bytes") == 0) {
        sizes->measure = OF_TEXT;
        return plan->need(plan, 0, sizes->config->over, "utf8?", 0, &sizes->size, err);
    }
    status = plan->need(plan, 0, name, "", 0, &sizes->size, err);
    if (status != SLUICE_OK) {
        return status;
    }
    for (uint32_t k = 0; status == SLUICE_OK && strcmp(found, name) != 0; k++) {
        status = plan->column(plan, 0, k, &found, &type);
        if (found[0] == '\0') {
            break;
        }
    }
    if (status == SLUICE_OK) {
        status = layout_parse(type, &layout);
    }
    if (status == SLUICE_E_NOMEM) {
        return shuffle_nomem(err);
    }
    if (status != SLUICE_OK) {
        return shuffle_fail(err, SLUICE_E_SCHEMA, name,
                            "the column '%.100s' is hidden, expected an integer or a list as the "
                            "size of a document",
                            name);
    }
    sizes->measure = layout.kind == LAYOUT_LIST ? OF_LIST : type[0] == 'u' ? OF_UINT : OF_INT;
    sizes->width = layout.width;
    if (layout.kind != LAYOUT_LIST &&
        (strncmp(type, "int", 3) != 0 && strncmp(type, "uint", 4) != 0)) {
        status = shuffle_fail(err, SLUICE_E_SCHEMA, name,
                              "the column '%.100s' has the type %.100s, expected an integer or a "
                              "list as the size of a document",
                              name, type);
    }
    layout_deinit(&layout);
    return status;
}

static sluice_status sizes_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct sizes *sizes = shared;
    sluice_status status = SLUICE_OK;

    sizes->by = -1;
    if (sizes->config->by != NULL) {
        status = plan->need(plan, 0, sizes->config->by, "utf8?", 0, &sizes->by, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, sizes->config->id, "utf8?", 0, &sizes->id, err);
    }
    if (status == SLUICE_OK) {
        status = need_size(sizes, plan, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, &sizes->row, err);
    }
    return status == SLUICE_OK ? mix_declare(plan, mix_size_columns, MIX_SIZE_COLUMNS, err)
                               : status;
}

/* The size of a document; a null or a number below 0 is 0. */
static uint64_t size_of(const struct sizes *sizes, const struct sluice_batch *batch, int64_t row)
{
    const struct ArrowArray *array;
    const char *at;
    uint64_t value = 0;
    int shift = 64 - 8 * (int)sizes->width;
    size_t n;

    if (sizes->measure == OF_ONE) {
        return 1;
    }
    array = batch->array->children[sizes->size];
    if (sluice_is_null(array, row)) {
        return 0;
    }
    if (sizes->measure == OF_TEXT) {
        (void)sluice_text(array, row, &n);
        return n;
    }
    if (sizes->measure == OF_LIST) {
        const int32_t *offsets = array->buffers[1];
        return (uint64_t)(offsets[row + 1] - offsets[row]);
    }
    at = (const char *)array->buffers[1] + (uint64_t)row * sizes->width;
    memcpy(&value, at, sizes->width); /* little-endian, as on all machines we run on */
    if (sizes->measure == OF_INT) {
        int64_t wide = (int64_t)(value << shift) >> shift;
        value = wide < 0 ? 0 : (uint64_t)wide;
    }
    return value;
}

static sluice_status sizes_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct sizes *sizes = worker;
    const struct ArrowArray *ids = batch->array->children[sizes->id];
    struct mix_rows rows = { 0 };
    int ok = 1;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t number = sluice_uint64(batch->array->children[sizes->row], row);
        uint64_t size = size_of(sizes, batch, row);
        const char *source = "";
        size_t n_source = 0;
        size_t n;
        const char *id = sluice_text(ids, row, &n);
        uint8_t key[16];
        if (sizes->by >= 0) {
            const struct ArrowArray *names = batch->array->children[sizes->by];
            if (sluice_is_null(names, row)) {
                continue; /* mix_draw sets it aside */
            }
            source = sluice_text(names, row, &n_source);
        }
        if (sluice_is_null(ids, row)) {
            continue;
        }
        shuffle_put(shuffle_hash(source, n_source, sizes->name_seed), key);
        shuffle_put(shuffle_hash(id, n, sizes->seed), key + 8);
        ok = mix_rows_fixed(&rows, 0, key, sizeof key) &&
             mix_rows_text(&rows, 1, source, n_source) &&
             mix_rows_fixed(&rows, 2, &size, sizeof size) &&
             mix_rows_fixed(&rows, 3, &number, sizeof number);
        rows.n++;
    }
    return mix_rows_emit(&rows, ok, mix_size_columns, MIX_SIZE_COLUMNS, emit, err);
}

const struct sluice_stage mix_sizes_stage = {
    .size = sizeof mix_sizes_stage,
    .name = "mix_sizes",
    .version = "1.0",
    .summary = "Source, size and hash of each document (part of `mix`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = sizes_options,
    .n_options = sizeof sizes_options / sizeof sizes_options[0],
    .option_stride = sizeof sizes_options[0],
    .config_size = sizeof(struct sizes_config),
    .bytes_worker = 1 << 20,
    .open = sizes_open,
    .prepare = sizes_prepare,
    .process = sizes_process,
    .close = free,
};

/* ---- mix_count ---- */

static sluice_status count_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, 0, SLUICE_KEY, "fixed[16]", 0, NULL, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "source", "utf8", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "size", "uint64", 0, NULL, err);
    }
    return status == SLUICE_OK ? mix_declare(plan, mix_count_columns, MIX_COUNT_COLUMNS, err)
                               : status;
}

static sluice_status count_worker_open(void *shared, void **out, struct sluice_error *err)
{
    (void)shared;
    return sluice_worker_new(NULL, sizeof(struct mix_sources), out, err);
}

static void count_worker_close(void *state)
{
    mix_sources_deinit(state);
    free(state);
}

static sluice_status count_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct mix_sources *sources = state;
    const uint8_t *keys = batch->array->children[0]->buffers[1];

    (void)emit;
    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct mixture_source *source;
        size_t n;
        const char *name = sluice_text(batch->array->children[1], row, &n);
        sluice_status status =
            mix_sources_find(sources, shuffle_get(keys + 16 * row), name, n, &source, err);
        if (status != SLUICE_OK) {
            return status;
        }
        source->documents++;
        source->size = mix_add(source->size, sluice_uint64(batch->array->children[2], row));
    }
    return SLUICE_OK;
}

static sluice_status count_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    struct mix_sources *sources = state;
    struct mix_rows rows = { 0 };
    int ok = 1;

    for (size_t k = 0; ok && k < sources->n; k++) {
        const struct mixture_source *source = &sources->items[k];
        ok = mix_rows_fixed(&rows, 0, &source->key, sizeof source->key) &&
             mix_rows_text(&rows, 1, source->name, strlen(source->name)) &&
             mix_rows_fixed(&rows, 2, &source->documents, sizeof source->documents) &&
             mix_rows_fixed(&rows, 3, &source->size, sizeof source->size);
        rows.n++;
    }
    return mix_rows_emit(&rows, ok, mix_count_columns, MIX_COUNT_COLUMNS, emit, err);
}

static sluice_status count_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return mix_sources_save(state, io);
}

static sluice_status count_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    (void)version;
    return mix_sources_load(state, io, err);
}

const struct sluice_stage mix_count_stage = {
    .size = sizeof mix_count_stage,
    .name = "mix_count",
    .version = "1.0",
    .summary = "Documents and size of each source in a split (part of `mix`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .prepare = count_prepare,
    .worker_open = count_worker_open,
    .process = count_process,
    .save = count_save,
    .load = count_load,
    .state_version = 1,
    .flush = count_flush,
    .worker_close = count_worker_close,
};
