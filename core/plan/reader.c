/* Readers in the plan: their columns, the {parts} of paths as columns, and what projection leaves
 * of both. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static int32_t wanted(void *ctx, const char *name)
{
    const struct op *op = ctx;
    int32_t slot = schema_find(&op->out, name);

    return slot >= 0 && op->live != NULL ? op->live[slot] : 1;
}

#define HOST_COLUMNS 2u /* _file, _row: behind all others */

/* Adds a utf8 column for every {name} and {name**} in the patterns, in order of first
 * appearance. */
static sluice_status add_parts(struct planner *planner, struct op *op, const struct node *files,
                               struct sluice_error *err)
{
    uint32_t first = op->out.n;
    int32_t *parts;

    for (uint32_t p = 0; p < files->n_patterns; p++) {
        const char *text = files->patterns[p];
        for (const char *at = strchr(text, '{'); at != NULL; at = strchr(at + 1, '{')) {
            const char *end = strchr(at, '}');
            const char *name;
            int32_t known;
            if (end == NULL || (at > text && at[-1] == '\\')) {
                continue;
            }
            name = arena_copy(&planner->arena, at + 1, strcspn(at + 1, "*}"));
            TRY(arena_status(&planner->arena, err, "the plan"));
            known = schema_find(&op->out, name);
            if (known >= 0 && (uint32_t)known < first) {
                return error_set(
                    err, SLUICE_E_SCHEMA,
                    "the part {%s} of '%s' has the name of a column of the reader; rename one",
                    name, text);
            }
            if (known < 0) {
                TRY(schema_add_text(&op->out, name, "utf8?", NULL, err));
            }
        }
    }
    parts = ARENA_ARRAY(&planner->plan->arena, int32_t, op->out.n + HOST_COLUMNS);
    TRY(arena_status(&planner->plan->arena, err, "the plan"));
    for (uint32_t k = 0; k < op->out.n + HOST_COLUMNS; k++) {
        parts[k] = k >= first && k < op->out.n ? (int32_t)(k - first) : -1;
    }
    op_edit_read(op)->parts = parts;
    return SLUICE_OK;
}

/* Asked twice: first which columns there are, with which all else is planned; at last (final) to
 * make those alone that somebody uses. */
sluice_status planner_reader(struct planner *planner, struct phase *phase, struct op *op,
                             bool final, struct sluice_error *err)
{
    static const char *const hidden[] = { SLUICE_BEGIN, SLUICE_END };
    const struct node *files = planner->graph->nodes[op->node->inputs[0]];
    struct stage_inputs inputs = { .n_ports = 0 };
    struct op_read *read = op_edit_read(op);
    struct lane *lane = phase->lanes[read->lane];
    struct describing describing = { planner, lane, read->code.stage, BUF_INIT };
    struct stage_prepared prepared;
    sluice_status status;

    TRY(planner_describe(planner, lane, read->code.stage, err));
    inputs.describe = planner_describe_at;
    inputs.describe_ctx = &describing;
    inputs.described_uri = lane->described_uri;
    inputs.described_data = lane->described_data;
    inputs.described_n = lane->described_n;
    if (final) {
        inputs.wanted = wanted;
        inputs.ctx = op;
    }
    status = stage_prepare(read->code.stage, &inputs, &prepared, err);
    /* The rows of a unit are traced to it, where the reader knows no better. */
    for (size_t i = 0;
         status == SLUICE_OK && i < 2 && !splits_random(splits_cut(op_declared(op)->cut)); i++) {
        if (schema_find(&prepared.added, hidden[i]) < 0) {
            status = error_set(
                err, SLUICE_E_INTERNAL,
                "the reader declares no column %s, where each record lies in its file", hidden[i]);
        }
    }
    if (status == SLUICE_OK && !final) {
        status = schema_copy(&op->out, &prepared.added, err);
        if (status == SLUICE_OK) {
            status = add_parts(planner, op, files, err);
        }
        if (status == SLUICE_OK) {
            status = schema_add_hidden(&op->out, SLUICE_HIDDEN_FILE, err);
        }
        if (status == SLUICE_OK) {
            status = schema_add_hidden(&op->out, SLUICE_HIDDEN_ROW, err);
        }
        if (status == SLUICE_OK) {
            read->columns = ARENA_ARRAY(&planner->plan->arena, struct op_column, op->out.n);
            status = arena_status(&planner->plan->arena, err, "the plan");
        }
    }
    if (status == SLUICE_OK) {
        for (uint32_t k = 0; k < op->out.n; k++) {
            int32_t column = schema_find(&prepared.added, op->out.fields[k].name);
            read->columns[k] = column < 0 ? (struct op_column){ FROM_HOST, 0 }
                                          : (struct op_column){ FROM_PLUGIN, (uint32_t)column };
        }
    }
    stage_prepared_deinit(&prepared);
    buf_deinit(&describing.said);
    return status == SLUICE_OK ? SLUICE_OK : error_prefix(err, "%s", op->node->where);
}
