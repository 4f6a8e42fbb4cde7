/* The columns of all files of an input as those of one, by their names. */
#ifndef COLUMNAR_UNION_H
#define COLUMNAR_UNION_H

#include <map>
#include <memory>
#include <string>

#include <arrow/type.h>

#include "columns.h"

namespace sluice_columnar
{

/* The type that holds all values of both as they are, and that files of either are read as; NULL =
 * there is none. Whole numbers become int64, numbers float64 where every value of both has one;
 * of times the finer unit, of decimals the larger precision; a column of nulls takes any. */
std::shared_ptr<arrow::DataType> wider(const std::shared_ptr<arrow::DataType> &a,
                                       const std::shared_ptr<arrow::DataType> &b);

class Union
{
  public:
    /* Of columns whose type the request says, and of text and id, no types are united. */
    explicit Union(const Request &request);

    /* Columns of a file; those from `own` on are values of its path, which are texts where they
     * differ. Throws SLUICE_E_SCHEMA with both files where the types of a column have no wider
     * one. */
    void add(const arrow::Schema &file, int own, const std::string &uri);

    /* In the order in which they were found. */
    std::shared_ptr<arrow::Schema> schema() const
    {
        return arrow::schema(fields_);
    }

  private:
    struct Known {
        std::size_t at;
        std::string uri; /* whose type it is */
    };
    bool is_told(const std::string &name) const;
    const Request &request_;
    arrow::FieldVector fields_;
    std::map<std::string, Known> known_;
};

} /* namespace sluice_columnar */

#endif
