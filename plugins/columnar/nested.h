/* Nested values as JSON. */
#ifndef COLUMNAR_NESTED_H
#define COLUMNAR_NESTED_H

#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/array.h>

namespace sluice_columnar
{

/* Appends the text in quotation marks. It is UTF-8. */
void json_text(std::string_view text, std::string &out);

/* Appends the value at row; false: it holds a number that JSON has no word for. */
bool json_value(const arrow::Array &column, std::int64_t row, std::string &out);

} /* namespace sluice_columnar */

#endif
