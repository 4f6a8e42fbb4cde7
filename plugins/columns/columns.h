/* The stages of this plugin: which columns go on, under which names, as which types. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <sluice_arrays.h>

extern const struct sluice_stage columns_keep_stage, columns_drop_stage, columns_rename_stage,
    columns_cast_stage;

#endif
