/* Values behind each other in the columns of records in the making: see record.h. */
#include "record.h"

#include <cstring>

namespace sluice_json
{

bool Records::append(Column &column, bool is_null, const void *data, size_t n, bool is_text)
{
    if (n > 0) {
        if (!sluice_bytes_reserve(&column.values, n)) {
            return false;
        }
        std::memcpy(column.values.data + column.values.size, data, n);
    }
    return append_there(column, is_null, n, is_text);
}

/* A value whose n bytes stand behind those that count. */
bool Records::append_there(Column &column, bool is_null, size_t n, bool is_text)
{
    uint64_t row = static_cast<uint64_t>(rows_);

    if (row % 8 == 0) {
        const char none = 0;
        if (!sluice_bytes_add(&column.validity, &none, 1)) {
            return false;
        }
    }
    if (is_null) {
        column.nulls++;
    } else {
        column.validity.data[row / 8] =
            static_cast<char>(column.validity.data[row / 8] | (1 << (row % 8)));
    }
    if (is_text) {
        int32_t end = static_cast<int32_t>(column.values.size);
        if (row == 0 && !sluice_bytes_add(&column.offsets, &end, sizeof end)) {
            return false;
        }
        if (column.values.size + n > INT32_MAX) {
            return false;
        }
        end = static_cast<int32_t>(column.values.size + n);
        if (!sluice_bytes_add(&column.offsets, &end, sizeof end)) {
            return false;
        }
    }
    column.values.size += n;
    return true;
}

/* The id of a record that has none. */
bool Records::append_id(Column &column, uint64_t begin, std::string_view uri)
{
    scratch_.assign(uri);
    scratch_ += ':';
    scratch_ += std::to_string(begin);
    return append(column, false, scratch_.data(), scratch_.size(), true);
}

} /* namespace sluice_json */
