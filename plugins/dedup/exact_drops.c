/* exact_drops: of the rows with one hash, sorted by rank and position, all but the first, or the
 * first few, are listed to be dropped. exact_index_rows: the first row of each hash, as a
 * persistent index holds it. */
#include <stdio.h>

#include "dedup.h"
#include "exact_key.h"

static const char of_index[8] = { 0 }; /* the rank of an index's rows */

/* The hashes that share the high 8 bytes of the last row, and who stays of each: almost always
 * one. */
struct survivor {
    uint64_t rest;
    char rank[8];
    int from_index, clustered;
    uint64_t n; /* rows so far */
    char *id;   /* owned */
    size_t size;
};

struct group {
    char high[8];
    int begun;
    struct survivor *survivors;
    size_t n, capacity;
};

static void group_empty(struct group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        free(group->survivors[i].id);
    }
    group->n = 0;
}

/* The survivor of a row's hash; *first: this row is it. NULL without memory. */
static struct survivor *group_meet(struct group *group, const char *key, uint64_t rest,
                                   const char *id, size_t size, int *first)
{
    struct survivor *survivor;

    *first = 0;
    if (!group->begun || memcmp(group->high, key, 8) != 0) {
        group_empty(group);
        memcpy(group->high, key, 8);
        group->begun = 1;
    }
    for (size_t i = 0; i < group->n; i++) {
        if (group->survivors[i].rest == rest) {
            group->survivors[i].n++;
            return &group->survivors[i];
        }
    }
    if (group->n == group->capacity) {
        size_t capacity = group->capacity * 2 + 4;
        struct survivor *grown = realloc(group->survivors, capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        group->survivors = grown;
        group->capacity = capacity;
    }
    survivor = &group->survivors[group->n];
    *survivor = (struct survivor){ .rest = rest, .n = 1, .size = size, .id = malloc(size + 1) };
    if (survivor->id == NULL) {
        return NULL;
    }
    if (size > 0) {
        memcpy(survivor->id, id, size);
    }
    memcpy(survivor->rank, key + 8, sizeof survivor->rank);
    survivor->from_index = memcmp(key + 8, of_index, sizeof of_index) == 0;
    group->n++;
    *first = 1;
    return survivor;
}

static sluice_status group_save(const struct group *group, struct sluice_io *io)
{
    uint64_t head[2] = { (uint64_t)group->begun, group->n };
    sluice_status status = io->write(io, head, sizeof head);

    if (status == SLUICE_OK) {
        status = io->write(io, group->high, sizeof group->high);
    }
    for (size_t i = 0; status == SLUICE_OK && i < group->n; i++) {
        const struct survivor *survivor = &group->survivors[i];
        uint64_t words[4] = { survivor->rest, (uint64_t)survivor->from_index,
                              (uint64_t)survivor->clustered, survivor->n };
        status = io->write(io, words, sizeof words);
        if (status == SLUICE_OK) {
            status = io->write(io, survivor->rank, sizeof survivor->rank);
        }
        if (status == SLUICE_OK) {
            status = sluice_state_put(io, survivor->id, survivor->size);
        }
    }
    return status;
}

static sluice_status group_load(struct group *group, struct sluice_io *io)
{
    struct sluice_bytes id = { 0 };
    char key[16];
    uint64_t head[2] = { 0, 0 };
    sluice_status status = io->read(io, head, sizeof head);

    if (status == SLUICE_OK) {
        status = io->read(io, key, 8);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < head[1]; i++) {
        uint64_t words[4] = { 0, 0, 0, 0 };
        status = io->read(io, words, sizeof words);
        if (status == SLUICE_OK) {
            status = io->read(io, key + 8, 8);
        }
        if (status == SLUICE_OK) {
            status = sluice_state_get(io, 1, &id);
        }
        if (status == SLUICE_OK) {
            int first;
            struct survivor *survivor = group_meet(group, key, words[0], id.data, id.size, &first);
            status = survivor == NULL ? SLUICE_E_NOMEM : first ? SLUICE_OK : SLUICE_E_DATA;
            if (status == SLUICE_OK) {
                survivor->from_index = words[1] != 0;
                survivor->clustered = words[2] != 0;
                survivor->n = words[3];
            }
        }
    }
    if (status == SLUICE_OK) {
        memcpy(group->high, key, 8);
        group->begun = head[0] != 0;
    }
    sluice_bytes_free(&id);
    return status;
}

struct drops_config {
    uint8_t against_only;
    int32_t ties;
    int64_t most;
};

static const struct sluice_option drops_options[] = {
    { .name = "against_only",
      .doc = "Only duplicates of an index's rows are dropped, not those among the documents.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct drops_config, against_only) },
    { .name = "ties",
      .doc = "Of rows with one hash and one rank the first stays, or they end the run.",
      .def = "first",
      .choices = "first|fail",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct drops_config, ties) },
    { .name = "most",
      .doc =
          "Rows of one hash that stay. Above 1 the column similarity has the dropped row's number "
          "among those of its hash.",
      .def = "1",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1e15,
      .offset = offsetof(struct drops_config, most) },
};

struct worker {
    const struct drops_config *config;
    struct group group;
};

static sluice_status drops_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void drops_worker_close(void *state)
{
    struct worker *worker = state;

    group_empty(&worker->group);
    free(worker->group.survivors);
    free(worker);
}

static sluice_status need_keys(struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[][2] = { { SLUICE_KEY, "fixed[16]" },
                                              { "rest", "uint64" },
                                              { "id", "utf8" },
                                              { SLUICE_POS, "uint64" } };
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 0, columns[i][0], columns[i][1], 0, NULL, err);
    }
    return status;
}

