/* dolma_line_keys - the lines of documents and of attribute files by their file, for the exchange;
 * and the objects that the stages of the join make. See attribute_lines.h. */
#include <sluice_state.h>

#include "attribute_lines.h"

#include <sluice_stage.h>

#define XXH_INLINE_ALL
#include <jansson.h>
#include <stdio.h>
#include <xxhash.h>

#include "dolma.h"

/* ---- objects ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What stands between the braces of an object. */
static const char *inside(const char *text, size_t *n)
{
    const char *end = text + *n;

    while (text < end && is_space(*text)) {
        text++;
    }
    while (end > text && is_space(end[-1])) {
        end--;
    }
    for (text++, end--; text < end && is_space(*text); text++) {
    }
    while (end > text && is_space(end[-1])) {
        end--;
    }
    *n = (size_t)(end - text);
    return text;
}

/* The objects in one, of which some share a name: their numbers are written anew. */
static bool merge_values(json_t **values, size_t n, struct sluice_bytes *out)
{
    json_t *all = json_object();
    char *text = NULL;
    bool ok = all != NULL;

    for (size_t k = 0; ok && k < n; k++) {
        ok = json_object_update(all, values[k]) == 0;
    }
    if (ok) {
        text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
        ok = text != NULL && sluice_bytes_add(out, text, strlen(text));
    }
    free(text);
    json_decref(all);
    return ok;
}

static bool share_name(json_t **values, size_t n)
{
    const char *name;
    json_t *value;

    for (size_t k = 1; k < n; k++) {
        json_object_foreach(values[k], name, value)
        {
            for (size_t before = 0; before < k; before++) {
                if (json_object_get(values[before], name) != NULL) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The objects one behind the other: no two share a name. */
static bool merge_texts(const char *const *objects, const size_t *sizes, size_t n,
                        struct sluice_bytes *out)
{
    bool first = true;
    bool ok = sluice_bytes_add(out, "{", 1);

    for (size_t k = 0; ok && k < n; k++) {
        size_t length = sizes[k];
        const char *members = inside(objects[k], &length);
        if (length > 0) {
            ok = (first || sluice_bytes_add(out, ",", 1)) && sluice_bytes_add(out, members, length);
            first = false;
        }
    }
    return ok && sluice_bytes_add(out, "}", 1);
}

bool line_objects_merge(const char *const *objects, const size_t *sizes, size_t n,
                        struct sluice_bytes *out)
{
    json_t **values = n > 1 ? calloc(n, sizeof *values) : NULL;
    bool readable = true;
    bool ok;

    if (n > 1 && values == NULL) {
        return false;
    }
    for (size_t k = 0; n > 1 && k < n; k++) {
        values[k] = json_loadb(objects[k], sizes[k], JSON_ALLOW_NUL, NULL);
        readable = readable && json_is_object(values[k]);
    }
    ok = n > 1 && readable && share_name(values, n) ? merge_values(values, n, out)
                                                    : merge_texts(objects, sizes, n, out);
    for (size_t k = 0; n > 1 && k < n; k++) {
        json_decref(values[k]);
    }
    free(values);
    return ok;
}

/* ---- dolma_line_keys ---- */

#define BY_MOST 16

struct config {
    struct sluice_list by;
    int64_t from;
    uint8_t aligned;
};

static const struct sluice_option options[] = {
    { .name = "by",
      .doc = "Columns of parts of paths that name a file, the same for documents and attributes; "
             "{dir**} in a pattern is the column of all folders between.",
      .def = "file",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, by) },
    { .name = "from",
      .doc = "Whose lines: 0 = those of the documents, k = those of the k-th attribute files.",
      .def = "0",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1000,
      .offset = offsetof(struct config, from) },
    { .name = "aligned",
      .doc = "A row of the input that is missing, dropped or set aside on the way, ends the run.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, aligned) },
};

struct keys {
    const struct config *config;
    int32_t by[BY_MOST];
    int32_t id, row, attributes;
};

struct worker {
    const struct keys *keys;
    uint64_t next; /* the row that must come */
    struct sluice_bytes name;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for lines of attributes");
}

static sluice_status keys_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;

    (void)api;
    (void)host;
    if (config->by.n == 0 || config->by.n > BY_MOST) {
        return sluice_fail(err, SLUICE_E_CONFIG, "by",
                           "expected 1 to 16 columns that name a file, such as by = \"file\" with "
                           "s.files \"documents/{file}.json.gz\"");
    }
    return sluice_shared_new(config, sizeof(struct keys), shared, err);
}

static sluice_status keys_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const added[][2] = { { SLUICE_KEY, "fixed[16]" }, { "from", "uint64" },
                                            { "file", "utf8" },          { "id", "utf8" },
                                            { "line", "json" },          { SLUICE_ROW, "uint64" } };
    struct keys *keys = shared;
    sluice_status status = SLUICE_OK;

    keys->attributes = -1;
    for (uint64_t k = 0; status == SLUICE_OK && k < keys->config->by.n; k++) {
        status = plan->need(plan, 0, keys->config->by.items[k], "utf8?", 0, &keys->by[k], err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "id", "utf8?", 0, &keys->id, err);
    }
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 0, &keys->row, err);
    }
    if (status == SLUICE_OK && keys->config->from > 0) {
        status = plan->need(plan, 0, "attributes", "json|json?", 0, &keys->attributes, err);
    }
    for (int i = 0; status == SLUICE_OK && i < 6; i++) {
        status = plan->add(plan, added[i][0], added[i][1], NULL, err);
    }
    return status;
}

