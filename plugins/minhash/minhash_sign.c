/* minhash_sign: an annotator that adds _keys (16 bytes a band; empty for documents of fewer than `ngram` words) and _sig (the signature's
 * low 16 bits, little-endian, for similarity estimates). minhash_keys: one row a band, for the exchange. */
#include "minhash_sig.h"
#include "minhash_stages.h"
#include "text/text.h"

struct config {
    const char *over;
    int64_t ngram, bands, rows, seed;
    int32_t hash, bits, words;
    uint8_t normalise;
};

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "ngram",
      .doc = "Words of a shingle.",
      .def = "5",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1024,
      .offset = offsetof(struct config, ngram) },
    { .name = "bands",
      .doc = "Bands of the signature.",
      .def = "14",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 4096,
      .offset = offsetof(struct config, bands) },
    { .name = "rows",
      .doc = "Hash functions of a band.",
      .def = "8",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 4096,
      .offset = offsetof(struct config, rows) },
    { .name = "seed",
      .doc = "Seed of the hash functions.",
      .def = "1",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 4294967295.0,
      .offset = offsetof(struct config, seed) },
    { .name = "hash",
      .doc = "Hash of a shingle.",
      .def = "xxhash",
      .choices = "xxhash|sha1",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, hash) },
    { .name = "bits",
      .doc = "Width of a hash.",
      .def = "64",
      .choices = "64|32",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, bits) },
    { .name = "words",
      .doc = "Rule that cuts the normalised text into words.",
      .def = "whitespace",
      .choices = "whitespace|uax29",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, words) },
    { .name = "normalise",
      .doc = "Lower-case, numbers to 0, no punctuation and diacritics, before shingling.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, normalise) },
};

struct signer {
    struct config config;
    struct minhash *minhash;
};

static sluice_status sign_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    struct minhash_options settings = { .ngram = (uint32_t)config->ngram,
                                        .bands = (uint32_t)config->bands,
                                        .rows = (uint32_t)config->rows,
                                        .seed = (uint32_t)config->seed,
                                        .bits = config->bits == 0 ? 64 : 32,
                                        .hash = config->hash == 0 ? MINHASH_XXHASH : MINHASH_SHA1,
                                        .level = MINHASH_LEVEL_AUTO };
    struct signer *signer = calloc(1, sizeof *signer);
    sluice_status status;

    (void)api;
    (void)host;
    if (signer == NULL) {
        return minhash_nomem(err);
    }
    signer->config = *config;
    status = minhash_create(&settings, &signer->minhash, err);
    if (status != SLUICE_OK) {
        free(signer);
        return status;
    }
    *shared = signer;
    return SLUICE_OK;
}

static void sign_close(void *shared)
{
    struct signer *signer = shared;

    minhash_destroy(signer->minhash);
    free(signer);
}

