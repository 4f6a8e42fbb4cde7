/* What a call asks of the world, and what a reader that reads at random says of a file (the
 * functions of struct sluice_emit that came with ABI 1.1). See stageInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/stageInt.h"

#define ASK_MAX (UINT64_C(64) << 20)    /* bytes of a payload */
#define ASKED_MAX (UINT64_C(256) << 20) /* of all asks of a round, with ASK_EACH for each */
#define ASK_EACH UINT64_C(64)
#define DESCRIPTION_MAX (UINT64_C(256) << 20) /* of a file */

const char *stage_unit_skip(const struct stage_result *result, uint32_t unit)
{
    uint64_t skip = result->units[unit].skip;

    return skip == 0 ? NULL : result->text.data + (skip - 1);
}

/* ---- asks ---- */

/* The bytes that an earlier header's struct lacks are zero. */
static bool take_ask(struct sluice_ask *to, const struct sluice_ask *from)
{
    memset(to, 0, sizeof *to);
    if (from == NULL || from->size < offsetof(struct sluice_ask, n) + sizeof from->n) {
        return false;
    }
    memcpy(to, from, from->size < sizeof *to ? (size_t)from->size : sizeof *to);
    return to->payload != NULL || to->n == 0;
}

static sluice_status check_bytes(struct stage_emitter *emitter, const struct sluice_ask *ask)
{
    struct sluice_extent extent;
    uint64_t bytes;

    if (emitter->call.file == NULL) {
        return REFUSE_DEFECT(emitter, "it asks for bytes of a file where it was given none");
    }
    if (ask->n != sizeof extent) {
        return REFUSE_DEFECT(emitter,
                             "it asks for bytes with a payload of %llu bytes, expected a "
                             "struct sluice_extent",
                             (unsigned long long)ask->n);
    }
    memcpy(&extent, ask->payload, sizeof extent);
    bytes = emitter->call.file->bytes;
    return extent.offset > bytes || extent.n > bytes - extent.offset
               ? REFUSE_DEFECT(emitter, "it asks for %llu bytes at %llu of a file of %llu",
                               (unsigned long long)extent.n, (unsigned long long)extent.offset,
                               (unsigned long long)bytes)
               : SLUICE_OK;
}

static sluice_status check_ask(struct stage_emitter *emitter, const struct sluice_ask *ask)
{
    const struct sluice_stage *kind = emitter->stage->kind;

    if (kind->resume == NULL) {
        return REFUSE_DEFECT(emitter,
                             "it asks, but has no function resume to go on with: set it in "
                             "struct sluice_stage");
    }
    if (ask->n > ASK_MAX) {
        return REFUSE_DEFECT(emitter, "it asks with %llu bytes, at most %llu are possible",
                             (unsigned long long)ask->n, (unsigned long long)ASK_MAX);
    }
    if (ask->kind == SLUICE_ASK_BYTES) {
        return check_bytes(emitter, ask);
    }
    if (ask->kind != SLUICE_ASK_HTTP) {
        return REFUSE_DEFECT(emitter, "it asks for something of kind %u, which is unknown",
                             ask->kind);
    }
    if (emitter->call.kind != EMIT_PROCESS || (kind->flags & SLUICE_STAGE_RECORDED) == 0) {
        return REFUSE_DEFECT(emitter, "only a stage that is marked SLUICE_STAGE_RECORDED asks a "
                                      "server, in process and its resume");
    }
    return SLUICE_OK;
}

static sluice_status emit_ask(struct sluice_emit *emit, const struct sluice_ask *given)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;
    void *asks = out->asks;
    struct sluice_ask ask;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (!take_ask(&ask, given)) {
        return REFUSE_DEFECT(emitter, "an ask is incomplete");
    }
    TRY(check_ask(emitter, &ask));
    if (out->asked.size + ask.n + (out->n_asks + 1) * ASK_EACH > ASKED_MAX) {
        return REFUSE_DEFECT(emitter,
                             "its %u asks take more than %llu bytes: ask for part of them, and for "
                             "the others in resume",
                             out->n_asks + 1, (unsigned long long)ASKED_MAX);
    }
    buf_append(&out->asked, ask.payload, (size_t)ask.n);
    if (out->asked.failed ||
        !emit_room(&asks, out->n_asks, &out->asks_capacity, sizeof *out->asks)) {
        return REFUSE_NOMEM(emitter);
    }
    out->asks = asks;
    out->asks[out->n_asks++] = (struct stage_ask){
        .kind = ask.kind, .tag = ask.tag, .offset = out->asked.size - ask.n, .size = ask.n
    };
    return SLUICE_OK;
}

/* ---- surveys ---- */

