/* See roworder.h. */
#include "roworder.h"

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "format.h"
#include "hostpool.h"

namespace sluice_columnar
{

namespace
{

template <class T> int compare_values(T a, T b)
{
    return a < b ? -1 : b < a ? 1 : 0;
}

double real_of(const arrow::Array &column, std::int64_t row)
{
    return column.type_id() == arrow::Type::FLOAT
               ? static_cast<const arrow::FloatArray &>(column).Value(row)
               : static_cast<const arrow::DoubleArray &>(column).Value(row);
}

int compare_at(const arrow::Array &a, std::int64_t i, const arrow::Array &b, std::int64_t k)
{
    if (a.IsNull(i) || b.IsNull(k)) {
        return compare_values(a.IsValid(i), b.IsValid(k));
    }
    switch (a.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
        return static_cast<const arrow::BinaryArray &>(a).GetView(i).compare(
            static_cast<const arrow::BinaryArray &>(b).GetView(k));
    case arrow::Type::FIXED_SIZE_BINARY:
        return static_cast<const arrow::FixedSizeBinaryArray &>(a).GetView(i).compare(
            static_cast<const arrow::FixedSizeBinaryArray &>(b).GetView(k));
    case arrow::Type::BOOL:
        return compare_values(static_cast<const arrow::BooleanArray &>(a).Value(i),
                              static_cast<const arrow::BooleanArray &>(b).Value(k));
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
        return compare_values(real_of(a, i), real_of(b, k));
    case arrow::Type::UINT64:
        return compare_values(static_cast<const arrow::UInt64Array &>(a).Value(i),
                              static_cast<const arrow::UInt64Array &>(b).Value(k));
    default:
        return compare_values(integer_at(a, i), integer_at(b, k));
    }
}

} /* namespace */

void RowOrder::check(const std::shared_ptr<arrow::RecordBatch> &rows)
{
    for (std::int64_t row = 0; row < rows->num_rows(); row++) {
        const arrow::RecordBatch *const before = row > 0 ? rows.get() : last_.get();
        const std::int64_t at = row > 0 ? row - 1 : 0;
        if (before == nullptr) {
            continue;
        }
        for (const std::size_t c : columns_) {
            const int order = compare_at(*before->column(static_cast<int>(c)), at,
                                         *rows->column(static_cast<int>(c)), row);
            if (order > 0) {
                const auto value = rows->column(static_cast<int>(c))->GetScalar(row);
                throw sluice::error(
                    SLUICE_E_DATA,
                    "the rows are not sorted by '" +
                        rows->schema()->field(static_cast<int>(c))->name() + "': a row with " +
                        (value.ok() ? (*value)->ToString().substr(0, 100) : std::string("less")) +
                        " comes behind a greater one; sort them before, or leave `sorted_by` out",
                    "sorted_by");
            }
            if (order < 0) {
                break;
            }
        }
    }
    if (rows->num_rows() > 0) {
        last_ = rows->Slice(rows->num_rows() - 1, 1);
    }
}

} /* namespace sluice_columnar */
