/* mix_draw: how often each document goes into the mixture; those that don't are dropped.
 * holdout_first: the first documents of each source in the order of hashes, or all others. Both
 * look up the cut of a document's source, which the side input brings. */
#include <sluice_state.h>
#include <stdio.h>

#include "mix.h"
#include "shuffle_key.h"

struct cut {
    uint64_t key, whole, cut, any;
};

struct draw {
    const char *by, *id;
    int64_t seed;
    int32_t take;                      /* holdout_first */
    struct sluice_map weights, epochs; /* for the manifest */
    bool holdout;
    int32_t by_index, id_index;
    uint64_t hash_seed, name_seed;
};

struct draw_config {
    const char *by, *id;
    int64_t seed;
    int32_t take;
    struct sluice_map weights, epochs;
};

#define COMMON                                                                       \
    { .name = "by",                                                                  \
      .doc = "Column that names a document's source; none given: all are of one.",   \
      .type = SLUICE_OPT_COLUMN,                                                     \
      .offset = offsetof(struct draw_config, by) },                                  \
        { .name = "id",                                                              \
          .doc = "Column whose value decides: rows of the same value share a fate.", \
          .def = "id",                                                               \
          .type = SLUICE_OPT_COLUMN,                                                 \
          .offset = offsetof(struct draw_config, id) },                              \
    {                                                                                \
        .name = "seed", .doc = "Another seed takes other documents.", .def = "0",    \
        .type = SLUICE_OPT_INT, .min = 0, .max = 1e15,                               \
        .offset = offsetof(struct draw_config, seed)                                 \
    }

static const struct sluice_option draw_options[] = {
    COMMON,
    { .name = "weights",
      .doc = "What mix_targets was given, for the manifest.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct draw_config, weights) },
    { .name = "epochs",
      .doc = "What mix_targets was given, for the manifest.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct draw_config, epochs) },
};

static const struct sluice_option first_options[] = {
    COMMON,
    { .name = "take",
      .doc = "train: all others; holdout: the first documents.",
      .def = "train",
      .choices = "train|holdout",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct draw_config, take) },
};

static sluice_status open_as(const void *given, bool holdout, void **shared,
                             struct sluice_error *err)
{
    const struct draw_config *config = given;
    struct draw *draw = calloc(1, sizeof *draw);

    if (draw == NULL) {
        return shuffle_nomem(err);
    }
    draw->by = config->by;
    draw->id = config->id;
    draw->seed = config->seed;
    draw->take = config->take;
    draw->weights = config->weights;
    draw->epochs = config->epochs;
    draw->holdout = holdout;
    draw->hash_seed = shuffle_seed(SHUFFLE_DRAW, config->seed);
    draw->name_seed = shuffle_seed(SHUFFLE_NAME, 0);
    *shared = draw;
    return SLUICE_OK;
}

static sluice_status draw_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return open_as(config, false, shared, err);
}

static sluice_status first_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return open_as(config, true, shared, err);
}

/* ---- the manifest ---- */

static int add_text(struct sluice_bytes *out, const char *text)
{
    return sluice_bytes_add(out, text, strlen(text));
}

static int add_json_string(struct sluice_bytes *out, const char *text)
{
    int ok = add_text(out, "\"");

    for (; ok && *text != '\0'; text++) {
        char escaped[8];
        unsigned char c = (unsigned char)*text;
        int n = c == '"' || c == '\\' ? snprintf(escaped, sizeof escaped, "\\%c", c)
                : c < 0x20            ? snprintf(escaped, sizeof escaped, "\\u%04x", c)
                                      : snprintf(escaped, sizeof escaped, "%c", c);
        ok = sluice_bytes_add(out, escaped, (uint64_t)n);
    }
    return ok && add_text(out, "\"");
}

static sluice_status note_map(const struct sluice_map *map, const char *name,
                              struct sluice_plan *plan, struct sluice_error *err)
{
    struct sluice_bytes json = { 0 };
    sluice_status status;
    int ok = add_text(&json, "{");

