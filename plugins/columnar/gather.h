/* Rows of batches, gathered into record batches whose cuts depend on the rows alone. */
#ifndef COLUMNAR_GATHER_H
#define COLUMNAR_GATHER_H

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array/builder_base.h>
#include <arrow/record_batch.h>

#include "target.h"

namespace sluice_columnar
{

/* A batch of the host's for the call that it is borrowed for. */
class BatchView
{
  public:
    BatchView(const std::vector<Target> &targets, const sluice_batch &batch);
    std::int64_t size() const
    {
        return batch_.n;
    }
    std::int64_t row(std::int64_t k) const
    {
        return sluice_row(&batch_, k);
    }
    /* Bytes of the k-th selected row: of numbers, texts and the lengths of lists. */
    std::int64_t bytes(std::int64_t k) const
    {
        return bytes_[static_cast<std::size_t>(k)];
    }
    const arrow::ArrayVector &columns() const
    {
        return columns_;
    }

  private:
    const sluice_batch &batch_;
    arrow::ArrayVector columns_;
    std::vector<std::int64_t> bytes_;
};

/* At most so much: a record batch ends with the row that reaches one of them. */
struct Limits {
    std::int64_t rows, bytes;
};

class Gather
{
  public:
    Gather(const std::vector<Target> &targets, Limits limits, arrow::MemoryPool &pool);
    /* Takes selected rows from the k-th on until the batch is full or its `rest` is taken; gives
     * the first that was not taken. What was taken is subtracted from rest. */
    std::int64_t add(const BatchView &view, std::int64_t k, Limits &rest);
    bool full() const
    {
        return full_;
    }
    std::int64_t rows() const
    {
        return rows_;
    }
    std::int64_t bytes() const
    {
        return bytes_;
    }
    /* What was gathered, in the types of the file, and begins anew. */
    std::shared_ptr<arrow::RecordBatch> take();

  private:
    const std::vector<Target> &targets_;
    const Limits limits_;
    arrow::MemoryPool &pool_;
    std::shared_ptr<arrow::Schema> schema_;
    std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
    std::int64_t rows_ = 0, bytes_ = 0;
    bool full_ = false;
};

} /* namespace sluice_columnar */

#endif
