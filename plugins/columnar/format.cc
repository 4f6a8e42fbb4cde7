/* See format.h. */
#include "format.h"

#include <cstdio>

#include <arrow/util/decimal.h>

namespace sluice_columnar
{

namespace
{

constexpr std::int64_t day_seconds = 86400;

/* The greatest multiple of `by` below, and what is left. */
std::int64_t divide(std::int64_t value, std::int64_t by, std::int64_t &rest)
{
    std::int64_t whole = value / by;

    rest = value % by;
    if (rest < 0) {
        rest += by;
        whole--;
    }
    return whole;
}

/* Of the proleptic Gregorian calendar, from days since 1970-01-01: by eras of 400 years that begin
 * in March, so that the leap day is a year's last. */
std::string format_date(std::int64_t days)
{
    constexpr std::int64_t era_days = 146097, to_epoch = 719468;
    std::int64_t day;
    const std::int64_t era = divide(days + to_epoch, era_days, day);
    const std::int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    const std::int64_t of_year = day - (365 * year + year / 4 - year / 100);
    const std::int64_t month = (5 * of_year + 2) / 153; /* 0 = March */
    const std::int64_t of_month = of_year - (153 * month + 2) / 5 + 1;
    const std::int64_t civil = year + era * 400 + (month >= 10 ? 1 : 0);
    char out[64];

    std::snprintf(out, sizeof out,
                  civil < 0 || civil > 9999 ? "%+05lld-%02d-%02d" : "%04lld-%02d-%02d",
                  static_cast<long long>(civil),
                  static_cast<int>(month < 10 ? month + 3 : month - 9), static_cast<int>(of_month));
    return out;
}

std::int64_t units_of(arrow::TimeUnit::type unit, int &digits)
{
    static const std::int64_t all[] = { 1, 1000, 1000000, 1000000000 };

    digits = static_cast<int>(unit) * 3;
    return all[static_cast<std::size_t>(unit)];
}

/* A time of day, with a fraction where it is not 0. */
std::string format_time(std::int64_t seconds, std::int64_t fraction, int digits)
{
    char out[64];

    if (fraction == 0) {
        std::snprintf(
            out, sizeof out, "%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
            static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
    } else {
        std::snprintf(
            out, sizeof out, "%02lld:%02lld:%02lld.%0*lld", static_cast<long long>(seconds / 3600),
            static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60), digits,
            static_cast<long long>(fraction));
    }
    return out;
}

std::string format_timestamp(std::int64_t value, const arrow::TimestampType &type)
{
    int digits;
    std::int64_t fraction, seconds;
    const std::int64_t all = divide(value, units_of(type.unit(), digits), fraction);
    const std::int64_t days = divide(all, day_seconds, seconds);

    return format_date(days) + "T" + format_time(seconds, fraction, digits) +
           (type.timezone().empty() ? "" : "Z");
}

std::string format_time_of_day(std::int64_t value, arrow::TimeUnit::type unit)
{
    int digits;
    std::int64_t fraction;
    const std::int64_t seconds = divide(value, units_of(unit, digits), fraction);

    /* Anything may stand in a file. */
    if (seconds < 0 || seconds >= day_seconds) {
        return std::to_string(value);
    }
    return format_time(seconds, fraction, digits);
}

} /* namespace */

std::int64_t integer_at(const arrow::Array &column, std::int64_t row)
{
    switch (column.type_id()) {
    case arrow::Type::INT8:
        return static_cast<const arrow::Int8Array &>(column).Value(row);
    case arrow::Type::INT16:
        return static_cast<const arrow::Int16Array &>(column).Value(row);
    case arrow::Type::INT32:
        return static_cast<const arrow::Int32Array &>(column).Value(row);
    case arrow::Type::INT64:
        return static_cast<const arrow::Int64Array &>(column).Value(row);
    case arrow::Type::UINT8:
        return static_cast<const arrow::UInt8Array &>(column).Value(row);
    case arrow::Type::UINT16:
        return static_cast<const arrow::UInt16Array &>(column).Value(row);
    case arrow::Type::UINT32:
        return static_cast<const arrow::UInt32Array &>(column).Value(row);
    case arrow::Type::UINT64:
        return static_cast<std::int64_t>(
            static_cast<const arrow::UInt64Array &>(column).Value(row));
    case arrow::Type::DATE32:
        return static_cast<const arrow::Date32Array &>(column).Value(row);
    case arrow::Type::TIME32:
        return static_cast<const arrow::Time32Array &>(column).Value(row);
    case arrow::Type::TIME64:
        return static_cast<const arrow::Time64Array &>(column).Value(row);
    case arrow::Type::TIMESTAMP:
        return static_cast<const arrow::TimestampArray &>(column).Value(row);
    default:
        return 0;
    }
}

std::string format_value(const arrow::Array &column, std::int64_t row)
{
    switch (column.type_id()) {
    case arrow::Type::UINT64:
        return std::to_string(static_cast<const arrow::UInt64Array &>(column).Value(row));
    case arrow::Type::DATE32:
        return format_date(integer_at(column, row));
    case arrow::Type::TIME32:
        return format_time_of_day(integer_at(column, row),
                                  static_cast<const arrow::Time32Type &>(*column.type()).unit());
    case arrow::Type::TIME64:
        return format_time_of_day(integer_at(column, row),
                                  static_cast<const arrow::Time64Type &>(*column.type()).unit());
    case arrow::Type::TIMESTAMP:
        return format_timestamp(integer_at(column, row),
                                static_cast<const arrow::TimestampType &>(*column.type()));
    case arrow::Type::DECIMAL128:
        return static_cast<const arrow::Decimal128Array &>(column).FormatValue(row);
    case arrow::Type::DECIMAL256:
        return static_cast<const arrow::Decimal256Array &>(column).FormatValue(row);
    default:
        return std::to_string(integer_at(column, row));
    }
}

} /* namespace sluice_columnar */
