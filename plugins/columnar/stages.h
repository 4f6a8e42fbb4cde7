/* The stages of the plugin: one a file, listed in plugin.cc. */
#ifndef COLUMNAR_STAGES_H
#define COLUMNAR_STAGES_H

#include "sluice.h"

namespace sluice_columnar
{

const sluice_stage *read_parquet_stage();
const sluice_stage *read_arrow_stage();
const sluice_stage *write_arrow_stage();
const sluice_stage *write_csv_stage();
const sluice_stage *write_parquet_stage();

} /* namespace sluice_columnar */

#endif
