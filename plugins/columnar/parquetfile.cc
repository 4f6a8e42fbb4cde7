/* See parquetfile.h. */
#include "parquetfile.h"

#include <cstring>
#include <unordered_set>

#include <arrow/array.h>
#include <arrow/ipc/writer.h>
#include <arrow/type_traits.h>
#include <arrow/util/base64.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_writer.h>

namespace sluice_columnar
{

namespace
{

/* ---- which columns repeat themselves ---- */

constexpr std::int64_t measured_most = 65536; /* values of a column */
constexpr std::int64_t long_text = 64;        /* bytes: longer ones are no words of a list */

/* What a leaf column's first values are like. */
struct Leaf {
    std::int64_t values = 0, bytes = 0;
    std::unordered_set<std::string_view> distinct; /* in the sample's memory */

    bool repeats() const
    {
        return values > 0 && static_cast<std::int64_t>(distinct.size()) * 10 <= values &&
               bytes / values <= long_text;
    }
};

void measure_value(std::string_view value, Leaf &leaf)
{
    leaf.values++;
    leaf.bytes += static_cast<std::int64_t>(value.size());
    leaf.distinct.insert(value);
}

/* Adds the rows [from, from + n) of a column to its leaves, which follow from leaves[at] on in the
 * order in which Parquet has them. */
void measure(const arrow::Array &column, std::int64_t from, std::int64_t n,
             std::vector<Leaf> &leaves, std::size_t &at)
{
    const auto id = column.type_id();

    if (id == arrow::Type::LIST || id == arrow::Type::MAP) {
        const auto &lists = static_cast<const arrow::ListArray &>(column);
        const std::int64_t begin = n > 0 ? lists.value_offset(from) : 0;
        const std::int64_t end = n > 0 ? lists.value_offset(from + n) : 0;
        measure(*lists.values(), begin, end - begin, leaves, at);
        return;
    }
    if (id == arrow::Type::STRUCT) {
        for (const auto &field : static_cast<const arrow::StructArray &>(column).fields()) {
            measure(*field, from, n, leaves, at);
        }
        return;
    }
    Leaf &leaf = leaves.at(at++);
    const bool text = arrow::is_base_binary_like(id);
    const int width = text || id == arrow::Type::BOOL ? 0 : column.type()->bit_width() / 8;
    if (!text && width == 0) {
        return;
    }
    const std::uint8_t *const values =
        text ? nullptr : column.data()->GetValues<std::uint8_t>(1, column.offset() * width);
    for (std::int64_t row = from; row < from + n && leaf.values < measured_most; row++) {
        if (column.IsNull(row)) {
            continue;
        }
        if (text) {
            measure_value(static_cast<const arrow::BinaryArray &>(column).GetView(row), leaf);
        } else {
            measure_value({ reinterpret_cast<const char *>(values) + row * width,
                            static_cast<std::size_t>(width) },
                          leaf);
        }
    }
}

arrow::Compression::type compression_of(Codec codec)
{
    static const arrow::Compression::type all[] = {
        arrow::Compression::ZSTD,   arrow::Compression::SNAPPY, arrow::Compression::GZIP,
        arrow::Compression::BROTLI, arrow::Compression::LZ4,    arrow::Compression::UNCOMPRESSED,
    };
    return all[static_cast<std::size_t>(codec)];
}

/* The leaf columns below a top level one. */
std::vector<int> leaves_of(const parquet::SchemaDescriptor &schema, int field)
{
    std::vector<int> out;

    for (int leaf = 0; leaf < schema.num_columns(); leaf++) {
        if (schema.group_node()->FieldIndex(*schema.GetColumnRoot(leaf)) == field) {
            out.push_back(leaf);
        }
    }
    return out;
}

int only_leaf(const parquet::SchemaDescriptor &schema, const std::vector<Target> &targets,
              std::size_t target, const char *option)
{
    const std::vector<int> leaves = leaves_of(schema, static_cast<int>(target));

    /* What is looked up may lie in lists; an order is one of rows. */
    if (leaves.size() != 1 || (std::strcmp(option, "sorted_by") == 0 &&
                               schema.Column(leaves[0])->max_repetition_level() > 0)) {
        throw sluice::error(SLUICE_E_CONFIG,
                            std::string("`") + option + "`: column '" + targets[target].name +
                                "' is " + targets[target].field->type()->ToString() +
                                "; expected one of numbers or texts",
                            option);
    }
    return leaves[0];
}

std::shared_ptr<parquet::SchemaDescriptor> schema_in_file(const arrow::Schema &fields)
{
    std::shared_ptr<parquet::SchemaDescriptor> out;

    check_made(parquet::arrow::ToParquetSchema(&fields, *parquet::default_writer_properties(),
                                               *parquet::default_arrow_writer_properties(), &out),
               "the schema");
    return out;
}

std::shared_ptr<parquet::WriterProperties> properties_of(const ParquetWish &wish,
                                                         const std::vector<Target> &targets,
                                                         const parquet::SchemaDescriptor &schema,
                                                         const arrow::RecordBatchVector &sample,
                                                         arrow::MemoryPool &pool)
{
    parquet::WriterProperties::Builder out;
    std::vector<parquet::SortingColumn> sorted;

    out.memory_pool(&pool)
        ->compression(compression_of(wish.codec))
        ->data_pagesize(wish.page)
        ->enable_page_checksum()
        ->enable_write_page_index()
        ->max_row_group_length(group_rows_most)
        ->disable_dictionary();
    if (wish.level > 0 || wish.codec == Codec::zstd) {
        out.compression_level(wish.level > 0 ? wish.level : 3);
    }
    std::vector<Leaf> leaves(static_cast<std::size_t>(schema.num_columns()));
    for (const auto &rows : sample) {
        std::size_t at = 0;
        for (int c = 0; c < rows->num_columns(); c++) {
            measure(*rows->column(c), 0, rows->num_rows(), leaves, at);
        }
    }
    for (int leaf = 0; leaf < schema.num_columns(); leaf++) {
        const int field = schema.group_node()->FieldIndex(*schema.GetColumnRoot(leaf));
        if (wish.dictionary && leaves[static_cast<std::size_t>(leaf)].repeats() &&
            !targets[static_cast<std::size_t>(field)].tokens) {
            out.enable_dictionary(schema.Column(leaf)->path());
        }
    }
    for (const std::size_t target : wish.bloom) {
        parquet::BloomFilterOptions bloom;
        bloom.fpp = 0.01;
        out.enable_bloom_filter(schema.Column(only_leaf(schema, targets, target, "bloom"))->path(),
                                bloom);
    }
    for (const std::size_t target : wish.sorted) {
        sorted.push_back({ only_leaf(schema, targets, target, "sorted_by"), false, true });
    }
    out.set_sorting_columns(sorted);
    return out.build();
}

/* What the file says of itself: the library's schema, which holds what Parquet has no word for, and
 * our columns with what is known of them. */
std::shared_ptr<const arrow::KeyValueMetadata>
notes_of(const std::vector<Target> &targets, const arrow::Schema &fields, arrow::MemoryPool &pool)
{
    auto out = std::make_shared<arrow::KeyValueMetadata>();
    const auto schema = made(arrow::ipc::SerializeSchema(fields, &pool), "the schema");

    out->Append("ARROW:schema", arrow::util::base64_encode(std::string_view(*schema)));
    out->Append("sluice.columns", columns_json(targets));
    return out;
}

/* The library's own file, with an eye on the row group at hand, which it ends only with the next
 * one. */
class Watched : public parquet::ParquetFileWriter::Contents
{
  public:
    Watched(std::unique_ptr<parquet::ParquetFileWriter> file, parquet::RowGroupWriter *&group)
        : Contents(
              std::static_pointer_cast<parquet::schema::GroupNode>(file->schema()->schema_root()),
              file->key_value_metadata()),
          file_(std::move(file)), group_(group)
    {
    }
    ~Watched() override = default;
    void Close() override
    {
        file_->Close();
        file_metadata_ = file_->metadata();
    }
    parquet::RowGroupWriter *AppendRowGroup() override
    {
        return group_ = file_->AppendRowGroup();
    }
    parquet::RowGroupWriter *AppendBufferedRowGroup() override
    {
        return group_ = file_->AppendBufferedRowGroup();
    }
    std::int64_t num_rows() const override
    {
        return file_->num_rows();
    }
    int num_columns() const override
    {
        return file_->num_columns();
    }
    int num_row_groups() const override
    {
        return file_->num_row_groups();
    }
    const std::shared_ptr<parquet::WriterProperties> &properties() const override
    {
        return file_->properties();
    }
    void AddKeyValueMetadata(const std::shared_ptr<const arrow::KeyValueMetadata> &all) override
    {
        file_->AddKeyValueMetadata(all);
    }

