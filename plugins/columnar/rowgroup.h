/* A row group: which bytes its wanted columns need, and rows from these bytes. No I/O. */
#ifndef COLUMNAR_ROWGROUP_H
#define COLUMNAR_ROWGROUP_H

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>

#include "footer.h"
#include "rows.h"

namespace sluice_columnar
{

/* Bytes of a file that are at hand, in memory of the host, which is kept for the next ones. */
class Bytes
{
  public:
    explicit Bytes(const sluice::host_services &host) : host_(host)
    {
    }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;
    ~Bytes();
    void clear();                                     /* forgets */
    void more(std::uint64_t n);                       /* room for so many more */
    void add(const Extent &extent, const char *data); /* copies */
    /* The bytes [offset, offset + n), or those there are of them; NULL = they are not at hand. */
    const char *find(std::uint64_t offset, std::uint64_t &n) const;

  private:
    struct Part {
        Extent extent;
        std::uint64_t at;
    };
    const sluice::host_services &host_;
    std::vector<Part> parts_;
    char *data_ = nullptr;
    std::uint64_t size_ = 0, capacity_ = 0;
};

/* What to ask for: chunks that lie close together are one. */
std::vector<Extent> extents_of(const Footer &file, int row_group, const std::vector<int> &leaves,
                               std::uint64_t file_bytes);

class RowGroupReader
{
  public:
    /* bytes: what extents_of says; all of these outlive the reader. */
    RowGroupReader(const Footer &file, int row_group, const std::vector<int> &leaves,
                   std::uint64_t file_bytes, const Bytes &bytes, arrow::MemoryPool &pool);
    ~RowGroupReader();
    /* The next rows, about batch_bytes of them; NULL at the end. */
    std::shared_ptr<arrow::RecordBatch> next();

  private:
    std::unique_ptr<parquet::arrow::FileReader> file_;
    std::unique_ptr<arrow::RecordBatchReader> rows_;
};

} /* namespace sluice_columnar */

#endif
