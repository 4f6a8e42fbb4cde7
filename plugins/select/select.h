/* The stages of this plugin. */
#ifndef SELECT_H
#define SELECT_H

#include <sluice_arrays.h>

extern const struct sluice_stage select_sampler_stage, select_sampler_datatrove_stage,
    select_regex_stage, select_where_stage;

#endif
