/* units - a reader that reads at random: a format of its own, with an index at the end of the file.
 *
 * A file is "SLUNITS1", units, the index, the trailer; all numbers little-endian:
 *
 *     unit      uint32 rows; for each row: int64 number, uint32 size; then the texts of all rows
 *     index     for each unit: uint64 begin, uint64 size, uint64 rows, int64 least, int64 greatest
 *     trailer   name of the texts' column (32 bytes, zeros behind it), uint64 units, uint64 where
 *               the index begins, "SLUNITS1"
 *
 * Nothing but the trailer and the index is read to know what is where. With `where` units whose
 * numbers all lie outside are not read at all.
 *
 * Build it with a Makefile of one line beside it: include $(shell pkg-config --variable=pluginmk
 * sluice) */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <sluice_rows.h>
#include "text/text_utf8.h"

#define MAGIC "SLUNITS1"
#define NAME_SIZE 32
#define INDEX_SIZE 40 /* of a unit */
#define HEAD_SIZE 4   /* of a unit */
#define ROW_SIZE 12   /* of a row, without its text */
#define TRAILER_SIZE (NAME_SIZE + 24)
#define BATCH_BYTES ((uint64_t)1 << 20)

struct config {
    struct sluice_range where;
    uint8_t place;
};

static const struct sluice_option options[] = {
    { .name = "where",
      .doc = "Rows whose number lies outside are not given; units without others are not read.",
      .def = "-9e18..",
      .type = SLUICE_OPT_RANGE,
      .flags = SLUICE_OPTF_POSITIONAL,
      .offset = offsetof(struct config, where) },
    { .name = "place",
      .doc = "Says where in the file each text lies, for tracing.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, place) },
};

struct reader {
    const struct config *config;
    const struct sluice_host_api *api;
    struct sluice_host *host;
    char column[NAME_SIZE + 1]; /* of the texts */
};

struct worker {
    const struct reader *reader;
    const struct sluice_file *file; /* of the survey at hand */
    char *trailer;                  /* of it: TRAILER_SIZE bytes, once they are known */
    char *unit;                     /* what a scan goes on with */
    uint64_t size, rows, row, text; /* of the unit; the next row, and where its text begins */
    struct sluice_rows made;
};

static sluice_status fail(struct sluice_error *err, sluice_status status, const char *field,
                          const char *format, ...)
{
    char message[400];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return sluice_fail(err, status, field, message);
}

static sluice_status open_reader(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    struct reader *reader = (struct reader *)calloc(1, sizeof *reader);

    if (reader == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    reader->config = (const struct config *)config;
    reader->api = api;
    reader->host = host;
    *shared = reader;
    return SLUICE_OK;
}

/* The texts' column has the name that the first file says; "text" where there is none yet. */
static sluice_status prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct reader *reader = (struct reader *)shared;
    const char *uri = NULL;
    const void *name = NULL;
    uint64_t n = 0;
    sluice_status status = plan->described(plan, &uri, &name, &n, err);

    snprintf(reader->column, sizeof reader->column, "%.*s", name == NULL ? 4 : (int)n,
             name == NULL ? "text" : (const char *)name);
    if (status == SLUICE_OK) {
        status = plan->add(plan, "number", "int64", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, reader->column, "utf8", NULL, err);
    }
    if (status == SLUICE_OK && reader->config->place) {
        status = plan->add(plan, "_begin", "uint64", NULL, err);
        if (status == SLUICE_OK) {
            status = plan->add(plan, "_end", "uint64", NULL, err);
        }
    }
    return status;
}

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = (struct worker *)calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->reader = (const struct reader *)shared;
    worker->made = sluice_rows_begin(worker->reader->config->place ? "ftff" : "ft");
    *out = worker;
    return SLUICE_OK;
}

static void forget(struct worker *worker)
{
    const struct reader *reader = worker->reader;

    free(worker->trailer);
    reader->api->free(reader->host, worker->unit);
    worker->trailer = NULL;
    worker->unit = NULL;
}

static void worker_close(void *state)
{
    struct worker *worker = (struct worker *)state;

    forget(worker);
    sluice_rows_drop(&worker->made);
    free(worker);
}

