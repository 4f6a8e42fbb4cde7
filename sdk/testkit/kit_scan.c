/* Driving readers that read at random: a file in memory is surveyed, its units are scanned, and
 * what is asked for lies in guarded memory that is gone when the call returns. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plan/splits.h"
#include "store/disk.h"
#include "testkit/kitInt.h"

struct scanning {
    struct kit_bench *bench;
    const struct kit_reading *reading;
    struct kit_outcome *out;
    struct stage_worker *worker;
    struct stage_result result;
    bool broken; /* the kit itself failed */
};

bool kit_random(const struct kit *kit)
{
    return kit->kind->role == SLUICE_ROLE_READER && splits_random(splits_cut(kit->kind->cut));
}

bool kit_file_stored(struct kit *kit, struct buf *out)
{
    struct sluice_error err = ERROR_INIT;

    return disk_read_file(kit->options.data, (size_t)64 << 20, out, NULL, &err) == SLUICE_OK ||
           kit_fail(kit, "--data: %s", err.message);
}

static bool answered(struct scanning *scanning, const char *call, sluice_status status)
{
    const struct kit_reading *reading = scanning->reading;

    kit_leave(scanning->bench->kit);
    if (status != SLUICE_OK && scanning->out->status == SLUICE_OK) {
        scanning->out->status = status;
        scanning->out->failed_call = call;
    }
    if (reading->each != NULL) {
        reading->each(reading->ctx, scanning->bench->kit, call);
    }
    return status == SLUICE_OK;
}

/* One round: what was asked for, each in memory of its own. */
static sluice_status resume(struct scanning *scanning, struct kit_view *views,
                            struct sluice_answer *items, uint32_t n)
{
    const struct kit_reading *reading = scanning->reading;
    struct stage_result *result = &scanning->result;
    struct sluice_error err = ERROR_INIT;

    for (uint32_t k = 0; k < n; k++) {
        struct sluice_extent extent;
        memcpy(&extent, result->asked.data + result->asks[k].offset, sizeof extent);
        items[k] = (struct sluice_answer){
            .size = sizeof items[k], .tag = result->asks[k].tag, .n = extent.n, .type = ""
        };
        if (kit_view_bytes(reading->data + extent.offset, (size_t)extent.n, reading->read_only,
                           reading->fill, &views[k], &items[k].data, &err) != SLUICE_OK) {
            scanning->broken = true;
            kit_fail(scanning->bench->kit, "the kit could not make an answer: %s", err.message);
            return SLUICE_E_NOMEM;
        }
    }
    kit_enter(scanning->bench->kit, "resume");
    return stage_resume(scanning->worker, items, n, result, &scanning->out->error);
}

/* Answers until the call is over. */
static bool go_on(struct scanning *scanning, const char *call, sluice_status status)
{
    bool good = answered(scanning, call, status);

    while (good && scanning->result.n_asks > 0) {
        uint32_t n = scanning->result.n_asks;
        struct kit_view *views = calloc(n, sizeof *views);
        struct sluice_answer *items = calloc(n, sizeof *items);
        if (views == NULL || items == NULL) {
            scanning->broken = true;
            kit_fail(scanning->bench->kit, "out of memory for answers");
            status = SLUICE_E_NOMEM;
        } else {
            status = resume(scanning, views, items, n);
        }
        for (uint32_t i = 0; views != NULL && i < n; i++) {
            kit_view_deinit(&views[i]);
        }
        free(views);
        free(items);
        good = answered(scanning, "resume", status);
    }
    return good;
}

/* The call made by a worker that is closed while it waits, as when a run is stopped: a survey, or
 * where scan is not NULL the first of a unit. */
static void abandon(struct scanning *scanning, const struct sluice_file *file,
                    const struct sluice_scan *scan)
{
    struct kit_bench *bench = scanning->bench;
    struct sluice_scan copy;
    struct stage_worker *worker = NULL;
    struct stage_result result;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    if (!scanning->reading->abandoned) {
        return;
    }
    stage_result_init(&result);
    kit_enter(bench->kit, "worker_open");
    status = stage_worker_open(bench->stage, &worker, &err);
    if (status == SLUICE_OK && scan != NULL) {
        copy = *scan;
        kit_enter(bench->kit, "scan");
        (void)!stage_scan(worker, &copy, &result, &err);
    } else if (status == SLUICE_OK) {
        kit_enter(bench->kit, "survey");
        (void)!stage_survey(worker, file, &result, &err);
    }
    kit_enter(bench->kit, "worker_close");
    stage_worker_close(worker);
    kit_leave(bench->kit);
    stage_result_deinit(&result);
}

static struct sluice_file file_of(const struct kit_reading *reading)
{
    return (struct sluice_file){ .size = sizeof(struct sluice_file),
                                 .uri = "kit/file",
                                 .bytes = reading->n };
}

