/* See pages.h. */
#include "pages.h"

#include <algorithm>
#include <cstring>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <parquet/level_conversion.h>
#include <parquet/properties.h>

#include "rows.h"

namespace sluice_columnar
{

namespace
{

constexpr std::uint64_t large_bytes = std::uint64_t{ 64 } << 10; /* smaller chunks are read whole */
constexpr std::uint64_t head_most = std::uint64_t{ 16 } << 20;
constexpr int depth_most = 16;

[[noreturn]] void bad_page(const std::string &what)
{
    throw sluice::error(SLUICE_E_DATA, "the row group is damaged: " + what);
}

/* Thrift's compact protocol, as far as it is needed to find the end of a page's head. */
class Thrift
{
  public:
    explicit Thrift(std::string_view bytes) : bytes_(bytes)
    {
    }
    struct Short {
    };
    std::uint64_t number()
    {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const unsigned char c = byte();
            out |= static_cast<std::uint64_t>(c & 0x7F) << shift;
            if (c < 0x80) {
                return out;
            }
        }
        bad_page("a page's head has a number without an end");
    }
    std::int64_t signed_number()
    {
        const std::uint64_t n = number();
        return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
    }
    /* The next field of a struct; 0: it has no more. */
    unsigned field(std::int64_t &id)
    {
        const unsigned char c = byte();
        const unsigned delta = c >> 4;
        if (c == 0) {
            return 0;
        }
        id = delta == 0 ? signed_number() : id + delta;
        return c & 15;
    }
    void skip(unsigned type, int depth)
    {
        if (depth > depth_most) {
            bad_page("a page's head is nested too deeply");
        }
        switch (type) {
        case 1: /* true, false */
        case 2:
            return;
        case 3:
            pass(1);
            return;
        case 4:
        case 5:
        case 6:
            number();
            return;
        case 7:
            pass(8);
            return;
        case 8:
            pass(number());
            return;
        case 9: /* lists, sets */
        case 10:
            skip_list(depth);
            return;
        case 12: {
            std::int64_t id = 0;
            for (unsigned inner = field(id); inner != 0; inner = field(id)) {
                skip(inner, depth + 1);
            }
            return;
        }
        default:
            bad_page("a page's head has a field of type " + std::to_string(type));
        }
    }
    std::uint64_t at() const
    {
        return at_;
    }

  private:
    unsigned char byte()
    {
        if (at_ == bytes_.size()) {
            throw Short();
        }
        return static_cast<unsigned char>(bytes_[at_++]);
    }
    void pass(std::uint64_t n)
    {
        if (n > head_most) {
            bad_page("a page's head would have " + std::to_string(n) + " bytes");
        }
        if (n > bytes_.size() - at_) {
            throw Short();
        }
        at_ += n;
    }
    void skip_list(int depth)
    {
        const unsigned char c = byte();
        const std::uint64_t n = c >> 4 == 15 ? number() : c >> 4;
        const unsigned type = c & 15;
        if (n > head_most) {
            bad_page("a page's head has a list of " + std::to_string(n));
        }
        for (std::uint64_t k = 0; k < n; k++) {
            if (type == 1 || type == 2) {
                pass(1);
            } else {
                skip(type, depth + 1);
            }
        }
    }
    std::string_view bytes_;
    std::uint64_t at_ = 0;
};

bool is_flat_text(const Footer &file, int leaf)
{
    const auto *column = file.meta()->schema()->Column(leaf);

    if (column->physical_type() != parquet::Type::BYTE_ARRAY ||
        column->max_repetition_level() != 0 || column->path()->ToDotVector().size() != 1) {
        return false;
    }
    const int field = file.schema().GetFieldIndex(column->name());
    return field >= 0 && (file.schema().field(field)->type()->id() == arrow::Type::STRING ||
                          file.schema().field(field)->type()->id() == arrow::Type::BINARY);
}

} /* namespace */

