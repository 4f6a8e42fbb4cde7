/* Texts or bytes of pages that store them one after the other, each behind its length, as columns:
 * without the library's builders, which take fresh memory for each of them. No I/O. */
#ifndef COLUMNAR_PLAINTEXTS_H
#define COLUMNAR_PLAINTEXTS_H

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>

#include "blocks.h"

namespace sluice_columnar
{

class PlainTexts
{
  public:
    /* null_level: the definition level of a value, 0 = there are no nulls. type: string, binary. */
    PlainTexts(std::int16_t null_level, std::shared_ptr<arrow::DataType> type,
               std::shared_ptr<Blocks> blocks);
    /* Begins a page, once the one before has no rows left. Its bytes are borrowed until then.
     * Throws sluice::error, or what the library throws, for one that is damaged. */
    void begin(std::shared_ptr<parquet::Page> page);
    std::int64_t left() const /* rows of the page */
    {
        return left_;
    }
    /* Takes rows of the page until there are so many, or bytes of them, but one at least. */
    void take(std::int64_t rows, std::int64_t bytes);
    std::int64_t rows() const
    {
        return rows_;
    }
    std::int64_t bytes() const
    {
        return bytes_;
    }
    /* What was taken, which begins anew. */
    std::shared_ptr<arrow::Array> finish();

  private:
    bool next_is_valid();
    void room(std::int64_t bytes);

    const std::int16_t null_level_;
    const std::shared_ptr<arrow::DataType> type_;
    const std::shared_ptr<Blocks> blocks_;
    /* of the page */
    std::shared_ptr<parquet::Page> page_;
    std::int64_t left_ = 0;
    const std::uint8_t *at_ = nullptr, *end_ = nullptr; /* its values */
    parquet::LevelDecoder levels_;
    std::vector<std::int16_t> decoded_; /* levels, some of which are next */
    std::size_t next_level_ = 0;
    /* what was taken */
    std::int64_t rows_ = 0, bytes_ = 0, nulls_ = 0;
    std::int64_t usual_ = 0;          /* bytes_ of the column before */
    std::vector<std::int32_t> ends_;  /* of each row's text, in values_ */
    std::vector<std::uint8_t> valid_; /* of each row; empty: there are no nulls */
    std::shared_ptr<arrow::Buffer> values_;
};

} /* namespace sluice_columnar */

#endif
