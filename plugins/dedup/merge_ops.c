/* merge_ops: the column of a change log that says what became of a row (part of `merge`). Of
 * changes it sets aside rows that say nothing it knows, before they replace anything; of what is
 * merged it drops the rows that say they are deleted. Rows of the snapshot say nothing: they are
 * null. */
#include <stdbool.h>

#include "dedup.h"

struct config {
    const char *op;
    struct sluice_list deletes, puts;
    uint8_t check;
};

static const struct sluice_option options[] = {
    { .name = "op",
      .doc = "Column that says what became of the row.",
      .type = SLUICE_OPT_COLUMN,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, op) },
    { .name = "deletes",
      .doc = "Values of it by which the row is gone.",
      .def = "delete,d,D",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, deletes) },
    { .name = "puts",
      .doc = "Values of it by which the row is there.",
      .def = "insert,update,upsert,i,u,c,r,I,U",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, puts) },
    { .name = "check",
      .doc = "Set rows of other values aside, and drop none.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, check) },
};

static sluice_status ops_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;

    return plan->need(plan, 0, config->op, "utf8?", 0, NULL, err);
}

static bool is_one_of(const struct sluice_list *list, const char *text, size_t n)
{
    for (uint64_t i = 0; i < list->n; i++) {
        if (strlen(list->items[i]) == n && memcmp(list->items[i], text, n) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status judge(void *state, const struct sluice_batch *batch, int64_t at,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    static const char unknown[] = "unknown_op: neither one of `puts` nor of `deletes`";
    const struct config *config = state;
    const struct ArrowArray *ops = batch->array->children[0];
    size_t n = 0;
    const char *op = sluice_is_null(ops, at) ? NULL : sluice_text(ops, at, &n);
    bool deleted = op != NULL && is_one_of(&config->deletes, op, n);

    (void)err;
    if (!config->check) {
        verdict->reason = deleted ? 1 : 0;
    } else if (!deleted && (op == NULL || !is_one_of(&config->puts, op, n))) {
        *verdict = (struct sluice_verdict){ .reason = SLUICE_VERDICT_BAD,
                                            .dup_of = unknown,
                                            .dup_of_length = sizeof unknown - 1 };
    }
    return SLUICE_OK;
}

static sluice_status ops_process(void *state, const struct sluice_batch *batch,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, judge, state, err);
}

const struct sluice_stage merge_ops_stage = {
    .size = sizeof merge_ops_stage,
    .name = "merge_ops",
    .version = "1.0",
    .summary = "What became of a row, by a column of a change log (part of `merge`)",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_HIDDEN,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "deleted",
    .bytes_worker = 1 << 16,
    .open = sluice_open_config,
    .prepare = ops_prepare,
    .process = ops_process,
};
