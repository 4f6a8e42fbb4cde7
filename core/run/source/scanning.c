/* The rows of a reader that asks for bytes: see readingInt.h. */
#include <string.h>

#include "run/floor.h"
#include "run/source/readingInt.h"

struct scanning {
    struct reading *reading;
    struct stage_worker *worker;
};

/* ---- memory ---- */

/* What a unit takes above an ordinary batch is held from before it is taken until the unit is done
 * with: the bytes that it asks for at once (or what it says that it holds), and what the reader
 * makes of them. */
static sluice_status hold(void *ctx, uint64_t bytes, struct sluice_error *err)
{
    struct reading *reading = ((struct scanning *)ctx)->reading;
    struct room *room = chain_room(reading->chain);
    double need = (double)bytes * (1 + floor_call(reading->op));
    uint64_t whole = need < 1e18 ? (uint64_t)need : UINT64_C(1000000000000000000);

    if (bytes <= reading->usual || whole <= reading->window) {
        return SLUICE_OK;
    }
    room->giant = true;
    room->what = "unit";
    room->record = bytes;
    TRY(room_ask(room, "stage", reading->op->name, bytes, whole - reading->window, err));
    reading->window = whole;
    room->held = whole;
    return SLUICE_OK;
}

static void let_go(struct reading *reading)
{
    struct room *room = chain_room(reading->chain);

    if (reading->window > 0) {
        reading->window = 0;
        room->giant = false;
        room->what = NULL;
        room->record = 0;
        room->held = 0;
        room_done(room);
    }
}

/* ---- time ---- */

static void meter(void *ctx, bool begins, bool reads)
{
    const struct reading *reading = ((struct scanning *)ctx)->reading;
    struct phase_metrics *metrics = chain_options(reading->chain)->metrics;

    if (begins) {
        meter_begin(chain_meter(reading->chain));
    } else if (reads) {
        meter_end(chain_meter(reading->chain), &metrics->source, false);
    } else {
        meter_end(chain_meter(reading->chain), &metrics->ops[reading->op->index].time,
                  op_isolated(reading->op));
        room_asked(chain_room(reading->chain));
    }
}

static int32_t cancelled(void *ctx)
{
    const struct reading *reading = ((struct scanning *)ctx)->reading;

    return chain_check_cancelled(reading->chain, NULL) != SLUICE_OK;
}

/* ---- accounts ---- */

static sluice_status skipped(void *ctx, const struct survey_unit *unit, struct sluice_error *err)
{
    const struct reading *reading = ((struct scanning *)ctx)->reading;
    struct ledger_op *entry;

    if (reading->again != NULL) {
        return SLUICE_OK;
    }
    entry = chain_ledger(reading->chain, reading->op->index);
    entry->units++;
    return ledger_skip(entry,
                       &(struct ledger_skip){ .how = unit->skip,
                                              .units = 1,
                                              .rows = unit->rows < 0 ? 0 : (uint64_t)unit->rows,
                                              .bytes = unit->end - unit->begin },
                       err);
}

static sluice_status quarantine_bad(struct reading *reading, const struct scanned *scanned,
                                    struct sluice_error *err)
{
    for (uint32_t i = 0; i < reading->result.n_bad; i++) {
        const struct stage_bad *found = &reading->result.bad[i];
        struct bad_record bad = { .stage = reading->op->name,
                                  .reason = found->reason,
                                  .detail = found->detail,
                                  .has_place = true,
                                  .file = scanned->file,
                                  .begin = found->begin,
                                  .end = found->end };
        TRY(chain_quarantine(reading->chain, reading->op->index, &bad, err));
    }
    return SLUICE_OK;
}

static sluice_status account(struct reading *reading, const struct scanned *scanned,
                             struct sluice_error *err)
{
    struct ledger_op *entry = chain_ledger(reading->chain, reading->op->index);

    if (scanned->first) {
        entry->units++;
    }
    if (scanned->last) {
        entry->units_read++;
        entry->units_counted += scanned->unit.rows >= 0 ? 1 : 0;
        entry->rows_said += scanned->unit.rows >= 0 ? (uint64_t)scanned->unit.rows : 0;
    }
    TRY(quarantine_bad(reading, scanned, err));
    return chain_book(reading->chain, reading->op->index, &reading->result, err);
}

/* ---- the units ---- */

static sluice_status take_call(struct reading *reading, const struct scanned *scanned,
                               struct sluice_error *err)
{
    struct stage_result *result = &reading->result;

    reading->unit = scanned->unit;
    if (reading->again == NULL) {
        TRY(account(reading, scanned, err));
    }
    for (uint32_t i = 0; i < result->n_batches; i++) {
        struct ArrowArray *batch = &result->batches[i];
        sluice_status status =
            batch->length == 0 ? SLUICE_OK : reading_push(reading, scanned->file, batch, err);
        batch->release(batch); /* the next one needs its memory */
        batch->release = NULL;
        TRY(status);
    }
    if (scanned->last) {
        let_go(reading);
    }
    return SLUICE_OK;
}

static sluice_status scan_units(struct reading *reading, struct scanner *scanner,
                                struct sluice_error *err)
{
    for (;;) {
        struct scanned scanned;
        bool more = false;
        sluice_status status;
        TRY(chain_between(reading->chain, err));
        TRY(scanner_next(scanner, &reading->result, &scanned, &more, err));
        if (!more) {
            return SLUICE_OK;
        }
        status = take_call(reading, &scanned, err);
        if (status == SLUICE_E_HALT || status == SLUICE_E_DATA) {
            return error_prefix(err, "%s", scanned.uri); /* a split may hold many files */
        }
        TRY(status);
    }
}

sluice_status reading_scan(struct reading *reading, const struct source_inputs *inputs,
                           struct stage_worker *worker, struct sluice_error *err)
{
    struct phase_metrics *metrics = chain_options(reading->chain)->metrics;
    struct scanning scanning = { reading, worker };
    const struct scanner_options options = { .cut = splits_cut(op_declared(reading->op)->cut),
                                             .key = op_read(reading->op)->stage_key,
                                             .worker = worker,
                                             .digest = inputs->digest != NULL,
                                             .hold = hold,
                                             .meter = meter,
                                             .cancelled = cancelled,
                                             .skipped = skipped,
                                             .ctx = &scanning };
    struct scanner *scanner;
    sluice_status status;

    TRY(scanner_open(inputs->files, reading->split, &options, &scanner, err));
    status = scan_units(reading, scanner, err);
    let_go(reading);
    if (status == SLUICE_OK && inputs->digest != NULL) {
        *inputs->digest = scanner_digest(scanner);
    }
    if (status == SLUICE_OK && reading->again == NULL) {
        uint64_t asked = scanner_asked(scanner);
        chain_ledger(reading->chain, reading->op->index)->text_bytes += asked;
        METRIC_ADD(metrics->text_bytes, asked);
        METRIC_ADD(metrics->ops[reading->op->index].bytes_in, asked);
        METRIC_ADD(metrics->raw_bytes, scanner_raw(scanner));
    }
    scanner_close(scanner);
    return status;
}
