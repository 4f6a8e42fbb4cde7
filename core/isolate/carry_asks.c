/* Asks, answers and surveys on their way between parent and child: see carry.h. */
#include <stdlib.h>
#include <string.h>

#include "isolate/carry.h"

#define ASKS_MAX (UINT64_C(1) << 24)  /* of one call */
#define UNITS_MAX (UINT64_C(1) << 28) /* of one file */

/* ---- asks ---- */

void carry_put_asks(struct buf *out, const struct stage_result *result)
{
    wire_put(out, result->n_asks);
    for (uint32_t k = 0; k < result->n_asks; k++) {
        const struct stage_ask *ask = &result->asks[k];
        wire_put(out, ask->kind);
        wire_put(out, ask->tag);
        wire_put_bytes(out, ask->size == 0 ? NULL : result->asked.data + ask->offset,
                       (size_t)ask->size);
    }
}

sluice_status carry_emit_asks(struct wire *wire, struct sluice_emit *emit, bool *waits,
                              struct sluice_error *err)
{
    uint64_t n = wire_get_below(wire, ASKS_MAX);

    *waits = n > 0;
    for (uint64_t k = 0; k < n; k++) {
        struct sluice_ask ask = { .size = sizeof ask };
        size_t size;
        ask.kind = (uint32_t)wire_get_below(wire, UINT32_MAX);
        ask.tag = wire_get(wire);
        ask.payload = wire_get_bytes(wire, &size);
        ask.n = size;
        if (wire->failed) {
            return carry_nonsense(err, "asks");
        }
        TRY(emit->ask(emit, &ask));
    }
    return wire->failed ? carry_nonsense(err, "asks") : SLUICE_OK;
}

/* ---- surveys ---- */

void carry_put_units(struct buf *out, const struct stage_result *result)
{
    uint64_t skips = 0;

    wire_put(out, result->n_units);
    for (uint32_t k = 0; k < result->n_units; k++) {
        const struct stage_unit *unit = &result->units[k];
        wire_put(out, unit->begin);
        wire_put(out, unit->end);
        wire_put(out, unit->bytes);
        wire_put(out, (uint64_t)unit->rows);
        wire_put_text(out, stage_unit_skip(result, k));
    }
    wire_put(out, result->described);
    if (result->described) {
        wire_put_bytes(out, result->description.data, result->description.size);
    }
    for (uint32_t k = 0; k < result->n_skips; k++) {
        skips += result->skips[k].rows > 0 || result->skips[k].bytes > 0 ? 1 : 0;
    }
    wire_put(out, skips);
    for (uint32_t k = 0; k < result->n_skips; k++) {
        if (result->skips[k].rows > 0 || result->skips[k].bytes > 0) {
            wire_put_text(out, result->skips[k].how);
            wire_put(out, result->skips[k].rows);
            wire_put(out, result->skips[k].bytes);
        }
    }
}

sluice_status carry_emit_units(struct wire *wire, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    uint64_t n = wire_get_below(wire, UNITS_MAX);

    for (uint64_t k = 0; k < n && !wire->failed; k++) {
        struct sluice_unit unit = { .size = sizeof unit };
        unit.begin = wire_get(wire);
        unit.end = wire_get(wire);
        unit.bytes = wire_get(wire);
        unit.rows = (int64_t)wire_get(wire);
        unit.skip = wire_get_text(wire);
        if (!wire->failed) {
            TRY(emit->unit(emit, &unit));
        }
    }
    if (wire_get(wire) != 0 && !wire->failed) {
        size_t size;
        const void *data = wire_get_bytes(wire, &size);
        if (!wire->failed) {
            TRY(emit->describe(emit, data, size));
        }
    }
    n = wire_get_below(wire, ASKS_MAX);
    for (uint64_t k = 0; k < n && !wire->failed; k++) {
        const char *how = wire_get_text(wire);
        uint64_t rows = wire_get(wire);
        uint64_t bytes = wire_get(wire);
        if (!wire->failed) {
            TRY(emit->skipped(emit, rows, bytes, how));
        }
    }
    return wire->failed ? carry_nonsense(err, "a survey") : SLUICE_OK;
}

