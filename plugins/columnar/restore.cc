/* See restore.h. */
#include "restore.h"

#include <charconv>

#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include "hostpool.h"

namespace sluice_columnar
{

namespace
{

/* ---- texts that format.h made ---- */

/* A number of digits, of `least` and more of them. */
bool take_number(std::string_view &text, std::size_t least, std::int64_t &out)
{
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    const auto n = static_cast<std::size_t>(end.ptr - text.data());

    if (end.ec != std::errc() || n < least || text[0] == '-') {
        return false;
    }
    text.remove_prefix(n);
    return true;
}

bool take_char(std::string_view &text, char c)
{
    if (text.empty() || text[0] != c) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

/* Days since 1970-01-01: the inverse of format_date. */
bool take_date(std::string_view &text, std::int64_t &days)
{
    const bool minus = take_char(text, '-');
    std::int64_t year = 0, month = 0, day = 0;

    if (!minus) {
        take_char(text, '+');
    }
    if (!take_number(text, 4, year) || !take_char(text, '-') || !take_number(text, 2, month) ||
        !take_char(text, '-') || !take_number(text, 2, day) || month < 1 || month > 12 || day < 1 ||
        day > 31 || year > 300000000000) {
        return false;
    }
    year = (minus ? -year : year) - (month <= 2 ? 1 : 0);
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t of_era = year - era * 400;
    const std::int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return true;
}

std::int64_t units_a_second(arrow::TimeUnit::type unit)
{
    static const std::int64_t all[] = { 1, 1000, 1000000, 1000000000 };
    return all[static_cast<std::size_t>(unit)];
}

bool take_time(std::string_view &text, std::int64_t units, std::int64_t &seconds,
               std::int64_t &fraction)
{
    std::int64_t hour = 0, minute = 0, second = 0;

    if (!take_number(text, 2, hour) || !take_char(text, ':') || !take_number(text, 2, minute) ||
        !take_char(text, ':') || !take_number(text, 2, second) || hour > 23 || minute > 59 ||
        second > 59) {
        return false;
    }
    seconds = hour * 3600 + minute * 60 + second;
    fraction = 0;
    if (take_char(text, '.')) {
        std::int64_t unit = units;
        bool any = false;
        while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
            unit /= 10;
            fraction += unit * (text[0] - '0');
            any = true;
            if (unit == 0 && text[0] != '0') {
                return false;
            }
            text.remove_prefix(1);
        }
        return any;
    }
    return true;
}

bool parse_date(std::string_view text, const arrow::DataType & /*type*/, std::int64_t &out)
{
    return take_date(text, out) && text.empty();
}

bool parse_time(std::string_view text, const arrow::DataType &type, std::int64_t &out)
{
    const std::int64_t units = units_a_second(static_cast<const arrow::TimeType &>(type).unit());
    std::int64_t seconds = 0, fraction = 0;
    std::string_view rest = text;

    if (take_time(rest, units, seconds, fraction) && rest.empty()) {
        out = seconds * units + fraction;
        return true;
    }
    /* What is no time of a day is the number. */
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

bool parse_timestamp(std::string_view text, const arrow::DataType &type, std::int64_t &out)
{
    const std::int64_t units =
        units_a_second(static_cast<const arrow::TimestampType &>(type).unit());
    std::int64_t days = 0, seconds = 0, fraction = 0;

    if (!take_date(text, days) || !take_char(text, 'T') ||
        !take_time(text, units, seconds, fraction)) {
        return false;
    }
    take_char(text, 'Z');
    /* Near the ends the product alone is out of range, but not the sum. */
    const __int128 all = (static_cast<__int128>(days) * 86400 + seconds) * units + fraction;
    out = static_cast<std::int64_t>(all);
    return text.empty() && all == static_cast<__int128>(out);
}

[[noreturn]] void misfit(const Target &target, std::string_view value)
{
    throw sluice::error(SLUICE_E_DATA,
                        "column '" + target.name + "' holds '" + std::string(value.substr(0, 100)) +
                            "', which is no " + target.field->type()->ToString() +
                            "; give it another name where it is changed",
                        target.name);
}

template <class Builder, class Parse>
std::shared_ptr<arrow::Array> parse_counts(const Target &target, const arrow::StringArray &texts,
                                           arrow::MemoryPool &pool, Parse parse)
{
    using Value = typename Builder::value_type;
    Builder builder(target.field->type(), &pool);

    check_made(builder.Reserve(texts.length()), "a column");
    for (std::int64_t row = 0; row < texts.length(); row++) {
        std::int64_t value = 0;
        if (texts.IsNull(row)) {
            builder.UnsafeAppendNull();
            continue;
        }
        if (!parse(texts.GetView(row), *target.field->type(), value) ||
            static_cast<std::int64_t>(static_cast<Value>(value)) != value) {
            misfit(target, texts.GetView(row));
        }
        builder.UnsafeAppend(static_cast<Value>(value));
    }
    return made(builder.Finish(), "a column");
}

template <class Builder, class Decimal>
std::shared_ptr<arrow::Array> parse_decimals(const Target &target, const arrow::StringArray &texts,
                                             arrow::MemoryPool &pool)
{
    const auto &type = static_cast<const arrow::DecimalType &>(*target.field->type());
    Builder builder(target.field->type(), &pool);

    check_made(builder.Reserve(texts.length()), "a column");
    for (std::int64_t row = 0; row < texts.length(); row++) {
        Decimal value;
        std::int32_t precision = 0, scale = 0;
        if (texts.IsNull(row)) {
            check_made(builder.AppendNull(), "a column");
            continue;
        }
        if (!Decimal::FromString(texts.GetView(row), &value, &precision, &scale).ok()) {
            misfit(target, texts.GetView(row));
        }
        if (scale != type.scale()) {
            auto scaled = value.Rescale(scale, type.scale());
            if (!scaled.ok()) {
                misfit(target, texts.GetView(row));
            }
            value = Decimal(scaled.ValueUnsafe());
        }
        if (!value.FitsInPrecision(type.precision())) {
            misfit(target, texts.GetView(row));
        }
        check_made(builder.Append(value), "a column");
    }
    return made(builder.Finish(), "a column");
}

std::shared_ptr<arrow::Array> parse(const Target &target, const arrow::StringArray &texts,
                                    arrow::MemoryPool &pool)
{
    switch (target.field->type()->id()) {
    case arrow::Type::DATE32:
        return parse_counts<arrow::Date32Builder>(target, texts, pool, parse_date);
    case arrow::Type::TIME32:
        return parse_counts<arrow::Time32Builder>(target, texts, pool, parse_time);
    case arrow::Type::TIME64:
        return parse_counts<arrow::Time64Builder>(target, texts, pool, parse_time);
    case arrow::Type::TIMESTAMP:
        return parse_counts<arrow::TimestampBuilder>(target, texts, pool, parse_timestamp);
    case arrow::Type::DECIMAL128:
        return parse_decimals<arrow::Decimal128Builder, arrow::Decimal128>(target, texts, pool);
    default:
        return parse_decimals<arrow::Decimal256Builder, arrow::Decimal256>(target, texts, pool);
    }
}

/* The same memory under a type of the same layout. */
std::shared_ptr<arrow::ArrayData> retype(const arrow::ArrayData &data,
                                         const std::shared_ptr<arrow::DataType> &type)
{
    auto out = std::make_shared<arrow::ArrayData>(data);

    out->type = type;
    for (std::size_t k = 0; k < out->child_data.size(); k++) {
        out->child_data[k] = retype(*out->child_data[k], type->field(static_cast<int>(k))->type());
    }
    return out;
}

/* ---- numbers ---- */

std::shared_ptr<arrow::Array> halve(const arrow::FloatArray &column, arrow::MemoryPool &pool)
{
    arrow::HalfFloatBuilder builder(&pool);

    check_made(builder.Reserve(column.length()), "a column");
    for (std::int64_t row = 0; row < column.length(); row++) {
        if (column.IsNull(row)) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(arrow::util::Float16(column.Value(row)).bits());
        }
    }
    return made(builder.Finish(), "a column");
}

std::shared_ptr<arrow::Array> narrow(const Target &target, const arrow::ListArray &lists,
                                     arrow::MemoryPool &pool)
{
    const auto &items = static_cast<const arrow::UInt32Array &>(*lists.values());
    const std::int64_t n = items.length();
    auto bytes = made(arrow::AllocateBuffer(n * 2, &pool), "a column");
    auto *out = reinterpret_cast<std::uint16_t *>(bytes->mutable_data());
    std::uint32_t any = 0;

    for (std::int64_t k = 0; k < n; k++) {
        any |= items.raw_values()[k];
        out[k] = static_cast<std::uint16_t>(items.raw_values()[k]);
    }
    for (std::int64_t k = 0; any > UINT16_MAX && k < n; k++) {
        if (items.IsValid(k) && items.Value(k) > UINT16_MAX) {
            throw sluice::error(SLUICE_E_DATA,
                                "column '" + target.name + "' holds the token " +
                                    std::to_string(items.Value(k)) +
                                    ", but its vocabulary is said to have 65536 at most",
                                target.name);
        }
    }
    auto data = std::make_shared<arrow::ArrayData>(*lists.data());
    auto child = std::make_shared<arrow::ArrayData>(*items.data());
    child->type = arrow::uint16();
    child->buffers[1] = std::move(bytes);
    data->type = target.field->type();
    data->child_data = { child };
    return arrow::MakeArray(data);
}

} /* namespace */

std::shared_ptr<arrow::Array>
restore(const Target &target, const std::shared_ptr<arrow::Array> &column, arrow::MemoryPool &pool)
{
    switch (target.restore) {
    case Restore::retype:
        return arrow::MakeArray(retype(*column->data(), target.field->type()));
    case Restore::parse:
        return parse(target, static_cast<const arrow::StringArray &>(*column), pool);
    case Restore::half:
        return halve(static_cast<const arrow::FloatArray &>(*column), pool);
    case Restore::narrow:
        return narrow(target, static_cast<const arrow::ListArray &>(*column), pool);
    default:
        return column;
    }
}

} /* namespace sluice_columnar */
