/* Private to core/plugin/stage_plan*.c, which record what a stage says in prepare: stage_plan.c
 * makes struct sluice_plan and checks that what was recorded fits the role, stage_plan_need.c has
 * the columns it asks for, stage_plan_declare.c what it declares to give. */
#ifndef SLUICE_PLUGIN_STAGE_PLANINT_H
#define SLUICE_PLUGIN_STAGE_PLANINT_H

#include "plugin/stageInt.h"

static inline struct stage_recorder *recorder_of(struct sluice_plan *plan)
{
    return plan->ctx;
}

/* Remembers the first refusal and hands it to the plugin. error is what was filled on the way. */
sluice_status recorder_refuse(struct stage_recorder *, sluice_status status,
                              const struct sluice_error *error, struct sluice_error *err);
/* Keeps text (taken) until prepare returns; NULL = out of memory, also of text itself. */
const char *recorder_lend(struct stage_recorder *, char *text);
/* Gives; NULL = out of memory. */
char *recorder_copy(const char *text);

/* ---- functions of struct sluice_plan, in stage_plan_need.c ---- */

sluice_status recorder_need(struct sluice_plan *, uint32_t port, const char *name, const char *type,
                            int32_t optional, int32_t *index, struct sluice_error *err);
sluice_status recorder_need_derived(struct sluice_plan *, uint32_t port, const char *provider,
                                    const char *options, const char *source, int32_t *index,
                                    struct sluice_error *err);
const char *recorder_metadata(struct sluice_plan *, uint32_t port, int32_t index, const char *key);
/* Hidden and derived columns are only given by name. */
sluice_status recorder_column(struct sluice_plan *, uint32_t port, uint32_t k, const char **name,
                              const char **type);

/* ---- those in stage_plan_declare.c ---- */

sluice_status recorder_add(struct sluice_plan *, const char *name, const char *type,
                           const char *metadata, struct sluice_error *err);
sluice_status recorder_output(struct sluice_plan *, const char *suffix, const char *codec,
                              int32_t level, struct sluice_error *err);
sluice_status recorder_note(struct sluice_plan *, const char *key, const char *json,
                            struct sluice_error *err);

#endif