static sluice_status drops_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[][2] = { { SLUICE_POS, "uint64" },
                                              { "dup_of", "utf8" },
                                              { "similarity", "float64" } };
    sluice_status status = need_keys(plan, err);

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->add(plan, columns[i][0], columns[i][1], NULL, err);
    }
    return status;
}

/* Which of two rows is the later one nobody can tell. */
static sluice_status tied(const struct survivor *survivor, const char *id, size_t size,
                          struct sluice_error *err)
{
    char message[400];

    (void)snprintf(message, sizeof message,
                   "the rows '%.*s' and '%.*s' have one key and the same place in the order, so "
                   "that nobody can tell which came later; order them by a column that tells them "
                   "apart, or take out what comes twice (s.exact)",
                   (int)(survivor->size < 100 ? survivor->size : 100), survivor->id,
                   (int)(size < 100 ? size : 100), id);
    return sluice_fail(err, SLUICE_E_CONFIG, "", message);
}

static sluice_status drops_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const char *keys = batch->array->children[0]->buffers[1];
    const uint64_t *rests = batch->array->children[1]->buffers[1];
    const uint64_t *positions = batch->array->children[3]->buffers[1];
    const uint64_t most = (uint64_t)worker->config->most;
    struct sluice_rows rows = sluice_rows_begin("ftf");
    int64_t clusters = 0;
    int ok = 1;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        const char *key = keys + 16 * row;
        size_t size;
        const char *id = sluice_text(batch->array->children[2], row, &size);
        int first;
        struct survivor *survivor = group_meet(&worker->group, key, rests[row], id, size, &first);
        ok = survivor != NULL;
        double value;
        if (!ok || first || survivor->n <= most || memcmp(key + 8, of_index, 8) == 0 ||
            (worker->config->against_only && !survivor->from_index)) {
            continue;
        }
        if (worker->config->ties == 1 && memcmp(survivor->rank, key + 8, 8) == 0) {
            sluice_rows_drop(&rows);
            return tied(survivor, id, size, err);
        }
        clusters += most == 1 && !survivor->clustered;
        survivor->clustered = 1;
        sluice_rows_add(&rows, 0, &positions[row], 8);
        sluice_rows_add(&rows, 1, survivor->id, survivor->size);
        value = most > 1 ? (double)survivor->n : 1;
        sluice_rows_add(&rows, 2, &value, 8);
        ok = sluice_rows_next(&rows);
    }
    if (ok && clusters > 0 && emit->measure(emit, "clusters", clusters) != SLUICE_OK) {
        ok = 0;
    }
    return sluice_rows_emit(&rows, ok ? SLUICE_OK : sluice_nomem(err), emit, err);
}

