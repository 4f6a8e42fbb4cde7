/* exact_keys: the hash of a row's key columns for the exchange, with its id. exact_index_keys: the
 * same of the rows of an index, which come before any document. Both say by which rule the hash was
 * made, so that an index of another one is refused. */
#include <math.h>
#include <stdio.h>

#include "dedup.h"
#include "exact_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define KEY_COLUMNS_MAX 32

struct config {
    struct sluice_list over;
    const char *within, *priority;
};

/* How a column's values are read. */
struct value_kind {
    uint8_t width; /* bytes of a fixed-width value; 0: bytes of any length */
    char number;   /* 'i', 'u' or 'f' of a number, 'b' of a bool, 't' of a text */
};

struct keys {
    const struct config *config;
    struct value_kind kinds[KEY_COLUMNS_MAX + 2]; /* over, within, priority */
    int32_t columns[KEY_COLUMNS_MAX + 2];
    uint32_t n_hashed; /* over and within */
    int32_t id, row;
};

static const struct sluice_option keys_options[] = {
    { .name = "over",
      .doc = "Columns whose equal values make rows duplicates.",
      .def = "text",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, over) },
    { .name = "within",
      .doc = "Only rows with one value of this column can be duplicates (a crawl, a language).",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, within) },
    { .name = "priority",
      .doc = "Number column: of duplicates the one with the highest value stays, then the first.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, priority) },
};

static sluice_status keys_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;

    (void)api;
    (void)host;
    if (config->over.n == 0 || config->over.n > KEY_COLUMNS_MAX) {
        return sluice_fail(err, SLUICE_E_CONFIG, "over",
                           "expected 1 to 32 columns whose values are compared");
    }
    return sluice_shared_new(config, sizeof(struct keys), shared, err);
}

/* How values of a type such as "int64?" are read; 0 for one that has no key. */
static int kind_of(const char *type, struct value_kind *kind)
{
    static const struct {
        const char *name;
        struct value_kind kind;
    } kinds[] = { { "utf8", { 0, 't' } },    { "json", { 0, 't' } },   { "binary", { 0, 't' } },
                  { "bool", { 1, 'b' } },    { "int8", { 1, 'i' } },   { "int16", { 2, 'i' } },
                  { "int32", { 4, 'i' } },   { "int64", { 8, 'i' } },  { "uint8", { 1, 'u' } },
                  { "uint16", { 2, 'u' } },  { "uint32", { 4, 'u' } }, { "uint64", { 8, 'u' } },
                  { "float32", { 4, 'f' } }, { "float64", { 8, 'f' } } };
    size_t n = strlen(type);

    n -= n > 0 && type[n - 1] == '?';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, type, n) == 0) {
            *kind = kinds[i].kind;
            return 1;
        }
    }
    return 0;
}

static sluice_status need_value(struct keys *keys, struct sluice_plan *plan, uint32_t slot,
                                const char *name, int number, struct sluice_error *err)
{
    const char *found;
    const char *type;
    sluice_status status = plan->need(plan, 0, name, "", 0, &keys->columns[slot], err);

    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        status = plan->column(plan, 0, k, &found, &type);
        if (status != SLUICE_OK || found[0] == '\0') {
            type = "";
            break;
        }
        if (strcmp(found, name) == 0) {
            break;
        }
    }
    if (status == SLUICE_OK &&
        (!kind_of(type, &keys->kinds[slot]) ||
         (number && (keys->kinds[slot].number == 't' || keys->kinds[slot].number == 'b')))) {
        char message[300];
        (void)snprintf(message, sizeof message,
                       "the column '%.60s' has the type %.60s, expected %s", name,
                       type[0] == '\0' ? "of a hidden column" : type,
                       number ? "a number" : "a text, number or bool");
        return sluice_fail(err, SLUICE_E_SCHEMA, name, message);
    }
    return status;
}

