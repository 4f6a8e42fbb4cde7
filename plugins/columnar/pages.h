/* A column of texts or bytes, page by page: its chunk need not be at hand as a whole, so that a row
 * group may be larger than memory, and what is decoded stays in the processor's caches. No I/O. */
#ifndef COLUMNAR_PAGES_H
#define COLUMNAR_PAGES_H

#include <cstdint>
#include <deque>
#include <memory>

#include <arrow/array.h>
#include <parquet/column_reader.h>

#include "blocks.h"
#include "footer.h"
#include "plaintexts.h"

namespace sluice_columnar
{

class PagedColumn
{
  public:
    /* Can the leaf be read so, and is it large enough to be worth it? */
    static bool fits(const Footer &file, int row_group, int leaf);
    /* The file outlives the column. */
    PagedColumn(const Footer &file, int row_group, int leaf, std::uint64_t file_bytes,
                arrow::MemoryPool &pool, std::shared_ptr<Blocks> blocks);
    ~PagedColumn();

    /* The bytes to feed next, about `piece` of them; n = 0: all were fed. */
    Extent next_extent(std::uint64_t piece);
    void feed(const char *data, std::uint64_t n);
    /* Decodes until so many rows are there, or pages of about batch_bytes; gives how many are. 0:
     * more bytes are needed. */
    std::int64_t prepare(std::int64_t rows);
    /* The first n of them. */
    std::shared_ptr<arrow::Array> take(std::int64_t n);

  private:
    class Lent;
    class Pages;
    class Stream;
    void read_plain(std::int64_t rows);
    void read_others(std::int64_t rows);
    arrow::MemoryPool &pool_;
    const parquet::ColumnDescriptor *column_;
    std::shared_ptr<arrow::DataType> type_;
    BlockPool page_pool_; /* of pages, while they are decoded */
    std::shared_ptr<Stream> stream_;
    std::shared_ptr<Pages> pages_;
    PlainTexts plain_;
    std::shared_ptr<parquet::internal::RecordReader> others_; /* once there are pages for it */
    bool begun_ = false;                                      /* it may have rows of a page yet */
    Extent chunk_;
    std::uint64_t fed_ = 0;
    std::deque<std::shared_ptr<arrow::Array>> arrays_; /* the first one begins at the next row */
};

} /* namespace sluice_columnar */

#endif
