/* shuffle_keys: where a row stands in the shuffled order, as a key for the exchange; the partitions
 * of an exchange are ranges of keys, so they are stretches of the order. */
#include "shuffle.h"
#include "shuffle_key.h"
#include "text/text_layout.h"

#define BY_MAX 32

struct config {
    struct sluice_list by;
    int64_t seed;
};

struct keys {
    const struct config *config;
    uint64_t seed;
    struct layout layouts[BY_MAX];
    int32_t columns[BY_MAX];
    uint32_t n;
};

static const struct sluice_option options[] = {
    { .name = "by",
      .doc = "Columns whose values name a row; none given: id, or tokens where there is no id.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, by) },
    { .name = "seed",
      .doc = "Another seed gives another order.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct config, seed) },
};

static sluice_status keys_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    struct keys *keys = calloc(1, sizeof *keys);

    (void)api;
    (void)host;
    if (keys == NULL) {
        return shuffle_nomem(err);
    }
    keys->config = config;
    keys->seed = shuffle_seed(SHUFFLE_ORDER, keys->config->seed);
    if (keys->config->by.n > BY_MAX) {
        free(keys);
        return sluice_fail(err, SLUICE_E_CONFIG, "by", "expected at most 32 columns");
    }
    *shared = keys;
    return SLUICE_OK;
}

static void keys_forget(struct keys *keys)
{
    for (uint32_t k = 0; k < keys->n; k++) {
        layout_deinit(&keys->layouts[k]);
    }
    keys->n = 0;
}

static void keys_close(void *shared)
{
    keys_forget(shared);
    free(shared);
}

/* The type of a column, or NULL when there is none of that name. */
static const char *type_of(struct sluice_plan *plan, const char *name)
{
    const char *found;
    const char *type;

    for (uint32_t k = 0; plan->column(plan, 0, k, &found, &type) == SLUICE_OK && found[0] != '\0';
         k++) {
        if (strcmp(found, name) == 0) {
            return type;
        }
    }
    return NULL;
}

static sluice_status need_by(struct keys *keys, struct sluice_plan *plan, const char *name,
                             struct sluice_error *err)
{
    const char *type;
    sluice_status status = plan->need(plan, 0, name, "", 0, &keys->columns[keys->n], err);

    if (status != SLUICE_OK) {
        return status;
    }
    type = type_of(plan, name);
    status = type == NULL ? SLUICE_E_SCHEMA : layout_parse(type, &keys->layouts[keys->n]);
    if (status == SLUICE_E_NOMEM) {
        return shuffle_nomem(err);
    }
    if (status != SLUICE_OK) {
        return shuffle_fail(err, SLUICE_E_SCHEMA, name,
                            "the column '%.100s' has the type %.100s, which can't name rows", name,
                            type == NULL ? "of a hidden column" : type);
    }
    keys->n++;
    return SLUICE_OK;
}

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct keys *keys = shared;
    sluice_status status = SLUICE_OK;

    keys_forget(keys);
    if (type_of(plan, "key") != NULL) {
        return sluice_fail(err, SLUICE_E_SCHEMA, "key",
                           "the rows have a column 'key', which a shuffle needs for itself; give "
                           "it another name where it is read or made");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < keys->config->by.n; i++) {
        status = need_by(keys, plan, keys->config->by.items[i], err);
    }
    if (status == SLUICE_OK && keys->config->by.n == 0) {
        status = need_by(
            keys, plan,
            type_of(plan, "id") == NULL && type_of(plan, "tokens") != NULL ? "tokens" : "id", err);
    }
    return status == SLUICE_OK ? plan->add(plan, "key", "fixed[16]", NULL, err) : status;
}

/* The key of a row; 0 = out of memory. A null names nothing: *named is false. */
static int key_of(const struct keys *keys, const struct sluice_batch *batch, int64_t row,
                  struct sluice_bytes *scratch, uint8_t key[16], bool *named)
{
    const struct ArrowArray *first = batch->array->children[keys->columns[0]];

    *named = true;
    if (keys->n == 1 && keys->layouts[0].kind == LAYOUT_TEXT) {
        size_t n;
        const char *text = sluice_text(first, row, &n);
        *named = !sluice_is_null(first, row);
        shuffle_key(text, n, keys->seed, key);
        return 1;
    }
    scratch->size = 0;
    for (uint32_t k = 0; k < keys->n; k++) {
        const struct ArrowArray *array = batch->array->children[keys->columns[k]];
        *named = *named && !sluice_is_null(array, row);
        if (!layout_write(&keys->layouts[k], array, row, scratch)) {
            return 0;
        }
    }
    shuffle_key(scratch->data, scratch->size, keys->seed, key);
    return 1;
}

static sluice_status keys_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct keys *keys = worker;
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    struct sluice_bytes scratch = { 0 };
    struct sluice_bytes values = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    bool any_bad = false;
    int ok = verdicts != NULL && sluice_bytes_reserve(&values, (uint64_t)batch->n * 16);
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        uint8_t key[16];
        bool named = true;
        ok = key_of(keys, batch, sluice_row(batch, k), &scratch, key, &named) &&
             sluice_bytes_add(&values, key, sizeof key);
        if (ok && !named) {
            sluice_judge_bad(&verdicts[k], "no_id: the column that names the row is null");
            any_bad = true;
        }
    }
    sluice_bytes_free(&scratch);
    if (ok && batch->n > 0) {
        ok = sluice_make_fixed(&column, batch->n, &values, NULL, 0) == SLUICE_OK &&
             sluice_make_struct(&out, batch->n, 1, &column) == SLUICE_OK;
        status = ok ? emit->batch(emit, &out) : SLUICE_OK;
    }
    if (ok && status == SLUICE_OK && any_bad) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    sluice_bytes_free(&values);
    free(verdicts);
    return ok ? status : shuffle_nomem(err);
}

const struct sluice_stage shuffle_keys_stage = {
    .size = sizeof shuffle_keys_stage,
    .name = "shuffle_keys",
    .version = "1.1",
    .summary = "Where each row stands in a shuffled order (part of `shuffle`)",
    .doc = "The column key: XXH3-128 of what names the row, under a seed made of `seed`. A row "
           "whose name is null is set aside.",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = keys_open,
    .prepare = keys_prepare,
    .process = keys_process,
    .close = keys_close,
};
