/* minhash_sign: an annotator that adds _keys (16 bytes a band; empty for documents of fewer than
 * `ngram` words), _sig (the signature's low 16 bits, little-endian, for similarity estimates) and,
 * where they are asked for, _rank (which document of a cluster stays) and _rest (the order of the
 * peer). */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "minhash_rank.h"
#include "minhash_sig.h"
#include "minhash_stages.h"
#include "minhash_words.h"

enum survivors {
    SURVIVORS_FIRST,
    SURVIVORS_PEER,
    SURVIVORS_LONGEST,
    SURVIVORS_BEST,
    SURVIVORS_NEWEST
};

struct config {
    struct minhash_shingling shingling;
    int64_t bands, rows, seed;
    const char *within, *by;
    int32_t keep;
};

static const struct sluice_option options[] = {
    MINHASH_SHINGLING_OPTIONS,
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
    { .name = "within",
      .doc = "Column whose value duplicates share (a crawl); rows without a value form a group of "
             "their own. None given: duplicates are sought everywhere.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, within) },
    { .name = "keep",
      .doc = "Which document of a cluster stays: the first one, the one that datatrove keeps "
             "(peer), the longest in bytes, or the one with the largest number (best) or the "
             "latest date (newest) in column `by`. Of equals the first.",
      .def = "first",
      .choices = "first|peer|longest|best|newest",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, keep) },
    { .name = "by",
      .doc = "Column that `keep` = best (a number) or newest (a number, or a date as text) looks "
             "at; a null comes last.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, by) },
};

enum by_kind { BY_FLOAT64, BY_FLOAT32, BY_INT64, BY_INT32, BY_UINT64, BY_UINT32, BY_TEXT };

struct signer {
    const struct config *config;
    struct minhash *minhash;
    int32_t within, by; /* columns, or -1 */
    enum by_kind by_kind;
    unsigned band_bits; /* keep = peer: bits that name a band at the head of a key */
};

static sluice_status sign_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    struct signer *signer = calloc(1, sizeof *signer);
    bool wants = config->keep == SURVIVORS_BEST || config->keep == SURVIVORS_NEWEST;
    sluice_status status;

    (void)api;
    (void)host;
    if (signer == NULL) {
        return sluice_nomem(err);
    }
    signer->config = config;
    if (wants != (config->by != NULL)) {
        free(signer);
        return sluice_fail(
            err, SLUICE_E_CONFIG, "by",
            wants ? "no column is given to choose by; add by = \"column\" (keep = best and newest "
                    "need one)"
                  : "by goes with keep = best or newest; leave it out or choose one of them");
    }
    status = minhash_shingling_create(&config->shingling, (uint32_t)config->bands,
                                      (uint32_t)config->rows, (uint32_t)config->seed,
                                      &signer->minhash, err);
    if (status != SLUICE_OK) {
        free(signer);
        return status;
    }
    while (((uint64_t)1 << signer->band_bits) < (uint64_t)config->bands) {
        signer->band_bits++;
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

/* Asks for column `by` and finds out what it holds. */
static sluice_status need_by(struct signer *signer, struct sluice_plan *plan,
                             struct sluice_error *err)
{
    static const char *const kinds[] = { "float64", "float32", "int64", "int32",
                                         "uint64",  "uint32",  "utf8" };
    const char *wanted = signer->config->keep == SURVIVORS_NEWEST
                             ? "float64?|float32?|int64?|int32?|uint64?|uint32?|utf8?"
                             : "float64?|float32?|int64?|int32?|uint64?|uint32?";
    sluice_status status = plan->need(plan, 0, signer->config->by, wanted, 0, &signer->by, err);

    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        const char *name;
        const char *type;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            break;
        }
        if (strcmp(name, signer->config->by) == 0) {
            size_t n = strcspn(type, "?");
            for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                if (strlen(kinds[i]) == n && memcmp(kinds[i], type, n) == 0) {
                    signer->by_kind = (enum by_kind)i;
                }
            }
        }
    }
    return status;
}

static sluice_status sign_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct signer *signer = shared;
    const struct config *config = signer->config;
    int32_t index;
    sluice_status status = plan->need(plan, 0, config->shingling.over, "utf8?", 0, &index, err);

    signer->within = signer->by = -1;
    if (status == SLUICE_OK && config->within != NULL) {
        status =
            plan->need(plan, 0, config->within, "utf8?|json?|binary?", 0, &signer->within, err);
    }
    if (status == SLUICE_OK && config->by != NULL) {
        status = need_by(signer, plan, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_keys", "binary", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_sig", "binary", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_rank", "uint64", NULL, err);
    }
    if (status == SLUICE_OK && config->keep == SURVIVORS_PEER) {
        status = plan->add(plan, "_rest", "binary", NULL, err);
    }
    return status;
}

