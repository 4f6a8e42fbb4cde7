/* See union.h. */
#include "union.h"

#include <algorithm>

#include <arrow/type_traits.h>

#include "types.h"

namespace sluice_columnar
{

namespace
{

using Type = std::shared_ptr<arrow::DataType>;

/* Whole numbers that int64 has. */
bool fits_int64(const arrow::DataType &type)
{
    return arrow::is_integer(type.id()) && type.id() != arrow::Type::UINT64;
}

/* Numbers each of which is a float64. */
bool fits_float64(const arrow::DataType &type)
{
    return arrow::is_floating(type.id()) ||
           (arrow::is_integer(type.id()) && arrow::bit_width(type.id()) <= 32);
}

/* float16 is given as float32. */
bool is_single(const arrow::DataType &type)
{
    return type.id() == arrow::Type::HALF_FLOAT || type.id() == arrow::Type::FLOAT;
}

Type finer_timestamp(const Type &a, const Type &b)
{
    const auto &x = static_cast<const arrow::TimestampType &>(*a);
    const auto &y = static_cast<const arrow::TimestampType &>(*b);

    return x.timezone() != y.timezone() ? nullptr : x.unit() >= y.unit() ? a : b;
}

bool is_time(const arrow::DataType &type)
{
    return type.id() == arrow::Type::TIME32 || type.id() == arrow::Type::TIME64;
}

Type finer_time(const Type &a, const Type &b)
{
    const auto unit = [](const arrow::DataType &type) {
        return type.id() == arrow::Type::TIME32
                   ? static_cast<const arrow::Time32Type &>(type).unit()
                   : static_cast<const arrow::Time64Type &>(type).unit();
    };
    return unit(*a) >= unit(*b) ? a : b;
}

Type larger_decimal(const Type &a, const Type &b)
{
    const auto &x = static_cast<const arrow::DecimalType &>(*a);
    const auto &y = static_cast<const arrow::DecimalType &>(*b);

    return x.scale() != y.scale() ? nullptr : x.precision() >= y.precision() ? a : b;
}

} /* namespace */

Type wider(const Type &a, const Type &b)
{
    if (a->Equals(*b) || b->id() == arrow::Type::NA) {
        return a;
    }
    if (a->id() == arrow::Type::NA) {
        return b;
    }
    if (fits_int64(*a) && fits_int64(*b)) {
        return arrow::int64();
    }
    if (is_single(*a) && is_single(*b)) {
        return arrow::float32();
    }
    if (fits_float64(*a) && fits_float64(*b)) {
        return arrow::float64();
    }
    if (a->id() == arrow::Type::TIMESTAMP && b->id() == arrow::Type::TIMESTAMP) {
        return finer_timestamp(a, b);
    }
    if (is_time(*a) && is_time(*b)) {
        return finer_time(a, b);
    }
    if (arrow::is_decimal(a->id()) && arrow::is_decimal(b->id())) {
        return larger_decimal(a, b);
    }
    /* What is left are spellings of one type: names of items, pairs as maps. */
    return own_convert(*a) == own_convert(*b) && own_convert(*a) != Convert::formatted &&
                   !own_type(*a).empty() && own_type(*a) == own_type(*b)
               ? a
               : nullptr;
}

Union::Union(const Request &request) : request_(request)
{
}

bool Union::is_told(const std::string &name) const
{
    return name == request_.text || name == request_.id ||
           std::any_of(request_.columns.begin(), request_.columns.end(),
                       [&](const auto &column) { return column.first == name; });
}

void Union::add(const arrow::Schema &file, int own, const std::string &uri)
{
    for (int k = 0; k < file.num_fields(); k++) {
        const std::string &name = file.field(k)->name();
        find_column(file, name); /* once */
        const auto found = known_.find(name);
        if (found == known_.end()) {
            known_[name] = { fields_.size(), uri };
            fields_.push_back(file.field(k));
            continue;
        }
        if (is_told(name) || name.substr(0, 1) == "_") {
            continue;
        }
        Known &known = found->second;
        const Type was = fields_[known.at]->type();
        const Type is = file.field(k)->type();
        const Type both = k >= own && !was->Equals(*is) ? arrow::utf8() : wider(was, is);
        if (both == nullptr) {
            throw sluice::error(SLUICE_E_SCHEMA,
                                uri + ": column '" + name + "' is " + is->ToString() + ", but " +
                                    was->ToString() + " in " + known.uri +
                                    ", and no type holds the values of both: say with `columns` "
                                    "as what it is wanted, or which others are",
                                "union_by_name");
        }
        if (!both->Equals(*was)) {
            fields_[known.at] = arrow::field(name, both);
            known.uri = uri;
        }
    }
}

} /* namespace sluice_columnar */
