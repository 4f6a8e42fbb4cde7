/* Rows of a batch as they are given away: bad ones apart, the runs between them as batches. */
#ifndef COLUMNAR_ROWS_H
#define COLUMNAR_ROWS_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include "columns.h"
#include "convert.h"

namespace sluice_columnar
{

inline constexpr std::int64_t batch_bytes = std::int64_t{ 1 } << 20; /* of a call, about */

/* Where the rows come from. All of it is borrowed. */
struct Rows {
    const std::vector<Output> &outputs;
    const Mapping &mapping;
    const sluice_scan &scan;
    std::string unit;   /* "row group 3", for people */
    std::string prefix; /* of ids that are made: URI:3: */
};

/* The n rows of the batch, which are these of the unit; batch NULL: no column is read. */
void give_rows(const Rows &from, const std::shared_ptr<arrow::RecordBatch> &batch, std::int64_t n,
               const Numbers &numbers, sluice::emitter &out);
/* The same for those of them that keep says (1 = it is given), from row `first` of the unit on.
 * Returns how many are not. */
std::int64_t give_kept(const Rows &from, const std::shared_ptr<arrow::RecordBatch> &batch,
                       std::int64_t n, std::int64_t first, const std::uint8_t *keep,
                       sluice::emitter &out);

/* Columns that a file lacks and that are given as nulls: the host is told how many rows have
 * none. */
void tell_absent(const Mapping &mapping, const arrow::Schema &schema, std::int64_t rows,
                 sluice::emitter &out);

/* The columns that somebody wants are declared, and returned; all: they are all that files
 * have. */
std::vector<Output> declare_outputs(const Request &request, const arrow::Schema *first,
                                    sluice::plan &plan, bool &all,
                                    std::vector<std::string> &left_out);

/* Says which columns are left out because of their names. */
void tell_left_out(const sluice::host_services &host, const std::vector<std::string> &names);

/* Bytes in the buffers of a batch. */
std::int64_t bytes_of(const arrow::RecordBatch &batch);

} /* namespace sluice_columnar */

#endif