struct sign_worker {
    const struct signer *signer;
    struct minhash_scratch *scratch;
    struct minhash_words words;
    uint64_t *signature;
    uint16_t *compact;
};

static void sign_worker_close(void *state)
{
    struct sign_worker *worker = state;

    minhash_scratch_destroy(worker->scratch);
    minhash_words_deinit(&worker->words);
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
        return sluice_nomem(err);
    }
    worker->signer = signer;
    worker->signature = malloc(n * sizeof *worker->signature);
    worker->compact = malloc(n * sizeof *worker->compact);
    status = worker->signature == NULL || worker->compact == NULL
                 ? sluice_nomem(err)
                 : minhash_scratch_create(&worker->scratch, err);
    if (status != SLUICE_OK) {
        sign_worker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* A group's value in a band key: other values, other keys. */
static struct minhash_key key_within(struct minhash_key key, const struct ArrowArray *values,
                                     int64_t row)
{
    XXH3_state_t state;
    XXH128_hash_t hash;
    size_t n;
    const char *value = sluice_text(values, row, &n);

    XXH3_INITSTATE(&state);
    XXH3_128bits_reset_withSeed(&state, sluice_is_null(values, row) ? 1 : 0);
    XXH3_128bits_update(&state, &key, sizeof key);
    XXH3_128bits_update(&state, value, n);
    hash = XXH3_128bits_digest(&state);
    return (struct minhash_key){ hash.low64, hash.high64 };
}

static void put_big_endian(uint64_t value, char out[8])
{
    for (int i = 0; i < 8; i++) {
        out[i] = (char)(value >> (56 - 8 * i));
    }
}

/* keep = peer: the order of a key is datatrove's of (bucket, signature). The key is the first 128
 * bits of the band's number and its row values; `rest` holds the values in full behind a hash of
 * the group's value. */
static int add_peer_key(const struct sign_worker *worker, uint32_t band, uint64_t group,
                        struct sluice_rows *out)
{
    const struct signer *signer = worker->signer;
    size_t rows = (size_t)signer->config->rows;
    const uint64_t *values = worker->signature + band * rows;
    unsigned width = signer->config->shingling.bits == 0 ? 61 : 32;
    uint64_t head[2] = { 0, 0 };
    char bytes[16];
    unsigned at = signer->band_bits;

    if (at > 0) {
        head[0] = (uint64_t)band << (64 - at);
    }
    for (size_t i = 0; i < rows && at < 128; i++) {
        for (unsigned bit = 0; bit < width && at < 128; bit++, at++) {
            uint64_t one = values[i] >> (width - 1 - bit) & 1;
            head[at / 64] |= one << (63 - at % 64);
        }
    }
    put_big_endian(head[0], bytes);
    put_big_endian(head[1], bytes + 8);
    if (!sluice_bytes_add(&out->data[0], bytes, 16)) {
        return 0;
    }
    put_big_endian(group, bytes);
    if (!sluice_bytes_add(&out->data[3], bytes, 8)) {
        return 0;
    }
    for (size_t i = 0; i < rows; i++) {
        put_big_endian(values[i], bytes);
        if (!sluice_bytes_add(&out->data[3], bytes, 8)) {
            return 0;
        }
    }
    return 1;
}

/* Signs one row: its keys go behind the other rows' into out. */
static sluice_status sign_row(struct sign_worker *worker, const char *text, size_t n,
                              const struct ArrowArray *within, int64_t row, struct sluice_rows *out,
                              struct sluice_error *err)
{
    const struct signer *signer = worker->signer;
    bool peer = signer->config->keep == SURVIVORS_PEER;
    uint64_t group = 0;
    bool has = false;
    int ok = 1;
    sluice_status status =
        minhash_words_cut(&worker->words, &signer->config->shingling, &text, &n, err);

    if (status == SLUICE_OK && n > 0) {
        status = minhash_sign(signer->minhash, worker->scratch, text, n, worker->words.words.data,
                              worker->words.words.count, worker->signature, &has, err);
    }
    if (status != SLUICE_OK || !has) {
        return status;
    }
    if (peer && within != NULL) {
        group = key_within((struct minhash_key){ 0, 0 }, within, row).low;
    }
    for (uint32_t band = 0; ok && band < (uint32_t)signer->config->bands; band++) {
        struct minhash_key key = minhash_band_key(signer->minhash, worker->signature, band);
        if (peer) {
            ok = add_peer_key(worker, band, group, out);
            continue;
        }
        if (within != NULL) {
            key = key_within(key, within, row);
        }
        ok = sluice_bytes_add(&out->data[0], &key, sizeof key);
    }
    minhash_compact(worker->signature, minhash_values(signer->minhash), worker->compact);
    ok =
        ok && sluice_bytes_add(&out->data[1], worker->compact, 2 * minhash_values(signer->minhash));
    return ok ? SLUICE_OK : sluice_nomem(err);
}

/* The rank of a row; false when its date can't be read. */
static bool rank_row(const struct signer *signer, const struct sluice_batch *batch, int64_t row,
                     size_t text_size, uint64_t *rank)
{
    const struct ArrowArray *by = signer->by >= 0 ? batch->array->children[signer->by] : NULL;

    *rank = signer->config->keep == SURVIVORS_LONGEST ? minhash_rank_unsigned(text_size) : 0;
    if (by == NULL) {
        return true;
    }
    *rank = MINHASH_RANK_LAST;
    if (sluice_is_null(by, row)) {
        return true;
    }
    switch (signer->by_kind) {
    case BY_FLOAT64:
        *rank = minhash_rank_float(sluice_float64(by, row));
        break;
    case BY_FLOAT32:
        *rank = minhash_rank_float((double)((const float *)by->buffers[1])[row]);
        break;
    case BY_INT64:
        *rank = minhash_rank_signed(sluice_int64(by, row));
        break;
    case BY_INT32:
        *rank = minhash_rank_signed(((const int32_t *)by->buffers[1])[row]);
        break;
    case BY_UINT64:
        *rank = minhash_rank_unsigned(sluice_uint64(by, row));
        break;
    case BY_UINT32:
        *rank = minhash_rank_unsigned(((const uint32_t *)by->buffers[1])[row]);
        break;
    case BY_TEXT: {
        size_t n;
        const char *text = sluice_text(by, row, &n);
        int64_t micros;
        if (!minhash_date(text, n, &micros)) {
            return false;
        }
        *rank = minhash_rank_signed(micros);
        break;
    }
    }
    return true;
}

static sluice_status end_row(struct sluice_rows *out, int k, struct sluice_error *err)
{
    int32_t end;

    if (out->data[k].size > INT32_MAX) {
        return sluice_fail(err, SLUICE_E_NOMEM, "",
                           "signatures of one batch pass 2 GiB; give a smaller --batch");
    }
    end = (int32_t)out->data[k].size;
    return sluice_bytes_add(&out->offsets[k], &end, sizeof end) ? SLUICE_OK : sluice_nomem(err);
}

static sluice_status sign_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    static const char bad_date[] =
        "bad_date: the column that keep = newest looks at holds no date such as 2024-05-31 or "
        "2024-05-31T12:00:00Z";
    struct sign_worker *worker = state;
    const struct signer *signer = worker->signer;
    bool peer = signer->config->keep == SURVIVORS_PEER;
    struct sluice_rows out = sluice_rows_begin(peer ? "ttft" : "ttf");
    struct sluice_verdict *verdicts = NULL;
    sluice_status status = SLUICE_OK;

    for (int k = 0; k < 4 && status == SLUICE_OK; k++) {
        if (k != 2) {
            status = end_row(&out, k, err);
        }
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const char *text = sluice_text(batch->array->children[0], row, &n);
        uint64_t rank;
        bool good = rank_row(signer, batch, row, n, &rank);
        if (good) {
            status = sign_row(worker, text, n,
                              signer->within >= 0 ? batch->array->children[signer->within] : NULL,
                              row, &out, err);
        } else {
            if (verdicts == NULL) {
                verdicts = calloc((size_t)batch->n, sizeof *verdicts);
            }
            if (verdicts == NULL) {
                status = sluice_nomem(err);
                break;
            }
            verdicts[k] = (struct sluice_verdict){ .reason = SLUICE_VERDICT_BAD,
                                                   .dup_of = bad_date,
                                                   .dup_of_length = (int32_t)sizeof bad_date - 1 };
        }
        sluice_rows_add(&out, 2, &rank, sizeof rank);
        for (int i = 0; i < 4 && status == SLUICE_OK; i++) {
            if (i != 2) {
                status = end_row(&out, i, err);
            }
        }
    }
    if (status == SLUICE_OK && verdicts != NULL) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    out.n = batch->n;
    return sluice_rows_emit(&out, status, emit, err);
}

const struct sluice_stage minhash_sign_stage = {
    .size = sizeof minhash_sign_stage,
    .name = "minhash_sign",
    .version = "2.0",
    .bytes_per_batch = 14,
    .summary = "MinHash signatures and band keys (part of `minhash`)",
    .doc = "Adds the band keys of every document (Broder 1997), the low 16 bits of its signature's "
           "values, and the rank by which one document of a cluster is chosen to stay. The "
           "signatures are those of datatrove 0.10 (pipeline/dedup/minhash.py) bit for bit. "
           "Documents of fewer than `ngram` words have no keys and no duplicates.",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_shared = 1 << 16,
    .bytes_worker = 6 << 20,
    .open = sign_open,
    .prepare = sign_prepare,
    .worker_open = sign_worker_open,
    .process = sign_process,
    .worker_close = sign_worker_close,
    .close = sign_close,
};
