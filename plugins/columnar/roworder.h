/* Whether rows come in the order that they are said to have. */
#ifndef COLUMNAR_ROWORDER_H
#define COLUMNAR_ROWORDER_H

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

namespace sluice_columnar
{

class RowOrder
{
  public:
    /* Columns, the first one counting most; texts by their bytes, nulls first. */
    explicit RowOrder(std::vector<std::size_t> columns) : columns_(std::move(columns))
    {
    }
    /* Throws where a row comes before the one in front of it, also of the call before. */
    void check(const std::shared_ptr<arrow::RecordBatch> &rows);
    /* What comes next has nothing in front of it. */
    void forget()
    {
        last_.reset();
    }

  private:
    std::vector<std::size_t> columns_;
    std::shared_ptr<arrow::RecordBatch> last_; /* one row */
};

} /* namespace sluice_columnar */

#endif
