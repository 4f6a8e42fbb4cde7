/* read_text - plain text: a document a file, or the pieces of a file between separators.
 *
 * Keeps nothing between chunks: a piece that is not complete is left unconsumed and presented again
 * with more. */
#include <sluice_rows.h>
#include <stdbool.h>
#include <stdio.h>

#include "text/text_utf8.h"
#include "sluice_simple.h"

#define BATCH_BYTES (4u << 20) /* of text, in an emitted batch */
#define RECORD_MAX ((uint64_t)1 << 30)

struct config {
    const char *separator;
    uint8_t strip;
};

static const struct sluice_option options[] = {
    { .name = "separator",
      .doc = "Text between two documents of a file, such as \"\\n\\n\\n\"; empty: a file is one "
             "document.",
      .def = "",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_POSITIONAL,
      .offset = offsetof(struct config, separator) },
    { .name = "strip",
      .doc = "Take ASCII white space off both ends of a document.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, strip) },
};

struct stage {
    const char *separator;
    size_t separator_n;
    bool strip;
};

/* Records that are not yet emitted. */
struct worker {
    const struct stage *stage;
    struct sluice_rows rows;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for documents");
}

static sluice_status read_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    struct stage *stage = calloc(1, sizeof *stage);

    (void)api;
    (void)host;
    if (stage == NULL) {
        return nomem(err);
    }
    stage->separator = config->separator != NULL ? config->separator : "";
    stage->separator_n = strlen(stage->separator);
    stage->strip = config->strip != 0;
    *shared = stage;
    return SLUICE_OK;
}

static void read_close(void *shared)
{
    free(shared);
}

static sluice_status read_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[][2] = {
        { "text", "utf8" }, { "id", "utf8" }, { SLUICE_BEGIN, "uint64" }, { SLUICE_END, "uint64" }
    };
    sluice_status status = SLUICE_OK;

    (void)shared;
    for (size_t k = 0; status == SLUICE_OK && k < sizeof columns / sizeof columns[0]; k++) {
        status = plan->add(plan, columns[k][0], columns[k][1], NULL, err);
    }
    return status;
}

/* ---- records ---- */

static sluice_status give(struct worker *worker, struct sluice_emit *emit, struct sluice_error *err)
{
    sluice_status status = sluice_rows_emit(&worker->rows, SLUICE_OK, emit, NULL);

    if (status == SLUICE_E_NOMEM) {
        return nomem(err);
    }
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused documents");
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static sluice_status add_record(struct worker *worker, const struct sluice_chunk *chunk,
                                const char *p, size_t n, struct sluice_emit *emit,
                                struct sluice_error *err)
{
    uint64_t begin = chunk->offset + (uint64_t)(p - chunk->data);
    uint64_t end = begin + n;
    const char *text = p;
    char number[24];
    int digits = 0;
    size_t bad_at;

    while (worker->stage->strip && n > 0 && is_space(text[n - 1])) {
        n--;
    }
    while (worker->stage->strip && n > 0 && is_space(text[0])) {
        text++;
        n--;
    }
    if (n == 0) {
        return SLUICE_OK;
    }
    if (n > RECORD_MAX || !text_utf8_valid(text, n, &bad_at)) {
        char detail[120];
        sluice_status status;
        if (n > RECORD_MAX) {
            snprintf(detail, sizeof detail, "%zu bytes, at most %llu are possible", n,
                     (unsigned long long)RECORD_MAX);
            status = emit->bad(emit, begin, end, "record_too_long", detail);
        } else {
            snprintf(detail, sizeof detail,
                     "byte 0x%02x at %llu of the file's decoded bytes is not UTF-8",
                     (unsigned char)text[bad_at],
                     (unsigned long long)(chunk->offset + (uint64_t)(text - chunk->data) + bad_at));
            status = emit->bad(emit, begin, end, "invalid_utf8", detail);
        }
        return status == SLUICE_OK ? SLUICE_OK
                                   : sluice_fail(err, status, "", "the host refused a bad record");
    }
    if (worker->rows.data[0].size + n > RECORD_MAX) {
        sluice_status status = give(worker, emit, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (worker->stage->separator_n > 0) {
        digits = snprintf(number, sizeof number, ":%llu", (unsigned long long)begin);
    }
    sluice_rows_add(&worker->rows, 0, text, n);
    sluice_rows_part(&worker->rows, 1, chunk->uri, strlen(chunk->uri));
    sluice_rows_add(&worker->rows, 1, number, (size_t)digits);
    sluice_rows_add(&worker->rows, 2, &begin, sizeof begin);
    sluice_rows_add(&worker->rows, 3, &end, sizeof end);
    if (!sluice_rows_next(&worker->rows)) {
        return nomem(err);
    }
    return worker->rows.data[0].size >= BATCH_BYTES ? give(worker, emit, err) : SLUICE_OK;
}

static sluice_status read_read(void *state, struct sluice_chunk *chunk, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;
    const char *p = chunk->data;
    const char *end = p + chunk->n;
    bool last = (chunk->flags & SLUICE_CHUNK_LAST) != 0;
    sluice_status status = SLUICE_OK;

    /* A byte order mark is no text. Fewer bytes than it has wait for more. (A chunk that is
     * presented again is not the FIRST one.) */
    if (chunk->offset == 0 && chunk->n < 3 && !last) {
        chunk->consumed = 0;
        return SLUICE_OK;
    }
    if (chunk->offset == 0 && chunk->n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
    }
    while (status == SLUICE_OK && stage->separator_n > 0) {
        const char *stop = memmem(p, (size_t)(end - p), stage->separator, stage->separator_n);
        if (stop == NULL) {
            break;
        }
        status = add_record(worker, chunk, p, (size_t)(stop - p), emit, err);
        p = stop + stage->separator_n;
    }
    if (status == SLUICE_OK && last && p < end) {
        status = add_record(worker, chunk, p, (size_t)(end - p), emit, err);
        p = end;
    }
    chunk->consumed = (uint64_t)(p - chunk->data);
    return status == SLUICE_OK ? give(worker, emit, err) : status;
}

/* ---- life ---- */

static sluice_status read_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return nomem(err);
    }
    worker->stage = shared;
    worker->rows = sluice_rows_begin("ttff");
    *out = worker;
    return SLUICE_OK;
}

static void read_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_rows_drop(&worker->rows);
    free(worker);
}

static const struct sluice_stage read_text_stage = {
    .size = sizeof read_text_stage,
    .name = "read_text",
    .version = "1.0",
    .bytes_per_batch = 3,
    .summary = "Plain text: a document a file, or the pieces between separators",
    .doc = "Columns: `text` and `id` (the file, with :OFFSET behind it when there is a separator). "
           "Empty documents are skipped, and so is a byte order mark. "
           "Documents that are not UTF-8 are quarantined: invalid_utf8, record_too_long.",
    .example =
        "s.files \"books/*.txt.zst\" | s.read_text { separator = \"\\n\\n\\n\", strip = true }",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .cut = "none",
    .bytes_worker = 16 << 20,
    .open = read_open,
    .prepare = read_prepare,
    .worker_open = read_worker_open,
    .read = read_read,
    .worker_close = read_worker_close,
    .close = read_close,
};

SLUICE_PLUGIN("read_text", "1.0", "MIT", &read_text_stage);