/* The file's name: parts joined by "/", without those that are empty or that a pattern lacks. */
static int file_name(const struct keys *keys, const struct sluice_batch *batch, int64_t row,
                     struct sluice_bytes *out)
{
    int ok = 1;

    out->size = 0;
    for (uint64_t k = 0; ok && k < keys->config->by.n; k++) {
        size_t n;
        const char *part = sluice_text(batch->array->children[keys->by[k]], row, &n);
        ok = n == 0 ||
             ((out->size == 0 || sluice_bytes_add(out, "/", 1)) && sluice_bytes_add(out, part, n));
    }
    return ok;
}

static sluice_status keys_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void keys_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->name);
    free(worker);
}

static sluice_status check_rows(struct worker *worker, const struct sluice_batch *batch,
                                struct sluice_error *err)
{
    char message[300];

    for (int64_t k = 0; k < batch->n; k++) {
        uint64_t number =
            sluice_uint64(batch->array->children[worker->keys->row], sluice_row(batch, k));
        if (number != worker->next && worker->keys->config->aligned != 0) {
            snprintf(message, sizeof message,
                     "row %llu of the input is missing before row %llu: attribute files have a "
                     "line for each document; join and write them before any filter",
                     (unsigned long long)worker->next, (unsigned long long)number);
            return sluice_fail(err, SLUICE_E_SCHEMA, "", message);
        }
        worker->next = number + 1;
    }
    return SLUICE_OK;
}

static sluice_status keys_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct keys *keys = worker->keys;
    const uint64_t from = (uint64_t)keys->config->from;
    struct sluice_rows rows = sluice_rows_begin("fftttf");
    sluice_status status = check_rows(worker, batch, err);
    int ok = 1;

    if (status != SLUICE_OK) {
        return status;
    }
    for (int64_t k = 0; ok && k < batch->n; k++) {
        int64_t row = sluice_row(batch, k);
        uint64_t number = sluice_uint64(batch->array->children[keys->row], row);
        XXH128_canonical_t key;
        size_t id_n;
        size_t line_n = 4;
        const char *id = sluice_text(batch->array->children[keys->id], row, &id_n);
        const char *line = "null";
        if (keys->attributes >= 0 &&
            !sluice_is_null(batch->array->children[keys->attributes], row)) {
            line = sluice_text(batch->array->children[keys->attributes], row, &line_n);
        }
        ok = file_name(keys, batch, row, &worker->name);
        if (!ok) {
            break;
        }
        XXH128_canonicalFromHash(&key, XXH3_128bits(worker->name.data, worker->name.size));
        sluice_rows_add(&rows, 0, key.digest, 16);
        sluice_rows_add(&rows, 1, &from, 8);
        sluice_rows_add(&rows, 2, worker->name.data, worker->name.size);
        sluice_rows_add(&rows, 3, id, id_n);
        sluice_rows_add(&rows, 4, line, line_n);
        sluice_rows_add(&rows, 5, &number, 8);
        ok = sluice_rows_next(&rows);
    }
    return sluice_rows_emit(&rows, ok ? SLUICE_OK : nomem(err), emit, err);
}

static void keys_close(void *shared)
{
    free(shared);
}

static sluice_status keys_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    const uint64_t head[1] = { worker->next };

    (void)err;
    return io->write(io, head, sizeof head);
}

static sluice_status keys_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t head[1] = { 0 };
    sluice_status status = io->read(io, head, sizeof head);

    (void)version;
    (void)err;
    worker->next = head[0];
    return status;
}

const struct sluice_stage dolma_line_keys_stage = {
    .size = sizeof dolma_line_keys_stage,
    .name = "dolma_line_keys",
    .version = "1.1",
    .summary = "Lines of documents or attribute files by their file (part of `dolma_join`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = keys_open,
    .prepare = keys_prepare,
    .worker_open = keys_worker_open,
    .process = keys_process,
    .save = keys_save,
    .load = keys_load,
    .state_version = 1,
    .worker_close = keys_worker_close,
    .close = keys_close,
};
