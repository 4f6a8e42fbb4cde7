/* Values that stand in a file's path: folders named NAME=VALUE, as Hive and Spark write them. */
#ifndef COLUMNAR_HIVE_H
#define COLUMNAR_HIVE_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

namespace sluice_columnar
{

struct Partition {
    std::string name;
    std::optional<std::string> value; /* nothing: null */
};

/* In the order of the path. %XX is the byte that it names; the deepest of several of one name
 * counts. What is no UTF-8 then, is left out. */
std::vector<Partition> partitions_of(std::string_view path);

/* Such values as columns behind those of a file. */
struct Parts {
    arrow::FieldVector fields;
    std::vector<std::shared_ptr<arrow::Scalar>> values;

    /* Throws SLUICE_E_DATA where the value is none of the type. */
    void add(const Partition &part, const std::shared_ptr<arrow::DataType> &type);
};
/* int64 where the value is a whole number as one writes it, else utf8. */
std::shared_ptr<arrow::DataType> type_of(const Partition &part);
/* What the values become as columns of a file of this schema, which comes first where both have a
 * name; names that begin with _ are left out. type: what is asked for, NULL = type_of. */
Parts part_columns(
    const std::vector<Partition> &parts, const arrow::Schema &file,
    const std::function<std::shared_ptr<arrow::DataType>(const std::string &)> &type);
std::shared_ptr<arrow::Schema> schema_with(const arrow::Schema &file, const Parts &parts);

} /* namespace sluice_columnar */

#endif