static sluice_status check_unit(struct stage_emitter *emitter, const struct sluice_unit *unit)
{
    const struct stage_result *out = emitter->out;
    uint64_t before = out->n_units == 0 ? 0 : out->units[out->n_units - 1].end;

    if (unit->begin >= unit->end || unit->end > emitter->call.file->bytes || unit->begin < before ||
        unit->rows < -1) {
        return REFUSE_DEFECT(emitter,
                             "unit %u is bytes %llu to %llu with %lld rows, behind byte %llu of a "
                             "file of %llu bytes",
                             out->n_units, (unsigned long long)unit->begin,
                             (unsigned long long)unit->end, (long long)unit->rows,
                             (unsigned long long)before,
                             (unsigned long long)emitter->call.file->bytes);
    }
    return unit->skip != NULL && !emit_word_valid(unit->skip)
               ? REFUSE_DEFECT(emitter,
                               "unit %u is skipped because of \"%.63s\", expected [a-z0-9_]+",
                               out->n_units, unit->skip)
               : SLUICE_OK;
}

static sluice_status emit_unit(struct sluice_emit *emit, const struct sluice_unit *given)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;
    void *units = out->units;
    struct sluice_unit unit = { .size = sizeof unit };
    uintptr_t skip = 0;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (emitter->call.kind != EMIT_SURVEY) {
        return REFUSE_DEFECT(emitter, "it gives a unit outside of survey");
    }
    if (given == NULL || given->size < offsetof(struct sluice_unit, skip) + sizeof given->skip) {
        return REFUSE_DEFECT(emitter, "a unit is incomplete");
    }
    memcpy(&unit, given, given->size < sizeof unit ? (size_t)given->size : sizeof unit);
    TRY(check_unit(emitter, &unit));
    if (unit.skip != NULL) {
        skip = emit_keep_text(out, unit.skip, strlen(unit.skip));
    }
    if ((unit.skip != NULL && skip == 0) ||
        !emit_room(&units, out->n_units, &out->units_capacity, sizeof *out->units)) {
        return REFUSE_NOMEM(emitter);
    }
    out->units = units;
    out->units[out->n_units++] = (struct stage_unit){
        .begin = unit.begin, .end = unit.end, .bytes = unit.bytes, .rows = unit.rows, .skip = skip
    };
    return SLUICE_OK;
}

static sluice_status emit_describe(struct sluice_emit *emit, const void *data, uint64_t n)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (emitter->call.kind != EMIT_SURVEY || out->described || (data == NULL && n > 0) ||
        n > DESCRIPTION_MAX) {
        return REFUSE_DEFECT(emitter,
                             "it describes a file with %llu bytes, expected once in survey, "
                             "at most %llu",
                             (unsigned long long)n, (unsigned long long)DESCRIPTION_MAX);
    }
    buf_append(&out->description, data, (size_t)n);
    out->described = true;
    return out->description.failed ? REFUSE_NOMEM(emitter) : SLUICE_OK;
}

/* ---- what is not read ---- */

static sluice_status add_skip(struct stage_emitter *emitter, const char *how)
{
    struct stage_result *out = emitter->out;
    void *skips = out->skips;
    char *copy;

    if (!emit_word_valid(how)) {
        return REFUSE_DEFECT(emitter, "rows are skipped because of \"%.63s\", expected [a-z0-9_]+",
                             how != NULL ? how : "");
    }
    copy = str_copy(how, strlen(how));
    if (copy == NULL ||
        !emit_room(&skips, out->n_skips, &out->skips_capacity, sizeof *out->skips)) {
        free(copy);
        return REFUSE_NOMEM(emitter);
    }
    out->skips = skips;
    out->skips[out->n_skips++] = (struct stage_skip){ .how = copy };
    return SLUICE_OK;
}

static sluice_status emit_skipped(struct sluice_emit *emit, uint64_t rows, uint64_t bytes,
                                  const char *how)
{
    struct stage_emitter *emitter = emitter_of(emit);
    struct stage_result *out = emitter->out;
    uint32_t k = 0;

    if (emitter->failed != SLUICE_OK) {
        return emitter->failed;
    }
    if (emitter->call.kind != EMIT_READ && emitter->call.kind != EMIT_SCAN) {
        return REFUSE_DEFECT(emitter, "only readers skip rows, in read or scan");
    }
    while (k < out->n_skips && how != NULL && strcmp(out->skips[k].how, how) != 0) {
        k++;
    }
    if (k == out->n_skips) {
        TRY(add_skip(emitter, how));
    }
    out->skips[k].rows += rows;
    out->skips[k].bytes += bytes;
    return SLUICE_OK;
}

void emit_asks_init(struct sluice_emit *emit)
{
    emit->ask = emit_ask;
    emit->unit = emit_unit;
    emit->describe = emit_describe;
    emit->skipped = emit_skipped;
}
