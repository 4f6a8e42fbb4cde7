/* What a stage says in prepare: struct sluice_plan, whose functions only record, and whether what
 * was recorded fits the role. See stageInt.h and stage_planInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/stage_planInt.h"

const struct stage_inputs *stage_plan_inputs(const struct sluice_plan *plan)
{
    return ((const struct stage_recorder *)plan->ctx)->inputs;
}

const struct stage_prepared *stage_plan_prepared(const struct sluice_plan *plan)
{
    return ((const struct stage_recorder *)plan->ctx)->out;
}

sluice_status recorder_refuse(struct stage_recorder *recorder, sluice_status status,
                              const struct sluice_error *error, struct sluice_error *err)
{
    if (status != SLUICE_OK) {
        if (recorder->failed == SLUICE_OK) {
            recorder->failed = status;
            recorder->error = *error;
        }
        error_give(err, error);
    }
    return status;
}

char *recorder_copy(const char *text)
{
    return text != NULL ? str_copy(text, strlen(text)) : NULL;
}

const char *recorder_lend(struct stage_recorder *recorder, char *text)
{
    char **texts =
        text != NULL ? realloc(recorder->texts, (recorder->n_texts + 1) * sizeof *texts) : NULL;

    if (texts == NULL) {
        free(text);
        return NULL;
    }
    recorder->texts = texts;
    texts[recorder->n_texts++] = text;
    return text;
}

static int32_t plan_wanted(struct sluice_plan *plan, const char *name)
{
    const struct stage_inputs *inputs = recorder_of(plan)->inputs;

    return inputs->wanted == NULL || name == NULL ? 1 : inputs->wanted(inputs->ctx, name);
}

/* Is it asked for by a stage that may? */
static sluice_status may_describe(struct stage_recorder *recorder, struct sluice_error *err)
{
    if (recorder->stage->kind->survey == NULL) {
        if (recorder->failed == SLUICE_OK) {
            recorder->failed =
                DEFECT(&recorder->error, "only readers with cut \"own\" have files described");
        }
        error_give(err, &recorder->error);
        return recorder->failed;
    }
    return SLUICE_OK;
}

static sluice_status plan_described(struct sluice_plan *plan, const char **uri, const void **data,
                                    uint64_t *n, struct sluice_error *err)
{
    struct stage_recorder *recorder = plan->ctx;
    const struct stage_inputs *inputs = recorder->inputs;

    *uri = inputs->described_uri;
    *data = inputs->described_data;
    *n = inputs->described_n;
    return may_describe(recorder, err);
}

static sluice_status plan_described_at(struct sluice_plan *plan, uint64_t k, const char **uri,
                                       const void **data, uint64_t *n, struct sluice_error *err)
{
    struct stage_recorder *recorder = plan->ctx;
    const struct stage_inputs *inputs = recorder->inputs;
    struct sluice_error own = ERROR_INIT;
    sluice_status status;

    *uri = NULL;
    *data = NULL;
    *n = 0;
    TRY(may_describe(recorder, err));
    if (inputs->describe != NULL) {
        status = inputs->describe(inputs->describe_ctx, k, uri, data, n, &own);
        if (status != SLUICE_OK) {
            error_give(err, &own);
        }
        return status;
    }
    if (k == 0) {
        return plan_described(plan, uri, data, n, err);
    }
    if (inputs->described_uri == NULL) {
        return SLUICE_OK;
    }
    error_set(&own, SLUICE_E_CONFIG,
              "in a process of its own a reader is told of the first file alone, so it can't have "
              "the columns of all: say isolate = false");
    error_give(err, &own);
    return own.code;
}

