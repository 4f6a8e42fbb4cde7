/* See footer.h. */
#include "footer.h"

#include <algorithm>

#include <arrow/util/key_value_metadata.h>
#include <parquet/properties.h>

namespace sluice_columnar
{

namespace
{

constexpr std::uint64_t end_bytes = 8; /* size of the footer, magic */
constexpr std::uint64_t least_bytes = 12;
/* What writers put behind a chunk whose size they told without its dictionary page's head. */
constexpr std::uint64_t missing_head = 100;

[[noreturn]] void damaged(const std::string &what)
{
    throw sluice::error(SLUICE_E_DATA, what + ": the file is damaged, or no Parquet file");
}

/* A reader of the properties that all of this plugin has. */
parquet::ArrowReaderProperties plain_types()
{
    return parquet::ArrowReaderProperties(false);
}

} /* namespace */

Extent tail_of(std::uint64_t file_bytes)
{
    const std::uint64_t n = file_bytes < tail_bytes ? file_bytes : tail_bytes;

    if (file_bytes < least_bytes) {
        damaged("found " + std::to_string(file_bytes) + " bytes, expected at least 12");
    }
    return { file_bytes - n, n };
}

Extent footer_of(std::string_view tail, std::uint64_t file_bytes)
{
    const std::string_view magic = tail.substr(tail.size() - 4);
    std::uint64_t n = 0;

    if (magic == "PARE") {
        throw sluice::error(SLUICE_E_DATA, "the file is encrypted, which is not supported: decrypt "
                                           "it first");
    }
    if (magic != "PAR1") {
        damaged("found no \"PAR1\" at its end");
    }
    for (std::size_t k = 4; k > 0; k--) {
        n = n << 8 | static_cast<unsigned char>(tail[tail.size() - end_bytes + k - 1]);
    }
    if (n == 0 || n > file_bytes - least_bytes) {
        damaged("its end says that the footer has " + std::to_string(n) + " bytes, of " +
                std::to_string(file_bytes));
    }
    return { file_bytes - end_bytes - n, n };
}

Footer::Footer(std::string_view bytes)
{
    guarded_data("the footer", [&] {
        meta_ = parquet::FileMetaData::Make(bytes.data(), static_cast<std::int64_t>(bytes.size()));
        if (const auto notes = meta_->key_value_metadata()) {
            /* Made above, and nobody else's. */
            const auto own = std::const_pointer_cast<arrow::KeyValueMetadata>(notes);
            if (own->Contains("ARROW:schema")) {
                check_arrow(own->Delete("ARROW:schema"), "the footer");
            }
        }
        check_arrow(parquet::arrow::SchemaManifest::Make(meta_->schema(), nullptr, plain_types(),
                                                         &manifest_),
                    "the schema");
    });
    for (int k = 0; k < meta_->num_row_groups(); k++) {
        if (meta_->RowGroup(k)->num_rows() > 0) {
            numbers_.push_back(k);
        }
    }
    arrow::FieldVector fields;
    for (const auto &field : manifest_.schema_fields) {
        fields.push_back(field.field);
    }
    schema_ = arrow::schema(std::move(fields), meta_->key_value_metadata());
}

Extent Footer::chunk(int row_group, int leaf, std::uint64_t file_bytes) const
{
    const auto group = meta_->RowGroup(row_group);
    const auto column = group->ColumnChunk(leaf);
    std::int64_t begin = column->data_page_offset();
    const std::int64_t n = column->total_compressed_size();
    const std::string name = "column '" + column->path_in_schema()->ToDotString() + "'";

    if (column->crypto_metadata() != nullptr) {
        throw sluice::error(SLUICE_E_DATA, name + " is encrypted, which is not supported");
    }
    if (!column->file_path().empty()) {
        throw sluice::error(SLUICE_E_DATA, name + " lies in another file, '" + column->file_path() +
                                               "', which is not supported");
    }
    if (column->has_dictionary_page() && column->dictionary_page_offset() > 0 &&
        column->dictionary_page_offset() < begin) {
        begin = column->dictionary_page_offset();
    }
    const std::uint64_t room = file_bytes - end_bytes;
    if (begin < 4 || n < 0 || static_cast<std::uint64_t>(begin) > room ||
        static_cast<std::uint64_t>(n) > room - static_cast<std::uint64_t>(begin)) {
        damaged(name + " lies at byte " + std::to_string(begin) + " with " + std::to_string(n) +
                " bytes, in a file of " + std::to_string(file_bytes));
    }
    Extent out = { static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(n) };
    if (meta_->writer_version().VersionLt(
            parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION())) {
        const std::uint64_t behind = room - out.offset - out.n;
        out.n += behind < missing_head ? behind : missing_head;
    }
    return out;
}

std::vector<RowGroup> Footer::row_groups(std::uint64_t file_bytes) const
{
    return guarded_data("the footer", [&] {
        std::vector<RowGroup> out;
        std::int64_t rows = 0;
        std::uint64_t behind = 4;

        for (int k = 0; k < meta_->num_row_groups(); k++) {
            const auto group = meta_->RowGroup(k);
            const std::string name = "row group " + std::to_string(k);
            RowGroup unit = { UINT64_MAX, 0, group->num_rows() };
            if (unit.rows < 0 || unit.rows > INT64_MAX - rows) {
                damaged(name + " has " + std::to_string(unit.rows) + " rows");
            }
            if (group->num_columns() != meta_->num_columns()) {
                damaged(name + " has " + std::to_string(group->num_columns()) +
                        " columns, the schema " + std::to_string(meta_->num_columns()));
            }
            rows += unit.rows;
            if (unit.rows == 0) {
                continue;
            }
            for (int leaf = 0; leaf < group->num_columns(); leaf++) {
                const Extent extent = chunk(k, leaf, file_bytes);
                /* Chunks may be padded for others' sake: units are told by what is said. */
                const auto said =
                    static_cast<std::uint64_t>(group->ColumnChunk(leaf)->total_compressed_size());
                unit.begin = extent.offset < unit.begin ? extent.offset : unit.begin;
                unit.end = extent.offset + said > unit.end ? extent.offset + said : unit.end;
            }
            if (unit.begin >= unit.end || unit.begin < behind) {
                damaged(name + " is no bytes of its own behind those before it");
            }
            behind = unit.end;
            out.push_back(unit);
        }
        if (rows != meta_->num_rows() && meta_->num_rows() != 0) { /* some writers leave it at 0 */
            damaged("its row groups have " + std::to_string(rows) + " rows, the file " +
                    std::to_string(meta_->num_rows()));
        }
        return out;
    });
}

std::vector<int> Footer::leaves(const std::vector<int> &fields) const
{
    std::vector<int> out;
    std::vector<const parquet::arrow::SchemaField *> open;

    for (const int field : fields) {
        open.push_back(&manifest_.schema_fields[static_cast<std::size_t>(field)]);
    }
    while (!open.empty()) {
        const parquet::arrow::SchemaField *at = open.back();
        open.pop_back();
        if (at->is_leaf()) {
            out.push_back(at->column_index);
        }
        for (const auto &child : at->children) {
            open.push_back(&child);
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

} /* namespace sluice_columnar */
