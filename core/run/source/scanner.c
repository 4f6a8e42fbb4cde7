/* Units of a split: see scanner.h. */
#include "run/source/scanner.h"

#include <inttypes.h>
#include <stdlib.h>

struct scanner {
    const struct source_file *files;
    const struct split *split;
    struct scanner_options options;
    struct fetch fetch;
    struct hasher *hasher;
    size_t range; /* index in split */
    bool opened;  /* the range */
    const struct survey *survey;
    struct survey_cursor cursor;
    bool whole; /* "sync": the range was read */
    /* The unit at hand */
    bool in_unit;
    struct sluice_file file;
    struct sluice_scan scan;
    struct survey_unit unit;
    uint64_t rows;
    uint64_t raw; /* of files that are closed, and of surveys */
};

sluice_status scanner_open(const struct source_file *files, const struct split *split,
                           const struct scanner_options *options, struct scanner **out,
                           struct sluice_error *err)
{
    struct scanner *scanner = calloc(1, sizeof *scanner);

    *out = scanner;
    if (scanner == NULL || (options->digest && (scanner->hasher = hasher_create()) == NULL)) {
        free(scanner);
        *out = NULL;
        return error_nomem(err, "an input split");
    }
    scanner->files = files;
    scanner->split = split;
    scanner->options = *options;
    scanner->fetch = (struct fetch){ .worker = options->worker,
                                     .hasher = scanner->hasher,
                                     .hold = options->hold,
                                     .meter = options->meter,
                                     .cancelled = options->cancelled,
                                     .ctx = options->ctx };
    return SLUICE_OK;
}

static const struct split_range *range_of(const struct scanner *scanner)
{
    return &scanner->split->ranges[scanner->range];
}

static const struct source_file *file_of(const struct scanner *scanner)
{
    return &scanner->files[range_of(scanner)->file];
}

static void range_close(struct scanner *scanner)
{
    if (!scanner->opened) {
        return;
    }
    if (scanner->fetch.file != NULL) {
        scanner->raw += extents_bytes(scanner->fetch.file);
    }
    extents_close(scanner->fetch.file);
    survey_release(file_of(scanner), scanner->survey);
    scanner->fetch.file = NULL;
    scanner->survey = NULL;
    scanner->opened = false;
}

void scanner_close(struct scanner *scanner)
{
    if (scanner != NULL) {
        range_close(scanner);
        fetch_deinit(&scanner->fetch);
        hasher_destroy(scanner->hasher);
        free(scanner);
    }
}

/* The file itself is opened when there is something to read of it. */
static sluice_status range_open(struct scanner *scanner, struct sluice_error *err)
{
    const struct source_file *file = file_of(scanner);

    scanner->opened = true;
    scanner->whole = false;
    scanner->file = (struct sluice_file){ .size = sizeof scanner->file,
                                          .uri = file->file->name,
                                          .bytes = file->file->version.size,
                                          .file = (uint32_t)scanner->range };
    if (scanner->options.cut != SPLIT_CUT_OWN) {
        return SLUICE_OK;
    }
    TRY(survey_take(file, scanner->options.key, &scanner->fetch, &scanner->survey, &scanner->raw,
                    err));
    survey_seek(scanner->survey, range_of(scanner)->begin, &scanner->cursor);
    if (scanner->hasher != NULL) {
        hasher_add_hash(scanner->hasher, survey_described(scanner->survey));
    }
    return SLUICE_OK;
}

/* The next unit of the range, whether or not it is to be read. */
static bool unit_next(struct scanner *scanner)
{
    const struct split_range *range = range_of(scanner);
    uint64_t bytes = scanner->file.bytes;
    uint64_t end = range->last || range->end > bytes ? bytes : range->end;

    if (scanner->options.cut != SPLIT_CUT_OWN) {
        scanner->unit = (struct survey_unit){ .begin = range->begin, .end = end, .rows = -1 };
        if (scanner->whole || range->begin >= end) {
            return false;
        }
        scanner->whole = true;
        return true;
    }
    return survey_next(&scanner->cursor, &scanner->unit) && scanner->unit.begin < end;
}

static void digest_unit(struct scanner *scanner)
{
    const struct survey_unit *unit = &scanner->unit;

    if (scanner->hasher != NULL) {
        hasher_add_u64(scanner->hasher, unit->number);
        hasher_add_u64(scanner->hasher, unit->begin);
        hasher_add_u64(scanner->hasher, unit->end);
        hasher_add_u64(scanner->hasher, (uint64_t)unit->rows);
        hasher_add_string(scanner->hasher, unit->skip == NULL ? "" : unit->skip);
    }
}

