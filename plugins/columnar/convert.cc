/* See convert.h. */
#include "convert.h"

#include <algorithm>

#include <arrow/c/bridge.h>
#include <arrow/util/float16.h>
#include <simdjson.h>

#include "format.h"
#include "nested.h"
#include "text/text_utf8.h"

namespace sluice_columnar
{

namespace
{

/* ---- texts ---- */

/* Text that is well-formed as a whole, and no row of which begins inside of a sequence, is
 * well-formed row by row. */
bool valid_together(const arrow::BinaryArray &texts)
{
    const std::int64_t n = texts.length();
    const std::int32_t begin = texts.value_offset(0);
    const std::int32_t end = texts.value_offset(n);
    const auto *bytes = reinterpret_cast<const char *>(texts.raw_data());
    bool inside = false;

    if (begin == end) {
        return true;
    }
    if (!simdjson::validate_utf8(bytes + begin, static_cast<std::size_t>(end - begin))) {
        return false;
    }
    for (std::int64_t row = 1; row < n; row++) {
        const std::int32_t at = texts.value_offset(row);
        inside |= at < end && (bytes[at] & 0xC0) == 0x80;
    }
    return !inside;
}

void find_bad_texts(const arrow::BinaryArray &texts, std::vector<std::int64_t> &bad)
{
    if (texts.length() == 0 || valid_together(texts)) {
        return;
    }
    for (std::int64_t row = 0; row < texts.length(); row++) {
        const std::string_view text = texts.IsNull(row) ? std::string_view() : texts.GetView(row);
        if (!text_utf8_valid(text.data(), text.size(), nullptr)) {
            bad.push_back(row);
        }
    }
}

/* Rows of any column that hold a text which is not UTF-8, ascending. */
void find_bad_inside(const arrow::Array &column, std::vector<std::int64_t> &bad)
{
    std::vector<std::int64_t> below;

    if (column.type_id() == arrow::Type::STRING) {
        find_bad_texts(static_cast<const arrow::BinaryArray &>(column), bad);
    } else if (column.type_id() == arrow::Type::STRUCT) {
        const auto &all = static_cast<const arrow::StructArray &>(column);
        for (int k = 0; k < all.num_fields(); k++) {
            find_bad_inside(*all.field(k), below); /* offset and length are the struct's */
        }
        std::sort(below.begin(), below.end());
        for (const std::int64_t row : below) {
            if (column.IsValid(row) && (bad.empty() || bad.back() != row)) {
                bad.push_back(row);
            }
        }
    } else if (column.type_id() == arrow::Type::LIST || column.type_id() == arrow::Type::MAP) {
        const auto &all = static_cast<const arrow::ListArray &>(column);
        find_bad_inside(*all.values(), below);
        std::int64_t row = 0;
        for (const std::int64_t item : below) {
            while (row < all.length() && all.value_offset(row + 1) <= item) {
                row++;
            }
            if (row < all.length() && all.value_offset(row) <= item && all.IsValid(row) &&
                (bad.empty() || bad.back() != row)) {
                bad.push_back(row);
            }
        }
    }
}

/* ---- arrays as they are ---- */

/* Without a list of nulls where there are none, and with nulls counted, everywhere. (In memory maps
 * are lists of pairs already.) */
std::shared_ptr<arrow::ArrayData> tidy(const arrow::ArrayData &data)
{
    auto out = std::make_shared<arrow::ArrayData>(data);
    const std::int64_t nulls = data.GetNullCount();

    out->null_count = nulls;
    if (nulls == 0 && !out->buffers.empty()) {
        out->buffers[0] = nullptr;
    }
    for (auto &child : out->child_data) {
        child = tidy(*child);
    }
    return out;
}

sluice::array give(const arrow::ArrayData &data)
{
    sluice::array out;
    const arrow::Status status =
        arrow::ExportArray(*arrow::MakeArray(tidy(data)), out.raw(), nullptr);

    if (!status.ok()) {
        throw sluice::error(SLUICE_E_INTERNAL, "a column can't be given: " + status.message());
    }
    return out;
}

/* ---- arrays that are made ---- */

/* The column's nulls, as makers take them. */
sluice::bytes nulls_of(const arrow::Array &column)
{
    sluice::bytes out;

    if (column.null_count() > 0) {
        for (std::int64_t row = 0; row < column.length(); row++) {
            out.add_bit(row, column.IsValid(row));
        }
    }
    return out;
}

template <class T, class Get> sluice::array make_fixed(const arrow::Array &column, Get get)
{
    sluice::bytes nulls = nulls_of(column);
    sluice::bytes values;
    sluice::array out;

    for (std::int64_t row = 0; row < column.length(); row++) {
        const T value = column.IsValid(row) ? get(row) : T{};
        values.add(&value, sizeof value);
    }
    if (sluice_make_fixed(out.raw(), column.length(), values.raw(),
                          column.null_count() > 0 ? nulls.raw() : nullptr,
                          column.null_count()) != SLUICE_OK) {
        out.raw()->release = nullptr;
        throw std::bad_alloc();
    }
    return out;
}

template <class Get>
sluice::array make_texts(std::int64_t n, const arrow::Array *nulls_from, Get get)
{
    sluice::bytes nulls = nulls_from != nullptr ? nulls_of(*nulls_from) : sluice::bytes();
    const std::int64_t n_nulls = nulls_from != nullptr ? nulls_from->null_count() : 0;
    sluice::bytes offsets, values;
    sluice::array out;

    for (std::int64_t row = 0; row < n; row++) {
        const std::string text = get(row);
        if (sluice_bytes_add_text(offsets.raw(), values.raw(), text.data(), text.size()) == 0) {
            throw std::bad_alloc();
        }
    }
    if (sluice_make_text(out.raw(), n, offsets.raw(), values.raw(),
                         n_nulls > 0 ? nulls.raw() : nullptr, n_nulls) != SLUICE_OK) {
        out.raw()->release = nullptr;
        throw std::bad_alloc();
    }
    return out;
}

float half(std::uint16_t bits)
{
    return arrow::util::Float16::FromBits(bits).ToFloat();
}

double real_at(const arrow::Array &column, std::int64_t row)
{
    switch (column.type_id()) {
    case arrow::Type::HALF_FLOAT:
        return half(static_cast<const arrow::HalfFloatArray &>(column).Value(row));
    case arrow::Type::FLOAT:
        return static_cast<const arrow::FloatArray &>(column).Value(row);
    default:
        return static_cast<double>(integer_at(column, row));
    }
}

/* The same bytes under another type. */
std::shared_ptr<arrow::ArrayData> as_type(const arrow::ArrayData &data,
                                          std::shared_ptr<arrow::DataType> type)
{
    auto out = std::make_shared<arrow::ArrayData>(data);

    out->type = std::move(type);
    return out;
}

} /* namespace */

void find_bad(const arrow::Array &column, Convert how, std::vector<BadRow> &bad)
{
    std::vector<std::int64_t> rows;

    if (how == Convert::text) {
        find_bad_texts(static_cast<const arrow::BinaryArray &>(column), rows);
    } else if (how == Convert::none || how == Convert::json) {
        find_bad_inside(column, rows);
    }
    for (const std::int64_t row : rows) {
        bad.push_back({ row, "invalid_utf8", 0 });
    }
    if (how == Convert::json) {
        std::string scratch;
        for (std::int64_t row = 0; row < column.length(); row++) {
            scratch.clear();
            if (!json_value(column, row, scratch)) {
                bad.push_back({ row, "bad_number", 0 });
            }
        }
    }
    if (how == Convert::integer && column.type_id() == arrow::Type::UINT64) {
        const auto &all = static_cast<const arrow::UInt64Array &>(column);
        for (std::int64_t row = 0; row < column.length(); row++) {
            if (column.IsValid(row) && all.Value(row) > static_cast<std::uint64_t>(INT64_MAX)) {
                bad.push_back({ row, "out_of_range", 0 });
            }
        }
    }
}

sluice::array convert(const std::shared_ptr<arrow::Array> &column, Convert how)
{
    switch (how) {
    case Convert::text:
        return give(*as_type(*column->data(), arrow::utf8()));
    case Convert::formatted:
        return make_texts(column->length(), column.get(), [&](std::int64_t row) {
            return column->IsValid(row) ? format_value(*column, row) : std::string();
        });
    case Convert::json:
        return make_texts(column->length(), column.get(), [&](std::int64_t row) {
            std::string out;
            if (column->IsValid(row)) {
                json_value(*column, row, out);
            }
            return out;
        });
    case Convert::integer:
        if (arrow::bit_width(column->type_id()) == 64) {
            return give(*as_type(*column->data(), arrow::int64()));
        }
        return make_fixed<std::int64_t>(*column,
                                        [&](std::int64_t row) { return integer_at(*column, row); });
    case Convert::real:
        return make_fixed<double>(*column, [&](std::int64_t row) { return real_at(*column, row); });
    case Convert::single:
        return make_fixed<float>(*column, [&](std::int64_t row) {
            return half(static_cast<const arrow::HalfFloatArray &>(*column).Value(row));
        });
    default:
        return give(*column->data());
    }
}

sluice::array convert_id(const arrow::Array *column, Convert how, const std::string &prefix,
                         const Numbers &numbers, std::int64_t n)
{
    if (column != nullptr && how == Convert::text && column->null_count() == 0) {
        return give(*as_type(*column->data(), arrow::utf8()));
    }
    return make_texts(n, nullptr, [&](std::int64_t row) {
        if (column == nullptr || column->IsNull(row)) {
            return prefix + std::to_string(numbers.at(row));
        }
        return how == Convert::text
                   ? std::string(static_cast<const arrow::BinaryArray &>(*column).GetView(row))
                   : format_value(*column, row);
    });
}

} /* namespace sluice_columnar */
