/* columns - keep, drop, rename and cast columns. This file is the plugin's descriptor. */
#include "columns.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("columns", "1.0", "MIT", &columns_keep_stage, &columns_drop_stage,
              &columns_rename_stage, &columns_cast_stage);
