/* A column of texts or bytes, page by page: its chunk need not be at hand as a whole, so that a row
 * group may be larger than memory, and what is decoded stays in the processor's caches. No I/O. */
#ifndef COLUMNAR_PAGES_H
#define COLUMNAR_PAGES_H

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include <arrow/array.h>
#include <parquet/column_reader.h>

#include "footer.h"

namespace sluice_columnar
{

/* The head of a page: what stands before its bytes. */
struct PageHead {
    std::uint64_t head_bytes = 0, bytes = 0; /* stored */
    std::int64_t decoded_bytes = 0;
    std::int32_t type = 0;
};
/* Reads one; false: it has more bytes than these. Throws sluice::error for what is none. */
bool read_page_head(std::string_view bytes, PageHead &out);

class PagedColumn
{
  public:
    /* Can the leaf be read so, and is it large enough to be worth it? */
    static bool fits(const Footer &file, int row_group, int leaf);
    /* The file outlives the column. */
    PagedColumn(const Footer &file, int row_group, int leaf, std::uint64_t file_bytes,
                arrow::MemoryPool &pool);
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
    class Pages;
    class Stream;
    std::shared_ptr<Stream> stream_;
    std::shared_ptr<parquet::internal::RecordReader> records_;
    Pages *pages_; /* of records_ */
    Extent chunk_;
    std::uint64_t fed_ = 0;
    std::deque<std::shared_ptr<arrow::Array>> arrays_; /* the first one begins at the next row */
};

} /* namespace sluice_columnar */

#endif
