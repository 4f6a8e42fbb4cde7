/* What an expression (sdk/where) says of one file: which columns it needs, which row groups can't
 * hold a row of it, which rows do. No I/O.
 *
 * Statistics are bounds and no more than that: text that a writer cut, floats beside which NaN may
 * stand, numbers without sign, and nulls that were not counted are taken as such, and what the
 * library holds for wrong (orders of old writers) is as if it were not there. */
#ifndef COLUMNAR_PREDICATE_H
#define COLUMNAR_PREDICATE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <parquet/bloom_filter.h>

#include "footer.h"
#include "hive.h"
#include "where/where.h"

namespace sluice_columnar
{

struct WhereFree {
    void operator()(where *expression) const
    {
        where_destroy(expression);
    }
    void operator()(where_bound *bound) const
    {
        where_unbind(bound);
    }
};
using Expression = std::unique_ptr<where, WhereFree>;
/* Throws SLUICE_E_CONFIG. */
Expression parse_where(const char *text);
/* Throws SLUICE_E_SCHEMA where it can't be asked of rows with these columns; fill: columns that
 * are not there are null. */
void check_where(const where &expression, const arrow::Schema &schema, bool fill);

/* A Bloom filter that may rule a row group out. */
struct Probe {
    int leaf; /* column of the file */
    Extent extent;
    std::unique_ptr<parquet::BloomFilter> filter; /* once it is read */
};

class Predicate
{
  public:
    /* fill: columns that the file lacks are null; else they are refused, SLUICE_E_SCHEMA. All of
     * these outlive it. */
    Predicate(const where &expression, const Footer &footer, const std::vector<Partition> &parts,
              bool fill);
    Predicate(const Predicate &) = delete;
    Predicate &operator=(const Predicate &) = delete;

    /* Top level columns of the file that rows are judged by, ascending. */
    const std::vector<int> &fields() const
    {
        return fields_;
    }
    /* Why no row of the file, of a row group can hold: "partition", "min_max"; NULL = it may. */
    const char *ruled_out() const;
    const char *ruled_out(int row_group) const;
    /* The Bloom filters that the answer depends on, where the file says how large they are. */
    std::vector<Probe> probes(int row_group, std::uint64_t file_bytes) const;
    /* The same with those that were read. */
    bool may_hold(int row_group, const std::vector<Probe> &probes) const;

    /* keep[k] = 1 where row k holds, else 0. The batch has fields() as columns. */
    void judge(const arrow::RecordBatch &batch, std::uint8_t *keep) const;

  private:
    struct Asking;
    static void facts_of(void *ctx, std::size_t leaf, where_facts *out);
    static void parts_facts_of(void *ctx, std::size_t leaf, where_facts *out);
    bool is_absent(std::size_t leaf, const Probe &probe, const where_value &value) const;
    static bool absent_in(void *ctx, std::size_t leaf, const where_value *value);
    int column_of(const where_leaf &leaf) const;

    const Footer &footer_;
    std::unique_ptr<where_bound, WhereFree> bound_;
    std::vector<int> fields_;
    std::vector<int> columns_; /* one a leaf of the expression: column of the file, or -1 */
    int n_fields_;             /* of the file; partitions are those behind them */
    Parts parts_;
};

} /* namespace sluice_columnar */

#endif