    if (map->n == 0) {
        sluice_bytes_free(&json);
        return SLUICE_OK;
    }
    for (uint64_t i = 0; ok && i < map->n; i++) {
        ok = (i == 0 || add_text(&json, ",")) && add_json_string(&json, map->keys[i]) &&
             add_text(&json, ":") && add_json_string(&json, map->values[i]);
    }
    ok = ok && sluice_bytes_add(&json, "}", 2);
    status = ok ? plan->note(plan, name, json.data, err) : shuffle_nomem(err);
    sluice_bytes_free(&json);
    return status;
}

static sluice_status draw_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct draw *draw = shared;
    char seed[24];
    sluice_status status = SLUICE_OK;

    draw->by_index = -1;
    if (draw->by != NULL) {
        status = plan->need(plan, 0, draw->by, "utf8?", 0, &draw->by_index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, draw->id, "utf8?", 0, &draw->id_index, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status =
            plan->need(plan, 1, mix_cut_columns[i].name, mix_cut_columns[i].type, 0, NULL, err);
    }
    if (status == SLUICE_OK && !draw->holdout) {
        status = plan->add(plan, "_copies", "uint8", NULL, err);
    }
    (void)snprintf(seed, sizeof seed, "%lld", (long long)draw->seed);
    if (status == SLUICE_OK) {
        status = plan->note(plan, "seed", seed, err);
    }
    if (status == SLUICE_OK) {
        status = note_map(&draw->weights, "weights", plan, err);
    }
    return status == SLUICE_OK ? note_map(&draw->epochs, "epochs", plan, err) : status;
}

/* ---- rows ---- */

struct worker {
    const struct draw *draw;
    struct sluice_bytes cuts; /* struct cut */
};

static sluice_status draw_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void draw_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->cuts);
    free(worker);
}

static sluice_status take_cuts(struct worker *worker, const struct sluice_batch *batch,
                               struct sluice_error *err)
{
    struct ArrowArray *const *columns = batch->array->children;

    for (int64_t k = 0; k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        struct cut cut = { sluice_uint64(columns[0], row), sluice_uint64(columns[1], row),
                           sluice_uint64(columns[2], row), sluice_uint64(columns[3], row) };
        if (!sluice_bytes_add(&worker->cuts, &cut, sizeof cut)) {
            return shuffle_nomem(err);
        }
    }
    return SLUICE_OK;
}

/* The cut of a document's source, or NULL. */
static const struct cut *cut_of(const struct worker *worker, const char *source, size_t n)
{
    const struct cut *cuts = (const struct cut *)(const void *)worker->cuts.data;
    size_t n_cuts = (size_t)(worker->cuts.size / sizeof *cuts);
    uint64_t key = shuffle_hash(source, n, worker->draw->name_seed);

    for (size_t k = 0; k < n_cuts; k++) {
        if (cuts[k].key == key) {
            return &cuts[k];
        }
    }
    return NULL;
}

/* How often a document goes by, with the verdict that follows. */
static uint8_t judge(const struct worker *worker, const struct sluice_batch *batch, int64_t row,
                     struct sluice_verdict *verdict)
{
    const struct draw *draw = worker->draw;
    const struct ArrowArray *ids = batch->array->children[draw->id_index];
    const struct cut *cut;
    const char *source = "";
    size_t n_source = 0;
    size_t n;
    const char *id = sluice_text(ids, row, &n);
    uint64_t hash;
    uint32_t copies;