static sluice_status sign_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct signer *signer = shared;
    int32_t index;
    sluice_status status = plan->need(plan, 0, signer->config.over, "utf8?", 0, &index, err);

    if (status == SLUICE_OK) {
        status = plan->add(plan, "_keys", "binary", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_sig", "binary", NULL, err) : status;
}

struct sign_worker {
    const struct signer *signer;
    struct minhash_scratch *scratch;
    struct text_buffer simple;
    struct text_spans words;
    uint64_t *signature;
    uint16_t *compact;
};

static void sign_worker_close(void *state)
{
    struct sign_worker *worker = state;

    minhash_scratch_destroy(worker->scratch);
    text_buffer_deinit(&worker->simple);
    text_spans_deinit(&worker->words);
    free(worker->signature);
    free(worker->compact);
    free(worker);
}

static sluice_status sign_worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct signer *signer = shared;
    struct sign_worker *worker = calloc(1, sizeof *worker);
    size_t n = minhash_values(signer->minhash);
    sluice_status status;

    if (worker == NULL) {
        return minhash_nomem(err);
    }
    worker->signer = signer;
    worker->signature = malloc(n * sizeof *worker->signature);
    worker->compact = malloc(n * sizeof *worker->compact);
    status = worker->signature == NULL || worker->compact == NULL
                 ? minhash_nomem(err)
                 : minhash_scratch_create(&worker->scratch, err);
    if (status != SLUICE_OK) {
        sign_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

static sluice_status sign_row(struct sign_worker *worker, const char *text, size_t n,
                              struct sluice_bytes *keys, struct sluice_bytes *sigs,
                              struct sluice_error *err)
{
    const struct signer *signer = worker->signer;
    enum text_word_rule rule = signer->config.words == 0 ? TEXT_WORDS_WHITESPACE : TEXT_WORDS_UAX29;
    bool has = false;
    sluice_status status = SLUICE_OK;

    if (signer->config.normalise) {
        status = text_simplify(text, n, TEXT_SIMPLIFY_ALL, &worker->simple, err);
        text = worker->simple.data;
        n = worker->simple.len;
    }
    if (status == SLUICE_OK && n > 0) {
        status = text_words(rule, text, n, &worker->words, err);
        if (status == SLUICE_OK) {
            status = minhash_sign(signer->minhash, worker->scratch, text, n, worker->words.data,
                                  worker->words.count, worker->signature, &has, err);
        }
    }
    if (status != SLUICE_OK || !has) {
        return status;
    }
    for (uint32_t band = 0; band < (uint32_t)signer->config.bands; band++) {
        struct minhash_key key = minhash_band_key(signer->minhash, worker->signature, band);
        if (!sluice_bytes_add(keys, &key, sizeof key)) {
            return minhash_nomem(err);
        }
    }
    minhash_compact(worker->signature, minhash_values(signer->minhash), worker->compact);
    return sluice_bytes_add(sigs, worker->compact, 2 * minhash_values(signer->minhash))
               ? SLUICE_OK
               : minhash_nomem(err);
}

static sluice_status sign_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_bytes bytes[2] = { { 0 }, { 0 } };
    struct sluice_bytes offsets[2] = { { 0 }, { 0 } };
    struct ArrowArray columns[2] = { 0 };
    struct ArrowArray out;
    int32_t end = 0;
    sluice_status status = sluice_bytes_add(&offsets[0], &end, sizeof end) &&
                                   sluice_bytes_add(&offsets[1], &end, sizeof end)
                               ? SLUICE_OK
                               : minhash_nomem(err);

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *text = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        status = sign_row(state, text, n, &bytes[0], &bytes[1], err);
        for (int i = 0; status == SLUICE_OK && i < 2; i++) {
            if (bytes[i].size > INT32_MAX) {
                status = sluice_fail(err, SLUICE_E_NOMEM, "",
                                     "signatures of one batch pass 2 GiB; give a smaller --batch");
            }
            end = (int32_t)bytes[i].size;
            if (status == SLUICE_OK && !sluice_bytes_add(&offsets[i], &end, sizeof end)) {
                status = minhash_nomem(err);
            }
        }
    }
    for (int i = 0; i < 2 && status == SLUICE_OK; i++) {
        status =
            sluice_make_text(&columns[i], batch->n, &offsets[i], &bytes[i], NULL, 0) == SLUICE_OK
                ? SLUICE_OK
                : minhash_nomem(err);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, batch->n, 2, columns) == SLUICE_OK
                     ? emit->batch(emit, &out)
                     : minhash_nomem(err);
    }
    for (int i = 0; i < 2; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
        sluice_bytes_free(&bytes[i]);
        sluice_bytes_free(&offsets[i]);
    }
    return status;
}

const struct sluice_stage minhash_sign_stage = {
    .size = sizeof minhash_sign_stage,
    .name = "minhash_sign",
    .version = "1.0",
    .summary = "MinHash signatures and band keys (part of `minhash`)",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_shared = 1 << 16,
    .bytes_worker = 4 << 20,
    .open = sign_open,
    .prepare = sign_prepare,
    .worker_open = sign_worker_open,
    .process = sign_process,
    .worker_close = sign_worker_close,
    .close = sign_close,
};

/* ---- minhash_keys ---- */

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, "_keys", "binary", 0, &index, err);

    (void)shared;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_row", "uint64", 0, &index, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "key", "fixed[16]", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "_row", "uint64", NULL, err) : status;
}

static sluice_status keys_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const uint64_t *rows = batch->array->children[1]->buffers[1];
    struct sluice_bytes keys = { 0 };
    struct sluice_bytes numbers = { 0 };
    struct ArrowArray columns[2] = { 0 };
    struct ArrowArray out;
    int64_t n = 0;
    int ok = 1;

    (void)worker;
    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t size;
        const char *bytes = sluice_text(batch->array->children[0], row, &size);
        ok = sluice_bytes_add(&keys, bytes, size);
        for (size_t i = 0; ok && i + 16 <= size; i += 16) {
            ok = sluice_bytes_add(&numbers, &rows[row], 8);
            n++;
        }
    }
    ok = ok && sluice_make_fixed(&columns[0], n, &keys, NULL, 0) == SLUICE_OK &&
         sluice_make_fixed(&columns[1], n, &numbers, NULL, 0) == SLUICE_OK;
    if (ok && sluice_make_struct(&out, n, 2, columns) == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    for (int i = 0; i < 2; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
    }
    sluice_bytes_free(&keys);
    sluice_bytes_free(&numbers);
    return minhash_nomem(err);
}

const struct sluice_stage minhash_keys_stage = {
    .size = sizeof minhash_keys_stage,
    .name = "minhash_keys",
    .version = "1.0",
    .summary = "One row a band, for the exchange (part of `minhash`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 1 << 20,
    .prepare = keys_prepare,
    .process = keys_process,
};
