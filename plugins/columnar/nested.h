/* Nested values as JSON. */
#ifndef COLUMNAR_NESTED_H
#define COLUMNAR_NESTED_H

#include <cstdint>
#include <string>

#include <arrow/array.h>
#include <arrow/type.h>

namespace sluice_columnar
{

/* Can values of the type be written as JSON? Of bool, numbers, text, what is formatted as text, and
 * lists, structs and maps of these; maps are lists of {"key", "value"}. */
bool json_able(const arrow::DataType &type);

/* Appends the value at row; false: it holds a number that JSON has no word for. */
bool json_value(const arrow::Array &column, std::int64_t row, std::string &out);

} /* namespace sluice_columnar */

#endif
