/* See nested.h. */
#include "nested.h"

#include <charconv>
#include <cmath>

#include <arrow/type_traits.h>
#include <arrow/util/float16.h>

#include "format.h"

namespace sluice_columnar
{

void json_text(std::string_view text, std::string &out)
{
    static const char digits[] = "0123456789abcdef";

    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '\r') {
            out += "\\r";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out += digits[c >> 4];
            out += digits[c & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

namespace
{

/* The shortest digits that give the number again. */
template <class T> bool put_real(T value, std::string &out)
{
    char digits[40];

    if (!std::isfinite(value)) {
        return false;
    }
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end.ptr);
    return true;
}

bool put_list(const arrow::ListArray &list, std::int64_t row, std::string &out)
{
    bool good = true;

    out += '[';
    for (std::int64_t k = list.value_offset(row); k < list.value_offset(row + 1) && good; k++) {
        out += k > list.value_offset(row) ? "," : "";
        good = json_value(*list.values(), k, out);
    }
    out += ']';
    return good;
}

bool put_struct(const arrow::StructArray &all, std::int64_t row, std::string &out)
{
    bool good = true;

    out += '{';
    for (int k = 0; k < all.num_fields() && good; k++) {
        out += k > 0 ? "," : "";
        json_text(all.type()->field(k)->name(), out);
        out += ':';
        good = json_value(*all.field(k), row, out);
    }
    out += '}';
    return good;
}

} /* namespace */

bool json_value(const arrow::Array &column, std::int64_t row, std::string &out)
{
    if (column.IsNull(row)) {
        out += "null";
        return true;
    }
    switch (column.type_id()) {
    case arrow::Type::BOOL:
        out += static_cast<const arrow::BooleanArray &>(column).Value(row) ? "true" : "false";
        return true;
    case arrow::Type::HALF_FLOAT:
        return put_real(arrow::util::Float16::FromBits(
                            static_cast<const arrow::HalfFloatArray &>(column).Value(row))
                            .ToFloat(),
                        out);
    case arrow::Type::FLOAT:
        return put_real(static_cast<const arrow::FloatArray &>(column).Value(row), out);
    case arrow::Type::DOUBLE:
        return put_real(static_cast<const arrow::DoubleArray &>(column).Value(row), out);
    case arrow::Type::STRING:
        json_text(static_cast<const arrow::StringArray &>(column).GetView(row), out);
        return true;
    case arrow::Type::LIST:
    case arrow::Type::MAP:
        return put_list(static_cast<const arrow::ListArray &>(column), row, out);
    case arrow::Type::STRUCT:
        return put_struct(static_cast<const arrow::StructArray &>(column), row, out);
    default:
        if (arrow::is_integer(column.type_id())) {
            out += format_value(column, row);
        } else {
            json_text(format_value(column, row), out);
        }
        return true;
    }
}

} /* namespace sluice_columnar */
