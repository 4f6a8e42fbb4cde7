/* A Parquet file in the making. */
#ifndef COLUMNAR_PARQUETFILE_H
#define COLUMNAR_PARQUETFILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_writer.h>

#include "hostpool.h"
#include "target.h"

namespace sluice_columnar
{

enum class Codec : std::int32_t { zstd, snappy, gzip, brotli, lz4, none };

inline constexpr std::int64_t group_rows_most = std::int64_t{ 1 } << 20;

struct ParquetWish {
    Codec codec;
    int level; /* 0 = the codec's: of zstd 3 */
    std::int64_t page;
    bool dictionary;
    std::vector<std::size_t> bloom;  /* targets */
    std::vector<std::size_t> sorted; /* the same: by which the rows of each row group are sorted */
};

class ParquetFile
{
  public:
    /* sample: the file's first rows, which decide what has a dictionary. The sink and the pool
     * outlive the file. */
    ParquetFile(const ParquetWish &wish, const std::vector<Target> &targets,
                const std::shared_ptr<arrow::Schema> &schema,
                const arrow::RecordBatchVector &sample, HostSink &sink, HostPool &pool);
    void add(const arrow::RecordBatch &rows);
    void end_group();
    void close();

  private:
    HostSink &sink_;
    HostPool &pool_;
    parquet::RowGroupWriter *group_ = nullptr; /* of the library's, while it takes rows */
    std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

/* Throws where a column that is to have a bloom filter, or to be sorted by, can't be that. */
void check_wish(const ParquetWish &wish, const std::vector<Target> &targets,
                const arrow::Schema &schema);
/* The codec's level is one that it has; throws otherwise. */
void check_level(Codec codec, std::int64_t level);

} /* namespace sluice_columnar */

#endif