/* ---- what a survey and a scan are given ---- */

void carry_put_file(struct buf *out, const struct sluice_file *file)
{
    wire_put_text(out, file->uri);
    wire_put(out, file->bytes);
    wire_put(out, file->file);
    wire_put(out, file->flags);
}

bool carry_get_file(struct wire *wire, struct sluice_file *file)
{
    *file = (struct sluice_file){ .size = sizeof *file, .uri = wire_get_text(wire) };
    file->bytes = wire_get(wire);
    file->file = (uint32_t)wire_get_below(wire, UINT32_MAX);
    file->flags = (uint32_t)wire_get_below(wire, UINT32_MAX);
    return !wire->failed && file->uri != NULL;
}

void carry_put_scan(struct buf *out, const struct sluice_scan *scan, bool fresh)
{
    carry_put_file(out, scan->file);
    wire_put(out, scan->begin);
    wire_put(out, scan->end);
    wire_put(out, scan->unit);
    wire_put(out, scan->call);
    wire_put(out, scan->description != NULL);
    wire_put(out, scan->description_size);
    wire_put(out, fresh);
}

/* scan->description is set to something that is not NULL where there is one. */
bool carry_get_scan(struct wire *wire, struct sluice_scan *scan, bool *fresh)
{
    scan->begin = wire_get(wire);
    scan->end = wire_get(wire);
    scan->unit = wire_get(wire);
    scan->call = wire_get(wire);
    scan->description = wire_get(wire) != 0 ? "" : NULL;
    scan->description_size = wire_get(wire);
    *fresh = wire_get(wire) != 0;
    return wire_end(wire);
}

/* ---- answers ---- */

static const struct sluice_answer *answer_at(const struct sluice_answers *answers, uint64_t k)
{
    return (const struct sluice_answer *)(const void *)((const char *)answers->items +
                                                        k * answers->stride);
}

static size_t room_of(const struct sluice_answer *answer)
{
    return carry_body((size_t)answer->n + SLUICE_PADDING);
}

void carry_put_answers(struct buf *out, const struct sluice_answers *answers, size_t *body)
{
    *body = 0;
    wire_put(out, answers->n);
    for (uint64_t k = 0; k < answers->n; k++) {
        const struct sluice_answer *answer = answer_at(answers, k);
        wire_put(out, answer->tag);
        wire_put(out, (uint64_t)(int64_t)answer->status);
        wire_put(out, answer->code);
        wire_put(out, answer->flags);
        wire_put_text(out, answer->type);
        wire_put(out, *body);
        wire_put(out, answer->n);
        *body += room_of(answer);
    }
}

void carry_write_answers(const struct sluice_answers *answers, char *body)
{
    for (uint64_t k = 0; k < answers->n; k++) {
        const struct sluice_answer *answer = answer_at(answers, k);
        if (answer->n > 0) {
            memcpy(body, answer->data, (size_t)answer->n);
        }
        memset(body + answer->n, 0, SLUICE_PADDING);
        body += room_of(answer);
    }
}

sluice_status carry_get_answers(struct wire *wire, const char *body, size_t size,
                                struct sluice_answer **items, uint32_t *n, struct sluice_error *err)
{
    *n = (uint32_t)wire_get_below(wire, ASKS_MAX);
    *items = calloc(*n + 1u, sizeof **items);
    if (*items == NULL) {
        return error_nomem(err, "answers");
    }
    for (uint32_t k = 0; k < *n; k++) {
        struct sluice_answer *answer = &(*items)[k];
        uint64_t place;
        answer->size = sizeof *answer;
        answer->tag = wire_get(wire);
        answer->status = (sluice_status)(int64_t)wire_get(wire);
        answer->code = (uint32_t)wire_get_below(wire, UINT32_MAX);
        answer->flags = (uint32_t)wire_get_below(wire, UINT32_MAX);
        answer->type = wire_get_text(wire);
        place = wire_get_below(wire, size);
        answer->n = wire_get_below(wire, size - place);
        answer->data = body + place;
    }
    if (!wire_end(wire)) {
        free(*items);
        *items = NULL;
        return carry_nonsense(err, "answers");
    }
    return SLUICE_OK;
}