static sluice_status add_columns(struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->add(plan, SLUICE_KEY, "fixed[16]", NULL, err);

    if (status == SLUICE_OK) {
        status = plan->add(plan, "rest", "uint64", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "id", "utf8", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, SLUICE_ROW, "uint64", NULL, err) : status;
}

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct keys *keys = shared;
    sluice_status status = SLUICE_OK;

    keys->n_hashed = 0;
    for (uint64_t i = 0; status == SLUICE_OK && i < keys->config->over.n; i++) {
        status = need_value(keys, plan, keys->n_hashed++, keys->config->over.items[i], 0, err);
    }
    if (status == SLUICE_OK && keys->config->within != NULL) {
        status = need_value(keys, plan, keys->n_hashed++, keys->config->within, 0, err);
    }
    if (status == SLUICE_OK && keys->config->priority != NULL) {
        status = need_value(keys, plan, keys->n_hashed, keys->config->priority, 1, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8", 0, &keys->id, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, &keys->row, err);
    }
    return status == SLUICE_OK ? add_columns(plan, err) : status;
}

/* The bytes of a value; a bool's are copied to *bit. */
static const char *value_bytes(const struct ArrowArray *array, struct value_kind kind, int64_t row,
                               char *bit, size_t *n)
{
    if (kind.number == 't') {
        return sluice_text(array, row, n);
    }
    *n = kind.width;
    if (kind.number == 'b') {
        *bit = (char)sluice_bool(array, row);
        return bit;
    }
    return (const char *)array->buffers[1] + row * kind.width;
}

/* The rank of a priority. Integers are compared as such: a double has 53 bits. */
static uint64_t value_rank(const struct ArrowArray *array, struct value_kind kind, int64_t row)
{
    const char *at = (const char *)array->buffers[1] + row * kind.width;
    uint64_t bits = 0;
    int shift = 64 - 8 * kind.width;

    if (sluice_is_null(array, row)) {
        return exact_rank(NAN);
    }
    if (kind.number == 'f' && kind.width == 4) {
        float single;
        memcpy(&single, at, sizeof single);
        return exact_rank((double)single);
    }
    if (kind.number == 'f') {
        double wide;
        memcpy(&wide, at, sizeof wide);
        return exact_rank(wide);
    }
    memcpy(&bits, at, kind.width); /* little-endian, as the format is on all machines we run on */
    if (kind.number == 'i') {
        bits = (uint64_t)((int64_t)(bits << shift) >> shift) ^ UINT64_C(1) << 63;
    }
    return exact_rank_integer(bits);
}

/* One column alone: the hash of its bytes; several: each with its length. 0 when a value is null:
 * such a row is no duplicate. */
static int hash_row(const struct keys *keys, const struct sluice_batch *batch, int64_t row,
                    XXH3_state_t *state, unsigned char hash[16])
{
    XXH128_canonical_t canonical;
    XXH128_hash_t value;
    char bit;
    size_t n;

    if (keys->n_hashed > 1) {
        XXH3_128bits_reset(state);
    }
    for (uint32_t i = 0; i < keys->n_hashed; i++) {
        const struct ArrowArray *array = batch->array->children[keys->columns[i]];
        const char *bytes;
        uint64_t length;
        if (sluice_is_null(array, row)) {
            return 0;
        }
        bytes = value_bytes(array, keys->kinds[i], row, &bit, &n);
        if (keys->n_hashed == 1) {
            value = XXH3_128bits(bytes, n);
            break;
        }
        length = n;
        XXH3_128bits_update(state, &length, sizeof length);
        XXH3_128bits_update(state, bytes, n);
    }
    if (keys->n_hashed > 1) {
        value = XXH3_128bits_digest(state);
    }
    XXH128_canonicalFromHash(&canonical, value);
    memcpy(hash, canonical.digest, 16);
    return 1;
}

static int add_key(struct sluice_rows *rows, const unsigned char hash[16], uint64_t rank,
                   const char *id, size_t id_size, uint64_t row)
{
    unsigned char key[16];
    uint64_t rest;

    exact_key_pack(hash, rank, key, &rest);
    sluice_rows_add(rows, 0, key, sizeof key);
    sluice_rows_add(rows, 1, &rest, sizeof rest);
    sluice_rows_add(rows, 2, id, id_size);
    sluice_rows_add(rows, 3, &row, sizeof row);
    return sluice_rows_next(rows);
}

static sluice_status keys_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct keys *keys = worker;
    const struct ArrowArray *ids = batch->array->children[keys->id];
    const uint64_t *numbers = batch->array->children[keys->row]->buffers[1];
    XXH3_state_t *state = XXH3_createState();
    struct sluice_rows rows = sluice_rows_begin("fftf");
    int ok = state != NULL;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        unsigned char hash[16];
        uint64_t rank = exact_rank(0);
        size_t n;
        const char *id = sluice_text(ids, row, &n);
        if (!hash_row(keys, batch, row, state, hash)) {
            continue;
        }
        if (keys->config->priority != NULL) {
            rank = value_rank(batch->array->children[keys->columns[keys->n_hashed]],
                              keys->kinds[keys->n_hashed], row);
        }
        ok = add_key(&rows, hash, rank, id, n, numbers[row]);
    }
    XXH3_freeState(state);
    return sluice_rows_emit(&rows, ok ? SLUICE_OK : sluice_nomem(err), emit, err);
}