static sluice_status ask(struct sluice_emit *emit, uint64_t offset, uint64_t n)
{
    struct sluice_extent extent = { offset, n };
    struct sluice_ask ask = { 0 };

    ask.size = sizeof ask;
    ask.kind = SLUICE_ASK_BYTES;
    ask.payload = &extent;
    ask.n = sizeof extent;
    return emit->ask(emit, &ask);
}

static uint64_t word(const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static sluice_status damaged(struct sluice_error *err, const char *what, uint64_t at)
{
    return fail(err, SLUICE_E_DATA, "",
                "%s at byte %llu is damaged, expected a file of units (" MAGIC ")", what,
                (unsigned long long)at);
}

/* ---- the survey: the trailer, then the index ---- */

static sluice_status survey(void *state, const struct sluice_file *file, struct sluice_emit *emit,
                            struct sluice_error *err)
{
    struct worker *worker = (struct worker *)state;

    forget(worker);
    worker->file = file;
    if (file->bytes < sizeof MAGIC - 1 + TRAILER_SIZE) {
        return damaged(err, "the end of the file", file->bytes);
    }
    return ask(emit, file->bytes - TRAILER_SIZE, TRAILER_SIZE);
}

static sluice_status survey_trailer(struct worker *worker, const char *data,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t begin = worker->file->bytes - TRAILER_SIZE;
    uint64_t n = word(data + NAME_SIZE);
    uint64_t index = word(data + NAME_SIZE + 8);

    if (memcmp(data + NAME_SIZE + 16, MAGIC, 8) != 0 || data[0] == '\0' || index > begin ||
        n != (begin - index) / INDEX_SIZE || (begin - index) % INDEX_SIZE != 0) {
        return damaged(err, "the trailer", begin);
    }
    worker->trailer = (char *)malloc(TRAILER_SIZE);
    if (worker->trailer == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    memcpy(worker->trailer, data, TRAILER_SIZE);
    return ask(emit, index, begin - index);
}

static sluice_status survey_index(struct worker *worker, const char *data, uint64_t n,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    const struct sluice_range *where = &worker->reader->config->where;
    uint64_t index = word(worker->trailer + NAME_SIZE + 8);
    uint64_t behind = sizeof MAGIC - 1;
    uint64_t k;
    sluice_status status = SLUICE_OK;

    for (k = 0; k < n / INDEX_SIZE && status == SLUICE_OK; k++) {
        const char *at = data + k * INDEX_SIZE;
        struct sluice_unit unit = { 0 };
        uint64_t size = word(at + 8);
        uint64_t rows = word(at + 16);
        unit.size = sizeof unit;
        unit.begin = word(at);
        if (unit.begin < behind || unit.begin > index || size == 0 || size > index - unit.begin ||
            rows > size / ROW_SIZE) {
            return damaged(err, "the index", index + k * INDEX_SIZE);
        }
        unit.end = behind = unit.begin + size;
        unit.rows = (int64_t)rows;
        if ((double)(int64_t)word(at + 32) < where->lo ||
            (double)(int64_t)word(at + 24) > where->hi) {
            unit.skip = "min_max";
        }
        status = emit->unit(emit, &unit);
    }
    return status != SLUICE_OK
               ? status
               : emit->describe(emit, worker->trailer, strnlen(worker->trailer, NAME_SIZE));
}

/* ---- a unit: all of its bytes, then a batch a call ---- */

static sluice_status give_rows(struct worker *worker, struct sluice_scan *scan,
                               struct sluice_emit *emit, struct sluice_error *err)
{
    const struct sluice_range *where = &worker->reader->config->where;
    uint64_t given = 0;
    uint64_t outside = 0;
    sluice_status status = SLUICE_OK;

    while (worker->row < worker->rows && given < BATCH_BYTES && status == SLUICE_OK) {
        const char *row = worker->unit + HEAD_SIZE + worker->row * ROW_SIZE;
        int64_t number = (int64_t)word(row);
        uint64_t begin = scan->begin + worker->text;
        uint64_t end;
        size_t bad;
        uint32_t size;
        memcpy(&size, row + 8, sizeof size);
        if (size > worker->size - worker->text) {
            return damaged(err, "a row", scan->begin + HEAD_SIZE + worker->row * ROW_SIZE);
        }
        end = begin + size;
        if ((double)number < where->lo || (double)number > where->hi) {
            outside++;
        } else if (!text_utf8_valid(worker->unit + worker->text, size, &bad)) {
            status = emit->bad(emit, begin, end, "invalid_utf8", NULL);
        } else {
            sluice_rows_add(&worker->made, 0, &number, sizeof number);
            sluice_rows_add(&worker->made, 1, worker->unit + worker->text, size);
            if (worker->reader->config->place) {
                sluice_rows_add(&worker->made, 2, &begin, sizeof begin);
                sluice_rows_add(&worker->made, 3, &end, sizeof end);
            }
            sluice_rows_next(&worker->made);
        }
        worker->text += size;
        worker->row++;
        given += ROW_SIZE + size;
    }
    if (status == SLUICE_OK && outside > 0) {
        status = emit->skipped(emit, outside, 0, "where");
    }
    scan->more = worker->row < worker->rows;
    return sluice_rows_emit(&worker->made, status, emit, err);
}

/* The unit's bytes are lent for this call only, and there may be more rows than go into one. */
static sluice_status scan_begin(struct worker *worker, const struct sluice_scan *scan,
                                const char *data, uint64_t n, struct sluice_error *err)
{
    const struct reader *reader = worker->reader;
    uint32_t rows = 0;

    if (n >= HEAD_SIZE) {
        memcpy(&rows, data, HEAD_SIZE);
    }
    if (n < HEAD_SIZE + (uint64_t)rows * ROW_SIZE) {
        return damaged(err, "a unit", scan->begin);
    }
    forget(worker);
    worker->unit = (char *)reader->api->alloc(reader->host, n);
    if (worker->unit == NULL) {
        return fail(err, SLUICE_E_NOMEM, "", "a unit of %llu bytes does not fit in memory",
                    (unsigned long long)n);
    }
    memcpy(worker->unit, data, n);
    worker->size = n;
    worker->row = 0;
    worker->rows = rows;
    worker->text = HEAD_SIZE + (uint64_t)rows * ROW_SIZE;
    return SLUICE_OK;
}

static sluice_status scan(void *state, struct sluice_scan *scan, struct sluice_emit *emit,
                          struct sluice_error *err)
{
    struct worker *worker = (struct worker *)state;
    const char *column = worker->reader->column;

    if (scan->description_size != strlen(column) ||
        memcmp(scan->description, column, strlen(column)) != 0) {
        return fail(err, SLUICE_E_DATA, column,
                    "its texts are in the column '%.*s', those of the first file in '%s'; "
                    "read the files apart",
                    (int)scan->description_size, (const char *)scan->description, column);
    }
    return scan->call > 0 ? give_rows(worker, scan, emit, err)
                          : ask(emit, scan->begin, scan->end - scan->begin);
}

/* ---- answers ---- */

static sluice_status resume(void *state, const struct sluice_answers *answers,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = (struct worker *)state;
    const struct sluice_answer *answer = answers->items;
    sluice_status status;

    if (answers->scan == NULL) {
        return worker->trailer == NULL ? survey_trailer(worker, answer->data, emit, err)
                                       : survey_index(worker, answer->data, answer->n, emit, err);
    }
    status = scan_begin(worker, answers->scan, answer->data, answer->n, err);
    return status == SLUICE_OK ? give_rows(worker, answers->scan, emit, err) : status;
}

static const struct sluice_stage read_units = {
    .size = sizeof read_units,
    .name = "read_units",
    .version = "1.0",
    .summary = "Files of units with an index at their end",
    .doc =
        "Columns: `number`, and the texts under the name that the file says (`text`). Texts that "
        "are not UTF-8 are quarantined: invalid_utf8.",
    .example = "s.files \"parts/*.units\" | s.read_units { where = \"100..200\" }",
    .role = SLUICE_ROLE_READER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .cut = "own",
    .bytes_worker = 4 << 20,
    .open = open_reader,
    .prepare = prepare,
    .worker_open = worker_open,
    .worker_close = worker_close,
    .close = free,
    .bytes_per_batch = 3,
    .resume = resume,
    .survey = survey,
    .scan = scan,
};

static const struct sluice_stage *const stages[] = { &read_units, NULL };
static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .abi_minor_needed = 1, /* asks */
    .verdict_stride = sizeof(struct sluice_verdict),
    .name = "example_units",
    .version = "1.0",
    .license = "MIT",
    .stages = stages,
};

SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