static sluice_status unit_begin(struct scanner *scanner, struct sluice_error *err)
{
    const struct survey_unit *unit = &scanner->unit;

    if (scanner->fetch.file == NULL) {
        TRY(extents_open(file_of(scanner), &scanner->fetch.file, err));
    }
    scanner->scan = (struct sluice_scan){ .size = sizeof scanner->scan,
                                          .file = &scanner->file,
                                          .begin = unit->begin,
                                          .end = unit->end,
                                          .unit = unit->number };
    if (scanner->survey != NULL) {
        scanner->scan.description =
            survey_description(scanner->survey, &scanner->scan.description_size);
    }
    scanner->in_unit = true;
    scanner->rows = 0;
    return scanner->options.hold != NULL && unit->bytes > 0
               ? scanner->options.hold(scanner->options.ctx, unit->bytes, err)
               : SLUICE_OK;
}

static uint64_t rows_of(const struct stage_result *result)
{
    uint64_t rows = result->n_bad;

    for (uint32_t k = 0; k < result->n_batches; k++) {
        rows += (uint64_t)result->batches[k].length;
    }
    for (uint32_t k = 0; k < result->n_skips; k++) {
        rows += result->skips[k].rows;
    }
    return rows;
}

static sluice_status unit_end(struct scanner *scanner, struct sluice_error *err)
{
    const struct survey_unit *unit = &scanner->unit;

    scanner->in_unit = false;
    if (unit->rows >= 0 && (uint64_t)unit->rows != scanner->rows) {
        return error_set(err, SLUICE_E_DATA,
                         "it gave %" PRIu64 " rows, the survey of the file says %" PRId64
                         ": the file is damaged, or the reader is wrong",
                         scanner->rows, unit->rows);
    }
    return extents_unchanged(scanner->fetch.file, err);
}

static sluice_status unit_error(const struct scanner *scanner, sluice_status status,
                                struct sluice_error *err)
{
    const struct survey_unit *unit = &scanner->unit;

    if (status == SLUICE_E_CANCELLED || err == NULL) {
        return status;
    }
    if (scanner->options.cut == SPLIT_CUT_OWN) {
        (void)error_prefix(err, "%s, unit %" PRIu64 " (bytes %" PRIu64 " to %" PRIu64 ")",
                           scanner->file.uri, unit->number, unit->begin, unit->end);
    } else {
        (void)error_prefix(err, "%s, bytes %" PRIu64 " to %" PRIu64, scanner->file.uri, unit->begin,
                           unit->end);
    }
    return status;
}

static sluice_status call(struct scanner *scanner, struct stage_result *result, struct scanned *out,
                          struct sluice_error *err)
{
    struct sluice_scan *scan = &scanner->scan;

    TRY(fetch_scan(&scanner->fetch, scan, result, err));
    scanner->rows += rows_of(result);
    *out = (struct scanned){ .file = (uint32_t)scanner->range,
                             .uri = scanner->file.uri,
                             .unit = scanner->unit,
                             .first = scan->call == 0,
                             .last = scan->more == 0 };
    scan->call++;
    return scan->more == 0 ? unit_end(scanner, err) : SLUICE_OK;
}

sluice_status scanner_next(struct scanner *scanner, struct stage_result *result,
                           struct scanned *out, bool *more, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    *more = false;
    while (!scanner->in_unit) {
        if (scanner->range >= scanner->split->n_ranges) {
            return SLUICE_OK;
        }
        if (!scanner->opened) {
            TRY(range_open(scanner, err));
        }
        if (!unit_next(scanner)) {
            range_close(scanner);
            scanner->range++;
            continue;
        }
        digest_unit(scanner);
        if (scanner->unit.skip == NULL) {
            status = unit_begin(scanner, err);
        } else if (scanner->options.skipped != NULL) {
            status = scanner->options.skipped(scanner->options.ctx, &scanner->unit, err);
        }
        if (status != SLUICE_OK) {
            return unit_error(scanner, status, err);
        }
    }
    if (scanner->options.cancelled != NULL && scanner->options.cancelled(scanner->options.ctx)) {
        return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
    }
    status = call(scanner, result, out, err);
    *more = status == SLUICE_OK;
    return status == SLUICE_OK ? status : unit_error(scanner, status, err);
}

struct hash128 scanner_digest(const struct scanner *scanner)
{
    return hasher_digest(scanner->hasher);
}

uint64_t scanner_raw(const struct scanner *scanner)
{
    return scanner->raw + (scanner->fetch.file == NULL ? 0 : extents_bytes(scanner->fetch.file));
}

uint64_t scanner_asked(const struct scanner *scanner)
{
    return scanner->fetch.asked;
}
