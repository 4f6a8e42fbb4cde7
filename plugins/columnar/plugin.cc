/* What the plugin exports. */
#include "sluice.hpp"
#include "stages.h"

using namespace sluice_columnar;

SLUICE_PLUGIN_STAGES("columnar", "1.0", "MIT", read_parquet_stage, read_arrow_stage,
                     write_arrow_stage, write_csv_stage, write_parquet_stage);