  private:
    std::unique_ptr<parquet::ParquetFileWriter> file_;
    parquet::RowGroupWriter *&group_;
};

} /* namespace */

void check_wish(const ParquetWish &wish, const std::vector<Target> &targets,
                const arrow::Schema &schema)
{
    const auto in_file = schema_in_file(schema);

    for (const std::size_t target : wish.bloom) {
        const int leaf = only_leaf(*in_file, targets, target, "bloom");
        if (in_file->Column(leaf)->physical_type() == parquet::Type::BOOLEAN) {
            throw sluice::error(SLUICE_E_CONFIG,
                                "`bloom`: column '" + targets[target].name +
                                    "' is bool; expected one of numbers or texts",
                                "bloom");
        }
    }
    for (const std::size_t target : wish.sorted) {
        only_leaf(*in_file, targets, target, "sorted_by");
    }
}

void check_level(Codec codec, std::int64_t level)
{
    const auto kind = compression_of(codec);

    if (level == 0) {
        return;
    }
    if (!arrow::util::Codec::SupportsCompressionLevel(kind)) {
        throw sluice::error(SLUICE_E_CONFIG,
                            "`level`: found " + std::to_string(level) +
                                ", but this codec has no levels: leave it out",
                            "level");
    }
    const int least = made(arrow::util::Codec::MinimumCompressionLevel(kind), "the codec");
    const int most = made(arrow::util::Codec::MaximumCompressionLevel(kind), "the codec");
    if (level < least || level > most) {
        throw sluice::error(SLUICE_E_CONFIG,
                            "`level`: found " + std::to_string(level) + ", expected at most " +
                                std::to_string(most) + " with this codec",
                            "level");
    }
}

ParquetFile::ParquetFile(const ParquetWish &wish, const std::vector<Target> &targets,
                         const std::shared_ptr<arrow::Schema> &schema,
                         const arrow::RecordBatchVector &sample, HostSink &sink, HostPool &pool)
    : sink_(sink), pool_(pool)
{
    guarded_write("the file", sink_, pool_, [&] {
        parquet::ArrowWriterProperties::Builder arrow_properties;
        arrow_properties.store_schema();
        arrow_properties.set_use_threads(false);
        sink_.rewind();
        /* The library shares the sink, which is the worker's. */
        const std::shared_ptr<arrow::io::OutputStream> shared(&sink_, [](auto *) {});
        const auto in_file = schema_in_file(*schema);
        auto whole = parquet::ParquetFileWriter::Open(
            shared, std::static_pointer_cast<parquet::schema::GroupNode>(in_file->schema_root()),
            properties_of(wish, targets, *in_file, sample, pool), notes_of(targets, *schema, pool));
        auto watched = std::make_unique<parquet::ParquetFileWriter>();
        watched->Open(std::make_unique<Watched>(std::move(whole), group_));
        check_made(parquet::arrow::FileWriter::Make(&pool, std::move(watched), schema,
                                                    arrow_properties.build(), &writer_),
                   "the file");
    });
}

void ParquetFile::add(const arrow::RecordBatch &rows)
{
    guarded_write("a row group", sink_, pool_, [&] {
        if (group_ == nullptr) {
            check_made(writer_->NewBufferedRowGroup(), "a row group");
        }
        check_made(writer_->WriteRecordBatch(rows), "a row group");
    });
}

void ParquetFile::end_group()
{
    guarded_write("a row group", sink_, pool_, [&] {
        if (group_ != nullptr) {
            std::exchange(group_, nullptr)->Close();
        }
    });
}

void ParquetFile::close()
{
    guarded_write("the file", sink_, pool_, [&] { check_made(writer_->Close(), "the file"); });
}

} /* namespace sluice_columnar */
