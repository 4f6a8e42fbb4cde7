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
#include "pages.h"
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

/* A row group's rows: large columns of texts page by page, all others from their whole chunks. */
class RowGroupRows
{
  public:
    /* fields: top level columns, ascending; bytes: room for whole chunks, and those that are at
     * hand already. Both outlive this. */
    RowGroupRows(const Footer &file, int row_group, const std::vector<int> &fields,
                 std::uint64_t file_bytes, Bytes &bytes, arrow::MemoryPool &pool,
                 std::shared_ptr<Blocks> blocks);
    /* What is to be asked for; the answers come in this order. None at first: there are no
     * columns. */
    const std::vector<Extent> &needs();
    void answer(std::size_t k, std::string_view data);
    /* The next rows, about batch_bytes of them, with a column for each field. NULL: bytes are
     * needed. Only while rows are left. */
    std::shared_ptr<arrow::RecordBatch> next();
    std::int64_t left() const
    {
        return left_;
    }

  private:
    struct Column {
        std::unique_ptr<PagedColumn> paged;
        int at; /* else its place in the whole ones */
    };
    void need_pages(bool all);
    const Footer &file_;
    const int row_group_;
    const std::uint64_t file_bytes_;
    arrow::MemoryPool &pool_;
    std::vector<int> leaves_; /* of the whole ones */
    std::vector<Column> columns_;
    arrow::FieldVector fields_;
    std::int64_t rows_, left_;
    Bytes &bytes_;
    std::unique_ptr<RowGroupReader> whole_;
    std::shared_ptr<arrow::RecordBatch> rest_;
    std::vector<Extent> asked_;
    std::vector<PagedColumn *> by_; /* of asked_; NULL: a part of whole chunks */
};

} /* namespace sluice_columnar */

#endif
