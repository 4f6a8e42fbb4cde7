/* The stages of this plugin, and what they share. Depends on sluice_verdicts.h. */
#ifndef SHUFFLE_H
#define SHUFFLE_H

#include <sluice_stage.h>
#include <sluice_verdicts.h>
#include <stdbool.h>
#include <stddef.h>

extern const struct sluice_stage shuffle_keys_stage, shuffle_rows_stage;
extern const struct sluice_stage mix_sizes_stage, mix_count_stage, mix_targets_stage,
    mix_cuts_stage, mix_draw_stage, mix_copies_stage, mix_rows_stage;
extern const struct sluice_stage holdout_stage, holdout_first_stage;

/* "out of memory" */
sluice_status shuffle_nomem(struct sluice_error *);

/* Fills err with a printf-like message and returns code. */
sluice_status shuffle_fail(struct sluice_error *, sluice_status code, const char *field,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
