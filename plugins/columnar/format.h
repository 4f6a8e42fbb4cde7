/* Values as text: whole numbers, dates, times, decimals. */
#ifndef COLUMNAR_FORMAT_H
#define COLUMNAR_FORMAT_H

#include <cstdint>
#include <string>

#include <arrow/array.h>

namespace sluice_columnar
{

/* A whole number, or what dates and times are counted by; uint64 wraps. The row is no null. */
std::int64_t integer_at(const arrow::Array &column, std::int64_t row);

/* 12, -3.50, 2024-02-29, 23:59:59.5, 2024-02-29T23:59:59.000001Z (Z: the file says that it is UTC).
 * Years beyond 9999 have a sign. The row is no null. */
std::string format_value(const arrow::Array &column, std::int64_t row);

} /* namespace sluice_columnar */

#endif