    if (draw->by_index >= 0) {
        const struct ArrowArray *sources = batch->array->children[draw->by_index];
        if (sluice_is_null(sources, row)) {
            sluice_judge_bad(verdict, "no_source: the column that names the source is null");
            return 0;
        }
        source = sluice_text(sources, row, &n_source);
    }
    if (sluice_is_null(ids, row)) {
        sluice_judge_bad(verdict, "no_id: the column that decides is null");
        return 0;
    }
    cut = cut_of(worker, source, n_source);
    if (cut == NULL || cut->whole > MIXTURE_EPOCHS_MAX) {
        sluice_judge_bad(verdict, "unknown_source: nobody has counted the documents of the source");
        return 0;
    }
    hash = shuffle_hash(id, n, draw->hash_seed);
    copies = mixture_copies(cut->whole, cut->any != 0, cut->cut, hash);
    verdict->value = shuffle_fraction(hash);
    verdict->limit = cut->any != 0 ? shuffle_fraction(cut->cut) : 0;
    return (uint8_t)copies;
}

static sluice_status draw_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct draw *draw = worker->draw;
    struct sluice_verdict *verdicts;
    struct sluice_bytes copies = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    sluice_status status = SLUICE_OK;
    int ok;

    if (batch->port == 1) {
        return take_cuts(worker, batch, err);
    }
    verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    ok = verdicts != NULL && sluice_bytes_reserve(&copies, (uint64_t)batch->n + 1);
    for (int64_t k = 0; ok && k < batch->n; k++) {
        uint8_t n = judge(worker, batch, sluice_row(batch, k), &verdicts[k]);
        if (verdicts[k].reason == 0 && draw->holdout) {
            verdicts[k].reason = (n > 0) == (draw->take == 1) ? 0 : n > 0 ? 1 : 2;
        } else if (verdicts[k].reason == 0) {
            verdicts[k].reason = n == 0;
        }
        ok = sluice_bytes_add(&copies, &n, 1);
    }
    if (ok && batch->n > 0 && !draw->holdout) {
        ok = sluice_make_fixed(&column, batch->n, &copies, NULL, 0) == SLUICE_OK &&
             sluice_make_struct(&out, batch->n, 1, &column) == SLUICE_OK;
        status = ok ? emit->batch(emit, &out) : SLUICE_OK;
    }
    if (ok && status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    sluice_bytes_free(&copies);
    free(verdicts);
    return ok ? status : shuffle_nomem(err);
}

static sluice_status draw_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;

    (void)err;
    return sluice_state_put(io, worker->cuts.data, worker->cuts.size);
}

static sluice_status draw_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    (void)version;
    (void)err;
    return sluice_state_get(io, sizeof(struct cut), &((struct worker *)state)->cuts);
}

const struct sluice_stage mix_draw_stage = {
    .size = sizeof mix_draw_stage,
    .name = "mix_draw",
    .version = "1.0",
    .summary = "How often each document goes into a mixture (part of `mix`)",
    .doc = "value and limit of a verdict are the document's place and the cut of its source, both "
           "as fractions of the range of hashes.",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_SIDE_INPUT,
    .options = draw_options,
    .n_options = sizeof draw_options / sizeof draw_options[0],
    .option_stride = sizeof draw_options[0],
    .config_size = sizeof(struct draw_config),
    .reasons = "not_drawn",
    .bytes_worker = 1 << 20,
    .open = draw_open,
    .prepare = draw_prepare,
    .worker_open = draw_worker_open,
    .process = draw_process,
    .save = draw_save,
    .load = draw_load,
    .state_version = 1,
    .worker_close = draw_worker_close,
    .close = free,
};

const struct sluice_stage holdout_first_stage = {
    .size = sizeof holdout_first_stage,
    .name = "holdout_first",
    .version = "1.0",
    .summary = "The first documents of each source by hash, or all others (part of `holdout_n`)",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_SIDE_INPUT,
    .options = first_options,
    .n_options = sizeof first_options / sizeof first_options[0],
    .option_stride = sizeof first_options[0],
    .config_size = sizeof(struct draw_config),
    .reasons = "holdout|train",
    .bytes_worker = 1 << 20,
    .open = first_open,
    .prepare = draw_prepare,
    .worker_open = draw_worker_open,
    .process = draw_process,
    .save = draw_save,
    .load = draw_load,
    .state_version = 1,
    .worker_close = draw_worker_close,
    .close = free,
};