void stage_recorder_init(struct stage_recorder *recorder, struct stage *stage,
                         const struct stage_inputs *inputs, struct stage_prepared *out)
{
    const struct sluice_plan plan = {
        .size = sizeof plan,
        .ctx = recorder,
        .need = recorder_need,
        .need_derived = recorder_need_derived,
        .metadata = recorder_metadata,
        .add = recorder_add,
        .output = recorder_output,
        .note = recorder_note,
        .column = recorder_column,
        .wanted = plan_wanted,
        .described = plan_described,
        .described_at = plan_described_at,
    };

    memset(recorder, 0, sizeof *recorder);
    recorder->plan = plan;
    recorder->stage = stage;
    recorder->inputs = inputs;
    recorder->out = out;
}

void stage_recorder_deinit(struct stage_recorder *recorder)
{
    for (size_t k = 0; k < recorder->n_texts; k++) {
        free(recorder->texts[k]);
    }
    free(recorder->texts);
}

void stage_output_deinit(struct stage *stage)
{
    for (uint32_t k = 0; k < stage->output.n_children; k++) {
        type_destroy(stage->output.children[k]);
        free(stage->output.names[k]);
    }
    free(stage->output.children);
    free(stage->output.names);
    memset(&stage->output, 0, sizeof stage->output);
    stage->output.kind = TYPE_STRUCT;
}

/* The struct type that emitted arrays must have. */
static sluice_status make_output(struct stage *stage, const struct schema *added,
                                 struct sluice_error *err)
{
    stage_output_deinit(stage);
    stage->output.children = calloc(added->n + 1, sizeof(struct type *));
    stage->output.names = calloc(added->n + 1, sizeof(char *));
    if (stage->output.children == NULL || stage->output.names == NULL) {
        stage_output_deinit(stage);
        return error_nomem(err, "the columns of a stage");
    }
    for (uint32_t k = 0; k < added->n; k++) {
        stage->output.children[k] = type_copy(added->fields[k].type);
        stage->output.names[k] = recorder_copy(added->fields[k].name);
        stage->output.n_children = k + 1;
        if (stage->output.children[k] == NULL || stage->output.names[k] == NULL) {
            stage_output_deinit(stage);
            return error_nomem(err, "the columns of a stage");
        }
    }
    return SLUICE_OK;
}

/* Keeps what process was promised: how many columns, and the first one that is not there yet. */
static sluice_status keep_needs(struct stage *stage, const struct stage_prepared *out,
                                struct sluice_error *err)
{
    free(stage->lacking);
    stage->lacking = NULL;
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        stage->n_needs[port] = out->n_needs[port];
        for (uint32_t k = 0; k < out->n_needs[port] && stage->lacking == NULL; k++) {
            const struct stage_need *need = &out->needs[port][k];
            if (need->field != STAGE_FIELD_MISSING) {
                continue;
            }
            stage->lacking = str_printf("%.100s{%.200s} of '%.100s'", need->provider, need->options,
                                        need->source);
            if (stage->lacking == NULL) {
                return error_nomem(err, "the columns of a stage");
            }
        }
    }
    return SLUICE_OK;
}

sluice_status stage_recorder_finish(struct stage_recorder *recorder, struct sluice_error *err)
{
    const struct sluice_stage *kind = recorder->stage->kind;
    const struct stage_prepared *out = recorder->out;

    /* A stage that went on after a refusal is refused all the same. */
    if (recorder->failed != SLUICE_OK) {
        if (err != NULL) {
            *err = recorder->error;
        }
        return recorder->failed;
    }
    switch (kind->role) {
    case SLUICE_ROLE_READER:
    case SLUICE_ROLE_TRANSFORM:
        if (out->added.n == 0) {
            return DEFECT(err, "it declares no output columns");
        }
        break;
    case SLUICE_ROLE_ANNOTATOR:
        if (out->added.n == 0 && kind->reasons == NULL) {
            return DEFECT(err, "it adds no column and has no reasons to drop a row");
        }
        break;
    case SLUICE_ROLE_WRITER:
        if (out->n_outputs == 0) {
            return DEFECT(err, "it declares no output file");
        }
        break;
    default:
        break;
    }
    recorder->stage->n_outputs = out->n_outputs;
    TRY(keep_needs(recorder->stage, out, err));
    return make_output(recorder->stage, &out->added, err);
}
