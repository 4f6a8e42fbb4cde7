/* Columns of the library as columns of ours. */
#ifndef COLUMNAR_CONVERT_H
#define COLUMNAR_CONVERT_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/array.h>

#include "sluice.hpp"
#include "types.h"

namespace sluice_columnar
{

/* A row that can't be given. */
struct BadRow {
    std::int64_t row; /* in the batch */
    const char *reason;
    std::size_t output = 0; /* of the reader */
};

/* Rows whose texts, at any depth, are not UTF-8, or whose numbers are out of range. */
void find_bad(const arrow::Array &column, Convert how, std::vector<BadRow> &bad);

/* The column as it is given away: memory is shared with it where nothing is converted. Rows that
 * find_bad names are not among its rows. */
sluice::array convert(const std::shared_ptr<arrow::Array> &column, Convert how);

/* Which rows of a unit the rows of a batch are: those from first on, or the ones that `all` names,
 * which is borrowed. */
struct Numbers {
    Numbers(std::int64_t from, const std::int64_t *named = nullptr) : first(from), all(named)
    {
    }
    std::int64_t at(std::int64_t row) const
    {
        return all != nullptr ? all[row] : first + row;
    }
    Numbers behind(std::int64_t rows) const
    {
        return { first + rows, all == nullptr ? nullptr : all + rows };
    }
    std::int64_t first;
    const std::int64_t *all;
};

/* The same for the id of documents: texts without nulls, which become PREFIX and the row's number.
 * column may be NULL: all of them. */
sluice::array convert_id(const arrow::Array *column, Convert how, const std::string &prefix,
                         const Numbers &numbers, std::int64_t n);

} /* namespace sluice_columnar */

#endif