bool read_page_head(std::string_view bytes, PageHead &out)
{
    Thrift thrift(bytes);
    std::int64_t id = 0;

    out = PageHead();
    out.decoded_bytes = -1;
    try {
        std::int64_t stored = -1;
        for (unsigned type = thrift.field(id); type != 0; type = thrift.field(id)) {
            if (type == 5 && id >= 1 && id <= 3) {
                const std::int64_t value = thrift.signed_number();
                (id == 2 ? out.decoded_bytes : stored) = id == 1 ? stored : value;
                out.type = id == 1 ? static_cast<std::int32_t>(value) : out.type;
            } else {
                thrift.skip(type, 0);
            }
        }
        if (stored < 0 || stored > INT32_MAX || out.decoded_bytes < 0 ||
            out.decoded_bytes > INT32_MAX) {
            bad_page("a page would have " + std::to_string(stored) + " bytes");
        }
        out.head_bytes = thrift.at();
        out.bytes = static_cast<std::uint64_t>(stored);
        return true;
    } catch (const Thrift::Short &) {
        if (bytes.size() > head_most) {
            bad_page("a page's head has no end");
        }
        return false;
    }
}

/* The bytes at hand, for the library. */
class PagedColumn::Stream : public arrow::io::InputStream
{
  public:
    ~Stream() override = default;
    void add(const char *data, std::uint64_t n)
    {
        if (at_ > 0) {
            window_.erase(0, at_);
            at_ = 0;
        }
        window_.append(data, n);
    }
    std::string_view rest() const
    {
        return std::string_view(window_).substr(at_);
    }
    /* Pages that are not decoded into memory of their own outlive the window. */
    void keep(bool pages)
    {
        keep_ = pages;
    }
    arrow::Status Close() override
    {
        return arrow::Status::OK();
    }
    bool closed() const override
    {
        return false;
    }
    arrow::Result<std::int64_t> Tell() const override
    {
        return told_;
    }
    arrow::Result<std::string_view> Peek(std::int64_t n) override
    {
        return rest().substr(0, static_cast<std::size_t>(n));
    }
    arrow::Result<std::int64_t> Read(std::int64_t n, void *out) override
    {
        const std::string_view bytes = step(n);
        std::memcpy(out, bytes.data(), bytes.size());
        return static_cast<std::int64_t>(bytes.size());
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t n) override
    {
        const std::string_view bytes = step(n);
        if (!keep_) {
            return std::make_shared<arrow::Buffer>(bytes);
        }
        ARROW_ASSIGN_OR_RAISE(auto out,
                              arrow::AllocateBuffer(static_cast<std::int64_t>(bytes.size())));
        std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
        return std::shared_ptr<arrow::Buffer>(std::move(out));
    }

  private:
    std::string_view step(std::int64_t n)
    {
        const std::string_view bytes = rest().substr(0, static_cast<std::size_t>(n));
        at_ += bytes.size();
        told_ += static_cast<std::int64_t>(bytes.size());
        return bytes;
    }
    std::string window_;
    std::size_t at_ = 0;
    std::int64_t told_ = 0;
    bool keep_ = true;
};

/* Gives the library's pages as long as they are whole, and not too many at once. */
class PagedColumn::Pages : public parquet::PageReader
{
  public:
    Pages(std::shared_ptr<Stream> stream, std::unique_ptr<parquet::PageReader> inner,
          bool compressed, std::int64_t decoded_most)
        : stream_(std::move(stream)), inner_(std::move(inner)), compressed_(compressed),
          decoded_most_(decoded_most)
    {
    }
    std::shared_ptr<parquet::Page> NextPage() override
    {
        PageHead head;
        if (decoded >= batch_bytes || !whole(head)) {
            return nullptr;
        }
        decoded += head.decoded_bytes;
        stream_->keep(!compressed_ || head.type != parquet::PageType::DATA_PAGE);
        return inner_->NextPage();
    }
    void set_max_page_header_size(std::uint32_t size) override
    {
        inner_->set_max_page_header_size(size);
    }
    std::int64_t decoded = 0;  /* bytes of pages that were given since the last batch */
    bool all = false;          /* nothing more will be fed */
    std::uint64_t missing = 0; /* bytes that the next page lacks, if that is known */