const struct sluice_stage exact_keys_stage = {
    .size = sizeof exact_keys_stage,
    .name = "exact_keys",
    .version = "1.1",
    .bytes_per_batch = 1,
    .summary = "Content hashes for exact deduplication (part of `exact`)",
    .doc =
        "XXH3-128 of the key columns (of several, each behind its length). Documents with a null "
        "in one of them are no duplicates.",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = keys_options,
    .n_options = sizeof keys_options / sizeof keys_options[0],
    .option_stride = sizeof keys_options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = keys_open,
    .prepare = keys_prepare,
    .process = keys_process,
    .close = free,
};

/* ---- exact_index_keys ---- */

struct index_config {
    const char *rule;
};

static const struct sluice_option index_options[] = {
    { .name = "rule",
      .doc = "What the index must have been made by.",
      .def = "exact-1 over=text",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct index_config, rule) },
};

static sluice_status index_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const needed[] = { "text", "rule", "id" }; /* text: the JSON member key */
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->need(plan, 0, needed[i], "utf8?", 0, NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, NULL, err);
    }
    return status == SLUICE_OK ? add_columns(plan, err) : status;
}

/* A row that is none of this index is set aside: an index of another rule has nothing else, and
 * passes any max_bad. */
static sluice_status index_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct index_config *config = worker;
    const uint64_t *numbers = batch->array->children[3]->buffers[1];
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    struct sluice_rows rows = sluice_rows_begin("fftf");
    char bad_key[] = "bad_index_key: it is not 32 lower-case hexadecimal digits, as `exact_index` "
                     "writes them";
    char other[500];
    int64_t n_bad = 0;
    int ok = verdicts != NULL;
    sluice_status status;

    (void)snprintf(
        other, sizeof other,
        "other_index_rule: this index was made by another rule than '%.200s'; give `exact` "
        "the options that `exact_index` had, or make the index anew",
        config->rule);
    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        unsigned char hash[16];
        size_t n;
        const char *text = sluice_text(batch->array->children[0], row, &n);
        int good = exact_hex_read(text, n, hash);
        text = sluice_text(batch->array->children[1], row, &n);
        if (n != strlen(config->rule) || memcmp(text, config->rule, n) != 0 || !good) {
            sluice_judge_bad(&verdicts[k], good ? other : bad_key);
            n_bad++;
            continue;
        }
        text = sluice_text(batch->array->children[2], row, &n);
        ok = add_key(&rows, hash, 0, text, n, numbers[row]);
    }
    status = ok ? SLUICE_OK : sluice_nomem(err);
    if (ok && n_bad > 0) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    return sluice_rows_emit(&rows, status, emit, err);
}

const struct sluice_stage exact_index_keys_stage = {
    .size = sizeof exact_index_keys_stage,
    .name = "exact_index_keys",
    .version = "1.0",
    .summary = "The hashes of a persistent index of exact keys (part of `exact`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = index_options,
    .n_options = 1,
    .option_stride = sizeof index_options[0],
    .config_size = sizeof(struct index_config),
    .bytes_worker = 1 << 20,
    .open = sluice_open_config,
    .prepare = index_prepare,
    .process = index_process,
};
