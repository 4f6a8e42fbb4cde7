/* A Parquet file's footer: where it lies, what it says, and whether that can be. No I/O: bytes come
 * in, and what is needed next goes out. Throws sluice::error, SLUICE_E_DATA for what is damaged. */
#ifndef COLUMNAR_FOOTER_H
#define COLUMNAR_FOOTER_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>

#include "guard.h"

namespace sluice_columnar
{

/* Most footers come with the first bytes asked for; the others are asked for by their size. */
inline constexpr std::uint64_t tail_bytes = std::uint64_t{ 64 } << 10;
Extent tail_of(std::uint64_t file_bytes);
/* Where the footer lies, by the file's last bytes. */
Extent footer_of(std::string_view tail, std::uint64_t file_bytes);

struct RowGroup {
    std::uint64_t begin, end; /* of all its columns' chunks */
    std::int64_t rows;
};

/* What a footer says; immutable. The types are those of Parquet: what a writer noted of its own
 * types beside them is left aside, so that a file means to us what it means to others. */
class Footer
{
  public:
    explicit Footer(std::string_view bytes);
    Footer(const Footer &) = delete;
    Footer &operator=(const Footer &) = delete;

    /* Checks all sizes and places before anything is asked for by them. Row groups without rows
     * are left out. */
    std::vector<RowGroup> row_groups(std::uint64_t file_bytes) const;
    /* The number in the file of the k-th of these. */
    int number_of(std::uint64_t unit) const
    {
        return numbers_.at(static_cast<std::size_t>(unit));
    }
    /* The bytes of a leaf column's chunk. */
    Extent chunk(int row_group, int leaf, std::uint64_t file_bytes) const;

    const std::shared_ptr<parquet::FileMetaData> &meta() const
    {
        return meta_;
    }
    const arrow::Schema &schema() const
    {
        return *schema_;
    }
    const parquet::arrow::SchemaManifest &manifest() const
    {
        return manifest_;
    }
    /* Leaf columns below top level columns, which ascend. */
    std::vector<int> leaves(const std::vector<int> &fields) const;

  private:
    std::shared_ptr<parquet::FileMetaData> meta_;
    std::shared_ptr<arrow::Schema> schema_;
    parquet::arrow::SchemaManifest manifest_;
    std::vector<int> numbers_;
};

} /* namespace sluice_columnar */

#endif
