/* sampler, sampler_datatrove - keep a random part of the documents: by a hash of the id, or by the
 * peer's generator in the order of rows. */
#include <sluice_verdicts.h>
#include <sluice_stage.h>
#include <stddef.h>

#include "select.h"
#include "text/text_sample.h"

struct config {
    double rate;
    int64_t seed;
    const char *by;
};

#define RATE                                                                           \
    {                                                                                  \
        .name = "rate", .doc = "Share of the documents to keep.", .def = "0.5",        \
        .type = SLUICE_OPT_FLOAT, .flags = SLUICE_OPTF_POSITIONAL, .min = 0, .max = 1, \
        .offset = offsetof(struct config, rate)                                        \
    }
#define SEED                                                                                   \
    {                                                                                          \
        .name = "seed", .doc = "Another seed keeps other documents.", .def = "0",              \
        .type = SLUICE_OPT_INT, .min = 0, .max = 1e15, .offset = offsetof(struct config, seed) \
    }

static const struct sluice_option hash_options[] = {
    RATE,
    SEED,
    { .name = "by",
      .doc = "Column whose value decides: rows of the same value share a fate. A row without one "
             "can't be judged and is set aside.",
      .def = "id",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, by) },
};
static const struct sluice_option peer_options[] = { RATE, SEED };

static sluice_status hash_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;
    int32_t index;

    return plan->need(plan, 0, config->by, "utf8?", 0, &index, err);
}

static void decide(const struct config *config, double value, struct sluice_verdict *verdict)
{
    verdict->value = value;
    verdict->limit = config->rate;
    verdict->reason = value < config->rate ? 0 : 1;
}

static sluice_status hash_judge(void *shared, const struct sluice_batch *batch, int64_t row,
                                struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = shared;
    size_t n;
    const char *id = sluice_text(batch->array->children[0], row, &n);

    (void)err;
    if (sluice_is_null(batch->array->children[0], row)) {
        sluice_judge_bad(verdict, "no_id: the column that decides is null");
    } else {
        decide(config, text_sample_id(id, n, (uint64_t)config->seed), verdict);
    }
    return SLUICE_OK;
}

static sluice_status hash_process(void *shared, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, hash_judge, shared, err);
}

/* ---- the peer's ---- */

struct peer {
    const struct config *config;
    struct text_pcg64 rng;
};

static sluice_status peer_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    struct peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    peer->config = shared;
    text_pcg64_init(&peer->rng, (uint64_t)peer->config->seed);
    *worker = peer;
    return SLUICE_OK;
}

static sluice_status peer_judge(void *worker, const struct sluice_batch *batch, int64_t row,
                                struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct peer *peer = worker;

    (void)batch;
    (void)row;
    (void)err;
    decide(peer->config, text_pcg64_double(&peer->rng), verdict);
    return SLUICE_OK;
}

static sluice_status peer_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, peer_judge, worker, err);
}

static sluice_status peer_save(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    const struct peer *peer = worker;

    (void)err;
    return io->write(io, &peer->rng, sizeof peer->rng);
}

static sluice_status peer_load(void *worker, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct peer *peer = worker;

    (void)version;
    (void)err;
    return io->read(io, &peer->rng, sizeof peer->rng);
}

static void peer_worker_close(void *worker)
{
    free(worker);
}

const struct sluice_stage select_sampler_stage = {
    .size = sizeof select_sampler_stage,
    .name = "sampler",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary = "Keeps a random share of the documents, chosen by a hash of the id",
    .doc =
        "A document is kept when a number in [0, 1), made of its id and the seed alone (XXH3), is "
        "below `rate`: order, splits and workers change nothing, and a larger rate keeps what a "
        "smaller one kept. datatrove's SamplerFilter, which draws in the order of rows, is "
        "`sampler_datatrove`.",
    .example = "docs | s.sampler { 0.1, seed = 7 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = hash_options,
    .n_options = sizeof hash_options / sizeof hash_options[0],
    .option_stride = sizeof hash_options[0],
    .config_size = sizeof(struct config),
    .reasons = "sampled_out",
    .open = sluice_open_config,
    .prepare = hash_prepare,
    .process = hash_process,
};

const struct sluice_stage select_sampler_datatrove_stage = {
    .size = sizeof select_sampler_datatrove_stage,
    .name = "sampler_datatrove",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary = "Keeps the documents that datatrove's SamplerFilter keeps",
    .doc =
        "datatrove 0.10 (filters/sampler_filter.py): one number of numpy's default_rng(seed) a "
        "document in the order of rows, so that what is kept depends on how the input is split "
        "into tasks (here: input splits). datatrove's seed is random unless given; here it is 0. "
        "Use `sampler` unless you repeat a run of datatrove.",
    .example = "docs | s.sampler_datatrove { rate = 0.5, seed = 42 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_ORDERED,
    .options = peer_options,
    .n_options = sizeof peer_options / sizeof peer_options[0],
    .option_stride = sizeof peer_options[0],
    .config_size = sizeof(struct config),
    .reasons = "sampled_out",
    .state_version = 1,
    .open = sluice_open_config,
    .worker_open = peer_worker_open,
    .process = peer_process,
    .save = peer_save,
    .load = peer_load,
    .worker_close = peer_worker_close,
};