  private:
    /* Is a page at hand? Those that the library passes over don't count. */
    bool whole(PageHead &head)
    {
        std::string_view rest = stream_->rest();
        missing = 0;
        for (;;) {
            if (rest.empty()) {
                return false;
            }
            if (!read_page_head(rest, head)) {
                if (all) {
                    bad_page("a column ends within a page's head");
                }
                return false;
            }
            if (head.decoded_bytes > decoded_most_) {
                bad_page("a page of " + std::to_string(head.decoded_bytes) +
                         " bytes, in a column of " + std::to_string(decoded_most_));
            }
            const std::uint64_t need = head.head_bytes + head.bytes;
            if (need > rest.size()) {
                if (all) {
                    bad_page("a column ends within a page");
                }
                missing = need - rest.size();
                return false;
            }
            if (head.type == parquet::PageType::DATA_PAGE ||
                head.type == parquet::PageType::DATA_PAGE_V2 ||
                head.type == parquet::PageType::DICTIONARY_PAGE) {
                return true;
            }
            rest.remove_prefix(need);
        }
    }
    std::shared_ptr<Stream> stream_;
    std::unique_ptr<parquet::PageReader> inner_;
    bool compressed_;
    std::int64_t decoded_most_;
};

bool PagedColumn::fits(const Footer &file, int row_group, int leaf)
{
    const auto column = file.meta()->RowGroup(row_group)->ColumnChunk(leaf);

    return is_flat_text(file, leaf) &&
           column->total_compressed_size() > static_cast<std::int64_t>(large_bytes);
}

PagedColumn::PagedColumn(const Footer &file, int row_group, int leaf, std::uint64_t file_bytes,
                         arrow::MemoryPool &pool)
    : stream_(std::make_shared<Stream>()), chunk_(file.chunk(row_group, leaf, file_bytes))
{
    guarded_data("the row group", [&] {
        const auto *column = file.meta()->schema()->Column(leaf);
        const auto chunk = file.meta()->RowGroup(row_group)->ColumnChunk(leaf);
        const bool always_compressed = file.meta()->writer_version().VersionLt(
            parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
        parquet::ReaderProperties properties(&pool);
        if (chunk->num_values() != file.meta()->RowGroup(row_group)->num_rows()) {
            bad_page("a column has " + std::to_string(chunk->num_values()) + " rows, the group " +
                     std::to_string(file.meta()->RowGroup(row_group)->num_rows()));
        }

        properties.set_page_checksum_verification(true);
        auto inner = parquet::PageReader::Open(stream_, chunk->num_values(), chunk->compression(),
                                               properties, *column, always_compressed);
        auto pages = std::make_unique<Pages>(
            stream_, std::move(inner), chunk->compression() != parquet::Compression::UNCOMPRESSED,
            chunk->total_uncompressed_size());
        pages_ = pages.get();
        records_ = parquet::internal::RecordReader::Make(
            column, parquet::internal::LevelInfo::ComputeLevelInfo(column), &pool, false, false,
            file.schema().field(file.schema().GetFieldIndex(column->name()))->type());
        records_->SetPageReader(std::move(pages));
    });
}

PagedColumn::~PagedColumn() = default;

Extent PagedColumn::next_extent(std::uint64_t piece)
{
    const std::uint64_t left = chunk_.n - fed_;
    const std::uint64_t n = std::min(left, std::max(piece, pages_->missing));

    return { chunk_.offset + fed_, left - n < large_bytes / 4 ? left : n };
}

void PagedColumn::feed(const char *data, std::uint64_t n)
{
    stream_->add(data, n);
    fed_ += n;
    pages_->all = fed_ == chunk_.n;
}

std::int64_t PagedColumn::prepare(std::int64_t rows)
{
    if (arrays_.empty()) {
        guarded_data("the row group", [&] {
            auto *texts = dynamic_cast<parquet::internal::BinaryRecordReader *>(records_.get());
            if (texts == nullptr) {
                throw sluice::error(SLUICE_E_INTERNAL, "a column of bytes is read as another one");
            }
            pages_->decoded = 0;
            records_->Reset();
            records_->Reserve(rows);
            if (records_->ReadRecords(rows) > 0) {
                for (auto &array : texts->GetBuilderChunks()) {
                    check_arrow(array->Validate(), "the row group");
                    if (array->length() > 0) {
                        arrays_.push_back(std::move(array));
                    }
                }
            }
        });
    }
    if (arrays_.empty() && pages_->all) {
        bad_page("it has fewer rows than the footer says");
    }
    return arrays_.empty() ? 0 : arrays_.front()->length();
}

std::shared_ptr<arrow::Array> PagedColumn::take(std::int64_t n)
{
    auto array = arrays_.front();

    if (n < array->length()) {
        arrays_.front() = array->Slice(n);
        return array->Slice(0, n);
    }
    arrays_.pop_front();
    return array;
}

} /* namespace sluice_columnar */