static sluice_status drops_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return group_save(&((const struct worker *)state)->group, io);
}

static sluice_status drops_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    (void)version;
    (void)err;
    return group_load(&((struct worker *)state)->group, io);
}

const struct sluice_stage exact_drops_stage = {
    .size = sizeof exact_drops_stage,
    .name = "exact_drops",
    .version = "1.2",
    .summary = "All but the first rows of equal hash (part of `exact` and `per_key`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = drops_options,
    .n_options = sizeof drops_options / sizeof drops_options[0],
    .option_stride = sizeof drops_options[0],
    .config_size = sizeof(struct drops_config),
    .bytes_worker = 1 << 20,
    .open = sluice_open_config,
    .prepare = drops_prepare,
    .worker_open = drops_worker_open,
    .process = drops_process,
    .save = drops_save,
    .load = drops_load,
    .state_version = 3,
    .worker_close = drops_worker_close,
};

/* ---- exact_index_rows ---- */

struct rows_config {
    const char *rule;
};

static const struct sluice_option rows_options[] = {
    { .name = "rule",
      .doc = "What the hashes were made by; every row says it.",
      .def = "exact-1 over=text",
      .type = SLUICE_OPT_STRING,
      .offset = offsetof(struct rows_config, rule) },
};

struct rows_worker {
    const struct rows_config *config;
    struct group group;
};

static sluice_status rows_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[] = { "key", "id", "rule" };
    sluice_status status = need_keys(plan, err);

    (void)shared;
    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        status = plan->add(plan, columns[i], "utf8", NULL, err);
    }
    return status;
}

static sluice_status rows_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct rows_worker *worker = state;
    const char *keys = batch->array->children[0]->buffers[1];
    const uint64_t *rests = batch->array->children[1]->buffers[1];
    struct sluice_rows rows = sluice_rows_begin("ttt");
    int ok = 1;

    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        unsigned char hash[16];
        char hex[EXACT_HEX];
        size_t size;
        const char *id = sluice_text(batch->array->children[2], row, &size);
        int first;
        ok = group_meet(&worker->group, keys + 16 * row, rests[row], id, size, &first) != NULL;
        if (!ok || !first) {
            continue;
        }
        memcpy(hash, keys + 16 * row, 8);
        for (int i = 0; i < 8; i++) {
            hash[8 + i] = (unsigned char)(rests[row] >> (56 - 8 * i));
        }
        exact_hex_write(hash, hex);
        sluice_rows_add(&rows, 0, hex, sizeof hex);
        sluice_rows_add(&rows, 1, id, size);
        sluice_rows_add(&rows, 2, worker->config->rule, strlen(worker->config->rule));
        ok = sluice_rows_next(&rows);
    }
    return sluice_rows_emit(&rows, ok ? SLUICE_OK : sluice_nomem(err), emit, err);
}

static sluice_status rows_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct rows_worker), out, err);
}

static void rows_worker_close(void *state)
{
    struct rows_worker *worker = state;

    group_empty(&worker->group);
    free(worker->group.survivors);
    free(worker);
}

static sluice_status rows_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return group_save(&((const struct rows_worker *)state)->group, io);
}

static sluice_status rows_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    (void)version;
    (void)err;
    return group_load(&((struct rows_worker *)state)->group, io);
}

const struct sluice_stage exact_index_rows_stage = {
    .size = sizeof exact_index_rows_stage,
    .name = "exact_index_rows",
    .version = "1.0",
    .summary = "The rows of a persistent index of exact keys (part of `exact_index`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_KEYED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = rows_options,
    .n_options = 1,
    .option_stride = sizeof rows_options[0],
    .config_size = sizeof(struct rows_config),
    .bytes_worker = 1 << 20,
    .open = sluice_open_config,
    .prepare = rows_prepare,
    .worker_open = rows_worker_open,
    .process = rows_process,
    .save = rows_save,
    .load = rows_load,
    .state_version = 2,
    .worker_close = rows_worker_close,
};
