/* Columns of ours as they were in the file they came from. */
#ifndef COLUMNAR_RESTORE_H
#define COLUMNAR_RESTORE_H

#include <memory>

#include <arrow/array.h>
#include <arrow/memory_pool.h>

#include "target.h"

namespace sluice_columnar
{

/* A column of target.given as one of target.field's type. Throws what does not fit, with the
 * value. */
std::shared_ptr<arrow::Array>
restore(const Target &target, const std::shared_ptr<arrow::Array> &column, arrow::MemoryPool &pool);

} /* namespace sluice_columnar */

#endif