static bool scan_unit(struct scanning *scanning, const struct stage_unit *unit, uint64_t number,
                      const struct buf *description)
{
    const struct sluice_file file = file_of(scanning->reading);
    struct sluice_scan scan = { .size = sizeof scan,
                                .file = &file,
                                .begin = unit->begin,
                                .end = unit->end,
                                .unit = number,
                                .description = description == NULL ? NULL : description->data,
                                .description_size = description == NULL ? 0 : description->size };
    uint64_t rows = 0;

    abandon(scanning, &file, &scan);
    do {
        kit_enter(scanning->bench->kit, "scan");
        if (!go_on(scanning, "scan",
                   stage_scan(scanning->worker, &scan, &scanning->result, &scanning->out->error))) {
            return false;
        }
        rows += scanning->result.n_bad;
        for (uint32_t k = 0; k < scanning->result.n_batches; k++) {
            rows += (uint64_t)scanning->result.batches[k].length;
        }
        for (uint32_t k = 0; k < scanning->result.n_skips; k++) {
            rows += scanning->result.skips[k].rows;
        }
        kit_outcome_add(scanning->out, scanning->bench, &scanning->result, NULL, 0);
        scan.call++;
    } while (scan.more != 0);
    if (unit->rows >= 0 && (uint64_t)unit->rows != rows) {
        error_set(&scanning->out->error, SLUICE_E_INTERNAL,
                  "unit %llu gives %llu rows (with bad and skipped ones), the survey says "
                  "%lld",
                  (unsigned long long)number, (unsigned long long)rows, (long long)unit->rows);
        return answered(scanning, "scan", SLUICE_E_INTERNAL);
    }
    return true;
}

struct kit_survey {
    struct stage_unit *units; /* owned */
    uint32_t n;
    struct buf description;
    bool described;
};

static void survey_deinit(struct kit_survey *survey)
{
    free(survey->units);
    buf_deinit(&survey->description);
}

static bool survey_file(struct scanning *scanning, struct kit_survey *out)
{
    const struct sluice_file file = file_of(scanning->reading);
    struct stage_result *result = &scanning->result;

    *out = (struct kit_survey){ .description = BUF_INIT };
    abandon(scanning, &file, NULL);
    kit_enter(scanning->bench->kit, "survey");
    if (!go_on(scanning, "survey",
               stage_survey(scanning->worker, &file, result, &scanning->out->error))) {
        return false;
    }
    out->n = result->n_units;
    out->units = calloc(out->n + 1u, sizeof *out->units);
    out->described = result->described;
    if (result->description.size > 0) {
        buf_append(&out->description, result->description.data, result->description.size);
    }
    buf_str(&out->description);
    if (out->units == NULL || out->description.failed) {
        scanning->broken = true;
        return kit_fail(scanning->bench->kit, "out of memory for a survey");
    }
    for (uint32_t k = 0; k < out->n; k++) {
        out->units[k] = result->units[k];
        out->units[k].skip = stage_unit_skip(result, k) == NULL ? 0 : 1;
    }
    return true;
}

static bool scan_own(struct scanning *scanning)
{
    const struct kit_reading *reading = scanning->reading;
    uint64_t to = reading->to == 0 ? reading->n : reading->to;
    struct kit_survey survey;
    bool ok = survey_file(scanning, &survey);

    for (uint32_t i = 0; ok && i < survey.n; i++) {
        uint32_t k = reading->backwards ? survey.n - 1 - i : i;
        const struct stage_unit *unit = &survey.units[k];
        if (unit->begin >= reading->from && unit->begin < to && unit->skip == 0) {
            ok = scan_unit(scanning, unit, k, survey.described ? &survey.description : NULL);
        }
    }
    survey_deinit(&survey);
    return ok;
}

static bool scan_sync(struct scanning *scanning)
{
    const struct kit_reading *reading = scanning->reading;
    const struct stage_unit range = { .begin = reading->from,
                                      .end = reading->to == 0 ? reading->n : reading->to,
                                      .rows = -1 };

    return range.begin >= range.end || scan_unit(scanning, &range, 0, NULL);
}

static bool begin(struct scanning *scanning)
{
    stage_result_init(&scanning->result);
    kit_enter(scanning->bench->kit, "worker_open");
    return answered(
        scanning, "worker_open",
        stage_worker_open(scanning->bench->stage, &scanning->worker, &scanning->out->error));
}

static void end(struct scanning *scanning)
{
    if (scanning->worker != NULL) {
        kit_enter(scanning->bench->kit, "worker_close");
        stage_worker_close(scanning->worker);
        (void)answered(scanning, "worker_close", SLUICE_OK);
    }
    stage_result_deinit(&scanning->result);
}

bool kit_scan(struct kit_bench *bench, const struct kit_reading *reading, struct kit_outcome *out)
{
    struct scanning scanning = { .bench = bench, .reading = reading, .out = out };

    kit_outcome_init(out);
    if (begin(&scanning) &&
        (bench->kind->survey != NULL ? scan_own(&scanning) : scan_sync(&scanning))) {
        kit_enter(bench->kit, "flush");
        if (answered(&scanning, "flush",
                     stage_flush(scanning.worker, &scanning.result, &out->error))) {
            kit_outcome_add(out, bench, &scanning.result, NULL, 0);
        }
    }
    end(&scanning);
    return !scanning.broken && !out->text.failed;
}

bool kit_describe(struct kit_bench *bench, const struct kit_reading *reading, struct buf *said,
                  bool *any)
{
    struct kit_outcome out;
    struct scanning scanning = { .bench = bench, .reading = reading, .out = &out };
    struct kit_survey survey = { .description = BUF_INIT };
    bool ok;

    kit_outcome_init(&out);
    ok = begin(&scanning) && survey_file(&scanning, &survey);
    *any = ok && survey.described;
    if (*any && survey.description.size > 0) {
        buf_append(said, survey.description.data, survey.description.size);
    }
    buf_str(said);
    survey_deinit(&survey);
    end(&scanning);
    kit_outcome_deinit(&out);
    return ok;
}
