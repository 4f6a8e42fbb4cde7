/* holdout: splits documents into a training part and a holdout by a hash of what names them, so
 * that no document ever changes sides. */
#include <stdio.h>

#include "shuffle.h"
#include "shuffle_key.h"

struct config {
    double share;
    int32_t take;
    const char *by, *source;
    struct sluice_map shares;
    int64_t seed;
};

struct stage {
    const struct config *config;
    double *shares; /* by place in config.shares; owned */
    uint64_t seed;
    int32_t by, source; /* input columns; source -1 */
};

static const struct sluice_option options[] = {
    { .name = "share",
      .doc = "Share of the documents that is held out.",
      .def = "0.01",
      .type = SLUICE_OPT_FLOAT,
      .flags = SLUICE_OPTF_POSITIONAL,
      .min = 0,
      .max = 1,
      .offset = offsetof(struct config, share) },
    { .name = "take",
      .doc = "Which side stays: train or holdout.",
      .def = "train",
      .choices = "train|holdout",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, take) },
    { .name = "by",
      .doc = "Column whose value decides: documents of one value (a cluster of near-duplicates, a "
             "site) are on one side. A row without one is set aside.",
      .def = "id",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, by) },
    { .name = "source",
      .doc = "Column that names a document's source, for `shares`.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, source) },
    { .name = "shares",
      .doc = "Shares by source; sources that are not named have `share`.",
      .type = SLUICE_OPT_MAP,
      .offset = offsetof(struct config, shares) },
    { .name = "seed",
      .doc = "Another seed holds other documents out.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e15,
      .offset = offsetof(struct config, seed) },
};

static void holdout_close(void *shared)
{
    struct stage *stage = shared;

    free(stage->shares);
    free(stage);
}

static sluice_status holdout_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    struct stage *stage = calloc(1, sizeof *stage);

    (void)api;
    (void)host;
    if (stage == NULL) {
        return shuffle_nomem(err);
    }
    stage->config = config;
    stage->seed = shuffle_seed(SHUFFLE_HOLDOUT, config->seed);
    stage->shares = calloc((size_t)config->shares.n + 1, sizeof *stage->shares);
    if (stage->shares == NULL) {
        holdout_close(stage);
        return shuffle_nomem(err);
    }
    if ((config->shares.n > 0) != (config->source != NULL)) {
        holdout_close(stage);
        return sluice_fail(err, SLUICE_E_CONFIG, "shares",
                           "shares and source go together: source = \"source\", shares = { web = "
                           "0.001 }");
    }
    for (uint64_t i = 0; i < config->shares.n; i++) {
        char *end;
        double share = strtod(config->shares.values[i], &end);
        if (end == config->shares.values[i] || *end != '\0' || !(share >= 0 && share <= 1)) {
            holdout_close(stage);
            return shuffle_fail(err, SLUICE_E_CONFIG, "shares",
                                "found %.100s for '%.100s', expected a number from 0 to 1",
                                config->shares.values[i], config->shares.keys[i]);
        }
        stage->shares[i] = share;
    }
    *shared = stage;
    return SLUICE_OK;
}

static sluice_status holdout_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    struct stage *stage = shared;
    char number[40];
    sluice_status status = plan->need(plan, 0, stage->config->by, "utf8?", 0, &stage->by, err);

    stage->source = -1;
    if (status == SLUICE_OK && stage->config->source != NULL) {
        status = plan->need(plan, 0, stage->config->source, "utf8?", 0, &stage->source, err);
    }
    (void)snprintf(number, sizeof number, "%lld", (long long)stage->config->seed);
    if (status == SLUICE_OK) {
        status = plan->note(plan, "seed", number, err);
    }
    (void)snprintf(number, sizeof number, "%.17g", stage->config->share);
    return status == SLUICE_OK ? plan->note(plan, "share", number, err) : status;
}

static double share_of(const struct stage *stage, const struct sluice_batch *batch, int64_t row)
{
    const struct sluice_map *shares = &stage->config->shares;
    size_t n;
    const char *source;

    if (stage->source < 0) {
        return stage->config->share;
    }
    source = sluice_text(batch->array->children[stage->source], row, &n);
    for (uint64_t i = 0; i < shares->n; i++) {
        if (strlen(shares->keys[i]) == n && memcmp(shares->keys[i], source, n) == 0) {
            return stage->shares[i];
        }
    }
    return stage->config->share;
}

static sluice_status judge(void *shared, const struct sluice_batch *batch, int64_t row,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct stage *stage = shared;
    const struct ArrowArray *names = batch->array->children[stage->by];
    size_t n;
    const char *name = sluice_text(names, row, &n);
    bool held;

    (void)err;
    if (sluice_is_null(names, row)) {
        sluice_judge_bad(verdict, "no_id: the column that decides is null");
        return SLUICE_OK;
    }
    verdict->value = shuffle_fraction(shuffle_hash(name, n, stage->seed));
    verdict->limit = share_of(stage, batch, row);
    held = verdict->value < verdict->limit;
    verdict->reason = held == (stage->config->take == 1) ? 0 : held ? 1 : 2;
    return SLUICE_OK;
}

static sluice_status holdout_process(void *shared, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, judge, shared, err);
}

const struct sluice_stage holdout_stage = {
    .size = sizeof holdout_stage,
    .name = "holdout",
    .version = "1.0",
    .summary = "Splits documents into training part and holdout by a hash of the id",
    .doc =
        "A document is held out when a number in [0, 1), made of `by` and the seed alone "
        "(XXH3), is below `share`. Documents that are added later move none from one side to "
        "the other, a larger share only adds to the holdout, and `train` and `holdout` of the "
        "same options are each other's complement. To keep near-duplicates of a document on its "
        "side, give a column that they share as `by` (a group whose documents are of sources with "
        "different `shares` may still be on both sides). What is drawn here tells nothing of what "
        "`mix`, `shuffle` and `sampler` do with the same seed. A fixed number of documents of "
        "each source is `holdout_n`.",
    .example = "docs | s.holdout { 0.001 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "holdout|train",
    .open = holdout_open,
    .prepare = holdout_prepare,
    .process = holdout_process,
    .close = holdout_close,
};
